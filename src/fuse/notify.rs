//! Tells the kernel that what it keeps is over, on threads of its own.
//!
//! A notification about a name waits until every call in its directory is answered, however many there are; so each has a thread, and a slow
//! directory holds up no other. That ends by itself, as no call waits for a notification (`fs::view::ending`). If the process is killed
//! while one waits, the calls that it waits for are never answered: `cli::watchdog` ends that.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::engine::observer::{Patience, Then};
use crate::fs::view::{Kernel, Name, Notice, Pool};
use crate::store::KEEP;

/// Notifications that wait at a time; more wait in line.
const THREADS_MAX: usize = 64;
/// How long a call waits that may hold the lock of a file. What it waits for may wait for that lock, which is rare: it takes who removes
/// `X.patch` while it is written. Much longer than a busy machine needs, as afterwards the call is answered though the kernel is not told.
const SHORT: Duration = Duration::from_secs(1);
/// How long anybody waits: then what the kernel kept is over by itself.
const LONG: Duration = KEEP.saturating_add(Duration::from_secs(1));
/// How often it is looked whether somebody waits for too long.
const LOOK: Duration = Duration::from_millis(20);

/// `enum fuse_notify_code` of linux/fuse.h.
const INVAL_INODE: i32 = 2;
const INVAL_ENTRY: i32 = 3;
/// `FUSE_EXPIRE_ONLY`: the name is looked up again, and is not dropped. Older kernels drop it.
const EXPIRE_ONLY: u32 = 1;

/// Who waits; nobody when it was called.
type Waiting = Arc<Mutex<Option<Then>>>;

/// See the module.
pub struct Notifier {
    device: Arc<File>,
    pool: Pool,
    patience: Arc<Deadlines>,
}

impl Notifier {
    /// On a descriptor of the mount's own.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn new(device: File) -> io::Result<Self> {
        let patience = Arc::<Deadlines>::default();
        let of_thread = Arc::clone(&patience);
        std::thread::Builder::new().name("ddbfs-patience".to_owned()).spawn(move || of_thread.watch())?;
        Ok(Self { device: Arc::new(device), pool: Pool::elsewhere("ddbfs-notify", THREADS_MAX), patience })
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.patience.list.lock().is_ended = true;
        self.patience.more.notify_all();
    }
}

/// Who is to be called at some time if nobody has called before.
#[derive(Default)]
struct Deadlines {
    list: Mutex<List>,
    more: Condvar,
}

#[derive(Default)]
struct List {
    all: Vec<(Instant, Waiting)>,
    is_ended: bool,
}

impl Deadlines {
    fn add(&self, until: Instant, waiting: &Waiting) {
        let mut list = self.list.lock();
        list.all.push((until, Arc::clone(waiting)));
        // With more it looks by itself.
        if list.all.len() == 1 {
            self.more.notify_one();
        }
    }

    fn watch(&self) {
        let mut list = self.list.lock();
        loop {
            if list.all.is_empty() && !list.is_ended {
                self.more.wait(&mut list);
            }
            let is_ended = list.is_ended;
            let now = Instant::now();
            let due = list.all.extract_if(.., |(until, waiting)| is_ended || *until <= now || waiting.lock().is_none());
            let due: Vec<_> = due.collect();
            // Not under the lock: what is called may tell of something again.
            MutexGuard::unlocked(&mut list, || due.iter().for_each(|(_, waiting)| call(waiting)));
            if is_ended {
                return;
            }
            MutexGuard::unlocked(&mut list, || std::thread::sleep(LOOK));
        }
    }
}

/// Calls whom nobody has called.
fn call(then: &Waiting) {
    let then = then.lock().take();
    if let Some(then) = then {
        then();
    }
}

impl Kernel for Notifier {
    fn tell(&self, notices: Vec<Notice>, patience: Patience, ended: Then, then: Then) {
        let waiting = Arc::new(Mutex::new(Some(then)));
        let until = match patience {
            Patience::Long => Some(LONG),
            Patience::Short => Some(SHORT),
            Patience::None | Patience::Settled => None,
        };
        match until {
            Some(until) => self.patience.add(Instant::now() + until, &waiting),
            None => call(&waiting),
        }
        let device = Arc::clone(&self.device);
        self.pool.run(Box::new(move || {
            for notice in &notices {
                if let Err(error) = send(&device, notice) {
                    log::debug!("the kernel was not told of {notice:?}: {error}");
                }
            }
            ended();
            call(&waiting);
        }));
    }
}

fn send(device: &File, notice: &Notice) -> io::Result<()> {
    match notice {
        Notice::Attributes(ino) => send_inode(device, *ino),
        Notice::Changed(name, ino) => send_entry(device, name, EXPIRE_ONLY).and_then(|()| send_inode(device, *ino)),
        Notice::Gone(name, ino) => send_entry(device, name, 0).and_then(|()| send_inode(device, *ino)),
        Notice::Dropped(name) => send_entry(device, name, 0),
    }
}

/// The attributes, not the data: a negative offset (`fuse_reverse_inval_inode` in Linux). Waits for nothing.
fn send_inode(device: &File, ino: u64) -> io::Result<()> {
    let body = [&ino.to_ne_bytes()[..], &(-1_i64).to_ne_bytes(), &0_i64.to_ne_bytes()].concat();
    send_message(device, INVAL_INODE, &body)
}

/// Waits for the lock of the directory.
fn send_entry(device: &File, Name { parent, name }: &Name, flags: u32) -> io::Result<()> {
    let bytes = u32::try_from(name.len()).map_err(io::Error::other)?;
    let head = [&parent.to_ne_bytes()[..], &bytes.to_ne_bytes(), &flags.to_ne_bytes()].concat();
    send_message(device, INVAL_ENTRY, &[&head, name.as_bytes(), &[0]].concat())
}

/// `struct fuse_out_header` and what follows. It is no fault that the kernel does not know what it is told to forget.
fn send_message(mut device: &File, code: i32, body: &[u8]) -> io::Result<()> {
    let bytes = u32::try_from(body.len() + 16).map_err(io::Error::other)?;
    let head = [&bytes.to_ne_bytes()[..], &code.to_ne_bytes(), &0_u64.to_ne_bytes()].concat();
    match device.write(&[&head, body].concat()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

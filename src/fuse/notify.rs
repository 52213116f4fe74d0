//! The sender of FUSE notifications, which invalidate the kernel's cache, on threads of its own.
//! `fs::view::kernel_cache` decides what is invalidated.
//!
//! A notification about a name waits until every call in its directory is answered, however many
//! there are; so each has a thread, and a slow directory delays no other. That wait ends by itself,
//! because no call waits for a notification (`fs::view::kernel_cache`). If the process is killed
//! while one waits, the calls that it waits for are never answered: `cli::watchdog` ends that.
//!
//! A notification about attributes waits for nothing, and suffices for an item that was written:
//! for an inode that the kernel knows, it discards answers about attributes that it requested
//! before (`attr_version` in Linux). If it does not know the inode, an answer on its way may bring
//! it with its old state: then the name is invalidated too, which happens after that answer.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::database::thread_pool::{SpawnFailure, ThreadPool};
use crate::fs::view::{Invalidation, NodeName};
use crate::model::api::{AfterCommit, WaitPolicy};
use crate::store::LEASE_TTL;

/// The limit of concurrent notifications about attributes: they wait only for an inode that the
/// kernel is just dropping.
const ATTRIBUTES_MAX: usize = 8;
/// The limit of waiting notifications about names; further ones are queued.
const NAMES_MAX: usize = 64;
/// The time for which a kernel may cache an entry that has no notification to end all names
/// (before Linux 6.16).
const SHORT_TTL: Duration = Duration::from_secs(3);
/// The limit of any wait: by then the kernel's cache entries have expired, or their names are ended
/// all together.
const LONG_TIMEOUT: Duration = SHORT_TTL.saturating_add(Duration::from_secs(1));
/// The interval at which expired waits are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// `enum fuse_notify_code` of linux/fuse.h.
const INVAL_INODE: i32 = 2;
const INVAL_ENTRY: i32 = 3;
const STORE: i32 = 4;
const INC_EPOCH: i32 = 8;
const PRUNE: i32 = 9;
/// `FUSE_EXPIRE_ONLY`: the name is looked up again, and is not dropped. Older kernels drop it.
const EXPIRE_ONLY: u32 = 1;

/// A function that sends a notification: a code and the bytes after the header. Returns true if the
/// kernel knows the inode or name.
type SendFn = dyn Fn(i32, &[u8]) -> bool + Send + Sync;
/// The callback of a waiting call; `None` after it was called.
type PendingCallback = Arc<Mutex<Option<AfterCommit>>>;

/// A sender of notifications; see the module.
pub struct Notifier {
    send: Arc<SendFn>,
    attributes: ThreadPool,
    names: Arc<ThreadPool>,
    deadlines: Arc<Deadlines>,
    /// The longest time for which the kernel may cache an entry.
    ttl: Duration,
    /// The limit of a call's wait if it may hold the lock of a file
    /// ([`MountOptions::notify_timeout`](super::MountOptions::notify_timeout)).
    short_timeout: Duration,
}

impl Notifier {
    /// Creates a notifier on a descriptor of the mount.
    ///
    /// # Errors
    /// The system refuses a thread for the deadlines.
    pub fn new(device: File, short_timeout: Duration) -> io::Result<Self> {
        Self::with_sender(
            short_timeout,
            Arc::new(move |code, body: &[u8]| send_message(&device, code, body)),
        )
    }

    fn with_sender(short_timeout: Duration, send: Arc<SendFn>) -> io::Result<Self> {
        let deadlines = Arc::<Deadlines>::default();
        let (of_thread, sender) = (Arc::clone(&deadlines), Arc::clone(&send));
        std::thread::Builder::new()
            .name("ddbfs-deadline".to_owned())
            .spawn(move || of_thread.watch(&*sender))?;
        let pool = |name, threads_max| ThreadPool::new(name, threads_max, SpawnFailure::Queue);
        let (attributes, names) = (
            pool("ddbfs-notify", ATTRIBUTES_MAX),
            Arc::new(pool("ddbfs-names", NAMES_MAX)),
        );
        let ttl = if send(INC_EPOCH, &[]) {
            LEASE_TTL
        } else {
            SHORT_TTL
        };
        Ok(Self {
            send,
            ttl,
            attributes,
            names,
            deadlines,
            short_timeout,
        })
    }
}

/// Ends all names that the kernel of this mount caches, also of answers on their way, without
/// waiting. A process that holds a directory finds it without a name until it is looked up. Returns
/// false if the kernel cannot (before Linux 6.16).
#[must_use]
pub fn end_all_names(device: &File) -> bool {
    send_message(device, INC_EPOCH, &[])
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.deadlines.list.lock().is_closed = true;
        self.deadlines.wakeup.notify_all();
    }
}

/// Callbacks with the time at which they are called at the latest.
#[derive(Default)]
struct Deadlines {
    list: Mutex<DeadlineList>,
    wakeup: Condvar,
}

#[derive(Default)]
struct DeadlineList {
    all: Vec<(Instant, PendingCallback)>,
    is_closed: bool,
}

impl Deadlines {
    fn add(&self, until: Instant, waiting: &PendingCallback) {
        let mut list = self.list.lock();
        list.all.push((until, Arc::clone(waiting)));
        // With more entries the thread polls anyway.
        if list.all.len() == 1 {
            self.wakeup.notify_one();
        }
    }

    fn watch(&self, sender: &SendFn) {
        let mut list = self.list.lock();
        loop {
            if list.all.is_empty() && !list.is_closed {
                self.wakeup.wait(&mut list);
            }
            let is_ended = list.is_closed;
            let now = Instant::now();
            let due = list.all.extract_if(.., |(until, waiting)| {
                is_ended || *until <= now || waiting.lock().is_none()
            });
            let due: Vec<_> = due.collect();
            // Without the lock: a callback may send another notification.
            MutexGuard::unlocked(&mut list, || {
                if due.iter().any(|(_, waiting)| waiting.lock().is_some()) {
                    // A directory is locked for so long that the names end without its lock.
                    sender(INC_EPOCH, &[]);
                }
                due.iter().for_each(|(_, waiting)| call_once(waiting));
            });
            if is_ended {
                return;
            }
            MutexGuard::unlocked(&mut list, || std::thread::sleep(POLL_INTERVAL));
        }
    }
}

/// Calls the callback, unless it was called before.
fn call_once(callback: &PendingCallback) {
    let callback = callback.lock().take();
    if let Some(callback) = callback {
        callback();
    }
}

impl Notifier {
    /// Notifies the kernel of all these invalidations, then calls `on_end`. Calls `complete` when no
    /// stale entry is visible any more, or when the time of `wait` is over. Never blocks.
    pub fn invalidate(
        &self,
        invalidations: Vec<Invalidation>,
        wait: WaitPolicy,
        on_end: AfterCommit,
        complete: AfterCommit,
    ) {
        let waiting = Arc::new(Mutex::new(Some(complete)));
        let until = match wait {
            WaitPolicy::Long => Some(LONG_TIMEOUT),
            WaitPolicy::Short => Some(self.short_timeout),
            WaitPolicy::None | WaitPolicy::Settled => None,
        };
        match until {
            Some(until) => self.deadlines.add(Instant::now() + until, &waiting),
            None => call_once(&waiting),
        }
        self.send_all(invalidations, on_end, waiting);
    }

    /// Returns the longest time for which the kernel may cache an entry.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Stores bytes in the page cache, as the beginning of a file. Returns true if the kernel took
    /// them.
    pub fn store(&self, ino: u64, bytes: &[u8]) -> bool {
        let Ok(length) = u32::try_from(bytes.len()) else {
            return false;
        };
        // struct fuse_notify_store_out
        let head = [
            &ino.to_ne_bytes()[..],
            &0_u64.to_ne_bytes(),
            &length.to_ne_bytes(),
            &0_u32.to_ne_bytes(),
        ]
        .concat();
        (self.send)(STORE, &[&head, bytes].concat())
    }

    fn send_all(
        &self,
        invalidations: Vec<Invalidation>,
        on_end: AfterCommit,
        waiting: PendingCallback,
    ) {
        let (sender, names) = (Arc::clone(&self.send), Arc::clone(&self.names));
        self.attributes.run(Box::new(move || {
            let is_left =
                |invalidation: &Invalidation| !matches!(invalidation, Invalidation::Attributes(_, ino) if send_inode(&*sender, *ino));
            let left: Vec<_> = invalidations.into_iter().filter(is_left).collect();
            if left.is_empty() {
                on_end();
                return call_once(&waiting);
            }
            names.run(Box::new(move || {
                left.iter().for_each(|invalidation| send(&*sender, invalidation));
                on_end();
                call_once(&waiting);
            }));
        }));
    }
}

fn send(sender: &SendFn, invalidation: &Invalidation) {
    let (name, flags, ino) = match invalidation {
        Invalidation::Attributes(name, ino) | Invalidation::Removed(name, ino) => {
            (name, 0, Some(*ino))
        }
        Invalidation::Recheck(name, ino) => (name, EXPIRE_ONLY, Some(*ino)),
        Invalidation::Forget(name) => (name, 0, None),
        Invalidation::Prune(ino) => {
            // `struct fuse_notify_prune_out`, with one node.
            let head = [1, 0, 0, 0_u32].map(u32::to_ne_bytes).concat();
            sender(PRUNE, &[&head[..], &ino.to_ne_bytes()].concat());
            return;
        }
    };
    send_entry(sender, name, flags);
    if let Some(ino) = ino {
        send_inode(sender, ino);
    }
}

/// Invalidates the attributes of an inode, but not its data, by a negative offset
/// (`fuse_reverse_inval_inode` in Linux), without waiting. Returns true if the kernel knows the
/// inode.
fn send_inode(sender: &SendFn, ino: u64) -> bool {
    let body = [
        &ino.to_ne_bytes()[..],
        &(-1_i64).to_ne_bytes(),
        &0_i64.to_ne_bytes(),
    ]
    .concat();
    sender(INVAL_INODE, &body)
}

/// Invalidates a name, which waits for the lock of the directory.
fn send_entry(sender: &SendFn, NodeName { parent, name }: &NodeName, flags: u32) -> bool {
    let Ok(bytes) = u32::try_from(name.len()) else {
        return false;
    };
    let head = [
        &parent.to_ne_bytes()[..],
        &bytes.to_ne_bytes(),
        &flags.to_ne_bytes(),
    ]
    .concat();
    sender(INVAL_ENTRY, &[&head, name.as_bytes(), &[0]].concat())
}

/// Writes a `struct fuse_out_header` and its body. An inode or name that the kernel does not know
/// is no error.
fn send_message(mut device: &File, code: i32, body: &[u8]) -> bool {
    let Ok(bytes) = u32::try_from(body.len() + 16) else {
        return false;
    };
    let head = [
        &bytes.to_ne_bytes()[..],
        &code.to_ne_bytes(),
        &0_u64.to_ne_bytes(),
    ]
    .concat();
    let message = [&head, body].concat();
    match device.write(&message) {
        Ok(written) => written == message.len(),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                log::debug!("the kernel was not told of {body:?}: {error}");
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Generous: it ends only hanging tests.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Runs a notification against a kernel with a locked directory; checks if the writer waits for
    /// the lock, and which codes are sent in all.
    fn check(is_known: bool, invalidation: Invalidation, blocks: bool, sent: &[i32]) {
        let (directory, codes) = (Arc::new(Mutex::new(())), Arc::<Mutex<Vec<i32>>>::default());
        let (held, of_kernel, of_codes) =
            (directory.lock(), Arc::clone(&directory), Arc::clone(&codes));
        let (arrives, arrived) = channel();
        let tell: Arc<SendFn> = Arc::new(move |code, _: &[u8]| {
            if code == INVAL_ENTRY {
                arrives.send(()).unwrap();
                drop(of_kernel.lock());
            }
            of_codes.lock().push(code);
            is_known
        });
        let (then, gone) = channel();
        let waiting: PendingCallback =
            Arc::new(Mutex::new(Some(Box::new(move || then.send(()).unwrap()))));
        let notifier = Notifier::with_sender(PATIENCE, tell).unwrap();
        codes.lock().clear();
        notifier.send_all(vec![invalidation.clone()], Box::new(|| {}), waiting);
        if blocks {
            arrived.recv_timeout(PATIENCE).unwrap();
            assert!(gone.try_recv().is_err(), "{invalidation:?}");
            drop(held);
        }
        gone.recv_timeout(PATIENCE).unwrap();
        assert_eq!(*codes.lock(), sent, "{invalidation:?}");
    }

    #[test]
    fn a_write_of_a_known_inode_does_not_wait_for_the_directory_lock() {
        let name = || NodeName {
            parent: 1,
            name: "i.json".to_owned(),
        };
        check(
            true,
            Invalidation::Attributes(name(), 7),
            false,
            &[INVAL_INODE],
        );
        check(true, Invalidation::Forget(name()), true, &[INVAL_ENTRY]);
        check(
            true,
            Invalidation::Removed(name(), 7),
            true,
            &[INVAL_ENTRY, INVAL_INODE],
        );
        check(
            true,
            Invalidation::Recheck(name(), 7),
            true,
            &[INVAL_ENTRY, INVAL_INODE],
        );
        check(
            false,
            Invalidation::Attributes(name(), 7),
            true,
            &[INVAL_INODE, INVAL_ENTRY, INVAL_INODE],
        );
    }
}

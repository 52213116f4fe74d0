//! The door of a store: a process that keeps what it reads is alone, and gives way.
//!
//! The ignored tests are the other processes: started by name with a directory in the environment, they do nothing without it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::lmdb::{get, put};
use crate::support::daemon::{DDBFS, Mount, texts};
use crate::support::engine::{n, put as put_item, s};
use crate::support::own_process;
use crate::support::wait::{PATIENCE, is_all, moment, until, until_looked, until_some};
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::model::Item;
use ddbfs::store::lmdb::{LeaseLimits, LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{LeaseHolder, Store, StoreError};

const DIR: &str = "DDBFS_TEST_DOOR";

/// The thread that keeps, and looks now and then whether it may.
const HOLDER_THREAD: &str = "store-lease";

/// What the end of keeping takes, for who does not wait for it to be seen.
const END: Duration = Duration::from_millis(20);

/// What a killed holder gave out is over soon.
const TTL: Duration = Duration::from_millis(300);

/// A holder that lives has all the time that a busy machine needs.
const LIMITS: LeaseLimits = LeaseLimits {
    acquire_wait: PATIENCE,
    poll_period: Duration::from_millis(50),
    watch_wait: PATIENCE,
};

fn given_dir() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}

fn open(dir: &Path) -> Result<LmdbStore, StoreError> {
    open_with(dir, LIMITS)
}

fn open_with(dir: &Path, lease: LeaseLimits) -> Result<LmdbStore, StoreError> {
    LmdbStore::open(
        &dir.join("data"),
        LmdbOptions {
            map_bytes: 1 << 20,
            lease,
            ..LmdbOptions::default()
        },
    )
}

/// For one that looks.
fn open_to_look(dir: &Path) -> LmdbStore {
    let options = LmdbOptions {
        map_bytes: 1 << 20,
        passive: true,
        lease: LIMITS,
        ..LmdbOptions::default()
    };
    LmdbStore::open(&dir.join("data"), options).unwrap()
}

/// One write, so that a killed process does not leave half a line.
fn say(line: &str) {
    std::io::stdout()
        .write_all(format!("{line}\n").as_bytes())
        .unwrap();
}

/// Says what it is told; while it keeps, the file `kept` is there. Its end waits for the file `go`, if it is slow.
struct Told {
    dir: PathBuf,
    is_slow: bool,
}

impl LeaseHolder for Told {
    fn begin(&self) {
        fs::write(self.dir.join("kept"), "").unwrap();
        say("door begin");
    }

    fn ttl(&self) -> Duration {
        TTL
    }

    fn end(&self) {
        fs::write(self.dir.join("asked"), "").unwrap();
        say("door asked");
        moment(END);
        until("it may end", || {
            !self.is_slow || self.dir.join("go").exists()
        });
        fs::remove_file(self.dir.join("kept")).unwrap();
        say("door end");
    }
}

/// A process and what it says.
struct Other {
    child: Child,
    lines: Receiver<String>,
}

impl Other {
    fn start(test: &str, dir: &Path) -> Self {
        let (child, output): (Child, BufReader<ChildStdout>) =
            own_process::start(module_path!(), test, (DIR, dir));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // The first follows a word of the test's harness.
                if let Some((_, said)) = line.split_once("door ") {
                    let _ = sender.send(said.to_owned());
                }
            }
        });
        Self { child, lines }
    }

    fn says(&self, expected: &str) {
        assert_eq!(self.lines.recv_timeout(PATIENCE).as_deref(), Ok(expected));
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn stop(&self) {
        self.signal("-STOP");
        // A signal is sent before it has come to all threads.
        until("it stops", || is_all(self.child.id(), 'T'));
    }

    fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }
}

fn keep_until_killed(is_slow: bool) {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir).unwrap();
    store.hold_lease(Arc::new(Told { dir, is_slow }));
    // A process of its own, which must not hold its locks when it is gone.
    let seconds = PATIENCE.as_secs().to_string();
    Command::new("sleep")
        .arg(seconds)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
}

#[test]
#[ignore = "a process of another test"]
fn child_keeps() {
    keep_until_killed(false);
}

#[test]
#[ignore = "a process of another test"]
fn child_keeps_and_ends_slowly() {
    keep_until_killed(true);
}

#[test]
#[ignore = "a process of another test"]
fn child_opens() {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir).unwrap();
    say("door open");
    store.close();
}

#[test]
fn a_holder_gives_way_before_another_process_is_in_and_begins_again_when_it_left() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let holder = Other::start("child_keeps", dir.path());
    for round in 0_u8..3 {
        holder.says("begin");
        let store = open(dir.path()).unwrap();
        assert!(!kept.exists(), "kept beside an open store");
        holder.says("asked");
        holder.says("end");
        // It has looked more than once whether it is alone again.
        until_looked(holder.child.id(), HOLDER_THREAD, 4);
        assert!(!kept.exists(), "kept beside an open store");
        // Nobody was killed: a write does not wait, but that is a matter of time, and not asserted.
        put(&store, b"round", vec![round]).unwrap();
    }
    holder.says("begin");
    holder.kill();
}

#[test]
fn two_at_once_are_let_in() {
    let dir = tempfile::tempdir().unwrap();
    let holder = Other::start("child_keeps", dir.path());
    holder.says("begin");
    let newcomers = [(); 2].map(|()| Other::start("child_opens", dir.path()));
    for mut newcomer in newcomers {
        newcomer.says("open");
        assert!(newcomer.child.wait().unwrap().success());
    }
    holder.says("asked");
    holder.kill();
}

/// Whether the lock file says that something is kept.
fn is_marked(dir: &Path) -> bool {
    fs::read(dir.join("data/log.lock"))
        .unwrap()
        .starts_with(b"cached")
}

fn wait_until_marked(mount: &Mount) {
    until("something is kept", || is_marked(mount.dir.path()));
}

#[test]
fn after_a_killed_holder_the_first_write_waits_until_what_it_gave_out_is_over_and_the_next_process_does_not()
 {
    let dir = tempfile::tempdir().unwrap();
    let holder = Other::start("child_keeps", dir.path());
    holder.says("begin");
    holder.kill();
    let killed = Instant::now();
    assert!(is_marked(dir.path()));

    // Who only reads does not wait, and leaves it to the next.
    let store = open(dir.path()).unwrap();
    assert_eq!(get(&store, b"key"), None);
    drop(store);
    assert!(is_marked(dir.path()));

    let store = open(dir.path()).unwrap();
    put(&store, b"key", vec![1]).unwrap();
    assert!(
        killed.elapsed() >= TTL,
        "written after {:?}",
        killed.elapsed()
    );
    assert!(!is_marked(dir.path()));
    drop(store);
    let store = open(dir.path()).unwrap();
    put(&store, b"key", vec![2]).unwrap();
    drop(store);

    // The dead one's mark was taken away, not that of one who keeps.
    let holder = Other::start("child_keeps", dir.path());
    holder.says("begin");
    assert!(is_marked(dir.path()));
    holder.kill();
}

#[test]
fn a_process_that_keeps_after_a_killed_one_begins_when_that_ones_things_are_over() {
    let dir = tempfile::tempdir().unwrap();
    let holder = Other::start("child_keeps", dir.path());
    holder.says("begin");
    holder.kill();
    let killed = Instant::now();
    let holder = Other::start("child_keeps", dir.path());
    holder.says("begin");
    assert!(
        killed.elapsed() >= TTL,
        "begun after {:?}",
        killed.elapsed()
    );
    assert!(is_marked(dir.path()));
    holder.kill();
}

#[test]
fn who_is_killed_waiting_at_the_door_is_in_nobodys_way() {
    let dir = tempfile::tempdir().unwrap();
    let holder = Other::start("child_keeps_and_ends_slowly", dir.path());
    holder.says("begin");
    let waiting = Other::start("child_opens", dir.path());
    holder.says("asked");
    assert!(waiting.lines.try_recv().is_err(), "open beside a holder");
    waiting.kill();
    fs::write(dir.path().join("go"), "").unwrap();
    holder.says("end");
    holder.says("begin");
    drop(open(dir.path()).unwrap());
    holder.kill();
}

#[test]
fn who_waits_while_the_holder_is_killed_gets_in() {
    let dir = tempfile::tempdir().unwrap();
    let holder = Other::start("child_keeps_and_ends_slowly", dir.path());
    holder.says("begin");
    let waiting = Other::start("child_opens", dir.path());
    holder.says("asked");
    holder.kill();
    waiting.says("open");
    assert!(is_marked(dir.path()));
}

#[test]
fn a_holder_that_is_stopped_is_named_and_nobody_waits_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let holder = Other::start("child_keeps", dir.path());
    holder.says("begin");
    holder.stop();
    let soon = LeaseLimits {
        acquire_wait: Duration::from_secs(1),
        ..LIMITS
    };
    let Err(StoreError::Io(text)) = open_with(dir.path(), soon) else {
        panic!("open beside a holder")
    };
    let pid = holder.child.id();
    assert!(
        text.starts_with(&format!("process {pid} has it mounted"))
            && text.contains(&format!("`kill -CONT {pid}`")),
        "{text}"
    );
    holder.signal("-CONT");
    drop(open(dir.path()).unwrap());
    holder.kill();
}

#[test]
fn who_only_looks_is_in_nobodys_way_and_comes_in_at_a_write() {
    let dir = tempfile::tempdir().unwrap();
    put(&open(dir.path()).unwrap(), b"key", vec![1]).unwrap();
    let holder = Other::start("child_keeps", dir.path());
    holder.says("begin");
    holder.stop();
    let store = open_to_look(dir.path());
    assert_eq!(get(&store, b"key"), Some(vec![1]));
    drop(store);
    holder.signal("-CONT");
    let store = open_to_look(dir.path());
    // A knock would have woken the thread that hears it, which would not sleep again before it has told the holder.
    until("the holder has nothing to do", || {
        is_all(holder.child.id(), 'S')
    });
    assert!(
        dir.path().join("kept").exists() && !dir.path().join("asked").exists(),
        "who looked was heard"
    );
    put(&store, b"key", vec![2]).unwrap();
    assert!(!dir.path().join("kept").exists(), "written beside a holder");
    holder.says("asked");
    holder.says("end");
    drop(store);
    holder.says("begin");
    holder.kill();

    // The mark of a killed one is for the first write, too.
    let killed = Instant::now();
    let store = open_to_look(dir.path());
    put(&store, b"key", vec![3]).unwrap();
    assert!(
        killed.elapsed() >= TTL,
        "written after {:?}",
        killed.elapsed()
    );
    assert!(!is_marked(dir.path()));
}

#[test]
fn commands_that_look_read_beside_a_mount_that_is_stopped() {
    let mount = Mount::with_samples();
    wait_until_marked(&mount);
    let run = |arguments: &[&str]| {
        // Bounded, as a mount that is stopped must go on before it can be ended.
        let output = Command::new("timeout")
            .args(["60", DDBFS])
            .args(arguments)
            .arg("--data")
            .arg(mount.data())
            .output()
            .unwrap();
        (output.status.success(), texts(&output).1)
    };
    mount.signal("-STOP");
    let looked = [
        &["dump", "Pets"][..],
        &["what-if", "Pets", "--billing", "on-demand"],
        &["shapes", "Pets"],
    ]
    .map(&run);
    let wrote = run(&["sample"]);
    mount.signal("-CONT");
    assert_eq!(looked, [(); 3].map(|()| (true, String::new())));
    assert!(
        !wrote.0 && wrote.1.contains("has it mounted alone"),
        "{}",
        wrote.1
    );
    // This one waits for a commit under way.
    assert_eq!(run(&["check"]), (true, String::new()));
}

/// How often a process has read anything, as a mount does for each request.
fn reads(process: u32) -> String {
    let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    io.lines()
        .find(|line| line.starts_with("syscr"))
        .unwrap()
        .to_owned()
}

#[test]
fn what_a_killed_mount_left_in_the_kernel_is_never_older_than_what_was_written_after_it() {
    check_a_killed_mount(Mount::kill);
}

/// Takes as long as the kernel may answer from its cache, since nothing ends that.
#[test]
fn the_same_if_the_watchdog_is_killed_at_once() {
    check_a_killed_mount(|mount| {
        // Stopped, it starts no other.
        mount.signal("-STOP");
        until("it stops", || is_all(mount.pid(), 'T'));
        let watchdog = watchdog_of(mount.pid());
        let killed = Command::new("kill").args(["-9", &watchdog]).status();
        assert!(killed.unwrap().success());
        mount.kill();
    });
}

/// The number of the process that watches a mount.
fn watchdog_of(mount: u32) -> String {
    let is_it = |stat: &str| stat.contains(&format!("(mount-watchdog) S {mount} "));
    // It takes its name a moment after its start.
    until_some("a watchdog", || {
        fs::read_dir("/proc").unwrap().find_map(|entry| {
            let stat = fs::read_to_string(entry.unwrap().path().join("stat")).ok()?;
            is_it(&stat).then(|| stat.split(' ').next().unwrap().to_owned())
        })
    })
}

/// A program that stands in a dead mount is answered by the kernel from what it kept, until that is over.
fn check_a_killed_mount(kill: impl FnOnce(&mut Mount)) {
    let mut mount = Mount::with_samples();
    let items = File::open(mount.point().join("Pets/items/Dog")).unwrap();
    let size = || {
        fs::metadata(format!("/proc/self/fd/{}/Fido.json", items.as_raw_fd()))
            .map(|metadata| metadata.len())
    };
    wait_until_marked(&mount);
    // It is said before it begins.
    until("the kernel answers from what it kept", || {
        let before = reads(mount.pid());
        size().unwrap();
        reads(mount.pid()) == before
    });
    let before = size().unwrap();
    kill(&mut mount);
    println!("{before} bytes, and of the dead mount {:?}", size());

    let written = Instant::now();
    let database = LocalDatabase::open(
        Arc::new(open_with(mount.dir.path(), LeaseLimits::default()).unwrap()),
        EngineOptions::default(),
    )
    .unwrap();
    let longer = "x".repeat(before as usize);
    let fido = Item::from([
        ("AnimalType", s("Dog")),
        ("Name", s("Fido")),
        ("Age", n("3")),
        ("Text", s(&longer)),
    ]);
    put_item(&database, "Pets", fido).unwrap();
    let after = size();
    assert!(after.is_err(), "written, and still {after:?} bytes long");
    println!("written after {:?}", written.elapsed());
}

/// Holds the file `alone` shared while the store is open, and alone while it keeps: a second process in the way ends this one.
struct Checked(File);

impl Checked {
    fn expect(outcome: Result<(), fs::TryLockError>) {
        if outcome.is_err() {
            say("door broken");
            std::process::exit(1);
        }
    }
}

impl LeaseHolder for Checked {
    fn begin(&self) {
        Self::expect(self.0.try_lock());
        say("door begin");
    }

    fn end(&self) {
        moment(END);
        Self::expect(self.0.try_lock_shared());
    }
}

#[test]
#[ignore = "a process of another test"]
fn child_comes_and_goes() {
    let Some(dir) = given_dir() else { return };
    let mut random = u64::from(std::process::id());
    let mut pause = |below_ms: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        moment(Duration::from_millis((random >> 33) % below_ms));
    };
    while !dir.join("stop").exists() {
        pause(1_000);
        let store = open(&dir).unwrap();
        let alone = Arc::new(Checked(File::create(dir.join("alone")).unwrap()));
        Checked::expect(alone.0.try_lock_shared());
        say("door open");
        store.hold_lease(Arc::clone(&alone) as Arc<dyn LeaseHolder>);
        pause(100);
        store.close();
        alone.0.unlock().unwrap();
    }
}

#[test]
fn of_processes_that_come_and_go_one_keeps_only_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut others: Vec<_> = (0..10)
        .map(|_| Other::start("child_comes_and_goes", dir.path()))
        .collect();
    let mut said = Vec::new();
    let count = |said: &[String], word: &str| said.iter().filter(|said| *said == word).count();
    until("they come and go", || {
        said.extend(others.iter().flat_map(|other| other.lines.try_iter()));
        assert!(count(&said, "broken") == 0, "{said:?}");
        count(&said, "open") >= 30 && count(&said, "begin") >= 3
    });
    let killed = others.split_off(7);
    killed.into_iter().for_each(Other::kill);
    fs::write(dir.path().join("stop"), "").unwrap();
    for mut other in others {
        assert!(other.child.wait().unwrap().success());
        said.extend(other.lines.iter());
    }
    println!(
        "{} openings, {} times kept",
        count(&said, "open"),
        count(&said, "begin")
    );
    assert_eq!(count(&said, "broken"), 0);
    put(&open(dir.path()).unwrap(), b"key", vec![1]).unwrap();
}

#[test]
fn what_is_kept_ends_when_the_store_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    store.hold_lease(Arc::new(Told {
        dir: dir.path().to_owned(),
        is_slow: false,
    }));
    until("it begins", || dir.path().join("kept").exists());
    store.close();
    assert!(!dir.path().join("kept").exists());
    assert!(!is_marked(dir.path()));
}

#[test]
fn a_store_in_memory_is_always_alone() {
    let dir = tempfile::tempdir().unwrap();
    MemoryStore::new().unwrap().hold_lease(Arc::new(Told {
        dir: dir.path().to_owned(),
        is_slow: false,
    }));
    assert!(dir.path().join("kept").exists());
}

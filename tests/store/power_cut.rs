//! The log and the checkpoints of the store: what is whole after a power cut, a kill, a copy, and a clean end.
//!
//! A power cut is a copy of the directory with the data file as it was at its last checkpoint: what LMDB wrote since is lost, as it was never
//! synced. The ignored tests are the other processes: started by name with a directory in the environment, they do nothing without it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command};
use std::time::Duration;

use crate::lmdb::{get, open, pair_value, put};
use crate::support::daemon::DDBFS;
use crate::support::own_process::{start as start_process, straced, test_name};
use crate::support::wait::{moment, until};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::{Durability, StoreError};

const DIR: &str = "DDBFS_TEST_POWER_CUT";

fn given_dir() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}

fn start(test: &str, dir: &Path) -> (Child, BufReader<ChildStdout>) {
    start_process(module_path!(), test, (DIR, dir))
}

/// Beside a store's directory: a process waits while it is there.
fn wait_file(dir: &Path) -> PathBuf {
    dir.with_extension("wait")
}

/// Copies some files of a store that is in use.
fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

const LOG: [&str; 3] = ["checkpoint", "log.0", "log.1"];

/// What is there of the log and the checkpoint.
fn rest(dir: &Path) -> Vec<&'static str> {
    LOG.into_iter()
        .filter(|name| dir.join(name).exists())
        .collect()
}

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// Everything up to `last` is there, and the store takes writes.
#[track_caller]
fn is_whole(dir: &Path, last: u64) {
    let store = open(dir, Durability::Power);
    for n in 1..=last {
        assert_eq!(get(&store, &key(n)), Some(pair_value(n)), "{n} of {last}");
    }
    store.check_pages().unwrap();
    put(&store, b"next", vec![1]).unwrap();
    drop(store);
    assert_eq!(rest(dir), [] as [&str; 0]);
    assert_eq!(get(&open(dir, Durability::Power), b"next"), Some(vec![1]));
}

/// What a power cut leaves that loses all that was not synced: the data file of the last checkpoint, and the log.
fn power_cut(durability: Durability) {
    // A checkpoint may come in between; then once more.
    for _ in 0..50 {
        let (dir, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(dir.path(), durability);
        put(&store, &key(1), pair_value(1)).unwrap();
        let checkpoint = fs::read(dir.path().join("checkpoint")).unwrap();
        copy(dir.path(), cut.path(), &["data.mdb"]);
        for n in 2..=40 {
            put(&store, &key(n), pair_value(n)).unwrap();
        }
        copy(dir.path(), cut.path(), &LOG);
        if fs::read(cut.path().join("checkpoint")).unwrap() == checkpoint {
            is_whole(cut.path(), 40);
            return;
        }
    }
    panic!("there was a checkpoint within 40 puts each time");
}

#[test]
fn what_was_acknowledged_is_there_after_a_power_cut() {
    power_cut(Durability::Power);
    power_cut(Durability::Kill);
}

#[test]
fn a_copy_of_a_live_directory_opens_with_what_was_acknowledged() {
    let (dir, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(dir.path(), Durability::Power);
    for n in 1..=20 {
        put(&store, &key(n), pair_value(n)).unwrap();
    }
    let cp = Command::new("cp")
        .arg("-a")
        .arg(dir.path().join("."))
        .arg(copied.path())
        .status()
        .unwrap();
    assert!(cp.success());
    is_whole(copied.path(), 20);
    put(&store, &key(21), pair_value(21)).unwrap();
    drop(store);
    is_whole(dir.path(), 21);
}

#[test]
fn the_last_process_leaves_a_plain_data_file() {
    let dir = tempfile::tempdir().unwrap();
    let wait = wait_file(dir.path());
    fs::write(&wait, b"").unwrap();
    let (mut child, output) = start("child_writes_and_waits", dir.path());
    let mut lines = output.lines();
    assert!(lines.any(|line| line.unwrap().contains("written")));
    // It only reads, and outlives the writer.
    let reader = open(dir.path(), Durability::Power);
    assert_eq!(get(&reader, &key(5)), Some(pair_value(5)));
    fs::remove_file(wait).unwrap();
    assert!(lines.all(|line| line.is_ok()) && child.wait().unwrap().success());
    drop(reader);
    assert_eq!(rest(dir.path()), [] as [&str; 0]);
    // Alone it is the whole store, for older versions too.
    let alone = tempfile::tempdir().unwrap();
    copy(dir.path(), alone.path(), &["data.mdb"]);
    is_whole(alone.path(), 5);
}

#[test]
#[ignore = "a process of the_last_process_leaves_a_plain_data_file and others"]
fn child_writes_and_waits() {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir, Durability::Power);
    for n in 1..=5 {
        put(&store, &key(n), pair_value(n)).unwrap();
    }
    println!("written");
    until("it may end", || !wait_file(&dir).exists());
}

/// The process whose checkpoint counts is killed; who goes on, and who comes, makes one that is protected.
#[test]
fn others_go_on_after_the_death_of_the_checkpoints_process() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(wait_file(dir.path()), b"").unwrap();
    let beside = open(dir.path(), Durability::Power);
    for round in 0..4 {
        let (mut child, output) = start("child_writes_and_waits", dir.path());
        assert!(output.lines().any(|line| line.unwrap().contains("written")));
        child.kill().unwrap();
        child.wait().unwrap();
        for n in 6..=60 {
            put(&beside, &key(n), pair_value(n)).unwrap();
        }
        let cut = tempfile::tempdir().unwrap();
        copy(
            dir.path(),
            cut.path(),
            &["data.mdb", "checkpoint", "log.0", "log.1"],
        );
        is_whole(cut.path(), 60);
        assert_eq!(get(&beside, &key(3)), Some(pair_value(3)), "round {round}");
    }
    drop(beside);
    is_whole(dir.path(), 60);
    fs::remove_file(wait_file(dir.path())).unwrap();
}

/// Killed at its Nth sync, which may be between the record of a commit and the commit; beside it another process writes on.
#[test]
fn a_process_killed_within_a_commit_disturbs_nobody() {
    for nth in 1..=9 {
        let dir = tempfile::tempdir().unwrap();
        let beside = open(dir.path(), Durability::Power);
        put(&beside, b"beside", vec![0]).unwrap();
        let options = [
            "-f",
            "-o",
            "/dev/null",
            &format!("--inject=fdatasync:signal=KILL:when={nth}"),
        ];
        let given = (DIR, dir.path());
        let Some((status, text)) =
            straced(module_path!(), "child_writes_until_killed", given, &options)
        else {
            return;
        };
        assert!(!status.success(), "{nth}: {text}");
        let numbers = text
            .lines()
            .filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok());
        let acknowledged: u64 = numbers.max().unwrap_or(0);
        let has_all = |store: &LmdbStore| {
            (1..=acknowledged).all(|n| get(store, &key(n)) == Some(pair_value(n)))
        };
        assert!(has_all(&beside), "{nth}");
        put(&beside, b"beside", vec![1; 3000]).unwrap();
        put(&beside, b"beside", vec![2; 30]).unwrap();
        let cut = tempfile::tempdir().unwrap();
        copy(
            dir.path(),
            cut.path(),
            &["data.mdb", "checkpoint", "log.0", "log.1"],
        );
        let recovered = open(cut.path(), Durability::Power);
        assert!(has_all(&recovered), "{nth}");
        assert_eq!(get(&recovered, b"beside"), Some(vec![2; 30]), "{nth}");
        recovered.check_pages().unwrap();
    }
}

#[test]
#[ignore = "a process of a_process_killed_within_a_commit_disturbs_nobody"]
fn child_writes_until_killed() {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir, Durability::Power);
    for n in 1.. {
        put(&store, &key(n), pair_value(n)).unwrap();
        println!("acknowledged {n}");
    }
}

/// How often a traced process had the log on disk.
fn log_syncs(trace: &Path) -> usize {
    fs::read_to_string(trace)
        .unwrap_or_default()
        .lines()
        .filter(|line| line.contains("fdatasync(") && line.contains("/log."))
        .count()
}

/// Takes the byte of `log.lock` that a process holds while it makes a checkpoint; as long as the file lives.
fn hold_checkpoints(dir: &Path) -> fs::File {
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(dir.join("log.lock"))
        .unwrap();
    // SAFETY: of integers alone; the descriptor and the lock live through the call.
    #[allow(unsafe_code, clippy::cast_possible_truncation)]
    let result = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) =
            (libc::F_WRLCK as i16, libc::SEEK_SET as i16, 2, 1);
        libc::fcntl(
            std::os::fd::AsRawFd::as_raw_fd(&file),
            libc::F_OFD_SETLKW,
            &raw const lock,
        )
    };
    assert_eq!(result, 0);
    file
}

/// Whether somebody waits for a lock of a file.
fn is_waited_for(file: &Path) -> bool {
    let inode = format!(":{} ", fs::metadata(file).unwrap().ino());
    fs::read_to_string("/proc/locks")
        .unwrap()
        .lines()
        .any(|line| line.contains("-> ") && line.contains(&inode))
}

/// What was acknowledged half a second ago is on disk, whatever a checkpoint waits for.
#[test]
fn with_kill_the_log_goes_to_disk_while_a_checkpoint_takes_long() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(wait_file(dir.path()), b"").unwrap();
    let trace = dir.path().with_extension("trace");
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-y", "-e", "trace=fdatasync", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap());
    traced.args([
        "--ignored",
        "--exact",
        &test_name(module_path!(), "child_writes_beside_a_checkpoint"),
        "--nocapture",
    ]);
    let Ok(mut child) = traced
        .env(DIR, dir.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
    else {
        eprintln!("strace is not installed: not checked");
        return;
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    if !lines.any(|line| line.contains("joined")) {
        assert!(!child.wait().unwrap().success());
        eprintln!("strace is not allowed here: not checked");
        return;
    }
    let held = hold_checkpoints(dir.path());
    fs::write(dir.path().with_extension("held"), b"").unwrap();
    assert!(lines.any(|line| line.contains("waits")));
    let before = log_syncs(&trace);
    until("the log reaches the disk", || {
        log_syncs(&trace) >= before + 3
    });
    drop(held);
    fs::remove_file(wait_file(dir.path())).unwrap();
    assert_eq!(lines.filter(|line| line.contains("1 passed")).count(), 1);
    assert!(child.wait().unwrap().success());
    for extension in ["trace", "held"] {
        fs::remove_file(dir.path().with_extension(extension)).unwrap();
    }
}

#[test]
#[ignore = "a process of with_kill_the_log_goes_to_disk_while_a_checkpoint_takes_long"]
fn child_writes_beside_a_checkpoint() {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir, Durability::Kill);
    put(&store, &key(1), pair_value(1)).unwrap();
    println!("joined");
    until("checkpoints are held", || {
        dir.with_extension("held").exists()
    });
    put(&store, &key(2), pair_value(2)).unwrap();
    // Without a write for long enough a checkpoint is tried.
    until("a checkpoint waits", || {
        is_waited_for(&dir.join("log.lock"))
    });
    println!("waits");
    for n in 3.. {
        put(&store, &key(n), pair_value(n)).unwrap();
        if !wait_file(&dir).exists() {
            return;
        }
        moment(Duration::from_millis(20));
    }
}

/// A process that wrote into a directory and was killed.
fn killed_writer(dir: &Path) {
    fs::write(wait_file(dir), b"").unwrap();
    let (mut child, output) = start("child_writes_and_waits", dir);
    assert!(output.lines().any(|line| line.unwrap().contains("written")));
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(wait_file(dir)).unwrap();
}

fn is_root() -> bool {
    // SAFETY: takes nothing, cannot fail.
    #[allow(unsafe_code)]
    let user = unsafe { libc::geteuid() };
    user == 0
}

/// What `ddbfs` says, and whether that was no failure.
fn told(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    (
        output.status.success(),
        String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout),
    )
}

/// On a file system that is mounted read-only.
fn mounted_read_only(dir: &Path) -> (bool, String) {
    let namespaces: &[&str] = if is_root() {
        &["--mount"]
    } else {
        &["--user", "--map-root-user", "--mount"]
    };
    let script = "umount -l -a -t fuse,fuse.ddbfs; mount --bind \"$DIR\" \"$DIR\" && mount -o remount,ro,bind \"$DIR\" && exec \"$0\" dump Pets --data \"$DIR\"";
    told(
        Command::new("unshare")
            .args(namespaces)
            .args(["sh", "-c", script, DDBFS])
            .env("DIR", dir),
    )
}

/// In a directory without write permission; root is held to that.
fn write_protected(dir: &Path, command: &[&str]) -> (bool, String) {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o500)).unwrap();
    let mut program = if is_root() {
        Command::new("setpriv")
    } else {
        Command::new("env")
    };
    if is_root() {
        program.arg("--bounding-set=-dac_override,-dac_read_search");
    }
    let told = told(
        program
            .arg(DDBFS)
            .args(command)
            .arg("--data")
            .arg(dir)
            .stdin(std::process::Stdio::null()),
    );
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
    told
}

#[test]
fn a_directory_that_cannot_be_written_to_is_read_where_that_needs_no_recovery_and_told_else() {
    let (dir, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(
        Command::new(DDBFS)
            .arg("sample")
            .arg("--data")
            .arg(dir.path())
            .output()
            .unwrap()
            .status
            .success()
    );
    let refused = |(is_ok, text): (bool, String), why: &str| {
        assert!(
            !is_ok && text.contains(why) && text.contains("make it writable, or copy it"),
            "{text}"
        );
    };
    let dumped =
        |(is_ok, text): (bool, String)| assert!(is_ok && text.contains("AnimalType"), "{text}");
    refused(
        mounted_read_only(dir.path()),
        "cannot be written to, and whoever reads it takes locks in it",
    );
    dumped(write_protected(dir.path(), &["dump", "Pets"]));
    let (is_ok, text) = write_protected(dir.path(), &["sample"]);
    assert!(is_ok, "nothing to do: {text}");

    killed_writer(dir.path());
    refused(
        mounted_read_only(dir.path()),
        "was not closed and cannot be written to",
    );
    dumped(write_protected(dir.path(), &["dump", "Pets"]));
    // A copy is what a power cut leaves.
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(dir.path().join("."))
            .arg(cut.path())
            .status()
            .unwrap()
            .success()
    );
    refused(
        mounted_read_only(cut.path()),
        "was not closed and cannot be written to",
    );
    for _ in 0..2 {
        refused(
            write_protected(cut.path(), &["dump", "Pets"]),
            "was not closed and cannot be written to",
        );
    }
    is_whole(cut.path(), 5);
    is_whole(dir.path(), 5);
}

/// Copied while somebody wrote, or restored alone: never opened as if it were what the checkpoint speaks of.
#[test]
fn a_data_file_that_is_older_than_its_checkpoint_is_told() {
    let (dir, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(dir.path(), Durability::Power);
    put(&store, &key(1), pair_value(1)).unwrap();
    copy(dir.path(), cut.path(), &["data.mdb"]);
    let before = fs::read(dir.path().join("checkpoint")).unwrap();
    put(&store, &key(2), pair_value(2)).unwrap();
    // The next checkpoint is soon made, as nothing is written.
    until("a checkpoint is made", || {
        fs::read(dir.path().join("checkpoint")).unwrap() != before
    });
    copy(dir.path(), cut.path(), &LOG);
    for _ in 0..2 {
        match LmdbStore::open(cut.path(), LmdbOptions::default()) {
            Err(StoreError::Damaged(text)) => assert!(
                text.contains("is older than the checkpoint beside it"),
                "{text}"
            ),
            other => panic!("{other:?}"),
        }
    }
    // As the sentence says.
    copy(
        dir.path(),
        cut.path(),
        &["data.mdb", "checkpoint", "log.0", "log.1"],
    );
    is_whole(cut.path(), 2);
}

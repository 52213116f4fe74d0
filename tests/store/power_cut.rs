//! The log and the checkpoints of the store: what is whole after a power cut, a kill, a copy, and a clean end.
//!
//! A power cut is a copy of the directory with the data file as it was at its last checkpoint: what LMDB wrote since is lost, as it was never
//! synced. The ignored tests are the other processes: started by name with a directory in the environment, they do nothing without it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command};
use std::time::Duration;

use crate::lmdb::{get, open, pair_value, put};
use crate::support::daemon::DDBFS;
use crate::support::own_process::{start as start_process, test_name};
use ddbfs::store::Durability;

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
    LOG.into_iter().filter(|name| dir.join(name).exists()).collect()
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
    let cp = Command::new("cp").arg("-a").arg(dir.path().join(".")).arg(copied.path()).status().unwrap();
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
    while wait_file(&dir).exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
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
        copy(dir.path(), cut.path(), &["data.mdb", "checkpoint", "log.0", "log.1"]);
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
        let traced = Command::new("strace")
            .args(["-f", "-o", "/dev/null", &format!("--inject=fdatasync:signal=KILL:when={nth}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", &test_name(module_path!(), "child_writes_until_killed"), "--nocapture"])
            .env(DIR, dir.path())
            .output();
        let Ok(output) = traced else {
            eprintln!("strace is not installed: not checked");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if text.contains("PTRACE") {
            eprintln!("strace is not allowed here: not checked");
            return;
        }
        assert!(!output.status.success(), "{nth}: {text}");
        let numbers = text.lines().filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok());
        let acknowledged: u64 = numbers.max().unwrap_or(0);
        let has_all =
            |store: &ddbfs::store::lmdb::LmdbStore| (1..=acknowledged).all(|n| get(store, &key(n)) == Some(pair_value(n)));
        assert!(has_all(&beside), "{nth}");
        put(&beside, b"beside", vec![1; 3000]).unwrap();
        put(&beside, b"beside", vec![2; 30]).unwrap();
        let cut = tempfile::tempdir().unwrap();
        copy(dir.path(), cut.path(), &["data.mdb", "checkpoint", "log.0", "log.1"]);
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

/// A directory that cannot be written to and was not closed.
#[test]
fn a_read_only_directory_that_was_not_closed_is_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(wait_file(dir.path()), b"").unwrap();
    let (mut child, output) = start("child_writes_and_waits", dir.path());
    assert!(output.lines().any(|line| line.unwrap().contains("written")));
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(wait_file(dir.path())).unwrap();
    // SAFETY: takes nothing, cannot fail.
    #[allow(unsafe_code)]
    let is_root = unsafe { libc::geteuid() } == 0;
    let namespaces: &[&str] = if is_root { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
    let script = "mount --bind \"$DIR\" \"$DIR\" && mount -o remount,ro,bind \"$DIR\" && exec \"$0\" check --data \"$DIR\"";
    let output =
        Command::new("unshare").args(namespaces).args(["sh", "-c", script, DDBFS]).env("DIR", dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("was not closed") && text.contains("make it writable"), "{text}");
    is_whole(dir.path(), 5);
}

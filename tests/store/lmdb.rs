//! The LMDB store across processes: two at once, killed ones, a full disk.
//!
//! The ignored tests are the other processes: started by name with a directory in the environment, they do nothing without it.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::sync::mpsc;
use std::time::Duration;

use crate::support::own_process::{self, limit_file_size, straced};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::{Direction, Durability, KeyRange, Store, StoreError, Write, WriteJob};

type Outcome = Result<(), StoreError>;

struct Job<R> {
    run: R,
    told: mpsc::Sender<Outcome>,
}

impl<R: FnMut(&mut dyn Write) -> Outcome + Send> WriteJob for Job<R> {
    fn run(&mut self, batch: &mut dyn Write) -> Outcome {
        (self.run)(batch)
    }

    fn done(self: Box<Self>, result: Outcome) {
        self.told.send(result).unwrap_or_default();
    }
}

fn write(
    store: &dyn Store,
    run: impl FnMut(&mut dyn Write) -> Outcome + Send + 'static,
) -> Outcome {
    let (told, outcome) = mpsc::channel();
    store.submit(Box::new(Job { run, told }));
    outcome.recv().expect("every job is told its outcome")
}

pub fn put(store: &dyn Store, key: &[u8], value: Vec<u8>) -> Outcome {
    let key = key.to_vec();
    write(store, move |batch| batch.put(&key, &value))
}

pub fn get(store: &dyn Store, key: &[u8]) -> Option<Vec<u8>> {
    store
        .snapshot()
        .expect("a snapshot")
        .get(key)
        .expect("a read")
        .map(<[u8]>::to_vec)
}

pub fn open(dir: &Path, durability: Durability) -> LmdbStore {
    // A small map, so that it grows under way.
    LmdbStore::open(
        dir,
        LmdbOptions {
            durability,
            map_bytes: 1 << 20,
            ..LmdbOptions::default()
        },
    )
    .expect("a store")
}

const DIR: &str = "DDBFS_TEST_STORE";

/// The directory to work on, in a process that [`start`] started.
fn given_dir() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}

/// Runs one of the ignored tests below as a process.
fn start(test: &str, dir: &Path) -> (Child, BufReader<ChildStdout>) {
    own_process::start(module_path!(), test, (DIR, dir))
}

fn finish(mut child: Child) {
    assert!(child.wait().expect("its end").success());
}

#[test]
fn a_commit_of_another_process_is_seen_and_wakes_who_waits() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path(), Durability::Power);
    let before = store.commit_id();
    assert_eq!(
        store.wait_for_commit(before, Duration::from_millis(20)),
        Ok(before),
        "nothing is committed"
    );
    let after = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| store.wait_for_commit(before, Duration::from_secs(60)));
        finish(start("child_puts_and_ends", dir.path()).0);
        waiter.join().expect("the waiter")
    });
    assert_ne!(after, Ok(before));
    assert_eq!(get(&store, b"from the child"), Some(b"1".to_vec()));
}

#[test]
fn a_file_grown_by_another_process_is_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path(), Durability::Power);
    put(&store, b"mine", vec![1]).expect("a write");
    finish(start("child_grows_the_file", dir.path()).0);
    assert_eq!(get(&store, &[200]), Some(vec![200; 1_000_000]));
    assert_eq!(get(&store, b"mine"), Some(vec![1]));
    put(&store, b"mine", vec![2]).expect("a write");
    finish(start("child_grows_the_file", dir.path()).0);
    // The next transaction is a write this time.
    put(&store, b"mine", vec![3]).expect("a write");
    assert_eq!(get(&store, b"mine"), Some(vec![3]));
}

/// Kills writers; what they had acknowledged is there, whole.
fn check_killed_writers(child_test: &str, beside: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut acknowledged = 0;
    for round in 0..6u64 {
        let watching = beside.then(|| open(dir.path(), Durability::Power));
        let (mut child, output) = start(child_test, dir.path());
        let target = acknowledged + 20 + round * 37;
        for line in output.lines() {
            let line = line.expect("a line");
            let Some(number) = line.strip_prefix("acknowledged ") else {
                continue;
            };
            acknowledged = number.parse().expect("a number");
            if acknowledged >= target {
                child.kill().expect("kill -9");
                break;
            }
        }
        child.wait().expect("its end");
        let store = watching.unwrap_or_else(|| open(dir.path(), Durability::Power));
        for n in 1..=acknowledged {
            assert_eq!(
                get(&store, &pair_key(n, 0)),
                Some(pair_value(n)),
                "{n} of {acknowledged}"
            );
        }
        let view = store.snapshot().expect("a snapshot");
        let mut count = 0;
        let visit = &mut |key: &[u8], value: &[u8]| {
            assert_eq!(
                view.get(&[&key[..8], &[1 - key[8]]].concat()),
                Ok(Some(value)),
                "half a job"
            );
            count += 1;
            std::ops::ControlFlow::Continue(())
        };
        view.walk(&KeyRange::prefix(&[]), Direction::Forward, visit)
            .expect("a walk");
        assert!(count / 2 >= acknowledged);
        drop(view);
        put(&store, &pair_key(0, 0), vec![]).expect("the next write goes on");
        put(&store, &pair_key(0, 1), vec![]).expect("the next write goes on");
    }
}

fn pair_key(n: u64, half: u8) -> Vec<u8> {
    [&n.to_be_bytes()[..], &[half]].concat()
}

pub fn pair_value(n: u64) -> Vec<u8> {
    vec![n.to_le_bytes()[0]; 10_000]
}

#[test]
fn killed_writers_lose_nothing_acknowledged() {
    check_killed_writers("child_writes_until_killed", false);
}

#[test]
fn killed_relaxed_writers_lose_nothing_acknowledged() {
    check_killed_writers("child_writes_relaxed_until_killed", false);
}

#[test]
fn killed_writers_do_not_disturb_another_process() {
    check_killed_writers("child_writes_until_killed", true);
}

#[test]
fn a_full_disk_refuses_writes_keeps_deletes_and_recovers() {
    let dir = tempfile::tempdir().expect("a directory");
    finish(start("child_fills_the_disk", dir.path()).0);
    let store = open(dir.path(), Durability::Power);
    assert_eq!(get(&store, b"refused"), None);
    assert_eq!(get(&store, b"later"), Some(vec![2; 1_000_000]));
}

#[test]
#[ignore = "a process of a_commit_of_another_process_is_seen_and_wakes_who_waits"]
fn child_puts_and_ends() {
    let Some(dir) = given_dir() else { return };
    put(
        &open(&dir, Durability::Power),
        b"from the child",
        b"1".to_vec(),
    )
    .expect("a write");
}

#[test]
#[ignore = "a process of a_file_grown_by_another_process_is_followed"]
fn child_grows_the_file() {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir, Durability::Power);
    for _ in 0..2 {
        write(&store, |batch| {
            (1..=200u8).try_for_each(|n| batch.put(&[n], &vec![n; 1_000_000]))
        })
        .expect("a write");
    }
}

fn write_until_killed(durability: Durability) {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir, durability);
    let mut last = 0;
    let visit = &mut |key: &[u8], _: &[u8]| {
        last = key
            .first_chunk()
            .map_or(0, |number| u64::from_be_bytes(*number));
        std::ops::ControlFlow::Break(())
    };
    store
        .snapshot()
        .expect("a snapshot")
        .walk(&KeyRange::prefix(&[]), Direction::Reverse, visit)
        .expect("a walk");
    loop {
        last += 1;
        let n = last;
        let halves = move |batch: &mut dyn Write| {
            (0..2).try_for_each(|half| batch.put(&pair_key(n, half), &pair_value(n)))
        };
        write(&store, halves).expect("a write");
        println!("acknowledged {n}");
    }
}

#[test]
#[ignore = "a process of killed_writers_lose_nothing_acknowledged"]
fn child_writes_until_killed() {
    write_until_killed(Durability::Power);
}

#[test]
#[ignore = "a process of killed_relaxed_writers_lose_nothing_acknowledged"]
fn child_writes_relaxed_until_killed() {
    write_until_killed(Durability::Kill);
}

#[test]
#[ignore = "a process of a_full_disk_refuses_writes_keeps_deletes_and_recovers"]
fn child_fills_the_disk() {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir, Durability::Power);
    for n in 0..50u8 {
        put(&store, &[n], vec![n; 1000]).expect("a write");
    }
    limit_file_size(
        std::fs::metadata(dir.join("data.mdb"))
            .expect("metadata")
            .len(),
    );
    assert_eq!(
        put(&store, b"refused", vec![1; 1_000_000]),
        Err(StoreError::NoSpace)
    );
    assert_eq!(get(&store, b"refused"), None);
    assert_eq!(get(&store, &[7]), Some(vec![7; 1000]));
    write(&store, |batch| {
        batch.delete(&[7]).map(|found| assert!(found))
    })
    .expect("a delete");
    assert_eq!(
        put(&store, b"refused", vec![1; 1_000_000]),
        Err(StoreError::NoSpace)
    );
    limit_file_size(libc::RLIM_INFINITY);
    put(&store, b"later", vec![2; 1_000_000]).expect("a write");
}

/// Lets the Nth call of a system call of the data file fail, by strace. Says so and checks nothing where strace is not to be had.
fn check_failing_disk(fault: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let options = ["-f", "-o", "/dev/null", &format!("--inject={fault}")];
    let given = (DIR, dir.path());
    let Some((status, text)) = straced(
        module_path!(),
        "child_meets_a_failing_disk",
        given,
        &options,
    ) else {
        return;
    };
    let (_, said) = text
        .split_once("acknowledged ")
        .unwrap_or_else(|| panic!("{fault}: {text}"));
    let acknowledged: u64 = said
        .lines()
        .next()
        .and_then(|line| line.parse().ok())
        .expect("a number");
    assert!(status.success(), "{fault}: {text}");
    // The next process reads it all and writes again.
    let store = open(dir.path(), Durability::Power);
    assert!(
        (1..=acknowledged).all(|n| get(&store, &n.to_be_bytes()) == Some(pair_value(n))),
        "{fault}"
    );
    put(&store, b"next", vec![]).expect("the next write goes on");
}

#[test]
fn a_failing_disk_ends_writes_and_loses_nothing_acknowledged() {
    for call in ["fdatasync", "pwrite64"] {
        for n in [6, 7, 8, 11] {
            check_failing_disk(&format!("{call}:error=EIO:when={n}"));
        }
    }
}

#[test]
#[ignore = "a process of a_failing_disk_ends_writes_and_loses_nothing_acknowledged"]
fn child_meets_a_failing_disk() {
    let Some(dir) = given_dir() else { return };
    let store = open(&dir, Durability::Power);
    let failed = (1..200)
        .find(|&n: &u64| put(&store, &n.to_be_bytes(), pair_value(n)).is_err())
        .expect("a failure");
    println!("acknowledged {}", failed - 1);
    assert_eq!(put(&store, b"after", vec![]), Err(StoreError::ReadOnly));
    assert!((1..failed).all(|n| get(&store, &n.to_be_bytes()) == Some(pair_value(n))));
    assert_eq!(get(&store, &failed.to_be_bytes()), None);
}

/// Puts of 1 KB a second with this many submitters, each waiting for its outcome before its next.
fn rate(store: &LmdbStore, submitters: u64) -> u64 {
    const TIME: Duration = Duration::from_secs(3);
    let start = std::time::Instant::now();
    let puts: u64 = std::thread::scope(|scope| {
        let counts: Vec<_> = (0..submitters)
            .map(|submitter| {
                scope.spawn(move || {
                    let mut n = 0;
                    while start.elapsed() < TIME {
                        put(
                            store,
                            &[submitter.to_be_bytes(), u64::to_be_bytes(n)].concat(),
                            vec![7; 1000],
                        )
                        .expect("a write");
                        n += 1;
                    }
                    n
                })
            })
            .collect();
        counts
            .into_iter()
            .map(|count| count.join().expect("a submitter"))
            .sum()
    });
    puts / TIME.as_secs()
}

#[test]
#[ignore = "a measurement: run it in release, with --nocapture"]
fn measure_commit_rates() {
    for durability in [Durability::Power, Durability::Kill] {
        for submitters in [1, 4, 16, 32] {
            let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
            let store = LmdbStore::open(
                dir.path(),
                LmdbOptions {
                    durability,
                    ..LmdbOptions::default()
                },
            )
            .expect("a store");
            println!(
                "{durability:?}, {submitters} submitters: {} puts a second",
                rate(&store, submitters)
            );
        }
    }
}

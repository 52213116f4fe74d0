//! Tests of the store on disk alone: its directory, its map, reopening.
#![allow(clippy::expect_used, clippy::panic)]

mod recovery_model;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::directory::DataDirectory;
use super::environment::LmdbEnvironment;
use super::locks::{FileLocks, LockByte};
use super::recovery::recover;
use super::usage::FileUsage;
use super::{LmdbOptions, LmdbStore};
use crate::store::tests::{get, put, submit, write};
use crate::store::writer::Backend;
use crate::store::{Durability, Store, StoreError};

fn open(dir: &Path) -> Result<LmdbStore, StoreError> {
    LmdbStore::open(dir, LmdbOptions::default())
}

fn small(dir: &Path) -> LmdbStore {
    LmdbStore::open(
        dir,
        LmdbOptions {
            map_bytes: 1 << 20,
            ..LmdbOptions::default()
        },
    )
    .expect("a store")
}

#[test]
fn the_directory_and_its_files_are_for_their_owner_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("a/b");
    let store = open(&data).expect("a store");
    put(&store, b"a", b"1").expect("a write");
    let mode = |path: &Path| fs::metadata(path).expect("metadata").mode() & 0o7777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(
        (mode(&data.join("data.mdb")), mode(&data.join("lock.mdb"))),
        (0o600, 0o600)
    );
    drop(store);

    fs::set_permissions(&data, Permissions::from_mode(0o755)).expect("chmod");
    fs::set_permissions(data.join("data.mdb"), Permissions::from_mode(0o644)).expect("chmod");
    let store = open(&data).expect("a store");
    assert_eq!((mode(&data), mode(&data.join("data.mdb"))), (0o700, 0o600));
    assert_eq!(get(&store, b"a"), Some(b"1".to_vec()));
}

/// Simulates a process that was killed while it closed the store, and a damaged checkpoint file.
#[test]
fn a_closed_store_keeps_its_epoch_without_a_whole_checkpoint() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path()).expect("a store");
    put(&store, b"a", b"1").expect("a write");
    drop(store);
    let usage = || {
        let data = fs::File::open(dir.path().join("data.mdb")).expect("a data file");
        FileUsage::read(&data).expect("a note")
    };
    let closed = usage();
    assert!(
        matches!(closed, Some(FileUsage::Closed { epoch, .. }) if epoch != 0),
        "{closed:?}"
    );
    let checkpoint = dir.path().join("checkpoint");
    fs::write(&checkpoint, [1; 8192]).expect("a damaged file");
    let directory = DataDirectory::claim(dir.path()).expect("a directory");
    recover(&directory, &LmdbOptions::default()).expect("a recovery");
    assert!(!checkpoint.exists());
    assert_eq!(usage(), closed);
}

/// Checks that opening fails with a text that contains `why`.
fn check_refused(dir: &Path, why: &str) {
    match open(dir) {
        Err(StoreError::Io(text)) => assert!(text.contains(why), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_directory_that_is_not_safely_ours_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let real = dir.path().join("real");
    drop(open(&real).expect("a store"));
    symlink(&real, dir.path().join("link")).expect("a symlink");
    for link in ["link", "link/", "link/.", "link//"] {
        check_refused(&dir.path().join(link), "is a symlink");
    }

    for file in ["data.mdb", "lock.mdb"] {
        let other = dir.path().join(format!("other-{file}"));
        fs::create_dir(&other).expect("a directory");
        symlink(real.join(file), other.join(file)).expect("a symlink");
        check_refused(&other, "is a symlink");
    }

    let file = dir.path().join("file");
    fs::write(&file, b"").expect("a file");
    check_refused(&file, "is not a directory");

    let foreign = dir.path().join("foreign");
    fs::create_dir(&foreign).expect("a directory");
    fs::write(foreign.join("letter.txt"), b"").expect("a file");
    fs::set_permissions(&foreign, Permissions::from_mode(0o755)).expect("chmod");
    check_refused(&foreign, "holds other files");

    let text = dir.path().join("text");
    fs::create_dir(&text).expect("a directory");
    fs::write(text.join("data.mdb"), vec![b'x'; 8192]).expect("a file");
    assert!(matches!(open(&text), Err(StoreError::Damaged(_))));
}

#[test]
fn one_process_opens_a_directory_once_at_a_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path()).expect("a store");
    check_refused(&dir.path().join("."), "already open");
    put(&store, b"a", b"1").expect("a write");
    drop(store);
    let store = open(dir.path()).expect("a store");
    assert_eq!(get(&store, b"a"), Some(b"1".to_vec()));
}

#[test]
fn relaxed_writes_are_there_after_reopening() {
    let dir = tempfile::tempdir().expect("a directory");
    let relaxed = LmdbOptions {
        durability: Durability::Kill,
        ..LmdbOptions::default()
    };
    let store = LmdbStore::open(dir.path(), relaxed).expect("a store");
    put(&store, b"a", b"1").expect("a write");
    drop(store);
    assert_eq!(
        get(&open(dir.path()).expect("a store"), b"a"),
        Some(b"1".to_vec())
    );
}

#[test]
fn the_map_grows_under_readers_and_writers() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = small(dir.path());
    let writing = AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while writing.load(Ordering::Acquire) {
                    let view = store.snapshot().expect("a snapshot");
                    let value = view.get(b"key 0").expect("a read").map(<[u8]>::to_vec);
                    assert!(value.is_none_or(|value| value == vec![0; 100_000]));
                }
            });
        }
        let outcomes: Vec<_> = (0..100u8)
            .map(|n| {
                let key = format!("key {n}").into_bytes();
                submit(&store, move |batch| batch.put(&key, &vec![n; 100_000]))
            })
            .collect();
        assert!(
            outcomes
                .into_iter()
                .all(|outcome| outcome.recv() == Ok(Ok(())))
        );
        writing.store(false, Ordering::Release);
    });
    assert!(store.info().used_bytes > 10_000_000);
    drop(store);
    let store = small(dir.path());
    assert!(
        (0..100u8).all(|n| get(&store, format!("key {n}").as_bytes()) == Some(vec![n; 100_000]))
    );
}

#[test]
fn a_job_larger_than_several_doublings_fits_and_runs_again_from_its_start() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = small(dir.path());
    let runs = Arc::new(AtomicUsize::new(0));
    let of_job = Arc::clone(&runs);
    write(&store, move |batch| {
        of_job.fetch_add(1, Ordering::AcqRel);
        (0..200u8).try_for_each(|n| batch.put(&[1, n], &vec![n; 1_000_000]))
    })
    .expect("a write");
    assert!(runs.load(Ordering::Acquire) > 2);
    assert_eq!(get(&store, &[1, 199]), Some(vec![199; 1_000_000]));
}

#[test]
fn a_job_may_ignore_the_error_of_a_full_map() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = small(dir.path());
    write(&store, |batch| {
        // An ignored error must not commit half a job.
        let _ = batch.put(b"large", &vec![7; 4_000_000]);
        batch.put(b"small", b"1").or(Ok(()))
    })
    .expect("a write");
    assert_eq!(get(&store, b"large"), Some(vec![7; 4_000_000]));
    assert_eq!(get(&store, b"small"), Some(b"1".to_vec()));
}

#[test]
fn more_snapshots_than_lmdb_has_slots_by_default() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path()).expect("a store");
    put(&store, b"a", b"1").expect("a write");
    let views: Vec<_> = (0..1000)
        .map(|_| store.snapshot().expect("a snapshot"))
        .collect();
    assert!(views.iter().all(|view| view.get(b"a") == Ok(Some(b"1"))));
}

#[test]
fn after_a_fatal_failure_reads_go_on_and_writes_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path()).expect("a store");
    put(&store, b"a", b"1").expect("a write");
    let failure = store
        .environment
        .classify_write(lmdb::Error::Other(libc::EIO), 0);
    assert!(matches!(failure, StoreError::Io(_)));
    assert_eq!(put(&store, b"a", b"2"), Err(StoreError::ReadOnly));
    assert_eq!(get(&store, b"a"), Some(b"1".to_vec()));
    store
        .environment
        .reopen()
        .expect("the environment opens again");
    assert_eq!(get(&store, b"a"), Some(b"1".to_vec()));
    assert_eq!(put(&store, b"a", b"2"), Err(StoreError::ReadOnly));
    drop(store);
    let store = open(dir.path()).expect("a store");
    put(&store, b"a", b"2").expect("a write");
}

#[test]
fn what_a_failed_checkpoint_leaves_in_the_log_is_not_forgotten() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = open(dir.path()).expect("a store");
    put(&store, b"a", b"1").expect("a write");
    // From here on there are no background threads: the test makes checkpoints by hand.
    drop(store.checkpointer.lock().take());
    store.environment.checkpoint_paced();
    put(&store, b"a", b"2").expect("a write");
    assert!(store.environment.journal.is_logged());
    let file = dir.path().join("checkpoint");
    let whole = fs::read(&file).expect("a checkpoint");
    fs::write(&file, b"damaged").expect("a file");
    store.environment.checkpoint_paced();
    assert!(store.environment.journal.is_logged());
    fs::write(&file, whole).expect("a file");
    store.environment.checkpoint_paced();
    assert!(!store.environment.journal.is_logged());
    put(&store, b"a", b"3").expect("a write");
}

#[test]
fn pages_that_cannot_be_used_again_make_a_checkpoint_due() {
    let dir = tempfile::tempdir().expect("a directory");
    // An environment alone has no background threads, so no checkpoint is made.
    let environment = LmdbEnvironment::open(dir.path(), LmdbOptions::default()).expect("a store");
    let commits = (0..5000u32).take_while(|n| {
        environment
            .transact(&mut |batch| batch.put(&(n % 100).to_be_bytes(), &vec![*n as u8; 1000]))
            .expect("a write");
        environment.maintain_log();
        !environment.journal.is_due()
    });
    assert!(commits.count() < 5000);
    // A quarter of a generation is 16 MB.
    let log_bytes = environment.journal.log_bytes();
    assert!(
        log_bytes < 4 << 20,
        "{log_bytes} bytes of log, and {} of data",
        environment.info().used_bytes
    );
}

#[test]
fn the_log_is_synced_while_a_checkpoint_takes_long() {
    let dir = tempfile::tempdir().expect("a directory");
    let relaxed = LmdbOptions {
        durability: Durability::Kill,
        ..LmdbOptions::default()
    };
    let environment = LmdbEnvironment::open(dir.path(), relaxed).expect("a store");
    environment
        .transact(&mut |batch| batch.put(b"a", b"1"))
        .expect("a write");
    let directory =
        super::directory::DataDirectory::claim(&dir.path().join("other")).expect("a directory");
    fs::remove_file(directory.path().join("log.lock")).ok();
    fs::hard_link(
        dir.path().join("log.lock"),
        directory.path().join("log.lock"),
    )
    .expect("a link");
    let other = FileLocks::open(&directory).expect("locks");
    let held = other.lock(LockByte::Checkpoint).expect("a lock");
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| environment.checkpoint_paced());
        environment
            .transact(&mut |batch| batch.put(b"b", b"1"))
            .expect("a write");
        assert!(environment.journal.wait_for_log());
        environment.maintain_log();
        assert!(!checkpoint.is_finished());
        drop(held);
    });
}

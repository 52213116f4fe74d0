//! Tables that come and go in several processes at once, killed removals, a full disk.
//!
//! The ignored tests are the other processes: started by name with a directory in the environment, they do nothing without it.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::engine::*;
use crate::support::own_process::{self, limit_file_size};
use crate::support::wait::{moment, until};
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database};
use ddbfs::model::api::*;
use ddbfs::model::error::StoreError;
use ddbfs::model::{Error, Item};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::{Direction, KeyRange, Store};

const DIR: &str = "DDBFS_TEST_ENGINE";

fn open(dir: &Path) -> (Arc<LmdbStore>, LocalDatabase) {
    // A small map, so that it grows under way.
    let store = Arc::new(
        LmdbStore::open(
            dir,
            LmdbOptions {
                map_bytes: 1 << 20,
                ..LmdbOptions::default()
            },
        )
        .unwrap(),
    );
    (
        store.clone(),
        LocalDatabase::open(store, options()).unwrap(),
    )
}

/// The directory to work on, in a process that [`start`] started.
fn given_dir() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}

/// Runs one of the ignored tests below as a process; what it says comes line by line.
fn start(test: &str, dir: &Path) -> (Child, Receiver<String>) {
    let (child, output) = own_process::start(module_path!(), test, (DIR, dir));
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        output
            .lines()
            .map_while(Result::ok)
            .for_each(|line| sender.send(line).unwrap_or_default())
    });
    (child, lines)
}

fn finish(mut child: Child) {
    assert!(child.wait().unwrap().success());
}

fn create(
    database: &LocalDatabase,
    key: &str,
    indexes: &[&str],
) -> Result<CreateTableResponse, Error> {
    database.create_table(definition("Tab", key, indexes))
}

fn drop_table(database: &LocalDatabase) -> Result<DeleteTableResponse, Error> {
    database.delete_table(DeleteTableRequest::new(table("Tab")))
}

/// Puts items `from..to`, with `bytes` beside their keys, all at once.
fn fill(database: &LocalDatabase, range: std::ops::Range<u32>, bytes: usize) {
    let count = range.len();
    let (sender, receiver) = channel();
    for i in range {
        let item = Item::from([
            ("pk", s(&(i % 7).to_string())),
            ("sk", n(&i.to_string())),
            ("a", s("x")),
            ("v", x(bytes)),
        ]);
        let sender = sender.clone();
        database.start(Call::PutItem(
            PutItemRequest::new(table("Tab"), item),
            Completion::detached(move |outcome| sender.send(outcome.map(drop)).unwrap()),
        ));
    }
    (0..count).for_each(|_| receiver.recv().unwrap().unwrap());
}

/// Waits until nothing is left of dropped tables.
fn wait_for_removal(store: &dyn Store) {
    let is_pending = || {
        let mut found = false;
        let mut visit = |_: &[u8], _: &[u8]| {
            found = true;
            std::ops::ControlFlow::Break(())
        };
        store
            .snapshot()
            .unwrap()
            .walk(&KeyRange::prefix(&[3]), Direction::Forward, &mut visit)
            .unwrap();
        found
    };
    until("the removal ends", || !is_pending());
}

/// Puts and deletes; the versions given to its puts.
fn write_some(database: &LocalDatabase, writer: &str) -> Vec<Version> {
    (0..100)
        .map(|i| {
            let key = Item::from([("pk", s(writer)), ("sk", n(&(i % 10).to_string()))]);
            let mut item = key.clone();
            item.0.extend([
                ("a".to_owned(), s("x")),
                ("v".to_owned(), n(&i.to_string())),
            ]);
            let version = put(database, "Tab", item).unwrap().version;
            if i % 3 == 0 {
                database
                    .delete_item(DeleteItemRequest::new(table("Tab"), key))
                    .unwrap();
            }
            version
        })
        .collect()
}

#[test]
fn versions_of_two_processes_never_meet() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, database) = open(dir.path());
    create(&database, "pk:S sk:N", &["G byA a:S ALL"]).unwrap();
    let (child, lines) = start("child_writes_some", dir.path());
    let mine = write_some(&database, "parent");
    finish(child);
    let theirs: Vec<Version> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("version ")?.parse().ok())
        .collect();
    assert_eq!(theirs.len(), mine.len());
    for versions in [&mine, &theirs] {
        assert!(versions.is_sorted_by(|a, b| a < b));
    }
    let mut all = [mine, theirs].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 200);
    assert_clean(&database);
}

#[test]
#[ignore = "a process of versions_of_two_processes_never_meet"]
fn child_writes_some() {
    let Some(dir) = given_dir() else { return };
    let (_store, database) = open(&dir);
    println!();
    write_some(&database, "child")
        .iter()
        .for_each(|version| println!("version {version}"));
}

/// Creates, fills and drops the same table over and over; others do the same.
fn churn(database: &LocalDatabase, writer: &str) {
    for round in 0..12 {
        match create(database, "pk:S sk:N", &["G byA a:S ALL", "L byB b:N ALL"]) {
            Ok(_) | Err(Error::TableAlreadyExists(_)) => {}
            Err(error) => panic!("{error}"),
        }
        for i in 0..8 {
            let item = Item::from([
                ("pk", s(writer)),
                ("sk", n(&i.to_string())),
                ("a", s("x")),
                ("b", n(&round.to_string())),
            ]);
            match put(database, "Tab", item) {
                Ok(_) | Err(Error::ResourceNotFound) => {}
                Err(error) => panic!("{error}"),
            }
        }
        match drop_table(database) {
            Ok(_) | Err(Error::TableNotFound(_)) => {}
            Err(error) => panic!("{error}"),
        }
        if round % 6 == 0 {
            assert_clean(database);
        }
    }
}

#[test]
fn two_processes_create_and_drop_the_same_table() {
    let dir = tempfile::tempdir().unwrap();
    let (store, database) = open(dir.path());
    let (child, _lines) = start("child_churns", dir.path());
    std::thread::scope(|scope| {
        scope.spawn(|| churn(&database, "one"));
        scope.spawn(|| churn(&database, "two"));
    });
    finish(child);
    // What the child left is removed by whoever opens the directory next.
    store.close();
    drop((store, database));
    let (store, database) = open(dir.path());
    wait_for_removal(&*store);
    assert_clean(&database);
}

#[test]
#[ignore = "a process of two_processes_create_and_drop_the_same_table"]
fn child_churns() {
    let Some(dir) = given_dir() else { return };
    churn(&open(&dir).1, "child");
}

#[test]
fn nothing_of_a_dropped_table_is_seen_while_it_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, database) = open(dir.path());
    let indexes = ["G byA a:S ALL", "L byB v:S KEYS_ONLY"];
    for round in 0..3 {
        create(&database, "pk:S sk:N", &indexes).unwrap();
        for source in ["Tab", "Tab/byA", "Tab/byB"] {
            assert_eq!(
                database.scan(&scan_request(source)).unwrap().page.count,
                0,
                "round {round}"
            );
        }
        assert_eq!(
            database
                .describe(&table("Tab"))
                .unwrap()
                .unwrap()
                .item_count,
            0
        );
        assert_clean(&database);
        fill(&database, 0..9_000, 1);
        assert_eq!(
            database
                .describe(&table("Tab"))
                .unwrap()
                .unwrap()
                .item_count,
            9_000
        );
        assert_clean(&database);
        drop_table(&database).unwrap();
        assert_clean(&database);
    }
    wait_for_removal(&*store);
    assert_clean(&database);
}

#[test]
fn a_removal_killed_at_any_moment_goes_on() {
    for delay in [0, 3, 10, 30, 60, 100] {
        let dir = tempfile::tempdir().unwrap();
        let (mut child, lines) = start("child_drops_a_table", dir.path());
        lines
            .iter()
            .find(|line| line.ends_with("dropping"))
            .unwrap();
        moment(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        let (store, database) = open(dir.path());
        assert_clean(&database);
        wait_for_removal(&*store);
        assert_clean(&database);
    }
}

#[test]
#[ignore = "a process of a_removal_killed_at_any_moment_goes_on"]
fn child_drops_a_table() {
    let Some(dir) = given_dir() else { return };
    let (store, database) = open(&dir);
    create(&database, "pk:S sk:N", &["G byA a:S ALL"]).unwrap();
    fill(&database, 0..20_000, 10);
    println!("dropping");
    drop_table(&database).unwrap();
    wait_for_removal(&*store);
}

/// What a delete of an item in one index writes anew at most, with the list of free pages, in pages.
const DELETE_PAGES: u64 = 20;

#[test]
fn a_full_disk_refuses_puts_and_a_dropped_table_gives_room() {
    let dir = tempfile::tempdir().unwrap();
    finish(start("child_fills_the_disk", dir.path()).0);
    assert_clean(&open(dir.path()).1);
}

#[test]
#[ignore = "a process of a_full_disk_refuses_puts_and_a_dropped_table_gives_room"]
fn child_fills_the_disk() {
    let Some(dir) = given_dir() else { return };
    let (store, database) = open(&dir);
    create(&database, "pk:S sk:N", &["G byA a:S ALL"]).unwrap();
    database
        .create_table(definition("Other", "pk:S", &[]))
        .unwrap();
    fill(&database, 0..2_000, 500);
    let full_bytes = std::fs::metadata(dir.join("data.mdb")).unwrap().len();
    limit_file_size(full_bytes);
    let large = |i: u32| Item::from([("pk", s(&i.to_string())), ("v", x(100_000))]);
    let refused = (0..200)
        .find(|i| put(&database, "Other", large(*i)) == Err(Error::Store(StoreError::NoSpace)))
        .unwrap();
    let key = |i: u32| Item::from([("pk", s(&i.to_string()))]);
    assert_eq!(get(&database, "Other", key(refused)), None);
    assert_clean(&database);
    let kept = Item::from([("pk", s("0")), ("sk", n("0"))]);
    assert!(get(&database, "Tab", kept.clone()).is_some());
    // A delete writes the pages on its way anew: it needs room for these few, where a put of 25 pages still finds none.
    limit_file_size(full_bytes + DELETE_PAGES * 4096);
    assert!(
        database
            .delete_item(DeleteItemRequest::new(table("Tab"), kept))
            .unwrap()
            .existed
    );
    assert_clean(&database);

    limit_file_size(std::fs::metadata(dir.join("data.mdb")).unwrap().len());
    drop_table(&database).unwrap();
    wait_for_removal(&*store);
    put(&database, "Other", large(refused)).unwrap();
    assert_clean(&database);
    limit_file_size(libc::RLIM_INFINITY);
    put(&database, "Other", large(refused + 1)).unwrap();
}

//! The engine across processes: another one's tables and items are seen, and killed writers leave nothing half done.
//!
//! The ignored tests are the other processes: started by name with a directory in the environment, they do nothing without it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::sync::Arc;

use crate::support::engine::*;
use crate::support::own_process;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::database::{Browse, Database};
use ddbfs::engine::EngineOptions;
use ddbfs::engine::check::check;
use ddbfs::model::api::{
    CreateTableRequest, DeleteItemRequest, DeleteTableRequest, PutItemRequest,
};
use ddbfs::model::{Error, Item};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

const DIR: &str = "DDBFS_TEST_ENGINE";

fn open(dir: &Path) -> LocalDatabase {
    let options = LmdbOptions {
        map_bytes: 1 << 20,
        ..LmdbOptions::default()
    };
    LocalDatabase::open(
        Arc::new(LmdbStore::open(&dir.join("data"), options).unwrap()),
        EngineOptions::default(),
    )
    .unwrap()
}

/// The directory to work on, in a process that [`start`] started.
fn given_dir() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}

/// Runs one of the ignored tests below as a process.
fn start(test: &str, dir: &Path) -> (Child, BufReader<ChildStdout>) {
    own_process::start(module_path!(), test, (DIR, dir))
}

fn run(test: &str, dir: &Path) {
    assert!(start(test, dir).0.wait().unwrap().success());
}

/// A sample table's definition under another name.
fn definition(sample: &str, name: &str) -> CreateTableRequest {
    let (request, _) = sample_tables()
        .into_iter()
        .find(|(request, _)| request.table_name.as_str() == sample)
        .unwrap();
    CreateTableRequest {
        table_name: table(name),
        ..request
    }
}

#[test]
fn tables_and_items_of_another_process_are_seen_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let database = open(dir.path());
    let names = || database.table_names().unwrap().len();
    assert_eq!(
        (names(), database.schema(&table("Theirs")).unwrap()),
        (0, None)
    );
    run("child_creates_and_puts", dir.path());
    assert_eq!(names(), 1);
    let schema = database.schema(&table("Theirs")).unwrap().unwrap();
    assert!(schema.key.sort.is_some());
    assert_eq!(
        database
            .query(&query_request(
                "Theirs",
                "AnimalType = :a",
                &[(":a", s("Dog"))]
            ))
            .unwrap()
            .page
            .count,
        1
    );

    // Versions and counters go on from where the other process left them.
    let theirs = Item::from([("AnimalType", s("Dog")), ("Name", s("theirs"))]);
    let mine = Item::from([("AnimalType", s("Dog")), ("Name", s("mine"))]);
    let version = put(&database, "Theirs", mine).unwrap().version;
    assert_eq!(version, 2);
    assert_eq!(put(&database, "Theirs", theirs).unwrap().version, 1);
    assert!(check(database.engine()).unwrap().is_clean());

    run("child_replaces_the_table", dir.path());
    let schema = database.schema(&table("Theirs")).unwrap().unwrap();
    assert!(schema.key.sort.is_none());
    let dog = Item::from([("AnimalType", s("Dog")), ("Name", s("mine"))]);
    assert_eq!(put(&database, "Theirs", dog).unwrap().version, 3);
    assert_eq!(
        database.scan(&scan_request("Theirs")).unwrap().page.count,
        1
    );
}

#[test]
#[ignore = "a process of another test"]
fn child_creates_and_puts() {
    let Some(dir) = given_dir() else { return };
    let database = open(&dir);
    database.create_table(definition("Pets", "Theirs")).unwrap();
    put(
        &database,
        "Theirs",
        Item::from([("AnimalType", s("Dog")), ("Name", s("theirs"))]),
    )
    .unwrap();
}

#[test]
#[ignore = "a process of another test"]
fn child_replaces_the_table() {
    let Some(dir) = given_dir() else { return };
    let database = open(&dir);
    database
        .delete_table(DeleteTableRequest::new(table("Theirs")))
        .unwrap();
    database
        .create_table(definition("PetsByType", "Theirs"))
        .unwrap();
}

const WRITERS: u32 = 4;
const ROWS: u32 = 12;

/// Row `row` of a writer, in its version `sequence`: every index key of it moves with the sequence.
fn score(writer: u32, row: u32, sequence: u32) -> Item {
    Item::from([
        ("UserId", s(&format!("w{writer}"))),
        ("GameTitle", s(&format!("row {row}"))),
        ("TopScore", n(&(sequence % 5).to_string())),
        ("TopScoreDateTime", s(&sequence.to_string())),
        ("Wins", n(&sequence.to_string())),
    ])
}

/// Writes until it is killed; each line of output is a writer and a sequence that was acknowledged.
#[test]
#[ignore = "a process of another test"]
fn child_writes_until_killed() {
    let Some(dir) = given_dir() else { return };
    let database = open(&dir);
    match database.create_table(definition("GameScores", "Scores")) {
        Ok(_) | Err(Error::TableAlreadyExists(_)) => {}
        Err(error) => unreachable!("{error}"),
    }
    let first =
        std::fs::read_to_string(dir.join("sequence")).map_or(0, |text| text.parse().unwrap());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let database = &database;
            scope.spawn(move || {
                (first..u32::MAX).for_each(|sequence| write_one(database, writer, sequence))
            });
        }
    });
}

fn write_one(database: &LocalDatabase, writer: u32, sequence: u32) {
    let row = sequence % ROWS;
    if sequence % 7 == 3 {
        let key = score(writer, row, 0)
            .0
            .into_iter()
            .filter(|(name, _)| name == "UserId" || name == "GameTitle");
        database
            .delete_item(DeleteItemRequest::new(table("Scores"), Item(key.collect())))
            .unwrap();
    } else {
        database
            .put_item(PutItemRequest::new(
                table("Scores"),
                score(writer, row, sequence),
            ))
            .unwrap();
    }
    // One write, so that a killed process does not leave half a line.
    let line = format!("acknowledged {writer} {sequence}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// What a row may be, given the last sequence that was acknowledged to its writer: that of the last acknowledged write, or of a
/// later one that was under way.
fn check_row(database: &LocalDatabase, writer: u32, row: u32, first: u32, last: u32) {
    let key = Item::from([
        ("UserId", s(&format!("w{writer}"))),
        ("GameTitle", s(&format!("row {row}"))),
    ]);
    let found = get(database, "Scores", key);
    let written = (first..=last + 1)
        .rev()
        .filter(|sequence| sequence % ROWS == row);
    let after = |sequence: u32| (sequence % 7 != 3).then(|| score(writer, row, sequence));
    let candidates: Vec<u32> = written.collect();
    let acknowledged = candidates
        .iter()
        .copied()
        .find(|sequence| *sequence <= last);
    let Some(acknowledged) = acknowledged else {
        return;
    };
    let allowed = candidates
        .iter()
        .copied()
        .filter(|sequence| *sequence >= acknowledged)
        .map(after);
    assert!(
        allowed.clone().any(|item| item == found),
        "writer {writer} row {row} after {last}: {found:?}"
    );
}

#[test]
fn killed_writers_leave_every_acknowledged_write_and_a_clean_check() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = 0;
    for round in 0..8_u32 {
        std::fs::write(dir.path().join("sequence"), first.to_string()).unwrap();
        let (mut child, mut output) = start("child_writes_until_killed", dir.path());
        let mut last = [None; WRITERS as usize];
        let mut note = |line: &str| {
            let mut words = line
                .split_once("acknowledged ")
                .into_iter()
                .flat_map(|(_, rest)| rest.split_whitespace());
            if let (Some(writer), Some(sequence)) = (words.next(), words.next()) {
                last[writer.parse::<usize>().unwrap()] = Some(sequence.parse::<u32>().unwrap());
            }
        };
        for line in output.by_ref().lines().take(60 + 41 * round as usize) {
            note(&line.unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        output.lines().for_each(|line| note(&line.unwrap()));

        let database = open(dir.path());
        let report = check(database.engine()).unwrap();
        assert!(
            report.is_clean(),
            "round {round}: {:#?}",
            report.differences
        );
        for (writer, last) in (0..).zip(last) {
            let Some(last) = last else { continue };
            (0..ROWS).for_each(|row| check_row(&database, writer, row, first, last));
        }
        first = last.into_iter().flatten().max().unwrap_or(first) + 2;
        database.engine().close();
    }
}

/// While a commit is being made durable its number may be seen before its content is. Whoever looks then must not remember the old
/// content as the new commit's.
#[test]
fn a_table_is_there_once_it_is_created_whoever_looked_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let database = open(dir.path());
    let done = std::sync::atomic::AtomicBool::new(false);
    let names: Vec<_> = (0..20)
        .map(|number| table(&format!("Orders{number}")))
        .collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for name in &names {
                    database.schema(name).unwrap();
                }
            }
        });
        for name in &names {
            database
                .create_table(definition("Orders", name.as_str()))
                .unwrap();
            let seen = database.schema(name).unwrap().is_some();
            if !seen {
                done.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert!(seen, "{name} is not there");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

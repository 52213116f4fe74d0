//! Transactions of a process that is killed are whole: all of one or nothing of it, and its token is known exactly when it was
//! carried out.
//!
//! The ignored test is the other process: started by name with a directory in the environment, it does nothing without it.

use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::engine::*;
use crate::support::own_process;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::check::check;
use ddbfs::model::Item;
use ddbfs::model::api::*;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

const DIR: &str = "DDBFS_TEST_TRANSACTIONS";
const WRITERS: u32 = 3;
/// Items of each transaction, in two tables.
const ITEMS: u32 = 6;

fn open(dir: &Path) -> LocalDatabase {
    let options = LmdbOptions {
        map_bytes: 1 << 20,
        ..LmdbOptions::default()
    };
    let store = LmdbStore::open(&dir.join("data"), options).unwrap();
    let database = LocalDatabase::open(Arc::new(store), EngineOptions::default()).unwrap();
    for (definition, _) in sample_tables() {
        if ["Thread", "GameScores"].contains(&definition.table_name.as_str())
            && database.table(&definition).is_none()
        {
            database.create_table(definition).unwrap();
        }
    }
    database
}

trait Find {
    fn table(&self, definition: &CreateTableRequest) -> Option<TableDescription>;
}

impl Find for LocalDatabase {
    fn table(&self, definition: &CreateTableRequest) -> Option<TableDescription> {
        let request = DescribeTableRequest {
            table_name: definition.table_name.clone(),
        };
        self.describe_table(request)
            .ok()
            .map(|response| response.table)
    }
}

/// Item `place` of a writer's transactions, with its key alone without a sequence. Index keys move with the sequence.
fn item(writer: u32, place: u32, sequence: Option<u32>) -> (&'static str, Item) {
    let (name, keys, index) = match place % 2 {
        0 => (
            "Thread",
            ["ForumName", "Subject"],
            (
                "LastPostDateTime",
                s(&sequence.unwrap_or_default().to_string()),
            ),
        ),
        _ => (
            "GameScores",
            ["UserId", "GameTitle"],
            (
                "TopScore",
                n(&(sequence.unwrap_or_default() % 7).to_string()),
            ),
        ),
    };
    let mut item = Item::from([
        (keys[0], s(&format!("w{writer}"))),
        (keys[1], s(&place.to_string())),
    ]);
    if let Some(sequence) = sequence {
        item.0.insert(index.0.to_owned(), index.1);
        item.0
            .insert("Sequence".to_owned(), n(&sequence.to_string()));
    }
    (name, item)
}

/// Every fifth transaction deletes its items.
fn transaction(writer: u32, sequence: u32) -> TransactWriteItemsRequest {
    let write = |place| {
        let (name, put) = item(writer, place, Some(sequence));
        let action = match sequence % 5 {
            4 => TransactAction::Delete {
                key: item(writer, place, None).1,
            },
            _ => TransactAction::Put { item: put },
        };
        TransactWrite::new(table(name), action)
    };
    TransactWriteItemsRequest {
        transact_items: (0..ITEMS).map(write).collect(),
        fault: None,
        client_request_token: Some(format!("{writer} {sequence}")),
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: false,
    }
}

/// Writes until it is killed; each line of output is a writer and a sequence that was acknowledged.
#[test]
#[ignore = "a process of another test"]
fn child_transacts_until_killed() {
    let Some(dir) = std::env::var_os(DIR).map(PathBuf::from) else {
        return;
    };
    let database = open(&dir);
    let first: u32 = std::fs::read_to_string(dir.join("sequence"))
        .unwrap()
        .parse()
        .unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let database = &database;
            scope.spawn(move || {
                for sequence in first..u32::MAX {
                    database
                        .transact_write_items(transaction(writer, sequence))
                        .unwrap();
                    // One write, so that a killed process does not leave half a line.
                    std::io::stdout()
                        .write_all(format!("acknowledged {writer} {sequence}\n").as_bytes())
                        .unwrap();
                }
            });
        }
    });
}

/// Lets the child acknowledge some transactions and kills it; the last acknowledged sequence of each writer.
fn run_and_kill(dir: &Path, lines: usize) -> Vec<Option<u32>> {
    let (mut child, mut output) =
        own_process::start(module_path!(), "child_transacts_until_killed", (DIR, dir));
    let mut last = vec![None; WRITERS as usize];
    let mut note = |line: &str| {
        let words = line
            .split_once("acknowledged ")
            .and_then(|(_, rest)| rest.split_once(' '));
        if let Some((writer, sequence)) = words {
            last[writer.parse::<usize>().unwrap()] = Some(sequence.trim().parse::<u32>().unwrap());
        }
    };
    output
        .by_ref()
        .lines()
        .take(lines)
        .for_each(|line| note(&line.unwrap()));
    child.kill().unwrap();
    child.wait().unwrap();
    output.lines().for_each(|line| note(&line.unwrap()));
    last
}

#[test]
fn killed_transactions_are_whole_and_acknowledged_ones_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = 0;
    for round in 0..6_usize {
        std::fs::write(dir.path().join("sequence"), first.to_string()).unwrap();
        let last = run_and_kill(dir.path(), 25 + 17 * round);
        let database = open(dir.path());
        let report = check(database.engine()).unwrap();
        assert!(
            report.is_clean(),
            "round {round}: {:#?}",
            report.differences
        );
        for (writer, last) in (0..).zip(&last) {
            let Some(last) = *last else { continue };
            let found: Vec<Option<Item>> = (0..ITEMS)
                .map(|place| {
                    let (name, key) = item(writer, place, None);
                    get(&database, name, key)
                })
                .collect();
            let state = |sequence: u32| -> Vec<Option<Item>> {
                (0..ITEMS)
                    .map(|place| (sequence % 5 != 4).then(|| item(writer, place, Some(sequence)).1))
                    .collect()
            };
            let next_was_done = found == state(last + 1);
            assert!(
                next_was_done || found == state(last),
                "round {round} writer {writer} after {last}: {found:?}"
            );
            let is_replay = |sequence| {
                database
                    .transact_write_items(transaction(writer, sequence))
                    .unwrap()
                    .is_replay
            };
            assert!(is_replay(last));
            assert_eq!(
                is_replay(last + 1),
                next_was_done,
                "round {round} writer {writer} after {last}"
            );
        }
        first = last.into_iter().flatten().max().unwrap_or(first) + 2;
        database.engine().close();
    }
}

//! What was asked of tables, as it lasts: in the store, of all processes, for a day, in bounded space.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::Item;
use ddbfs::model::api::*;
use ddbfs::model::metrics::{MeteredOperation, Period};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{Direction, KeyRange, Store};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

fn with_clock(store: Arc<dyn Store>, clock: &Arc<ManualClock>) -> LocalDatabase {
    LocalDatabase::open(
        store,
        EngineOptions {
            clock: Arc::clone(clock) as Arc<_>,
            ..options()
        },
    )
    .unwrap()
}

fn put_keys(database: &LocalDatabase, keys: &[&str]) {
    database
        .create_table(definition("Tab", "pk:S", &[]))
        .unwrap();
    keys.iter()
        .for_each(|key| drop(put(database, "Tab", Item::from([("pk", s(key))])).unwrap()));
}

fn ask(database: &LocalDatabase, key: &str, times: usize) {
    (0..times).for_each(|_| drop(get(database, "Tab", Item::from([("pk", s(key))]))));
}

/// Read units of each hot key in a window, the hottest first.
fn reads(database: &LocalDatabase, window: Period) -> Vec<(String, f64)> {
    let hot = database
        .layout()
        .unwrap()
        .hot_keys(&source(""), window, 100)
        .unwrap();
    hot.iter()
        .map(|key| (text(&key.key.as_ref().unwrap()[0]), key.load.read))
        .filter(|(_, read)| *read > 0.0)
        .collect()
}

/// Read units of all partitions, and of the table, in a window.
fn read_in(database: &LocalDatabase, window: Period) -> (f64, f64) {
    let layout = database.layout().unwrap();
    let partitions = layout.partitions(&source(""), window).unwrap();
    let metrics = layout.metrics(&[table("Tab")]).unwrap();
    (
        partitions.iter().map(|partition| partition.load.read).sum(),
        metrics.tables[0].sources[0].within(window).read.sum,
    )
}

/// How many records there are, and their bytes with their keys.
fn records(store: &dyn Store) -> (usize, usize) {
    let mut found = (0, 0);
    let read = store.snapshot().unwrap();
    read.walk(
        &KeyRange::prefix(&[0x1C]),
        Direction::Forward,
        &mut |key, value| {
            found = (found.0 + 1, found.1 + key.len() + value.len());
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    found
}

#[test]
fn a_day_is_kept_in_bounded_space_and_then_forgotten() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let store = Arc::new(MemoryStore::new().unwrap());
    let database = with_clock(Arc::clone(&store) as Arc<_>, &clock);
    let names: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
    put_keys(
        &database,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let mut most = (0, 0);
    // 30 hours, each minute other keys, and one that is always asked for.
    for minute in 0..30 * 60_usize {
        ask(&database, "k0", 4);
        (0..10).for_each(|n| ask(&database, &names[1 + (minute * 7 + n * 3) % 99], 1));
        clock.advance_ms(MINUTE_MS);
        database.engine().run_background_work().unwrap();
        let now = records(&*store);
        most = (most.0.max(now.0), most.1.max(now.1));
    }
    // Three kinds of records: 24 slots, 240 minutes and 25 hours at most, and a total.
    assert!(most.0 <= 3 * (24 + 240 + 25) + 1, "{most:?}");
    assert!(most.1 < 1_000_000, "{most:?}");
    // 7 units a minute; the minute now is over without any.
    let within = |window| read_in(&database, window).1;
    assert_eq!(
        (within(Period::Minute), within(Period::Hour)),
        (0.0, 59.0 * 7.0)
    );
    let day = within(Period::Day);
    assert!(
        (23.0 * 60.0 * 7.0..=24.0 * 60.0 * 7.0).contains(&day),
        "{day}"
    );
    assert_eq!(read_in(&database, Period::Day).0, day);
    assert_eq!(reads(&database, Period::Day)[0].0, "k0");
    let metrics = database.layout().unwrap().metrics(&[table("Tab")]).unwrap();
    let usage = &metrics.tables[0].sources[0].usage;
    assert_eq!(usage.total.read.sum, 30.0 * 60.0 * 7.0);
    assert_eq!(usage.minutes.len(), 179);
    // Nothing is written while nothing is counted, but that the day is over.
    let commit = database.engine().commit_id();
    clock.advance_ms(HOUR_MS / 2);
    database.engine().run_background_work().unwrap();
    assert_eq!(database.engine().commit_id(), commit);
    for _ in 0..26 {
        clock.advance_ms(HOUR_MS);
        database.engine().run_background_work().unwrap();
    }
    assert_eq!(records(&*store).0, 1, "the total");
    assert_clean(&database);
}

#[test]
fn what_was_counted_outlives_the_process_and_a_deleted_table_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let open = || {
        let store = Arc::new(LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap());
        (with_clock(Arc::clone(&store) as Arc<_>, &clock), store)
    };
    let (database, store) = open();
    put_keys(&database, &["a", "b"]);
    let since = database
        .layout()
        .unwrap()
        .metrics(&[table("Tab")])
        .unwrap()
        .tables[0]
        .since_ms;
    ask(&database, "a", 10);
    database
        .get_item(GetItemRequest::new(table("Tab"), Item::default()))
        .unwrap_err();
    // As by a kill: what is in memory is lost, what was flushed is not.
    clock.advance_ms(10_000);
    database.engine().run_background_work().unwrap();
    ask(&database, "b", 100);
    store.close();
    drop((database, store));
    clock.advance_ms(5_000);
    let (database, store) = open();
    assert_eq!(reads(&database, Period::Minute), [("a".to_owned(), 5.0)]);
    ask(&database, "b", 6);
    // An orderly end stores what is counted last.
    database.engine().close();
    drop((database, store));
    clock.advance_ms(5 * MINUTE_MS);
    let (database, store) = open();
    assert_eq!(reads(&database, Period::Minute), []);
    assert_eq!(
        reads(&database, Period::Hour),
        [("a".to_owned(), 5.0), ("b".to_owned(), 3.0)]
    );
    let metrics = database.layout().unwrap().metrics(&[table("Tab")]).unwrap();
    let of_table = &metrics.tables[0];
    assert_eq!((of_table.since_ms, metrics.user_errors), (since, 1));
    assert_eq!(of_table.sources[0].usage.total.write.sum, 2.0);
    assert_eq!(
        of_table.counts.total.operations[MeteredOperation::GetItem as usize]
            .latency_ms
            .count,
        16
    );
    assert_eq!(
        of_table
            .counts
            .minutes
            .iter()
            .map(|(_, counts)| counts.operations[0].latency_ms.count)
            .sum::<u64>(),
        16
    );
    assert_clean(&database);
    database
        .delete_table(DeleteTableRequest {
            table_name: table("Tab"),
            only_if_empty: false,
        })
        .unwrap();
    database.engine().close();
    drop((database, store));
    let (database, store) = open();
    database.engine().run_background_work().unwrap();
    assert_clean(&database);
    database.engine().close();
    drop(database);
    drop(store);
    let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
    assert_eq!(records(&store), (0, 0));
}

#[test]
fn what_several_processes_count_is_told_as_one() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let store = Arc::new(MemoryStore::new().unwrap());
    let one = with_clock(Arc::clone(&store) as Arc<_>, &clock);
    put_keys(&one, &["a", "b"]);
    let other = with_clock(Arc::clone(&store) as Arc<_>, &clock);
    ask(&one, "a", 10);
    ask(&other, "a", 6);
    ask(&other, "b", 2);
    // What is not stored yet is told by who counted it.
    assert_eq!(reads(&one, Period::Minute), [("a".to_owned(), 5.0)]);
    clock.advance_ms(10_000);
    one.engine().run_background_work().unwrap();
    other.engine().run_background_work().unwrap();
    for database in [&one, &other] {
        assert_eq!(
            reads(database, Period::Minute),
            [("a".to_owned(), 8.0), ("b".to_owned(), 1.0)]
        );
        assert_eq!(read_in(database, Period::Day), (9.0, 9.0));
    }
    // They asked in the same second.
    let partitions = one
        .layout()
        .unwrap()
        .partitions(&source(""), Period::Hour)
        .unwrap();
    assert_eq!(
        partitions
            .iter()
            .map(|partition| partition.peak.load.read)
            .fold(0.0, f64::max),
        8.0
    );
    assert_clean(&other);
}

//! The check finds every kind of damage, and only that.

#![allow(clippy::unwrap_used)]

mod engine_support;

use std::sync::Arc;
use std::sync::mpsc::Sender;

use ddbfs::codec::key::partition_digest;
use ddbfs::codec::record;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::check::{CheckReport, DifferenceKind, check};
use ddbfs::engine::keys::{EntryAddress, SourceId, StoreKey};
use ddbfs::model::api::PutItemRequest;
use ddbfs::model::{Item, Key};
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{Store, StoreError, Write, WriteJob};
use engine_support::*;

/// Puts or removes raw entries.
struct Tamper {
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    done: Sender<()>,
}

impl WriteJob for Tamper {
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError> {
        for (key, value) in &self.changes {
            match value {
                Some(value) => batch.put(key, value)?,
                None => assert!(batch.delete(key)?, "{key:?}"),
            }
        }
        Ok(())
    }

    fn done(self: Box<Self>, result: Result<(), StoreError>) {
        result.unwrap();
        self.done.send(()).unwrap();
    }
}

/// The Thread table alone, its source id 1 and its index's 2.
fn threads() -> (Arc<MemoryStore>, LocalDatabase) {
    let store = Arc::new(MemoryStore::new().unwrap());
    let database = LocalDatabase::open(store.clone(), options()).unwrap();
    let (request, items) = sample_tables().into_iter().find(|(request, _)| request.table_name.as_str() == "Thread").unwrap();
    let name = request.table_name.clone();
    database.create_table(request).unwrap();
    for item in items {
        database.put_item(PutItemRequest::new(name.clone(), item)).unwrap();
    }
    (store, database)
}

const TABLE: SourceId = SourceId(1);
const INDEX: SourceId = SourceId(2);

fn item_key(subject: &str) -> Key {
    Key { partition: s("S3"), sort: Some(s(subject)) }
}

fn item_at(subject: &str) -> Vec<u8> {
    EntryAddress::of_item(TABLE, &item_key(subject)).encode()
}

/// S3/bbb was posted 2015-01-22:23:18:01.
fn entry_at(date: &str) -> Vec<u8> {
    EntryAddress::in_local_index(INDEX, &s(date), &item_key("bbb")).encode()
}

fn item(subject: &str, replies: &str) -> Item {
    let date = s("2015-01-22:23:18:01");
    Item::from([("ForumName", s("S3")), ("Subject", s(subject)), ("LastPostDateTime", date), ("Replies", n(replies))])
}

fn encoded(item: &Item, version: u64) -> Vec<u8> {
    record::encode(item, &["ForumName", "Subject"], version, NOW_MS)
}

fn report_after(changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> CheckReport {
    let (store, database) = threads();
    let (done, wait) = std::sync::mpsc::channel();
    store.submit(Box::new(Tamper { changes, done }));
    wait.recv().unwrap();
    check(database.engine()).unwrap()
}

fn check_kinds(changes: Vec<(Vec<u8>, Option<Vec<u8>>)>, expected: &[DifferenceKind]) {
    let report = report_after(changes);
    let mut kinds: Vec<DifferenceKind> = report.differences.iter().map(|difference| difference.kind).collect();
    kinds.sort();
    assert_eq!(kinds, expected, "{report:#?}");
    assert_eq!(report.total, expected.len() as u64);
}

#[test]
fn a_sound_store_is_clean() {
    let report = report_after(Vec::new());
    assert!(report.is_clean());
    assert_eq!((report.tables, report.items, report.index_entries), (1, 10, 10));
    assert!(check(samples().engine()).unwrap().is_clean());
}

#[test]
fn table_of_damage() {
    use DifferenceKind::*;
    let date = "2015-01-22:23:18:01";
    let digest = partition_digest(&[&s("S3")]);
    let put = |key, value| vec![(key, Some(value))];
    let remove = |key| vec![(key, None)];
    // An item lost behind the engine's back: its entry, its collection and the counters still have it.
    check_kinds(remove(item_at("bbb")), &[OrphanEntry, WrongCollection, WrongCounters]);
    check_kinds(remove(entry_at(date)), &[MissingEntry, WrongCollection, WrongCounters]);
    // Another content of the same size.
    check_kinds(put(item_at("bbb"), encoded(&item("bbb", "4"), 2)), &[WrongRecord]);
    let mut resized = encoded(&item("bbb", "3"), 2);
    resized[1] += 1;
    check_kinds(put(item_at("bbb"), resized), &[WrongRecord, WrongCollection, WrongCounters]);
    check_kinds(put(item_at("bbb"), encoded(&item("bbb", "3"), 999)), &[UnknownVersion]);
    check_kinds(put(item_at("bbb"), vec![0xEE]), &[Unreadable, WrongCollection, WrongCounters]);
    let catalog = StoreKey::Table("Thread").encode();
    check_kinds(put(catalog, vec![0xEE]), &[Unreadable, UnknownSource, UnknownSource, UnknownSource, UnknownSource]);
    check_kinds(put(StoreKey::Counters(TABLE).encode(), vec![0; 24]), &[WrongCounters]);
    check_kinds(remove(StoreKey::Counters(INDEX).encode()), &[WrongCounters]);
    check_kinds(remove(StoreKey::Collection(TABLE, digest).encode()), &[MissingCollection]);
    let nowhere = StoreKey::Collection(INDEX, [9; 16]).encode();
    check_kinds(put(nowhere, vec![0; 24]), &[EmptyCollection]);
    check_kinds(put(StoreKey::Collection(SourceId(77), digest).encode(), vec![0; 24]), &[UnknownSource]);
    let stray = EntryAddress::of_item(SourceId(78), &item_key("bbb")).encode();
    check_kinds(put(stray, encoded(&item("bbb", "3"), 2)), &[UnknownSource]);
}

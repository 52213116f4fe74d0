//! The check finds every kind of damage, and only that.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::support::engine::*;
use ddbfs::codec::json::document::Document;
use ddbfs::codec::key::partition_digest;
use ddbfs::codec::record;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::check::{CheckReport, DifferenceKind, Remedy, check};
use ddbfs::engine::keys::{self, EntryAddress, SourceId, StoreKey, place_in_source};
use ddbfs::engine::streams::record::StoredRecord;
use ddbfs::engine::trash::{TrashRecord, folder_digest};
use ddbfs::model::api::{
    ChangeOrigin, DeleteItemRequest, KeySchemaElement, PutItemRequest, StreamEvent,
    TimeToLiveSpecification, UpdateTimeToLiveRequest,
};
use ddbfs::model::schema::{KeyAttributeType, KeyType, StreamViewType};
use ddbfs::model::{Item, Key, KeyAttribute};
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{Store, StoreError, Write, WriteJob};

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
    let (request, items) = sample_tables()
        .into_iter()
        .find(|(request, _)| request.table_name.as_str() == "Thread")
        .unwrap();
    let name = request.table_name.clone();
    database.create_table(request).unwrap();
    for item in items {
        database
            .put_item(PutItemRequest::new(name.clone(), item))
            .unwrap();
    }
    (store, database)
}

const TABLE: SourceId = SourceId(1);
const INDEX: SourceId = SourceId(2);

fn item_key(subject: &str) -> Key {
    Key {
        partition: s("S3"),
        sort: Some(s(subject)),
    }
}

fn item_at(subject: &str) -> Vec<u8> {
    EntryAddress::of_item(TABLE, &item_key(subject)).encode()
}

/// S3/bbb was posted 2015-01-22:23:18:01.
fn entry_at(date: &str) -> Vec<u8> {
    let item = item_key("bbb");
    EntryAddress::new(
        INDEX,
        &[&item.partition],
        [&s(date)].into_iter().chain(&item.sort),
    )
    .encode()
}

fn item(subject: &str, replies: &str) -> Item {
    let date = s("2015-01-22:23:18:01");
    Item::from([
        ("ForumName", s("S3")),
        ("Subject", s(subject)),
        ("LastPostDateTime", date),
        ("Replies", n(replies)),
    ])
}

fn encoded(item: &Item, version: u64) -> Vec<u8> {
    record::encode(item, &["ForumName", "Subject"], version, NOW_MS)
}

/// What check says of a sound database once these entries of its store are others.
fn report_of(
    (store, database): (Arc<MemoryStore>, LocalDatabase),
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
) -> CheckReport {
    assert!(check(database.engine()).unwrap().is_clean());
    let (done, wait) = std::sync::mpsc::channel();
    store.submit(Box::new(Tamper { changes, done }));
    wait.recv().unwrap();
    check(database.engine()).unwrap()
}

fn report_after(changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> CheckReport {
    report_of(threads(), changes)
}

fn assert_kinds(report: &CheckReport, expected: &[DifferenceKind]) {
    let mut kinds: Vec<DifferenceKind> = report
        .differences
        .iter()
        .map(|difference| difference.kind)
        .collect();
    kinds.sort();
    assert_eq!(kinds, expected, "{report:#?}");
    assert_eq!(report.total, expected.len() as u64);
}

fn check_kinds(changes: Vec<(Vec<u8>, Option<Vec<u8>>)>, expected: &[DifferenceKind]) {
    assert_kinds(&report_after(changes), expected);
}

#[test]
fn a_sound_store_is_clean() {
    let report = report_after(Vec::new());
    assert!(report.is_clean());
    assert_eq!(
        (report.tables, report.items, report.index_entries),
        (1, 10, 10)
    );
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
    check_kinds(
        remove(item_at("bbb")),
        &[OrphanEntry, WrongCollection, WrongCounters],
    );
    check_kinds(
        remove(entry_at(date)),
        &[MissingEntry, WrongCollection, WrongCounters],
    );
    // Another content of the same size.
    check_kinds(
        put(item_at("bbb"), encoded(&item("bbb", "4"), 2)),
        &[WrongRecord],
    );
    // A name that no write takes.
    let mut named = item("bbb", "3");
    named.0.insert(String::new(), s(""));
    check_kinds(put(item_at("bbb"), encoded(&named, 2)), &[BadName]);
    let mut resized = encoded(&item("bbb", "3"), 2);
    resized[1] += 1;
    check_kinds(
        put(item_at("bbb"), resized),
        &[WrongRecord, WrongCollection, WrongCounters],
    );
    check_kinds(
        put(item_at("bbb"), encoded(&item("bbb", "3"), 999)),
        &[UnknownVersion],
    );
    check_kinds(
        put(item_at("bbb"), vec![0xEE]),
        &[Unreadable, WrongCollection, WrongCounters],
    );
    let catalog = StoreKey::Table("Thread").encode();
    check_kinds(
        put(catalog, vec![0xEE]),
        &[[Unreadable].as_slice(), &[UnknownSource; 7]].concat(),
    );
    check_kinds(
        put(StoreKey::Counters(TABLE).encode(), vec![0; 24]),
        &[WrongCounters],
    );
    check_kinds(remove(StoreKey::Counters(INDEX).encode()), &[WrongCounters]);
    check_kinds(
        remove(StoreKey::Collection(TABLE, &digest).encode()),
        &[MissingCollection],
    );
    let nowhere = StoreKey::Collection(INDEX, &[9; 16]).encode();
    check_kinds(put(nowhere, vec![0; 24]), &[EmptyCollection]);
    check_kinds(
        put(
            StoreKey::Collection(SourceId(77), &digest).encode(),
            vec![0; 24],
        ),
        &[UnknownSource],
    );
    let stray = EntryAddress::of_item(SourceId(78), &item_key("bbb")).encode();
    check_kinds(put(stray, encoded(&item("bbb", "3"), 2)), &[UnknownSource]);
    let parked = |table, folder: Option<&str>| {
        let folder = folder.map(s);
        let digest = folder_digest(folder.as_ref());
        let file = TrashRecord {
            in_folder: true,
            trashed_ms: NOW_MS,
            folder,
            content: b"text",
        };
        (
            StoreKey::Trash(table, digest.as_ref(), "a.bak").encode(),
            file.encode().unwrap(),
        )
    };
    let (in_s3, in_none) = (parked(TABLE, Some("S3")), parked(TABLE, None));
    check_kinds(put(in_s3.0.clone(), in_s3.1.clone()), &[]);
    check_kinds(put(in_none.0, in_s3.1), &[Misplaced]);
    check_kinds(put(in_s3.0, vec![2]), &[Unreadable]);
    let (key, value) = parked(SourceId(79), None);
    check_kinds(put(key, value), &[UnknownSource]);
}

/// The lines of a report, and what to do about them.
fn lines_after(changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> (Vec<String>, Option<Remedy>) {
    let report = report_after(changes);
    let lines = report.differences.iter().map(ToString::to_string);
    (lines.collect(), report.remedy)
}

#[test]
fn differences_name_items_by_what_is_still_readable() {
    let first = |changes| {
        let (lines, remedy) = lines_after(changes);
        (lines.into_iter().next().unwrap(), remedy)
    };
    let told = |line: &str, remedy| (line.to_owned(), Some(remedy));
    let item_line = r#"Thread {"ForumName":"S3","Subject":"bbb"}: cannot be read"#;
    // The key attributes in front of the damage; the stored key and the item collection.
    let mut cut = encoded(&item("bbb", "3"), 2);
    cut.truncate(cut.len() - 3);
    for damaged in [cut, vec![0xEE]] {
        let changes = vec![(item_at("bbb"), Some(damaged))];
        assert_eq!(first(changes), told(item_line, Remedy::Restore));
    }
    // The collection is damaged too.
    let digest = partition_digest(&[&s("S3")]);
    let changes = vec![
        (item_at("bbb"), Some(vec![0xEE])),
        (StoreKey::Collection(TABLE, &digest).encode(), None),
    ];
    let hex: String = item_at("bbb")
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let line = format!("Thread the entry with the stored key {hex}: cannot be read");
    assert_eq!(first(changes), told(&line, Remedy::Restore));
    // The text of another item is not the name of this one.
    let other = encoded(&item("ccc", "3"), 2);
    let changes = vec![(item_at("bbb"), Some(other[..other.len() - 3].to_vec()))];
    assert_eq!(first(changes), told(item_line, Remedy::Restore));
    // An entry of an index: its item is whole.
    let date = "2015-01-22:23:18:01";
    let (lines, remedy) = lines_after(vec![(entry_at(date), Some(vec![0xEE]))]);
    assert_eq!(
        lines[0],
        format!(
            r#"Thread/LastPostIndex {{"ForumName":"S3","LastPostDateTime":"{date}"}}: cannot be read"#
        )
    );
    assert!(
        !lines.iter().any(|line| line.starts_with("Thread {")),
        "{lines:?}"
    );
    assert_eq!(remedy, Some(Remedy::Rebuild));
    let changes = vec![(StoreKey::Counters(TABLE).encode(), Some(vec![0; 24]))];
    assert_eq!(lines_after(changes).1, Some(Remedy::Reload));
    assert_eq!(lines_after(Vec::new()), (Vec::new(), None));
}

const STREAM: SourceId = SourceId(2);
const LIST: SourceId = SourceId(3);
const LABEL: &str = "2023-11-14T22:13:20.000";

/// A table of source id 1 with a stream and a built list of expiries; item `a` is of version 1 and expires, `b` was removed.
fn with_lists() -> (Arc<MemoryStore>, LocalDatabase) {
    let store = Arc::new(MemoryStore::new().unwrap());
    let database = LocalDatabase::open(store.clone(), options()).unwrap();
    let (mut request, _) = sample_tables().into_iter().next().unwrap();
    request.table_name = table("Lists");
    request.attribute_definitions = vec![KeyAttribute {
        name: "pk".into(),
        attribute_type: KeyAttributeType::S,
    }];
    request.key_schema = vec![KeySchemaElement {
        attribute_name: "pk".into(),
        key_type: KeyType::Hash,
    }];
    (request.local_indexes, request.global_indexes) = (None, None);
    request.settings.stream = Some(StreamViewType::NewImage);
    database.create_table(request).unwrap();
    let specification = TimeToLiveSpecification {
        enabled: true,
        attribute_name: "t".to_owned(),
    };
    database
        .update_time_to_live(UpdateTimeToLiveRequest {
            table_name: table("Lists"),
            specification,
        })
        .unwrap();
    database.engine().run_background_work().unwrap();
    put(&database, "Lists", expiring("a", EXPIRES)).unwrap();
    put(&database, "Lists", expiring("b", EXPIRES)).unwrap();
    database
        .delete_item(DeleteItemRequest::new(
            table("Lists"),
            Item::from([("pk", s("b"))]),
        ))
        .unwrap();
    (store, database)
}

/// Seconds.
const EXPIRES: u64 = 2_000_000_000;

fn expiring(pk: &str, seconds: u64) -> Item {
    Item::from([("pk", s(pk)), ("t", n(&seconds.to_string()))])
}

#[test]
fn table_of_damaged_streams_and_lists() {
    use DifferenceKind::*;
    let check_kinds = |key, value, expected: &[DifferenceKind]| {
        assert_kinds(&report_of(with_lists(), vec![(key, value)]), expected)
    };
    let keys = encoded_by_pk(&Item::from([("pk", s("a"))]));
    let image = encoded_by_pk(&expiring("a", EXPIRES));
    let other = encoded_by_pk(&expiring("a", EXPIRES + 1));
    let insert = |new_image: Option<&[u8]>| {
        let (event, origin) = (StreamEvent::Insert, ChangeOrigin::Client);
        Some(
            StoredRecord {
                event,
                origin,
                created_ms: NOW_MS,
                keys: &keys,
                new_image,
                old_image: None,
            }
            .encode(),
        )
    };
    // The stream's opening has version 1, the item 2.
    let record = |version: u64| StoreKey::StreamRecord(STREAM, version).encode();
    check_kinds(record(2), insert(Some(&image)), &[]);
    check_kinds(record(2), None, &[MissingStreamRecord]);
    check_kinds(record(2), insert(Some(&other)), &[WrongStreamRecord]);
    check_kinds(record(2), insert(None), &[WrongStreamRecord]);
    check_kinds(record(2), Some(vec![0xEE]), &[Unreadable]);
    check_kinds(record(99), insert(Some(&image)), &[WrongStreamRecord]);
    check_kinds(record(3), insert(Some(&image)), &[WrongStreamRecord]);
    check_kinds(
        StoreKey::StreamRecord(SourceId(77), 1).encode(),
        insert(Some(&image)),
        &[UnknownSource],
    );
    check_kinds(
        StoreKey::Stream(keys::ZeroTerminated("Lists"), LABEL).encode(),
        Some(vec![0xEE]),
        &[Unreadable, UnknownSource],
    );
    check_kinds(
        StoreKey::Stream(keys::ZeroTerminated("Lists"), LABEL).encode(),
        None,
        &[MissingStream, UnknownSource],
    );

    let a = EntryAddress::of_item(
        TABLE,
        &Key {
            partition: s("a"),
            sort: None,
        },
    )
    .encode();
    let b = EntryAddress::of_item(
        TABLE,
        &Key {
            partition: s("b"),
            sort: None,
        },
    )
    .encode();
    let expiry = |list: SourceId, seconds: u64, entry: &[u8]| {
        StoreKey::Expiry(list, seconds * 1000, place_in_source(entry)).encode()
    };
    check_kinds(expiry(LIST, EXPIRES, &a), None, &[MissingExpiry]);
    check_kinds(expiry(LIST, EXPIRES + 1, &a), Some(vec![]), &[OrphanExpiry]);
    check_kinds(expiry(LIST, EXPIRES, &b), Some(vec![]), &[OrphanExpiry]);
    check_kinds(
        expiry(SourceId(77), EXPIRES, &a),
        Some(vec![]),
        &[UnknownSource],
    );
}

fn encoded_by_pk(item: &Item) -> Vec<u8> {
    record::encode(item, &["pk"], 2, NOW_MS)
}

/// A table with the items `a`, which has an entry in an index that UpdateTable made, and `bad`, which a value keeps out of it; paused,
/// with one pending write that changes the key of `a`'s entry.
fn with_online_index() -> (Arc<MemoryStore>, LocalDatabase) {
    use ddbfs::database::Browse;
    let store = Arc::new(MemoryStore::new().unwrap());
    let database = LocalDatabase::open(store.clone(), options()).unwrap();
    database
        .create_table(definition("Online", "pk:S", &[]))
        .unwrap();
    put(
        &database,
        "Online",
        Item::from([("pk", s("a")), ("k", s("x"))]),
    )
    .unwrap();
    put(
        &database,
        "Online",
        Item::from([("pk", s("bad")), ("k", n("1"))]),
    )
    .unwrap();
    let body = serde_json::json!({ "TableName": "Online",
        "AttributeDefinitions": [{ "AttributeName": "k", "AttributeType": "S" }],
        "GlobalSecondaryIndexUpdates": [{ "Create": { "IndexName": "by-k",
            "KeySchema": [{ "AttributeName": "k", "KeyType": "HASH" }], "Projection": { "ProjectionType": "ALL" } } }] });
    database
        .update_table(ddbfs::codec::wire::request(Document::from_value(&body).root()).unwrap())
        .unwrap();
    database.engine().run_background_work().unwrap();
    database
        .pause_index_propagation(&table("Online"), true)
        .unwrap();
    put(
        &database,
        "Online",
        Item::from([("pk", s("a")), ("k", s("y"))]),
    )
    .unwrap();
    (store, database)
}

#[test]
fn table_of_damaged_online_indexes() {
    use DifferenceKind::*;
    let (_, database) = with_online_index();
    let entry = database.engine().table(&table("Online")).unwrap().unwrap();
    let (source, index, list) = (
        entry.source,
        entry.index_sources[0],
        entry.index_life.made["by-k"].violations,
    );
    let check_kinds = |key, value, expected: &[DifferenceKind]| {
        assert_kinds(
            &report_of(with_online_index(), vec![(key, value)]),
            expected,
        )
    };
    let item = |pk: &str| {
        EntryAddress::of_item(
            source,
            &Key {
                partition: s(pk),
                sort: None,
            },
        )
        .encode()
    };
    let violation = |pk: &str| StoreKey::Violation(list, place_in_source(&item(pk))).encode();
    check_kinds(violation("bad"), None, &[WrongCounters, MissingViolation]);
    check_kinds(
        violation("a"),
        Some(vec![]),
        &[WrongCounters, OrphanViolation],
    );
    check_kinds(
        violation("none"),
        Some(vec![]),
        &[WrongCounters, OrphanViolation],
    );
    check_kinds(
        StoreKey::Violation(SourceId(77), &[]).encode(),
        Some(vec![]),
        &[UnknownSource],
    );
    check_kinds(
        StoreKey::Backfill(index).encode(),
        Some(vec![0; 32]),
        &[WrongBackfill],
    );
    check_kinds(
        StoreKey::Backfill(index).encode(),
        Some(vec![0xEE]),
        &[Unreadable],
    );
    check_kinds(
        StoreKey::Backfill(SourceId(77)).encode(),
        Some(vec![0; 32]),
        &[UnknownSource],
    );
    let pending = StoreKey::Pending(source, 3).encode();
    check_kinds(pending.clone(), None, &[MissingEntry, OrphanEntry]);
    check_kinds(
        pending,
        Some(vec![0xEE]),
        &[Unreadable, MissingEntry, OrphanEntry],
    );
    check_kinds(
        StoreKey::Pending(SourceId(77), 3).encode(),
        Some(vec![0; 24]),
        &[UnknownSource],
    );
}

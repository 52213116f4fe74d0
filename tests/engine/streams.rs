//! Streams (docs/dynamodb.md 17): records of changes, and the operations that read them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::engine::{
    NOW_MS, database, database_with, get, n, options, put, s, table, text,
};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::check::check;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::*;
use ddbfs::model::error::StreamError;
use ddbfs::model::schema::{BillingMode, KeyAttributeType, KeyType};
use ddbfs::model::{Error, Item, KeyAttribute, TableSettings};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn create(database: &LocalDatabase, name: &str, view: Option<StreamViewType>) {
    let request = CreateTableRequest {
        table_name: table(name),
        attribute_definitions: vec![KeyAttribute {
            name: "pk".into(),
            attribute_type: KeyAttributeType::S,
        }],
        key_schema: vec![KeySchemaElement {
            attribute_name: "pk".into(),
            key_type: KeyType::Hash,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: None,
        global_indexes: None,
        deletion_protection: false,
        settings: TableSettings {
            stream: view,
            ..TableSettings::default()
        },
        vector_indexes: None,
    };
    database.create_table(request).unwrap();
}

fn delete(database: &LocalDatabase, name: &str, key: Item) {
    database
        .delete_item(DeleteItemRequest::new(table(name), key))
        .unwrap();
}

fn streams_of(database: &LocalDatabase, name: &str) -> Vec<StreamName> {
    let request = ListStreamsRequest {
        table_name: Some(table(name)),
        ..ListStreamsRequest::default()
    };
    database.list_streams(request).unwrap().streams
}

fn describe(
    database: &LocalDatabase,
    stream: &StreamName,
) -> Result<DescribeStreamResponse, Error> {
    let stream = stream.clone();
    database.describe_stream(DescribeStreamRequest {
        stream,
        limit: None,
        exclusive_start_shard_id: None,
        children_of: None,
    })
}

fn iterator(
    database: &LocalDatabase,
    stream: &StreamName,
    position: ShardPosition,
) -> Result<String, Error> {
    let shard_id = describe(database, stream)?.shards[0].shard_id.clone();
    let request = GetShardIteratorRequest {
        stream: stream.clone(),
        shard_id,
        position,
    };
    Ok(database.get_shard_iterator(request)?.shard_iterator)
}

fn read(
    database: &LocalDatabase,
    shard_iterator: &str,
    limit: Option<u32>,
) -> Result<GetRecordsResponse, Error> {
    database.get_records(GetRecordsRequest {
        shard_iterator: shard_iterator.to_owned(),
        limit,
    })
}

/// The whole of a table's newest stream, in pages of three.
fn all_records(database: &LocalDatabase, name: &str) -> Vec<StreamRecord> {
    let stream = streams_of(database, name).pop().unwrap();
    let mut next = Some(iterator(database, &stream, ShardPosition::TrimHorizon).unwrap());
    let mut records = Vec::new();
    while let Some(iterator) = next {
        let page = read(database, &iterator, Some(3)).unwrap();
        if page.records.is_empty() {
            break;
        }
        records.extend(page.records);
        next = page.next_shard_iterator;
    }
    records
}

/// `INSERT a new=1 old=-`, images by their attribute `v`.
fn line(record: &StreamRecord) -> String {
    let image = |image: &Option<Item>| {
        image
            .as_ref()
            .map_or("-".to_owned(), |item| text(item.get("v").unwrap()))
    };
    let event = match record.event {
        StreamEvent::Insert => "INSERT",
        StreamEvent::Modify => "MODIFY",
        StreamEvent::Remove => "REMOVE",
    };
    let key = text(record.keys.get("pk").unwrap());
    format!(
        "{event} {key} new={} old={}",
        image(&record.new_image),
        image(&record.old_image)
    )
}

fn lines(records: &[StreamRecord]) -> Vec<String> {
    records.iter().map(line).collect()
}

fn item(pk: &str, v: &str) -> Item {
    Item::from([("pk", s(pk)), ("v", s(v))])
}

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

/// Two inserts, a change, the same again, a removal, a removal of nothing.
fn some_changes(database: &LocalDatabase, name: &str) {
    put(database, name, item("a", "1")).unwrap();
    put(database, name, item("b", "2")).unwrap();
    put(database, name, item("a", "3")).unwrap();
    put(database, name, item("a", "3")).unwrap();
    delete(database, name, key("b"));
    delete(database, name, key("b"));
}

fn is_sound(database: &LocalDatabase) {
    let report = check(database.engine()).unwrap();
    assert!(report.is_clean(), "{:?}", report.differences);
}

#[test]
fn view_types_decide_the_images() {
    let check = |view: StreamViewType, expected: [&str; 4]| {
        let database = database();
        create(&database, "Tab", Some(view));
        some_changes(&database, "Tab");
        let records = all_records(&database, "Tab");
        assert_eq!(lines(&records), expected);
        assert!(
            records
                .iter()
                .all(|record| record.view_type == view && record.origin == ChangeOrigin::Client)
        );
        assert!(records.is_sorted_by_key(|record| record.sequence_number));
        is_sound(&database);
    };
    check(
        StreamViewType::KeysOnly,
        [
            "INSERT a new=- old=-",
            "INSERT b new=- old=-",
            "MODIFY a new=- old=-",
            "REMOVE b new=- old=-",
        ],
    );
    check(
        StreamViewType::NewImage,
        [
            "INSERT a new=1 old=-",
            "INSERT b new=2 old=-",
            "MODIFY a new=3 old=-",
            "REMOVE b new=- old=-",
        ],
    );
    check(
        StreamViewType::OldImage,
        [
            "INSERT a new=- old=-",
            "INSERT b new=- old=-",
            "MODIFY a new=- old=1",
            "REMOVE b new=- old=2",
        ],
    );
    check(
        StreamViewType::NewAndOldImages,
        [
            "INSERT a new=1 old=-",
            "INSERT b new=2 old=-",
            "MODIFY a new=3 old=1",
            "REMOVE b new=- old=2",
        ],
    );
}

#[test]
fn sizes_are_those_of_keys_and_images() {
    // The example of the developer guide.
    let database = database();
    create(&database, "Tab", Some(StreamViewType::NewAndOldImages));
    put(
        &database,
        "Tab",
        Item::from([("pk", s("101")), ("Message", s("New item!"))]),
    )
    .unwrap();
    put(
        &database,
        "Tab",
        Item::from([("pk", s("101")), ("Message", s("This item has changed"))]),
    )
    .unwrap();
    let sizes: Vec<u64> = all_records(&database, "Tab")
        .iter()
        .map(|record| record.size_bytes)
        .collect();
    assert_eq!(sizes, [5 + 21, 5 + 33 + 21]);
}

#[test]
fn tables_without_a_stream_have_none() {
    let database = database();
    create(&database, "Tab", None);
    some_changes(&database, "Tab");
    assert_eq!(streams_of(&database, "Tab"), []);
    let described = database
        .describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        })
        .unwrap()
        .table;
    assert_eq!(described.latest_stream_label, None);
    let missing = StreamName {
        table_name: table("Tab"),
        label: "x".into(),
    };
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/Tab/stream/x";
    assert_eq!(
        describe(&database, &missing),
        Err(StreamError::NotFound(arn.to_owned()).into())
    );
}

#[test]
fn a_stream_is_described() {
    let database = database();
    create(&database, "Tab", Some(StreamViewType::KeysOnly));
    let label = "2023-11-14T22:13:20.000";
    let stream = streams_of(&database, "Tab").pop().unwrap();
    assert_eq!(
        stream,
        StreamName {
            table_name: table("Tab"),
            label: label.to_owned()
        }
    );
    let described = database
        .describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        })
        .unwrap()
        .table;
    assert_eq!(described.latest_stream_label.as_deref(), Some(label));
    let found = describe(&database, &stream).unwrap();
    assert_eq!(
        (found.status, found.view_type),
        (StreamStatus::Enabled, StreamViewType::KeysOnly)
    );
    assert_eq!(
        (
            found.created_ms,
            found.key_schema[0].attribute_name.as_str()
        ),
        (NOW_MS, "pk")
    );
    let [shard] = found.shards.as_slice() else {
        unreachable!()
    };
    assert!((28..=65).contains(&shard.shard_id.len()));
    assert_eq!(
        (
            shard.range.starting.map(|it| it.to_string().len()),
            shard.range.ending
        ),
        (Some(21), None)
    );
    let behind = |shard: &str| {
        let start = Some(shard.to_owned());
        let request = DescribeStreamRequest {
            stream: stream.clone(),
            limit: Some(1),
            exclusive_start_shard_id: start,
            children_of: None,
        };
        database
            .describe_stream(request)
            .map(|found| found.shards.len())
    };
    assert_eq!(behind(&shard.shard_id), Ok(0));
    // One that is not there has nothing behind it, whatever it is called; but it cannot be read from, and has no children.
    for other in [
        "not a shard of any kind at all",
        "shardId-00000000000000000000-00000000",
    ] {
        assert_eq!(behind(other), Ok(0));
        let request = GetShardIteratorRequest {
            stream: stream.clone(),
            shard_id: other.to_owned(),
            position: ShardPosition::TrimHorizon,
        };
        assert_eq!(
            database.get_shard_iterator(request).map(drop),
            Err(StreamError::ShardNotFound.into())
        );
        let request = DescribeStreamRequest {
            stream: stream.clone(),
            limit: None,
            exclusive_start_shard_id: None,
            children_of: Some(other.to_owned()),
        };
        assert_eq!(
            database.describe_stream(request).map(drop),
            Err(StreamError::ShardNotFound.into())
        );
    }
}

#[test]
fn the_beginning_of_a_stream_without_records_is_a_place_to_read_from() {
    let database = database();
    create(&database, "Tab", Some(StreamViewType::NewImage));
    let stream = streams_of(&database, "Tab").pop().unwrap();
    let starting = describe(&database, &stream).unwrap().shards[0]
        .range
        .starting
        .unwrap();
    let places = [
        ShardPosition::AtSequenceNumber(starting),
        ShardPosition::AfterSequenceNumber(starting),
    ];
    let early = places.map(|place| iterator(&database, &stream, place).unwrap());
    assert!(
        early
            .iter()
            .all(|place| read(&database, place, None).unwrap().records.is_empty())
    );
    put(&database, "Tab", item("a", "1")).unwrap();
    put(&database, "Tab", item("a", "2")).unwrap();
    // Whether asked for before the first record or after it, the beginning is before it.
    for place in early
        .into_iter()
        .chain(places.map(|place| iterator(&database, &stream, place).unwrap()))
    {
        assert_eq!(read(&database, &place, None).unwrap().records.len(), 2);
    }
    assert_eq!(
        describe(&database, &stream).unwrap().shards[0]
            .range
            .starting,
        Some(starting)
    );
}

#[test]
fn positions_of_iterators() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database, "Tab", Some(StreamViewType::NewImage));
    for v in ["1", "2", "3"] {
        clock.advance_ms(1_000);
        put(&database, "Tab", item("a", v)).unwrap();
    }
    let stream = streams_of(&database, "Tab").pop().unwrap();
    let numbers: Vec<SequenceNumber> = all_records(&database, "Tab")
        .iter()
        .map(|record| record.sequence_number)
        .collect();
    let check = |position: ShardPosition, expected: &[&str]| {
        let found = read(
            &database,
            &iterator(&database, &stream, position).unwrap(),
            None,
        )
        .unwrap()
        .records;
        let found: Vec<String> = found
            .iter()
            .map(|record| text(record.new_image.as_ref().unwrap().get("v").unwrap()))
            .collect();
        assert_eq!(found, expected, "{position:?}");
    };
    check(ShardPosition::TrimHorizon, &["1", "2", "3"]);
    check(ShardPosition::Latest, &[]);
    check(ShardPosition::AtSequenceNumber(numbers[1]), &["2", "3"]);
    check(ShardPosition::AfterSequenceNumber(numbers[1]), &["3"]);
    check(ShardPosition::AfterSequenceNumber(numbers[2]), &[]);
    check(ShardPosition::AtTimestamp(0), &["1", "2", "3"]);
    check(ShardPosition::AtTimestamp(NOW_MS + 2_000), &["2", "3"]);
    check(ShardPosition::AtTimestamp(NOW_MS + 2_001), &["3"]);
    check(ShardPosition::AtTimestamp(NOW_MS + 9_000), &[]);
    let refused = |number: u64| {
        iterator(
            &database,
            &stream,
            ShardPosition::AtSequenceNumber(SequenceNumber::from_version(number)),
        )
    };
    assert_eq!(refused(0), Err(StreamError::Trimmed.into()));
    assert_eq!(
        refused(numbers[2].version() + 1),
        Err(StreamError::SequenceNumber.into())
    );
}

#[test]
fn latest_sees_what_comes_and_each_record_once() {
    let database = database();
    create(&database, "Tab", Some(StreamViewType::NewImage));
    create(&database, "Other", None);
    put(&database, "Tab", item("a", "1")).unwrap();
    let stream = streams_of(&database, "Tab").pop().unwrap();
    let mut next = iterator(&database, &stream, ShardPosition::Latest).unwrap();
    for v in ["2", "3", "4"] {
        let page = read(&database, &next, None).unwrap();
        assert_eq!(page.records, []);
        put(&database, "Other", item("a", v)).unwrap();
        put(&database, "Tab", item("a", v)).unwrap();
        let page = read(&database, &page.next_shard_iterator.unwrap(), None).unwrap();
        assert_eq!(lines(&page.records), [format!("MODIFY a new={v} old=-")]);
        next = page.next_shard_iterator.unwrap();
    }
}

#[test]
fn iterators_expire_and_damaged_ones_are_refused() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database, "Tab", Some(StreamViewType::KeysOnly));
    let stream = streams_of(&database, "Tab").pop().unwrap();
    let given = iterator(&database, &stream, ShardPosition::TrimHorizon).unwrap();
    clock.advance_ms(15 * 60 * 1000);
    assert!(read(&database, &given, None).is_ok());
    clock.advance_ms(1);
    assert_eq!(
        read(&database, &given, None),
        Err(StreamError::ExpiredIterator.into())
    );
    assert_eq!(
        read(&database, "x", None),
        Err(StreamError::Iterator.into())
    );
}

#[test]
fn a_page_has_at_most_a_megabyte() {
    let database = database();
    create(&database, "Tab", Some(StreamViewType::NewImage));
    for number in 0..5 {
        put(
            &database,
            "Tab",
            item(&number.to_string(), &"x".repeat(400_000)),
        )
        .unwrap();
    }
    let stream = streams_of(&database, "Tab").pop().unwrap();
    let mut next = iterator(&database, &stream, ShardPosition::TrimHorizon).unwrap();
    for expected in [2, 2, 1, 0] {
        let page = read(&database, &next, None).unwrap();
        assert_eq!(page.records.len(), expected);
        next = page.next_shard_iterator.unwrap();
    }
}

#[test]
fn records_are_kept_for_a_day() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database, "Tab", Some(StreamViewType::NewImage));
    put(&database, "Tab", item("a", "1")).unwrap();
    put(&database, "Tab", item("b", "2")).unwrap();
    let first = all_records(&database, "Tab")[0].sequence_number;
    clock.advance_ms(DAY_MS - 60_000);
    put(&database, "Tab", item("c", "3")).unwrap();
    let stream = streams_of(&database, "Tab").pop().unwrap();
    let behind = iterator(&database, &stream, ShardPosition::AtSequenceNumber(first)).unwrap();
    clock.advance_ms(60_000);
    database.engine().run_background_work().unwrap();
    assert_eq!(all_records(&database, "Tab").len(), 3);
    clock.advance_ms(1);
    database.engine().run_background_work().unwrap();
    assert_eq!(
        lines(&all_records(&database, "Tab")),
        ["INSERT c new=3 old=-"]
    );
    assert_eq!(
        read(&database, &behind, None),
        Err(StreamError::Trimmed.into())
    );
    let at_first = iterator(&database, &stream, ShardPosition::AtSequenceNumber(first));
    assert_eq!(at_first, Err(StreamError::Trimmed.into()));
    is_sound(&database);
}

#[test]
fn the_stream_of_a_deleted_table_stays_readable_for_a_day() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database, "Tab", Some(StreamViewType::NewAndOldImages));
    some_changes(&database, "Tab");
    database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    let stream = streams_of(&database, "Tab").pop().unwrap();
    let found = describe(&database, &stream).unwrap();
    assert_eq!(
        (found.status, found.shards[0].range.ending.is_some()),
        (StreamStatus::Disabled, true)
    );
    assert_eq!(all_records(&database, "Tab").len(), 4);
    let start = iterator(&database, &stream, ShardPosition::TrimHorizon).unwrap();
    assert_eq!(
        read(&database, &start, Some(4))
            .unwrap()
            .next_shard_iterator,
        None
    );

    // The same name in the same millisecond is another stream.
    create(&database, "Tab", Some(StreamViewType::KeysOnly));
    put(&database, "Tab", item("a", "1")).unwrap();
    let labels: Vec<String> = streams_of(&database, "Tab")
        .into_iter()
        .map(|stream| stream.label)
        .collect();
    assert_eq!(
        labels,
        ["2023-11-14T22:13:20.000", "2023-11-14T22:13:20.001"]
    );
    assert_eq!(all_records(&database, "Tab").len(), 1);
    is_sound(&database);

    clock.advance_ms(DAY_MS + 1);
    database.engine().run_background_work().unwrap();
    let labels: Vec<String> = streams_of(&database, "Tab")
        .into_iter()
        .map(|stream| stream.label)
        .collect();
    assert_eq!(labels, ["2023-11-14T22:13:20.001"]);
    is_sound(&database);
}

#[test]
fn streams_are_listed_in_pages() {
    let database = database();
    for name in ["Tab", "Tab.", "Taa"] {
        create(&database, name, Some(StreamViewType::KeysOnly));
        database
            .delete_table(DeleteTableRequest::new(table(name)))
            .unwrap();
        create(&database, name, Some(StreamViewType::KeysOnly));
    }
    let list = |table_name: Option<&str>, start: Option<&StreamName>, limit: u32| {
        let request = ListStreamsRequest {
            table_name: table_name.map(table),
            limit: Some(limit),
            exclusive_start: start.cloned(),
        };
        let found = database.list_streams(request).unwrap();
        let names: Vec<String> = found
            .streams
            .iter()
            .map(|stream| format!("{}/{}", stream.table_name, &stream.label[20..]))
            .collect();
        (names, found.last_evaluated)
    };
    let (names, last) = list(None, None, 4);
    assert_eq!(names, ["Taa/000", "Taa/001", "Tab/000", "Tab/001"]);
    let (names, end) = list(None, last.as_ref(), 4);
    assert_eq!(
        (names, end),
        (vec!["Tab./000".to_owned(), "Tab./001".to_owned()], None)
    );
    let (names, last) = list(Some("Tab"), None, 1);
    assert_eq!(names, ["Tab/000"]);
    assert_eq!(
        list(Some("Tab"), last.as_ref(), 1),
        (vec!["Tab/001".to_owned()], None)
    );
    assert_eq!(list(Some("Tab."), last.as_ref(), 9).0.len(), 2);
    assert_eq!(list(Some("Taa"), last.as_ref(), 9).0.len(), 0);
    assert_eq!(list(Some("Nothing"), None, 9).0.len(), 0);
}

#[derive(Debug, Clone)]
enum Op {
    Put(u8, u8),
    Delete(u8),
}

/// Replays records on an empty table; each must fit what the ones before it left.
fn replay(records: &[StreamRecord]) -> BTreeMap<String, Item> {
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    for record in records {
        let key = text(record.keys.get("pk").unwrap());
        let old = match &record.new_image {
            Some(image) => items.insert(key, image.clone()),
            None => items.remove(&key),
        };
        assert_eq!(old, record.old_image);
        let event = match (&record.old_image, &record.new_image) {
            (None, Some(_)) => StreamEvent::Insert,
            (Some(old), Some(new)) if old != new => StreamEvent::Modify,
            (Some(_), None) => StreamEvent::Remove,
            images => panic!("{images:?}"),
        };
        assert_eq!(record.event, event);
    }
    items
}

fn replays(store: Arc<dyn Store>, ops: &[Op]) {
    let database = LocalDatabase::open(store, options()).unwrap();
    create(&database, "Tab", Some(StreamViewType::NewAndOldImages));
    for op in ops {
        match op {
            Op::Put(pk, v) => {
                drop(put(&database, "Tab", item(&pk.to_string(), &v.to_string())).unwrap())
            }
            Op::Delete(pk) => delete(&database, "Tab", key(&pk.to_string())),
        }
    }
    let items = replay(&all_records(&database, "Tab"));
    for pk in 0..4_u8 {
        assert_eq!(
            get(&database, "Tab", key(&pk.to_string())),
            items.get(&pk.to_string()).cloned()
        );
    }
    is_sound(&database);
}

#[test]
fn replaying_a_stream_from_its_start_gives_the_table() {
    let op = prop_oneof![
        (0..4_u8, 0..3_u8).prop_map(|(pk, v)| Op::Put(pk, v)),
        (0..4_u8).prop_map(Op::Delete)
    ];
    let mut runner = TestRunner::new(Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&prop::collection::vec(op, 0..40), |ops| {
            replays(
                Arc::new(ddbfs::store::memory::MemoryStore::new().unwrap()),
                &ops,
            );
            Ok(())
        })
        .unwrap();
}

#[test]
fn concurrent_writers_leave_one_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
    let database = LocalDatabase::open(Arc::new(store), options()).unwrap();
    create(&database, "Tab", Some(StreamViewType::NewAndOldImages));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let database = &database;
            scope.spawn(move || {
                for round in 0..50 {
                    let pk = ((writer + round) % 5).to_string();
                    match round % 3 {
                        0 => delete(database, "Tab", key(&pk)),
                        _ => drop(
                            put(database, "Tab", item(&pk, &format!("{writer}.{round}"))).unwrap(),
                        ),
                    }
                }
            });
        }
    });
    let items = replay(&all_records(&database, "Tab"));
    for pk in 0..5 {
        assert_eq!(
            get(&database, "Tab", key(&pk.to_string())),
            items.get(&pk.to_string()).cloned()
        );
    }
    is_sound(&database);
}

#[test]
fn numbers_of_items_come_back() {
    let database = database();
    create(&database, "Tab", Some(StreamViewType::NewImage));
    let item = Item::from([("pk", s("a")), ("v", n("1.50"))]);
    put(&database, "Tab", item.clone()).unwrap();
    assert_eq!(all_records(&database, "Tab")[0].new_image, Some(item));
}

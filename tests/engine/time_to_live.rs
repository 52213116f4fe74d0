//! Time to live (docs/dynamodb.md 16): states, refusals, what expires and what a deletion leaves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::support::engine::{
    NOW_MS, database, database_with, get, n, options, put, query_request, s, table,
};
use crate::support::wait::until;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::check::check;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::tables::{IndexDefinition, ProjectionDefinition, ProjectionType};
use ddbfs::model::api::*;
use ddbfs::model::schema::{BillingMode, IndexKind, KeyAttributeType, KeyType};
use ddbfs::model::{AttributeValue, Error, IndexName, Item, KeyAttribute, TableSettings};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const NOW: u64 = NOW_MS / 1000;
const FIVE_YEARS: u64 = 5 * 365 * 24 * 60 * 60;

/// `pk`, `sk`; a global index on `kind`; a stream.
fn create(database: &LocalDatabase) {
    let attribute = |name: &str, attribute_type: KeyAttributeType| KeyAttribute {
        name: name.into(),
        attribute_type,
    };
    let element = |name: &str, key_type: KeyType| KeySchemaElement {
        attribute_name: name.into(),
        key_type,
    };
    let request = CreateTableRequest {
        table_name: table("Session"),
        attribute_definitions: vec![
            attribute("pk", KeyAttributeType::S),
            attribute("sk", KeyAttributeType::N),
            attribute("kind", KeyAttributeType::S),
        ],
        key_schema: vec![element("pk", KeyType::Hash), element("sk", KeyType::Range)],
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: None,
        global_indexes: Some(vec![IndexDefinition {
            name: IndexName::new("by-kind").unwrap(),
            kind: IndexKind::Global,
            key_schema: vec![element("kind", KeyType::Hash)],
            projection: ProjectionDefinition {
                projection_type: Some(ProjectionType::All),
                non_key_attributes: None,
            },
            throughput: None,
            settings: Default::default(),
            vector: None,
        }]),
        deletion_protection: false,
        settings: TableSettings {
            stream: Some(StreamViewType::NewAndOldImages),
            ..TableSettings::default()
        },
        vector_indexes: None,
    };
    database.create_table(request).unwrap();
}

fn item(pk: &str, sk: u64, expires: AttributeValue) -> Item {
    Item::from([
        ("pk", s(pk)),
        ("sk", n(&sk.to_string())),
        ("kind", s("a")),
        ("expires", expires),
    ])
}

fn key(pk: &str, sk: u64) -> Item {
    Item::from([("pk", s(pk)), ("sk", n(&sk.to_string()))])
}

fn seconds(value: u64) -> AttributeValue {
    n(&value.to_string())
}

fn update(
    database: &LocalDatabase,
    enabled: bool,
    attribute: &str,
) -> Result<UpdateTimeToLiveResponse, Error> {
    let specification = TimeToLiveSpecification {
        enabled,
        attribute_name: attribute.to_owned(),
    };
    database.update_time_to_live(UpdateTimeToLiveRequest {
        table_name: table("Session"),
        specification,
    })
}

fn state(database: &LocalDatabase) -> (TimeToLiveStatus, Option<String>) {
    let found = database
        .describe_time_to_live(DescribeTimeToLiveRequest {
            table_name: table("Session"),
        })
        .unwrap();
    (found.status, found.attribute_name)
}

fn work(database: &LocalDatabase) {
    database.engine().run_background_work().unwrap();
}

fn is_sound(database: &LocalDatabase) {
    let report = check(database.engine()).unwrap();
    assert!(report.is_clean(), "{:?}", report.differences);
}

fn is_there(database: &LocalDatabase, pk: &str, sk: u64) -> bool {
    get(database, "Session", key(pk, sk)).is_some()
}

fn records(database: &LocalDatabase) -> Vec<StreamRecord> {
    let stream = database
        .list_streams(ListStreamsRequest::default())
        .unwrap()
        .streams
        .pop()
        .unwrap();
    let request = DescribeStreamRequest {
        stream: stream.clone(),
        limit: None,
        exclusive_start_shard_id: None,
        children_of: None,
    };
    let shard_id = database.describe_stream(request).unwrap().shards[0]
        .shard_id
        .clone();
    let position = ShardPosition::TrimHorizon;
    let iterator = database
        .get_shard_iterator(GetShardIteratorRequest {
            stream,
            shard_id,
            position,
        })
        .unwrap();
    database
        .get_records(GetRecordsRequest {
            shard_iterator: iterator.shard_iterator,
            limit: None,
        })
        .unwrap()
        .records
}

#[test]
fn states_and_refusals() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database);
    let text = |found: Result<UpdateTimeToLiveResponse, Error>| {
        found.map_or_else(|error| error.to_string(), |_| "done".to_owned())
    };
    let expires = || Some("expires".to_owned());
    assert_eq!(state(&database), (TimeToLiveStatus::Disabled, None));
    assert_eq!(
        text(update(&database, false, "expires")),
        "TimeToLive is already disabled"
    );
    assert_eq!(text(update(&database, true, "expires")), "done");
    assert_eq!(state(&database), (TimeToLiveStatus::Enabling, expires()));
    assert_eq!(
        text(update(&database, true, "expires")),
        "TimeToLive is already enabled"
    );
    work(&database);
    assert_eq!(state(&database), (TimeToLiveStatus::Enabled, expires()));
    let other =
        "TimeToLive is active on a different AttributeName: current AttributeName is expires";
    assert_eq!(text(update(&database, true, "other")), other);
    assert_eq!(text(update(&database, false, "other")), other);
    assert_eq!(text(update(&database, false, "expires")), "done");
    assert_eq!(state(&database), (TimeToLiveStatus::Disabled, None));
    // Another attribute, and one of the key.
    assert_eq!(text(update(&database, true, "sk")), "done");
    is_sound(&database);
    let missing = DescribeTimeToLiveRequest {
        table_name: table("Nothing"),
    };
    let missing = database
        .describe_time_to_live(missing)
        .map_err(|error| error.to_string());
    assert_eq!(
        missing,
        Err("Requested resource not found: Table: Nothing not found".to_owned())
    );
}

#[test]
fn transitions_and_the_interval_take_their_time() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let slow = EngineOptions {
        clock: clock.clone(),
        ttl_transition_ms: 1_000,
        ttl_interval_ms: 5_000,
        ..options()
    };
    let database = database_with(slow);
    create(&database);
    put(&database, "Session", item("a", 1, seconds(NOW - 1))).unwrap();
    update(&database, true, "expires").unwrap();
    work(&database);
    assert_eq!(
        (state(&database).0, is_there(&database, "a", 1)),
        (TimeToLiveStatus::Enabling, true)
    );
    let refused = update(&database, false, "expires").map_err(|error| error.to_string());
    assert_eq!(
        refused,
        Err("Time to live has been modified multiple times within a fixed interval".to_owned())
    );
    clock.advance_ms(1_000);
    work(&database);
    assert_eq!(
        (state(&database).0, is_there(&database, "a", 1)),
        (TimeToLiveStatus::Enabled, false)
    );
    clock.advance_ms(4_000);
    update(&database, false, "expires").unwrap();
    assert_eq!(
        state(&database),
        (TimeToLiveStatus::Disabling, Some("expires".to_owned()))
    );
    clock.advance_ms(1_000);
    assert_eq!(state(&database), (TimeToLiveStatus::Disabled, None));
}

#[test]
fn what_expires() {
    let check = |expires: AttributeValue, expected: bool| {
        let enabled_before = [true, false];
        for before in enabled_before {
            let database = database();
            create(&database);
            if before {
                update(&database, true, "expires").unwrap();
            }
            put(&database, "Session", item("a", 1, expires.clone())).unwrap();
            if !before {
                update(&database, true, "expires").unwrap();
            }
            work(&database);
            assert_eq!(
                is_there(&database, "a", 1),
                !expected,
                "{expires:?}, enabled before: {before}"
            );
            is_sound(&database);
        }
    };
    check(seconds(NOW - 1), true);
    check(seconds(NOW), false);
    check(n(&format!("{}.999", NOW - 1)), true);
    check(seconds(NOW + 1), false);
    check(seconds(NOW - FIVE_YEARS + 1), true);
    check(seconds(NOW - FIVE_YEARS), false);
    check(n("0"), false);
    check(n("-1"), false);
    check(n("1e100"), false);
    check(s(&(NOW - 1).to_string()), false);
    check(AttributeValue::L(vec![seconds(NOW - 1)]), false);
}

#[test]
fn the_example_of_the_guide_expires_when_its_time_is_over() {
    let clock = Arc::new(ManualClock::at(1_571_827_560_000));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database);
    update(&database, true, "expires").unwrap();
    put(&database, "Session", item("user1", 1, n("1571827560"))).unwrap();
    work(&database);
    assert!(is_there(&database, "user1", 1));
    clock.advance_ms(1);
    assert!(is_there(&database, "user1", 1), "read until it is deleted");
    work(&database);
    assert!(!is_there(&database, "user1", 1));
}

#[test]
fn a_deletion_is_streamed_as_the_services_and_leaves_the_indexes() {
    let database = database();
    create(&database);
    update(&database, true, "expires").unwrap();
    put(&database, "Session", item("a", 1, seconds(NOW - 1))).unwrap();
    put(&database, "Session", item("a", 2, seconds(NOW + 1))).unwrap();
    work(&database);
    let found = database
        .query(&query_request(
            "Session/by-kind",
            "kind = :k",
            &[(":k", s("a"))],
        ))
        .unwrap();
    assert_eq!(found.items.unwrap(), [item("a", 2, seconds(NOW + 1))]);
    let records = records(&database);
    let last = records.last().unwrap();
    assert_eq!(
        (last.event, last.origin, &last.keys),
        (StreamEvent::Remove, ChangeOrigin::TimeToLive, &key("a", 1))
    );
    assert_eq!(last.old_image, Some(item("a", 1, seconds(NOW - 1))));
    assert!(
        records[..2]
            .iter()
            .all(|record| record.origin == ChangeOrigin::Client)
    );
    is_sound(&database);
}

#[test]
fn a_later_time_or_none_rescues_an_item() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database);
    update(&database, true, "expires").unwrap();
    work(&database);
    for sk in 1..=3 {
        put(&database, "Session", item("a", sk, seconds(NOW + 1))).unwrap();
    }
    clock.advance_ms(2_000);
    put(&database, "Session", item("a", 1, seconds(NOW + 9))).unwrap();
    put(&database, "Session", item("a", 2, s("never"))).unwrap();
    work(&database);
    assert_eq!(
        [1, 2, 3].map(|sk| is_there(&database, "a", sk)),
        [true, true, false]
    );
    is_sound(&database);
}

#[test]
fn many_items_go_in_pieces_and_nothing_goes_after_disabling() {
    let database = database();
    create(&database);
    for sk in 0..350 {
        put(
            &database,
            "Session",
            item("a", sk, seconds(NOW - 1 - sk % 7)),
        )
        .unwrap();
    }
    update(&database, true, "expires").unwrap();
    work(&database);
    let described = database
        .describe_table(DescribeTableRequest {
            table_name: table("Session"),
        })
        .unwrap()
        .table;
    assert_eq!(
        (described.item_count, described.indexes[0].item_count),
        (0, 0)
    );
    is_sound(&database);

    put(&database, "Session", item("a", 1, seconds(NOW - 1))).unwrap();
    update(&database, false, "expires").unwrap();
    work(&database);
    assert!(is_there(&database, "a", 1));
    database
        .delete_table(DeleteTableRequest::new(table("Session")))
        .unwrap();
    is_sound(&database);
}

#[test]
fn deleting_a_table_takes_its_list_along() {
    let database = database();
    create(&database);
    update(&database, true, "expires").unwrap();
    put(&database, "Session", item("a", 1, seconds(NOW + 1))).unwrap();
    database
        .delete_table(DeleteTableRequest::new(table("Session")))
        .unwrap();
    create(&database);
    assert_eq!(state(&database), (TimeToLiveStatus::Disabled, None));
    work(&database);
    is_sound(&database);
}

#[test]
fn the_background_thread_does_it_by_itself_and_ends() {
    let options = || EngineOptions {
        background_period: Some(Duration::from_millis(2)),
        ..options()
    };
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
        LocalDatabase::open(Arc::new(store), options()).unwrap()
    };
    let database = open();
    create(&database);
    put(&database, "Session", item("a", 1, seconds(NOW - 1))).unwrap();
    update(&database, true, "expires").unwrap();
    until("the item is deleted", || !is_there(&database, "a", 1));
    assert_eq!(state(&database).0, TimeToLiveStatus::Enabled);
    drop(database);
    let database = open();
    put(&database, "Session", item("a", 1, seconds(NOW - 1))).unwrap();
    until("the item is deleted", || !is_there(&database, "a", 1));
    is_sound(&database);
    database.engine().close();
}

#[derive(Debug, Clone)]
enum Op {
    Put(u64, Option<u64>),
    Delete(u64),
    Enable,
    Disable,
    Work,
    Advance(u64),
}

/// Items by sort key with their expiry in seconds; what is over goes when work is done.
fn agrees_with_a_model(store: Arc<dyn Store>, ops: &[Op]) {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = LocalDatabase::open(
        store,
        EngineOptions {
            clock: clock.clone(),
            ..options()
        },
    )
    .unwrap();
    create(&database);
    let mut model: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    let (mut is_enabled, mut now) = (false, NOW);
    for op in ops {
        match *op {
            Op::Put(sk, expires) => {
                let expires = expires.map(|second| NOW + second);
                put(
                    &database,
                    "Session",
                    item("a", sk, expires.map_or(s("-"), seconds)),
                )
                .unwrap();
                model.insert(sk, expires);
            }
            Op::Delete(sk) => {
                database
                    .delete_item(DeleteItemRequest::new(table("Session"), key("a", sk)))
                    .unwrap();
                model.remove(&sk);
            }
            Op::Enable => is_enabled |= update(&database, true, "expires").is_ok(),
            Op::Disable => is_enabled &= update(&database, false, "expires").is_err(),
            Op::Work => {
                work(&database);
                model.retain(|_, expires| {
                    !is_enabled || expires.is_none_or(|expires| expires >= now)
                });
            }
            Op::Advance(by) => {
                clock.advance_ms(by * 1000);
                now += by;
            }
        }
        let found: Vec<u64> = (0..5).filter(|sk| is_there(&database, "a", *sk)).collect();
        assert_eq!(found, model.keys().copied().collect::<Vec<_>>(), "{op:?}");
    }
    is_sound(&database);
}

#[test]
fn generated_operations_agree_with_a_model() {
    let op = prop_oneof![
        4 => (0..5_u64, prop::option::of(0..10_u64)).prop_map(|(sk, expires)| Op::Put(sk, expires)),
        1 => (0..5_u64).prop_map(Op::Delete),
        1 => Just(Op::Enable),
        1 => Just(Op::Disable),
        2 => Just(Op::Work),
        1 => (1..6_u64).prop_map(Op::Advance),
    ];
    let mut runner = TestRunner::new(Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&prop::collection::vec(op, 0..30), |ops| {
            agrees_with_a_model(Arc::new(MemoryStore::new().unwrap()), &ops);
            Ok(())
        })
        .unwrap();
}

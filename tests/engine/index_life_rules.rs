//! The rules of docs/requirements.md sections 3 to 5 on the life of a global index, its propagation and its cost, one test for each that has
//! none elsewhere; names carry the ids. The admission matrix itself is `tests/engine/index_life.rs`.

use std::sync::Arc;

use crate::support::control::Control;
use ddbfs::codec::metrics::{cloudwatch, prometheus};
use ddbfs::engine::check::check;
use ddbfs::engine::test_hooks::{IndexHold, IndexStage};
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::model::TableName;
use ddbfs::model::metrics::CapacityUsage;
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

/// `Tab` on demand; indexes move only when told.
struct Bed {
    control: Control,
    hold: Arc<IndexHold>,
}

impl Bed {
    fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new().unwrap()))
    }

    fn on(store: Arc<dyn Store>) -> Self {
        Self::with(store, None)
    }

    fn with(store: Arc<dyn Store>, throttle: Option<ThrottleOptions>) -> Self {
        let hold = Arc::new(IndexHold::default());
        let of_engine = Arc::clone(&hold);
        let control = Control::on(store, |options| {
            options.background_period = None;
            options.index_hold = of_engine;
            options.throttle = throttle;
        });
        Self { control, hold }
    }

    /// With `Tab` and items `p0`… whose `a` is `a0`… and `n` a number.
    fn with_items(count: usize) -> Self {
        let bed = Self::new();
        bed.control.simple("Tab");
        (0..count).for_each(|at| bed.put(&format!("p{at}"), json!({ "S": format!("a{at}") })));
        bed
    }

    fn put(&self, pk: &str, a: Value) {
        self.control.put(
            "Tab",
            json!({ "pk": { "S": pk }, "a": a, "n": { "N": "7" } }),
        );
    }

    fn run(&self) {
        self.control
            .database
            .engine()
            .run_background_work()
            .unwrap();
        let report = check(self.control.database.engine()).unwrap();
        assert!(report.is_clean(), "{report:#?}");
    }

    /// UpdateTable with one entry in `GlobalSecondaryIndexUpdates`.
    fn update(&self, update: Value) -> Result<Value, String> {
        let definitions = json!([{ "AttributeName": "a", "AttributeType": "S" }, { "AttributeName": "n", "AttributeType": "N" }]);
        let body = json!({ "TableName": "Tab", "AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [update] });
        self.control.call("UpdateTable", body)
    }

    fn create(&self, name: &str) {
        self.update(creation(name)).unwrap();
    }

    /// Members of the index at a place as DescribeTable tells them.
    fn index(&self, at: usize) -> Value {
        self.control.describe("Tab")["GlobalSecondaryIndexes"][at].clone()
    }

    fn status(&self, at: usize) -> (String, Value) {
        let index = self.index(at);
        (
            index["IndexStatus"].as_str().unwrap_or_default().to_owned(),
            index["Backfilling"].clone(),
        )
    }
}

fn creation(name: &str) -> Value {
    let keys = json!([{ "AttributeName": "a", "KeyType": "HASH" }]);
    json!({ "Create": { "IndexName": name, "KeySchema": keys, "Projection": { "ProjectionType": "ALL" } } })
}

fn scan(index: &str) -> Value {
    json!({ "TableName": "Tab", "IndexName": index })
}

const BACKFILLING: &str = "Cannot read from backfilling global secondary index: new";

#[test]
fn m_02_m_03_m_10_m_13_m_17_states_of_an_index_and_their_flags() {
    let bed = Bed::with_items(300);
    bed.hold.hold(IndexStage::Allocation);
    bed.create("new");
    bed.run();
    assert_eq!(bed.status(0), ("CREATING".to_owned(), json!(false)));
    bed.hold.release(IndexStage::Allocation);
    // Entries grow, a step at a time.
    for entries in [100, 200] {
        bed.hold.hold_after(IndexStage::Backfill, 1);
        bed.run();
        assert_eq!(bed.status(0), ("CREATING".to_owned(), json!(true)));
        assert_eq!(bed.index(0)["ItemCount"], entries);
    }
    bed.hold.release(IndexStage::Backfill);
    bed.run();
    assert_eq!(bed.status(0), ("ACTIVE".to_owned(), Value::Null));
    bed.hold.hold(IndexStage::Removal);
    bed.update(json!({ "Delete": { "IndexName": "new" } }))
        .unwrap();
    bed.run();
    assert_eq!(bed.status(0), ("DELETING".to_owned(), Value::Null));
    bed.hold.release(IndexStage::Removal);
    bed.run();
    assert_eq!(bed.status(0), (String::new(), Value::Null));
}

#[test]
fn m_04_m_05_each_part_of_a_definition_is_needed_and_names_are_unique() {
    let bed = Bed::with_items(1);
    for member in ["IndexName", "KeySchema", "Projection"] {
        let mut update = creation("new");
        update["Create"].as_object_mut().unwrap().remove(member);
        let refused = bed.update(update).unwrap_err();
        assert!(
            refused.contains("failed to satisfy constraint: Member must not be null"),
            "{member}: {refused}"
        );
    }
    bed.create("new");
    bed.run();
    assert_eq!(
        bed.update(creation("new")),
        Err("Attempting to create an index which already exists".to_owned())
    );
    // A local index counts too.
    let bed = Bed::new();
    let definitions = json!([{ "AttributeName": "pk", "AttributeType": "S" }, { "AttributeName": "sk", "AttributeType": "S" },
        { "AttributeName": "a", "AttributeType": "S" }]);
    let key = |range: &str| json!([{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": range, "KeyType": "RANGE" }]);
    let local = json!([{ "IndexName": "new", "KeySchema": key("a"), "Projection": { "ProjectionType": "ALL" } }]);
    bed.control.ok(
        "CreateTable",
        json!({ "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("sk"), "AttributeDefinitions": definitions,
            "LocalSecondaryIndexes": local }),
    );
    assert_eq!(
        bed.update(creation("new")),
        Err("Attempting to create an index which already exists".to_owned())
    );
}

#[test]
fn m_06_m_07_one_creation_or_deletion_at_a_time() {
    let bed = Bed::with_items(1);
    let limit = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";
    let definitions = json!([{ "AttributeName": "a", "AttributeType": "S" }]);
    let two = |one: Value, other: Value| json!({ "TableName": "Tab", "AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [one, other] });
    bed.control
        .fails("UpdateTable", two(creation("one"), creation("two")), limit);
    for name in ["one", "two"] {
        bed.create(name);
        bed.run();
    }
    let delete = |name: &str| json!({ "Delete": { "IndexName": name } });
    bed.control
        .fails("UpdateTable", two(delete("one"), delete("two")), limit);
    assert_eq!(
        bed.control.describe("Tab")["GlobalSecondaryIndexes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn m_08_m_09_m_14_m_16_the_table_stays_available_and_its_writes_are_tracked() {
    let bed = Bed::with_items(250);
    bed.hold.hold_after(IndexStage::Backfill, 1);
    bed.create("new");
    bed.run();
    // Writes on both sides of where the backfill is: whatever the hash order, some are before it and some behind.
    for at in (0..250).step_by(3) {
        bed.put(&format!("p{at}"), json!({ "S": format!("changed{at}") }));
    }
    for at in (1..250).step_by(3) {
        bed.control.ok(
            "DeleteItem",
            json!({ "TableName": "Tab", "Key": { "pk": { "S": format!("p{at}") } } }),
        );
    }
    bed.put("added", json!({ "S": "new" }));
    bed.control.fails("Scan", scan("new"), BACKFILLING);
    assert_eq!(bed.control.column("Tab", "a").len(), 250 - 83 + 1);
    bed.hold.release(IndexStage::Backfill);
    bed.run();
    assert_eq!(
        bed.control.column("Tab/new", "a"),
        bed.control.column("Tab", "a")
    );
    // From the definition on, what violates it is refused.
    let item = json!({ "TableName": "Tab", "Item": { "pk": { "S": "x" }, "a": { "N": "1" } } });
    bed.control.fails(
        "PutItem",
        item,
        "IV: Type mismatch for Index Key a Expected: S Actual: N IndexName: new",
    );
}

#[test]
fn m_11_m_12_m_15_m_32_m_33_what_goes_on_in_each_phase() {
    let bed = Bed::with_items(3);
    bed.create("old");
    bed.run();
    bed.hold.hold(IndexStage::Allocation);
    bed.create("new");
    let delete = json!({ "Delete": { "IndexName": "new" } });
    assert!(
        bed.update(delete.clone())
            .unwrap_err()
            .contains("Index creation is in resource allocation phase.")
    );
    let drop_table = || {
        bed.control
            .call("DeleteTable", json!({ "TableName": "Tab" }))
            .unwrap_err()
    };
    assert!(
        drop_table()
            .ends_with("Cannot delete table while indexes are being created, updated, or deleted.")
    );
    let maxima = json!({ "Update": { "IndexName": "old", "OnDemandThroughput": { "MaxReadRequestUnits": 9 } } });
    bed.update(maxima).unwrap();
    bed.hold.release(IndexStage::Allocation);
    bed.hold.hold(IndexStage::Backfill);
    bed.run();
    assert!(
        drop_table()
            .ends_with("Cannot delete table while indexes are being created, updated, or deleted.")
    );
    // Deletion in the backfill cancels it; the table and the other index do not notice.
    bed.hold.hold(IndexStage::Removal);
    bed.update(delete).unwrap();
    assert_eq!(bed.status(1).0, "DELETING");
    bed.put("p9", json!({ "S": "z" }));
    let maxima = json!({ "Update": { "IndexName": "old", "OnDemandThroughput": { "MaxReadRequestUnits": 8 } } });
    bed.update(maxima).unwrap();
    assert_eq!(bed.control.column("Tab/old", "a"), ["a0", "a1", "a2", "z"]);
    bed.hold.release(IndexStage::Removal);
    bed.run();
    assert_eq!(
        bed.control.describe("Tab")["GlobalSecondaryIndexes"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn m_18_m_23_m_28_m_34_a_backfill_is_told_by_metrics_and_charged_to_nobody_else() {
    let bed = Bed::with_items(300);
    let metrics = || {
        bed.control
            .database
            .engine()
            .metrics(&[TableName::new("Tab").unwrap()])
            .unwrap()
    };
    let consumed = |at: usize| {
        let usage = metrics().tables[0].sources[at].usage.total;
        (usage.read.sum, usage.write.sum)
    };
    let before = consumed(0);
    bed.hold.hold_after(IndexStage::Backfill, 2);
    bed.create("new");
    bed.run();
    let text = prometheus::render(&metrics());
    let value = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.contains(name) && line.contains("index=\"new\""))
            .unwrap_or_else(|| panic!("{text}"));
        line.rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!(value("online_index_percentage_progress"), "66");
    assert_eq!(value("online_index_consumed_write_capacity"), "200");
    assert_eq!(value("online_index_throttle_events"), "0");
    let found = metrics();
    let lines = cloudwatch::render(&found.tables[0], found.now_ms);
    let point = lines
        .lines()
        .find(|line| line.contains("OnlineIndexPercentageProgress"))
        .unwrap();
    let point: Value = serde_json::from_str(point).unwrap();
    assert_eq!(
        point["Dimensions"],
        json!({ "TableName": "Tab", "GlobalSecondaryIndexName": "new" })
    );
    bed.hold.release(IndexStage::Backfill);
    bed.run();
    bed.update(json!({ "Delete": { "IndexName": "new" } }))
        .unwrap();
    bed.run();
    assert_eq!(consumed(0), before);
    assert!(!prometheus::render(&metrics()).contains("index=\"new\""));
}

#[test]
fn m_19_m_20_violations_keep_items_out_and_stop_nothing() {
    let bed = Bed::with_items(2);
    for (pk, a) in [
        ("type", json!({ "N": "1" })),
        ("empty", json!({ "S": "" })),
        ("large", json!({ "S": "x".repeat(2_049) })),
    ] {
        bed.put(pk, a);
    }
    bed.create("new");
    bed.run();
    assert_eq!(bed.status(0), ("ACTIVE".to_owned(), Value::Null));
    assert_eq!(bed.control.column("Tab/new", "pk"), ["p0", "p1"]);
    let description = bed
        .control
        .database
        .engine()
        .describe(&TableName::new("Tab").unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(description.indexes[0].violations, 3);
}

#[test]
fn m_35_m_36_a_table_s_own_indexes_have_no_flag_and_all_go_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let bed = Bed::on(Arc::new(
        LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap(),
    ));
    let keys = |name: &str| json!([{ "AttributeName": name, "KeyType": "HASH" }]);
    let index = json!([{ "IndexName": "own", "KeySchema": keys("a"), "Projection": { "ProjectionType": "ALL" } }]);
    let definitions = json!([{ "AttributeName": "pk", "AttributeType": "S" }, { "AttributeName": "a", "AttributeType": "S" }]);
    let answer = bed.control.ok(
        "CreateTable",
        json!({ "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("pk"), "AttributeDefinitions": definitions,
            "GlobalSecondaryIndexes": index }),
    );
    assert_eq!(
        answer["TableDescription"]["GlobalSecondaryIndexes"][0].get("Backfilling"),
        None
    );
    assert_eq!(bed.index(0).get("Backfilling"), None);
    bed.put("p", json!({ "S": "x" }));
    bed.create("new");
    assert_eq!(bed.index(1)["Backfilling"], false);
    bed.run();
    bed.control.ok("DeleteTable", json!({ "TableName": "Tab" }));
    bed.run();
}

/// TopScore and TopScoreDateTime are no keys of the table (D-01b).
#[test]
fn g_04_m_37_keys_of_a_new_index_may_be_any_attributes() {
    let bed = Bed::new();
    bed.control.simple("Tab");
    for (user, score, time) in [
        ("101", "5842", "2015-09-15"),
        ("102", "1000", "2015-10-22"),
        ("103", "5842", "2015-11-01"),
    ] {
        let item = json!({ "pk": { "S": user }, "TopScore": { "N": score }, "TopScoreDateTime": { "S": time } });
        bed.control.put("Tab", item);
    }
    let keys = json!([{ "AttributeName": "TopScore", "KeyType": "HASH" }, { "AttributeName": "TopScoreDateTime", "KeyType": "RANGE" }]);
    let create = json!({ "Create": { "IndexName": "by-score", "KeySchema": keys, "Projection": { "ProjectionType": "KEYS_ONLY" } } });
    let definitions = json!([{ "AttributeName": "TopScore", "AttributeType": "N" }, { "AttributeName": "TopScoreDateTime", "AttributeType": "S" }]);
    let body = json!({ "TableName": "Tab", "AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [create] });
    bed.control.ok("UpdateTable", body);
    bed.run();
    let query = json!({ "TableName": "Tab", "IndexName": "by-score", "KeyConditionExpression": "TopScore = :s",
        "ExpressionAttributeValues": { ":s": { "N": "5842" } } });
    let found = bed.control.ok("Query", query);
    let users: Vec<&str> = found["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["pk"]["S"].as_str().unwrap())
        .collect();
    assert_eq!(users, ["101", "103"]);
}

#[test]
fn g_33_nobody_writes_to_an_index() {
    let bed = Bed::with_items(1);
    bed.create("new");
    bed.run();
    // PutItem has no index to name: a member that it does not know changes nothing of where it writes.
    bed.control.ok(
        "PutItem",
        json!({ "TableName": "Tab", "IndexName": "new", "Item": { "pk": { "S": "p5" } } }),
    );
    assert_eq!(
        (
            bed.control.column("Tab", "pk").len(),
            bed.control.column("Tab/new", "pk").len()
        ),
        (2, 1)
    );
}

#[test]
fn g_40_g_47_a_new_index_has_its_own_throughput() {
    let bed = Bed::new();
    let units =
        |read: u64, write: u64| json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write });
    bed.control.ok(
        "CreateTable",
        json!({ "TableName": "Tab", "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }], "ProvisionedThroughput": units(5, 5) }),
    );
    let refused = bed.update(creation("new")).unwrap_err();
    assert!(
        refused.ends_with(
            "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"
        ),
        "{refused}"
    );
    let mut update = creation("new");
    update["Create"]["ProvisionedThroughput"] = units(3, 8);
    bed.update(update).unwrap();
    bed.run();
    let found = bed.index(0)["ProvisionedThroughput"].clone();
    assert_eq!(
        (&found["ReadCapacityUnits"], &found["WriteCapacityUnits"]),
        (&json!(3), &json!(8))
    );
}

#[test]
fn m_31_throughput_changed_in_the_backfill_shows_updating_with_the_flag() {
    let bed = Bed::with_items(3);
    bed.hold.hold(IndexStage::Backfill);
    bed.create("new");
    bed.run();
    bed.update(json!({ "Update": { "IndexName": "new", "OnDemandThroughput": { "MaxWriteRequestUnits": 9 } } })).unwrap();
    assert_eq!(bed.status(0), ("UPDATING".to_owned(), json!(true)));
    bed.hold.release(IndexStage::Backfill);
    bed.run();
    assert_eq!(bed.status(0), ("ACTIVE".to_owned(), Value::Null));
}

// Backfills where throttling is simulated, on the clock turned by hand.

/// What decides how long a backfill takes (M-22).
#[derive(Clone, Copy)]
struct Work {
    items: usize,
    /// Of each so many items one has the index's key.
    qualifying: usize,
    bytes: usize,
    projection: &'static str,
    units: u64,
}

const WORK: Work = Work {
    items: 200,
    qualifying: 1,
    bytes: 10,
    projection: "ALL",
    units: 5,
};

fn units(write: u64) -> Value {
    json!({ "ReadCapacityUnits": 1, "WriteCapacityUnits": write })
}

impl Bed {
    /// Throttled, with items of which `new` is about to be made.
    fn throttled(work: Work) -> Self {
        let bed = Self::with(
            Arc::new(MemoryStore::new().unwrap()),
            Some(ThrottleOptions::new(true)),
        );
        bed.control.ok(
            "CreateTable",
            json!({ "TableName": "Tab", "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
                "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }], "ProvisionedThroughput": units(900) }),
        );
        for at in 0..work.items {
            let key = if at % work.qualifying == 0 {
                "a"
            } else {
                "other"
            };
            let item = json!({ "pk": { "S": format!("p{at}") }, key: { "S": format!("a{at}") }, "fill": { "S": "x".repeat(work.bytes) } });
            bed.control.put("Tab", item);
        }
        let mut update = creation("new");
        update["Create"]["ProvisionedThroughput"] = units(work.units);
        update["Create"]["Projection"] = json!({ "ProjectionType": work.projection });
        bed.update(update).unwrap();
        bed
    }

    /// In how many seconds the backfill works; `each` happens in each of them but the first, before it.
    fn seconds_of_backfill(&self, mut each: impl FnMut(u64)) -> u64 {
        let mut second = 1;
        loop {
            self.control
                .database
                .engine()
                .run_background_work()
                .unwrap();
            if self.status(0).0 == "ACTIVE" {
                self.run();
                return second;
            }
            second += 1;
            self.control.clock.advance_ms(1_000);
            each(second);
        }
    }

    fn usage_of_index(&self) -> CapacityUsage {
        let metrics = self
            .control
            .database
            .engine()
            .metrics(&[TableName::new("Tab").unwrap()])
            .unwrap();
        metrics.tables[0].sources[1].usage.total
    }
}

#[test]
fn m_22_m_25_a_backfill_takes_as_long_as_its_entries_cost_units() {
    let check = |work: Work, expected: u64| {
        let bed = Bed::throttled(work);
        assert_eq!(bed.seconds_of_backfill(|_| {}), expected);
        // M-20: only what qualifies is there.
        assert_eq!(
            bed.control.column("Tab/new", "pk").len(),
            work.items.div_ceil(work.qualifying)
        );
    };
    check(WORK, 40);
    check(Work { units: 10, ..WORK }, 20);
    check(Work { items: 400, ..WORK }, 80);
    check(
        Work {
            qualifying: 2,
            ..WORK
        },
        20,
    );
    check(
        Work {
            bytes: 1_500,
            ..WORK
        },
        80,
    );
    check(
        Work {
            bytes: 1_500,
            projection: "KEYS_ONLY",
            ..WORK
        },
        40,
    );
    check(Work { units: 200, ..WORK }, 1);
    // A live write in each second takes one of the five.
    let bed = Bed::throttled(WORK);
    assert_eq!(
        bed.seconds_of_backfill(|second| bed.put(&format!("live{second}"), json!({ "S": "x" }))),
        50
    );
    assert_eq!(bed.control.column("Tab/new", "pk").len(), 249);
}

#[test]
fn m_25_units_raised_for_the_backfill_and_lowered_after_it() {
    let bed = Bed::throttled(WORK);
    let set = |write: u64| {
        bed.update(
            json!({ "Update": { "IndexName": "new", "ProvisionedThroughput": units(write) } }),
        )
        .unwrap()
    };
    // 50 entries in ten seconds, 150 in ten more.
    let seconds = bed.seconds_of_backfill(|second| {
        if second == 10 {
            bed.run();
            set(15);
        }
    });
    assert_eq!(seconds, 20);
    set(1);
    assert_eq!(
        bed.index(0)["ProvisionedThroughput"]["WriteCapacityUnits"],
        1
    );
}

#[test]
fn m_29_a_backfill_and_live_writes_share_the_units_of_the_index() {
    let bed = Bed::throttled(Work {
        units: 1,
        items: 150,
        ..WORK
    });
    let live = |pk: &str, key: &str| {
        bed.control.call(
            "PutItem",
            json!({ "TableName": "Tab", "Item": { "pk": { "S": pk }, key: { "S": "x" } } }),
        )
    };
    bed.run();
    // The backfill took what there was: a write that changes the index waits for it, another one does not.
    assert!(
        live("refused", "a")
            .unwrap_err()
            .contains("under-provisioned global secondary indexes")
    );
    live("outside", "other").unwrap();
    // The other way round.
    bed.control.clock.advance_ms(1_000);
    live("first", "a").unwrap();
    bed.run();
    let found = bed.usage_of_index();
    assert_eq!(
        (found.online_write.sum, found.online_throttles),
        (1.0, 2),
        "of two seconds the first"
    );
    assert_eq!(
        (found.write.sum, found.write_throttles),
        (1.0, 1),
        "of live writes alone"
    );
    assert_eq!(bed.index(0)["ItemCount"], 2);
    let rendered = || {
        prometheus::render(
            &bed.control
                .database
                .engine()
                .metrics(&[TableName::new("Tab").unwrap()])
                .unwrap(),
        )
    };
    assert!(
        rendered().contains("ddbfs_online_index_throttle_events{table=\"Tab\",index=\"new\"} 2\n"),
        "{}",
        rendered()
    );
    bed.seconds_of_backfill(|_| {});
    assert_eq!(bed.usage_of_index().online_write.sum, 150.0);
    assert_eq!(bed.control.column("Tab/new", "pk").len(), 151);
}

#[test]
fn m_23_what_a_backfill_consumes_is_told_by_the_minute() {
    let bed = Bed::throttled(Work {
        units: 1,
        items: 150,
        ..WORK
    });
    // The clock begins 40 seconds before a minute ends.
    bed.seconds_of_backfill(|_| {});
    let found = bed
        .control
        .database
        .engine()
        .metrics(&[TableName::new("Tab").unwrap()])
        .unwrap();
    let lines = cloudwatch::render(&found.tables[0], found.now_ms);
    let points = |name: &str| -> Vec<f64> {
        let all = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|point| point["MetricName"] == name)
            .map(|point| point["Sum"].as_f64().unwrap())
            .collect()
    };
    assert_eq!(
        points("OnlineIndexConsumedWriteCapacity"),
        [40.0, 60.0, 50.0]
    );
    assert_eq!(points("OnlineIndexThrottleEvents"), [40.0, 60.0, 49.0]);
    assert_eq!(
        points("OnlineIndexPercentageProgress"),
        [26.0, 66.0, 100.0],
        "as it was at the end of each minute"
    );
    let over = prometheus::render(&found);
    for (name, value) in [
        ("percentage_progress", 100),
        ("consumed_write_capacity", 150),
    ] {
        assert!(
            over.contains(&format!(
                "ddbfs_online_index_{name}{{table=\"Tab\",index=\"new\"}} {value}\n"
            )),
            "{over}"
        );
    }
}

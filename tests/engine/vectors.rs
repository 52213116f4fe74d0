//! Vector indexes: searches against a search by hand, after generated writes; the life of an index; what stays out of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::damage::{COUNTERS, write_damage};
use crate::support::control::Control;
use ddbfs::codec::metrics::{capacity, prices};
use ddbfs::database::Database;
use ddbfs::engine::check::check;
use ddbfs::engine::test_hooks::{IndexHold, IndexStage};
use ddbfs::model::TableName;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// Not a multiple of the numbers that a search sums side by side.
const DIMENSIONS: usize = 19;
const CASES: u32 = 40;

fn held(change: impl FnOnce(&mut ddbfs::engine::EngineOptions)) -> (Control, Arc<IndexHold>) {
    let hold = Arc::new(IndexHold::default());
    let of_engine = Arc::clone(&hold);
    let control = Control::on(Arc::new(MemoryStore::new().unwrap()), |options| {
        options.background_period = None;
        options.index_hold = of_engine;
        change(options);
    });
    (control, hold)
}

fn run(control: &Control) {
    control.database.engine().run_background_work().unwrap();
}

fn assert_clean(control: &Control) {
    let report = check(control.database.engine()).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

fn index(name: &str, distance: &str, with_schema: bool) -> Value {
    let mut index = json!({ "IndexName": name, "VectorAttribute": { "AttributeName": "v" },
        "Dimensions": DIMENSIONS, "DistanceFunction": distance, "Projection": { "ProjectionType": "KEYS_ONLY" } });
    if with_schema {
        index["SearchSchema"] = json!([
            { "AttributeName": "f", "SearchSchemaElementType": "INLINE_FILTER" },
            { "AttributeName": "h", "SearchSchemaElementType": "HASH" },
        ]);
    }
    index
}

fn attributes() -> Value {
    json!([{ "AttributeName": "pk", "AttributeType": "S" }, { "AttributeName": "h", "AttributeType": "S" },
        { "AttributeName": "f", "AttributeType": "N" }])
}

fn create(control: &Control, indexes: &[Value]) {
    let mut attributes = attributes();
    if indexes.iter().all(|index| index["SearchSchema"].is_null()) {
        attributes.as_array_mut().unwrap().truncate(1);
    }
    control.ok(
        "CreateTable",
        json!({ "TableName": "Tab", "AttributeDefinitions": attributes, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }], "VectorIndexes": indexes }),
    );
}

fn vector(seed: u64) -> Vec<f64> {
    let element = |at: u64| {
        let mixed = (seed + 1).wrapping_mul(0x9E37_79B9).wrapping_add(at * 7919) % 2003;
        f64::from((mixed as f64 / 1000.0 - 1.0) as f32)
    };
    (0..DIMENSIONS as u64).map(element).collect()
}

fn list(vector: &[f64]) -> Value {
    let number = |element: &f64| json!({ "N": (*element as f32).to_string() });
    vector.iter().map(number).collect()
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Stored {
    vector: Option<u64>,
    hash: Option<u8>,
    filter: Option<u8>,
}

impl Stored {
    fn item(&self, key: u8) -> Value {
        let mut item = json!({ "pk": { "S": key.to_string() } });
        if let Some(seed) = self.vector {
            item["v"] = json!({ "L": list(&vector(seed)) });
        }
        if let Some(hash) = self.hash {
            item["h"] = json!({ "S": format!("h{hash}") });
        }
        if let Some(filter) = self.filter {
            item["f"] = json!({ "N": filter.to_string() });
        }
        item
    }
}

fn score(distance: &str, a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match distance {
        "DOT_PRODUCT" => dot(a, b),
        "EUCLIDEAN" => a
            .iter()
            .zip(b)
            .map(|(a, b)| (a - b) * (a - b))
            .sum::<f64>()
            .sqrt(),
        _ => 1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt(),
    }
}

/// Returns the keys and scores of a search; it must be in order.
fn found(control: &Control, name: &str, distance: &str, more: &Value) -> BTreeMap<String, f64> {
    let mut body = json!({ "TableName": "Tab", "IndexName": name, "SearchVector": list(&vector(3)), "TopK": 100 });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let answer = control.ok("SearchVectors", body);
    let results = answer["SearchResults"].as_array().unwrap();
    let scores: Vec<f64> = results
        .iter()
        .map(|result| result["Score"].as_f64().unwrap())
        .collect();
    let is_sorted = match distance {
        "DOT_PRODUCT" => scores.is_sorted_by(|a, b| a >= b),
        _ => scores.is_sorted(),
    };
    assert!(is_sorted, "{name}: {scores:?}");
    let key = |result: &Value| result["Item"]["pk"]["S"].as_str().unwrap().to_owned();
    results.iter().map(key).zip(scores).collect()
}

fn check_searches(control: &Control, items: &BTreeMap<u8, Stored>) {
    let by_hand = |distance: &str, kept: &dyn Fn(&Stored) -> bool| -> BTreeMap<String, f64> {
        let kept = items.iter().filter(|(_, stored)| kept(stored));
        kept.filter_map(|(key, stored)| {
            Some((
                key.to_string(),
                score(distance, &vector(3), &vector(stored.vector?)),
            ))
        })
        .collect()
    };
    let same = |found: &BTreeMap<String, f64>, expected: &BTreeMap<String, f64>, what: &str| {
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{what}"
        );
        for (key, score) in found {
            assert!(
                (score - expected[key]).abs() < 1e-5,
                "{what} {key}: {score} {}",
                expected[key]
            );
        }
    };
    for distance in ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"] {
        let all = found(control, distance, distance, &json!({}));
        same(&all, &by_hand(distance, &|_| true), distance);
    }
    for hash in 0..2 {
        let more = json!({ "SearchConditionExpression": "h = :h",
            "ExpressionAttributeValues": { ":h": { "S": format!("h{hash}") } } });
        let of_hash = found(control, "schema", "COSINE", &more);
        same(
            &of_hash,
            &by_hand("COSINE", &|stored| stored.hash == Some(hash)),
            "a hash",
        );
        let more = json!({ "SearchConditionExpression": "h = :h AND f = :f",
            "ExpressionAttributeValues": { ":h": { "S": format!("h{hash}") }, ":f": { "N": "1" } } });
        let filtered = found(control, "schema", "COSINE", &more);
        let kept = |stored: &Stored| stored.hash == Some(hash) && stored.filter == Some(1);
        same(&filtered, &by_hand("COSINE", &kept), "a filter");
    }
}

#[derive(Debug, Clone)]
enum Op {
    Put(u8, Stored),
    Delete(u8),
    SetVector(u8, u64),
    RemoveHash(u8),
    Batch(u8, u8, u64),
    Transaction(u8, u8, u64),
    Statement(u8, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let stored = (
        prop::option::of(0..9_u64),
        prop::option::of(0..2_u8),
        prop::option::of(0..2_u8),
    )
        .prop_map(|(vector, hash, filter)| Stored {
            vector,
            hash,
            filter,
        });
    let key = 0..8_u8;
    prop_oneof![
        6 => (key.clone(), stored).prop_map(|(key, stored)| Op::Put(key, stored)),
        2 => key.clone().prop_map(Op::Delete),
        2 => (key.clone(), 0..9_u64).prop_map(|(key, seed)| Op::SetVector(key, seed)),
        1 => key.clone().prop_map(Op::RemoveHash),
        1 => (0..4_u8, 4..8_u8, 0..9_u64).prop_map(|(a, b, seed)| Op::Batch(a, b, seed)),
        1 => (0..4_u8, 4..8_u8, 0..9_u64).prop_map(|(a, b, seed)| Op::Transaction(a, b, seed)),
        1 => (key, 0..9_u64).prop_map(|(key, seed)| Op::Statement(key, seed)),
    ]
}

fn apply(control: &Control, items: &mut BTreeMap<u8, Stored>, op: &Op) {
    let key = |key: u8| json!({ "pk": { "S": key.to_string() } });
    let update = |at: u8, text: &str, value: Value| {
        let mut body = json!({ "TableName": "Tab", "Key": key(at), "UpdateExpression": text });
        if !value.is_null() {
            body["ExpressionAttributeValues"] = json!({ ":v": value });
        }
        control.ok("UpdateItem", body);
    };
    match op {
        Op::Put(at, stored) => {
            control.put("Tab", stored.item(*at));
            items.insert(*at, stored.clone());
        }
        Op::Delete(at) => {
            control.ok("DeleteItem", json!({ "TableName": "Tab", "Key": key(*at) }));
            items.remove(at);
        }
        Op::SetVector(at, seed) => {
            update(*at, "SET v = :v", json!({ "L": list(&vector(*seed)) }));
            items.entry(*at).or_default().vector = Some(*seed);
        }
        Op::RemoveHash(at) => {
            update(*at, "REMOVE h", Value::Null);
            if let Some(stored) = items.get_mut(at) {
                stored.hash = None;
            }
        }
        Op::Batch(put, deleted, seed) => {
            let stored = Stored {
                vector: Some(*seed),
                hash: Some(1),
                filter: None,
            };
            control.ok("BatchWriteItem", json!({ "RequestItems": { "Tab": [
                { "PutRequest": { "Item": stored.item(*put) } }, { "DeleteRequest": { "Key": key(*deleted) } }] } }));
            items.insert(*put, stored);
            items.remove(deleted);
        }
        Op::Transaction(put, deleted, seed) => {
            let stored = Stored {
                vector: Some(*seed),
                hash: Some(0),
                filter: Some(1),
            };
            control.ok(
                "TransactWriteItems",
                json!({ "TransactItems": [
                { "Put": { "TableName": "Tab", "Item": stored.item(*put) } },
                { "Delete": { "TableName": "Tab", "Key": key(*deleted) } }] }),
            );
            items.insert(*put, stored);
            items.remove(deleted);
        }
        Op::Statement(at, seed) if items.contains_key(at) => {
            control.ok(
                "ExecuteStatement",
                json!({ "Statement": format!("UPDATE \"Tab\" SET v = ? WHERE pk = '{at}'"),
                "Parameters": [{ "L": list(&vector(*seed)) }] }),
            );
            items.entry(*at).or_default().vector = Some(*seed);
        }
        Op::Statement(..) => {}
    }
}

fn all_indexes() -> Vec<Value> {
    let mut all: Vec<Value> = ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"]
        .iter()
        .map(|distance| index(distance, distance, false))
        .collect();
    all.push(index("schema", "COSINE", true));
    all
}

#[test]
fn searches_find_what_a_search_by_hand_finds() {
    let strategy = prop::collection::vec(op(), 1..40);
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&strategy, |ops| {
            let control = Control::new();
            create(&control, &all_indexes());
            let mut items = BTreeMap::new();
            for op in &ops {
                apply(&control, &mut items, op);
            }
            check_searches(&control, &items);
            assert_clean(&control);
            Ok(())
        })
        .unwrap();
}

/// Indexes made by UpdateTable, one after the other, between the steps of whose backfill items are written.
#[test]
fn an_index_of_an_existing_table_holds_the_same() {
    let strategy = (
        prop::collection::vec(op(), 1..20),
        prop::collection::vec(op(), 1..20),
    );
    let config = Config {
        cases: CASES / 2,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&strategy, |(before, during)| {
            let (control, hold) = held(|options| options.index_step_items = 2);
            create(&control, &all_indexes()[..1]);
            let mut items = BTreeMap::new();
            before.iter().for_each(|op| apply(&control, &mut items, op));
            for index in &all_indexes()[1..] {
                hold.hold_after(IndexStage::Backfill, 1);
                control.ok(
                    "UpdateTable",
                    json!({ "TableName": "Tab", "AttributeDefinitions": attributes(),
                    "VectorIndexUpdates": [{ "Create": index }] }),
                );
                run(&control);
                during.iter().for_each(|op| apply(&control, &mut items, op));
                assert_clean(&control);
                hold.release(IndexStage::Backfill);
                run(&control);
            }
            check_searches(&control, &items);
            assert_clean(&control);
            Ok(())
        })
        .unwrap();
}

fn states(control: &Control) -> (String, Vec<(String, String, Value)>) {
    let table = control.describe("Tab");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let indexes = table["VectorIndexes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let state = |index: &Value| {
        (
            text(&index["IndexName"]),
            text(&index["IndexStatus"]),
            index["Backfilling"].clone(),
        )
    };
    (
        text(&table["TableStatus"]),
        indexes.iter().map(state).collect(),
    )
}

#[test]
fn the_life_of_an_index() {
    let (control, hold) = held(|_| {});
    control.simple("Tab");
    for at in 0..3 {
        control.put(
            "Tab",
            Stored {
                vector: Some(at),
                ..Stored::default()
            }
            .item(at as u8),
        );
    }
    // Values that a write would be refused for.
    control.put(
        "Tab",
        json!({ "pk": { "S": "bad" }, "v": { "L": [{ "N": "1" }] } }),
    );
    control.put("Tab", json!({ "pk": { "S": "worse" }, "v": { "S": "x" } }));
    control.put("Tab", json!({ "pk": { "S": "none" } }));
    hold.hold(IndexStage::Allocation);
    hold.hold(IndexStage::Backfill);
    let creation = json!({ "TableName": "Tab", "VectorIndexUpdates": [{ "Create": index("vix", "COSINE", false) }] });
    let deletion =
        json!({ "TableName": "Tab", "VectorIndexUpdates": [{ "Delete": { "IndexName": "vix" } }] });
    let search = json!({ "TableName": "Tab", "IndexName": "vix", "SearchVector": list(&vector(1)), "TopK": 9 });
    control.ok("UpdateTable", creation.clone());
    run(&control);
    let one =
        |status: &str, backfilling: Value| vec![("vix".to_owned(), status.to_owned(), backfilling)];
    assert_eq!(
        states(&control),
        ("UPDATING".to_owned(), one("CREATING", json!(false)))
    );
    control.fails(
        "SearchVectors",
        search.clone(),
        "The table does not have the specified index: vix",
    );
    let in_use = "Attempt to change a resource which is still in use: ";
    control.fails(
        "UpdateTable",
        creation,
        &format!("{in_use}Index is being created.  Table: Tab Index: vix"),
    );
    control.fails("UpdateTable", deletion.clone(), &format!("{in_use}Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is active. Table: Tab Index: vix"));
    let second = json!({ "TableName": "Tab", "VectorIndexUpdates": [{ "Create": index("second", "COSINE", false) }] });
    control.fails("UpdateTable", second, "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table");
    control.fails(
        "DeleteTable",
        json!({ "TableName": "Tab" }),
        &format!(
            "{in_use}Cannot delete table while indexes are being created, updated, or deleted."
        ),
    );
    hold.release(IndexStage::Allocation);
    run(&control);
    assert_eq!(
        states(&control),
        ("ACTIVE".to_owned(), one("CREATING", json!(true)))
    );
    control.fails(
        "SearchVectors",
        search.clone(),
        "Cannot search backfilling vector index: vix",
    );
    hold.release(IndexStage::Backfill);
    run(&control);
    assert_eq!(
        states(&control),
        ("ACTIVE".to_owned(), one("ACTIVE", Value::Null))
    );
    assert_eq!(
        control.ok("SearchVectors", search.clone())["SearchResults"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let described = control
        .database
        .engine()
        .describe(&TableName::new("Tab").unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(
        (
            described.indexes[0].violations,
            described.indexes[0].item_count
        ),
        (2, 3)
    );
    assert_clean(&control);
    // A bad item keeps its bad value while another attribute changes.
    control.ok("UpdateItem", json!({ "TableName": "Tab", "Key": { "pk": { "S": "bad" } }, "UpdateExpression": "SET n = :n",
        "ExpressionAttributeValues": { ":n": { "N": "1" } } }));
    control.put(
        "Tab",
        Stored {
            vector: Some(1),
            ..Stored::default()
        }
        .item(9),
    );
    assert_clean(&control);
    control.ok("UpdateTable", deletion);
    assert_eq!(
        states(&control),
        ("UPDATING".to_owned(), one("DELETING", Value::Null))
    );
    run(&control);
    assert_eq!(states(&control), ("ACTIVE".to_owned(), Vec::new()));
    control.fails(
        "SearchVectors",
        search,
        "The table does not have the specified index: vix",
    );
    assert_clean(&control);
}

/// Vectors of the largest size are stored on disk in pages of their own, and found after the store was opened again.
#[test]
fn large_vectors_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Arc::new(LmdbStore::open(dir.path(), LmdbOptions::default()).unwrap());
    let numbers = |at: usize| -> Value {
        (0..4096)
            .map(|n| json!({ "N": if n % 7 == at { "1" } else { "0.5" } }))
            .collect()
    };
    let control = Control::on(open(), |_| {});
    let index = json!({ "IndexName": "vix", "VectorAttribute": { "AttributeName": "v" }, "Dimensions": 4096,
        "DistanceFunction": "EUCLIDEAN", "Projection": { "ProjectionType": "ALL" } });
    create_plain(&control, index);
    for at in 0..5 {
        control.put(
            "Tab",
            json!({ "pk": { "S": at.to_string() }, "v": { "L": numbers(at) } }),
        );
    }
    control.database.engine().close();
    drop(control);
    let control = Control::on(open(), |_| {});
    let search =
        json!({ "TableName": "Tab", "IndexName": "vix", "SearchVector": numbers(3), "TopK": 1 });
    let answer = control.ok("SearchVectors", search);
    assert_eq!(
        answer["SearchResults"],
        json!([{ "Item": { "pk": { "S": "3" } }, "Score": 0.0 }])
    );
    assert_clean(&control);
}

fn create_plain(control: &Control, index: Value) {
    control.ok(
        "CreateTable",
        json!({ "TableName": "Tab", "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            "VectorIndexes": [index] }),
    );
}

/// Bytes of searches and writes have prices of their own, in a month and all together.
#[test]
fn bytes_of_vectors_cost_money() {
    let control = Control::new();
    let index = json!({ "IndexName": "vix", "VectorAttribute": { "AttributeName": "v" }, "Dimensions": 1,
        "DistanceFunction": "COSINE", "Projection": { "ProjectionType": "ALL" } });
    create_plain(&control, index);
    for key in ["a", "b", "b"] {
        control.put(
            "Tab",
            json!({ "pk": { "S": key }, "v": { "L": [{ "N": "1" }] } }),
        );
    }
    let search = json!({ "TableName": "Tab", "IndexName": "vix", "SearchVector": [{ "N": "1" }], "TopK": 1 });
    control.ok("SearchVectors", search);
    control.clock.advance_ms(60_000);
    // A request of 1,024 bytes costs 7 or 5; nothing else costs.
    let kilobytes = 1024.0 * 1024.0;
    let prices = ddbfs::model::prices::PriceTable {
        million_reads: 0.0,
        million_writes: 0.0,
        gigabyte_month: 0.0,
        vector_search_gigabyte: 7.0 * kilobytes,
        vector_write_gigabyte: 5.0 * kilobytes,
        ..prices::built_in()
    };
    let tables = [TableName::new("Tab").unwrap()];
    let metrics = control.database.layout().unwrap().metrics(&tables).unwrap();
    let of_table = capacity::render(&metrics, &metrics.tables[0], &prices);
    assert_eq!(of_table["sources"][1]["vectors_last_day"]["cost"], 17.0);
    // 730 hours of such minutes.
    assert_eq!(
        of_table["month"]["at_the_rate_since_start"],
        json!({ "storage": 0.0, "reads": 306_600.0, "writes": 438_000.0, "total": 744_600.0 })
    );
    let of_all = capacity::render_all(&metrics, None, &prices);
    assert_eq!(of_all["cost_on_demand"], 17.0);
}

/// TableSizeBytes counts a vector by its dimensions while an index has it. An index whose entries an earlier program counted is no
/// difference, and saves nothing.
#[test]
fn a_table_is_as_large_as_its_vectors() {
    let store = Arc::new(MemoryStore::new().unwrap());
    let control = Control::on(store.clone(), |options| options.background_period = None);
    let index = json!({ "IndexName": "vix", "VectorAttribute": { "AttributeName": "v" }, "Dimensions": 2,
        "DistanceFunction": "COSINE", "Projection": { "ProjectionType": "KEYS_ONLY" } });
    create_plain(&control, index.clone());
    let put = |numbers: [&str; 2]| {
        let list = numbers.map(|number| json!({ "N": number }));
        control.put("Tab", json!({ "pk": { "S": "a" }, "v": { "L": list } }));
    };
    let check_size = |bytes: u64| {
        assert_clean(&control);
        assert_eq!(control.describe("Tab")["TableSizeBytes"], bytes);
    };
    // 100 for the item, 3 for the key, 1 for the name; 8 for the vector or 3 + 2 * (1 + 20) for the list.
    let (as_vector, as_list) = (112, 149);
    let wide = "12345678901234567890123456789012345678";
    put([wide, wide]);
    check_size(as_vector);
    put(["1", "2"]);
    check_size(as_vector);
    put([wide, wide]);
    write_damage(&*store, COUNTERS, |entries| {
        entries.iter_mut().for_each(|(_, value)| value.truncate(24));
    });
    check_size(as_list);
    let delete = || {
        control.ok(
            "DeleteItem",
            json!({ "TableName": "Tab", "Key": { "pk": { "S": "a" } } }),
        )
    };
    delete();
    check_size(0);
    put([wide, wide]);
    check_size(as_vector);
    write_damage(&*store, COUNTERS, |entries| {
        entries.iter_mut().for_each(|(_, value)| {
            if let Some(last) = value.get_mut(31) {
                *last += 1;
            }
        });
    });
    let report = check(control.database.engine()).unwrap();
    assert_eq!(report.differences.len(), 1, "{report:#?}");
    delete();
    put([wide, wide]);
    let drop =
        json!({ "TableName": "Tab", "VectorIndexUpdates": [{ "Delete": { "IndexName": "vix" } }] });
    control.ok("UpdateTable", drop);
    run(&control);
    check_size(as_list);
    let make = json!({ "TableName": "Tab", "VectorIndexUpdates": [{ "Create": index }] });
    control.ok("UpdateTable", make);
    run(&control);
    check_size(as_vector);
}

//! The rules of REQUIREMENTS on capacity, metrics, partitions and throttling, one test for each; names carry the ids.

#![allow(clippy::unwrap_used, clippy::panic)]

mod engine_support;

use std::sync::Arc;

use ddbfs::codec::metrics::{capacity, points, prices, prometheus};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::Item;
use ddbfs::model::api::*;
use ddbfs::model::layout::{Metrics, TableMetrics};
use ddbfs::model::schema::{BillingMode, ProvisionedThroughput};
use engine_support::*;
use serde_json::{Value, json};

/// A database with a clock to turn and the table `Tab`.
struct Bed {
    database: LocalDatabase,
    clock: Arc<ManualClock>,
}

impl Bed {
    fn new(key: &str, indexes: &[&str]) -> Self {
        Self::with(definition("Tab", key, indexes), |options| options)
    }

    fn with(table: CreateTableRequest, change: impl Fn(EngineOptions) -> EngineOptions) -> Self {
        let clock = Arc::new(ManualClock::at(NOW_MS));
        let options = EngineOptions { clock: Arc::clone(&clock) as Arc<_>, ..options() };
        let database = database_with(change(options));
        database.create_table(table).unwrap();
        Self { database, clock }
    }

    fn metrics(&self) -> Metrics {
        self.database.layout().unwrap().metrics(&[table("Tab"), table("Absent")]).unwrap()
    }

    fn table_metrics(&self) -> TableMetrics {
        self.metrics().tables.remove(0)
    }

    /// Consumed read and write units of the table's base (`""`) or an index.
    fn consumed(&self, index: &str) -> (f64, f64) {
        let metrics = self.table_metrics();
        let name = |source: &&ddbfs::model::layout::SourceMetrics| source.index.as_ref().map_or("", |name| name.as_str()) == index;
        let source = metrics.sources.iter().find(name).unwrap();
        (source.usage.total.read.sum, source.usage.total.write.sum)
    }
}

fn provisioned(mut request: CreateTableRequest, read: u64, write: u64) -> CreateTableRequest {
    let throughput = ProvisionedThroughput { read_capacity_units: read, write_capacity_units: write };
    request.billing_mode = Some(BillingMode::Provisioned);
    request.throughput = Some(throughput);
    request.global_indexes.iter_mut().flatten().for_each(|index| index.throughput = Some(throughput));
    request
}

fn item(pk: &str, sk: &str, bytes: usize) -> Item {
    Item::from([("pk", s(pk)), ("sk", n(sk)), ("a", s("A")), ("b", n(sk)), ("fill", x(bytes))])
}

// S-03: metrics.

#[test]
fn s_03_consumed_capacity_is_summed_by_table_and_index() {
    let bed = Bed::new("pk:S sk:N", &["G byA a:S ALL", "L byB b:N KEYS_ONLY"]);
    let database = &bed.database;
    // Table 3, global index 3, local index 1.
    put(database, "Tab", item("p", "1", 2_500)).unwrap();
    assert_eq!((bed.consumed(""), bed.consumed("byA"), bed.consumed("byB")), ((0.0, 3.0), (0.0, 3.0), (0.0, 1.0)));
    // The same again costs the table alone.
    put(database, "Tab", item("p", "1", 2_500)).unwrap();
    assert_eq!((bed.consumed(""), bed.consumed("byA")), ((0.0, 6.0), (0.0, 3.0)));
    // A failed condition costs a write of the item that is there.
    let condition = ConditionParameter::Expression("attribute_not_exists(pk)".into());
    let refused = database.put_item(PutItemRequest { condition, ..PutItemRequest::new(table("Tab"), item("p", "1", 0)) });
    assert_eq!(refused, Err(ddbfs::model::Error::ConditionalCheckFailed { item: None }));
    assert_eq!(bed.consumed(""), (0.0, 9.0));
    // Reads: 0.5, then 1 for the index, then 0.5 for a page of nothing.
    get(database, "Tab", Item::from([("pk", s("p")), ("sk", n("1"))]));
    database.query(&query_request("Tab/byA", "a = :a", &[(":a", s("A"))])).unwrap();
    database.query(&query_request("Tab", "pk = :a", &[(":a", s("none"))])).unwrap();
    database.scan(&scan_request("Tab/byB")).unwrap();
    assert_eq!((bed.consumed(""), bed.consumed("byA"), bed.consumed("byB")), ((1.0, 9.0), (0.5, 3.0), (0.5, 1.0)));
    // A transaction counts the table twice, each index once.
    let write = TransactWrite::new(table("Tab"), TransactAction::Put { item: item("q", "1", 0) });
    let transact_items = vec![write];
    let (client_request_token, return_consumed_capacity) = (None, ReturnConsumedCapacity::None);
    let request = TransactWriteItemsRequest {
        transact_items,
        client_request_token,
        return_consumed_capacity,
        return_item_collection_metrics: false,
    };
    database.transact_write_items(request).unwrap();
    assert_eq!((bed.consumed("").1, bed.consumed("byA").1, bed.consumed("byB").1), (11.0, 4.0, 2.0));
}

#[test]
fn s_03_points_by_minute_have_the_service_s_names() {
    let bed = Bed::with(provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 5, 7), |options| options);
    put(&bed.database, "Tab", item("p", "1", 0)).unwrap();
    bed.clock.advance_ms(60_000);
    put(&bed.database, "Tab", item("p", "2", 1_024)).unwrap();
    let condition = ConditionParameter::Expression("attribute_not_exists(pk)".into());
    let failing = PutItemRequest { condition, ..PutItemRequest::new(table("Tab"), item("p", "2", 0)) };
    bed.database.put_item(failing).unwrap_err();
    bed.database.scan(&scan_request("Tab")).unwrap();
    bed.database.get_item(GetItemRequest::new(table("Tab"), Item::default())).unwrap_err();

    let metrics = bed.metrics();
    assert_eq!((metrics.user_errors, metrics.tables.len()), (1, 1));
    let text = points::render(&metrics.tables[0], metrics.now_ms);
    let points: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = |minute: &str, metric: &str, dimension: Option<(&str, &str)>| {
        let mut dimensions = json!({ "TableName": "Tab" });
        if let Some((name, value)) = dimension {
            dimensions[name] = json!(value);
        }
        let is = |point: &&Value| {
            point["Timestamp"].as_str().unwrap().contains(minute)
                && point["MetricName"] == metric
                && point["Dimensions"] == dimensions
        };
        points.iter().find(is).map(|point| (point["Sum"].as_f64().unwrap(), point["SampleCount"].as_u64().unwrap()))
    };
    let index = Some(("GlobalSecondaryIndexName", "byA"));
    for (minute, metric, dimension, expected) in [
        ("22:13:00", "ConsumedWriteCapacityUnits", None, Some((1.0, 1))),
        ("22:13:00", "ConsumedWriteCapacityUnits", index, Some((1.0, 1))),
        ("22:13:00", "ConsumedReadCapacityUnits", None, None),
        // The put of two units, and the failed condition of two.
        ("22:14:00", "ConsumedWriteCapacityUnits", None, Some((4.0, 2))),
        ("22:14:00", "ConsumedReadCapacityUnits", None, Some((0.5, 1))),
        ("22:14:00", "ConditionalCheckFailedRequests", None, Some((1.0, 1))),
        ("22:14:00", "ReturnedItemCount", Some(("Operation", "Scan")), Some((2.0, 1))),
        ("22:14:00", "ProvisionedWriteCapacityUnits", index, Some((7.0, 1))),
        ("22:14:00", "ProvisionedReadCapacityUnits", None, Some((5.0, 1))),
    ] {
        assert_eq!(found(minute, metric, dimension), expected, "{minute} {metric} in\n{text}");
    }
    // One put of each minute succeeded.
    for minute in ["22:13:00", "22:14:00"] {
        assert_eq!(found(minute, "SuccessfulRequestLatency", Some(("Operation", "PutItem"))).unwrap().1, 1);
    }
}

#[test]
fn s_03_expired_items_are_counted_and_cost_nothing() {
    let bed = Bed::new("pk:S", &[]);
    let request = UpdateTimeToLiveRequest {
        table_name: table("Tab"),
        specification: TimeToLiveSpecification { enabled: true, attribute_name: "end".into() },
    };
    bed.database.update_time_to_live(request).unwrap();
    let end = n(&(NOW_MS / 1000 + 60).to_string());
    put(&bed.database, "Tab", Item::from([("pk", s("p")), ("end", end)])).unwrap();
    bed.clock.advance_ms(120_000);
    bed.database.engine().run_background_work().unwrap();
    assert_eq!(get(&bed.database, "Tab", Item::from([("pk", s("p"))])), None);
    assert_eq!(bed.table_metrics().counts.total.time_to_live_deleted, 1);
    assert_eq!(bed.consumed("").1, 1.0);
}

#[test]
fn s_03_metrics_in_the_form_of_prometheus() {
    let bed = Bed::with(provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 5, 7), |options| options);
    put(&bed.database, "Tab", item("p", "1", 0)).unwrap();
    let text = prometheus::render(&bed.metrics());
    for line in [
        "# TYPE ddbfs_consumed_write_capacity_units_total counter",
        "ddbfs_consumed_write_capacity_units_total{table=\"Tab\"} 1",
        "ddbfs_consumed_write_capacity_units_total{table=\"Tab\",index=\"byA\"} 1",
        "ddbfs_provisioned_read_capacity_units{table=\"Tab\"} 5",
        "ddbfs_successful_request_latency_seconds_count{table=\"Tab\",operation=\"PutItem\"} 1",
        "ddbfs_items{table=\"Tab\"} 1",
        "ddbfs_user_errors_total 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
    }
    // Each metric has its type before its values, and once.
    let types: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let mut names: Vec<&str> = types.iter().map(|line| line.split(' ').next().unwrap()).collect();
    names.dedup();
    assert_eq!(names.len(), types.len());
}

// S-10: money.

#[test]
fn s_10_a_price_table_turns_capacity_into_money() {
    let mut table_prices = prices::built_in();
    (table_prices.million_writes, table_prices.million_reads, table_prices.gigabyte_month) = (1.0, 0.5, 0.0);
    (table_prices.read_hour, table_prices.write_hour) = (0.001, 0.01);
    // 60 writes and 60 half reads in the minute since the start: one write and half a read a second.
    let on_demand = Bed::new("pk:S sk:N", &[]);
    for n in 0..60 {
        put(&on_demand.database, "Tab", item("p", &n.to_string(), 0)).unwrap();
        get(&on_demand.database, "Tab", Item::from([("pk", s("p")), ("sk", engine_support::n(&n.to_string()))]));
    }
    on_demand.clock.advance_ms(59_000);
    let month = |bed: &Bed| {
        let metrics = bed.metrics();
        capacity::render(&metrics, &metrics.tables[0], &table_prices)["month"]["at_the_rate_since_start"].clone()
    };
    // 2,628,000 seconds a month.
    assert_eq!(month(&on_demand), json!({ "storage": 0.0, "reads": 0.657, "writes": 2.628, "total": 3.285 }));
    // Provisioned units cost the same whether used or not: table and index each 10 reads and 10 writes for 730 hours.
    let given = Bed::with(provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 10, 10), |options| options);
    assert_eq!(month(&given), json!({ "storage": 0.0, "reads": 14.6, "writes": 146.0, "total": 160.6 }));
}

//! The rules of docs/requirements.md on capacity, metrics, partitions and throttling, one test for each; names carry the ids.

use std::sync::Arc;

use crate::support::engine;
use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::codec::metrics::{capacity, cloudwatch, prices, prometheus};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::model::api::*;
use ddbfs::model::metrics::{
    CapacityUsage, PartitionContent, PartitionLimits, PartitionOrigin, Period, SplitCandidate,
};
use ddbfs::model::schema::ProvisionedThroughput;
use ddbfs::model::{AttributeValue, Item};
use ddbfs::protocol;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use serde_json::{Value, json};

// S-03: metrics.

#[test]
fn s_03_consumed_capacity_is_summed_by_table_and_index() {
    let bed = Bed::new("pk:S sk:N", &["G byA a:S ALL", "L byB b:N KEYS_ONLY"]);
    let database = &bed.database;
    // Table 3, global index 3, local index 1.
    put(database, "Tab", item("p", "1", 2_500)).unwrap();
    assert_eq!(
        (bed.consumed(""), bed.consumed("byA"), bed.consumed("byB")),
        ((0.0, 3.0), (0.0, 3.0), (0.0, 1.0))
    );
    // The same again costs the table alone.
    put(database, "Tab", item("p", "1", 2_500)).unwrap();
    assert_eq!(
        (bed.consumed(""), bed.consumed("byA")),
        ((0.0, 6.0), (0.0, 3.0))
    );
    // A failed condition costs a write of the item that is there.
    let condition = ConditionParameter::Expression("attribute_not_exists(pk)".into());
    let refused = database.put_item(PutItemRequest {
        condition,
        ..PutItemRequest::new(table("Tab"), item("p", "1", 0))
    });
    assert_eq!(
        refused,
        Err(ddbfs::model::Error::ConditionalCheckFailed { item: None })
    );
    assert_eq!(bed.consumed(""), (0.0, 9.0));
    // Reads: 0.5, then 1 for the index, then 0.5 for a page of nothing.
    get(
        database,
        "Tab",
        Item::from([("pk", s("p")), ("sk", n("1"))]),
    );
    database
        .query(&query_request("Tab/byA", "a = :a", &[(":a", s("A"))]))
        .unwrap();
    database
        .query(&query_request("Tab", "pk = :a", &[(":a", s("none"))]))
        .unwrap();
    database.scan(&scan_request("Tab/byB")).unwrap();
    assert_eq!(
        (bed.consumed(""), bed.consumed("byA"), bed.consumed("byB")),
        ((1.0, 9.0), (0.5, 3.0), (0.5, 1.0))
    );
    // A transaction counts the table twice, each index once.
    let write = TransactWrite::new(
        table("Tab"),
        TransactAction::Put {
            item: item("q", "1", 0),
        },
    );
    let transact_items = vec![write];
    let (client_request_token, return_consumed_capacity) = (None, ReturnConsumedCapacity::None);
    let request = TransactWriteItemsRequest {
        transact_items,
        fault: None,
        client_request_token,
        return_consumed_capacity,
        return_item_collection_metrics: false,
    };
    database.transact_write_items(request).unwrap();
    assert_eq!(
        (
            bed.consumed("").1,
            bed.consumed("byA").1,
            bed.consumed("byB").1
        ),
        (11.0, 4.0, 2.0)
    );
}

#[test]
fn s_03_points_by_minute_have_the_service_s_names() {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 5, 7),
        |options| options,
    );
    put(&bed.database, "Tab", item("p", "1", 0)).unwrap();
    bed.clock.advance_ms(60_000);
    put(&bed.database, "Tab", item("p", "2", 1_024)).unwrap();
    let condition = ConditionParameter::Expression("attribute_not_exists(pk)".into());
    let failing = PutItemRequest {
        condition,
        ..PutItemRequest::new(table("Tab"), item("p", "2", 0))
    };
    bed.database.put_item(failing).unwrap_err();
    bed.database.scan(&scan_request("Tab")).unwrap();
    bed.database
        .get_item(GetItemRequest::new(table("Tab"), Item::default()))
        .unwrap_err();

    let metrics = bed.metrics();
    assert_eq!((metrics.user_errors, metrics.tables.len()), (1, 1));
    let text = cloudwatch::render(&metrics.tables[0], metrics.now_ms);
    let points: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
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
        points.iter().find(is).map(|point| {
            (
                point["Sum"].as_f64().unwrap(),
                point["SampleCount"].as_u64().unwrap(),
            )
        })
    };
    let index = Some(("GlobalSecondaryIndexName", "byA"));
    for (minute, metric, dimension, expected) in [
        (
            "22:13:00",
            "ConsumedWriteCapacityUnits",
            None,
            Some((1.0, 1)),
        ),
        (
            "22:13:00",
            "ConsumedWriteCapacityUnits",
            index,
            Some((1.0, 1)),
        ),
        ("22:13:00", "ConsumedReadCapacityUnits", None, None),
        // The put of two units, and the failed condition of two.
        (
            "22:14:00",
            "ConsumedWriteCapacityUnits",
            None,
            Some((4.0, 2)),
        ),
        (
            "22:14:00",
            "ConsumedReadCapacityUnits",
            None,
            Some((0.5, 1)),
        ),
        (
            "22:14:00",
            "ConditionalCheckFailedRequests",
            None,
            Some((1.0, 1)),
        ),
        (
            "22:14:00",
            "ReturnedItemCount",
            Some(("Operation", "Scan")),
            Some((2.0, 1)),
        ),
        (
            "22:14:00",
            "ProvisionedWriteCapacityUnits",
            index,
            Some((7.0, 1)),
        ),
        (
            "22:14:00",
            "ProvisionedReadCapacityUnits",
            None,
            Some((5.0, 1)),
        ),
    ] {
        assert_eq!(
            found(minute, metric, dimension),
            expected,
            "{minute} {metric} in\n{text}"
        );
    }
    // One put of each minute succeeded.
    for minute in ["22:13:00", "22:14:00"] {
        assert_eq!(
            found(
                minute,
                "SuccessfulRequestLatency",
                Some(("Operation", "PutItem"))
            )
            .unwrap()
            .1,
            1
        );
    }
}

#[test]
fn s_03_what_queries_and_scans_evaluate_and_return_is_counted_by_source() {
    let bed = Bed::new("pk:S sk:N", &["G byA a:S ALL"]);
    for i in 0..10 {
        put(&bed.database, "Tab", item("p", &i.to_string(), 0)).unwrap();
    }
    let mut query = query_request("Tab", "pk = :v", &[(":v", s("p")), (":low", n("7"))]);
    query.filter = ConditionParameter::Expression("b >= :low".into());
    bed.database.query(&query).unwrap();
    bed.database
        .query(&query_request("Tab/byA", "a = :v", &[(":v", s("A"))]))
        .unwrap();
    (0..2).for_each(|_| drop(bed.database.scan(&scan_request("Tab")).unwrap()));
    let counted = |source: usize| {
        let usage = *bed.table_metrics().sources[source].within(Period::Hour);
        [usage.queries, usage.scans]
            .map(|reads| (reads.requests, reads.evaluated, reads.returned, reads.units))
    };
    assert_eq!(counted(0), [(1, 10, 3, 0.5), (2, 20, 20, 1.0)]);
    assert_eq!(counted(1), [(1, 10, 10, 0.5), (0, 0, 0, 0.0)]);
    // A minute later they are of the hour alone.
    bed.clock.advance_ms(61_000);
    assert_eq!(
        bed.table_metrics().sources[0].within(Period::Minute),
        &CapacityUsage::default()
    );
    assert_eq!(counted(0)[0], (1, 10, 3, 0.5));
}

#[test]
fn s_03_expired_items_are_counted_and_cost_nothing() {
    let bed = Bed::new("pk:S", &[]);
    let request = UpdateTimeToLiveRequest {
        table_name: table("Tab"),
        specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "end".into(),
        },
    };
    bed.database.update_time_to_live(request).unwrap();
    let end = n(&(NOW_MS / 1000 + 60).to_string());
    put(
        &bed.database,
        "Tab",
        Item::from([("pk", s("p")), ("end", end)]),
    )
    .unwrap();
    bed.clock.advance_ms(120_000);
    bed.database.engine().run_background_work().unwrap();
    assert_eq!(
        get(&bed.database, "Tab", Item::from([("pk", s("p"))])),
        None
    );
    assert_eq!(bed.table_metrics().counts.total.time_to_live_deleted, 1);
    assert_eq!(bed.consumed("").1, 1.0);
}

#[test]
fn s_03_metrics_in_the_form_of_prometheus() {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 5, 7),
        |options| options,
    );
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
        "ddbfs_log_bytes 0",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is missing in\n{text}"
        );
    }
    // Each metric has its type before its values, and once.
    let types: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect();
    let mut names: Vec<&str> = types
        .iter()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    names.dedup();
    assert_eq!(names.len(), types.len());
}

// S-10: money.

#[test]
fn s_10_a_price_table_turns_capacity_into_money() {
    let mut table_prices = prices::built_in();
    (
        table_prices.million_writes,
        table_prices.million_reads,
        table_prices.gigabyte_month,
    ) = (1.0, 0.5, 0.0);
    (table_prices.read_hour, table_prices.write_hour) = (0.001, 0.01);
    // 60 writes and 60 half reads in the minute since the start: one write and half a read a second.
    let on_demand = Bed::new("pk:S sk:N", &[]);
    for n in 0..60 {
        put(&on_demand.database, "Tab", item("p", &n.to_string(), 0)).unwrap();
        get(
            &on_demand.database,
            "Tab",
            Item::from([("pk", s("p")), ("sk", engine::n(&n.to_string()))]),
        );
    }
    on_demand.clock.advance_ms(59_000);
    let month = |bed: &Bed| {
        let metrics = bed.metrics();
        capacity::render(&metrics, &metrics.tables[0], &table_prices)["month"]["at_the_rate_since_start"].clone()
    };
    // 2,628,000 seconds a month.
    assert_eq!(
        month(&on_demand),
        json!({ "storage": 0.0, "reads": 0.657, "writes": 2.628, "total": 3.285 })
    );
    // Provisioned units cost the same whether used or not: table and index each 10 reads and 10 writes for 730 hours.
    let given = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 10, 10),
        |options| options,
    );
    assert_eq!(
        month(&given),
        json!({ "storage": 0.0, "reads": 14.6, "writes": 146.0, "total": 160.6 })
    );
}

// P: partitions.

#[test]
fn p_04_the_partition_of_a_key_is_the_same_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
        let options = EngineOptions {
            background_period: None,
            ..small_partitions(20_000)(options())
        };
        LocalDatabase::open(Arc::new(store), options).unwrap()
    };
    let keys: Vec<Vec<AttributeValue>> = (0..200).map(|i| vec![s(&format!("k{i}"))]).collect();
    let places = |database: &LocalDatabase| -> Vec<u32> {
        keys.iter().map(|key| partition_of(database, key)).collect()
    };
    let database = open();
    database
        .create_table(definition("Tab", "pk:S", &[]))
        .unwrap();
    let before = places(&database);
    for key in &keys {
        put(
            &database,
            "Tab",
            Item::from([("pk", key[0].clone()), ("fill", x(900))]),
        )
        .unwrap();
    }
    assert_eq!(places(&database), before, "no key moves without a split");
    database.engine().run_background_work().unwrap();
    let after = places(&database);
    assert_ne!(after, before);
    database.engine().close();
    drop(database);
    let database = open();
    assert_eq!(places(&database), after);
    assert_clean(&database);
}

#[test]
fn p_07_p_10_a_table_begins_with_the_partitions_that_its_throughput_needs() {
    for (read, write, expected) in [(1, 1, 1), (3_000, 1_000, 2), (10_000, 5_000, 9)] {
        let bed = Bed::with(
            provisioned(definition("Tab", "pk:S", &[]), read, write),
            |options| options,
        );
        assert_eq!(bed.partitions("").len(), expected, "{read} and {write}");
    }
    // On demand, for 12,000 reads and 4,000 writes a second.
    let bed = Bed::new("pk:S", &[]);
    assert_eq!(
        bed.origins(""),
        [
            (0, "creation"),
            (1, "creation"),
            (2, "creation"),
            (3, "creation")
        ]
    );
    put(&bed.database, "Tab", Item::from([("pk", s("a"))])).unwrap();
    // 3 bytes and the overhead of an item.
    let bytes: Vec<u64> = bed
        .contents("")
        .iter()
        .map(|content| content.billed_bytes)
        .filter(|bytes| *bytes > 0)
        .collect();
    assert_eq!(bytes, [103]);
}

#[test]
fn p_08_p_12_full_partitions_split_under_writes_and_reads() {
    let bed = Bed::with(
        definition("Tab", "pk:S sk:N", &["G byA a:S KEYS_ONLY"]),
        small_partitions(50_000),
    );
    for i in 0..400 {
        let (pk, sk) = (format!("p{}", i % 80), i.to_string());
        put(&bed.database, "Tab", item(&pk, &sk, 1_000)).unwrap();
        assert!(
            get(
                &bed.database,
                "Tab",
                Item::from([("pk", s(&pk)), ("sk", n(&sk))])
            )
            .is_some()
        );
        if i % 50 == 49 {
            bed.background();
        }
    }
    bed.background();
    let contents = bed.contents("");
    assert!(contents.len() >= 9, "{contents:?}");
    assert!(
        contents
            .iter()
            .all(|content| content.billed_bytes <= 50_000),
        "{contents:?}"
    );
    assert!(
        bed.origins("")
            .iter()
            .skip(4)
            .all(|(_, origin)| *origin == "creation" || *origin == "size")
    );
    let collections: u64 = contents.iter().map(|content| content.collections).sum();
    assert_eq!(
        (
            bed.items_in_partitions(""),
            collections,
            bed.items_in_partitions("byA")
        ),
        (400, 80, 400)
    );
    assert_clean(&bed.database);
    // Nothing more to do: no more splits, and no writes.
    let commit = bed.database.engine().commit_id();
    bed.background();
    assert_eq!(
        (bed.contents(""), bed.database.engine().commit_id()),
        (contents, commit)
    );
}

#[test]
fn p_11_more_throughput_makes_more_partitions_and_less_takes_none_away() {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S", &[]), 100, 1_000),
        |options| options,
    );
    bed.background();
    assert_eq!(bed.origins(""), [(0, "creation"), (1, "creation")]);
    for (write, expected) in [(3_000, 4), (1_000, 4), (500, 4)] {
        let mut request = UpdateTableRequest::new(table("Tab"));
        request.throughput = Some(ProvisionedThroughput {
            read_capacity_units: 100,
            write_capacity_units: write,
        });
        bed.database.update_table(request).unwrap();
        bed.background();
        assert_eq!(bed.partitions("").len(), expected, "{write}");
    }
    assert_eq!(
        bed.origins(""),
        [
            (0, "creation"),
            (2, "throughput"),
            (1, "creation"),
            (3, "throughput")
        ]
    );
}

/// The partitions are those of the throughput that was once given, whether or not a round of the background came by.
#[test]
fn p_11_partitions_are_stored_with_each_change_and_never_merge() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store = LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap();
        LocalDatabase::open(
            Arc::new(store),
            EngineOptions {
                background_period: None,
                ..options()
            },
        )
        .unwrap()
    };
    let database = open();
    database
        .create_table(provisioned(
            definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]),
            100,
            400,
        ))
        .unwrap();
    let counts = |database: &LocalDatabase| {
        ["", "byA"].map(|of| {
            database
                .layout()
                .unwrap()
                .partitions(&source(of), Period::Minute)
                .unwrap()
                .len()
        })
    };
    let update =
        |body: Value| drop(protocol::call("UpdateTable", body, &database, "localhost").unwrap());
    let give = |write: u64, of_index: u64| {
        let units = |write: u64| json!({ "ReadCapacityUnits": 100, "WriteCapacityUnits": write });
        let of_index =
            json!([{ "Update": { "IndexName": "byA", "ProvisionedThroughput": units(of_index) } }]);
        update(
            json!({ "TableName": "Tab", "ProvisionedThroughput": units(write), "GlobalSecondaryIndexUpdates": of_index }),
        );
    };
    assert_eq!(counts(&database), [1, 1]);
    give(3_100, 1_500);
    assert_eq!(counts(&database), [4, 2]);
    give(401, 401);
    assert_eq!(counts(&database), [4, 2]);
    update(json!({ "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST" }));
    assert_eq!(counts(&database), [4, 4]);
    assert_clean(&database);
    database.engine().close();
    drop(database);
    let database = open();
    assert_eq!(counts(&database), [4, 4]);
    database.engine().run_background_work().unwrap();
    assert_eq!(counts(&database), [4, 4]);
    // What was there goes with the table.
    database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    database.engine().run_background_work().unwrap();
    assert_clean(&database);
}

#[test]
fn p_13_a_global_index_has_its_own_partitions() {
    let bed = Bed::with(
        definition("Tab", "pk:S sk:N", &["G byA a:S ALL", "L byB b:N ALL"]),
        small_partitions(40_000),
    );
    for i in 0..100 {
        put(&bed.database, "Tab", item(&format!("p{i}"), "1", 1_000)).unwrap();
    }
    bed.background();
    // Every entry of the index has the same key, so it splits inside that collection, whose entries have no sort key.
    let of_index = bed.contents("byA");
    assert!(
        of_index.len() > 4
            && of_index
                .iter()
                .all(|content| content.billed_bytes <= 40_000),
        "{of_index:?}"
    );
    assert_eq!(bed.items_in_partitions("byA"), 100);
    // A local index has its table's, and its entries count there.
    assert_eq!(bed.origins("byB"), bed.origins(""));
    let bytes = |content: &[PartitionContent]| {
        content
            .iter()
            .map(|content| content.billed_bytes)
            .sum::<u64>()
    };
    let described = bed
        .database
        .describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        })
        .unwrap()
        .table;
    assert_eq!(
        bytes(&bed.contents("")),
        described.table_size_bytes + described.indexes[0].index_size_bytes
    );
    assert_eq!(bytes(&of_index), described.indexes[1].index_size_bytes);
}

#[test]
fn p_15_a_collection_spans_partitions_unless_a_local_index_holds_it() {
    let fill = |bed: &Bed| {
        for i in 0..100 {
            put(&bed.database, "Tab", item("one", &i.to_string(), 1_000)).unwrap();
        }
        bed.background();
    };
    let free = Bed::with(
        definition("Tab", "pk:S sk:N", &[]),
        small_partitions(20_000),
    );
    fill(&free);
    let contents = free.contents("");
    assert!(
        contents
            .iter()
            .all(|content| content.billed_bytes <= 20_000),
        "{contents:?}"
    );
    assert!(
        contents.iter().filter(|content| content.items > 0).count() >= 6,
        "{contents:?}"
    );
    assert_eq!(free.items_in_partitions(""), 100);
    assert_eq!(
        query_pages(
            &free.database,
            query_request("Tab", "pk = :v", &[(":v", s("one"))])
        )
        .concat()
        .len(),
        100
    );

    let held = Bed::with(
        definition("Tab", "pk:S sk:N", &["L byB b:N KEYS_ONLY"]),
        small_partitions(20_000),
    );
    fill(&held);
    let partitions = held.partitions("");
    let candidates = partitions.iter().map(|partition| {
        held.layout()
            .partition_content(&source(""), partition)
            .unwrap()
    });
    let full: Vec<SplitCandidate> = candidates
        .filter(|(content, _)| content.items > 0)
        .map(|(_, candidate)| candidate)
        .collect();
    assert_eq!(full, [SplitCandidate::HeldByLocalIndex]);
}

#[test]
fn t_23_a_hot_key_is_put_on_a_partition_of_its_own() {
    let bed = Bed::with(definition("Tab", "pk:S sk:N", &[]), |options| {
        EngineOptions {
            partition_limits: PartitionLimits {
                read_units_max: 1.0,
                ..PartitionLimits::default()
            },
            ..options
        }
    });
    for i in 0..40 {
        put(&bed.database, "Tab", item(&format!("p{i}"), "1", 0)).unwrap();
    }
    bed.background();
    let count = bed.partitions("").len();
    let ask = |key: &str, times: u32| {
        let key = Item::from([("pk", s(key)), ("sk", n("1"))]);
        (0..times).for_each(|_| drop(get(&bed.database, "Tab", key.clone())));
    };
    // 100 half units in a minute are less than one a second; 1,000 are more.
    bed.clock.advance_ms(120_000);
    ask("p7", 90);
    bed.background();
    assert_eq!(bed.partitions("").len(), count);
    for _ in 0..4 {
        ask("p7", 1_000);
        ask("p8", 10);
        bed.background();
        bed.clock.advance_ms(61_000);
    }
    let hot = bed.partition_of("p7");
    let of_hot = bed
        .partitions("")
        .into_iter()
        .find(|partition| partition.id == hot)
        .unwrap();
    assert!(
        bed.partitions("")
            .iter()
            .any(|partition| partition.origin == PartitionOrigin::Heat)
    );
    let (content, candidate) = bed
        .layout()
        .partition_content(&source(""), &of_hot)
        .unwrap();
    assert_eq!(
        (content.collections, candidate),
        (1, SplitCandidate::Single)
    );
    // It is the hottest of the counted keys, and the first to be named.
    let hottest = bed
        .layout()
        .hot_keys(&source(""), Period::Hour, 1)
        .unwrap()
        .remove(0);
    assert_eq!(
        (hottest.key, hottest.total.read, hottest.partition),
        (Some(vec![s("p7")]), 2_045.0, hot)
    );
    assert_clean(&bed.database);
}

// S-04: contributor insights.

#[test]
fn s_04_contributor_insights_are_switched_on_and_off() {
    let bed = Bed::new("pk:S sk:N", &["G byA a:S ALL"]);
    let call = |operation: &str, body: Value| -> Value {
        match protocol::call(operation, body, &bed.database, "localhost") {
            Ok(body) => serde_json::from_slice(&body).unwrap(),
            Err(failure) => json!(failure.error_body(None).text),
        }
    };
    let of_index = json!({ "TableName": "Tab", "IndexName": "byA" });
    let with = |base: &Value, name: &str, value: &str| {
        let mut body = base.clone();
        body[name] = json!(value);
        body
    };
    let disabled = with(&of_index, "ContributorInsightsStatus", "DISABLED");
    assert_eq!(
        call("DescribeContributorInsights", of_index.clone()),
        disabled
    );
    assert_eq!(
        call(
            "UpdateContributorInsights",
            with(&of_index, "ContributorInsightsAction", "DISABLE")
        ),
        disabled
    );
    let enabling = with(
        &with(&of_index, "ContributorInsightsStatus", "ENABLING"),
        "ContributorInsightsMode",
        "ACCESSED_AND_THROTTLED_KEYS",
    );
    assert_eq!(
        call(
            "UpdateContributorInsights",
            with(&of_index, "ContributorInsightsAction", "ENABLE")
        ),
        enabling
    );
    let described = call("DescribeContributorInsights", of_index.clone());
    assert_eq!(described["ContributorInsightsStatus"], "ENABLED");
    let rules =
        ["PKC", "PKT"].map(|kind| format!("DynamoDBContributorInsights-{kind}-Tab-byA-{NOW_MS}"));
    assert_eq!(described["ContributorInsightsRuleList"], json!(rules));
    // With a sort key there are rules of single items, and items are counted from here on.
    let of_table = json!({ "TableName": "Tab" });
    let get_one = || {
        drop(get(
            &bed.database,
            "Tab",
            Item::from([("pk", s("p")), ("sk", n("1"))]),
        ))
    };
    put(&bed.database, "Tab", item("p", "1", 0)).unwrap();
    get_one();
    assert_eq!(bed.layout().hot_items(&source(""), 9).unwrap(), None);
    call(
        "UpdateContributorInsights",
        with(&of_table, "ContributorInsightsAction", "ENABLE"),
    );
    let rules = ["PKC", "PKT", "SKC", "SKT"]
        .map(|kind| format!("DynamoDBContributorInsights-{kind}-Tab-{NOW_MS}"));
    assert_eq!(
        call("DescribeContributorInsights", of_table.clone())["ContributorInsightsRuleList"],
        json!(rules)
    );
    put(&bed.database, "Tab", item("p", "2", 0)).unwrap();
    (0..7).for_each(|_| get_one());
    // A page of several items counts for none of them, one of a single item for that.
    bed.database
        .query(&query_request("Tab", "pk = :v", &[(":v", s("p"))]))
        .unwrap();
    bed.database
        .query(&query_request(
            "Tab",
            "pk = :v AND sk = :n",
            &[(":v", s("p")), (":n", n("1"))],
        ))
        .unwrap();
    let told: Vec<_> = bed.layout().hot_items(&source(""), 9).unwrap().unwrap();
    let told: Vec<_> = told
        .into_iter()
        .map(|item| {
            (
                item.key.unwrap().base.sort,
                item.total.read,
                item.total.write,
            )
        })
        .collect();
    assert_eq!(told, [(Some(n("1")), 4.0, 0.0), (Some(n("2")), 0.0, 1.0)]);
    call(
        "UpdateContributorInsights",
        with(&of_table, "ContributorInsightsAction", "DISABLE"),
    );
    assert_eq!(bed.layout().hot_items(&source(""), 9).unwrap(), None);
    let list = call("ListContributorInsights", json!({}));
    assert_eq!(
        list["ContributorInsightsSummaries"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(list["ContributorInsightsSummaries"][0]["IndexName"], "byA");
    let throttled = with(
        &with(&of_index, "ContributorInsightsAction", "ENABLE"),
        "ContributorInsightsMode",
        "THROTTLED_KEYS",
    );
    assert_eq!(
        call("UpdateContributorInsights", throttled)["ContributorInsightsMode"],
        "THROTTLED_KEYS"
    );
    let off = call(
        "UpdateContributorInsights",
        with(&of_index, "ContributorInsightsAction", "DISABLE"),
    );
    assert_eq!(off["ContributorInsightsStatus"], "DISABLING");
    assert_eq!(
        call("ListContributorInsights", json!({ "TableName": "Tab" })),
        json!({ "ContributorInsightsSummaries": [] })
    );
    let absent = with(&of_index, "IndexName", "other");
    let text = call("DescribeContributorInsights", absent);
    assert_eq!(
        text,
        "Requested resource not found: Index: other not found for table: Tab"
    );
    // A new table of the same name has none of the old one's.
    call(
        "UpdateContributorInsights",
        json!({ "TableName": "Tab", "ContributorInsightsAction": "ENABLE" }),
    );
    bed.database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    bed.background();
    bed.database
        .create_table(definition("Tab", "pk:S", &[]))
        .unwrap();
    assert_eq!(
        call("DescribeContributorInsights", json!({ "TableName": "Tab" }))["ContributorInsightsStatus"],
        "DISABLED"
    );
    assert_clean(&bed.database);
}

#[test]
fn s_04_t_21_t_25_the_keys_asked_for_most_are_told() {
    let bed = Bed::new("pk:S sk:N", &["L byB b:N ALL"]);
    for i in 0..30 {
        put(&bed.database, "Tab", item(&format!("p{i}"), "1", 0)).unwrap();
    }
    let of_key = |source: &str, key: &str| query_request(source, "pk = :v", &[(":v", s(key))]);
    (0..20).for_each(|_| drop(bed.database.query(&of_key("Tab", "p4")).unwrap()));
    (0..30).for_each(|_| drop(bed.database.query(&of_key("Tab/byB", "p5")).unwrap()));
    // Each put of two units weighs three times two; a query of a local index counts for its collection.
    let top = bed
        .layout()
        .hot_keys(&source(""), Period::Minute, 3)
        .unwrap();
    let told: Vec<(String, f64, f64)> = top
        .iter()
        .map(|key| {
            (
                text(&key.key.as_ref().unwrap()[0]),
                key.total.read,
                key.total.write,
            )
        })
        .collect();
    assert_eq!(
        told[..2],
        [("p5".to_owned(), 15.0, 2.0), ("p4".to_owned(), 10.0, 2.0)]
    );
    assert_eq!(top[0].total.weight(), 21.0);
    bed.clock.advance_ms(61_000);
    assert_eq!(
        bed.layout()
            .hot_keys(&source(""), Period::Minute, 1)
            .unwrap(),
        []
    );
    assert_eq!(
        bed.layout().hot_keys(&source(""), Period::Hour, 1).unwrap()[0].load,
        top[0].load
    );
}

//! The rules of docs/requirements.md on indexes, keys and item collections that the other `requirements` tests leave: names carry the ids.

use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::model::api::*;
use ddbfs::model::schema::{BillingMode, ProvisionedThroughput};
use ddbfs::model::{AttributeValue, Error, Item};

/// What a write consumed: the table's arm and that of the only index of `Tab`.
type Arms = (f64, Option<f64>);

fn arms(consumed: &ConsumedCapacity) -> Arms {
    let index = consumed
        .global_indexes
        .values()
        .chain(consumed.local_indexes.values())
        .next();
    (consumed.table, index.copied())
}

fn item(a: Option<&str>, c: Option<&str>) -> Item {
    let mut item = Item::from([("pk", s("p")), ("sk", s("s"))]);
    item.0.extend(a.map(|a| ("a".to_owned(), s(a))));
    item.0.extend(c.map(|c| ("c".to_owned(), s(c))));
    item
}

/// Puts `before`, then `after` in its place: what the second put consumed, for a global and a local index on `a`.
#[track_caller]
fn check_change(before: Option<Item>, after: Item, expected: Arms) {
    for index in ["G index a:S KEYS_ONLY", "L index a:S KEYS_ONLY"] {
        let database = with_table("pk:S sk:S", &[index]);
        if let Some(before) = before.clone() {
            put(&database, "Tab", before).unwrap();
        }
        let consumed = put(&database, "Tab", after.clone())
            .unwrap()
            .consumed_capacity;
        assert_eq!(arms(&consumed), expected, "{index}");
    }
}

#[test]
fn g_53_a_write_beside_an_index_costs_it_nothing() {
    check_change(
        Some(item(Some("x"), None)),
        item(Some("x"), Some("new")),
        (1.0, None),
    );
}

#[test]
fn g_43_g_55_an_item_that_comes_into_an_index_is_one_write() {
    check_change(None, item(Some("x"), None), (1.0, Some(1.0)));
    check_change(
        Some(item(None, None)),
        item(Some("x"), None),
        (1.0, Some(1.0)),
    );
}

#[test]
fn g_56_another_index_key_is_two_writes() {
    check_change(
        Some(item(Some("x"), None)),
        item(Some("y"), None),
        (1.0, Some(2.0)),
    );
}

#[test]
fn g_57_an_item_that_leaves_an_index_is_one_write() {
    check_change(
        Some(item(Some("x"), None)),
        item(None, None),
        (1.0, Some(1.0)),
    );
}

#[test]
fn g_58_an_item_that_never_was_in_an_index_is_none() {
    check_change(None, item(None, None), (1.0, None));
    check_change(Some(item(None, None)), item(None, Some("new")), (1.0, None));
}

#[test]
fn g_22_g_61_a_keys_only_index_costs_less_than_one_of_everything() {
    let cost = |projection: &str| {
        let database = with_table("pk:S sk:S", &[&format!("G index a:S {projection}")]);
        let with = |bytes: usize| {
            let mut item = item(Some("x"), None);
            item.0.insert("v".to_owned(), x(bytes));
            item
        };
        put(&database, "Tab", with(3000)).unwrap();
        arms(&put(&database, "Tab", with(3001)).unwrap().consumed_capacity).1
    };
    assert_eq!((cost("KEYS_ONLY"), cost("ALL")), (None, Some(3.0)));
}

#[test]
fn g_02_without_an_index_a_scan_reads_everything() {
    let database = samples();
    let mut scan = scan_request("GameScores");
    scan.filter = ConditionParameter::Expression("TopScore = :z".to_owned());
    scan.placeholders = placeholders(&[], &[(":z", n("0"))]);
    let by_scan = database.scan(&scan).unwrap();
    let by_index = database
        .query(&query_request(
            "GameScores/TopScoreIndex",
            "TopScore = :z",
            &[(":z", n("0"))],
        ))
        .unwrap();
    assert_eq!((by_scan.page.scanned_count, by_scan.page.count), (13, 4));
    assert_eq!(
        (by_index.page.scanned_count, by_index.page.count),
        (1, 1),
        "those with a date"
    );
}

#[test]
fn g_23_a_ratio_is_answered_from_the_index_alone() {
    let request = query_request(
        "GameScores/GameTitleWinsIndex",
        "GameTitle = :t",
        &[(":t", s("Galaxy Invaders"))],
    );
    let response = samples().query(&request).unwrap();
    let items = response.items.unwrap();
    assert_eq!(column(&items, "Wins").len(), 3);
    assert_eq!(column(&items, "Losses").len(), 3);
    assert_eq!(response.page.consumed_capacity.table, 0.0);
}

fn provisioned(units: u64) -> Option<ProvisionedThroughput> {
    Some(ProvisionedThroughput {
        read_capacity_units: units,
        write_capacity_units: units + 1,
    })
}

#[test]
fn g_40_g_47_each_index_has_its_own_throughput_and_is_described_with_it() {
    let mut request = definition("Tab", "pk:S", &["G one a:S ALL", "G two b:S ALL"]);
    (request.billing_mode, request.throughput) = (Some(BillingMode::Provisioned), provisioned(5));
    let without = database()
        .create_table(request.clone())
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        without.contains("ProvisionedThroughput is not specified for index: one"),
        "{without}"
    );
    for (units, index) in (7..).zip(request.global_indexes.as_mut().unwrap()) {
        index.throughput = provisioned(units);
    }
    let database = database();
    database.create_table(request).unwrap();
    let described = database
        .describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        })
        .unwrap()
        .table
        .schema;
    let units: Vec<_> = described
        .indexes
        .iter()
        .map(|index| (index.name.as_str(), index.throughput))
        .collect();
    assert_eq!(units, [("one", provisioned(7)), ("two", provisioned(8))]);
    assert_eq!(described.throughput, provisioned(5));
}

#[test]
fn g_51_a_page_counts_names_and_values() {
    // The same values under long names fill a page sooner.
    let first_page = |name: &str| {
        let database = with_table("pk:S sk:N", &[]);
        for i in 0..60 {
            put(
                &database,
                "Tab",
                Item::from([("pk", s("p")), ("sk", n(&i.to_string())), (name, x(20_000))]),
            )
            .unwrap();
        }
        query(
            &database,
            &query_request("Tab", "pk = :v", &[(":v", s("p"))]),
        )
        .1
        .count
    };
    assert_eq!(first_page("v"), 1024_u64 * 1024 / 20_008 + 1);
    assert_eq!(first_page(&"v".repeat(10_001)), 1024 * 1024 / 30_008 + 1);
}

#[test]
fn g_62_the_sizes_of_table_and_index_are_both_told() {
    let database = with_table("pk:S sk:S", &["G index a:S KEYS_ONLY"]);
    put(&database, "Tab", item(Some("x"), Some("y"))).unwrap();
    let described = database
        .describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        })
        .unwrap()
        .table;
    assert_eq!(
        (
            described.table_size_bytes,
            described.indexes[0].index_size_bytes
        ),
        (110, 108)
    );
}

#[test]
fn g_33_l_13_an_index_is_never_written_and_not_read_by_key() {
    let database = with_table("pk:S sk:S", &["G index a:S KEYS_ONLY"]);
    put(&database, "Tab", item(Some("x"), None)).unwrap();
    // An index's name is no table's: there is no request that names one.
    let of_index =
        GetItemRequest::new(table("index"), Item::from([("pk", s("p")), ("sk", s("s"))]));
    assert!(
        matches!(database.get_item(of_index), Err(Error::ResourceNotFound)),
        "found as a table"
    );
    assert!(matches!(
        put(&database, "index", item(Some("x"), None)),
        Err(Error::ResourceNotFound)
    ));
}

#[test]
fn l_09_local_indexes_project_as_global_ones_do() {
    let names = |projection: &str| -> Vec<String> {
        let database = with_table("pk:S sk:S", &[&format!("L index a:S {projection}")]);
        let mut item = item(Some("x"), Some("y"));
        item.0.insert("d".to_owned(), s("z"));
        put(&database, "Tab", item).unwrap();
        let items = query(
            &database,
            &query_request("Tab/index", "pk = :v", &[(":v", s("p"))]),
        )
        .0;
        items[0].0.keys().cloned().collect()
    };
    assert_eq!(names("KEYS_ONLY"), ["a", "pk", "sk"]);
    assert_eq!(names("INCLUDE=c"), ["a", "c", "pk", "sk"]);
    assert_eq!(names("ALL"), ["a", "c", "d", "pk", "sk"]);
}

/// A table with a local index, and a limit of its collections that is near.
fn limited(bytes: u64, local: bool) -> LocalDatabase {
    let database = database_with(EngineOptions {
        collection_bytes_max: bytes,
        ..options()
    });
    let indexes: &[&str] = if local {
        &["L index a:S ALL"]
    } else {
        &["G index a:S ALL"]
    };
    database
        .create_table(definition("Tab", "pk:S sk:N", indexes))
        .unwrap();
    database
}

fn filled(pk: &str, sk: u32, bytes: usize) -> Item {
    Item::from([
        ("pk", s(pk)),
        ("sk", n(&sk.to_string())),
        ("a", s("x")),
        ("v", x(bytes)),
    ])
}

fn is_full<T: std::fmt::Debug>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::ItemCollectionSizeLimitExceeded))
}

#[test]
fn p_16_l_32_l_37_l_39_l_40_a_full_collection() {
    let database = limited(20_000, true);
    let mut stored = 0;
    while put(&database, "Tab", filled("p", stored, 1000)).is_ok() {
        stored += 1;
    }
    // Each item is there twice: in the table and in the index.
    assert!((8..=10).contains(&stored), "{stored}");
    assert!(
        is_full(&put(&database, "Tab", filled("p", 0, 2000))),
        "growing"
    );
    assert!(
        put(&database, "Tab", filled("p", 0, 900)).is_ok(),
        "shrinking"
    );
    assert!(
        get(
            &database,
            "Tab",
            Item::from([("pk", s("p")), ("sk", n("1"))])
        )
        .is_some(),
        "reading"
    );
    assert!(
        put(&database, "Tab", filled("q", 0, 1000)).is_ok(),
        "another collection"
    );
    for sk in 1..3 {
        let key = Item::from([("pk", s("p")), ("sk", n(&sk.to_string()))]);
        database
            .delete_item(DeleteItemRequest::new(table("Tab"), key))
            .unwrap();
    }
    assert!(
        put(&database, "Tab", filled("p", 99, 1000)).is_ok(),
        "below the limit again"
    );
    assert_clean(&database);
}

#[test]
fn l_38_the_limit_is_that_of_tables_with_local_indexes() {
    let database = limited(20_000, false);
    for sk in 0..40 {
        put(&database, "Tab", filled("p", sk, 1000)).unwrap();
    }
}

#[test]
fn p_14_l_33_l_34_l_35_l_36_the_size_of_a_collection_is_told_by_every_write() {
    let database = samples();
    let key = || Item::from([("ForumName", s("EC2")), ("Subject", s("zzz"))]);
    let whole = |metrics: &ItemCollectionMetrics| {
        assert_eq!(metrics.key, Item::from([("ForumName", s("EC2"))]));
        assert_eq!(metrics.size_estimate_range_gb, [0.0, 1.0]);
    };
    let set = UpdateParameter::Expression("SET Replies = Replies + :one".to_owned());
    let mut update = UpdateItemRequest::new(
        table("Thread"),
        key(),
        set,
        placeholders(&[], &[(":one", n("1"))]),
    );
    update.return_item_collection_metrics = true;
    whole(
        &database
            .update_item(update)
            .unwrap()
            .item_collection_metrics
            .unwrap(),
    );
    let mut item = key();
    item.0.insert("Replies".to_owned(), n("3"));
    let put = PutItemRequest {
        return_item_collection_metrics: true,
        ..PutItemRequest::new(table("Thread"), item.clone())
    };
    whole(
        &database
            .put_item(put)
            .unwrap()
            .item_collection_metrics
            .unwrap(),
    );
    let batch = BatchWriteItemRequest {
        request_items: vec![TableWrites {
            table_name: table("Thread"),
            requests: vec![WriteRequest::Put(item.clone())],
        }],
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: true,
    };
    whole(
        &database
            .batch_write_item(batch)
            .unwrap()
            .item_collection_metrics[0][0],
    );
    let transaction = TransactWriteItemsRequest {
        transact_items: vec![TransactWrite::new(
            table("Thread"),
            TransactAction::Put { item },
        )],
        fault: None,
        client_request_token: None,
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: true,
    };
    whole(
        &database
            .transact_write_items(transaction)
            .unwrap()
            .item_collection_metrics[0]
            .1[0],
    );
    let delete = DeleteItemRequest {
        return_item_collection_metrics: true,
        ..DeleteItemRequest::new(table("Thread"), key())
    };
    whole(
        &database
            .delete_item(delete)
            .unwrap()
            .item_collection_metrics
            .unwrap(),
    );
    // A table without a local index has no collections to tell of.
    let pets = Item::from([("AnimalType", s("Dog")), ("Name", s("Rex"))]);
    let put = PutItemRequest {
        return_item_collection_metrics: true,
        ..PutItemRequest::new(table("Pets"), pets)
    };
    assert_eq!(
        database.put_item(put).unwrap().item_collection_metrics,
        None
    );
}

fn posts(condition: &str, values: &[(&str, AttributeValue)], projection: &str) -> QueryResponse {
    let mut request = query_request("Thread/LastPostIndex", condition, values);
    request.projection_expression = Some(projection.to_owned());
    samples().query(&request).unwrap()
}

#[test]
fn l_43_items_of_one_key_are_sorted_and_begin_with() {
    let condition = "ForumName = :f AND begins_with(Subject, :a)";
    let response = samples()
        .query(&query_request(
            "Thread",
            condition,
            &[(":f", s("S3")), (":a", s("a"))],
        ))
        .unwrap();
    assert_eq!(column(&response.items.unwrap(), "Subject"), ["aaa"]);
    assert_eq!(response.page.scanned_count, 1);
}

#[test]
fn l_44_a_scan_reads_all_posts_for_the_recent_ones() {
    let database = samples();
    let mut scan = scan_request("Thread");
    scan.filter =
        ConditionParameter::Expression("ForumName = :f AND LastPostDateTime >= :d".to_owned());
    scan.placeholders = placeholders(&[], &[(":f", s("RDS")), (":d", s("2015-08-01"))]);
    let by_scan = database.scan(&scan).unwrap().page;
    let by_index = posts(
        "ForumName = :f AND LastPostDateTime >= :d",
        &[(":f", s("RDS")), (":d", s("2015-08-01"))],
        "Subject",
    )
    .page;
    assert_eq!(
        (
            by_scan.count,
            by_scan.scanned_count,
            by_index.count,
            by_index.scanned_count
        ),
        (1, 10, 1, 1)
    );
}

#[test]
fn l_45_what_is_not_projected_is_fetched_at_the_table_s_cost() {
    let values = [(":f", s("S3"))];
    assert_eq!(
        posts("ForumName = :f", &values, "Subject, Replies")
            .page
            .consumed_capacity
            .table,
        0.0
    );
    assert_eq!(
        posts("ForumName = :f", &values, "Subject, Tags")
            .page
            .consumed_capacity
            .table,
        2.0,
        "four items of one unit"
    );
}

#[test]
fn l_46_dates_are_strings() {
    let condition = "ForumName = :f AND LastPostDateTime BETWEEN :a AND :b";
    let values = [
        (":f", s("EC2")),
        (":a", s("2015-08-31T00:00:00.000Z")),
        (":b", s("2015-11-31T00:00:00.000Z")),
    ];
    assert_eq!(posts(condition, &values, "Subject").page.count, 1);
}

#[test]
fn l_07_local_indexes_come_with_their_table_only() {
    let database = with_table("pk:S sk:S", &["L index a:S ALL"]);
    let described = || {
        database
            .describe_table(DescribeTableRequest {
                table_name: table("Tab"),
            })
            .unwrap()
            .table
    };
    assert_eq!(described().schema.indexes.len(), 1);
    // UpdateTable knows global indexes alone.
    let update = serde_json::json!({"TableName": "Tab", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "index"}}]});
    let request = ddbfs::codec::wire::request(
        ddbfs::codec::json::document::Document::from_value(&update).root(),
    )
    .unwrap();
    assert!(database.update_table(request).is_err());
    assert_eq!(described().schema.indexes.len(), 1);
}

#[test]
fn t_06_a_composed_partition_key() {
    let condition = "CustomerProductCountry = :k AND OrderDate BETWEEN :a AND :b";
    let values = [
        (":k", s("c1#bicycle#BRA")),
        (":a", s("2016-05-01")),
        (":b", s("2016-06-30")),
    ];
    let response = samples()
        .query(&query_request("Orders", condition, &values))
        .unwrap();
    assert_eq!(
        column(&response.items.unwrap(), "OrderDate"),
        ["2016-05-17", "2016-06-02"]
    );
}

#[test]
fn t_08_t_11_t_13_a_sharded_key_is_read_by_as_many_queries() {
    let database = samples();
    let (mut found, mut units) = (Vec::new(), 0.0);
    for shard in 1..=5 {
        let condition = "InvoiceNumber = :k AND begins_with(ClientTransactionId, :c)";
        let request = query_request(
            "Invoices",
            condition,
            &[(":k", s(&format!("121212-{shard}"))), (":c", s("Client"))],
        );
        let response = database.query(&request).unwrap();
        found.extend(response.items.unwrap());
        units += response.page.consumed_capacity.total();
    }
    assert_eq!((found.len(), units), (4, 2.5), "half a unit for each query");
}

#[test]
fn t_14_t_15_a_calculated_suffix_finds_one_client_in_one_query() {
    const SHARDS: u64 = 5;
    let suffix = |client: &str| client.bytes().map(u64::from).sum::<u64>() % SHARDS + 1;
    let database = with_table("pk:S sk:S", &[]);
    for client in 0..20 {
        let client = format!("Client{client}");
        let pk = format!("121212-{}", suffix(&client));
        for day in 10..20 {
            let sk = format!("{client}#2016-05-{day}");
            put(
                &database,
                "Tab",
                Item::from([("pk", s(&pk)), ("sk", s(&sk))]),
            )
            .unwrap();
        }
    }
    let pk = format!("121212-{}", suffix("Client7"));
    let values = [
        (":k", s(&pk)),
        (":a", s("Client7#2016-05-12")),
        (":b", s("Client7#2016-05-14")),
    ];
    let response = database
        .query(&query_request(
            "Tab",
            "pk = :k AND sk BETWEEN :a AND :b",
            &values,
        ))
        .unwrap();
    let days = [
        "Client7#2016-05-12",
        "Client7#2016-05-13",
        "Client7#2016-05-14",
    ];
    assert_eq!(column(&response.items.unwrap(), "sk"), days);
    let key = Item::from([("pk", s(&pk)), ("sk", s("Client7#2016-05-15"))]);
    assert!(get(&database, "Tab", key).is_some(), "with one read");
}

#[test]
fn t_17_a_country_sharded_by_a_prefix() {
    let database = samples();
    let mut invoices = Vec::new();
    for prefix in 1..=3 {
        let condition = "RandomPrefix = :p AND Country = :c";
        let values = [(":p", n(&prefix.to_string())), (":c", s("USA"))];
        let request = query_request("InvoiceTransactions/PrefixCountryIndex", condition, &values);
        invoices.extend(column(
            &database.query(&request).unwrap().items.unwrap(),
            "InvoiceNumber",
        ));
    }
    invoices.sort();
    assert_eq!(invoices, ["121212", "121213"]);
}

#[test]
fn t_20_a_key_is_unique_by_a_condition() {
    let database = with_table("pk:S", &[]);
    let put = || {
        let mut request = PutItemRequest::new(table("Tab"), Item::from([("pk", s("order-1"))]));
        request.condition = ConditionParameter::Expression("attribute_not_exists(pk)".to_owned());
        database.put_item(request)
    };
    assert!(put().is_ok());
    assert!(matches!(put(), Err(Error::ConditionalCheckFailed { .. })));
}

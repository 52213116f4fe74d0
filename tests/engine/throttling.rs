//! The simulator of throttling and the limits of item collections (docs/requirements.md T, G-44, G-45, L-24, L-41, S-05), on a clock that is
//! turned by hand.

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::model::api::*;
use ddbfs::model::error::{CancellationReason, ThrottleLocation, Throttled};
use ddbfs::model::metrics::{MeteredOperation, PartitionLimits, Period};
use ddbfs::model::schema::OnDemandThroughput;
use ddbfs::model::{AttributeValue, Error, Item};

const ADAPTIVE: ThrottleOptions = ThrottleOptions::new(true);
const STATIC: ThrottleOptions = ThrottleOptions::new(false);

fn throttled(how: ThrottleOptions) -> impl Fn(EngineOptions) -> EngineOptions {
    move |options| EngineOptions {
        throttle: Some(how),
        ..options
    }
}

/// Tables that have enough each ask for more than the account may take.
#[test]
fn the_account_has_a_quota_for_all_tables_together() {
    let how = ThrottleOptions {
        account_units_max: 10,
        ..ADAPTIVE
    };
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 100, 100),
        throttled(how),
    );
    assert_eq!(
        puts_until_refused(&bed, "p", 100),
        (10, "TableWriteAccountLimitExceeded".to_owned())
    );
    let refused = put(&bed.database, "Tab", item("q", "1", 0)).unwrap_err();
    assert_eq!(refused.exception(), "RequestLimitExceeded");
    assert!(
        refused
            .to_string()
            .starts_with("Throughput exceeds the current throughput limit for your account.")
    );
    // Reading has a quota of its own, and a second brings both back.
    assert_eq!(
        reason(
            bed.database
                .get_item(GetItemRequest::new(table("Tab"), key("p", "1")))
        ),
        ""
    );
    bed.clock.advance_ms(1_000);
    assert_eq!(puts_until_refused(&bed, "p", 100).0, 10);
}

/// The reason of a refusal; empty for what was not refused.
#[track_caller]
fn reason<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    match outcome {
        Ok(_) => String::new(),
        Err(Error::Throttled(throttled)) => throttled.reason(),
        Err(other) => panic!("{other:?}"),
    }
}

fn key(pk: &str, sk: &str) -> Item {
    Item::from([("pk", s(pk)), ("sk", n(sk))])
}

/// Puts until one is refused: how many were not, at most `most`.
fn puts_until_refused(bed: &Bed, pk: &str, most: u32) -> (u32, String) {
    for count in 0..most {
        let outcome = put(
            &bed.database,
            "Tab",
            Item::from([
                ("pk", s(pk)),
                ("sk", n("1")),
                ("count", n(&count.to_string())),
            ]),
        );
        if let refused @ Err(Error::Throttled(_)) = outcome {
            return (count, reason(refused));
        }
        outcome.unwrap();
    }
    (most, String::new())
}

#[test]
fn t_01_t_03_provisioned_units_are_saved_for_300_seconds() {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 2, 2),
        throttled(ADAPTIVE),
    );
    // 600 of each are saved. The last read may take more than is left.
    let expected = "TableWriteProvisionedThroughputExceeded".to_owned();
    assert_eq!(
        puts_until_refused(&bed, "p", 1_000),
        (600, expected.clone())
    );
    let refused = put(&bed.database, "Tab", item("p", "1", 0)).unwrap_err();
    assert_eq!(
        refused.exception(),
        "ProvisionedThroughputExceededException"
    );
    assert!(
        refused.to_string().starts_with(
            "The level of configured provisioned throughput for the table was exceeded."
        )
    );
    // Reading has its own units.
    assert_eq!(
        reason(
            bed.database
                .get_item(GetItemRequest::new(table("Tab"), key("p", "1")))
        ),
        ""
    );
    // Two a second come back, and not more than 600.
    bed.clock.advance_ms(1_000);
    assert_eq!(puts_until_refused(&bed, "p", 10), (2, expected.clone()));
    bed.clock.advance_ms(10_000_000);
    assert_eq!(puts_until_refused(&bed, "p", 1_000), (600, expected));
    // Large writes go below nothing, and are paid back.
    bed.clock.advance_ms(1_000);
    put(&bed.database, "Tab", item("q", "1", 19_000)).unwrap();
    bed.clock.advance_ms(8_000);
    assert_ne!(reason(put(&bed.database, "Tab", item("q", "2", 0))), "");
    bed.clock.advance_ms(2_000);
    assert_eq!(reason(put(&bed.database, "Tab", item("q", "2", 0))), "");
    let metrics = bed.table_metrics();
    assert_eq!(metrics.sources[0].usage.total.write_throttles, 5);
    assert_eq!(
        metrics.counts.total.operations[MeteredOperation::PutItem as usize].throttled,
        5
    );
    assert_clean(&bed.database);
}

#[test]
fn statements_are_throttled_and_counted_like_the_operations_that_they_are() {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 1, 1),
        throttled(ADAPTIVE),
    );
    let run = |statement: &str| {
        bed.database
            .execute_statement(ExecuteStatementRequest::new(statement))
    };
    let until_refused = |statement: &dyn Fn(u32) -> String| {
        (0..1_000)
            .find(|count| run(&statement(*count)).is_err())
            .unwrap()
    };
    assert_eq!(
        until_refused(&|count| format!("INSERT INTO Tab VALUE {{'pk': 'p', 'sk': {count}}}")),
        300
    );
    assert_eq!(
        reason(run("DELETE FROM Tab WHERE pk = 'p' AND sk = 0")),
        "TableWriteProvisionedThroughputExceeded"
    );
    let read = "SELECT * FROM Tab WHERE pk = 'p' AND sk = 1".to_owned();
    assert_eq!(until_refused(&|_| read.clone()), 600);
    let batch = |statement: &str| {
        let parameters = Ok(Vec::new());
        let one = BatchStatement {
            statement: statement.to_owned(),
            parameters,
            consistent_read: false,
            return_old_on_condition_failure: false,
        };
        let request = BatchExecuteStatementRequest {
            statements: vec![one],
            return_consumed_capacity: ReturnConsumedCapacity::None,
        };
        bed.database
            .batch_execute_statement(request)
            .unwrap()
            .responses
            .remove(0)
            .outcome
    };
    assert_eq!(
        reason(batch(&read)),
        "TableReadProvisionedThroughputExceeded"
    );
    assert_eq!(
        reason(batch("DELETE FROM Tab WHERE pk = 'p' AND sk = 0")),
        "TableWriteProvisionedThroughputExceeded"
    );
    let counts =
        &bed.table_metrics().counts.total.operations[MeteredOperation::ExecuteStatement as usize];
    assert_eq!(
        (counts.throttled, counts.returned_items.sum as u32),
        (3, 600)
    );
    assert_clean(&bed.database);
}

#[test]
fn t_02_t_04_a_hot_key_gets_what_one_partition_gives() {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 10_000, 10_000),
        throttled(ADAPTIVE),
    );
    let enable = serde_json::json!({ "TableName": "Tab", "ContributorInsightsAction": "ENABLE" });
    ddbfs::protocol::call(
        "UpdateContributorInsights",
        enable,
        &bed.database,
        "localhost",
    )
    .unwrap();
    assert_eq!(
        puts_until_refused(&bed, "hot", 2_000),
        (1_000, "TableWriteKeyRangeThroughputExceeded".to_owned())
    );
    let items = bed.layout().hot_items(&source(""), 1_000).unwrap().unwrap();
    assert_eq!(
        items.iter().map(|item| item.total.throttles()).sum::<u64>(),
        1
    );
    // Other partitions have theirs.
    let other = (0..)
        .map(|i| format!("k{i}"))
        .find(|pk| bed.partition_of(pk) != bed.partition_of("hot"))
        .unwrap();
    assert_eq!(puts_until_refused(&bed, &other, 10), (10, String::new()));
    // Nothing more in the same second, and in the next what came back since.
    bed.clock.advance_ms(500);
    assert_eq!(puts_until_refused(&bed, "hot", 2_000).0, 0);
    bed.clock.advance_ms(500);
    assert_eq!(
        puts_until_refused(&bed, "hot", 2_000),
        (1_000, "TableWriteKeyRangeThroughputExceeded".to_owned())
    );
    // T-21: the hot key is at the top.
    let hottest = bed
        .layout()
        .hot_keys(&source(""), Period::Minute, 1)
        .unwrap()
        .remove(0);
    assert_eq!(
        (hottest.key, hottest.total.throttles()),
        (Some(vec![s("hot")]), 3)
    );
}

#[test]
fn t_23_s_05_adaptive_capacity_gives_one_partition_more_than_its_share() {
    let small = |how: ThrottleOptions| {
        move |options: EngineOptions| EngineOptions {
            partition_limits: PartitionLimits {
                write_units_max: 500.0,
                ..PartitionLimits::default()
            },
            ..throttled(how)(options)
        }
    };
    let request = || provisioned(definition("Tab", "pk:S sk:N", &[]), 3_000, 1_000);
    // Two partitions of 500 each: 300 seconds of it are saved in each, and the partition's own second is not.
    assert_eq!(
        puts_until_refused(&Bed::with(request(), small(ADAPTIVE)), "p", 600).0,
        500
    );
    let shared = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 3_001, 2),
        throttled(STATIC),
    );
    assert_eq!(shared.partitions("").len(), 2);
    assert_eq!(
        puts_until_refused(&shared, "p", 600),
        (300, "TableWriteKeyRangeThroughputExceeded".to_owned())
    );
    let adaptive = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 3_001, 2),
        throttled(ADAPTIVE),
    );
    assert_eq!(
        puts_until_refused(&adaptive, "p", 1_000),
        (600, "TableWriteProvisionedThroughputExceeded".to_owned())
    );
}

/// Units that a partition's share saved for 300 seconds are not given faster than a partition gives.
#[test]
fn t_02_no_second_gives_more_than_a_partition_s_units_whatever_was_saved() {
    for how in [STATIC, ADAPTIVE] {
        let bed = Bed::with(
            provisioned(definition("Tab", "pk:S sk:N", &[]), 1_200, 600),
            throttled(how),
        );
        bed.clock.advance_ms(1_000_000);
        put(&bed.database, "Tab", item("hot", "1", 0)).unwrap();
        bed.clock.advance_ms(1_000);
        let get = || {
            bed.database.get_item(GetItemRequest {
                consistent_read: true,
                ..GetItemRequest::new(table("Tab"), key("hot", "1"))
            })
        };
        for second in 0..4 {
            let (mut written, mut read) = (0, 0);
            for _ in 0..4 {
                written += puts_until_refused(&bed, "hot", 2_000).0;
                read += (0..4_000).take_while(|_| get().is_ok()).count();
                bed.clock.advance_ms(250);
            }
            assert_eq!((written, read), (1_000, 3_000), "{how:?}, second {second}");
        }
    }
}

#[test]
fn what_is_throttled_is_told_with_its_place_and_its_limit() {
    let told = |bed: &Bed| {
        let refused = (0..2_000)
            .find_map(|_| put(&bed.database, "Tab", item("hot", "1", 0)).err())
            .unwrap();
        let Error::Throttled(throttled) = refused else {
            panic!("{refused:?}")
        };
        // What the API answers has none of it.
        assert!(
            throttled
                .to_string()
                .starts_with("The level of configured provisioned throughput for "),
            "{throttled}"
        );
        (throttled.describe(), throttled.hint())
    };
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 10_000, 10_000),
        throttled(ADAPTIVE),
    );
    let (place, hint) = told(&bed);
    let partition = bed.partition_of("hot");
    assert!(
        place.starts_with(&format!("partition p{partition:02} of table Tab (hash ")),
        "{place}"
    );
    assert!(
        place.contains("…; in it nothing but \"hot\") gives"),
        "{place}"
    );
    assert!(
        place.ends_with(" gives 1000 write units a second, whatever its table has; asked for: partition key \"hot\""),
        "{place}"
    );
    assert!(
        hint.contains("more keys")
            && hint.ends_with("Tab/partitions/hot.tsv names the keys asked for most"),
        "{hint}"
    );
    // A client that tries again is one warning a minute.
    put(&bed.database, "Tab", item("hot", "1", 0)).unwrap_err();
    assert_eq!(
        bed.layout()
            .throttle_warnings()
            .iter()
            .map(|warning| warning.events)
            .collect::<Vec<_>>(),
        [2]
    );
    bed.clock.advance_ms(60_000);
    told(&bed);
    assert_eq!(bed.layout().throttle_warnings().len(), 2);

    let (place, _) = told(&Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 3_001, 2),
        throttled(STATIC),
    ));
    assert!(
        place.contains(" has an even share of 1 write units a second (--throttle=static); "),
        "{place}"
    );
    let mut request = provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 1, 10);
    request.global_indexes.as_mut().unwrap()[0].throughput =
        Some(ddbfs::model::schema::ProvisionedThroughput {
            read_capacity_units: 1,
            write_capacity_units: 1,
        });
    let bed = Bed::with(request, throttled(ADAPTIVE));
    (0..300).for_each(|sk| drop(put(&bed.database, "Tab", item("p", &sk.to_string(), 0)).unwrap()));
    let (place, hint) = told(&bed);
    let expected = "index byA of table Tab has 1 provisioned write units a second, and those saved are used up; asked for: partition key \"A\"";
    assert_eq!(place, expected);
    assert!(
        hint.contains("GlobalSecondaryIndexUpdates")
            && hint.contains("Tab/gsi/byA/partitions/hot.tsv"),
        "{hint}"
    );
}

#[test]
fn g_44_an_index_has_its_own_read_units() {
    let bed = Bed::with(
        provisioned(
            definition("Tab", "pk:S sk:N", &["G byA a:S ALL", "L byB b:N ALL"]),
            1,
            100,
        ),
        throttled(ADAPTIVE),
    );
    put(&bed.database, "Tab", item("p", "1", 4_000)).unwrap();
    let of_index = query_request("Tab/byA", "a = :a", &[(":a", s("A"))]);
    for _ in 0..600 {
        bed.database.query(&of_index).unwrap();
    }
    let refused = bed.database.query(&of_index);
    assert!(
        refused
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("one or more global secondary indexes")
    );
    assert_eq!(reason(refused), "IndexReadProvisionedThroughputExceeded");
    assert_eq!(
        reason(bed.database.scan(&scan_request("Tab/byA"))),
        "IndexReadProvisionedThroughputExceeded"
    );
    // 600 of half a unit. The table has its own still, and L-24: a local index takes the table's.
    for _ in 0..600 {
        bed.database
            .query(&query_request("Tab/byB", "pk = :a", &[(":a", s("p"))]))
            .unwrap();
    }
    assert_eq!(
        reason(
            bed.database
                .get_item(GetItemRequest::new(table("Tab"), key("p", "1")))
        ),
        "TableReadProvisionedThroughputExceeded"
    );
}

#[test]
fn g_45_g_54_an_index_without_write_units_refuses_the_table_s_writes() {
    let mut request = provisioned(definition("Tab", "pk:S sk:N", &["G byA a:S ALL"]), 100, 100);
    request.global_indexes.as_mut().unwrap()[0].throughput =
        Some(ddbfs::model::schema::ProvisionedThroughput {
            read_capacity_units: 1,
            write_capacity_units: 1,
        });
    let bed = Bed::with(request, throttled(ADAPTIVE));
    for i in 0..300 {
        put(&bed.database, "Tab", item("p", &i.to_string(), 0)).unwrap();
    }
    let refused = put(&bed.database, "Tab", item("p", "300", 0));
    assert!(
        refused
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("under-provisioned global secondary indexes")
    );
    assert_eq!(reason(refused), "IndexWriteProvisionedThroughputExceeded");
    assert_eq!(get(&bed.database, "Tab", key("p", "300")), None);
    // What does not change the index is written.
    put(
        &bed.database,
        "Tab",
        Item::from([("pk", s("p")), ("sk", n("300"))]),
    )
    .unwrap();
    // Neither is any of a transaction.
    let write = |sk: &str, in_index: bool| TransactWrite {
        table_name: table("Tab"),
        action: TransactAction::Put {
            item: if in_index {
                item("p", sk, 0)
            } else {
                key("p", sk)
            },
        },
        condition: ConditionParameter::None,
        precondition: None,
        placeholders: Placeholders::default(),
        return_old_on_condition_failure: false,
    };
    let (client_request_token, return_consumed_capacity) = (None, ReturnConsumedCapacity::None);
    let transact_items = vec![write("400", false), write("401", true)];
    let request = TransactWriteItemsRequest {
        transact_items,
        fault: None,
        client_request_token,
        return_consumed_capacity,
        return_item_collection_metrics: false,
    };
    let Err(Error::TransactionCanceled(cancellation)) = bed.database.transact_write_items(request)
    else {
        panic!()
    };
    let codes: Vec<&str> = cancellation
        .0
        .iter()
        .map(CancellationReason::code)
        .collect();
    assert_eq!(codes, ["None", "ProvisionedThroughputExceeded"]);
    assert_eq!(get(&bed.database, "Tab", key("p", "400")), None);
    assert_eq!(
        bed.table_metrics().sources[1].usage.total.write_throttles,
        2
    );
    assert_clean(&bed.database);
}

#[test]
fn s_05_on_demand_has_the_units_of_a_new_table_or_its_maximum() {
    let mut request = definition("Tab", "pk:S sk:N", &[]);
    let bed = Bed::with(request.clone(), throttled(ADAPTIVE));
    // One partition is less than a new table's 4,000.
    assert_eq!(
        puts_until_refused(&bed, "p", 2_000),
        (1_000, "TableWriteKeyRangeThroughputExceeded".to_owned())
    );
    request.settings.throughput.on_demand = OnDemandThroughput {
        max_read_request_units: Some(10),
        max_write_request_units: Some(20),
    };
    let bed = Bed::with(request, throttled(ADAPTIVE));
    assert_eq!(
        puts_until_refused(&bed, "p", 2_000),
        (20, "TableWriteMaxOnDemandThroughputExceeded".to_owned())
    );
    let refused = put(&bed.database, "Tab", item("p", "1", 0)).unwrap_err();
    assert_eq!(refused.exception(), "ThrottlingException");
    bed.clock.advance_ms(1_000_000);
    assert_eq!(
        puts_until_refused(&bed, "p", 2_000).0,
        20,
        "on demand nothing is saved"
    );
}

#[test]
fn s_05_batches_leave_unprocessed_what_there_is_no_capacity_for() {
    let bed = Bed::with(
        provisioned(definition("Tab", "pk:S sk:N", &[]), 1, 1),
        throttled(ADAPTIVE),
    );
    assert_eq!(puts_until_refused(&bed, "p", 299).0, 299);
    let puts = |from: u32| {
        (from..from + 5)
            .map(|i| WriteRequest::Put(item("q", &i.to_string(), 0)))
            .collect::<Vec<_>>()
    };
    let batch = |requests| {
        bed.database.batch_write_item(BatchWriteItemRequest {
            request_items: vec![TableWrites {
                table_name: table("Tab"),
                requests,
            }],
            return_consumed_capacity: ReturnConsumedCapacity::Total,
            return_item_collection_metrics: false,
        })
    };
    let response = batch(puts(0)).unwrap();
    assert_eq!(
        (
            response.unprocessed_items,
            response.consumed_capacity[0].table
        ),
        (vec![puts(0)[1..].to_vec()], 1.0)
    );
    assert_eq!(
        reason(batch(puts(10))),
        "TableWriteProvisionedThroughputExceeded"
    );

    let keys: Vec<Item> = (0..10).map(|i| key("q", &i.to_string())).collect();
    for _ in 0..599 {
        bed.database
            .get_item(GetItemRequest::new(table("Tab"), key("q", "0")))
            .unwrap();
    }
    let get = |keys: &[Item]| {
        let table = TableKeys {
            table_name: table("Tab"),
            keys: keys.to_vec(),
            consistent_read: false,
            projection_expression: None,
            attributes_to_get: None,
            placeholders: Placeholders::default(),
        };
        let request = BatchGetItemRequest {
            request_items: vec![table],
            fault: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
        };
        bed.database.batch_get_item(&request)
    };
    assert_eq!(
        get(&keys).unwrap().page.unprocessed_keys,
        [keys[1..].to_vec()]
    );
    assert_eq!(reason(get(&keys)), "TableReadProvisionedThroughputExceeded");
}

#[test]
fn t_03_the_reasons_of_all_kinds_have_the_model_s_names() {
    use ddbfs::model::error::ThrottleCause as Cause;
    let mut names = std::collections::BTreeSet::new();
    for cause in [
        Cause::ProvisionedThroughput,
        Cause::KeyRange,
        Cause::MaxOnDemand,
        Cause::AccountLimit,
    ] {
        for index in [None, Some(ddbfs::model::IndexName::new("byA").unwrap())] {
            for is_write in [false, true] {
                let at = ThrottleLocation::default();
                let throttled = Throttled {
                    table: table("Tab"),
                    index: index.clone(),
                    is_write,
                    is_provisioned: true,
                    cause,
                    location: at,
                };
                names.insert(throttled.reason());
            }
        }
    }
    assert_eq!(names.len(), 16);
    assert!(
        names.contains("IndexReadKeyRangeThroughputExceeded")
            && names.contains("TableWriteAccountLimitExceeded")
    );
}

// Item collections.

#[test]
fn l_37_l_40_l_41_a_full_collection_is_warned_of_refuses_growth_and_recovers() {
    let limit = |options: EngineOptions| EngineOptions {
        collection_bytes_max: 10_000,
        ..options
    };
    let bed = Bed::with(
        definition("Tab", "pk:S sk:N", &["L byB b:N KEYS_ONLY"]),
        limit,
    );
    let warned = || {
        bed.layout()
            .collection_warnings()
            .into_iter()
            .map(|warning| warning.billed_bytes)
            .collect::<Vec<_>>()
    };
    let mut bytes = 0;
    for i in 0..7 {
        put(&bed.database, "Tab", item("p", &i.to_string(), 1_000)).unwrap();
        bytes = bed.layout().big_collections(&source(""), 1).unwrap()[0].billed_bytes;
        assert_eq!(warned().is_empty(), bytes < 8_000, "{bytes}");
    }
    // Once, when it passed four fifths.
    assert!(
        (8_000..10_000).contains(&bytes) && warned() == [bytes],
        "{bytes} {:?}",
        warned()
    );
    let full = put(&bed.database, "Tab", item("p", "8", 2_000));
    assert_eq!(full, Err(Error::ItemCollectionSizeLimitExceeded));
    // Other collections, reads and writes that make it smaller are not concerned.
    put(&bed.database, "Tab", item("q", "1", 1_000)).unwrap();
    assert!(get(&bed.database, "Tab", key("p", "1")).is_some());
    put(&bed.database, "Tab", item("p", "1", 10)).unwrap();
    put(&bed.database, "Tab", item("p", "8", 1_000)).unwrap();
    bed.database
        .delete_item(DeleteItemRequest::new(table("Tab"), key("p", "2")))
        .unwrap();
    put(&bed.database, "Tab", item("p", "2", 1_000)).unwrap();
    assert_eq!(warned().len(), 3, "again whenever it passes the threshold");
    let biggest = bed.layout().big_collections(&source(""), 2).unwrap();
    let found: Vec<(Option<Vec<AttributeValue>>, u64)> = biggest
        .into_iter()
        .map(|big| (big.key, big.items))
        .collect();
    assert_eq!(found, [(Some(vec![s("p")]), 8), (Some(vec![s("q")]), 1)]);
}

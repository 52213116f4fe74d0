//! The cache before a database: DAX's staleness (docs/dynamodb.md 23.4, docs/requirements.md S-01, T-07).

use std::sync::Arc;

use crate::support::mounted::{create_table, memory, s};
use ddbfs::database::cached::{CacheOptions, CachedDatabase};
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, CacheCounters, Database};
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::{
    BatchGetItemRequest, BatchWriteItemRequest, ConditionParameter, DeleteItemRequest,
    DeleteTableRequest, GetItemRequest, Placeholders, PutItemRequest, QueryRequest,
    ReturnConsumedCapacity, ScanRequest, Select, TableKeys, TableWrites, TransactAction,
    TransactWrite, TransactWriteItemsRequest, UpdateItemRequest, UpdateParameter, WriteRequest,
};
use ddbfs::model::{AttributeValue, Item, TableName};

const TABLE: &str = r#"{"TableName":"Tab","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST"}"#;

struct Both {
    /// The tables themselves: a front end beside the cache.
    direct: Arc<LocalDatabase>,
    cached: CachedDatabase,
    clock: Arc<ManualClock>,
}

fn table() -> TableName {
    TableName::new("Tab").unwrap()
}

fn key(sk: &str) -> Item {
    Item::from([("pk", s("a")), ("sk", s(sk))])
}

fn item(sk: &str, v: &str) -> Item {
    Item::from([("pk", s("a")), ("sk", s(sk)), ("v", s(v))])
}

fn v(item: Option<&Item>) -> Option<String> {
    match item?.get("v")? {
        AttributeValue::S(text) => Some(text.clone()),
        other => panic!("{other:?}"),
    }
}

impl Both {
    fn new(options: CacheOptions) -> Self {
        let direct = memory();
        create_table(&*direct, TABLE);
        let clock = Arc::new(ManualClock::at(1_000_000));
        let cached = CachedDatabase::new(
            Arc::clone(&direct) as Arc<dyn Browse>,
            options,
            Arc::clone(&clock) as _,
        );
        Self {
            direct,
            cached,
            clock,
        }
    }

    fn put(&self, database: &dyn Database, sk: &str, value: &str) {
        database
            .put_item(PutItemRequest::new(table(), item(sk, value)))
            .unwrap();
    }

    fn get(&self, sk: &str) -> Option<String> {
        v(self
            .cached
            .get_item(GetItemRequest::new(table(), key(sk)))
            .unwrap()
            .item
            .as_ref())
    }

    fn get_consistent(&self, sk: &str) -> Option<String> {
        let request = GetItemRequest {
            consistent_read: true,
            ..GetItemRequest::new(table(), key(sk))
        };
        v(self.cached.get_item(request).unwrap().item.as_ref())
    }

    fn values(&self, request: &QueryRequest) -> Vec<String> {
        self.cached
            .query(request)
            .unwrap()
            .items
            .unwrap()
            .iter()
            .filter_map(|item| v(Some(item)))
            .collect()
    }
}

fn query() -> QueryRequest {
    let values = [(":pk".to_owned(), s("a"))].into();
    QueryRequest::new(
        table(),
        "pk = :pk",
        Placeholders {
            names: None,
            values: Some(values),
        },
    )
}

#[test]
fn s_01_an_item_is_stale_until_its_time_is_over_when_it_was_written_elsewhere() {
    let both = Both::new(CacheOptions {
        item_ttl_ms: 1000,
        ..CacheOptions::default()
    });
    both.put(&*both.direct, "1", "old");
    assert_eq!(both.get("1").as_deref(), Some("old"));
    both.put(&*both.direct, "1", "new");
    assert_eq!(both.get("1").as_deref(), Some("old"));
    assert_eq!(
        both.get_consistent("1").as_deref(),
        Some("new"),
        "a consistent read passes by"
    );
    assert_eq!(both.get("1").as_deref(), Some("old"), "and is not stored");
    both.clock.advance_ms(999);
    assert_eq!(both.get("1").as_deref(), Some("old"));
    both.clock.advance_ms(1);
    assert_eq!(both.get("1").as_deref(), Some("new"));
    let expected = CacheCounters {
        item_hits: 3,
        item_misses: 2,
        ..CacheCounters::default()
    };
    assert_eq!(both.cached.counters(), expected);
}

#[test]
fn an_item_time_of_0_is_for_ever_and_a_query_time_of_0_is_never() {
    let both = Both::new(CacheOptions {
        item_ttl_ms: 0,
        query_ttl_ms: 0,
        ..CacheOptions::default()
    });
    both.put(&*both.direct, "1", "old");
    assert_eq!(both.get("1").as_deref(), Some("old"));
    assert_eq!(both.values(&query()), ["old"]);
    both.put(&*both.direct, "1", "new");
    both.clock.advance_ms(u64::from(u32::MAX));
    assert_eq!(both.get("1").as_deref(), Some("old"));
    assert_eq!(both.values(&query()), ["new"]);
}

#[test]
fn that_there_is_no_item_is_cached_too() {
    let both = Both::new(CacheOptions::default());
    assert_eq!(both.get("1"), None);
    both.put(&*both.direct, "1", "x");
    assert_eq!(both.get("1"), None);
    both.put(&both.cached, "1", "y");
    assert_eq!(both.get("1").as_deref(), Some("y"));
    both.cached
        .delete_item(DeleteItemRequest::new(table(), key("1")))
        .unwrap();
    assert_eq!(both.get("1"), None);
    assert_eq!(
        both.cached.counters().item_misses,
        1,
        "what was written through is a hit"
    );
}

#[test]
fn every_write_through_the_cache_is_seen_by_the_next_read_of_the_item() {
    let both = Both::new(CacheOptions::default());
    let names = ["put", "update", "batch", "transaction"];
    for name in names {
        both.put(&*both.direct, name, "old");
        assert_eq!(both.get(name).as_deref(), Some("old"));
    }
    both.put(&both.cached, "put", "new");
    let values = Placeholders {
        names: None,
        values: Some([(":v".to_owned(), s("new"))].into()),
    };
    let set = UpdateParameter::Expression("SET v = :v".to_owned());
    both.cached
        .update_item(UpdateItemRequest::new(table(), key("update"), set, values))
        .unwrap();
    let writes = TableWrites {
        table_name: table(),
        requests: vec![WriteRequest::Put(item("batch", "new"))],
    };
    both.cached
        .batch_write_item(BatchWriteItemRequest {
            request_items: vec![writes],
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        })
        .unwrap();
    both.cached
        .transact_write_items(TransactWriteItemsRequest {
            transact_items: vec![TransactWrite::new(
                table(),
                TransactAction::Put {
                    item: item("transaction", "new"),
                },
            )],
            fault: None,
            client_request_token: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        })
        .unwrap();
    for name in names {
        assert_eq!(both.get(name).as_deref(), Some("new"), "{name}");
    }
}

#[test]
fn a_write_that_fails_leaves_what_is_true() {
    let both = Both::new(CacheOptions::default());
    both.put(&both.cached, "1", "old");
    let mut request = PutItemRequest::new(table(), item("1", "new"));
    request.condition = ConditionParameter::Expression("attribute_not_exists(pk)".to_owned());
    assert!(both.cached.put_item(request).is_err());
    assert_eq!(both.get("1").as_deref(), Some("old"));
}

#[test]
fn an_answer_of_query_or_scan_is_not_touched_by_writes() {
    let both = Both::new(CacheOptions {
        query_ttl_ms: 1000,
        ..CacheOptions::default()
    });
    both.put(&both.cached, "1", "one");
    let scan = ScanRequest {
        select: Some(Select::Count),
        ..ScanRequest::new(table())
    };
    let count = || both.cached.scan(&scan).unwrap().page.count;
    assert_eq!(
        (both.values(&query()), count()),
        (vec!["one".to_owned()], 1)
    );
    both.put(&both.cached, "2", "two");
    assert_eq!(
        (both.values(&query()), count()),
        (vec!["one".to_owned()], 1),
        "stale"
    );
    let other = QueryRequest {
        scan_index_forward: false,
        ..query()
    };
    assert_eq!(
        both.values(&other),
        ["two", "one"],
        "another request is another answer"
    );
    let consistent = QueryRequest {
        consistent_read: true,
        ..query()
    };
    assert_eq!(both.values(&consistent), ["one", "two"]);
    both.clock.advance_ms(1000);
    assert_eq!(
        (both.values(&query()), count()),
        (vec!["one".to_owned(), "two".to_owned()], 2)
    );
    let answers = both.cached.counters();
    assert_eq!((answers.query_hits, answers.query_misses), (2, 5));
}

#[test]
fn a_hit_consumes_nothing() {
    let both = Both::new(CacheOptions::default());
    both.put(&*both.direct, "1", "x");
    let units = || {
        both.cached
            .query(&query())
            .unwrap()
            .page
            .consumed_capacity
            .total()
    };
    assert_eq!((units(), units()), (0.5, 0.0));
    let request = || GetItemRequest {
        return_consumed_capacity: ReturnConsumedCapacity::Total,
        ..GetItemRequest::new(table(), key("1"))
    };
    let units = || {
        both.cached
            .get_item(request())
            .unwrap()
            .consumed_capacity
            .total()
    };
    assert_eq!((units(), units()), (0.5, 0.0));
}

#[test]
fn a_batch_reads_only_what_is_not_there() {
    let both = Both::new(CacheOptions::default());
    both.put(&*both.direct, "1", "one");
    both.put(&*both.direct, "2", "two");
    assert_eq!(both.get("1").as_deref(), Some("one"));
    both.put(&*both.direct, "1", "new");
    let batch = |consistent_read| {
        let keys = TableKeys {
            consistent_read,
            ..TableKeys::new(table(), vec![key("1"), key("2"), key("3")])
        };
        let request = BatchGetItemRequest {
            request_items: vec![keys],
            fault: None,
            return_consumed_capacity: ReturnConsumedCapacity::Total,
        };
        let response = both.cached.batch_get_item(&request).unwrap();
        let mut found: Vec<String> = response.responses[0]
            .iter()
            .filter_map(|item| v(Some(item)))
            .collect();
        found.sort();
        (found, response.page.consumed_capacity[0].total())
    };
    assert_eq!(
        batch(false),
        (vec!["one".to_owned(), "two".to_owned()], 1.0)
    );
    assert_eq!(
        batch(false),
        (vec!["one".to_owned(), "two".to_owned()], 0.0),
        "the missing one as well"
    );
    assert_eq!(batch(true), (vec!["new".to_owned(), "two".to_owned()], 3.0));
}

#[test]
fn a_table_made_anew_begins_empty() {
    let both = Both::new(CacheOptions::default());
    both.put(&both.cached, "1", "x");
    assert_eq!(
        (both.get("1").as_deref(), both.values(&query()).len()),
        (Some("x"), 1)
    );
    both.cached
        .delete_table(DeleteTableRequest::new(table()))
        .unwrap();
    create_table(&*both.direct, TABLE);
    assert_eq!((both.get("1"), both.values(&query()).len()), (None, 0));
}

#[test]
fn the_least_recently_used_is_pushed_out() {
    // Three entries of about 110 bytes fit.
    let both = Both::new(CacheOptions {
        bytes: 400,
        ..CacheOptions::default()
    });
    for sk in ["1", "2", "3"] {
        both.put(&both.cached, sk, "old");
    }
    assert_eq!(both.get("1").as_deref(), Some("old"));
    both.put(&both.cached, "4", "old");
    for sk in ["1", "2", "3", "4"] {
        both.put(&*both.direct, sk, "new");
    }
    assert_eq!(both.get("1").as_deref(), Some("old"));
    assert_eq!(both.get("4").as_deref(), Some("old"));
    assert_eq!(
        both.get("2").as_deref(),
        Some("new"),
        "the one not asked for longest"
    );
}

#[test]
fn a_slow_read_does_not_bring_back_what_a_write_replaced() {
    let both = Both::new(CacheOptions::default());
    let both = Arc::new(both);
    both.put(&*both.direct, "1", "0");
    let writer = {
        let both = Arc::clone(&both);
        std::thread::spawn(move || {
            (1..=500).for_each(|n: u32| both.put(&both.cached, "1", &n.to_string()))
        })
    };
    let reader = {
        let both = Arc::clone(&both);
        std::thread::spawn(move || {
            for _ in 0..2000 {
                // Misses, to have reads under way while the writer writes.
                both.clock
                    .advance_ms(ddbfs::database::cached::TTL_MS_DEFAULT);
                both.get("1");
            }
        })
    };
    writer.join().unwrap();
    reader.join().unwrap();
    assert_eq!(both.get("1").as_deref(), Some("500"));
}

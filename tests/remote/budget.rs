//! What may be spent holds, and what was spent is told.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ddbfs::codec::metrics::{capacity, prices};
use ddbfs::database::cancel::CancelToken;
use ddbfs::database::layout::Layout;
use ddbfs::database::remote::budget::RemoteLayout;
use ddbfs::database::remote::budget::{MeteredTransport, SpendLimits};
use ddbfs::database::remote::{AnswerBody, Transport};
use ddbfs::model::error::RemoteError;
use ddbfs::model::prices::RateOption;
use ddbfs::model::{Error, TableName};
use serde_json::{Value, json};

use crate::support::http;
use crate::support::proxy::{Proxy, Trouble};
use crate::transport::{PATIENT, call, key, ok, put, server, server_of, service};

const FREE: SpendLimits = SpendLimits {
    reads: RateOption::Unlimited,
    writes: RateOption::Unlimited,
    money: None,
    timeout: PATIENT,
};
/// So few a second that nothing is made up for during a test.
const HARDLY_ANY: f64 = 0.000_1;

fn meter(url: &str, limits: SpendLimits) -> MeteredTransport {
    MeteredTransport::new(Arc::new(service(url, PATIENT)), limits, prices::built_in())
}

/// A put of so many units.
fn large(name: &str, units: usize) -> Value {
    let mut body = put(name, 1);
    body["Item"]["x"] = json!({ "S": "x".repeat(units * 1024 - 100) });
    body["ReturnConsumedCapacity"] = "INDEXES".into();
    body
}

/// It was refused as throttled, by that option.
#[track_caller]
fn refused(answer: Result<Value, Error>, option: &str) {
    match answer.unwrap_err() {
        Error::Remote(error) if error.exception == "ThrottlingException" => {
            assert!(
                error.message.starts_with(option) && error.message.contains("--timeout"),
                "{}",
                error.message
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn units_that_were_lent_are_made_up_for_before_the_next_request() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let timeout = Duration::from_secs(5);
    let meter = meter(
        &proxy.url(),
        SpendLimits {
            reads: RateOption::Units(HARDLY_ANY),
            writes: RateOption::Units(HARDLY_ANY),
            money: None,
            timeout,
        },
    );
    ok(&meter, "PutItem", &large("Rex", 7));
    refused(call(&meter, "PutItem", &large("Rex", 1)), "--max-wcu");
    // Reads are another matter, and what takes no units none.
    ok(&meter, "GetItem", &key("Rex"));
    refused(call(&meter, "GetItem", &key("Rex")), "--max-rcu");
    ok(&meter, "DescribeTable", &json!({ "TableName": "Pets" }));
    assert_eq!(
        proxy.take_operations(),
        ["PutItem", "GetItem", "DescribeTable"]
    );
    assert_eq!((meter.spent().write, meter.spent().throttles), (7.0, 2));
    server.shutdown();
}

#[test]
fn many_at_a_time_keep_the_rate() {
    let server = server();
    let meter = meter(
        &format!("http://{}", server.local_addr()),
        SpendLimits {
            writes: RateOption::Units(40.0),
            ..FREE
        },
    );
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let meter = &meter;
            scope.spawn(move || {
                (0..5)
                    .for_each(|at| drop(ok(meter, "PutItem", &large(&format!("{thread}.{at}"), 5))))
            });
        }
    });
    // 100 units; a second's worth is there at first, and the last requests at a time need not be made up for.
    assert!(
        begun.elapsed() >= Duration::from_secs_f64((100.0 - 40.0 - 4.0 * 5.0) / 40.0),
        "{:?}",
        begun.elapsed()
    );
    assert!((meter.spent().write - 100.0).abs() < 1e-9);
    server.shutdown();
}

/// Many ask at once, before anything is answered: how each fared. A page takes 128 units.
fn at_once(limits: SpendLimits) -> Vec<Result<AnswerBody, Error>> {
    const READERS: usize = 8;
    struct Held(Mutex<Receiver<()>>);
    impl Transport for Held {
        fn call(
            &self,
            _caller: &CancelToken,
            _operation: &'static str,
            _body: &[u8],
        ) -> Result<AnswerBody, Error> {
            self.0.lock().unwrap().recv().unwrap();
            Ok(
                br#"{"ConsumedCapacity":{"TableName":"Pets","CapacityUnits":128}}"#
                    .to_vec()
                    .into(),
            )
        }
    }
    let (release, released) = channel();
    let meter = MeteredTransport::new(
        Arc::new(Held(Mutex::new(released))),
        limits,
        prices::built_in(),
    );
    std::thread::scope(|scope| {
        let (ended, ends) = channel();
        for _ in 0..READERS {
            let (meter, ended) = (&meter, ended.clone());
            scope.spawn(move || {
                ended
                    .send(meter.call(&CancelToken::Never, "Scan", br#"{"TableName":"Pets"}"#))
                    .unwrap()
            });
        }
        // All but one give up while that is held.
        let mut fared: Vec<_> = (1..READERS)
            .map_while(|_| ends.recv_timeout(Duration::from_secs(60)).ok())
            .collect();
        (0..READERS).for_each(|_| release.send(()).unwrap());
        fared.extend((fared.len()..READERS).map(|_| ends.recv().unwrap()));
        fared
    })
}

#[test]
fn however_many_ask_at_a_time_the_limits_are_passed_by_one_page() {
    let soon = Duration::from_millis(200);
    let money = Some(prices::built_in().read_cost(100.0));
    for (limits, option) in [
        (
            SpendLimits {
                reads: RateOption::Units(100.0),
                timeout: soon,
                ..FREE
            },
            "--max-rcu 100 is used up",
        ),
        (
            SpendLimits {
                money,
                timeout: soon,
                ..FREE
            },
            "--budget is used up",
        ),
    ] {
        let fared = at_once(limits);
        assert_eq!(
            fared.iter().filter(|answer| answer.is_ok()).count(),
            1,
            "{fared:?}"
        );
        let refused = fared.iter().filter_map(|answer| answer.as_ref().err());
        refused.for_each(|error| assert!(error.to_string().starts_with(option), "{error}"));
    }
}

#[test]
fn when_the_budget_is_used_up_only_what_costs_nothing_is_asked() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    // Three write units on demand.
    let money = 3.0 * prices::built_in().write_cost(1.0);
    let meter = meter(
        &proxy.url(),
        SpendLimits {
            money: Some(money),
            ..FREE
        },
    );
    (0..3).for_each(|at| drop(ok(&meter, "PutItem", &large("Rex", 1 + at / 2))));
    proxy.take_operations();
    for operation in [
        "PutItem",
        "GetItem",
        "GetRecords",
        "CreateBackup",
        "CreateTable",
        "NeverHeardOf",
    ] {
        match call(&meter, operation, &large("Rex", 1)).unwrap_err() {
            Error::Budget(sentence) => {
                assert!(
                    sentence.contains("used up")
                        && sentence.contains("4 write units")
                        && sentence.contains("--budget"),
                    "{sentence}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(proxy.take_operations().is_empty());
    for operation in ["ListTables", "DescribeTable", "DescribeTimeToLive"] {
        let table = if operation == "ListTables" {
            json!({})
        } else {
            json!({ "TableName": "Pets" })
        };
        ok(&meter, operation, &table);
    }
    assert_eq!(proxy.take_operations().len(), 3);
    server.shutdown();
}

#[test]
fn failed_conditions_cost_and_throttled_requests_are_counted() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let throttled = Trouble::Answer(
        400,
        r#"{"__type":"x#ThrottlingException","message":"Slow down."}"#,
    );
    let impatient = MeteredTransport::new(
        Arc::new(service(&proxy.url(), Duration::from_secs(4))),
        FREE,
        prices::built_in(),
    );
    let mut body = put("Rex", 1);
    body["ConditionExpression"] = "attribute_exists(p)".into();
    assert!(matches!(
        call(&impatient, "PutItem", &body),
        Err(Error::ConditionalCheckFailed { .. })
    ));
    assert_eq!(impatient.spent().write, 1.0);
    proxy.always(Some(throttled));
    let error = call(&impatient, "PutItem", &body).unwrap_err();
    assert!(
        matches!(&error, Error::Remote(error) if matches!(&**error, RemoteError { exception: "ThrottlingException", .. })),
        "{error}"
    );
    // Each time that it was said: the request was repeated as long as there was time.
    let spent = impatient.spent();
    assert!(spent.write == 1.0 && spent.throttles >= 1, "{spent:?}");
    server.shutdown();
}

#[test]
fn what_was_spent_is_told_by_table_and_index() {
    let server = server_of(http::engine());
    let limits = SpendLimits {
        reads: RateOption::Units(1_000.0),
        money: Some(2.0),
        ..FREE
    };
    let meter = Arc::new(meter(&format!("http://{}", server.local_addr()), limits));
    let index = json!({
        "TableName": "Pots",
        "AttributeDefinitions": [{ "AttributeName": "p", "AttributeType": "S" }, { "AttributeName": "g", "AttributeType": "S" }],
        "KeySchema": [{ "AttributeName": "p", "KeyType": "HASH" }],
        "GlobalSecondaryIndexes": [{
            "IndexName": "byG",
            "KeySchema": [{ "AttributeName": "g", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "ALL" },
        }],
        "BillingMode": "PAY_PER_REQUEST",
    });
    ok(&*meter, "CreateTable", &index);
    let item = json!({ "TableName": "Pots", "Item": { "p": { "S": "a" }, "g": { "S": "b" } }, "ReturnConsumedCapacity": "INDEXES" });
    ok(&*meter, "PutItem", &item);
    let query = json!({
        "TableName": "Pots",
        "IndexName": "byG",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": { ":g": { "S": "b" } },
        "ReturnConsumedCapacity": "INDEXES",
    });
    ok(&*meter, "Query", &query);
    let layout = RemoteLayout::new(Arc::clone(&meter));
    let metrics = layout
        .metrics(&[
            TableName::new("Pots").unwrap(),
            TableName::new("Nowhere").unwrap(),
        ])
        .unwrap();
    let told = capacity::render(&metrics, &metrics.tables[0], layout.prices());
    let source = |at: usize| {
        (
            &told["sources"][at]["kind"],
            &told["sources"][at]["since_start"],
            &told["sources"][at]["queries_last_day"],
        )
    };
    let units =
        |read: f64, write: f64| json!({ "read_units": read, "write_units": write, "throttles": 0 });
    let (none, one) = (
        json!({ "requests": 0, "evaluated": 0, "returned": 0, "read_units": 0.0 }),
        json!({ "requests": 1, "evaluated": 1, "returned": 1, "read_units": 0.5 }),
    );
    assert_eq!(source(0), (&json!("table"), &units(0.0, 1.0), &none));
    assert_eq!(source(1), (&json!("gsi"), &units(0.5, 1.0), &one));
    assert_eq!(told["latency"]["since_start"]["requests"], 2);
    assert_eq!(
        (metrics.tables.len(), &told["sources"][0]["billing"]),
        (1, &json!("on demand"))
    );
    let all = capacity::render_all(
        &layout.all_metrics().unwrap(),
        layout.spent().as_ref(),
        layout.prices(),
    );
    assert_eq!(all["since_start"], units(0.5, 2.0));
    assert_eq!(
        (
            &all["limits"]["read_units_a_second"],
            &all["limits"]["budget"]
        ),
        (&json!(1_000.0), &json!(2.0))
    );
    server.shutdown();
}

#[test]
fn what_nobody_counts_passes() {
    struct Echo;
    impl Transport for Echo {
        fn call(
            &self,
            _caller: &CancelToken,
            _operation: &'static str,
            body: &[u8],
        ) -> Result<AnswerBody, Error> {
            Ok(body.to_vec().into())
        }
    }
    let meter = MeteredTransport::new(
        Arc::new(Echo),
        SpendLimits {
            reads: RateOption::Units(HARDLY_ANY),
            writes: RateOption::Units(HARDLY_ANY),
            ..FREE
        },
        prices::built_in(),
    );
    for _ in 0..3 {
        assert_eq!(
            meter
                .call(&CancelToken::Never, "GetRecords", b"not even JSON")
                .unwrap()
                .into_text(),
            b"not even JSON"
        );
    }
    assert_eq!(meter.spent().money, 0.0);
}

//! Requests through a proxy that makes trouble, to a server that checks each signature.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aws_credential_types::Credentials;
use ddbfs::database::Database;
use ddbfs::database::cancel::{CancelSource, CancelToken};
use ddbfs::database::remote::Transport;
use ddbfs::database::remote::aws::{AwsOptions, AwsTransport};
use ddbfs::http::{HttpOptions, RunningServer, Server};
use ddbfs::model::Error;
use serde_json::{Value, json};

use crate::support::http;
use crate::support::proxy::{Proxy, Trouble};

pub const THROTTLED: Trouble = Trouble::Answer(
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"Slow down."}"#,
);
const FAILED: &str =
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Ouch."}"#;
const KEYS: (&str, &str) = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG");
/// Long enough for every request that is answered, on a busy machine.
pub const PATIENT: Duration = Duration::from_secs(60);

/// A server that lets one key in, with the table `Pets`.
pub fn server() -> RunningServer {
    server_of(http::engine())
}

/// The same of a database that is there.
pub fn server_of(database: Arc<dyn Database>) -> RunningServer {
    let credentials = Some(format!("{}:{}", KEYS.0, KEYS.1).parse().unwrap());
    let server = Server::start(
        HttpOptions {
            credentials,
            ..http::options()
        },
        database,
    )
    .unwrap();
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Pets",
            "AttributeDefinitions": [{ "AttributeName": "p", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "p", "KeyType": "HASH" }],
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    server
}

pub fn service(url: &str, timeout: Duration) -> AwsTransport {
    let keys = Some(Credentials::from_keys(KEYS.0, KEYS.1, None));
    AwsTransport::open(&AwsOptions {
        endpoint: Some(url.to_owned()),
        keys,
        timeout,
        ..AwsOptions::default()
    })
    .unwrap()
}

pub fn call(
    service: &dyn Transport,
    operation: &'static str,
    body: &Value,
) -> Result<Value, Error> {
    call_for(&CancelToken::Never, service, operation, body)
}

pub fn call_for(
    caller: &CancelToken,
    service: &dyn Transport,
    operation: &'static str,
    body: &Value,
) -> Result<Value, Error> {
    let answer = service.call(caller, operation, body.to_string().as_bytes());
    answer.map(|answer| serde_json::from_slice(&answer.into_text()).unwrap())
}

#[track_caller]
pub fn ok(service: &dyn Transport, operation: &'static str, body: &Value) -> Value {
    call(service, operation, body).unwrap()
}

pub fn put(name: &str, age: u32) -> Value {
    json!({ "TableName": "Pets", "Item": { "p": { "S": name }, "age": { "N": age.to_string() } } })
}

pub fn key(name: &str) -> Value {
    json!({ "TableName": "Pets", "Key": { "p": { "S": name } }, "ConsistentRead": true })
}

fn older(name: &str) -> Value {
    json!({
        "TableName": "Pets",
        "Key": { "p": { "S": name } },
        "UpdateExpression": "ADD age :one",
        "ExpressionAttributeValues": { ":one": { "N": "1" } },
    })
}

fn age(service: &dyn Transport, name: &str) -> Value {
    ok(service, "GetItem", &key(name))["Item"]["age"]["N"].clone()
}

#[test]
fn signed_requests_are_let_in_and_others_are_not() {
    let server = server();
    let url = format!("http://{}", server.local_addr());
    let aws = service(&url, PATIENT);
    ok(&aws, "PutItem", &put("Rex", 3));
    assert_eq!(age(&aws, "Rex"), "3");
    ok(&aws, "ListStreams", &json!({}));
    let keys = Some(Credentials::from_keys(KEYS.0, "another", None));
    let stranger = AwsTransport::open(&AwsOptions {
        endpoint: Some(url),
        keys,
        ..AwsOptions::default()
    })
    .unwrap();
    let error = call(&stranger, "GetItem", &key("Rex")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("signature we calculated does not match"),
        "{error}"
    );
    server.shutdown();
}

#[test]
fn trouble_on_the_way_does_not_show() {
    let (server, troubles) = (
        server(),
        [
            Trouble::Late(Duration::from_millis(50)),
            Trouble::CutBefore,
            Trouble::CutAfter,
            Trouble::CutInside,
            Trouble::Garbled,
            Trouble::Answer(500, FAILED),
            Trouble::Answer(503, "<html>busy</html>"),
            THROTTLED,
        ],
    );
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), PATIENT);
    for (at, trouble) in (0_u32..).zip(&troubles) {
        proxy.next(&[trouble.clone(), trouble.clone()]);
        ok(&aws, "PutItem", &put("Rex", at));
        proxy.next(std::slice::from_ref(trouble));
        assert_eq!(age(&aws, "Rex"), at.to_string(), "{trouble:?}");
    }
    // Once each, and for each trouble but the delay as often again as there was trouble.
    assert_eq!(
        proxy.take_operations().len(),
        2 * troubles.len() + 3 * (troubles.len() - 1)
    );
    server.shutdown();
}

#[test]
fn what_the_service_refuses_is_asked_once() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), PATIENT);
    let error = call(
        &aws,
        "GetItem",
        &json!({ "TableName": "Pots", "Key": { "p": { "S": "Rex" } } }),
    )
    .unwrap_err();
    assert_eq!(error, Error::ResourceNotFound);
    let conditional = json!({ "ConditionExpression": "attribute_exists(nothing)" });
    let body = put("Rex", 1)
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .chain(conditional.as_object().unwrap().clone())
        .collect();
    assert_eq!(
        call(&aws, "PutItem", &Value::Object(body)).unwrap_err(),
        Error::ConditionalCheckFailed { item: None }
    );
    assert_eq!(proxy.take_operations(), ["GetItem", "PutItem"]);
    server.shutdown();
}

#[test]
fn an_update_is_never_done_twice() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), PATIENT);
    ok(&aws, "PutItem", &put("Rex", 1));
    // Nothing was done: asked again.
    proxy.next(&[THROTTLED, Trouble::Answer(503, "{}")]);
    ok(&aws, "UpdateItem", &older("Rex"));
    assert_eq!(age(&aws, "Rex"), "2");
    proxy.take_operations();
    for trouble in [
        Trouble::CutAfter,
        Trouble::Instead(500, FAILED),
        Trouble::CutInside,
    ] {
        proxy.next(&[trouble]);
        let error = call(&aws, "UpdateItem", &older("Rex")).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("whether UpdateItem was done is not known"),
            "{error}"
        );
    }
    assert_eq!(proxy.take_operations(), ["UpdateItem"; 3]);
    assert_eq!(age(&aws, "Rex"), "5");
    server.shutdown();
}

#[test]
fn a_conditional_write_that_was_done_succeeds_though_its_answer_got_lost() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), PATIENT);
    let mut new = put("Rex", 1);
    new["ConditionExpression"] = "attribute_not_exists(p)".into();
    proxy.next(&[Trouble::CutAfter]);
    ok(&aws, "PutItem", &new);
    assert_eq!(age(&aws, "Rex"), "1");
    // Somebody else's item is not taken for ours.
    new["Item"]["age"]["N"] = "2".into();
    proxy.next(&[Trouble::CutBefore]);
    assert_eq!(
        call(&aws, "PutItem", &new).unwrap_err(),
        Error::ConditionalCheckFailed { item: None }
    );
    let mut gone = key("Rex");
    gone.as_object_mut().unwrap().remove("ConsistentRead");
    gone["ConditionExpression"] = "attribute_exists(p)".into();
    proxy.next(&[Trouble::Instead(500, FAILED)]);
    ok(&aws, "DeleteItem", &gone);
    assert_eq!(age(&aws, "Rex"), Value::Null);
    server.shutdown();
}

#[test]
fn a_transaction_is_done_once() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), PATIENT);
    ok(&aws, "PutItem", &put("Rex", 1));
    let body = json!({ "TransactItems": [{ "Update": older("Rex") }] });
    proxy.next(&[Trouble::CutAfter, Trouble::Instead(500, FAILED)]);
    ok(&aws, "TransactWriteItems", &body);
    assert_eq!(age(&aws, "Rex"), "2");
    server.shutdown();
}

#[test]
fn a_service_that_keeps_throttling_is_told_of_in_its_words() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    proxy.always(Some(THROTTLED));
    let aws = service(&proxy.url(), Duration::from_millis(500));
    let error = call(&aws, "GetItem", &key("Rex")).unwrap_err();
    assert_eq!(error.exception(), "ProvisionedThroughputExceededException");
    assert!(
        error.to_string().starts_with("Slow down. (http://"),
        "{error}"
    );
    assert!(proxy.take_operations().len() > 1);
    proxy.always(None);
    // What it said last counts, though the time ends within an attempt: half of it may pass in silence.
    let aws = service(&proxy.url(), Duration::from_secs(2));
    proxy.next(&[Trouble::Silence, THROTTLED, Trouble::Silence]);
    let error = call(&aws, "GetItem", &key("Rex")).unwrap_err();
    assert_eq!(error.exception(), "ProvisionedThroughputExceededException");
    ok(&aws, "GetItem", &key("Rex"));
    server.shutdown();
}

#[test]
fn an_endpoint_that_goes_away_makes_errors_in_time_and_heals() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), Duration::from_secs(2));
    ok(&aws, "PutItem", &put("Rex", 1));
    proxy.be_gone(true);
    let begun = Instant::now();
    let error = call(&aws, "GetItem", &key("Rex")).unwrap_err();
    // It must not hang: ten times what it may take is for busy machines.
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(
        error
            .to_string()
            .contains("there is no answer of the service"),
        "{error}"
    );
    proxy.be_gone(false);
    assert_eq!(age(&aws, "Rex"), "1");
    proxy.always(Some(Trouble::Silence));
    let error = call(&aws, "GetItem", &key("Rex")).unwrap_err();
    assert!(
        error.to_string().contains("no word came in")
            && error.to_string().contains("asked 2 times"),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(40));
    proxy.always(None);
    assert_eq!(age(&aws, "Rex"), "1");
    server.shutdown();
}

#[test]
fn nobody_at_the_address_is_an_error_that_names_it() {
    let address = crate::support::daemon::free_address();
    // Long enough that a busy machine is not taken for a service without an answer.
    let aws = service(&format!("http://{address}"), Duration::from_secs(3));
    let error = call(&aws, "UpdateItem", &older("Rex"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("refused") && error.contains(&address) && !error.contains("not known"),
        "{error}"
    );
}

#[test]
fn a_clock_that_is_wrong_is_corrected_by_the_service_s() {
    const EXPIRED: &str = r#"{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"Signature expired: x is now earlier than y"}"#;
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), PATIENT);
    ok(&aws, "PutItem", &put("Rex", 1));
    proxy.take_operations();
    // Who says so is believed: the next try is of that time, which is too late for the server.
    proxy.next(&[Trouble::AnswerAt(
        "Fri, 01 Jan 2100 00:00:00 GMT",
        403,
        EXPIRED,
    )]);
    let error = call(&aws, "UpdateItem", &older("Rex"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("Signature not yet current: 2") && error.contains("is still later than"),
        "{error}"
    );
    // It says its own time with that.
    ok(&aws, "UpdateItem", &older("Rex"));
    assert_eq!(age(&aws, "Rex"), "2");
    assert_eq!(
        proxy.take_operations(),
        [
            "UpdateItem",
            "UpdateItem",
            "UpdateItem",
            "UpdateItem",
            "GetItem"
        ]
    );
    server.shutdown();
}

/// Set by the test below alone.
static IS_GONE: AtomicBool = AtomicBool::new(false);

#[test]
fn who_is_killed_does_not_wait() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    proxy.always(Some(Trouble::Silence));
    let aws = service(&proxy.url(), Duration::from_secs(600));
    let waiter =
        CancelSource::default().token(1, |_| !IS_GONE.load(Ordering::SeqCst), |thread| thread);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| call_for(&waiter, &aws, "GetItem", &key("Rex")));
        crate::support::wait::until("the request comes", || !proxy.take_operations().is_empty());
        IS_GONE.store(true, Ordering::SeqCst);
        assert_eq!(waiting.join().unwrap().unwrap_err(), Error::Interrupted);
    });
    server.shutdown();
}

//! The HTTP front end over real sockets: routing, headers, limits, errors, life and end of connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use crate::support::http::{
    SIGNATURE, SOON, api, call, engine, exchange, ok, options, raw, read_answer, start, start_with,
};
use ddbfs::database::{BatchRowSink, Database, RowSink};
use ddbfs::http::{HttpOptions, Server};
use ddbfs::model::api::*;
use ddbfs::model::error::StreamError;
use ddbfs::model::{AttributeValue, Error, Item};
use serde_json::{Value, json};

#[test]
fn requests_are_routed_in_the_service_s_order() {
    let server = start();
    let addr = server.local_addr();
    let check = |request: Vec<u8>, status: u16, body: &str| {
        let answer = exchange(addr, &request);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{}",
            String::from_utf8_lossy(&request)
        );
    };
    let xml = "<UnknownOperationException/>\n";
    let serialization = r#"{"__type":"com.amazon.coral.service#SerializationException"}"#;
    let unknown = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
    let json = ("Content-Type", "application/x-amz-json-1.0");
    let put = ("X-Amz-Target", "DynamoDB_20120810.PutItem");
    check(
        raw("GET /", &[], ""),
        200,
        "healthy: dynamodb.us-east-1.amazonaws.com ",
    );
    check(raw("GET /x", &[], ""), 404, xml);
    check(raw("PUT /", &[], "{}"), 404, xml);
    check(raw("OPTIONS /", &[], ""), 404, xml);
    check(raw("POST /x", &[json], "{}"), 404, xml);
    check(
        raw("POST /", &[("Content-Type", "text/plain"), put], "{}"),
        404,
        xml,
    );
    check(raw("POST /", &[put], "{}"), 404, xml);
    check(raw("POST /", &[json, put], "{"), 400, serialization);
    check(raw("POST /", &[json, put], "{}{}"), 400, serialization);
    check(raw("POST /", &[json], ""), 400, unknown);
    check(raw("POST /", &[json], "{}"), 400, unknown);
    check(
        raw(
            "POST /",
            &[json, ("X-Amz-Target", "DynamoDB_20120810.Nothing")],
            "{}",
        ),
        400,
        unknown,
    );
    check(
        raw("POST /", &[json, put], "{}"),
        400,
        r#"{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"}"#,
    );
    check(api("PutItem", ""), 400, serialization);
    check(api("PutItem", "[]"), 400, serialization);
    check(api("PutItem", "\u{feff}{}"), 400, serialization);
    check(
        api("PutItem", r#"{"TableName":"\ud800"}"#),
        400,
        serialization,
    );
    let deep = "[".repeat(100_000);
    check(api("PutItem", &deep), 400, serialization);
    check(
        api("PutItem", r#"{"TableName": 5}"#),
        400,
        r#"{"__type":"com.amazon.coral.service#SerializationException","Message":"NUMBER_VALUE cannot be converted to String"}"#,
    );
    check(
        api("PutItem", r#"{"TableName": "a;b"}"#),
        400,
        r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"1 validation error detected: Value 'a;b' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"}"#,
    );
    check(
        api("DescribeTable", r#"{"TableName": "abc"}"#),
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found: Table: abc not found"}"#,
    );
    server.shutdown();
}

#[test]
fn every_answer_carries_the_service_s_headers() {
    let server = start();
    let addr = server.local_addr();
    let mut ids = std::collections::HashSet::new();
    for request in [
        api("ListTables", "{}"),
        api("Nothing", "{}"),
        raw("GET /", &[], ""),
        raw("PATCH /", &[], ""),
    ] {
        let answer = exchange(addr, &request);
        let id = answer.headers["x-amzn-requestid"].clone();
        assert!(
            id.len() == 52
                && id
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()),
            "{id}"
        );
        assert!(ids.insert(id));
        assert_eq!(
            answer.headers["x-amz-crc32"],
            crc32fast::hash(&answer.body).to_string()
        );
        assert_eq!(answer.headers["server"], "Server");
        assert!(answer.headers.contains_key("date"));
    }
    let typed = |content_type: &str| {
        let headers = [
            ("Content-Type", content_type),
            ("X-Amz-Target", "DynamoDB_20120810.ListTables"),
        ];
        exchange(addr, &raw("POST /", &headers, "{}")).headers["content-type"].clone()
    };
    assert_eq!(
        typed("application/x-amz-json-1.0"),
        "application/x-amz-json-1.0"
    );
    assert_eq!(typed("application/json; charset=utf-8"), "application/json");
}

#[test]
fn metrics_are_told_to_who_may_ask() {
    let server = start();
    let addr = server.local_addr();
    exchange(addr, &api("PutItem", "{}"));
    let answer = exchange(addr, &raw("GET /metrics", &[], ""));
    assert_eq!(
        (answer.status, answer.headers["content-type"].as_str()),
        (200, "text/plain; charset=utf-8")
    );
    // A body without its members is refused before it comes to the database, and counted.
    assert!(
        answer
            .text()
            .lines()
            .any(|line| line == "ddbfs_user_errors_total 1"),
        "{}",
        answer.text()
    );
    let credentials = Some("key:secret".parse().unwrap());
    let server = Server::start(
        HttpOptions {
            credentials,
            ..options()
        },
        engine(),
    )
    .unwrap();
    let answer = exchange(server.local_addr(), &raw("GET /metrics", &[], ""));
    assert_eq!(
        (answer.status, answer.text().contains("stats.prom")),
        (403, true)
    );
}

#[test]
fn foreign_hosts_and_pages_are_refused() {
    let allowed = HttpOptions {
        allowed_origins: vec!["https://app.example".to_owned()],
        ..options()
    };
    let server = Server::start(allowed, engine()).unwrap();
    let addr = server.local_addr();
    let check = |headers: &[(&str, &str)], status: u16, body: &str| {
        let answer = exchange(addr, &raw("GET /", headers, ""));
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{headers:?}"
        );
    };
    let healthy = "healthy: dynamodb.us-east-1.amazonaws.com ";
    check(&[("Host", "localhost:8000")], 200, healthy);
    check(
        &[("Host", "evil.example")],
        403,
        "The host \"evil.example\" is not served here; start ddbfs with --http-allow-host HOST if it is a name of this machine.",
    );
    check(&[("Host", "")], 403, "The request has no Host header.");
    check(
        &[("Origin", "https://evil.example")],
        403,
        "Web pages of \"https://evil.example\" may not use this server; start ddbfs with --http-allow-origin ORIGIN to allow them.",
    );
    check(&[("Origin", "https://app.example")], 200, healthy);
    check(&[("Origin", "http://localhost:3000")], 200, healthy);
    let headers = [
        ("Origin", "http://localhost:3000"),
        ("Access-Control-Request-Headers", "x-amz-target"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let preflight = exchange(addr, &raw("OPTIONS /", &headers, ""));
    assert_eq!((preflight.status, preflight.body.len()), (200, 0));
    assert_eq!(preflight.headers["access-control-allow-origin"], "*");
    assert_eq!(preflight.headers["access-control-max-age"], "172800");
    assert_eq!(
        preflight.headers["access-control-allow-headers"],
        "x-amz-target"
    );
    assert_eq!(preflight.headers["access-control-allow-methods"], "POST");
    let foreign = exchange(
        addr,
        &raw("OPTIONS /", &[("Origin", "https://evil.example")], ""),
    );
    assert_eq!(foreign.status, 403);
    assert!(!foreign.headers.contains_key("access-control-allow-origin"));
}

#[test]
fn heads_and_bodies_have_limits() {
    let server = start();
    let addr = server.local_addr();
    let long = "a".repeat(17 * 1024);
    assert_eq!(
        exchange(addr, &raw("GET /", &[("X-Long", &long)], "")).status,
        400
    );
    let huge = "a".repeat(1024 * 1024);
    let refused = TcpStream::connect(addr).and_then(|mut stream| {
        stream.write_all(&raw("GET /", &[("X-Long", &huge)], ""))?;
        Ok(read_answer(&mut stream).status)
    });
    // The connection may break before all of it is written; then there is no answer to read.
    assert!(!matches!(refused, Ok(200)), "{refused:?}");
    let json = ("Content-Type", "application/x-amz-json-1.0");
    let announced = exchange(
        addr,
        &raw("POST /", &[json, ("Content-Length", "16777217")], ""),
    );
    assert_eq!(announced.status, 413);
    let mut stream = TcpStream::connect(addr).unwrap();
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    let chunk = format!("100000\r\n{}\r\n", "a".repeat(0x10_0000));
    let written = (0..16).try_for_each(|_| stream.write_all(chunk.as_bytes()));
    written
        .and_then(|()| stream.write_all(b"1\r\na\r\n"))
        .unwrap();
    assert_eq!(read_answer(&mut stream).status, 413);
}

#[test]
fn a_body_coded_for_the_way_is_not_taken_for_the_body_itself() {
    let server = start();
    for coding in [
        "gzip, chunked",
        "chunked, chunked",
        "identity, chunked",
        "gzip\r\nTransfer-Encoding: chunked",
    ] {
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: {coding}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let answer = read_answer(&mut stream);
        assert_eq!(answer.status, 501, "{coding}: {}", answer.text());
        assert!(
            answer.text().contains("Content-Encoding"),
            "{coding}: {}",
            answer.text()
        );
    }
    let many: String = (0..101)
        .map(|number| format!("X-{number}: a\r\n"))
        .collect();
    for (lines, status) in [("X-A: a\n", 200), (many.as_str(), 431)] {
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        stream
            .write_all(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n").as_bytes())
            .unwrap();
        assert_eq!(read_answer(&mut stream).status, status);
    }
}

#[test]
fn who_is_still_writing_too_much_hears_of_it() {
    let server = start();
    let piece = vec![b' '; 1 << 20];
    let pieces = 36;
    for length in [
        format!("Content-Length: {}", pieces << 20),
        "Transfer-Encoding: chunked".to_owned(),
    ] {
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\n{length}\r\nContent-Type: application/x-amz-json-1.0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A client that reads nothing before it has written all.
        for _ in 0..pieces {
            if length.starts_with('T') {
                stream
                    .write_all(b"100000\r\n")
                    .and_then(|()| stream.write_all(&piece))
                    .unwrap();
                stream.write_all(b"\r\n").unwrap();
            } else {
                stream.write_all(&piece).unwrap();
            }
        }
        assert_eq!(read_answer(&mut stream).status, 413, "{length}");
    }
}

#[test]
fn a_body_of_almost_16_mib_is_read() {
    let server = start();
    let padded = format!("{}{}", "{}", " ".repeat(16 * 1024 * 1024 - 2));
    let answer = exchange(server.local_addr(), &api("ListTables", &padded));
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (200, r#"{"TableNames":[]}"#)
    );
}

#[test]
fn connections_are_kept_and_requests_may_be_pipelined() {
    let server = start();
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    for _ in 0..3 {
        stream.write_all(&api("ListTables", "{}")).unwrap();
        assert_eq!(read_answer(&mut stream).status, 200);
    }
    let two = [
        api("ListTables", "{}"),
        api("DescribeTable", r#"{"TableName":"abc"}"#),
    ]
    .concat();
    stream.write_all(&two).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
    assert_eq!(read_answer(&mut stream).status, 400);
}

#[test]
fn a_client_that_expects_to_go_on_is_told_to() {
    let server = start();
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", "DynamoDB_20120810.ListTables"),
        ("Authorization", SIGNATURE),
        ("X-Amz-Date", "20260101T000000Z"),
        ("Expect", "100-continue"),
        ("Content-Length", "2"),
    ];
    stream.write_all(&raw("POST /", &headers, "")).unwrap();
    assert_eq!(read_answer(&mut stream).status, 100);
    stream.write_all(b"{}").unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
}

#[test]
fn a_silent_peer_is_left_and_a_resting_one_is_kept() {
    let server = start_with(|timeouts| timeouts.head = SOON);
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: loc").unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "");

    let server = start_with(|timeouts| timeouts.silence = SOON);
    let mut resting = TcpStream::connect(server.local_addr()).unwrap();
    resting.write_all(&api("ListTables", "{}")).unwrap();
    assert_eq!(read_answer(&mut resting).status, 200);
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream
        .write_all(&raw("POST /", &[("Content-Length", "10")], "{"))
        .unwrap();
    assert_eq!(read_answer(&mut stream).status, 408);
    resting.write_all(&api("ListTables", "{}")).unwrap();
    assert_eq!(read_answer(&mut resting).status, 200);
}

#[test]
fn only_loopback_unless_asked_for() {
    let open = HttpOptions::new("0.0.0.0:0".parse().unwrap());
    let refused = Server::start(open.clone(), engine()).unwrap_err();
    assert!(
        refused.to_string().contains("not a loopback address"),
        "{refused}"
    );
    let server = Server::start(
        HttpOptions {
            allow_non_loopback: true,
            ..open
        },
        engine(),
    )
    .unwrap();
    let addr = SocketAddr::from(([127, 0, 0, 1], server.local_addr().port()));
    assert_eq!(
        exchange(addr, &raw("GET /", &[("Host", "192.168.1.9:8000")], "")).status,
        200
    );
    assert_eq!(
        exchange(addr, &raw("GET /", &[("Host", "evil.example")], "")).status,
        403
    );
}

#[test]
fn shutdown_ends_idle_connections_and_frees_the_address() {
    let server = start();
    let addr = server.local_addr();
    let mut kept = TcpStream::connect(addr).unwrap();
    kept.write_all(&api("ListTables", "{}")).unwrap();
    assert_eq!(read_answer(&mut kept).status, 200);
    server.shutdown();
    let mut rest = Vec::new();
    assert_eq!(kept.read_to_end(&mut rest).unwrap_or(0), 0);
    assert!(TcpStream::connect(addr).is_err());
}

#[test]
fn a_table_lives_from_creation_to_deletion() {
    let server = start();
    let addr = server.local_addr();
    let table = json!({
        "TableName": "Orders", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    });
    let created = ok(addr, "CreateTable", &table);
    assert_eq!(created["TableDescription"]["TableName"], json!("Orders"));
    assert_eq!(
        ok(addr, "ListTables", &json!({})),
        json!({"TableNames": ["Orders"]})
    );
    let item = |sk: u32| json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "text": {"S": "snow \u{2603} \u{1}"}});
    for sk in 1..=5 {
        let put = ok(
            addr,
            "PutItem",
            &json!({"TableName": "Orders", "Item": item(sk)}),
        );
        assert_eq!(put, json!({}));
    }
    let key = json!({"pk": {"S": "a"}, "sk": {"N": "3.0"}});
    let got = ok(
        addr,
        "GetItem",
        &json!({"TableName": "Orders", "Key": key, "ReturnConsumedCapacity": "TOTAL"}),
    );
    assert_eq!(
        got,
        json!({"Item": item(3), "ConsumedCapacity": {"TableName": "Orders", "CapacityUnits": 0.5}})
    );
    let query = json!({
        "TableName": "Orders", "KeyConditionExpression": "pk = :p AND sk > :s", "Limit": 2,
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":s": {"N": "2"}},
    });
    let page = ok(addr, "Query", &query);
    assert_eq!(
        (&page["Count"], &page["Items"]),
        (&json!(2), &json!([item(3), item(4)]))
    );
    assert_eq!(
        page["LastEvaluatedKey"],
        json!({"pk": {"S": "a"}, "sk": {"N": "4"}})
    );
    let count = ok(
        addr,
        "Scan",
        &json!({"TableName": "Orders", "Select": "COUNT"}),
    );
    assert_eq!(count, json!({"Count": 5, "ScannedCount": 5}));
    let deleted = ok(
        addr,
        "DeleteItem",
        &json!({"TableName": "Orders", "Key": key, "ReturnValues": "ALL_OLD"}),
    );
    assert_eq!(deleted, json!({"Attributes": item(3)}));
    let again = call(addr, "CreateTable", &table);
    assert_eq!(
        again.json()["__type"],
        json!("com.amazonaws.dynamodb.v20120810#ResourceInUseException")
    );
    let gone = ok(addr, "DeleteTable", &json!({"TableName": "Orders"}));
    assert_eq!(gone["TableDescription"]["TableStatus"], json!("DELETING"));
    let missing = call(addr, "GetItem", &json!({"TableName": "Orders", "Key": key}));
    assert_eq!(
        missing.text(),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}"#
    );
    server.shutdown();
}

#[test]
fn some_operations_prefix_some_texts() {
    let server = start();
    let addr = server.local_addr();
    let bad = json!({"pk": {"NULL": false}});
    let check = |operation: &str, body: Value, expected: &str| {
        assert_eq!(
            call(addr, operation, &body).json()["message"],
            json!(expected),
            "{operation}"
        );
    };
    let text = "One or more parameter values were invalid: Null attribute value types must have the value of true";
    check(
        "PutItem",
        json!({"TableName": "abc", "Item": bad}),
        &format!("1 validation error detected: {text}"),
    );
    check(
        "DeleteItem",
        json!({"TableName": "abc", "Key": bad}),
        &format!("1 validation error detected: {text}"),
    );
    check("GetItem", json!({"TableName": "abc", "Key": bad}), text);
}

/// A database that fails in the ways that a sound one does not.
struct Faulty;

impl Database for Faulty {
    fn start(&self, call: Call) {
        match call {
            Call::ListStreams(_, done) => done.complete(Err(StreamError::Trimmed.into())),
            Call::GetRecords(_, done) => done.complete(Err(StreamError::ExpiredIterator.into())),
            Call::DescribeTable(_, done) => done.complete(Err(Error::DeletionProtected)),
            Call::ListTables(_, done) => {
                done.complete(Ok(ListTablesResponse {
                    table_names: vec![],
                    last_evaluated_table_name: Some("abc".to_owned()),
                }));
            }
            Call::DeleteTable(_, done) => {
                done.complete(Err(Error::Store(ddbfs::store::StoreError::NoSpace)))
            }
            Call::PutItem(_, done) => {
                let item = Box::new(Item::from([("pk", AttributeValue::S("a".to_owned()))]));
                done.complete(Err(Error::ConditionalCheckFailed { item: Some(item) }));
            }
            Call::DeleteItem(..)
            | Call::UpdateItem(..)
            | Call::BatchWriteItem(..)
            | Call::TransactWriteItems(..) => drop(call),
            call => panic!("{}", call.name()),
        }
    }
    fn batch_get_rows(
        &self,
        _: &BatchGetItemRequest,
        _: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error> {
        panic!("batch get")
    }
    fn query_rows(&self, _: &QueryRequest, _: &mut RowSink<'_>) -> Result<Page, Error> {
        panic!("query")
    }
    fn scan_rows(&self, _: &ScanRequest, _: &mut RowSink<'_>) -> Result<Page, Error> {
        Err(Error::ItemCollectionSizeLimitExceeded)
    }
}

#[test]
fn failures_of_the_database_are_answers_and_the_server_lives() {
    let server = Server::start(options(), Arc::new(Faulty)).unwrap();
    let addr = server.local_addr();
    let check = |operation: &str, status: u16, body: &str| {
        let request = json!({
            "TableName": "abc", "Item": {}, "Key": {}, "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "AttributeDefinitions": [],
        });
        let answer = call(addr, operation, &request);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{operation}"
        );
    };
    let panic = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"ddbfs failed on this request; its log says where"}"#;
    for _ in 0..3 {
        check("GetItem", 500, panic);
        check("CreateTable", 500, panic);
    }
    check(
        "DeleteItem",
        500,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"the store is shutting down"}"#,
    );
    check(
        "DeleteTable",
        500,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"the disk is full; free some space and write again"}"#,
    );
    check(
        "PutItem",
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":{"pk":{"S":"a"}}}"#,
    );
    check(
        "Scan",
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ItemCollectionSizeLimitExceededException","message":"Collection size exceeded."}"#,
    );
    check(
        "ListTables",
        200,
        r#"{"LastEvaluatedTableName":"abc","TableNames":[]}"#,
    );
}

#[test]
fn an_answer_that_nobody_takes_ends_its_connection_only() {
    let server = start_with(|timeouts| timeouts.silence = SOON);
    let addr = server.local_addr();
    ok(
        addr,
        "CreateTable",
        &json!({
            "TableName": "Large", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        }),
    );
    for pk in 0..3 {
        let item = json!({"pk": {"N": pk.to_string()}, "text": {"S": "x".repeat(350_000)}});
        ok(
            addr,
            "PutItem",
            &json!({"TableName": "Large", "Item": item}),
        );
    }
    let mut stream = TcpStream::connect(addr).unwrap();
    let scan = api("Scan", r#"{"TableName":"Large"}"#);
    for _ in 0..40 {
        stream.write_all(&scan).unwrap();
    }
    assert_eq!(
        ok(addr, "ListTables", &json!({})),
        json!({"TableNames": ["Large"]})
    );
    // The server gives the connection up while shutting down, at the latest.
    server.shutdown();
}

#[test]
fn a_member_given_twice_is_refused() {
    let server = start();
    let bodies = [
        r#"{"TableName":"Tab","TableName":"Tab"}"#,
        r#"{"TableName":"Tab","Item":{"pk":{"S":"a"},"pk":{"S":"b"}}}"#,
    ];
    for body in bodies {
        let answer = exchange(server.local_addr(), &api("PutItem", body));
        assert_eq!(
            (answer.status, answer.text()),
            (
                400,
                r#"{"__type":"com.amazon.coral.service#SerializationException"}"#.to_owned()
            )
        );
    }
}

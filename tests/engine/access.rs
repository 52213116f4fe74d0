//! Access patterns: requests by their normal form, with what they cost.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database};
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::*;
use ddbfs::model::metrics::{AccessCounts, AccessForm, AccessPattern, Period};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

fn bed() -> Bed {
    Bed::new("pk:S sk:S", &["G byA a:S b:N ALL", "L byC c:S ALL"])
}

fn send(database: &LocalDatabase, operation: &str, body: Value) -> Result<Value, String> {
    let text = ddbfs::protocol::call(operation, body, database, "localhost");
    text.map(|text| serde_json::from_slice(&text).unwrap())
        .map_err(|error| format!("{error:?}"))
}

fn patterns(database: &LocalDatabase) -> Vec<AccessPattern> {
    database
        .layout()
        .unwrap()
        .access_patterns(&table("Tab"))
        .unwrap()
}

/// Returns a form on one line: operation and index, then the key, condition, actions and projection
/// that it has.
fn form_line(form: &AccessForm) -> String {
    let index = form.index.as_ref().map(|index| format!(" {index}"));
    let part =
        |word: &str, text: &Option<String>| text.as_ref().map(|text| format!(" | {word} {text}"));
    let parts = [
        index,
        part("key", &form.key_condition),
        part("if", &form.condition),
        part("do", &form.actions),
        part("get", &form.projection),
    ];
    parts
        .into_iter()
        .flatten()
        .fold(form.operation.clone(), |all, part| all + &part)
}

fn counts(pattern: &AccessPattern) -> &AccessCounts {
    pattern.within(Period::Day)
}

/// Returns the line of the only pattern of a request, with its entities.
#[track_caller]
fn check(operation: &str, body: Value, expected: &str) {
    let bed = bed();
    let outcome = send(&bed.database, operation, body);
    let found = patterns(&bed.database);
    let lines: Vec<String> = found
        .iter()
        .map(|pattern| {
            let entities: Vec<&str> = counts(pattern)
                .entities
                .keys()
                .map(String::as_str)
                .collect();
            format!("{} | of {}", form_line(&pattern.form), entities.join(" "))
        })
        .collect();
    assert_eq!(lines, [expected], "{outcome:?}");
    assert_eq!(counts(&found[0]).requests, 1);
}

const KEY: &str = r#"{"pk":{"S":"USER#17"},"sk":{"S":"PROFILE"}}"#;

fn key() -> Value {
    serde_json::from_str(KEY).unwrap()
}

#[test]
fn each_operation_has_a_form_of_names_without_values() {
    check(
        "GetItem",
        json!({"TableName": "Tab", "Key": key(), "ProjectionExpression": "#n, m.#d[3]", "ExpressionAttributeNames": {"#n": "name", "#d": "x.y"}}),
        "GetItem | key pk = ? AND sk = ? | get name, m.`x.y`[3] | of USER",
    );
    check(
        "GetItem",
        json!({"TableName": "Tab", "Key": key(), "AttributesToGet": ["name", "m"]}),
        "GetItem | key pk = ? AND sk = ? | get name, m | of USER",
    );
    check(
        "PutItem",
        json!({"TableName": "Tab", "Item": key(), "ConditionExpression": "attribute_not_exists(#p)", "ExpressionAttributeNames": {"#p": "pk"}}),
        "PutItem | if attribute_not_exists(pk) | of USER",
    );
    check(
        "PutItem",
        json!({"TableName": "Tab", "Item": key(), "Expected": {"pk": {"Exists": false}}}),
        "PutItem | if attribute_not_exists(pk) | of USER",
    );
    check(
        "UpdateItem",
        json!({"TableName": "Tab", "Key": key(), "UpdateExpression": "REMOVE d SET #v = if_not_exists(#v, :zero) + :one, l = list_append(if_not_exists(l2, :l), :l) ADD s :s",
               "ConditionExpression": "#v < :one OR attribute_not_exists(#v)",
               "ExpressionAttributeNames": {"#v": "version"}, "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}, ":s": {"SS": ["a"]}, ":l": {"L": []}}}),
        "UpdateItem | key pk = ? AND sk = ? | if version < ? OR attribute_not_exists(version) \
         | do SET version = if_not_exists(version, ?) + ?, l = list_append(if_not_exists(l2, ?), ?) REMOVE d ADD s ? | of USER",
    );
    check(
        "UpdateItem",
        json!({"TableName": "Tab", "Key": key(), "AttributeUpdates": {"n": {"Action": "ADD", "Value": {"N": "1"}}}}),
        "UpdateItem | key pk = ? AND sk = ? | do ADD n ? | of USER",
    );
    check(
        "DeleteItem",
        json!({"TableName": "Tab", "Key": key()}),
        "DeleteItem | key pk = ? AND sk = ? | of USER",
    );
}

#[test]
fn queries_and_scans_have_a_form_however_they_are_written() {
    let expected =
        "Query | key pk = ? AND begins_with(sk, ?) | if n > ? AND k IN (?) | get COUNT | of USER";
    check(
        "Query",
        json!({"TableName": "Tab", "KeyConditionExpression": "begins_with(sk, :s) AND #p = :p", "FilterExpression": "n > :n AND k IN (:n, :p)", "Select": "COUNT",
               "ExpressionAttributeNames": {"#p": "pk"}, "ExpressionAttributeValues": {":p": {"S": "USER#1"}, ":s": {"S": "A"}, ":n": {"N": "1"}}}),
        expected,
    );
    check(
        "Query",
        json!({"TableName": "Tab", "IndexName": "byA", "KeyConditionExpression": "a = :a AND b BETWEEN :b AND :c",
               "ExpressionAttributeValues": {":a": {"S": "OPEN"}, ":b": {"N": "1"}, ":c": {"N": "2"}}}),
        "Query byA | key a = ? AND b BETWEEN ? AND ? | of OPEN",
    );
    check(
        "Query",
        json!({"TableName": "Tab", "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a-b|c"}]}},
               "QueryFilter": {"n": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "1"}]}}}),
        "Query | key pk = ? | if n > ? | of a-b",
    );
    check(
        "Scan",
        json!({"TableName": "Tab", "FilterExpression": "NOT (contains(x, :v) OR size(y) = :n)", "ExpressionAttributeValues": {":v": {"S": "x"}, ":n": {"N": "1"}}}),
        "Scan | if NOT (contains(x, ?) OR size(y) = ?) | of ",
    );
    check(
        "Scan",
        json!({"TableName": "Tab", "IndexName": "byC"}),
        "Scan byC | of ",
    );
}

#[test]
fn statements_have_the_form_of_the_operation_that_they_stand_for() {
    let statement =
        |text: &str, parameters: Value| json!({"Statement": text, "Parameters": parameters});
    check(
        "ExecuteStatement",
        statement(
            r#"SELECT name, m.k FROM "Tab" WHERE n > 5 AND begins_with(sk, ?) AND pk = ?"#,
            json!([{"S": "A"}, {"S": "USER#1"}]),
        ),
        "Query | key pk = ? AND begins_with(sk, ?) | if n > ? | get name, m.k | of USER",
    );
    check(
        "ExecuteStatement",
        json!({"Statement": r#"SELECT * FROM "Tab"."byA" WHERE a = 'SHOP#1'"#}),
        "Query byA | key a = ? | of SHOP",
    );
    check(
        "ExecuteStatement",
        json!({"Statement": r#"SELECT * FROM "Tab" WHERE pk IN ('USER#1', ?, ?)"#, "Parameters": [{"S": "SHOP#1"}, {"S": "SHOP#2"}]}),
        "Query | key pk IN (?) | of SHOP USER",
    );
    check(
        "Scan",
        json!({"TableName": "Tab", "FilterExpression": "#n = :v", "ExpressionAttributeNames": {"#n": "a b"}, "ExpressionAttributeValues": {":v": {"S": "x"}}}),
        "Scan | if `a b` = ? | of ",
    );
    check(
        "ExecuteStatement",
        json!({"Statement": r#"SELECT * FROM "Tab" WHERE n = 1"#}),
        "Scan | if n = ? | of ",
    );
    check(
        "ExecuteStatement",
        json!({"Statement": r#"INSERT INTO "Tab" VALUE {'pk': 'USER#1', 'sk': 'a'}"#}),
        "PutItem | if attribute_not_exists(pk) | of USER",
    );
    let bed = bed();
    put(&bed.database, "Tab", json(r#""pk":"USER#1","sk":"a""#)).unwrap();
    for text in [
        r#"UPDATE "Tab" SET n = 1 WHERE pk = 'USER#1' AND sk = 'a'"#,
        r#"DELETE FROM "Tab" WHERE pk = 'USER#1' AND sk = 'a' AND n = 1"#,
    ] {
        send(
            &bed.database,
            "ExecuteStatement",
            json!({"Statement": text}),
        )
        .unwrap();
    }
    let mut lines: Vec<String> = patterns(&bed.database)
        .iter()
        .map(|pattern| form_line(&pattern.form))
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "DeleteItem | key pk = ? AND sk = ? | if n = ?",
            "PutItem",
            "UpdateItem | key pk = ? AND sk = ? | do SET n = ?"
        ]
    );
}

#[test]
fn batches_and_transactions_are_patterns_of_their_own() {
    check(
        "BatchGetItem",
        json!({"RequestItems": {"Tab": {"Keys": [key(), {"pk": {"S": "SHOP#1"}, "sk": {"S": "a"}}], "ProjectionExpression": "n"}}}),
        "BatchGetItem | do Get of n | of SHOP USER",
    );
    check(
        "BatchWriteItem",
        json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": key()}}, {"PutRequest": {"Item": {"pk": {"S": "17"}, "sk": {"S": "b"}}}}, {"DeleteRequest": {"Key": {"pk": {"S": "X"}, "sk": {"S": "c"}}}}]}}),
        "BatchWriteItem | do Delete; Put | of ? USER X",
    );
    check(
        "TransactGetItems",
        json!({"TransactItems": [{"Get": {"TableName": "Tab", "Key": key()}}]}),
        "TransactGetItems | do Get | of USER",
    );
    let values = json!({":v": {"N": "1"}});
    check(
        "TransactWriteItems",
        json!({"TransactItems": [
            {"Put": {"TableName": "Tab", "Item": key(), "ConditionExpression": "attribute_not_exists(pk)"}},
            {"Update": {"TableName": "Tab", "Key": {"pk": {"S": "SEQ"}, "sk": {"S": "a"}}, "UpdateExpression": "SET n = :v", "ExpressionAttributeValues": values}},
        ]}),
        "TransactWriteItems | do Put if attribute_not_exists(pk); Update SET n = ? | of SEQ USER",
    );
    check(
        "BatchExecuteStatement",
        json!({"Statements": [{"Statement": r#"SELECT * FROM "Tab" WHERE pk = 'USER#1' AND sk = 'a'"#}]}),
        "BatchExecuteStatement | do Get | of USER",
    );
    check(
        "ExecuteTransaction",
        json!({"TransactStatements": [{"Statement": r#"DELETE FROM "Tab" WHERE pk = ? AND sk = ?"#, "Parameters": [{"S": "USER#1"}, {"S": "a"}]}]}),
        "ExecuteTransaction | do Delete | of USER",
    );
}

#[test]
fn a_pattern_has_what_its_requests_cost() {
    let bed = bed();
    for at in 0..20 {
        let item = format!(
            r#""pk":"USER#1","sk":"{at:02}","n":{at},"t":"{}""#,
            "x".repeat(1_100)
        );
        put(&bed.database, "Tab", json(&item)).unwrap();
    }
    for wanted in [3, 17] {
        let request = json!({"TableName": "Tab", "KeyConditionExpression": "pk = :p", "FilterExpression": "n = :n",
                             "ExpressionAttributeValues": {":p": {"S": "USER#1"}, ":n": {"N": wanted.to_string()}}});
        send(&bed.database, "Query", request).unwrap();
    }
    let refused = json!({"TableName": "Tab", "Item": {"pk": {"S": "USER#1"}, "sk": {"S": "03"}}, "ConditionExpression": "attribute_not_exists(pk)"});
    send(&bed.database, "PutItem", refused).unwrap_err();
    let duplicate = r#"INSERT INTO "Tab" VALUE {'pk': 'USER#1', 'sk': '03'}"#;
    send(
        &bed.database,
        "ExecuteStatement",
        json!({ "Statement": duplicate }),
    )
    .unwrap_err();
    send(
        &bed.database,
        "Query",
        json!({"TableName": "Tab", "KeyConditionExpression": "no such"}),
    )
    .unwrap_err();
    // A bulk load is no pattern, nor is a read for inspection.
    let (bulk, done) = (CallContext::bulk(), std::sync::mpsc::channel());
    let request = PutItemRequest::new(table("Tab"), json(r#""pk":"BULK#1","sk":"a""#));
    bed.database.start(Call::PutItem(
        request,
        Completion::new(bulk, move |outcome| done.0.send(outcome.is_ok()).unwrap()),
    ));
    assert!(done.1.recv().unwrap());

    let found = patterns(&bed.database);
    let lines: Vec<String> = found
        .iter()
        .map(|pattern| form_line(&pattern.form))
        .collect();
    assert_eq!(
        lines,
        [
            "PutItem",
            "Query | key pk = ? | if n = ?",
            "PutItem | if attribute_not_exists(pk)"
        ]
    );
    let put = counts(&found[0]);
    assert_eq!(
        (put.requests, put.write, put.read, put.evaluated),
        (20, 40.0, 0.0, 0)
    );
    assert_eq!(put.entities, [("USER".to_owned(), 20)].into());
    let query = counts(&found[1]);
    let (read, write) = bed.consumed("");
    assert_eq!(
        (query.requests, query.evaluated, query.returned, query.read),
        (2, 40, 2, read)
    );
    assert!(query.latency.percentile_ms(0.5) <= query.latency.percentile_ms(0.99));
    assert!(query.latency.percentile_ms(0.99).unwrap() > 0.0);
    let refused = counts(&found[2]);
    assert_eq!(
        (
            refused.requests,
            refused.failed_conditions,
            refused.throttled
        ),
        (2, 2, 0)
    );
    assert_eq!((refused.write, write), (0.0, 44.0));
    // Windows end.
    bed.clock.advance_ms(61_000);
    let found = patterns(&bed.database);
    assert_eq!(
        (
            found[0].within(Period::Minute).requests,
            found[0].within(Period::Hour).requests
        ),
        (0, 20)
    );
}

#[test]
fn a_read_of_a_file_is_a_read_of_its_item() {
    let bed = bed();
    put(&bed.database, "Tab", json(r#""pk":"USER#1","sk":"a""#)).unwrap();
    let key = ddbfs::database::EntryKey {
        index: None,
        base: ddbfs::model::Key {
            partition: s("USER#1"),
            sort: Some(s("a")),
        },
    };
    let form = ddbfs::database::TextForm::PlainJson;
    let read = bed.database.metered_text(&source(""), &key, form);
    assert!(read.unwrap().is_some());
    let unmetered = bed.database.text(&source(""), &key, form);
    assert!(unmetered.unwrap().is_some());
    let found = patterns(&bed.database);
    let read = found
        .iter()
        .find(|pattern| pattern.form.operation == "GetItem")
        .unwrap();
    assert_eq!(form_line(&read.form), "GetItem | key pk = ? AND sk = ?");
    assert_eq!((counts(read).read, counts(read).returned), (1.0, 1));
}

#[test]
fn any_number_of_forms_takes_bounded_space() {
    let bed = bed();
    for at in 0..20_000 {
        let request = ScanRequest {
            filter: ConditionParameter::Expression(format!("a{at} = b{at}")),
            ..ScanRequest::new(table("Tab"))
        };
        bed.database.scan(&request).unwrap();
    }
    for _ in 0..300_u32 {
        bed.database.scan(&ScanRequest::new(table("Tab"))).unwrap();
    }
    let found = patterns(&bed.database);
    assert!(found.len() <= 102, "{}", found.len());
    assert_eq!(
        found
            .iter()
            .map(|pattern| counts(pattern).requests)
            .sum::<u64>(),
        20_300
    );
    // What is asked often stays, what is asked once is among the others.
    let of = |operation: &str| {
        found
            .iter()
            .find(|pattern| pattern.form.operation == operation && pattern.form.condition.is_none())
    };
    assert_eq!(counts(of("Scan").unwrap()).requests, 300);
    assert!(counts(of("").unwrap()).requests > 19_000);
    // A long text is cut.
    let filter = vec!["attribute_exists(long_name)"; 100].join(" AND ");
    let request = ScanRequest {
        filter: ConditionParameter::Expression(filter),
        ..ScanRequest::new(table("Tab"))
    };
    (0..10).for_each(|_| drop(bed.database.scan(&request).unwrap()));
    let found = patterns(&bed.database);
    assert!(found.iter().any(|pattern| {
        pattern
            .form
            .condition
            .as_ref()
            .is_some_and(|text| text.ends_with('…') && text.chars().count() == 301)
    }));
}

#[test]
fn patterns_outlive_the_process_and_end_with_their_table() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let open = || {
        let store = Arc::new(LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap());
        let options = EngineOptions {
            clock: Arc::clone(&clock) as Arc<_>,
            ..options()
        };
        LocalDatabase::open(store, options).unwrap()
    };
    let database = open();
    database
        .create_table(definition("Tab", "pk:S", &[]))
        .unwrap();
    put(&database, "Tab", json(r#""pk":"USER#1""#)).unwrap();
    database.engine().close();
    drop(database);
    clock.advance_ms(5_000);
    let database = open();
    put(&database, "Tab", json(r#""pk":"USER#2""#)).unwrap();
    let found = patterns(&database);
    assert_eq!(
        (
            found.len(),
            counts(&found[0]).requests,
            counts(&found[0]).write
        ),
        (1, 2, 2.0)
    );
    assert_eq!(counts(&found[0]).entities, [("USER".to_owned(), 2)].into());
    assert_clean(&database);
    database.count_from_now(&table("Tab")).unwrap();
    assert_eq!(patterns(&database), []);
    put(&database, "Tab", json(r#""pk":"USER#2","n":1"#)).unwrap();
    database
        .delete_table(DeleteTableRequest {
            table_name: table("Tab"),
            only_if_empty: false,
        })
        .unwrap();
    database.engine().run_background_work().unwrap();
    database
        .create_table(definition("Tab", "pk:S", &[]))
        .unwrap();
    assert_eq!(patterns(&database), []);
    assert_clean(&database);
}

//! Corrections and what is often missed (docs/dynamodb.md 27); numbers are its rows. Fetches of local indexes (row 1) are in
//! `tests/http/front_ends/mod.rs`, updates (row 6), numbers (8) and conditions (3, in part) in the tables beside this file, pages of
//! streams (10) in `tests/clients/boto3_streams.py`, expiry (17, in part) in `tests/engine/time_to_live.rs`, backfill (20) in
//! `tests/engine/index_life.rs`.

use serde_json::{Value, json};

use super::{Service, item, key, parse, table, with};
use crate::support::http::{call, exchange, raw};

const PREFIX: &str = "Validation: 1 validation error detected: ";

fn put(item: &Value) -> Value {
    json!({"TableName": "Tab", "Item": item})
}

fn update(expression: &str, values: Value) -> Value {
    let request = json!({"TableName": "Tab", "Key": key("k", 1), "UpdateExpression": expression});
    with(request, json!({"ExpressionAttributeValues": values}))
}

#[test]
fn texts_of_the_first_checks() {
    let service = Service::new();
    let empty =
        format!("{PREFIX}Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1");
    for operation in ["GetItem", "PutItem", "DeleteItem", "Query", "Scan"] {
        service.check(operation, &json!({"TableName": ""}), &empty);
    }
    service.check("UpdateItem", &json!({"TableName": "", "Key": key("k", 1)}), &empty);
    let missing = "Validation: 2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null; Value null at 'key' failed to satisfy constraint: Member must not be null";
    let found = service.outcome("GetItem", &json!({}));
    let alike = |text: &str| {
        let mut parts: Vec<String> = text.split_once("detected: ").unwrap().1.split("; ").map(str::to_owned).collect();
        parts.sort();
        parts
    };
    assert_eq!(alike(&found), alike(missing));
    let wrong = json!({"TableName": "Tab", "Key": key("k", 1), "ReturnValues": "SOME"});
    let text =
        "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]";
    service.check("UpdateItem", &wrong, &format!("{PREFIX}{text}"));
}

#[test]
fn which_operations_prefix_semantic_errors() {
    let service = Service::new();
    let condition = |condition: &str, text: &str| {
        with(
            json!({"ConditionExpression": condition}),
            json!({"ExpressionAttributeValues": if text.is_empty() { Value::Null } else { parse(text) }}),
        )
    };
    let with_key = |more: Value| with(json!({"TableName": "Tab", "Key": key("k", 1)}), more);
    let query = |more: Value| with(json!({"TableName": "Tab"}), more);
    let unused = r#"{":v":{"N":"1"},":w":{"N":"1"}}"#;
    let unused_text = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}";
    for (operation, request) in [
        ("PutItem", with(put(&key("k", 1)), condition("n = :v", unused))),
        ("UpdateItem", with_key(condition("n = :v", unused))),
        ("DeleteItem", with_key(condition("n = :v", unused))),
        ("Query", query(json!({"KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": parse(unused)}))),
    ] {
        service.check(operation, &request, &format!("{PREFIX}{unused_text}"));
    }
    let scan = query(json!({"FilterExpression": "n = :v", "ExpressionAttributeValues": parse(unused)}));
    service.check("Scan", &scan, &format!("Validation: {unused_text}"));
    let alone = "ExpressionAttributeValues can only be specified when using expressions";
    let values = json!({"ExpressionAttributeValues": {":v": {"N": "1"}}});
    service.check("PutItem", &with(put(&key("k", 1)), values.clone()), &format!("{PREFIX}{alone}"));
    service.check("DeleteItem", &with_key(values), &format!("{PREFIX}{alone}"));
    service.check(
        "PutItem",
        &with(put(&key("k", 1)), condition("n =", "")),
        &format!("~{}Invalid ConditionExpression: Syntax error", &PREFIX[12..]),
    );
    let digits = item("k", 1, &format!(r#""n":{{"N":"{}"}}"#, "9".repeat(39)));
    service.check("PutItem", &put(&digits), &format!("{PREFIX}Attempting to store more than 38 significant digits in a Number"));
    // Never in front of what is about the key.
    let missing = "Validation: One or more parameter values were invalid: Missing the key sk in the item";
    service.check("PutItem", &put(&json!({"pk": {"S": "k"}})), missing);
    let mismatch = "Validation: The provided key element does not match the schema";
    for operation in ["GetItem", "UpdateItem", "DeleteItem"] {
        service.check(operation, &json!({"TableName": "Tab", "Key": {"pk": {"S": "k"}}}), mismatch);
    }
    for request in [put(&item("k", 1, r#""z":{"NULL":false}"#)), put(&item("k", 1, r#""l":{"L":[{"NULL":false}]}"#))] {
        service.check("PutItem", &request, "~Null attribute value types must have the value of true");
    }
    let null = json!({"TableName": "Tab", "Key": {"pk": {"NULL": false}, "sk": {"N": "1"}}});
    service.check("GetItem", &null, "~Null attribute value types must have the value of true");
}

#[test]
fn an_update_is_limited_by_what_it_writes() {
    let service = Service::new();
    // The item would be 409,600 bytes: pk 3, sk 4, v with its name 409,593. The statement counts for 22 more, its key not.
    let of = |bytes: usize| update("SET v = :v", json!({":v": {"S": "x".repeat(bytes - 8)}}));
    service.check("UpdateItem", &of(409_600 - 15), "OK");
    service.check("UpdateItem", &of(409_600 - 14), "~Item size to update has exceeded the maximum allowed size");
}

#[test]
fn row_2_updates_of_what_is_not_there() {
    let service = Service::new();
    for (expression, values) in [("REMOVE a", Value::Null), ("DELETE s :s", json!({":s": {"SS": ["a"]}}))] {
        service.ok("UpdateItem", update(expression, values));
        assert_eq!(service.get("k", 1), Value::Null, "{expression}");
    }
    service.ok("UpdateItem", json!({"TableName": "Tab", "Key": key("k", 1)}));
    assert_eq!(service.get("k", 1), key("k", 1));
}

#[test]
fn row_4_limits_of_expressions() {
    let service = Service::new();
    let scan = |expression: &str| json!({"TableName": "Tab", "FilterExpression": expression, "ExpressionAttributeValues": {":v": {"N": "1"}}});
    let check = |expression: &str, expected: &str| service.check("Scan", &scan(expression), expected);
    let invalid = "Validation: Invalid FilterExpression: ";
    // Of n conditions joined, 2n - 1 operators.
    let joined = |count: usize| vec!["a=:v"; count].join(" OR ");
    check(&joined(150), "OK");
    check(&joined(151), &format!("{invalid}The expression contains too many operators; operator count: 301"));
    let padded = |bytes: usize| format!("{}a=:v", " ".repeat(bytes - 4));
    check(&padded(4096), "OK");
    check(&padded(4097), &format!("{invalid}Expression size has exceeded the maximum allowed size; expression size: 4097"));
    let deep = |levels: usize| format!("{}a = :v", "a.".repeat(levels - 1));
    check(&deep(32), "OK");
    check(&deep(33), &format!("{invalid}The document path has too many nesting levels; nesting levels: 33"));
    check(&"(".repeat(4096), "~Invalid FilterExpression: ");
    check(&format!("{}a = :v{}", "NOT (".repeat(150), ")".repeat(150)), "OK");
    let long = |bytes: usize| put(&item("k", 1, &format!(r#""{}":{{"N":"1"}}"#, "n".repeat(bytes))));
    service.check("PutItem", &long(65_535), "OK");
    assert!(service.outcome("PutItem", &long(65_536)).starts_with("Validation: "));
    let mut named = table("Named");
    let name = "k".repeat(256);
    named["AttributeDefinitions"][0]["AttributeName"] = json!(name);
    named["KeySchema"][0]["AttributeName"] = json!(name);
    service.check("CreateTable", &named, "~Member must have length less than or equal to 255");
}

#[test]
fn row_5_functions_of_updates() {
    let service = Service::new();
    service.put(&item("k", 1, r#""l":{"L":[{"N":"1"}]}"#));
    let list = json!({":p": {"L": [{"N": "2"}]}, ":e": {"L": []}});
    service.ok("UpdateItem", update("SET l = list_append(if_not_exists(l, :e), :p)", list.clone()));
    assert_eq!(service.get("k", 1)["l"], json!({"L": [{"N": "1"}, {"N": "2"}]}));
    let case = "~Invalid UpdateExpression: Invalid function name; function: List_Append";
    service.check("UpdateItem", &update("SET l = List_Append(l, :p)", json!({":p": {"L": []}})), case);
    service.check(
        "UpdateItem",
        &update("SET _l = :p", json!({":p": {"L": []}})),
        r#"~Invalid UpdateExpression: Syntax error; token: "_l""#,
    );
}

#[test]
fn row_7_only_the_changed_path_is_returned() {
    let service = Service::new();
    service.put(&item("k", 1, r#""m":{"M":{"a":{"N":"1"},"b":{"N":"2"},"c":{"M":{"d":{"N":"3"}}}}}"#));
    let changed = |values: &str, number: &str| {
        let request = update("SET m.c.d = :n", json!({":n": {"N": number}}));
        service.ok("UpdateItem", with(request, json!({"ReturnValues": values})))["Attributes"].take()
    };
    let skeleton = |number: &str| json!({"m": {"M": {"c": {"M": {"d": {"N": number}}}}}});
    assert_eq!(changed("UPDATED_OLD", "4"), skeleton("3"));
    assert_eq!(changed("UPDATED_NEW", "5"), skeleton("5"));
}

#[test]
fn row_9_ties_of_an_index_are_resumed_exactly() {
    let service = Service::new();
    let index =
        r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]"#;
    let hash_only = json!({
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "a", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "GlobalSecondaryIndexes": parse(index),
    });
    service.ok("CreateTable", with(table("Ties"), hash_only));
    for n in 0..9 {
        service.ok("PutItem", json!({"TableName": "Ties", "Item": {"pk": {"S": n.to_string()}, "a": {"S": "same"}}}));
    }
    for limit in [1, 2, 4] {
        for forward in [true, false] {
            let mut found = Vec::new();
            let mut start = Value::Null;
            loop {
                let request = json!({
                    "TableName": "Ties", "IndexName": "glo", "KeyConditionExpression": "a = :a", "Limit": limit,
                    "ScanIndexForward": forward, "ExpressionAttributeValues": {":a": {"S": "same"}},
                });
                let mut page = service.ok("Query", with(request, json!({"ExclusiveStartKey": start})));
                found.extend(page["Items"].as_array().unwrap().iter().map(|item| item["pk"]["S"].as_str().unwrap().to_owned()));
                start = page["LastEvaluatedKey"].take();
                if start.is_null() {
                    break;
                }
                assert_eq!(start.as_object().unwrap().len(), 2);
            }
            found.sort();
            assert_eq!(found, (0..9).map(|n| n.to_string()).collect::<Vec<_>>(), "{limit} {forward}");
        }
    }
}

#[test]
fn rows_11_and_12_mixes_and_filters() {
    let service = Service::new();
    service.put(&item("k", 1, r#""n":{"N":"1"}"#));
    let legacy = parse(r#"{"pk":{"AttributeValueList":[{"S":"k"}],"ComparisonOperator":"EQ"}}"#);
    let request = |more: Value| with(json!({"TableName": "Tab"}), more);
    let filter = json!({"FilterExpression": "n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}}, "KeyConditions": legacy});
    assert_eq!(service.ok("Query", request(filter))["Count"], 1);
    let projection = json!({"ProjectionExpression": "n", "KeyConditions": legacy});
    assert_eq!(service.ok("Query", request(projection))["Items"], json!([{"n": {"N": "1"}}]));
    let both = json!({
        "KeyConditions": legacy, "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}},
    });
    service.check("Query", &request(both), "~Can not use both expression and non-expression parameters in the same request");
    let on_key = json!({"KeyConditionExpression": "pk = :k", "FilterExpression": "sk > :n",
        "ExpressionAttributeValues": {":k": {"S": "k"}, ":n": {"N": "0"}}});
    let text = "Validation: Filter Expression can only contain non-primary key attributes: Primary key attribute: sk";
    service.check("Query", &request(on_key), text);
}

#[test]
fn row_13_units_ignore_projection_and_filter() {
    let service = Service::new();
    (1..=3).for_each(|sk| service.put(&item("k", sk, &format!(r#""v":{{"S":"{}"}}"#, "x".repeat(4_000)))));
    let query = json!({"TableName": "Tab", "KeyConditionExpression": "pk = :k", "ReturnConsumedCapacity": "TOTAL"});
    for more in [
        json!({"ExpressionAttributeValues": {":k": {"S": "k"}}}),
        json!({"ProjectionExpression": "sk", "ExpressionAttributeValues": {":k": {"S": "k"}}}),
        json!({"FilterExpression": "v = :k", "ExpressionAttributeValues": {":k": {"S": "k"}}}),
        json!({"Select": "COUNT", "ExpressionAttributeValues": {":k": {"S": "k"}}}),
    ] {
        let found = service.ok("Query", with(query.clone(), more));
        assert_eq!(found["ConsumedCapacity"]["CapacityUnits"], 1.5);
    }
}

#[test]
fn rows_14_and_15_names_of_errors_and_empty_answers() {
    let service = Service::new();
    let addr = service.0.local_addr();
    let check = |operation: &str, request: Value, expected: &str| {
        assert_eq!(call(addr, operation, &request).json()["__type"], expected, "{operation}");
    };
    let modelled = |name: &str| format!("com.amazonaws.dynamodb.v20120810#{name}");
    check("GetItem", json!({"TableName": "Tab", "Key": {}}), "com.amazon.coral.validate#ValidationException");
    check("GetItem", json!({"TableName": 5}), "com.amazon.coral.service#SerializationException");
    check("Nothing", json!({}), "com.amazon.coral.service#UnknownOperationException");
    check("DescribeTable", json!({"TableName": "None"}), &modelled("ResourceNotFoundException"));
    check("CreateTable", table("Tab"), &modelled("ResourceInUseException"));
    let failing = json!({"TableName": "Tab", "Key": key("k", 1), "ConditionExpression": "attribute_exists(pk)"});
    check("DeleteItem", failing.clone(), &modelled("ConditionalCheckFailedException"));
    check("TransactWriteItems", json!({"TransactItems": [{"Delete": failing}]}), &modelled("TransactionCanceledException"));
    let arn = service.ok("DescribeTable", json!({"TableName": "Tab"}))["Table"]["TableArn"].take();
    let tag = call(addr, "TagResource", &json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "b"}]}));
    let untag = call(addr, "UntagResource", &json!({"ResourceArn": arn, "TagKeys": ["a"]}));
    assert_eq!((tag.status, tag.text(), untag.status, untag.text()), (200, String::new(), 200, String::new()));
    let unsigned =
        raw("POST /", &[("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", "DynamoDB_20120810.ListTables")], "{}");
    let missing = "com.amazon.coral.service#MissingAuthenticationTokenException";
    assert_eq!(exchange(addr, &unsigned).json()["__type"], missing);
}

#[test]
fn row_16_a_table_by_its_arn() {
    let service = Service::new();
    let arn = service.ok("DescribeTable", json!({"TableName": "Tab"}))["Table"]["TableArn"].as_str().unwrap().to_owned();
    let named = |more: Value| with(json!({"TableName": arn}), more);
    let keyed = || json!({"TableName": arn, "Key": key("k", 1)});
    let query = json!({"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}}});
    let table_of = |value: Value| json!({"RequestItems": {arn.as_str(): value}});
    let check =
        json!({"ConditionCheck": {"TableName": arn, "Key": key("k", 2), "ConditionExpression": "attribute_not_exists(pk)"}});
    for (operation, request) in [
        ("DescribeTable", named(json!({}))),
        ("PutItem", named(json!({"Item": key("k", 1)}))),
        ("GetItem", keyed()),
        ("UpdateItem", keyed()),
        ("Query", named(query)),
        ("Scan", named(json!({}))),
        ("BatchWriteItem", table_of(json!([{"PutRequest": {"Item": key("k", 1)}}]))),
        ("BatchGetItem", table_of(json!({"Keys": [key("k", 1)]}))),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": named(json!({"Item": key("k", 1)}))}, check]})),
        ("TransactGetItems", json!({"TransactItems": [{"Get": keyed()}]})),
        ("DeleteItem", keyed()),
        ("UpdateTable", named(json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"}))),
        ("UpdateTimeToLive", named(json!({"TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}}))),
        ("DescribeTimeToLive", named(json!({}))),
        ("DescribeContinuousBackups", named(json!({}))),
        ("CreateBackup", named(json!({"BackupName": "backup"}))),
        ("ListBackups", named(json!({}))),
        ("DeleteTable", named(json!({}))),
    ] {
        service.check(operation, &request, "OK");
    }
}

#[test]
fn row_17_time_to_live_is_changed_once() {
    let service = Service::new();
    let to = |enabled: bool, attribute: &str| json!({"TableName": "Tab", "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}});
    service.check("UpdateTimeToLive", &to(false, "t"), "Validation: TimeToLive is already disabled");
    service.check("UpdateTimeToLive", &to(true, "t"), "OK");
    service.check("UpdateTimeToLive", &to(true, "t"), "Validation: TimeToLive is already enabled");
    let other = "Validation: TimeToLive is active on a different AttributeName: current AttributeName is t";
    service.check("UpdateTimeToLive", &to(true, "u"), other);
    service.check("UpdateTimeToLive", &to(false, "u"), other);
}

#[test]
fn row_18_the_description_of_a_deleted_table() {
    let service = Service::new();
    let index = r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["a","a"]}}]"#;
    let twice = with(table("Twice"), json!({"GlobalSecondaryIndexes": parse(index)}));
    let found = service.outcome("CreateTable", &twice);
    assert!(found.starts_with("Validation: ") && found.contains('a'), "{found}");
    let deleted = service.ok("DeleteTable", json!({"TableName": "Tab"}))["TableDescription"].take();
    assert_eq!(deleted["TableStatus"], "DELETING");
    for member in ["KeySchema", "AttributeDefinitions", "CreationDateTime"] {
        assert_eq!(deleted.get(member), None, "{member}");
    }
}

#[test]
fn row_19_the_item_of_a_failed_condition() {
    let service = Service::new();
    let there = item("k", 1, r#""n":{"N":"1"}"#);
    service.put(&there);
    let failing = |more: Value| {
        let request = json!({
            "TableName": "Tab", "ConditionExpression": "n > :n", "ExpressionAttributeValues": {":n": {"N": "1"}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        });
        with(request, more)
    };
    let keyed = || failing(json!({"Key": key("k", 1)}));
    let put = || failing(json!({"Item": key("k", 1)}));
    let update = || failing(json!({"Key": key("k", 1), "UpdateExpression": "REMOVE x"}));
    for (operation, request) in [("PutItem", put()), ("DeleteItem", keyed()), ("UpdateItem", update())] {
        let answer = call(service.0.local_addr(), operation, &request).json();
        assert_eq!(answer["Item"], there, "{operation}: {answer}");
    }
    let second = item("k", 2, r#""n":{"N":"0"}"#);
    service.put(&second);
    let other = failing(json!({"Key": key("k", 2)}));
    for action in
        [json!({"Put": put()}), json!({"Delete": keyed()}), json!({"Update": update()}), json!({"ConditionCheck": keyed()})]
    {
        let request = json!({"TransactItems": [action, {"ConditionCheck": other}]});
        let reasons = call(service.0.local_addr(), "TransactWriteItems", &request).json()["CancellationReasons"].take();
        assert_eq!((&reasons[0]["Item"], &reasons[1]["Item"]), (&there, &second), "{reasons}");
    }
}

//! Query, Scan and batches: limits, mixes, pages and units (docs/dynamodb.md 26, 27).

use super::*;

/// docs/dynamodb.md 27, row 4.
#[test]
fn limits_of_expressions() {
    let service = Service::new();
    let scan = |expression: &str| json!({"TableName": "Tab", "FilterExpression": expression, "ExpressionAttributeValues": {":v": {"N": "1"}}});
    let check =
        |expression: &str, expected: &str| service.check("Scan", &scan(expression), expected);
    let invalid = "Validation: Invalid FilterExpression: ";
    // Of n conditions joined, 2n - 1 operators.
    let joined = |count: usize| vec!["a=:v"; count].join(" OR ");
    check(&joined(150), "OK");
    check(
        &joined(151),
        &format!("{invalid}The expression contains too many operators; operator count: 301"),
    );
    let padded = |bytes: usize| format!("{}a=:v", " ".repeat(bytes - 4));
    check(&padded(4096), "OK");
    check(
        &padded(4097),
        &format!(
            "{invalid}Expression size has exceeded the maximum allowed size; expression size: 4097"
        ),
    );
    let deep = |levels: usize| format!("{}a = :v", "a.".repeat(levels - 1));
    check(&deep(32), "OK");
    check(
        &deep(33),
        &format!("{invalid}The document path has too many nesting levels; nesting levels: 33"),
    );
    check(&"(".repeat(4096), "~Invalid FilterExpression: ");
    check(
        &format!("{}a = :v{}", "NOT (".repeat(150), ")".repeat(150)),
        "OK",
    );
    let long = |bytes: usize| {
        put(&item(
            "k",
            1,
            &format!(r#""{}":{{"N":"1"}}"#, "n".repeat(bytes)),
        ))
    };
    service.check("PutItem", &long(65_535), "OK");
    assert!(
        service
            .outcome("PutItem", &long(65_536))
            .starts_with("Validation: ")
    );
    let mut named = table("Named");
    let name = "k".repeat(256);
    named["AttributeDefinitions"][0]["AttributeName"] = json!(name);
    named["KeySchema"][0]["AttributeName"] = json!(name);
    service.check(
        "CreateTable",
        &named,
        "~Member must have length less than or equal to 255",
    );
}

/// docs/dynamodb.md 26, row 16.
#[test]
fn a_hundred_values_of_in() {
    let service = Service::new();
    let scan = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!(":v{n}")).collect();
        let values: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({"N": "1"})))
            .collect();
        json!({"TableName": "Tab", "FilterExpression": format!("n IN ({})", names.join(", ")), "ExpressionAttributeValues": values})
    };
    service.check("Scan", &scan(100), "OK");
    service.check("Scan", &scan(101), "~Invalid FilterExpression: ");
}

/// docs/dynamodb.md 27, row 9.
#[test]
fn ties_of_an_index_are_resumed_exactly() {
    let service = Service::new();
    let index = r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]"#;
    let hash_only = json!({
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "a", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "GlobalSecondaryIndexes": parse(index),
    });
    service.ok("CreateTable", with(table("Ties"), hash_only));
    for n in 0..9 {
        service.ok(
            "PutItem",
            json!({"TableName": "Ties", "Item": {"pk": {"S": n.to_string()}, "a": {"S": "same"}}}),
        );
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
                let mut page =
                    service.ok("Query", with(request, json!({"ExclusiveStartKey": start})));
                found.extend(
                    page["Items"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|item| item["pk"]["S"].as_str().unwrap().to_owned()),
                );
                start = page["LastEvaluatedKey"].take();
                if start.is_null() {
                    break;
                }
                assert_eq!(start.as_object().unwrap().len(), 2);
            }
            found.sort();
            assert_eq!(
                found,
                (0..9).map(|n| n.to_string()).collect::<Vec<_>>(),
                "{limit} {forward}"
            );
        }
    }
}

/// docs/dynamodb.md 27, rows 11 and 12.
#[test]
fn mixes_and_filters() {
    let service = Service::new();
    service.put(&item("k", 1, r#""n":{"N":"1"}"#));
    let legacy = parse(r#"{"pk":{"AttributeValueList":[{"S":"k"}],"ComparisonOperator":"EQ"}}"#);
    let request = |more: Value| with(json!({"TableName": "Tab"}), more);
    let filter = json!({"FilterExpression": "n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}}, "KeyConditions": legacy});
    assert_eq!(service.ok("Query", request(filter))["Count"], 1);
    let projection = json!({"ProjectionExpression": "n", "KeyConditions": legacy});
    assert_eq!(
        service.ok("Query", request(projection))["Items"],
        json!([{"n": {"N": "1"}}])
    );
    let both = json!({
        "KeyConditions": legacy, "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}},
    });
    service.check(
        "Query",
        &request(both),
        "~Can not use both expression and non-expression parameters in the same request",
    );
    let on_key = json!({"KeyConditionExpression": "pk = :k", "FilterExpression": "sk > :n",
        "ExpressionAttributeValues": {":k": {"S": "k"}, ":n": {"N": "0"}}});
    let text = "Validation: Filter Expression can only contain non-primary key attributes: Primary key attribute: sk";
    service.check("Query", &request(on_key), text);
}

/// docs/dynamodb.md 27, row 13.
#[test]
fn units_ignore_projection_and_filter() {
    let service = Service::new();
    (1..=3).for_each(|sk| {
        service.put(&item(
            "k",
            sk,
            &format!(r#""v":{{"S":"{}"}}"#, "x".repeat(4_000)),
        ))
    });
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

/// docs/dynamodb.md 26, rows 11 to 13.
#[test]
fn empty_keys_and_names_that_are_none() {
    let service = Service::new();
    let empty = "Validation: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk";
    for operation in ["GetItem", "DeleteItem", "UpdateItem"] {
        service.check(
            operation,
            &json!({"TableName": "Tab", "Key": key("", 1)}),
            empty,
        );
    }
    service.check("PutItem", &put(&item("", 1, "")), empty);
    let query = |condition: &str| json!({"TableName": "Tab", "KeyConditionExpression": condition, "ExpressionAttributeValues": {":v": {"S": "v"}}});
    service.check(
        "Query",
        &query("pk = :v OR sk = :v"),
        "~Invalid KeyConditionExpression: ",
    );
    service.check(
        "Query",
        &query("_pk = :v"),
        r#"~Invalid KeyConditionExpression: Syntax error; token: "_pk""#,
    );
}

/// docs/dynamodb.md 26, row 15.
#[test]
fn keys_of_a_batch_are_told_apart_by_their_spelling() {
    // Of a client they are the same: it writes numbers in one way.
    let service = Service::with(options());
    service.put(&key("k", 1));
    let keys = [
        json!({"pk": {"S": "k"}, "sk": {"N": "1"}}),
        json!({"pk": {"S": "k"}, "sk": {"N": "1.0"}}),
    ];
    let read = service.ok(
        "BatchGetItem",
        json!({"RequestItems": {"Tab": {"Keys": keys}}}),
    );
    assert_eq!(read["Responses"]["Tab"], json!([key("k", 1), key("k", 1)]));
    let twice = keys.map(|key| json!({"DeleteRequest": {"Key": key}}));
    let duplicates = "Validation: Provided list of item keys contains duplicates";
    service.check(
        "BatchWriteItem",
        &json!({"RequestItems": {"Tab": twice}}),
        duplicates,
    );
}

/// docs/dynamodb.md 26, rows 21, 22 and 24.
#[test]
fn tags_of_no_table_and_ends_of_pages() {
    let service = Service::new();
    service.ok("CreateTable", indexed());
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/None";
    let missing =
        format!("ResourceNotFound: Requested resource not found: ResourceArn: {arn} not found");
    service.check("ListTagsOfResource", &json!({"ResourceArn": arn}), &missing);
    (1..=2).for_each(|sk| service.put(&key("k", sk)));
    let query = |limit: u32, start: Value| {
        let request = json!({"TableName": "Tab", "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}}});
        service.ok(
            "Query",
            with(request, json!({"Limit": limit, "ExclusiveStartKey": start})),
        )
    };
    assert_eq!(query(2, Value::Null)["LastEvaluatedKey"], key("k", 2));
    assert_eq!(
        query(2, key("k", 2)),
        json!({"Items": [], "Count": 0, "ScannedCount": 0})
    );
    assert_eq!(query(3, Value::Null).get("LastEvaluatedKey"), None);
}

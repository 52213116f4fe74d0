//! Which errors begin with `1 validation error detected`, which come first, and their names (docs/dynamodb.md 26, 27).

use super::*;
use crate::support::http::raw;

#[test]
fn texts_of_the_first_checks() {
    let service = Service::new();
    let empty = format!(
        "{PREFIX}Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
    );
    for operation in ["GetItem", "PutItem", "DeleteItem", "Query", "Scan"] {
        service.check(operation, &json!({"TableName": ""}), &empty);
    }
    service.check(
        "UpdateItem",
        &json!({"TableName": "", "Key": key("k", 1)}),
        &empty,
    );
    let missing = "Validation: 2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null; Value null at 'key' failed to satisfy constraint: Member must not be null";
    let found = service.outcome("GetItem", &json!({}));
    let alike = |text: &str| {
        let mut parts: Vec<String> = text
            .split_once("detected: ")
            .unwrap()
            .1
            .split("; ")
            .map(str::to_owned)
            .collect();
        parts.sort();
        parts
    };
    assert_eq!(alike(&found), alike(missing));
    let wrong = json!({"TableName": "Tab", "Key": key("k", 1), "ReturnValues": "SOME"});
    let text = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]";
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
    let unused_text =
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}";
    for (operation, request) in [
        (
            "PutItem",
            with(put(&key("k", 1)), condition("n = :v", unused)),
        ),
        ("UpdateItem", with_key(condition("n = :v", unused))),
        ("DeleteItem", with_key(condition("n = :v", unused))),
    ] {
        service.check(operation, &request, &format!("{PREFIX}{unused_text}"));
    }
    for (operation, member) in [
        ("Query", "KeyConditionExpression"),
        ("Scan", "FilterExpression"),
    ] {
        let request = query(json!({member: "pk = :v", "ExpressionAttributeValues": parse(unused)}));
        service.check(operation, &request, &format!("Validation: {unused_text}"));
    }
    let alone = "ExpressionAttributeValues can only be specified when using expressions";
    let values = json!({"ExpressionAttributeValues": {":v": {"N": "1"}}});
    service.check(
        "PutItem",
        &with(put(&key("k", 1)), values.clone()),
        &format!("{PREFIX}{alone}"),
    );
    service.check("DeleteItem", &with_key(values), &format!("{PREFIX}{alone}"));
    service.check(
        "PutItem",
        &with(put(&key("k", 1)), condition("n =", "")),
        &format!(
            "~{}Invalid ConditionExpression: Syntax error",
            &PREFIX[12..]
        ),
    );
    let digits = item("k", 1, &format!(r#""n":{{"N":"{}"}}"#, "9".repeat(39)));
    service.check(
        "PutItem",
        &put(&digits),
        &format!("{PREFIX}Attempting to store more than 38 significant digits in a Number"),
    );
    // Never in front of what is about the key.
    let missing =
        "Validation: One or more parameter values were invalid: Missing the key sk in the item";
    service.check("PutItem", &put(&json!({"pk": {"S": "k"}})), missing);
    let mismatch = "Validation: The provided key element does not match the schema";
    for operation in ["GetItem", "UpdateItem", "DeleteItem"] {
        service.check(
            operation,
            &json!({"TableName": "Tab", "Key": {"pk": {"S": "k"}}}),
            mismatch,
        );
    }
    for request in [
        put(&item("k", 1, r#""z":{"NULL":false}"#)),
        put(&item("k", 1, r#""l":{"L":[{"NULL":false}]}"#)),
    ] {
        service.check(
            "PutItem",
            &request,
            "~Null attribute value types must have the value of true",
        );
    }
    let null = json!({"TableName": "Tab", "Key": {"pk": {"NULL": false}, "sk": {"N": "1"}}});
    service.check(
        "GetItem",
        &null,
        "~Null attribute value types must have the value of true",
    );
}

/// docs/dynamodb.md 26, row 2.
#[test]
fn which_texts_are_prefixed() {
    let service = Service::new();
    let empty = item("k", 1, r#""s":{"SS":[]}"#);
    let text = "One or more parameter values were invalid: An string set  may not be empty";
    service.check(
        "PutItem",
        &put(&empty),
        &format!("Validation: 1 validation error detected: {text}"),
    );
    let batch = json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": empty}}]}});
    service.check("BatchWriteItem", &batch, &format!("Validation: {text}"));
    let scan = json!({"TableName": "Tab", "FilterExpression": "s = :s", "ExpressionAttributeValues": {":s": {"SS": []}}});
    service.check(
        "Scan",
        &scan,
        &format!("Validation: ExpressionAttributeValues contains invalid value: {text} for key :s"),
    );
}

/// docs/dynamodb.md 26, row 2.
#[test]
fn which_texts_are_not_prefixed() {
    let service = Service::with(HttpOptions {
        bare_texts: true,
        ..options()
    });
    let text =
        "Validation: One or more parameter values were invalid: An string set  may not be empty";
    service.check("PutItem", &put(&item("k", 1, r#""s":{"SS":[]}"#)), text);
    // The texts of constraints always have it.
    let constraint = "Validation: 1 validation error detected: Value null at 'item' failed to satisfy constraint: Member must not be null";
    service.check("PutItem", &json!({"TableName": "Tab"}), constraint);
}

/// docs/dynamodb.md 26, row 10.
#[test]
fn an_update_reports_its_first_wrong_enum() {
    let service = Service::new();
    let wrong = json!({"TableName": "Tab", "Key": key("k", 1), "ReturnValues": "A", "ReturnConsumedCapacity": "B"});
    let found = service.outcome("UpdateItem", &wrong);
    assert!(
        found.starts_with("Validation: 1 validation error detected: "),
        "{found}"
    );
}

/// docs/dynamodb.md 27, rows 14 and 15.
#[test]
fn names_of_errors_and_empty_answers() {
    let service = Service::new();
    let check = |operation: &str, request: Value, expected: &str| {
        assert_eq!(
            service.raw(operation, &request.to_string()).json()["__type"],
            expected,
            "{operation}"
        );
    };
    let modelled = |name: &str| format!("com.amazonaws.dynamodb.v20120810#{name}");
    check(
        "GetItem",
        json!({"TableName": "Tab", "Key": {}}),
        "com.amazon.coral.validate#ValidationException",
    );
    check(
        "GetItem",
        json!({"TableName": 5}),
        "com.amazon.coral.service#SerializationException",
    );
    check(
        "Nothing",
        json!({}),
        "com.amazon.coral.service#UnknownOperationException",
    );
    check(
        "DescribeTable",
        json!({"TableName": "None"}),
        &modelled("ResourceNotFoundException"),
    );
    check(
        "CreateTable",
        table("Tab"),
        &modelled("ResourceInUseException"),
    );
    let failing = json!({"TableName": "Tab", "Key": key("k", 1), "ConditionExpression": "attribute_exists(pk)"});
    check(
        "DeleteItem",
        failing.clone(),
        &modelled("ConditionalCheckFailedException"),
    );
    check(
        "TransactWriteItems",
        json!({"TransactItems": [{"Delete": failing}]}),
        &modelled("TransactionCanceledException"),
    );
    let arn = service.ok("DescribeTable", json!({"TableName": "Tab"}))["Table"]["TableArn"].take();
    let tag = service.raw(
        "TagResource",
        &json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "b"}]}).to_string(),
    );
    let untag = service.raw(
        "UntagResource",
        &json!({"ResourceArn": arn, "TagKeys": ["a"]}).to_string(),
    );
    assert_eq!(
        (tag.status, tag.text(), untag.status, untag.text()),
        (200, String::new(), 200, String::new())
    );
    let unsigned = raw(
        "POST /",
        &[
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", "DynamoDB_20120810.ListTables"),
        ],
        "{}",
    );
    let missing = "com.amazon.coral.service#MissingAuthenticationTokenException";
    assert_eq!(
        exchange(service.server.local_addr(), &unsigned).json()["__type"],
        missing
    );
}

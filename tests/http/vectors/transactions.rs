//! Transactions (Appendix B.8).

use serde_json::{Value, json};

use super::*;

fn put(pk: &str, sk: u32) -> Value {
    json!({"Put": {"TableName": "Tab", "Item": item(pk, sk, "")}})
}

fn exists(pk: &str, sk: u32) -> Value {
    json!({"ConditionCheck": {"TableName": "Tab", "Key": key(pk, sk), "ConditionExpression": "attribute_exists(pk)"}})
}

/// docs/dynamodb.md B.8.
#[test]
fn transactions() {
    let service = Service::new();
    let check = |actions: Value, expected: &str| {
        service.check(
            "TransactWriteItems",
            &json!({"TransactItems": actions}),
            expected,
        )
    };
    let cancelled = "TransactionCanceled: Transaction cancelled, please refer cancellation reasons for specific reasons";
    check(
        json!([put("a", 1), exists("b", 1)]),
        &format!("{cancelled} [None, ConditionalCheckFailed]"),
    );
    assert_eq!(service.get("a", 1), Value::Null);
    let update =
        json!({"Update": {"TableName": "Tab", "Key": key("a", 1), "UpdateExpression": "REMOVE x"}});
    check(
        json!([put("a", 1), update]),
        "Validation: Transaction request cannot include multiple operations on one item",
    );
    check(
        json!([put("a", 1), {"Put": {"TableName": "None", "Item": item("a", 2, "")}}]),
        "ResourceNotFound: Requested resource not found",
    );
    let short = json!({"Put": {"TableName": "Tab", "Item": {"pk": {"S": "a"}}}});
    check(json!([short]), &format!("{cancelled} [ValidationError]"));
    let answer = service.raw(
        "TransactWriteItems",
        &json!({"TransactItems": [short]}).to_string(),
    );
    let reason = "One or more parameter values were invalid: Missing the key sk in the item";
    assert_eq!(
        answer.json()["CancellationReasons"],
        json!([{"Code": "ValidationError", "Message": reason}])
    );
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk";
    check(json!([put("", 1)]), &format!("Validation: {empty}"));
    let many: Vec<Value> = (0..101).map(|sk| put("many", sk)).collect();
    check(
        json!(many),
        "~Member must have length less than or equal to 100",
    );
    assert_eq!(service.ok("Scan", json!({"TableName": "Tab"}))["Count"], 0);
}

/// docs/dynamodb.md B.8.
#[test]
fn tokens() {
    let service = Service::new();
    let add = |amount: &str| {
        let values = json!({":x": {"N": amount}});
        let update = json!({"TableName": "Tab", "Key": key("a", 1), "UpdateExpression": "ADD n :x", "ExpressionAttributeValues": values});
        json!({"TransactItems": [{"Update": update}], "ClientRequestToken": "token"})
    };
    (0..2).for_each(|_| drop(service.ok("TransactWriteItems", add("1"))));
    assert_eq!(service.get("a", 1)["n"], json!({"N": "1"}));
    service.check(
        "TransactWriteItems",
        &add("2"),
        "~IdempotentParameterMismatch",
    );
}

/// docs/dynamodb.md B.8.
#[test]
fn reads() {
    let service = Service::new();
    service.put(&item("a", 1, ""));
    let get = |sk: u32| json!({"Get": {"TableName": "Tab", "Key": key("a", sk)}});
    let answer = service.ok(
        "TransactGetItems",
        json!({"TransactItems": [get(1), get(2)]}),
    );
    assert_eq!(answer["Responses"], json!([{"Item": key("a", 1)}, {}]));
}

//! UpdateItem, and the item that a failed condition returns (docs/dynamodb.md 27).

use super::*;

#[test]
fn an_update_is_limited_by_what_it_writes() {
    let service = Service::new();
    // The item would be 409,600 bytes: pk 3, sk 4, v with its name 409,593. The statement counts for 22 more, its key not.
    let of = |bytes: usize| update("SET v = :v", json!({":v": {"S": "x".repeat(bytes - 8)}}));
    service.check("UpdateItem", &of(409_600 - 15), "OK");
    service.check(
        "UpdateItem",
        &of(409_600 - 14),
        "~Item size to update has exceeded the maximum allowed size",
    );
}

/// docs/dynamodb.md 27, row 2.
#[test]
fn updates_of_what_is_not_there() {
    let service = Service::new();
    for (expression, values) in [
        ("REMOVE a", Value::Null),
        ("DELETE s :s", json!({":s": {"SS": ["a"]}})),
    ] {
        service.ok("UpdateItem", update(expression, values));
        assert_eq!(service.get("k", 1), Value::Null, "{expression}");
    }
    service.ok(
        "UpdateItem",
        json!({"TableName": "Tab", "Key": key("k", 1)}),
    );
    assert_eq!(service.get("k", 1), key("k", 1));
}

/// docs/dynamodb.md 27, row 5.
#[test]
fn functions_of_updates() {
    let service = Service::new();
    service.put(&item("k", 1, r#""l":{"L":[{"N":"1"}]}"#));
    let list = json!({":p": {"L": [{"N": "2"}]}, ":e": {"L": []}});
    service.ok(
        "UpdateItem",
        update(
            "SET l = list_append(if_not_exists(l, :e), :p)",
            list.clone(),
        ),
    );
    assert_eq!(
        service.get("k", 1)["l"],
        json!({"L": [{"N": "1"}, {"N": "2"}]})
    );
    let case = "~Invalid UpdateExpression: Invalid function name; function: List_Append";
    service.check(
        "UpdateItem",
        &update("SET l = List_Append(l, :p)", json!({":p": {"L": []}})),
        case,
    );
    service.check(
        "UpdateItem",
        &update("SET _l = :p", json!({":p": {"L": []}})),
        r#"~Invalid UpdateExpression: Syntax error; token: "_l""#,
    );
}

/// docs/dynamodb.md 27, row 7.
#[test]
fn only_the_changed_path_is_returned() {
    let service = Service::new();
    service.put(&item(
        "k",
        1,
        r#""m":{"M":{"a":{"N":"1"},"b":{"N":"2"},"c":{"M":{"d":{"N":"3"}}}}}"#,
    ));
    let changed = |values: &str, number: &str| {
        let request = update("SET m.c.d = :n", json!({":n": {"N": number}}));
        service.ok("UpdateItem", with(request, json!({"ReturnValues": values})))["Attributes"]
            .take()
    };
    let skeleton = |number: &str| json!({"m": {"M": {"c": {"M": {"d": {"N": number}}}}}});
    assert_eq!(changed("UPDATED_OLD", "4"), skeleton("3"));
    assert_eq!(changed("UPDATED_NEW", "5"), skeleton("5"));
}

/// docs/dynamodb.md 27, row 19.
#[test]
fn the_item_of_a_failed_condition() {
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
    for (operation, request) in [
        ("PutItem", put()),
        ("DeleteItem", keyed()),
        ("UpdateItem", update()),
    ] {
        let answer = service.raw(operation, &request.to_string()).json();
        assert_eq!(answer["Item"], there, "{operation}: {answer}");
    }
    let second = item("k", 2, r#""n":{"N":"0"}"#);
    service.put(&second);
    let other = failing(json!({"Key": key("k", 2)}));
    for action in [
        json!({"Put": put()}),
        json!({"Delete": keyed()}),
        json!({"Update": update()}),
        json!({"ConditionCheck": keyed()}),
    ] {
        let request = json!({"TransactItems": [action, {"ConditionCheck": other}]});
        let reasons = service
            .raw("TransactWriteItems", &request.to_string())
            .json()["CancellationReasons"]
            .take();
        assert_eq!(
            (&reasons[0]["Item"], &reasons[1]["Item"]),
            (&there, &second),
            "{reasons}"
        );
    }
}

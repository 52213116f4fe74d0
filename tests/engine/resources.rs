//! Tags, resource policies, limits (docs/dynamodb.md 18).

use std::sync::Arc;

use crate::support::control::{ARN, Control};
use crate::support::wait::until_ok;
use ddbfs::engine::account::AccountRecord;
use ddbfs::engine::streams::StreamPolicy;
use ddbfs::store::Store;
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[test]
fn tags_are_added_replaced_listed_and_removed() {
    let control = Control::new();
    control.ok(
        "CreateTable",
        json!({
            "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            "Tags": [{ "Key": "team", "Value": "sales" }],
        }),
    );
    let arn = format!("{ARN}Tab");
    let list = || control.ok("ListTagsOfResource", json!({ "ResourceArn": arn }))["Tags"].clone();
    assert_eq!(list(), json!([{ "Key": "team", "Value": "sales" }]));
    let tags = json!([{ "Key": "team", "Value": "it" }, { "Key": "stage", "Value": "" }]);
    assert_eq!(
        control.ok("TagResource", json!({ "ResourceArn": arn, "Tags": tags })),
        Value::Null
    );
    assert_eq!(list(), tags);
    control.ok(
        "UntagResource",
        json!({ "ResourceArn": arn, "TagKeys": ["team", "other"] }),
    );
    assert_eq!(list(), json!([{ "Key": "stage", "Value": "" }]));

    let many: Vec<Value> = (0..50)
        .map(|n| json!({ "Key": format!("k{n}"), "Value": "" }))
        .collect();
    let too_many = "Number of Tags exceed the current limit for the provided ResourceArn";
    control.fails(
        "TagResource",
        json!({ "ResourceArn": arn, "Tags": many }),
        too_many,
    );
    control.fails(
        "UntagResource",
        json!({ "ResourceArn": arn, "TagKeys": [] }),
        "Atleast one Tag Key needs to be provided as Input.",
    );
    let other = format!("{ARN}Other");
    let missing = format!("Requested resource not found: ResourceArn: {other} not found");
    control.fails(
        "ListTagsOfResource",
        json!({ "ResourceArn": other }),
        &missing,
    );
    assert_eq!(control.describe("Tab").get("Tags"), None);
}

#[test]
fn policies_are_kept_with_revisions() {
    let control = Control::new();
    control.simple("Tab");
    let arn = format!("{ARN}Tab");
    let missing = format!("Resource-based policy not found for the provided ResourceArn: {arn}");
    control.fails("GetResourcePolicy", json!({ "ResourceArn": arn }), &missing);
    assert_eq!(
        control.ok("DeleteResourcePolicy", json!({ "ResourceArn": arn })),
        json!({})
    );
    let put = |policy: &str, expected: Option<&str>| {
        control.call(
            "PutResourcePolicy",
            json!({ "ResourceArn": arn, "Policy": policy, "ExpectedRevisionId": expected }),
        )
    };
    let first = put("{}", Some("NO_POLICY")).unwrap()["RevisionId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(put("{}", None).unwrap()["RevisionId"], first);
    put(r#"{"a":1}"#, Some("NO_POLICY")).unwrap_err();
    let second = put(r#"{"a":1}"#, Some(&first)).unwrap()["RevisionId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(first, second);
    let found = control.ok("GetResourcePolicy", json!({ "ResourceArn": arn }));
    assert_eq!(
        found,
        json!({ "Policy": r#"{"a":1}"#, "RevisionId": second })
    );
    assert_eq!(
        put("no JSON", None),
        Err("The policy document is not valid JSON".to_owned())
    );
    assert_eq!(
        control.ok("DeleteResourcePolicy", json!({ "ResourceArn": arn })),
        json!({ "RevisionId": second })
    );
    control.fails("GetResourcePolicy", json!({ "ResourceArn": arn }), &missing);
}

#[test]
fn a_stream_has_a_policy_of_its_own() {
    let store = Arc::new(MemoryStore::new().unwrap());
    let control = Control::on(store.clone(), |_| {});
    control.simple("Tab");
    let stream = |is_enabled: bool| match is_enabled {
        true => json!({ "StreamEnabled": true, "StreamViewType": "KEYS_ONLY" }),
        false => json!({ "StreamEnabled": false }),
    };
    control.ok(
        "UpdateTable",
        json!({ "TableName": "Tab", "StreamSpecification": stream(true) }),
    );
    let arn = control.describe("Tab")["LatestStreamArn"]
        .as_str()
        .unwrap()
        .to_owned();
    let missing = format!("Resource-based policy not found for the provided ResourceArn: {arn}");
    control.fails("GetResourcePolicy", json!({ "ResourceArn": arn }), &missing);
    assert_eq!(
        control.ok("DeleteResourcePolicy", json!({ "ResourceArn": arn })),
        json!({})
    );
    let put = |policy: &str, expected: Option<&str>| {
        control.call(
            "PutResourcePolicy",
            json!({ "ResourceArn": arn, "Policy": policy, "ExpectedRevisionId": expected }),
        )
    };
    let first = put("{}", Some("NO_POLICY")).unwrap()["RevisionId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(put("{}", None).unwrap()["RevisionId"], first);
    put(r#"{"a":1}"#, Some("NO_POLICY")).unwrap_err();
    // That of the table is another one.
    let table = format!("{ARN}Tab");
    control.fails(
        "GetResourcePolicy",
        json!({ "ResourceArn": table }),
        &format!("Resource-based policy not found for the provided ResourceArn: {table}"),
    );
    // A disabled stream keeps it, and it can be changed.
    control.ok(
        "UpdateTable",
        json!({ "TableName": "Tab", "StreamSpecification": stream(false) }),
    );
    assert_eq!(
        control.ok("GetResourcePolicy", json!({ "ResourceArn": arn })),
        json!({ "Policy": "{}", "RevisionId": first })
    );
    let second = put(r#"{"a":1}"#, Some(&first)).unwrap()["RevisionId"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(first, second);
    assert_eq!(
        control.ok("DeleteResourcePolicy", json!({ "ResourceArn": arn })),
        json!({ "RevisionId": second })
    );
    control.fails("GetResourcePolicy", json!({ "ResourceArn": arn }), &missing);
    assert_ne!(put("{}", None).unwrap()["RevisionId"], second);
    let other = format!("{table}/stream/2026-01-01T00:00:00.000");
    let unknown = format!("Requested resource not found: ResourceArn: {other} not found");
    control.fails(
        "GetResourcePolicy",
        json!({ "ResourceArn": other }),
        &unknown,
    );
    control.fails(
        "PutResourcePolicy",
        json!({ "ResourceArn": other, "Policy": "{}" }),
        &unknown,
    );
    // Nor does the end of the table take it; that of the stream does.
    let kept = || {
        let mut count = 0;
        StreamPolicy::each(&*store.snapshot().unwrap(), |_| {
            count += 1;
            Ok(())
        })
        .unwrap();
        count
    };
    control.ok("DeleteTable", json!({ "TableName": "Tab" }));
    assert_eq!(
        control.ok("GetResourcePolicy", json!({ "ResourceArn": arn }))["Policy"],
        "{}"
    );
    assert_eq!(kept(), 1);
    control.clock.advance_ms(DAY_MS + 1);
    control.database.engine().run_background_work().unwrap();
    let unknown = format!("Requested resource not found: ResourceArn: {arn} not found");
    control.fails("GetResourcePolicy", json!({ "ResourceArn": arn }), &unknown);
    assert_eq!(kept(), 0);
}

#[test]
fn limits_and_endpoints() {
    let control = Control::new();
    let limits = json!({
        "AccountMaxReadCapacityUnits": 80_000, "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000,
    });
    assert_eq!(control.ok("DescribeLimits", json!({})), limits);
    let endpoints = json!({ "Endpoints": [{ "Address": "host:1", "CachePeriodInMinutes": 1440 }] });
    assert_eq!(control.ok("DescribeEndpoints", json!({})), endpoints);
}

#[test]
fn a_table_is_named_by_its_arn_everywhere_and_shown_so() {
    let control = Control::new();
    control.simple("Tab");
    let arn = format!("{ARN}Tab");
    let key = json!({ "pk": { "S": "a" } });
    let consumed = |operation: &str, mut body: Value| {
        body["ReturnConsumedCapacity"] = json!("TOTAL");
        control.ok(operation, body)["ConsumedCapacity"].clone()
    };
    let update = json!({ "TableName": arn, "Key": key, "UpdateExpression": "REMOVE a" });
    let condition = json!({ "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": { ":p": { "S": "a" } }, "TableName": arn });
    for (operation, body) in [
        ("PutItem", json!({ "TableName": arn, "Item": key })),
        ("UpdateItem", update.clone()),
        ("GetItem", json!({ "TableName": arn, "Key": key })),
        ("Query", condition),
        ("Scan", json!({ "TableName": arn })),
        ("DeleteItem", json!({ "TableName": arn, "Key": key })),
    ] {
        assert_eq!(
            consumed(operation, body)["TableName"],
            json!(arn),
            "{operation}"
        );
    }
    for (operation, body) in [
        (
            "BatchGetItem",
            json!({ "RequestItems": { &arn: { "Keys": [key] } } }),
        ),
        (
            "BatchWriteItem",
            json!({ "RequestItems": { &arn: [{ "PutRequest": { "Item": key } }] } }),
        ),
        (
            "TransactGetItems",
            json!({ "TransactItems": [{ "Get": { "TableName": arn, "Key": key } }] }),
        ),
        (
            "TransactWriteItems",
            json!({ "TransactItems": [{ "Update": update }] }),
        ),
    ] {
        assert_eq!(
            consumed(operation, body)[0]["TableName"],
            json!(arn),
            "{operation}"
        );
    }
    assert_eq!(
        consumed("GetItem", json!({ "TableName": "Tab", "Key": key }))["TableName"],
        json!("Tab")
    );
    let select = format!("SELECT * FROM \"{arn}\" WHERE pk = 'a'");
    assert_eq!(
        control.ok("ExecuteStatement", json!({ "Statement": select }))["Items"],
        json!([key])
    );
    // ListStreams takes names alone, by its model.
    for operation in [
        "DescribeTable",
        "DescribeTimeToLive",
        "DescribeContinuousBackups",
        "ListBackups",
    ] {
        control.ok(operation, json!({ "TableName": arn }));
    }
    let ends = json!({ "Enabled": true, "AttributeName": "ends" });
    control.ok(
        "UpdateTimeToLive",
        json!({ "TableName": arn, "TimeToLiveSpecification": ends }),
    );
    control.ok(
        "UpdateTable",
        json!({ "TableName": arn, "TableClass": "STANDARD_INFREQUENT_ACCESS" }),
    );
    let backup = control.ok(
        "CreateBackup",
        json!({ "TableName": arn, "BackupName": "one" }),
    );
    // A table that is being read cannot be deleted.
    let request = json!({ "BackupArn": backup["BackupDetails"]["BackupArn"] });
    let status = || {
        control.ok("DescribeBackup", request.clone())["BackupDescription"]["BackupDetails"]["BackupStatus"].clone()
    };
    until_ok("the backup is available", || match status() {
        Value::String(status) if status == "AVAILABLE" => Ok(()),
        other => Err(other.to_string()),
    });
    control.database.engine().run_background_work().unwrap();
    assert_eq!(
        control.ok("DeleteTable", json!({ "TableName": arn }))["TableDescription"]["TableName"],
        json!("Tab")
    );
}

//! UpdateTable (docs/dynamodb.md 11.3).

use crate::support::control::Control;
use serde_json::{Value, json};

fn units(read: u64, write: u64) -> Value {
    json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write })
}

fn attribute(name: &str) -> Value {
    json!({ "AttributeName": name, "AttributeType": "S" })
}

fn key(name: &str, key_type: &str) -> Value {
    json!({ "AttributeName": name, "KeyType": key_type })
}

/// `Prov` with 5/5, a local index `loc` and a global one `glo` with 3/3; `Dem` on demand with `glo`.
fn tables() -> Control {
    let control = Control::twice();
    let all = json!({ "ProjectionType": "ALL" });
    control.ok(
        "CreateTable",
        json!({
            "TableName": "Prov", "AttributeDefinitions": [attribute("pk"), attribute("sk"), attribute("a")],
            "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")], "ProvisionedThroughput": units(5, 5),
            "LocalSecondaryIndexes": [{ "IndexName": "loc", "KeySchema": [key("pk", "HASH"), key("a", "RANGE")], "Projection": all }],
            "GlobalSecondaryIndexes": [{
                "IndexName": "glo", "KeySchema": [key("a", "HASH")], "Projection": all, "ProvisionedThroughput": units(3, 3),
            }],
        }),
    );
    control.ok(
        "CreateTable",
        json!({
            "TableName": "Dem", "AttributeDefinitions": [attribute("pk"), attribute("a")], "KeySchema": [key("pk", "HASH")],
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [{ "IndexName": "glo", "KeySchema": [key("a", "HASH")], "Projection": all }],
        }),
    );
    control
}

/// The members with the table's name.
fn of(table: &str, mut members: Value) -> Value {
    members["TableName"] = json!(table);
    members
}

const NOTHING: &str = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, \
    SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, \
    DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";

#[test]
fn what_is_refused() {
    let control = tables();
    let check = |table: &str, members: Value, expected: &str| {
        control.fails("UpdateTable", of(table, members), expected)
    };
    check("None", json!({}), NOTHING);
    check(
        "None",
        json!({ "AttributeDefinitions": [attribute("x")] }),
        NOTHING,
    );
    check(
        "None",
        json!({ "GlobalSecondaryIndexUpdates": [] }),
        NOTHING,
    );
    check(
        "None",
        json!({ "TableClass": "STANDARD" }),
        "Requested resource not found: Table: None not found",
    );
    let up = |name: &str, units: Value| json!({ "Update": { "IndexName": name, "ProvisionedThroughput": units } });
    let updates = |list: Value| json!({ "GlobalSecondaryIndexUpdates": list });
    let units = |read, write| units(read, write);

    let mut empty = updates(json!([]));
    empty["DeletionProtectionEnabled"] = json!(true);
    check(
        "Prov",
        empty,
        "IV: List of GlobalSecondaryIndexUpdates is empty",
    );
    let one_of = "IV: One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null";
    check("Prov", updates(json!([{}])), one_of);
    let mut both = up("glo", units(1, 1));
    both["Delete"] = json!({ "IndexName": "glo" });
    check(
        "Prov",
        updates(json!([both])),
        "IV: Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
    );
    check(
        "Prov",
        updates(json!([up("glo", units(1, 1)), up("glo", units(2, 2))])),
        "IV: Only one global secondary index update per index is allowed simultaneously. Index: glo",
    );
    check(
        "Prov",
        updates(
            json!([{ "Delete": { "IndexName": "glo" } }, { "Delete": { "IndexName": "abc" } }]),
        ),
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
    );
    check(
        "Prov",
        updates(json!([up("abc", units(1, 1))])),
        "Requested resource not found: Index abc for table Prov",
    );
    check(
        "Prov",
        updates(json!([up("loc", units(1, 1))])),
        "Cannot update an index that is not a GlobalSecondaryIndex: loc",
    );
    check(
        "Prov",
        updates(json!([{ "Delete": { "IndexName": "loc" } }])),
        "Cannot delete an index that is not a GlobalSecondaryIndex: loc",
    );
}

#[test]
fn throughput_is_refused() {
    let control = tables();
    let check = |table: &str, members: Value, expected: &str| {
        control.fails("UpdateTable", of(table, members), expected)
    };
    let same = "The provisioned throughput for the table will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. Current WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.";
    check(
        "Prov",
        json!({ "ProvisionedThroughput": units(5, 5) }),
        same,
    );
    check(
        "Prov",
        json!({ "ProvisionedThroughput": units(5, 5), "BillingMode": "PROVISIONED" }),
        same,
    );
    let change =
        json!([{ "Update": { "IndexName": "glo", "ProvisionedThroughput": units(3, 3) } }]);
    let of_index = same
        .replace("the table will", "the index glo will")
        .replace("for the table", "for the index")
        .replace(": 5.", ": 3.");
    check(
        "Prov",
        json!({ "GlobalSecondaryIndexUpdates": change }),
        &of_index,
    );
    let on_demand = "IV: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST";
    check(
        "Dem",
        json!({ "ProvisionedThroughput": units(5, 5) }),
        on_demand,
    );
    check(
        "Prov",
        json!({ "ProvisionedThroughput": units(5, 5), "BillingMode": "PAY_PER_REQUEST" }),
        on_demand,
    );
    check(
        "Dem",
        json!({ "GlobalSecondaryIndexUpdates": change }),
        "IV: The only Updates for index: glo when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput",
    );
    check(
        "Dem",
        json!({ "BillingMode": "PROVISIONED" }),
        "IV: ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
    );
    check(
        "Dem",
        json!({ "BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1) }),
        "IV: ProvisionedThroughput must be specified for index: glo",
    );
    check(
        "Prov",
        json!({ "ProvisionedThroughput": units(40_001, 5) }),
        "The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in us-east-1. Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
    );
    check(
        "Prov",
        json!({ "OnDemandThroughput": { "MaxReadRequestUnits": 1 } }),
        "IV: MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
    );
    check(
        "Dem",
        json!({ "OnDemandThroughput": { "MaxWriteRequestUnits": 0 } }),
        "IV: Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range",
    );
    check(
        "Dem",
        json!({ "WarmThroughput": { "ReadUnitsPerSecond": 11_999 } }),
        "IV: Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, decreasing WarmThroughput is not supported",
    );
}

#[test]
fn combinations_are_refused() {
    let control = tables();
    let check = |members: Value, expected: &str| {
        control.fails("UpdateTable", of("Prov", members), expected)
    };
    let stream = json!({ "StreamEnabled": true, "StreamViewType": "NEW_IMAGE" });
    let create = json!([{ "Create": {
        "IndexName": "new", "KeySchema": [key("x", "HASH")], "Projection": { "ProjectionType": "ALL" },
    } }]);
    check(
        json!({ "GlobalSecondaryIndexUpdates": create, "ProvisionedThroughput": units(1, 1) }),
        "IV: You cannot create or delete index while updating table IOPS",
    );
    check(
        json!({ "GlobalSecondaryIndexUpdates": create, "StreamSpecification": stream }),
        "IV: You cannot create or delete index while changing stream status",
    );
    check(
        json!({ "StreamSpecification": stream, "ProvisionedThroughput": units(1, 1) }),
        "IV: You cannot modify stream status while updating table IOPS",
    );
    for (member, value, name) in [
        (
            "SSESpecification",
            json!({ "Enabled": true }),
            "Server-Side Encryption modification",
        ),
        ("TableClass", json!("STANDARD"), "TableClass modification"),
        (
            "DeletionProtectionEnabled",
            json!(true),
            "DeletionProtection modification",
        ),
        (
            "WarmThroughput",
            json!({ "ReadUnitsPerSecond": 6 }),
            "WarmThroughput",
        ),
        (
            "ReplicaUpdates",
            json!([{ "Create": { "RegionName": "eu-west-1" } }]),
            "Replica modification",
        ),
    ] {
        let mut members = json!({ "ProvisionedThroughput": units(1, 1) });
        members[member] = value;
        check(
            members,
            &format!("IV: {name} must be the only operation in the request"),
        );
    }
    check(
        json!({ "OnDemandThroughput": { "MaxReadRequestUnits": 1 }, "StreamSpecification": stream }),
        "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
    );
    check(
        json!({ "StreamSpecification": { "StreamEnabled": false } }),
        "Table has no stream to disable: TableName: Prov",
    );
    check(
        json!({ "StreamSpecification": { "StreamEnabled": true } }),
        "IV: If stream is being enabled then UpdateViewType is required",
    );
    check(
        json!({ "StreamSpecification": { "StreamEnabled": false, "StreamViewType": "NEW_IMAGE" } }),
        "IV: If stream is being disabled, then UpdateViewType must not be specified",
    );
    let answer = control.ok(
        "UpdateTable",
        of("Prov", json!({ "StreamSpecification": stream })),
    );
    assert!(
        answer["TableDescription"]["LatestStreamArn"]
            .as_str()
            .unwrap()
            .contains(":table/Prov/stream/2023-11-14T22:13:20")
    );
    check(
        json!({ "StreamSpecification": stream }),
        "Table already has an enabled stream: TableName: Prov",
    );
    control.ok(
        "UpdateTable",
        of(
            "Prov",
            json!({ "StreamSpecification": { "StreamEnabled": false } }),
        ),
    );
    assert_eq!(control.describe("Prov")["StreamSpecification"], Value::Null);
}

#[test]
fn the_answer_shows_the_old_throughput_updating_and_the_table_has_the_new() {
    let control = tables();
    let change =
        json!([{ "Update": { "IndexName": "glo", "ProvisionedThroughput": units(9, 9) } }]);
    let members =
        json!({ "ProvisionedThroughput": units(7, 5), "GlobalSecondaryIndexUpdates": change });
    let answer = &control.ok("UpdateTable", of("Prov", members))["TableDescription"];
    assert_eq!(answer["TableStatus"], "UPDATING");
    assert_eq!(answer["ProvisionedThroughput"]["ReadCapacityUnits"], 5);
    assert_eq!(
        answer["GlobalSecondaryIndexes"][0]["IndexStatus"],
        "UPDATING"
    );
    assert_eq!(
        answer["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"],
        3
    );

    let table = control.describe("Prov");
    assert_eq!(table["TableStatus"], "ACTIVE");
    let seconds = 1_700_000_000.0;
    let expected = json!({
        "LastIncreaseDateTime": seconds, "NumberOfDecreasesToday": 0, "ReadCapacityUnits": 7, "WriteCapacityUnits": 5,
    });
    assert_eq!(table["ProvisionedThroughput"], expected);
    assert_eq!(
        table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"],
        9
    );

    // Only an index: the table's status stays.
    let change =
        json!([{ "Update": { "IndexName": "glo", "ProvisionedThroughput": units(8, 9) } }]);
    let answer = &control.ok(
        "UpdateTable",
        of("Prov", json!({ "GlobalSecondaryIndexUpdates": change })),
    )["TableDescription"];
    assert_eq!(
        (
            &answer["TableStatus"],
            &answer["GlobalSecondaryIndexes"][0]["IndexStatus"]
        ),
        (&json!("ACTIVE"), &json!("UPDATING"))
    );
}

#[test]
fn decreases_have_a_quota_in_a_day() {
    let control = tables();
    control.ok(
        "UpdateTable",
        of("Prov", json!({ "ProvisionedThroughput": units(20, 20) })),
    );
    let lower = |read| {
        control.call(
            "UpdateTable",
            of("Prov", json!({ "ProvisionedThroughput": units(read, 20) })),
        )
    };
    for read in [19, 18, 17, 16] {
        lower(read).unwrap();
    }
    let text = lower(15).unwrap_err();
    assert!(text.starts_with("Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day."));
    let date = "Tuesday, November 14, 2023 at 10:13:20 PM Coordinated Universal Time";
    assert!(
        text.contains(&format!(
            "Number of decreases today: 4. Last decrease at {date}."
        )),
        "{text}"
    );
    assert_eq!(
        control.describe("Prov")["ProvisionedThroughput"]["NumberOfDecreasesToday"],
        4
    );
    // Increases have none; an hour later one more decrease passes; the next day begins anew.
    control.ok(
        "UpdateTable",
        of("Prov", json!({ "ProvisionedThroughput": units(30, 20) })),
    );
    control.clock.advance_ms(60 * 60 * 1000);
    lower(29).unwrap();
    lower(28).unwrap_err();
    control.clock.advance_ms(60 * 60 * 1000);
    lower(27).unwrap();
    assert_eq!(
        control.describe("Prov")["ProvisionedThroughput"]["NumberOfDecreasesToday"],
        1
    );
    // Warm throughput is the highest that was reached.
    assert_eq!(
        control.describe("Prov")["WarmThroughput"]["ReadUnitsPerSecond"],
        30
    );
}

#[test]
fn billing_modes_change_with_all_that_belongs_to_them() {
    let control = tables();
    control
        .ok("UpdateTable", of("Dem", json!({ "OnDemandThroughput": { "MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 9 } })));
    control.ok(
        "UpdateTable",
        of(
            "Dem",
            json!({ "OnDemandThroughput": { "MaxReadRequestUnits": -1 } }),
        ),
    );
    assert_eq!(
        control.describe("Dem")["OnDemandThroughput"],
        json!({ "MaxWriteRequestUnits": 9 })
    );
    let change =
        json!([{ "Update": { "IndexName": "glo", "ProvisionedThroughput": units(3, 3) } }]);
    let members = json!({ "BillingMode": "PROVISIONED", "ProvisionedThroughput": units(2, 2), "GlobalSecondaryIndexUpdates": change });
    control.ok("UpdateTable", of("Dem", members));
    let table = control.describe("Dem");
    assert_eq!(table["BillingModeSummary"]["BillingMode"], "PROVISIONED");
    assert_eq!(table["OnDemandThroughput"], Value::Null);
    assert_eq!(table["ProvisionedThroughput"]["ReadCapacityUnits"], 2);
    assert_eq!(table["WarmThroughput"]["ReadUnitsPerSecond"], 12_000);

    control.clock.advance_ms(1000);
    assert_eq!(control.describe("Prov")["BillingModeSummary"], Value::Null);
    for _ in 0..2 {
        let answer = control.ok(
            "UpdateTable",
            of("Prov", json!({ "BillingMode": "PAY_PER_REQUEST" })),
        );
        assert_eq!(answer["TableDescription"]["TableStatus"], "UPDATING");
    }
    let table = control.describe("Prov");
    assert_eq!(table["ProvisionedThroughput"]["ReadCapacityUnits"], 0);
    assert_eq!(
        table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"],
        0
    );
    let since = json!({ "BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": 1_700_000_001.0 });
    assert_eq!(table["BillingModeSummary"], since);
}

#[test]
fn protection_class_encryption_and_warm_throughput() {
    let control = tables();
    let change =
        |members: Value| control.ok("UpdateTable", of("Prov", members))["TableDescription"].clone();
    let answer = change(json!({ "DeletionProtectionEnabled": true }));
    assert_eq!(
        (&answer["TableStatus"], &answer["DeletionProtectionEnabled"]),
        (&json!("ACTIVE"), &json!(true))
    );
    let protected = "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.";
    control.fails("DeleteTable", json!({ "TableName": "Prov" }), protected);

    change(json!({ "TableClass": "STANDARD_INFREQUENT_ACCESS" }));
    let class = json!({ "TableClass": "STANDARD_INFREQUENT_ACCESS", "LastUpdateDateTime": 1_700_000_000.0 });
    assert_eq!(control.describe("Prov")["TableClassSummary"], class);
    change(
        json!({ "SSESpecification": { "Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "abc" } }),
    );
    let sse = json!({ "Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:aws:kms:us-east-1:000000000000:key/abc" });
    assert_eq!(control.describe("Prov")["SSEDescription"], sse);
    change(json!({ "SSESpecification": { "Enabled": false } }));
    assert_eq!(control.describe("Prov")["SSEDescription"], Value::Null);
    change(json!({ "WarmThroughput": { "ReadUnitsPerSecond": 500 } }));
    let warm = json!({ "ReadUnitsPerSecond": 500, "WriteUnitsPerSecond": 5, "Status": "ACTIVE" });
    assert_eq!(control.describe("Prov")["WarmThroughput"], warm);

    change(json!({ "DeletionProtectionEnabled": false }));
    control.ok("DeleteTable", json!({ "TableName": "Prov" }));
}

//! The texts of validation of tables and tags (docs/dynamodb.md 11.1, 18.1).

use serde_json::{Value, json};

use super::*;
use crate::support::wait::until;

/// docs/dynamodb.md 11.1.
#[test]
fn create_table() {
    let service = Service::new();
    let definitions = |names: &str| -> Value {
        let one = |pair: &str| {
            let (name, kind) = pair.split_once(':').unwrap();
            json!({"AttributeName": name, "AttributeType": kind})
        };
        names.split(' ').map(one).collect()
    };
    let keys = |names: &str| -> Value {
        let one = |pair: &str| {
            let (name, kind) = pair.split_once(':').unwrap();
            json!({"AttributeName": name, "KeyType": kind})
        };
        names.split(' ').map(one).collect()
    };
    let index = |name: &str, names: &str| json!({"IndexName": name, "KeySchema": keys(names), "Projection": {"ProjectionType": "ALL"}});
    let projected = |projection: Value| json!([{"IndexName": "loc", "KeySchema": keys("pk:HASH a:RANGE"), "Projection": projection}]);
    let with_a = |lists: Value| {
        with(
            lists,
            json!({"AttributeDefinitions": definitions("pk:S sk:N a:S")}),
        )
    };
    let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    let numbered = |count: usize, names: &str| {
        (0..count)
            .map(|n| index(&format!("index{n}"), names))
            .collect::<Value>()
    };
    let rows = [
        (
            json!({"ProvisionedThroughput": units}),
            "IV: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            json!({"BillingMode": "PROVISIONED"}),
            "IV: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1_000_000_000_001_u64, "WriteCapacityUnits": 1}}),
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            json!({"AttributeDefinitions": definitions("pk:S sk:N pk:N")}),
            "Attribute Name is duplicated: pk",
        ),
        (
            json!({"AttributeDefinitions": definitions("pk:S")}),
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            json!({"AttributeDefinitions": definitions("pk:S q:S")}),
            "~IV: Some index key attributes are not defined in AttributeDefinitions. Keys: [",
        ),
        (
            json!({"KeySchema": keys("pk:HASH pk:RANGE")}),
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            json!({"KeySchema": keys("pk:RANGE sk:HASH")}),
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            json!({"KeySchema": keys("pk:HASH sk:HASH")}),
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            json!({"AttributeDefinitions": definitions("pk:S sk:N a:S")}),
            "IV: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
        ),
        (
            json!({"AttributeDefinitions": definitions("pk:S sk:N a:S b:S"), "LocalSecondaryIndexes": [index("loc", "pk:HASH a:RANGE")]}),
            "~IV: Some AttributeDefinitions are not used. AttributeDefinitions: [",
        ),
        (
            json!({"LocalSecondaryIndexes": []}),
            "IV: List of LocalSecondaryIndexes is empty",
        ),
        (
            json!({"KeySchema": keys("pk:HASH"), "AttributeDefinitions": definitions("pk:S a:S"), "LocalSecondaryIndexes": [index("loc", "pk:HASH a:RANGE")]}),
            "IV: Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ),
        (
            json!({"LocalSecondaryIndexes": [index("loc", "pk:HASH")]}),
            "IV: Index KeySchema does not have a range key for index: loc",
        ),
        (
            with_a(json!({"LocalSecondaryIndexes": [index("loc", "a:HASH sk:RANGE")]})),
            "IV: Index KeySchema does not have the same leading hash key as table KeySchema for index: loc. index hash key: a, table hash key: pk",
        ),
        (
            with_a(json!({"LocalSecondaryIndexes": projected(json!({}))})),
            "IV: Unknown ProjectionType: null",
        ),
        (
            with_a(
                json!({"LocalSecondaryIndexes": projected(json!({"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}))}),
            ),
            "IV: ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            with_a(
                json!({"LocalSecondaryIndexes": projected(json!({"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["x"]}))}),
            ),
            "IV: ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        (
            with_a(
                json!({"LocalSecondaryIndexes": projected(json!({"ProjectionType": "INCLUDE"}))}),
            ),
            "IV: ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            with_a(
                json!({"LocalSecondaryIndexes": projected(json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "x"]}))}),
            ),
            "IV: Duplicate element in NonKeyAttributes: x",
        ),
        (
            with_a(
                json!({"LocalSecondaryIndexes": [index("same", "pk:HASH a:RANGE")], "GlobalSecondaryIndexes": [index("same", "a:HASH")]}),
            ),
            "IV: Duplicate index name: same",
        ),
        (
            with_a(json!({"LocalSecondaryIndexes": numbered(6, "pk:HASH a:RANGE")})),
            "IV: Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
        (
            json!({"GlobalSecondaryIndexes": []}),
            "IV: List of GlobalSecondaryIndexes is empty",
        ),
        (
            with_a(
                json!({"GlobalSecondaryIndexes": [with(index("glo", "a:HASH"), json!({"ProvisionedThroughput": units}))]}),
            ),
            "IV: ProvisionedThroughput should not be specified for index: glo when BillingMode is PAY_PER_REQUEST",
        ),
        (
            with_a(
                json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units, "GlobalSecondaryIndexes": [index("glo", "a:HASH")]}),
            ),
            "IV: ProvisionedThroughput is not specified for index: glo",
        ),
        (
            with_a(json!({"GlobalSecondaryIndexes": numbered(21, "a:HASH")})),
            "IV: GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
        (
            json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units, "OnDemandThroughput": {"MaxReadRequestUnits": 5}}),
            "IV: MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED.",
        ),
        (
            json!({"OnDemandThroughput": {"MaxReadRequestUnits": 0}}),
            "IV: Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            json!({"WarmThroughput": {"ReadUnitsPerSecond": 100, "WriteUnitsPerSecond": 4000}}),
            "~Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial throughput for OnDemand",
        ),
        (
            json!({"StreamSpecification": {"StreamEnabled": true}}),
            "IV: Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            json!({"StreamSpecification": {"StreamEnabled": false, "StreamViewType": "KEYS_ONLY"}}),
            "IV: Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        (
            json!({"SSESpecification": {"Enabled": false, "SSEType": "KMS"}}),
            "IV: SSEType can not be specified if Enabled is false",
        ),
        (
            json!({"SSESpecification": {"Enabled": false, "KMSMasterKeyId": "k"}}),
            "~KMSMasterKeyId can not be specified if Enabled is false",
        ),
        (
            json!({"SSESpecification": {"Enabled": true, "SSEType": "AES256"}}),
            "~SSEType AES256 is not supported",
        ),
        (json!({"TableClass": "COLD"}), "~STANDARD"),
    ];
    for (more, expected) in rows {
        check(&service, "CreateTable", &with(table("New"), more), expected);
    }
    check(
        &service,
        "CreateTable",
        &table("Tab"),
        "ResourceInUse: Table already exists: Tab",
    );
    let missing = service.outcome("CreateTable", &json!({}));
    assert!(missing.starts_with("Validation: "), "{missing}");
    check(
        &service,
        "DescribeTable",
        &json!({}),
        "The parameter 'TableName' is required but was not present in the request",
    );
}

/// docs/dynamodb.md 18.
#[test]
fn tags() {
    let service = Service::new();
    let arn = service.ok("DescribeTable", json!({"TableName": "Tab"}))["Table"]["TableArn"]
        .as_str()
        .unwrap()
        .to_owned();
    let tag = |tags: Value| json!({"ResourceArn": arn, "Tags": tags});
    let one = |key: &str, value: &str| json!([{"Key": key, "Value": value}]);
    let many: Value = (0..51)
        .map(|n| json!({"Key": n.to_string(), "Value": ""}))
        .collect();
    for (request, expected) in [
        (
            tag(json!([])),
            "Atleast one Tag needs to be provided as Input.",
        ),
        (
            tag(json!([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}])),
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
        ),
        (
            tag(one("a!", "")),
            "The Tag Key provided is invalid, Key: a!",
        ),
        (
            tag(one("a", "!")),
            "The Tag Value provided is invalid, Value: !",
        ),
        (
            tag(one("aws:a", "")),
            "Tag Key cannot be prefixed with aws:, Key: aws:a",
        ),
        (
            tag(many),
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ),
        (
            json!({"ResourceArn": "Tab", "Tags": one("a", "b")}),
            "IV: ARNs must start with 'arn:': Tab",
        ),
        (
            json!({"ResourceArn": format!("{arn}/index/glo"), "Tags": one("a", "b")}),
            "~IV: Invalid resource arn provided, only table or stream is accepted. Provided resource arn: ",
        ),
    ] {
        check(&service, "TagResource", &request, expected);
    }
    check(
        &service,
        "UntagResource",
        &json!({"ResourceArn": arn, "TagKeys": []}),
        "Atleast one Tag Key needs to be provided as Input.",
    );
}

/// docs/dynamodb.md 27, row 16.
#[test]
fn a_table_by_its_arn() {
    let service = Service::new();
    let arn = service.ok("DescribeTable", json!({"TableName": "Tab"}))["Table"]["TableArn"]
        .as_str()
        .unwrap()
        .to_owned();
    let named = |more: Value| with(json!({"TableName": arn}), more);
    let keyed = || json!({"TableName": arn, "Key": key("k", 1)});
    let query = json!({"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}}});
    let table_of = |value: Value| json!({"RequestItems": {arn.as_str(): value}});
    let check = json!({"ConditionCheck": {"TableName": arn, "Key": key("k", 2), "ConditionExpression": "attribute_not_exists(pk)"}});
    for (operation, request) in [
        ("DescribeTable", named(json!({}))),
        ("PutItem", named(json!({"Item": key("k", 1)}))),
        ("GetItem", keyed()),
        ("UpdateItem", keyed()),
        ("Query", named(query)),
        ("Scan", named(json!({}))),
        (
            "BatchWriteItem",
            table_of(json!([{"PutRequest": {"Item": key("k", 1)}}])),
        ),
        ("BatchGetItem", table_of(json!({"Keys": [key("k", 1)]}))),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"Put": named(json!({"Item": key("k", 1)}))}, check]}),
        ),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": keyed()}]}),
        ),
        ("DeleteItem", keyed()),
        (
            "UpdateTable",
            named(json!({"TableClass": "STANDARD_INFREQUENT_ACCESS"})),
        ),
        (
            "UpdateTimeToLive",
            named(json!({"TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}})),
        ),
        ("DescribeTimeToLive", named(json!({}))),
        ("DescribeContinuousBackups", named(json!({}))),
        ("CreateBackup", named(json!({"BackupName": "backup"}))),
        ("ListBackups", named(json!({}))),
    ] {
        service.check(operation, &request, "OK");
    }
    // Asked of this server alone. A refusal here, while the other engine has ended its backup and
    // deletes the table, would be a difference; a refusal there alone is repeated.
    until("the backup is available", || {
        let request = api("ListBackups", &named(json!({})).to_string());
        let listed = exchange(service.server.local_addr(), &request).json();
        listed["BackupSummaries"][0]["BackupStatus"] == "AVAILABLE"
    });
    until("the backup has ended", || {
        !service
            .outcome("DeleteTable", &named(json!({})))
            .contains("is being backed up")
    });
    service.check("DescribeTable", &named(json!({})), "~ResourceNotFound");
}

/// docs/dynamodb.md 27, row 17.
#[test]
fn time_to_live_is_changed_once() {
    let service = Service::new();
    let to = |enabled: bool, attribute: &str| json!({"TableName": "Tab", "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}});
    service.check(
        "UpdateTimeToLive",
        &to(false, "t"),
        "Validation: TimeToLive is already disabled",
    );
    service.check("UpdateTimeToLive", &to(true, "t"), "OK");
    service.check(
        "UpdateTimeToLive",
        &to(true, "t"),
        "Validation: TimeToLive is already enabled",
    );
    let other =
        "Validation: TimeToLive is active on a different AttributeName: current AttributeName is t";
    service.check("UpdateTimeToLive", &to(true, "u"), other);
    service.check("UpdateTimeToLive", &to(false, "u"), other);
}

/// docs/dynamodb.md 27, row 18.
#[test]
fn the_description_of_a_deleted_table() {
    let service = Service::new();
    let index = r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["a","a"]}}]"#;
    let twice = with(
        table("Twice"),
        json!({"GlobalSecondaryIndexes": parse(index)}),
    );
    let found = service.outcome("CreateTable", &twice);
    assert!(
        found.starts_with("Validation: ") && found.contains('a'),
        "{found}"
    );
    let deleted = service.ok("DeleteTable", json!({"TableName": "Tab"}))["TableDescription"].take();
    assert_eq!(deleted["TableStatus"], "DELETING");
    for member in ["KeySchema", "AttributeDefinitions", "CreationDateTime"] {
        assert_eq!(deleted.get(member), None, "{member}");
    }
}

/// docs/dynamodb.md 26, rows 5 to 9.
#[test]
fn what_update_table_refuses() {
    let service = Service::new();
    let short = "Validation: 1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3";
    service.check("DescribeTable", &json!({"TableName": "ab"}), short);
    service.ok("CreateTable", indexed());
    let update = |more: Value| with(json!({"TableName": "Ind"}), more);
    let nothing = "Validation: At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";
    service.check("UpdateTable", &update(json!({})), nothing);
    service.check("UpdateTable", &json!({"TableName": "None"}), nothing);
    let create = |name: &str, attribute: &str, attribute_type: &str| {
        let index = json!({
            "IndexName": name, "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"},
        });
        update(json!({
            "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": attribute_type}],
            "GlobalSecondaryIndexUpdates": [{"Create": index}],
        }))
    };
    service.check(
        "UpdateTable",
        &create("glo", "a", "S"),
        "Validation: Attempting to create an index which already exists",
    );
    let gone = update(json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "gone"}}]}));
    service.check(
        "UpdateTable",
        &gone,
        "ResourceNotFound: Requested resource not found: Index gone for table Ind",
    );
    service.check(
        "UpdateTable",
        &create("other", "a", "N"),
        "~Attributes cannot be redefined.",
    );
    let stale = json!({"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "N"}], "TableClass": "STANDARD_INFREQUENT_ACCESS"});
    service.check("UpdateTable", &update(stale), "OK");
}

/// docs/dynamodb.md 26, rows 17 to 19.
#[test]
fn small_tables_and_their_end() {
    let service = Service::new();
    service.put(&key("k", 1));
    let scan = json!({"TableName": "Tab", "ReturnConsumedCapacity": "TOTAL"});
    assert_eq!(
        service.ok("Scan", scan)["ConsumedCapacity"],
        json!({"TableName": "Tab", "CapacityUnits": 0.5})
    );
    let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    let to = |mode: &str, units: Value| {
        with(
            json!({"TableName": "Tab", "BillingMode": mode}),
            json!({"ProvisionedThroughput": units}),
        )
    };
    for _ in 0..2 {
        service.ok("UpdateTable", to("PROVISIONED", units.clone()));
        service.ok("UpdateTable", to("PAY_PER_REQUEST", Value::Null));
    }
    service.ok("DeleteTable", json!({"TableName": "Tab"}));
    // Without a configured delay a table is gone at once; with one, `tests/engine/index_life.rs` sees it DELETING.
    let gone = "ResourceNotFound: Requested resource not found: Table: Tab not found";
    service.check("DeleteTable", &json!({"TableName": "Tab"}), gone);
}

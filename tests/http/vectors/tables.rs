//! The texts of validation of tables and tags (docs/dynamodb.md 11.1, 18.1).

use serde_json::{Value, json};

use super::{Service, check, table, with};

#[test]
fn section_11_1_create_table() {
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
    let index =
        |name: &str, names: &str| json!({"IndexName": name, "KeySchema": keys(names), "Projection": {"ProjectionType": "ALL"}});
    let projected =
        |projection: Value| json!([{"IndexName": "loc", "KeySchema": keys("pk:HASH a:RANGE"), "Projection": projection}]);
    let with_a = |lists: Value| with(lists, json!({"AttributeDefinitions": definitions("pk:S sk:N a:S")}));
    let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    let numbered = |count: usize, names: &str| (0..count).map(|n| index(&format!("index{n}"), names)).collect::<Value>();
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
        (json!({"AttributeDefinitions": definitions("pk:S sk:N pk:N")}), "Attribute Name is duplicated: pk"),
        (json!({"AttributeDefinitions": definitions("pk:S")}), "Invalid KeySchema: Some index key attribute have no definition"),
        (
            json!({"AttributeDefinitions": definitions("pk:S q:S")}),
            "~IV: Some index key attributes are not defined in AttributeDefinitions. Keys: [",
        ),
        (
            json!({"KeySchema": keys("pk:HASH pk:RANGE")}),
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (json!({"KeySchema": keys("pk:RANGE sk:HASH")}), "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (json!({"KeySchema": keys("pk:HASH sk:HASH")}), "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"),
        (
            json!({"AttributeDefinitions": definitions("pk:S sk:N a:S")}),
            "IV: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
        ),
        (
            json!({"AttributeDefinitions": definitions("pk:S sk:N a:S b:S"), "LocalSecondaryIndexes": [index("loc", "pk:HASH a:RANGE")]}),
            "~IV: Some AttributeDefinitions are not used. AttributeDefinitions: [",
        ),
        (json!({"LocalSecondaryIndexes": []}), "IV: List of LocalSecondaryIndexes is empty"),
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
        (with_a(json!({"LocalSecondaryIndexes": projected(json!({}))})), "IV: Unknown ProjectionType: null"),
        (
            with_a(json!({"LocalSecondaryIndexes": projected(json!({"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}))})),
            "IV: ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            with_a(json!({"LocalSecondaryIndexes": projected(json!({"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["x"]}))})),
            "IV: ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        (
            with_a(json!({"LocalSecondaryIndexes": projected(json!({"ProjectionType": "INCLUDE"}))})),
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
        (json!({"GlobalSecondaryIndexes": []}), "IV: List of GlobalSecondaryIndexes is empty"),
        (
            with_a(json!({"GlobalSecondaryIndexes": [with(index("glo", "a:HASH"), json!({"ProvisionedThroughput": units}))]})),
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
        (json!({"SSESpecification": {"Enabled": false, "SSEType": "KMS"}}), "IV: SSEType can not be specified if Enabled is false"),
        (
            json!({"SSESpecification": {"Enabled": false, "KMSMasterKeyId": "k"}}),
            "~KMSMasterKeyId can not be specified if Enabled is false",
        ),
        (json!({"SSESpecification": {"Enabled": true, "SSEType": "AES256"}}), "~SSEType AES256 is not supported"),
        (json!({"TableClass": "COLD"}), "~STANDARD"),
    ];
    for (more, expected) in rows {
        check(&service, "CreateTable", &with(table("New"), more), expected);
    }
    check(&service, "CreateTable", &table("Tab"), "ResourceInUse: Table already exists: Tab");
    let missing = service.outcome("CreateTable", &json!({}));
    assert!(missing.starts_with("Validation: "), "{missing}");
    check(&service, "DescribeTable", &json!({}), "The parameter 'TableName' is required but was not present in the request");
}

#[test]
fn section_18_tags() {
    let service = Service::new();
    let arn = service.ok("DescribeTable", json!({"TableName": "Tab"}))["Table"]["TableArn"].as_str().unwrap().to_owned();
    let tag = |tags: Value| json!({"ResourceArn": arn, "Tags": tags});
    let one = |key: &str, value: &str| json!([{"Key": key, "Value": value}]);
    let many: Value = (0..51).map(|n| json!({"Key": n.to_string(), "Value": ""})).collect();
    for (request, expected) in [
        (tag(json!([])), "Atleast one Tag needs to be provided as Input."),
        (
            tag(json!([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}])),
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
        ),
        (tag(one("a!", "")), "The Tag Key provided is invalid, Key: a!"),
        (tag(one("a", "!")), "The Tag Value provided is invalid, Value: !"),
        (tag(one("aws:a", "")), "Tag Key cannot be prefixed with aws:, Key: aws:a"),
        (tag(many), "Number of Tags exceed the current limit for the provided ResourceArn"),
        (json!({"ResourceArn": "Tab", "Tags": one("a", "b")}), "IV: ARNs must start with 'arn:': Tab"),
        (
            json!({"ResourceArn": "arn:aws:s3:us-east-1:000000000000:table/Tab", "Tags": one("a", "b")}),
            "IV: Provided Arn is not a DynamoDB resource arn: arn:aws:s3:us-east-1:000000000000:table/Tab",
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

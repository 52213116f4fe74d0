//! Where sources disagree, what was chosen (docs/dynamodb.md 26); numbers are its rows. The life of an index (rows 1 and 20) is in
//! `tests/engine/index_life.rs`, the sizes of numbers (row 4) in `numbers.rs`, NULL in conditions (row 23) in `conditions.rs`.

use ddbfs::http::HttpOptions;
use serde_json::{Value, json};

use super::{Service, item, key, parse, table, with};
use crate::support::http::options;

/// `Tab` of [`Service`] with a global index `glo` on a (S) and a local one `loc` on the table's own sort key.
fn indexed() -> Value {
    let mut request = table("Ind");
    request["AttributeDefinitions"].as_array_mut().unwrap().push(json!({"AttributeName": "a", "AttributeType": "S"}));
    let global =
        r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]"#;
    let local = r#"[{"IndexName":"loc","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "Projection":{"ProjectionType":"KEYS_ONLY"}}]"#;
    with(request, json!({"GlobalSecondaryIndexes": parse(global), "LocalSecondaryIndexes": parse(local)}))
}

fn put(item: &Value) -> Value {
    json!({"TableName": "Tab", "Item": item})
}

#[test]
fn row_2_which_texts_are_prefixed() {
    let service = Service::new();
    let empty = item("k", 1, r#""s":{"SS":[]}"#);
    let text = "One or more parameter values were invalid: An string set  may not be empty";
    service.check("PutItem", &put(&empty), &format!("Validation: 1 validation error detected: {text}"));
    let batch = json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": empty}}]}});
    service.check("BatchWriteItem", &batch, &format!("Validation: {text}"));
    let scan = json!({"TableName": "Tab", "FilterExpression": "s = :s", "ExpressionAttributeValues": {":s": {"SS": []}}});
    service.check("Scan", &scan, &format!("Validation: ExpressionAttributeValues contains invalid value: {text} for key :s"));
}

#[test]
fn row_2_without_the_prefix() {
    let service = Service::with(HttpOptions { bare_texts: true, ..options() });
    let text = "Validation: One or more parameter values were invalid: An string set  may not be empty";
    service.check("PutItem", &put(&item("k", 1, r#""s":{"SS":[]}"#)), text);
    // The texts of constraints always have it.
    let constraint =
        "Validation: 1 validation error detected: Value null at 'item' failed to satisfy constraint: Member must not be null";
    service.check("PutItem", &json!({"TableName": "Tab"}), constraint);
}

#[test]
fn row_3_the_size_of_a_string_is_in_utf_16() {
    let service = Service::new();
    service.put(&item("k", 1, r#""s":{"S":"a😀é"}"#));
    let scan = json!({"TableName": "Tab", "FilterExpression": "size(s) = :n", "ExpressionAttributeValues": {":n": {"N": "4"}}});
    assert_eq!(service.ok("Scan", scan)["Count"], 1);
}

#[test]
fn rows_5_to_9_update_table() {
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
    service.check("UpdateTable", &create("glo", "a", "S"), "Validation: Attempting to create an index which already exists");
    let gone = update(json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "gone"}}]}));
    service.check("UpdateTable", &gone, "ResourceNotFound: Requested resource not found: Index gone for table Ind");
    service.check("UpdateTable", &create("other", "a", "N"), "~Attributes cannot be redefined.");
    let stale =
        json!({"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "N"}], "TableClass": "STANDARD_INFREQUENT_ACCESS"});
    service.check("UpdateTable", &update(stale), "OK");
}

#[test]
fn row_10_an_update_reports_its_first_wrong_enum() {
    let service = Service::new();
    let wrong = json!({"TableName": "Tab", "Key": key("k", 1), "ReturnValues": "A", "ReturnConsumedCapacity": "B"});
    let found = service.outcome("UpdateItem", &wrong);
    assert!(found.starts_with("Validation: 1 validation error detected: "), "{found}");
}

#[test]
fn rows_11_to_13_keys_and_names() {
    let service = Service::new();
    let empty = "Validation: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk";
    for operation in ["GetItem", "DeleteItem", "UpdateItem"] {
        service.check(operation, &json!({"TableName": "Tab", "Key": key("", 1)}), empty);
    }
    service.check("PutItem", &put(&item("", 1, "")), empty);
    let query = |condition: &str| json!({"TableName": "Tab", "KeyConditionExpression": condition, "ExpressionAttributeValues": {":v": {"S": "v"}}});
    service.check("Query", &query("pk = :v OR sk = :v"), "~Invalid KeyConditionExpression: ");
    service.check("Query", &query("_pk = :v"), r#"~Invalid KeyConditionExpression: Syntax error; token: "_pk""#);
}

#[test]
fn row_14_zeros_with_large_exponents() {
    let service = Service::new();
    let with_number = |number: &str| put(&item("k", 1, &format!(r#""n":{{"N":"{number}"}}"#)));
    service.check("PutItem", &with_number("0e126"), "~Number overflow");
    service.check("PutItem", &with_number("0e-131"), "~Number underflow");
    service.check("PutItem", &with_number("0.0e126"), "OK");
}

#[test]
fn row_15_keys_of_a_batch_are_told_apart_by_their_spelling() {
    let service = Service::new();
    service.put(&key("k", 1));
    let keys = [json!({"pk": {"S": "k"}, "sk": {"N": "1"}}), json!({"pk": {"S": "k"}, "sk": {"N": "1.0"}})];
    let read = service.ok("BatchGetItem", json!({"RequestItems": {"Tab": {"Keys": keys}}}));
    assert_eq!(read["Responses"]["Tab"], json!([key("k", 1), key("k", 1)]));
    let twice = keys.map(|key| json!({"DeleteRequest": {"Key": key}}));
    let duplicates = "Validation: Provided list of item keys contains duplicates";
    service.check("BatchWriteItem", &json!({"RequestItems": {"Tab": twice}}), duplicates);
}

#[test]
fn row_16_a_hundred_values_of_in() {
    let service = Service::new();
    let scan = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!(":v{n}")).collect();
        let values: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!({"N": "1"}))).collect();
        json!({"TableName": "Tab", "FilterExpression": format!("n IN ({})", names.join(", ")), "ExpressionAttributeValues": values})
    };
    service.check("Scan", &scan(100), "OK");
    service.check("Scan", &scan(101), "~Invalid FilterExpression: ");
}

#[test]
fn rows_17_18_19_small_tables_and_their_end() {
    let service = Service::new();
    service.put(&key("k", 1));
    let scan = json!({"TableName": "Tab", "ReturnConsumedCapacity": "TOTAL"});
    assert_eq!(service.ok("Scan", scan)["ConsumedCapacity"], json!({"TableName": "Tab", "CapacityUnits": 0.5}));
    let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    let to =
        |mode: &str, units: Value| with(json!({"TableName": "Tab", "BillingMode": mode}), json!({"ProvisionedThroughput": units}));
    for _ in 0..2 {
        service.ok("UpdateTable", to("PROVISIONED", units.clone()));
        service.ok("UpdateTable", to("PAY_PER_REQUEST", Value::Null));
    }
    service.ok("DeleteTable", json!({"TableName": "Tab"}));
    // Without a configured delay a table is gone at once; with one, `tests/engine/index_life.rs` sees it DELETING.
    let gone = "ResourceNotFound: Requested resource not found: Table: Tab not found";
    service.check("DeleteTable", &json!({"TableName": "Tab"}), gone);
}

#[test]
fn rows_21_22_24() {
    let service = Service::new();
    service.ok("CreateTable", indexed());
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/None";
    let missing = format!("ResourceNotFound: Requested resource not found: ResourceArn: {arn} not found");
    service.check("ListTagsOfResource", &json!({"ResourceArn": arn}), &missing);
    (1..=2).for_each(|sk| service.put(&key("k", sk)));
    let query = |limit: u32, start: Value| {
        let request =
            json!({"TableName": "Tab", "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}}});
        service.ok("Query", with(request, json!({"Limit": limit, "ExclusiveStartKey": start})))
    };
    assert_eq!(query(2, Value::Null)["LastEvaluatedKey"], key("k", 2));
    assert_eq!(query(2, key("k", 2)), json!({"Items": [], "Count": 0, "ScannedCount": 0}));
    assert_eq!(query(3, Value::Null).get("LastEvaluatedKey"), None);
}

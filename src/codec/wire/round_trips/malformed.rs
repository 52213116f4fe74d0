//! Malformed responses of another service, with a member of a wrong type or an unknown word: each
//! is an error that names the member, never a default.

use std::fmt::Debug;

use serde_json::{Value, json};

use super::super::{batches, decode_response, pages};
use super::table;
use crate::codec::json::document::{Document, Json};
use crate::model::api::*;
use crate::model::{Error, Item};

#[track_caller]
fn check<T: Debug>(
    body: &Value,
    read: impl FnOnce(Json<'_>) -> Result<T, Error>,
    why: Option<&str>,
) {
    let read = read(Document::from_value(body).root()).map_err(|error| error.to_string());
    match (read, why) {
        (Ok(_), None) => {}
        (Err(text), Some(why)) if text.contains(why) => {}
        (read, why) => panic!("{read:?}, expected {why:?}"),
    }
}

#[test]
fn descriptions() {
    let index = json!({
        "IndexName": "by-day", "IndexStatus": "ACTIVE", "ItemCount": 1, "IndexSizeBytes": 100,
        "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"] },
    });
    let table = json!({
        "TableName": "Orders", "TableStatus": "ACTIVE", "ItemCount": 1, "TableSizeBytes": 100,
        "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
        "BillingModeSummary": { "BillingMode": "PAY_PER_REQUEST" },
        "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "KEYS_ONLY" },
        "GlobalSecondaryIndexes": [index],
    });
    let with = |place: &str, value: Value, why: Option<&str>| {
        let mut body = json!({ "Table": table });
        *body.pointer_mut(place).unwrap() = value;
        check(&body, decode_response::<DescribeTableResponse>, why);
    };
    with("/Table/ItemCount", json!(7), None);
    with(
        "/Table/ItemCount",
        json!(-1),
        Some("its ItemCount is no count"),
    );
    with(
        "/Table/TableSizeBytes",
        json!("1"),
        Some("its TableSizeBytes is no count"),
    );
    with(
        "/Table/BillingModeSummary/BillingMode",
        json!("FREE"),
        Some("unknown BillingMode \"FREE\""),
    );
    with(
        "/Table/StreamSpecification/StreamViewType",
        json!("ALL"),
        Some("unknown StreamViewType \"ALL\""),
    );
    with("/Table/KeySchema", json!({}), Some("KeySchema"));
    with(
        "/Table/GlobalSecondaryIndexes",
        json!({}),
        Some("its GlobalSecondaryIndexes is no list"),
    );
    with(
        "/Table/GlobalSecondaryIndexes/0",
        json!("x"),
        Some("no JSON object"),
    );
    with(
        "/Table/GlobalSecondaryIndexes/0/KeySchema",
        json!([]),
        Some("it has no KeySchema"),
    );
    let projection = "/Table/GlobalSecondaryIndexes/0/Projection";
    with(projection, Value::Null, None);
    with(
        projection,
        json!({ "ProjectionType": "SOME" }),
        Some("unknown ProjectionType \"SOME\""),
    );
    with(
        projection,
        json!({ "ProjectionType": "INCLUDE" }),
        Some("it has no NonKeyAttributes"),
    );
    with(
        projection,
        json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": [1] }),
        Some("unknown element"),
    );
}

#[test]
fn pages_of_rows() {
    let read = |json: Json<'_>| pages::read(json, &table("Orders"), |_| Ok(()), &mut |_| {});
    check(
        &json!({ "Items": [], "Count": 0, "ScannedCount": 3 }),
        read,
        None,
    );
    check(
        &json!({ "Items": {}, "Count": 0 }),
        read,
        Some("its Items is no list"),
    );
    check(
        &json!({ "Items": [], "Count": "0" }),
        read,
        Some("its Count is no count"),
    );
}

#[test]
fn unprocessed_parts() {
    let keys = TableKeys::new(table("Orders"), vec![Item::default()]);
    let get = BatchGetItemRequest {
        request_items: vec![keys],
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::None,
    };
    let read = |json: Json<'_>| batches::read_get_response(json, &get, &mut |_, _| true);
    let keys = json!({ "Keys": [{}] });
    check(
        &json!({ "Responses": { "Orders": [] }, "UnprocessedKeys": { "Orders": keys } }),
        read,
        None,
    );
    check(
        &json!({ "Responses": [] }),
        read,
        Some("its Responses is no object"),
    );
    check(
        &json!({ "Responses": { "Orders": {} } }),
        read,
        Some("its Orders is no list"),
    );
    check(
        &json!({ "UnprocessedKeys": { "Orders": {} } }),
        read,
        Some("it has no Keys"),
    );
    check(
        &json!({ "UnprocessedKeys": "all" }),
        read,
        Some("its UnprocessedKeys is no object"),
    );
    check(
        &json!({ "ConsumedCapacity": {} }),
        read,
        Some("its ConsumedCapacity is no list"),
    );

    let writes = TableWrites {
        table_name: table("Orders"),
        requests: vec![WriteRequest::Delete(Item::default())],
    };
    let write = BatchWriteItemRequest {
        request_items: vec![writes],
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: false,
    };
    let read = |json: Json<'_>| batches::read_write_response(json, &write);
    check(&json!({ "UnprocessedItems": {} }), read, None);
    check(
        &json!({ "UnprocessedItems": { "Orders": {} } }),
        read,
        Some("its Orders is no list"),
    );
    check(
        &json!({ "ItemCollectionMetrics": { "Orders": 1 } }),
        read,
        Some("it has no Orders"),
    );
}

#[test]
fn stream_records() {
    let record = json!({
        "eventID": "1", "eventName": "REMOVE",
        "dynamodb": { "Keys": {}, "SequenceNumber": "100000000000000000001", "StreamViewType": "KEYS_ONLY" },
    });
    let with = |place: &str, value: Value, why: Option<&str>| {
        let mut body = json!({ "Records": [record] });
        *body.pointer_mut(place).unwrap() = value;
        check(&body, decode_response::<GetRecordsResponse>, why);
    };
    with("/Records/0/eventID", json!("2"), None);
    with("/Records/0/eventID", Value::Null, Some("it has no eventID"));
    with(
        "/Records/0/dynamodb/Keys",
        Value::Null,
        Some("it has no Keys"),
    );
    with(
        "/Records/0/dynamodb/StreamViewType",
        json!("X"),
        Some("it has no StreamViewType"),
    );
}

//! DescribeTable's response and CreateTable's request, alone, in a `Table` or `TableDescription`,
//! or as a list of them.

use serde_json::{Map, Value, json};

use super::table::{FoundTables, TableDefinition, found, throughput, whole};

/// Returns the object that has a table's key schema.
pub(super) fn described(value: &Value) -> Option<&Value> {
    [
        value.get("Table"),
        value.get("TableDescription"),
        Some(value),
    ]
    .into_iter()
    .flatten()
    .find(|table| table.get("KeySchema").is_some_and(Value::is_array))
}

/// True if the table is described, not requested.
pub(super) fn is_description(table: &Value) -> bool {
    ["TableArn", "TableStatus", "ItemCount", "CreationDateTime"]
        .iter()
        .any(|name| table.get(name).is_some())
}

pub(super) fn tables(value: &Value) -> FoundTables {
    let list = match value {
        Value::Array(list) => list.iter().collect(),
        one => vec![one],
    };
    found(list.into_iter().enumerate().map(|(at, element)| {
        let table = described(element).and_then(Value::as_object);
        let name = |table: &Map<String, Value>| Some(table.get("TableName")?.as_str()?.to_owned());
        let label = table
            .and_then(name)
            .unwrap_or_else(|| format!("element {}", at + 1));
        let read = table.ok_or_else(|| "it has no KeySchema".to_owned());
        let request = read.map(|table| {
            let request = if is_description(&Value::Object(table.clone())) {
                request(table)
            } else {
                table.clone()
            };
            TableDefinition::new(&label, request)
        });
        (label, request)
    }))
}

/// Returns the request that makes a table like the described one.
pub(super) fn request(table: &Map<String, Value>) -> Map<String, Value> {
    let on_demand = table
        .get("BillingModeSummary")
        .and_then(|summary| summary.get("BillingMode"))
        .or_else(|| table.get("BillingMode"))
        .and_then(Value::as_str)
        == Some("PAY_PER_REQUEST");
    let mut out = Map::new();
    for name in ["TableName", "AttributeDefinitions", "KeySchema"] {
        out.extend(
            table
                .get(name)
                .map(|value| (name.to_owned(), value.clone())),
        );
    }
    for name in ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"] {
        let Some(indexes) = table.get(name).and_then(Value::as_array) else {
            continue;
        };
        let indexes: Vec<Value> = indexes
            .iter()
            .map(|index| request_index(index, on_demand))
            .collect();
        if !indexes.is_empty() {
            out.insert(name.to_owned(), indexes.into());
        }
    }
    let mode = if on_demand {
        "PAY_PER_REQUEST"
    } else {
        "PROVISIONED"
    };
    out.insert("BillingMode".to_owned(), mode.into());
    copy_capacity(table, &mut out, on_demand);
    for name in [
        "StreamSpecification",
        "DeletionProtectionEnabled",
        "TimeToLiveSpecification",
        "Tags",
    ] {
        out.extend(
            table
                .get(name)
                .map(|value| (name.to_owned(), value.clone())),
        );
    }
    if let Some(class) = table
        .get("TableClassSummary")
        .and_then(|summary| summary.get("TableClass"))
    {
        out.insert("TableClass".to_owned(), class.clone());
    }
    if let Some(encryption) = table.get("SSEDescription").and_then(Value::as_object) {
        let is_on = encryption.get("Status").and_then(Value::as_str) != Some("DISABLED");
        let mut specification = Map::from_iter([("Enabled".to_owned(), json!(is_on))]);
        let key = encryption
            .get("KMSMasterKeyArn")
            .or_else(|| encryption.get("KMSMasterKeyId"));
        specification.extend(
            encryption
                .get("SSEType")
                .map(|kind| ("SSEType".to_owned(), kind.clone())),
        );
        specification.extend(key.map(|key| ("KMSMasterKeyId".to_owned(), key.clone())));
        out.insert("SSESpecification".to_owned(), specification.into());
    }
    out
}

/// Returns an index as CreateTable takes it: without its state and its sizes.
fn request_index(index: &Value, on_demand: bool) -> Value {
    let Some(index) = index.as_object() else {
        return index.clone();
    };
    let mut out = Map::new();
    for name in ["IndexName", "KeySchema", "Projection"] {
        out.extend(
            index
                .get(name)
                .map(|value| (name.to_owned(), value.clone())),
        );
    }
    copy_capacity(index, &mut out, on_demand);
    out.into()
}

/// Copies the throughput that fits the billing mode; a description also says when it last changed.
fn copy_capacity(from: &Map<String, Value>, to: &mut Map<String, Value>, on_demand: bool) {
    if on_demand {
        to.extend(
            from.get("OnDemandThroughput")
                .map(|limits| ("OnDemandThroughput".to_owned(), throughput(limits))),
        );
        return;
    }
    let Some(units) = from.get("ProvisionedThroughput") else {
        return;
    };
    let kept = ["ReadCapacityUnits", "WriteCapacityUnits"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), whole(units.get(name)?))));
    to.insert(
        "ProvisionedThroughput".to_owned(),
        kept.collect::<Map<_, _>>().into(),
    );
}

//! DescribeTable's response and CreateTable's request, alone, in a `Table` or `TableDescription`,
//! or as a list of them.

use serde_json::{Value, json};

use super::table::{
    FoundTables, INDEXES, TableDefinition, billing_mode, found, is_on_demand, list, throughput,
};

/// Returns the object that has a table's key schema.
pub(super) fn described(value: &Value) -> Option<&Value> {
    let all = [&value["Table"], &value["TableDescription"], value];
    all.into_iter().find(|table| table["KeySchema"].is_array())
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
        let table = described(element);
        let name = table.and_then(|table| table["TableName"].as_str());
        let label = name.map_or_else(|| format!("element {}", at + 1), str::to_owned);
        let read = table.ok_or_else(|| "it has no KeySchema".to_owned());
        let request = read.map(|table| {
            let request = match is_description(table) {
                true => request(table),
                false => table.clone(),
            };
            TableDefinition::new(&label, request)
        });
        (label, request)
    }))
}

/// Copies the members that there are.
fn copy(from: &Value, names: &[&str], to: &mut Value) {
    for &name in names {
        if let Some(value) = from.get(name) {
            to[name] = value.clone();
        }
    }
}

/// Returns the request that makes a table like the described one.
fn request(table: &Value) -> Value {
    let on_demand = match table["BillingModeSummary"].get("BillingMode") {
        Some(mode) => mode == billing_mode(true),
        None => is_on_demand(table),
    };
    let mut out = json!({});
    let definition = ["TableName", "AttributeDefinitions", "KeySchema"];
    copy(table, &definition, &mut out);
    for name in INDEXES {
        let indexes: Vec<Value> = list(table, name)
            .map(|index| {
                let mut out = json!({});
                copy(index, &["IndexName", "KeySchema", "Projection"], &mut out);
                copy_capacity(index, &mut out, on_demand);
                out
            })
            .collect();
        if !indexes.is_empty() {
            out[name] = indexes.into();
        }
    }
    out["BillingMode"] = billing_mode(on_demand).into();
    copy_capacity(table, &mut out, on_demand);
    let settings = [
        "StreamSpecification",
        "DeletionProtectionEnabled",
        "TimeToLiveSpecification",
        "Tags",
    ];
    copy(table, &settings, &mut out);
    copy(&table["TableClassSummary"], &["TableClass"], &mut out);
    let encryption = &table["SSEDescription"];
    if encryption.is_object() {
        let mut specification = json!({ "Enabled": encryption["Status"] != "DISABLED" });
        copy(
            encryption,
            &["SSEType", "KMSMasterKeyId"],
            &mut specification,
        );
        if let Some(key) = encryption.get("KMSMasterKeyArn") {
            specification["KMSMasterKeyId"] = key.clone();
        }
        out["SSESpecification"] = specification;
    }
    out
}

/// Copies the throughput that fits the billing mode; a description also says when it last changed.
fn copy_capacity(from: &Value, to: &mut Value, on_demand: bool) {
    if on_demand {
        if let Some(limits) = from.get("OnDemandThroughput") {
            to["OnDemandThroughput"] = throughput(limits);
        }
    } else if let Some(units) = from.get("ProvisionedThroughput") {
        let mut kept = json!({});
        copy(
            units,
            &["ReadCapacityUnits", "WriteCapacityUnits"],
            &mut kept,
        );
        to["ProvisionedThroughput"] = throughput(&kept);
    }
}

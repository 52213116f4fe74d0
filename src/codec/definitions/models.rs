//! Models with sample items: NoSQL Workbench's (its name for a key is `KeyAttributes`), and
//! `dynamodb_data_model.json` of AWS's design assistant, whose tables are CreateTable's.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::table::{FoundTables, TableDefinition, found, key_element, whole};

pub(super) fn workbench_tables(model: &Value) -> FoundTables {
    let tables = model.get("DataModel").and_then(Value::as_array);
    let read = tables.into_iter().flatten().enumerate().map(|(at, table)| {
        let name = table.get("TableName").and_then(Value::as_str);
        let label = name.map_or_else(|| format!("table {}", at + 1), str::to_owned);
        let read = workbench_table(&label, table);
        (label, read)
    });
    found(read)
}

fn workbench_table(label: &str, table: &Value) -> Result<TableDefinition, String> {
    let mut types = BTreeMap::new();
    let mut request = Map::from_iter([("TableName".to_owned(), label.into())]);
    request.insert("AttributeDefinitions".to_owned(), Value::Null);
    request.insert("KeySchema".to_owned(), key_schema(table, &mut types)?);
    let settings = table.get("ProvisionedCapacitySettings");
    let on_demand = table.get("BillingMode").and_then(Value::as_str) != Some("PROVISIONED");
    for name in ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"] {
        let indexes = table
            .get(name)
            .and_then(Value::as_array)
            .filter(|list| !list.is_empty());
        let Some(indexes) = indexes else {
            continue;
        };
        let mut out = Vec::new();
        for index in indexes {
            let mut element = Map::new();
            element.insert(
                "IndexName".to_owned(),
                index.get("IndexName").cloned().unwrap_or_default(),
            );
            element.insert("KeySchema".to_owned(), key_schema(index, &mut types)?);
            let projection = index.get("Projection").cloned();
            element.insert(
                "Projection".to_owned(),
                projection.unwrap_or_else(|| json!({ "ProjectionType": "ALL" })),
            );
            if name == "GlobalSecondaryIndexes" && !on_demand {
                let own = index.get("ProvisionedCapacitySettings").or(settings);
                element.insert("ProvisionedThroughput".to_owned(), provisioned(own));
            }
            out.push(element.into());
        }
        request.insert(name.to_owned(), Value::Array(out));
    }
    let definitions = types
        .iter()
        .map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind }));
    request.insert("AttributeDefinitions".to_owned(), definitions.collect());
    let mode = if on_demand {
        "PAY_PER_REQUEST"
    } else {
        "PROVISIONED"
    };
    request.insert("BillingMode".to_owned(), mode.into());
    if !on_demand {
        request.insert("ProvisionedThroughput".to_owned(), provisioned(settings));
    }
    let items = table
        .get("TableData")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    Ok(TableDefinition {
        items,
        ..TableDefinition::new(label, request)
    })
}

/// Returns the key schema of a table or index, and adds its attributes to the definitions.
fn key_schema<'m>(
    holder: &'m Value,
    types: &mut BTreeMap<&'m str, &'m str>,
) -> Result<Value, String> {
    let keys = holder.get("KeyAttributes");
    let mut schema = Vec::new();
    for (member, key_type) in [("PartitionKey", "HASH"), ("SortKey", "RANGE")] {
        let Some(key) = keys.and_then(|keys| keys.get(member)) else {
            continue;
        };
        let word = |name: &str| {
            key.get(name)
                .and_then(Value::as_str)
                .filter(|word| !word.is_empty())
        };
        let Some(name) = word("AttributeName") else {
            continue;
        };
        types.insert(name, word("AttributeType").unwrap_or("S"));
        schema.push(key_element(name, key_type));
    }
    if schema.is_empty() {
        return Err("it has no KeyAttributes with a PartitionKey".to_owned());
    }
    Ok(schema.into())
}

/// Returns a throughput of the model: fixed, or the least of its scaling; else Workbench's 5.
fn provisioned(settings: Option<&Value>) -> Value {
    let units = |fixed: &str, scaled: &str| {
        let scaling = || {
            settings?
                .get(scaled)?
                .get("ScalableTargetRequest")?
                .get("MinCapacity")
        };
        let fixed = || settings?.get("ProvisionedThroughput")?.get(fixed);
        scaling().or_else(fixed).map_or_else(|| 5.into(), whole)
    };
    json!({
        "ReadCapacityUnits": units("ReadCapacityUnits", "AutoScalingRead"),
        "WriteCapacityUnits": units("WriteCapacityUnits", "AutoScalingWrite"),
    })
}

pub(super) fn data_model_tables(model: &Value) -> FoundTables {
    let tables = model.get("tables").and_then(Value::as_array);
    let read = tables.into_iter().flatten().enumerate().map(|(at, table)| {
        let name = table.get("TableName").and_then(Value::as_str);
        let label = name.map_or_else(|| format!("table {}", at + 1), str::to_owned);
        let read = match table.as_object() {
            Some(request) => {
                let puts = name.and_then(|name| model.get("items")?.get(name)?.as_array());
                let item = |put: &Value| Some(put.get("PutRequest")?.get("Item")?.clone());
                Ok(TableDefinition {
                    items: puts.into_iter().flatten().filter_map(item).collect(),
                    ..TableDefinition::new(&label, request.clone())
                })
            }
            None => Err("it is no table".to_owned()),
        };
        (label, read)
    });
    found(read)
}

//! Models with sample items: NoSQL Workbench's (its name for a key is `KeyAttributes`), and
//! `dynamodb_data_model.json` of AWS's design assistant, whose tables are CreateTable's.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::table::{
    FoundTables, INDEXES, TableDefinition, billing_mode, found, key_element, list, whole,
};

pub(super) fn workbench_tables(model: &Value) -> FoundTables {
    named(model, "DataModel", workbench_table)
}

/// Reads the tables of a list by their names.
fn named(
    model: &Value,
    member: &str,
    read: impl Fn(&str, &Value) -> Result<TableDefinition, String>,
) -> FoundTables {
    found(list(model, member).enumerate().map(|(at, table)| {
        let name = table["TableName"].as_str();
        let label = name.map_or_else(|| format!("table {}", at + 1), str::to_owned);
        let read = read(&label, table);
        (label, read)
    }))
}

fn workbench_table(label: &str, table: &Value) -> Result<TableDefinition, String> {
    let mut types = BTreeMap::new();
    let settings = &table["ProvisionedCapacitySettings"];
    let on_demand = table["BillingMode"] != billing_mode(false);
    let mut request = json!({
        "TableName": label,
        "AttributeDefinitions": null,
        "KeySchema": key_schema(table, &mut types)?,
    });
    for name in INDEXES {
        let mut out = Vec::new();
        for index in list(table, name) {
            let mut element = json!({
                "IndexName": index["IndexName"],
                "KeySchema": key_schema(index, &mut types)?,
                "Projection": { "ProjectionType": "ALL" },
            });
            if let Some(projection) = index.get("Projection") {
                element["Projection"] = projection.clone();
            }
            if name == "GlobalSecondaryIndexes" && !on_demand {
                let own = index.get("ProvisionedCapacitySettings");
                element["ProvisionedThroughput"] = provisioned(own.unwrap_or(settings));
            }
            out.push(element);
        }
        if !out.is_empty() {
            request[name] = out.into();
        }
    }
    let definitions = types
        .iter()
        .map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind }));
    request["AttributeDefinitions"] = definitions.collect();
    request["BillingMode"] = billing_mode(on_demand).into();
    if !on_demand {
        request["ProvisionedThroughput"] = provisioned(settings);
    }
    let facets = || list(table, "TableFacets");
    let vectors = table.get("VectorIndexes");
    let holders = facets().chain([table]);
    let items = holders.filter_map(|holder| holder.get("TableData")?.as_array());
    Ok(TableDefinition {
        items: items.flatten().cloned().collect(),
        patterns: facets().cloned().collect(),
        notes: vectors
            .map(|_| "VectorIndexes is left out".to_owned())
            .into_iter()
            .collect(),
        ..TableDefinition::new(label, request)
    })
}

/// Returns the key schema of a table or index, and adds its attributes to the definitions.
fn key_schema<'m>(
    holder: &'m Value,
    types: &mut BTreeMap<&'m str, &'m str>,
) -> Result<Value, String> {
    let mut schema = Vec::new();
    for (member, key_type) in [("PartitionKey", "HASH"), ("SortKey", "RANGE")] {
        let key = &holder["KeyAttributes"][member];
        let word = |name: &str| key[name].as_str().filter(|word| !word.is_empty());
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
fn provisioned(settings: &Value) -> Value {
    let units = |fixed: &str, scaled: &str| {
        let scaling = settings[scaled]["ScalableTargetRequest"].get("MinCapacity");
        let units = scaling.or_else(|| settings["ProvisionedThroughput"].get(fixed));
        units.map_or_else(|| 5.into(), whole)
    };
    json!({
        "ReadCapacityUnits": units("ReadCapacityUnits", "AutoScalingRead"),
        "WriteCapacityUnits": units("WriteCapacityUnits", "AutoScalingWrite"),
    })
}

pub(super) fn data_model_tables(model: &Value) -> FoundTables {
    named(model, "tables", |label, table| {
        if !table.is_object() {
            return Err("it is no table".to_owned());
        }
        let item = |put: &Value| put["PutRequest"].get("Item").cloned();
        let patterns = list(model, "access_patterns").filter(|of| of["table"] == label);
        Ok(TableDefinition {
            items: list(&model["items"], label).filter_map(item).collect(),
            patterns: patterns.cloned().collect(),
            ..TableDefinition::new(label, table.clone())
        })
    })
}

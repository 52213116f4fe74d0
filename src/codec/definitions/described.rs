//! DescribeTable's response and CreateTable's request, alone, in a `Table` or `TableDescription`,
//! or as a list of them.

use serde_json::Value;

use super::table::{FoundTables, TIME_TO_LIVE, TableDefinition, found};
use crate::codec::json::document::Document;
use crate::codec::wire::{response, table_description, tables};

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
        let request = read.and_then(|table| match is_description(table) {
            true => request(table),
            false => Ok(table.clone()),
        });
        let read = request.map(|request| TableDefinition::new(&label, request));
        (label, read)
    }))
}

/// Returns the request that makes a table like the described one.
fn request(table: &Value) -> Result<Value, String> {
    let document = Document::from_value(table);
    let members = response::members(document.root());
    let described = members.and_then(table_description::read);
    let schema = described.map_err(|error| error.to_string())?.schema;
    let mut request = tables::definition_to_json(&schema);
    // The description of a table has no tags and no time to live; what tools write has them.
    for name in ["Tags", TIME_TO_LIVE] {
        if let Some(value) = table.get(name) {
            request[name] = value.clone();
        }
    }
    Ok(request)
}

//! What the engine's tests share.
#![allow(dead_code, clippy::unwrap_used)]

use std::sync::Arc;

use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Error, IndexName, Item, TableName};
use ddbfs::store::memory::MemoryStore;

pub const NOW_MS: u64 = 1_700_000_000_000;

pub fn options() -> EngineOptions {
    EngineOptions { clock: Arc::new(ManualClock::at(NOW_MS)), seed: 7, ..EngineOptions::default() }
}

pub fn database() -> LocalDatabase {
    database_with(options())
}

pub fn database_with(options: EngineOptions) -> LocalDatabase {
    LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap()
}

/// Every example table with its data.
pub fn samples() -> LocalDatabase {
    let database = database();
    for (request, items) in sample_tables() {
        let table = request.table_name.clone();
        database.create_table(request).unwrap();
        for item in items {
            database.put_item(PutItemRequest::new(table.clone(), item)).unwrap();
        }
    }
    database
}

pub fn table(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

pub fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub fn n(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse().unwrap())
}

pub fn b(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(bytes.to_vec())
}

pub fn x(bytes: usize) -> AttributeValue {
    AttributeValue::S("x".repeat(bytes))
}

pub fn put(database: &LocalDatabase, name: &str, item: Item) -> Result<PutItemResponse, Error> {
    database.put_item(PutItemRequest::new(table(name), item))
}

pub fn get(database: &LocalDatabase, name: &str, key: Item) -> Option<Item> {
    database.get_item(GetItemRequest::new(table(name), key)).unwrap().item
}

pub fn placeholders(names: &[(&str, &str)], values: &[(&str, AttributeValue)]) -> Placeholders {
    let names = names.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let values = values.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
    Placeholders { names: (names.len() > 0).then(|| names.collect()), values: (values.len() > 0).then(|| values.collect()) }
}

/// A query as `name[/index]`, key condition, values.
pub fn query_request(source: &str, condition: &str, values: &[(&str, AttributeValue)]) -> QueryRequest {
    let (name, index) = source.split_once('/').map_or((source, None), |(name, index)| (name, Some(index)));
    QueryRequest {
        table_name: table(name),
        index_name: index.map(|index| IndexName::new(index).unwrap()),
        key_condition_expression: Some(condition.to_owned()),
        projection_expression: None,
        placeholders: placeholders(&[], values),
        select: None,
        limit: None,
        consistent_read: false,
        scan_index_forward: true,
        exclusive_start_key: None,
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
    }
}

pub fn scan_request(source: &str) -> ScanRequest {
    let (name, index) = source.split_once('/').map_or((source, None), |(name, index)| (name, Some(index)));
    ScanRequest {
        table_name: table(name),
        index_name: index.map(|index| IndexName::new(index).unwrap()),
        projection_expression: None,
        placeholders: Placeholders::default(),
        select: None,
        limit: None,
        consistent_read: false,
        segment: None,
        exclusive_start_key: None,
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
    }
}

/// One attribute of each item, as text.
pub fn column(items: &[Item], name: &str) -> Vec<String> {
    items.iter().map(|item| text(item.get(name).unwrap())).collect()
}

pub fn text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::N(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

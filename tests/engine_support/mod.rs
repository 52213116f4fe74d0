//! What the engine's tests share.
#![allow(dead_code, clippy::unwrap_used)]

use std::sync::Arc;

use ddbfs::codec::plain_json;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::create_table::{IndexDefinition, ProjectionDefinition, ProjectionType};
use ddbfs::model::api::*;
use ddbfs::model::schema::{BillingMode, IndexKind, KeyAttributeType, KeyType};
use ddbfs::model::{AttributeValue, Error, IndexName, Item, KeyAttribute, TableName};
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

/// The table `Tab`: pk S, sk N; the global index `glob` on a (S) and the local one `loc` on b (S), both of keys only.
pub fn tab() -> LocalDatabase {
    let key = |hash: &str, range: Option<&str>| {
        let hash = KeySchemaElement { attribute_name: hash.into(), key_type: KeyType::Hash };
        let range = range.map(|name| KeySchemaElement { attribute_name: name.into(), key_type: KeyType::Range });
        std::iter::once(hash).chain(range).collect::<Vec<_>>()
    };
    let index = |name: &str, kind, key_schema| IndexDefinition {
        name: IndexName::new(name).unwrap(),
        kind,
        key_schema,
        projection: ProjectionDefinition { projection_type: Some(ProjectionType::KeysOnly), non_key_attributes: None },
        throughput: None,
    };
    let types = ["pk", "a", "b"].map(|name| (name, KeyAttributeType::S)).into_iter().chain([("sk", KeyAttributeType::N)]);
    let request = CreateTableRequest {
        table_name: table("Tab"),
        attribute_definitions: types.map(|(name, attribute_type)| KeyAttribute { name: name.into(), attribute_type }).collect(),
        key_schema: key("pk", Some("sk")),
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: Some(vec![index("loc", IndexKind::Local, key("pk", Some("b")))]),
        global_indexes: Some(vec![index("glob", IndexKind::Global, key("a", None))]),
        deletion_protection: false,
        opaque: std::collections::BTreeMap::new(),
    };
    let database = database();
    database.create_table(request).unwrap();
    database
}

/// An item of plain JSON; brackets may be left out.
pub fn json(text: &str) -> Item {
    let whole = if text.starts_with('{') { text.to_owned() } else { format!("{{{text}}}") };
    plain_json::parse(whole.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Placeholders from plain JSON: the members with `:` are values, those with `#` names.
pub fn placeholders_of(text: &str) -> Placeholders {
    let (values, names): (Vec<_>, Vec<_>) = json(text).0.into_iter().partition(|(name, _)| name.starts_with(':'));
    let names: Vec<(String, String)> = names.into_iter().map(|(alias, name)| (alias, self::text(&name))).collect();
    Placeholders {
        names: (!names.is_empty()).then(|| names.into_iter().collect()),
        values: (!values.is_empty()).then(|| values.into_iter().collect()),
    }
}

/// An item as a line of plain JSON without its newline, keys of `Tab` first.
pub fn line(item: &Item) -> String {
    let mut out = Vec::new();
    plain_json::write_line(item, &["pk", "sk"], &mut out);
    String::from_utf8(out).unwrap().trim_end().to_owned()
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
        index_name: index.map(|index| IndexName::new(index).unwrap()),
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        ..QueryRequest::new(table(name), condition, placeholders(&[], values))
    }
}

pub fn scan_request(source: &str) -> ScanRequest {
    let (name, index) = source.split_once('/').map_or((source, None), |(name, index)| (name, Some(index)));
    ScanRequest {
        index_name: index.map(|index| IndexName::new(index).unwrap()),
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        ..ScanRequest::new(table(name))
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

//! Shared parts of the engine's tests.
pub mod bed;
pub mod corpus;

use std::sync::Arc;

use ddbfs::codec::plain_json;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::tables::{IndexDefinition, ProjectionDefinition, ProjectionType};
use ddbfs::model::api::*;
use ddbfs::model::schema::{BillingMode, IndexKind, KeyAttributeType, KeyType};
use ddbfs::model::{AttributeValue, Error, IndexName, Item, KeyAttribute, TableName};
use ddbfs::store::memory::MemoryStore;

pub const NOW_MS: u64 = 1_700_000_000_000;

pub fn options() -> EngineOptions {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    EngineOptions {
        clock,
        seed: 7,
        background_period: None,
        ..EngineOptions::default()
    }
}

pub fn database() -> LocalDatabase {
    database_with(options())
}

pub fn database_with(options: EngineOptions) -> LocalDatabase {
    LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap()
}

/// Creates every example table with its data.
pub fn samples() -> LocalDatabase {
    let database = database();
    for (request, items) in sample_tables() {
        let table = request.table_name.clone();
        database.create_table(request).unwrap();
        for item in items {
            database
                .put_item(PutItemRequest::new(table.clone(), item))
                .unwrap();
        }
    }
    database
}

/// Creates the table `Tab`: pk S, sk N; the global index `glob` on a (S) and the local one `loc` on
/// b (S), both of keys only.
pub fn tab() -> LocalDatabase {
    let key = |hash: &str, range: Option<&str>| {
        let hash = KeySchemaElement {
            attribute_name: hash.into(),
            key_type: KeyType::Hash,
        };
        let range = range.map(|name| KeySchemaElement {
            attribute_name: name.into(),
            key_type: KeyType::Range,
        });
        std::iter::once(hash).chain(range).collect::<Vec<_>>()
    };
    let index = |name: &str, kind, key_schema| IndexDefinition {
        name: IndexName::new(name).unwrap(),
        kind,
        key_schema,
        projection: ProjectionDefinition {
            projection_type: Some(ProjectionType::KeysOnly),
            non_key_attributes: None,
        },
        throughput: None,
        settings: Default::default(),
        vector: None,
    };
    let types = ["pk", "a", "b"]
        .map(|name| (name, KeyAttributeType::S))
        .into_iter()
        .chain([("sk", KeyAttributeType::N)]);
    let request = CreateTableRequest {
        table_name: table("Tab"),
        attribute_definitions: types
            .map(|(name, attribute_type)| KeyAttribute {
                name: name.into(),
                attribute_type,
            })
            .collect(),
        key_schema: key("pk", Some("sk")),
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: Some(vec![index("loc", IndexKind::Local, key("pk", Some("b")))]),
        global_indexes: Some(vec![index("glob", IndexKind::Global, key("a", None))]),
        deletion_protection: false,
        settings: Default::default(),
        vector_indexes: None,
    };
    let database = database();
    database.create_table(request).unwrap();
    database
}

/// Parses an item of plain JSON; brackets may be left out.
pub fn json(text: &str) -> Item {
    let whole = if text.starts_with('{') {
        text.to_owned()
    } else {
        format!("{{{text}}}")
    };
    plain_json::parse(whole.as_bytes()).unwrap()
}

/// Parses placeholders from plain JSON: the members with `:` are values, those with `#` names.
pub fn placeholders_of(text: &str) -> Placeholders {
    let (values, names): (Vec<_>, Vec<_>) = json(text)
        .0
        .into_iter()
        .partition(|(name, _)| name.starts_with(':'));
    let names: Vec<(String, String)> = names
        .into_iter()
        .map(|(alias, name)| (alias, self::text(&name)))
        .collect();
    Placeholders {
        names: (!names.is_empty()).then(|| names.into_iter().collect()),
        values: (!values.is_empty()).then(|| values.into_iter().collect()),
    }
}

/// Returns an item as a line of plain JSON without its newline, keys of `Tab` first.
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
    database
        .get_item(GetItemRequest::new(table(name), key))
        .unwrap()
        .item
}

pub fn placeholders(names: &[(&str, &str)], values: &[(&str, AttributeValue)]) -> Placeholders {
    let names = names
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let values = values.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
    Placeholders {
        names: (names.len() > 0).then(|| names.collect()),
        values: (values.len() > 0).then(|| values.collect()),
    }
}

/// Returns a query from `name[/index]`, key condition, values.
pub fn query_request(
    source: &str,
    condition: &str,
    values: &[(&str, AttributeValue)],
) -> QueryRequest {
    let (name, index) = source
        .split_once('/')
        .map_or((source, None), |(name, index)| (name, Some(index)));
    QueryRequest {
        index_name: index.map(|index| IndexName::new(index).unwrap()),
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        ..QueryRequest::new(table(name), condition, placeholders(&[], values))
    }
}

pub fn scan_request(source: &str) -> ScanRequest {
    let (name, index) = source
        .split_once('/')
        .map_or((source, None), |(name, index)| (name, Some(index)));
    ScanRequest {
        index_name: index.map(|index| IndexName::new(index).unwrap()),
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        ..ScanRequest::new(table(name))
    }
}

/// Returns one attribute of each item, as text.
pub fn column(items: &[Item], name: &str) -> Vec<String> {
    items
        .iter()
        .map(|item| text(item.get(name).unwrap()))
        .collect()
}

pub fn text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::N(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// Returns a table definition from words: `"pk:S sk:N"`, and indexes as `"G byA a:S b:N ALL"` (or
/// `L byB b:N …`, which has the table's HASH), the projection last: `ALL`, `KEYS_ONLY`,
/// `INCLUDE=x,y`. On demand, all key attributes defined.
pub fn definition(name: &str, key: &str, indexes: &[&str]) -> CreateTableRequest {
    let mut request = CreateTableRequest {
        table_name: table(name),
        attribute_definitions: Vec::new(),
        key_schema: key_elements(key),
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: None,
        global_indexes: None,
        deletion_protection: false,
        settings: Default::default(),
        vector_indexes: None,
    };
    let mut words: Vec<&str> = key.split_whitespace().collect();
    for index in indexes {
        let (kind, rest) = index.split_once(' ').unwrap();
        let (name, rest) = rest.split_once(' ').unwrap();
        let (keys, projection) = rest.rsplit_once(' ').unwrap();
        words.extend(keys.split_whitespace());
        let keys = if kind == "L" {
            &format!("{} {keys}", key.split_whitespace().next().unwrap())
        } else {
            keys
        };
        let index = IndexDefinition {
            name: IndexName::new(name).unwrap(),
            kind: if kind == "G" {
                IndexKind::Global
            } else {
                IndexKind::Local
            },
            key_schema: key_elements(keys),
            projection: projection_of(projection),
            throughput: None,
            settings: Default::default(),
            vector: None,
        };
        let list = if kind == "G" {
            &mut request.global_indexes
        } else {
            &mut request.local_indexes
        };
        list.get_or_insert_default().push(index);
    }
    for word in words {
        let (name, of_type) = word.split_once(':').unwrap();
        let attribute_type = match of_type {
            "S" => KeyAttributeType::S,
            "N" => KeyAttributeType::N,
            _ => KeyAttributeType::B,
        };
        let attribute = KeyAttribute {
            name: name.to_owned(),
            attribute_type,
        };
        if !request.attribute_definitions.contains(&attribute) {
            request.attribute_definitions.push(attribute);
        }
    }
    request
}

/// Parses `a:S b:N`, the first HASH.
fn key_elements(words: &str) -> Vec<KeySchemaElement> {
    let element = |(at, word): (usize, &str)| KeySchemaElement {
        attribute_name: word.split_once(':').unwrap().0.to_owned(),
        key_type: if at == 0 {
            KeyType::Hash
        } else {
            KeyType::Range
        },
    };
    words.split_whitespace().enumerate().map(element).collect()
}

fn projection_of(text: &str) -> ProjectionDefinition {
    let (kind, names) = match text.split_once('=') {
        Some((_, names)) => (
            ProjectionType::Include,
            Some(names.split(',').map(str::to_owned).collect()),
        ),
        None if text == "ALL" => (ProjectionType::All, None),
        None => (ProjectionType::KeysOnly, None),
    };
    ProjectionDefinition {
        projection_type: Some(kind),
        non_key_attributes: names,
    }
}

/// Creates a database with one table `Tab`, see [`definition`].
pub fn with_table(key: &str, indexes: &[&str]) -> LocalDatabase {
    let database = database();
    database
        .create_table(definition("Tab", key, indexes))
        .unwrap();
    database
}

/// Returns the items of a query, and the whole page.
pub fn query(database: &LocalDatabase, request: &QueryRequest) -> (Vec<Item>, Page) {
    let response = database.query(request).unwrap();
    (response.items.unwrap_or_default(), response.page)
}

/// Returns every page of a query, each from the LastEvaluatedKey of the one before.
pub fn query_pages(database: &LocalDatabase, mut request: QueryRequest) -> Vec<Vec<Item>> {
    let mut pages = Vec::new();
    loop {
        let (items, page) = query(database, &request);
        pages.push(items);
        match page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => return pages,
        }
    }
}

/// Returns every page of a scan.
pub fn scan_pages(database: &LocalDatabase, mut request: ScanRequest) -> Vec<Vec<Item>> {
    let mut pages = Vec::new();
    loop {
        let response = database.scan(&request).unwrap();
        pages.push(response.items.unwrap_or_default());
        match response.page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => return pages,
        }
    }
}

/// Checks that all derived data is consistent.
#[track_caller]
pub fn assert_clean(database: &LocalDatabase) {
    let report = ddbfs::engine::check::check(database.engine()).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

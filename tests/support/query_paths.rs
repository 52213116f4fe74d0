//! Query paths without a filesystem: tables defined by a few words, and the output of `cat` and
//! `ls`.

use std::ops::ControlFlow;
use std::sync::Arc;

use ddbfs::codec::plain_json;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, ListPosition};
use ddbfs::engine::EngineOptions;
use ddbfs::fs::FsError;
use ddbfs::fs::query::{QueryChild, QueryKind, QueryPath};
use ddbfs::model::api::tables::ProjectionType;
use ddbfs::model::api::{
    CreateTableRequest, IndexDefinition, KeySchemaElement, ProjectionDefinition, PutItemRequest,
};
use ddbfs::model::schema::{BillingMode, KeyAttribute, KeyAttributeType, KeyType};
use ddbfs::model::{IndexKind, IndexName, TableName};
use ddbfs::store::memory::MemoryStore;

pub fn open() -> LocalDatabase {
    let store = Arc::new(MemoryStore::new().expect("a store"));
    LocalDatabase::open(store, EngineOptions::default()).expect("an engine")
}

/// Parses `H pk:S` and `R sk:N` to definitions and key schema.
fn keys(text: &str) -> (Vec<KeyAttribute>, Vec<KeySchemaElement>) {
    let parse = |text: &str| {
        let (role, attribute) = text.split_once(' ').expect("H name:type");
        let (name, attribute_type) = attribute.rsplit_once(':').expect("name:type");
        let attribute_type = match attribute_type {
            "S" => KeyAttributeType::S,
            "N" => KeyAttributeType::N,
            _ => KeyAttributeType::B,
        };
        let key_type = if role == "H" {
            KeyType::Hash
        } else {
            KeyType::Range
        };
        let element = KeySchemaElement {
            attribute_name: name.to_owned(),
            key_type,
        };
        (
            KeyAttribute {
                name: name.to_owned(),
                attribute_type,
            },
            element,
        )
    };
    text.split(", ").map(parse).unzip()
}

/// Creates a table. `indexes`: kind, name, key, projection (`all`, `keys`, or attributes).
pub fn create(db: &dyn Browse, name: &str, key: &str, indexes: &[(IndexKind, &str, &str, &str)]) {
    let (mut definitions, key_schema) = keys(key);
    let mut global = Vec::new();
    let mut local = Vec::new();
    for (kind, index, key, projection) in indexes {
        let (more, key_schema) = keys(key);
        definitions.extend(more);
        let (projection_type, non_key_attributes) = match *projection {
            "all" => (ProjectionType::All, None),
            "keys" => (ProjectionType::KeysOnly, None),
            names => (
                ProjectionType::Include,
                Some(names.split(' ').map(str::to_owned).collect()),
            ),
        };
        let definition = IndexDefinition {
            name: IndexName::new(*index).expect("an index name"),
            kind: *kind,
            key_schema,
            projection: ProjectionDefinition {
                projection_type: Some(projection_type),
                non_key_attributes,
            },
            throughput: None,
            settings: Default::default(),
            vector: None,
        };
        if *kind == IndexKind::Global {
            &mut global
        } else {
            &mut local
        }
        .push(definition);
    }
    definitions.sort_by(|a, b| a.name.cmp(&b.name));
    definitions.dedup();
    let request = CreateTableRequest {
        table_name: TableName::new(name).expect("a table name"),
        attribute_definitions: definitions,
        key_schema,
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: Some(local).filter(|list| !list.is_empty()),
        global_indexes: Some(global).filter(|list| !list.is_empty()),
        deletion_protection: false,
        settings: Default::default(),
        vector_indexes: None,
    };
    db.create_table(request).expect("a table");
}

pub fn put(db: &dyn Browse, table: &str, lines: &[&str]) {
    for line in lines {
        let item =
            plain_json::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        let request = PutItemRequest::new(TableName::new(table).expect("a table name"), item);
        db.put_item(request)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

/// Resolves `Table/query/…` or `Table/gsi/index/scan/…`.
pub fn walk(db: &dyn Browse, path: &str) -> Result<QueryChild, FsError> {
    let mut names: Vec<&str> = path.split('/').collect();
    let table = TableName::new(names.remove(0)).expect("a table name");
    let schema = db.schema(&table).expect("a schema").expect("a table");
    let mut index = None;
    if names[0] == "gsi" || names[0] == "lsi" {
        names.remove(0);
        index = Some(IndexName::new(names.remove(0)).expect("an index name"));
    }
    let kind = if names.remove(0) == "query" {
        QueryKind::Query
    } else {
        QueryKind::Scan
    };
    let mut child = QueryChild::Dir(QueryPath::new(schema, index.as_ref(), kind)?);
    for name in names {
        let QueryChild::Dir(path) = child else {
            panic!("{name}: not below a directory")
        };
        child = path.child(name.as_bytes())?;
    }
    Ok(child)
}

pub fn directory(db: &dyn Browse, path: &str) -> QueryPath {
    match walk(db, path) {
        Ok(QueryChild::Dir(path)) => path,
        other => panic!("{path}: {other:?}"),
    }
}

/// Returns the output of `cat path`, or the error's text.
pub fn cat(db: &dyn Browse, path: &str) -> String {
    let file = match walk(db, path) {
        Ok(QueryChild::Result(path, kind)) => path.render(db, kind),
        Ok(other) => panic!("{path}: {other:?}"),
        Err(error) => Err(error),
    };
    file.map_or_else(
        |error| format!("error: {error}"),
        |bytes| String::from_utf8(bytes).expect("text"),
    )
}

/// Returns the output of `ls path`, in batches of `batch` names, each begun from the position where
/// the one before ended.
pub fn ls(db: &dyn Browse, path: &str, batch: usize) -> Vec<String> {
    let path = directory(db, path);
    let mut names = Vec::new();
    let mut after: Option<ListPosition> = None;
    loop {
        let before = names.len();
        let from = after.take();
        path.listing(db, from.as_ref(), &mut |name, position| {
            names.push(name);
            if names.len() - before == batch {
                after = Some(position);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
        .expect("a listing");
        if names.len() - before < batch {
            return names;
        }
    }
}

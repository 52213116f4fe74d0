//! Tables for the tests of this directory.

use super::{QueryChild, QueryKind, QueryPath};
use crate::fs::prelude::*;
use crate::model::{IndexName, IndexSchema, KeySchema, Projection, schema::BillingMode};

/// `pk:S` as a key attribute.
fn attribute(text: &str) -> KeyAttribute {
    let (name, attribute_type) = text.split_once(':').expect("name:type");
    let attribute_type = match attribute_type {
        "S" => KeyAttributeType::S,
        "N" => KeyAttributeType::N,
        _ => KeyAttributeType::B,
    };
    KeyAttribute {
        name: name.to_owned(),
        attribute_type,
    }
}

fn index(
    name: &str,
    kind: IndexKind,
    partition: &[&str],
    sort: &[&str],
    projection: Projection,
) -> IndexSchema {
    IndexSchema {
        name: IndexName::new(name).expect("an index name"),
        kind,
        partition: partition.iter().map(|text| attribute(text)).collect(),
        sort: sort.iter().map(|text| attribute(text)).collect(),
        projection,
        throughput: None,
        settings: Default::default(),
        vector: None,
    }
}

/// GameScores with its indexes, one of every kind, and key attributes with awkward names.
pub(super) fn game_scores() -> Arc<TableSchema> {
    let indexes = vec![
        index(
            "GameTitleIndex",
            IndexKind::Global,
            &["GameTitle:S"],
            &["TopScore:N"],
            Projection::KeysOnly,
        ),
        index(
            "ByRegion",
            IndexKind::Global,
            &["Tenant:S", "Region:N"],
            &["Day:S", "Hour:N"],
            Projection::All,
        ),
        index(
            "ByHash",
            IndexKind::Global,
            &["Hash:B"],
            &[],
            Projection::Include(vec!["Wins".to_owned()]),
        ),
        index(
            "WinsIndex",
            IndexKind::Local,
            &["UserId:S"],
            &["Wins.Total:N"],
            Projection::KeysOnly,
        ),
    ];
    table("GameScores", "UserId:S", Some("GameTitle:S"), indexes)
}

pub(super) fn table(
    name: &str,
    partition: &str,
    sort: Option<&str>,
    indexes: Vec<IndexSchema>,
) -> Arc<TableSchema> {
    Arc::new(TableSchema {
        name: TableName::new(name).expect("a table name"),
        key: KeySchema {
            partition: attribute(partition),
            sort: sort.map(attribute),
        },
        indexes,
        billing_mode: BillingMode::PayPerRequest,
        throughput: None,
        deletion_protection: false,
        settings: Default::default(),
    })
}

/// Resolves the last name of a path below the table: `query/@pk=u1/count`,
/// `gsi/GameTitleIndex/scan/limit=1`.
pub(super) fn walk(schema: &Arc<TableSchema>, path: &str) -> Result<QueryChild, FsError> {
    let mut names: Vec<&str> = path.split('/').collect();
    let index = match names.first() {
        Some(&("gsi" | "lsi")) => {
            let index = IndexName::new(names.remove(1)).expect("an index name");
            names.remove(0);
            Some(index)
        }
        _ => None,
    };
    let kind = match names.remove(0) {
        "query" => QueryKind::Query,
        _ => QueryKind::Scan,
    };
    let mut child = QueryChild::Dir(QueryPath::new(schema.clone(), index.as_ref(), kind)?);
    for name in names {
        child = match child {
            QueryChild::Dir(path) => path.child(name.as_bytes())?,
            QueryChild::Result(..) | QueryChild::Link { .. } => {
                panic!("{path}: a file has no children")
            }
        };
    }
    Ok(child)
}

/// Resolves a path as [`walk`] to a directory.
pub(super) fn directory(schema: &Arc<TableSchema>, path: &str) -> QueryPath {
    match walk(schema, path) {
        Ok(QueryChild::Dir(path)) => path,
        other => panic!("{path}: {other:?}"),
    }
}

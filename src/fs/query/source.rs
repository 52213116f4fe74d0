//! What a query reads: the table or one of its indexes, by Query or Scan, and the key attributes of that.

use crate::model::schema::KeyAttribute;
use crate::model::{IndexSchema, TableSchema};

/// Query or Scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    Query,
    Scan,
}

/// What a clause is parsed against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub schema: &'a TableSchema,
    pub index: Option<&'a IndexSchema>,
    pub kind: QueryKind,
}

impl<'a> Context<'a> {
    pub fn keys(&self) -> SourceKeys<'a> {
        SourceKeys::of(self.schema, self.index)
    }
}

/// Key attributes of a table or index, in order. A table has one partition attribute and at most one sort attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceKeys<'a> {
    pub partition: &'a [KeyAttribute],
    pub sort: &'a [KeyAttribute],
}

impl<'a> SourceKeys<'a> {
    pub fn of(schema: &'a TableSchema, index: Option<&'a IndexSchema>) -> Self {
        match index {
            Some(index) => Self { partition: &index.partition, sort: &index.sort },
            None => Self { partition: std::slice::from_ref(&schema.key.partition), sort: schema.key.sort.as_slice() },
        }
    }

    pub fn attributes(&self) -> impl Iterator<Item = &'a KeyAttribute> + use<'a> {
        self.partition.iter().chain(self.sort)
    }
}

/// The attributes of a `LastEvaluatedKey`, each once: the index key, then the table key.
pub(super) fn cursor_attributes<'a>(schema: &'a TableSchema, index: Option<&'a IndexSchema>) -> Vec<&'a KeyAttribute> {
    let mut all: Vec<&KeyAttribute> = Vec::new();
    for attribute in SourceKeys::of(schema, index).attributes().chain(schema.key.attributes()) {
        if !all.iter().any(|known| known.name == attribute.name) {
            all.push(attribute);
        }
    }
    all
}

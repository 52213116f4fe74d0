//! What a query reads: the table or one of its indexes, by Query or Scan, and the key attributes of that.

use crate::expr::KeySchemaView;
use crate::fs::prelude::*;
use crate::model::IndexSchema;

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
    pub fn keys(&self) -> KeySchemaView<'a> {
        KeySchemaView::of(self.schema, self.index)
    }

    /// What is read.
    pub fn source(&self) -> Source {
        Source { table: self.schema.name.clone(), index: self.index.map(|index| index.name.clone()) }
    }

    /// The attributes of a `LastEvaluatedKey`.
    pub fn cursor_attributes(&self) -> Vec<&'a KeyAttribute> {
        self.schema.cursor_attributes(self.index)
    }

    pub fn on_global_index(&self) -> bool {
        self.index.is_some_and(|index| index.kind == IndexKind::Global)
    }
}

//! The context of a query: the table or index that it reads, by Query or Scan, with its key
//! attributes. Also reads keys and text of a row without building the item.

use crate::codec::{key, record::ResultRow};
use crate::expr::KeySchemaView;
use crate::fs::prelude::*;
use crate::model::{IndexSchema, error::StoreError};

/// The attribute of a search's result that has its score.
pub(super) const SCORE: &str = "@score";

/// The operation that a path stands for: Query, Scan or, as `near/`, SearchVectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    Query,
    Scan,
    Near,
}

impl QueryKind {
    /// Returns the name of the operation.
    pub(super) fn operation(self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Scan => "Scan",
            Self::Near => "SearchVectors",
        }
    }
}

/// The schema, index and kind that a clause is parsed against.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryContext<'a> {
    pub schema: &'a TableSchema,
    pub index: Option<&'a IndexSchema>,
    pub kind: QueryKind,
}

impl<'a> QueryContext<'a> {
    pub fn keys(&self) -> KeySchemaView<'a> {
        KeySchemaView::for_index(self.schema, self.index)
    }

    /// Returns the table or index that is read.
    pub fn source(&self) -> SourceName {
        SourceName {
            table: self.schema.name.clone(),
            index: self.index.map(|index| index.name.clone()),
        }
    }

    /// Returns the attributes of a `LastEvaluatedKey`.
    pub fn cursor_attributes(&self) -> Vec<&'a KeyAttribute> {
        self.schema.cursor_attributes(self.index)
    }

    /// True if a read of an index gets attributes that it does not project from the table.
    pub fn fetches(&self) -> bool {
        self.index
            .is_none_or(|index| index.kind == IndexKind::Local)
    }

    pub fn on_global_index(&self) -> bool {
        self.index
            .is_some_and(|index| index.kind == IndexKind::Global)
    }
}

/// Returns the key of the source's entry in this row. The row must be a whole entry, not a
/// projection.
///
/// # Errors
/// [`StoreError::Corrupt`] for an entry without one of its keys.
pub(super) fn entry_key(
    row: &ResultRow<'_>,
    context: QueryContext<'_>,
) -> Result<EntryKey, FsError> {
    let keys = context.keys();
    // A search finds items of the table.
    let index = match context.index.filter(|_| context.kind != QueryKind::Near) {
        None => None,
        Some(_) => Some((
            attributes(row, keys.partition)?,
            attributes(row, keys.sort)?,
        )),
    };
    let partition = attribute(row, &context.schema.key.partition)?;
    let sort = context
        .schema
        .key
        .sort
        .as_ref()
        .map(|sort| attribute(row, sort))
        .transpose()?;
    Ok(EntryKey {
        index,
        base: Key { partition, sort },
    })
}

fn attributes(
    row: &ResultRow<'_>,
    attribute_names: &[KeyAttribute],
) -> Result<Vec<AttributeValue>, FsError> {
    attribute_names
        .iter()
        .map(|attribute_names| attribute(row, attribute_names))
        .collect()
}

fn attribute(
    row: &ResultRow<'_>,
    attribute_names: &KeyAttribute,
) -> Result<AttributeValue, FsError> {
    let found = match row {
        ResultRow::Record(record) => record
            .attribute(&attribute_names.name)
            .map_err(Error::from)?,
        ResultRow::Item(item) => item.get(&attribute_names.name).cloned(),
    };
    found.ok_or_else(|| {
        FsError::Database(StoreError::Corrupt("an entry lacks a key attribute").into())
    })
}

/// Returns the encoding of the source's sort key: results are ordered by it. A projected row must
/// have the key's attributes.
pub(super) fn sort_key_bytes(
    row: &ResultRow<'_>,
    context: QueryContext<'_>,
) -> Result<Vec<u8>, FsError> {
    let mut order = Vec::new();
    for value in attributes(row, context.keys().sort)? {
        key::encode(&value, &mut order);
    }
    Ok(order)
}

/// Appends one item, without a newline.
pub(super) fn write_item(
    row: &ResultRow<'_>,
    context: QueryContext<'_>,
    typed: bool,
    out: &mut Vec<u8>,
) -> Result<(), FsError> {
    if typed {
        return Ok(row.write_dynamodb_json(out).map_err(Error::from)?);
    }
    match row {
        // A record has its attribute order in itself.
        ResultRow::Record(record) => record.write_plain_json(out),
        ResultRow::Item(_) => {
            let cursor = context.cursor_attributes();
            let score = (context.kind == QueryKind::Near).then_some(SCORE);
            let first: Vec<&str> = score
                .into_iter()
                .chain(cursor.iter().map(|attribute| attribute.name.as_str()))
                .collect();
            row.write_plain_json(&first, out)
        }
    }
    .map_err(Error::from)?;
    if out.last() == Some(&b'\n') {
        out.pop();
    }
    Ok(())
}

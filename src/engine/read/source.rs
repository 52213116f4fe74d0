//! What a Query or Scan reads: a table, or one of its indexes.

use std::sync::Arc;

use crate::codec::record::Record;
use crate::engine::base::keys::{EntryAddress, SourceId};
use crate::engine::catalog::TableEntry;
use crate::engine::index::IndexView;
use crate::engine::runtime::View;
use crate::expr::{KeyCondition, KeySchemaView, SortRange};
use crate::model::api::ConsumedCapacity;
use crate::model::error::{QueryError, StoreError};
use crate::model::{AttributeValue, Error, IndexKind, IndexName, IndexSchema, Item, KeyAttribute, TableName};

/// A table with the index that is read, if one is.
#[derive(Debug, Clone)]
pub struct ReadSource {
    pub table: Arc<TableEntry>,
    /// Place of the index in the schema.
    index: Option<usize>,
}

impl ReadSource {
    /// Looks up table and index.
    ///
    /// # Errors
    /// `ResourceNotFound`, `UnknownIndex`, `Backfilling`; those of the store.
    pub fn find(view: &View<'_>, table: &TableName, index: Option<&IndexName>) -> Result<Self, Error> {
        let source = Self::of_table(view.active_table(table)?, index)?;
        match index {
            Some(name) if source.table.index_life.is_building(name) => {
                Err(QueryError::Backfilling(name.as_str().to_owned()).into())
            }
            _ => Ok(source),
        }
    }

    /// As [`Self::find`], also of a table that comes or goes, and of an index that is being made: its entries are not all there.
    ///
    /// # Errors
    /// `ResourceNotFound`, `UnknownIndex`; those of the store.
    pub fn find_in_any_state(view: &View<'_>, table: &TableName, index: Option<&IndexName>) -> Result<Self, Error> {
        Self::of_table(view.table(table)?.ok_or(Error::ResourceNotFound)?, index)
    }

    fn of_table(table: Arc<TableEntry>, index: Option<&IndexName>) -> Result<Self, Error> {
        let Some(name) = index else { return Ok(Self { table, index: None }) };
        match table.schema.indexes.iter().position(|index| index.name == *name) {
            Some(place) => Ok(Self { table, index: Some(place) }),
            None => Err(QueryError::UnknownIndex(name.as_str().to_owned()).into()),
        }
    }

    /// The index that is read, with its place in the store.
    #[must_use]
    pub fn index_view(&self) -> Option<IndexView<'_>> {
        let (index, source) = self.table.indexes().nth(self.index?)?;
        Some(IndexView { table: &self.table.schema.key, index, source })
    }

    /// The index that is read.
    #[must_use]
    pub fn index(&self) -> Option<&IndexSchema> {
        self.index_view().map(|view| view.index)
    }

    /// Is it an index of this kind?
    #[must_use]
    pub fn is_index(&self, kind: IndexKind) -> bool {
        self.index().is_some_and(|index| index.kind == kind)
    }

    /// The source in the store.
    #[must_use]
    pub fn id(&self) -> SourceId {
        self.index_view().map_or(self.table.source, |view| view.source)
    }

    /// The key attributes by which it is queried.
    #[must_use]
    pub fn key_schema(&self) -> KeySchemaView<'_> {
        KeySchemaView::of(&self.table.schema, self.index())
    }

    /// Does the condition give a whole primary key? Entries of an index may share their keys; items do not.
    #[must_use]
    pub fn has_one_row_at_most(&self, condition: &KeyCondition) -> bool {
        let has_whole_key = self.table.schema.key.sort.is_none() || matches!(condition.range, Some(SortRange::Equal(_)));
        self.index.is_none() && has_whole_key
    }

    /// The attributes of LastEvaluatedKey and ExclusiveStartKey.
    #[must_use]
    pub fn cursor_attributes(&self) -> Vec<&KeyAttribute> {
        self.table.schema.cursor_attributes(self.index())
    }

    /// The LastEvaluatedKey of a record of this source.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn cursor(&self, record: &Record<'_>) -> Result<Item, StoreError> {
        let mut cursor = Item::default();
        for attribute in self.cursor_attributes() {
            let value = record.attribute(&attribute.name)?.ok_or(StoreError::Corrupt("a record lacks a key attribute"))?;
            cursor.0.insert(attribute.name.clone(), value);
        }
        Ok(cursor)
    }

    /// The address of a cursor; `None` unless it has every key attribute.
    #[must_use]
    pub fn address(&self, cursor: &Item) -> Option<EntryAddress> {
        let base = cursor.key(&self.table.schema.key)?;
        let Some(view) = self.index_view() else { return Some(EntryAddress::of_item(self.table.source, &base)) };
        let values = |attributes: &[KeyAttribute]| -> Option<Vec<&AttributeValue>> {
            attributes.iter().map(|attribute| cursor.get(&attribute.name)).collect()
        };
        Some(view.address(&values(&view.index.partition)?, &values(&view.index.sort)?, &base))
    }

    /// The address of the base item of a record of this source.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn base_address(&self, record: &Record<'_>) -> Result<EntryAddress, StoreError> {
        let key = &self.table.schema.key;
        let value = |name: &str| record.attribute(name)?.ok_or(StoreError::Corrupt("a record lacks a key attribute"));
        let partition = value(&key.partition.name)?;
        let sort = key.sort.as_ref().map(|attribute| value(&attribute.name)).transpose()?;
        Ok(EntryAddress::of_item(self.table.source, &crate::model::Key { partition, sort }))
    }

    /// Consumed units: those of the source in its own arm, and those of fetched base items in the table's.
    #[must_use]
    pub fn consumed(&self, units: f64, fetched_units: f64) -> ConsumedCapacity {
        let mut consumed = ConsumedCapacity::default();
        match self.index() {
            None => consumed.table = units,
            Some(index) => {
                consumed.table = fetched_units;
                let arm = match index.kind {
                    IndexKind::Global => &mut consumed.global_indexes,
                    IndexKind::Local => &mut consumed.local_indexes,
                };
                arm.insert(index.name.as_str().to_owned(), units);
            }
        }
        consumed
    }
}

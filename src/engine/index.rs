//! Which entries an item has in an index, and what a change of the item does to them (docs/dynamodb.md 9.1, 9.4, 10.2).

use std::borrow::Cow;

use super::base::item_key::{self, KeyRole, is_empty_key, key_bytes};
use super::base::write_units;
use super::prelude::*;
use crate::model::error::{KeyError, UpdateError, ValueError};
use crate::model::limits::{ITEM_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::{KeySchema, Projection};

/// An index of a table with its place in the store.
#[derive(Debug, Clone, Copy)]
pub struct IndexView<'t> {
    pub table: &'t KeySchema,
    pub index: &'t IndexSchema,
    pub source: SourceId,
}

/// The indexes of a table, in the schema's order.
pub fn views(table: &TableEntry) -> impl Iterator<Item = IndexView<'_>> {
    table.indexes().map(|(index, source)| IndexView { table: &table.schema.key, index, source })
}

/// The key attribute names of an index entry in the order in which to render them: index keys, then the table's others.
#[must_use]
pub fn first_names<'t>(table: &'t KeySchema, index: &'t IndexSchema) -> Vec<&'t str> {
    let mut names: Vec<&str> = Vec::new();
    for attribute in index.attributes().chain(table.attributes()) {
        if !names.contains(&attribute.name.as_str()) {
            names.push(&attribute.name);
        }
    }
    names
}

/// The entry an item has in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry<'i> {
    pub address: EntryAddress,
    /// Index partition key values in schema order.
    pub partition: Vec<&'i AttributeValue>,
    /// DynamoDB size of the projected entry.
    pub bytes: usize,
}

impl<'t> IndexView<'t> {
    /// The item's entry; `None` unless every index key attribute is there, of its type, not empty and not too large.
    #[must_use]
    pub fn entry<'i>(&self, item: &'i Item) -> Option<IndexEntry<'i>> {
        let base = item.key(self.table)?;
        self.entry_with_key(item, &base)
    }

    /// As [`Self::entry`], with the item's primary key at hand.
    #[must_use]
    pub fn entry_with_key<'i>(&self, item: &'i Item, base: &Key) -> Option<IndexEntry<'i>> {
        let partition = key_values(&self.index.partition, item, KeyRole::Partition)?;
        let sort = key_values(&self.index.sort, item, KeyRole::Sort)?;
        let address = self.address(&partition, &sort, base);
        Some(IndexEntry { address, partition, bytes: self.projected_bytes(item) })
    }

    /// The address of the entry with these keys.
    #[must_use]
    pub fn address(&self, partition: &[&AttributeValue], sort: &[&AttributeValue], base: &Key) -> EntryAddress {
        match (self.index.kind, sort) {
            (IndexKind::Local, [sort]) => {
                EntryAddress::new(self.source, &[&base.partition], std::iter::once(*sort).chain(&base.sort))
            }
            _ => EntryAddress::in_global_index(self.source, partition, sort, base),
        }
    }

    fn projects(&self, name: &str) -> bool {
        self.index.projects(self.table, name)
    }

    fn projected_bytes(&self, item: &Item) -> usize {
        let kept = item.0.iter().filter(|(name, _)| self.projects(name));
        kept.map(|(name, value)| name.len() + value.size()).sum()
    }

    /// What the entry of this item holds.
    #[must_use]
    pub fn projected<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        if self.index.projection == Projection::All {
            return Cow::Borrowed(item);
        }
        let kept = item.0.iter().filter(|(name, _)| self.projects(name));
        Cow::Owned(Item(kept.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }

    fn has_same_keys(&self, one: &Item, other: &Item) -> bool {
        self.index.attributes().all(|attribute| one.get(&attribute.name) == other.get(&attribute.name))
    }

    fn same_projection(&self, one: &Item, other: &Item) -> bool {
        let mut one = one.0.iter().filter(|(name, _)| self.projects(name));
        let mut other = other.0.iter().filter(|(name, _)| self.projects(name));
        loop {
            match (one.next(), other.next()) {
                (None, None) => return true,
                (a, b) if a != b => return false,
                _ => {}
            }
        }
    }
}

/// The item's values of index key attributes, if all are there and can be keys.
fn key_values<'i>(attributes: &[crate::model::KeyAttribute], item: &'i Item, role: KeyRole) -> Option<Vec<&'i AttributeValue>> {
    let mut values = Vec::with_capacity(attributes.len());
    let mut sort_bytes = 0;
    for attribute in attributes {
        let value = item.get(&attribute.name)?;
        let is_key = value.attribute_type() == attribute.attribute_type.as_attribute_type() && !is_empty_key(value);
        if !is_key || role.check_size(key_bytes(value)).is_err() {
            return None;
        }
        sort_bytes += key_bytes(value);
        values.push(value);
    }
    (role == KeyRole::Partition || sort_bytes <= SORT_KEY_BYTES_MAX).then_some(values)
}

/// The key of an item that is to be put, its index keys checked.
///
/// # Errors
/// `Key`.
pub fn key_of_put(table: &TableEntry, item: &Item) -> Result<Key, Error> {
    let key = item_key::key_of_item(&table.schema.key, item)?;
    check_item(table, item)?;
    Ok(key)
}

/// Checks an item's index keys. Of several violations the one of the index first by name is reported.
///
/// # Errors
/// [`KeyError`] naming index and attribute; `ItemTooLarge` when the item with its local index entries is.
pub fn check_item(table: &TableEntry, item: &Item) -> Result<(), Error> {
    for view in by_name(table) {
        check_index_keys(view.index, item, &|_| true)?;
    }
    if fits_with_local_entries(table, item) { Ok(()) } else { Err(ValueError::ItemTooLarge.into()) }
}

/// Checks the index keys that an update changed, in the words of updates (docs/dynamodb.md 9.4).
///
/// # Errors
/// [`KeyError`] for a wrong type, else [`UpdateError`].
pub fn check_update(table: &TableEntry, old: &Item, new: &Item) -> Result<(), Error> {
    for view in by_name(table) {
        check_index_keys(view.index, new, &|name| old.get(name) != new.get(name)).map_err(|error| match error {
            KeyError::IndexEmptyString { .. } => UpdateError::IndexEmptyString.into(),
            KeyError::IndexEmptyBinary { .. } => UpdateError::IndexEmptyBinary.into(),
            KeyError::PartitionTooLarge | KeyError::SortTooLarge => UpdateError::IndexTooLarge.into(),
            other => Error::Key(other),
        })?;
    }
    if fits_with_local_entries(table, new) { Ok(()) } else { Err(UpdateError::ItemTooLarge.into()) }
}

/// The indexes of a table in the order of their names.
fn by_name(table: &TableEntry) -> Vec<IndexView<'_>> {
    let mut views: Vec<IndexView<'_>> = views(table).collect();
    views.sort_by(|a, b| a.index.name.cmp(&b.index.name));
    views
}

/// An item and its entries in local indexes have one limit together (docs/dynamodb.md 5.2).
fn fits_with_local_entries(table: &TableEntry, item: &Item) -> bool {
    // An entry is no larger than its item, and few items are near the limit.
    let item_bytes = item.size();
    if item_bytes * (1 + table.schema.indexes_of(IndexKind::Local).count()) <= ITEM_BYTES_MAX {
        return true;
    }
    let local = views(table).filter(|view| view.index.kind == IndexKind::Local);
    let entries: usize = local.filter_map(|view| Some(view.entry(item)?.bytes)).sum();
    entries == 0 || item_bytes + entries <= ITEM_BYTES_MAX
}

/// Checks the keys of an index in an item.
///
/// # Errors
/// [`KeyError`] for the first that is there and cannot be one.
pub fn check_keys(index: &IndexSchema, item: &Item) -> Result<(), KeyError> {
    check_index_keys(index, item, &|_| true)
}

/// The keys of an index in an item, as far as `checked` names them.
fn check_index_keys(index: &IndexSchema, item: &Item, checked: &dyn Fn(&str) -> bool) -> Result<(), KeyError> {
    let mut sort_bytes = 0;
    let partition = index.partition.iter().map(|attribute| (attribute, KeyRole::Partition));
    let sort = index.sort.iter().map(|attribute| (attribute, KeyRole::Sort));
    for (attribute, role) in partition.chain(sort) {
        let Some(value) = item.get(&attribute.name) else { continue };
        if role == KeyRole::Sort {
            sort_bytes += key_bytes(value);
        }
        if !checked(&attribute.name) {
            continue;
        }
        let names = || (index.name.as_str().to_owned(), attribute.name.clone());
        let expected = attribute.attribute_type.as_attribute_type();
        let actual = value.attribute_type();
        if actual != expected {
            let (index, name) = names();
            return Err(KeyError::IndexTypeMismatch { index, name, expected, actual });
        }
        if is_empty_key(value) {
            let (index, name) = names();
            return Err(match value {
                AttributeValue::B(_) => KeyError::IndexEmptyBinary { index, name },
                _ => KeyError::IndexEmptyString { index, name },
            });
        }
        role.check_size(if role == KeyRole::Sort { sort_bytes } else { key_bytes(value) })?;
    }
    Ok(())
}

/// What a change of an item does in one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition<'i> {
    /// Not in the index before nor after, or the entry stays as it is.
    Untouched,
    Added(IndexEntry<'i>),
    Removed(IndexEntry<'i>),
    /// Same index key, another projected content.
    Rewritten {
        old: IndexEntry<'i>,
        new: IndexEntry<'i>,
    },
    /// Another index key.
    Moved {
        old: IndexEntry<'i>,
        new: IndexEntry<'i>,
    },
}

impl<'i> Transition<'i> {
    /// From the old item, if there was one, to the new, if there is one; both have the primary key `base`.
    #[must_use]
    pub fn of(view: &IndexView<'_>, base: &Key, old: Option<&'i Item>, new: Option<&'i Item>) -> Self {
        let old_entry = old.and_then(|item| view.entry_with_key(item, base));
        let new_entry = new.and_then(|item| match (old, &old_entry) {
            // Most writes leave the keys of indexes as they are, and with them the place.
            (Some(old), Some(entry)) if view.has_same_keys(old, item) => {
                let partition = view.index.partition.iter().filter_map(|attribute| item.get(&attribute.name)).collect();
                Some(IndexEntry { address: entry.address.clone(), partition, bytes: view.projected_bytes(item) })
            }
            _ => view.entry_with_key(item, base),
        });
        match (old_entry, new_entry) {
            (None, None) => Self::Untouched,
            (None, Some(new)) => Self::Added(new),
            (Some(old), None) => Self::Removed(old),
            (Some(old), Some(new)) if old.address != new.address => Self::Moved { old, new },
            (Some(old_entry), Some(new_entry)) => match (old, new) {
                (Some(old), Some(new)) if view.same_projection(old, new) => Self::Untouched,
                _ => Self::Rewritten { old: old_entry, new: new_entry },
            },
        }
    }

    /// Write units of this index's arm; `None` when there is no arm.
    #[must_use]
    pub fn units(&self) -> Option<f64> {
        match self {
            Self::Untouched => None,
            Self::Added(entry) | Self::Removed(entry) => Some(write_units(entry.bytes)),
            Self::Rewritten { old, new } => Some(write_units(old.bytes.max(new.bytes))),
            Self::Moved { old, new } => Some(write_units(old.bytes) + write_units(new.bytes)),
        }
    }

    /// The change of entries and of their bytes.
    #[must_use]
    pub fn growth(&self) -> (i64, i64) {
        use crate::engine::base::counters::signed;
        match self {
            Self::Untouched => (0, 0),
            Self::Added(entry) => (1, signed(entry.bytes)),
            Self::Removed(entry) => (-1, -signed(entry.bytes)),
            Self::Rewritten { old, new } | Self::Moved { old, new } => (0, signed(new.bytes) - signed(old.bytes)),
        }
    }
}

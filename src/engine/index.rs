//! Secondary index maintenance, computed: the entries of an item in an index, and the entries to
//! delete and to put when the item changes (docs/dynamodb.md 9.1, 9.4, 10.2). `index_write` writes
//! them.

use std::{borrow::Cow, collections::BTreeSet};

use super::{
    base::{
        counters::{CounterDelta, signed, size_change},
        item_key::{self, KeyRole, is_empty_key, key_bytes},
        write_units,
    },
    prelude::*,
};
use crate::codec::vector::{self, ELEMENT_BYTES};
use crate::model::{
    AttributeType, KeyAttribute, KeySchema, Projection,
    error::{KeyError, UpdateError, ValueError},
    limits::{INLINE_FILTER_BYTES_MAX, ITEM_BYTES_MAX},
    schema::VectorAttribute,
};

/// An index of a table with its source in the store.
#[derive(Debug, Clone, Copy)]
pub struct IndexView<'t> {
    pub table: &'t KeySchema,
    pub index: &'t IndexSchema,
    pub source: SourceId,
}

/// Returns the indexes of a table, in the schema's order.
pub fn index_views(table: &TableEntry) -> impl Iterator<Item = IndexView<'_>> {
    table.indexes().map(|(index, source)| IndexView {
        table: &table.schema.key,
        index,
        source,
    })
}

/// Returns the names of the key attributes of an index entry in the order of their output: vector, index
/// keys, then the table's others.
#[must_use]
pub fn leading_names<'t>(table: &'t KeySchema, index: &'t IndexSchema) -> Vec<&'t str> {
    // A search finds the vector at the beginning of every entry.
    let vector = index.vector.as_ref().map(|vector| vector.name.as_str());
    let mut names: Vec<&str> = vector.into_iter().collect();
    for attribute in index.attributes().chain(table.attributes()) {
        if !names.contains(&attribute.name.as_str()) {
            names.push(&attribute.name);
        }
    }
    names
}

/// The entry of an item in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry<'i> {
    pub address: EntryAddress,
    /// The partition key values of the index in schema order.
    pub partition: Vec<&'i AttributeValue>,
    /// The size of the projected entry in DynamoDB bytes.
    pub bytes: usize,
    /// By how many bytes the list in the item is larger than the vector in the entry.
    pub saved: Option<usize>,
}

impl IndexEntry<'_> {
    /// Returns the change of counters when one entry becomes the other; `None` is absent.
    #[must_use]
    pub fn size_change(old: Option<&Self>, new: Option<&Self>) -> CounterDelta {
        let saved = |entry: Option<&Self>| entry.and_then(|entry| entry.saved);
        let signed_of = |entry| signed(saved(entry).unwrap_or(0));
        let is_of_vectors = saved(old).or(saved(new)).is_some();
        CounterDelta {
            saved: is_of_vectors.then(|| signed_of(new) - signed_of(old)),
            ..size_change(old.map(|entry| entry.bytes), new.map(|entry| entry.bytes))
        }
    }
}

impl<'t> IndexView<'t> {
    /// Returns the item's entry; `None` unless every key attribute of the index is present, of its
    /// type, not empty and not too large. A vector index needs a vector, and no inline filter.
    #[must_use]
    pub fn entry<'i>(&self, item: &'i Item) -> Option<IndexEntry<'i>> {
        let base = item_key::key_of_stored(self.table, item).ok()?;
        self.entry_with_key(item, &base)
    }

    /// Returns the item's entry as [`Self::entry`] does, with the primary key given.
    #[must_use]
    pub fn entry_with_key<'i>(&self, item: &'i Item, base: &Key) -> Option<IndexEntry<'i>> {
        let partition = values_of(&self.index.partition, item)?;
        let sort = values_of(self.index.order(), item)?;
        let vector = self.index.vector.as_ref();
        let lacks_vector = vector.is_some_and(|vector| item.get(&vector.name).is_none());
        if lacks_vector || is_kept_out(self.index, item) {
            return None;
        }
        let address = self.address(&partition, &sort, base);
        Some(self.entry_at(address, partition, item))
    }

    fn entry_at<'i>(
        &self,
        address: EntryAddress,
        partition: Vec<&'i AttributeValue>,
        item: &Item,
    ) -> IndexEntry<'i> {
        let vector = self.index.vector.as_ref();
        IndexEntry {
            address,
            partition,
            bytes: self.projected_bytes(item),
            saved: vector.and_then(|vector| item.get(&vector.name)).map(saved),
        }
    }

    /// Returns the address of the entry with these keys.
    #[must_use]
    pub fn address(
        &self,
        partition: &[&AttributeValue],
        sort: &[&AttributeValue],
        base: &Key,
    ) -> EntryAddress {
        match (self.index.kind, sort) {
            (IndexKind::Local, [sort]) => EntryAddress::new(
                self.source,
                &[&base.partition],
                std::iter::once(*sort).chain(&base.sort),
            ),
            (IndexKind::Global | IndexKind::Vector, _) => {
                EntryAddress::in_global_index(self.source, partition, sort, base)
            }
            (IndexKind::Local, _) => {
                unreachable!("a local index has one sort key: the catalog checks it")
            }
        }
    }

    fn projects(&self, name: &str) -> bool {
        self.index.projects(self.table, name)
    }

    fn projected_bytes(&self, item: &Item) -> usize {
        let kept = item.0.iter().filter(|(name, _)| self.projects(name));
        let size = |(name, value): (&String, &AttributeValue)| match &self.index.vector {
            Some(vector) if vector.name == *name => {
                name.len() + ELEMENT_BYTES * to_usize(vector.dimensions)
            }
            _ => name.len() + value.size(),
        };
        kept.map(size).sum()
    }

    /// Returns the attributes of the item that the index projects; a vector as the bytes that the
    /// entry holds of it.
    #[must_use]
    pub fn projected<'i>(&self, item: &'i Item) -> Cow<'i, Item> {
        if self.index.projection == Projection::All && self.index.vector.is_none() {
            return Cow::Borrowed(item);
        }
        let kept = item.0.iter().filter(|(name, _)| self.projects(name));
        let stored = |value: &AttributeValue| match value {
            AttributeValue::L(numbers) => vector::encode(numbers).ok().map(AttributeValue::B),
            _ => None,
        };
        let one = |(name, value): (&String, &AttributeValue)| {
            let bytes = self.index.is_vector(name).then(|| stored(value)).flatten();
            (name.clone(), bytes.unwrap_or_else(|| value.clone()))
        };
        Cow::Owned(Item(kept.map(one).collect()))
    }

    fn has_same_keys(&self, one: &Item, other: &Item) -> bool {
        let vector = self.index.vector.iter().map(|vector| &vector.name);
        let keys = self.index.attributes().map(|attribute| &attribute.name);
        keys.chain(vector)
            .all(|name| one.get(name) == other.get(name))
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

/// Returns the key attributes of an index with their roles, the partition's first.
fn key_roles(index: &IndexSchema) -> impl Iterator<Item = (&KeyAttribute, KeyRole)> {
    let partition = index
        .partition
        .iter()
        .map(|attribute| (attribute, KeyRole::Partition));
    partition.chain(
        index
            .sort
            .iter()
            .map(|attribute| (attribute, KeyRole::Sort)),
    )
}

/// Returns the item's values of these attributes, if it has all of them.
pub fn values_of<'i>(
    attributes: &[KeyAttribute],
    item: &'i Item,
) -> Option<Vec<&'i AttributeValue>> {
    attributes
        .iter()
        .map(|attribute| item.get(&attribute.name))
        .collect()
}

/// Returns the key of an item to put, after the checks of its index keys.
///
/// # Errors
/// Fails with `Key` for the first key that is invalid.
pub fn key_of_put(table: &TableEntry, item: &Item) -> Result<Key, Error> {
    let key = item_key::key_of_item(&table.schema.key, item)?;
    check_item(table, item)?;
    Ok(key)
}

/// Checks an item's index keys. Of several violations, that of the first index by name is reported.
///
/// # Errors
/// Fails with a [`KeyError`] that names index and attribute, or with `ItemTooLarge` if the item
/// with its local index entries is too large.
pub fn check_item(table: &TableEntry, item: &Item) -> Result<(), Error> {
    for view in views_by_name(table) {
        check_index_keys(view.index, item, |_| true)?;
    }
    if fits_with_local_entries(table, item) {
        Ok(())
    } else {
        Err(ValueError::ItemTooLarge.into())
    }
}

/// Checks the index keys that an update changed, with the error texts of updates (docs/dynamodb.md
/// 9.4).
///
/// # Errors
/// Fails with a [`KeyError`] for a wrong type, otherwise with an [`UpdateError`].
pub fn check_update(table: &TableEntry, old: &Item, new: &Item) -> Result<(), Error> {
    for view in views_by_name(table) {
        check_index_keys(view.index, new, |name| old.get(name) != new.get(name)).map_err(
            |error| match error {
                KeyError::IndexEmptyString { .. } => UpdateError::IndexEmptyString.into(),
                KeyError::IndexEmptyBinary { .. } => UpdateError::IndexEmptyBinary.into(),
                KeyError::PartitionTooLarge | KeyError::SortTooLarge => {
                    UpdateError::IndexTooLarge.into()
                }
                other => Error::Key(other),
            },
        )?;
    }
    if fits_with_local_entries(table, new) {
        Ok(())
    } else {
        Err(UpdateError::ItemTooLarge.into())
    }
}

/// Returns the indexes of a table in the order of their names.
fn views_by_name(table: &TableEntry) -> Vec<IndexView<'_>> {
    let mut views: Vec<IndexView<'_>> = index_views(table).collect();
    views.sort_by(|a, b| a.index.name.cmp(&b.index.name));
    views
}

/// True if an item with its entries in local indexes is within their common limit (docs/dynamodb.md
/// 5.2).
fn fits_with_local_entries(table: &TableEntry, item: &Item) -> bool {
    // An entry is no larger than its item, and few items are near the limit.
    let item_bytes = item.size();
    if item_bytes * (1 + table.schema.indexes_of(IndexKind::Local).count()) <= ITEM_BYTES_MAX {
        return true;
    }
    let local = index_views(table).filter(|view| view.index.kind == IndexKind::Local);
    let entries: usize = local.filter_map(|view| Some(view.entry(item)?.bytes)).sum();
    entries == 0 || item_bytes + entries <= ITEM_BYTES_MAX
}

/// Checks the keys of an index in an item, limited to the names for which `checked` is true.
pub(super) fn check_index_keys(
    index: &IndexSchema,
    item: &Item,
    checked: impl Fn(&str) -> bool,
) -> Result<(), KeyError> {
    if index.vector.is_some() {
        return VectorFault::of(index, item, checked)
            .map_or(Ok(()), |fault| Err(fault.error(index)));
    }
    KeyFault::first(keys_in(index, item), checked).map_or(Ok(()), |fault| Err(fault.error(index)))
}

/// True if a value keeps an item out of an index. A missing attribute is no such value.
#[must_use]
pub fn is_kept_out(index: &IndexSchema, item: &Item) -> bool {
    match &index.vector {
        Some(_) => VectorFault::of(index, item, |_| true).is_some(),
        None => KeyFault::of(index, item).is_some(),
    }
}

/// Converts a number of dimensions, which has a limit.
fn to_usize(dimensions: u64) -> usize {
    usize::try_from(dimensions).unwrap_or(usize::MAX)
}

/// A value that a vector index cannot take: a vector, or an attribute of its search schema.
#[derive(Debug, Clone, Copy)]
pub enum VectorFault<'a> {
    NotList(AttributeType),
    /// The number of elements.
    Size(usize),
    /// The place of an element that is no 32-bit number.
    Element(usize, &'a AttributeValue),
    /// A value of another type, too large, or an empty HASH.
    Schema(&'a KeyAttribute, KeyRole, &'a AttributeValue),
}

impl<'a> VectorFault<'a> {
    /// Returns the first fault of the item, limited to the names for which `checked` is true: of
    /// the vector, then of the search schema.
    #[must_use]
    pub fn of(
        index: &'a IndexSchema,
        item: &'a Item,
        checked: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let vector = index.vector.as_ref()?;
        if checked(&vector.name)
            && let Some(fault) = item
                .get(&vector.name)
                .and_then(|value| Self::of_vector(vector, value))
        {
            return Some(fault);
        }
        let mut schema = keys_in(index, item);
        schema.find_map(|((attribute, role), value)| {
            let is_wrong = value.attribute_type() != attribute.attribute_type.as_attribute_type()
                || key_bytes(value) > search_bytes_max(role)
                || (role == KeyRole::Partition && is_empty_key(value));
            (is_wrong && checked(&attribute.name)).then_some(Self::Schema(attribute, role, value))
        })
    }

    fn of_vector(vector: &VectorAttribute, value: &'a AttributeValue) -> Option<Self> {
        let AttributeValue::L(elements) = value else {
            return Some(Self::NotList(value.attribute_type()));
        };
        if elements.len() != to_usize(vector.dimensions) {
            return Some(Self::Size(elements.len()));
        }
        let mut elements = elements.iter().enumerate();
        let (place, element) = elements.find(|(_, element)| vector::element(element).is_none())?;
        Some(Self::Element(place, element))
    }

    fn error(self, index: &IndexSchema) -> KeyError {
        let vector = index.vector.as_ref();
        let (name, expected) = vector.map_or((String::new(), 0), |vector| {
            (vector.name.clone(), vector.dimensions)
        });
        let index = index.name.as_str().to_owned();
        match self {
            Self::NotList(_) => KeyError::VectorType { index, name },
            Self::Size(actual) => KeyError::VectorSize {
                index,
                name,
                expected,
                actual,
            },
            Self::Element(place, AttributeValue::N(number)) => KeyError::VectorRange {
                index,
                name,
                place,
                value: number.scientific(),
            },
            Self::Element(place, value) => KeyError::VectorElement {
                index,
                name,
                place,
                actual: value.attribute_type(),
            },
            Self::Schema(attribute, role, value) => {
                let name = attribute.name.clone();
                let expected = attribute.attribute_type.as_attribute_type();
                match (value, role) {
                    _ if value.attribute_type() != expected => KeyError::SearchSchemaType {
                        index,
                        name,
                        expected,
                        actual: value.attribute_type(),
                    },
                    (_, KeyRole::Sort) => KeyError::InlineFilterTooLarge(name),
                    (AttributeValue::S(text), _) if text.is_empty() => {
                        KeyError::IndexEmptyString { index, name }
                    }
                    (AttributeValue::B(bytes), _) if bytes.is_empty() => {
                        KeyError::IndexEmptyBinary { index, name }
                    }
                    _ => KeyError::SearchHashTooLarge,
                }
            }
        }
    }
}

/// Returns the bytes allowed of an attribute of a search schema.
#[must_use]
pub fn search_bytes_max(role: KeyRole) -> usize {
    match role {
        KeyRole::Partition => role.bytes_max(),
        KeyRole::Sort => INLINE_FILTER_BYTES_MAX,
    }
}

/// Returns by how many bytes the lists of vectors in an item are larger than the vectors that its
/// table's indexes hold: a write is not charged for them.
#[must_use]
pub fn vector_savings(table: &TableEntry, item: &Item) -> usize {
    let vectors = table
        .schema
        .indexes
        .iter()
        .filter_map(|index| index.vector.as_ref());
    let names: BTreeSet<&str> = vectors.map(|vector| vector.name.as_str()).collect();
    names
        .into_iter()
        .filter_map(|name| item.get(name))
        .map(saved)
        .sum()
}

/// Returns by how many bytes a list is larger than its vector.
fn saved(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::L(elements) => value.size().saturating_sub(elements.len() * ELEMENT_BYTES),
        _ => 0,
    }
}

/// Returns the key attributes of an index that an item has, with their values.
fn keys_in<'a>(
    index: &'a IndexSchema,
    item: &'a Item,
) -> impl Iterator<Item = ((&'a KeyAttribute, KeyRole), &'a AttributeValue)> {
    key_roles(index).filter_map(|key| Some((key, item.get(&key.0.name)?)))
}

/// A value that cannot be a key of an index: of another type, empty or too large.
#[derive(Debug, Clone, Copy)]
pub struct KeyFault<'a> {
    pub attribute: &'a KeyAttribute,
    pub value: &'a AttributeValue,
    /// The number of bytes allowed; sort keys share their limit.
    pub bytes_max: usize,
    role: KeyRole,
}

impl<'a> KeyFault<'a> {
    /// Returns the first value that cannot be a key.
    #[must_use]
    pub fn of(index: &'a IndexSchema, item: &'a Item) -> Option<Self> {
        Self::first(keys_in(index, item), |_| true)
    }

    fn first(
        keys: impl Iterator<Item = ((&'a KeyAttribute, KeyRole), &'a AttributeValue)>,
        checked: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let mut sort_bytes = 0;
        for ((attribute, role), value) in keys {
            let before = if role == KeyRole::Sort { sort_bytes } else { 0 };
            let bytes = before + key_bytes(value);
            if role == KeyRole::Sort {
                sort_bytes = bytes;
            }
            let is_key = value.attribute_type() == attribute.attribute_type.as_attribute_type()
                && !is_empty_key(value);
            if checked(&attribute.name) && !(is_key && bytes <= role.bytes_max()) {
                return Some(Self {
                    attribute,
                    value,
                    bytes_max: role.bytes_max().saturating_sub(before),
                    role,
                });
            }
        }
        None
    }

    fn error(&self, index: &IndexSchema) -> KeyError {
        let (index, name) = (index.name.as_str().to_owned(), self.attribute.name.clone());
        let expected = self.attribute.attribute_type.as_attribute_type();
        let actual = self.value.attribute_type();
        match self.value {
            _ if actual != expected => KeyError::IndexTypeMismatch {
                index,
                name,
                expected,
                actual,
            },
            AttributeValue::B(bytes) if bytes.is_empty() => {
                KeyError::IndexEmptyBinary { index, name }
            }
            AttributeValue::S(text) if text.is_empty() => {
                KeyError::IndexEmptyString { index, name }
            }
            _ => self.role.too_large(),
        }
    }
}

/// The change of one index by a change of an item: the entries before and after; none if nothing
/// changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transition<'i> {
    pub old: Option<IndexEntry<'i>>,
    pub new: Option<IndexEntry<'i>>,
}

impl<'i> Transition<'i> {
    /// Returns the change from the old item to the new one, each if it exists; both have the
    /// primary key `base`.
    #[must_use]
    pub fn of(
        view: &IndexView<'_>,
        base: &Key,
        old: Option<&'i Item>,
        new: Option<&'i Item>,
    ) -> Self {
        let old_entry = old.and_then(|item| view.entry_with_key(item, base));
        let new_entry = new.and_then(|item| match (old, &old_entry) {
            // Most writes leave the keys of indexes unchanged, and with them the address.
            (Some(old), Some(entry)) if view.has_same_keys(old, item) => {
                let partition = values_of(&view.index.partition, item)?;
                Some(view.entry_at(entry.address.clone(), partition, item))
            }
            _ => view.entry_with_key(item, base),
        });
        let transition = Self {
            old: old_entry,
            new: new_entry,
        };
        match (old, new) {
            (Some(old), Some(new))
                if transition.is_in_place() && view.same_projection(old, new) =>
            {
                Self::default()
            }
            _ => transition,
        }
    }

    /// True if nothing changes in the index.
    #[must_use]
    pub fn is_noop(&self) -> bool {
        self.old.is_none() && self.new.is_none()
    }

    /// True if the entry keeps its address, with other projected attributes.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.old
            .as_ref()
            .zip(self.new.as_ref())
            .is_some_and(|(old, new)| old.address == new.address)
    }

    /// Returns the written entries with their write units.
    pub fn writes(&self) -> impl Iterator<Item = (&IndexEntry<'i>, f64)> {
        self.written_bytes()
            .map(|(entry, bytes)| (entry, write_units(bytes)))
    }

    /// Returns the written entries with their bytes, the larger ones of old and new: a move to
    /// another index key is a delete and a put, each at its own address.
    pub fn written_bytes(&self) -> impl Iterator<Item = (&IndexEntry<'i>, usize)> {
        let replaced = self
            .old
            .as_ref()
            .filter(|_| self.is_in_place())
            .map_or(0, |old| old.bytes);
        let removed = self.old.iter().filter(|_| !self.is_in_place());
        let written = self
            .new
            .iter()
            .map(move |entry| (entry, entry.bytes.max(replaced)));
        removed.map(|entry| (entry, entry.bytes)).chain(written)
    }

    /// Returns the change in entries and bytes.
    #[must_use]
    pub fn size_change(&self) -> CounterDelta {
        IndexEntry::size_change(self.old.as_ref(), self.new.as_ref())
    }
}

//! The source of a Query or Scan: a table or one of its indexes, and the key range in it that the
//! key condition and the exclusive start key give.

use std::ops::Bound;

use crate::codec::{
    key::{encode, partition_digest},
    record, vector,
};
use crate::engine::{
    index::{IndexView, leading_names, values_of},
    runtime::prelude::*,
};
use crate::expr::{KeyCondition, KeySchemaView, SortRange, interval::Interval};
use crate::model::{
    KeyAttribute,
    api::Segment,
    error::{KeyError, QueryError, ValueError},
};

/// A table, with the index that is read if there is one.
#[derive(Debug, Clone)]
pub struct ReadSource {
    pub table: Arc<TableEntry>,
    /// The position of the index in the schema.
    index: Option<usize>,
}

impl ReadSource {
    /// Looks up table and index.
    ///
    /// # Errors
    /// Fails with `ResourceNotFound`, `UnknownIndex` or `Backfilling`, or with an error of the
    /// store.
    pub fn find(
        view: &ReadView<'_>,
        table: &TableName,
        index: Option<&IndexName>,
    ) -> Result<Self, Error> {
        let source = Self::of_table(view.active_table(table)?, index)?;
        match index {
            Some(name) if source.table.index_life.is_building(name) => {
                Err(QueryError::Backfilling(name.as_str().to_owned()).into())
            }
            _ => Ok(source),
        }
    }

    /// Looks up table and index as [`Self::find`] does, also a table that is being created or
    /// deleted, and an index that is being made and lacks entries.
    ///
    /// # Errors
    /// Fails with `ResourceNotFound` or `UnknownIndex`, or with an error of the store.
    pub fn find_in_any_state(
        view: &ReadView<'_>,
        table: &TableName,
        index: Option<&IndexName>,
    ) -> Result<Self, Error> {
        Self::of_table(view.table(table)?.ok_or(Error::ResourceNotFound)?, index)
    }

    fn of_table(table: Arc<TableEntry>, index: Option<&IndexName>) -> Result<Self, Error> {
        let Some(name) = index else {
            return Ok(Self { table, index: None });
        };
        match table
            .schema
            .indexes
            .iter()
            .position(|index| index.name == *name)
        {
            Some(place) => Ok(Self {
                table,
                index: Some(place),
            }),
            None => Err(QueryError::UnknownIndex(name.as_str().to_owned()).into()),
        }
    }

    /// Returns the index that is read, with its source.
    #[must_use]
    pub fn index_view(&self) -> Option<IndexView<'_>> {
        let found = self.table.indexes().nth(self.index?);
        debug_assert!(found.is_some(), "the position of an index of the table");
        let (index, source) = found?;
        Some(IndexView {
            table: &self.table.schema.key,
            index,
            source,
        })
    }

    /// Returns the index that is read.
    #[must_use]
    pub fn index(&self) -> Option<&IndexSchema> {
        self.index_view().map(|view| view.index)
    }

    /// True if an index of this kind is read.
    #[must_use]
    pub fn is_index(&self, kind: IndexKind) -> bool {
        self.index().is_some_and(|index| index.kind == kind)
    }

    /// Returns the names that the index does not project, if an index is read.
    #[must_use]
    pub fn not_projected<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
        let Some(index) = self.index() else {
            return Vec::new();
        };
        names
            .into_iter()
            .filter(|name| !index.projects(&self.table.schema.key, name))
            .collect()
    }

    /// Returns the source in the store.
    #[must_use]
    pub fn id(&self) -> SourceId {
        self.index_view()
            .map_or(self.table.source, |view| view.source)
    }

    /// Returns the key attributes for a query.
    #[must_use]
    pub fn key_schema(&self) -> KeySchemaView<'_> {
        KeySchemaView::for_index(&self.table.schema, self.index())
    }

    /// True if the condition gives a whole primary key. Entries of an index may share their keys;
    /// items do not.
    #[must_use]
    pub fn is_single_row(&self, condition: &KeyCondition) -> bool {
        let has_whole_key = self.table.schema.key.sort.is_none()
            || matches!(condition.range, Some(SortRange::Equal(_)));
        self.index.is_none() && has_whole_key
    }

    /// Returns the attributes of LastEvaluatedKey and ExclusiveStartKey.
    #[must_use]
    pub fn cursor_attributes(&self) -> Vec<&KeyAttribute> {
        self.table.schema.cursor_attributes(self.index())
    }

    /// Returns the LastEvaluatedKey of a record of this source.
    pub fn cursor(&self, record: &Record<'_>) -> Result<Item, StoreError> {
        let mut cursor = Item::default();
        for attribute in self.cursor_attributes() {
            let value = key_value(record, attribute)?;
            cursor.0.insert(attribute.name.clone(), value);
        }
        Ok(cursor)
    }

    /// Returns the address of a cursor; `None` unless it has every key attribute.
    #[must_use]
    pub fn address(&self, cursor: &Item) -> Option<EntryAddress> {
        let base = cursor.key(&self.table.schema.key)?;
        let Some(view) = self.index_view() else {
            return Some(EntryAddress::of_item(self.table.source, &base));
        };
        Some(view.address(
            &values_of(&view.index.partition, cursor)?,
            &values_of(view.index.order(), cursor)?,
            &base,
        ))
    }

    /// Returns an entry's record as a reader of the index sees it: a vector is a list of numbers,
    /// after the keys. `text` holds it then.
    pub fn shown<'r>(
        &self,
        record: Record<'r>,
        text: &'r mut Vec<u8>,
    ) -> Result<Record<'r>, StoreError> {
        let Some((index, vector)) = self
            .index()
            .and_then(|index| Some((index, index.vector.as_ref()?)))
        else {
            return Ok(record);
        };
        let mut item = record.to_item()?;
        vector::decode_in(&mut item, &vector.name);
        let names = leading_names(&self.table.schema.key, index).into_iter();
        let keys: Vec<&str> = names.skip(1).collect();
        *text = record::encode(&item, &keys, record.version(), record.modified_ms());
        Record::parse(text)
    }

    /// Returns the address of the base item of a record of this source.
    pub fn base_address(&self, record: &Record<'_>) -> Result<EntryAddress, StoreError> {
        let key = &self.table.schema.key;
        let partition = key_value(record, &key.partition)?;
        let sort = key
            .sort
            .as_ref()
            .map(|attribute| key_value(record, attribute))
            .transpose()?;
        Ok(EntryAddress::of_item(
            self.table.source,
            &crate::model::Key { partition, sort },
        ))
    }

    /// Returns the consumed units: those of the source in its own member, and those of fetched base
    /// items in the table's.
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
                    IndexKind::Vector => &mut consumed.vector_indexes,
                };
                arm.insert(index.name.as_str().to_owned(), units);
            }
        }
        consumed
    }
}

/// Returns the value of a key attribute in a stored record.
fn key_value(record: &Record<'_>, attribute: &KeyAttribute) -> Result<AttributeValue, StoreError> {
    let value = record
        .attribute(&attribute.name)?
        .ok_or(StoreError::Corrupt("a record lacks a key attribute"))?;
    if value.attribute_type() == attribute.attribute_type.as_attribute_type() {
        Ok(value)
    } else {
        Err(StoreError::Corrupt("a key attribute of another type"))
    }
}

// ExclusiveStartKey (docs/dynamodb.md 13.7): checked, then converted to the place after which a
// page begins.

/// Runs the check that needs no table. `fault` is the error found in the values when they were
/// parsed.
///
/// # Errors
/// Fails with `StartKeyValue` for an invalid value.
pub fn check_start_values(
    start: Option<&Item>,
    fault: Option<&ValueError>,
) -> Result<(), QueryError> {
    if let Some(fault) = fault {
        return Err(QueryError::StartKeyValue(fault.clone()));
    }
    let mut values = start.into_iter().flat_map(|item| item.0.values());
    values
        .try_for_each(AttributeValue::check_nesting)
        .map_err(QueryError::StartKeyValue)
}

fn check_not_empty(item: &Item, name: &str) -> Result<(), QueryError> {
    let fault = match item.get(name) {
        Some(AttributeValue::S(text)) if text.is_empty() => KeyError::EmptyString(name.to_owned()),
        Some(AttributeValue::B(bytes)) if bytes.is_empty() => {
            KeyError::EmptyBinary(name.to_owned())
        }
        _ => return Ok(()),
    };
    Err(QueryError::StartKeyEmpty(fault))
}

/// A start key with exactly the attributes and types of its source's cursor. Its place is checked
/// later.
#[derive(Debug, Clone, Copy)]
pub struct CheckedStartKey<'r> {
    item: &'r Item,
}

impl<'r> CheckedStartKey<'r> {
    /// Checks attributes and types against the source: count first, then index keys, then table
    /// keys.
    ///
    /// # Errors
    /// Fails with `StartKey` or `StartKeySchema`, by the first check that fails.
    pub fn new(source: &ReadSource, item: &'r Item, is_scan: bool) -> Result<Self, QueryError> {
        let attributes = source.cursor_attributes();
        let misshapen = || match source.index() {
            None if is_scan => QueryError::StartKeySchema,
            _ => QueryError::StartKey,
        };
        if item.0.len() != attributes.len()
            || attributes
                .iter()
                .any(|attribute| item.get(&attribute.name).is_none())
        {
            return Err(misshapen());
        }
        let mut index = source.index().into_iter().flat_map(IndexSchema::attributes);
        if !index.all(|attribute| has_type(item, attribute)) {
            return Err(QueryError::StartKey);
        }
        if !source
            .table
            .schema
            .key
            .attributes()
            .all(|attribute| has_type(item, attribute))
        {
            return Err(QueryError::StartKeySchema);
        }
        source
            .cursor_attributes()
            .iter()
            .try_for_each(|attribute| check_not_empty(item, &attribute.name))?;
        Ok(Self { item })
    }

    /// Checks the key against the bounds of a query and returns its address.
    ///
    /// # Errors
    /// Fails with `StartKeyOutside`, `StartKeyPredicate` or `StartKeyOneRow`, as the service does.
    pub fn for_query(
        self,
        source: &ReadSource,
        condition: &KeyCondition,
    ) -> Result<EntryAddress, QueryError> {
        let schema = source.key_schema();
        let is_inside =
            values(self.item, schema.partition) == condition.partition.iter().collect::<Vec<_>>();
        let is_one_row = source.is_single_row(condition);
        match &condition.range {
            None if !is_inside => return Err(QueryError::StartKeyOutside),
            None if is_one_row => return Err(QueryError::StartKeyOneRow),
            None => {}
            Some(range) => {
                let sort = values(self.item, schema.sort);
                let earlier: Vec<&AttributeValue> = condition.sort.iter().collect();
                let (first, rest) = sort.split_at(earlier.len().min(sort.len()));
                if first != earlier || !rest.first().is_some_and(|value| range.contains(value)) {
                    return Err(QueryError::StartKeyPredicate);
                }
                if !is_inside || is_one_row {
                    return Err(QueryError::StartKeyOneRow);
                }
            }
        }
        source.address(self.item).ok_or(QueryError::StartKey)
    }

    /// Checks the key against the segment of a scan and returns its address.
    ///
    /// # Errors
    /// Fails with `StartKeySegment` if the key is outside of the segment.
    pub fn for_scan(
        self,
        source: &ReadSource,
        segment: Option<Segment>,
    ) -> Result<EntryAddress, QueryError> {
        if let Some(segment) = segment {
            let digest = partition_digest(&values(self.item, source.key_schema().partition));
            if !walks::segment_contains(segment, &digest) {
                return Err(QueryError::StartKeySegment {
                    total: segment.total,
                    segment: segment.index,
                });
            }
        }
        source.address(self.item).ok_or(QueryError::StartKey)
    }
}

fn has_type(item: &Item, attribute: &KeyAttribute) -> bool {
    let expected = attribute.attribute_type.as_attribute_type();
    item.get(&attribute.name)
        .is_some_and(|value| value.attribute_type() == expected)
}

fn values<'i>(item: &'i Item, attributes: &[KeyAttribute]) -> Vec<&'i AttributeValue> {
    attributes
        .iter()
        .filter_map(|attribute| item.get(&attribute.name))
        .collect()
}

// Key conditions as ranges of stored keys.

/// Returns exactly the range of entries that satisfy a key condition.
#[must_use]
pub fn range_of_condition(source: &ReadSource, condition: &KeyCondition) -> KeyRange {
    let partition: Vec<&AttributeValue> = condition.partition.iter().collect();
    let mut prefix = Space::Entry.key(source.id(), &partition_digest(&partition));
    for value in &condition.sort {
        encode(value, &mut prefix);
    }
    // A prefix that no key can have selects everything that begins with the other conditions.
    let interval = condition
        .range
        .as_ref()
        .and_then(|range| Interval::from_predicate(range.predicate(), &range.values()));
    range_within(&prefix, &interval.unwrap_or_default())
}

/// Returns the range of the entries of a collection with encoded sort keys within bounds.
#[must_use]
pub fn range_of_interval(source: &ReadSource, digest: &Digest, interval: &Interval) -> KeyRange {
    range_within(&Space::Entry.key(source.id(), digest), interval)
}

/// Returns the range of the keys that begin with `prefix` and continue within bounds.
fn range_within(prefix: &[u8], interval: &Interval) -> KeyRange {
    let with = |bytes: &[u8]| [prefix, bytes].concat();
    let upper = match &interval.upper {
        Some(upper) => Bound::Excluded(with(upper)),
        None => KeyRange::prefix(prefix).upper,
    };
    KeyRange {
        lower: Bound::Included(with(&interval.lower)),
        upper,
    }
}

/// True if a key is within a range.
#[must_use]
pub fn range_contains(range: &KeyRange, key: &[u8]) -> bool {
    let from = match &range.lower {
        Bound::Included(lower) => key >= lower.as_slice(),
        Bound::Excluded(lower) => key > lower.as_slice(),
        Bound::Unbounded => true,
    };
    let to = match &range.upper {
        Bound::Included(upper) => key <= upper.as_slice(),
        Bound::Excluded(upper) => key < upper.as_slice(),
        Bound::Unbounded => true,
    };
    from && to
}

/// Returns the part of a range strictly after a key, in the direction of the walk.
#[must_use]
pub fn range_after(range: KeyRange, key: Vec<u8>, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => KeyRange {
            lower: Bound::Excluded(key),
            ..range
        },
        Direction::Reverse => KeyRange {
            upper: Bound::Excluded(key),
            ..range
        },
    }
}

/// Returns the part of a range strictly after a key, walking forward; the whole range if the key is
/// before it.
#[must_use]
pub fn range_after_if_inside(range: KeyRange, key: Vec<u8>) -> KeyRange {
    let is_before = match &range.lower {
        Bound::Included(lower) => key < *lower,
        Bound::Excluded(lower) => key <= *lower,
        Bound::Unbounded => false,
    };
    if is_before {
        range
    } else {
        range_after(range, key, Direction::Forward)
    }
}

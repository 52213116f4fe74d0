//! The learner of shapes: adds each stored record to the pattern tree (`tree`), with its size and
//! attributes, and counts the indexes that its item enters.

use super::shape::{ItemShape, Pattern};
use super::tree::{KeyText, PatternTree};
use crate::codec::record::{Record, StoredValue};
use crate::model::error::StoreError;
use crate::model::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::{AttributeType, AttributeValue, Key, KeySchema, TableSchema};

/// The maximum of attribute and member names kept, over all patterns.
const NAMES_MAX: usize = 50_000;

const NO_KEY: StoreError = StoreError::Corrupt("a record lacks a key attribute of its type");

/// A learner of the shapes of a table's items, one item after the other.
#[derive(Debug)]
pub struct Learner {
    key: KeySchema,
    indexes: IndexKeys,
    index_count: usize,
    tree: PatternTree,
    items: u64,
    names_left: usize,
}

impl Learner {
    pub fn new(schema: &TableSchema) -> Self {
        Self {
            key: schema.key.clone(),
            indexes: IndexKeys::new(schema),
            index_count: schema.indexes.len(),
            tree: PatternTree::default(),
            items: 0,
            names_left: NAMES_MAX,
        }
    }

    /// Returns the number of items learned.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Adds an item. Fails with `Corrupt` for a damaged record.
    pub fn add(&mut self, record: &Record<'_>) -> Result<(), StoreError> {
        let mut item = Vec::with_capacity(16);
        record.each_attribute(|name, value| item.push((name, value)))?;
        let text_of = |name: &str| -> Result<KeyText<'_>, StoreError> {
            let (_, value) = item
                .iter()
                .find(|(known, _)| *known == name)
                .ok_or(NO_KEY)?;
            key_text(value)
        };
        let sort = self
            .key
            .sort
            .as_ref()
            .map(|sort| text_of(&sort.name))
            .transpose()?;
        let key = [Some(text_of(&self.key.partition.name)?), sort];
        let paths = self.tree.paths();
        let shape = self.tree.shape(key, || {
            Ok::<_, StoreError>(ItemShape::new(
                self.index_count,
                example(record, &self.key)?,
            ))
        })?;
        shape.sizes.add(u64::from(record.item_bytes()));
        shape.attributes.add(&item, &mut self.names_left)?;
        self.indexes.count(&item, &mut shape.indexes);
        self.items += 1;
        if self.tree.paths() < paths {
            // Patterns were merged, and their names with them.
            self.names_left = NAMES_MAX.saturating_sub(self.tree.names_kept());
        }
        Ok(())
    }

    /// Returns the number of items learned and their patterns, the most common first.
    pub fn finish(self) -> (u64, Vec<Pattern>) {
        let patterns = self.tree.into_patterns().into_iter().map(|(keys, shape)| {
            debug_assert!(!keys.is_empty(), "a pattern has a partition key");
            let mut keys = keys.into_iter();
            Pattern {
                partition: keys.next().unwrap_or_default(),
                sort: keys.next(),
                shape,
            }
        });
        let mut patterns: Vec<Pattern> = patterns.collect();
        patterns.sort_by(|one, other| {
            let by_items = other.shape.sizes.count.cmp(&one.shape.sizes.count);
            by_items.then_with(|| (&one.partition, &one.sort).cmp(&(&other.partition, &other.sort)))
        });
        (self.items, patterns)
    }
}

fn key_text<'a>(value: &StoredValue<'a>) -> Result<KeyText<'a>, StoreError> {
    Ok(match value.kind {
        AttributeType::S => KeyText::Text(std::str::from_utf8(value.bytes).map_err(|_| NO_KEY)?),
        AttributeType::N => KeyText::Number,
        AttributeType::B => KeyText::Binary,
        _ => return Err(NO_KEY),
    })
}

fn example(record: &Record<'_>, key: &KeySchema) -> Result<Key, StoreError> {
    let value = |name: &str| -> Result<AttributeValue, StoreError> {
        record.attribute(name)?.ok_or(NO_KEY)
    };
    Ok(Key {
        partition: value(&key.partition.name)?,
        sort: key
            .sort
            .as_ref()
            .map(|sort| value(&sort.name))
            .transpose()?,
    })
}

/// A key attribute of an index.
#[derive(Debug)]
struct IndexKeyAttribute {
    name: String,
    kind: AttributeType,
    bytes_max: usize,
    /// The position of the index in the schema.
    index: usize,
}

/// The key attributes of a table's indexes.
#[derive(Debug)]
pub struct IndexKeys {
    keys: Vec<IndexKeyAttribute>,
    /// The number of key attributes of each index.
    required: Vec<usize>,
    /// The number of them in the item.
    present: Vec<usize>,
}

impl IndexKeys {
    pub fn new(schema: &TableSchema) -> Self {
        let mut keys = Vec::new();
        for (index, of) in schema.indexes.iter().enumerate() {
            let partition = of
                .partition
                .iter()
                .map(|attribute| (attribute, PARTITION_KEY_BYTES_MAX));
            let sort = of
                .sort
                .iter()
                .map(|attribute| (attribute, SORT_KEY_BYTES_MAX));
            keys.extend(
                partition
                    .chain(sort)
                    .map(|(attribute, bytes_max)| IndexKeyAttribute {
                        name: attribute.name.clone(),
                        kind: attribute.attribute_type.as_attribute_type(),
                        bytes_max,
                        index,
                    }),
            );
        }
        let required: Vec<usize> = schema
            .indexes
            .iter()
            .map(|index| index.attributes().count())
            .collect();
        Self {
            keys,
            present: vec![0; required.len()],
            required,
        }
    }

    /// Counts an item in each index that it enters: it has all key attributes, of their types,
    /// neither empty nor too long.
    pub fn count(&mut self, item: &[(&str, StoredValue<'_>)], counts: &mut [u64]) {
        self.present.fill(0);
        for (name, value) in item {
            let of_value = |key: &&IndexKeyAttribute| {
                key.name == *name && key.kind == value.kind && fits(value, key.bytes_max)
            };
            for key in self.keys.iter().filter(of_value) {
                self.present[key.index] += 1;
            }
        }
        for ((count, met), wanted) in counts.iter_mut().zip(&self.present).zip(&self.required) {
            *count += u64::from(met == wanted);
        }
    }
}

fn fits(value: &StoredValue<'_>, bytes_max: usize) -> bool {
    value.kind == AttributeType::N || (1..=bytes_max).contains(&value.bytes.len())
}

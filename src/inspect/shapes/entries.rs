//! Which indexes an item enters, seen by the attributes of its record.

use crate::codec::record::StoredValue;
use crate::model::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::{AttributeType, TableSchema};

/// A key attribute of an index.
#[derive(Debug)]
struct IndexKey {
    name: String,
    kind: AttributeType,
    bytes_max: usize,
    /// Place of the index in the schema.
    index: usize,
}

/// The key attributes of a table's indexes.
#[derive(Debug)]
pub struct IndexKeys {
    keys: Vec<IndexKey>,
    /// How many each index has.
    wanted: Vec<usize>,
    /// How many of them the item has.
    met: Vec<usize>,
}

impl IndexKeys {
    pub fn new(schema: &TableSchema) -> Self {
        let mut keys = Vec::new();
        for (index, of) in schema.indexes.iter().enumerate() {
            let partition = of.partition.iter().map(|attribute| (attribute, PARTITION_KEY_BYTES_MAX));
            let sort = of.sort.iter().map(|attribute| (attribute, SORT_KEY_BYTES_MAX));
            keys.extend(partition.chain(sort).map(|(attribute, bytes_max)| IndexKey {
                name: attribute.name.clone(),
                kind: attribute.attribute_type.as_attribute_type(),
                bytes_max,
                index,
            }));
        }
        let wanted: Vec<usize> = schema.indexes.iter().map(|index| index.attributes().count()).collect();
        Self { keys, met: vec![0; wanted.len()], wanted }
    }

    /// Counts an item in each index that it enters: it has all key attributes, of their types, neither empty nor too long.
    pub fn count(&mut self, item: &[(&str, StoredValue<'_>)], counts: &mut [u64]) {
        self.met.fill(0);
        for (name, value) in item {
            let of_value = |key: &&IndexKey| key.name == *name && key.kind == value.kind && fits(value, key.bytes_max);
            for key in self.keys.iter().filter(of_value) {
                self.met[key.index] += 1;
            }
        }
        for ((count, met), wanted) in counts.iter_mut().zip(&self.met).zip(&self.wanted) {
            *count += u64::from(met == wanted);
        }
    }
}

fn fits(value: &StoredValue<'_>, bytes_max: usize) -> bool {
    value.kind == AttributeType::N || (1..=bytes_max).contains(&value.bytes.len())
}

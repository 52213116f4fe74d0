//! The version of an item that its service does not number: a digest of what it is. And what is asked of an item that is to be written only
//! if it is still of a version: that each attribute is what was read.

use crate::codec::digest::digest;
use crate::codec::record::Record;
use crate::database::prelude::*;
use crate::expr::condition::{Condition, Operand};
use crate::expr::order::Comparator;
use crate::model::api::Version;
use crate::model::{DocumentPath, KeySchema};

/// Attributes that a condition compares: of the 300 operators of an expression each takes two, and others need some.
pub const COMPARED_MAX: usize = 100;

/// The version of what a record holds: equal exactly where items are, as good as certainly, and never 0.
#[must_use]
pub fn version_of(record: &[u8]) -> Version {
    let content = Record::parse(record).map_or(record, |record| record.content());
    let [a, b, c, d, e, f, g, h, ..] = digest(content);
    u64::from_be_bytes([a, b, c, d, e, f, g, h]).max(1)
}

/// There is no item.
#[must_use]
pub fn is_absent(key: &KeySchema) -> Condition {
    Condition::AttributeNotExists(DocumentPath::top_level(&key.partition.name))
}

/// The item has these attributes, its keys among them, as far as a condition has room. One that it has got beside them is not seen: no
/// condition can ask for what it cannot name.
#[must_use]
pub fn is_unchanged(item: &Item, key: &KeySchema) -> Condition {
    let of_key = item.0.iter().filter(|(name, _)| key.contains(name));
    let others = item.0.iter().filter(|(name, _)| !key.contains(name));
    let equal = of_key.chain(others).take(COMPARED_MAX).map(|(name, value)| Condition::Compare {
        left: Operand::Path(DocumentPath::top_level(name)),
        comparator: Comparator::Equal,
        right: Operand::Value(value.clone()),
    });
    Condition::And(equal.collect())
}

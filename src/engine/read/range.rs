//! Key conditions as ranges of stored keys.

use std::ops::Bound;

use super::source::ReadSource;
use crate::codec::digest::Digest;
use crate::codec::key::{encode, encode_prefix, partition_digest};
use crate::engine::base::keys::collection_prefix;
use crate::expr::partiql::plan::Interval;
use crate::expr::{KeyCondition, SortRange};
use crate::model::AttributeValue;
use crate::store::{Direction, KeyRange, prefix_end};

/// The entries that meet a key condition, exactly.
#[must_use]
pub fn of_condition(source: &ReadSource, condition: &KeyCondition) -> KeyRange {
    let partition: Vec<&AttributeValue> = condition.partition.iter().collect();
    let mut prefix = collection_prefix(source.id(), &partition_digest(&partition));
    for value in &condition.sort {
        encode(value, &mut prefix);
    }
    let with = |value: &AttributeValue| {
        let mut key = prefix.clone();
        encode(value, &mut key);
        key
    };
    // Encodings are prefix-free: the entries with a sort key value are those that begin with its encoding.
    let below = |value| Bound::Excluded(with(value));
    let from = |value| Bound::Included(with(value));
    let through = |value| prefix_end(&with(value)).map_or(Bound::Unbounded, Bound::Excluded);
    let after = |value| prefix_end(&with(value)).map_or(Bound::Unbounded, Bound::Included);
    let whole = KeyRange::prefix(&prefix);
    match &condition.range {
        None => whole,
        Some(SortRange::Equal(value)) => KeyRange::prefix(&with(value)),
        Some(SortRange::Less(value)) => KeyRange { upper: below(value), ..whole },
        Some(SortRange::LessOrEqual(value)) => KeyRange { upper: through(value), ..whole },
        Some(SortRange::Greater(value)) => KeyRange { lower: after(value), ..whole },
        Some(SortRange::GreaterOrEqual(value)) => KeyRange { lower: from(value), ..whole },
        Some(SortRange::Between(lower, upper)) => KeyRange { lower: from(lower), upper: through(upper) },
        Some(SortRange::BeginsWith(start)) => {
            let encoded = encode_prefix(start).unwrap_or_default();
            KeyRange::prefix(&[prefix.as_slice(), &encoded].concat())
        }
    }
}

/// The entries of a collection whose sort keys are encoded within bounds.
#[must_use]
pub fn of_interval(source: &ReadSource, digest: &Digest, interval: &Interval) -> KeyRange {
    let prefix = collection_prefix(source.id(), digest);
    let with = |bytes: &[u8]| [prefix.as_slice(), bytes].concat();
    let upper = match &interval.upper {
        Some(upper) => Bound::Excluded(with(upper)),
        None => KeyRange::prefix(&prefix).upper,
    };
    KeyRange { lower: Bound::Included(with(&interval.lower)), upper }
}

/// Is a key within a range?
#[must_use]
pub fn contains(range: &KeyRange, key: &[u8]) -> bool {
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

/// The part of a range strictly after a key, in the direction of the walk.
#[must_use]
pub fn after(range: KeyRange, key: Vec<u8>, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => KeyRange { lower: Bound::Excluded(key), ..range },
        Direction::Reverse => KeyRange { upper: Bound::Excluded(key), ..range },
    }
}

/// The part of a range strictly after a key, walking forward; the key may lie before the range, which is then whole.
#[must_use]
pub fn after_if_inside(range: KeyRange, key: Vec<u8>) -> KeyRange {
    let is_before = match &range.lower {
        Bound::Included(lower) => key < *lower,
        Bound::Excluded(lower) => key <= *lower,
        Bound::Unbounded => false,
    };
    if is_before { range } else { after(range, key, Direction::Forward) }
}

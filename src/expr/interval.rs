//! Intervals of sort keys: a `predicate` on the sort key as a half-open range of bytes of the
//! ordered key encoding (`codec::key`), so that all predicates are one kind of interval. Range
//! reads and the plans of PartiQL use them.

use super::order::Comparator;
use super::predicate::Predicate;
use crate::codec::key::{encode, encode_prefix, prefix_end};
use crate::model::AttributeValue;

/// Encoded sort keys from `lower`, before `upper`; `None` is no bound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interval {
    pub lower: Vec<u8>,
    pub upper: Option<Vec<u8>>,
    /// True if it holds exactly one value of the sort key attribute.
    pub is_single_value: bool,
}

impl Interval {
    /// Returns the sort keys that a predicate admits with the values beside it; `None` for a
    /// predicate that is no interval, and for a prefix of which no key is made.
    #[must_use]
    pub fn from_predicate(predicate: Predicate, values: &[&AttributeValue]) -> Option<Self> {
        let interval = |lower, upper| {
            Some(Self {
                lower,
                upper,
                is_single_value: predicate == Predicate::Compare(Comparator::Equal),
            })
        };
        match (predicate, values) {
            (Predicate::Compare(comparator), [value]) => {
                let value = encoded(value);
                // Encodings are prefix-free: the keys with a value are those that begin with its
                // encoding.
                match comparator {
                    Comparator::Equal => interval(value.clone(), prefix_end(&value)),
                    Comparator::Less => interval(Vec::new(), Some(value)),
                    Comparator::LessOrEqual => interval(Vec::new(), prefix_end(&value)),
                    Comparator::Greater => interval(prefix_end(&value)?, None),
                    Comparator::GreaterOrEqual => interval(value, None),
                    Comparator::NotEqual => None,
                }
            }
            (Predicate::Between, [lower, upper]) => {
                interval(encoded(lower), prefix_end(&encoded(upper)))
            }
            (Predicate::BeginsWith, [prefix]) => {
                let lower = encode_prefix(prefix)?;
                let upper = prefix_end(&lower);
                interval(lower, upper)
            }
            _ => None,
        }
    }

    /// Returns the intersection of both; `None` if it is empty.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let lower = self.lower.clone().max(other.lower.clone());
        let upper = match (&self.upper, &other.upper) {
            (Some(one), Some(other)) => Some(one.min(other).clone()),
            (Some(upper), None) | (None, Some(upper)) => Some(upper.clone()),
            (None, None) => None,
        };
        // Bounds lie between values, so that an intersection cannot contain a part of a value: it
        // contains the one value, or is empty.
        let is_single_value = self.is_single_value || other.is_single_value;
        upper
            .as_ref()
            .is_none_or(|upper| lower < *upper)
            .then_some(Self {
                lower,
                upper,
                is_single_value,
            })
    }
}

fn encoded(value: &AttributeValue) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

//! The query planner of SELECT: which ranges of keys a statement reads. It reads the parts of
//! collections that its WHERE clause names, or everything (docs/dynamodb.md 19.3).
//! `engine::statements` carries the plan out; `expr::interval` has the ranges.
//!
//! A condition is taken apart into *branches*: each gives values to partition key attributes and
//! bounds to the first sort key attribute. AND intersects, OR and IN add branches. If every branch
//! has the whole partition key, each becomes one read of a range; otherwise the source is scanned.
//! Conditions that the ranges express exactly need not be evaluated again.

use std::collections::BTreeSet;

use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::expr::KeySchemaView;
use crate::expr::condition::{Condition, Operand, join};
use crate::expr::interval::Interval;
use crate::expr::key_condition::check_value;
use crate::expr::order::Comparator;
use crate::expr::predicate::Predicate;
use crate::model::error::{KeyError, StatementError};
use crate::model::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::{AttributeValue, Error, KeyAttribute};

/// The most reads of one statement (developer guide: 50 values of IN on a partition key).
const READS_MAX: usize = 50;

/// The most branches at a time: a bound on the work, as OR under AND multiplies them.
const BRANCHES_MAX: usize = 4096;

/// One read: part of one collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedRead {
    /// One value for each partition key attribute.
    pub partition: Vec<AttributeValue>,
    pub digest: Digest,
    pub interval: Interval,
    /// The further attributes in the conditions of each of its branches.
    pub names: Vec<BTreeSet<String>>,
    /// True if a branch of it has a negated condition on the sort key.
    is_negated: bool,
}

/// A SELECT by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedPlan {
    /// Reads in hash order, then by sort key; no two overlap.
    pub reads: Vec<KeyedRead>,
    /// The conditions that the ranges do not express.
    pub residual: Option<Condition>,
}

#[derive(Debug, Clone)]
struct Branch {
    partition: Vec<Option<AttributeValue>>,
    interval: Interval,
    names: BTreeSet<String>,
    is_negated: bool,
}

/// Plans the read of a source with this key schema; `None` is a scan.
///
/// # Errors
/// `Statement` for too many reads, overlapping ones, key values of another type; `Key` for values
/// that no key has.
pub fn plan(
    condition: Option<&Condition>,
    schema: KeySchemaView<'_>,
) -> Result<Option<KeyedPlan>, Error> {
    let Some(condition) = condition else {
        return Ok(None);
    };
    let planner = Planner { schema };
    // Conditions of a scan may compare a key with a value of any type; only reads by key refuse
    // them.
    if !planner.names_partition(condition) {
        return Ok(None);
    }
    let Some(branches) = planner.branches(condition)? else {
        return Ok(None);
    };
    let Some(mut reads) = branches.into_iter().map(keyed).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    reads.sort_by(|one, other| {
        (&one.digest, &one.interval.lower).cmp(&(&other.digest, &other.interval.lower))
    });
    let plain: Vec<&KeyedRead> = reads.iter().filter(|read| !read.is_negated).collect();
    if plain
        .windows(2)
        .any(|pair| matches!(pair, [one, next] if overlap(one, next)))
    {
        return Err(StatementError::Overlapping.into());
    }
    // Counted as the statement names them, before overlapping ones are united.
    if reads.len() > READS_MAX {
        return Err(StatementError::TooManyReads.into());
    }
    Ok(Some(KeyedPlan {
        reads: merge_overlapping(reads),
        residual: planner.residual(condition),
    }))
}

/// Merges reads that overlap; `reads` are in key order. The condition selects the part of each
/// branch.
fn merge_overlapping(reads: Vec<KeyedRead>) -> Vec<KeyedRead> {
    let mut united: Vec<KeyedRead> = Vec::with_capacity(reads.len());
    for read in reads {
        match united.last_mut().filter(|last| overlap(last, &read)) {
            Some(last) => last.merge(read),
            None => united.push(read),
        }
    }
    united
}

impl KeyedRead {
    /// Extends the read to the end of another one that begins within it.
    fn merge(&mut self, other: Self) {
        let upper = match (self.interval.upper.take(), other.interval.upper) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (None, _) | (_, None) => None,
        };
        self.interval.is_single_value &= other.interval.is_single_value;
        self.interval.upper = upper;
        self.names.extend(other.names);
        self.is_negated |= other.is_negated;
    }
}

fn keyed(branch: Branch) -> Option<KeyedRead> {
    let partition = branch.partition.into_iter().collect::<Option<Vec<_>>>()?;
    let digest = partition_digest(&partition);
    Some(KeyedRead {
        partition,
        digest,
        interval: branch.interval,
        names: vec![branch.names],
        is_negated: branch.is_negated,
    })
}

fn overlap(first: &KeyedRead, next: &KeyedRead) -> bool {
    first.digest == next.digest
        && first
            .interval
            .upper
            .as_ref()
            .is_none_or(|upper| next.interval.lower < *upper)
}

/// A condition on one key attribute.
enum KeyTest<'c> {
    Partition {
        place: usize,
        values: Vec<&'c AttributeValue>,
    },
    Sort(Vec<Interval>),
}

struct Planner<'s> {
    schema: KeySchemaView<'s>,
}

impl Planner<'_> {
    /// True if any partition key attribute is compared for equality.
    fn names_partition(&self, condition: &Condition) -> bool {
        match condition {
            Condition::And(list) | Condition::Or(list) => {
                list.iter().any(|part| self.names_partition(part))
            }
            Condition::Test(Predicate::In, operands) => {
                matches!(operands.first(), Some(Operand::Path(path)) if path.rest.is_empty() && self.partition_place(&path.head).is_some())
            }
            other => other
                .as_equality()
                .is_some_and(|(name, _)| self.partition_place(name).is_some()),
        }
    }

    fn partition_place(&self, name: &str) -> Option<usize> {
        let mut attributes = self.schema.partition.iter();
        attributes.position(|attribute| attribute.name == name)
    }

    /// Returns the test of a key attribute that is equivalent to the condition, if there is one.
    fn key_test<'c>(&self, condition: &'c Condition) -> Result<Option<KeyTest<'c>>, Error> {
        let Some((name, predicate, values)) = condition.as_attribute_test() else {
            return Ok(None);
        };
        if matches!(
            predicate,
            Predicate::Compare(Comparator::Equal) | Predicate::In
        ) {
            return self.values(name, values);
        }
        let is_of_type = |attribute: &&KeyAttribute| {
            let expected = attribute.attribute_type.as_attribute_type();
            values
                .iter()
                .all(|value| value.attribute_type() == expected)
        };
        let sort = self.sort(name).filter(is_of_type);
        let interval = sort.and_then(|_| Interval::from_predicate(predicate, &values));
        Ok(interval.map(|one| KeyTest::Sort(vec![one])))
    }

    /// Returns the first sort key attribute if this is its name.
    fn sort(&self, name: &str) -> Option<&KeyAttribute> {
        let first = self.schema.sort.first();
        first.filter(|attribute| attribute.name == name)
    }

    /// Returns the test that an attribute is one of some values.
    fn values<'c>(
        &self,
        name: &str,
        values: Vec<&'c AttributeValue>,
    ) -> Result<Option<KeyTest<'c>>, Error> {
        if let Some(place) = self.partition_place(name) {
            let attribute = &self.schema.partition[place];
            values.iter().try_for_each(|value| {
                check(
                    attribute,
                    value,
                    PARTITION_KEY_BYTES_MAX,
                    KeyError::PartitionTooLarge,
                )
            })?;
            return Ok(Some(KeyTest::Partition { place, values }));
        }
        let Some(attribute) = self.sort(name) else {
            return Ok(None);
        };
        values.iter().try_for_each(|value| {
            check(attribute, value, SORT_KEY_BYTES_MAX, KeyError::SortTooLarge)
        })?;
        let equal = Predicate::Compare(Comparator::Equal);
        let intervals: Vec<Interval> = values
            .iter()
            .filter_map(|value| Interval::from_predicate(equal, &[value]))
            .collect();
        debug_assert_eq!(
            intervals.len(),
            values.len(),
            "a value without its interval would not be read"
        );
        Ok(Some(KeyTest::Sort(intervals)))
    }

    /// True if the condition excludes values of the sort key. Such branches may overlap others.
    fn is_negated_sort(&self, condition: &Condition) -> bool {
        let is_negated = match condition {
            Condition::Not(_) => true,
            Condition::Test(predicate, _) => *predicate == Predicate::Compare(Comparator::NotEqual),
            _ => false,
        };
        let Some(sort) = self.schema.sort.first().filter(|_| is_negated) else {
            return false;
        };
        condition
            .attribute_names()
            .into_iter()
            .eq([sort.name.as_str()])
    }

    /// True if key ranges can be made of a part of the condition.
    fn is_about_keys(&self, condition: &Condition) -> Result<bool, Error> {
        match condition {
            Condition::And(list) | Condition::Or(list) => list
                .iter()
                .try_fold(false, |is_it, part| Ok(is_it || self.is_about_keys(part)?)),
            other => Ok(self.key_test(other)?.is_some()),
        }
    }

    /// Returns the branches; `None` if one has two values of the same partition key attribute,
    /// which only a scan answers.
    fn branches(&self, condition: &Condition) -> Result<Option<Vec<Branch>>, Error> {
        let whole = || Branch {
            partition: vec![None; self.schema.partition.len()],
            interval: Interval::default(),
            names: BTreeSet::new(),
            is_negated: false,
        };
        match condition {
            Condition::And(list) => {
                let mut branches = vec![whole()];
                for part in list {
                    let Some(more) = self.branches(part)? else {
                        return Ok(None);
                    };
                    let Some(product) = product(&branches, &more)? else {
                        return Ok(None);
                    };
                    branches = product;
                }
                Ok(Some(branches))
            }
            // An OR without key conditions is a condition like any other: its branches would read
            // the same ranges twice.
            Condition::Or(list) if self.is_about_keys(condition)? => {
                let mut branches = Vec::new();
                for part in list {
                    let Some(more) = self.branches(part)? else {
                        return Ok(None);
                    };
                    branches.extend(more);
                }
                Ok(Some(branches))
            }
            other => Ok(Some(match self.key_test(other)? {
                Some(KeyTest::Partition { place, values }) => {
                    let with = |value: &AttributeValue| {
                        let mut branch = whole();
                        branch.partition[place] = Some(value.clone());
                        branch
                    };
                    values.into_iter().map(with).collect()
                }
                Some(KeyTest::Sort(intervals)) => intervals
                    .into_iter()
                    .map(|interval| Branch {
                        interval,
                        ..whole()
                    })
                    .collect(),
                None => {
                    let names = other
                        .attribute_names()
                        .into_iter()
                        .map(str::to_owned)
                        .collect();
                    vec![Branch {
                        names,
                        is_negated: self.is_negated_sort(other),
                        ..whole()
                    }]
                }
            })),
        }
    }

    /// Returns the condition to evaluate on the items of the ranges: the parts that the ranges do
    /// not express.
    fn residual(&self, condition: &Condition) -> Option<Condition> {
        match condition {
            Condition::And(list) => join(
                list.iter().filter_map(|part| self.residual(part)).collect(),
                Condition::And,
            ),
            Condition::Or(list) if list.iter().all(|part| self.residual(part).is_none()) => None,
            other => match self.key_test(other) {
                Ok(Some(_)) => None,
                _ => Some(other.clone()),
            },
        }
    }
}

/// Combines each of the ones with each of the others. Combinations with no common range are left
/// out; one of them always stays.
fn product(ones: &[Branch], others: &[Branch]) -> Result<Option<Vec<Branch>>, Error> {
    if ones.len().saturating_mul(others.len()) > BRANCHES_MAX {
        return Err(StatementError::TooManyReads.into());
    }
    let mut product = Vec::with_capacity(ones.len() * others.len());
    let mut empty = None;
    for (one, other) in ones
        .iter()
        .flat_map(|one| others.iter().map(move |other| (one, other)))
    {
        let mut partition = Vec::with_capacity(one.partition.len());
        for pair in one.partition.iter().zip(&other.partition) {
            partition.push(match pair {
                (Some(one), Some(other)) if one != other => return Ok(None),
                (Some(value), _) | (None, Some(value)) => Some(value.clone()),
                (None, None) => None,
            });
        }
        let names = one.names.union(&other.names).cloned().collect();
        let is_negated = one.is_negated || other.is_negated;
        match one.interval.intersection(&other.interval) {
            Some(interval) => product.push(Branch {
                partition,
                interval,
                names,
                is_negated,
            }),
            None => {
                let (lower, upper) = (one.interval.lower.clone(), Some(one.interval.lower.clone()));
                let nothing = Interval {
                    lower,
                    upper,
                    is_single_value: false,
                };
                empty = empty.or(Some(Branch {
                    partition,
                    interval: nothing,
                    names,
                    is_negated,
                }));
            }
        }
    }
    if product.is_empty() {
        product.extend(empty);
    }
    Ok(Some(product))
}

fn check(
    attribute: &KeyAttribute,
    value: &AttributeValue,
    bytes_max: usize,
    too_large: KeyError,
) -> Result<(), Error> {
    if value.attribute_type() != attribute.attribute_type.as_attribute_type() {
        return Err(StatementError::KeyType(attribute.name.clone()).into());
    }
    check_value(attribute, value)?;
    if value.size() > bytes_max {
        Err(too_large.into())
    } else {
        Ok(())
    }
}

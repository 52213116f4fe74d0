//! What the clauses of a path say together.

use super::filter::Filter;
use super::token::Token;

use crate::codec::digest::Digest;
use crate::expr::SortRange;
use crate::fs::prelude::*;
use crate::model::api::Segment;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CONSISTENT: &str = "consistent";
pub(super) const DESC: &str = "desc";
pub(super) const TYPED: &str = "typed";

/// What the clauses of a path say, each part at most once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Clauses {
    pub partition: Partition,
    /// By position in the sort key.
    pub sort: BTreeMap<usize, SortRange>,
    /// Those without a value, by their words.
    words: BTreeSet<&'static str>,
    pub select: Option<Vec<DocumentPath>>,
    /// Items to return at most.
    pub limit: Option<u64>,
    /// Items to evaluate at most.
    pub eval: Option<u64>,
    pub after: Option<Token>,
    pub segment: Option<Segment>,
    /// All of them must hold.
    pub filters: Vec<Arc<Filter>>,
}

/// What is known of the partition key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Partition {
    /// By position.
    Values(BTreeMap<usize, AttributeValue>),
    Alias(PartitionAlias),
    /// One value for each shard of a write-sharded key of one attribute, in the order of their numbers.
    Shards(Arc<[AttributeValue]>),
}

impl Default for Partition {
    fn default() -> Self {
        Self::Values(BTreeMap::new())
    }
}

/// A partition key whose name was too long for a file name; resolved when the query runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionAlias {
    /// As typed, `<prefix>%~<digest>`.
    pub name: String,
    pub digest: Digest,
}

impl Partition {
    /// False if one of the values was known.
    pub fn add(&mut self, values: impl IntoIterator<Item = (usize, AttributeValue)>) -> bool {
        match self {
            Self::Alias(_) | Self::Shards(_) => false,
            Self::Values(known) => values.into_iter().all(|(position, value)| known.insert(position, value).is_none()),
        }
    }

    /// False if something was known.
    pub fn set(&mut self, partition: Self) -> bool {
        let is_first = *self == Self::default();
        if is_first {
            *self = partition;
        }
        is_first
    }
}

impl Clauses {
    /// Is there that clause without a value?
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Adds a clause without a value; false if it was there.
    pub fn add_word(&mut self, word: &'static str) -> bool {
        self.words.insert(word)
    }

    pub fn add_filter(&mut self, filter: Filter) -> bool {
        self.filters.push(Arc::new(filter));
        true
    }

    pub fn is_descending(&self) -> bool {
        self.has(DESC)
    }
}

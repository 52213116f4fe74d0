//! Clauses together: none twice, none against another, and whether they make a complete query.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::clause::{Clause, Order, PartitionAlias};
use super::fault::ClauseFault;
use super::filter::Filter;
use super::source::{Context, QueryKind};
use super::token::Token;
use crate::expr::SortRange;
use crate::model::api::Segment;
use crate::model::schema::KeyAttribute;
use crate::model::{AttributeValue, DocumentPath};

/// What the clauses of a path say, each part at most once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Clauses {
    pub partition: Partition,
    /// By position in the sort key.
    pub sort: BTreeMap<usize, SortRange>,
    pub select: Option<Vec<DocumentPath>>,
    pub order: Option<Order>,
    pub limit: Option<u64>,
    pub eval: Option<u64>,
    pub after: Option<Token>,
    pub consistent: bool,
    pub typed: bool,
    pub segment: Option<Segment>,
    /// All of them must hold.
    pub filters: Vec<Arc<Filter>>,
    /// Items whose time to live is over are hidden.
    pub live: bool,
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

impl Clauses {
    /// These clauses and one more. `name` is the clause as typed, for the message.
    pub fn with(&self, clause: Clause, name: &str, context: Context<'_>) -> Result<Self, ClauseFault> {
        let mut all = self.clone();
        let repeated = || ClauseFault::Repeated(name.split('=').next().unwrap_or(name).to_owned());
        let fresh = match clause {
            Clause::Partition(values) => all.add_partition(values),
            Clause::PartitionAlias(alias) => all.set_partition(Partition::Alias(alias)),
            Clause::Shards(values) => all.set_partition(Partition::Shards(values.into())),
            Clause::Filter(filter) => {
                all.filters.push(Arc::new(filter));
                true
            }
            Clause::Live => !std::mem::replace(&mut all.live, true),
            Clause::Sort { position, condition } => {
                if all.sort.insert(position, condition).is_some() {
                    return Err(ClauseFault::SecondCondition { attribute: attribute_name(context.keys().sort, position) });
                }
                true
            }
            Clause::Order(order) => match all.order.replace(order) {
                Some(before) if before != order => return Err(ClauseFault::Contradiction { one: "asc", other: "desc" }),
                before => before.is_none(),
            },
            Clause::Select(paths) => all.select.replace(paths).is_none(),
            Clause::Limit(count) => all.limit.replace(count).is_none(),
            Clause::Eval(count) => all.eval.replace(count).is_none(),
            Clause::After(token) => all.after.replace(token).is_none(),
            Clause::Segment(segment) => all.segment.replace(segment).is_none(),
            Clause::Consistent => !std::mem::replace(&mut all.consistent, true),
            Clause::Typed => !std::mem::replace(&mut all.typed, true),
        };
        if matches!(all.partition, Partition::Shards(_)) && all.after.is_some() {
            return Err(ClauseFault::SeveralRequests("after="));
        }
        if fresh { Ok(all) } else { Err(repeated()) }
    }

    /// Whether none of the values was known.
    fn add_partition(&mut self, values: Vec<(usize, AttributeValue)>) -> bool {
        match &mut self.partition {
            Partition::Alias(_) | Partition::Shards(_) => false,
            Partition::Values(known) => values.into_iter().all(|(position, value)| known.insert(position, value).is_none()),
        }
    }

    /// Whether nothing was known of the partition key.
    fn set_partition(&mut self, partition: Partition) -> bool {
        let is_fresh = matches!(&self.partition, Partition::Values(known) if known.is_empty());
        if is_fresh {
            self.partition = partition;
        }
        is_fresh
    }

    /// Checks that the clauses make a request: a query has its whole partition key, and conditions on a sort key of several
    /// attributes start at the first, all but the last being equalities.
    pub fn check_complete(&self, context: Context<'_>) -> Result<(), ClauseFault> {
        if context.kind == QueryKind::Scan {
            return Ok(());
        }
        let keys = context.keys();
        if let Partition::Values(known) = &self.partition {
            let missing = |position: &usize| !known.contains_key(position);
            if (0..keys.partition.len()).any(|position| missing(&position)) {
                return Err(incomplete(keys.partition, &missing));
            }
        }
        self.check_sort(keys.sort)
    }

    fn check_sort(&self, sort: &[KeyAttribute]) -> Result<(), ClauseFault> {
        let Some(&last) = self.sort.keys().next_back() else { return Ok(()) };
        let equal = |position: &usize| matches!(self.sort.get(position), Some(SortRange::Equal(_)));
        match (0..last).find(|position| !equal(position)) {
            None => Ok(()),
            Some(gap) => {
                let (given, missing) = (attribute_name(sort, last), attribute_name(sort, gap));
                Err(ClauseFault::SortGap { given, missing })
            }
        }
    }
}

fn attribute_name(attributes: &[KeyAttribute], position: usize) -> String {
    attributes.get(position).map_or_else(String::new, |attribute| attribute.name.clone())
}

fn incomplete(partition: &[KeyAttribute], missing: &dyn Fn(&usize) -> bool) -> ClauseFault {
    if let [one] = partition {
        return ClauseFault::Incomplete {
            needs: format!("@pk=…, the partition key {}", one.name),
            example: format!("{}=…/items.ndjson", one.name),
        };
    }
    let all = partition.iter().map(|attribute| format!("{}=…", attribute.name)).collect::<Vec<_>>();
    let lacking = partition.iter().enumerate().filter(|(position, _)| missing(position));
    let lacking = lacking.map(|(_, attribute)| attribute.name.as_str()).collect::<Vec<_>>();
    ClauseFault::Incomplete {
        needs: format!("all of its partition key; {} is missing", lacking.join(", ")),
        example: format!("{}/items.ndjson", all.join("/")),
    }
}

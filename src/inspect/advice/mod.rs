//! Advice on a table's design: what its data says about its keys and indexes, each point with its numbers and the rule it rests on
//! (docs/requirements.md S-08 and the rules named).
//!
//! ```text
//! facts.rs    what is read of the table: definition, counters, the largest collections, a sample of items
//! keys.rs     rules on partition keys: cardinality, dominant values, sequences
//! point.rs    one point of advice
//! indexes.rs  rules on indexes: write capacity, projection, sparse and empty ones, unbounded collections
//! report.rs   the advice as Markdown
//! ```
//! A rule is a function of the facts. It never changes anything, and reads a bounded part of a large table: it says how much.

pub mod facts;
mod indexes;
mod keys;
mod point;
mod report;

pub use facts::Facts;
pub use point::{Advice, Level};
pub use report::markdown;

type Rule = fn(&Facts) -> Vec<Advice>;

const RULES: [Rule; 9] = [
    keys::few_values,
    keys::dominant_value,
    keys::sequence,
    indexes::write_capacity,
    indexes::projection,
    indexes::empty_or_sparse,
    indexes::unbounded_collections,
    indexes::write_cost,
    keys::write_shards,
];

/// Every point that applies, the important ones first.
#[must_use]
pub fn advise(facts: &Facts) -> Vec<Advice> {
    let mut all: Vec<Advice> = RULES.iter().flat_map(|rule| rule(facts)).collect();
    all.sort_by_key(|advice| advice.level);
    all
}

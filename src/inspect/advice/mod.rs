//! Advice on a table's design, derived from its data and its recorded load, about its keys and
//! indexes. Each point has its numbers and its rule (docs/requirements.md S-08 and the rules
//! named).
//!
//! ```text
//! facts.rs       facts read from the table: definition, counters, distributions, a sample of items, growth, traffic
//! key_source.rs  the table and each global index with its partition key
//! load.rs        the load of one key value against the limits of a partition
//! keys.rs        rules on partition keys: values with a large share, times, sequences
//! indexes.rs     rules on indexes: write capacity, projection, empty ones, violations
//! sizes.rs       rules on the sizes of items, item collections that grow without end, and expiry
//! traffic.rs     rules on the load: hot keys, throttles, unused indexes, wasted reads, scans
//! vectors.rs     rules on vector indexes: unused ones, items and vectors that are not in them
//! expiry.rs      facts on time to live that is off
//! cost.rs        rules on billing: the provisioned units, the mode
//! values.rs      classification of key values
//! format.rs      one point of advice, its cost; numbers, values and paths in text
//! report.rs      the advice as Markdown, and the facts that are no advice
//! overview.rs    the advice on all tables, as Markdown and JSON; that on one index
//! what_if/       another key, index or billing mode, tried on items and load
//! ```
//! A rule is a function of the facts. It never changes anything. It reads a bounded part of a large
//! table, and says how much.

mod cost;
pub mod expiry;
pub mod facts;
mod format;
mod indexes;
mod key_source;
mod keys;
mod load;
pub mod overview;
mod report;
mod sizes;
mod traffic;
mod values;
mod vectors;
pub mod what_if;

pub use facts::TableFacts;
pub use format::{Advice, AdviceLevel, incomplete_note, subject};
pub use report::markdown;

type AdviceRule = fn(&TableFacts) -> Vec<Advice>;

const RULES: [AdviceRule; 21] = [
    keys::value_share,
    keys::times_as_keys,
    keys::sequence,
    traffic::throttles,
    traffic::hot_keys,
    indexes::violations,
    vectors::misfits,
    indexes::write_capacity,
    indexes::projection,
    indexes::empty,
    vectors::sparse,
    sizes::unbounded_collections,
    sizes::near_full,
    sizes::outliers,
    traffic::unused_indexes,
    traffic::waste,
    traffic::scans,
    cost::provisioned,
    cost::billing_mode,
    keys::write_shards,
    sizes::idle_expiry,
];

/// Returns every point that applies, by level, and within a level the costly ones first.
#[must_use]
pub fn advise(facts: &TableFacts) -> Vec<Advice> {
    let mut all: Vec<Advice> = RULES.iter().flat_map(|rule| rule(facts)).collect();
    all.sort_by(Advice::compare);
    all
}

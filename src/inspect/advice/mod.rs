//! Advice on a table's design: what its data says about its keys and indexes, each point with its numbers and the rule it rests on
//! (REQUIREMENTS S-08 and the rules named).
//!
//! ```text
//! facts.rs    what is read of the table: definition, counters, the largest collections, a sample of items
//! keys.rs     rules on partition keys: cardinality, dominant values, sequences
//! indexes.rs  rules on indexes: write capacity, projection, sparse and empty ones, unbounded collections
//! report.rs   the advice as Markdown
//! ```
//! A rule is a function of the facts. It never changes anything, and reads a bounded part of a large table: it says how much.

pub mod facts;
mod indexes;
mod keys;
mod report;

pub use facts::Facts;
pub use report::markdown;

/// How much a point matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It will throttle, fail or cost a multiple under load.
    Warning,
    /// Cheaper or safer another way.
    Hint,
    /// Good to know.
    Note,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    pub level: Level,
    /// `table Orders`, `index by-status`
    pub subject: String,
    /// One sentence with the numbers.
    pub finding: String,
    /// The rule, and where DynamoDB's documentation has it.
    pub rule: &'static str,
    /// What to do.
    pub remedy: String,
}

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

/// `1 item`, `2 items`, `2 indexes`.
fn plural(count: u64, word: &str) -> String {
    match (count, word.ends_with('x')) {
        (1, _) => format!("1 {word}"),
        (_, true) => format!("{count} {word}es"),
        (_, false) => format!("{count} {word}s"),
    }
}

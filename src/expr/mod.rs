//! The expression languages of the API, a small compiler front end: lexers, parsers, resolved
//! forms, and their evaluation on items.
//!
//! A parser returns resolved forms: names and values are in place, and everything is checked that
//! needs no item (docs/dynamodb.md 7.4, 7.9).
//!
//! ```text
//! text ── lexer ── parse: paths, values, operands; faults by stage, usage counted
//!            │
//!            ├─> condition::Condition  ──> key_condition::KeyConditionShape ──> KeyCondition (against a schema)
//!            ├─> projection::ProjectionPaths
//!            └─> update::Update      <── legacy: the parameters from before expressions, into the same types
//! ```
//!
//! [`predicate`] has the tests of a condition: comparators, BETWEEN, IN and functions; [`interval`]
//! is a test of a sort key as a range of bytes. [`mod@write`] makes text of conditions, key
//! conditions and projections again. [`evaluate`] evaluates a condition against an item.
//! [`partiql`] makes the same types of statements. [`literals`] turns expressions with values in
//! the text, as users of the mount write them, into those of the API. [`read_request`] is a Query
//! or Scan made of these types. [`normal_form`] has requests without their values;
//! [`conjuncts`] reads such a text again.

pub mod condition;
pub mod conjuncts;
pub mod evaluate;
pub mod interval;
pub mod key_condition;
pub mod legacy;
pub mod lexer;
pub mod literals;
pub mod normal_form;
pub mod order;
pub mod parse;
pub mod partiql;
pub mod path;
pub mod placeholders;
pub mod predicate;
pub mod projection;
pub mod read_request;
pub mod update;
pub mod write;

pub use condition::Condition;
pub use key_condition::{KeyCondition, KeyConditionShape, KeySchemaView, SortRange};
pub use placeholders::PlaceholderScope;
pub use predicate::Predicate;
pub use projection::ProjectionPaths;
pub use update::Update;

//! Expressions: lexer, parser, resolved forms, evaluation.
//!
//! A parsed expression and a resolved one are different types; only the resolved one can be used.
//!
//! ```text
//! text ── lexer ── parse ──> syntax::*          names and values are still `#x` and `:v`
//!                              │ condition::resolve, Path::resolve   (static checks of docs/dynamodb.md 7.4, usage counted)
//!                              v
//!        condition::Condition      ──> key_condition::KeyConditionShape ──> KeyCondition (against a schema)
//!        projection::ProjectionPaths
//!        update::Update              <── legacy: the parameters from before expressions, into the same types
//! ```
//!
//! [`mod@write`] makes text of conditions, key conditions and projections again. [`evaluate`] holds a condition against an item. [`partiql`] makes the same types of statements.

pub mod condition;
pub mod evaluate;
pub mod key_condition;
pub mod legacy;
pub mod lexer;
pub mod literals;
pub mod operand;
pub mod order;
pub mod parse;
pub mod partiql;
pub mod path;
pub mod path_tree;
pub mod placeholders;
pub mod projection;
pub mod read_request;
pub mod reserved;
pub mod syntax;
pub mod update;
pub mod write;

pub use condition::Condition;
pub use key_condition::{KeyCondition, KeyConditionShape, KeySchemaView, SortRange};
pub use placeholders::PlaceholderUse;
pub use projection::ProjectionPaths;
pub use update::Update;

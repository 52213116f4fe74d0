//! PartiQL (docs/dynamodb.md 19), in stages: each is a type of its own, and only the last is carried out.
//!
//! ```text
//! text ── lexer ── parse, parse_expression ──> syntax::Statement      one tree for every expression; `?` by number
//!                         │ values, conditions, updates               parameters in place, the static checks
//!                         v
//!              statement::Statement     conditions and updates of the types that expressions make
//!                         │ keys: the one item that a statement names       (against a key schema)
//!                         │ plan: the ranges that a SELECT reads
//!                         v
//!              engine::statements
//! ```

pub mod conditions;
pub mod keys;
pub mod lexer;
pub mod parse;
pub mod parse_expression;
pub mod plan;
pub mod reserved;
pub mod statement;
pub mod syntax;
pub mod updates;
pub mod values;

pub use statement::{Column, Select, Statement, Write, WriteEffect, read, table_of};
pub use syntax::Returning;

#[cfg(test)]
mod tests;

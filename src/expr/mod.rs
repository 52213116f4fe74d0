//! Expressions: lexer, parser, resolved forms, evaluation. (to be written)
//!
//! A parsed expression and a resolved one are different types; only the resolved can be evaluated. Key conditions and projections
//! are here; condition, filter, update and PartiQL take their places beside them.

//! PartiQL statements carried out: what ExecuteStatement, BatchExecuteStatement and ExecuteTransaction share (docs/dynamodb.md 19.3).

pub mod next_token;
pub mod select_statement;
pub mod write_statement;

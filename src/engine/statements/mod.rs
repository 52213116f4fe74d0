//! PartiQL statements carried out: what ExecuteStatement, BatchExecuteStatement and ExecuteTransaction share (docs/dynamodb.md 19.3).

pub mod select;
pub mod token;
pub mod write;

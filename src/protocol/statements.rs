//! PartiQL: not served.

use serde_json::Value;

use super::{Context, Failure, Operation};

pub const OPERATIONS: &[Operation] = &[
    Operation::read("ExecuteStatement", not_served),
    Operation::read("BatchExecuteStatement", not_served),
    Operation::read("ExecuteTransaction", not_served),
];

fn not_served(_: &Value, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    Err(Failure::NotServed(context.operation))
}

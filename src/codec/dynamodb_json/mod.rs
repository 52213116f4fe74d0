//! DynamoDB JSON: `{"name":{"S":"…"}}`, the wire's and `X.ddbjson`'s form.

mod parse;
mod write;

pub use parse::parse;
pub(super) use write::DynamodbJson;
pub use write::{write_item, write_value};

#[cfg(test)]
#[path = "../dynamodb_json_tests.rs"]
mod tests;

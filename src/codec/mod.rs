//! Encodings of the domain: ordered keys, item records, DynamoDB JSON, plain JSON, filesystem
//! names, wire shapes.

pub mod calendar;
pub mod digest;
pub mod dynamodb_json;
pub mod file_name;
pub mod json;
pub mod key;
pub mod metrics;
pub mod plain_json;
pub mod record;
pub mod sanitize;
#[cfg(test)]
mod test_items;
pub mod wire;

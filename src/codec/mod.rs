//! Encodings between the types of `model` and bytes or text. A module has the encoder and the
//! decoder of one form.
//!
//! ```text
//! key           ordered keys of the store         digest        hash of a partition key        record    stored items
//! plain_json    `X.json` and `X.patch`            dynamodb_json `X.ddbjson`, values on the wire
//! json/         readers and writers of JSON       file_name     key values as file names       calendar  dates and times
//! definitions/  tables as other tools declare them
//! item_files/   items in files of other programs
//! vector        numbers of a vector index
//! wire/         the API's requests and responses  metrics/      measurements as text and SVG   sanitize  text for terminals
//! ```

pub mod calendar;
pub mod count;
pub mod definitions;
pub mod digest;
pub mod dynamodb_json;
pub mod file_name;
pub(crate) mod item_files;
#[cfg(test)]
mod items_of_tests;
pub mod json;
pub mod key;
pub mod metrics;
pub mod plain_json;
pub mod record;
pub mod sanitize;
pub mod vector;
pub mod wire;

//! Amazon Ion text as DynamoDB's exports have it and its imports take it (developer guide, "DynamoDB table export output format" and
//! "Amazon S3 import formats for DynamoDB"): `$ion_1_0 {Item:{pk:"a",n:7.,s:$dynamodb_SS::["x"]}}`, numbers as decimals.

mod read;
mod write;

pub use read::{IonError, Reader};
pub use write::{IonText, write_item};

/// Stands before the items of a file, or before each.
pub const VERSION: &str = "$ion_1_0";
/// The annotations of lists that are sets: strings, numbers, binaries.
const SETS: [&str; 3] = ["$dynamodb_SS", "$dynamodb_NS", "$dynamodb_BS"];
/// Symbols that are values when they have no quotes.
const KEYWORDS: [&str; 4] = ["null", "true", "false", "nan"];

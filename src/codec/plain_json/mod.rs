//! Plain JSON, the text of `X.json` (docs/filesystem.md 4): lossless both ways.
//!
//! ```text
//! S "text"   N 12.5   BOOL true   NULL null   L […]   M {…}
//! B {"$b64":"…"}   SS {"$ss":["…"]}   NS {"$ns":[1,2]}   BS {"$bs":["…"]}
//! M with one member whose name starts with $: {"$map":{…}}. The item itself is never wrapped.
//! ```

mod parse;
mod patch;
mod write;

pub use super::json::{JsonError as PlainJsonError, JsonFault as PlainJsonFault};
pub(super) use parse::{insert, list};
pub use parse::{looks_like_dynamodb_json, parse, parse_value};
pub use patch::{MemberPatch, Patch, parse_patch};
pub(super) use write::PlainJson;
pub use write::{line, line_len, value, write_line};

#[cfg(test)]
#[path = "../plain_json_tests.rs"]
mod tests;

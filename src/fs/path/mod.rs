//! Names: of files and directories that are there by themselves, of tables, of keys ([`names`]), and of scratch files
//! ([`scratch_name`]).

pub mod names;
pub mod scratch_name;

use crate::fs::FsError;
use crate::model::{IndexKind, TableName};

/// In the root.
pub const README_NAME: &str = "README.md";
pub const SERVICE_NAME: &str = ".ddb";
/// In the directory of a table or an index.
pub const SCHEMA_NAME: &str = "schema.json";
pub const STATS_NAME: &str = "stats.json";
pub const ITEMS_NAME: &str = "items";
pub const QUERY_NAME: &str = "query";
pub const SCAN_NAME: &str = "scan";
pub const PARTITIONS_NAME: &str = "partitions";
/// In the directory of a table.
pub const GLOBAL_NAME: &str = "gsi";
pub const LOCAL_NAME: &str = "lsi";
pub const QUERIES_NAME: &str = "queries";
pub const BATCH_NAME: &str = "batch";
pub const STREAM_NAME: &str = "stream";
/// In any directory that has one. Of a directory of keys it would be a key, so those have none: the table's speaks of them.
pub const HELP_NAME: &str = "help";

/// A name as text.
///
/// # Errors
/// It is none.
pub fn name_text(name: &[u8]) -> Result<&str, FsError> {
    std::str::from_utf8(name).map_err(|_| FsError::Invalid("a name is UTF-8; write other bytes as %XX"))
}

/// The directory of a kind of index.
#[must_use]
pub fn kind_name(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Global => GLOBAL_NAME,
        IndexKind::Local => LOCAL_NAME,
    }
}

/// Names of tables that mean something else in the root.
const TAKEN: [&str; 2] = [README_NAME, SERVICE_NAME];

/// A table's directory: its name; if that is taken, with the first character as `%XX`, as keys are written (docs/filesystem.md 2).
#[must_use]
pub fn table_name(table: &TableName) -> String {
    let name = table.as_str();
    match name.split_at_checked(1) {
        Some((first, rest)) if TAKEN.contains(&name) => format!("%{:02X}{rest}", first.as_bytes()[0]),
        _ => name.to_owned(),
    }
}

/// `p07` of a partition; more digits where there are more of them.
#[must_use]
pub fn partition_name(id: u32) -> String {
    format!("p{id:02}")
}

/// The table behind such a name.
#[must_use]
pub fn taken_table(name: &str) -> Option<TableName> {
    if !name.starts_with('%') {
        return None;
    }
    TAKEN.iter().filter_map(|taken| TableName::new(*taken).ok()).find(|table| table_name(table).eq_ignore_ascii_case(name))
}

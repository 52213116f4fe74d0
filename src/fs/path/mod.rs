//! Names of fixed files and directories, of tables and of keys ([`names`]); and the names below
//! `items/` that are not items: scratch files and the probes that are refused (docs/filesystem.md
//! 4).

use crate::fs::FsError;
use crate::model::TableName;

pub mod names;

pub use names::is_scratch_name;

/// Names in the root.
pub const README_NAME: &str = "README.md";
pub const SERVICE_NAME: &str = ".ddb";
/// Names in the directory of a table or an index.
pub const SCHEMA_NAME: &str = "schema.json";
pub const STATS_NAME: &str = "stats.json";
pub const ITEMS_NAME: &str = "items";
pub const QUERY_NAME: &str = "query";
pub const SCAN_NAME: &str = "scan";
/// The searches of a vector index.
pub const NEAR_NAME: &str = "near";
pub const PARTITIONS_NAME: &str = "partitions";
/// Names in the directory of a table.
pub const GLOBAL_NAME: &str = "gsi";
pub const LOCAL_NAME: &str = "lsi";
pub const VECTOR_NAME: &str = "vector";
pub const QUERIES_NAME: &str = "queries";
pub const BATCH_NAME: &str = "batch";
pub const STREAM_NAME: &str = "stream";
/// The name of the help, in any directory that has one. In a directory of keys it would be a key,
/// so those have none; the help of the table describes them.
pub const HELP_NAME: &str = "help";

/// Returns a name as text.
///
/// # Errors
/// [`FsError::Invalid`] for a name that is not UTF-8.
pub fn name_text(name: &[u8]) -> Result<&str, FsError> {
    std::str::from_utf8(name)
        .map_err(|_| FsError::Invalid("a name is UTF-8; write other bytes as %XX"))
}

/// Names of tables that are reserved in the root.
const RESERVED: [&str; 2] = [README_NAME, SERVICE_NAME];

/// Returns the name of a table's directory: the table's name; if that is reserved, with the first
/// character as `%XX`, the encoding of keys (docs/filesystem.md 2).
#[must_use]
pub fn table_name(table: &TableName) -> String {
    let name = table.as_str();
    match name.split_at_checked(1) {
        Some((first, rest)) if RESERVED.contains(&name) => {
            format!("%{:02X}{rest}", first.as_bytes()[0])
        }
        _ => name.to_owned(),
    }
}

/// Returns the name of a partition, such as `p07`; with more digits where there are more
/// partitions.
#[must_use]
pub fn partition_name(id: u32) -> String {
    format!("p{id:02}")
}

/// Returns the table of an escaped name, as [`table_name`] makes it.
#[must_use]
pub fn reserved_table(name: &str) -> Option<TableName> {
    if !name.starts_with('%') {
        return None;
    }
    RESERVED
        .iter()
        .filter_map(|taken| TableName::new(*taken).ok())
        .find(|table| table_name(table).eq_ignore_ascii_case(name))
}

/// Names that desktops and version control probe for everywhere. Vim tries to create `4913` to
/// learn if it may write; refused, it writes the file in place.
const REFUSED_NAMES: &[&str] = &[
    "4913",
    ".AppleDouble",
    ".DS_Store",
    ".Spotlight-V100",
    ".Trash",
    ".TemporaryItems",
    ".bzr",
    ".directory",
    ".envrc",
    ".fseventsd",
    ".git",
    ".gitattributes",
    ".gitignore",
    ".hg",
    ".hidden",
    ".localized",
    ".metadata_never_index",
    ".svn",
    ".xdg-volume-info",
    "CVS",
    "Desktop.ini",
    "RCS",
    "SCCS",
    "Thumbs.db",
    "_darcs",
    "autorun.inf",
    "desktop.ini",
    "folder.jpg",
];

/// Prefixes of such names.
const REFUSED_PREFIXES: &[&str] = &["._", ".Trash-", ".nfs", ".fuse_hidden"];

/// True if `name` is of a temporary file beside a table's `schema.json`, made by a program that
/// rewrites it. Other files are refused there, with the reason.
#[must_use]
pub fn is_schema_scratch_name(name: &str) -> bool {
    let starts = [".", "schema.json", "sed"]
        .iter()
        .any(|start| name.len() > start.len() && name.starts_with(start));
    starts && !is_refused_probe(name)
}

/// True if such a file never exists and cannot be created. Needs no access to the store.
#[must_use]
pub fn is_refused_probe(name: &str) -> bool {
    let refused = REFUSED_NAMES.contains(&name)
        || REFUSED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix));
    refused && !is_rsync_temporary(name)
}

/// True if the name is of a temporary file of rsync, `.NAME.json.Ab12Cd`. If the item's name begins
/// with `_` it looks like a file of macOS.
fn is_rsync_temporary(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(file, random)| {
        let is_item = file.ends_with(".json") || file.ends_with(".ddbjson");
        is_item && random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_schema_json() {
        let cases = [
            (".schema.json.Ww8seI", true),
            (".schema.json.swp", true),
            ("schema.json~", true),
            ("schema.json.bak", true),
            ("sedAb12Cd", true),
            ("schema.json", false),
            ("4913", false),
            (".git", false),
            ("notes.txt", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_schema_scratch_name(name), expected, "{name}");
        }
    }

    #[test]
    fn table_of_names() {
        // name, scratch, refused
        let cases = [
            ("o1.json", false, false),
            ("o1.ddbjson", false, false),
            ("o1.patch", false, false),
            ("o1.d", false, false),
            (".json", true, false),
            (".o1.json.swp", true, false),
            (".o1.json", true, false),
            ("o1.json~", true, false),
            ("o1.json.bak", true, false),
            ("sedAb12Cd", true, false),
            ("#o1.json#", true, false),
            ("u1", true, false),
            ("4913", true, true),
            (".git", true, true),
            ("._o1.json", true, true),
            ("._o1.json.MXCZyq", true, false),
            (".Trash-1000", true, true),
            ("Thumbs.db", true, true),
        ];
        for (name, scratch, refused) in cases {
            assert_eq!(
                (is_scratch_name(name), is_refused_probe(name)),
                (scratch, refused),
                "{name}"
            );
        }
    }
}

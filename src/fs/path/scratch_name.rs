//! Which names below `items/` are not items: scratch files and the probes that are refused (docs/filesystem.md 4).

/// Final suffixes that mean something beside an item, see docs/filesystem.md 1.
const KNOWN_SUFFIXES: &[&str] = &[".json", ".ddbjson", ".patch", ".update", ".meta", ".casjson", ".d", ".base"];

/// Names that desktops and version control look for everywhere. Vim tries to create `4913` to see whether it may write; refused,
/// it writes the file in place.
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

/// The same, by how a name begins.
const REFUSED_PREFIXES: &[&str] = &["._", ".Trash-", ".nfs", ".fuse_hidden"];

/// Is `name` a scratch file's, kept in memory and never an item? It starts with `.` or lacks a known suffix.
#[must_use]
pub fn is_scratch_name(name: &str) -> bool {
    name.starts_with('.') || !KNOWN_SUFFIXES.iter().any(|suffix| name.len() > suffix.len() && name.ends_with(suffix))
}

/// Is `name` that of a file in memory beside a table's `schema.json`, made by a program that writes it anew? Other files have no
/// business there, and are refused with the reason.
#[must_use]
pub fn is_schema_scratch_name(name: &str) -> bool {
    let starts = [".", "schema.json", "sed"].iter().any(|start| name.len() > start.len() && name.starts_with(start));
    starts && !is_refused_probe(name)
}

/// Is there never such a file, nor can one be created? Answered without asking the store.
#[must_use]
pub fn is_refused_probe(name: &str) -> bool {
    let refused = REFUSED_NAMES.contains(&name) || REFUSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    refused && !is_rsync_temporary(name)
}

/// `.NAME.json.Ab12Cd`: where the item's name begins with `_` it looks like what macOS writes beside a file.
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
            assert_eq!((is_scratch_name(name), is_refused_probe(name)), (scratch, refused), "{name}");
        }
    }
}

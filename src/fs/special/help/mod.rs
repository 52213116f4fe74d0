//! `help` in a directory, and `.ddb/help/<topic>.md`: texts for somebody who has never seen this.

use super::{Special, SpecialNode};
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::tree::{Caller, Tree};

/// The name in any directory that has one. Of a directory of keys it would be a key, so those have none: the table's speaks of them.
pub const NAME: &str = "help";

/// The topics: name and text.
pub const TOPICS: [(&str, &str); 12] = [
    ("api.md", include_str!("api.md")),
    ("batch.md", BATCH),
    ("errors.md", include_str!("errors.md")),
    ("indexes.md", INDEXES),
    ("items.md", include_str!("items.md")),
    ("layout.md", include_str!("layout.md")),
    ("names.md", include_str!("names.md")),
    ("queries.md", include_str!("queries.md")),
    ("streams.md", STREAM),
    ("tables.md", TABLE),
    ("ttl.md", include_str!("ttl.md")),
    ("writes.md", include_str!("writes.md")),
];

pub const ROOT: &str = include_str!("root.md");
pub const TABLE: &str = include_str!("tables.md");
pub const INDEXES: &str = include_str!("indexes.md");
pub const BATCH: &str = include_str!("batch.md");
pub const STREAM: &str = include_str!("streams.md");

#[derive(Debug)]
struct Help {
    path: String,
    parent: Node,
    text: &'static str,
}

/// `help` of the directory `parent` at that path.
#[must_use]
pub fn node(directory: &str, text: &'static str, parent: Node) -> Node {
    let path = if directory.is_empty() { NAME.to_owned() } else { format!("{directory}/{NAME}") };
    SpecialNode::node(Help { path, parent, text })
}

/// A text at any path.
#[must_use]
pub fn text_at(path: String, text: &'static str, parent: Node) -> Node {
    SpecialNode::node(Help { path, parent, text })
}

impl Special for Help {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        self.parent.clone()
    }

    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(self.text.as_bytes().to_vec())
    }
}

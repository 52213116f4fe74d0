//! `help` in a directory, and `.ddb/help/<topic>.md`: texts for somebody who has never seen this,
//! with the names of the tables that are there ([`example`]).

pub mod example;
mod fill;

use super::{Special, SpecialNode, service};
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::node::{Kind, Node};
use crate::fs::tree::{Caller, Tree, listed};

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
    ("queries.md", QUERIES),
    ("streams.md", STREAM),
    ("tables.md", TABLE),
    ("ttl.md", include_str!("ttl.md")),
    ("writes.md", include_str!("writes.md")),
];

pub const ROOT: &str = include_str!("root.md");
pub const TABLE: &str = include_str!("tables.md");
pub const INDEXES: &str = include_str!("indexes.md");
pub const BATCH: &str = include_str!("batch.md");
pub const QUERIES: &str = include_str!("queries.md");
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

/// `.ddb/help/`
#[derive(Debug)]
struct Topics;

#[must_use]
pub fn topics_node() -> Node {
    SpecialNode::node(Topics)
}

fn topic_node((name, text): (&str, &'static str)) -> Node {
    SpecialNode::node(Help { path: format!(".ddb/{NAME}/{name}"), parent: topics_node(), text })
}

impl Special for Topics {
    fn path(&self) -> &str {
        ".ddb/help"
    }

    fn parent(&self) -> Node {
        service::node()
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn resolve(&self, _tree: &Tree, name: &str) -> Result<Node, FsError> {
        let found = TOPICS.iter().find(|(known, _)| *known == name || known.strip_suffix(".md") == Some(name));
        found.copied().map(topic_node).ok_or(FsError::NotFound)
    }

    fn lister(&self, _tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        Ok(Box::new(FixedLister::new(TOPICS.iter().map(|topic| listed(&topic_node(*topic), topic.0)).collect())))
    }
}

impl Special for Help {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        self.parent.clone()
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        example::filled(tree, &self.path, &self.parent, self.text)
    }
}

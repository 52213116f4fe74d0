//! `help` in a directory, and `.ddb/help/<topic>.md`: texts for a first-time user, with the names
//! of the tables in the mount ([`example`]).

use crate::fs::{open::prelude::*, query::all_names};

pub mod example;

/// The topics: name and text.
const TOPICS: [(&str, &str); 13] = [
    ("api.md", include_str!("api.md")),
    ("batch.md", BATCH),
    ("errors.md", include_str!("errors.md")),
    ("indexes.md", INDEXES),
    ("items.md", include_str!("items.md")),
    ("layout.md", LAYOUT),
    ("names.md", include_str!("names.md")),
    ("queries.md", QUERIES),
    ("rules.md", RULES),
    ("streams.md", STREAM),
    ("tables.md", TABLE),
    ("ttl.md", include_str!("ttl.md")),
    ("writes.md", include_str!("writes.md")),
];

pub const ROOT: &str = include_str!("root.md");
pub const TABLE: &str = include_str!("tables.md");
pub const INDEXES: &str = include_str!("indexes.md");
pub const BATCH: &str = include_str!("batch.md");
pub const LAYOUT: &str = include_str!("layout.md");
pub const QUERIES: &str = include_str!("queries.md");
pub const STREAM: &str = include_str!("streams.md");
/// The rules that advice names. It is a document, without examples to fill in.
const RULES: &str = include_str!("../../../../docs/requirements.md");

/// Returns `help` of the directory at that path, which belongs to that table or index.
#[must_use]
pub fn node(directory: &str, text: &'static str, source: Option<SourceName>) -> Node {
    let path = if directory.is_empty() {
        HELP_NAME.to_owned()
    } else {
        format!("{directory}/{HELP_NAME}")
    };
    Special::file(path, None, HelpText { text, source }).into()
}

/// `help` in a directory, or a topic's text.
struct HelpText {
    text: &'static str,
    /// The table or index of its examples. The file is not part of it.
    source: Option<SourceName>,
}

/// `.ddb/help/`
#[derive(Debug)]
pub struct Topics;

fn topic(node: &Special, name: &str, text: &'static str) -> Node {
    node.child(name, HelpText { text, source: None }).into()
}

impl NodeOps for Topics {
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node> {
        let found = TOPICS
            .iter()
            .find(|(known, _)| *known == name || known.strip_suffix(".md") == Some(name));
        found
            .map(|&(name, text)| topic(at.node, name, text))
            .ok_or(FsError::NotFound)
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        Ok(TOPICS
            .iter()
            .map(|&(name, text)| to_dirent(&topic(at.node, name, text), name))
            .collect())
    }
}

impl NodeOps for HelpText {
    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        if self.text == RULES {
            return Ok(RULES.into());
        }
        example::render(
            &at,
            &at.node.path,
            self.source.as_ref(),
            &self.text.replace("{clauses}\n", &all_names()),
        )
    }
}

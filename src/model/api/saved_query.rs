//! Saved queries of a table: not of the DynamoDB API, kept with the table's definition and gone with it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// By name.
pub type SavedQueries = BTreeMap<String, SavedQuery>;

/// A query under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedQuery {
    pub form: SavedForm,
    /// When it was saved, milliseconds since the epoch.
    pub modified_ms: u64,
}

/// How a query is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedForm {
    /// The filesystem path of a query, relative to the directory of saved queries.
    Link(String),
    /// The text of a Query or Scan request.
    Request(String),
}

/// One change of a table's saved queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedQueryChange {
    /// Saves under a name; one that is there is replaced only if said so.
    Put {
        name: String,
        form: SavedForm,
        replace: bool,
    },
    Remove {
        name: String,
    },
    /// Gives another name; a query that is there is replaced only if said so.
    Rename {
        from: String,
        to: String,
        replace: bool,
    },
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedQueryOutcome {
    Done,
    /// There is no query of that name.
    Absent,
    /// There is one, and it was not to be replaced.
    Exists,
    /// There are as many as there may be.
    Full,
}

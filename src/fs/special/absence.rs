//! `gsi/<ix>/violations.ndjson` and `missing.ndjson`: the items that have no entry in an index, one a line, and why.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::{Effort, Special, SpecialNode};
use crate::database::{EntryKey, Source, TextForm};
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::tree::names::entry_path;
use crate::fs::tree::{Caller, Tree};
use crate::model::TableName;
use crate::model::api::absence::{Absence, AbsenceReason, KeyViolation};

/// Items with a value that cannot be a key of the index.
pub const VIOLATIONS_NAME: &str = "violations.ndjson";
/// All items without an entry.
pub const MISSING_NAME: &str = "missing.ndjson";

/// Lines of a file, and bytes: it is made in memory. The last line says when there are more.
const LINES_MAX: usize = 100_000;
const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;

#[derive(Debug)]
struct AbsenceFile {
    source: Source,
    name: &'static str,
    path: String,
}

/// Of an index, by one of the names above.
#[must_use]
pub fn node(tree: &Tree, source: &Source, name: &'static str) -> Node {
    SpecialNode::node(AbsenceFile { source: source.clone(), name, path: format!("{}/{name}", tree.source_path(source)) })
}

impl Special for AbsenceFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Index(self.source.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.source.table)
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        tree.source_schema(&self.source)?;
        tree.table_time(&self.source.table)
    }

    fn effort(&self) -> Effort {
        Effort::Table
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let mut out = String::new();
        let mut lines = 0;
        let mut visit = |absence: Absence| {
            if lines == LINES_MAX || out.len() >= TEXT_BYTES_MAX {
                out.push_str(&format!("{}\n", json!({ "more_than": lines })));
                return ControlFlow::Break(());
            }
            lines += 1;
            out.push_str(&format!("{}\n", line(absence)));
            ControlFlow::Continue(())
        };
        match self.name {
            MISSING_NAME => tree.db.missing_entries(&self.source, &mut visit)?,
            _ => tree.db.violations(&self.source, &mut visit)?,
        }
        Ok(out.into_bytes())
    }
}

/// The path is relative to the table, as in query results.
fn line(absence: Absence) -> Value {
    let path = format!("items/{}", entry_path(&EntryKey { index: None, base: absence.key }, TextForm::PlainJson));
    match absence.reason {
        AbsenceReason::Lacks(names) => json!({ "path": path, "lacks": names }),
        AbsenceReason::NotYet => json!({ "path": path, "lacks": [], "comes": true }),
        AbsenceReason::Refused(KeyViolation { attribute, expected, found }) => {
            json!({ "path": path, "attribute": attribute, "expected": expected, "found": found })
        }
    }
}

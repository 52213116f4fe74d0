//! `gsi/<ix>/violations.ndjson` and `missing.ndjson`: the items that have no entry in an index, one a line, and why.

use crate::fs::open::prelude::*;
use crate::fs::path::names::item_path;
use crate::model::api::absence::{Absence, AbsenceReason, KeyViolation};
use std::ops::ControlFlow;

/// Lines of a file, and bytes: it is made in memory. The last line says when there are more.
const LINES_MAX: usize = 100_000;
const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// `violations.ndjson`: items with a value that cannot be a key of the index.
pub fn violations(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(at, |source, visit| mount.db.violations(source, visit))
}

/// `missing.ndjson`: all items without an entry.
pub fn missing(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(at, |source, visit| mount.db.missing_entries(source, visit))
}

fn text(
    at: &Special,
    each: impl FnOnce(&Source, &mut dyn FnMut(Absence) -> ControlFlow<()>) -> Result<(), Error>,
) -> Result<Vec<u8>, FsError> {
    let source = at.of_source()?;
    let mut out = String::new();
    let mut lines = 0;
    each(source, &mut |absence: Absence| {
        if lines == LINES_MAX || out.len() >= TEXT_BYTES_MAX {
            out.push_str(&format!("{}\n", json!({ "more_than": lines })));
            return ControlFlow::Break(());
        }
        lines += 1;
        out.push_str(&format!("{}\n", line(absence)));
        ControlFlow::Continue(())
    })?;
    Ok(out.into_bytes())
}

/// The path is relative to the table, as in query results.
pub(super) fn line(absence: Absence) -> Value {
    let path = item_path(&absence.key);
    match absence.reason {
        AbsenceReason::Lacks(names) => json!({ "path": path, "lacks": names }),
        AbsenceReason::NotYet => json!({ "path": path, "lacks": [], "comes": true }),
        AbsenceReason::Refused(KeyViolation { attribute, expected, found }) => {
            json!({ "path": path, "attribute": attribute, "expected": expected, "found": found })
        }
    }
}

//! `<Table>/access.expected`: the access patterns that a person expects, kept with the table's saved
//! queries; and `access.md`, which compares them with those that were counted.

use super::info;
use super::queries::{self, EXPECTED_PATTERNS};
use crate::codec::metrics::access;
use crate::fs::{
    open::{
        node_ops::open_text,
        prelude::*,
        text::{TextFile, action},
    },
    write::{LineCheck, TextVerdict, utf8},
};
use crate::inspect::advice::incomplete_note;
use crate::inspect::expected;
use crate::model::api::table_control::{SavedForm, SavedQueryChange};

const TEMPLATE: &str = "\
# The access patterns that you expect of this table, one a line; access.md compares them with the requests.
# A blank line takes them away.
# latest orders: Query WHERE pk = ? AND begins_with(sk, ?)
# open of a city: Query by-city WHERE city = ? FILTER status = ?
# Scan FILTER n > ?, GetItem, PutItem, UpdateItem, DeleteItem
";

/// Returns the patterns of a table.
fn stored(mount: &Mount, table: &TableName) -> Result<Option<String>> {
    let saved = mount.db.saved_queries(table)?;
    Ok(saved
        .get(EXPECTED_PATTERNS)
        .and_then(|saved| match &saved.form {
            SavedForm::Request(text) => Some(text.clone()),
            SavedForm::Link(_) => None,
        }))
}

/// Returns the text of `access.md`.
pub fn report(mount: &Mount, node: &Special) -> Result<Vec<u8>> {
    let table = node.try_table()?;
    let mut text = incomplete_note(&mount.db.incomplete_pull(table)?).into_bytes();
    text.append(&mut info::access(mount, node, |table, layout| {
        access::markdown(table.0.as_str(), std::slice::from_ref(table), |of| {
            layout.time_span(of)
        })
        .into()
    })?);
    if let Some(expected) = stored(mount, table)? {
        let schema = mount.schema(table)?;
        text.extend(expected::markdown(&*mount.db, &schema, &expected)?.into_bytes());
    }
    Ok(text)
}

/// Returns the text of `access.expected`.
pub fn text(mount: &Mount, node: &Special) -> Result<String> {
    let table = node.try_table()?;
    // Refused where patterns are not counted.
    mount.layout()?.access_patterns(table)?;
    let stored = stored(mount, table)?;
    Ok(stored.unwrap_or_else(|| TEMPLATE.to_owned()))
}

/// Opens `access.expected` for writing. A line that it had before is not judged again, since its
/// index may be gone since.
pub fn open(host: &Host, node: &SpecialNode, flags: OpenFlags) -> Result<Handle> {
    let before = text(&host.mount, node)?;
    let subject = Arc::new((host.mount.schema(node.try_table()?)?, before.clone()));
    let checked = Arc::clone(&subject);
    let read = move |text: &[u8]| {
        let (text, (schema, before)) = (utf8(text)?, &*subject);
        expected::check(text, schema, before).map_err(FsError::Body)?;
        let (table, name) = (schema.name.clone(), EXPECTED_PATTERNS.to_owned());
        let change = if text.trim().is_empty() {
            SavedQueryChange::Remove { name }
        } else {
            SavedQueryChange::Put {
                name,
                form: SavedForm::Request(format!("{}\n", text.trim_end())),
                replace: true,
            }
        };
        Ok(action(move |host, _, reply| {
            queries::execute(host, table, change, reply)
        }))
    };
    let check = move || {
        LineCheck::continued(Arc::clone(&checked), |subject, text| match expected::check(
            text, &subject.0, &subject.1,
        ) {
            Ok(()) => TextVerdict::Valid,
            Err(fault) => TextVerdict::Invalid(FsError::Body(fault)),
        })
    };
    let file = TextFile::new("The expected patterns are unchanged.", read).with_check(check);
    Ok(open_text(
        node.place(),
        host,
        flags,
        Some(before.into_bytes()),
        file,
    ))
}

//! `<Table>/access.expected`: the access patterns that a person expects, kept with the table's saved
//! queries; and `access.md` and `access.json`, which compare them with those that were counted.

use super::info;
use super::queries;
use crate::codec::metrics::access;
use crate::fs::{
    mount::text_cache::pretty_json,
    open::{
        node_ops::open_text,
        prelude::*,
        text::{TextFile, action},
    },
    write::{LineCheck, TextVerdict, utf8},
};
use crate::inspect::advice::incomplete_note;
use crate::inspect::expected::{self, SAVED_AS};
use crate::model::api::table_control::SavedQueryChange;

const TEMPLATE: &str = "\
# The access patterns that you expect of this table, one a line; access.md compares them with the requests.
# A blank line takes them away. A dynamodb_data_model.json or a Workbench model is taken too.
# latest orders: Query WHERE pk = ? AND begins_with(sk, ?)
# open of a city: Query by-city WHERE city = ? FILTER status = ?
# Scan FILTER n > ?, GetItem, PutItem, UpdateItem, DeleteItem
";

/// Returns the patterns of a table, compared with its requests; `None` if there are none.
fn compared(mount: &Mount, table: &TableName) -> Result<Option<expected::Comparison>> {
    let stored = expected::stored(&*mount.db, table)?;
    let compared = stored.map(|(text, _)| {
        expected::Comparison::new(&*mount.db, &*mount.schema(table)?, &text).map_err(FsError::from)
    });
    compared.transpose()
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
    if let Some(compared) = compared(mount, table)? {
        text.extend(compared.markdown().into_bytes());
    }
    Ok(text)
}

/// Returns the text of `access.json`.
pub fn json(mount: &Mount, node: &Special) -> Result<Vec<u8>> {
    let compared = compared(mount, node.try_table()?)?;
    info::access(mount, node, |table, layout| {
        let mut json = access::json(table, |of| layout.time_span(of));
        if let Some(compared) = compared {
            json["expected"] = compared.json();
        }
        pretty_json(&json)
    })
}

/// Returns the text of `access.expected`.
pub fn text(mount: &Mount, node: &Special) -> Result<Vec<u8>> {
    Ok(stored(mount, node)?.0.into_bytes())
}

/// Returns the text, and the time at which it was saved; 0 for that of a table without patterns.
fn stored(mount: &Mount, node: &Special) -> Result<(String, u64)> {
    let table = node.try_table()?;
    // Refused where patterns are not counted.
    mount.layout()?.access_patterns(table)?;
    let stored = expected::stored(&*mount.db, table)?;
    Ok(stored.unwrap_or_else(|| (TEMPLATE.to_owned(), 0)))
}

/// Opens `access.expected` for writing. A line that it had before is not judged again, since its
/// index may be gone since.
pub fn open(host: &Host, node: &SpecialNode, flags: OpenFlags) -> Result<Handle> {
    let (before, saved_at) = stored(&host.mount, node)?;
    let subject = Arc::new((host.mount.schema(node.try_table()?)?, before.clone()));
    let checked = Arc::clone(&subject);
    let read = move |text: &[u8], precondition| {
        let (text, (schema, before)) = (utf8(text)?, &*subject);
        let lines = expected::read(text, schema, before).map_err(FsError::Body)?;
        let (table, name) = (schema.name.clone(), SAVED_AS.to_owned());
        let change = if lines.trim().is_empty() {
            let replace = queries::replaced(precondition);
            SavedQueryChange::Remove { name, replace }
        } else {
            queries::saves(name, format!("{}\n", lines.trim_end()), precondition)
        };
        Ok(action(move |host, _, reply| {
            queries::execute(host, table, change, reply)
        }))
    };
    let check = move || {
        LineCheck::continued(Arc::clone(&checked), |subject, text| {
            if expected::is_part_of_model(text) {
                let why = "the model ends too early";
                return TextVerdict::Incomplete(FsError::Body(why.to_owned()));
            }
            match expected::read(text, &subject.0, &subject.1) {
                Ok(_) => TextVerdict::Valid,
                Err(fault) => TextVerdict::Invalid(FsError::Body(fault)),
            }
        })
    };
    let file = TextFile::new("The expected patterns are unchanged.", read).with_check(check);
    let condition = queries::unchanged_since(&host.mount, saved_at);
    let text = Some((before.into_bytes(), condition));
    Ok(open_text(node.place(), host, flags, text, file))
}

/// Takes the patterns of a table away.
pub fn unlink(at: HostAt<'_>, reply: Reply<()>) {
    match stored(&at.mount, at.node) {
        Ok((_, 0)) => reply(Ok(())),
        Ok(_) => queries::unlink(at, SAVED_AS.to_owned(), reply),
        Err(error) => reply(Err(error)),
    }
}

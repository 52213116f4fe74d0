//! `<Table>/access.expected`: the access patterns that a person expects, kept with the table's saved
//! queries; and `access.md`, which compares them with those that were counted.

use super::info;
use super::queries::{self, EXPECTED_PATTERNS};
use crate::codec::metrics::access;
use crate::fs::{
    open::{node_ops::open_text, prelude::*, text::ExecuteText},
    write::{Commit, LineCheck, TextCheck, TextTarget, TextVerdict},
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

/// Opens `access.expected` for writing.
pub fn open(host: &Host, node: &SpecialNode, flags: OpenFlags) -> Result<Handle> {
    let (mount, table) = (&host.mount, node.try_table()?);
    let before = text(mount, node)?;
    let target = ExpectedTarget(Arc::new((mount.schema(table)?, before.clone())));
    Ok(open_text(
        node.ino(),
        node.path.clone(),
        mount.caller,
        flags,
        target,
        (!flags.truncate).then(|| before.into_bytes()),
    ))
}

/// The patterns of a table with this definition, and the text before: a line that it had is not
/// judged again, since its index may be gone since.
#[derive(Debug)]
struct ExpectedTarget(Arc<(Arc<TableSchema>, String)>);

impl TextTarget for ExpectedTarget {
    type Request = (TableName, SavedQueryChange);

    fn request(
        &self,
        text: &[u8],
        _precondition: Option<Precondition>,
    ) -> Result<Commit<Self::Request>> {
        let text = std::str::from_utf8(text)
            .map_err(|_| FsError::Body("the text is not UTF-8".to_owned()))?;
        let (schema, before) = &*self.0;
        expected::check(text, schema, before).map_err(FsError::Body)?;
        let name = EXPECTED_PATTERNS.to_owned();
        let change = if text.trim().is_empty() {
            SavedQueryChange::Remove { name }
        } else {
            SavedQueryChange::Put {
                name,
                form: SavedForm::Request(format!("{}\n", text.trim_end())),
                replace: true,
            }
        };
        Ok(Commit {
            request: (schema.name.clone(), change),
            warnings: Vec::new(),
        })
    }

    fn check(&self) -> Box<dyn TextCheck> {
        Box::new(LineCheck::continued(
            Arc::clone(&self.0),
            |subject, text| match expected::check(text, &subject.0, &subject.1) {
                Ok(()) => TextVerdict::Valid,
                Err(fault) => TextVerdict::Invalid(FsError::Body(fault)),
            },
        ))
    }

    fn unchanged(&self) -> &'static str {
        "The expected patterns are unchanged."
    }
}

impl ExecuteText for ExpectedTarget {
    fn execute(
        host: &Host,
        _open: &Arc<OpenText<Self>>,
        request: Self::Request,
        reply: VersionReply,
    ) {
        let (table, change) = request;
        queries::execute(host, table, change, reply);
    }
}

//! `<Table>/queries/`: saved queries, durable, listed.
//!
//! ```text
//! queries/<name>            a symlink to a query path of the table: ln -s '../query/@pk=u1/desc' queries/latest
//! queries/<name>.json       a Query or Scan request, kept as it was written
//! queries/<name>/           the results of that request, and further clauses; for lookup only
//! ```
//! A listing is finite for every program: a symlink is no directory to `find`, `tar` and `rsync`. A
//! link is checked when it is made: a bad clause is refused then. A request is checked when it is
//! written; its name ends in `.json`, that of a link does not.

use super::help;
use crate::fs::{
    open::{
        link_text,
        node_ops::open_text,
        prelude::*,
        text::{TextFile, action},
    },
    query::QueryPath,
    write::utf8,
};
use crate::inspect::expected::SAVED_AS;
use crate::model::{
    api::table_control::{Replace, SavedForm, SavedQuery, SavedQueryChange, SavedQueryOutcome},
    error::LimitError,
    limits::SAVED_REQUEST_BYTES_MAX,
};

/// The longest target of a link, bytes: the kernel's PATH_MAX without the NUL.
const TARGET_BYTES_MAX: usize = 4095;

/// The error of a name that is neither a link's nor a request's.
const NAME_HINT: &str =
    "a saved query is a link, ln -s '../query/@pk=u1' queries/u1, or a request in queries/u1.json";

/// `queries/` and the saved queries in it, by their names.
enum SavedFile {
    Directory,
    Request(String),
    Link(String),
}

/// Returns `queries/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, QUERIES_NAME, SavedFile::Directory).into()
}

/// Returns the file of a request, which need not exist.
fn request_node(node: &Special, name: &str) -> Node {
    node.child(name, SavedFile::Request(name.to_owned()))
        .writable()
        .into()
}

fn link_node(node: &Special, name: &str) -> Node {
    node.child(name, SavedFile::Link(name.to_owned()))
        .with_kind(NodeKind::Symlink)
        .into()
}

fn listed_node(node: &Special, name: &str, form: &SavedForm) -> Node {
    match form {
        SavedForm::Link(_) => link_node(node, name),
        SavedForm::Request(_) => request_node(node, name),
    }
}

fn table_of(node: &Special) -> Result<&TableName> {
    node.table().ok_or(FsError::NotFound)
}

impl NodeOps for SavedFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        match self {
            Self::Directory => at.table_created_ms(table_of(at.node)?),
            Self::Request(_) | Self::Link(_) => Ok(self.query(at.node, &at)?.modified_ms),
        }
    }

    /// Resolves to a link, else to the results of a saved request. A name with `.json` is a
    /// request's file, which need not exist.
    fn resolve(&self, at: At<'_>, name: &str) -> Result<Node, FsError> {
        let (Self::Directory, table) = (self, table_of(at.node)?) else {
            return Err(FsError::NotDirectory);
        };
        if name.ends_with(REQUEST_SUFFIX) {
            return Ok(request_node(at.node, name));
        }
        if let Some(SavedQuery {
            form: SavedForm::Link(_),
            ..
        }) = saved_query(&at, table, name)?
        {
            return Ok(link_node(at.node, name));
        }
        match saved_query(&at, table, &format!("{name}{REQUEST_SUFFIX}"))? {
            Some(SavedQuery {
                form: SavedForm::Request(text),
                ..
            }) => {
                let path = QueryPath::of_request(at.schema(table)?, name, text.as_bytes())?;
                Ok(Node::Query(Box::new(path)))
            }
            _ if name == HELP_NAME => Ok(help::node(
                &at.node.path,
                help::QUERIES,
                at.node.source.clone(),
            )),
            _ => Err(FsError::NotFound),
        }
    }

    fn list(&self, at: At<'_>) -> Result<Vec<OwnedDirent>> {
        let (Self::Directory, table) = (self, table_of(at.node)?) else {
            return Err(FsError::NotDirectory);
        };
        at.schema(table)?;
        let all = at.db.saved_queries(table)?;
        Ok(all
            .iter()
            .filter(|(name, _)| *name != SAVED_AS)
            .map(|(name, query)| to_dirent(&listed_node(at.node, name, &query.form), name))
            .collect())
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        match self {
            Self::Directory => Err(FsError::IsDirectory),
            Self::Link(_) => Err(FsError::BadHandle),
            Self::Request(_) => match self.query(at.node, &at)?.form {
                SavedForm::Request(text) => Ok(text.into_bytes()),
                SavedForm::Link(_) => Err(FsError::NotFound),
            },
        }
    }

    fn link_target(&self, at: At<'_>) -> Result<String> {
        match self {
            Self::Link(_) => match self.query(at.node, &at)?.form {
                SavedForm::Link(target) => Ok(target),
                SavedForm::Request(_) => Err(FsError::NotFound),
            },
            Self::Directory | Self::Request(_) => Err(FsError::Invalid("not a symbolic link")),
        }
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        let (Self::Request(name), mount) = (self, &at.mount) else {
            return Err(FsError::Derived);
        };
        check_name(name)?;
        let table = table_of(at.node)?;
        let (schema, saved) = (mount.schema(table)?, saved_query(mount, table, name)?);
        let text = saved.and_then(|saved| match saved.form {
            SavedForm::Request(text) => {
                Some((text.into_bytes(), unchanged_since(mount, saved.modified_ms)))
            }
            SavedForm::Link(_) => None,
        });
        let name = name.clone();
        let read = move |text: &[u8], precondition| {
            let change = request_change(&schema, &name, text, precondition)?;
            let table = schema.name.clone();
            Ok(action(move |host, _, reply| {
                execute(host, table, change, reply)
            }))
        };
        let file = TextFile::new("No query was saved.", read);
        Ok(open_text(at.node.place(), &at, flags, text, file))
    }

    /// Removes a saved query, on a thread for long work.
    fn unlink(&self, at: HostAt<'_>, reply: Reply<()>) {
        let name = match self {
            Self::Directory => return reply(Err(FsError::IsDirectory)),
            Self::Request(name) | Self::Link(name) => name.clone(),
        };
        unlink(at, name, reply);
    }

    fn symlink(&self, at: HostAt<'_>, name: &[u8], target: &[u8]) -> Result<Node> {
        let (name, target) = (link_text(name)?, link_text(target)?);
        save_link(&at, table_of(at.node)?, name, target)?;
        Ok(link_node(at.node, name))
    }

    /// Renames a saved query to a name of its own form.
    fn rename(&self, at: HostAt<'_>, to: &str, replace: bool) -> Result<()> {
        let (Self::Request(from) | Self::Link(from)) = self else {
            return Err(FsError::Derived);
        };
        if from.ends_with(REQUEST_SUFFIX) != to.ends_with(REQUEST_SUFFIX) {
            return Err(FsError::Invalid(
                "the name of a saved request ends in .json, that of a link does not",
            ));
        }
        check_name(to)?;
        let change = SavedQueryChange::Rename {
            from: from.clone(),
            to: to.to_owned(),
            replace,
        };
        change_query(&at.mount, table_of(at.node)?, change)
    }

    fn scratch_refusal(&self) -> FsError {
        FsError::Invalid(NAME_HINT)
    }
}

impl SavedFile {
    fn query(&self, node: &Special, mount: &Mount) -> Result<SavedQuery> {
        let (Self::Request(name) | Self::Link(name)) = self else {
            return Err(FsError::NotFound);
        };
        saved_query(mount, table_of(node)?, name)?.ok_or(FsError::NotFound)
    }
}

/// Removes what is saved under a name, on a thread for short work.
pub fn unlink(at: HostAt<'_>, name: String, reply: Reply<()>) {
    let (host_clone, node) = (at.context.clone(), at.node.clone());
    at.run_short(move || {
        reply(remove(&node, &name, &host_clone));
    });
}

/// Returns the precondition of an edit of a text that was saved at this time.
pub fn unchanged_since(mount: &Mount, saved_at: u64) -> Option<Precondition> {
    (!mount.options.last_writer_wins).then_some(Precondition::Version(saved_at))
}

/// Returns the query that an edit with this precondition may replace.
pub fn replaced(precondition: Option<Precondition>) -> Replace {
    match precondition {
        Some(Precondition::Version(saved_at)) => Replace::SavedAt(saved_at),
        _ => Replace::Any,
    }
}

/// Returns the change that saves a text, if the precondition of its edit holds.
pub fn saves(name: String, text: String, precondition: Option<Precondition>) -> SavedQueryChange {
    SavedQueryChange::Put {
        name,
        form: SavedForm::Request(text),
        replace: replaced(precondition),
    }
}

/// Returns the query saved under a name.
fn saved_query(
    mount: &Mount,
    table: &TableName,
    name: &str,
) -> Result<Option<SavedQuery>, FsError> {
    Ok(mount.db.saved_queries(table)?.get(name).cloned())
}

/// Saves a link to a query of the table.
///
/// # Errors
/// `Exists`; a bad name or a bad clause in the target; too many saved queries.
pub fn save_link(host: &Host, table: &TableName, name: &str, target: &str) -> Result<(), FsError> {
    check_link_name(name)?;
    check_target(host, table, target)?;
    let change = SavedQueryChange::Put {
        name: name.to_owned(),
        form: SavedForm::Link(target.to_owned()),
        replace: Replace::None,
    };
    change_query(&host.mount, table, change)
}

fn change_query(mount: &Mount, table: &TableName, change: SavedQueryChange) -> Result<()> {
    match mount.db.change_saved_queries(table, change)? {
        SavedQueryOutcome::Done(_) => Ok(()),
        SavedQueryOutcome::Absent => Err(FsError::NotFound),
        SavedQueryOutcome::Exists => Err(FsError::Exists),
        SavedQueryOutcome::Full => Err(FsError::NotPermitted(
            "a table keeps at most 200 saved queries; remove some",
        )),
    }
}

fn remove(node: &Special, name: &str, host: &Host) -> Result<()> {
    let table = table_of(node)?;
    host.rm_guard.check_delete(table, &host.mount)?;
    let saved = saved_query(&host.mount, table, name)?.ok_or(FsError::NotFound)?;
    change_query(
        &host.mount,
        table,
        SavedQueryChange::Remove {
            name: name.to_owned(),
            replace: Replace::Any,
        },
    )?;
    host.rm_guard
        .record_removed_query(&host.mount, table, name, saved.form);
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    let is_good = !name.starts_with(['.', '-', '~'])
        && !name.contains(char::is_control)
        && name != REQUEST_SUFFIX;
    if is_good {
        Ok(())
    } else {
        Err(FsError::Invalid(
            "the name of a saved query begins with a letter or digit",
        ))
    }
}

fn check_link_name(name: &str) -> Result<()> {
    if name.ends_with(REQUEST_SUFFIX) {
        return Err(FsError::Invalid(
            "a name with .json is that of a saved request; give the link another",
        ));
    }
    check_name(name)
}

/// Checks a target: a path to a query of the same table with good clauses, or to one of its
/// results.
fn check_target(host: &Host, table: &TableName, target: &str) -> Result<(), FsError> {
    let fault = |message: String| {
        FsError::Clause {
        message,
        hint: "a saved query points to a query of its own table: ln -s '../query/@pk=u1/desc' queries/latest".to_owned(),
    }
    };
    let mut names = target
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".");
    if target.starts_with('/') || target.len() > TARGET_BYTES_MAX || names.next() != Some("..") {
        return Err(fault(format!("'{target}' does not begin with ../")));
    }
    let mut at = Node::Table(table.clone());
    for name in names {
        at = match host.resolve(&at, name.as_bytes()) {
            Ok(node) => node,
            Err(FsError::NotFound | FsError::NotDirectory) => {
                return Err(fault(format!("there is no '{name}' in '{target}'")));
            }
            Err(error) => return Err(error),
        };
    }
    match at {
        Node::Query(_) | Node::QueryResult(..) => Ok(()),
        _ => Err(fault(format!("'{target}' is no query"))),
    }
}

/// The end of the name of a request's file.
pub const REQUEST_SUFFIX: &str = ".json";

/// Returns the change that saves a request in the file of this name.
fn request_change(
    schema: &Arc<TableSchema>,
    file: &str,
    text: &[u8],
    precondition: Option<Precondition>,
) -> Result<SavedQueryChange> {
    if text.len() > SAVED_REQUEST_BYTES_MAX {
        return Err(FsError::Body(
            "a saved request has at most 16 KiB".to_owned(),
        ));
    }
    debug_assert!(file.ends_with(REQUEST_SUFFIX), "{file}");
    let name = file.strip_suffix(REQUEST_SUFFIX).unwrap_or(file);
    QueryPath::of_request(Arc::clone(schema), name, text)?;
    let mut text = utf8(text)?.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(saves(file.to_owned(), text, precondition))
}

/// Changes what is saved with a table, on a thread for short work.
pub fn execute(host: &Host, table: TableName, change: SavedQueryChange, reply: VersionReply) {
    let host_clone = host.clone();
    host.run_short(move || {
        reply.complete(
            match host_clone.mount.db.change_saved_queries(&table, change) {
                Ok(SavedQueryOutcome::Full) => Err(Error::Limit(LimitError::SavedQueries)),
                Ok(SavedQueryOutcome::Done(saved_at)) => Ok(saved_at),
                Ok(SavedQueryOutcome::Exists) => Err(Error::ConditionalCheckFailed { item: None }),
                Ok(SavedQueryOutcome::Absent) => Ok(0),
                Err(error) => Err(error),
            },
        );
    });
}

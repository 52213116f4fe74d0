//! `<Table>/queries/`: saved queries, durable, listed.
//!
//! ```text
//! queries/<name>            a symlink to a query path of the table: ln -s '../query/@pk=u1/desc' queries/latest
//! queries/<name>.json       a Query or Scan request, kept as it was written
//! queries/<name>/           the results of that request, and further clauses; for lookup only
//! ```
//! What is listed is finite for every program: a symlink is no directory to `find`, `tar` and `rsync`. A link is checked when it is made:
//! a bad clause is refused then. A name ends in `.json` exactly when it is a request's.

mod file;
mod link;

use std::sync::Arc;

use super::{Special, SpecialNode, help};
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::node::{Kind, Node};
use crate::fs::query::QueryPath;
use crate::fs::tree::table_name;
use crate::fs::tree::{Tree, listed};
use crate::fs::view::View;
use crate::model::TableName;
use crate::model::api::saved_query::{SavedForm, SavedQuery, SavedQueryChange, SavedQueryOutcome};

/// The name in its table's directory.
pub const NAME: &str = "queries";
const SUFFIX: &str = ".json";
/// What a link may point to: the kernel's PATH_MAX without the NUL.
const TARGET_BYTES_MAX: usize = 4095;

/// What is said of a name that can be neither a link's nor a file's.
const NAMES: &str = "a saved query is a link, ln -s '../query/@pk=u1' queries/u1, or a request in queries/u1.json";

#[derive(Debug)]
struct Directory {
    table: TableName,
    path: String,
}

/// Of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(Directory { table: table.clone(), path: format!("{}/{NAME}", table_name(table)) })
}

impl Special for Directory {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Table(self.table.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    /// A link, or what a saved request gives, or else a request's file, which need not be there.
    fn resolve(&self, tree: &Tree, name: &str) -> Result<Node, FsError> {
        if name.ends_with(SUFFIX) {
            return Ok(file::node(&self.table, name));
        }
        if let Some(SavedQuery { form: SavedForm::Link(_), .. }) = saved(tree, &self.table, name)? {
            return Ok(link::node(&self.table, name));
        }
        match saved(tree, &self.table, &format!("{name}{SUFFIX}"))? {
            Some(SavedQuery { form: SavedForm::Request(text), .. }) => {
                let path = QueryPath::of_request(tree.schema(&self.table)?, name, text.as_bytes())?;
                Ok(Node::Query(Box::new(path)))
            }
            _ if name == help::NAME => Ok(help::node(&self.path, help::QUERIES, node(&self.table))),
            _ => Err(FsError::NotFound),
        }
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        tree.schema(&self.table)?;
        let all = tree.db.saved_queries(&self.table)?;
        let names = all.iter().map(|(name, query)| listed(&listed_node(&self.table, name, &query.form), name));
        Ok(Box::new(FixedLister::new(names.collect())))
    }

    fn symlink(&self, view: &View, name: &str, target: &str) -> Result<Node, FsError> {
        check_link_name(name)?;
        check_target(view.tree(), &self.table, target)?;
        let change = SavedQueryChange::Put { name: name.to_owned(), form: SavedForm::Link(target.to_owned()), replace: false };
        change_saved(view, &self.table, change)?;
        Ok(link::node(&self.table, name))
    }

    fn create_refused(&self) -> FsError {
        FsError::Invalid(NAMES)
    }
}

fn listed_node(table: &TableName, name: &str, form: &SavedForm) -> Node {
    match form {
        SavedForm::Link(_) => link::node(table, name),
        SavedForm::Request(_) => file::node(table, name),
    }
}

/// The query saved under a name.
fn saved(tree: &Tree, table: &TableName, name: &str) -> Result<Option<SavedQuery>, FsError> {
    Ok(tree.db.saved_queries(table)?.get(name).cloned())
}

fn change_saved(view: &View, table: &TableName, change: SavedQueryChange) -> Result<(), FsError> {
    match view.tree().db.change_saved_queries(table, change)? {
        SavedQueryOutcome::Done => Ok(()),
        SavedQueryOutcome::Absent => Err(FsError::NotFound),
        SavedQueryOutcome::Exists => Err(FsError::Exists),
        SavedQueryOutcome::Full => Err(FsError::NotPermitted("a table keeps at most 200 saved queries; remove some")),
    }
}

/// Another name for a saved query; only of its own form.
fn rename(view: &View, table: &TableName, from: &str, to: &str, replace: bool) -> Result<(), FsError> {
    if from.ends_with(SUFFIX) != to.ends_with(SUFFIX) {
        return Err(FsError::Invalid("the name of a saved request ends in .json, that of a link does not"));
    }
    check_name(to)?;
    change_saved(view, table, SavedQueryChange::Rename { from: from.to_owned(), to: to.to_owned(), replace })
}

fn check_name(name: &str) -> Result<(), FsError> {
    let is_good = !name.starts_with(['.', '-', '~']) && !name.contains(char::is_control) && name != SUFFIX;
    if is_good { Ok(()) } else { Err(FsError::Invalid("the name of a saved query begins with a letter or digit")) }
}

fn check_link_name(name: &str) -> Result<(), FsError> {
    if name.ends_with(SUFFIX) {
        return Err(FsError::Invalid("a name with .json is that of a saved request; give the link another"));
    }
    check_name(name)
}

/// A target is a path to a query of the same table, whose clauses are all right, or to one of its results.
fn check_target(tree: &Tree, table: &TableName, target: &str) -> Result<(), FsError> {
    let fault = |message: String| FsError::Clause {
        message,
        hint: "a saved query points to a query of its own table: ln -s '../query/@pk=u1/desc' queries/latest".to_owned(),
    };
    let mut names = target.split('/').filter(|name| !name.is_empty() && *name != ".");
    if target.starts_with('/') || target.len() > TARGET_BYTES_MAX || names.next() != Some("..") {
        return Err(fault(format!("'{target}' does not begin with ../")));
    }
    let mut at = Node::Table(table.clone());
    for name in names {
        at = match tree.resolve(&at, name.as_bytes()) {
            Ok(node) => node,
            Err(FsError::NotFound | FsError::NotDirectory) => return Err(fault(format!("there is no '{name}' in '{target}'"))),
            Err(error) => return Err(error),
        };
    }
    match at {
        Node::Query(_) | Node::QueryResult(..) => Ok(()),
        _ => Err(fault(format!("'{target}' is no query"))),
    }
}

/// The state that a saved query's node and its file share.
#[derive(Debug, Clone)]
struct Entry {
    table: TableName,
    name: String,
    path: String,
}

impl Entry {
    fn new(table: &TableName, name: &str) -> Self {
        Self { table: table.clone(), name: name.to_owned(), path: format!("{}/{NAME}/{name}", table_name(table)) }
    }

    fn saved(&self, tree: &Tree) -> Result<SavedQuery, FsError> {
        saved(tree, &self.table, &self.name)?.ok_or(FsError::NotFound)
    }

    /// Removes it, on a thread for what takes long.
    fn unlink(&self, view: &Arc<View>, caller: super::Caller, reply: super::Reply<()>) {
        let (again, entry) = (Arc::clone(view), self.clone());
        view.run_elsewhere(Box::new(move || {
            let removed = entry.remove(&again, caller);
            reply(again.noted_at(caller, "unlink", || entry.path.clone(), removed));
        }));
    }

    fn remove(&self, view: &View, caller: super::Caller) -> Result<(), FsError> {
        view.may_delete(&self.table, caller)?;
        let saved = self.saved(view.tree())?;
        change_saved(view, &self.table, SavedQueryChange::Remove { name: self.name.clone() })?;
        view.removed_saved(caller, &self.table, &self.name, saved.form);
        Ok(())
    }
}

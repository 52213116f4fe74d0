//! `queries/<name>.json`: a saved Query or Scan request. It is checked when it is written, and kept as it was written.

use std::sync::Arc;

use super::Entry;
use crate::fs::FsError;
use crate::fs::handle::{Handle, OpenText};
use crate::fs::node::{Kind, Node};
use crate::fs::query::QueryPath;
use crate::fs::special::{Special, SpecialNode};
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{OpenFlags, Outcome, Performer, Reply, View};
use crate::fs::write::{Commit, Opener, Target, TextWriter};
use crate::model::api::Precondition;
use crate::model::api::saved_query::{SavedForm, SavedQueryChange, SavedQueryOutcome};
use crate::model::error::LimitError;
use crate::model::limits::SAVED_REQUEST_BYTES_MAX;
use crate::model::{Error, TableName, TableSchema};

#[derive(Debug)]
struct File(Entry);

/// Of that name, which ends in `.json`.
pub fn node(table: &TableName, name: &str) -> Node {
    SpecialNode::node(File(Entry::new(table, name)))
}

impl Special for File {
    fn path(&self) -> &str {
        &self.0.path
    }

    fn parent(&self) -> Node {
        super::node(&self.0.table)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.0.table)
    }

    fn kind(&self) -> Kind {
        Kind::File
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        Ok(self.0.saved(tree)?.modified_ms)
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        match self.0.saved(tree)?.form {
            SavedForm::Request(text) => Ok(text.into_bytes()),
            SavedForm::Link(_) => Err(FsError::NotFound),
        }
    }

    fn open_for_writing(&self, view: &Arc<View>, caller: Caller, ino: u64, flags: OpenFlags) -> Result<Handle, FsError> {
        super::check_name(&self.0.name)?;
        let target = RequestTarget { schema: view.tree().schema(&self.0.table)?, entry: self.0.clone() };
        let opener = Opener { pid: caller.pid, append: flags.append };
        let writer = match self.text(view.tree(), caller) {
            Ok(text) if !flags.truncate => TextWriter::edit(target, text, None, opener),
            _ => TextWriter::stream(target, opener),
        };
        Ok(Handle::Special(Arc::new(OpenText::new(ino, self.0.path.clone(), caller.pid, writer))))
    }

    fn unlink(&self, view: &Arc<View>, caller: Caller, reply: Reply<()>) {
        self.0.unlink(view, caller, reply);
    }

    fn rename(&self, view: &View, name: &str, replace: bool) -> Result<(), FsError> {
        super::rename(view, &self.0.table, &self.0.name, name, replace)
    }
}

/// What the text becomes.
#[derive(Debug)]
struct RequestTarget {
    schema: Arc<TableSchema>,
    entry: Entry,
}

impl Target for RequestTarget {
    type Request = (TableName, SavedQueryChange);

    fn request(&self, text: &[u8], _precondition: Option<Precondition>) -> Result<Commit<Self::Request>, FsError> {
        if text.len() > SAVED_REQUEST_BYTES_MAX {
            return Err(FsError::Body("a saved request has at most 16 KiB".to_owned()));
        }
        let name = self.entry.name.strip_suffix(super::SUFFIX).unwrap_or(&self.entry.name);
        QueryPath::of_request(Arc::clone(&self.schema), name, text)?;
        let mut text = String::from_utf8_lossy(text).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let change = SavedQueryChange::Put { name: self.entry.name.clone(), form: SavedForm::Request(text), replace: true };
        Ok(Commit { request: (self.entry.table.clone(), change), warnings: Vec::new() })
    }

    fn unchanged(&self) -> &'static str {
        "No query was saved."
    }
}

impl Performer for RequestTarget {
    fn perform(view: &Arc<View>, _open: &Arc<OpenText<Self>>, (table, change): Self::Request, done: Outcome) {
        let again = Arc::clone(view);
        view.run_elsewhere(Box::new(move || {
            done(match again.tree().db.change_saved_queries(&table, change) {
                Ok(SavedQueryOutcome::Full) => Err(Error::Limit(LimitError::SavedQueries)),
                Ok(_) => Ok(0),
                Err(error) => Err(error),
            });
        }));
    }
}

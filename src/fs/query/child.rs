//! What a name in a directory of clauses means.

use super::fault::ClauseFault;
use super::path::QueryPath;
use super::result_kind::ResultKind;

use crate::fs::prelude::*;

/// What a name below a [`QueryPath`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Child {
    /// One more clause.
    Dir(QueryPath),
    /// A file that holds a result of the query so far.
    Result(QueryPath, ResultKind),
    /// An entry of the listing (`000001,<name>.json`): a symlink to the item or index entry. The target may be absent.
    Link {
        /// Relative to the directory that holds the link.
        target: String,
    },
}

/// Clauses of a path: each directory of it is a node of its own, whose request is made of all of them. What several nodes of one
/// path have in common they share.
pub const CLAUSES_MAX: usize = 64;

/// Names that programs look for in any directory; they must not count as failed clauses.
const PROBED: [&str; 15] = [
    "RCS",
    "CVS",
    "SCCS",
    "_darcs",
    "HEAD",
    "objects",
    "refs",
    "commondir",
    "gitdir",
    "lost+found",
    "autorun.inf",
    "AUTORUN.INF",
    "desktop.ini",
    "Desktop.ini",
    "Thumbs.db",
];

/// Not looked at as a clause: hidden names, names that programs look for, globs that the shell found no match for.
fn is_probe(name: &str) -> bool {
    name.starts_with('.') || PROBED.contains(&name) || (name.contains(['*', '?']) && !name.contains('='))
}

impl QueryPath {
    /// What `name` means in this directory. Asks no database.
    ///
    /// # Errors
    /// [`FsError::TooManyClauses`];
    /// [`FsError::Clause`] (EINVAL) for what is no clause or not allowed here, and for a result of an incomplete query;
    /// [`FsError::NotFound`] for names that programs probe and for links of an incomplete query.
    pub fn child(&self, name: &[u8]) -> Result<Child, FsError> {
        let name = std::str::from_utf8(name).map_err(|_| ClauseFault::NotText)?;
        if is_probe(name) {
            return Err(FsError::NotFound);
        }
        if let Some(kind) = ResultKind::from_name(name) {
            if kind != ResultKind::Help {
                self.clauses.check_complete(self.context())?;
            }
            return Ok(Child::Result(self.clone(), kind));
        }
        if name.starts_with(|first: char| first.is_ascii_digit()) && !name.contains('=') {
            let complete = self.clauses.check_complete(self.context()).is_ok();
            let target = self.link_target(name).filter(|_| complete).ok_or(FsError::NotFound)?;
            return Ok(Child::Link { target });
        }
        if self.names.len() >= CLAUSES_MAX {
            return Err(FsError::TooManyClauses);
        }
        let clauses = self.clauses.with(name, self.context())?;
        let mut names = self.names.clone();
        names.push(Arc::from(name));
        Ok(Child::Dir(Self { names, clauses, ..self.clone() }))
    }
}

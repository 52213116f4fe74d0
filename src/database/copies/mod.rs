//! Copies and comparisons of tables by DynamoDB operations alone, so that either side may be any
//! service: `ddbfs pull`, `push`, `sync` and `diff`.
//!
//! ```text
//! copy     one copy, from checks to end   definition  the table's definition   journal  the resumable positions
//! compare  one comparison                 scan        the parallel Scan        batches  the writes of a page
//! sync     a copy made as its source      origin      the source of a copy
//! ```
//!
//! A copy is a parallel Scan with one thread for each segment. The items of a page are put, and
//! only when all of them are acknowledged the [`journal`] records where the segment resumes:
//! however the process ends, the next run reads at most one page of each segment again, and puts
//! some items a second time, which changes nothing. A Scan is no snapshot: an item that is written
//! meanwhile may be in the copy or not.

pub mod batches;
pub mod compare;
pub mod copy;
pub mod definition;
pub mod journal;
pub mod origin;
pub mod scan;
pub mod sync;

use std::sync::Arc;

use super::{Browse, Database, cancel::CancelToken};
use crate::model::{Error, TableName};

/// One side of a copy or comparison: a table of a database.
#[derive(Clone)]
pub struct CopySide {
    pub database: Arc<dyn Database>,
    pub table: TableName,
    /// The name in messages: `Orders`, `http://127.0.0.1:8000/Orders`.
    pub name: String,
    /// The database of a data directory.
    pub local: Option<Arc<dyn Browse>>,
    /// The caller for which the database is asked.
    pub caller: CancelToken,
}

opaque_debug!(CopySide);

/// The reason why a copy or comparison cannot go on: a sentence.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("{side}: {error}")]
    Database { side: String, error: Error },
    #[error(transparent)]
    Journal(#[from] journal::CopyJournalError),
    #[error("{0}")]
    Refused(String),
    #[error("{doing}: {source}")]
    Io {
        doing: &'static str,
        source: std::io::Error,
    },
}

impl CopySide {
    #[must_use]
    pub fn new(database: Arc<dyn Database>, table: TableName, name: String) -> Self {
        Self {
            database,
            table,
            name,
            local: None,
            caller: CancelToken::default(),
        }
    }

    /// Attributes the error of an outcome to this side.
    pub(super) fn check<T>(&self, outcome: Result<T, impl Into<Error>>) -> Result<T, CopyError> {
        outcome.map_err(|error| self.error(error))
    }

    /// Attributes an error to this side.
    pub(super) fn error(&self, error: impl Into<Error>) -> CopyError {
        CopyError::Database {
            side: self.name.clone(),
            error: error.into(),
        }
    }
}

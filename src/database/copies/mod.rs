//! Tables copied and compared by the operations alone, so that either side may be any service.
//!
//! A copy is a parallel Scan, a thread a segment. The items of a page are put, and only when all of them are acknowledged the
//! [`journal`] notes where the segment goes on: whatever ends the process, the next run reads at most one page of each segment again,
//! and puts items again that are there already, which changes nothing. A Scan is no snapshot: what is written meanwhile may be in the copy
//! or not, item by item.

pub mod batches;
pub mod compare;
pub mod copy;
pub mod definition;
pub mod journal;
pub mod scan;

use std::sync::Arc;

use super::{Database, caller::Caller};
use crate::model::{Error, TableName};

/// A table of a database.
#[derive(Clone)]
pub struct Side {
    pub database: Arc<dyn Database>,
    pub table: TableName,
    /// How people are told of it: `Orders`, `http://127.0.0.1:8000/Orders`.
    pub name: String,
    /// For whom it is asked.
    pub caller: Caller,
}

impl std::fmt::Debug for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Why a copy or a comparison cannot go on: a sentence.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("{side}: {error}")]
    Database { side: String, error: Error },
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
    #[error("{0}")]
    Refused(String),
    #[error("{doing}: {source}")]
    Io {
        doing: &'static str,
        source: std::io::Error,
    },
}

impl Side {
    #[must_use]
    pub fn new(database: Arc<dyn Database>, table: TableName, name: String) -> Self {
        Self {
            database,
            table,
            name,
            caller: Caller::default(),
        }
    }

    /// The same, asked for a caller who may give up.
    #[must_use]
    pub fn for_caller(self, caller: &Caller) -> Self {
        let database = self.database.for_caller(caller).unwrap_or(self.database);
        Self {
            database,
            caller: caller.clone(),
            ..self
        }
    }

    /// An error of this side's.
    pub(super) fn failed(&self, error: impl Into<Error>) -> CopyError {
        CopyError::Database {
            side: self.name.clone(),
            error: error.into(),
        }
    }
}

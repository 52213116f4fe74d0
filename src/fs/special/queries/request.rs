//! `queries/<name>.json`: a saved Query or Scan request. It is checked when it is written, and kept as it was written.

use crate::fs::open::prelude::*;
use crate::fs::{
    open::text::Execute,
    query::QueryPath,
    write::{Commit, Target},
};
use crate::model::api::saved_query::SavedQueryOutcome;
use crate::model::api::saved_query::{SavedForm, SavedQueryChange};
use crate::model::error::LimitError;
use crate::model::limits::SAVED_REQUEST_BYTES_MAX;

/// What the name of a request's file ends with.
pub const SUFFIX: &str = ".json";

/// What the text becomes.
#[derive(Debug)]
pub struct RequestTarget {
    pub schema: Arc<TableSchema>,
    /// The file's.
    pub name: String,
}

impl Target for RequestTarget {
    type Request = (TableName, SavedQueryChange);

    fn request(&self, text: &[u8], _precondition: Option<Precondition>) -> Result<Commit<Self::Request>, FsError> {
        if text.len() > SAVED_REQUEST_BYTES_MAX {
            return Err(FsError::Body("a saved request has at most 16 KiB".to_owned()));
        }
        let name = self.name.strip_suffix(SUFFIX).unwrap_or(&self.name);
        QueryPath::of_request(Arc::clone(&self.schema), name, text)?;
        let mut text = String::from_utf8_lossy(text).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let change = SavedQueryChange::Put { name: self.name.clone(), form: SavedForm::Request(text), replace: true };
        Ok(Commit { request: (self.schema.name.clone(), change), warnings: Vec::new() })
    }

    fn unchanged(&self) -> &'static str {
        "No query was saved."
    }
}

impl Execute for RequestTarget {
    fn execute(host: &Arc<Host>, _open: &Arc<OpenText<Self>>, (table, change): Self::Request, done: Outcome) {
        let again = Arc::clone(host);
        host.run_elsewhere(Box::new(move || {
            done.tell(match again.mount().db.change_saved_queries(&table, change) {
                Ok(SavedQueryOutcome::Full) => Err(Error::Limit(LimitError::SavedQueries)),
                Ok(_) => Ok(0),
                Err(error) => Err(error),
            });
        }));
    }
}

//! The whole of a file.

use crate::codec::shown;
use crate::fs::prelude::*;
use crate::store::budget::{Budget, Permit};

/// The whole of a file, counted as long as anybody has it open.
#[derive(Debug, Default)]
pub struct Text {
    pub bytes: Vec<u8>,
    _permit: Permit,
}

impl Text {
    /// Counts the text.
    ///
    /// # Errors
    /// `TooManyOpen`.
    pub fn new(mut bytes: Vec<u8>, budget: &Budget) -> Result<Arc<Self>, FsError> {
        bytes.shrink_to_fit();
        let permit = budget.permit(bytes.len()).map_err(|_| FsError::TooManyOpen)?;
        Ok(Arc::new(Self { bytes, _permit: permit }))
    }
}

/// JSON as files show it, and a terminal may.
#[must_use]
pub fn pretty(json: &Value) -> Vec<u8> {
    shown::json(&format!("{json:#}\n")).into_bytes()
}

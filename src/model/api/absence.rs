//! Items that have no entry in an index, and why.

use crate::model::Key;

/// An item of the table without an entry in the index asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    pub key: Key,
    pub reason: AbsenceReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsenceReason {
    /// The item lacks these key attributes of the index: it is sparse.
    Lacks(Vec<String>),
    /// A value cannot be a key of the index.
    Refused(KeyViolation),
    /// The entry comes: the index is being made, or lags.
    NotYet,
}

/// A value that cannot be a key of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyViolation {
    pub attribute: String,
    /// As in `S` or `S of 1 to 2048 bytes`.
    pub expected: String,
    /// As in `N` or `S of 0 bytes`.
    pub found: String,
}

//! What follows a piece of a job, or its end.

use crate::engine::base::keys::SourceId;

/// What is to be done after a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterPiece {
    /// The job has more to do.
    Again,
    Done(Rest),
}

/// What is left to do when a job is over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rest {
    /// The job that came out of it.
    pub job: Option<u32>,
    /// The export whose items are there to be written.
    pub export: Option<String>,
    /// A marked source.
    pub removal: Option<SourceId>,
}

//! What follows a piece of a job.

/// What is to be done after a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterPiece {
    Again,
    /// With the job that came out of it, and the export whose items are there to be written.
    Done {
        job: Option<u32>,
        export: Option<String>,
    },
}

/// Nothing comes after the job.
pub const DONE: AfterPiece = AfterPiece::Done { job: None, export: None };

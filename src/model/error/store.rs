//! Failures of the store: disk, map, corruption.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full: the write changed nothing; reads and deletes go on.
    #[error("the disk is full; free some space and write again")]
    NoSpace,
    #[error("the store failed: {0}")]
    Io(String),
    /// Bytes on disk that this version cannot read.
    #[error("the store holds bytes that cannot be read: {0}")]
    Corrupt(&'static str),
    /// The data file as a whole, which nobody should go on with: the sentence.
    #[error("{0}")]
    Damaged(String),
    #[error("the data directory was written by a newer format, version {0}; use a newer ddbfs")]
    Format(u8),
    #[error("the store is read-only after an earlier failure; restart ddbfs")]
    ReadOnly,
    #[error("the store is shutting down")]
    Closed,
}

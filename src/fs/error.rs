//! What a filesystem call can fail with: the one place where an error becomes an errno, and the sentence that can be read back
//! from `.ddb/errors/last` (FILESYSTEM 9).

use crate::codec::plain_json::PlainJsonError;
use crate::model::Error;

/// The failure of a filesystem call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FsError {
    /// The database said no.
    #[error("{0}")]
    Database(#[from] Error),
    /// A body that is not one JSON object of DynamoDB values.
    #[error("{0}")]
    Json(#[from] PlainJsonError),
    /// A body that is fine JSON but not fit for this file; says what is wrong.
    #[error("{0}")]
    Body(String),
    /// A query path clause that means nothing or is not allowed here; says what is wrong, with a hint.
    #[error("{message}")]
    Clause { message: String, hint: String },
    #[error("no such file or directory")]
    NotFound,
    #[error("the name exists")]
    Exists,
    #[error("not a directory")]
    NotDirectory,
    #[error("is a directory")]
    IsDirectory,
    #[error("the directory has items")]
    NotEmpty,
    /// A write below gsi/, lsi/, query/ or on a derived file.
    #[error("this path is derived from the items and read-only; write the item under items/ instead")]
    Derived,
    #[error("the item was changed by somebody else since it was read")]
    Stale,
    #[error("not allowed: {0}")]
    NotPermitted(&'static str),
    #[error("an item holds at most 400 KB")]
    TooLarge,
    #[error("the name or key is too long")]
    NameTooLong,
    #[error("scratch files are full: 8 MiB a file, 64 MiB in all")]
    ScratchFull,
    #[error("a rename across tables or of a whole folder is not one transaction; copy and delete instead")]
    CrossDevice,
    #[error("bad argument: {0}")]
    Invalid(&'static str),
    /// Not served by this version or not by any; quiet for programs that probe.
    #[error("not supported")]
    NotSupported,
    #[error("bad file handle")]
    BadHandle,
}

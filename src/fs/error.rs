//! Errors of filesystem calls: the one place where an error becomes an errno, and the sentence that
//! `.ddb/errors/last` shows (docs/filesystem.md 9).

use std::borrow::Cow;

pub use nix::errno::Errno;

use crate::codec::plain_json::{PlainJsonError, PlainJsonFault};
use crate::codec::wire::WireError;
use crate::model::Error;
use crate::model::error::exception::VALIDATION;
use crate::model::error::{
    CancellationReason, KeyError, LimitError, QueryError, RemoteCause, RemoteError, StatementError,
    StoreError, StreamError, Throttled, UpdateError, ValueError,
};

/// The failure of a filesystem call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FsError {
    /// The database refused or failed.
    #[error("{0}")]
    Database(#[from] Error),
    /// A request of the API failed: the exception and the sentence of its response, which depend on
    /// the operation.
    #[error("{text}")]
    Api {
        failure: Box<FsError>,
        exception: &'static str,
        text: String,
    },
    /// A body that is not one JSON object of DynamoDB values.
    #[error("{0}")]
    Json(#[from] PlainJsonError),
    /// A body that is valid JSON but does not fit this file; the text is the reason.
    #[error("{0}")]
    Body(String),
    /// A line of a batch, by its number from 1.
    #[error("line {0}: {1}")]
    Line(u64, Box<FsError>),
    /// A clause of a query path that is unknown or not allowed here; the message is the reason,
    /// with a hint.
    #[error("{message}")]
    Clause { message: String, hint: String },
    /// A file was moved onto an item, and its text cannot become one. It has its own errno, since
    /// `mv` explains EINVAL as "cannot move to a subdirectory of itself".
    #[error("{0}")]
    InvalidMove(Box<FsError>),
    #[error("no such file or directory")]
    NotFound,
    /// The item from which a search begins, by its path.
    #[error("there is no {0}: a search begins at an item, or at numbers (near/@vector=…)")]
    NoStart(String),
    #[error("the name exists")]
    Exists,
    #[error("not a directory")]
    NotDirectory,
    #[error("is a directory")]
    IsDirectory,
    #[error("the directory has items")]
    NotEmpty,
    /// A write below gsi/, lsi/, query/ or on a derived file.
    #[error(
        "this path is derived from the items and read-only; write the item under items/ instead"
    )]
    Derived,
    #[error("the item was changed by somebody else since it was read")]
    Stale,
    /// The name contains a version that the item no longer has.
    #[error("the item is not of that version any more")]
    VersionMismatch,
    /// The kernel uses an inode number that is no longer valid.
    #[error("this file is not known any more; open it by its path again")]
    StaleInode,
    /// A shortened `after=` token: the entry that it names by digest was deleted.
    #[error("the item that this after= token follows is gone; start the query again")]
    TokenExpired,
    #[error("not allowed: {0}")]
    NotPermitted(&'static str),
    #[error("an item holds at most 400 KB")]
    TooLarge,
    #[error("the name or key is too long")]
    NameTooLong,
    #[error(
        "a query path has at most 64 clauses; put several conditions into one: where=a = 1 AND b = 2"
    )]
    TooManyClauses,
    #[error(
        "scratch files are full: 8 MiB a file, 64 MiB in all; ls -l .ddb/scratch lists them, rm there frees them"
    )]
    ScratchFull,
    /// A write would make an open file exceed the memory of open files.
    #[error(
        "open files hold all the memory that they may (512 MiB, or a quarter of the process's); close some"
    )]
    OpenFull,
    /// A result that is too long for memory does not fit on disk.
    #[error(
        "there is no room to keep this result, so its size is not known: {0}; reading it with cat through a pipe works"
    )]
    SpoolFull(&'static str),
    /// One more file cannot be opened.
    #[error(
        "open files hold all the memory that they may (512 MiB, or a quarter of the process's): no other can be opened; close some"
    )]
    TooManyOpen,
    /// There is no memory to make the text to be read.
    #[error(
        "open files hold all the memory that they may (512 MiB, or a quarter of the process's): there is no memory for what is read here; close some"
    )]
    ReadFull,
    #[error(
        "a rename across tables, or of a folder of more than 100 items or 4 MB, is not one transaction; copy and delete instead"
    )]
    CrossDevice,
    #[error("bad argument: {0}")]
    Invalid(&'static str),
    /// An operation that no version or not this one supports; quiet, for programs that probe.
    #[error("not supported")]
    NotSupported,
    /// An unsupported operation that is no probe: the text names the alternative.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// The failure of an earlier call on the same open file, which reported it.
    #[error("{0}")]
    Reported(Box<FsError>),
    /// A resource is used up or not ready; the text is advice.
    #[error("busy: {0}")]
    Busy(&'static str),
    /// A waiting read, ended by a signal.
    #[error("interrupted")]
    Interrupted,
    /// An extended attribute that does not exist.
    #[error("no such attribute")]
    NoAttribute,
    #[error("bad file handle")]
    BadHandle,
    /// A defect of ddbfs: the call was abandoned.
    #[error("an internal error; see the log of ddbfs")]
    Internal,
}

/// Converts the error of a text that is a request.
impl From<WireError> for FsError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Request(error) => Self::Database(error),
            other => Self::Body(other.to_string()),
        }
    }
}

impl FsError {
    /// Returns the errno of this failure (docs/filesystem.md 9).
    #[must_use]
    pub fn errno(&self) -> Errno {
        self.classify().0
    }

    /// Returns the name of the errno, such as `EINVAL`.
    #[must_use]
    pub fn errno_name(&self) -> String {
        format!("{:?}", self.errno())
    }

    /// Returns DynamoDB's exception for this failure, where it has one.
    #[must_use]
    pub fn exception(&self) -> Option<&'static str> {
        self.classify().1
    }

    fn classify(&self) -> (Errno, Option<&'static str>) {
        const CONDITION_FAILED: Option<&str> = Some("ConditionalCheckFailedException");
        let errno = match self {
            Self::Database(error) => return (database_errno(error), Some(error.exception())),
            Self::Json(error) => {
                let is_too_large =
                    matches!(error.fault, PlainJsonFault::Value(ValueError::ItemTooLarge));
                return (
                    if is_too_large {
                        Errno::EFBIG
                    } else {
                        Errno::EINVAL
                    },
                    Some(VALIDATION),
                );
            }
            Self::InvalidMove(error) => match error.classify() {
                (Errno::EINVAL, exception) => return (Errno::EBADMSG, exception),
                told => return told,
            },
            Self::Api { exception, .. } if exception.ends_with("NotFoundException") => {
                return (Errno::ENOENT, Some(exception));
            }
            Self::Api {
                failure, exception, ..
            } => return (failure.errno(), Some(exception)),
            Self::Line(_, error) | Self::Reported(error) => return error.classify(),
            Self::Body(_) => return (Errno::EINVAL, Some(VALIDATION)),
            Self::TooLarge => return (Errno::EFBIG, Some(VALIDATION)),
            Self::Exists => return (Errno::EEXIST, CONDITION_FAILED),
            Self::Stale | Self::VersionMismatch => return (Errno::ESTALE, CONDITION_FAILED),
            Self::Clause { .. } | Self::Invalid(_) => Errno::EINVAL,
            Self::NotFound | Self::NoStart(_) => Errno::ENOENT,
            Self::NotDirectory => Errno::ENOTDIR,
            Self::IsDirectory => Errno::EISDIR,
            Self::NotEmpty => Errno::ENOTEMPTY,
            Self::Derived => Errno::EROFS,
            Self::StaleInode | Self::TokenExpired => Errno::ESTALE,
            Self::NotPermitted(_) => Errno::EPERM,
            Self::NameTooLong | Self::TooManyClauses => Errno::ENAMETOOLONG,
            Self::ScratchFull | Self::OpenFull | Self::SpoolFull(_) => Errno::ENOSPC,
            Self::TooManyOpen => Errno::ENFILE,
            Self::ReadFull => Errno::ENOMEM,
            Self::CrossDevice => Errno::EXDEV,
            Self::NotSupported | Self::Unsupported(_) => Errno::EOPNOTSUPP,
            Self::Busy(_) => Errno::EBUSY,
            Self::Interrupted => Errno::EINTR,
            Self::NoAttribute => Errno::ENODATA,
            Self::BadHandle => Errno::EBADF,
            Self::Internal => Errno::EIO,
        };
        (errno, None)
    }

    /// True if the failure is kept for `.ddb/errors/last`. Programs probe names and attributes all
    /// the time; those failures would push out the one that a person wants to read.
    #[must_use]
    pub fn is_logged(&self) -> bool {
        // No program probes with a batch or a request, and a refusal with a sentence is meant to be
        // read.
        if matches!(
            self,
            Self::Line(..) | Self::Api { .. } | Self::Database(Error::Unavailable(_))
        ) {
            return true;
        }
        !matches!(
            self.errno(),
            Errno::ENOENT
                | Errno::EOPNOTSUPP
                | Errno::ENODATA
                | Errno::EBADF
                | Errno::EINTR
                | Errno::ENOTDIR
                | Errno::EISDIR
                // `mkdir -p` and O_EXCL loops expect these.
                | Errno::EEXIST
        )
    }

    /// True if the failure is of no interest to readers of `.ddb/errors/last`: reported already,
    /// retried by the kernel, or a program's probe.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        use FsError::{Interrupted, NoAttribute, NotSupported, Reported, Stale, StaleInode};
        matches!(
            self,
            Reported(_) | Stale | StaleInode | NotSupported | NoAttribute | Interrupted
        )
    }

    /// True if the error says that a name does not exist, or cannot exist here; false if it is not
    /// known whether it does.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(
            self.errno(),
            Errno::ENOENT | Errno::EOPNOTSUPP | Errno::EINVAL
        )
    }

    /// Returns the explanation below the first line of `.ddb/errors/last`, each line with its
    /// newline.
    #[must_use]
    pub fn explanation(&self) -> String {
        match self {
            Self::Stale | Self::VersionMismatch => format!("  {self}\n  hint: {}\n", advice(self)),
            Self::Clause { message, hint } if !hint.is_empty() => {
                format!("  {message}\n  hint: {hint}\n")
            }
            Self::Line(number, error) => {
                let inner = error.explanation();
                let rest = "  hint: the other lines are done; batch/result.json tells of each that is not\n";
                format!("  line {number}: {}{rest}", inner.trim_start())
            }
            other => match other.throttled() {
                Some(throttled) => format!(
                    "  {other}\n  {}.\n  hint: {}\n",
                    throttled.describe(),
                    advice(other)
                ),
                None => format!("  {other}\n"),
            },
        }
    }

    /// Returns the first limit that was exceeded, by a request or by one of a transaction.
    #[must_use]
    pub fn throttled(&self) -> Option<&Throttled> {
        match self {
            Self::Api { failure, .. } => failure.throttled(),
            Self::Database(Error::Throttled(throttled)) => Some(throttled),
            Self::Database(Error::TransactionCanceled(cancellation)) => {
                cancellation.0.iter().find_map(|reason| match reason {
                    CancellationReason::Throttled(throttled) => Some(&**throttled),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

/// Returns advice on an error with a message that has none: a sentence or nothing.
#[must_use]
pub fn advice(error: &FsError) -> Cow<'static, str> {
    match error {
        FsError::Stale => "read it again, then write; with -o lww the last writer wins.".into(),
        FsError::VersionMismatch => {
            "its etag is in X.meta; with -o lww X.json takes any text, whatever the version.".into()
        }
        FsError::Exists => "without O_EXCL (bash: set +C) the write replaces it.".into(),
        _ => error
            .throttled()
            .map(|throttled| format!("{}.", throttled.hint()).into())
            .unwrap_or_default(),
    }
}

fn database_errno(error: &Error) -> Errno {
    match error {
        Error::Value(ValueError::ItemTooLarge) => Errno::EFBIG,
        Error::Key(KeyError::PartitionTooLarge | KeyError::SortTooLarge) => Errno::ENAMETOOLONG,
        Error::Update(UpdateError::ItemTooLarge) => Errno::EFBIG,
        Error::Stream(StreamError::NotFound(_) | StreamError::ShardNotFound) => Errno::ENOENT,
        Error::Query(QueryError::Backfilling(_) | QueryError::SearchBackfilling(_))
        | Error::Throttled(_)
        | Error::TooManyValues => Errno::EBUSY,
        Error::Stream(StreamError::Trimmed | StreamError::ExpiredIterator) => Errno::ESTALE,
        Error::Statement(StatementError::Duplicate) => Errno::EEXIST,
        Error::Value(_)
        | Error::Key(_)
        | Error::Expression(_)
        | Error::Update(_)
        | Error::Legacy(_)
        | Error::Schema(_)
        | Error::Query(_)
        | Error::Stream(_)
        | Error::TimeToLive(_)
        | Error::Batch(_)
        | Error::Transaction(_)
        | Error::IdempotentParameterMismatch
        | Error::UpdateTable(_)
        | Error::Resource(_)
        | Error::Recovery(_)
        | Error::Statement(_)
        | Error::NotSupported(_) => Errno::EINVAL,
        Error::Unavailable(_) => Errno::EOPNOTSUPP,
        Error::ReadOnly => Errno::EROFS,
        Error::Budget(_) => Errno::EDQUOT,
        Error::Interrupted => Errno::EINTR,
        // Only one index at a time may be built: another try may succeed.
        Error::Limit(LimitError::OnlineIndexes) => Errno::EBUSY,
        Error::Limit(_) => Errno::EPERM,
        Error::InUse(_) => Errno::EBUSY,
        Error::ResourceNotFound | Error::TableNotFound(_) | Error::NotFound(_) => Errno::ENOENT,
        Error::TableAlreadyExists(_) => Errno::EEXIST,
        Error::TableBeingDeleted(_) => Errno::EBUSY,
        Error::DeletionProtected => Errno::EPERM,
        Error::Remote(error) => remote_errno(error),
        Error::ConditionalCheckFailed { .. } | Error::TransactionCanceled(_) => Errno::ECANCELED,
        Error::ItemCollectionSizeLimitExceeded | Error::Store(StoreError::NoSpace) => Errno::ENOSPC,
        Error::Store(
            StoreError::Io(_)
            | StoreError::Corrupt(_)
            | StoreError::CorruptRecord(_)
            | StoreError::Damaged(_)
            | StoreError::Format(_)
            | StoreError::ReadOnly
            | StoreError::Closed,
        ) => Errno::EIO,
    }
}

fn remote_errno(error: &RemoteError) -> Errno {
    match error.cause() {
        RemoteCause::Invalid => Errno::EINVAL,
        RemoteCause::Denied => Errno::EACCES,
        RemoteCause::NotFound => Errno::ENOENT,
        RemoteCause::InUse | RemoteCause::Throttled => Errno::EBUSY,
        RemoteCause::Limit => Errno::EPERM,
        RemoteCause::Unsupported => Errno::EOPNOTSUPP,
        RemoteCause::Failed => Errno::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::Cancellation;

    #[test]
    fn table_of_errnos() {
        let cases: &[(FsError, &str)] = &[
            (FsError::Body("x".to_owned()), "EINVAL"),
            (
                FsError::InvalidMove(Box::new(FsError::Body("x".to_owned()))),
                "EBADMSG",
            ),
            (FsError::InvalidMove(Box::new(FsError::TooLarge)), "EFBIG"),
            (FsError::NotFound, "ENOENT"),
            (FsError::NoStart("items/a.json".into()), "ENOENT"),
            (FsError::Database(Error::ResourceNotFound), "ENOENT"),
            (FsError::Exists, "EEXIST"),
            (FsError::Stale, "ESTALE"),
            (FsError::VersionMismatch, "ESTALE"),
            (FsError::StaleInode, "ESTALE"),
            (FsError::TokenExpired, "ESTALE"),
            (
                FsError::Database(Error::ConditionalCheckFailed { item: None }),
                "ECANCELED",
            ),
            (
                FsError::Database(Error::TransactionCanceled(Cancellation(Vec::new()))),
                "ECANCELED",
            ),
            (
                FsError::Database(Error::Value(ValueError::ItemTooLarge)),
                "EFBIG",
            ),
            (
                FsError::Database(Error::Key(KeyError::SortTooLarge)),
                "ENAMETOOLONG",
            ),
            (
                FsError::Database(Error::Store(StoreError::NoSpace)),
                "ENOSPC",
            ),
            (
                FsError::Database(Error::Store(StoreError::Corrupt("x"))),
                "EIO",
            ),
            (
                FsError::Database(Error::Query(QueryError::ConsistentOnGlobal)),
                "EINVAL",
            ),
            (
                FsError::Database(Error::Query(QueryError::Backfilling("x".to_owned()))),
                "EBUSY",
            ),
            (FsError::Database(Error::DeletionProtected), "EPERM"),
            (FsError::Database(Error::Unavailable("x")), "EOPNOTSUPP"),
            (FsError::Database(Error::Budget("x".to_owned())), "EDQUOT"),
            (FsError::Database(Error::ReadOnly), "EROFS"),
            (
                FsError::Database(RemoteError::new("ThrottlingException", 400, "x").into()),
                "EBUSY",
            ),
            (
                FsError::Database(RemoteError::new("AccessDeniedException", 400, "x").into()),
                "EACCES",
            ),
            (
                FsError::Database(RemoteError::new("ValidationException", 400, "x").into()),
                "EINVAL",
            ),
            (
                FsError::Database(RemoteError::new("UnknownOperationException", 400, "x").into()),
                "EOPNOTSUPP",
            ),
            (
                FsError::Database(RemoteError::new("", 503, "x").into()),
                "EIO",
            ),
            (
                FsError::Database(RemoteError::unreachable("x").into()),
                "EIO",
            ),
            (FsError::ScratchFull, "ENOSPC"),
            (FsError::OpenFull, "ENOSPC"),
            (FsError::TooManyOpen, "ENFILE"),
            (FsError::ReadFull, "ENOMEM"),
            (FsError::NotEmpty, "ENOTEMPTY"),
            (FsError::TooManyClauses, "ENAMETOOLONG"),
            (FsError::Derived, "EROFS"),
            (FsError::CrossDevice, "EXDEV"),
        ];
        for (error, name) in cases {
            assert_eq!(error.errno_name(), *name, "{error:?}");
        }
    }
}

//! The mapping of LMDB's errors to the store's.

use std::{fmt, io};

use lmdb::Error;

use crate::store::StoreError;

/// True if the disk has no room, or its user's quota is used up.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

/// Converts a failure of the disk; `action` names the failed action.
pub(super) fn disk_error(action: impl fmt::Display, error: &io::Error) -> StoreError {
    if is_full(error) {
        StoreError::NoSpace
    } else {
        StoreError::Io(format!("{action}: {error}"))
    }
}

/// Converts an error of LMDB.
pub(super) fn store_error(error: Error) -> StoreError {
    match error {
        Error::Other(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => StoreError::NoSpace,
        Error::Corrupted => StoreError::Corrupt("a page of the wrong kind"),
        Error::PageNotFound => StoreError::Corrupt("a page is missing"),
        Error::Invalid => StoreError::Corrupt("data.mdb is not an LMDB file"),
        Error::VersionMismatch => StoreError::Corrupt("data.mdb is of another version of LMDB"),
        Error::Panic => StoreError::ReadOnly,
        Error::ReadersFull => StoreError::Io("too many readers at once".to_owned()),
        Error::KeyExist
        | Error::NotFound
        | Error::MapFull
        | Error::DbsFull
        | Error::TlsFull
        | Error::TxnFull
        | Error::CursorFull
        | Error::PageFull
        | Error::MapResized
        | Error::Incompatible
        | Error::BadRslot
        | Error::BadTxn
        | Error::BadValSize
        | Error::BadDbi
        | Error::Other(_) => StoreError::Io(error.to_string()),
    }
}

/// True if nothing may be written after this failure of a commit: the content of the disk is
/// unknown or damaged.
pub(super) fn is_fatal(error: Error) -> bool {
    // After EIO the kernel may have dropped the dirty pages, so that a later sync would succeed.
    matches!(
        error,
        Error::Panic | Error::Corrupted | Error::PageNotFound | Error::Other(libc::EIO)
    )
}

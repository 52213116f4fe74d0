//! What an LMDB error means to the store.

use std::{fmt, io};

use lmdb::Error;

use crate::store::StoreError;

/// True if the disk has no room, or its user may have no more.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

/// What has failed on the disk, and why.
pub(super) fn failed(what: impl fmt::Display, error: &io::Error) -> StoreError {
    if is_full(error) {
        StoreError::NoSpace
    } else {
        StoreError::Io(format!("{what}: {error}"))
    }
}

/// The one mapping from LMDB's errors.
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

/// Whether nothing may be written after this failure of a commit: what is on disk is not known, or is damaged.
pub(super) fn is_fatal(error: Error) -> bool {
    matches!(
        error,
        Error::Panic | Error::Corrupted | Error::PageNotFound | Error::Other(libc::EIO)
    )
}

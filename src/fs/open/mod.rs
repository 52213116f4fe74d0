//! Open files and directories: the handles that FUSE calls `fh`, and the parts of them.
//!
//! ```text
//! handle.rs     the table of handles by number, and the memory that they may hold
//! directory.rs  a directory: readdir over listings of any size
//! dirent.rs     batches of directory entries with their places; directories with fixed names
//! computed/     a file that is made on demand: its bytes, its size, the capacity that it consumes
//! node_ops.rs   the operations of a node, which each kind of node implements
//! open_text.rs  a file that holds one text, and the order of the calls on it
//! text.rs       runs those calls, which commit by the write state machine; the calls on any other open file
//! host/         the state of the mount that operations of nodes share
//! put.rs        carries out the text of an item's file as a PutItem
//! ```

pub mod computed;
pub mod directory;
pub mod dirent;
pub mod handle;
pub mod host;
pub mod node_ops;
pub mod open_text;
pub(super) mod prelude;
mod put;
pub mod text;

use std::ops::Range;

use super::mount::text_cache::FileText;

use crate::fs::prelude::*;
use crate::model::api::Completion;

/// A callback that gets the result of a call, once; it may be called from any thread and must not
/// block.
pub type Reply<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// A callback that gets the version that a request stored.
pub type VersionReply = Completion<Version>;

/// Returns the range of the `size` bytes at `offset` that exist in a text of `length` bytes.
#[must_use]
pub fn sub_range(length: usize, offset: u64, size: usize) -> Range<usize> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(length);
    start..start.saturating_add(size).min(length)
}

/// Returns the text of the name or target of a link.
///
/// # Errors
/// `Invalid` if the bytes are not UTF-8.
pub fn link_text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| FsError::Invalid("names and targets are UTF-8"))
}

/// The flags of an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFlags {
    pub write: bool,
    /// O_TRUNC.
    pub truncate: bool,
    /// O_EXCL, of create.
    pub exclusive: bool,
    /// O_APPEND.
    pub append: bool,
}

/// Bytes that were read: a part of a text that is kept alive with them, or bytes of their own.
#[derive(Debug)]
pub struct ReadBytes {
    source: BytesSource,
    range: Range<usize>,
}

#[derive(Debug)]
enum BytesSource {
    Text(Arc<FileText>),
    Own(Vec<u8>),
}

impl ReadBytes {
    /// Makes a part of its own of these bytes.
    #[must_use]
    pub fn owned(bytes: Vec<u8>) -> Self {
        Self {
            range: 0..bytes.len(),
            source: BytesSource::Own(bytes),
        }
    }

    /// Returns the bytes of a text at `offset`, fewer than `size` only at its end.
    #[must_use]
    pub fn from_text(text: &Arc<FileText>, offset: u64, size: usize) -> Self {
        Self {
            range: sub_range(text.bytes.len(), offset, size),
            source: BytesSource::Text(Arc::clone(text)),
        }
    }
}

impl AsRef<[u8]> for ReadBytes {
    fn as_ref(&self) -> &[u8] {
        let all = match &self.source {
            BytesSource::Own(bytes) => bytes.as_slice(),
            BytesSource::Text(text) => text.bytes.as_slice(),
        };
        let bytes = all.get(self.range.clone());
        debug_assert!(bytes.is_some(), "{:?} of {} bytes", self.range, all.len());
        bytes.unwrap_or_default()
    }
}

//! Open files and directories.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};

use super::FsError;
use super::computed::OpenComputed;
use super::directory_stream::DirectoryStream;
use super::journal::same_process;
use super::special::OpenSpecial;
use super::write::scratch::FileId;
use super::write::{ItemTarget, Target, TextWriter};

/// What a handle number stands for.
#[derive(Debug)]
pub enum Handle {
    /// A file as it was when it was opened: a reader never sees parts of two versions.
    Text(Vec<u8>),
    /// A file that is made as it is read: a query's result.
    Computed(Box<OpenComputed>),
    Directory(Mutex<DirectoryStream>),
    Item(Arc<OpenText<ItemTarget>>),
    Scratch(FileId),
    Special(Arc<dyn OpenSpecial>),
}

/// A call that waits for an earlier one of its handle.
pub type Waiting = Box<dyn FnOnce() + Send>;

/// A file open for writing that holds one JSON object.
///
/// A call whose commit is under way has not returned yet, but others of the same handle may come, from other threads and
/// processes: they wait in line, without a thread.
#[derive(Debug)]
pub struct OpenText<T> {
    /// Inode number of the node.
    pub ino: u64,
    /// Path below the mount, for people.
    pub path: String,
    /// The thread that opened it, as the kernel names it.
    pub opener: u32,
    pub state: Mutex<OpenState<T>>,
    /// The thread that wrote last.
    writer: AtomicU32,
}

/// What an [`OpenText`] guards.
pub struct OpenState<T> {
    pub writer: TextWriter<T>,
    pub committing: bool,
    pub waiting: VecDeque<Waiting>,
    /// Bytes counted for the text, see [`Handles::charge`].
    pub charged: usize,
}

impl<T> std::fmt::Debug for OpenState<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenState").field("committing", &self.committing).finish_non_exhaustive()
    }
}

impl<T: Target> OpenText<T> {
    pub fn new(ino: u64, path: String, opener: u32, writer: TextWriter<T>) -> Self {
        let state = OpenState { writer, committing: false, waiting: VecDeque::new(), charged: 0 };
        Self { ino, path, opener, state: Mutex::new(state), writer: AtomicU32::new(opener) }
    }

    /// The thread that wrote last, else the one that opened it.
    pub fn writer(&self) -> u32 {
        self.writer.load(Ordering::Relaxed)
    }

    /// A thread writes.
    pub fn written_by(&self, thread: u32) {
        self.writer.store(thread, Ordering::Relaxed);
    }
}

/// Bytes that all open files hold together: what readers see, what writers have written. The daemon's memory is bounded by it.
pub const OPEN_BYTES_MAX: usize = 512 * 1024 * 1024;

/// An open file.
#[derive(Debug)]
struct Opened {
    handle: Arc<Handle>,
    ino: u64,
    /// The thread that opened it, as the kernel names it.
    opener: u32,
    since_ms: u64,
}

/// Handle numbers; never reused within a mount.
#[derive(Debug, Default)]
pub struct Handles {
    open: RwLock<HashMap<u64, Opened>>,
    last: AtomicU64,
    bytes: AtomicUsize,
}

impl Handles {
    /// A number for a new handle of an inode, opened by a thread at `since_ms`.
    ///
    /// # Errors
    /// `OpenFull`.
    pub fn insert(&self, handle: Handle, ino: u64, opener: u32, since_ms: u64) -> Result<u64, FsError> {
        self.charge(0, handle.snapshot_bytes())?;
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.write().insert(number, Opened { handle: Arc::new(handle), ino, opener, since_ms });
        Ok(number)
    }

    #[must_use]
    pub fn get(&self, number: u64) -> Option<Arc<Handle>> {
        self.open.read().get(&number).map(|opened| Arc::clone(&opened.handle))
    }

    /// A handle of this inode and since when it is open. Looks at every handle.
    #[must_use]
    pub fn of_inode(&self, ino: u64) -> Option<(Arc<Handle>, u64)> {
        let open = self.open.read();
        open.values().find(|opened| opened.ino == ino).map(|opened| (Arc::clone(&opened.handle), opened.since_ms))
    }

    /// The handle of this inode that the process of this thread opened last. Looks at every handle.
    #[must_use]
    pub fn of_process(&self, ino: u64, thread: u32) -> Option<Arc<Handle>> {
        let open = self.open.read();
        let mut own: Vec<(u64, u32, Arc<Handle>)> = open
            .iter()
            .filter(|(_, opened)| opened.ino == ino)
            .map(|(number, opened)| (*number, opened.opener, Arc::clone(&opened.handle)))
            .collect();
        drop(open);
        own.sort_by_key(|(number, ..)| std::cmp::Reverse(*number));
        own.into_iter().find(|(_, opener, _)| same_process(*opener, thread)).map(|(.., handle)| handle)
    }

    pub fn remove(&self, number: u64) -> Option<Arc<Handle>> {
        let handle = self.open.write().remove(&number)?.handle;
        self.discharge(handle.snapshot_bytes());
        Some(handle)
    }

    /// What a handle holds grows or shrinks.
    ///
    /// # Errors
    /// `OpenFull`; then nothing is counted.
    pub fn charge(&self, before: usize, after: usize) -> Result<(), FsError> {
        if after <= before {
            self.discharge(before - after);
            return Ok(());
        }
        let grown = after - before;
        let fits = |held: usize| held.checked_add(grown).filter(|held| *held <= OPEN_BYTES_MAX);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map(drop).map_err(|_| FsError::OpenFull)
    }

    fn discharge(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Handle {
    /// Bytes that it holds as long as it is open.
    fn snapshot_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Computed(_) | Self::Directory(_) | Self::Item(_) | Self::Scratch(_) | Self::Special(_) => 0,
        }
    }

    /// Size of the file as this handle sees it, if it sees its own.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Text(text) => Some(text.len() as u64),
            Self::Item(open) => Some(open.state.lock().writer.len() as u64),
            Self::Special(open) => open.size(),
            Self::Computed(open) => open.computation.size().and_then(Result::ok),
            Self::Directory(_) | Self::Scratch(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_open_files_is_bounded_and_given_back() {
        let handles = Handles::default();
        let text = || Handle::Text(vec![b'x'; OPEN_BYTES_MAX / 4]);
        let open: Vec<u64> = (0..4).map(|ino| handles.insert(text(), ino, 1, 0).unwrap()).collect();
        assert_eq!(handles.insert(Handle::Text(vec![b'x']), 9, 1, 0), Err(FsError::OpenFull));
        assert_eq!(handles.charge(0, 1), Err(FsError::OpenFull));
        handles.remove(open[0]).unwrap();
        assert_eq!(handles.charge(0, OPEN_BYTES_MAX / 4), Ok(()));
        assert_eq!(handles.charge(OPEN_BYTES_MAX / 4, 1), Ok(()));
        handles.insert(Handle::Text(vec![b'x']), 9, 1, 7).unwrap();
        assert_eq!(handles.of_inode(9).map(|(handle, since)| (handle.size(), since)), Some((Some(1), 7)));
        assert!(handles.of_inode(0).is_none());
    }
}

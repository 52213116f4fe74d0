//! Open files and directories.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::directory_stream::DirectoryStream;
use super::query::ResultReader;
use super::special::OpenSpecial;
use super::write::scratch::FileId;
use super::write::{ItemTarget, Target, TextWriter};

/// What a handle number stands for.
#[derive(Debug)]
pub enum Handle {
    /// A file as it was when it was opened: a reader never sees parts of two versions.
    Text(Vec<u8>),
    /// A query's result, produced as it is read.
    Results(Mutex<ResultReader>),
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
}

/// What an [`OpenText`] guards.
pub struct OpenState<T> {
    pub writer: TextWriter<T>,
    pub committing: bool,
    pub waiting: VecDeque<Waiting>,
}

impl<T> std::fmt::Debug for OpenState<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenState").field("committing", &self.committing).finish_non_exhaustive()
    }
}

impl<T: Target> OpenText<T> {
    pub fn new(ino: u64, path: String, opener: u32, writer: TextWriter<T>) -> Self {
        Self { ino, path, opener, state: Mutex::new(OpenState { writer, committing: false, waiting: VecDeque::new() }) }
    }
}

/// Handle numbers; never reused within a mount.
#[derive(Debug, Default)]
pub struct Handles {
    open: RwLock<HashMap<u64, Arc<Handle>>>,
    last: AtomicU64,
}

impl Handles {
    /// A number for a new handle.
    pub fn insert(&self, handle: Handle) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.write().insert(number, Arc::new(handle));
        number
    }

    #[must_use]
    pub fn get(&self, number: u64) -> Option<Arc<Handle>> {
        self.open.read().get(&number).cloned()
    }

    pub fn remove(&self, number: u64) -> Option<Arc<Handle>> {
        self.open.write().remove(&number)
    }

    /// Every open handle.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Handle>> {
        self.open.read().values().cloned().collect()
    }
}

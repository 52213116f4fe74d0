//! An open file that holds one text, and the order of the calls on it. `text.rs` carries the calls out: this file lies below the host.

use std::fmt;
use std::sync::atomic::AtomicU32;

use crate::database::pool::Work;
use crate::fs::prelude::*;
use crate::fs::write::{Target, TextWriter};
use std::collections::VecDeque;

/// Calls on one handle in their order: those that come while one is carried out wait in line, without a thread.
#[derive(Default)]
pub struct Turns {
    is_taken: bool,
    waiting: VecDeque<Work>,
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns")
            .field("is_taken", &self.is_taken)
            .finish_non_exhaustive()
    }
}

impl Turns {
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// A call begins; it gives the turn back.
    pub fn take(&mut self) {
        self.is_taken = true;
    }

    /// A call comes again when the one that is carried out has ended.
    pub fn wait(&mut self, again: Work) {
        self.waiting.push_back(again);
    }

    /// A call has ended. Those that waited are to be made, without a lock: the first may take the turn again, the rest then queue up
    /// behind it in their order.
    #[must_use]
    pub fn give(&mut self) -> VecDeque<Work> {
        self.is_taken = false;
        std::mem::take(&mut self.waiting)
    }
}

/// A file open for writing that holds one JSON object.
///
/// A call whose commit is under way has not returned yet, but others of the same handle may come, from other threads and
/// processes.
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
    /// One is taken while a commit is under way.
    pub turns: Turns,
}

impl<T> std::fmt::Debug for OpenState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenState")
            .field("turns", &self.turns)
            .finish_non_exhaustive()
    }
}

impl<T> OpenText<T> {
    /// Bytes of memory of the text.
    pub fn held_bytes(&self) -> usize {
        self.state.lock().writer.held_bytes()
    }
}

impl<T: Target> OpenText<T> {
    pub fn new(ino: u64, path: String, opener: u32, writer: TextWriter<T>) -> Self {
        let state = OpenState {
            writer,
            turns: Turns::default(),
        };
        Self {
            ino,
            path,
            opener,
            state: Mutex::new(state),
            writer: AtomicU32::new(opener),
        }
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

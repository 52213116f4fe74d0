//! An open file that holds one text, and the order of the calls on it. `text.rs` carries the calls out: this file lies below the host.

use std::fmt;
use std::sync::atomic::AtomicU32;

use crate::database::pool::Work;
use crate::fs::{
    prelude::*,
    write::{Target, TextWriter},
};
use std::collections::VecDeque;

/// The order of the calls on one handle: a call that comes while another is carried out waits in
/// line, without a thread.
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

    /// Takes the turn for a call that begins.
    pub fn take(&mut self) {
        debug_assert!(!self.is_taken, "two calls have the turn");
        self.is_taken = true;
    }

    /// Queues a call until the one that has the turn ends.
    pub fn wait(&mut self, again: Work) {
        self.waiting.push_back(again);
    }

    /// Gives the turn back and returns the calls that waited. Make them without a lock: the first
    /// may take the turn again, and the rest then queue up behind it in their order.
    #[must_use]
    pub fn give(&mut self) -> VecDeque<Work> {
        debug_assert!(self.is_taken, "no call has the turn");
        self.is_taken = false;
        std::mem::take(&mut self.waiting)
    }
}

/// A file that is open for writing and holds one JSON object.
///
/// A call that is being committed has not returned yet, but other calls on the same handle may
/// come, from other threads and processes.
#[derive(Debug)]
pub struct OpenText<T> {
    /// The inode number of the node.
    pub ino: u64,
    /// The path below the mount, for people.
    pub path: String,
    /// The thread that opened it, by the kernel's thread id.
    pub opener: u32,
    pub state: Mutex<OpenState<T>>,
    /// The thread that wrote last.
    writer: AtomicU32,
}

/// The state that the lock of an [`OpenText`] guards.
pub struct OpenState<T> {
    pub writer: TextWriter<T>,
    /// The turns of the calls; one is taken while a commit is under way.
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
    /// Returns the bytes of memory of the text.
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

    /// Returns the thread that wrote last, or else the one that opened the file.
    pub fn writer(&self) -> u32 {
        self.writer.load(Ordering::Relaxed)
    }

    /// Notes the thread that writes.
    pub fn written_by(&self, thread: u32) {
        self.writer.store(thread, Ordering::Relaxed);
    }
}

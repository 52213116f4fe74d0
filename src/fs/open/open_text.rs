//! An open file that holds one JSON text: its write state machine ([`TextWriter`]), and the queue
//! that puts the calls on it in order ([`CallQueue`]). `text.rs` carries the calls out: this file
//! lies below the host.

use std::sync::atomic::AtomicU32;

use crate::database::thread_pool::PoolJob;
use crate::fs::{
    prelude::*,
    write::{TextTarget, TextWriter},
};
use std::collections::VecDeque;

/// The order of the calls on one handle: a call that comes while another is carried out waits in
/// line, without a thread.
#[derive(Default)]
pub struct CallQueue {
    is_busy: bool,
    waiting: VecDeque<PoolJob>,
}

opaque_debug!(CallQueue);

impl CallQueue {
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Takes the turn for a call that begins.
    pub fn begin(&mut self) {
        debug_assert!(!self.is_busy, "two calls have the turn");
        self.is_busy = true;
    }

    /// Queues a call until the one that has the turn ends.
    pub fn push(&mut self, retry: PoolJob) {
        self.waiting.push_back(retry);
    }

    /// Gives the turn back and returns the calls that waited. Make them without a lock: the first
    /// may take the turn again, and the rest then queue up behind it in their order.
    #[must_use]
    pub fn finish(&mut self) -> VecDeque<PoolJob> {
        debug_assert!(self.is_busy, "no call has the turn");
        self.is_busy = false;
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
    pub state: Mutex<OpenTextState<T>>,
    /// The thread that wrote last.
    last_writer: AtomicU32,
}

/// The state that the lock of an [`OpenText`] guards.
#[derive(Debug)]
pub struct OpenTextState<T> {
    pub writer: TextWriter<T>,
    /// The turns of the calls; one is taken while a commit is under way.
    pub queue: CallQueue,
}

impl<T> OpenText<T> {
    /// Returns the bytes of memory of the text.
    pub fn held_bytes(&self) -> usize {
        self.state.lock().writer.held_bytes()
    }
}

impl<T: TextTarget> OpenText<T> {
    pub fn new(ino: u64, path: String, opener: u32, writer: TextWriter<T>) -> Self {
        let state = OpenTextState {
            writer,
            queue: CallQueue::default(),
        };
        Self {
            ino,
            path,
            opener,
            state: Mutex::new(state),
            last_writer: AtomicU32::new(opener),
        }
    }

    /// Returns the thread that wrote last, or else the one that opened the file.
    pub fn writer(&self) -> u32 {
        self.last_writer.load(Ordering::Relaxed)
    }

    /// Notes the thread that writes.
    pub fn set_writer(&self, thread: u32) {
        self.last_writer.store(thread, Ordering::Relaxed);
    }
}

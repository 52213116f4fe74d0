//! Who read which version: a program that reads an item and then writes it must not undo what somebody else wrote in between, also when
//! it opens the file anew for the write (FILESYSTEM 4, put if unchanged).
//!
//! A read is noted by item and thread. A commit by a thread of the same process is held against the version read last; a process that
//! read nothing, as `echo >`, replaces what is there. Nothing is asked of `/proc` but when a process writes what some process read.
//! Memory is bounded: the oldest notes go.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::fs::journal::{age_of, same_process};
use crate::model::api::Version;

/// Notes kept; a read beyond them forgets the oldest.
const NOTES_MAX: usize = 10_000;
/// How long a note counts.
const NOTE_AGE_MAX: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Clone, Copy)]
struct Note {
    thread: u32,
    version: Version,
    at: Instant,
    number: u64,
}

#[derive(Debug, Default)]
struct State {
    /// By item, the newest last.
    notes: HashMap<u64, Vec<Note>>,
    /// Items and note numbers, the oldest first; some notes are gone.
    order: VecDeque<(u64, u64)>,
    last: u64,
}

/// See the module. An item is named by its inode number.
#[derive(Debug, Default)]
pub struct Reads {
    state: Mutex<State>,
}

impl Reads {
    /// A thread read this version, or wrote it.
    pub fn note(&self, item: u64, thread: u32, version: Version) {
        if thread == 0 {
            return;
        }
        let mut state = self.state.lock();
        state.last += 1;
        let note = Note { thread, version, at: Instant::now(), number: state.last };
        let notes = state.notes.entry(item).or_default();
        notes.retain(|known| known.thread != thread);
        notes.push(note);
        state.order.push_back((item, note.number));
        while state.order.len() > NOTES_MAX {
            let Some((item, number)) = state.order.pop_front() else { return };
            state.retain(item, |note| note.number != number);
        }
    }

    /// The version that a process read last, by one of its threads.
    pub fn version(&self, item: u64, thread: u32) -> Option<Version> {
        let notes = self.state.lock().notes.get(&item)?.clone();
        notes.iter().rev().find(|note| note.is_of(thread)).map(|note| note.version)
    }

    /// What a process wrote is what it knows from now on, if it had read.
    pub fn wrote(&self, item: u64, thread: u32, version: Version) {
        if self.version(item, thread).is_some() {
            self.forget(item, thread);
            self.note(item, thread, version);
        }
    }

    /// A process took the item away: it may make another.
    pub fn forget(&self, item: u64, thread: u32) {
        let is_known = self.state.lock().notes.contains_key(&item);
        if is_known {
            self.state.lock().retain(item, |note| !note.is_of(thread));
        }
    }

    /// The item is gone.
    pub fn forget_all(&self, item: u64) {
        self.state.lock().notes.remove(&item);
    }
}

impl State {
    fn retain(&mut self, item: u64, keep: impl Fn(&Note) -> bool) {
        if let Some(notes) = self.notes.get_mut(&item) {
            notes.retain(keep);
            if notes.is_empty() {
                self.notes.remove(&item);
            }
        }
    }
}

impl Note {
    /// Was it made by the process of this thread? Thread numbers are used again: who is younger than the note did not make it.
    fn is_of(&self, thread: u32) -> bool {
        let age = self.at.elapsed();
        age < NOTE_AGE_MAX && same_process(self.thread, thread) && age_of(thread).is_some_and(|process| process >= age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process: it is alive and older than any note.
    fn me() -> u32 {
        std::process::id()
    }

    #[test]
    fn a_process_is_told_the_version_it_read_last() {
        let reads = Reads::default();
        assert_eq!(reads.version(1, me()), None);
        reads.note(1, me(), 7);
        reads.note(1, me(), 8);
        assert_eq!((reads.version(1, me()), reads.version(2, me())), (Some(8), None));
        assert_eq!(reads.version(1, 1), None, "another process");
        reads.wrote(1, me(), 9);
        assert_eq!(reads.version(1, me()), Some(9));
        reads.wrote(2, me(), 9);
        assert_eq!(reads.version(2, me()), None, "it had not read");
        reads.forget(1, me());
        assert_eq!(reads.version(1, me()), None);
    }

    #[test]
    fn memory_is_bounded() {
        let reads = Reads::default();
        for item in 0..3 * NOTES_MAX as u64 {
            reads.note(item, me(), item);
            reads.note(item, me(), item + 1);
        }
        let state = reads.state.lock();
        assert!(state.order.len() <= NOTES_MAX && state.notes.len() <= NOTES_MAX);
        drop(state);
        assert_eq!(reads.version(0, me()), None);
    }
}

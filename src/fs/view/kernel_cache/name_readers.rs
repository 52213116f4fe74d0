//! Who looks at what it lists: to a program that reads names only, as `find -name`, attributes are told for nothing, and each costs the
//! kernel a node.
//!
//! The kernel asks for attributes at the beginning of every listing, and then again as long as names are looked up. A thread that goes
//! on by names [`UNUSED_MAX`] times, and has looked at no item meanwhile, is told no attributes at the beginning any more, until it
//! looks at one.

use crate::fs::open::prelude::*;
use crate::fs::seldom::Seldom;

const UNUSED_MAX: u8 = 4;
const THREADS_MAX: usize = 1_000;
const AGE_MS_MAX: u64 = 60_000;

/// See the module. Threads are named as the kernel does.
#[derive(Debug, Default)]
pub struct NameReaders {
    /// How often a thread was told attributes in vain.
    unused: Seldom<Recent<u32, u8, THREADS_MAX, AGE_MS_MAX>>,
}

impl NameReaders {
    /// The thread was told attributes, and goes on by names.
    pub fn reads_names(&self, thread: u32) {
        let now_ms = now_ms();
        self.unused.change(|unused| {
            let before = unused.get(&thread, now_ms).copied().unwrap_or_default();
            unused.keep(thread, before.saturating_add(1), now_ms)
        });
    }

    /// The thread looks at an item.
    pub fn looks(&self, thread: u32) {
        if !self.unused.is_empty() {
            self.unused.change(|unused| unused.remove(&thread));
        }
    }

    /// Are attributes told it in vain?
    pub fn is_reader_of_names(&self, thread: u32) -> bool {
        self.unused.is_any(|unused| unused.get(&thread, now_ms()).is_some_and(|times| *times >= UNUSED_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_names_only_is_told_no_attributes_until_it_looks() {
        let readers = NameReaders::default();
        (1..UNUSED_MAX).for_each(|_| readers.reads_names(7));
        assert!(!readers.is_reader_of_names(7));
        readers.reads_names(7);
        assert_eq!([7, 8].map(|thread| readers.is_reader_of_names(thread)), [true, false]);
        readers.looks(7);
        assert!(!readers.is_reader_of_names(7));
    }
}

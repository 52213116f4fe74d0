//! What an open directory remembers of the names that it has read: their offsets, in their order.

use super::super::found::{BATCH, Cursor, Found};

use std::collections::{HashSet, VecDeque};

/// Parts of [`BATCH`] offsets or a little more that are kept: 2 MiB. What is older is found by reading from the beginning, if it is there.
const PARTS_MAX: usize = 512;

#[derive(Debug)]
struct Part {
    /// The place before its first entry.
    before: Cursor,
    offsets: Vec<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Passed {
    parts: VecDeque<Part>,
}

/// What stands around an offset.
#[derive(Debug)]
pub struct Around {
    /// A place before it.
    pub start: Cursor,
    /// Offsets from there on, up to and with it.
    pub earlier: HashSet<u64>,
    /// The next ones after it.
    pub later: HashSet<u64>,
}

impl Passed {
    /// Keeps the offsets of a batch that was read after a place, which has an offset too, as far as they come after all that is known.
    pub fn keep(&mut self, (from, after): (&Cursor, u64), batch: &Found) {
        let known = match self.parts.back().and_then(|part| part.offsets.last()) {
            None if *from == Cursor::Start => 0,
            Some(last) if *last == after => 0,
            last => match last.and_then(|last| batch.offsets().position(|own| own == *last)) {
                Some(at) => at + 1,
                None => return,
            },
        };
        // A list that is made anew at each rewind has other names at the same count.
        let is_lasting = known == 0 && !matches!(from, Cursor::Tail(_));
        let is_full = self.parts.back().is_none_or(|part| part.offsets.len() >= BATCH);
        if is_full && is_lasting || self.parts.is_empty() {
            if self.parts.len() == PARTS_MAX {
                self.parts.pop_front();
            }
            self.parts.push_back(Part { before: from.clone(), offsets: Vec::new() });
        }
        let Some(part) = self.parts.back_mut() else { return };
        part.offsets.extend(batch.offsets().skip(known));
    }

    /// What stands around an offset; of one that is not known, all that is there may.
    pub fn around(&self, offset: u64) -> Around {
        for (index, part) in self.parts.iter().enumerate() {
            let Some(at) = part.offsets.iter().position(|own| *own == offset) else { continue };
            let (earlier, later) = part.offsets.split_at(at + 1);
            let next = self.parts.get(index + 1).into_iter().flat_map(|part| &part.offsets);
            let (earlier, later) = (earlier.iter().copied().collect(), later.iter().chain(next).copied().collect());
            return Around { start: part.before.clone(), earlier, later };
        }
        Around { start: Cursor::Start, earlier: HashSet::new(), later: HashSet::new() }
    }

    /// Bytes of memory.
    pub fn held_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.before.held_bytes() + part.offsets.capacity() * size_of::<u64>()).sum()
    }
}

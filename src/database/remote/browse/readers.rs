//! Who reads which folder in the order of its keys, and how far.

use lru::LruCache;
use parking_lot::Mutex;

use super::pages::Place;
use crate::database::Source;
use crate::expr::order::compare;
use crate::model::AttributeValue;

/// Folders whose readers are followed.
const FOLDERS_MAX: usize = 256;
/// A pause ends the order.
const PAUSE_MS: u64 = 2_000;

#[derive(Debug)]
struct Reader {
    last: AttributeValue,
    at_ms: u64,
    /// Files that were read in the order of their keys, without a pause.
    in_order: u32,
}

/// Who reads which folder, and how far.
#[derive(Debug)]
pub struct Readers(Mutex<LruCache<(Source, AttributeValue), Reader>>);

impl Default for Readers {
    fn default() -> Self {
        Self(Mutex::new(LruCache::unbounded()))
    }
}

impl Readers {
    /// An item of a folder is read; how many were in order before it.
    pub fn follow(&self, (source, key): &Place, now_ms: u64) -> u32 {
        let Some(sort) = key.base.sort.as_ref().filter(|_| key.index.is_none()) else { return 0 };
        let mut readers = self.0.lock();
        let new = || Reader { last: sort.clone(), at_ms: now_ms, in_order: 0 };
        let reader = readers.get_or_insert_mut((source.clone(), key.base.partition.clone()), new);
        match compare(sort, &reader.last) {
            _ if now_ms > reader.at_ms.saturating_add(PAUSE_MS) => reader.in_order = 0,
            Some(std::cmp::Ordering::Greater) => reader.in_order = reader.in_order.saturating_add(1),
            Some(std::cmp::Ordering::Equal) => {}
            // Another reader, or one in another order.
            _ => reader.in_order = 0,
        }
        (reader.last, reader.at_ms) = (sort.clone(), now_ms);
        let in_order = reader.in_order;
        if readers.len() > FOLDERS_MAX {
            readers.pop_lru();
        }
        in_order
    }
}

//! Files of a folder that are read one after the other, for longer than what was listed is good: those that come next are asked for
//! together, by one Query for many a GetItem.

use lru::LruCache;
use parking_lot::Mutex;

use super::RemoteDatabase;
use super::pages::Place;
use super::requests;
use super::source::Readable;
use crate::database::Source;
use crate::expr::SortRange;
use crate::expr::order::compare;
use crate::expr::read_request::ReadRequest;
use crate::model::{AttributeValue, Error, Item, Key};

/// Folders whose readers are followed.
const FOLDERS_MAX: usize = 256;
/// Files one after the other before any is asked for ahead.
const IN_ORDER_MIN: u32 = 8;
/// A pause ends the order.
const PAUSE_MS: u64 = 2_000;
/// Items asked for at a time.
const ITEMS_MAX: u32 = 1000;

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
    fn follow(&self, (source, key): &Place, now_ms: u64) -> u32 {
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

impl RemoteDatabase {
    /// How many items from this one on are worth asking for, if it is one of many that were listed and are read in order.
    pub(super) fn worth_reading(&self, place: &Place) -> Option<u32> {
        let in_order = self.readers.follow(place, self.options.clock.now_ms());
        let is_worth = self.options.reads_ahead && in_order >= IN_ORDER_MIN;
        // No more than as many again: whoever ends here has cost no more than twice what was read.
        is_worth.then(|| in_order.min(ITEMS_MAX))
    }

    /// An item, those that come after it being held.
    pub(super) fn item_and_next(&self, table: &Readable, key: &Key, items: u32) -> Result<Option<Item>, Error> {
        let here = key.sort.clone().map(SortRange::GreaterOrEqual);
        let request = ReadRequest { limit: Some(items), ..table.query(&vec![key.partition.clone()], here) };
        let (began, mut found, mut failed) = (self.pages.begin(), None, None);
        requests::page(&*self.service, &request, &mut |row| match row
            .to_item()
            .map_err(Error::from)
            .and_then(|item| Ok((table.key_of(&item)?, item)))
        {
            Ok((of, item)) if of.base == *key => found = Some(item),
            Ok((of, item)) => {
                let record = self.pages.record(&item, &table.key_names());
                self.pages.keep(began, (table.source.clone(), of), Some(record), true);
            }
            Err(error) => failed = Some(error),
        })?;
        failed.map_or(Ok(found), Err)
    }
}

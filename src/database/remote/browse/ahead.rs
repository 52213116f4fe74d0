//! Files of a folder that are read one after the other, for longer than what was listed is good: those that come next are asked for
//! together, by one Query for many a GetItem.

use super::RemoteDatabase;
use super::pages::Place;
use super::requests;
use super::source::Readable;
use crate::expr::SortRange;
use crate::expr::read_request::ReadRequest;
use crate::model::{Error, Item, Key};

/// Items asked for at a time.
const ITEMS_MAX: u32 = 1000;

impl RemoteDatabase {
    /// How many items from this one on are worth asking for, if it is one of many that were listed and are read in order.
    pub(super) fn worth_reading(&self, place: &Place) -> Option<u32> {
        let worth = self.readers.follow(place, self.options.clock.now_ms());
        // No more than as many again: whoever ends here has cost no more than twice what was read.
        (self.options.reads_ahead && worth > 0).then(|| worth.min(ITEMS_MAX))
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

//! What is asked for before anybody wants it, as it is about to be: files of a folder that are read one after the other, for longer than what
//! was listed is good, by one Query for many a GetItem; and folders that are listed one after the other (`tar`, `find`, `grep -r`), never
//! more of them than were listed so.

use super::RemoteDatabase;
use super::pages::{Place, Stored, collection_place};
use super::requests;
use super::source::Readable;
use super::walks::{Fetcher, Listed, Next, Waiting, Walk, on_thread};
use crate::database::prelude::*;
use crate::database::{Entries, PartitionKey};
use crate::expr::SortRange;
use crate::expr::read_request::ReadRequest;
use crate::model::Key;

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
        let (began, mut found) = (self.pages.begin(), None);
        requests::items(&*self.service, &request, &mut |item| {
            let of = table.key_of(&item)?;
            if of.base == *key {
                found = Some(item);
            } else {
                let record = self.pages.record(&item, &table.key_names());
                self.pages.keep(began, (table.source.clone(), of), Some(record), true);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl RemoteDatabase {
    /// A folder is about to be listed: asks for those that come next.
    pub(super) fn ask_siblings(&self, readable: &Readable, partition: &PartitionKey) {
        if self.options.reads_ahead && !self.options.ttl.is_zero() {
            self.siblings.follow(&readable.source, partition).into_iter().for_each(|next| self.ask_ahead(readable, next));
        }
    }

    /// The first page of a folder, for whoever looks whether it is there and for whoever lists it.
    fn ask_ahead(&self, readable: &Readable, partition: PartitionKey) {
        let (at_ms, own_writes) = (self.options.clock.now_ms(), self.commits.own());
        let (service, pages) = (Arc::clone(&self.service), Arc::clone(&self.pages));
        let (source, place) = (readable.source.clone(), collection_place(&readable.source, &partition));
        let request = readable.query(&partition, None);
        let fetcher = Fetcher { service, pages: Arc::clone(&pages), source: readable.clone(), request };
        let landing = pages.asking(&place);
        let fetched = on_thread(&self.walks.ahead, move || {
            let began = pages.begin();
            let fetched = fetcher.fetch(None);
            let is_there = fetched.as_ref().map(|page| (!page.0.is_empty()).then(Stored::default)).map_err(Clone::clone);
            if let Ok(is_there) = &is_there {
                pages.keep(began, place, is_there.clone(), true);
            }
            if let Some(landing) = landing {
                landing.land(is_there);
            }
            fetched
        });
        let Some(fetched) = fetched else { return self.siblings.not_asked(&source, &partition) };
        let listed = Listed::Entries(Entries::Collection { partition, sort_prefix: None });
        let walk = Walk { next: Next::Ahead(fetched), ..Walk::default() };
        self.walks.put(Waiting { source, listed, after: None, at_ms, own_writes, walk });
    }
}

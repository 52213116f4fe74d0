//! Listings, page by page, whatever portions the reader asks for. The rest of a page beyond a
//! portion waits for the next portion, and the next page is prefetched while the reader reads.
//!
//! Two kinds of reads are prefetched. Files of a folder that are read in order, for longer than the
//! time to live of their listing, come by one Query instead of many a GetItem. Folders that are
//! listed one after the other (`tar`, `find`, `grep -r`) are prefetched, never more of them than
//! were listed so.
//!
//! A read of a whole table or index must stay below the scan limit: nothing in the tree spends more
//! by accident. The estimate comes from counters that may be six hours old, so the actual cost is
//! counted too, page by page.

use std::ops::ControlFlow;

use super::RemoteDatabase;
use super::pages::{Place, Stored, collection_place};
use super::source::{self, Readable, keys_at};
use super::walks::{Fetcher, Listed, Next, Row, Toll, UNITS_A_READ, Waiting, Walk, on_thread};
use crate::codec::metrics::prices;
use crate::database::prelude::*;
use crate::database::{Entries, PartitionKey, Position};
use crate::expr::SortRange;
use crate::expr::read_request::ReadRequest;
use crate::model::Key;
use crate::model::limits::READ_UNIT_BYTES;

impl RemoteDatabase {
    /// Visits the rows that `request` reads, strictly after `after`; `Break` ends the walk.
    pub(super) fn walk(
        &self,
        source: Readable,
        listed: &Listed,
        request: ReadRequest,
        after: Option<&Position>,
        visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let waiting = self.going_on(&source.source, listed, after);
        let is_going_on = after.is_some() && waiting.is_some();
        let fetcher = Fetcher {
            service: Arc::clone(&self.service),
            pages: Arc::clone(&self.pages),
            source,
            request,
        };
        let mut walk = match waiting {
            Some(walk) => walk,
            None => self.begin_walk(&fetcher, listed, after)?,
        };
        let (mut last, mut is_at_end) = (after.map(|after| after.0.clone()), false);
        while !is_at_end {
            // Checked for each page. The rows at hand are shown even beyond the limit, since they
            // are paid for.
            let may_go_on = self.go_on(&fetcher.source, walk.toll);
            // Only a reader that came for more than one page gets a prefetch.
            if self.options.reads_ahead && may_go_on.is_ok() && (is_going_on || walk.pages > 1) {
                walk.look_ahead(&fetcher, &self.service_ahead, &self.walks.ahead);
            }
            while let Some(row) = walk.rows.pop_front() {
                // The scan returns every item; the folder of a collection is shown once.
                if *listed == Listed::Collections && !walk.is_new(&row.key) {
                    continue;
                }
                let next = visit(&row);
                last = Some(row.place);
                if next.is_break() {
                    return self.wait_for_reader(fetcher, listed, last, walk);
                }
            }
            if let (Err(error), false) = (may_go_on, matches!(walk.next, Next::Done)) {
                // A reader that shows its rows and continues after them pays for no row twice.
                return self
                    .wait_for_reader(fetcher, listed, last, walk)
                    .and(Err(error));
            }
            is_at_end = !walk.turn(&fetcher, &self.caller)?;
        }
        // A reader with a last position asks once more.
        self.wait_for_reader(fetcher, listed, last, walk)
    }

    fn wait_for_reader(
        &self,
        fetcher: Fetcher,
        listed: &Listed,
        after: Option<Box<[u8]>>,
        walk: Walk,
    ) -> Result<(), Error> {
        if let Some(after) = after {
            let at_ms = self.options.clock.now_ms();
            // The scan cost outlives the walk, for a reader that returns too late.
            self.tolls.keep(
                &fetcher.request,
                &keys_at(&Position(after.clone()))?,
                walk.toll,
            );
            let (source, own_writes) = (fetcher.source.source, self.commits.own_writes());
            self.walks.put(Waiting {
                source,
                listed: listed.clone(),
                after: Some(after),
                at_ms,
                own_writes,
                walk,
            });
        }
        Ok(())
    }

    /// Returns the listing that waits at this position. A prefetched listing that has not begun is
    /// valid like a cached read: for its time to live, and until something is written.
    fn going_on(&self, source: &Source, listed: &Listed, after: Option<&Position>) -> Option<Walk> {
        let now_ms = self.options.clock.now_ms();
        let waiting = self.walks.take(source, listed, after, now_ms)?;
        let is_good = now_ms < waiting.at_ms.saturating_add(self.pages.ttl_ms())
            && waiting.own_writes == self.commits.own_writes();
        if after.is_none() && !is_good {
            self.siblings.give_up(source);
            return None;
        }
        Some(waiting.walk)
    }

    fn begin_walk(
        &self,
        fetcher: &Fetcher,
        listed: &Listed,
        after: Option<&Position>,
    ) -> Result<Walk, Error> {
        let source = &fetcher.source;
        // One collection is read by a query, which the scan limit does not concern.
        if !matches!(listed, Listed::Entries(Entries::Collection { .. })) {
            self.admit(source, None)?;
        }
        let start = after.map(keys_at).transpose()?;
        let toll = self.tolls.before(&ReadRequest {
            exclusive_start_key: start.clone(),
            ..fetcher.request.clone()
        });
        let mut walk = Walk {
            toll,
            ..Walk::default()
        };
        if let (Listed::Collections, Some(start)) = (listed, &start) {
            // The rest of that collection was listed already.
            walk.is_new(&source.key_of(start)?);
        }
        walk.next = Next::From(start);
        Ok(walk)
    }
}

/// The limit of items in one prefetch.
const ITEMS_MAX: u32 = 1000;

impl RemoteDatabase {
    /// Returns how many items from this one on are worth a prefetch, if it is one of many that were
    /// listed and are read in order.
    pub(super) fn worth_reading(&self, place: &Place) -> Option<u32> {
        let worth = self.readers.follow(place, self.options.clock.now_ms());
        // At most as many again as were read: a reader that stops here has cost at most twice its
        // reads.
        (self.options.reads_ahead && worth > 0).then(|| worth.min(ITEMS_MAX))
    }

    /// Reads an item, and caches the items after it.
    pub(super) fn item_and_next(
        &self,
        table: &Readable,
        key: &Key,
        items: u32,
    ) -> Result<Option<Item>, Error> {
        let here = key.sort.clone().map(SortRange::GreaterOrEqual);
        let request = ReadRequest {
            limit: Some(items),
            ..table.query(&vec![key.partition.clone()], here)
        };
        let (began, mut found) = (self.pages.begin(), None);
        source::items(&*self.service, &request, &mut |item| {
            let of = table.key_of(&item)?;
            if of.base == *key {
                found = Some(item);
            } else {
                let record = self.pages.record(&item, &table.key_names());
                self.pages
                    .keep(began, (table.source.clone(), of), Some(record), true);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl RemoteDatabase {
    /// Prefetches the folders that follow one that is about to be listed.
    pub(super) fn ask_siblings(&self, readable: &Readable, partition: &PartitionKey) {
        if self.options.reads_ahead && !self.options.ttl.is_zero() {
            self.siblings
                .follow(&readable.source, partition)
                .into_iter()
                .for_each(|next| self.ask_ahead(readable, next));
        }
    }

    /// Prefetches the first page of a folder, for a lookup and for a listing of it.
    fn ask_ahead(&self, readable: &Readable, partition: PartitionKey) {
        // Recorded before the request: a write from now on voids the page.
        let (at_ms, own_writes) = (self.options.clock.now_ms(), self.commits.own_writes());
        let (service, pages) = (Arc::clone(&self.service_ahead), Arc::clone(&self.pages));
        let (source, place) = (
            readable.source.clone(),
            collection_place(&readable.source, &partition),
        );
        let request = readable.query(&partition, None);
        let fetcher = Fetcher {
            service,
            pages: Arc::clone(&pages),
            source: readable.clone(),
            request,
        };
        // A lookup of the folder meanwhile waits for this page, instead of a query of its own.
        let landing = pages.asking(&place);
        let fetched = on_thread(&self.walks.ahead, move || {
            let began = pages.begin();
            let fetched = fetcher.fetch(None);
            let is_there = fetched
                .as_ref()
                .map(|page| (!page.0.is_empty()).then(Stored::default))
                .map_err(Clone::clone);
            if let Ok(is_there) = &is_there {
                pages.keep(began, place, is_there.clone(), true);
            }
            if let Some(landing) = landing {
                landing.land(is_there);
            }
            fetched
        });
        let Some(fetched) = fetched else {
            return self.siblings.not_asked(&source, &partition);
        };
        let listed = Listed::Entries(Entries::Collection {
            partition,
            sort_prefix: None,
        });
        let walk = Walk {
            next: Next::Ahead(fetched),
            ..Walk::default()
        };
        self.walks.put(Waiting {
            source,
            listed,
            after: None,
            at_ms,
            own_writes,
            walk,
        });
    }
}

impl RemoteDatabase {
    /// Checks that the whole source, or its first `items`, may be read, by the size that
    /// DescribeTable reports, which may be six hours old.
    ///
    /// # Errors
    /// `Budget`, with the estimated cost and advice.
    pub(super) fn admit(&self, source: &Readable, items: Option<u32>) -> Result<(), Error> {
        let (count, bytes) = source.counted();
        // A limited read costs its share by the mean size of an item.
        let part = items.map_or(1.0, |items| {
            (f64::from(items) / count.max(1) as f64).min(1.0)
        });
        let units = (bytes as f64 * part / READ_UNIT_BYTES as f64).ceil() * UNITS_A_READ;
        let limit = self.options.scan_limit;
        if units <= limit {
            return Ok(());
        }
        let (path, help) = ways(source);
        Err(Error::Budget(format!(
            "all of {path} is about {} MB: reading it takes about {units:.0} read units ({}), and --scan-limit is {limit:.0}; \
             {help}, and a mount with --scan-limit {units:.0} reads all",
            bytes / 1_000_000,
            money(units, 2),
        )))
    }

    /// Checks that a listing or scan with this cost so far may go on.
    ///
    /// # Errors
    /// `Budget`, with the actual cost and advice.
    pub(super) fn go_on(&self, source: &Readable, toll: Toll) -> Result<(), Error> {
        let limit = self.options.scan_limit;
        if toll.units <= limit {
            return Ok(());
        }
        let (path, help) = ways(source);
        Err(Error::Budget(format!(
            "reading {path} has cost {:.1} read units so far ({}) for {} items, and --scan-limit is {limit:.0}: it ends here, there is more \
             (the service counts a table's bytes every six hours or so, and said {}); {help}, and a mount with a larger --scan-limit reads on",
            toll.units,
            money(toll.units, 6),
            toll.items,
            source.counted().1,
        )))
    }
}

fn money(units: f64, digits: usize) -> String {
    let prices = prices::built_in();
    format!("{:.digits$} {}", prices.of_reads(units), prices.currency)
}

/// Returns the path of the source, and a query path that reads less of it.
fn ways(source: &Readable) -> (String, String) {
    let table = &source.source.table;
    let path = match source.index() {
        Some(index) if source.is_consistent() => format!("{table}/lsi/{}", index.name),
        Some(index) => format!("{table}/gsi/{}", index.name),
        None => table.to_string(),
    };
    let keys: Vec<String> = source
        .partition()
        .iter()
        .map(|key| format!("{}=VALUE", key.name))
        .collect();
    let help = format!(
        "{path}/query/{}/items.ndjson reads one item collection",
        keys.join("/")
    );
    (path, help)
}

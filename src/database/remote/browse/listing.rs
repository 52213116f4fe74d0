//! Listings, page by page, whatever portions the reader asks for. The rest of a page beyond a
//! portion waits for the next portion, and the next page is prefetched while the reader reads.
//!
//! Files of a folder that are read in order, for longer than the time to live of their listing, come
//! by one Query instead of many a GetItem. A listing of everything keeps its rows for the program
//! that asked (`snapshots`): its folders and files need no other request.
//!
//! A read of a whole table or index must stay below the scan limit: nothing in the tree spends more
//! by accident. The estimate comes from counters that may be six hours old, so the actual cost is
//! counted too, page by page.

use std::ops::ControlFlow;

use super::RemoteDatabase;
use super::cache::{CachedRecord, EntryPlace, RangeRead};
use super::prefetch::NameReads;
use super::snapshots::SnapshotTime;
use super::source::{self, ReadableSource, decode_position};
use super::walks::{
    EVENTUAL_READ_UNITS, KeptRows, ListRow, ListSubject, ListWalk, NextPage, PageFetcher, ScanCost,
};
use crate::codec::metrics::prices;
use crate::database::prelude::*;
use crate::database::{EntryRange, ListPosition};
use crate::expr::SortRange;
use crate::expr::read_request::ReadRequest;
use crate::model::limits::READ_UNIT_BYTES;

impl RemoteDatabase {
    /// Visits the rows that `request` reads, strictly after `after`; `Break` ends the walk.
    pub(super) fn walk(
        &self,
        source: ReadableSource,
        subject: &ListSubject,
        request: ReadRequest,
        after: Option<&ListPosition>,
        visit: &mut dyn FnMut(&ListRow) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        if after.is_none() {
            self.settle()?;
        }
        let waiting = after.and_then(|after| {
            let place = (source.source.clone(), subject.clone(), after.0.clone());
            let mut walks = self.walks.lock();
            walks.drop_expired(self.options.clock.now_ms());
            walks.remove(&place)
        });
        let is_going_on = waiting.is_some();
        let fetcher = PageFetcher {
            service: Arc::clone(&self.service),
            cache: Arc::clone(&self.cache),
            folder: subject.whole_folder(&source),
            source,
            request,
        };
        let mut walk = match waiting {
            Some(walk) => walk,
            None => self.begin_walk(&fetcher, subject, after)?,
        };
        let (mut last, mut is_at_end) = (after.map(|after| after.0.clone()), false);
        while !is_at_end {
            // Checked for each page. The rows at hand are shown even beyond the limit, since they
            // are paid for.
            let may_go_on = self.check_scan_cost(&fetcher.source, walk.cost);
            // Only a reader that came for more than one page gets a prefetch.
            if may_go_on.is_ok() && (is_going_on || walk.pages > 1) {
                walk.prefetch(&fetcher, &self.prefetch_service, &self.fetches);
            }
            while let Some(row) = walk.rows.pop_front() {
                // The scan returns every item; the folder of a collection is shown once.
                if *subject == ListSubject::Collections && !walk.is_new(&row.key) {
                    continue;
                }
                let next = visit(&row);
                last = Some(row.place);
                if next.is_break() {
                    return self.suspend_walk(fetcher, subject, last, walk);
                }
            }
            if let (Err(error), false) = (may_go_on, matches!(walk.next, NextPage::Done)) {
                // A reader that continues after its shown rows pays for no row twice.
                return self
                    .suspend_walk(fetcher, subject, last, walk)
                    .and(Err(error));
            }
            is_at_end = !walk.next_page(&fetcher, &self.caller)?;
        }
        if let Some(kept) = walk.kept.take() {
            let (source, now_ms) = (&fetcher.source.source, self.options.clock.now_ms());
            self.snapshots.put(source, &self.caller, kept, now_ms);
        }
        // A reader with a last position asks once more.
        self.suspend_walk(fetcher, subject, last, walk)
    }

    fn suspend_walk(
        &self,
        fetcher: PageFetcher,
        subject: &ListSubject,
        after: Option<Box<[u8]>>,
        walk: ListWalk,
    ) -> Result<(), Error> {
        if let Some(after) = after {
            // The scan cost outlives the walk, for a reader that returns too late.
            self.scan_costs.insert(
                &fetcher.request,
                &decode_position(&ListPosition(after.clone()))?,
                walk.cost,
            );
            let place = (fetcher.source.source, subject.clone(), after);
            let now_ms = self.options.clock.now_ms();
            self.walks.lock().insert(place, walk, now_ms);
        }
        Ok(())
    }

    fn begin_walk(
        &self,
        fetcher: &PageFetcher,
        subject: &ListSubject,
        after: Option<&ListPosition>,
    ) -> Result<ListWalk, Error> {
        let source = &fetcher.source;
        let at = self.snapshot_time();
        if let (
            None,
            ListSubject::Entries(EntryRange::Collection {
                partition,
                sort_prefix: None,
            }),
        ) = (after, subject)
            && let Some(rows) =
                self.snapshots
                    .take_folder(&source.source, partition, &self.caller, at)
        {
            return Ok(ListWalk {
                rows,
                ..ListWalk::default()
            });
        }
        // One collection is read by a query, which the scan limit does not concern.
        if !matches!(subject, ListSubject::Entries(EntryRange::Collection { .. })) {
            self.check_scan_limit(source, None)?;
        }
        let start = after.map(decode_position).transpose()?;
        let cost = self.scan_costs.before(&ReadRequest {
            exclusive_start_key: start.clone(),
            ..fetcher.request.clone()
        });
        let mut walk = ListWalk {
            cost,
            ..ListWalk::default()
        };
        if let (ListSubject::Collections, Some(start)) = (subject, &start) {
            // The rest of that collection was listed already.
            walk.is_new(&source.key_of(start)?);
        }
        // The cache must have room for what is kept, beside other reads.
        let is_whole = match subject {
            ListSubject::Collections => fetcher.request.projection.is_none(),
            ListSubject::Entries(range) => *range == EntryRange::All,
        };
        walk.kept = (start.is_none() && is_whole).then(|| {
            KeptRows::new(
                at.now_ms,
                at.own_writes,
                *subject == ListSubject::Collections,
            )
        });
        walk.next = NextPage::From(start);
        Ok(walk)
    }

    pub(super) fn snapshot_time(&self) -> SnapshotTime {
        SnapshotTime {
            now_ms: self.options.clock.now_ms(),
            ttl_ms: self.cache.ttl_ms(),
            own_writes: self.commits.own_writes(),
        }
    }

    /// Returns an entry as the walk of the caller's process listed it; `is_content` if its content
    /// is read, not only its attributes.
    pub(super) fn walked(
        &self,
        place: &EntryPlace,
        is_content: bool,
    ) -> Option<Option<CachedRecord>> {
        let at = self.snapshot_time();
        let may_use = self.snapshots.may_use(place, is_content, &self.caller, at);
        may_use.then(|| self.cache.get_of_any_age(place)).flatten()
    }
}

/// The limit of items that are read ahead.
const AHEAD_MAX: u32 = 1000;
/// The files in order before the first read ahead.
const IN_ORDER_MIN: u32 = 8;
/// The absent names of a table without sort key before all of a small one is read.
const MISSED_MIN: u32 = 3;
/// The bytes of the items that are read in place of one that is probably absent.
const MISSED_BYTES: u64 = 64 * 1024;

impl RemoteDatabase {
    /// Returns how many items from this one on are worth reading in its place: it is one of many
    /// that were listed and are read in order, or probably absent as others in its folder just
    /// before. Of a table without sort key it is all of them, if they are few.
    pub(super) fn items_ahead(&self, source: &ReadableSource, place: &EntryPlace) -> u32 {
        let now_ms = self.options.clock.now_ms();
        let Some(NameReads {
            in_order, missed, ..
        }) = self.folder_reads.record(place, now_ms)
        else {
            return 0;
        };
        // A file that was never listed is not part of a sequence.
        let was_listed = || self.cache.last_known(place).is_some();
        // At most as many again as were read: a reader that stops here has cost at most twice its
        // reads.
        match place.1.base.sort {
            _ if self.options.ttl.is_zero() => 0,
            Some(_) if in_order >= IN_ORDER_MIN && was_listed() => in_order.min(AHEAD_MAX),
            Some(_) => source.items_in(MISSED_BYTES).unwrap_or(1).min(missed),
            None => {
                let all = missed.saturating_mul(2).min(AHEAD_MAX);
                let is_small = source.counters().0 <= u64::from(all);
                if missed >= MISSED_MIN && is_small {
                    all
                } else {
                    0
                }
            }
        }
    }

    /// Reads up to `limit` items of a folder, from a sort key on, or of a table without one, and
    /// caches them, and that there are no others up to the last.
    pub(super) fn read_range(
        &self,
        table: &ReadableSource,
        partition: &AttributeValue,
        from: Option<&AttributeValue>,
        limit: u32,
    ) -> Result<usize, Error> {
        let has_sort = !table.sort().is_empty();
        let from_key = from.cloned().map(SortRange::GreaterOrEqual);
        let all = if has_sort {
            table.query(&vec![partition.clone()], from_key)
        } else {
            table.scan()
        };
        let request = ReadRequest {
            limit: Some(limit),
            consistent_read: true,
            ..all
        };
        let (began, mut items, mut last) = (self.cache.begin(), 0, None);
        let page = source::read_items(&*self.service, &request, &mut |item| {
            last = table
                .keep_item(&self.cache, began, &item, true)?
                .0
                .base
                .sort;
            items += 1;
            Ok(())
        })?;
        // A table without sort key may have more than the service counted, in any order.
        if has_sort || page.last_evaluated_key.is_none() {
            self.cache.learn_range(
                began,
                RangeRead {
                    source: &table.source,
                    partition: Some(partition).filter(|_| has_sort),
                    from: from.cloned(),
                    to: page.last_evaluated_key.and(last),
                    items,
                },
            );
        }
        Ok(items)
    }
}

impl RemoteDatabase {
    /// Checks that the whole source, or its first `items`, may be read, by the size that
    /// DescribeTable reports, which may be six hours old.
    ///
    /// # Errors
    /// `Budget`, with the estimated cost and advice.
    pub(super) fn check_scan_limit(
        &self,
        source: &ReadableSource,
        items: Option<u32>,
    ) -> Result<(), Error> {
        let (count, bytes) = source.counters();
        // A limited read costs its share by the mean size of an item.
        let part = items.map_or(1.0, |items| {
            (f64::from(items) / count.max(1) as f64).min(1.0)
        });
        let units = (bytes as f64 * part / READ_UNIT_BYTES as f64).ceil() * EVENTUAL_READ_UNITS;
        let limit = self.options.scan_limit;
        if units <= limit {
            return Ok(());
        }
        let (path, help) = path_and_help(source);
        Err(Error::Budget(format!(
            "all of {path} is about {} MB: reading it takes about {units:.0} read units ({}), and --scan-limit is {limit:.0}; \
             {help}, and a mount with --scan-limit {units:.0} reads all",
            bytes / 1_000_000,
            money(units),
        )))
    }

    /// Checks that a listing or scan with this cost so far may go on.
    ///
    /// # Errors
    /// `Budget`, with the actual cost and advice.
    pub(super) fn check_scan_cost(
        &self,
        source: &ReadableSource,
        cost: ScanCost,
    ) -> Result<(), Error> {
        let limit = self.options.scan_limit;
        if cost.units <= limit {
            return Ok(());
        }
        let (path, help) = path_and_help(source);
        Err(Error::Budget(format!(
            "reading {path} has cost {:.1} read units so far ({}) for {} items, and --scan-limit is {limit:.0}: it ends here, there is more \
             (the service counts a table's bytes every six hours or so, and said {}); {help}, and a mount with a larger --scan-limit reads on",
            cost.units,
            money(cost.units),
            cost.items,
            source.counters().1,
        )))
    }
}

fn money(units: f64) -> String {
    let prices = prices::built_in();
    prices.text(prices.read_cost(units))
}

/// Returns the path of the source, and a query path that reads less of it.
fn path_and_help(source: &ReadableSource) -> (String, String) {
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

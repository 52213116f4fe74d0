//! Pagination of Query and Scan: the walk over a key range up to the limits of one page, and its
//! cost (docs/dynamodb.md 13.5, 10.3).

use std::ops::Bound;

use super::{
    select::{self, EntryFilter, RowOutput, Selection},
    source::ReadSource,
};
use crate::codec::record::ResultRow;
use crate::engine::{
    base::read_units,
    meter::PageReads,
    runtime::{RowSink, prelude::*},
};
use crate::model::{
    api::Page,
    limits::{PAGE_BYTES_MAX, READ_UNIT_BYTES},
    metrics::ReadCounts,
};

/// A page to read, fully checked.
#[derive(Debug)]
pub struct PagePlan {
    pub source: ReadSource,
    pub selection: Selection,
    pub filter: Option<EntryFilter>,
    /// The rest of the range after the start key.
    pub range: KeyRange,
    pub direction: Direction,
    /// The number of entries to evaluate.
    pub limit: Option<u32>,
    pub consistent: bool,
    /// True if a page that is cut has a LastEvaluatedKey. A query of at most one row has none,
    /// because it would be refused as a start key.
    pub restartable: bool,
    /// True for a Query, false for a Scan.
    pub is_query: bool,
}

/// Reads the page; calls `rows` with the rows in order.
///
/// # Errors
/// Fails with `Throttled`, or with an error of the store.
pub fn read(view: &ReadView<'_>, plan: &PagePlan, rows: &mut RowSink<'_>) -> Result<Page, Error> {
    Ok(read_part(view, plan, 0, rows)?.page)
}

/// Reads the page as [`read`] does without consuming capacity: the units are in the bill.
pub fn read_unbilled(
    view: &ReadView<'_>,
    plan: &PagePlan,
    rows: &mut RowSink<'_>,
) -> Result<(Page, PageBill), Error> {
    Ok(PageWalk::run(view, plan, 0, rows)?.finish()?)
}

/// The capacity that a page consumes, and its places.
#[derive(Debug, Clone)]
pub struct PageBill {
    table: Arc<TableEntry>,
    source: SourceId,
    /// The place at which the page starts.
    start: Vec<u8>,
    /// The first and the last evaluated place in key order.
    places: (Vec<u8>, Vec<u8>),
    is_query: bool,
    evaluated: u64,
    returned: u64,
    units: f64,
    fetched_units: f64,
}

impl PageBill {
    /// Consumes the units of the bill, if the read is admitted.
    ///
    /// # Errors
    /// Fails with `Throttled`, or with an error of the store.
    pub fn spend(&self, view: &ReadView<'_>) -> Result<(), Error> {
        view.admit(&self.table, self.source, &self.start)?;
        Ok(self.charge(view)?)
    }

    /// Consumes the units. Fetched base items are in the same collection as the entries of a local
    /// index.
    fn charge(&self, view: &ReadView<'_>) -> Result<(), StoreError> {
        let (from, to) = (&self.places.0[..], &self.places.1[..]);
        let reads = ReadCounts {
            requests: 1,
            evaluated: self.evaluated,
            returned: self.returned,
            units: self.units + self.fetched_units,
        };
        let reads = if self.is_query {
            PageReads::Query(reads)
        } else {
            PageReads::Scan(reads)
        };
        view.charge_page(&self.table, self.source, from, to, self.units, &reads)?;
        if self.fetched_units > 0.0 {
            view.charge_page(
                &self.table,
                self.table.source,
                from,
                to,
                self.fetched_units,
                &PageReads::Fetch,
            )?;
        }
        Ok(())
    }
}

/// One of several ranges that make a page together.
#[derive(Debug)]
pub struct PagePart {
    pub page: Page,
    /// The bytes evaluated in this range and the ranges before it.
    pub bytes: usize,
    /// True if the page ends here; there may be more in the range.
    pub is_cut: bool,
}

/// Reads one range of a page with `bytes_before` bytes used already; calls `rows` with the rows in
/// order.
///
/// # Errors
/// Fails with `Throttled`, or with an error of the store.
pub fn read_part(
    view: &ReadView<'_>,
    plan: &PagePlan,
    bytes_before: usize,
    rows: &mut RowSink<'_>,
) -> Result<PagePart, Error> {
    view.admit(
        &plan.source.table,
        plan.source.id(),
        keys::place_in_source(start_key(plan)),
    )?;
    let walk = PageWalk::run(view, plan, bytes_before, rows)?;
    let (bytes, is_cut) = (bytes_before + walk.bytes + walk.fetched_bytes, walk.is_cut);
    let (page, bill) = walk.finish()?;
    bill.charge(view)?;
    Ok(PagePart {
        page,
        bytes,
        is_cut,
    })
}

/// Returns a key at the beginning of the range, whether or not it exists.
fn start_key(plan: &PagePlan) -> &[u8] {
    match (&plan.range.lower, &plan.range.upper) {
        (Bound::Included(key) | Bound::Excluded(key), _)
        | (Bound::Unbounded, Bound::Included(key) | Bound::Excluded(key)) => key,
        (Bound::Unbounded, Bound::Unbounded) => &[],
    }
}

struct PageWalk<'w> {
    view: &'w ReadView<'w>,
    plan: &'w PagePlan,
    /// Bytes of the earlier parts of the page.
    bytes_before: usize,
    /// The number of entries evaluated.
    scanned: u64,
    /// The number of entries that the filter kept.
    matched: u64,
    /// The bytes of evaluated entries.
    bytes: usize,
    /// The bytes of fetched base items, each rounded up to a read unit.
    fetched_bytes: usize,
    /// The bytes of all evaluated entries and items, without rounding.
    plain_bytes: usize,
    fetched_units: f64,
    /// The key of the first evaluated entry; empty before it.
    first: Vec<u8>,
    /// The key of the last evaluated entry; empty before the first.
    last: Vec<u8>,
    /// True if a limit ended the walk.
    is_cut: bool,
}

impl<'w> PageWalk<'w> {
    fn run(
        view: &'w ReadView<'w>,
        plan: &'w PagePlan,
        bytes_before: usize,
        rows: &mut RowSink<'_>,
    ) -> Result<Self, StoreError> {
        let mut walk = Self {
            view,
            plan,
            bytes_before,
            scanned: 0,
            matched: 0,
            bytes: 0,
            fetched_bytes: 0,
            plain_bytes: 0,
            fetched_units: 0.0,
            first: Vec::new(),
            last: Vec::new(),
            is_cut: false,
        };
        try_walk(view.read(), &plan.range, plan.direction, |key, bytes| {
            walk.visit(key, bytes, rows)
                .map_err(|error| locate(view.read(), key, error))
        })?;
        Ok(walk)
    }

    fn visit(
        &mut self,
        key: &[u8],
        bytes: &[u8],
        rows: &mut RowSink<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let entry = Record::parse(bytes)?;
        let base = if self.plan.selection.fetch {
            Some(self.base_item(&entry)?)
        } else {
            None
        };
        self.add_sizes(&entry, base.as_ref());
        if self.first.is_empty() {
            self.first.extend_from_slice(key);
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.scanned += 1;
        let record = base.unwrap_or(entry);
        if self
            .plan
            .filter
            .as_ref()
            .map_or(Ok(true), |filter| filter.matches(&record))?
        {
            self.matched += 1;
            match &self.plan.selection.output {
                RowOutput::Count => {}
                RowOutput::All => rows(ResultRow::Record(record)),
                RowOutput::Projected(paths) => {
                    rows(ResultRow::Item(&paths.apply(&record.to_item()?)))
                }
                RowOutput::Columns(columns) => rows(ResultRow::Item(&select::project_columns(
                    columns,
                    &record.to_item()?,
                ))),
            }
        }
        if self.is_full()
            || self
                .plan
                .limit
                .is_some_and(|limit| self.scanned >= u64::from(limit))
        {
            self.is_cut = true;
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Adds an entry to the sizes of the page.
    fn add_sizes(&mut self, entry: &Record<'_>, base: Option<&Record<'_>>) {
        self.bytes += entry.item_bytes() as usize;
        self.plain_bytes += entry.item_bytes() as usize;
        if let Some(base) = base {
            let bytes = base.item_bytes() as usize;
            self.plain_bytes += bytes;
            self.fetched_bytes += bytes.next_multiple_of(READ_UNIT_BYTES);
            self.fetched_units += read_units(bytes, self.plan.consistent);
        }
    }

    /// True if the page is full. The entry that reaches the limit is the last of the page, as a
    /// whole (captures of the service).
    fn is_full(&self) -> bool {
        let own = if self.plan.selection.fetch {
            self.bytes.next_multiple_of(READ_UNIT_BYTES)
        } else {
            self.bytes
        };
        self.bytes_before + own + self.fetched_bytes >= PAGE_BYTES_MAX
    }

    /// Reads the base item of an index entry from the same view.
    fn base_item(&self, entry: &Record<'_>) -> Result<Record<'w>, StoreError> {
        let address = self.plan.source.base_address(entry)?;
        self.view
            .entry(&address)?
            .ok_or(StoreError::Corrupt("an index entry without its item"))
    }

    fn finish(self) -> Result<(Page, PageBill), StoreError> {
        let last_evaluated_key = if self.is_cut && self.plan.restartable {
            Some(self.cursor()?)
        } else {
            None
        };
        let units = read_units(self.bytes, self.plan.consistent);
        let bill = self.bill(units);
        let page = Page {
            table_name: self.plan.source.table.schema.name.clone(),
            count: self.matched,
            scanned_count: self.scanned,
            scanned_bytes: self.plain_bytes as u64,
            last_evaluated_key,
            consumed_capacity: self.plan.source.consumed(units, self.fetched_units),
        };
        Ok((page, bill))
    }

    fn bill(&self, units: f64) -> PageBill {
        let source = &self.plan.source;
        let nowhere = start_key(self.plan);
        let evaluated = if self.first.is_empty() {
            (nowhere, nowhere)
        } else {
            (&self.first[..], &self.last[..])
        };
        let places = (
            keys::place_in_source(evaluated.0).to_vec(),
            keys::place_in_source(evaluated.1).to_vec(),
        );
        PageBill {
            table: Arc::clone(&source.table),
            source: source.id(),
            start: keys::place_in_source(nowhere).to_vec(),
            places: if places.0 <= places.1 {
                places
            } else {
                (places.1, places.0)
            },
            is_query: self.plan.is_query,
            evaluated: self.scanned,
            returned: self.matched,
            units,
            fetched_units: self.fetched_units,
        }
    }

    fn cursor(&self) -> Result<Item, StoreError> {
        // The record is read again: it does not outlive its visit, and most pages need no cursor.
        match self.view.read().get(&self.last)? {
            Some(bytes) => Ok(self.plan.source.cursor(&Record::parse(bytes)?)?),
            // Without a last key the caller would take this page for the last one.
            None => Err(StoreError::Corrupt("the last entry of a page is gone")),
        }
    }
}

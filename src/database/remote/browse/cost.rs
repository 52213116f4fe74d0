//! What listings, scans and samples have cost so far, page after page, in however many portions they are read; and whether they may go on.
//!
//! Whoever would read all of a table or an index must stay below the limit of scans: nothing in the tree spends more by accident. What it
//! would cost is told by counters that may be six hours old, so what it did cost is counted too.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::RemoteDatabase;
use super::source::Readable;
use crate::codec::metrics::prices;
use crate::expr::read_request::ReadRequest;
use crate::model::api::Page;
use crate::model::limits::{PAGE_BYTES_MAX, READ_UNIT_BYTES};
use crate::model::{Error, Item, TableName};

/// Units of an eventually consistent read of 4 KB.
pub const UNITS_A_READ: f64 = 0.5;
/// Reads that may go on, and of which it is known what they cost.
const TOLLS_MAX: usize = 256;

/// What a listing or scan has cost so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Toll {
    pub units: f64,
    pub items: u64,
}

impl Toll {
    /// What a page cost; one that nobody counted is told by its bytes.
    pub fn of(request: &ReadRequest, page: &Page) -> Self {
        let is_full = page.last_evaluated_key.is_some() && request.limit.is_none();
        let bytes = if is_full { page.scanned_bytes.max(PAGE_BYTES_MAX as u64) } else { page.scanned_bytes };
        let guessed = bytes.div_ceil(READ_UNIT_BYTES as u64) as f64 * if request.consistent_read { 1.0 } else { UNITS_A_READ };
        let told = page.consumed_capacity.total();
        Self { units: if told > 0.0 { told } else { guessed }, items: page.count }
    }

    #[must_use]
    pub fn and(self, page: Self) -> Self {
        Self { units: self.units + page.units, items: self.items + page.items }
    }
}

/// What reads that may go on have cost, by where they do; the oldest first.
#[derive(Debug, Default)]
pub struct Tolls {
    reads: Mutex<VecDeque<(ReadRequest, Toll)>>,
    samples: Mutex<VecDeque<(TableName, Toll)>>,
}

impl Tolls {
    /// Before this page.
    pub fn before(&self, request: &ReadRequest) -> Toll {
        let is_first = request.exclusive_start_key.is_none();
        if is_first { Toll::default() } else { find(&self.reads, request) }
    }

    /// It goes on after these keys.
    pub fn keep(&self, request: &ReadRequest, last: &Item, toll: Toll) {
        keep(&self.reads, ReadRequest { exclusive_start_key: Some(last.clone()), ..request.clone() }, toll);
    }

    /// Of the sample that is being taken of a table, in many reads.
    pub fn of_sample(&self, table: &TableName) -> Toll {
        find(&self.samples, table)
    }

    pub fn keep_sample(&self, table: &TableName, toll: Toll) {
        keep(&self.samples, table.clone(), toll);
    }
}

fn find<K: PartialEq>(tolls: &Mutex<VecDeque<(K, Toll)>>, key: &K) -> Toll {
    tolls.lock().iter().find(|(of, _)| of == key).map(|(_, toll)| *toll).unwrap_or_default()
}

fn keep<K: PartialEq>(tolls: &Mutex<VecDeque<(K, Toll)>>, key: K, toll: Toll) {
    let mut tolls = tolls.lock();
    tolls.retain(|(of, _)| *of != key);
    tolls.push_back((key, toll));
    if tolls.len() > TOLLS_MAX {
        tolls.pop_front();
    }
}

impl RemoteDatabase {
    /// May all of this be read, or the first `items` of it? By what DescribeTable says of its size, which may be six hours old.
    ///
    /// # Errors
    /// `Budget`, with what it would cost and what helps.
    pub(super) fn admit(&self, source: &Readable, items: Option<u32>) -> Result<(), Error> {
        let (count, bytes) = source.counted();
        let part = items.map_or(1.0, |items| (f64::from(items) / count.max(1) as f64).min(1.0));
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

    /// May a listing or scan that has cost so much go on?
    ///
    /// # Errors
    /// `Budget`, with what it did cost and what helps.
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

/// How the source is named, and the query path that reads less of it.
fn ways(source: &Readable) -> (String, String) {
    let table = &source.source.table;
    let path = match source.index() {
        Some(index) if source.is_consistent() => format!("{table}/lsi/{}", index.name),
        Some(index) => format!("{table}/gsi/{}", index.name),
        None => table.to_string(),
    };
    let keys: Vec<String> = source.partition().iter().map(|key| format!("{}=VALUE", key.name)).collect();
    let help = format!("{path}/query/{}/items.ndjson reads one item collection", keys.join("/"));
    (path, help)
}

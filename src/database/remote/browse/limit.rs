//! Whoever would read all of a table or an index must stay below the limit of scans: nothing in the tree spends more by accident. What it
//! would cost is told by counters that may be six hours old, so what it did cost is counted too, page after page.

use super::RemoteDatabase;
use super::source::Readable;
use super::toll::{Toll, UNITS_A_READ};
use crate::codec::metrics::prices;
use crate::database::prelude::*;
use crate::model::limits::READ_UNIT_BYTES;

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

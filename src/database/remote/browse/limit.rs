//! Whoever would read all of a table or an index must stay below the limit of scans: nothing in the tree spends more by accident.

use super::RemoteDatabase;
use super::source::Readable;
use crate::codec::metrics::prices;
use crate::model::Error;
use crate::model::limits::READ_UNIT_BYTES;

/// Units of an eventually consistent read of 4 KB.
const UNITS_A_READ: f64 = 0.5;

impl RemoteDatabase {
    /// May all of this be read, or the first `items` of it? By what DescribeTable says of its size, which may be six hours old.
    ///
    /// # Errors
    /// `Budget`, with what it would cost and what helps.
    pub(super) fn admit(&self, source: &Readable, items: Option<u32>) -> Result<(), Error> {
        let (count, bytes) = source.counted();
        let part = items.map_or(1.0, |items| (f64::from(items) / count.max(1) as f64).min(1.0));
        let units = (bytes as f64 * part / READ_UNIT_BYTES as f64).ceil() * UNITS_A_READ;
        if units <= self.options.scan_limit {
            return Ok(());
        }
        Err(Error::Budget(sentence(source, units, bytes, self.options.scan_limit)))
    }
}

fn sentence(source: &Readable, units: f64, bytes: u64, limit: f64) -> String {
    let prices = prices::built_in();
    let table = &source.source.table;
    let path = match source.index() {
        Some(index) if source.is_consistent() => format!("{table}/lsi/{}", index.name),
        Some(index) => format!("{table}/gsi/{}", index.name),
        None => table.to_string(),
    };
    let keys: Vec<String> = source.partition().iter().map(|key| format!("{}=VALUE", key.name)).collect();
    format!(
        "all of {path} is about {} MB: reading it takes about {units:.0} read units ({:.2} {}), and --scan-limit is {limit:.0}; \
         {path}/query/{}/items.ndjson reads one item collection, and a mount with --scan-limit {units:.0} reads all",
        bytes / 1_000_000,
        units / 1e6 * prices.million_reads,
        prices.currency,
        keys.join("/"),
    )
}

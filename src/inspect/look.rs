//! Looking at what a table or index has. It is free: no units, no heat, no throttling, no metrics ([`Browse::look`]).

use std::ops::ControlFlow;

use crate::codec::row::Row;
use crate::database::{Browse, Source};
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::model::api::Segment;
use crate::model::error::StoreError;
use crate::model::{Error, Item};

/// Parts of the hash range that a sample takes as many items of.
const SAMPLE_SEGMENTS: u32 = 64;
/// What the values of a sample may take in memory: a hundred times its items, where these have many small values.
pub const SAMPLE_HELD_BYTES_MAX: usize = 32 * 1024 * 1024;

/// At most `count` items or entries, and no more than fit [`SAMPLE_HELD_BYTES_MAX`], one at least: all, when there are no more, else of all
/// parts of the hash range, of each the first ones.
///
/// # Errors
/// As of [`Browse::look`].
pub fn sample(database: &dyn Browse, source: &Source, count: u32) -> Result<Vec<Item>, Error> {
    let has_more = database.stats(source)?.entries > u64::from(count);
    let segments = if has_more { SAMPLE_SEGMENTS } else { 1 };
    let (mut items, mut held_bytes) = (Vec::new(), 0);
    for index in 0..segments {
        // What an earlier part did not have is left to the others.
        let left = (count as usize).saturating_sub(items.len());
        let parts = (segments - index) as usize;
        let wanted = left.div_ceil(parts);
        if wanted == 0 {
            break;
        }
        let end = items.len() + wanted;
        let held_bytes_end = held_bytes + SAMPLE_HELD_BYTES_MAX.saturating_sub(held_bytes) / parts;
        let mut request = ReadRequest::scan(source.table.clone(), source.index.clone());
        request.range = ReadRange::Scan { segment: Some(Segment { index, total: segments }) };
        request.limit = u32::try_from(wanted).ok();
        pages(database, request, &mut |row| {
            let more_bytes = row.values_bytes()?;
            if held_bytes + more_bytes > held_bytes_end && !items.is_empty() {
                return Ok(ControlFlow::Break(()));
            }
            held_bytes += more_bytes;
            items.push(row.to_item()?);
            Ok(if items.len() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
    }
    Ok(items)
}

/// Calls `visit` with each item or entry, as it is stored, until it breaks. Each page of 1 MB is its own snapshot, so that a long look
/// holds no old data in the store.
fn pages(
    database: &dyn Browse,
    mut request: ReadRequest,
    visit: &mut dyn FnMut(Row<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), Error> {
    loop {
        let mut going = Ok(ControlFlow::Continue(()));
        let page = database.look(&request, &mut |row| {
            if let Ok(ControlFlow::Continue(())) = going {
                going = visit(row);
            }
        })?;
        request.exclusive_start_key = page.last_evaluated_key;
        if going?.is_break() || request.exclusive_start_key.is_none() {
            return Ok(());
        }
    }
}

//! How fast the fullest item collection of a table with local indexes comes to its limit.

use std::ops::ControlFlow;

use crate::database::{Browse, Entries, PartitionKey, Source};
use crate::model::api::TableDescription;
use crate::model::limits::ENTRY_OVERHEAD_BYTES;
use crate::model::{Error, IndexKind};

pub const DAY_MS: u64 = 86_400_000;
/// Items of the collection looked at, the first by sort key.
const ITEMS_MAX: u64 = 1_000_000;
/// How far back growth is looked for: older days say less of those that come.
const LOOKED_BACK_MS: u64 = 7 * DAY_MS;

/// The fullest item collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    pub partition: PartitionKey,
    /// With its local index entries, and the overhead of all.
    pub billed_bytes: u64,
    pub items: u64,
    /// The mount's own.
    pub bytes_max: u64,
    /// Bytes a day of what was written in the last days; `None` when all of it was written within a day.
    pub bytes_a_day: Option<u64>,
    /// Time of its oldest item, milliseconds since the epoch.
    pub since_ms: u64,
    pub now_ms: u64,
}

impl Growth {
    /// When it is full at its pace, milliseconds since the epoch.
    #[must_use]
    pub fn full_ms(&self) -> Option<u64> {
        let left = self.bytes_max.saturating_sub(self.billed_bytes);
        let days = u128::from(left) * u128::from(DAY_MS) / u128::from(self.bytes_a_day.filter(|bytes| *bytes > 0)?);
        self.now_ms.checked_add(u64::try_from(days).ok()?)
    }

    #[must_use]
    pub fn percent(&self) -> u64 {
        (self.billed_bytes * 100).checked_div(self.bytes_max).unwrap_or(100)
    }
}

/// `None` without local indexes or items.
pub fn read(database: &dyn Browse, description: &TableDescription) -> Result<Option<Growth>, Error> {
    let schema = &description.schema;
    let has_local = schema.indexes_of(IndexKind::Local).next().is_some();
    let Some(layout) = database.layout().filter(|_| has_local) else { return Ok(None) };
    let source = Source { table: schema.name.clone(), index: None };
    let Some(largest) = layout.big_collections(&source, 1)?.into_iter().next() else { return Ok(None) };
    let Some(partition) = largest.key else { return Ok(None) };
    let now_ms = description.at_ms;
    let (mut all, mut new, mut since_ms, mut walked) = (0, 0, now_ms, 0);
    let entries = Entries::Collection { partition: partition.clone(), sort_prefix: None };
    database.entries(&source, &entries, None, &mut |_, stat, _| {
        let bytes = u64::from(stat.item_bytes) + ENTRY_OVERHEAD_BYTES;
        all += bytes;
        // An item that was changed counts as if it were new: what it was before is not known.
        new += if stat.modified_ms + LOOKED_BACK_MS > now_ms { bytes } else { 0 };
        since_ms = since_ms.min(stat.modified_ms);
        walked += 1;
        if walked < ITEMS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let over_ms = now_ms.saturating_sub(since_ms).min(LOOKED_BACK_MS);
    // Index entries grow with their items.
    let scaled = u128::from(new) * u128::from(largest.billed_bytes) / u128::from(all.max(1));
    let a_day = u64::try_from(scaled * u128::from(DAY_MS) / u128::from(over_ms.max(1))).ok();
    Ok(Some(Growth {
        partition,
        billed_bytes: largest.billed_bytes,
        items: largest.items,
        bytes_max: layout.collection_bytes_max(),
        bytes_a_day: a_day.filter(|_| over_ms >= DAY_MS),
        since_ms,
        now_ms,
    }))
}

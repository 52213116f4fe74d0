//! The kept load of a table, spread over its items: that of a hot key over the items of its
//! collection, the rest over all others. Writes go to the items that were changed within the last
//! day, so that a key made of a date meets the load of today.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::codec::item_files::rows::cell;
use crate::database::{Browse, EntryRange, SourceName};
use crate::inspect::advice::facts::{DAY_MS, Traffic};
use crate::model::Error;
use crate::model::metrics::{Load, Period};

/// The maximum of keys whose load is asked for.
const HOT_KEYS_MAX: usize = 512;

/// The load of a table by its items.
#[derive(Debug, Default)]
pub struct Spread {
    /// By the text of the partition key.
    hot: HashMap<String, ItemLoad>,
    rest: ItemLoad,
    /// The time from which a change counts as recent.
    recent_ms: u64,
}

/// The units a second of one item.
#[derive(Debug, Clone, Copy, Default)]
struct ItemLoad {
    load: Load,
    /// True if only recent items are written.
    is_recent_only: bool,
}

impl ItemLoad {
    /// Spreads a load over items, or over the recent ones of them.
    fn new(load: &Load, [items, recent]: [u64; 2]) -> Self {
        let written = if recent > 0 { recent } else { items };
        Self {
            load: Load::of_units(
                load.read / items.max(1) as f64,
                load.write / written.max(1) as f64,
            ),
            is_recent_only: recent > 0,
        }
    }
}

impl Spread {
    /// Reads the load of the last day. Fails if the database fails.
    pub fn read(
        database: &dyn Browse,
        source: &SourceName,
        traffic: Option<&Traffic>,
        now_ms: u64,
    ) -> Result<Self, Error> {
        let base = traffic.and_then(|traffic| traffic.source(None));
        let (Some(base), Some(layout)) = (base, database.layout()) else {
            return Ok(Self::default());
        };
        let mut spread = Self {
            recent_ms: now_ms.saturating_sub(DAY_MS),
            ..Self::default()
        };
        let count = |range: &EntryRange| -> Result<[u64; 2], Error> {
            let mut counts = [0; 2];
            database.entries(source, range, None, &mut |_, stat, _| {
                counts[0] += 1;
                counts[1] += u64::from(stat.modified_ms >= spread.recent_ms);
                ControlFlow::Continue(())
            })?;
            Ok(counts)
        };
        let mut left = count(&EntryRange::All)?;
        let (mut hot, mut told) = (HashMap::new(), Load::default());
        for key in layout.hot_keys(source, Period::Day, HOT_KEYS_MAX)? {
            let Some(partition) = key.key else { continue };
            let text = partition.iter().map(cell).collect();
            let counts = count(&EntryRange::Collection {
                partition,
                sort_prefix: None,
            })?;
            told.add(&key.load);
            left = [0, 1].map(|at| left[at].saturating_sub(counts[at]));
            hot.insert(text, ItemLoad::new(&key.peak.load, counts));
        }
        let (busiest, day) = (base.busiest(), base.window(Period::Day).load);
        let part = |told: f64, all: f64| 1.0 - (told / all.max(f64::MIN_POSITIVE)).min(1.0);
        let rest = Load::of_units(
            busiest.read * part(told.read, day.read),
            busiest.write * part(told.write, day.write),
        );
        spread.rest = ItemLoad::new(&rest, left);
        spread.hot = hot;
        Ok(spread)
    }

    /// Returns the units a second of an item with this partition key, changed at this time.
    pub fn load(&self, partition: &str, modified_ms: u64) -> Load {
        let of = self.hot.get(partition).unwrap_or(&self.rest);
        let is_written = modified_ms >= self.recent_ms || !of.is_recent_only;
        Load {
            write: if is_written { of.load.write } else { 0.0 },
            ..of.load
        }
    }
}

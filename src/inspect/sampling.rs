//! Sampling and histograms, for the other analyses. A stratified sample takes equally many items
//! from each part of the hash range; its reads are free: no units, no heat, no throttling, no
//! metrics ([`Browse::peek_page`]). A [`Distribution`] is a histogram with exact counts of each
//! size, so that a mean never hides the largest.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::codec::record::Record;
use crate::database::{Browse, SourceName};
use crate::model::api::Segment;
use crate::model::error::StoreError;
use crate::model::{Error, Item};

/// The parts of the hash range from which a sample takes equal counts of items.
const SAMPLE_SEGMENTS: u32 = 64;
/// The maximum memory of a sample's values, in bytes: a hundred times its items, if these have many
/// small values.
pub const SAMPLE_MEMORY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Returns at most `count` items or entries, and at most [`SAMPLE_MEMORY_BYTES_MAX`] of values, but
/// at least one: all, if there are no more, otherwise the first ones of each part of the hash
/// range. Fails as [`Browse::peek_page`] does.
pub fn sample(database: &dyn Browse, source: &SourceName, count: u32) -> Result<Vec<Item>, Error> {
    let has_more = database.stats(source)?.entries > u64::from(count);
    let segments = if has_more { SAMPLE_SEGMENTS } else { 1 };
    let (mut items, mut held_bytes) = (Vec::new(), 0);
    for index in 0..segments {
        // Items that an earlier part lacked are taken from the others.
        let left = (count as usize).saturating_sub(items.len());
        let parts = (segments - index) as usize;
        let wanted = left.div_ceil(parts);
        if wanted == 0 {
            break;
        }
        let held_bytes_end =
            held_bytes + SAMPLE_MEMORY_BYTES_MAX.saturating_sub(held_bytes) / parts;
        let segment = Segment {
            index,
            total: segments,
        };
        each_record(
            database,
            source,
            Some(segment),
            wanted as u64,
            &mut |record| {
                let more_bytes = record.values_bytes()?;
                if held_bytes + more_bytes > held_bytes_end && !items.is_empty() {
                    return Ok(ControlFlow::Break(()));
                }
                held_bytes += more_bytes;
                items.push(record.to_item()?);
                Ok(ControlFlow::Continue(()))
            },
        )?;
    }
    Ok(items)
}

/// The maximum of items read in one snapshot of the store: a write that needs a larger data file
/// waits for the end of every snapshot.
const VIEW_ITEMS_MAX: u64 = 20_000;

/// Calls `visit` with at most `items_max` records of the source or of a part of the hash range, until
/// it breaks, in several snapshots. Fails if the database or `visit` fails.
pub fn each_record(
    database: &dyn Browse,
    source: &SourceName,
    part: Option<Segment>,
    items_max: u64,
    visit: &mut dyn FnMut(&Record<'_>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), Error> {
    let (mut items, mut last) = (0, None);
    while items < items_max {
        let end = items_max.min(items + VIEW_ITEMS_MAX);
        let mut going = Ok(ControlFlow::Continue(()));
        last = database.records(source, part, last.as_ref(), &mut |record| {
            going = visit(record);
            items += 1;
            match going {
                Ok(ControlFlow::Continue(())) if items < end => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })?;
        if going?.is_break() || last.is_none() {
            break;
        }
    }
    Ok(())
}

/// A distribution: the count of things by their size. The different sizes of `n` things with the
/// sum `m` are at most `√2m`, and those of items 409,600: it stays small for any number of things.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distribution {
    /// Things by their size.
    counts: BTreeMap<u64, u64>,
    pub count: u64,
    pub sum: u64,
}

impl Distribution {
    pub fn add(&mut self, size: u64) {
        *self.counts.entry(size).or_default() += 1;
        self.count += 1;
        self.sum += size;
    }

    pub fn merge(&mut self, other: &Self) {
        other
            .counts
            .iter()
            .for_each(|(size, things)| *self.counts.entry(*size).or_default() += things);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Returns the size that `percent` of the things do not exceed; 0 for none.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> u64 {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut before = 0;
        let place = self.counts.iter().find(|(_, things)| {
            before += *things;
            before >= rank
        });
        place.map_or(0, |(size, _)| *size)
    }

    #[must_use]
    pub fn max(&self) -> u64 {
        self.counts.last_key_value().map_or(0, |(size, _)| *size)
    }

    /// Returns the number of things of at least this size.
    #[must_use]
    pub fn at_least(&self, size: u64) -> u64 {
        self.counts.range(size..).map(|(_, things)| things).sum()
    }

    /// Returns the share of the sum, in rounded percent, that the largest `percent` of the things
    /// have. At least one thing counts as the largest.
    #[must_use]
    pub fn percent_of_largest(&self, percent: u64) -> u64 {
        let mut left = (self.count * percent / 100).max(1);
        let mut has = 0;
        for (size, things) in self.counts.iter().rev() {
            let taken = left.min(*things);
            has += size * taken;
            left -= taken;
            if left == 0 {
                break;
            }
        }
        (has * 100 + self.sum / 2)
            .checked_div(self.sum)
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_maxima_and_what_the_largest_have() {
        let mut spread = Distribution::default();
        assert_eq!(
            (
                spread.percentile(50),
                spread.max(),
                spread.percent_of_largest(1)
            ),
            (0, 0, 0)
        );
        (0..99).for_each(|_| spread.add(3));
        spread.add(703);
        assert_eq!(
            (
                spread.count,
                spread.sum,
                spread.percentile(50),
                spread.percentile(99)
            ),
            (100, 1000, 3, 3)
        );
        assert_eq!(
            (
                spread.max(),
                spread.percentile(100),
                spread.percent_of_largest(1)
            ),
            (703, 703, 70)
        );
        assert_eq!(
            (spread.at_least(3), spread.at_least(4), spread.at_least(704)),
            (100, 1, 0)
        );
        assert_eq!(spread.percent_of_largest(51), 85);
    }
}

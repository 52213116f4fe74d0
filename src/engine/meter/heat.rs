//! Where a partition is split for its load.

use super::top_keys::Counter;
use crate::engine::partitions::map::first_digest;
use crate::model::layout::{Load, PartitionLimits, PlaceRange};

/// Share of its limits that a partition is asked for over the last minute before it splits. The service tells no number.
pub const HEAT_SPLIT_SHARE: f64 = 0.8;

/// How long a partition stays as it is after a split: as long as its load is looked back on.
pub const REST_MS: u64 = 60_000;

const SECONDS: f64 = 60.0;

/// The share of its limits that a partition is asked for, 1 for all; `load` is of the last 60 seconds.
#[must_use]
pub fn share(load: &Load, limits: &PartitionLimits) -> f64 {
    share_over(load, limits, SECONDS)
}

/// As [`share`], of the load of as many seconds.
#[must_use]
pub fn share_over(load: &Load, limits: &PartitionLimits, seconds: f64) -> f64 {
    load.read / seconds / limits.read_units_max + load.write / seconds / limits.write_units_max
}

/// The boundary between two collections that parts the load best: beside one of the hot keys, or in the middle. What the
/// hot keys do not account for is taken as spread over the whole range.
#[must_use]
pub fn cut(range: &PlaceRange, total: &Load, keys: &[Counter], now_ms: u64) -> Option<Vec<u8>> {
    let lower = first_digest(&range.from);
    let upper = range.to.as_deref().map_or(u128::MAX, first_digest);
    let weight = |counter: &Counter| counter.last_minute.sum(now_ms).weight();
    let inside = keys.iter().map(|counter| (u128::from_be_bytes(counter.digest), weight(counter)));
    let mut hot: Vec<(u128, f64)> = inside.filter(|(digest, weight)| (lower..upper).contains(digest) && *weight > 0.0).collect();
    hot.sort_by_key(|(digest, _)| *digest);
    let known: f64 = hot.iter().map(|(_, weight)| weight).sum();
    let rest = (total.weight() - known).max(0.0);
    let width = (upper - lower) as f64;
    let below = |boundary: u128| {
        let hot: f64 = hot.iter().take_while(|(digest, _)| *digest < boundary).map(|(_, weight)| weight).sum();
        hot + rest * ((boundary - lower) as f64 / width)
    };
    let beside = hot.iter().flat_map(|(digest, _)| [Some(*digest), digest.checked_add(1)]).flatten();
    let middle = lower + (upper - lower) / 2;
    let candidates = std::iter::once(middle).chain(beside).filter(|boundary| lower < *boundary && *boundary < upper);
    let imbalance = |boundary: &u128| (below(*boundary) - (known + rest) / 2.0).abs();
    // Of equals the first, the middle.
    candidates.min_by(|a, b| imbalance(a).total_cmp(&imbalance(b))).map(|boundary| boundary.to_be_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::meter::top_keys::TopKeys;

    fn counters(loads: &[(u8, f64)]) -> Vec<Counter> {
        let mut keys = TopKeys::default();
        loads.iter().for_each(|(first, read)| keys.count(&[*first; 16], 0, &Load { read: *read, ..Load::default() }));
        keys.all().copied().collect()
    }

    /// First byte of the cut of the whole hash space, or of the part from 0x40 to 0x80.
    #[track_caller]
    fn check(range: (u8, Option<u8>), loads: &[(u8, f64)], rest: f64, expected: Option<&[u8]>) {
        let place = |first: u8| vec![first; 16];
        let range = PlaceRange { from: place(range.0), to: range.1.map(place) };
        let total = Load { read: rest + loads.iter().map(|(_, read)| read).sum::<f64>(), ..Load::default() };
        let found = cut(&range, &total, &counters(loads), 0);
        assert_eq!(found.as_deref(), expected, "{loads:?} and {rest}");
    }

    #[test]
    fn the_load_is_parted() {
        let middle = [&[0x7F][..], &[0xFF; 15]].concat();
        check((0, None), &[], 10.0, Some(&middle));
        // Between two equally hot keys.
        check((0, None), &[(0x10, 5.0), (0x20, 5.0)], 0.0, Some(&[&[0x10; 15][..], &[0x11]].concat()));
        // One hot key is on one side, all else on the other.
        check((0x40, Some(0x80)), &[(0x50, 100.0)], 1.0, Some(&[&[0x50; 15][..], &[0x51]].concat()));
        // Nothing is between a key and the next.
        let range = PlaceRange { from: vec![7; 16], to: Some([&[7; 15][..], &[8]].concat()) };
        assert_eq!(cut(&range, &Load::default(), &[], 0), None);
    }
}

//! Split points of hot partitions: chooses the keys at which a partition with too much load is
//! split, from samples of its load. `background::splits` calls it.
//!
//! ```text
//! one key has most of the load, and others have some       the key gets a partition of its own
//! one key has all of it, and one item most of that         the item gets a partition of its own
//! one key has all of it, on several items                  inside the collection, where the load by sort key divides best
//! no key has most of the load                              between the keys, where their load divides best
//! ```
//! A single item is not split, nor is a collection that a local index keeps together. Each part has
//! items or load, so that no partition is useless.
//!
//! A cut is useful if the load to come is on both sides of it. So its place is taken from the earlier
//! samples, and the latest ones judge it, as if it had been made before them. A log that is written at
//! its end is not cut: all later load is behind each place that it had reached. The logs of several
//! writers in one collection are cut between the writers, never inside one.

use super::{
    content::{self, SourceContent},
    map::{PartitionMap, first_digest},
};
use crate::engine::prelude::*;
use crate::model::metrics::{HashRange, Load, PartitionLimits, PartitionOrigin, SplitCandidate};

/// The share of the partition's load from which a key gets a partition of its own.
const HOT_KEY_SHARE: f64 = 0.5;
/// The share of a collection's load from which an item gets a partition of its own. It is higher
/// than that of a key: below it, a split next to the item divides the load as well.
const HOT_ITEM_SHARE: f64 = 0.75;
/// The share of the latest load that each side of a cut must have. Otherwise the load moves along the
/// keys, and the split is of no use.
const LATE_SHARE_MIN: f64 = 0.2;
/// The number of the latest samples that judge a cut, at least; otherwise a quarter of all.
const LATE_SAMPLES_MIN: usize = 8;
/// The minimum of samples; with fewer, the partition is split by bytes.
const SAMPLES_MIN: usize = 8;
/// The greatest number of partitions of one collection: 40,000 write units a second, the limit of a
/// table, need 50.
const COLLECTION_PARTITIONS_MAX: usize = 64;
/// The greatest number of partitions that a table or index gets for its load.
const HEAT_PARTITIONS_MAX: usize = 256;

/// A partition above its throughput limits.
#[derive(Clone, Copy)]
pub struct HotPartition<'h> {
    pub content: SourceContent<'h>,
    pub map: &'h PartitionMap,
    pub range: &'h HashRange,
}

/// The first places of the new partitions, or the reason for no split.
pub type SplitPoints = Result<Vec<Vec<u8>>, SplitCandidate>;

impl HotPartition<'_> {
    /// Returns the places at which the partition is cut, from samples of its load.
    pub fn split_points(&self, samples: &[PlaceSample]) -> Result<SplitPoints, Error> {
        let for_heat = self
            .map
            .partitions()
            .iter()
            .filter(|partition| partition.origin == PartitionOrigin::Heat)
            .count();
        if for_heat >= HEAT_PARTITIONS_MAX {
            return Ok(Err(SplitCandidate::LimitReached));
        }
        // A page that continues in the next partition was counted up to the begin of that
        // partition.
        let is_inside = |place: &[u8]| {
            self.range.from[..] <= *place && self.range.to.as_deref().is_none_or(|to| place <= to)
        };
        let mut samples: Vec<&PlaceSample> = samples
            .iter()
            .filter(|sample| is_inside(&sample.place))
            .collect();
        samples.sort_by(|a, b| a.place.cmp(&b.place));
        if samples.len() < SAMPLES_MIN {
            return self.split_by_bytes();
        }
        let keys = group_loads(&samples, |sample| first_digest(&sample.place));
        match heaviest(&keys) {
            Some((digest, share)) if share >= HOT_KEY_SHARE => self.isolate_key(digest, &samples),
            _ if keys.len() < 2 => self.split_by_bytes(),
            _ => match best_split(&keys) {
                Some((below, above)) => {
                    let behind = below.map(|below| (below + 1).to_be_bytes().to_vec());
                    let next = above.map(u128::to_be_bytes);
                    let cut = self.between(behind, next.as_ref().map(|next| &next[..]))?;
                    let beside = |mut place: Vec<u8>| {
                        place.truncate(size_of::<Digest>());
                        vec![place]
                    };
                    Ok(cut.map(beside).ok_or(SplitCandidate::Single))
                }
                None => Ok(Err(SplitCandidate::Sequence)),
            },
        }
    }

    fn split_by_bytes(&self) -> Result<SplitPoints, Error> {
        let half = self.content.midpoint(self.range)?;
        let held = if self.content.has_local() {
            SplitCandidate::HeldByLocalIndex
        } else {
            SplitCandidate::Single
        };
        Ok(half.map(|place| vec![place]).ok_or(held))
    }

    /// Puts a key into a partition of its own or, if it is the only one, cuts its collection.
    fn isolate_key(&self, digest: u128, samples: &[&PlaceSample]) -> Result<SplitPoints, Error> {
        let after = digest
            .checked_add(1)
            .map(|after| after.to_be_bytes().to_vec());
        let cuts = self.bounds_around(&digest.to_be_bytes(), after.as_deref())?;
        if !cuts.is_empty() {
            return Ok(Ok(cuts));
        }
        if self.content.has_local() {
            return Ok(Err(SplitCandidate::HeldByLocalIndex));
        }
        let of_collection = self
            .map
            .partitions()
            .iter()
            .filter(|partition| first_digest(&partition.from) == digest)
            .count();
        if of_collection >= COLLECTION_PARTITIONS_MAX {
            return Ok(Err(SplitCandidate::LimitReached));
        }
        let of_key: Vec<&PlaceSample> = samples
            .iter()
            .copied()
            .filter(|sample| first_digest(&sample.place) == digest)
            .collect();
        self.split_collection(&of_key)
    }

    /// Returns the bounds of the range between two places, each only if the partition has items
    /// beyond it.
    fn bounds_around(&self, from: &[u8], after: Option<&[u8]>) -> Result<Vec<Vec<u8>>, Error> {
        let below = HashRange {
            from: self.range.from.clone(),
            to: Some(from.to_vec()),
        };
        let mut cuts = Vec::new();
        if below.from[..] < *from && self.content.has_items(&below, 1)? {
            cuts.push(from.to_vec());
        }
        if let Some(after) =
            after.filter(|after| self.range.to.as_deref().is_none_or(|to| *after < to))
        {
            let above = HashRange {
                from: after.to_vec(),
                to: self.range.to.clone(),
            };
            if self.content.has_items(&above, 1)? {
                cuts.push(after.to_vec());
            }
        }
        Ok(cuts)
    }

    /// Cuts inside the only collection.
    fn split_collection(&self, samples: &[&PlaceSample]) -> Result<SplitPoints, Error> {
        let items = group_loads(samples, |sample| &sample.place[..]);
        if let Some((place, share)) = heaviest(&items)
            && share >= HOT_ITEM_SHARE
            && place.len() > size_of::<Digest>()
        {
            let cuts = self.bounds_around(place, Some(&content::next_place(place.to_vec())))?;
            return Ok(if cuts.is_empty() {
                Err(SplitCandidate::Single)
            } else {
                Ok(cuts)
            });
        }
        if items.len() < 2 {
            return self.split_by_bytes();
        }
        if !self.content.has_items(self.range, 2)? {
            return Ok(Err(SplitCandidate::Single));
        }
        let Some((below, above)) = best_split(&items) else {
            return Ok(Err(SplitCandidate::Sequence));
        };
        let behind = below.map(|below| content::next_place(below.to_vec()));
        let place = self.between(behind, above)?;
        Ok(place.map(|place| vec![place]).ok_or(SplitCandidate::Single))
    }

    /// Returns a cut between two neighboring places of the load. Any place between them divides the
    /// load alike, so the bytes decide.
    fn between(
        &self,
        behind: Option<Vec<u8>>,
        next: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let place = match (behind, next) {
            (Some(from), Some(next)) => {
                let to = Some(next.to_vec());
                let gap = HashRange { from, to };
                let half = self.content.midpoint(&gap)?;
                Some(half.unwrap_or_else(|| next.to_vec()))
            }
            (behind, next) => behind.or(next.map(<[u8]>::to_vec)),
        };
        Ok(place.filter(|place| self.range.to.as_ref() != Some(place)))
    }
}

/// The load of one key or item in the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
struct GroupLoad<G> {
    group: G,
    all: f64,
    /// The part in the first half of the samples, and in the latest of them.
    early: f64,
    late: f64,
}

/// Sums the load of each group of samples; the samples are in the order of the groups.
fn group_loads<'s, G: PartialEq + Copy>(
    samples: &[&'s PlaceSample],
    group: impl Fn(&'s PlaceSample) -> G,
) -> Vec<GroupLoad<G>> {
    let mut turns: Vec<u64> = samples.iter().map(|sample| sample.sequence).collect();
    turns.sort_unstable();
    let half = turns.len() / 2;
    let latest = (turns.len() / 4).max(LATE_SAMPLES_MIN).min(half);
    let turn = |place: usize| turns.get(place).copied().unwrap_or_default();
    let (middle, late) = (turn(half), turn(turns.len() - latest));
    let mut groups: Vec<GroupLoad<G>> = Vec::new();
    for sample in samples {
        let part = |is_in: bool| if is_in { sample.weight } else { 0.0 };
        let load = GroupLoad {
            group: group(sample),
            all: sample.weight,
            early: part(sample.sequence < middle),
            late: part(sample.sequence >= late),
        };
        match groups.last_mut().filter(|last| last.group == load.group) {
            Some(last) => {
                last.all += load.all;
                last.early += load.early;
                last.late += load.late;
            }
            None => groups.push(load),
        }
    }
    groups
}

/// Returns the sums of all and of the late load.
fn sums<G>(groups: &[GroupLoad<G>]) -> [f64; 2] {
    let loads = groups.iter().map(|load| [load.all, load.late]);
    loads.fold([0.0; 2], |sum, load| [sum[0] + load[0], sum[1] + load[1]])
}

/// Returns the group with the greatest share. A group without early load has none: it may be gone as
/// soon, as the key of a minute is. One whose load goes away has at most twice its late share.
fn heaviest<G: Copy>(groups: &[GroupLoad<G>]) -> Option<(G, f64)> {
    let [all, late] = sums(groups);
    let persistent = |load: &GroupLoad<G>| {
        let share = (load.all / all).min(2.0 * load.late / late);
        (load.group, if load.early > 0.0 { share } else { 0.0 })
    };
    groups
        .iter()
        .map(persistent)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// A cut behind one group, before another, or anywhere between them.
type Cut<G> = (Option<G>, Option<G>);

/// Returns the cut that divides the load best; `None` if the latest load is on one side of each place
/// of the early load. Where one neighbor has no early load the other stays, so the cut is beside that.
fn best_split<G: Copy>(groups: &[GroupLoad<G>]) -> Option<Cut<G>> {
    let [all, late] = sums(groups);
    let (mut below, mut late_below) = (0.0, 0.0);
    let cuts = groups.windows(2).filter_map(|pair| {
        below += pair[0].all / all;
        late_below += pair[0].late / late;
        let is_useful = (LATE_SHARE_MIN..=1.0 - LATE_SHARE_MIN).contains(&late_below);
        let off = (below - 0.5).abs() + (late_below - 0.5).abs();
        let staying = |load: &GroupLoad<G>| (load.early > 0.0).then_some(load.group);
        is_useful.then(|| (off, (staying(&pair[0]), staying(&pair[1]))))
    });
    cuts.filter(|(_, cut)| cut.0.is_some() || cut.1.is_some())
        .min_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, cut)| cut)
}

// Reservoir sampling of the places with load in a partition, over the last one or two minutes: each
// unit of load has the same probability to be in the sample.
//
// There is one reservoir for each minute (Chao, 1982), so that a count adds a few numbers and
// rarely copies a place. The random numbers are the same in each run.

/// The number of places sampled in one minute.
const SAMPLES_MAX: usize = 64;
const MINUTE_MS: u64 = 60_000;

/// The samples of one partition.
#[derive(Debug)]
pub struct Samples {
    this_minute: Reservoir,
    last_minute: Reservoir,
    counted: u64,
    rng: u64,
}

#[derive(Debug, Default)]
struct Reservoir {
    /// Minutes since the epoch.
    minute: u64,
    weight: f64,
    /// The places, each with the number of requests counted before it.
    places: Vec<(Box<[u8]>, u64)>,
}

/// A place, the load that it stands for, and its sequence number among all requests.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceSample {
    pub place: Box<[u8]>,
    pub weight: f64,
    pub sequence: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            this_minute: Reservoir::default(),
            last_minute: Reservoir::default(),
            counted: 0,
            rng: 0x9E37_79B9_7F4A_7C15,
        }
    }
}

impl Samples {
    /// Counts a load on one of two places, with equal probability.
    pub fn count(&mut self, first: &[u8], last: &[u8], now_ms: u64, load: &Load) {
        let weight = load.weight();
        if weight <= 0.0 {
            return;
        }
        let minute = now_ms / MINUTE_MS;
        if minute != self.this_minute.minute {
            self.last_minute = std::mem::replace(
                &mut self.this_minute,
                Reservoir {
                    minute,
                    ..Reservoir::default()
                },
            );
        }
        self.counted += 1;
        self.this_minute.weight += weight;
        let dice = self.next_random();
        let is_full = self.this_minute.places.len() == SAMPLES_MAX;
        if is_full && to_unit(dice) * self.this_minute.weight >= weight * SAMPLES_MAX as f64 {
            return;
        }
        let dice = self.next_random();
        let place = if dice & 1 == 0 { first } else { last };
        let sample = (place.into(), self.counted);
        match self
            .this_minute
            .places
            .get_mut(slot(dice))
            .filter(|_| is_full)
        {
            Some(old) => *old = sample,
            None => self.this_minute.places.push(sample),
        }
    }

    /// Returns the samples of this minute and of the one before.
    #[must_use]
    pub fn recent(&self, now_ms: u64) -> Vec<PlaceSample> {
        let minute = now_ms / MINUTE_MS;
        let recent = [&self.last_minute, &self.this_minute]
            .into_iter()
            .filter(|of| of.minute + 1 >= minute);
        let sampled = recent.flat_map(|of| {
            let weight = of.weight / of.places.len().max(1) as f64;
            of.places.iter().map(move |(place, turn)| PlaceSample {
                place: place.clone(),
                weight,
                sequence: *turn,
            })
        });
        sampled.collect()
    }

    /// Returns the next random number (Xorshift; Marsaglia, 2003).
    fn next_random(&mut self) -> u64 {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        self.rng
    }
}

/// Maps a random number to the range from 0 to below 1.
fn to_unit(dice: u64) -> f64 {
    (dice >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a slot of the reservoir; the lowest bit is used for the choice of the place.
fn slot(dice: u64) -> usize {
    usize::try_from((dice >> 1) % SAMPLES_MAX as u64).unwrap_or_default()
}

/// The share of its limits, over the last minute, from which a partition is hot and splits. The
/// service publishes no number.
pub const HEAT_SPLIT_SHARE: f64 = 0.8;

/// The time for which a partition stays unchanged after a split, in milliseconds: as long as the
/// load is remembered.
pub const SPLIT_COOLDOWN_MS: u64 = 60_000;

const SECONDS: f64 = 60.0;

/// Returns the load as a share of the partition's limits, 1 for all; `load` is of the last 60
/// seconds.
#[must_use]
pub fn share(load: &Load, limits: &PartitionLimits) -> f64 {
    share_over(load, limits, SECONDS)
}

/// Returns the share as [`share`] does, for the load of that many seconds.
#[must_use]
pub fn share_over(load: &Load, limits: &PartitionLimits, seconds: f64) -> f64 {
    load.read / seconds / limits.read_units_max + load.write / seconds / limits.write_units_max
}

#[cfg(test)]
mod hot_tests {
    use super::*;

    fn samples(places: &[&[u8]]) -> Vec<PlaceSample> {
        let sampled = places.iter().zip(0..).map(|(place, sequence)| PlaceSample {
            place: (*place).into(),
            weight: 1.0,
            sequence,
        });
        sampled.collect()
    }

    /// Groups places by their first byte.
    fn groups(samples: &[PlaceSample]) -> Vec<GroupLoad<u8>> {
        let mut sorted: Vec<&PlaceSample> = samples.iter().collect();
        sorted.sort_by(|a, b| a.place.cmp(&b.place));
        group_loads(&sorted, |sample| sample.place[0])
    }

    #[test]
    fn the_load_is_parted_where_it_is_parted_best() {
        for (weights, expected) in [
            (&[1.0, 1.0][..], Some((Some(0), Some(1)))),
            (&[5.0, 2.0, 1.0], Some((Some(0), Some(1)))),
            (&[1.0, 1.0, 3.0], Some((Some(1), Some(2)))),
            (&[9.0, 1.0], None),
            (&[1.0], None),
        ] {
            let steady = weights.iter().zip(0..).map(|(all, group)| GroupLoad {
                group,
                all: *all,
                early: *all,
                late: *all,
            });
            let groups: Vec<GroupLoad<usize>> = steady.collect();
            assert_eq!(best_split(&groups), expected, "{weights:?}");
        }
    }

    #[test]
    fn a_group_is_heavy_only_if_it_lasts() {
        for (first, then, expected) in [
            (&[7, 7, 7, 9][..], &[7, 9, 7, 7][..], (7, 0.75)),
            (&[7, 7, 7, 7], &[9, 9, 9, 9], (9, 0.0)),
        ] {
            let places: Vec<[u8; 1]> = [first.repeat(8), then.repeat(8)]
                .concat()
                .into_iter()
                .map(|place| [place])
                .collect();
            let places: Vec<&[u8]> = places.iter().map(|place| &place[..]).collect();
            assert_eq!(heaviest(&groups(&samples(&places))), Some(expected));
        }
    }

    #[test]
    fn logs_of_several_writers_are_cut_between_the_writers_only() {
        let growing: Vec<u8> = (0..96).collect();
        let falling: Vec<u8> = growing.iter().rev().copied().collect();
        let scattered: Vec<u8> = (0..96).map(|turn| growing[turn * 37 % 96]).collect();
        // A writer's logs grow from places of its own: 0, 50, 100, …
        let logs = |writers: u8, of: &dyn Fn(u8) -> u8| -> Vec<u8> {
            let turns = (0..96_u8).map(|turn| turn % writers * 50 + of(turn / writers));
            turns.collect()
        };
        for (name, places, expected) in [
            ("growing", growing, None),
            ("falling", falling, None),
            ("scattered", scattered, Some(30..70)),
            // At the second writer's beginning, or behind the first one's.
            ("two growing", logs(2, &|turn| turn), Some(50..75)),
            ("two falling", logs(2, &|turn| 49 - turn), Some(25..51)),
            ("four growing", logs(4, &|turn| turn), Some(50..162)),
            ("a late writer", logs(1, &|turn| turn / 2), None),
        ] {
            let bytes: Vec<[u8; 1]> = places.iter().map(|place| [*place]).collect();
            let bytes: Vec<&[u8]> = bytes.iter().map(|place| &place[..]).collect();
            let found = best_split(&groups(&samples(&bytes)));
            assert_eq!(found.is_some(), expected.is_some(), "{name}: {found:?}");
            if let (Some((behind, next)), Some(expected)) = (found, expected) {
                let first = next.or(behind.map(|one| one + 1)).unwrap();
                assert!(expected.contains(&first), "{name}: {found:?}");
                // Later load is on both sides.
                let part = places[72..].iter().filter(|place| **place < first);
                assert!((5..=19).contains(&part.count()), "{name}: {found:?}");
            }
        }
    }
}

#[cfg(test)]
mod sample_tests {
    use super::*;

    #[test]
    fn each_unit_is_as_likely_as_another_and_two_minutes_are_looked_back_on() {
        let mut samples = Samples::default();
        let write = |units: f64| Load {
            write: units,
            ..Load::default()
        };
        for n in 0..30_000_u32 {
            let place = [u8::from(n % 3 == 0)];
            // A third of the requests has three quarters of the load.
            samples.count(
                &place,
                &place,
                u64::from(n) * 2,
                &write(if n % 3 == 0 { 6.0 } else { 1.0 }),
            );
        }
        let recent = samples.recent(59_998);
        let weight = |of: &dyn Fn(&PlaceSample) -> bool| {
            recent
                .iter()
                .filter(|sample| of(sample))
                .map(|sample| sample.weight)
                .sum::<f64>()
        };
        assert_eq!(
            (recent.len(), weight(&|_| true).round()),
            (SAMPLES_MAX, 240_000.0)
        );
        let share = weight(&|sample| *sample.place == [1]) / weight(&|_| true);
        assert!((0.55..0.9).contains(&share), "{share}");
        // The sample has requests of the early half and of the late half.
        assert!(
            (0.3..0.7).contains(&(weight(&|sample| sample.sequence > 15_000) / weight(&|_| true)))
        );
        assert_eq!(samples.recent(119_000).len(), SAMPLES_MAX);
        assert_eq!(samples.recent(120_000), []);
    }
}

//! The partition map of a table or global index: its key ranges, without gap or overlap, and their
//! stored form (range partitioning of the hash space).
//!
//! A place is the digest of a partition key followed by the order inside the collection (see
//! `engine::base::keys`), so that a boundary may lie between two collections or inside one. A
//! partition keeps its number forever; a split gives the upper part a new one.

use std::collections::BTreeSet;

use serde::{Deserializer, Serializer, de};

use crate::codec::digest::{hex, unhex};
use crate::engine::{base::stored_form::StoredForm, prelude::*};
use crate::model::{
    api::Segment,
    metrics::{HashRange, PartitionOrigin},
};

/// The greatest number of partitions of one table or index. The service has no such limit; it keeps
/// the directory of partitions readable.
pub const PARTITIONS_MAX: usize = 4096;

/// A partition of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    pub id: u32,
    /// The first place; empty for the first partition.
    #[serde(serialize_with = "hex_of", deserialize_with = "bytes_of_hex")]
    pub from: Vec<u8>,
    /// The time at which it got its present range, in milliseconds since the epoch.
    #[serde(rename = "since")]
    pub since_ms: u64,
    pub origin: PartitionOrigin,
}

/// The partitions of one table or global index. Version 0 of the form is the same without `v`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionMap {
    /// The partitions by place; the first begins at the first place, so there is at least one.
    partitions: Vec<Partition>,
    #[serde(rename = "next")]
    next_id: u32,
}

impl StoredForm for PartitionMap {
    const VERSION: u8 = 1;
    const NAME: &'static str = "the partitions of a table or index";

    fn is_consistent(&self) -> bool {
        let is_ordered = self
            .partitions
            .windows(2)
            .all(|pair| pair[0].from < pair[1].from);
        let ids: BTreeSet<u32> = self.partitions.iter().map(|it| it.id).collect();
        is_ordered
            && ids.len() == self.partitions.len()
            && ids.last().is_none_or(|last| *last < self.next_id)
            && self
                .partitions
                .first()
                .is_some_and(|first| first.from.is_empty())
    }
}

fn hex_of<S: Serializer>(place: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(place))
}

fn bytes_of_hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    unhex(&String::deserialize(deserializer)?)
        .ok_or_else(|| de::Error::custom("no digits of a place"))
}

impl PartitionMap {
    /// Returns equal parts of the hash space.
    #[must_use]
    pub fn even(count: usize, now_ms: u64) -> Self {
        let total = u32::try_from(count.clamp(1, PARTITIONS_MAX)).unwrap_or(1);
        let partition = |index: u32| {
            let (first, _) = walks::segment_digests(Segment { index, total });
            let from = if index == 0 {
                Vec::new()
            } else {
                first.to_vec()
            };
            Partition {
                id: index,
                from,
                since_ms: now_ms,
                origin: PartitionOrigin::Creation,
            }
        };
        Self {
            partitions: (0..total).map(partition).collect(),
            next_id: total,
        }
    }

    /// Returns the partitions in the order of their places.
    #[must_use]
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// Returns the position of the partition that has a place.
    #[must_use]
    pub fn position_of(&self, place: &[u8]) -> usize {
        self.partitions
            .partition_point(|partition| partition.from.as_slice() <= place)
            .saturating_sub(1)
    }

    /// Returns the partitions from that of one place to that of another, in order; one if the
    /// second place is not behind the first.
    #[must_use]
    pub fn between(&self, from: &[u8], to: &[u8]) -> &[Partition] {
        let first = self.position_of(from);
        &self.partitions[first..=self.position_of(to).max(first)]
    }

    /// Returns the partitions of one collection, which may be cut into several, in order.
    pub fn parts_of(&self, digest: &Digest) -> impl Iterator<Item = &Partition> {
        let from = self.position_of(digest);
        let parts = self.partitions[from..].iter().enumerate();
        let is_part =
            |(place, part): &(usize, &Partition)| *place == 0 || part.from.starts_with(digest);
        parts.take_while(is_part).map(|(_, part)| part)
    }

    /// Returns the position of the partition with that number.
    #[must_use]
    pub fn position_of_id(&self, id: u32) -> Option<usize> {
        self.partitions
            .iter()
            .position(|partition| partition.id == id)
    }

    /// Returns the first place of a partition and the first place behind it; `None` behind the last
    /// partition.
    #[must_use]
    pub fn bounds(&self, position: usize) -> Option<(&[u8], Option<&[u8]>)> {
        let next = self
            .partitions
            .get(position + 1)
            .map(|next| next.from.as_slice());
        Some((self.partitions.get(position)?.from.as_slice(), next))
    }

    /// Returns the range of a partition by its position, which must be one of the map.
    #[must_use]
    pub fn range(&self, position: usize) -> HashRange {
        debug_assert!(position < self.partitions.len(), "no such partition");
        let (from, to) = self.bounds(position).unwrap_or_default();
        HashRange {
            from: from.to_vec(),
            to: to.map(<[u8]>::to_vec),
        }
    }

    /// Cuts the partition that has `place`, which becomes the first place of a new one. Returns
    /// false if it is a boundary already, or if there are too many partitions.
    pub fn split(&mut self, place: Vec<u8>, now_ms: u64, origin: PartitionOrigin) -> bool {
        let position = self.position_of(&place);
        if self.partitions[position].from == place || self.partitions.len() >= PARTITIONS_MAX {
            return false;
        }
        // Both halves start anew: the load before the split cannot be divided between them.
        self.partitions[position].since_ms = now_ms;
        let new = Partition {
            id: self.next_id,
            from: place,
            since_ms: now_ms,
            origin,
        };
        self.partitions.insert(position + 1, new);
        self.next_id += 1;
        true
    }

    /// Halves the widest partitions until there are `count`, or until one cannot be halved.
    pub fn grow_to(&mut self, count: usize, now_ms: u64) {
        while self.partitions.len() < count {
            let Some(middle) = self.middle(self.widest()) else {
                break;
            };
            if !self.split(middle.to_vec(), now_ms, PartitionOrigin::Throughput) {
                break;
            }
        }
    }

    /// Returns the middle of a partition's range of digests; `None` if the range is inside one
    /// collection.
    #[must_use]
    pub fn middle(&self, position: usize) -> Option<Digest> {
        let (from, to) = self.bounds(position)?;
        let lower = first_digest(from);
        let upper = to.map_or(u128::MAX, first_digest);
        let middle = lower + (upper - lower) / 2;
        (middle > lower).then(|| middle.to_be_bytes())
    }

    /// Returns the position of the partition with the widest range of digests, the first of equals.
    #[must_use]
    pub fn widest(&self) -> usize {
        let width = |position: usize| {
            let (from, to) = self.bounds(position).unwrap_or_default();
            to.map_or(u128::MAX, first_digest) - first_digest(from)
        };
        let positions = 0..self.partitions.len();
        // `max_by_key` returns the last of equals, so the order is reversed.
        positions
            .rev()
            .max_by_key(|position| width(*position))
            .unwrap_or(0)
    }
}

/// Returns the digest at the beginning of a place, filled with zeros if the place is shorter.
#[must_use]
pub fn first_digest(place: &[u8]) -> u128 {
    let mut digest = Digest::default();
    let bytes = place.len().min(digest.len());
    digest[..bytes].copy_from_slice(&place[..bytes]);
    u128::from_be_bytes(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::base::stored_form;

    #[test]
    fn even_parts_and_the_places_in_them() {
        let map = PartitionMap::even(4, 5);
        for (first, expected) in [
            (0x00_u8, 0),
            (0x3F, 0),
            (0x40, 1),
            (0x80, 2),
            (0xBF, 2),
            (0xFF, 3),
        ] {
            assert_eq!(map.position_of(&[first; 16]), expected, "{first:#x}");
        }
        assert_eq!(map.bounds(3).unwrap().1, None);
        assert_eq!(PartitionMap::even(0, 5).partitions().len(), 1);
    }

    #[test]
    fn a_split_keeps_the_old_number_below_and_gives_a_new_one_above() {
        let mut map = PartitionMap::even(2, 5);
        let middle = map.middle(0).unwrap().to_vec();
        assert!(map.split(middle.clone(), 9, PartitionOrigin::Size));
        assert!(!map.split(middle, 9, PartitionOrigin::Size));
        let ids: Vec<u32> = map
            .partitions()
            .iter()
            .map(|partition| partition.id)
            .collect();
        assert_eq!(ids, [0, 2, 1]);
        assert_eq!(map.widest(), 2);
        // Inside one collection.
        let inside = [&[0x10; 16][..], b"m"].concat();
        assert!(map.split(inside.clone(), 9, PartitionOrigin::Heat));
        assert_eq!(map.position_of(&[&[0x10; 16][..], b"a"].concat()), 0);
        assert_eq!(map.position_of(&inside), 1);
        let bytes = stored_form::encode(&map).unwrap();
        assert_eq!(stored_form::decode(&bytes), Ok(map.clone()));
        // The stored form from before forms had versions.
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            stored_form::decode(text.replacen("\"v\":1,", "", 1).as_bytes()),
            Ok(map)
        );
    }

    #[test]
    fn a_map_with_a_gap_is_damaged() {
        let no_beginning =
            br#"{"next":1,"partitions":[{"id":0,"from":"10","since":1,"origin":"creation"}]}"#;
        for bytes in [
            &b"{}"[..],
            b"x",
            br#"{"next":1,"partitions":[]}"#,
            no_beginning,
            br#"{"next":0,"partitions":[{"id":0,"from":"","since":1,"origin":"creation"}]}"#,
        ] {
            assert!(
                stored_form::decode::<PartitionMap>(bytes).is_err(),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

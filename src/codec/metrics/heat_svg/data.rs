//! The input of the heat picture of a table, [`HeatMap`], and the heat of its partitions, which
//! `lane` draws.

use crate::model::metrics::{
    HotKey, LargeCollection, Load, PartitionContent, PartitionLimits, PartitionReport, Period,
    RequestCounts, TimeSpan,
};
use crate::model::schema::ProvisionedThroughput;

/// The most keys named of each kind in a lane.
pub const KEYS_MAX: usize = 6;

/// A table with its global indexes.
#[derive(Debug, Clone)]
pub struct HeatMap {
    pub table: String,
    /// The window in which the load is counted.
    pub span: TimeSpan,
    pub limits: PartitionLimits,
    /// The requests to the table in the window.
    pub requests: RequestCounts,
    /// The lanes, the base first.
    pub lanes: Vec<HeatLane>,
}

/// A table's base or one of its global indexes.
#[derive(Debug, Clone)]
pub struct HeatLane {
    /// The path below the table's directory.
    pub title: String,
    /// The names of the key attributes.
    pub keys: String,
    /// The units that the lane may take in a second.
    pub units: ProvisionedThroughput,
    /// True if the units are provisioned. On demand they are its warm throughput, and partitions
    /// have no shares of them.
    pub is_provisioned: bool,
    /// The partitions in the order of the hash space.
    pub partitions: Vec<(PartitionReport, PartitionContent)>,
    /// The hottest keys, hottest first.
    pub hot: Vec<NamedKey<HotKey>>,
    /// The largest keys, largest first.
    pub big: Vec<NamedKey<LargeCollection>>,
}

/// A key's heat or size, with the key's name.
#[derive(Debug, Clone)]
pub struct NamedKey<T> {
    pub about: T,
    /// The digest of the partition key.
    pub digest: [u8; 16],
    pub name: String,
}

/// Reads and writes: units a second, or shares of a limit.
pub type ReadWrite = [f64; 2];

/// The limits of one partition in a second.
#[derive(Debug, Clone, Copy)]
pub struct LoadLimits {
    /// The even share of the provisioned units, at most the partition's own limit; on demand that
    /// limit.
    pub share: ReadWrite,
    /// The partition's own limit.
    pub hard: ReadWrite,
    /// True if the busiest second counts: of an hour or a day it says too little.
    counts_seconds: bool,
}

impl LoadLimits {
    #[must_use]
    pub fn of(lane: &HeatLane, limits: &PartitionLimits, window: Period) -> Self {
        let hard = [limits.read_units_max, limits.write_units_max];
        let count = lane.partitions.len().max(1) as f64;
        let even = units(lane).map(|units| units / count);
        let share = if lane.is_provisioned {
            [even[0].min(hard[0]), even[1].min(hard[1])]
        } else {
            hard
        };
        Self {
            share,
            hard,
            counts_seconds: window == Period::Minute,
        }
    }

    /// Returns the load as a share of the limit that is met first. Unused units are saved, so the
    /// share of them is computed from the mean. Unused units of a partition's own limit, for reads
    /// and writes together, are not saved: the busiest second of a minute counts too.
    #[must_use]
    pub fn heat(&self, mean: ReadWrite, busiest: ReadWrite) -> f64 {
        let [read, write] = shares(mean, self.share);
        let together = |load| shares(load, self.hard).iter().sum::<f64>();
        let sustained = read.max(write).max(together(mean));
        if self.counts_seconds {
            sustained.max(together(busiest))
        } else {
            sustained
        }
    }
}

/// Returns the units a second of a lane.
#[must_use]
pub fn units(lane: &HeatLane) -> ReadWrite {
    [
        lane.units.read_capacity_units as f64,
        lane.units.write_capacity_units as f64,
    ]
}

/// Returns a load as shares of its limits; 0 where the limit is 0.
#[must_use]
pub fn shares(load: ReadWrite, of: ReadWrite) -> ReadWrite {
    let share = |load: f64, of: f64| if of > 0.0 { load / of } else { 0.0 };
    [share(load[0], of[0]), share(load[1], of[1])]
}

/// Returns the units a second of a load over `seconds`.
#[must_use]
pub fn rates(load: &Load, seconds: f64) -> ReadWrite {
    [load.read / seconds, load.write / seconds]
}

/// Returns the load of that kind alone.
#[must_use]
pub fn only(kind: usize, load: ReadWrite) -> ReadWrite {
    std::array::from_fn(|at| if at == kind { load[at] } else { 0.0 })
}

/// The heats with a colour of their own: the percent from which each begins. The first is for none.
pub const STEPS: [f64; 7] = [0.0, 0.0, 10.0, 30.0, 60.0, 80.0, 100.0];

/// Returns the index of a heat's colour.
#[must_use]
pub fn step(share: f64) -> usize {
    match share * 100.0 {
        percent if percent > 0.0 => STEPS.iter().rposition(|from| percent >= *from).unwrap_or(0),
        _ => 0,
    }
}

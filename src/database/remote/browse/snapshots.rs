//! The rows of a whole table or index that a process has listed, for the rest of its walk: a program
//! that lists everything reads everything next, and pays for one Scan, whatever the time to live.
//!
//! | difficulty | solved by |
//! |---|---|
//! | other programs must see changes after the time to live | the rows are for the process that listed, and for others within that time |
//! | a program that stays must see changes too | a folder is listed once, and an entry is read once and looked at twice, each for [`USE_MS`]; a pause of [`PAUSE_MS`] ends the walk |
//! | an own write changes a listing | it voids all folders; entries are those of the cache, which knows own writes |
//! | memory is bounded | by the rows of all walks; records are in the cache, and are read again when it dropped them |

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::cache::EntryPlace;
use super::walks::{KeptRows, ListRow, ROWS_MAX};
use crate::codec::key::partition_digest;
use crate::database::PartitionKey;
use crate::database::cancel::CancelToken;
use crate::database::prelude::*;

/// The pause in milliseconds that ends a walk.
const PAUSE_MS: u64 = 10_000;
/// The time in milliseconds after which a walk ends in any case.
const WALK_MS: u64 = 600_000;
/// The time in milliseconds for which an entry is used: to look at it, open it and read it.
const USE_MS: u64 = 1_000;
/// The looks at the attributes of an entry: file managers show all files first, and read them then.
const LOOKS_MAX: u32 = 2;
/// The limit of walks.
const WALKS_MAX: usize = 32;

/// A listed source with its walk.
#[derive(Debug)]
struct Snapshot {
    source: SourceName,
    process: Option<u32>,
    kept: KeptRows,
    /// The last step of the walk.
    step_ms: u64,
    /// The folders and entries that were used, each with the time at which its present use began,
    /// and the number of uses before.
    used: HashMap<u64, (u64, u32)>,
}

/// The walks of all processes, the oldest first.
#[derive(Debug, Default)]
pub struct Snapshots(Mutex<VecDeque<Snapshot>>);

impl Snapshots {
    /// Begins the walk of a process that has listed a whole source.
    pub fn put(&self, source: &SourceName, caller: &CancelToken, kept: KeptRows, now_ms: u64) {
        let process = caller.process();
        let mut all = self.0.lock();
        // A process that lists anew walks anew.
        all.retain(|one| one.source != *source || one.process != process);
        all.push_back(Snapshot {
            source: source.clone(),
            process,
            kept,
            step_ms: now_ms,
            used: HashMap::new(),
        });
        while all.len() > WALKS_MAX || all.iter().map(|one| one.kept.rows).sum::<usize>() > ROWS_MAX
        {
            all.pop_front();
        }
    }

    /// Takes the rows of a folder.
    pub fn take_folder(
        &self,
        source: &SourceName,
        partition: &PartitionKey,
        caller: &CancelToken,
        at: SnapshotTime,
    ) -> Option<VecDeque<ListRow>> {
        self.step(source, caller, at, |one| {
            let digest = partition_digest(partition);
            let rows = one.kept.folders.remove(&digest)?;
            one.used.insert(hash(&digest), (at.now_ms, 0));
            (one.kept.own_writes == at.own_writes).then_some(rows)
        })
    }

    /// True if the walk saw this folder, and has not been there or is in it.
    pub fn has_folder(
        &self,
        source: &SourceName,
        partition: &PartitionKey,
        caller: &CancelToken,
        at: SnapshotTime,
    ) -> bool {
        let is_there = self.step(source, caller, at, |one| {
            let digest = partition_digest(partition);
            let is_ahead = one.kept.folders.contains_key(&digest);
            let used = one.used.get_mut(&hash(&digest));
            let in_it = used.filter(|(last_ms, _)| at.is_in_use(*last_ms));
            let is_seen = is_ahead || in_it.is_some();
            in_it.into_iter().for_each(|used| used.0 = at.now_ms);
            Some(is_seen && one.kept.own_writes == at.own_writes)
        });
        is_there.unwrap_or(false)
    }

    /// True if an entry may be used as it was listed; the time of its content counts apart.
    pub fn may_use(
        &self,
        place: &EntryPlace,
        is_content: bool,
        caller: &CancelToken,
        at: SnapshotTime,
    ) -> bool {
        let used = self.step(&place.0, caller, at, |one| {
            // A program may ask for any number of names that are not there.
            if one.used.len() > 2 * ROWS_MAX {
                return None;
            }
            let used = one.used.entry(hash(&(place, is_content)));
            let (since_ms, uses) = used.or_insert((at.now_ms, 0));
            if !at.is_in_use(*since_ms) {
                (*since_ms, *uses) = (at.now_ms, *uses + 1);
            }
            Some(*uses < if is_content { 1 } else { LOOKS_MAX })
        });
        used.unwrap_or(false)
    }

    /// Calls `act` with the walk of the caller's process, or of another one within the time to live.
    fn step<T>(
        &self,
        source: &SourceName,
        caller: &CancelToken,
        at: SnapshotTime,
        act: impl FnOnce(&mut Snapshot) -> Option<T>,
    ) -> Option<T> {
        // Most sources have no walk: then `/proc` is not read for the process.
        if !self.0.lock().iter().any(|one| one.source == *source) {
            return None;
        }
        let process = caller.process();
        let mut all = self.0.lock();
        all.retain(|one| {
            at.now_ms < one.step_ms.saturating_add(PAUSE_MS)
                && at.now_ms < one.kept.at_ms.saturating_add(WALK_MS)
        });
        let is_own = |one: &Snapshot| one.process.is_some() && one.process == process;
        let is_fresh = |one: &Snapshot| at.now_ms < one.kept.at_ms.saturating_add(at.ttl_ms);
        let of_source = || {
            (0..)
                .zip(all.iter())
                .filter(|(_, one)| one.source == *source)
        };
        let place = of_source()
            .find(|(_, one)| is_own(one))
            .or_else(|| of_source().find(|(_, one)| is_fresh(one)))
            .map(|(place, _)| place)?;
        let walk = all.get_mut(place)?;
        if is_own(walk) {
            walk.step_ms = at.now_ms;
        }
        act(walk)
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// The time of a step, by the clock and by own writes.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotTime {
    pub now_ms: u64,
    pub ttl_ms: u64,
    pub own_writes: u64,
}

impl SnapshotTime {
    /// True if what was used at that time is in use.
    fn is_in_use(&self, since_ms: u64) -> bool {
        self.now_ms < since_ms.saturating_add(USE_MS.max(self.ttl_ms))
    }
}

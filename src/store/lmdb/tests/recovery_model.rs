//! A model test of recovery: random commits run on a store and on a model of it, with power cut
//! after power cut; the store then opens with exactly the acknowledged commits.
//!
//! After a cut, each page of the data file has its content at the last sync or any later version,
//! whole or torn; the log and the checkpoint file the same, sector by sector. Everything runs on
//! the test's thread, so that the syncs are known.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::store::lmdb::checkpoint_file::{CHECKPOINT_FILE, Checkpoint, CheckpointFile};
use crate::store::lmdb::environment::LmdbEnvironment;
use crate::store::lmdb::log::tests::directory;
use crate::store::lmdb::log::tests::disk::{DiskModel, FileModel};
use crate::store::lmdb::log::tests::seeded::Numbers;
use crate::store::lmdb::log::{LoggedOperations, WriteAheadLog};
use crate::store::lmdb::options::LmdbOptions;
use crate::store::lmdb::pages::WalkReach;
use crate::store::writer::Backend as _;
use crate::store::{Direction, Durability, KeyRange, Read as _, StoreError, Write};

/// Small, so that checkpoints, generations and records too large for one are frequent.
const LOG_BYTES: u64 = 64 * 1024;
const PAGE_BYTES: usize = 4096;
const SLOT_BYTES: usize = 4096;
/// The bytes of the data file that say whether it was closed.
const USAGE: std::ops::Range<usize> = 2048..2080;

type StoreContent = BTreeMap<Vec<u8>, Vec<u8>>;

/// Puts, and deletes without a value.
type ModelChanges = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// A wrong state, made on purpose, that no power cut may leave: the test has to notice it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sabotage {
    None,
    /// The checkpoint before the last one; its pages are not protected any more.
    OldCheckpoint,
    /// No checkpoint: LMDB's own meta pages are used.
    NoCheckpoint,
}

/// The counts of events, to show that the test covers them.
#[derive(Debug, Default)]
struct RecoveryCoverage {
    cuts: u64,
    in_checkpoint: u64,
    in_recovery: u64,
    replayed: u64,
    lost: u64,
    in_flight: u64,
    closed: u64,
    without_record: u64,
}

struct StoreWorld {
    numbers: Numbers,
    dir: tempfile::TempDir,
    environment: Option<LmdbEnvironment>,
    options: LmdbOptions,
    logs: DiskModel,
    data: FileModel,
    /// The checkpoint file.
    checkpoint: Option<Vec<u8>>,
    /// The content after each commit since the last cut or end, by its number.
    commits: BTreeMap<u64, StoreContent>,
    last: u64,
    /// The number of the last commit that no power cut may lose.
    safe: u64,
    /// The content after the next commit, if its process was killed before it was made.
    in_flight: Option<StoreContent>,
    seen: RecoveryCoverage,
}

fn open(dir: &Path, options: &LmdbOptions) -> Result<LmdbEnvironment, StoreError> {
    LmdbEnvironment::open(dir, options.clone())
}

fn content(environment: &LmdbEnvironment) -> Result<StoreContent, StoreError> {
    let mut content = StoreContent::new();
    let all = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    environment
        .snapshot()?
        .walk(&all, Direction::Forward, &mut |key, value| {
            content.insert(key.to_vec(), value.to_vec());
            std::ops::ControlFlow::Continue(())
        })?;
    Ok(content)
}

fn apply(content: &mut StoreContent, changes: &ModelChanges) {
    for (key, value) in changes {
        match value {
            Some(value) => content.insert(key.clone(), value.clone()),
            None => content.remove(key),
        };
    }
}

fn write(batch: &mut dyn Write, changes: &ModelChanges) -> Result<(), StoreError> {
    changes.iter().try_for_each(|(key, value)| match value {
        Some(value) => batch.put(key, value),
        None => batch.delete(key).map(|_| ()),
    })
}

impl StoreWorld {
    fn new(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let durability = if numbers.percent(60) {
            Durability::Power
        } else {
            Durability::Kill
        };
        let options = LmdbOptions {
            durability,
            log_bytes: LOG_BYTES,
            map_bytes: 1 << 20,
            ..LmdbOptions::default()
        };
        let mut world = Self {
            numbers,
            dir: directory(),
            environment: None,
            options,
            logs: DiskModel::default(),
            data: FileModel::new(PAGE_BYTES, Vec::new()),
            checkpoint: None,
            commits: BTreeMap::new(),
            last: 0,
            safe: 0,
            in_flight: None,
            seen: RecoveryCoverage::default(),
        };
        // The file of a store that never had a commit is not synced.
        world.open_again(&BTreeMap::new()).expect("a store");
        world.data.sync();
        world
    }

    fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    fn environment(&self) -> &LmdbEnvironment {
        self.environment.as_ref().expect("an open store")
    }

    fn content(&self) -> StoreContent {
        self.commits.get(&self.last).cloned().unwrap_or_default()
    }

    fn slot(&self) -> Option<Checkpoint> {
        CheckpointFile::new(self.dir.path())
            .read()
            .expect("a checkpoint")
    }

    fn checkpoint_file(&self) -> Option<Vec<u8>> {
        fs::read(self.dir.path().join(CHECKPOINT_FILE)).ok()
    }

    fn data_file(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("data.mdb")).expect("a data file")
    }

    fn changes(&mut self) -> ModelChanges {
        // Now and then more than a record may have.
        let sizes: &[&u64] = if self.numbers.percent(2) {
            &[&30_000]
        } else {
            &[&20, &20, &20, &500, &500, &3000, &12_000]
        };
        let count_max = *self.numbers.one(&[&3, &3, &12]);
        let count = 1 + self.numbers.below(count_max);
        let mut change = || {
            let (name, byte, size) = (
                self.numbers.below(80),
                self.numbers.below(256) as u8,
                *self.numbers.one(sizes),
            );
            let key =
                format!("{name:0width$}", width = if name < 70 { 8 } else { 700 }).into_bytes();
            let value = vec![byte; self.numbers.below(size) as usize];
            (key, (!self.numbers.percent(30)).then_some(value))
        };
        (0..count).map(|_| change()).collect()
    }

    /// Copies the changes of the data file to the model, and marks the model as synced where a new
    /// checkpoint shows that the file was.
    fn observe(&mut self) {
        let after = self.checkpoint_file();
        let before = std::mem::replace(&mut self.checkpoint, after);
        let slot = self.slot();
        let is_new = before != self.checkpoint;
        let is_last = slot.as_ref().is_some_and(|slot| slot.number == self.last);
        // Its sync was before the writes of the commit, if one was made after it.
        if is_new && !is_last {
            self.data.sync();
        }
        let now = self.data_file();
        self.data.set_content(&now);
        if is_new && is_last {
            self.data.sync();
        }
        if let Some(slot) = slot {
            self.safe = self.safe.max(slot.number);
        }
        self.logs.follow();
    }

    fn write(&mut self) {
        let changes = self.changes();
        let mut after = self.content();
        apply(&mut after, &changes);
        let fails = self.numbers.percent(5);
        let result = self.environment().transact(&mut |batch| {
            write(batch, &changes)?;
            if fails {
                Err(StoreError::Corrupt("a job that fails"))
            } else {
                Ok(())
            }
        });
        assert_eq!(result.is_err(), fails, "{result:?}");
        let number = self.environment().commit_id();
        if number != self.last {
            assert_eq!((number, fails), (self.last + 1, false));
            self.commits.insert(number, after);
            self.last = number;
            self.in_flight = None;
        } else {
            assert!(
                fails || after == self.content(),
                "a change without a commit"
            );
        }
        let had_checkpoint = self.safe;
        self.observe();
        self.seen.without_record += u64::from(self.safe == self.last && had_checkpoint < self.last);
        if self.options.durability == Durability::Power {
            self.safe = self.last;
        }
    }

    fn checkpoint(&mut self) {
        self.environment().checkpoint_paced();
        self.observe();
    }

    /// Runs the log thread's work.
    fn keep_up(&mut self) {
        self.environment().maintain_log();
        self.observe();
        self.safe = self.last;
    }

    /// Kills the process, maybe with a record in the log without its commit.
    fn kill(&mut self) {
        self.environment = None;
        let Some(slot) = self.slot().filter(|_| self.numbers.percent(50)) else {
            return;
        };
        let changes: ModelChanges = (self.changes().into_iter().map(|(mut key, _)| {
            key.truncate(100);
            (key, Some(vec![7; 50]))
        }))
        .collect();
        let mut operations = LoggedOperations::new(LOG_BYTES);
        let mut after = self.content();
        for (key, value) in &changes {
            operations.put(key, value.as_deref().unwrap_or_default());
        }
        apply(&mut after, &changes);
        let mut log = WriteAheadLog::open(
            self.dir.path(),
            LOG_BYTES,
            slot.epoch,
            slot.position,
            slot.number,
        )
        .expect("a log");
        let number = self.last + 1;
        if log.catch_up(number).expect("a readable log")
            && log
                .append(number, &mut operations, slot.position)
                .expect("a log that takes records")
        {
            self.in_flight = Some(after);
            if self.numbers.percent(50) {
                log.files().sync().expect("a sync");
            }
        }
        self.logs.follow();
    }

    /// Opens again on the same machine with the same files: nothing is lost.
    fn restart(&mut self) {
        self.kill();
        let expected = self.commits.clone();
        self.reopen_unchanged(&expected);
        // The opening synced the records of the other process.
        self.safe = self.last;
    }

    fn close(&mut self) {
        self.environment().shutdown();
        self.environment = None;
        assert_eq!(self.checkpoint_file(), None);
        self.seen.closed += 1;
        (self.checkpoint, self.in_flight) = (None, None);
        let now = self.data_file();
        self.data.set_content(&now);
        self.data.sync();
        self.safe = self.last;
        self.logs.follow_removals(&self.path());
        if self.numbers.percent(50) {
            self.reopen_unchanged(&self.commits.clone());
        } else {
            self.cut(Sabotage::None).expect("a closed store");
        }
    }

    fn reopen_unchanged(&mut self, commits: &BTreeMap<u64, StoreContent>) {
        self.environment = Some(open(self.dir.path(), &self.options).expect("a store"));
        assert_eq!(self.environment().commit_id(), self.last);
        assert!(
            content(self.environment()).expect("readable")
                == commits.get(&self.last).cloned().unwrap_or_default()
        );
        self.observe();
    }

    /// Cuts power while the last process makes a checkpoint.
    fn cut_in_checkpoint(&mut self) -> Result<(), String> {
        let (data, before, safe) = (self.data.clone(), self.checkpoint.clone(), self.safe);
        self.checkpoint();
        self.seen.in_checkpoint += 1;
        let Some(mut slots) = before else {
            return self.cut(Sabotage::None);
        };
        let after = self.checkpoint.clone().unwrap_or_default();
        self.safe = safe;
        if self.numbers.percent(50) {
            // Before the slot is written; the data file is synced partly or wholly.
            if self.numbers.percent(50) {
                self.data = data;
            }
        } else {
            let bytes = self.numbers.below(600).min(slots.len() as u64) as usize;
            for (slot, after) in slots
                .chunks_mut(SLOT_BYTES)
                .zip(after.chunks(SLOT_BYTES))
                .filter(|(slot, after)| slot != after)
            {
                slot[..bytes].copy_from_slice(&after[..bytes]);
            }
        }
        self.checkpoint = Some(slots);
        self.cut(Sabotage::None)
    }

    /// Cuts power, opens the store and checks it. An error says what is wrong.
    fn cut(&mut self, sabotage: Sabotage) -> Result<(), String> {
        self.environment = None;
        let to = directory();
        self.logs.follow_removals(&self.path());
        self.logs.cut(to.path(), &mut self.numbers);
        self.data = FileModel::new(PAGE_BYTES, self.data.cut(&mut self.numbers));
        fs::write(to.path().join("data.mdb"), &self.data.now).expect("a data file");
        if let Some(mut slots) = self
            .checkpoint
            .clone()
            .filter(|_| sabotage != Sabotage::NoCheckpoint)
        {
            if sabotage == Sabotage::OldCheckpoint {
                let newest = newest_slot(&slots);
                slots[newest * SLOT_BYTES..(newest + 1) * SLOT_BYTES].fill(0);
            }
            fs::write(to.path().join(CHECKPOINT_FILE), slots).expect("a checkpoint file");
        }
        self.dir = to;
        if self.checkpoint.is_some() && self.numbers.percent(30) {
            self.cut_in_recovery()?;
        }
        self.seen.cuts += 1;
        let commits = std::mem::take(&mut self.commits);
        self.open_again(&commits)
    }

    /// Runs a recovery to its end, and cuts power before all of it is on disk.
    fn cut_in_recovery(&mut self) -> Result<(), String> {
        self.seen.in_recovery += 1;
        let tried = directory();
        for entry in fs::read_dir(self.dir.path()).expect("a directory") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), tried.path().join(entry.file_name())).expect("a copy");
        }
        drop(open(tried.path(), &self.options).map_err(|error| error.to_string())?);
        let mut data = fs::read(tried.path().join("data.mdb")).expect("a data file");
        // The file says that it is closed only when all of it is on disk.
        data[USAGE].copy_from_slice(&self.data.now[USAGE]);
        self.data.set_content(&data);
        self.data = FileModel::new(PAGE_BYTES, self.data.cut(&mut self.numbers));
        fs::write(self.dir.path().join("data.mdb"), &self.data.now).expect("a data file");
        Ok(())
    }

    /// Opens the files after a cut. The content must be one of these commits, or the one in flight,
    /// and not older than the safe one.
    fn open_again(&mut self, commits: &BTreeMap<u64, StoreContent>) -> Result<(), String> {
        let failed = |error: StoreError| error.to_string();
        let from = self.slot().map_or(self.last, |slot| slot.number);
        let environment = open(self.dir.path(), &self.options).map_err(failed)?;
        let number = environment.commit_id();
        environment.check_pages(WalkReach::Whole).map_err(failed)?;
        let found = content(&environment).map_err(failed)?;
        if number < self.safe {
            return Err(format!(
                "commit {} was safe, and {number} is the last",
                self.safe
            ));
        }
        let empty = StoreContent::new();
        let expected = if number == self.last + 1 {
            self.in_flight.as_ref()
        } else {
            Some(commits.get(&number).unwrap_or(&empty))
        };
        if expected != Some(&found) {
            return Err(format!("commit {number} is another than it was"));
        }
        self.seen.replayed += number - from.min(number);
        self.seen.lost += self.last.saturating_sub(number);
        self.seen.in_flight += number.saturating_sub(self.last);
        self.environment = Some(environment);
        (self.commits, self.last, self.safe, self.in_flight) =
            ([(number, found)].into(), number, number, None);
        (self.checkpoint, self.data) = (None, FileModel::new(PAGE_BYTES, self.data_file()));
        self.logs.follow_removals(&self.path());
        self.checkpoint = self.checkpoint_file();
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        match self.numbers.below(100) {
            0..4 => self.checkpoint(),
            4..8 => self.keep_up(),
            8..10 => self.restart(),
            10..11 => self.close(),
            11..13 => {
                self.kill();
                return self.cut(Sabotage::None);
            }
            13..15 => return self.cut_in_checkpoint(),
            15..18 => return self.cut(Sabotage::None),
            _ => self.write(),
        }
        Ok(())
    }
}

/// Returns the slot that counts.
fn newest_slot(slots: &[u8]) -> usize {
    let serial = |slot: usize| {
        slots[slot * SLOT_BYTES + 16..]
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes))
    };
    usize::from(serial(1) > serial(0))
}

/// Returns the number of simulated runs (worlds), each with its own random seed: more with
/// DDBFS_RECOVERY_WORLDS.
fn worlds() -> u64 {
    std::env::var("DDBFS_RECOVERY_WORLDS")
        .ok()
        .and_then(|worlds| worlds.parse().ok())
        .unwrap_or(20)
}

#[test]
fn after_a_power_cut_the_store_is_what_was_acknowledged() {
    let mut total = [0; 8];
    for seed in 0..worlds() {
        let mut world = StoreWorld::new(seed);
        for step in 0..150 {
            world
                .step()
                .unwrap_or_else(|error| panic!("world {seed}, step {step}: {error}"));
        }
        let RecoveryCoverage {
            cuts,
            in_checkpoint,
            in_recovery,
            replayed,
            lost,
            in_flight,
            closed,
            without_record,
        } = world.seen;
        let seen = [
            cuts,
            in_checkpoint,
            in_recovery,
            replayed,
            lost,
            in_flight,
            closed,
            without_record,
        ];
        total
            .iter_mut()
            .zip(seen)
            .for_each(|(total, seen)| *total += seen);
    }
    println!(
        "cuts, in a checkpoint, in a recovery, replayed, lost, in flight, closed, without a record: {total:?}"
    );
    assert!(total.iter().all(|seen| *seen > 0), "{total:?}");
}

/// Returns the number of simulated runs that notice a state that no power cut may leave.
fn noticed(sabotage: Sabotage) -> usize {
    (0..8)
        .filter(|seed| {
            let mut world = StoreWorld::new(*seed);
            for _ in 0..4 {
                (0..12).for_each(|_| world.write());
                world.checkpoint();
            }
            (0..30).for_each(|_| world.write());
            world.cut(sabotage).is_err()
        })
        .count()
}

#[test]
fn what_no_power_cut_may_leave_is_noticed() {
    assert_eq!(noticed(Sabotage::None), 0);
    assert!(noticed(Sabotage::OldCheckpoint) > 0);
    assert!(noticed(Sabotage::NoCheckpoint) > 0);
}

//! A randomized model test: simulated processes commit through one log, are killed, fail and lose
//! power. A replay always finds exactly their commits, up to a point after which there is no synced
//! record.

use std::path::PathBuf;

use super::super::{LogPosition, WriteAheadLog};
use super::disk::{DiskModel, shorten_last_write};
use super::seeded::Numbers;
use super::{LoggedChange, gathered, read};

/// Small, so that generations change often.
const LIMIT: u64 = 4096;

/// The content of a slot of the checkpoint file.
#[derive(Debug, Clone, Copy)]
struct CheckpointSlot {
    position: LogPosition,
    epoch: u64,
    number: u64,
}

/// A process that has the store open.
struct LogProcess {
    log: WriteAheadLog,
    /// True if its acknowledgement waits for the sync.
    power: bool,
    last_commit: u64,
}

/// A record appended by a process that was killed before its commit, and the number it would have
/// had.
type InFlightRecord = Option<(u64, Vec<LoggedChange>)>;

struct LogWorld {
    numbers: Numbers,
    dir: tempfile::TempDir,
    disk: DiskModel,
    processes: Vec<LogProcess>,
    slot: CheckpointSlot,
    /// Every commit since number 1, up to the point that a recovery reached.
    commits: Vec<Vec<LoggedChange>>,
    /// The number of the last commit that no power cut may lose.
    safe: u64,
    in_flight: InFlightRecord,
    seen: LogCoverage,
}

/// The counts of events, to show that the test covers them.
#[derive(Debug, Default)]
struct LogCoverage {
    cuts: u64,
    replayed: u64,
    lost: u64,
    in_flight: u64,
    without_record: u64,
    followed: u64,
}

impl LogWorld {
    fn new(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let slot = CheckpointSlot {
            position: LogPosition::new(numbers.below(5), 0),
            epoch: numbers.below(u64::MAX),
            number: 0,
        };
        let dir = super::directory();
        let (disk, seen) = (DiskModel::default(), LogCoverage::default());
        let mut world = Self {
            numbers,
            dir,
            disk,
            processes: Vec::new(),
            slot,
            commits: Vec::new(),
            safe: 0,
            in_flight: None,
            seen,
        };
        world.join();
        world
    }

    fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    fn last(&self) -> u64 {
        self.commits.len() as u64
    }

    fn join(&mut self) {
        let limit = LIMIT * (1 + self.numbers.below(2));
        let log = WriteAheadLog::open(
            &self.path(),
            limit,
            self.slot.epoch,
            self.slot.position,
            self.slot.number,
        )
        .expect("a log");
        self.processes.push(LogProcess {
            log,
            power: self.numbers.percent(50),
            last_commit: 0,
        });
    }

    fn changes(&mut self) -> Vec<LoggedChange> {
        let count = 1 + self.numbers.below(4);
        let mut change = || {
            let key = vec![self.numbers.below(256) as u8; 1 + self.numbers.below(20) as usize];
            let value_bytes = *self.numbers.one(&[&3, &300, &1200, &2500]);
            let value =
                vec![self.numbers.below(256) as u8; self.numbers.below(value_bytes) as usize];
            (key, (!self.numbers.percent(20)).then_some(value))
        };
        (0..count).map(|_| change()).collect()
    }

    /// Lets the process find the tail; returns false at a gap.
    fn follow(&mut self, at: usize) -> bool {
        let (next, slot) = (self.last() + 1, self.slot);
        let process = &mut self.processes[at];
        self.seen.followed += u64::from(process.last_commit + 1 != next);
        process.log.catch_up(next).expect("a readable log") || {
            process.log.go_to(slot.epoch, slot.position, slot.number);
            process.log.catch_up(next).expect("a readable log")
        }
    }

    /// Runs one write transaction of a process.
    fn write(&mut self, at: usize) {
        let changes = self.changes();
        let number = self.last() + 1;
        let follows = self.follow(at);
        let mut operations = gathered(&changes, LIMIT);
        let (checkpoint, process) = (self.slot.position, &mut self.processes[at]);
        if !process
            .log
            .append(number, &mut operations, checkpoint)
            .expect("a log that takes records")
        {
            return self.write_without(at, changes);
        }
        assert!(follows, "appended behind a gap");
        match self.numbers.below(20) {
            // The kill comes in the middle of the write.
            0 => {
                shorten_last_write(self.dir.path(), &mut self.disk, &mut self.numbers);
                self.kill(at, Some((number, changes)));
            }
            1 => self.kill(at, Some((number, changes))),
            2 => {
                process.log.files().sync().expect("a sync");
                self.kill(at, Some((number, changes)));
            }
            3 => process.log.void().expect("a void"),
            _ => self.commit(at, changes),
        }
    }

    fn commit(&mut self, at: usize, changes: Vec<LoggedChange>) {
        let number = self.last() + 1;
        let process = &mut self.processes[at];
        if process.power {
            process.log.files().sync().expect("a sync");
            self.safe = number;
        }
        process.log.committed(number);
        process.last_commit = number;
        self.commits.push(changes);
        self.in_flight = None;
    }

    /// Makes a commit without a record, with a checkpoint that makes it durable or without.
    fn write_without(&mut self, at: usize, changes: Vec<LoggedChange>) {
        self.seen.without_record += 1;
        self.commits.push(changes);
        self.in_flight = None;
        if self.numbers.percent(20) {
            return self.kill(at, None);
        }
        let (number, epoch) = (self.last(), self.slot.epoch);
        let process = &mut self.processes[at];
        // If the next generation is free, as everything in it is before the checkpoint.
        let position = process.log.restart(epoch, number);
        self.slot = CheckpointSlot {
            position,
            epoch,
            number,
        };
        self.safe = number;
    }

    fn kill(&mut self, at: usize, in_flight: InFlightRecord) {
        self.in_flight = in_flight.or(self.in_flight.take());
        self.processes.swap_remove(at);
        if self.processes.is_empty() {
            self.join();
        }
    }

    fn checkpoint(&mut self, at: usize) {
        if !self.follow(at) {
            return;
        }
        let (position, number) = (self.processes[at].log.tail(), self.last());
        self.slot = CheckpointSlot {
            position,
            number,
            ..self.slot
        };
        self.safe = number;
    }

    fn sync(&mut self, at: usize) {
        let process = &self.processes[at];
        process.log.files().sync().expect("a sync");
        self.safe = self.safe.max(process.last_commit);
    }

    fn cut(&mut self) {
        self.processes.clear();
        self.disk.cut(self.dir.path(), &mut self.numbers);
        let slot = self.slot;
        let (records, end, last) = read(self.dir.path(), slot.position, slot.epoch, slot.number);
        self.check(&records, last);
        // A recovery that was cut off finds the same.
        assert_eq!(
            (records, end, last),
            read(self.dir.path(), slot.position, slot.epoch, slot.number)
        );
        self.recover(end, last);
    }

    fn check(&mut self, records: &[(u64, Vec<LoggedChange>)], last: u64) {
        assert!(
            last >= self.safe,
            "commit {} was safe, and replay ends with {last}",
            self.safe
        );
        assert!(
            records
                .iter()
                .map(|(number, _)| *number)
                .eq(self.slot.number + 1..=last),
            "records out of order"
        );
        for (number, changes) in records {
            match self.commits.get(*number as usize - 1) {
                Some(commit) => assert_eq!(commit, changes, "commit {number}"),
                None => assert_eq!(
                    self.in_flight,
                    Some((*number, changes.clone())),
                    "commit {number} was never written"
                ),
            }
        }
        self.seen.cuts += 1;
        self.seen.replayed += records.len() as u64;
        self.seen.lost += self.last().saturating_sub(last);
        self.seen.in_flight += last.saturating_sub(self.last());
    }

    fn recover(&mut self, end: LogPosition, last: u64) {
        self.commits.truncate(last as usize);
        if last > self.last() {
            self.commits
                .extend(self.in_flight.take().map(|(_, changes)| changes));
        }
        self.in_flight = None;
        self.safe = last;
        self.slot = CheckpointSlot {
            position: end.next_generation(),
            epoch: self.numbers.below(u64::MAX),
            number: last,
        };
        self.join();
    }

    fn step(&mut self) {
        let at = self.numbers.below(self.processes.len() as u64) as usize;
        match self.numbers.below(100) {
            0..3 => self.join(),
            3..10 => self.checkpoint(at),
            10..15 => self.sync(at),
            15..17 => self.kill(at, None),
            17..22 => self.cut(),
            _ => self.write(at),
        }
    }
}

#[test]
fn replay_finds_what_was_committed_and_all_that_was_synced() {
    let mut total = LogCoverage::default();
    for seed in 0..super::worlds() {
        let mut world = LogWorld::new(seed);
        for _ in 0..200 {
            world.step();
        }
        world.disk.check(world.dir.path());
        world.cut();
        let seen = &world.seen;
        total.cuts += seen.cuts;
        total.replayed += seen.replayed;
        total.lost += seen.lost;
        total.in_flight += seen.in_flight;
        total.without_record += seen.without_record;
        total.followed += seen.followed;
    }
    println!("{total:?}");
    assert!(
        [
            total.cuts,
            total.replayed,
            total.lost,
            total.in_flight,
            total.without_record,
            total.followed
        ]
        .iter()
        .all(|seen| *seen > 0)
    );
}

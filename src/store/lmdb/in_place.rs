//! An offline store: read from its files while no process has it open, without writing a byte. The
//! changes that a recovery would write are kept in memory: the last operation of the log on each
//! key, no more bytes than the log has.
//!
//! While it is open, no other process can open the store, since it would have to recover it; it
//! waits.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::compact::holder;
use super::directory::{DATA_FILE, DataDirectory};
use super::guard;
use super::heads::{damaged, no_locks};
use super::locks::{Byte, Locks};
use super::log::{Operation, Reader};
use super::log_check::{Changes, compare};
use super::pages::{self, Head, Reach};
use super::recovery::refused;
use super::slots::Slots;
use super::survey::{Start, survey};
use super::system::{Mapped, disk_space};
use super::tree::Tree;
use crate::store::long_key::{LongKeys, RawRange, RawRead, RawVisit};
use crate::store::{BatchHook, Direction, Read, Store, StoreError, StoreInfo, WriteJob};

/// The last operation of the log on each key: a value, or a deletion.
type Behind = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// A store that is only read.
#[derive(Debug)]
pub struct InPlace {
    data: File,
    mapped: Mapped,
    head: Head,
    behind: Behind,
    /// The number of the last commit.
    number: u64,
    /// True if there is a log with which the data file can be compared.
    has_log: bool,
    /// The error of each write.
    refusal: StoreError,
    /// Locks that keep other processes out. Before the directory, which other stores of this
    /// process may open as soon as it is dropped.
    _locks: Option<Locks>,
    directory: DataDirectory,
}

impl InPlace {
    /// Opens the store in a directory; `None` if a process has it open. Writes fail with `refusal`.
    ///
    /// # Errors
    /// `Io` if there is no store; `Damaged` with a sentence; a failed read.
    pub fn open(dir: &Path, refusal: StoreError) -> Result<Option<Self>, StoreError> {
        if !dir.join(DATA_FILE).exists() {
            return Err(StoreError::Io(format!(
                "there is no {DATA_FILE} in {}",
                dir.display()
            )));
        }
        let directory = DataDirectory::take(dir)?;
        let failed =
            |error: std::io::Error| StoreError::Io(format!("{:?}: {error}", directory.path()));
        let locks =
            Locks::open_existing(&directory).map_err(|error| no_locks(&directory, &error))?;
        if let Some(locks) = &locks {
            // Held to the end: a process that opens the store waits for it.
            locks.hold_for_good(Byte::Opening).map_err(failed)?;
            if !locks.be_alone(Byte::Presence).map_err(failed)? {
                return Ok(None);
            }
        }
        if holder(&directory).map_err(failed)?.is_some() {
            return Ok(None);
        }
        let data = File::open(directory.data_file()).map_err(failed)?;
        let survey = survey(directory.path(), &data)?;
        if let Some(what) = survey.damage {
            return Err(refused(&what));
        }
        guard::watch_map(&directory.data_file());
        let newest =
            || pages::heads(&data).map(|heads| heads.into_iter().max_by_key(|head| head.commit));
        let (head, (behind, number)) = match &survey.start {
            // Both are complete without the log.
            Start::Data | Start::PageCache => (newest(), (Behind::new(), None)),
            Start::Checkpoint(checkpoint) => {
                let (behind, number) = replayed(directory.path(), checkpoint)?;
                (
                    Head::parse(&checkpoint.head).map(Some),
                    (behind, Some(number)),
                )
            }
        };
        let head = head
            .map_err(|damage| damaged(&directory, &damage))?
            .ok_or(StoreError::Corrupt("no head"))?;
        // Before it is mapped.
        pages::walk_from(&data, head, Reach::Bounded)
            .map_err(|damage| damaged(&directory, &damage))?;
        let mapped = Mapped::open(&data).map_err(failed)?;
        let (number, has_log) = (
            number.unwrap_or(head.commit),
            survey.start == Start::PageCache,
        );
        Ok(Some(Self {
            data,
            mapped,
            head,
            behind,
            number,
            has_log,
            refusal,
            _locks: locks,
            directory,
        }))
    }

    fn tree(&self) -> Tree<'_> {
        Tree {
            bytes: self.mapped.bytes(),
            head: self.head,
        }
    }
}

fn replayed(
    dir: &Path,
    checkpoint: &super::slots::Checkpoint,
) -> Result<(Behind, u64), StoreError> {
    let mut behind = Behind::new();
    let (_, last) = Reader::open(dir)?.replay(
        checkpoint.position,
        checkpoint.epoch,
        checkpoint.number,
        &mut |_, mut payload| {
            payload.try_for_each(|operation| {
                let (key, value) = match operation? {
                    Operation::Put(key, value) => (key, Some(value.to_vec())),
                    Operation::Delete(key) => (key, None),
                };
                behind.insert(key.to_vec(), value);
                Ok(())
            })
        },
    )?;
    Ok((behind, last))
}

/// A view of the data file with the log's changes.
struct View<'s>(&'s InPlace);

impl RawRead for View<'_> {
    fn raw_get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        self.0
            .behind
            .get(key)
            .map_or_else(|| self.0.tree().get(key), |value| Ok(value.as_deref()))
    }

    fn raw_commit_id(&self) -> u64 {
        self.0.number
    }

    /// Merges the data file and the log's changes in order. For a key in both, the log counts.
    fn raw_walk(
        &self,
        range: RawRange<'_>,
        direction: Direction,
        visit: &mut RawVisit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        if range.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let mut behind = self.0.behind.range::<[u8], _>((range.lower, range.upper));
        let mut next = || {
            if direction == Direction::Forward {
                behind.next()
            } else {
                behind.next_back()
            }
        };
        let mut waiting = next();
        let flow = self.0.tree().walk(range, direction, &mut |key, value| {
            // A change at `key` comes first too: it replaces the file's entry.
            let comes_first = |changed: &[u8]| {
                if direction == Direction::Forward {
                    changed <= key
                } else {
                    changed >= key
                }
            };
            while let Some((changed, value)) = waiting.filter(|(changed, _)| comes_first(changed)) {
                waiting = next();
                if let Some(value) = value
                    && visit(changed, value)?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
                if changed == key {
                    return Ok(ControlFlow::Continue(()));
                }
            }
            visit(key, value)
        })?;
        while let Some((changed, value)) = waiting.filter(|_| flow.is_continue()) {
            waiting = next();
            if let Some(value) = value
                && visit(changed, value)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(flow)
    }
}

impl Store for InPlace {
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        Ok(Box::new(LongKeys::new(View(self))))
    }

    fn submit(&self, job: Box<dyn WriteJob>) {
        job.done(Err(self.refusal.clone()));
    }

    fn commit_id(&self) -> u64 {
        self.number
    }

    fn set_hook(&self, _hook: Arc<dyn BatchHook>) {}

    fn info(&self) -> StoreInfo {
        let disk = disk_space(self.directory.path()).unwrap_or_default();
        StoreInfo {
            used_bytes: self.mapped.bytes().len() as u64,
            free_bytes: disk.free_bytes,
            reserved_bytes: disk.reserved_bytes,
            total_bytes: disk.total_bytes,
            ..StoreInfo::default()
        }
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, StoreError> {
        // No further commit is possible.
        if after == self.number {
            std::thread::sleep(timeout);
        }
        Ok(self.number)
    }

    fn check(&self) -> Result<(), StoreError> {
        pages::walk_from(&self.data, self.head, Reach::Whole)
            .map_err(|damage| damaged(&self.directory, &damage))?;
        let dir = self.directory.path();
        if !self.has_log {
            return Ok(());
        }
        // It was there at the opening, and the locks keep other processes out.
        let checkpoint = Slots::new(dir).read()?;
        let checkpoint = checkpoint.ok_or(StoreError::Corrupt("the checkpoint is gone"))?;
        let (_, changes) = Changes::read(dir, &checkpoint, self.number)?;
        compare(dir, &changes, |key| self.tree().get(key))
    }

    fn close(&self) {}
}

//! An offline store: read from its files while no process has it open, without writing a byte. The
//! changes that a recovery would write are kept in memory: the last operation of the log on each
//! key, no more bytes than the log has.
//!
//! While it is open, no other process can open the store, since it would have to recover it; it
//! waits.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::checkpoint_file::CheckpointFile;
use super::compact::lmdb_process;
use super::directory::{DATA_FILE, DataDirectory};
use super::locks::{FileLocks, LockByte};
use super::log_check::{LastChanges, LoggedChanges, compare_data, last_changes};
use super::meta_pages::{damage_error, lock_error};
use super::page_tree::PageTree;
use super::pages::{self, MetaPage, WalkReach};
use super::recovery::damaged_error;
use super::recovery_analysis::{RecoverySource, analyze};
use super::sigbus;
use super::system::{MappedFile, disk_info};
use crate::store::long_key::{LongKeys, RawRange, RawRead, RawVisit};
use crate::store::{BatchHook, Direction, Read, Store, StoreError, StoreInfo, WriteJob};

/// The last operation of the log on each key: a value, or a deletion.
type Overlay = LastChanges<Vec<u8>>;

/// A store that is only read.
#[derive(Debug)]
pub struct OfflineStore {
    data: File,
    mapped: MappedFile,
    meta_page: MetaPage,
    overlay: Overlay,
    /// The number of the last commit.
    number: u64,
    /// True if there is a log with which the data file can be compared.
    has_log: bool,
    /// The error of each write.
    write_error: StoreError,
    /// Locks that keep other processes out. Before the directory, which other stores of this
    /// process may open as soon as it is dropped.
    _locks: Option<FileLocks>,
    directory: DataDirectory,
}

impl OfflineStore {
    /// Opens the store in a directory; `None` if a process has it open. Writes fail with `refusal`.
    ///
    /// # Errors
    /// `Io` if there is no store; `Damaged` with a sentence; a failed read.
    pub fn open(dir: &Path, write_error: StoreError) -> Result<Option<Self>, StoreError> {
        if !dir.join(DATA_FILE).exists() {
            return Err(StoreError::Io(format!(
                "there is no {DATA_FILE} in {}",
                dir.display()
            )));
        }
        let directory = DataDirectory::claim(dir)?;
        let failed =
            |error: std::io::Error| StoreError::Io(format!("{:?}: {error}", directory.path()));
        let locks = FileLocks::open_existing(directory.path())
            .map_err(|error| lock_error(&directory, &error))?;
        if let Some(locks) = &locks {
            // Held to the end: a process that opens the store waits for it.
            locks.lock_until_close(LockByte::Opening).map_err(failed)?;
            if !locks.try_lock(LockByte::Presence).map_err(failed)? {
                return Ok(None);
            }
        }
        if lmdb_process(&directory).map_err(failed)?.is_some() {
            return Ok(None);
        }
        let data = File::open(directory.data_file()).map_err(failed)?;
        let survey = analyze(directory.path(), &data)?;
        if let Some(what) = survey.damage {
            return Err(damaged_error(&what));
        }
        sigbus::install(&directory.data_file());
        let newest = || {
            pages::meta_pages(&data)
                .map(|heads| heads.into_iter().max_by_key(|meta_page| meta_page.commit))
        };
        let (meta_page, (overlay, number)) = match &survey.start {
            // Both are complete without the log.
            RecoverySource::Data | RecoverySource::PageCache => (newest(), (Overlay::new(), None)),
            RecoverySource::Checkpoint(checkpoint) => {
                let (overlay, number) =
                    last_changes(directory.path(), checkpoint, u64::MAX, <[u8]>::to_vec)?;
                (
                    MetaPage::parse(&checkpoint.meta_page).map(Some),
                    (overlay, Some(number)),
                )
            }
        };
        let meta_page = meta_page
            .map_err(|damage| damage_error(&directory, &damage))?
            .ok_or(StoreError::Corrupt("no head"))?;
        // Before it is mapped.
        pages::walk_from(&data, meta_page, WalkReach::Bounded)
            .map_err(|damage| damage_error(&directory, &damage))?;
        let mapped = MappedFile::open(&data).map_err(failed)?;
        let (number, has_log) = (
            number.unwrap_or(meta_page.commit),
            survey.start == RecoverySource::PageCache,
        );
        Ok(Some(Self {
            data,
            mapped,
            meta_page,
            overlay,
            number,
            has_log,
            write_error,
            _locks: locks,
            directory,
        }))
    }

    fn tree(&self) -> PageTree<'_> {
        PageTree {
            bytes: self.mapped.bytes(),
            meta_page: self.meta_page,
        }
    }
}

/// A view of the data file with the log's changes.
struct OfflineView<'s>(&'s OfflineStore);

impl RawRead for OfflineView<'_> {
    fn raw_get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        self.0
            .overlay
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
        let mut behind = self.0.overlay.range::<[u8], _>((range.lower, range.upper));
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

impl Store for OfflineStore {
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        Ok(Box::new(LongKeys::new(OfflineView(self))))
    }

    fn submit(&self, job: Box<dyn WriteJob>) {
        job.done(Err(self.write_error.clone()));
    }

    fn commit_id(&self) -> u64 {
        self.number
    }

    fn set_hook(&self, _hook: Arc<dyn BatchHook>) {}

    fn info(&self) -> StoreInfo {
        disk_info(self.directory.path(), self.mapped.bytes().len() as u64)
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, StoreError> {
        // No further commit is possible.
        if after == self.number {
            std::thread::sleep(timeout);
        }
        Ok(self.number)
    }

    fn check(&self) -> Result<(), StoreError> {
        pages::walk_from(&self.data, self.meta_page, WalkReach::Whole)
            .map_err(|damage| damage_error(&self.directory, &damage))?;
        let dir = self.directory.path();
        if !self.has_log {
            return Ok(());
        }
        // It was there at the opening, and the locks keep other processes out.
        let checkpoint = CheckpointFile::new(dir).read()?;
        let checkpoint = checkpoint.ok_or(StoreError::Corrupt("the checkpoint is gone"))?;
        let (_, changes) = LoggedChanges::read(dir, &checkpoint, self.number)?;
        compare_data(dir, &changes, |key| self.tree().get(key))
    }

    fn close(&self) {}
}

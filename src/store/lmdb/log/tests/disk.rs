//! A model of a disk with a volatile cache: the possible contents of files after a power cut, from
//! the writes and syncs that `trace` recorded.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::super::LOG_FILES;
use super::super::record::SECTOR_BYTES;
use super::seeded::Numbers;
use super::trace::{LogEvent, take};

/// Shortens the last write, as if its process had been killed in it.
pub fn shorten_last_write(dir: &Path, disk: &mut DiskModel, numbers: &mut Numbers) {
    let mut events = take();
    let Some(LogEvent::Write(which, at, mut bytes)) = events.pop() else {
        panic!("no write at the end")
    };
    bytes.truncate(numbers.below(bytes.len() as u64 + 1) as usize);
    events.push(LogEvent::Write(which, at, bytes));
    disk.take(events);
    fs::write(dir.join(LOG_FILES[which]), &disk.files[which].now).expect("a log file as it was");
}

/// A file on a disk with a cache that may lose, tear or reorder writes before a sync.
#[derive(Debug, Clone)]
pub struct FileModel {
    pub now: Vec<u8>,
    durable_bytes: usize,
    /// The unit that is written as a whole unless it is torn: one sector or several.
    block_bytes: usize,
    /// The content of each block that was written since the sync: at the sync and after each write.
    versions: BTreeMap<usize, Vec<Vec<u8>>>,
}

impl Default for FileModel {
    fn default() -> Self {
        Self::new(SECTOR_BYTES, Vec::new())
    }
}

impl FileModel {
    /// Makes a file with all of its content on disk.
    pub fn new(block_bytes: usize, now: Vec<u8>) -> Self {
        Self {
            durable_bytes: now.len(),
            now,
            block_bytes,
            versions: BTreeMap::new(),
        }
    }

    fn block(&self, block: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = self
            .now
            .iter()
            .skip(block * self.block_bytes)
            .take(self.block_bytes)
            .copied()
            .collect();
        bytes.resize(self.block_bytes, 0);
        bytes
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let blocks = at / self.block_bytes..(at + bytes.len()).div_ceil(self.block_bytes);
        for block in blocks.clone() {
            let before = self.block(block);
            self.versions.entry(block).or_insert_with(|| vec![before]);
        }
        self.now.resize(self.now.len().max(at + bytes.len()), 0);
        self.now[at..at + bytes.len()].copy_from_slice(bytes);
        for block in blocks {
            let after = self.block(block);
            self.versions.entry(block).or_default().push(after);
        }
    }

    /// Changes the content, by writes of whole blocks.
    pub fn set_content(&mut self, bytes: &[u8]) {
        for (block, bytes) in bytes.chunks(self.block_bytes).enumerate() {
            let at = block * self.block_bytes;
            if self.now.get(at..at + bytes.len()) != Some(bytes) {
                self.write(at, bytes);
            }
        }
    }

    pub fn sync(&mut self) {
        self.versions.clear();
        self.durable_bytes = self.now.len();
    }

    /// Returns a possible content after a power cut.
    pub fn cut(&self, numbers: &mut Numbers) -> Vec<u8> {
        let mut left = self.now.clone();
        left.resize(left.len().next_multiple_of(self.block_bytes), 0);
        // Most of the time all writes are lost, or all but some are there.
        let lost_percent = *numbers.one(&[&100, &0, &10, &50, &90]);
        for (block, versions) in &self.versions {
            let mut version = || match numbers.percent(lost_percent) {
                true => &versions[numbers.below(versions.len() as u64) as usize],
                false => &versions[versions.len() - 1],
            };
            let (mut bytes, other) = (version().clone(), version());
            if numbers.percent(10) {
                // A sector is not torn.
                let sectors = bytes
                    .chunks_mut(SECTOR_BYTES)
                    .zip(other.chunks(SECTOR_BYTES));
                sectors
                    .filter(|_| numbers.percent(50))
                    .for_each(|(sector, other)| sector.copy_from_slice(other));
            }
            if numbers.percent(1) {
                bytes.fill_with(|| numbers.below(256) as u8);
            }
            left[block * self.block_bytes..(block + 1) * self.block_bytes].copy_from_slice(&bytes);
        }
        let bytes = self.durable_bytes as u64
            + numbers.below(self.now.len().saturating_sub(self.durable_bytes) as u64 + 1);
        left.truncate(bytes as usize);
        left
    }
}

/// The disk: both log files.
#[derive(Debug, Clone, Default)]
pub struct DiskModel {
    files: [FileModel; 2],
    /// The content of removed files, which the directory may still have.
    removed: [Option<Vec<u8>>; 2],
}

impl DiskModel {
    /// Applies the recorded writes and syncs of the logs to the model.
    pub fn follow(&mut self) {
        self.take(take());
    }

    fn take(&mut self, events: Vec<LogEvent>) {
        for event in events {
            match event {
                LogEvent::Write(which, at, bytes) => self.files[which].write(at, &bytes),
                LogEvent::Sync(which) => self.files[which].sync(),
            }
        }
    }

    /// Applies the recorded writes and syncs, and the removals of files, to the model.
    pub fn follow_removals(&mut self, dir: &Path) {
        self.follow();
        for ((file, removed), name) in self.files.iter_mut().zip(&mut self.removed).zip(LOG_FILES) {
            if !dir.join(name).exists() && !file.now.is_empty() {
                *removed = Some(std::mem::take(file).now);
            }
        }
    }

    /// Writes to a directory a possible state after a power cut; the disk has that state from now
    /// on.
    pub fn cut(&mut self, dir: &Path, numbers: &mut Numbers) {
        self.follow();
        for ((file, removed), name) in self.files.iter_mut().zip(&mut self.removed).zip(LOG_FILES) {
            *file = match removed.take() {
                Some(removed) if file.now.is_empty() && numbers.percent(50) => {
                    FileModel::new(SECTOR_BYTES, removed)
                }
                _ => FileModel::new(SECTOR_BYTES, file.cut(numbers)),
            };
            if !file.now.is_empty() || dir.join(name).exists() {
                fs::write(dir.join(name), &file.now).expect("a log file");
            }
        }
    }

    /// Checks that the files have the disk's content.
    pub fn check(&mut self, dir: &Path) {
        self.follow();
        for (file, name) in self.files.iter().zip(LOG_FILES) {
            let bytes = fs::read(dir.join(name)).unwrap_or_default();
            assert!(bytes == file.now, "{name} is not as its writes say");
        }
    }
}

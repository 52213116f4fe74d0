//! The spool of a computed file: the bytes that were made so far. Short ones are in memory, longer
//! ones spill to a file without a name, which is gone with its last holder. All spools of a mount
//! share a budget.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use parking_lot::RwLock;

use crate::fs::{open::sub_range, prelude::*};
use std::sync::{OnceLock, atomic::AtomicU64};

/// The bytes of one file that are kept in memory; more go to disk.
const MEMORY_FILE_BYTES_MAX: usize = 256 * 1024;
/// The bytes in memory of all files together; beyond them short files go to disk too.
const MEMORY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The bytes on disk of all files together.
pub const DISK_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The bytes that all spools of a mount hold, and the directory of their files.
#[derive(Debug, Default)]
pub struct SpoolSet {
    directory: OnceLock<PathBuf>,
    memory: AtomicU64,
    disk: AtomicU64,
}

impl SpoolSet {
    /// Sets the directory of the files, once. Without it they are where temporary files are.
    pub fn set_directory(&self, directory: PathBuf) {
        let _ = self.directory.set(directory);
    }

    /// Returns the bytes on disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk.load(Ordering::Relaxed)
    }

    fn create_file(&self) -> io::Result<File> {
        let temporary = std::env::temp_dir();
        match self.directory.get() {
            Some(directory) => unnamed_file(directory).or_else(|_| unnamed_file(&temporary)),
            None => unnamed_file(&temporary),
        }
    }
}

/// Makes a file that no directory lists.
fn unnamed_file(directory: &Path) -> io::Result<File> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let made = options
        .clone()
        .custom_flags(libc::O_TMPFILE)
        .open(directory);
    if made.is_ok() {
        return made;
    }
    // Not every filesystem has O_TMPFILE; without it the file has a name for a moment.
    let name = format!(
        ".ddbfs-result-{}-{}",
        std::process::id(),
        LAST.fetch_add(1, Ordering::Relaxed)
    );
    let path = directory.join(name);
    let file = options.create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Adds `bytes` to a counter, unless the sum is more than `most`. Returns true if they were added.
fn try_add(counted: &AtomicU64, bytes: u64, most: u64) -> bool {
    let fits = |held: u64| held.checked_add(bytes).filter(|held| *held <= most);
    counted
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
        .is_ok()
}

#[derive(Debug)]
enum SpoolStorage {
    Memory(Vec<u8>),
    File(Arc<File>, u64),
}

/// The bytes of one computed file. One thread appends, any thread may read.
#[derive(Debug)]
pub struct Spool {
    spools: Arc<SpoolSet>,
    storage: RwLock<SpoolStorage>,
}

impl Spool {
    /// Makes an empty spool.
    #[must_use]
    pub fn new(spools: &Arc<SpoolSet>) -> Self {
        Self {
            spools: Arc::clone(spools),
            storage: RwLock::new(SpoolStorage::Memory(Vec::new())),
        }
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        match &*self.storage.read() {
            SpoolStorage::Memory(bytes) => bytes.len() as u64,
            SpoolStorage::File(_, len) => *len,
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes at `offset`, fewer than `size` only at the end.
    ///
    /// # Errors
    /// The file on disk cannot be read.
    pub fn read(&self, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let (file, len) = match &*self.storage.read() {
            SpoolStorage::Memory(bytes) => {
                return Ok(bytes[sub_range(bytes.len(), offset, size)].to_vec());
            }
            SpoolStorage::File(file, len) => (Arc::clone(file), *len),
        };
        let left = usize::try_from(len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; left.min(size)];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Appends bytes; on disk only if `has_room` returns true.
    ///
    /// # Errors
    /// `SpoolFull` if the budget or the disk has no room. Then nothing was appended.
    pub fn append(&self, bytes: &[u8], has_room: impl Fn(u64) -> bool) -> Result<()> {
        if bytes.is_empty() || self.append_in_memory(bytes) {
            return Ok(());
        }
        let grown = match &*self.storage.read() {
            SpoolStorage::Memory(held) => held.len() + bytes.len(),
            SpoolStorage::File(..) => bytes.len(),
        } as u64;
        if !has_room(grown) {
            return Err(FsError::SpoolFull("the disk is almost full"));
        }
        if !try_add(&self.spools.disk, grown, DISK_BYTES_MAX) {
            return Err(FsError::SpoolFull(
                "the results that are open or were just asked for hold 1 GiB, which is all they may",
            ));
        }
        self.append_on_disk(bytes).map_err(|error| {
            self.spools.disk.fetch_sub(grown, Ordering::Relaxed);
            log::warn!("cannot spool a result to its temporary file: {error}");
            FsError::SpoolFull("its temporary file cannot be written")
        })
    }

    fn append_in_memory(&self, bytes: &[u8]) -> bool {
        match &mut *self.storage.write() {
            SpoolStorage::Memory(held)
                if held.len() + bytes.len() <= MEMORY_FILE_BYTES_MAX
                    && try_add(&self.spools.memory, bytes.len() as u64, MEMORY_BYTES_MAX) =>
            {
                held.extend_from_slice(bytes);
                true
            }
            _ => false,
        }
    }

    /// Writes without the lock: meanwhile readers have the bytes before.
    fn append_on_disk(&self, bytes: &[u8]) -> io::Result<()> {
        let (file, len, held) = match &*self.storage.read() {
            SpoolStorage::File(file, len) => (Arc::clone(file), *len, Vec::new()),
            SpoolStorage::Memory(held) => (Arc::new(self.spools.create_file()?), 0, held.clone()),
        };
        file.write_all_at(&held, len)?;
        let len = len + held.len() as u64;
        file.write_all_at(bytes, len)?;
        *self.storage.write() = SpoolStorage::File(file, len + bytes.len() as u64);
        self.spools
            .memory
            .fetch_sub(held.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        match self.storage.get_mut() {
            SpoolStorage::Memory(bytes) => self
                .spools
                .memory
                .fetch_sub(bytes.len() as u64, Ordering::Relaxed),
            SpoolStorage::File(_, len) => self.spools.disk.fetch_sub(*len, Ordering::Relaxed),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_is_read_wherever_it_lies_and_is_given_back() {
        let spools = Arc::<SpoolSet>::default();
        let spool = Spool::new(&spools);
        let piece: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        for _ in 0..10 {
            spool.append(&piece, |_| true).unwrap();
        }
        assert_eq!((spool.len(), spools.disk_bytes()), (1_000_000, 1_000_000));
        let all = piece.repeat(10);
        for (offset, size) in [
            (0, 10),
            (99_990, 20),
            (0, 2_000_000),
            (999_999, 10),
            (1_000_000, 10),
            (u64::MAX, 10),
        ] {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
            let end = start.saturating_add(size).min(all.len());
            assert_eq!(
                spool.read(offset, size).unwrap(),
                &all[start..end],
                "{offset} {size}"
            );
        }
        drop(spool);
        assert_eq!(
            (spools.disk_bytes(), spools.memory.load(Ordering::Relaxed)),
            (0, 0)
        );
    }

    #[test]
    fn a_full_disk_refuses_and_keeps_what_was_there() {
        let spools = Arc::<SpoolSet>::default();
        let spool = Spool::new(&spools);
        spool.append(b"short", |_| false).unwrap();
        let long = vec![b'x'; MEMORY_FILE_BYTES_MAX];
        assert!(matches!(
            spool.append(&long, |_| false),
            Err(FsError::SpoolFull(_))
        ));
        assert_eq!(
            (spool.read(0, 100).unwrap(), spools.disk_bytes()),
            (b"short".to_vec(), 0)
        );
    }

    #[test]
    fn memory_is_bounded_beyond_it_short_ones_go_to_disk() {
        let spools = Arc::<SpoolSet>::default();
        let piece = vec![b'x'; MEMORY_FILE_BYTES_MAX];
        let held: Vec<Spool> = (0..MEMORY_BYTES_MAX / piece.len() as u64 + 3)
            .map(|_| Spool::new(&spools))
            .collect();
        held.iter()
            .for_each(|spool| spool.append(&piece, |_| true).unwrap());
        assert_eq!(
            (spools.memory.load(Ordering::Relaxed), spools.disk_bytes()),
            (MEMORY_BYTES_MAX, 3 * piece.len() as u64)
        );
    }
}

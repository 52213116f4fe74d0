//! Disk space reserved for removals.
//!
//! LMDB writes every changed page to a new place, so a delete needs room before it frees any: on a
//! full disk nothing could be deleted any more. A file beside the data file therefore holds some
//! blocks.
//!
//! - **Only removals get it.** It is given away inside the write transaction of a removal that found the
//!   disk full, while LMDB keeps the writers of all processes waiting, and taken back after that
//!   commit; the next writer takes it back too.
//! - **Additions must not get it indirectly:** a delete grows the data file by some blocks of the
//!   reserve and frees pages for them. While the reserve is not whole, an addition is refused unless
//!   the data file has as many free pages as the reserve lacks.
//! - **The lock file is mapped and has holes:** on a full disk, the first use of one of its pages would
//!   be SIGBUS. Its blocks are allocated before it is mapped.
//!
//! Other writes that a full disk must take can use it too, by [`Reserve::release`] and
//! [`Reserve::reclaim`].

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::directory::{DataDirectory, LOCK_FILE, open_to_write};
use super::error::is_full;
use super::system::{allocate, disk_space};

/// The name of its file.
const RESERVE_FILE: &str = "reserve";

/// Enough for three transactions of 100 deletes in a table with several indexes: the pages freed by
/// one serve the second one after it.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The part of a small file system that the reserve takes.
const DISK_PART: u64 = 8;

/// The least size that is worth taking.
const STEP_BYTES_MIN: u64 = 64 * 1024;

/// Bytes of the lock file with the reader slots that a store asks for, and some more.
const LOCK_BYTES: u64 = 256 * 1024;

/// The reserve of a data directory. All processes that have it open share the file.
#[derive(Debug)]
pub(super) struct Reserve {
    /// `None` if there can be none.
    file: Option<File>,
    target_bytes: u64,
}

impl Reserve {
    /// Opens or creates the reserve, as large as the disk allows. Called before LMDB opens its lock
    /// file: closing any other descriptor of that file would release LMDB's locks.
    pub fn open(directory: &DataDirectory) -> Self {
        let opened = open_to_write(&directory.path().join(RESERVE_FILE)).and_then(|file| {
            let metadata = file.metadata()?;
            // A copied file may be a hole.
            if metadata.blocks().saturating_mul(512) < metadata.len() {
                file.set_len(0)?;
            }
            Ok(file)
        });
        let file = opened
            .inspect_err(|error| {
                log::warn!("no disk space can be reserved for deletes on a full disk: {error}")
            })
            .ok();
        let disk = disk_space(directory.path()).inspect_err(|error| {
            log::warn!("no disk space can be reserved for deletes on a full disk: {error}")
        });
        let total_bytes = disk.unwrap_or_default().total_bytes;
        let target_bytes =
            (total_bytes / DISK_PART).min(BYTES_MAX) / STEP_BYTES_MIN * STEP_BYTES_MIN;
        let reserve = Self { file, target_bytes };
        if let Err(error) = fill_lock_file(&directory.path().join(LOCK_FILE)) {
            reserve.release();
            let filled = fill_lock_file(&directory.path().join(LOCK_FILE));
            log::debug!("the lock file had no room ({error}); with the reserve: {filled:?}");
        }
        reserve.reclaim();
        reserve
    }

    /// Returns the bytes that the reserve lacks; 0 if there is none.
    pub fn missing_bytes(&self) -> u64 {
        let length = self.file.as_ref().map(File::metadata).transpose();
        match length {
            Ok(Some(metadata)) => self.target_bytes.saturating_sub(metadata.len()),
            Ok(None) | Err(_) => 0,
        }
    }

    /// Gives its blocks to the file system. Called inside a write transaction.
    pub fn release(&self) {
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.set_len(0)) {
            log::warn!("the disk space reserved for deletes cannot be released: {error}");
        }
    }

    /// Allocates the missing blocks of the data file, up to its last used page. Called inside a
    /// write transaction.
    ///
    /// # Errors
    /// The file system has no such call, or the reserve is not enough.
    pub fn fill_holes(&self, data_file: &Path, used_bytes: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(data_file)?;
        if file.metadata()?.blocks().saturating_mul(512) >= used_bytes {
            return Ok(());
        }
        self.release();
        let filled = allocate(&file, 0, used_bytes, true);
        self.reclaim();
        filled
    }

    /// Takes the blocks that it lacks, as far as the disk has them. Called inside a write
    /// transaction, or while no other process has the store open.
    pub fn reclaim(&self) {
        let Some(file) = &self.file else { return };
        let missing_bytes = self.missing_bytes();
        if missing_bytes == 0 {
            return;
        }
        if let Err(error) = grow(file, self.target_bytes, missing_bytes) {
            log::debug!(
                "the room kept for deletes lacks {} bytes: {error}",
                self.missing_bytes()
            );
        }
    }
}

/// Gives the reserve of a data directory to the file system, before the store is opened.
pub(super) fn release_file(directory: &DataDirectory) {
    let path = directory.path().join(RESERVE_FILE);
    if let Err(error) = OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| file.set_len(0))
    {
        log::debug!("no room is kept for a recovery: {error}");
    }
}

/// Extends a file, in smaller and smaller steps if the disk is nearly full.
fn grow(file: &File, wanted_bytes: u64, missing_bytes: u64) -> io::Result<()> {
    let mut length = file.metadata()?.len();
    let mut step = missing_bytes;
    while length < wanted_bytes && step >= STEP_BYTES_MIN {
        let bytes = step.min(wanted_bytes - length);
        match allocate(file, length, bytes, false) {
            Ok(()) => length += bytes,
            Err(error) if is_full(&error) => {
                // A part of the step may be allocated.
                file.set_len(length)?;
                step /= 2;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn fill_lock_file(path: &Path) -> io::Result<()> {
    let file = open_to_write(path)?;
    match allocate(&file, 0, LOCK_BYTES, true) {
        // Without this call, blocks cannot be reserved.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        result => result,
    }
}

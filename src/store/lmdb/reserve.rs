//! Room on the disk that is kept for removals.
//!
//! LMDB writes every page that changes anew, so a delete needs room before it gives any back: on a full disk nothing could be deleted
//! any more. A file beside the data file therefore holds some blocks. Difficulties, and what solves each:
//!
//! - **Only removals get it.** It is given away inside the write transaction of a removal that found the disk full, while LMDB keeps
//!   the writers of all processes waiting, and taken back after that commit; whoever writes next takes it back too.
//! - **Additions must not eat it by a detour:** a delete grows the data file by some blocks of the reserve and frees pages for them.
//!   While the reserve is not whole, an addition is refused unless the data file has as many free pages as the reserve lacks.
//! - **The lock file is mapped and has holes:** with a disk that is full, the first use of a page of it would be SIGBUS. It gets its
//!   blocks before it is mapped.
//!
//! What else has to be written on a full disk can be paid from here as well, by [`Reserve::give`] and [`Reserve::take_back`].

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::directory::{DataDirectory, LOCK_FILE, open_to_write};
use super::error::is_full;
use super::system::{allocate, disk_space};

/// The name of its file.
const RESERVE_FILE: &str = "reserve";

/// Enough for three transactions of 100 deletes in a table with several indexes: pages that one frees serve the second after it.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// On a small file system, this part of it.
const DISK_PART: u64 = 8;

/// What is worth taking.
const STEP_BYTES_MIN: u64 = 64 * 1024;

/// Bytes of the lock file with the reader slots that a store asks for, and some more.
const LOCK_BYTES: u64 = 256 * 1024;

/// The reserve of a data directory; all processes that have it open share the file.
#[derive(Debug)]
pub(super) struct Reserve {
    /// `None` where there can be none.
    file: Option<File>,
    wanted_bytes: u64,
}

impl Reserve {
    /// Opens or makes it, as large as the disk allows. Called before LMDB opens its lock file: closing any other descriptor of that
    /// file would give up LMDB's locks.
    pub fn open(directory: &DataDirectory) -> Self {
        let opened = open_to_write(&directory.path().join(RESERVE_FILE)).and_then(|file| {
            let metadata = file.metadata()?;
            // A copied one may be a hole.
            if metadata.blocks().saturating_mul(512) < metadata.len() {
                file.set_len(0)?;
            }
            Ok(file)
        });
        let file = opened
            .inspect_err(|error| {
                log::warn!("no room can be kept for deletes on a full disk: {error}")
            })
            .ok();
        let total_bytes = disk_space(directory.path()).unwrap_or_default().total_bytes;
        let wanted_bytes =
            (total_bytes / DISK_PART).min(BYTES_MAX) / STEP_BYTES_MIN * STEP_BYTES_MIN;
        let reserve = Self { file, wanted_bytes };
        if let Err(error) = fill_lock_file(&directory.path().join(LOCK_FILE)) {
            reserve.give();
            let filled = fill_lock_file(&directory.path().join(LOCK_FILE));
            log::debug!("the lock file had no room ({error}); with the reserve: {filled:?}");
        }
        reserve.take_back();
        reserve
    }

    /// What it lacks; 0 where there is none.
    pub fn missing_bytes(&self) -> u64 {
        let length = self.file.as_ref().map(File::metadata).transpose();
        match length {
            Ok(Some(metadata)) => self.wanted_bytes.saturating_sub(metadata.len()),
            Ok(None) | Err(_) => 0,
        }
    }

    /// Gives its blocks to the file system. To be called inside a write transaction.
    pub fn give(&self) {
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.set_len(0)) {
            log::warn!("the room kept for deletes cannot be given: {error}");
        }
    }

    /// Pays for the blocks that the data file has not, up to its last used page. To be called inside a write transaction.
    ///
    /// # Errors
    /// The file system has no such call, or the reserve is not enough.
    pub fn fill_holes(&self, data_file: &Path, used_bytes: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(data_file)?;
        if file.metadata()?.blocks().saturating_mul(512) >= used_bytes {
            return Ok(());
        }
        self.give();
        let filled = allocate(&file, 0, used_bytes, true);
        self.take_back();
        filled
    }

    /// Takes what it lacks, as far as the disk has it. To be called inside a write transaction, or when nobody else has the store.
    pub fn take_back(&self) {
        let Some(file) = &self.file else { return };
        let missing_bytes = self.missing_bytes();
        if missing_bytes == 0 {
            return;
        }
        if let Err(error) = grow(file, self.wanted_bytes, missing_bytes) {
            log::debug!(
                "the room kept for deletes lacks {} bytes: {error}",
                self.missing_bytes()
            );
        }
    }
}

/// Gives the reserve of a data directory to the file system, before it is opened.
pub(super) fn give(directory: &DataDirectory) {
    let path = directory.path().join(RESERVE_FILE);
    if let Err(error) = OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| file.set_len(0))
    {
        log::debug!("no room is kept for a recovery: {error}");
    }
}

/// Makes a file longer, in smaller and smaller steps when the disk is nearly full.
fn grow(file: &File, wanted_bytes: u64, missing_bytes: u64) -> io::Result<()> {
    let mut length = file.metadata()?.len();
    let mut step = missing_bytes;
    while length < wanted_bytes && step >= STEP_BYTES_MIN {
        let bytes = step.min(wanted_bytes - length);
        match allocate(file, length, bytes, false) {
            Ok(()) => length += bytes,
            Err(error) if is_full(&error) => {
                // A part of it may be there.
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
        // Where blocks cannot be had beforehand, they cannot be kept either.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        result => result,
    }
}

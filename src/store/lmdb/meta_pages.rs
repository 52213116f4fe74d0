//! The check of the two meta pages (LMDB's roots) at the start of the data file before LMDB reads
//! them, and the texts of its errors. `pages` parses them.

use std::fs::File;
use std::io;
use std::time::Duration;

use super::checkpoint_file::CHECKPOINT_FILE;
use super::directory::DataDirectory;
use super::error::{disk_error, is_full};
use super::locks::LOCKS_FILE;
use super::pages::{self, Damage, RESTORE_ADVICE};
use crate::store::StoreError;

/// The most reads of a meta page that is damaged or of another commit: it may be being written.
pub(super) const META_READS_MAX: u32 = 100;
const META_READ_PAUSE: Duration = Duration::from_millis(10);

/// Checks the meta pages, which LMDB reads first. Unless this process is alone, another one may be
/// writing them.
pub(super) fn check_meta_pages(
    directory: &DataDirectory,
    is_alone: bool,
) -> Result<(), StoreError> {
    // Alone, one read decides: no other process is writing the page.
    let mut reads = if is_alone { META_READS_MAX - 1 } else { 0 };
    loop {
        let heads = match File::open(directory.data_file()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file
                .map_err(Damage::from)
                .and_then(|file| pages::meta_pages(&file)),
        };
        reads += 1;
        match heads {
            Ok(_) => return Ok(()),
            Err(damage) if reads == META_READS_MAX => return Err(damage_error(directory, &damage)),
            Err(_) => std::thread::sleep(META_READ_PAUSE),
        }
    }
}

pub(super) fn damage_error(directory: &DataDirectory, damage: &Damage) -> StoreError {
    // A read-only directory is a matter of permissions, not of damage.
    if let Damage::Io(error) = damage
        && let Some(refused) = write_denied(directory, error)
    {
        return refused;
    }
    if matches!(damage, Damage::Io(error) if is_full(error)) {
        return StoreError::NoSpace;
    }
    StoreError::Damaged(format!(
        "{:?} {damage}. {RESTORE_ADVICE}",
        directory.data_file()
    ))
}

/// Returns the error for a directory that this process may not write to; `None` for other errors.
fn write_denied(directory: &DataDirectory, error: &io::Error) -> Option<StoreError> {
    if !matches!(
        error.raw_os_error(),
        Some(libc::EROFS | libc::EACCES | libc::EPERM)
    ) {
        return None;
    }
    let dir = directory.path();
    let why = if dir.join(CHECKPOINT_FILE).exists() {
        "was not closed and cannot be written to, so it cannot be recovered"
    } else {
        "cannot be written to, and whoever reads it takes locks in it"
    };
    Some(StoreError::Io(format!(
        "{dir:?} {why} ({error}): make it writable, or copy it (cp -a) to where it is"
    )))
}

/// Returns the error for a directory that cannot be locked.
pub(super) fn lock_error(directory: &DataDirectory, error: &io::Error) -> StoreError {
    let other = || {
        disk_error(
            format_args!("{:?}", directory.path().join(LOCKS_FILE)),
            error,
        )
    };
    write_denied(directory, error).unwrap_or_else(other)
}

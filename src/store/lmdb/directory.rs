//! The data directory: private to its user (modes, owner, no symlinks), and open only once in this
//! process. `locks` coordinates it between processes.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::error::disk_error;
use super::system::effective_user;
use crate::store::StoreError;

/// LMDB's name of the data file.
pub(super) const DATA_FILE: &str = "data.mdb";

/// LMDB's name of the lock file.
pub(super) const LOCK_FILE: &str = "lock.mdb";

/// The other files of a store.
const OTHER_FILES: [&str; 5] = [LOCK_FILE, "log.lock", "log.0", "log.1", "checkpoint"];

const DIRECTORY_MODE: u32 = 0o700;
pub(super) const FILE_MODE: u32 = 0o600;

/// The permission bits of all users but the owner.
const OTHERS_MODE: u32 = 0o077;

/// Device and inode of each directory that this process has open.
static OPEN_DIRS: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// A checked data directory, used by one store of this process until dropped.
#[derive(Debug)]
pub(super) struct DataDirectory {
    path: PathBuf,
    id: (u64, u64),
}

impl DataDirectory {
    /// Creates or checks the directory and the files in it.
    pub fn claim(dir: &Path) -> Result<Self, StoreError> {
        let (path, metadata) = prepare(dir)?;
        // Not by path: two paths may lead to one directory.
        let id = (metadata.dev(), metadata.ino());
        if !OPEN_DIRS.lock().insert(id) {
            return Err(refused(dir, "is already open in this process"));
        }
        Ok(Self { path, id })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn data_file(&self) -> PathBuf {
        self.path.join(DATA_FILE)
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        OPEN_DIRS.lock().remove(&self.id);
    }
}

/// Creates or checks the directory and the store's files in it. Returns its canonical path, which
/// stays valid whatever the working directory becomes.
pub(super) fn prepare(dir: &Path) -> Result<(PathBuf, Metadata), StoreError> {
    // A trailing slash or dot would follow a symlink.
    let plain: PathBuf = dir.components().collect();
    let failed = |error: io::Error| io_error(dir, &error);
    if let Err(error) = fs::symlink_metadata(&plain) {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(failed(error));
        }
        DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(&plain)
            .map_err(failed)?;
    }
    let metadata = fs::symlink_metadata(&plain).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(refused(
            dir,
            if metadata.is_symlink() {
                "is a symlink"
            } else {
                "is not a directory"
            },
        ));
    }
    check_owner(dir, &metadata)?;
    let has_data = check_files(&plain)?;
    restrict_mode(dir, &metadata, has_data)?;
    let path = fs::canonicalize(&plain).map_err(failed)?;
    // Checked again, since no other user can change them any more.
    check_files(&path)?;
    Ok((path, metadata))
}

/// Opens a further file of the directory for appending, with the same checks.
pub(super) fn open_file(dir: &Path, name: &str) -> Result<File, StoreError> {
    let (dir, _) = prepare(dir)?;
    let file = dir.join(name);
    check_file(&file)?;
    let mut options = OpenOptions::new();
    // Does not wait for a reader if the file has become a FIFO since the check.
    options
        .create(true)
        .append(true)
        .mode(FILE_MODE)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(&file).map_err(|error| io_error(&file, &error))
}

/// Opens a file of the store for reading and writing, creates it if needed; never follows a
/// symlink.
pub(super) fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = write_options();
    options.read(true).create(true).truncate(false).open(path)
}

/// Returns the options to write a file of the store, or to make it; they follow no symlink.
pub(super) fn write_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .mode(FILE_MODE)
        .custom_flags(libc::O_NOFOLLOW);
    options
}

/// Checks the store's files; returns true if there is data.
fn check_files(dir: &Path) -> Result<bool, StoreError> {
    for name in OTHER_FILES {
        check_file(&dir.join(name))?;
    }
    check_file(&dir.join(DATA_FILE))
}

/// Returns true if the file exists. It must be a regular file of this user; its mode is closed to
/// others.
fn check_file(file: &Path) -> Result<bool, StoreError> {
    let metadata = match fs::symlink_metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io_error(file, &error)),
    };
    if !metadata.is_file() {
        return Err(refused(
            file,
            if metadata.is_symlink() {
                "is a symlink"
            } else {
                "is not a plain file"
            },
        ));
    }
    check_owner(file, &metadata)?;
    if metadata.mode() & OTHERS_MODE != 0 {
        set_mode(file, FILE_MODE)?;
    }
    Ok(true)
}

/// Closes a directory to other users, unless it holds other files and was probably given by
/// mistake.
fn restrict_mode(dir: &Path, metadata: &Metadata, has_data: bool) -> Result<(), StoreError> {
    if metadata.mode() & OTHERS_MODE == 0 {
        return Ok(());
    }
    let is_empty = || fs::read_dir(dir).map(|mut entries| entries.next().is_none());
    if !has_data && !is_empty().map_err(|error| io_error(dir, &error))? {
        return Err(refused(
            dir,
            "holds other files and is open to other users; give a directory of its own",
        ));
    }
    set_mode(dir, DIRECTORY_MODE)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), StoreError> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(|error| io_error(path, &error))
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    if metadata.uid() == effective_user() {
        Ok(())
    } else {
        Err(refused(path, "belongs to another user"))
    }
}

fn refused(path: &Path, reason: &str) -> StoreError {
    StoreError::Io(format!("{path:?} {reason}"))
}

fn io_error(path: &Path, error: &io::Error) -> StoreError {
    disk_error(format_args!("{path:?}"), error)
}

//! Compaction of a data file: copies the used pages into a new file and replaces the old one by it,
//! so that free pages return to the disk.
//!
//! - **No process may have the store open:** such a process holds a lock of LMDB on its lock file. The
//!   compaction takes the same lock; a process that wants to open the store meanwhile waits for its
//!   end.
//! - **It may end at any moment:** the old file is whole until the new one, written and synced, takes
//!   its name in one step. The next opening of the store removes the rest of an interrupted
//!   compaction.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use lmdb::{Environment, EnvironmentFlags};

use super::directory::{DATA_FILE, DataDirectory, LOCK_FILE, open_to_write, write_options};
use super::error::{disk_error, store_error};
use super::locks::FileLocks;
use super::meta_pages::check_meta_pages;
use super::recovery::ensure_clean;
use super::sigbus;
use super::system::{copy_used_pages, disk_space, lock_first_byte};
use crate::store::StoreError;

/// The new data file until it is whole.
const NEW_FILE: &str = "data.mdb.new";

/// Bytes that have to be free beyond the used pages.
const SLACK_BYTES: u64 = 1024 * 1024;

/// A compaction about to run; the store is locked.
#[derive(Debug)]
pub struct Compaction {
    old: Environment,
    /// The size of the data file now.
    pub before_bytes: u64,
    /// The disk space that the copy takes until it is the data file.
    pub needed_bytes: u64,
    /// The free disk space.
    pub free_bytes: u64,
    /// The file that holds the lock until it is closed, after everything else.
    _lock: File,
    _presence: FileLocks,
    directory: DataDirectory,
}

impl Compaction {
    /// Locks a store and measures it.
    ///
    /// # Errors
    /// `Io` if there is no store, or if a process has it open; any error of opening a store.
    pub fn begin(dir: &Path) -> Result<Self, StoreError> {
        if !dir.join(DATA_FILE).exists() {
            return Err(StoreError::Io(format!(
                "there is no {DATA_FILE} in {}",
                dir.display()
            )));
        }
        let directory = DataDirectory::claim(dir)?;
        // A process that opens the store meanwhile waits for the presence lock. With no process in
        // it, the store is made a plain file first: a log must not outlive the file that it belongs
        // to.
        let presence = FileLocks::open(&directory)
            .map_err(|error| disk_error("cannot lock the store", &error))?;
        let is_alone = ensure_clean(&directory, &presence)?;
        let lock = lock(&directory.path().join(LOCK_FILE))?;
        if !is_alone {
            return Err(StoreError::Io(
                "a process is about to open or to end it; run this again".to_owned(),
            ));
        }
        // Under the lock only: before, it might be the file of a run in progress.
        remove_leftover(&directory)
            .map_err(|error| disk_error("cannot remove the rest of an earlier run", &error))?;
        check_meta_pages(&directory, true)?;
        let before_bytes = file_bytes(&directory.data_file())?;
        let old = open(directory.path(), EnvironmentFlags::empty())?;
        sigbus::install(&directory.data_file());
        let needed_bytes = used_bytes(&old)? + SLACK_BYTES;
        let disk = disk_space(directory.path())
            .map_err(|error| disk_error("cannot see how full the disk is", &error))?;
        Ok(Self {
            old,
            before_bytes,
            needed_bytes,
            free_bytes: disk.free_bytes,
            _lock: lock,
            _presence: presence,
            directory,
        })
    }

    /// Compacts the data file and returns its new size, in bytes.
    ///
    /// # Errors
    /// `NoSpace` if the disk has no room for the copy; any error of reading and writing. The data
    /// file is then as it was.
    pub fn run(self) -> Result<u64, StoreError> {
        if self.free_bytes < self.needed_bytes {
            return Err(StoreError::NoSpace);
        }
        let new = self.directory.path().join(NEW_FILE);
        let outcome = self.copy(&new).and_then(|()| self.replace(&new));
        if outcome.is_err() {
            // The next opening removes the rest if this fails.
            let _ = fs::remove_file(&new);
        }
        outcome
    }

    fn copy(&self, path: &Path) -> Result<(), StoreError> {
        let file = write_options().create_new(true).open(path);
        let file = file.map_err(|error| disk_error("cannot make the new data file", &error))?;
        copy_used_pages(&self.old, &file).map_err(store_error)?;
        // Synced before the rename: after a power cut the name could otherwise stand for a file
        // without its content.
        file.sync_all()
            .map_err(|error| disk_error("cannot write the new data file", &error))?;
        // Opened once as the next start opens it: a copy that LMDB refuses must not replace the
        // data file.
        let copied = open(path, EnvironmentFlags::NO_SUB_DIR)?;
        let entries = |environment: &Environment| {
            environment
                .stat()
                .map(|stat| stat.entries())
                .map_err(store_error)
        };
        if entries(&copied)? == entries(&self.old)? {
            Ok(())
        } else {
            Err(StoreError::Corrupt("a copy that lacks entries"))
        }
    }

    fn replace(&self, new: &Path) -> Result<u64, StoreError> {
        let after_bytes = file_bytes(new)?;
        let directory = || File::open(self.directory.path())?.sync_all();
        fs::rename(new, self.directory.data_file())
            // The new name is on disk only when the directory is.
            .and_then(|()| directory())
            .map_err(|error| disk_error("cannot put the new data file in its place", &error))?;
        Ok(after_bytes)
    }
}

/// Removes the rest of an interrupted compaction. Called only if none can be in progress.
///
/// # Errors
/// Any error of unlink(2) but that of a missing file.
pub(super) fn remove_leftover(directory: &DataDirectory) -> io::Result<()> {
    match fs::remove_file(directory.path().join(NEW_FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the process that has LMDB's files open, if any. The calling process must not have them
/// open.
///
/// # Errors
/// LMDB's lock file cannot be opened or locked.
pub(super) fn lmdb_process(directory: &DataDirectory) -> io::Result<Option<libc::pid_t>> {
    locking_process(directory.path())
}

/// Returns a process that has the store in a directory open, even one that is nearly dead; 0 for a
/// process that cannot be seen here. The calling process must not have it open.
///
/// # Errors
/// LMDB's lock file cannot be opened or locked.
pub fn store_process(dir: &Path) -> io::Result<Option<u32>> {
    locking_process(dir).map(|pid| pid.map(|pid| u32::try_from(pid).unwrap_or_default()))
}

fn locking_process(dir: &Path) -> io::Result<Option<libc::pid_t>> {
    match OpenOptions::new()
        .read(true)
        .write(true)
        .open(dir.join(LOCK_FILE))
    {
        Ok(file) => lock_first_byte(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let file =
        open_to_write(path).map_err(|error| disk_error("cannot open the lock file", &error))?;
    match lock_first_byte(&file).map_err(|error| disk_error("cannot lock the store", &error))? {
        None => Ok(file),
        Some(pid) => Err(StoreError::Io(format!(
            "process {pid} has it open; end that (`ddbfs umount`, or end `ddbfs serve`), and run this again"
        ))),
    }
}

/// Opens a data file for reading, under a lock of our own.
fn open(path: &Path, flags: EnvironmentFlags) -> Result<Environment, StoreError> {
    // Without LMDB's locks: closing its descriptor of the lock file would release ours, which
    // belongs to the process (fcntl(2), advisory record locking).
    let flags =
        flags | EnvironmentFlags::READ_ONLY | EnvironmentFlags::NO_LOCK | EnvironmentFlags::NO_TLS;
    let environment = Environment::new()
        .set_flags(flags)
        .open(path)
        .map_err(store_error)?;
    sigbus::handle_assertions(&environment);
    Ok(environment)
}

fn used_bytes(environment: &Environment) -> Result<u64, StoreError> {
    let pages = environment.info().map_err(store_error)?.last_pgno() + 1;
    let free = environment.freelist().map_err(store_error)?;
    let page_bytes = environment.stat().map_err(store_error)?.page_size();
    Ok(pages.saturating_sub(free) as u64 * u64::from(page_bytes))
}

fn file_bytes(path: &Path) -> Result<u64, StoreError> {
    Ok(fs::metadata(path)
        .map_err(|error| disk_error("cannot see the data file", &error))?
        .len())
}

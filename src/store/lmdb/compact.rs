//! Gives the free pages of a data file back to the disk: copies what is used into a new file and puts that in the old one's place.
//!
//! - **Nobody may have the store open:** who has, holds a lock of LMDB's on its lock file; the same lock is taken here for as long as it
//!   takes, and who wants to open the store meanwhile waits for its end.
//! - **It may end at any moment:** the old file is whole until the new one, written and synced, takes its name in one step. What is left
//!   of an interrupted one is removed when the store is opened next.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use lmdb::{Environment, EnvironmentFlags};

use super::directory::{DATA_FILE, DataDirectory, FILE_MODE, LOCK_FILE, open_to_write};
use super::error::{failed, store_error};
use super::guard;
use super::heads::check_heads;
use super::locks::Locks;
use super::recovery::make_plain;
use super::system::{copy_used_pages, disk_space, lock_first_byte};
use crate::store::StoreError;

/// The new data file until it is whole.
const NEW_FILE: &str = "data.mdb.new";

/// More than the used pages that have to be free.
const SLACK_BYTES: u64 = 1024 * 1024;

/// A data file that is about to be made smaller; the store is locked.
#[derive(Debug)]
pub struct Compaction {
    old: Environment,
    /// Of the data file now.
    pub before_bytes: u64,
    /// Room on the disk that the copy takes until it is the data file.
    pub needed_bytes: u64,
    /// Room on the disk that there is.
    pub free_bytes: u64,
    /// Holds the lock until it is closed, after everything else.
    _lock: File,
    _presence: Locks,
    directory: DataDirectory,
}

impl Compaction {
    /// Locks a store, and looks what there is to do.
    ///
    /// # Errors
    /// `Io` when there is no store, or when a process has it open; as for opening a store.
    pub fn begin(dir: &Path) -> Result<Self, StoreError> {
        if !dir.join(DATA_FILE).exists() {
            return Err(StoreError::Io(format!(
                "there is no {DATA_FILE} in {}",
                dir.display()
            )));
        }
        let directory = DataDirectory::take(dir)?;
        // Who opens the store meanwhile waits for its presence. Without a process that has it open it is made a plain file first: a log
        // must not outlive the file that it belongs to.
        let presence =
            Locks::open(&directory).map_err(|error| failed("cannot lock the store", &error))?;
        let is_alone = make_plain(&directory, &presence)?;
        let lock = lock(&directory.path().join(LOCK_FILE))?;
        if !is_alone {
            return Err(StoreError::Io(
                "a process is about to open or to end it; run this again".to_owned(),
            ));
        }
        // Under the lock only: before, it might be the file of a run under way.
        remove_rest(&directory)
            .map_err(|error| failed("cannot remove the rest of an earlier run", &error))?;
        check_heads(&directory, true)?;
        let before_bytes = file_bytes(&directory.data_file())?;
        let old = open(directory.path(), EnvironmentFlags::empty())?;
        guard::watch_map(&directory.data_file());
        let needed_bytes = used_bytes(&old)? + SLACK_BYTES;
        let disk = disk_space(directory.path())
            .map_err(|error| failed("cannot see how full the disk is", &error))?;
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

    /// Does it; the bytes of the data file then.
    ///
    /// # Errors
    /// `NoSpace` when the disk has no room for the copy; what reading and writing fail with. The data file is as it was then.
    pub fn run(self) -> Result<u64, StoreError> {
        if self.free_bytes < self.needed_bytes {
            return Err(StoreError::NoSpace);
        }
        let new = self.directory.path().join(NEW_FILE);
        let outcome = self.copy(&new).and_then(|()| self.swap(&new));
        if outcome.is_err() {
            // What the next opening finds of it, it removes.
            let _ = fs::remove_file(&new);
        }
        outcome
    }

    fn copy(&self, path: &Path) -> Result<(), StoreError> {
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path);
        let file = file.map_err(|error| failed("cannot make the new data file", &error))?;
        copy_used_pages(&self.old, &file).map_err(store_error)?;
        // On disk before it takes the name: after a power cut the name could else stand for a file without its content.
        file.sync_all()
            .map_err(|error| failed("cannot write the new data file", &error))?;
        // Opened once as the next start will open it: a copy that LMDB refuses must not replace what it takes.
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

    fn swap(&self, new: &Path) -> Result<u64, StoreError> {
        let after_bytes = file_bytes(new)?;
        let directory = || File::open(self.directory.path())?.sync_all();
        fs::rename(new, self.directory.data_file())
            // The new name is on disk only when the directory is.
            .and_then(|()| directory())
            .map_err(|error| failed("cannot put the new data file in its place", &error))?;
        Ok(after_bytes)
    }
}

/// Removes what an interrupted compaction left; only while it is sure that none is under way.
///
/// # Errors
/// Those of unlink(2), but for a file that is not there.
pub(super) fn remove_rest(directory: &DataDirectory) -> io::Result<()> {
    match fs::remove_file(directory.path().join(NEW_FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The process that has LMDB's files open, if one has; to be asked by who has not.
///
/// # Errors
/// Those of opening and locking LMDB's lock file.
pub(super) fn holder(directory: &DataDirectory) -> io::Result<Option<libc::pid_t>> {
    locker(directory.path())
}

/// A process that has the store in a directory open, which may be all but dead; to be asked by who has not. 0 is one that cannot be seen here.
///
/// # Errors
/// As for opening its files.
pub fn user_of(dir: &Path) -> io::Result<Option<u32>> {
    locker(dir).map(|pid| pid.map(|pid| u32::try_from(pid).unwrap_or_default()))
}

fn locker(dir: &Path) -> io::Result<Option<libc::pid_t>> {
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
    let file = open_to_write(path).map_err(|error| failed("cannot open the lock file", &error))?;
    match lock_first_byte(&file).map_err(|error| failed("cannot lock the store", &error))? {
        None => Ok(file),
        Some(pid) => Err(StoreError::Io(format!(
            "process {pid} has it open; end that (`ddbfs umount`, or end `ddbfs serve`), and run this again"
        ))),
    }
}

/// Opens a data file for reading, under a lock of our own.
fn open(path: &Path, flags: EnvironmentFlags) -> Result<Environment, StoreError> {
    // Without LMDB's locks: closing its descriptor of the lock file would give up ours, which is the process's.
    let flags =
        flags | EnvironmentFlags::READ_ONLY | EnvironmentFlags::NO_LOCK | EnvironmentFlags::NO_TLS;
    let environment = Environment::new()
        .set_flags(flags)
        .open(path)
        .map_err(store_error)?;
    guard::watch_assertions(&environment);
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
        .map_err(|error| failed("cannot see the data file", &error))?
        .len())
}

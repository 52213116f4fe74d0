//! The exclusive cache lease of a store, as network filesystems grant one to a client: one process
//! may cache what it reads (in the kernel), but only while no other process has the store open.
//! `lease_thread` takes and returns it, `lease_marker` is its mark on disk.
//!
//! Every process holds a shared lock on the lease's byte for as long as it has the store open; the
//! lease holder holds it exclusively. A newcomer that does not get its shared lock asks for it: it
//! touches the file, which the holder watches. Such an event may get lost, so the newcomer repeats
//! it until it has the lock.
//!
//! While something is cached, the file has a mark. A newcomer that gets its lock and finds the mark
//! knows that the holder was killed. Its cached entries end by themselves after the time in the mark, or
//! with the file that the holder named in it. Reads may begin at once, since cached entries are
//! true until something is written; the first write waits. A process that has ended the cached
//! entries of a killed holder frees the lease ([`free_lease`]), upon which the wait ends.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::compact::lmdb_process;
use super::directory::{DataDirectory, FILE_MODE};
use super::lease_marker::{LeaseMarker, read, write};
use super::locks::{FileLocks, LOCKS_FILE, LockByte};
use super::options::{LeaseLimits, LmdbOptions};
use crate::store::StoreError;

/// The time between two requests for the lock: short at first, as a holder takes less than a
/// millisecond if it has little to invalidate.
const REQUEST_PERIOD_MIN: Duration = Duration::from_micros(500);
const REQUEST_PERIOD_MAX: Duration = Duration::from_millis(10);

/// Added to the cache time: the kernel counts from the moment that a reader gets its answer, which
/// on a busy machine is later than it was given.
const SLACK: Duration = Duration::from_millis(500);

/// The time between two checks of a write that waits.
const POLL_PERIOD: Duration = Duration::from_millis(20);

/// The lease as one process sees it. Its shared lock ends with the lock file.
#[derive(Debug)]
pub(super) struct StoreLease {
    locks: Arc<FileLocks>,
    file: PathBuf,
    limits: LeaseLimits,
    state: Mutex<LeaseState>,
    /// True if this process has its lock and nothing is cached: readable without the lock of
    /// `state`.
    is_clear: AtomicBool,
}

#[derive(Debug)]
enum LeaseState {
    Unlocked,
    /// The lock is held. With the mark of a killed holder and the time at which its caches have
    /// ended, or `None` if there is no mark.
    Locked(Option<(LeaseMarker, Instant)>),
}

impl StoreLease {
    /// Takes the shared lock, unless this process only reads.
    ///
    /// # Errors
    /// As for [`Self::acquire`].
    pub fn open(
        directory: &DataDirectory,
        locks: Arc<FileLocks>,
        options: &LmdbOptions,
    ) -> Result<Self, StoreError> {
        let file = directory.path().join(LOCKS_FILE);
        let (state, is_clear) = (Mutex::new(LeaseState::Unlocked), AtomicBool::new(false));
        let lease = Self {
            locks,
            file,
            limits: options.lease,
            state,
            is_clear,
        };
        if options.passive {
            Ok(lease)
        } else {
            lease.acquire(directory).map(|()| lease)
        }
    }

    /// Takes the shared lock once no living process caches anything. Does nothing if it is held.
    ///
    /// # Errors
    /// The holder does not give way, or locking fails.
    fn acquire(&self, directory: &DataDirectory) -> Result<(), StoreError> {
        // Held over the wait: one thread asks, and the others get its result.
        let mut place = self.state.lock();
        if let LeaseState::Locked(_) = *place {
            return Ok(());
        }
        let failed = |error: io::Error| StoreError::Io(format!("{}: {error}", self.file.display()));
        let deadline = Instant::now() + self.limits.acquire_wait;
        let mut pause = REQUEST_PERIOD_MIN;
        while !self
            .locks
            .try_lock_shared(LockByte::Lease)
            .map_err(failed)?
        {
            if Instant::now() > deadline {
                return Err(self.timeout_error(directory));
            }
            self.request_release().map_err(failed)?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(REQUEST_PERIOD_MAX);
        }
        // Read under the lock: a living holder would have removed its mark.
        let left = read(self.locks.file()).map_err(failed)?.map(|marker| {
            let end = Instant::now() + marker.ttl() + SLACK;
            (marker, end)
        });
        if left.is_some() {
            log::info!(
                "a mount of this data directory was killed: the first write waits until what the kernel kept of it is over"
            );
        }
        self.is_clear.store(left.is_none(), Ordering::Release);
        *place = LeaseState::Locked(left);
        Ok(())
    }

    /// Takes the shared lock, and returns once the caches of a killed holder have ended. Called
    /// before each write.
    ///
    /// # Errors
    /// As for [`Self::acquire`].
    pub fn wait_clear(&self, directory: &DataDirectory) -> Result<(), StoreError> {
        if !self.is_settled() {
            self.acquire(directory)?;
        }
        while !self.is_settled() {
            std::thread::sleep(POLL_PERIOD);
        }
        Ok(())
    }

    /// True if this process has its shared lock and no cache of a killed holder is left.
    pub fn is_settled(&self) -> bool {
        if self.is_clear.load(Ordering::Acquire) {
            return true;
        }
        // Not a blocking lock: a thread in `acquire` may hold it for long.
        let Some(mut place) = self.state.try_lock() else {
            return false;
        };
        let LeaseState::Locked(left) = &mut *place else {
            return false;
        };
        if left
            .as_ref()
            .is_some_and(|(marker, end)| Instant::now() < *end && !marker.is_expired())
            && !matches!(read(self.locks.file()), Ok(None))
        {
            return false;
        }
        // Once, and before this process may become the holder: a later mark is that of a living
        // holder.
        if left.take().is_some()
            && let Err(error) = self.clear_marker()
        {
            log::warn!("the next process that opens the store will wait for a dead one: {error}");
        }
        self.is_clear.store(true, Ordering::Release);
        true
    }

    /// Returns the time limits of the lease.
    pub fn limits(&self) -> LeaseLimits {
        self.limits
    }

    /// Returns the file to watch for requests.
    pub fn file(&self) -> &PathBuf {
        &self.file
    }

    /// Takes the exclusive lock if no other process has the store open.
    pub fn try_exclusive(&self) -> io::Result<bool> {
        self.locks.try_lock(LockByte::Lease)
    }

    /// Returns to the shared lock.
    pub fn downgrade(&self) -> io::Result<()> {
        // From an exclusive lock, this cannot be refused.
        self.locks.try_lock_shared(LockByte::Lease).map(drop)
    }

    /// Writes the mark that entries are cached, each for at most `ttl`. They may outlive the process
    /// as long as the file `marker` exists. Called with the exclusive lock held.
    pub fn write_marker(&self, ttl: Duration, marker: Option<PathBuf>) -> io::Result<()> {
        write(self.locks.file(), Some(&LeaseMarker::new(ttl, marker)))
    }

    /// Removes the mark.
    pub fn clear_marker(&self) -> io::Result<()> {
        write(self.locks.file(), None)
    }

    /// Asks the holder to give way: sets the file's mode to what it is, which changes nothing and
    /// is observed.
    pub fn request_release(&self) -> io::Result<()> {
        self.locks
            .file()
            .set_permissions(Permissions::from_mode(FILE_MODE))
    }

    fn timeout_error(&self, directory: &DataDirectory) -> StoreError {
        let (holder, advice) = match lmdb_process(directory) {
            Ok(Some(pid)) if pid > 0 => (
                format!("process {pid}"),
                format!(
                    "let it go on (`kill -CONT {pid}`) or end it (`kill {pid}`, at last `kill -9 {pid}`)"
                ),
            ),
            _ => ("a process".to_owned(), "let it go on or end it".to_owned()),
        };
        StoreError::Io(format!(
            "{holder} has it mounted alone, and did not let others in for {} s: it may be stopped or stuck; {advice}, and run this again. \
             If it was killed and is still there, `ddbfs umount MOUNTPOINT` frees it",
            self.limits.acquire_wait.as_secs()
        ))
    }
}

/// Removes the mark that a killed lease holder with this marker file left in a data directory: its
/// cached entries have ended. Waits until the rest of its process has closed the store, but not
/// longer than `wait`.
///
/// # Errors
/// The lock file cannot be opened, locked, read or written.
pub fn free_lease(data: &Path, marker: &Path, wait: Duration) -> io::Result<()> {
    let Some(locks) = FileLocks::open_existing(data)? else {
        return Ok(());
    };
    let deadline = Instant::now() + wait;
    // With the lock shared, no process can become the holder and leave a mark of its own.
    while !locks.try_lock_shared(LockByte::Lease)? {
        if Instant::now() > deadline {
            return Ok(());
        }
        std::thread::sleep(POLL_PERIOD);
    }
    match read(locks.file())? {
        Some(mark) if mark.is_of(marker) => write(locks.file(), None),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LEASE_TTL;

    /// Opens the lease as another process has it.
    fn enter(directory: &DataDirectory) -> StoreLease {
        let locks = Arc::new(FileLocks::open(directory).unwrap());
        StoreLease::open(directory, locks, &LmdbOptions::default()).unwrap()
    }

    #[test]
    fn the_marker_of_a_killed_holder_ends_with_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let directory = DataDirectory::claim(&dir.path().join("data")).unwrap();
        let enter = || enter(&directory);
        let marker = dir.path().join("remains");
        std::fs::write(&marker, "").unwrap();
        let holder = enter();
        assert!(holder.is_settled() && holder.try_exclusive().unwrap());
        holder
            .write_marker(LEASE_TTL, Some(marker.clone()))
            .unwrap();
        drop(holder);

        let (one, other) = (enter(), enter());
        assert!(!one.is_settled() && !other.is_settled() && !one.try_exclusive().unwrap());
        std::fs::remove_file(&marker).unwrap();
        assert!(one.is_settled() && enter().is_settled());
        // It does not remove a mark that was made since.
        drop(one);
        assert!(other.is_settled() && other.try_exclusive().unwrap());
        other.write_marker(LEASE_TTL, None).unwrap();
        assert!(other.is_settled());
        drop(other);
        assert!(!enter().is_settled());
    }

    #[test]
    fn a_lease_is_freed_of_the_killed_holder_that_is_named_only() {
        let dir = tempfile::tempdir().unwrap();
        let directory = DataDirectory::claim(&dir.path().join("data")).unwrap();
        let enter = || enter(&directory);
        let [marker, other] = ["marker", "other"].map(|name| dir.path().join(name));
        for file in [&marker, &other] {
            std::fs::write(file, "").unwrap();
        }
        let free = |marker| free_lease(directory.path(), marker, Duration::ZERO).unwrap();
        let holder = enter();
        assert!(holder.try_exclusive().unwrap());
        holder
            .write_marker(LEASE_TTL, Some(marker.clone()))
            .unwrap();
        free(&marker);
        assert!(
            read(holder.locks.file()).unwrap().is_some(),
            "the holder lives"
        );
        drop(holder);
        let next = enter();
        free(&other);
        assert!(!next.is_settled());
        free(&marker);
        assert!(next.is_settled() && enter().is_settled());
    }
}

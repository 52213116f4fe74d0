//! The exclusive lease of a store: one process may cache what it reads (in the kernel), but only
//! while no other process has the store open.
//!
//! Every process holds a shared lock on the lease's byte for as long as it has the store open; the
//! lease holder holds it exclusively. A newcomer that does not get its shared lock asks for it: it
//! touches the file, which the holder watches. Such an event may get lost, so the newcomer repeats
//! it until it has the lock.
//!
//! While something is cached, the file has a mark. A newcomer that gets its lock and finds the mark
//! knows that the holder was killed. Its caches cannot be invalidated; they end by themselves after
//! [`KEEP`](crate::store::KEEP), or with the file that the holder named in the mark. Reads may
//! begin at once, since cached entries are true until something is written; the first write waits.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::compact::holder;
use super::directory::{DataDirectory, FILE_MODE};
use super::locks::{Byte, LOCKS_FILE, Locks};
use super::options::{LeaseLimits, LmdbOptions};
use super::remains::{Remains, read, write};
use crate::store::StoreError;

/// The time between two requests for the lock: short at first, as a holder takes less than a
/// millisecond if it has little to invalidate.
const KNOCK_PERIOD_MIN: Duration = Duration::from_micros(500);
const KNOCK_PERIOD_MAX: Duration = Duration::from_millis(10);

/// Added to the cache time: the kernel counts from the moment that a reader gets its answer, which
/// on a busy machine is later than it was given.
const SLACK: Duration = Duration::from_millis(500);

/// The time between two checks of a write that waits.
const SETTLE_LOOK: Duration = Duration::from_millis(20);

/// The lease as one process sees it. Its shared lock ends with the lock file.
#[derive(Debug)]
pub(super) struct Door {
    locks: Arc<Locks>,
    file: PathBuf,
    limits: LeaseLimits,
    place: Mutex<Place>,
    /// True if this process has its lock and nothing is cached: readable without `place`'s lock.
    is_settled: AtomicBool,
}

#[derive(Debug)]
enum Place {
    Outside,
    /// The lock is held. With the mark of a killed holder and the time at which its caches have
    /// ended, or `None` if there is no mark.
    Inside(Option<(Remains, Instant)>),
}

impl Door {
    /// Takes the shared lock, unless this process only reads.
    ///
    /// # Errors
    /// As for [`Self::enter`].
    pub fn open(
        directory: &DataDirectory,
        locks: Arc<Locks>,
        options: &LmdbOptions,
    ) -> Result<Self, StoreError> {
        let file = directory.path().join(LOCKS_FILE);
        let (place, is_settled) = (Mutex::new(Place::Outside), AtomicBool::new(false));
        let door = Self {
            locks,
            file,
            limits: options.lease,
            place,
            is_settled,
        };
        if options.looks_only {
            Ok(door)
        } else {
            door.enter(directory).map(|()| door)
        }
    }

    /// Takes the shared lock once no living process caches anything. Does nothing if it is held.
    ///
    /// # Errors
    /// The holder does not give way, or locking fails.
    fn enter(&self, directory: &DataDirectory) -> Result<(), StoreError> {
        // Held over the wait: one thread asks, and the others get its result.
        let mut place = self.place.lock();
        if let Place::Inside(_) = *place {
            return Ok(());
        }
        let failed = |error: io::Error| StoreError::Io(format!("{}: {error}", self.file.display()));
        let deadline = Instant::now() + self.limits.admission;
        let mut pause = KNOCK_PERIOD_MIN;
        while !self.locks.try_share(Byte::Door).map_err(failed)? {
            if Instant::now() > deadline {
                return Err(self.no_answer(directory));
            }
            self.knock().map_err(failed)?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(KNOCK_PERIOD_MAX);
        }
        let keep = self.limits.keep + SLACK;
        // Read under the lock: a living holder would have removed its mark.
        let left = read(self.locks.file())
            .map_err(failed)?
            .map(|remains| (remains, Instant::now() + keep));
        if left.is_some() {
            log::info!(
                "a mount of this data directory was killed: the first write waits until what the kernel kept of it is over"
            );
        }
        self.is_settled.store(left.is_none(), Ordering::Release);
        *place = Place::Inside(left);
        Ok(())
    }

    /// Takes the shared lock, and returns once the caches of a killed holder have ended. Called
    /// before each write.
    ///
    /// # Errors
    /// As for [`Self::enter`].
    pub fn settle(&self, directory: &DataDirectory) -> Result<(), StoreError> {
        if !self.is_settled() {
            self.enter(directory)?;
        }
        while !self.is_settled() {
            std::thread::sleep(SETTLE_LOOK);
        }
        Ok(())
    }

    /// True if this process has its shared lock and no cache of a killed holder is left.
    pub fn is_settled(&self) -> bool {
        if self.is_settled.load(Ordering::Acquire) {
            return true;
        }
        // Not a blocking lock: a thread in `enter` may hold it for long.
        let Some(mut place) = self.place.try_lock() else {
            return false;
        };
        let Place::Inside(left) = &mut *place else {
            return false;
        };
        if left
            .as_ref()
            .is_some_and(|(remains, end)| Instant::now() < *end && !remains.are_gone())
        {
            return false;
        }
        // Once, and before this process may become the holder: a later mark is that of a living
        // holder.
        if left.take().is_some()
            && let Err(error) = self.unmark()
        {
            log::warn!("the next process that opens the store will wait for a dead one: {error}");
        }
        self.is_settled.store(true, Ordering::Release);
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
    pub fn lock(&self) -> io::Result<bool> {
        self.locks.be_alone(Byte::Door)
    }

    /// Returns to the shared lock.
    pub fn unlock(&self) -> io::Result<()> {
        // From an exclusive lock, this cannot be refused.
        self.locks.try_share(Byte::Door).map(drop)
    }

    /// Writes the mark that entries are cached, which may outlive the process as long as the file
    /// `remains` exists. Called with the exclusive lock held.
    pub fn mark(&self, remains: Option<PathBuf>) -> io::Result<()> {
        write(self.locks.file(), Some(&Remains::of(remains)))
    }

    /// Removes the mark.
    pub fn unmark(&self) -> io::Result<()> {
        write(self.locks.file(), None)
    }

    /// Asks the holder to give way: sets the file's mode to what it is, which changes nothing and
    /// is observed.
    pub fn knock(&self) -> io::Result<()> {
        self.locks
            .file()
            .set_permissions(Permissions::from_mode(FILE_MODE))
    }

    fn no_answer(&self, directory: &DataDirectory) -> StoreError {
        let (who, what) = match holder(directory) {
            Ok(Some(pid)) if pid > 0 => (
                format!("process {pid}"),
                format!(
                    "let it go on (`kill -CONT {pid}`) or end it (`kill {pid}`, at last `kill -9 {pid}`)"
                ),
            ),
            _ => ("a process".to_owned(), "let it go on or end it".to_owned()),
        };
        StoreError::Io(format!(
            "{who} has it mounted alone, and did not let others in for {} s: it may be stopped or stuck; {what}, and run this again. \
             If it was killed and is still there, `ddbfs umount MOUNTPOINT` frees it",
            self.limits.admission.as_secs()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_keeper_left_is_over_when_its_remains_are_gone() {
        let dir = tempfile::tempdir().unwrap();
        let directory = DataDirectory::take(&dir.path().join("data")).unwrap();
        let enter = || {
            Door::open(
                &directory,
                Arc::new(Locks::open(&directory).unwrap()),
                &LmdbOptions::default(),
            )
            .unwrap()
        };
        let remains = dir.path().join("remains");
        std::fs::write(&remains, "").unwrap();
        let keeper = enter();
        assert!(keeper.is_settled() && keeper.lock().unwrap());
        keeper.mark(Some(remains.clone())).unwrap();
        drop(keeper);

        let (one, other) = (enter(), enter());
        assert!(!one.is_settled() && !other.is_settled() && !one.lock().unwrap());
        std::fs::remove_file(&remains).unwrap();
        assert!(one.is_settled() && enter().is_settled());
        // It does not remove a mark that was made since.
        drop(one);
        assert!(other.is_settled() && other.lock().unwrap());
        other.mark(None).unwrap();
        assert!(other.is_settled());
        drop(other);
        assert!(!enter().is_settled());
    }
}

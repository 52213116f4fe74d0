//! The door of a store: one process may keep what it reads for others to read again, but only alone.
//!
//! Every process shares a lock on the door's byte for as long as it has the store open; who keeps something holds it alone. A newcomer that
//! does not get its share *knocks*: it touches the file, which the keeper watches. Knocks may get lost, so it knocks again until it is in.
//!
//! While something is kept, the file says so. Who finds that on coming in knows that the keeper was killed: nobody can take back what it
//! gave out, which ends by itself after [`KEEP`](crate::store::KEEP), or with what the keeper named as its remains. Reading may begin at once, since what was
//! given out is the truth until something is written; the first write waits.

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

/// Between two knocks: soon at first, as a keeper takes less than a millisecond where it has little to take back.
const KNOCK_PERIOD_MIN: Duration = Duration::from_micros(500);
const KNOCK_PERIOD_MAX: Duration = Duration::from_millis(10);

/// The kernel counts from when a reader gets its answer, which on a busy machine is later than it was given.
const SLACK: Duration = Duration::from_millis(500);

/// How often a write that waits looks whether it may go on.
const SETTLE_LOOK: Duration = Duration::from_millis(20);

/// A process's place at the door; its share of the lock ends with the lock file.
#[derive(Debug)]
pub(super) struct Door {
    locks: Arc<Locks>,
    file: PathBuf,
    limits: LeaseLimits,
    place: Mutex<Place>,
    /// Inside, and nothing is left: the same without the lock.
    is_settled: AtomicBool,
}

#[derive(Debug)]
enum Place {
    Outside,
    /// With what a killed keeper left, and when it has ended at last; `None` when there is nothing.
    Inside(Option<(Remains, Instant)>),
}

impl Door {
    /// Comes in, unless this process only looks.
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

    /// Comes in, when nothing is kept any more by a process that lives; nothing is done by who is in.
    ///
    /// # Errors
    /// The keeper does not give way; what locking fails with.
    fn enter(&self, directory: &DataDirectory) -> Result<(), StoreError> {
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

    /// Comes in, and returns when nothing is kept any more of what a killed keeper gave out. To be called before each write.
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

    /// Whether this process is in, and nothing is kept of what a killed keeper gave out.
    pub fn is_settled(&self) -> bool {
        if self.is_settled.load(Ordering::Acquire) {
            return true;
        }
        // Who comes in may wait for long.
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
        // Once, and before anybody here may keep: a later mark is that of a keeper that lives.
        if left.take().is_some()
            && let Err(error) = self.unmark()
        {
            log::warn!("the next process that opens the store will wait for a dead one: {error}");
        }
        self.is_settled.store(true, Ordering::Release);
        true
    }

    /// How long others are waited for.
    pub fn limits(&self) -> LeaseLimits {
        self.limits
    }

    /// The file to watch for knocks.
    pub fn file(&self) -> &PathBuf {
        &self.file
    }

    /// Keeps all others out, if there are none.
    pub fn lock(&self) -> io::Result<bool> {
        self.locks.be_alone(Byte::Door)
    }

    /// Lets others in.
    pub fn unlock(&self) -> io::Result<()> {
        // Held alone, it cannot be refused.
        self.locks.try_share(Byte::Door).map(drop)
    }

    /// Notes that something is kept that may outlive its keeper, as long as `remains` are there; while the door is locked.
    pub fn mark(&self, remains: Option<PathBuf>) -> io::Result<()> {
        write(self.locks.file(), Some(&Remains::of(remains)))
    }

    /// Notes that nothing is kept.
    pub fn unmark(&self) -> io::Result<()> {
        write(self.locks.file(), None)
    }

    /// Knocks: changes nothing, but is noticed, a file that gets the mode it has.
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
        // It takes no mark away that was made since.
        drop(one);
        assert!(other.is_settled() && other.lock().unwrap());
        other.mark(None).unwrap();
        assert!(other.is_settled());
        drop(other);
        assert!(!enter().is_settled());
    }
}

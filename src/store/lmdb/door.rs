//! The door of a store: one process may keep what it reads for others to read again, but only alone.
//!
//! Every process shares a lock on the door's byte for as long as it has the store open; who keeps something holds it alone. A newcomer that
//! does not get its share *knocks*: it touches the file, which the keeper watches. Knocks may get lost, so it knocks again until it is in.
//!
//! While something is kept, a byte of the file says so. Who finds it set on coming in knows that the keeper was killed: nobody can take back what it
//! gave out, which ends by itself after [`KEEP`]. Reading may begin at once, since it is the truth until something is written; the first
//! write waits.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::compact::holder;
use super::directory::{DataDirectory, FILE_MODE};
use super::locks::{Byte, LOCKS_FILE, Locks};
use crate::store::{KEEP, StoreError};

/// How long a keeper may take to give way.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two knocks: soon at first, as a keeper takes less than a millisecond where it has little to take back.
const KNOCK_PERIOD_MIN: Duration = Duration::from_micros(500);
const KNOCK_PERIOD_MAX: Duration = Duration::from_millis(10);

/// The kernel counts from when a reader gets its answer, which on a busy machine is later than it was given.
const SLACK: Duration = Duration::from_millis(500);

/// How often a write that waits looks whether it may go on.
const SETTLE_LOOK: Duration = Duration::from_millis(20);

/// Where in the file it stands that something is kept.
const MARK_OFFSET: u64 = 0;

/// A process's place at the door; its share of the lock ends with the lock file.
#[derive(Debug)]
pub(super) struct Door {
    locks: Arc<Locks>,
    file: PathBuf,
    /// What a killed keeper gave out has ended then; `None` when there is none.
    settles_at: Mutex<Option<Instant>>,
    /// The same without the lock.
    is_settled: AtomicBool,
}

impl Door {
    /// Comes in, when nothing is kept any more by a process that lives.
    ///
    /// # Errors
    /// The keeper does not give way; what locking fails with.
    pub fn enter(directory: &DataDirectory, locks: Arc<Locks>) -> Result<Self, StoreError> {
        let file = directory.path().join(LOCKS_FILE);
        let failed = |error: io::Error| StoreError::Io(format!("{}: {error}", file.display()));
        let deadline = Instant::now() + PATIENCE;
        let mut pause = KNOCK_PERIOD_MIN;
        while !locks.try_share(Byte::Door).map_err(failed)? {
            if Instant::now() > deadline {
                return Err(no_answer(directory));
            }
            knock(&locks).map_err(failed)?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(KNOCK_PERIOD_MAX);
        }
        let was_killed = is_marked(&locks).map_err(failed)?;
        if was_killed {
            log::info!("a mount of this data directory was killed: the first write waits until what the kernel kept of it is over");
        }
        let settles_at = was_killed.then(|| Instant::now() + KEEP + SLACK);
        Ok(Self { locks, file, is_settled: AtomicBool::new(settles_at.is_none()), settles_at: Mutex::new(settles_at) })
    }

    /// Returns when nothing is kept any more of what a killed keeper gave out. To be called before each write.
    pub fn settle(&self) {
        while !self.is_settled() {
            std::thread::sleep(SETTLE_LOOK);
        }
    }

    /// Whether nothing is kept of what a killed keeper gave out.
    pub fn is_settled(&self) -> bool {
        if self.is_settled.load(Ordering::Acquire) {
            return true;
        }
        let mut settles_at = self.settles_at.lock();
        if settles_at.is_some_and(|time| Instant::now() < time) {
            return false;
        }
        // Once, and before anybody here may keep: a later mark is that of a keeper that lives.
        if settles_at.take().is_some()
            && let Err(error) = self.mark(false)
        {
            log::warn!("the next process that opens the store will wait for a dead one: {error}");
        }
        self.is_settled.store(true, Ordering::Release);
        true
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

    /// Notes that something is kept, or no longer; while the door is locked.
    pub fn mark(&self, is_kept: bool) -> io::Result<()> {
        self.locks.file().write_all_at(&[is_kept.into()], MARK_OFFSET)
    }

    /// Knocks at one's own door.
    pub fn knock(&self) -> io::Result<()> {
        knock(&self.locks)
    }
}

fn is_marked(locks: &Locks) -> io::Result<bool> {
    let mut mark = [0];
    Ok(locks.file().read_at(&mut mark, MARK_OFFSET)? > 0 && mark != [0])
}

/// Changes nothing, but is noticed: a file that gets the mode it has.
fn knock(locks: &Locks) -> io::Result<()> {
    locks.file().set_permissions(Permissions::from_mode(FILE_MODE))
}

fn no_answer(directory: &DataDirectory) -> StoreError {
    let (who, what) = match holder(directory) {
        Ok(Some(pid)) if pid > 0 => {
            (format!("process {pid}"), format!("let it go on (`kill -CONT {pid}`) or end it (`kill {pid}`, at last `kill -9 {pid}`)"))
        }
        _ => ("a process".to_owned(), "let it go on or end it".to_owned()),
    };
    StoreError::Io(format!(
        "{who} has it mounted alone, and did not let others in for {} s: it may be stopped or stuck; {what}, and run this again",
        PATIENCE.as_secs()
    ))
}

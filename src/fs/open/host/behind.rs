//! Writes to a service elsewhere that end after their call has returned. Every write with
//! `-o writeback`; without it the unlinks of a program that removes what it has listed (`rm -r`),
//! so that they go in batches.
//!
//! | difficulty | solved by |
//! |---|---|
//! | the caller of a failed write has gone on | the failure is kept for `.ddb/errors/last` of its session, and for the next close or fsync of the file or its folder |
//! | `rm -r` must not end with success while something failed | the first unlink waits, so a missing permission is seen at once; the next unlink after a failure fails; the unlink of the last listed name waits for all |

use crate::fs::prelude::*;

/// The maximum number of kept failures.
const FAILURES_MAX: usize = 10_000;
/// The maximum number of processes and folders with removals, and the pause that ends them.
const REMOVALS_MAX: usize = 1_000;
const REMOVAL_PAUSE_MS: u64 = 10_000;

/// The failures of writes that ended after their call, by the inode numbers of item and folder.
#[derive(Debug, Default)]
pub struct LateErrors(Mutex<TtlMap<u64, FsError, FAILURES_MAX>>);

impl LateErrors {
    /// Keeps a failure for the file and its folder.
    pub fn insert(&self, inos: [u64; 2], error: &FsError) {
        let mut late = self.0.lock();
        for ino in inos {
            late.insert(ino, error.clone(), now_ms());
        }
    }

    /// Returns the failure of a write of this file or in this folder, once.
    ///
    /// # Errors
    /// That failure.
    pub fn take(&self, ino: u64) -> Result<()> {
        match self.0.lock().remove(&ino) {
            // It is in the log already.
            Some(error) => Err(FsError::Reported(Box::new(error))),
            None => Ok(()),
        }
    }
}

/// A process, and the folder in which it removes items.
pub type Removing = (u32, u64);

#[derive(Debug, Default)]
struct Removal {
    count: u64,
    failed: Option<FsError>,
}

/// The processes that remove what they have listed.
#[derive(Debug, Default)]
pub struct Removals(Mutex<TtlMap<Removing, Removal, REMOVALS_MAX, REMOVAL_PAUSE_MS>>);

/// The way in which an unlink is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalStep {
    /// After its own delete.
    Alone,
    /// Before its delete has ended.
    Behind,
    /// After all deletes of the process in the folder.
    Last,
}

impl Removals {
    /// Notes an unlink by a process that has listed so many names of the folder.
    ///
    /// # Errors
    /// The failure of an earlier one.
    pub fn step(&self, removing: Removing, listed: u64) -> Result<RemovalStep> {
        let mut removals = self.0.lock();
        let mut removal = removals.remove(&removing).unwrap_or_default();
        removal.count += 1;
        let (count, failed) = (removal.count, removal.failed.take());
        removals.insert(removing, removal, now_ms());
        if let Some(error) = failed {
            return Err(FsError::Reported(Box::new(error)));
        }
        Ok(if count == 1 || count > listed {
            RemovalStep::Alone
        } else if count < listed {
            RemovalStep::Behind
        } else {
            RemovalStep::Last
        })
    }

    /// Keeps the failure of an unlink.
    pub fn fail(&self, removing: Removing, error: FsError) {
        if let Some(removal) = self.0.lock().touch(&removing, now_ms()) {
            removal.failed = Some(error);
        }
    }

    /// Ends the removals of a process in a folder.
    ///
    /// # Errors
    /// The failure of one that was not reported.
    pub fn end(&self, removing: Removing) -> Result<()> {
        match self.0.lock().remove(&removing).and_then(|end| end.failed) {
            Some(error) => Err(FsError::Reported(Box::new(error))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_waits_the_last_waits_for_all_and_a_failure_is_told_once() {
        let removals = Removals::default();
        let step = |listed| removals.step((1, 2), listed);
        let expected = [
            RemovalStep::Alone,
            RemovalStep::Behind,
            RemovalStep::Last,
            RemovalStep::Alone,
        ];
        assert_eq!([3; 4].map(step).map(Result::unwrap), expected);
        removals.fail((1, 2), FsError::NotFound);
        assert!(step(9).is_err() && step(9).is_ok());
        removals.fail((1, 2), FsError::NotFound);
        assert!(removals.end((1, 2)).is_err() && removals.end((1, 2)).is_ok());
        // Another process, and nothing to fail.
        removals.fail((3, 2), FsError::NotFound);
        assert_eq!(removals.step((3, 2), 9), Ok(RemovalStep::Alone));
    }
}

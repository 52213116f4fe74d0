//! The pace of checkpoints: when one is due, how fast it writes, and the delay of commits
//! (back-pressure) while one is late. `checkpointer` has the thread.
//!
//! A checkpoint takes as long as the disk does, and must not be felt. It is made early enough that
//! the log has room for as much again, and writes as fast as that asks for. If it is late all the
//! same, each commit is delayed a little, before one would have to wait for its end. Pages that are
//! freed while a pin is held cannot be reused until it ends, so they make a checkpoint due as well.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::open_environment::OpenEnvironment;
use super::system::write_out;

/// The part of a log generation that makes a checkpoint due. Fewer bytes do so if commits meanwhile
/// free more than `FREED_PART` of the pages in use: the pages freed since the previous checkpoint
/// and during the next one are the room that the data file needs besides them, at most twice that
/// part.
const DUE_PART: u64 = 4;
const FREED_PART: (u64, u64) = (3, 4);
/// The least bytes of freed pages that make a checkpoint due, in small stores.
const FREED_BYTES_MIN: u64 = 8 * 1024 * 1024;

/// The logged bytes after which the due size is computed anew.
pub(super) const STEP_BYTES: u64 = 256 * 1024;

/// The bytes written out at once before a checkpoint, and the time below which they were on disk
/// already.
const WRITE_BYTES: u64 = 512 * 1024;
const WRITE_TIME_MIN: Duration = Duration::from_micros(100);

/// A checkpoint is late if twice the due size is logged before it is done. Each commit then waits
/// this long for each further due size: all wait a little, and none waits for all of it.
const DELAY_STEP: Duration = Duration::from_millis(5);
const DELAY_MAX: Duration = Duration::from_millis(20);

/// The logged bytes, and the number of them that makes a checkpoint due.
#[derive(Debug)]
pub(super) struct CheckpointPace {
    /// Bytes since the last checkpoint.
    log_bytes: AtomicU64,
    due_bytes: AtomicU64,
    due_bytes_max: u64,
    /// Bytes of pages freed since the last checkpoint that make one due, too.
    freed_bytes_max: AtomicU64,
}

impl CheckpointPace {
    /// Makes the pace of a log with generations of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        let due_bytes_max = limit / DUE_PART;
        let [due_bytes, freed_bytes_max] = [due_bytes_max, FREED_BYTES_MIN].map(AtomicU64::new);
        Self {
            log_bytes: AtomicU64::new(0),
            due_bytes,
            due_bytes_max,
            freed_bytes_max,
        }
    }

    pub fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    pub fn set_log_bytes(&self, bytes: u64) {
        self.log_bytes.store(bytes, Ordering::Relaxed);
    }

    fn due_bytes(&self) -> u64 {
        self.due_bytes.load(Ordering::Relaxed)
    }

    /// True if enough was logged for a checkpoint.
    pub fn is_due(&self) -> bool {
        self.log_bytes() > self.due_bytes()
    }

    /// Notes that a checkpoint was made, and the pages in use at that time.
    pub fn set_checkpointed(&self, opened: &OpenEnvironment) {
        let live_bytes = opened.used_bytes().saturating_sub(opened.free_bytes());
        self.freed_bytes_max.store(
            (live_bytes * FREED_PART.0 / FREED_PART.1).max(FREED_BYTES_MIN),
            Ordering::Relaxed,
        );
    }

    /// Sets when the next checkpoint is due, by the rate at which commits free pages now.
    pub fn update_due(&self, opened: &OpenEnvironment) {
        let (freed_bytes, log_bytes) = (opened.freed_bytes(), self.log_bytes());
        // A few logged bytes give no rate.
        if freed_bytes > 0 && log_bytes >= STEP_BYTES {
            // The logged bytes at which the freed bytes reach their limit, if both grow at the
            // present rate.
            let due_bytes = u128::from(log_bytes)
                * u128::from(self.freed_bytes_max.load(Ordering::Relaxed))
                / u128::from(freed_bytes);
            let due_bytes = u64::try_from(due_bytes)
                .unwrap_or(u64::MAX)
                .max(STEP_BYTES)
                .min(self.due_bytes_max);
            self.due_bytes.store(due_bytes, Ordering::Relaxed);
        }
    }

    /// Waits a moment before a commit if the checkpoint is late.
    pub fn delay_commit(&self) {
        let wait = commit_delay(self.log_bytes(), self.due_bytes());
        if wait > WRITE_TIME_MIN {
            std::thread::sleep(wait);
        }
    }

    /// Writes out a file little by little, so that no commit waits for the disk to take all of it
    /// at once; ends early if `is_over`. Leaves the disk to others half of the time, unless it
    /// would be late: it is to be done when as much was logged as makes the next checkpoint due.
    ///
    /// # Errors
    /// The disk fails. The system reports such an error once to each descriptor: a later sync would
    /// not return it.
    pub fn write_paced(&self, file: &File, is_over: impl Fn() -> bool) -> io::Result<()> {
        let (bytes, logged_before) = (
            file.metadata().map_or(0, |metadata| metadata.len()),
            self.log_bytes(),
        );
        let mut at = 0;
        while at < bytes && !is_over() {
            let begun = Instant::now();
            match write_out(file, at, WRITE_BYTES) {
                // Without this call, the checkpoint's sync does all the work.
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => return Ok(()),
                written => written?,
            }
            at += WRITE_BYTES;
            let (took, logged_bytes) = (
                begun.elapsed(),
                self.log_bytes().saturating_sub(logged_before),
            );
            let is_late = u128::from(logged_bytes) * u128::from(bytes)
                > u128::from(at) * u128::from(self.due_bytes());
            // For as long as the write took, so that the disk is free half of the time.
            if took > WRITE_TIME_MIN && !is_late {
                std::thread::sleep(took);
            }
        }
        Ok(())
    }
}

/// Returns the delay of a commit.
fn commit_delay(log_bytes: u64, due_bytes: u64) -> Duration {
    let late_bytes = log_bytes.saturating_sub(due_bytes.saturating_mul(2));
    // In 128 bits, as the product of bytes and microseconds may exceed 64.
    let micros = u128::from(late_bytes) * DELAY_STEP.as_micros() / u128::from(due_bytes.max(1));
    u64::try_from(micros)
        .map_or(DELAY_MAX, Duration::from_micros)
        .min(DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_checkpoint_slows_commits_by_as_much_as_it_is_late() {
        const DUE: u64 = 1000;
        for (log_bytes, micros) in [
            (0, 0),
            (1000, 0),
            (2000, 0),
            (2200, 1000),
            (3000, 5000),
            (6000, 20_000),
            (u64::MAX, 20_000),
        ] {
            assert_eq!(
                commit_delay(log_bytes, DUE),
                Duration::from_micros(micros),
                "{log_bytes}"
            );
        }
        assert_eq!(commit_delay(1, 0), DELAY_STEP.min(DELAY_MAX));
    }
}

//! The memory that programs may make the daemon hold by what they keep open: one bound for all of it, told before it is passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::memory_limit::memory_limit;
use crate::fs::FsError;
use crate::store::heap::{self, BURST_BYTES};

/// Bytes that all open files and directories hold together, at most: what readers see, what writers have written, answers that wait.
pub const OPEN_BYTES_MAX: usize = 512 * 1024 * 1024;
/// The part of the memory that this process may have.
const MEMORY_PART: u64 = 4;

/// Bytes that are held of so many. Clones count as one.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Count>);

#[derive(Debug)]
struct Count {
    held: AtomicUsize,
    bytes_max: usize,
}

/// Bytes counted in a [`Budget`], given back when it goes. A new one counts none.
#[derive(Debug, Default)]
pub struct Permit {
    of: Option<Budget>,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        let part = memory_limit().and_then(|bytes| usize::try_from(bytes / MEMORY_PART).ok());
        Self::new(part.unwrap_or(OPEN_BYTES_MAX).min(OPEN_BYTES_MAX))
    }
}

impl Budget {
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Count { held: AtomicUsize::new(0), bytes_max }))
    }

    /// A permit for so many bytes.
    ///
    /// # Errors
    /// `OpenFull`.
    pub fn permit(&self, bytes: usize) -> Result<Permit, FsError> {
        let mut permit = Permit::default();
        self.resize(&mut permit, bytes)?;
        Ok(permit)
    }

    /// A permit is for `bytes` from now on.
    ///
    /// # Errors
    /// `OpenFull`; then it is for as many as before. Never of fewer.
    pub fn resize(&self, permit: &mut Permit, bytes: usize) -> Result<(), FsError> {
        if let Some(grown) = bytes.checked_sub(permit.bytes) {
            let fits = |held: usize| held.checked_add(grown).filter(|held| *held <= self.0.bytes_max);
            let counted = self.0.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
            counted.map_err(|_| FsError::OpenFull)?;
            (permit.of, permit.bytes) = (Some(self.clone()), bytes);
        } else {
            self.count(permit, bytes);
        }
        Ok(())
    }

    /// A permit is for what is held by now, be it too much: the next one who asks hears of it.
    pub fn count(&self, permit: &mut Permit, bytes: usize) {
        if bytes >= permit.bytes {
            self.0.held.fetch_add(bytes - permit.bytes, Ordering::Relaxed);
        } else {
            self.0.held.fetch_sub(permit.bytes - bytes, Ordering::Relaxed);
        }
        (permit.of, permit.bytes) = (Some(self.clone()), bytes);
    }
}

impl Permit {
    /// How many it is for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(Budget(count)) = &self.of {
            let held = count.held.fetch_sub(self.bytes, Ordering::Relaxed);
            // Many closed together free much, each of them little.
            if held / BURST_BYTES > held.saturating_sub(self.bytes) / BURST_BYTES {
                heap::after_burst();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_bounded_and_given_back() {
        let budget = Budget::new(100);
        let mut one = budget.permit(60).unwrap();
        assert_eq!(budget.permit(41).unwrap_err(), FsError::OpenFull);
        let two = budget.permit(40).unwrap();
        assert_eq!(budget.resize(&mut one, 61), Err(FsError::OpenFull));
        assert_eq!(budget.resize(&mut one, 10), Ok(()));
        drop(two);
        assert_eq!(budget.resize(&mut one, 100), Ok(()));
        drop(one);
        assert!(budget.permit(100).is_ok());
    }

    #[test]
    fn what_is_held_already_counts_though_it_is_too_much() {
        let budget = Budget::new(100);
        let mut permit = Permit::default();
        budget.count(&mut permit, 150);
        assert_eq!(budget.permit(1).unwrap_err(), FsError::OpenFull);
        budget.count(&mut permit, 99);
        assert!(budget.permit(1).is_ok());
    }
}

//! Bytes of bodies in memory, all requests together: a bound that many large requests at once cannot pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The server holds as much as it may; the request is to come again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// The bound and what is in use of it.
#[derive(Debug)]
pub struct InFlight {
    used: AtomicUsize,
    bytes_max: usize,
}

impl InFlight {
    #[must_use]
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), bytes_max })
    }

    /// An empty share, to be grown.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> Share {
        Share { of: Arc::clone(self), bytes: 0 }
    }
}

/// What one request uses; given back when dropped.
#[derive(Debug)]
pub struct Share {
    of: Arc<InFlight>,
    bytes: usize,
}

impl Share {
    /// Takes `bytes` more.
    ///
    /// # Errors
    /// [`Full`] when they would pass the bound; nothing is taken then.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let bytes_max = self.of.bytes_max;
        let more = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= bytes_max);
        self.of.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).map_err(|_| Full)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Takes `bytes` more, whatever the bound: for an answer that is already in memory.
    pub fn grow_anyway(&mut self, bytes: usize) {
        self.of.used.fetch_add(bytes, Ordering::AcqRel);
        self.bytes += bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_the_bound_and_come_back() {
        let all = InFlight::new(10);
        let mut one = all.share();
        assert_eq!(one.grow(6), Ok(()));
        let mut other = all.share();
        assert_eq!(other.grow(5), Err(Full));
        assert_eq!(other.grow(4), Ok(()));
        drop(one);
        assert_eq!(other.grow(6), Ok(()));
    }
}

//! A count of different values in bounded memory.

use foldhash::HashSet;

use crate::codec::digest::Digest;

/// The number of values up to which the count is exact.
const EXACT_MAX: usize = 1 << 20;

/// A count of different values: exact up to [`EXACT_MAX`], then an estimate from those whose
/// digests begin with enough zeros (adaptive sampling; Flajolet, 1990).
#[derive(Debug, Default)]
pub struct Distinct {
    seen: HashSet<u128>,
    zeros: u32,
}

impl Distinct {
    /// Counts a value, by a digest of it.
    pub fn add(&mut self, digest: Digest) {
        let hash = u128::from_be_bytes(digest);
        if hash.leading_zeros() >= self.zeros {
            self.seen.insert(hash);
        }
        if self.seen.len() > EXACT_MAX {
            self.zeros += 1;
            let zeros = self.zeros;
            self.seen.retain(|hash| hash.leading_zeros() >= zeros);
        }
    }

    pub fn count(&self) -> u64 {
        (self.seen.len() as u64) << self.zeros.min(32)
    }

    pub fn is_exact(&self) -> bool {
        self.zeros == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::digest::digest;

    #[test]
    fn a_count_is_exact_and_then_an_estimate() {
        let mut values = Distinct::default();
        for number in 0..1_500_000_u32 {
            values.add(digest(&number.to_be_bytes()));
            values.add(digest(&(number / 2).to_be_bytes()));
            if number == 1_000_000 {
                assert_eq!((values.count(), values.is_exact()), (1_000_001, true));
            }
        }
        let count = values.count();
        assert!(!values.is_exact());
        assert!((1_480_000..1_520_000).contains(&count), "{count}");
    }
}

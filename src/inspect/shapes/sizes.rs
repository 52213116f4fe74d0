//! How large items are: the extremes exactly, what is between them rounded up by at most 1/16, so that each pattern has a few kilobytes
//! of it.

use crate::inspect::spread::Spread;

/// Sizes that are told apart in each doubling.
const STEPS: u64 = 16;

/// Sizes of items, bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    pub count: u64,
    /// All together.
    pub bytes: u64,
    pub min: u64,
    pub max: u64,
    rounded: Spread,
}

impl Sizes {
    pub fn add(&mut self, size: u64) {
        self.rounded.add(rounded(size));
        self.grow(1, size, (size, size));
    }

    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.rounded.merge(&other.rounded);
        self.grow(other.count, other.bytes, (other.min, other.max));
    }

    fn grow(&mut self, count: u64, bytes: u64, (min, max): (u64, u64)) {
        self.min = if self.count == 0 { min } else { self.min.min(min) };
        self.max = self.max.max(max);
        self.count += count;
        self.bytes += bytes;
    }

    /// The size that this part of the items, in percent, does not exceed; by at most 1/16 too large.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> u64 {
        self.rounded.percentile(percent).clamp(self.min, self.max)
    }
}

/// The largest size of the same step: below 16 each size is one, above it a doubling has 16.
fn rounded(size: u64) -> u64 {
    let doubling = size.max(1).ilog2().saturating_sub(STEPS.ilog2());
    size | ((1 << doubling) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_in_its_step() {
        let mut steps = Vec::new();
        for size in 0..=400 * 1024 {
            let largest = rounded(size);
            assert!(size <= largest && largest - size <= size / 16 && rounded(largest) == largest, "{size}: {largest}");
            steps.push(largest);
        }
        assert!(steps.is_sorted());
        steps.dedup();
        assert!(steps.len() < 300, "a few kilobytes for each pattern");
    }

    #[test]
    fn quantiles() {
        let mut sizes = Sizes::default();
        (1..=1000).for_each(|size| sizes.add(size));
        assert_eq!((sizes.min, sizes.max, sizes.bytes), (1, 1000, 500_500));
        assert!((500..=532).contains(&sizes.quantile(50)), "{}", sizes.quantile(50));
        assert!((990..=1000).contains(&sizes.quantile(99)));
        let mut other = Sizes::default();
        other.add(400_000);
        sizes.merge(&other);
        assert_eq!((sizes.count, sizes.min, sizes.max, sizes.quantile(100)), (1001, 1, 400_000, 400_000));
        assert_eq!(Sizes::default().quantile(50), 0);
        let mut one = Sizes::default();
        one.add(77);
        assert_eq!((one.quantile(50), one.quantile(99)), (77, 77));
    }
}

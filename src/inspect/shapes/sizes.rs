//! How large items are: the extremes exactly, what is between them in steps of at most 1/16.

/// Steps in each doubling.
const STEPS: u64 = 16;

/// Sizes of items, bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    pub count: u64,
    /// All together.
    pub bytes: u64,
    pub min: u64,
    pub max: u64,
    /// By step; as many as the largest needs.
    steps: Vec<u64>,
}

impl Sizes {
    pub fn add(&mut self, size: u64) {
        let step = step_of(size);
        self.make_room(step);
        self.steps[step] += 1;
        self.widen(size, size);
        self.count += 1;
        self.bytes += size;
    }

    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.make_room(other.steps.len() - 1);
        self.steps.iter_mut().zip(&other.steps).for_each(|(own, others)| *own += others);
        self.widen(other.min, other.max);
        self.count += other.count;
        self.bytes += other.bytes;
    }

    fn make_room(&mut self, step: usize) {
        if self.steps.len() <= step {
            self.steps.resize(step + 1, 0);
        }
    }

    fn widen(&mut self, min: u64, max: u64) {
        self.min = if self.count == 0 { min } else { self.min.min(min) };
        self.max = self.max.max(max);
    }

    /// The size that this part of the items, in percent, does not exceed; by at most 1/16 too large.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100).max(1);
        let mut below = 0;
        let step = self.steps.iter().position(|count| {
            below += count;
            below >= wanted
        });
        step.map_or(self.max, |step| largest_of(step).clamp(self.min, self.max))
    }
}

/// Below 16 each size has a step of its own; above it a doubling has 16.
fn step_of(size: u64) -> usize {
    let doubling = u64::from(size.max(1).ilog2().saturating_sub(STEPS.ilog2()));
    usize::try_from(doubling * STEPS + (size >> doubling)).unwrap_or(usize::MAX)
}

fn largest_of(step: usize) -> u64 {
    let step = step as u64;
    let doubling = (step / STEPS).saturating_sub(1);
    ((step - doubling * STEPS + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_in_its_step() {
        let mut before = 0;
        for size in 0..500_000 {
            let step = step_of(size);
            assert!(step == before || step == before + 1, "{size}");
            before = step;
            let largest = largest_of(step);
            assert!(size <= largest && largest - size <= size / 16, "{size}: {largest}");
        }
        assert!(step_of(400 * 1024) < 300, "a few kilobytes for each pattern");
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

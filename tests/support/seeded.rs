//! Numbers for generated tests, the same in every run.

/// A sequence of numbers from a seed: SplitMix64.
pub struct Numbers(pub u64);

impl Numbers {
    /// Returns a number from 0 on, below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) % end
    }

    /// Returns one of these.
    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len() as u64) as usize]
    }

    /// True this many times in a hundred.
    pub fn percent(&mut self, times: u64) -> bool {
        self.below(100) < times
    }
}

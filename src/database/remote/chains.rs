//! Pages of a read that goes on move on: one that ends where an earlier one did would be followed by the same ones for ever.
//!
//! Who follows pages is not known here, only where each begins and ends. So what is remembered of a chain of pages stands under the place
//! where its next one begins; two who read the same have the same chain. By Brent's algorithm that is one earlier place: the page's number
//! at which it is taken doubles each time, so that a circle is found within three times its length.

use parking_lot::Mutex;

use crate::codec::digest::{Digest, digest};
use crate::codec::wire::answer;
use crate::database::bounded::OfEntries;
use crate::model::Error;

/// Reads under way at a time; of one that was pushed out only a page that ends where it begins is found.
const CHAINS_MAX: usize = 4096;

/// A chain of pages so far.
#[derive(Debug, Clone, Copy)]
struct Chain {
    pages: u64,
    earlier: Digest,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Chains(Mutex<OfEntries<Digest, Chain, CHAINS_MAX>>);

impl Chains {
    /// A page that began at `start`, or at the first place, ended where the next one begins.
    ///
    /// # Errors
    /// One before it began there.
    pub fn follow(&self, start: Option<Vec<u8>>, next: &[u8]) -> Result<(), Error> {
        let (start, next) = (start.map(|start| digest(&start)), digest(next));
        let mut chains = self.0.lock();
        let mut chain = start.and_then(|start| chains.get(&start).copied()).unwrap_or(Chain { pages: 0, earlier: next });
        if start == Some(next) || chain.pages > 0 && chain.earlier == next {
            return Err(answer::unreadable("its pages do not move on: one ends where an earlier one did"));
        }
        chain.pages += 1;
        if chain.pages.is_power_of_two() {
            chain.earlier = next;
        }
        chains.put(next, chain);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pages are read of what goes on so, before that is refused.
    fn pages(next: impl Fn(u32) -> Option<u32>) -> Result<u32, u32> {
        let (chains, mut at, mut pages) = (Chains::default(), None, 0);
        loop {
            pages += 1;
            let Some(last) = next(at.unwrap_or(0)) else { return Ok(pages) };
            let start = at.map(|at: u32| at.to_be_bytes().to_vec());
            if chains.follow(start, &last.to_be_bytes()).is_err() {
                return Err(pages);
            }
            at = Some(last);
        }
    }

    #[test]
    fn circles_are_found_and_long_reads_are_none() {
        assert_eq!(pages(|at| (at < 10_000).then_some(at + 1)), Ok(10_001));
        assert_eq!(pages(|_| Some(7)), Err(2));
        for (way, circle) in [(1, 2), (1, 3), (5, 2), (100, 7), (3, 1000)] {
            let found = pages(|at| Some(if at + 1 < way + circle { at + 1 } else { way })).unwrap_err();
            assert!(found <= 3 * (way + circle), "{way} {circle}: {found}");
        }
    }

    #[test]
    fn who_reads_the_same_again_or_at_the_same_time_is_not_in_a_circle() {
        let chains = Chains::default();
        for _ in 0..3 {
            chains.follow(None, b"1").unwrap();
            chains.follow(Some(b"1".to_vec()), b"2").unwrap();
            chains.follow(Some(b"1".to_vec()), b"2").unwrap();
            chains.follow(Some(b"2".to_vec()), b"3").unwrap();
        }
    }
}

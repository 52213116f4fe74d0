//! The fuzz targets without a fuzzer: every seed, and a short run of seeds changed at random, the same in every run.
//!
//! `scripts/fuzz` runs them under libFuzzer. `DDBFS_FUZZ_SECONDS=60 cargo test --test engine fuzz_seeds -- --ignored` is for machines
//! where that does not build.

#[path = "../fuzz/targets.rs"]
mod targets;

use std::path::Path;
use std::time::{Duration, Instant};

use targets::TARGETS;

const CHANGED_SEEDS: usize = 1_000;
const INPUT_BYTES_MAX: usize = 4096;
/// Bytes that mean something to one of the readers.
const TELLING: &[u8] = b"\"{}[](),:#%$.-+eE0129aA \\/u\xff\x00\xc3";

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/seeds")
        .join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    assert!(!seeds.is_empty(), "{target} has no seeds");
    seeds
}

/// A small generator, so that a failure comes again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }
}

/// One to four changes of one of `pool`: bytes set, taken out, doubled, or put in from another one.
fn changed(pool: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut input = pool[chance.below(pool.len())].clone();
    for _ in 0..=chance.below(4) {
        let at = chance.below(input.len() + 1);
        let end = (at + chance.below(16)).min(input.len());
        match chance.below(5) {
            0 if at < input.len() => input[at] = TELLING[chance.below(TELLING.len())],
            1 if at < input.len() => input[at] ^= 1 << chance.below(8),
            2 => drop(input.drain(at..end)),
            3 => {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
            _ => {
                let other = &pool[chance.below(pool.len())];
                let from = chance.below(other.len());
                let to = (from + chance.below(32)).min(other.len());
                input.splice(at..at, other[from..to].to_vec());
            }
        }
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}

#[test]
fn seeds_and_changed_seeds_hold() {
    for (name, target) in TARGETS {
        let mut pool = seeds(name);
        pool.iter().for_each(|seed| target(seed));
        let mut chance = Chance(0x5EED);
        for round in 0..CHANGED_SEEDS {
            let input = changed(&pool, &mut chance);
            target(&input);
            // Some go on from where others ended.
            if round % 50 == 0 {
                pool.push(input);
            }
        }
    }
}

#[test]
#[ignore = "runs for DDBFS_FUZZ_SECONDS on each target"]
fn changed_seeds_hold_for_long() {
    let seconds = std::env::var("DDBFS_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60);
    for (name, target) in TARGETS {
        let mut pool = seeds(name);
        let mut chance = Chance(Instant::now().elapsed().subsec_nanos().into());
        chance.0 |= u64::from(std::process::id()) << 20 | 1;
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let mut count = 0_u64;
        while Instant::now() < deadline {
            let input = changed(&pool, &mut chance);
            let outcome = std::panic::catch_unwind(|| target(&input));
            assert!(
                outcome.is_ok(),
                "{name} failed on {:?}",
                String::from_utf8_lossy(&input)
            );
            count += 1;
            if count.is_multiple_of(1000) && pool.len() < 10_000 {
                pool.push(input);
            }
        }
        println!("{name}: {count} inputs in {seconds} s");
    }
}

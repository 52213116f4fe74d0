//! `scripts/bench`: engine and mount operations as tables, beside the same file operations on the machine's own file system and on one
//! in memory that is on fuser as the mount is.
//!
//! Absolute figures drift with the machine; compare ratios within one run. `--durability kill` measures that; `--items N` is how many
//! the large directory has. `scripts/bench_look` is `look`.

#[cfg(feature = "remote")]
mod distance;
mod engine;
mod in_memory;
mod look;
mod mount;
mod requests;
mod vectors;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ddbfs::store::Durability;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// How long each timed loop runs, and on what.
struct Scale {
    durability: Durability,
    loop_time: Duration,
    large_table: u64,
    /// Files of the directory that is read again and again.
    small_listing: u64,
    /// Files of the directory that is walked once.
    listing: u64,
}

fn main() -> Fallible<()> {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let value = |name: &str| {
        args.iter()
            .position(|arg| arg == name)
            .and_then(|at| args.get(at + 1))
    };
    let quick = args.iter().any(|arg| arg == "--quick");
    let listing = value("--items").map(|items| items.parse()).transpose()?;
    let scale = Scale {
        durability: if args.iter().any(|arg| arg == "kill") {
            Durability::Kill
        } else {
            Durability::Power
        },
        loop_time: Duration::from_millis(if quick { 300 } else { 2000 }),
        large_table: if quick { 20_000 } else { 1_000_000 },
        small_listing: if quick { 1_000 } else { 10_000 },
        listing: listing.unwrap_or(if quick { 5_000 } else { 100_000 }),
    };
    match args.first().map(String::as_str) {
        Some("engine") => engine::engine(&scale),
        Some("mount") => mount::mount(&scale),
        Some("vectors") => vectors::vectors(scale.listing),
        Some("look") => look::look(&scale, value("--only"), value("--systems")),
        #[cfg(feature = "remote")]
        Some("distance") => distance::distance(value("--only").map(String::as_str)),
        Some(mount::IN_MEMORY) => mount::serve_in_memory(&args),
        _ => engine::engine(&scale).and_then(|()| mount::mount(&scale)),
    }
}

/// On the disk of the build, not in a memory file system.
fn scratch_dir() -> Fallible<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// Runs `operation` on `threads` threads for the loop time; operations a second over all.
fn rate<E: std::error::Error + Send + 'static>(
    scale: &Scale,
    threads: usize,
    operation: &(impl Fn() -> Result<(), E> + Sync),
) -> Fallible<f64> {
    let started = Instant::now();
    let total = std::thread::scope(|scope| -> Result<u64, E> {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut count = 0_u64;
                    while started.elapsed() < scale.loop_time {
                        operation()?;
                        count += 1;
                    }
                    Ok(count)
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(Ok(0)))
            .sum()
    })?;
    Ok(total as f64 / started.elapsed().as_secs_f64())
}

fn row(name: &str, rate: f64) {
    println!("| {name} | {} |", thousands(rate));
}

fn thousands(n: impl std::fmt::Display) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

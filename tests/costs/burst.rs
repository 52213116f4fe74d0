//! Memory that a burst of small pieces needed goes back, though pieces between them stay.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::process::Command;

use crate::support::wait::until_ok;
use ddbfs::store::heap::trim_soon;

/// Set in the process that is measured, which does nothing else.
const ALONE: &str = "DDBFS_TEST_ALONE";

/// Anonymous memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap()
        * 1024
}

#[test]
fn memory_goes_back_after_a_burst() {
    if std::env::var_os(ALONE).is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let done = again
            .env(ALONE, "1")
            .args(["--exact", "burst::memory_goes_back_after_a_burst"])
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stdout)
        );
        return;
    }
    let before = resident();
    // Small pieces with holes that stay between them: nothing but a trim gives the rest back.
    let mut pieces: Vec<Vec<u8>> = (0..200_000).map(|_| vec![1; 1000]).collect();
    assert!(resident() > before + 150_000_000);
    let mut place = 0;
    pieces.retain(|_| {
        place += 1;
        place % 100 == 0
    });
    trim_soon();
    until_ok("what was freed goes back", || match resident() {
        bytes if bytes <= before + 50_000_000 => Ok(()),
        bytes => Err(format!("{} bytes more than before", bytes - before)),
    });
    drop(pieces);
}

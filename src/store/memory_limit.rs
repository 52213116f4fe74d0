//! The memory limit of this process: the least of its control groups' limit (of either version of
//! the interface), the limit it was given, and the machine's memory. `budget` and the caches take
//! shares of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

const CGROUP_ROOT: &str = "/sys/fs/cgroup";
/// The least limit for which the budgets hold.
pub const LIMIT_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// The limit if there is no source.
const UNKNOWN_BYTES: u64 = 2 * 1024 * 1024 * 1024;

static CONFIGURED: OnceLock<u64> = OnceLock::new();
static LIMIT: LazyLock<u64> = LazyLock::new(|| memory_limit().max(LIMIT_BYTES_MIN));

/// Sets a limit for this process. Called once, before the first use of the limit.
pub fn set_memory_limit(bytes: u64) {
    // The first call counts.
    let _ = CONFIGURED.set(bytes);
}

/// Returns the least of all known limits, in bytes.
#[must_use]
pub fn memory_limit() -> u64 {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().filter_map(cgroup_files).flatten();
    let of_groups = of_groups.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    of_groups
        .chain(CONFIGURED.get().copied())
        .chain(machine_memory())
        .min()
        .unwrap_or(UNKNOWN_BYTES)
}

/// Returns the size of something that no budget counts: `bytes_max`, or the `parts`-th part of the
/// limit if that is less.
#[must_use]
pub fn limit_share<T: TryFrom<u64> + Ord>(bytes_max: T, parts: u64) -> T {
    match T::try_from(*LIMIT / parts) {
        Ok(part) => part.min(bytes_max),
        Err(_) => bytes_max,
    }
}

/// Returns the files that may hold a limit, for a group and its ancestors. A line is
/// `4:memory:/path` or, in the newer version, `0::/path`.
fn cgroup_files(line: &str) -> Option<Vec<PathBuf>> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (root, name) = match controllers {
        "" => (Path::new(CGROUP_ROOT).to_owned(), "memory.max"),
        "memory" => (
            Path::new(CGROUP_ROOT).join("memory"),
            "memory.limit_in_bytes",
        ),
        _ => return None,
    };
    let group = root.join(path.trim_start_matches('/'));
    let around = group
        .ancestors()
        .take_while(|folder| folder.starts_with(&root));
    Some(around.map(|folder| folder.join(name)).collect())
}

fn machine_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_limited_by_those_around_it() {
        let check = |line: &str, expected: &[&str]| {
            let found: Vec<String> = cgroup_files(line)
                .into_iter()
                .flatten()
                .map(|file| file.display().to_string())
                .collect();
            assert_eq!(found, expected, "{line}");
        };
        check(
            "4:memory:/a",
            &[
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            ],
        );
        check("0::/", &["/sys/fs/cgroup/memory.max"]);
        check("3:cpuset:/a", &[]);
        check("nonsense", &[]);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(memory_limit() > 1 << 20);
    }
}

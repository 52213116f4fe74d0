//! Waiting in tests: for a condition, however long it takes. No test sleeps except through this
//! file, which `tests/tidy` checks.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A timeout against hangs only: no condition takes so long on any machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two checks of a condition.
const LOOK: Duration = Duration::from_millis(5);

/// Calls until the result is the awaited one; a panic shows the last other result.
#[track_caller]
pub fn until_ok<T>(what: &str, ask: impl FnMut() -> Result<T, String>) -> T {
    until_ok_with(what, PATIENCE, LOOK, ask)
}

/// Calls as [`until_ok`] for at most `limit`, with `pause` between two checks: none where the
/// condition lasts for a moment, or the call waits itself.
#[track_caller]
pub fn until_ok_with<T>(
    what: &str,
    limit: Duration,
    pause: Duration,
    mut ask: impl FnMut() -> Result<T, String>,
) -> T {
    let deadline = Instant::now() + limit;
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(other) => assert!(
                Instant::now() < deadline,
                "{what}: not within {} s; {other}",
                limit.as_secs()
            ),
        }
        std::thread::sleep(pause);
    }
}

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    until_ok(what, || if is_so() { Ok(()) } else { Err(String::new()) });
}

/// Waits until a value is found.
#[track_caller]
pub fn until_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    until_ok(what, || find().ok_or_else(String::new))
}

/// Lets time pass where time is the subject of the test: a slow client, a kill at any moment, load
/// that comes and goes. Later assertions may not rest on it. `tests/tidy` lists the files.
pub fn moment(duration: Duration) {
    std::thread::sleep(duration);
}

/// Returns how often each thread of that name of a process has gone to sleep, by its id.
fn sleeps(process: u32, thread: &str) -> Vec<(String, u64)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .unwrap()
        .map_while(Result::ok);
    let of = |task: &Path| {
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let status = fs::read_to_string(task.join("status"))
            .ok()
            .filter(|_| name.trim() == thread)?;
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?
            .trim()
            .parse()
            .ok()?;
        Some((task.display().to_string(), count))
    };
    tasks.filter_map(|task| of(&task.path())).collect()
}

/// Waits until every thread of that name of a process has checked its condition so often, and gone
/// to sleep again. A thread that has ended checks no more.
#[track_caller]
pub fn until_looked(process: u32, thread: &str, times: u64) {
    // The thread may start only when there is work for it.
    let before = until_some(&format!("process {process} has a thread {thread}"), || {
        Some(sleeps(process, thread)).filter(|threads| !threads.is_empty())
    });
    until(&format!("{thread} looks {times} times"), || {
        let now = sleeps(process, thread);
        before.iter().all(|(id, count)| {
            now.iter()
                .find(|(other, _)| other == id)
                .is_none_or(|(_, more)| *more >= count + times)
        })
    });
}

/// True if every thread of a process is in this state: `S` sleeps, and has no work; `T` is stopped.
pub fn is_all(process: u32, state: char) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .unwrap()
        .map_while(Result::ok);
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    stats
        .into_iter()
        .all(|stat| stat.contains(&format!(") {state} ")))
}

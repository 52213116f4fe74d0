//! How tests wait: for a fact, however long it takes. No test sleeps but by this file, which `tests/tidy` holds.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Against a hang alone: no fact takes so long on any machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at a fact.
const LOOK: Duration = Duration::from_millis(5);

/// Asks until the answer is the one that is waited for; a panic tells of the last that was not.
#[track_caller]
pub fn until_ok<T>(what: &str, ask: impl FnMut() -> Result<T, String>) -> T {
    until_ok_with(what, PATIENCE, LOOK, ask)
}

/// The same for at most `limit`, with `pause` between two looks: none where the fact lasts for a moment, or asking waits itself.
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

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    until_ok(what, || if is_so() { Ok(()) } else { Err(String::new()) });
}

/// Waits until something is found.
#[track_caller]
pub fn until_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    until_ok(what, || find().ok_or_else(String::new))
}

/// Lets time pass where time is what the test is about: a client that is slow, a kill at any moment, load that comes and goes. What is
/// asserted afterwards may not rest on it. `tests/tidy` lists the files.
pub fn moment(duration: Duration) {
    std::thread::sleep(duration);
}

/// How often each thread of that name of a process has gone to sleep, by its id.
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

/// Waits until every thread of that name of a process has looked so often for what it waits for, and gone to sleep again. One that has
/// ended looks no more.
#[track_caller]
pub fn until_looked(process: u32, thread: &str, times: u64) {
    // It may begin only when there is something to look for.
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

/// Whether every thread of a process is in this state: `S` sleeps, and has nothing to do; `T` is stopped.
pub fn is_all(process: u32, state: char) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .unwrap()
        .map_while(Result::ok);
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    stats
        .into_iter()
        .all(|stat| stat.contains(&format!(") {state} ")))
}

//! Which process calls.
//!
//! | difficulty | solved by |
//! |---|---|
//! | the kernel names the calling thread, and threads come and go | a process is its thread group |
//! | numbers are used again | a process is told from a later one of its number by when it began |
//! | `/proc` costs as much as the call that is answered | an answer is good for `KNOWN_FOR` |
//! | a caller of another pid namespace has number 0 | it is no process that we know |
//! | `/proc` may be that of another pid namespace (`unshare --pid` without a mount) | then each thread counts as a process |

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::journal::stat_field;

/// How long it is believed of which process a thread is: numbers are not used again that soon.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// Threads that are known; beyond them all are asked for again.
const THREADS_MAX: usize = 10_000;
/// The field of `/proc/<pid>/stat` that tells when it began, in clock ticks since the machine did, counted from the state.
const STARTED: usize = 19;

/// A process, in the pid namespace of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    /// Of its first thread.
    pub id: u32,
    /// Clock ticks since the machine began, at its own beginning.
    pub started: u64,
}

impl Process {
    fn of_thread(thread: u32) -> Option<Self> {
        if !*IS_PROC_OURS {
            return Some(Self { id: thread, started: 0 });
        }
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let id = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())?;
        Some(Self { id, started: stat_field(id, STARTED)? })
    }

    /// Is it there still? True where that cannot be found out.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !*IS_PROC_OURS || stat_field(self.id, STARTED) == Some(self.started)
    }
}

/// Does `/proc` number processes as the kernel does when it names them to us?
static IS_PROC_OURS: LazyLock<bool> = LazyLock::new(|| {
    let own = std::fs::read_link("/proc/self");
    own.is_ok_and(|own| own.to_str() == Some(std::process::id().to_string().as_str()))
});

/// The processes of threads that called of late.
#[derive(Debug, Default)]
pub struct Processes {
    known: Mutex<HashMap<u32, (Process, Instant)>>,
}

impl Processes {
    /// The process of a thread; `None` when that is gone, or in another pid namespace.
    pub fn of(&self, thread: u32) -> Option<Process> {
        let now = Instant::now();
        if let Some((process, since)) = self.known.lock().get(&thread)
            && now.duration_since(*since) < KNOWN_FOR
        {
            return Some(*process);
        }
        let process = if thread == 0 { None } else { Process::of_thread(thread) }?;
        let mut known = self.known.lock();
        if known.len() >= THREADS_MAX {
            known.clear();
        }
        known.insert(thread, (process, now));
        Some(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn threads_are_of_their_process() {
        let processes = Processes::default();
        let of_this_thread = || {
            // SAFETY: gettid takes nothing and cannot fail.
            let thread = u32::try_from(unsafe { libc::gettid() }).unwrap();
            (thread, processes.of(thread))
        };
        let (one, of_one) = of_this_thread();
        let (other, of_other) = std::thread::scope(|scope| scope.spawn(of_this_thread).join().unwrap());
        assert_ne!(one, other);
        assert_eq!(of_one, of_other);
        assert_eq!(of_one.unwrap().id, std::process::id());
        assert!(of_one.unwrap().is_there());
        assert_eq!(processes.of(0), None);
    }

    #[test]
    fn a_later_process_of_the_same_number_is_another() {
        let me = Processes::default().of(std::process::id()).unwrap();
        let before = Process { started: me.started - 1, ..me };
        assert!(me != before && !before.is_there());
    }

    #[test]
    fn memory_is_bounded() {
        let processes = Processes::default();
        let me = (Process { id: 1, started: 1 }, Instant::now());
        processes.known.lock().extend((0..THREADS_MAX as u32).map(|thread| (u32::MAX - thread, me)));
        processes.of(std::process::id()).unwrap();
        assert_eq!(processes.known.lock().len(), 1);
    }
}

//! The calling process: which process is behind a FUSE call, its session and its name, by `/proc`.
//!
//! | difficulty | solved by |
//! |---|---|
//! | the kernel names the calling thread, and threads come and go | a process is its thread group |
//! | process numbers are reused | a process is identified by its number and its start time |
//! | a read of `/proc` costs as much as the call itself | an answer is cached for `PROCESS_TTL_MS` |
//! | a caller of another pid namespace has number 0 | it is treated as an unknown process |
//! | a process in the middle of execve closes its files while Linux blocks reads of its `stat`: a wait for that read blocks the process for ever | `stat` is read on another thread, and waited for a limited time |
//! | `/proc` may be of another pid namespace (`unshare --pid` without a mount) | each thread counts as a process |

use std::io;
use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::Mutex;

use super::ttl_map::{TtlMap, now_ms};
use crate::model::api::WaitPolicy;

/// Time for which the process of a thread is cached, in milliseconds: numbers are not reused that
/// soon.
const PROCESS_TTL_MS: u64 = 1_000;
/// The maximum number of cached threads.
const THREADS_MAX: usize = 10_000;
/// The maximum wait for a process's `stat`. The waiting thread may be the committer, so it is much
/// shorter than a call waits for its notifications.
const STAT_TIMEOUT: Duration = Duration::from_millis(250);
/// The index of the start time in `/proc/<pid>/stat`, in clock ticks since boot, counted from the
/// state field.
const START_TIME_FIELD: usize = 19;

/// The process behind a call, and how long it may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caller {
    /// The calling thread, as the kernel names it; 0 when it is in another pid namespace.
    pub pid: u32,
    pub uid: u32,
    pub gid: u32,
    /// The wait policy for observers of its commits: it depends on the locks that the kernel holds
    /// while it waits for the reply.
    pub wait: WaitPolicy,
}

/// A process, in the pid namespace of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    /// The number of its first thread.
    pub id: u32,
    /// Start time, in clock ticks since boot; 0 if it could not be read.
    pub start_ticks: u64,
}

/// A start time that could not be read in time, or not at all without a free descriptor.
const UNKNOWN_START: u64 = 0;

impl Process {
    /// Returns the process of a thread; `None` when it is gone, or in another pid namespace. If
    /// `/proc` cannot be read now, as much as is known: a process that counted as gone would undo
    /// what others wrote.
    pub fn of_thread(thread: u32) -> Option<Self> {
        let unknown = |id| Self {
            id,
            start_ticks: UNKNOWN_START,
        };
        if thread == 0 {
            return None;
        }
        if !*IS_SAME_PID_NS {
            return Some(unknown(thread));
        }
        let id = match read_proc(thread, "status") {
            Ok(status) => number_of(&status, "Tgid:")?,
            Err(error) if is_gone(&error) => return None,
            Err(_) => return Some(unknown(thread)),
        };
        match read_stat(id) {
            Ok(fields) => Some(Self {
                id,
                start_ticks: field(&fields, START_TIME_FIELD)?,
            }),
            Err(error) if is_gone(&error) => None,
            Err(_) => Some(unknown(id)),
        }
    }

    /// True if this is the process `other`, as far as their start times are known.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let is_unknown = |process: &Self| process.start_ticks == UNKNOWN_START;
        self.id == other.id
            && (self.start_ticks == other.start_ticks || is_unknown(self) || is_unknown(other))
    }

    /// True if the process still runs, or if that cannot be determined.
    #[must_use]
    pub fn is_running(&self) -> bool {
        if !*IS_SAME_PID_NS {
            return true;
        }
        match read_stat(self.id) {
            Ok(fields) => field(&fields, START_TIME_FIELD).is_some_and(|start_ticks| {
                self.is_same(&Self {
                    id: self.id,
                    start_ticks,
                })
            }),
            Err(error) => !is_gone(&error),
        }
    }
}

/// True if `/proc` numbers processes as the kernel does in its requests.
static IS_SAME_PID_NS: LazyLock<bool> = LazyLock::new(|| {
    let own = std::fs::read_link("/proc/self");
    own.is_ok_and(|own| own.to_str() == Some(std::process::id().to_string().as_str()))
});

/// A cache of the processes of threads that called recently.
#[derive(Debug, Default)]
pub struct ProcessCache {
    cache: Mutex<TtlMap<u32, Process, THREADS_MAX, PROCESS_TTL_MS>>,
}

impl ProcessCache {
    /// Returns the process of a thread; `None` when it is gone, or in another pid namespace.
    pub fn get(&self, thread: u32) -> Option<Process> {
        let now_ms = now_ms();
        let known = self.cache.lock().get(&thread, now_ms).copied();
        if known.is_some() || thread == 0 {
            return known;
        }
        let process = Process::of_thread(thread)?;
        if process.start_ticks != UNKNOWN_START || !*IS_SAME_PID_NS {
            self.cache.lock().insert(thread, process, now_ms);
        }
        Some(process)
    }
}

/// Returns the session of a process or thread; 0 when it cannot be determined (another pid
/// namespace, gone).
#[must_use]
pub fn session_of(pid: u32) -> u32 {
    status_field(pid, "NSsid:")
        .or_else(|| stat_field(pid, 3))
        .unwrap_or(0)
}

/// Returns the first number in a line of `/proc/<pid>/status`.
fn status_field(pid: u32, name: &str) -> Option<u32> {
    if pid == 0 {
        return None;
    }
    number_of(&read_proc(pid, "status").ok()?, name)
}

/// Parses the first number in a line of a process's status.
fn number_of(status: &str, name: &str) -> Option<u32> {
    status.lines().find_map(|line| {
        line.strip_prefix(name)?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    })
}

/// Reads a file of `/proc/<pid>`.
///
/// # Errors
/// Those of [`is_gone`] if there is no such process; others if it cannot be read now, as without a
/// free descriptor.
fn read_proc(pid: u32, file: &str) -> io::Result<String> {
    std::fs::read_to_string(format!("/proc/{pid}/{file}"))
}

/// True if a read of `/proc` says that the process has ended.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ESRCH | libc::ENOTDIR)
    )
}

/// Returns a numeric field of `/proc/<pid>/stat`, counted from the state field.
fn stat_field<T: std::str::FromStr>(pid: u32, index: usize) -> Option<T> {
    field(&stat_fields(pid)?, index)
}

fn field<T: std::str::FromStr>(fields: &str, index: usize) -> Option<T> {
    fields.split_whitespace().nth(index)?.parse().ok()
}

/// The maximum number of open files of a process that are examined.
const FDS_MAX: usize = 256;

/// True if the thread's process has a file of this inode number open, or if that cannot be
/// determined.
#[must_use]
pub fn may_have_open(thread: u32, ino: u64) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{thread}/fdinfo")) else {
        return true;
    };
    let other = |info: std::io::Result<std::fs::DirEntry>| {
        let info = std::fs::read_to_string(info.ok()?.path()).ok()?;
        let own: u64 = info
            .lines()
            .find_map(|line| line.strip_prefix("ino:")?.trim().parse().ok())?;
        (own != ino).then_some(())
    };
    !*IS_SAME_PID_NS
        || thread == 0
        || files
            .take(FDS_MAX + 1)
            .enumerate()
            .any(|(at, info)| at == FDS_MAX || other(info).is_none())
}

/// Returns the fields of `/proc/<pid>/stat` from the state on; `None` when they cannot be read.
fn stat_fields(pid: u32) -> Option<String> {
    if pid == 0 {
        return None;
    }
    read_stat(pid).ok()
}

/// Reads the fields of `/proc/<pid>/stat` from the state on. The state follows the command's name
/// in parentheses.
///
/// # Errors
/// As [`read_proc`]; `TimedOut` after `STAT_TIMEOUT`.
fn read_stat(pid: u32) -> io::Result<String> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let read = move || {
        // The receiver is gone when the read took too long.
        let _ = sender.send(read_proc(pid, "stat"));
    };
    std::thread::Builder::new()
        .name("ddbfs-stat".to_owned())
        .spawn(read)?;
    let stat = receiver
        .recv_timeout(STAT_TIMEOUT)
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields.to_owned());
    fields.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// True if this thread is exiting because of a signal and closes its files as it exits; false when
/// that cannot be determined.
#[must_use]
pub fn was_killed(thread: u32) -> bool {
    /// `PF_EXITING` of the kernel's task flags.
    const EXITING: u32 = 0x4;
    /// The part of an exit status that is a signal's number: wait(2).
    const SIGNAL: u32 = 0x7f;
    // A thread that still has memory is not exiting: it may be in execve, which also closes files.
    if status_field(thread, "VmSize:").is_some() {
        return false;
    }
    let Some(fields) = stat_fields(thread) else {
        return false;
    };
    let has = |index, bits| field(&fields, index).is_some_and(|value: u32| value & bits != 0);
    has(6, EXITING) && has(49, SIGNAL)
}

/// True if the process of this thread has a file open with a path that ends in `path`; `None` when
/// that cannot be determined. Only the links are read: a stat of the files could be a request to
/// this mount itself.
#[must_use]
pub fn has_path_open(thread: u32, path: &str) -> Option<bool> {
    if thread == 0 {
        return None;
    }
    let links = std::fs::read_dir(format!("/proc/{thread}/fd"))
        .ok()?
        .map_while(Result::ok);
    let mut targets = links.filter_map(|link| std::fs::read_link(link.path()).ok());
    let is_it = |target: std::path::PathBuf| {
        target
            .to_string_lossy()
            .trim_end_matches(" (deleted)")
            .ends_with(path)
    };
    Some(targets.any(is_it))
}

/// True if both threads are of one process. A thread that is gone counts as a process of its own.
#[must_use]
pub fn same_process(a: u32, b: u32) -> bool {
    // Most programs have one thread, which needs no read of `/proc`.
    a == b || tgid_of(a) == tgid_of(b)
}

/// Returns the thread group (process) of a thread: the kernel names threads in requests.
#[must_use]
pub fn tgid_of(thread: u32) -> u32 {
    status_field(thread, "Tgid:").unwrap_or(thread)
}

/// Returns the name of a process or thread; empty if it is gone or in another pid namespace.
#[must_use]
pub fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// True if this thread has a pending signal that it does not block or ignore; `None` when that
/// cannot be determined.
pub(in crate::fs) fn has_pending_signal(thread: u32) -> Option<bool> {
    if thread == 0 {
        return None;
    }
    pending_signal(&std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?)
}

/// Parses the pending signals of `/proc/<thread>/status`, as [`has_pending_signal`].
fn pending_signal(status: &str) -> Option<bool> {
    let mask = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        u64::from_str_radix(line.trim(), 16).ok()
    };
    let (own, shared) = (mask("SigPnd")?, mask("ShdPnd")?);
    Some((own | shared) & !mask("SigBlk")? & !mask("SigIgn")? != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn threads_are_of_their_process() {
        let processes = ProcessCache::default();
        let of_this_thread = || {
            // SAFETY: gettid takes nothing and cannot fail.
            let thread = u32::try_from(unsafe { libc::gettid() }).unwrap();
            (thread, processes.get(thread))
        };
        let (one, of_one) = of_this_thread();
        let (other, of_other) =
            std::thread::scope(|scope| scope.spawn(of_this_thread).join().unwrap());
        assert_ne!(one, other);
        assert_eq!(of_one, of_other);
        assert_eq!(of_one.unwrap().id, std::process::id());
        assert!(of_one.unwrap().is_running());
        assert_eq!(processes.get(0), None);
    }

    #[test]
    fn a_later_process_of_the_same_number_is_another() {
        let me = ProcessCache::default().get(std::process::id()).unwrap();
        let before = Process {
            start_ticks: me.start_ticks - 1,
            ..me
        };
        assert!(me != before && !me.is_same(&before) && !before.is_running());
        let unknown = Process {
            start_ticks: UNKNOWN_START,
            ..me
        };
        assert!(me.is_same(&unknown) && unknown.is_same(&me) && unknown.is_running());
    }

    #[test]
    fn this_process_has_a_session_and_is_its_own_thread_group() {
        assert_eq!(tgid_of(std::process::id()), std::process::id());
        assert_eq!(session_of(0), 0);
    }

    #[test]
    fn signals_count_unless_blocked_or_ignored() {
        let check = |own: u64, shared: u64, blocked: u64, ignored: u64, expected: bool| {
            let status = format!(
                "Name:\tcat\nSigPnd:\t{own:016x}\nShdPnd:\t{shared:016x}\nSigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\n"
            );
            assert_eq!(pending_signal(&status), Some(expected), "{status}");
        };
        let interrupt = 1 << 1;
        check(0, 0, 0, 0, false);
        check(interrupt, 0, 0, 0, true);
        check(0, interrupt, 0, 0, true);
        check(0, interrupt, interrupt, 0, false);
        check(0, interrupt, 0, interrupt, false);
        assert_eq!(pending_signal("Name:\tcat\n"), None);
        assert_eq!(has_pending_signal(std::process::id()), Some(false));
        assert_eq!(has_pending_signal(0), None);
    }
}

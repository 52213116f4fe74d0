//! The watchdog of a mount: a process beside the mounting one that ends the names that the kernel
//! caches and aborts the mount's connection to the kernel when the mounting process is killed. `umount` and `mount` call [`probe`] here to find
//! out whether a mount answers.
//!
//! The kernel would abort the connection by itself when its last descriptor is closed, if the
//! watchdog had none, and when the last thread of the killed process has ended. But there may be a
//! deadlock: a thread that notifies the kernel of a change waits uninterruptibly for the lock of a directory, and the
//! holder of that lock waits for the answer to a call that is never answered any more. Then the
//! thread never ends, nor does anything that accesses the mount.
//!
//! Nothing else can free it: the notifying thread holds a descriptor of the connection until it is
//! done. If both processes are killed at once, [`probe`] does the same at the next unmount or mount
//! there. So that this is rare, each process exists without the other for a moment only.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Instant;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::exit::warn;
use super::mount_reader::{is_dead, read_within};
use super::prelude::*;
use crate::fuse::{self, FuseConnection, Mounted};
use crate::store::lmdb::{free_lease, store_process};

/// The internal command of such a process.
pub const COMMAND: &str = "watch-mount";
/// The watchdog's name among processes.
const NAME: &str = "mount-watchdog";
/// The time after a signal in which a process may turn out to be dead, and the time between two
/// checks.
const DEATH_WAIT: Duration = Duration::from_secs(1);
const DEATH_POLL: Duration = Duration::from_millis(10);
/// The time in which the rest of a killed process closes its files: longer than a busy machine
/// needs.
const CLOSE_WAIT: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub struct WatchdogArgs {
    /// The process that mounted
    pid: u32,
    mountpoint: PathBuf,
}

/// The message that ends the watchdog when it is no longer needed. The bare end of its input is
/// also that of a killed process.
const STOP: &[u8] = b"enough";

/// A handle of the watchdog process, which ends when this value is dropped.
pub struct Watchdog {
    stdin: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts the watchdog, and calls `killed` if it is killed, so that another can be started.
    /// Called on the main thread of the process: the watchdog observes the end of that thread.
    pub fn start(
        mounted: &Mounted,
        killed: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        // A kill of all processes of a name or of a process group is meant for the mount. The
        // watchdog cleans up after it, and so has another name and a group of its own.
        command.arg0(NAME).process_group(0);
        command
            .arg(COMMAND)
            .arg(std::process::id().to_string())
            .arg(mounted.mountpoint());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(mounted.device().try_clone()?)
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take();
        std::thread::Builder::new()
            .name("ddbfs-watchdog".to_owned())
            .spawn(move || {
                if child.wait().is_ok_and(|status| status.signal().is_some()) {
                    killed();
                }
            })?;
        Ok(Self { stdin })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(life) = &mut self.stdin {
            // A killed watchdog does not read.
            let _ = life.write_all(STOP);
        }
    }
}

/// Waits for the end of the process.
pub fn run(args: &WatchdogArgs) -> Result<CommandResult, CliError> {
    close_inherited();
    // Without this, the process has the name of the executable, as the mount does.
    let _ = std::fs::write("/proc/self/comm", NAME);
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(CliError::io("cannot catch signals"))?;
    signal_on_parent_end();
    let Some(connection) = fuse::connection(&args.mountpoint)
        .map_err(CliError::io("cannot read the list of mounts"))?
    else {
        return Ok(CommandResult::Done);
    };
    std::thread::spawn(|| {
        if std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).is_ok_and(|bytes| bytes > 0) {
            std::process::exit(0);
        }
    });
    // A signal may come from another process, and the parent's comes a moment before its end can be
    // seen.
    let mut signals = signals.forever();
    let mut is_watched = is_alive(args.pid);
    while is_watched && signals.next().is_some() {
        is_watched = outlives(args.pid, DEATH_WAIT);
    }
    // Standard output is the device of the mount.
    let are_names_ended = std::io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .is_ok_and(|device| fuse::end_all_names(&File::from(device)));
    connection
        .abort()
        .map_err(CliError::io("cannot end the connection"))?;
    if are_names_ended && let Some(data) = &connection.data {
        free_lease(data, &connection.bdi_path(), CLOSE_WAIT)
            .map_err(CliError::io("cannot free the lease of the data"))?;
    }
    Ok(CommandResult::Done)
}

/// Closes inherited descriptors: the parent's open files must end with it. Called before anything
/// is opened here.
#[allow(unsafe_code)]
fn close_inherited() {
    // SAFETY: a system call without pointers; no descriptor above standard error is used so far.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

/// Requests SIGHUP for the end of the parent's main thread (PR_SET_PDEATHSIG of prctl(2)).
#[allow(unsafe_code)]
fn signal_on_parent_end() {
    // SAFETY: a system call without pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, SIGHUP) };
}

/// True if the process is still alive after this time.
fn outlives(pid: u32, long: Duration) -> bool {
    let until = Instant::now() + long;
    while is_alive(pid) {
        if Instant::now() > until {
            return true;
        }
        std::thread::sleep(DEATH_POLL);
    }
    false
}

/// True if the process is alive. With its main thread ended it is a zombie, even if other threads
/// run.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the command's name in parentheses, proc(5).
    stat.rsplit_once(") ")
        .is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// The time that a mount may take to answer before its process is looked for.
const ANSWER_WAIT: Duration = Duration::from_secs(3);

/// The answer of a mount.
pub enum MountAnswer {
    /// The content of the file; empty if no ddbfs is mounted, or if the file cannot be read.
    Live(Vec<u8>),
    /// The process is gone; programs that waited for it have got an error.
    Dead,
    /// The process exists, or may exist; the text says what to do.
    Silent(String),
}

/// Reads a file of the mount at a path; ends the connection of a mount without a process.
pub fn probe(mountpoint: &Path, file: &str) -> Result<MountAnswer, CliError> {
    // An invalid path is reported by the mount or unmount that follows.
    let Ok(Some(connection)) = fuse::connection(mountpoint) else {
        return Ok(MountAnswer::Live(Vec::new()));
    };
    match read_within(&connection.path.join(file), ANSWER_WAIT) {
        Ok(bytes) => Ok(MountAnswer::Live(bytes)),
        Err(error) if is_dead(&error) => Ok(MountAnswer::Dead),
        Err(error) if error.kind() == ErrorKind::TimedOut => silent_mount(&connection),
        Err(_) => Ok(MountAnswer::Live(Vec::new())),
    }
}

fn silent_mount(connection: &FuseConnection) -> Result<MountAnswer, CliError> {
    let shown = connection.path.display();
    let silence = format!("it has not answered for {} s", ANSWER_WAIT.as_secs());
    let user = connection.data.as_deref().map(store_process);
    match user {
        Some(Ok(Some(pid))) if pid != 0 && is_alive(pid) => Ok(MountAnswer::Silent(format!(
            "{silence}: process {pid}, which has its data open, may be stopped or busy; let it go on (`kill -CONT {pid}`) or end it \
             (`kill -9 {pid}`), and run this again"
        ))),
        // No process, or the rest of one that is dying.
        Some(Ok(None | Some(1..))) => {
            let failed = CliError::io(format!(
                "{shown} is dead, and its connection cannot be ended (`umount -f {shown}` as root may)"
            ));
            connection.abort().map_err(failed)?;
            warn(format_args!(
                "{shown} was dead and did not answer: its connection is ended, and programs that waited for it got an error"
            ));
            Ok(MountAnswer::Dead)
        }
        _ => Ok(MountAnswer::Silent(format!(
            "{silence}, and who serves it cannot be seen: let that process go on, or end all that wait for it with `umount -f {shown}`"
        ))),
    }
}

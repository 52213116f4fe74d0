//! A process beside the one that mounts, which ends the mount's connection to the kernel when that one is killed.
//!
//! The kernel does so by itself when the last descriptor of the connection is closed, which a killed process's are when its last thread has
//! ended. But a thread that tells the kernel of a change may be waiting, not to be killed, for a directory, and the directory for the answer
//! to a call that nobody gives any more: then the thread never ends, nor does anything that looks at the mount.
//!
//! Nothing else can free it: whoever tells the kernel holds a descriptor of the connection until it has told. If both are killed at once,
//! [`ask`] does the same when somebody unmounts or mounts there. So that this is rare, each is there without the other for a moment only.

use std::io::{ErrorKind, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Instant;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::outcome::warn;
use super::prelude::*;
use super::reader::{is_dead, read_within};
use crate::fuse::{self, Connection};
use crate::store::lmdb::user_of;

/// The command that is such a process; of no use to people.
pub const COMMAND: &str = "watch-mount";
/// What it is called among processes.
const NAME: &str = "mount-watchdog";
/// How long a process takes to be seen dead, and how often is looked.
const DYING: Duration = Duration::from_secs(1);
const DYING_LOOK: Duration = Duration::from_millis(10);

#[derive(Debug, Args)]
pub struct WatchdogArgs {
    /// The process that mounted
    pid: u32,
    mountpoint: PathBuf,
}

/// What it reads when it is not needed any more. The bare end of what it reads is that of the process too, also of a killed one.
const ENOUGH: &[u8] = b"enough";

/// The process; ended with this.
pub struct Watchdog {
    life: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts it, and calls back if it is killed: then there should be another. Call on the thread that began the process: its end is what
    /// the watchdog hears of.
    pub fn start(
        mountpoint: &Path,
        killed: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        // Who kills all of a name or of a group of processes means the mount, not who clears up after it.
        command.arg0(NAME).process_group(0);
        command
            .arg(COMMAND)
            .arg(std::process::id().to_string())
            .arg(mountpoint);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let life = child.stdin.take();
        std::thread::Builder::new()
            .name("ddbfs-watchdog".to_owned())
            .spawn(move || {
                if child.wait().is_ok_and(|status| status.signal().is_some()) {
                    killed();
                }
            })?;
        Ok(Self { life })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(life) = &mut self.life {
            // A killed one does not read.
            let _ = life.write_all(ENOUGH);
        }
    }
}

/// Waits for the end of the process.
pub fn run(args: &WatchdogArgs) -> Result<Outcome, CliError> {
    hold_nothing();
    // Else it has the name of the file, as the mount.
    let _ = std::fs::write("/proc/self/comm", NAME);
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(CliError::io("cannot catch signals"))?;
    hear_of_parent();
    let Some(connection) = fuse::connection(&args.mountpoint)
        .map_err(CliError::io("cannot read the list of mounts"))?
    else {
        return Ok(Outcome::Done);
    };
    std::thread::spawn(|| {
        if std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).is_ok_and(|bytes| bytes > 0) {
            std::process::exit(0);
        }
    });
    // A signal may be somebody else's, and the parent's comes a moment before its end can be seen.
    let mut signals = signals.forever();
    let mut is_watched = is_alive(args.pid);
    while is_watched && signals.next().is_some() {
        is_watched = is_alive_for(args.pid, DYING);
    }
    connection
        .abort()
        .map_err(CliError::io("cannot end the connection"))?;
    Ok(Outcome::Done)
}

/// Closes what may be the parent's: what it has open must end with it. To be called before anything is opened here.
#[allow(unsafe_code)]
fn hold_nothing() {
    // SAFETY: a system call without pointers; no descriptor above standard error is used so far.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

/// Lets SIGHUP come when the parent's first thread ends.
#[allow(unsafe_code)]
fn hear_of_parent() {
    // SAFETY: a system call without pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, SIGHUP) };
}

/// Looks for as long as that.
fn is_alive_for(pid: u32, long: Duration) -> bool {
    let until = Instant::now() + long;
    while is_alive(pid) {
        if Instant::now() > until {
            return true;
        }
        std::thread::sleep(DYING_LOOK);
    }
    false
}

/// A process whose first thread has ended is a zombie, however many others have not.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the command's name in parentheses, proc(5).
    stat.rsplit_once(") ")
        .is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// How long a mount may take to answer before it is asked who serves it.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a mount says.
pub enum Answer {
    /// What the file holds; nothing where no ddbfs is mounted, or where the file cannot be read.
    Live(Vec<u8>),
    /// Its process is gone; what waited for it has got an error.
    Dead,
    /// Its process is there, or may be; the words say what to do.
    Silent(String),
}

/// Reads a file of the mount at a path, and ends the connection of one that nobody serves any more.
pub fn ask(mountpoint: &Path, file: &str) -> Result<Answer, CliError> {
    // A path that is none is for who mounts or unmounts there.
    let Ok(Some(connection)) = fuse::connection(mountpoint) else {
        return Ok(Answer::Live(Vec::new()));
    };
    match read_within(&connection.path.join(file), PATIENCE) {
        Ok(bytes) => Ok(Answer::Live(bytes)),
        Err(error) if is_dead(&error) => Ok(Answer::Dead),
        Err(error) if error.kind() == ErrorKind::TimedOut => silent(&connection),
        Err(_) => Ok(Answer::Live(Vec::new())),
    }
}

fn silent(connection: &Connection) -> Result<Answer, CliError> {
    let shown = connection.path.display();
    let silence = format!("it has not answered for {} s", PATIENCE.as_secs());
    let user = connection.data.as_deref().map(user_of);
    match user {
        Some(Ok(Some(pid))) if pid != 0 && is_alive(pid) => Ok(Answer::Silent(format!(
            "{silence}: process {pid}, which has its data open, may be stopped or busy; let it go on (`kill -CONT {pid}`) or end it \
             (`kill -9 {pid}`), and run this again"
        ))),
        // Nobody, or what is left of a process.
        Some(Ok(None | Some(1..))) => {
            let failed = CliError::io(format!(
                "{shown} is dead, and its connection cannot be ended (`umount -f {shown}` as root may)"
            ));
            connection.abort().map_err(failed)?;
            warn(format_args!(
                "{shown} was dead and did not answer: its connection is ended, and programs that waited for it got an error"
            ));
            Ok(Answer::Dead)
        }
        _ => Ok(Answer::Silent(format!(
            "{silence}, and who serves it cannot be seen: let that process go on, or end all that wait for it with `umount -f {shown}`"
        ))),
    }
}

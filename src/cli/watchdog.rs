//! A process beside the one that mounts, which ends the mount's connection to the kernel when that one is killed.
//!
//! The kernel does so by itself when the last descriptor of the connection is closed, which a killed process's are when its last thread has
//! ended. But a thread that tells the kernel of a change may be waiting, not to be killed, for a directory, and the directory for the answer
//! to a call that nobody gives any more: then the thread never ends, nor does anything that looks at the mount.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::outcome::{CliError, Outcome};
use crate::fuse;

/// The command that is such a process; of no use to people.
pub const COMMAND: &str = "watch-mount";

#[derive(Debug, Args)]
pub struct WatchdogArgs {
    /// The process that mounted
    pid: u32,
    mountpoint: PathBuf,
}

/// The process; ended with this.
pub struct Watchdog(Child);

impl Watchdog {
    /// Starts it. Call on the thread that began the process: its end is what the watchdog hears of.
    pub fn start(mountpoint: &Path) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(COMMAND).arg(std::process::id().to_string()).arg(mountpoint);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Self)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Nothing is lost if it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for the end of the process.
pub fn run(args: &WatchdogArgs) -> Result<Outcome, CliError> {
    hold_nothing();
    let mut signals =
        signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(CliError::io("cannot catch signals"))?;
    hear_of_parent();
    let Some(connection) = fuse::connection(&args.mountpoint).map_err(CliError::io("cannot read the list of mounts"))? else {
        return Ok(Outcome::Done);
    };
    // An end in good order closes the pipe; so does one that needs nobody's help.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    // The terminal's signals come here too, and say nothing of the parent.
    let mut signals = signals.forever();
    while is_alive(args.pid) && signals.next().is_some() {}
    connection.abort().map_err(CliError::io("cannot end the connection"))?;
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

/// A process whose first thread has ended is a zombie, however many others have not.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the command's name in parentheses, proc(5).
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

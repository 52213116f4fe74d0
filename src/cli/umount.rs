//! `ddbfs umount`: ends a mount, or clears a dead one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;

use super::{CliError, Outcome};
use crate::fuse;

/// Below a mountpoint: ends reads that wait.
const RELEASE: (&str, &str) = (".ddb/ctl", "release");
/// How long programs may take to close what they read.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub struct UmountArgs {
    mountpoint: PathBuf,
}

pub fn run(args: &UmountArgs) -> Result<Outcome, CliError> {
    unmount(&args.mountpoint).map_err(|error| refused(&args.mountpoint, error))?;
    Ok(Outcome::Done)
}

fn refused(mountpoint: &Path, error: io::Error) -> CliError {
    let shown = mountpoint.display();
    match is_busy(&error) {
        true => CliError::Message(format!(
            "cannot unmount {shown}: a program still uses it, by an open file or as its working directory; \
             `fuser -vm {shown}` names it. The mount goes on: end that program first, or end the mount all the same with SIGTERM to `ddbfs mount`"
        )),
        false => CliError::io(format!("cannot unmount {shown}"))(error),
    }
}

/// A program that waits for changes does not hold the mount.
fn unmount(mountpoint: &Path) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match fuse::unmount(mountpoint) {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                // Only a live mount of ours is busy; one that is read-only has no such file to write.
                let _ = std::fs::write(mountpoint.join(RELEASE.0), RELEASE.1);
                std::thread::sleep(POLL);
            }
            ended => return ended,
        }
    }
}

/// umount(2) says so by its number, fusermount3 in words.
fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY) || error.to_string().contains("busy")
}

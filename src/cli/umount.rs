//! `ddbfs umount`: ends a mount, or clears a dead one. `watchdog` probes the mount first; the layer
//! `fuse` unmounts.

use std::io;
use std::time::Instant;

use super::exit::warn;
use super::watchdog::{self, MountAnswer};
use crate::cli::prelude::*;
use crate::fuse;

/// A control file below a mountpoint, and the command in it that ends waiting reads.
const RELEASE: (&str, &str) = (".ddb/ctl", "release");
/// The list of scratch files, below a mountpoint.
const SCRATCH: &str = ".ddb/scratch.ndjson";
/// The most dropped files that are named.
const NAMED_MAX: usize = 10;
/// The time that programs may take to close their files.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub struct UmountArgs {
    /// The directory at which the database is mounted
    mountpoint: PathBuf,
}

pub fn run(args: &UmountArgs) -> Result<CommandResult, CliError> {
    let mountpoint = &args.mountpoint;
    let failed = |error| unmount_error(mountpoint, error);
    let connection = fuse::connection(mountpoint).ok().flatten();
    let copies = || {
        connection
            .as_ref()
            .map_or_else(Vec::new, fuse::FuseConnection::other_mounts)
    };
    let before = copies();
    // The list of scratch files is read before the unmount, which deletes it.
    match watchdog::probe(mountpoint, SCRATCH)? {
        MountAnswer::Dead => fuse::detach(mountpoint).map_err(failed)?,
        MountAnswer::Silent(silence) => {
            fuse::unmount(mountpoint).map_err(|error| match is_busy(&error) {
                true => CliError::Message(format!(
                    "cannot unmount {}: a program uses it, and {silence}",
                    mountpoint.display()
                )),
                false => failed(error),
            })?
        }
        MountAnswer::Live(lines) => {
            unmount(mountpoint).map_err(failed)?;
            if let Some(sentence) = dropped_sentence(&String::from_utf8_lossy(&lines)) {
                warn(sentence);
            }
            // Only copies that existed before count: a new mount may get a device number that is
            // free now.
            if let Some(copy) = copies()
                .into_iter()
                .find(|copy| before.iter().any(|other| other.id == copy.id))
            {
                return Err(CliError::Message(copy_error(mountpoint, &copy)));
            }
        }
    }
    Ok(CommandResult::Done)
}

/// Returns a sentence about files that were in memory only and are gone with the mount.
fn dropped_sentence(lines: &str) -> Option<String> {
    let files = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let dropped: Vec<_> = files.filter(|file| file["kept_until"].is_null()).collect();
    if dropped.is_empty() {
        return None;
    }
    let bytes = |file: &serde_json::Value| file["bytes"].as_u64().unwrap_or(0);
    let named = dropped.iter().take(NAMED_MAX);
    let names: Vec<_> = named
        .map(|file| {
            format!(
                "{} ({})",
                file["path"].as_str().unwrap_or_default().escape_debug(),
                plural(bytes(file), "byte")
            )
        })
        .collect();
    let more = match dropped.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let total: u64 = dropped.iter().map(bytes).sum();
    Some(format!(
        "dropped with the mount: {}, {}, in memory only: {}{more}",
        plural(dropped.len() as u64, "scratch file"),
        plural(total, "byte"),
        names.join(", ")
    ))
}

/// Returns the error for a copy of the mount in a container or a sandbox that was started while it
/// was mounted; the copy ends when the container or sandbox does.
fn copy_error(mountpoint: &Path, copy: &fuse::OtherMount) -> String {
    let name = std::fs::read_to_string(format!("/proc/{}/comm", copy.process)).unwrap_or_default();
    let (shown, process, name, at) = (
        mountpoint.display(),
        copy.process,
        name.trim_end().escape_debug(),
        copy.path.display(),
    );
    format!(
        "{shown} is unmounted here, but the mount goes on: process {process} ({name}) still has it mounted at {at}, in a mount namespace \
         of its own (a container or a sandbox) or as a second mount. End that, or end the mount all the same with SIGTERM to `ddbfs mount`"
    )
}

fn unmount_error(mountpoint: &Path, error: io::Error) -> CliError {
    let shown = mountpoint.display();
    match is_busy(&error) {
        true => CliError::Message(format!(
            "cannot unmount {shown}: a program still uses it, by an open file or as its working directory; \
             `fuser -vm {shown}` names it. The mount goes on: end that program first, or end the mount all the same with SIGTERM to `ddbfs mount`"
        )),
        false => CliError::io(format!("cannot unmount {shown}"))(error),
    }
}

/// Unmounts; ends reads that wait for changes, which would keep the mount busy.
fn unmount(mountpoint: &Path) -> io::Result<()> {
    let deadline = Instant::now() + CLOSE_WAIT;
    loop {
        match fuse::unmount(mountpoint) {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                // Only a live mount of ddbfs is busy here. A read-only mount has no such file to
                // write, and the error does not matter.
                let _ = std::fs::write(mountpoint.join(RELEASE.0), RELEASE.1);
                std::thread::sleep(POLL);
            }
            ended => return ended,
        }
    }
}

/// True if the mount is busy: umount(2) says so by its errno, fusermount3 in words.
fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY) || error.to_string().contains("busy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_is_named() {
        let kept =
            r#"{"path":"Tab/items/a.bak","bytes":5,"kept_until":"2026-01-01T00:00:00.000Z"}"#;
        let file = |number: usize| {
            format!("{{\"path\":\"Tab/items/.f{number}\",\"bytes\":7,\"kept_until\":null}}\n")
        };
        assert_eq!(dropped_sentence(kept), None);
        assert_eq!(dropped_sentence(""), None);
        let one = "dropped with the mount: 1 scratch file, 7 bytes, in memory only: Tab/items/.f1 (7 bytes)";
        assert_eq!(
            dropped_sentence(&format!("{kept}\n{}", file(1))).as_deref(),
            Some(one)
        );
        let many: String = (0..12).map(file).collect();
        let sentence = dropped_sentence(&many).unwrap_or_default();
        assert!(
            sentence.contains("12 scratch files, 84 bytes") && sentence.ends_with(" and 2 more"),
            "{sentence}"
        );
    }
}

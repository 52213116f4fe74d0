//! The choice of the mount that `ddbfs top` shows, and the check that it answers. `read` reads its
//! files.

use std::io::{self, ErrorKind};

use crate::cli::mount_reader::{MountReader, VERSION, current_user, is_dead, read_within};
use crate::cli::prelude::*;
use crate::fuse::{self, MountEntry};

/// The time that a mount may take to return its version.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// A mount's files.
pub struct MountFiles {
    pub root: PathBuf,
    reader: MountReader,
    /// True to wait forever if the mount does not answer.
    pub waits_forever: bool,
}

impl MountFiles {
    fn open(root: PathBuf) -> io::Result<Self> {
        let mut reader = MountReader::start()?;
        reader.request(&root.join(VERSION))?;
        reader.receive(ANSWER_WAIT)?;
        Ok(Self {
            root,
            reader,
            waits_forever: false,
        })
    }

    /// Returns the text of a file, or the names of the directories in a directory, a line each.
    ///
    /// # Errors
    /// `TimedOut` if the mount does not answer; any error of the read.
    pub fn text(&mut self, path: &str) -> io::Result<String> {
        self.reader.request(&self.root.join(path))?;
        loop {
            match self.reader.receive(ANSWER_WAIT) {
                // A slow read is not the same as a mount that does not answer.
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    if !self.waits_forever {
                        self.check_alive()?;
                    }
                }
                answer => return String::from_utf8(answer?).map_err(io::Error::other),
            }
        }
    }

    /// Checks that the mount answers, by another process, as the reader waits for its file.
    fn check_alive(&self) -> io::Result<()> {
        read_within(&self.root.join(VERSION), ANSWER_WAIT).map(drop)
    }
}

/// Returns the mount at or above `wanted`, or the only one of this user.
pub fn find_mount(wanted: Option<&Path>) -> Result<MountFiles, CliError> {
    let listed = fuse::mounts().map_err(CliError::io("cannot read the list of mounts"))?;
    let found = match wanted {
        Some(path) => mount_of_path(path, &listed)?,
        None => only_mount(
            &listed,
            current_user().map_err(CliError::io("cannot read who this process runs as"))?,
        )?,
    };
    MountFiles::open(found.clone()).map_err(|error| mount_error(&found, error))
}

fn mount_of_path(path: &Path, listed: &[MountEntry]) -> Result<PathBuf, CliError> {
    let above = |path: &Path| {
        path.ancestors()
            .find(|above| listed.iter().any(|mount| mount.path == *above))
            .map(Path::to_path_buf)
    };
    let plain = std::path::absolute(path).ok();
    // Resolving symlinks may wait for a mount that does not answer; a mount's own path needs no
    // resolving.
    if let Some(found) = plain.as_deref().and_then(above) {
        return Ok(found);
    }
    let followed = plain.map_or_else(
        || path.canonicalize(),
        |plain| MountReader::start()?.resolve(&plain, ANSWER_WAIT),
    );
    match followed {
        Ok(followed) => above(&followed).ok_or_else(|| {
            CliError::Message(format!(
                "no ddbfs is mounted at {}{}",
                path.display(),
                hint(&listed.iter().collect::<Vec<_>>())
            ))
        }),
        Err(error) if error.kind() == ErrorKind::TimedOut => Err(silent_error(path)),
        Err(error) => Err(CliError::at(path)(error)),
    }
}

/// Returns the only mount that this user made or may enter.
fn only_mount(listed: &[MountEntry], user: u32) -> Result<PathBuf, CliError> {
    let open: Vec<&MountEntry> = listed.iter().filter(|mount| mount.allows(user)).collect();
    match open.as_slice() {
        [one] => Ok(one.path.clone()),
        [] => Err(CliError::Message(format!(
            "nothing is mounted{}",
            hint(&open)
        ))),
        _ => Err(CliError::Message(format!(
            "several are mounted{}",
            hint(&open)
        ))),
    }
}

fn hint(mounts: &[&MountEntry]) -> String {
    if mounts.is_empty() {
        return "; mount first: ddbfs mount --background ./mnt".to_owned();
    }
    let lines: Vec<String> = mounts
        .iter()
        .map(|mount| format!("\n  ddbfs top {}", mount.path.display()))
        .collect();
    format!("; choose one of:{}", lines.concat())
}

/// Returns the message for a mount that cannot be read.
pub fn mount_error(root: &Path, error: io::Error) -> CliError {
    let shown = root.display();
    if is_dead(&error) {
        return CliError::Message(format!(
            "the ddbfs of {shown} is gone; clear the dead mount with: ddbfs umount {shown}"
        ));
    }
    match error.kind() {
        ErrorKind::TimedOut => silent_error(root),
        ErrorKind::PermissionDenied => CliError::Message(format!(
            "{shown} is another user's mount, without -o allow_other: only that user can look at it"
        )),
        _ => CliError::io(format!("cannot read the mount at {shown}"))(error),
    }
}

fn silent_error(path: &Path) -> CliError {
    CliError::Message(format!(
        "the mount at {} has not answered for {} seconds: its ddbfs is stopped, or does not get to run; `ps` tells of it",
        path.display(),
        ANSWER_WAIT.as_secs()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(path: &str, user: u32, allows_others: bool) -> MountEntry {
        MountEntry {
            path: PathBuf::from(path),
            user: Some(user),
            allows_others,
        }
    }

    #[test]
    fn the_only_mount_of_the_user_is_taken_and_several_are_listed() {
        let told = |mounts: &[MountEntry]| match only_mount(mounts, 7) {
            Ok(path) => path.display().to_string(),
            Err(error) => error.to_string(),
        };
        let (own, other, open) = (
            listed("/a", 7, false),
            listed("/b", 8, false),
            listed("/c", 8, true),
        );
        assert_eq!(told(&[own.clone(), other.clone()]), "/a");
        assert_eq!(told(&[other.clone(), open.clone()]), "/c");
        assert_eq!(
            told(&[other]),
            "nothing is mounted; mount first: ddbfs mount --background ./mnt"
        );
        assert_eq!(
            told(&[own, open]),
            "several are mounted; choose one of:\n  ddbfs top /a\n  ddbfs top /c"
        );
    }

    #[test]
    fn a_path_in_a_mount_means_that_mount() {
        let mounts = [listed("/a", 7, false)];
        for path in ["/a", "/a/Orders/gsi"] {
            assert_eq!(
                mount_of_path(Path::new(path), &mounts).unwrap(),
                Path::new("/a"),
                "{path}"
            );
        }
    }
}

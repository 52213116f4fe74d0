//! The mark of `lease`: a line in the lock file that says that the lease holder caches entries, and
//! for how long. It is `cached MILLISECONDS`, or `cached MILLISECONDS DEVICE INODE PATH` with a file
//! of the system that exists as long as a cached entry may be left.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::store::LEASE_TTL;

const HELD: &str = "cached";
/// The line that replaces the mark. The file never gets shorter, so that a full disk has room for
/// the next mark.
const FREE: &str = "free";
const LINE_BYTES_MAX: usize = 512;

/// A file that exists as long as cached entries may be left.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MarkerFile {
    device: u64,
    inode: u64,
    path: PathBuf,
}

impl MarkerFile {
    /// Finds the file; `None` if this process cannot see it.
    fn find(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            path: path.to_owned(),
        })
    }
}

/// The mark: the longest time for which an entry is cached, and the file that shows whether a
/// cached entry may be left, if it names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeaseMarker {
    ttl: Duration,
    file: Option<MarkerFile>,
}

impl LeaseMarker {
    /// Makes the mark with the file `path`, or without one if this process cannot see it.
    pub fn new(ttl: Duration, path: Option<PathBuf>) -> Self {
        let file = path.and_then(|path| MarkerFile::find(&path));
        Self { ttl, file }
    }

    /// Returns the longest time for which an entry is cached.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// True if the mark names this file.
    pub fn is_of(&self, path: &Path) -> bool {
        self.file.is_some() && self.file == MarkerFile::find(path)
    }

    /// True if it is certain that no cached entry is left.
    pub fn is_expired(&self) -> bool {
        let Some(MarkerFile {
            device,
            inode,
            path,
        }) = &self.file
        else {
            return false;
        };
        let on_device = |metadata: &Metadata| metadata.dev() == *device;
        match path.symlink_metadata() {
            Ok(found) => on_device(&found) && found.ino() != *inode,
            // An absent file counts only if its directory is on the file system that the other
            // process saw: that file system may not be mounted here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => path
                .parent()
                .and_then(|parent| parent.metadata().ok())
                .is_some_and(|parent| on_device(&parent)),
            Err(_) => false,
        }
    }
}

/// Reads the mark; `None` if nothing is cached.
pub(super) fn read(file: &File) -> io::Result<Option<LeaseMarker>> {
    let mut bytes = [0; LINE_BYTES_MAX];
    let length = file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    let mut words = text.lines().next().unwrap_or_default().splitn(5, ' ');
    match words.next() {
        None | Some("" | FREE) => return Ok(None),
        Some(HELD) => {}
        // An unknown line: entries may be cached, for as long as any lease allows.
        Some(_) => return Ok(Some(LeaseMarker::new(LEASE_TTL, None))),
    }
    let mut number = || words.next().and_then(|word| word.parse().ok());
    let (ttl, device, inode) = (number(), number(), number());
    let path = words.next().map(PathBuf::from);
    let ttl = ttl.map_or(LEASE_TTL, Duration::from_millis);
    let file = device
        .zip(inode)
        .zip(path)
        .map(|((device, inode), path)| MarkerFile {
            device,
            inode,
            path,
        });
    Ok(Some(LeaseMarker { ttl, file }))
}

/// Writes the mark, or removes it.
pub(super) fn write(file: &File, marker: Option<&LeaseMarker>) -> io::Result<()> {
    let line = match marker {
        None => format!("{FREE}\n"),
        Some(LeaseMarker { ttl, file }) => {
            let head = format!("{HELD} {}", ttl.as_millis());
            file.as_ref()
                .and_then(|file| line(&head, file))
                .unwrap_or_else(|| format!("{head}\n"))
        }
    };
    file.write_all_at(line.as_bytes(), 0)
}

/// Returns the line; `None` if the path does not fit in it.
fn line(
    head: &str,
    MarkerFile {
        device,
        inode,
        path,
    }: &MarkerFile,
) -> Option<String> {
    let path: &Path = path;
    let line = format!(
        "{head} {device} {inode} {}\n",
        path.to_str().filter(|path| !path.contains('\n'))?
    );
    (line.len() <= LINE_BYTES_MAX).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> LeaseMarker {
        LeaseMarker::new(LEASE_TTL, None)
    }

    fn with_file(file: MarkerFile) -> LeaseMarker {
        LeaseMarker {
            file: Some(file),
            ..none()
        }
    }

    #[test]
    fn a_written_mark_is_read_and_an_unknown_line_is_a_mark() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(read(&file).unwrap(), None);
        let dir = tempfile::tempdir().unwrap();
        for marker in [
            LeaseMarker::new(Duration::from_millis(1_234), Some(dir.path().to_owned())),
            none(),
        ] {
            write(&file, Some(&marker)).unwrap();
            assert_eq!(read(&file).unwrap(), Some(marker));
            write(&file, None).unwrap();
            assert_eq!(read(&file).unwrap(), None);
        }
        // A path of two lines, one that is too long, one that does not exist.
        for path in [
            "/a\nb".to_owned(),
            format!("/{}", "a".repeat(LINE_BYTES_MAX)),
        ] {
            write(
                &file,
                Some(&with_file(MarkerFile {
                    device: 1,
                    inode: 2,
                    path: path.into(),
                })),
            )
            .unwrap();
            assert_eq!(read(&file).unwrap(), Some(none()));
        }
        assert_eq!(
            LeaseMarker::new(LEASE_TTL, Some(dir.path().join("none"))),
            none()
        );
        file.write_all_at(b"\0\0pt\n", 0).unwrap();
        assert_eq!(read(&file).unwrap(), Some(none()));
    }

    #[test]
    fn only_a_file_that_is_missed_where_it_was_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sign");
        std::fs::create_dir(&path).unwrap();
        let marker = LeaseMarker::new(LEASE_TTL, Some(path.clone()));
        assert!(!marker.is_expired());
        // A new file takes the name while the first still exists, so that it has another inode.
        std::fs::rename(&path, dir.path().join("old")).unwrap();
        assert!(marker.is_expired());
        std::fs::create_dir(&path).unwrap();
        assert!(marker.is_expired());
        let sign = marker.file.unwrap();
        let elsewhere = with_file(MarkerFile {
            device: sign.device + 1,
            ..sign.clone()
        });
        assert!(!elsewhere.is_expired());
        std::fs::remove_dir(&path).unwrap();
        assert!(!elsewhere.is_expired());
        assert!(
            !with_file(MarkerFile {
                path: dir.path().join("no/such"),
                ..sign
            })
            .is_expired()
        );
        assert!(!none().is_expired());
    }
}

//! The mark in the lock file that a lease holder caches entries: `kept`, or `kept DEVICE INODE
//! PATH` with a file of the system that exists as long as a cached entry may be left.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

const KEPT: &str = "kept";
/// The line that replaces the mark. The file never gets shorter, so that a full disk has room for
/// the next mark.
const FREE: &str = "free";
const LINE_BYTES_MAX: usize = 512;

/// A file that exists as long as cached entries may be left.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sign {
    device: u64,
    inode: u64,
    path: PathBuf,
}

/// The mark: whether anything is left is known from its file, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remains(Option<Sign>);

impl Remains {
    /// Makes the mark with `path`, if that can be seen.
    pub fn of(path: Option<PathBuf>) -> Self {
        Self(path.and_then(|path| {
            let metadata = path.symlink_metadata().ok()?;
            Some(Sign {
                device: metadata.dev(),
                inode: metadata.ino(),
                path,
            })
        }))
    }

    /// True if it is certain that nothing is left.
    pub fn are_gone(&self) -> bool {
        let Some(Sign {
            device,
            inode,
            path,
        }) = &self.0
        else {
            return false;
        };
        let on_device = |metadata: &Metadata| metadata.dev() == *device;
        match path.symlink_metadata() {
            Ok(found) => on_device(&found) && found.ino() != *inode,
            // Only if the other process looked at the same place: its file system may not be
            // mounted here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => path
                .parent()
                .and_then(|parent| parent.metadata().ok())
                .is_some_and(|parent| on_device(&parent)),
            Err(_) => false,
        }
    }
}

/// Reads the mark; `None` if nothing is cached.
pub(super) fn read(file: &File) -> io::Result<Option<Remains>> {
    let mut bytes = [0; LINE_BYTES_MAX];
    let length = file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    let mut words = text.lines().next().unwrap_or_default().splitn(4, ' ');
    match words.next() {
        None | Some("" | FREE) => return Ok(None),
        Some(KEPT) => {}
        // An unknown line: something may be cached, for as long as anything may.
        Some(_) => return Ok(Some(Remains(None))),
    }
    let mut number = || words.next().and_then(|word| word.parse().ok());
    let (device, inode) = (number(), number());
    let path = words.next().map(PathBuf::from);
    let sign = device
        .zip(inode)
        .zip(path)
        .map(|((device, inode), path)| Sign {
            device,
            inode,
            path,
        });
    Ok(Some(Remains(sign)))
}

/// Writes the mark, or removes it.
pub(super) fn write(file: &File, remains: Option<&Remains>) -> io::Result<()> {
    let line = match remains {
        None => format!("{FREE}\n"),
        Some(Remains(sign)) => sign
            .as_ref()
            .and_then(line)
            .unwrap_or_else(|| format!("{KEPT}\n")),
    };
    file.write_all_at(line.as_bytes(), 0)
}

/// Returns the line; `None` if the path does not fit in it.
fn line(
    Sign {
        device,
        inode,
        path,
    }: &Sign,
) -> Option<String> {
    let path: &Path = path;
    let line = format!(
        "{KEPT} {device} {inode} {}\n",
        path.to_str().filter(|path| !path.contains('\n'))?
    );
    (line.len() <= LINE_BYTES_MAX).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_an_unknown_line_is_a_mark() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(read(&file).unwrap(), None);
        let dir = tempfile::tempdir().unwrap();
        for remains in [Remains::of(Some(dir.path().to_owned())), Remains(None)] {
            write(&file, Some(&remains)).unwrap();
            assert_eq!(read(&file).unwrap(), Some(remains));
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
                Some(&Remains(Some(Sign {
                    device: 1,
                    inode: 2,
                    path: path.into(),
                }))),
            )
            .unwrap();
            assert_eq!(read(&file).unwrap(), Some(Remains(None)));
        }
        assert_eq!(Remains::of(Some(dir.path().join("none"))), Remains(None));
        file.write_all_at(b"\0\0pt\n", 0).unwrap();
        assert_eq!(read(&file).unwrap(), Some(Remains(None)));
    }

    #[test]
    fn only_a_file_that_is_missed_where_it_was_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sign");
        std::fs::create_dir(&path).unwrap();
        let remains = Remains::of(Some(path.clone()));
        assert!(!remains.are_gone());
        // A new file takes the name while the first still exists, so that it has another inode.
        std::fs::rename(&path, dir.path().join("old")).unwrap();
        assert!(remains.are_gone());
        std::fs::create_dir(&path).unwrap();
        assert!(remains.are_gone());
        let Remains(Some(sign)) = remains else {
            unreachable!()
        };
        let elsewhere = Remains(Some(Sign {
            device: sign.device + 1,
            ..sign.clone()
        }));
        assert!(!elsewhere.are_gone());
        std::fs::remove_dir(&path).unwrap();
        assert!(!elsewhere.are_gone());
        assert!(
            !Remains(Some(Sign {
                path: dir.path().join("no/such"),
                ..sign
            }))
            .are_gone()
        );
        assert!(!Remains(None).are_gone());
    }
}

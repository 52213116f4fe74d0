//! The state of a data file (its clean-shutdown flag), written in the file: in use with a log, or
//! closed and complete. So a missing log is noticed, and an old log that is put back beside a file
//! that was closed since is not replayed over it.
//!
//! It is a note (`file_bytes`) of state 1, in use, or 2, closed, with the log's epoch and the number of
//! the last commit. It stands in the first page, after LMDB's meta page content: LMDB writes nothing there once it
//! has made the file. Earlier versions write none.

use std::fs::File;
use std::io;

use super::file_bytes::{Note, damaged_note};

const MAGIC: [u8; 8] = *b"ddbfsuse";
const WHAT: &str = "whether it was closed";
const IN_USE: u32 = 1;
const CLOSED: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileUsage {
    /// The file is in use: the log and the checkpoint have the rest of its content.
    InUse,
    /// Complete on disk with the commit `number`, the last one after the log of this epoch.
    Closed { epoch: u64, number: u64 },
}

impl FileUsage {
    /// Reads the state; `None` if the file has none, as one of an earlier version.
    ///
    /// # Errors
    /// The file cannot be read; `InvalidData` if it has a state that is not whole. A power cut leaves
    /// it whole: it is in one sector.
    pub fn read(file: &File) -> io::Result<Option<Self>> {
        // Once more: another process may have been writing it.
        Self::read_once(file).or_else(|error| match error.kind() {
            io::ErrorKind::InvalidData => Self::read_once(file),
            _ => Err(error),
        })
    }

    fn read_once(file: &File) -> io::Result<Option<Self>> {
        let note = Note::read(file, MAGIC, WHAT, |bytes| !bytes.starts_with(&MAGIC))?;
        note.map(|note| match note.state {
            IN_USE => Ok(Self::InUse),
            CLOSED => Ok(Self::Closed {
                epoch: note.epoch,
                number: note.number,
            }),
            _ => Err(damaged_note(WHAT)),
        })
        .transpose()
    }

    /// Writes the state and syncs the file.
    pub fn write(self, file: &File) -> io::Result<()> {
        let (state, epoch, number) = match self {
            Self::InUse => (IN_USE, 0, 0),
            Self::Closed { epoch, number } => (CLOSED, epoch, number),
        };
        let note = Note {
            state,
            epoch,
            number,
        };
        note.write(file, MAGIC)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use crate::store::lmdb::file_bytes::NOTE_AT;

    #[test]
    fn a_state_is_read_as_written_and_a_damaged_one_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(FileUsage::read(&file).unwrap(), None);
        file.set_len(4096).unwrap();
        assert_eq!(FileUsage::read(&file).unwrap(), None);
        let closed = FileUsage::Closed {
            epoch: 7,
            number: 9,
        };
        for usage in [FileUsage::InUse, closed] {
            usage.write(&file).unwrap();
            assert_eq!(FileUsage::read(&file).unwrap(), Some(usage));
        }
        for at in 8..32 {
            closed.write(&file).unwrap();
            file.write_all_at(&[0xA5], NOTE_AT + at).unwrap();
            let error = FileUsage::read(&file).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{at}");
        }
    }
}

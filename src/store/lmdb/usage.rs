//! The state of a data file (its clean-shutdown flag), written in the file: in use with a log, or
//! closed and complete. So a missing log is noticed, and an old log that is put back beside a file
//! that was closed since is not replayed over it.
//!
//! ```text
//! 2048       magic 8, CRC 4 of what follows, 1 in use or 2 closed 4, epoch 8 of the log, number 8 of the last commit
//! ```
//! It stands in the first page, after LMDB's meta page content: LMDB writes nothing there once it
//! has made the file. Earlier versions write none.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const MAGIC: [u8; 8] = *b"ddbfsuse";
const USAGE_AT: u64 = 2048;
const USAGE_BYTES: usize = 32;
/// The offset at which the bytes of the CRC begin.
const CHECKED_AT: usize = 12;
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
        let mut bytes = [0; USAGE_BYTES];
        match file.read_exact_at(&mut bytes, USAGE_AT) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let word = |at: usize| {
            bytes[at..]
                .first_chunk()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let number = |at: usize| {
            bytes[at..]
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        if !bytes.starts_with(&MAGIC) {
            return Ok(None);
        }
        let is_valid = word(8) == crc32fast::hash(&bytes[CHECKED_AT..]);
        match word(CHECKED_AT) {
            IN_USE if is_valid => Ok(Some(Self::InUse)),
            CLOSED if is_valid => Ok(Some(Self::Closed {
                epoch: number(16),
                number: number(24),
            })),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its note of whether it was closed is not whole",
            )),
        }
    }

    /// Writes the state and syncs the file.
    pub fn write(self, file: &File) -> io::Result<()> {
        let (state, epoch, number) = match self {
            Self::InUse => (IN_USE, 0, 0),
            Self::Closed { epoch, number } => (CLOSED, epoch, number),
        };
        let mut bytes = [0; USAGE_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[CHECKED_AT..16].copy_from_slice(&state.to_le_bytes());
        bytes[16..24].copy_from_slice(&epoch.to_le_bytes());
        bytes[24..].copy_from_slice(&number.to_le_bytes());
        let crc = crc32fast::hash(&bytes[CHECKED_AT..]);
        bytes[8..CHECKED_AT].copy_from_slice(&crc.to_le_bytes());
        // Within one sector: a power cut leaves the old note or the new one.
        file.write_all_at(&bytes, USAGE_AT)?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            file.write_all_at(&[0xA5], USAGE_AT + at).unwrap();
            let error = FileUsage::read(&file).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{at}");
        }
    }
}

//! Bytes of the store's own files: reads that may end early, little-endian numbers, and notes.
//!
//! ```text
//! note       magic 8, CRC 4 of what follows, state 4, epoch 8, number 8
//! ```
//! A note stands at offset 2048 and is written in place: within one sector, so that a power cut leaves
//! the old one or the new one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

pub(super) const NOTE_AT: u64 = 2048;
pub(super) const NOTE_BYTES: usize = 32;
/// The offset at which the bytes of a note's CRC begin.
const CHECKED_AT: usize = 12;

/// Reads from an offset until the buffer is full or the file ends; returns how many bytes it read.
pub(super) fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

pub(super) fn word_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let word = bytes.get(offset..)?.first_chunk();
    word.map(|bytes| u32::from_le_bytes(*bytes))
}

pub(super) fn number_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let number = bytes.get(offset..)?.first_chunk();
    number.map(|bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn write_numbers(bytes: &mut [u8], numbers: &[u64]) {
    debug_assert!(bytes.len() >= 8 * numbers.len(), "no room for all numbers");
    for (field, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        field.copy_from_slice(&number.to_le_bytes());
    }
}

/// A state of a file, of the commit `number` in the log of an epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note {
    pub state: u32,
    pub epoch: u64,
    pub number: u64,
}

impl Note {
    /// Reads the note of `what`; `None` if the file is too short for one or its bytes are none.
    ///
    /// # Errors
    /// The file cannot be read; `InvalidData` if it has a note that is not whole.
    pub fn read(
        file: &File,
        magic: [u8; 8],
        what: &str,
        is_none: impl Fn(&[u8; NOTE_BYTES]) -> bool,
    ) -> io::Result<Option<Self>> {
        let mut bytes = [0; NOTE_BYTES];
        match file.read_exact_at(&mut bytes, NOTE_AT) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        if is_none(&bytes) {
            return Ok(None);
        }
        let is_whole = bytes.starts_with(&magic)
            && word_at(&bytes, 8) == Some(crc32fast::hash(&bytes[CHECKED_AT..]));
        let note = || {
            Some(Self {
                state: word_at(&bytes, CHECKED_AT)?,
                epoch: number_at(&bytes, 16)?,
                number: number_at(&bytes, 24)?,
            })
        };
        let note = note().filter(|_| is_whole);
        note.map(Some).ok_or_else(|| damaged_note(what))
    }

    /// Writes the note and syncs the file.
    pub fn write(self, file: &File, magic: [u8; 8]) -> io::Result<()> {
        let mut bytes = [0; NOTE_BYTES];
        bytes[..8].copy_from_slice(&magic);
        bytes[CHECKED_AT..16].copy_from_slice(&self.state.to_le_bytes());
        write_numbers(&mut bytes[16..], &[self.epoch, self.number]);
        let crc = crc32fast::hash(&bytes[CHECKED_AT..]);
        bytes[8..CHECKED_AT].copy_from_slice(&crc.to_le_bytes());
        file.write_all_at(&bytes, NOTE_AT)?;
        file.sync_data()
    }
}

pub(super) fn damaged_note(what: &str) -> io::Error {
    let text = format!("its note of {what} is not whole");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

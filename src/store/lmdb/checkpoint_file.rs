//! The checkpoint file: the commit that is wholly on disk, and the log position of the commits
//! after it. `journal` writes it, `recovery_analysis` reads it first.
//!
//! ```text
//! file       two slots of 4096 bytes; a checkpoint goes to the one that the checkpoint before is not in
//! slot       magic 8, version 4, CRC 4 of what follows, serial 8, commit 8, log position 8, log epoch 8, trust 8, identity 40,
//!            LMDB's meta page 152, position of the last record 8, lengths of the log's files 16
//! 2048       a note (`file_bytes`) without a state, of the last commit that was made without a record
//! ```
//! A slot of version 1 ends with LMDB's meta page. Numbers are little-endian. The file is written
//! in place, in blocks that it has: that needs no room on a full disk, and no sync of the
//! directory. The valid slot with the higher serial counts. A closed store has no checkpoint: its
//! data file is complete.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::directory::write_options;
use super::error::disk_error;
use super::file_bytes::{NOTE_BYTES, Note, number_at, word_at, write_numbers};
use super::identity::{IDENTITY_BYTES, Identity};
use super::log::LogPosition;
use super::pages::META_BYTES;
use crate::store::StoreError;

pub(super) const CHECKPOINT_FILE: &str = "checkpoint";

/// The name of the file until it is whole.
const NEW_FILE: &str = "checkpoint.new";

const MAGIC: [u8; 8] = *b"ddbfsckp";
const VERSION: u32 = 2;
const SLOT_BYTES: usize = 4096;
/// The offset at which the bytes of the CRC begin.
const CHECKED_AT: usize = 16;
const IDENTITY_AT: usize = 56;
const META_AT: usize = IDENTITY_AT + IDENTITY_BYTES;
const END_1: usize = META_AT + META_BYTES;
const END: usize = END_1 + 24;

/// The bytes of a slot that are written: a whole sector, which is never torn.
const WRITTEN_BYTES: usize = 512;

/// The begin of the note of a commit without a record.
const UNLOGGED_MAGIC: [u8; 8] = *b"ddbfsnol";

/// A flag of `trust`: the page cache holds all writes. Without it, a sync has failed, and they may
/// be lost.
const TRUSTED: u64 = 1;
/// A flag of `trust`: every process that writes after this checkpoint syncs each record before its
/// commit.
const STRICT: u64 = 2;

/// A commit that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The number of the commit.
    pub number: u64,
    /// The position of the next commit's record.
    pub position: LogPosition,
    /// The epoch of the log.
    pub epoch: u64,
    /// The identity of the data file at the time of the checkpoint; zeros if it has none.
    pub identity: Identity,
    /// True if the page cache holds all writes since.
    pub is_trusted: bool,
    /// True if no later commit is made before its record is on disk: no process is known to write
    /// with the durability `kill`.
    pub is_strict: bool,
    /// The content of LMDB's meta page of the commit.
    pub meta_page: [u8; META_BYTES],
    /// The position of the commit's record, which is on disk with all before it; `None` if it has
    /// none, or that was not noted.
    pub last_position: Option<LogPosition>,
    /// The lengths of the log's files, on disk too.
    pub lengths: [u64; 2],
    /// True if a commit without a record is noted; earlier versions did not.
    pub notes_unlogged: bool,
}

impl Checkpoint {
    fn encode(&self, serial: u64) -> [u8; WRITTEN_BYTES] {
        let mut slot = [0; WRITTEN_BYTES];
        slot[..8].copy_from_slice(&MAGIC);
        slot[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
        let trust = flag(self.is_trusted, TRUSTED) | flag(self.is_strict, STRICT);
        write_numbers(
            &mut slot[CHECKED_AT..],
            &[serial, self.number, self.position.0, self.epoch, trust],
        );
        slot[IDENTITY_AT..META_AT].copy_from_slice(&self.identity);
        slot[META_AT..END_1].copy_from_slice(&self.meta_page);
        let [first, second] = self.lengths;
        write_numbers(
            &mut slot[END_1..],
            &[
                self.last_position.map_or(0, |position| position.0),
                first,
                second,
            ],
        );
        let crc = crc32fast::hash(&slot[CHECKED_AT..END]);
        slot[12..CHECKED_AT].copy_from_slice(&crc.to_le_bytes());
        slot
    }

    /// Returns a slot's serial and checkpoint; `None` if it is not valid.
    fn decode(slot: &[u8]) -> Option<(u64, Self)> {
        let is_first_version = word_at(slot, 8)? == 1;
        // The version decides how many bytes the CRC covers.
        let checked = slot.get(CHECKED_AT..if is_first_version { END_1 } else { END })?;
        let is_valid = slot.starts_with(&MAGIC)
            && [1, VERSION].contains(&word_at(slot, 8)?)
            && crc32fast::hash(checked) == word_at(slot, 12)?;
        let number = |nth: usize| number_at(slot, CHECKED_AT + 8 * nth);
        let later = |nth: usize| {
            if is_first_version {
                Some(0)
            } else {
                number_at(slot, END_1 + 8 * nth)
            }
        };
        let checkpoint = Self {
            number: number(1)?,
            position: LogPosition(number(2)?),
            epoch: number(3)?,
            is_trusted: number(4)? & TRUSTED != 0,
            is_strict: number(4)? & STRICT != 0,
            identity: *slot.get(IDENTITY_AT..)?.first_chunk()?,
            meta_page: *slot.get(META_AT..)?.first_chunk()?,
            last_position: Some(LogPosition(later(0)?)).filter(|position| position.0 != 0),
            lengths: [later(1)?, later(2)?],
            notes_unlogged: !is_first_version,
        };
        is_valid.then_some((number(0)?, checkpoint))
    }
}

/// The checkpoint file of a data directory. Written only under its lock. Each use opens it, as
/// another process may have created it.
#[derive(Debug)]
pub(super) struct CheckpointFile {
    dir: PathBuf,
}

impl CheckpointFile {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.join(CHECKPOINT_FILE)
    }

    fn open(&self) -> io::Result<File> {
        write_options().open(self.file())
    }

    pub fn exists(&self) -> bool {
        self.file().exists()
    }

    /// Reads the last checkpoint; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or neither of its slots is valid.
    pub fn read(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.read_with_serial()
            .map(|newest| newest.map(|(_, checkpoint)| checkpoint))
    }

    fn read_with_serial(&self) -> Result<Option<(u64, Checkpoint)>, StoreError> {
        let bytes = match fs::read(self.file()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::Io(format!("{:?}: {error}", self.file()))),
        };
        // A power cut may tear the slot being written; the other one is whole then.
        let newest = bytes
            .chunks(SLOT_BYTES)
            .filter_map(Checkpoint::decode)
            .max_by_key(|(serial, _)| *serial);
        let damaged = || {
            StoreError::Damaged(format!(
                "{:?} is damaged, and without it nobody knows what data.mdb lacks.",
                self.file()
            ))
        };
        newest.map(Some).ok_or_else(damaged)
    }

    /// Notes, on disk, that a commit without a record is about to be made. Called inside its
    /// transaction.
    ///
    /// # Errors
    /// There is no checkpoint, or the disk fails.
    pub fn note_unlogged(&self, epoch: u64, number: u64) -> io::Result<()> {
        let note = Note {
            state: 0,
            epoch,
            number,
        };
        // Synced before the commit: after a power cut its missing record must not look like damage.
        note.write(&self.open()?, UNLOGGED_MAGIC)
    }

    /// Returns the number of the last commit that was made, or about to be, without a record in the
    /// log of this epoch.
    ///
    /// # Errors
    /// `Io` if the file cannot be read; `Damaged` if the note is there and not whole. A power cut
    /// leaves it whole: it has a sector of its own.
    pub fn unlogged(&self, epoch: u64) -> Result<Option<u64>, StoreError> {
        let file = match File::open(self.file()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file,
        };
        let what = "a commit without a record";
        let is_none = |bytes: &[u8; NOTE_BYTES]| *bytes == [0; NOTE_BYTES];
        // An earlier version may have made a shorter file.
        let note = file.and_then(|file| Note::read(&file, UNLOGGED_MAGIC, what, is_none));
        let note = note.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                StoreError::Damaged(format!("{:?} is damaged: {error}.", self.file()))
            }
            _ => StoreError::Io(format!("{:?}: {error}", self.file())),
        })?;
        let of_epoch = note.filter(|note| note.epoch == epoch);
        Ok(of_epoch.map(|note| note.number))
    }

    /// Writes a checkpoint and syncs it. After an error the previous one still counts.
    pub fn write(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        let serial = self.read_with_serial()?.map_or(0, |(serial, _)| serial + 1);
        let slot = checkpoint.encode(serial);
        let written = if serial == 0 {
            self.create(&slot)
        } else {
            self.overwrite(serial, &slot)
        };
        written.map_err(|error| disk_error(format_args!("{:?}", self.file()), &error))
    }

    fn overwrite(&self, serial: u64, slot: &[u8]) -> io::Result<()> {
        let file = self.open()?;
        // The slot of the lower serial, so that the newest one survives a write that is cut off.
        file.write_all_at(slot, (serial % 2) * SLOT_BYTES as u64)?;
        file.sync_data()?;
        // The process that created the file may have been killed before the directory had its name
        // on disk.
        if serial == 1 {
            File::open(&self.dir)?.sync_all()
        } else {
            Ok(())
        }
    }

    /// Creates the file. Under another name until it is on disk: a file of the final name without a
    /// valid slot counts as damaged.
    fn create(&self, slot: &[u8]) -> io::Result<()> {
        let new = self.dir.join(NEW_FILE);
        let file = write_options().create(true).truncate(true).open(&new)?;
        file.write_all_at(&[slot, &[0; 2 * SLOT_BYTES - WRITTEN_BYTES]].concat(), 0)?;
        file.sync_all()?;
        fs::rename(&new, self.file())?;
        File::open(&self.dir)?.sync_all()
    }

    /// Removes the file and syncs the directory. The caller has the store alone, with its data
    /// synced.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(self.file())?;
        File::open(&self.dir)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::lmdb::file_bytes::NOTE_AT;

    #[test]
    fn a_note_is_of_one_epoch_and_a_damaged_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let slots = CheckpointFile::new(dir.path());
        assert_eq!(slots.unlogged(7).unwrap(), None);
        fs::write(slots.file(), [0; 2 * SLOT_BYTES]).unwrap();
        assert_eq!(slots.unlogged(7).unwrap(), None);
        slots.note_unlogged(7, 9).unwrap();
        assert_eq!(slots.unlogged(7).unwrap(), Some(9));
        assert_eq!(slots.unlogged(8).unwrap(), None);
        for at in 0..32 {
            slots.note_unlogged(7, 9).unwrap();
            let file = slots.open().unwrap();
            file.write_all_at(&[0xA5], NOTE_AT + at).unwrap();
            let error = slots.unlogged(7).unwrap_err();
            assert!(matches!(error, StoreError::Damaged(_)), "{at}: {error}");
        }
    }
}

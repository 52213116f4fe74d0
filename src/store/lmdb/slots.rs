//! The checkpoint file: the commit that is wholly on disk, and where in the log those after it begin.
//!
//! ```text
//! file       two slots of 4096 bytes; a checkpoint goes to the one that the checkpoint before is not in
//! slot       magic 8, version 4, CRC 4 of what follows, serial 8, commit 8, log position 8, log epoch 8, trust 8, identity 40, LMDB's head 152
//! ```
//! Numbers are little-endian. It is written in place, in blocks that it has: that needs no room on a full disk, and no sync of the
//! directory. The valid slot of the higher serial counts. There is none in a store that was closed: its data file says it all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::directory::FILE_MODE;
use super::identity::{IDENTITY_BYTES, Identity};
use super::log::Position;
use super::pages::HEAD_BYTES;
use crate::store::StoreError;

pub(super) const CHECKPOINT_FILE: &str = "checkpoint";

/// The file until it is whole.
const NEW_FILE: &str = "checkpoint.new";

const MAGIC: [u8; 8] = *b"ddbfsckp";
const VERSION: u32 = 1;
const SLOT_BYTES: usize = 4096;
/// Where begins what the CRC is of.
const CHECKED_AT: usize = 16;
const IDENTITY_AT: usize = 56;
const HEAD_AT: usize = IDENTITY_AT + IDENTITY_BYTES;
const END: usize = HEAD_AT + HEAD_BYTES;

/// Of `trust`: the page cache holds what was written. Else a sync has failed, and nobody knows.
const TRUSTED: u64 = 1;

/// A commit that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// Its number.
    pub number: u64,
    /// Where the record of the next one begins.
    pub position: Position,
    /// Of the log.
    pub epoch: u64,
    /// Of the data file, at the time of the checkpoint; zeros where there is none.
    pub identity: Identity,
    /// Whether all that was written since is in the page cache.
    pub is_trusted: bool,
    /// The beginning of LMDB's head page of the commit.
    pub head: [u8; HEAD_BYTES],
}

impl Checkpoint {
    fn encode(&self, serial: u64) -> [u8; SLOT_BYTES] {
        let mut slot = [0; SLOT_BYTES];
        slot[..8].copy_from_slice(&MAGIC);
        slot[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let trust = if self.is_trusted { TRUSTED } else { 0 };
        for (at, number) in (CHECKED_AT..).step_by(8).zip([serial, self.number, self.position.0, self.epoch, trust]) {
            slot[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        slot[IDENTITY_AT..HEAD_AT].copy_from_slice(&self.identity);
        slot[HEAD_AT..END].copy_from_slice(&self.head);
        let crc = crc32fast::hash(&slot[CHECKED_AT..END]);
        slot[12..CHECKED_AT].copy_from_slice(&crc.to_le_bytes());
        slot
    }

    /// A slot's serial and checkpoint; `None` when it is not valid.
    fn decode(slot: &[u8]) -> Option<(u64, Self)> {
        let crc = u32::from_le_bytes(*slot.get(12..)?.first_chunk()?);
        let is_valid = slot.starts_with(&MAGIC)
            && slot.get(8..12)? == VERSION.to_le_bytes()
            && crc32fast::hash(slot.get(CHECKED_AT..END)?) == crc;
        let number = |nth: usize| slot.get(CHECKED_AT + 8 * nth..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let checkpoint = Self {
            number: number(1)?,
            position: Position(number(2)?),
            epoch: number(3)?,
            is_trusted: number(4)? == TRUSTED,
            identity: *slot.get(IDENTITY_AT..)?.first_chunk()?,
            head: *slot.get(HEAD_AT..)?.first_chunk()?,
        };
        is_valid.then_some((number(0)?, checkpoint))
    }
}

/// The checkpoint file of a data directory. Written only under its lock; each use opens it, as another process may have made it.
#[derive(Debug)]
pub(super) struct Slots {
    dir: PathBuf,
}

impl Slots {
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    fn file(&self) -> PathBuf {
        self.dir.join(CHECKPOINT_FILE)
    }

    pub fn exist(&self) -> bool {
        self.file().exists()
    }

    /// The last checkpoint; `None` when there is none.
    ///
    /// # Errors
    /// The file cannot be read, or neither of its slots is valid.
    pub fn read(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.read_with_serial().map(|newest| newest.map(|(_, checkpoint)| checkpoint))
    }

    fn read_with_serial(&self) -> Result<Option<(u64, Checkpoint)>, StoreError> {
        let bytes = match fs::read(self.file()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::Io(format!("{:?}: {error}", self.file()))),
        };
        let newest = bytes.chunks(SLOT_BYTES).filter_map(Checkpoint::decode).max_by_key(|(serial, _)| *serial);
        let damaged = || {
            StoreError::Damaged(format!(
                "{:?} is damaged, and without it nobody knows what data.mdb lacks. Restore the whole data directory from a backup.",
                self.file()
            ))
        };
        newest.map(Some).ok_or_else(damaged)
    }

    /// Writes a checkpoint; it is on disk then. On an error the one before still counts.
    pub fn write(&self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        let serial = self.read_with_serial()?.map_or(0, |(serial, _)| serial + 1);
        let slot = checkpoint.encode(serial);
        let written = if serial == 0 { self.create(&slot) } else { self.overwrite(serial, &slot) };
        written.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => StoreError::NoSpace,
            _ => StoreError::Io(format!("{:?}: {error}", self.file())),
        })
    }

    fn overwrite(&self, serial: u64, slot: &[u8]) -> io::Result<()> {
        let file = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(self.file())?;
        file.write_all_at(slot, (serial % 2) * SLOT_BYTES as u64)?;
        file.sync_data()?;
        // Whoever made the file may have been killed before the directory had its name on disk.
        if serial == 1 { File::open(&self.dir)?.sync_all() } else { Ok(()) }
    }

    /// Makes the file. Under another name until it is on disk: a file of this name without a valid slot is a damaged one.
    fn create(&self, slot: &[u8]) -> io::Result<()> {
        let new = self.dir.join(NEW_FILE);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(FILE_MODE).custom_flags(libc::O_NOFOLLOW);
        let file = options.open(&new)?;
        file.write_all_at(&[slot, &[0; SLOT_BYTES]].concat(), 0)?;
        file.sync_all()?;
        fs::rename(&new, self.file())?;
        File::open(&self.dir)?.sync_all()
    }

    /// Removes the file, and the directory knows it on disk. To be called by who has the store alone, with its data synced.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(self.file())?;
        File::open(&self.dir)?.sync_all()
    }
}

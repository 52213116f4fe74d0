//! What a log holds behind a checkpoint, for whoever recovers.

use std::fs::File;
use std::io;
use std::path::Path;

use super::files::{LOG_FILES, read_record, which};
use super::record::{Name, Payload, Position, record_bytes};
use crate::store::StoreError;

/// The records behind a checkpoint, in their order, up to the first that is not whole or not there.
///
/// `visit` gets each record's number and its operations. Returns where the last record ends (`from` if there is none), and its number
/// (`after`). Nothing is written: repeated, it does the same.
///
/// # Errors
/// A file of the log is missing or cannot be read; those of `visit`.
pub fn replay(
    dir: &Path,
    from: Position,
    epoch: u64,
    after: u64,
    visit: &mut dyn FnMut(u64, Payload<'_>) -> Result<(), StoreError>,
) -> Result<(Position, u64), StoreError> {
    let [first, second] = LOG_FILES;
    let files = [open(dir, first)?, open(dir, second)?];
    let (mut tail, mut last, mut buffer) = (from, after, Vec::new());
    'records: loop {
        // Where the last one ended, or at the beginning of the next generation.
        for position in [tail, tail.next_generation()] {
            let name = Name { position, epoch, number: last + 1 };
            let file = &files[which(position.generation())];
            let record = read_record(file, name, &mut buffer).map_err(|error| StoreError::Io(format!("{dir:?}: {error}")))?;
            if let Some(payload) = record {
                visit(name.number, Payload(payload))?;
                (tail, last) = (position.after(record_bytes(payload.len()) as u64), name.number);
                continue 'records;
            }
        }
        return Ok((tail, last));
    }
}

/// A file of the log, only to read.
fn open(dir: &Path, name: &str) -> Result<File, StoreError> {
    let path = dir.join(name);
    File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::Damaged(format!(
            "{path:?} is missing, and data.mdb lacks what was last written to it. Restore the whole data directory from a backup."
        )),
        _ => StoreError::Io(format!("{path:?}: {error}")),
    })
}

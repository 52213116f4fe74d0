//! The record of one commit: a header, and the raw operations that repeat it.
//!
//! ```text
//! record     magic 4, CRC 4 of what follows, payload's length 4, position 8, epoch 8, number 8, log on disk 8, checkpoint 8, payload,
//!            zeros up to a whole sector
//! payload    operations one after the other
//! put        key's length 2, value's length 4, key, value
//! delete     key's length 2, 0xFFFFFFFF, key
//! ```
//! Numbers are little-endian. A record of the first version (`dlog`) ends its header with the
//! number. The parent module decides where a record may stand, and that no other may stand there.

use super::super::file_bytes::{number_at, word_at, write_numbers};
use crate::store::StoreError;

/// The unit that a device writes as a whole or not at all. No two records share one.
pub(super) const SECTOR_BYTES: usize = 512;

const MAGIC: [u8; 4] = *b"dlg2";
const HEADER_BYTES: usize = 52;
const MAGIC_1: [u8; 4] = *b"dlog";
const HEADER_BYTES_1: usize = 36;
/// The offset of the CRC, and of the bytes that it covers.
const CRC_AT: usize = 4;
const CHECKED_AT: usize = 8;

/// Bytes of the lengths before an operation, and the value length that means delete.
const LENGTHS_BYTES: usize = 6;
const DELETE: u32 = u32::MAX;

/// The largest buffer that is kept for the next record.
pub(super) const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// The begin of a record: generation << 32 | offset. Positions compare in the log's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition(pub u64);

impl LogPosition {
    pub fn new(generation: u64, offset: u64) -> Self {
        debug_assert!(
            offset <= u64::from(u32::MAX),
            "{offset} would reach into the generation"
        );
        Self(generation << 32 | offset)
    }

    pub fn generation(self) -> u64 {
        self.0 >> 32
    }

    /// Returns the bytes from the beginning of the generation's file.
    pub fn offset(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }

    /// Returns the beginning of its generation.
    pub fn generation_begin(self) -> Self {
        Self::new(self.generation(), 0)
    }

    pub fn next_generation(self) -> Self {
        Self::new(self.generation() + 1, 0)
    }

    pub(super) fn after(self, bytes: u64) -> Self {
        Self(self.0.saturating_add(bytes))
    }
}

/// The identification that a record carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordId {
    pub position: LogPosition,
    pub epoch: u64,
    pub number: u64,
}

/// The commits on disk when a record was written: proof that they were there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DurableNumbers {
    /// The last record that was on disk with all before it.
    pub log: u64,
    /// The last checkpoint.
    pub checkpoint: u64,
}

/// Returns the bytes of a whole record with a payload of this size.
fn record_bytes(payload_bytes: usize) -> usize {
    (HEADER_BYTES + payload_bytes).next_multiple_of(SECTOR_BYTES)
}

/// The operations of one commit, gathered in the form of its record: the append writes this buffer.
#[derive(Debug)]
pub struct LoggedOperations {
    /// Room for the header, then the payload.
    buffer: Vec<u8>,
    record_bytes_max: usize,
    /// True if the operations are too large for a record; no more are gathered then.
    too_large: bool,
}

impl LoggedOperations {
    /// Makes an empty list, which gathers at most `record_bytes_max` bytes.
    pub fn new(record_bytes_max: u64) -> Self {
        // A payload's length has 32 bits.
        let record_bytes_max = usize::try_from(record_bytes_max)
            .unwrap_or(usize::MAX)
            .min(DELETE as usize);
        Self {
            buffer: vec![0; HEADER_BYTES],
            record_bytes_max,
            too_large: false,
        }
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.gather(
            key,
            u32::try_from(value.len())
                .ok()
                .filter(|length| *length != DELETE),
            value,
        );
    }

    pub fn delete(&mut self, key: &[u8]) {
        self.gather(key, Some(DELETE), &[]);
    }

    fn gather(&mut self, key: &[u8], value_length: Option<u32>, value: &[u8]) {
        let bytes = self.buffer.len() + LENGTHS_BYTES + key.len() + value.len();
        let (Ok(key_length), Some(value_length), false) = (
            u16::try_from(key.len()),
            value_length,
            self.too_large || bytes > self.record_bytes_max,
        ) else {
            // The commit is made without a record, and durable by a checkpoint instead.
            self.too_large = true;
            self.buffer = vec![0; HEADER_BYTES];
            return;
        };
        self.buffer.extend_from_slice(&key_length.to_le_bytes());
        self.buffer.extend_from_slice(&value_length.to_le_bytes());
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
    }

    /// True if there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        !self.too_large && self.buffer.len() == HEADER_BYTES
    }

    /// Returns the bytes of the record; `None` if the operations are too large for one.
    pub fn record_bytes(&self) -> Option<u64> {
        let bytes = record_bytes(self.buffer.len() - HEADER_BYTES);
        (!self.too_large && bytes <= self.record_bytes_max).then_some(bytes as u64)
    }

    /// Removes all operations.
    pub fn clear(&mut self) {
        self.too_large = false;
        self.buffer.truncate(HEADER_BYTES);
        self.buffer.shrink_to(KEPT_BYTES_MAX);
    }

    /// Calls `write` with the whole record.
    pub(super) fn with_record<T>(
        &mut self,
        name: RecordId,
        on_disk: DurableNumbers,
        write: impl FnOnce(&[u8]) -> T,
    ) -> T {
        debug_assert!(!self.too_large, "a record lacks operations");
        let bytes = self.buffer.len();
        write_header(&mut self.buffer, name, on_disk);
        self.buffer.resize(record_bytes(bytes - HEADER_BYTES), 0);
        let result = write(&self.buffer);
        // They may be appended again, at another position.
        self.buffer.truncate(bytes);
        result
    }
}

fn write_header(record: &mut [u8], name: RecordId, on_disk: DurableNumbers) {
    let payload_bytes = record.len() - HEADER_BYTES;
    // A wrong length would make the record of a commit unreadable after a power cut.
    assert!(
        payload_bytes < DELETE as usize,
        "a record of {payload_bytes} bytes"
    );
    let length = u32::try_from(payload_bytes).unwrap_or(u32::MAX);
    record[..CRC_AT].copy_from_slice(&MAGIC);
    record[8..12].copy_from_slice(&length.to_le_bytes());
    let numbers = [
        name.position.0,
        name.epoch,
        name.number,
        on_disk.log,
        on_disk.checkpoint,
    ];
    write_numbers(&mut record[12..HEADER_BYTES], &numbers);
    // Last, as it covers the rest of the header.
    let crc = crc32fast::hash(&record[CHECKED_AT..]);
    record[CRC_AT..CHECKED_AT].copy_from_slice(&crc.to_le_bytes());
}

/// A parsed header, before its CRC is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    crc: u32,
    bytes: usize,
    payload_bytes: usize,
    pub id: RecordId,
    pub on_disk: DurableNumbers,
}

impl RecordHeader {
    /// Parses a header; `None` if it is not one.
    pub fn parse(record: &[u8]) -> Option<Self> {
        let bytes = match *record.first_chunk()? {
            MAGIC => HEADER_BYTES,
            MAGIC_1 => HEADER_BYTES_1,
            _ => return None,
        };
        let number = |nth: usize| number_at(record, 12 + 8 * nth);
        Some(Self {
            crc: word_at(record, CRC_AT)?,
            bytes,
            payload_bytes: usize::try_from(word_at(record, CHECKED_AT)?).ok()?,
            id: RecordId {
                position: LogPosition(number(0)?),
                epoch: number(1)?,
                number: number(2)?,
            },
            on_disk: match bytes {
                HEADER_BYTES => DurableNumbers {
                    log: number(3)?,
                    checkpoint: number(4)?,
                },
                // The first version says nothing of the disk, so it proves nothing.
                _ => DurableNumbers::default(),
            },
        })
    }

    /// Returns the bytes up to the end of the payload.
    pub fn unpadded_bytes(&self) -> usize {
        self.bytes + self.payload_bytes
    }

    /// Returns the position at which the record ends.
    pub fn end(&self) -> LogPosition {
        self.id
            .position
            .after(self.unpadded_bytes().next_multiple_of(SECTOR_BYTES) as u64)
    }

    /// Returns the payload of the record that begins with this header, if it is whole.
    pub fn payload<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        let checked = record.get(CHECKED_AT..self.unpadded_bytes())?;
        (crc32fast::hash(checked) == self.crc).then(|| &record[self.bytes..self.unpadded_bytes()])
    }
}

/// One change of the raw store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedOperation<'r> {
    Put(&'r [u8], &'r [u8]),
    Delete(&'r [u8]),
}

impl<'r> LoggedOperation<'r> {
    pub fn key(&self) -> &'r [u8] {
        match self {
            Self::Put(key, _) | Self::Delete(key) => key,
        }
    }
}

/// The operations of a record that was read, in their order. A copy iterates again.
#[derive(Debug, Clone, Copy)]
pub struct RecordPayload<'r>(pub &'r [u8]);

impl<'r> RecordPayload<'r> {
    /// Appends the operations to others, so that all are one payload.
    ///
    /// # Errors
    /// An operation exceeds the record; nothing is appended.
    pub fn append_to(self, to: &mut Vec<u8>) -> Result<usize, StoreError> {
        let operations = self
            .into_iter()
            .try_fold(0, |count, operation| operation.map(|_| count + 1))?;
        to.extend_from_slice(self.0);
        Ok(operations)
    }

    fn split(&mut self, bytes: usize) -> Option<&'r [u8]> {
        let (part, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(part)
    }

    fn operation(&mut self) -> Option<LoggedOperation<'r>> {
        let key_length = u16::from_le_bytes(self.split(2)?.try_into().ok()?);
        let value_length = u32::from_le_bytes(self.split(4)?.try_into().ok()?);
        let key = self.split(usize::from(key_length))?;
        if value_length == DELETE {
            return Some(LoggedOperation::Delete(key));
        }
        Some(LoggedOperation::Put(
            key,
            self.split(usize::try_from(value_length).ok()?)?,
        ))
    }
}

impl<'r> Iterator for RecordPayload<'r> {
    type Item = Result<LoggedOperation<'r>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let operation = self
            .operation()
            .ok_or(StoreError::Corrupt("a record of the log"));
        // After a damaged operation the begin of the next one is unknown.
        if operation.is_err() {
            self.0 = &[];
        }
        Some(operation)
    }
}

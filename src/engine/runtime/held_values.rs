//! The values of items that one request has in memory together, counted before they are made: they may take a hundred times what the
//! items do.

use crate::engine::prelude::*;
use crate::store::budget::{Memory, Permit};

/// What the values of one request may take; an item alone, what it takes. A request that reads is kept for as much, before it runs.
const BYTES_MAX: usize = 96 * 1024 * 1024;
/// So much is not reserved by a write: it is one at a time.
const FREE_BYTES: usize = 8 * 1024 * 1024;
/// A changed item is held as it was and as it will be.
const IMAGES: usize = 2;

/// Values that a request holds.
#[derive(Debug, Default)]
pub struct HeldValues {
    bytes: usize,
    /// For those of a write.
    permit: Permit,
}

impl HeldValues {
    /// Counts the values of one more item, which is about to be read.
    ///
    /// # Errors
    /// [`Error::TooManyValues`], and then it is not counted; those of the store.
    pub fn read(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let bytes = self.bytes + record.values_bytes()?;
        if self.bytes > 0 && bytes > BYTES_MAX {
            return Err(Error::TooManyValues);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// The same of an item that is about to be changed, as it is and as it will be: much is reserved.
    ///
    /// # Errors
    /// As of [`Self::read`], also when there is no room.
    pub fn change(&mut self, record: Option<Record<'_>>) -> Result<(), Error> {
        let Some(record) = record else { return Ok(()) };
        let bytes = self.bytes + IMAGES * record.values_bytes()?;
        let is_too_much = self.bytes > 0 && bytes > BYTES_MAX;
        if is_too_much
            || bytes > FREE_BYTES
                && Memory::of_process()
                    .requests
                    .resize(&mut self.permit, bytes)
                    .is_err()
        {
            return Err(Error::TooManyValues);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// How many are counted.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Nothing is held of what was counted since there were so many.
    pub fn let_go(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.permit.shrink(bytes);
    }
}

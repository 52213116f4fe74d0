//! Memory accounting of one request: reserves memory for item values before they are decoded, as
//! values may take a hundred times the memory of their records.

use crate::engine::prelude::*;
use crate::store::budget::{MemoryBudgets, Permit};

/// The limit for the values of one request, in bytes; a single item may exceed it. As much is
/// reserved for a request that reads, before it runs.
const BYTES_MAX: usize = 96 * 1024 * 1024;
/// A write does not reserve this many bytes: there is one write at a time.
const UNRESERVED_BYTES: usize = 8 * 1024 * 1024;
/// A changed item is held twice: before and after the change.
const IMAGES: usize = 2;

/// The values that a request holds.
#[derive(Debug, Default)]
pub struct ValueMemory {
    bytes: usize,
    /// The reservation for the values of a write.
    permit: Permit,
}

impl ValueMemory {
    /// Counts the values of one more item that is about to be read.
    ///
    /// # Errors
    /// Fails with [`Error::TooManyValues`], and then the item is not counted; also errors of the
    /// store.
    pub fn reserve_read(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let bytes = self.bytes + record.values_bytes()?;
        if self.bytes > 0 && bytes > BYTES_MAX {
            return Err(Error::TooManyValues);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Counts the values of an item that is about to be changed, before and after the change;
    /// reserves memory if they are large.
    ///
    /// # Errors
    /// Fails as [`Self::read`] does, also if the memory cannot be reserved.
    pub fn reserve_change(&mut self, record: Option<Record<'_>>) -> Result<(), Error> {
        let Some(record) = record else { return Ok(()) };
        let bytes = self.bytes + IMAGES * record.values_bytes()?;
        let is_too_much = self.bytes > 0 && bytes > BYTES_MAX;
        if is_too_much
            || bytes > UNRESERVED_BYTES
                && MemoryBudgets::of_process()
                    .requests
                    .resize(&mut self.permit, bytes)
                    .is_err()
        {
            return Err(Error::TooManyValues);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Returns the number of counted bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases the values counted since [`Self::bytes`] was `bytes`.
    pub fn release(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.permit.shrink(bytes);
    }
}

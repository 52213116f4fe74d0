//! Reading what is made while it is read: of bytes that were read a little is kept, for a reader that looks back; going back further
//! makes everything again.

use super::producer::Producer;
use crate::fs::mount::Mount;
use crate::fs::open::part;
use crate::fs::prelude::*;
use crate::fs::query::Wanted;

/// Bytes kept behind the offset that is read.
const KEPT_BYTES: u64 = 1 << 20;

/// See the module.
#[derive(Debug)]
pub struct Window {
    producer: Box<dyn Producer>,
    /// The bytes from `start` on that were made so far and not forgotten.
    buffer: Vec<u8>,
    start: u64,
    /// Of what was made and not given.
    bills: Vec<Bill>,
    goes_on: bool,
}

impl Window {
    /// At the first byte.
    #[must_use]
    pub fn new(producer: Box<dyn Producer>) -> Self {
        Self::of(producer, (0, Vec::new()), Vec::new(), true)
    }

    /// Where a producer is, with what it made last and where that begins.
    #[must_use]
    pub fn of(producer: Box<dyn Producer>, (start, buffer): (u64, Vec<u8>), bills: Vec<Bill>, goes_on: bool) -> Self {
        Self { producer, buffer, start, bills, goes_on }
    }

    /// Bytes of memory of what was made and not forgotten.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Where the bytes begin that it can give.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The bytes at `offset`, at most `size`: those of the next step that has any, none exactly at the end.
    ///
    /// # Errors
    /// Those of a step; `Throttled`; [`FsError::Interrupted`] when nobody wants the bytes any more.
    pub fn read(&mut self, mount: &Mount, offset: u64, size: usize, wanted: &Wanted<'_>) -> Result<Vec<u8>, FsError> {
        while self.goes_on && self.start + (self.buffer.len() as u64) <= offset {
            if !wanted() {
                return Err(FsError::Interrupted);
            }
            self.forget_before(offset);
            self.goes_on = self.producer.advance(mount, &mut self.bills, &mut self.buffer)?;
        }
        while let Some(bill) = self.bills.last() {
            bill.settle()?;
            self.bills.pop();
        }
        Ok(self.buffer[part(self.buffer.len(), offset.saturating_sub(self.start), size)].to_vec())
    }

    /// What all of it consumed, once after the end.
    pub fn take_consumed(&mut self) -> Option<Vec<u8>> {
        self.producer.take_consumed()
    }

    fn forget_before(&mut self, offset: u64) {
        let surplus = offset.saturating_sub(KEPT_BYTES).saturating_sub(self.start).min(self.buffer.len() as u64);
        if surplus > 0 {
            self.buffer.drain(..usize::try_from(surplus).unwrap_or(usize::MAX));
            self.start += surplus;
        }
    }
}

//! A pending write as stored:
//! ```text
//! due u64 · time u64 · length of place u32 · place · length of old record u32 · old record · new record
//! ```
//! An empty record is no item. Times are milliseconds since the epoch.

use crate::codec::record::Record;
use crate::model::Item;
use crate::model::error::StoreError;

/// A write that the global indexes do not show yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending<'b> {
    /// When the indexes are to show it.
    pub due_ms: u64,
    /// When it was made.
    pub time_ms: u64,
    /// The item's place in its table, see `keys::place_in_source`.
    pub place: &'b [u8],
    pub old: Option<&'b [u8]>,
    pub new: Option<&'b [u8]>,
}

impl<'b> Pending<'b> {
    /// # Errors
    /// `Corrupt`.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, StoreError> {
        let (due, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let (time, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let (place, rest) = take(rest)?;
        let (old, new) = take(rest)?;
        let item = |bytes: &'b [u8]| (!bytes.is_empty()).then_some(bytes);
        Ok(Self { due_ms: u64::from_be_bytes(*due), time_ms: u64::from_be_bytes(*time), place, old: item(old), new: item(new) })
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let (old, new) = (self.old.unwrap_or_default(), self.new.unwrap_or_default());
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).map(u32::to_be_bytes).map_err(|_| damaged());
        let times = [self.due_ms, self.time_ms].map(u64::to_be_bytes).concat();
        Ok([&times, &length(self.place)?[..], self.place, &length(old)?[..], old, new].concat())
    }

    /// The items before and after.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn items(&self) -> Result<(Option<Item>, Option<Item>), StoreError> {
        let item = |bytes: Option<&[u8]>| bytes.map(|bytes| Record::parse(bytes)?.to_item()).transpose();
        Ok((item(self.old)?, item(self.new)?))
    }
}

fn take(bytes: &[u8]) -> Result<(&[u8], &[u8]), StoreError> {
    let (length, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| damaged())?;
    rest.split_at_checked(length).ok_or_else(damaged)
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a pending write")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let pending = Pending { due_ms: 258, time_ms: 2, place: &[7], old: None, new: Some(&[8, 9]) };
        let bytes = [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 7, 0, 0, 0, 0, 8, 9];
        assert_eq!(pending.encode().unwrap(), bytes);
        assert_eq!(Pending::parse(&bytes), Ok(pending));
        for length in 0..25 {
            assert!(Pending::parse(&bytes[..length]).is_err(), "{length}");
        }
    }
}

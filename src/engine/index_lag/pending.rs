//! A pending write as stored:
//! ```text
//! due u64 · time u64 · length of place u32 · place · length of old record u32 · old record · new record
//! ```
//! An empty record is no item. Times are milliseconds since the epoch.

use crate::codec::record::Record;
use crate::engine::base::parts::{Long, bytes_of, parts_of};
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
        let (due_ms, time_ms, Long(place), Long(old), new) = parts_of(bytes, "a pending write")?;
        Ok(Self { due_ms, time_ms, place, old: Some(old).filter(|old| !old.is_empty()), new })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        bytes_of(&(self.due_ms, self.time_ms, Long(self.place), Long(self.old.unwrap_or_default()), self.new))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let pending = Pending { due_ms: 258, time_ms: 2, place: &[7], old: None, new: Some(&[8, 9]) };
        let bytes = [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 7, 0, 0, 0, 0, 8, 9];
        assert_eq!(pending.encode(), bytes);
        assert_eq!(Pending::parse(&bytes), Ok(pending));
        for length in 0..25 {
            assert!(Pending::parse(&bytes[..length]).is_err(), "{length}");
        }
    }
}

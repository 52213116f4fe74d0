//! How far the backfill of an index is, as stored beside the index:
//! ```text
//! done u64 · total u64 · written u64 · write units u64 · place of the last item looked at, empty before the first
//! ```

use crate::engine::base::keys::{SourceId, StoreKey};
use crate::engine::base::parts::{bytes_of, parts_of};
use crate::model::api::IndexProgress;
use crate::model::error::StoreError;
use crate::store::{Read, Write};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    pub counts: IndexProgress,
    /// See `keys::place_in_source`.
    pub place: Vec<u8>,
}

impl Progress {
    /// Of an index; `None` unless it is in its backfill.
    ///
    /// # Errors
    /// `Corrupt`; those of the store.
    pub fn read(read: &dyn Read, index: SourceId) -> Result<Option<Self>, StoreError> {
        read.get(&StoreKey::Backfill(index).encode())?.map(Self::decode).transpose()
    }

    /// Stores it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn write(&self, batch: &mut dyn Write, index: SourceId) -> Result<(), StoreError> {
        batch.put(&StoreKey::Backfill(index).encode(), &self.encode())
    }

    /// Has the backfill passed the item at a place?
    #[must_use]
    pub fn has_passed(&self, place: &[u8]) -> bool {
        place <= self.place.as_slice()
    }

    fn encode(&self) -> Vec<u8> {
        let IndexProgress { done, total, written, write_units } = self.counts;
        bytes_of(&(done, total, written, write_units, self.place.as_slice()))
    }

    fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (done, total, written, write_units, place): (_, _, _, _, &[u8]) = parts_of(bytes, "the progress of a backfill")?;
        Ok(Self { counts: IndexProgress { done, total, written, write_units }, place: place.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let counts = IndexProgress { done: 1, total: 2, written: 3, write_units: 258 };
        let progress = Progress { counts, place: vec![7, 8] };
        let mut bytes = vec![0; 34];
        (bytes[7], bytes[15], bytes[23], bytes[30], bytes[31], bytes[32], bytes[33]) = (1, 2, 3, 1, 2, 7, 8);
        assert_eq!(progress.encode(), bytes);
        assert_eq!(Progress::decode(&bytes), Ok(progress));
        assert!(Progress::decode(&bytes[..31]).is_err());
        assert!(!Progress::default().has_passed(&[0]));
    }

    #[test]
    fn percentages() {
        let check =
            |done, total, expected| assert_eq!(IndexProgress { done, total, ..IndexProgress::default() }.percent(), expected);
        check(0, 0, 0);
        check(0, 3, 0);
        check(2, 3, 66);
        check(5, 3, 100);
    }
}

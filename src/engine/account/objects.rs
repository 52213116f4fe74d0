//! The records of the account as they lie in the store: under their kind and name, each with the version of its form.

use std::ops::ControlFlow;

use crate::engine::base::keys::{RecordKind, StoreKey};
use crate::engine::base::stored::{Stored, decode, encode};
use crate::model::error::StoreError;
use crate::store::{Direction, KeyRange, Read, Write, try_walk};

/// Is given each record, or why it cannot be read, and says whether to go on.
pub type Visit<'v, T> = dyn FnMut(Result<T, StoreError>) -> Result<ControlFlow<()>, StoreError> + 'v;

/// A record of the account. Errors of its methods are those of the store, and `Corrupt` or `Format` for what cannot be read.
pub trait AccountRecord: Stored {
    const KIND: RecordKind;

    /// The record of that name, if it is there.
    ///
    /// # Errors
    /// As above.
    fn get(read: &dyn Read, name: &str) -> Result<Option<Self>, StoreError> {
        read.get(&StoreKey::Account(Self::KIND, name).encode())?.map(decode).transpose()
    }

    /// Writes it.
    ///
    /// # Errors
    /// As above.
    fn put(&self, batch: &mut dyn Write, name: &str) -> Result<(), StoreError> {
        batch.put(&StoreKey::Account(Self::KIND, name).encode(), &encode(self)?)
    }

    /// Changes the record of that name, if it is there.
    ///
    /// # Errors
    /// As above.
    fn change(batch: &mut dyn Write, name: &str, change: impl FnOnce(&mut Self)) -> Result<(), StoreError> {
        let Some(mut record) = Self::get(batch.as_read(), name)? else { return Ok(()) };
        change(&mut record);
        record.put(batch, name)
    }

    /// Removes it.
    ///
    /// # Errors
    /// As above.
    fn delete(batch: &mut dyn Write, name: &str) -> Result<(), StoreError> {
        batch.delete(&StoreKey::Account(Self::KIND, name).encode()).map(drop)
    }

    /// Records after a name, in order of their names.
    ///
    /// # Errors
    /// As above; those of `visit`.
    fn walk(read: &dyn Read, after: Option<&str>, visit: &mut Visit<'_, Self>) -> Result<(), StoreError> {
        let key = |name: &str| StoreKey::Account(Self::KIND, name).encode();
        let range = KeyRange::prefix(&key("")).after(after.map(key));
        try_walk(read, &range, Direction::Forward, |_, bytes| visit(decode(bytes)))
    }

    /// What `take` makes of the records behind a name, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// Those of the store and of `take`.
    fn page<T>(
        read: &dyn Read,
        after: Option<&str>,
        limit: usize,
        mut take: impl FnMut(Self) -> Result<Option<T>, StoreError>,
    ) -> Result<(Vec<T>, bool), StoreError> {
        let (mut found, mut has_more) = (Vec::new(), false);
        Self::walk(read, after, &mut |record| {
            if let Some(taken) = take(record?)? {
                has_more = found.len() == limit;
                if has_more {
                    return Ok(ControlFlow::Break(()));
                }
                found.push(taken);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((found, has_more))
    }
}

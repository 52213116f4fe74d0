//! LMDB transactions behind the raw-store traits (`RawRead`, `RawWrite` of `long_key`), and the
//! only cursors. A batch also collects its operations for the log.

use std::cell::Cell;
use std::ops::{Bound, ControlFlow, RangeBounds};

use lmdb::{
    Cursor, Database, Error, RoCursor, RoTransaction, RwTransaction, Transaction as _, WriteFlags,
};
use lmdb_sys::{MDB_FIRST, MDB_LAST, MDB_NEXT, MDB_PREV, MDB_SET_RANGE};

use super::error::store_error;
use super::log::LoggedOperations;
use super::map_lock::MapGuard;
use super::open_environment::OpenEnvironment;
use crate::store::long_key::{RawRange, RawRead, RawVisit, RawWrite};
use crate::store::writer::WriteTransaction;
use crate::store::{Direction, KeyRange, StoreError};

/// A read transaction.
#[derive(Debug)]
pub(super) struct LmdbSnapshot<'s> {
    // Before `guard`: a transaction ends while the map lock is held.
    transaction: RoTransaction<'s>,
    guard: MapGuard<'s, OpenEnvironment>,
}

impl<'s> LmdbSnapshot<'s> {
    /// Begins a transaction in the environment that `pass` holds.
    pub fn begin(guard: MapGuard<'s, OpenEnvironment>) -> Result<Self, Error> {
        let environment = &raw const *guard.environment()?;
        // SAFETY: the environment lives in the map lock, which lives for 's; it is replaced or
        // closed only under the exclusive lock, so not before `pass` is dropped, which is after the
        // transaction (field order).
        #[allow(unsafe_code)]
        let environment = unsafe { &*environment };
        Ok(Self {
            transaction: environment.begin_ro_txn()?,
            guard,
        })
    }
}

impl RawRead for LmdbSnapshot<'_> {
    fn raw_get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        optional(self.transaction.get(self.guard.database, &key)).map_err(store_error)
    }

    fn raw_commit_id(&self) -> u64 {
        transaction_id(&self.transaction)
    }

    fn raw_walk(
        &self,
        range: RawRange<'_>,
        direction: Direction,
        visit: &mut RawVisit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let cursor = self
            .transaction
            .open_ro_cursor(self.guard.database)
            .map_err(store_error)?;
        walk(&cursor, range, direction, visit)
    }
}

/// A write transaction.
#[derive(Debug)]
pub(super) struct LmdbBatch<'e> {
    transaction: RwTransaction<'e>,
    database: Database,
    /// The operations done so far, for the log.
    operations: LoggedOperations,
    /// True if the map was too small: every later error is a consequence, and the transaction has
    /// to run again on a larger map.
    is_map_full: Cell<bool>,
}

impl<'e> LmdbBatch<'e> {
    pub fn new(
        transaction: RwTransaction<'e>,
        database: Database,
        operations: LoggedOperations,
    ) -> Self {
        Self {
            transaction,
            database,
            operations,
            is_map_full: Cell::new(false),
        }
    }

    pub fn map_full(&self) -> bool {
        self.is_map_full.get()
    }

    /// Returns the transaction, to be committed, and its operations.
    pub fn into_parts(self) -> (RwTransaction<'e>, LoggedOperations) {
        (self.transaction, self.operations)
    }

    fn failed(&self, error: Error) -> StoreError {
        if error == Error::MapFull {
            self.is_map_full.set(true);
        }
        store_error(error)
    }
}

impl RawRead for LmdbBatch<'_> {
    fn raw_get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError> {
        optional(self.transaction.get(self.database, &key)).map_err(|error| self.failed(error))
    }

    fn raw_commit_id(&self) -> u64 {
        transaction_id(&self.transaction)
    }

    fn raw_walk(
        &self,
        range: RawRange<'_>,
        direction: Direction,
        visit: &mut RawVisit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let cursor = self
            .transaction
            .open_ro_cursor(self.database)
            .map_err(|error| self.failed(error))?;
        walk(&cursor, range, direction, visit)
    }
}

impl RawWrite for LmdbBatch<'_> {
    fn raw_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.transaction
            .put(self.database, &key, &value, WriteFlags::empty())
            .map_err(|error| self.failed(error))?;
        self.operations.put(key, value);
        Ok(())
    }

    fn raw_delete(&mut self, key: &[u8]) -> Result<bool, StoreError> {
        match self.transaction.del(self.database, &key, None) {
            Ok(()) => {
                self.operations.delete(key);
                Ok(true)
            }
            Err(Error::NotFound) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// Returns the number of the commit that a read transaction shows, or that a write transaction will
/// have.
#[allow(unsafe_code)]
pub(super) fn transaction_id(transaction: &impl lmdb::Transaction) -> u64 {
    // SAFETY: the transaction is open as long as it is borrowed; the call only reads a field of it.
    unsafe { lmdb_sys::mdb_txn_id(transaction.txn()) as u64 }
}

fn optional<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

type RawEntry<'t> = (&'t [u8], &'t [u8]);

/// Moves a cursor; returns its entry, or `None` at the end.
fn step<'t>(
    cursor: &RoCursor<'t>,
    key: Option<&[u8]>,
    operation: libc::c_uint,
) -> Result<Option<RawEntry<'t>>, StoreError> {
    match cursor.get(key, None, operation) {
        Ok((Some(key), value)) => Ok(Some((key, value))),
        Ok((None, _)) => Err(StoreError::Corrupt("an entry without a key")),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(store_error(error)),
    }
}

/// Returns the first entry at or after `key`.
fn seek<'t>(cursor: &RoCursor<'t>, key: &[u8]) -> Result<Option<RawEntry<'t>>, StoreError> {
    // LMDB has no empty key, not even to seek.
    if key.is_empty() {
        step(cursor, None, MDB_FIRST)
    } else {
        step(cursor, Some(key), MDB_SET_RANGE)
    }
}

fn walk(
    cursor: &RoCursor<'_>,
    range: RawRange<'_>,
    direction: Direction,
    visit: &mut RawVisit<'_>,
) -> Result<ControlFlow<()>, StoreError> {
    let (mut entry, next, rest) = match direction {
        Direction::Forward => {
            let rest = (Bound::Unbounded, range.upper);
            (first(cursor, range.lower)?, MDB_NEXT, rest)
        }
        Direction::Reverse => {
            let rest = (range.lower, Bound::Unbounded);
            (last(cursor, range.upper)?, MDB_PREV, rest)
        }
    };
    let mut page = entry.map(|(key, _)| page_addr(key));
    while let Some((key, value)) = entry {
        // Not the first page: a short walk needs little of it.
        if page != Some(page_addr(key)) {
            page = Some(page_addr(key));
            prefetch(page_addr(key));
        }
        if !RangeBounds::<[u8]>::contains(&rest, key) {
            break;
        }
        if visit(key, value)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        entry = step(cursor, None, next)?;
    }
    Ok(ControlFlow::Continue(()))
}

/// Bytes of a page of LMDB, and of a cache line of the processor.
const PAGE_BYTES: usize = 4096;
const CACHE_LINE_BYTES: usize = 64;

/// Returns the address of the page that a stored key is in.
fn page_addr(key: &[u8]) -> usize {
    key.as_ptr().addr() & !(PAGE_BYTES - 1)
}

/// Prefetches a whole page into the processor's cache. Its entries lie in no order, and waiting for
/// each one when it is met takes most of the time of a walk through a large table.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn prefetch(page: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for line in (page..page + PAGE_BYTES).step_by(CACHE_LINE_BYTES) {
        // SAFETY: a hint, which reads nothing and is ignored where nothing is mapped.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(line)) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn prefetch(_page: usize) {}

/// Returns the first entry that the lower bound admits.
fn first<'t>(
    cursor: &RoCursor<'t>,
    lower: Bound<&[u8]>,
) -> Result<Option<RawEntry<'t>>, StoreError> {
    match lower {
        Bound::Unbounded => step(cursor, None, MDB_FIRST),
        Bound::Included(bound) => seek(cursor, bound),
        Bound::Excluded(bound) => match seek(cursor, bound)? {
            Some((key, _)) if key == bound => step(cursor, None, MDB_NEXT),
            entry => Ok(entry),
        },
    }
}

/// Returns the last entry that the upper bound admits.
fn last<'t>(
    cursor: &RoCursor<'t>,
    upper: Bound<&[u8]>,
) -> Result<Option<RawEntry<'t>>, StoreError> {
    let (Bound::Included(bound) | Bound::Excluded(bound)) = upper else {
        return step(cursor, None, MDB_LAST);
    };
    match seek(cursor, bound)? {
        None => step(cursor, None, MDB_LAST),
        Some((key, value)) if key == bound && matches!(upper, Bound::Included(_)) => {
            Ok(Some((key, value)))
        }
        Some(_) => step(cursor, None, MDB_PREV),
    }
}

/// Puts the first entry again, the smallest change for LMDB.
pub(super) fn rewrite_first(batch: &mut dyn WriteTransaction) -> Result<(), StoreError> {
    let mut first = None;
    batch.walk(&KeyRange::ALL, Direction::Forward, &mut |key, value| {
        first = Some((key.to_vec(), value.to_vec()));
        ControlFlow::Break(())
    })?;
    first.map_or(Ok(()), |(key, value)| batch.put(&key, &value))
}

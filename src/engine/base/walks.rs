//! Short looks at a range of keys.

use std::ops::ControlFlow;

use crate::model::error::StoreError;
use crate::store::{Direction, KeyRange, Read, Write, try_walk};

/// Is there anything in a range?
///
/// # Errors
/// Those of the store.
pub fn has_any(read: &dyn Read, range: &KeyRange) -> Result<bool, StoreError> {
    Ok(first(read, range, |_, _| Ok(Some(())))?.is_some())
}

/// Deletes the first keys of a range, at most `count`; returns how many there were.
///
/// # Errors
/// Those of the store.
pub fn delete_first(batch: &mut dyn Write, range: &KeyRange, count: usize) -> Result<usize, StoreError> {
    let doomed = take_while(batch.as_read(), range, count, |key, _| Some(key.to_vec()))?;
    for key in &doomed {
        batch.delete(key)?;
    }
    Ok(doomed.len())
}

/// What `take` makes of the first entries of a range, at most `count`, up to one of which it makes nothing.
///
/// # Errors
/// Those of the store.
pub fn take_while<T>(
    read: &dyn Read,
    range: &KeyRange,
    count: usize,
    mut take: impl FnMut(&[u8], &[u8]) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    read.walk(range, Direction::Forward, &mut |key, value| match take(key, value).filter(|_| found.len() < count) {
        Some(taken) => {
            found.push(taken);
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    })?;
    Ok(found)
}

/// What `read_entry` makes of the first entry of a range.
///
/// # Errors
/// Those of the store and of `read_entry`.
pub fn first<T>(
    read: &dyn Read,
    range: &KeyRange,
    mut read_entry: impl FnMut(&[u8], &[u8]) -> Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut found = None;
    try_walk(read, range, Direction::Forward, |key, value| {
        found = read_entry(key, value)?;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Walks until a piece of work is full: of so many entries, and of the bytes that `visit` counts. Returns the last key then; `None`
/// at the end of the range.
///
/// # Errors
/// Those of the store and of `visit`.
pub fn piece(
    read: &dyn Read,
    range: &KeyRange,
    (entries_max, bytes_max): (usize, usize),
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<usize, StoreError>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let (mut entries, mut bytes, mut last) = (0, 0, None);
    try_walk(read, range, Direction::Forward, |key, value| {
        bytes += visit(key, value)?;
        entries += 1;
        if entries < entries_max && bytes < bytes_max {
            return Ok(ControlFlow::Continue(()));
        }
        last = Some(key.to_vec());
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}

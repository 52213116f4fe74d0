//! Short looks at a range of keys.

use std::ops::ControlFlow;

use crate::model::error::StoreError;
use crate::store::{Direction, KeyRange, Read};

/// Is there anything in a range?
///
/// # Errors
/// Those of the store.
pub fn has_any(read: &dyn Read, range: &KeyRange) -> Result<bool, StoreError> {
    let mut found = false;
    read.walk(range, Direction::Forward, &mut |_, _| {
        found = true;
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// The first keys of a range, at most `count`.
///
/// # Errors
/// Those of the store.
pub fn first_keys(read: &dyn Read, range: &KeyRange, count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut found = Vec::new();
    read.walk(range, Direction::Forward, &mut |key, _| {
        if found.len() == count {
            return ControlFlow::Break(());
        }
        found.push(key.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

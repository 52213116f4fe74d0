//! Parked files: each can be read and lies at its place. Those of no table are found with the sources.

use super::report::{DifferenceKind, Place, Reporter};
use super::walk::each;
use crate::codec::digest::hex;
use crate::engine::base::keys::{Space, StoreKey};
use crate::engine::parked::{Parked, folder_digest};
use crate::model::error::StoreError;
use crate::store::Read;

/// Checks all parked files of a view.
///
/// # Errors
/// Those of the store.
pub fn check(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    each(read, &Space::Parked.all(), |key, value| {
        match (StoreKey::parse(key), Parked::parse(value)) {
            (Some(StoreKey::Parked(_, folder, _)), Ok(file)) if folder == folder_digest(file.folder.as_ref()).as_ref() => {}
            (Some(StoreKey::Parked(..)), Ok(_)) => reporter.add(DifferenceKind::Misplaced, Place::NONE, hex(key)),
            _ => reporter.add(DifferenceKind::Unreadable, Place::NONE, hex(key)),
        }
        Ok(())
    })
}

//! Parked files: each can be read and lies at its place. Those of no table are found with the sources.

use super::report::{DifferenceKind, Place, Reporter};
use super::walk::each;
use crate::codec::digest::hex;
use crate::engine::base::keys::{self, SourceId};
use crate::engine::parked::{Parked, folder_digest};
use crate::model::error::StoreError;
use crate::store::Read;

/// Checks all parked files of a view.
///
/// # Errors
/// Those of the store.
pub fn check(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    each(read, &keys::all_parked_from(SourceId(0)), |key, value| {
        match (keys::parse_parked(key), Parked::parse(value)) {
            (Some((_, folder, _)), Ok(file)) if folder == folder_digest(file.folder.as_ref()) => {}
            (Some(_), Ok(_)) => reporter.add(DifferenceKind::Misplaced, Place::NONE, hex(key)),
            (None, _) | (_, Err(_)) => reporter.add(DifferenceKind::Unreadable, Place::NONE, hex(key)),
        }
        Ok(())
    })
}

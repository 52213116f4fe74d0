//! What was counted of tables and indexes: each record can be read. Those of no table are found with the sources.

use super::report::{DifferenceKind, Place, Reporter};
use super::walk::each;
use crate::codec::digest::hex;
use crate::engine::base::keys::Space;
use crate::engine::meter::stored;
use crate::model::error::StoreError;
use crate::store::Read;

/// Checks all that was counted, in a view.
///
/// # Errors
/// Those of the store.
pub fn check(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    each(read, &Space::Counted.all(), |key, value| {
        if !stored::is_readable(key, value) {
            reporter.add(DifferenceKind::Unreadable, Place::NONE, hex(key));
        }
        Ok(())
    })
}

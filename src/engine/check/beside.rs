//! What lies beside the items: parked files, counts, client request tokens. What is left of no table is found with the sources.

use super::report::{DifferenceKind, Place, Reporter};
use super::walk::each;
use crate::codec::digest::hex;
use crate::engine::base::keys::{Space, StoreKey};
use crate::engine::meter::stored;
use crate::engine::parked::{Parked, folder_digest};
use crate::engine::tokens::Remembered;
use crate::model::error::StoreError;
use crate::store::Read;

/// What is wrong with an entry.
type Found = Result<Option<DifferenceKind>, StoreError>;

/// Checks all of it, in a view.
///
/// # Errors
/// Those of the store.
pub fn check(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    let mut wrong = |space: Space, wrong: &dyn Fn(&[u8], &[u8]) -> Found| {
        each(read, &space.all(), |key, value| {
            if let Some(kind) = wrong(key, value)? {
                reporter.add(kind, Place::NONE, hex(key));
            }
            Ok(())
        })
    };
    wrong(Space::Parked, &|key, value| {
        Ok(match (StoreKey::parse(key), Parked::parse(value)) {
            (Some(StoreKey::Parked(_, folder, _)), Ok(file)) if folder == folder_digest(file.folder.as_ref()).as_ref() => None,
            (Some(StoreKey::Parked(..)), Ok(_)) => Some(DifferenceKind::Misplaced),
            _ => Some(DifferenceKind::Unreadable),
        })
    })?;
    wrong(Space::Counted, &|key, value| Ok((!stored::is_readable(key, value)).then_some(DifferenceKind::Unreadable)))?;
    // Each token has its expiry, and each expiry its token.
    wrong(Space::Token, &|key, value| {
        let is_right = match (StoreKey::parse(key), Remembered::decode(value)) {
            (Some(StoreKey::Token(token)), Ok(known)) => {
                read.get(&StoreKey::TokenExpiry(known.expires_ms, token).encode())?.is_some()
            }
            _ => false,
        };
        Ok((!is_right).then_some(DifferenceKind::WrongToken))
    })?;
    wrong(Space::TokenExpiry, &|key, _| {
        let is_right = match StoreKey::parse(key) {
            Some(StoreKey::TokenExpiry(expires_ms, token)) => {
                let known = read.get(&StoreKey::Token(token).encode())?.map(Remembered::decode);
                known.is_some_and(|known| known.is_ok_and(|known| known.expires_ms == expires_ms))
            }
            _ => false,
        };
        Ok((!is_right).then_some(DifferenceKind::WrongToken))
    })
}

//! Client request tokens: each has its expiry, and each expiry its token.

use super::report::{DifferenceKind, Place, Reporter};
use super::walk::each;
use crate::codec::digest::hex;
use crate::engine::base::keys::{Space, StoreKey};
use crate::engine::tokens::Remembered;
use crate::model::error::StoreError;
use crate::store::Read;

/// Checks all tokens of a view.
///
/// # Errors
/// Those of the store.
pub fn check(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    each(read, &Space::Token.all(), |key, value| {
        let is_right = match (StoreKey::parse(key), Remembered::decode(value)) {
            (Some(StoreKey::Token(token)), Ok(known)) => {
                read.get(&StoreKey::TokenExpiry(known.expires_ms, token).encode())?.is_some()
            }
            _ => false,
        };
        report(is_right, key, reporter);
        Ok(())
    })?;
    each(read, &Space::TokenExpiry.all(), |key, _| {
        let is_right = match StoreKey::parse(key) {
            Some(StoreKey::TokenExpiry(expires_ms, token)) => {
                let known = read.get(&StoreKey::Token(token).encode())?.map(Remembered::decode);
                known.is_some_and(|known| known.is_ok_and(|known| known.expires_ms == expires_ms))
            }
            _ => false,
        };
        report(is_right, key, reporter);
        Ok(())
    })
}

fn report(is_right: bool, key: &[u8], reporter: &mut Reporter) {
    if !is_right {
        reporter.add(DifferenceKind::WrongToken, Place::NONE, hex(key));
    }
}

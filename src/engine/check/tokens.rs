//! Client request tokens: each has its expiry, and each expiry its token.

use std::ops::ControlFlow;

use super::report::{DifferenceKind, Place, Reporter};
use crate::engine::keys::{self, StoreKey};
use crate::engine::tokens::Remembered;
use crate::model::error::StoreError;
use crate::store::{Direction, KeyRange, Read};

/// Checks all tokens of a view.
///
/// # Errors
/// Those of the store.
pub fn check(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    each(read, &keys::tokens(), |key, value| {
        let is_right = match (keys::parse_token(key), Remembered::decode(value)) {
            (Some(token), Ok(known)) => read.get(&StoreKey::TokenExpiry(known.expires_ms, token).encode())?.is_some(),
            _ => false,
        };
        report(is_right, key, reporter);
        Ok(())
    })?;
    each(read, &keys::token_expiries(), |key, _| {
        let is_right = match keys::parse_token_expiry(key) {
            Some((expires_ms, token)) => {
                let known = read.get(&StoreKey::Token(token).encode())?.map(Remembered::decode);
                known.is_some_and(|known| known.is_ok_and(|known| known.expires_ms == expires_ms))
            }
            None => false,
        };
        report(is_right, key, reporter);
        Ok(())
    })
}

fn report(is_right: bool, key: &[u8], reporter: &mut Reporter) {
    if !is_right {
        reporter.add(DifferenceKind::WrongToken, Place::NONE, super::hex(key));
    }
}

fn each(
    read: &dyn Read,
    range: &KeyRange,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut failed = None;
    read.walk(range, Direction::Forward, &mut |key, value| match visit(key, value) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(()), Err)
}

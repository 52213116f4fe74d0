//! Values that lie in the store as a JSON object, whose member `v` is the version of the form. What the object holds is what the type
//! derives.
//!
//! A program reads its own version and all before; what a newer one wrote it refuses with a sentence and leaves alone. Members may be
//! added without a new version, when they have a default and an earlier program may drop them.

use std::cmp::Ordering;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::error::StoreError;

/// A value with a stored form.
pub trait Stored: Serialize + DeserializeOwned {
    /// The version that is written.
    const VERSION: u8;
    /// What it is, where its damage is told: `a catalog entry`.
    const WHAT: &'static str;

    /// The form of an earlier version in today's members; `None` when it is not of that version. Forms without `v` are version 0.
    #[must_use]
    fn upgrade(_version: u64, value: Value) -> Option<Value> {
        Some(value)
    }

    /// Do its members go together?
    #[must_use]
    fn is_consistent(&self) -> bool {
        true
    }
}

/// For members that are left out while there is nothing in them.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    v: u8,
    #[serde(flatten)]
    value: &'a T,
}

#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    v: u64,
}

/// The stored bytes.
///
/// # Errors
/// `Corrupt` for a value that has no form, as a map whose keys are no texts.
pub fn encode<T: Stored>(value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(&Versioned { v: T::VERSION, value }).map_err(|_| StoreError::Corrupt(T::WHAT))
}

/// The value of stored bytes.
///
/// # Errors
/// `Corrupt` when the bytes are none of its forms, `Format` when a newer version wrote them.
pub fn decode<T: Stored>(bytes: &[u8]) -> Result<T, StoreError> {
    let damaged = |_| StoreError::Corrupt(T::WHAT);
    let Version { v } = serde_json::from_slice(bytes).map_err(damaged)?;
    let value: T = match v.cmp(&T::VERSION.into()) {
        Ordering::Greater => return Err(StoreError::Format(u8::try_from(v).unwrap_or(u8::MAX))),
        Ordering::Equal => serde_json::from_slice(bytes).map_err(damaged)?,
        Ordering::Less => {
            let upgraded = T::upgrade(v, serde_json::from_slice(bytes).map_err(damaged)?);
            serde_json::from_value(upgraded.ok_or(StoreError::Corrupt(T::WHAT))?).map_err(damaged)?
        }
    };
    if value.is_consistent() { Ok(value) } else { Err(StoreError::Corrupt(T::WHAT)) }
}

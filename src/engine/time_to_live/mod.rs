//! Time to live: items whose time is over are deleted in the background (docs/dynamodb.md 16).
//!
//! A table with time to live has a list of expiries, kept in order of time by every change of an item ([`maintain`]), so that finding
//! what is over costs nothing while nothing is. The items that were there before are added in pieces ([`build`]); until then the
//! state is ENABLING and nothing is deleted. What is over is deleted as a client would delete it ([`sweep`]), each item checked
//! again in the transaction that deletes it.

pub mod build;
pub mod sweep;
pub mod upcoming;

use super::catalog::TableEntry;
use super::keys::{self, EntryAddress, SourceId, StoreKey};
use super::transaction::Transaction;
use crate::codec::record::Record;
use crate::model::api::TimeToLiveStatus;
use crate::model::error::StoreError;
use crate::model::{AttributeValue, Number};

/// A table's time to live, as its catalog entry knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeToLive {
    /// The attribute, also of one that was disabled.
    pub attribute: String,
    /// `None` when it is disabled.
    pub list: Option<List>,
    /// When it was enabled or disabled, milliseconds since the epoch.
    pub changed_ms: u64,
}

/// The expiries of a table. Every enabling makes a new list; the old one is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    pub id: SourceId,
    /// Every item of the table that has an expiry is on it.
    pub is_built: bool,
}

impl TimeToLive {
    /// The state at a time. Both changes take `transition_ms` at least.
    #[must_use]
    pub fn status(&self, now_ms: u64, transition_ms: u64) -> TimeToLiveStatus {
        let is_changing = now_ms < self.changed_ms.saturating_add(transition_ms);
        match self.list {
            Some(list) if is_changing || !list.is_built => TimeToLiveStatus::Enabling,
            Some(_) => TimeToLiveStatus::Enabled,
            None if is_changing => TimeToLiveStatus::Disabling,
            None => TimeToLiveStatus::Disabled,
        }
    }
}

/// When an item with this value expires, in milliseconds since the epoch, fractions cut off: the whole number of milliseconds `now`
/// is later than the value exactly when it is later than this. Values that are no number, negative or beyond any clock never expire.
#[must_use]
pub fn expiry_ms(value: &AttributeValue) -> Option<u64> {
    let AttributeValue::N(number) = value else { return None };
    milliseconds(number)
}

fn milliseconds(seconds: &Number) -> Option<u64> {
    let (is_negative, coefficient, exponent) = seconds.parts();
    if is_negative {
        return None;
    }
    let exponent = i32::from(exponent) + 3;
    let power = 10_u128.checked_pow(exponent.unsigned_abs());
    let milliseconds = match (exponent >= 0, power) {
        (true, Some(power)) => coefficient.checked_mul(power)?,
        (true, None) if coefficient > 0 => return None,
        (true, None) => 0,
        (false, Some(power)) => coefficient / power,
        (false, None) => 0,
    };
    u64::try_from(milliseconds).ok()
}

/// When the item of a record expires.
///
/// # Errors
/// `Corrupt`.
pub fn expiry_of(record: &Record<'_>, attribute: &str) -> Result<Option<u64>, StoreError> {
    Ok(record.attribute(attribute)?.as_ref().and_then(expiry_ms))
}

/// Brings the table's list up to date with a change of an item: its records before and after.
///
/// # Errors
/// Those of the store.
pub fn maintain(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    address: &EntryAddress,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
) -> Result<(), StoreError> {
    let Some(time_to_live) = &table.time_to_live else { return Ok(()) };
    let Some(list) = time_to_live.list else { return Ok(()) };
    let expiry = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => expiry_of(&Record::parse(bytes)?, &time_to_live.attribute),
        None => Ok(None),
    };
    let (old, new) = (expiry(old)?, expiry(new)?);
    if old == new {
        return Ok(());
    }
    let entry = address.encode();
    let key = |ms: u64| StoreKey::Expiry(list.id, ms, keys::place_in_source(&entry)).encode();
    if let Some(ms) = old {
        transaction.batch.delete(&key(ms))?;
    }
    if let Some(ms) = new {
        transaction.batch.put(&key(ms), &[])?;
    }
    Ok(())
}

/// Has the table a list of expiries?
#[must_use]
pub fn is_on(table: &TableEntry) -> bool {
    table.time_to_live.as_ref().is_some_and(|time_to_live| time_to_live.list.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiries_of_values() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(expiry_ms(&AttributeValue::N(text.parse().unwrap())), expected, "{text}");
        };
        check("0", Some(0));
        check("1571827560", Some(1_571_827_560_000));
        check("1571827560.5", Some(1_571_827_560_500));
        check("0.0019", Some(1));
        check("1e-130", Some(0));
        check("-1", None);
        check("18446744073709551.615", Some(u64::MAX));
        check("18446744073709551.616", None);
        check("9e125", None);
        assert_eq!(expiry_ms(&AttributeValue::S("1".into())), None);
    }

    #[test]
    fn states_follow_the_clock_and_the_list() {
        let check = |list: Option<bool>, now_ms: u64, expected: TimeToLiveStatus| {
            let list = list.map(|is_built| List { id: SourceId(1), is_built });
            let time_to_live = TimeToLive { attribute: "t".into(), list, changed_ms: 100 };
            assert_eq!(time_to_live.status(now_ms, 10), expected);
        };
        check(Some(true), 109, TimeToLiveStatus::Enabling);
        check(Some(true), 110, TimeToLiveStatus::Enabled);
        check(Some(false), 110, TimeToLiveStatus::Enabling);
        check(None, 109, TimeToLiveStatus::Disabling);
        check(None, 110, TimeToLiveStatus::Disabled);
    }
}

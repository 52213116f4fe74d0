//! Time to live: a persistent queue of expiries, ordered by time, from which expired items are
//! deleted in the background (docs/dynamodb.md 16).
//!
//! A table with time to live has a list of expiries, kept in order of time by every change of an
//! item ([`maintain`]), so that the search for expired items costs nothing while there are none.
//! The items written before are added in batches ([`build_list`]); until then the status is
//! ENABLING and nothing is deleted. Expired items are deleted as a client would delete them
//! (`background::expiry`), each checked again in the transaction that deletes it.

use super::{base::item_key, catalog::ExpiryList, runtime::prelude::*};
use crate::model::Number;

/// Returns when an item with this value expires, in whole milliseconds since the epoch, rounded
/// down: a whole number of milliseconds `now` is later than the value exactly when it is later than
/// this. Values that are no number, negative or beyond any clock never expire.
#[must_use]
pub fn expiry_ms(value: &AttributeValue) -> Option<u64> {
    let AttributeValue::N(number) = value else {
        return None;
    };
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

/// Returns when the item of a record expires.
pub fn expiry_of(record: &Record<'_>, attribute: &str) -> Result<Option<u64>, StoreError> {
    Ok(record.attribute(attribute)?.as_ref().and_then(expiry_ms))
}

/// Updates the table's list after a change of an item, given its records before and after.
pub fn update_list(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    address: &EntryAddress,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
) -> Result<(), StoreError> {
    let Some(time_to_live) = &table.time_to_live else {
        return Ok(());
    };
    let Some(list) = time_to_live.list else {
        return Ok(());
    };
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

/// Returns the first expiries on a list between two times, with the places of their items, earliest
/// first.
pub fn list_expiries(
    read: &dyn Read,
    list: SourceId,
    from_ms: u64,
    before_ms: u64,
    count: usize,
) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
    walks::take_while(
        read,
        &keys::expiries_between(list, from_ms, before_ms),
        count,
        |key, _| keys::parse_expiry(key).map(|(ms, place)| (ms, place.to_vec())),
    )
}

/// Returns the key of the item of an expiry; `None` if the item has another expiry by now.
pub fn expiring_item(
    read: &dyn Read,
    table: &TableEntry,
    ms: u64,
    place: &[u8],
) -> Result<Option<Key>, StoreError> {
    let entry = Space::Entry.key(table.source, place);
    let Some(bytes) = read.get(&entry)? else {
        return Ok(None);
    };
    let Some(time_to_live) = &table.time_to_live else {
        return Ok(None);
    };
    let key_if_due = || {
        let record = Record::parse(bytes)?;
        if expiry_of(&record, &time_to_live.attribute)? != Some(ms) {
            return Ok(None);
        }
        item_key::key_of_stored(&table.schema.key, &record.to_item()?).map(Some)
    };
    key_if_due().map_err(|error| locate(read, &entry, error))
}

// The building of a list: adds the items that a table had before time to live was enabled, in
// batches.

/// The items read in one transaction, and their bytes, limited so that other writers do not wait.
const ITEMS_PER_JOB: usize = 5_000;
const BYTES_PER_JOB: usize = 8 * 1024 * 1024;

/// Builds a table's list to its end. After an interruption it is built again from the start, which
/// does not change existing expiries.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends meanwhile.
pub fn build_list(
    shared: &Arc<EngineShared>,
    name: &TableName,
    list: SourceId,
) -> Result<(), Error> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let (name, start) = (name.clone(), after.clone());
        let step = shared.submit_in_background(move |transaction| {
            Ok(build_batch(transaction, &name, list, start.clone())?)
        })?;
        match step {
            Some(key) => after = Some(key),
            None => return Ok(()),
        }
    }
}

/// Adds some items after a key; returns the last key, or `None` if the list is built or not wanted
/// any more.
fn build_batch(
    transaction: &mut Transaction<'_>,
    name: &TableName,
    list: SourceId,
    after: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(table) = transaction.table(name)? else {
        return Ok(None);
    };
    let Some(time_to_live) = table.time_to_live.as_ref().filter(|it| {
        it.list
            == Some(ExpiryList {
                id: list,
                is_built: false,
            })
    }) else {
        return Ok(None);
    };
    let range = Space::Entry.range(table.source).after(after);
    let mut found = Vec::new();
    let last = walks::batch(
        transaction.read(),
        &range,
        ITEMS_PER_JOB,
        BYTES_PER_JOB,
        |key, value| {
            // A damaged item cannot expire; `check` reports it.
            if let Ok(Some(ms)) =
                Record::parse(value).and_then(|record| expiry_of(&record, &time_to_live.attribute))
            {
                found.push((ms, keys::place_in_source(key).to_vec()));
            }
            Ok(value.len())
        },
    )?;
    for (ms, place) in found {
        transaction
            .batch
            .put(&StoreKey::Expiry(list, ms, &place).encode(), &[])?;
    }
    if last.is_none() {
        transaction.change_table(&table, |new| {
            if let Some(time_to_live) = &mut new.time_to_live {
                time_to_live.list = Some(ExpiryList {
                    id: list,
                    is_built: true,
                });
            }
        })?;
    }
    Ok(last)
}

#[cfg(test)]
mod time_to_live_tests {
    use super::*;

    #[test]
    fn expiries_of_values() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                expiry_ms(&AttributeValue::N(text.parse().unwrap())),
                expected,
                "{text}"
            );
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
}

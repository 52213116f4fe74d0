//! What was counted, in the store: by source, and by time as a pyramid, so that a day takes bounded space. Whoever counted adds its part, so
//! the records are those of all processes.
//!
//! A source has two kinds of records: sums, which metrics are made of, and the heat of partitions and keys. Beside the sums by time is
//! their total, at level 0.

use std::ops::ControlFlow;

use super::pyramid::{Level, Merge, Place, Pyramid};
use super::record::HeatRecord;
use super::sums::{History, Sums};
use crate::engine::base::keys::{self, Meta, SourceId, StoreKey};
use crate::engine::base::stored::{Stored, decode, encode};
use crate::model::error::StoreError;
use crate::store::{Direction, KeyRange, Read, Write, try_walk};

/// The level of the total.
const TOTAL: u8 = 0;

/// A kind of record.
pub trait Kept: Merge + Stored {
    const KIND: u8;
}

impl Kept for Sums {
    const KIND: u8 = 1;
}

impl Kept for HeatRecord {
    const KIND: u8 = 2;
}

fn tag(level: Level) -> u8 {
    match level {
        Level::Slot => 1,
        Level::Minute => 2,
        Level::Hour => 3,
    }
}

fn key_of<R: Kept>(source: SourceId, (level, start): Place) -> Vec<u8> {
    StoreKey::Counted(source, R::KIND, tag(level), start).encode()
}

/// The records of a source that begin at a time or later.
///
/// # Errors
/// Those of the store; `Format` when a newer version wrote one.
pub fn since<R: Kept>(read: &dyn Read, source: SourceId, from_ms: u64) -> Result<Pyramid<R>, StoreError> {
    let mut found = Pyramid::default();
    for level in Level::ALL {
        collect(read, level, &keys::counted_between(source, R::KIND, tag(level), from_ms, u64::MAX), &mut found)?;
    }
    Ok(found)
}

/// All that was counted of a source, and the total.
///
/// # Errors
/// Those of the store; `Format` when a newer version wrote a part.
pub fn history(read: &dyn Read, source: SourceId) -> Result<History, StoreError> {
    let total = get(read, &StoreKey::Counted(source, Sums::KIND, TOTAL, 0).encode())?.unwrap_or_default();
    Ok(History { by_time: since(read, source, 0)?, total })
}

fn collect<R: Kept>(read: &dyn Read, level: Level, range: &KeyRange, found: &mut Pyramid<R>) -> Result<(), StoreError> {
    try_walk(read, range, Direction::Forward, |key, bytes| {
        if let Some(StoreKey::Counted(.., start)) = StoreKey::parse(key) {
            found.0.insert((level, start), lenient(decode(bytes))?);
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// A damaged record is as none: `check` tells of it, and the next that is written there takes its place.
fn lenient<R: Default>(decoded: Result<R, StoreError>) -> Result<R, StoreError> {
    match decoded {
        Err(StoreError::Corrupt(_)) => Ok(R::default()),
        decoded => decoded,
    }
}

fn get<R: Kept>(read: &dyn Read, key: &[u8]) -> Result<Option<R>, StoreError> {
    read.get(key)?.map(|bytes| lenient(decode(bytes))).transpose()
}

/// Adds what was counted of a source, and rolls up or forgets what is older.
///
/// # Errors
/// Those of the store; `Format` when a newer version wrote a record.
pub fn add<R: Kept>(batch: &mut dyn Write, source: SourceId, counted: &Pyramid<R>, now_ms: u64) -> Result<(), StoreError> {
    let mut touched = due(batch.as_read(), source, now_ms)?;
    let mut wanted: Vec<Place> = touched.0.keys().chain(counted.0.keys()).copied().collect();
    while let Some(place) = wanted.pop() {
        if !touched.0.contains_key(&place)
            && let Some(record) = get(batch.as_read(), &key_of::<R>(source, place))?
        {
            touched.0.insert(place, record);
        }
        wanted.extend(place.0.above(place.1).filter(|_| place.1 < place.0.due_before(now_ms)));
    }
    counted.0.iter().for_each(|(place, record)| touched.add(*place, record));
    for place in touched.roll(now_ms) {
        batch.delete(&key_of::<R>(source, place))?;
    }
    for (place, record) in &touched.0 {
        batch.put(&key_of::<R>(source, *place), &encode(record)?)?;
    }
    Ok(())
}

/// The records of a source that are to be rolled up.
fn due<R: Kept>(read: &dyn Read, source: SourceId, now_ms: u64) -> Result<Pyramid<R>, StoreError> {
    let mut found = Pyramid::default();
    for level in Level::ALL {
        let range = keys::counted_between(source, R::KIND, tag(level), 0, level.due_before(now_ms));
        collect(read, level, &range, &mut found)?;
    }
    Ok(found)
}

/// Adds to the total of a source; `since_ms` is when the counting began, if there is none yet.
///
/// # Errors
/// Those of the store; `Format` when a newer version wrote it.
pub fn add_total(batch: &mut dyn Write, source: SourceId, counted: &Sums, since_ms: u64) -> Result<(), StoreError> {
    let key = StoreKey::Counted(source, Sums::KIND, TOTAL, 0).encode();
    let mut total: Sums = get(batch.as_read(), &key)?.unwrap_or_default();
    total.since_ms = total.since_ms.or(Some(since_ms));
    total.merge(counted);
    batch.put(&key, &encode(&total)?)
}

/// Refused requests that are stored.
///
/// # Errors
/// Those of the store.
pub fn user_errors(read: &dyn Read) -> Result<u64, StoreError> {
    let bytes = read.get(&StoreKey::Meta(Meta::UserErrors).encode())?;
    Ok(bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes))
}

/// Is a key one of an hour that is over for more than a day, or of a finer record as old?
#[must_use]
pub fn is_over(level: u8, start: u64, now_ms: u64) -> bool {
    level != TOTAL && start < Level::Hour.due_before(now_ms)
}

/// Is that a record as it is written here?
#[must_use]
pub fn is_readable(key: &[u8], value: &[u8]) -> bool {
    match StoreKey::parse(key) {
        Some(StoreKey::Counted(_, Sums::KIND, ..)) => decode::<Sums>(value).is_ok(),
        Some(StoreKey::Counted(_, HeatRecord::KIND, ..)) => decode::<HeatRecord>(value).is_ok(),
        _ => false,
    }
}

impl Stored for Sums {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "counted units";
}

impl Stored for HeatRecord {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "heat";
}

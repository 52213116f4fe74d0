//! The stored metrics: time series of counts by source, downsampled with age (see `pyramid`), so
//! that a day takes bounded space. Each process adds its part, so the records are the sums of all
//! processes.
//!
//! A source has up to three kinds of records: sums, from which metrics are made, the heat of
//! partitions and keys, and with a table's base its access patterns. Beside the sums by time is their total, at level 0.

use std::collections::BTreeMap;

use super::{
    access::AccessRecord,
    pyramid::{MergeRecord, Pyramid, RecordTime, TimeLevel},
    sums::{History, Sums},
};
use crate::codec::digest::{hex, unhex};
use crate::engine::{
    base::{
        keys::Meta,
        stored_form::{StoredForm, decode, encode},
    },
    prelude::*,
};
use crate::model::metrics::{Load, PeakSecond, PeriodLoad};

/// The level of the total.
const TOTAL_LEVEL: u8 = 0;

/// A kind of stored record.
pub trait MeterRecord: MergeRecord + StoredForm {
    const KIND: u8;
}

impl MeterRecord for Sums {
    const KIND: u8 = 1;
}

impl MeterRecord for HeatRecord {
    const KIND: u8 = 2;
}

impl MeterRecord for AccessRecord {
    const KIND: u8 = 3;
}

fn level_tag(level: TimeLevel) -> u8 {
    level as u8 + 1
}

fn key_of<R: MeterRecord>(source: SourceId, time: RecordTime) -> Vec<u8> {
    let (level, start) = time;
    StoreKey::Counted(source, R::KIND, level_tag(level), start).encode()
}

/// Reads the records of a source that begin at a time or later.
///
/// # Errors
/// Fails with `Format` if a newer version wrote one; also errors of the store.
pub fn since<R: MeterRecord>(
    read: &dyn Read,
    source: SourceId,
    from_ms: u64,
) -> Result<Pyramid<R>, StoreError> {
    records(read, source, |_| (from_ms, u64::MAX))
}

/// Reads the records of a source that begin in a range of times, which each level has.
fn records<R: MeterRecord>(
    read: &dyn Read,
    source: SourceId,
    times: impl Fn(TimeLevel) -> (u64, u64),
) -> Result<Pyramid<R>, StoreError> {
    let mut found = Pyramid::default();
    for level in TimeLevel::ALL {
        let (from_ms, to_ms) = times(level);
        let range = keys::counted_between(source, R::KIND, level_tag(level), from_ms, to_ms);
        walks::each(read, &range, |key, bytes| {
            let Some(StoreKey::Counted(.., start)) = StoreKey::parse(key) else {
                log::warn!("the metrics record with the key {} is ignored", hex(key));
                return Ok(());
            };
            let record = or_empty(key, decode(bytes))?;
            found.0.insert((level, start), record);
            Ok(())
        })?;
    }
    Ok(found)
}

/// Reads all sums of a source, by time and in total.
///
/// # Errors
/// Fails with `Format` if a newer version wrote a part; also errors of the store.
pub fn history(read: &dyn Read, source: SourceId) -> Result<History, StoreError> {
    let total = get(
        read,
        &StoreKey::Counted(source, Sums::KIND, TOTAL_LEVEL, 0).encode(),
    )?
    .unwrap_or_default();
    Ok(History {
        by_time: since(read, source, 0)?,
        total,
    })
}

/// Treats a damaged record as an empty one: `check` reports it, and the next write replaces it.
fn or_empty<R: Default>(key: &[u8], decoded: Result<R, StoreError>) -> Result<R, StoreError> {
    decoded.or_else(|error| {
        if !error.is_corrupt() {
            return Err(error);
        }
        log::warn!(
            "the metrics record with the key {} is ignored: {error}",
            hex(key)
        );
        Ok(R::default())
    })
}

fn get<R: MeterRecord>(read: &dyn Read, key: &[u8]) -> Result<Option<R>, StoreError> {
    read.get(key)?
        .map(|bytes| or_empty(key, decode(bytes)))
        .transpose()
}

/// Adds counts to a source, and rolls up or drops older ones.
///
/// # Errors
/// Fails with `Format` if a newer version wrote a record; also errors of the store.
pub fn add<R: MeterRecord>(
    batch: &mut dyn Write,
    source: SourceId,
    counted: &Pyramid<R>,
    now_ms: u64,
) -> Result<(), StoreError> {
    // Records to be rolled up.
    let due = |level: TimeLevel| (0, level.due_before(now_ms));
    let mut touched = records(batch.as_read(), source, due)?;
    let mut wanted: Vec<RecordTime> = touched.0.keys().chain(counted.0.keys()).copied().collect();
    while let Some(place) = wanted.pop() {
        if !touched.0.contains_key(&place)
            && let Some(record) = get(batch.as_read(), &key_of::<R>(source, place))?
        {
            touched.0.insert(place, record);
        }
        wanted.extend(
            place
                .0
                .parent(place.1)
                .filter(|_| place.1 < place.0.due_before(now_ms)),
        );
    }
    counted
        .0
        .iter()
        .for_each(|(place, record)| touched.add(*place, record));
    for place in touched.roll_up(now_ms) {
        batch.delete(&key_of::<R>(source, place))?;
    }
    for (place, record) in &touched.0 {
        batch.put(&key_of::<R>(source, *place), &encode(record)?)?;
    }
    Ok(())
}

/// Adds to the total of a source; `since_ms` is the begin of the counting, if there is no total
/// yet.
///
/// # Errors
/// Fails with `Format` if a newer version wrote it; also errors of the store.
pub fn add_total(
    batch: &mut dyn Write,
    source: SourceId,
    counted: &Sums,
    since_ms: u64,
) -> Result<(), StoreError> {
    let key = StoreKey::Counted(source, Sums::KIND, TOTAL_LEVEL, 0).encode();
    let mut total: Sums = get(batch.as_read(), &key)?.unwrap_or_default();
    total.since_ms = total.since_ms.or(Some(since_ms));
    total.merge(counted);
    batch.put(&key, &encode(&total)?)
}

/// Removes the records of a source; its total begins at `since_ms`.
///
/// # Errors
/// Fails with errors of the store.
pub fn restart(batch: &mut dyn Write, source: SourceId, since_ms: u64) -> Result<(), StoreError> {
    let mut old = Vec::new();
    for kind in [Sums::KIND, HeatRecord::KIND, AccessRecord::KIND] {
        for level in [TOTAL_LEVEL]
            .into_iter()
            .chain(TimeLevel::ALL.map(level_tag))
        {
            let range = keys::counted_between(source, kind, level, 0, u64::MAX);
            walks::each(batch.as_read(), &range, |key, _| {
                old.push(key.to_vec());
                Ok(())
            })?;
        }
    }
    for key in old {
        batch.delete(&key)?;
    }
    add_total(batch, source, &Sums::default(), since_ms)
}

/// Reads the stored number of refused requests.
pub fn user_errors(read: &dyn Read) -> Result<u64, StoreError> {
    let key = StoreKey::Meta(Meta::UserErrors);
    let stored = key.read(read, "the number of refused requests");
    Ok(or_empty(&key.encode(), stored)?.unwrap_or(0))
}

/// True if a record began more than a day ago, by whole hours.
#[must_use]
pub fn is_expired(level: u8, start: u64, now_ms: u64) -> bool {
    level != TOTAL_LEVEL && start < TimeLevel::Hour.due_before(now_ms)
}

/// True if the key and value are a record of this form.
#[must_use]
pub fn is_readable(key: &[u8], value: &[u8]) -> bool {
    match StoreKey::parse(key) {
        Some(StoreKey::Counted(_, Sums::KIND, ..)) => decode::<Sums>(value).is_ok(),
        Some(StoreKey::Counted(_, HeatRecord::KIND, ..)) => decode::<HeatRecord>(value).is_ok(),
        Some(StoreKey::Counted(_, AccessRecord::KIND, ..)) => decode::<AccessRecord>(value).is_ok(),
        _ => false,
    }
}

impl StoredForm for Sums {
    const VERSION: u8 = 1;
    const NAME: &'static str = "counted units";
}

impl StoredForm for AccessRecord {
    const VERSION: u8 = 1;
    const NAME: &'static str = "access patterns";
}

impl StoredForm for HeatRecord {
    const VERSION: u8 = 1;
    const NAME: &'static str = "heat";
}

// The load of a source over an interval, by partition and by key, in bounded space.

/// The number of keys in a record; the load of other keys is in the sums of their partitions.
pub const KEYS_MAX: usize = 50;
/// The number of partitions in a record.
pub const PARTITIONS_MAX: usize = 256;

/// The load of a source over an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "HeatForm", into = "HeatForm")]
pub struct HeatRecord {
    /// The load by the number of the partition.
    pub partitions: BTreeMap<u32, PeriodLoad>,
    pub keys: BTreeMap<Digest, PeriodLoad>,
}

impl MergeRecord for HeatRecord {
    fn merge(&mut self, other: &Self) {
        add_all(&mut self.partitions, &other.partitions);
        add_all(&mut self.keys, &other.keys);
    }

    fn trim(&mut self) {
        keep_hottest(&mut self.partitions, PARTITIONS_MAX);
        keep_hottest(&mut self.keys, KEYS_MAX);
    }

    fn is_empty(&self) -> bool {
        self.partitions.is_empty() && self.keys.is_empty()
    }
}

fn add_all<K: Ord + Copy>(to: &mut BTreeMap<K, PeriodLoad>, from: &BTreeMap<K, PeriodLoad>) {
    from.iter()
        .for_each(|(name, load)| to.entry(*name).or_default().merge(load));
}

/// Returns the hottest first: by units, then by throttled requests.
pub fn hottest<K: Ord + Copy>(loads: &BTreeMap<K, PeriodLoad>) -> Vec<(K, PeriodLoad)> {
    let mut loads: Vec<(K, PeriodLoad)> = loads.iter().map(|(name, load)| (*name, *load)).collect();
    let rank = |heat: &PeriodLoad| (heat.load.weight(), heat.load.throttles());
    // The sort is stable: equals stay in the order of their names.
    loads.sort_by(|(_, a), (_, b)| {
        rank(b)
            .0
            .total_cmp(&rank(a).0)
            .then(rank(b).1.cmp(&rank(a).1))
    });
    loads
}

fn keep_hottest<K: Ord + Copy>(loads: &mut BTreeMap<K, PeriodLoad>, count: usize) {
    if loads.len() > count {
        *loads = hottest(loads).into_iter().take(count).collect();
    }
}

/// The stored form of [`HeatRecord`]: rows of a partition's number, or a key's digest in
/// hexadecimal digits, and its load.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatForm {
    partitions: Vec<(u32, HeatRow)>,
    keys: Vec<(String, HeatRow)>,
}

/// Read and write units, throttled reads and writes; the busiest second and the same four of it.
type HeatRow = (f64, f64, u64, u64, u64, f64, f64, u64, u64);

fn to_row(heat: &PeriodLoad) -> HeatRow {
    // Shares of a scan have many digits; a thousandth of a unit is precise enough.
    let short = |units: f64| (units * 1e3).round() / 1e3;
    let (load, PeakSecond { second, load: top }) = (&heat.load, &heat.peak);
    let (reads, writes) = (load.read_throttles, load.write_throttles);
    (
        short(load.read),
        short(load.write),
        reads,
        writes,
        *second,
        short(top.read),
        short(top.write),
        top.read_throttles,
        top.write_throttles,
    )
}

fn from_row(row: HeatRow) -> PeriodLoad {
    let (
        read,
        write,
        read_throttles,
        write_throttles,
        second,
        top_read,
        top_write,
        top_reads,
        top_writes,
    ) = row;
    let top = Load {
        read: top_read,
        write: top_write,
        read_throttles: top_reads,
        write_throttles: top_writes,
    };
    PeriodLoad {
        load: Load {
            read,
            write,
            read_throttles,
            write_throttles,
        },
        peak: PeakSecond { second, load: top },
    }
}

impl From<HeatRecord> for HeatForm {
    fn from(record: HeatRecord) -> Self {
        Self {
            partitions: record
                .partitions
                .iter()
                .map(|(id, heat)| (*id, to_row(heat)))
                .collect(),
            keys: record
                .keys
                .iter()
                .map(|(key, heat)| (hex(key), to_row(heat)))
                .collect(),
        }
    }
}

impl TryFrom<HeatForm> for HeatRecord {
    type Error = &'static str;

    fn try_from(form: HeatForm) -> Result<Self, Self::Error> {
        let key = |(text, row): (String, HeatRow)| {
            let digest = digest_of(&text).ok_or("the digest of a key")?;
            Ok((digest, from_row(row)))
        };
        Ok(Self {
            partitions: form
                .partitions
                .into_iter()
                .map(|(id, row)| (id, from_row(row)))
                .collect(),
            keys: form
                .keys
                .into_iter()
                .map(key)
                .collect::<Result<_, Self::Error>>()?,
        })
    }
}

fn digest_of(text: &str) -> Option<Digest> {
    unhex(text)?.try_into().ok()
}

#[cfg(test)]
mod record_tests {
    use super::*;
    use crate::engine::base::stored_form::{decode, encode};

    fn load(units: f64) -> PeriodLoad {
        let load = Load {
            read: units,
            write: units,
            read_throttles: 123_456,
            write_throttles: 123_456,
        };
        PeriodLoad {
            load,
            peak: PeakSecond {
                second: 1_700_000_000,
                load,
            },
        }
    }

    #[test]
    fn a_full_record_is_stored_in_less_than_50_kb_and_read_as_it_was() {
        let mut record = HeatRecord::default();
        for n in 0..1_000_u32 {
            record.partitions.insert(n, load(f64::from(n) + 0.5));
            record
                .keys
                .insert(u128::from(n).to_be_bytes(), load(f64::from(n) + 0.125));
        }
        record.trim();
        assert_eq!(
            (record.partitions.len(), record.keys.len()),
            (PARTITIONS_MAX, KEYS_MAX)
        );
        // The hottest stayed.
        assert!(
            record.partitions.contains_key(&999)
                && record.keys.contains_key(&999_u128.to_be_bytes())
        );
        let bytes = encode(&record).unwrap();
        assert!(bytes.len() < 50_000, "{}", bytes.len());
        assert_eq!(decode::<HeatRecord>(&bytes).unwrap(), record);
    }
}

//! A comparison of two tables in bounded memory: both are read once into a [`Spill`], then keys
//! that differ there are read again, consistently, so that nothing is reported that is equal by
//! then.
//!
//! A spill has the keys of a table with a digest of each item on disk, since they may not fit into
//! memory, in buckets that do. A bucket is an unnamed temporary file, so that nothing is left of it
//! however the process ends. Both tables of a comparison have the same item in the same bucket,
//! whatever order their services read them in.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::ops::ControlFlow;
use std::thread;

use super::journal::{CopyCounts, SegmentPosition};
use super::scan::{self, CopyProgress};
use super::{CopyError, CopySide};
use crate::codec::digest::{Digest, digest};
use crate::codec::key;
use crate::codec::record::{self, Record, ResultRow};
use crate::database::cancel::ThrottleBackoff;
use crate::database::prelude::*;
use crate::model::api::{BatchGetItemRequest, TableKeys};
use crate::model::error::StoreError;
use crate::model::limits::BATCH_GET_KEYS_MAX;
use crate::model::{Key, KeySchema};

/// A difference at one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub key: Key,
    /// The item in each table that has it; the two are not equal.
    pub items: [Option<Item>; 2],
}

impl Difference {
    /// Returns the attributes that differ, by name, with the value in the first table and in the
    /// second.
    #[must_use]
    pub fn attributes(&self) -> BTreeMap<&str, [Option<&AttributeValue>; 2]> {
        let [one, two] = self
            .items
            .each_ref()
            .map(|item| item.as_ref().map(|item| &item.0));
        let names = one.into_iter().chain(two).flat_map(BTreeMap::keys);
        let values = names.map(|name| {
            (
                name.as_str(),
                [one, two].map(|item| item.and_then(|item| item.get(name))),
            )
        });
        values.filter(|(_, [one, two])| one != two).collect()
    }
}

/// A visitor of the differences; `Break` ends the comparison.
pub type OnDifference<'a> = dyn FnMut(&Difference) -> ControlFlow<()> + 'a;

/// A comparison of two tables with the same key.
#[derive(Debug)]
pub struct Comparison<'a> {
    pub sides: [CopySide; 2],
    pub key: KeySchema,
    /// The number of segments in which a table of a service is scanned.
    pub segments: u32,
    pub progress: &'a CopyProgress,
}

fn io_failed(source: io::Error) -> CopyError {
    CopyError::Io {
        doing: "temporary files for the comparison, in TMPDIR or /tmp",
        source,
    }
}

impl Comparison<'_> {
    /// Reports each difference, in the hash order of the partition keys in this program, and inside
    /// a collection in sort key order.
    ///
    /// # Errors
    /// Those of the services and of temporary files.
    pub fn run(&self, on_difference: &mut OnDifference<'_>) -> Result<(), CopyError> {
        let sides = self.sides.clone().map(|side| side.of(self.progress));
        let asking = Self {
            sides,
            key: self.key.clone(),
            ..*self
        };
        self.progress
            .stop_on_error(|| asking.compare(on_difference))
    }

    fn compare(&self, on_difference: &mut OnDifference<'_>) -> Result<(), CopyError> {
        let spills = [
            Spill::new().map_err(io_failed)?,
            Spill::new().map_err(io_failed)?,
        ];
        self.read(&spills)?;
        if self.progress.is_stopped() {
            return Err(CopyError::Refused(
                "stopped before both tables were read".to_owned(),
            ));
        }
        let [one, two] = spills;
        let mut suspects = Vec::new();
        for pair in one.pairs(two) {
            let (one, two) = pair.map_err(io_failed)?;
            for key in differing_keys(one, two) {
                suspects.push(key_of(&self.key, &key).map_err(io_failed)?);
                if suspects.len() == BATCH_GET_KEYS_MAX
                    && self
                        .recheck(std::mem::take(&mut suspects), on_difference)?
                        .is_break()
                {
                    return Ok(());
                }
            }
        }
        self.recheck(suspects, on_difference).map(drop)
    }

    /// Reads both tables at once.
    fn read(&self, spills: &[Spill; 2]) -> Result<(), CopyError> {
        let [one, two] = spills;
        let [first, second] = &self.sides;
        thread::scope(|scope| {
            let other = scope.spawn(|| self.read_side(second, two));
            let first_result = self.read_side(first, one);
            let second_result = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            first_result.and(second_result)
        })
    }

    fn read_side(&self, side: &CopySide, spill: &Spill) -> Result<(), CopyError> {
        // With a page of a data file the kernel maps its neighbours, so each segment that is read
        // at a time takes memory. Without a way to a service, one thread is fast enough.
        let segments = match side.local {
            Some(_) => 1,
            None => self.segments as usize,
        };
        let places = vec![SegmentPosition::Start; segments];
        scan::scan(side, places, self.progress, &|request| {
            let (mut items, mut added) = (0, Ok(()));
            let page = side.retry(|| {
                side.database.scan_rows(request, &mut |row| {
                    items += 1;
                    if added.is_ok() {
                        added = self.add_row(side, row, spill);
                    }
                })
            })?;
            added?;
            self.progress.add(&CopyCounts {
                items,
                read_units: page.consumed_capacity.total(),
                ..CopyCounts::default()
            });
            Ok(page)
        })
    }

    fn add_row(&self, side: &CopySide, row: ResultRow<'_>, spill: &Spill) -> Result<(), CopyError> {
        let key = side.check(row_key(&self.key, row))?;
        let key = key.ok_or_else(|| without_key(side))?;
        let digest = side.check(content_digest(&self.key, row))?;
        spill.add(&key, &digest).map_err(io_failed)
    }

    /// Reads these keys again, and reports the items that still differ.
    fn recheck(
        &self,
        keys: Vec<Key>,
        on_difference: &mut OnDifference<'_>,
    ) -> Result<ControlFlow<()>, CopyError> {
        if keys.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let [one, two] = &self.sides;
        let items = |side| get_items(side, &self.key, &keys, self.progress);
        let (mut ones, mut twos) = (items(one)?, items(two)?);
        for key in keys {
            let items = [ones.remove(&key), twos.remove(&key)];
            if items[0] != items[1] && on_difference(&Difference { key, items }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns the items of these keys that exist, read consistently.
///
/// # Errors
/// Those of the service; an item without its key.
pub fn get_items(
    side: &CopySide,
    schema: &KeySchema,
    keys: &[Key],
    progress: &CopyProgress,
) -> Result<HashMap<Key, Item>, CopyError> {
    let mut waiting: Vec<Item> = keys.iter().map(|key| key.to_item(schema)).collect();
    let (mut found, mut patience) = (HashMap::new(), ThrottleBackoff::default());
    while !waiting.is_empty() {
        let mut of_table = TableKeys::new(side.table.clone(), waiting.clone());
        of_table.consistent_read = true;
        let request = BatchGetItemRequest {
            request_items: vec![of_table],
            ..BatchGetItemRequest::default()
        };
        let read = side.retry(|| side.database.batch_get_item(&request))?;
        let consumed = read.page.consumed_capacity.iter();
        progress.add(&CopyCounts {
            read_units: consumed.map(|of| of.total()).sum(),
            ..CopyCounts::default()
        });
        for item in read.responses.into_iter().flatten() {
            let key = item.key(schema).ok_or_else(|| without_key(side))?;
            found.insert(key, item);
        }
        let left: Vec<Item> = read.page.unprocessed_keys.into_iter().flatten().collect();
        if !side.check(patience.wait_for_rest(&side.caller, waiting.len(), left.len()))? {
            return Err(side.error(Error::Unavailable(
                "the table gives no more items: it has no capacity left, or it is to end",
            )));
        }
        waiting = left;
    }
    Ok(found)
}

/// Returns the refusal of an item without its key.
pub fn without_key(side: &CopySide) -> CopyError {
    CopyError::Refused(format!("{}: an item without its key", side.name))
}

fn row_key(schema: &KeySchema, row: ResultRow<'_>) -> Result<Option<Key>, StoreError> {
    let record = match row {
        ResultRow::Item(item) => return Ok(item.key(schema)),
        ResultRow::Record(record) => record,
    };
    let sort = match &schema.sort {
        None => None,
        Some(sort) => match record.attribute(&sort.name)? {
            None => return Ok(None),
            sort => sort,
        },
    };
    let partition = record.attribute(&schema.partition.name)?;
    Ok(partition.map(|partition| Key { partition, sort }))
}

/// Returns the digest of a row's content, without the version and time of a record.
fn content_digest(schema: &KeySchema, row: ResultRow<'_>) -> Result<Digest, StoreError> {
    Ok(match row {
        ResultRow::Record(record) => digest(record.content()),
        ResultRow::Item(item) => {
            let record = record::encode(item, &schema.names(), 0, 0);
            digest(Record::parse(&record)?.content())
        }
    })
}

/// Returns the keys that only one list has, or that have different digests, in order.
fn differing_keys(first: Vec<SpillEntry>, second: Vec<SpillEntry>) -> Vec<Vec<u8>> {
    let [first, second] = [first, second].map(BTreeSet::from_iter);
    let mut keys: Vec<Vec<u8>> = first
        .symmetric_difference(&second)
        .map(|(key, _)| key.clone())
        .collect();
    keys.dedup();
    keys
}

/// The buckets of a table: two tables have a file each for every bucket, and a process may have
/// 1,024 open files.
const BUCKETS: usize = 256;
/// The size limit of a key's ordered bytes: every byte escaped, and the two terminators.
const KEY_BYTES_MAX: usize = 8 * 1024;
const BUFFER_BYTES: usize = 16 * 1024;

/// An item in a spill: the ordered bytes of its key, and the digest of its content.
pub type SpillEntry = (Vec<u8>, Digest);

/// The buckets of one table.
#[derive(Debug)]
pub struct Spill(Vec<Mutex<BufWriter<File>>>);

impl Spill {
    /// Creates the temporary files of a spill.
    ///
    /// # Errors
    /// The directory for temporary files refuses a file.
    pub fn new() -> io::Result<Self> {
        let bucket = |_| {
            Ok(Mutex::new(BufWriter::with_capacity(
                BUFFER_BYTES,
                tempfile::tempfile()?,
            )))
        };
        Ok(Self((0..BUCKETS).map(bucket).collect::<io::Result<_>>()?))
    }

    /// Adds an item of that key and that digest.
    ///
    /// # Errors
    /// The write to the temporary file fails.
    pub fn add(&self, key: &Key, digest: &Digest) -> io::Result<()> {
        let (bytes, place) = key_bytes(key);
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let mut file = self.0[place % self.0.len()].lock();
        file.write_all(&length.to_le_bytes())?;
        file.write_all(&bytes)?;
        file.write_all(digest)
    }

    /// Reads the buckets of two tables pair by pair, each in key order.
    pub fn pairs(
        self,
        other: Self,
    ) -> impl Iterator<Item = io::Result<(Vec<SpillEntry>, Vec<SpillEntry>)>> {
        self.0
            .into_iter()
            .zip(other.0)
            .map(|(one, two)| Ok((read_bucket(one)?, read_bucket(two)?)))
    }
}

/// Returns the ordered bytes of a key, and a number that all keys of its collection share.
fn key_bytes(key_values: &Key) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    key::encode(&key_values.partition, &mut bytes);
    let digest = key::partition_digest(&[&key_values.partition]);
    if let Some(sort) = &key_values.sort {
        key::encode(sort, &mut bytes);
    }
    (
        bytes,
        usize::from(u16::from_be_bytes([digest[0], digest[1]])),
    )
}

/// Decodes a key from its ordered bytes.
///
/// # Errors
/// The bytes are not a key of this schema.
pub fn key_of(schema: &KeySchema, bytes: &[u8]) -> io::Result<Key> {
    let (partition, rest) =
        key::decode(schema.partition.attribute_type, bytes).map_err(io::Error::other)?;
    let sort = schema
        .sort
        .as_ref()
        .map(|sort| key::decode(sort.attribute_type, rest))
        .transpose()
        .map_err(io::Error::other)?;
    Ok(Key {
        partition,
        sort: sort.map(|(sort, _)| sort),
    })
}

fn read_bucket(bucket: Mutex<BufWriter<File>>) -> io::Result<Vec<SpillEntry>> {
    let mut file = bucket
        .into_inner()
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    let mut left = file.metadata()?.len();
    let mut file = BufReader::new(file);
    let mut entries = Vec::new();
    while left > 0 {
        let mut length = [0; 4];
        file.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > KEY_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (mut key, mut digest) = (vec![0; length], Digest::default());
        file.read_exact(&mut key)?;
        file.read_exact(&mut digest)?;
        left = left
            .checked_sub((4 + length + digest.len()) as u64)
            .ok_or(io::ErrorKind::InvalidData)?;
        entries.push((key, digest));
    }
    // A key that moved during the scan may be there twice: the last is the newest.
    entries.sort_by(|one, two| one.0.cmp(&two.0));
    entries.dedup_by(|later, earlier| {
        later.0 == earlier.0 && {
            earlier.1 = later.1;
            true
        }
    });
    Ok(entries)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::model::AttributeValue as V;
    use crate::model::schema::{KeyAttribute, KeyAttributeType};

    #[test]
    fn sorted_lists_are_merged() {
        let list = |text: &str| {
            text.bytes()
                .map(|byte| (vec![byte.to_ascii_lowercase()], [byte; 16]))
                .collect()
        };
        let check = |one: &str, two: &str, expected: &str| {
            let found = differing_keys(list(one), list(two)).concat();
            assert_eq!(found, expected.as_bytes(), "{one} {two}");
        };
        check("", "", "");
        check("abc", "abc", "");
        check("abd", "bcdE", "ace");
        check("aBc", "abC", "bc");
    }

    #[test]
    fn buckets_pair_what_has_the_same_key() {
        let attribute = |name: &str, attribute_type| KeyAttribute {
            name: name.to_owned(),
            attribute_type,
        };
        let schema = KeySchema {
            partition: attribute("p", KeyAttributeType::S),
            sort: Some(attribute("s", KeyAttributeType::N)),
        };
        let items: Vec<Item> = (0..200_i64)
            .map(|n| {
                Item::from([
                    ("p", V::S(format!("p{}", n % 7))),
                    ("s", V::N(n.into())),
                    ("a", V::Bool(n % 2 == 0)),
                ])
            })
            .collect();
        let (one, two) = (Spill::new().unwrap(), Spill::new().unwrap());
        let add = |spill: &Spill, row: ResultRow<'_>| {
            let key = row_key(&schema, row).unwrap().unwrap();
            let digest = content_digest(&schema, row).unwrap();
            spill.add(&key, &digest).unwrap();
        };
        for item in &items {
            add(&one, ResultRow::Item(item));
        }
        // A stored record and an item of it are the same.
        for item in items.iter().rev() {
            let record = record::encode(item, &schema.names(), 7, 8);
            add(&two, ResultRow::Record(Record::parse(&record).unwrap()));
        }
        let mut found = 0;
        for pair in one.pairs(two) {
            let (one, two) = pair.unwrap();
            assert_eq!(one, two);
            assert!(one.is_sorted());
            for (bytes, _) in one {
                let key = key_of(&schema, &bytes).unwrap();
                assert!(items.iter().any(|item| item.key(&schema).unwrap() == key));
                found += 1;
            }
        }
        assert_eq!(found, items.len());
    }
}

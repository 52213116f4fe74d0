//! The keys of a table with a digest of each item, on disk: so many that they may not fit into memory, in buckets that do.
//!
//! A bucket is a file without a name, so that nothing is left of it however the process ends. Both tables of a comparison have the same item in
//! the same bucket, whatever order their services read them in.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use parking_lot::Mutex;

use crate::codec::digest::Digest;
use crate::codec::{key, record};
use crate::model::{Item, Key, KeySchema};

/// Items of a table in one bucket, about.
const ITEMS_PER_BUCKET: u64 = 100_000;
/// Two tables have a file each for every bucket, and a process may have 1,024 files open.
const BUCKETS_MAX: u64 = 256;
/// A key's ordered bytes with every byte escaped, and the two ends.
const KEY_BYTES_MAX: usize = 8 * 1024;
const BUFFER_BYTES: usize = 16 * 1024;

/// An item: the ordered bytes of its key, and what tells it from another of that key.
pub type Entry = (Vec<u8>, Digest);

/// The buckets of one table.
#[derive(Debug)]
pub struct Spill(Vec<Mutex<BufWriter<File>>>);

/// How many buckets tables of so many items need.
#[must_use]
pub fn buckets(items: u64) -> u64 {
    (items / ITEMS_PER_BUCKET + 1).min(BUCKETS_MAX)
}

impl Spill {
    /// # Errors
    /// The directory for temporary files takes none.
    pub fn new(buckets: u64) -> io::Result<Self> {
        let bucket = |_| Ok(Mutex::new(BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?)));
        Ok(Self((0..buckets.max(1)).map(bucket).collect::<io::Result<_>>()?))
    }

    /// Adds an item of that key.
    ///
    /// # Errors
    /// Those of the file.
    pub fn add(&self, schema: &KeySchema, key: &Key, item: &Item) -> io::Result<()> {
        let (bytes, place) = key_bytes(key);
        let first: Vec<&str> = schema.attributes().map(|attribute| attribute.name.as_str()).collect();
        // Version and time are in the record's header, which is none of the content.
        let record = record::encode(item, &first, 0, 0);
        let content = record::Record::parse(&record).map(|record| crate::codec::digest::digest(record.content()));
        let digest = content.map_err(io::Error::other)?;
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let Some(bucket) = self.0.get(place % self.0.len()) else { return Ok(()) };
        let mut file = bucket.lock();
        file.write_all(&length.to_le_bytes())?;
        file.write_all(&bytes)?;
        file.write_all(&digest)
    }

    /// The buckets of two tables, one after the other, each in the order of its keys.
    pub fn pairs(self, other: Self) -> impl Iterator<Item = io::Result<(Vec<Entry>, Vec<Entry>)>> {
        self.0.into_iter().zip(other.0).map(|(one, two)| Ok((entries(one)?, entries(two)?)))
    }
}

/// The ordered bytes of a key, and a number that all keys of its collection share.
fn key_bytes(of: &Key) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    key::encode(&of.partition, &mut bytes);
    let digest = key::partition_digest(&[&of.partition]);
    if let Some(sort) = &of.sort {
        key::encode(sort, &mut bytes);
    }
    (bytes, usize::from(u16::from_be_bytes([digest[0], digest[1]])))
}

/// The key of such bytes.
///
/// # Errors
/// They are none.
pub fn key_of(schema: &KeySchema, bytes: &[u8]) -> io::Result<Key> {
    let (partition, rest) = key::decode(schema.partition.attribute_type, bytes).map_err(io::Error::other)?;
    let sort = schema.sort.as_ref().map(|sort| key::decode(sort.attribute_type, rest)).transpose().map_err(io::Error::other)?;
    Ok(Key { partition, sort: sort.map(|(sort, _)| sort) })
}

fn entries(bucket: Mutex<BufWriter<File>>) -> io::Result<Vec<Entry>> {
    let mut file = bucket.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?;
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
        left = left.saturating_sub((4 + length + digest.len()) as u64);
        entries.push((key, digest));
    }
    // A key that was moved while it was read may be there twice: the last is the newest.
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
    fn buckets_pair_what_has_the_same_key() {
        let attribute = |name: &str, attribute_type| KeyAttribute { name: name.to_owned(), attribute_type };
        let schema = KeySchema { partition: attribute("p", KeyAttributeType::S), sort: Some(attribute("s", KeyAttributeType::N)) };
        let items: Vec<Item> = (0..200_i64)
            .map(|n| Item::from([("p", V::S(format!("p{}", n % 7))), ("s", V::N(n.into())), ("a", V::Bool(n % 2 == 0))]))
            .collect();
        let (one, two) = (Spill::new(5).unwrap(), Spill::new(5).unwrap());
        for item in &items {
            one.add(&schema, &item.key(&schema).unwrap(), item).unwrap();
        }
        for item in items.iter().rev() {
            two.add(&schema, &item.key(&schema).unwrap(), item).unwrap();
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

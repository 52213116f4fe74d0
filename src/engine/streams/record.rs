//! One stream record: its binary stored form, and its capture by the write that it records.
//!
//! ```text
//! 0   u8   version of the form: 1
//! 1   u8   event: 1 INSERT, 2 MODIFY, 3 REMOVE
//! 2   u8   origin: 0 a client, 1 time to live
//! 3   u64  time, milliseconds since the epoch, little-endian
//! 11  keys, new image, old image: each a u32 length, little-endian, and an item record; length 0 is no image
//! ```
//! Images are the table's own records as stored: nothing is encoded a second time.

use crate::codec::record;
use crate::engine::runtime::prelude::*;
use crate::model::api::{ChangeOrigin, StreamEvent};

const FORMAT: u8 = 1;

/// A record with its items not decoded.
#[derive(Debug, Clone, Copy)]
pub struct StoredRecord<'a> {
    pub event: StreamEvent,
    pub origin: ChangeOrigin,
    pub created_ms: u64,
    pub keys: &'a [u8],
    /// The images that the view type keeps.
    pub new_image: Option<&'a [u8]>,
    pub old_image: Option<&'a [u8]>,
}

impl<'a> StoredRecord<'a> {
    /// Returns the stored bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let parts =
            [Some(self.keys), self.new_image, self.old_image].map(Option::unwrap_or_default);
        let mut out =
            Vec::with_capacity(11 + parts.iter().map(|part| 4 + part.len()).sum::<usize>());
        out.push(FORMAT);
        out.push(match self.event {
            StreamEvent::Insert => 1,
            StreamEvent::Modify => 2,
            StreamEvent::Remove => 3,
        });
        out.push(match self.origin {
            ChangeOrigin::Client => 0,
            ChangeOrigin::TimeToLive => 1,
        });
        out.extend_from_slice(&self.created_ms.to_le_bytes());
        for part in parts {
            // Any other length would make the stored record unreadable.
            let length = u32::try_from(part.len())
                .unwrap_or_else(|_| unreachable!("an item record is below 1 MB"));
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    /// Parses stored bytes. Fails with `Corrupt` if they are no record, and with `Format` if a
    /// newer version wrote them.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, StoreError> {
        match bytes.first() {
            Some(&FORMAT) => Self::parse_v1(bytes).ok_or(StoreError::Corrupt("a stream record")),
            Some(&newer) if newer > FORMAT => Err(StoreError::Format(newer)),
            _ => Err(StoreError::Corrupt("a stream record")),
        }
    }

    fn parse_v1(bytes: &'a [u8]) -> Option<Self> {
        let ([_, event, origin], rest) = bytes.split_first_chunk()?;
        let (created_ms, rest) = rest.split_first_chunk()?;
        let (keys, rest) = part(rest)?;
        let (new_image, rest) = part(rest)?;
        let (old_image, rest) = part(rest)?;
        let event = match event {
            1 => StreamEvent::Insert,
            2 => StreamEvent::Modify,
            3 => StreamEvent::Remove,
            _ => return None,
        };
        let origin = match origin {
            0 => ChangeOrigin::Client,
            1 => ChangeOrigin::TimeToLive,
            _ => return None,
        };
        let created_ms = u64::from_le_bytes(*created_ms);
        rest.is_empty().then_some(Self {
            event,
            origin,
            created_ms,
            keys: keys?,
            new_image,
            old_image,
        })
    }

    /// Returns `SizeBytes`: DynamoDB bytes of keys and images. Fails with `Corrupt` for a damaged
    /// record.
    pub fn size_bytes(&self) -> Result<u64, StoreError> {
        let parts = std::iter::once(self.keys)
            .chain(self.new_image)
            .chain(self.old_image);
        parts
            .map(|part| Ok(u64::from(Record::parse(part)?.item_bytes())))
            .sum()
    }
}

/// Splits off a length and as many bytes.
fn part(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (part, rest) = rest.split_at_checked(length)?;
    Some(((!part.is_empty()).then_some(part), rest))
}

// The record of a change, written by the change itself.

/// A changed item: its records before and after, at least one of them.
#[derive(Debug, Clone, Copy)]
pub struct CapturedChange<'c> {
    pub key: &'c Key,
    pub old: Option<&'c [u8]>,
    pub new: Option<&'c [u8]>,
    /// The version that the change took.
    pub version: Version,
    /// Milliseconds since the epoch.
    pub modified_ms: u64,
}

/// Writes the record of a change, if the table's stream is enabled.
pub fn capture(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    change: &CapturedChange<'_>,
) -> Result<(), StoreError> {
    let Some(stream) = table.enabled_stream() else {
        return Ok(());
    };
    let event = match (change.old, change.new) {
        (None, Some(_)) => StreamEvent::Insert,
        (Some(_), Some(_)) => StreamEvent::Modify,
        (Some(_), None) => StreamEvent::Remove,
        (None, None) => {
            debug_assert!(false, "a change without an item");
            return Ok(());
        }
    };
    // A delete takes its version only for its record.
    transaction.shared.batch.take_version(change.version);
    let schema = &table.schema.key;
    let first = schema.names();
    let keys = record::encode(
        &change.key.to_item(schema),
        &first,
        change.version,
        change.modified_ms,
    );
    let stored = StoredRecord {
        event,
        origin: transaction.origin,
        created_ms: change.modified_ms,
        keys: &keys,
        new_image: change.new.filter(|_| stream.view_type.has_new_image()),
        old_image: change.old.filter(|_| stream.view_type.has_old_image()),
    };
    transaction.batch.put(
        &StoreKey::StreamRecord(stream.id, change.version).encode(),
        &stored.encode(),
    )
}

#[cfg(test)]
mod record_tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let check = |event, origin, images: [Option<&[u8]>; 2], expected: &[u8]| {
            let [new_image, old_image] = images;
            let record = StoredRecord {
                event,
                origin,
                created_ms: 258,
                keys: b"k",
                new_image,
                old_image,
            };
            assert_eq!(record.encode(), expected);
            let parsed = StoredRecord::parse(expected).unwrap();
            assert_eq!(
                (parsed.event, parsed.origin, parsed.created_ms),
                (event, origin, 258)
            );
            assert_eq!(
                (parsed.keys, parsed.new_image, parsed.old_image),
                (&b"k"[..], new_image, old_image)
            );
        };
        let insert = [
            1, 1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'k', 1, 0, 0, 0, b'n', 0, 0, 0, 0,
        ];
        check(
            StreamEvent::Insert,
            ChangeOrigin::Client,
            [Some(b"n"), None],
            &insert,
        );
        let modify = [
            1, 2, 0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'k', 1, 0, 0, 0, b'n', 1, 0, 0, 0, b'o',
        ];
        check(
            StreamEvent::Modify,
            ChangeOrigin::Client,
            [Some(b"n"), Some(b"o")],
            &modify,
        );
        let remove = [
            1, 3, 1, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'k', 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        check(
            StreamEvent::Remove,
            ChangeOrigin::TimeToLive,
            [None, None],
            &remove,
        );
    }

    #[test]
    fn damage_is_refused() {
        let good = StoredRecord {
            event: StreamEvent::Insert,
            origin: ChangeOrigin::Client,
            created_ms: 1,
            keys: b"k",
            new_image: None,
            old_image: None,
        }
        .encode();
        for end in 0..good.len() {
            assert!(StoredRecord::parse(&good[..end]).is_err(), "{end}");
        }
        assert!(StoredRecord::parse(&[&good[..], &[0]].concat()).is_err());
        assert_eq!(StoredRecord::parse(&[2]).err(), Some(StoreError::Format(2)));
    }
}

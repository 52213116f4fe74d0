//! The trash: the text of an item that was moved to a name that is no item's, written in the
//! transaction that deletes the item and kept for [`TRASH_RETENTION_MS`].
//!
//! The value under [`StoreKey::Trash`], numbers big-endian:
//!
//! ```text
//! 00        version u8, 1
//! 01        flags u8: bit 0, its folder was removed: it is listed, and no longer in any folder
//! 02        trashed at u64, milliseconds since the epoch
//! 0A        type of the folder's partition key u8: 0 in no folder, else S, N or B as ASCII
//! 0B        n u16, bytes of that key
//! 0D        the key in ordered encoding, see `codec::key`: n bytes, of the digest in the record's key
//! 0D + n    the content, to the end
//! ```
//!
//! A file is removed with its table: its key has the table's source id, which is never used again.

use super::{
    base::stored_form::{decode_parts, encode_parts},
    runtime::prelude::*,
};
use crate::codec::key::{decode, encode, partition_digest};
use crate::model::{
    ApiEnum,
    api::table_control::{TRASH_RETENTION_MS, TrashChange, TrashKey, TrashStat},
    schema::KeyAttributeType,
};

const VERSION: u8 = 1;
/// The flag of a file with a removed folder.
const FOLDER_REMOVED: u8 = 1;
/// The number of files removed in one transaction.
const REMOVED_MAX: usize = 100;
/// The interval of the search for files that another process may have put, in milliseconds.
const SCAN_INTERVAL_MS: u64 = 60 * 60 * 1000;

const NAME: &str = "parked file";
const CORRUPT: StoreError = StoreError::Corrupt(NAME);

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashRecord<'r> {
    pub in_folder: bool,
    pub trashed_ms: u64,
    /// The partition key of its folder.
    pub folder: Option<AttributeValue>,
    pub content: &'r [u8],
}

impl<'r> TrashRecord<'r> {
    /// Decodes the stored bytes.
    ///
    /// # Errors
    /// Fails with `Corrupt` if the bytes are not of this format.
    pub fn parse(bytes: &'r [u8]) -> Result<Self, StoreError> {
        let (head, trashed_ms, folder_type, key_bytes, rest): (u16, _, u8, u16, &[u8]) =
            decode_parts(bytes, NAME)?;
        let (key, content) = rest
            .split_at_checked(usize::from(key_bytes))
            .ok_or(CORRUPT)?;
        let folder = match (folder_type, key) {
            (0, []) => None,
            _ => {
                let tag = char::from(folder_type).to_string();
                match decode(KeyAttributeType::parse(&tag).ok_or(CORRUPT)?, key)? {
                    (value, []) => Some(value),
                    _ => return Err(CORRUPT),
                }
            }
        };
        let in_folder = match head.to_be_bytes() {
            [VERSION, 0] => true,
            [VERSION, FOLDER_REMOVED] => false,
            _ => return Err(CORRUPT),
        };
        Ok(Self {
            in_folder,
            trashed_ms,
            folder,
            content,
        })
    }

    /// Encodes the file.
    ///
    /// # Errors
    /// Fails with `Corrupt` for a folder that cannot be a key.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let (mut key, mut folder_type) = (Vec::new(), 0);
        if let Some(folder) = &self.folder {
            encode(folder, &mut key);
            let tag = folder.attribute_type().tag();
            let is_key = KeyAttributeType::parse(tag).is_some();
            let tag = tag.bytes().next().filter(|_| is_key);
            folder_type = tag.ok_or(CORRUPT)?;
        }
        let flags = if self.in_folder { 0 } else { FOLDER_REMOVED };
        let key_bytes = u16::try_from(key.len()).map_err(|_| CORRUPT)?;
        key.extend_from_slice(self.content);
        let head = u16::from_be_bytes([VERSION, flags]);
        Ok(encode_parts(&(
            head,
            self.trashed_ms,
            folder_type,
            key_bytes,
            &key[..],
        )))
    }

    /// Returns the time at which it is removed, in milliseconds since the epoch.
    fn expires_ms(&self) -> u64 {
        self.trashed_ms.saturating_add(TRASH_RETENTION_MS)
    }

    fn stat(&self, table: &TableName, name: &str) -> TrashStat {
        TrashStat {
            key: TrashKey {
                table: table.clone(),
                folder: self.folder.clone(),
                name: name.to_owned(),
            },
            bytes: self.content.len() as u64,
            trashed_ms: self.trashed_ms,
            is_in_folder: self.in_folder,
        }
    }
}

/// Returns the digest of a folder in the keys of its files.
#[must_use]
pub fn folder_digest(folder: Option<&AttributeValue>) -> Option<Digest> {
    folder.map(|value| partition_digest(&[value]))
}

fn key_of(table: SourceId, trash_key: &TrashKey) -> Vec<u8> {
    StoreKey::Trash(
        table,
        folder_digest(trash_key.folder.as_ref()).as_ref(),
        &trash_key.name,
    )
    .encode()
}

/// Puts a text into the trash.
pub fn put(
    transaction: &mut Transaction<'_>,
    table: SourceId,
    trash_key: &TrashKey,
    content: &[u8],
) -> Result<(), Error> {
    let trashed_ms = transaction.now_ms();
    let file = TrashRecord {
        in_folder: true,
        trashed_ms,
        folder: trash_key.folder.clone(),
        content,
    };
    transaction
        .batch
        .put(&key_of(table, trash_key), &file.encode()?)?;
    transaction
        .shared
        .trash_due
        .no_later_than(file.expires_ms());
    Ok(())
}

/// Applies a change; returns true if it changed something.
///
/// # Errors
/// `ResourceNotFound` without the table; also errors of the store.
pub fn apply_change(
    transaction: &mut Transaction<'_>,
    change: &TrashChange,
) -> Result<bool, Error> {
    match change {
        TrashChange::Remove(place) => {
            let table = transaction.active_table(&place.table)?;
            Ok(transaction.batch.delete(&key_of(table.source, place))?)
        }
        TrashChange::Move { from, to } => {
            let (old, new) = (
                transaction.active_table(&from.table)?,
                transaction.active_table(&to.table)?,
            );
            let old_key = key_of(old.source, from);
            let Some(bytes) = transaction.batch.get(&old_key)?.map(<[u8]>::to_vec) else {
                return Ok(false);
            };
            let file = TrashRecord {
                in_folder: true,
                folder: to.folder.clone(),
                ..TrashRecord::parse(&bytes)?
            };
            transaction.batch.delete(&old_key)?;
            transaction
                .batch
                .put(&key_of(new.source, to), &file.encode()?)?;
            Ok(true)
        }
        TrashChange::Detach { table, folder } => {
            let table = transaction.active_table(table)?;
            detach(
                transaction,
                &keys::trash_in(table.source, folder_digest(folder.as_ref()).as_ref()),
            )
        }
    }
}

/// Takes the files of a range out of their folder.
fn detach(transaction: &mut Transaction<'_>, range: &KeyRange) -> Result<bool, Error> {
    let mut left = Vec::new();
    walks::each(transaction.read(), range, |key, bytes| {
        let file = TrashRecord::parse(bytes)?;
        if file.in_folder {
            left.push((
                key.to_vec(),
                TrashRecord {
                    in_folder: false,
                    ..file
                }
                .encode()?,
            ));
        }
        Ok(())
    })?;
    for (key, bytes) in &left {
        transaction.batch.put(key, bytes)?;
    }
    Ok(!left.is_empty())
}

impl ReadView<'_> {
    /// Reads a file and its content; returns `None` if there is none or it has expired.
    pub fn trash_file(&self, trash_key: &TrashKey) -> Result<Option<(TrashStat, Vec<u8>)>, Error> {
        let Some(table) = self.table(&trash_key.table)? else {
            return Ok(None);
        };
        let key = key_of(table.source, trash_key);
        let Some(bytes) = self.read().get(&key)? else {
            return Ok(None);
        };
        let file = TrashRecord::parse(bytes).map_err(|error| locate(self.read(), &key, error))?;
        let is_over = file.expires_ms() <= self.now_ms();
        Ok((!is_over).then(|| {
            (
                file.stat(&trash_key.table, &trash_key.name),
                file.content.to_vec(),
            )
        }))
    }

    /// Visits the files of a table in one folder or in none; with an outer `None`, of the whole
    /// table. Ordered by folder and name.
    pub fn trash_files(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        visit: &mut dyn FnMut(TrashStat) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let Some(entry) = self.table(table)? else {
            return Ok(());
        };
        let range = match folder {
            Some(folder) => keys::trash_in(entry.source, folder_digest(folder).as_ref()),
            None => Space::Trash.range(entry.source),
        };
        let now_ms = self.now_ms();
        Ok(try_walk(
            self.read(),
            &range,
            Direction::Forward,
            |key, bytes| {
                let Some(StoreKey::Trash(_, _, name)) = StoreKey::parse(key) else {
                    return Err(CORRUPT);
                };
                let file =
                    TrashRecord::parse(bytes).map_err(|error| locate(self.read(), key, error))?;
                Ok(if file.expires_ms() <= now_ms {
                    ControlFlow::Continue(())
                } else {
                    visit(file.stat(table, name))
                })
            },
        )?)
    }
}

/// Removes expired files. Reads them only if one may have expired.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends meanwhile.
pub fn expire(shared: &Arc<EngineShared>) -> Result<(), Error> {
    let now_ms = shared.now_ms();
    if !shared.trash_due.take_due(now_ms) {
        return Ok(());
    }
    let (over, next) = expired(&*shared.store.snapshot()?, now_ms)?;
    shared
        .trash_due
        .no_later_than(next.min(now_ms.saturating_add(SCAN_INTERVAL_MS)));
    for doomed in over.chunks(REMOVED_MAX) {
        let doomed = doomed.to_vec();
        shared.submit_in_background(move |transaction| remove(transaction, &doomed, now_ms))?;
    }
    Ok(())
}

/// Returns the keys of expired files, and the next expiry time.
fn expired(read: &dyn Read, now_ms: u64) -> Result<(Vec<Vec<u8>>, u64), StoreError> {
    let (mut over, mut next) = (Vec::new(), u64::MAX);
    walks::each(read, &Space::Trash.all(), |key, bytes| {
        match TrashRecord::parse(bytes).map(|file| file.expires_ms()) {
            Ok(until_ms) if until_ms <= now_ms => over.push(key.to_vec()),
            Ok(until_ms) => next = next.min(until_ms),
            // It stays; `check` reports it.
            Err(error) => log::error!("a file in the trash: {}", locate(read, key, error)),
        }
        Ok(())
    })?;
    Ok((over, next))
}

fn remove(transaction: &mut Transaction<'_>, keys: &[Vec<u8>], now_ms: u64) -> Result<(), Error> {
    for key in keys {
        // Another file may have been put there since.
        let is_over = match transaction.batch.get(key)? {
            Some(bytes) => TrashRecord::parse(bytes)?.expires_ms() <= now_ms,
            None => false,
        };
        if is_over {
            transaction.batch.delete(key)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let head = [1, 0, 0, 0, 0, 0, 0, 0, 1, 2];
        let flat = [&head[..], &[0, 0, 0], b"{}\n"].concat();
        let file = TrashRecord {
            in_folder: true,
            trashed_ms: 258,
            folder: None,
            content: b"{}\n",
        };
        assert_eq!(
            (file.encode(), TrashRecord::parse(&flat)),
            (Ok(flat.clone()), Ok(file.clone()))
        );
        let key = [b'u', b'1', 0, 0];
        let foldered = [&[1, 1][..], &head[2..], b"S", &[0, 4], &key, b"{}\n"].concat();
        let file = TrashRecord {
            in_folder: false,
            folder: Some(AttributeValue::S("u1".to_owned())),
            ..file
        };
        assert_eq!(
            (file.encode(), TrashRecord::parse(&foldered)),
            (Ok(foldered.clone()), Ok(file))
        );
        for cut in 0..17 {
            assert!(TrashRecord::parse(&foldered[..cut]).is_err(), "{cut}");
        }
        for (place, byte) in [(0, 2), (1, 2), (10, b'X'), (10, 0), (12, 3), (12, 5)] {
            let mut bad = foldered.clone();
            bad[place] = byte;
            assert!(TrashRecord::parse(&bad).is_err(), "{place} {byte}");
        }
    }
}

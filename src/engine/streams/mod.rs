//! Streams: every change of an item as a record, kept for 24 hours (docs/dynamodb.md 17).
//!
//! A stream is a definition under its table's name and label, and records under its id. A table's catalog entry says which stream
//! takes its changes now; the definition outlives that, and the table. Records are written by the change itself
//! ([`capture`]) and removed behind the horizon ([`trim`]). One shard lasts as long as its stream.
//!
//! A record's sequence number is the version that the change took, so numbers rise over all streams, and a reader who saw
//! everything up to a commit goes on behind that commit's last version.

pub mod capture;
pub mod definition;
pub mod iterator;
pub mod policy;
pub mod record;
pub mod trim;

use std::sync::Arc;

use super::base::keys;
use super::base::stored;
use super::catalog::{self, TableEntry, TableStream};
use super::runtime::Transaction;
use crate::codec::{calendar, digest};
use crate::model::api::{SequenceNumber, StreamName, StreamViewType, Version};
use crate::model::error::{StoreError, StreamError};
use crate::model::{Error, arn};
use crate::store::Read;

pub use definition::Definition;

/// Gives the table a new stream; the caller writes the entry. It must have none that is enabled.
///
/// # Errors
/// Those of the store.
pub fn enable(transaction: &mut Transaction<'_>, table: &mut TableEntry, view_type: StreamViewType) -> Result<(), StoreError> {
    let id = catalog::take_source(transaction.batch)?;
    let now_ms = transaction.now_ms();
    let name = free_name(transaction.read(), table, now_ms)?;
    // The beginning has a number of its own, which no record has: to read at it and after it is to read everything.
    let first = transaction.next_version()?;
    transaction.shared.batch.take_version(first);
    let definition = Definition {
        id,
        view_type,
        created_ms: now_ms,
        partition: table.schema.key.partition.name.clone(),
        sort: table.schema.key.sort.as_ref().map(|sort| sort.name.clone()),
        first,
        trimmed: 0,
        closed: None,
    };
    write_definition(transaction, &name, &definition)?;
    table.stream = Some(TableStream { id, label: name.label, view_type, is_enabled: true });
    Arc::make_mut(&mut table.schema).settings.stream = Some(view_type);
    Ok(())
}

/// Ends the table's stream, which stays readable; the caller writes the entry. Without an enabled stream nothing happens.
///
/// # Errors
/// Those of the store.
pub fn disable(transaction: &mut Transaction<'_>, table: &mut TableEntry) -> Result<(), StoreError> {
    let Some(stream) = table.stream.as_mut().filter(|stream| stream.is_enabled) else { return Ok(()) };
    stream.is_enabled = false;
    let name = StreamName { table_name: table.schema.name.clone(), label: stream.label.clone() };
    Arc::make_mut(&mut table.schema).settings.stream = None;
    let Some(mut definition) = read_definition(transaction.read(), &name)? else { return Ok(()) };
    let next = transaction.next_version()?;
    let ending = next.saturating_sub(1).max(definition.first);
    // The last version given, so that a reader who is behind it has seen all.
    definition.closed = Some((ending, transaction.now_ms()));
    write_definition(transaction, &name, &definition)
}

/// A label that no stream of the table has: the time, moved on when needed.
fn free_name(read: &dyn Read, table: &TableEntry, now_ms: u64) -> Result<StreamName, StoreError> {
    let mut ms = now_ms;
    loop {
        let label = calendar::iso(ms).trim_end_matches('Z').to_owned();
        let name = StreamName { table_name: table.schema.name.clone(), label };
        if read_definition(read, &name)?.is_none() {
            return Ok(name);
        }
        ms += 1;
    }
}

fn write_definition(transaction: &mut Transaction<'_>, name: &StreamName, definition: &Definition) -> Result<(), StoreError> {
    transaction.batch.put(&keys::stream(name), &stored::encode(definition)?)
}

/// The definition of a stream.
///
/// # Errors
/// Those of the store.
pub fn read_definition(read: &dyn Read, name: &StreamName) -> Result<Option<Definition>, StoreError> {
    let key = keys::stream(name);
    read.get(&key)?.map(stored::decode).transpose()
}

/// The definition of a stream that a request names.
///
/// # Errors
/// `NotFound`; those of the store.
pub fn known(read: &dyn Read, name: &StreamName) -> Result<Definition, Error> {
    match read_definition(read, name)? {
        Some(definition) => Ok(definition),
        None => Err(StreamError::NotFound(arn::stream(name)).into()),
    }
}

/// The id of a stream's one shard: `shardId-<time, 20 digits>-<8 hexadecimal digits>`.
#[must_use]
pub fn shard_id(definition: &Definition) -> String {
    format!("shardId-{:020}-{:08x}", definition.created_ms, definition.id.0)
}

/// Holds a shard id of a request to those of a stream.
///
/// # Errors
/// `ShardNotFound`.
pub fn check_shard(definition: &Definition, shard: &str) -> Result<(), StreamError> {
    if shard == shard_id(definition) { Ok(()) } else { Err(StreamError::ShardNotFound) }
}

/// The id of a record: the same in every answer.
#[must_use]
pub fn event_id(name: &StreamName, sequence: SequenceNumber) -> String {
    digest::hex(&digest::digest(format!("{}/{}/{sequence}", name.table_name, name.label).as_bytes()))
}

/// Where a reader that saw everything of a view goes on.
///
/// # Errors
/// Those of the store.
pub fn behind(read: &dyn Read) -> Result<Version, StoreError> {
    Ok(crate::engine::runtime::batch::last_version(read)? + 1)
}

//! The retention of streams: removes records that are older than 24 hours, and disabled streams
//! without records.

use super::{StreamDefinition, record::StoredRecord};
use crate::engine::{base::stored_form, runtime::prelude::*};
use crate::model::{api::StreamName, limits::STREAM_RETENTION_MS};

/// The maximum of records removed in one transaction: other writers must not wait long.
const RECORDS_PER_JOB: usize = 1_000;

/// Trims every stream. Fails with `Closed` if the engine ends in the meantime.
pub fn trim(shared: &Arc<EngineShared>) -> Result<(), Error> {
    for name in due_streams(shared)? {
        loop {
            let of = name.clone();
            let trimmed =
                shared.submit_in_background(move |transaction| Ok(trim_batch(transaction, &of)?));
            match trimmed {
                Ok(true) => {}
                Ok(false) => break,
                Err(Error::Store(error @ StoreError::Corrupt(_))) => {
                    warn_of_damage(&name, &error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Returns the streams with something to remove.
fn due_streams(shared: &EngineShared) -> Result<Vec<StreamName>, StoreError> {
    let horizon_ms = shared.now_ms().saturating_sub(STREAM_RETENTION_MS);
    let snapshot = shared.store.snapshot()?;
    let mut due = Vec::new();
    each_stream(&*snapshot, &mut |name, definition| {
        // `check` reports damage; it must not keep the other streams from being trimmed.
        match definition.and_then(|definition| is_due(&*snapshot, &definition, horizon_ms)) {
            Ok(true) => due.push(name),
            Ok(false) => {}
            Err(error) => warn_of_damage(&name, &error),
        }
        Ok(())
    })?;
    Ok(due)
}

fn warn_of_damage(name: &StreamName, error: &StoreError) {
    log::warn!("a stream of {} is not trimmed: {error}", name.table_name);
}

/// Visits every stream; the streams of one table in the order of their time. A malformed key is
/// skipped: `check` reports it.
pub fn each_stream(
    read: &dyn Read,
    visit: &mut dyn FnMut(
        StreamName,
        Result<StreamDefinition, StoreError>,
    ) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    walks::each(read, &Space::Stream.all(), |key, value| {
        keys::parse_stream(key).map_or(Ok(()), |name| visit(name, stored_form::decode(value)))
    })
}

fn is_due(
    read: &dyn Read,
    definition: &StreamDefinition,
    horizon_ms: u64,
) -> Result<bool, StoreError> {
    Ok(match oldest(read, definition.id)? {
        Some((_, created_ms)) => created_ms < horizon_ms,
        None => is_over(definition, horizon_ms),
    })
}

fn is_over(definition: &StreamDefinition, horizon_ms: u64) -> bool {
    definition
        .closed
        .is_some_and(|(_, closed_ms)| closed_ms < horizon_ms)
}

/// Returns sequence number and time of the oldest record.
fn oldest(read: &dyn Read, stream: SourceId) -> Result<Option<(Version, u64)>, StoreError> {
    first_at(read, stream, 0)
}

/// Returns sequence number and time of the first record at `position` or later.
pub fn first_at(
    read: &dyn Read,
    stream: SourceId,
    position: Version,
) -> Result<Option<(Version, u64)>, StoreError> {
    walks::first(
        read,
        &keys::stream_records_from(stream, position),
        |key, value| age_of(key, value).map(Some),
    )
}

/// Returns sequence number and time of a stored record. A malformed key is damage, not the end of
/// the stream, which would be removed.
fn age_of(key: &[u8], value: &[u8]) -> Result<(Version, u64), StoreError> {
    let version = keys::parse_version(key).ok_or(StoreError::Corrupt("a stream record's key"))?;
    Ok((version, StoredRecord::parse(value)?.created_ms))
}

/// Removes a batch of a stream's records, or the stream; returns true if more is left.
fn trim_batch(transaction: &mut Transaction<'_>, name: &StreamName) -> Result<bool, StoreError> {
    transaction.mark_removal();
    let horizon_ms = transaction.now_ms().saturating_sub(STREAM_RETENTION_MS);
    let read = transaction.read();
    let Some(mut definition) = super::read_definition(read, name)? else {
        return Ok(false);
    };
    let mut damage = Ok(());
    let doomed = walks::take_while(
        read,
        &keys::stream_records_from(definition.id, 0),
        RECORDS_PER_JOB,
        |key, value| match age_of(key, value) {
            Ok((version, created_ms)) => (created_ms < horizon_ms).then_some(version),
            Err(error) => {
                damage = Err(error);
                None
            }
        },
    )?;
    // The records before a damaged one are removed first.
    if doomed.is_empty() {
        damage?;
    }
    if let Some(last) = doomed.last() {
        definition.trimmed = *last;
        super::write_definition(transaction, name, &definition)?;
        for version in &doomed {
            transaction
                .batch
                .delete(&StoreKey::StreamRecord(definition.id, *version).encode())?;
        }
        return Ok(true);
    }
    if is_over(&definition, horizon_ms) && oldest(transaction.read(), definition.id)?.is_none() {
        transaction.batch.delete(&keys::stream_key(name))?;
        super::delete_policy(transaction.batch, name)?;
    }
    Ok(false)
}

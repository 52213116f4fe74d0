//! BatchWriteItem (docs/dynamodb.md 14.2). Everything is checked before anything is written; all writes share one commit.

use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::base::item_key;
use crate::engine::catalog::TableEntry;
use crate::engine::runtime::{Done, Engine, Transaction};
use crate::engine::write::stored::Stored;
use crate::engine::{index, write};
use crate::model::api::{BatchWriteItemRequest, BatchWriteItemResponse, ConsumedCapacity, ItemCollectionMetrics, WriteRequest};
use crate::model::error::{BatchError, KeyError};
use crate::model::{AttributeValue, Error, Item, Key};

impl Engine {
    /// Starts a batch of writes; `done` hears of it after the commit.
    pub fn batch_write_item(&self, request: BatchWriteItemRequest, done: Done<BatchWriteItemResponse>) {
        if let Err(error) = check_values(&request) {
            return done(Err(error));
        }
        self.shared.submit(move |transaction| write(transaction, &request), done);
    }
}

fn check_values(request: &BatchWriteItemRequest) -> Result<(), Error> {
    for write in request.request_items.iter().flat_map(|table| &table.requests) {
        match write {
            WriteRequest::Put(item) => item.check_limits()?,
            WriteRequest::Delete(key) => key.0.values().try_for_each(AttributeValue::check_nesting)?,
        }
    }
    Ok(())
}

/// One write, checked.
struct Planned<'r> {
    /// Of its table in the request, and of itself in that.
    place: usize,
    at: usize,
    table: Arc<TableEntry>,
    key: Key,
    new: Option<&'r Item>,
}

/// Tables first, then keys, then duplicates.
fn plan<'r>(transaction: &Transaction<'_>, request: &'r BatchWriteItemRequest) -> Result<Vec<Planned<'r>>, Error> {
    let tables = request.request_items.iter().map(|table| transaction.active_table(&table.table_name));
    let tables = tables.collect::<Result<Vec<_>, Error>>()?;
    let mut planned = Vec::new();
    for (place, (table, writes)) in tables.iter().zip(&request.request_items).enumerate() {
        for (at, write) in writes.requests.iter().enumerate() {
            let (key, new) = match write {
                WriteRequest::Put(item) => (key_of_put(table, item)?, Some(item)),
                WriteRequest::Delete(key) => (item_key::key_of_parameter(&table.schema.key, key)?, None),
            };
            planned.push(Planned { place, at, table: Arc::clone(table), key, new });
        }
    }
    let are_different = super::are_different(planned.iter().map(|write| (&*write.table, &write.key)));
    if are_different { Ok(planned) } else { Err(BatchError::DuplicateKeys.into()) }
}

/// A put of a batch has the texts of a `Key` parameter for its table keys.
fn key_of_put(table: &TableEntry, item: &Item) -> Result<Key, Error> {
    let key = item_key::key_of_item(&table.schema.key, item).map_err(|error| match error {
        KeyError::Missing(_) | KeyError::TypeMismatch { .. } => KeyError::SchemaMismatch,
        other => other,
    })?;
    index::check_item(table, item)?;
    Ok(key)
}

/// Each item is written or refused by itself: a full item collection refuses its own puts, and the batch reports it when the
/// others are written.
fn write(transaction: &mut Transaction<'_>, request: &BatchWriteItemRequest) -> Result<BatchWriteItemResponse, Error> {
    let planned = plan(transaction, request)?;
    let mut consumed_capacity = vec![ConsumedCapacity::default(); request.request_items.len()];
    let mut unprocessed_items = vec![Vec::new(); request.request_items.len()];
    let (mut refused, mut throttled, mut is_empty) = (None, None, true);
    for write in &planned {
        let stored = Stored::look_at(transaction, &write.table, write.key.clone());
        let replace = |stored: Stored| write::replace_checked(transaction, &stored, write.new);
        match stored.and_then(replace) {
            Ok(applied) => {
                is_empty = false;
                consumed_capacity[write.place].add(&applied.consumed_capacity);
            }
            Err(error @ Error::Throttled(_)) => {
                throttled = throttled.or(Some(error));
                unprocessed_items[write.place].push(request.request_items[write.place].requests[write.at].clone());
            }
            Err(Error::Store(error)) => return Err(error.into()),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    // A batch of which nothing could be done has failed.
    if let Some(error) = refused.or(throttled.filter(|_| is_empty)) {
        return Err(error);
    }
    let item_collection_metrics = match request.return_item_collection_metrics {
        true => metrics(transaction, request.request_items.len(), &planned)?,
        false => vec![Vec::new(); request.request_items.len()],
    };
    Ok(BatchWriteItemResponse { consumed_capacity, unprocessed_items, item_collection_metrics })
}

/// Of each collection once.
fn metrics(
    transaction: &Transaction<'_>,
    tables: usize,
    planned: &[Planned<'_>],
) -> Result<Vec<Vec<ItemCollectionMetrics>>, Error> {
    let mut out = vec![Vec::new(); tables];
    let mut seen = HashSet::new();
    for write in planned {
        if seen.insert((write.table.source, &write.key.partition)) {
            out[write.place].extend(write::collection_metrics(transaction.batch.as_read(), &write.table, &write.key)?);
        }
    }
    Ok(out)
}

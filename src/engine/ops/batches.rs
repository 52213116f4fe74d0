//! BatchGetItem and BatchWriteItem (docs/dynamodb.md 14). All items of a read come from one view,
//! which is more than the service promises. A batch of writes is checked as a whole before anything
//! is written, and all its writes share one commit.

use std::collections::HashSet;

use super::items::parse_projection;
use crate::codec::record::ResultRow;
use crate::engine::{
    base::{item_key, read_units},
    index,
    read::select::{self, RequestedProjection},
    runtime::{BatchRowSink, Completion, prelude::*},
    write::{self, condition::StoredItem},
};
use crate::expr::ProjectionPaths;
use crate::model::{
    api::{
        BatchGetItemPage, BatchGetItemRequest, BatchWriteItemRequest, BatchWriteItemResponse,
        ItemCollectionMetrics, TableKeys, WriteRequest,
    },
    error::{BatchError, KeyError},
    limits::BATCH_GET_BYTES_MAX,
};
use crate::store::memory_limit::limit_share;

/// The memory that the writes of a BatchWriteItem may hold until the commit, in bytes, if the
/// memory limit allows it: the rest is left unprocessed.
const BATCH_MEMORY_MAX: usize = 256 * 1024 * 1024;
/// A batch may hold at most this part of the memory limit.
const MEMORY_SHARE: u64 = 16;

/// The part of a batch for one table, checked.
struct BatchGetPart<'r> {
    request: &'r TableKeys,
    table: Arc<TableEntry>,
    /// One for each key of the request.
    keys: Vec<Key>,
    projection: Option<ProjectionPaths>,
}

impl Engine {
    /// Reads items; calls `rows` with each item found and the position of its table in the request.
    ///
    /// # Errors
    /// Fails with `Expression`, `ResourceNotFound`, `Key`, or with `Query` for a path into a key,
    /// all before the first row; also errors of the store.
    pub fn batch_get_item(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error> {
        let mut projections = Vec::with_capacity(request.request_items.len());
        for table in &request.request_items {
            table.keys.iter().try_for_each(Item::check_nesting)?;
            let requested = RequestedProjection::new(
                table.projection_expression.as_ref(),
                table.attributes_to_get.as_ref(),
            )?;
            projections.push(parse_projection(requested, &table.placeholders)?);
        }
        if let Some(fault) = &request.fault {
            return Err(Error::clone(fault));
        }
        let view = self.view()?;
        let parts = parts(&view, request, projections)?;
        let mut reader = BatchGetReader {
            view: &view,
            left: Some(BATCH_GET_BYTES_MAX),
            is_empty: true,
            throttled: None,
        };
        let mut page = BatchGetItemPage {
            unprocessed_keys: Vec::new(),
            consumed_capacity: Vec::new(),
        };
        for (place, part) in parts.iter().enumerate() {
            let (unprocessed, consumed) = reader.part(part, &mut |row| rows(place, row))?;
            page.unprocessed_keys.push(unprocessed);
            page.consumed_capacity.push(consumed);
        }
        // A batch of which nothing was processed fails.
        match reader.throttled.filter(|_| reader.is_empty) {
            Some(error) => Err(error),
            None => Ok(page),
        }
    }
}

/// Checks all tables first, then all keys.
fn parts<'r>(
    view: &ReadView<'_>,
    request: &'r BatchGetItemRequest,
    projections: Vec<Option<ProjectionPaths>>,
) -> Result<Vec<BatchGetPart<'r>>, Error> {
    let mut parts = Vec::with_capacity(projections.len());
    for (request, projection) in request.request_items.iter().zip(projections) {
        let table = view.active_table(&request.table_name)?;
        parts.push(BatchGetPart {
            request,
            table,
            keys: Vec::with_capacity(request.keys.len()),
            projection,
        });
    }
    for part in &mut parts {
        let schema = &part.table.schema.key;
        for key in &part.request.keys {
            part.keys.push(item_key::key_of_parameter(schema, key)?);
        }
        select::check_no_path_into_keys(part.projection.as_ref(), &part.table.schema)?;
    }
    Ok(parts)
}

struct BatchGetReader<'v> {
    view: &'v ReadView<'v>,
    /// Bytes of items that still fit into the answer; `None` once it is full.
    left: Option<usize>,
    /// True if nothing has been read yet.
    is_empty: bool,
    /// The first throttling error.
    throttled: Option<Error>,
}

impl BatchGetReader<'_> {
    /// Reads the items of one table; returns the keys of those that do not fit, and the capacity
    /// consumed by the others.
    fn part(
        &mut self,
        part: &BatchGetPart<'_>,
        rows: &mut dyn FnMut(ResultRow<'_>) -> bool,
    ) -> Result<(Vec<Item>, ConsumedCapacity), Error> {
        let mut unprocessed = Vec::new();
        let mut consumed = ConsumedCapacity::default();
        for (sent, key) in part.request.keys.iter().zip(&part.keys) {
            let address = EntryAddress::of_item(part.table.source, key);
            if let Err(error) = self.view.admit_item(&part.table, &address) {
                let Error::Throttled(_) = error else {
                    return Err(error);
                };
                self.throttled = self.throttled.take().or(Some(error));
                unprocessed.push(sent.clone());
                continue;
            }
            self.is_empty = false;
            let record = match self.left {
                Some(_) => self.view.entry(&address)?,
                None => None,
            };
            let bytes = record.map_or(0, |record| record.item_bytes() as usize);
            self.left = self.left.and_then(|left| left.checked_sub(bytes));
            if self.left.is_none() {
                unprocessed.push(sent.clone());
                continue;
            }
            let units = read_units(bytes, part.request.consistent_read);
            self.view.charge_item(&part.table, &address, units)?;
            consumed.table += units;
            let has_room = match (record, &part.projection) {
                (None, _) => true,
                (Some(record), None) => rows(ResultRow::Record(record)),
                (Some(record), Some(paths)) => {
                    rows(ResultRow::Item(&paths.apply(&record.to_item()?)))
                }
            };
            self.left = self.left.filter(|_| has_room);
        }
        Ok((unprocessed, consumed))
    }
}

impl Engine {
    /// Starts a batch of writes; `done` gets the result after the commit.
    pub fn batch_write_item(
        &self,
        request: BatchWriteItemRequest,
        done: Completion<BatchWriteItemResponse>,
    ) {
        self.shared.submit_checked(
            check_values(&request),
            move |transaction, ()| write(transaction, &request),
            done,
        );
    }
}

fn check_values(request: &BatchWriteItemRequest) -> Result<(), Error> {
    for write in request
        .request_items
        .iter()
        .flat_map(|table| &table.requests)
    {
        match write {
            WriteRequest::Put(item) => item.check_limits()?,
            WriteRequest::Delete(key) => key.check_nesting()?,
        }
    }
    Ok(())
}

/// One write, checked.
struct PlannedBatchWrite<'r> {
    /// Position of the table in the request, and of the write in the table's list.
    table_position: usize,
    write_position: usize,
    table: Arc<TableEntry>,
    key: Key,
    new: Option<&'r Item>,
}

/// Checks tables first, then keys, then duplicates.
fn plan<'r>(
    transaction: &Transaction<'_>,
    request: &'r BatchWriteItemRequest,
) -> Result<Vec<PlannedBatchWrite<'r>>, Error> {
    let tables = request
        .request_items
        .iter()
        .map(|table| transaction.active_table(&table.table_name));
    let tables = tables.collect::<Result<Vec<_>, Error>>()?;
    let mut planned = Vec::new();
    for (table_position, (table, writes)) in tables.iter().zip(&request.request_items).enumerate() {
        for (write_position, write) in writes.requests.iter().enumerate() {
            let (key, new) = match write {
                WriteRequest::Put(item) => (key_of_put(table, item)?, Some(item)),
                WriteRequest::Delete(key) => {
                    (item_key::key_of_parameter(&table.schema.key, key)?, None)
                }
            };
            planned.push(PlannedBatchWrite {
                table_position,
                write_position,
                table: Arc::clone(table),
                key,
                new,
            });
        }
    }
    let are_different =
        super::are_distinct(planned.iter().map(|write| (&*write.table, &write.key)));
    if are_different {
        Ok(planned)
    } else {
        Err(BatchError::DuplicateKeys.into())
    }
}

/// Returns the key of a put, with the error texts of a `Key` parameter for the table's keys.
fn key_of_put(table: &TableEntry, item: &Item) -> Result<Key, Error> {
    let key = item_key::key_of_item(&table.schema.key, item).map_err(|error| match error {
        KeyError::Missing(_) | KeyError::TypeMismatch { .. } => KeyError::SchemaMismatch,
        other => other,
    })?;
    index::check_item(table, item)?;
    Ok(key)
}

/// Writes or refuses each item on its own: if an item collection is full, its own puts are refused,
/// and the batch reports the error after the other writes. Writes beyond the memory limit are
/// returned as unprocessed, for the next request.
fn write(
    transaction: &mut Transaction<'_>,
    request: &BatchWriteItemRequest,
) -> Result<BatchWriteItemResponse, Error> {
    let planned = plan(transaction, request)?;
    let mut consumed_capacity = vec![ConsumedCapacity::default(); request.request_items.len()];
    let mut unprocessed_items = vec![Vec::new(); request.request_items.len()];
    let (mut refused, mut throttled, mut is_empty) = (None, None, true);
    let held_bytes_max =
        transaction.batch.held_bytes() + limit_share(BATCH_MEMORY_MAX, MEMORY_SHARE);
    for write in &planned {
        let item =
            || request.request_items[write.table_position].requests[write.write_position].clone();
        if transaction.batch.held_bytes() > held_bytes_max {
            unprocessed_items[write.table_position].push(item());
            continue;
        }
        let stored = StoredItem::load(transaction, &write.table, write.key.clone());
        let replace = |stored: StoredItem| write::replace_checked(transaction, &stored, write.new);
        match stored.and_then(replace) {
            Ok(applied) => {
                is_empty = false;
                consumed_capacity[write.table_position].add(&applied.consumed_capacity);
            }
            Err(error @ Error::Throttled(_)) => {
                throttled = throttled.or(Some(error));
                unprocessed_items[write.table_position].push(item());
            }
            Err(Error::Store(error)) => return Err(error.into()),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    // A batch of which nothing was processed fails.
    if let Some(error) = refused.or(throttled.filter(|_| is_empty)) {
        return Err(error);
    }
    let item_collection_metrics = match request.return_item_collection_metrics {
        true => metrics_by_table(transaction, request.request_items.len(), &planned)?,
        false => vec![Vec::new(); request.request_items.len()],
    };
    Ok(BatchWriteItemResponse {
        consumed_capacity,
        unprocessed_items,
        item_collection_metrics,
    })
}

/// Returns the metrics of each collection once.
fn metrics_by_table(
    transaction: &Transaction<'_>,
    tables: usize,
    planned: &[PlannedBatchWrite<'_>],
) -> Result<Vec<Vec<ItemCollectionMetrics>>, Error> {
    let mut out = vec![Vec::new(); tables];
    let mut seen = HashSet::new();
    for write in planned {
        if seen.insert((write.table.source, &write.key.partition)) {
            out[write.table_position].extend(write::collection_metrics(
                transaction.read(),
                &write.table,
                &write.key,
            )?);
        }
    }
    Ok(out)
}

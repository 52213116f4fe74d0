//! Writes the items of a page to a table: sends batches concurrently, repeats unprocessed items,
//! and reports items that the table refuses.

use std::sync::mpsc;

use super::journal::CopyCounts;
use super::scan::{ThrottleBackoff, is_throttled, retry_throttled};
use super::{CopyError, CopySide};
use crate::database::run_blocking;
use crate::model::api::common::ReturnConsumedCapacity;
use crate::model::api::{
    BatchWriteItemRequest, BatchWriteItemResponse, Call, CallContext, Completion, PutItemRequest,
    TableWrites, WriteRequest,
};
use crate::model::error::StoreError;
use crate::model::error::exception::VALIDATION;
use crate::model::limits::BATCH_WRITE_REQUESTS_MAX;
use crate::model::{Error, Item};

/// The size limit of the items in one batch. A request may have 16 MB, and base64 and escapes make
/// a body longer than its items.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A callback for an item that the table refuses, with the error.
pub type OnRejected<'a> = dyn Fn(&Item, &Error) + Sync + 'a;

/// The items of a batch, kept until it is acknowledged, and its outcome.
type BatchOutcome = (Vec<Item>, Result<BatchWriteItemResponse, Error>);

/// Puts the items, each at least once.
///
/// # Errors
/// A failure that is not caused by one item, or endless throttling; [`Error::Interrupted`] if the
/// caller has stopped waiting.
pub fn put_all(
    side: &CopySide,
    items: Vec<Item>,
    on_rejected: &OnRejected<'_>,
) -> Result<CopyCounts, CopyError> {
    let mut counts = CopyCounts {
        items: items.len() as u64,
        ..CopyCounts::default()
    };
    let (mut waiting, mut patience) = (items, ThrottleBackoff::default());
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting = put_once(side, waiting, &mut counts, on_rejected)?;
        if waiting.len() < before {
            patience.reset();
        }
        if !waiting.is_empty()
            && !patience
                .wait(&side.caller)
                .map_err(|error| side.error(error))?
        {
            // A PutItem of the first item alone yields the service's own error text.
            put_one(side, waiting.swap_remove(0), &mut counts, on_rejected)?;
        }
    }
    Ok(counts)
}

/// Sends all items once; returns the unprocessed ones.
fn put_once(
    side: &CopySide,
    items: Vec<Item>,
    counts: &mut CopyCounts,
    on_rejected: &OnRejected<'_>,
) -> Result<Vec<Item>, CopyError> {
    let batches = batches(items);
    let mut waiting = Vec::new();
    for (items, outcome) in send_batches(side, batches) {
        match outcome {
            Ok(response) => {
                counts.write_units += response
                    .consumed_capacity
                    .iter()
                    .map(|of| of.total())
                    .sum::<f64>();
                for write in response.unprocessed_items.into_iter().flatten() {
                    waiting.push(item_of_put(write).ok_or_else(|| {
                        side.error(StoreError::Corrupt(
                            "an unprocessed delete of a batch of puts",
                        ))
                    })?);
                }
            }
            Err(error) if is_throttled(&error) => waiting.extend(items),
            // One item of the batch is at fault; single puts tell which.
            Err(error) if is_item_error(&error) => {
                items
                    .into_iter()
                    .try_for_each(|item| put_one(side, item, counts, on_rejected))?;
            }
            Err(error) => return Err(side.error(error)),
        }
    }
    Ok(waiting)
}

fn item_of_put(write: WriteRequest) -> Option<Item> {
    match write {
        WriteRequest::Put(item) => Some(item),
        WriteRequest::Delete(_) => None,
    }
}

fn is_item_error(error: &Error) -> bool {
    matches!(
        error.exception(),
        VALIDATION | "ItemCollectionSizeLimitExceededException"
    )
}

/// Splits items into batches in order, each with at most 25 items and [`BATCH_BYTES_MAX`] bytes.
fn batches(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut batches: Vec<Vec<Item>> = Vec::new();
    let mut room = (0, 0);
    for item in items {
        let size = item.size();
        if room.0 == 0 || room.1 < size {
            batches.push(Vec::with_capacity(BATCH_WRITE_REQUESTS_MAX));
            room = (BATCH_WRITE_REQUESTS_MAX, BATCH_BYTES_MAX);
        }
        room = (room.0 - 1, room.1.saturating_sub(size));
        if let Some(batch) = batches.last_mut() {
            batch.push(item);
        }
    }
    batches
}

/// Sends all batches at once, so that they share commits; returns the outcome of each.
fn send_batches(side: &CopySide, batches: Vec<Vec<Item>>) -> Vec<BatchOutcome> {
    let (sender, receiver) = mpsc::channel();
    let count = batches.len();
    let mut kept: Vec<Option<Vec<Item>>> = Vec::with_capacity(count);
    for (place, items) in batches.into_iter().enumerate() {
        let requests = items.iter().cloned().map(WriteRequest::Put).collect();
        kept.push(Some(items));
        let request = BatchWriteItemRequest {
            request_items: vec![TableWrites {
                table_name: side.table.clone(),
                requests,
            }],
            return_consumed_capacity: ReturnConsumedCapacity::Indexes,
            return_item_collection_metrics: false,
        };
        let sender = sender.clone();
        // The receiver waits below, so it cannot be gone.
        let done = Completion::new(CallContext::bulk(), move |outcome| {
            drop(sender.send((place, outcome)))
        });
        side.database.start(Call::BatchWriteItem(request, done));
    }
    drop(sender);
    let mut outcomes: Vec<BatchOutcome> = Vec::with_capacity(count);
    for (place, outcome) in receiver {
        let items = kept.get_mut(place).and_then(Option::take);
        debug_assert!(items.is_some(), "one outcome for each batch");
        outcomes.extend(items.map(|items| (items, outcome)));
    }
    // The database dropped the callback without an answer.
    outcomes.extend(
        kept.into_iter()
            .flatten()
            .map(|items| (items, Err(StoreError::Closed.into()))),
    );
    outcomes
}

fn put_one(
    side: &CopySide,
    item: Item,
    counts: &mut CopyCounts,
    on_rejected: &OnRejected<'_>,
) -> Result<(), CopyError> {
    let mut request = PutItemRequest::new(side.table.clone(), item);
    request.return_consumed_capacity = ReturnConsumedCapacity::Indexes;
    let put = || {
        run_blocking(CallContext::bulk(), |done| {
            side.database.start(Call::PutItem(request.clone(), done))
        })
    };
    match retry_throttled(&side.caller, put) {
        Ok(response) => counts.write_units += response.consumed_capacity.total(),
        Err(error) if is_item_error(&error) => {
            counts.rejected += 1;
            on_rejected(&request.item, &error);
        }
        Err(error) => return Err(side.error(error)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AttributeValue;

    #[test]
    fn batches_are_cut_by_number_and_by_bytes() {
        let check = |bytes: usize, count: usize, expected: &[usize]| {
            let item = Item::from([("k", AttributeValue::S("x".repeat(bytes - 1)))]);
            let lengths: Vec<usize> = batches(vec![item; count]).iter().map(Vec::len).collect();
            assert_eq!(lengths, expected, "{count} of {bytes} bytes");
        };
        check(10, 0, &[]);
        check(10, 25, &[25]);
        check(10, 51, &[25, 25, 1]);
        check(400 * 1024, 21, &[10, 10, 1]);
    }
}

//! Puts and deletes the items of a page in a table: sends batches concurrently, repeats unprocessed
//! writes, and reports items that the table refuses.

use std::sync::mpsc;

use super::journal::CopyCounts;
use super::{CopyError, CopySide};
use crate::database::cancel::ThrottleBackoff;
use crate::database::write_alone;
use crate::model::api::{
    BatchWriteItemRequest, BatchWriteItemResponse, Call, CallContext, Completion, TableWrites,
    WriteRequest,
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

/// The writes of a batch, kept until it is acknowledged, and its outcome.
type BatchOutcome = (Vec<WriteRequest>, Result<BatchWriteItemResponse, Error>);

/// Makes the writes, each at least once.
///
/// # Errors
/// A failure that is not caused by one item, or endless throttling; [`Error::Interrupted`] if the
/// caller has stopped waiting.
pub fn write_all(
    side: &CopySide,
    writes: Vec<WriteRequest>,
    on_rejected: &OnRejected<'_>,
) -> Result<CopyCounts, CopyError> {
    let mut counts = CopyCounts {
        items: writes.len() as u64,
        ..CopyCounts::default()
    };
    let (mut waiting, mut patience) = (writes, ThrottleBackoff::default());
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting = write_once(side, waiting, &mut counts, on_rejected)?;
        if !side.check(patience.wait_for_rest(&side.caller, before, waiting.len()))? {
            // The first write alone yields the service's own error text.
            write_one(side, waiting.swap_remove(0), &mut counts, on_rejected)?;
        }
    }
    Ok(counts)
}

/// Sends all writes once; returns the unprocessed ones.
fn write_once(
    side: &CopySide,
    writes: Vec<WriteRequest>,
    counts: &mut CopyCounts,
    on_rejected: &OnRejected<'_>,
) -> Result<Vec<WriteRequest>, CopyError> {
    let mut waiting = Vec::new();
    for (writes, outcome) in send_batches(side, batches(writes))? {
        match outcome {
            Ok(response) => {
                let consumed = response.consumed_capacity.iter();
                counts.write_units += consumed.map(|of| of.total()).sum::<f64>();
                waiting.extend(response.unprocessed_items.into_iter().flatten());
            }
            Err(error) if error.is_throttled() => waiting.extend(writes),
            // One item of the batch is at fault; single writes tell which.
            Err(error) if is_item_error(&error) => {
                writes
                    .into_iter()
                    .try_for_each(|write| write_one(side, write, counts, on_rejected))?;
            }
            Err(error) => return Err(side.error(error)),
        }
    }
    Ok(waiting)
}

fn is_item_error(error: &Error) -> bool {
    matches!(
        error.exception(),
        VALIDATION | "ItemCollectionSizeLimitExceededException"
    )
}

/// Splits writes into batches in order, each with at most 25 items and [`BATCH_BYTES_MAX`] bytes.
fn batches(writes: Vec<WriteRequest>) -> Vec<Vec<WriteRequest>> {
    let mut batches: Vec<Vec<WriteRequest>> = Vec::new();
    let mut room = (0, 0);
    for write in writes {
        let (WriteRequest::Put(item) | WriteRequest::Delete(item)) = &write;
        let size = item.size();
        if room.0 == 0 || room.1 < size {
            batches.push(Vec::with_capacity(BATCH_WRITE_REQUESTS_MAX));
            room = (BATCH_WRITE_REQUESTS_MAX, BATCH_BYTES_MAX);
        }
        room = (room.0 - 1, room.1.saturating_sub(size));
        if let Some(batch) = batches.last_mut() {
            batch.push(write);
        }
    }
    batches
}

/// Sends all batches at once, so that they share commits; returns the outcome of each.
fn send_batches(
    side: &CopySide,
    batches: Vec<Vec<WriteRequest>>,
) -> Result<Vec<BatchOutcome>, CopyError> {
    let (sender, receiver) = mpsc::channel();
    let count = batches.len();
    for writes in batches {
        let request = BatchWriteItemRequest {
            request_items: vec![TableWrites {
                table_name: side.table.clone(),
                requests: writes.clone(),
            }],
            ..BatchWriteItemRequest::default()
        };
        let sender = sender.clone();
        // The receiver waits below, so it cannot be gone.
        let done = Completion::new(CallContext::bulk(), move |outcome| {
            drop(sender.send((writes, outcome)))
        });
        side.database.start(Call::BatchWriteItem(request, done));
    }
    drop(sender);
    let outcomes: Vec<BatchOutcome> = receiver.into_iter().collect();
    if outcomes.len() < count {
        // The database dropped a callback without an answer.
        return Err(side.error(StoreError::Closed));
    }
    Ok(outcomes)
}

fn write_one(
    side: &CopySide,
    write: WriteRequest,
    counts: &mut CopyCounts,
    on_rejected: &OnRejected<'_>,
) -> Result<(), CopyError> {
    let written = side.retry(|| {
        let context = CallContext::bulk();
        write_alone(&*side.database, context, &side.table, write.clone())
    });
    match written {
        Ok(consumed) => counts.write_units += consumed.total(),
        Err(CopyError::Database { error, .. }) if is_item_error(&error) => {
            let (WriteRequest::Put(item) | WriteRequest::Delete(item)) = &write;
            counts.rejected += 1;
            on_rejected(item, &error);
        }
        Err(error) => return Err(error),
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
            let writes = vec![WriteRequest::Put(item); count];
            let lengths: Vec<usize> = batches(writes).iter().map(Vec::len).collect();
            assert_eq!(lengths, expected, "{count} of {bytes} bytes");
        };
        check(10, 0, &[]);
        check(10, 25, &[25]);
        check(10, 51, &[25, 25, 1]);
        check(400 * 1024, 21, &[10, 10, 1]);
    }
}

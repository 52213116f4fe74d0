//! The lines of `batch/atomic` until they are carried out: one TransactWriteItems, with its limits.

use crate::fs::open::prelude::*;
use crate::model::api::ReturnConsumedCapacity;
use crate::model::api::{TransactWrite, TransactWriteItemsRequest};
use crate::model::limits::TRANSACTION_ITEMS_MAX;

/// See the module.
/// A value in memory is so many times as large as its text, more or less.
const VALUE_GROWTH: usize = 4;

#[derive(Debug, Default)]
pub struct Transaction {
    /// Line numbers and what they ask for.
    writes: Vec<(u64, TransactWrite)>,
    /// Of the lines' texts.
    text_bytes: usize,
    /// A line was refused: nothing will be done.
    is_spoiled: bool,
}

impl Transaction {
    /// Adds a line.
    ///
    /// # Errors
    /// There are too many.
    pub fn add(&mut self, number: u64, text: &[u8], write: TransactWrite) -> Result<(), FsError> {
        if self.is_spoiled {
            return Ok(());
        }
        if self.writes.len() == TRANSACTION_ITEMS_MAX {
            return Err(FsError::Body(
                "a transaction has at most 100 lines; batch/put takes any number, each for itself".to_owned(),
            ));
        }
        self.writes.push((number, write));
        self.text_bytes += text.len();
        Ok(())
    }

    /// Nothing of it will be done.
    pub fn spoil(&mut self) {
        self.is_spoiled = true;
        self.writes.clear();
        self.text_bytes = 0;
    }

    /// The whole of it, with the number of each line; `None` when there is nothing to do.
    pub fn take(&mut self) -> Option<(Vec<u64>, TransactWriteItemsRequest)> {
        if self.writes.is_empty() {
            return None;
        }
        self.text_bytes = 0;
        let (numbers, transact_items) = std::mem::take(&mut self.writes).into_iter().unzip();
        let request = TransactWriteItemsRequest {
            transact_items,
            fault: None,
            client_request_token: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        };
        Some((numbers, request))
    }

    /// Bytes of memory of the lines: values take more than their text.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        VALUE_GROWTH * self.text_bytes
    }

    /// Was a line refused since the last end?
    #[must_use]
    pub fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    /// The next lines are another transaction.
    pub fn begin_anew(&mut self) {
        self.is_spoiled = false;
    }

    /// How a refused line or a failed end is told.
    #[must_use]
    pub fn refusal(&self, error: FsError) -> FsError {
        match error {
            FsError::Database(_) => error,
            other => {
                FsError::Clause { message: other.to_string(), hint: "nothing is done; batch/result.json names the line".to_owned() }
            }
        }
    }
}

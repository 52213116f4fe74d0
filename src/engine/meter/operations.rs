//! How operations ended and how long they took, by table and operation (docs/dynamodb.md 23.1).

use parking_lot::Mutex;

use super::sums::{History, SumSlots};
use crate::model::Error;
use crate::model::error::{Cancellation, CancellationReason};
use crate::model::layout::{MeteredOperation, OperationCounts, TableCounts};

/// What is counted of a table by its name.
#[derive(Debug, Default)]
pub struct TableMeter(Mutex<SumSlots>);

impl TableMeter {
    fn count(&self, now_ms: u64, add: impl FnOnce(&mut TableCounts)) {
        add(self.0.lock().now(now_ms).counts_mut());
    }

    /// Counts an operation: how it ended, how long it took, and what it gave back if that is counted.
    pub fn count_operation(&self, now_ms: u64, operation: MeteredOperation, ended: Outcome, took: (f64, Option<u64>)) {
        self.count(now_ms, |counts| {
            add(&mut counts.operations[operation as usize], ended, took);
            counts.conditional_check_failed += u64::from(ended == Outcome::ConditionFailed);
        });
    }

    /// Counts items that time to live deleted.
    pub fn count_expired(&self, now_ms: u64, items: u64) {
        self.count(now_ms, |counts| counts.time_to_live_deleted += items);
    }

    /// As [`SumSlots::take`].
    pub fn take(&self, now_ms: u64, is_end: bool) -> History {
        self.0.lock().take(now_ms, is_end)
    }

    /// As [`SumSlots::give_back`].
    pub fn give_back(&self, taken: &History) {
        self.0.lock().give_back(taken);
    }

    /// What was counted and is not stored yet.
    #[must_use]
    pub fn sums(&self) -> History {
        self.0.lock().history()
    }
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Success,
    ConditionFailed,
    Throttled,
    UserError,
    SystemError,
}

impl Outcome {
    /// Exhaustive for what is not a mistake of the request.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        match error {
            Error::ConditionalCheckFailed { .. } => Self::ConditionFailed,
            Error::TransactionCanceled(Cancellation(reasons)) if reasons.iter().any(is_condition) => Self::ConditionFailed,
            Error::Throttled(_) => Self::Throttled,
            Error::Store(_) => Self::SystemError,
            _ => Self::UserError,
        }
    }
}

fn is_condition(reason: &CancellationReason) -> bool {
    matches!(reason, CancellationReason::ConditionalCheckFailed { .. })
}

fn add(counts: &mut OperationCounts, outcome: Outcome, (latency_ms, returned): (f64, Option<u64>)) {
    match outcome {
        Outcome::Success => {
            counts.latency_ms.add(latency_ms);
            if let Some(items) = returned {
                counts.returned_items.add(items as f64);
            }
        }
        Outcome::Throttled => counts.throttled += 1,
        Outcome::SystemError => counts.system_errors += 1,
        Outcome::ConditionFailed | Outcome::UserError => {}
    }
}

//! The counts that an interval accumulates: the load of a table's base or index, and the outcome of
//! operations on a table by its name. `pyramid` keeps them over time, `stored` stores them.

use std::collections::BTreeMap;

use super::pyramid::{MergeRecord, OpenSlotRecords, Pyramid, TimeLevel};
use crate::engine::{base::stored_form::is_default, prelude::*};
use crate::model::{
    error::{Cancellation, CancellationReason, StatementError},
    metrics::{CapacityUsage, MeteredOperation, Period, RequestCounts, Series, TableCounts},
};

/// The number of minutes reported: three hours, as long as CloudWatch keeps its finest points.
pub const MINUTES_MAX: u64 = 180;

const MINUTE_MS: u64 = 60_000;

/// The sums over an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// The begin of the counting, in milliseconds since the epoch; only in a total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    #[serde(skip_serializing_if = "is_default")]
    pub usage: CapacityUsage,
    /// The outcome of operations; only with a table's base.
    #[serde(skip_serializing_if = "has_no_counts")]
    pub counts: Option<Box<TableCounts>>,
}

fn has_no_counts(counts: &Option<Box<TableCounts>>) -> bool {
    counts.as_deref().is_none_or(is_default)
}

impl Sums {
    /// Returns the counts, and creates them on first use.
    pub fn counts_mut(&mut self) -> &mut TableCounts {
        self.counts.get_or_insert_default()
    }
}

impl MergeRecord for Sums {
    fn merge(&mut self, other: &Self) {
        self.since_ms = self.since_ms.or(other.since_ms);
        self.usage.merge(&other.usage);
        if let Some(counts) = &other.counts {
            self.counts_mut().merge(counts);
        }
    }

    fn trim(&mut self) {}

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The sums by time, and their total.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    pub by_time: Pyramid<Sums>,
    pub total: Sums,
}

impl History {
    /// Adds counts from elsewhere.
    pub fn merge(&mut self, other: &Self) {
        other
            .by_time
            .0
            .iter()
            .for_each(|(place, sums)| self.by_time.add(*place, sums));
        self.total.merge(&other.total);
    }

    /// Returns the total, and each of the last minutes with counts.
    pub fn series<T>(&self, now_ms: u64, value_of: impl Fn(&Sums) -> T) -> Series<T> {
        let oldest = (now_ms / MINUTE_MS + 1).saturating_sub(MINUTES_MAX);
        let mut minutes = BTreeMap::<u64, Sums>::new();
        for ((level, start), sums) in &self.by_time.0 {
            if *level != TimeLevel::Hour && start / MINUTE_MS >= oldest {
                minutes.entry(start / MINUTE_MS).or_default().merge(sums);
            }
        }
        Series {
            total: value_of(&self.total),
            minutes: minutes
                .iter()
                .map(|(minute, sums)| (*minute, value_of(sums)))
                .collect(),
        }
    }

    /// Returns the requests of each period.
    #[must_use]
    pub fn requests(&self, now_ms: u64) -> [RequestCounts; 3] {
        Period::ALL.map(|window| {
            let counts = self.within(window, now_ms).counts;
            counts.map(|counts| counts.requests()).unwrap_or_default()
        })
    }

    /// Returns the sums of a window.
    #[must_use]
    pub fn within(&self, window: Period, now_ms: u64) -> Sums {
        self.by_time.since(window.span(now_ms).from_ms)
    }
}

/// The sums that are not stored yet.
#[derive(Debug, Default)]
pub struct SumSlots {
    slots: OpenSlotRecords<Sums>,
    /// The total of the closed slots.
    total: Sums,
}

impl SumSlots {
    /// Returns the sums of the open slot.
    pub fn now(&mut self, now_ms: u64) -> &mut Sums {
        if self.slots.is_over(now_ms) {
            self.close(now_ms);
        }
        &mut self.slots.open
    }

    /// Returns the outcome counts of the open slot.
    pub fn counts(&mut self, now_ms: u64) -> &mut TableCounts {
        self.now(now_ms).counts_mut()
    }

    /// Returns all sums, with the open slot.
    #[must_use]
    pub fn history(&self) -> History {
        let mut total = self.total.clone();
        total.merge(&self.slots.open);
        History {
            by_time: self.slots.all(&self.slots.open),
            total,
        }
    }

    /// Takes the sums to flush: the closed slots; at the end the open one too.
    pub fn take(&mut self, now_ms: u64, is_end: bool) -> History {
        if is_end || self.slots.is_over(now_ms) {
            self.close(now_ms);
        }
        History {
            by_time: self.slots.take(),
            total: std::mem::take(&mut self.total),
        }
    }

    /// Gives back sums that could not be stored.
    pub fn restore(&mut self, stored: &History) {
        self.slots.restore(&stored.by_time);
        self.total.merge(&stored.total);
    }

    fn close(&mut self, now_ms: u64) {
        self.total.merge(&self.slots.open);
        self.slots.close(now_ms);
    }
}

// Outcome and latency of operations, by table and operation (docs/dynamodb.md 23.1).

/// The outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationOutcome {
    Success,
    ConditionFailed,
    Throttled,
    UserError,
    SystemError,
}

impl OperationOutcome {
    /// Classifies an error: every error that is not listed is a mistake of the request.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        match error {
            Error::ConditionalCheckFailed { .. } | Error::Statement(StatementError::Duplicate) => {
                Self::ConditionFailed
            }
            Error::TransactionCanceled(Cancellation(reasons))
                if reasons.iter().any(is_condition) =>
            {
                Self::ConditionFailed
            }
            Error::Throttled(_) => Self::Throttled,
            Error::Store(_) => Self::SystemError,
            _ => Self::UserError,
        }
    }
}

fn is_condition(reason: &CancellationReason) -> bool {
    matches!(
        reason,
        CancellationReason::ConditionalCheckFailed { .. } | CancellationReason::DuplicateItem
    )
}

/// Counts an operation: its outcome, its latency in milliseconds, and the number of returned items
/// if that is counted.
pub fn count_operation(
    counts: &mut TableCounts,
    operation: MeteredOperation,
    outcome: OperationOutcome,
    latency_ms: f64,
    returned: Option<u64>,
) {
    counts.conditional_check_failed += u64::from(outcome == OperationOutcome::ConditionFailed);
    let counts = &mut counts.operations[operation as usize];
    match outcome {
        OperationOutcome::Success => {
            counts.latency_ms.add(latency_ms);
            if let Some(items) = returned {
                counts.returned_items.add(items as f64);
            }
        }
        OperationOutcome::Throttled => counts.throttled += 1,
        OperationOutcome::SystemError => counts.system_errors += 1,
        OperationOutcome::ConditionFailed | OperationOutcome::UserError => {}
    }
}

//! How operations ended and how long they took, by table and operation (docs/dynamodb.md 23.1).

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::window::Minutes;
use crate::engine::{Done, Engine, Shared};
use crate::model::error::{Cancellation, CancellationReason};
use crate::model::layout::{MeteredOperation, OperationCounts, Series, TableCounts};
use crate::model::{Error, TableName};

/// What is counted of a table by its name.
#[derive(Debug, Default)]
pub struct TableMeter(Mutex<Minutes<TableCounts>>);

impl TableMeter {
    fn count(&self, now_ms: u64, add: impl Fn(&mut TableCounts)) {
        self.0.lock().count(now_ms, add);
    }

    /// Counts items that time to live deleted.
    pub fn count_expired(&self, now_ms: u64, items: u64) {
        self.count(now_ms, |counts| counts.time_to_live_deleted += items);
    }

    #[must_use]
    pub fn series(&self, now_ms: u64) -> Series<TableCounts> {
        self.0.lock().series(now_ms)
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

/// Measures one operation from its beginning to [`Timer::end`].
#[derive(Debug)]
pub struct Timer {
    shared: Arc<Shared>,
    operation: MeteredOperation,
    started: Instant,
}

impl Engine {
    /// Begins to measure an operation.
    #[must_use]
    pub fn timer(&self, operation: MeteredOperation) -> Timer {
        Timer { shared: Arc::clone(&self.shared), operation, started: Instant::now() }
    }
}

impl Timer {
    /// Sets how long it took so far: what was done before it is measured now.
    #[must_use]
    pub fn after(self, took: Duration) -> Self {
        let now = Instant::now();
        Self { started: now.checked_sub(took).unwrap_or(now), ..self }
    }

    /// The outcome as it is, counted for each table that the operation names.
    pub fn end<'t, T>(
        self,
        tables: impl IntoIterator<Item = &'t TableName>,
        outcome: Result<T, Error>,
        returned: impl Fn(&T) -> Option<u64>,
    ) -> Result<T, Error> {
        let kind = outcome.as_ref().map_or_else(Outcome::of, |_| Outcome::Success);
        if kind == Outcome::UserError {
            self.shared.meter.user_error();
            return outcome;
        }
        let latency_ms = self.started.elapsed().as_secs_f64() * 1e3;
        let returned = outcome.as_ref().ok().and_then(returned);
        let now_ms = self.shared.options.clock.now_ms();
        for table in tables {
            self.shared.meter.table(table).count(now_ms, |counts| {
                let operation = &mut counts.operations[self.operation as usize];
                add(operation, kind, latency_ms, returned);
                counts.conditional_check_failed += u64::from(kind == Outcome::ConditionFailed);
            });
        }
        outcome
    }

    /// A `done` that measures before it hears of the outcome.
    #[must_use]
    pub fn then<T: 'static>(self, tables: Vec<TableName>, done: Done<T>) -> Done<T> {
        Box::new(move |outcome| done(self.end(&tables, outcome, |_| None)))
    }
}

#[allow(clippy::cast_precision_loss)]
fn add(counts: &mut OperationCounts, outcome: Outcome, latency_ms: f64, returned: Option<u64>) {
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

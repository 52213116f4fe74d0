//! Measures operations for the meters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::shared::Shared;
use crate::engine::meter::Outcome;
use crate::model::api::Done;
use crate::model::layout::MeteredOperation;
use crate::model::{Error, TableName};

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
        // CloudWatch counts them for the account alone, not by table.
        if kind == Outcome::UserError {
            self.shared.meter.user_error();
            return outcome;
        }
        let latency_ms = self.started.elapsed().as_secs_f64() * 1e3;
        let returned = outcome.as_ref().ok().and_then(returned);
        let now_ms = self.shared.options.clock.now_ms();
        for table in tables {
            self.shared.meter.table(table).count_operation(now_ms, self.operation, kind, (latency_ms, returned));
        }
        outcome
    }

    /// A `done` that measures before it hears of the outcome.
    #[must_use]
    pub fn then<T: 'static>(self, tables: Vec<TableName>, done: Done<T>) -> Done<T> {
        Box::new(move |outcome| done(self.end(&tables, outcome, |_| None)))
    }
}

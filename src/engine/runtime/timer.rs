//! Measures operations for the meters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::shared::Shared;
use crate::engine::meter::Outcome;
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
        self.count(tables, outcome.as_ref().err(), outcome.as_ref().ok().and_then(returned));
        outcome
    }

    /// Counts, for each table that the operation names, that it ended, with this failure or with so many items.
    pub fn count<'t>(self, tables: impl IntoIterator<Item = &'t TableName>, failure: Option<&Error>, returned: Option<u64>) {
        let kind = failure.map_or(Outcome::Success, Outcome::of);
        // CloudWatch counts them for the account alone, not by table.
        if kind == Outcome::UserError {
            return self.shared.meter.user_error();
        }
        let latency_ms = self.started.elapsed().as_secs_f64() * 1e3;
        let now_ms = self.shared.now_ms();
        for table in tables {
            self.shared.meter.table(table).count_operation(now_ms, self.operation, kind, (latency_ms, returned));
        }
    }
}

//! What a write consumes, remembered until it is committed.

use std::sync::Arc;

use super::SourceMeter;
use crate::model::Error;
use crate::model::layout::Load;

/// Units that a write consumed at a place.
#[derive(Debug)]
pub struct Charge {
    pub meter: Arc<SourceMeter>,
    pub place: Vec<u8>,
    pub units: f64,
}

/// What one job of the writer thread consumes; counted when it is committed.
#[derive(Debug, Default)]
pub struct Charges {
    /// Nothing is counted: the engine's own work, imports and restores consume none.
    pub is_off: bool,
    /// Room in the global indexes was found for all of it before.
    pub is_admitted: bool,
    /// In a transaction a table's units count twice.
    pub table_factor: Option<f64>,
    pub list: Vec<Charge>,
    /// Items that were looked at, with the units that a failed condition on them costs.
    pub looked_at: Vec<Charge>,
}

impl Charges {
    /// Counts what was consumed. A failed condition costs as much as a write of the items as they were (docs/dynamodb.md 10.1).
    pub fn count(&self, now_ms: u64, error: Option<&Error>) {
        let has_failed = matches!(error, Some(Error::ConditionalCheckFailed { .. } | Error::TransactionCanceled(_)));
        for charge in if has_failed { &self.looked_at } else { &self.list } {
            charge.meter.count_item(&charge.place, now_ms, &Load { write: charge.units, ..Load::default() });
        }
    }

    /// How many times units of a table count.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.table_factor.unwrap_or(1.0)
    }
}

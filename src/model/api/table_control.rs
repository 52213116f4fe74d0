//! What the control operations keep of a table beside its definition.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::common::Failure;
use super::saved_query::SavedQueries;

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// All of it; empty for a table that was only created.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableControl {
    pub throughput: ThroughputHistory,
    /// Of global indexes, by name.
    pub indexes: BTreeMap<String, ThroughputHistory>,
    /// Last change to PAY_PER_REQUEST, also when it was changed back; `None` when CreateTable said it, or never.
    pub on_demand_since_ms: Option<u64>,
    pub class_changed_ms: Option<u64>,
    /// Last change of anything that the definition shows; `None` since CreateTable.
    pub changed_ms: Option<u64>,
    /// Number of the resource policy put last, also when it was removed; `None` when CreateTable said it, or never.
    pub policy_revision: Option<u64>,
    pub recovery: Option<PointInTimeRecovery>,
    pub restored: Option<RestoreSummary>,
    /// Jobs that read the table.
    pub readers: u64,
    #[serde(rename = "queries")]
    pub saved_queries: Arc<SavedQueries>,
}

impl TableControl {
    /// Does every change leave the old item behind?
    #[must_use]
    pub fn keeps_history(&self) -> bool {
        self.recovery.is_some() || self.readers > 0
    }

    /// Is it of a table whose restore ended too early?
    #[must_use]
    pub fn is_failed_restore(&self) -> bool {
        self.restored.as_ref().is_some_and(|restored| restored.failure.is_some())
    }
}

/// When provisioned throughput went up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThroughputHistory {
    pub last_increase_ms: Option<u64>,
    pub last_decrease_ms: Option<u64>,
    /// Decreases in the UTC day of the last one.
    pub decreases: u64,
}

impl ThroughputHistory {
    /// `NumberOfDecreasesToday`.
    #[must_use]
    pub fn decreases_today(&self, now_ms: u64) -> u64 {
        match self.last_decrease_ms {
            Some(last) if last / DAY_MS == now_ms / DAY_MS => self.decreases,
            _ => 0,
        }
    }
}

/// Point-in-time recovery that is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointInTimeRecovery {
    pub since_ms: u64,
    pub period_days: u64,
}

/// Where a restored table came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreSummary {
    pub source_backup_arn: Option<String>,
    pub source_table_arn: String,
    pub restore_ms: u64,
    pub is_in_progress: bool,
    /// Why it ended too early: the table stays CREATING and can only be deleted.
    pub failure: Option<Failure>,
}

//! What is kept of a table beside its definition and its items: what the control operations changed, saved queries, and parked files,
//! which were items and were moved to a name that is no item's. The last two are not of the DynamoDB API. All of it is gone with the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DeleteItemRequest;
use super::common::Failure;
use crate::model::limits::SAVED_QUERIES_MAX;
use crate::model::{AttributeValue, TableName};

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
        self.restored
            .as_ref()
            .is_some_and(|restored| restored.failure.is_some())
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

/// By name.
pub type SavedQueries = BTreeMap<String, SavedQuery>;

/// A query under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedQuery {
    pub form: SavedForm,
    /// When it was saved, milliseconds since the epoch.
    pub modified_ms: u64,
}

/// How a query is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedForm {
    /// The filesystem path of a query, relative to the directory of saved queries.
    Link(String),
    /// The text of a Query or Scan request.
    Request(String),
}

/// One change of a table's saved queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedQueryChange {
    /// Saves under a name; one that is there is replaced only if said so.
    Put {
        name: String,
        form: SavedForm,
        replace: bool,
    },
    Remove {
        name: String,
    },
    /// Gives another name; a query that is there is replaced only if said so.
    Rename {
        from: String,
        to: String,
        replace: bool,
    },
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedQueryOutcome {
    Done,
    /// There is no query of that name.
    Absent,
    /// There is one, and it was not to be replaced.
    Exists,
    /// There are as many as there may be.
    Full,
}

impl SavedQueryChange {
    /// Carries the change out.
    pub fn apply(&self, saved: &mut SavedQueries, now_ms: u64) -> SavedQueryOutcome {
        match self {
            SavedQueryChange::Put {
                name,
                form,
                replace,
            } => {
                let exists = saved.contains_key(name);
                if exists && !replace {
                    return SavedQueryOutcome::Exists;
                }
                if !exists && saved.len() >= SAVED_QUERIES_MAX {
                    return SavedQueryOutcome::Full;
                }
                saved.insert(
                    name.clone(),
                    SavedQuery {
                        form: form.clone(),
                        modified_ms: now_ms,
                    },
                );
            }
            SavedQueryChange::Remove { name } => {
                if saved.remove(name).is_none() {
                    return SavedQueryOutcome::Absent;
                }
            }
            SavedQueryChange::Rename { from, to, replace } => {
                if !replace && from != to && saved.contains_key(to) {
                    return SavedQueryOutcome::Exists;
                }
                let Some(query) = saved.remove(from) else {
                    return SavedQueryOutcome::Absent;
                };
                saved.insert(to.clone(), query);
            }
        }
        SavedQueryOutcome::Done
    }
}

/// How long a parked file is kept.
pub const PARKED_KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// Where a parked file is: one at a place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParkedPlace {
    pub table: TableName,
    /// The partition key of the item collection that it is in; `None` of one that is in no collection's folder.
    pub folder: Option<AttributeValue>,
    /// Its file name.
    pub name: String,
}

/// What is known of a parked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedStat {
    pub place: ParkedPlace,
    /// Bytes of its content.
    pub bytes: u64,
    /// When it was parked, milliseconds since the epoch.
    pub parked_ms: u64,
    /// Is its folder there still? One whose folder was removed is listed, and no longer in any folder.
    pub is_placed: bool,
}

impl ParkedStat {
    /// When it is dropped, milliseconds since the epoch.
    #[must_use]
    pub fn until_ms(&self) -> u64 {
        self.parked_ms.saturating_add(PARKED_KEPT_MS)
    }
}

/// Deletes an item and parks its text, both or neither.
#[derive(Debug, Clone, PartialEq)]
pub struct ParkRequest {
    pub delete: DeleteItemRequest,
    pub place: ParkedPlace,
    pub content: Vec<u8>,
}

/// One change of parked files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParkedChange {
    Remove(ParkedPlace),
    /// To another place; what is parked there goes.
    Move {
        from: ParkedPlace,
        to: ParkedPlace,
    },
    /// The folder of a collection, or all places in no folder, of a table is removed: its files are in no folder any more.
    Leave {
        table: TableName,
        folder: Option<AttributeValue>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_changes() {
        let mut saved = SavedQueries::new();
        let put = |name: &str, replace| SavedQueryChange::Put {
            name: name.to_owned(),
            form: SavedForm::Link(format!("../query/@pk={name}")),
            replace,
        };
        let rename = |from: &str, to: &str, replace| SavedQueryChange::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
            replace,
        };
        let remove = |name: &str| SavedQueryChange::Remove {
            name: name.to_owned(),
        };
        for (change, outcome, names) in [
            (put("a", false), SavedQueryOutcome::Done, "a"),
            (put("a", false), SavedQueryOutcome::Exists, "a"),
            (put("a", true), SavedQueryOutcome::Done, "a"),
            (put("b", false), SavedQueryOutcome::Done, "a b"),
            (rename("a", "b", false), SavedQueryOutcome::Exists, "a b"),
            (rename("a", "a", false), SavedQueryOutcome::Done, "a b"),
            (rename("a", "c", false), SavedQueryOutcome::Done, "b c"),
            (rename("b", "c", true), SavedQueryOutcome::Done, "c"),
            (rename("x", "y", true), SavedQueryOutcome::Absent, "c"),
            (remove("x"), SavedQueryOutcome::Absent, "c"),
            (remove("c"), SavedQueryOutcome::Done, ""),
        ] {
            assert_eq!(change.apply(&mut saved, 7), outcome, "{change:?}");
            assert_eq!(
                saved.keys().cloned().collect::<Vec<_>>().join(" "),
                names,
                "{change:?}"
            );
        }
        for number in 0..SAVED_QUERIES_MAX {
            assert_eq!(
                put(&number.to_string(), false).apply(&mut saved, 7),
                SavedQueryOutcome::Done
            );
        }
        assert_eq!(
            put("one more", false).apply(&mut saved, 7),
            SavedQueryOutcome::Full
        );
        assert_eq!(put("7", true).apply(&mut saved, 7), SavedQueryOutcome::Done);
    }
}

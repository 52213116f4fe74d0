//! The state that a table has beside its definition ([`super::tables`]) and its items: the effects
//! of control operations, such as point-in-time recovery and throughput changes; saved queries; and
//! the trash of the filesystem, files that were items and were moved to a name that is no item's.
//! The last two are not in the DynamoDB API. All of it is deleted with the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DeleteItemRequest;
use super::common::JobFailure;
use crate::model::limits::SAVED_QUERIES_MAX;
use crate::model::{AttributeValue, TableName};

/// The milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The control state of a table; empty if the table was only created.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableControl {
    pub throughput: ThroughputHistory,
    /// Global indexes by name.
    pub indexes: BTreeMap<String, ThroughputHistory>,
    /// The last change to PAY_PER_REQUEST, even if it was reverted since; `None` if CreateTable
    /// chose it, or never.
    pub on_demand_since_ms: Option<u64>,
    pub class_changed_ms: Option<u64>,
    /// The last change of anything that the definition shows; `None` if there was none since
    /// CreateTable.
    pub changed_ms: Option<u64>,
    /// The number of the last resource policy put, even if it was removed since; `None` if
    /// CreateTable set it, or never.
    pub policy_revision: Option<u64>,
    pub recovery: Option<PointInTimeRecovery>,
    pub restored: Option<RestoreSummary>,
    /// The number of jobs that read the table.
    pub readers: u64,
    #[serde(rename = "queries")]
    pub saved_queries: Arc<SavedQueries>,
}

impl TableControl {
    /// True if every change keeps the old item in the history.
    #[must_use]
    pub fn keeps_history(&self) -> bool {
        self.recovery.is_some() || self.readers > 0
    }

    /// True if the table's restore failed.
    #[must_use]
    pub fn is_failed_restore(&self) -> bool {
        self.restored
            .as_ref()
            .is_some_and(|restored| restored.failure.is_some())
    }
}

/// The times at which provisioned throughput was raised and lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThroughputHistory {
    pub last_increase_ms: Option<u64>,
    pub last_decrease_ms: Option<u64>,
    /// The number of decreases in the UTC day of the last one.
    pub decreases: u64,
}

impl ThroughputHistory {
    /// Returns `NumberOfDecreasesToday`.
    #[must_use]
    pub fn decreases_today(&self, now_ms: u64) -> u64 {
        match self.last_decrease_ms {
            Some(last) if last / DAY_MS == now_ms / DAY_MS => self.decreases,
            _ => 0,
        }
    }
}

/// The settings of enabled point-in-time recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointInTimeRecovery {
    pub since_ms: u64,
    pub period_days: u64,
}

/// The source of a restored table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreSummary {
    pub source_backup_arn: Option<String>,
    pub source_table_arn: String,
    pub restore_ms: u64,
    pub is_in_progress: bool,
    /// The failure of the restore: the table stays CREATING and can only be deleted.
    pub failure: Option<JobFailure>,
}

/// Saved queries by name.
pub type SavedQueries = BTreeMap<String, SavedQuery>;

/// A named query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedQuery {
    pub form: SavedForm,
    /// The time at which it was saved, milliseconds since the epoch.
    pub modified_ms: u64,
}

/// The form in which a query is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedForm {
    /// The filesystem path of a query, relative to the directory of saved queries.
    Link(String),
    /// The text of a Query or Scan request.
    Request(String),
}

/// The query that a change may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    None,
    Any,
    /// The one that was saved at this time; 0 is none.
    SavedAt(u64),
}

impl Replace {
    /// True if a query of this time may be replaced; 0 is none.
    fn allows(self, saved_at: u64) -> bool {
        match self {
            Self::None => saved_at == 0,
            Self::Any => true,
            Self::SavedAt(time) => saved_at == time,
        }
    }
}

/// One change of a table's saved queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedQueryChange {
    /// Saves a query under a name.
    Put {
        name: String,
        form: SavedForm,
        replace: Replace,
    },
    Remove {
        name: String,
        replace: Replace,
    },
    /// Renames a query; an existing one is replaced only if `replace` is set.
    Rename {
        from: String,
        to: String,
        replace: bool,
    },
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedQueryOutcome {
    /// The change was made; the query is saved at this time now, 0 if it is gone.
    Done(u64),
    /// There is no query of that name.
    Absent,
    /// There is a query of that name, and it must not be replaced.
    Exists,
    /// The limit of saved queries is reached.
    Full,
}

impl SavedQueryChange {
    /// Applies the change to `saved`.
    pub fn apply(&self, saved: &mut SavedQueries, now_ms: u64) -> SavedQueryOutcome {
        match self {
            SavedQueryChange::Put {
                name,
                form,
                replace,
            } => {
                let saved_at = saved.get(name).map_or(0, |query| query.modified_ms);
                if !replace.allows(saved_at) {
                    return SavedQueryOutcome::Exists;
                }
                if saved_at == 0 && saved.len() >= SAVED_QUERIES_MAX {
                    return SavedQueryOutcome::Full;
                }
                // Two changes of one millisecond have different times.
                let modified_ms = now_ms.max(saved_at + 1);
                let form = form.clone();
                saved.insert(name.clone(), SavedQuery { form, modified_ms });
                SavedQueryOutcome::Done(modified_ms)
            }
            SavedQueryChange::Remove { name, replace } => match saved.get(name) {
                None => SavedQueryOutcome::Absent,
                Some(query) if !replace.allows(query.modified_ms) => SavedQueryOutcome::Exists,
                Some(_) => {
                    saved.remove(name);
                    SavedQueryOutcome::Done(0)
                }
            },
            SavedQueryChange::Rename { from, to, replace } => {
                if !replace && from != to && saved.contains_key(to) {
                    return SavedQueryOutcome::Exists;
                }
                let Some(query) = saved.remove(from) else {
                    return SavedQueryOutcome::Absent;
                };
                let saved_at = query.modified_ms;
                saved.insert(to.clone(), query);
                SavedQueryOutcome::Done(saved_at)
            }
        }
    }
}

/// The time for which a trashed file is kept, milliseconds.
pub const TRASH_RETENTION_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The identity of a trashed file: its table, folder and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TrashKey {
    pub table: TableName,
    /// The partition key of the item collection in which it lies; `None` for a file in no
    /// collection's folder.
    pub folder: Option<AttributeValue>,
    /// The file name.
    pub name: String,
}

/// The attributes of a trashed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashStat {
    pub key: TrashKey,
    /// The bytes of its content.
    pub bytes: u64,
    /// The time at which it was trashed, milliseconds since the epoch.
    pub trashed_ms: u64,
    /// True if its folder still exists. A file of a removed folder is listed, but is in no folder
    /// any more.
    pub is_in_folder: bool,
}

impl TrashStat {
    /// Returns the time at which it is deleted, milliseconds since the epoch.
    #[must_use]
    pub fn expires_ms(&self) -> u64 {
        self.trashed_ms.saturating_add(TRASH_RETENTION_MS)
    }
}

/// A request to delete an item and to move its text to the trash, both or neither.
#[derive(Debug, Clone, PartialEq)]
pub struct TrashRequest {
    pub delete: DeleteItemRequest,
    pub key: TrashKey,
    pub content: Vec<u8>,
}

/// A change of trashed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrashChange {
    Remove(TrashKey),
    /// Moves a file; a trashed file at the destination is replaced.
    Move {
        from: TrashKey,
        to: TrashKey,
    },
    /// Detaches the files of a removed folder: that of a collection, or `None` for all files of the
    /// table in no folder.
    Detach {
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
        let put = |name: &str, replace: bool| SavedQueryChange::Put {
            name: name.to_owned(),
            form: SavedForm::Link(format!("../query/@pk={name}")),
            replace: if replace { Replace::Any } else { Replace::None },
        };
        let edit = |name: &str, time| SavedQueryChange::Put {
            name: name.to_owned(),
            form: SavedForm::Request(String::new()),
            replace: Replace::SavedAt(time),
        };
        let rename = |from: &str, to: &str, replace| SavedQueryChange::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
            replace,
        };
        let remove = |name: &str, replace| SavedQueryChange::Remove {
            name: name.to_owned(),
            replace,
        };
        for (change, outcome, names) in [
            (put("a", false), SavedQueryOutcome::Done(7), "a"),
            (put("a", false), SavedQueryOutcome::Exists, "a"),
            (put("a", true), SavedQueryOutcome::Done(8), "a"),
            (edit("a", 7), SavedQueryOutcome::Exists, "a"),
            (edit("a", 8), SavedQueryOutcome::Done(9), "a"),
            (edit("b", 8), SavedQueryOutcome::Exists, "a"),
            (put("b", false), SavedQueryOutcome::Done(7), "a b"),
            (rename("a", "b", false), SavedQueryOutcome::Exists, "a b"),
            (rename("a", "a", false), SavedQueryOutcome::Done(9), "a b"),
            (rename("a", "c", false), SavedQueryOutcome::Done(9), "b c"),
            (rename("b", "c", true), SavedQueryOutcome::Done(7), "c"),
            (rename("x", "y", true), SavedQueryOutcome::Absent, "c"),
            (remove("x", Replace::Any), SavedQueryOutcome::Absent, "c"),
            (
                remove("c", Replace::SavedAt(6)),
                SavedQueryOutcome::Exists,
                "c",
            ),
            (
                remove("c", Replace::SavedAt(7)),
                SavedQueryOutcome::Done(0),
                "",
            ),
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
                SavedQueryOutcome::Done(7)
            );
        }
        assert_eq!(
            put("one more", false).apply(&mut saved, 7),
            SavedQueryOutcome::Full
        );
        assert_eq!(
            put("7", true).apply(&mut saved, 7),
            SavedQueryOutcome::Done(8)
        );
    }
}

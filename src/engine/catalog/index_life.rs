//! What a table's catalog entry knows of indexes that are not simply there: being made, being removed, lagging. Plain data; the phases
//! follow each other in `index_life`, what lags is applied by `index_lag`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::engine::base::keys::SourceId;
use crate::model::api::{TableStatus, Version};
use crate::model::{IndexKind, IndexName, IndexSchema};

/// What a table's catalog entry knows of indexes that are not simply there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexLife {
    /// The index being made. It is in the table's schema.
    pub building: Option<Building>,
    /// The index being removed. It is in the table's schema no more.
    pub leaving: Option<Leaving>,
    /// By name, the indexes of the schema that UpdateTable made or is making.
    pub made: BTreeMap<String, Made>,
    /// `None` while global indexes show every write, see `index_lag`.
    pub lag: Option<Lag>,
}

/// An index being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Building {
    pub index: IndexName,
    pub phase: Phase,
    /// Its throughput was changed meanwhile: it shows as UPDATING until it is active.
    #[serde(rename = "updated")]
    pub is_updated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Resources are allocated until then at least, milliseconds since the epoch.
    Allocation {
        until_ms: u64,
    },
    Backfill,
}

/// An index being removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    pub index: IndexSchema,
    pub source: SourceId,
    /// The list of its violations, if it had one.
    pub violations: Option<SourceId>,
}

/// What an index made by UpdateTable has beside its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The list of items that are kept out of it.
    pub violations: SourceId,
    /// Writes up to this version were in it when it became active.
    pub since: Version,
}

impl IndexLife {
    /// Is it the index that is being made?
    #[must_use]
    pub fn is_building(&self, index: &IndexName) -> bool {
        self.building.as_ref().is_some_and(|building| building.index == *index)
    }

    /// The name of the index being made or removed.
    #[must_use]
    pub fn busy(&self) -> Option<&IndexName> {
        let building = self.building.as_ref().map(|building| &building.index);
        building.or_else(|| self.leaving.as_ref().map(|leaving| &leaving.index.name))
    }

    /// Sources beside those of the schema's indexes.
    pub fn sources(&self) -> impl Iterator<Item = SourceId> + '_ {
        let leaving = self.leaving.iter().flat_map(|leaving| std::iter::once(leaving.source).chain(leaving.violations));
        leaving.chain(self.made.values().map(|made| made.violations))
    }

    /// The table's status; making or removing an index is an update of it but for the backfill.
    #[must_use]
    pub fn table_status(&self, stored: TableStatus) -> TableStatus {
        let is_allocating = self.building.as_ref().is_some_and(|building| matches!(building.phase, Phase::Allocation { .. }));
        match stored {
            TableStatus::Active if is_allocating || self.leaving.is_some() => TableStatus::Updating,
            other => other,
        }
    }

    /// The status of an index of the schema and its `Backfilling` member.
    #[must_use]
    pub fn index_status(&self, index: &IndexName, table: TableStatus) -> (TableStatus, Option<bool>) {
        let Some(building) = self.building.as_ref().filter(|building| building.index == *index) else { return (table, None) };
        match (building.phase, building.is_updated) {
            (Phase::Allocation { .. }, _) => (TableStatus::Creating, Some(false)),
            (Phase::Backfill, false) => (TableStatus::Creating, Some(true)),
            (Phase::Backfill, true) => (TableStatus::Updating, Some(true)),
        }
    }

    /// Does an index of the schema show writes late, when any does? Not while it is made: nobody can read it then.
    #[must_use]
    pub fn is_late(&self, index: &IndexSchema) -> bool {
        index.kind == IndexKind::Global && !self.is_building(&index.name)
    }
}

/// A table whose global indexes may lag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lag {
    /// Nothing is applied until it is resumed.
    #[serde(rename = "paused")]
    pub is_paused: bool,
}

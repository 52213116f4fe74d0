//! A table as the store knows it, as plain data. What a feature does with its part is the feature's: `streams`, `time_to_live`,
//! `index_life`, `index_lag`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::earlier_forms;
use crate::engine::{
    base::stored::{Stored, is_default},
    prelude::*,
};
use crate::model::{
    api::{StreamViewType, TableControl, TimeToLiveStatus},
    schema::ProvisionedThroughput,
};

/// A table as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    #[serde(flatten)]
    pub schema: Arc<TableSchema>,
    pub source: SourceId,
    /// One per index of the schema, in its order.
    pub index_sources: Vec<SourceId>,
    pub status: TableStatus,
    /// UUID text.
    pub table_id: String,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// `None` when it never had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<TableStream>,
    /// `None` when it was never enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_live: Option<TimeToLive>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub control: TableControl,
    #[serde(default, skip_serializing_if = "is_default")]
    pub index_life: IndexLife,
    /// When CREATING or DELETING ends, milliseconds since the epoch, if it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_ends_ms: Option<u64>,
}

impl Stored for TableEntry {
    const VERSION: u8 = 2;
    const WHAT: &'static str = "a catalog entry";

    fn upgrade(version: u64, entry: Value) -> Option<Value> {
        if version == 1 {
            earlier_forms::of_version_1(entry)
        } else {
            None
        }
    }

    fn is_consistent(&self) -> bool {
        self.index_sources.len() == self.schema.indexes.len()
    }
}

impl TableEntry {
    /// The indexes with their sources, in the schema's order.
    pub fn indexes(&self) -> impl Iterator<Item = (&IndexSchema, SourceId)> {
        self.schema
            .indexes
            .iter()
            .zip(self.index_sources.iter().copied())
    }

    /// The index of that name with its source.
    #[must_use]
    pub fn index(&self, name: &IndexName) -> Option<(&IndexSchema, SourceId)> {
        self.indexes().find(|(index, _)| index.name == *name)
    }

    /// The stream that takes this table's changes.
    #[must_use]
    pub fn enabled_stream(&self) -> Option<&TableStream> {
        self.stream.as_ref().filter(|stream| stream.is_enabled)
    }

    /// The list of expiries, while time to live is enabled.
    #[must_use]
    pub fn expiry_list(&self) -> Option<ExpiryList> {
        self.time_to_live.as_ref()?.list
    }

    /// Are the base items grouped into collections of their own? In a table without sort key each item is its own collection and
    /// nothing is stored beside it.
    #[must_use]
    pub fn has_collections(&self) -> bool {
        self.schema.key.sort.is_some()
    }

    /// Does a local index keep the collections of this table together?
    #[must_use]
    pub fn has_local_index(&self) -> bool {
        self.schema.indexes_of(IndexKind::Local).next().is_some()
    }

    /// The table's own source when this is one of its local indexes, whose entries lie with the base items; `None` for all else.
    #[must_use]
    pub fn base_of_local_index(&self, source: SourceId) -> Option<SourceId> {
        (self.index_of(source)?.kind == IndexKind::Local).then_some(self.source)
    }

    /// The index that has this source.
    #[must_use]
    pub fn index_of(&self, source: SourceId) -> Option<&IndexSchema> {
        self.indexes()
            .find(|(_, id)| *id == source)
            .map(|(index, _)| index)
    }

    /// The sources of the indexes of one kind.
    pub fn sources_of(&self, kind: IndexKind) -> impl Iterator<Item = SourceId> + '_ {
        self.indexes()
            .filter(move |(index, _)| index.kind == kind)
            .map(|(_, source)| source)
    }

    /// The source of the table, and those of its indexes.
    pub fn all_sources(&self) -> impl Iterator<Item = SourceId> + '_ {
        std::iter::once(self.source).chain(self.index_sources.iter().copied())
    }

    /// Units a second that the table or one of its global indexes was given; `None` on demand.
    #[must_use]
    pub fn throughput_of(&self, source: SourceId) -> Option<ProvisionedThroughput> {
        self.index_of(source)
            .map_or(self.schema.throughput, |index| index.throughput)
    }

    /// Is there anything to be done in the background for the table's state or its indexes?
    #[must_use]
    pub fn has_background_work(&self) -> bool {
        self.status_ends_ms.is_some()
            || self.index_life.busy().is_some()
            || self.index_life.lag.is_some()
    }
}

/// The stream of a table, as its catalog entry knows it: the newest, also when it is disabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStream {
    pub id: SourceId,
    pub label: String,
    pub view_type: StreamViewType,
    #[serde(rename = "enabled")]
    pub is_enabled: bool,
}

/// A table's time to live, as its catalog entry knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeToLive {
    /// The attribute, also of one that was disabled.
    pub attribute: String,
    /// `None` when it is disabled.
    pub list: Option<ExpiryList>,
    /// When it was enabled or disabled, milliseconds since the epoch.
    pub changed_ms: u64,
}

/// The expiries of a table. Every enabling makes a new list; the old one is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiryList {
    pub id: SourceId,
    /// Every item of the table that has an expiry is on it.
    pub is_built: bool,
}

impl TimeToLive {
    /// The state at a time. Both changes take `transition_ms` at least.
    #[must_use]
    pub fn status(&self, now_ms: u64, transition_ms: u64) -> TimeToLiveStatus {
        let is_changing = now_ms < self.changed_ms.saturating_add(transition_ms);
        match self.list {
            Some(list) if is_changing || !list.is_built => TimeToLiveStatus::Enabling,
            Some(_) => TimeToLiveStatus::Enabled,
            None if is_changing => TimeToLiveStatus::Disabling,
            None => TimeToLiveStatus::Disabled,
        }
    }
}

// What a table's catalog entry knows of indexes that are not simply there: being made, being removed, lagging. Plain data; the phases
// follow each other in `index_life`, what lags is applied by `index_lag`.

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
        self.building
            .as_ref()
            .is_some_and(|building| building.index == *index)
    }

    /// The name of the index being made or removed.
    #[must_use]
    pub fn busy(&self) -> Option<&IndexName> {
        let building = self.building.as_ref().map(|building| &building.index);
        building.or_else(|| self.leaving.as_ref().map(|leaving| &leaving.index.name))
    }

    /// Sources beside those of the schema's indexes.
    pub fn sources(&self) -> impl Iterator<Item = SourceId> + '_ {
        let leaving = self
            .leaving
            .iter()
            .flat_map(|leaving| std::iter::once(leaving.source).chain(leaving.violations));
        leaving.chain(self.made.values().map(|made| made.violations))
    }

    /// The table's status; making or removing an index is an update of it but for the backfill.
    #[must_use]
    pub fn table_status(&self, stored: TableStatus) -> TableStatus {
        let is_allocating = self
            .building
            .as_ref()
            .is_some_and(|building| matches!(building.phase, Phase::Allocation { .. }));
        match stored {
            TableStatus::Active if is_allocating || self.leaving.is_some() => TableStatus::Updating,
            other => other,
        }
    }

    /// The status of an index of the schema and its `Backfilling` member.
    #[must_use]
    pub fn index_status(
        &self,
        index: &IndexName,
        table: TableStatus,
    ) -> (TableStatus, Option<bool>) {
        let Some(building) = self
            .building
            .as_ref()
            .filter(|building| building.index == *index)
        else {
            return (table, None);
        };
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

#[cfg(test)]
mod entry_tests {
    use super::*;

    #[test]
    fn states_follow_the_clock_and_the_list() {
        let check = |list: Option<bool>, now_ms: u64, expected: TimeToLiveStatus| {
            let list = list.map(|is_built| ExpiryList {
                id: SourceId(1),
                is_built,
            });
            let time_to_live = TimeToLive {
                attribute: "t".into(),
                list,
                changed_ms: 100,
            };
            assert_eq!(time_to_live.status(now_ms, 10), expected);
        };
        check(Some(true), 109, TimeToLiveStatus::Enabling);
        check(Some(true), 110, TimeToLiveStatus::Enabled);
        check(Some(false), 110, TimeToLiveStatus::Enabling);
        check(None, 109, TimeToLiveStatus::Disabling);
        check(None, 110, TimeToLiveStatus::Disabled);
    }
}

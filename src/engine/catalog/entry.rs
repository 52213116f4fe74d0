//! The catalog entry of a table: its schema, source ids and the state of each feature, as plain
//! data. The logic of each feature is in its module: `streams`, `time_to_live`, `index_life`,
//! `index_lag`; earlier forms are converted in `migrations`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::migrations;
use crate::engine::{
    base::stored_form::{StoredForm, is_default},
    prelude::*,
};
use crate::model::{
    api::{StreamViewType, TableControl, TimeToLiveStatus},
    schema::ProvisionedThroughput,
};

/// The catalog entry of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    #[serde(flatten)]
    pub schema: Arc<TableSchema>,
    pub source: SourceId,
    /// One for each index of the schema, in its order.
    pub index_sources: Vec<SourceId>,
    pub status: TableStatus,
    /// The UUID as text.
    pub table_id: String,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// `None` if the table never had a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<TableStream>,
    /// `None` if it was never enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_live: Option<TimeToLive>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub control: TableControl,
    #[serde(default, skip_serializing_if = "is_default")]
    pub index_life: IndexLife,
    /// The end of CREATING or DELETING, in milliseconds since the epoch, if it ends after a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_ends_ms: Option<u64>,
}

impl StoredForm for TableEntry {
    const VERSION: u8 = 2;
    const NAME: &'static str = "a catalog entry";

    fn upgrade(version: u64, entry: Value) -> Option<Value> {
        if version == 1 {
            migrations::from_version_1(entry)
        } else {
            None
        }
    }

    fn is_consistent(&self) -> bool {
        let has_index = |name: &str| {
            let mut indexes = self.schema.indexes.iter();
            indexes.any(|index| index.name.as_str() == name)
        };
        let mut building = self.index_life.building.iter();
        self.index_sources.len() == self.schema.indexes.len()
            && self.schema.indexes.iter().all(is_consistent_index)
            && self.index_life.made.keys().all(|name| has_index(name))
            && building.all(|building| has_index(building.index.as_str()))
    }
}

/// True if an index has the key attributes of its kind: a local index one of each role.
fn is_consistent_index(index: &IndexSchema) -> bool {
    match index.kind {
        IndexKind::Local => index.partition.len() == 1 && index.sort.len() == 1,
        IndexKind::Global => !index.partition.is_empty(),
        IndexKind::Vector => index.vector.is_some() && index.partition.len() <= 1,
    }
}

impl TableEntry {
    /// Returns the indexes with their sources, in the schema's order.
    pub fn indexes(&self) -> impl Iterator<Item = (&IndexSchema, SourceId)> {
        self.schema
            .indexes
            .iter()
            .zip(self.index_sources.iter().copied())
    }

    /// Returns the index of that name with its source.
    #[must_use]
    pub fn index(&self, name: &IndexName) -> Option<(&IndexSchema, SourceId)> {
        self.indexes().find(|(index, _)| index.name == *name)
    }

    /// Returns the stream that gets this table's changes.
    #[must_use]
    pub fn enabled_stream(&self) -> Option<&TableStream> {
        self.stream.as_ref().filter(|stream| stream.is_enabled)
    }

    /// Returns the list of expiries, while time to live is enabled.
    #[must_use]
    pub fn expiry_list(&self) -> Option<ExpiryList> {
        self.time_to_live.as_ref()?.list
    }

    /// True if the base items are grouped into stored collections. In a table without sort key each
    /// item is its own collection, and nothing is stored beside it.
    #[must_use]
    pub fn has_collections(&self) -> bool {
        self.schema.key.sort.is_some()
    }

    /// True if the table has an index that can show writes late: a global one or one of vectors.
    #[must_use]
    pub fn has_late_index(&self) -> bool {
        let mut indexes = self.schema.indexes.iter();
        indexes.any(|index| index.kind != IndexKind::Local)
    }

    /// True if the table has a local index, which keeps its collections together.
    #[must_use]
    pub fn has_local_index(&self) -> bool {
        self.schema.indexes_of(IndexKind::Local).next().is_some()
    }

    /// Returns the table's own source if `source` is one of its local indexes, with entries in
    /// the partitions of the base items; otherwise `None`.
    #[must_use]
    pub fn base_of_local_index(&self, source: SourceId) -> Option<SourceId> {
        (self.index_of(source)?.kind == IndexKind::Local).then_some(self.source)
    }

    /// Returns the index that has this source.
    #[must_use]
    pub fn index_of(&self, source: SourceId) -> Option<&IndexSchema> {
        self.indexes()
            .find(|(_, id)| *id == source)
            .map(|(index, _)| index)
    }

    /// Returns the sources of the indexes of one kind.
    pub fn sources_of(&self, kind: IndexKind) -> impl Iterator<Item = SourceId> + '_ {
        self.indexes()
            .filter(move |(index, _)| index.kind == kind)
            .map(|(_, source)| source)
    }

    /// Returns the sources of the table and its indexes.
    pub fn all_sources(&self) -> impl Iterator<Item = SourceId> + '_ {
        std::iter::once(self.source).chain(self.index_sources.iter().copied())
    }

    /// Returns the provisioned units per second of the table or one of its global indexes; `None`
    /// on demand.
    #[must_use]
    pub fn throughput_of(&self, source: SourceId) -> Option<ProvisionedThroughput> {
        self.index_of(source)
            .map_or(self.schema.throughput, |index| index.throughput)
    }

    /// True if the table's state or its indexes need work in the background.
    #[must_use]
    pub fn has_background_work(&self) -> bool {
        self.status_ends_ms.is_some()
            || self.index_life.busy().is_some()
            || self.index_life.lag.is_some()
    }
}

/// The newest stream of a table in its catalog entry, even if it is disabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStream {
    pub id: SourceId,
    pub label: String,
    pub view_type: StreamViewType,
    #[serde(rename = "enabled")]
    pub is_enabled: bool,
}

/// The time to live of a table in its catalog entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeToLive {
    /// The attribute, also while time to live is disabled.
    pub attribute: String,
    /// `None` while it is disabled.
    pub list: Option<ExpiryList>,
    /// The time of the last enabling or disabling, in milliseconds since the epoch.
    pub changed_ms: u64,
}

/// The expiries of a table. Each enabling makes a new list; the old one is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiryList {
    pub id: SourceId,
    /// True if every item of the table that has an expiry is on the list.
    pub is_built: bool,
}

impl TimeToLive {
    /// Returns the status at a time. Both changes take at least `transition_ms`.
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

// The part of a catalog entry for indexes that are being made, being removed, or lagging. Plain
// data; the phases follow each other in `index_life`, pending writes are applied by `index_lag`.

/// The indexes of a table that are being made, being removed, or lagging.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexLife {
    /// The index being made. It is in the table's schema.
    pub building: Option<BuildingIndex>,
    /// The index being removed. It is no longer in the table's schema.
    pub leaving: Option<LeavingIndex>,
    /// The indexes of the schema that UpdateTable made or is making, by name.
    pub made: BTreeMap<String, BuiltIndex>,
    /// `None` while global indexes show every write, see `index_lag`.
    pub lag: Option<LagState>,
}

/// An index being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildingIndex {
    pub index: IndexName,
    pub phase: BuildPhase,
    /// True if its throughput was changed meanwhile: it shows as UPDATING until it is active.
    #[serde(rename = "updated")]
    pub is_updated: bool,
}

/// The phase of an index being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildPhase {
    /// Resources are allocated until then at least, in milliseconds since the epoch.
    Allocation {
        until_ms: u64,
    },
    Backfill,
}

/// An index being removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeavingIndex {
    pub index: IndexSchema,
    pub source: SourceId,
    /// The list of its violations, if it had one.
    pub violations: Option<SourceId>,
}

/// The state of an index made by UpdateTable, beside its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltIndex {
    /// The list of items that are kept out of the index.
    pub violations: SourceId,
    /// The last version that was in the index when it became active.
    pub since: Version,
}

impl IndexLife {
    /// True if the index is the one being made.
    #[must_use]
    pub fn is_building(&self, index: &IndexName) -> bool {
        self.building
            .as_ref()
            .is_some_and(|building| building.index == *index)
    }

    /// Returns the name of the index being made or removed.
    #[must_use]
    pub fn busy(&self) -> Option<&IndexName> {
        let building = self.building.as_ref().map(|building| &building.index);
        building.or_else(|| self.leaving.as_ref().map(|leaving| &leaving.index.name))
    }

    /// Returns the sources beside those of the schema's indexes.
    pub fn sources(&self) -> impl Iterator<Item = SourceId> + '_ {
        let leaving = self
            .leaving
            .iter()
            .flat_map(|leaving| std::iter::once(leaving.source).chain(leaving.violations));
        leaving.chain(self.made.values().map(|made| made.violations))
    }

    /// Returns the table's status: making or removing an index is an update of the table, except
    /// during the backfill.
    #[must_use]
    pub fn table_status(&self, stored: TableStatus) -> TableStatus {
        let is_allocating = self
            .building
            .as_ref()
            .is_some_and(|building| matches!(building.phase, BuildPhase::Allocation { .. }));
        match stored {
            TableStatus::Active if is_allocating || self.leaving.is_some() => TableStatus::Updating,
            other => other,
        }
    }

    /// Returns the status of an index of the schema and its `Backfilling` member.
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
            (BuildPhase::Allocation { .. }, _) => (TableStatus::Creating, Some(false)),
            (BuildPhase::Backfill, false) => (TableStatus::Creating, Some(true)),
            (BuildPhase::Backfill, true) => (TableStatus::Updating, Some(true)),
        }
    }

    /// True if an index of the schema shows writes late when global indexes lag. An index being
    /// made is never late: it cannot be read.
    #[must_use]
    pub fn is_late(&self, index: &IndexSchema) -> bool {
        index.kind != IndexKind::Local && !self.is_building(&index.name)
    }
}

/// The lag of the global indexes of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LagState {
    /// True while no pending write is applied.
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

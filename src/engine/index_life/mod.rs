//! The life of a global index that UpdateTable makes or drops while its table is in use (docs/dynamodb.md 9.6).
//!
//! ```text
//! (absent) -> Allocation -> Backfill -> active -> leaving -> (absent)
//!                               \-------------------/
//! ```
//! The catalog entry of the table says the phase; a table has one index at most that is not simply there. Difficulties, and what
//! solves each:
//!
//! - **Writes go on.** From the commit that defines the index every change of an item maintains it too ([`tracked`]). An item that
//!   the backfill has not reached yet has no entry; whether the old one has is looked up, not guessed from how far the backfill is.
//! - **An entry must not be older than its item.** A step of the backfill ([`backfill`]) reads the items in the write transaction that
//!   writes their entries, and leaves alone what is there.
//! - **Writers must not wait.** Steps are short; the worker ([`worker`]) submits the next when the last is durable, so that every
//!   waiting write gets into the transactions between.
//! - **The process may end at any moment, and several may be at it.** How far the backfill is ([`progress`]) is written with each
//!   step; whoever comes next goes on from there, and decides inside the transaction what is to be done.
//! - **Items with values that cannot be its key** are passed over and put on a list ([`violations`]) that later writes keep true.
//! - **A leaving index** is out of the schema at once; its entries are removed behind it ([`removal`]).

pub mod absence;
pub mod admission;
pub mod backfill;
pub mod hold;
pub mod progress;
pub mod removal;
mod stored;
pub mod violations;
pub mod worker;

use std::collections::BTreeMap;

use super::catalog::TableEntry;
use super::index::{IndexView, Transition};
use super::index_lag::Lag;
use super::keys::SourceId;
use crate::model::api::{TableStatus, Version};
use crate::model::error::StoreError;
use crate::model::{IndexName, IndexSchema, Item, Key};
use crate::store::Read;

/// What a table's catalog entry knows of indexes that are not simply there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Building {
    pub index: IndexName,
    pub phase: Phase,
    /// Its throughput was changed meanwhile: it shows as UPDATING until it is active.
    pub is_updated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Resources are allocated until then at least, milliseconds since the epoch.
    Allocation {
        until_ms: u64,
    },
    Backfill,
}

/// An index being removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub index: IndexSchema,
    pub source: SourceId,
    /// The list of its violations, if it had one.
    pub violations: Option<SourceId>,
}

/// What an index made by UpdateTable has beside its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

/// What a change of an item does in an index that is being made, which may not have the entry of the old item yet.
///
/// # Errors
/// Those of the store.
pub fn tracked<'i>(
    read: &dyn Read,
    view: &IndexView<'_>,
    key: &Key,
    old: Option<&'i Item>,
    new: Option<&'i Item>,
) -> Result<Transition<'i>, StoreError> {
    let entry = old.and_then(|item| view.entry_with_key(item, key));
    let is_there = match entry {
        Some(entry) => read.get(&entry.address.encode())?.is_some(),
        None => false,
    };
    Ok(Transition::of(view, key, old.filter(|_| is_there), new))
}

/// Is there anything to be done in the background for a table's state or its indexes?
#[must_use]
pub fn has_work(table: &TableEntry) -> bool {
    table.status_ends_ms.is_some() || table.index_life.busy().is_some() || table.index_life.lag.is_some()
}

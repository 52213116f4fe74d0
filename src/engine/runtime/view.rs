//! A consistent read of the last commit, with the catalog as it was then.

use super::{batch::source_counters, shared::Shared};
use crate::engine::{base::counters::SourceCounters, meter::Meter, prelude::*, throttle::UnitKind};

/// One request's view; short, never kept across requests.
pub struct View<'e> {
    shared: &'e Shared,
    read: Box<dyn Read + 'e>,
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View")
    }
}

impl Shared {
    /// The store as it is now.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn view(&self) -> Result<View<'_>, StoreError> {
        Ok(View {
            shared: self,
            read: self.store.snapshot()?,
        })
    }
}

impl View<'_> {
    /// The bytes below.
    #[must_use]
    pub fn read(&self) -> &dyn Read {
        &*self.read
    }

    /// What is counted.
    pub(in crate::engine) fn meter(&self) -> &Meter {
        &self.shared.meter
    }

    /// Refuses a read at a place of a source that has nothing left, where throttling is simulated.
    ///
    /// # Errors
    /// `Throttled`; those of the store.
    pub fn admit(&self, table: &TableEntry, source: SourceId, place: &[u8]) -> Result<(), Error> {
        self.shared
            .admit(self.read(), table, (source, place, UnitKind::Read))
    }

    /// As [`Self::admit`], of one item.
    ///
    /// # Errors
    /// `Throttled`; those of the store.
    pub fn admit_item(&self, table: &TableEntry, address: &EntryAddress) -> Result<(), Error> {
        match self.shared.throttle {
            None => Ok(()),
            Some(_) => self.admit(table, address.source, &address.place()),
        }
    }

    /// Takes the units of a read on its way from one place to another.
    pub(super) fn take_units(
        &self,
        table: &TableEntry,
        source: SourceId,
        places: (&[u8], &[u8]),
        units: f64,
    ) {
        self.shared
            .take_units(table, (source, places, UnitKind::Read), units);
    }

    /// The clock's time.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    /// When the counting of a table began, as far as this process knows, milliseconds since the epoch.
    #[must_use]
    pub fn counted_since_ms(&self, table: &TableEntry) -> u64 {
        self.shared.started_ms.max(table.created_ms)
    }

    /// A table's entry.
    ///
    /// # Errors
    /// Those of the store.
    pub fn table(&self, name: &TableName) -> Result<Option<Arc<TableEntry>>, Error> {
        Ok(self
            .shared
            .catalog
            .table_of(self.read(), self.read().commit_id(), name)?)
    }

    /// All tables, in byte order of their names.
    ///
    /// # Errors
    /// Those of the store.
    pub fn tables(&self) -> Result<Vec<Arc<TableEntry>>, Error> {
        catalog::all_tables(self.read())?
            .iter()
            .filter_map(|name| self.table(name).transpose())
            .collect()
    }

    /// The table for a data operation.
    ///
    /// # Errors
    /// `ResourceNotFound` when it is not there or not active.
    pub fn active_table(&self, name: &TableName) -> Result<Arc<TableEntry>, Error> {
        catalog::active(self.table(name)?)
    }

    /// The record of an entry.
    ///
    /// # Errors
    /// Those of the store.
    pub fn entry(&self, address: &EntryAddress) -> Result<Option<Record<'_>>, StoreError> {
        self.read()
            .get(&address.encode())?
            .map(Record::parse)
            .transpose()
    }

    /// A source's counters.
    ///
    /// # Errors
    /// Those of the store.
    pub fn counters(&self, source: SourceId) -> Result<SourceCounters, StoreError> {
        source_counters(self.read(), source)
    }

    /// The stored value of a collection.
    ///
    /// # Errors
    /// Those of the store.
    pub fn collection(
        &self,
        source: SourceId,
        digest: Digest,
    ) -> Result<Option<&[u8]>, StoreError> {
        self.read()
            .get(&StoreKey::Collection(source, &digest).encode())
    }
}

//! A read transaction: a consistent snapshot of the last commit, with the catalog as of that
//! commit.

use super::{batch::source_counters, shared::EngineShared};
use crate::engine::{
    base::counters::SourceCounters, meter::EngineMeter, prelude::*, throttle::UnitKind,
};

/// The view of one request; short, never kept across requests.
pub struct ReadView<'e> {
    shared: &'e EngineShared,
    read: Box<dyn Read + 'e>,
}

opaque_debug!(ReadView<'_>);

impl EngineShared {
    /// Opens a view of the last commit.
    pub(crate) fn view(&self) -> Result<ReadView<'_>, StoreError> {
        Ok(ReadView {
            shared: self,
            read: self.store.snapshot()?,
        })
    }
}

impl ReadView<'_> {
    /// Returns the store's snapshot.
    #[must_use]
    pub fn read(&self) -> &dyn Read {
        &*self.read
    }

    /// Returns the meters.
    pub(in crate::engine) fn meter(&self) -> &EngineMeter {
        &self.shared.meter
    }

    /// Refuses a read at a place of a source without capacity, where throttling is simulated.
    ///
    /// # Errors
    /// Fails with `Throttled`, or with an error of the store.
    pub fn admit(&self, table: &TableEntry, source: SourceId, place: &[u8]) -> Result<(), Error> {
        self.shared
            .admit(self.read(), table, source, place, UnitKind::Read, false)
    }

    /// Refuses a read of one item as [`Self::admit`] does.
    ///
    /// # Errors
    /// Fails with `Throttled`, or with an error of the store.
    pub fn admit_item(&self, table: &TableEntry, address: &EntryAddress) -> Result<(), Error> {
        match self.shared.throttle {
            None => Ok(()),
            Some(_) => self.admit(table, address.source, &address.place()),
        }
    }

    /// Consumes the units of a read between two places.
    pub(super) fn consume(
        &self,
        table: &TableEntry,
        source: SourceId,
        from: &[u8],
        to: &[u8],
        units: f64,
    ) {
        self.shared
            .consume(table, source, from, to, UnitKind::Read, units);
    }

    /// Returns the time by the engine's clock.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    /// Returns the time at which the counting of a table began, as far as this process knows, in
    /// milliseconds since the epoch.
    #[must_use]
    pub fn counted_since_ms(&self, table: &TableEntry) -> u64 {
        self.shared.started_ms.max(table.created_ms)
    }

    /// Returns a table's entry.
    pub fn table(&self, name: &TableName) -> Result<Option<Arc<TableEntry>>, Error> {
        Ok(self
            .shared
            .catalog
            .table_for_commit(self.read(), self.read().commit_id(), name)?)
    }

    /// Returns all tables, in byte order of their names.
    pub fn tables(&self) -> Result<Vec<Arc<TableEntry>>, Error> {
        catalog::all_tables(self.read())?
            .iter()
            .map(|name| {
                self.table(name)?
                    .ok_or_else(|| StoreError::Corrupt("a table without its entry").into())
            })
            .collect()
    }

    /// Returns the table for a data operation.
    ///
    /// # Errors
    /// Fails with `ResourceNotFound` if it does not exist or is not active.
    pub fn active_table(&self, name: &TableName) -> Result<Arc<TableEntry>, Error> {
        catalog::require_active(self.table(name)?)
    }

    /// Returns the record of an entry.
    pub fn entry(&self, address: &EntryAddress) -> Result<Option<Record<'_>>, StoreError> {
        let key = address.encode();
        self.read()
            .get(&key)?
            .map(|bytes| Record::parse(bytes).map_err(|error| locate(self.read(), &key, error)))
            .transpose()
    }

    /// Returns a source's counters.
    pub fn counters(&self, source: SourceId) -> Result<SourceCounters, StoreError> {
        source_counters(self.read(), source)
    }

    /// Returns the stored value of a collection.
    pub fn collection(
        &self,
        source: SourceId,
        digest: Digest,
    ) -> Result<Option<&[u8]>, StoreError> {
        self.read()
            .get(&StoreKey::Collection(source, &digest).encode())
    }
}

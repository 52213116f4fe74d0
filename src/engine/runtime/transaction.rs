//! Write transactions: an operation's change as a job of the store's writer thread.

use super::{held_values::HeldValues, shared::Shared};
use crate::engine::{meter::Charges, partitions, prelude::*};
use crate::model::api::{Origin, Written};

/// What a change may use while it runs.
pub struct Transaction<'t> {
    pub batch: &'t mut dyn Write,
    pub shared: &'t Shared,
    /// Who makes the change; stream records say it.
    pub origin: Origin,
    /// What it consumes.
    pub charges: Charges,
    /// What it has in memory of the items that it looked at.
    pub held_values: HeldValues,
    pub(super) purpose: Purpose,
    /// The items it wrote, if there is who hears of them.
    pub(super) written: Option<Vec<Written>>,
    /// Tables of which nothing can be read from now on.
    pub(super) ended_tables: Vec<TableName>,
}

/// What a change does to the room on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Purpose {
    #[default]
    Unknown,
    Removal,
    Addition,
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Transaction")
    }
}

impl Transaction<'_> {
    /// It removes, and what it writes is about that: on a full disk it may use the room that is kept for this, unless it adds too.
    pub fn removes(&mut self) {
        if self.purpose == Purpose::Unknown {
            self.purpose = Purpose::Removal;
        }
    }

    /// It adds, or changes what is there.
    pub fn adds(&mut self) {
        self.purpose = Purpose::Addition;
    }

    /// The table's entry as this transaction has it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn table(&self, name: &TableName) -> Result<Option<Arc<TableEntry>>, StoreError> {
        // The cache is of commits. What this transaction changed may still be lost with it, so it does not get in.
        if self.shared.batch.is_catalog_changed() {
            return catalog::read_table(self.batch.as_read(), name);
        }
        // A transaction's number is that of its commit: it began with the one before.
        let began_with = self.batch.commit_id().saturating_sub(1);
        self.shared
            .catalog
            .table_of(self.batch.as_read(), began_with, name)
    }

    /// An item is now of that version, or gone.
    pub(in crate::engine) fn wrote(
        &mut self,
        table: &TableName,
        key: &Key,
        version: Option<Version>,
    ) {
        if let Some(written) = &mut self.written {
            written.push(Written {
                table: table.clone(),
                key: key.clone(),
                version,
            });
        }
    }

    /// Nothing of a table can be read from now on.
    pub(in crate::engine) fn ended_table(&mut self, table: &TableName) {
        self.ended_tables.push(table.clone());
    }

    /// The clock's time.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    /// The table for a data operation.
    ///
    /// # Errors
    /// `ResourceNotFound` when it is not there or not active.
    pub fn active_table(&self, name: &TableName) -> Result<Arc<TableEntry>, Error> {
        catalog::active(self.table(name)?)
    }

    /// Changes a table's entry: writes it with its partitions, and tells every reader of the catalog.
    ///
    /// # Errors
    /// Those of the store.
    pub fn replace_table(&mut self, entry: &TableEntry) -> Result<(), StoreError> {
        if entry.status != TableStatus::Deleting {
            let old = catalog::read_table(self.batch.as_read(), &entry.schema.name)?;
            let now_ms = self.now_ms();
            partitions::keep(self.batch, old.as_deref(), entry, now_ms)?;
        }
        catalog::write_table(self.batch, entry)?;
        self.catalog_changed()
    }

    /// The version of the next change; it is taken only when it is used.
    ///
    /// # Errors
    /// Those of the store.
    pub fn next_version(&self) -> Result<Version, StoreError> {
        self.shared.batch.next_version(self.read())
    }

    /// The table in any state.
    ///
    /// # Errors
    /// `TableNotFound`; those of the store.
    pub fn known_table(&self, name: &TableName) -> Result<Arc<TableEntry>, Error> {
        catalog::known(self.table(name)?, name)
    }

    /// Writes a table's entry as it is after a change; returns it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn change_table(
        &mut self,
        old: &TableEntry,
        change: impl FnOnce(&mut TableEntry),
    ) -> Result<TableEntry, StoreError> {
        let mut new = old.clone();
        change(&mut new);
        self.replace_table(&new)?;
        Ok(new)
    }

    /// What the transaction sees, its own writes among it.
    #[must_use]
    pub fn read(&self) -> &dyn Read {
        self.batch.as_read()
    }

    /// Tells every reader that the catalog changed: those of other processes by its generation, the jobs of this transaction by the
    /// batch, as the cache is of the last commit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn catalog_changed(&mut self) -> Result<(), StoreError> {
        catalog::raise_generation(self.batch)?;
        self.shared.batch.catalog_changed();
        Ok(())
    }
}

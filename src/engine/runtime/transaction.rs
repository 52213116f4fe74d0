//! A write transaction: the context that an operation's change gets while it runs as a job on the
//! store's writer thread. `submit` queues it; `batch` has the state that jobs of one commit share.

use super::{shared::EngineShared, value_memory::ValueMemory};
use crate::engine::{meter::Charges, partitions, prelude::*};
use crate::model::api::{ChangeOrigin, EndedSource, WrittenItem};

/// The context of a change while it runs.
pub struct Transaction<'t> {
    pub batch: &'t mut dyn Write,
    pub shared: &'t EngineShared,
    /// The origin of the change, shown in stream records.
    pub origin: ChangeOrigin,
    /// The consumed capacity.
    pub charges: Charges,
    /// The memory of the item values that it holds.
    pub value_memory: ValueMemory,
    pub(super) space_effect: SpaceEffect,
    /// The items written, if there is an observer or listener.
    pub(super) written: Option<Vec<WrittenItem>>,
    /// The sources of which nothing holds any more that was read.
    pub(super) ended: Vec<EndedSource>,
}

/// The effect of a change on disk space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SpaceEffect {
    #[default]
    Unknown,
    Removal,
    Addition,
}

opaque_debug!(Transaction<'_>);

impl Transaction<'_> {
    /// Marks the transaction as a removal: on a full disk it may use the reserved space, unless it
    /// also adds.
    pub fn mark_removal(&mut self) {
        if self.space_effect == SpaceEffect::Unknown {
            self.space_effect = SpaceEffect::Removal;
        }
    }

    /// Marks the transaction as one that adds or changes data.
    pub fn mark_addition(&mut self) {
        self.space_effect = SpaceEffect::Addition;
    }

    /// Returns the table's entry as of this transaction.
    pub fn table(&self, name: &TableName) -> Result<Option<Arc<TableEntry>>, StoreError> {
        // The cache holds committed entries. The transaction's own changes may still be aborted, so
        // they are not cached.
        if self.shared.batch.is_catalog_changed() {
            return catalog::read_table(self.batch.as_read(), name);
        }
        // The id of a transaction is that of its commit: it began after the one before.
        let began_with = self.batch.commit_id().saturating_sub(1);
        self.shared
            .catalog
            .table_for_commit(self.batch.as_read(), began_with, name)
    }

    /// Records that an item now has that version, or is deleted.
    pub(in crate::engine) fn record_write(
        &mut self,
        table: &TableName,
        key: &Key,
        version: Option<Version>,
    ) {
        if let Some(written) = &mut self.written {
            written.push(WrittenItem {
                table: table.clone(),
                key: key.clone(),
                version,
            });
        }
    }

    /// Records that nothing holds any more that was read of a table, or of an index of it.
    pub(in crate::engine) fn record_ended(&mut self, table: &TableName, index: Option<&IndexName>) {
        self.ended.push(EndedSource {
            table: table.clone(),
            index: index.cloned(),
        });
    }

    /// Returns the time by the engine's clock.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    /// Returns the table for a data operation.
    ///
    /// # Errors
    /// Fails with `ResourceNotFound` if it does not exist or is not active.
    pub fn active_table(&self, name: &TableName) -> Result<Arc<TableEntry>, Error> {
        catalog::require_active(self.table(name)?)
    }

    /// Replaces a table's entry: writes it with its partitions, and invalidates the cached catalog
    /// of every reader.
    pub fn replace_table(&mut self, entry: &TableEntry) -> Result<(), StoreError> {
        if entry.status != TableStatus::Deleting {
            let old = catalog::read_table(self.batch.as_read(), &entry.schema.name)?;
            let now_ms = self.now_ms();
            partitions::store_maps(self.batch, old.as_deref(), entry, now_ms)?;
        }
        catalog::write_table(self.batch, entry)?;
        self.bump_catalog()
    }

    /// Returns the version of the next change; it is taken only when it is used.
    pub fn next_version(&self) -> Result<Version, StoreError> {
        self.shared.batch.next_version(self.read())
    }

    /// Returns the table in any state.
    ///
    /// # Errors
    /// Fails with `TableNotFound`, or with an error of the store.
    pub fn require_table(&self, name: &TableName) -> Result<Arc<TableEntry>, Error> {
        catalog::require_table(self.table(name)?, name)
    }

    /// Applies a change to a table's entry, writes it and returns it.
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

    /// Returns the view of the transaction, which includes its own writes.
    #[must_use]
    pub fn read(&self) -> &dyn Read {
        self.batch.as_read()
    }

    /// Invalidates the cached catalog: for other processes by the generation, for the jobs of this
    /// transaction by the batch, because the cache holds the last commit.
    pub fn bump_catalog(&mut self) -> Result<(), StoreError> {
        catalog::raise_generation(self.batch)?;
        self.shared.batch.mark_catalog_changed();
        Ok(())
    }
}

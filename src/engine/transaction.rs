//! Write transactions: an operation's change as a job of the store's writer thread.

use std::sync::Arc;

use super::catalog::{self, TableEntry};
use super::meter::Charges;
use super::witness::{Witness, Written};
use super::{Done, Shared};
use crate::model::api::{Origin, TableStatus, Version};
use crate::model::error::StoreError;
use crate::model::{Error, Key, TableName};
use crate::store::{Write, WriteJob};

/// What a change may use while it runs.
pub struct Transaction<'t> {
    pub batch: &'t mut dyn Write,
    pub shared: &'t Shared,
    /// Who makes the change; stream records say it.
    pub origin: Origin,
    /// What it consumes.
    pub charges: Charges,
    purpose: Purpose,
    /// The items it wrote, if there is who hears of them.
    pub(super) written: Option<Vec<Written>>,
}

/// What a change does to the room on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Purpose {
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
        if self.shared.batch.is_catalog_changed() {
            return catalog::read_table(self.batch.as_read(), name);
        }
        self.shared.catalog.table(self.batch.as_read(), name)
    }

    /// An item is now of that version, or gone.
    pub(super) fn wrote(&mut self, table: &TableName, key: &Key, version: Option<Version>) {
        if let Some(written) = &mut self.written {
            written.push(Written { table: table.clone(), key: key.clone(), version });
        }
    }

    /// The clock's time.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.shared.options.clock.now_ms()
    }

    /// The table for a data operation.
    ///
    /// # Errors
    /// `ResourceNotFound` when it is not there or not active.
    pub fn active_table(&self, name: &TableName) -> Result<Arc<TableEntry>, Error> {
        active(self.table(name)?)
    }
}

/// Data operations need an active table.
pub(super) fn active(entry: Option<Arc<TableEntry>>) -> Result<Arc<TableEntry>, Error> {
    match entry {
        Some(entry) if matches!(entry.status, TableStatus::Active | TableStatus::Updating) => Ok(entry),
        _ => Err(Error::ResourceNotFound),
    }
}

/// One operation's change. It may run more than once, and must not write before it has decided to succeed: a refusal leaves the
/// transaction to the other jobs in it.
pub(super) struct Change<T, F> {
    pub shared: Arc<Shared>,
    pub run: F,
    pub outcome: Option<Result<T, Error>>,
    /// Of the last run.
    pub charges: Charges,
    /// Of the last run, too.
    pub is_removal: bool,
    pub witness: Option<Arc<dyn Witness>>,
    /// By the last run.
    pub written: Vec<Written>,
    pub done: Done<T>,
}

impl<T, F> WriteJob for Change<T, F>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send,
{
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError> {
        let written = self.witness.as_ref().map(|_| Vec::new());
        let (origin, charges, purpose) = (Origin::Client, Charges::default(), Purpose::default());
        let mut transaction = Transaction { batch, shared: &self.shared, origin, charges, purpose, written };
        let outcome = (self.run)(&mut transaction);
        self.is_removal = transaction.purpose == Purpose::Removal;
        self.charges = transaction.charges;
        self.written = transaction.written.unwrap_or_default();
        match outcome {
            Err(Error::Store(error)) => Err(error),
            outcome => {
                self.outcome = Some(outcome);
                Ok(())
            }
        }
    }

    fn is_removal(&self) -> bool {
        self.is_removal
    }

    fn done(self: Box<Self>, result: Result<(), StoreError>) {
        let outcome = match (result, self.outcome) {
            (Err(error), _) => Err(Error::Store(error)),
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(Error::Store(StoreError::Closed)),
        };
        if !matches!(outcome, Err(Error::Store(_))) {
            self.charges.count(self.shared.options.clock.now_ms(), outcome.as_ref().err());
            // A batch may have written some of its items and fail.
            if let Some(witness) = &self.witness {
                self.written.iter().for_each(|item| witness.wrote(&item.table, &item.key, item.version));
            }
        }
        (self.done)(outcome);
    }
}

//! The action of a write (put, update, delete, check) on its item, with its condition: of an
//! operation on one item, of an action of a transaction, of a PartiQL statement. It is parsed
//! before the write is queued and applied on the writer thread.

use super::{
    AppliedWrite,
    condition::{StoredItem, WriteCondition},
    replace, replace_checked,
    update::UpdatePlan,
};
use crate::engine::{base::item_key, index, runtime::prelude::*};
use crate::model::api::UpdateReturnValues;

/// The action of a write, with its item or the key of that item.
#[derive(Debug, Clone, Copy)]
pub enum WriteAction<'r> {
    /// An item that passed all limit checks.
    Put(&'r Item),
    Update(&'r Item),
    Delete(&'r Item),
    /// No change: only the condition is evaluated.
    Check(&'r Item),
}

impl<'r> WriteAction<'r> {
    /// Returns the item or key of the request.
    #[must_use]
    pub fn item_or_key(self) -> &'r Item {
        match self {
            Self::Put(item) | Self::Update(item) | Self::Delete(item) | Self::Check(item) => item,
        }
    }

    /// Checks the limits of the values: all limits for a put, only the nesting for a key.
    ///
    /// # Errors
    /// Fails with `Value` for the first value beyond a limit.
    pub fn check_values(self) -> Result<(), Error> {
        Ok(if let Self::Put(item) = self {
            item.check_limits()
        } else {
            self.item_or_key().check_nesting()
        }?)
    }
}

/// The parsed expressions of a write: everything that needs no table.
#[derive(Debug)]
pub enum WritePlan {
    Condition(WriteCondition),
    Update(UpdatePlan),
}

impl WritePlan {
    /// Returns the key of the item, after the checks against the table that need no item.
    ///
    /// # Errors
    /// Fails with `Key`, `Update` or `Query`, by the first check that fails.
    pub fn key(&self, action: WriteAction<'_>, table: &TableEntry) -> Result<Key, Error> {
        let key = match action {
            WriteAction::Put(item) => index::key_of_put(table, item)?,
            _ => item_key::key_of_parameter(&table.schema.key, action.item_or_key())?,
        };
        match self {
            Self::Condition(guard) => guard.check_paths(table)?,
            Self::Update(plan) => plan.check_table(table)?,
        }
        Ok(key)
    }

    /// Evaluates the condition on the stored item and returns the outcome of the write.
    ///
    /// # Errors
    /// Fails with `ConditionalCheckFailed`, `Update`, `Value` or `Key`, or with an error of the
    /// store.
    pub fn decide<'r>(
        &self,
        action: WriteAction<'r>,
        stored: &StoredItem,
    ) -> Result<WriteOutcome<'r>, Error> {
        let guard = match self {
            // An update that only removes leaves a missing item missing: its outcome is a delete of
            // nothing.
            Self::Update(plan) => {
                return Ok(plan
                    .apply(stored)?
                    .map_or(WriteOutcome::Deleted, WriteOutcome::Updated));
            }
            Self::Condition(guard) => guard,
        };
        guard.check(stored)?;
        debug_assert!(
            !matches!(action, WriteAction::Update(_)),
            "an update without its plan"
        );
        Ok(match action {
            WriteAction::Put(item) => WriteOutcome::Put(item),
            WriteAction::Delete(_) => WriteOutcome::Deleted,
            WriteAction::Check(_) | WriteAction::Update(_) => WriteOutcome::Unchanged,
        })
    }

    /// Returns the values that `ReturnValues` asks for, from the item before or after the write.
    pub fn returned(
        &self,
        return_values: UpdateReturnValues,
        stored: &StoredItem,
        outcome: &WriteOutcome<'_>,
    ) -> Result<Option<Item>, StoreError> {
        match (self, return_values) {
            (Self::Update(plan), _) => {
                Ok(plan.returned(return_values, stored.item()?, outcome.item()))
            }
            (Self::Condition(_), UpdateReturnValues::AllOld) => Ok(stored.item()?.cloned()),
            (Self::Condition(_), _) => Ok(None),
        }
    }

    /// Reads the item of a single write and decides its outcome.
    ///
    /// # Errors
    /// `ResourceNotFound`, `Throttled`, `TooManyValues`; as of [`Self::key`] and [`Self::decide`].
    pub fn prepare<'r>(
        &self,
        transaction: &mut Transaction<'_>,
        table: &TableName,
        action: WriteAction<'r>,
    ) -> Result<(StoredItem, WriteOutcome<'r>), Error> {
        let table = transaction.active_table(table)?;
        let key = self.key(action, &table)?;
        let stored = StoredItem::load(transaction, &table, key)?;
        // Before `decide` decodes the item: a decoded value takes much more memory than its record,
        // and a transaction holds up to 100 of them.
        transaction.value_memory.reserve_change(stored.record()?)?;
        let outcome = self.decide(action, &stored)?;
        Ok((stored, outcome))
    }
}

/// The outcome of a write for its item.
#[derive(Debug)]
pub enum WriteOutcome<'r> {
    /// Unchanged: only the condition was evaluated.
    Unchanged,
    Put(&'r Item),
    Updated(Item),
    /// Deleted, or absent already.
    Deleted,
}

impl WriteOutcome<'_> {
    /// Returns the item after the write.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        match self {
            Self::Put(item) => Some(item),
            Self::Updated(item) => Some(item),
            Self::Unchanged | Self::Deleted => None,
        }
    }

    /// Writes the outcome.
    pub fn write(
        &self,
        transaction: &mut Transaction<'_>,
        stored: &StoredItem,
    ) -> Result<AppliedWrite, Error> {
        match self {
            // A put passed `Item::check_limits` before it was queued.
            Self::Put(item) => replace_checked(transaction, stored, Some(item)),
            _ => replace(transaction, stored, self.item()),
        }
    }
}

//! The action of a write on its item and the condition under which it applies: for an operation on
//! one item, for an action of a transaction, for a statement. Parsed before the write is queued,
//! decided on the writer thread.

use super::{
    Applied,
    guard::{Guard, Stored},
    replace, replace_checked,
    update::UpdatePlan,
};
use crate::engine::{base::item_key, index, runtime::prelude::*};
use crate::model::api::UpdateReturnValues;

/// The action of a write, with its item or the key of that item.
#[derive(Debug, Clone, Copy)]
pub enum Action<'r> {
    /// An item that passed all limit checks.
    Put(&'r Item),
    Update(&'r Item),
    Delete(&'r Item),
    /// No change: only the condition is evaluated.
    Check(&'r Item),
}

impl<'r> Action<'r> {
    /// Returns the item or key of the request.
    #[must_use]
    pub fn sent(self) -> &'r Item {
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
            self.sent().check_nesting()
        }?)
    }
}

/// The parsed expressions of a write: everything that needs no table.
#[derive(Debug)]
pub enum Plan {
    Guard(Guard),
    Update(UpdatePlan),
}

impl Plan {
    /// Returns the key of the item, after the checks against the table that need no item.
    ///
    /// # Errors
    /// Fails with `Key`, `Update` or `Query`, by the first check that fails.
    pub fn key(&self, action: Action<'_>, table: &TableEntry) -> Result<Key, Error> {
        let key = match action {
            Action::Put(item) => index::key_of_put(table, item)?,
            _ => item_key::key_of_parameter(&table.schema.key, action.sent())?,
        };
        match self {
            Self::Guard(guard) => guard.check_paths(table)?,
            Self::Update(plan) => plan.check_table(table)?,
        }
        Ok(key)
    }

    /// Evaluates the condition on the stored item and returns the outcome of the write.
    ///
    /// # Errors
    /// Fails with `ConditionalCheckFailed`, `Update`, `Value` or `Key`, or with an error of the
    /// store.
    pub fn decide<'r>(&self, action: Action<'r>, stored: &Stored) -> Result<Outcome<'r>, Error> {
        let guard = match self {
            // An update that only removes leaves a missing item missing: its outcome is a delete of
            // nothing.
            Self::Update(plan) => {
                return Ok(plan
                    .apply(stored)?
                    .map_or(Outcome::Deleted, Outcome::Updated));
            }
            Self::Guard(guard) => guard,
        };
        guard.check(stored)?;
        debug_assert!(
            !matches!(action, Action::Update(_)),
            "an update without its plan"
        );
        Ok(match action {
            Action::Put(item) => Outcome::Put(item),
            Action::Delete(_) => Outcome::Deleted,
            Action::Check(_) | Action::Update(_) => Outcome::Kept,
        })
    }

    /// Returns the values that `ReturnValues` asks for, from the item before or after the write.
    pub fn returned(
        &self,
        asked: UpdateReturnValues,
        stored: &Stored,
        outcome: &Outcome<'_>,
    ) -> Result<Option<Item>, StoreError> {
        match (self, asked) {
            (Self::Update(plan), _) => Ok(plan.returned(asked, stored.item()?, outcome.item())),
            (Self::Guard(_), UpdateReturnValues::AllOld) => Ok(stored.item()?.cloned()),
            (Self::Guard(_), _) => Ok(None),
        }
    }

    /// Reads the item of a single write and decides its outcome.
    ///
    /// # Errors
    /// `ResourceNotFound`, `Throttled`, `TooManyValues`; as of [`Self::key`] and [`Self::decide`].
    pub fn look_at<'r>(
        &self,
        transaction: &mut Transaction<'_>,
        table: &TableName,
        action: Action<'r>,
    ) -> Result<(Stored, Outcome<'r>), Error> {
        let table = transaction.active_table(table)?;
        let key = self.key(action, &table)?;
        let stored = Stored::look_at(transaction, &table, key)?;
        transaction.held_values.change(stored.record()?)?;
        let outcome = self.decide(action, &stored)?;
        Ok((stored, outcome))
    }
}

/// The outcome of a write for its item.
#[derive(Debug)]
pub enum Outcome<'r> {
    /// Unchanged: only the condition was evaluated.
    Kept,
    Put(&'r Item),
    Updated(Item),
    /// Deleted, or absent already.
    Deleted,
}

impl Outcome<'_> {
    /// Returns the item after the write.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        match self {
            Self::Put(item) => Some(item),
            Self::Updated(item) => Some(item),
            Self::Kept | Self::Deleted => None,
        }
    }

    /// Writes the outcome.
    pub fn write(
        &self,
        transaction: &mut Transaction<'_>,
        stored: &Stored,
    ) -> Result<Applied, Error> {
        match self {
            // A put passed `Item::check_limits` before it was queued.
            Self::Put(item) => replace_checked(transaction, stored, Some(item)),
            _ => replace(transaction, stored, self.item()),
        }
    }
}

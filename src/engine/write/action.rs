//! What a write does with its item, and on what condition: of an operation on one item, of an action of a transaction, of a statement.
//! Parsed before the write is queued, decided on the writer thread.

use super::{
    Applied,
    guard::{Guard, Stored},
    replace, replace_checked,
    update::UpdatePlan,
};
use crate::engine::{base::item_key, index, runtime::prelude::*};
use crate::model::api::UpdateReturnValues;

/// What a write does, with its item or the key of that.
#[derive(Debug, Clone, Copy)]
pub enum Action<'r> {
    /// An item that was held against all limits.
    Put(&'r Item),
    Update(&'r Item),
    Delete(&'r Item),
    /// Nothing: only the condition is looked at.
    Check(&'r Item),
}

impl<'r> Action<'r> {
    /// The item or key that it was sent with.
    #[must_use]
    pub fn sent(self) -> &'r Item {
        match self {
            Self::Put(item) | Self::Update(item) | Self::Delete(item) | Self::Check(item) => item,
        }
    }

    /// What its values may be.
    ///
    /// # Errors
    /// `Value`.
    pub fn check_values(self) -> Result<(), Error> {
        Ok(if let Self::Put(item) = self {
            item.check_limits()
        } else {
            self.sent().check_nesting()
        }?)
    }
}

/// The expressions of a write, parsed: what needs no table.
#[derive(Debug)]
pub enum Plan {
    Guard(Guard),
    Update(UpdatePlan),
}

impl Plan {
    /// The key of the item, and the checks against the table that need no item.
    ///
    /// # Errors
    /// `Key`, `Update`, `Query`.
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

    /// Holds the stored item against the condition, and says what becomes of it.
    ///
    /// # Errors
    /// `ConditionalCheckFailed`, `Update`, `Value`, `Key`; those of the store.
    pub fn decide<'r>(&self, action: Action<'r>, stored: &Stored) -> Result<Outcome<'r>, Error> {
        let guard = match self {
            // Without an item there was nothing to update, and nothing comes of it.
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

    /// What the values that are asked for are, of the item before and after.
    ///
    /// # Errors
    /// Those of the store.
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

    /// Finds the item of a write by itself and decides.
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

/// What becomes of an item.
#[derive(Debug)]
pub enum Outcome<'r> {
    /// It was only looked at.
    Kept,
    Put(&'r Item),
    Updated(Item),
    /// There may have been none.
    Deleted,
}

impl Outcome<'_> {
    /// The item after it.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        match self {
            Self::Put(item) => Some(item),
            Self::Updated(item) => Some(item),
            Self::Kept | Self::Deleted => None,
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// As of [`replace`].
    pub fn write(
        &self,
        transaction: &mut Transaction<'_>,
        stored: &Stored,
    ) -> Result<Applied, Error> {
        match self {
            Self::Put(item) => replace_checked(transaction, stored, Some(item)),
            _ => replace(transaction, stored, self.item()),
        }
    }
}

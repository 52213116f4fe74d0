//! The update of one item (SEMANTICS 7.11, 5.2, 9.4): parsed before the write is queued, applied on the writer thread.

use std::collections::BTreeSet;

use super::catalog::TableEntry;
use super::guard::Guard;
use super::index;
use super::read::projected::{self, KeyRoles};
use super::write::Stored;
use crate::expr::update::{self, Action, Effect, SetValue, Update};
use crate::expr::{PlaceholderUse, legacy, placeholders};
use crate::model::api::{ConditionParameter, Placeholders, Precondition, UpdateParameter, UpdateReturnValues};
use crate::model::error::UpdateError;
use crate::model::error::expression::ExpressionParameter;
use crate::model::limits::ITEM_BYTES_MAX;
use crate::model::{Error, Item, Key, PathElement};

/// What the limit of an item's size is held against (SEMANTICS 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizeOf {
    /// The item, and what the statement writes with its overhead.
    Statement,
    /// The item alone, as in transactions and in PartiQL.
    Item,
}

/// What an update weighs beside the attributes it writes (SEMANTICS 5.2): in all, for each action that writes a value, for each
/// that clears one, for a list element as target, for `+` or `-`.
const STATEMENT_BYTES: usize = 3;
const WRITING_ACTION_BYTES: usize = 19;
const CLEARING_ACTION_BYTES: usize = 2;
const LIST_TARGET_BYTES: usize = 1;
const ARITHMETIC_BYTES: usize = 50;

/// An update and its condition, parsed: what needs no table.
#[derive(Debug)]
pub struct UpdatePlan {
    update: Option<Update>,
    guard: Guard,
    size_of: SizeOf,
}

impl UpdatePlan {
    /// Parses update and condition of one request or action.
    ///
    /// # Errors
    /// `Expression`, `Legacy`.
    pub fn parse(update: &UpdateParameter, condition: &ConditionParameter, placeholders: &Placeholders) -> Result<Self, Error> {
        let has_expression = update.expression().is_some() || condition.expression().is_some();
        let values_missing = (!has_expression).then_some(ExpressionParameter::OF_UPDATE);
        placeholders::check(placeholders, has_expression, values_missing)?;
        let mut used = PlaceholderUse::default();
        let update = match update {
            UpdateParameter::None => None,
            UpdateParameter::Expression(text) => Some(update::parse(text, placeholders, &mut used)?),
            UpdateParameter::AttributeUpdates(updates) => Some(legacy::update(updates)?),
        };
        let guard = Guard::parse(condition, placeholders, &mut used)?;
        used.finish(placeholders)?;
        Ok(Self { update, guard, size_of: SizeOf::Statement })
    }

    /// An update that is known already, as a PartiQL statement has one: only the item has a limit of size.
    #[must_use]
    pub fn of_update(update: Update, guard: Guard) -> Self {
        Self { update: Some(update), guard, size_of: SizeOf::Item }
    }

    /// With a precondition, and with the item given on failure.
    #[must_use]
    pub fn with(self, precondition: Option<Precondition>, return_old: bool) -> Self {
        Self { guard: self.guard.with(precondition, return_old), ..self }
    }

    /// The same as an action of a transaction: only the item has a limit of size.
    #[must_use]
    pub fn in_transaction(self) -> Self {
        Self { size_of: SizeOf::Item, ..self }
    }

    /// The checks against the table that need no item.
    ///
    /// # Errors
    /// `Update` for an action on a key attribute, `Query` for a path into one.
    pub fn check_table(&self, table: &TableEntry) -> Result<(), Error> {
        if let Some(update) = &self.update {
            if let Some(name) = update.key_attribute(&table.schema.key) {
                return Err(UpdateError::KeyAttribute(name.to_owned()).into());
            }
            projected::check_paths(&update.paths(), KeyRoles::of_write(&table.schema))?;
        }
        self.guard.check_paths(table)
    }

    /// Holds the stored item against the condition and makes the new one, its values, index keys and size checked; `None` when
    /// the update only removes and there was nothing.
    ///
    /// # Errors
    /// `ConditionalCheckFailed`, `Update`, `Value`, `Key`; those of the store.
    pub fn apply(&self, table: &TableEntry, key: &Key, stored: &Stored) -> Result<Option<Item>, Error> {
        self.guard.check(stored)?;
        let old = stored.item()?;
        if old.is_none() && self.update.as_ref().is_some_and(Update::only_removes) {
            return Ok(None);
        }
        let key_alone;
        let before = match old {
            Some(item) => item,
            None => {
                key_alone = key.to_item(&table.schema.key);
                &key_alone
            }
        };
        let Some(update) = &self.update else { return Ok(Some(before.clone())) };
        let new = update.apply(before, old.is_some())?;
        check_updated(table, update, (before, &new), self.size_of)?;
        Ok(Some(new))
    }

    /// What `ReturnValues` returns.
    #[must_use]
    pub fn returned(&self, asked: UpdateReturnValues, old: Option<&Item>, new: Option<&Item>) -> Option<Item> {
        let touched = |item: Option<&Item>| Some(self.update.as_ref()?.touched(item?)).filter(|part| !part.0.is_empty());
        match asked {
            UpdateReturnValues::None => None,
            UpdateReturnValues::AllOld => old.cloned(),
            UpdateReturnValues::AllNew => new.cloned(),
            UpdateReturnValues::UpdatedOld => touched(old),
            UpdateReturnValues::UpdatedNew => touched(new),
        }
    }
}

/// Depth, size and index keys of an updated item.
fn check_updated(table: &TableEntry, update: &Update, (old, new): (&Item, &Item), size_of: SizeOf) -> Result<(), Error> {
    let written: BTreeSet<&str> = update.targets().map(|path| path.head.as_str()).collect();
    let values = || written.iter().filter_map(|name| Some((*name, new.get(name)?)));
    values().try_for_each(|(_, value)| value.check_nesting())?;
    index::check_update(table, old, new)?;
    let statement = match size_of {
        SizeOf::Item => 0,
        SizeOf::Statement => {
            let attributes: usize = values().map(|(name, value)| name.len() + value.size()).sum();
            STATEMENT_BYTES + attributes + update.actions().iter().map(action_bytes).sum::<usize>()
        }
    };
    if statement.max(new.size()) > ITEM_BYTES_MAX {
        return Err(UpdateError::ItemTooLarge.into());
    }
    Ok(())
}

fn action_bytes(action: &Action) -> usize {
    let base = match &action.effect {
        Effect::Set(SetValue::Term(_)) | Effect::Add(_) => WRITING_ACTION_BYTES,
        Effect::Set(SetValue::Plus(..) | SetValue::Minus(..)) => WRITING_ACTION_BYTES + ARITHMETIC_BYTES,
        Effect::Remove | Effect::Delete(_) => CLEARING_ACTION_BYTES,
    };
    match action.path.rest.last() {
        Some(PathElement::Index(_)) => base + LIST_TARGET_BYTES,
        Some(PathElement::Name(_)) | None => base,
    }
}

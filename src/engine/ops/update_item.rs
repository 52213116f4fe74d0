//! UpdateItem (SEMANTICS 12.3, 7.11).

use std::collections::BTreeSet;

use crate::engine::catalog::TableEntry;
use crate::engine::guard::Guard;
use crate::engine::read::projected::{self, KeyRoles};
use crate::engine::transaction::Transaction;
use crate::engine::write::{self, Stored};
use crate::engine::{Done, Engine, index, item_key};
use crate::expr::update::{self, Action, Effect, SetValue, Update};
use crate::expr::{PlaceholderUse, placeholders};
use crate::model::api::{UpdateItemRequest, UpdateItemResponse, UpdateParameter, UpdateReturnValues};
use crate::model::error::UpdateError;
use crate::model::limits::ITEM_BYTES_MAX;
use crate::model::{AttributeValue, Error, Item, Key, PathElement};

/// What an update weighs beside the attributes it writes (SEMANTICS 5.2): in all, for each action that writes a value, for each
/// that clears one, for a list element as target, for `+` or `-`.
const STATEMENT_BYTES: usize = 3;
const WRITING_ACTION_BYTES: usize = 19;
const CLEARING_ACTION_BYTES: usize = 2;
const LIST_TARGET_BYTES: usize = 1;
const ARITHMETIC_BYTES: usize = 50;

impl Engine {
    /// Starts an update; `done` hears of it after the commit.
    pub fn update_item_then(&self, request: UpdateItemRequest, done: Done<UpdateItemResponse>) {
        match UpdatePlan::of(&request) {
            Ok(plan) => self.shared.submit(move |transaction| update(transaction, &request, &plan), done),
            Err(error) => done(Err(error)),
        }
    }
}

/// An update and its condition, parsed: what needs no table.
#[derive(Debug)]
pub struct UpdatePlan {
    update: Option<Update>,
    guard: Guard,
    size_of: SizeOf,
}

/// What the limit of an item's size is held against (SEMANTICS 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizeOf {
    /// The item, and the statement by itself.
    Statement,
    /// The item alone, as in transactions.
    Item,
}

/// An item before and after an update.
#[derive(Debug)]
pub struct Updated {
    /// `None` when the update only removes and there was nothing.
    pub new: Option<Item>,
}

impl UpdatePlan {
    /// # Errors
    /// `Value`, `Expression`.
    pub fn of(request: &UpdateItemRequest) -> Result<Self, Error> {
        request.key.0.values().try_for_each(AttributeValue::check_nesting)?;
        let has_expression = request.update.expression().is_some() || request.condition.expression().is_some();
        let values_missing = (!has_expression).then_some("UpdateExpression and ConditionExpression are null");
        placeholders::check(&request.placeholders, has_expression, values_missing)?;
        let mut used = PlaceholderUse::default();
        let update = match &request.update {
            UpdateParameter::None => None,
            UpdateParameter::Expression(text) => Some(update::parse(text, &request.placeholders, &mut used)?),
        };
        let guard = Guard::parse(&request.condition, &request.placeholders, &mut used)?;
        used.finish(&request.placeholders)?;
        let guard = guard.with(request.precondition, request.return_old_on_condition_failure);
        Ok(Self { update, guard, size_of: SizeOf::Statement })
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

    /// Holds the stored item against the condition and makes the new one, its values, index keys and size checked.
    ///
    /// # Errors
    /// `ConditionalCheckFailed`, `Update`, `Value`, `Key`; those of the store.
    pub fn apply(&self, table: &TableEntry, key: &Key, stored: &Stored) -> Result<Updated, Error> {
        self.guard.check(stored)?;
        let old = stored.item()?;
        if old.is_none() && self.update.as_ref().is_some_and(Update::only_removes) {
            return Ok(Updated { new: None });
        }
        let key_alone;
        let before = match old {
            Some(item) => item,
            None => {
                key_alone = key.to_item(&table.schema.key);
                &key_alone
            }
        };
        let Some(update) = &self.update else { return Ok(Updated { new: Some(before.clone()) }) };
        let new = update.apply(before, old.is_some())?;
        check_updated(table, (update, self.size_of), before, &new)?;
        Ok(Updated { new: Some(new) })
    }

    /// What `ReturnValues` returns.
    fn returned(&self, asked: UpdateReturnValues, old: Option<&Item>, new: Option<&Item>) -> Option<Item> {
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
fn check_updated(table: &TableEntry, (update, size_of): (&Update, SizeOf), old: &Item, new: &Item) -> Result<(), Error> {
    let written: BTreeSet<&str> = update.targets().map(|path| path.head.as_str()).collect();
    let values = || written.iter().filter_map(|name| Some((*name, new.get(name)?)));
    values().try_for_each(|(_, value)| value.check_nesting())?;
    index::check_update(table, old, new)?;
    let attributes: usize = values().map(|(name, value)| name.len() + value.size()).sum();
    let statement = match size_of {
        SizeOf::Statement => STATEMENT_BYTES + attributes + update.actions().iter().map(action_bytes).sum::<usize>(),
        SizeOf::Item => 0,
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

fn update(transaction: &mut Transaction<'_>, request: &UpdateItemRequest, plan: &UpdatePlan) -> Result<UpdateItemResponse, Error> {
    let table = transaction.active_table(&request.table_name)?;
    let key = item_key::key_of_parameter(&table.schema.key, &request.key)?;
    plan.check_table(&table)?;
    let stored = Stored::read(transaction.batch.as_read(), &table, &key)?;
    let Updated { new } = plan.apply(&table, &key, &stored)?;
    let applied = write::replace(transaction, &table, &key, &stored, new.as_ref())?;
    let item_collection_metrics = match request.return_item_collection_metrics {
        true => write::collection_metrics(transaction.batch.as_read(), &table, &key)?,
        false => None,
    };
    Ok(UpdateItemResponse {
        attributes: plan.returned(request.return_values, stored.item()?, new.as_ref()),
        consumed_capacity: applied.consumed_capacity,
        item_collection_metrics,
        version: new.is_some().then_some(applied.version),
    })
}

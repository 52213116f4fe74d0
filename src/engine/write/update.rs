//! The update of one item by an update expression (docs/dynamodb.md 7.11, 5.2, 9.4). It is parsed
//! before the write is queued and applied on the writer thread.

use std::collections::BTreeSet;

use super::condition::{StoredItem, WriteCondition};
use crate::engine::{index, prelude::*, read::select};
use crate::expr::{
    PlaceholderScope, legacy,
    update::{self, SetTerm, SetValue, Update, UpdateAction, UpdateEffect},
};
use crate::model::{
    DocumentPath, PathElement,
    api::{ConditionParameter, Placeholders, Precondition, UpdateParameter, UpdateReturnValues},
    error::{KeyError, UpdateError, expression::ExpressionParameter},
    limits::ITEM_BYTES_MAX,
};

/// The size that is checked against the item limit (docs/dynamodb.md 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizeRule {
    /// The item, and before the condition the size charged for the statement.
    Statement,
    /// The item only: in transactions, in PartiQL, and for AttributeUpdates.
    Item,
}

/// An update with its condition, parsed: everything that needs no table.
#[derive(Debug)]
pub struct UpdatePlan {
    update: Option<Update>,
    guard: WriteCondition,
    size_of: SizeRule,
}

impl UpdatePlan {
    /// Parses update and condition of one request or action.
    ///
    /// # Errors
    /// Fails with `Expression` or `Legacy` if one cannot be parsed.
    pub fn parse(
        update: &UpdateParameter,
        condition: &ConditionParameter,
        placeholders: &Placeholders,
    ) -> Result<Self, Error> {
        let has_expression = update.expression().is_some() || condition.expression().is_some();
        let values_missing = (!has_expression).then_some(ExpressionParameter::OF_UPDATE);
        let mut scope = PlaceholderScope::checked(placeholders, has_expression, values_missing)?;
        let is_statement = update.expression().is_some();
        let update = match update {
            UpdateParameter::None => None,
            UpdateParameter::Expression(text) => Some(update::parse(text, &mut scope)?),
            UpdateParameter::AttributeUpdates(updates) => Some(legacy::update(updates)?),
        };
        let guard = WriteCondition::parse(condition, &mut scope)?;
        scope.finish()?;
        let size_of = if is_statement {
            SizeRule::Statement
        } else {
            SizeRule::Item
        };
        Ok(Self {
            update,
            guard,
            size_of,
        })
    }

    /// Returns a plan for an update that is parsed already, as in a PartiQL statement: only the
    /// item has a size limit.
    #[must_use]
    pub fn of_update(update: Update, guard: WriteCondition) -> Self {
        Self {
            update: Some(update),
            guard,
            size_of: SizeRule::Item,
        }
    }

    /// Adds a precondition, and whether a failure returns the item.
    #[must_use]
    pub fn with_precondition(self, precondition: Option<Precondition>, return_old: bool) -> Self {
        Self {
            guard: self.guard.with_precondition(precondition, return_old),
            ..self
        }
    }

    /// Returns the same update as an action of a transaction: only the item has a size limit.
    #[must_use]
    pub fn in_transaction(self) -> Self {
        Self {
            size_of: SizeRule::Item,
            ..self
        }
    }

    /// Runs the checks against the table that need no item.
    ///
    /// # Errors
    /// Fails with `Update` for an action on a key attribute, with `Query` for a path into one.
    pub fn check_table(&self, table: &TableEntry) -> Result<(), Error> {
        if let Some(update) = &self.update {
            if let Some(name) = update.key_attribute(&table.schema.key) {
                return Err(UpdateError::KeyAttribute(name.to_owned()).into());
            }
            select::check_paths(&update.paths(), &table.schema)?;
        }
        self.guard.check_paths(table)
    }

    /// Checks the condition on the stored item and returns the new item, with values, index keys
    /// and size checked; `None` if the update only removes and there is no item.
    ///
    /// # Errors
    /// Fails with `ConditionalCheckFailed`, `Update`, `Value` or `Key`, or with an error of the
    /// store.
    pub fn apply(&self, stored: &StoredItem) -> Result<Option<Item>, Error> {
        let (table, old) = (&stored.table, stored.item()?);
        if let (SizeRule::Statement, Some(update)) = (self.size_of, &self.update) {
            // The statement is charged before the condition is evaluated: a failing condition does
            // not hide its error.
            check_statement_size(update, old)?;
        }
        self.guard.check(stored)?;
        if old.is_none() && self.update.as_ref().is_some_and(Update::only_removes) {
            return Ok(None);
        }
        // Declared here, so that it lives as long as the reference `before`.
        let key_alone;
        let before = match old {
            Some(item) => item,
            None => {
                // An update of a missing item begins with its key.
                key_alone = stored.key.to_item(&table.schema.key);
                &key_alone
            }
        };
        let Some(update) = &self.update else {
            // Without an update expression UpdateItem still creates a missing item.
            return Ok(Some(before.clone()));
        };
        let new = update.apply(before, old.is_some())?;
        check_updated(table, update, before, &new)?;
        Ok(Some(new))
    }

    /// Returns the attributes that `ReturnValues` asks for.
    #[must_use]
    pub fn returned(
        &self,
        return_values: UpdateReturnValues,
        old: Option<&Item>,
        new: Option<&Item>,
    ) -> Option<Item> {
        let touched = |item: Option<&Item>| {
            Some(self.update.as_ref()?.touched(item?)).filter(|part| !part.0.is_empty())
        };
        match return_values {
            UpdateReturnValues::None => None,
            UpdateReturnValues::AllOld => old.cloned(),
            UpdateReturnValues::AllNew => new.cloned(),
            UpdateReturnValues::UpdatedOld => touched(old),
            UpdateReturnValues::UpdatedNew => touched(new),
        }
    }
}

/// Checks names, nesting, size and index keys of an updated item.
fn check_updated(table: &TableEntry, update: &Update, old: &Item, new: &Item) -> Result<(), Error> {
    let written: BTreeSet<&str> = update.targets().map(|path| path.head.as_str()).collect();
    new.check_names()?;
    // Attributes that this update does not write had their nesting checked when they were written.
    written
        .iter()
        .filter_map(|name| new.get(name))
        .try_for_each(AttributeValue::check_nesting)?;
    index::check_update(table, old, new).map_err(|error| hide_types(error, update))?;
    if new.size() > ITEM_BYTES_MAX {
        Err(UpdateError::ItemTooLarge.into())
    } else {
        Ok(())
    }
}

/// Replaces an index key error without types if the wrong type does not come from a literal of the
/// statement (docs/dynamodb.md 9.4).
fn hide_types(error: Error, update: &Update) -> Error {
    let Error::Key(KeyError::IndexTypeMismatch { name, .. }) = &error else {
        return error;
    };
    let shows = |action: &&UpdateAction| match &action.effect {
        UpdateEffect::Set(SetValue::Term(SetTerm::Value(_)))
        | UpdateEffect::Add(_)
        | UpdateEffect::Remove
        | UpdateEffect::Delete(_) => false,
        UpdateEffect::Set(_) => action.path.head == *name,
    };
    match update.actions().iter().find(shows) {
        // A value that comes from the item or from a computation: the service names no types then.
        Some(_) => UpdateError::IndexKeyType.into(),
        None => error,
    }
}

/// Refuses an UpdateItem statement that is charged more than the item limit, whatever the resulting
/// item is.
fn check_statement_size(update: &Update, old: Option<&Item>) -> Result<(), Error> {
    let bytes = STATEMENT_BYTES
        + update
            .actions()
            .iter()
            .map(|action| action_bytes(action, old))
            .sum::<usize>();
    if bytes > ITEM_BYTES_MAX {
        Err(UpdateError::ItemTooLarge.into())
    } else {
        Ok(())
    }
}

/// The bytes charged for an update statement (docs/dynamodb.md 5.4): for the statement, for an
/// action that writes a value, for one that clears a value, for each step of a target after its
/// first name, for an operand that is a path and for each element of it, and for operators and
/// functions in addition to their operands.
const STATEMENT_BYTES: usize = 3;
const WRITING_ACTION_BYTES: usize = 19;
const CLEARING_ACTION_BYTES: usize = 1;
const TARGET_STEP_BYTES: usize = 4;
const PATH_OPERAND_BYTES: usize = 1;
const PATH_ELEMENT_BYTES: usize = 14;
const PLUS_BYTES: usize = 34;
const MINUS_BYTES: usize = 37;
const IF_NOT_EXISTS_BYTES: usize = 39;
const LIST_APPEND_BYTES: usize = 37;

fn action_bytes(action: &UpdateAction, old: Option<&Item>) -> usize {
    let target = &action.path;
    let place = target.head.len()
        + target
            .rest
            .iter()
            .map(|step| TARGET_STEP_BYTES + element_bytes(step))
            .sum::<usize>();
    place
        + match &action.effect {
            UpdateEffect::Set(SetValue::Term(term)) => WRITING_ACTION_BYTES + term_bytes(term),
            UpdateEffect::Set(SetValue::Plus(one, two)) => {
                WRITING_ACTION_BYTES + PLUS_BYTES + term_bytes(one) + term_bytes(two)
            }
            UpdateEffect::Set(SetValue::Minus(one, two)) => {
                WRITING_ACTION_BYTES + MINUS_BYTES + term_bytes(one) + term_bytes(two)
            }
            UpdateEffect::Add(value) => {
                WRITING_ACTION_BYTES
                    + added_bytes(value, old.and_then(|item| target.resolve_in(item)))
            }
            // The members that DELETE names are free, as in the service.
            UpdateEffect::Remove | UpdateEffect::Delete(_) => CLEARING_ACTION_BYTES,
        }
}

fn term_bytes(term: &SetTerm) -> usize {
    match term {
        // The value that the path reads is free.
        SetTerm::Path(path) => path_bytes(path),
        SetTerm::Value(value) => value.size(),
        SetTerm::IfNotExists(path, other) => {
            IF_NOT_EXISTS_BYTES + path_bytes(path) + term_bytes(other)
        }
        SetTerm::ListAppend(one, two) => LIST_APPEND_BYTES + term_bytes(one) + term_bytes(two),
    }
}

fn path_bytes(path: &DocumentPath) -> usize {
    let rest = path
        .rest
        .iter()
        .map(|step| PATH_ELEMENT_BYTES + element_bytes(step))
        .sum::<usize>();
    PATH_OPERAND_BYTES + PATH_ELEMENT_BYTES + path.head.len() + rest
}

/// Returns the bytes of a name, or the number of digits of an index.
fn element_bytes(step: &PathElement) -> usize {
    match step {
        PathElement::Name(name) => name.len(),
        PathElement::Index(index) => index.checked_ilog10().unwrap_or(0) as usize + 1,
    }
}

/// Returns the bytes that ADD charges: for a set, only those of members that it adds.
fn added_bytes(value: &AttributeValue, stored: Option<&AttributeValue>) -> usize {
    let new = |size: usize, is_new: bool| if is_new { size } else { 0 };
    match (value, stored) {
        (AttributeValue::Ss(added), Some(AttributeValue::Ss(old))) => added
            .iter()
            .map(|text| new(text.len(), old.binary_search(text).is_err()))
            .sum(),
        (AttributeValue::Ns(added), Some(AttributeValue::Ns(old))) => added
            .iter()
            .map(|number| new(number.size(), old.binary_search(number).is_err()))
            .sum(),
        (AttributeValue::Bs(added), Some(AttributeValue::Bs(old))) => added
            .iter()
            .map(|bytes| new(bytes.len(), old.binary_search(bytes).is_err()))
            .sum(),
        // Without a stored set of the same type all members are new.
        _ => value.size(),
    }
}

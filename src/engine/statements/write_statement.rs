//! INSERT, UPDATE, DELETE and EXISTS: the item that a statement is about, and what it does with it.

use crate::engine::base::{item_key, write_units};
use crate::engine::prelude::*;
use crate::engine::runtime::Transaction;
use crate::engine::write::guard::{Guard, Stored};
use crate::engine::write::update::UpdatePlan;
use crate::engine::{index, write};
use crate::expr::Condition;
use crate::expr::partiql::{Returning, Write, WriteEffect, keys as named};
use crate::model::DocumentPath;
use crate::model::api::UpdateReturnValues;
use crate::model::error::{StatementError, ValueError};

/// What a statement does with its item.
#[derive(Debug)]
pub enum Effect {
    Insert(Item),
    Update(UpdatePlan, UpdateReturnValues),
    /// With its condition, and whether the old item is given back.
    Delete(Guard, bool),
    /// Nothing but the condition.
    Exists(Guard),
}

/// A statement that knows its item.
#[derive(Debug)]
pub struct Prepared {
    /// The key attributes by name, as written.
    pub named: Item,
    pub effect: Effect,
}

/// Finds the item that a statement names. The key's types are still to be checked.
///
/// # Errors
/// `Statement`.
pub fn prepare(write: &Write, table: &TableEntry, return_old: bool) -> Result<Prepared, StatementError> {
    let schema = &table.schema.key;
    let partition = || DocumentPath::top_level(schema.partition.name.clone());
    Ok(match &write.effect {
        WriteEffect::Insert(item) => Prepared { named: Item::default(), effect: Effect::Insert(item.clone()) },
        WriteEffect::Update { update, condition, returning } => {
            let found = named::of_write(condition.as_ref(), schema)?;
            // There must be an item to update.
            let conditions = std::iter::once(Condition::AttributeExists(partition())).chain(found.rest).collect();
            let guard = Guard::of_condition(Some(Condition::And(conditions)), return_old);
            let plan = UpdatePlan::of_update(update.clone(), guard);
            Prepared { named: found.key, effect: Effect::Update(plan, returned(*returning)) }
        }
        WriteEffect::Delete { condition, returning } => {
            let found = named::of_write(condition.as_ref(), schema)?;
            // What is not there meets every condition: there is nothing to delete.
            let condition = found.rest.map(|rest| Condition::Or(vec![Condition::AttributeNotExists(partition()), rest]));
            Prepared { named: found.key, effect: Effect::Delete(Guard::of_condition(condition, return_old), *returning) }
        }
        WriteEffect::Exists { condition } => {
            let found = named::of_exists(condition.as_ref(), schema)?;
            Prepared { named: found.key, effect: Effect::Exists(Guard::of_condition(found.rest, return_old)) }
        }
    })
}

fn returned(returning: Option<Returning>) -> UpdateReturnValues {
    match returning {
        None => UpdateReturnValues::None,
        Some(Returning::AllOld) => UpdateReturnValues::AllOld,
        Some(Returning::AllNew) => UpdateReturnValues::AllNew,
        Some(Returning::ModifiedOld) => UpdateReturnValues::UpdatedOld,
        Some(Returning::ModifiedNew) => UpdateReturnValues::UpdatedNew,
    }
}

impl Prepared {
    /// The key of the item, and the checks against the table that need no item.
    ///
    /// # Errors
    /// `Value`, `Key`, `Update`, `Query`.
    pub fn check(&self, table: &TableEntry) -> Result<Key, Error> {
        let key = match &self.effect {
            Effect::Insert(item) => {
                item.check_limits()?;
                index::key_of_put(table, item)?
            }
            Effect::Update(..) | Effect::Delete(..) | Effect::Exists(_) => {
                item_key::key_of_parameter(&table.schema.key, &self.named)?
            }
        };
        match &self.effect {
            Effect::Insert(_) => {}
            Effect::Update(plan, _) => plan.check_table(table)?,
            Effect::Delete(guard, _) | Effect::Exists(guard) => guard.check_paths(table)?,
        }
        Ok(key)
    }

    /// Carries the statement out by itself. It is refused, before anything is written, with `Statement` for an item that exists,
    /// `ConditionalCheckFailed`, `Update`, `Key`, `ItemCollectionSizeLimitExceeded`, `Throttled`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn run(&self, transaction: &mut Transaction<'_>, table: &Arc<TableEntry>, key: Key) -> Result<Written, Error> {
        let stored = match Stored::look_at(transaction, table, key) {
            Ok(stored) => stored,
            Err(error @ Error::Throttled(_)) => {
                return Ok(Written { outcome: Err(error), consumed_capacity: ConsumedCapacity::default() });
            }
            Err(error) => return Err(error),
        };
        let held = transaction.held_values.bytes();
        let counted = transaction.held_values.change(stored.record()?);
        match counted.and_then(|()| self.run_on(transaction, &stored)) {
            Ok((returned, consumed_capacity)) => {
                if returned.is_none() {
                    transaction.held_values.let_go(held);
                }
                Ok(Written { outcome: Ok(returned), consumed_capacity })
            }
            Err(error @ Error::Store(_)) => Err(error),
            Err(error) => {
                // A write that is refused costs what its item does.
                let units = write_units(stored.item_bytes()?);
                if matches!(error, Error::ConditionalCheckFailed { .. } | Error::Statement(StatementError::Duplicate)) {
                    transaction.charge_table(table, &stored.address, units)?;
                }
                Ok(Written { outcome: Err(without_words(error)), consumed_capacity: ConsumedCapacity::of_table(units) })
            }
        }
    }

    /// What RETURNING gives, and what was consumed.
    fn run_on(&self, transaction: &mut Transaction<'_>, stored: &Stored) -> Result<(Option<Item>, ConsumedCapacity), Error> {
        let (new, returned) = match &self.effect {
            Effect::Insert(item) => {
                if stored.record()?.is_some() {
                    return Err(StatementError::Duplicate.into());
                }
                (Some(item.clone()), None)
            }
            Effect::Update(plan, returning) => {
                let new = plan.apply(stored)?;
                let returned = plan.returned(*returning, stored.item()?, new.as_ref());
                (new, returned)
            }
            Effect::Delete(guard, returning) => {
                guard.check(stored)?;
                (None, if *returning { stored.item()?.cloned() } else { None })
            }
            Effect::Exists(_) => return Err(StatementError::ExistsAlone.into()),
        };
        let applied = write::replace(transaction, stored, new.as_ref())?;
        Ok((returned, applied.consumed_capacity))
    }
}

/// PartiQL says less of an item that an update made too deep.
#[must_use]
pub fn without_words(error: Error) -> Error {
    match error {
        Error::Value(ValueError::Nesting) => StatementError::ItemNesting.into(),
        other => other,
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// What RETURNING gives, if it gives anything; or why it was refused.
    pub outcome: Result<Option<Item>, Error>,
    /// Of a refused one too.
    pub consumed_capacity: ConsumedCapacity,
}

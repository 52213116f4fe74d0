//! Execution of PartiQL INSERT, UPDATE, DELETE and EXISTS: finds the item of a statement and makes
//! its change.

use crate::engine::{
    base::write_units,
    runtime::prelude::*,
    write::{
        action::{WriteAction, WritePlan},
        condition::{StoredItem, WriteCondition},
        update::UpdatePlan,
    },
};
use crate::expr::{
    Condition, Predicate,
    partiql::{Returning, WriteEffect, WriteStatement, keys as named},
};
use crate::model::{
    api::UpdateReturnValues,
    error::{StatementError, ValueError},
};

/// The effect of a statement on its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    Insert,
    Update,
    Delete,
    /// No effect: there is only the condition.
    Exists,
}

/// A statement with the key of its item.
#[derive(Debug)]
pub struct PreparedStatement {
    pub kind: StatementKind,
    /// The item of an INSERT; otherwise the key attributes by name, as written.
    sent: Item,
    pub plan: WritePlan,
    returning: UpdateReturnValues,
}

/// Finds the item that a statement names. The types of its key are not checked yet. Fails with
/// `Statement` if it does not name one item.
pub fn prepare(
    write: &WriteStatement,
    table: &TableEntry,
    return_old: bool,
) -> Result<PreparedStatement, StatementError> {
    let schema = &table.schema.key;
    let of_partition = |predicate| Condition::on_attribute(&schema.partition.name, predicate, []);
    let guard = |condition| WriteCondition::of_condition(condition, return_old);
    let none = UpdateReturnValues::None;
    let (kind, sent, plan, returning) = match &write.effect {
        WriteEffect::Insert(item) => {
            let plan =
                WritePlan::Condition(guard(Some(of_partition(Predicate::AttributeNotExists))));
            (StatementKind::Insert, item.clone(), plan, none)
        }
        WriteEffect::Update {
            update,
            condition,
            returning,
        } => {
            let found = named::of_write(condition.as_ref(), schema)?;
            // There must be an item to update.
            let conditions = std::iter::once(of_partition(Predicate::AttributeExists))
                .chain(found.residual)
                .collect();
            let plan =
                UpdatePlan::of_update(update.clone(), guard(Some(Condition::And(conditions))));
            (
                StatementKind::Update,
                found.key,
                WritePlan::Update(plan),
                returned(*returning),
            )
        }
        WriteEffect::Delete {
            condition,
            returning,
        } => {
            let found = named::of_write(condition.as_ref(), schema)?;
            // A missing item meets every condition: there is nothing to delete.
            let condition = found
                .residual
                .map(|rest| Condition::Or(vec![of_partition(Predicate::AttributeNotExists), rest]));
            let returning = if *returning {
                UpdateReturnValues::AllOld
            } else {
                none
            };
            (
                StatementKind::Delete,
                found.key,
                WritePlan::Condition(guard(condition)),
                returning,
            )
        }
        WriteEffect::Exists { condition } => {
            let found = named::of_exists(condition.as_ref(), schema)?;
            (
                StatementKind::Exists,
                found.key,
                WritePlan::Condition(guard(found.residual)),
                none,
            )
        }
    };
    Ok(PreparedStatement {
        kind,
        sent,
        plan,
        returning,
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

impl PreparedStatement {
    /// Returns the action, with its item or the item's key.
    #[must_use]
    pub fn action(&self) -> WriteAction<'_> {
        match self.kind {
            StatementKind::Insert => WriteAction::Put(&self.sent),
            StatementKind::Update => WriteAction::Update(&self.sent),
            StatementKind::Delete => WriteAction::Delete(&self.sent),
            StatementKind::Exists => WriteAction::Check(&self.sent),
        }
    }

    /// Returns the key of the item after the checks against the table that need no item. Fails with
    /// `Value`, `Key`, `Update` or `Query`.
    pub fn check(&self, table: &TableEntry) -> Result<Key, Error> {
        if self.kind == StatementKind::Insert {
            self.sent.check_limits()?;
        }
        self.plan.key(self.action(), table)
    }

    /// Runs the statement by itself.
    ///
    /// The outcome is an error, and nothing is written, with `Statement` for an item that exists,
    /// `ConditionalCheckFailed`, `Update`, `Key`, `ItemCollectionSizeLimitExceeded`, or
    /// `Throttled`.
    ///
    /// # Errors
    /// Fails only if the store fails.
    pub fn run(
        &self,
        transaction: &mut Transaction<'_>,
        table: &Arc<TableEntry>,
        key: Key,
    ) -> Result<StatementResult, Error> {
        let stored = match StoredItem::load(transaction, table, key) {
            Ok(stored) => stored,
            Err(error @ Error::Throttled(_)) => {
                return Ok(StatementResult {
                    outcome: Err(error),
                    consumed_capacity: ConsumedCapacity::default(),
                });
            }
            Err(error) => return Err(error),
        };
        let held = transaction.value_memory.bytes();
        let counted = transaction.value_memory.reserve_change(stored.record()?);
        match counted.and_then(|()| self.execute(transaction, &stored)) {
            Ok((returned, consumed_capacity)) => {
                if returned.is_none() {
                    transaction.value_memory.release(held);
                }
                Ok(StatementResult {
                    outcome: Ok(returned),
                    consumed_capacity,
                })
            }
            Err(error @ Error::Store(_)) => Err(error),
            Err(error) => {
                // A refused write consumes the units of its item.
                let units = write_units(stored.item_bytes()?);
                if matches!(
                    error,
                    Error::ConditionalCheckFailed { .. }
                        | Error::Statement(StatementError::Duplicate)
                ) {
                    transaction.charge_table(table, &stored.address, units)?;
                }
                Ok(StatementResult {
                    outcome: Err(to_partiql_error(error)),
                    consumed_capacity: ConsumedCapacity::of_table(units),
                })
            }
        }
    }

    /// Runs the statement on the stored item; returns the attributes of RETURNING, and the consumed
    /// capacity.
    fn execute(
        &self,
        transaction: &mut Transaction<'_>,
        stored: &StoredItem,
    ) -> Result<(Option<Item>, ConsumedCapacity), Error> {
        match self.kind {
            StatementKind::Insert if stored.record()?.is_some() => {
                return Err(StatementError::Duplicate.into());
            }
            StatementKind::Exists => return Err(StatementError::ExistsAlone.into()),
            _ => {}
        }
        let outcome = self.plan.decide(self.action(), stored)?;
        let returned = self.plan.returned(self.returning, stored, &outcome)?;
        Ok((
            returned,
            outcome.write(transaction, stored)?.consumed_capacity,
        ))
    }
}

/// Converts an error to that of PartiQL, which has another text for an item that an update nested
/// too deep.
#[must_use]
pub fn to_partiql_error(error: Error) -> Error {
    match error {
        Error::Value(ValueError::Nesting) => StatementError::ItemNesting.into(),
        other => other,
    }
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementResult {
    /// The attributes of RETURNING, if there are any, or the reason of a refusal.
    pub outcome: Result<Option<Item>, Error>,
    /// The consumed capacity, also of a refused write.
    pub consumed_capacity: ConsumedCapacity,
}

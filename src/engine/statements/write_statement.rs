//! INSERT, UPDATE, DELETE and EXISTS: the item of a statement, and its effect on the item.

use crate::engine::{
    base::write_units,
    runtime::prelude::*,
    write::{
        action::{Action, Plan},
        guard::{Guard, Stored},
        update::UpdatePlan,
    },
};
use crate::expr::{
    Condition, Predicate,
    partiql::{Returning, Write, WriteEffect, keys as named},
};
use crate::model::{
    api::UpdateReturnValues,
    error::{StatementError, ValueError},
};

/// The effect of a statement on its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Insert,
    Update,
    Delete,
    /// No effect: there is only the condition.
    Exists,
}

/// A statement with the key of its item.
#[derive(Debug)]
pub struct Prepared {
    pub kind: Kind,
    /// The item of an INSERT; otherwise the key attributes by name, as written.
    sent: Item,
    pub plan: Plan,
    returning: UpdateReturnValues,
}

/// Finds the item that a statement names. The types of its key are not checked yet. Fails with
/// `Statement` if it does not name one item.
pub fn prepare(
    write: &Write,
    table: &TableEntry,
    return_old: bool,
) -> Result<Prepared, StatementError> {
    let schema = &table.schema.key;
    let of_partition = |predicate| Condition::of_attribute(&schema.partition.name, predicate, []);
    let guard = |condition| Guard::of_condition(condition, return_old);
    let none = UpdateReturnValues::None;
    let (kind, sent, plan, returning) = match &write.effect {
        WriteEffect::Insert(item) => {
            let plan = Plan::Guard(guard(Some(of_partition(Predicate::AttributeNotExists))));
            (Kind::Insert, item.clone(), plan, none)
        }
        WriteEffect::Update {
            update,
            condition,
            returning,
        } => {
            let found = named::of_write(condition.as_ref(), schema)?;
            // There must be an item to update.
            let conditions = std::iter::once(of_partition(Predicate::AttributeExists))
                .chain(found.rest)
                .collect();
            let plan =
                UpdatePlan::of_update(update.clone(), guard(Some(Condition::And(conditions))));
            (
                Kind::Update,
                found.key,
                Plan::Update(plan),
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
                .rest
                .map(|rest| Condition::Or(vec![of_partition(Predicate::AttributeNotExists), rest]));
            let returning = if *returning {
                UpdateReturnValues::AllOld
            } else {
                none
            };
            (
                Kind::Delete,
                found.key,
                Plan::Guard(guard(condition)),
                returning,
            )
        }
        WriteEffect::Exists { condition } => {
            let found = named::of_exists(condition.as_ref(), schema)?;
            (
                Kind::Exists,
                found.key,
                Plan::Guard(guard(found.rest)),
                none,
            )
        }
    };
    Ok(Prepared {
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

impl Prepared {
    /// Returns the action, with its item or the item's key.
    #[must_use]
    pub fn action(&self) -> Action<'_> {
        match self.kind {
            Kind::Insert => Action::Put(&self.sent),
            Kind::Update => Action::Update(&self.sent),
            Kind::Delete => Action::Delete(&self.sent),
            Kind::Exists => Action::Check(&self.sent),
        }
    }

    /// Returns the key of the item after the checks against the table that need no item. Fails with
    /// `Value`, `Key`, `Update` or `Query`.
    pub fn check(&self, table: &TableEntry) -> Result<Key, Error> {
        if self.kind == Kind::Insert {
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
    ) -> Result<Written, Error> {
        let stored = match Stored::look_at(transaction, table, key) {
            Ok(stored) => stored,
            Err(error @ Error::Throttled(_)) => {
                return Ok(Written {
                    outcome: Err(error),
                    consumed_capacity: ConsumedCapacity::default(),
                });
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
                Ok(Written {
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
                Ok(Written {
                    outcome: Err(without_words(error)),
                    consumed_capacity: ConsumedCapacity::of_table(units),
                })
            }
        }
    }

    /// Runs the statement on the stored item; returns the attributes of RETURNING, and the consumed
    /// capacity.
    fn run_on(
        &self,
        transaction: &mut Transaction<'_>,
        stored: &Stored,
    ) -> Result<(Option<Item>, ConsumedCapacity), Error> {
        match self.kind {
            Kind::Insert if stored.record()?.is_some() => {
                return Err(StatementError::Duplicate.into());
            }
            Kind::Exists => return Err(StatementError::ExistsAlone.into()),
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

/// Returns the error in PartiQL's words, which are fewer for an item that an update made too deep.
#[must_use]
pub fn without_words(error: Error) -> Error {
    match error {
        Error::Value(ValueError::Nesting) => StatementError::ItemNesting.into(),
        other => other,
    }
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The attributes of RETURNING, if there are any, or the reason of a refusal.
    pub outcome: Result<Option<Item>, Error>,
    /// The consumed capacity, also of a refused write.
    pub consumed_capacity: ConsumedCapacity,
}

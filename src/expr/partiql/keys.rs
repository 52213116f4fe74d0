//! The primary key in the WHERE clause of a PartiQL statement on one item: UPDATE, DELETE, EXISTS
//! (docs/dynamodb.md 19.3). `plan` does the same for the ranges of a SELECT.

use crate::expr::condition::{self, Condition};
use crate::expr::order::Comparator;
use crate::expr::predicate::Predicate;
use crate::model::error::StatementError;
use crate::model::{AttributeValue, Item, KeySchema};

/// A key, its types not yet checked, and the rest of the clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementKey {
    pub key: Item,
    pub residual: Option<Condition>,
}

/// The treatment of another value for a key attribute that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecondValue {
    Refused,
    /// A condition, which the item cannot meet.
    Condition,
}

/// Returns the key of an UPDATE or DELETE: equality on every key attribute, joined by AND. The rest
/// is the condition of the write.
///
/// # Errors
/// `NoKey` if a key attribute lacks its equality, `SeveralKeys` if it has two that differ.
pub fn of_write(
    condition: Option<&Condition>,
    schema: &KeySchema,
) -> Result<StatementKey, StatementError> {
    let named = gather(
        condition,
        schema,
        Condition::as_equality,
        SecondValue::Refused,
    )?;
    if named.key.0.len() < schema.attributes().count() {
        Err(StatementError::NoKey)
    } else {
        Ok(named)
    }
}

/// Returns the key of an EXISTS, which needs at least one more condition.
///
/// # Errors
/// `ExistsKey` if the key is not whole, or there is no other condition.
pub fn of_exists(
    condition: Option<&Condition>,
    schema: &KeySchema,
) -> Result<StatementKey, StatementError> {
    let named = gather(
        condition,
        schema,
        Condition::as_equality,
        SecondValue::Condition,
    )?;
    if named.residual.is_none() || named.key.0.len() < schema.attributes().count() {
        return Err(StatementError::ExistsKey);
    }
    Ok(named)
}

/// Returns the key of a SELECT in a batch or transaction, which has no other condition; an IN of
/// one value is an equality.
///
/// # Errors
/// `ReadKey` if the key is not whole, or there is another condition.
pub fn of_read(
    condition: Option<&Condition>,
    schema: &KeySchema,
    operation: &'static str,
) -> Result<Item, StatementError> {
    let named = gather(condition, schema, equality_or_in, SecondValue::Condition)?;
    if named.residual.is_some() || named.key.0.len() < schema.attributes().count() {
        return Err(StatementError::ReadKey(operation));
    }
    Ok(named.key)
}

type AsEquality = fn(&Condition) -> Option<(&str, &AttributeValue)>;

fn gather(
    condition: Option<&Condition>,
    schema: &KeySchema,
    as_equality: AsEquality,
    second: SecondValue,
) -> Result<StatementKey, StatementError> {
    let mut key = Item::default();
    let mut rest = Vec::new();
    for part in condition.into_iter().flat_map(Condition::conjuncts) {
        let Some((name, value)) = as_equality(part).filter(|(name, _)| schema.contains(name))
        else {
            rest.push(part.clone());
            continue;
        };
        match (key.get(name), second) {
            (None, _) => {
                key.0.insert(name.to_owned(), value.clone());
            }
            // A repeated equality adds nothing.
            (Some(first), _) if first == value => {}
            (Some(_), SecondValue::Refused) => {
                return Err(StatementError::SeveralKeys(name.to_owned()));
            }
            (Some(_), SecondValue::Condition) => rest.push(part.clone()),
        }
    }
    Ok(StatementKey {
        key,
        residual: condition::join(rest, Condition::And),
    })
}

fn equality_or_in(condition: &Condition) -> Option<(&str, &AttributeValue)> {
    match condition.as_attribute_test()? {
        (name, Predicate::Compare(Comparator::Equal) | Predicate::In, values) => {
            match values.as_slice() {
                [value] => Some((name, value)),
                _ => None,
            }
        }
        _ => None,
    }
}

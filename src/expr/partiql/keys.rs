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

/// Returns the key of an UPDATE or DELETE: equality on every key attribute, joined by AND. The rest
/// is the condition of the write.
///
/// # Errors
/// `NoKey` if a key attribute lacks its equality, `SeveralKeys` if it has two that differ.
pub fn of_write(
    condition: Option<&Condition>,
    schema: &KeySchema,
) -> Result<StatementKey, StatementError> {
    let refused = |name: &str| Err(StatementError::SeveralKeys(name.to_owned()));
    let named = gather(condition, schema, Condition::as_equality, refused)?;
    named.ok_or(StatementError::NoKey)
}

/// Returns the key of an EXISTS, which needs at least one more condition.
///
/// # Errors
/// `ExistsKey` if the key is not whole, or there is no other condition.
pub fn of_exists(
    condition: Option<&Condition>,
    schema: &KeySchema,
) -> Result<StatementKey, StatementError> {
    let named = gather(condition, schema, Condition::as_equality, |_| Ok(()))?;
    let named = named.filter(|named| named.residual.is_some());
    named.ok_or(StatementError::ExistsKey)
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
    let named = gather(condition, schema, equality_or_in, |_| Ok(()))?;
    let named = named.filter(|named| named.residual.is_none());
    let named = named.ok_or(StatementError::ReadKey(operation))?;
    Ok(named.key)
}

type AsEquality = fn(&Condition) -> Option<(&str, &AttributeValue)>;

/// Returns the key and the rest; `None` if the key is not whole. `other_value` refuses another value
/// of an attribute that has one; otherwise it is a condition, which the item cannot meet.
fn gather(
    condition: Option<&Condition>,
    schema: &KeySchema,
    as_equality: AsEquality,
    other_value: impl Fn(&str) -> Result<(), StatementError>,
) -> Result<Option<StatementKey>, StatementError> {
    let mut key = Item::default();
    let mut rest = Vec::new();
    for part in condition.into_iter().flat_map(Condition::conjuncts) {
        let Some((name, value)) = as_equality(part).filter(|(name, _)| schema.contains(name))
        else {
            rest.push(part.clone());
            continue;
        };
        match key.get(name) {
            None => {
                key.0.insert(name.to_owned(), value.clone());
            }
            // A repeated equality adds nothing.
            Some(first) if first == value => {}
            Some(_) => {
                other_value(name)?;
                rest.push(part.clone());
            }
        }
    }
    let is_whole = key.0.len() == schema.attributes().count();
    Ok(is_whole.then(|| StatementKey {
        key,
        residual: condition::join(rest, Condition::And),
    }))
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

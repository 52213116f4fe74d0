//! The parameters from before expressions (docs/dynamodb.md 8), such as `Expected` and
//! `KeyConditions`, converted to the types that expressions become. `condition` and `update` have
//! the types.

use std::collections::BTreeSet;

use super::condition::Condition;
use super::order::{Comparator, compare};
use super::predicate::Predicate;
use super::update::{SetTerm, SetValue, Update, UpdateAction, UpdateEffect, is_set};
use crate::model::api::common::{
    AttributeAction, AttributeUpdate, ComparisonOperator, ConditionalOperator, LegacyCondition,
    LegacyConditions,
};
use crate::model::error::LegacyError;
use crate::model::limits::{EXPRESSION_OPERATORS_MAX, IN_OPERANDS_MAX};
use crate::model::{ApiEnum, AttributeType, AttributeValue, DocumentPath};

/// Returns the condition of `Expected` or a filter; `None` if it has no entry.
///
/// # Errors
/// The first bad entry in the order sent; a ConditionalOperator without entries.
pub fn condition(legacy: &LegacyConditions) -> Result<Option<Condition>, LegacyError> {
    if legacy.conditions.len() > EXPRESSION_OPERATORS_MAX {
        return Err(LegacyError::TooManyConditions(legacy.conditions.len()));
    }
    // IN takes any number of values here. The limit on all of them is that of one expression, so
    // that no item costs more.
    let values = legacy
        .conditions
        .iter()
        .flat_map(|condition| &condition.attribute_value_list)
        .map(Vec::len)
        .sum();
    if values > EXPRESSION_OPERATORS_MAX * IN_OPERANDS_MAX {
        return Err(LegacyError::TooManyValues(values));
    }
    // A bad entry is reported before an operator that has nothing to join.
    let mut conditions = legacy
        .conditions
        .iter()
        .map(attribute_condition)
        .collect::<Result<Vec<_>, _>>()?;
    if conditions.len() <= 1 {
        return match legacy.operator {
            None => Ok(conditions.pop()),
            Some(_) if conditions.is_empty() => Err(LegacyError::OperatorAlone),
            Some(_) => Err(LegacyError::OperatorOfOne),
        };
    }
    Ok(Some(match legacy.operator.unwrap_or_default() {
        ConditionalOperator::And => Condition::And(conditions),
        ConditionalOperator::Or => Condition::Or(conditions),
    }))
}

/// Returns the condition on one attribute.
fn attribute_condition(legacy: &LegacyCondition) -> Result<Condition, LegacyError> {
    let name = || legacy.attribute.clone();
    if legacy.value.is_some() && legacy.attribute_value_list.is_some() {
        return Err(LegacyError::ValueAndList(name()));
    }
    if let Some(operator) = legacy.comparison_operator {
        if legacy.exists.is_some() {
            return Err(LegacyError::ExistsAndOperator(name()));
        }
        return operator_condition(legacy, operator);
    }
    if legacy.attribute_value_list.is_some() {
        return Err(LegacyError::ListWithoutOperator(name()));
    }
    match (legacy.exists, &legacy.value) {
        (Some(false), None) => Ok(Condition::on_attribute(
            &legacy.attribute,
            Predicate::AttributeNotExists,
            [],
        )),
        (Some(false), Some(_)) => Err(LegacyError::ValueUnwanted(name())),
        (None | Some(true), Some(value)) => Ok(build_condition(
            &legacy.attribute,
            ComparisonOperator::Eq,
            std::slice::from_ref(value),
        )),
        (None, None) => Err(LegacyError::ValueMissing {
            exists: "null",
            attribute: name(),
        }),
        (Some(true), None) => Err(LegacyError::ValueMissing {
            exists: "true",
            attribute: name(),
        }),
    }
}

/// Returns the condition of an operator.
///
/// # Errors
/// Those of its arguments: number, types, order.
pub(super) fn operator_condition(
    legacy: &LegacyCondition,
    operator: ComparisonOperator,
) -> Result<Condition, LegacyError> {
    Ok(build_condition(
        &legacy.attribute,
        operator,
        &checked_arguments(legacy, operator)?,
    ))
}

/// Checks the arguments of an operator: their number and types. A `Value` is a list of one.
///
/// # Errors
/// Missing, count, types that differ, type, order.
fn checked_arguments(
    legacy: &LegacyCondition,
    operator: ComparisonOperator,
) -> Result<Vec<AttributeValue>, LegacyError> {
    let predicate = predicate_of(operator);
    let count = match predicate {
        Predicate::AttributeExists | Predicate::AttributeNotExists => 0..=0,
        Predicate::Between => 2..=2,
        Predicate::In => 1..=usize::MAX,
        Predicate::Compare(_)
        | Predicate::AttributeType
        | Predicate::BeginsWith
        | Predicate::Contains => 1..=1,
    };
    let arguments: &[AttributeValue] = match (&legacy.attribute_value_list, &legacy.value) {
        (Some(list), _) => list,
        (None, Some(value)) => std::slice::from_ref(value),
        (None, None) if *count.end() == 0 || legacy.exists.is_some() => &[],
        (None, None) => {
            return Err(LegacyError::ArgumentsMissing {
                operator: operator.as_str(),
                attribute: legacy.attribute.clone(),
            });
        }
    };
    // Unlike in expressions these take only types that have an order, as BETWEEN does.
    let takes_ordered = matches!(predicate, Predicate::In | Predicate::Contains);
    let of_types = if takes_ordered {
        Predicate::Between
    } else {
        predicate
    };
    if !count.contains(&arguments.len()) {
        return Err(LegacyError::ArgumentCount {
            operator: operator.as_str(),
        });
    }
    let mut found = arguments.iter().map(AttributeValue::attribute_type);
    if let Some(actual) = found.next() {
        if found.any(|other| other != actual) {
            return Err(LegacyError::ArgumentTypes);
        }
        if !of_types.accepts(0, actual) {
            return Err(LegacyError::ArgumentType {
                operator: operator.as_str(),
                actual,
            });
        }
    }
    if let (ComparisonOperator::Between, [lower, upper]) = (operator, arguments)
        && compare(lower, upper).is_some_and(std::cmp::Ordering::is_gt)
    {
        return Err(LegacyError::BetweenOrder);
    }
    Ok(arguments.to_vec())
}

/// Returns the predicate of an operator; NOT_CONTAINS has that of its opposite.
fn predicate_of(operator: ComparisonOperator) -> Predicate {
    match operator {
        ComparisonOperator::Eq => Predicate::Compare(Comparator::Equal),
        ComparisonOperator::Ne => Predicate::Compare(Comparator::NotEqual),
        ComparisonOperator::Le => Predicate::Compare(Comparator::LessOrEqual),
        ComparisonOperator::Lt => Predicate::Compare(Comparator::Less),
        ComparisonOperator::Ge => Predicate::Compare(Comparator::GreaterOrEqual),
        ComparisonOperator::Gt => Predicate::Compare(Comparator::Greater),
        ComparisonOperator::Between => Predicate::Between,
        ComparisonOperator::In => Predicate::In,
        ComparisonOperator::Contains | ComparisonOperator::NotContains => Predicate::Contains,
        ComparisonOperator::BeginsWith => Predicate::BeginsWith,
        ComparisonOperator::Null => Predicate::AttributeNotExists,
        ComparisonOperator::NotNull => Predicate::AttributeExists,
    }
}

/// Returns the condition of an operator with good arguments.
fn build_condition(
    attribute: &str,
    operator: ComparisonOperator,
    arguments: &[AttributeValue],
) -> Condition {
    let condition =
        Condition::on_attribute(attribute, predicate_of(operator), arguments.iter().cloned());
    if operator != ComparisonOperator::NotContains {
        return condition;
    }
    // Unlike `NONE contains(…)`, false where the attribute is missing.
    let exists = Condition::on_attribute(attribute, Predicate::AttributeExists, []);
    Condition::And(vec![exists, Condition::Not(Box::new(condition))])
}

/// Returns the update of AttributeUpdates.
///
/// # Errors
/// The first bad entry in the order sent.
pub fn update(updates: &[AttributeUpdate]) -> Result<Update, LegacyError> {
    check_distinct(updates.iter().map(|update| &update.attribute))?;
    let action = |update: &AttributeUpdate| {
        Ok(UpdateAction {
            path: DocumentPath::top_level(update.attribute.clone()),
            effect: effect(update)?,
        })
    };
    let actions = updates
        .iter()
        .map(action)
        .collect::<Result<Vec<_>, LegacyError>>()?;
    Ok(Update::from_attributes(actions))
}

fn effect(update: &AttributeUpdate) -> Result<UpdateEffect, LegacyError> {
    let Some(value) = &update.value else {
        return match update.action {
            AttributeAction::Delete => Ok(UpdateEffect::Remove),
            AttributeAction::Put | AttributeAction::Add => Err(LegacyError::UpdateWithoutValue),
        };
    };
    let of = value.attribute_type();
    let is_set = is_set(of);
    match update.action {
        AttributeAction::Put => Ok(UpdateEffect::Set(SetValue::Term(SetTerm::Value(
            value.clone(),
        )))),
        AttributeAction::Add if is_set || matches!(of, AttributeType::N | AttributeType::L) => {
            Ok(UpdateEffect::Add(value.clone()))
        }
        AttributeAction::Add => Err(LegacyError::AddType(of)),
        AttributeAction::Delete if is_set => Ok(UpdateEffect::Delete(value.clone())),
        AttributeAction::Delete => Err(LegacyError::DeleteType(of)),
    }
}

/// Returns the paths of AttributesToGet.
///
/// # Errors
/// `DuplicateAttribute` for a name that comes twice.
pub fn attributes_to_get(names: &[String]) -> Result<Vec<DocumentPath>, LegacyError> {
    check_distinct(names.iter())?;
    Ok(names.iter().map(DocumentPath::top_level).collect())
}

fn check_distinct<'n>(mut names: impl Iterator<Item = &'n String>) -> Result<(), LegacyError> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(LegacyError::DuplicateAttribute(name.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "legacy_tests.rs"]
mod tests;

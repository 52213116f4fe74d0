//! The semantic analysis of PartiQL clauses: the conversion of WHERE to a [`Condition`], of SET and
//! REMOVE to an [`Update`], with the checks of the API's own expressions. `parse_expression` has
//! the trees that it takes, `values` the parameters.

use super::parse::UpdateClause;
use super::parse_expression::{Expr, ExpressionNode, IsTest};
use super::values::ParameterValues;
use crate::expr::condition::{self, Condition, Operand};
use crate::expr::order::Comparator;
use crate::expr::parse::{IF_NOT_EXISTS, LIST_APPEND};
use crate::expr::predicate::Predicate;
use crate::expr::update::{
    SetTerm, SetValue, Update, UpdateAction, UpdateEffect, UpdateOrigin, is_set,
};
use crate::model::attribute_value::check_attribute_name;
use crate::model::error::StatementError;
use crate::model::error::expression::ExpressionFault;
use crate::model::error::statement::TokenPosition;
use crate::model::limits::IN_OPERANDS_MAX;
use crate::model::{AttributeType, AttributeValue, DocumentPath, PathElement};

/// Checks that the names of a document path can be those of attributes.
///
/// # Errors
/// A name that no attribute can have.
pub fn document_path(path: &DocumentPath) -> Result<DocumentPath, StatementError> {
    let names = path.rest.iter().filter_map(|step| match step {
        PathElement::Name(name) => Some(name),
        PathElement::Index(_) => None,
    });
    std::iter::once(&path.head)
        .chain(names)
        .try_for_each(|name| check_attribute_name(name))?;
    Ok(path.clone())
}

/// Converts an expression to a condition.
///
/// # Errors
/// An expression without truth value; operands that no operator or function takes.
pub fn condition(
    expression: &Expr,
    values: ParameterValues<'_>,
) -> Result<Condition, StatementError> {
    let list = |list: &[Expr]| {
        list.iter()
            .map(|part| condition(part, values))
            .collect::<Result<Vec<_>, _>>()
    };
    match &expression.node {
        ExpressionNode::And(parts) => list(parts).map(Condition::And),
        ExpressionNode::Or(parts) => list(parts).map(Condition::Or),
        ExpressionNode::Not(inner) => Ok(Condition::Not(Box::new(condition(inner, values)?))),
        ExpressionNode::Test(predicate, operands) => test(*predicate, operands, values),
        ExpressionNode::Is {
            operand: tested,
            test,
        } => is(tested, *test, values),
        ExpressionNode::Call { name, arguments } if Predicate::from_function(name).is_some() => {
            let operands = arguments
                .iter()
                .map(|argument| operand(argument, values))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(condition::from_call(name, operands)?)
        }
        ExpressionNode::Call { name, .. } if name != "size" => {
            Err(StatementError::UnknownFunction {
                name: name.clone(),
                place: expression.place,
            })
        }
        _ => Err(StatementError::NotACondition(expression.place)),
    }
}

fn test(
    predicate: Predicate,
    operands: &[Expr],
    values: ParameterValues<'_>,
) -> Result<Condition, StatementError> {
    let resolved = || {
        operands
            .iter()
            .map(|part| operand(part, values))
            .collect::<Result<Vec<_>, _>>()
    };
    match (predicate, operands) {
        (Predicate::Compare(comparator), [left, right]) => {
            // Both ways round: `TRUE = (a = 1)` too.
            for (one, other) in [(left, right), (right, left)] {
                if has_truth_value(one)
                    && let Some(known) = truth(one, comparator, other, values)?
                {
                    return Ok(known);
                }
            }
        }
        (Predicate::In, [_, list @ ..]) if list.len() > IN_OPERANDS_MAX => {
            return Err(StatementError::InOperands(list.len()));
        }
        // An operand may be among those that it is compared with.
        (Predicate::In, _) => return Ok(Condition::Test(predicate, resolved()?)),
        _ => {}
    }
    Ok(condition::checked_condition(predicate, resolved()?)?)
}

fn has_truth_value(expression: &Expr) -> bool {
    match &expression.node {
        ExpressionNode::And(_)
        | ExpressionNode::Or(_)
        | ExpressionNode::Not(_)
        | ExpressionNode::Test(..)
        | ExpressionNode::Is { .. } => true,
        ExpressionNode::Call { name, .. } => Predicate::from_function(name).is_some(),
        _ => false,
    }
}

/// Converts a condition compared with TRUE or FALSE to itself or its opposite, so that keys are
/// found in it.
fn truth(
    tested: &Expr,
    comparator: Comparator,
    other: &Expr,
    values: ParameterValues<'_>,
) -> Result<Option<Condition>, StatementError> {
    let is_equal = match comparator {
        Comparator::Equal => true,
        Comparator::NotEqual => false,
        _ => return Ok(None),
    };
    if !ParameterValues::is_literal(other) {
        return Ok(None);
    }
    let AttributeValue::Bool(wanted) = values.value(other)? else {
        return Ok(None);
    };
    let condition = condition(tested, values)?;
    Ok(Some(if wanted == is_equal {
        condition
    } else {
        Condition::Not(Box::new(condition))
    }))
}

fn operand(expression: &Expr, values: ParameterValues<'_>) -> Result<Operand, StatementError> {
    match &expression.node {
        ExpressionNode::Path(path) => Ok(Operand::Path(document_path(path)?)),
        ExpressionNode::Call { name, arguments } if name == "size" => {
            let operands = arguments
                .iter()
                .map(|argument| operand(argument, values))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(condition::size_of(operands)?)
        }
        ExpressionNode::Call { name, .. } if Predicate::from_function(name).is_none() => {
            Err(StatementError::UnknownFunction {
                name: name.clone(),
                place: expression.place,
            })
        }
        ExpressionNode::Sum { sign, .. } => Err(StatementError::Unsupported {
            what: sign,
            place: expression.place,
        }),
        _ if ParameterValues::is_literal(expression) => {
            Ok(Operand::Value(values.value(expression)?))
        }
        _ => Ok(Operand::Truth(Box::new(condition(expression, values)?))),
    }
}

fn is(
    tested: &Expr,
    test: IsTest,
    values: ParameterValues<'_>,
) -> Result<Condition, StatementError> {
    match test {
        IsTest::Missing => match operand(tested, values)? {
            path @ Operand::Path(_) => {
                Ok(Condition::Test(Predicate::AttributeNotExists, vec![path]))
            }
            Operand::Value(_) | Operand::Size(_) | Operand::Truth(_) => {
                Err(StatementError::NotACondition(tested.place))
            }
        },
        IsTest::Type(attribute_type) => {
            let name = Operand::Value(AttributeValue::S(attribute_type.tag().to_owned()));
            Ok(Condition::Test(
                Predicate::AttributeType,
                vec![operand(tested, values)?, name],
            ))
        }
        IsTest::NoType(what) => Err(StatementError::IsType {
            what,
            place: tested.place,
        }),
    }
}

/// Converts the clauses to an update.
///
/// # Errors
/// Paths that overlap; functions and operators with operands that they do not take.
pub fn update(
    changes: &[UpdateClause],
    values: ParameterValues<'_>,
) -> Result<Update, StatementError> {
    let mut actions = Vec::with_capacity(changes.len());
    for change in changes {
        actions.push(match change {
            UpdateClause::Remove(path) => UpdateAction {
                path: document_path(path)?,
                effect: UpdateEffect::Remove,
            },
            UpdateClause::Set(path, value) => UpdateAction {
                path: document_path(path)?,
                effect: effect(path, value, values)?,
            },
        });
    }
    Ok(Update::new(actions, UpdateOrigin::Expression)?)
}

fn effect(
    target: &DocumentPath,
    value: &Expr,
    values: ParameterValues<'_>,
) -> Result<UpdateEffect, StatementError> {
    match &value.node {
        ExpressionNode::Call { name, arguments } if name == "set_add" => {
            set_operand("SET_ADD", target, value.place, arguments, values).map(UpdateEffect::Add)
        }
        ExpressionNode::Call { name, arguments } if name == "set_delete" => {
            set_operand("SET_DELETE", target, value.place, arguments, values)
                .map(UpdateEffect::Delete)
        }
        ExpressionNode::Test(Predicate::Compare(_), _) => Err(StatementError::Unsupported {
            what: "a comparison in SET",
            place: value.place,
        }),
        ExpressionNode::Sum { left, sign, right } => {
            let set = if *sign == "+" {
                SetValue::Plus
            } else {
                SetValue::Minus
            };
            let (left, right) = (term(left, values)?, term(right, values)?);
            for operand in [&left, &right] {
                operand.check_literal(sign, AttributeType::N)?;
            }
            Ok(UpdateEffect::Set(set(left, right)))
        }
        _ => Ok(UpdateEffect::Set(SetValue::Term(term(value, values)?))),
    }
}

/// Returns the second operand of SET_ADD or SET_DELETE; the first is their target.
fn set_operand(
    function: &'static str,
    target: &DocumentPath,
    place: TokenPosition,
    arguments: &[Expr],
    values: ParameterValues<'_>,
) -> Result<AttributeValue, StatementError> {
    let [first, second] = arguments else {
        return Err(StatementError::SetArguments { function, place });
    };
    if !matches!(&first.node, ExpressionNode::Path(path) if path == target) {
        return Err(StatementError::SetTarget { function, place });
    }
    // The service points at the first of the two.
    let refused = StatementError::SetOperand {
        function,
        place: first.place,
    };
    if !ParameterValues::is_literal(second) {
        return Err(refused);
    }
    let set = values.value(second)?;
    if is_set(set.attribute_type()) {
        Ok(set)
    } else {
        Err(refused)
    }
}

fn term(expression: &Expr, values: ParameterValues<'_>) -> Result<SetTerm, StatementError> {
    let (name, arguments) = match &expression.node {
        ExpressionNode::Path(path) => return Ok(SetTerm::Path(document_path(path)?)),
        ExpressionNode::Call { name, arguments } => (name.as_str(), arguments),
        ExpressionNode::Sum { .. } | ExpressionNode::Test(Predicate::Compare(_), _) => {
            return Err(StatementError::Unsupported {
                what: "more than one + or -",
                place: expression.place,
            });
        }
        _ => return Ok(SetTerm::Value(values.value(expression)?)),
    };
    if ![LIST_APPEND, IF_NOT_EXISTS].contains(&name) {
        return Err(StatementError::UnknownFunction {
            name: name.to_owned(),
            place: expression.place,
        });
    }
    let [first, second] = arguments.as_slice() else {
        return Err(ExpressionFault::OperandCount {
            function: name.to_owned(),
            count: arguments.len(),
        }
        .into());
    };
    if name == LIST_APPEND {
        return Ok(SetTerm::list_append([
            term(first, values)?,
            term(second, values)?,
        ])?);
    }
    let ExpressionNode::Path(path) = &first.node else {
        return Err(ExpressionFault::PathRequired(name.to_owned()).into());
    };
    Ok(SetTerm::IfNotExists(
        document_path(path)?,
        Box::new(term(second, values)?),
    ))
}

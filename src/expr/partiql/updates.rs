//! SET and REMOVE as an [`Update`].

use super::conditions::document_path;
use super::syntax::{Expression, ExpressionNode, Operator, UpdateClause};
use super::values::Values;
use crate::expr::update::{Action, Effect, Origin, SetValue, Term, Update, check_literal};
use crate::model::error::StatementError;
use crate::model::error::expression::ExpressionFault;
use crate::model::{AttributeType, AttributeValue, DocumentPath};

/// The update that the clauses are.
///
/// # Errors
/// Paths that overlap; functions and operators with operands that they do not take.
pub fn update(changes: &[UpdateClause], values: Values<'_>) -> Result<Update, StatementError> {
    let mut actions = Vec::with_capacity(changes.len());
    for change in changes {
        actions.push(match change {
            UpdateClause::Remove(path) => Action { path: document_path(path)?, effect: Effect::Remove },
            UpdateClause::Set(path, value) => Action { path: document_path(path)?, effect: effect(path, value, values)? },
        });
    }
    Ok(Update::new(actions, Origin::Expression)?)
}

fn effect(target: &DocumentPath, value: &Expression, values: Values<'_>) -> Result<Effect, StatementError> {
    match &value.node {
        ExpressionNode::Call { name, arguments } if name == "set_add" => {
            set_operand("SET_ADD", (target, value), arguments, values).map(Effect::Add)
        }
        ExpressionNode::Call { name, arguments } if name == "set_delete" => {
            set_operand("SET_DELETE", (target, value), arguments, values).map(Effect::Delete)
        }
        ExpressionNode::Binary { left, operator, right } => {
            let (sign, set): (_, fn(Term, Term) -> SetValue) = match operator {
                Operator::Plus => ("+", SetValue::Plus),
                Operator::Minus => ("-", SetValue::Minus),
                Operator::Compare(_) => {
                    return Err(StatementError::Unsupported { what: "a comparison in SET", place: value.place });
                }
            };
            let (left, right) = (term(left, values)?, term(right, values)?);
            for operand in [&left, &right] {
                check_literal(operand, sign, AttributeType::N)?;
            }
            Ok(Effect::Set(set(left, right)))
        }
        _ => Ok(Effect::Set(SetValue::Term(term(value, values)?))),
    }
}

/// The second operand of SET_ADD and SET_DELETE, the first of which is what they change.
fn set_operand(
    function: &'static str,
    (target, call): (&DocumentPath, &Expression),
    arguments: &[Expression],
    values: Values<'_>,
) -> Result<AttributeValue, StatementError> {
    let [first, second] = arguments else { return Err(StatementError::SetArguments { function, place: call.place }) };
    if !matches!(&first.node, ExpressionNode::Path(path) if path == target) {
        return Err(StatementError::SetTarget { function, place: call.place });
    }
    // The service points at the first of the two.
    let refused = StatementError::SetOperand { function, place: first.place };
    if !Values::is_literal(second) {
        return Err(refused);
    }
    match values.value(second)? {
        set @ (AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_)) => Ok(set),
        _ => Err(refused),
    }
}

fn term(expression: &Expression, values: Values<'_>) -> Result<Term, StatementError> {
    let (name, arguments) = match &expression.node {
        ExpressionNode::Path(path) => return Ok(Term::Path(document_path(path)?)),
        ExpressionNode::Call { name, arguments } => (name.as_str(), arguments),
        ExpressionNode::Binary { .. } => {
            return Err(StatementError::Unsupported { what: "more than one + or -", place: expression.place });
        }
        _ => return Ok(Term::Value(values.value(expression)?)),
    };
    if !matches!(name, "list_append" | "if_not_exists") {
        return Err(StatementError::UnknownFunction { name: name.to_owned(), place: expression.place });
    }
    let [first, second] = arguments.as_slice() else {
        return Err(ExpressionFault::OperandCount { function: name.to_owned(), count: arguments.len() }.into());
    };
    if name == "if_not_exists" {
        let ExpressionNode::Path(path) = &first.node else { return Err(ExpressionFault::PathRequired(name.to_owned()).into()) };
        return Ok(Term::IfNotExists(document_path(path)?, Box::new(term(second, values)?)));
    }
    let lists = [term(first, values)?, term(second, values)?];
    for list in &lists {
        if matches!(list, Term::ListAppend(..)) {
            return Err(ExpressionFault::FunctionMisused(name.to_owned()).into());
        }
        check_literal(list, name, AttributeType::L)?;
    }
    let [first, second] = lists;
    Ok(Term::ListAppend(Box::new(first), Box::new(second)))
}

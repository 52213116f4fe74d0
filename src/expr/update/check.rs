//! From syntax to [`Update`]: the static checks, each pass over the whole expression before the next (docs/dynamodb.md 7.9).

use super::action::{Action, Effect, Origin, SetValue, Term, Update};
use super::syntax::{self, Sign, UpdateSyntax, Value};
use crate::expr::condition;
use crate::expr::placeholders::Scope;
use crate::expr::syntax::{Operand, Parts};
use crate::model::AttributeType;
use crate::model::error::expression::ExpressionFault;
use crate::model::limits::EXPRESSION_OPERATORS_MAX;

const IF_NOT_EXISTS: &str = "if_not_exists";
const LIST_APPEND: &str = "list_append";

/// Resolves a parsed update.
///
/// # Errors
/// The first fault in the order of docs/dynamodb.md 7.9: operators, reserved words, unknown functions, repeated sections, undefined names,
/// undefined values, overlap, conflict, operands of actions, functions.
pub fn resolve(parsed: &UpdateSyntax<'_>, scope: &mut Scope<'_>) -> Result<Update, ExpressionFault> {
    if parsed.operators > EXPRESSION_OPERATORS_MAX {
        return Err(ExpressionFault::TooManyOperators(parsed.operators));
    }
    let parts = parts(parsed);
    parts.paths.iter().try_for_each(|path| path.check_reserved())?;
    condition::check_known(&parts)?;
    if let Some(kind) = parsed.repeated {
        return Err(ExpressionFault::RepeatedSection(kind.word()));
    }
    // Every name before any value. What the look-ups give is made again below, action by action.
    for path in &parts.paths {
        path.resolve(scope)?;
    }
    for value in &parts.values {
        scope.value(value)?;
    }
    // Functions are looked at after the paths have been held against each other.
    let targets = parsed.actions.iter().map(|action| action.path.resolve(scope)).collect::<Result<Vec<_>, _>>()?;
    crate::expr::path_tree::PathTree::new(&targets)?;
    parsed.actions.iter().try_for_each(|action| check_operand(&action.effect, scope))?;
    let mut actions = Vec::with_capacity(targets.len());
    for (path, action) in targets.into_iter().zip(&parsed.actions) {
        actions.push(Action { path, effect: resolve_effect(&action.effect, scope)? });
    }
    Update::new(actions, Origin::Expression)
}

fn parts<'s, 'a>(parsed: &'s UpdateSyntax<'a>) -> Parts<'s, 'a> {
    let mut parts = Parts::default();
    for action in &parsed.actions {
        parts.paths.push(&action.path);
        match &action.effect {
            syntax::Effect::Set(Value { left, right }) => {
                parts.operands(std::iter::once(left).chain(right.as_ref().map(|(_, right)| right)));
            }
            syntax::Effect::Remove => {}
            syntax::Effect::Add(alias) | syntax::Effect::Delete(alias) => parts.values.push(alias),
        }
    }
    parts
}

/// The types of what ADD and DELETE are given.
fn check_operand(effect: &syntax::Effect<'_>, scope: &mut Scope<'_>) -> Result<(), ExpressionFault> {
    let (operator, alias, allowed): (_, _, fn(AttributeType) -> bool) = match effect {
        syntax::Effect::Set(_) | syntax::Effect::Remove => return Ok(()),
        syntax::Effect::Add(alias) => ("ADD", alias, |of| of == AttributeType::N || is_set(of)),
        syntax::Effect::Delete(alias) => ("DELETE", alias, is_set),
    };
    let found = scope.value(alias)?.attribute_type();
    if allowed(found) { Ok(()) } else { Err(ExpressionFault::ActionOperandType { operator, operand: long_name(found) }) }
}

fn is_set(attribute_type: AttributeType) -> bool {
    matches!(attribute_type, AttributeType::Ss | AttributeType::Ns | AttributeType::Bs)
}

/// A type as errors of ADD and DELETE name it.
fn long_name(attribute_type: AttributeType) -> &'static str {
    match attribute_type {
        AttributeType::S => "STRING",
        AttributeType::N => "NUMBER",
        AttributeType::B => "BINARY",
        AttributeType::Bool => "BOOLEAN",
        AttributeType::Null => "NULL",
        AttributeType::Ss => "STRING_SET",
        AttributeType::Ns => "NUMBER_SET",
        AttributeType::Bs => "BINARY_SET",
        AttributeType::L => "LIST",
        AttributeType::M => "MAP",
    }
}

fn resolve_effect(effect: &syntax::Effect<'_>, scope: &mut Scope<'_>) -> Result<Effect, ExpressionFault> {
    Ok(match effect {
        syntax::Effect::Remove => Effect::Remove,
        syntax::Effect::Add(alias) => Effect::Add(scope.value(alias)?.clone()),
        syntax::Effect::Delete(alias) => Effect::Delete(scope.value(alias)?.clone()),
        syntax::Effect::Set(Value { left, right: None }) => Effect::Set(SetValue::Term(term(left, scope)?)),
        syntax::Effect::Set(Value { left, right: Some((sign, right)) }) => {
            let (left, right) = (term(left, scope)?, term(right, scope)?);
            for operand in [&left, &right] {
                check_no_list(operand)?;
                check_literal(operand, sign.text(), AttributeType::N)?;
            }
            Effect::Set(match sign {
                Sign::Plus => SetValue::Plus(left, right),
                Sign::Minus => SetValue::Minus(left, right),
            })
        }
    })
}

fn term(operand: &Operand<'_>, scope: &mut Scope<'_>) -> Result<Term, ExpressionFault> {
    let call = match operand {
        Operand::Path(path) => return path.resolve(scope).map(Term::Path),
        Operand::Value(alias) => return scope.value(alias).map(|value| Term::Value(value.clone())),
        Operand::Call(call) => call,
    };
    let name = call.function;
    if condition::functions().any(|known| known == name) {
        return Err(ExpressionFault::FunctionOfOther { language: "an update", function: name.to_owned() });
    }
    let [first, second] = call.operands.as_slice() else {
        return Err(ExpressionFault::OperandCount { function: name.to_owned(), count: call.operands.len() });
    };
    if name == IF_NOT_EXISTS {
        let Operand::Path(path) = first else { return Err(ExpressionFault::PathRequired(name.to_owned())) };
        let (path, other) = (path.resolve(scope)?, term(second, scope)?);
        check_no_list(&other)?;
        if other == Term::Path(path.clone()) {
            return Err(ExpressionFault::SameOperand { operator: name.to_owned(), operand: path.to_string() });
        }
        return Ok(Term::IfNotExists(path, Box::new(other)));
    }
    let lists = [term(first, scope)?, term(second, scope)?];
    for list in &lists {
        check_no_list(list)?;
        check_literal(list, name, AttributeType::L)?;
    }
    let [first, second] = lists;
    Ok(Term::ListAppend(Box::new(first), Box::new(second)))
}

/// `list_append` stands alone.
fn check_no_list(term: &Term) -> Result<(), ExpressionFault> {
    match term {
        Term::ListAppend(..) => Err(ExpressionFault::FunctionMisused(LIST_APPEND.to_owned())),
        Term::Path(_) | Term::Value(_) | Term::IfNotExists(..) => Ok(()),
    }
}

/// A literal operand must be of the type.
///
/// # Errors
/// `OperandType` when it is of another; paths and calls are seen when there is an item.
pub(in crate::expr) fn check_literal(term: &Term, function: &str, expected: AttributeType) -> Result<(), ExpressionFault> {
    let found = match term {
        Term::Value(value) => value.attribute_type(),
        Term::Path(_) | Term::IfNotExists(..) | Term::ListAppend(..) => return Ok(()),
    };
    if found == expected {
        return Ok(());
    }
    let operand = found.tag().to_owned();
    Err(ExpressionFault::OperandType { function: function.to_owned(), operand })
}

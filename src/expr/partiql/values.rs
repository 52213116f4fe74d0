//! The conversion of PartiQL literals and `?` parameters to attribute values. An error has the path
//! into the literal to its place: `root.a[1]`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::parse_expression::{Expr, ExpressionNode};
use crate::model::attribute_value::check_attribute_name;
use crate::model::error::{StatementError, ValueError};
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::{AttributeValue, Item, Number};

/// Turns literals and `?` into values.
#[derive(Debug, Clone, Copy)]
pub struct ParameterValues<'p> {
    /// One for each `?`.
    parameters: &'p [AttributeValue],
}

/// A path into a literal: a chain on the stack, made a text only for an error.
struct LiteralPath<'w> {
    above: Option<&'w LiteralPath<'w>>,
    step: LiteralStep<'w>,
    /// Steps below the root.
    levels: usize,
}

enum LiteralStep<'w> {
    Root,
    Name(&'w str),
    Index(usize),
}

const ROOT: LiteralPath<'static> = LiteralPath {
    above: None,
    step: LiteralStep::Root,
    levels: 0,
};

impl LiteralPath<'_> {
    fn text(&self) -> String {
        let above = self.above.map(LiteralPath::text).unwrap_or_default();
        match self.step {
            LiteralStep::Root => "root".to_owned(),
            LiteralStep::Name(name) => format!("{above}.{name}"),
            LiteralStep::Index(index) => format!("{above}[{index}]"),
        }
    }

    fn child<'w>(&'w self, step: LiteralStep<'w>) -> LiteralPath<'w> {
        LiteralPath {
            above: Some(self),
            step,
            levels: self.levels + 1,
        }
    }
}

impl<'p> ParameterValues<'p> {
    /// Takes the parameters of a statement with `count` of `?`.
    ///
    /// # Errors
    /// `ParameterCount` if there are more or fewer parameters.
    pub fn new(parameters: &'p [AttributeValue], count: usize) -> Result<Self, StatementError> {
        if parameters.len() == count {
            Ok(Self { parameters })
        } else {
            Err(StatementError::ParameterCount)
        }
    }

    /// Returns the value of a literal or a `?`.
    ///
    /// # Errors
    /// An expression that is no literal; numbers, sets and nesting that no item can have.
    pub fn value(&self, expression: &Expr) -> Result<AttributeValue, StatementError> {
        self.value_below(expression, &ROOT)
    }

    /// Returns the item that INSERT writes: a tuple.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn item(&self, expression: &Expr) -> Result<Item, StatementError> {
        match &expression.node {
            ExpressionNode::Tuple(members) => self.members(members, &ROOT, false).map(Item),
            _ => Err(StatementError::InsertValue(expression.place)),
        }
    }

    /// True if [`Self::value`] may turn this into a value; false for a path or a call.
    #[must_use]
    pub fn is_literal(expression: &Expr) -> bool {
        matches!(
            &expression.node,
            ExpressionNode::Text(_)
                | ExpressionNode::Number(_)
                | ExpressionNode::Boolean(_)
                | ExpressionNode::Null
                | ExpressionNode::Parameter(_)
                | ExpressionNode::List(_)
                | ExpressionNode::Bag(_)
                | ExpressionNode::Tuple(_)
                | ExpressionNode::Negative(_)
        )
    }

    fn value_below(
        &self,
        expression: &Expr,
        path: &LiteralPath<'_>,
    ) -> Result<AttributeValue, StatementError> {
        if path.levels >= NESTING_LEVELS_MAX {
            return Err(StatementError::Nesting(path.text()));
        }
        match &expression.node {
            ExpressionNode::Text(text) => Ok(AttributeValue::S(text.clone())),
            ExpressionNode::Number(_) | ExpressionNode::Negative(_) => {
                match number_text(expression) {
                    Some(text) => number(&text, path).map(AttributeValue::N),
                    None => Err(unsupported(expression, path)),
                }
            }
            ExpressionNode::Boolean(value) => Ok(AttributeValue::Bool(*value)),
            ExpressionNode::Null => Ok(AttributeValue::Null),
            // Only as a whole value: the service refuses `?` within a list or a map.
            ExpressionNode::Parameter(place) if path.levels == 0 => self
                .parameters
                .get(*place)
                .cloned()
                .ok_or(StatementError::ParameterCount),
            ExpressionNode::List(elements) => {
                let elements = elements.iter().enumerate();
                let values = elements.map(|(index, element)| {
                    self.value_below(element, &path.child(LiteralStep::Index(index)))
                });
                values.collect::<Result<_, _>>().map(AttributeValue::L)
            }
            ExpressionNode::Bag(elements) => bag(elements, path),
            ExpressionNode::Tuple(members) => {
                self.members(members, path, true).map(AttributeValue::M)
            }
            _ => Err(unsupported(expression, path)),
        }
    }

    /// Returns the members of a tuple. Each attribute of an item is a root of its own, a member of
    /// a map is not.
    fn members(
        &self,
        members: &[(Expr, Expr)],
        path: &LiteralPath<'_>,
        is_map: bool,
    ) -> Result<BTreeMap<String, AttributeValue>, StatementError> {
        let mut map = BTreeMap::new();
        for (key, expression) in members {
            let ExpressionNode::Text(name) = &key.node else {
                return Err(StatementError::TupleKey {
                    what: type_name(key),
                    path: path.text(),
                    place: key.place,
                });
            };
            check_attribute_name(name)?;
            let value = match is_map {
                true => self.value_below(expression, &path.child(LiteralStep::Name(name)))?,
                false => self.value_below(expression, path)?,
            };
            match map.entry(name.clone()) {
                Entry::Vacant(place) => place.insert(value),
                Entry::Occupied(_) => {
                    return Err(StatementError::DuplicateName {
                        name: name.clone(),
                        path: path.text(),
                        place: key.place,
                    });
                }
            };
        }
        Ok(map)
    }
}

fn number(text: &str, path: &LiteralPath<'_>) -> Result<Number, StatementError> {
    text.parse().map_err(|error| StatementError::Number {
        error,
        path: path.text(),
    })
}

/// Returns a set: all strings or all numbers.
fn bag(elements: &[Expr], path: &LiteralPath<'_>) -> Result<AttributeValue, StatementError> {
    if elements.is_empty() {
        return Err(StatementError::EmptyBag);
    }
    let texts: Option<Vec<String>> = elements.iter().map(text).collect();
    if let Some(texts) = texts {
        return Ok(AttributeValue::string_set(texts)?);
    }
    let spelled: Option<Vec<String>> = elements.iter().map(number_text).collect();
    let spelled = spelled.ok_or(StatementError::MixedBag)?;
    let numbers = spelled
        .iter()
        .map(|text| number(text, path))
        .collect::<Result<Vec<_>, _>>()?;
    AttributeValue::number_set(numbers).map_err(|error| match error {
        // In their spellings: as numbers they are the same.
        ValueError::DuplicateNumbers => StatementError::NumberDuplicates {
            members: spelled.join(", "),
            path: path.text(),
        },
        other => other.into(),
    })
}

fn text(expression: &Expr) -> Option<String> {
    match &expression.node {
        ExpressionNode::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn number_text(expression: &Expr) -> Option<String> {
    match &expression.node {
        ExpressionNode::Number(text) => Some(text.clone()),
        ExpressionNode::Negative(inner) => match &inner.node {
            ExpressionNode::Number(text) => Some(format!("-{text}")),
            _ => None,
        },
        _ => None,
    }
}

fn unsupported(expression: &Expr, path: &LiteralPath<'_>) -> StatementError {
    StatementError::Value {
        what: type_name(expression),
        path: path.text(),
        place: expression.place,
    }
}

/// Returns the kind of an expression as error texts show it.
fn type_name(expression: &Expr) -> String {
    let name = match &expression.node {
        ExpressionNode::Parameter(_) => "Parameter",
        ExpressionNode::Path(_) => "VariableReference",
        ExpressionNode::Call { name, .. } => name,
        ExpressionNode::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => "INT",
        ExpressionNode::Number(_) => "DECIMAL",
        ExpressionNode::Boolean(_) => "BOOL",
        ExpressionNode::Null => "NULL",
        _ => "Expression",
    };
    name.to_owned()
}

//! UpdateExpression (docs/dynamodb.md 7.8, 7.9, 7.10): its parser, and its resolved form
//! [`Update`], with names and values in place and everything checked that needs no item.
//! [`Update::apply`] in `apply` carries it out (docs/dynamodb.md 7.11). `expr::parse` has the
//! parser of operands.

mod apply;

use super::lexer::{Token, TokenKind};
use super::order::Comparator;
use super::parse::{
    self, ExprParser, FaultStage, IF_NOT_EXISTS, LIST_APPEND, Language, RawOperand,
};
use super::path::PathTree;
use super::placeholders::PlaceholderScope;
use super::predicate;
use crate::model::error::ExpressionError;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::{AttributeType, AttributeValue, DocumentPath, Item, KeySchema};

/// A term of SET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetTerm {
    Path(DocumentPath),
    Value(AttributeValue),
    IfNotExists(DocumentPath, Box<SetTerm>),
    ListAppend(Box<SetTerm>, Box<SetTerm>),
}

/// The right-hand side of SET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetValue {
    Term(SetTerm),
    Plus(SetTerm, SetTerm),
    Minus(SetTerm, SetTerm),
}

/// The effect of an action at its document path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateEffect {
    Set(SetValue),
    Remove,
    /// A number or a set; a list too in `AttributeUpdates`, which appends it.
    Add(AttributeValue),
    /// Members of a set.
    Delete(AttributeValue),
}

/// One action of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateAction {
    pub path: DocumentPath,
    pub effect: UpdateEffect,
}

/// The parameter of the actions: the texts of some errors differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateOrigin {
    Expression,
    AttributeUpdates,
}

/// An update that can be applied: no path is a prefix of another, and no container is both a map
/// and a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    actions: Vec<UpdateAction>,
    touched: PathTree,
    origin: UpdateOrigin,
}

impl Update {
    /// Makes an update; checks the paths against each other.
    ///
    /// # Errors
    /// Overlap or conflict, with the two paths.
    pub fn new(actions: Vec<UpdateAction>, origin: UpdateOrigin) -> Result<Self, ExpressionFault> {
        let paths: Vec<DocumentPath> = actions.iter().map(|action| action.path.clone()).collect();
        Ok(Self {
            touched: PathTree::new(&paths)?,
            actions,
            origin,
        })
    }

    /// Makes an update of distinct top-level attributes; its errors are those of AttributeUpdates.
    #[must_use]
    pub fn from_attributes(actions: Vec<UpdateAction>) -> Self {
        let touched =
            PathTree::from_attributes(actions.iter().map(|action| action.path.head.as_str()));
        Self {
            actions,
            touched,
            origin: UpdateOrigin::AttributeUpdates,
        }
    }

    #[must_use]
    pub fn actions(&self) -> &[UpdateAction] {
        &self.actions
    }

    /// Returns the paths that are updated, in the order written.
    pub fn targets(&self) -> impl Iterator<Item = &DocumentPath> {
        self.actions.iter().map(|action| &action.path)
    }

    /// Returns every document path: those updated and those read.
    #[must_use]
    pub fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        for action in &self.actions {
            paths.push(&action.path);
            match &action.effect {
                UpdateEffect::Set(SetValue::Term(term)) => term.collect_paths(&mut paths),
                UpdateEffect::Set(SetValue::Plus(left, right) | SetValue::Minus(left, right)) => {
                    left.collect_paths(&mut paths);
                    right.collect_paths(&mut paths);
                }
                UpdateEffect::Remove | UpdateEffect::Add(_) | UpdateEffect::Delete(_) => {}
            }
        }
        paths
    }

    /// True if the update only removes: it makes no item where there was none.
    #[must_use]
    pub fn only_removes(&self) -> bool {
        let removes = |action: &UpdateAction| {
            matches!(
                action.effect,
                UpdateEffect::Remove | UpdateEffect::Delete(_)
            )
        };
        !self.actions.is_empty() && self.actions.iter().all(removes)
    }

    /// Returns the first key attribute that an action updates.
    #[must_use]
    pub fn key_attribute<'k>(&self, key: &'k KeySchema) -> Option<&'k str> {
        let mut attributes = key.attributes().map(|attribute| attribute.name.as_str());
        attributes.find(|name| self.targets().any(|path| path.head == *name))
    }

    /// Returns the part of an item at the updated paths: the attributes of UPDATED_OLD and
    /// UPDATED_NEW.
    #[must_use]
    pub fn touched(&self, item: &Item) -> Item {
        self.touched.select(item)
    }
}

impl SetTerm {
    /// Makes `list_append(…)` of two terms.
    ///
    /// # Errors
    /// A term that is `list_append` itself, or a literal that is no list.
    pub(super) fn list_append(lists: [Self; 2]) -> Result<Self, ExpressionFault> {
        for list in &lists {
            list.check_no_list()?;
            list.check_literal(LIST_APPEND, AttributeType::L)?;
        }
        let [first, second] = lists.map(Box::new);
        Ok(Self::ListAppend(first, second))
    }

    /// Refuses `list_append`, which stands alone.
    fn check_no_list(&self) -> Result<(), ExpressionFault> {
        match self {
            Self::ListAppend(..) => Err(ExpressionFault::FunctionMisused(LIST_APPEND.to_owned())),
            Self::Path(_) | Self::Value(_) | Self::IfNotExists(..) => Ok(()),
        }
    }

    /// Checks that a literal operand is of the type.
    ///
    /// # Errors
    /// `OperandType` if it is of another; paths and calls are checked with an item.
    pub(super) fn check_literal(
        &self,
        function: &str,
        expected: AttributeType,
    ) -> Result<(), ExpressionFault> {
        match self {
            Self::Value(value) if value.attribute_type() != expected => {
                let operand = value.attribute_type().tag().to_owned();
                Err(ExpressionFault::OperandType {
                    function: function.to_owned(),
                    operand,
                })
            }
            _ => Ok(()),
        }
    }

    fn collect_paths<'t>(&'t self, paths: &mut Vec<&'t DocumentPath>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::IfNotExists(path, default) => {
                paths.push(path);
                default.collect_paths(paths);
            }
            Self::ListAppend(first, second) => {
                first.collect_paths(paths);
                second.collect_paths(paths);
            }
        }
    }
}

/// `if_not_exists` may nest, and 4 KB hold at most 240 of them.
const LANGUAGE: Language = Language {
    call_depth_max: 250,
    is_keyword: |token, is_call| !is_call && section(token).is_some(),
    reserved: FaultStage::EarlyReserved,
    names: FaultStage::Names,
    values: FaultStage::Values,
};

/// The keywords that begin sections.
const SECTIONS: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];

/// Returns the section that a keyword begins.
fn section(token: Token<'_>) -> Option<&'static str> {
    SECTIONS.into_iter().find(|word| token.is_keyword(word))
}

/// Parses an UpdateExpression; placeholders that it names count as used.
///
/// # Errors
/// `Invalid UpdateExpression: …` ([`ExpressionError::Invalid`]), the first in the order of
/// docs/dynamodb.md 7.9.
pub fn parse(text: &str, scope: &mut PlaceholderScope<'_>) -> Result<Update, ExpressionError> {
    let update = parsed(text, scope).map_err(|fault| match fault {
        ExpressionFault::TooLong(_) => ExpressionFault::UpdateTooLong,
        other => other,
    });
    update.map_err(|fault| ExpressionError::Invalid {
        parameter: ExpressionParameter::Update,
        fault,
    })
}

fn parsed(text: &str, scope: &mut PlaceholderScope<'_>) -> Result<Update, ExpressionFault> {
    let mut parser = ExprParser::new(text, &LANGUAGE, scope)?;
    let mut actions = Vec::new();
    let mut seen = Vec::new();
    while seen.is_empty() || parser.tokens.peek().kind != TokenKind::End {
        let Some(word) = section(parser.tokens.peek()) else {
            return Err(parser.tokens.syntax_error());
        };
        parser.tokens.advance();
        if seen.contains(&word) {
            parser.noted::<()>(
                FaultStage::Places,
                Err(ExpressionFault::RepeatedSection(word)),
            );
        }
        seen.push(word);
        actions.push(action(&mut parser, word)?);
        while parser.tokens.accept(TokenKind::Comma) {
            actions.push(action(&mut parser, word)?);
        }
    }
    parser.finish(
        FaultStage::Paths,
        Update::new(actions, UpdateOrigin::Expression),
    )
}

/// Parses an action of a section.
fn action(
    parser: &mut ExprParser<'_, '_, '_>,
    section_word: &'static str,
) -> Result<UpdateAction, ExpressionFault> {
    // The keyword of a section begins no path.
    if section(parser.tokens.peek()).is_some() {
        return Err(parser.tokens.syntax_error());
    }
    let path = parser.path()?;
    let effect = match section_word {
        "SET" => {
            parser
                .tokens
                .expect(TokenKind::Comparator(Comparator::Equal))?;
            let value = set_value(parser)?;
            let set = parser
                .noted(FaultStage::Meaning, value)
                .map(UpdateEffect::Set);
            parser.or_placeholder(set, UpdateEffect::Remove)
        }
        "REMOVE" => UpdateEffect::Remove,
        "ADD" => UpdateEffect::Add(operand(parser, section_word, |of| {
            of == AttributeType::N || is_set(of)
        })?),
        _ => {
            debug_assert_eq!(section_word, "DELETE");
            UpdateEffect::Delete(operand(parser, section_word, is_set)?)
        }
    };
    Ok(UpdateAction { path, effect })
}

/// Parses the operand of ADD or DELETE. A type that it does not take is noted.
fn operand(
    parser: &mut ExprParser<'_, '_, '_>,
    operator: &'static str,
    allowed: fn(AttributeType) -> bool,
) -> Result<AttributeValue, ExpressionFault> {
    let value = parser.value()?;
    let found = value.attribute_type();
    if !allowed(found) {
        let fault = ExpressionFault::ActionOperandType {
            operator,
            operand: long_name(found),
        };
        parser.noted::<()>(FaultStage::Operands, Err(fault));
    }
    Ok(value)
}

/// True for a type of sets.
pub(super) fn is_set(attribute_type: AttributeType) -> bool {
    matches!(
        attribute_type,
        AttributeType::Ss | AttributeType::Ns | AttributeType::Bs
    )
}

/// Returns a type as errors of ADD and DELETE name it.
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

/// Parses the right-hand side of SET; the inner result is the fault of its operands. A `(` may open
/// the whole or its first term; the closing one decides.
///
/// # Errors
/// `Syntax`, as soon as it is found.
fn set_value(
    parser: &mut ExprParser<'_, '_, '_>,
) -> Result<Result<SetValue, ExpressionFault>, ExpressionFault> {
    let mut open = parser.open();
    let left = parser.bare_operand(0)?;
    let around_all = open;
    // Parentheses that close here stand around the first term, the others around the whole.
    while open > 0 && parser.tokens.accept(TokenKind::Close) {
        open -= 1;
        let may_end = open == 0
            || matches!(
                parser.tokens.peek().kind,
                TokenKind::Close | TokenKind::Plus | TokenKind::Minus
            );
        if around_all - open > 1 && may_end {
            return Err(ExpressionFault::RedundantParentheses);
        }
    }
    let operator: Option<(&str, MakeSetValue)> = match parser.tokens.peek().kind {
        TokenKind::Plus => Some(("+", SetValue::Plus)),
        TokenKind::Minus => Some(("-", SetValue::Minus)),
        _ => None,
    };
    let value = match operator {
        Some((sign, make)) => {
            parser.tokens.advance();
            parser.operators += 1;
            let right = parser.operand(0)?;
            sum(sign, make, left, right)
        }
        None => term(left).map(SetValue::Term),
    };
    parser.close(open, false)?;
    Ok(value)
}

/// A value of two terms.
type MakeSetValue = fn(SetTerm, SetTerm) -> SetValue;

/// Makes a sum or a difference of two operands.
fn sum(
    sign: &str,
    make: MakeSetValue,
    left: RawOperand<'_>,
    right: RawOperand<'_>,
) -> Result<SetValue, ExpressionFault> {
    let (left, right) = (term(left)?, term(right)?);
    for term in [&left, &right] {
        term.check_no_list()?;
        term.check_literal(sign, AttributeType::N)?;
    }
    Ok(make(left, right))
}

fn term(operand: RawOperand<'_>) -> Result<SetTerm, ExpressionFault> {
    let call = match operand {
        RawOperand::Path(path) => return Ok(SetTerm::Path(path)),
        RawOperand::Value(value) => return Ok(SetTerm::Value(value)),
        RawOperand::Call(call) => call,
    };
    let function = call.function.to_owned();
    if predicate::functions().any(|known| known == function) {
        return Err(ExpressionFault::FunctionOfOther {
            language: "an update",
            function,
        });
    }
    let [first, second] = parse::exactly(&function, call.operands)?;
    if function != IF_NOT_EXISTS {
        return SetTerm::list_append([term(first)?, term(second)?]);
    }
    let RawOperand::Path(path) = first else {
        return Err(ExpressionFault::PathRequired(function));
    };
    let other = term(second)?;
    other.check_no_list()?;
    if matches!(&other, SetTerm::Path(same) if *same == path) {
        return Err(ExpressionFault::SameOperand {
            operator: function,
            operand: path.to_string(),
        });
    }
    Ok(SetTerm::IfNotExists(path, Box::new(other)))
}

#[cfg(test)]
#[path = "../update_tests.rs"]
mod tests;

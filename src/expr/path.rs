//! Document paths as written: `a.#b[0]`, names not yet looked up.

use super::lexer::{TokenKind, Tokens};
use super::placeholders::Scope;
use super::reserved::is_reserved;
use crate::model::error::expression::ExpressionFault;
use crate::model::limits::DOCUMENT_PATH_LEVELS_MAX;
use crate::model::{DocumentPath, PathElement};

/// Largest list index a path may name: the service reads it as a 32-bit integer.
pub(super) const LIST_INDEX_MAX: usize = 2_147_483_647;

/// An attribute name as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// The name itself.
    Bare(&'a str),
    /// `#x`, sign included.
    Alias(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep<'a> {
    Name(Name<'a>),
    Index(usize),
}

/// A document path as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path<'a> {
    pub head: Name<'a>,
    pub rest: Vec<PathStep<'a>>,
}

impl<'a> Path<'a> {
    /// Parses a path at the reading position. An index out of range and more than 32 levels are noted.
    ///
    /// # Errors
    /// Syntax.
    pub fn parse(tokens: &mut Tokens<'a>) -> Result<Self, ExpressionFault> {
        let head = name(tokens)?;
        let mut rest = Vec::new();
        loop {
            if tokens.accept(TokenKind::Dot) {
                rest.push(PathStep::Name(name(tokens)?));
            } else if tokens.accept(TokenKind::OpenBracket) {
                rest.push(PathStep::Index(index(tokens)?));
            } else {
                break;
            }
        }
        // Counted at its end, as the error tells how many there are.
        check_levels(1 + rest.len()).unwrap_or_else(|fault| tokens.note(fault));
        Ok(Self { head, rest })
    }

    /// Every name of the path, head first.
    fn names(&self) -> impl Iterator<Item = Name<'a>> {
        let rest = self.rest.iter().filter_map(|step| match step {
            PathStep::Name(name) => Some(*name),
            PathStep::Index(_) => None,
        });
        std::iter::once(self.head).chain(rest)
    }

    /// Fails if a bare name is a reserved word.
    pub fn check_reserved(&self) -> Result<(), ExpressionFault> {
        let reserved = self.names().find_map(|name| match name {
            Name::Bare(word) if is_reserved(word) => Some(word),
            Name::Bare(_) | Name::Alias(_) => None,
        });
        reserved.map_or(Ok(()), |word| Err(ExpressionFault::ReservedWord(word.to_owned())))
    }

    /// Looks up the aliases.
    ///
    /// # Errors
    /// An alias that is not defined.
    pub fn resolve(&self, scope: &mut Scope<'_>) -> Result<DocumentPath, ExpressionFault> {
        let head = resolve_name(self.head, scope)?;
        let mut rest = Vec::with_capacity(self.rest.len());
        for step in &self.rest {
            rest.push(match step {
                PathStep::Name(name) => PathElement::Name(resolve_name(*name, scope)?),
                PathStep::Index(index) => PathElement::Index(*index),
            });
        }
        Ok(DocumentPath { head, rest })
    }
}

fn check_levels(levels: usize) -> Result<(), ExpressionFault> {
    if levels > DOCUMENT_PATH_LEVELS_MAX { Err(ExpressionFault::PathTooDeep(levels)) } else { Ok(()) }
}

fn check_index(index: Option<usize>, digits: &str) -> Result<usize, ExpressionFault> {
    index.filter(|index| *index <= LIST_INDEX_MAX).ok_or_else(|| ExpressionFault::IndexRange(digits.to_owned()))
}

/// Checks a path that no expression was parsed for, as the parser does.
///
/// # Errors
/// An index out of range, more than 32 levels.
pub fn check(path: &DocumentPath) -> Result<(), ExpressionFault> {
    for element in &path.rest {
        if let PathElement::Index(index) = element {
            check_index(Some(*index), &index.to_string())?;
        }
    }
    check_levels(1 + path.rest.len())
}

fn resolve_name(name: Name<'_>, scope: &mut Scope<'_>) -> Result<String, ExpressionFault> {
    match name {
        Name::Bare(word) => Ok(word.to_owned()),
        Name::Alias(alias) => scope.name(alias).map(str::to_owned),
    }
}

fn name<'a>(tokens: &mut Tokens<'a>) -> Result<Name<'a>, ExpressionFault> {
    let token = tokens.peek();
    let name = match token.kind {
        TokenKind::Identifier => Name::Bare(token.text),
        TokenKind::NameRef => Name::Alias(token.text),
        _ => return Err(tokens.syntax_error()),
    };
    tokens.advance();
    Ok(name)
}

/// The rest of `[n]`, the bracket taken.
fn index(tokens: &mut Tokens<'_>) -> Result<usize, ExpressionFault> {
    // Written one way only: `[01]` is no index.
    if tokens.peek().text.len() > 1 && tokens.peek().text.starts_with('0') {
        return Err(tokens.syntax_error());
    }
    let digits = tokens.expect(TokenKind::Digits)?;
    tokens.expect(TokenKind::CloseBracket)?;
    Ok(check_index(digits.text.parse().ok(), digits.text).unwrap_or_else(|fault| {
        tokens.note(fault);
        0
    }))
}

//! The parser of updates (docs/dynamodb.md 7.10).

use super::syntax::{Action, Effect, SectionKind, Sign, UpdateSyntax, Value};
use crate::expr::lexer::{Token, TokenKind, Tokens};
use crate::expr::operand::Operands;
use crate::expr::order::Comparator;
use crate::expr::parse::check_size;
use crate::expr::path::Path;
use crate::model::error::expression::ExpressionFault;

/// `if_not_exists` may nest, and 4 KB hold at most 240 of them.
const OPERANDS: Operands = Operands { call_depth_max: 250, is_keyword: |token, is_call| !is_call && section(token).is_some() };

/// Parses a whole update.
///
/// # Errors
/// Size, syntax, and the limits of document paths.
pub fn parse(text: &str) -> Result<UpdateSyntax<'_>, ExpressionFault> {
    check_size(text).map_err(|fault| match fault {
        ExpressionFault::TooLong(_) => ExpressionFault::UpdateTooLong,
        other => other,
    })?;
    let mut parser = Parser { tokens: Tokens::new(text), update: UpdateSyntax::default() };
    let mut seen = Vec::new();
    loop {
        let Some(kind) = section(parser.tokens.peek()) else { return Err(parser.tokens.syntax_error()) };
        parser.tokens.advance();
        // Only noted: faults of syntax, reserved words and unknown functions come before it.
        if seen.contains(&kind) {
            parser.update.repeated.get_or_insert(kind);
        }
        seen.push(kind);
        parser.section(kind)?;
        if parser.tokens.peek().kind == TokenKind::End {
            parser.tokens.finish()?;
            return Ok(parser.update);
        }
    }
}

/// The section that a keyword begins.
fn section(token: Token<'_>) -> Option<SectionKind> {
    SectionKind::ALL.into_iter().find(|kind| token.is_keyword(kind.word()))
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    update: UpdateSyntax<'a>,
}

impl<'a> Parser<'a> {
    /// The actions of a section, its keyword taken.
    fn section(&mut self, kind: SectionKind) -> Result<(), ExpressionFault> {
        loop {
            let path = self.path()?;
            let effect = match kind {
                SectionKind::Set => {
                    self.tokens.expect(TokenKind::Comparator(Comparator::Equal))?;
                    Effect::Set(self.value()?)
                }
                SectionKind::Remove => Effect::Remove,
                SectionKind::Add => Effect::Add(self.tokens.expect(TokenKind::ValueRef)?.text),
                SectionKind::Delete => Effect::Delete(self.tokens.expect(TokenKind::ValueRef)?.text),
            };
            self.update.actions.push(Action { path, effect });
            if !self.tokens.accept(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    /// A path; the keyword of a section begins none.
    fn path(&mut self) -> Result<Path<'a>, ExpressionFault> {
        if section(self.tokens.peek()).is_some() {
            return Err(self.tokens.syntax_error());
        }
        Path::parse(&mut self.tokens)
    }

    /// The right-hand side of SET. A `(` may open the whole or its first term: which, is known when it closes.
    fn value(&mut self) -> Result<Value<'a>, ExpressionFault> {
        let mut open = self.tokens.open();
        let left = OPERANDS.bare(&mut self.tokens, 0)?;
        let around_all = open;
        // Those that close here stand around the first term, the others around the whole.
        while open > 0 && self.tokens.accept(TokenKind::Close) {
            open -= 1;
            let may_end = open == 0 || matches!(self.tokens.peek().kind, TokenKind::Close | TokenKind::Plus | TokenKind::Minus);
            if around_all - open > 1 && may_end {
                return Err(ExpressionFault::RedundantParentheses);
            }
        }
        let sign = match self.tokens.peek().kind {
            TokenKind::Plus => Some(Sign::Plus),
            TokenKind::Minus => Some(Sign::Minus),
            _ => None,
        };
        let right = match sign {
            Some(sign) => {
                self.tokens.advance();
                self.update.operators += 1;
                Some((sign, OPERANDS.operand(&mut self.tokens, 0)?))
            }
            None => None,
        };
        self.tokens.close(open, false)?;
        Ok(Value { left, right })
    }
}

//! Operands as written, in any number of parentheses: what conditions and updates have in common.

use super::lexer::{Token, TokenKind, Tokens};
use super::path::Path;
use super::syntax::{Call, Operand};
use crate::model::error::expression::ExpressionFault;

/// What operands are in a language.
#[derive(Debug)]
pub struct Operands {
    /// Calls inside calls. The bound keeps the recursion shallow.
    pub call_depth_max: usize,
    /// Is this word a keyword, so that it begins no operand? Given with whether `(` follows it.
    pub is_keyword: fn(Token<'_>, bool) -> bool,
}

impl Operands {
    /// An operand in any number of parentheses.
    ///
    /// # Errors
    /// Syntax, redundant parentheses, calls nested too deeply.
    pub fn operand<'a>(&self, tokens: &mut Tokens<'a>, depth: usize) -> Result<Operand<'a>, ExpressionFault> {
        let open = tokens.open();
        let operand = self.bare(tokens, depth)?;
        tokens.close(open, depth > 0)?;
        Ok(operand)
    }

    /// A path, a value or a call.
    ///
    /// # Errors
    /// As [`Self::operand`].
    pub fn bare<'a>(&self, tokens: &mut Tokens<'a>, depth: usize) -> Result<Operand<'a>, ExpressionFault> {
        let token = tokens.peek();
        let is_call = token.kind == TokenKind::Identifier && tokens.peek_second().kind == TokenKind::Open;
        match token.kind {
            TokenKind::ValueRef => {
                tokens.advance();
                Ok(Operand::Value(token.text))
            }
            _ if (self.is_keyword)(token, is_call) => Err(tokens.syntax_error()),
            _ if is_call => self.call(tokens, depth).map(Operand::Call),
            _ => Path::parse(tokens).map(Operand::Path),
        }
    }

    fn call<'a>(&self, tokens: &mut Tokens<'a>, depth: usize) -> Result<Call<'a>, ExpressionFault> {
        let function = tokens.advance().text;
        if depth >= self.call_depth_max {
            return Err(ExpressionFault::FunctionMisused(function.to_owned()));
        }
        if tokens.peek_second().kind == TokenKind::Close {
            tokens.advance();
            tokens.advance();
            return Ok(Call { function, operands: Vec::new() });
        }
        Ok(Call { function, operands: self.list(tokens, depth + 1)? })
    }

    /// `( operand, … )`, at least one.
    ///
    /// # Errors
    /// As [`Self::operand`].
    pub fn list<'a>(&self, tokens: &mut Tokens<'a>, depth: usize) -> Result<Vec<Operand<'a>>, ExpressionFault> {
        tokens.expect(TokenKind::Open)?;
        let mut list = vec![self.operand(tokens, depth)?];
        while tokens.accept(TokenKind::Comma) {
            list.push(self.operand(tokens, depth)?);
        }
        tokens.expect(TokenKind::Close)?;
        Ok(list)
    }
}

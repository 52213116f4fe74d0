//! The common part of the recursive-descent parsers of expressions: document paths, values, calls,
//! operands in any number of parentheses. `condition`, `projection` and `update` build on it;
//! `lexer` has the tokens.
//!
//! Names and values are put in place where they are read. The service passes over the whole text
//! once for each kind of fault. A fault of syntax therefore ends the parse, and any other is noted
//! with its [`FaultStage`]: of the noted faults, the first of the earliest stage is reported.

use super::lexer::{Token, TokenKind, Tokens, is_reserved};
use super::path::{check_index, check_levels};
use super::placeholders::PlaceholderScope;
use super::predicate::functions;
use crate::model::error::expression::ExpressionFault;
use crate::model::limits::{EXPRESSION_BYTES_MAX, EXPRESSION_OPERATORS_MAX};
use crate::model::{AttributeValue, DocumentPath, PathElement};

/// A kind of fault, which the service looks for in the whole text before any fault of a later stage
/// (docs/dynamodb.md 7.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultStage {
    /// Indexes and levels of document paths.
    Limits,
    /// The number of operators.
    Operators,
    /// Reserved words in a language that looks for them before functions.
    EarlyReserved,
    /// Functions that no language has.
    Functions,
    /// Functions and sections where they may not stand.
    Places,
    /// Reserved words in the other languages.
    Reserved,
    /// Undefined names, in a language that looks all of them up before any value.
    Names,
    /// Undefined values, in such a language.
    Values,
    /// Document paths checked against each other.
    Paths,
    /// Operands of actions.
    Operands,
    /// The meaning of each part, in the order written.
    Meaning,
}

/// The rules of a language for its operands.
#[derive(Debug)]
pub struct Language {
    /// Calls inside calls. The bound keeps the recursion shallow.
    pub call_depth_max: usize,
    /// True if this word is a keyword, so that it begins no operand. The flag is true if `(`
    /// follows it.
    pub is_keyword: fn(Token<'_>, bool) -> bool,
    pub reserved: FaultStage,
    pub names: FaultStage,
    pub values: FaultStage,
}

pub(super) const IF_NOT_EXISTS: &str = "if_not_exists";
pub(super) const LIST_APPEND: &str = "list_append";

/// The functions of updates; conditions have [`functions`].
pub(super) const UPDATE_FUNCTIONS: [&str; 2] = [IF_NOT_EXISTS, LIST_APPEND];

/// Returns the operands of a function as an array of their required number.
///
/// # Errors
/// `OperandCount` if there are more or fewer.
pub(super) fn exactly<T, const N: usize>(
    function: &str,
    operands: Vec<T>,
) -> Result<[T; N], ExpressionFault> {
    let count = operands.len();
    operands
        .try_into()
        .map_err(|_| ExpressionFault::OperandCount {
            function: function.to_owned(),
            count,
        })
}

/// An operand as written. The language gives its calls their meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawOperand<'a> {
    Path(DocumentPath),
    Value(AttributeValue),
    Call(RawCall<'a>),
}

/// `name(operand, …)`, any name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall<'a> {
    pub function: &'a str,
    /// Number of the token of its name.
    pub at: usize,
    /// Number of the token behind it.
    pub end: usize,
    pub operands: Vec<RawOperand<'a>>,
}

/// The parser of one expression.
#[derive(Debug)]
pub struct ExprParser<'a, 's, 'p> {
    pub tokens: Tokens<'a>,
    pub operators: usize,
    language: &'static Language,
    scope: &'s mut PlaceholderScope<'p>,
    /// The first fault of the earliest stage, with the number of its token.
    noted: Option<(FaultStage, usize, ExpressionFault)>,
}

impl<'a, 's, 'p> ExprParser<'a, 's, 'p> {
    /// Begins the parse of a text.
    ///
    /// # Errors
    /// `Empty`; `TooLong` over [`EXPRESSION_BYTES_MAX`] bytes.
    pub fn new(
        text: &'a str,
        language: &'static Language,
        scope: &'s mut PlaceholderScope<'p>,
    ) -> Result<Self, ExpressionFault> {
        match text.len() {
            0 => Err(ExpressionFault::Empty),
            bytes if bytes > EXPRESSION_BYTES_MAX => Err(ExpressionFault::TooLong(bytes)),
            _ => {
                scope.begin();
                Ok(Self {
                    tokens: Tokens::new(text),
                    operators: 0,
                    language,
                    scope,
                    noted: None,
                })
            }
        }
    }

    /// Ends the parse of a text with good syntax; `made` is its result at this stage.
    ///
    /// # Errors
    /// The first of the noted faults and that of `made`.
    pub fn finish<T>(
        mut self,
        stage: FaultStage,
        made: Result<T, ExpressionFault>,
    ) -> Result<T, ExpressionFault> {
        if self.operators > EXPRESSION_OPERATORS_MAX {
            self.note(
                FaultStage::Operators,
                0,
                ExpressionFault::TooManyOperators(self.operators),
            );
        }
        let earlier = self
            .noted
            .filter(|(first, ..)| made.is_ok() || *first <= stage);
        earlier.map_or(made, |(_, _, fault)| Err(fault))
    }

    /// Notes a fault of the token with that number.
    pub fn note(&mut self, stage: FaultStage, position: usize, fault: ExpressionFault) {
        if self
            .noted
            .as_ref()
            .is_none_or(|(first, place, _)| (stage, position) < (*first, *place))
        {
            self.noted = Some((stage, position, fault));
        }
    }

    /// Returns the result of the tokens before this one; notes its fault and returns `None` if it
    /// failed.
    pub fn noted<T>(&mut self, stage: FaultStage, made: Result<T, ExpressionFault>) -> Option<T> {
        made.map_err(|fault| self.note(stage, self.tokens.position(), fault))
            .ok()
    }

    /// Returns the result of a part of the text, or a placeholder for one with a noted fault:
    /// [`Self::finish`] fails then, so that no placeholder leaves the parser.
    pub fn or_placeholder<T>(&self, made: Option<T>, placeholder: T) -> T {
        // A condition with a placeholder in it would hold for items that it must not hold for.
        assert!(
            made.is_some() || self.noted.is_some(),
            "a part without result has a noted fault"
        );
        made.unwrap_or(placeholder)
    }

    /// Parses a document path. An index out of range, too many levels, reserved words and undefined
    /// names are noted.
    ///
    /// # Errors
    /// `Syntax`, as soon as it is found.
    pub fn path(&mut self) -> Result<DocumentPath, ExpressionFault> {
        let mut path = DocumentPath::top_level(self.name()?);
        loop {
            if self.tokens.accept(TokenKind::Dot) {
                path.rest.push(PathElement::Name(self.name()?));
            } else if self.tokens.accept(TokenKind::OpenBracket) {
                path.rest.push(PathElement::Index(self.index()?));
            } else {
                break;
            }
        }
        // Checked at the end, as the error has the number of levels.
        self.noted(FaultStage::Limits, check_levels(&path));
        Ok(path)
    }

    fn name(&mut self) -> Result<String, ExpressionFault> {
        let token = self.tokens.peek();
        let name = match token.kind {
            TokenKind::Identifier if is_reserved(token.text) => self.noted(
                self.language.reserved,
                Err(ExpressionFault::ReservedWord(token.text.to_owned())),
            ),
            TokenKind::Identifier => Some(token.text.to_owned()),
            TokenKind::NameRef => {
                let name = self.scope.name(token.text).map(str::to_owned);
                self.noted(self.language.names, name)
            }
            _ => return Err(self.tokens.syntax_error()),
        };
        self.tokens.advance();
        Ok(self.or_placeholder(name, String::new()))
    }

    /// Parses the rest of `[n]` after the bracket.
    fn index(&mut self) -> Result<usize, ExpressionFault> {
        // An index has one spelling: `[01]` is none.
        if self.tokens.peek().text.len() > 1 && self.tokens.peek().text.starts_with('0') {
            return Err(self.tokens.syntax_error());
        }
        let digits = self.tokens.expect(TokenKind::Digits)?.text;
        self.tokens.expect(TokenKind::CloseBracket)?;
        let index = self.noted(FaultStage::Limits, check_index(digits.parse().ok(), digits));
        Ok(self.or_placeholder(index, 0))
    }

    /// Parses a value by its placeholder. An undefined one is noted.
    ///
    /// # Errors
    /// `Syntax`, as soon as it is found.
    pub fn value(&mut self) -> Result<AttributeValue, ExpressionFault> {
        let alias = self.tokens.expect(TokenKind::ValueRef)?.text;
        let value = self.scope.value(alias).cloned();
        let value = self.noted(self.language.values, value);
        Ok(self.or_placeholder(value, AttributeValue::Null))
    }

    /// Parses an operand in any number of parentheses, `depth` calls deep.
    ///
    /// # Errors
    /// Syntax, redundant parentheses, calls nested too deeply.
    pub fn operand(&mut self, depth: usize) -> Result<RawOperand<'a>, ExpressionFault> {
        let open = self.open();
        let operand = self.bare_operand(depth)?;
        self.close(open, depth > 0)?;
        Ok(operand)
    }

    /// Parses a path, a value or a call.
    ///
    /// # Errors
    /// As [`Self::operand`].
    pub fn bare_operand(&mut self, depth: usize) -> Result<RawOperand<'a>, ExpressionFault> {
        let token = self.tokens.peek();
        let is_call = token.kind == TokenKind::Identifier
            && self.tokens.peek_second().kind == TokenKind::Open;
        match token.kind {
            TokenKind::ValueRef => self.value().map(RawOperand::Value),
            _ if (self.language.is_keyword)(token, is_call) => Err(self.tokens.syntax_error()),
            _ if is_call => self.call(depth).map(RawOperand::Call),
            _ => self.path().map(RawOperand::Path),
        }
    }

    fn call(&mut self, depth: usize) -> Result<RawCall<'a>, ExpressionFault> {
        let at = self.tokens.position();
        let function = self.tokens.advance().text;
        if depth >= self.language.call_depth_max {
            return Err(ExpressionFault::FunctionMisused(function.to_owned()));
        }
        if !functions()
            .chain(UPDATE_FUNCTIONS)
            .any(|known| known == function)
        {
            self.note(
                FaultStage::Functions,
                at,
                ExpressionFault::UnknownFunction(function.to_owned()),
            );
        }
        let operands = if self.tokens.peek_second().kind == TokenKind::Close {
            self.tokens.advance();
            self.tokens.advance();
            Vec::new()
        } else {
            self.list(depth + 1)?
        };
        Ok(RawCall {
            function,
            at,
            end: self.tokens.position(),
            operands,
        })
    }

    /// Parses `( operand, … )`, at least one.
    ///
    /// # Errors
    /// As [`Self::operand`].
    pub fn list(&mut self, depth: usize) -> Result<Vec<RawOperand<'a>>, ExpressionFault> {
        self.tokens.expect(TokenKind::Open)?;
        let mut list = vec![self.operand(depth)?];
        while self.tokens.accept(TokenKind::Comma) {
            list.push(self.operand(depth)?);
        }
        self.tokens.expect(TokenKind::Close)?;
        Ok(list)
    }

    /// Takes every `(`; returns their number.
    pub fn open(&mut self) -> usize {
        std::iter::from_fn(|| self.tokens.accept(TokenKind::Open).then_some(())).count()
    }

    /// Takes the `)` of `open` that stand around one operand.
    ///
    /// # Errors
    /// A second pair, before anything that follows; around an argument of a function only before a
    /// token that can follow one. A syntax error if one is missing.
    pub fn close(&mut self, open: usize, is_argument: bool) -> Result<(), ExpressionFault> {
        for closed in 1..=open {
            self.tokens.expect(TokenKind::Close)?;
            let may_end = !is_argument
                || matches!(self.tokens.peek().kind, TokenKind::Comma | TokenKind::Close);
            if closed > 1 && may_end {
                return Err(ExpressionFault::RedundantParentheses);
            }
        }
        Ok(())
    }
}

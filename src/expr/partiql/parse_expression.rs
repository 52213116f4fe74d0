//! Expressions of PartiQL, one kind of syntax tree for every use, and their recursive-descent
//! parser, a level for each precedence: OR, AND, NOT, comparisons with BETWEEN, IN and IS, `+` and
//! `-`, signs, terms. `parse` has the statements around them.
//!
//! Depth is bounded and chains of AND and OR are flat, so that neither the parser nor a later walk
//! of the tree runs out of stack. The continuation after a first operand is a function of its own,
//! so that nested parentheses need little of it.

use super::lexer::{PartiqlToken, PartiqlTokenKind, Symbol, is_keyword};
use crate::expr::order::Comparator;
use crate::expr::path::{LIST_INDEX_MAX, check_levels};
use crate::expr::predicate::Predicate;
use crate::model::error::StatementError;
use crate::model::error::statement::TokenPosition;
use crate::model::{AttributeType, DocumentPath, PathElement};

/// The test of IS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsTest {
    Missing,
    Type(AttributeType),
    /// A type of SQL that no attribute has, by the service's name.
    NoType(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expr {
    pub node: ExpressionNode,
    /// The position of its first token, or of the name of a call.
    pub place: TokenPosition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionNode {
    Path(DocumentPath),
    Text(String),
    /// A number without a sign, as written.
    Number(String),
    Boolean(bool),
    Null,
    /// Number of the `?`, from 0.
    Parameter(usize),
    List(Vec<Expr>),
    Bag(Vec<Expr>),
    /// A tuple; its keys are checked for strings when values are made.
    Tuple(Vec<(Expr, Expr)>),
    /// The name in small letters.
    Call {
        name: String,
        arguments: Vec<Expr>,
    },
    /// A term with an odd number of `-` before it.
    Negative(Box<Expr>),
    Sum {
        left: Box<Expr>,
        /// `+` or `-`
        sign: &'static str,
        right: Box<Expr>,
    },
    /// A comparison, BETWEEN or IN, of its operands.
    Test(Predicate, Vec<Expr>),
    Is {
        operand: Box<Expr>,
        test: IsTest,
    },
    Not(Box<Expr>),
    /// Two or more expressions.
    And(Vec<Expr>),
    /// Two or more expressions.
    Or(Vec<Expr>),
}

/// The deepest nesting of expressions; a literal may have 32 levels, a condition hardly needs ten.
const DEPTH_MAX: usize = 160;

const TERM: StatementError = StatementError::Syntax("Unexpected term");
const RIGHT_SIDE: StatementError =
    StatementError::Syntax("Missing right-hand side expression of infix operator");
const TOO_DEEP: StatementError = StatementError::Syntax("Expressions are nested too deeply");

const VARYING: IsTest = IsTest::NoType("CHARACTER_VARYING");
/// The words after IS. The service's parser knows all of these types. IS takes those of attributes,
/// and reports the others by the name given here.
const IS_TESTS: &[(&[&str], IsTest)] = &[
    (&["MISSING"], IsTest::Missing),
    (&["NULL"], IsTest::Type(AttributeType::Null)),
    (&["BOOL", "BOOLEAN"], IsTest::Type(AttributeType::Bool)),
    (&["NUMERIC"], IsTest::Type(AttributeType::N)),
    (&["STRING"], IsTest::Type(AttributeType::S)),
    (&["BLOB"], IsTest::Type(AttributeType::B)),
    (&["LIST"], IsTest::Type(AttributeType::L)),
    (&["STRUCT", "TUPLE"], IsTest::Type(AttributeType::M)),
    (
        &["SMALLINT", "INT2", "INTEGER2"],
        IsTest::NoType("SMALLINT"),
    ),
    (&["INT4", "INTEGER4"], IsTest::NoType("INTEGER4")),
    (&["INT8", "INTEGER8", "BIGINT"], IsTest::NoType("INTEGER8")),
    (&["INT", "INTEGER"], IsTest::NoType("INTEGER")),
    (&["FLOAT"], IsTest::NoType("FLOAT")),
    (&["REAL"], IsTest::NoType("REAL")),
    (&["DOUBLE"], IsTest::NoType("DOUBLE_PRECISION")),
    (&["DECIMAL", "DEC"], IsTest::NoType("DECIMAL")),
    (&["CHAR", "CHARACTER"], IsTest::NoType("CHARACTER")),
    (&["VARCHAR"], VARYING),
    (&["SYMBOL"], IsTest::NoType("SYMBOL")),
    (&["CLOB"], IsTest::NoType("CLOB")),
    (&["TIMESTAMP"], IsTest::NoType("TIMESTAMP")),
    (&["DATE"], IsTest::NoType("DATE")),
    (&["TIME"], IsTest::NoType("TIME")),
    (&["SEXP"], IsTest::NoType("SEXP")),
    (&["BAG"], IsTest::NoType("BAG")),
    (&["ANY"], IsTest::NoType("ANY")),
];

/// The precedence of an expression, loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Or,
    And,
    Not,
    Comparison,
    Sum,
}

/// Tokens with a reading position.
#[derive(Debug)]
pub struct PartiqlParser {
    tokens: Vec<PartiqlToken>,
    at: usize,
    depth: usize,
    /// The number of `?` read so far.
    pub parameters: usize,
}

impl PartiqlParser {
    /// Begins at the first of `tokens`, which end with [`PartiqlTokenKind::End`].
    #[must_use]
    pub fn new(tokens: Vec<PartiqlToken>) -> Self {
        debug_assert!(
            tokens
                .last()
                .is_some_and(|token| token.kind == PartiqlTokenKind::End)
        );
        Self {
            tokens,
            at: 0,
            depth: 0,
            parameters: 0,
        }
    }

    fn token(&self, offset: usize) -> Option<&PartiqlToken> {
        self.tokens.get(self.at + offset).or(self.tokens.last())
    }

    /// Returns the kind of the token to read.
    #[must_use]
    pub fn kind(&self) -> &PartiqlTokenKind {
        self.token(0)
            .map_or(&PartiqlTokenKind::End, |token| &token.kind)
    }

    #[must_use]
    pub fn place(&self) -> TokenPosition {
        self.token(0).map(|token| token.place).unwrap_or_default()
    }

    pub fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    /// True if the token `offset` places on is this sign.
    #[must_use]
    pub fn is_symbol(&self, offset: usize, sign: Symbol) -> bool {
        self.token(offset)
            .is_some_and(|token| token.kind == PartiqlTokenKind::Symbol(sign))
    }

    pub fn accept_symbol(&mut self, sign: Symbol) -> bool {
        let found = self.is_symbol(0, sign);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a sign.
    ///
    /// # Errors
    /// `fault` if another token stands here.
    pub fn expect_symbol(
        &mut self,
        sign: Symbol,
        fault: StatementError,
    ) -> Result<(), StatementError> {
        if self.accept_symbol(sign) {
            Ok(())
        } else {
            Err(fault)
        }
    }

    /// True if the token to read is this keyword.
    #[must_use]
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), PartiqlTokenKind::ApiEnum(text) if text.eq_ignore_ascii_case(word))
    }

    pub fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// True if the statement has no more tokens.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        matches!(
            self.kind(),
            PartiqlTokenKind::End | PartiqlTokenKind::Symbol(Symbol::Semicolon)
        )
    }

    /// Parses a condition or any other expression.
    ///
    /// # Errors
    /// [`StatementError`] for a fault of the text.
    pub fn expression(&mut self) -> Result<Expr, StatementError> {
        self.level(Precedence::Or)
    }

    /// Parses an expression without comparisons: a value of SET, a column of SELECT.
    ///
    /// # Errors
    /// [`StatementError`] for a fault of the text.
    pub fn sum(&mut self) -> Result<Expr, StatementError> {
        self.level(Precedence::Sum)
    }

    fn level(&mut self, level: Precedence) -> Result<Expr, StatementError> {
        match level {
            Precedence::Or => self.chain("OR", Precedence::And, ExpressionNode::Or),
            Precedence::And => self.chain("AND", Precedence::Not, ExpressionNode::And),
            Precedence::Not => self.negation(),
            Precedence::Comparison => self.comparison(),
            Precedence::Sum => self.sum_chain(),
        }
    }

    /// Parses the inside of another expression, one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, StatementError>,
    ) -> Result<T, StatementError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        let found = read(self)?;
        // Not reset after an error, which ends the parse.
        self.depth -= 1;
        Ok(found)
    }

    fn chain(
        &mut self,
        word: &str,
        operands: Precedence,
        node: fn(Vec<Expr>) -> ExpressionNode,
    ) -> Result<Expr, StatementError> {
        let first = self.level(operands)?;
        if self.is_word(word) {
            self.chain_after(first, word, operands, node)
        } else {
            Ok(first)
        }
    }

    fn chain_after(
        &mut self,
        first: Expr,
        word: &str,
        operands: Precedence,
        node: fn(Vec<Expr>) -> ExpressionNode,
    ) -> Result<Expr, StatementError> {
        let place = first.place;
        let mut list = vec![first];
        while self.accept_word(word) {
            list.push(self.right_side(operands)?);
        }
        Ok(Expr {
            node: node(list),
            place,
        })
    }

    /// Parses the right operand of an operator.
    fn right_side(&mut self, level: Precedence) -> Result<Expr, StatementError> {
        if self.is_at_end() {
            Err(RIGHT_SIDE)
        } else {
            self.level(level)
        }
    }

    fn negation(&mut self) -> Result<Expr, StatementError> {
        if self.is_word("NOT") {
            self.not()
        } else {
            self.level(Precedence::Comparison)
        }
    }

    fn not(&mut self) -> Result<Expr, StatementError> {
        let place = self.place();
        self.advance();
        let inner = self.nested(|parser| parser.level(Precedence::Not))?;
        Ok(Expr {
            node: ExpressionNode::Not(Box::new(inner)),
            place,
        })
    }

    fn comparison(&mut self) -> Result<Expr, StatementError> {
        let left = self.level(Precedence::Sum)?;
        let is_over = self.comparator().is_none()
            && !self.is_word_ahead(0, &["NOT", "BETWEEN", "IN", "IS", "LIKE"]);
        if is_over {
            Ok(left)
        } else {
            self.comparison_after(left)
        }
    }

    fn comparison_after(&mut self, mut left: Expr) -> Result<Expr, StatementError> {
        // Each makes the tree one level deeper.
        for _ in 0..DEPTH_MAX {
            let place = left.place;
            let is_negated =
                self.is_word("NOT") && self.is_word_ahead(1, &["BETWEEN", "IN", "LIKE"]);
            if is_negated {
                self.advance();
            }
            let node = if let Some(comparator) = self.comparator() {
                self.advance();
                ExpressionNode::Test(
                    Predicate::Compare(comparator),
                    vec![left, self.right_side(Precedence::Sum)?],
                )
            } else if self.accept_word("BETWEEN") {
                let lower = self.right_side(Precedence::Sum)?;
                if !self.accept_word("AND") {
                    return Err(StatementError::Syntax("Expected AND after BETWEEN"));
                }
                ExpressionNode::Test(
                    Predicate::Between,
                    vec![left, lower, self.right_side(Precedence::Sum)?],
                )
            } else if self.accept_word("IN") {
                let list = self.in_list()?;
                ExpressionNode::Test(Predicate::In, std::iter::once(left).chain(list).collect())
            } else if self.accept_word("IS") {
                let is_not = self.accept_word("NOT");
                let is = ExpressionNode::Is {
                    operand: Box::new(left),
                    test: self.test()?,
                };
                if is_not {
                    ExpressionNode::Not(Box::new(Expr { node: is, place }))
                } else {
                    is
                }
            } else if self.is_word("LIKE") {
                return Err(StatementError::Unsupported {
                    what: "LIKE",
                    place: self.place(),
                });
            } else {
                return Ok(left);
            };
            let found = Expr { node, place };
            left = if is_negated {
                Expr {
                    node: ExpressionNode::Not(Box::new(found)),
                    place,
                }
            } else {
                found
            };
        }
        Err(TOO_DEEP)
    }

    /// True if the token `offset` places on is one of these keywords.
    #[must_use]
    pub fn is_word_ahead(&self, offset: usize, words: &[&str]) -> bool {
        match self.token(offset).map(|token| &token.kind) {
            Some(PartiqlTokenKind::ApiEnum(text)) => {
                words.iter().any(|word| text.eq_ignore_ascii_case(word))
            }
            _ => false,
        }
    }

    fn comparator(&self) -> Option<Comparator> {
        if let PartiqlTokenKind::Symbol(Symbol::Comparator(comparator)) = self.kind() {
            Some(*comparator)
        } else {
            None
        }
    }

    /// Parses the list of IN, in parentheses or brackets.
    fn in_list(&mut self) -> Result<Vec<Expr>, StatementError> {
        let end = match self.kind() {
            PartiqlTokenKind::Symbol(Symbol::Open) => Symbol::Close,
            PartiqlTokenKind::Symbol(Symbol::OpenBracket) => Symbol::CloseBracket,
            PartiqlTokenKind::Symbol(Symbol::OpenBag) => Symbol::CloseBag,
            _ => {
                return Err(StatementError::Syntax(
                    "Expected a list in parentheses or brackets after IN",
                ));
            }
        };
        self.advance();
        let list = self.list(end, Precedence::Sum)?;
        if list.is_empty() {
            Err(StatementError::Syntax(
                "Expected at least one member after IN",
            ))
        } else {
            Ok(list)
        }
    }

    /// Parses the rest of a list after its opening sign.
    fn list(&mut self, end: Symbol, level: Precedence) -> Result<Vec<Expr>, StatementError> {
        let mut list = Vec::new();
        if self.accept_symbol(end) {
            return Ok(list);
        }
        loop {
            list.push(self.level(level)?);
            if self.accept_symbol(end) {
                return Ok(list);
            }
            self.expect_symbol(
                Symbol::Comma,
                StatementError::Syntax("Expected ',' or the end of the list"),
            )?;
        }
    }

    fn test(&mut self) -> Result<IsTest, StatementError> {
        let found = IS_TESTS
            .iter()
            .find(|(words, _)| self.is_word_ahead(0, words));
        let Some((_, test)) = found else {
            return Err(StatementError::Syntax("Expected type name"));
        };
        self.advance();
        match *test {
            IsTest::NoType("CHARACTER") if self.accept_word("VARYING") => return Ok(VARYING),
            IsTest::NoType("DOUBLE_PRECISION") => self.accept_word("PRECISION"),
            _ => false,
        };
        Ok(*test)
    }

    fn sum_chain(&mut self) -> Result<Expr, StatementError> {
        let left = self.unary()?;
        if self.is_symbol(0, Symbol::Plus) || self.is_symbol(0, Symbol::Minus) {
            self.sums_after(left)
        } else {
            Ok(left)
        }
    }

    fn sums_after(&mut self, mut left: Expr) -> Result<Expr, StatementError> {
        for _ in 0..DEPTH_MAX {
            let sign = match self.kind() {
                PartiqlTokenKind::Symbol(Symbol::Plus) => "+",
                PartiqlTokenKind::Symbol(Symbol::Minus) => "-",
                _ => return Ok(left),
            };
            self.advance();
            if self.is_at_end() {
                return Err(RIGHT_SIDE);
            }
            let right = self.unary()?;
            let place = left.place;
            left = Expr {
                node: ExpressionNode::Sum {
                    left: Box::new(left),
                    sign,
                    right: Box::new(right),
                },
                place,
            };
        }
        Err(TOO_DEEP)
    }

    fn unary(&mut self) -> Result<Expr, StatementError> {
        let place = self.place();
        let is_negative = self.signs();
        let term = self.term()?;
        if is_negative {
            Ok(Expr {
                node: ExpressionNode::Negative(Box::new(term)),
                place,
            })
        } else {
            Ok(term)
        }
    }

    /// Takes signs; true if the number after them is negative.
    fn signs(&mut self) -> bool {
        let mut is_negative = false;
        loop {
            if self.accept_symbol(Symbol::Minus) {
                is_negative = !is_negative;
            } else if !self.accept_symbol(Symbol::Plus) {
                return is_negative;
            }
        }
    }

    fn term(&mut self) -> Result<Expr, StatementError> {
        if self.is_symbol(0, Symbol::Open) {
            self.group()
        } else {
            self.simple_term()
        }
    }

    fn group(&mut self) -> Result<Expr, StatementError> {
        self.advance();
        let inner = self.nested(Self::expression)?;
        self.expect_symbol(Symbol::Close, StatementError::Syntax("Expected ')'"))?;
        Ok(inner)
    }

    fn simple_term(&mut self) -> Result<Expr, StatementError> {
        let place = self.place();
        let node = match self.kind().clone() {
            PartiqlTokenKind::Text(text) => self.literal(ExpressionNode::Text(text)),
            PartiqlTokenKind::Number(text) => self.literal(ExpressionNode::Number(text)),
            PartiqlTokenKind::Parameter => {
                self.parameters += 1;
                self.literal(ExpressionNode::Parameter(self.parameters - 1))
            }
            PartiqlTokenKind::Quoted(_) => ExpressionNode::Path(self.path(TERM)?),
            PartiqlTokenKind::ApiEnum(word) => return self.word(&word, place),
            PartiqlTokenKind::Symbol(Symbol::OpenBracket) => {
                self.advance();
                ExpressionNode::List(
                    self.nested(|parser| parser.list(Symbol::CloseBracket, Precedence::Sum))?,
                )
            }
            PartiqlTokenKind::Symbol(Symbol::OpenBag) => {
                self.advance();
                ExpressionNode::Bag(
                    self.nested(|parser| parser.list(Symbol::CloseBag, Precedence::Sum))?,
                )
            }
            PartiqlTokenKind::Symbol(Symbol::OpenBrace) => {
                self.advance();
                ExpressionNode::Tuple(self.nested(Self::tuple)?)
            }
            PartiqlTokenKind::Symbol(_) if self.comparator().is_some() => {
                return Err(StatementError::Syntax("Unexpected operator"));
            }
            PartiqlTokenKind::Symbol(_) | PartiqlTokenKind::End => return Err(TERM),
        };
        Ok(Expr { node, place })
    }

    fn literal(&mut self, node: ExpressionNode) -> ExpressionNode {
        self.advance();
        node
    }

    /// Parses a keyword that is a value, a call, or a document path.
    fn word(&mut self, word: &str, place: TokenPosition) -> Result<Expr, StatementError> {
        let constant = match word.to_ascii_uppercase().as_str() {
            "TRUE" => Some(ExpressionNode::Boolean(true)),
            "FALSE" => Some(ExpressionNode::Boolean(false)),
            "NULL" => Some(ExpressionNode::Null),
            "AND" | "OR" | "IS" | "IN" | "LIKE" | "BETWEEN" => {
                return Err(StatementError::Syntax("Unexpected operator"));
            }
            _ => None,
        };
        if let Some(node) = constant {
            return Ok(Expr {
                node: self.literal(node),
                place,
            });
        }
        if is_keyword(word) {
            return Err(StatementError::Syntax("Unexpected keyword"));
        }
        if self.is_symbol(1, Symbol::Open) {
            self.advance();
            self.advance();
            // COUNT(*) is parsed, to be refused as a column that is no path.
            let arguments =
                if word.eq_ignore_ascii_case("COUNT") && self.accept_symbol(Symbol::Star) {
                    self.expect_symbol(Symbol::Close, StatementError::Syntax("Expected ')'"))?;
                    Vec::new()
                } else {
                    self.nested(|parser| parser.list(Symbol::Close, Precedence::Or))?
                };
            return Ok(Expr {
                node: ExpressionNode::Call {
                    name: word.to_ascii_lowercase(),
                    arguments,
                },
                place,
            });
        }
        Ok(Expr {
            node: ExpressionNode::Path(self.path(TERM)?),
            place,
        })
    }

    /// Parses the rest of a tuple after its brace.
    fn tuple(&mut self) -> Result<Vec<(Expr, Expr)>, StatementError> {
        let mut members = Vec::new();
        if self.accept_symbol(Symbol::CloseBrace) {
            return Ok(members);
        }
        loop {
            // Any expression: a key that is no string is reported with its path, when values are
            // made.
            let key = self.level(Precedence::Sum)?;
            self.expect_symbol(
                Symbol::Colon,
                StatementError::Syntax("Expected ':' after a name"),
            )?;
            members.push((key, self.level(Precedence::Sum)?));
            if self.accept_symbol(Symbol::CloseBrace) {
                return Ok(members);
            }
            self.expect_symbol(Symbol::Comma, StatementError::Syntax("Expected ',' or '}'"))?;
        }
    }

    /// Parses a name that is no keyword, bare or in double quotes.
    ///
    /// # Errors
    /// `fault` if something else stands here.
    pub fn name(&mut self, fault: StatementError) -> Result<String, StatementError> {
        let name = match self.kind() {
            PartiqlTokenKind::ApiEnum(word) if !is_keyword(word) => word.clone(),
            PartiqlTokenKind::Quoted(text) => text.clone(),
            _ => return Err(fault),
        };
        self.advance();
        Ok(name)
    }

    /// Parses a document path.
    ///
    /// # Errors
    /// `fault` if none begins here; a bad step, an index out of range, more than 32 levels.
    pub fn path(&mut self, fault: StatementError) -> Result<DocumentPath, StatementError> {
        let head = self.name(fault)?;
        let mut rest = Vec::new();
        loop {
            if self.accept_symbol(Symbol::Dot) {
                rest.push(PathElement::Name(
                    self.name(StatementError::Syntax("Invalid path dot component"))?,
                ));
            } else if self.accept_symbol(Symbol::OpenBracket) {
                rest.push(self.bracket()?);
            } else {
                break;
            }
        }
        let path = DocumentPath { head, rest };
        check_levels(&path)?;
        Ok(path)
    }

    /// Parses the rest of `[n]` or `['name']`.
    fn bracket(&mut self) -> Result<PathElement, StatementError> {
        const FAULT: StatementError = StatementError::Syntax("Expected a list index in brackets");
        // `[-0]` is an index; any other negative one is out of range, not a fault of syntax.
        let is_negative = self.accept_symbol(Symbol::Minus);
        let place = self.place();
        let step = match self.kind().clone() {
            PartiqlTokenKind::Text(name) if !is_negative => PathElement::Name(name),
            PartiqlTokenKind::Number(digits)
                if digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                let index = digits.parse::<usize>().ok();
                let Some(index) =
                    index.filter(|index| *index <= LIST_INDEX_MAX && (!is_negative || *index == 0))
                else {
                    let sign = if is_negative { "-" } else { "" };
                    return Err(StatementError::ListIndex {
                        index: format!("{sign}{digits}"),
                        place,
                    });
                };
                PathElement::Index(index)
            }
            _ => return Err(FAULT),
        };
        self.advance();
        self.expect_symbol(Symbol::CloseBracket, FAULT)?;
        Ok(step)
    }
}

//! The lexer of the expression language (docs/dynamodb.md 7.2): text to tokens, for every
//! expression parameter. `partiql::lexer` has the tokens of statements.
//!
//! Lexing never fails: text that is no token becomes [`TokenKind::Unknown`], which no grammar
//! accepts, so that the parser reports the leftmost error. Keywords are identifiers here; the
//! grammars tell them apart by position. [`is_reserved`] knows the words that may not be bare names
//! of attributes (docs/dynamodb.md 3.1).

use std::sync::LazyLock;

use super::order::Comparator;
use crate::model::error::expression::ExpressionFault;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// `letter { letter | digit | "_" }`, keywords and function names included.
    Identifier,
    /// `#name`
    NameRef,
    /// `:value`
    ValueRef,
    Digits,
    Comparator(Comparator),
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Comma,
    Dot,
    Plus,
    Minus,
    End,
    Unknown,
}

/// A token and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: TokenKind,
    /// The text as written; empty at the end.
    pub text: &'a str,
    /// Byte offset in the source.
    pub start: usize,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// True if this is the keyword `word`. Keywords are case-insensitive.
    #[must_use]
    pub fn is_keyword(&self, word: &str) -> bool {
        self.kind == TokenKind::Identifier && self.text.eq_ignore_ascii_case(word)
    }
}

/// The tokens of a source with a reading position; the last one is [`TokenKind::End`].
#[derive(Debug)]
pub struct Tokens<'a> {
    source: &'a str,
    tokens: Vec<Token<'a>>,
    position: usize,
}

impl<'a> Tokens<'a> {
    #[must_use]
    pub fn new(source: &'a str) -> Self {
        let mut tokens = Vec::new();
        let mut start = 0;
        while let Some((token, next)) = scan(source, start) {
            tokens.push(token);
            start = next;
        }
        Self {
            source,
            tokens,
            position: 0,
        }
    }

    fn at(&self, index: usize) -> Token<'a> {
        let end = Token {
            kind: TokenKind::End,
            text: "",
            start: self.source.len(),
        };
        self.tokens.get(index).copied().unwrap_or(end)
    }

    /// Returns the number of tokens taken.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the token at the reading position.
    #[must_use]
    pub fn peek(&self) -> Token<'a> {
        self.at(self.position)
    }

    /// Returns the token after [`Self::peek`].
    #[must_use]
    pub fn peek_second(&self) -> Token<'a> {
        self.at(self.position + 1)
    }

    /// Takes the current token.
    pub fn advance(&mut self) -> Token<'a> {
        let token = self.peek();
        self.position += 1;
        token
    }

    /// Takes the current token if it is of `kind`; true if it was.
    pub fn accept(&mut self, kind: TokenKind) -> bool {
        let found = self.peek().kind == kind;
        self.position += usize::from(found);
        found
    }

    /// Takes the current token if it is the keyword `word`; true if it was.
    pub fn accept_keyword(&mut self, word: &str) -> bool {
        let found = self.peek().is_keyword(word);
        self.position += usize::from(found);
        found
    }

    /// Takes the current token, which must be of `kind`.
    ///
    /// # Errors
    /// A syntax error at the current token if it is of another kind.
    pub fn expect(&mut self, kind: TokenKind) -> Result<Token<'a>, ExpressionFault> {
        if self.peek().kind == kind {
            Ok(self.advance())
        } else {
            Err(self.syntax_error())
        }
    }

    /// Makes a syntax error at the current token. `near` is the source from the token before to the
    /// token after.
    #[must_use]
    pub fn syntax_error(&self) -> ExpressionFault {
        let offending = self.peek();
        let from = self
            .position
            .checked_sub(1)
            .map_or(offending.start, |before| self.at(before).start);
        let to = self.at(self.position + 1).end();
        // Both offsets are boundaries of tokens.
        debug_assert!(self.source.get(from..to).is_some());
        let token = if offending.kind == TokenKind::End {
            "<EOF>"
        } else {
            offending.text
        };
        ExpressionFault::Syntax {
            token: token.to_owned(),
            near: self.source.get(from..to).unwrap_or_default().to_owned(),
        }
    }
}

/// Returns the token at or after `start` and the offset behind it; `None` at the end.
fn scan(source: &str, start: usize) -> Option<(Token<'_>, usize)> {
    let rest = source.get(start..)?;
    // These four alone: to the service other blanks of Unicode are wrong tokens.
    let text = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    let first = text.chars().next()?;
    let (kind, length) = match first {
        'a'..='z' | 'A'..='Z' => (TokenKind::Identifier, word_length(text)),
        '0'..='9' => (
            TokenKind::Digits,
            text.bytes().take_while(u8::is_ascii_digit).count(),
        ),
        '#' => reference(text, TokenKind::NameRef),
        ':' => reference(text, TokenKind::ValueRef),
        // An identifier may not begin with an underscore; the whole word is the offending token.
        '_' => (TokenKind::Unknown, word_length(text)),
        _ => symbol(text, first),
    };
    let start = source.len() - text.len();
    Some((
        Token {
            kind,
            text: text.get(..length)?,
            start,
        },
        start + length,
    ))
}

/// Returns the bytes of letters, digits and underscores that `text` begins with.
fn word_length(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count()
}

/// Reads `#x` or `:x`; the sign alone is no token.
fn reference(text: &str, kind: TokenKind) -> (TokenKind, usize) {
    match word_length(text.get(1..).unwrap_or_default()) {
        0 => (TokenKind::Unknown, 1),
        length => (kind, 1 + length),
    }
}

fn symbol(text: &str, first: char) -> (TokenKind, usize) {
    // Tried before the signs of one character, with which these begin.
    let two = [
        ("<>", Comparator::NotEqual),
        ("<=", Comparator::LessOrEqual),
        (">=", Comparator::GreaterOrEqual),
    ];
    if let Some((_, comparator)) = two.iter().find(|(sign, _)| text.starts_with(sign)) {
        return (TokenKind::Comparator(*comparator), 2);
    }
    let kind = match first {
        '=' => TokenKind::Comparator(Comparator::Equal),
        '<' => TokenKind::Comparator(Comparator::Less),
        '>' => TokenKind::Comparator(Comparator::Greater),
        '(' => TokenKind::Open,
        ')' => TokenKind::Close,
        '[' => TokenKind::OpenBracket,
        ']' => TokenKind::CloseBracket,
        ',' => TokenKind::Comma,
        '.' => TokenKind::Dot,
        '+' => TokenKind::Plus,
        '-' => TokenKind::Minus,
        _ => TokenKind::Unknown,
    };
    (kind, first.len_utf8())
}

/// The words of the developer guide ("Reserved words in DynamoDB"), upper case, sorted by bytes for
/// binary search.
static RESERVED_WORDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("reserved_words.txt").lines().collect());

/// True if `word` is one of the 573 reserved words, in any case.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    RESERVED_WORDS.binary_search(&upper.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::order::Comparator::{
        Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual,
    };
    use TokenKind::*;

    fn check(source: &str, expected: &[(TokenKind, &str)]) {
        let tokens = Tokens::new(source).tokens;
        let found: Vec<(TokenKind, &str)> = tokens
            .iter()
            .map(|token| (token.kind, token.text))
            .collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn table_of_tokens() {
        check("", &[]);
        check(" \t\r\n", &[]);
        check(
            "a.b[10]",
            &[
                (Identifier, "a"),
                (Dot, "."),
                (Identifier, "b"),
                (OpenBracket, "["),
                (Digits, "10"),
                (CloseBracket, "]"),
            ],
        );
        check(
            "#1=:x_2",
            &[
                (NameRef, "#1"),
                (Comparator(Equal), "="),
                (ValueRef, ":x_2"),
            ],
        );
        check(
            "<><=>=<>",
            &[
                (Comparator(NotEqual), "<>"),
                (Comparator(LessOrEqual), "<="),
                (Comparator(GreaterOrEqual), ">="),
                (Comparator(NotEqual), "<>"),
            ],
        );
        check(
            "< >",
            &[(Comparator(Less), "<"), (Comparator(Greater), ">")],
        );
        check("_a b_", &[(Unknown, "_a"), (Identifier, "b_")]);
        check("# :", &[(Unknown, "#"), (Unknown, ":")]);
        check("é\u{a0}", &[(Unknown, "é"), (Unknown, "\u{a0}")]);
        check("1a", &[(Digits, "1"), (Identifier, "a")]);
        check(
            "(a)+-,",
            &[
                (Open, "("),
                (Identifier, "a"),
                (Close, ")"),
                (Plus, "+"),
                (Minus, "-"),
                (Comma, ","),
            ],
        );
    }

    #[test]
    fn a_syntax_error_shows_three_tokens() {
        let mut tokens = Tokens::new("a  =  = b c");
        tokens.advance();
        tokens.advance();
        assert_eq!(
            tokens.syntax_error(),
            ExpressionFault::Syntax {
                token: "=".into(),
                near: "=  = b".into()
            }
        );
        while tokens.peek().kind != End {
            tokens.advance();
        }
        assert_eq!(
            tokens.syntax_error(),
            ExpressionFault::Syntax {
                token: "<EOF>".into(),
                near: "c".into()
            }
        );
    }

    #[test]
    fn words_are_sorted_and_distinct() {
        assert_eq!(RESERVED_WORDS.len(), 573);
        assert!(RESERVED_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn every_word_is_found_in_any_case() {
        for word in RESERVED_WORDS.iter() {
            assert!(is_reserved(word), "{word}");
            assert!(is_reserved(&word.to_ascii_lowercase()), "{word}");
        }
        assert!(is_reserved("Status"));
    }

    #[test]
    fn other_words_are_free() {
        for word in ["", "pk", "GameTitle", "STATUSX", "TopScore"] {
            assert!(!is_reserved(word), "{word}");
        }
    }
}

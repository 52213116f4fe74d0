//! The lexer of PartiQL: names, quoted names, strings, numbers, `?` and signs. Comments (`-- …`,
//! `/* … */`) count as blanks. `parse` and `parse_expression` take the tokens.
//!
//! Text that is no token, a quotation or comment without its end, or a number with too large an
//! exponent makes the statement unreadable; the service has no further text for it.

use std::sync::LazyLock;

use crate::expr::order::Comparator;
use crate::model::error::StatementError;
use crate::model::error::statement::TokenPosition;

/// A sign of one or two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenBag,
    CloseBag,
    Comma,
    Dot,
    Colon,
    Semicolon,
    Star,
    Plus,
    Minus,
    Comparator(Comparator),
}

/// Longer signs before those that they begin with.
const SYMBOLS: &[(&str, Symbol)] = &[
    ("<<", Symbol::OpenBag),
    (">>", Symbol::CloseBag),
    ("<>", Symbol::Comparator(Comparator::NotEqual)),
    ("!=", Symbol::Comparator(Comparator::NotEqual)),
    ("<=", Symbol::Comparator(Comparator::LessOrEqual)),
    (">=", Symbol::Comparator(Comparator::GreaterOrEqual)),
    ("(", Symbol::Open),
    (")", Symbol::Close),
    ("[", Symbol::OpenBracket),
    ("]", Symbol::CloseBracket),
    ("{", Symbol::OpenBrace),
    ("}", Symbol::CloseBrace),
    (",", Symbol::Comma),
    (".", Symbol::Dot),
    (":", Symbol::Colon),
    (";", Symbol::Semicolon),
    ("*", Symbol::Star),
    ("+", Symbol::Plus),
    ("-", Symbol::Minus),
    ("=", Symbol::Comparator(Comparator::Equal)),
    ("<", Symbol::Comparator(Comparator::Less)),
    (">", Symbol::Comparator(Comparator::Greater)),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartiqlTokenKind {
    /// A bare name or a keyword, as written.
    ApiEnum(String),
    /// A name in double quotes.
    Quoted(String),
    /// A string in single quotes.
    Text(String),
    /// A number without a sign, as written; it may begin with its point.
    Number(String),
    /// `?`
    Parameter,
    Symbol(Symbol),
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartiqlToken {
    pub kind: PartiqlTokenKind,
    pub place: TokenPosition,
}

/// The text still to read, and its place.
struct Lexer<'s> {
    rest: &'s str,
    line: u32,
    column: u32,
}

/// Returns all tokens, the last one [`PartiqlTokenKind::End`].
pub fn tokens(statement: &str) -> Result<Vec<PartiqlToken>, StatementError> {
    let mut reader = Lexer {
        rest: statement,
        line: 1,
        column: 1,
    };
    let mut tokens = Vec::new();
    loop {
        reader.skip_blanks()?;
        let (line, column) = (reader.line, reader.column);
        let before = reader.rest;
        let kind = reader.token()?;
        let taken = before.len() - reader.rest.len();
        // A statement is far shorter than 2^32 characters.
        let length = u32::try_from(before[..taken].chars().count()).unwrap_or(u32::MAX);
        let is_end = kind == PartiqlTokenKind::End;
        tokens.push(PartiqlToken {
            kind,
            place: TokenPosition {
                line,
                column,
                length,
            },
        });
        if is_end {
            return Ok(tokens);
        }
    }
}

const UNREADABLE: StatementError = StatementError::Syntax("");

impl Lexer<'_> {
    /// Takes bytes, which end at a character, and counts lines and columns.
    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for character in taken.chars() {
            if character == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        taken
    }

    fn skip_blanks(&mut self) -> Result<(), StatementError> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.take(blanks);
            if self.rest.starts_with("--") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(end);
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or(UNREADABLE)?;
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<PartiqlTokenKind, StatementError> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(PartiqlTokenKind::End);
        };
        match first {
            '\'' => Ok(PartiqlTokenKind::Text(self.quoted('\'')?)),
            '"' => Ok(PartiqlTokenKind::Quoted(self.quoted('"')?)),
            '?' => {
                self.take(1);
                Ok(PartiqlTokenKind::Parameter)
            }
            '0'..='9' => self.number(),
            '.' if self
                .rest
                .get(1..)
                .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit())) =>
            {
                self.number()
            }
            _ if is_word_start(first) => {
                let end = self
                    .rest
                    .find(|character| !is_word_part(character))
                    .unwrap_or(self.rest.len());
                Ok(PartiqlTokenKind::ApiEnum(self.take(end).to_owned()))
            }
            _ => {
                let (text, sign) = SYMBOLS
                    .iter()
                    .find(|(text, _)| self.rest.starts_with(text))
                    .ok_or(UNREADABLE)?;
                self.take(text.len());
                Ok(PartiqlTokenKind::Symbol(*sign))
            }
        }
    }

    /// Takes a quotation and returns its content; a doubled quote is one quote.
    fn quoted(&mut self, quote: char) -> Result<String, StatementError> {
        let mut content = String::new();
        let mut characters = self.rest.char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character != quote {
                content.push(character);
            } else if characters.next_if(|(_, next)| *next == quote).is_some() {
                content.push(quote);
            } else {
                self.take(at + 1);
                return Ok(content);
            }
        }
        Err(UNREADABLE)
    }

    fn number(&mut self) -> Result<PartiqlTokenKind, StatementError> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            from + bytes[from..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count()
        };
        let mut end = digits(0);
        let mut fraction = 0;
        if bytes.get(end) == Some(&b'.') {
            let point = end;
            end = digits(point + 1);
            fraction = end - point - 1;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let stop = digits(end + 1 + sign);
            // Without digits behind it the `e` begins a word.
            if stop > end + 1 + sign {
                check_scale(&self.rest[end + 1..stop], fraction)?;
                end = stop;
            }
        }
        Ok(PartiqlTokenKind::Number(self.take(end).to_owned()))
    }
}

/// Checks that the exponent, and the digits after the point less the exponent, are 32-bit numbers.
fn check_scale(exponent: &str, fraction: usize) -> Result<(), StatementError> {
    let exponent: i32 = exponent.parse().map_err(|_| UNREADABLE)?;
    let scale = i64::try_from(fraction).map_err(|_| UNREADABLE)? - i64::from(exponent);
    i32::try_from(scale).map(|_| ()).map_err(|_| UNREADABLE)
}

fn is_word_start(character: char) -> bool {
    character.is_ascii_alphabetic() || matches!(character, '_' | '$')
}

fn is_word_part(character: char) -> bool {
    is_word_start(character) || character.is_ascii_digit()
}

/// Words that are no bare names; in double quotes they are names. They are the statements' own
/// words and those of SQL around them; the service reserves some more, which are taken as names
/// here.
static KEYWORDS: LazyLock<Vec<&str>> = LazyLock::new(|| KEYWORD_LIST.split(' ').collect());
const KEYWORD_LIST: &str = "\
    ALL AND ANY AS ASC BETWEEN BY CASE CAST CREATE CROSS DELETE DESC DISTINCT DROP ELSE \
    END ESCAPE EXCEPT EXEC FALSE FOR FROM FULL GROUP HAVING IN INDEX INNER INSERT \
    INTERSECT INTO IS JOIN LEFT LIKE LIMIT MISSING NATURAL NOT NULL OFFSET ON OR ORDER \
    OUTER PIVOT REMOVE RETURNING RIGHT SELECT SET SOME TABLE THEN TRUE UNION UNIQUE \
    UNPIVOT UPDATE VALUE VALUES WHEN WHERE WITH";

/// True for a word that is no bare name, in any case.
#[must_use]
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the tokens, each as written and its place, without the end; `None` for an unreadable
    /// text.
    fn check(statement: &str, expected: Option<&[(&str, &str)]>) {
        let shown = |token: &PartiqlToken| {
            let text = match &token.kind {
                PartiqlTokenKind::ApiEnum(text) | PartiqlTokenKind::Number(text) => text.clone(),
                PartiqlTokenKind::Quoted(text) => format!("\"{text}\""),
                PartiqlTokenKind::Text(text) => format!("'{text}'"),
                PartiqlTokenKind::Parameter => "?".to_owned(),
                PartiqlTokenKind::Symbol(sign) => format!("{sign:?}"),
                PartiqlTokenKind::End => String::new(),
            };
            (text, token.place.to_string())
        };
        let found = tokens(statement).ok().map(|tokens| {
            let shown: Vec<(String, String)> =
                tokens[..tokens.len() - 1].iter().map(shown).collect();
            shown
        });
        let expected = expected.map(|list| {
            list.iter()
                .map(|(text, place)| ((*text).to_owned(), (*place).to_owned()))
                .collect()
        });
        assert_eq!(found, expected, "{statement}");
    }

    #[test]
    fn tokens_and_places() {
        check("", Some(&[]));
        check(
            "SELECT/**/* -- x\n FROM",
            Some(&[("SELECT", "1:1:6"), ("Star", "1:11:1"), ("FROM", "2:2:4")]),
        );
        check(
            "n=n-1",
            Some(&[
                ("n", "1:1:1"),
                ("Comparator(Equal)", "1:2:1"),
                ("n", "1:3:1"),
                ("Minus", "1:4:1"),
                ("1", "1:5:1"),
            ]),
        );
        check(
            "'it''s' \"a\"\"b\"",
            Some(&[("'it's'", "1:1:7"), ("\"a\"b\"", "1:9:6")]),
        );
        check("'é' ?", Some(&[("'é'", "1:1:3"), ("?", "1:5:1")]));
        check(
            ".73e1 a.b -.5",
            Some(&[
                (".73e1", "1:1:5"),
                ("a", "1:7:1"),
                ("Dot", "1:8:1"),
                ("b", "1:9:1"),
                ("Minus", "1:11:1"),
                (".5", "1:12:2"),
            ]),
        );
        check(
            "1.50e-3 1e5 1e x",
            Some(&[
                ("1.50e-3", "1:1:7"),
                ("1e5", "1:9:3"),
                ("1", "1:13:1"),
                ("e", "1:14:1"),
                ("x", "1:16:1"),
            ]),
        );
        check(
            "<<1>>!=<=",
            Some(&[
                ("OpenBag", "1:1:2"),
                ("1", "1:3:1"),
                ("CloseBag", "1:4:2"),
                ("Comparator(NotEqual)", "1:6:2"),
                ("Comparator(LessOrEqual)", "1:8:2"),
            ]),
        );
        check("1e2147483647", Some(&[("1e2147483647", "1:1:12")]));
        for unreadable in [
            "'a",
            "\"a",
            "a # b",
            "a /* b",
            "1e2147483648",
            "1e99999999999",
            "1.5e-2147483647",
            "a \\ b",
            "é",
        ] {
            check(unreadable, None);
        }
    }
}

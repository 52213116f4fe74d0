//! A strict JSON pull parser: the caller takes values one by one, and errors have byte offsets. A
//! text that ends too early gives [`JsonFault::UnexpectedEnd`] wherever it ends. `plain_json`,
//! `dynamodb_json` and `document` read with it.
//!
//! serde_json's values do not serve: the last of two members with one name wins, numbers lose
//! digits, and faults have lines and columns instead of an offset.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::grammar::{BracketScanner, EscapeState, EscapeStep, NumberState};
use super::write::unescaped_len;
use super::{JsonError, JsonFault};
use crate::model::Number;
use crate::model::error::ValueError;

const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// Reads a whole text: one document, white space around it.
///
/// # Errors
/// The error of `document`, or a fault around it or in its bytes.
pub fn read_document<T>(
    text: &[u8],
    document: fn(&mut JsonReader<'_>) -> Result<T, JsonError>,
) -> Result<T, JsonError> {
    let read = |text| {
        let mut reader = JsonReader::new(text);
        let read = document(&mut reader)?;
        reader.end().map(|()| read)
    };
    if text.starts_with(BYTE_ORDER_MARK) {
        return Err(JsonError {
            offset: 0,
            fault: JsonFault::ByteOrderMark,
        });
    }
    let error = match std::str::from_utf8(text) {
        Ok(text) => return read(text),
        Err(error) => error,
    };
    // A fault before the bad bytes comes first; a character that is cut off at the end is an end
    // like any other.
    let offset = error.valid_up_to();
    let good = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    debug_assert_eq!(good.len(), offset);
    match read(good) {
        Ok(_) => Err(JsonError {
            offset,
            fault: JsonFault::TrailingData,
        }),
        Err(JsonError {
            fault: JsonFault::UnexpectedEnd,
            ..
        }) => match error.error_len() {
            None => Err(JsonError {
                offset: text.len(),
                fault: JsonFault::UnexpectedEnd,
            }),
            Some(_) => Err(JsonError {
                offset,
                fault: JsonFault::NotUtf8,
            }),
        },
        Err(earlier) => Err(earlier),
    }
}

/// A position in a text.
#[derive(Debug, Clone, Copy)]
pub struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> JsonReader<'a> {
    /// Creates a reader of a text that may end anywhere.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn bytes(&self) -> &'a [u8] {
        debug_assert!(self.at <= self.text.len());
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        let text = self.text.get(start..end);
        debug_assert!(text.is_some(), "{start}..{end} is no text");
        text.unwrap_or_default()
    }

    /// Returns the whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns an error at this position.
    pub fn error(&self, fault: impl Into<JsonFault>) -> JsonError {
        error_at(self.at, fault)
    }

    fn unexpected_end(&self) -> JsonError {
        error_at(self.text.len(), JsonFault::UnexpectedEnd)
    }

    /// Skips white space; returns the offset of the next token.
    pub fn offset(&mut self) -> usize {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.bytes().iter().take_while(|byte| blank(byte)).count();
        self.at
    }

    /// Returns the first byte of the next token.
    pub fn peek(&mut self) -> Result<u8, JsonError> {
        self.offset();
        self.bytes()
            .first()
            .copied()
            .ok_or_else(|| self.unexpected_end())
    }

    /// Takes a one-byte token.
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), JsonError> {
        if self.peek()? != byte {
            return Err(self.error(JsonFault::Expected(expected)));
        }
        self.at += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<(), JsonError> {
        self.offset();
        if self.bytes().is_empty() {
            Ok(())
        } else {
            Err(self.error(JsonFault::TrailingData))
        }
    }

    /// Reads `{…}`. `visit` gets every name and its offset, with the reader before the value, which
    /// it reads.
    pub fn members(
        &mut self,
        expected: &'static str,
        mut visit: impl FnMut(&mut Self, Cow<'a, str>, usize) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.expect(b'{', expected)?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let (name, offset) = self.name()?;
            visit(self, name, offset)?;
            if self.peek()? == b'}' {
                self.at += 1;
                return Ok(());
            }
            self.expect(b',', "',' or '}'")?;
        }
    }

    /// Reads a member's name and the colon.
    fn name(&mut self) -> Result<(Cow<'a, str>, usize), JsonError> {
        let offset = self.offset();
        let name = self.string("a member name in quotes")?;
        self.expect(b':', "':'")?;
        Ok((name, offset))
    }

    /// Reads `[…]`; `visit` reads every element.
    pub fn elements(
        &mut self,
        expected: &'static str,
        mut visit: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.expect(b'[', expected)?;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            visit(self)?;
            if self.peek()? == b']' {
                self.at += 1;
                return Ok(());
            }
            self.expect(b',', "',' or ']'")?;
        }
    }

    /// Reads a string.
    pub fn string(&mut self, expected: &'static str) -> Result<Cow<'a, str>, JsonError> {
        self.expect(b'"', expected)?;
        // Borrowed until an escape comes: a document keeps only the place of such a string.
        let mut text = Cow::Borrowed("");
        loop {
            let start = self.at;
            self.at += unescaped_len(self.bytes());
            let run = self.slice(start, self.at);
            if text.is_empty() {
                text = Cow::Borrowed(run);
            } else {
                text.to_mut().push_str(run);
            }
            match self.bytes().first() {
                None => return Err(self.unexpected_end()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let character = self.escape()?;
                    text.to_mut().push(character);
                }
                Some(_) => return Err(self.error(JsonFault::ControlCharacter)),
            }
        }
    }

    /// Reads a backslash and what follows.
    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        let mut escape = EscapeState::Letter;
        loop {
            self.at += 1;
            let byte = *self.bytes().first().ok_or_else(|| self.unexpected_end())?;
            match escape.step(byte).map_err(|fault| error_at(start, fault))? {
                EscapeStep::More(more) => escape = more,
                EscapeStep::Character(character) => {
                    self.at += 1;
                    return Ok(character);
                }
            }
        }
    }

    /// Reads a string that is base64: standard alphabet, with padding.
    pub fn base64(&mut self) -> Result<Vec<u8>, JsonError> {
        let offset = self.offset();
        let text = self.string("a string of base64")?;
        STANDARD
            .decode(text.as_bytes())
            .map_err(|_| error_at(offset, JsonFault::Base64))
    }

    /// Reads a string that spells a number, by DynamoDB's grammar.
    pub fn number_string(&mut self) -> Result<Number, JsonError> {
        let offset = self.offset();
        let text = self.string("a number in quotes")?;
        text.parse()
            .map_err(|error| error_at(offset, ValueError::Number(error)))
    }

    /// Reads a JSON number, all its digits kept.
    pub fn number(&mut self) -> Result<Number, JsonError> {
        let start = self.offset();
        self.number_token()?;
        // The value counts only once the number is complete: more digits or an exponent may follow.
        if self.bytes().is_empty() {
            return Err(self.unexpected_end());
        }
        self.slice(start, self.at)
            .parse()
            .map_err(|error| error_at(start, ValueError::Number(error)))
    }

    /// Reads a JSON number as it is spelled.
    pub fn number_text(&mut self) -> Result<&'a str, JsonError> {
        let start = self.offset();
        self.number_token()?;
        Ok(self.slice(start, self.at))
    }

    fn number_token(&mut self) -> Result<(), JsonError> {
        let mut place = NumberState::Start;
        for &byte in self.bytes() {
            let Some(next) = place.next(byte) else { break };
            place = next;
            self.at += 1;
        }
        match self.bytes() {
            _ if place.is_complete() => Ok(()),
            [] => Err(self.unexpected_end()),
            _ => Err(self.error(JsonFault::Expected("a digit"))),
        }
    }

    /// Reads `true`, `false` or `null`.
    pub fn literal(&mut self, expected: &'static str) -> Result<Option<bool>, JsonError> {
        self.offset();
        for (text, value) in [("true", Some(true)), ("false", Some(false)), ("null", None)] {
            let bytes = self.bytes();
            if bytes.starts_with(text.as_bytes()) {
                self.at += text.len();
                return Ok(value);
            }
            if text.as_bytes().starts_with(bytes) {
                return Err(self.unexpected_end());
            }
        }
        Err(self.error(JsonFault::Expected(expected)))
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool, JsonError> {
        let offset = self.offset();
        self.literal("true or false")?
            .ok_or(error_at(offset, JsonFault::Expected("true or false")))
    }

    /// Skips a value of any depth. An open bracket costs one byte, not a stack frame.
    pub fn skip_value(&mut self) -> Result<(), JsonError> {
        let mut open = Vec::new();
        loop {
            let is_opened = self.skip_start(&mut open)?;
            if !is_opened && !self.skip_ends(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Takes a scalar or an empty list or object and returns `false`; or takes the bracket and the
    /// name before the first value of a list or object, pushes the closing bracket and returns
    /// `true`.
    fn skip_start(&mut self, open: &mut Vec<u8>) -> Result<bool, JsonError> {
        let end = match self.peek()? {
            b'{' => b'}',
            b'[' => b']',
            b'"' => return self.string("a string").map(|_| false),
            b'-' | b'0'..=b'9' => return self.number_token().map(|()| false),
            _ => return self.literal("a JSON value").map(|_| false),
        };
        self.at += 1;
        if self.peek()? == end {
            self.at += 1;
            return Ok(false);
        }
        open.push(end);
        self.skip_name(end)?;
        Ok(true)
    }

    /// Takes the brackets that close after a value, and the comma before the next value; true if
    /// there is a next value.
    fn skip_ends(&mut self, open: &mut Vec<u8>) -> Result<bool, JsonError> {
        while let Some(&end) = open.last() {
            if self.peek()? != end {
                self.expect(
                    b',',
                    if end == b'}' {
                        "',' or '}'"
                    } else {
                        "',' or ']'"
                    },
                )?;
                return self.skip_name(end).map(|()| true);
            }
            self.at += 1;
            open.pop();
        }
        Ok(false)
    }

    /// Reads the name before a value, if the container that ends with `end` is an object.
    fn skip_name(&mut self, end: u8) -> Result<(), JsonError> {
        if end == b'}' {
            self.name().map(drop)
        } else {
            Ok(())
        }
    }

    /// Looks ahead for an object with exactly one member whose name starts with `$`; returns the
    /// name, its offset, and a reader at the value.
    pub fn lone_tag(&self) -> Result<Option<(Cow<'a, str>, usize, Self)>, JsonError> {
        let mut ahead = *self;
        ahead.expect(b'{', "an object")?;
        if ahead.peek()? != b'"' {
            return Ok(None);
        }
        // `$` may be spelled as an escape.
        match ahead.bytes().get(1) {
            None => return Err(ahead.unexpected_end()),
            Some(b'$' | b'\\') => {}
            Some(_) => return Ok(None),
        }
        let (name, offset) = ahead.name()?;
        if !name.starts_with('$')
            || !BracketScanner::inside()
                .is_last(ahead.bytes())
                .ok_or_else(|| ahead.unexpected_end())?
        {
            return Ok(None);
        }
        Ok(Some((name, offset, ahead)))
    }
}

/// Returns an error at an offset.
pub fn error_at(offset: usize, fault: impl Into<JsonFault>) -> JsonError {
    JsonError {
        offset,
        fault: fault.into(),
    }
}

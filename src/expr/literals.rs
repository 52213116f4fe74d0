//! Expressions with literals, a translator to the API's expressions: names and values stand in the
//! text, and become placeholders. This is the one dialect of `X.update`, its `IF`, and `where=`,
//! for users of the mount.
//!
//! ```text
//! SET n = n + 1, status = "open", tags = ["a"] REMOVE tmp IF n < 10 AND size(tags) > 0
//!
//! name    letters, digits, _ $ @, not first a digit; in conditions also -; a reserved word is fine; any other name `in backquotes`
//! value   'text'  "text"  12  -1.5e3  true  false  null  b"bytes"  ["a",1]  {"$ss":["a"]}
//! rest    as in the API's expressions; in conditions also == and !=
//! ```
//! A quote is written twice inside its like; in double quotes a backslash begins an escape as in
//! JSON, and is itself where it does not. Lists, maps and sets are plain JSON. `IF` begins the
//! condition of an update. The position of a word makes it a keyword, a function or a name: a
//! keyword comes after an operand, a function before `(`. In a condition `true`, `false` and `null`
//! are values, before `=` too; in an update they are names before `=`.
//!
//! Values become `:` placeholders, names that need it `#` placeholders; the result is an expression
//! of the API, which `condition` and `update` parse.
//!
//! A text may have bytes that were written as `%XX`, as the name of a directory has. Such a byte
//! means itself inside names and quotes; outside of them it is read like the bare one, so that a
//! wholly escaped text works too: a string that `%22` opens is closed by `%22`.

use std::collections::BTreeMap;

use super::lexer::is_reserved;
use crate::codec::json::JsonFault;
use crate::codec::json::grammar::{BracketScanner, EscapeState, EscapeStep};
use crate::codec::plain_json;
use crate::model::AttributeValue;
use crate::model::api::Placeholders;
use crate::model::error::NumberError;

/// The same for users, in `help` and in the text of `X.update`.
pub const SYNTAX_HELP: &str = "\
Write values in place: 'a' and \"a\" strings (a quote inside twice, in double quotes also JSON's escapes), numbers, true, false,
null, b\"bytes\", plain JSON lists and maps. Reserved words can be written as they are; put names with other characters in `backquotes`.
";

/// A byte of a text, with a flag that it was written as `%XX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceByte {
    pub byte: u8,
    pub is_escaped: bool,
}

impl SourceByte {
    /// Returns the bytes of a text without escapes.
    #[must_use]
    pub fn unescaped(text: &str) -> Vec<Self> {
        let unescaped = |byte| Self {
            byte,
            is_escaped: false,
        };
        text.bytes().map(unescaped).collect()
    }
}

/// An expression of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiExpression {
    pub text: String,
    pub placeholders: Placeholders,
}

/// An update, its condition, and the placeholders of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUpdate {
    /// `None`: nothing before `IF`.
    pub update: Option<String>,
    pub condition: Option<String>,
    pub placeholders: Placeholders,
}

/// A fault in a text, and the offset of its first byte.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct LiteralError {
    pub offset: usize,
    pub fault: LiteralFault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LiteralFault {
    /// A text in this quote.
    #[error("the closing quote is missing")]
    OpenQuote(char),
    #[error("the closing bracket is missing")]
    OpenBracket,
    #[error("a text is not UTF-8")]
    NotUtf8,
    #[error("{0}")]
    Json(JsonFault),
    #[error("{error}")]
    Number { text: String, error: NumberError },
    #[error("there are no placeholders where values stand in the text")]
    Placeholder,
    #[error("a name is missing after '.'")]
    NoName,
    #[error("between [ and ] is the number of an element")]
    Index,
    #[error("'{}' has no meaning here", .0.escape_default())]
    NoMeaning(char),
}

impl LiteralError {
    /// True if more text may mend it.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        matches!(
            self.fault,
            LiteralFault::OpenQuote(_) | LiteralFault::OpenBracket | LiteralFault::NoName
        )
    }
}

/// Converts a condition or filter expression.
///
/// # Errors
/// A bad literal or sign; the parser finds other faults.
pub fn condition(text: &[SourceByte]) -> Result<ApiExpression, LiteralError> {
    let mut extractor = Extractor::new(text, false);
    extractor.run()?;
    Ok(ApiExpression {
        text: extractor.out.trim().to_owned(),
        placeholders: Placeholders::new(extractor.names, extractor.values),
    })
}

/// Converts an update expression, and after `IF` its condition.
///
/// # Errors
/// A bad literal or sign; the parser finds other faults.
pub fn update(text: &str) -> Result<ApiUpdate, LiteralError> {
    let units = SourceByte::unescaped(text);
    let mut extractor = Extractor::new(&units, true);
    extractor.run()?;
    let out = extractor.out.as_str();
    let (update, condition) = match extractor.condition_at {
        Some(at) => {
            let (update, condition) = out.split_at(at);
            (update, Some(condition.trim().to_owned()))
        }
        None => (out, None),
    };
    let update = Some(update.trim().to_owned()).filter(|update| !update.is_empty());
    Ok(ApiUpdate {
        update,
        condition,
        placeholders: Placeholders::new(extractor.names, extractor.values),
    })
}

/// The longest part of a value that its placeholder shows.
const ALIAS_BYTES_MAX: usize = 20;

fn alias<T: PartialEq>(
    sign: char,
    text: &str,
    meaning: T,
    aliases: &mut BTreeMap<String, T>,
) -> String {
    let word: String = text
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .take(ALIAS_BYTES_MAX)
        .collect();
    let word = if word.is_empty() {
        "v".to_owned()
    } else {
        word
    };
    let mut alias = format!("{sign}{word}");
    let mut number = 1;
    while aliases.get(&alias).is_some_and(|other| *other != meaning) {
        number += 1;
        alias = format!("{sign}{word}_{number}");
    }
    aliases.insert(alias.clone(), meaning);
    alias
}

struct Extractor<'a> {
    units: &'a [SourceByte],
    at: usize,
    is_update: bool,
    out: String,
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
    /// True if the token before ended an operand: an operator or a keyword follows.
    after_operand: bool,
    /// True if the token before was the dot of a document path.
    after_dot: bool,
    /// True in ADD or DELETE, where a value follows a document path.
    value_follows: bool,
    /// Offset in `out` at which the condition of an update begins.
    condition_at: Option<usize>,
}

impl<'a> Extractor<'a> {
    fn new(units: &'a [SourceByte], is_update: bool) -> Self {
        Self {
            units,
            at: 0,
            is_update,
            out: String::with_capacity(units.len()),
            names: BTreeMap::new(),
            values: BTreeMap::new(),
            after_operand: false,
            after_dot: false,
            value_follows: false,
            condition_at: None,
        }
    }

    fn run(&mut self) -> Result<(), LiteralError> {
        while let Some(unit) = self.peek(0) {
            match unit.byte {
                b'"' | b'\'' => self.string()?,
                b'b' | b'B'
                    if !self.after_dot
                        && self.expects_value()
                        && matches!(self.byte(1), b'"' | b'\'') =>
                {
                    self.binary()?
                }
                b'`' => self.quoted_name()?,
                _ if self.after_dot && self.is_name_byte(unit) => self.word()?,
                b'0'..=b'9' => self.number()?,
                b'-' | b'.' if self.begins_number() => self.number()?,
                b'[' if !unit.is_escaped && self.after_operand => self.index()?,
                b'[' | b'{' if !unit.is_escaped => self.json()?,
                b'#' | b':' if !unit.is_escaped => {
                    return Err(self.error(LiteralFault::Placeholder));
                }
                _ if begins_name(unit) => self.word()?,
                byte => self.sign(byte)?,
            }
        }
        Ok(())
    }

    /// Returns the units from `offset` ahead on.
    fn rest(&self, offset: usize) -> &'a [SourceByte] {
        self.units.get(self.at + offset..).unwrap_or_default()
    }

    fn peek(&self, offset: usize) -> Option<SourceByte> {
        self.rest(offset).first().copied()
    }

    /// Returns the byte of a unit, 0 behind the end.
    fn byte(&self, offset: usize) -> u8 {
        self.peek(offset).map_or(0, |unit| unit.byte)
    }

    /// Returns the bytes of the next `count` units.
    fn bytes(&self, count: usize) -> Vec<u8> {
        let next = self.rest(0).iter().take(count);
        next.map(|unit| unit.byte).collect()
    }

    /// Returns the number of the next units for which `is_such` is true.
    fn count_while(&self, is_such: impl Fn(SourceByte) -> bool) -> usize {
        let next = self.rest(0).iter();
        next.take_while(|unit| is_such(**unit)).count()
    }

    /// Returns the first byte behind the next `count` units that is not blank.
    fn next_nonblank(&self, count: usize) -> u8 {
        let mut behind = self.rest(count).iter().map(|unit| unit.byte);
        behind.find(|byte| !byte.is_ascii_whitespace()).unwrap_or(0)
    }

    fn expects_value(&self) -> bool {
        !self.after_operand || self.value_follows
    }

    /// True if a number begins here. A minus or a point belongs to a number if no operand is before
    /// it. In a condition, which has no arithmetic, a minus begins one anywhere.
    fn begins_number(&self) -> bool {
        let is_digit = self.byte(1).is_ascii_digit();
        (self.expects_value() && is_digit) || (self.byte(0) == b'-' && !self.in_update())
    }

    /// True for a byte inside a name.
    fn is_name_byte(&self, unit: SourceByte) -> bool {
        begins_name(unit) || unit.byte.is_ascii_digit() || (unit.byte == b'-' && !self.in_update())
    }

    fn error(&self, fault: LiteralFault) -> LiteralError {
        LiteralError {
            offset: self.at,
            fault,
        }
    }

    fn operand(&mut self, text: &str, count: usize) {
        self.out.push_str(text);
        self.at += count;
        self.after_operand = true;
        self.after_dot = false;
    }

    /// Takes a value. Its alias shows it as it was written, so that errors with it can be read.
    fn value(&mut self, value: AttributeValue, count: usize) {
        let bytes = self.bytes(count);
        let written = String::from_utf8_lossy(&bytes);
        let alias = alias(':', &written, value, &mut self.values);
        self.operand(&alias, count);
    }

    fn aliased_name(&mut self, name: &str, count: usize) {
        let alias = alias('#', name, name.to_owned(), &mut self.names);
        self.operand(&alias, count);
    }

    /// Returns the text in the quotes that begin `offset` units ahead, and the number of units with the
    /// quotes.
    fn quoted(&self, offset: usize) -> Result<(Vec<u8>, usize), LiteralError> {
        let Some(quote) = self.peek(offset) else {
            return Ok((Vec::new(), offset));
        };
        let (mut bytes, mut end) = (Vec::new(), offset + 1);
        while let Some(unit) = self.peek(end) {
            let escaped = if quote.byte == b'"' && unit.byte == b'\\' && !unit.is_escaped {
                self.escape(end + 1)
            } else {
                None
            };
            match escaped {
                Some((character, count)) => {
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    end += 1 + count;
                }
                None if unit != quote => {
                    bytes.push(unit.byte);
                    end += 1;
                }
                None if self.peek(end + 1) == Some(quote) => {
                    bytes.push(unit.byte);
                    end += 2;
                }
                None => return Ok((bytes, end + 1)),
            }
        }
        Err(self.error(LiteralFault::OpenQuote(quote.byte.into())))
    }

    /// Returns the character of an escape with its backslash before `offset`, and its number of units;
    /// `None` if it is no escape.
    fn escape(&self, offset: usize) -> Option<(char, usize)> {
        let mut escape = EscapeState::Letter;
        for count in 1.. {
            match escape.step(self.byte(offset + count - 1)).ok()? {
                EscapeStep::More(more) => escape = more,
                EscapeStep::Character(character) => return Some((character, count)),
            }
        }
        None
    }

    fn quoted_text(&self) -> Result<(String, usize), LiteralError> {
        let (bytes, count) = self.quoted(0)?;
        Ok((
            String::from_utf8(bytes).map_err(|_| self.error(LiteralFault::NotUtf8))?,
            count,
        ))
    }

    fn string(&mut self) -> Result<(), LiteralError> {
        let (text, count) = self.quoted_text()?;
        self.value(AttributeValue::S(text), count);
        Ok(())
    }

    fn binary(&mut self) -> Result<(), LiteralError> {
        let (bytes, count) = self.quoted(1)?;
        self.value(AttributeValue::B(bytes), count);
        Ok(())
    }

    fn quoted_name(&mut self) -> Result<(), LiteralError> {
        let (name, count) = self.quoted_text()?;
        self.aliased_name(&name, count);
        Ok(())
    }

    fn number(&mut self) -> Result<(), LiteralError> {
        // Without arithmetic, every text that could be meant as a number is read as one, so that
        // the error shows a date or a name as a whole.
        let is_of_number = |unit: SourceByte| {
            unit.byte.is_ascii_alphanumeric()
                || matches!(unit.byte, b'.' | b'-' | b'+' | b'_' | b':')
        };
        let count = self.count_while(is_of_number);
        let count = if self.in_update() {
            number_len(&self.bytes(count))
        } else {
            count
        };
        let text = String::from_utf8_lossy(&self.bytes(count)).into_owned();
        let number = text
            .parse()
            .map_err(|error| self.error(LiteralFault::Number { text, error }))?;
        self.value(AttributeValue::N(number), count);
        Ok(())
    }

    /// Takes `[12]` of a document path.
    fn index(&mut self) -> Result<(), LiteralError> {
        let count = self.count_while(|unit| unit.byte != b']') + 1;
        let text = String::from_utf8_lossy(&self.bytes(count)).into_owned();
        let digits = text.trim_start_matches('[').trim_end_matches(']').trim();
        let is_number = !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && text.ends_with(']');
        if !is_number && !self.in_update() {
            return Err(self.error(LiteralFault::Index));
        }
        self.operand(&text, count);
        Ok(())
    }

    fn json(&mut self) -> Result<(), LiteralError> {
        let mut brackets = BracketScanner::default();
        let mut rest = self.rest(0).iter();
        let last = rest.position(|unit| brackets.end(&[unit.byte]).is_some());
        let count = last.ok_or_else(|| self.error(LiteralFault::OpenBracket))? + 1;
        let value = plain_json::parse_value(&self.bytes(count));
        let value = value.map_err(|error| LiteralError {
            offset: self.at + error.offset,
            fault: LiteralFault::Json(error.fault),
        })?;
        self.value(value, count);
        Ok(())
    }

    fn word(&mut self) -> Result<(), LiteralError> {
        let count = self.count_while(|unit| self.is_name_byte(unit));
        let word =
            String::from_utf8(self.bytes(count)).map_err(|_| self.error(LiteralFault::NotUtf8))?;
        let is_bare =
            !self.after_dot && self.rest(0).iter().take(count).all(|unit| !unit.is_escaped);
        let next = self.next_nonblank(count);
        if is_bare && self.is_keyword(&word, next) {
            self.keyword(&word, count);
        } else if is_bare && next == b'(' {
            self.push_sign(&word, count);
        } else if let Some(value) =
            constant(&word).filter(|_| is_bare && self.is_constant_before(next))
        {
            self.value(value, count);
        } else {
            self.name(&word, count);
        }
        Ok(())
    }

    /// True if `true`, `false` or `null` is a value before this byte. It is a name before a step of a
    /// path, and before `=` in an update, where it is the target.
    fn is_constant_before(&self, next: u8) -> bool {
        let is_sign = matches!(next, b'=' | b'<' | b'>');
        !matches!(next, b'.' | b'[') && (!self.in_update() || !is_sign)
    }

    fn is_keyword(&self, word: &str, next: u8) -> bool {
        let is = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
        let is_start = self.out.trim().is_empty();
        if self.in_update() {
            return (self.after_operand || is_start)
                && is(&["SET", "REMOVE", "ADD", "DELETE", "IF"]);
        }
        match self.after_operand {
            true => is(&["AND", "OR", "BETWEEN", "IN"]),
            false => is(&["NOT"]) && !matches!(next, b'=' | b'<' | b'>' | b'.' | b'[' | 0),
        }
    }

    fn in_update(&self) -> bool {
        self.is_update && self.condition_at.is_none()
    }

    fn keyword(&mut self, word: &str, count: usize) {
        if self.in_update() && word.eq_ignore_ascii_case("IF") {
            self.at += count;
            self.after_operand = false;
            self.value_follows = false;
            self.condition_at = Some(self.out.len());
            return;
        }
        self.value_follows = self.in_update()
            && ["ADD", "DELETE"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known));
        self.push_sign(word, count);
    }

    fn name(&mut self, word: &str, count: usize) {
        let is_plain = word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_plain
            && word.starts_with(|first: char| first.is_ascii_alphabetic())
            && !is_reserved(word)
        {
            return self.operand(word, count);
        }
        self.aliased_name(word, count);
    }

    /// Takes a sign or blank as it is; the dialect's own spellings become those of the API.
    fn sign(&mut self, byte: u8) -> Result<(), LiteralError> {
        if byte.is_ascii_whitespace() {
            self.out.push(char::from(byte));
            self.at += 1;
            return Ok(());
        }
        let (text, count) = match (byte, self.byte(1)) {
            _ if self.in_update() => (char::from(byte).to_string(), 1),
            (b'<', b'>') | (b'!', b'=') => ("<>".to_owned(), 2),
            (b'<' | b'>', b'=') => (format!("{}=", char::from(byte)), 2),
            (b'=', b'=') => ("=".to_owned(), 2),
            (b'.', _) if !self.name_follows() => return Err(self.error(LiteralFault::NoName)),
            (b'=' | b'<' | b'>' | b'(' | b')' | b',' | b'.', _) => {
                (char::from(byte).to_string(), 1)
            }
            _ => return Err(self.error(LiteralFault::NoMeaning(char::from(byte)))),
        };
        self.push_sign(&text, count);
        self.after_operand = byte == b')';
        self.after_dot = byte == b'.';
        Ok(())
    }

    /// True if a name follows the dot here.
    fn name_follows(&self) -> bool {
        let mut behind = self.rest(1).iter();
        behind
            .find(|unit| !unit.byte.is_ascii_whitespace())
            .copied()
            .is_some_and(|unit| unit.byte == b'`' || self.is_name_byte(unit))
    }

    fn push_sign(&mut self, text: &str, count: usize) {
        self.out.push_str(text);
        self.at += count;
        self.after_operand = false;
        self.after_dot = false;
    }
}

/// Returns a name as a condition has it: in backquotes where it would be read as something else.
#[must_use]
pub fn name_text(name: &str) -> String {
    let is_of_name = |byte: u8| byte.is_ascii_digit() || byte == b'-' || is_letter(byte);
    let is_bare = name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(is_of_name)
        && !name.eq_ignore_ascii_case("not")
        && constant(name).is_none();
    if is_bare {
        name.to_owned()
    } else {
        format!("`{}`", name.replace('`', "``"))
    }
}

fn constant(word: &str) -> Option<AttributeValue> {
    match word {
        "true" => Some(AttributeValue::Bool(true)),
        "false" => Some(AttributeValue::Bool(false)),
        "null" => Some(AttributeValue::Null),
        _ => None,
    }
}

/// True if a name can begin with this byte. An escaped byte may be anywhere in a name, save a digit
/// and a byte with a meaning outside of names.
fn begins_name(unit: SourceByte) -> bool {
    let has_meaning = unit.byte.is_ascii_whitespace()
        || unit.byte.is_ascii_digit()
        || matches!(
            unit.byte,
            b'\'' | b'"' | b'`' | b'=' | b'<' | b'>' | b'!' | b'(' | b')' | b',' | b'-'
        );
    is_letter(unit.byte) || (unit.is_escaped && !has_meaning)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'@') || !byte.is_ascii()
}

/// Returns the bytes of the number that `text` begins with, its sign included.
fn number_len(text: &[u8]) -> usize {
    let digits = |from: usize| {
        from + text
            .iter()
            .skip(from)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = digits(usize::from(text.starts_with(b"-")));
    if text.get(end) == Some(&b'.') && is_digit(end + 1) {
        end = digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        if is_digit(end + 1 + sign) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(text: &str) -> Vec<SourceByte> {
        text.bytes()
            .map(|byte| SourceByte {
                byte,
                is_escaped: false,
            })
            .collect()
    }

    /// Shows the expression, the condition after ` IF `, then names and values as `alias=…`.
    fn shown(update: Option<&str>, condition: Option<&str>, placeholders: &Placeholders) -> String {
        let mut parts = vec![update.unwrap_or("-").to_owned()];
        parts.extend(condition.map(|condition| format!("IF {condition}")));
        let names = placeholders
            .names
            .iter()
            .flatten()
            .map(|(alias, name)| format!("{alias}={name}"));
        let values = placeholders.values.iter().flatten().map(|(alias, value)| {
            let mut line = Vec::new();
            plain_json::write_line(
                &crate::model::Item::from([("v", value.clone())]),
                &[],
                &mut line,
            );
            let line = String::from_utf8(line).unwrap();
            format!("{alias}={}", &line[5..line.len() - 2])
        });
        parts.extend(names);
        parts.extend(values);
        parts.join(" | ")
    }

    #[test]
    fn table_of_updates() {
        let check = |text: &str, expected: &str| {
            let found = match update(text) {
                Ok(found) => shown(
                    found.update.as_deref(),
                    found.condition.as_deref(),
                    &found.placeholders,
                ),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{text}");
        };
        check(
            "SET n = n + 1 REMOVE tmp IF n < 10",
            "SET n = n + :1 REMOVE tmp | IF n < :10 | :1=1 | :10=10",
        );
        check("set a=1,b=a-1", "set a=:1,b=a-:1 | :1=1");
        check("SET a = -1.50e2", "SET a = :150e2 | :150e2=-150");
        check(
            "SET a = \"x\\ny\", b = 'it''s'",
            "SET a = :xny, b = :its | :its=\"it's\" | :xny=\"x\\ny\"",
        );
        check(
            "SET a = 'x', b = \"x!\"",
            "SET a = :x, b = :x_2 | :x=\"x\" | :x_2=\"x!\"",
        );
        check(
            "SET status = true, d.status[0].name = null",
            "SET #status = :true, d.#status[0].#name = :null | #name=name | #status=status | :null=null | :true=true",
        );
        check(
            "SET l[1] = [1, \"]\", {\"a\":2}]",
            "SET l[1] = :1a2 | :1a2=[1,\"]\",{\"a\":2}]",
        );
        check(
            "ADD views -1, tags {\"$ss\":[\"a\"]} DELETE old {\"$ns\":[1]}",
            "ADD #views :1, tags :ssa DELETE #old :ns1 | #old=old | #views=views | :1=-1 | :ns1={\"$ns\":[1]} | :ssa={\"$ss\":[\"a\"]}",
        );
        check(
            "ADD views 1 IF attribute_exists(pk)",
            "ADD #views :1 | IF attribute_exists(pk) | #views=views | :1=1",
        );
        check(
            "REMOVE if, set IF NOT contains(tags, 'a') AND n IN (1,2)",
            "REMOVE #if, #set | IF NOT contains(tags, :a) AND n IN (:1,:2) | #if=if | #set=set | :1=1 | :2=2 | :a=\"a\"",
        );
        check(
            "IF n BETWEEN 1 AND 2 OR (n = 5)",
            "- | IF n BETWEEN :1 AND :2 OR (n = :5) | :1=1 | :2=2 | :5=5",
        );
        check(
            "SET `my-name` = if_not_exists(`my-name`, 0) + 1",
            "SET #myname = if_not_exists(#myname, :0) + :1 | #myname=my-name | :0=0 | :1=1",
        );
        check("SET _a = é", "SET #_a = #v | #_a=_a | #v=é");
        check(
            "SET a = #b",
            "there are no placeholders where values stand in the text at byte 8",
        );
        check(
            "SET a = :b",
            "there are no placeholders where values stand in the text at byte 8",
        );
        check("SET a = 'x", "the closing quote is missing at byte 8");
        check("SET a = [1,", "the closing bracket is missing at byte 8");
        check("SET a = [1,,]", "expected a JSON value at byte 11");
        check(
            "SET a = 1e999",
            "Number overflow. Attempting to store a number with magnitude larger than supported range at byte 8",
        );
        check(
            "SET not = 1 IF NOT not = 2",
            "SET #not = :1 | IF NOT #not = :2 | #not=not | :1=1 | :2=2",
        );
    }

    /// Checks that a condition means the same behind `IF` and in `where=`.
    #[test]
    fn one_dialect() {
        let check = |text: &str, expected: &str| {
            let found = condition(&units(text))
                .map(|found| shown(Some(&found.text), None, &found.placeholders));
            let found = found.unwrap_or_else(|error| error.fault.to_string());
            assert_eq!(found, expected, "{text}");
            let updated = update(&format!("IF {text}"));
            let updated =
                updated.map(|found| shown(found.condition.as_deref(), None, &found.placeholders));
            assert_eq!(
                updated.unwrap_or_else(|error| error.fault.to_string()),
                expected,
                "IF {text}"
            );
        };
        check(r#"a = "say ""hi""""#, r#"a = :sayhi | :sayhi="say \"hi\"""#);
        check(
            r#"a = "x\n\u00e9\"""#,
            r#"a = :xnu00e9 | :xnu00e9="x\né\"""#,
        );
        check(r#"a = "C:\dir""#, r#"a = :Cdir | :Cdir="C:\\dir""#);
        check(r"a = 'x\n'", r#"a = :xn | :xn="x\\n""#);
        check("a == 1 AND b != 2", "a = :1 AND b <> :2 | :1=1 | :2=2");
        check("h = b'a'", r#"h = :ba | :ba={"$b64":"YQ=="}"#);
        check(
            "tags = [1,\"]\"] OR m = {\"$ss\":[\"a\"]}",
            r#"tags = :1 OR m = :ssa | :1=[1,"]"] | :ssa={"$ss":["a"]}"#,
        );
        check(
            "ship-date = 1 AND $x < .5",
            "#shipdate = :1 AND #x < :5 | #shipdate=ship-date | #x=$x | :1=1 | :5=0.5",
        );
        check(
            "`a``b`.`c d` = null",
            "#ab.#cd = :null | #ab=a`b | #cd=c d | :null=null",
        );
        check(
            "in = 1 AND not = 2 AND NOT and IN (3)",
            "#in = :1 AND #not = :2 AND NOT #and IN (:3) | #and=and | #in=in | #not=not | :1=1 | :2=2 | :3=3",
        );
        check(
            "true = a AND null.b[ 0 ] = false",
            ":true = a AND #null.b[ 0 ] = :false | #null=null | :false=false | :true=true",
        );
        check("a . b = 1", "a . b = :1 | :1=1");
        check(
            "d > 2024-01-01",
            "The parameter cannot be converted to a numeric value: 2024-01-01",
        );
        check(
            "a = #b",
            "there are no placeholders where values stand in the text",
        );
        check("a[x] = 1", "between [ and ] is the number of an element");
        check("a. = 1", "a name is missing after '.'");
        check("a & b", "'&' has no meaning here");
        check("a = [1", "the closing bracket is missing");
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "[a-zA-Z0-9 \"'`\\[\\]{}(),.:#=<>+\\\\é-]{0,60}") {
            let _ = (update(&text), condition(&units(&text)));
        }

        #[test]
        fn a_value_comes_out_as_it_went_in(text in "\\PC{0,20}", number in -1_000_000_i64..1_000_000) {
            let quoted = serde_json::to_string(&text).unwrap();
            let found = update(&format!("SET a = [{quoted}, {number}], b = {quoted}, c = {number}")).unwrap();
            let values: Vec<AttributeValue> = found.placeholders.values.unwrap().into_values().collect();
            let (string, number) = (AttributeValue::S(text), AttributeValue::N(number.into()));
            for expected in [AttributeValue::L(vec![string.clone(), number.clone()]), string, number] {
                prop_assert!(values.contains(&expected), "{:?}", values);
            }
        }
    }

    #[test]
    fn table_of_conditions() {
        let check = |text: &str, expected: &str| {
            let found = condition(&units(text))
                .map(|found| shown(Some(&found.text), None, &found.placeholders));
            assert_eq!(
                found.unwrap_or_else(|error| error.to_string()),
                expected,
                "{text}"
            );
        };
        check(
            "status IN (\"open\",\"held\")",
            "#status IN (:open,:held) | #status=status | :held=\"held\" | :open=\"open\"",
        );
        check(
            "a.b[2] >= 3 and if = 1",
            "a.b[2] >= :3 and #if = :1 | #if=if | :1=1 | :3=3",
        );
        check(
            "begins_with(name, 'x') OR flag = true",
            "begins_with(#name, :x) OR flag = :true | #name=name | :true=true | :x=\"x\"",
        );
    }
}

//! `where=<expression>`: the filter language with names and values written out.
//!
//! ```text
//! name     letters, digits, _ $ @ -, not first a digit or -; a keyword of DynamoDB is fine; any other name `in backticks`
//! value    'text'  "text"  12  -1.5e3  true  false  null  b"%00%FF"        a quote inside is written twice
//! rest     as in a FilterExpression: = <> < <= > >= BETWEEN IN AND OR NOT ( ) and the functions; also == and !=
//! ```
//! The text is a name in a directory, so a byte may be written as `%XX`. Such a byte means itself inside names and quotes; outside of them
//! it is read like the bare one, so that a wholly escaped text works too: a string that `%22` opens is closed by `%22`.

use super::fault::ClauseFault;
use super::filter::{Filter, Piece};
use super::source::Context;
use crate::model::{AttributeValue, DocumentPath, PathElement};

/// A byte of the text, and whether it was written as `%XX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit {
    byte: u8,
    is_escaped: bool,
}

/// Parses the text after `where=`.
pub(super) fn parse(text: &str, context: Context<'_>) -> Result<Filter, ClauseFault> {
    Filter::new(Reader { units: units(text)?, at: 0, pieces: Vec::new() }.read()?, context)
}

fn units(text: &str) -> Result<Vec<Unit>, ClauseFault> {
    let mut units = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            units.push(Unit { byte, is_escaped: false });
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok());
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(fault("after '%' come two hexadecimal digits", "write % itself as %25"));
        };
        units.push(Unit { byte: high << 4 | low, is_escaped: true });
    }
    Ok(units)
}

fn fault(message: impl Into<String>, hint: &str) -> ClauseFault {
    ClauseFault::Expression { message: message.into(), hint: hint.to_owned() }
}

struct Reader {
    units: Vec<Unit>,
    at: usize,
    pieces: Vec<Piece>,
}

impl Reader {
    fn read(mut self) -> Result<Vec<Piece>, ClauseFault> {
        loop {
            self.skip_blanks();
            let Some(unit) = self.peek(0) else { return Ok(self.pieces) };
            match unit.byte {
                b'\'' | b'"' => {
                    let text = self.quoted_text()?;
                    self.pieces.push(Piece::Value(AttributeValue::S(text)));
                }
                b'b' | b'B' if self.peek(1).is_some_and(|next| matches!(next.byte, b'\'' | b'"')) => {
                    self.at += 1;
                    let bytes = self.quoted()?;
                    self.pieces.push(Piece::Value(AttributeValue::B(bytes)));
                }
                b'`' => self.name_or_keyword()?,
                b'0'..=b'9' | b'-' | b'.' => self.number()?,
                b'#' | b':' if !unit.is_escaped => {
                    return Err(fault(
                        "there are no placeholders in a where= clause",
                        "write names as they are and values as 'text', 12, true or null",
                    ));
                }
                _ if is_of_name(unit) => self.name_or_keyword()?,
                _ => self.operator()?,
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<Unit> {
        self.units.get(self.at + ahead).copied()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.peek(ahead).map_or(0, |unit| unit.byte)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(0), Some(Unit { byte: b' ' | b'\t' | b'\n', .. })) {
            self.at += 1;
        }
    }

    /// The bytes between the quote here and the next of its kind; a doubled one is one.
    fn quoted(&mut self) -> Result<Vec<u8>, ClauseFault> {
        let Some(quote) = self.peek(0) else { return Ok(Vec::new()) };
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            match self.peek(0) {
                None => {
                    let mark = char::from(quote.byte);
                    return Err(fault(
                        format!("a {mark} is not closed"),
                        "a text begins and ends with the same quote; inside it is written twice",
                    ));
                }
                Some(unit) if unit == quote && self.peek(1) == Some(quote) => {
                    bytes.push(unit.byte);
                    self.at += 2;
                }
                Some(unit) if unit == quote => {
                    self.at += 1;
                    return Ok(bytes);
                }
                Some(unit) => {
                    bytes.push(unit.byte);
                    self.at += 1;
                }
            }
        }
    }

    fn quoted_text(&mut self) -> Result<String, ClauseFault> {
        String::from_utf8(self.quoted()?).map_err(|_| fault("a text is not UTF-8", "bytes are written b\"%00%FF\""))
    }

    fn number(&mut self) -> Result<(), ClauseFault> {
        let start = self.at;
        while matches!(self.byte(0), b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'-' | b'+' | b'_' | b':') {
            self.at += 1;
        }
        let bytes = self.units.get(start..self.at).unwrap_or_default().iter().map(|unit| unit.byte).collect();
        let text = String::from_utf8(bytes).unwrap_or_default();
        match text.parse() {
            Ok(number) => {
                self.pieces.push(Piece::Value(AttributeValue::N(number)));
                Ok(())
            }
            Err(_) => Err(fault(
                format!("'{text}' is no number"),
                "texts need quotes: 'text'; a name that begins with a digit needs backticks",
            )),
        }
    }

    /// One step of a path.
    fn name(&mut self) -> Result<String, ClauseFault> {
        if self.byte(0) == b'`' {
            return self.quoted_text();
        }
        let mut bytes = Vec::new();
        while let Some(unit) = self.peek(0).filter(|unit| is_of_name(*unit) || matches!(unit.byte, b'0'..=b'9' | b'-')) {
            bytes.push(unit.byte);
            self.at += 1;
        }
        String::from_utf8(bytes).map_err(|_| fault("a name is not UTF-8", "names of attributes are text"))
    }

    fn name_or_keyword(&mut self) -> Result<(), ClauseFault> {
        let start = self.at;
        let is_quoted = self.byte(0) == b'`';
        let name = self.name()?;
        let is_bare = !is_quoted && self.units.get(start..self.at).unwrap_or_default().iter().all(|unit| !unit.is_escaped);
        if is_bare && let Some(piece) = keyword(&name) {
            self.pieces.push(piece);
            return Ok(());
        }
        let after_name = self.at;
        self.skip_blanks();
        if is_bare && self.byte(0) == b'(' {
            self.at += 1;
            self.pieces.push(Piece::Text(format!("{name}(")));
            return Ok(());
        }
        self.at = after_name;
        let mut path = DocumentPath::top_level(name);
        loop {
            match self.peek(0) {
                Some(Unit { byte: b'.', is_escaped: false }) => {
                    self.at += 1;
                    let step = self.name()?;
                    if step.is_empty() {
                        return Err(fault("a name is missing after '.'", "a dot inside a name is written %2E"));
                    }
                    path.rest.push(PathElement::Name(step));
                }
                Some(Unit { byte: b'[', is_escaped: false }) => path.rest.push(PathElement::Index(self.index()?)),
                _ => break,
            }
        }
        self.pieces.push(Piece::Path(path));
        Ok(())
    }

    fn index(&mut self) -> Result<usize, ClauseFault> {
        let digits: String = self
            .units
            .get(self.at + 1..)
            .unwrap_or_default()
            .iter()
            .map(|unit| char::from(unit.byte))
            .take_while(char::is_ascii_digit)
            .collect();
        self.at += 1 + digits.len();
        match (digits.parse(), self.byte(0)) {
            (Ok(index), b']') => {
                self.at += 1;
                Ok(index)
            }
            _ => Err(fault("between [ and ] is the number of an element", "elements are counted from 0: tags[0]")),
        }
    }

    fn operator(&mut self) -> Result<(), ClauseFault> {
        let (text, length) = match (self.byte(0), self.byte(1)) {
            (b'<', b'>') | (b'!', b'=') => ("<>", 2),
            (b'<', b'=') => ("<=", 2),
            (b'>', b'=') => (">=", 2),
            (b'=', b'=') => ("=", 2),
            (b'=', _) => ("=", 1),
            (b'<', _) => ("<", 1),
            (b'>', _) => (">", 1),
            (b'(', _) => ("(", 1),
            (b')', _) => (")", 1),
            (b',', _) => (",", 1),
            (other, _) => {
                return Err(fault(
                    format!("'{}' has no meaning here", char::from(other).escape_default()),
                    "there are = <> < <= > >=, BETWEEN, IN, AND, OR, NOT and the functions; texts need quotes",
                ));
            }
        };
        self.at += length;
        self.pieces.push(Piece::text(text));
        Ok(())
    }
}

/// Can the byte be in a name? An escaped one can, save what has a meaning outside of names.
fn is_of_name(unit: Unit) -> bool {
    let is_plain = unit.byte.is_ascii_alphabetic() || matches!(unit.byte, b'_' | b'$' | b'@') || !unit.byte.is_ascii();
    let is_syntax =
        matches!(unit.byte, b' ' | b'\t' | b'\n' | b'\'' | b'"' | b'`' | b'=' | b'<' | b'>' | b'!' | b'(' | b')' | b',' | b'-');
    is_plain || (unit.is_escaped && !is_syntax && !unit.byte.is_ascii_digit())
}

/// Words that are no names. Keywords are case-insensitive, literals are as JSON has them.
fn keyword(word: &str) -> Option<Piece> {
    match word {
        "true" => return Some(Piece::Value(AttributeValue::Bool(true))),
        "false" => return Some(Piece::Value(AttributeValue::Bool(false))),
        "null" => return Some(Piece::Value(AttributeValue::Null)),
        _ => {}
    }
    ["AND", "OR", "NOT", "BETWEEN", "IN"].into_iter().find(|known| word.eq_ignore_ascii_case(known)).map(Piece::text)
}

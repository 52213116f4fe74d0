//! Tokens of names: a kept character, or `%XX` for one byte. Nothing else ever stands in a name.
//!
//! ```text
//! kept always         A-Z a-z 0-9 _ :
//! kept but at first   . @ + -          at the start of a value they could hide a name or make it an option
//! kept in S and N     printable non-ASCII
//! ```
//! Every other byte is `%XX` with upper-case digits: blanks, `/`, NUL, `%`, `#`, `,`, `=`, `~`, quotes, globs and brackets; of
//! non-ASCII characters those that show nothing or change what stands around them (control, format, bidi, zero-width, white
//! space, private use, unassigned).

use super::fault::NameFault;
use crate::codec::shown::is_printable_non_ascii;
use crate::model::AttributeValue;

/// Room for most names and a suffix.
const USUAL_BYTES: usize = 64;
const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// A name under construction.
pub(super) struct Tokens {
    pub text: String,
    /// End of the last whole token that lies within the limit.
    pub cut: usize,
    limit: usize,
}

impl Tokens {
    /// `limit`: the most that a shortened name may keep.
    pub fn new(limit: usize) -> Self {
        Self { text: String::with_capacity(USUAL_BYTES), cut: 0, limit }
    }

    fn character(&mut self, character: char) {
        self.text.push(character);
        self.end_token();
    }

    fn byte(&mut self, byte: u8) {
        self.text.push('%');
        self.text.push(char::from(HEX_DIGITS[usize::from(byte >> 4)]));
        self.text.push(char::from(HEX_DIGITS[usize::from(byte & 15)]));
        self.end_token();
    }

    /// Characters that are all kept, of one byte each.
    fn run(&mut self, run: &str) {
        if self.text.len() <= self.limit {
            self.cut = (self.text.len() + run.len()).min(self.limit);
        }
        self.text.push_str(run);
    }

    fn end_token(&mut self) {
        if self.text.len() <= self.limit {
            self.cut = self.text.len();
        }
    }

    /// Stands between two values.
    pub fn separate(&mut self, separator: char) {
        self.character(separator);
    }

    /// Appends K(value).
    pub fn value(&mut self, value: &AttributeValue) {
        match value {
            AttributeValue::S(text) => self.characters(text),
            AttributeValue::N(number) => self.characters(&number.to_string()),
            AttributeValue::B(bytes) => {
                for (position, &byte) in bytes.iter().enumerate() {
                    let character = char::from(byte);
                    if is_kept_ascii(character, position == 0) { self.character(character) } else { self.byte(byte) }
                }
            }
            _ => debug_assert!(false, "a key value of type {}", value.attribute_type()),
        }
    }

    fn characters(&mut self, text: &str) {
        // Most names are nothing else.
        let (run, rest) = text.split_at(text.bytes().take_while(|byte| is_plain(*byte)).count());
        self.run(run);
        for (position, character) in rest.char_indices() {
            if is_kept_ascii(character, position + run.len() == 0) || is_printable_non_ascii(character) {
                self.character(character);
            } else {
                character.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.byte(byte));
            }
        }
    }
}

/// Can a name have it, though perhaps not at its start?
pub(super) fn is_kept(character: char) -> bool {
    is_kept_ascii(character, false) || is_printable_non_ascii(character)
}

/// Is it kept wherever it stands?
fn is_plain(byte: u8) -> bool {
    is_kept_ascii(char::from(byte), true)
}

fn is_kept_ascii(character: char, first: bool) -> bool {
    match character {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | ':' => true,
        '.' | '@' | '+' | '-' => !first,
        _ => false,
    }
}

/// The bytes that a text of tokens stands for; leniently, any character but `%` is itself.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, NameFault> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let [high, low, tail @ ..] = tail else { return Err(NameFault::Escape) };
        out.push(hex_digit(*high)? << 4 | hex_digit(*low)?);
        rest = tail;
    }
    Ok(out)
}

fn hex_digit(byte: u8) -> Result<u8, NameFault> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(NameFault::Escape),
    }
}

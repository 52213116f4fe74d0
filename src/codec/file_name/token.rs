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

/// Shows something of its own. The standard library's debug form keeps exactly the characters outside of the categories Cc, Cf, Cs,
/// Co, Cn, Zl, Zp and Zs; behind another character it keeps combining marks, which belong to the text of many languages.
fn is_printable_non_ascii(character: char) -> bool {
    if character.is_ascii() || is_blank(character) {
        return false;
    }
    let mut buffer = [b'x'; 5];
    let (_, tail) = buffer.split_at_mut(1);
    let length = 1 + character.encode_utf8(tail).len();
    let text = buffer.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| text.escape_debug().nth(1) == Some(character))
}

/// Assigned characters that are letters, marks or symbols by category, and yet show nothing (Default_Ignorable_Code_Point, and the
/// empty Braille pattern).
fn is_blank(character: char) -> bool {
    matches!(
        character,
        '\u{34F}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FFA0}'
            | '\u{E0100}'..='\u{E01EF}'
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_show_something_are_kept() {
        for character in "éßñ中文日本語한국어אبक्षिΩ€😀♥İ\u{301}\u{FFFD}".chars() {
            assert!(is_printable_non_ascii(character), "{character:?}");
        }
    }

    #[test]
    fn characters_that_show_nothing_are_not() {
        let characters = "\u{80}\u{85}\u{A0}\u{AD}\u{34F}\u{61C}\u{115F}\u{1680}\u{180E}\u{2000}\u{200B}\u{200C}\u{200D}\u{200E}\u{200F}\
            \u{2028}\u{2029}\u{202A}\u{202E}\u{202F}\u{205F}\u{2060}\u{2066}\u{2069}\u{3000}\u{3164}\u{E000}\u{FE0F}\u{FEFF}\u{FFF9}\
            \u{FFFE}\u{378}\u{E0001}\u{E0061}\u{10FFFF}";
        for character in characters.chars() {
            assert!(!is_printable_non_ascii(character), "{character:?}");
        }
    }
}

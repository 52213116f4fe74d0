//! The lexical grammar of JSON (RFC 8259) as state machines that take one byte at a time: numbers,
//! escapes, and the end of a value. The reader of whole texts (`reader`) and the checker of growing
//! texts (`prefix`) both use it. Each has its own way through values: the one has all bytes, the
//! other may stop after any.

use super::JsonFault;
use super::write::unescaped_len;

/// The state within a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberState {
    Start,
    AfterMinus,
    AfterZero,
    Integer,
    AfterPoint,
    Fraction,
    AfterE,
    AfterESign,
    Exponent,
}

impl NumberState {
    /// Returns the state after `byte`; `None` if the byte does not belong to the number.
    #[must_use]
    pub fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Start, b'-') => Self::AfterMinus,
            (Self::Start | Self::AfterMinus, b'0') => Self::AfterZero,
            (Self::Start | Self::AfterMinus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => {
                Self::Integer
            }
            (Self::AfterZero | Self::Integer, b'.') => Self::AfterPoint,
            (Self::AfterPoint | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::AfterZero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::AfterE,
            (Self::AfterE, b'+' | b'-') => Self::AfterESign,
            (Self::AfterE | Self::AfterESign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    /// True if the number may end here.
    #[must_use]
    pub fn is_complete(self) -> bool {
        matches!(
            self,
            Self::AfterZero | Self::Integer | Self::Fraction | Self::Exponent
        )
    }
}

/// The state after the backslash of an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscapeState {
    Letter,
    /// The hex digits of `\u`: how many are left, and the value so far.
    Hex {
        left: u8,
        unit: u16,
    },
    /// The states before the low half of a surrogate pair: its backslash, its `u`, its digits.
    LowBackslash {
        high: u16,
    },
    LowU {
        high: u16,
    },
    LowHex {
        high: u16,
        left: u8,
        unit: u16,
    },
}

/// The result of one byte of an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscapeStep {
    More(EscapeState),
    Character(char),
}

impl EscapeState {
    /// Takes a byte. Half of a surrogate pair is reported at the first byte that no whole pair has.
    ///
    /// # Errors
    /// [`JsonFault::Escape`] or [`JsonFault::LoneSurrogate`].
    pub fn step(self, byte: u8) -> Result<EscapeStep, JsonFault> {
        let more = |escape| Ok(EscapeStep::More(escape));
        match (self, byte) {
            (Self::Letter, b'"' | b'\\' | b'/') => Ok(EscapeStep::Character(char::from(byte))),
            (Self::Letter, b'b') => Ok(EscapeStep::Character('\u{8}')),
            (Self::Letter, b'f') => Ok(EscapeStep::Character('\u{C}')),
            (Self::Letter, b'n') => Ok(EscapeStep::Character('\n')),
            (Self::Letter, b'r') => Ok(EscapeStep::Character('\r')),
            (Self::Letter, b't') => Ok(EscapeStep::Character('\t')),
            (Self::Letter, b'u') => more(Self::Hex { left: 4, unit: 0 }),
            (Self::Hex { left, unit }, _) => match (left, unit << 4 | self.digit(byte)?) {
                // DC to DF: a low half without its high half.
                (3, 0xDC..=0xDF) => Err(JsonFault::LoneSurrogate),
                (1, high @ 0xD800..=0xDBFF) => more(Self::LowBackslash { high }),
                (1, unit) => char::from_u32(unit.into())
                    .map(EscapeStep::Character)
                    .ok_or(JsonFault::LoneSurrogate),
                (_, unit) => more(Self::Hex {
                    left: left - 1,
                    unit,
                }),
            },
            (Self::LowBackslash { high }, b'\\') => more(Self::LowU { high }),
            (Self::LowU { high }, b'u') => more(Self::LowHex {
                high,
                left: 4,
                unit: 0,
            }),
            (Self::LowHex { high, left, unit }, _) => match (left, unit << 4 | self.digit(byte)?) {
                (1, low) => char::decode_utf16([high, low])
                    .next()
                    .and_then(Result::ok)
                    .map(EscapeStep::Character)
                    .ok_or(self.fault()),
                (4, unit @ 0xD) | (3, unit @ 0xDC..=0xDF) | (2, unit) => more(Self::LowHex {
                    high,
                    left: left - 1,
                    unit,
                }),
                _ => Err(self.fault()),
            },
            _ => Err(self.fault()),
        }
    }

    fn digit(self, byte: u8) -> Result<u16, JsonFault> {
        let digit = char::from(byte)
            .to_digit(16)
            .and_then(|digit| u16::try_from(digit).ok());
        digit.ok_or_else(|| self.fault())
    }

    /// Returns the fault of a byte that does not belong here.
    #[must_use]
    pub fn fault(self) -> JsonFault {
        match self {
            Self::Letter | Self::Hex { .. } => JsonFault::Escape,
            Self::LowBackslash { .. } | Self::LowU { .. } | Self::LowHex { .. } => {
                JsonFault::LoneSurrogate
            }
        }
    }
}

/// A scanner of brackets and strings alone, in pieces of any size. It finds the end of a value
/// without reading it; a reader checks the value.
#[derive(Debug, Clone, Default)]
pub struct BracketScanner {
    /// The number of open brackets.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl BracketScanner {
    /// Creates a scanner that stands after the first bracket of a list or object.
    #[must_use]
    pub fn inside() -> Self {
        Self {
            depth: 1,
            ..Self::default()
        }
    }

    /// Returns the offset after the byte that closes the first bracket.
    pub fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while self.next_token(bytes, &mut at).is_some() {
            if self.depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// True if the value that begins here is the last one of its container; `None` if the text ends
    /// before that is known. For a scanner made by [`Self::inside`].
    pub fn is_last(&mut self, bytes: &[u8]) -> Option<bool> {
        let mut at = 0;
        loop {
            match self.next_token(bytes, &mut at)? {
                b',' if self.depth == 1 => return Some(false),
                _ if self.depth == 0 => return Some(true),
                _ => {}
            }
        }
    }

    /// Returns the next bracket or comma outside of strings; `offset` moves after it.
    fn next_token(&mut self, bytes: &[u8], offset: &mut usize) -> Option<u8> {
        loop {
            if self.in_string && !self.is_escaped {
                *offset += unescaped_len(bytes.get(*offset..)?);
            }
            let byte = *bytes.get(*offset)?;
            *offset += 1;
            match (self.in_string, byte) {
                (true, _) if std::mem::take(&mut self.is_escaped) => {}
                (true, b'\\') => self.is_escaped = true,
                (_, b'"') => self.in_string = !self.in_string,
                (true, _) => {}
                (false, b'{' | b'[') => self.depth += 1,
                (false, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
                (false, b',') => {}
                (false, _) => continue,
            }
            if !self.in_string && byte != b'"' {
                return Some(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_with_its_bracket_however_it_is_cut() {
        let check = |text: &str, expected: Option<usize>| {
            assert_eq!(
                BracketScanner::default().end(text.as_bytes()),
                expected,
                "{text}"
            );
            let mut end = BracketScanner::default();
            let bytewise = text.bytes().position(|byte| end.end(&[byte]).is_some());
            assert_eq!(
                bytewise.map(|place| place + 1),
                expected,
                "{text} byte by byte"
            );
        };
        check("{}", Some(2));
        check(r#" {"a":"}"} "#, Some(10));
        check(r#"{"a":"\"}"}x"#, Some(11));
        check(r#"{"a":"\\"}"#, Some(10));
        check(r#"{"a":[{},{"b":[]}]"#, None);
        check(
            r#"{"a":"longer than eight bytes, with \" and \\"}"#,
            Some(47),
        );
    }
}

//! An incremental JSON checker, a state machine with a stack: is a text, so far, exactly one JSON
//! object (RFC 8259)? It takes pieces of any size and looks at each byte once. A file that is being
//! written is checked with it.
//!
//! Grammar, escapes, surrogate pairs, numbers and UTF-8 are exact: a text that is `Incomplete` can
//! be completed, and a `Complete` one is an object with nothing but white space around it.
//! Duplicate members and the rules of items are left to the parser of the complete text.

use super::grammar::{EscapeState, EscapeStep, NumberState};
use super::{JsonError, JsonFault};
use crate::model::error::ValueError;
use crate::model::limits::NESTING_LEVELS_MAX;

/// The limit of open objects and arrays. A level of an item is at most two of JSON (`{"M":{…}}`,
/// `{"$map":{…}}`); the item itself and a set at the bottom are the rest. The parser finds texts
/// that are too deep for an item but within this limit.
const DEPTH_MAX: usize = 2 * NESTING_LEVELS_MAX + 4;

/// The state of the bytes so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrefixState {
    /// The beginning of an object, or nothing yet.
    Incomplete,
    /// One whole object, perhaps with white space around it.
    Complete,
    /// Bytes that begin no object; final.
    Invalid(JsonError),
}

/// The incremental checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPrefix {
    expect: Expect,
    /// The open containers, innermost in bit 0: 1 an object, 0 an array. [`DEPTH_MAX`] is 68 and
    /// fits into its bits.
    containers: u128,
    depth: usize,
    /// True if the string being read is a member name.
    name: bool,
    /// The bytes accepted: the offset of the next one.
    consumed: usize,
}

/// The tokens that may come next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expect {
    Object,
    NameOrEnd,
    Name,
    Colon,
    Value,
    ValueOrEnd,
    CommaOrEnd,
    /// The rest of a string.
    Characters,
    Escape(EscapeState),
    /// Continuation bytes of a character: how many are left, and the range of the next one.
    Continuation {
        left: u8,
        low: u8,
        high: u8,
    },
    /// The rest of `true`, `false` or `null`, and which it is.
    Literal {
        rest: &'static [u8],
        whole: &'static str,
    },
    Number(NumberState),
    /// White space after the object.
    End,
    Nothing(JsonError),
}

/// The next state, or the fault of a refused byte.
type StepResult = Result<Expect, JsonFault>;

impl Default for JsonPrefix {
    fn default() -> Self {
        Self::new()
    }
}

impl JsonPrefix {
    #[must_use]
    pub fn new() -> Self {
        Self {
            expect: Expect::Object,
            containers: 0,
            depth: 0,
            name: false,
            consumed: 0,
        }
    }

    /// Takes the next bytes; returns the state after them.
    pub fn feed(&mut self, bytes: &[u8]) -> PrefixState {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            if self.expect == Expect::Characters {
                let plain = rest.iter().take_while(|&&b| is_plain(b)).count();
                if plain > 0 {
                    self.consumed += plain;
                    rest = &rest[plain..];
                    continue;
                }
            }
            if let Expect::Nothing(_) = self.expect {
                break;
            }
            match self.step(byte) {
                Ok(next) => {
                    self.expect = next;
                    self.consumed += 1;
                }
                Err(fault) => {
                    self.expect = Expect::Nothing(JsonError {
                        offset: self.consumed,
                        fault,
                    })
                }
            }
            rest = tail;
        }
        self.state()
    }

    #[must_use]
    pub fn state(&self) -> PrefixState {
        match &self.expect {
            Expect::End => PrefixState::Complete,
            Expect::Nothing(error) => PrefixState::Invalid(error.clone()),
            _ => PrefixState::Incomplete,
        }
    }

    /// Returns the error of a text that ends here: the token still expected.
    #[must_use]
    pub fn incomplete(&self) -> JsonError {
        match &self.expect {
            Expect::Nothing(error) => error.clone(),
            _ => JsonError {
                offset: self.consumed,
                fault: self.expected(),
            },
        }
    }

    /// Returns the fault that names the next token in words.
    fn expected(&self) -> JsonFault {
        let expected = match &self.expect {
            Expect::Object => "a JSON object",
            Expect::NameOrEnd => "a member name in quotes or '}'",
            Expect::Name => "a member name in quotes",
            Expect::Colon => "':'",
            Expect::Value => "a JSON value",
            Expect::ValueOrEnd => "a JSON value or ']'",
            Expect::Number(digits) if !digits.is_complete() => "a digit",
            Expect::CommaOrEnd | Expect::Number(_) if self.in_object() => "',' or '}'",
            Expect::CommaOrEnd | Expect::Number(_) => "',' or ']'",
            Expect::Characters => "the closing quote of a string",
            Expect::Escape(escape) => return escape.fault(),
            Expect::Continuation { .. } => return JsonFault::NotUtf8,
            Expect::Literal { whole, .. } => whole,
            Expect::End | Expect::Nothing(_) => return JsonFault::TrailingData,
        };
        JsonFault::Expected(expected)
    }

    fn step(&mut self, byte: u8) -> StepResult {
        match self.expect {
            Expect::Characters => self.character(byte),
            Expect::Escape(escape) => Ok(match escape.step(byte)? {
                EscapeStep::More(escape) => Expect::Escape(escape),
                EscapeStep::Character(_) => Expect::Characters,
            }),
            Expect::Continuation { left, low, high } if (low..=high).contains(&byte) => {
                Ok(match left {
                    1 => Expect::Characters,
                    _ => Expect::Continuation {
                        left: left - 1,
                        low: 0x80,
                        high: 0xBF,
                    },
                })
            }
            Expect::Continuation { .. } => Err(self.expected()),
            Expect::Literal { rest, whole } => match rest {
                [next, rest @ ..] if *next == byte => Ok(if rest.is_empty() {
                    Expect::CommaOrEnd
                } else {
                    Expect::Literal { rest, whole }
                }),
                _ => Err(self.expected()),
            },
            Expect::Number(digits) => self.number(digits, byte),
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => Ok(self.expect.clone()),
            _ => self.structure(byte),
        }
    }

    /// Takes a byte between values that is not white space.
    fn structure(&mut self, byte: u8) -> StepResult {
        match (&self.expect, byte) {
            (Expect::Object, b'{') => self.open(true),
            (Expect::Object, 0xEF) => Err(JsonFault::ByteOrderMark),
            (Expect::NameOrEnd | Expect::Name, b'"') => {
                self.name = true;
                Ok(Expect::Characters)
            }
            (Expect::Colon, b':') => Ok(Expect::Value),
            (Expect::CommaOrEnd, b',') => Ok(if self.in_object() {
                Expect::Name
            } else {
                Expect::Value
            }),
            (Expect::NameOrEnd, b'}') => Ok(self.close()),
            (Expect::CommaOrEnd, b'}') if self.in_object() => Ok(self.close()),
            (Expect::ValueOrEnd, b']') => Ok(self.close()),
            (Expect::CommaOrEnd, b']') if !self.in_object() => Ok(self.close()),
            (Expect::Value | Expect::ValueOrEnd, _) => self.value(byte),
            _ => Err(self.expected()),
        }
    }

    /// Takes the first byte of a value.
    fn value(&mut self, byte: u8) -> StepResult {
        match byte {
            b'{' => self.open(true),
            b'[' => self.open(false),
            b'"' => {
                self.name = false;
                Ok(Expect::Characters)
            }
            b't' => Ok(Expect::Literal {
                rest: b"rue",
                whole: "true",
            }),
            b'f' => Ok(Expect::Literal {
                rest: b"alse",
                whole: "false",
            }),
            b'n' => Ok(Expect::Literal {
                rest: b"ull",
                whole: "null",
            }),
            _ => NumberState::Start
                .next(byte)
                .map(Expect::Number)
                .ok_or_else(|| self.expected()),
        }
    }

    fn number(&mut self, digits: NumberState, byte: u8) -> StepResult {
        match digits.next(byte) {
            Some(digits) => Ok(Expect::Number(digits)),
            None if digits.is_complete() => {
                // The number ended before this byte.
                self.expect = Expect::CommaOrEnd;
                self.step(byte)
            }
            None => Err(self.expected()),
        }
    }

    fn character(&self, byte: u8) -> StepResult {
        let (left, low, high) = match byte {
            b'"' => {
                return Ok(if self.name {
                    Expect::Colon
                } else {
                    Expect::CommaOrEnd
                });
            }
            b'\\' => return Ok(Expect::Escape(EscapeState::Letter)),
            0x00..=0x1F => return Err(JsonFault::ControlCharacter),
            0x20..=0x7F => return Ok(Expect::Characters),
            // The Unicode standard's table 3-7: well-formed UTF-8 byte sequences.
            0xC2..=0xDF => (1, 0x80, 0xBF),
            0xE0 => (2, 0xA0, 0xBF),
            0xE1..=0xEC | 0xEE..=0xEF => (2, 0x80, 0xBF),
            0xED => (2, 0x80, 0x9F),
            0xF0 => (3, 0x90, 0xBF),
            0xF1..=0xF3 => (3, 0x80, 0xBF),
            0xF4 => (3, 0x80, 0x8F),
            0x80..=0xC1 | 0xF5..=0xFF => return Err(JsonFault::NotUtf8),
        };
        Ok(Expect::Continuation { left, low, high })
    }

    fn open(&mut self, object: bool) -> StepResult {
        if self.depth == DEPTH_MAX {
            return Err(JsonFault::Value(ValueError::Nesting));
        }
        self.depth += 1;
        self.containers = self.containers << 1 | u128::from(object);
        Ok(if object {
            Expect::NameOrEnd
        } else {
            Expect::ValueOrEnd
        })
    }

    fn close(&mut self) -> Expect {
        self.depth -= 1;
        self.containers >>= 1;
        if self.depth == 0 {
            Expect::End
        } else {
            Expect::CommaOrEnd
        }
    }

    fn in_object(&self) -> bool {
        self.containers & 1 == 1
    }
}

/// True if a string may contain the byte as it is and the byte begins no sequence.
fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7F) && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
#[path = "prefix_tests.rs"]
mod tests;

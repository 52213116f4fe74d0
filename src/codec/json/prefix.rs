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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state(text: &[u8]) -> PrefixState {
        JsonPrefix::new().feed(text)
    }

    /// Returns the offset of a fault and the expected token, `complete`, or `incomplete` and the
    /// token expected next.
    fn describe(text: &[u8]) -> String {
        let mut check = JsonPrefix::new();
        match check.feed(text) {
            PrefixState::Complete => "complete".to_owned(),
            PrefixState::Incomplete => format!("incomplete: {}", check.incomplete()),
            PrefixState::Invalid(error) => error.to_string(),
        }
    }

    #[test]
    fn table_of_texts() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "incomplete: expected a JSON object at byte 0"),
            (b" {\"a\" : [1, 2.5e-3 ,null,{}]}\n\t ", "complete"),
            (b"{\"status\":open}", "expected a JSON value at byte 10"),
            (b"{}{}", "expected nothing more after the object at byte 2"),
            (b"[1]", "expected a JSON object at byte 0"),
            (
                b"\xEF\xBB\xBF{}",
                "a byte order mark is no JSON; save the text without it at byte 0",
            ),
            (b"{\"a\":01}", "expected ',' or '}' at byte 6"),
            (b"{\"a\":1", "incomplete: expected ',' or '}' at byte 6"),
            (b"{\"a\":-}", "expected a digit at byte 6"),
            (b"{\"a\":1,}", "expected a member name in quotes at byte 7"),
            (
                b"{'a':1}",
                "expected a member name in quotes or '}' at byte 1",
            ),
            (b"{\"a\":[1}", "expected ',' or ']' at byte 7"),
            (
                b"{\"a\":\"\x01\"}",
                "a control character in a string must be written as an escape at byte 6",
            ),
            (b"{\"a\":\"\\x\"}", "a bad escape in a string at byte 7"),
            (b"{\"a\":\"\\ud83d\\ude00\"}", "complete"),
            (b"{\"a\":\"\\ud83d x", "half of a surrogate pair at byte 12"),
            (b"{\"a\":\"\\ude00\"}", "half of a surrogate pair at byte 9"),
            (b"{\"a\":\"\xC0\x80\"}", "the text is not UTF-8 at byte 6"),
            (b"{\"a\":tru}", "expected true at byte 8"),
            (
                b"{\"a\":\"b",
                "incomplete: expected the closing quote of a string at byte 7",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(describe(text), *expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn depth_is_capped() {
        let nested = |levels: usize| {
            format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels)).into_bytes()
        };
        assert_eq!(state(&nested(DEPTH_MAX - 1)), PrefixState::Complete);
        let fault = JsonFault::Value(ValueError::Nesting);
        assert_eq!(
            state(&nested(DEPTH_MAX)),
            PrefixState::Invalid(JsonError {
                offset: DEPTH_MAX + 4,
                fault
            })
        );
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            (-1e9f64..1e9).prop_map(Into::into),
            "[a\"\\\\/\n\u{1}é€😀]{0,4}".prop_map(Into::into),
        ];
        let value = leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
                prop::collection::btree_map("[ab😀\n]{0,2}", inner, 0..3)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[ab\\\\]{0,2}", value, 0..3)
            .prop_map(|map| serde_json::Value::Object(map.into_iter().collect()))
    }

    /// Generates the text of a document: compact, pretty, or with every character above ASCII as an
    /// escape.
    fn any_text() -> impl Strategy<Value = Vec<u8>> {
        (any_json(), 0..3).prop_map(|(json, style)| match style {
            0 => json.to_string().into_bytes(),
            1 => format!(" {json:#}\n").into_bytes(),
            _ => escape_non_ascii(&json.to_string()),
        })
    }

    fn escape_non_ascii(text: &str) -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => vec![byte],
                _ => format!("\\u{unit:04x}").into_bytes(),
            })
            .collect()
    }

    /// The bytes that a structure is likely to need next; the first that fits leads out of it.
    const WAYS_OUT: &[u8] = b"\"}]:0rueals\\DC\x80\xA0\x90";

    fn complete(prefix: &[u8]) -> Vec<u8> {
        let mut text = prefix.to_vec();
        let mut check = JsonPrefix::new();
        let mut now = check.feed(prefix);
        if prefix.iter().all(u8::is_ascii_whitespace) {
            text.push(b'{');
            now = check.feed(b"{");
        }
        while now == PrefixState::Incomplete {
            let next = WAYS_OUT
                .iter()
                .find(|&&byte| !matches!(check.clone().feed(&[byte]), PrefixState::Invalid(_)));
            let byte = *next.expect("a state with no way out");
            text.push(byte);
            now = check.feed(&[byte]);
        }
        text
    }

    /// Checks that serde_json agrees about the same bytes.
    fn check_against_serde(text: &[u8]) {
        let parsed = serde_json::from_slice::<serde_json::Value>(text);
        // The range of numbers is not grammar.
        if parsed
            .as_ref()
            .is_err_and(|error| error.to_string().contains("out of range"))
        {
            return;
        }
        match state(text) {
            PrefixState::Complete => assert!(
                parsed.is_ok_and(|v| v.is_object()),
                "{}",
                text.escape_ascii()
            ),
            PrefixState::Incomplete => {
                assert!(parsed.is_err_and(|e| e.is_eof()), "{}", text.escape_ascii());
                let whole = complete(text);
                assert!(
                    serde_json::from_slice::<serde_json::Value>(&whole).is_ok(),
                    "{}",
                    whole.escape_ascii()
                );
            }
            // serde_json checks some bytes later (UTF-8 at the end of a string): then it only
            // reports an early end.
            PrefixState::Invalid(_) => assert!(
                !parsed.is_ok_and(|v| v.is_object()),
                "{}",
                text.escape_ascii()
            ),
        }
    }

    proptest! {
        #[test]
        fn every_prefix_of_a_document_is_one(text in any_text()) {
            let whole = text.trim_ascii_end().len();
            for length in 0..=text.len() {
                let expected = if length < whole { PrefixState::Incomplete } else { PrefixState::Complete };
                prop_assert_eq!(state(&text[..length]), expected);
                check_against_serde(&text[..length]);
            }
        }

        #[test]
        fn agrees_with_serde_json_on_prefixes_of_mutated_documents(
            text in any_text(), at in any::<prop::sample::Index>(), byte in any::<u8>(), kind in 0..3,
        ) {
            let mut text = text;
            let at = at.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => { text.remove(at); }
            }
            for length in 0..=text.len() {
                check_against_serde(&text[..length]);
            }
        }

        #[test]
        fn pieces_do_not_matter(text in prop::collection::vec(any::<u8>(), 0..40), cut in any::<prop::sample::Index>()) {
            let text = [b"{\"a\":".as_slice(), &text].concat();
            let (first, second) = text.split_at(cut.index(text.len()));
            let mut check = JsonPrefix::new();
            check.feed(first);
            prop_assert_eq!(check.feed(second), state(&text));
        }
    }
}

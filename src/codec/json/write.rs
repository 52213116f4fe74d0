//! The serializer of items and values as JSON text: the sinks of text, and the writer of both
//! forms, plain JSON and DynamoDB JSON. A walk over an item, or over a record, calls an
//! [`ItemWriter`] with the parts in their order, as a visitor.

use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::model::number::TEXT_BYTES_MAX;
use crate::model::{AttributeType, AttributeValue, Item};

/// A sink of JSON text, piece by piece.
pub trait JsonSink {
    fn put(&mut self, text: &[u8]);

    /// Appends the base64 of `bytes`: standard alphabet, with padding.
    fn put_base64(&mut self, bytes: &[u8]);

    /// Appends the inside of a JSON string, escaped where needed.
    fn put_escaped(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        loop {
            let (plain, tail) = rest.split_at(unescaped_len(rest));
            self.put(plain);
            let Some((&byte, tail)) = tail.split_first() else {
                return;
            };
            self.put_escape(byte);
            rest = tail;
        }
    }

    /// Appends the escape of one byte.
    fn put_escape(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let short = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0C => b"\\f",
            _ => {
                self.put(&[
                    b'\\',
                    b'u',
                    b'0',
                    b'0',
                    HEX[usize::from(byte >> 4)],
                    HEX[usize::from(byte & 15)],
                ]);
                return;
            }
        };
        self.put(short);
    }
}

impl JsonSink for Vec<u8> {
    fn put(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }

    fn put_base64(&mut self, bytes: &[u8]) {
        let start = self.len();
        self.resize(start + base64_len(bytes.len()), 0);
        // The space is exact, so this writes all of it.
        let written = STANDARD.encode_slice(bytes, &mut self[start..]);
        debug_assert_eq!(written, Ok(base64_len(bytes.len())));
    }
}

/// A sink that counts the bytes of a text.
#[derive(Debug, Default)]
pub struct CountingSink(pub usize);

impl JsonSink for CountingSink {
    fn put(&mut self, text: &[u8]) {
        self.0 += text.len();
    }

    fn put_base64(&mut self, bytes: &[u8]) {
        self.0 += base64_len(bytes.len());
    }
}

fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Returns the number of bytes at the start of a string that need no escape; scans eight at a time.
#[must_use]
pub fn unescaped_len(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of each zero byte. A byte above a zero one may be marked too, so the exact place
    // is searched for after.
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let (words, _) = text.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let below_blank = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let marks = below_blank
            | zero_bytes(word ^ (ONES * u64::from(b'"')))
            | zero_bytes(word ^ (ONES * u64::from(b'\\')));
        if marks != 0 {
            break;
        }
        at += 8;
    }
    let escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    text[at..]
        .iter()
        .position(escaped)
        .map_or(text.len(), |more| at + more)
}

/// The texts before and after a value.
pub type Delimiters = (&'static [u8], &'static [u8]);

const QUOTES: Delimiters = (b"\"", b"\"");

/// The texts around values in one form of JSON. Names, commas and the inside of strings are the
/// same in all forms.
pub trait Notation {
    const ITEM: Delimiters;
    const STRING: Delimiters;
    const NUMBER: Delimiters;
    const BINARY: Delimiters;
    const BOOLEAN: Delimiters;
    const NULL: &'static [u8];
    const LIST: Delimiters;
    const MAP: Delimiters;
    /// The texts around a map with exactly one member and a name that starts with `$`.
    const TAG_LIKE_MAP: Delimiters;
    /// The texts before the elements of SS, NS and BS.
    const SETS: [&'static [u8]; 3];
    /// Around a number in a set; texts and bytes have quotes there.
    const SET_NUMBER: Delimiters;
}

/// A writer of one item or value. Each value follows its name, or the begin of its list or set.
#[derive(Debug)]
pub struct ItemWriter<'a, N, S> {
    out: &'a mut S,
    /// True right after an opening bracket or colon: no comma before the next value.
    is_first: bool,
    notation: PhantomData<N>,
}

impl<'a, N: Notation, S: JsonSink> ItemWriter<'a, N, S> {
    pub fn new(out: &'a mut S) -> Self {
        Self {
            out,
            is_first: true,
            notation: PhantomData,
        }
    }

    /// Begins a value or name: writes the comma before it, if one is due, and returns the sink.
    fn next(&mut self) -> &mut S {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.put(b",");
        }
        self.out
    }

    fn scalar(&mut self, delimiters: Delimiters, write: impl FnOnce(&mut S)) {
        let (before, behind) = delimiters;
        let out = self.next();
        out.put(before);
        write(out);
        out.put(behind);
    }

    fn open(&mut self, begin: &[u8]) {
        self.next().put(begin);
        self.is_first = true;
    }

    fn close(&mut self, end: &[u8]) {
        self.out.put(end);
        self.is_first = false;
    }

    pub fn item_begin(&mut self) {
        self.open(N::ITEM.0);
    }

    pub fn item_end(&mut self) {
        self.close(N::ITEM.1);
    }

    /// Writes the name of an attribute or of a map's member.
    pub fn name(&mut self, name: &str) {
        self.scalar((b"\"", b"\":"), |out| out.put_escaped(name));
        self.is_first = true;
    }

    pub fn string(&mut self, text: &str) {
        self.scalar(N::STRING, |out| out.put_escaped(text));
    }

    /// Writes a number's canonical text.
    pub fn number(&mut self, text: &[u8]) {
        self.scalar(N::NUMBER, |out| out.put(text));
    }

    pub fn binary(&mut self, bytes: &[u8]) {
        self.scalar(N::BINARY, |out| out.put_base64(bytes));
    }

    pub fn boolean(&mut self, value: bool) {
        self.scalar(N::BOOLEAN, |out| {
            out.put(if value { b"true" } else { b"false" })
        });
    }

    pub fn null(&mut self) {
        self.next().put(N::NULL);
    }

    /// Opens a set; `kind` is SS, NS or BS.
    pub fn set_begin(&mut self, kind: AttributeType) {
        debug_assert!(matches!(
            kind,
            AttributeType::Ss | AttributeType::Ns | AttributeType::Bs
        ));
        let [strings, numbers, binaries] = N::SETS;
        self.open(match kind {
            AttributeType::Ns => numbers,
            AttributeType::Bs => binaries,
            _ => strings,
        });
    }

    pub fn set_string(&mut self, text: &str) {
        self.scalar(QUOTES, |out| out.put_escaped(text));
    }

    pub fn set_number(&mut self, text: &[u8]) {
        self.scalar(N::SET_NUMBER, |out| out.put(text));
    }

    pub fn set_binary(&mut self, bytes: &[u8]) {
        self.scalar(QUOTES, |out| out.put_base64(bytes));
    }

    pub fn set_end(&mut self) {
        self.close(b"]}");
    }

    pub fn list_begin(&mut self) {
        self.open(N::LIST.0);
    }

    pub fn list_end(&mut self) {
        self.close(N::LIST.1);
    }

    /// Opens a map. `is_tag_like` if it has exactly one member and its name starts with `$`;
    /// [`Self::map_end`] takes the same.
    pub fn map_begin(&mut self, is_tag_like: bool) {
        self.open(if is_tag_like {
            N::TAG_LIKE_MAP.0
        } else {
            N::MAP.0
        });
    }

    pub fn map_end(&mut self, is_tag_like: bool) {
        self.close(if is_tag_like {
            N::TAG_LIKE_MAP.1
        } else {
            N::MAP.1
        });
    }

    /// Writes an item, the names of `first` first.
    pub fn item(&mut self, item: &Item, first: &[&str]) {
        self.item_begin();
        for (name, value) in ordered(item, first) {
            self.name(name);
            self.value(value);
        }
        self.item_end();
    }

    /// Writes a value.
    pub fn value(&mut self, value: &AttributeValue) {
        match value {
            AttributeValue::S(text) => self.string(text),
            AttributeValue::N(number) => {
                self.number(number.text(&mut [0; TEXT_BYTES_MAX]).as_bytes())
            }
            AttributeValue::B(bytes) => self.binary(bytes),
            AttributeValue::Bool(value) => self.boolean(*value),
            AttributeValue::Null => self.null(),
            AttributeValue::Ss(set) => self.set(value, set, |writer, text| writer.set_string(text)),
            AttributeValue::Ns(set) => {
                self.set(value, set, |writer, number| {
                    writer.set_number(number.text(&mut [0; TEXT_BYTES_MAX]).as_bytes())
                });
            }
            AttributeValue::Bs(set) => {
                self.set(value, set, |writer, bytes| writer.set_binary(bytes))
            }
            AttributeValue::L(list) => {
                self.list_begin();
                list.iter().for_each(|element| self.value(element));
                self.list_end();
            }
            AttributeValue::M(map) => {
                let is_tag_like = map.len() == 1 && map.keys().all(|name| name.starts_with('$'));
                self.map_begin(is_tag_like);
                for (name, member) in map {
                    self.name(name);
                    self.value(member);
                }
                self.map_end(is_tag_like);
            }
        }
    }

    fn set<T>(&mut self, value: &AttributeValue, elements: &[T], write: impl Fn(&mut Self, &T)) {
        self.set_begin(value.attribute_type());
        elements.iter().for_each(|element| write(self, element));
        self.set_end();
    }
}

/// Returns the attributes in stored and rendered order: those of `first`, then the others by name.
pub fn ordered<'a>(
    item: &'a Item,
    first: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a AttributeValue)> {
    let leading = first
        .iter()
        .enumerate()
        .filter(|(index, name)| !first[..*index].contains(name));
    let leading = leading.filter_map(|(_, name)| item.0.get_key_value(*name));
    let others = item
        .0
        .iter()
        .filter(|(name, _)| !first.contains(&name.as_str()));
    leading
        .chain(others)
        .map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let mut out = Vec::new();
        out.put_escaped(text);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut count = CountingSink::default();
        count.put_escaped(text);
        assert_eq!(count.0, expected.len());
    }

    #[test]
    fn only_quotes_backslashes_and_controls_are_escaped() {
        check("", "");
        check(
            "plain text, longer than eight bytes",
            "plain text, longer than eight bytes",
        );
        check("a\"b\\c/d", "a\\\"b\\\\c/d");
        check(
            "\n\r\t\u{8}\u{c}\0\u{1f}\u{7f}",
            "\\n\\r\\t\\b\\f\\u0000\\u001f\u{7f}",
        );
        check("é€😀\u{2028}", "é€😀\u{2028}");
    }

    #[test]
    fn base64_is_standard_with_padding() {
        for (bytes, expected) in [
            (&b""[..], ""),
            (b"a", "YQ=="),
            (b"ab", "YWI="),
            (b"abc", "YWJj"),
            (&[0xFB, 0xFF], "+/8="),
        ] {
            let mut out = b"x".to_vec();
            out.put_base64(bytes);
            assert_eq!(out, format!("x{expected}").into_bytes());
        }
    }

    proptest! {
        #[test]
        fn plain_runs_end_at_the_first_escape(text in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), Just(0x1F), Just(0x20), Just(0x80), any::<u8>()], 0..40)) {
            let slow = text.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\').unwrap_or(text.len());
            prop_assert_eq!(unescaped_len(&text), slow);
        }
    }
}

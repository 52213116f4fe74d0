//! Tests of `text_reader`: values of any length and form, a byte at a time.

#![allow(clippy::unwrap_used)]
use super::*;

/// A reader that gives a byte at a time.
struct ByteReader<'a>(&'a [u8]);

impl Read for ByteReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.get(..1).unwrap_or_default();
        self.0 = self.0.get(1..).unwrap_or_default();
        out[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}

fn values<R: Read>(input: R, place: ValuePlace) -> Vec<String> {
    let (mut reader, mut text, mut found) = (TextReader::new(input), Vec::new(), Vec::new());
    while reader.token().unwrap().is_some() {
        let line = reader.line;
        found.push(match reader.take_value(place, &mut text).unwrap() {
            Ok(()) => format!("{line} {}", String::from_utf8_lossy(&text)),
            Err(error) => format!("{line} {error}"),
        });
    }
    found
}

#[test]
fn values_end_with_their_brackets_and_cut_ones_before_the_next() {
    use ValuePlace::{Inner, Line, Outer};
    let cut = |line: u64| format!("{line} {}", TextFault::Cut);
    let check = |place: ValuePlace, text: &str, expected: &[String]| {
        assert_eq!(values(text.as_bytes(), place), expected, "{text:?}");
        assert_eq!(
            values(ByteReader(text.as_bytes()), place),
            expected,
            "{text:?}"
        );
    };
    let is = |line: u64, text: &str| format!("{line} {text}");
    check(
        Outer,
        "{\"a\" : \"}\\\"\"}\n\n[1, {}] \"x\\\\\" 12",
        &[
            is(1, "{\"a\" : \"}\\\"\"}"),
            is(3, "[1, {}]"),
            is(3, "\"x\\\\\""),
            is(3, "12"),
        ],
    );
    check(Outer, "{\n    \"a\": 1\n}\n", &[is(1, "{\n\"a\": 1\n}")]);
    check(
        Outer,
        "{\"a\":1\n{\"b\":\"x\n{\"c\":3}\n{\"d\"",
        &[cut(1), cut(2), is(3, "{\"c\":3}"), cut(4)],
    );
    check(Line, "{\"a\":\n{\"b\":1}\n", &[cut(1), is(2, "{\"b\":1}")]);
    check(Inner, "{\"a\":\n{\n}}", &[is(1, "{\"a\":\n{\n}}")]);
}

#[test]
fn a_value_of_any_length_is_passed_over_in_bounded_memory() {
    let long = io::repeat(b'x').take(16 << 20);
    let input = b"{\"a\":\"".chain(long).chain(&b"\"}{}"[..]);
    let (mut reader, mut text) = (TextReader::new(input), Vec::new());
    let first = reader.take_value(ValuePlace::Outer, &mut text).unwrap();
    assert_eq!(first, Err(TextFault::TooLong));
    assert_eq!(
        reader.take_value(ValuePlace::Outer, &mut text).unwrap(),
        Ok(())
    );
    assert_eq!(text, b"{}");
    assert!(text.capacity() + reader.buffer.capacity() <= 3 * TEXT_BYTES_MAX);
}

//! Where JSON text goes: bytes, or only their count.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Takes JSON text piece by piece.
pub trait Sink {
    fn put(&mut self, text: &[u8]);

    /// The base64 of `bytes`: standard alphabet, with padding.
    fn put_base64(&mut self, bytes: &[u8]);

    /// The inside of a JSON string, what must be escaped escaped.
    fn put_escaped(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        loop {
            let (plain, tail) = rest.split_at(plain_len(rest));
            self.put(plain);
            let Some((&byte, tail)) = tail.split_first() else { return };
            self.put_escape(byte);
            rest = tail;
        }
    }

    /// The escape of one byte.
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
                self.put(&[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
                return;
            }
        };
        self.put(short);
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }

    fn put_base64(&mut self, bytes: &[u8]) {
        let start = self.len();
        self.resize(start + base64_len(bytes.len()), 0);
        // The room is exact, so this writes all of it.
        let written = STANDARD.encode_slice(bytes, &mut self[start..]);
        debug_assert_eq!(written, Ok(base64_len(bytes.len())));
    }
}

/// Counts the bytes of a text.
#[derive(Debug, Default)]
pub struct Count(pub usize);

impl Sink for Count {
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

/// How many bytes at the start of a string need no escape: eight at a time.
#[must_use]
pub fn plain_len(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of each byte that is zero; a byte above a zero one may be marked too, so the exact place is searched for after.
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let (words, _) = text.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let below_blank = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let marks = below_blank | zero_bytes(word ^ (ONES * u64::from(b'"'))) | zero_bytes(word ^ (ONES * u64::from(b'\\')));
        if marks != 0 {
            break;
        }
        at += 8;
    }
    let escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    text[at..].iter().position(escaped).map_or(text.len(), |more| at + more)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let mut out = Vec::new();
        out.put_escaped(text);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut count = Count::default();
        count.put_escaped(text);
        assert_eq!(count.0, expected.len());
    }

    #[test]
    fn only_quotes_backslashes_and_controls_are_escaped() {
        check("", "");
        check("plain text, longer than eight bytes", "plain text, longer than eight bytes");
        check("a\"b\\c/d", "a\\\"b\\\\c/d");
        check("\n\r\t\u{8}\u{c}\0\u{1f}\u{7f}", "\\n\\r\\t\\b\\f\\u0000\\u001f\u{7f}");
        check("é€😀\u{2028}", "é€😀\u{2028}");
    }

    #[test]
    fn base64_is_standard_with_padding() {
        for (bytes, expected) in [(&b""[..], ""), (b"a", "YQ=="), (b"ab", "YWI="), (b"abc", "YWJj"), (&[0xFB, 0xFF], "+/8=")] {
            let mut out = b"x".to_vec();
            out.put_base64(bytes);
            assert_eq!(out, format!("x{expected}").into_bytes());
        }
    }

    proptest! {
        #[test]
        fn plain_runs_end_at_the_first_escape(text in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), Just(0x1F), Just(0x20), Just(0x80), any::<u8>()], 0..40)) {
            let slow = text.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\').unwrap_or(text.len());
            prop_assert_eq!(plain_len(&text), slow);
        }
    }
}

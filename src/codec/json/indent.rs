//! Compact JSON to indented JSON, token by token: numbers and strings keep their bytes, so that nothing of an item is lost.

/// Blanks a level.
const INDENT: usize = 2;

/// The same document, a member or element a line, two blanks a level; empty arrays and objects stay together. `compact` is one
/// well-formed document without white space between its tokens, and its newline if it has one.
#[must_use]
pub fn indent(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(compact.len() * 3 / 2);
    let mut depth = 0;
    let mut in_string = false;
    let mut bytes = compact.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        out.push(byte);
        match byte {
            b'\\' if in_string => out.extend(bytes.next()),
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' if matches!(bytes.peek(), Some(b'}' | b']')) => out.extend(bytes.next()),
            b'{' | b'[' => {
                depth += 1;
                new_line(depth, &mut out);
            }
            b'}' | b']' => {
                depth -= 1;
                out.pop();
                new_line(depth, &mut out);
                out.push(byte);
            }
            b',' => new_line(depth, &mut out),
            b':' => out.push(b' '),
            _ => {}
        }
    }
    out
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + depth * INDENT, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_serde_json_indents() {
        for text in [
            "{}",
            "{\"a\":1}\n",
            r#"{"pk":"u1","n":0.5,"list":[],"map":{},"nested":[{"a":[1,2]},"x"],"odd":"{\"a\":[1,\\\"]},\\"}"#,
            r#"[[[]],"\\",""]"#,
        ] {
            let expected = format!("{:#}", serde_json::from_str::<serde_json::Value>(text).unwrap());
            let newline = if text.ends_with('\n') { "\n" } else { "" };
            assert_eq!(String::from_utf8(indent(text.as_bytes())).unwrap(), expected + newline, "{text}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let text = r#"{"n":12345678901234567890123456789012345678}"#;
        assert_eq!(indent(text.as_bytes()), b"{\n  \"n\": 12345678901234567890123456789012345678\n}");
    }
}

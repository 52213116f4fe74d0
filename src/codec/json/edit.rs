//! Edits of JSON text: a member of an object put in or taken out, the other bytes unchanged; and
//! compact JSON indented token by token, so that numbers and strings keep their bytes.

use super::document::member_ranges;

/// The value of a `Return…` parameter that requests nothing.
const NONE: &[u8] = b"\"NONE\"";

/// Returns the object with the member `name` set to `value`; `None` if the member already has
/// another value than `"NONE"`.
#[must_use]
pub fn with_member(object: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let places = member_ranges(object).ok()?;
    if let Some((_, place)) = places.iter().find(|(of, _)| of == name) {
        let is_nothing = object.get(place.clone())? == NONE;
        let quoted = format!("\"{value}\"");
        return is_nothing.then_some(
            [
                object.get(..place.start)?,
                quoted.as_bytes(),
                object.get(place.end..)?,
            ]
            .concat(),
        );
    }
    let inside = object.iter().position(|byte| *byte == b'{')? + 1;
    let comma = if places.is_empty() { "" } else { "," };
    let member = format!("\"{name}\":\"{value}\"{comma}");
    Some(
        [
            object.get(..inside)?,
            member.as_bytes(),
            object.get(inside..)?,
        ]
        .concat(),
    )
}

/// Returns the object without a member.
#[must_use]
pub fn without_member(object: &[u8], name: &str) -> Vec<u8> {
    let Ok(places) = member_ranges(object) else {
        return object.to_vec();
    };
    let others = places.into_iter().filter(|(of, _)| of != name);
    let members: Vec<Vec<u8>> = others
        .map(|(name, place)| {
            [
                serde_json::Value::from(name).to_string().as_bytes(),
                b":",
                &object[place],
            ]
            .concat()
        })
        .collect();
    [b"{", &members.join(&b',')[..], b"}"].concat()
}

/// The blanks of one level.
const INDENT: usize = 2;

/// Returns the same document with one member or element a line, two blanks a level; empty arrays
/// and objects stay together. `compact` is one well-formed document without white space between its
/// tokens, and its newline if it has one.
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
    fn a_member_comes_and_goes() {
        let check = |object: &str, expected: Option<&str>| {
            let found = with_member(object.as_bytes(), "Asks", "ALL")
                .map(|text| String::from_utf8(text).unwrap());
            assert_eq!(found.as_deref(), expected, "{object}");
        };
        check("{}", Some(r#"{"Asks":"ALL"}"#));
        check(
            r#" { "New": [1.50] }"#,
            Some(r#" {"Asks":"ALL", "New": [1.50] }"#),
        );
        check(
            r#"{"Asks": "NONE","b":{}}"#,
            Some(r#"{"Asks": "ALL","b":{}}"#),
        );
        check(r#"{"Asks":"SOME"}"#, None);
        check("[]", None);
        let out =
            |object: &str| String::from_utf8(without_member(object.as_bytes(), "Told")).unwrap();
        assert_eq!(
            out(r#"{"a":1.50,"Told":{"x":[]},"New\n":"\u00e4"}"#),
            r#"{"a":1.50,"New\n":"\u00e4"}"#
        );
        assert_eq!(
            (out(r#"{"Told":1}"#), out("{}")),
            ("{}".to_owned(), "{}".to_owned())
        );
    }
}

#[cfg(test)]
mod indent_tests {
    use super::*;

    #[test]
    fn as_serde_json_indents() {
        for text in [
            "{}",
            "{\"a\":1}\n",
            r#"{"pk":"u1","n":0.5,"list":[],"map":{},"nested":[{"a":[1,2]},"x"],"odd":"{\"a\":[1,\\\"]},\\"}"#,
            r#"[[[]],"\\",""]"#,
        ] {
            let expected = format!(
                "{:#}",
                serde_json::from_str::<serde_json::Value>(text).unwrap()
            );
            let newline = if text.ends_with('\n') { "\n" } else { "" };
            assert_eq!(
                String::from_utf8(indent(text.as_bytes())).unwrap(),
                expected + newline,
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let text = r#"{"n":12345678901234567890123456789012345678}"#;
        assert_eq!(
            indent(text.as_bytes()),
            b"{\n  \"n\": 12345678901234567890123456789012345678\n}"
        );
    }
}

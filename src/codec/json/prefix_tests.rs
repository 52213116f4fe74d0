//! Tests of `prefix`: every prefix of a document, and what follows no document.

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

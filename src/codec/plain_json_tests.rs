//! Tests of plain JSON: texts that are read and written, refused texts with their errors, and round
//! trips.

use proptest::prelude::*;

use super::*;
use crate::codec::items_of_tests::{item, nested};
use crate::model::{AttributeValue as V, Item};

fn line(item: &Item) -> String {
    let mut out = Vec::new();
    write_line(item, &[], &mut out);
    String::from_utf8(out).unwrap()
}

/// Checks that `text` is parsed and written as `expected`.
fn check(text: &str, expected: &str) {
    let item = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(line(&item), format!("{expected}\n"), "{text}");
}

fn check_error(text: impl AsRef<[u8]>, expected: &str) {
    let text = text.as_ref();
    let got = parse(text)
        .map(|item| line(&item))
        .map_err(|error| error.to_string());
    assert_eq!(
        got,
        Err(expected.to_owned()),
        "{}",
        String::from_utf8_lossy(text)
    );
}

#[test]
fn texts_become_items_and_back() {
    check("{}", "{}");
    check(" \t\r\n{ } \n", "{}");
    check(
        r#"{ "s" : "x" , "n" : 1.50 , "t":true,"f":false,"z":null, "l":[1,"a",[ ],{ }], "m":{"a":{"b":1}} }"#,
        r#"{"f":false,"l":[1,"a",[],{}],"m":{"a":{"b":1}},"n":1.5,"s":"x","t":true,"z":null}"#,
    );
    check(
        r#"{"n":-0,"m":1E2,"o":1e-3,"p":-0.50e+1}"#,
        r#"{"m":100,"n":0,"o":0.001,"p":-5}"#,
    );
    check(
        r#"{"n":12345678901234567890123456789012345678,"o":0.1000000000000000055511151231257827}"#,
        r#"{"n":12345678901234567890123456789012345678,"o":0.1000000000000000055511151231257827}"#,
    );
    check(
        r#"{"s":"\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00\u0000"}"#,
        r#"{"s":"\"\\/\b\f\n\r\tAé😀\u0000"}"#,
    );
    check(r#"{"\u0061\n":1}"#, r#"{"a\n":1}"#);
}

#[test]
fn tags_say_the_other_types() {
    check(
        r#"{"b":{"$b64":"AP8="},"e":{"$b64":""}}"#,
        r#"{"b":{"$b64":"AP8="},"e":{"$b64":""}}"#,
    );
    check(r#"{"x":{"$ss":["b","a"]}}"#, r#"{"x":{"$ss":["a","b"]}}"#);
    check(
        r#"{"x":{ "$ns" : [ 10, "9", 1e0 ] }}"#,
        r#"{"x":{"$ns":[1,9,10]}}"#,
    );
    check(
        r#"{"x":{"$bs":["Yg==","YQ=="]}}"#,
        r#"{"x":{"$bs":["YQ==","Yg=="]}}"#,
    );
    check(r#"{"x":{"\u0024ss":["a"]}}"#, r#"{"x":{"$ss":["a"]}}"#);
    let item =
        parse(br#"{"b":{"$b64":"AP8="},"n":{"$ns":[1]},"s":{"$ss":[""]},"bs":{"$bs":[""]}}"#)
            .unwrap();
    let expected = Item::from([
        ("b", V::B(vec![0, 255])),
        ("n", V::Ns(vec!["1".parse().unwrap()])),
        ("s", V::Ss(vec![String::new()])),
        ("bs", V::Bs(vec![vec![]])),
    ]);
    assert_eq!(item, expected);
}

#[test]
fn real_maps_that_look_like_tags_are_wrapped() {
    let lone = |name: &str, value: V| V::M([(name.to_owned(), value)].into());
    let cases = [
        (
            r#"{"m":{"$map":{"$ss":["a"]}}}"#,
            lone("$ss", V::L(vec![V::S("a".into())])),
        ),
        (
            r#"{"m":{"$map":{"$map":{"$map":{"$map":1}}}}}"#,
            lone("$map", lone("$map", V::N(1.into()))),
        ),
        (r#"{"m":{"$map":{"$x":null}}}"#, lone("$x", V::Null)),
        (
            r#"{"m":{"$":1,"$ss":"a, ]}\""}}"#,
            V::M(
                [
                    ("$".into(), V::N(1.into())),
                    ("$ss".into(), V::S("a, ]}\"".into())),
                ]
                .into(),
            ),
        ),
        (
            r#"{"m":{"$b64":{"$b64":"AA=="},"a":1}}"#,
            V::M([("$b64".into(), V::B(vec![0])), ("a".into(), V::N(1.into()))].into()),
        ),
    ];
    for (text, value) in cases {
        assert_eq!(
            parse(text.as_bytes()),
            Ok(Item::from([("m", value)])),
            "{text}"
        );
        check(text, text);
    }
    check(
        r#"{"m":{"$map":{"a":1,"b":{"$map":{}}}}}"#,
        r#"{"m":{"a":1,"b":{}}}"#,
    );
    // The item itself is never wrapped.
    check(r#"{"$ss":["a"]}"#, r#"{"$ss":["a"]}"#);
    assert_eq!(
        parse(br#"{"$ss":["a"]}"#),
        Ok(Item::from([("$ss", V::L(vec![V::S("a".into())]))]))
    );
}

#[test]
fn errors_say_what_and_where() {
    check_error(r#"{"status":open}"#, "expected a JSON value at byte 10");
    check_error("", "expected more: the text ends at byte 0");
    check_error(r#"{"a":1"#, "expected more: the text ends at byte 6");
    check_error("[1]", "expected a JSON object at byte 0");
    check_error("{a:1}", "expected a member name in quotes at byte 1");
    check_error("{'a':1}", "expected a member name in quotes at byte 1");
    check_error(r#"{"a" 1}"#, "expected ':' at byte 5");
    check_error(r#"{"a":1 "b":2}"#, "expected ',' or '}' at byte 7");
    check_error(r#"{"a":1,}"#, "expected a member name in quotes at byte 7");
    check_error(r#"{"a":[1,]}"#, "expected a JSON value at byte 8");
    check_error(r#"{"a":[1 2]}"#, "expected ',' or ']' at byte 8");
    check_error(r#"{"a":01}"#, "expected ',' or '}' at byte 6");
    check_error(r#"{"a":+1}"#, "expected a JSON value at byte 5");
    check_error(r#"{"a":.5}"#, "expected a JSON value at byte 5");
    check_error(r#"{"a":1.}"#, "expected a digit at byte 7");
    check_error(r#"{"a":1e}"#, "expected a digit at byte 7");
    check_error(r#"{"a":-}"#, "expected a digit at byte 6");
    check_error(r#"{"a":NaN}"#, "expected a JSON value at byte 5");
    check_error(r#"{"a":nul}"#, "expected a JSON value at byte 5");
    check_error("{} {}", "expected nothing more after the object at byte 3");
    check_error("{}\0", "expected nothing more after the object at byte 2");
    check_error(
        "{}\u{FEFF}",
        "expected nothing more after the object at byte 2",
    );
    check_error(
        r#"{"a":1,"a":2}"#,
        "the member \"a\" is there twice at byte 7",
    );
    check_error(
        r#"{"m":{"a":1,"b":1,"\u0061":2}}"#,
        "the member \"a\" is there twice at byte 18",
    );
    check_error(
        "\u{FEFF}{}",
        "a byte order mark is no JSON; save the text without it at byte 0",
    );
    check_error(b"{\"a\":\"\xFF\"}", "the text is not UTF-8 at byte 6");
    check_error(
        b"{\"a\":x,\"b\":\"\xFF\"}",
        "expected a JSON value at byte 5",
    );
    check_error(
        b"{}\xFF",
        "expected nothing more after the object at byte 2",
    );
    check_error(
        b"{\"a\":\"\xF0\x9F",
        "expected more: the text ends at byte 8",
    );
    check_error(
        "{\"a\":\"x\ny\"}",
        "a control character in a string must be written as an escape at byte 7",
    );
    check_error(r#"{"a":"\x"}"#, "a bad escape in a string at byte 6");
    check_error(r#"{"a":"\u12G4"}"#, "a bad escape in a string at byte 6");
    check_error(r#"{"a":"\ud800"}"#, "half of a surrogate pair at byte 6");
    check_error(r#"{"a":"\udc00"}"#, "half of a surrogate pair at byte 6");
    check_error(
        r#"{"a":"\ud800\u0041"}"#,
        "half of a surrogate pair at byte 6",
    );
}

#[test]
fn bad_values_are_refused() {
    check_error(
        r#"{"":1}"#,
        "One or more parameter values were invalid: Empty attribute name at byte 1",
    );
    check_error(
        r#"{"m":{"":1}}"#,
        "One or more parameter values were invalid: Empty attribute name at byte 6",
    );
    let long = "x".repeat(65_536);
    check_error(
        format!(r#"{{"{long}":1}}"#),
        "One or more parameter values were invalid: Attribute name is too large, must be less than 65536 bytes at byte 1",
    );
    let nines = "9".repeat(39);
    check_error(
        format!(r#"{{"n":{nines}}}"#),
        "Attempting to store more than 38 significant digits in a Number at byte 5",
    );
    check_error(
        r#"{"n":[1e126]}"#,
        "Number overflow. Attempting to store a number with magnitude larger than supported range at byte 6",
    );
    check_error(
        r#"{"s":{"$ss":[]}}"#,
        "One or more parameter values were invalid: An string set  may not be empty at byte 12",
    );
    check_error(
        r#"{"s":{"$ns":[1,1.0]}}"#,
        "Input collection contains duplicates at byte 12",
    );
    check_error(
        r#"{"s":{"$ns":["x"]}}"#,
        "The parameter cannot be converted to a numeric value: x at byte 13",
    );
    check_error(r#"{"s":{"$ns":[true]}}"#, "expected a number at byte 13");
    check_error(r#"{"s":{"$ss":[1]}}"#, "expected a string at byte 13");
    check_error(
        r#"{"s":{"$ss":"a"}}"#,
        "expected a list of strings at byte 12",
    );
    check_error(r#"{"s":{"$b64":"YQ"}}"#, "expected base64 at byte 13");
    check_error(r#"{"s":{"$b64":"YR=="}}"#, "expected base64 at byte 13");
    check_error(
        r#"{"s":{"$b64":1}}"#,
        "expected a string of base64 at byte 13",
    );
    check_error(r#"{"s":{"$map":1}}"#, "expected a JSON object at byte 13");
    check_error(
        r#"{"s":{"$oid":1}}"#,
        "\"$oid\" is no type tag; a map with one such member is written {\"$map\":{…}} at byte 6",
    );
}

#[test]
fn depth_ends_at_level_32() {
    let text = |levels: usize| {
        format!(
            "{{\"a\":{}null{}}}",
            "[".repeat(levels - 1),
            "]".repeat(levels - 1)
        )
    };
    assert_eq!(
        parse(text(32).as_bytes()),
        Ok(Item::from([("a", nested(32))]))
    );
    let nesting = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";
    check_error(text(33), &format!("{nesting} at byte 37"));
    check_error(text(100_000), &format!("{nesting} at byte 37"));
    let maps = "{\"$map\":{\"$map\":".repeat(100_000);
    check_error(
        format!("{{\"a\":{maps}"),
        "expected more: the text ends at byte 1600005",
    );
}

#[test]
fn lines_put_key_attributes_first() {
    let item = Item::from([("a", V::Null), ("pk", V::Null), ("sk", V::Null)]);
    let mut out = b"x\n".to_vec();
    write_line(&item, &["sk", "pk", "none"], &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "x\n{\"sk\":null,\"pk\":null,\"a\":null}\n"
    );
}

#[test]
fn dynamodb_json_is_recognised() {
    let cases = [
        (r#"{"pk":{"S":"x"},"n":{"N":"1"}}"#, true),
        (r#"{"pk":{"NULL":true}}"#, true),
        (r#"{"pk":"x","n":{"N":"1"}}"#, false),
        (r#"{"pk":{"S":"x","N":"1"}}"#, false),
        (r#"{"pk":{"X":"x"}}"#, false),
        (r#"{"pk":{}}"#, false),
        ("{}", false),
    ];
    for (text, expected) in cases {
        assert_eq!(
            looks_like_dynamodb_json(&parse(text.as_bytes()).unwrap()),
            expected,
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn items_survive_their_line(item in item()) {
        let text = line(&item);
        prop_assert_eq!(text.len(), line_len(&item));
        prop_assert_eq!(text.matches('\n').count(), 1);
        prop_assert_eq!(parse(text.as_bytes()), Ok(item));
    }

    #[test]
    fn a_line_is_json_for_others(item in item()) {
        prop_assert!(serde_json::from_str::<serde_json::Value>(&line(&item)).is_ok());
    }

    #[test]
    fn every_prefix_of_a_text_ends_early(item in item(), cut: prop::sample::Index) {
        let text = line(&item);
        let text = text.trim_end().as_bytes();
        let prefix = &text[..cut.index(text.len())];
        prop_assert_eq!(parse(prefix).map_err(|error| error.fault), Err(PlainJsonFault::UnexpectedEnd));
    }

    #[test]
    fn any_text_parses_or_fails(text in "[\\[\\]{}\",:$abmns0-9.eE\\\\ué -]{0,40}") {
        if let Ok(item) = parse(text.as_bytes()) {
            prop_assert_eq!(parse(line(&item).as_bytes()), Ok(item));
        }
    }

    #[test]
    fn damaged_texts_parse_or_fail(item in item(), at: prop::sample::Index, byte: u8) {
        let mut text = line(&item).into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        if let Err(error) = parse(&text) {
            prop_assert!(error.offset <= text.len());
        }
    }
}

#[test]
fn a_number_that_is_cut_off_is_not_judged() {
    let text = format!("{{\"a\":0.{}", "0".repeat(140));
    check_error(&text, "expected more: the text ends at byte 147");
    check(
        &format!("{text}1e100}}"),
        &format!("{{\"a\":0.{}1}}", "0".repeat(40)),
    );
}

//! Tests of DynamoDB JSON: texts that are read and written, refused texts with their errors, and
//! round trips.

use proptest::prelude::*;

use super::*;
use crate::codec::items_of_tests::{item, nested};
use crate::codec::json::JsonFault;
use crate::model::{AttributeValue as V, Item};

fn text(item: &Item) -> String {
    let mut out = Vec::new();
    write_item(item, &mut out);
    String::from_utf8(out).unwrap()
}

/// Checks that the parsed item is written as `expected`.
fn check(input: &str, expected: &str) {
    let item = parse(input.as_bytes()).unwrap_or_else(|error| panic!("{input}: {error}"));
    assert_eq!(text(&item), expected, "{input}");
}

fn check_error(input: &str, expected: &str) {
    let got = parse(input.as_bytes())
        .map(|item| text(&item))
        .map_err(|error| error.to_string());
    assert_eq!(got, Err(expected.to_owned()), "{input}");
}

#[test]
fn every_type_is_read_and_written() {
    let all = concat!(
        r#"{"b":{"B":"AP8="},"bo":{"BOOL":true},"bs":{"BS":["","AQ=="]},"l":{"L":[{"N":"1"},{"L":[]}]},"#,
        r#""m":{"M":{"$x":{"M":{}},"a\n":{"BOOL":false}}},"n":{"N":"-1.5"},"ns":{"NS":["1","10"]},"nu":{"NULL":true},"#,
        r#""s":{"S":"é\"😀"},"ss":{"SS":["","a"]}}"#
    );
    check(all, all);
    check("{}", "{}");
    check(" { \"a\" : { \"N\" : \"1e2\" } }\n", r#"{"a":{"N":"100"}}"#);
    check(r#"{"a":{"NS":["10","9.0"]}}"#, r#"{"a":{"NS":["9","10"]}}"#);
    check(
        r#"{"a":{"X":[{"y":1}],"S":"b","Z":-1.5e3}}"#,
        r#"{"a":{"S":"b"}}"#,
    );
}

#[test]
fn a_value_is_written_alone() {
    let mut out = Vec::new();
    write_value(&V::S("a".into()), &mut out);
    write_value(&V::L(vec![V::Null, V::Null]), &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"S":"a"}{"L":[{"NULL":true},{"NULL":true}]}"#
    );
}

#[test]
fn bad_values_are_refused() {
    let prefix = "One or more parameter values were invalid: ";
    let none =
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    let several = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes";
    check_error(
        r#"{"a":"b"}"#,
        "expected a typed value like {\"S\":\"…\"} at byte 5",
    );
    check_error(r#"{"a":{}}"#, &format!("{none} at byte 5"));
    check_error(r#"{"a":{"X":1}}"#, &format!("{none} at byte 5"));
    check_error(
        r#"{"a":{"S":"a","N":"1"}}"#,
        &format!("{several} at byte 5"),
    );
    check_error(
        r#"{"a":{"S":"a","S":"b"}}"#,
        "the member \"S\" is there twice at byte 14",
    );
    check_error(
        r#"{"a":{"S":"a"},"a":{"S":"b"}}"#,
        "the member \"a\" is there twice at byte 15",
    );
    check_error(
        r#"{"a":{"NULL":false}}"#,
        &format!("{prefix}Null attribute value types must have the value of true at byte 13"),
    );
    check_error(
        r#"{"a":{"SS":[]}}"#,
        &format!("{prefix}An string set  may not be empty at byte 11"),
    );
    check_error(
        r#"{"a":{"SS":["a","a"]}}"#,
        &format!("{prefix}Input collection [a, a] contains duplicates. at byte 11"),
    );
    check_error(
        r#"{"a":{"NS":["1","1.0"]}}"#,
        "Input collection contains duplicates at byte 11",
    );
    check_error(
        r#"{"a":{"BS":["YQ==","YQ=="]}}"#,
        &format!("{prefix}Input collection [YQ==, YQ==]of type BS contains duplicates. at byte 11"),
    );
    check_error(
        r#"{"a":{"N":"x"}}"#,
        "The parameter cannot be converted to a numeric value: x at byte 10",
    );
    check_error(
        r#"{"a":{"N":""}}"#,
        "The parameter cannot be converted to a numeric value at byte 10",
    );
    check_error(r#"{"a":{"N":1}}"#, "expected a number in quotes at byte 10");
    check_error(r#"{"a":{"S":1}}"#, "expected a string at byte 10");
    check_error(r#"{"a":{"B":"?"}}"#, "expected base64 at byte 10");
    check_error(
        r#"{"a":{"BOOL":"true"}}"#,
        "expected true or false at byte 13",
    );
    check_error(
        r#"{"a":{"M":{"":{"S":""}}}}"#,
        &format!("{prefix}Empty attribute name at byte 11"),
    );
    check_error(r#"{"a":{"X":nope}}"#, "expected a JSON value at byte 10");
}

#[test]
fn depth_ends_at_level_32() {
    let of = |levels| text(&Item::from([("a", nested(levels))]));
    assert_eq!(
        parse(of(32).as_bytes()),
        Ok(Item::from([("a", nested(32))]))
    );
    let nesting = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";
    check_error(&of(33), &format!("{nesting} at byte 197"));
    // Ignored members are passed over, however deep.
    let unread = format!(
        "{{\"a\":{{\"X\":{}{},\"S\":\"x\"}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(
        parse(unread.as_bytes()),
        Ok(Item::from([("a", V::S("x".into()))]))
    );
    check_error(
        &unread[..100_010],
        "expected more: the text ends at byte 100010",
    );
}

proptest! {
    #[test]
    fn items_survive_their_text(item in item()) {
        prop_assert_eq!(parse(text(&item).as_bytes()), Ok(item));
    }

    #[test]
    fn every_prefix_of_a_text_ends_early(item in item(), cut: prop::sample::Index) {
        let text = text(&item).into_bytes();
        let prefix = &text[..cut.index(text.len())];
        prop_assert_eq!(parse(prefix).map_err(|error| error.fault), Err(JsonFault::UnexpectedEnd));
    }

    #[test]
    fn values_of_serde_agree(item in item()) {
        let value: serde_json::Value = serde_json::from_str(&text(&item)).unwrap();
        prop_assert_eq!(parse(value.to_string().as_bytes()), Ok(item));
    }
}

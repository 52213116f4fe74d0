//! Tests of file names of key values: names of every kind, aliases, lenient spellings, round trips,
//! and names as words of a shell.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse().expect("a number"))
}

fn binary(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(bytes.to_vec())
}

fn type_of(value: &AttributeValue) -> KeyAttributeType {
    match value {
        AttributeValue::N(_) => KeyAttributeType::N,
        AttributeValue::B(_) => KeyAttributeType::B,
        _ => KeyAttributeType::S,
    }
}

fn check(value: AttributeValue, expected: &str) {
    assert_eq!(encode(&value), expected);
    assert_eq!(
        decode(expected.as_bytes(), &[type_of(&value)]),
        Ok(DecodedName::Values(vec![value])),
        "{expected}"
    );
}

#[test]
fn table_of_names() {
    check(text("Comet Quest"), "Comet%20Quest");
    check(text("a.b_c:d@e+f-g"), "a.b_c:d@e+f-g");
    check(text("."), "%2E");
    check(text(".."), "%2E.");
    check(text("-rf"), "%2Drf");
    check(text("~"), "%7E");
    check(text("~root~"), "%7Eroot%7E");
    check(text("#1"), "%231");
    check(text("@pk=x"), "%40pk%3Dx");
    check(text("+1"), "%2B1");
    check(text("_x"), "_x");
    check(text("config.json"), "config.json");
    check(text("a/b\0c%d,e"), "a%2Fb%00c%25d%2Ce");
    check(
        text("'\"*?[]{}$`\\!&|;<>()^"),
        "%27%22%2A%3F%5B%5D%7B%7D%24%60%5C%21%26%7C%3B%3C%3E%28%29%5E",
    );
    check(text("\n\t\u{7f}"), "%0A%09%7F");
    check(text("Zoë 中"), "Zoë%20中");
    check(text("a\u{200b}\u{202e}\u{a0}"), "a%E2%80%8B%E2%80%AE%C2%A0");
    check(number("42"), "42");
    check(number("0.5"), "0.5");
    check(number("-10"), "%2D10");
    check(binary(b"abc.-"), "abc.-");
    check(binary(&[0, 0xFF, b'-', 0xC3, 0xA9]), "%00%FF-%C3%A9");
    check(binary(b"-"), "%2D");
}

fn check_lenient(name: &str, value: AttributeValue) {
    assert_eq!(
        decode(name.as_bytes(), &[type_of(&value)]),
        Ok(DecodedName::Values(vec![value])),
        "{name}"
    );
}

#[test]
fn hand_typed_names_mean_the_same_keys() {
    check_lenient("Comet Quest", text("Comet Quest"));
    check_lenient("#1=a,b~", text("#1=a,b~"));
    check_lenient("%c3%a9", text("é"));
    check_lenient("%C3%A9", text("é"));
    check_lenient(".hidden", text(".hidden"));
    check_lenient("%61", text("a"));
    check_lenient("042", number("42"));
    check_lenient("4.20e1", number("42"));
    check_lenient("-10", number("-10"));
    check_lenient("é ", binary("é ".as_bytes()));
}

#[test]
fn names_that_mean_no_key() {
    let check = |name: &[u8], attribute_type: KeyAttributeType, expected: FileNameError| {
        assert_eq!(decode(name, &[attribute_type]), Err(expected), "{name:?}");
    };
    let (s, n, b) = (
        KeyAttributeType::S,
        KeyAttributeType::N,
        KeyAttributeType::B,
    );
    check(b"", s, FileNameError::Empty);
    check(b"", n, FileNameError::Empty);
    check(b"", b, FileNameError::Empty);
    check(b"%", s, FileNameError::Escape);
    check(b"a%2", s, FileNameError::Escape);
    check(b"100%", s, FileNameError::Escape);
    check(b"%zz", b, FileNameError::Escape);
    check("%é".as_bytes(), b, FileNameError::Escape);
    check(b"\xFF", s, FileNameError::NotUtf8);
    check(b"\xFF", b, FileNameError::NotUtf8);
    check(b"%FF", s, FileNameError::ValueNotUtf8);
    check(
        b"abc",
        n,
        FileNameError::Number("abc".parse::<Number>().expect_err("no number")),
    );
    check(b"a%~short", s, FileNameError::Alias);
    check(b"a%~aaaaaaaaaaaaaaaaaaaaaaaaaab", s, FileNameError::Alias);
}

#[test]
fn several_values_are_separated_by_commas() {
    let values = [text("a,b"), number("-1.5"), binary(b"\0,")];
    let types = [
        KeyAttributeType::S,
        KeyAttributeType::N,
        KeyAttributeType::B,
    ];
    let name = entry_stem_within(&values.iter().collect::<Vec<_>>(), STEM_BYTES_MAX);
    assert_eq!(name, "a%2Cb,%2D1.5,%00%2C");
    assert_eq!(
        decode(name.as_bytes(), &types),
        Ok(DecodedName::Values(values.to_vec()))
    );
    assert_eq!(collection_name(&values.iter().collect::<Vec<_>>()), name);
    let components = |found| Err(FileNameError::Components { expected: 3, found });
    assert_eq!(decode(b"a,1", &types), components(2));
    assert_eq!(decode(b"a,1,b,c", &types), components(4));
    assert_eq!(decode(b"a,,b", &types), Err(FileNameError::Empty));
}

#[test]
fn long_names_become_aliases() {
    let fits = text(&"x".repeat(STEM_BYTES_MAX));
    assert_eq!(item_stem(&fits), "x".repeat(STEM_BYTES_MAX));
    let long = text(&"x".repeat(STEM_BYTES_MAX + 1));
    let alias = item_stem(&long);
    let expected = DecodedName::Alias {
        prefix: "x".repeat(195),
        digest: sort_digest(&long),
    };
    assert_eq!(alias.len(), STEM_BYTES_MAX);
    assert_eq!(
        decode(alias.as_bytes(), &[KeyAttributeType::S]),
        Ok(expected)
    );
    assert_eq!(alias_digest(&alias), Some(sort_digest(&long)));
    assert_eq!(
        alias_digest(&hash_item_stem(&long)),
        Some(key::partition_digest(&[&long]))
    );
    let whole = format!("{},1", "x".repeat(STEM_BYTES_MAX + 1));
    assert_eq!(
        alias_digest(&entry_stem_within(&[&long, &number("1")], STEM_BYTES_MAX)),
        Some(digest(whole.as_bytes()))
    );
}

#[test]
fn aliases_are_cut_between_tokens() {
    for lead in 0..6 {
        let value = text(&format!("{}{}", "x".repeat(lead), "\u{200b}".repeat(300)));
        let name = item_stem(&value);
        let prefix = name.split(ALIAS_MARK).next().expect("a prefix");
        assert!(prefix.len() > (STEM_BYTES_MAX - ALIAS_END_BYTES) - 3);
        assert!(unescape(prefix).is_ok());
        let scan = alias_scan_prefix(prefix, &[KeyAttributeType::S]);
        assert!(
            matches!((&scan, &value), (Some(AttributeValue::S(start)), AttributeValue::S(all)) if all.starts_with(start))
        );
    }
    let value = binary(&[0xFF; 2048]);
    let name = item_stem(&value);
    let prefix = name.split(ALIAS_MARK).next().expect("a prefix");
    assert_eq!(
        alias_scan_prefix(prefix, &[KeyAttributeType::B]),
        Some(binary(&[0xFF; 65]))
    );
    let types = [KeyAttributeType::N, KeyAttributeType::S];
    assert_eq!(alias_scan_prefix("%2D1,abc", &types), Some(number("-1")));
    assert_eq!(alias_scan_prefix("", &[KeyAttributeType::S]), None);
}

#[test]
fn numbers_are_never_cut() {
    for longest in [
        format!("-0.{}{}", "0".repeat(129), "9".repeat(38)),
        format!("-{}{}", "9".repeat(38), "0".repeat(88)),
    ] {
        let Ok(number) = longest.parse() else {
            continue;
        };
        assert!(encode(&AttributeValue::N(number)).len() <= (STEM_BYTES_MAX - ALIAS_END_BYTES));
    }
}

/// Checks the rules of every produced name.
fn check_safe(name: &str) {
    assert!(!name.is_empty() && name.len() <= STEM_BYTES_MAX, "{name}");
    assert!(!name.starts_with(['.', '-', '~', '#', '@', '+']), "{name}");
    assert!(
        name.bytes().all(|byte| byte >= 0x80
            || byte.is_ascii_alphanumeric()
            || b"._:@+-%~,".contains(&byte)),
        "{name}"
    );
    assert!(!name.contains('~') || name.contains(ALIAS_MARK), "{name}");
    assert!(
        name.chars().all(|c| !c.is_control() && !c.is_whitespace()),
        "{name}"
    );
}

fn nasty_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab%~,./ #=@+\\-\0\n'\"*0-9é\u{200b}\u{301}]{1,12}",
        "[%25CE~,a]{1,6}",
        "[aé%]{180,260}",
        "\\PC{1,100}",
        "(?s:.){1,40}",
    ]
}

fn nasty_value() -> impl Strategy<Value = AttributeValue> {
    let numbers = ("-?[0-9]{1,4}(\\.[0-9]{1,4})?", -120i32..120)
        .prop_map(|(digits, power)| number(&format!("{digits}e{power}")));
    let bytes = prop_oneof![
        proptest::collection::vec(
            proptest::sample::select(vec![0u8, b'a', b'%', b',', b'.', b'-', 0xC3, 0xA9, 0xFF]),
            1..8
        ),
        proptest::collection::vec(any::<u8>(), 1..300),
    ];
    prop_oneof![
        nasty_text().prop_map(AttributeValue::S),
        numbers,
        bytes.prop_map(AttributeValue::B)
    ]
}

proptest! {
    #[test]
    fn names_round_trip(value in nasty_value()) {
        let name = encode(&value);
        prop_assert_eq!(decode(name.as_bytes(), &[type_of(&value)]), Ok(DecodedName::Values(vec![value])));
    }

    #[test]
    fn stems_are_safe_and_round_trip(values in proptest::collection::vec(nasty_value(), 1..5)) {
        let types: Vec<KeyAttributeType> = values.iter().map(type_of).collect();
        let references: Vec<&AttributeValue> = values.iter().collect();
        for name in [entry_stem_within(&references, STEM_BYTES_MAX), collection_name(&references)] {
            check_safe(&name);
            match decode(name.as_bytes(), &types) {
                Ok(DecodedName::Values(found)) => prop_assert_eq!(&found, &values),
                Ok(DecodedName::Alias { prefix, digest }) => {
                    prop_assert!(name.starts_with(&prefix));
                    prop_assert_eq!(alias_digest(&name), Some(digest));
                    let _ = alias_scan_prefix(&prefix, &types);
                }
                Err(fault) => prop_assert!(false, "{}: {}", name, fault),
            }
        }
    }

    #[test]
    fn different_keys_have_different_names(one in nasty_text(), two in nasty_text()) {
        let (left, right) = (text(&one), text(&two));
        prop_assert_eq!(one == two, item_stem(&left) == item_stem(&right));
        prop_assert_eq!(one == two, hash_item_stem(&left) == hash_item_stem(&right));
        let (left, right) = (binary(one.as_bytes()), binary(two.as_bytes()));
        prop_assert_eq!(one == two, item_stem(&left) == item_stem(&right));
    }

    #[test]
    fn any_bytes_decode_or_fail(name in proptest::collection::vec(any::<u8>(), 0..300), components in 0usize..4) {
        let types = [KeyAttributeType::S, KeyAttributeType::N, KeyAttributeType::B];
        let _ = decode(&name, &types[..components]);
    }
}

/// Returns names of every single byte and of many pairs, ASCII and not.
fn many_names() -> Vec<String> {
    let alphabet: Vec<char> = (0..0x250)
        .chain(0x2000..0x2070)
        .chain([0x3000, 0xFEFF])
        .filter_map(char::from_u32)
        .collect();
    let leads = ["", "a", "-", "%", " ", "é"];
    let values = alphabet
        .iter()
        .flat_map(|c| leads.iter().map(move |lead| text(&format!("{lead}{c}"))));
    let binaries = (0..=255u8).map(|byte| binary(&[byte, byte]));
    let names: BTreeMap<String, ()> = values
        .chain(binaries)
        .map(|value| (item_stem(&value), ()))
        .collect();
    names.into_keys().collect()
}

#[test]
fn shells_and_xargs_take_names_as_single_words() {
    let names = many_names();
    assert!(names.len() > 3000);
    let input = names.join("\n") + "\n";
    for shell in ["bash", "dash", "zsh"] {
        // Unquoted expansion after a pass through xargs: words must come out as they went in.
        let script = "for word in $(xargs printf '%s\\n'); do printf '%s\\n' \"$word\"; done";
        let command = Command::new(shell)
            .arg("-c")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        // Only shells that are installed.
        let Ok(mut child) = command else { continue };
        let mut stdin = child.stdin.take().expect("a pipe");
        let sent = input.clone();
        let writer = std::thread::spawn(move || stdin.write_all(sent.as_bytes()));
        let output = child.wait_with_output().expect("the shell ran");
        writer
            .join()
            .expect("the writer ended")
            .expect("the shell read everything");
        assert_eq!(String::from_utf8_lossy(&output.stdout), input, "{shell}");
    }
}

#[test]
fn an_alias_in_less_room_has_the_same_digest() {
    let long = AttributeValue::S("ü/".repeat(200));
    for bytes_max in [28, 30, 31, 100, STEM_BYTES_MAX, 254] {
        let name = item_stem_within(&long, bytes_max);
        assert!(name.len() <= bytes_max, "{bytes_max}: {name}");
        assert_eq!(alias_digest(&name), Some(sort_digest(&long)));
        assert_eq!(
            alias_digest(&collection_name_within(&[&long], bytes_max)),
            Some(key::partition_digest(&[&long]))
        );
        let entry = [&long, &long];
        assert_eq!(
            alias_digest(&entry_stem_within(&entry, bytes_max)),
            Some(entry_digest(&entry))
        );
    }
    let short = AttributeValue::S("a".to_owned());
    assert_eq!(item_stem_within(&short, 28), "a");
}

#[test]
fn forty_thousand_random_keys_round_trip_and_stay_apart() {
    let mut runner = TestRunner::deterministic();
    let strategy = nasty_value();
    let mut known: HashMap<(KeyAttributeType, String), AttributeValue> = HashMap::new();
    for _ in 0..40_000 {
        let value = strategy.new_tree(&mut runner).expect("a value").current();
        let (name, of_type) = (item_stem(&value), type_of(&value));
        match decode(name.as_bytes(), &[of_type]) {
            Ok(DecodedName::Values(found)) => {
                assert_eq!(found, std::slice::from_ref(&value), "{name}")
            }
            Ok(DecodedName::Alias { digest, .. }) => {
                assert_eq!(digest, sort_digest(&value), "{name}")
            }
            Err(fault) => panic!("{name}: {fault}"),
        }
        if let Some(other) = known.insert((of_type, name), value.clone()) {
            assert_eq!(other, value, "one name for two keys");
        }
    }
    assert!(known.len() > 20_000, "only {} different keys", known.len());
}

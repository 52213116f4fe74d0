//! Tests of ordered keys: bytes of known values, and the properties that the order and the prefixes
//! of keys have.

use proptest::prelude::*;

use super::*;

fn n(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse().unwrap())
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn b(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(bytes.to_vec())
}

fn encoded(value: &AttributeValue) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

fn key_type(value: &AttributeValue) -> KeyAttributeType {
    match value {
        AttributeValue::S(_) => KeyAttributeType::S,
        AttributeValue::N(_) => KeyAttributeType::N,
        _ => KeyAttributeType::B,
    }
}

fn check(value: &AttributeValue, expected: &[u8]) {
    assert_eq!(encoded(value), expected, "{value:?}");
    let mut with_rest = expected.to_vec();
    with_rest.extend_from_slice(b"rest");
    assert_eq!(
        decode(key_type(value), &with_rest),
        Ok((value.clone(), &b"rest"[..])),
        "{value:?}"
    );
}

#[test]
fn strings_and_binaries_are_escaped_and_terminated() {
    check(&s("ab"), b"ab\0\0");
    check(&s(""), b"\0\0");
    check(&s("a\0b"), b"a\0\xFFb\0\0");
    check(&s("\0\0"), b"\0\xFF\0\xFF\0\0");
    check(&s("é"), b"\xC3\xA9\0\0");
    check(&b(&[0, 1, 255]), &[0, 255, 1, 255, 0, 0]);
    check(&b(&[255, 0]), &[255, 0, 255, 0, 0]);
}

#[test]
fn numbers_are_class_exponent_and_pairs() {
    check(&n("0"), &[2]);
    check(&n("1"), &[3, 128, 2, 0]);
    check(&n("10"), &[3, 128, 11, 0]);
    check(&n("99"), &[3, 128, 100, 0]);
    check(&n("100"), &[3, 129, 2, 0]);
    check(&n("1234.5"), &[3, 129, 13, 35, 51, 0]);
    check(&n("123.45"), &[3, 129, 2, 24, 46, 0]);
    check(&n("10001"), &[3, 130, 2, 1, 2, 0]);
    check(&n("0.5"), &[3, 127, 51, 0]);
    check(&n("0.05"), &[3, 127, 6, 0]);
    check(&n("-1"), &[1, 127, 253, 255]);
    check(&n("-1234.5"), &[1, 126, 242, 220, 204, 255]);
    check(&n("1e125"), &[3, 190, 11, 0]);
    check(&n("1e-130"), &[3, 63, 2, 0]);
    let thirty_eight = "9".repeat(38);
    let mut even = vec![3, 146];
    even.extend([100; 19]);
    even.push(0);
    check(&n(&thirty_eight), &even);
    let mut odd = vec![3, 147, 10];
    odd.extend([100; 18]);
    odd.extend([91, 0]);
    check(&n(&format!("{thirty_eight}0")), &odd);
}

#[test]
fn corrupt_keys_are_refused() {
    let cases: &[(KeyAttributeType, &[u8])] = &[
        (KeyAttributeType::S, b""),
        (KeyAttributeType::S, b"ab"),
        (KeyAttributeType::S, b"ab\0"),
        (KeyAttributeType::S, b"ab\0\x01"),
        (KeyAttributeType::S, b"\xFF\0\0"),
        (KeyAttributeType::N, b""),
        (KeyAttributeType::N, &[0]),
        (KeyAttributeType::N, &[3]),
        (KeyAttributeType::N, &[3, 128]),
        (KeyAttributeType::N, &[3, 128, 0]),
        (KeyAttributeType::N, &[3, 128, 1, 0]),
        (KeyAttributeType::N, &[3, 128, 2, 1, 0]),
        (KeyAttributeType::N, &[3, 128, 101, 0]),
        (KeyAttributeType::N, &[3, 128, 2]),
        (KeyAttributeType::N, &[3, 255, 2, 0]),
        (KeyAttributeType::N, &[3, 0, 2, 0]),
        (
            KeyAttributeType::N,
            &[
                3, 128, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0,
            ],
        ),
    ];
    for (attribute_type, bytes) in cases {
        assert!(
            matches!(decode(*attribute_type, bytes), Err(StoreError::Corrupt(_))),
            "{bytes:?}"
        );
    }
}

#[test]
fn prefixes_have_no_terminator() {
    assert_eq!(encode_prefix(&s("a\0")), Some(b"a\0\xFF".to_vec()));
    assert_eq!(encode_prefix(&s("")), Some(vec![]));
    assert_eq!(encode_prefix(&b(&[255])), Some(vec![255]));
    assert_eq!(encode_prefix(&n("1")), None);
}

#[test]
fn partition_digests_are_of_plain_encodings() {
    assert_eq!(
        partition_digest(&[&s("a"), &n("1")]),
        digest(&[b'a', 0, 0, 3, 128, 2, 0])
    );
    assert_ne!(
        partition_digest(&[&s("a"), &s("")]),
        partition_digest(&[&s(""), &s("a")])
    );
}

fn number() -> impl Strategy<Value = AttributeValue> {
    let near = (any::<bool>(), 0_u128..2000, -4_i64..4);
    let wide = (any::<bool>(), 0..10_u128.pow(38), -167_i64..88);
    prop_oneof![near, wide].prop_filter_map("out of range", |(negative, coefficient, exponent)| {
        Number::from_parts(negative, coefficient, exponent)
            .ok()
            .map(AttributeValue::N)
    })
}

fn string() -> impl Strategy<Value = AttributeValue> {
    prop_oneof!["[\0\u{1}aé\u{10FFFF}]{0,4}", "\\PC{0,8}"].prop_map(AttributeValue::S)
}

fn binary() -> impl Strategy<Value = AttributeValue> {
    let byte = prop_oneof![Just(0_u8), Just(1), Just(255), any::<u8>()];
    prop::collection::vec(byte, 0..5).prop_map(AttributeValue::B)
}

fn pair() -> impl Strategy<Value = (AttributeValue, AttributeValue)> {
    prop_oneof![
        (string(), string()),
        (binary(), binary()),
        (number(), number())
    ]
}

proptest! {
    #[test]
    fn encodings_keep_the_order((a, b) in pair()) {
        prop_assert_eq!(Some(encoded(&a).cmp(&encoded(&b))), a.compare(&b));
    }

    #[test]
    fn no_encoding_is_a_prefix_of_another((a, b) in pair()) {
        prop_assert!(a == b || !encoded(&b).starts_with(&encoded(&a)));
    }

    #[test]
    fn concatenations_keep_the_order_of_tuples((a1, b1) in pair(), (a2, b2) in pair(), same in any::<bool>()) {
        let b1 = if same { a1.clone() } else { b1 };
        let tuple = |first, second| { let mut out = encoded(first); encode(second, &mut out); out };
        let expected = a1.compare(&b1).zip(a2.compare(&b2)).map(|(first, second)| first.then(second));
        prop_assert_eq!(Some(tuple(&a1, &a2).cmp(&tuple(&b1, &b2))), expected);
    }

    #[test]
    fn decoding_inverts_encoding((a, b) in pair()) {
        let mut bytes = encoded(&a);
        encode(&b, &mut bytes);
        prop_assert_eq!(decode(key_type(&a), &bytes), Ok((a, &encoded(&b)[..])));
    }

    #[test]
    fn values_with_a_prefix_and_no_others_begin_with_its_bytes((value, prefix) in prop_oneof![(string(), string()), (binary(), binary())]) {
        let begins = match (&value, &prefix) {
            (AttributeValue::S(value), AttributeValue::S(prefix)) => value.starts_with(prefix.as_str()),
            (AttributeValue::B(value), AttributeValue::B(prefix)) => value.starts_with(prefix),
            _ => false,
        };
        let bytes = encode_prefix(&prefix).unwrap();
        prop_assert_eq!(encoded(&value).starts_with(&bytes), begins);
    }

    #[test]
    fn any_bytes_decode_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
        for attribute_type in [KeyAttributeType::S, KeyAttributeType::N, KeyAttributeType::B] {
            if let Ok((value, rest)) = decode(attribute_type, &bytes) {
                prop_assert_eq!(encoded(&value), &bytes[..bytes.len() - rest.len()]);
            }
        }
    }
}

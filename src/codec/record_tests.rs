//! Tests of item records: the bytes of the format, round trips, and damaged bytes, which are
//! refused.

use proptest::prelude::*;

use super::*;
use crate::codec::items_of_tests::{item, nested};
use crate::codec::{dynamodb_json, plain_json};
use crate::model::AttributeValue as V;

fn n(text: &str) -> V {
    V::N(text.parse().unwrap())
}

fn every_type() -> Item {
    Item::from([
        ("pk", V::S("a\n".into())),
        ("b", V::B(vec![0, 255])),
        ("f", V::Bool(false)),
        ("t", V::Bool(true)),
        ("0", V::Null),
        ("ss", V::string_set(vec!["b".into(), "a".into()]).unwrap()),
        (
            "ns",
            V::number_set(vec!["10".parse().unwrap(), "-1.5".parse().unwrap()]).unwrap(),
        ),
        ("bs", V::binary_set(vec![vec![1], vec![]]).unwrap()),
        ("l", V::L(vec![n("1"), V::L(vec![])])),
        ("m", V::M([("$x".to_owned(), V::Null)].into())),
    ])
}

fn check(item: &Item, first: &[&str], content: &[&[u8]]) {
    let bytes = encode(item, first, 2, 3);
    assert_eq!(bytes[25..], content.concat(), "{item:?}");
    assert_eq!(Record::parse(&bytes).unwrap().to_item(), Ok(item.clone()));
}

#[test]
fn the_header_is_25_bytes() {
    let item = Item::from([("pk", V::S("a".into()))]);
    let bytes = encode(&item, &["pk"], 0x0102_0304_0506_0708, 0x1112_1314_1516_1718);
    let expected: &[&[u8]] = &[
        &[1],
        &[3, 0, 0, 0],
        &[11, 0, 0, 0],
        &[8, 7, 6, 5, 4, 3, 2, 1],
        &[0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11],
        &[1, 0, 0, 0],
        &[2],
        b"pk",
        &[1, 1],
        b"a",
    ];
    assert_eq!(bytes, expected.concat());
    let record = Record::parse(&bytes).unwrap();
    assert_eq!((record.item_bytes(), record.plain_json_bytes()), (3, 11));
    assert_eq!(
        (record.version(), record.modified_ms()),
        (0x0102_0304_0506_0708, 0x1112_1314_1516_1718)
    );
}

#[test]
fn contents_are_tagged_values() {
    check(&Item::default(), &[], &[&[0, 0, 0, 0]]);
    check(
        &every_type(),
        &["pk"],
        &[
            &[10, 0, 0, 0],
            b"\x02pk\x01\x02a\n",
            b"\x010\x06",
            b"\x01b\x03\x02\x00\xFF",
            b"\x02bs\x09\x03\0\0\0\x00\x01\x01",
            b"\x01f\x04",
            b"\x01l\x0A\x08\0\0\0\x02\x011\x0A\0\0\0\0",
            b"\x01m\x0B\x04\0\0\0\x02$x\x06",
            b"\x02ns\x08\x08\0\0\0\x04-1.5\x0210",
            b"\x02ss\x07\x04\0\0\0\x01a\x01b",
            b"\x01t\x05",
        ],
    );
    let long = "x".repeat(300);
    check(
        &Item::from([("s", V::S(long.clone()))]),
        &[],
        &[&[1, 0, 0, 0], b"\x01s\x01\xAC\x02", long.as_bytes()],
    );
}

#[test]
fn key_attributes_come_first_and_once() {
    let item = Item::from([("a", V::Null), ("b", V::Null), ("c", V::Null)]);
    check(
        &item,
        &["c", "missing", "b", "c"],
        &[&[3, 0, 0, 0], b"\x01c\x06\x01b\x06\x01a\x06"],
    );
}

#[test]
fn texts_are_rendered_from_the_bytes() {
    let bytes = encode(&every_type(), &["pk"], 1, 1);
    let record = Record::parse(&bytes).unwrap();
    let mut plain = b"before".to_vec();
    record.write_plain_json(&mut plain).unwrap();
    let expected = concat!(
        r#"before{"pk":"a\n","0":null,"b":{"$b64":"AP8="},"bs":{"$bs":["","AQ=="]},"f":false,"l":[1,[]],"#,
        r#""m":{"$map":{"$x":null}},"ns":{"$ns":[-1.5,10]},"ss":{"$ss":["a","b"]},"t":true}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(plain).unwrap(), expected);
    assert_eq!(
        record.plain_json_bytes() as usize,
        expected.len() - "before".len()
    );
    let mut typed = Vec::new();
    record
        .write_dynamodb_json(&|name| matches!(name, "pk" | "l" | "m"), &mut typed)
        .unwrap();
    let expected =
        r#"{"pk":{"S":"a\n"},"l":{"L":[{"N":"1"},{"L":[]}]},"m":{"M":{"$x":{"NULL":true}}}}"#;
    assert_eq!(String::from_utf8(typed).unwrap(), expected);
}

#[test]
fn one_attribute_is_read_alone() {
    let item = every_type();
    let bytes = encode(&item, &["pk"], 1, 1);
    let record = Record::parse(&bytes).unwrap();
    let mut again = AttributeValue::S("before".to_owned());
    // Each twice: into a value of another type, and of its own.
    for (name, value) in item.0.iter().flat_map(|attribute| [attribute, attribute]) {
        assert_eq!(record.attribute(name), Ok(Some(value.clone())), "{name}");
        assert_eq!(
            (record.attribute_into(name, &mut again), &again),
            (Ok(true), value),
            "{name}"
        );
    }
    assert_eq!(record.attribute("none"), Ok(None));
    assert_eq!(record.attribute_into("none", &mut again), Ok(false));
}

#[test]
fn other_formats_are_refused() {
    let mut bytes = encode(&every_type(), &[], 1, 1);
    bytes[0] = 2;
    assert_eq!(Record::parse(&bytes).map(drop), Err(StoreError::Format(2)));
    assert_eq!(Record::parse(&[9]).map(drop), Err(StoreError::Format(9)));
    bytes[0] = 0;
    assert!(matches!(Record::parse(&bytes), Err(StoreError::Corrupt(_))));
    assert!(matches!(Record::parse(&[]), Err(StoreError::Corrupt(_))));
    assert!(matches!(
        Record::parse(&[1; 24]),
        Err(StoreError::Corrupt(_))
    ));
}

fn record_of(content: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    bytes[0] = FORMAT;
    bytes.extend(content.concat());
    bytes
}

fn check_corrupt(content: &[&[u8]]) {
    let bytes = record_of(content);
    assert!(
        matches!(
            Record::parse(&bytes).unwrap().to_item(),
            Err(StoreError::Corrupt(_))
        ),
        "{content:?}"
    );
}

#[test]
fn contents_that_are_not_canonical_are_refused() {
    const ONE: &[u8] = &[1, 0, 0, 0];
    let two: &[u8] = &[2, 0, 0, 0];
    check_corrupt(&[]);
    check_corrupt(&[ONE]);
    check_corrupt(&[ONE, b"\x01a"]);
    check_corrupt(&[ONE, b"\x01a\x06\x00"]);
    check_corrupt(&[two, b"\x01a\x06"]);
    check_corrupt(&[two, b"\x01a\x06\x01a\x06"]);
    check_corrupt(&[ONE, b"\x01a\x00"]);
    check_corrupt(&[ONE, b"\x01a\x0C"]);
    check_corrupt(&[ONE, b"\x01\xFF\x06"]);
    check_corrupt(&[ONE, b"\x01a\x01\x01\xFF"]);
    check_corrupt(&[ONE, b"\x01a\x01\x81\x00x"]);
    check_corrupt(&[ONE, b"\x01a\x01\xFF\xFF\xFF\xFF\xFF\x01"]);
    check_corrupt(&[ONE, b"\x01a\x02\x031.0"]);
    check_corrupt(&[ONE, b"\x01a\x02\x00"]);
    check_corrupt(&[ONE, b"\x01a\x02\x03abc"]);
    check_corrupt(&[ONE, b"\x01a\x07\0\0\0\0"]);
    check_corrupt(&[ONE, b"\x01a\x07\x04\0\0\0\x01b\x01a"]);
    check_corrupt(&[ONE, b"\x01a\x08\x05\0\0\0\x0210\x019"]);
    check_corrupt(&[ONE, b"\x01a\x09\x04\0\0\0\x01a\x01a"]);
    check_corrupt(&[ONE, b"\x01a\x0A\xFF\xFF\xFF\xFF"]);
    check_corrupt(&[ONE, b"\x01a\x0B\x06\0\0\0\x01b\x06\x01a\x06"]);
}

#[test]
fn depth_is_capped() {
    let of = |levels| encode(&Item::from([("a", nested(levels))]), &[], 1, 1);
    let (good, deep) = (of(32), of(33));
    assert!(Record::parse(&good).unwrap().to_item().is_ok());
    let deep = Record::parse(&deep).unwrap();
    let too_deep = StoreError::Corrupt("a record has too many levels");
    assert_eq!(deep.to_item(), Err(too_deep.clone()));
    let mut out = b"x".to_vec();
    assert_eq!(deep.write_plain_json(&mut out), Err(too_deep));
    assert_eq!(out, b"x");
}

/// Reads in every way; none may panic.
fn read_all(bytes: &[u8]) {
    let Ok(record) = Record::parse(bytes) else {
        return;
    };
    let mut out = Vec::new();
    let _ = record.to_item();
    let _ = record.attribute("pk");
    let _ = record.write_plain_json(&mut out);
    let _ = record.write_dynamodb_json(&|name| name != "b", &mut out);
}

proptest! {
    #[test]
    fn decoding_inverts_encoding(item in item(), version: u64, modified_ms: u64) {
        let bytes = encode(&item, &["b", "a"], version, modified_ms);
        let record = Record::parse(&bytes).unwrap();
        prop_assert_eq!(record.item_bytes() as usize, item.size());
        prop_assert_eq!((record.version(), record.modified_ms()), (version, modified_ms));
        prop_assert_eq!(record.to_item(), Ok(item));
    }

    #[test]
    fn a_reordered_record_is_that_of_the_other_order(item in item(), version: u64) {
        let orders: [&[&str]; 4] = [&["b", "a"], &["a", "c", "a"], &["zz"], &[]];
        for (from, to) in orders.iter().flat_map(|from| orders.iter().map(move |to| (from, to))) {
            prop_assert_eq!(reorder(&encode(&item, from, version, 7), to), Ok(encode(&item, to, version, 7)));
        }
    }

    #[test]
    fn texts_from_bytes_are_texts_from_the_item(item in item()) {
        let bytes = encode(&item, &["b", "a"], 1, 1);
        let (mut from_bytes, mut from_item) = (Vec::new(), Vec::new());
        let record = Record::parse(&bytes).unwrap();
        record.write_plain_json(&mut from_bytes).unwrap();
        plain_json::write_line(&item, &["b", "a"], &mut from_item);
        prop_assert_eq!(&from_bytes, &from_item);
        prop_assert_eq!(record.plain_json_bytes() as usize, from_bytes.len());

        let bytes = encode(&item, &[], 1, 1);
        let (mut from_bytes, mut from_item) = (Vec::new(), Vec::new());
        Record::parse(&bytes).unwrap().write_dynamodb_json(&|_| true, &mut from_bytes).unwrap();
        dynamodb_json::write_item(&item, &mut from_item);
        prop_assert_eq!(from_bytes, from_item);
    }

    #[test]
    fn contents_are_equal_exactly_when_items_are(a in item(), b in item()) {
        let content = |item: &Item, version| Record::parse(&encode(item, &["a"], version, version)).unwrap().content().to_vec();
        prop_assert_eq!(content(&a, 1) == content(&b, 2), a == b);
        prop_assert_eq!(content(&a, 1), content(&a, 2));
    }

    #[test]
    fn corrupt_bytes_never_panic(item in item(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = encode(&item, &[], 1, 1);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        read_all(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        read_all(&bytes);
    }

    #[test]
    fn any_content_reads_or_fails(content in prop::collection::vec(prop_oneof![0_u8..13, any::<u8>()], 0..40)) {
        read_all(&record_of(&[&[1, 0, 0, 0], &content]));
    }
}

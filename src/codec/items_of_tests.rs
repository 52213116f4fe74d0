//! Generators of items for property tests: tiny alphabets, every type, names that look like tags.

use proptest::prelude::*;

use crate::model::{AttributeValue, Item, Number};

/// Generates attribute and member names.
pub fn name() -> impl Strategy<Value = String> {
    let tags = ["$b64", "$ss", "$ns", "$bs", "$map", "$", "$x", "S", "M"].map(str::to_owned);
    prop_oneof![
        prop::sample::select(tags.to_vec()),
        "[abc\"\\\\\n\0é]{1,3}",
        "\\PC{1,10}"
    ]
}

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab\"\\\\\n\0\u{1f}é😀]{0,12}", "\\PC{0,20}"]
}

pub fn number() -> impl Strategy<Value = Number> {
    let near = (any::<bool>(), 0_u128..2000, -3_i64..3);
    let wide = (any::<bool>(), 0..10_u128.pow(38), -167_i64..88);
    prop_oneof![near, wide].prop_filter_map("out of range", |(negative, coefficient, exponent)| {
        Number::from_parts(negative, coefficient, exponent).ok()
    })
}

pub fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..5)
}

pub fn value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        text().prop_map(AttributeValue::S),
        number().prop_map(AttributeValue::N),
        bytes().prop_map(AttributeValue::B),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null),
        prop::collection::btree_set(text(), 1..4)
            .prop_map(|set| AttributeValue::Ss(set.into_iter().collect())),
        prop::collection::btree_set(number(), 1..4)
            .prop_map(|set| AttributeValue::Ns(set.into_iter().collect())),
        prop::collection::btree_set(bytes(), 1..4)
            .prop_map(|set| AttributeValue::Bs(set.into_iter().collect())),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
            prop::collection::btree_map(name(), inner, 0..3).prop_map(AttributeValue::M),
        ]
    })
}

pub fn item() -> impl Strategy<Value = Item> {
    prop::collection::btree_map(name(), value(), 0..5).prop_map(Item)
}

/// Returns `levels` levels of lists around NULL.
pub fn nested(levels: usize) -> AttributeValue {
    (1..levels).fold(AttributeValue::Null, |inner, _| {
        AttributeValue::L(vec![inner])
    })
}

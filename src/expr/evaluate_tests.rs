//! Tests of the evaluation of conditions: tables of cases, and a slow evaluation that must agree.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::model::{ApiEnum, AttributeType};

use AttributeValue as V;

fn s(text: &str) -> V {
    V::S(text.to_owned())
}

fn n(text: &str) -> V {
    V::N(text.parse().expect("a number"))
}

/// The evaluation as a reader of docs/dynamodb.md 7.5 would do it by hand: values copied, every
/// pair of types written out.
mod reference {
    use super::*;

    pub fn operand(operand: &Operand, item: &Item) -> Option<V> {
        match operand {
            Operand::Value(value) => Some(value.clone()),
            Operand::Path(path) => {
                let mut here = V::M(item.0.clone());
                let head = PathElement::Name(path.head.clone());
                for step in std::iter::once(&head).chain(&path.rest) {
                    here = match (here, step) {
                        (V::M(map), PathElement::Name(name)) => map.get(name)?.clone(),
                        (V::L(list), PathElement::Index(index)) => list.get(*index)?.clone(),
                        _ => return None,
                    };
                }
                Some(here)
            }
            Operand::Size(inner) => match self::operand(inner, item)? {
                V::S(text) => Some(n(&text
                    .chars()
                    .map(char::len_utf16)
                    .sum::<usize>()
                    .to_string())),
                V::B(bytes) => Some(n(&bytes.len().to_string())),
                V::Ss(set) => Some(n(&set.len().to_string())),
                V::Ns(set) => Some(n(&set.len().to_string())),
                V::Bs(set) => Some(n(&set.len().to_string())),
                V::L(list) => Some(n(&list.len().to_string())),
                V::M(map) => Some(n(&map.len().to_string())),
                V::N(_) | V::Bool(_) | V::Null => None,
            },
            Operand::Truth(condition) => Some(V::Bool(holds(condition, item))),
        }
    }

    fn less(left: &V, right: &V) -> Option<bool> {
        match (left, right) {
            (V::S(left), V::S(right)) => {
                Some(left.bytes().collect::<Vec<_>>() < right.bytes().collect::<Vec<_>>())
            }
            (V::N(left), V::N(right)) => Some(left < right),
            (V::B(left), V::B(right)) => Some(left < right),
            _ => None,
        }
    }

    fn at_most(left: Option<V>, right: Option<V>) -> bool {
        match (left, right) {
            (Some(left), Some(right)) => less(&right, &left) == Some(false),
            _ => false,
        }
    }

    pub fn holds(condition: &Condition, item: &Item) -> bool {
        let of = |operand: &Operand| self::operand(operand, item);
        match condition {
            Condition::Test(Predicate::Compare(comparator), operands) => {
                match (of(&operands[0]), of(&operands[1])) {
                    (Some(left), Some(right)) => match comparator {
                        Comparator::Equal => left == right,
                        Comparator::NotEqual => left != right,
                        Comparator::Less => less(&left, &right) == Some(true),
                        Comparator::LessOrEqual => less(&right, &left) == Some(false),
                        Comparator::Greater => less(&right, &left) == Some(true),
                        Comparator::GreaterOrEqual => less(&left, &right) == Some(false),
                    },
                    _ => *comparator == Comparator::NotEqual,
                }
            }
            Condition::Test(Predicate::Between, operands) => {
                let [operand, lower, upper] = &operands[..] else {
                    panic!("three operands")
                };
                at_most(of(lower), of(operand)) && at_most(of(operand), of(upper))
            }
            Condition::Test(Predicate::In, operands) => operands[1..]
                .iter()
                .any(|other| of(&operands[0]).is_some() && of(&operands[0]) == of(other)),
            Condition::Test(Predicate::AttributeExists, operands) => of(&operands[0]).is_some(),
            Condition::Test(Predicate::AttributeNotExists, operands) => of(&operands[0]).is_none(),
            Condition::Test(Predicate::AttributeType, operands) => {
                let Some(V::S(name)) = of(&operands[1]) else {
                    panic!("the name of a type")
                };
                of(&operands[0]).map(|value| value.attribute_type()) == AttributeType::parse(&name)
            }
            Condition::Test(Predicate::BeginsWith, operands) => {
                match (of(&operands[0]), of(&operands[1])) {
                    (Some(V::S(text)), Some(V::S(prefix))) => {
                        text.as_bytes().starts_with(prefix.as_bytes())
                    }
                    (Some(V::B(bytes)), Some(V::B(prefix))) => bytes.starts_with(&prefix),
                    _ => false,
                }
            }
            Condition::Test(Predicate::Contains, operands) => {
                match (of(&operands[0]), of(&operands[1])) {
                    (Some(V::S(text)), Some(V::S(part))) => (0..=text.len())
                        .any(|at| text.as_bytes()[at..].starts_with(part.as_bytes())),
                    (Some(V::B(bytes)), Some(V::B(part))) => {
                        (0..=bytes.len()).any(|at| bytes[at..].starts_with(&part))
                    }
                    (Some(V::Ss(set)), Some(V::S(member))) => set.contains(&member),
                    (Some(V::Ns(set)), Some(V::N(member))) => set.contains(&member),
                    (Some(V::Bs(set)), Some(V::B(member))) => set.contains(&member),
                    (Some(V::L(list)), Some(member)) => list.contains(&member),
                    _ => false,
                }
            }
            Condition::And(list) => !list.iter().any(|part| !holds(part, item)),
            Condition::Or(list) => !list.iter().all(|part| !holds(part, item)),
            Condition::Not(inner) => !holds(inner, item),
        }
    }
}

fn any_value() -> impl Strategy<Value = V> {
    let strings = prop_oneof![Just(""), Just("a"), Just("ab"), Just("b"), Just("é😀")];
    let bytes = || prop::collection::vec(0..2u8, 0..3);
    let number = || (-2..3i64).prop_map(Number::from);
    let leaf = prop_oneof![
        3 => strings.prop_map(s),
        3 => number().prop_map(V::N),
        2 => bytes().prop_map(V::B),
        1 => any::<bool>().prop_map(V::Bool),
        1 => Just(V::Null),
        1 => prop::collection::btree_set("[ab]{0,2}", 1..3).prop_map(|set| V::Ss(set.into_iter().collect())),
        1 => prop::collection::btree_set(-2..3i64, 1..3).prop_map(|set| V::Ns(set.into_iter().map(Number::from).collect())),
        1 => prop::collection::btree_set(bytes(), 1..3).prop_map(|set| V::Bs(set.into_iter().collect())),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(V::L),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(V::M),
        ]
    })
}

fn any_path() -> impl Strategy<Value = DocumentPath> {
    let element = prop_oneof![
        "[ab]".prop_map(PathElement::Name),
        (0..3usize).prop_map(PathElement::Index)
    ];
    ("[abc]", prop::collection::vec(element, 0..3))
        .prop_map(|(head, rest)| DocumentPath { head, rest })
}

fn any_operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        4 => any_path().prop_map(Operand::Path),
        3 => any_value().prop_map(Operand::Value),
        1 => any_path().prop_map(|path| Operand::Size(Box::new(Operand::Path(path)))),
        1 => any_path().prop_map(|path| Operand::Truth(Box::new(Condition::Test(Predicate::AttributeExists, vec![Operand::Path(path)])))),
    ]
}

fn any_condition() -> impl Strategy<Value = Condition> {
    use Comparator::*;
    let comparator = prop::sample::select(vec![
        Equal,
        NotEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
    ]);
    let types = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"];
    let of_path = |predicate| {
        any_path().prop_map(move |path| Condition::Test(predicate, vec![Operand::Path(path)]))
    };
    let of = |predicate, count| {
        prop::collection::vec(any_operand(), count)
            .prop_map(move |operands| Condition::Test(predicate, operands))
    };
    let leaf = prop_oneof![
        4 => (prop::collection::vec(any_operand(), 2), comparator)
            .prop_map(|(operands, comparator)| Condition::Test(Predicate::Compare(comparator), operands)),
        2 => of(Predicate::Between, 3..=3),
        1 => of(Predicate::In, 2..=4),
        1 => of_path(Predicate::AttributeExists),
        1 => of_path(Predicate::AttributeNotExists),
        1 => (any_operand(), prop::sample::select(types.to_vec()))
            .prop_map(|(operand, name)| Condition::Test(Predicate::AttributeType, vec![operand, Operand::Value(s(name))])),
        2 => of(Predicate::BeginsWith, 2..=2),
        2 => of(Predicate::Contains, 2..=2),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Or),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]
    #[test]
    fn agrees_with_the_slow_evaluator(
        attributes in prop::collection::btree_map("[abc]", any_value(), 0..4),
        condition in any_condition(),
    ) {
        let item = Item(attributes);
        prop_assert_eq!(condition.holds(&item), reference::holds(&condition, &item));
        let names = condition.attribute_names();
        let named: BTreeMap<_, _> = item.0.into_iter().filter(|(name, _)| names.contains(name.as_str())).collect();
        let named = Item(named);
        prop_assert_eq!(condition.holds(&named), reference::holds(&condition, &named));
    }
}

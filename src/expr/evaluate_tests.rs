use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::expr::placeholders::{PlaceholderUse, Scope};
use crate::model::AttributeType;
use crate::model::api::Placeholders;

use AttributeValue as V;

fn s(text: &str) -> V {
    V::S(text.to_owned())
}

fn n(text: &str) -> V {
    V::N(text.parse().expect("a number"))
}

fn l<const N: usize>(values: [V; N]) -> V {
    V::L(values.into())
}

fn m<const N: usize>(pairs: [(&str, V); N]) -> V {
    V::M(Item::from(pairs).0)
}

fn ss(elements: &[&str]) -> V {
    V::string_set(elements.iter().map(|&element| element.to_owned()).collect()).expect("a set")
}

fn ns(elements: &[&str]) -> V {
    V::number_set(elements.iter().map(|element| element.parse().expect("a number")).collect()).expect("a set")
}

/// The item of docs/dynamodb.md B.1.
fn item() -> Item {
    Item::from([
        ("pk", s("k")),
        ("n", n("5")),
        ("s", s("hello")),
        ("b", V::B(vec![1, 2])),
        ("t", V::Bool(true)),
        ("z", V::Null),
        ("l", l([n("1"), s("x"), l([n("2")])])),
        ("m", m([("a", n("1")), ("d", m([("e", s("f"))]))])),
        ("ss", ss(&["a", "b"])),
        ("ns", ns(&["1", "2"])),
        ("e", s("")),
        ("bs", V::binary_set(vec![vec![], vec![7]]).expect("a set")),
        ("smile", s("a😀")),
    ])
}

fn run(text: &str, values: &[(&str, V)], item: &Item) -> Result<bool, String> {
    let values = values.iter().map(|(alias, value)| ((*alias).to_owned(), value.clone()));
    let placeholders = Placeholders { names: None, values: Some(values.collect()) };
    let mut used = PlaceholderUse::default();
    let condition = crate::expr::condition::parse(text, &mut Scope::new(&placeholders, &mut used));
    let condition = condition.map_err(|fault| fault.to_string())?;
    used.finish(&placeholders).map_err(|error| error.to_string())?;
    // What an engine decodes is enough.
    let names = condition.attribute_names();
    let part = item.0.iter().filter(|(name, _)| names.contains(name.as_str()));
    let part = Item(part.map(|(name, value)| (name.clone(), value.clone())).collect());
    assert_eq!(condition.holds(item), condition.holds(&part), "{text}");
    Ok(condition.holds(item))
}

#[track_caller]
fn check(text: &str, values: &[(&str, V)], expected: bool) {
    assert_eq!(run(text, values, &item()), Ok(expected), "{text} {values:?}");
}

/// With one value, `:v`.
#[track_caller]
fn one(text: &str, value: V, expected: bool) {
    check(text, &[(":v", value)], expected);
}

#[track_caller]
fn fails(text: &str, values: &[(&str, V)], part: &str) {
    let found = run(text, values, &item());
    assert!(matches!(&found, Err(text) if text.contains(part)), "{text}: {found:?}");
}

#[test]
fn comparisons_of_table_b1() {
    one("n = :v", n("5.0"), true);
    one("n = :v", s("5"), false);
    one("n <> :v", s("5"), true);
    for value in [n("1"), s(""), V::Null, l([])] {
        one("gone = :v", value.clone(), false);
        one("gone <> :v", value, true);
    }
    check("gone = gone2", &[], false);
    check("gone <> gone2", &[], true);
    one("n < :v", n("10"), true);
    one("s < :v", s("world"), true);
    check("s < n", &[], false);
    fails("t < :v", &[(":v", V::Bool(true))], "operator or function: <, operand type: BOOL");
    let between = |low, high| vec![(":a", low), (":b", high)];
    check("n BETWEEN :a AND :b", &between(n("1"), n("5")), true);
    fails("n BETWEEN :a AND :b", &between(n("6"), n("1")), "upper bound to be greater than or equal to lower bound");
    fails("n BETWEEN :a AND :b", &between(n("1"), s("x")), "same data type for lower and upper bounds");
    check("n IN (:a, :b)", &between(n("4"), n("5")), true);
    check("n BETWEEN m.a AND m.a", &[], false);
    check("m.a BETWEEN n AND n", &[], false);
    check("gone IN (m.gone, n)", &[], false);
    check("n IN (gone, n2)", &[], false);
    check("t < t2 OR t > s OR l < m OR z >= l", &[], false);
    one("ss = :v", ss(&["b", "a"]), true);
    one("ns = :v", ns(&["2.0", "1"]), true);
    one("l = :v", l([n("1"), s("x"), l([n("2")])]), true);
    one("l = :v", l([s("x"), n("1"), l([n("2")])]), false);
    one("m.d = :v", m([("e", s("f"))]), true);
}

#[test]
fn functions_of_table_b1() {
    check("attribute_exists(z)", &[], true);
    check("attribute_not_exists(gone)", &[], true);
    check("attribute_exists(m.d.e)", &[], true);
    check("attribute_exists(m.x)", &[], false);
    check("attribute_exists(l[9])", &[], false);
    check("attribute_exists(l[2][0])", &[], true);
    check("attribute_exists(l.a) OR attribute_exists(m[0]) OR attribute_exists(s.a)", &[], false);
    fails("attribute_exists(:v)", &[(":v", n("1"))], "requires a document path");
    one("attribute_type(ss, :v)", s("SS"), true);
    one("attribute_type(gone, :v)", s("SS"), false);
    one("attribute_type(size(s), :v)", s("N"), true);
    fails("attribute_type(ss, :v)", &[(":v", s("XX"))], "Invalid attribute type name found; type: XX");
    one("begins_with(s, :v)", s("he"), true);
    one("begins_with(s, :v)", s(""), true);
    one("begins_with(n, :v)", s("5"), false);
    one("begins_with(b, :v)", V::B(vec![1]), true);
    fails("begins_with(s, :v)", &[(":v", n("1"))], "operand type: N");
    one("contains(s, :v)", s("ell"), true);
    one("contains(s, :v)", s(""), true);
    one("contains(s, :v)", n("1"), false);
    one("contains(ss, :v)", s("a"), true);
    one("contains(ss, :v)", s("ab"), false);
    one("contains(ns, :v)", n("2.0"), true);
    one("contains(ns, :v)", s("2"), false);
    one("contains(bs, :v)", V::B(vec![7]), true);
    one("contains(b, :v)", V::B(vec![2]), true);
    one("contains(b, :v)", V::B(vec![]), true);
    one("contains(b, :v)", V::B(vec![2, 1]), false);
    one("contains(b, :v)", V::B(vec![1, 2, 3]), false);
    one("contains(l, :v)", s("x"), true);
    one("contains(l, :v)", l([n("2")]), true);
    one("contains(l, :v)", n("2"), false);
    one("contains(m, :v)", s("a"), false);
    one("contains(gone, :v)", s("a"), false);
    fails("contains(s, s)", &[], "The first operand must be distinct");
}

#[test]
fn sizes_of_table_b1() {
    one("size(s) = :v", n("5"), true);
    one("size(b) = :v", n("2"), true);
    one("size(l) = :v", n("3"), true);
    one("size(m) = :v", n("2"), true);
    one("size(ss) = :v", n("2"), true);
    one("size(n) > :v", n("0"), false);
    one("size(n) <> :v", n("0"), true);
    one("size(gone) >= :v", n("0"), false);
    one("size(e) = :v", n("0"), true);
    // One letter and a character outside the basic plane: three UTF-16 code units.
    one("size(smile) = :v", n("3"), true);
    check("size(s) > size(b) AND size(ss) IN (n, size(m))", &[], true);
}

#[test]
fn connectives_of_table_b1() {
    one("NOT n = :v", n("6"), true);
    let values = |a, b, c| vec![(":a", n(a)), (":b", n(b)), (":c", s(c))];
    check("n = :a OR n = :b AND s = :c", &values("5", "5", "no"), true);
    check("n = :a OR n = :b AND s = :c", &values("4", "5", "no"), false);
    check("(n = :a OR n = :b) AND s = :c", &values("5", "5", "no"), false);
    fails("((n = :v))", &[(":v", n("5"))], "redundant parentheses");
    one("(n = :v)", n("5"), true);
    fails("n", &[], "Syntax error");
    fails("size(s)", &[], "not allowed to be used this way");
    fails("contains(s, :v) = :t", &[(":v", s("a")), (":t", V::Bool(true))], "not allowed to be used this way");
    fails("foo(s)", &[], "Invalid function name; function: foo");
    fails("status = :v", &[(":v", n("1"))], "reserved keyword: status");
    fails("n = :v", &[(":v", n("5")), (":w", n("5"))], "unused in expressions: keys: {:w}");
}

#[test]
fn an_item_that_is_not_there_is_empty() {
    assert_eq!(run("attribute_not_exists(pk)", &[], &Item::default()), Ok(true));
    assert_eq!(run("attribute_exists(pk)", &[], &Item::default()), Ok(false));
    assert_eq!(run("pk <> s", &[], &Item::default()), Ok(true));
}

/// The evaluation as a reader of docs/dynamodb.md 7.5 would do it by hand: values copied, every pair of types written out.
mod slowly {
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
                V::S(text) => Some(n(&text.chars().map(char::len_utf16).sum::<usize>().to_string())),
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
            (V::S(left), V::S(right)) => Some(left.bytes().collect::<Vec<_>>() < right.bytes().collect::<Vec<_>>()),
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
            Condition::Compare { left, comparator, right } => match (of(left), of(right)) {
                (Some(left), Some(right)) => match comparator {
                    Comparator::Equal => left == right,
                    Comparator::NotEqual => left != right,
                    Comparator::Less => less(&left, &right) == Some(true),
                    Comparator::LessOrEqual => less(&right, &left) == Some(false),
                    Comparator::Greater => less(&right, &left) == Some(true),
                    Comparator::GreaterOrEqual => less(&left, &right) == Some(false),
                },
                _ => *comparator == Comparator::NotEqual,
            },
            Condition::Between { operand, lower, upper } => at_most(of(lower), of(operand)) && at_most(of(operand), of(upper)),
            Condition::In { operand, list } => list.iter().any(|other| of(operand).is_some() && of(operand) == of(other)),
            Condition::AttributeExists(path) => of(&Operand::Path(path.clone())).is_some(),
            Condition::AttributeNotExists(path) => of(&Operand::Path(path.clone())).is_none(),
            Condition::AttributeType { operand, attribute_type } => {
                of(operand).map(|value| value.attribute_type()) == Some(*attribute_type)
            }
            Condition::BeginsWith { operand, prefix } => match (of(operand), of(prefix)) {
                (Some(V::S(text)), Some(V::S(prefix))) => text.as_bytes().starts_with(prefix.as_bytes()),
                (Some(V::B(bytes)), Some(V::B(prefix))) => bytes.starts_with(&prefix),
                _ => false,
            },
            Condition::Contains { operand, element } => match (of(operand), of(element)) {
                (Some(V::S(text)), Some(V::S(part))) => {
                    (0..=text.len()).any(|at| text.as_bytes()[at..].starts_with(part.as_bytes()))
                }
                (Some(V::B(bytes)), Some(V::B(part))) => (0..=bytes.len()).any(|at| bytes[at..].starts_with(&part)),
                (Some(V::Ss(set)), Some(V::S(member))) => set.contains(&member),
                (Some(V::Ns(set)), Some(V::N(member))) => set.contains(&member),
                (Some(V::Bs(set)), Some(V::B(member))) => set.contains(&member),
                (Some(V::L(list)), Some(member)) => list.contains(&member),
                _ => false,
            },
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
    let element = prop_oneof!["[ab]".prop_map(PathElement::Name), (0..3usize).prop_map(PathElement::Index)];
    ("[abc]", prop::collection::vec(element, 0..3)).prop_map(|(head, rest)| DocumentPath { head, rest })
}

fn any_operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        4 => any_path().prop_map(Operand::Path),
        3 => any_value().prop_map(Operand::Value),
        1 => any_path().prop_map(|path| Operand::Size(Box::new(Operand::Path(path)))),
        1 => any_path().prop_map(|path| Operand::Truth(Box::new(Condition::AttributeExists(path)))),
    ]
}

fn any_condition() -> impl Strategy<Value = Condition> {
    use Comparator::*;
    let comparator = prop::sample::select(vec![Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual]);
    let types = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"];
    let types: Vec<AttributeType> = types.into_iter().filter_map(AttributeType::from_tag).collect();
    let pair = || (any_operand(), any_operand());
    let leaf = prop_oneof![
        4 => (pair(), comparator).prop_map(|((left, right), comparator)| Condition::Compare { left, comparator, right }),
        2 => (any_operand(), pair()).prop_map(|(operand, (lower, upper))| Condition::Between { operand, lower, upper }),
        1 => (any_operand(), prop::collection::vec(any_operand(), 1..4)).prop_map(|(operand, list)| Condition::In { operand, list }),
        1 => any_path().prop_map(Condition::AttributeExists),
        1 => any_path().prop_map(Condition::AttributeNotExists),
        1 => (any_operand(), prop::sample::select(types))
            .prop_map(|(operand, attribute_type)| Condition::AttributeType { operand, attribute_type }),
        2 => pair().prop_map(|(operand, prefix)| Condition::BeginsWith { operand, prefix }),
        2 => pair().prop_map(|(operand, element)| Condition::Contains { operand, element }),
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
        prop_assert_eq!(condition.holds(&item), slowly::holds(&condition, &item));
        let names = condition.attribute_names();
        let named: BTreeMap<_, _> = item.0.into_iter().filter(|(name, _)| names.contains(name.as_str())).collect();
        let named = Item(named);
        prop_assert_eq!(condition.holds(&named), slowly::holds(&condition, &named));
    }
}

//! Tests of the parameters from before expressions: the conditions and updates that they become,
//! and their errors.

use super::*;
use crate::codec::plain_json;
use crate::expr::key_condition::KeyConditionShape;
use crate::model::api::common::ComparisonOperator as Op;
use crate::model::{ApiEnum, Item, KeySchema};

fn item(text: &str) -> Item {
    plain_json::parse(format!("{{{text}}}").as_bytes())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Parses values of plain JSON, commas between.
fn values(text: &str) -> Vec<AttributeValue> {
    match item(&format!(r#""v":[{text}]"#)).0.remove("v") {
        Some(AttributeValue::L(list)) => list,
        _ => Vec::new(),
    }
}

fn comparison(attribute: &str, operator: Op, arguments: &str) -> LegacyCondition {
    LegacyCondition {
        attribute: attribute.to_owned(),
        comparison_operator: Some(operator),
        attribute_value_list: Some(values(arguments)),
        ..LegacyCondition::default()
    }
}

fn all(conditions: Vec<LegacyCondition>) -> LegacyConditions {
    LegacyConditions {
        conditions,
        operator: None,
    }
}

fn holds(conditions: &LegacyConditions) -> Result<bool, String> {
    let of = item(
        r#""n":5,"s":"hello","b":{"$b64":"AQI="},"z":null,"l":[1,"x"],"m":{"a":1},"ss":{"$ss":["a","b"]},"ns":{"$ns":[1,2]},"a.b":1"#,
    );
    match condition(conditions) {
        Ok(condition) => Ok(condition.is_none_or(|condition| condition.holds(&of))),
        Err(error) => Err(error
            .to_string()
            .replace("One or more parameter values were invalid: ", "IV: ")),
    }
}

#[track_caller]
fn check(attribute: &str, operator: Op, arguments: &str, expected: bool) {
    assert_eq!(
        holds(&all(vec![comparison(attribute, operator, arguments)])),
        Ok(expected),
        "{attribute} {operator:?} {arguments}"
    );
}

#[track_caller]
fn fails(condition: LegacyCondition, expected: &str) {
    assert_eq!(
        holds(&all(vec![condition.clone()])),
        Err(expected.to_owned()),
        "{condition:?}"
    );
}

#[test]
fn table_of_operators() {
    check("n", Op::Eq, "5.0", true);
    check("n", Op::Eq, r#""5""#, false);
    check("gone", Op::Eq, "5", false);
    check("ss", Op::Eq, r#"{"$ss":["b","a"]}"#, true);
    check("m", Op::Eq, r#"{"a":1}"#, true);
    check("z", Op::Eq, "null", true);
    check("n", Op::Ne, "5", false);
    check("n", Op::Ne, r#""5""#, true);
    check("gone", Op::Ne, "5", true);
    check("n", Op::Le, "5", true);
    check("n", Op::Lt, "5", false);
    check("n", Op::Lt, "10", true);
    check("n", Op::Ge, "5", true);
    check("n", Op::Gt, r#""1""#, false);
    check("n", Op::Between, "1,5", true);
    check("n", Op::Between, "6,7", false);
    check("gone", Op::Between, "6,7", false);
    check("n", Op::In, "4,5", true);
    check("n", Op::In, "4", false);
    check("s", Op::Contains, r#""ell""#, true);
    check("ss", Op::Contains, r#""a""#, true);
    check("ns", Op::Contains, "1", true);
    check("l", Op::Contains, r#""x""#, true);
    check("gone", Op::Contains, r#""x""#, false);
    check("s", Op::NotContains, r#""xyz""#, true);
    check("s", Op::NotContains, r#""ell""#, false);
    check("ss", Op::NotContains, r#""c""#, true);
    check("gone", Op::NotContains, r#""x""#, false);
    check("s", Op::BeginsWith, r#""he""#, true);
    check("n", Op::BeginsWith, r#""5""#, false);
    check("z", Op::Null, "", false);
    check("gone", Op::Null, "", true);
    check("z", Op::NotNull, "", true);
    check("gone", Op::NotNull, "", false);
    // Names are no document paths.
    check("a.b", Op::Eq, "1", true);
    check("m.a", Op::NotNull, "", false);
}

#[test]
fn table_of_bad_arguments() {
    let count = |operator: &str| {
        format!("IV: Invalid number of argument(s) for the {operator} ComparisonOperator")
    };
    for (operator, arguments) in [
        (Op::Eq, ""),
        (Op::Eq, "1,2"),
        (Op::Between, "1"),
        (Op::Between, "1,2,3"),
        (Op::In, ""),
        (Op::Null, "1"),
        (Op::NotNull, "1"),
        (Op::BeginsWith, ""),
        (Op::NotContains, r#""a","b""#),
    ] {
        fails(
            comparison("n", operator, arguments),
            &count(operator.as_str()),
        );
    }
    let of_type = |operator: &str, of: &str| {
        format!("IV: ComparisonOperator {operator} is not valid for {of} AttributeValue type")
    };
    fails(comparison("n", Op::Lt, "true"), &of_type("LT", "BOOL"));
    fails(comparison("n", Op::In, "[1]"), &of_type("IN", "L"));
    fails(
        comparison("n", Op::Contains, r#"{"$ss":["a"]}"#),
        &of_type("CONTAINS", "SS"),
    );
    fails(
        comparison("n", Op::BeginsWith, "1"),
        &of_type("BEGINS_WITH", "N"),
    );
    fails(
        comparison("n", Op::Between, r#"1,"a""#),
        "IV: AttributeValues inside AttributeValueList must be of same type",
    );
    fails(
        comparison("n", Op::Between, "2,1"),
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
    );
}

/// Returns the condition of `{a: {…}}` of Expected.
fn expected(
    operator: Option<Op>,
    list: Option<&str>,
    value: Option<&str>,
    exists: Option<bool>,
) -> LegacyCondition {
    LegacyCondition {
        attribute: "n".to_owned(),
        comparison_operator: operator,
        attribute_value_list: list.map(values),
        value: value.and_then(|value| values(value).pop()),
        exists,
    }
}

#[test]
fn table_of_expected() {
    let check = |condition: LegacyCondition, outcome: bool| {
        assert_eq!(
            holds(&all(vec![condition.clone()])),
            Ok(outcome),
            "{condition:?}"
        )
    };
    check(expected(None, None, Some("5"), None), true);
    check(expected(None, None, Some("5"), Some(true)), true);
    check(expected(None, None, Some("6"), None), false);
    check(expected(None, None, None, Some(false)), false);
    check(
        LegacyCondition {
            attribute: "gone".into(),
            exists: Some(false),
            ..LegacyCondition::default()
        },
        true,
    );
    check(expected(Some(Op::Ge), None, Some("5"), None), true);
    check(expected(Some(Op::NotNull), None, None, None), true);
    check(expected(Some(Op::NotNull), Some(""), None, None), true);
}

#[test]
fn table_of_bad_expected() {
    let attribute = |text: &str| format!("IV: {text} for Attribute: n");
    fails(
        expected(Some(Op::Eq), Some("1"), Some("1"), None),
        &attribute("Value and AttributeValueList cannot be used together"),
    );
    fails(
        expected(Some(Op::Eq), Some("1"), None, Some(true)),
        &attribute("Exists and ComparisonOperator cannot be used together"),
    );
    fails(
        expected(None, Some("1"), None, None),
        &attribute("AttributeValueList can only be used with a ComparisonOperator"),
    );
    fails(
        expected(None, None, None, None),
        &attribute("Value must be provided when Exists is null"),
    );
    fails(
        expected(None, None, None, Some(true)),
        &attribute("Value must be provided when Exists is true"),
    );
    fails(
        expected(None, None, Some("1"), Some(false)),
        &attribute("Value cannot be used when Exists is false"),
    );
    fails(
        expected(Some(Op::Lt), None, None, None),
        &attribute("Value or AttributeValueList must be used with ComparisonOperator: LT"),
    );
    fails(
        expected(Some(Op::Null), None, Some("1"), None),
        "IV: Invalid number of argument(s) for the NULL ComparisonOperator",
    );
}

#[test]
fn conditional_operators() {
    let two = |operator| LegacyConditions {
        conditions: vec![comparison("n", Op::Eq, "5"), comparison("s", Op::Eq, "1")],
        operator,
    };
    assert_eq!(holds(&two(None)), Ok(false));
    assert_eq!(holds(&two(Some(ConditionalOperator::And))), Ok(false));
    assert_eq!(holds(&two(Some(ConditionalOperator::Or))), Ok(true));
    assert_eq!(holds(&all(vec![])), Ok(true));
    let alone = LegacyConditions {
        conditions: vec![],
        operator: Some(ConditionalOperator::Or),
    };
    assert_eq!(
        holds(&alone),
        Err("ConditionalOperator cannot be used without Filter or Expected".to_owned())
    );
    let one = LegacyConditions {
        conditions: vec![comparison("n", Op::Eq, "5")],
        operator: Some(ConditionalOperator::And),
    };
    let text =
        "ConditionalOperator can only be used when Filter or Expected has two or more elements";
    assert_eq!(holds(&one), Err(text.to_owned()));
}

fn run(old: &str, updates: &[(&str, AttributeAction, Option<&str>)]) -> Result<Item, String> {
    let given: Vec<AttributeUpdate> = updates
        .iter()
        .map(|(attribute, action, value)| AttributeUpdate {
            attribute: (*attribute).to_owned(),
            action: *action,
            value: value.and_then(|value| values(value).pop()),
        })
        .collect();
    let text = |text: String| text.replace("One or more parameter values were invalid: ", "IV: ");
    let update = update(&given).map_err(|error| text(error.to_string()))?;
    update
        .apply(&item(old), true)
        .map_err(|error| text(error.to_string()))
}

#[test]
fn table_of_attribute_updates() {
    use AttributeAction::{Add, Delete, Put};
    let check = |old: &str, action, value: Option<&str>, new: &str| {
        assert_eq!(
            run(old, &[("a", action, value)]),
            Ok(item(new)),
            "{action:?} {value:?} on {old}"
        );
    };
    check("", Put, Some("1"), r#""a":1"#);
    check(r#""a":2"#, Put, Some(r#"{"x":1}"#), r#""a":{"x":1}"#);
    check(r#""a":2"#, Delete, None, "");
    check(r#""b":2"#, Delete, None, r#""b":2"#);
    check(
        r#""a":{"$ss":["x","y"]}"#,
        Delete,
        Some(r#"{"$ss":["x","z"]}"#),
        r#""a":{"$ss":["y"]}"#,
    );
    check(r#""a":{"$ss":["x"]}"#, Delete, Some(r#"{"$ss":["x"]}"#), "");
    check("", Delete, Some(r#"{"$ss":["x"]}"#), "");
    check("", Add, Some("1"), r#""a":1"#);
    check(r#""a":2"#, Add, Some("-3"), r#""a":-1"#);
    check(
        r#""a":{"$ns":[1]}"#,
        Add,
        Some(r#"{"$ns":[2]}"#),
        r#""a":{"$ns":[1,2]}"#,
    );
    check("", Add, Some("[1]"), r#""a":[1]"#);
    check(r#""a":[1]"#, Add, Some("[1,2]"), r#""a":[1,1,2]"#);
    let many = [
        ("a", Put, Some("1")),
        ("b.c", Add, Some("1")),
        ("d", Delete, None),
    ];
    assert_eq!(run(r#""d":1"#, &many), Ok(item(r#""a":1,"b.c":1"#)));
}

#[test]
fn table_of_bad_attribute_updates() {
    use AttributeAction::{Add, Delete, Put};
    let fails = |old: &str, action, value: Option<&str>, expected: &str| {
        assert_eq!(
            run(old, &[("a", action, value)]),
            Err(expected.to_owned()),
            "{action:?} {value:?} on {old}"
        );
    };
    let only_delete = "IV: Only DELETE action is allowed when no attribute value is specified";
    fails("", Put, None, only_delete);
    fails("", Add, None, only_delete);
    fails(
        "",
        Delete,
        Some("1"),
        "IV: DELETE action with value is not supported for the type N",
    );
    fails(
        "",
        Add,
        Some(r#""x""#),
        "IV: ADD action is not supported for the type S",
    );
    fails(
        "",
        Add,
        Some(r#"{"x":1}"#),
        "IV: ADD action is not supported for the type M",
    );
    let mismatch = "Type mismatch for attribute to update";
    fails(r#""a":"x""#, Add, Some("1"), mismatch);
    fails(r#""a":1"#, Add, Some("[1]"), mismatch);
    fails(
        r#""a":{"$ss":["x"]}"#,
        Delete,
        Some(r#"{"$ns":[1]}"#),
        mismatch,
    );
    let twice = [("a", Put, Some("1")), ("a", Delete, None)];
    assert_eq!(
        run("", &twice),
        Err("IV: Duplicate value in attribute name: a".to_owned())
    );
}

#[test]
fn attributes_to_get_are_distinct() {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    let paths = attributes_to_get(&names(&["a.b", "c"]))
        .map(|paths| paths.iter().map(ToString::to_string).collect());
    assert_eq!(paths, Ok(names(&["[a.b]", "[c]"])));
    assert_eq!(
        attributes_to_get(&names(&["a", "b", "a"])),
        Err(LegacyError::DuplicateAttribute("a".to_owned()))
    );
}

#[test]
fn table_of_key_conditions() {
    use crate::expr::KeySchemaView;
    use crate::model::KeyAttribute;
    use crate::model::schema::KeyAttributeType;
    let attribute = |name: &str, attribute_type| KeyAttribute {
        name: name.to_owned(),
        attribute_type,
    };
    let schema = KeySchema {
        partition: attribute("pk", KeyAttributeType::S),
        sort: Some(attribute("sk", KeyAttributeType::N)),
    };
    let check = |conditions: &[(&str, Op, &str)], expected: &str| {
        let given: Vec<_> = conditions
            .iter()
            .map(|(name, operator, values)| comparison(name, *operator, values))
            .collect();
        let found = match KeyConditionShape::from_legacy(&given) {
            Err(error) => error.to_string(),
            Ok(shape) => match shape.resolve(KeySchemaView::from(&schema)) {
                Err(error) => error.to_string(),
                Ok(condition) => format!("{:?}", condition.range.map(|range| range.values().len())),
            },
        };
        assert_eq!(
            found.replace("One or more parameter values were invalid: ", "IV: "),
            expected,
            "{conditions:?}"
        );
    };
    let pk = ("pk", Op::Eq, r#""p""#);
    check(&[pk], "None");
    check(&[("sk", Op::Gt, "1"), pk], "Some(1)");
    check(&[pk, ("sk", Op::Between, "1,2")], "Some(2)");
    check(&[], "Conditions can be of length 1 or 2 only");
    check(
        &[pk, ("sk", Op::Eq, "1"), ("x", Op::Eq, "1")],
        "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
    );
    check(
        &[("sk", Op::Eq, "1")],
        "Query condition missed key schema element: pk",
    );
    check(
        &[pk, ("x", Op::Eq, "1")],
        "Query condition missed key schema element: sk",
    );
    let not_indexable = "Attempted conditional constraint is not an indexable operation";
    check(&[("pk", Op::Ne, "1")], not_indexable);
    check(&[pk, ("sk", Op::NotNull, "")], not_indexable);
    check(&[pk, ("sk", Op::In, "1,2")], not_indexable);
    check(
        &[("sk", Op::Contains, "1")],
        "Query condition missed key schema element: pk",
    );
    check(
        &[("pk", Op::Eq, "1")],
        "IV: Condition parameter type does not match schema type",
    );
    check(
        &[("pk", Op::Gt, r#""p""#)],
        "Query key condition not supported",
    );
    check(
        &[pk, ("sk", Op::BeginsWith, "1")],
        "IV: ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
    );
}

#[test]
fn conditions_have_the_bounds_of_expressions() {
    // The limit is on all values together, however they are divided.
    let of = |count: usize| comparison("n", Op::In, &vec!["5"; count].join(","));
    for counts in [vec![101], vec![30_000], vec![29_900, 100]] {
        assert_eq!(holds(&all(counts.into_iter().map(of).collect())), Ok(true));
    }
    let expected =
        "IV: The parameter contains too many values; at most 30000, value count: 30001".to_owned();
    assert_eq!(holds(&all(vec![of(1), of(30_000)])), Err(expected));
    let many = |count: usize| {
        all((0..count)
            .map(|place| comparison(&format!("a{place}"), Op::Null, ""))
            .collect())
    };
    assert_eq!(holds(&many(300)), Ok(true));
    let expected =
        "IV: The parameter contains too many conditions; condition count: 301".to_owned();
    assert_eq!(holds(&many(301)), Err(expected));
}

//! Tests of updates: tables of expressions with the items that they make, errors, and properties.

use proptest::prelude::*;

use super::*;
use crate::codec::plain_json;
use crate::model::PathElement;
use crate::model::api::Placeholders;
use crate::model::{AttributeValue, DocumentPath, Item};

/// Parses an item of plain JSON without its brackets.
fn item(text: &str) -> Item {
    plain_json::parse(format!("{{{text}}}").as_bytes())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn line(item: &Item) -> String {
    let mut out = Vec::new();
    plain_json::write_line(item, &[], &mut out);
    let text = String::from_utf8(out).expect("JSON is text");
    text.trim_end()
        .trim_start_matches('{')
        .trim_end_matches('}')
        .to_owned()
}

fn parse_with(text: &str, values: &str) -> Result<Update, String> {
    let names = [("#a", "a"), ("#dot", "a.b"), ("#status", "status")];
    let names = names.map(|(alias, name)| (alias.to_owned(), name.to_owned()));
    let placeholders = Placeholders {
        names: Some(names.into()),
        values: Some(item(values).0),
    };
    let invalid = "Invalid UpdateExpression: ";
    parse(text, &mut PlaceholderScope::new(&placeholders)).map_err(|error| {
        error
            .to_string()
            .strip_prefix(invalid)
            .map_or("no prefix".to_owned(), str::to_owned)
    })
}

fn run(old: &str, text: &str, values: &str) -> Result<String, String> {
    let update = parse_with(text, values)?;
    update
        .apply(&item(old), true)
        .map(|new| line(&new))
        .map_err(|error| error.to_string())
}

#[track_caller]
fn fails(old: &str, text: &str, values: &str, expected: &str) {
    assert_eq!(
        run(old, text, values),
        Err(expected.to_owned()),
        "{text} on {old}"
    );
}

const PATH: &str = "The document path provided in the update expression is invalid for update";

#[test]
fn removals_make_no_item() {
    let removed = parse_with("REMOVE x.y", "").and_then(|update| {
        assert!(update.only_removes());
        update
            .apply(&item(""), false)
            .map_err(|error| error.to_string())
    });
    assert_eq!(removed, Ok(Item::default()));
    let set = parse_with(
        "SET a = :x REMOVE x.y DELETE y.z :s",
        r#"":x":1,":s":{"$ss":["a"]}"#,
    );
    let set = set.map(|update| (update.only_removes(), update.apply(&item(""), false)));
    assert_eq!(set, Ok((false, Ok(item(r#""a":1"#)))));
}

#[test]
fn targets_that_are_not_there() {
    for path in [
        "s.a", "s[0]", "l.a", "m[0]", "gone.a", "gone[0]", "m.gone.a", "l[5].a", "l[0].a",
    ] {
        let old = r#""s":"text","l":[1],"m":{}"#;
        fails(old, &format!("SET {path} = :x"), r#"":x":1"#, PATH);
        fails(old, &format!("REMOVE {path}"), "", PATH);
        fails(old, &format!("ADD {path} :x"), r#"":x":1"#, PATH);
        fails(
            old,
            &format!("DELETE {path} :x"),
            r#"":x":{"$ns":[1]}"#,
            PATH,
        );
    }
}

#[test]
fn operators_are_counted() {
    let sums = (0..301)
        .map(|n| format!("a{n}=b+c"))
        .collect::<Vec<_>>()
        .join(",");
    let found = parse_with(&format!("SET {sums}"), "").err();
    assert_eq!(
        found.as_deref(),
        Some("The expression contains too many operators; operator count: 301")
    );
}

#[test]
fn touched_paths_come_in_their_skeleton() {
    let touched = |text: &str, of: &str| {
        let update = parse_with(text, r#"":x":1"#).expect("legal");
        line(&update.touched(&item(of)))
    };
    assert_eq!(
        touched("SET a.b = :x", r#""a":{"b":1,"c":2},"d":3"#),
        r#""a":{"b":1"#.to_owned()
    );
    assert_eq!(touched("REMOVE l[1]", r#""l":[1,3]"#), r#""l":[3]"#);
    assert_eq!(
        touched("SET l[9] = :x, l[0] = :x", r#""l":[1,2,1]"#),
        r#""l":[1]"#
    );
    assert_eq!(touched("REMOVE x", r#""a":1"#), "");
}

#[test]
fn read_and_written_paths() {
    let update = parse_with(
        "SET a = if_not_exists(b.c, d) + f, h = list_append(e, i) REMOVE g",
        "",
    )
    .expect("legal");
    let paths: Vec<String> = update
        .paths()
        .into_iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        paths,
        ["[a]", "[b, c]", "[d]", "[f]", "[h]", "[e]", "[i]", "[g]"]
    );
    assert_eq!(
        update
            .targets()
            .map(|path| path.head.as_str())
            .collect::<Vec<_>>(),
        ["a", "h", "g"]
    );
}

/// Updates applied one list element, one member at a time: removals of list elements leave a hole
/// until the end.
mod slowly {
    use super::*;

    /// Returns the value at a path, holes included.
    fn place<'v>(
        value: &'v mut AttributeValue,
        steps: &[PathElement],
    ) -> Option<&'v mut AttributeValue> {
        steps
            .iter()
            .try_fold(value, |value, step| match (value, step) {
                (AttributeValue::M(map), PathElement::Name(name)) => map.get_mut(name),
                (AttributeValue::L(list), PathElement::Index(index)) => list.get_mut(*index),
                _ => None,
            })
    }

    /// Returns a binary that no generated value has.
    fn hole() -> AttributeValue {
        AttributeValue::B(b"hole".to_vec())
    }

    fn close_holes(value: &mut AttributeValue) {
        match value {
            AttributeValue::L(list) => {
                list.retain(|element| *element != hole());
                list.iter_mut().for_each(close_holes);
            }
            AttributeValue::M(map) => map.values_mut().for_each(close_holes),
            _ => {}
        }
    }

    pub fn apply(old: &Item, actions: &[(DocumentPath, Option<AttributeValue>)]) -> Option<Item> {
        let mut root = AttributeValue::M(old.0.clone());
        let steps = |path: &DocumentPath| {
            let head = PathElement::Name(path.head.clone());
            std::iter::once(head)
                .chain(path.rest.clone())
                .collect::<Vec<_>>()
        };
        // Beyond-end elements in the order of their indexes: the lower one is pushed first.
        let mut sorted: Vec<_> = actions
            .iter()
            .map(|(path, value)| (steps(path), value))
            .collect();
        let index = |steps: &[PathElement]| match steps.last() {
            Some(PathElement::Index(index)) => *index,
            _ => 0,
        };
        sorted.sort_by_key(|(steps, _)| index(steps));
        let lengths = root.clone();
        for (steps, value) in sorted {
            let (last, parent) = steps.split_last()?;
            let mut before = lengths.clone();
            let before = place(&mut before, parent)?.clone();
            match (place(&mut root, parent)?, last, before) {
                (AttributeValue::M(map), PathElement::Name(name), _) => match value {
                    Some(value) => drop(map.insert(name.clone(), value.clone())),
                    None => drop(map.remove(name)),
                },
                (AttributeValue::L(list), PathElement::Index(index), AttributeValue::L(before)) => {
                    match value {
                        Some(value) if *index < before.len() => list[*index] = value.clone(),
                        Some(value) => list.push(value.clone()),
                        None if *index < before.len() => list[*index] = hole(),
                        None => {}
                    }
                }
                _ => return None,
            }
        }
        close_holes(&mut root);
        match root {
            AttributeValue::M(map) => Some(Item(map)),
            _ => None,
        }
    }
}

fn any_value() -> impl Strategy<Value = AttributeValue> {
    let leaf = (0..3i64).prop_map(|value| AttributeValue::N(value.into()));
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(AttributeValue::M),
        ]
    })
}

fn any_path() -> impl Strategy<Value = DocumentPath> {
    let element = prop_oneof![
        "[ab]".prop_map(PathElement::Name),
        (0..5usize).prop_map(PathElement::Index)
    ];
    ("[ab]", prop::collection::vec(element, 0..3))
        .prop_map(|(head, rest)| DocumentPath { head, rest })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn sets_and_removals_agree_with_the_slow_evaluator(
        attributes in prop::collection::btree_map("[ab]", any_value(), 0..3),
        actions in prop::collection::vec((any_path(), prop::option::of(any_value())), 1..5),
    ) {
        let old = Item(attributes);
        let effect = |value: &Option<AttributeValue>| match value {
            Some(value) => UpdateEffect::Set(SetValue::Term(SetTerm::Value(value.clone()))),
            None => UpdateEffect::Remove,
        };
        let resolved = actions.iter().map(|(path, value)| UpdateAction { path: path.clone(), effect: effect(value) });
        if let Ok(update) = Update::new(resolved.collect(), UpdateOrigin::Expression) {
            prop_assert_eq!(update.apply(&old, true).ok(), slowly::apply(&old, &actions));
        }
    }

}

proptest! {
    #[test]
    fn never_panics_on_any_text(text in "\\PC{0,4096}") {
        let _ = parse_with(&text, "");
    }

    #[test]
    fn never_panics_on_near_misses(words in prop::collection::vec(
        prop::sample::select(vec![
            "SET", "REMOVE", "ADD", "DELETE", "(", ")", "a", "#a", ":x", "=", "+", "-", ",", "[", "]", "0", ".", "if_not_exists",
            "list_append", "size", "é",
        ]), 0..200,
    )) {
        let _ = parse_with(&words.join(" "), r#"":x":1"#);
    }
}

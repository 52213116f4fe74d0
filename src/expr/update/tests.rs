use proptest::prelude::*;

use super::*;
use crate::codec::plain_json;
use crate::model::PathElement;
use crate::model::{AttributeValue, DocumentPath, Item};

/// An item of plain JSON without its brackets.
fn item(text: &str) -> Item {
    plain_json::parse(format!("{{{text}}}").as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn line(item: &Item) -> String {
    let mut out = Vec::new();
    plain_json::write_line(item, &[], &mut out);
    let text = String::from_utf8(out).expect("JSON is text");
    text.trim_end().trim_start_matches('{').trim_end_matches('}').to_owned()
}

fn parse_with(text: &str, values: &str) -> Result<Update, String> {
    let names = [("#a", "a"), ("#dot", "a.b"), ("#status", "status")];
    let names = names.map(|(alias, name)| (alias.to_owned(), name.to_owned()));
    let placeholders = Placeholders { names: Some(names.into()), values: Some(item(values).0) };
    let invalid = "Invalid UpdateExpression: ";
    parse(text, &placeholders, &mut PlaceholderUse::default())
        .map_err(|error| error.to_string().strip_prefix(invalid).map_or("no prefix".to_owned(), str::to_owned))
}

fn run(old: &str, text: &str, values: &str) -> Result<String, String> {
    let update = parse_with(text, values)?;
    update.apply(&item(old), true).map(|new| line(&new)).map_err(|error| error.to_string())
}

#[track_caller]
fn check(old: &str, text: &str, values: &str, expected: &str) {
    // In the order of a record, whatever the order given.
    assert_eq!(run(old, text, values), Ok(line(&item(expected))), "{text} on {old}");
}

#[track_caller]
fn fails(old: &str, text: &str, values: &str, expected: &str) {
    assert_eq!(run(old, text, values), Err(expected.to_owned()), "{text} on {old}");
}

const MISSING: &str = "The provided expression refers to an attribute that does not exist in the item";
const TYPE: &str = "An operand in the update expression has an incorrect data type";
const PATH: &str = "The document path provided in the update expression is invalid for update";

#[test]
fn set_of_table_b2() {
    check(r#""a":1,"b":2"#, "SET a = b, b = a", "", r#""a":2,"b":1"#);
    check(r#""a":1"#, "SET a = a + :x", r#"":x":2"#, r#""a":3"#);
    fails("", "SET a = a + :x", r#"":x":2"#, MISSING);
    check("", "SET a = if_not_exists(a, :z) + :x", r#"":x":2,":z":0"#, r#""a":2"#);
    fails(r#""a":"s""#, "SET a = a + :x", r#"":x":2"#, TYPE);
    check(r#""l":[1,2,3]"#, "SET l[9] = :x, l[7] = :y", r#"":x":"x",":y":"y""#, r#""l":[1,2,3,"y","x"]"#);
    check(r#""l":[1,2,3]"#, "SET l[0] = :x REMOVE l[1]", r#"":x":"x""#, r#""l":["x",3]"#);
    check(r#""l":[1]"#, "SET l = list_append(:p, l)", r#"":p":[0]"#, r#""l":[0,1]"#);
    fails("", "SET m.a = :x", r#"":x":1"#, PATH);
    check(r#""m":{}"#, "SET m.a = :x", r#"":x":1"#, r#""m":{"a":1}"#);
    fails(r#""n":1e37"#, "SET n = n + :x", r#"":x":0.1"#, "Attempting to store more than 38 significant digits in a Number");
}

#[test]
fn remove_of_table_b2() {
    check(r#""l":[1,2,3]"#, "REMOVE l[0], l[1]", "", r#""l":[3]"#);
    fails("", "REMOVE x.y", "", PATH);
    check(r#""a":1"#, "REMOVE x", "", r#""a":1"#);
    let removed = parse_with("REMOVE x.y", "").and_then(|update| {
        assert!(update.only_removes());
        update.apply(&item(""), false).map_err(|error| error.to_string())
    });
    assert_eq!(removed, Ok(Item::default()));
    let set = parse_with("SET a = :x REMOVE x.y DELETE y.z :s", r#"":x":1,":s":{"$ss":["a"]}"#);
    let set = set.map(|update| (update.only_removes(), update.apply(&item(""), false)));
    assert_eq!(set, Ok((false, Ok(item(r#""a":1"#)))));
}

#[test]
fn add_and_delete_of_table_b2() {
    check(r#""n":1"#, "ADD n :x", r#"":x":-1.5"#, r#""n":-0.5"#);
    check("", "ADD n :x", r#"":x":5"#, r#""n":5"#);
    check("", "ADD s :x", r#"":x":{"$ss":["a"]}"#, r#""s":{"$ss":["a"]}"#);
    fails(r#""s":{"$ss":["a"]}"#, "ADD s :x", r#"":x":{"$ns":[1]}"#, TYPE);
    check(r#""s":{"$ss":["a","c"]}"#, "ADD s :x", r#"":x":{"$ss":["b","c"]}"#, r#""s":{"$ss":["a","b","c"]}"#);
    check(r#""s":{"$ss":["a","b"]}"#, "DELETE s :x", r#"":x":{"$ss":["b","c"]}"#, r#""s":{"$ss":["a"]}"#);
    check(r#""s":{"$ss":["a"]}"#, "DELETE s :x", r#"":x":{"$ss":["a"]}"#, "");
    check("", "DELETE s :x", r#"":x":{"$ss":["a"]}"#, "");
    fails(r#""s":"a""#, "DELETE s :x", r#"":x":{"$ss":["a"]}"#, TYPE);
    fails(r#""n":"a""#, "ADD n :x", r#"":x":1"#, TYPE);
    let large = format!("{}e88", "9".repeat(38));
    fails(
        &format!(r#""n":{large}"#),
        "ADD n :x",
        &format!(r#"":x":{large}"#),
        "Number overflow. Attempting to store a number with magnitude larger than supported range",
    );
}

#[test]
fn nested_targets() {
    check(r#""m":{"a":{"b":[1,{"c":2}]}}"#, "SET m.a.b[1].c = :x, m.a.d = :x", r#"":x":3"#, r#""m":{"a":{"b":[1,{"c":3}],"d":3}}"#);
    check(r#""m":{"n":1}"#, "ADD m.n :x, m.k :x", r#"":x":2"#, r#""m":{"n":3,"k":2}"#);
    check(r#""l":[[1,2],[3]]"#, "REMOVE l[0][0], l[1]", "", r#""l":[[2]]"#);
    check(r#""l":[1,2,3]"#, "REMOVE l[0] SET l[5] = l[0]", "", r#""l":[2,3,1]"#);
    check(r#""l":[1]"#, "REMOVE l[7]", "", r#""l":[1]"#);
    check(r#""l":[{"$ss":["a"]},2]"#, "DELETE l[0] :x", r#"":x":{"$ss":["a"]}"#, r#""l":[2]"#);
    check(r#""l":[1,2,3,4]"#, "SET l[1] = l[3], l[3] = l[1]", "", r#""l":[1,4,3,2]"#);
    check(r#""a.b":1"#, "SET #dot = #dot + :x", r#"":x":1"#, r#""a.b":2"#);
    for path in ["s.a", "s[0]", "l.a", "m[0]", "gone.a", "gone[0]", "m.gone.a", "l[5].a", "l[0].a"] {
        let old = r#""s":"text","l":[1],"m":{}"#;
        fails(old, &format!("SET {path} = :x"), r#"":x":1"#, PATH);
        fails(old, &format!("REMOVE {path}"), "", PATH);
        fails(old, &format!("ADD {path} :x"), r#"":x":1"#, PATH);
        fails(old, &format!("DELETE {path} :x"), r#"":x":{"$ns":[1]}"#, PATH);
    }
}

#[test]
fn terms() {
    check(r#""a":5"#, "SET b = :x - a", r#"":x":2"#, r#""a":5,"b":-3"#);
    check(r#""a":5"#, "SET b = (a + (:x)), c = (a)-:x", r#"":x":2"#, r#""a":5,"b":7,"c":3"#);
    check(r#""a":5"#, "SET b = (a) + :x", r#"":x":2"#, r#""a":5,"b":7"#);
    check("", "SET b = if_not_exists(a, if_not_exists(c, :x))", r#"":x":2"#, r#""b":2"#);
    fails("", "SET b = if_not_exists(a, if_not_exists(c, d))", "", MISSING);
    check(r#""a":null"#, "SET b = if_not_exists(a, d)", "", r#""a":null,"b":null"#);
    check("", "SET l = list_append(if_not_exists(l, :e), :x)", r#"":e":[],":x":[1]"#, r#""l":[1]"#);
    fails(r#""l":1"#, "SET l = list_append(l, :x)", r#"":x":[1]"#, TYPE);
    fails("", "SET l = list_append(l, :x)", r#"":x":[1]"#, MISSING);
    check(r#""a":1"#, "set a = :x add n :n remove b delete s :s", r#"":x":2,":n":1,":s":{"$ss":["a"]}"#, r#""a":2,"n":1"#);
}

#[test]
fn table_of_static_faults() {
    let fault = |text: &str, expected: &str| {
        let values = r#"":x":1,":y":2,":s":"t",":l":[1],":set":{"$ss":["a"]},":t":true"#;
        assert_eq!(parse_with(text, values).err(), Some(expected.to_owned()), "{text}");
    };
    let syntax = |token: &str, near: &str| format!("Syntax error; token: \"{token}\", near: \"{near}\"");
    let overlap = "Two document paths overlap with each other; must remove or rewrite one of these paths; ";
    let conflict = "Two document paths conflict with each other; must remove or rewrite one of these paths; ";
    let misused = |name: &str| format!("The function is not allowed to be used this way in an expression; function: {name}");
    let operand = |operator: &str, of: &str| {
        format!("Incorrect operand type for operator or function; operator or function: {operator}, operand type: {of}")
    };
    let action = |operator: &str, of: &str| {
        format!(
            "Incorrect operand type for operator or function; operator: {operator}, operand type: {of}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
        )
    };
    fault("SET a = :x REMOVE a", &format!("{overlap}path one: [a], path two: [a]"));
    fault("SET a.b = :x ADD #a.b.c :x", &format!("{overlap}path one: [a, b], path two: [a, b, c]"));
    fault("SET m.a = :x, m[0] = :y", &format!("{conflict}path one: [m, a], path two: [m, [0]]"));
    fault("SET a = :x SET b = :y", "The \"SET\" section can only be used once in an update expression;");
    fault("REMOVE a remove b", "The \"REMOVE\" section can only be used once in an update expression;");
    fault("SET a = :x + :y + :z", &syntax("+", ":y + :z"));
    fault("SET a = (:x + :y) + :x", &syntax("+", ") + :x"));
    fault("SET a = :x + (:y + :x)", &syntax("+", ":y + :x"));
    fault("SET a = if_not_exists(a, :x + :y)", &syntax("+", ":x + :y"));
    fault("SET a = (:x", &syntax("<EOF>", ":x"));
    fault("SET a = :x)", &syntax(")", ":x)"));
    fault("SET a :x", &syntax(":x", "a :x"));
    fault("SET a = :x,", &syntax("<EOF>", ","));
    fault("SET a = :x, REMOVE b", &syntax("REMOVE", ", REMOVE b"));
    fault("SET", &syntax("<EOF>", "SET"));
    fault("a = :x", &syntax("a", "a ="));
    fault("ADD a b", &syntax("b", "a b"));
    fault("REMOVE :x", &syntax(":x", "REMOVE :x"));
    fault("", "The expression can not be empty;");
    fault("SET status = :x", "Attribute name is a reserved keyword; reserved keyword: status");
    fault("SET a = b.Year", "Attribute name is a reserved keyword; reserved keyword: Year");
    fault("SET a = foo(a)", "Invalid function name; function: foo");
    fault("SET a = IF_NOT_EXISTS(a, :x)", "Invalid function name; function: IF_NOT_EXISTS");
    let foreign = |name: &str| format!("The function is not allowed in an update expression; function: {name}");
    fault("SET a = size(a)", &foreign("size"));
    fault("SET a = attribute_exists(a)", &foreign("attribute_exists"));
    fault("SET l = if_not_exists(l, list_append(l, :l))", &misused("list_append"));
    fault("SET l = list_append(l, :l) + :x", &misused("list_append"));
    fault(
        "SET a = if_not_exists(a, a)",
        "The first operand must be distinct from the remaining operands for this operator or function; operator: if_not_exists, first operand: [a]",
    );
    let redundant = "The expression has redundant parentheses;";
    fault("SET a = ((:x))", redundant);
    fault("SET a = ((:x + :y))", redundant);
    fault("SET a = if_not_exists(a, ((:x)))", redundant);
    fault("SET l = list_append(l, list_append(:l, :l))", &misused("list_append"));
    fault("SET a = #gone", "An expression attribute name used in the document path is not defined; attribute name: #gone");
    fault("SET a = :gone", "An expression attribute value used in expression is not defined; attribute value: :gone");
    fault("ADD a :gone", "An expression attribute value used in expression is not defined; attribute value: :gone");
    fault("SET a = if_not_exists(:x, :x)", "Operator or function requires a document path; operator or function: if_not_exists");
    let count = "Incorrect number of operands for operator or function; operator or function: ";
    fault("SET a = if_not_exists(a)", &format!("{count}if_not_exists, number of operands: 1"));
    fault("SET a = list_append()", &format!("{count}list_append, number of operands: 0"));
    fault("SET a = a + :s", &operand("+", "S"));
    fault("SET a = :set - a", &operand("-", "SS"));
    fault("SET a = list_append(a, :x)", &operand("list_append", "N"));
    fault("ADD a :s", &action("ADD", "STRING"));
    fault("ADD a :l", &action("ADD", "LIST"));
    fault("DELETE a :x", &action("DELETE", "NUMBER"));
    fault("DELETE a :t", &action("DELETE", "BOOLEAN"));
    fault(&format!("SET a = {}", "(".repeat(4000)), &syntax("<EOF>", "("));
    assert!(parse_with(&format!("SET a = {}", "f(".repeat(2000)), "").is_err());
    let nested = format!("SET a = {}:x{}", "if_not_exists(a,".repeat(200), ")".repeat(200));
    assert!(parse_with(&nested, r#"":x":1"#).is_ok());
    let sums = (0..301).map(|n| format!("a{n}=b+c")).collect::<Vec<_>>().join(",");
    fault(&format!("SET {sums}"), "The expression contains too many operators; operator count: 301");
}

#[test]
fn faults_come_in_the_documented_order() {
    let first = |text: &str, expected: &str| {
        let found = parse_with(text, r#"":x":1,":s":"t""#).err().unwrap_or_default();
        assert!(found.starts_with(expected), "{text}: {found}");
    };
    first("SET status = foo(a)", "Attribute name is a reserved keyword");
    first("SET a = foo(a) SET b = :x", "Invalid function name");
    first("SET a = #gone SET b = :x", "The \"SET\" section");
    first("SET a = :gone, b = #gone", "An expression attribute name");
    first("SET a = :gone, a = :x", "An expression attribute value");
    first("SET m.a = :x, m[0] = :x, b = :x, b = :x", "Two document paths overlap");
    first("SET m.a = :x, m[0] = :x ADD b :s", "Two document paths conflict");
    first("SET a = size(a) ADD b :s", "Incorrect operand type for operator or function; operator: ADD");
}

#[test]
fn touched_paths_come_in_their_skeleton() {
    let touched = |text: &str, of: &str| {
        let update = parse_with(text, r#"":x":1"#).expect("legal");
        line(&update.touched(&item(of)))
    };
    assert_eq!(touched("SET a.b = :x", r#""a":{"b":1,"c":2},"d":3"#), r#""a":{"b":1"#.to_owned());
    assert_eq!(touched("REMOVE l[1]", r#""l":[1,3]"#), r#""l":[3]"#);
    assert_eq!(touched("SET l[9] = :x, l[0] = :x", r#""l":[1,2,1]"#), r#""l":[1]"#);
    assert_eq!(touched("REMOVE x", r#""a":1"#), "");
}

#[test]
fn read_and_written_paths() {
    let update = parse_with("SET a = if_not_exists(b.c, d) + f, h = list_append(e, i) REMOVE g", "").expect("legal");
    let paths: Vec<String> = update.paths().into_iter().map(ToString::to_string).collect();
    assert_eq!(paths, ["[a]", "[b, c]", "[d]", "[f]", "[h]", "[e]", "[i]", "[g]"]);
    assert_eq!(update.targets().map(|path| path.head.as_str()).collect::<Vec<_>>(), ["a", "h", "g"]);
}

/// Updates applied one list element, one member at a time: removals of list elements leave a hole until the end.
mod slowly {
    use super::*;

    /// The value at a path, holes included.
    fn place<'v>(value: &'v mut AttributeValue, steps: &[PathElement]) -> Option<&'v mut AttributeValue> {
        steps.iter().try_fold(value, |value, step| match (value, step) {
            (AttributeValue::M(map), PathElement::Name(name)) => map.get_mut(name),
            (AttributeValue::L(list), PathElement::Index(index)) => list.get_mut(*index),
            _ => None,
        })
    }

    /// A binary that no generated value has.
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
            std::iter::once(head).chain(path.rest.clone()).collect::<Vec<_>>()
        };
        // Beyond-end elements in the order of their indexes: the lower one is pushed first.
        let mut sorted: Vec<_> = actions.iter().map(|(path, value)| (steps(path), value)).collect();
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
                (AttributeValue::L(list), PathElement::Index(index), AttributeValue::L(before)) => match value {
                    Some(value) if *index < before.len() => list[*index] = value.clone(),
                    Some(value) => list.push(value.clone()),
                    None if *index < before.len() => list[*index] = hole(),
                    None => {}
                },
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
    let element = prop_oneof!["[ab]".prop_map(PathElement::Name), (0..5usize).prop_map(PathElement::Index)];
    ("[ab]", prop::collection::vec(element, 0..3)).prop_map(|(head, rest)| DocumentPath { head, rest })
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
            Some(value) => Effect::Set(SetValue::Term(Term::Value(value.clone()))),
            None => Effect::Remove,
        };
        let resolved = actions.iter().map(|(path, value)| Action { path: path.clone(), effect: effect(value) });
        if let Ok(update) = Update::new(resolved.collect(), Origin::Expression) {
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

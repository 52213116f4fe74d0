//! Updates (Appendix B.2).

use serde_json::{Value, json};

use super::{Service, item, key, values, with};

/// The item before (its attributes beside the key; `none` for no item), the expression, its values, and the item after in the
/// same form, or `! ` and part of the error's text.
const VECTORS: &[(&str, &str, &str, &str)] = &[
    (r#""a":{"N":"1"},"b":{"N":"2"}"#, "SET a = b, b = a", "", r#""a":{"N":"2"},"b":{"N":"1"}"#),
    (r#""a":{"N":"1"}"#, "SET a = a + :x", r#"":x":{"N":"2"}"#, r#""a":{"N":"3"}"#),
    ("", "SET a = a + :x", r#"":x":{"N":"2"}"#, "! The provided expression refers to an attribute that does not exist in the item"),
    ("", "SET a = if_not_exists(a, :z) + :x", r#"":z":{"N":"0"},":x":{"N":"2"}"#, r#""a":{"N":"2"}"#),
    (r#""a":{"S":"s"}"#, "SET a = a + :x", r#"":x":{"N":"2"}"#, "! An operand in the update expression has an incorrect data type"),
    (
        r#""l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}"#,
        "SET l[9] = :x, l[7] = :y",
        r#"":x":{"S":"x"},":y":{"S":"y"}"#,
        r#""l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"},{"S":"y"},{"S":"x"}]}"#,
    ),
    (r#""l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}"#, "REMOVE l[0], l[1]", "", r#""l":{"L":[{"N":"3"}]}"#),
    (
        r#""l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}"#,
        "SET l[0] = :x REMOVE l[1]",
        r#"":x":{"S":"x"}"#,
        r#""l":{"L":[{"S":"x"},{"N":"3"}]}"#,
    ),
    (r#""l":{"L":[{"N":"1"}]}"#, "SET l = list_append(:p, l)", r#"":p":{"L":[{"N":"0"}]}"#, r#""l":{"L":[{"N":"0"},{"N":"1"}]}"#),
    (
        r#""l":{"L":[{"N":"1"}]}"#,
        "SET l = list_append(l, list_append(:p, :q))",
        r#"":p":{"L":[]},":q":{"L":[]}"#,
        "! The function is not allowed to be used this way in an expression; function: list_append",
    ),
    ("", "SET m.a = :x", r#"":x":{"S":"x"}"#, "! The document path provided in the update expression is invalid for update"),
    (r#""m":{"M":{}}"#, "SET m.a = :x", r#"":x":{"S":"x"}"#, r#""m":{"M":{"a":{"S":"x"}}}"#),
    ("", "REMOVE x.y", "", "! The document path provided in the update expression is invalid for update"),
    ("none", "REMOVE x.y", "", "none"),
    (r#""a":{"N":"1"}"#, "REMOVE x", "", r#""a":{"N":"1"}"#),
    (r#""n":{"N":"1"}"#, "ADD n :x", r#"":x":{"N":"-1.5"}"#, r#""n":{"N":"-0.5"}"#),
    ("", "ADD n :x", r#"":x":{"N":"5"}"#, r#""n":{"N":"5"}"#),
    ("", "ADD s :x", r#"":x":{"SS":["a"]}"#, r#""s":{"SS":["a"]}"#),
    (r#""s":{"SS":["a"]}"#, "ADD s :x", r#"":x":{"NS":["1"]}"#, "! An operand in the update expression has an incorrect data type"),
    (r#""s":{"SS":["a","b"]}"#, "DELETE s :x", r#"":x":{"SS":["b","c"]}"#, r#""s":{"SS":["a"]}"#),
    (r#""s":{"SS":["a"]}"#, "DELETE s :x", r#"":x":{"SS":["a"]}"#, ""),
    ("none", "DELETE s :x", r#"":x":{"SS":["a"]}"#, "none"),
    (
        r#""a":{"N":"1"}"#,
        "SET a = :x REMOVE a",
        r#"":x":{"N":"1"}"#,
        "! Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
    ),
    (
        r#""m":{"M":{"a":{"N":"1"}}}"#,
        "SET m.a = :x, m[0] = :y",
        r#"":x":{"N":"1"},":y":{"N":"1"}"#,
        "! Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, a], path two: [m, [0]]",
    ),
    (
        r#""a":{"N":"1"}"#,
        "SET a = :x SET b = :y",
        r#"":x":{"N":"1"},":y":{"N":"1"}"#,
        r#"! The "SET" section can only be used once in an update expression;"#,
    ),
    ("", "SET pk = :x", r#"":x":{"S":"x"}"#, "! Cannot update attribute pk. This attribute is part of the key"),
    ("", "SET a = :x + :y + :z", r#"":x":{"N":"1"},":y":{"N":"1"},":z":{"N":"1"}"#, r#"! Syntax error; token: "+""#),
    ("", "ADD a :x", r#"":x":{"S":"x"}"#, "! operator: ADD, operand type: STRING"),
    (
        r#""n":{"N":"9.9999999999999999999999999999999999999e125"}"#,
        "ADD n :x",
        r#"":x":{"N":"9.9999999999999999999999999999999999999e125"}"#,
        "! Number overflow",
    ),
    (r#""n":{"N":"1e37"}"#, "SET n = n + :x", r#"":x":{"N":"0.1"}"#, "! 38 significant digits"),
];

#[test]
fn b_2_updates() {
    let service = Service::new();
    for (before, expression, text, after) in VECTORS {
        match *before {
            "none" => drop(service.ok("DeleteItem", json!({"TableName": "Tab", "Key": key("k", 1)}))),
            attributes => service.put(&item("k", 1, attributes)),
        }
        let request = json!({"TableName": "Tab", "Key": key("k", 1), "UpdateExpression": expression});
        let request = with(request, json!({"ExpressionAttributeValues": values(text)}));
        let expected = |side: &str| if side == "none" { Value::Null } else { item("k", 1, side) };
        match after.strip_prefix("! ") {
            Some(error) => {
                let unchanged = service.get("k", 1);
                service.check("UpdateItem", &request, &format!("~{error}"));
                assert!(service.outcome("UpdateItem", &request).starts_with("Validation: "), "{expression}");
                assert_eq!(service.get("k", 1), unchanged, "{expression}");
            }
            None => {
                service.check("UpdateItem", &request, "OK");
                assert_eq!(service.get("k", 1), expected(after), "{before} {expression}");
            }
        }
    }
}

//! Projections (Appendix B.3) and key conditions (B.4).

use serde_json::{Value, json};

use super::{Service, item, key, parse, values, with};

#[test]
fn b_3_projections() {
    let service = Service::new();
    let list = r#"{"L":[{"M":{"x":{"N":"1"},"y":{"N":"2"}}},{"N":"10"},{"N":"20"},{"N":"30"}]}"#;
    let map = r#"{"M":{"p":{"M":{"q":{"N":"1"},"r":{"N":"2"}}},"s":{"N":"3"}}}"#;
    service.put(&item("k", 1, &format!(r#""a":{{"N":"1"}},"l":{list},"m":{map}"#)));
    let request = |expression: &str| json!({"TableName": "Tab", "Key": key("k", 1), "ProjectionExpression": expression});
    for (expression, expected) in [
        ("a, m.p.q", r#"{"a":{"N":"1"},"m":{"M":{"p":{"M":{"q":{"N":"1"}}}}}}"#),
        ("l[3], l[1]", r#"{"l":{"L":[{"N":"10"},{"N":"30"}]}}"#),
        ("l[0].x, l[0].y", r#"{"l":{"L":[{"M":{"x":{"N":"1"},"y":{"N":"2"}}}]}}"#),
        ("l[0].y, l[2]", r#"{"l":{"L":[{"M":{"y":{"N":"2"}}},{"N":"20"}]}}"#),
        ("nope", "{}"),
    ] {
        assert_eq!(service.ok("GetItem", request(expression))["Item"], parse(expected), "{expression}");
        let scan = json!({"TableName": "Tab", "ProjectionExpression": expression});
        assert_eq!(service.ok("Scan", scan)["Items"], json!([parse(expected)]), "{expression}");
    }
    for (expression, text) in [
        (
            "m.p, m.p.q",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m, p], path two: [m, p, q]",
        ),
        (
            "m.p, m[0]",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, p], path two: [m, [0]]",
        ),
        (
            "a, a",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
        ),
        ("#x", "An expression attribute name used in the document path is not defined; attribute name: #x"),
    ] {
        service.check("GetItem", &request(expression), &format!("Validation: Invalid ProjectionExpression: {text}"));
    }
}

#[test]
fn b_4_key_conditions() {
    let service = Service::new();
    (1..=5).for_each(|sk| service.put(&item("p", sk, "")));
    let check = |condition: &str, text: &str, expected: &str| {
        let request = json!({"TableName": "Tab", "KeyConditionExpression": condition});
        let request = with(request, json!({"ExpressionAttributeValues": values(text)}));
        if let Ok(count) = expected.parse::<u64>() {
            let numbers: Vec<Value> =
                service.ok("Query", request)["Items"].as_array().unwrap().iter().map(|item| item["sk"]["N"].clone()).collect();
            let first = 5 - count + 1;
            assert_eq!(numbers, (first..=5).map(|number| json!(number.to_string())).collect::<Vec<_>>(), "{condition}");
        } else {
            service.check("Query", &request, &format!("~{expected}"));
        }
    };
    let p = r#"":p":{"S":"p"}"#;
    let and = |more: &str| format!("{p},{more}");
    check("pk = :p", p, "5");
    check("sk > :n AND pk = :p", &and(r#"":n":{"N":"3"}"#), "2");
    check(":n < sk AND pk = :p", &and(r#"":n":{"N":"3"}"#), "2");
    check("(pk = :p) AND (sk BETWEEN :a AND :b)", &and(r#"":a":{"N":"2"},":b":{"N":"5"}"#), "4");
    check("pk > :p", p, "Query key condition not supported");
    check("sk = :n", r#"":n":{"N":"1"}"#, "Query condition missed key schema element: pk");
    check("pk = :p AND misc = :o", &and(r#"":o":{"N":"1"}"#), "Query condition missed key schema element: sk");
    check("pk = :p AND begins_with(sk, :n)", &and(r#"":n":{"N":"1"}"#), "operator or function: begins_with, operand type: N");
    check("pk = :p AND begins_with(sk, :n)", &and(r#"":n":{"S":"1"}"#), "Condition parameter type does not match schema type");
    check("pk = :p OR pk = :q", &and(r#"":q":{"S":"q"}"#), "Invalid operator used in KeyConditionExpression: OR");
    check(
        "pk = :p AND sk > :a AND sk < :b",
        &and(r#"":a":{"N":"2"},":b":{"N":"5"}"#),
        "KeyConditionExpressions must only contain one condition per key",
    );
    check("pk = :p AND sk <> :n", &and(r#"":n":{"N":"1"}"#), "Invalid operator used in KeyConditionExpression: <>");
    check("pk.a = :p", p, "KeyConditionExpressions cannot have conditions on nested attributes");
    check("pk = :p", r#"":p":{"N":"1"}"#, "Condition parameter type does not match schema type");
}

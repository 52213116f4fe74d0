//! Conditions and filters (Appendix B.1).

use serde_json::json;

use super::{Service, item, key, values, with};

const ITEM: &str = r#""n":{"N":"5"},"s":{"S":"hello"},"b":{"B":"AQI="},"t":{"BOOL":true},"z":{"NULL":true},
    "l":{"L":[{"N":"1"},{"S":"x"},{"L":[{"N":"2"}]}]},"m":{"M":{"a":{"N":"1"},"d":{"M":{"e":{"S":"f"}}}}},
    "ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]},"e":{"S":""}"#;

/// A condition, its values, and `true`, `false` or part of the error's text.
const VECTORS: &[(&str, &str, &str)] = &[
    ("n = :v", r#"":v":{"N":"5.0"}"#, "true"),
    ("n = :v", r#"":v":{"S":"5"}"#, "false"),
    ("n <> :v", r#"":v":{"S":"5"}"#, "true"),
    ("gone = :v", r#"":v":{"S":"5"}"#, "false"),
    ("gone <> :v", r#"":v":{"S":"5"}"#, "true"),
    ("gone = gone2", "", "false"),
    ("gone <> gone2", "", "true"),
    ("n < :v", r#"":v":{"N":"10"}"#, "true"),
    ("s < :v", r#"":v":{"S":"world"}"#, "true"),
    ("s < n", "", "false"),
    ("t < :v", r#"":v":{"BOOL":true}"#, "operator or function: <, operand type: BOOL"),
    ("n BETWEEN :a AND :b", r#"":a":{"N":"1"},":b":{"N":"5"}"#, "true"),
    ("n BETWEEN :a AND :b", r#"":a":{"N":"6"},":b":{"N":"1"}"#, "requires upper bound to be greater than or equal to lower bound"),
    ("n BETWEEN :a AND :b", r#"":a":{"N":"1"},":b":{"S":"x"}"#, "requires same data type for lower and upper bounds"),
    ("n IN (:a, :b)", r#"":a":{"N":"4"},":b":{"N":"5"}"#, "true"),
    ("attribute_exists(z)", "", "true"),
    ("attribute_not_exists(gone)", "", "true"),
    ("attribute_exists(m.d.e)", "", "true"),
    ("attribute_exists(m.x)", "", "false"),
    ("attribute_exists(l[9])", "", "false"),
    ("attribute_exists(:v)", r#"":v":{"S":"s"}"#, "requires a document path; operator or function: attribute_exists"),
    ("attribute_type(ss, :t)", r#"":t":{"S":"SS"}"#, "true"),
    (
        "attribute_type(ss, :t)",
        r#"":t":{"S":"XX"}"#,
        "Invalid attribute type name found; type: XX, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    ),
    ("begins_with(s, :v)", r#"":v":{"S":"he"}"#, "true"),
    ("begins_with(s, :v)", r#"":v":{"S":""}"#, "true"),
    ("begins_with(n, :v)", r#"":v":{"S":"5"}"#, "false"),
    ("begins_with(s, :v)", r#"":v":{"N":"1"}"#, "operator or function: begins_with, operand type: N"),
    ("contains(s, :v)", r#"":v":{"S":"ell"}"#, "true"),
    ("contains(ss, :v)", r#"":v":{"S":"a"}"#, "true"),
    ("contains(ss, :v)", r#"":v":{"S":"ab"}"#, "false"),
    ("contains(l, :v)", r#"":v":{"S":"x"}"#, "true"),
    ("contains(l, :v)", r#"":v":{"L":[{"N":"2"}]}"#, "true"),
    ("contains(l, :v)", r#"":v":{"N":"2"}"#, "false"),
    ("contains(m, :v)", r#"":v":{"S":"a"}"#, "false"),
    (
        "contains(s, s)",
        "",
        "first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [s]",
    ),
    ("size(s) = :v", r#"":v":{"N":"5"}"#, "true"),
    ("size(b) = :v", r#"":v":{"N":"2"}"#, "true"),
    ("size(l) = :v", r#"":v":{"N":"3"}"#, "true"),
    ("size(m) = :v", r#"":v":{"N":"2"}"#, "true"),
    ("size(ss) = :v", r#"":v":{"N":"2"}"#, "true"),
    ("size(n) > :v", r#"":v":{"N":"0"}"#, "false"),
    ("size(e) = :v", r#"":v":{"N":"0"}"#, "true"),
    ("ss = :v", r#"":v":{"SS":["b","a"]}"#, "true"),
    ("ns = :v", r#"":v":{"NS":["2.0","1"]}"#, "true"),
    ("l = :v", r#"":v":{"L":[{"N":"1"},{"S":"x"},{"L":[{"N":"2"}]}]}"#, "true"),
    ("l = :v", r#"":v":{"L":[{"S":"x"},{"N":"1"},{"L":[{"N":"2"}]}]}"#, "false"),
    ("m.d = :v", r#"":v":{"M":{"e":{"S":"f"}}}"#, "true"),
    ("NOT n = :v", r#"":v":{"N":"6"}"#, "true"),
    ("n = :a OR n = :b AND s = :c", r#"":a":{"N":"5"},":b":{"N":"6"},":c":{"S":"no"}"#, "true"),
    ("(n = :a OR n = :b) AND s = :c", r#"":a":{"N":"5"},":b":{"N":"6"},":c":{"S":"no"}"#, "false"),
    ("((n = :v))", r#"":v":{"N":"5"}"#, "The expression has redundant parentheses;"),
    ("(n = :v)", r#"":v":{"N":"5"}"#, "true"),
    ("n", "", "Syntax error; token: \"<EOF>\", near: \"n\""),
    ("size(s)", "", "The function is not allowed to be used this way in an expression; function: size"),
    (
        "contains(s, :v) = :t",
        r#"":v":{"S":"x"},":t":{"BOOL":true}"#,
        "The function is not allowed to be used this way in an expression; function: contains",
    ),
    ("foo(s)", "", "Invalid function name; function: foo"),
    ("status = :v", r#"":v":{"S":"x"}"#, "Attribute name is a reserved keyword; reserved keyword: status"),
    ("n = :v", r#"":v":{"N":"5"},":w":{"N":"5"}"#, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"),
];

/// Each as the condition of a transaction's check and of a delete that must not happen, and as the filter of a scan.
#[test]
fn b_1_conditions() {
    let service = Service::new();
    service.put(&item("k", 1, ITEM));
    for (condition, text, expected) in VECTORS {
        let members = with(json!({"TableName": "Tab"}), json!({"ExpressionAttributeValues": values(text)}));
        let scan = with(members.clone(), json!({"FilterExpression": condition}));
        let check = with(members, json!({"Key": key("k", 1), "ConditionExpression": condition}));
        let transaction = json!({"TransactItems": [{"ConditionCheck": check}]});
        match *expected {
            "true" | "false" => {
                assert_eq!(service.ok("Scan", scan)["Count"], u8::from(*expected == "true"), "{condition}");
                let cancelled = "~[ConditionalCheckFailed]";
                service.check("TransactWriteItems", &transaction, if *expected == "true" { "OK" } else { cancelled });
                // Put back what a true condition deletes.
                let failed = "ConditionalCheckFailed: The conditional request failed";
                service.check("DeleteItem", &check, if *expected == "true" { "OK" } else { failed });
                service.put(&item("k", 1, ITEM));
            }
            text => {
                let all = [("Scan", &scan), ("DeleteItem", &check), ("TransactWriteItems", &transaction)];
                all.iter().for_each(|(operation, request)| service.check(operation, request, &format!("~{text}")));
            }
        }
    }
}

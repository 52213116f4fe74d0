//! PartiQL (docs/dynamodb.md 19) through the protocol: statements against tables, indexes, batches and transactions.

use crate::support::control::{Control, IV};
use ddbfs::codec::json::document::Document;
use ddbfs::codec::plain_json;
use ddbfs::codec::wire::attribute_value;
use ddbfs::protocol;
use serde_json::{Value, json};

const OVERLAPPING: &str =
    "Overlapping conditions with range keys are not supported in where clause";
const NO_KEY: &str = "Where clause does not contain a mandatory equality on all key attributes";

/// The table `Tab`: pk S, sk N; the global indexes `all` on g, `inc` on h with p, `keys` on h; the local one `loc` on l, keys only.
fn tab() -> Control {
    let control = Control::twice();
    let index = |name: &str, keys: &[&str], projection: Value| {
        let schema: Vec<Value> = keys
            .iter()
            .zip(["HASH", "RANGE"])
            .map(|(key, kind)| json!({ "AttributeName": key, "KeyType": kind }))
            .collect();
        json!({ "IndexName": name, "KeySchema": schema, "Projection": projection })
    };
    let types = [("pk", "S"), ("sk", "N"), ("g", "S"), ("h", "S"), ("l", "S")];
    control.ok(
        "CreateTable",
        json!({
            "TableName": "Tab",
            "AttributeDefinitions": types.map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind })),
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": "sk", "KeyType": "RANGE" }],
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [
                index("all", &["g", "sk"], json!({ "ProjectionType": "ALL" })),
                index("inc", &["h"], json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": ["p"] })),
                index("keys", &["h"], json!({ "ProjectionType": "KEYS_ONLY" })),
            ],
            "LocalSecondaryIndexes": [index("loc", &["pk", "l"], json!({ "ProjectionType": "KEYS_ONLY" }))],
        }),
    );
    control
}

/// `Tab` with these items of plain JSON, brackets left out.
fn with(items: &[&str]) -> Control {
    let control = tab();
    for item in items {
        put(&control, item);
    }
    control
}

fn put(control: &Control, item: &str) {
    let mut typed = Vec::new();
    let item = plain_json::parse(format!("{{{item}}}").as_bytes()).unwrap();
    ddbfs::codec::dynamodb_json::write_item(&item, &mut typed);
    control.put("Tab", serde_json::from_slice(&typed).unwrap());
}

/// An item of the answer as plain JSON, keys first, brackets left out.
fn line(item: &Value) -> String {
    let mut out = Vec::new();
    plain_json::write_line(
        &attribute_value::item(Document::from_value(item).root()).unwrap(),
        &["pk", "sk"],
        &mut out,
    );
    let text = String::from_utf8(out).unwrap();
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    inner.unwrap().to_owned()
}

fn lines(answer: &Value) -> Vec<String> {
    answer["Items"]
        .as_array()
        .unwrap()
        .iter()
        .map(line)
        .collect()
}

/// The statement's items, in the order given.
fn check(control: &Control, statement: &str, expected: &[&str]) {
    let answer = control.ok("ExecuteStatement", json!({ "Statement": statement }));
    assert_eq!(lines(&answer), expected, "{statement}");
}

/// The items in any order.
fn check_set(control: &Control, statement: &str, expected: &[&str]) {
    let mut found = lines(&control.ok("ExecuteStatement", json!({ "Statement": statement })));
    found.sort();
    assert_eq!(found, expected, "{statement}");
}

/// The exception and its text.
fn refused(control: &Control, statement: &str, exception: &str, text: &str) {
    let failure = control
        .answer("ExecuteStatement", json!({ "Statement": statement }))
        .unwrap_err();
    let told = failure.error_body(protocol::find("ExecuteStatement"));
    assert_eq!(
        (told.exception, told.text.as_deref()),
        (exception, Some(text)),
        "{statement}"
    );
}

fn invalid(control: &Control, statement: &str, text: &str) {
    refused(control, statement, "ValidationException", text);
}

/// All items of the table, sorted.
fn all(control: &Control) -> Vec<String> {
    let mut found = lines(&control.ok("Scan", json!({ "TableName": "Tab" })));
    found.sort();
    found
}

#[test]
fn inserts_are_of_new_items() {
    let control = tab();
    check(
        &control,
        r#"INSERT INTO "Tab" VALUE {'pk': 'a', 'sk': 1, 'q': 'it''s', 'm': {'x': [1, <<'b', 'a'>>, NULL, TRUE]}, 'n': <<2, 1.0>>}"#,
        &[],
    );
    assert_eq!(
        all(&control),
        [
            r#""pk":"a","sk":1,"m":{"x":[1,{"$ss":["a","b"]},null,true]},"n":{"$ns":[1,2]},"q":"it's""#
        ]
    );
    let insert = |values: &str| format!("INSERT INTO Tab VALUE {{{values}}}");
    refused(
        &control,
        &insert("'pk': 'a', 'sk': 1"),
        "DuplicateItemException",
        "Duplicate primary key exists in table",
    );
    invalid(
        &control,
        &insert("'pk': 'a'"),
        &format!("{IV}Missing the key sk in the item"),
    );
    invalid(
        &control,
        &insert("'pk': 1, 'sk': 1"),
        &format!("{IV}Type mismatch for key pk expected: S actual: N"),
    );
    invalid(
        &control,
        &insert("'pk': '', 'sk': 1"),
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
    );
    refused(
        &control,
        "INSERT INTO Nope VALUE {'pk': 'a'}",
        "ResourceNotFoundException",
        "Requested resource not found",
    );
    let parameters = json!([{ "N": "2" }, { "B": "AQ==" }]);
    control.ok(
        "ExecuteStatement",
        json!({ "Statement": "INSERT INTO Tab VALUE {'pk': 'b', 'sk': ?, 'b': ?}", "Parameters": parameters }),
    );
    let answer = control.ok(
        "ExecuteStatement",
        json!({
            "Statement": "SELECT b FROM Tab WHERE pk = ? AND sk = ?",
            "Parameters": [{ "S": "b" }, { "N": "2.0" }],
        }),
    );
    assert_eq!(answer, json!({ "Items": [{ "b": { "B": "AQ==" } }] }));
}

#[test]
fn updates_are_of_items_that_are_there() {
    let control =
        with(&[r#""pk":"a","sk":1,"n":5,"s":{"$ss":["x"]},"list":[1,2,3],"m":{"k":"old","z":0}"#]);
    let failed = "The conditional request failed";
    let ccf = "ConditionalCheckFailedException";
    let key = "WHERE pk = 'a' AND sk = 1";
    let update = |changes: &str, returning: &str| format!("UPDATE Tab {changes} {key} {returning}");
    check(
        &control,
        &update(
            "SET n = n + 1 SET s = set_add(s, <<'y'>>), fresh = SET_ADD(fresh, <<1>>)",
            "RETURNING MODIFIED NEW *",
        ),
        &[r#""fresh":{"$ns":[1]},"n":6,"s":{"$ss":["x","y"]}"#],
    );
    check(
        &control,
        &update(
            "SET s = set_delete(s, <<'x', 'y'>>) REMOVE fresh",
            "RETURNING MODIFIED OLD *",
        ),
        &[r#""fresh":{"$ns":[1]},"s":{"$ss":["x","y"]}"#],
    );
    check(
        &control,
        &update(
            "SET list = list_append([0], list), m.k = 'new'",
            "RETURNING ALL NEW *",
        ),
        &[r#""pk":"a","sk":1,"list":[0,1,2,3],"m":{"k":"new","z":0},"n":6"#],
    );
    check(
        &control,
        &update("SET m.k = 'newer'", "RETURNING MODIFIED OLD *"),
        &[r#""m":{"k":"new"}"#],
    );
    check(
        &control,
        &update("SET list[3] = 9, list[0] = 8", "RETURNING MODIFIED NEW *"),
        &[r#""list":[8,9]"#],
    );
    check(
        &control,
        &update("REMOVE list[3]", "RETURNING MODIFIED NEW *"),
        &[],
    );
    check(
        &control,
        &update("REMOVE list[0]", "RETURNING MODIFIED NEW *"),
        &[r#""list":[1]"#],
    );
    check(
        &control,
        &update("SET n = if_not_exists(nope, 7)", "RETURNING ALL OLD *"),
        &[r#""pk":"a","sk":1,"list":[1,2],"m":{"k":"newer","z":0},"n":6"#],
    );
    check(&control, &update("SET b = n", ""), &[]);
    assert_eq!(
        all(&control),
        [r#""pk":"a","sk":1,"b":7,"list":[1,2],"m":{"k":"newer","z":0},"n":7"#]
    );
    refused(
        &control,
        "UPDATE Tab SET n = 1 WHERE pk = 'a' AND sk = 2 RETURNING ALL OLD *",
        ccf,
        failed,
    );
    refused(
        &control,
        "UPDATE Tab SET n = 1 WHERE pk = 'a' AND sk = 2 AND n IS MISSING",
        ccf,
        failed,
    );
    refused(
        &control,
        "UPDATE Tab SET n = 1 WHERE pk = 'a' AND sk = 1 AND n = 5",
        ccf,
        failed,
    );
    check(
        &control,
        "FROM Tab WHERE sk = 1 AND pk = 'a' AND n = 7 SET n = 8 RETURNING MODIFIED NEW *",
        &[r#""n":8"#],
    );
    invalid(
        &control,
        &update("SET nope[0] = 1", ""),
        "The document path provided in the update expression is invalid for update",
    );
    invalid(
        &control,
        &update("SET n = nope", ""),
        "The provided expression refers to an attribute that does not exist in the item",
    );
    invalid(
        &control,
        &update("SET n = set_add(n, <<1>>)", ""),
        "An operand in the update expression has an incorrect data type",
    );
    invalid(
        &control,
        &update("SET pk = 'b'", ""),
        &format!("{IV}Cannot update attribute pk. This attribute is part of the key"),
    );
    invalid(&control, "UPDATE Tab SET n = 1 WHERE pk = 'a'", NO_KEY);
    invalid(&control, "UPDATE Tab SET n = 1", NO_KEY);
    invalid(&control, "FROM Tab SET n = 1", NO_KEY);
    invalid(
        &control,
        "UPDATE Tab SET n = 1 WHERE pk = 'a' AND sk = 'x'",
        "The provided key element does not match the schema",
    );
    invalid(
        &control,
        "UPDATE Tab SET n = 1 WHERE pk = 'a' AND sk = 1 AND pk = 'b'",
        "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported",
    );
    let deep = (0..31).fold(
        json!({ "S": "x" }),
        |inner, _| json!({ "M": { "a": inner } }),
    );
    control.fails(
        "ExecuteStatement",
        json!({ "Statement": update("SET m.deep = ?", ""), "Parameters": [deep] }),
        "Nesting Levels have exceeded supported limits",
    );
    let asked = json!({ "Statement": "UPDATE Tab SET n = 1 WHERE pk = 'a' AND sk = 1 AND n = 5", "ReturnValuesOnConditionCheckFailure": "ALL_OLD" });
    let failure = control.answer("ExecuteStatement", asked).unwrap_err();
    let body: Value = serde_json::from_slice(&failure.error_body(None).json()).unwrap();
    assert_eq!(body["Item"]["n"], json!({ "N": "8" }));
}

#[test]
fn deletes_meet_their_conditions() {
    let control = with(&[r#""pk":"a","sk":1,"x":"y""#, r#""pk":"a","sk":2"#]);
    let failed = "The conditional request failed";
    refused(
        &control,
        "DELETE FROM Tab WHERE pk = 'a' AND sk = 1 AND x = 'z'",
        "ConditionalCheckFailedException",
        failed,
    );
    refused(
        &control,
        "DELETE FROM Tab WHERE pk = 'a' AND sk = 1 AND NOT begins_with(x, 'y')",
        "ConditionalCheckFailedException",
        failed,
    );
    check(
        &control,
        "DELETE FROM Tab WHERE pk = 'a' AND sk = 1 AND x = 'y' RETURNING ALL OLD *",
        &[r#""pk":"a","sk":1,"x":"y""#],
    );
    check(
        &control,
        "DELETE FROM Tab WHERE pk = 'a' AND sk = 1 RETURNING ALL OLD *",
        &[],
    );
    check(
        &control,
        "DELETE FROM Tab WHERE pk = 'a' AND sk = 1 AND x = 'y'",
        &[],
    );
    invalid(&control, "DELETE FROM Tab WHERE x = 'y'", NO_KEY);
    invalid(&control, "DELETE FROM Tab", NO_KEY);
    check(&control, "DELETE FROM Tab WHERE pk = 'a' AND sk = 2", &[]);
    assert!(all(&control).is_empty());
    invalid(
        &control,
        "EXISTS(SELECT * FROM Tab WHERE pk = 'a' AND sk = 1 AND x IS MISSING)",
        "EXISTS can only be used in ExecuteTransaction write requests.",
    );
}

#[test]
fn selects_by_key_order_and_projection() {
    let control = with(&[
        r#""pk":"o","sk":1,"m":{"k":["c"]},"nul":null"#,
        r#""pk":"o","sk":2,"t":"ab""#,
        r#""pk":"o","sk":3,"t":{"$ss":["a"]}"#,
        r#""pk":"p","sk":1"#,
        r#""pk":"p","sk":2"#,
    ]);
    let (o1, o2, o3) = (
        r#""pk":"o","sk":1"#,
        r#""pk":"o","sk":2"#,
        r#""pk":"o","sk":3"#,
    );
    let (p1, p2) = (r#""pk":"p","sk":1"#, r#""pk":"p","sk":2"#);
    let keys = |clause: &str, expected: &[&str]| {
        check(
            &control,
            &format!("SELECT pk, sk FROM Tab WHERE {clause}"),
            expected,
        )
    };
    keys("pk = 'o'", &[o1, o2, o3]);
    keys("pk = 'o' AND sk >= 2", &[o2, o3]);
    keys("pk = 'o' AND sk > 1 AND sk < 3", &[o2]);
    keys("pk = 'o' AND sk BETWEEN 2 AND 9", &[o2, o3]);
    keys("pk = 'o' AND sk = 1 AND sk = 2", &[]);
    keys("pk = 'o' AND (sk = 3 OR sk = 1)", &[o1, o3]);
    keys("pk = 'o' AND sk <> 2", &[o1, o3]);
    keys("pk = 'o' AND NOT sk = 2", &[o1, o3]);
    keys("pk = 'o' ORDER BY sk DESC", &[o3, o2, o1]);
    keys("pk = 'o' ORDER BY sk", &[o1, o2, o3]);
    // Without the sort key the service goes backward.
    keys("pk = 'o' ORDER BY pk ASC", &[o3, o2, o1]);
    keys(
        "pk IN ['o', 'p'] ORDER BY pk DESC, sk ASC",
        &[p1, p2, o1, o2, o3],
    );
    keys(
        "pk IN ['o', 'p'] AND sk < 3 ORDER BY pk, sk DESC",
        &[o2, o1, p2, p1],
    );
    keys("pk = 'o' AND contains(t, 'a')", &[o2, o3]);
    keys("pk = 'o' AND size(t) = 2", &[o2]);
    keys("pk = 'o' AND sk <> 2 OR pk = 'o' AND sk = 2", &[o1, o2, o3]);
    keys(
        "pk = 'o' AND NOT sk = 2 OR pk = 'o' AND sk = 3 ORDER BY sk DESC",
        &[o3, o1],
    );
    keys(
        "pk = 'o' AND NOT sk > 1 OR pk = 'p' AND sk <> 1 OR pk = 'o' AND sk = 3 ORDER BY pk DESC, sk ASC",
        &[p2, o1, o3],
    );
    keys("pk = 'o' AND contains(t, 'a') = (sk > 2)", &[o1, o3]);
    keys("pk = 'o' AND (sk = 2) <> contains(t, 'a')", &[o3]);
    keys("pk = 'o' AND nul IS NULL", &[o1]);
    keys("pk = 'o' AND nul IS NOT NULL", &[o2, o3]);
    keys("pk = 'o' AND nul IS MISSING", &[o2, o3]);
    keys("pk = 'o' AND attribute_type(m, 'M')", &[o1]);
    keys("pk = 'nope'", &[]);
    check_set(&control, "SELECT pk, sk FROM Tab WHERE sk = 2", &[o2, p2]);
    check_set(
        &control,
        "SELECT pk, sk FROM Tab WHERE pk = 'p' OR sk = 3",
        &[o3, p1, p2],
    );
    check(
        &control,
        "SELECT m.k, m.k[0], t, nope FROM Tab WHERE pk = 'o' AND sk = 1",
        &[r#""k":["c"],"k[0]":"c""#],
    );
    check(
        &control,
        "SELECT nope FROM Tab WHERE pk = 'o' AND sk = 1",
        &[""],
    );
    let order =
        |clause: &str, text: &str| invalid(&control, &format!("SELECT * FROM Tab {clause}"), text);
    order(
        "ORDER BY sk",
        "Must have WHERE clause in the statement when using ORDER BY clause.",
    );
    order(
        "WHERE pk = 'o' ORDER BY t DESC",
        "Attribute t in ORDER BY clause must be part of the primary key",
    );
    order(
        "WHERE pk > 'a' ORDER BY sk",
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
    );
    order(
        "WHERE pk IN ['o', 'p'] ORDER BY sk",
        "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
    );
    order("WHERE pk IN ['o', 'o']", OVERLAPPING);
    refused(
        &control,
        "SELECT * FROM Nope WHERE pk = 'a'",
        "ResourceNotFoundException",
        "Requested resource not found",
    );
}

#[test]
fn selects_from_indexes() {
    let control = with(&[
        r#""pk":"p","sk":1,"g":"x","h":"y","l":"l1","p":"p1","q":"q1""#,
        r#""pk":"p","sk":2,"g":"z","h":"y","l":"l2","p":"p2","q":"q2""#,
        r#""pk":"p","sk":3,"q":"q3""#,
        r#""pk":"p","sk":4,"g":"x","h":"y","l":"l4","p":"p4","q":"q4""#,
        r#""pk":"q","sk":5,"h":"y2","p":"p5","q":"q5""#,
    ]);
    let not_projected = |index: &str, names: &str| {
        format!(
            "{IV}Secondary index {index} does not project one or more filter attributes: [{names}]"
        )
    };
    check(
        &control,
        "SELECT sk FROM Tab.\"all\" WHERE g = 'x' ORDER BY sk DESC",
        &[r#""sk":4"#, r#""sk":1"#],
    );
    check(
        &control,
        "SELECT sk FROM \"Tab\".\"all\" WHERE g = 'x' AND sk > 1",
        &[r#""sk":4"#],
    );
    check_set(
        &control,
        "SELECT * FROM Tab.\"inc\" WHERE h = 'y2'",
        &[r#""pk":"q","sk":5,"h":"y2","p":"p5""#],
    );
    check(
        &control,
        "SELECT * FROM Tab.\"loc\" WHERE pk = 'p' AND begins_with(l, 'l1')",
        &[r#""pk":"p","sk":1,"l":"l1""#],
    );
    check(
        &control,
        "SELECT q, l FROM Tab.\"loc\" WHERE pk = 'p' AND l > 'l1'",
        &[r#""l":"l2","q":"q2""#, r#""l":"l4","q":"q4""#],
    );
    let select =
        |index: &str, clause: &str| format!("SELECT sk FROM Tab.\"{index}\" WHERE {clause}");
    invalid(
        &control,
        "SELECT q FROM Tab.\"inc\" WHERE h = 'y'",
        &format!("{IV}Global secondary index inc does not project [q]"),
    );
    for clause in [
        "h = 'y' AND q = 'q1'",
        "h IN ['y', 'z'] AND q = 'q1'",
        "h = 'y' AND NOT q = 'q1'",
        "h = 'y' AND q IS MISSING",
        "(h = 'y' OR h = 'z') AND q = 'q1'",
    ] {
        invalid(&control, &select("inc", clause), &not_projected("inc", "q"));
    }
    invalid(
        &control,
        &select("inc", "h = 'y' AND b = '1' AND (a = '2' OR p = '3')"),
        &not_projected("inc", "a, b"),
    );
    invalid(
        &control,
        &select("loc", "pk = 'p' AND l BETWEEN 'l1' AND 'l4' AND q = 'q1'"),
        &not_projected("loc", "q"),
    );
    check(&control, &select("inc", "q = 'q1'"), &[]);
    check_set(
        &control,
        &select("keys", "NOT q = 'q1'"),
        &[r#""sk":1"#, r#""sk":2"#, r#""sk":4"#, r#""sk":5"#],
    );
    check(
        &control,
        &select("inc", "(h = 'y' AND q = 'q1') OR (h = 'y2')"),
        &[r#""sk":5"#],
    );
    check(
        &control,
        &select("inc", "h = 'y' AND p = 'p1'"),
        &[r#""sk":1"#],
    );
    check(
        &control,
        &select("inc", "h = 'y' AND (h = 'z' OR q = 'q1')"),
        &[],
    );
    let unknown = "The table does not have the specified index";
    for index in ["nope", "Tab", "a b"] {
        invalid(&control, &select(index, "pk = 'p'"), unknown);
    }
    let strongly = "Strongly consistent read is not supported on Global Secondary Indexes";
    control.fails(
        "ExecuteStatement",
        json!({ "Statement": select("all", "g = 'x'"), "ConsistentRead": true }),
        strongly,
    );
}

#[test]
fn capacity_is_that_of_what_was_evaluated() {
    let control = with(&[
        r#""pk":"p","sk":1,"g":"x","h":"y","l":"l1""#,
        r#""pk":"p","sk":2,"l":"l2""#,
        r#""pk":"r","sk":2"#,
    ]);
    let units = |statement: &str, consistent: bool| {
        let asked = json!({ "Statement": statement, "ConsistentRead": consistent, "ReturnConsumedCapacity": "INDEXES" });
        let found = control.ok("ExecuteStatement", asked)["ConsumedCapacity"].clone();
        let arm = |kind: &str| {
            found[kind].as_object().map(|arms| {
                arms.values()
                    .map(|arm| arm["CapacityUnits"].as_f64().unwrap())
                    .sum::<f64>()
            })
        };
        let arms = [arm("GlobalSecondaryIndexes"), arm("LocalSecondaryIndexes")]
            .map(Option::unwrap_or_default);
        (
            found["CapacityUnits"].as_f64().unwrap(),
            found["Table"]["CapacityUnits"].as_f64().unwrap(),
            arms,
        )
    };
    assert_eq!(
        units("SELECT * FROM Tab WHERE pk = 'p' AND sk = 1", false),
        (0.5, 0.5, [0.0, 0.0])
    );
    assert_eq!(
        units("SELECT * FROM Tab WHERE pk = 'p' AND sk = 1", true),
        (1.0, 1.0, [0.0, 0.0])
    );
    assert_eq!(
        units("SELECT * FROM Tab WHERE pk IN ['p', 'r'] AND x = 1", false),
        (1.0, 1.0, [0.0, 0.0])
    );
    assert_eq!(
        units("SELECT pk FROM Tab.\"all\" WHERE g = 'x'", false),
        (0.5, 0.0, [0.5, 0.0])
    );
    assert_eq!(
        units("SELECT q FROM Tab.\"loc\" WHERE pk = 'p'", true),
        (3.0, 2.0, [0.0, 1.0])
    );
    assert_eq!(
        units(
            "INSERT INTO Tab VALUE {'pk': 'n', 'sk': 1, 'g': 'x'}",
            false
        ),
        (2.0, 1.0, [1.0, 0.0])
    );
    assert_eq!(
        units("DELETE FROM Tab WHERE pk = 'n' AND sk = 1", false),
        (2.0, 1.0, [1.0, 0.0])
    );
    assert_eq!(
        units("DELETE FROM Tab WHERE pk = 'n' AND sk = 1", false),
        (1.0, 1.0, [0.0, 0.0])
    );
}

/// Pages of a statement, each as its items' sort keys.
fn pages(control: &Control, statement: &str, limit: u32) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut token = Value::Null;
    loop {
        let answer = control.ok(
            "ExecuteStatement",
            json!({ "Statement": statement, "Limit": limit, "NextToken": token }),
        );
        pages.push(lines(&answer));
        token = answer["NextToken"].clone();
        if token.is_null() {
            return pages;
        }
        assert!(pages.len() < 100, "{statement} does not end");
    }
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    let control = with(&[
        r#""pk":"o","sk":1"#,
        r#""pk":"o","sk":2"#,
        r#""pk":"o","sk":3"#,
        r#""pk":"p","sk":1"#,
        r#""pk":"p","sk":2"#,
    ]);
    let sorts = |statement: &str, limit: u32| -> Vec<String> {
        let found = pages(&control, statement, limit);
        found
            .iter()
            .map(|page| {
                page.iter()
                    .map(|line| line.trim_start_matches("\"sk\":"))
                    .collect::<Vec<_>>()
                    .join("")
            })
            .collect()
    };
    assert_eq!(
        sorts(
            "SELECT sk FROM Tab WHERE pk IN ['o', 'p'] ORDER BY pk DESC",
            2
        ),
        ["21", "32", "1"]
    );
    assert_eq!(
        sorts("SELECT sk FROM Tab WHERE pk = 'o' AND sk < 3", 1),
        ["1", "2", ""]
    );
    assert_eq!(
        sorts("SELECT sk FROM Tab WHERE pk = 'o' AND sk <> 2", 2),
        ["1", "3"]
    );
    assert_eq!(
        sorts("SELECT sk FROM Tab WHERE pk = 'o' AND sk IN [3, 1, 9]", 1),
        ["1", "3", ""]
    );
    assert_eq!(
        sorts("SELECT sk FROM Tab WHERE pk = 'o' AND sk = 1", 1),
        ["1"]
    );
    let statement = "SELECT sk FROM Tab WHERE pk = 'o'";
    let first = control.ok(
        "ExecuteStatement",
        json!({ "Statement": statement, "Limit": 1 }),
    );
    assert_eq!(
        first["LastEvaluatedKey"],
        json!({ "pk": { "S": "o" }, "sk": { "N": "1" } })
    );
    let token = first["NextToken"].clone();
    let other = json!({ "Statement": "SELECT sk FROM Tab WHERE pk = 'p'", "NextToken": token });
    control.fails(
        "ExecuteStatement",
        other,
        "NextToken does not match request",
    );
    for bad in ["x", "AAAA"] {
        control.fails(
            "ExecuteStatement",
            json!({ "Statement": statement, "NextToken": bad }),
            "Invalid NextToken",
        );
    }
}

#[test]
fn a_page_holds_one_megabyte_over_all_its_reads() {
    let control = tab();
    for pk in ["a", "b", "c"] {
        for sk in 1..=2 {
            let item = json!({ "pk": { "S": pk }, "sk": { "N": sk.to_string() }, "x": { "S": "x".repeat(300_000) } });
            control.put("Tab", item);
        }
    }
    let statement = "SELECT pk, sk FROM Tab WHERE pk IN ['a', 'b', 'c'] ORDER BY pk, sk";
    let counts: Vec<usize> = pages(&control, statement, 1000)
        .iter()
        .map(Vec::len)
        .collect();
    // The fourth item reaches the end, and is of the page.
    assert_eq!(counts, [4, 2]);
}

#[test]
fn statements_and_their_members_have_limits() {
    let control = tab();
    let one = |body: Value, text: &str| control.fails("ExecuteStatement", body, text);
    let long = "x".repeat(8193);
    let text = "failed to satisfy constraint: Member must have length";
    one(
        json!({ "Statement": "" }),
        &format!(
            "1 validation error detected: Value '' at 'statement' {text} greater than or equal to 1"
        ),
    );
    one(
        json!({ "Statement": long }),
        &format!(
            "1 validation error detected: Value '{long}' at 'statement' {text} less than or equal to 8192"
        ),
    );
    one(
        json!({}),
        "1 validation error detected: Value null at 'statement' failed to satisfy constraint: Member must not be null",
    );
    one(
        json!({ "Statement": "x", "Parameters": [] }),
        &format!(
            "1 validation error detected: Value '[]' at 'parameters' {text} greater than or equal to 1"
        ),
    );
    one(
        json!({ "Statement": "x", "Limit": 0 }),
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
    );
    let duplicates =
        "One or more parameter values were invalid: Input collection [a, a] contains duplicates.";
    one(
        json!({ "Statement": "UPDATE Tab SET WHERE", "Parameters": [{ "SS": ["a", "a"] }] }),
        duplicates,
    );
    let count = "Number of parameters in request and statement don't match.";
    one(
        json!({ "Statement": "SELECT * FROM Tab WHERE pk = ?" }),
        count,
    );
    one(
        json!({ "Statement": "SELECT * FROM Tab WHERE pk = 'a'", "Parameters": [{ "S": "a" }] }),
        count,
    );
    let many = vec![json!({ "Statement": "SELECT * FROM Tab" }); 26];
    let refused = control
        .call("BatchExecuteStatement", json!({ "Statements": many }))
        .unwrap_err();
    assert!(
        refused.ends_with("at 'statements' failed to satisfy constraint: Member must have length less than or equal to 25"),
        "{refused}"
    );
}

/// What each statement of a batch answers: its table and its item, or the error's code and text.
fn batch(control: &Control, statements: &[&str]) -> Vec<String> {
    let members: Vec<Value> = statements
        .iter()
        .map(|statement| json!({ "Statement": statement }))
        .collect();
    let answer = control.ok("BatchExecuteStatement", json!({ "Statements": members }));
    let shown = |response: &Value| match response.get("Error") {
        Some(error) => format!(
            "{} {}",
            error["Code"].as_str().unwrap(),
            error["Message"].as_str().unwrap()
        ),
        None => format!(
            "{} {}",
            response["TableName"].as_str().unwrap(),
            response.get("Item").map(line).unwrap_or_default()
        ),
    };
    answer["Responses"]
        .as_array()
        .unwrap()
        .iter()
        .map(shown)
        .collect()
}

#[test]
fn batches_answer_each_statement() {
    let control = with(&[r#""pk":"a","sk":1,"x":"y""#, r#""pk":"a","sk":2"#]);
    let read_key = "ValidationError Select statements within BatchExecuteStatement must specify the primary key in the where clause.";
    let reads = batch(
        &control,
        &[
            "SELECT * FROM Tab WHERE pk = 'a' AND sk = 1",
            "SELECT x FROM Tab WHERE pk IN ['a'] AND sk = 2",
            "SELECT * FROM Tab WHERE pk = 'a' AND sk = 9",
            "SELECT * FROM Tab WHERE pk = 'a'",
            "SELECT * FROM Tab WHERE pk = 'a' AND sk = 3 AND x = 'y'",
            "SLECT",
            "SELECT * FROM Nope WHERE pk = 'a'",
            "SELECT * FROM Tab.\"all\" WHERE g = 'x'",
            "SELECT * FROM Tab.\"none\" WHERE g = 'x'",
            "SELECT sk, sk FROM Tab WHERE pk = 'a' AND sk = 4",
        ],
    );
    let malformed = "ValidationError Statement wasn't well formed, can't be processed: Expected data manipulation";
    assert_eq!(
        reads,
        [
            r#"Tab "pk":"a","sk":1,"x":"y""#,
            "Tab ",
            "Tab ",
            read_key,
            read_key,
            malformed,
            "ResourceNotFound Requested resource not found",
            read_key,
            "ValidationError The table does not have the specified index",
            "ValidationError Duplicate identifiers in select clause: sk",
        ]
    );
    let writes = batch(
        &control,
        &[
            "INSERT INTO Tab VALUE {'pk': 'b', 'sk': 1}",
            "INSERT INTO Tab VALUE {'pk': 'a', 'sk': 1}",
            "UPDATE Tab SET x = 'z' WHERE pk = 'a' AND sk = 2 RETURNING MODIFIED NEW *",
            "UPDATE Tab SET x = 'z' WHERE pk = 'a' AND sk = 9",
            "DELETE FROM Tab WHERE pk = 'c' AND sk = 1 RETURNING ALL OLD *",
            "DELETE FROM Tab WHERE pk = 'x' AND sk = 1 RETURNING ALL NEW *",
            "EXISTS(SELECT * FROM Tab WHERE pk = 'a' AND sk = 1 AND x = 'y')",
            "INSERT INTO Tab VALUE {'pk': 'b'}",
        ],
    );
    assert_eq!(
        writes,
        [
            "Tab ",
            "DuplicateItem Duplicate primary key exists in table",
            r#"Tab "x":"z""#,
            "ConditionalCheckFailed The conditional request failed",
            "Tab ",
            "ValidationError Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
            "ValidationError EXISTS can only be used in ExecuteTransaction write requests.",
            "ValidationError One or more parameter values were invalid: Missing the key sk in the item",
        ]
    );
    assert_eq!(
        all(&control),
        [
            r#""pk":"a","sk":1,"x":"y""#,
            r#""pk":"a","sk":2,"x":"z""#,
            r#""pk":"b","sk":1"#
        ]
    );
    let whole = |statements: &[&str], text: &str| {
        let members: Vec<Value> = statements
            .iter()
            .map(|statement| json!({ "Statement": statement }))
            .collect();
        control.fails(
            "BatchExecuteStatement",
            json!({ "Statements": members }),
            text,
        );
    };
    let (read, write) = (
        "SELECT * FROM Tab WHERE pk = 'a' AND sk = 1",
        "DELETE FROM Tab WHERE pk = 'a' AND sk = 1",
    );
    whole(
        &[read, write],
        "Read and write requests together in the same batch is not supported.",
    );
    whole(
        &[read, read],
        "Provided list of item keys contains duplicates",
    );
    whole(
        &[write, "UPDATE Tab SET x = 1 WHERE sk = 1.0 AND pk = 'a'"],
        "Provided list of item keys contains duplicates",
    );
    let asked = json!({
        "Statements": [
            { "Statement": "UPDATE Tab SET x = 1 WHERE pk = 'a' AND sk = 1 AND x = 'no'", "ReturnValuesOnConditionCheckFailure": "ALL_OLD" },
            { "Statement": "INSERT INTO Tab VALUE {'pk': 'n', 'sk': ?}", "Parameters": [{ "SS": [] }] },
        ],
        "ReturnConsumedCapacity": "TOTAL",
    });
    let answer = control.ok("BatchExecuteStatement", asked);
    assert_eq!(
        answer["Responses"][0]["Error"]["Item"]["x"],
        json!({ "S": "y" })
    );
    assert_eq!(
        answer["Responses"][1]["Error"]["Message"],
        json!("One or more parameter values were invalid: An string set  may not be empty")
    );
    assert_eq!(
        answer["ConsumedCapacity"],
        json!([{ "TableName": "Tab", "CapacityUnits": 1.0 }])
    );
}

/// The codes of the reasons for which a transaction was cancelled, or its text.
fn transaction(control: &Control, statements: &[&str]) -> Result<Value, String> {
    let members: Vec<Value> = statements
        .iter()
        .map(|statement| json!({ "Statement": statement }))
        .collect();
    let call = control.answer(
        "ExecuteTransaction",
        json!({ "TransactStatements": members }),
    );
    match call {
        Ok(body) => Ok(serde_json::from_slice(&body).unwrap()),
        Err(failure) => {
            let body: Value = serde_json::from_slice(&failure.error_body(None).json()).unwrap();
            Err(match body["CancellationReasons"].as_array() {
                Some(reasons) => {
                    let shown = |reason: &Value| {
                        format!(
                            "{}{}",
                            reason["Code"].as_str().unwrap(),
                            reason["Message"]
                                .as_str()
                                .map(|text| format!(": {text}"))
                                .unwrap_or_default()
                        )
                    };
                    reasons.iter().map(shown).collect::<Vec<_>>().join("; ")
                }
                None => body["message"].as_str().unwrap().to_owned(),
            })
        }
    }
}

#[test]
fn transactions_read_or_write_together() {
    let control = with(&[r#""pk":"a","sk":1,"x":"y""#, r#""pk":"a","sk":2"#]);
    let fails = |statements: &[&str], expected: &str| {
        assert_eq!(
            transaction(&control, statements),
            Err(expected.to_owned()),
            "{statements:?}"
        )
    };
    let first = |text: &str| format!("Validation failed in TransactStatements[0]: {text}");
    let (read, update) = (
        "SELECT x FROM Tab WHERE pk = 'a' AND sk = 1",
        "UPDATE Tab SET x = 1 WHERE pk = 'a' AND sk = 1",
    );
    let read_key = first(
        "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
    );
    assert_eq!(
        transaction(
            &control,
            &[read, "SELECT * FROM Tab WHERE pk = 'n' AND sk = 1"]
        ),
        Ok(json!({ "Responses": [{ "Item": { "x": { "S": "y" } } }, {}] }))
    );
    fails(&["SELECT * FROM Tab WHERE pk = 'a'"], &read_key);
    fails(
        &["SELECT * FROM Tab WHERE pk = 'a' AND sk = 1 AND x = 'y'"],
        &read_key,
    );
    fails(
        &["SELECT * FROM Tab.\"all\" WHERE g = 'x'"],
        &first("Reads on indices are not supported within transactions."),
    );
    fails(
        &[read, "SELECT * FROM Tab WHERE sk = 1 AND pk = 'a'"],
        "Transaction request cannot include multiple operations on one item",
    );
    let mismatch = "ValidationError: The provided key element does not match the schema";
    fails(
        &[read, read, "SELECT * FROM Tab WHERE pk = 1 AND sk = 1"],
        &format!("None; None; {mismatch}"),
    );
    let missing = "Requested resource not found";
    fails(&[read, "SELECT * FROM Nope.\"i\" WHERE pk = 'a'"], missing);
    fails(
        &[read, update],
        "ExecuteTransaction API does not support both read and write operations in the same request.",
    );
    fails(
        &[&format!("{update} RETURNING ALL NEW *")],
        &first("RETURNING clause is not supported in ExecuteTransaction."),
    );
    fails(
        &["SELECT * FROM Tab WHERE"],
        &first("Statement wasn't well formed, can't be processed: Unexpected term"),
    );
    fails(
        &[update, update],
        "Transaction request cannot include multiple operations on one item",
    );
    fails(
        &[
            "UPDATE Nope SET x = 1 WHERE pk = 'a' RETURNING ALL NEW *",
            "DELETE FROM Tab WHERE pk = 'a' AND sk = 1",
        ],
        missing,
    );
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk";
    fails(
        &[update, "INSERT INTO Tab VALUE {'pk': '', 'sk': 1}"],
        empty,
    );
    fails(&["SELECT * FROM Tab WHERE pk = '' AND sk = 1", read], empty);
    fails(
        &[
            "INSERT INTO Tab VALUE {'pk': 'i', 'sk': 1, 'g': ''}",
            update,
        ],
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: all, IndexKey: g",
    );
    fails(
        &[
            "UPDATE Tab SET x = 1 WHERE pk = 'a'",
            "DELETE FROM Tab WHERE pk = 'a' AND sk = 'x'",
            update,
        ],
        &format!("{mismatch}; {mismatch}; None"),
    );
    fails(
        &["INSERT INTO Tab VALUE {'pk': 'b'}"],
        &format!("ValidationError: {IV}Missing the key sk in the item"),
    );
    fails(
        &[
            "INSERT INTO Tab VALUE {'pk': 'a', 'sk': 1}",
            "DELETE FROM Tab WHERE pk = 'a' AND sk = 2",
        ],
        "DuplicateItem: Duplicate primary key exists in table; None",
    );
    let failed = "ConditionalCheckFailed: The conditional request failed";
    fails(
        &[
            "UPDATE Tab SET x = 1 WHERE pk = 'n' AND sk = 1",
            "DELETE FROM Tab WHERE pk = 'a' AND sk = 1 AND x = 'n'",
        ],
        &format!("{failed}; {failed}"),
    );
    let exists =
        |clause: &str| format!("EXISTS(SELECT * FROM Tab WHERE pk = 'a' AND sk = 2{clause})");
    fails(
        &[&exists(""), update],
        &first("EXISTS() must contain a single item read with additional condition"),
    );
    fails(
        &[&exists(" AND x = 'y'"), update],
        &format!("{failed}; None"),
    );
    fails(
        &[&exists(" AND pk = 'b'"), update],
        &format!("{failed}; None"),
    );
    assert_eq!(
        all(&control),
        [r#""pk":"a","sk":1,"x":"y""#, r#""pk":"a","sk":2"#]
    );
    let done = transaction(
        &control,
        &[
            &exists(" AND x IS MISSING"),
            update,
            "INSERT INTO Tab VALUE {'pk': 'b', 'sk': 1}",
            "DELETE FROM Tab WHERE pk = 'n' AND sk = 1 AND x = 'y'",
        ],
    );
    assert_eq!(done, Ok(json!({ "Responses": [] })));
    assert_eq!(
        all(&control),
        [
            r#""pk":"a","sk":1,"x":1"#,
            r#""pk":"a","sk":2"#,
            r#""pk":"b","sk":1"#
        ]
    );
}

#[test]
fn tokens_of_transactions_and_what_they_cost() {
    let control = with(&[r#""pk":"a","sk":1,"n":1"#]);
    let call = |statement: &str| {
        let body = json!({
            "TransactStatements": [{ "Statement": statement }],
            "ClientRequestToken": "t",
            "ReturnConsumedCapacity": "TOTAL",
        });
        control
            .call("ExecuteTransaction", body)
            .map(|answer| answer["ConsumedCapacity"][0].clone())
    };
    let update = "UPDATE Tab SET n = n + 1 WHERE pk = 'a' AND sk = 1";
    let units = |kind: &str| json!({ "TableName": "Tab", "CapacityUnits": 2.0, kind: 2.0 });
    assert_eq!(call(update), Ok(units("WriteCapacityUnits")));
    assert_eq!(call(update), Ok(units("ReadCapacityUnits")));
    assert_eq!(all(&control), [r#""pk":"a","sk":1,"n":2"#]);
    let other = call("UPDATE Tab SET n = n + 2 WHERE pk = 'a' AND sk = 1").unwrap_err();
    assert!(other.contains("idempotent token"), "{other}");
}

#[test]
fn writes_by_statement_are_in_indexes_and_streams() {
    let control = tab();
    let stream = json!({ "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" });
    control.ok(
        "UpdateTable",
        json!({ "TableName": "Tab", "StreamSpecification": stream }),
    );
    check(
        &control,
        "INSERT INTO Tab VALUE {'pk': 'a', 'sk': 1, 'g': 'x'}",
        &[],
    );
    check(
        &control,
        "UPDATE Tab SET g = 'z' WHERE pk = 'a' AND sk = 1",
        &[],
    );
    check(&control, "SELECT pk FROM Tab.\"all\" WHERE g = 'x'", &[]);
    check(
        &control,
        "SELECT pk FROM Tab.\"all\" WHERE g = 'z'",
        &[r#""pk":"a""#],
    );
    check(&control, "DELETE FROM Tab WHERE pk = 'a' AND sk = 1", &[]);
    let arn =
        control.ok("ListStreams", json!({ "TableName": "Tab" }))["Streams"][0]["StreamArn"].clone();
    let shard =
        control.ok("DescribeStream", json!({ "StreamArn": arn }))["StreamDescription"]["Shards"][0]
            ["ShardId"]
            .clone();
    let iterator = control.ok(
        "GetShardIterator",
        json!({ "StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON" }),
    );
    let records = control.ok(
        "GetRecords",
        json!({ "ShardIterator": iterator["ShardIterator"] }),
    );
    let events: Vec<&str> = records["Records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["eventName"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["INSERT", "MODIFY", "REMOVE"]);
}

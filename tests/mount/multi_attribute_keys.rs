//! Global indexes with four HASH and four RANGE attributes, end to end (docs/dynamodb.md 9.2): the API and a mount.

use crate::support::control::Control;
use crate::support::mounted::{Mount, put};
use ddbfs::codec::json::document::Document;
use ddbfs::codec::wire;
use serde_json::{Value, json};

const HASHES: [&str; 4] = ["h1", "h2", "h3", "h4"];
const RANGES: [&str; 4] = ["r1", "r2", "r3", "r4"];

/// Returns `Wide` with the index `all` of four and four attributes; `h2` and `r3` are numbers, `r4`
/// is binary.
fn wide() -> Value {
    let kind = |name: &str| match name {
        "h2" | "r3" => "N",
        "r4" => "B",
        _ => "S",
    };
    let names = HASHES.iter().chain(&RANGES);
    let mut definitions: Vec<Value> = names
        .map(|name| json!({ "AttributeName": name, "AttributeType": kind(name) }))
        .collect();
    definitions.push(json!({ "AttributeName": "pk", "AttributeType": "S" }));
    json!({
        "TableName": "Wide", "AttributeDefinitions": definitions, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        "GlobalSecondaryIndexes": [{
            "IndexName": "all", "KeySchema": key(&HASHES, &RANGES), "Projection": { "ProjectionType": "KEYS_ONLY" },
        }],
    })
}

fn key(hashes: &[&str], ranges: &[&str]) -> Value {
    let element = |key_type: &'static str| move |name: &&str| json!({ "AttributeName": name, "KeyType": key_type });
    hashes
        .iter()
        .map(element("HASH"))
        .chain(ranges.iter().map(element("RANGE")))
        .collect()
}

fn item(pk: &str, ranges: (&str, &str, u32)) -> Value {
    json!({
        "pk": { "S": pk }, "h1": { "S": "a" }, "h2": { "N": "1" }, "h3": { "S": "c" }, "h4": { "S": "d" },
        "r1": { "S": ranges.0 }, "r2": { "S": ranges.1 }, "r3": { "N": ranges.2.to_string() }, "r4": { "B": "AQ==" },
        "x": { "S": "not projected" },
    })
}

fn filled() -> Control {
    let control = Control::new();
    control.ok("CreateTable", wide());
    for (pk, ranges) in [
        ("1", ("a", "x", 1)),
        ("2", ("a", "x", 2)),
        ("3", ("a", "xy", 10)),
        ("4", ("b", "x", 1)),
    ] {
        control.put("Wide", item(pk, ranges));
    }
    let mut sparse = item("5", ("a", "x", 1));
    sparse.as_object_mut().unwrap().remove("h3");
    control.put("Wide", sparse);
    control
}

/// Returns `h1 = :h1 AND …` with the condition, the values of all HASH attributes, and the given
/// ones.
fn query(condition: &str, values: Value) -> Value {
    let mut all = json!({ ":h1": { "S": "a" }, ":h2": { "N": "1" }, ":h3": { "S": "c" }, ":h4": { "S": "d" } });
    all.as_object_mut()
        .unwrap()
        .extend(values.as_object().unwrap().clone());
    let hashes = "h4 = :h4 AND h1 = :h1 AND h2 = :h2 AND h3 = :h3";
    json!({
        "TableName": "Wide", "IndexName": "all", "KeyConditionExpression": format!("{hashes}{condition}"),
        "ExpressionAttributeValues": all,
    })
}

#[test]
fn they_are_queried_from_the_left() {
    let control = filled();
    let check = |condition: &str, values: Value, expected: &[&str]| {
        let found = control.ok("Query", query(condition, values));
        let keys: Vec<&str> = found["Items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["pk"]["S"].as_str().unwrap())
            .collect();
        assert_eq!(keys, expected, "{condition}");
        assert!(
            found["Items"]
                .as_array()
                .unwrap()
                .iter()
                .all(|item| item.as_object().unwrap().len() == 9)
        );
    };
    check("", json!({}), &["1", "2", "3", "4"]);
    check(
        " AND r1 = :a",
        json!({ ":a": { "S": "a" } }),
        &["1", "2", "3"],
    );
    check(" AND r1 > :a", json!({ ":a": { "S": "a" } }), &["4"]);
    check(
        " AND r1 = :a AND begins_with(r2, :x)",
        json!({ ":a": { "S": "a" }, ":x": { "S": "x" } }),
        &["1", "2", "3"],
    );
    check(
        " AND r1 = :a AND r2 = :x",
        json!({ ":a": { "S": "a" }, ":x": { "S": "x" } }),
        &["1", "2"],
    );
    let three =
        json!({ ":a": { "S": "a" }, ":x": { "S": "x" }, ":l": { "N": "2" }, ":u": { "N": "9" } });
    check(
        " AND r1 = :a AND r2 = :x AND r3 BETWEEN :l AND :u",
        three,
        &["2"],
    );
    let four = json!({ ":a": { "S": "a" }, ":x": { "S": "x" }, ":n": { "N": "1" }, ":b": { "B": "AQ==" } });
    check(
        " AND r1 = :a AND r2 = :x AND r3 = :n AND r4 <= :b",
        four,
        &["1"],
    );
}

#[test]
fn gaps_and_missing_hash_attributes_are_refused() {
    let control = filled();
    let mut gap = query(" AND r2 = :x", json!({ ":x": { "S": "x" } }));
    let text = "RANGE key attributes r1 must have equality conditions specified in the query because a condition is present on key attribute r2";
    control.fails("Query", gap.clone(), text);
    gap["KeyConditionExpression"] = json!("h1 = :h1");
    gap["ExpressionAttributeValues"] = json!({ ":h1": { "S": "a" } });
    control.fails(
        "Query",
        gap,
        "HASH key attributes h2, h3, h4 must have equality conditions specified in the query",
    );
}

#[test]
fn cursors_hold_every_key_attribute_and_go_on_exactly() {
    let control = filled();
    for operation in ["Query", "Scan"] {
        let mut request = match operation {
            "Query" => query("", json!({})),
            _ => json!({ "TableName": "Wide", "IndexName": "all" }),
        };
        request["Limit"] = json!(1);
        let mut seen = Vec::new();
        loop {
            let page = control.ok(operation, request.clone());
            seen.extend(
                page["Items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item["pk"]["S"].as_str().unwrap().to_owned()),
            );
            let last = page["LastEvaluatedKey"].clone();
            if last.is_null() {
                break;
            }
            assert_eq!(last.as_object().unwrap().len(), 9, "{last}");
            request["ExclusiveStartKey"] = last;
        }
        assert_eq!(seen, ["1", "2", "3", "4"], "{operation}");
    }
    let mut request = query("", json!({}));
    request["ExclusiveStartKey"] = json!({ "pk": { "S": "1" } });
    assert!(
        control
            .call("Query", request)
            .unwrap_err()
            .starts_with("The provided starting key is invalid")
    );
}

#[test]
fn they_are_described_and_checked() {
    let control = filled();
    let index = &control.describe("Wide")["GlobalSecondaryIndexes"][0];
    assert_eq!(index["KeySchema"], key(&HASHES, &RANGES));
    assert_eq!(index["ItemCount"], 4);
    let report = ddbfs::engine::check::check(control.database.engine()).unwrap();
    assert!(report.differences.is_empty(), "{report:?}");

    let mut five = wide();
    five["TableName"] = json!("Five");
    five["AttributeDefinitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "AttributeName": "h5", "AttributeType": "S" }));
    five["GlobalSecondaryIndexes"][0]["KeySchema"] =
        key(&["h1", "h2", "h3", "h4", "h5"], &RANGES[..3]);
    five["AttributeDefinitions"]
        .as_array_mut()
        .unwrap()
        .retain(|of| of["AttributeName"] != "r4");
    control.fails(
        "CreateTable",
        five,
        "IV: The KeySchema exceeds the maximum allowed number of HASH key attributes",
    );
}

#[test]
fn a_mount_names_them_by_all_their_values() {
    let mount = Mount::with_tables();
    mount
        .db
        .create_table(wire::request(Document::from_value(&wide()).root()).unwrap())
        .unwrap();
    put(
        &*mount.db,
        "Wide",
        r#"{"pk":"1","h1":"a,b","h2":1,"h3":"c","h4":"d","r1":"x/y","r2":"z","r3":2.5,"r4":{"$b64":"AQ=="}}"#,
    );
    let names = mount.sh("cd Wide/gsi/all/items && ls && ls *");
    assert_eq!(names.ok(), "a%2Cb,1,c,d\nx%2Fy,z,2.5,%01,1.json\n");
    assert_eq!(
        mount.sh("jq -r .pk Wide/gsi/all/items/*/*.json").ok(),
        "1\n"
    );
    assert_eq!(
        mount
            .sh("cat 'Wide/gsi/all/query/h1=a%2Cb/h2=1/h3=c/h4=d/r1=x%2Fy/count'")
            .ok(),
        "1\n"
    );
    mount.end();
}

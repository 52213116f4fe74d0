//! The tables of expressions (`tests/golden`, docs/dynamodb.md B.1 to B.4) over HTTP.

use std::path::Path;

use ddbfs::codec::dynamodb_json;
use serde_json::{Value, json};

use super::*;
use crate::support::engine::placeholders_of;
use crate::support::golden_file::{Asked, File, parts};

/// A section of a file below `tests/golden`; with no title all of the file.
fn asked(file: &str, title: &str) -> Vec<Asked> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    let whole = File::read(&path);
    let found: Vec<Asked> = whole
        .sections()
        .into_iter()
        .filter(|(its, _)| its.starts_with(title))
        .flat_map(|(_, asked)| asked)
        .collect();
    assert!(!found.is_empty(), "{file}: {title}");
    found
}

/// Plain JSON as DynamoDB JSON.
fn typed(plain: &str) -> Value {
    let mut out = Vec::new();
    dynamodb_json::write_item(&crate::support::engine::json(plain), &mut out);
    parse(&String::from_utf8(out).unwrap())
}

/// The item with the key `k`, 1 and these attributes of plain JSON.
fn keyed(plain: &str) -> Value {
    with(item("k", 1, ""), typed(plain))
}

/// The request with the placeholders of plain JSON.
fn with_placeholders(request: Value, plain: &str) -> Value {
    let given = placeholders_of(plain);
    let values = given.values.map(|values| {
        let mut out = Vec::new();
        dynamodb_json::write_item(&ddbfs::model::Item(values.into_iter().collect()), &mut out);
        parse(&String::from_utf8(out).unwrap())
    });
    with(
        request,
        json!({"ExpressionAttributeNames": given.names, "ExpressionAttributeValues": values}),
    )
}

/// A validation error that ends with this text.
fn refused(service: &Service, operation: &str, request: &Value, text: &str) {
    let found = service.outcome(operation, request);
    assert!(
        found.starts_with("Validation: ") && found.ends_with(text),
        "{operation} {request}\n   found: {found}\nexpected: {text}"
    );
}

#[test]
fn conditions_hold_for_checks_and_deletes_as_for_scans() {
    let service = Service::new();
    let mut whole = Value::Null;
    for Asked { word, rest, answer } in asked("expressions/conditions.golden", "") {
        if word == "item" {
            whole = keyed(&rest);
            service.put(&whole);
            continue;
        }
        let [condition, values] = parts(&rest);
        if whole == key("k", 1) {
            // What is no item has no key either.
            continue;
        }
        let members = with_placeholders(json!({"TableName": "Tab"}), &values);
        let scan = with(members.clone(), json!({"FilterExpression": condition}));
        let check = with(
            members,
            json!({"Key": key("k", 1), "ConditionExpression": condition}),
        );
        let transaction = json!({"TransactItems": [{"ConditionCheck": check}]});
        if let Some(text) = answer.strip_prefix("error: ") {
            let all = [
                ("Scan", &scan),
                ("DeleteItem", &check),
                ("TransactWriteItems", &transaction),
            ];
            all.iter().for_each(|(operation, request)| {
                service.check(operation, request, &format!("~{text}"))
            });
            continue;
        }
        let holds = answer == "true";
        assert_eq!(
            service.ok("Scan", scan)["Count"],
            u8::from(holds),
            "{condition}"
        );
        service.check(
            "TransactWriteItems",
            &transaction,
            if holds {
                "OK"
            } else {
                "~[ConditionalCheckFailed]"
            },
        );
        // Put back what a true condition deletes.
        service.check(
            "DeleteItem",
            &check,
            if holds {
                "OK"
            } else {
                "ConditionalCheckFailed: The conditional request failed"
            },
        );
        service.put(&whole);
    }
}

#[test]
fn updates_change_the_item_or_nothing() {
    let service = Service::new();
    let created = "an update creates what is not there";
    for Asked { word, rest, answer } in asked("expressions/updates.golden", "")
        .into_iter()
        .chain(asked("engine/updates.golden", created))
    {
        assert_eq!(word, "update");
        let [before, update, values] = parts(&rest);
        match before.as_str() {
            "-" => drop(service.ok(
                "DeleteItem",
                json!({"TableName": "Tab", "Key": key("k", 1)}),
            )),
            attributes => service.put(&keyed(attributes)),
        }
        let unchanged = service.get("k", 1);
        // An expression that is empty is not the same as none.
        let expression = (!update.is_empty() || answer.starts_with("error")).then_some(update);
        let request = with(
            json!({"TableName": "Tab", "Key": key("k", 1)}),
            json!({"UpdateExpression": expression}),
        );
        let request = with_placeholders(request, &values);
        let expected = match (answer.strip_prefix("error: "), answer.as_str()) {
            (Some(text), _) => {
                refused(&service, "UpdateItem", &request, text);
                unchanged
            }
            (None, after) => {
                service.check("UpdateItem", &request, "OK");
                if after == "-" {
                    Value::Null
                } else {
                    keyed(after)
                }
            }
        };
        assert_eq!(service.get("k", 1), expected, "{rest}");
    }
}

#[test]
fn projections_of_gets_and_scans() {
    let service = Service::new();
    for Asked { word, rest, answer } in asked("expressions/projections.golden", "") {
        if word == "item" {
            service.put(&keyed(&rest));
            continue;
        }
        let [paths, names] = parts(&rest);
        let scan = with_placeholders(
            json!({"TableName": "Tab", "ProjectionExpression": paths}),
            &names,
        );
        let get = with(scan.clone(), json!({"Key": key("k", 1)}));
        match answer.strip_prefix("error: ") {
            Some(text) => refused(&service, "GetItem", &get, text),
            None => {
                assert_eq!(
                    service.ok("GetItem", get)["Item"],
                    typed(&answer),
                    "{paths}"
                );
                assert_eq!(
                    service.ok("Scan", scan)["Items"],
                    json!([typed(&answer)]),
                    "{paths}"
                );
            }
        }
    }
}

/// Is this sort key in the range that the answer tells behind the partition key?
fn is_told(answer: &str, sk: u32) -> bool {
    let words: Vec<&str> = answer.split(' ').skip(1).collect();
    let number = |text: &str| text.parse::<u32>().unwrap();
    match words[..] {
        [] => true,
        ["=", bound] => sk == number(bound),
        ["<=", bound] => sk <= number(bound),
        [">", bound] => sk > number(bound),
        [low, "to", high] => (number(low)..=number(high)).contains(&sk),
        _ => panic!("{answer}"),
    }
}

#[test]
fn key_conditions_of_queries() {
    let service = Service::new();
    (1..=5).for_each(|sk| service.put(&item("p", sk, "")));
    let all = asked("expressions/keys.golden", "");
    let values = &all
        .iter()
        .find(|asked| asked.word == "values")
        .unwrap()
        .rest;
    for Asked {
        word,
        rest: condition,
        answer,
    } in asked(
        "expressions/keys.golden",
        "a table with a sort key that is a number",
    ) {
        if word != "key" {
            continue;
        }
        // Placeholders that are not used are refused.
        let is_used = |alias: &str| {
            condition
                .split(|c: char| !c.is_alphanumeric() && c != ':' && c != '#')
                .any(|word| word == alias)
        };
        let used = crate::support::engine::json(values)
            .0
            .into_iter()
            .filter(|(alias, _)| is_used(alias));
        let used = crate::support::engine::line(&ddbfs::model::Item(used.collect()));
        let request = with_placeholders(
            json!({"TableName": "Tab", "KeyConditionExpression": condition.trim()}),
            &used,
        );
        match answer.strip_prefix("error: ") {
            Some(text) => refused(&service, "Query", &request, text),
            None => {
                let expected: Vec<Value> = (1..=5)
                    .filter(|sk| is_told(&answer, *sk))
                    .map(|sk| key("p", sk))
                    .collect();
                assert_eq!(
                    service.ok("Query", request)["Items"],
                    json!(expected),
                    "{condition}"
                );
            }
        }
    }
}

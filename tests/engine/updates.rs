//! UpdateItem (docs/dynamodb.md 12.3, 7.11, 9.4, 5.2, 10.5).

use crate::support::engine::{get, json, line, placeholders_of, put, s, scan_request, tab, table, x};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::check::check as check_store;
use ddbfs::model::api::legacy::AttributeUpdate;
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Error, Item};

const KEY: &str = r#""pk":"k","sk":1"#;
const IV: &str = "One or more parameter values were invalid: ";

fn request(update: &str, values: &str) -> UpdateItemRequest {
    let update = if update.is_empty() { UpdateParameter::None } else { UpdateParameter::Expression(update.to_owned()) };
    UpdateItemRequest::new(table("Tab"), json(KEY), update, placeholders_of(values))
}

/// A database with an item of these attributes beside its key; with no item for `-`.
fn with_item(old: &str) -> LocalDatabase {
    let database = tab();
    match old {
        "-" => {}
        "" => drop(put(&database, "Tab", json(KEY)).unwrap()),
        old => drop(put(&database, "Tab", json(&format!("{KEY},{old}"))).unwrap()),
    }
    database
}

/// The attributes of the item beside its key; `-` when there is none.
fn now(database: &LocalDatabase) -> String {
    let Some(mut item) = get(database, "Tab", json(KEY)) else { return "-".to_owned() };
    item.0.retain(|name, _| name != "pk" && name != "sk");
    line(&item).trim_start_matches('{').trim_end_matches('}').to_owned()
}

/// The item afterwards, or the text of the error and then the item is as it was.
#[track_caller]
fn check(old: &str, update: &str, values: &str, expected: &str) {
    let database = with_item(old);
    let before = now(&database);
    let outcome = database.update_item(request(update, values));
    let found = match &outcome {
        Ok(_) => now(&database),
        Err(error) => {
            assert_eq!(now(&database), before);
            error.to_string().replace(IV, "IV: ")
        }
    };
    assert_eq!(found, expected, "{update} on {old}");
    let report = check_store(database.engine()).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn an_update_creates_what_is_not_there_unless_it_only_removes() {
    check("-", "", "", "");
    check("-", "SET n = :v", r#"":v":1"#, r#""n":1"#);
    check("-", "SET n = pk, m = sk", "", r#""m":1,"n":"k""#);
    check("-", "ADD n :v", r#"":v":1"#, r#""n":1"#);
    check("-", "REMOVE n", "", "-");
    check("-", "REMOVE n.o, l[0]", "", "-");
    check("-", "DELETE n :v", r#"":v":{"$ss":["a"]}"#, "-");
    check("-", "REMOVE n DELETE o :v", r#"":v":{"$ss":["a"]}"#, "-");
    check("-", "REMOVE n.o SET p = :v", r#"":v":1"#, r#""p":1"#);
    check("-", "SET n.o = :v", r#"":v":1"#, "The document path provided in the update expression is invalid for update");
    check(r#""n":1"#, "", "", r#""n":1"#);
    check(r#""n":1"#, "REMOVE n", "", "");
}

#[test]
fn keys_are_not_updated() {
    let part = |name: &str| format!("IV: Cannot update attribute {name}. This attribute is part of the key");
    for update in ["SET pk = :v", "REMOVE pk", "ADD pk :v", "SET n = :v, pk = :v", "SET pk.a = :v"] {
        let values = if update.contains(":v") { r#"":v":1"# } else { "" };
        check(r#""n":1"#, update, values, &part("pk"));
    }
    check("-", "DELETE sk :v", r#"":v":{"$ss":["a"]}"#, &part("sk"));
    check("-", "SET sk = :v, pk = :v", r#"":v":1"#, &part("pk"));
    let scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ";
    check("-", "SET n = pk.a", "", &format!("{scalars}Key: pk"));
    check("-", "SET a.n = :v", r#"":v":1"#, &format!("{scalars}IndexKey: a"));
    // The key is judged before the condition.
    let mut refused = request("SET pk = :v", r#"":v":1"#);
    refused.condition = ConditionParameter::Expression("attribute_exists(n)".to_owned());
    assert!(tab().update_item(refused).unwrap_err().to_string().contains("Cannot update attribute pk"));
}

#[test]
fn checks_come_in_their_order() {
    check("-", "SET", "", "Invalid UpdateExpression: Syntax error; token: \"<EOF>\", near: \"SET\"");
    check(
        "-",
        "",
        r#"":v":1"#,
        "ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and ConditionExpression are null",
    );
    check("-", "SET n = :v", r#"":v":1,":w":1"#, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}");
    let mut both = request("SET n = ", "");
    both.condition = ConditionParameter::Expression("((".to_owned());
    assert!(tab().update_item(both.clone()).unwrap_err().to_string().starts_with("Invalid UpdateExpression"));
    both.update = UpdateParameter::Expression("REMOVE n".to_owned());
    assert!(tab().update_item(both.clone()).unwrap_err().to_string().starts_with("Invalid ConditionExpression"));
    both.condition = ConditionParameter::None;
    both.table_name = table("Nothing");
    both.key = json(r#""pk":"k""#);
    assert_eq!(tab().update_item(both.clone()), Err(Error::ResourceNotFound));
    both.table_name = table("Tab");
    assert_eq!(tab().update_item(both).unwrap_err().to_string(), "The provided key element does not match the schema");
}

#[test]
fn the_condition_sees_the_old_item() {
    let run = |old: &str, condition: &str| {
        let database = with_item(old);
        let mut request = request("SET n = :v", r#"":v":2"#);
        request.condition = ConditionParameter::Expression(condition.to_owned());
        request.return_old_on_condition_failure = true;
        (database.update_item(request).map(|_| ()), now(&database))
    };
    assert_eq!(run(r#""n":1"#, "n < :v"), (Ok(()), r#""n":2"#.to_owned()));
    let failed = Error::ConditionalCheckFailed { item: Some(Box::new(json(&format!(r#"{KEY},"n":2"#)))) };
    assert_eq!(run(r#""n":2"#, "n < :v"), (Err(failed), r#""n":2"#.to_owned()));
    assert_eq!(run("-", "n = :v"), (Err(Error::ConditionalCheckFailed { item: None }), "-".to_owned()));
    assert_eq!(run("-", "attribute_not_exists(pk)"), (Ok(()), r#""n":2"#.to_owned()));
}

#[track_caller]
fn check_returned(old: &str, update: &str, values: &str, expected: [&str; 4]) {
    use UpdateReturnValues::{AllNew, AllOld, None, UpdatedNew, UpdatedOld};
    for (asked, expected) in [AllOld, AllNew, UpdatedOld, UpdatedNew].into_iter().zip(expected) {
        let request = UpdateItemRequest { return_values: asked, ..request(update, values) };
        let response = with_item(old).update_item(request).unwrap();
        let found = response.attributes.map_or("-".to_owned(), |item| line(&item));
        let expected = if expected == "-" { "-".to_owned() } else { line(&json(&expected.replace("KEY", KEY))) };
        assert_eq!(found, expected, "{asked:?} {update} on {old}");
    }
    let response = with_item(old).update_item(UpdateItemRequest { return_values: None, ..request(update, values) });
    assert_eq!(response.unwrap().attributes, Option::None);
}

#[test]
fn table_of_return_values() {
    check_returned(
        r#""n":1,"m":2"#,
        "SET n = :v",
        r#"":v":3"#,
        [r#"KEY,"n":1,"m":2"#, r#"KEY,"n":3,"m":2"#, r#""n":1"#, r#""n":3"#],
    );
    check_returned("-", "SET n = :v", r#"":v":3"#, ["-", r#"KEY,"n":3"#, "-", r#""n":3"#]);
    check_returned("-", "", "", ["-", "KEY", "-", "-"]);
    check_returned("-", "REMOVE n", "", ["-", "-", "-", "-"]);
    check_returned(r#""n":1"#, "REMOVE n", "", [r#"KEY,"n":1"#, "KEY", r#""n":1"#, "-"]);
    check_returned(r#""n":1"#, "SET m = n REMOVE n", "", [r#"KEY,"n":1"#, r#"KEY,"m":1"#, r#""n":1"#, r#""m":1"#]);
    let nested = r#""d":{"e":{"f":1,"g":2},"h":3}"#;
    check_returned(
        nested,
        "SET d.e.f = :v",
        r#"":v":9"#,
        [&format!("KEY,{nested}"), r#"KEY,"d":{"e":{"f":9,"g":2},"h":3}"#, r#""d":{"e":{"f":1}}"#, r#""d":{"e":{"f":9}}"#],
    );
    // The element that moved into the place of a removed one; nothing where an element was appended under another index.
    check_returned(r#""l":[1,2,3]"#, "REMOVE l[1]", "", [r#"KEY,"l":[1,2,3]"#, r#"KEY,"l":[1,3]"#, r#""l":[2]"#, r#""l":[3]"#]);
    check_returned(r#""l":[1]"#, "SET l[7] = :v", r#"":v":2"#, [r#"KEY,"l":[1]"#, r#"KEY,"l":[1,2]"#, "-", "-"]);
    check_returned(
        r#""l":[1,2,3]"#,
        "SET l[2] = :v, l[0] = :v",
        r#"":v":9"#,
        [r#"KEY,"l":[1,2,3]"#, r#"KEY,"l":[9,2,9]"#, r#""l":[1,3]"#, r#""l":[9,9]"#],
    );
}

#[test]
fn index_keys_of_an_update() {
    let mismatch = |name: &str, actual: &str, index: &str| {
        format!("IV: Type mismatch for Index Key {name} Expected: S Actual: {actual} IndexName: {index}")
    };
    let empty = "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value.";
    let long = |bytes: usize| format!(r#"":v":"{}""#, "x".repeat(bytes));
    let large = "The update expression attempted to update the secondary index key beyond allowed size limits";
    check("-", "SET a = :v", r#"":v":1"#, &mismatch("a", "N", "glob"));
    check("-", "SET a = :v, b = :v", r#"":v":null"#, &mismatch("a", "NULL", "glob"));
    check("-", "SET b = :v", r#"":v":[]"#, &mismatch("b", "L", "loc"));
    check("-", "ADD b :v", r#"":v":1"#, &mismatch("b", "N", "loc"));
    check("-", "SET a = :v", r#"":v":"""#, empty);
    check("-", "SET a = :v", &long(2049), large);
    check("-", "SET b = :v", &long(1025), large);
    check("-", "SET b = :v", &long(1024), &long(1024).replace(":v", "b"));
    check(r#""a":"x""#, "SET a = :v", r#"":v":"y""#, r#""a":"y""#);
    check(r#""a":"x""#, "REMOVE a", "", "");
}

#[test]
fn an_update_moves_index_entries() {
    let database = with_item(r#""a":"x","b":"1""#);
    let keys = |source: &str| {
        let items = database.scan(&scan_request(source)).unwrap().items.unwrap();
        items.iter().map(line).collect::<Vec<_>>().join(" ")
    };
    database.update_item(request("SET a = :v REMOVE b", r#"":v":"y""#)).unwrap();
    assert_eq!(keys("Tab/glob"), r#"{"pk":"k","sk":1,"a":"y"}"#);
    assert_eq!(keys("Tab/loc"), "");
    database.update_item(request("SET b = a REMOVE a", "")).unwrap();
    assert_eq!(keys("Tab/glob"), "");
    assert_eq!(keys("Tab/loc"), r#"{"pk":"k","sk":1,"b":"y"}"#);
}

#[test]
fn capacity_of_an_update() {
    let units = |old: &str, update: &str, values: &str| {
        let consumed = with_item(old).update_item(request(update, values)).unwrap().consumed_capacity;
        let arm = |arms: &std::collections::BTreeMap<String, f64>| arms.values().copied().next();
        (consumed.table, arm(&consumed.global_indexes), arm(&consumed.local_indexes))
    };
    let long = format!(r#"":v":"{}""#, "x".repeat(3000));
    assert_eq!(units("-", "", ""), (1.0, None, None));
    assert_eq!(units("-", "REMOVE n", ""), (1.0, None, None));
    assert_eq!(units("-", "SET n = :v", &long), (3.0, None, None));
    assert_eq!(units(&long.replace(":v", "n"), "REMOVE n", ""), (3.0, None, None));
    assert_eq!(units(&long.replace(":v", "n"), "SET n = n", ""), (3.0, None, None));
    assert_eq!(units(r#""a":"x""#, "SET a = :v", r#"":v":"y""#), (1.0, Some(2.0), None));
    assert_eq!(units(r#""a":"x","b":"x""#, "SET n = :v", r#"":v":1"#), (1.0, None, None));
    assert_eq!(units(r#""b":"x""#, "REMOVE b", ""), (1.0, None, Some(1.0)));
}

#[test]
fn an_update_that_changes_nothing_keeps_the_version() {
    let database = with_item(r#""n":1,"s":{"$ss":["a","b"]}"#);
    let version = |update: &str, values: &str| database.update_item(request(update, values)).unwrap().version.unwrap();
    let first = version("", "");
    assert_eq!(version("SET n = :v", r#"":v":1.0"#), first);
    assert_eq!(version("ADD s :v", r#"":v":{"$ss":["b"]}"#), first);
    assert_eq!(version("REMOVE gone", ""), first);
    assert!(version("SET n = :v", r#"":v":2"#) > first);
}

#[test]
fn the_size_of_an_update_is_limited() {
    let too_large = Err("Item size to update has exceeded the maximum allowed size".to_owned());
    let run = |update: &str, bytes: usize| {
        let mut request = request(update, "");
        request.placeholders.values = Some([(":v".to_owned(), x(bytes))].into());
        tab().update_item(request).map(|_| ()).map_err(|error| error.to_string())
    };
    // 409,600 less name, three bytes for the statement and 19 for the action.
    assert_eq!(run("SET n = :v", 409_577), Ok(()));
    assert_eq!(run("SET n = :v", 409_578), too_large);
    assert_eq!(run("SET n = :v REMOVE m", 409_575), Ok(()));
    assert_eq!(run("SET n = :v REMOVE m", 409_576), too_large);

    // The finished item has its own limit.
    let database = tab();
    let mut item = json(KEY);
    item.0.insert("m".into(), x(300_000));
    put(&database, "Tab", item).unwrap();
    let mut grown = request("SET n = :v", "");
    grown.placeholders.values = Some([(":v".to_owned(), x(150_000))].into());
    assert_eq!(database.update_item(grown).map(|_| ()).map_err(|error| error.to_string()), too_large);
    // What is read weighs as much where it is written, however often; nothing is copied to find out.
    let copies = |count: usize| (0..count).map(|place| format!("c{place} = m")).collect::<Vec<_>>().join(", ");
    for update in [format!("SET {}", copies(1)), format!("SET {}", copies(400)), "SET c = if_not_exists(d, m)".to_owned()] {
        let found = database.update_item(request(&update, "")).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(found, too_large, "{update}");
    }
    assert_eq!(database.update_item(request("SET c = m REMOVE m", "")).map(|_| ()).map_err(|error| error.to_string()), Ok(()));
}

#[test]
fn nesting_is_limited_after_the_update() {
    // 31 levels.
    let deep = (1..31).fold(s("x"), |inner, _| AttributeValue::L(vec![inner]));
    let run = |path: &str| {
        let database = with_item(r#""m":{"m":{}}"#);
        let mut request = request(&format!("SET {path} = :v"), "");
        request.placeholders.values = Some([(":v".to_owned(), deep.clone())].into());
        database.update_item(request).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(run("m.a"), Ok(()));
    let error = run("m.m.a").unwrap_err();
    assert!(error.starts_with("Nesting Levels have exceeded supported limits"), "{error}");
}

#[test]
fn metrics_and_precondition() {
    let database = with_item(r#""b":"x""#);
    let mut request = request("SET n = :v", r#"":v":1"#);
    request.return_item_collection_metrics = true;
    request.precondition = Some(Precondition::Absent);
    assert_eq!(database.update_item(request.clone()), Err(Error::ConditionalCheckFailed { item: None }));
    request.precondition = None;
    let metrics = database.update_item(request).unwrap().item_collection_metrics.unwrap();
    assert_eq!(metrics.key, Item::from([("pk", s("k"))]));
}

#[test]
fn counters_count_exactly_under_concurrent_updates() {
    let database = tab();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    database.update_item(request("ADD n :v SET m = if_not_exists(m, :z) + :v", r#"":v":1,":z":0"#)).unwrap();
                }
            });
        }
    });
    assert_eq!(now(&database), r#""m":200,"n":200"#);
}

/// Requests that no wire has checked, as the mount's and jobs' are.
#[test]
fn no_route_stores_a_name_that_cannot_be_put_back() {
    let database = with_item("");
    let long = "x".repeat(65_536);
    for (name, text) in [("", "Empty attribute name"), (&long, "Attribute name is too large, must be less than 65536 bytes")] {
        let map = AttributeValue::M([(name.to_owned(), s("x"))].into());
        for (attribute, value) in [(name, s("x")), ("m", map.clone()), ("l", AttributeValue::L(vec![map]))] {
            let mut item = json(KEY);
            item.0.insert(attribute.to_owned(), value.clone());
            let expected = Err(format!("{IV}{text}"));
            assert_eq!(put(&database, "Tab", item.clone()).map(drop).map_err(|error| error.to_string()), expected);
            let writes = TableWrites { table_name: table("Tab"), requests: vec![WriteRequest::Put(item.clone())] };
            let batch = BatchWriteItemRequest {
                request_items: vec![writes],
                return_consumed_capacity: ReturnConsumedCapacity::None,
                return_item_collection_metrics: false,
            };
            assert_eq!(database.batch_write_item(batch).map(drop).map_err(|error| error.to_string()), expected);
            let update = AttributeUpdate { attribute: attribute.to_owned(), value: Some(value), ..AttributeUpdate::default() };
            let mut by_attribute = request("", "");
            by_attribute.update = UpdateParameter::AttributeUpdates(vec![update]);
            assert_eq!(database.update_item(by_attribute).map(drop).map_err(|error| error.to_string()), expected);
        }
    }
    assert_eq!(now(&database), "");
}

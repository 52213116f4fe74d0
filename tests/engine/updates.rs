//! UpdateItem (docs/dynamodb.md 12.3, 7.11, 9.4, 5.2, 10.5).

use crate::support::engine::{
    get, json, line, placeholders_of, put, s, scan_request, tab, table, x,
};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::model::api::common::AttributeUpdate;
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Error, Item};

const KEY: &str = r#""pk":"k","sk":1"#;
const IV: &str = "One or more parameter values were invalid: ";

fn request(update: &str, values: &str) -> UpdateItemRequest {
    let update = if update.is_empty() {
        UpdateParameter::None
    } else {
        UpdateParameter::Expression(update.to_owned())
    };
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
    let Some(mut item) = get(database, "Tab", json(KEY)) else {
        return "-".to_owned();
    };
    item.0.retain(|name, _| name != "pk" && name != "sk");
    line(&item)
        .trim_start_matches('{')
        .trim_end_matches('}')
        .to_owned()
}

#[test]
fn the_key_is_judged_before_the_condition() {
    let mut refused = request("SET pk = :v", r#"":v":1"#);
    refused.condition = ConditionParameter::Expression("attribute_exists(n)".to_owned());
    assert!(
        tab()
            .update_item(refused)
            .unwrap_err()
            .to_string()
            .contains("Cannot update attribute pk")
    );
}

#[test]
fn checks_come_in_their_order() {
    let mut both = request("SET n = ", "");
    both.condition = ConditionParameter::Expression("((".to_owned());
    assert!(
        tab()
            .update_item(both.clone())
            .unwrap_err()
            .to_string()
            .starts_with("Invalid UpdateExpression")
    );
    both.update = UpdateParameter::Expression("REMOVE n".to_owned());
    assert!(
        tab()
            .update_item(both.clone())
            .unwrap_err()
            .to_string()
            .starts_with("Invalid ConditionExpression")
    );
    both.condition = ConditionParameter::None;
    both.table_name = table("Nothing");
    both.key = json(r#""pk":"k""#);
    assert_eq!(
        tab().update_item(both.clone()),
        Err(Error::ResourceNotFound)
    );
    both.table_name = table("Tab");
    assert_eq!(
        tab().update_item(both).unwrap_err().to_string(),
        "The provided key element does not match the schema"
    );
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
    let failed = Error::ConditionalCheckFailed {
        item: Some(Box::new(json(&format!(r#"{KEY},"n":2"#)))),
    };
    assert_eq!(
        run(r#""n":2"#, "n < :v"),
        (Err(failed), r#""n":2"#.to_owned())
    );
    assert_eq!(
        run("-", "n = :v"),
        (
            Err(Error::ConditionalCheckFailed { item: None }),
            "-".to_owned()
        )
    );
    assert_eq!(
        run("-", "attribute_not_exists(pk)"),
        (Ok(()), r#""n":2"#.to_owned())
    );
}

#[test]
fn an_update_moves_index_entries() {
    let database = with_item(r#""a":"x","b":"1""#);
    let keys = |source: &str| {
        let items = database.scan(&scan_request(source)).unwrap().items.unwrap();
        items.iter().map(line).collect::<Vec<_>>().join(" ")
    };
    database
        .update_item(request("SET a = :v REMOVE b", r#"":v":"y""#))
        .unwrap();
    assert_eq!(keys("Tab/glob"), r#"{"pk":"k","sk":1,"a":"y"}"#);
    assert_eq!(keys("Tab/loc"), "");
    database
        .update_item(request("SET b = a REMOVE a", ""))
        .unwrap();
    assert_eq!(keys("Tab/glob"), "");
    assert_eq!(keys("Tab/loc"), r#"{"pk":"k","sk":1,"b":"y"}"#);
}

#[test]
fn an_update_that_changes_nothing_keeps_the_version() {
    let database = with_item(r#""n":1,"s":{"$ss":["a","b"]}"#);
    let version = |update: &str, values: &str| {
        database
            .update_item(request(update, values))
            .unwrap()
            .version
            .unwrap()
    };
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
        tab()
            .update_item(request)
            .map(|_| ())
            .map_err(|error| error.to_string())
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
    assert_eq!(
        database
            .update_item(grown)
            .map(|_| ())
            .map_err(|error| error.to_string()),
        too_large
    );
    // What is read weighs as much where it is written, however often; nothing is copied to find out.
    let copies = |count: usize| {
        (0..count)
            .map(|place| format!("c{place} = m"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for update in [
        format!("SET {}", copies(1)),
        format!("SET {}", copies(400)),
        "SET c = if_not_exists(d, m)".to_owned(),
    ] {
        let found = database
            .update_item(request(&update, ""))
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert_eq!(found, too_large, "{update}");
    }
    assert_eq!(
        database
            .update_item(request("SET c = m REMOVE m", ""))
            .map(|_| ())
            .map_err(|error| error.to_string()),
        Ok(())
    );
}

#[test]
fn nesting_is_limited_after_the_update() {
    // 31 levels.
    let deep = (1..31).fold(s("x"), |inner, _| AttributeValue::L(vec![inner]));
    let run = |path: &str| {
        let database = with_item(r#""m":{"m":{}}"#);
        let mut request = request(&format!("SET {path} = :v"), "");
        request.placeholders.values = Some([(":v".to_owned(), deep.clone())].into());
        database
            .update_item(request)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(run("m.a"), Ok(()));
    let error = run("m.m.a").unwrap_err();
    assert!(
        error.starts_with("Nesting Levels have exceeded supported limits"),
        "{error}"
    );
}

#[test]
fn metrics_and_precondition() {
    let database = with_item(r#""b":"x""#);
    let mut request = request("SET n = :v", r#"":v":1"#);
    request.return_item_collection_metrics = true;
    request.precondition = Some(Precondition::Absent);
    assert_eq!(
        database.update_item(request.clone()),
        Err(Error::ConditionalCheckFailed { item: None })
    );
    request.precondition = None;
    let metrics = database
        .update_item(request)
        .unwrap()
        .item_collection_metrics
        .unwrap();
    assert_eq!(metrics.key, Item::from([("pk", s("k"))]));
}

#[test]
fn counters_count_exactly_under_concurrent_updates() {
    let database = tab();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    database
                        .update_item(request(
                            "ADD n :v SET m = if_not_exists(m, :z) + :v",
                            r#"":v":1,":z":0"#,
                        ))
                        .unwrap();
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
    for (name, text) in [
        ("", "Empty attribute name"),
        (
            &long,
            "Attribute name is too large, must be less than 65536 bytes",
        ),
    ] {
        let map = AttributeValue::M([(name.to_owned(), s("x"))].into());
        for (attribute, value) in [
            (name, s("x")),
            ("m", map.clone()),
            ("l", AttributeValue::L(vec![map])),
        ] {
            let mut item = json(KEY);
            item.0.insert(attribute.to_owned(), value.clone());
            let expected = Err(format!("{IV}{text}"));
            assert_eq!(
                put(&database, "Tab", item.clone())
                    .map(drop)
                    .map_err(|error| error.to_string()),
                expected
            );
            let writes = TableWrites {
                table_name: table("Tab"),
                requests: vec![WriteRequest::Put(item.clone())],
            };
            let batch = BatchWriteItemRequest {
                request_items: vec![writes],
                return_consumed_capacity: ReturnConsumedCapacity::None,
                return_item_collection_metrics: false,
            };
            assert_eq!(
                database
                    .batch_write_item(batch)
                    .map(drop)
                    .map_err(|error| error.to_string()),
                expected
            );
            let update = AttributeUpdate {
                attribute: attribute.to_owned(),
                value: Some(value),
                ..AttributeUpdate::default()
            };
            let mut by_attribute = request("", "");
            by_attribute.update = UpdateParameter::AttributeUpdates(vec![update]);
            assert_eq!(
                database
                    .update_item(by_attribute)
                    .map(drop)
                    .map_err(|error| error.to_string()),
                expected
            );
        }
    }
    assert_eq!(now(&database), "");
}

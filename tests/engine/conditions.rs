//! Conditions of PutItem and DeleteItem, filters of Query and Scan (docs/dynamodb.md 7.9, 12.5, 13.2, 13.6).

use crate::support::engine;
use crate::support::engine::{
    get, json, line, placeholders_of, put, query_request, s, scan_request, tab, table,
};
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::model::Error;
use ddbfs::model::api::*;

fn condition(text: &str) -> ConditionParameter {
    if text.is_empty() {
        ConditionParameter::None
    } else {
        ConditionParameter::Expression(text.to_owned())
    }
}

fn put_if(item: &str, text: &str, values: &str) -> PutItemRequest {
    let mut request = PutItemRequest::new(table("Tab"), json(item));
    request.condition = condition(text);
    request.placeholders = placeholders_of(values);
    request
}

fn delete_if(key: &str, text: &str, values: &str) -> DeleteItemRequest {
    let mut request = DeleteItemRequest::new(table("Tab"), json(key));
    request.condition = condition(text);
    request.placeholders = placeholders_of(values);
    request
}

const OLD: &str = r#""pk":"k","sk":1,"x":0"#;
#[test]
fn the_expression_is_read_before_the_table_is_looked_up() {
    let mut request = put_if(OLD, "((", "");
    request.table_name = table("Nothing");
    assert!(
        tab()
            .put_item(request)
            .unwrap_err()
            .to_string()
            .starts_with("Invalid ConditionExpression")
    );
    let mut request = put_if(OLD, "attribute_exists(a)", "");
    request.table_name = table("Nothing");
    assert_eq!(tab().put_item(request), Err(Error::ResourceNotFound));
}

#[test]
fn a_failed_condition_changes_nothing_and_returns_the_item_when_asked() {
    let database = tab();
    let old = json(r#""pk":"k","sk":1,"n":5,"a":"x""#);
    put(&database, "Tab", old.clone()).unwrap();
    let mut request = put_if(OLD, "attribute_not_exists(n)", "");
    assert_eq!(
        database.put_item(request.clone()),
        Err(Error::ConditionalCheckFailed { item: None })
    );
    request.return_old_on_condition_failure = true;
    let with_item = Err(Error::ConditionalCheckFailed {
        item: Some(Box::new(old.clone())),
    });
    assert_eq!(database.put_item(request), with_item.clone());
    assert_eq!(
        get(&database, "Tab", json(r#""pk":"k","sk":1"#)),
        Some(old.clone())
    );

    let mut request = delete_if(r#""pk":"k","sk":1"#, "n < :v", r#"":v":5"#);
    request.return_old_on_condition_failure = true;
    assert_eq!(
        database.delete_item(request.clone()).map(|_| ()),
        with_item.map(|_: PutItemResponse| ())
    );
    request.key = json(r#""pk":"k","sk":2"#);
    assert_eq!(
        database.delete_item(request).map(|_| ()),
        Err(Error::ConditionalCheckFailed { item: None })
    );
    let request = DeleteItemRequest {
        return_values: ReturnValues::AllOld,
        ..delete_if(r#""pk":"k","sk":1"#, "n = :v", r#"":v":5"#)
    };
    assert_eq!(database.delete_item(request).unwrap().attributes, Some(old));
    assert_eq!(
        database.scan(&scan_request("Tab/glob")).unwrap().page.count,
        0
    );
}

/// Ten items of one partition: sk 1 to 10, n their remainder by 3, `a` and `b` on the even ones.
fn ten() -> LocalDatabase {
    let database = tab();
    for number in 1..=10 {
        let even = if number % 2 == 0 {
            format!(r#","a":"x","b":"b{number:02}""#)
        } else {
            String::new()
        };
        let item = json(&format!(
            r#""pk":"k","sk":{number},"n":{},"m":{{"s":"{number}"}}{even}"#,
            number % 3
        ));
        put(&database, "Tab", item).unwrap();
    }
    database
}

fn numbers(items: &[ddbfs::model::Item]) -> String {
    items
        .iter()
        .map(|item| engine::text(item.get("sk").unwrap()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// `source` is queried by `pk = :pk`, or for the global index by `a = :pk`.
fn filtered(source: &str, filter: &str, values: &str) -> QueryRequest {
    let (key, value) = if source.ends_with("glob") {
        ("a", "x")
    } else {
        ("pk", "k")
    };
    let mut request = query_request(source, &format!("{key} = :pk"), &[(":pk", s(value))]);
    let given = placeholders_of(values);
    request.placeholders.names = given.names;
    request
        .placeholders
        .values
        .get_or_insert_default()
        .extend(given.values.unwrap_or_default());
    request.filter = condition(filter);
    request
}

#[test]
fn a_filtered_page_ends_where_an_unfiltered_one_would() {
    let database = ten();
    let mut request = filtered("Tab", "n = :v", r#"":v":0"#);
    request.limit = Some(4);
    request.projection_expression = Some("sk, m".to_owned());
    let mut pages = Vec::new();
    loop {
        let response = database.query(&request).unwrap();
        let items: Vec<String> = response.items.unwrap().iter().map(line).collect();
        pages.push((items.join(" "), response.page.scanned_count));
        match response.page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => break,
        }
    }
    let items = [
        r#"{"sk":3,"m":{"s":"3"}}"#,
        r#"{"sk":6,"m":{"s":"6"}}"#,
        r#"{"sk":9,"m":{"s":"9"}}"#,
    ];
    assert_eq!(
        pages,
        [
            (items[0].into(), 4),
            (items[1].into(), 4),
            (items[2].into(), 2)
        ]
    );
    let count = QueryRequest {
        select: Some(Select::Count),
        ..filtered("Tab", "n = :v", r#"":v":0"#)
    };
    assert_eq!(database.query(&count).unwrap().page.count, 3);
}

#[test]
fn a_filter_of_a_scan_that_fetches_the_base_items_has_all_that_they_have() {
    let database = ten();
    let mut request = scan_request("Tab/loc");
    request.filter = condition("n = :v");
    request.placeholders = placeholders_of(r#"":v":0"#);
    request.select = Some(Select::AllAttributes);
    assert_eq!(
        numbers(&database.scan(&request).unwrap().items.unwrap()),
        "6"
    );
}

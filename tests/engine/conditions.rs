//! Conditions of PutItem and DeleteItem, filters of Query and Scan (docs/dynamodb.md 7.9, 12.5, 13.2, 13.6).

use crate::support::engine;
use crate::support::engine::{get, json, line, placeholders_of, put, query_request, s, scan_request, tab, table};
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database};
use ddbfs::model::Error;
use ddbfs::model::api::*;

fn condition(text: &str) -> ConditionParameter {
    if text.is_empty() { ConditionParameter::None } else { ConditionParameter::Expression(text.to_owned()) }
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

const IV: &str = "One or more parameter values were invalid: ";

fn text_of<T>(outcome: &Result<T, Error>) -> String {
    outcome.as_ref().err().map(|error| error.to_string().replace(IV, "IV: ")).unwrap_or_default()
}

/// A put onto `{"pk":"k","sk":1,"n":5}` or, for other keys, onto nothing; the text of the error, empty for success.
#[track_caller]
fn check_put(item: &str, condition: &str, values: &str, expected: &str) {
    let database = tab();
    put(&database, "Tab", json(r#""pk":"k","sk":1,"n":5"#)).unwrap();
    let request = put_if(item, condition, values);
    let checked = database.check_put(&request);
    let outcome = database.put_item(request);
    assert_eq!(text_of(&outcome), expected, "{item} {condition}");
    assert_eq!(checked.err(), outcome.err(), "{item} {condition}");
}

const OLD: &str = r#""pk":"k","sk":1,"x":0"#;
const NEW: &str = r#""pk":"k","sk":2,"x":0"#;
const FAILED: &str = "The conditional request failed";

#[test]
fn a_put_takes_place_when_its_condition_holds() {
    check_put(OLD, "attribute_exists(pk)", "", "");
    check_put(NEW, "attribute_exists(pk)", "", FAILED);
    check_put(NEW, "attribute_not_exists(pk)", "", "");
    check_put(OLD, "attribute_not_exists(pk)", "", FAILED);
    check_put(OLD, "n = :v", r#"":v":5.0"#, "");
    check_put(OLD, "n > :v", r#"":v":5"#, FAILED);
    check_put(OLD, "#n < :v AND sk = :s", r##""#n":"n",":v":6,":s":1"##, "");
    // The condition sees the old item, not the new one.
    check_put(OLD, "x = :v", r#"":v":0"#, FAILED);
    check_put(NEW, "x <> :v", r#"":v":0"#, "");
}

#[test]
fn checks_of_a_put_come_in_their_order() {
    let invalid = |text: &str| format!("Invalid ConditionExpression: {text}");
    check_put(OLD, "n = :v", "", &invalid("An expression attribute value used in expression is not defined; attribute value: :v"));
    check_put(
        OLD,
        "attribute_exists(n)",
        r#"":v":1"#,
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
    );
    check_put(
        OLD,
        "",
        r#"":v":1"#,
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
    );
    check_put(OLD, "", r##""#n":"n""##, "ExpressionAttributeNames can only be specified when using expressions");
    // The expression before the keys of the item, those before paths into keys, those before the condition itself.
    check_put(r#""pk":"k""#, "n =", "", &invalid("Syntax error; token: \"<EOF>\", near: \"=\""));
    check_put(r#""pk":"k""#, "attribute_exists(pk.a)", "", "IV: Missing the key sk in the item");
    let scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ";
    check_put(NEW, "attribute_exists(pk.a)", "", &format!("{scalars}Key: pk"));
    check_put(NEW, "attribute_exists(b[0])", "", &format!("{scalars}IndexKey: b"));
    check_put(
        r#""pk":"k","sk":2,"a":1"#,
        "attribute_exists(x)",
        "",
        "IV: Type mismatch for Index Key a Expected: S Actual: N IndexName: glob",
    );
    let mut request = put_if(OLD, "((", "");
    request.table_name = table("Nothing");
    assert!(text_of(&tab().put_item(request)).starts_with("Invalid ConditionExpression"));
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
    assert_eq!(database.put_item(request.clone()), Err(Error::ConditionalCheckFailed { item: None }));
    request.return_old_on_condition_failure = true;
    let with_item = Err(Error::ConditionalCheckFailed { item: Some(Box::new(old.clone())) });
    assert_eq!(database.put_item(request), with_item.clone());
    assert_eq!(get(&database, "Tab", json(r#""pk":"k","sk":1"#)), Some(old.clone()));

    let mut request = delete_if(r#""pk":"k","sk":1"#, "n < :v", r#"":v":5"#);
    request.return_old_on_condition_failure = true;
    assert_eq!(database.delete_item(request.clone()).map(|_| ()), with_item.map(|_: PutItemResponse| ()));
    request.key = json(r#""pk":"k","sk":2"#);
    assert_eq!(database.delete_item(request).map(|_| ()), Err(Error::ConditionalCheckFailed { item: None }));
    let request =
        DeleteItemRequest { return_values: ReturnValues::AllOld, ..delete_if(r#""pk":"k","sk":1"#, "n = :v", r#"":v":5"#) };
    assert_eq!(database.delete_item(request).unwrap().attributes, Some(old));
    assert_eq!(database.scan(&scan_request("Tab/glob")).unwrap().page.count, 0);
}

#[test]
fn a_delete_checks_its_condition_even_where_there_is_nothing() {
    let check = |key: &str, condition: &str, expected: &str| {
        assert_eq!(text_of(&tab().delete_item(delete_if(key, condition, ""))), expected, "{key} {condition}");
    };
    check(r#""pk":"k","sk":1"#, "attribute_exists(pk)", FAILED);
    check(r#""pk":"k","sk":1"#, "attribute_not_exists(pk)", "");
    check(r#""pk":"k""#, "attribute_exists(pk)", "The provided key element does not match the schema");
    check(r#""pk":"k""#, "attribute_exists(", "Invalid ConditionExpression: Syntax error; token: \"<EOF>\", near: \"(\"");
}

/// Ten items of one partition: sk 1 to 10, n their remainder by 3, `a` and `b` on the even ones.
fn ten() -> LocalDatabase {
    let database = tab();
    for number in 1..=10 {
        let even = if number % 2 == 0 { format!(r#","a":"x","b":"b{number:02}""#) } else { String::new() };
        let item = json(&format!(r#""pk":"k","sk":{number},"n":{},"m":{{"s":"{number}"}}{even}"#, number % 3));
        put(&database, "Tab", item).unwrap();
    }
    database
}

fn numbers(items: &[ddbfs::model::Item]) -> String {
    items.iter().map(|item| engine::text(item.get("sk").unwrap())).collect::<Vec<_>>().join(" ")
}

/// `source` is queried by `pk = :pk`, or for the global index by `a = :pk`.
fn filtered(source: &str, filter: &str, values: &str) -> QueryRequest {
    let (key, value) = if source.ends_with("glob") { ("a", "x") } else { ("pk", "k") };
    let mut request = query_request(source, &format!("{key} = :pk"), &[(":pk", s(value))]);
    let given = placeholders_of(values);
    request.placeholders.names = given.names;
    request.placeholders.values.get_or_insert_default().extend(given.values.unwrap_or_default());
    request.filter = condition(filter);
    request
}

#[test]
fn a_filter_keeps_what_it_holds_for_and_everything_is_counted_and_charged() {
    let database = ten();
    let check = |filter: &str, values: &str, expected: &str| {
        let response = database.query(&filtered("Tab", filter, values)).unwrap();
        let page = response.page;
        assert_eq!(numbers(&response.items.unwrap()), expected, "{filter}");
        assert_eq!((page.count, page.scanned_count), (expected.split_whitespace().count() as u64, 10));
        assert_eq!(page.consumed_capacity.table, 0.5);

        let mut request = scan_request("Tab");
        request.placeholders = placeholders_of(values);
        request.filter = condition(filter);
        let response = database.scan(&request).unwrap();
        assert_eq!(numbers(&response.items.unwrap()), expected, "{filter}");
        assert_eq!(response.page.scanned_count, 10);
    };
    check("n = :v", r#"":v":0"#, "3 6 9");
    check("attribute_exists(a) AND #n <> :v", r##""#n":"n",":v":0"##, "2 4 8 10");
    check("m.s IN (:one, :two)", r#"":one":"1",":two":"2""#, "1 2");
    check("gone = :v", r#"":v":0"#, "");
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
    let items = [r#"{"sk":3,"m":{"s":"3"}}"#, r#"{"sk":6,"m":{"s":"6"}}"#, r#"{"sk":9,"m":{"s":"9"}}"#];
    assert_eq!(pages, [(items[0].into(), 4), (items[1].into(), 4), (items[2].into(), 2)]);
    let count = QueryRequest { select: Some(Select::Count), ..filtered("Tab", "n = :v", r#"":v":0"#) };
    assert_eq!(database.query(&count).unwrap().page.count, 3);
}

#[track_caller]
fn check_query(source: &str, filter: &str, values: &str, expected: &str) {
    assert_eq!(text_of(&ten().query(&filtered(source, filter, values))), expected, "{source} {filter}");
}

#[test]
fn what_a_filter_of_a_query_may_not_name() {
    let on_key =
        |name: &str| format!("Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}");
    check_query("Tab", "sk > :v", r#"":v":0"#, &on_key("sk"));
    check_query("Tab", "n = :v OR pk = sk", r#"":v":0"#, &on_key("pk"));
    check_query("Tab/loc", "b > :v", r#"":v":"""#, &on_key("b"));
    check_query("Tab/loc", "sk > :v", r#"":v":0"#, "");
    check_query("Tab/glob", "a = :v", r#"":v":"x""#, &on_key("a"));
    check_query("Tab/glob", "sk > :v", r#"":v":0"#, "");
    let missing =
        |index: &str, names: &str| format!("IV: Secondary index {index} does not project one or more filter attributes: [{names}]");
    check_query("Tab/glob", "n = :v", r#"":v":0"#, &missing("glob", "n"));
    check_query("Tab/loc", "n = :v AND attribute_exists(m.s)", r#"":v":0"#, &missing("loc", "m, n"));
    let scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ";
    check_query("Tab/glob", "sk.x > :v", r#"":v":0"#, &format!("{scalars}Key: sk"));
    check_query("Tab", "n >", "", "Invalid FilterExpression: Syntax error; token: \"<EOF>\", near: \">\"");
    check_query(
        "Tab",
        "n = :v",
        r#"":v":0,":w":0"#,
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
    );
}

#[test]
fn a_filter_of_a_scan_may_name_keys_and_what_an_index_lacks() {
    let database = ten();
    let check = |source: &str, filter: &str, values: &str, expected: &str| {
        let mut request = scan_request(source);
        request.filter = condition(filter);
        request.placeholders = placeholders_of(values);
        let outcome = database.scan(&request).map(|response| numbers(&response.items.unwrap()));
        assert_eq!(outcome.map_err(|error| error.to_string()), Ok(expected.to_owned()), "{source} {filter}");
    };
    check("Tab", "sk > :v AND pk = :pk", r#"":v":8,":pk":"k""#, "9 10");
    check("Tab/glob", "attribute_exists(n)", "", "");
    check("Tab/glob", "attribute_not_exists(n) AND sk < :v", r#"":v":5"#, "2 4");
    let request = ScanRequest { filter: condition("sk = :v"), ..scan_request("Tab") };
    assert_eq!(
        text_of(&database.scan(&request)),
        "Invalid FilterExpression: An expression attribute value used in expression is not defined; attribute value: :v"
    );
    let request = ScanRequest { placeholders: placeholders_of(r#"":v":1"#), ..scan_request("Tab") };
    assert_eq!(
        text_of(&database.scan(&request)),
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"
    );
    // A local index that fetches the base items has all that they have.
    let mut request = scan_request("Tab/loc");
    request.filter = condition("n = :v");
    request.placeholders = placeholders_of(r#"":v":0"#);
    request.select = Some(Select::AllAttributes);
    assert_eq!(numbers(&database.scan(&request).unwrap().items.unwrap()), "6");
}

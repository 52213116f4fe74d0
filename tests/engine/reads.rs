//! Query and Scan: checks, pages, start keys, segments, projections, capacity (docs/dynamodb.md 13, 10.3).

use crate::support::engine;
use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::model::api::tables::{IndexDefinition, ProjectionDefinition, ProjectionType};
use ddbfs::model::api::*;
use ddbfs::model::schema::{BillingMode, IndexKind, KeyAttributeType, KeyType};
use ddbfs::model::{AttributeValue, IndexName, Item, KeyAttribute};

/// Table `Tab` (pk S, sk N); GSI `ggg` (g S; h1 S, h2 N) INCLUDE [x]; LSI `lll` (pk; l S) INCLUDE [x]; table `Flat` (pk S).
fn database() -> LocalDatabase {
    let database = engine::database();
    let element = |(name, key_type): &(&str, KeyType)| KeySchemaElement {
        attribute_name: (*name).to_owned(),
        key_type: *key_type,
    };
    let elements = |list: &[(&str, KeyType)]| list.iter().map(element).collect::<Vec<_>>();
    let index = |name: &str, kind, keys: &[(&str, KeyType)]| IndexDefinition {
        name: IndexName::new(name).unwrap(),
        kind,
        key_schema: elements(keys),
        projection: ProjectionDefinition {
            projection_type: Some(ProjectionType::Include),
            non_key_attributes: Some(vec!["x".into()]),
        },
        throughput: None,
        settings: Default::default(),
        vector: None,
    };
    use KeyType::{Hash, Range};
    let types = [
        ("pk", "S"),
        ("sk", "N"),
        ("g", "S"),
        ("h1", "S"),
        ("h2", "N"),
        ("l", "S"),
    ];
    let definition = |(name, tag): (&str, &str)| KeyAttribute {
        name: name.to_owned(),
        attribute_type: if tag == "S" {
            KeyAttributeType::S
        } else {
            KeyAttributeType::N
        },
    };
    let tab = CreateTableRequest {
        table_name: table("Tab"),
        attribute_definitions: types.map(definition).to_vec(),
        key_schema: elements(&[("pk", Hash), ("sk", Range)]),
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: Some(vec![index(
            "lll",
            IndexKind::Local,
            &[("pk", Hash), ("l", Range)],
        )]),
        global_indexes: Some(vec![index(
            "ggg",
            IndexKind::Global,
            &[("g", Hash), ("h1", Range), ("h2", Range)],
        )]),
        deletion_protection: false,
        settings: Default::default(),
        vector_indexes: None,
    };
    let flat = CreateTableRequest {
        table_name: table("Flat"),
        attribute_definitions: types[..1].iter().copied().map(definition).collect(),
        key_schema: elements(&[("pk", Hash)]),
        local_indexes: None,
        global_indexes: None,
        ..tab.clone()
    };
    database.create_table(tab).unwrap();
    database.create_table(flat).unwrap();
    database
}

/// One row with every index key, its sort key and `h2` being `i`.
fn row(i: u32) -> Item {
    Item::from([
        ("pk", s("p")),
        ("sk", n(&i.to_string())),
        ("g", s("g")),
        ("h1", s(if i.is_multiple_of(2) { "even" } else { "odd" })),
        ("h2", n(&i.to_string())),
        ("l", s(&format!("l{i:03}"))),
        ("x", s("x")),
        ("y", s("y")),
    ])
}

fn with_rows(count: u32) -> LocalDatabase {
    let database = database();
    for i in 0..count {
        put(&database, "Tab", row(i)).unwrap();
        put(&database, "Flat", Item::from([("pk", s(&i.to_string()))])).unwrap();
    }
    database
}

fn base_query() -> QueryRequest {
    query_request("Tab", "pk = :p", &[(":p", s("p"))])
}

fn global_query() -> QueryRequest {
    query_request("Tab/ggg", "g = :p", &[(":p", s("g"))])
}

fn local_query() -> QueryRequest {
    query_request("Tab/lll", "pk = :p", &[(":p", s("p"))])
}

fn check_query_error(request: QueryRequest, expected: &str) {
    let error = with_rows(3)
        .query(&request)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert_eq!(error, expected, "{request:?}");
}

fn check_scan_error(request: ScanRequest, expected: &str) {
    let error = with_rows(3)
        .scan(&request)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert_eq!(error, expected, "{request:?}");
}

#[test]
fn table_of_query_errors() {
    let projection = |text: &str, request| QueryRequest {
        projection_expression: Some(text.into()),
        ..request
    };
    let select = |select, request| QueryRequest {
        select: Some(select),
        ..request
    };
    let check = check_query_error;
    check(base_query(), "");
    let none = QueryRequest {
        key_condition_expression: None,
        placeholders: Placeholders::default(),
        ..base_query()
    };
    check(
        none,
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
    );
    check(
        QueryRequest {
            key_condition_expression: None,
            ..base_query()
        },
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression and KeyConditionExpression are null",
    );
    let unknown = QueryRequest {
        index_name: Some(IndexName::new("none").unwrap()),
        ..base_query()
    };
    check(unknown, "The table does not have the specified index: none");
    check(
        QueryRequest {
            consistent_read: true,
            ..global_query()
        },
        "Consistent reads are not supported on global secondary indexes",
    );
    check(
        QueryRequest {
            consistent_read: true,
            ..local_query()
        },
        "",
    );
    check(
        select(Select::SpecificAttributes, base_query()),
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
    );
    check(
        select(Select::SpecificAttributes, projection("x", base_query())),
        "",
    );
    let cannot = "Cannot specify the ProjectionExpression when choosing to get ";
    check(
        select(Select::AllAttributes, projection("x", base_query())),
        &format!("{cannot}ALL_ATTRIBUTES"),
    );
    check(
        select(Select::Count, projection("x", base_query())),
        &format!("{cannot}only the Count"),
    );
    let projected = select(
        Select::AllProjectedAttributes,
        projection("x", global_query()),
    );
    check(projected, &format!("{cannot}ALL_PROJECTED_ATTRIBUTES"));
    check(
        select(Select::AllProjectedAttributes, base_query()),
        "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
    );
    check(
        select(Select::AllAttributes, global_query()),
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index ggg because its projection type is not ALL",
    );
    check(
        projection("y, x, z.a", global_query()),
        "One or more parameter values were invalid: Global secondary index ggg does not project [y, z]",
    );
    let scalars = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ";
    check(
        projection("x, pk.a", local_query()),
        &format!("{scalars}Key: pk"),
    );
    check(
        projection("h1[0]", global_query()),
        &format!("{scalars}IndexKey: h1"),
    );
    let missed = query_request("Tab", "sk = :p", &[(":p", n("1"))]);
    check(missed, "Query condition missed key schema element: pk");
    let on_table = query_request("None", "pk =", &[]);
    check(
        on_table,
        "Invalid KeyConditionExpression: Syntax error; token: \"<EOF>\", near: \"=\"",
    );
}

#[test]
fn table_of_scan_errors() {
    let segment = |index, total| ScanRequest {
        segment: Some(Segment { index, total }),
        ..scan_request("Tab")
    };
    check_scan_error(segment(4, 5), "");
    check_scan_error(
        segment(5, 5),
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5",
    );
    check_scan_error(
        ScanRequest {
            select: Some(Select::SpecificAttributes),
            ..scan_request("Tab")
        },
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
    );
    check_scan_error(
        ScanRequest {
            consistent_read: true,
            ..scan_request("Tab/ggg")
        },
        "Consistent reads are not supported on global secondary indexes",
    );
    check_scan_error(
        ScanRequest {
            placeholders: placeholders(&[], &[(":v", s("v"))]),
            ..scan_request("Tab")
        },
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null",
    );
    check_scan_error(
        ScanRequest {
            projection_expression: Some("y".into()),
            ..scan_request("Tab/ggg")
        },
        "One or more parameter values were invalid: Global secondary index ggg does not project [y]",
    );
    check_scan_error(
        scan_request("Tab/none"),
        "The table does not have the specified index: none",
    );
}

const OUTSIDE: &str =
    "The provided starting key is outside query boundaries based on provided conditions";
const PREDICATE: &str = "The provided starting key does not match the range key predicate";
const ONE_ROW: &str = "The query can return at most one row and cannot be restarted";
const START: &str = "The provided starting key is invalid";
const START_SCHEMA: &str =
    "The provided starting key is invalid: The provided key element does not match the schema";

fn start(pk: AttributeValue, sk: AttributeValue) -> Item {
    Item::from([("pk", pk), ("sk", sk)])
}

#[test]
fn table_of_query_start_keys() {
    let check = |condition: &str, key: Item, expected: &str| {
        let values = [(":p", s("p")), (":v", n("1"))];
        let used = if condition.contains(":v") {
            &values[..]
        } else {
            &values[..1]
        };
        let request = query_request("Tab", condition, used);
        check_query_error(
            QueryRequest {
                exclusive_start_key: Some(key),
                ..request
            },
            expected,
        );
    };
    check("pk = :p", start(s("p"), n("77")), "");
    check("pk = :p", Item::from([("pk", s("p"))]), START);
    check(
        "pk = :p",
        Item::from([("pk", s("p")), ("x", n("1"))]),
        START,
    );
    check("pk = :p", row(1), START);
    check("pk = :p", start(s("p"), s("1")), START_SCHEMA);
    check("pk = :p", start(s("q"), n("1")), OUTSIDE);
    check("pk = :p AND sk > :v", start(s("p"), n("2")), "");
    check("pk = :p AND sk > :v", start(s("p"), n("1")), PREDICATE);
    check("pk = :p AND sk > :v", start(s("q"), n("2")), ONE_ROW);
    check("pk = :p AND sk > :v", start(s("q"), n("0")), PREDICATE);
    check("pk = :p AND sk = :v", start(s("p"), n("1")), ONE_ROW);
    let mut deep = start(s("p"), n("1"));
    let value = (0..40).fold(AttributeValue::Null, |inner, _| {
        AttributeValue::L(vec![inner])
    });
    deep.0.insert("sk".into(), value);
    let nesting = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";
    check("pk = :p", deep, &format!("{START}: {nesting}"));

    let flat = query_request("Flat", "pk = :p", &[(":p", s("1"))]);
    let key = |pk: &str| Some(Item::from([("pk", s(pk))]));
    check_query_error(
        QueryRequest {
            exclusive_start_key: key("1"),
            ..flat.clone()
        },
        ONE_ROW,
    );
    check_query_error(
        QueryRequest {
            exclusive_start_key: key("2"),
            ..flat
        },
        OUTSIDE,
    );
}

#[test]
fn table_of_index_start_keys() {
    let full = |i: u32| {
        let row = row(i);
        let names = ["pk", "sk", "g", "h1", "h2"];
        Item(
            names
                .map(|name| (name.to_owned(), row.get(name).unwrap().clone()))
                .into(),
        )
    };
    let change = |name: &str, value| {
        let mut key = full(1);
        key.0.insert(name.to_owned(), value);
        key
    };
    let check = |key: Item, expected: &str| {
        check_query_error(
            QueryRequest {
                exclusive_start_key: Some(key),
                ..global_query()
            },
            expected,
        );
    };
    check(full(1), "");
    check(start(s("p"), n("1")), START);
    check(change("more", s("x")), START);
    check(change("h2", s("x")), START);
    check(change("sk", s("x")), START_SCHEMA);
    check(change("g", s("other")), OUTSIDE);
    let odd = query_request(
        "Tab/ggg",
        "g = :g AND h1 = :h AND h2 > :n",
        &[(":g", s("g")), (":h", s("odd")), (":n", n("0"))],
    );
    let check = |key, expected| {
        check_query_error(
            QueryRequest {
                exclusive_start_key: Some(key),
                ..odd.clone()
            },
            expected,
        )
    };
    check(full(1), "");
    check(full(2), PREDICATE);
    check(change("h2", n("0")), PREDICATE);
}

#[test]
fn table_of_scan_start_keys() {
    let check = |source: &str, key: Item, expected: &str| {
        check_scan_error(
            ScanRequest {
                exclusive_start_key: Some(key),
                ..scan_request(source)
            },
            expected,
        );
    };
    check("Tab", start(s("zz"), n("9")), "");
    check("Tab", Item::from([("pk", s("p"))]), START_SCHEMA);
    check("Tab", start(s("p"), s("1")), START_SCHEMA);
    check("Tab/ggg", start(s("p"), n("1")), START);
    let digest = ddbfs::codec::key::partition_digest(&[&s("p")]);
    let inside = u32::from(digest[0] >= 128);
    let with_segment = |index| ScanRequest {
        segment: Some(Segment { index, total: 2 }),
        exclusive_start_key: Some(start(s("p"), n("1"))),
        ..scan_request("Tab")
    };
    check_scan_error(with_segment(inside), "");
    let text = format!(
        "{START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: 2 Segment: {}",
        1 - inside
    );
    check_scan_error(with_segment(1 - inside), &text);
}

#[test]
fn a_start_key_need_not_exist() {
    let database = with_rows(6);
    database
        .delete_item(DeleteItemRequest::new(table("Tab"), start(s("p"), n("2"))))
        .unwrap();
    for (forward, expected) in [(true, ["3", "4", "5"].as_slice()), (false, &["1", "0"])] {
        let request = QueryRequest {
            scan_index_forward: forward,
            exclusive_start_key: Some(start(s("p"), n("2"))),
            ..base_query()
        };
        assert_eq!(
            column(&database.query(&request).unwrap().items.unwrap(), "sk"),
            expected
        );
    }
}

#[test]
fn a_start_key_may_be_longer_than_any_key() {
    let database = samples();
    for forward in [true, false] {
        let long = Item::from([("AnimalType", s("Dog")), ("Name", s(&"G".repeat(100_000)))]);
        let request = QueryRequest {
            scan_index_forward: forward,
            exclusive_start_key: Some(long),
            ..query_request("Pets", "AnimalType = :a", &[(":a", s("Dog"))])
        };
        let names = column(&database.query(&request).unwrap().items.unwrap(), "Name");
        let expected = if forward {
            ["Rover", "Snoopy"]
        } else {
            ["Fido", "Bowser"]
        };
        assert_eq!(names, expected);
    }
}

#[test]
fn a_limit_that_ends_the_range_still_gives_a_start_key() {
    let database = with_rows(3);
    let page = |limit, key| {
        let request = QueryRequest {
            limit: Some(limit),
            exclusive_start_key: key,
            ..base_query()
        };
        let response = database.query(&request).unwrap();
        (response.page.count, response.page.last_evaluated_key)
    };
    assert_eq!(page(4, None), (3, None));
    let (count, key) = page(3, None);
    assert_eq!((count, &key), (3, &Some(start(s("p"), n("2")))));
    assert_eq!(page(3, key), (0, None));
}

#[test]
fn a_page_ends_with_the_entry_that_passes_one_megabyte() {
    let database = database();
    for i in 0..12 {
        let mut item = start(s("p"), n(&i.to_string()));
        item.0.insert("v".into(), x(300_000));
        put(&database, "Tab", item).unwrap();
    }
    let mut request = base_query();
    let mut counts = Vec::new();
    let mut seen = Vec::new();
    loop {
        let response = database.query(&request).unwrap();
        counts.push(response.page.count);
        seen.extend(column(&response.items.unwrap(), "sk"));
        match response.page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => break,
        }
    }
    assert_eq!(counts, [4, 4, 4, 0]);
    assert_eq!(seen, (0..12).map(|i| i.to_string()).collect::<Vec<_>>());
    let scanned = database.scan(&scan_request("Tab")).unwrap().page;
    assert_eq!((scanned.count, scanned.consumed_capacity.table), (4, 146.5));
}

#[test]
fn segments_cover_the_table_once() {
    let database = with_rows(60);
    for total in [1, 2, 3, 7, 1_000_000] {
        let mut seen = Vec::new();
        let step = if total > 7 { 40_000 } else { 1 };
        for index in (0..total).step_by(step) {
            let request = ScanRequest {
                segment: Some(Segment { index, total }),
                ..scan_request("Flat")
            };
            seen.extend(column(
                &database.scan(&request).unwrap().items.unwrap(),
                "pk",
            ));
        }
        seen.sort();
        seen.dedup();
        assert!(
            if step == 1 {
                seen.len() == 60
            } else {
                seen.len() < 5
            },
            "{total}: {}",
            seen.len()
        );
    }
}

#[test]
fn multi_attribute_keys_are_queried_from_the_left() {
    let database = with_rows(6);
    let run = |condition: &str, values: &[(&str, AttributeValue)]| {
        let response = database.query(&query_request("Tab/ggg", condition, values));
        response
            .map(|response| column(&response.items.unwrap(), "sk").join(" "))
            .map_err(|error| error.to_string())
    };
    let (g, h1, h2) = ((":g", s("g")), (":a", s("odd")), (":b", n("2")));
    assert_eq!(
        run("g = :g", std::slice::from_ref(&g)),
        Ok("0 2 4 1 3 5".into())
    );
    assert_eq!(
        run("h1 = :a AND g = :g", &[g.clone(), h1.clone()]),
        Ok("1 3 5".into())
    );
    assert_eq!(
        run(
            "g = :g AND begins_with(h1, :a)",
            &[g.clone(), (":a", s("e"))]
        ),
        Ok("0 2 4".into())
    );
    assert_eq!(
        run(
            "g = :g AND h1 = :a AND h2 > :b",
            &[g.clone(), h1, h2.clone()]
        ),
        Ok("3 5".into())
    );
    let gap = "RANGE key attributes h1 must have equality conditions specified in the query because a condition is present on key attribute h2";
    assert_eq!(run("g = :g AND h2 > :b", &[g, h2]), Err(gap.to_owned()));
}

#[test]
fn select_decides_what_is_returned() {
    let database = with_rows(1);
    let names = |request: QueryRequest| -> Vec<String> {
        database.query(&request).unwrap().items.unwrap()[0]
            .0
            .keys()
            .cloned()
            .collect()
    };
    let select = |select, request| QueryRequest {
        select: Some(select),
        ..request
    };
    let all = ["g", "h1", "h2", "l", "pk", "sk", "x", "y"];
    let of_global = ["g", "h1", "h2", "pk", "sk", "x"];
    let of_local = ["l", "pk", "sk", "x"];
    assert_eq!(names(base_query()), all);
    assert_eq!(names(select(Select::AllAttributes, base_query())), all);
    assert_eq!(names(global_query()), of_global);
    assert_eq!(
        names(select(Select::AllProjectedAttributes, global_query())),
        of_global
    );
    assert_eq!(names(local_query()), of_local);
    assert_eq!(
        names(select(Select::AllProjectedAttributes, local_query())),
        of_local
    );
    assert_eq!(names(select(Select::AllAttributes, local_query())), all);
    let projected = QueryRequest {
        projection_expression: Some("y, x".into()),
        ..local_query()
    };
    assert_eq!(names(projected), ["x", "y"]);
}

#[test]
fn fetches_from_the_table_are_counted_one_by_one() {
    let database = database();
    for i in 0..4 {
        let mut item = Item::from([
            ("pk", s("p")),
            ("sk", n(&i.to_string())),
            ("l", s("l")),
            ("x", x(188)),
        ]);
        item.0.insert("y".into(), x(99));
        assert_eq!(
            item.size(),
            2 + 1 + 2 + (if i == 0 { 1 } else { 2 }) + 2 + 189 + 100
        );
        put(&database, "Tab", item).unwrap();
    }
    let consumed = |consistent_read, select| {
        let request = QueryRequest {
            consistent_read,
            select,
            ..local_query()
        };
        let consumed = database.query(&request).unwrap().page.consumed_capacity;
        (
            consumed.table,
            consumed.local_indexes["lll"],
            consumed.total(),
        )
    };
    assert_eq!(consumed(false, None), (0.0, 0.5, 0.5));
    assert_eq!(consumed(false, Some(Select::Count)), (0.0, 0.5, 0.5));
    assert_eq!(
        consumed(false, Some(Select::AllAttributes)),
        (2.0, 0.5, 2.5)
    );
    assert_eq!(consumed(true, Some(Select::AllAttributes)), (4.0, 1.0, 5.0));
}

#[test]
fn fetches_round_up_towards_the_page_limit() {
    let database = database();
    for i in 0..300 {
        let item = Item::from([
            ("pk", s("p")),
            ("sk", n(&i.to_string())),
            ("l", s(&format!("{i:03}"))),
        ]);
        put(&database, "Tab", item).unwrap();
    }
    let page = |select| {
        database
            .query(&QueryRequest {
                select,
                ..local_query()
            })
            .unwrap()
            .page
    };
    assert_eq!(
        (page(None).count, page(None).last_evaluated_key),
        (300, None)
    );
    // 4 KB for each item, and 4 KB for every 4 KB of entries.
    let fetched = page(Some(Select::AllAttributes));
    assert_eq!(
        (fetched.count, fetched.last_evaluated_key.is_some()),
        (255, true)
    );
}

#[test]
fn global_reads_cost_the_index_alone() {
    let database = database();
    for i in 0..8 {
        let mut item = row(i);
        item.0.remove("l");
        let rest = 2_000
            - Item(
                item.0
                    .clone()
                    .into_iter()
                    .filter(|(name, _)| name != "x" && name != "y")
                    .collect(),
            )
            .size();
        item.0.insert("x".into(), x(rest - 1));
        put(&database, "Tab", item).unwrap();
    }
    let consumed = database
        .query(&global_query())
        .unwrap()
        .page
        .consumed_capacity;
    assert_eq!(
        (
            consumed.table,
            consumed.global_indexes["ggg"],
            consumed.total()
        ),
        (0.0, 2.0, 2.0)
    );
    let projected = QueryRequest {
        projection_expression: Some("x".into()),
        limit: Some(2),
        ..global_query()
    };
    assert_eq!(
        database
            .query(&projected)
            .unwrap()
            .page
            .consumed_capacity
            .total(),
        0.5
    );
}

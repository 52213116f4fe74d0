//! Corners of Query and Scan: where pages end and go on (docs/dynamodb.md 13.5, 13.7), in both directions, of tables and indexes.

use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Item};

fn of_partition(source: &str, attribute: &str, value: AttributeValue) -> QueryRequest {
    query_request(source, &format!("{attribute} = :v"), &[(":v", value)])
}

/// The text of the error of a query that starts after `start`; empty for success.
fn start_fault(database: &LocalDatabase, request: &QueryRequest, start: Item) -> String {
    let request = QueryRequest {
        exclusive_start_key: Some(start),
        ..request.clone()
    };
    database
        .query(&request)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn a_query_of_one_row_is_never_continued() {
    let simple = with_table("pk:S", &["G byA a:S ALL"]);
    put(&simple, "Tab", Item::from([("pk", s("p")), ("a", s("x"))])).unwrap();
    let sorted = with_table("pk:S sk:S", &[]);
    put(&sorted, "Tab", Item::from([("pk", s("p")), ("sk", s("x"))])).unwrap();
    let whole = query_request(
        "Tab",
        "pk = :v AND sk = :w",
        &[(":v", s("p")), (":w", s("x"))],
    );
    let one_row = "The query can return at most one row and cannot be restarted";
    for (database, request, key) in [
        (
            &simple,
            of_partition("Tab", "pk", s("p")),
            Item::from([("pk", s("p"))]),
        ),
        (&sorted, whole, Item::from([("pk", s("p")), ("sk", s("x"))])),
    ] {
        let limited = QueryRequest {
            limit: Some(1),
            ..request
        };
        assert_eq!(
            query_pages(database, limited.clone())
                .iter()
                .map(Vec::len)
                .collect::<Vec<_>>(),
            [1]
        );
        assert_eq!(start_fault(database, &limited, key), one_row);
    }
    // Limit met exactly: the last page is empty, as in the service.
    let limited = QueryRequest {
        limit: Some(1),
        ..of_partition("Tab", "pk", s("p"))
    };
    assert_eq!(
        query_pages(&sorted, limited)
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [1, 0]
    );
    let limited = QueryRequest {
        limit: Some(1),
        ..of_partition("Tab/byA", "a", s("x"))
    };
    assert_eq!(
        query_pages(&simple, limited)
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [1, 0]
    );
}

#[test]
fn table_of_refused_start_keys() {
    let database = with_table("pk:S sk:N", &["G byA a:S b:N ALL", "L byB b:N ALL"]);
    let key = |pk: &str, sk: &str| Item::from([("pk", s(pk)), ("sk", n(sk))]);
    let whole = of_partition("Tab", "pk", s("p"));
    let ranged = query_request(
        "Tab",
        "pk = :v AND sk > :w",
        &[(":v", s("p")), (":w", n("5"))],
    );
    let invalid = "The provided starting key is invalid";
    let schema =
        "The provided starting key is invalid: The provided key element does not match the schema";
    let cases = [
        (&whole, key("p", "1"), ""),
        (
            &whole,
            key("q", "1"),
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (&whole, Item::from([("pk", s("p"))]), invalid),
        (
            &whole,
            Item::from([("pk", s("p")), ("sk", n("1")), ("a", s("x"))]),
            invalid,
        ),
        (&whole, Item::from([("pk", s("p")), ("sk", s("1"))]), schema),
        (
            &ranged,
            key("p", "5"),
            "The provided starting key does not match the range key predicate",
        ),
        (&ranged, key("p", "6"), ""),
        (
            &ranged,
            key("q", "6"),
            "The query can return at most one row and cannot be restarted",
        ),
    ];
    for (request, start, expected) in cases {
        assert_eq!(
            start_fault(&database, request, start.clone()),
            expected,
            "{start:?}"
        );
    }
    let index = of_partition("Tab/byA", "a", s("x"));
    assert_eq!(start_fault(&database, &index, key("p", "1")), invalid);
    let mut full = key("p", "1");
    full.0
        .extend([("a".to_owned(), s("x")), ("b".to_owned(), n("1"))]);
    assert_eq!(start_fault(&database, &index, full.clone()), "");
    full.0.insert("b".to_owned(), s("1"));
    assert_eq!(start_fault(&database, &index, full), invalid);
}

/// Every page size and direction gives the same items, each once.
fn check_paging(database: &LocalDatabase, request: &QueryRequest, count: usize) {
    let (forward, _) = query(database, request);
    assert_eq!(forward.len(), count);
    for forwards in [true, false] {
        let mut expected = forward.clone();
        if !forwards {
            expected.reverse();
        }
        for limit in 1..=count + 1 {
            let request = QueryRequest {
                limit: u32::try_from(limit).ok(),
                scan_index_forward: forwards,
                ..request.clone()
            };
            let pages = query_pages(database, request);
            assert_eq!(
                pages.concat(),
                expected,
                "{limit} a page, forward {forwards}"
            );
            assert!(pages.iter().rev().skip(1).all(|page| page.len() == limit));
        }
    }
}

#[test]
fn ties_page_exactly_in_both_directions() {
    for key in ["pk:S", "pk:S sk:S"] {
        let database = with_table(key, &["G hash a:S ALL", "G both a:S b:N KEYS_ONLY"]);
        for i in 0..9 {
            let b = n(&(i / 4).to_string());
            put(
                &database,
                "Tab",
                Item::from([
                    ("pk", s(&i.to_string())),
                    ("sk", s("s")),
                    ("a", s("x")),
                    ("b", b),
                ]),
            )
            .unwrap();
        }
        check_paging(&database, &of_partition("Tab/hash", "a", s("x")), 9);
        check_paging(&database, &of_partition("Tab/both", "a", s("x")), 9);
        let tied = query_request(
            "Tab/both",
            "a = :a AND b = :b",
            &[(":a", s("x")), (":b", n("0"))],
        );
        check_paging(&database, &tied, 4);
    }
}

#[test]
fn local_index_ties_page_exactly_in_both_directions() {
    let database = with_table("pk:S sk:B", &["L byB b:S INCLUDE=v", "L same sk:B ALL"]);
    for (i, sort) in [&[0][..], &[0, 0], &[0, 255], &[255], &[255, 255], &[1]]
        .into_iter()
        .enumerate()
    {
        let tie = s(&(i % 2).to_string());
        put(
            &database,
            "Tab",
            Item::from([("pk", s("p")), ("sk", b(sort)), ("b", tie), ("w", n("1"))]),
        )
        .unwrap();
    }
    for source in ["Tab", "Tab/byB", "Tab/same"] {
        check_paging(&database, &of_partition(source, "pk", s("p")), 6);
    }
    let fetching = QueryRequest {
        select: Some(Select::AllAttributes),
        ..of_partition("Tab/byB", "pk", s("p"))
    };
    check_paging(&database, &fetching, 6);
    let ranged = query_request(
        "Tab",
        "pk = :v AND sk BETWEEN :l AND :u",
        &[(":v", s("p")), (":l", b(&[0, 0])), (":u", b(&[255]))],
    );
    check_paging(&database, &ranged, 4);
}

#[test]
fn a_start_key_need_not_exist() {
    let database = with_table("pk:S sk:N", &["G byA a:S ALL"]);
    for i in [1, 3, 5, 7] {
        put(
            &database,
            "Tab",
            Item::from([("pk", s("p")), ("sk", n(&i.to_string())), ("a", s("x"))]),
        )
        .unwrap();
    }
    for (start, forward, expected) in [
        ("4", true, &["5", "7"][..]),
        ("4", false, &["3", "1"]),
        ("0", true, &["1", "3", "5", "7"]),
        ("7", true, &[]),
        ("1", false, &[]),
    ] {
        let mut request = of_partition("Tab", "pk", s("p"));
        request.scan_index_forward = forward;
        request.exclusive_start_key = Some(Item::from([("pk", s("p")), ("sk", n(start))]));
        assert_eq!(
            column(&query(&database, &request).0, "sk"),
            expected,
            "{start} forward {forward}"
        );
    }
    // The item behind a cursor goes away between two pages.
    let limited = QueryRequest {
        limit: Some(2),
        ..of_partition("Tab/byA", "a", s("x"))
    };
    let (_, page) = query(&database, &limited);
    let cursor = page.last_evaluated_key.unwrap();
    let key = Item::from([("pk", s("p")), ("sk", cursor.get("sk").unwrap().clone())]);
    database
        .delete_item(DeleteItemRequest::new(table("Tab"), key))
        .unwrap();
    let (rest, _) = query(
        &database,
        &QueryRequest {
            exclusive_start_key: Some(cursor),
            ..limited
        },
    );
    assert_eq!(column(&rest, "sk"), ["5", "7"]);
}

#[test]
fn segments_page_and_refuse_each_other_s_keys() {
    let database = with_table("pk:S sk:N", &["G byA a:S ALL"]);
    for i in 0..60 {
        let a = s(&(i % 11).to_string());
        put(
            &database,
            "Tab",
            Item::from([
                ("pk", s(&(i % 13).to_string())),
                ("sk", n(&i.to_string())),
                ("a", a),
            ]),
        )
        .unwrap();
    }
    for source in ["Tab", "Tab/byA"] {
        for total in [1, 2, 7, 1_000_000] {
            let mut found = Vec::new();
            let mut cursors = Vec::new();
            // A million segments hold few partitions each: those of no item are passed over.
            for index in (0..total).take(7) {
                let request = ScanRequest {
                    segment: Some(Segment { index, total }),
                    limit: Some(3),
                    ..scan_request(source)
                };
                let pages = scan_pages(&database, request.clone());
                cursors.extend(
                    database
                        .scan(&request)
                        .unwrap()
                        .page
                        .last_evaluated_key
                        .map(|key| (index, key)),
                );
                found.extend(pages.concat());
            }
            assert!(total > 7 || found.len() == 60, "{source} {total}");
            for (of, key) in &cursors {
                for index in (0..total).take(7) {
                    let segment = Some(Segment { index, total });
                    let request = ScanRequest {
                        segment,
                        exclusive_start_key: Some(key.clone()),
                        ..scan_request(source)
                    };
                    assert_eq!(database.scan(&request).is_ok(), index == *of);
                }
            }
        }
    }
}

#[test]
fn long_keys_keep_their_order_in_table_and_indexes() {
    let database = with_table("pk:S sk:B", &["G byA a:S b:B ALL", "L byB b:B KEYS_ONLY"]);
    // Keys that share 0, 500, 1,000 bytes, of all lengths around the limits of the store.
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for shared in [0_usize, 400, 480, 488, 489, 490, 500, 508, 1_000, 1_023] {
        for tail in [&[][..], &[0], &[0, 0], &[1], &[255], &[255, 0], &[255, 255]] {
            let key = [&vec![0_u8; shared][..], tail].concat();
            let other = [&vec![255_u8; shared][..], tail].concat();
            keys.extend(
                [key, other]
                    .into_iter()
                    .filter(|key| (1..=1024).contains(&key.len())),
            );
        }
    }
    keys.sort();
    keys.dedup();
    let partition = "p".repeat(2048);
    for key in keys.iter().rev() {
        let item = Item::from([
            ("pk", s(&partition)),
            ("sk", b(key)),
            ("a", s(&partition)),
            ("b", b(key)),
        ]);
        put(&database, "Tab", item).unwrap();
    }
    let expected: Vec<AttributeValue> = keys.iter().map(|key| b(key)).collect();
    let sorts = |items: Vec<Item>| {
        items
            .iter()
            .map(|item| item.get("sk").unwrap().clone())
            .collect::<Vec<_>>()
    };
    for (source, attribute) in [("Tab", "pk"), ("Tab/byA", "a"), ("Tab/byB", "pk")] {
        let request = QueryRequest {
            limit: Some(5),
            ..of_partition(source, attribute, s(&partition))
        };
        assert_eq!(
            sorts(query_pages(&database, request.clone()).concat()),
            expected,
            "{source}"
        );
        let mut reversed = sorts(
            query_pages(
                &database,
                QueryRequest {
                    scan_index_forward: false,
                    ..request
                },
            )
            .concat(),
        );
        reversed.reverse();
        assert_eq!(reversed, expected, "{source} in reverse");
    }
    for prefix in [vec![0; 489], vec![255; 489], vec![0; 1_000], vec![255]] {
        for (source, attribute, sort) in [
            ("Tab", "pk", "sk"),
            ("Tab/byA", "a", "b"),
            ("Tab/byB", "pk", "b"),
        ] {
            let condition = format!("{attribute} = :v AND begins_with({sort}, :b)");
            let request = query_request(
                source,
                &condition,
                &[(":v", s(&partition)), (":b", b(&prefix))],
            );
            let expected: Vec<_> = keys
                .iter()
                .filter(|key| key.starts_with(&prefix))
                .map(|key| b(key))
                .collect();
            assert_eq!(
                sorts(query(&database, &request).0),
                expected,
                "{source} {}",
                prefix.len()
            );
        }
    }
    assert_clean(&database);
    for key in &keys {
        let key = Item::from([("pk", s(&partition)), ("sk", b(key))]);
        database
            .delete_item(DeleteItemRequest::new(table("Tab"), key))
            .unwrap();
    }
    assert_clean(&database);
}

#[test]
fn the_total_with_local_entries_is_limited_too() {
    // pk 3, sk 3, b 2, v; an ALL entry is as large as the item.
    let item = |bytes: usize| {
        Item::from([
            ("pk", s("p")),
            ("sk", s("s")),
            ("b", s("x")),
            ("v", x(bytes - 9)),
        ])
    };
    for (index, largest) in [
        ("L local b:S ALL", 204_800),
        ("G global b:S ALL", 409_600),
        ("L local b:S KEYS_ONLY", 409_592),
    ] {
        let database = with_table("pk:S sk:S", &[index]);
        assert!(put(&database, "Tab", item(largest)).is_ok(), "{index}");
        let error = put(&database, "Tab", item(largest + 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Item size has exceeded the maximum allowed size",
            "{index}"
        );
        assert_clean(&database);
    }
}

//! The rules of docs/requirements.md sections 1, 3, 4 and 6, one test for each that the engine's operations can show; names carry the ids.

use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::model::api::tables::{KeySchemaElement, ProjectionDefinition};
use ddbfs::model::api::*;
use ddbfs::model::schema::{BillingMode, KeyType, ProvisionedThroughput};
use ddbfs::model::{AttributeValue, Error, Item};

/// The text of a failure, the usual prefix as `IV: `; empty for success.
fn fault<T>(outcome: Result<T, Error>) -> String {
    let text = outcome
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    text.replace("One or more parameter values were invalid: ", "IV: ")
}

#[track_caller]
fn check_fault<T>(outcome: Result<T, Error>, expected: &str) {
    let found = fault(outcome);
    assert!(
        found.contains(expected) && found.is_empty() == expected.is_empty(),
        "found {found:?}, expected {expected:?}"
    );
}

/// A query of `Tab`, or of its index, for one partition.
fn of_partition(source: &str, attribute: &str, value: AttributeValue) -> QueryRequest {
    query_request(source, &format!("{attribute} = :v"), &[(":v", value)])
}

/// Names of an item's attributes.
fn names(item: &Item) -> Vec<&str> {
    item.0.keys().map(String::as_str).collect()
}

fn item_count(database: &LocalDatabase) -> u64 {
    database
        .describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        })
        .unwrap()
        .table
        .item_count
}

fn index_bytes(database: &LocalDatabase, place: usize) -> (u64, u64) {
    let described = database
        .describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        })
        .unwrap()
        .table;
    (
        described.indexes[place].item_count,
        described.indexes[place].index_size_bytes,
    )
}

/// Index arm of a put into the only index of `Tab`.
fn arm(database: &LocalDatabase, item: Item) -> Option<f64> {
    let consumed = put(database, "Tab", item).unwrap().consumed_capacity;
    consumed
        .global_indexes
        .values()
        .chain(consumed.local_indexes.values())
        .next()
        .copied()
}

fn delete(database: &LocalDatabase, key: Item) -> DeleteItemResponse {
    database
        .delete_item(DeleteItemRequest::new(table("Tab"), key))
        .unwrap()
}

// Section 1: tables, keys, partitions.

#[test]
fn p_01_one_or_two_key_attributes() {
    let with = |words: &str| {
        let element = |word: &str| KeySchemaElement {
            attribute_name: word.trim_end_matches('>').to_owned(),
            key_type: if word.ends_with('>') {
                KeyType::Range
            } else {
                KeyType::Hash
            },
        };
        let key_schema = words.split_whitespace().map(element).collect();
        database().create_table(CreateTableRequest {
            key_schema,
            ..definition("Tab", "pk:S sk:S", &[])
        })
    };
    check_fault(with("pk sk>"), "");
    check_fault(database().create_table(definition("Tab", "pk:S", &[])), "");
    check_fault(
        with("pk sk"),
        "The second KeySchemaElement is not a RANGE key type",
    );
    check_fault(
        with("sk> pk"),
        "The first KeySchemaElement is not a HASH key type",
    );
    check_fault(with(""), "Invalid KeySchema");
    check_fault(with("pk sk> pk>"), "Invalid KeySchema");
}

#[test]
fn p_02_a_key_is_unique() {
    let database = with_table("pk:S sk:N", &[]);
    for spelling in ["1000", "1e3", "1000.0", "+01000"] {
        put(
            &database,
            "Tab",
            Item::from([("pk", s("a")), ("sk", n(spelling)), ("v", s(spelling))]),
        )
        .unwrap();
    }
    assert_eq!(item_count(&database), 1);
    let found = get(
        &database,
        "Tab",
        Item::from([("pk", s("a")), ("sk", n("10E2"))]),
    )
    .unwrap();
    assert_eq!(
        found,
        Item::from([("pk", s("a")), ("sk", n("1000")), ("v", s("+01000"))])
    );
}

#[test]
fn p_03_attributes_need_no_schema() {
    let database = with_table("pk:S", &[]);
    let one = Item::from([("pk", s("1")), ("a", n("1"))]);
    let other = Item::from([
        ("pk", s("2")),
        ("b", AttributeValue::L(vec![AttributeValue::Null])),
    ]);
    for item in [&one, &other] {
        put(&database, "Tab", item.clone()).unwrap();
        assert_eq!(
            get(
                &database,
                "Tab",
                Item::from([("pk", item.get("pk").unwrap().clone())])
            )
            .as_ref(),
            Some(item)
        );
    }
}

#[test]
fn p_04_p_06_scan_is_in_hash_order_complete_and_stable() {
    let database = with_table("pk:S", &[]);
    let keys: Vec<String> = (0..200).map(|i| format!("{i:03}")).collect();
    keys.iter()
        .for_each(|key| drop(put(&database, "Tab", Item::from([("pk", s(key))])).unwrap()));
    let order = |limit| {
        let pages = scan_pages(
            &database,
            ScanRequest {
                limit,
                ..scan_request("Tab")
            },
        );
        column(&pages.concat(), "pk")
    };
    let mut found = order(None);
    assert_eq!(found, order(Some(7)));
    assert_ne!(found, keys);
    found.sort();
    assert_eq!(found, keys);
}

#[test]
fn p_05_p_18_p_19_p_20_a_partition_is_sorted_by_sort_key() {
    let database = with_table("pk:S sk:N", &[]);
    let sorted = [
        "-1E125", "-10", "-9.5", "-1E-130", "0", "1E-130", "0.5", "1", "2", "10", "1E125",
    ];
    for number in [
        "10", "-9.5", "1E-130", "2", "-1E125", "0", "1E125", "-10", "1", "0.5", "-1E-130",
    ] {
        put(
            &database,
            "Tab",
            Item::from([("pk", s("a")), ("sk", n(number))]),
        )
        .unwrap();
    }
    put(
        &database,
        "Tab",
        Item::from([("pk", s("b")), ("sk", n("0"))]),
    )
    .unwrap();
    let numbers = |items: &[Item]| {
        items
            .iter()
            .map(|item| item.get("sk").unwrap().clone())
            .collect::<Vec<_>>()
    };
    let mut expected: Vec<AttributeValue> = sorted.into_iter().map(n).collect();
    let mut request = of_partition("Tab", "pk", s("a"));
    assert_eq!(numbers(&query(&database, &request).0), expected);
    let condition = "pk = :v AND sk BETWEEN :l AND :u";
    let between = query_request(
        "Tab",
        condition,
        &[(":v", s("a")), (":l", n("-9.5")), (":u", n("0.50"))],
    );
    assert_eq!(numbers(&query(&database, &between).0), expected[2..7]);
    request.scan_index_forward = false;
    expected.reverse();
    assert_eq!(numbers(&query(&database, &request).0), expected);
    request.limit = Some(3);
    assert_eq!(numbers(&query_pages(&database, request).concat()), expected);
}

#[test]
fn p_09_answer_says_creating() {
    let response = database()
        .create_table(definition("Tab", "pk:S", &["G byA a:S ALL"]))
        .unwrap();
    assert_eq!(response.table_description.status, TableStatus::Creating);
    assert_eq!(
        response.table_description.indexes[0].status,
        TableStatus::Creating
    );
    check_fault(
        put(&database(), "Tab", Item::from([("pk", s("a"))])),
        "Requested resource not found",
    );
}

#[test]
fn p_17_get_needs_the_whole_key() {
    let database = with_table("pk:S sk:S", &[]);
    let read = |key| database.get_item(GetItemRequest::new(table("Tab"), key));
    let mismatch = "The provided key element does not match the schema";
    check_fault(read(Item::from([("pk", s("a"))])), mismatch);
    check_fault(read(Item::from([("pk", s("a")), ("sk", n("1"))])), mismatch);
    check_fault(
        read(Item::from([("pk", s("a")), ("sk", s("b")), ("c", s("d"))])),
        mismatch,
    );
    check_fault(
        read(Item::from([("pk", s("a")), ("other", s("b"))])),
        mismatch,
    );
    check_fault(read(Item::from([("pk", s("a")), ("sk", s("b"))])), "");
}

#[test]
fn p_21_p_23_pages_of_one_mebibyte() {
    let database = with_table("pk:S sk:N", &[]);
    // 3 MiB: 1,024 items of 3,072 bytes; the 342nd passes the mebibyte, and is the page's last.
    for i in 0..1_024 {
        let sort = n(&(i + 1_000).to_string());
        let rest = 3_072 - (2 + 1) - (2 + sort.size()) - 1;
        put(
            &database,
            "Tab",
            Item::from([("pk", s("a")), ("sk", sort), ("v", x(rest))]),
        )
        .unwrap();
    }
    let pages = query_pages(&database, of_partition("Tab", "pk", s("a")));
    assert_eq!(
        pages.iter().map(Vec::len).collect::<Vec<_>>(),
        [342, 342, 340]
    );
    assert!(
        pages
            .iter()
            .all(|page| page.iter().map(Item::size).sum::<usize>() < 1_048_576 + 3_072)
    );
    assert_eq!(pages.concat().len(), 1_024);
    let scanned = scan_pages(&database, scan_request("Tab"));
    assert_eq!(scanned.concat(), pages.concat());
}

#[test]
fn p_23_a_page_may_be_full_to_the_byte() {
    // 2 + 1 + 2 + 2 + 1 of keys and name; four of a quarter of a page are one page exactly.
    for (bytes, expected) in [(262_144, &[4, 1][..]), (262_143, &[5, 0][..])] {
        let database = with_table("pk:S sk:N", &[]);
        for i in 1..=5 {
            put(
                &database,
                "Tab",
                Item::from([
                    ("pk", s("a")),
                    ("sk", n(&i.to_string())),
                    ("v", x(bytes - 8)),
                ]),
            )
            .unwrap();
        }
        let pages = query_pages(&database, of_partition("Tab", "pk", s("a")));
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn p_22_t_19_queries_need_equality_on_the_partition_key() {
    let database = with_table("pk:S sk:S", &["G byA a:S b:S ALL"]);
    let values = [(":v", s("a")), (":w", s("b"))];
    for (source, condition, expected) in [
        (
            "Tab",
            "pk > :v AND sk = :w",
            "Query key condition not supported",
        ),
        (
            "Tab",
            "sk = :v AND sk2 = :w",
            "Query condition missed key schema element: pk",
        ),
        (
            "Tab/byA",
            "pk = :v AND sk = :w",
            "Query condition missed key schema element: a",
        ),
        (
            "Tab/byA",
            "begins_with(a, :v) AND b = :w",
            "Query key condition not supported",
        ),
    ] {
        check_fault(
            database.query(&query_request(source, condition, &values)),
            expected,
        );
    }
    let none = QueryRequest {
        key_condition_expression: None,
        ..query_request("Tab", "", &[])
    };
    let expected = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.";
    check_fault(database.query(&none), expected);
}

// Section 3: structure and reading of global indexes.

#[test]
fn g_01_g_24_g_25_query_and_scan_of_an_index() {
    let database = samples();
    let mut request = query_request(
        "GameScores/GameTitleIndex",
        "GameTitle = :v_title",
        &[(":v_title", s("Meteor Blasters"))],
    );
    request.projection_expression = Some("UserId, TopScore".to_owned());
    request.scan_index_forward = false;
    let expected = [("101", "1000"), ("103", "723")]
        .map(|(user, score)| Item::from([("UserId", s(user)), ("TopScore", n(score))]));
    assert_eq!(query(&database, &request).0, expected);
    let scanned = database
        .scan(&scan_request("GameScores/GameTitleIndex"))
        .unwrap();
    assert_eq!((scanned.page.scanned_count, scanned.page.count), (12, 12));
    assert_eq!(
        database
            .scan(&scan_request("GameScores"))
            .unwrap()
            .page
            .scanned_count,
        13
    );
}

#[test]
fn g_03_g_08_g_15_g_16_g_17_projections() {
    let indexes = [
        "G keys a:S KEYS_ONLY",
        "G some a:S INCLUDE=v",
        "G all a:S ALL",
    ];
    let database = with_table("pk:S sk:S", &indexes);
    let item = Item::from([
        ("pk", s("p")),
        ("sk", s("s")),
        ("a", s("x")),
        ("v", n("1")),
        ("w", n("2")),
    ]);
    put(&database, "Tab", item.clone()).unwrap();
    for (index, expected) in [
        ("keys", &["a", "pk", "sk"][..]),
        ("some", &["a", "pk", "sk", "v"]),
        ("all", &["a", "pk", "sk", "v", "w"]),
    ] {
        let (items, _) = query(
            &database,
            &of_partition(&format!("Tab/{index}"), "a", s("x")),
        );
        assert_eq!(
            items.iter().map(names).collect::<Vec<_>>(),
            [expected],
            "{index}"
        );
    }
}

#[test]
fn g_04_g_05_g_06_index_keys_of_any_shape() {
    for (key, index) in [
        ("pk:S", "G byA a:N b:B ALL"),
        ("pk:S sk:S", "G byA a:N ALL"),
        ("pk:S sk:S", "G byA sk:S pk:S ALL"),
        ("pk:S sk:S", "G byA pk:S sk:S ALL"),
        ("pk:S sk:S", "G Tab sk:S ALL"),
    ] {
        check_fault(
            database().create_table(definition("Tab", key, &[index])),
            "",
        );
    }
    let mut request = definition("Tab", "pk:S", &["G byA a:S ALL"]);
    request.global_indexes.as_mut().unwrap()[0].key_schema[0].key_type = KeyType::Range;
    check_fault(
        database().create_table(request),
        "The first KeySchemaElement is not a HASH key type",
    );
}

#[test]
fn g_07_g_34_l_20_index_keys_have_the_declared_type() {
    let database = with_table("pk:S sk:S", &["G global a:S ALL", "L local b:N ALL"]);
    let bad = [
        AttributeValue::Null,
        AttributeValue::Bool(true),
        AttributeValue::L(vec![]),
        b(b"x"),
    ];
    for value in bad {
        for (name, index, expected) in [("a", "global", "S"), ("b", "local", "N")] {
            let item = Item::from([("pk", s("p")), ("sk", s("s")), (name, value.clone())]);
            let actual = value.attribute_type();
            let text = format!(
                "IV: Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"
            );
            assert_eq!(fault(put(&database, "Tab", item)), text);
        }
    }
    let empty = Item::from([("pk", s("p")), ("sk", s("s")), ("a", s(""))]);
    check_fault(
        put(&database, "Tab", empty),
        "cannot contain an empty string value. IndexName: global, IndexKey: a",
    );
    assert_eq!(item_count(&database), 0);
    assert_clean(&database);
}

#[test]
fn g_09_l_10_any_type_is_projected() {
    let database = with_table(
        "pk:S sk:S",
        &["G global a:S INCLUDE=m,l,ss", "L local a:S INCLUDE=bs,ns,t"],
    );
    let map = AttributeValue::M(
        [(
            "x".to_owned(),
            AttributeValue::L(vec![n("1"), AttributeValue::Null]),
        )]
        .into(),
    );
    let item = Item::from([
        ("pk", s("p")),
        ("sk", s("s")),
        ("a", s("x")),
        ("m", map),
        ("l", AttributeValue::L(vec![])),
        (
            "ss",
            AttributeValue::string_set(vec!["b".into(), "".into()]).unwrap(),
        ),
        (
            "bs",
            AttributeValue::binary_set(vec![vec![0], vec![]]).unwrap(),
        ),
        (
            "ns",
            AttributeValue::number_set(vec!["2".parse().unwrap(), "1".parse().unwrap()]).unwrap(),
        ),
        ("t", AttributeValue::Bool(false)),
    ]);
    put(&database, "Tab", item.clone()).unwrap();
    let found = [
        of_partition("Tab/global", "a", s("x")),
        of_partition("Tab/local", "pk", s("p")),
    ];
    let mut merged = Item::default();
    found
        .iter()
        .flat_map(|request| query(&database, request).0)
        .for_each(|part| merged.0.extend(part.0));
    assert_eq!(merged, item);
}

#[test]
fn g_10_a_global_index_has_only_what_is_projected() {
    let database = with_table("pk:S", &["G byA a:S INCLUDE=v"]);
    put(
        &database,
        "Tab",
        Item::from([("pk", s("p")), ("a", s("x")), ("v", n("1")), ("w", n("2"))]),
    )
    .unwrap();
    let mut request = of_partition("Tab/byA", "a", s("x"));
    assert_eq!(names(&query(&database, &request).0[0]), ["a", "pk", "v"]);
    request.projection_expression = Some("w, v, z.y".to_owned());
    check_fault(
        database.query(&request),
        "IV: Global secondary index byA does not project [w, z]",
    );
    request.projection_expression = None;
    request.select = Some(Select::AllAttributes);
    check_fault(
        database.query(&request),
        "Select type ALL_ATTRIBUTES is not supported for global secondary index byA",
    );
}

#[test]
fn g_11_g_12_l_14_index_keys_repeat() {
    for indexes in [["G index a:S b:N ALL"], ["L index b:N ALL"]] {
        let database = with_table("pk:S sk:S", &indexes);
        let partition = if indexes[0].starts_with('G') {
            "a"
        } else {
            "pk"
        };
        for i in 0..9 {
            put(
                &database,
                "Tab",
                Item::from([
                    ("pk", s("p")),
                    ("sk", s(&i.to_string())),
                    ("a", s("p")),
                    ("b", n("7")),
                ]),
            )
            .unwrap();
        }
        for forward in [true, false] {
            let values = [(":v", s("p")), (":b", n("7.0"))];
            let request = query_request(
                "Tab/index",
                &format!("{partition} = :v AND b = :b"),
                &values,
            );
            let request = QueryRequest {
                limit: Some(2),
                scan_index_forward: forward,
                ..request
            };
            let pages = query_pages(&database, request);
            let mut keys = column(&pages.concat(), "sk");
            keys.sort();
            assert_eq!(keys, ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
        }
    }
}

#[test]
fn g_13_g_14_g_35_l_21_l_22_sparse() {
    let database = with_table("pk:S sk:S", &["G both a:S b:N ALL", "L local b:N ALL"]);
    let key = [("pk", s("p")), ("sk", s("s"))];
    for (extra, entries) in [
        (vec![], (0, 0)),
        (vec![("a", s("x"))], (0, 0)),
        (vec![("b", n("1"))], (0, 1)),
        (vec![("a", s("x")), ("b", n("1"))], (1, 1)),
        (vec![("a", s("x"))], (0, 0)),
    ] {
        let mut item = Item::from(key.clone());
        item.0.extend(
            extra
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        put(&database, "Tab", item).unwrap();
        // Indexes are described local first, as they are stored.
        assert_eq!(
            (index_bytes(&database, 1).0, index_bytes(&database, 0).0),
            entries
        );
        assert_clean(&database);
    }
}

#[test]
fn g_18_an_index_says_what_it_projects() {
    let mut request = definition("Tab", "pk:S", &["G byA a:S ALL"]);
    request.global_indexes.as_mut().unwrap()[0].projection = ProjectionDefinition::default();
    check_fault(
        database().create_table(request),
        "IV: Unknown ProjectionType: null",
    );
}

#[test]
fn g_19_g_21_g_63_g_64_l_31_sizes_of_indexes() {
    let indexes = [
        "G keys a:S KEYS_ONLY",
        "G all a:S ALL",
        "L local b:S KEYS_ONLY",
    ];
    let database = with_table("pk:S sk:S", &indexes);
    for i in 0..10 {
        let sort = i.to_string();
        put(
            &database,
            "Tab",
            Item::from([
                ("pk", s("p")),
                ("sk", s(&sort)),
                ("a", s("x")),
                ("b", s("y")),
                ("v", x(50)),
            ]),
        )
        .unwrap();
    }
    put(
        &database,
        "Tab",
        Item::from([("pk", s("p")), ("sk", s("none"))]),
    )
    .unwrap();
    // pk + p, sk + digit; a + x; b + y; v + 50.
    assert_eq!(
        index_bytes(&database, 0),
        (10, 10 * (3 + 3 + 2 + 100)),
        "local"
    );
    assert_eq!(
        index_bytes(&database, 1),
        (10, 10 * (3 + 3 + 2 + 100)),
        "keys"
    );
    assert_eq!(
        index_bytes(&database, 2),
        (10, 10 * (3 + 3 + 2 + 2 + 51 + 100)),
        "all"
    );
    assert_clean(&database);
}

#[test]
fn g_26_no_consistent_reads_of_a_global_index() {
    let database = with_table("pk:S sk:S", &["G byA a:S ALL", "L local b:S ALL"]);
    let expected = "Consistent reads are not supported on global secondary indexes";
    let query = |source, name, consistent_read| {
        database.query(&QueryRequest {
            consistent_read,
            ..of_partition(source, name, s("x"))
        })
    };
    let scan = |source| {
        database.scan(&ScanRequest {
            consistent_read: true,
            ..scan_request(source)
        })
    };
    check_fault(query("Tab/byA", "a", true), expected);
    check_fault(query("Tab/byA", "a", false), "");
    check_fault(query("Tab/local", "pk", true), "");
    check_fault(scan("Tab/byA"), expected);
    check_fault(scan("Tab/local"), "");
}

// Section 4: maintenance and cost.

#[test]
fn g_30_l_19_b_7_an_index_follows_its_table() {
    let key = [("pk", s("p")), ("sk", s("s"))];
    let with = |extra: &[(&str, AttributeValue)]| {
        let mut item = Item::from(key.clone());
        item.0.extend(
            extra
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        item
    };
    for index in ["G index a:S KEYS_ONLY", "L index a:S KEYS_ONLY"] {
        let database = with_table("pk:S sk:S", &[index]);
        // G-55, G-53, G-56, G-57, G-58, and the same item again.
        assert_eq!(arm(&database, with(&[("a", s("x"))])), Some(1.0));
        assert_eq!(arm(&database, with(&[("a", s("x")), ("c", n("1"))])), None);
        assert_eq!(arm(&database, with(&[("a", s("y"))])), Some(2.0));
        assert_eq!(arm(&database, with(&[("a", s("y"))])), None);
        assert_eq!(arm(&database, with(&[])), Some(1.0));
        assert_eq!(arm(&database, with(&[("c", n("2"))])), None);
        assert_eq!(arm(&database, with(&[("a", s("x"))])), Some(1.0));
        let consumed = delete(&database, Item::from(key.clone())).consumed_capacity;
        assert_eq!((consumed.table, consumed.total()), (1.0, 2.0));
        assert_eq!(index_bytes(&database, 0), (0, 0));
        let missing = delete(&database, Item::from(key.clone()));
        assert_eq!(
            (missing.existed, missing.consumed_capacity.total()),
            (false, 1.0)
        );
        assert_clean(&database);
    }
}

#[test]
fn g_36_g_52_l_23_each_index_adds_its_arm() {
    let indexes = ["G one a:S ALL", "G two b:S ALL", "L three a:S ALL"];
    let database = with_table("pk:S sk:S", &indexes);
    let item = Item::from([("pk", s("p")), ("sk", s("s")), ("a", s("x")), ("b", s("y"))]);
    let consumed = put(&database, "Tab", item).unwrap().consumed_capacity;
    assert_eq!(
        (
            consumed.table,
            consumed.global_indexes.len(),
            consumed.local_indexes.len()
        ),
        (1.0, 2, 1)
    );
    assert_eq!(consumed.total(), 4.0);
}

#[test]
fn g_41_on_demand_indexes_have_no_throughput_and_provisioned_ones_must() {
    let units = Some(ProvisionedThroughput {
        read_capacity_units: 1,
        write_capacity_units: 1,
    });
    let mut request = definition("Tab", "pk:S", &["G byA a:S ALL"]);
    request.global_indexes.as_mut().unwrap()[0].throughput = units;
    let text = "IV: ProvisionedThroughput should not be specified for index: byA when BillingMode is PAY_PER_REQUEST";
    check_fault(database().create_table(request), text);
    let mut request = definition("Tab", "pk:S", &["G byA a:S ALL"]);
    (request.billing_mode, request.throughput) = (Some(BillingMode::Provisioned), units);
    check_fault(
        database().create_table(request),
        "IV: ProvisionedThroughput is not specified for index: byA",
    );
}

#[test]
fn g_42_g_48_g_49_g_50_l_25_l_26_reads_of_an_index_cost_its_entries() {
    let database = with_table("pk:S sk:N", &["G global a:S ALL", "L local b:N ALL"]);
    // Eight items of 2,000 bytes: pk 3, sk 4, a 2, b 3, v.
    for i in 1..=8 {
        let number = n(&i.to_string());
        let item = Item::from([
            ("pk", s("p")),
            ("sk", number.clone()),
            ("a", s("x")),
            ("b", number),
            ("v", x(1_987)),
        ]);
        assert_eq!(item.size(), 2_000);
        put(&database, "Tab", item).unwrap();
    }
    let consumed = query(&database, &of_partition("Tab/global", "a", s("x")))
        .1
        .consumed_capacity;
    assert_eq!(
        (
            consumed.table,
            consumed.global_indexes["global"],
            consumed.total()
        ),
        (0.0, 2.0, 2.0)
    );
    for (consistent_read, units) in [(false, 2.0), (true, 4.0)] {
        let request = QueryRequest {
            consistent_read,
            ..of_partition("Tab/local", "pk", s("p"))
        };
        let consumed = query(&database, &request).1.consumed_capacity;
        assert_eq!(
            (consumed.table, consumed.local_indexes["local"]),
            (0.0, units)
        );
        let request = QueryRequest {
            consistent_read,
            ..of_partition("Tab", "pk", s("p"))
        };
        assert_eq!(
            query(&database, &request).1.consumed_capacity.total(),
            units
        );
    }
    let request = QueryRequest {
        limit: Some(4),
        ..of_partition("Tab/global", "a", s("x"))
    };
    assert_eq!(query(&database, &request).1.consumed_capacity.total(), 1.0);
}

#[test]
fn g_59_g_60_l_30_larger_entries_cost_more() {
    for index in ["G index a:S INCLUDE=v", "L index a:S INCLUDE=v"] {
        let database = with_table("pk:S sk:S", &[index]);
        let item = |bytes: usize, a: &str| {
            Item::from([("pk", s("p")), ("sk", s("s")), ("a", s(a)), ("v", x(bytes))])
        };
        assert_eq!(arm(&database, item(2_560, "x")), Some(3.0));
        assert_eq!(
            arm(&database, item(10, "x")),
            Some(3.0),
            "the larger of both"
        );
        assert_eq!(arm(&database, item(11, "x")), Some(1.0));
        assert_eq!(
            arm(&database, item(1_100, "y")),
            Some(3.0),
            "1 and 2, each rounded"
        );
        assert_clean(&database);
    }
}

#[test]
fn index_key_changes_of_equal_value_cost_nothing() {
    let database = with_table("pk:S sk:S", &["G index a:N KEYS_ONLY"]);
    let item = |a: &str| Item::from([("pk", s("p")), ("sk", s("s")), ("a", n(a))]);
    assert_eq!(arm(&database, item("10")), Some(1.0));
    assert_eq!(arm(&database, item("1e1")), None);
}

// Section 6: local indexes.

#[test]
fn l_01_l_17_another_order_of_the_same_partition() {
    let database = with_table("pk:S sk:S", &["L local b:B KEYS_ONLY"]);
    let values: &[&[u8]] = &[
        &[0],
        &[0, 0],
        &[0, 1],
        &[0, 255],
        &[1],
        &[1, 0],
        &[255],
        &[255, 0],
        &[255, 255],
    ];
    for (i, value) in values.iter().enumerate().rev() {
        put(
            &database,
            "Tab",
            Item::from([
                ("pk", s("p")),
                ("sk", s(&format!("{}", 9 - i))),
                ("b", b(value)),
            ]),
        )
        .unwrap();
    }
    let found = |request: &QueryRequest| -> Vec<AttributeValue> {
        query(&database, request)
            .0
            .iter()
            .map(|item| item.get("b").unwrap().clone())
            .collect()
    };
    let mut expected: Vec<AttributeValue> = values.iter().map(|value| b(value)).collect();
    let mut request = of_partition("Tab/local", "pk", s("p"));
    assert_eq!(found(&request), expected);
    let starting = |prefix: &[u8]| {
        found(&query_request(
            "Tab/local",
            "pk = :v AND begins_with(b, :b)",
            &[(":v", s("p")), (":b", b(prefix))],
        ))
    };
    assert_eq!(starting(&[0]), expected[..4]);
    assert_eq!(starting(&[255]), expected[6..]);
    assert_eq!(starting(&[255, 255]), expected[8..]);
    request.scan_index_forward = false;
    expected.reverse();
    assert_eq!(found(&request), expected);
}

#[test]
fn l_02_l_03_l_04_l_06_definitions_of_local_indexes() {
    let local = [
        "L ix1 a:S ALL",
        "L ix2 a:S ALL",
        "L ix3 a:S ALL",
        "L ix4 a:S ALL",
        "L ix5 a:S ALL",
        "L ix6 a:S ALL",
    ];
    let create =
        |indexes: &[&str]| database().create_table(definition("Tab", "pk:S sk:S", indexes));
    check_fault(create(&local[..5]), "");
    check_fault(
        create(&local),
        "IV: Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    );
    check_fault(create(&["L same sk:S ALL"]), "");
    let mut request = definition("Tab", "pk:S sk:S", &["L local a:S ALL"]);
    request.local_indexes.as_mut().unwrap()[0].key_schema = request.key_schema.clone();
    request.attribute_definitions.pop();
    check_fault(database().create_table(request), "");
    let mut request = definition("Tab", "pk:S sk:S", &["L local a:S ALL"]);
    request.local_indexes.as_mut().unwrap()[0].key_schema[0].attribute_name = "sk".to_owned();
    check_fault(
        database().create_table(request),
        "Index KeySchema does not have the same leading hash key as table KeySchema",
    );
}

#[test]
fn m_01_twenty_global_indexes() {
    let indexes: Vec<String> = (0..21).map(|i| format!("G ix{i} a:S ALL")).collect();
    let indexes: Vec<&str> = indexes.iter().map(String::as_str).collect();
    let create =
        |indexes: &[&str]| database().create_table(definition("Tab", "pk:S sk:S", indexes));
    check_fault(create(&indexes[..20]), "");
    check_fault(
        create(&indexes),
        "IV: GlobalSecondaryIndex count exceeds the per-table limit of 20",
    );
}

#[test]
fn l_05_an_entry_holds_the_table_s_sort_key() {
    let database = with_table("pk:S sk:S", &["L local b:N KEYS_ONLY"]);
    put(
        &database,
        "Tab",
        Item::from([("pk", s("p")), ("sk", s("s")), ("b", n("1")), ("v", s("v"))]),
    )
    .unwrap();
    assert_eq!(
        names(&query(&database, &of_partition("Tab/local", "pk", s("p"))).0[0]),
        ["b", "pk", "sk"]
    );
}

#[test]
fn l_08_indexes_go_with_their_table() {
    let database = with_table("pk:S sk:S", &["L local b:N ALL"]);
    put(
        &database,
        "Tab",
        Item::from([("pk", s("p")), ("sk", s("s")), ("b", n("1"))]),
    )
    .unwrap();
    database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    check_fault(
        database.query(&of_partition("Tab/local", "pk", s("p"))),
        "Requested resource not found",
    );
    assert_clean(&database);
    database
        .create_table(definition("Tab", "pk:S sk:S", &["L local b:N ALL"]))
        .unwrap();
    assert_eq!(
        query(&database, &of_partition("Tab/local", "pk", s("p"))).0,
        []
    );
}

#[test]
fn l_11_l_12_l_27_l_29_d_04_fetches_from_the_table() {
    // Four items of 300 bytes, 200 of them projected: pk 3, sk 4, b 3, v, w.
    let database = with_table("pk:S sk:N", &["L local b:N INCLUDE=v"]);
    for i in 1..=4 {
        let number = n(&i.to_string());
        let item = Item::from([
            ("pk", s("p")),
            ("sk", number.clone()),
            ("b", number),
            ("v", x(189)),
            ("w", x(99)),
        ]);
        assert_eq!(item.size(), 300);
        put(&database, "Tab", item).unwrap();
    }
    let consumed = |request: &QueryRequest| {
        let (items, page) = query(&database, request);
        (
            items[0].0.len(),
            page.consumed_capacity.local_indexes["local"],
            page.consumed_capacity.table,
        )
    };
    let mut request = of_partition("Tab/local", "pk", s("p"));
    assert_eq!(consumed(&request), (4, 0.5, 0.0));
    request.projection_expression = Some("v, b".to_owned());
    assert_eq!(consumed(&request), (2, 0.5, 0.0));
    request.projection_expression = Some("w".to_owned());
    assert_eq!(consumed(&request), (1, 0.5, 2.0));
    request.projection_expression = None;
    request.select = Some(Select::AllAttributes);
    assert_eq!(consumed(&request), (5, 0.5, 2.0));
    request.consistent_read = true;
    assert_eq!(consumed(&request), (5, 1.0, 4.0));
    request.select = Some(Select::AllProjectedAttributes);
    assert_eq!(consumed(&request), (4, 1.0, 0.0));
    let scan = ScanRequest {
        select: Some(Select::AllAttributes),
        ..scan_request("Tab/local")
    };
    let scanned = database.scan(&scan).unwrap();
    assert_eq!(
        (
            scanned.items.unwrap()[0].0.len(),
            scanned.page.consumed_capacity.table
        ),
        (5, 2.0)
    );
}

#[test]
fn l_28_fetched_items_fill_a_page_in_whole_read_units() {
    // 300 items of 5,000 bytes count 8 KiB each, and their 300 entries of some bytes 4 KiB together: the 128th passes the mebibyte.
    let database = with_table("pk:S sk:N", &["L local b:N KEYS_ONLY"]);
    for i in 0..300 {
        let number = n(&(i + 1_000).to_string());
        put(
            &database,
            "Tab",
            Item::from([
                ("pk", s("p")),
                ("sk", number.clone()),
                ("b", number),
                ("v", x(5_000)),
            ]),
        )
        .unwrap();
    }
    let request = QueryRequest {
        select: Some(Select::AllAttributes),
        ..of_partition("Tab/local", "pk", s("p"))
    };
    let (_, page) = query(&database, &request);
    assert_eq!(page.consumed_capacity.table, 128.0);
    let pages = query_pages(&database, request);
    assert_eq!(
        pages.iter().map(Vec::len).collect::<Vec<_>>(),
        [128, 128, 44]
    );
}

#[test]
fn l_15_local_indexes_are_read_as_they_are_now() {
    let database = with_table("pk:S sk:S", &["L local b:N ALL"]);
    for i in 0..20 {
        put(
            &database,
            "Tab",
            Item::from([("pk", s("p")), ("sk", s("s")), ("b", n(&i.to_string()))]),
        )
        .unwrap();
        let request = QueryRequest {
            consistent_read: true,
            ..of_partition("Tab/local", "pk", s("p"))
        };
        assert_eq!(column(&query(&database, &request).0, "b"), [i.to_string()]);
    }
}

#[test]
fn l_16_fetched_attributes_are_of_the_entry_s_moment() {
    let database = std::sync::Arc::new(with_table("pk:S sk:S", &["L local b:N KEYS_ONLY"]));
    let item = |i: usize| {
        Item::from([
            ("pk", s("p")),
            ("sk", s("s")),
            ("b", n(&i.to_string())),
            ("v", n(&i.to_string())),
        ])
    };
    put(&database, "Tab", item(0)).unwrap();
    let writer = {
        let database = database.clone();
        std::thread::spawn(move || {
            (1..500).for_each(|i| drop(put(&database, "Tab", item(i)).unwrap()))
        })
    };
    while !writer.is_finished() {
        let request = QueryRequest {
            projection_expression: Some("b, v".into()),
            ..of_partition("Tab/local", "pk", s("p"))
        };
        let (items, _) = query(&database, &request);
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].get("b"), items[0].get("v"));
    }
    writer.join().unwrap();
}

#[test]
fn l_18_an_index_is_scanned_whole() {
    let database = with_table("pk:S sk:S", &["L local b:N ALL"]);
    for i in 0..30 {
        let mut item = Item::from([
            ("pk", s(&(i % 7).to_string())),
            ("sk", s(&i.to_string())),
            ("v", n("1")),
        ]);
        if i % 3 == 0 {
            item.0.insert("b".to_owned(), n(&i.to_string()));
        }
        put(&database, "Tab", item).unwrap();
    }
    for total in [1, 3, 8] {
        let segments = (0..total).flat_map(|index| {
            let segment = Some(Segment { index, total });
            scan_pages(
                &database,
                ScanRequest {
                    segment,
                    limit: Some(1),
                    ..scan_request("Tab/local")
                },
            )
            .concat()
        });
        let mut found: Vec<u32> = column(&segments.collect::<Vec<_>>(), "b")
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        found.sort_unstable();
        assert_eq!(found, (0..30).step_by(3).collect::<Vec<_>>());
    }
}

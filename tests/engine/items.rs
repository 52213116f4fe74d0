//! PutItem, GetItem, DeleteItem: keys, sizes, versions, index maintenance, capacity (docs/dynamodb.md 5, 6, 9, 10, 12).

use std::sync::Arc;

use crate::support::engine::*;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database, SourceName};
use ddbfs::engine::EngineOptions;
use ddbfs::engine::check::check;
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::tables::{IndexDefinition, ProjectionDefinition, ProjectionType};
use ddbfs::model::api::*;
use ddbfs::model::error::{KeyError, ValueError};
use ddbfs::model::schema::{BillingMode, IndexKind, KeyAttributeType, KeyType};
use ddbfs::model::{AttributeValue, Error, IndexName, Item, KeyAttribute};

/// Table `Tab` (pk S, sk S), GSI `g` on a (S) with KEYS_ONLY, LSI `l` on b (S) with ALL if asked for.
fn create(database: &LocalDatabase, is_local: bool) {
    let element = |name: &str, key_type| KeySchemaElement {
        attribute_name: name.into(),
        key_type,
    };
    let (pk, sk) = (element("pk", KeyType::Hash), element("sk", KeyType::Range));
    let index = |name: &str, kind, key_schema, projection_type| IndexDefinition {
        name: IndexName::new(name).unwrap(),
        kind,
        key_schema,
        projection: ProjectionDefinition {
            projection_type: Some(projection_type),
            non_key_attributes: None,
        },
        throughput: None,
        settings: Default::default(),
        vector: None,
    };
    let global = index(
        "ggg",
        IndexKind::Global,
        vec![element("a", KeyType::Hash)],
        ProjectionType::KeysOnly,
    );
    let local = index(
        "lll",
        IndexKind::Local,
        vec![pk.clone(), element("b", KeyType::Range)],
        ProjectionType::All,
    );
    let names = ["pk", "sk", "a", "b"]
        .into_iter()
        .take(if is_local { 4 } else { 3 });
    let definition = |name: &str| KeyAttribute {
        name: name.into(),
        attribute_type: KeyAttributeType::S,
    };
    let request = CreateTableRequest {
        table_name: table("Tab"),
        attribute_definitions: names.map(definition).collect(),
        key_schema: vec![pk, sk],
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: is_local.then(|| vec![local]),
        global_indexes: Some(vec![global]),
        deletion_protection: false,
        settings: Default::default(),
        vector_indexes: None,
    };
    database.create_table(request).unwrap();
}

fn tab(is_local: bool) -> LocalDatabase {
    let database = database();
    create(&database, is_local);
    database
}

fn key() -> Item {
    Item::from([("pk", s("p")), ("sk", s("s"))])
}

fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    let mut item = key();
    item.0.extend(Item::from(attributes).0);
    item
}

fn check_error(attributes: Item, expected: &str) {
    let database = tab(true);
    let error = put(&database, "Tab", attributes).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(database.scan(&scan_request("Tab")).unwrap().page.count, 0);
}

#[test]
fn table_of_key_errors_of_a_put() {
    let iv = "One or more parameter values were invalid: ";
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: ";
    let check = |pairs: &[(&str, AttributeValue)], expected: &str| {
        let item = Item(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        );
        check_error(item, expected);
    };
    check(
        &[("sk", s("s"))],
        &format!("{iv}Missing the key pk in the item"),
    );
    check(
        &[("pk", s("p"))],
        &format!("{iv}Missing the key sk in the item"),
    );
    check(
        &[("pk", n("1")), ("sk", s("s"))],
        &format!("{iv}Type mismatch for key pk expected: S actual: N"),
    );
    check(
        &[("pk", s("p")), ("sk", AttributeValue::Bool(true))],
        &format!("{iv}Type mismatch for key sk expected: S actual: BOOL"),
    );
    check(&[("pk", s("")), ("sk", s("s"))], &format!("{empty}pk"));
    check(&[("pk", s("p")), ("sk", s(""))], &format!("{empty}sk"));
    let hash = format!("{iv}Size of hashkey has exceeded the maximum size limit of2048 bytes");
    check(&[("pk", x(2049)), ("sk", s("s"))], &hash);
    let range =
        format!("{iv}Aggregated size of all range keys has exceeded the size limit of 1024 bytes");
    check(&[("pk", x(2048)), ("sk", x(1025))], &range);
}

#[test]
fn table_of_index_key_errors_of_a_put() {
    let with = |name: &str, value| item([(name, value)]);
    let mismatch = |index, name, actual| {
        format!(
            "One or more parameter values were invalid: Type mismatch for Index Key {name} Expected: S Actual: {actual} IndexName: {index}"
        )
    };
    check_error(with("a", n("1")), &mismatch("ggg", "a", "N"));
    check_error(
        with("a", AttributeValue::Null),
        &mismatch("ggg", "a", "NULL"),
    );
    check_error(
        with("b", AttributeValue::L(vec![])),
        &mismatch("lll", "b", "L"),
    );
    // The index that comes first by name is reported.
    check_error(
        item([("a", n("1")), ("b", n("1"))]),
        &mismatch("ggg", "a", "N"),
    );
    check_error(
        with("a", s("")),
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: ggg, IndexKey: a",
    );
    check_error(
        with("a", x(2049)),
        &Error::from(KeyError::PartitionTooLarge).to_string(),
    );
    check_error(
        with("b", x(1025)),
        &Error::from(KeyError::SortTooLarge).to_string(),
    );
}

#[test]
fn table_of_key_parameter_errors() {
    let database = tab(false);
    let mismatch = KeyError::SchemaMismatch;
    let cases: [(Item, KeyError); 5] = [
        (Item::from([("pk", s("p"))]), mismatch.clone()),
        (item([("a", s("x"))]), mismatch.clone()),
        (Item::from([("pk", s("p")), ("sk", n("1"))]), mismatch),
        (
            Item::from([("pk", s("")), ("sk", s("s"))]),
            KeyError::EmptyString("pk".into()),
        ),
        (
            Item::from([("pk", s("p")), ("sk", x(1025))]),
            KeyError::SortTooLarge,
        ),
    ];
    for (key, expected) in cases {
        let expected = Error::from(expected);
        assert_eq!(
            database
                .get_item(GetItemRequest::new(table("Tab"), key.clone()))
                .unwrap_err(),
            expected
        );
        assert_eq!(
            database
                .delete_item(DeleteItemRequest::new(table("Tab"), key))
                .unwrap_err(),
            expected
        );
    }
}

#[test]
fn items_up_to_400_kb_with_the_longest_keys() {
    let database = tab(false);
    let long = Item::from([
        ("pk", x(2048)),
        ("sk", x(1024)),
        ("v", x(409_600 - 2 - 2048 - 2 - 1024 - 1)),
    ]);
    assert_eq!(long.size(), 409_600);
    put(&database, "Tab", long.clone()).unwrap();
    let key = Item::from([("pk", x(2048)), ("sk", x(1024))]);
    assert_eq!(get(&database, "Tab", key), Some(long.clone()));
    let mut longer = long;
    longer
        .0
        .insert("v".into(), x(409_600 - 2 - 2048 - 2 - 1024));
    assert_eq!(
        put(&database, "Tab", longer).unwrap_err(),
        Error::Value(ValueError::ItemTooLarge)
    );
}

#[test]
fn an_item_and_its_local_entries_share_400_kb() {
    let database = tab(true);
    let half = |bytes| item([("b", s("x")), ("v", x(bytes))]);
    let fits = 204_800 - half(0).size();
    put(&database, "Tab", half(fits)).unwrap();
    assert_eq!(
        put(&database, "Tab", half(fits + 1)).unwrap_err(),
        Error::Value(ValueError::ItemTooLarge)
    );
    put(&database, "Tab", item([("v", x(300_000))])).unwrap();
}

/// Puts `before` and then `after` (or deletes); the units of the GSI's arm.
fn check_arm(before: Option<Item>, after: Option<Item>, expected: Option<f64>) {
    let database = tab(false);
    if let Some(before) = before.clone() {
        put(&database, "Tab", before).unwrap();
    }
    let consumed = match after.clone() {
        Some(after) => put(&database, "Tab", after).unwrap().consumed_capacity,
        None => {
            database
                .delete_item(DeleteItemRequest::new(table("Tab"), key()))
                .unwrap()
                .consumed_capacity
        }
    };
    assert_eq!(
        consumed.global_indexes.get("ggg").copied(),
        expected,
        "{before:?} -> {after:?}"
    );
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn table_of_index_arms() {
    let a = |value: &str| Some(item([("a", s(value))]));
    let plain = || Some(item([]));
    check_arm(None, a("x"), Some(1.0));
    check_arm(a("x"), Some(item([("a", s("x")), ("c", n("1"))])), None);
    check_arm(a("x"), a("y"), Some(2.0));
    check_arm(a("x"), plain(), Some(1.0));
    check_arm(plain(), Some(item([("c", n("1"))])), None);
    check_arm(a("x"), None, Some(1.0));
    check_arm(a("x"), a("x"), None);
    check_arm(None, plain(), None);
    check_arm(plain(), a("x"), Some(1.0));
    check_arm(None, None, None);
    check_arm(None, Some(item([("a", x(2000))])), Some(2.0));
    check_arm(Some(item([("a", x(2000))])), a("y"), Some(3.0));
}

#[test]
fn a_projected_change_costs_the_larger_entry() {
    let database = tab(true);
    put(&database, "Tab", item([("b", s("x")), ("v", x(2500))])).unwrap();
    let consumed = put(&database, "Tab", item([("b", s("x")), ("v", x(10))]))
        .unwrap()
        .consumed_capacity;
    assert_eq!((consumed.table, consumed.local_indexes["lll"]), (3.0, 3.0));
    // Sets are equal in any order, numbers by value.
    let set = |numbers: [&str; 2]| {
        AttributeValue::number_set(numbers.map(|number| number.parse().unwrap()).to_vec()).unwrap()
    };
    put(
        &database,
        "Tab",
        item([("b", s("x")), ("v", set(["1", "2"]))]),
    )
    .unwrap();
    let consumed = put(
        &database,
        "Tab",
        item([("b", s("x")), ("v", set(["2.0", "1.0"]))]),
    )
    .unwrap()
    .consumed_capacity;
    assert_eq!((consumed.table, consumed.local_indexes.len()), (1.0, 0));
}

#[test]
fn table_of_write_units() {
    let database = tab(false);
    let sized = |bytes: usize| item([("v", x(bytes - key().size() - 1))]);
    let cases = [
        (500, 1.0),
        (3_174, 4.0),
        (512, 4.0),
        (512, 1.0),
        (1024, 1.0),
        (1025, 2.0),
    ];
    for (bytes, expected) in cases {
        let consumed = put(&database, "Tab", sized(bytes))
            .unwrap()
            .consumed_capacity;
        assert_eq!(
            (consumed.table, consumed.total()),
            (expected, expected),
            "{bytes} bytes"
        );
    }
    let delete = || {
        database
            .delete_item(DeleteItemRequest::new(table("Tab"), key()))
            .unwrap()
    };
    assert_eq!(delete().consumed_capacity.table, 2.0);
    let again = delete();
    assert_eq!(
        (
            again.consumed_capacity.table,
            again.existed,
            again.attributes
        ),
        (1.0, false, None)
    );
}

#[test]
fn table_of_read_units() {
    let database = tab(false);
    for (bytes, consistent, expected) in [
        (3_584, true, 1.0),
        (3_584, false, 0.5),
        (8_294, true, 3.0),
        (4_096, true, 1.0),
        (4_097, false, 1.0),
    ] {
        put(&database, "Tab", item([("v", x(bytes - key().size() - 1))])).unwrap();
        let request = GetItemRequest {
            consistent_read: consistent,
            ..GetItemRequest::new(table("Tab"), key())
        };
        assert_eq!(
            database.get_item(request).unwrap().consumed_capacity.table,
            expected,
            "{bytes} {consistent}"
        );
    }
    let missing = Item::from([("pk", s("no")), ("sk", s("no"))]);
    let response = database
        .get_item(GetItemRequest::new(table("Tab"), missing))
        .unwrap();
    assert_eq!(
        (response.item, response.consumed_capacity.table),
        (None, 0.5)
    );
}

#[test]
fn get_projects() {
    let database = tab(false);
    let map = AttributeValue::M(Item::from([("x", n("1")), ("y", n("2"))]).0);
    put(&database, "Tab", item([("m", map), ("c", s("c"))])).unwrap();
    let get = |text: &str| {
        let projection_expression = Some(text.to_owned());
        database.get_item(GetItemRequest {
            projection_expression,
            ..GetItemRequest::new(table("Tab"), key())
        })
    };
    let expected = Item::from([
        ("m", AttributeValue::M(Item::from([("y", n("2"))]).0)),
        ("pk", s("p")),
    ]);
    assert_eq!(get("m.y, pk").unwrap().item, Some(expected));
    assert_eq!(get("nothing").unwrap().item, Some(Item::default()));
    let into_key = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: sk";
    assert_eq!(get("c, sk.x").unwrap_err().to_string(), into_key);
    let unused = GetItemRequest {
        projection_expression: Some("c".into()),
        placeholders: placeholders(&[("#u", "u")], &[]),
        ..GetItemRequest::new(table("None"), key())
    };
    let text = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#u}";
    assert_eq!(database.get_item(unused).unwrap_err().to_string(), text);
}

#[test]
fn puts_replace_and_return_the_old_item() {
    let database = tab(false);
    let write = |item: &Item| {
        let mut request = PutItemRequest::new(table("Tab"), item.clone());
        request.return_values = ReturnValues::AllOld;
        database.put_item(request).unwrap()
    };
    let (one, two) = (item([("c", n("1"))]), item([("d", n("2"))]));
    assert_eq!(write(&one).attributes, None);
    assert_eq!(write(&two).attributes, Some(one));
    assert_eq!(get(&database, "Tab", key()), Some(two.clone()));
    assert_eq!(
        database
            .describe(&table("Tab"))
            .unwrap()
            .unwrap()
            .item_count,
        1
    );
    let mut request = DeleteItemRequest::new(table("Tab"), key());
    request.return_values = ReturnValues::AllOld;
    let response = database.delete_item(request).unwrap();
    assert_eq!((response.attributes, response.existed), (Some(two), true));
}

#[test]
fn versions_rise_and_an_identical_put_changes_nothing() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let database = database_with(EngineOptions {
        clock: clock.clone(),
        ..options()
    });
    create(&database, false);
    let write = |value: &str| {
        put(&database, "Tab", item([("c", n(value))]))
            .unwrap()
            .version
    };
    let source = SourceName {
        table: table("Tab"),
        index: None,
    };
    let entry = ddbfs::database::EntryKey {
        index: None,
        base: ddbfs::model::Key {
            partition: s("p"),
            sort: Some(s("s")),
        },
    };
    let stat = || database.stat(&source, &entry).unwrap().unwrap();

    let first = write("1");
    clock.advance_ms(5);
    let (before, commit) = (stat(), database.commit_id());
    assert_eq!(write("1.0"), first);
    assert_eq!((stat(), database.commit_id()), (before, commit));
    assert_eq!(before.modified_ms, NOW_MS);
    let second = write("2");
    assert!(second > first);
    assert_eq!((stat().version, stat().modified_ms), (second, NOW_MS + 5));
    database
        .delete_item(DeleteItemRequest::new(table("Tab"), key()))
        .unwrap();
    assert!(write("1") > second);
}

#[test]
fn preconditions() {
    let database = tab(false);
    let write = |value: &str, precondition| {
        let mut request = PutItemRequest::new(table("Tab"), item([("c", n(value))]));
        request.precondition = Some(precondition);
        database.put_item(request).map(|response| response.version)
    };
    let failed = Err(Error::ConditionalCheckFailed { item: None });
    assert_eq!(write("1", Precondition::Version(1)), failed);
    let first = write("1", Precondition::Absent).unwrap();
    assert_eq!(write("2", Precondition::Absent), failed);
    let second = write("2", Precondition::Version(first)).unwrap();
    assert_eq!(write("3", Precondition::Version(first)), failed);
    let delete = |precondition| {
        let mut request = DeleteItemRequest::new(table("Tab"), key());
        request.precondition = Some(precondition);
        database
            .delete_item(request)
            .map(|response| response.existed)
    };
    assert_eq!(
        delete(Precondition::Version(first)),
        Err(Error::ConditionalCheckFailed { item: None })
    );
    assert_eq!(delete(Precondition::Version(second)), Ok(true));
    assert_eq!(delete(Precondition::Absent), Ok(false));
}

#[test]
fn a_full_collection_takes_only_shrinking_writes() {
    let database = database_with(EngineOptions {
        collection_bytes_max: 2_000,
        ..options()
    });
    create(&database, true);
    let row = |pk: &str, sk: &str, bytes: usize| {
        let item = Item::from([("pk", s(pk)), ("sk", s(sk)), ("b", s("x")), ("v", x(bytes))]);
        put(&database, "Tab", item)
    };
    row("p", "1", 600).unwrap();
    let full = Err(Error::ItemCollectionSizeLimitExceeded);
    assert_eq!(row("p", "2", 600).map(|_| ()), full);
    assert_eq!(row("p", "1", 900).map(|_| ()), full);
    row("q", "1", 600).unwrap();
    row("p", "1", 500).unwrap();
    row("p", "2", 100).unwrap();
    database
        .delete_item(DeleteItemRequest::new(
            table("Tab"),
            Item::from([("pk", s("p")), ("sk", s("1"))]),
        ))
        .unwrap();
    row("p", "3", 400).unwrap();
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn one_batch_of_many_writers_counts_right() {
    let database = tab(true);
    let (sender, receiver) = std::sync::mpsc::channel();
    for i in 0..500_u32 {
        let sender = sender.clone();
        let item = Item::from([
            ("pk", s(&(i % 3).to_string())),
            ("sk", s(&(i % 50).to_string())),
            ("a", s(&(i % 5).to_string())),
            ("b", s(&i.to_string())),
        ]);
        // A refused put in the midst must not disturb the others.
        let item = if i % 10 == 9 {
            Item::from([("pk", s("x"))])
        } else {
            item
        };
        let request = PutItemRequest::new(table("Tab"), item);
        database.start(Call::PutItem(
            request,
            Completion::detached(move |outcome| sender.send(outcome.is_ok()).unwrap()),
        ));
    }
    let done = (0..500).filter(|_| receiver.recv().unwrap()).count();
    assert_eq!(done, 450);
    let report = check(database.engine()).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

//! BatchGetItem, BatchWriteItem and TransactGetItems on the engine (docs/dynamodb.md 14, 15.2).

use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::check::check;
use ddbfs::model::api::*;
use ddbfs::model::error::Cancellation;
use ddbfs::model::{Error, Item};

fn thread_key(forum: &str, subject: &str) -> Item {
    Item::from([("ForumName", s(forum)), ("Subject", s(subject))])
}

fn post(forum: &str, subject: &str, posted: &str) -> Item {
    let mut item = thread_key(forum, subject);
    item.0.insert("LastPostDateTime".to_owned(), s(posted));
    item
}

fn get_request(tables: Vec<TableKeys>) -> BatchGetItemRequest {
    BatchGetItemRequest {
        request_items: tables,
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
    }
}

fn write_request(tables: &[(&str, &[WriteRequest])]) -> BatchWriteItemRequest {
    let tables = tables.iter().map(|(name, requests)| TableWrites {
        table_name: table(name),
        requests: requests.to_vec(),
    });
    BatchWriteItemRequest {
        request_items: tables.collect(),
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        return_item_collection_metrics: true,
    }
}

fn put_of(item: Item) -> WriteRequest {
    WriteRequest::Put(item)
}

fn delete_of(key: Item) -> WriteRequest {
    WriteRequest::Delete(key)
}

/// The text of the refusal of a batch; nothing was written by it.
#[track_caller]
fn refused(database: &LocalDatabase, tables: &[(&str, &[WriteRequest])], expected: &str) {
    let before = database.commit_id_and_counts();
    let found = database
        .batch_write_item(write_request(tables))
        .map_or_else(|error| error.to_string(), |_| "done".to_owned());
    assert_eq!(found, expected);
    assert_eq!(database.commit_id_and_counts(), before);
}

trait Counts {
    fn commit_id_and_counts(&self) -> (u64, u64);
}

impl Counts for LocalDatabase {
    fn commit_id_and_counts(&self) -> (u64, u64) {
        let count = |name| self.scan(&scan_request(name)).unwrap().page.count;
        (count("Thread"), count("Pets"))
    }
}

#[test]
fn a_batch_writes_all_its_items_in_several_tables() {
    let database = samples();
    let writes: &[WriteRequest] = &[
        put_of(post("S3", "one", "2020-01-01")),
        put_of(post("S3", "two", "2020-01-02")),
        delete_of(thread_key("S3", "none")),
    ];
    let pets = [put_of(Item::from([
        ("AnimalType", s("Bird")),
        ("Name", s("Polly")),
    ]))];
    let response = database
        .batch_write_item(write_request(&[("Thread", writes), ("Pets", &pets)]))
        .unwrap();
    let consumed = &response.consumed_capacity[0];
    assert_eq!(
        (consumed.table, consumed.local_indexes.get("LastPostIndex")),
        (3.0, Some(&2.0))
    );
    assert_eq!(response.consumed_capacity[1].total(), 1.0);
    assert_eq!(
        response
            .item_collection_metrics
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [1, 0]
    );
    assert_eq!(
        get(&database, "Thread", thread_key("S3", "two")),
        Some(post("S3", "two", "2020-01-02"))
    );
    assert!(check(database.engine()).unwrap().is_clean());

    let again = [
        delete_of(thread_key("S3", "one")),
        put_of(post("S3", "two", "2021-01-01")),
    ];
    database
        .batch_write_item(write_request(&[("Thread", &again)]))
        .unwrap();
    assert_eq!(get(&database, "Thread", thread_key("S3", "one")), None);
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn a_batch_with_anything_wrong_writes_nothing() {
    let database = samples();
    let good = || put_of(post("S3", "good", "2020"));
    let duplicates = "Provided list of item keys contains duplicates";
    let mismatch = "The provided key element does not match the schema";
    refused(&database, &[("Thread", &[good(), good()])], duplicates);
    refused(
        &database,
        &[("Thread", &[good(), delete_of(thread_key("S3", "good"))])],
        duplicates,
    );
    refused(
        &database,
        &[("Thread", &[good()]), ("Nothing", &[good()])],
        "Requested resource not found",
    );
    refused(
        &database,
        &[(
            "Thread",
            &[good(), put_of(Item::from([("ForumName", s("S3"))]))],
        )],
        mismatch,
    );
    let mut number = post("S3", "n", "2020");
    number.0.insert("Subject".to_owned(), n("1"));
    refused(
        &database,
        &[("Thread", &[good(), put_of(number)])],
        mismatch,
    );
    refused(
        &database,
        &[("Thread", &[good(), delete_of(post("S3", "x", "2020"))])],
        mismatch,
    );
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: Subject";
    refused(
        &database,
        &[("Thread", &[good(), put_of(post("S3", "", "2020"))])],
        empty,
    );
    refused(
        &database,
        &[("Thread", &[good(), delete_of(thread_key("S3", ""))])],
        empty,
    );
    let mut index = post("S3", "i", "2020");
    index.0.insert("LastPostDateTime".to_owned(), n("1"));
    let text = "One or more parameter values were invalid: Type mismatch for Index Key LastPostDateTime Expected: S Actual: N IndexName: LastPostIndex";
    refused(&database, &[("Thread", &[good(), put_of(index)])], text);
    let mut large = post("S3", "l", "2020");
    large.0.insert("Text".to_owned(), x(410_000));
    refused(
        &database,
        &[("Nothing", &[good(), put_of(large)])],
        "Item size has exceeded the maximum allowed size",
    );
}

#[test]
fn a_full_collection_refuses_its_own_puts_only() {
    let database = database_with(ddbfs::engine::EngineOptions {
        collection_bytes_max: 2_000,
        ..options()
    });
    let (request, _) = ddbfs::database::samples::sample_tables()
        .into_iter()
        .find(|(r, _)| r.table_name.as_str() == "Thread")
        .unwrap();
    database.create_table(request).unwrap();
    let mut large = post("full", "large", "2020");
    large.0.insert("Text".to_owned(), x(3_000));
    let small = post("free", "small", "2020");
    let error = database
        .batch_write_item(write_request(&[(
            "Thread",
            &[put_of(large), put_of(small.clone())],
        )]))
        .unwrap_err();
    assert_eq!(error, Error::ItemCollectionSizeLimitExceeded);
    assert_eq!(
        database
            .scan(&scan_request("Thread"))
            .unwrap()
            .items
            .unwrap(),
        [small]
    );
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn a_batch_reads_what_is_there() {
    let database = samples();
    let small = |name: &str| {
        put(
            &database,
            "Pets",
            Item::from([
                ("AnimalType", s("Bird")),
                ("Name", s(name)),
                ("Text", x(100)),
            ]),
        )
        .unwrap();
        Item::from([("AnimalType", s("Bird")), ("Name", s(name))])
    };
    let keys = vec![
        small("A"),
        Item::from([("AnimalType", s("Bird")), ("Name", s("none"))]),
        small("B"),
    ];
    let mut pets = TableKeys::new(table("Pets"), keys);
    pets.projection_expression = Some("#n".to_owned());
    pets.placeholders = placeholders(&[("#n", "Name")], &[]);
    let mut scores = TableKeys::new(
        table("GameScores"),
        vec![
            Item::from([("UserId", s("101")), ("GameTitle", s("Galaxy Invaders"))]),
            Item::from([("UserId", s("0")), ("GameTitle", s("x"))]),
        ],
    );
    scores.consistent_read = true;
    let response = database
        .batch_get_item(&get_request(vec![pets, scores]))
        .unwrap();
    assert_eq!(
        response.responses[0],
        [
            Item::from([("Name", s("A"))]),
            Item::from([("Name", s("B"))])
        ]
    );
    assert_eq!(column(&response.responses[1], "Wins"), ["21"]);
    let units: Vec<f64> = response
        .page
        .consumed_capacity
        .iter()
        .map(ConsumedCapacity::total)
        .collect();
    assert_eq!(units, [1.5, 2.0]);
    assert_eq!(response.page.unprocessed_keys, [vec![], vec![]]);
}

#[test]
fn a_batch_of_more_than_16_mb_leaves_keys_over() {
    let database = samples();
    let key = |number: usize| {
        Item::from([
            ("AnimalType", s("Whale")),
            ("Name", s(&format!("{number:02}"))),
        ])
    };
    for number in 0..45 {
        let mut item = key(number);
        item.0.insert("Text".to_owned(), x(400_000));
        put(&database, "Pets", item).unwrap();
    }
    let mut keys = TableKeys::new(table("Pets"), (0..45).map(key).collect());
    keys.projection_expression = Some("AnimalType".to_owned());
    let cut = database
        .batch_get_item(&get_request(vec![keys.clone()]))
        .unwrap();
    let found = cut.responses[0].len();
    assert_eq!(found, 16 * 1024 * 1024 / 400_000);
    assert_eq!(
        cut.page.unprocessed_keys[0],
        (found..45).map(key).collect::<Vec<_>>()
    );
    keys.keys = cut.page.unprocessed_keys[0].clone();
    let rest = database.batch_get_item(&get_request(vec![keys])).unwrap();
    assert_eq!(
        (rest.responses[0].len(), rest.page.unprocessed_keys[0].len()),
        (45 - found, 0)
    );
}

#[test]
fn a_batch_of_reads_is_checked_before_it_is_read() {
    let database = samples();
    let check = |keys: TableKeys, expected: &str| {
        let error = database
            .batch_get_item(&get_request(vec![keys]))
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let good = || Item::from([("AnimalType", s("Dog")), ("Name", s("Fido"))]);
    check(
        TableKeys::new(table("Nothing"), vec![good()]),
        "Requested resource not found",
    );
    let short = Item::from([("AnimalType", s("Dog"))]);
    check(
        TableKeys::new(table("Pets"), vec![good(), short]),
        "The provided key element does not match the schema",
    );
    let mut names = TableKeys::new(table("Nothing"), vec![good()]);
    names.placeholders = placeholders(&[("#n", "Name")], &[]);
    check(
        names,
        "ExpressionAttributeNames can only be specified when using expressions",
    );
}

fn transact(gets: Vec<TransactGet>) -> TransactGetItemsRequest {
    TransactGetItemsRequest {
        transact_items: gets,
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::Total,
    }
}

fn dog(name: &str) -> TransactGet {
    TransactGet::new(
        table("Pets"),
        Item::from([("AnimalType", s("Dog")), ("Name", s(name))]),
    )
}

#[test]
fn a_transaction_reads_in_the_order_asked_for() {
    let database = samples();
    let mut large = Item::from([("AnimalType", s("Dog")), ("Name", s("Large"))]);
    large.0.insert("Text".to_owned(), x(5_000));
    put(&database, "Pets", large.clone()).unwrap();
    let score = TransactGet::new(
        table("GameScores"),
        Item::from([("UserId", s("101")), ("GameTitle", s("Galaxy Invaders"))]),
    );
    let mut nothing = dog("Fido");
    nothing.projection_expression = Some("nothing".to_owned());
    let response = database
        .transact_get_items(transact(vec![dog("none"), dog("Large"), score, nothing]))
        .unwrap();
    assert_eq!(response.responses[..2], [None, Some(large)]);
    assert_eq!(
        response.responses[2].as_ref().unwrap().get("Wins"),
        Some(&n("21"))
    );
    assert_eq!(response.responses[3], None);
    let consumed: Vec<_> = response
        .consumed_capacity
        .iter()
        .map(|(name, units)| (name.as_str(), units.table))
        .collect();
    assert_eq!(consumed, [("Pets", 2.0 + 4.0 + 2.0), ("GameScores", 2.0)]);
}

#[test]
fn a_transaction_of_reads_is_refused_or_cancelled() {
    let database = samples();
    let check = |gets: Vec<TransactGet>, expected: &str| {
        let error = database.transact_get_items(transact(gets)).unwrap_err();
        assert_eq!(error.to_string(), expected);
        error
    };
    let several = "Transaction request cannot include multiple operations on one item";
    check(vec![dog("Fido"), dog("Rover"), dog("Fido")], several);
    check(
        vec![
            dog("Fido"),
            TransactGet::new(table("Nothing"), Item::default()),
        ],
        "Requested resource not found",
    );
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: Name";
    check(vec![dog("Fido"), dog("")], empty);
    let cancelled = "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError, None]";
    let bad = || TransactGet::new(table("Pets"), Item::from([("Name", s("Fido"))]));
    let Error::TransactionCanceled(Cancellation(reasons)) =
        check(vec![dog("Fido"), bad(), bad()], cancelled)
    else {
        unreachable!("another error")
    };
    assert_eq!(
        reasons[1].message().as_deref(),
        Some("The provided key element does not match the schema")
    );
    for number in 0..11 {
        let mut item = dog(&format!("large {number}")).key;
        item.0.insert("Text".to_owned(), x(400_000));
        put(&database, "Pets", item).unwrap();
    }
    let larges = (0..11)
        .map(|number| dog(&format!("large {number}")))
        .collect();
    check(
        larges,
        "Collection size of items exceeded the limit of 4 MB of a transaction",
    );
}

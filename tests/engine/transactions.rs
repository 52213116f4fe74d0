//! TransactWriteItems on the engine (docs/dynamodb.md 15.1, Appendix B.8): the table of outcomes, tokens, and generated transactions
//! against a reference that applies them one after the other.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::check::check;
use ddbfs::engine::clock::ManualClock;
use ddbfs::engine::keys::Space;
use ddbfs::model::api::*;
use ddbfs::model::error::{Cancellation, CancellationReason, RemoteCause, TransactionError};
use ddbfs::model::{Error, Item};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{Direction, Store};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn request(items: Vec<TransactWrite>) -> TransactWriteItemsRequest {
    TransactWriteItemsRequest {
        transact_items: items,
        fault: None,
        client_request_token: None,
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        return_item_collection_metrics: true,
    }
}

fn with_token(items: Vec<TransactWrite>, token: &str) -> TransactWriteItemsRequest {
    TransactWriteItemsRequest {
        client_request_token: Some(token.to_owned()),
        ..request(items)
    }
}

fn pet_key(name: &str) -> Item {
    Item::from([("AnimalType", s("Dog")), ("Name", s(name))])
}

fn pet(name: &str, age: &str) -> Item {
    let mut item = pet_key(name);
    item.0.insert("Age".to_owned(), n(age));
    item
}

fn put_in(name: &str, item: Item) -> TransactWrite {
    TransactWrite::new(table(name), TransactAction::Put { item })
}

fn put_pet(name: &str, age: &str) -> TransactWrite {
    put_in("Pets", pet(name, age))
}

fn delete_pet(name: &str) -> TransactWrite {
    TransactWrite::new(table("Pets"), TransactAction::Delete { key: pet_key(name) })
}

fn check_pet(name: &str, condition: &str) -> TransactWrite {
    TransactWrite::new(
        table("Pets"),
        TransactAction::ConditionCheck { key: pet_key(name) },
    )
    .when(condition)
}

/// `update` uses `:v`, the number.
fn update_pet(name: &str, update: &str, number: &str) -> TransactWrite {
    let action = TransactAction::Update {
        key: pet_key(name),
        update_expression: update.to_owned(),
    };
    TransactWrite {
        placeholders: placeholders(&[], &[(":v", n(number))]),
        ..TransactWrite::new(table("Pets"), action)
    }
}

trait When {
    fn when(self, condition: &str) -> Self;
    fn with_old(self) -> Self;
}

impl When for TransactWrite {
    fn when(self, condition: &str) -> Self {
        Self {
            condition: ConditionParameter::Expression(condition.to_owned()),
            ..self
        }
    }
    fn with_old(self) -> Self {
        Self {
            return_old_on_condition_failure: true,
            ..self
        }
    }
}

/// What the transaction comes to: `done`, the text of a refusal, or of a cancellation `codes: message of the first that has one`.
fn outcome(database: &LocalDatabase, items: Vec<TransactWrite>) -> String {
    match database.transact_write_items(request(items)) {
        Ok(_) => "done".to_owned(),
        Err(Error::TransactionCanceled(Cancellation(reasons))) => {
            let codes: Vec<&str> = reasons.iter().map(CancellationReason::code).collect();
            let message = reasons
                .iter()
                .find_map(CancellationReason::message)
                .unwrap_or_default();
            format!("{}: {message}", codes.join(", "))
        }
        Err(error) => error.to_string(),
    }
}

fn pets(database: &LocalDatabase) -> Vec<Item> {
    database.scan(&scan_request("Pets")).unwrap().items.unwrap()
}

/// Everything but `done` changes nothing.
#[track_caller]
fn refused(items: Vec<TransactWrite>, expected: &str) {
    let database = samples();
    let before = pets(&database);
    assert_eq!(outcome(&database, items), expected);
    assert_eq!(pets(&database), before);
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn all_actions_are_carried_out_together() {
    let database = samples();
    let actions = vec![
        put_pet("New", "1").when("attribute_not_exists(AnimalType)"),
        put_pet("Fido", "2").when("attribute_exists(AnimalType)"),
        delete_pet("Rover"),
        delete_pet("none"),
        check_pet("Snoopy", "attribute_exists(AnimalType)"),
        put_in("PetsByType", Item::from([("AnimalType", s("Snail"))])),
    ];
    let response = database.transact_write_items(request(actions)).unwrap();
    assert!(!response.is_replay);
    let units: Vec<_> = response
        .consumed_capacity
        .iter()
        .map(|(name, units)| (name.as_str(), units.total()))
        .collect();
    assert_eq!(units, [("Pets", 10.0), ("PetsByType", 2.0)]);
    assert_eq!(
        get(&database, "Pets", pet_key("New")),
        Some(pet("New", "1"))
    );
    assert_eq!(
        get(&database, "Pets", pet_key("Fido")),
        Some(pet("Fido", "2"))
    );
    assert_eq!(get(&database, "Pets", pet_key("Rover")), None);
    assert!(
        get(
            &database,
            "PetsByType",
            Item::from([("AnimalType", s("Snail"))])
        )
        .is_some()
    );
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn updates_are_of_the_state_before() {
    let database = samples();
    put(&database, "Pets", pet("Old", "5")).unwrap();
    let actions = vec![
        update_pet("Old", "SET Age = Age + :v", "2"),
        update_pet("New", "SET Age = :v", "1"),
        update_pet("Fido", "ADD Age :v", "3").when("attribute_not_exists(Age)"),
        TransactWrite {
            placeholders: Placeholders::default(),
            ..update_pet("none", "REMOVE Age", "0")
        },
        delete_pet("Rover"),
    ];
    let response = database.transact_write_items(request(actions)).unwrap();
    assert_eq!(response.consumed_capacity[0].1.table, 10.0);
    let found =
        ["Old", "New", "Fido", "none", "Rover"].map(|name| get(&database, "Pets", pet_key(name)));
    assert_eq!(
        found,
        [
            Some(pet("Old", "7")),
            Some(pet("New", "1")),
            Some(pet("Fido", "3")),
            None,
            None
        ]
    );
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn an_update_that_cannot_be_carried_out_cancels_all() {
    let missing = "The provided expression refers to an attribute that does not exist in the item";
    let bad = || update_pet("Fido", "SET Age = Age + :v", "1");
    refused(
        vec![put_pet("A", "1"), bad()],
        &format!("None, ValidationError: {missing}"),
    );
    let failed = check_pet("B", "attribute_exists(AnimalType)");
    refused(
        vec![
            failed,
            bad(),
            update_pet("Rover", "SET Age = Age + :v", "1"),
        ],
        &format!("None, ValidationError, None: {missing}"),
    );
    let unmet = bad().when("attribute_exists(Age)");
    refused(
        vec![put_pet("A", "1"), unmet],
        "None, ConditionalCheckFailed: The conditional request failed",
    );
    let key = "One or more parameter values were invalid: Cannot update attribute AnimalType. This attribute is part of the key";
    refused(
        vec![
            put_pet("A", "1"),
            update_pet("Fido", "SET AnimalType = :v", "1"),
        ],
        &format!("None, ValidationError: {key}"),
    );
    let path = "The document path provided in the update expression is invalid for update";
    refused(
        vec![update_pet("Fido", "ADD Parts.x :v", "1"), put_pet("A", "1")],
        &format!("ValidationError, None: {path}"),
    );
    refused(
        vec![
            put_pet("A", "1"),
            update_pet("Fido", "SET Age = :v + Fur", "1"),
        ],
        &format!("None, ValidationError: {missing}"),
    );
    let several = "Transaction request cannot include multiple operations on one item";
    refused(
        vec![put_pet("A", "1"), update_pet("A", "SET Age = :v", "1")],
        several,
    );
    let syntax = "Invalid UpdateExpression: Syntax error; token: \"<EOF>\", near: \"= \"";
    refused(
        vec![put_pet("A", "1"), update_pet("Fido", "SET Age = ", "1")],
        syntax,
    );
    let unused = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}";
    refused(
        vec![put_pet("A", "1"), update_pet("Fido", "REMOVE Age", "1")],
        unused,
    );

    let large = |value| TransactWrite {
        placeholders: placeholders(&[("#t", "Text")], &[(":v", value)]),
        ..update_pet("Fido", "SET #t = :v", "1")
    };
    refused(
        vec![put_pet("A", "1"), large(x(409_600))],
        "None, ValidationError: Item size to update has exceeded the maximum allowed size",
    );
    // Alone, an update has less room than its item; in a transaction it has as much.
    let database = samples();
    let room = 409_600 - pet_key("Fido").size() - "Text".len();
    assert_eq!(outcome(&database, vec![large(x(room))]), "done");
}

#[test]
fn conditions_see_the_state_before() {
    let database = samples();
    let actions = || {
        vec![
            put_pet("New", "1"),
            check_pet("Fido", "attribute_not_exists(Age)"),
            delete_pet("Rover"),
        ]
    };
    assert_eq!(outcome(&database, actions()), "done");
    let other = vec![
        put_pet("Fido", "1").when("attribute_not_exists(Age)"),
        check_pet("New", "attribute_exists(Age)"),
    ];
    assert_eq!(outcome(&database, other), "done");
    assert_eq!(
        outcome(&database, actions()),
        "None, ConditionalCheckFailed, None: The conditional request failed"
    );
}

#[test]
fn one_failed_action_cancels_all() {
    let failed = "The conditional request failed";
    let absent = || check_pet("B", "attribute_exists(AnimalType)");
    refused(
        vec![put_pet("A", "1"), absent()],
        &format!("None, ConditionalCheckFailed: {failed}"),
    );
    let all = vec![
        put_pet("Fido", "1").when("attribute_not_exists(AnimalType)"),
        put_pet("A", "1"),
        absent(),
    ];
    refused(
        all,
        &format!("ConditionalCheckFailed, None, ConditionalCheckFailed: {failed}"),
    );

    let missing = "One or more parameter values were invalid: Missing the key Name in the item";
    let short = || put_in("Pets", Item::from([("AnimalType", s("Dog"))]));
    refused(vec![short()], &format!("ValidationError: {missing}"));
    refused(
        vec![put_pet("A", "1"), short(), short(), absent()],
        &format!("None, ValidationError, None, None: {missing}"),
    );
    let wrong = put_in(
        "Pets",
        Item::from([("AnimalType", n("1")), ("Name", s("a"))]),
    );
    let text = "One or more parameter values were invalid: Type mismatch for key AnimalType expected: S actual: N";
    refused(vec![wrong], &format!("ValidationError: {text}"));
    let key = TransactWrite::new(
        table("Pets"),
        TransactAction::Delete {
            key: pet("Fido", "1"),
        },
    );
    refused(
        vec![put_pet("A", "1"), key],
        "None, ValidationError: The provided key element does not match the schema",
    );
    let post = |posted| {
        Item::from([
            ("ForumName", s("S3")),
            ("Subject", s("x")),
            ("LastPostDateTime", posted),
        ])
    };
    let text = "One or more parameter values were invalid: Type mismatch for Index Key LastPostDateTime Expected: S Actual: N IndexName: LastPostIndex";
    refused(
        vec![put_pet("A", "1"), put_in("Thread", post(n("1")))],
        &format!("None, ValidationError: {text}"),
    );
    let text = "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: LastPostIndex, IndexKey: LastPostDateTime";
    refused(vec![put_pet("A", "1"), put_in("Thread", post(s("")))], text);
}

#[test]
fn some_faults_refuse_the_whole() {
    let several = "Transaction request cannot include multiple operations on one item";
    refused(vec![put_pet("A", "1"), delete_pet("A")], several);
    refused(
        vec![put_pet("A", "1"), check_pet("A", "attribute_exists(Age)")],
        several,
    );
    refused(
        vec![put_pet("A", "1"), put_in("Nothing", pet("A", "1"))],
        "Requested resource not found",
    );
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: Name";
    refused(vec![put_pet("A", "1"), put_pet("", "1")], empty);
    refused(vec![put_pet("A", "1"), delete_pet("")], empty);
    let mut large = pet("L", "1");
    large.0.insert("Text".to_owned(), x(410_000));
    refused(
        vec![put_in("Nothing", large)],
        "Item size has exceeded the maximum allowed size",
    );
    refused(
        vec![put_in("Nothing", pet("A", "1")).when("a = ")],
        "Invalid ConditionExpression: Syntax error; token: \"<EOF>\", near: \"= \"",
    );
    let larges = (0..11).map(|number| {
        let mut item = pet(&format!("L{number}"), "1");
        item.0.insert("Text".to_owned(), x(400_000));
        put_in("Pets", item)
    });
    refused(
        larges.collect(),
        "Collection size of items exceeded the limit of 4 MB of a transaction",
    );
}

#[test]
fn failed_conditions_give_the_items_asked_for() {
    let database = samples();
    put(&database, "Pets", pet("Old", "9")).unwrap();
    let absent = "attribute_not_exists(AnimalType)";
    let actions = vec![
        put_pet("Old", "1").when(absent).with_old(),
        put_pet("Fido", "1").when(absent),
        check_pet("none", "attribute_exists(AnimalType)").with_old(),
    ];
    let Err(Error::TransactionCanceled(Cancellation(reasons))) =
        database.transact_write_items(request(actions))
    else {
        unreachable!("not cancelled")
    };
    let items: Vec<_> = reasons.iter().map(CancellationReason::item).collect();
    assert_eq!(items, [Some(&pet("Old", "9")), None, None]);
}

#[test]
fn tables_count_twice_and_indexes_once() {
    let database = samples();
    let score = |title: &str, bytes: usize| {
        let item = Item::from([
            ("UserId", s("u")),
            ("GameTitle", s(title)),
            ("TopScore", n("1")),
            ("Text", x(bytes)),
        ]);
        put_in("GameScores", item)
    };
    let response = database
        .transact_write_items(request(vec![score("a", 1_500)]))
        .unwrap();
    let (_, units) = &response.consumed_capacity[0];
    assert_eq!(
        (units.table, units.global_indexes.get("GameTitleIndex")),
        (4.0, Some(&1.0))
    );
    let key = Item::from([("UserId", s("u")), ("GameTitle", s("a"))]);
    let check = TransactWrite::new(table("GameScores"), TransactAction::ConditionCheck { key })
        .when("attribute_exists(UserId)");
    let response = database
        .transact_write_items(request(vec![check, score("b", 1)]))
        .unwrap();
    assert_eq!(response.consumed_capacity[0].1.table, 4.0 + 2.0);
}

#[test]
fn a_full_collection_cancels_all() {
    let database = database_with(EngineOptions {
        collection_bytes_max: 2_000,
        ..options()
    });
    let (thread, _) = sample_tables()
        .into_iter()
        .find(|(request, _)| request.table_name.as_str() == "Thread")
        .unwrap();
    database.create_table(thread).unwrap();
    let post = |forum: &str, subject: &str, bytes: usize| {
        put_in(
            "Thread",
            Item::from([
                ("ForumName", s(forum)),
                ("Subject", s(subject)),
                ("Text", x(bytes)),
            ]),
        )
    };
    let full = "Collection size exceeded.";
    let two = vec![
        post("f", "a", 900),
        post("g", "a", 900),
        post("f", "b", 900),
    ];
    assert_eq!(
        outcome(&database, two),
        format!("None, None, ItemCollectionSizeLimitExceeded: {full}")
    );
    assert_eq!(
        database.scan(&scan_request("Thread")).unwrap().page.count,
        0
    );
    assert_eq!(
        outcome(
            &database,
            vec![
                post("f", "a", 900),
                post("g", "a", 900),
                post("f", "b", 300)
            ]
        ),
        "done"
    );
    let delete = TransactWrite::new(
        table("Thread"),
        TransactAction::Delete {
            key: Item::from([("ForumName", s("f")), ("Subject", s("a"))]),
        },
    );
    assert_eq!(
        outcome(&database, vec![post("f", "c", 900), delete.clone()]),
        format!("ItemCollectionSizeLimitExceeded, None: {full}")
    );
    assert_eq!(
        outcome(&database, vec![delete, post("f", "c", 900)]),
        "done"
    );
    assert!(check(database.engine()).unwrap().is_clean());
}

#[test]
fn a_token_is_carried_out_once_for_ten_minutes() {
    let clock = Arc::new(ManualClock::at(NOW_MS));
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let store = LmdbStore::open(dir.path(), LmdbOptions::default()).unwrap();
        let options = EngineOptions {
            clock: Arc::<ManualClock>::clone(&clock),
            ..options()
        };
        LocalDatabase::open(Arc::new(store), options).unwrap()
    };
    let database = open();
    for (table, _) in sample_tables() {
        database.create_table(table).unwrap();
    }
    let mut large = pet("Large", "1");
    large.0.insert("Text".to_owned(), x(5_000));
    let absent = "attribute_not_exists(AnimalType)";
    let actions = || {
        vec![
            put_in("Pets", large.clone()).when(absent),
            put_pet("A", "1"),
            put_in("PetsByType", Item::from([("AnimalType", s("a"))])),
        ]
    };
    let first = database
        .transact_write_items(with_token(actions(), "one"))
        .unwrap();
    assert!(!first.is_replay);

    // It is known after a restart.
    database.engine().close();
    drop(database);
    let database = open();
    let again = database
        .transact_write_items(TransactWriteItemsRequest {
            return_consumed_capacity: ReturnConsumedCapacity::None,
            ..with_token(actions(), "one")
        })
        .unwrap();
    assert!(again.is_replay);
    let units: Vec<_> = again
        .consumed_capacity
        .iter()
        .map(|(name, units)| (name.as_str(), units.table))
        .collect();
    assert_eq!(units, [("Pets", 4.0 + 2.0), ("PetsByType", 2.0)]);

    let mut others = actions();
    others.swap(0, 1);
    assert_eq!(
        database.transact_write_items(with_token(others, "one")),
        Err(Error::IdempotentParameterMismatch)
    );
    let failed = || with_token(vec![check_pet("none", "attribute_exists(Age)")], "failed");
    assert!(database.transact_write_items(failed()).is_err());
    assert!(
        matches!(
            database.transact_write_items(failed()),
            Err(Error::TransactionCanceled(_))
        ),
        "a failed one is not remembered"
    );

    clock.advance_ms(10 * 60 * 1000 - 1);
    assert!(
        database
            .transact_write_items(with_token(actions(), "one"))
            .unwrap()
            .is_replay
    );
    clock.advance_ms(1);
    let canceled = database.transact_write_items(with_token(actions(), "one"));
    assert!(
        matches!(canceled, Err(Error::TransactionCanceled(_))),
        "{canceled:?}"
    );
    assert!(
        !database
            .transact_write_items(with_token(vec![put_pet("B", "1")], "one"))
            .unwrap()
            .is_replay
    );
    assert!(
        database
            .transact_write_items(with_token(vec![put_pet("B", "1")], "one"))
            .unwrap()
            .is_replay
    );

    // Expired tokens are removed when the store is opened, and with others.
    assert_eq!(tokens(&database), [1, 1]);
    clock.advance_ms(10 * 60 * 1000);
    database.engine().close();
    drop(database);
    let database = open();
    put(&database, "Pets", pet("C", "1")).unwrap();
    assert_eq!(tokens(&database), [0, 0]);
    for token in ["x", "y"] {
        database
            .transact_write_items(with_token(vec![put_pet("D", "1")], token))
            .unwrap();
    }
    clock.advance_ms(10 * 60 * 1000);
    database
        .transact_write_items(with_token(vec![put_pet("D", "1")], "z"))
        .unwrap();
    assert_eq!(tokens(&database), [1, 1]);
    assert!(check(database.engine()).unwrap().is_clean());
}

/// Tokens and expiries in the store.
fn tokens(database: &LocalDatabase) -> [usize; 2] {
    let view = database.engine().view().unwrap();
    [Space::Token.all(), Space::TokenExpiry.all()].map(|range| {
        let mut count = 0;
        let mut visit = |_: &[u8], _: &[u8]| {
            count += 1;
            ControlFlow::Continue(())
        };
        view.read()
            .walk(&range, Direction::Forward, &mut visit)
            .unwrap();
        count
    })
}

/// An action of a generated transaction on one of the few items, with a condition on its number.
#[derive(Debug, Clone)]
struct Action {
    item: u8,
    kind: Kind,
    /// The number the item must have, or `None` that it must not be there; no condition at all.
    condition: Option<Option<u8>>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Check,
    Put(u8),
    Delete,
    /// Adds to the number; refused where there is none.
    Add(u8),
    /// A put whose index key has a wrong type.
    BadPut,
}

const ITEMS: u8 = 6;

fn any_action() -> impl Strategy<Value = Action> {
    let kind = prop_oneof![
        2 => Just(Kind::Check),
        6 => (0..3u8).prop_map(Kind::Put),
        2 => Just(Kind::Delete),
        3 => (1..3u8).prop_map(Kind::Add),
        1 => Just(Kind::BadPut),
    ];
    let condition = prop::option::weighted(0.3, prop::option::of(0..3u8));
    (0..ITEMS, kind, condition).prop_map(|(item, kind, condition)| Action {
        item,
        kind,
        condition,
    })
}

/// The item's collection and place are of its number, so that several share a collection.
fn post_key(item: u8) -> Item {
    Item::from([
        ("ForumName", s(["f", "g"][usize::from(item % 2)])),
        ("Subject", s(&item.to_string())),
    ])
}

/// What the reference holds of an item: an index key, and a number that updates change.
#[derive(Debug, Clone, Copy)]
struct Stored {
    posted: u8,
    number: u32,
}

fn post(item: u8, stored: Stored) -> Item {
    let mut post = post_key(item);
    post.0
        .insert("LastPostDateTime".to_owned(), s(&stored.posted.to_string()));
    post.0
        .insert("Number".to_owned(), n(&stored.number.to_string()));
    post
}

/// As a put of that number makes it.
fn stored(number: u8) -> Stored {
    Stored {
        posted: number,
        number: number.into(),
    }
}

impl Action {
    fn write(&self) -> TransactWrite {
        let action = match self.kind {
            Kind::Check => TransactAction::ConditionCheck {
                key: post_key(self.item),
            },
            Kind::Put(number) => TransactAction::Put {
                item: post(self.item, stored(number)),
            },
            Kind::Delete => TransactAction::Delete {
                key: post_key(self.item),
            },
            Kind::Add(_) => TransactAction::Update {
                key: post_key(self.item),
                update_expression: "SET #n = #n + :a".to_owned(),
            },
            Kind::BadPut => {
                let mut item = post(self.item, stored(0));
                item.0.insert("LastPostDateTime".to_owned(), n("0"));
                TransactAction::Put { item }
            }
        };
        let write = TransactWrite::new(table("Thread"), action);
        let write = match self.kind {
            Kind::Add(by) => TransactWrite {
                placeholders: placeholders(&[("#n", "Number")], &[(":a", n(&by.to_string()))]),
                ..write
            },
            _ => write,
        };
        match (self.condition, self.kind) {
            (None, Kind::Check) => write.when("attribute_exists(ForumName)"),
            (None, _) => write,
            (Some(None), _) => write.when("attribute_not_exists(ForumName)"),
            (Some(Some(number)), _) => {
                let mut write = write.when("#n = :n");
                write.placeholders.names = placeholders(&[("#n", "Number")], &[]).names;
                write
                    .placeholders
                    .values
                    .get_or_insert_default()
                    .insert(":n".to_owned(), n(&number.to_string()));
                write
            }
        }
    }

    fn holds(&self, stored: Option<&Stored>) -> bool {
        match (self.condition, self.kind) {
            (None, Kind::Check) => stored.is_some(),
            (None, _) => true,
            (Some(condition), _) => stored.map(|stored| stored.number) == condition.map(u32::from),
        }
    }
}

/// What the reference says of a transaction, and does to its items.
fn apply_to_model(model: &mut BTreeMap<u8, Stored>, actions: &[Action]) -> String {
    let mut seen = std::collections::BTreeSet::new();
    if !actions
        .iter()
        .filter(|action| !matches!(action.kind, Kind::BadPut))
        .all(|action| seen.insert(action.item))
    {
        return "several".to_owned();
    }
    if let Some(bad) = actions
        .iter()
        .position(|action| matches!(action.kind, Kind::BadPut))
    {
        return (0..actions.len())
            .map(|place| if place == bad { "V" } else { "-" })
            .collect();
    }
    // Of the actions whose condition holds.
    let missing = |action: &Action| {
        let stored = model.get(&action.item);
        matches!(action.kind, Kind::Add(_)) && stored.is_none() && action.holds(stored)
    };
    if let Some(bad) = actions.iter().position(missing) {
        return (0..actions.len())
            .map(|place| if place == bad { "V" } else { "-" })
            .collect();
    }
    let failed: Vec<bool> = actions
        .iter()
        .map(|action| !action.holds(model.get(&action.item)))
        .collect();
    if failed.contains(&true) {
        return failed
            .iter()
            .map(|failed| if *failed { "C" } else { "-" })
            .collect();
    }
    for action in actions {
        match action.kind {
            Kind::Put(number) => _ = model.insert(action.item, stored(number)),
            Kind::Delete => _ = model.remove(&action.item),
            Kind::Add(by) => model.get_mut(&action.item).unwrap().number += u32::from(by),
            Kind::Check | Kind::BadPut => {}
        }
    }
    "done".to_owned()
}

fn short(outcome: Result<TransactWriteItemsResponse, Error>) -> String {
    match outcome {
        Ok(_) => "done".to_owned(),
        Err(Error::Transaction(_)) => "several".to_owned(),
        // In the words of a service.
        Err(Error::Remote(told))
            if told.message == TransactionError::SeveralOperations.to_string() =>
        {
            "several".to_owned()
        }
        Err(Error::TransactionCanceled(Cancellation(reasons))) => {
            let code = |reason: &CancellationReason| match reason {
                CancellationReason::None => "-",
                CancellationReason::ConditionalCheckFailed { .. } => "C",
                CancellationReason::ValidationError(_) => "V",
                CancellationReason::Remote(told) if told.cause() == RemoteCause::Invalid => "V",
                CancellationReason::ItemCollectionSizeLimitExceeded => "F",
                CancellationReason::DuplicateItem => "D",
                CancellationReason::Throttled(_) => "T",
                CancellationReason::Remote(_) => "R",
            };
            reasons.iter().map(code).collect()
        }
        Err(error) => error.to_string(),
    }
}

fn thread_database(store: Arc<dyn Store>) -> LocalDatabase {
    let database = LocalDatabase::open(store, options()).unwrap();
    let (thread, _) = sample_tables()
        .into_iter()
        .find(|(request, _)| request.table_name.as_str() == "Thread")
        .unwrap();
    database.create_table(thread).unwrap();
    database
}

/// What stands before a database.
type Front = fn(&LocalDatabase) -> Arc<dyn Database>;

const ITSELF: Front = |database| Arc::new(database.clone());

fn run_generated(store: &dyn Fn() -> Arc<dyn Store>, front: Front, cases: u32) {
    let transactions = prop::collection::vec(prop::collection::vec(any_action(), 1..5), 1..30);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(&transactions, |transactions| {
        let database = thread_database(store());
        let asked = front(&database);
        let mut model = BTreeMap::new();
        for actions in &transactions {
            let expected = apply_to_model(&mut model, actions);
            let found = short(
                asked.transact_write_items(request(actions.iter().map(Action::write).collect())),
            );
            prop_assert_eq!(found, expected, "{:?}", actions);
            let mut items = asked.scan(&scan_request("Thread")).unwrap().items.unwrap();
            items.sort_by_key(|item| text(item.get("Subject").unwrap()));
            let expected: Vec<Item> = model
                .iter()
                .map(|(item, stored)| post(*item, *stored))
                .collect();
            prop_assert_eq!(items, expected);
        }
        prop_assert!(check(database.engine()).unwrap().is_clean());
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn generated_transactions_do_what_the_reference_does_in_memory() {
    run_generated(&|| Arc::new(MemoryStore::new().unwrap()), ITSELF, 200);
}

#[cfg(feature = "remote")]
#[test]
fn generated_transactions_through_a_client_do_what_the_reference_does() {
    let front: Front = |database| Arc::new(crate::support::through::client(database));
    run_generated(&|| Arc::new(MemoryStore::new().unwrap()), front, 100);
}

#[test]
fn generated_transactions_do_what_the_reference_does_on_lmdb() {
    let dir = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    let store = || -> Arc<dyn Store> {
        count.set(count.get() + 1);
        Arc::new(
            LmdbStore::open(
                &dir.path().join(count.get().to_string()),
                LmdbOptions::default(),
            )
            .unwrap(),
        )
    };
    run_generated(&store, ITSELF, 12);
}

/// Transfers between accounts by many threads at once: conditional on what was read, so none is lost, and a reader of all
/// accounts at one moment always finds the same sum.
#[test]
fn concurrent_transactions_are_serializable() {
    const ACCOUNTS: u8 = 4;
    const TRANSFERS: usize = 60;
    let database = thread_database(Arc::new(MemoryStore::new().unwrap()));
    let account = |account: u8, balance: i64| {
        let mut item = post_key(account);
        item.0.insert("Balance".to_owned(), n(&balance.to_string()));
        item
    };
    for number in 0..ACCOUNTS {
        put(&database, "Thread", account(number, 100)).unwrap();
    }
    let balances = || -> Vec<i64> {
        let gets = (0..ACCOUNTS)
            .map(|number| TransactGet::new(table("Thread"), post_key(number)))
            .collect();
        let gets = TransactGetItemsRequest {
            transact_items: gets,
            fault: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
        };
        let items = database.transact_get_items(gets).unwrap().responses;
        items
            .iter()
            .map(|item| {
                text(item.as_ref().unwrap().get("Balance").unwrap())
                    .parse()
                    .unwrap()
            })
            .collect()
    };
    let transfer = |from: u8, to: u8| loop {
        let now = balances();
        let write = |number: u8, change: i64| {
            let old = now[usize::from(number)];
            let write = put_in("Thread", account(number, old + change)).when("Balance = :old");
            TransactWrite {
                placeholders: placeholders(&[], &[(":old", n(&old.to_string()))]),
                ..write
            }
        };
        match database.transact_write_items(request(vec![write(from, -1), write(to, 1)])) {
            Ok(_) => break,
            Err(Error::TransactionCanceled(_)) => {}
            Err(error) => unreachable!("{error}"),
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (transfer, balances) = (&transfer, &balances);
            scope.spawn(move || {
                for _ in 0..TRANSFERS {
                    transfer(thread % ACCOUNTS, (thread + 1) % ACCOUNTS);
                    assert_eq!(balances().iter().sum::<i64>(), 400);
                }
            });
        }
    });
    assert_eq!(balances(), [100; 4]);
    assert!(check(database.engine()).unwrap().is_clean());
}

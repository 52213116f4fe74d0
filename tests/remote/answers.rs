//! What a service answers is checked: it is of what was asked for, moves on, has legal names, and is no larger than DynamoDB's.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ddbfs::database::cancel::{CancelSource, CancelToken};
use ddbfs::database::copies::batches::write_all;
use ddbfs::database::copies::compare::Comparison;
use ddbfs::database::copies::scan::CopyProgress;
use ddbfs::database::copies::{CopySide, definition};
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::remote::{AnswerBody, Client, RemoteDatabase, RemoteOptions, Transport};
use ddbfs::database::{Browse, Database, EntryRange, ListPosition, SourceName};
use ddbfs::engine::EngineOptions;
use ddbfs::fs::view::ViewOptions;
use ddbfs::model::api::*;
use ddbfs::model::{Error, Item};
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

use crate::support::engine::{definition as table_of, n, s, table};
use crate::support::http;
use crate::support::mounted::{Mount, memory};
use crate::support::proxy::{Proxy, Trouble};
use crate::support::through::{Altered, InProcess};
use crate::transport::{PATIENT, call, call_for, key, put, server, service};

/// `Tab` with three items of one collection.
fn database() -> LocalDatabase {
    let database = LocalDatabase::open(
        Arc::new(MemoryStore::new().unwrap()),
        EngineOptions::default(),
    )
    .unwrap();
    database
        .create_table(table_of("Tab", "pk:S sk:N", &["G one a:S ALL"]))
        .unwrap();
    (1..=3).for_each(|number| {
        drop(
            database
                .put_item(PutItemRequest::new(table("Tab"), item(number)))
                .unwrap(),
        )
    });
    database
}

fn item(number: u32) -> Item {
    let number = number.to_string();
    Item::from([
        ("pk", s("p")),
        ("sk", n(&number)),
        ("a", s("x")),
        ("n", n(&number)),
    ])
}

fn key_of(number: u32) -> Item {
    Item::from([("pk", s("p")), ("sk", n(&number.to_string()))])
}

#[track_caller]
fn unreadable<T: std::fmt::Debug>(answer: Result<T, Error>, why: &str) {
    let error = answer.unwrap_err().to_string();
    assert!(
        error.starts_with("the answer of the service cannot be read: ") && error.contains(why),
        "{error}"
    );
}

/// Answers of `operation` alone are altered.
fn altering(
    operation: &'static str,
    alter: impl Fn(&Value, &mut Value) + Send + Sync + 'static,
) -> Client {
    Altered::client(&database(), move |of, request, mut answer| {
        if of == operation {
            alter(request, &mut answer);
        }
        answer
    })
}

#[test]
fn an_item_of_another_key_is_none() {
    const OTHER: &str = "another key";
    let get = || GetItemRequest::new(table("Tab"), key_of(1));
    let other = |client: Client| unreadable(client.get_item(get()), OTHER);
    other(altering("GetItem", |_, answer| {
        answer["Item"]["sk"]["N"] = "2".into()
    }));
    other(altering("GetItem", |_, answer| {
        drop(answer["Item"].as_object_mut().unwrap().remove("sk"))
    }));
    // The same number, written otherwise; and what was not asked for need not be there.
    let client = altering("GetItem", |_, answer| {
        answer["Item"]["sk"]["N"] = "1.0".into()
    });
    assert_eq!(client.get_item(get()).unwrap().item, Some(item(1)));
    let projected = GetItemRequest {
        projection_expression: Some("n".to_owned()),
        ..get()
    };
    assert_eq!(
        client_of().get_item(projected).unwrap().item,
        Some(Item::from([("n", n("1"))]))
    );

    let batch = BatchGetItemRequest {
        request_items: vec![TableKeys::new(table("Tab"), vec![key_of(1), key_of(2)])],
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::None,
    };
    let client = altering("BatchGetItem", |_, answer| {
        answer["Responses"]["Tab"][0]["sk"]["N"] = "3".into()
    });
    unreadable(
        client.batch_get_item(&batch),
        "a key that was not asked for",
    );
    let client = altering("BatchGetItem", |request, answer| {
        answer["UnprocessedKeys"] = request["RequestItems"].clone();
        answer["UnprocessedKeys"]["Tab"]["Keys"][1]["sk"]["N"] = "3".into();
    });
    unreadable(
        client.batch_get_item(&batch),
        "unprocessed that was not asked for",
    );

    let gets = TransactGetItemsRequest {
        transact_items: vec![
            TransactGet::new(table("Tab"), key_of(1)),
            TransactGet::new(table("Tab"), key_of(2)),
        ],
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::None,
    };
    let client = altering("TransactGetItems", |_, answer| {
        answer["Responses"].as_array_mut().unwrap().reverse()
    });
    unreadable(client.transact_get_items(gets), OTHER);

    let mut update = UpdateItemRequest::new(
        table("Tab"),
        key_of(1),
        UpdateParameter::None,
        Placeholders::default(),
    );
    update.return_values = UpdateReturnValues::AllNew;
    unreadable(
        altering("UpdateItem", |_, answer| {
            answer["Attributes"]["pk"]["S"] = "q".into()
        })
        .update_item(update),
        OTHER,
    );
}

/// A service that answers everything with the same.
struct Words(&'static [u8]);

impl Transport for Words {
    fn call(
        &self,
        _caller: &CancelToken,
        _operation: &'static str,
        _body: &[u8],
    ) -> Result<AnswerBody, Error> {
        Ok(self.0.to_vec().into())
    }
}

#[test]
fn what_is_passed_on_in_the_services_words_is_json() {
    let pass = |words, operation| {
        Client::new(Arc::new(Words(words))).pass(VerbatimRequest {
            operation,
            body: b"{}".to_vec(),
        })
    };
    for words in [
        &b"\x1b]0;x\x07"[..],
        b"{\"Item\":{}}\x1b[2J",
        b"{\"a\x1b\":1}",
        b"{\"a\":\"\xff\"}",
        b"<html>",
    ] {
        for operation in ["GetItem", "PutItem", "DescribeTable"] {
            unreadable(pass(words, operation), "it is no JSON");
        }
    }
    assert_eq!(
        pass(b"{\"New\":[1.50]}", "GetItem").unwrap(),
        b"{\"New\":[1.50]}"
    );
    assert_eq!(pass(b"", "TagResource").unwrap(), b"");
}

fn client_of() -> Client {
    altering("", |_, _| ())
}

fn query() -> QueryRequest {
    let values = [(":p".to_owned(), s("p")), (":n".to_owned(), n("2"))]
        .into_iter()
        .collect();
    QueryRequest::new(
        table("Tab"),
        "pk = :p AND sk >= :n",
        Placeholders {
            names: None,
            values: Some(values),
        },
    )
}

#[test]
fn an_item_that_a_key_condition_keeps_out_is_none() {
    assert_eq!(
        client_of().query(&query()).unwrap().items.unwrap(),
        [item(2), item(3)]
    );
    for (name, kind, value) in [("sk", "N", "1"), ("pk", "S", "q"), ("sk", "S", "2")] {
        let client = altering("Query", move |_, answer| {
            answer["Items"][1][name] = json!({ kind: value })
        });
        unreadable(client.query(&query()), "does not fit the key condition");
    }
}

#[test]
fn a_page_has_not_the_item_that_it_goes_on_after() {
    let after = |number| ScanRequest {
        exclusive_start_key: Some(key_of(number)),
        ..ScanRequest::new(table("Tab"))
    };
    assert_eq!(
        client_of().scan(&after(2)).unwrap().items.unwrap(),
        [item(3)]
    );
    let client = altering("Scan", |_, answer| {
        answer["Items"][0]["sk"]["N"] = "2.0".into()
    });
    unreadable(client.scan(&after(2)), "it is to go on after");
    // A listing goes on after what it has shown, and ends.
    let client = altering("Scan", |request, answer| {
        let items = json!([{ "pk": { "S": "p" }, "sk": { "N": "1" } }, { "pk": { "S": "p" }, "sk": { "N": "2" } }]);
        answer["Items"] = items;
        answer["LastEvaluatedKey"] = json!({ "pk": { "S": "same" }, "sk": { "N": "1" } });
        assert_eq!(request["TableName"], "Tab");
    });
    let remote = RemoteDatabase::new(Arc::new(client), RemoteOptions::default());
    let (source, mut shown) = (
        SourceName {
            table: table("Tab"),
            index: None,
        },
        (None, 0),
    );
    let failed = loop {
        let after = shown.0.take();
        let listed = remote.entries(
            &source,
            &EntryRange::All,
            after.as_ref(),
            &mut |_, _, place| {
                shown = (Some(ListPosition(place.into())), shown.1 + 1);
                ControlFlow::Continue(())
            },
        );
        match listed {
            Err(error) if shown.0.is_none() => break error,
            _ => assert!(shown.1 < 100, "it never ends"),
        }
    };
    assert!(
        failed.to_string().contains("it is to go on after"),
        "{failed}"
    );
}

#[test]
fn no_request_gives_units_back_or_takes_them_without_bound() {
    let consumed = |units: Value| {
        let client = altering("Scan", move |_, answer| {
            answer["ConsumedCapacity"] = json!({ "TableName": "Tab", "CapacityUnits": units, "Table": { "CapacityUnits": units } });
        });
        client
            .scan(&ScanRequest::new(table("Tab")))
            .unwrap()
            .page
            .consumed_capacity
            .total()
    };
    assert_eq!(
        [json!(2.5), json!(-1e9), json!(1e308)].map(consumed),
        [2.5, 0.0, 1e6]
    );
}

#[test]
fn a_description_of_another_table_is_none() {
    let client = altering("DescribeTable", |_, answer| {
        answer["Table"]["TableName"] = "Tabs".into()
    });
    unreadable(
        client.describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        }),
        "it describes Tabs where Tab was asked for",
    );
}

#[test]
fn an_item_that_is_larger_than_any_is_none() {
    let client = altering("GetItem", |_, answer| {
        answer["Item"]["fill"] = json!({ "S": "x".repeat(900_000) })
    });
    unreadable(
        client.get_item(GetItemRequest::new(table("Tab"), key_of(1))),
        "larger than any of DynamoDB's",
    );
}

/// All of what is read page by page.
fn all(client: &Client, mut scan: ScanRequest) -> Result<usize, Error> {
    let mut pages = 0;
    loop {
        pages += 1;
        scan.exclusive_start_key = client.scan(&scan)?.page.last_evaluated_key;
        if scan.exclusive_start_key.is_none() {
            return Ok(pages);
        }
    }
}

#[test]
fn pages_move_on() {
    const STAYS: &str = "its pages do not move on";
    let scan = || ScanRequest {
        limit: Some(1),
        ..ScanRequest::new(table("Tab"))
    };
    assert_eq!(all(&client_of(), scan()), Ok(4));
    unreadable(
        all(
            &altering("Scan", |_, answer| {
                answer["LastEvaluatedKey"] = json!({ "pk": { "S": "p" }, "sk": { "N": "2" } })
            }),
            scan(),
        ),
        STAYS,
    );
    // Round and round.
    let client = altering("Scan", |request, answer| {
        if answer["LastEvaluatedKey"].is_null() {
            answer["LastEvaluatedKey"] = json!({ "pk": { "S": "p" }, "sk": { "N": "1" } });
        }
        assert_eq!(request["TableName"], "Tab");
    });
    unreadable(all(&client, scan()), STAYS);
    let client = altering("Query", |_, answer| {
        answer["LastEvaluatedKey"] = json!({ "pk": { "S": "p" }, "sk": { "N": "3" } })
    });
    let first = client.query(&query()).unwrap().page.last_evaluated_key;
    unreadable(
        client.query(&QueryRequest {
            exclusive_start_key: first,
            ..query()
        }),
        STAYS,
    );
    let tables = |client: Client| {
        RemoteDatabase::new(Arc::new(client), RemoteOptions::default()).table_names()
    };
    unreadable(
        tables(altering("ListTables", |_, answer| {
            answer["LastEvaluatedTableName"] = "Tab".into()
        })),
        STAYS,
    );
    let asked = AtomicU32::new(0);
    let circle = altering("ListTables", move |_, answer| {
        answer["LastEvaluatedTableName"] =
            format!("Tab{}", asked.fetch_add(1, Ordering::SeqCst) % 3).into();
    });
    unreadable(tables(circle), STAYS);
}

#[test]
fn tables_are_listed_once_with_legal_names_and_not_without_end() {
    let tables = |client: Client| {
        RemoteDatabase::new(Arc::new(client), RemoteOptions::default()).table_names()
    };
    let names = |names: Value| {
        altering("ListTables", move |_, answer| {
            answer["TableNames"] = names.clone()
        })
    };
    assert_eq!(
        tables(names(json!(["Two", "Tab", "Two", "Tab"]))).unwrap(),
        [table("Tab"), table("Two")]
    );
    for name in ["..", "a/b", "", "a b", "x\u{1b}[2J", &"x".repeat(256)] {
        unreadable(tables(names(json!(["Tab", name]))), "names no table");
    }
    let next = AtomicU32::new(0);
    let endless = altering("ListTables", move |_, answer| {
        let first = next.fetch_add(5_000, Ordering::SeqCst);
        answer["TableNames"] = (first..first + 5_000)
            .map(|number| format!("Tab{number}"))
            .collect();
        answer["LastEvaluatedTableName"] = format!("Tab{}", first + 4_999).into();
    });
    unreadable(tables(endless), "more than 100000 tables");
}

/// DynamoDB Local shows it so, as long as it is going.
pub fn going(operation: &str, mut answer: Value) -> Value {
    if let Some(described) = ["Table", "TableDescription"]
        .into_iter()
        .find(|name| answer.get(name).is_some())
    {
        assert!(operation.ends_with("Table"));
        answer[described]["GlobalSecondaryIndexes"] = json!([{
            "IndexName": "one", "IndexStatus": "DELETING", "KeySchema": [{ "AttributeName": "a", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "ALL" }, "ItemCount": 3, "IndexSizeBytes": 30,
        }]);
        let kept = |definition: &Value| definition["AttributeName"] != "a";
        let definitions = answer[described]["AttributeDefinitions"]
            .as_array()
            .unwrap();
        answer[described]["AttributeDefinitions"] = definitions
            .iter()
            .filter(|one| kept(one))
            .cloned()
            .collect();
    }
    answer
}

#[test]
fn an_index_that_is_going_may_be_listed_without_its_definition() {
    let client = Altered::client(&database(), |operation, _, answer| going(operation, answer));
    let remote = RemoteDatabase::new(Arc::new(client), RemoteOptions::default());
    assert_eq!(remote.schema(&table("Tab")).unwrap().unwrap().indexes, []);
    // One that is not going is to be understood.
    let client = altering("DescribeTable", |_, answer| {
        *answer = going("DescribeTable", answer.clone());
        answer["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] = "ACTIVE".into();
    });
    unreadable(
        client.describe_table(DescribeTableRequest {
            table_name: table("Tab"),
        }),
        "AttributeDefinitions of a",
    );
}

/// A service that has every table that it is asked for.
struct Describing(InProcess);

impl Transport for Describing {
    fn call(
        &self,
        caller: &CancelToken,
        operation: &'static str,
        body: &[u8],
    ) -> Result<AnswerBody, Error> {
        let request: Value = serde_json::from_slice(body).unwrap();
        if operation != "DescribeTable" {
            return self.0.call(caller, operation, body);
        }
        let mut answer: Value = serde_json::from_slice(
            &self
                .0
                .call(caller, operation, br#"{"TableName":"Tab"}"#)?
                .into_text(),
        )
        .unwrap();
        answer["Table"]["TableName"] = request["TableName"].clone();
        Ok(answer.to_string().into_bytes().into())
    }
}

#[test]
fn help_asks_for_no_table_that_is_not_listed() {
    let client = Client::new(Arc::new(Describing(InProcess(database()))));
    let remote = Arc::new(RemoteDatabase::new(
        Arc::new(client),
        RemoteOptions::default(),
    ));
    let mount = Mount::over(memory(), remote, ViewOptions::default(), |mount| mount);
    let text = std::fs::read_to_string(mount.path().join("README.md")).unwrap();
    assert!(text.contains("Tab/") && text.contains("Example@"), "{text}");
}

#[test]
fn bytes_of_a_table_are_those_that_the_service_counts() {
    let client = altering("DescribeTable", |_, answer| {
        answer["Table"]["TableSizeBytes"] = 60.into()
    });
    let remote = RemoteDatabase::new(Arc::new(client), RemoteOptions::default());
    let stats = remote
        .stats(&SourceName {
            table: table("Tab"),
            index: None,
        })
        .unwrap();
    assert_eq!((stats.entries, stats.bytes), (3, 60));
}

#[test]
fn an_answer_that_is_too_long_is_not_read_and_one_that_stalls_is_asked_for_again() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let aws = service(&proxy.url(), PATIENT);
    for trouble in [
        Trouble::Stall(60_000_000),
        Trouble::Answer(
            200,
            Box::leak(format!("{{{}}}", " ".repeat(16_000_000)).into_boxed_str()),
        ),
    ] {
        proxy.next(std::slice::from_ref(&trouble));
        let error = call(&aws, "GetItem", &key("Rex")).unwrap_err().to_string();
        assert!(error.contains("the answer is longer than "), "{error}");
        assert_eq!(proxy.take_operations(), ["GetItem"]);
    }
    // It may have been done.
    proxy.next(&[Trouble::Stall(60_000_000)]);
    let error = call(&aws, "PutItem", &put("Rex", 1))
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("whether PutItem was done is not known: read before you try again"),
        "{error}"
    );
    proxy.take_operations();
    let hasty = service(&proxy.url(), Duration::from_millis(500));
    proxy.always(Some(Trouble::Stall(1_000)));
    let error = call(&hasty, "GetItem", &key("Rex"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the answer ended after 10 bytes: no more came in time"),
        "{error}"
    );
    assert!(proxy.take_operations().len() > 1);
    server.shutdown();
}

/// The kernel asks again in the same system call; a program that asks again is another matter.
#[test]
fn who_waited_in_vain_and_asks_the_same_at_once_does_not_wait_again() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let hasty = service(&proxy.url(), Duration::from_millis(300));
    proxy.always(Some(Trouble::Silence));
    let ask = |thread: u32, name: &str| {
        let caller = CancelSource::default().token(thread, |_| true, |thread| thread);
        call_for(&caller, &hasty, "GetItem", &key(name)).unwrap_err();
        proxy.take_operations().len()
    };
    assert!(ask(1, "Rex") > 0);
    assert_eq!(ask(1, "Rex"), 0);
    // Once; and it is nothing to others and of nothing else.
    assert!(ask(1, "Rex") > 0);
    assert!(ask(2, "Rex") > 0 && ask(1, "Fido") > 0);
    server.shutdown();
}

#[test]
fn a_delete_whose_answer_got_lost_has_deleted() {
    let database = http::engine();
    let server = crate::transport::server_of(Arc::clone(&database));
    let proxy = Proxy::before(server.local_addr());
    let client = Arc::new(Client::new(Arc::new(service(&proxy.url(), PATIENT))));
    let options = RemoteOptions {
        is_writable: true,
        ..RemoteOptions::default()
    };
    let remote = RemoteDatabase::new(client, options);
    let rex = || Item::from([("p", s("Rex"))]);
    let delete = || {
        remote
            .delete_item(DeleteItemRequest::new(table("Pets"), rex()))
            .unwrap()
            .existed
    };
    remote
        .put_item(PutItemRequest::new(table("Pets"), rex()))
        .unwrap();
    assert!(delete() && !delete());
    remote
        .put_item(PutItemRequest::new(table("Pets"), rex()))
        .unwrap();
    proxy.next(&[Trouble::CutAfter]);
    assert!(delete());
    // In the caller's words, only what the service said.
    proxy.next(&[Trouble::CutAfter]);
    let body = br#"{"TableName":"Pets","Key":{"p":{"S":"Rex"}},"ReturnValues":"ALL_OLD"}"#;
    assert_eq!(
        remote
            .pass(VerbatimRequest {
                operation: "DeleteItem",
                body: body.to_vec()
            })
            .unwrap(),
        b"{}"
    );
    server.shutdown();
}

/// Leaves of every other batch all but one item unprocessed.
fn leaving() -> (LocalDatabase, Client) {
    let database = database();
    let asked = AtomicU32::new(0);
    let whole = Mutex::new(database.clone());
    let client = Altered::client(&database, move |operation, request, mut answer| {
        let (left, list) = match operation {
            "BatchWriteItem" => ("UnprocessedItems", None),
            "BatchGetItem" => ("UnprocessedKeys", Some("Keys")),
            _ => return answer,
        };
        if asked.fetch_add(1, Ordering::SeqCst) % 2 == 1 {
            return answer;
        }
        let mut of_table = request["RequestItems"]["Tab"].clone();
        let all = if let Some(list) = list {
            &mut of_table[list]
        } else {
            &mut of_table
        }
        .as_array_mut()
        .unwrap();
        let done = all.remove(0);
        if all.is_empty() {
            return answer;
        }
        for write in all.iter().filter(|_| list.is_none()) {
            // It is not there yet.
            let key: Item = ddbfs::codec::dynamodb_json::parse(
                write["PutRequest"]["Item"].to_string().as_bytes(),
            )
            .unwrap();
            let key = Item::from([
                ("pk", key.get("pk").unwrap().clone()),
                ("sk", key.get("sk").unwrap().clone()),
            ]);
            whole
                .lock()
                .unwrap()
                .delete_item(DeleteItemRequest::new(table("Tab"), key))
                .unwrap();
        }
        if list.is_some() {
            answer["Responses"]["Tab"]
                .as_array_mut()
                .unwrap()
                .retain(|item| item["sk"] == done["sk"]);
        }
        answer[left] = json!({ "Tab": of_table });
        answer
    });
    (database, client)
}

#[test]
fn what_a_batch_leaves_is_put_and_got_again() {
    let (database, client) = leaving();
    let side =
        |database: Arc<dyn Database>| CopySide::new(database, table("Tab"), "Tab".to_owned());
    let client: Arc<dyn Database> = Arc::new(client);
    let items: Vec<Item> = (100..160).map(item).collect();
    let puts = items.iter().cloned().map(WriteRequest::Put).collect();
    let counts = write_all(&side(Arc::clone(&client)), puts, &|item, error| {
        panic!("{item:?}: {error}")
    })
    .unwrap();
    assert_eq!((counts.items, counts.rejected), (60, 0));
    let there = database
        .scan(&ScanRequest::new(table("Tab")))
        .unwrap()
        .items
        .unwrap();
    assert!(
        items.iter().all(|item| there.contains(item)) && there.len() == 63,
        "{}",
        there.len()
    );
    // Each of them is another there: all are looked at again, and all are told.
    let other = self::database();
    let key = definition::describe(&side(Arc::new(other.clone())))
        .unwrap()
        .unwrap()
        .schema
        .key;
    let tally = CopyProgress::new(Arc::default(), |_| ());
    let sides = [side(client), side(Arc::new(other))];
    let mut told = 0;
    let comparison = Comparison {
        sides,
        key,
        segments: 1,
        progress: &tally,
    };
    comparison
        .run(&mut |difference| {
            told += usize::from(difference.items[1].is_none() && difference.items[0].is_some());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(told, 60);
}

#[test]
fn what_a_batch_leaves_must_have_been_in_it() {
    let client = altering("BatchWriteItem", |request, answer| {
        answer["UnprocessedItems"] = request["RequestItems"].clone();
        answer["UnprocessedItems"]["Tab"][0]["PutRequest"]["Item"]["sk"]["N"] = "9".into();
    });
    let side = CopySide::new(Arc::new(client), table("Tab"), "Tab".to_owned());
    let error = write_all(&side, vec![WriteRequest::Put(item(8))], &|_, _| ())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("unprocessed that was not asked for"),
        "{error}"
    );
}

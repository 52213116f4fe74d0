//! A client of another service: it answers as the service does, holds nobody, and names what the service names.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::support::engine::*;
use crate::support::through::{InProcess, client};
use ddbfs::database::Database;
use ddbfs::database::cancel::CancelToken;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::remote::{AnswerBody, Client, Transport};
use ddbfs::model::api::common::{ComparisonOperator, LegacyCondition};
use ddbfs::model::api::tables::StreamSpecification;
use ddbfs::model::api::*;
use ddbfs::model::error::{InUseError, StreamError};
use ddbfs::model::{Error, Item, TableName};

/// Against hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn tables(database: &dyn Database) -> Vec<TableName> {
    database
        .list_tables(ListTablesRequest::default())
        .unwrap()
        .table_names
        .iter()
        .map(|name| table(name))
        .collect()
}

fn describe(database: &dyn Database, name: &TableName) -> TableDescription {
    database
        .describe_table(DescribeTableRequest {
            table_name: name.clone(),
        })
        .unwrap()
        .table
}

/// What no service tells is left out: tags, violations, distinct partition keys, and when it was told.
fn told(mut table: TableDescription) -> TableDescription {
    table.schema.settings.tags.clear();
    table
        .indexes
        .iter_mut()
        .for_each(|index| (index.violations, index.partition_keys) = (0, 0));
    TableDescription { at_ms: 0, ..table }
}

/// The bytes looked at, no service tells.
fn page(
    response: Result<(Option<Vec<Item>>, Page), Error>,
) -> Result<(Option<Vec<Item>>, Page), String> {
    response
        .map(|(items, page)| {
            (
                items,
                Page {
                    scanned_bytes: 0,
                    ..page
                },
            )
        })
        .map_err(|error| error.to_string())
}

fn scanned(
    database: &dyn Database,
    request: &ScanRequest,
) -> Result<(Option<Vec<Item>>, Page), String> {
    page(
        database
            .scan(request)
            .map(|response| (response.items, response.page)),
    )
}

fn queried(
    database: &dyn Database,
    request: &QueryRequest,
) -> Result<(Option<Vec<Item>>, Page), String> {
    page(
        database
            .query(request)
            .map(|response| (response.items, response.page)),
    )
}

/// Every table and index of the samples: described, scanned whole and in segments, page by page, forwards and backwards.
#[test]
fn reads_are_those_of_the_service() {
    let database = samples();
    let client = client(&database);
    assert_eq!(tables(&client), tables(&database));
    for name in tables(&database) {
        let described = describe(&database, &name);
        assert_eq!(told(describe(&client, &name)), told(described.clone()));
        let sources = described
            .schema
            .indexes
            .iter()
            .map(|index| Some(index.name.clone()));
        for index_name in std::iter::once(None).chain(sources) {
            let scan = ScanRequest {
                index_name: index_name.clone(),
                limit: Some(3),
                return_consumed_capacity: ReturnConsumedCapacity::Indexes,
                ..ScanRequest::new(name.clone())
            };
            let variants = [
                ScanRequest {
                    segment: Some(Segment { index: 1, total: 3 }),
                    ..scan.clone()
                },
                ScanRequest {
                    select: Some(Select::Count),
                    limit: None,
                    ..scan.clone()
                },
                ScanRequest {
                    consistent_read: true,
                    ..scan.clone()
                },
                ScanRequest {
                    projection_expression: Some("a b".to_owned()),
                    ..scan.clone()
                },
            ];
            variants.iter().for_each(|scan| {
                assert_eq!(scanned(&client, scan), scanned(&database, scan), "{scan:?}")
            });
            let mut next = Some(scan);
            while let Some(scan) = next {
                let expected = scanned(&database, &scan);
                assert_eq!(scanned(&client, &scan), expected);
                let start = expected.unwrap().1.last_evaluated_key;
                next = start.map(|key| ScanRequest {
                    exclusive_start_key: Some(key),
                    ..scan
                });
            }
        }
        let items = database
            .scan(&ScanRequest::new(name.clone()))
            .unwrap()
            .items
            .unwrap();
        items
            .iter()
            .for_each(|item| item_reads(&database, &client, &described, item));
    }
}

/// One item by its key, alone, in a batch, in a transaction; its item collection as Query gives it.
fn item_reads(database: &LocalDatabase, client: &Client, table: &TableDescription, item: &Item) {
    let key = item
        .key(&table.schema.key)
        .unwrap()
        .to_item(&table.schema.key);
    let name = table.schema.name.clone();
    let get = GetItemRequest {
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        consistent_read: true,
        ..GetItemRequest::new(name.clone(), key.clone())
    };
    assert_eq!(
        client.get_item(get.clone()).unwrap(),
        database.get_item(get).unwrap()
    );
    let batch = BatchGetItemRequest {
        request_items: vec![TableKeys::new(name.clone(), vec![key.clone()])],
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
    };
    assert_eq!(
        client.batch_get_item(&batch).unwrap(),
        database.batch_get_item(&batch).unwrap()
    );
    let transaction = || TransactGetItemsRequest {
        transact_items: vec![TransactGet::new(name.clone(), key.clone())],
        fault: None,
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
    };
    assert_eq!(
        client.transact_get_items(transaction()).unwrap(),
        database.transact_get_items(transaction()).unwrap()
    );
    let attribute = &table.schema.key.partition.name;
    let condition = LegacyCondition {
        attribute: attribute.clone(),
        comparison_operator: Some(ComparisonOperator::Eq),
        attribute_value_list: Some(vec![item.get(attribute).unwrap().clone()]),
        ..LegacyCondition::default()
    };
    let query = QueryRequest {
        key_condition_expression: None,
        key_conditions: Some(vec![condition]),
        scan_index_forward: false,
        limit: Some(2),
        return_consumed_capacity: ReturnConsumedCapacity::Indexes,
        ..QueryRequest::new(name, "", Placeholders::default())
    };
    assert_eq!(queried(client, &query), queried(database, &query));
}

/// Streams with records of each kind, from each position; a table that is gone keeps its stream.
#[test]
fn streams_are_those_of_the_service() {
    let database = samples();
    let client = client(&database);
    let enable = |name: &TableName| UpdateTableRequest {
        stream: Some(StreamSpecification {
            enabled: true,
            view_type: Some(StreamViewType::NewAndOldImages),
        }),
        ..UpdateTableRequest::new(name.clone())
    };
    let name = table("Pets");
    client.update_table(enable(&name)).unwrap();
    let stream = client
        .list_streams(ListStreamsRequest {
            table_name: Some(name.clone()),
            ..Default::default()
        })
        .unwrap();
    assert_eq!(
        stream,
        database
            .list_streams(ListStreamsRequest {
                table_name: Some(name.clone()),
                ..Default::default()
            })
            .unwrap()
    );
    let stream = stream.streams[0].clone();
    let pet = |age: &str| {
        Item::from([
            ("AnimalType", s("Dog")),
            ("Name", s("New")),
            ("Age", n(age)),
        ])
    };
    let key = Item::from([("AnimalType", s("Dog")), ("Name", s("New"))]);
    client
        .put_item(PutItemRequest::new(name.clone(), pet("1")))
        .unwrap();
    client
        .put_item(PutItemRequest::new(name.clone(), pet("2")))
        .unwrap();
    assert!(
        client
            .delete_item(DeleteItemRequest::new(name.clone(), key.clone()))
            .unwrap()
            .existed
    );
    assert!(
        !client
            .delete_item(DeleteItemRequest::new(name.clone(), key))
            .unwrap()
            .existed
    );

    let described = || DescribeStreamRequest {
        stream: stream.clone(),
        limit: None,
        exclusive_start_shard_id: None,
        children_of: None,
    };
    let shards = client.describe_stream(described()).unwrap();
    // All shards are shown as one.
    let mut expected = database.describe_stream(described()).unwrap();
    expected.shards[0].shard_id = shards.shards[0].shard_id.clone();
    assert_eq!(shards, expected);
    let read = |database: &dyn Database, position| {
        let shard_id = database.describe_stream(described())?.shards[0]
            .shard_id
            .clone();
        let request = GetShardIteratorRequest {
            stream: stream.clone(),
            shard_id,
            position,
        };
        let shard_iterator = database.get_shard_iterator(request)?.shard_iterator;
        database.get_records(GetRecordsRequest {
            shard_iterator,
            limit: Some(10),
        })
    };
    let all = read(&client, ShardPosition::TrimHorizon).unwrap().records;
    assert_eq!(
        all.iter().map(|record| record.event).collect::<Vec<_>>(),
        [
            StreamEvent::Insert,
            StreamEvent::Modify,
            StreamEvent::Remove
        ]
    );
    let second = all[1].sequence_number;
    for position in [
        ShardPosition::TrimHorizon,
        ShardPosition::Latest,
        ShardPosition::AtSequenceNumber(second),
        ShardPosition::AfterSequenceNumber(second),
        ShardPosition::AtTimestamp(NOW_MS),
        ShardPosition::AtSequenceNumber(SequenceNumber::from_version(u64::MAX)),
    ] {
        let text =
            |outcome: Result<GetRecordsResponse, Error>| outcome.map_err(|error| error.to_string());
        let records =
            |outcome: Result<GetRecordsResponse, Error>| text(outcome).map(|answer| answer.records);
        assert_eq!(
            records(read(&client, position)),
            records(read(&database, position)),
            "{position:?}"
        );
    }
    let none = StreamName {
        label: "2000-01-01T00:00:00.000".to_owned(),
        ..stream.clone()
    };
    let gone = client.describe_stream(DescribeStreamRequest {
        stream: none,
        ..described()
    });
    assert!(
        matches!(gone, Err(Error::Stream(StreamError::NotFound(_)))),
        "{gone:?}"
    );
    let bad = client.get_records(GetRecordsRequest {
        shard_iterator: "x".to_owned(),
        limit: None,
    });
    assert_eq!(bad, Err(StreamError::Iterator.into()));
}

/// A service somewhere else, and what it was asked.
struct Elsewhere {
    inner: InProcess,
    asked: Mutex<Vec<String>>,
}

const HERE: &str = "us-east-1:000000000000";
const THERE: &str = "eu-central-1:123456789012";

impl Transport for Elsewhere {
    fn call(
        &self,
        caller: &CancelToken,
        operation: &'static str,
        body: &[u8],
    ) -> Result<AnswerBody, Error> {
        let body = String::from_utf8(body.to_vec()).unwrap();
        self.asked
            .lock()
            .unwrap()
            .push(format!("{operation} {body}"));
        let answer = self
            .inner
            .call(caller, operation, body.as_bytes())?
            .into_text();
        Ok(String::from_utf8(answer)
            .unwrap()
            .replace(HERE, THERE)
            .into_bytes()
            .into())
    }
}

/// Its streams are asked for where its ARNs say that they are.
#[test]
fn arns_are_the_service_s() {
    let database = samples();
    let service = Arc::new(Elsewhere {
        inner: InProcess(database),
        asked: Mutex::default(),
    });
    let client = Client::new(Arc::clone(&service) as Arc<dyn Transport>);
    let stream = StreamName {
        table_name: table("Pets"),
        label: "2026-01-02T03:04:05.678".to_owned(),
    };
    let request = || DescribeStreamRequest {
        stream: stream.clone(),
        limit: None,
        exclusive_start_shard_id: None,
        children_of: None,
    };
    assert!(client.describe_stream(request()).is_err());
    assert!(client.describe_stream(request()).is_err());
    let asked = service.asked.lock().unwrap().join("\n");
    let describe = format!(
        r#"DescribeStream {{"StreamArn":"arn:aws:dynamodb:{THERE}:table/Pets/stream/2026-01-02T03:04:05.678"}}"#
    );
    assert_eq!(
        asked,
        [
            r#"DescribeTable {"TableName":"Pets"}"#,
            &describe,
            &describe
        ]
        .join("\n")
    );
}

#[test]
fn tables_come_and_go() {
    let database = database();
    let client = client(&database);
    let request = definition(
        "Tab",
        "pk:S sk:N",
        &["G byA a:S ALL", "L byB b:N INCLUDE=x,y"],
    );
    let created = client
        .create_table(request.clone())
        .unwrap()
        .table_description;
    let described = describe(&database, &table("Tab"));
    assert_eq!(
        (created.status, created.table_id, created.schema),
        (TableStatus::Creating, described.table_id, described.schema)
    );
    assert_eq!(
        client.create_table(request),
        Err(Error::TableAlreadyExists("Tab".to_owned()))
    );
    client
        .put_item(PutItemRequest::new(
            table("Tab"),
            json(r#""pk":"a","sk":1"#),
        ))
        .unwrap();
    let if_empty = || DeleteTableRequest {
        only_if_empty: true,
        ..DeleteTableRequest::new(table("Tab"))
    };
    assert_eq!(
        client.delete_table(if_empty()),
        Err(InUseError::HasItems("Tab".to_owned()).into())
    );
    client
        .delete_item(DeleteItemRequest::new(
            table("Tab"),
            json(r#""pk":"a","sk":1"#),
        ))
        .unwrap();
    let gone = client.delete_table(if_empty()).unwrap().table_description;
    assert_eq!(
        (gone.status, gone.schema.indexes.len()),
        (TableStatus::Deleting, 2)
    );
    assert_eq!(
        client.delete_table(if_empty()),
        Err(Error::TableNotFound("Tab".to_owned()))
    );
    let get = GetItemRequest::new(table("Tab"), json(r#""pk":"a","sk":1"#));
    assert_eq!(client.get_item(get), Err(Error::ResourceNotFound));
}

#[test]
fn what_the_api_has_not_is_refused() {
    let database = tab();
    let client = client(&database);
    let item = || json(r#""pk":"a","sk":1"#);
    let put = PutItemRequest {
        precondition: Some(Precondition::Absent),
        ..PutItemRequest::new(table("Tab"), item())
    };
    assert!(matches!(client.put_item(put), Err(Error::Unavailable(_))));
    let tags = client.describe_limits(ddbfs::model::api::resource::DescribeLimitsRequest {});
    assert!(matches!(tags, Err(Error::Unavailable(_))), "{tags:?}");
    assert_eq!(get(&database, "Tab", item()), None);
}

/// A service that answers nobody until it is told to.
#[derive(Default)]
struct Slow {
    is_open: Mutex<bool>,
    opened: Condvar,
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl Transport for Slow {
    fn call(
        &self,
        _caller: &CancelToken,
        operation: &'static str,
        _body: &[u8],
    ) -> Result<AnswerBody, Error> {
        assert!(
            ["PutItem", "ExecuteStatement"].contains(&operation),
            "{operation}"
        );
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        let is_open = self.is_open.lock().unwrap();
        drop(
            self.opened
                .wait_while(is_open, |is_open| !*is_open)
                .unwrap(),
        );
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(
            br#"{"ConsumedCapacity":{"TableName":"Tab","CapacityUnits":1.0}}"#
                .to_vec()
                .into(),
        )
    }
}

/// Many are started before the first is answered: who starts them does not wait. Few are on their way at once.
#[test]
fn started_requests_hold_nobody() {
    let service = Arc::new(Slow::default());
    let client = Client::new(Arc::clone(&service) as Arc<dyn Transport>);
    let (sender, receiver) = channel();
    for number in 0..100 {
        let (one, other) = (sender.clone(), sender.clone());
        let item = Item::from([("pk", s("a")), ("sk", n(&number.to_string()))]);
        client.start(Call::PutItem(
            PutItemRequest::new(table("Tab"), item),
            Completion::detached(move |outcome| {
                one.send(outcome.map(|response: PutItemResponse| response.consumed_capacity.table))
                    .unwrap();
            }),
        ));
        let statement = ExecuteStatementRequest::new("x");
        client.start(Call::ExecuteStatement(
            statement,
            Completion::detached(move |outcome| {
                other
                    .send(
                        outcome.map(|response: ExecuteStatementResponse| {
                            response.consumed_capacity.table
                        }),
                    )
                    .unwrap();
            }),
        ));
    }
    // Those that are on their way finish for who let go of the client.
    drop(client);
    *service.is_open.lock().unwrap() = true;
    service.opened.notify_all();
    for _ in 0..200 {
        assert_eq!(receiver.recv_timeout(PATIENCE).unwrap(), Ok(1.0));
    }
    let most = service.most.load(Ordering::SeqCst);
    assert!((1..=16).contains(&most), "{most} at once");
}

/// What panics within is told, and those behind it are served.
#[test]
fn a_request_that_is_lost_is_told() {
    struct Panics;
    impl Transport for Panics {
        fn call(
            &self,
            _caller: &CancelToken,
            _operation: &'static str,
            _body: &[u8],
        ) -> Result<AnswerBody, Error> {
            panic!("on purpose")
        }
    }
    let client = Client::new(Arc::new(Panics));
    let (sender, receiver) = channel();
    for _ in 0..40 {
        let sender = sender.clone();
        let held = Held(sender);
        client.start(Call::PutItem(
            PutItemRequest::new(table("Tab"), Item::default()),
            Completion::detached(move |_| drop(held)),
        ));
    }
    for _ in 0..40 {
        receiver.recv_timeout(PATIENCE).unwrap();
    }
}

/// Tells when it is dropped.
struct Held(std::sync::mpsc::Sender<()>);

impl Drop for Held {
    fn drop(&mut self) {
        // Nobody waits any more when the test has failed.
        let _ = self.0.send(());
    }
}

//! CreateTable, DescribeTable, ListTables, DeleteTable (docs/dynamodb.md 11).

use std::sync::Arc;

use crate::support::engine;
use crate::support::engine::{
    b, database, get, n, options, put, query_request, s, samples, scan_request, table,
};
use crate::support::wait::until;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database};
use ddbfs::engine::Engine;
use ddbfs::engine::check::check;
use ddbfs::model::api::tables::{IndexDefinition, ProjectionDefinition, ProjectionType};
use ddbfs::model::api::*;
use ddbfs::model::error::{InUseError, StoreError};
use ddbfs::model::schema::{
    BillingMode, IndexKind, KeyAttributeType, KeyType, ProvisionedThroughput, TableClass,
};
use ddbfs::model::{Error, IndexName, Item, KeyAttribute, Projection, TableSettings};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

/// `pk` HASH, `sk>` RANGE, blanks between.
fn keys(text: &str) -> Vec<KeySchemaElement> {
    let element = |word: &str| match word.strip_suffix('>') {
        Some(name) => KeySchemaElement {
            attribute_name: name.into(),
            key_type: KeyType::Range,
        },
        None => KeySchemaElement {
            attribute_name: word.into(),
            key_type: KeyType::Hash,
        },
    };
    text.split_whitespace().map(element).collect()
}

/// Definitions of type S, blanks between.
fn definitions(text: &str) -> Vec<KeyAttribute> {
    let attribute = |name: &str| KeyAttribute {
        name: name.into(),
        attribute_type: KeyAttributeType::S,
    };
    text.split_whitespace().map(attribute).collect()
}

fn request(definition: &str, key: &str) -> CreateTableRequest {
    CreateTableRequest {
        table_name: table("Tab"),
        attribute_definitions: definitions(definition),
        key_schema: keys(key),
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: None,
        global_indexes: None,
        deletion_protection: false,
        settings: Default::default(),
        vector_indexes: None,
    }
}

fn projection(
    projection_type: Option<ProjectionType>,
    names: Option<&[&str]>,
) -> ProjectionDefinition {
    let non_key_attributes =
        names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    ProjectionDefinition {
        projection_type,
        non_key_attributes,
    }
}

fn index(kind: IndexKind, name: &str, key: &str) -> IndexDefinition {
    IndexDefinition {
        name: IndexName::new(name).unwrap(),
        kind,
        key_schema: keys(key),
        projection: projection(Some(ProjectionType::All), None),
        throughput: None,
        settings: Default::default(),
        vector: None,
    }
}

fn local(name: &str, key: &str) -> IndexDefinition {
    index(IndexKind::Local, name, key)
}

fn global(name: &str, key: &str) -> IndexDefinition {
    index(IndexKind::Global, name, key)
}

fn units(read: u64, write: u64) -> Option<ProvisionedThroughput> {
    Some(ProvisionedThroughput {
        read_capacity_units: read,
        write_capacity_units: write,
    })
}

const IV: &str = "One or more parameter values were invalid: ";

/// The text of the error, `IV: ` for the usual prefix; empty for success.
fn check_create(request: CreateTableRequest, expected: &str) {
    let text = database()
        .create_table(request.clone())
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert_eq!(text.replace(IV, "IV: "), expected, "{request:?}");
}

#[test]
fn table_of_throughput_errors() {
    let with = |billing_mode, throughput| CreateTableRequest {
        billing_mode,
        throughput,
        ..request("pk", "pk")
    };
    let on_demand = "IV: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST";
    let missing = "IV: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED";
    check_create(
        with(Some(BillingMode::PayPerRequest), units(1, 1)),
        on_demand,
    );
    check_create(with(Some(BillingMode::Provisioned), None), missing);
    check_create(with(None, None), missing);
    check_create(with(None, units(1, 1)), "");
    check_create(with(None, units(40_000, 40_000)), "");
    let above = |member: &str, value: u64| {
        format!(
            "The requested {member}, {value}, is above the per table maximum for the account in us-east-1. Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    };
    check_create(
        with(None, units(1_000_000_000_000, 1_000_000_000_000)),
        &above("ReadCapacityUnits", 1_000_000_000_000),
    );
    check_create(
        with(None, units(1, 40_001)),
        &above("WriteCapacityUnits", 40_001),
    );
    let over = 1_000_000_000_001;
    check_create(
        with(None, units(over, over)),
        "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
    );
    check_create(
        with(None, units(1, over)),
        "Given value 1000000000001 for WriteCapacityUnits is out of bounds",
    );
}

#[test]
fn table_of_key_schema_errors() {
    check_create(request("pk", "pk"), "");
    check_create(request("pk sk", "pk sk>"), "");
    check_create(request("sk pk", "pk sk>"), "");
    check_create(request("pk pk", "pk"), "Attribute Name is duplicated: pk");
    check_create(
        request("pk", "pk sk>"),
        "Invalid KeySchema: Some index key attribute have no definition",
    );
    check_create(
        request("sk pk", "q"),
        "IV: Some index key attributes are not defined in AttributeDefinitions. Keys: [q], AttributeDefinitions: [sk, pk]",
    );
    check_create(
        request("pk q", "pk pk>"),
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    );
    check_create(
        request("pk", "pk>"),
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    );
    check_create(
        request("pk sk", "pk> sk"),
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    );
    check_create(
        request("pk sk", "pk sk"),
        "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
    );
    check_create(
        request("pk sk", "pk"),
        "IV: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
    );
}

fn with_local(definition: &str, key: &str, indexes: Vec<IndexDefinition>) -> CreateTableRequest {
    CreateTableRequest {
        local_indexes: Some(indexes),
        ..request(definition, key)
    }
}

fn with_global(definition: &str, indexes: Vec<IndexDefinition>) -> CreateTableRequest {
    CreateTableRequest {
        global_indexes: Some(indexes),
        ..request(definition, "pk sk>")
    }
}

#[test]
fn table_of_local_index_errors() {
    let check =
        |indexes, expected| check_create(with_local("pk sk a", "pk sk>", indexes), expected);
    check(vec![local("idx", "pk a>")], "");
    check_create(
        with_local("pk sk", "pk sk>", vec![local("idx", "pk sk>")]),
        "",
    );
    check_create(
        with_local("pk sk", "pk sk>", vec![]),
        "IV: List of LocalSecondaryIndexes is empty",
    );
    check_create(
        with_local("pk sk a b", "pk sk>", vec![local("idx", "pk a>")]),
        "IV: Some AttributeDefinitions are not used. AttributeDefinitions: [pk, sk, a, b], keys used: [a, pk, sk]",
    );
    check_create(
        with_local("pk a", "pk", vec![local("idx", "pk a>")]),
        "IV: Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
    );
    check(
        vec![local("idx", "pk a>"), local("idy", "pk q>")],
        "IV: Some index key attributes are not defined in AttributeDefinitions. Keys: [q], AttributeDefinitions: [pk, sk, a]",
    );
    let range_missing = "IV: Index KeySchema does not have a range key for index: idy";
    check(
        vec![local("idx", "pk a>"), local("idy", "pk")],
        range_missing,
    );
    check(
        vec![local("idx", "a pk>")],
        "IV: Index KeySchema does not have the same leading hash key as table KeySchema for index: idx. index hash key: a, table hash key: pk",
    );
    check(
        vec![local("idx", "pk a>"), local("idx", "pk sk>")],
        "IV: Duplicate index name: idx",
    );
    let six = (0..6)
        .map(|i| local(&format!("idx{i}"), "pk a>"))
        .collect::<Vec<_>>();
    check(six[..5].to_vec(), "");
    check(
        six,
        "IV: Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    );
}

#[test]
fn table_of_projection_errors() {
    let check = |projection, expected| {
        let index = IndexDefinition {
            projection,
            ..local("idx", "pk a>")
        };
        check_create(
            with_local("pk sk a", "pk sk>", vec![index.clone()]),
            expected,
        );
        let index = IndexDefinition {
            kind: IndexKind::Global,
            ..index
        };
        check_create(with_global("pk sk a", vec![index]), expected);
    };
    check(projection(None, None), "IV: Unknown ProjectionType: null");
    check(projection(Some(ProjectionType::KeysOnly), None), "");
    check(
        projection(Some(ProjectionType::Include), Some(&["x", "pk"])),
        "",
    );
    let unwanted = "IV: ProjectionType is ALL, but NonKeyAttributes is specified";
    check(
        projection(Some(ProjectionType::All), Some(&["x"])),
        unwanted,
    );
    let unwanted = "IV: ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified";
    check(
        projection(Some(ProjectionType::KeysOnly), Some(&["x"])),
        unwanted,
    );
    let missing = "IV: ProjectionType is INCLUDE, but NonKeyAttributes is not specified";
    check(projection(Some(ProjectionType::Include), None), missing);
    let twice = "IV: Duplicate element in NonKeyAttributes: x";
    check(
        projection(Some(ProjectionType::Include), Some(&["x", "y", "x"])),
        twice,
    );
}

#[test]
fn projected_attributes_are_limited_over_all_indexes() {
    let indexes = |names: usize| {
        let include = |i: usize, count: usize| {
            let names: Vec<String> = (0..count).map(|name| format!("n{name}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let projection = projection(Some(ProjectionType::Include), Some(&names));
            IndexDefinition {
                projection,
                ..global(&format!("idx{i}"), "pk")
            }
        };
        (0..5)
            .map(|i| include(i, 20))
            .chain((names > 100).then(|| include(5, names - 100)))
            .collect()
    };
    check_create(with_global("pk sk", indexes(100)), "");
    check_create(
        with_global("pk sk", indexes(101)),
        "IV: Number of attributes in NonKeyAttributes over all indexes exceeds the limit of 100",
    );
}

#[test]
fn table_of_global_index_errors() {
    let check = |indexes, expected| check_create(with_global("pk sk a b c d e", indexes), expected);
    let rest = || global("rest", "a b c d");
    check(vec![rest(), global("idx", "e pk> sk> a>")], "");
    check(vec![rest(), global("idx", "pk"), global("idy", "e")], "");
    check_create(with_global("pk sk", vec![global("idx", "pk sk>")]), "");
    check_create(with_global("pk sk", vec![global("Tab", "sk")]), "");
    check_create(
        with_global("pk sk", vec![]),
        "IV: List of GlobalSecondaryIndexes is empty",
    );
    let first = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type";
    check(vec![rest(), global("idx", "e>")], first);
    check(vec![rest(), global("idx", "e> pk")], first);
    let order = "IV: All HASH key attributes must precede RANGE key attributes in the KeySchema";
    check(vec![rest(), global("idx", "e pk> a")], order);
    let repeated = "The KeySchema contains multiple key attributes with the same name";
    check(vec![rest(), global("idx", "e e>")], repeated);
    let many = "IV: The KeySchema exceeds the maximum allowed number of HASH key attributes";
    check(vec![global("idx", "a b c d e")], many);
    let many = "IV: The KeySchema exceeds the maximum allowed number of RANGE key attributes";
    check(vec![global("idx", "pk a> b> c> d> e>")], many);
    check(
        vec![rest(), global("idx", "e"), global("rest", "pk")],
        "IV: Duplicate index name: rest",
    );
    let both = CreateTableRequest {
        local_indexes: Some(vec![local("idx", "pk sk>")]),
        ..with_global("pk sk", vec![global("idx", "pk")])
    };
    check_create(both, "IV: Duplicate index name: idx");
    let twenty_one = (0..21)
        .map(|i| global(&format!("idx{i}"), "pk"))
        .collect::<Vec<_>>();
    check_create(with_global("pk sk", twenty_one[..20].to_vec()), "");
    let many = "IV: GlobalSecondaryIndex count exceeds the per-table limit of 20";
    check_create(with_global("pk sk", twenty_one), many);
}

#[test]
fn table_of_global_index_throughput_errors() {
    let with = |billing_mode, throughput, of_index| CreateTableRequest {
        billing_mode: Some(billing_mode),
        throughput,
        ..with_global(
            "pk sk",
            vec![IndexDefinition {
                throughput: of_index,
                ..global("idx", "sk")
            }],
        )
    };
    check_create(with(BillingMode::Provisioned, units(1, 1), units(2, 2)), "");
    check_create(
        with(BillingMode::PayPerRequest, None, units(1, 1)),
        "IV: ProvisionedThroughput should not be specified for index: idx when BillingMode is PAY_PER_REQUEST",
    );
    check_create(
        with(BillingMode::Provisioned, units(1, 1), None),
        "IV: ProvisionedThroughput is not specified for index: idx",
    );
}

#[test]
fn a_created_table_is_described_and_active() {
    let database = database();
    let include = projection(Some(ProjectionType::Include), Some(&["z", "y"]));
    let request = CreateTableRequest {
        global_indexes: Some(vec![IndexDefinition {
            projection: include,
            ..global("byA", "a")
        }]),
        settings: TableSettings {
            table_class: Some(TableClass::Standard),
            ..TableSettings::default()
        },
        ..with_local("pk sk a b", "pk sk>", vec![local("byB", "pk b>")])
    };
    let created = database
        .create_table(request.clone())
        .unwrap()
        .table_description;
    assert_eq!(created.status, TableStatus::Creating);
    assert!(
        created
            .indexes
            .iter()
            .all(|index| index.status == TableStatus::Creating)
    );
    assert_eq!(created.created_ms, engine::NOW_MS);
    let id = &created.table_id;
    assert!(
        id.len() == 36 && id.chars().filter(|c| *c == '-').count() == 4 && &id[14..15] == "4",
        "{id}"
    );

    let described = database.describe(&table("Tab")).unwrap().unwrap();
    assert_eq!(described.status, TableStatus::Active);
    assert_eq!(described.schema, created.schema);
    assert_eq!(
        described.schema.indexes[1].projection,
        Projection::Include(vec!["y".into(), "z".into()])
    );
    assert_eq!(
        described.schema.settings.table_class,
        Some(TableClass::Standard)
    );
    let names: Vec<String> = described
        .schema
        .attribute_definitions()
        .into_iter()
        .map(|a| a.name)
        .collect();
    assert_eq!(names, ["a", "b", "pk", "sk"]);

    let again = database.create_table(request).unwrap_err();
    assert_eq!(again, Error::TableAlreadyExists("Tab".into()));
}

#[test]
fn description_counts_items_entries_and_bytes() {
    let database = database();
    let request = CreateTableRequest {
        global_indexes: Some(vec![IndexDefinition {
            projection: projection(Some(ProjectionType::KeysOnly), None),
            ..global("byA", "a")
        }]),
        ..request("pk a", "pk")
    };
    database.create_table(request).unwrap();
    for (pk, a) in [
        ("1", Some("x")),
        ("2", Some("x")),
        ("3", Some("y")),
        ("4", None),
    ] {
        let mut item = Item::from([("pk", s(pk)), ("rest", s("12345678"))]);
        item.0.extend(a.map(|a| ("a".to_owned(), s(a))));
        put(&database, "Tab", item).unwrap();
    }
    let described = database.describe(&table("Tab")).unwrap().unwrap();
    assert_eq!(
        (described.item_count, described.table_size_bytes),
        (4, 4 * (100 + 3 + 12) + 3 * 2)
    );
    let index = &described.indexes[0];
    assert_eq!(
        (
            index.item_count,
            index.index_size_bytes,
            index.partition_keys
        ),
        (3, 3 * (100 + 5), 2)
    );
}

#[test]
fn unknown_tables() {
    let database = database();
    let name = || table("None");
    assert_eq!(
        database
            .describe_table(DescribeTableRequest { table_name: name() })
            .unwrap_err()
            .to_string(),
        "Requested resource not found: Table: None not found"
    );
    assert_eq!(
        database
            .delete_table(DeleteTableRequest::new(name()))
            .unwrap_err(),
        Error::TableNotFound("None".into())
    );
    let item = Item::from([("pk", s("1"))]);
    assert_eq!(
        put(&database, "None", item.clone()).unwrap_err(),
        Error::ResourceNotFound
    );
    assert_eq!(
        database
            .get_item(GetItemRequest::new(name(), item.clone()))
            .unwrap_err(),
        Error::ResourceNotFound
    );
    assert_eq!(
        database
            .delete_item(DeleteItemRequest::new(name(), item))
            .unwrap_err(),
        Error::ResourceNotFound
    );
    assert_eq!(
        database.scan(&scan_request("None")).unwrap_err(),
        Error::ResourceNotFound
    );
    let query = query_request("None", "pk = :p", &[(":p", s("1"))]);
    assert_eq!(database.query(&query).unwrap_err(), Error::ResourceNotFound);
    assert_eq!(database.schema(&name()).unwrap(), None);
    assert_eq!(database.describe(&name()).unwrap(), None);
}

#[test]
fn tables_are_listed_in_byte_order_page_by_page() {
    let database = database();
    for name in ["beta", "Alpha", "alpha", "a.b", "Zeta"] {
        database
            .create_table(CreateTableRequest {
                table_name: table(name),
                ..request("pk", "pk")
            })
            .unwrap();
    }
    let list = |start: Option<&str>, limit| {
        let exclusive_start_table_name = start.map(str::to_owned);
        let response = database
            .list_tables(ListTablesRequest {
                exclusive_start_table_name,
                limit,
            })
            .unwrap();
        (
            response.table_names.join(" "),
            response.last_evaluated_table_name,
        )
    };
    assert_eq!(list(None, None), ("Alpha Zeta a.b alpha beta".into(), None));
    assert_eq!(
        list(None, Some(2)),
        ("Alpha Zeta".into(), Some("Zeta".into()))
    );
    assert_eq!(list(Some("Zeta"), Some(3)), ("a.b alpha beta".into(), None));
    assert_eq!(
        list(Some("Beta"), Some(1)),
        ("Zeta".into(), Some("Zeta".into()))
    );
    assert_eq!(list(Some("zzz"), None), (String::new(), None));
}

#[test]
fn a_deleted_table_is_gone_at_once_and_its_name_is_free() {
    let database = samples();
    let table_name = table("Thread");
    let described = database
        .delete_table(DeleteTableRequest::new(table_name.clone()))
        .unwrap();
    assert_eq!(described.table_description.status, TableStatus::Deleting);
    assert_eq!(described.table_description.item_count, 10);
    assert_eq!(database.describe(&table_name).unwrap(), None);
    assert_eq!(database.schema(&table_name).unwrap(), None);
    let key = Item::from([("pk", s("S3")), ("sk", s("aaa"))]);
    let read = database.get_item(GetItemRequest::new(table_name.clone(), key));
    assert_eq!(read.unwrap_err(), Error::ResourceNotFound);

    database
        .create_table(CreateTableRequest {
            table_name: table_name.clone(),
            ..request("pk sk", "pk sk>")
        })
        .unwrap();
    assert_eq!(
        database.scan(&scan_request("Thread")).unwrap().page.count,
        0
    );
    put(
        &database,
        "Thread",
        Item::from([("pk", s("S3")), ("sk", s("aaa"))]),
    )
    .unwrap();
    assert_eq!(
        database.describe(&table_name).unwrap().unwrap().item_count,
        1
    );
    let report = check(database.engine()).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

#[test]
fn a_protected_table_is_not_deleted() {
    let database = database();
    database
        .create_table(CreateTableRequest {
            deletion_protection: true,
            ..request("pk", "pk")
        })
        .unwrap();
    let error = database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap_err();
    assert_eq!(error, Error::DeletionProtected);
    assert!(database.describe(&table("Tab")).unwrap().is_some());
}

fn keys_in(store: &dyn Store) -> usize {
    let everything = ddbfs::store::KeyRange {
        lower: std::ops::Bound::Unbounded,
        upper: std::ops::Bound::Unbounded,
    };
    let mut count = 0;
    store
        .snapshot()
        .unwrap()
        .walk(
            &everything,
            ddbfs::store::Direction::Forward,
            &mut |_, _| {
                count += 1;
                std::ops::ControlFlow::Continue(())
            },
        )
        .unwrap();
    count
}

#[test]
fn removal_of_a_large_table_ends_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Arc::new(LmdbStore::open(dir.path(), LmdbOptions::default()).unwrap());
    let store = open();
    let database = LocalDatabase::open(store.clone(), options()).unwrap();
    let empty = keys_in(&*store);
    let request = CreateTableRequest {
        global_indexes: Some(vec![global("byA", "a")]),
        ..request("pk sk a", "pk sk>")
    };
    database.create_table(request).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    for i in 0..6_000 {
        let item = Item::from([
            ("pk", s(&(i % 7).to_string())),
            ("sk", s(&i.to_string())),
            ("a", s("x")),
        ]);
        let sender = sender.clone();
        let done = Completion::detached(move |outcome: Result<PutItemResponse, Error>| {
            sender.send(outcome.is_ok()).unwrap()
        });
        database.start(Call::PutItem(PutItemRequest::new(table("Tab"), item), done));
    }
    assert!((0..6_000).all(|_| receiver.recv().unwrap()));
    database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    // Closing cuts the removal short.
    store.close();
    drop((database, store));

    let store = open();
    let engine = Engine::open(store.clone(), options()).unwrap();
    // Pieces of the removal are queued one after the other, each behind what was queued before.
    until("the removal ends", || keys_in(&*store) <= empty + 3);
    assert!(check(&engine).unwrap().is_clean());
}

#[test]
fn tables_and_items_are_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        LocalDatabase::open(
            Arc::new(LmdbStore::open(dir.path(), LmdbOptions::default()).unwrap()),
            options(),
        )
        .unwrap()
    };
    let item = Item::from([("pk", b(&[0, 255])), ("v", n("1.5"))]);
    let database = open();
    let definition = KeyAttribute {
        name: "pk".into(),
        attribute_type: KeyAttributeType::B,
    };
    database
        .create_table(CreateTableRequest {
            attribute_definitions: vec![definition],
            ..request("pk", "pk")
        })
        .unwrap();
    let version = put(&database, "Tab", item.clone()).unwrap().version;
    let described = database.describe(&table("Tab")).unwrap();
    database.engine().close();
    drop(database);

    let database = open();
    assert_eq!(
        get(&database, "Tab", Item::from([("pk", b(&[0, 255]))])),
        Some(item)
    );
    assert_eq!(database.describe(&table("Tab")).unwrap(), described);
    let next = put(&database, "Tab", Item::from([("pk", b(&[1]))]))
        .unwrap()
        .version;
    assert!(next > version);
}

/// A store that fails some of the jobs submitted to it, by their number.
struct FailingStore {
    inner: ddbfs::store::memory::MemoryStore,
    submitted: std::sync::atomic::AtomicUsize,
    fails: std::ops::Range<usize>,
}

impl Store for FailingStore {
    fn snapshot(&self) -> Result<Box<dyn ddbfs::store::Read + '_>, StoreError> {
        self.inner.snapshot()
    }

    fn submit(&self, job: Box<dyn ddbfs::store::WriteJob>) {
        if self.fails.contains(
            &self
                .submitted
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed),
        ) {
            job.done(Err(StoreError::NoSpace));
        } else {
            self.inner.submit(job);
        }
    }

    fn commit_id(&self) -> u64 {
        self.inner.commit_id()
    }

    fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, StoreError> {
        self.inner.wait_for_commit(after, timeout)
    }

    fn set_hook(&self, hook: Arc<dyn ddbfs::store::BatchHook>) {
        self.inner.set_hook(hook);
    }

    fn info(&self) -> ddbfs::store::StoreInfo {
        self.inner.info()
    }

    fn close(&self) {
        self.inner.close();
    }
}

#[test]
fn a_removal_that_failed_is_tried_again() {
    // The format, the table, an item, the drop; then the removal.
    let inner = ddbfs::store::memory::MemoryStore::new().unwrap();
    let store = Arc::new(FailingStore {
        inner,
        submitted: 0.into(),
        fails: 4..6,
    });
    let database = LocalDatabase::open(store.clone(), options()).unwrap();
    let empty = keys_in(&*store);
    database.create_table(request("pk", "pk")).unwrap();
    put(&database, "Tab", Item::from([("pk", s("p"))])).unwrap();
    database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    assert!(check(database.engine()).unwrap().is_clean());
    // The format, the next source, the generation and the version sequence stay.
    until("the removal ends", || keys_in(&*store) <= empty + 3);
}

#[test]
fn a_table_deleted_only_if_empty_keeps_its_items() {
    let database = samples();
    let request = |name: &str| DeleteTableRequest {
        table_name: table(name),
        only_if_empty: true,
    };
    let error = database.delete_table(request("Pets")).unwrap_err();
    assert_eq!(error, Error::InUse(InUseError::HasItems("Pets".into())));
    for name in ["Bowser", "Fido", "Rover", "Snoopy"] {
        database
            .delete_item(DeleteItemRequest::new(
                table("Pets"),
                Item::from([("AnimalType", s("Dog")), ("Name", s(name))]),
            ))
            .unwrap();
    }
    assert!(
        database.delete_table(request("Pets")).is_err(),
        "other items are left"
    );
    for (kind, name) in [("Cat", "Fluffy"), ("Fish", "Gill")] {
        database
            .delete_item(DeleteItemRequest::new(
                table("Pets"),
                Item::from([("AnimalType", s(kind)), ("Name", s(name))]),
            ))
            .unwrap();
    }
    database.delete_table(request("Pets")).unwrap();
    assert!(check(database.engine()).unwrap().is_clean());
}

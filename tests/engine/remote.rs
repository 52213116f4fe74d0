//! A service elsewhere, browsed by its API alone: here it is a local database behind a counter of requests.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::support::engine::*;
use crate::support::service::Service;
use crate::support::through::client;
use crate::{browse, model};
use ddbfs::database::cancel::CancelSource;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::remote::{RemoteDatabase, RemoteOptions};
use ddbfs::database::{Browse, Database, EntryKey, EntryRange, ListPosition, SourceName, TextForm};
use ddbfs::engine::clock::ManualClock;
use ddbfs::model::api::*;
use ddbfs::model::{AttributeValue, Error, IndexName, Item, Key};
use ddbfs::store::memory::MemoryStore;

/// A service, how a mount browses it, and its clock, which stands.
struct Bed {
    service: Arc<Service>,
    remote: Arc<RemoteDatabase>,
    clock: Arc<ManualClock>,
}

impl Bed {
    fn of(local: LocalDatabase, change: impl FnOnce(RemoteOptions) -> RemoteOptions) -> Self {
        let clock = Arc::new(ManualClock::at(NOW_MS));
        let service = Service::of(Arc::new(local));
        let options = RemoteOptions {
            is_writable: true,
            clock: Arc::clone(&clock) as _,
            ..RemoteOptions::default()
        };
        let remote = Arc::new(RemoteDatabase::new(
            Arc::clone(&service) as _,
            change(options),
        ));
        Self {
            service,
            remote,
            clock,
        }
    }

    /// `Tab` with these sort keys below `a`.
    fn tab(items: &[Item]) -> Self {
        let local = tab();
        items
            .iter()
            .for_each(|item| drop(put(&local, "Tab", item.clone()).unwrap()));
        Self::of(local, |options| options)
    }

    /// A second passes: nothing is held any more.
    fn wait(&self) {
        self.clock.advance_ms(1_000);
        self.service.requests();
    }

    fn text(&self, key: &EntryKey) -> Option<String> {
        let read = self.remote.text(&base(), key, TextForm::PlainJson).unwrap();
        read.map(|(text, _)| String::from_utf8(text).unwrap())
    }

    fn version(&self, key: &EntryKey) -> Version {
        self.remote.stat(&base(), key).unwrap().unwrap().version
    }

    /// Keys of a listing that is read in portions.
    fn list(&self, source: &SourceName, range: &EntryRange, portion: usize) -> Vec<EntryKey> {
        let (mut found, mut after) = (Vec::new(), None::<ListPosition>);
        loop {
            let (before, from) = (found.len(), after.take());
            let visit = &mut |key: &EntryKey, _, place: &[u8]| {
                found.push(key.clone());
                after = Some(ListPosition(place.into()));
                if found.len() < before + portion {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            };
            self.remote
                .entries(source, range, from.as_ref(), visit)
                .unwrap();
            if after.is_none() {
                return found;
            }
        }
    }

    fn collections(&self, source: &SourceName) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        self.remote
            .collections(source, None, None, &mut |(collection, _)| {
                found.push(text(&collection.partition[0]));
                ControlFlow::Continue(())
            })?;
        Ok(found)
    }

    fn put_here(
        &self,
        item: Item,
        precondition: Option<Precondition>,
    ) -> Result<PutItemResponse, Error> {
        self.remote.put_item(PutItemRequest {
            precondition,
            ..PutItemRequest::new(table("Tab"), item)
        })
    }

    /// Written by somebody else.
    fn put_there(&self, item: Item) {
        put(&self.service.inner, "Tab", item).unwrap();
    }
}

fn base() -> SourceName {
    SourceName {
        table: table("Tab"),
        index: None,
    }
}

fn entry(sk: &str) -> EntryKey {
    EntryKey {
        index: None,
        base: Key {
            partition: s("a"),
            sort: Some(n(sk)),
        },
    }
}

fn item(sk: &str, value: &str) -> Item {
    Item::from([("pk", s("a")), ("sk", n(sk)), ("v", s(value))])
}

fn line(sk: &str, value: &str) -> Option<String> {
    Some(format!("{{\"pk\":\"a\",\"sk\":{sk},\"v\":\"{value}\"}}\n"))
}

/// Items of 100 KB, so that ten of them are a page.
fn large(count: usize) -> Vec<Item> {
    (0..count)
        .map(|number| {
            Item::from([
                ("pk", s("a")),
                ("sk", n(&number.to_string())),
                ("fill", x(100_000)),
            ])
        })
        .collect()
}

fn folder() -> EntryRange {
    EntryRange::Collection {
        partition: vec![s("a")],
        sort_prefix: None,
    }
}

#[test]
fn it_answers_as_a_local_database_does() {
    let new = || Bed::of(samples(), |options| options).remote;
    browse::stat_and_text_of_items_and_index_entries(&*new());
    browse::entries_go_on_after_a_place_whose_entry_is_gone(&*new());
    browse::entries_by_the_first_bytes_of_their_sort_key(&*new());
}

#[test]
fn it_agrees_with_the_model() {
    for ttl in [Duration::ZERO, Duration::from_secs(3600)] {
        agree_with_the_model(ttl, &|local| local);
    }
}

#[test]
fn it_agrees_with_the_model_through_the_wire() {
    agree_with_the_model(Duration::from_secs(3600), &|local| Arc::new(client(&local)));
}

fn agree_with_the_model(ttl: Duration, service: &dyn Fn(Arc<LocalDatabase>) -> Arc<dyn Database>) {
    model::run_cases_of(40, || {
        let clock = Arc::new(ManualClock::at(NOW_MS));
        let options = RemoteOptions {
            ttl,
            is_writable: true,
            clock,
            ..RemoteOptions::default()
        };
        let store = Arc::new(MemoryStore::new().unwrap());
        (
            model::Run::with(store, |local| {
                Arc::new(RemoteDatabase::new(service(local), options))
            }),
            (),
        )
    });
}

#[test]
fn a_listed_folder_is_read_by_its_pages_alone() {
    let bed = Bed::tab(&large(35));
    let listed = bed.list(&base(), &folder(), 7);
    assert_eq!(listed.len(), 35);
    assert_eq!(bed.service.requests(), "Query 4");
    for key in &listed {
        assert!(bed.remote.stat(&base(), key).unwrap().is_some() && bed.text(key).is_some());
    }
    assert_eq!(bed.service.requests(), "");
    bed.wait();
    assert!(
        bed.remote.stat(&base(), &listed[3]).unwrap().is_some() && bed.text(&listed[3]).is_some()
    );
    assert_eq!(bed.service.requests(), "GetItem 1");
    // That there is no such item is held too.
    assert_eq!(
        (bed.text(&entry("99")), bed.text(&entry("99"))),
        (None, None)
    );
    assert_eq!(bed.service.requests(), "GetItem 1");
}

#[test]
fn files_read_in_order_are_asked_for_together_when_their_listing_is_too_old() {
    let items: Vec<Item> = (0..200).map(|sk| item(&sk.to_string(), "x")).collect();
    let bed = Bed::tab(&items);
    let listed = bed.list(&base(), &folder(), 512);
    bed.wait();
    assert!(listed.iter().all(|key| bed.text(key).is_some()));
    // 8, 16, 32 … more at a time.
    assert_eq!(bed.service.requests(), "GetItem 8, Query 5");
    bed.wait();
    bed.put_there(item("150", "theirs"));
    assert_eq!(bed.text(&entry("150")), line("150", "theirs"));
    // In no order, or never listed: each for itself.
    bed.wait();
    assert!(
        listed
            .iter()
            .rev()
            .take(20)
            .all(|key| bed.text(key).is_some())
    );
    assert_eq!(bed.service.requests(), "GetItem 20");
}

/// Folders `00` to `19` of `Tab`, with this time to live.
fn folders(ttl: Duration) -> Bed {
    let local = tab();
    for folder in 0..20 {
        for sk in ["1", "2"] {
            let item = Item::from([("pk", s(&format!("{folder:02}"))), ("sk", n(sk))]);
            put(&local, "Tab", item).unwrap();
        }
    }
    Bed::of(local, |options| RemoteOptions { ttl, ..options })
}

/// A program that looks at everything.
struct Program(Arc<dyn Browse>);

impl Bed {
    fn program(&self, process: u32) -> Program {
        let caller = CancelSource::default().token(process, |_| true, |thread| thread);
        Program(self.remote.browse_for(&caller).unwrap())
    }
}

impl Program {
    fn folders(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.0
            .collections(&base(), None, None, &mut |(collection, _)| {
                found.push(text(&collection.partition[0]));
                ControlFlow::Continue(())
            })
            .unwrap();
        found
    }

    /// Looks whether a folder is there, and lists it.
    fn list(&self, folder: &str) -> Vec<EntryKey> {
        let (partition, mut found) = (vec![s(folder)], Vec::new());
        let there = self.0.collection(&base(), &partition).unwrap();
        assert!(there.is_some());
        let range = EntryRange::Collection {
            partition,
            sort_prefix: None,
        };
        self.0
            .entries(&base(), &range, None, &mut |key, _, _| {
                found.push(key.clone());
                ControlFlow::Continue(())
            })
            .unwrap();
        found
    }

    fn read(&self, key: &EntryKey) -> String {
        self.0.stat(&base(), key).unwrap().unwrap();
        let read = self.0.text(&base(), key, TextForm::PlainJson).unwrap();
        String::from_utf8(read.unwrap().0).unwrap()
    }
}

fn of_folder(folder: &str, sk: &str, value: &str) -> Item {
    Item::from([("pk", s(folder)), ("sk", n(sk)), ("v", s(value))])
}

#[test]
fn a_program_that_lists_everything_reads_everything_of_that_listing_whatever_the_time_to_live() {
    for ttl in [
        Duration::ZERO,
        Duration::from_secs(1),
        Duration::from_secs(60),
    ] {
        let bed = folders(ttl);
        let walker = bed.program(7);
        let folders = walker.folders();
        assert_eq!(bed.service.requests(), "Scan 1");
        for folder in &folders {
            let files = walker.list(folder);
            assert_eq!(files.len(), 2);
            // As slowly as a program that packs what it reads.
            bed.clock.advance_ms(4_000);
            files.iter().for_each(|file| drop(walker.read(file)));
        }
        assert_eq!(bed.service.requests(), "", "{ttl:?}");
        // Another look at a folder is one of now.
        bed.clock.advance_ms(1_000);
        bed.put_there(of_folder(&folders[0], "3", "theirs"));
        assert_eq!(walker.list(&folders[0]).len(), 3);
        assert!(bed.service.requests().starts_with("Query"), "{ttl:?}");
    }
}

#[test]
fn what_a_program_listed_is_for_that_program_once_and_without_a_pause() {
    let bed = folders(Duration::ZERO);
    let (walker, other) = (bed.program(7), bed.program(8));
    let folders = walker.folders();
    let files = walker.list(&folders[0]);
    bed.put_there(of_folder(&folders[0], "1", "theirs"));
    bed.service.requests();
    assert!(other.read(&files[0]).contains("theirs"));
    assert_eq!(bed.service.requests(), "GetItem 2");
    // What the other one read is newer than the listing.
    assert!(walker.read(&files[0]).contains("theirs"));
    bed.put_there(of_folder(&folders[0], "2", "theirs"));
    assert!(!walker.read(&files[1]).contains("theirs"));
    assert_eq!(bed.service.requests(), "");
    // One that goes on looking at it sees it a second later.
    bed.clock.advance_ms(1_000);
    assert!(walker.read(&files[1]).contains("theirs"));
    // A process that wrote lists anew.
    let third = of_folder(&folders[1], "3", "ours");
    bed.put_here(third, None).unwrap();
    assert_eq!(walker.list(&folders[1]).len(), 3);
    bed.service.requests();
    // After a pause nothing is of that listing.
    bed.clock.advance_ms(10_000);
    walker.list(&folders[2]);
    assert_eq!(bed.service.requests(), "Query 2");
}

/// Within the time to live it is for all: a shell lists for the programs that it starts.
#[test]
fn within_the_time_to_live_a_listing_of_everything_is_for_all() {
    let bed = folders(Duration::from_secs(1));
    let folders = bed.program(7).folders();
    bed.service.requests();
    let other = bed.program(8);
    for folder in &folders {
        other
            .list(folder)
            .iter()
            .for_each(|file| drop(other.read(file)));
    }
    assert_eq!(bed.service.requests(), "");
    bed.wait();
    other.list(&folders[0]);
    assert_eq!(bed.service.requests(), "Query 2");
}

/// A definition that is in use is asked for beside the reads, at most once a second.
#[test]
fn definitions_are_refreshed_beside_reads() {
    let bed = folders(Duration::ZERO);
    let reader = bed.program(7);
    let schema = || reader.0.schema(&table("Tab")).unwrap().unwrap();
    schema();
    assert_eq!(bed.service.described(), 1);
    (0..100).for_each(|_| drop(schema()));
    assert_eq!(bed.service.described(), 0);
    bed.clock.advance_ms(1_000);
    bed.service.hold("DescribeTable");
    // None of these waits for the answer.
    (0..100).for_each(|_| drop(schema()));
    bed.service.wait_for_held(1);
    bed.service.release();
    assert_eq!(bed.service.described(), 1);
    // One that was not used for long is asked for first.
    bed.clock.advance_ms(60_000);
    bed.service
        .inner
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    assert_eq!(reader.0.schema(&table("Tab")), Ok(None));
}

#[test]
fn entries_of_indexes_are_read_from_their_pages_and_by_their_keys() {
    let bed = Bed::tab(&[]);
    for sk in ["1", "2", "3"] {
        bed.put_there(Item::from([
            ("pk", s("a")),
            ("sk", n(sk)),
            ("a", s("x")),
            ("b", s(sk)),
            ("v", s("w")),
        ]));
    }
    for index in ["glob", "loc"] {
        let source = SourceName {
            table: table("Tab"),
            index: Some(IndexName::new(index).unwrap()),
        };
        let partition = vec![s(if index == "glob" { "x" } else { "a" })];
        let listed = bed.list(
            &source,
            &EntryRange::Collection {
                partition: partition.clone(),
                sort_prefix: None,
            },
            2,
        );
        let texts = || {
            listed
                .iter()
                .map(|key| {
                    bed.remote
                        .text(&source, key, TextForm::PlainJson)
                        .unwrap()
                        .unwrap()
                })
                .collect::<Vec<_>>()
        };
        let from_pages = texts();
        assert_eq!(bed.service.requests(), "Query 1", "{index}");
        bed.wait();
        assert_eq!(texts(), from_pages, "{index}");
        // Where the key is as wide as the collection, the item says what the index shows of it.
        assert_eq!(
            bed.service.requests(),
            if index == "glob" {
                "GetItem 3"
            } else {
                "Query 3"
            }
        );
        assert!(
            bed.remote
                .collection(&source, &partition)
                .unwrap()
                .is_some()
        );
        assert_eq!(bed.remote.collection(&source, &vec![s("y")]).unwrap(), None);
        bed.wait();
    }
}

#[test]
fn own_writes_are_seen_at_once_and_those_of_others_after_a_second() {
    let bed = Bed::tab(&[item("1", "old")]);
    assert_eq!(bed.text(&entry("1")), line("1", "old"));
    bed.put_there(item("1", "theirs"));
    assert_eq!(bed.text(&entry("1")), line("1", "old"));
    bed.wait();
    assert_eq!(bed.text(&entry("1")), line("1", "theirs"));
    let response = bed.put_here(item("1", "ours"), None).unwrap();
    assert_eq!(
        (bed.text(&entry("1")), bed.version(&entry("1"))),
        (line("1", "ours"), response.version)
    );
    let update = UpdateParameter::Expression("SET v = :v".to_owned());
    let key = Item::from([("pk", s("a")), ("sk", n("1"))]);
    let request = UpdateItemRequest::new(
        table("Tab"),
        key.clone(),
        update,
        placeholders_of(r#"":v":"updated""#),
    );
    let updated = bed.remote.update_item(request).unwrap();
    assert_eq!(
        (updated.attributes, updated.version),
        (None, Some(bed.version(&entry("1"))))
    );
    assert_eq!(bed.text(&entry("1")), line("1", "updated"));
    assert_eq!(bed.service.requests(), "GetItem 1, PutItem 1, UpdateItem 1");
    let deleted = bed
        .remote
        .delete_item(DeleteItemRequest::new(table("Tab"), key.clone()))
        .unwrap();
    assert_eq!(
        (deleted.existed, deleted.attributes, bed.text(&entry("1"))),
        (true, None, None)
    );
    assert!(
        !bed.remote
            .delete_item(DeleteItemRequest::new(table("Tab"), key))
            .unwrap()
            .existed
    );
    assert_eq!(bed.remote.collection(&base(), &vec![s("a")]).unwrap(), None);
    // A batch, a transaction, a statement.
    let writes = TableWrites {
        table_name: table("Tab"),
        requests: vec![WriteRequest::Put(item("2", "batch"))],
    };
    let batch = BatchWriteItemRequest {
        request_items: vec![writes],
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: false,
    };
    bed.remote.batch_write_item(batch).unwrap();
    assert_eq!(bed.text(&entry("2")), line("2", "batch"));
    assert!(
        bed.remote
            .collection(&base(), &vec![s("a")])
            .unwrap()
            .is_some()
    );
    let statement = "UPDATE Tab SET v = 'stated' WHERE pk = 'a' AND sk = 2";
    bed.remote
        .execute_statement(ExecuteStatementRequest::new(statement))
        .unwrap();
    assert_eq!(bed.text(&entry("2")), line("2", "stated"));
    let transaction = TransactWriteItemsRequest {
        transact_items: vec![TransactWrite::new(
            table("Tab"),
            TransactAction::Put {
                item: item("2", "transacted"),
            },
        )],
        fault: None,
        client_request_token: None,
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: false,
    };
    bed.remote.transact_write_items(transaction).unwrap();
    assert_eq!(bed.text(&entry("2")), line("2", "transacted"));
}

#[test]
fn a_read_in_flight_does_not_bring_back_what_was_replaced() {
    let bed = Bed::tab(&[item("1", "old")]);
    for operation in ["GetItem", "Query"] {
        bed.wait();
        bed.service.hold(operation);
        let reader = Arc::clone(&bed.remote);
        let reading = std::thread::spawn(move || match operation {
            "GetItem" => drop(reader.stat(&base(), &entry("1")).unwrap()),
            _ => reader
                .entries(&base(), &folder(), None, &mut |_, _, _| {
                    ControlFlow::Continue(())
                })
                .unwrap(),
        });
        bed.service.wait_for_held(1);
        bed.put_here(item("1", operation), None).unwrap();
        bed.service.release();
        reading.join().unwrap();
        assert_eq!(bed.text(&entry("1")), line("1", operation));
    }
}

#[test]
fn one_request_is_in_flight_for_one_item() {
    let bed = Bed::tab(&[item("1", "one"), item("2", "two")]);
    bed.service.hold("GetItem");
    let readers: Vec<_> = (0..8)
        .map(|number| {
            let reader = Arc::clone(&bed.remote);
            let key = entry(if number % 2 == 0 { "1" } else { "2" });
            std::thread::spawn(move || reader.stat(&base(), &key).unwrap().unwrap().version)
        })
        .collect();
    // Those of both items are under way together: nothing is locked meanwhile.
    bed.service.wait_for_held(2);
    bed.service.release();
    let versions: Vec<Version> = readers
        .into_iter()
        .map(|reader| reader.join().unwrap())
        .collect();
    assert!(versions.chunks(2).all(|pair| *pair == versions[..2]));
    assert_eq!(bed.service.requests(), "GetItem 2");
}

#[test]
fn preconditions_are_conditions() {
    let bed = Bed::tab(&[item("1", "old")]);
    let failed = Err(Error::ConditionalCheckFailed { item: None });
    let put =
        |value: &str, precondition| bed.put_here(item("1", value), Some(precondition)).map(drop);
    assert_eq!(put("x", Precondition::Absent), failed);
    let old = bed.version(&entry("1"));
    // Changed by somebody else, which this side has not seen: the condition says so.
    bed.put_there(item("1", "theirs"));
    for precondition in [
        Precondition::Version(old),
        Precondition::VersionOrAbsent(old),
    ] {
        assert_eq!(put("x", precondition), failed);
    }
    bed.wait();
    let theirs = bed.version(&entry("1"));
    assert_ne!(theirs, old);
    // Read again to be held against a version that is not known.
    assert_eq!(put("x", Precondition::Version(old)), failed);
    assert_eq!(put("ours", Precondition::Version(theirs)), Ok(()));
    assert_eq!(put("once more", Precondition::Version(theirs)), failed);
    assert_eq!(
        put(
            "once more",
            Precondition::VersionOrAbsent(bed.version(&entry("1")))
        ),
        Ok(())
    );
    let version = bed.version(&entry("1"));
    let delete = |precondition| {
        let key = Item::from([("pk", s("a")), ("sk", n("1"))]);
        let request = DeleteItemRequest {
            precondition: Some(precondition),
            ..DeleteItemRequest::new(table("Tab"), key)
        };
        bed.remote.delete_item(request).map(drop)
    };
    assert_eq!(
        (
            delete(Precondition::Version(old)),
            delete(Precondition::Version(version))
        ),
        (failed.clone(), Ok(()))
    );
    assert_eq!(
        (
            put("x", Precondition::Version(version)),
            put("new", Precondition::VersionOrAbsent(version))
        ),
        (failed, Ok(()))
    );
    // Beside a condition of one's own, and in a transaction.
    let mut request = PutItemRequest::new(table("Tab"), item("1", "both"));
    request.precondition = Some(Precondition::Version(bed.version(&entry("1"))));
    request.condition = ConditionParameter::Expression("(v = :old OR v = :new)".to_owned());
    request.placeholders = placeholders_of(r#"":old":"x",":new":"new""#);
    bed.remote.put_item(request).unwrap();
    assert_eq!(bed.text(&entry("1")), line("1", "both"));
    let mut write = TransactWrite::new(
        table("Tab"),
        TransactAction::Put {
            item: item("1", "x"),
        },
    );
    write.precondition = Some(Precondition::Version(version));
    let transaction = TransactWriteItemsRequest {
        transact_items: vec![write],
        fault: None,
        client_request_token: None,
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: false,
    };
    let error = bed.remote.transact_write_items(transaction).unwrap_err();
    assert!(
        matches!(&error, Error::TransactionCanceled(reasons) if reasons.0[0].code() == "ConditionalCheckFailed"),
        "{error:?}"
    );
}

#[test]
fn an_item_of_many_attributes_is_compared_as_far_as_a_condition_has_room() {
    let bed = Bed::tab(&[]);
    let wide = |value: &str| {
        let mut item = item("1", value);
        item.0
            .extend((0..400).map(|number| (format!("attribute number {number}"), s("x"))));
        item
    };
    bed.put_there(wide("old"));
    let version = bed.version(&entry("1"));
    bed.put_here(wide("new"), Some(Precondition::Version(version)))
        .unwrap();
    bed.put_there(wide("theirs"));
    let error = bed
        .put_here(
            wide("x"),
            Some(Precondition::Version(bed.version(&entry("1")))),
        )
        .unwrap_err();
    assert_eq!(error, Error::ConditionalCheckFailed { item: None });
}

#[test]
fn collections_are_distinct_and_listing_them_stays_below_the_limit() {
    let (bed, mut expected) = (Bed::tab(&[]), Vec::new());
    for pk in 0..30 {
        expected.push(format!("u{pk}"));
        for sk in 0..3 {
            bed.put_there(Item::from([
                ("pk", s(&format!("u{pk}"))),
                ("sk", n(&sk.to_string())),
                ("fill", x(30_000)),
            ]));
        }
    }
    let mut found = bed.collections(&base()).unwrap();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    bed.service.requests();
    // Those that were listed are known to be there.
    assert!(
        bed.remote
            .collection(&base(), &vec![s("u7")])
            .unwrap()
            .is_some()
    );
    assert_eq!(bed.service.requests(), "");

    let low = Bed {
        remote: low_limit(&bed),
        service: Arc::clone(&bed.service),
        clock: Arc::clone(&bed.clock),
    };
    let flat = |range: &EntryRange| {
        low.remote.entries(&base(), range, None, &mut |_, _, _| {
            ControlFlow::Continue(())
        })
    };
    let looks = low.remote.peek_page(
        &ddbfs::expr::read_request::ReadRequest::scan(table("Tab"), None),
        &mut |_| {},
    );
    let records = low
        .remote
        .records(&base(), None, None, &mut |_| ControlFlow::Continue(()));
    let errors = [
        low.collections(&base()).unwrap_err(),
        flat(&EntryRange::All).unwrap_err(),
        looks.unwrap_err(),
        records.unwrap_err(),
    ];
    assert_eq!(low.service.requests(), "");
    for error in errors {
        let Error::Budget(sentence) = error else {
            panic!("{error:?}")
        };
        let expected = "all of Tab is about 2 MB: reading it takes about 331 read units (0.000041 USD), and --scan-limit is 100; \
            Tab/query/pk=VALUE/items.ndjson reads one item collection, and a mount with --scan-limit 331 reads all";
        assert_eq!(sentence, expected);
    }
    // A page of a scan (`page.json`) is no scan to its end.
    let scan = ddbfs::expr::read_request::ReadRequest::scan(table("Tab"), None);
    assert!(low.remote.check_read_to_end(&scan).is_err());
    let (page, _) = low.remote.read_page_unbilled(&scan, &mut |_| {}).unwrap();
    assert!(page.last_evaluated_key.is_some());
    // One collection is no scan, nor is the first of everything.
    let one = EntryRange::Collection {
        partition: vec![s("u7")],
        sort_prefix: None,
    };
    assert_eq!(low.list(&base(), &one, 100).len(), 3);
    let first = ddbfs::expr::read_request::ReadRequest::scan(table("Tab"), None);
    low.remote
        .peek_page(
            &ddbfs::expr::read_request::ReadRequest {
                limit: Some(10),
                ..first
            },
            &mut |_| {},
        )
        .unwrap();
}

/// Counters of a new table say nothing for hours: what a listing or scan took itself ends it, at most a page (128 units, or 256 of a
/// consistent read) beyond the limit, in however many portions it is read.
#[test]
fn a_listing_ends_when_it_has_cost_the_limit_whatever_the_service_counted() {
    let items: Vec<Item> = (0..60)
        .map(|number| {
            Item::from([
                ("pk", s("a")),
                ("sk", n(&number.to_string())),
                ("fill", x(50_000)),
            ])
        })
        .collect();
    let bed = Bed::tab(&items);
    for pk in 0..80 {
        bed.put_there(Item::from([
            ("pk", s(&format!("u{pk}"))),
            ("sk", n("1")),
            ("fill", x(50_000)),
        ]));
    }
    bed.service
        .counts_nothing
        .store(true, std::sync::atomic::Ordering::SeqCst);
    let low = Bed {
        remote: low_limit(&bed),
        service: Arc::clone(&bed.service),
        clock: Arc::clone(&bed.clock),
    };
    // As the mount reads a directory: in portions, here so slowly that nothing is held meanwhile.
    let in_portions = |range: &EntryRange, is_slow: bool| {
        let (mut after, mut count) = (None::<ListPosition>, 0);
        loop {
            let (from, mut portion) = (after.take(), 0);
            let listed = low
                .remote
                .entries(&base(), range, from.as_ref(), &mut |_, _, place| {
                    (after, portion) = (Some(ListPosition(place.into())), portion + 1);
                    if portion < 7 {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                });
            count += portion;
            match listed {
                Err(error) => return (count, Err(error)),
                Ok(()) if after.is_none() => return (count, Ok(())),
                Ok(()) if is_slow => low.clock.advance_ms(20_000),
                Ok(()) => {}
            }
        }
    };
    let check = |what: &str, (count, ended): (u64, Result<(), Error>), page: f64| {
        let units = low.service.page_units();
        assert!(units > 100.0 && units <= 100.0 + page, "{what}: {units}");
        let Err(Error::Budget(sentence)) = ended else {
            panic!("{what}: {ended:?}")
        };
        for part in [
            "read units so far",
            " items, and --scan-limit is 100",
            "Tab/query/pk=VALUE/items.ndjson",
        ] {
            assert!(sentence.contains(part), "{what}: {sentence}");
        }
        assert!(count < 200, "{what}: {count}");
    };
    check("items", in_portions(&EntryRange::All, false), 132.0);
    check("a collection", in_portions(&folder(), false), 264.0);
    check(
        "items, slowly",
        in_portions(&EntryRange::All, true),
        2.0 * 132.0,
    );
    check(
        "collections",
        (0, low.collections(&base()).map(drop)),
        132.0,
    );
    let all = low
        .remote
        .records(&base(), None, None, &mut |_| ControlFlow::Continue(()));
    check("records", (0, all.map(drop)), 132.0);
    let mut request = ddbfs::expr::read_request::ReadRequest::scan(table("Tab"), None);
    let scanned = loop {
        match low.remote.peek_page(&request, &mut |_| {}) {
            Ok(page) if page.last_evaluated_key.is_some() => {
                request.exclusive_start_key = page.last_evaluated_key
            }
            ended => break ended.map(drop),
        }
    };
    check("scan", (0, scanned), 132.0);
    // Each listing by itself, and who asks with room for all gets all.
    assert_eq!(
        in_portions(
            &EntryRange::Collection {
                partition: vec![s("u7")],
                sort_prefix: None
            },
            false
        ),
        (1, Ok(()))
    );
    assert_eq!(bed.list(&base(), &EntryRange::All, 50).len(), 140);
}

fn low_limit(bed: &Bed) -> Arc<RemoteDatabase> {
    let options = RemoteOptions {
        scan_limit: 100.0,
        clock: Arc::clone(&bed.clock) as _,
        ..RemoteOptions::default()
    };
    Arc::new(RemoteDatabase::new(Arc::clone(&bed.service) as _, options))
}

#[test]
fn records_come_by_strips_and_go_on_where_they_ended() {
    let items: Vec<Item> = (0..500)
        .map(|pk| Item::from([("pk", s(&format!("u{pk}"))), ("sk", n("1"))]))
        .collect();
    let bed = Bed::tab(&items);
    let mut found = Vec::new();
    for index in 0..8 {
        let (strip, mut last) = (Some(Segment { index, total: 8 }), None);
        loop {
            let mut count = 0;
            let ended = bed
                .remote
                .records(&base(), strip, last.as_ref(), &mut |record| {
                    count += 1;
                    found.push(record.to_item().unwrap());
                    if count < 13 {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                });
            last = ended.unwrap();
            if last.is_none() {
                break;
            }
        }
    }
    assert_eq!(found.len(), 500);
    let key = |item: &Item| text(item.get("pk").unwrap());
    let (mut found, mut expected): (Vec<_>, Vec<_>) = (
        found.iter().map(key).collect(),
        items.iter().map(key).collect(),
    );
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn shortened_names_are_known_when_they_were_listed() {
    let long = "k".repeat(300);
    let bed = Bed::tab(&[Item::from([("pk", s(&long)), ("sk", n("1"))])]);
    let digest = ddbfs::codec::key::partition_digest(&[&s(&long)]);
    // Read for it, where all keys may be read.
    assert_eq!(
        bed.remote.partition_by_digest(&base(), digest),
        Ok(Some(vec![s(&long)]))
    );
    let options = RemoteOptions {
        scan_limit: 0.1,
        clock: Arc::clone(&bed.clock) as _,
        ..RemoteOptions::default()
    };
    let strict = RemoteDatabase::new(Arc::clone(&bed.service) as _, options);
    assert!(matches!(
        strict.partition_by_digest(&base(), digest),
        Err(Error::Unavailable(_))
    ));
    bed.collections(&base()).unwrap();
    assert_eq!(
        bed.remote.partition_by_digest(&base(), digest),
        Ok(Some(vec![s(&long)]))
    );
    let key = Item::from([("pk", s(&long)), ("sk", n("1"))]);
    bed.remote
        .delete_item(DeleteItemRequest::new(table("Tab"), key))
        .unwrap();
    assert_eq!(bed.remote.partition_by_digest(&base(), digest), Ok(None));
}

#[test]
fn only_the_tables_that_are_asked_for_are_there_and_changes_of_ones_own_show_at_once() {
    let bed = Bed::of(samples(), |options| RemoteOptions {
        tables: vec!["Pets*".to_owned(), "Thread".to_owned()],
        ..options
    });
    let names = || {
        bed.remote
            .table_names()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(names(), "Pets PetsByType Thread");
    assert_eq!(bed.remote.schema(&table("Orders")), Ok(None));
    let schema = bed.remote.schema(&table("Pets")).unwrap().unwrap();
    bed.clock.advance_ms(5_000);
    assert!(Arc::ptr_eq(
        &schema,
        &bed.remote.schema(&table("Pets")).unwrap().unwrap()
    ));
    bed.remote
        .delete_table(DeleteTableRequest::new(table("Pets")))
        .unwrap();
    assert_eq!(
        (names(), bed.remote.schema(&table("Pets"))),
        ("PetsByType Thread".to_owned(), Ok(None))
    );
}

#[test]
fn without_leave_nothing_is_written() {
    let bed = Bed::of(tab(), |options| RemoteOptions {
        is_writable: false,
        ..options
    });
    let error = bed.put_here(item("1", "x"), None).unwrap_err();
    assert!(
        matches!(error, Error::ReadOnly) && error.to_string().contains("-o rw"),
        "{error}"
    );
    let statement = ExecuteStatementRequest::new("DELETE FROM Tab WHERE pk = 'a' AND sk = 1");
    assert!(matches!(
        bed.remote.execute_statement(statement),
        Err(Error::ReadOnly)
    ));
    assert!(
        bed.remote
            .execute_statement(ExecuteStatementRequest::new(
                "SELECT * FROM Tab WHERE pk = 'a'"
            ))
            .is_ok()
    );
    assert_eq!(bed.service.requests(), "");
}

#[test]
fn a_version_is_of_what_an_item_is_and_its_time_is_when_it_was_first_seen() {
    let bed = Bed::tab(&[item("1", "x"), item("2", "x")]);
    let stat = |sk: &str| bed.remote.stat(&base(), &entry(sk)).unwrap().unwrap();
    let (one, two) = (stat("1"), stat("2"));
    assert_ne!(one.version, two.version);
    bed.wait();
    assert_eq!(stat("1"), one);
    bed.put_there(item("1", "y"));
    bed.wait();
    let changed = stat("1");
    assert!(
        changed.version != one.version && changed.modified_ms == one.modified_ms + 2_000,
        "{changed:?} {one:?}"
    );
    assert_ne!(changed.version, 0);
    let unread = AttributeValue::Null;
    assert_eq!(
        bed.remote.stat(
            &base(),
            &EntryKey {
                index: None,
                base: Key {
                    partition: unread,
                    sort: None
                }
            }
        ),
        Ok(None)
    );
}

//! Tests of `stream_log.rs`: reads at any offset, the change of the day, failed and expired pages.

use super::*;
use crate::codec::json::document::Document;
use crate::database::Database;
use crate::database::local::LocalDatabase;
use crate::engine::EngineOptions;
use crate::model::api::PutItemRequest;
use crate::store::memory::MemoryStore;

/// Creates a table `Log` with a stream.
fn database() -> (LocalDatabase, StreamName) {
    let db = LocalDatabase::open(
        Arc::new(MemoryStore::new().unwrap()),
        EngineOptions::default(),
    )
    .unwrap();
    let json = r#"{"TableName":"Log","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST",
        "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}"#;
    let request: crate::model::api::CreateTableRequest = crate::codec::wire::request(
        Document::from_value(&serde_json::from_str(json).unwrap()).root(),
    )
    .unwrap();
    let table = request.table_name.clone();
    db.create_table(request).unwrap();
    let label = db
        .describe(&table)
        .unwrap()
        .unwrap()
        .latest_stream_label
        .unwrap();
    (
        db,
        StreamName {
            table_name: table,
            label,
        },
    )
}

fn put(db: &LocalDatabase, number: usize) {
    // Lines of many lengths.
    let item = plain_json::parse(
        format!(
            r#"{{"id":"{number}","text":"{}"}}"#,
            "x".repeat(number % 97)
        )
        .as_bytes(),
    )
    .unwrap();
    db.put_item(PutItemRequest::new(TableName::new("Log").unwrap(), item))
        .unwrap();
}

#[test]
fn any_part_of_the_file_is_what_the_whole_has_there() {
    let (db, stream) = database();
    let mut log = StreamLog::new(LogName {
        stream,
        day: now_ms() / DAY_MS,
    });
    assert_eq!(log.read(&db, 0, 100).unwrap(), b"");
    (0..300).for_each(|number| put(&db, number));
    log.refresh(&db).unwrap();
    let whole = log.read(&db, 0, usize::MAX >> 1).unwrap();
    assert_eq!((whole.len() as u64, log.count), (log.bytes, 300));
    assert_eq!(whole.iter().filter(|&&byte| byte == b'\n').count(), 300);
    for (offset, size) in [
        (0, 1),
        (1, 7),
        (5_000, 20_000),
        (whole.len() - 3, 100),
        (whole.len(), 5),
        (whole.len() + 9, 5),
    ] {
        let expected = &whole[offset.min(whole.len())..(offset + size).min(whole.len())];
        assert_eq!(
            log.read(&db, offset as u64, size).unwrap(),
            expected,
            "{size} bytes at {offset}"
        );
    }
    put(&db, 300);
    log.refresh(&db).unwrap();
    assert!(
        log.bytes > whole.len() as u64 && log.read(&db, 0, whole.len()).unwrap() == whole,
        "it only grows"
    );
}

#[test]
fn records_of_another_day_are_not_its() {
    let (db, stream) = database();
    put(&db, 1);
    let today = now_ms() / DAY_MS;
    let mut yesterday = StreamLog::new(LogName {
        stream,
        day: today - 1,
    });
    yesterday.refresh(&db).unwrap();
    assert!(
        yesterday.is_sealed && yesterday.bytes == 0,
        "today's record is not yesterday's"
    );
}

#[test]
fn a_failed_page_is_not_counted_twice() {
    let (db, stream) = database();
    let mut log = StreamLog::new(LogName {
        stream,
        day: now_ms() / DAY_MS,
    });
    (0..10).for_each(|number| put(&db, number));
    log.refresh(&db).unwrap();
    let bytes = log.bytes;
    let records = log.records.as_mut().unwrap();
    let iterator = records.iterator.replace("no iterator".to_owned());
    assert!(log.refresh(&db).is_err());
    log.records.as_mut().unwrap().iterator = iterator;
    log.refresh(&db).unwrap();
    assert_eq!((log.count, log.bytes), (10, bytes));
}

#[test]
fn records_that_are_gone_are_an_error_and_no_end_of_the_file() {
    let (db, stream) = database();
    let mut log = StreamLog::new(LogName {
        stream,
        day: now_ms() / DAY_MS,
    });
    put(&db, 1);
    log.refresh(&db).unwrap();
    log.bytes += 1;
    assert_eq!(
        log.read(&db, 0, 1_000),
        Err(FsError::Database(
            StoreError::Corrupt("a stream lacks records that it had").into()
        ))
    );
}

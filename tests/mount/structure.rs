//! The kernel caches the names of a table's own directories for a moment. That must never show:
//! each case walks through them, lets another process change the table, and looks again at once.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::support::daemon::Mount;
use ddbfs::codec::json::document::Document;
use ddbfs::codec::wire;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::model::TableName;
use ddbfs::model::api::DeleteTableRequest;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

/// Opens the data directory in this process, which is not the daemon.
fn other_process(mount: &Mount) -> LocalDatabase {
    let store = LmdbStore::open(&mount.data(), LmdbOptions::default()).unwrap();
    LocalDatabase::open(Arc::new(store), EngineOptions::default()).unwrap()
}

fn create(db: &LocalDatabase, sort: bool) {
    let (key, definition) = match sort {
        true => (
            r#",{"AttributeName":"sk","KeyType":"RANGE"}"#,
            r#",{"AttributeName":"sk","AttributeType":"S"}"#,
        ),
        false => ("", ""),
    };
    let text = format!(
        r#"{{"TableName":"Names","BillingMode":"PAY_PER_REQUEST","KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}}{key}],
        "AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}}{definition}]}}"#
    );
    db.create_table(
        wire::request(Document::from_value(&serde_json::from_str(&text).unwrap()).root()).unwrap(),
    )
    .unwrap();
}

fn delete(db: &LocalDatabase) {
    db.delete_table(DeleteTableRequest::new(TableName::new("Names").unwrap()))
        .unwrap();
}

/// Makes the kernel cache the directories on the way.
fn walk(table: &Path) {
    for directory in ["", "items", "gsi", "lsi"] {
        assert!(fs::metadata(table.join(directory)).unwrap().is_dir());
        fs::read_dir(table.join(directory))
            .unwrap()
            .for_each(|entry| drop(entry.unwrap()));
    }
}

fn errno(result: std::io::Result<impl Sized>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

#[test]
fn a_table_deleted_by_another_process_is_gone_at_the_next_call() {
    let mount = Mount::empty();
    let db = other_process(&mount);
    let table = mount.point().join("Names");
    type Call = fn(&Path) -> std::io::Result<()>;
    let calls: [(&str, Call); 14] = [
        ("stat of the table", |table| fs::metadata(table).map(drop)),
        ("stat of items", |table| {
            fs::metadata(table.join("items")).map(drop)
        }),
        ("stat of gsi", |table| {
            fs::metadata(table.join("gsi")).map(drop)
        }),
        ("listing of the table", |table| {
            fs::read_dir(table).map(drop)
        }),
        ("listing of items", |table| {
            fs::read_dir(table.join("items")).map(drop)
        }),
        ("stat of an item", |table| {
            fs::metadata(table.join("items/a.json")).map(drop)
        }),
        ("read of an item", |table| {
            fs::read(table.join("items/a.json")).map(drop)
        }),
        ("write of an item", |table| {
            fs::write(table.join("items/a.json"), "{}")
        }),
        ("write of a scratch file", |table| {
            fs::write(table.join("items/.a.json.swp"), "{}")
        }),
        ("mkdir of a collection", |table| {
            fs::create_dir(table.join("items/a"))
        }),
        ("rm of an item", |table| {
            fs::remove_file(table.join("items/a.json"))
        }),
        ("rmdir of items", |table| {
            fs::remove_dir(table.join("items"))
        }),
        ("rmdir of the table", |table| fs::remove_dir(table)),
        ("rename of the table", |table| {
            fs::rename(table, table.with_file_name("Others"))
        }),
    ];
    for (name, call) in calls {
        create(&db, false);
        walk(&table);
        fs::write(table.join("items/a.json"), "{}\n").unwrap();
        delete(&db);
        assert_eq!(errno(call(&table)), Some(libc::ENOENT), "{name}");
        assert!(!table.exists(), "{name}");
    }
}

#[test]
fn what_is_made_in_the_place_of_a_table_is_there_at_once() {
    let mount = Mount::empty();
    let db = other_process(&mount);
    let table = mount.point().join("Names");
    create(&db, false);
    walk(&table);
    fs::write(table.join("items/a.json"), "{}\n").unwrap();

    // A table of another shape.
    delete(&db);
    create(&db, true);
    assert_eq!(
        fs::metadata(table.join("items/a.json")).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    fs::create_dir(table.join("items/a")).unwrap();
    fs::write(table.join("items/a/b.json"), "{\"n\":1}\n").unwrap();
    assert_eq!(
        fs::read_to_string(table.join("items/a/b.json")).unwrap(),
        "{\"pk\":\"a\",\"sk\":\"b\",\"n\":1}\n"
    );
    walk(&table);

    // A draft with another directory as its items/.
    delete(&db);
    fs::create_dir(&table).unwrap();
    assert_eq!(
        fs::metadata(table.join("items")).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    fs::create_dir(table.join("items")).unwrap();
    fs::create_dir(table.join("items/c")).unwrap();
    assert!(fs::metadata(table.join("items/c")).unwrap().is_dir());
    assert_eq!(
        fs::metadata(table.join("stats.json")).unwrap_err().kind(),
        ErrorKind::NotFound
    );

    // The draft becomes a table of another process.
    create(&db, true);
    assert!(fs::metadata(table.join("stats.json")).unwrap().is_file());
    walk(&table);
}

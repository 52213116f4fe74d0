//! `ddbfs sync` and `ddbfs pull --from-export`: what is read, what is written, what is refused, and kills in the middle;
//! and the commands that tell of a copy that is not whole.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, mpsc};

use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::model::Item;
use ddbfs::model::api::{DeleteItemRequest, DeleteTableRequest, PutItemRequest};
use ddbfs::model::schema::StreamViewType;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use serde_json::{Value, json};

use crate::copies::{Bed, item};
use crate::support::daemon::{check, free_address, post};
use crate::support::engine::{definition, s, table};
use crate::support::http;
use crate::support::proxy::Trouble;
use crate::support::wait::{PATIENCE, until_ok};

impl Bed {
    fn streaming(items: u32, view: StreamViewType) -> Self {
        Self::with_stream(items, Some(view), EngineOptions::default())
    }

    /// Pulls by way of the proxy, whose operations are counted from then on.
    fn pull(&self) {
        let (code, out, err) = self.run(&["pull", "Tab", "--from-endpoint", &self.proxy.url()]);
        assert_eq!(code, 0, "{out}{err}");
        self.proxy.take_operations();
    }

    fn delete(&self, number: u32) {
        let request = DeleteItemRequest::new(table("Tab"), key(number));
        self.database.delete_item(request).unwrap();
    }

    /// Changes, adds and deletes an item at the service.
    fn change(&self) {
        self.put(changed(1));
        self.put(item(1_000_000));
        self.delete(2);
    }

    /// The summary of a sync, what it said before, and the reads it took.
    #[track_caller]
    fn synced(&self, more: &[&str]) -> (String, String, usize) {
        let (code, out, err) = self.run(&[&["sync", "Tab"], more].concat());
        assert_eq!(code, 0, "{out}{err}");
        let summary = out.split(';').next().unwrap().to_owned();
        let operations = self.proxy.take_operations();
        let reads = ["Scan", "BatchGetItem", "Query", "GetItem"];
        let count = operations.iter().filter(|of| reads.contains(&of.as_str()));
        (summary, err, count.count())
    }

    #[track_caller]
    fn fails(&self, args: &[&str], expected: &str) {
        let (code, out, err) = self.run(args);
        assert!(
            code == 1 && out.is_empty() && err.contains(expected),
            "{args:?}: {out}{err}"
        );
    }

    /// Works on the copy as another program would.
    fn at_home<T>(&self, work: impl FnOnce(&LocalDatabase) -> T) -> T {
        let store = Arc::new(LmdbStore::open(&self.data(), LmdbOptions::default()).unwrap());
        let database = LocalDatabase::open(store, EngineOptions::default()).unwrap();
        let done = work(&database);
        database.engine().close();
        done
    }

    fn origin(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.data().join("copies")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths
            .find(|path| path.extension().is_some_and(|of| of == "json"))
            .unwrap()
    }

    /// Changes a member of the origin of the copy.
    fn edit_origin(&self, edit: impl FnOnce(&mut Value)) {
        let path = self.origin();
        let mut origin = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        edit(&mut origin);
        std::fs::write(path, origin.to_string()).unwrap();
    }

    fn ask(&self, operation: &str, body: Value) -> Value {
        let answer = http::call(self.server.local_addr(), operation, &body);
        assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
        answer.json()
    }
}

fn key(number: u32) -> Item {
    let Item(mut attributes) = item(number);
    attributes.retain(|name, _| name == "pk" || name == "sk");
    Item(attributes)
}

fn changed(number: u32) -> Item {
    let mut item = item(number);
    item.0.insert("a".to_owned(), s("changed"));
    item
}

#[test]
fn a_sync_by_the_stream_reads_what_changed_and_nothing_else() {
    let views = [
        (StreamViewType::NewAndOldImages, 0),
        (StreamViewType::NewImage, 0),
        // The two items that are there.
        (StreamViewType::KeysOnly, 1),
        (StreamViewType::OldImage, 1),
    ];
    for (view, reads) in views {
        let bed = Bed::streaming(100, view);
        bed.pull();
        let (summary, err, _) = bed.synced(&[]);
        assert_eq!(summary, "0 items put, 0 deleted");
        assert!(err.contains("by the stream, changes since "), "{err}");
        bed.change();
        bed.put(changed(1));
        let (summary, _, count) = bed.synced(&[]);
        assert_eq!(
            (summary.as_str(), count),
            ("2 items put, 1 deleted", reads),
            "{view:?}"
        );
        bed.is_same();
        assert_eq!(bed.synced(&[]).0, "0 items put, 0 deleted");
        let (clean, report) = check(&bed.data());
        assert!(clean, "{report}");
    }
}

#[test]
fn a_sync_by_a_comparison_writes_what_differs_and_says_what_it_reads() {
    let bed = Bed::new(1_000);
    bed.pull();
    bed.change();
    let (summary, err, count) = bed.synced(&[]);
    assert_eq!(summary, "2 items put, 1 deleted");
    assert!(count >= 8, "all segments: {count}");
    let why = "by a comparison of all items, as there is no stream of all changes since; about ";
    assert!(err.contains(why), "{err}");
    bed.is_same();
    assert_eq!(bed.synced(&[]).0, "0 items put, 0 deleted");
    // It takes the stream that the table has by now, from the comparison on.
    let stream = json!({ "StreamEnabled": true, "StreamViewType": "NEW_IMAGE" });
    bed.ask(
        "UpdateTable",
        json!({ "TableName": "Tab", "StreamSpecification": stream }),
    );
    bed.synced(&[]);
    bed.delete(7);
    let (summary, err, count) = bed.synced(&[]);
    assert_eq!(
        (summary.as_str(), count),
        ("0 items put, 1 deleted", 0),
        "{err}"
    );
    bed.is_same();
}

#[test]
fn a_stream_that_lacks_changes_is_not_read() {
    let bed = Bed::streaming(50, StreamViewType::NewImage);
    bed.pull();
    let (_, err, count) = bed.synced(&["--compare"]);
    assert!(
        err.contains("as --compare asks for it") && count > 0,
        "{err}"
    );
    // A day has passed.
    bed.edit_origin(|origin| {
        origin["since_ms"] = json!(origin["since_ms"].as_u64().unwrap() - 24 * 60 * 60 * 1000);
    });
    bed.change();
    let (summary, err, count) = bed.synced(&[]);
    assert_eq!(summary, "2 items put, 1 deleted");
    assert!(
        err.contains("as the stream keeps changes for 24 hours only") && count > 0,
        "{err}"
    );
    // The records were removed before their time.
    let trimmed = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException","message":"Gone."}"#;
    bed.proxy.pass(2);
    bed.proxy.next(&[Trouble::Answer(400, trimmed)]);
    bed.put(changed(9));
    bed.fails(
        &["sync", "Tab"],
        "its stream has not all changes any more; the same command compares",
    );
    let (summary, err, _) = bed.synced(&[]);
    assert!(
        summary == "1 item put, 0 deleted" && err.contains("as the copy is not whole"),
        "{summary} {err}"
    );
    // The stream is another one.
    for enabled in [false, true] {
        let mut stream = json!({ "StreamEnabled": enabled });
        if enabled {
            stream["StreamViewType"] = json!("NEW_IMAGE");
        }
        bed.ask(
            "UpdateTable",
            json!({ "TableName": "Tab", "StreamSpecification": stream }),
        );
        bed.put(changed(10));
    }
    let (_, err, count) = bed.synced(&[]);
    assert!(
        err.contains("as the table has another stream now") && count > 0,
        "{err}"
    );
    bed.is_same();
    assert!(bed.synced(&[]).1.contains("by the stream"));
}

#[test]
fn what_was_changed_here_is_not_overwritten_unless_told_so() {
    let bed = Bed::streaming(30, StreamViewType::NewImage);
    bed.pull();
    let put = |item: Item| {
        bed.at_home(|home| {
            home.put_item(PutItemRequest::new(table("Tab"), item))
                .map(drop)
        })
        .unwrap();
    };
    let delete = || {
        bed.at_home(|home| {
            home.delete_item(DeleteItemRequest::new(table("Tab"), key(3)))
                .map(drop)
        })
        .unwrap();
    };
    put(changed(3));
    let refused =
        "Tab was changed here since it was pulled: 1 item put or changed; --overwrite undoes that";
    bed.fails(&["sync", "Tab"], refused);
    bed.change();
    let (summary, err, _) = bed.synced(&["--overwrite"]);
    assert_eq!(summary, "3 items put, 1 deleted");
    assert!(
        err.contains("as what was changed here is undone (1 item put or changed)"),
        "{err}"
    );
    bed.is_same();
    delete();
    bed.fails(&["sync", "Tab"], "since it was pulled: 1 item deleted; ");
    assert_eq!(bed.synced(&["--overwrite"]).0, "1 item put, 0 deleted");
    // Another table's changes are none of this one's.
    bed.at_home(|home| {
        home.create_table(definition("Own", "pk:S", &[])).unwrap();
        let item = Item::from([("pk", s("a"))]);
        home.put_item(PutItemRequest::new(table("Own"), item))
            .unwrap();
    });
    assert_eq!(bed.synced(&[]).0, "0 items put, 0 deleted");
    bed.is_same();
    bed.fails(
        &["sync", "Own"],
        "Own was not pulled, or by an earlier ddbfs",
    );
}

#[test]
fn a_table_made_again_is_told_and_a_definition_is_followed() {
    let bed = Bed::streaming(20, StreamViewType::NewImage);
    bed.pull();
    let index = json!([{ "Create": { "IndexName": "two", "KeySchema": [{ "AttributeName": "n", "KeyType": "HASH" }],
        "Projection": { "ProjectionType": "ALL" } } }]);
    let attributes = json!([{ "AttributeName": "n", "AttributeType": "N" }]);
    let update = |change: &str, of: Value| {
        let mut body = json!({ "TableName": "Tab" });
        body[change] = of;
        body["AttributeDefinitions"] = attributes.clone();
        bed.ask("UpdateTable", body);
        until_ok("the index", || {
            let described = bed.ask("DescribeTable", json!({ "TableName": "Tab" }));
            let text = described.to_string();
            if text.contains("CREATING") || text.contains("DELETING") {
                Err(text)
            } else {
                Ok(())
            }
        });
    };
    update("GlobalSecondaryIndexUpdates", index);
    bed.put(changed(4));
    assert_eq!(bed.synced(&[]).0, "1 item put, 0 deleted");
    let (_, advice, _) = bed.run(&["advise", "Tab"]);
    assert!(
        advice.contains("Index two: 20 of 20 items are in it"),
        "{advice}"
    );
    update(
        "GlobalSecondaryIndexUpdates",
        json!([{ "Delete": { "IndexName": "two" } }]),
    );
    let (_, err, _) = bed.synced(&[]);
    assert!(
        err.contains("has not or otherwise: the index two\n"),
        "{err}"
    );

    bed.database
        .delete_table(DeleteTableRequest::new(table("Tab")))
        .unwrap();
    bed.fails(&["sync", "Tab"], "/Tab: there is no such table");
    bed.database
        .create_table(definition("Tab", "pk:S sk:N", &[]))
        .unwrap();
    bed.put(item(1));
    bed.fails(
        &["sync", "Tab"],
        "/Tab was deleted and made again since it was pulled; `ddbfs pull Tab --replace` pulls",
    );
    let url = bed.proxy.url();
    assert_eq!(
        bed.run(&["pull", "Tab", "--replace", "--from-endpoint", &url])
            .0,
        0
    );
    bed.is_same();
    // The copy was replaced by a table of its name.
    bed.at_home(|home| {
        home.delete_table(DeleteTableRequest::new(table("Tab")))
            .unwrap();
        home.create_table(definition("Tab", "pk:S sk:N", &[]))
            .unwrap();
    });
    bed.fails(&["sync", "Tab"], "made by another command since");
    std::fs::write(bed.origin(), "{").unwrap();
    bed.fails(&["sync", "Tab"], "is not what this ddbfs wrote");
}

#[test]
fn a_sync_that_is_killed_tells_of_it_and_goes_on() {
    for view in [Some(StreamViewType::KeysOnly), None] {
        let bed = Bed::with_stream(3_000, view, EngineOptions::default());
        bed.pull();
        (0..3_000)
            .step_by(2)
            .for_each(|number| bed.put(changed(number)));
        bed.delete(1);
        // Some pages are written by then, or compared; the next one does not come.
        for requests in [4, 6, 9] {
            bed.proxy.pass(requests);
            bed.proxy.always(Some(Trouble::Silence));
            bed.proxy.take_operations();
            let mut child = bed
                .command(&["sync", "Tab", "--timeout", "100"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut seen = 0;
            until_ok("the requests", || {
                seen += bed.proxy.take_operations().len();
                if seen > requests {
                    Ok(())
                } else {
                    Err(seen.to_string())
                }
            });
            child.kill().unwrap();
            child.wait().unwrap();
            bed.proxy.always(None);
            bed.proxy.forget_next();
            let (_, _, err) = bed.run(&["advise", "Tab"]);
            assert!(
                err.contains("Tab is not whole: items or changes of http://"),
                "{err}"
            );
        }
        let (code, _, err) = bed.run(&[
            "push",
            "Tab",
            "--to-table",
            "Back",
            "--create",
            "--to-endpoint",
            &bed.url(),
        ]);
        assert!(
            code == 1 && err.contains("`ddbfs sync Tab` goes on with it; --partial pushes"),
            "{err}"
        );
        bed.synced(&[]);
        bed.is_same();
        assert_eq!(bed.run(&["advise", "Tab"]).2, "");
    }
}

impl Bed {
    /// Exports the table as it is now; returns the directory.
    fn export(&self, bucket: &Path) -> PathBuf {
        let on = json!({ "PointInTimeRecoveryEnabled": true });
        self.ask(
            "UpdateContinuousBackups",
            json!({ "TableName": "Tab", "PointInTimeRecoverySpecification": on }),
        );
        let arn =
            self.ask("DescribeTable", json!({ "TableName": "Tab" }))["Table"]["TableArn"].clone();
        let begun = self.ask(
            "ExportTableToPointInTime",
            json!({ "TableArn": arn, "S3Bucket": "out" }),
        );
        let arn = &begun["ExportDescription"]["ExportArn"];
        let manifest = until_ok("the export", || {
            let export =
                self.ask("DescribeExport", json!({ "ExportArn": arn }))["ExportDescription"]
                    .clone();
            match export["ExportStatus"].as_str() {
                Some("COMPLETED") => Ok(export["ExportManifest"].as_str().unwrap().to_owned()),
                _ => Err(export.to_string()),
            }
        });
        bucket
            .join("out")
            .join(manifest)
            .parent()
            .unwrap()
            .to_owned()
    }
}

#[test]
fn an_export_and_the_stream_since_make_a_copy_without_a_read() {
    let bucket = tempfile::tempdir().unwrap();
    let options = |stream| {
        let options = EngineOptions {
            buckets: Some(bucket.path().to_owned()),
            ..EngineOptions::default()
        };
        Bed::with_stream(200, stream, options)
    };
    let bed = options(Some(StreamViewType::NewImage));
    bed.put(changed(5));
    let export = bed.export(bucket.path());
    bed.change();
    let (url, directory) = (bed.proxy.url(), export.to_str().unwrap());
    let pull = [
        "pull",
        "Tab",
        "--from-endpoint",
        &url,
        "--from-export",
        directory,
    ];
    let (code, out, err) = bed.run(&pull);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.starts_with("200 items loaded; 0 read units"), "{out}");
    let reads = ["Scan", "BatchGetItem", "Query", "GetItem"];
    let operations = bed.proxy.take_operations();
    assert!(
        operations.iter().all(|of| !reads.contains(&of.as_str())),
        "{operations:?}"
    );
    bed.is_same();
    bed.delete(9);
    assert_eq!(bed.synced(&[]).0, "0 items put, 1 deleted");
    let (_, advice, _) = bed.run(&["advise", "Tab"]);
    assert!(advice.contains("\n- Index "), "{advice}");
    bed.fails(&pull, "there is a table of that name");

    // A damaged file leaves the copy marked, and a whole one goes on with it.
    let file = std::fs::read_dir(export.join("data"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, b"x").unwrap();
    let replace = [&pull[..], &["--replace"]].concat();
    bed.fails(&replace, "the export could not be read whole");
    let (_, _, err) = bed.run(&["advise", "Tab"]);
    assert!(err.contains("Tab is not whole: a pull of "), "{err}");
    bed.fails(&["sync", "Tab"], "its pull has not ended");
    std::fs::remove_file(&file).unwrap();
    bed.fails(&pull, "the export is not complete: its data file");
    std::fs::write(&file, whole).unwrap();
    let later = bed.export(bucket.path());
    let other = [&pull[..5], &[later.to_str().unwrap()]].concat();
    bed.fails(
        &other,
        "the copy was not begun with this export; --replace begins anew",
    );
    assert_eq!(bed.run(&pull).0, 0);
    bed.is_same();

    // Without a stream, the copy is of the time of the export.
    let bare = options(None);
    bare.fails(
        &[
            "pull",
            "Tab",
            "--from-endpoint",
            &bare.url(),
            "--from-export",
            directory,
        ],
        "is an export of the table ",
    );
    bare.fails(
        &[
            "pull",
            "Tab",
            "--from-endpoint",
            &bare.url(),
            "--from-export",
            "/",
        ],
        "manifest-summary.json",
    );
    let export = bare.export(bucket.path());
    bare.change();
    let (code, out, err) = bare.run(&[
        "pull",
        "Tab",
        "--from-endpoint",
        &bare.proxy.url(),
        "--from-export",
        export.to_str().unwrap(),
    ]);
    assert!(
        code == 0
            && err.contains("Tab is as it was at ")
            && err.contains("`ddbfs sync Tab` compares all items"),
        "{out}{err}"
    );
    assert_eq!(bare.synced(&[]).0, "2 items put, 1 deleted");
    bare.is_same();
}

/// `ddbfs serve` on the data directory of a bed; it ends with the test, also with one that fails.
struct Serving {
    child: Child,
    address: String,
    told: mpsc::Receiver<String>,
}

impl Serving {
    fn of(bed: &Bed) -> Self {
        let address = free_address();
        let mut child = bed
            .command(&["serve", "--http", &address])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, told) = mpsc::channel();
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let serving = Self {
            child,
            address,
            told,
        };
        until_ok("the server", || serving.try_ask("ListTables", &json!({})));
        serving
    }

    fn try_ask(&self, operation: &str, body: &Value) -> Result<Value, String> {
        let answer = post(&self.address, operation, &body.to_string());
        let answer = answer.map_err(|error| error.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        match head.starts_with("HTTP/1.1 200") {
            true => Ok(serde_json::from_str(body).unwrap()),
            false => Err(answer),
        }
    }

    #[track_caller]
    fn ask(&self, operation: &str, body: Value) -> Value {
        self.try_ask(operation, &body).unwrap()
    }

    /// Waits for a text that an operation tells.
    #[track_caller]
    fn until(&self, operation: &str, body: Value, pointer: &str, expected: &str) {
        until_ok(operation, || {
            let told = self.ask(operation, body.clone());
            match told.pointer(pointer) == Some(&json!(expected)) {
                true => Ok(()),
                false => Err(told.to_string()),
            }
        });
    }

    /// Waits for a line of the log that has all of these texts.
    #[track_caller]
    fn warns(&self, texts: &[&str]) {
        let mut lines = Vec::new();
        while !lines
            .last()
            .is_some_and(|line: &String| texts.iter().all(|text| line.contains(text)))
        {
            match self.told.recv_timeout(PATIENCE) {
                Ok(line) => lines.push(line),
                Err(_) => panic!("{texts:?} is not in {lines:#?}"),
            }
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn what_is_made_of_a_copy_that_is_not_whole_is_not_whole_either() {
    let bed = Bed::new(2_000);
    let url = bed.proxy.url();
    let pull = ["pull", "Tab", "--from-endpoint", &url, "--segments", "2"];
    bed.killed(&[&pull[..], &["--timeout", "100"]].concat(), 5, 2);
    bed.proxy.always(None);
    bed.proxy.forget_next();
    let serving = Serving::of(&bed);
    let on = json!({ "PointInTimeRecoveryEnabled": true });
    serving.ask(
        "UpdateContinuousBackups",
        json!({ "TableName": "Tab", "PointInTimeRecoverySpecification": on }),
    );
    let goes_on = "Tab is not whole: a pull of ";
    let of_table = json!({ "TableName": "Tab" });
    let arn = serving.ask("DescribeTable", of_table)["Table"]["TableArn"].clone();
    serving.ask(
        "ExportTableToPointInTime",
        json!({ "TableArn": arn, "S3Bucket": "out" }),
    );
    serving.warns(&["WARN", "ExportTableToPointInTime", goes_on, "`ddbfs pull`"]);
    let made = serving.ask(
        "CreateBackup",
        json!({ "TableName": "Tab", "BackupName": "half" }),
    );
    serving.warns(&["WARN", "CreateBackup", goes_on, "`ddbfs pull`"]);
    serving.ask(
        "RestoreTableToPointInTime",
        json!({ "SourceTableName": "Tab", "TargetTableName": "Now", "UseLatestRestorableTime": true }),
    );
    serving.warns(&["WARN", "RestoreTableToPointInTime", goes_on, "`ddbfs pull`"]);
    let arn = made["BackupDetails"]["BackupArn"].clone();
    let backup = json!({ "BackupArn": arn });
    serving.until(
        "DescribeBackup",
        backup,
        "/BackupDescription/BackupDetails/BackupStatus",
        "AVAILABLE",
    );
    drop(serving);
    // The backup stays what it is when its table has become whole.
    let (code, out, err) = bed.run(&pull);
    assert_eq!(code, 0, "{out}{err}");
    let serving = Serving::of(&bed);
    serving.ask(
        "RestoreTableFromBackup",
        json!({ "BackupArn": arn, "TargetTableName": "Then" }),
    );
    serving.warns(&["WARN", "RestoreTableFromBackup", "was not whole"]);
    // A backup of the whole table says nothing, and makes a table without a mark.
    let whole = serving.ask(
        "CreateBackup",
        json!({ "TableName": "Tab", "BackupName": "whole" }),
    );
    let arn = whole["BackupDetails"]["BackupArn"].clone();
    serving.until(
        "DescribeBackup",
        json!({ "BackupArn": arn }),
        "/BackupDescription/BackupDetails/BackupStatus",
        "AVAILABLE",
    );
    serving.ask(
        "RestoreTableFromBackup",
        json!({ "BackupArn": arn, "TargetTableName": "Whole" }),
    );
    for table in ["Now", "Then", "Whole"] {
        let table = json!({ "TableName": table });
        serving.until("DescribeTable", table, "/Table/TableStatus", "ACTIVE");
    }
    drop(serving);
    let (code, _, err) = bed.run(&["advise", "Whole"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for table in ["Now", "Then"] {
        let (code, _, err) = bed.run(&["advise", table]);
        let expected = format!("{table} is not whole: items or changes of http://");
        assert!(code == 0 && err.contains(&expected), "{err}");
        // The command that the sentence names makes it whole.
        let (code, out, err) = bed.run(&["sync", table]);
        assert!(
            code == 0 && err.contains("as the copy is not whole"),
            "{out}{err}"
        );
        let there = format!("{}/Tab", bed.url());
        let same = bed.run(&["diff", table, &there]);
        assert_eq!(same, (0, String::new(), String::new()));
        assert_eq!(bed.run(&["advise", table]).2, "");
    }
}

/// Every command is here: one that reads a table says that it is not whole.
#[test]
fn each_command_that_reads_a_table_tells_that_it_is_not_whole() {
    let bed = Bed::new(2_000);
    let url = bed.proxy.url();
    bed.killed(
        &[
            "pull",
            "Tab",
            "--from-endpoint",
            &url,
            "--segments",
            "2",
            "--timeout",
            "100",
        ],
        5,
        2,
    );
    bed.proxy.always(None);
    bed.proxy.forget_next();
    let there = format!("{}/Tab", bed.url());
    let mountpoint = bed.dir.path().join("mnt");
    std::fs::create_dir(&mountpoint).unwrap();
    let archive = bed.dir.path().join("archive");
    let (mountpoint, archive) = (mountpoint.to_str().unwrap(), archive.to_str().unwrap());
    let reading: &[&[&str]] = &[
        &["load", "Tab"],
        &["dump", "Tab"],
        &["push", "Tab", "--create", "--to-endpoint", &url],
        &["sync", "Tab"],
        &["diff", "Tab", &there, "--brief"],
        &["check"],
        &["advise", "Tab"],
        &["advise"],
        &["what-if", "Tab", "--billing", "on-demand"],
        &["shapes", "Tab"],
        &["archive", "Tab", archive, "--pk", "p1"],
        &["violations", "Tab"],
        // These go on, so they are ended.
        &["serve", "--http", "127.0.0.1:0"],
        &["mount", mountpoint],
    ];
    // They read no table of the data directory, go on with the pull, or show what a mount does.
    let others = "umount import pull compact sample completions shell man top shards help";
    let (_, help, _) = bed.run(&["help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.map(|line| line.split_whitespace().next().unwrap()) {
        let is_known = reading.iter().any(|args| args[0] == name)
            || others.split(' ').any(|other| other == name);
        assert!(
            is_known,
            "{name}: does it tell of a copy that is not whole?"
        );
    }
    for args in reading {
        if !["mount", "serve"].contains(&args[0]) {
            let (_, out, err) = bed.run(args);
            let told = ["not whole", "its pull has not ended"];
            assert!(
                told.iter().any(|told| (out.clone() + &err).contains(told)),
                "{args:?}: {out}{err}"
            );
            continue;
        }
        let mut child = bed
            .command(args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = stderr.lines().map(Result::unwrap);
        let told = lines.any(|line| line.contains("Tab is not whole: a pull of "));
        assert!(told, "{args:?}");
        if args[0] == "mount" {
            until_ok("the end of the mount", || {
                match bed.run(&["umount", mountpoint]) {
                    (0, ..) => Ok(()),
                    (_, _, err) => Err(err),
                }
            });
        }
        drop(child.kill());
        child.wait().unwrap();
    }
}

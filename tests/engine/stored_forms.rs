//! What earlier versions wrote stays readable. `stored_forms/version_N.store` is everything a store held, one key and value a line, written
//! by a program of that time; `version_N.answers.json` is what that program then answered about it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::support::control::{ARN, Control};
use crate::support::wait::until;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::keys::RecordKind;
use ddbfs::engine::keys::StoreKey;
use ddbfs::model::error::StoreError;
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{Direction, KeyRange, Store, Write, WriteJob};
use serde_json::{Map, Value, json};

/// From the opening of a [`Control`] to when the answers were given.
const ELAPSED_MS: u64 = 3_701_000;

struct Fill(Vec<(Vec<u8>, Vec<u8>)>);

impl WriteJob for Fill {
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError> {
        self.0
            .iter()
            .try_for_each(|(key, value)| batch.put(key, value))
    }

    fn done(self: Box<Self>, result: Result<(), StoreError>) {
        result.unwrap();
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// A store with these lines: a key in hexadecimal digits, then a JSON object or again digits.
fn store(lines: &str) -> Arc<MemoryStore> {
    let value = |text: &str| {
        if text.starts_with('{') {
            text.as_bytes().to_vec()
        } else {
            unhex(text)
        }
    };
    let lines = lines.lines().map(|line| line.split_once(' ').unwrap());
    let store = Arc::new(MemoryStore::new().unwrap());
    let before = store.commit_id();
    store.submit(Box::new(Fill(
        lines.map(|(key, text)| (unhex(key), value(text))).collect(),
    )));
    assert_ne!(
        store.wait_for_commit(before, Duration::from_secs(60)),
        Ok(before)
    );
    store
}

fn open(store: &Arc<MemoryStore>) -> Control {
    let control = Control::on(store.clone(), |options| options.background_period = None);
    control.clock.advance_ms(ELAPSED_MS);
    control
}

/// Asks what was asked then.
fn check_answers(control: &Control, recorded: &str, when: &str) {
    let recorded: Map<String, Value> = serde_json::from_str(recorded).unwrap();
    for (question, expected) in recorded {
        let (operation, body) = question.split_once(' ').unwrap();
        let found = control
            .call(operation, serde_json::from_str(body).unwrap())
            .unwrap_or_else(Value::String);
        assert_eq!(found, expected, "{when}: {question}");
    }
}

fn jobs(store: &MemoryStore) -> usize {
    let mut count = 0;
    let range = KeyRange::prefix(&StoreKey::Account(RecordKind::Job, "").encode());
    let visit = &mut |_: &[u8], _: &[u8]| {
        count += 1;
        ControlFlow::Continue(())
    };
    store
        .snapshot()
        .unwrap()
        .walk(&range, Direction::Forward, visit)
        .unwrap();
    count
}

#[test]
fn a_store_of_version_1_opens_as_it_was_and_is_written_anew() {
    let store = store(include_str!("stored_forms/version_1.store"));
    let answers = include_str!("stored_forms/version_1.answers.json");
    assert_eq!(jobs(&store), 1);
    let control = open(&store);
    check_answers(&control, answers, "opened");
    // The job that was left is gone on with.
    until("the job ends", || jobs(&store) == 0);
    // Two changes that come to nothing write each definition in today's form.
    for table in control.ok("ListTables", json!({}))["TableNames"]
        .as_array()
        .unwrap()
    {
        let arn = format!("{ARN}{}", table.as_str().unwrap());
        control.ok(
            "TagResource",
            json!({ "ResourceArn": arn, "Tags": [{ "Key": "passing", "Value": "" }] }),
        );
        control.ok(
            "UntagResource",
            json!({ "ResourceArn": arn, "TagKeys": ["passing"] }),
        );
    }
    check_answers(&control, answers, "written");
    drop(control);
    check_answers(&open(&store), answers, "opened again");
}

#[test]
fn what_a_newer_ddbfs_wrote_is_refused_with_a_sentence_and_stays() {
    let lines = include_str!("stored_forms/version_1.store");
    // The model's partitions had no version then.
    let newer = |line: &str| {
        line.replace(r#" {"v":1,"#, " {")
            .replace(r#" {""#, r#" {"v":99,""#)
    };
    let newer: Vec<String> = lines.lines().map(newer).collect();
    let store = store(&newer.join("\n"));
    let sentence =
        "the data directory was written by a newer format, version 99; use a newer ddbfs";
    let control = open(&store);
    for (operation, body) in [
        ("DescribeTable", json!({ "TableName": "Full" })),
        (
            "GetItem",
            json!({ "TableName": "Full", "Key": { "pk": { "S": "p" }, "sk": { "N": "1" } } }),
        ),
        (
            "UpdateTable",
            json!({ "TableName": "Full", "DeletionProtectionEnabled": false }),
        ),
        ("ListBackups", json!({})),
        ("ListExports", json!({})),
        ("ListImports", json!({})),
    ] {
        control.fails(operation, body, sentence);
    }
    control.simple("Other");
    control.database.engine().run_background_work().unwrap_err();
    drop(control);
    let mut kept = String::new();
    let visit = &mut |_: &[u8], value: &[u8]| {
        kept.extend(
            std::str::from_utf8(value)
                .iter()
                .filter(|text| text.starts_with(r#"{"v":99,"#))
                .map(|text| format!("{text}\n")),
        );
        ControlFlow::Continue(())
    };
    store
        .snapshot()
        .unwrap()
        .walk(&KeyRange::prefix(&[]), Direction::Forward, visit)
        .unwrap();
    let written: String = newer
        .iter()
        .filter_map(|line| Some(format!("{}\n", &line[line.find(r#"{"v""#)?..])))
        .collect();
    assert_eq!(kept, written);
}

const FORMAT: [u8; 2] = [1, 1];

/// The version of the whole store.
fn version(store: &MemoryStore) -> u8 {
    assert_eq!(
        StoreKey::Meta(ddbfs::engine::keys::Meta::Format).encode(),
        FORMAT
    );
    store.snapshot().unwrap().get(&FORMAT).unwrap().unwrap()[0]
}

#[test]
fn a_store_of_version_1_stays_so_while_it_is_read_and_is_of_version_2_after_a_write() {
    let store = store("0101 01");
    for _ in 0..2 {
        let control = open(&store);
        control.ok("ListTables", json!({}));
        assert_eq!(version(&store), 1);
    }
    let control = open(&store);
    control.simple("First");
    assert_eq!(version(&store), 2);
    control.simple("Second");
    drop(control);
    let control = open(&store);
    assert_eq!(version(&store), 2);
    assert_eq!(
        control.ok("ListTables", json!({}))["TableNames"],
        json!(["First", "Second"])
    );
}

/// `check`, `dump` and others open it so.
#[test]
fn a_store_that_is_only_looked_at_stays_as_it_is() {
    let store = store(include_str!("stored_forms/version_1.store"));
    let (commit, answers) = (
        store.commit_id(),
        include_str!("stored_forms/version_1.answers.json"),
    );
    let control = Control::on(store.clone(), |options| {
        (options.passive, options.background_period) = (true, Some(Duration::from_millis(1)));
    });
    control.clock.advance_ms(ELAPSED_MS);
    check_answers(&control, answers, "looked at");
    for table in control.ok("ListTables", json!({}))["TableNames"]
        .as_array()
        .unwrap()
    {
        control.ok("Scan", json!({ "TableName": table }));
    }
    control.database.engine().close();
    assert_eq!(
        (store.commit_id(), version(&store), jobs(&store)),
        (commit, 1, 1)
    );
}

#[test]
fn a_store_of_a_newer_version_is_refused_whole() {
    for newer in ["03", "63"] {
        let store = store(&format!("0101 {newer}"));
        let commit = store.commit_id();
        let error = LocalDatabase::open(store.clone(), EngineOptions::default())
            .unwrap_err()
            .to_string();
        let version = version(&store);
        assert_eq!(
            error,
            format!(
                "the data directory was written by a newer format, version {version}; use a newer ddbfs"
            )
        );
        assert_eq!((unhex(newer), commit), (vec![version], store.commit_id()));
    }
}

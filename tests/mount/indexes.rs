//! Tests of indexes that are created, watched and dropped as directories of a real mount
//! (docs/filesystem.md 3 and 5).

use std::sync::Arc;

use crate::support::mounted::{Mount, create_table, put};
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::test_hooks::{IndexHold, IndexStage};
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

const TAB: &str = r#"{"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}"#;

/// Mounts `Tab` with four items, one of which has a status that is no string, one none.
fn tab(change: impl FnOnce(&mut EngineOptions)) -> Mount {
    let mut options = EngineOptions {
        background_period: None,
        ..EngineOptions::default()
    };
    change(&mut options);
    let db = Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
    create_table(&*db, TAB);
    for item in [
        r#"{"pk":"u1","sk":"o1","status":"open","total":1}"#,
        r#"{"pk":"u1","sk":"o2","status":"held","total":2}"#,
        r#"{"pk":"u2","sk":"o 3","status":3}"#,
        r#"{"pk":"u2","sk":"o4"}"#,
    ] {
        put(&*db, "Tab", item);
    }
    Mount::of(db)
}

fn run(mount: &Mount) {
    mount.local.engine().run_background_work().unwrap();
}

/// Returns the output of a script that succeeds.
#[track_caller]
fn ok(mount: &Mount, script: &str) -> String {
    mount.sh(script).ok().to_owned()
}

/// Returns the errors of a script that fails.
#[track_caller]
fn fails(mount: &Mount, script: &str) -> String {
    mount.sh(script).failed().to_owned()
}

fn stats(mount: &Mount) -> Value {
    let text = ok(mount, "cat Tab/gsi/by-status/stats.json");
    // One line feed, no padding.
    assert_eq!(text.trim_end().len() + 1, text.len(), "{text:?}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn an_index_is_a_directory_that_is_made_and_removed() {
    let hold = Arc::new(IndexHold::default());
    let of_engine = Arc::clone(&hold);
    let mount = tab(|options| options.index_hold = of_engine);
    hold.hold(IndexStage::Allocation);
    // A draft, with a template.
    ok(&mount, "mkdir Tab/gsi/by-status; test -d Tab/gsi/by-status");
    assert_eq!(
        ok(&mount, "ls Tab/gsi Tab/gsi/by-status"),
        "Tab/gsi:\nby-status\n\nTab/gsi/by-status:\nschema.json\n"
    );
    fails(&mount, "mkdir Tab/gsi/by-status");
    ok(&mount, "rmdir Tab/gsi/by-status; mkdir Tab/gsi/by-status");
    ok(
        &mount,
        "jq -c '.KeySchema[0].AttributeName = \"status\" | .AttributeDefinitions[0].AttributeName = \"status\"' \
        Tab/gsi/by-status/schema.json > /tmp/by-status-$$ && cat /tmp/by-status-$$ > Tab/gsi/by-status/schema.json; rm /tmp/by-status-$$",
    );
    run(&mount);
    let nothing = json!({ "done": 0, "total": 4, "percent": 0, "write_units": 0 });
    let found = stats(&mount);
    assert_eq!(
        (&found["status"], &found["backfilling"]),
        (&json!("CREATING"), &json!(false))
    );
    assert_eq!(found["progress"], nothing, "while resources are allocated");
    hold.hold(IndexStage::Backfill);
    hold.release(IndexStage::Allocation);
    run(&mount);
    let found = stats(&mount);
    assert_eq!(
        (&found["status"], &found["backfilling"]),
        (&json!("CREATING"), &json!(true))
    );
    assert_eq!(found["progress"], nothing);
    // Its entries cannot be read yet.
    for command in [
        "ls Tab/gsi/by-status/items",
        "cat Tab/gsi/by-status/query/@pk=open/count",
        "cat Tab/gsi/by-status/scan/count",
    ] {
        let error = fails(&mount, command);
        assert!(error.contains("busy"), "{command}: {error}");
        let sentence = ok(
            &mount,
            &format!("{command} 2> /dev/null; cat .ddb/errors/last"),
        );
        assert!(
            sentence.contains("Cannot read from backfilling global secondary index: by-status"),
            "{sentence}"
        );
    }
    assert!(
        fails(
            &mount,
            "mkdir Tab/gsi/other; echo 'gsi other a:S' > Tab/ctl"
        )
        .contains("busy")
    );
    hold.release(IndexStage::Backfill);
    run(&mount);
    let found = stats(&mount);
    assert_eq!(
        (
            &found["status"],
            &found["backfilling"],
            &found["violations"]
        ),
        (&json!("ACTIVE"), &Value::Null, &json!(1))
    );
    let bytes = found["bytes"].as_u64().unwrap();
    assert_eq!(
        (&found["billed_bytes"], &found["entry_overhead_bytes"]),
        (&json!(bytes + 200), &json!(100))
    );
    // Its consumption is reported beside that of writes, and its end is visible.
    let capacity: Value = serde_json::from_str(&ok(&mount, "cat Tab/capacity.json")).unwrap();
    let of_index = capacity["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["name"] == "by-status")
        .unwrap();
    assert_eq!(of_index["backfill"]["write_units"], json!(2.0));
    let progress = r#"jq -s 'map(select(.MetricName=="OnlineIndexPercentageProgress").Sum)|max' Tab/metrics.ndjson"#;
    assert_eq!(ok(&mount, progress), "100\n");
    assert_eq!(
        ok(&mount, "ls Tab/gsi/by-status/items/*"),
        "Tab/gsi/by-status/items/held:\nu1,o2.json\n\nTab/gsi/by-status/items/open:\nu1,o1.json\n"
    );
    assert_eq!(
        ok(&mount, "cat Tab/gsi/by-status/query/@pk=open/count"),
        "1\n"
    );
    // The items that are not in it, with the reason.
    let refused =
        r#"{"path":"items/u2/o%203.json","attribute":"status","expected":"S","found":"N"}"#;
    assert_eq!(
        ok(&mount, "cat Tab/gsi/by-status/violations.ndjson"),
        format!("{refused}\n")
    );
    let missing = ok(&mount, "sort Tab/gsi/by-status/missing.ndjson");
    assert_eq!(
        missing,
        format!(
            "{refused}\n{}\n",
            r#"{"path":"items/u2/o4.json","lacks":["status"]}"#
        )
    );
    assert!(!ok(&mount, "ls -a Tab/gsi/by-status").contains("ndjson"));
    ok(
        &mount,
        "cd Tab; jq -r .path gsi/by-status/violations.ndjson | while read -r path; do cat \"$path\"; done",
    );

    ok(
        &mount,
        "rmdir Tab/gsi/by-status; test ! -e Tab/gsi/by-status",
    );
    run(&mount);
    assert_eq!(ok(&mount, "ls Tab/gsi"), "other\n");
    let error = fails(&mount, "mkdir Tab/lsi/by-status");
    assert!(error.contains("not permitted"), "{error}");
}

#[test]
fn commands_make_an_index_and_stop_its_propagation() {
    let mount = tab(|_| {});
    ok(
        &mount,
        "echo 'gsi by-status status:S sk:S include=total' > Tab/ctl",
    );
    run(&mount);
    let schema: Value =
        serde_json::from_str(&ok(&mount, "cat Tab/gsi/by-status/schema.json")).unwrap();
    assert_eq!(
        schema["Projection"],
        json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"] })
    );
    assert_eq!(
        ok(
            &mount,
            "cat Tab/gsi/by-status/items/open/o1,u1,o1.json | jq -c .total"
        ),
        "1\n"
    );

    ok(
        &mount,
        "echo 'gsi-propagation pause' > Tab/ctl; echo '{\"status\":\"new\"}' > Tab/items/u1/o5.json",
    );
    run(&mount);
    assert_eq!(stats(&mount)["lag"]["pending"], 1);
    assert_eq!(stats(&mount)["lag"]["paused"], true);
    assert_eq!(ok(&mount, "ls Tab/gsi/by-status/items"), "held\nopen\n");
    assert_eq!(
        ok(
            &mount,
            "jq -c .comes Tab/gsi/by-status/missing.ndjson | sort"
        ),
        "null\nnull\ntrue\n"
    );
    ok(&mount, "echo 'gsi-propagation resume' > Tab/ctl");
    run(&mount);
    assert_eq!(stats(&mount)["lag"], Value::Null);
    assert_eq!(
        ok(&mount, "ls Tab/gsi/by-status/items"),
        "held\nnew\nopen\n"
    );

    for bad in [
        "gsi",
        "gsi abc",
        "gsi abc a:X",
        "gsi-propagation stop",
        "gsi by-status status:S",
    ] {
        fails(&mount, &format!("echo '{bad}' > Tab/ctl"));
    }
    let sentence = ok(
        &mount,
        "cat .ddb/errors/last; echo 'gsi abc a' > Tab/ctl 2> /dev/null; cat .ddb/errors/last",
    );
    assert!(
        sentence
            .contains("an index is made by: gsi NAME key:S [sort:N] [keys | all | include=a,b]"),
        "{sentence}"
    );
}

/// Checks that `rm -r` of a table drops no index by accident: its first step is refused and bars
/// the process from the rest.
#[test]
fn rm_of_a_table_drops_no_index() {
    let mount = tab(|_| {});
    ok(&mount, "echo 'gsi by-status status:S' > Tab/ctl");
    run(&mount);
    fails(&mount, "rm -rf Tab");
    fails(
        &mount,
        "perl -e 'unlink \"Tab/schema.json\"; rmdir \"Tab/gsi/by-status\" or die $!'",
    );
    run(&mount);
    assert_eq!(
        ok(&mount, "ls Tab/gsi Tab/items"),
        "Tab/gsi:\nby-status\n\nTab/items:\nu1\nu2\n"
    );
    ok(&mount, "rmdir Tab/gsi/by-status");
}

/// Checks that the template of a provisioned table has units, and that a bad definition is reported
/// and creates nothing.
#[test]
fn a_bad_definition_makes_nothing() {
    let mount = tab(|_| {});
    ok(&mount, "mkdir Tab/gsi/new");
    let write = |text: &str| fails(&mount, &format!("echo '{text}' > Tab/gsi/new/schema.json"));
    write("{bad");
    write("{}");
    write(
        r#"{"KeySchema":[{"AttributeName":"x","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}"#,
    );
    let sentence = ok(
        &mount,
        r#"echo '{"KeySchema":[{"AttributeName":"x","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}' > Tab/gsi/new/schema.json 2> /dev/null
        cat .ddb/errors/last"#,
    );
    assert!(
        sentence.contains("not defined in AttributeDefinitions. Keys: [x]")
            && sentence.contains("No index was made."),
        "{sentence}"
    );
    assert_eq!(ok(&mount, "ls Tab/gsi/new"), "schema.json\n");
    assert_eq!(
        ok(&mount, "jq '.GlobalSecondaryIndexes' Tab/schema.json"),
        "null\n"
    );
}

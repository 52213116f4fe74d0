//! Backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::control::{ARN, Control};
use crate::support::wait::{self, until_ok};
use ddbfs::engine::check::check;
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

/// Asks until `done` likes the answer.
fn until(control: &Control, operation: &str, body: &Value, done: impl Fn(&Value) -> bool) -> Value {
    until_ok(operation, || {
        let answer = control.ok(operation, body.clone());
        if done(&answer) {
            Ok(answer)
        } else {
            Err(answer.to_string())
        }
    })
}

fn active(control: &Control, table: &str) -> Value {
    let body = json!({ "TableName": table });
    until(control, "DescribeTable", &body, |answer| {
        answer["Table"]["TableStatus"] == "ACTIVE"
    })["Table"]
        .clone()
}

/// The ARN of a new backup that is there.
fn backup(control: &Control, table: &str, name: &str) -> String {
    let details = control.ok(
        "CreateBackup",
        json!({ "TableName": table, "BackupName": name }),
    );
    assert_eq!(details["BackupDetails"]["BackupStatus"], "CREATING");
    let arn = details["BackupDetails"]["BackupArn"]
        .as_str()
        .unwrap()
        .to_owned();
    let body = json!({ "BackupArn": arn });
    until(control, "DescribeBackup", &body, |of| {
        of["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    });
    arn
}

fn restore(control: &Control, arn: &str, target: &str) {
    let answer = control.ok(
        "RestoreTableFromBackup",
        json!({ "BackupArn": arn, "TargetTableName": target }),
    );
    assert_eq!(answer["TableDescription"]["TableStatus"], "CREATING");
    assert_eq!(
        answer["TableDescription"]["RestoreSummary"]["RestoreInProgress"],
        true
    );
    active(control, target);
}

fn recovery(control: &Control, table: &str, enabled: bool) -> Value {
    let specification = json!({ "PointInTimeRecoveryEnabled": enabled });
    let body = json!({ "TableName": table, "PointInTimeRecoverySpecification": specification });
    control.ok("UpdateContinuousBackups", body)["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"].clone()
}

fn put(control: &Control, pk: &str, value: &str) {
    control.put(
        "Tab",
        json!({ "pk": { "S": pk }, "g": { "S": "g" }, "v": { "S": value } }),
    );
}

/// `Tab` with the index `glo` on `g`, tags, protection, and three items.
fn filled() -> Control {
    let control = Control::new();
    control.ok(
        "CreateTable",
        json!({
            "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": true,
            "AttributeDefinitions":
                [{ "AttributeName": "pk", "AttributeType": "S" }, { "AttributeName": "g", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            "GlobalSecondaryIndexes": [{
                "IndexName": "glo", "KeySchema": [{ "AttributeName": "g", "KeyType": "HASH" }],
                "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["v"] },
            }],
            "Tags": [{ "Key": "team", "Value": "sales" }],
        }),
    );
    for (pk, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
        put(&control, pk, value);
    }
    control
}

fn is_clean(control: &Control) {
    let report = check(control.database.engine()).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_backup_is_the_table_as_it_was() {
    let control = filled();
    let arn = backup(&control, "Tab", "first");
    assert!(
        arn.starts_with(&format!("{ARN}Tab/backup/00001700000000000-")),
        "{arn}"
    );
    put(&control, "a", "changed");
    put(&control, "d", "new");
    let description =
        control.ok("DescribeBackup", json!({ "BackupArn": arn }))["BackupDescription"].clone();
    assert_eq!(description["SourceTableDetails"]["ItemCount"], 3);
    assert_eq!(
        description["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"][0]["IndexName"],
        "glo"
    );
    assert_eq!(
        description["BackupDetails"]["BackupSizeBytes"],
        3 * (100 + 3 + 2 + 2)
    );

    restore(&control, &arn, "Old");
    assert_eq!(control.column("Old", "v"), ["1", "2", "3"]);
    assert_eq!(control.column("Old/glo", "v"), ["1", "2", "3"]);
    let table = control.describe("Old");
    assert_eq!(table["DeletionProtectionEnabled"], false);
    let summary = json!({
        "SourceBackupArn": arn, "SourceTableArn": format!("{ARN}Tab"), "RestoreDateTime": 1_700_000_000.0,
        "RestoreInProgress": false,
    });
    assert_eq!(table["RestoreSummary"], summary);
    assert_eq!(
        control.ok(
            "ListTagsOfResource",
            json!({ "ResourceArn": format!("{ARN}Old") })
        ),
        json!({ "Tags": [] })
    );
    is_clean(&control);

    // It outlives its table.
    control.ok(
        "UpdateTable",
        json!({ "TableName": "Tab", "DeletionProtectionEnabled": false }),
    );
    control.ok("DeleteTable", json!({ "TableName": "Tab" }));
    restore(&control, &arn, "Tab");
    assert_eq!(control.column("Tab", "v"), ["1", "2", "3"]);
    let gone = control.ok("DeleteBackup", json!({ "BackupArn": arn }));
    assert_eq!(
        gone["BackupDescription"]["BackupDetails"]["BackupStatus"],
        "DELETED"
    );
    control.fails(
        "DescribeBackup",
        json!({ "BackupArn": arn }),
        &format!("Backup not found: {arn}"),
    );
    is_clean(&control);
}

#[test]
fn indexes_and_billing_of_a_restored_table_may_differ() {
    let control = filled();
    let arn = backup(&control, "Tab", "first");
    let units = json!({ "ReadCapacityUnits": 2, "WriteCapacityUnits": 2 });
    let index = json!({
        "IndexName": "renamed", "KeySchema": [{ "AttributeName": "g", "KeyType": "HASH" }],
        "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["v"] }, "ProvisionedThroughput": units,
    });
    let body = |target: &str, indexes: Value| {
        json!({
            "BackupArn": arn, "TargetTableName": target, "BillingModeOverride": "PROVISIONED",
            "ProvisionedThroughputOverride": units, "GlobalSecondaryIndexOverride": indexes,
        })
    };
    control.ok("RestoreTableFromBackup", body("One", json!([index])));
    assert_eq!(
        active(&control, "One")["ProvisionedThroughput"]["ReadCapacityUnits"],
        2
    );
    assert_eq!(control.column("One/renamed", "v"), ["1", "2", "3"]);
    control.ok("RestoreTableFromBackup", body("None", json!([])));
    assert_eq!(
        active(&control, "None")["AttributeDefinitions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let mut other = index;
    other["Projection"] = json!({ "ProjectionType": "ALL" });
    control.fails(
        "RestoreTableFromBackup",
        body("Other", json!([other])),
        "IV: No index of the source table has the key schema and projection of index: renamed",
    );
    is_clean(&control);
}

#[test]
fn backups_are_listed_in_pages() {
    let control = filled();
    control.simple("Zed");
    let mut arns = Vec::new();
    for name in ["one", "two", "three"] {
        control.clock.advance_ms(1000);
        arns.push(backup(&control, "Tab", name));
    }
    arns.push(backup(&control, "Zed", "one"));
    let list = |body: Value| {
        let found = control.ok("ListBackups", body);
        let summaries = found["BackupSummaries"].as_array().unwrap().clone();
        let found_arns: Vec<String> = summaries
            .iter()
            .map(|of| of["BackupArn"].as_str().unwrap().to_owned())
            .collect();
        (found_arns, found["LastEvaluatedBackupArn"].clone())
    };
    assert_eq!(list(json!({})), (arns.clone(), Value::Null));
    assert_eq!(
        list(json!({ "TableName": "Tab", "Limit": 2 })),
        (arns[..2].to_vec(), json!(arns[1]))
    );
    assert_eq!(
        list(json!({ "ExclusiveStartBackupArn": arns[1] })).0,
        arns[2..]
    );
    assert_eq!(
        list(json!({ "TimeRangeLowerBound": 1_700_000_002, "TimeRangeUpperBound": 1_700_000_003 }))
            .0,
        [arns[1].clone()]
    );
    assert_eq!(list(json!({ "BackupType": "SYSTEM" })).0, [""; 0]);
}

#[test]
fn a_table_is_restored_to_any_moment_of_its_window() {
    let control = filled();
    let point = |target: &str, time: Option<f64>| {
        let mut body = json!({ "SourceTableName": "Tab", "TargetTableName": target });
        match time {
            Some(time) => body["RestoreDateTime"] = json!(time),
            None => body["UseLatestRestorableTime"] = json!(true),
        }
        control.call("RestoreTableToPointInTime", body)
    };
    assert_eq!(
        point("Early", None),
        Err("Point in time recovery is not enabled for table 'Tab'".to_owned())
    );
    assert_eq!(recovery(&control, "Tab", true)["RecoveryPeriodInDays"], 35);
    for (pk, value) in [("a", "4"), ("d", "5"), ("a", "6")] {
        control.clock.advance_ms(1000);
        put(&control, pk, value);
    }
    control.clock.advance_ms(500);
    let earliest = 1_700_000_000.0;
    let expected = [
        ["1", "2", "3"].as_slice(),
        &["2", "3", "4"],
        &["2", "3", "4", "5"],
        &["2", "3", "5", "6"],
        &["2", "3", "5", "6"],
    ];
    for (position, expected) in expected.iter().enumerate() {
        let (target, time) = (
            format!("At{position}"),
            (position < 4).then_some(earliest + position as f64 + 0.2),
        );
        point(&target, time).unwrap();
        assert_eq!(
            active(&control, &target)["RestoreSummary"]["SourceTableArn"],
            format!("{ARN}Tab")
        );
        assert_eq!(control.column(&target, "v"), *expected, "{target}");
        assert_eq!(
            control.column(&format!("{target}/glo"), "v"),
            *expected,
            "{target}"
        );
    }
    for time in [earliest - 1.0, earliest + 4.0] {
        assert!(
            point("Never", Some(time))
                .unwrap_err()
                .contains("must be between EarliestRestorableDateTime (2023-11-14T22:13:20.000Z)")
        );
    }
    let both = json!({
        "SourceTableName": "Tab", "TargetTableName": "Never", "UseLatestRestorableTime": true, "RestoreDateTime": earliest,
    });
    control.fails(
        "RestoreTableToPointInTime",
        both,
        "Exactly one of RestoreDateTime and UseLatestRestorableTime must be given",
    );
    assert_eq!(
        point("At0", None),
        Err("Table already exists: At0".to_owned())
    );
    is_clean(&control);

    // Off and on again: a new window.
    assert_eq!(
        recovery(&control, "Tab", false),
        json!({ "PointInTimeRecoveryStatus": "DISABLED" })
    );
    let window = recovery(&control, "Tab", true);
    assert_eq!(window["EarliestRestorableDateTime"], earliest + 4.0);
    assert!(point("Never", Some(earliest + 2.0)).is_err());
}

#[test]
fn the_window_moves_with_time() {
    let control = filled();
    let specification = json!({ "PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 1 });
    control.ok(
        "UpdateContinuousBackups",
        json!({ "TableName": "Tab", "PointInTimeRecoverySpecification": specification }),
    );
    let day = 24 * 60 * 60 * 1000;
    for value in 0..6 {
        control.clock.advance_ms(day / 2);
        put(&control, "a", &format!("n{value}"));
    }
    let found = control.ok("DescribeContinuousBackups", json!({ "TableName": "Tab" }));
    let window = &found["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    let now = 1_700_000_000.0 + 3.0 * 86_400.0;
    assert_eq!(
        (
            &window["EarliestRestorableDateTime"],
            &window["LatestRestorableDateTime"]
        ),
        (&json!(now - 86_400.0), &json!(now))
    );
    let body = json!({ "SourceTableName": "Tab", "TargetTableName": "Old", "RestoreDateTime": now - 86_400.0 });
    control.ok("RestoreTableToPointInTime", body);
    active(&control, "Old");
    assert_eq!(control.column("Old", "v"), ["2", "3", "n3"]);
}

#[test]
fn what_is_not_there_is_named() {
    let control = filled();
    control.fails(
        "CreateBackup",
        json!({ "TableName": "None", "BackupName": "abc" }),
        "Table not found: None",
    );
    control.fails(
        "DescribeContinuousBackups",
        json!({ "TableName": "None" }),
        "Table not found: None",
    );
    let arn = format!("{ARN}Tab/backup/00000000000000001-00000000");
    for operation in ["DescribeBackup", "DeleteBackup"] {
        control.fails(
            operation,
            json!({ "BackupArn": arn }),
            &format!("Backup not found: {arn}"),
        );
    }
    let body = json!({ "BackupArn": arn, "TargetTableName": "Tab" });
    control.fails(
        "RestoreTableFromBackup",
        body,
        &format!("Backup not found: {arn}"),
    );
}

const KEYS: u64 = 1_500;

/// Writes 0, 1, 2, … to the keys in turn: at any moment the values are `KEYS` numbers in a row.
fn write_in_turn(control: &Control, stop: &AtomicBool, written: &AtomicU64) {
    for number in 0.. {
        if stop.load(Ordering::Relaxed) && number > KEYS {
            return;
        }
        let filler = "x".repeat(1000);
        let key = format!("{}", number % KEYS);
        control.put("Tab", json!({ "pk": { "S": key }, "v": { "S": format!("{number:09}") }, "x": { "S": filler } }));
        written.store(number, Ordering::Relaxed);
    }
}

fn in_a_row(control: &Control, table: &str) {
    let mut values = Vec::new();
    let mut start = Value::Null;
    loop {
        let page = control.ok(
            "Scan",
            json!({ "TableName": table, "ExclusiveStartKey": start }),
        );
        let items = page["Items"].as_array().unwrap();
        values.extend(
            items
                .iter()
                .map(|item| item["v"]["S"].as_str().unwrap().parse::<u64>().unwrap()),
        );
        start = page["LastEvaluatedKey"].clone();
        if start.is_null() {
            break;
        }
    }
    values.sort_unstable();
    let row: Vec<u64> = (values[0]..values[0] + KEYS).collect();
    assert_eq!(values, row, "{table}");
}

fn copies_are_consistent_while_items_change(control: &Control) {
    control.simple("Tab");
    recovery(control, "Tab", true);
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_in_turn(control, &stop, &written));
        wait::until("every key is written", || {
            written.load(Ordering::Relaxed) >= KEYS
        });
        let mut arns = Vec::new();
        for round in 0..3 {
            control.clock.advance_ms(1000);
            arns.push(backup(control, "Tab", "abc"));
            let body = json!({
                "SourceTableName": "Tab", "TargetTableName": format!("Now{round}"), "UseLatestRestorableTime": true,
            });
            control.ok("RestoreTableToPointInTime", body);
            active(control, &format!("Now{round}"));
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        for (round, arn) in arns.iter().enumerate() {
            restore(control, arn, &format!("Then{round}"));
        }
    });
    for round in 0..3 {
        in_a_row(control, &format!("Now{round}"));
        in_a_row(control, &format!("Then{round}"));
    }
    is_clean(control);
}

#[test]
fn copies_are_consistent_while_items_change_on_memory() {
    copies_are_consistent_while_items_change(&Control::on(
        Arc::new(MemoryStore::new().unwrap()),
        |_| {},
    ));
}

#[test]
fn copies_are_consistent_while_items_change_on_lmdb() {
    let directory = tempfile::tempdir().unwrap();
    let options = LmdbOptions {
        durability: ddbfs::store::Durability::Kill,
        ..LmdbOptions::default()
    };
    let store = LmdbStore::open(directory.path(), options).unwrap();
    copies_are_consistent_while_items_change(&Control::on(Arc::new(store), |_| {}));
}

#[test]
fn copies_go_on_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store = Arc::new(LmdbStore::open(directory.path(), LmdbOptions::default()).unwrap());
        (Control::on(store.clone(), |_| {}), store)
    };
    let (control, store) = open();
    control.simple("Tab");
    let long = "x".repeat(100_000);
    for number in 0..60 {
        let item = json!({ "pk": { "S": number.to_string() }, "v": { "S": number.to_string() }, "x": { "S": long } });
        control.put("Tab", item);
    }
    let details = control.ok(
        "CreateBackup",
        json!({ "TableName": "Tab", "BackupName": "abc" }),
    );
    store.close();
    drop((control, store));

    let (control, store) = open();
    let arn = &details["BackupDetails"]["BackupArn"];
    let body = json!({ "BackupArn": arn });
    until(&control, "DescribeBackup", &body, |of| {
        of["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    });
    control.ok(
        "RestoreTableFromBackup",
        json!({ "BackupArn": arn, "TargetTableName": "Old" }),
    );
    store.close();
    drop((control, store));

    let (control, _store) = open();
    active(&control, "Old");
    assert_eq!(control.describe("Old")["ItemCount"], 60);
    control.ok("DeleteTable", json!({ "TableName": "Tab" }));
    is_clean(&control);
}

#[test]
fn a_deleted_table_with_recovery_leaves_a_backup_for_35_days() {
    let control = Control::new();
    control.simple("Tab");
    control.put("Tab", json!({ "pk": { "S": "a" } }));
    control.put("Tab", json!({ "pk": { "S": "b" } }));
    let on = json!({ "PointInTimeRecoveryEnabled": true });
    control.ok(
        "UpdateContinuousBackups",
        json!({ "TableName": "Tab", "PointInTimeRecoverySpecification": on }),
    );
    control.put("Tab", json!({ "pk": { "S": "c" } }));
    let list = |kind: &str| {
        control.ok("ListBackups", json!({ "BackupType": kind }))["BackupSummaries"]
            .as_array()
            .unwrap()
            .clone()
    };
    assert!(list("ALL").is_empty());
    control.ok("DeleteTable", json!({ "TableName": "Tab" }));
    assert!(list("USER").is_empty() && list("AWS_BACKUP").is_empty() && list("ALL").len() == 1);
    let backup = list("SYSTEM")[0].clone();
    assert_eq!(
        (&backup["BackupName"], &backup["BackupType"]),
        (&json!("Tab$DeletedTableBackup"), &json!("SYSTEM"))
    );
    let arn = backup["BackupArn"].clone();
    let described =
        control.ok("DescribeBackup", json!({ "BackupArn": arn }))["BackupDescription"].clone();
    assert_eq!(described["SourceTableDetails"]["ItemCount"], json!(3));
    let clean = || ddbfs::engine::check::check(control.database.engine()).unwrap();
    assert!(clean().is_clean(), "{:?}", clean().differences);
    control.simple("Tab");
    control.put("Tab", json!({ "pk": { "S": "new" } }));
    control.ok(
        "RestoreTableFromBackup",
        json!({ "TargetTableName": "Back", "BackupArn": arn }),
    );
    active(&control, "Back");
    assert_eq!(control.column("Back", "pk"), ["a", "b", "c"]);
    let day = 24 * 60 * 60 * 1000;
    control.clock.advance_ms(35 * day - 1);
    control.database.engine().run_background_work().unwrap();
    assert_eq!(list("SYSTEM").len(), 1);
    control.clock.advance_ms(1);
    control.database.engine().run_background_work().unwrap();
    assert!(list("SYSTEM").is_empty());
    assert_eq!(
        (
            control.column("Tab", "pk"),
            control.column("Back", "pk").len()
        ),
        (vec!["new".to_owned()], 3)
    );
    assert!(clean().is_clean(), "{:?}", clean().differences);
    control.ok("DeleteTable", json!({ "TableName": "Back" }));
    assert!(list("ALL").is_empty(), "recovery was off");
}

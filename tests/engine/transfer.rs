//! Export to and import from directories that stand for buckets (docs/dynamodb.md 20.3, 20.4).

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crate::support::control::{ARN, Control};
use crate::support::wait::until_ok;
use ddbfs::engine::check::check;
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};
use tempfile::TempDir;

fn with_buckets() -> (Control, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_owned();
    let control = Control::on(Arc::new(MemoryStore::new().unwrap()), move |options| {
        options.buckets = Some(root)
    });
    (control, directory)
}

/// Asks until the transfer has ended.
fn ended(control: &Control, what: &str, started: &Value) -> Value {
    let (outer, arn, status) = match what {
        "Export" => ("ExportDescription", "ExportArn", "ExportStatus"),
        _ => ("ImportTableDescription", "ImportArn", "ImportStatus"),
    };
    assert_eq!(started[outer][status], "IN_PROGRESS");
    until_ok(what, || {
        let found = control.ok(
            &format!("Describe{what}"),
            json!({ arn: started[outer][arn] }),
        )[outer]
            .clone();
        if found[status] == "IN_PROGRESS" {
            Err(found.to_string())
        } else {
            Ok(found)
        }
    })
}

fn recovery_on(control: &Control, table: &str) {
    let specification = json!({ "PointInTimeRecoveryEnabled": true });
    control.ok(
        "UpdateContinuousBackups",
        json!({ "TableName": table, "PointInTimeRecoverySpecification": specification }),
    );
}

fn creation(table: &str) -> Value {
    json!({
        "TableName": table, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }, { "AttributeName": "n", "AttributeType": "N" }],
        "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        "GlobalSecondaryIndexes": [{
            "IndexName": "byn", "KeySchema": [{ "AttributeName": "n", "KeyType": "HASH" }], "Projection": { "ProjectionType": "ALL" },
        }],
    })
}

fn json_file(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Everything below the directory is its owner's alone.
fn check_modes(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        assert_eq!(
            metadata.mode() & 0o777,
            if metadata.is_dir() { 0o700 } else { 0o600 },
            "{:?}",
            entry.path()
        );
        if metadata.is_dir() {
            check_modes(&entry.path());
        }
    }
}

fn unzipped(path: &Path) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text
}

#[test]
fn an_export_is_the_table_as_of_its_time_and_can_be_imported() {
    let (control, root) = with_buckets();
    control.ok("CreateTable", creation("Tab"));
    let body = json!({ "TableArn": format!("{ARN}Tab"), "S3Bucket": "out", "S3Prefix": "some/where", "ClientToken": "one" });
    control.fails(
        "ExportTableToPointInTime",
        body.clone(),
        "Point in time recovery is not enabled for table 'Tab'",
    );
    recovery_on(&control, "Tab");
    for number in 0..2_000 {
        control.put("Tab", json!({ "pk": { "S": format!("k{number}") }, "n": { "N": number.to_string() }, "b": { "B": "AQ==" } }));
    }
    control.clock.advance_ms(1000);
    control.put("Tab", json!({ "pk": { "S": "later" } }));
    let mut at = body.clone();
    at["ExportTime"] = json!(1_700_000_000);
    let started = control.ok("ExportTableToPointInTime", at.clone());
    assert_eq!(
        control.ok("ExportTableToPointInTime", at)["ExportDescription"]["ExportArn"],
        started["ExportDescription"]["ExportArn"]
    );
    control.fails(
        "ExportTableToPointInTime",
        body,
        "Another export with the same ClientToken has other parameters",
    );
    let export = ended(&control, "Export", &started);
    assert_eq!(
        (&export["ExportStatus"], &export["ItemCount"]),
        (&json!("COMPLETED"), &json!(2_000)),
        "{export}"
    );

    let bucket = root.path().join("out");
    let manifest = export["ExportManifest"].as_str().unwrap();
    let id = export["ExportArn"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap();
    assert_eq!(
        manifest,
        format!("some/where/AWSDynamoDB/{id}/manifest-summary.json")
    );
    let summary = json_file(&bucket.join(manifest));
    assert_eq!(
        (&summary["itemCount"], &summary["exportTime"]),
        (&json!(2_000), &json!("2023-11-14T22:13:20.000Z"))
    );
    let files =
        fs::read_to_string(bucket.join(summary["manifestFilesS3Key"].as_str().unwrap())).unwrap();
    let file: Value = serde_json::from_str(files.lines().next().unwrap()).unwrap();
    assert_eq!(
        (files.lines().count(), &file["itemCount"]),
        (1, &json!(2_000))
    );
    let key = file["dataFileS3Key"].as_str().unwrap();
    let lines = unzipped(&bucket.join(key));
    assert_eq!(lines.lines().count(), 2_000);
    assert!(
        lines
            .lines()
            .any(|line| line == r#"{"Item":{"pk":{"S":"k7"},"b":{"B":"AQ=="},"n":{"N":"7"}}}"#),
        "{}",
        &lines[..200]
    );
    assert!(!lines.contains("later"));
    assert!(
        bucket
            .join(format!("some/where/AWSDynamoDB/{id}/_started"))
            .exists()
    );
    check_modes(&bucket.join("some"));
    assert_eq!(
        control.ok("ListExports", json!({}))["ExportSummaries"][0]["ExportStatus"],
        "COMPLETED"
    );

    let source =
        json!({ "S3Bucket": "out", "S3KeyPrefix": format!("some/where/AWSDynamoDB/{id}/data/") });
    let body = json!({
        "S3BucketSource": source, "InputFormat": "DYNAMODB_JSON", "InputCompressionType": "GZIP",
        "TableCreationParameters": creation("New"),
    });
    let import = ended(&control, "Import", &control.ok("ImportTable", body.clone()));
    assert_eq!(
        (&import["ImportStatus"], &import["ImportedItemCount"]),
        (&json!("COMPLETED"), &json!(2_000)),
        "{import}"
    );
    assert_eq!(import["TableCreationParameters"]["TableName"], "New");
    let table = control.describe("New");
    assert_eq!(
        (
            &table["ItemCount"],
            &table["GlobalSecondaryIndexes"][0]["ItemCount"]
        ),
        (&json!(2_000), &json!(2_000))
    );
    control.fails("ImportTable", body, "Table already exists: New");
    assert_eq!(
        control.ok("ListImports", json!({ "TableArn": format!("{ARN}Other") })),
        json!({ "ImportSummaryList": [] })
    );
    let report = check(control.database.engine()).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn ion_is_refused() {
    let (control, _root) = with_buckets();
    control.ok("CreateTable", creation("Tab"));
    recovery_on(&control, "Tab");
    let sentence = "the format ION is not supported by this version of ddbfs";
    let export =
        json!({ "TableArn": format!("{ARN}Tab"), "S3Bucket": "out", "ExportFormat": "ION" });
    control.fails("ExportTableToPointInTime", export, sentence);
    let import = json!({
        "S3BucketSource": { "S3Bucket": "out" }, "InputFormat": "ION", "TableCreationParameters": creation("New"),
    });
    control.fails("ImportTable", import, sentence);
    control.fails(
        "DescribeTable",
        json!({ "TableName": "New" }),
        "Requested resource not found: Table: New not found",
    );
}

#[test]
fn an_export_may_have_some_items_and_parts_of_them() {
    let (control, root) = with_window();
    for (pk, value) in [("a", "1"), ("b", "2"), ("c", "1")] {
        put_sorted(&control, pk, value);
    }
    let check = |filter: Value, expected: &[&str]| {
        let body = json!({ "TableArn": format!("{ARN}Tab"), "S3Bucket": "out", "FilterSpecification": filter });
        let export = ended(
            &control,
            "Export",
            &control.ok("ExportTableToPointInTime", body),
        );
        assert_eq!(
            (&export["ExportStatus"], &export["ItemCount"]),
            (&json!("COMPLETED"), &json!(expected.len())),
            "{export}"
        );
        let bucket = root.path().join("out");
        let summary = json_file(&bucket.join(export["ExportManifest"].as_str().unwrap()));
        let files =
            fs::read_to_string(bucket.join(summary["manifestFilesS3Key"].as_str().unwrap()))
                .unwrap();
        let file: Value = serde_json::from_str(&files).unwrap();
        let text = unzipped(&bucket.join(file["dataFileS3Key"].as_str().unwrap()));
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, expected, "{filter}");
    };
    let line = |pk: &str, v: &str| {
        format!(r#"{{"Item":{{"pk":{{"S":"{pk}"}},"sk":{{"N":"1"}},"v":{{"S":"{v}"}}}}}}"#)
    };
    let (a, b, c) = (line("a", "1"), line("b", "2"), line("c", "1"));
    check(json!({}), &[&a, &b, &c]);
    let of_key = json!({ ":p": { "S": "b" }, ":n": { "N": "0" } });
    check(
        json!({ "KeyConditionExpression": "pk = :p AND sk > :n", "ExpressionAttributeValues": of_key }),
        &[&b],
    );
    let one = json!({ ":v": { "S": "1" } });
    check(
        json!({ "FilterExpression": "v = :v", "ExpressionAttributeValues": one }),
        &[&a, &c],
    );
    check(
        json!({
            "FilterExpression": "#v = :v", "ProjectionExpression": "#v", "ExpressionAttributeNames": { "#v": "v" },
            "ExpressionAttributeValues": one,
        }),
        &[r#"{"Item":{"v":{"S":"1"}}}"#, r#"{"Item":{"v":{"S":"1"}}}"#],
    );
    control.fails(
        "ExportTableToPointInTime",
        json!({ "TableArn": format!("{ARN}Tab"), "S3Bucket": "out", "FilterSpecification": {
            "KeyConditionExpression": "pk = :p", "FilterExpression": "pk = :p", "ExpressionAttributeValues": { ":p": { "S": "a" } },
        } }),
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: pk",
    );
    control.fails(
        "ExportTableToPointInTime",
        json!({ "TableArn": format!("{ARN}Tab"), "S3Bucket": "out", "FilterSpecification": { "FilterExpression": "pk = :p" } }),
        "Invalid FilterExpression: An expression attribute value used in expression is not defined; attribute value: :p",
    );
}

#[test]
fn zstandard_is_read_in_every_format() {
    let compress = |text: &str| {
        ruzstd::encoding::compress_to_vec(
            text.as_bytes(),
            ruzstd::encoding::CompressionLevel::Fastest,
        )
    };
    for (format, first, second) in [
        (
            "DYNAMODB_JSON",
            "{\"Item\":{\"pk\":{\"S\":\"a\"}}}\n{\"Item\":",
            "{\"pk\":{\"S\":\"b\"}}}\n",
        ),
        ("CSV", "pk,x\na,1\n", "b,2\n"),
    ] {
        let (control, root) = with_buckets();
        // Two frames, the second from the middle of an item.
        let bytes = [compress(first), compress(second)].concat();
        let found = import(
            &control,
            &root,
            &[("a.zst", &bytes)],
            json!({ "InputFormat": format, "InputCompressionType": "ZSTD" }),
        );
        assert_eq!(
            (&found["ImportStatus"], &found["ImportedItemCount"]),
            (&json!("COMPLETED"), &json!(2)),
            "{format} {found}"
        );
        assert_eq!(control.column("New", "pk"), ["a", "b"]);
    }
    let (control, root) = with_buckets();
    let found = import(
        &control,
        &root,
        &[("a.zst", b"pk\na\n")],
        json!({ "InputCompressionType": "ZSTD" }),
    );
    assert_eq!(
        (&found["ImportStatus"], &found["FailureCode"]),
        (&json!("FAILED"), &json!("S3Error")),
        "{found}"
    );
}

/// A table with a sort key, its recovery window open since the clock's first moment.
fn with_window() -> (Control, TempDir) {
    let (control, root) = with_buckets();
    control.ok(
        "CreateTable",
        json!({
            "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }, { "AttributeName": "sk", "AttributeType": "N" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": "sk", "KeyType": "RANGE" }],
        }),
    );
    recovery_on(&control, "Tab");
    (control, root)
}

fn put_sorted(control: &Control, pk: &str, value: &str) {
    control.put(
        "Tab",
        json!({ "pk": { "S": pk }, "sk": { "N": "1" }, "v": { "S": value } }),
    );
}

fn delete_sorted(control: &Control, pk: &str) {
    control.ok(
        "DeleteItem",
        json!({ "TableName": "Tab", "Key": { "pk": { "S": pk }, "sk": { "N": "1" } } }),
    );
}

fn incremental(specification: &Value) -> Value {
    json!({
        "TableArn": format!("{ARN}Tab"), "S3Bucket": "out", "S3Prefix": "pre", "ExportType": "INCREMENTAL_EXPORT",
        "IncrementalExportSpecification": specification,
    })
}

/// The export's description, its manifest and the lines of its only file, sorted.
fn exported(
    control: &Control,
    root: &TempDir,
    specification: &Value,
) -> (Value, Value, Vec<String>) {
    let export = ended(
        control,
        "Export",
        &control.ok("ExportTableToPointInTime", incremental(specification)),
    );
    assert_eq!(
        (&export["ExportStatus"], &export["ExportType"]),
        (&json!("COMPLETED"), &json!("INCREMENTAL_EXPORT")),
        "{export}"
    );
    let bucket = root.path().join("out");
    let summary = json_file(&bucket.join(export["ExportManifest"].as_str().unwrap()));
    let file = json_file(&bucket.join(summary["manifestFilesS3Key"].as_str().unwrap()));
    let key = file["dataFileS3Key"].as_str().unwrap();
    assert!(key.starts_with("pre/AWSDynamoDB/data/"), "{key}");
    let mut lines: Vec<String> = unzipped(&bucket.join(key))
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    assert_eq!(
        (&file["itemCount"], &summary["itemCount"]),
        (&json!(lines.len()), &json!(lines.len()))
    );
    assert_eq!(export["ItemCount"], json!(lines.len()));
    (export, summary, lines)
}

const HOUR_MS: u64 = 3_600_000;
const MINUTE_MS: u64 = 60_000;

#[test]
fn an_incremental_export_is_what_changed_in_its_window() {
    let (control, root) = with_window();
    for pk in ["kept", "changed", "removed", "back"] {
        put_sorted(&control, pk, "before");
    }
    control.clock.advance_ms(HOUR_MS);
    // The window's first millisecond.
    put_sorted(&control, "changed", "first");
    put_sorted(&control, "new", "in it");
    put_sorted(&control, "brief", "in it");
    control.clock.advance_ms(MINUTE_MS);
    put_sorted(&control, "changed", "second");
    put_sorted(&control, "kept", "before");
    for pk in ["removed", "brief", "back"] {
        delete_sorted(&control, pk);
    }
    control.clock.advance_ms(19 * MINUTE_MS);
    // The first one after it.
    put_sorted(&control, "changed", "after");
    put_sorted(&control, "after", "after");
    put_sorted(&control, "back", "after");
    delete_sorted(&control, "new");
    control.clock.advance_ms(MINUTE_MS);

    let window = json!({ "ExportFromTime": 1_700_003_600, "ExportToTime": 1_700_004_800 });
    let (export, summary, lines) = exported(&control, &root, &window);
    let line = |seconds: u64, pk: &str, images: &[(&str, &str)]| {
        let images: String = images
            .iter()
            .map(|(name, v)| {
                format!(r#","{name}":{{"pk":{{"S":"{pk}"}},"sk":{{"N":"1"}},"v":{{"S":"{v}"}}}}"#)
            })
            .collect();
        let time = format!(r#"{{"Metadata":{{"WriteTimestampMicros":{{"N":"{seconds}000000"}}}}"#);
        format!(r#"{time},"Keys":{{"pk":{{"S":"{pk}"}},"sk":{{"N":"1"}}}}{images}}}"#)
    };
    assert_eq!(
        lines,
        [
            line(1_700_003_600, "new", &[("NewImage", "in it")]),
            line(1_700_003_660, "back", &[("OldImage", "before")]),
            line(
                1_700_003_660,
                "changed",
                &[("NewImage", "second"), ("OldImage", "before")]
            ),
            line(1_700_003_660, "removed", &[("OldImage", "before")]),
        ]
    );
    let mut described = window.clone();
    described["ExportViewType"] = json!("NEW_AND_OLD_IMAGES");
    for time in ["ExportFromTime", "ExportToTime"] {
        assert_eq!(
            export["IncrementalExportSpecification"][time].as_f64(),
            described[time].as_f64()
        );
    }
    assert_eq!(
        export["IncrementalExportSpecification"]["ExportViewType"],
        "NEW_AND_OLD_IMAGES"
    );
    assert_eq!(export.get("ExportTime"), None);
    assert_eq!(
        control.ok("ListExports", json!({}))["ExportSummaries"][0]["ExportType"],
        "INCREMENTAL_EXPORT"
    );
    for (name, value) in [
        ("version", "2023-08-01"),
        ("exportType", "INCREMENTAL_EXPORT"),
        ("outputView", "NEW_AND_OLD_IMAGES"),
        ("exportFromTime", "2023-11-14T23:13:20.000Z"),
        ("exportToTime", "2023-11-14T23:33:20.000Z"),
    ] {
        assert_eq!(summary[name], value, "{name}");
    }
    assert_eq!(summary.get("exportTime"), None);

    let mut window = window;
    window["ExportViewType"] = json!("NEW_IMAGE");
    let (_, _, lines) = exported(&control, &root, &window);
    assert_eq!(
        lines[1..],
        [
            line(1_700_003_660, "back", &[]),
            line(1_700_003_660, "changed", &[("NewImage", "second")]),
            line(1_700_003_660, "removed", &[]),
        ]
    );
    let report = check(control.database.engine()).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn an_incremental_export_of_many_changes_goes_piece_after_piece() {
    let (control, root) = with_window();
    control.clock.advance_ms(HOUR_MS);
    let all: Vec<String> = (0..1_100).map(|number| format!("k{number}")).collect();
    all.iter().for_each(|pk| put_sorted(&control, pk, "in it"));
    control.clock.advance_ms(HOUR_MS);
    all.iter().for_each(|pk| delete_sorted(&control, pk));
    let (_, _, lines) = exported(&control, &root, &json!({ "ExportFromTime": 1_700_003_600 }));
    assert_eq!(lines.len(), 1_100);
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.contains(r#""NewImage":{"#) && !line.contains("OldImage"))
            .count(),
        1_100
    );
}

#[test]
fn windows_of_incremental_exports_are_checked() {
    let (control, _root) = with_window();
    control.clock.advance_ms(30 * HOUR_MS);
    let now = 1_700_000_000 + 30 * 3_600;
    let check = |specification: Value, expected: &str| {
        control.fails(
            "ExportTableToPointInTime",
            incremental(&specification),
            expected,
        );
    };
    let apart = "IV: ExportFromTime and ExportToTime must be 15 minutes to 24 hours apart";
    let outside = "The export time must be between EarliestRestorableDateTime (2023-11-14T22:13:20.000Z) and LatestRestorableDateTime (2023-11-16T04:13:20.000Z)";
    let order = "IV: ExportFromTime must be before ExportToTime, which is now when it is not given";
    check(
        json!({}),
        "IV: INCREMENTAL_EXPORT needs IncrementalExportSpecification.ExportFromTime",
    );
    check(json!({ "ExportFromTime": now - 899 }), apart);
    check(json!({ "ExportFromTime": now - 24 * 3_600 - 1 }), apart);
    check(
        json!({ "ExportFromTime": now - 3_600, "ExportToTime": now - 3_600 }),
        apart,
    );
    check(
        json!({ "ExportFromTime": now - 3_600, "ExportToTime": now - 3_601 }),
        order,
    );
    check(json!({ "ExportFromTime": now + 1 }), order);
    check(
        json!({ "ExportFromTime": now - 3_600, "ExportToTime": now + 1 }),
        outside,
    );
    check(
        json!({ "ExportFromTime": 1_699_999_999, "ExportToTime": 1_700_003_600 }),
        outside,
    );
    let mut both = incremental(&json!({ "ExportFromTime": now - 3_600 }));
    both["ExportTime"] = json!(now);
    let of_full = "IV: ExportTime is of full exports: give ExportFromTime and ExportToTime";
    control.fails("ExportTableToPointInTime", both.clone(), of_full);
    both["ExportType"] = json!("FULL_EXPORT");
    let needs = "IV: IncrementalExportSpecification needs the ExportType INCREMENTAL_EXPORT";
    control.fails("ExportTableToPointInTime", both, needs);
    for from in [now - 900, now - 24 * 3_600] {
        let started = control.ok(
            "ExportTableToPointInTime",
            incremental(&json!({ "ExportFromTime": from })),
        );
        assert_eq!(ended(&control, "Export", &started)["ItemCount"], 0);
    }
}

fn import(control: &Control, root: &TempDir, files: &[(&str, &[u8])], change: Value) -> Value {
    for (key, bytes) in files {
        let path = root.path().join("in").join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path).unwrap().write_all(bytes).unwrap();
    }
    let mut body = json!({ "S3BucketSource": { "S3Bucket": "in" }, "InputFormat": "CSV", "TableCreationParameters": creation("New") });
    body.as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    ended(control, "Import", &control.ok("ImportTable", body))
}

/// What an import says of the items that it did not take.
fn error_log(root: &TempDir, import: &Value) -> String {
    let id = import["ImportArn"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap();
    fs::read_to_string(root.path().join("import-logs").join(id).join("error")).unwrap()
}

#[test]
fn csv_columns_are_strings_except_keys() {
    let (control, root) = with_buckets();
    let files: &[(&str, &[u8])] = &[
        ("a.csv", b"pk,n,x\none,1,2\n\"t,wo\",,\"a \"\"b\"\"\"\n"),
        ("b/c.csv", b"n,pk\n3,three\n"),
    ];
    let found = import(&control, &root, files, json!({}));
    assert_eq!(
        (&found["ImportStatus"], &found["ProcessedItemCount"]),
        (&json!("COMPLETED"), &json!(3)),
        "{found}"
    );
    assert_eq!(control.column("New", "pk"), ["one", "t,wo", "three"]);
    assert_eq!(control.column("New", "x"), ["", "2", "a \"b\""]);
    assert_eq!(control.column("New/byn", "n"), ["1", "3"]);
}

#[test]
fn csv_with_a_header_list_and_another_delimiter() {
    let (control, root) = with_buckets();
    let options =
        json!({ "InputFormatOptions": { "Csv": { "Delimiter": ";", "HeaderList": ["pk", "x"] } } });
    let found = import(&control, &root, &[("a.csv", b"pk;x\none;1,5\n")], options);
    assert_eq!(found["ImportedItemCount"], 2, "{found}");
    assert_eq!(control.column("New", "x"), ["1,5", "x"]);
}

#[test]
fn rows_and_lines_beyond_bounds_are_counted_and_the_rest_is_imported() {
    let (control, root) = with_buckets();
    let mut wide = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    wide.write_all(b"pk,n,x\none,1,2\n").unwrap();
    // A row of nothing but commas, and a field that never ends as long as there is memory.
    wide.write_all(&vec![b','; 32 << 20]).unwrap();
    wide.write_all(format!("\n\"{}\",1,2\ntwo,2,3\n", "x".repeat(32 << 20)).as_bytes())
        .unwrap();
    let gzip = json!({ "InputCompressionType": "GZIP" });
    let found = import(
        &control,
        &root,
        &[("a.csv.gz", &wide.finish().unwrap())],
        gzip,
    );
    assert_eq!(
        (&found["ImportedItemCount"], &found["ErrorCount"]),
        (&json!(2), &json!(2)),
        "{found}"
    );
    let log = error_log(&root, &found);
    assert!(log.contains("The row has more than 16384 columns"), "{log}");
    assert!(
        log.contains("The row is longer than 1 MiB; an item has at most 400 KB"),
        "{log}"
    );
    let lines = format!(
        "{{\"Item\":{{\"pk\":{{\"S\":\"{}\"}}}}}}\n{{\"Item\":{{\"pk\":{{\"S\":\"b\"}}}}}}\n",
        "x".repeat(4 << 20)
    );
    let (control, root) = with_buckets();
    let found = import(
        &control,
        &root,
        &[("a.json", lines.as_bytes())],
        json!({ "InputFormat": "DYNAMODB_JSON" }),
    );
    assert_eq!(
        (&found["ImportedItemCount"], &found["ErrorCount"]),
        (&json!(1), &json!(1)),
        "{found}"
    );
    assert!(error_log(&root, &found).contains("The text is longer than 4 MiB"));
}

#[test]
fn bad_items_are_counted_and_logged_and_the_rest_is_imported() {
    let (control, root) = with_buckets();
    let lines = br#"{"Item":{"pk":{"S":"a"},"n":{"N":"1"}}}
{"Item":{"pk":{"N":"1"}}}
{"Item":{"pk":{"S":"b"},"n":{"S":"1"}}}
not JSON
{"Key":{}}

{"Item":{"pk":{"S":"a"},"n":{"N":"2"}}}"#;
    let found = import(
        &control,
        &root,
        &[("x.json", lines)],
        json!({ "InputFormat": "DYNAMODB_JSON" }),
    );
    let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"]
        .map(|name| found[name].as_u64().unwrap());
    assert_eq!(
        (&found["ImportStatus"], &found["FailureCode"], counts),
        (&json!("FAILED"), &json!("ItemValidationError"), [6, 2, 4])
    );
    assert_eq!(control.column("New", "n"), ["2"]);
    check_modes(&root.path().join("import-logs"));
    let log = error_log(&root, &found);
    let mut faults: Vec<(u64, String)> = Vec::new();
    for line in log.lines() {
        let fault: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&fault["itemS3Pointer"]["key"], &fault["importArn"]),
            (&json!("x.json"), &found["ImportArn"])
        );
        faults.push((
            fault["itemS3Pointer"]["itemIndex"].as_u64().unwrap(),
            fault["errorMessages"][0].as_str().unwrap().to_owned(),
        ));
    }
    faults.sort();
    assert_eq!(
        faults.iter().map(|(index, _)| *index).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(
        faults[0].1,
        "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N"
    );
}

#[test]
fn what_cannot_be_read_fails_the_import() {
    let (control, root) = with_buckets();
    let missing = import(&control, &root, &[], json!({}));
    assert_eq!(
        (&missing["ImportStatus"], &missing["FailureCode"]),
        (&json!("FAILED"), &json!("S3NoSuchBucket"))
    );
    assert_eq!(
        (&missing["ErrorCount"], &missing["ImportedItemCount"]),
        (&json!(0), &json!(0))
    );
    control.fails(
        "DescribeTable",
        json!({ "TableName": "New" }),
        "Requested resource not found: Table: New not found",
    );
    let gzip = json!({ "InputCompressionType": "GZIP" });
    let found = import(&control, &root, &[("a.csv.gz", b"no gzip")], gzip);
    assert_eq!(
        (&found["ImportStatus"], &found["FailureCode"]),
        (&json!("FAILED"), &json!("S3Error"))
    );
    // The table of a failed import stays, as the service's, for whoever began it to look at and delete.
    assert_eq!(control.describe("New")["TableStatus"], "ACTIVE");
    assert!(check(control.database.engine()).unwrap().is_clean());
}

#[test]
fn a_bucket_without_files_is_an_import_of_nothing() {
    let (control, root) = with_buckets();
    fs::create_dir(root.path().join("in")).unwrap();
    let found = import(
        &control,
        &root,
        &[],
        json!({ "InputFormat": "DYNAMODB_JSON" }),
    );
    let counts = (
        &found["ProcessedItemCount"],
        &found["ImportedItemCount"],
        &found["ErrorCount"],
    );
    assert_eq!(
        (&found["ImportStatus"], counts),
        (&json!("COMPLETED"), (&json!(0), &json!(0), &json!(0))),
        "{found}"
    );
    assert_eq!(control.describe("New")["TableStatus"], "ACTIVE");
}

#[test]
fn several_documents_on_a_line_are_several_items() {
    let (control, root) = with_buckets();
    let line = |pk: &str| format!(r#"{{"Item":{{"pk":{{"S":"{pk}"}}}}}}"#);
    let text = format!(
        "{}{} {}\n{}{{\n{}",
        line("a"),
        line("b"),
        line("c"),
        line("d"),
        line("e")
    );
    let found = import(
        &control,
        &root,
        &[("x.json", text.as_bytes())],
        json!({ "InputFormat": "DYNAMODB_JSON" }),
    );
    assert_eq!(control.column("New", "pk"), ["a", "b", "c", "d", "e"]);
    let counts = (
        &found["ProcessedItemCount"],
        &found["ErrorCount"],
        &found["ProcessedSizeBytes"],
    );
    assert_eq!(
        counts,
        (&json!(6), &json!(1), &json!(text.len())),
        "{found}"
    );
}

#[test]
fn what_is_refused_at_once() {
    let (control, _root) = with_buckets();
    control.simple("Tab");
    recovery_on(&control, "Tab");
    let check = |change: Value, expected: &str| {
        let mut body = json!({ "TableArn": format!("{ARN}Tab"), "S3Bucket": "out" });
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        control.fails("ExportTableToPointInTime", body, expected);
    };
    check(
        json!({ "S3Bucket": "../out" }),
        "IV: S3Bucket is not a bucket name",
    );
    check(
        json!({ "S3Prefix": "../../etc" }),
        "IV: S3Prefix must be names joined by single slashes",
    );
    check(
        json!({ "TableArn": format!("{ARN}None") }),
        &format!("Table not found: {ARN}None"),
    );
    let window = "The export time must be between EarliestRestorableDateTime (2023-11-14T22:13:20.000Z) and LatestRestorableDateTime (2023-11-14T22:13:20.000Z)";
    check(json!({ "ExportTime": 1 }), window);
    let arn = format!("{ARN}Tab/export/00000000000001-00000000");
    control.fails(
        "DescribeExport",
        json!({ "ExportArn": arn }),
        &format!("Export not found: {arn}"),
    );
    control.fails(
        "DescribeImport",
        json!({ "ImportArn": arn }),
        &format!("Import not found: {arn}"),
    );
}

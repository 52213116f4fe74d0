//! Text for people never contains foreign bytes that a terminal obeys, nor foreign markup in
//! Markdown, whatever the names and contents of tables and requests.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::daemon::{DDBFS, Mount};

/// Sequences that a terminal obeys, that turn a line, that a browser runs, that end a line or a
/// cell.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\r\u{7f}\u{202e}<img src=x onerror=run()>\n## forged | `x` [a](javascript:run())";

/// Creates a table with attributes of such names and values.
fn hostile_table(mount: &Mount) {
    let (key, sort, other) = (
        format!("k{HOSTILE}"),
        format!("s{HOSTILE}"),
        format!("o{HOSTILE}"),
    );
    let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let element = |name: &str, kind: &str| json!({ "AttributeName": name, "KeyType": kind });
    let request = json!({
        "TableName": "Hostile",
        "AttributeDefinitions": [attribute(&key), attribute(&sort), attribute(&other)],
        "KeySchema": [element(&key, "HASH"), element(&sort, "RANGE")],
        "GlobalSecondaryIndexes": [{ "IndexName": "by-other", "KeySchema": [element(&other, "HASH")],
            "Projection": { "ProjectionType": "ALL" }, "ProvisionedThroughput": { "ReadCapacityUnits": 1, "WriteCapacityUnits": 1 } }],
        "ProvisionedThroughput": { "ReadCapacityUnits": 5000, "WriteCapacityUnits": 5000 },
    });
    fs::write(
        mount.point().join(".ddb/api/CreateTable"),
        request.to_string(),
    )
    .unwrap();
    let text = |text: String| json!({ "S": text });
    for batch in 0..8 {
        let put = |number: u32| {
            let (pk, sk) = (
                format!("{HOSTILE}{}", number % 2),
                format!("{HOSTILE}{number}"),
            );
            // One value is of a type that no index holds.
            let value = if number == 7 {
                json!({ "N": "7" })
            } else {
                text(HOSTILE.to_owned())
            };
            json!({ "PutRequest": { "Item": { &key: text(pk), &sort: text(sk), &other: value, "m": { "M": { HOSTILE: text("x".into()) } } } } })
        };
        let puts: Vec<Value> = (batch * 20..(batch + 1) * 20)
            .filter(|number| *number != 7)
            .map(put)
            .collect();
        let request = json!({ "RequestItems": { "Hostile": puts } });
        fs::write(
            mount.point().join(".ddb/api/BatchWriteItem"),
            request.to_string(),
        )
        .unwrap();
    }
}

/// Returns a line of Markdown without its code, which is verbatim: from a run of backquotes to the
/// next of the same length.
fn without_code(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let run = from.len() - from.trim_start_matches('`').len();
        let inside = &from[run..];
        let mut ends = inside.match_indices(&from[..run]);
        let is_run = |(end, _): &(usize, &str)| {
            !inside[..*end].ends_with('`') && !inside[end + run..].starts_with('`')
        };
        rest = match ends.find(is_run) {
            Some((end, _)) if !before.ends_with('\\') => &inside[end + run..],
            _ => inside,
        };
    }
    plain + rest
}

#[track_caller]
fn is_harmless(what: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let is_shown = |c: char| matches!(c, '\n' | '\t') || !c.is_control() && c != '\u{202e}';
    assert!(text.chars().all(is_shown), "{what}: {text:?}");
    assert!(!text.is_empty(), "{what} is empty");
    if what.ends_with(".md") || what.ends_with(".svg") {
        let plain: String = text.lines().map(without_code).collect();
        assert!(
            !plain.contains("<img") && !text.lines().any(|line| line.starts_with("## forged")),
            "{what}: {text}"
        );
    }
}

#[test]
fn no_text_for_people_has_what_a_terminal_obeys() {
    let mount = Mount::with_samples();
    hostile_table(&mount);
    let files = [
        "help",
        "query/help",
        "scan/help",
        "gsi/by-other/query/help",
        "gsi/by-other/help",
        "advice.md",
        "shapes.md",
        "shapes.json",
        "schema.json",
        "describe.json",
        "stats.json",
        "capacity.json",
        "ttl",
        "heat.svg",
        "heat.hour.svg",
        "gsi/by-other/schema.json",
        "partitions/heat.tsv",
        "partitions/hot.tsv",
        "partitions/big.tsv",
        "partitions/p00/stats.json",
        "query/@pk=x/explain.json",
        "query/@pk=x/request.json",
        "gsi/by-other/partitions/big.tsv",
        "batch/help",
        "queries/help",
    ];
    for file in files {
        is_harmless(
            file,
            &fs::read(mount.point().join(format!("Hostile/{file}")))
                .unwrap_or_else(|error| panic!("{file}: {error}")),
        );
    }
    // Advice and samples are still shown, and name the attribute.
    let advice = fs::read_to_string(mount.point().join("Hostile/advice.md")).unwrap();
    assert!(
        advice.contains(r"k\u{1b}\]0;owned\u{7}") && advice.contains("&lt;img"),
        "{advice}"
    );
    // A name that does not exist and a body that is invalid, in the errors of this thread's
    // session.
    let name = "Hostile/\u{1b}]0;owned\u{7}\u{9b}\u{202e}";
    assert!(fs::read(mount.point().join(name)).is_err());
    is_harmless(
        "errors/last",
        &fs::read(mount.point().join(".ddb/errors/last")).unwrap(),
    );
    assert!(
        fs::write(
            mount.point().join(".ddb/api/PutItem"),
            format!("{{\"TableName\":{HOSTILE}")
        )
        .is_err()
    );
    is_harmless(
        "errors/last",
        &fs::read(mount.point().join(".ddb/errors/last")).unwrap(),
    );
    for file in [".ddb/errors.ndjson", "README.md"] {
        is_harmless(file, &fs::read(mount.point().join(file)).unwrap());
    }
    let mountpoint = mount.point();
    let commands: [&[&str]; 8] = [
        &["advise", "Hostile"],
        &["shapes", "Hostile"],
        &["shapes", "Hostile", "--json"],
        &["top", mountpoint.to_str().unwrap(), "--once"],
        &["check"],
        &["dump", HOSTILE],
        &["umount", HOSTILE],
        &["diff", HOSTILE, "Pets"],
    ];
    for command in commands {
        let told = Command::new(DDBFS)
            .args(command)
            .env("DDBFS_DATA", mount.data())
            .current_dir(mount.dir.path())
            .output()
            .unwrap();
        is_harmless(command[0], &[told.stdout, told.stderr].concat());
    }
    is_harmless(
        "log",
        &fs::read(log_of(&mount)).unwrap_or_else(|_| b"none".to_vec()),
    );
}

fn log_of(mount: &Mount) -> PathBuf {
    mount.data().join("ddbfs.log")
}

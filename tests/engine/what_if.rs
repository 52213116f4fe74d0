//! `ddbfs what-if` on a table with a known load.

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::inspect::advice::what_if::{IndexPlan, KeyExpression, WhatIf, markdown, try_on};
use ddbfs::model::schema::ProvisionedThroughput;

const DAY_MS: u64 = 86_400_000;

/// 100 writes of `hot` in one second, and a write of each of 100 others a second later; all two days
/// after items of an old date.
fn bed() -> Bed {
    let bed = Bed::new("pk:S sk:S", &[]);
    let write = |pk: &str, sk: u32, date: &str| {
        let item = format!(
            r#""pk":"{pk}","sk":"{sk:03}","date":"{date}","half":"{}""#,
            sk % 2
        );
        drop(put(&bed.database, "Tab", json(&item)).unwrap());
    };
    (0..100).for_each(|n| write("hot", n, "2026-01-01"));
    bed.clock.advance_ms(2 * DAY_MS);
    bed.background();
    (100..200).for_each(|n| write("hot", n, "2026-01-03"));
    bed.clock.advance_ms(1_000);
    (0..100).for_each(|n| write(&format!("k{n}"), n, "2026-01-03"));
    bed.clock.advance_ms(1_000);
    bed
}

/// Returns the cells of a row.
fn row(bed: &Bed, change: &WhatIf, title: &str) -> Vec<String> {
    let trial = try_on(&bed.database, &table("Tab"), change)
        .unwrap()
        .unwrap();
    let text = markdown(&trial);
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("| {title}")));
    let line = line.unwrap_or_else(|| panic!("no {title} in {text}"));
    let cells = line.trim_matches('|').split(" | ").skip(1);
    cells.map(|cell| cell.trim().to_owned()).collect()
}

fn partition(text: &str) -> WhatIf {
    WhatIf {
        partition: Some(KeyExpression::parse(text).unwrap()),
        ..WhatIf::default()
    }
}

#[test]
fn the_load_of_a_key_follows_its_items() {
    let bed = bed();
    let hottest = |text: &str| row(&bed, &partition(text), "hottest key, write units a second");
    // Each part of the hot key has about half of its writes.
    let found = hottest("{pk}#{0..1}");
    assert_eq!(found[0], "100 of 1000 `hot`");
    assert!(found[1].contains(" of 1000 `hot#"), "{found:?}");
    let rate: f64 = found[1].split(' ').next().unwrap().parse().unwrap();
    assert!((35.0..65.0).contains(&rate), "{found:?}");
    // Writes go to the date of today, not to the old one.
    let found = hottest("date");
    assert!(found[1].starts_with("about "), "{found:?}");
    assert!(found[1].ends_with("`2026-01-03`"), "{found:?}");
    let rate: f64 = found[1].split(' ').nth(1).unwrap().parse().unwrap();
    assert!(rate >= 100.0, "{found:?}");
}

#[test]
fn provisioned_units_are_tried_on_the_kept_minutes() {
    let bed = bed();
    let change = WhatIf {
        billing: Some(Some(ProvisionedThroughput {
            read_capacity_units: 1,
            write_capacity_units: 2,
        })),
        ..WhatIf::default()
    };
    // 200 writes in the last minute, and 2 a second are 120; the 100 of two days ago are not kept.
    assert_eq!(
        row(&bed, &change, "beyond provisioned units in 3 hours"),
        ["", "0 read, 80 write units"]
    );
    assert!(
        try_on(&bed.database, &table("Absent"), &change)
            .unwrap()
            .is_none()
    );
}

#[test]
fn access_patterns_show_what_would_answer_them() {
    let bed = Bed::new(
        "pk:S sk:S",
        &["G byCity city:S date:S ALL", "L byN n:N ALL"],
    );
    let send = |operation: &str, body: serde_json::Value| {
        ddbfs::protocol::call(operation, body, &bed.database, "localhost").unwrap();
    };
    let key = serde_json::json!({"pk": {"S": "a"}, "sk": {"S": "b"}});
    let values = serde_json::json!({":v": {"S": "a"}});
    send(
        "PutItem",
        serde_json::json!({"TableName": "Tab", "Item": key}),
    );
    send(
        "GetItem",
        serde_json::json!({"TableName": "Tab", "Key": key}),
    );
    send(
        "Query",
        serde_json::json!({"TableName": "Tab", "IndexName": "byN", "KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": values}),
    );
    send(
        "Scan",
        serde_json::json!({"TableName": "Tab", "FilterExpression": "tenant = :v and begins_with(sk, :v)", "ExpressionAttributeValues": values}),
    );
    let rows = |change: &WhatIf| -> Vec<String> {
        let trial = try_on(&bed.database, &table("Tab"), change)
            .unwrap()
            .unwrap();
        let text = markdown(&trial);
        let (_, section) = text.split_once("## Access patterns").unwrap_or_default();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let cell = |row: &str| {
            row.split('|')
                .skip(1)
                .map(|cell| cell.trim().trim_matches('`').to_owned())
                .collect::<Vec<_>>()
        };
        let mut rows: Vec<String> = rows
            .map(|row| {
                let cells = cell(row);
                format!("{} => {} => {}", cells[0], cells[2], cells[3])
            })
            .collect();
        rows.sort();
        rows
    };
    let get = "GetItem Tab WHERE pk = ? AND sk = ? => table by pk = ? AND sk = ?";
    let query = "Query Tab/byN WHERE pk = ? => index byN by pk = ?";
    let scan = "Scan Tab FILTER tenant = ? AND begins_with(sk, ?) => Scan";
    assert_eq!(
        rows(&partition("tenant")),
        [
            format!("{get} => Scan"),
            format!("{query} => Scan"),
            format!("{scan} => table by tenant = ? AND begins_with(sk, ?)"),
        ]
    );
    assert_eq!(
        rows(&partition("{pk}#{0..9}")),
        [
            format!("{get} => 10 queries of table by pk = ? AND sk = ?"),
            format!("{query} => 10 queries of index byN by pk = ?"),
            format!("{scan} => Scan"),
        ]
    );
    let index = IndexPlan {
        name: ddbfs::model::IndexName::new("byTenant").unwrap(),
        partition: KeyExpression::parse("tenant").unwrap(),
        sort: None,
    };
    let change = WhatIf {
        index: Some(index),
        ..WhatIf::default()
    };
    let found = rows(&change);
    assert!(
        found[0].ends_with("table by pk = ? AND sk = ?"),
        "{found:?}"
    );
    assert_eq!(
        found[2],
        format!("{scan} => index byTenant by tenant = ?, filter begins_with(sk, ?)")
    );
    // No key is tried.
    let change = WhatIf {
        billing: Some(None),
        ..WhatIf::default()
    };
    assert!(rows(&change).is_empty());
}

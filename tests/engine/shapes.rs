//! What the items of a table look like: patterns of keys, sizes, attributes and indexes, of a whole table and of a sample.

use std::sync::Arc;

use crate::support::mounted::{create_table, memory, put};
use ddbfs::database::local::LocalDatabase;
use ddbfs::fs::path::names::item_path;
use ddbfs::inspect::shapes::{Shapes, json, markdown, read};
use ddbfs::model::TableName;
use serde_json::{Value, json};

const SHOP: &str = r#"{"TableName":"Shop","BillingMode":"PAY_PER_REQUEST",
  "AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"},{"AttributeName":"SK","AttributeType":"S"},
    {"AttributeName":"email","AttributeType":"S"},{"AttributeName":"status","AttributeType":"S"},{"AttributeName":"total","AttributeType":"N"}],
  "KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}],
  "GlobalSecondaryIndexes":[
    {"IndexName":"by-email","KeySchema":[{"AttributeName":"email","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}},
    {"IndexName":"by-status","KeySchema":[{"AttributeName":"status","KeyType":"HASH"},{"AttributeName":"total","KeyType":"RANGE"}],
     "Projection":{"ProjectionType":"KEYS_ONLY"}}]}"#;

/// Six kinds of items in one table, a hundred of each.
fn shop() -> Arc<LocalDatabase> {
    let database = memory();
    create_table(&*database, SHOP);
    for n in 0..100 {
        let uuid = format!("{:08x}-0000-4000-8000-{:012x}", n * 7919, n * 104_729);
        let (city, note) = (
            if n % 4 == 0 {
                r#","address":{"city":"Rome"}"#
            } else {
                ""
            },
            "n".repeat(n),
        );
        let total = if n == 0 {
            String::new()
        } else {
            format!(r#","total":{n}"#)
        };
        for item in [
            format!(r#"{{"PK":"USER#{n}","SK":"PROFILE","email":"u{n}@example.com"{city}}}"#),
            format!(
                r#"{{"PK":"USER#{n}","SK":"ORDER#2026-01-02#{uuid}","status":"open"{total},"note":"{note}"}}"#
            ),
            format!(
                r#"{{"PK":"ORDER#{uuid}","SK":"ITEM#{n}","count":{}}}"#,
                if n < 10 { r#""many""# } else { "7" }
            ),
            format!(r#"{{"PK":"PRODUCT#SKU-{n}","SK":"METADATA"}}"#),
            format!(r#"{{"PK":"u{n}@example.com","SK":"LOGIN#2026-01-02T03:04:05Z"}}"#),
            format!(
                r#"{{"PK":"session-{n:016x}{:016x}","SK":"17000000{n:02}"}}"#,
                (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ),
        ] {
            put(&*database, "Shop", &item);
        }
    }
    database
}

fn shapes(database: &LocalDatabase, table: &str, items_max: u64) -> Shapes {
    read(
        database,
        &TableName::new(table).unwrap(),
        items_max,
        1_700_000_000_123,
    )
    .unwrap()
    .unwrap()
}

fn of_keys(all: &Value, partition: &str, sort: &str) -> Value {
    let is_it =
        |pattern: &&Value| pattern["partition_key"] == partition && pattern["sort_key"] == sort;
    all["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("{partition} {sort} in {all:#}"))
        .clone()
}

#[test]
fn six_shapes_of_one_table() {
    let all = json(&shapes(&shop(), "Shop", u64::MAX), item_path);
    let head = json!({ "table": "Shop", "made": "2023-11-14T22:13:20.123Z", "items": 600, "items_read": 600, "sampled": false,
        "partition_key": "PK", "sort_key": "SK" });
    head.as_object()
        .unwrap()
        .iter()
        .for_each(|(name, value)| assert_eq!(all[name], *value));
    assert_eq!(all["patterns"].as_array().unwrap().len(), 6, "{all:#}");
    for (partition, sort) in [
        ("PRODUCT#SKU-<n>", "METADATA"),
        ("<email>", "LOGIN#<datetime>"),
        ("session-<hex>", "<epoch-seconds>"),
    ] {
        assert_eq!(of_keys(&all, partition, sort)["items"], 100);
    }

    let profiles = of_keys(&all, "USER#<n>", "PROFILE");
    assert_eq!(
        (&profiles["percent"], &profiles["indexes"]),
        (&json!(16.7), &json!({ "by-email": 100, "by-status": 0 }))
    );
    let address = json!({ "name": "address", "items": 25, "percent": 25.0, "types": { "M": 25 }, "more_members": false,
        "bytes": 475, "percent_of_bytes": 11.2,
        "members": [{ "name": "city", "items": 25, "percent": 25.0, "types": { "S": 25 } }] });
    let attributes = profiles["attributes"].as_array().unwrap();
    assert_eq!(
        attributes
            .iter()
            .map(|attribute| attribute["name"].as_str().unwrap())
            .collect::<Vec<_>>()
            .len(),
        4
    );
    assert!(attributes.contains(&address), "{profiles:#}");

    // An order without a total is not in by-status.
    let orders = of_keys(&all, "USER#<n>", "ORDER#<date>#<uuid>");
    assert_eq!(orders["indexes"], json!({ "by-email": 0, "by-status": 99 }));
    let sizes = &orders["item_bytes"];
    let of = |name: &str| sizes[name].as_u64().unwrap();
    assert!(
        of("max") - of("min") >= 99
            && of("min") < of("median")
            && of("median") < of("p99")
            && of("p99") <= of("max"),
        "{sizes}"
    );
    assert_eq!(
        orders["billed_bytes"].as_u64().unwrap() - orders["bytes"].as_u64().unwrap(),
        100 * 100
    );
    let counts = &of_keys(&all, "ORDER#<uuid>", "ITEM#<n>")["attributes"][2];
    assert_eq!(counts["types"], json!({ "N": 90, "S": 10 }));
}

#[test]
fn the_text_has_the_patterns_and_their_attributes() {
    let text = markdown(&shapes(&shop(), "Shop", u64::MAX), item_path);
    let start = "# Shapes of Shop\n\n600 items as of 2023-11-14T22:13:20.123Z: 6 patterns.\n";
    assert!(text.starts_with(start), "{text}");
    for part in [
        "\n| PK | SK | items | % | bytes | min | median | p99 | max |\n|---|---|--:|",
        "\n| `USER#<n>` | `PROFILE` | 100 | 16.7 | ",
        "\n## `USER#<n>` `PROFILE`\n\nSuch as `items/USER%23",
        "\nIn indexes: by-email 100 (100.0 %).\n",
        "\nIn indexes: by-status 99 (99.0 %).\n",
        "\nIn no index.\n",
        "\n| attribute | types | % of items | mean bytes | % of bytes |\n",
        "\n| address | M | 25.0 | 19 | 11.2 |\n| address.city | S | 25.0 | | |\n",
        "\n| count | N 90, S 10 | 100.0 |",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// The attributes of an item take all its bytes, and a heavy one is seen.
#[test]
fn bytes_by_attribute_are_those_of_the_items() {
    let database = memory();
    create_table(
        &*database,
        r#"{"TableName":"Kinds","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#,
    );
    for n in 0..50 {
        let body = "b".repeat(500 + n);
        let more =
            r#""n":[-12.5,0,{"a":true,"b":null}],"m":{"x":{"y":[1,"zwei"]},"leer":""},"t":false"#;
        put(
            &*database,
            "Kinds",
            &format!(r#"{{"id":"i{n}","body":"{body}","price":{n}.25,{more}}}"#),
        );
    }
    for (database, table) in [(&database, "Kinds"), (&shop(), "Shop")] {
        let all = json(&shapes(database, table, u64::MAX), item_path);
        for pattern in all["patterns"].as_array().unwrap() {
            let attributes = pattern["attributes"].as_array().unwrap();
            let sum: u64 = attributes
                .iter()
                .map(|attribute| attribute["bytes"].as_u64().unwrap())
                .sum();
            assert_eq!(pattern["bytes"], sum, "{pattern:#}");
        }
    }
    let text = markdown(&shapes(&database, "Kinds", u64::MAX), item_path);
    assert!(text.contains("\n| body | S | 100.0 | 528 | 8"), "{text}");
}

#[test]
fn a_sample_is_taken_from_everywhere_and_says_so() {
    let database = shop();
    let whole = shapes(&database, "Shop", 600);
    assert!(!whole.is_sample());
    let sample = shapes(&database, "Shop", 120);
    assert!(
        sample.is_sample() && (60..=120).contains(&sample.items_read),
        "{}",
        sample.items_read
    );
    assert_eq!(sample.stats.entries, 600);
    assert!(sample.patterns.len() >= 4, "{:?}", sample.patterns);
    let text = markdown(&sample, item_path);
    assert!(
        text.contains(&format!(
            "A sample of {} items of 600, taken at 2023-",
            sample.items_read
        )),
        "{text}"
    );
    // Strips that hold nothing leave their part to the others.
    let most = shapes(&database, "Shop", 599).items_read;
    assert!((450..=599).contains(&most), "{most}");
}

#[test]
fn tables_of_other_keys_and_empty_ones() {
    let database = memory();
    let table = |name: &str, kind: &str| {
        format!(
            r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"{kind}"}}],
            "KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}]}}"#
        )
    };
    create_table(&*database, &table("Numbers", "N"));
    create_table(&*database, &table("Nothing", "S"));
    create_table(&*database, &table("Strange", "S"));
    (0..30).for_each(|n| put(&*database, "Numbers", &format!(r#"{{"id":{n}}}"#)));
    put(&*database, "Strange", r#"{"id":"a|b`\nc"}"#);
    let all = json(&shapes(&database, "Numbers", u64::MAX), item_path);
    let first = &all["patterns"][0];
    assert_eq!(
        (&first["partition_key"], &first["sort_key"], &first["items"]),
        (&json!("<number>"), &Value::Null, &json!(30))
    );
    assert!(first["example"].as_str().unwrap().starts_with("items/"));
    let text = markdown(&shapes(&database, "Nothing", u64::MAX), item_path);
    assert_eq!(
        text,
        "# Shapes of Nothing\n\n0 items as of 2023-11-14T22:13:20.123Z: 0 patterns.\n\n"
    );
    let text = markdown(&shapes(&database, "Strange", u64::MAX), item_path);
    assert!(
        text.lines()
            .any(|line| line.starts_with("| `` <word>\\|<word>`<word> `` | 1 |")),
        "{text}"
    );
    assert!(
        read(&*database, &TableName::new("Missing").unwrap(), 1, 0)
            .unwrap()
            .is_none()
    );
}

//! kill -9 of the daemon while an index is made and dropped beside writers: in any phase it goes on after the next start, and ends as
//! the projection of the table; `ddbfs check` is clean each time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::daemon::{Mount, check, free_address, post};
use crate::support::wait::{moment, until_ok};
use serde_json::{Value, json};

const KILLS: u64 = 12;
/// Items before the first backfill: enough for many steps.
const ITEMS: usize = 4_000;

fn call(address: &str, operation: &str, body: &Value) -> Result<Value, String> {
    let answer = post(address, operation, &body.to_string()).map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the daemon is gone")?;
    if head.starts_with("HTTP/1.1 200") {
        serde_json::from_str(body).map_err(|error| error.to_string())
    } else {
        Err(body.to_owned())
    }
}

fn fill(address: &str) {
    let table = json!({ "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }] });
    call(address, "CreateTable", &table).unwrap();
    for start in (0..ITEMS).step_by(25) {
        // Every tenth has a value that cannot be a key.
        let value = |at: usize| {
            if at.is_multiple_of(10) {
                json!({ "S": "none" })
            } else {
                json!({ "N": (at % 97).to_string() })
            }
        };
        let put = |at: usize| json!({ "PutRequest": { "Item": { "pk": { "S": format!("p{at}") }, "n": value(at) } } });
        let puts: Vec<Value> = (start..start + 25).map(put).collect();
        call(
            address,
            "BatchWriteItem",
            &json!({ "RequestItems": { "Tab": puts } }),
        )
        .unwrap();
    }
}

/// Puts and deletes until told to stop or until one fails.
fn write_until(stop: &AtomicBool, address: &str, writer: u64) {
    for step in 0_u64.. {
        let pk = json!({ "S": format!("p{}", (step * 7919 + writer * 13) % 5_000) });
        let outcome = if step % 4 == 3 {
            call(
                address,
                "DeleteItem",
                &json!({ "TableName": "Tab", "Key": { "pk": pk } }),
            )
        } else {
            let item = json!({ "pk": pk, "n": { "N": step.to_string() }, "writer": { "N": writer.to_string() } });
            call(
                address,
                "PutItem",
                &json!({ "TableName": "Tab", "Item": item }),
            )
        };
        if stop.load(Ordering::SeqCst) || outcome.is_err() {
            return;
        }
    }
}

/// Status and `Backfilling` of the index.
fn index(address: &str) -> Option<(String, Value)> {
    let table = call(address, "DescribeTable", &json!({ "TableName": "Tab" })).unwrap();
    let index = table["Table"]["GlobalSecondaryIndexes"].get(0)?.clone();
    Some((
        index["IndexStatus"].as_str().unwrap().to_owned(),
        index["Backfilling"].clone(),
    ))
}

/// Makes the index if it is not there, drops it if it is ready.
fn change_index(address: &str) {
    let update = match index(address) {
        None => {
            json!({ "Create": { "IndexName": "by-n", "KeySchema": [{ "AttributeName": "n", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "ALL" } } })
        }
        Some((status, _)) if status == "ACTIVE" => json!({ "Delete": { "IndexName": "by-n" } }),
        Some(_) => return,
    };
    let body = json!({ "TableName": "Tab", "AttributeDefinitions": [{ "AttributeName": "n", "AttributeType": "N" }],
        "GlobalSecondaryIndexUpdates": [update] });
    call(address, "UpdateTable", &body).unwrap();
}

/// Every item of the table or of an index, as text.
fn all(address: &str, index: Option<&str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut start = Value::Null;
    loop {
        let page = call(
            address,
            "Scan",
            &json!({ "TableName": "Tab", "IndexName": index, "ExclusiveStartKey": start }),
        )
        .unwrap();
        let text = |item: &Value| format!("{} {} {}", item["pk"], item["n"], item["writer"]);
        found.extend(page["Items"].as_array().unwrap().iter().map(text));
        match page.get("LastEvaluatedKey") {
            Some(key) => start = key.clone(),
            None => return found,
        }
    }
}

#[test]
fn kill_minus_nine_in_any_phase_ends_as_the_projection_of_the_table() {
    let address = free_address();
    let mut mount = Mount::with_args(&["--http", &address]);
    fill(&address);
    let mut seen = BTreeSet::new();
    for round in 0..KILLS {
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (stop, address) = (Arc::clone(&stop), address.clone());
                std::thread::spawn(move || write_until(&stop, &address, writer))
            })
            .collect();
        change_index(&address);
        // Scattered over the phases, repeatably.
        moment(Duration::from_micros((round * 7_919) % 60_000));
        seen.insert(format!("{:?}", index(&address)));
        mount.kill();
        stop.store(true, Ordering::SeqCst);
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        let (clean, report) = check(&mount.data());
        assert!(clean, "after kill {round}: {report}");
        mount.start(&["--http", &address]);
    }
    until_ok("the index becomes active", || match index(&address) {
        Some((status, _)) if status == "ACTIVE" => Ok(()),
        None => {
            change_index(&address);
            Err("made again".to_owned())
        }
        other => Err(format!("{other:?}")),
    });
    let expected: BTreeSet<String> = all(&address, None)
        .into_iter()
        .filter(|item| item.contains(r#"{"N":"#))
        .collect();
    let found = all(&address, Some("by-n"));
    assert!(found.len() > 1_000, "{} entries", found.len());
    assert_eq!(
        found.symmetric_difference(&expected).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    mount.unmount();
    let (clean, report) = check(&mount.data());
    assert!(clean, "{report}");
    println!("{KILLS} kills, in these states: {seen:?}");
}

//! The files that show capacity, metrics, partitions and heat, in a real mount.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::{Value, json};
use support::*;

fn json_of(mount: &Mount, path: &str) -> Value {
    let text = mount.sh(&format!("cat '{path}'")).ok().to_owned();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error} in {text}"))
}

#[test]
fn what_the_mount_reads_and_writes_is_counted() {
    let mount = Mount::with_tables();
    mount.sh(r#"mkdir Orders/items/u1 && echo '{"status":"open","created":"1"}' > Orders/items/u1/o1.json"#).ok();
    // Reading is a consistent get; listing and stat are none.
    mount.sh("cat Orders/items/u1/o1.json; ls -lR Orders/items").ok();
    let capacity = json_of(&mount, "Orders/capacity.json");
    let table = &capacity["sources"][0];
    assert_eq!((&table["name"], &table["kind"]), (&json!("Orders"), &json!("table")));
    assert_eq!(table["since_start"], json!({ "read_units": 1.0, "write_units": 1.0, "throttles": 0 }));
    assert_eq!(table["last_minute"], table["since_start"]);
    assert_eq!(capacity["sources"][1]["since_start"], json!({ "read_units": 0.0, "write_units": 1.0, "throttles": 0 }));
    assert!(capacity["month"]["at_the_rate_since_start"]["total"].as_f64().unwrap() > 0.0);

    let put = r#"ddbfs_successful_request_latency_seconds_count{table="Orders",operation="PutItem"} 1"#;
    mount.sh(&format!("grep -qxF '{put}' .ddb/stats.prom")).ok();
    let consumed = r#"jq -s 'map(select(.MetricName=="ConsumedWriteCapacityUnits" and .Dimensions.GlobalSecondaryIndexName=="by-status").Sum)|add==1' Orders/metrics.ndjson"#;
    assert_eq!(mount.sh(consumed).ok(), "true\n");
    // For lookup only.
    assert_eq!(mount.sh("ls Orders | { grep -c -e capacity -e metrics || true; }").ok(), "0\n");
    mount.sh("echo x > Orders/capacity.json").failed();
}

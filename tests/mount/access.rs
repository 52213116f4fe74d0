//! Access patterns of requests through a mount and over HTTP.

use std::sync::Arc;

use ddbfs::database::Database;
use ddbfs::http::Server;
use serde_json::{Value, json};

use crate::support::http;
use crate::support::mounted::{Mount, ORDERS, create_table, memory};

#[test]
fn a_pattern_is_one_whether_it_came_through_the_mount_over_http_or_in_partiql() {
    let db = memory();
    create_table(&*db, ORDERS);
    let server = Server::start(http::options(), Arc::clone(&db) as Arc<dyn Database>).unwrap();
    let mount = Mount::of(db);
    // A new table has no requests, and its files say so.
    mount
        .sh("grep -c '^No requests' Orders/access.md | grep -qx 3 && test -s .ddb/access.md")
        .ok();
    mount
        .sh("mkdir -p 'Orders/items/USER#1' && for n in 1 2 3; do echo '{\"status\":\"new\"}' > \"Orders/items/USER#1/o$n.json\"; done")
        .ok();
    mount.sh("cat 'Orders/query/@pk=USER#1/items.ndjson' > /dev/null; ls -R Orders/items > /dev/null; cat 'Orders/items/USER#1/o1.json' > /dev/null").ok();
    let values = json!({":p": {"S": "USER#2"}});
    http::ok(
        server.local_addr(),
        "Query",
        &json!({"TableName": "Orders", "KeyConditionExpression": "#p = :p", "ExpressionAttributeNames": {"#p": "pk"}, "ExpressionAttributeValues": values}),
    );
    http::ok(
        server.local_addr(),
        "ExecuteStatement",
        &json!({"Statement": "SELECT * FROM \"Orders\" WHERE pk = ?", "Parameters": [{"S": "SHOP#1"}]}),
    );
    let text = mount.sh("cat Orders/access.json").ok().to_owned();
    let json: Value = serde_json::from_str(&text).unwrap();
    let day = |request: &str| {
        let patterns = json["patterns"].as_array().unwrap();
        let found = patterns
            .iter()
            .find(|pattern| pattern["request"] == request);
        found.unwrap_or_else(|| panic!("no {request} in {text}"))["day"].clone()
    };
    let query = day("Query Orders WHERE pk = ?");
    assert_eq!(
        (&query["requests"], &query["returned"], &query["entities"]),
        (&json!(3), &json!(3), &json!({"USER": 2, "SHOP": 1}))
    );
    let get = day("GetItem Orders WHERE pk = ? AND sk = ?");
    assert_eq!(
        (&get["requests"], &get["entities"]),
        (&json!(1), &json!({"USER": 1}))
    );
    mount
        .sh("grep -qF '| `Query Orders WHERE pk = ?` |' Orders/access.md && grep -qF '| `Query Orders WHERE pk = ?` |' .ddb/access.md")
        .ok();
    // Hostile names stay on their line.
    http::ok(
        server.local_addr(),
        "Scan",
        &json!({"TableName": "Orders", "FilterExpression": "#n = :v", "ExpressionAttributeNames": {"#n": "a|b`\n\u{1b}[31m"}, "ExpressionAttributeValues": {":v": {"S": "x"}}}),
    );
    mount.sh("! grep -q $'\\x1b' Orders/access.md .ddb/access.md Orders/access.json && grep -q '^| . | `Scan Orders FILTER a' Orders/access.md").ok();
}

#[test]
fn a_scan_that_throws_away_what_it_reads_stands_out() {
    let mount = Mount::with_tables();
    mount
        .sh("for n in $(seq 120); do printf '{\"pk\":\"p\",\"sk\":\"s%d\",\"n\":%d}\\n' $n $n; done > Orders/batch/put")
        .ok();
    // A bulk load is no access pattern.
    mount
        .sh("grep -c '^No requests' Orders/access.md | grep -qx 3")
        .ok();
    mount
        .sh("test $(cat 'Orders/scan/where=n = 7/items.ndjson' | wc -l) = 1")
        .ok();
    let text = mount.sh("cat Orders/access.md").ok().to_owned();
    assert!(
        text.contains("| 1 **!** | `Scan Orders FILTER n = ?` |"),
        "{text}"
    );
    assert!(text.contains("**!** Number 1 throws away most of what it reads: it evaluated 120 items and returned 1"), "{text}");
    mount.sh("echo count from here > Orders/ctl; grep -c '^No requests' Orders/access.md | grep -qx 3").ok();
}

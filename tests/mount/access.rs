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
    mount.sh("! grep -q $'\\x1b' Orders/access.md .ddb/access.md Orders/access.json && grep -q '^| . | ``` Scan Orders FILTER `a' Orders/access.md").ok();
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

#[test]
fn expected_patterns_are_compared_with_the_table_and_its_requests() {
    let mount = Mount::with_tables();
    mount
        .sh("for n in $(seq 60); do printf '{\"pk\":\"u%d\",\"sk\":\"ORDER#%d\",\"status\":\"open\",\"created\":\"d%d\"}\\n' $((n % 3)) $n $n; done > Orders/batch/put; echo '{\"pk\":\"u1\",\"sk\":\"PROFILE\",\"größe x\":1}' > Orders/items/u1/PROFILE.json")
        .ok();
    mount.sh("grep -q '^# latest orders: ' Orders/access.expected && ! grep -q Expected Orders/access.md").ok();
    let lines = "# mine\n\
        orders of a user: Query where pk = ? and begins_with(sk, ?)\n\
        by state: Query WHERE status = ?\n\
        Query Orders/by-status WHERE status = ? AND created > ? FILTER total > ? SELECT total\n\
        Query WHERE city = ?\n\
        Scan FILTER `größe x` = ?\n\
        GetItem\n";
    std::fs::write(mount.path().join("Orders/access.expected"), lines).unwrap();
    mount
        .sh("cat 'Orders/gsi/by-status/query/@pk=open/count' Orders/items/u1/PROFILE.json Orders/scan/where='`größe x`=1'/items.ndjson > /dev/null; ls Orders/queries Orders > /dev/null")
        .ok();
    assert_eq!(mount.sh("cat Orders/access.expected").ok(), lines);
    assert_eq!(mount.sh("ls -A Orders/queries").ok(), "");
    let text = mount.sh("cat Orders/access.md").ok().to_owned();
    for row in [
        "6 patterns: 2 by a Scan, 3 not seen in a day.",
        "| `orders of a user: Query where pk = ? and begins_with(sk, ?)` | `table by pk = ? AND begins_with(sk, ?)` | 0.5 | never | 0.0 |",
        "| `by state: Query WHERE status = ?` | `index by-status by status = ?` | 0.5 | 1 | 0.5 |",
        "| `index by-status by status = ? AND created > ?, filter total > ?` | 0.5 | never |",
        "| `Query WHERE city = ?` | `Scan` | 0.5 for all pages | never |",
        "| `` Scan FILTER `größe x` = ? `` | `Scan` | 0.5 for all pages | 1 |",
        "| `GetItem` | `table by pk = ? AND sk = ?` | 0.5 | 1 | 1.0 |",
        "| `PutItem Orders` | not expected | - | 1 | 1.0 |",
    ] {
        assert!(text.contains(row), "{row}\n{text}");
    }
    // A pattern of an index that is dropped says so; nothing else is lost.
    mount.sh("rmdir Orders/gsi/by-status").ok();
    let text = mount.sh("cat Orders/access.md").ok().to_owned();
    assert!(text.contains("| the table has no index 'by-status'; without a name access.md tells what answers | - | never |"), "{text}");
    assert!(
        text.contains("| `by state: Query WHERE status = ?` | `Scan` |"),
        "{text}"
    );
    // What is no pattern is refused, and nothing changes.
    for (text, said) in [
        ("Query by-city WHERE city = ?", "no index 'by-city'"),
        ("GetItem\nQuery", "line 2: a Query has WHERE"),
        ("Scan WHERE a = ?", "a Scan has FILTER"),
        ("cat $(reboot) | sh", "it begins with one of Query, Scan"),
        ("Query WHERE pk = \u{1b}[31m", "conditions are like"),
        (&"GetItem\n".repeat(201), "at most 200"),
        (&"#".repeat(64 * 1024), "in 16 KiB"),
    ] {
        let path = mount.path().join("Orders/access.expected");
        assert_eq!(
            std::fs::write(&path, format!("{text}\n"))
                .unwrap_err()
                .raw_os_error(),
            Some(libc::EINVAL),
            "{text:.99}"
        );
        let last = mount.sh("cat .ddb/errors/last").ok().to_owned();
        assert!(last.contains(said), "{said}: {last}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), lines);
    }
    // More lines are added, a blank line takes them away, and a table made again has none.
    mount.sh("echo PutItem >> Orders/access.expected; tail -n 2 Orders/access.expected | tr '\\n' ' ' | grep -qx 'GetItem PutItem '").ok();
    mount.sh("echo > Orders/access.expected; grep -q '^# latest' Orders/access.expected && ! grep -q Expected Orders/access.md").ok();
    mount.sh("echo GetItem > Flat/access.expected; grep -q Expected Flat/access.md; cp Flat/schema.json /tmp/$$.json && rmdir Flat && mkdir Flat && cat /tmp/$$.json > Flat/schema.json; rm /tmp/$$.json; ! grep -q Expected Flat/access.md").ok();
}

#[test]
fn models_have_expected_patterns_and_edits_of_two_processes_lose_none() {
    let mount = Mount::with_tables();
    let path = mount.path().join("Orders/access.expected");
    let command = |options: &str| format!("aws dynamodb x --table-name Orders {options}");
    let names = r##"--expression-attribute-names '{"#p":"pk","#s":"größe x"}'"##;
    let of = |number: &str, operation: &str, options: &str| json!({"pattern": number, "description": "Query: it", "table": "Orders", "dynamodb_operation": operation, "implementation": command(options)});
    let mut patterns = vec![
        of(
            "1",
            "Query",
            &format!(
                "--key-condition-expression '#p = :p AND begins_with(sk, :s)' --filter-expression \"#s > :n\" {names}"
            ),
        ),
        of(
            "2",
            "Query",
            "--index-name by-status --key-condition-expression 'status = :s'",
        ),
        of("3", "GetItem", "--key '{}'"),
        of("4", "TransactWriteItems", "--transact-items '[]'"),
        of("5", "Query", "--key-condition-expression 'pk = :p"),
        json!({"pattern": "6", "description": "a\nGetItem\u{1b}[31m", "table": "Orders"}),
    ];
    let model = |patterns: &[Value]| {
        let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
        let table = |name: &str| json!({"TableName": name, "KeySchema": key});
        json!({"tables": [table("Orders"), table("Other")], "items": {}, "access_patterns": patterns})
    };
    std::fs::write(&path, format!("{:#}\n", model(&patterns))).unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "1 Query, it: Query WHERE pk = ? AND begins_with(sk, ?) FILTER `größe x` > ?\n\
         2 Query, it: Query by-status WHERE status = ?\n\
         3 Query, it: GetItem\n\
         # 4 Query, it: TransactWriteItems\n\
         # 5 Query, it: Query\n\
         # 6 a\\nGetItem\\u{1b}[31m:\n"
    );
    let text = mount.sh("cat Orders/access.json").ok().to_owned();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        json["expected"]["patterns"][1],
        json!({"request": "2 Query, it: Query by-status WHERE status = ?", "answered_by": "index by-status by status = ?", "fault": null, "units_a_call": null, "day": {"requests": 0, "units": 0.0}}),
        "{text}"
    );
    // A model of other tables, one that is cut, and one of too many patterns change nothing.
    let kept = std::fs::read_to_string(&path).unwrap();
    patterns.resize(300, of("7", "GetItem", ""));
    for (text, said) in [
        (model(&[]).to_string(), "no access patterns of this table"),
        (model(&patterns).to_string(), "at most 200"),
        (
            model(&patterns).to_string()[..9_000].to_owned(),
            "the model ends too early",
        ),
        ("{}{".to_owned(), "trailing characters"),
        ("[".repeat(90_000) + "\n", "in 16 KiB"),
        ("{\"a\":".repeat(50_000) + "\n", "the model ends too early"),
    ] {
        // A text that ends too early is refused by close, which this does not tell.
        _ = std::fs::write(&path, &text);
        let last = mount.sh("cat .ddb/errors/last").ok().to_owned();
        assert!(last.contains(said), "{said}: {last}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
    }
    mount.sh(r#"echo '{"DataModel":[{"TableName":"T","KeyAttributes":{"PartitionKey":{"AttributeName":"pk","AttributeType":"S"}},"TableFacets":[{"FacetName":"cats"}]}]}' > Orders/access.expected; grep -qx 'facet cats: Query WHERE pk = ?' Orders/access.expected"#).ok();
    // Both read the same text: the second must read again.
    mount.sh("exec 3>>Orders/access.expected 4>>Orders/access.expected; echo GetItem >&3; echo PutItem >&3; exec 3>&-; echo Scan >&4; exec 4>&-; grep -q 'read it again' .ddb/errors/last").ok();
    mount.sh("echo Scan >> Orders/access.expected; tail -n 3 Orders/access.expected | tr '\\n' ' ' | grep -qx 'GetItem PutItem Scan '").ok();
    // An edit that leaves nothing takes no other's lines away.
    mount.sh("exec 4<>Orders/access.expected; n=$(wc -c < Orders/access.expected); echo PutItem >> Orders/access.expected; printf \"%$((n - 1))s\\n\" '' >&4; exec 4>&-; grep -q ^Scan Orders/access.expected").ok();
    // Removed, it has its template again, also where there was nothing to remove.
    mount.sh("rm Orders/access.expected && grep -q '^# latest' Orders/access.expected && rm Orders/access.expected && ! grep -q Expected Orders/access.md").ok();
    mount.sh("exec 3>>Orders/access.expected 4>>Orders/access.expected; echo GetItem >&3; exec 3>&-; echo Scan >&4; exec 4>&-; ! grep -q ^Scan Orders/access.expected").ok();
    // A saved request is guarded alike.
    mount.sh(r#"echo '{"Limit":1}' > Orders/queries/a.json; exec 3<>Orders/queries/a.json; echo '{"Limit":2}' > Orders/queries/a.json; echo '{"Limit":3}' >&3; exec 3>&-; grep -q 2 Orders/queries/a.json"#).ok();
}

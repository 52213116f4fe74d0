//! docs/account.md and docs/remote.md against a server in the place of AWS: their commands run, the policies allow what is asked for and no
//! more, and every path has its row.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use ddbfs::http::RunningServer;
use serde_json::{Value, json};

use crate::mount::{KEYS, mount};
use crate::support::daemon::{DDBFS, Mount, texts};
use crate::support::proxy::Proxy;
use crate::transport::{PATIENT, ok, server, service};

const ACCOUNT: &str = include_str!("../../docs/account.md");
const REMOTE: &str = include_str!("../../docs/remote.md");
const PATHS: &str = include_str!("../../docs/paths.md");
/// What every transaction of the mount asks leave for.
const OF_TRANSACTIONS: [&str; 2] = ["PutItem", "DeleteItem"];

/// What DynamoDB does with the key in the name of one who reads or writes items, and of one who makes a table with it
/// ("Using IAM policies and key policies", developer guide).
const KMS_OF_ITEMS: [&str; 1] = ["Decrypt"];
const KMS_OF_TABLES: [&str; 5] = [
    "CreateGrant",
    "DescribeKey",
    "Encrypt",
    "GenerateDataKey*",
    "ReEncrypt*",
];

/// A server with `Orders`, its indexes and its stream, and the proxy before it.
fn orders() -> (RunningServer, Proxy) {
    let server = server();
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    let keys = |sort: &str| json!([{ "AttributeName": "customer", "KeyType": "HASH" }, { "AttributeName": sort, "KeyType": "RANGE" }]);
    let definition =
        |name: &str, kind: &str| json!({ "AttributeName": name, "AttributeType": kind });
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Orders",
            "AttributeDefinitions": [definition("customer", "S"), definition("id", "S"), definition("total", "N"), definition("status", "S")],
            "KeySchema": keys("id"),
            "LocalSecondaryIndexes": [{ "IndexName": "by-total", "KeySchema": keys("total"), "Projection": { "ProjectionType": "ALL" } }],
            "GlobalSecondaryIndexes": [{
                "IndexName": "by-status",
                "KeySchema": [{ "AttributeName": "status", "KeyType": "HASH" }],
                "Projection": { "ProjectionType": "ALL" },
            }],
            "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" },
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    for (customer, id, total) in [("c7", "o1", 12), ("c7", "o2", 8), ("c8", "o3", 40)] {
        let item = json!({ "customer": { "S": customer }, "id": { "S": id }, "total": { "N": total.to_string() }, "status": { "S": "open" } });
        ok(
            &aws,
            "PutItem",
            &json!({ "TableName": "Orders", "Item": item }),
        );
    }
    let proxy = Proxy::before(server.local_addr());
    (server, proxy)
}

/// The blocks of a document that are marked so.
fn blocks(document: &str, kind: &str) -> Vec<String> {
    let mark = format!("```{kind}\n");
    document
        .split(&mark)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

fn asked(proxy: &Proxy) -> BTreeSet<String> {
    proxy.take_operations().into_iter().collect()
}

/// `dynamodb:X` in a text.
fn actions(text: &str) -> BTreeSet<String> {
    actions_of("dynamodb:", text)
}

fn actions_of(service: &str, text: &str) -> BTreeSet<String> {
    let name = |rest: &str| {
        rest.chars()
            .take_while(|letter| letter.is_ascii_alphabetic() || *letter == '*')
            .collect::<String>()
    };
    let names = text.split(service).skip(1).map(name);
    // The `*` of `arn:aws:dynamodb:*` is no action.
    names
        .filter(|name| name.starts_with(|letter: char| letter.is_ascii_alphabetic()))
        .collect()
}

/// The text of a section of the page.
fn section(heading: &str) -> &'static str {
    let text = ACCOUNT.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    text.split("\n## ").next().unwrap()
}

#[test]
fn the_commands_of_the_page_for_accounts_run() {
    let (server, proxy) = orders();
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "set -e\ntrap 'ddbfs umount aws 2> /dev/null || true' EXIT\n{}",
        blocks(ACCOUNT, "sh").concat()
    );
    let path = format!(
        "{}:{}",
        Path::new(DDBFS).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = Command::new("timeout")
        .args(["300", "bash", "-xc", &script])
        .current_dir(dir.path())
        .envs(KEYS)
        .env("PATH", path)
        .env("HOME", dir.path())
        .env("XDG_DATA_HOME", dir.path().join("share"))
        .env("XDG_STATE_HOME", dir.path().join("state"))
        .env("AWS_ENDPOINT_URL_DYNAMODB", proxy.url())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    assert!(
        out.contains("\"id\":\"o2\"") && out.contains("read_units"),
        "{out}"
    );
    let aws = service(&proxy.url(), PATIENT);
    let key = json!({ "customer": { "S": "c7" }, "id": { "S": "o1" } });
    let item = ok(
        &aws,
        "GetItem",
        &json!({ "TableName": "Orders", "Key": key }),
    )["Item"]
        .clone();
    assert_eq!(
        (&item["status"]["S"], &item["note"]["S"]),
        (&json!("shipped"), &json!("checked"))
    );
    server.shutdown();
}

/// Looks at everything.
const LOOKS: &str = "find . -path ./.ddb -prune -o -type f -print0 | xargs -0 cat
    cat Orders/*/*/items/*/*.json; ls -lR Orders/items; cat Orders/query/customer=c7/items.ndjson Orders/scan/items.csv Orders/scan/explain.json
    cat Orders/describe.json Orders/ttl Orders/capacity.json Orders/metrics.ndjson Orders/shapes.md Orders/help Orders/items/c7/o1.meta
    cat Orders/stream/log.ndjson Orders/stream/since/0.ndjson; timeout 3 cat Orders/stream/follow; cat Orders/gsi/by-status/stats.json";

/// Writes in every way.
const WRITES: &str = "echo '{\"status\":\"open\"}' > Orders/items/c7/o9.json; jq -c '.a = 1' Orders/items/c7/o9.json > Orders/items/c7/o9.json
    echo 'SET b = 2' > Orders/items/c7/o9.update; echo '{\"c\":3}' > Orders/items/c7/o9.patch; mv Orders/items/c7/o9.json Orders/items/c7/o8.json
    seq 30 | sed 's/.*/{\"customer\":\"c1\",\"id\":\"o&\"}/' > Orders/batch/put; echo '{\"customer\":\"c1\",\"id\":\"o1\"}' > Orders/batch/get; cat Orders/batch/result.json
    echo '{\"customer\":\"c1\",\"id\":\"o2\"}' > Orders/batch/atomic; rm -r Orders/items/c1 Orders/items/c7/o8.json
    echo enable expires > Orders/ttl; mkdir 'Made@pk:S'; rmdir Made
    new=$(mktemp); jq '.StreamSpecification = {\"StreamEnabled\":false}' Orders/schema.json > $new; cat $new > Orders/schema.json; rm $new";

fn run(mounted: &Mount, script: &str) -> String {
    let (out, err) = texts(&mounted.bash(script));
    format!("{script}\n{out}\n{err}")
}

#[test]
fn the_policies_allow_what_is_asked_for_and_no_more() {
    let (server, proxy) = orders();
    let policy: Value = serde_json::from_str(&blocks(ACCOUNT, "json")[0]).unwrap();
    assert_eq!(policy["Version"], "2012-10-17");
    let reading = actions(&policy.to_string());
    let mut mounted = mount(&proxy, &["--remote-ttl", "0"]);
    let told = run(&mounted, LOOKS);
    mounted.unmount();
    let copy = tempfile::tempdir().unwrap();
    let mut pull = Command::new(DDBFS);
    pull.args(["pull", "Orders", "--from-endpoint", &proxy.url(), "--data"])
        .arg(copy.path().join("data"))
        .env("XDG_STATE_HOME", copy.path().join("state"))
        .envs(KEYS);
    assert!(pull.stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(asked(&proxy), reading, "{told}");

    let mut mounted = mount(&proxy, &["-o", "rw"]);
    let told = run(&mounted, WRITES);
    mounted.unmount();
    let mut writing = asked(&proxy);
    assert!(writing.remove("TransactWriteItems"), "{told}");
    writing.extend(OF_TRANSACTIONS.map(str::to_owned));
    let allowed = actions(section("Write"));
    assert_eq!(
        writing
            .difference(&reading)
            .cloned()
            .collect::<BTreeSet<_>>(),
        allowed,
        "{told}"
    );
    server.shutdown();
}

#[test]
fn the_policy_of_a_pull_allows_what_is_asked_for_and_no_more() {
    let (server, proxy) = orders();
    let copy = tempfile::tempdir().unwrap();
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    let changed = |id: &str| {
        let item = json!({ "customer": { "S": "c7" }, "id": { "S": id } });
        ok(
            &aws,
            "PutItem",
            &json!({ "TableName": "Orders", "Item": item }),
        );
    };
    let run = |args: &[&str]| {
        let mut command = Command::new(DDBFS);
        command
            .args(args)
            .arg("--data")
            .arg(copy.path().join("data"));
        command.env("XDG_STATE_HOME", copy.path().join("state"));
        let output = command.envs(KEYS).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{args:?} {:?}", texts(&output));
    };
    run(&["pull", "Orders", "--from-endpoint", &proxy.url()]);
    changed("o4");
    run(&["sync", "Orders"]);
    changed("o5");
    run(&["sync", "Orders", "--compare"]);
    assert_eq!(asked(&proxy), actions(section("A copy for advice")));
    server.shutdown();
}

#[test]
fn the_policy_of_a_key_allows_what_dynamodb_does_with_it() {
    let statement: Value = serde_json::from_str(&blocks(ACCOUNT, "json")[1]).unwrap();
    let set = |of: &[&str]| -> BTreeSet<String> { of.iter().map(|&of| of.to_owned()).collect() };
    assert_eq!(
        actions_of("kms:", &statement["Action"].to_string()),
        set(&KMS_OF_ITEMS)
    );
    let via = &statement["Condition"]["StringEquals"]["kms:ViaService"];
    assert_eq!(via, "dynamodb.eu-central-1.amazonaws.com");
    let told = section("What you need").rsplit("```").next().unwrap();
    assert_eq!(actions_of("kms:", told), set(&KMS_OF_TABLES));
    // Who makes a table with the key needs the second set: a write through the mount, and a push.
    for heading in ["Write", "Push"] {
        assert!(
            actions(section(heading)).contains("CreateTable"),
            "{heading}"
        );
    }
    assert!(!actions(section("A copy for advice")).contains("CreateTable"));
}

#[test]
fn the_policy_of_a_push_allows_what_is_asked_for_and_no_more() {
    let (source, from) = orders();
    let copy = tempfile::tempdir().unwrap();
    let run = |args: &[&str], options: &[&str]| {
        let mut command = Command::new(DDBFS);
        command
            .args(args)
            .args(options)
            .arg("--data")
            .arg(copy.path());
        let output = command.envs(KEYS).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{args:?} {:?}", texts(&output));
    };
    let aws = service(&from.url(), PATIENT);
    let expiry = json!({ "Enabled": true, "AttributeName": "expires" });
    ok(
        &aws,
        "UpdateTimeToLive",
        &json!({ "TableName": "Orders", "TimeToLiveSpecification": expiry }),
    );
    run(&["pull", "Orders", "--from-endpoint", &from.url()], &[]);
    let target = server();
    let to = Proxy::before(target.local_addr());
    let push = ["push", "Orders", "--to-endpoint", &to.url()];
    run(&push, &["--create"]);
    run(&push, &["--merge"]);
    // A table that should be empty is looked into.
    let emptied = json!({ "TableName": "Orders" });
    ok(&service(&to.url(), PATIENT), "DeleteTable", &emptied);
    let keys = json!([{ "AttributeName": "customer", "KeyType": "HASH" }, { "AttributeName": "id", "KeyType": "RANGE" }]);
    let definition = json!({
        "TableName": "Orders",
        "AttributeDefinitions": [{ "AttributeName": "customer", "AttributeType": "S" }, { "AttributeName": "id", "AttributeType": "S" }],
        "KeySchema": keys,
        "BillingMode": "PAY_PER_REQUEST",
    });
    ok(&service(&to.url(), PATIENT), "CreateTable", &definition);
    run(&push, &["--restart"]);
    let mut pushing = asked(&to);
    assert!(pushing.remove("DeleteTable"));
    assert_eq!(pushing, actions(section("Push")));
    source.shutdown();
    target.shutdown();
}

/// What stands between backquotes in the first column of the tables of a text.
fn named(text: &str) -> Vec<&str> {
    let columns = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    columns
        .flat_map(|column| column.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn every_path_has_a_row_that_says_what_it_means_over_a_service() {
    let paths = PATHS
        .split("\n## Paths\n")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let told = named(
        REMOTE
            .split("\n## Credentials and endpoint\n")
            .next()
            .unwrap(),
    );
    // `T/heat.svg` and `heat.svg` are one, as are `….meta` and `.meta`.
    let last = |path: &str| {
        path.trim_end_matches("/…")
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap()
            .replace('…', "")
    };
    let known: BTreeSet<String> = told.iter().map(|path| last(path)).collect();
    let missing: Vec<&str> = named(paths)
        .into_iter()
        .filter(|path| !known.contains(&last(path)))
        .collect();
    assert!(
        named(paths).len() > 60 && missing.is_empty(),
        "docs/remote.md says nothing of {missing:?}"
    );
}

//! What programs that look at everything cost: in units that the proxy counts in the service's answers, against each limit.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ddbfs::codec::metrics::prices;
use ddbfs::http::RunningServer;
use serde_json::json;

use crate::mount::mount;
use crate::support::daemon::{DDBFS, Mount, texts};
use crate::support::http;
use crate::support::proxy::Proxy;
use crate::transport::{PATIENT, ok, server, service};

/// Units of a page, which may come after a limit was met: of a consistent read, with the item that did not fit.
const PAGE: f64 = 256.0 + 25.0;
/// A page, and the one that is asked for ahead of its reader.
const UNDER_WAY: f64 = 2.0;

/// `Orders` with an index, 90 items of 100 KB in 9 collections; `Flat`, without sort key, 450 items of 5 KB.
fn scene() -> (RunningServer, Proxy) {
    let server = server();
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let hash = |name: &str| json!({ "AttributeName": name, "KeyType": "HASH" });
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Orders",
            "AttributeDefinitions": [attribute("pk"), attribute("sk"), attribute("status")],
            "KeySchema": [hash("pk"), { "AttributeName": "sk", "KeyType": "RANGE" }],
            "GlobalSecondaryIndexes": [
                { "IndexName": "by-status", "KeySchema": [hash("status")], "Projection": { "ProjectionType": "ALL" } }
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Flat",
            "AttributeDefinitions": [attribute("id")],
            "KeySchema": [hash("id")],
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    let write = |table: &str, items: Vec<serde_json::Value>| {
        let puts: Vec<_> = items
            .into_iter()
            .map(|item| json!({ "PutRequest": { "Item": item } }))
            .collect();
        ok(
            &aws,
            "BatchWriteItem",
            &json!({ "RequestItems": { table: puts } }),
        );
    };
    let text = |text: String| json!({ "S": text });
    for user in 0..9 {
        let item = |order: u32| {
            let keys = (
                text(format!("u{user}")),
                text(format!("o{order}")),
                text(format!("s{}", order % 3)),
            );
            json!({ "pk": keys.0, "sk": keys.1, "status": keys.2, "fill": text("x".repeat(100_000)) })
        };
        write("Orders", (0..10).map(item).collect());
    }
    for part in 0..18 {
        let item = |number: u32| json!({ "id": text(format!("f{part}.{number}")), "fill": text("x".repeat(5_000)) });
        write("Flat", (0..25).map(item).collect());
    }
    let proxy = Proxy::before(server.local_addr());
    (server, proxy)
}

/// A shell that completes on a terminal; what it cannot complete rings the bell.
fn completes(mount: &Mount, shell: &[&str]) {
    let typed: Vec<String> = [
        "cat Orders/items/",
        "cat Flat/items/f",
        "ls Orders/gsi/by-status/items/",
        "cat Orders/query/",
        "ls O",
    ]
    .map(|typed| format!("{typed}<TAB>\u{7}"))
    .into();
    let ended = Command::new("python3")
        .arg(http::script("terminal.py"))
        .arg(typed.join("\n"))
        .args(shell)
        .current_dir(mount.point())
        .env(
            "PATH",
            format!(
                "{}:{}",
                Path::new(DDBFS).parent().unwrap().display(),
                std::env::var("PATH").unwrap()
            ),
        )
        .env("HOME", mount.dir.path())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

/// Starts a program in a mount and waits for its end.
type Run = Box<dyn Fn(&Mount)>;

/// The programs, each with how it is started.
fn programs() -> Vec<(&'static str, Run)> {
    let script =
        |script: &'static str| -> Run { Box::new(move |mount: &Mount| drop(mount.bash(script))) };
    vec![
        ("find", script("find . > /dev/null")),
        ("find -size", script("find . -size +1k > /dev/null")),
        ("ls -lR", script("ls -lR . > /dev/null")),
        ("du", script("du -s . > /dev/null")),
        ("grep -r", script("grep -r nothing . > /dev/null")),
        (
            "rg",
            script("timeout 60 rg --hidden --no-ignore nothing . > /dev/null"),
        ),
        ("tar", script("tar -cf - . | wc -c > /dev/null")),
        (
            "file manager",
            Box::new(|mount: &Mount| {
                drop(mount.bash(&format!(
                    "python3 {} .",
                    http::script("look_around.py").display()
                )))
            }),
        ),
        (
            "bash <TAB>",
            Box::new(|mount: &Mount| completes(mount, &["bash", "--norc", "--noprofile", "-i"])),
        ),
        (
            "zsh <TAB>",
            Box::new(|mount: &Mount| completes(mount, &["zsh", "-f", "-i"])),
        ),
    ]
}

/// What each cost, told, and held against the most that it may; the sum.
fn spent(mounted: &Mount, proxy: &Proxy, most: impl Fn(&str, f64) -> f64) -> f64 {
    spent_by(programs(), mounted, proxy, most)
}

fn spent_by(
    programs: Vec<(&'static str, Run)>,
    mounted: &Mount,
    proxy: &Proxy,
    most: impl Fn(&str, f64) -> f64,
) -> f64 {
    let mut sum = 0.0;
    for (name, run) in programs {
        proxy.take_operations();
        let (before, begun) = (proxy.units(), Instant::now());
        run(mounted);
        let (units, took) = (proxy.units() - before, begun.elapsed().as_secs_f64());
        let mut counts = BTreeMap::<String, u32>::new();
        proxy
            .take_operations()
            .into_iter()
            .for_each(|operation| *counts.entry(operation).or_default() += 1);
        println!("{name:14} {units:8.1} units in {took:5.1} s  {counts:?}");
        assert!(
            units <= most(name, took),
            "{name}: {units} units in {took} s, not {}",
            most(name, took)
        );
        sum += units;
    }
    sum
}

/// Nothing is scanned that the service says is too large: what remains is examples in texts of help, an item each.
#[test]
fn with_the_defaults_a_large_table_costs_next_to_nothing() {
    let (server, proxy) = scene();
    let mut mounted = mount(&proxy, &["--remote-ttl", "0", "--tables", "Orders"]);
    // The example items of Orders and its index, which are of 100 KB, are looked at anew after ten seconds.
    let looked_at_anew = |seconds: f64| 25.0 * (1.0 + (seconds / 10.0).floor());
    spent(&mounted, &proxy, |name, took| {
        if name.contains("TAB") {
            0.0
        } else {
            20.0 + looked_at_anew(took)
        }
    });
    mounted.unmount();
    server.shutdown();
}

/// A page is more than this limit, so that no listing has a second one, though the service says that there is nothing at all.
#[test]
fn no_program_goes_on_with_a_listing_that_cost_the_limit() {
    let (server, proxy) = scene();
    proxy.count_nothing();
    let mut mounted = mount(
        &proxy,
        &[
            "--remote-ttl",
            "0",
            "--scan-limit",
            "100",
            "--max-rcu",
            "none",
        ],
    );
    let sum = spent(&mounted, &proxy, |_, _| f64::MAX);
    assert!(
        sum > 1_000.0 && proxy.continued() == 0,
        "{sum} units, {} more pages",
        proxy.continued()
    );
    // What was paid for is shown, and then why there is no more.
    let (listed, said) = texts(&mounted.bash("ls Flat/items; cat .ddb/errors/last"));
    assert!(
        listed
            .lines()
            .filter(|line| line.ends_with(".json"))
            .count()
            > 100,
        "{listed}"
    );
    assert!(
        said.contains("Disk quota exceeded") && listed.contains("read units so far"),
        "{listed}{said}"
    );
    mounted.unmount();
    server.shutdown();
}

/// A table below the limit costs its Scan, whichever program walks through it, however short a time reads are cached.
#[test]
fn a_walk_through_a_table_costs_its_scan() {
    let (server, proxy) = scene();
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    let text = |text: String| json!({ "S": text });
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Small",
            "AttributeDefinitions": [
                { "AttributeName": "pk", "AttributeType": "S" },
                { "AttributeName": "sk", "AttributeType": "S" },
            ],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": "sk", "KeyType": "RANGE" }],
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    for folder in 0..80 {
        let item = |file: u32| {
            json!({ "PutRequest": { "Item": {
            "pk": text(format!("p{folder}")), "sk": text(format!("{file}")), "fill": text("x".repeat(400)),
        } } })
        };
        let puts: Vec<_> = (0..25).map(item).collect();
        ok(
            &aws,
            "BatchWriteItem",
            &json!({ "RequestItems": { "Small": puts } }),
        );
    }
    // An index is a listing of its own.
    for (table, scans) in [("Small", 1.0), ("Flat", 1.0), ("Orders", 2.0)] {
        let described = ok(&aws, "DescribeTable", &json!({ "TableName": table }));
        let bytes = described["Table"]["TableSizeBytes"].as_f64().unwrap();
        let cost = scans * bytes / 8192.0;
        println!("{table}, whose Scan takes {cost:.0} units");
        let limits = [
            "--tables",
            table,
            "--scan-limit",
            "1200",
            "--max-rcu",
            "none",
        ];
        let mut mounted = mount(&proxy, &[&limits[..], &["--remote-ttl", "0"]].concat());
        // Completions of a shell are no walks.
        let walks = programs()
            .into_iter()
            .filter(|(name, _)| !name.contains("TAB"));
        spent_by(walks.collect(), &mounted, &proxy, |_, _| 1.2 * cost + 4.0);
        mounted.unmount();
    }
    server.shutdown();
}

#[test]
fn programs_keep_the_rate_of_units() {
    let (server, proxy) = scene();
    proxy.count_nothing();
    let rate = 1_000.0;
    let limits = [
        "--max-rcu",
        "1000",
        "--scan-limit",
        "100000",
        "--timeout",
        "120",
    ];
    let mut mounted = mount(&proxy, &limits);
    let begun = Instant::now();
    mounted.bash("tar -cf - Orders | wc -c & grep -r nothing Flat > /dev/null & wait");
    let (units, took) = (proxy.units(), begun.elapsed().as_secs_f64());
    println!("tar and grep   {units:8.1} units in {took:5.1} s");
    // A second's worth is there at first, and each of the two may have lent a page and the next one.
    assert!(
        units > 2.0 * rate && units <= rate * (1.0 + took) + 2.0 * UNDER_WAY * PAGE,
        "{units} units in {took} s"
    );
    mounted.unmount();
    server.shutdown();
}

#[test]
fn programs_keep_the_budget() {
    let (server, proxy) = scene();
    proxy.count_nothing();
    let units = 300.0;
    let budget = format!("{:.9} USD", prices::built_in().read_cost(units));
    let mut mounted = mount(
        &proxy,
        &[
            "--budget",
            &budget,
            "--max-rcu",
            "none",
            "--scan-limit",
            "100000",
            "--remote-ttl",
            "0",
        ],
    );
    spent(&mounted, &proxy, |_, _| f64::MAX);
    // With what the mount itself asked when it came up.
    let sum = proxy.units();
    assert!(sum >= units && sum <= units + UNDER_WAY * PAGE, "{sum}");
    assert!(mounted.ok("ls; cat Flat/schema.json").contains("TableName"));
    mounted.unmount();
    server.shutdown();
}

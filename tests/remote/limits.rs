//! Limits that hold without an option: a budget of a day of all processes of a user, and a rate by table.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use ddbfs::codec::metrics::prices;
use ddbfs::database::remote::budget::{Budget, DayBudget, MeteredTransport, SpendLimits};
use ddbfs::database::remote::ledger::SpendLedger;
use ddbfs::http::RunningServer;
use ddbfs::model::Error;
use ddbfs::model::clock::ManualClock;
use ddbfs::model::prices::RateOption;
use serde_json::{Value, json};

use crate::mount::{KEYS, mount};
use crate::support::daemon::{DDBFS, Mount, texts};
use crate::support::proxy::{Proxy, Trouble};
use crate::support::wait::until;
use crate::transport::{PATIENT, call, key, ok, server, service};

/// Units of a page, which may pass a limit: of a consistent read, with the item that did not fit.
const PAGE: f64 = 256.0 + 25.0;
const READERS: usize = 32;
/// The units of the budgets of these tests.
const UNITS: f64 = 400.0;

/// `Big`: 16 collections of almost a page each.
fn scene() -> (RunningServer, Proxy) {
    let server = server();
    let aws = service(&format!("http://{}", server.local_addr()), PATIENT);
    let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let part = |name: &str, kind: &str| json!({ "AttributeName": name, "KeyType": kind });
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Big",
            "AttributeDefinitions": [attribute("p"), attribute("s")],
            "KeySchema": [part("p", "HASH"), part("s", "RANGE")],
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    let text = |text: String| json!({ "S": text });
    for folder in 0..16 {
        let item = |at: u32| {
            json!({ "PutRequest": { "Item": {
                "p": text(format!("f{folder}")), "s": text(format!("{at}")), "fill": text("x".repeat(90_000)),
            } } })
        };
        let puts: Vec<Value> = (0..10).map(item).collect();
        ok(
            &aws,
            "BatchWriteItem",
            &json!({ "RequestItems": { "Big": puts } }),
        );
    }
    let proxy = Proxy::before(server.local_addr());
    (server, proxy)
}

/// An amount of money for so many read units.
fn usd(units: f64) -> String {
    format!("{:.12} USD", prices::built_in().read_cost(units))
}

/// Mounts with a directory of state that others share.
fn mount_with(proxy: &Proxy, state: &Path, args: &[&str]) -> Mount {
    let url = proxy.url();
    let variables = [&KEYS[..], &[("XDG_STATE_HOME", state.to_str().unwrap())]].concat();
    Mount::with_env(
        &[&["--remote", "--endpoint", &url, "--max-rcu", "none"], args].concat(),
        &variables,
    )
}

/// Many programs at a time, each of which reads folders.
fn readers(from: usize) -> String {
    let one = |reader: usize| {
        format!(
            "(cat Big/items/f{}/*.json | wc -c) 2>&1 & ",
            (from + reader) % 16
        )
    };
    (0..READERS).map(one).collect::<String>() + "wait"
}

fn ddbfs(state: &Path, args: &[&str]) -> Output {
    Command::new(DDBFS)
        .args(args)
        .envs(KEYS)
        .env("HOME", state)
        .env("XDG_STATE_HOME", state)
        .output()
        .unwrap()
}

/// What the file says that was spent, in read units.
fn counted(state: &Path) -> f64 {
    let text = std::fs::read_to_string(state.join("ddbfs/spent.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    file["spent"].as_f64().unwrap() / prices::built_in().read_cost(1.0)
}

#[test]
fn a_budget_of_a_run_is_passed_by_one_page_however_many_read() {
    let (server, proxy) = scene();
    let state = tempfile::tempdir().unwrap();
    let budget = usd(UNITS);
    let mut mounted = mount_with(&proxy, state.path(), &["--budget", &budget]);
    mounted.bash(&readers(0));
    let units = proxy.units();
    assert!((UNITS..=UNITS + PAGE).contains(&units), "{units}");
    // What the run took is part of the day, for others.
    assert!((counted(state.path()) - units).abs() < 1e-3);
    mounted.unmount();
    server.shutdown();
}

#[test]
fn processes_share_the_budget_of_a_day() {
    let (server, proxy) = scene();
    let state = tempfile::tempdir().unwrap();
    let budget = usd(UNITS) + "/day";
    let args = ["--budget", budget.as_str(), "--remote-ttl", "0"];
    let mut mounts = [0, 1].map(|_| mount_with(&proxy, state.path(), &args));
    std::thread::scope(|scope| {
        for (at, mounted) in mounts.iter().enumerate() {
            scope.spawn(move || mounted.bash(&readers(8 * at)));
        }
    });
    let units = proxy.units();
    assert!((UNITS..=UNITS + PAGE).contains(&units), "{units}");
    let counts = counted(state.path());
    assert!((counts - units).abs() < 1e-3, "{counts} {units}");
    let limits = |file: &str| -> Value {
        let told: Value = serde_json::from_str(&mounts[0].ok(&format!("cat .ddb/{file}"))).unwrap();
        told["limits"].clone()
    };
    let told = limits("stats.json");
    assert_eq!(
        (
            &told["budget_of"],
            &told["left"],
            &told["read_units_a_second"],
            &told["write_units_a_second"]
        ),
        (
            &json!("a day"),
            &json!(0.0),
            &Value::Null,
            &json!("default")
        ),
        "{told}"
    );
    assert_eq!(told, limits("capacity.json"));
    let said = mounts[1].ok("cat Big/items/f9/1.json 2> /dev/null || cat .ddb/errors/last");
    assert!(
        said.contains("the budget of today is used up") && said.contains("--budget none"),
        "{said}"
    );
    let top = mounts[0].ok(&format!("{DDBFS} top --once ."));
    assert!(
        top.contains("spent_today") && top.contains("a day"),
        "{top}"
    );
    mounts.iter_mut().for_each(Mount::unmount);

    // A copy too, unless it has a budget of its own, which the day counts too.
    let data = state.path().join("data");
    let url = proxy.url();
    let pull = [
        "pull",
        "Big",
        "--from-endpoint",
        &url,
        "--data",
        data.to_str().unwrap(),
        "--max-rcu",
        "none",
    ];
    let (out, err) = texts(&ddbfs(
        state.path(),
        &[&pull[..], &["--budget", &budget]].concat(),
    ));
    assert!(err.contains("the budget of today is used up"), "{out}{err}");
    assert!(
        err.contains("USD a day for all mounts, pulls and pushes")
            && err.contains("reads: any rate (--max-rcu)"),
        "{err}"
    );
    let pulled = ddbfs(state.path(), &[&pull[..], &["--budget", "1 USD"]].concat());
    assert!(pulled.status.success(), "{pulled:?}");
    let counts = counted(state.path());
    assert!((counts - proxy.units()).abs() < 1e-3, "{counts}");
    server.shutdown();
}

#[test]
fn a_mount_that_is_killed_in_a_request_has_paid_for_it() {
    let (server, proxy) = scene();
    let state = tempfile::tempdir().unwrap();
    let mut mounted = mount_with(&proxy, state.path(), &["--remote-ttl", "3600"]);
    mounted.ok("cat Big/items/f0/1.json > /dev/null");
    let before = proxy.units();
    assert!((counted(state.path()) - before).abs() < 1e-3);
    proxy.always(Some(Trouble::Silence));
    let file = mounted.point().join("Big/query/p=f1/items.ndjson");
    let mut reader = Command::new("cat").arg(file).spawn().unwrap();
    until("a page is reserved", || {
        counted(state.path()) > before + 100.0
    });
    mounted.kill();
    Command::new("umount")
        .arg("-l")
        .arg(mounted.point())
        .status()
        .unwrap();
    reader.wait().unwrap();
    proxy.always(None);
    // A page at most is counted too much, nothing too little.
    let counts = counted(state.path());
    assert!(
        (before + 100.0..before + 600.0).contains(&counts),
        "{counts} {before}"
    );
    let mut mounted = mount_with(&proxy, state.path(), &[]);
    mounted.ok("cat Big/items/f0/1.json > /dev/null");
    assert!(counted(state.path()) > counts);
    mounted.unmount();
    server.shutdown();
}

#[test]
fn limits_are_told_when_a_mount_begins_and_none_lifts_them() {
    let (server, proxy) = scene();
    let state = tempfile::tempdir().unwrap();
    let url = proxy.url();
    let told = |args: &[&str]| {
        let point = tempfile::tempdir().unwrap();
        let (at, data) = (point.path().to_str().unwrap(), state.path().join("data"));
        let mount = [
            "mount",
            "--remote",
            "--endpoint",
            &url,
            "--background",
            "--data",
            data.to_str().unwrap(),
        ];
        let (out, err) = texts(&ddbfs(state.path(), &[&mount[..], args, &[at]].concat()));
        let ended = ddbfs(state.path(), &["umount", at]);
        assert!(ended.status.success(), "{out}{err}{ended:?}");
        out
    };
    assert_eq!(
        told(&[]),
        "limits: 1 USD a day for all mounts, pulls and pushes, 0.00 USD spent today (--budget); \
         reads: a tenth of provisioned units, 100 a second on demand (--max-rcu); \
         writes: a tenth of provisioned units (--max-wcu); none lifts a limit\n"
    );
    assert_eq!(
        told(&["--budget", "none", "--max-rcu", "none", "--max-wcu", "7"]),
        "limits: none (--budget); reads: any rate (--max-rcu); writes: 7 units a second (--max-wcu); none lifts a limit\n"
    );
    server.shutdown();
}

#[test]
fn a_day_that_cannot_be_counted_is_said_and_needs_no_count_with_a_budget_of_a_run() {
    let (server, proxy) = scene();
    let dir = tempfile::tempdir().unwrap();
    let url = proxy.url();
    let data = dir.path().join("data");
    let pull = [
        "pull",
        "Big",
        "--from-endpoint",
        &url,
        "--data",
        data.to_str().unwrap(),
        "--max-rcu",
        "none",
    ];
    let with = |state: &Path, args: &[&str]| texts(&ddbfs(state, &[&pull[..], args].concat()));
    // Nothing can be made there, by root either.
    let (_, said) = with(Path::new("/proc"), &[]);
    assert!(
        said.contains("cannot be counted in /proc/ddbfs/spent.json")
            && said.contains("XDG_STATE_HOME"),
        "{said}"
    );
    let file = dir.path().join("ddbfs/spent.json");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{}").unwrap();
    let (_, said) = with(dir.path(), &[]);
    assert!(said.contains("remove it to count from now"), "{said}");
    proxy.take_operations();
    let (out, said) = with(dir.path(), &["--budget", "1 USD"]);
    assert!(out.starts_with("160 items pulled; "), "{out}{said}");
    server.shutdown();
}

#[test]
fn a_budget_begins_anew_with_the_day_of_utc() {
    let (server, proxy) = scene();
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(1_800_000_000_000));
    let budget = Budget::default();
    budget.set_day(DayBudget {
        ledger: SpendLedger::new(dir.path().join("spent.json"), Arc::clone(&clock) as _),
        limit: Some(prices::built_in().read_cost(20.0)),
    });
    let limits = SpendLimits {
        reads: RateOption::Unlimited,
        writes: RateOption::Unlimited,
        money: None,
        timeout: PATIENT,
    };
    let aws = Arc::new(service(&proxy.url(), PATIENT));
    let meter = MeteredTransport::new(aws, limits, prices::built_in()).with_budget(budget);
    let get = json!({ "TableName": "Big", "Key": { "p": { "S": "f1" }, "s": { "S": "1" } }, "ConsistentRead": true, "ReturnConsumedCapacity": "TOTAL" });
    ok(&meter, "GetItem", &get);
    for _ in 0..2 {
        let refused = call(&meter, "GetItem", &get).unwrap_err();
        assert!(
            matches!(&refused, Error::Budget(text) if text.contains("00:00 UTC")),
            "{refused}"
        );
        let backup = call(&meter, "CreateBackup", &json!({ "TableName": "Big" }));
        assert!(matches!(backup, Err(Error::Budget(_))), "{backup:?}");
        // Back and forth within the day, and to the day before.
        clock.set_ms(1_800_000_000_000 - 86_400_000);
    }
    ok(&meter, "DescribeTable", &json!({ "TableName": "Big" }));
    clock.set_ms(1_800_000_000_000 + 86_400_000);
    ok(&meter, "GetItem", &get);
    server.shutdown();
}

#[test]
fn a_table_has_a_tenth_of_its_units_and_an_index_of_its_own() {
    let server = server();
    let proxy = Proxy::before(server.local_addr());
    let limits = SpendLimits {
        reads: RateOption::Default,
        writes: RateOption::Default,
        money: None,
        timeout: Duration::from_millis(100),
    };
    let aws = service(&proxy.url(), PATIENT);
    let meter = |timeout| {
        let limits = SpendLimits { timeout, ..limits };
        MeteredTransport::new(
            Arc::new(service(&proxy.url(), PATIENT)),
            limits,
            prices::built_in(),
        )
    };
    let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let units =
        |read: u32, write: u32| json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write });
    ok(
        &aws,
        "CreateTable",
        &json!({
            "TableName": "Prov",
            "AttributeDefinitions": [attribute("p"), attribute("g")],
            "KeySchema": [{ "AttributeName": "p", "KeyType": "HASH" }],
            "GlobalSecondaryIndexes": [{
                "IndexName": "byG",
                "KeySchema": [{ "AttributeName": "g", "KeyType": "HASH" }],
                "Projection": { "ProjectionType": "ALL" },
                "ProvisionedThroughput": units(20, 10),
            }],
            "ProvisionedThroughput": units(50, 10_000),
        }),
    );
    let put = |fill: &str| {
        let item =
            json!({ "p": { "S": "a" }, "g": { "S": "b" }, "fill": { "S": fill.repeat(100_000) } });
        json!({ "TableName": "Prov", "Item": item, "ReturnConsumedCapacity": "INDEXES" })
    };
    ok(&aws, "PutItem", &put("x"));
    let scan = |index: Option<&str>| {
        let mut body = json!({ "TableName": "Prov", "ReturnConsumedCapacity": "INDEXES" });
        if let Some(index) = index {
            body["IndexName"] = index.into();
        }
        body
    };
    let refused = |answer: Result<Value, Error>, text: &str| match answer {
        Err(Error::Remote(error)) if error.exception == "ThrottlingException" => {
            assert!(
                error.message.starts_with(text) && error.message.ends_with("none"),
                "{}",
                error.message
            );
        }
        other => panic!("{text}: {other:?}"),
    };
    let meter_of_all = meter(Duration::from_millis(100));
    for (operation, body, text) in [
        (
            "Scan",
            scan(None),
            "the default --max-rcu of 5 units a second for Prov is used up",
        ),
        (
            "Scan",
            scan(Some("byG")),
            "the default --max-rcu of 2 units a second for Prov/byG is used up",
        ),
        // The table would take more, the index does not.
        (
            "PutItem",
            put("y"),
            "the default --max-wcu of 1 units a second for Prov/byG is used up",
        ),
    ] {
        ok(&meter_of_all, operation, &body);
        refused(call(&meter_of_all, operation, &body), text);
    }
    // A table on demand has a rate of its own for reads, and none for writes.
    for at in 0..200 {
        ok(
            &meter_of_all,
            "PutItem",
            &json!({ "TableName": "Pets", "Item": { "p": { "S": format!("{at}") }, "fill": { "S": "x".repeat(10_000) } } }),
        );
    }
    // A page of 1 MB takes 128 units.
    ok(
        &meter_of_all,
        "Scan",
        &json!({ "TableName": "Pets", "ReturnConsumedCapacity": "TOTAL" }),
    );
    refused(
        call(&meter_of_all, "GetItem", &key("1")),
        "the default --max-rcu of 100 units a second for Pets is used up",
    );
    // Asked for once each, and again by a change.
    proxy.take_operations();
    let update = json!({ "TableName": "Prov", "ProvisionedThroughput": units(10_000, 10_000) });
    ok(&meter_of_all, "UpdateTable", &update);
    ok(&meter_of_all, "Scan", &scan(None));
    ok(&meter_of_all, "Scan", &scan(None));
    assert_eq!(
        proxy.take_operations(),
        ["UpdateTable", "DescribeTable", "Scan", "Scan"]
    );
    let fresh = meter(PATIENT);
    ok(&fresh, "Scan", &scan(None));
    ok(&fresh, "Scan", &scan(None));
    assert_eq!(proxy.take_operations(), ["DescribeTable", "Scan", "Scan"]);
    server.shutdown();
}

/// The mount's own tests lift the limits; here they are as a user has them.
#[test]
fn a_mount_with_defaults_reads_small_tables_at_once() {
    let (server, proxy) = scene();
    let mut mounted = mount(&proxy, &[]);
    assert_eq!(mounted.ok("ls Big/items/f3 | wc -l"), "10\n");
    mounted.unmount();
    server.shutdown();
}

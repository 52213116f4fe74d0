//! Tests of the files that show capacity, metrics, partitions and heat, in a real mount.

use std::sync::Arc;

use crate::support::mounted::*;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::model::metrics::PartitionLimits;
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

fn json_of(mount: &Mount, path: &str) -> Value {
    let text = mount.sh(&format!("cat '{path}'")).ok().to_owned();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error} in {text}"))
}

#[test]
fn what_the_mount_reads_and_writes_is_counted() {
    let mount = Mount::with_tables();
    mount.sh(r#"mkdir Orders/items/u1 && echo '{"status":"open","created":"1"}' > Orders/items/u1/o1.json"#).ok();
    // Reading is a consistent get; listing and stat are none.
    mount
        .sh("cat Orders/items/u1/o1.json; ls -lR Orders/items")
        .ok();
    let capacity = json_of(&mount, "Orders/capacity.json");
    let table = &capacity["sources"][0];
    assert_eq!(
        (&table["name"], &table["kind"]),
        (&json!("Orders"), &json!("table"))
    );
    assert_eq!(
        table["since_start"],
        json!({ "read_units": 1.0, "write_units": 1.0, "throttles": 0 })
    );
    assert_eq!(table["last_minute"], table["since_start"]);
    assert_eq!(
        capacity["sources"][1]["since_start"],
        json!({ "read_units": 0.0, "write_units": 1.0, "throttles": 0 })
    );
    assert!(
        capacity["month"]["at_the_rate_since_start"]["total"]
            .as_f64()
            .unwrap()
            > 0.0
    );

    let put =
        r#"ddbfs_successful_request_latency_seconds_count{table="Orders",operation="PutItem"} 1"#;
    mount.sh(&format!("grep -qxF '{put}' .ddb/stats.prom")).ok();
    let consumed = r#"jq -s 'map(select(.MetricName=="ConsumedWriteCapacityUnits" and .Dimensions.GlobalSecondaryIndexName=="by-status").Sum)|add==1' Orders/metrics.ndjson"#;
    assert_eq!(mount.sh(consumed).ok(), "true\n");
    // For lookup only.
    assert_eq!(
        mount
            .sh("ls Orders | { grep -c -e capacity -e metrics || true; }")
            .ok(),
        "0\n"
    );
    mount.sh("echo x > Orders/capacity.json").failed();
}

/// Mounts a database with small partitions, and a clock that stands, so that all requests stay in
/// the last minute.
fn modelled() -> (Mount, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let partition_limits = PartitionLimits {
        bytes_max: 30_000,
        read_units_max: 4.0,
        write_units_max: 8.0,
    };
    let background_period = None;
    let options = EngineOptions {
        clock: clock.clone(),
        partition_limits,
        background_period,
        ..EngineOptions::default()
    };
    let db = Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
    create_table(&*db, ORDERS);
    create_table(&*db, FLAT);
    (Mount::of(db), clock)
}

fn fill(mount: &Mount) {
    let fill = "x".repeat(700);
    for n in 0..240 {
        let (user, status) = (n % 40, ["open", "paid", "sent", "sent", "sent"][n % 5]);
        let item = format!(
            r#"{{"pk":"u{user}","sk":"o{n}","status":"{status}","created":"{n:04}","total":"{}","fill":"{fill}"}}"#,
            &fill[..200]
        );
        put(&*mount.db, "Orders", &item);
        put(
            &*mount.db,
            "Flat",
            &format!(r#"{{"id":"f{n}","fill":"{fill}"}}"#),
        );
    }
    mount.local.engine().run_background_work().unwrap();
}

#[test]
fn partitions_list_each_collection_once_as_a_link_to_it() {
    let (mount, _) = modelled();
    fill(&mount);
    assert_eq!(
        mount.sh("ls -d Orders/partitions").ok(),
        "Orders/partitions\n"
    );
    let count = mount
        .sh("ls -d Orders/partitions/p*/ | wc -l")
        .ok()
        .trim()
        .parse::<u32>()
        .unwrap();
    assert!(count > 6, "{count}");
    // No collection is as large as a partition, so each is whole in one.
    let sorted = "ls Orders/partitions/*/keys | grep '^u' | sort";
    assert_eq!(
        mount.sh(sorted).ok(),
        mount.sh("ls Orders/items | sort").ok()
    );
    let first = mount
        .sh("ls -d Orders/partitions/*/keys/u7")
        .ok()
        .trim()
        .to_owned();
    assert_eq!(
        mount.sh(&format!("readlink {first}")).ok(),
        "../../../items/u7\n"
    );
    assert_eq!(mount.sh(&format!("ls {first}/ | wc -l")).ok(), "6\n");
    assert_eq!(
        mount
            .sh("ls Flat/partitions/*/keys | grep -c '^f.*json$'")
            .ok(),
        "240\n"
    );
    assert!(
        mount
            .sh("cat Flat/partitions/*/keys/f7.json")
            .ok()
            .starts_with(r#"{"id":"f7","#)
    );
    // A global index has its own, and `sent` is larger than one: it is in several.
    let parts = mount
        .sh("ls -d Orders/gsi/by-status/partitions/*/keys/sent | wc -l")
        .ok()
        .trim()
        .parse::<u32>()
        .unwrap();
    assert!(parts > 1, "{parts}");
    // Paths of absent partitions do not exist; and these directories are read-only.
    mount.sh("ls Orders/partitions/p0").failed();
    mount.sh("ls Orders/partitions/p99").failed();
    mount.sh("ls Orders/partitions/*/keys/u99").failed();
    assert!(
        mount
            .sh("touch Orders/partitions/p00/x")
            .failed()
            .contains("Read-only file system")
    );
    assert!(
        mount
            .sh("rm Orders/partitions/*/keys/u7")
            .failed()
            .contains("Read-only file system")
    );
    // Whole walks end, and backups see sizes that do not change.
    mount
        .sh("find . -type f | wc -l; du -s . > /dev/null; tar -cf /dev/null Orders/partitions")
        .ok();
    assert_eq!(
        mount
            .sh("stat -c %s Orders/partitions/p*/stats.json | sort -u")
            .ok(),
        "1536\n"
    );
    assert_eq!(
        mount
            .sh("cat Orders/partitions/p00/stats.json | wc -c")
            .ok(),
        "1536\n"
    );
    // Cuts by size are at keys, and inside the large collections of the index.
    let bounds =
        "jq -r '[.key_from, .key_to][] | strings' Orders/partitions/p*/stats.json | sort -u";
    assert!(
        mount
            .sh(bounds)
            .ok()
            .lines()
            .all(|key| key.starts_with('u')),
        "{}",
        mount.sh(bounds).ok()
    );
    let inside = "cut -f16 Orders/gsi/by-status/partitions/heat.tsv | grep -c '^sent/[0-9]'";
    mount.sh(inside).ok();
    let items = "jq -s 'map(.items)|add' Orders/partitions/p*/stats.json";
    assert_eq!(mount.sh(items).ok(), "240\n");
}

#[test]
fn a_partition_has_the_items_that_it_has_of_a_cut_collection() {
    let (mount, _) = modelled();
    fill(&mount);
    // The index's largest value is cut by size, inside the collection.
    let sent = "Orders/gsi/by-status/partitions/*/keys/sent";
    let parts: Vec<String> = mount
        .sh(&format!("ls -d {sent}/"))
        .ok()
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(parts.len() > 1, "{parts:?}");
    let whole: Vec<String> = mount
        .sh("ls -U Orders/gsi/by-status/items/sent")
        .ok()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(whole.len(), 144);
    let mut seen = Vec::new();
    for part in &parts {
        let names: Vec<String> = mount
            .sh(&format!("ls -U {part}"))
            .ok()
            .lines()
            .map(str::to_owned)
            .collect();
        // One after the other, in their order.
        let first = whole.iter().position(|name| *name == names[0]).unwrap();
        assert_eq!(names, whole[first..first + names.len()], "{part}");
        let counted = format!(
            "[ $(jq .items {part}../../stats.json) -ge {} ] && cat {part}/* | wc -l",
            names.len()
        );
        assert_eq!(
            mount.sh(&counted).ok(),
            format!("{}\n", names.len()),
            "each link leads to its item"
        );
        assert_eq!(
            mount.sh(&format!("readlink '{part}{}'", names[0])).ok(),
            format!("../../../../items/sent/{}\n", names[0])
        );
        // An item of another partition is absent here.
        let other = whole.iter().find(|name| !names.contains(name)).unwrap();
        mount.sh(&format!("ls '{part}{other}'")).failed();
        mount
            .sh(&format!("ls '{part}nothing' '{part}9999.json'"))
            .failed();
        seen.extend(names);
    }
    seen.sort();
    let mut all = whole.clone();
    all.sort();
    assert_eq!(seen, all, "each item is in one partition");
    assert!(
        mount
            .sh(&format!("rm {}{}", parts[0], seen[0]))
            .failed()
            .contains("Read-only file system")
    );
    // Listings and stat agree, also for values that are whole.
    let kinds = "import os\nfor at, folders, files in os.walk('.'):\n for found in os.scandir(at):\n  \
                 print(found.is_symlink(), found.is_symlink() == os.path.islink(found.path), found.inode() == os.lstat(found.path).st_ino)";
    let kinds =
        mount.sh(&format!("cd Orders/gsi/by-status/partitions && python3 -c \"{kinds}\" | sort | uniq -c | sed 's/^ *[0-9]* //'"));
    assert_eq!(kinds.ok(), "False True True\nTrue True True\n");
}

#[test]
fn heat_is_told_in_tables_and_drawn() {
    let (mount, clock) = modelled();
    fill(&mount);
    for (user, times) in [("u3", 200), ("u11", 60), ("u20", 20)] {
        let key = format!(r#"{{"pk":"{user}","sk":"o{}"}}"#, &user[1..]);
        (0..times).for_each(|_| drop(get(&*mount.db, "Orders", &key)));
    }
    let hottest = mount
        .sh("sort -t$'\\t' -k7,7nr Orders/partitions/heat.tsv | head -1 | cut -f1")
        .ok()
        .trim()
        .to_owned();
    let of_hot = mount
        .sh("sort -t$'\\t' -k4,4nr Orders/partitions/hot.tsv | head -1 | cut -f2,3")
        .ok()
        .to_owned();
    assert_eq!(of_hot, format!("{hottest}\tu3\n"));
    assert_eq!(
        mount.sh("ls -d Orders/partitions/*/keys/u3").ok(),
        format!("Orders/partitions/{hottest}/keys/u3\n")
    );
    // Single items are counted once contributor insights are enabled.
    assert!(
        mount
            .sh("tail -n 1 Orders/partitions/hot-items.tsv")
            .ok()
            .contains("UpdateContributorInsights")
    );
    let body = serde_json::json!({ "TableName": "Orders", "ContributorInsightsAction": "ENABLE" });
    ddbfs::protocol::call("UpdateContributorInsights", body, &*mount.db, "localhost").unwrap();
    (0..6).for_each(|_| drop(get(&*mount.db, "Orders", r#"{"pk":"u11","sk":"o11"}"#)));
    let of_hot = mount
        .sh("sed 1d Orders/partitions/hot-items.tsv | cut -f1,3,8")
        .ok()
        .to_owned();
    assert_eq!(of_hot, "1\tu11/o11.json\t3.0\n");
    let columns = mount
        .sh("sed 1d Orders/partitions/heat.tsv | awk -F'\\t' '{print NF}' | sort -u")
        .ok()
        .to_owned();
    assert_eq!(columns, "17\n");
    // Collections without local indexes have no size limit.
    assert_eq!(
        mount
            .sh("sed -n 2p Orders/partitions/big.tsv | cut -f6")
            .ok(),
        "-\n"
    );
    // 48 items of 5 of 8: the largest of the index.
    let big = mount
        .sh("sed -n 2p Orders/gsi/by-status/partitions/big.tsv | cut -f1,3,4")
        .ok()
        .to_owned();
    assert_eq!(big, "1\tsent\t144\n");
    let picture = mount.sh("cat Orders/heat.svg").ok().to_owned();
    for part in [
        "<svg xmlns",
        "prefers-color-scheme:dark",
        ">u3</text>",
        ">gsi/by-status<",
        "last minute, on average",
        "</svg>",
    ] {
        assert!(picture.contains(part), "{part} is missing in {picture}");
    }
    // Skew is found even without requests: one of the index's values has 60 % of all bytes. A key
    // without items is reported as such.
    clock.advance_ms(120_000);
    drop(get(&*mount.db, "Flat", r#"{"id":"nobody"}"#));
    mount
        .sh("grep -q 'no load in the last minute' Orders/heat.svg")
        .ok();
    mount.sh("sed -n '/>gsi.by-status</,$p' Orders/heat.svg | grep -A6 '>sent</text>' | grep -q '>60 %</text>'").ok();
    mount.sh("grep -q 'last hour, on average' Orders/heat.hour.svg && grep -q '>gone, hash [0-9a-f]*</text>' Flat/heat.svg").ok();
    if let Some(path) = std::env::var_os("DDBFS_TEST_PICTURE") {
        std::fs::write(path, picture).unwrap();
    }
}

#[test]
fn heat_is_told_of_the_last_minute_hour_and_day() {
    let (mount, clock) = modelled();
    fill(&mount);
    (0..200).for_each(|_| drop(get(&*mount.db, "Orders", r#"{"pk":"u3","sk":"o3"}"#)));
    let first = mount
        .sh("head -n 1 Orders/partitions/heat.tsv")
        .ok()
        .to_owned();
    assert_eq!(
        first,
        "#last minute: 2023-11-14T22:12:30.000Z to 2023-11-14T22:13:20.000Z\n"
    );
    // 200 half units in one second, of 4 a second that a partition gives, and 144 writes of 8.
    let top = "sed 1,2d Orders/partitions/%.tsv | sort -t$'\\t' -k12,12nr | head -n 1 | cut -f13";
    assert_eq!(
        mount.sh(&top.replace('%', "heat")).ok(),
        "2023-11-14T22:13:20.000Z\n"
    );
    clock.advance_ms(120_000);
    mount.local.engine().run_background_work().unwrap();
    assert_eq!(
        mount.sh("sed 1,2d Orders/partitions/hot.tsv | wc -l").ok(),
        "0\n"
    );
    for window in ["hour", "day"] {
        let hottest = mount
            .sh(&format!("sed 1,2d Orders/partitions/hot.{window}.tsv | sort -t$'\\t' -k4,4nr | head -n 1 | cut -f3,4"))
            .ok()
            .to_owned();
        assert_eq!(hottest, "u3\t100.0\n");
        assert_eq!(
            mount.sh(&top.replace('%', &format!("heat.{window}"))).ok(),
            "2023-11-14T22:13:20.000Z\n"
        );
        let line = mount
            .sh(&format!("head -n 1 Orders/partitions/hot.{window}.tsv"))
            .ok()
            .to_owned();
        assert!(
            line.starts_with(&format!("#last {window}: "))
                && line.ends_with(" to 2023-11-14T22:15:20.000Z\n"),
            "{line}"
        );
        assert!(
            mount
                .sh(&format!("cat Orders/heat.{window}.svg"))
                .ok()
                .contains(&format!("last {window}"))
        );
    }
    // For lookup only.
    assert_eq!(
        mount
            .sh("ls Orders Orders/partitions | { grep -c -e heat -e hot || true; }")
            .ok(),
        "0\n"
    );
}

#[test]
fn a_throttled_mount_says_busy_and_a_large_collection_is_warned_of() {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let throttle = Some(ThrottleOptions::new(true));
    let options = EngineOptions {
        clock: clock.clone(),
        throttle,
        collection_warning_bytes: Some(500),
        ..EngineOptions::default()
    };
    let db = Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
    let small = r#""BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}"#;
    create_table(
        &*db,
        &FLAT.replace(r#""BillingMode": "PAY_PER_REQUEST""#, small),
    );
    let local = r#""LocalSecondaryIndexes": [{
        "IndexName": "by-status", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "status", "KeyType": "RANGE"}]}],
        "BillingMode""#;
    let held = ORDERS
        .replace("Orders", "Held")
        .replace("\"by-status\"", "\"by-created\"")
        .replace(r#""BillingMode""#, local);
    create_table(&*db, &held);
    let mount = Mount::of(db);
    let seconds = 300;
    let refused = mount.sh(&format!(
        "for n in $(seq {}); do echo '{{}}' > Flat/items/k$n.json || exit 7; done",
        seconds + 1
    ));
    assert!(
        refused.status == 7 && refused.err.contains("Device or resource busy"),
        "{refused:#?}"
    );
    assert_eq!(
        mount.sh("ls Flat/items | wc -l").ok(),
        format!("{seconds}\n")
    );
    let refused = mount
        .sh("echo '{}' > Flat/items/k.json 2> /dev/null || cat .ddb/errors/last")
        .out;
    assert!(
        refused.contains("EBUSY ProvisionedThroughputExceededException")
            && refused.contains("The level of configured"),
        "{refused}"
    );
    for part in [
        "table Flat has 1 provisioned write units a second, and those saved are used up",
        "asked for: a partition key without items in p00",
        "hint: try again in a second, or raise the units with ProvisionedThroughput in .ddb/api/UpdateTable",
        "Flat/partitions/hot.tsv names the keys asked for most",
    ] {
        assert!(refused.contains(part), "{part} is missing in {refused}");
    }
    // Through the API too, with DynamoDB's own response.
    let delete = r#"echo '{"TableName":"Flat","Key":{"id":{"S":"k1"}}}' > .ddb/api/DeleteItem; cat .ddb/errors/last"#;
    assert!(
        mount
            .sh(delete)
            .out
            .contains("asked for: partition key \"k1\".\n"),
        "{}",
        mount.sh(delete).out
    );
    assert!(
        !mount
            .sh("cat .ddb/last/response.json")
            .ok()
            .contains("provisioned write units")
    );
    let all = mount.sh("tail -n1 .ddb/errors.ndjson").ok().to_owned();
    assert!(
        all.contains("table Flat has 1 provisioned write units a second"),
        "{all}"
    );
    let warned = mount
        .sh("jq -c '[.path, .throttles]' .ddb/warnings.ndjson")
        .ok()
        .to_owned();
    assert_eq!(warned, "[\"Flat/partitions/p00\",3]\n");
    // Reading has its own units; `ls` and `stat` consume none.
    let refused = mount.sh(&format!(
        "for n in $(seq {}); do cat Flat/items/k1.json || exit 7; done > /dev/null",
        seconds + 1
    ));
    assert!(
        refused.status == 7 && refused.err.contains("Device or resource busy"),
        "{refused:#?}"
    );
    mount.sh("ls -l Flat/items > /dev/null").ok();
    clock.advance_ms(1_000);
    mount
        .sh("cat Flat/items/k1.json && echo '{}' > Flat/items/k.json")
        .ok();
    let metrics = mount
        .sh("grep '^ddbfs_write_throttle_events_total{table=\"Flat\"}' .ddb/stats.prom")
        .ok()
        .to_owned();
    assert_eq!(
        metrics,
        "ddbfs_write_throttle_events_total{table=\"Flat\"} 3\n"
    );

    mount.sh(r#"mkdir Held/items/u1; for n in 1 2 3; do echo '{"status":"open"}' > Held/items/u1/$n.json; done"#).ok();
    let warning = mount
        .sh("tail -n1 .ddb/warnings.ndjson | jq -r .path")
        .ok()
        .to_owned();
    assert_eq!(warning, "Held/items/u1\n");
    assert!(
        mount
            .sh("cat .ddb/warnings.ndjson")
            .ok()
            .contains("it takes no more")
    );
    let partition = mount
        .sh("python3 -c 'import os; print(os.getxattr(\"Held/items/u1/1.json\", \"user.ddb.partition\").decode(), end=\"\")'")
        .ok()
        .to_owned();
    assert_eq!(
        mount
            .sh(&format!("ls Held/partitions/{partition}/keys"))
            .ok(),
        "u1\n"
    );
}

/// Creates a table with nearly every fault; the advice on it names many paths.
#[test]
fn the_paths_that_advice_names_are_there() {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let options = EngineOptions {
        clock: Arc::clone(&clock) as Arc<_>,
        background_period: None,
        collection_bytes_max: 700 * 1024,
        throttle: Some(ThrottleOptions::new(true)),
        ..EngineOptions::default()
    };
    let db = Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
    let index = |name: &str, key: &str, units: u64| {
        json!({ "IndexName": name, "KeySchema": [{ "AttributeName": key, "KeyType": "HASH" }], "Projection": { "ProjectionType": "ALL" },
                "ProvisionedThroughput": { "ReadCapacityUnits": 5, "WriteCapacityUnits": units } })
    };
    let attribute = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let definition = json!({
        "TableName": "Tab",
        "AttributeDefinitions": (["pk", "sk", "at", "status", "mail", "day"].map(attribute)),
        "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": "sk", "KeyType": "RANGE" }],
        "ProvisionedThroughput": { "ReadCapacityUnits": 5, "WriteCapacityUnits": 400 },
        "LocalSecondaryIndexes": [{ "IndexName": "by-at", "Projection": { "ProjectionType": "KEYS_ONLY" },
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": "at", "KeyType": "RANGE" }] }],
        "GlobalSecondaryIndexes": [index("by-status", "status", 200), index("by-mail", "mail", 400), index("by-day", "day", 400)]
    });
    create_table(&*db, &definition.to_string());
    for n in 0..300 {
        let (pk, text) = (
            if n % 2 == 0 {
                "big one".to_owned()
            } else {
                format!("u{}", n % 50)
            },
            "x".repeat(2000),
        );
        let status = if n % 3 == 0 { "open #1" } else { "held" };
        let day = n % 20 + 10;
        put(
            &*db,
            "Tab",
            &format!(
                r#"{{"pk":"{pk}","sk":"o{n}","at":"{n}","status":"{status}","day":"2023-03-{day}","text":"{text}"}}"#
            ),
        );
        clock.advance_ms(100);
    }
    put(
        &*db,
        "Tab",
        &format!(
            r#"{{"pk":"big one","sk":"huge","at":"1","text":"{}"}}"#,
            "x".repeat(200_000)
        ),
    );
    get(&*db, "Tab", r#"{"pk":"u1","sk":"o1"}"#);
    clock.advance_ms(3_600_000);

    let mount = Mount::of(db);
    let text = mount.sh("cat Tab/advice.md").ok().to_owned();
    for rule in [
        "P-24", "T-21", "G-46", "G-19", "G-13", "L-42", "G-49", "G-36", "G-40",
    ] {
        assert!(text.contains(rule), "{rule} in {text}");
    }
    let spans = text.split('`').skip(1).step_by(2);
    let words: Vec<&str> = spans
        .flat_map(str::split_whitespace)
        .filter(|word| word.starts_with("Tab/"))
        .collect();
    assert!(words.len() > 20, "{words:?}");
    for path in words {
        mount
            .sh(&format!(
                "test -e '{path}' || {{ echo no '{path}'; false; }}"
            ))
            .ok();
    }
}

#[test]
fn shapes_tell_what_the_items_look_like_and_cost_nothing() {
    let (mount, _) = modelled();
    fill(&mount);
    let before = mount.sh("cat Orders/capacity.json").ok().to_owned();
    let shapes = json_of(&mount, "Orders/shapes.json");
    assert_eq!(
        (&shapes["items"], &shapes["items_read"], &shapes["sampled"]),
        (&json!(240), &json!(240), &json!(false))
    );
    let first = &shapes["patterns"][0];
    assert_eq!(
        (&first["partition_key"], &first["sort_key"], &first["items"]),
        (&json!("u<n>"), &json!("o<n>"), &json!(240))
    );
    // The example is a file.
    mount
        .sh("jq -e .pk \"Orders/$(jq -r '.patterns[0].example' Orders/shapes.json)\" > /dev/null")
        .ok();
    let before_text = mount.sh("cat Orders/shapes.md").ok().to_owned();
    assert!(
        before_text.contains("\n| `u<n>` | `o<n>` | 240 | 100.0 | "),
        "{before_text}"
    );
    mount
        .sh("test $(stat -c %s Orders/shapes.md) = $(wc -c < Orders/shapes.md)")
        .ok();
    let reads = |text: &str| {
        serde_json::from_str::<Value>(text).unwrap()["sources"][0]["since_start"]["read_units"]
            .clone()
    };
    // The example was read, as an item, and no other.
    let consumed = reads(mount.sh("cat Orders/capacity.json").ok())
        .as_f64()
        .unwrap()
        - reads(&before).as_f64().unwrap();
    assert!(consumed <= 1.0, "{consumed}");
    // A write shows at once.
    mount.sh(r#"mkdir Orders/items/SETTINGS && echo '{"theme":"dark"}' > Orders/items/SETTINGS/theme.json"#).ok();
    let shapes = json_of(&mount, "Orders/shapes.json");
    let settings = shapes["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|pattern| pattern["partition_key"] == "SETTINGS");
    assert_eq!(settings.unwrap()["example"], "items/SETTINGS/theme.json");
    assert!(mount.sh("cat Orders/shapes.md").ok().contains("`SETTINGS`"));
    // A table of another name, without sort keys; and for lookup only.
    assert_eq!(
        json_of(&mount, "Flat/shapes.json")["patterns"][0]["sort_key"],
        Value::Null
    );
    assert_eq!(
        mount.sh("ls Orders | { grep -c shapes || true; }").ok(),
        "0\n"
    );
    mount.sh("echo x > Orders/shapes.md").failed();
    mount.sh("cat Orders/gsi/by-status/shapes.md").failed();
}

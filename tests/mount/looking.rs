//! Looking at a table is free: information about it consumes nothing, warms nothing, is in no
//! metrics and is not throttled.

use std::sync::Arc;

use crate::support::mounted::*;
use crate::support::wait::until;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::engine::clock::ManualClock;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::fs::view::ViewOptions;
use ddbfs::store::memory::MemoryStore;
use serde_json::{Value, json};

const PROVISIONED: &str = r#"{
    "TableName": "Shop", "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1000},
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "price", "AttributeType": "N"}, {"AttributeName": "status", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "LocalSecondaryIndexes": [{"IndexName": "by-price", "Projection": {"ProjectionType": "KEYS_ONLY"},
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "price", "KeyType": "RANGE"}]}],
    "GlobalSecondaryIndexes": [{"IndexName": "by-status", "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1000},
        "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}]}]}"#;

/// Mounts a throttled table of 400 items, with its clock.
fn shop() -> (Mount, Arc<ManualClock>) {
    let throttle = Some(ThrottleOptions::new(true));
    let clock = Arc::new(ManualClock::at(1_700_000_000_000));
    let options = EngineOptions {
        clock: Arc::clone(&clock) as _,
        throttle,
        background_period: None,
        ..EngineOptions::default()
    };
    let db = Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
    create_table(&*db, PROVISIONED);
    let fill = "x".repeat(3_000);
    for n in 0..400 {
        let (pk, status) = (n % 7, ["open", "paid"][n % 2]);
        let item = json!({"pk": format!("p{pk}"), "sk": format!("{n:03}"), "price": n, "status": status, "fill": fill});
        put(&*db, "Shop", &item.to_string());
    }
    (Mount::of(db), clock)
}

/// Reads first bytes of a result until they are refused.
fn use_up(mount: &Mount, result: &str) {
    let first = format!("head -c 1 Shop/{result}/items.ndjson > /dev/null");
    let spent = mount.sh(&format!("for n in $(seq 20); do {first} || exit 7; done"));
    assert!(
        spent.status == 7 && spent.err.contains("busy"),
        "{spent:#?}"
    );
}

/// Mounts the table with all its read units used up.
fn used_up() -> Mount {
    let (mount, _) = shop();
    for result in ["scan/consistent", "gsi/by-status/scan"] {
        use_up(&mount, result);
    }
    mount
}

/// All files about consumption, which also decides their sizes.
const OF_USE: &str = "cat Shop/partitions/heat.tsv Shop/partitions/hot.tsv Shop/capacity.json Shop/metrics.ndjson; grep -v '^ddbfs_fs' .ddb/stats.prom";

#[test]
fn looking_consumes_nothing_and_is_never_throttled() {
    let mount = used_up();
    let before = mount.sh(OF_USE).ok().to_owned();
    let looks = [
        "cat Shop/advice.md Shop/stats.json Shop/schema.json Shop/schema.plan Shop/describe.json Shop/heat.svg Shop/help",
        "cat Shop/gsi/by-status/stats.json Shop/gsi/by-status/violations.ndjson Shop/gsi/by-status/missing.ndjson",
        "cat Shop/query/@pk=p1/explain.json Shop/scan/explain.json Shop/scan/request.json Shop/query/help",
        "cat Shop/lsi/by-price/query/@pk=p1/select=fill/explain.json Shop/gsi/by-status/query/status=open/explain.json",
        "cat Shop/partitions/heat.tsv Shop/partitions/big.tsv; ls -lR Shop/partitions Shop/items",
        "cat .ddb/advice.md Shop/gsi/by-status/advice.md Shop/lsi/by-price/advice.md Shop/partitions/help .ddb/help/rules.md",
        "mkdir Shop/gsi/by-fill && cat Shop/gsi/by-fill/schema.json && rmdir Shop/gsi/by-fill",
    ];
    for look in looks {
        for _ in 0..3 {
            mount.sh(&format!("{{ {look}; }} > /dev/null")).ok();
        }
    }
    assert_eq!(mount.sh(OF_USE).ok(), before);
    mount.sh("cat Shop/scan/items.ndjson > /dev/null").failed();
}

#[test]
fn a_result_that_has_begun_waits_for_its_units() {
    let (mount, clock) = shop();
    use_up(&mount, "scan/consistent");
    // The first of two pages is let in when a unit is there, and owes 256. The second waits for them.
    let reader =
        "until lines=$(cat Shop/scan/consistent/items.ndjson); do :; done; echo \"$lines\" | wc -l";
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| mount.sh(reader));
        until("the reader has its units", || {
            clock.advance_ms(10_000);
            reader.is_finished()
        });
        assert_eq!(reader.join().unwrap().out, "400\n");
    });
    mount.end();
}

#[test]
fn advice_is_of_all_tables_of_one_and_of_an_index() {
    let (mount, _) = shop();
    let texts = mount.sh("cat .ddb/advice.md; echo ---; cat Shop/gsi/by-status/advice.md; echo ---; cat Shop/lsi/by-price/advice.md");
    let texts: Vec<&str> = texts.ok().split("---\n").collect();
    assert!(
        texts[0].starts_with("# Advice for all tables\n\n") && texts[0].contains("\n| Shop | "),
        "{}",
        texts[0]
    );
    assert!(
        texts[1].starts_with("# Advice for Shop, index by-status\n\n")
            && !texts[1].contains("**Table"),
        "{}",
        texts[1]
    );
    assert!(
        texts[2].starts_with("# Advice for Shop, index by-price\n\n"),
        "{}",
        texts[2]
    );
    // A walk would have every table judged.
    let listed = mount.sh("find . .ddb -name advice.md; ls .ddb Shop Shop/gsi/by-status");
    assert!(!listed.ok().contains("advice"), "{listed:#?}");
    mount
        .sh("grep '^| T-02 ' .ddb/help/rules.md; grep -q '^# Layout' Shop/partitions/help Shop/gsi/by-status/partitions/help")
        .ok();
    mount.sh("cat Shop/gsi/none/advice.md").failed();
    mount.end();
}

fn json_of(mount: &Mount, path: &str) -> Value {
    serde_json::from_str(mount.sh(&format!("cat '{path}'")).ok()).unwrap()
}

/// Checks that the estimate before is the consumption after.
#[test]
fn explain_tells_what_many_pages_take() {
    let db = memory();
    create_table(&*db, &PROVISIONED.replace("Shop", "Many"));
    let fill = "x".repeat(10_000);
    for n in 0..600 {
        let (pk, status) = (if n < 500 { 1 } else { 2 }, ["open", "paid"][n % 2]);
        let item = json!({"pk": format!("p{pk}"), "sk": format!("{n:03}"), "price": n, "status": status, "fill": fill});
        put(&*db, "Many", &item.to_string());
    }
    let mount = Mount::of(db);
    for query in [
        "scan",
        "query/pk=p1",
        "query/pk=p1/consistent",
        "query/pk=p1/where.price.lt=3/limit=2",
        "query/pk.shards=p,1,2",
        "scan/segment=1,3",
        "query/pk=p1/sk.ge=450/desc/limit=20",
        "lsi/by-price/query/pk=p1/select=fill",
        "gsi/by-status/query/status=open/where.price.gt=3",
    ] {
        let told = json_of(&mount, &format!("Many/{query}/explain.json"));
        let took = json_of(&mount, &format!("Many/{query}/capacity.json"));
        let exact = |figure: &Value| json!({"at_least": figure, "at_most": figure});
        assert_eq!(told["requests"], exact(&took["Requests"]), "{query}");
        assert_eq!(told["items"], exact(&took["ScannedCount"]), "{query}");
        assert_eq!(
            told["capacity_units"],
            exact(&took["ConsumedCapacity"]["CapacityUnits"]),
            "{query}"
        );
    }
}

/// Checks the bounds for a query too long to be followed.
#[test]
fn explain_bounds_a_long_query() {
    let db = memory();
    create_table(&*db, &PROVISIONED.replace("Shop", "Long"));
    let fill = "x".repeat(390_000);
    for n in 0..180 {
        put(
            &*db,
            "Long",
            &json!({"pk": "p1", "sk": format!("{n:03}"), "price": n, "fill": fill}).to_string(),
        );
    }
    let mount = Mount::of(db);
    for query in [
        "scan",
        "query/pk=p1/consistent",
        "query/pk.shards=p,1,2",
        "lsi/by-price/query/pk=p1/select=fill",
    ] {
        let told = json_of(&mount, &format!("Long/{query}/explain.json"));
        let took = json_of(&mount, &format!("Long/{query}/capacity.json"));
        let holds = |figure: &Value, took: &Value| {
            let [least, most, took] = [&figure["at_least"], &figure["at_most"], took]
                .map(|figure| figure.as_f64().unwrap());
            assert!(
                least < took && took <= most && most < took * 1.2 + 10.0,
                "{query}: {took} in {figure}"
            );
        };
        holds(&told["requests"], &took["Requests"]);
        holds(&told["items"], &took["ScannedCount"]);
        holds(
            &told["capacity_units"],
            &took["ConsumedCapacity"]["CapacityUnits"],
        );
    }
}

/// Checks that tables that come or go list no file that cannot be opened.
#[test]
fn tables_that_come_and_go_are_copied_and_searched() {
    for show_all in [false, true] {
        let clock = Arc::new(ManualClock::at(1_700_000_000_000));
        let options = EngineOptions {
            clock: clock.clone(),
            table_delay_ms: 60_000,
            ..EngineOptions::default()
        };
        let db =
            Arc::new(LocalDatabase::open(Arc::new(MemoryStore::new().unwrap()), options).unwrap());
        create_table(&*db, &PROVISIONED.replace("Shop", "Leaving"));
        clock.advance_ms(60_000);
        let mount = Mount::with(
            db,
            ViewOptions {
                show_all,
                ..ViewOptions::default()
            },
        );
        mount
            .sh("until grep -q ACTIVE Leaving/stats.json; do sleep 0.1; done")
            .ok();
        mount.sh(r#"mkdir Leaving/items/u1 && echo '{"price":1,"status":"open"}' > Leaving/items/u1/o1.json"#).ok();
        mount.sh("mkdir Coming && echo 'create pk:S sk:N' > Coming/ctl && mkdir Draft && echo drop > Leaving/ctl").ok();
        let status = "cat */stats.json | jq -r .status";
        assert_eq!(mount.sh(status).ok(), "CREATING\nDELETING\n");
        mount
            .sh("tar cf - --exclude=.ddb . | cat > /dev/null; exit ${PIPESTATUS[0]}")
            .ok();
        let found = mount
            .sh("grep -rl '\"TableName\": \"Coming\"' --exclude-dir=.ddb --exclude=describe.json --exclude=schema.workbench.json .")
            .ok()
            .to_owned();
        assert_eq!(found, "./Coming/schema.json\n");
        mount.sh("cat Coming/advice.md Coming/heat.svg Leaving/partitions/big.tsv Leaving/help README.md > /dev/null").ok();
        mount.sh("cat Leaving/items/u1/o1.json").failed();
        mount.sh("cat Leaving/scan/count").failed();
    }
}

/// Checks that the size of a planned index is its size once it is built.
#[test]
fn a_planned_index_is_told_before_it_is_made() {
    let db = memory();
    create_table(&*db, FLAT);
    let fill = "x".repeat(1_500);
    for n in 0..300 {
        let price = if n % 3 == 0 {
            json!(n.to_string())
        } else {
            json!(n)
        };
        let item = if n < 240 {
            json!({"id": format!("{n:03}"), "price": price, "fill": fill})
        } else {
            json!({"id": format!("{n:03}")})
        };
        put(&*db, "Flat", &item.to_string());
    }
    let mount = Mount::of(db);
    let before = mount.sh("cat Flat/capacity.json").ok().to_owned();
    let with = |projection: &str| {
        format!(
            r#"jq '.AttributeDefinitions+=[{{AttributeName:"price",AttributeType:"N"}}] | .GlobalSecondaryIndexes=[{{IndexName:"by-price",KeySchema:[{{AttributeName:"price",KeyType:"HASH"}}],Projection:{{ProjectionType:"{projection}"}}}}]' Flat/schema.json"#
        )
    };
    let planned = |projection: &str| -> Value {
        let script = format!(
            "{} > Flat/schema.plan && cat Flat/schema.plan",
            with(projection)
        );
        let plan: Value = serde_json::from_str(mount.sh_in_new_session(&script).ok()).unwrap();
        plan["steps"][0]["index"].clone()
    };
    let index = planned("ALL");
    assert_eq!(
        (&index["items"], &index["looked_at"], &index["entries"]),
        (&json!(300), &json!(300), &json!(160)),
        "{index:#}"
    );
    assert_eq!(
        (&index["violations"], &index["without_key_attributes"]),
        (&json!(80), &json!(60))
    );
    let examples = index["violation_examples"].as_array().unwrap();
    assert_eq!(
        (
            examples.len(),
            &examples[0]["expected"],
            &examples[0]["found"]
        ),
        (10, &json!("N"), &json!("S"))
    );
    // 160 entries of 2 units each, at the on-demand rate of a new index.
    assert_eq!(
        (
            &index["backfill"]["write_units"],
            &index["backfill"]["at_write_units_a_second"]
        ),
        (&json!(320.0), &json!(4000))
    );
    assert_eq!(
        (&index["backfill"]["seconds"], &index["backfill"]["cost"]),
        (&json!(0.1), &json!(0.0002))
    );
    assert_eq!(
        index["a_put"],
        json!({ "table_units": 1.8, "index_units": 1.067 })
    );
    assert_eq!(
        (&index["distinct_values"], &index["largest_share"]),
        (&json!(160), &json!(0.0063))
    );
    let small = planned("KEYS_ONLY");
    assert_eq!(
        mount.sh("cat Flat/capacity.json").ok(),
        before,
        "planning is free"
    );
    mount
        .sh(&format!(
            "grep -q '\"price\":\"' Flat/{}",
            examples[0]["path"].as_str().unwrap()
        ))
        .ok();
    assert_eq!(small["backfill"]["write_units"], json!(160.0));
    assert!(small["entry_bytes"].as_u64() < index["entry_bytes"].as_u64());
    assert!(
        small["in_words"][1]
            .as_str()
            .unwrap()
            .starts_with("80 have a value that the index cannot hold"),
        "{small:#}"
    );
    mount
        .sh(&format!("{} > Flat/schema.json", with("KEYS_ONLY")))
        .ok();
    mount
        .sh("until grep -q ACTIVE Flat/gsi/by-price/stats.json; do sleep 0.1; done")
        .ok();
    let made = json_of(&mount, "Flat/gsi/by-price/stats.json");
    for (planned, is) in [
        ("entries", "entries"),
        ("entry_bytes", "bytes"),
        ("billed_bytes", "billed_bytes"),
        ("violations", "violations"),
    ] {
        assert_eq!(small[planned], made[is], "{planned}");
    }
    let capacity = json_of(&mount, "Flat/capacity.json");
    assert_eq!(
        capacity["sources"][1]["backfill"]["write_units"],
        small["backfill"]["write_units"]
    );
}

/// The definition of a table in the forms of other tools: out of one table, into drafts and into the table itself.
#[test]
fn definitions_of_other_tools_go_out_and_come_in() {
    let db = memory();
    create_table(&*db, PROVISIONED);
    let mount = Mount::with(db, ViewOptions::default());
    mount
        .sh("for f in schema.cfn.yaml schema.workbench.json describe.json; do
            mkdir New; cat Shop/$f > New/schema.json || exit
            diff <(jq 'del(.TableName)' Shop/schema.json) <(jq 'del(.TableName)' New/schema.json) || exit
            echo drop > New/ctl; done")
        .ok();
    // The same again changes nothing, and an edit of it is an edit of the table.
    mount
        .sh("cp Shop/schema.cfn.yaml /tmp/$$.yaml; cp /tmp/$$.yaml Shop/schema.json && sed 's/ReadCapacityUnits: .*/ReadCapacityUnits: 21/' /tmp/$$.yaml > Shop/schema.json; rm /tmp/$$.yaml")
        .ok();
    assert_eq!(
        mount
            .sh("jq .ProvisionedThroughput.ReadCapacityUnits Shop/schema.json")
            .ok(),
        "21\n"
    );
    let refused = [
        ("cat Shop/schema.tf", "`ddbfs import FILE` reads it"),
        ("printf 'a: 1\n'", "this is no definition of a table"),
        (
            "printf 'Resources:\n  A: {Type: AWS::DynamoDB::Table, Properties: {TableName: !Ref X}}\n'",
            "A: TableName: the template has no parameter X",
        ),
        (
            "jq -n '{tables: [{TableName: \"One\", KeySchema: []}, {TableName: \"Two\", KeySchema: []}]}'",
            "with 2 tables (One, Two), and none is called Refused",
        ),
    ];
    mount.sh("mkdir Refused").ok();
    for (text, expected) in refused {
        let done = mount.sh(&format!("{text} > /tmp/$$.s; cp /tmp/$$.s Refused/schema.json 2> /dev/null && exit 9; rm /tmp/$$.s; cat .ddb/errors/last"));
        assert!(done.ok().contains(expected), "{text}: {}", done.ok());
    }
    // What begins no definition fails in the write: a shell does not look at close.
    assert_ne!(mount.sh("echo hello > Refused/schema.json").status, 0);
}

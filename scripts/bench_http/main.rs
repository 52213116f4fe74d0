//! `scripts/bench`, HTTP: requests a second against `ddbfs serve` as a process of its own, over kept connections.
//!
//! The client is blocking sockets, a thread each, and reads no more of an answer than its status and length; it shares the machine's
//! processors with the server. `--quick` is short; `--addr HOST:PORT` uses a running server; `--only NAME` one operation, for profiles;
//! `--program FILE` measures another build, `--durability HOW` is given to the server. `--tail SECONDS` measures how long single writes wait,
//! and what they cost the disk, see `tail`.

mod client;
mod tail;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::{Connection, Fallible, Scratch, Served, each, expect};

const CONNECTIONS: [usize; 3] = [1, 8, 32];
const ITEMS_PER_PARTITION: u64 = 100;
const BATCH_ITEMS: u64 = 25;
const TABLE: &str = r#"{"TableName":"Bench","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
        {"AttributeName":"color","AttributeType":"S"},{"AttributeName":"day","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
    "LocalSecondaryIndexes":[{"IndexName":"by-day","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"day","KeyType":"RANGE"}]}],
    "GlobalSecondaryIndexes":[{"IndexName":"by-color","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"color","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}]}"#;

struct Scale {
    loop_time: Duration,
    partitions: u64,
}

/// An operation and its body.
type Request = (&'static str, String);

/// What is counted as one: the requests of the n-th, one after another.
struct Kind {
    name: &'static str,
    requests: fn(u64, &Scale) -> Vec<Request>,
}

const KINDS: [Kind; 7] = [
    Kind {
        name: "put",
        requests: |n, _| vec![("PutItem", put("Bench", n))],
    },
    Kind {
        name: "get",
        requests: |n, scale| vec![("GetItem", get(n, scale))],
    },
    Kind {
        name: "update with a condition",
        requests: |n, scale| vec![("UpdateItem", update(n, scale))],
    },
    Kind {
        name: "query of 100 items",
        requests: |n, scale| vec![("Query", query(n, scale))],
    },
    Kind {
        name: "GSI query of 100 items",
        requests: |n, scale| vec![("Query", gsi_query(n, scale))],
    },
    Kind {
        name: "batch write of 25 items",
        requests: |n, _| vec![("BatchWriteItem", batch_write(n))],
    },
    Kind {
        name: "a unit test's life",
        requests: |n, _| life(n),
    },
];

fn main() -> Fallible<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        args.iter()
            .position(|arg| arg == name)
            .and_then(|at| args.get(at + 1))
    };
    let quick = args.iter().any(|arg| arg == "--quick");
    let scale = Scale {
        loop_time: Duration::from_millis(if quick { 300 } else { 3000 }),
        partitions: if quick { 20 } else { 200 },
    };
    let only = value("--only");
    if let Some(addr) = value("--addr") {
        return table(addr, only, &scale);
    }
    let program =
        OsStr::new(value("--program").map_or(env!("CARGO_BIN_EXE_ddbfs"), String::as_str));
    let durability = value("--durability").map(String::as_str);
    if let Some(seconds) = value("--tail") {
        return tail::tail(
            program,
            durability,
            only,
            Duration::from_secs(seconds.parse()?),
        );
    }
    let dir = Scratch::new()?;
    let (served, first) = Served::start(program, dir.data(), durability)?;
    table(&served.addr, only, &scale)?;
    served.end()?;
    let (_, again) = Served::start(program, dir.data(), durability)?;
    println!("\n| `ddbfs serve`, from its start to the first answer | ms |\n|---|---|");
    println!(
        "| on a new directory | {:.0} |\n| on a directory with data | {:.0} |",
        milliseconds(first),
        milliseconds(again)
    );
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Requests a second of each kind.
fn table(addr: &str, only: Option<&String>, scale: &Scale) -> Fallible<()> {
    prepare(addr, scale)?;
    println!(
        "| HTTP, 1 KB items, 1 LSI, 1 GSI | 1 connection | 8 connections | 32 connections |\n|---|---|---|---|"
    );
    for kind in KINDS
        .iter()
        .filter(|kind| only.is_none_or(|only| only == kind.name))
    {
        let mut row = format!("| {} |", kind.name);
        for connections in CONNECTIONS {
            let rate = rate(addr, connections, kind, scale)?;
            write!(row, " {rate:.0} |")?;
        }
        println!("{row}");
    }
    Ok(())
}

// ---- requests -----------------------------------------------------------------------------------------------------------------

/// Spreads counted requests over the keys.
fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (n ^ (n >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 7
}

fn key(n: u64) -> String {
    format!(
        r#""pk":{{"S":"partition-{}"}},"sk":{{"N":"{}"}}"#,
        n / ITEMS_PER_PARTITION,
        n % ITEMS_PER_PARTITION
    )
}

/// About 1 KB of attributes of several types. The items of a partition share their color.
fn item(n: u64) -> String {
    format!(
        r#"{{{},"color":{{"S":"color-{}"}},"day":{{"S":"2026-01-{:02}"}},"count":{{"N":"{n}"}},"open":{{"BOOL":true}},
        "tags":{{"SS":["one","two","three"]}},"place":{{"M":{{"x":{{"N":"1.5"}},"y":{{"N":"-2.25"}}}}}},"text":{{"S":"{}"}}}}"#,
        key(n),
        n / ITEMS_PER_PARTITION,
        n % 28,
        "lorem ipsum ".repeat(70),
    )
}

fn put(table: &str, n: u64) -> String {
    format!(r#"{{"TableName":"{table}","Item":{}}}"#, item(n))
}

fn get(n: u64, scale: &Scale) -> String {
    format!(
        r#"{{"TableName":"Bench","Key":{{{}}}}}"#,
        key(mix(n) % (scale.partitions * ITEMS_PER_PARTITION))
    )
}

fn update(n: u64, scale: &Scale) -> String {
    let key = key(mix(n) % (scale.partitions * ITEMS_PER_PARTITION));
    format!(
        r##"{{"TableName":"Bench","Key":{{{key}}},"UpdateExpression":"SET #c = #c + :one",
        "ConditionExpression":"attribute_exists(pk) AND #c >= :zero","ExpressionAttributeNames":{{"#c":"count"}},
        "ExpressionAttributeValues":{{":one":{{"N":"1"}},":zero":{{"N":"0"}}}}}}"##
    )
}

fn query(n: u64, scale: &Scale) -> String {
    let partition = mix(n) % scale.partitions;
    format!(
        r#"{{"TableName":"Bench","KeyConditionExpression":"pk = :p","Limit":100,
        "ExpressionAttributeValues":{{":p":{{"S":"partition-{partition}"}}}}}}"#
    )
}

fn gsi_query(n: u64, scale: &Scale) -> String {
    let partition = mix(n) % scale.partitions;
    format!(
        r#"{{"TableName":"Bench","IndexName":"by-color","KeyConditionExpression":"color = :c","Limit":100,
        "ExpressionAttributeValues":{{":c":{{"S":"color-{partition}"}}}}}}"#
    )
}

fn batch_write(n: u64) -> String {
    let first = n * BATCH_ITEMS;
    let puts: Vec<String> = (first..first + BATCH_ITEMS)
        .map(|n| format!(r#"{{"PutRequest":{{"Item":{}}}}}"#, item(n)))
        .collect();
    format!(r#"{{"RequestItems":{{"Bench":[{}]}}}}"#, puts.join(","))
}

/// What a unit test asks for: a table, 10 puts, 2 queries, a transaction, and the table's end.
fn life(n: u64) -> Vec<Request> {
    let name = format!("Life{n}");
    let mut requests = vec![("CreateTable", TABLE.replace("Bench", &name))];
    requests.extend((0..10).map(|item| ("PutItem", put(&name, item))));
    let table = format!(r#""TableName":"{name}""#);
    let values = r#""ExpressionAttributeValues":{":v":{"S":"partition-0"}}"#;
    requests.push((
        "Query",
        format!(r#"{{{table},"KeyConditionExpression":"pk = :v",{values}}}"#),
    ));
    let color = values.replace("partition", "color");
    requests.push((
        "Query",
        format!(
            r#"{{{table},"IndexName":"by-color","KeyConditionExpression":"color = :v",{color}}}"#
        ),
    ));
    let puts = format!(
        r#"{{"Put":{}}},{{"Delete":{{{table},"Key":{{{}}}}}}}"#,
        put(&name, 10),
        key(0)
    );
    requests.push((
        "TransactWriteItems",
        format!(r#"{{"TransactItems":[{puts}]}}"#),
    ));
    requests.push(("DeleteTable", format!("{{{table}}}")));
    requests
}

fn prepare(addr: &str, scale: &Scale) -> Fallible<()> {
    let status = Connection::open(addr)?.call("CreateTable", TABLE)?;
    if status == 200 {
        let next = AtomicU64::new(0);
        let total = scale.partitions * ITEMS_PER_PARTITION;
        each(32, &|| {
            let mut connection = Connection::open(addr)?;
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= total {
                    return Ok(());
                }
                expect(connection.call("PutItem", &put("Bench", n))?)?;
            }
        })?;
    }
    Ok(())
}

/// Requests a second over so many connections.
fn rate(addr: &str, connections: usize, kind: &Kind, scale: &Scale) -> Fallible<f64> {
    let next = AtomicU64::new(scale.partitions * ITEMS_PER_PARTITION);
    let done = AtomicU64::new(0);
    let started = Instant::now();
    each(connections, &|| {
        let mut connection = Connection::open(addr)?;
        while started.elapsed() < scale.loop_time {
            let n = next.fetch_add(1, Ordering::Relaxed);
            for (operation, body) in (kind.requests)(n, scale) {
                expect(connection.call(operation, &body)?)?;
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64())
}

//! `--tail`: how long single writes of eight clients wait, and what they cost the disk: its bytes, and the size of the data file.
//!
//! Beside it a thread writes 4 KB to a file of its own and syncs it, again and again: the disk's own tail, of a moment before the run and
//! during it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::client::{Connection, Fallible, Scratch, Served, each, expect};
use super::{BATCH_ITEMS, batch_write, key, mix, put};

const CLIENTS: usize = 8;
const TABLE: &str = r#"{"TableName":"Bench","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
        {"AttributeName":"color","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
    "GlobalSecondaryIndexes":[{"IndexName":"by-color","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"color","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]}]}"#;

/// Pauses between the probes of the disk.
const PROBE_PAUSE: Duration = Duration::from_millis(10);
const PROBE_TIME: Duration = Duration::from_secs(2);

struct Kind {
    name: &'static str,
    operation: &'static str,
    /// Items of the table, which are there before.
    items: u64,
    body: fn(u64, u64) -> String,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "batches",
        operation: "BatchWriteItem",
        items: 200_000,
        body: |n, items| changed(&batch_write(mix(n) % (items / BATCH_ITEMS)), n),
    },
    Kind {
        name: "puts",
        operation: "PutItem",
        items: 200_000,
        body: |n, items| changed(&put("Bench", mix(n) % items), n),
    },
    Kind {
        name: "updates",
        operation: "UpdateItem",
        items: 10_000,
        body: update,
    },
];

/// An item that is put again as it was changes nothing.
fn changed(body: &str, n: u64) -> String {
    body.replace("lorem", &format!("{:05}", n % 100_000))
}

fn update(n: u64, items: u64) -> String {
    let key = key(mix(n) % items);
    format!(
        r##"{{"TableName":"Bench","Key":{{{key}}},"UpdateExpression":"SET #c = :n","ExpressionAttributeNames":{{"#c":"count"}},
        "ExpressionAttributeValues":{{":n":{{"N":"{n}"}}}}}}"##
    )
}

/// Prints a table, a row a kind.
pub fn tail(
    program: &OsStr,
    durability: Option<&str>,
    only: Option<&String>,
    time: Duration,
) -> Fallible<()> {
    println!(
        "| {CLIENTS} clients, 1 KB items, 1 GSI | a second | p50 ms | p99 | p99.9 | max | data file / live MB | written KB each, MB/s | the disk's own sync before: p50, p99, max | beside |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    KINDS
        .iter()
        .filter(|kind| only.is_none_or(|only| only == kind.name))
        .try_for_each(|kind| measure(program, durability, kind, time))
}

fn measure(program: &OsStr, durability: Option<&str>, kind: &Kind, time: Duration) -> Fallible<()> {
    let dir = Scratch::new()?;
    let (served, _) = Served::start(program, dir.data(), durability)?;
    fill(&served.addr, kind.items)?;
    let quiet = Mutex::new(Vec::new());
    probe(&dir.data().with_extension("probe"), &quiet, &|since| {
        since > PROBE_TIME
    })?;
    let (waits, beside, done) = (
        Mutex::new(Vec::new()),
        Mutex::new(Vec::new()),
        AtomicBool::new(false),
    );
    let before = written_bytes(&dir.data())?;
    let rate = std::thread::scope(|scope| {
        let probing = scope.spawn(|| {
            probe(&dir.data().with_extension("probe"), &beside, &|_| {
                done.load(Ordering::Relaxed)
            })
            .map_err(|error| error.to_string())
        });
        let rate = run(&served.addr, kind, time, &waits);
        done.store(true, Ordering::Relaxed);
        probing.join().map_err(|_| "the probe panicked")??;
        rate
    })?;
    let written = (written_bytes(&dir.data())? - before) as f64;
    let bytes = fs::metadata(dir.data().join("data.mdb"))?.len();
    served.end()?;
    Command::new(program)
        .arg("compact")
        .arg("--data")
        .arg(dir.data())
        .output()?;
    let live = fs::metadata(dir.data().join("data.mdb"))?.len();
    let seconds = time.as_secs_f64();
    println!(
        "| {} {} | {rate:.0} | {} | {} / {} | {:.0}, {:.0} | {} | {} |",
        kind.name,
        durability.unwrap_or("power"),
        percentiles(&waits, &[500, 990, 999, 1000], " | "),
        bytes / 1_000_000,
        live / 1_000_000,
        written / (rate * seconds) / 1e3,
        written / seconds / 1e6,
        percentiles(&quiet, &[500, 990, 1000], ", "),
        percentiles(&beside, &[500, 990, 1000], ", "),
    );
    Ok(())
}

/// All items, in the order of their numbers, which is none to the store.
fn fill(addr: &str, items: u64) -> Fallible<()> {
    expect(Connection::open(addr)?.call("CreateTable", TABLE)?)?;
    let next = AtomicU64::new(0);
    each(CLIENTS, &|| {
        let mut connection = Connection::open(addr)?;
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n * BATCH_ITEMS >= items {
                return Ok(());
            }
            expect(connection.call("BatchWriteItem", &batch_write(n))?)?;
        }
    })
}

/// Requests a second, and how long each waited.
fn run(addr: &str, kind: &Kind, time: Duration, waits: &Mutex<Vec<f64>>) -> Fallible<f64> {
    let (next, started) = (AtomicU64::new(0), Instant::now());
    each(CLIENTS, &|| {
        let mut connection = Connection::open(addr)?;
        let mut mine = Vec::new();
        while started.elapsed() < time {
            let body = (kind.body)(next.fetch_add(1, Ordering::Relaxed), kind.items);
            let asked = Instant::now();
            expect(connection.call(kind.operation, &body)?)?;
            mine.push(asked.elapsed().as_secs_f64());
        }
        waits
            .lock()
            .map_err(|_| "a client panicked")?
            .append(&mut mine);
        Ok(())
    })?;
    Ok(waits.lock().map_err(|_| "a client panicked")?.len() as f64
        / started.elapsed().as_secs_f64())
}

/// What the disk of a file has written since the machine's start, for whomever.
fn written_bytes(path: &Path) -> Fallible<u64> {
    let device = fs::metadata(path)?.dev();
    let stat = fs::read_to_string(format!(
        "/sys/dev/block/{}:{}/stat",
        (device >> 8) & 0xFFF,
        device & 0xFF
    ))?;
    let sectors: u64 = stat
        .split_whitespace()
        .nth(6)
        .ok_or("no count of sectors")?
        .parse()?;
    Ok(sectors * 512)
}

/// How long the disk takes to keep 4 KB.
fn probe(path: &Path, times: &Mutex<Vec<f64>>, is_over: &dyn Fn(Duration) -> bool) -> Fallible<()> {
    let (file, started) = (File::create(path)?, Instant::now());
    file.write_all_at(&[0; 4096], 0)?;
    file.sync_all()?;
    while !is_over(started.elapsed()) {
        std::thread::sleep(PROBE_PAUSE);
        let begun = Instant::now();
        file.write_all_at(&[1; 4096], 0)?;
        file.sync_data()?;
        times
            .lock()
            .map_err(|_| "the probe panicked")?
            .push(begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Of seconds, in milliseconds; parts are thousandths.
fn percentiles(times: &Mutex<Vec<f64>>, parts: &[usize], between: &str) -> String {
    let Ok(mut times) = times.lock() else {
        return String::new();
    };
    times.sort_by(f64::total_cmp);
    let at = |part: &usize| {
        times
            .get((times.len().saturating_sub(1) * part).div_ceil(1000))
            .copied()
            .unwrap_or_default()
    };
    parts
        .iter()
        .map(|part| format!("{:.1}", at(part) * 1e3))
        .collect::<Vec<_>>()
        .join(between)
}

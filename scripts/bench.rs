//! `scripts/bench`: engine and mount operations as a table, beside the same file operations on the machine's own file system.
//!
//! Absolute figures drift with the machine; compare ratios within one run. `--durability kill` measures that.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ddbfs::codec::json::document::Document;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database, Entries, Source};
use ddbfs::engine::{Engine, EngineOptions};
use ddbfs::model::api::{CreateTableRequest, GetItemRequest, Placeholders, PutItemRequest, QueryRequest, ScanRequest};
use ddbfs::model::{AttributeValue, Item, Number, TableName};
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::{Durability, Store};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// How long each timed loop runs, and on what.
struct Scale {
    durability: Durability,
    loop_time: Duration,
    large_table: u64,
    listing: u64,
}

fn main() -> Fallible<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let quick = args.iter().any(|arg| arg == "--quick");
    let scale = Scale {
        durability: if args.iter().any(|arg| arg == "kill") { Durability::Kill } else { Durability::Power },
        loop_time: Duration::from_millis(if quick { 300 } else { 2000 }),
        large_table: if quick { 20_000 } else { 1_000_000 },
        listing: if quick { 5_000 } else { 100_000 },
    };
    match args.iter().find(|arg| !arg.starts_with('-')).map(String::as_str) {
        Some("engine") => engine(&scale),
        Some("mount") => mount(&scale),
        _ => engine(&scale).and_then(|()| mount(&scale)),
    }
}

// ---- engine -------------------------------------------------------------------------------------------------------------------

struct Bed {
    database: Arc<LocalDatabase>,
    store: Arc<LmdbStore>,
    _dir: tempfile::TempDir,
}

fn bed(scale: &Scale) -> Fallible<Bed> {
    let dir = tempfile::tempdir_in(scratch_dir()?)?;
    let store = Arc::new(LmdbStore::open(
        &dir.path().join("data"),
        LmdbOptions { durability: scale.durability, ..LmdbOptions::default() },
    )?);
    let engine = Engine::open(Arc::clone(&store) as Arc<dyn Store>, EngineOptions::default())?;
    Ok(Bed { database: Arc::new(LocalDatabase::new(Arc::new(engine))), store, _dir: dir })
}

/// On the disk of the build, not in a memory file system.
fn scratch_dir() -> Fallible<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

fn engine(scale: &Scale) -> Fallible<()> {
    let bed = bed(scale)?;
    let table = create(&bed, "Items", true)?;
    println!("| engine operation, 1 KB items | a second |\n|---|---|");

    let next = AtomicU64::new(0);
    let put = || {
        let n = next.fetch_add(1, Ordering::Relaxed);
        bed.database.put_item(PutItemRequest::new(table.clone(), item(n / 100, n % 100))).map(|_| ())
    };
    row("put, 1 writer", rate(scale, 1, &put)?);
    row("put, 32 writers", rate(scale, 32, &put)?);

    let small = create(&bed, "Small", true)?;
    fill(&bed, &small, 1_000)?;
    let large = create(&bed, "Large", true)?;
    let started = Instant::now();
    fill(&bed, &large, scale.large_table)?;
    let loaded = scale.large_table as f64 / started.elapsed().as_secs_f64();
    row(&format!("bulk load of {} items", thousands(scale.large_table)), loaded);

    let partitions = scale.large_table / 100;
    let get = || {
        let n = mix(next.fetch_add(1, Ordering::Relaxed)) % scale.large_table;
        bed.database.get_item(GetItemRequest::new(large.clone(), key(n / 100, n % 100))).map(|_| ())
    };
    row("get, random of the large table", rate(scale, 1, &get)?);
    let query = |table: &TableName, partitions: u64, sort: &'static str| {
        let (table, next) = (table.clone(), &next);
        let database = &bed.database;
        move || {
            let partition = mix(next.fetch_add(1, Ordering::Relaxed)) % partitions;
            let mut bytes = 0;
            let page = database.query_rows(&query_request(&table, partition, sort), &mut |row| {
                let mut text = Vec::new();
                let _ = row.write_dynamodb_json(&mut text);
                bytes += text.len();
            })?;
            assert!(page.count > 0 && bytes > 0);
            Ok::<(), ddbfs::model::Error>(())
        }
    };
    row("query of 100 items, rendered", rate(scale, 1, &query(&large, partitions, "0"))?);
    row("query of 10 items out of 1,000", rate(scale, 1, &query(&small, 10, "90"))?);
    row(&format!("query of 10 items out of {}", thousands(scale.large_table)), rate(scale, 1, &query(&large, partitions, "90"))?);
    row("scan, items", scan_rate(&bed, &large)?);
    row("list keys, items", list_rate(&bed, &large)?);
    backfill(&bed, &large, scale)?;
    bed.store.close();
    Ok(())
}

/// A global index of the large table is made beside one writer of it: how fast, and how long its puts take beside it.
fn backfill(bed: &Bed, table: &TableName, scale: &Scale) -> Fallible<()> {
    let put = |n: u64| {
        let started = Instant::now();
        bed.database.put_item(PutItemRequest::new(table.clone(), item(n % 1_000, 1_000 + n)))?;
        Ok::<Duration, ddbfs::model::Error>(started.elapsed())
    };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while started.elapsed() < scale.loop_time {
        alone.push(put(alone.len() as u64)?);
    }
    let body = serde_json::json!({ "TableName": table.as_str(),
        "AttributeDefinitions": [{ "AttributeName": "total", "AttributeType": "N" }],
        "GlobalSecondaryIndexUpdates": [{ "Create": { "IndexName": "by-total",
            "KeySchema": [{ "AttributeName": "total", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["attribute0"] } } }] });
    let started = Instant::now();
    bed.database.engine().update_table(ddbfs::codec::wire::update_table::request(Document::of(&body).root())?)?;
    let is_made = || -> Fallible<bool> {
        let description = bed.database.engine().describe(table)?.ok_or("the table is gone")?;
        Ok(description.indexes.iter().all(|index| index.backfilling.is_none()))
    };
    while !is_made()? {
        beside.push(put(1_000_000 + beside.len() as u64)?);
    }
    let seconds = started.elapsed().as_secs_f64();
    row(
        &format!("backfill of an index of {} items, beside one writer", thousands(scale.large_table)),
        scale.large_table as f64 / seconds,
    );
    for (name, mut times) in [("alone", alone), ("beside the backfill", beside)] {
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 100).or(times.last()).map_or(0.0, |time| time.as_secs_f64() * 1e3);
        println!(
            "| the writer's puts {name}: median {:.1} ms, 99 % {:.1} ms, longest {:.1} ms | {} |",
            at(50),
            at(99),
            at(100),
            thousands(times.len() as u64)
        );
    }
    Ok(())
}

fn create(bed: &Bed, name: &str, composite: bool) -> Fallible<TableName> {
    let sort = if composite { r#",{"AttributeName":"sk","KeyType":"RANGE"}"# } else { "" };
    let definition = if composite { r#",{"AttributeName":"sk","AttributeType":"N"}"# } else { "" };
    let text = format!(
        r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}}{sort}],
        "AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}}{definition}]}}"#
    );
    let request: CreateTableRequest =
        ddbfs::codec::wire::create_table::request(Document::of(&serde_json::from_str(&text)?).root())?;
    let table = request.table_name.clone();
    bed.database.create_table(request)?;
    Ok(table)
}

fn key(partition: u64, sort: u64) -> Item {
    Item::from([("pk", AttributeValue::S(format!("user#{partition}"))), ("sk", AttributeValue::N(Number::from_u64(sort)))])
}

/// An item of about 1 KB.
fn item(partition: u64, sort: u64) -> Item {
    let mut item = key(partition, sort);
    for n in 0..8 {
        item.0.insert(
            format!("attribute{n}"),
            AttributeValue::S(format!("{partition:x}-{sort:x}-").repeat(14).chars().take(110).collect()),
        );
    }
    item.0.insert("total".into(), AttributeValue::N(Number::from_u64(partition * 31 + sort)));
    item
}

fn query_request(table: &TableName, partition: u64, from: &str) -> QueryRequest {
    let values = [
        (":p".to_owned(), AttributeValue::S(format!("user#{partition}"))),
        (":s".to_owned(), AttributeValue::N(from.parse().unwrap_or(Number::ZERO))),
    ];
    QueryRequest::new(
        table.clone(),
        "pk = :p AND sk >= :s",
        Placeholders { names: None, values: Some(values.into_iter().collect()) },
    )
}

/// Puts `count` items, many in flight.
fn fill(bed: &Bed, table: &TableName, count: u64) -> Fallible<()> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(4096);
    let database = Arc::clone(&bed.database);
    let table = table.clone();
    let producer = std::thread::spawn(move || {
        for n in 0..count {
            let sender = sender.clone();
            let request = PutItemRequest::new(table.clone(), item(n / 100, n % 100));
            // A full channel would block the writer thread: keep well under its bound.
            database.put_item_then(request, Box::new(move |outcome| drop(sender.send(outcome.map(|_| ())))));
            if n % 2048 == 2047 {
                let (done, wait) = std::sync::mpsc::sync_channel(1);
                let request = PutItemRequest::new(table.clone(), item(n / 100, n % 100));
                database.put_item_then(
                    request,
                    Box::new(move |_| {
                        let _ = done.send(());
                    }),
                );
                let _ = wait.recv();
            }
        }
    });
    for outcome in receiver {
        outcome?;
    }
    producer.join().map_err(|_| "the loader panicked")?;
    Ok(())
}

fn scan_rate(bed: &Bed, table: &TableName) -> Fallible<f64> {
    let started = Instant::now();
    let (mut request, mut items, mut bytes) = (ScanRequest::new(table.clone()), 0_u64, 0);
    loop {
        let mut text = Vec::with_capacity(2 << 20);
        let page = bed.database.scan_rows(&request, &mut |row| drop(row.write_plain_json(&["pk", "sk"], &mut text)))?;
        items += page.count;
        bytes += text.len();
        match page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => break,
        }
    }
    assert!(bytes > 0);
    Ok(items as f64 / started.elapsed().as_secs_f64())
}

fn list_rate(bed: &Bed, table: &TableName) -> Fallible<f64> {
    let started = Instant::now();
    let mut entries = 0_u64;
    let source = Source { table: table.clone(), index: None };
    bed.database.entries(&source, &Entries::All, None, &mut |_, _, _| {
        entries += 1;
        ControlFlow::Continue(())
    })?;
    Ok(entries as f64 / started.elapsed().as_secs_f64())
}

/// Runs `operation` on `threads` threads for the loop time; operations a second over all.
fn rate<E: std::error::Error + Send + 'static>(
    scale: &Scale,
    threads: usize,
    operation: &(impl Fn() -> Result<(), E> + Sync),
) -> Fallible<f64> {
    let started = Instant::now();
    let total = std::thread::scope(|scope| -> Result<u64, E> {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut count = 0_u64;
                    while started.elapsed() < scale.loop_time {
                        operation()?;
                        count += 1;
                    }
                    Ok(count)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(Ok(0))).sum()
    })?;
    Ok(total as f64 / started.elapsed().as_secs_f64())
}

/// A cheap scattering of consecutive numbers (splitmix64).
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 27)
}

// ---- mount --------------------------------------------------------------------------------------------------------------------

struct Mounted {
    child: Child,
    point: PathBuf,
    _dir: tempfile::TempDir,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new(env!("CARGO_BIN_EXE_ddbfs")).arg("umount").arg(&self.point).status();
        let _ = self.child.wait();
    }
}

fn mounted(scale: &Scale) -> Fallible<Mounted> {
    let dir = tempfile::tempdir_in(scratch_dir()?)?;
    let point = dir.path().join("mnt");
    fs::create_dir(&point)?;
    let child = Command::new(env!("CARGO_BIN_EXE_ddbfs"))
        .args(if scale.durability == Durability::Kill {
            &["mount", "-odurability=kill", "--data"][..]
        } else {
            &["mount", "--data"]
        })
        .arg(dir.path().join("data"))
        .arg(&point)
        .stdout(Stdio::null())
        .spawn()?;
    let mounted = Mounted { child, point, _dir: dir };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !mounted.point.join("README.md").exists() {
        if Instant::now() > deadline {
            return Err("the mount did not come up".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(mounted)
}

fn mount(scale: &Scale) -> Fallible<()> {
    let mounted = mounted(scale)?;
    let table = mounted.point.join("Bench");
    fs::create_dir(&table)?;
    fs::write(
        table.join("schema.json"),
        r#"{"TableName":"Bench","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}"#,
    )?;
    let ours = table.join("items");
    let own_dir = tempfile::tempdir_in(scratch_dir()?)?;
    let own = own_dir.path().to_path_buf();

    println!("\n| mount operation, 300-byte files | ddbfs a second | this machine's file system | ratio |\n|---|---|---|---|");
    let both = |name: &str, operation: &dyn Fn(&Path) -> Fallible<f64>| -> Fallible<()> {
        compare(name, operation(&ours)?, operation(&own)?);
        Ok(())
    };
    let fsynced = timed_files(scale, &own, "fsynced", true, 1)?;
    let durable = timed_files(scale, &ours, "new", false, 1)?;
    compare("create + write + close", durable, timed_files(scale, &own, "new", false, 1)?);
    compare("the same, file system with fsync", durable, fsynced);
    let durable = timed_files(scale, &ours, "many", false, 16)?;
    compare("create + write + close, 16 clients, fsync", durable, timed_files(scale, &own, "many", true, 16)?);
    for dir in [&ours, &own] {
        for n in 0..1_000 {
            fs::write(dir.join(format!("r{n}.json")), body(n))?;
        }
    }
    both("open + read + close", &|dir| {
        timed(scale, |n| {
            let mut text = Vec::new();
            File::open(dir.join(format!("r{}.json", n % 1_000)))?.read_to_end(&mut text)?;
            Ok(())
        })
    })?;
    both("stat", &|dir| {
        timed(scale, |n| {
            fs::metadata(dir.join(format!("r{}.json", n % 1_000)))?;
            Ok(())
        })
    })?;
    both("stat of a missing name", &|dir| {
        timed(scale, |n| {
            // An error is what is measured.
            let _ = fs::metadata(dir.join(format!("missing{}.json", n % 1_000)));
            Ok(())
        })
    })?;
    list(scale, &mounted, &table, &own)
}

fn body(n: u64) -> String {
    format!(r#"{{"n":{n},"text":"{}"}}"#, "x".repeat(275))
}

fn timed(scale: &Scale, operation: impl Fn(u64) -> Fallible<()>) -> Fallible<f64> {
    let started = Instant::now();
    let mut count = 0;
    while started.elapsed() < scale.loop_time {
        operation(count)?;
        count += 1;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

fn timed_files(scale: &Scale, dir: &Path, prefix: &str, fsync: bool, clients: usize) -> Fallible<f64> {
    let next = AtomicU64::new(0);
    let write = || -> std::io::Result<()> {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let mut file = File::create(dir.join(format!("{prefix}{n}.json")))?;
        file.write_all(body(n).as_bytes())?;
        if fsync {
            file.sync_all()?;
        }
        Ok(())
    };
    rate(scale, clients, &write)
}

fn list(scale: &Scale, mounted: &Mounted, table: &Path, own: &Path) -> Fallible<()> {
    let file = own.join("load.ndjson");
    let mut lines = String::new();
    let own_list = own.join("list");
    fs::create_dir(&own_list)?;
    for n in 0..scale.listing {
        lines.push_str(&format!("{{\"pk\":\"list{n}\"}}\n"));
        File::create(own_list.join(format!("list{n}.json")))?;
    }
    fs::write(&file, lines)?;
    let data = mounted.point.parent().ok_or("no parent")?.join("data");
    let status = Command::new(env!("CARGO_BIN_EXE_ddbfs"))
        .arg("load")
        .arg("--data")
        .arg(data)
        .arg("Bench")
        .arg(&file)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err("ddbfs load failed".into());
    }
    let names = |dir: &Path| -> Fallible<f64> {
        let started = Instant::now();
        let count = fs::read_dir(dir)?.count();
        assert!(count as u64 >= scale.listing);
        Ok(count as f64 / started.elapsed().as_secs_f64())
    };
    let ours = table.join("items");
    let (a, b) = (names(&ours)?, names(&own_list)?);
    compare(&format!("list {} names, names", thousands(scale.listing)), a, b);
    let stats = |dir: &Path| -> Fallible<f64> {
        let started = Instant::now();
        let mut count = 0;
        for entry in fs::read_dir(dir)? {
            entry?.metadata()?;
            count += 1;
        }
        Ok(f64::from(count) / started.elapsed().as_secs_f64())
    };
    let (a, b) = (stats(&ours)?, stats(&own_list)?);
    compare("list and stat, names", a, b);
    Ok(())
}

// ---- output -------------------------------------------------------------------------------------------------------------------

fn row(name: &str, rate: f64) {
    println!("| {name} | {} |", thousands(rate));
}

fn compare(name: &str, ours: f64, own: f64) {
    println!("| {name} | {} | {} | {:.2} |", thousands(ours), thousands(own), ours / own);
}

fn thousands(n: impl std::fmt::Display) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

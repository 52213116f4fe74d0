//! The engine without a front end.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ddbfs::codec::json::document::Document;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{Browse, Database, EntryRange, SourceName};
use ddbfs::engine::{Engine, EngineOptions};
use ddbfs::model::api::{
    Call, Completion, CreateTableRequest, GetItemRequest, Placeholders, PutItemRequest,
    QueryRequest, ScanRequest,
};
use ddbfs::model::{AttributeValue, Item, Number, TableName};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};

use super::{Fallible, Scale, rate, row, scratch_dir, thousands};

struct Bed {
    database: Arc<LocalDatabase>,
    store: Arc<LmdbStore>,
    _dir: tempfile::TempDir,
}

fn bed(scale: &Scale) -> Fallible<Bed> {
    let dir = tempfile::tempdir_in(scratch_dir()?)?;
    let store = Arc::new(LmdbStore::open(
        &dir.path().join("data"),
        LmdbOptions {
            durability: scale.durability,
            ..LmdbOptions::default()
        },
    )?);
    let engine = Engine::open(
        Arc::clone(&store) as Arc<dyn Store>,
        EngineOptions::default(),
    )?;
    Ok(Bed {
        database: Arc::new(LocalDatabase::new(Arc::new(engine))),
        store,
        _dir: dir,
    })
}

/// The table of the engine's operations.
pub fn engine(scale: &Scale) -> Fallible<()> {
    let bed = bed(scale)?;
    let table = create(&bed, "Items", true)?;
    println!("| engine operation, 1 KB items | a second |\n|---|---|");

    let next = AtomicU64::new(0);
    let put = || {
        let n = next.fetch_add(1, Ordering::Relaxed);
        bed.database
            .put_item(PutItemRequest::new(table.clone(), item(n / 100, n % 100)))
            .map(|_| ())
    };
    row("put, 1 writer", rate(scale, 1, &put)?);
    row("put, 32 writers", rate(scale, 32, &put)?);

    let small = create(&bed, "Small", true)?;
    fill(&bed, &small, 1_000)?;
    let large = create(&bed, "Large", true)?;
    let started = Instant::now();
    fill(&bed, &large, scale.large_table)?;
    let loaded = scale.large_table as f64 / started.elapsed().as_secs_f64();
    row(
        &format!("bulk load of {} items", thousands(scale.large_table)),
        loaded,
    );

    let partitions = scale.large_table / 100;
    let get = || {
        let n = mix(next.fetch_add(1, Ordering::Relaxed)) % scale.large_table;
        bed.database
            .get_item(GetItemRequest::new(large.clone(), key(n / 100, n % 100)))
            .map(|_| ())
    };
    row("get, random of the large table", rate(scale, 1, &get)?);
    let query = |table: &TableName, partitions: u64, sort: &'static str| {
        let (table, next) = (table.clone(), &next);
        let database = &bed.database;
        move || {
            let partition = mix(next.fetch_add(1, Ordering::Relaxed)) % partitions;
            let mut bytes = 0;
            let page =
                database.query_rows(&query_request(&table, partition, sort), &mut |row| {
                    let mut text = Vec::new();
                    let _ = row.write_dynamodb_json(&mut text);
                    bytes += text.len();
                })?;
            assert!(page.count > 0 && bytes > 0);
            Ok::<(), ddbfs::model::Error>(())
        }
    };
    row(
        "query of 100 items, rendered",
        rate(scale, 1, &query(&large, partitions, "0"))?,
    );
    row(
        "query of 10 items out of 1,000",
        rate(scale, 1, &query(&small, 10, "90"))?,
    );
    row(
        &format!("query of 10 items out of {}", thousands(scale.large_table)),
        rate(scale, 1, &query(&large, partitions, "90"))?,
    );
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
        bed.database.put_item(PutItemRequest::new(
            table.clone(),
            item(n % 1_000, 1_000 + n),
        ))?;
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
    bed.database
        .engine()
        .update_table(ddbfs::codec::wire::request(
            Document::from_value(&body).root(),
        )?)?;
    let is_made = || -> Fallible<bool> {
        let description = bed
            .database
            .engine()
            .describe(table)?
            .ok_or("the table is gone")?;
        Ok(description
            .indexes
            .iter()
            .all(|index| index.backfilling.is_none()))
    };
    while !is_made()? {
        beside.push(put(1_000_000 + beside.len() as u64)?);
    }
    let seconds = started.elapsed().as_secs_f64();
    row(
        &format!(
            "backfill of an index of {} items, beside one writer",
            thousands(scale.large_table)
        ),
        scale.large_table as f64 / seconds,
    );
    for (name, mut times) in [("alone", alone), ("beside the backfill", beside)] {
        times.sort_unstable();
        let at = |share: usize| {
            times
                .get(times.len() * share / 100)
                .or(times.last())
                .map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
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
    let sort = if composite {
        r#",{"AttributeName":"sk","KeyType":"RANGE"}"#
    } else {
        ""
    };
    let definition = if composite {
        r#",{"AttributeName":"sk","AttributeType":"N"}"#
    } else {
        ""
    };
    let text = format!(
        r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}}{sort}],
        "AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}}{definition}]}}"#
    );
    let request: CreateTableRequest =
        ddbfs::codec::wire::request(Document::from_value(&serde_json::from_str(&text)?).root())?;
    let table = request.table_name.clone();
    bed.database.create_table(request)?;
    Ok(table)
}

fn key(partition: u64, sort: u64) -> Item {
    Item::from([
        ("pk", AttributeValue::S(format!("user#{partition}"))),
        ("sk", AttributeValue::N(Number::from_u64(sort))),
    ])
}

/// An item of about 1 KB.
fn item(partition: u64, sort: u64) -> Item {
    let mut item = key(partition, sort);
    for n in 0..8 {
        item.0.insert(
            format!("attribute{n}"),
            AttributeValue::S(
                format!("{partition:x}-{sort:x}-")
                    .repeat(14)
                    .chars()
                    .take(110)
                    .collect(),
            ),
        );
    }
    item.0.insert(
        "total".into(),
        AttributeValue::N(Number::from_u64(partition * 31 + sort)),
    );
    item
}

fn query_request(table: &TableName, partition: u64, from: &str) -> QueryRequest {
    let values = [
        (
            ":p".to_owned(),
            AttributeValue::S(format!("user#{partition}")),
        ),
        (
            ":s".to_owned(),
            AttributeValue::N(from.parse().unwrap_or(Number::ZERO)),
        ),
    ];
    QueryRequest::new(
        table.clone(),
        "pk = :p AND sk >= :s",
        Placeholders {
            names: None,
            values: Some(values.into_iter().collect()),
        },
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
            database.start(Call::PutItem(
                request,
                Completion::detached(move |outcome| drop(sender.send(outcome.map(drop)))),
            ));
            if n % 2048 == 2047 {
                let (done, wait) = std::sync::mpsc::sync_channel(1);
                let request = PutItemRequest::new(table.clone(), item(n / 100, n % 100));
                database.start(Call::PutItem(
                    request,
                    Completion::detached(move |_| done.send(()).unwrap_or_default()),
                ));
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
        let page = bed.database.scan_rows(&request, &mut |row| {
            drop(row.write_plain_json(&["pk", "sk"], &mut text))
        })?;
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
    let source = SourceName {
        table: table.clone(),
        index: None,
    };
    bed.database
        .entries(&source, &EntryRange::All, None, &mut |_, _, _| {
            entries += 1;
            ControlFlow::Continue(())
        })?;
    Ok(entries as f64 / started.elapsed().as_secs_f64())
}

/// A cheap scattering of consecutive numbers (splitmix64).
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 27)
}

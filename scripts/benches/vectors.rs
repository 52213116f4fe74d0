//! Searches of a vector index, beside reading the bytes of its vectors once from memory, on one thread.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::EngineOptions;
use ddbfs::protocol;
use ddbfs::store::Durability;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use serde_json::{Value, json};

use super::{Fallible, scratch_dir, thousands};

const DIMENSIONS: u64 = 1024;
const TOP_K: u32 = 10;
/// The items of one request: with vectors as texts, some 400 KB.
const BATCH: u64 = 25;
const ROUNDS: usize = 15;

/// The table of searches over `items` vectors.
pub fn vectors(items: u64) -> Fallible<()> {
    let dir = tempfile::tempdir_in(scratch_dir()?)?;
    let options = LmdbOptions {
        durability: Durability::Kill,
        ..LmdbOptions::default()
    };
    let store = Arc::new(LmdbStore::open(&dir.path().join("data"), options)?);
    let database = LocalDatabase::open(store, EngineOptions::default())?;
    let call = |operation: &str, body: Value| -> Fallible<Vec<u8>> {
        let answer = protocol::call(operation, body, &database, "bench");
        answer.map_err(|error| format!("{operation}: {error:?}").into())
    };
    let index = |distance: &str| {
        json!({ "IndexName": distance, "VectorAttribute": { "AttributeName": "v" }, "Dimensions": DIMENSIONS,
            "DistanceFunction": distance, "Projection": { "ProjectionType": "KEYS_ONLY" } })
    };
    call(
        "CreateTable",
        json!({ "TableName": "Tab", "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }], "BillingMode": "PAY_PER_REQUEST",
            "VectorIndexes": [index("COSINE"), index("EUCLIDEAN"), index("DOT_PRODUCT")] }),
    )?;
    for first in (0..items).step_by(usize::try_from(BATCH)?) {
        let put = |at: u64| json!({ "PutRequest": { "Item": { "pk": { "S": at.to_string() }, "v": { "L": vector(at) } } } });
        let puts: Vec<Value> = (first..(first + BATCH).min(items)).map(put).collect();
        call("BatchWriteItem", json!({ "RequestItems": { "Tab": puts } }))?;
    }
    let bytes = vec![1_u8; usize::try_from(items * DIMENSIONS * 4)?];
    let read = fastest(|| {
        let words = black_box(&bytes).as_chunks::<8>().0.iter();
        black_box(words.fold(0_u64, |sum, word| {
            sum.wrapping_add(u64::from_le_bytes(*word))
        }));
        Ok(())
    })?;
    let label = format!("{} vectors of {DIMENSIONS}", thousands(items));
    println!("| top {TOP_K} of {label} | ms | of reading them once |\n|---|---|---|");
    println!("| reading the bytes from memory | {:.1} | 1.0 |", ms(read));
    for distance in ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"] {
        let search = json!({ "TableName": "Tab", "IndexName": distance, "SearchVector": vector(items), "TopK": TOP_K });
        let took = fastest(|| call("SearchVectors", search.clone()).map(drop))?;
        println!(
            "| {distance} | {:.1} | {:.2} |",
            ms(took),
            ms(took) / ms(read)
        );
    }
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Returns the shortest of some rounds.
fn fastest(mut round: impl FnMut() -> Fallible<()>) -> Fallible<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        round()?;
        least = least.min(started.elapsed());
    }
    Ok(least)
}

/// Returns numbers between -1 and 1 with three digits.
fn vector(seed: u64) -> Value {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut number = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let thousandths = (state >> 33) % 2001;
        json!({ "N": format!("{:.3}", thousandths as f64 / 1000.0 - 1.0) })
    };
    (0..DIMENSIONS).map(|_| number()).collect()
}

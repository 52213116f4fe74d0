//! The bytes that docs/keys-and-records.md shows: one put, and the keys and records that it stored.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::support::engine::*;
use ddbfs::codec::digest::hex;
use ddbfs::database::Database as _;
use ddbfs::database::local::LocalDatabase;
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{Direction, KeyRange, Store as _};

/// The lines of bytes in the document's `text` blocks, without blanks, in order.
fn shown() -> Vec<String> {
    let document = include_str!("../../docs/keys-and-records.md");
    let blocks = document
        .split("```text\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    blocks
        .flat_map(str::lines)
        .map(|line| line.replace(' ', ""))
        .collect()
}

/// Keys and values of a space in order, as hex.
fn stored(store: &MemoryStore, space: u8) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let range = KeyRange {
        lower: Bound::Included(vec![space]),
        upper: Bound::Excluded(vec![space + 1]),
    };
    let mut visit = |key: &[u8], value: &[u8]| {
        found.push((hex(key), hex(value)));
        ControlFlow::Continue(())
    };
    store
        .snapshot()
        .unwrap()
        .walk(&range, Direction::Forward, &mut visit)
        .unwrap();
    found
}

#[test]
fn the_document_shows_what_a_put_stores() {
    let store = Arc::new(MemoryStore::new().unwrap());
    let database = LocalDatabase::open(store.clone(), options()).unwrap();
    let indexes = [
        "L by-total total:N ALL",
        "G by-status status:S total:N KEYS_ONLY",
    ];
    database
        .create_table(definition("Orders", "pk:S sk:S", &indexes))
        .unwrap();
    put(
        &database,
        "Orders",
        json(r#"{"pk":"u1","sk":"o1","status":"open","total":12.5}"#),
    )
    .unwrap();
    let [entries, collections, counters] = [4, 5, 6].map(|space| stored(&store, space));
    let keys = entries
        .iter()
        .chain(&collections)
        .chain(&counters)
        .map(|(key, _)| key.clone());
    let expected: Vec<String> = keys
        .chain(entries.iter().map(|(_, value)| value.clone()))
        .collect();
    assert_eq!(shown(), expected);
}

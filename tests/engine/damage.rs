//! The check of a store finds every kind of damage: each test writes it past the engine, then looks at the report.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use crate::support::engine::*;
use ddbfs::database::Database;
use ddbfs::database::local::LocalDatabase;
use ddbfs::engine::check::{DifferenceKind, check};
use ddbfs::model::{Error, Item};
use ddbfs::store::memory::MemoryStore;
use ddbfs::store::{Direction, KeyRange, Store, StoreError, Write, WriteJob};

pub type Entry = (Vec<u8>, Vec<u8>);

struct Damage<F>(F, Sender<Result<(), StoreError>>);

impl<F: FnMut(&mut dyn Write) -> Result<(), StoreError> + Send> WriteJob for Damage<F> {
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError> {
        (self.0)(batch)
    }

    fn done(self: Box<Self>, result: Result<(), StoreError>) {
        self.1.send(result).unwrap();
    }
}

/// Everything stored.
fn entries(store: &dyn Store) -> Vec<Entry> {
    let mut found = Vec::new();
    let everything = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let mut visit = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    store
        .snapshot()
        .unwrap()
        .walk(&everything, Direction::Forward, &mut visit)
        .unwrap();
    found
}

/// The entries of a key space (first byte), in order.
fn of_space(store: &dyn Store, space: u8) -> Vec<Entry> {
    entries(store)
        .into_iter()
        .filter(|(key, _)| key[0] == space)
        .collect()
}

const META: u8 = 1;
const TABLES: u8 = 2;
const PURGES: u8 = 3;
const ENTRIES: u8 = 4;
const COLLECTIONS: u8 = 5;
pub const COUNTERS: u8 = 6;
const SEQUENCE: u8 = 7;
const HISTORY: u8 = 0x10;
const ACCOUNT: u8 = 0x11;
const PARTITIONS: u8 = 0x14;

/// A store with a table of three items in two collections (source 1) and an index (source 2) that has all of them.
fn sound_store() -> (Arc<MemoryStore>, LocalDatabase) {
    let store = Arc::new(MemoryStore::new().unwrap());
    let database = LocalDatabase::open(store.clone(), options()).unwrap();
    let definition = definition("Tab", "pk:S sk:S", &["G byA a:S INCLUDE=v"]);
    database.create_table(definition).unwrap();
    for (pk, sk) in [("p", "1"), ("p", "2"), ("q", "1")] {
        put(
            &database,
            "Tab",
            Item::from([("pk", s(pk)), ("sk", s(sk)), ("a", s("x")), ("v", n("1"))]),
        )
        .unwrap();
    }
    (store, database)
}

/// Changes the entries of a key space past the engine.
#[track_caller]
pub fn write_damage(store: &dyn Store, space: u8, damage: impl Fn(&mut Vec<Entry>)) {
    let before = of_space(store, space);
    let mut after = before.clone();
    damage(&mut after);
    assert_ne!(before, after, "the damage does nothing");
    let (sender, receiver) = channel();
    let run = move |batch: &mut dyn Write| {
        before
            .iter()
            .try_for_each(|(key, _)| batch.delete(key).map(drop))?;
        after
            .iter()
            .try_for_each(|(key, value)| batch.put(key, value))
    };
    store.submit(Box::new(Damage(run, sender)));
    receiver.recv().unwrap().unwrap();
}

/// What a check finds after `damage` changed the entries of a key space.
#[track_caller]
fn check_damage(space: u8, damage: impl Fn(&mut Vec<Entry>), expected: &[DifferenceKind]) {
    let (store, database) = sound_store();
    assert!(check(database.engine()).unwrap().is_clean());
    write_damage(&*store, space, damage);
    let report = check(database.engine()).unwrap();
    let mut kinds: Vec<DifferenceKind> = report
        .differences
        .iter()
        .map(|difference| difference.kind)
        .collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, expected, "{report:#?}");
    assert_eq!(report.total, report.differences.len() as u64);
    report
        .differences
        .iter()
        .for_each(|difference| assert!(!difference.to_string().is_empty()));
}

use DifferenceKind::*;

#[test]
fn unreadable_entries_and_collections() {
    // Of three items, then three index entries: the first of each.
    let headers: [fn(&mut Vec<u8>); 4] =
        [|v| v.truncate(10), |v| v[0] = 0, |v| v[0] = 200, Vec::clear];
    for damage in headers {
        check_damage(
            ENTRIES,
            |entries| damage(&mut entries[0].1),
            &[Unreadable, WrongCollection, WrongCounters],
        );
        check_damage(
            ENTRIES,
            |entries| damage(&mut entries[3].1),
            &[Unreadable, WrongCollection, WrongCounters],
        );
    }
    // A whole header, half the content; the index entry is held against its item too.
    check_damage(
        ENTRIES,
        |entries| entries[0].1.truncate(30),
        &[Unreadable, WrongCollection, WrongCounters],
    );
    check_damage(
        ENTRIES,
        |entries| entries[3].1.truncate(30),
        &[Unreadable, WrongRecord, WrongCollection, WrongCounters],
    );
    for place in 0..3 {
        check_damage(
            COLLECTIONS,
            |entries| entries[place].1.truncate(30),
            &[Unreadable],
        );
        check_damage(
            COLLECTIONS,
            |entries| entries[place].1.clear(),
            &[Unreadable],
        );
    }
}

#[test]
fn items_that_differ_from_what_they_should_be() {
    let kinds = [WrongRecord, WrongCollection, WrongCounters];
    // The size in the header; the JSON length; the version beyond the last one given.
    check_damage(ENTRIES, |entries| entries[0].1[1] ^= 1, &kinds);
    check_damage(ENTRIES, |entries| entries[0].1[5] ^= 1, &[WrongRecord]);
    check_damage(ENTRIES, |entries| entries[0].1[15] = 9, &[UnknownVersion]);
    check_damage(ENTRIES, |entries| entries[3].1[15] = 9, &[UnknownVersion]);
    // Two items, or two index entries, each in the other's place; of items the keys are in the values.
    let swap = |first: usize| {
        move |entries: &mut Vec<Entry>| {
            let other = entries[first + 1].1.clone();
            entries[first + 1].1 = std::mem::replace(&mut entries[first].1, other);
        }
    };
    check_damage(ENTRIES, swap(0), &[Misplaced]);
    check_damage(ENTRIES, swap(3), &[WrongRecord, OrphanEntry]);
    // The content: `v` is the number 1.
    let change_v = |value: &mut Vec<u8>| {
        let at = value.len() - 1;
        assert_eq!(value[at], b'1');
        value[at] = b'2';
    };
    check_damage(
        ENTRIES,
        |entries| change_v(&mut entries[3].1),
        &[WrongRecord],
    );
    check_damage(
        ENTRIES,
        |entries| change_v(&mut entries[0].1),
        &[WrongRecord],
    );
}

#[test]
fn an_item_without_a_legal_key() {
    let rename = |value: &mut Vec<u8>| {
        let at = value.windows(3).position(|name| name == b"\x02sk").unwrap();
        value[at + 2] = b'j';
    };
    check_damage(ENTRIES, |entries| rename(&mut entries[0].1), &[BadKey]);
}

#[test]
fn entries_that_are_missing_or_too_many() {
    check_damage(
        ENTRIES,
        |entries| drop(entries.remove(0)),
        &[OrphanEntry, WrongCollection, WrongCounters],
    );
    check_damage(
        ENTRIES,
        |entries| drop(entries.remove(3)),
        &[MissingEntry, WrongCollection, WrongCounters],
    );
    let add = |entries: &mut Vec<Entry>| {
        let (mut key, value) = entries[5].clone();
        key.push(1);
        entries.push((key, value));
    };
    check_damage(ENTRIES, add, &[OrphanEntry, WrongCollection, WrongCounters]);
}

#[test]
fn collections_and_counters() {
    check_damage(
        COLLECTIONS,
        |entries| drop(entries.remove(0)),
        &[MissingCollection],
    );
    check_damage(
        COLLECTIONS,
        |entries| entries[0].1[7] += 1,
        &[WrongCollection],
    );
    check_damage(
        COLLECTIONS,
        |entries| entries[0].1[15] += 1,
        &[WrongCollection],
    );
    let add = |entries: &mut Vec<Entry>| {
        let (mut key, value) = entries[0].clone();
        key[10] ^= 1;
        entries.push((key, value));
    };
    check_damage(COLLECTIONS, add, &[EmptyCollection]);
    for place in [7, 15, 23] {
        check_damage(
            COUNTERS,
            |entries| entries[0].1[place] += 1,
            &[WrongCounters],
        );
    }
    check_damage(COUNTERS, |entries| entries[1].1.truncate(3), &[Unreadable]);
    check_damage(
        COUNTERS,
        |entries| drop(entries.remove(1)),
        &[WrongCounters],
    );
}

#[test]
fn sources_that_no_table_has() {
    let to_nobody = |entries: &mut Vec<Entry>| {
        let (mut key, value) = entries[0].clone();
        key[4] = 99;
        entries.push((key, value));
    };
    for space in [ENTRIES, COLLECTIONS, COUNTERS] {
        check_damage(space, to_nobody, &[UnknownSource]);
    }
}

#[test]
fn a_catalog_that_contradicts_itself() {
    let replace = |from: &'static str, to: &'static str| {
        move |entries: &mut Vec<Entry>| {
            let text = String::from_utf8(entries[0].1.clone()).unwrap();
            entries[0].1 = text.replacen(from, to, 1).into_bytes();
        }
    };
    check_damage(
        TABLES,
        |entries| entries[0].1.truncate(9),
        &[Unreadable, UnknownSource],
    );
    check_damage(
        TABLES,
        replace(r#""v":2"#, r#""v":9"#),
        &[Unreadable, UnknownSource],
    );
    check_damage(
        TABLES,
        replace(r#""index_sources":["#, r#""index_sources":[7,"#),
        &[Unreadable, UnknownSource],
    );
    check_damage(TABLES, replace("Tab", "Other"), &[WrongCatalog]);
    check_damage(
        TABLES,
        |entries| entries.push((vec![TABLES, b'!'], b"{}".to_vec())),
        &[WrongCatalog],
    );
    // The same table twice.
    check_damage(
        TABLES,
        |entries| entries.push((b"\x02Tab2".to_vec(), entries[0].1.clone())),
        &[WrongCatalog],
    );
    // A source that is in use and to be removed, or to be given to the next table.
    let mark = |entries: &mut Vec<Entry>| entries.push((vec![PURGES, 0, 0, 0, 2], vec![1]));
    check_damage(PURGES, mark, &[WrongCatalog]);
    let meta = |tag: u8, damage: fn(&mut Vec<u8>)| {
        move |entries: &mut Vec<Entry>| {
            entries
                .iter_mut()
                .filter(|(key, _)| key[1] == tag)
                .for_each(|(_, value)| damage(value))
        }
    };
    check_damage(META, meta(2, |value| value[3] = 1), &[WrongCatalog]);
    check_damage(META, meta(2, Vec::clear), &[Unreadable]);
    check_damage(META, meta(3, Vec::clear), &[Unreadable]);
    check_damage(SEQUENCE, |entries| entries[0].1.clear(), &[Unreadable]);
    check_damage(SEQUENCE, |entries| entries[0].1[7] = 0, &[UnknownVersion]);
}

#[test]
fn records_of_the_account_histories_and_partition_maps() {
    let import = br#"{"v":1,"arn":"a","table_id":"t","status":"FAILED","start_ms":1,"end_ms":null,"processed_bytes":2,"processed_items":3,"imported_items":4,"errors":5,"failure":null,"echo":"{}"}"#;
    let change = |version: u8| vec![HISTORY, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, version];
    let cases: &[(Vec<u8>, &[u8], DifferenceKind)] = &[
        // A backup, an export, an import, a job, a stream's policy.
        (vec![ACCOUNT, 1, b'a'], b"{}", Unreadable),
        (vec![ACCOUNT, 2, b'a'], b"{}", Unreadable),
        (vec![ACCOUNT, 3, b'a'], b"{}", Unreadable),
        (vec![ACCOUNT, 4, b'1'], b"{}", Unreadable),
        (vec![ACCOUNT, 6, b'a'], b"{}", Unreadable),
        // The settings of contributor insights of the table.
        (b"\x11\x05Tab".to_vec(), b"{}", Unreadable),
        (vec![ACCOUNT, 3, b'b'], import, Misplaced),
        // A kind of record that there is not, and a name that is no text.
        (vec![ACCOUNT, 9, b'a'], b"{}", Unreadable),
        (vec![ACCOUNT, 3, 0xFF], import, Unreadable),
        (change(1), b"short", Unreadable),
        (change(1), &[0; 12], Unreadable),
        (vec![HISTORY, 0, 0, 0, 9], b"", UnknownSource),
        (vec![HISTORY, 0], b"", Unreadable),
        (vec![PARTITIONS, 0, 0, 0, 1], b"{}", Unreadable),
        (vec![META, 9], b"", Unreadable),
        (vec![PURGES, 9], b"", Unreadable),
        (vec![TABLES, 0xFF], b"{}", Unreadable),
        (vec![0x7F, 1], b"", Unreadable),
    ];
    for (key, value, expected) in cases {
        let add = |entries: &mut Vec<Entry>| entries.push((key.clone(), value.to_vec()));
        check_damage(key[0], add, &[*expected]);
    }
}

#[test]
fn errors_name_table_and_record() {
    let error_of = |place: usize, read: &dyn Fn(&LocalDatabase) -> Option<Error>| {
        let (store, database) = sound_store();
        write_damage(&*store, ENTRIES, |entries| entries[place].1.truncate(10));
        let key = of_space(&*store, ENTRIES)[place].0.clone();
        let Some(Error::Store(error)) = read(&database) else {
            panic!("the damage of {place} is not told");
        };
        (error.to_string(), ddbfs::codec::digest::hex(&key))
    };
    let scan = |source: &str| {
        let request = scan_request(source);
        move |database: &LocalDatabase| database.scan(&request).err()
    };
    let (error, key) = error_of(0, &scan("Tab"));
    assert!(
        error.ends_with(&format!("in the record of table Tab with the key {key}")),
        "{error}"
    );
    let (error, key) = error_of(3, &scan("Tab/byA"));
    assert!(
        error.ends_with(&format!(
            "in the record of index byA of table Tab with the key {key}"
        )),
        "{error}"
    );
    let put = |database: &LocalDatabase| {
        [("p", "1"), ("p", "2"), ("q", "1")]
            .map(|(pk, sk)| put(database, "Tab", Item::from([("pk", s(pk)), ("sk", s(sk))])).err())
            .into_iter()
            .flatten()
            .next()
    };
    let (error, key) = error_of(0, &put);
    assert!(
        error.ends_with(&format!("in the record of table Tab with the key {key}")),
        "{error}"
    );
}

#[test]
fn a_store_that_lost_what_it_counts_by_is_not_taken_for_a_new_one() {
    let lose = |space: u8, tag: Option<u8>| {
        let (store, database) = sound_store();
        drop(database);
        write_damage(&*store, space, |entries| {
            entries.retain(|(key, _)| tag.is_some_and(|tag| key[1] != tag))
        });
        LocalDatabase::open(store, options())
    };
    let told = |error: Error| assert!(error.to_string().contains("cannot be read"), "{error}");
    // The version of the format.
    told(lose(META, Some(1)).err().unwrap());
    // The next source id, of which a new table takes some.
    let database = lose(META, Some(2)).unwrap();
    let other = definition("Other", "pk:S", &[]);
    told(database.create_table(other).unwrap_err());
    // The version given last.
    let database = lose(SEQUENCE, None).unwrap();
    told(
        put(
            &database,
            "Tab",
            Item::from([("pk", s("p")), ("sk", s("9"))]),
        )
        .unwrap_err(),
    );
}

#[test]
fn a_sound_store_is_clean() {
    let database = samples();
    let report = check(database.engine()).unwrap();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(
        (report.tables, report.items, report.index_entries),
        (9, 57, 52)
    );
}

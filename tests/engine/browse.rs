//! What the filesystem view asks of the local engine.

use std::ops::ControlFlow;

use crate::support::engine::*;
use ddbfs::codec::key::partition_digest;
use ddbfs::database::{
    Browse, Database, EntryKey, EntryRange, ListPosition, SourceName, SourceStats, TextForm,
};
use ddbfs::model::api::{DeleteItemRequest, PutItemRequest};
use ddbfs::model::{Error, IndexName, Item, Key};

fn source(text: &str) -> SourceName {
    let (name, index) = text
        .split_once('/')
        .map_or((text, None), |(name, index)| (name, Some(index)));
    SourceName {
        table: table(name),
        index: index.map(|index| IndexName::new(index).unwrap()),
    }
}

fn base(partition: &str, sort: Option<&str>) -> EntryKey {
    EntryKey {
        index: None,
        base: Key {
            partition: s(partition),
            sort: sort.map(s),
        },
    }
}

#[test]
fn schemas_follow_the_catalog() {
    let database = samples();
    let schema = database.schema(&table("Pets")).unwrap().unwrap();
    assert_eq!(schema.key.partition.name, "AnimalType");
    assert!(std::sync::Arc::ptr_eq(
        &schema,
        &database.schema(&table("Pets")).unwrap().unwrap()
    ));
    assert_eq!(database.schema(&table("None")).unwrap(), None);
    database
        .delete_table(ddbfs::model::api::DeleteTableRequest::new(table("Pets")))
        .unwrap();
    assert_eq!(database.schema(&table("Pets")).unwrap(), None);
    let names: Vec<String> = database
        .table_names()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        names[..3],
        ["GameScores", "InvoiceTransactions", "Invoices"]
    );
}

#[test]
fn stat_and_text_of_items_and_index_entries_locally() {
    stat_and_text_of_items_and_index_entries(&samples());
}

pub fn stat_and_text_of_items_and_index_entries(database: &dyn Browse) {
    let check = |of: &str, key: &EntryKey, plain: &str, typed: &str| {
        let stat = database.stat(&source(of), key).unwrap().unwrap();
        let (text, same) = database
            .text(&source(of), key, TextForm::PlainJson)
            .unwrap()
            .unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), plain);
        assert_eq!((stat, stat.plain_json_bytes), (same, plain.len() as u64));
        let (text, _) = database
            .text(&source(of), key, TextForm::DynamoDbJson)
            .unwrap()
            .unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), typed);
        assert_eq!(stat.modified_ms, NOW_MS);
    };
    check(
        "Pets",
        &base("Dog", Some("Fido")),
        "{\"AnimalType\":\"Dog\",\"Name\":\"Fido\"}\n",
        "{\"AnimalType\":{\"S\":\"Dog\"},\"Name\":{\"S\":\"Fido\"}}\n",
    );
    check(
        "PetsByType",
        &base("Dog", None),
        "{\"AnimalType\":\"Dog\",\"Legs\":4}\n",
        "{\"AnimalType\":{\"S\":\"Dog\"},\"Legs\":{\"N\":\"4\"}}\n",
    );
    let mut entry = base("103", Some("Starship X"));
    entry.index = Some((vec![s("Starship X")], vec![n("42")]));
    check(
        "GameScores/GameTitleIndex",
        &entry,
        "{\"GameTitle\":\"Starship X\",\"TopScore\":42,\"UserId\":\"103\"}\n",
        "{\"GameTitle\":{\"S\":\"Starship X\"},\"TopScore\":{\"N\":\"42\"},\"UserId\":{\"S\":\"103\"}}\n",
    );
    let none =
        |of: &str, key: &EntryKey| assert_eq!(database.stat(&source(of), key).unwrap(), None);
    none("Pets", &base("Dog", Some("Rex")));
    none("GameScores", &entry);
    // Longer than any key.
    none(
        "Pets",
        &EntryKey {
            index: None,
            base: Key {
                partition: x(100_000),
                sort: Some(x(100_000)),
            },
        },
    );
    none(
        "GameScores/GameTitleIndex",
        &base("103", Some("Starship X")),
    );
    entry.index = Some((vec![s("Starship X")], vec![]));
    none("GameScores/GameTitleIndex", &entry);
    entry.index = Some((vec![s("Starship X")], vec![n("43")]));
    none("GameScores/GameTitleIndex", &entry);
    assert_eq!(
        database.stat(&source("None"), &entry).unwrap_err(),
        Error::ResourceNotFound
    );
}

#[test]
fn collections_of_tables_and_indexes() {
    let database = samples();
    let all = |of: &str| {
        let mut found = Vec::new();
        database
            .collections(&source(of), None, None, &mut |(collection, _)| {
                let digest = partition_digest(&collection.partition.iter().collect::<Vec<_>>());
                let again = database
                    .collection(&source(of), &collection.partition)
                    .unwrap();
                assert_eq!(again.as_ref(), Some(&collection));
                let partition = database.partition_by_digest(&source(of), digest).unwrap();
                assert_eq!(partition.as_ref(), Some(&collection.partition));
                found.push((
                    digest,
                    text(&collection.partition[0]),
                    collection.entries,
                    collection.bytes,
                ));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(found.is_sorted_by_key(|(digest, ..)| *digest), "hash order");
        let mut found: Vec<String> = found
            .into_iter()
            .map(|(_, partition, entries, bytes)| format!("{partition} {entries} {bytes}"))
            .collect();
        found.sort();
        found
    };
    assert_eq!(all("Pets"), ["Cat 1 23", "Dog 4 89", "Fish 1 22"]);
    assert_eq!(
        all("PetsByType"),
        ["Bird 1 20", "Cat 1 19", "Dog 1 19", "Fish 1 19"]
    );
    assert_eq!(all("InvoiceTransactions/CountryIndex").len(), 2);
    assert_eq!(all("GameScores/TopScoreIndex").len(), 9);
    assert_eq!(
        database
            .collection(&source("Pets"), &vec![s("Bird")])
            .unwrap(),
        None
    );
    assert_eq!(
        database
            .partition_by_digest(&source("PetsByType"), [0; 16])
            .unwrap(),
        None
    );
    let stats = database.stats(&source("Pets")).unwrap();
    assert_eq!(
        stats,
        SourceStats {
            entries: 6,
            bytes: 134,
            partition_keys: 3
        }
    );
    assert_eq!(
        database
            .stats(&source("PetsByType"))
            .unwrap()
            .partition_keys,
        4
    );
}

/// Names of the entries of a listing, and the place of each.
fn list(
    database: &dyn Browse,
    range: &EntryRange,
    after: Option<&ListPosition>,
) -> Vec<(String, ListPosition)> {
    let mut found = Vec::new();
    database
        .entries(&source("Pets"), range, after, &mut |key, _, place| {
            found.push((
                text(key.base.sort.as_ref().unwrap()),
                ListPosition(place.into()),
            ));
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

fn names(listing: Vec<(String, ListPosition)>) -> Vec<String> {
    listing.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn entries_go_on_after_a_place_whose_entry_is_gone_locally() {
    entries_go_on_after_a_place_whose_entry_is_gone(&samples());
}

pub fn entries_go_on_after_a_place_whose_entry_is_gone(database: &dyn Browse) {
    let dogs = EntryRange::Collection {
        partition: vec![s("Dog")],
        sort_prefix: None,
    };
    let listing = list(database, &dogs, None);
    assert_eq!(
        names(listing.clone()),
        ["Bowser", "Fido", "Rover", "Snoopy"]
    );
    let place = &listing[1].1;
    assert_eq!(
        names(list(database, &dogs, Some(place))),
        ["Rover", "Snoopy"]
    );
    let fido = Item::from([("AnimalType", s("Dog")), ("Name", s("Fido"))]);
    database
        .delete_item(DeleteItemRequest::new(table("Pets"), fido))
        .unwrap();
    assert_eq!(
        names(list(database, &dogs, Some(place))),
        ["Rover", "Snoopy"]
    );
    assert_eq!(names(list(database, &dogs, Some(&listing[3].1))), [""; 0]);

    let everything = list(database, &EntryRange::All, None);
    assert_eq!(everything.len(), 5);
    for (i, (_, place)) in everything.iter().enumerate() {
        assert_eq!(
            list(database, &EntryRange::All, Some(place)),
            everything[i + 1..]
        );
    }
}

#[test]
fn entries_by_the_first_bytes_of_their_sort_key_locally() {
    entries_by_the_first_bytes_of_their_sort_key(&samples());
}

pub fn entries_by_the_first_bytes_of_their_sort_key(database: &dyn Browse) {
    for name in ["Flé", "Fl\u{0}", "Fl\u{0}b"] {
        let item = Item::from([("AnimalType", s("Cat")), ("Name", s(name))]);
        database
            .put_item(PutItemRequest::new(table("Pets"), item))
            .unwrap();
    }
    let with = |prefix: &[u8]| {
        let range = EntryRange::Collection {
            partition: vec![s("Cat")],
            sort_prefix: Some(prefix.to_vec()),
        };
        names(list(database, &range, None))
    };
    assert_eq!(with(b""), ["Fl\u{0}", "Fl\u{0}b", "Fluffy", "Flé"]);
    assert_eq!(with(b"Fl\0"), ["Fl\u{0}", "Fl\u{0}b"]);
    // The first byte of a character.
    assert_eq!(with(b"Fl\xC3"), ["Flé"]);
    assert_eq!(with(b"G"), [""; 0]);
}

#[test]
fn a_place_before_or_after_a_narrower_range_is_fine() {
    let database = samples();
    let everything = list(&database, &EntryRange::All, None);
    let range = EntryRange::Collection {
        partition: vec![s("Dog")],
        sort_prefix: Some(b"R".to_vec()),
    };
    let rover = everything
        .iter()
        .position(|(name, _)| name == "Rover")
        .unwrap();
    for (i, (_, place)) in everything.iter().enumerate() {
        let expected = if i < rover { vec!["Rover"] } else { vec![] };
        assert_eq!(names(list(&database, &range, Some(place))), expected);
    }
}

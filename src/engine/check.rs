//! The check of a whole store: everything derived is recomputed from the base items and compared, each table in one view, in bounded
//! memory.
//!
//! ```text
//! catalog        entries lie under their names; each source is one table's or index's
//! items          lie at the address of their key; record sizes are right; names are legal; versions were given
//! indexes        each entry an item should have is there with the right content; no other entry is there
//! collections    entries, bytes, partition key; none without entries
//! counters       entries, bytes, partition keys of each source
//! online         indexes that UpdateTable makes, see `check/online.rs`
//! lag            writes that global indexes do not show yet, see `check/lag.rs`
//! lists          stream records and expiries, see `check/lists.rs`
//! parked         parked files can be read and lie at their places, see `check/parked.rs`
//! tokens         each client request token has its expiry, each expiry its token
//! sources        no entries, collections or counters of a source that no table has and that is not being removed
//! ```

mod catalog;
mod groups;
mod lag;
mod lists;
mod online;
mod parked;
mod report;
mod tokens;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::batch::last_version;
use super::catalog::TableEntry;
use super::counters::SourceCounters;
use super::index::{IndexView, first_names, views};
use super::keys::{self, SourceId};
use super::view::View;
use super::{Engine, item_key};
use crate::codec::record::{self, Record};
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::{Error, Item, Key, TableName};
use crate::store::{Direction, KeyRange, Read, try_walk};

use groups::Groups;
use lag::{Image, Lagging};
use online::Building;
pub use report::{CheckReport, DIFFERENCES_MAX, Difference, DifferenceKind};
use report::{Place, Reporter, is_damage};

/// Checks the store, and every table that it has then.
///
/// # Errors
/// Those of the store. Damage that can be passed over is in the report.
pub fn check(engine: &Engine) -> Result<CheckReport, Error> {
    let (tables, mut reporter) = check_store(engine)?;
    for name in &tables {
        reporter = check_table(engine, name, reporter)?;
    }
    Ok(reporter.into_report())
}

/// What is no table's; the tables.
fn check_store(engine: &Engine) -> Result<(Vec<TableName>, Reporter), Error> {
    let view = engine.view()?;
    let mut reporter = Reporter::default();
    let last_version = reporter.readable(last_version(view.read()), Place::NONE, "version sequence")?;
    let (tables, known) = catalog::check(&view, &mut reporter)?;
    let mut check = Check::new(&view, last_version, reporter);
    for space in [keys::entries_from, keys::collections_from, keys::counters_from, keys::expiries_from, keys::partitions_from] {
        check.unknown_sources(&known, space)?;
    }
    for space in [keys::backfills_from, keys::violations_from, keys::all_pending_from, keys::all_parked_from] {
        check.unknown_sources(&known, space)?;
    }
    let streams = check.streams()?;
    check.unknown_sources(&streams, keys::all_stream_records_from)?;
    parked::check(view.read(), &mut check.reporter)?;
    tokens::check(view.read(), &mut check.reporter)?;
    Ok((tables, check.reporter))
}

/// A table, in a view of its own: pages that change while a view looks at them cannot be used again, and the data file grows by them.
fn check_table(engine: &Engine, name: &TableName, mut reporter: Reporter) -> Result<Reporter, Error> {
    let view = engine.view()?;
    let last_version = last_version(view.read()).ok();
    let table = reporter.readable(super::catalog::read_table(view.read(), name), Place::table(name), "")?;
    let mut check = Check::new(&view, last_version, reporter);
    // It may have been deleted meanwhile.
    if let Some(table) = table.flatten() {
        check.table(&table)?;
        check.lists(&table)?;
    }
    Ok(check.reporter)
}

struct Check<'c> {
    view: &'c View<'c>,
    last_version: Version,
    reporter: Reporter,
}

impl<'c> Check<'c> {
    /// With no last version to compare with, any may have been given.
    fn new(view: &'c View<'c>, last_version: Option<Version>, reporter: Reporter) -> Self {
        Self { view, last_version: last_version.unwrap_or(Version::MAX), reporter }
    }
}

impl Check<'_> {
    fn table(&mut self, table: &TableEntry) -> Result<(), Error> {
        self.reporter.count_table();
        let place = Place::table(&table.schema.name);
        let mut groups = Groups::default();
        let building = self.building(table)?;
        let lagging = self.lagging(table)?;
        self.walk(&keys::entries(table.source), &place, |check, key, record| {
            let item = check.item(table, (&building, &lagging), (&place, key), record)?;
            let partition = item.0.get(&table.schema.key.partition.name);
            let partition = partition.map(|value| (table.schema.key.partition.name.as_str(), value));
            if table.has_collections() {
                check.group(table.source, &mut groups, key, (record, partition.into_iter().collect()), &place)
            } else {
                groups.count_alone(record);
                Ok(())
            }
        })?;
        self.finish_source(table.source, groups, &place)?;
        self.violations(table)?;
        self.earlier_entries(table, &lagging)?;
        for index in views(table) {
            self.index(table, &lagging, &index)?;
        }
        Ok(())
    }

    /// A base item: its place, its sizes, and that each index has its entry.
    fn item(
        &mut self,
        table: &TableEntry,
        (building, lagging): (&Building, &Lagging),
        (place, key): (&Place<'_>, &[u8]),
        record: &Record<'_>,
    ) -> Result<Item, StoreError> {
        self.reporter.count_item();
        let item = record.to_item()?;
        let schema = &table.schema.key;
        let Ok(item_key) = item_key::key_of_item(schema, &item) else {
            self.reporter.add(DifferenceKind::BadKey, *place, hex(key));
            return Ok(item);
        };
        let text = report::key_text(&item_key.to_item(schema));
        if keys::EntryAddress::of_item(table.source, &item_key).encode() != key {
            self.reporter.add(DifferenceKind::Misplaced, *place, text.clone());
        }
        let first: Vec<&str> = schema.attributes().map(|attribute| attribute.name.as_str()).collect();
        self.record(record, (&item, &first), place, &text);
        if item.check_names().is_err() {
            self.reporter.add(DifferenceKind::BadName, *place, text.clone());
        }
        for index in views(table) {
            let at = keys::place_in_source(key);
            if matches!(lagging.image(table, &index, at), Image::Earlier(_)) {
                continue;
            }
            let is_due = building.is_due(index.source, at);
            self.expected_entry(&index, &item, (&item_key, &text, is_due), &place.index(&index.index.name))?;
        }
        self.listed_violation(table, building, key, &item)?;
        Ok(item)
    }

    /// The header and the content are those of an item; the version was given.
    fn record(&mut self, record: &Record<'_>, (item, first): (&Item, &[&str]), place: &Place<'_>, text: &str) {
        let expected = record::encode(item, first, record.version(), record.modified_ms());
        let same = Record::parse(&expected).is_ok_and(|expected| {
            let sizes = |record: &Record<'_>| (record.item_bytes(), record.plain_json_bytes());
            sizes(&expected) == sizes(record) && expected.content() == record.content()
        });
        if !same {
            self.reporter.add(DifferenceKind::WrongRecord, *place, text.to_owned());
        }
        if record.version() > self.last_version {
            self.reporter.add(DifferenceKind::UnknownVersion, *place, text.to_owned());
        }
    }

    /// The entry that `item` should have in an index is there, if it is due, and holds its projection.
    fn expected_entry(
        &mut self,
        index: &IndexView<'_>,
        item: &Item,
        (key, text, is_due): (&Key, &str, bool),
        place: &Place<'_>,
    ) -> Result<(), StoreError> {
        let Some(entry) = index.entry_with_key(item, key) else { return Ok(()) };
        match self.view.entry(&entry.address)? {
            None if is_due => self.reporter.add(DifferenceKind::MissingEntry, *place, text.to_owned()),
            None => {}
            Some(found) => {
                let first = first_names(index.table, index.index);
                self.record(&found, (&index.projected(item), &first), place, text);
            }
        }
        Ok(())
    }

    fn index(&mut self, table: &TableEntry, lagging: &Lagging, index: &IndexView<'_>) -> Result<(), Error> {
        let place = Place::table(&table.schema.name).index(&index.index.name);
        let mut groups = Groups::default();
        self.walk(&keys::entries(index.source), &place, |check, key, record| {
            check.reporter.count_entry();
            let entry = record.to_item()?;
            if !check.has_base((table, lagging), index, key, &entry)? {
                let names = first_names(index.table, index.index);
                let keys = names.iter().filter_map(|name| Some(((*name).to_owned(), entry.get(name)?.clone())));
                check.reporter.add(DifferenceKind::OrphanEntry, place, report::key_text(&Item(keys.collect())));
            }
            let partition = index.index.partition.iter();
            let partition = partition.filter_map(|attribute| Some((attribute.name.as_str(), entry.get(&attribute.name)?)));
            check.group(index.source, &mut groups, key, (record, partition.collect()), &place)
        })?;
        self.finish_source(index.source, groups, &place)
    }

    /// Is there a base item whose entry lies under this key? One that cannot be read was reported, and may be.
    fn has_base(
        &self,
        (table, lagging): (&TableEntry, &Lagging),
        index: &IndexView<'_>,
        key: &[u8],
        entry: &Item,
    ) -> Result<bool, StoreError> {
        let Some(base_key) = entry.key(&table.schema.key) else { return Ok(false) };
        let address = keys::EntryAddress::of_item(table.source, &base_key);
        if let Image::Earlier(item) = lagging.image(table, index, keys::place_in_source(&address.encode())) {
            let entry = item.and_then(|item| index.entry_with_key(item, &base_key));
            return Ok(entry.is_some_and(|entry| entry.address.encode() == key));
        }
        let item = match self.view.entry(&address).and_then(|base| base.map(|base| base.to_item()).transpose()) {
            Ok(Some(item)) => item,
            Ok(None) => return Ok(false),
            Err(error) if is_damage(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        Ok(index.entry_with_key(&item, &base_key).is_some_and(|entry| entry.address.encode() == key))
    }

    /// Adds an entry to its group; a group that ended is compared with its collection.
    fn group(
        &mut self,
        source: SourceId,
        groups: &mut Groups,
        key: &[u8],
        (record, partition): (&Record<'_>, Vec<(&str, &crate::model::AttributeValue)>),
        place: &Place<'_>,
    ) -> Result<(), StoreError> {
        let Some(address) = keys::EntryAddress::parse(key) else { return Err(StoreError::Corrupt("an entry's key")) };
        if let Some(ended) = groups.count(address.digest, record, &partition) {
            self.compare_group(source, &ended, place)?;
        }
        Ok(())
    }

    fn compare_group(&mut self, source: SourceId, group: &groups::Group, place: &Place<'_>) -> Result<(), StoreError> {
        let Some(stored) = self.view.collection(source, group.digest)? else {
            self.reporter.add(DifferenceKind::MissingCollection, *place, report::key_text(&group.partition));
            return Ok(());
        };
        if !group.is(stored)? {
            self.reporter.add(DifferenceKind::WrongCollection, *place, report::key_text(&group.partition));
        }
        Ok(())
    }

    /// The last group, collections without entries, counters.
    fn finish_source(&mut self, source: SourceId, mut groups: Groups, place: &Place<'_>) -> Result<(), Error> {
        if let Some(last) = groups.end() {
            let compared = self.compare_group(source, &last, place);
            self.reporter.readable(compared, *place, &report::key_text(&last.partition))?;
        }
        let mut empty = Vec::new();
        self.each(&keys::collections(source), |check, key, _| {
            let has_entries = match keys::parse_collection(key) {
                Some((source, digest)) => check.has_any(&KeyRange::prefix(&keys::collection_prefix(source, &digest)))?,
                None => false,
            };
            if !has_entries && empty.len() < report::DIFFERENCES_MAX {
                empty.push(hex(key));
            }
            Ok(())
        })?;
        for key in empty {
            self.reporter.add(DifferenceKind::EmptyCollection, *place, key);
        }
        let counted: SourceCounters = groups.counters();
        let stored = self.reporter.readable(self.view.counters(source), *place, "counters")?;
        if let Some(stored) = stored.filter(|stored| *stored != counted) {
            let text = format!("{} entries, {} bytes, {} partition keys", stored.entries, stored.bytes, stored.partition_keys);
            let expected =
                format!("counted {} entries, {} bytes, {} partition keys", counted.entries, counted.bytes, counted.partition_keys);
            self.reporter.add(DifferenceKind::WrongCounters, *place, format!("{text}; {expected}"));
        }
        Ok(())
    }

    /// Sources in a key space that nobody knows.
    fn unknown_sources(&mut self, known: &BTreeSet<SourceId>, from: fn(SourceId) -> KeyRange) -> Result<(), Error> {
        let mut next = Some(SourceId(0));
        while let Some(start) = next {
            let mut found = None;
            self.view.read().walk(&from(start), Direction::Forward, &mut |key, _| {
                found = keys::source_of(key);
                ControlFlow::Break(())
            })?;
            if let Some(source) = found.filter(|source| !known.contains(source)) {
                self.reporter.add(DifferenceKind::UnknownSource, Place::NONE, format!("source {}", source.0));
            }
            next = found.and_then(|source| source.0.checked_add(1)).map(SourceId);
        }
        Ok(())
    }

    fn has_any(&self, range: &KeyRange) -> Result<bool, StoreError> {
        let mut found = false;
        self.view.read().walk(range, Direction::Forward, &mut |_, _| {
            found = true;
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Visits records; one that cannot be read is reported and passed over.
    fn walk(
        &mut self,
        range: &KeyRange,
        place: &Place<'_>,
        mut visit: impl FnMut(&mut Self, &[u8], &Record<'_>) -> Result<(), StoreError>,
    ) -> Result<(), Error> {
        self.each(range, |check, key, bytes| {
            let visited = Record::parse(bytes).and_then(|record| visit(check, key, &record));
            check.reporter.readable(visited, *place, &hex(key)).map(drop)
        })
    }

    fn each(
        &mut self,
        range: &KeyRange,
        mut visit: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), Error> {
        let view = self.view;
        Ok(each(view.read(), range, |key, bytes| visit(self, key, bytes))?)
    }
}

/// Visits the entries of `range` until one fails.
fn each(
    read: &dyn Read,
    range: &KeyRange,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    try_walk(read, range, Direction::Forward, |key, bytes| visit(key, bytes).map(ControlFlow::Continue))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

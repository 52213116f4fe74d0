//! Consistency checks of a table's items, of the entries of its indexes, and of the counters of
//! both. A part of `engine::check`.

use std::{collections::BTreeSet, ops::Bound};

use super::{
    entry_name::{collection_text, stored_key},
    online::{IndexBuild, IndexedImage, PendingWriteMap},
    report::{self, CheckPlace, DifferenceKind, is_damage},
    walk::ViewCheck,
};
use crate::codec::count::plural;
use crate::engine::{
    base::{
        counters::{CollectionRecord, SourceCounters},
        item_key,
    },
    index::{IndexView, index_views, leading_names},
    prelude::*,
};

impl ViewCheck<'_> {
    pub fn check_table(&mut self, table: &TableEntry) -> Result<(), Error> {
        self.reporter.0.tables += 1;
        let place = CheckPlace::of(table);
        let mut groups = EntryGroups::default();
        let building = self.building(table)?;
        let lagging = self.lagging(table)?;
        self.walk(table, None, |check, key, record| {
            let item = check.item(table, &building, &lagging, &place, key, record)?;
            let partition = item.0.get(&table.schema.key.partition.name);
            let partition =
                partition.map(|value| (table.schema.key.partition.name.as_str(), value));
            if table.has_collections() {
                check.group(
                    table.source,
                    &mut groups,
                    key,
                    record,
                    &partition.into_iter().collect::<Vec<_>>(),
                    &place,
                )
            } else {
                groups.count_single(record);
                Ok(())
            }
        })?;
        self.finish_source(table, None, groups)?;
        self.violations(table)?;
        self.earlier_entries(table, &lagging)?;
        for index in index_views(table) {
            self.index(table, &lagging, &index)?;
        }
        Ok(())
    }

    /// Checks a base item: its address, its sizes, and that each index has its entry.
    fn item(
        &mut self,
        table: &TableEntry,
        building: &IndexBuild,
        lagging: &PendingWriteMap,
        place: &CheckPlace<'_>,
        key: &[u8],
        record: &Record<'_>,
    ) -> Result<Item, StoreError> {
        self.reporter.0.items += 1;
        let item = record.to_item()?;
        let schema = &table.schema.key;
        let Ok(item_key) = item_key::key_of_item(schema, &item) else {
            let text = self.item_text(table, keys::place_in_source(key));
            self.reporter.add(DifferenceKind::BadKey, *place, text);
            return Ok(item);
        };
        let text = report::key_text(&item_key.to_item(schema));
        if keys::EntryAddress::of_item(table.source, &item_key).encode() != key {
            self.reporter
                .add(DifferenceKind::Misplaced, *place, text.clone());
        }
        let first = schema.names();
        self.check_record(record, &item, &first, place, &text);
        if item.check_names().is_err() {
            self.reporter
                .add(DifferenceKind::BadName, *place, text.clone());
        }
        for index in index_views(table) {
            let at = keys::place_in_source(key);
            if matches!(lagging.image(table, &index, at), IndexedImage::Earlier(_)) {
                continue;
            }
            let is_due = building.is_due(index.source, at);
            self.check_index_entry(
                &index,
                &item,
                &item_key,
                &text,
                is_due,
                &place.index(&index.index.name),
            )?;
        }
        self.listed_violation(table, building, key, &item, &text)?;
        Ok(item)
    }

    fn index(
        &mut self,
        table: &TableEntry,
        lagging: &PendingWriteMap,
        index: &IndexView<'_>,
    ) -> Result<(), Error> {
        let place = CheckPlace::of(table).index(&index.index.name);
        let mut groups = EntryGroups::default();
        self.walk(table, Some(index), |check, key, record| {
            check.reporter.0.index_entries += 1;
            let entry = record.to_item()?;
            if let Some(saved) = check.has_base(table, lagging, index, key, &entry)? {
                groups.saved += saved as u64;
            } else {
                let names = leading_names(index.table, index.index);
                let keys = names
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), entry.get(name)?.clone())));
                check.reporter.add(
                    DifferenceKind::OrphanEntry,
                    place,
                    report::key_text(&Item(keys.collect())),
                );
            }
            let partition = index.index.partition.iter();
            let partition = partition.filter_map(|attribute| {
                Some((attribute.name.as_str(), entry.get(&attribute.name)?))
            });
            check.group(
                index.source,
                &mut groups,
                key,
                record,
                &partition.collect::<Vec<_>>(),
                &place,
            )
        })?;
        self.finish_source(table, Some(index), groups)
    }

    /// Returns what a vector in the entry saves, if a base item has its entry under this key. A base
    /// item that cannot be read was reported already, and counts as one.
    fn has_base(
        &self,
        table: &TableEntry,
        lagging: &PendingWriteMap,
        index: &IndexView<'_>,
        key: &[u8],
        entry: &Item,
    ) -> Result<Option<usize>, StoreError> {
        let Some(base_key) = entry.key(&table.schema.key) else {
            return Ok(None);
        };
        let saved_by = |item: &Item| {
            let entry = index.entry_with_key(item, &base_key)?;
            (entry.address.encode() == key).then_some(entry.saved.unwrap_or(0))
        };
        let address = keys::EntryAddress::of_item(table.source, &base_key);
        if let IndexedImage::Earlier(item) =
            lagging.image(table, index, keys::place_in_source(&address.encode()))
        {
            return Ok(item.and_then(saved_by));
        }
        let item = match self
            .view
            .entry(&address)
            .and_then(|base| base.map(|base| base.to_item()).transpose())
        {
            Ok(Some(item)) => item,
            Ok(None) => return Ok(None),
            Err(error) if is_damage(&error) => return Ok(Some(0)),
            Err(error) => return Err(error),
        };
        Ok(saved_by(&item))
    }

    /// Adds an entry to its group, and compares a group that ended with its collection.
    fn group(
        &mut self,
        source: SourceId,
        groups: &mut EntryGroups,
        key: &[u8],
        record: &Record<'_>,
        partition: &[(&str, &AttributeValue)],
        place: &CheckPlace<'_>,
    ) -> Result<(), StoreError> {
        let Some(address) = keys::EntryAddress::parse(key) else {
            return Err(StoreError::Corrupt("an entry's key"));
        };
        if let Some(ended) = groups.count(address.digest, record, partition) {
            self.compare_group(source, &ended, place)?;
        }
        Ok(())
    }

    fn compare_group(
        &mut self,
        source: SourceId,
        group: &EntryGroup,
        place: &CheckPlace<'_>,
    ) -> Result<(), StoreError> {
        let Some(stored) = self.view.collection(source, group.digest)? else {
            self.reporter.add(
                DifferenceKind::MissingCollection,
                *place,
                report::key_text(&group.partition),
            );
            return Ok(());
        };
        if !group.matches(stored)? {
            self.reporter.add(
                DifferenceKind::WrongCollection,
                *place,
                report::key_text(&group.partition),
            );
        }
        Ok(())
    }

    /// Checks the last group, collections without entries, and counters.
    fn finish_source(
        &mut self,
        table: &TableEntry,
        index: Option<&IndexView<'_>>,
        mut groups: EntryGroups,
    ) -> Result<(), Error> {
        let place = CheckPlace::of(table);
        let place = &index.map_or(place, |index| place.index(&index.index.name));
        let source = index.map_or(table.source, |index| index.source);
        if let Some(last) = groups.finish() {
            let compared = self.compare_group(source, &last, place);
            self.reporter
                .or_report(compared, *place, &report::key_text(&last.partition))?;
        }
        let mut empty = Vec::new();
        self.each_entry(&Space::Collection.range(source), |check, key, bytes| {
            let has_entries = match StoreKey::parse(key) {
                Some(StoreKey::Collection(source, digest)) => walks::has_any(
                    check.view.read(),
                    &KeyRange::prefix(&Space::Entry.key(source, digest)),
                )?,
                _ => false,
            };
            if !has_entries && empty.len() < report::DIFFERENCES_MAX {
                let index = index.map(|index| index.index);
                empty.push(collection_text(table, index, key, bytes));
            }
            Ok(())
        })?;
        for key in empty {
            self.reporter
                .add(DifferenceKind::EmptyCollection, *place, key);
        }
        let stored = self
            .reporter
            .or_report(self.view.counters(source), *place, "counters")?;
        let counted = SourceCounters {
            saved: stored.and_then(|stored| stored.saved).map(|_| groups.saved),
            ..groups.counters()
        };
        if let Some(stored) = stored.filter(|stored| *stored != counted) {
            let text = |counters: SourceCounters| {
                let saved = counters.saved.map(|saved| plural(saved, "saved byte"));
                format!(
                    "{}, {}, {}{}",
                    plural(counters.entries, "entry"),
                    plural(counters.bytes, "byte"),
                    plural(counters.partition_keys, "partition key"),
                    saved.map_or_else(String::new, |saved| format!(", {saved}"))
                )
            };
            self.reporter.add(
                DifferenceKind::WrongCounters,
                *place,
                format!("{}; counted {}", text(stored), text(counted)),
            );
        }
        Ok(())
    }

    /// Reports sources in a key space that belong to no table, and keys without a source, which must
    /// not hide the sources after them.
    pub fn unknown_sources(
        &mut self,
        sources: &BTreeSet<SourceId>,
        space: Space,
    ) -> Result<(), Error> {
        let mut range = space.all();
        let view = self.view;
        let first_key =
            |range: &KeyRange| walks::first(view.read(), range, |key, _| Ok(Some(key.to_vec())));
        while let Some(key) = first_key(&range)? {
            let Some(source) = keys::parse_source(&key) else {
                self.reporter.add(
                    DifferenceKind::Unreadable,
                    CheckPlace::NONE,
                    stored_key(&key),
                );
                range = range.after(Some(key));
                continue;
            };
            if !sources.contains(&source) {
                self.reporter.add(
                    DifferenceKind::UnknownSource,
                    CheckPlace::NONE,
                    format!("source {}", source.0),
                );
            }
            let Bound::Excluded(next) = space.range(source).upper else {
                break;
            };
            range.lower = Bound::Included(next);
        }
        Ok(())
    }
}

// Entries counted group by group while a walk in key order visits them.

/// The entries of one partition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryGroup {
    pub digest: Digest,
    /// The partition key attributes.
    pub partition: Item,
    names: Vec<String>,
    entries: u64,
    bytes: u64,
    newest_ms: u64,
}

impl EntryGroup {
    /// True if a stored collection agrees with the group. Its time may be newer than that of any
    /// remaining entry.
    pub fn matches(&self, stored: &[u8]) -> Result<bool, StoreError> {
        let value = CollectionRecord::parse(stored)?;
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let partition = value.partition(&names)?;
        let same_partition = names
            .iter()
            .zip(&partition)
            .all(|(name, value)| self.partition.get(name) == Some(value));
        let counted = (self.entries, self.bytes) == (value.entries, value.bytes);
        Ok(same_partition && counted && value.modified_ms >= self.newest_ms)
    }
}

/// The counters of a source, and the current group of the walk.
#[derive(Debug, Default)]
pub struct EntryGroups {
    counters: SourceCounters,
    /// See [`SourceCounters::saved`].
    saved: u64,
    current: Option<EntryGroup>,
}

impl EntryGroups {
    /// Counts an entry. Returns the previous group if the entry begins a new one.
    pub fn count(
        &mut self,
        digest: Digest,
        record: &Record<'_>,
        partition: &[(&str, &AttributeValue)],
    ) -> Option<EntryGroup> {
        let bytes = u64::from(record.item_bytes());
        self.counters.entries += 1;
        self.counters.bytes += bytes;
        if let Some(group) = self.current.as_mut().filter(|group| group.digest == digest) {
            group.entries += 1;
            group.bytes += bytes;
            group.newest_ms = group.newest_ms.max(record.modified_ms());
            return None;
        }
        self.counters.partition_keys += 1;
        let names = partition
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let partition = Item(
            partition
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
                .collect(),
        );
        let group = EntryGroup {
            digest,
            partition,
            names,
            entries: 1,
            bytes,
            newest_ms: record.modified_ms(),
        };
        self.current.replace(group)
    }

    /// Counts an item of a table in which each item is a collection of its own.
    pub fn count_single(&mut self, record: &Record<'_>) {
        self.counters.entries += 1;
        self.counters.bytes += u64::from(record.item_bytes());
        self.counters.partition_keys += 1;
    }

    /// Returns the last group.
    pub fn finish(&mut self) -> Option<EntryGroup> {
        self.current.take()
    }

    pub fn counters(&self) -> SourceCounters {
        self.counters
    }
}

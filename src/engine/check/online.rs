//! Consistency checks of indexes that UpdateTable made or is making, and of indexes that lag. A
//! part of `engine::check`; the states are those of `engine::index_life` and `engine::index_lag`.
//!
//! ```text
//! backfill     its progress is stored exactly while it runs; items that it has passed have their entry (items beyond may have)
//! violations   each item that a value keeps out of an index is on its list, if the backfill has passed it; no other item is
//! ```

use std::collections::BTreeMap;

use super::{
    report::{CheckPlace, DifferenceKind, is_damage},
    walk::ViewCheck,
};
use crate::engine::{
    base::counters::SourceCounters,
    catalog::entry::BuildPhase,
    index::IndexView,
    index_lag::{self, PendingIndexWrite},
    index_life::{backfill::BackfillState, violations},
    prelude::*,
};

/// The progress of the index that a table is making.
#[derive(Debug, Clone, Default)]
pub struct IndexBuild(Option<(SourceId, BackfillState)>);

impl IndexBuild {
    /// True if this index must have its entry of the item at `place`.
    pub fn is_due(&self, index: SourceId, place: &[u8]) -> bool {
        match &self.0 {
            Some((building, progress)) if *building == index => progress.has_passed(place),
            _ => true,
        }
    }
}

impl ViewCheck<'_> {
    /// Reads the progress of the table's index under construction.
    pub(super) fn building(&mut self, table: &TableEntry) -> Result<IndexBuild, StoreError> {
        let mut found = IndexBuild::default();
        for (index, source) in table.indexes() {
            let place = CheckPlace::of(table).index(&index.name);
            let building = table
                .index_life
                .building
                .as_ref()
                .filter(|building| building.index == index.name);
            let stored = self.reporter.or_report(
                BackfillState::read(self.view.read(), source),
                place,
                "backfill",
            )?;
            let is_in_backfill =
                building.is_some_and(|building| building.phase == BuildPhase::Backfill);
            if stored
                .as_ref()
                .is_some_and(|stored| stored.is_some() != is_in_backfill)
            {
                self.reporter
                    .add(DifferenceKind::WrongBackfill, place, String::new());
            }
            if building.is_some() {
                found = IndexBuild(Some((source, stored.flatten().unwrap_or_default())));
            }
        }
        Ok(found)
    }

    /// Checks the entries of the violation lists of a table's indexes.
    pub(super) fn violations(&mut self, table: &TableEntry) -> Result<(), Error> {
        for (name, made) in &table.index_life.made {
            let Some(index) = table.schema.index(name) else {
                self.reporter.add(
                    DifferenceKind::WrongCatalog,
                    CheckPlace::of(table),
                    format!("index {name}"),
                );
                continue;
            };
            let place = CheckPlace::of(table).index(&index.name);
            let mut counted = SourceCounters::default();
            self.each_entry(&Space::Violation.range(made.violations), |check, key, _| {
                counted.entries += 1;
                if !check.is_kept_out(table, index, keys::place_in_source(key))? {
                    let text = check.item_text(table, keys::place_in_source(key));
                    check
                        .reporter
                        .add(DifferenceKind::OrphanViolation, place, text);
                }
                Ok(())
            })?;
            let stored = self.reporter.or_report(
                self.view.counters(made.violations),
                place,
                "violations",
            )?;
            if stored.is_some_and(|stored| stored != counted) {
                self.reporter.add(
                    DifferenceKind::WrongCounters,
                    place,
                    "violations".to_owned(),
                );
            }
        }
        Ok(())
    }

    /// True if a value keeps the item at `place` out of the index. An item that cannot be read was
    /// reported already, and counts as one.
    fn is_kept_out(
        &self,
        table: &TableEntry,
        index: &IndexSchema,
        place: &[u8],
    ) -> Result<bool, StoreError> {
        let Some(bytes) = self
            .view
            .read()
            .get(&Space::Entry.key(table.source, place))?
        else {
            return Ok(false);
        };
        match Record::parse(bytes).and_then(|record| record.to_item()) {
            Ok(item) => Ok(violations::violates(index, &item)),
            Err(error) if is_damage(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Checks that an item that a value keeps out of an index is on its list.
    pub(super) fn listed_violation(
        &mut self,
        table: &TableEntry,
        building: &IndexBuild,
        key: &[u8],
        item: &Item,
        text: &str,
    ) -> Result<(), StoreError> {
        let at = keys::place_in_source(key);
        for (name, made) in &table.index_life.made {
            let Some((index, source)) = table
                .indexes()
                .find(|(index, _)| index.name.as_str() == name)
            else {
                continue;
            };
            if !building.is_due(source, at) || !violations::violates(index, item) {
                continue;
            }
            if self
                .view
                .read()
                .get(&StoreKey::Violation(made.violations, at).encode())?
                .is_none()
            {
                self.reporter.add(
                    DifferenceKind::MissingViolation,
                    CheckPlace::of(table).index(&index.name),
                    text.to_owned(),
                );
            }
        }
        Ok(())
    }
}

// Writes that global indexes do not show yet: such an index must match the table as it was before
// the first of them. They are kept in memory; there are as many as fit into the delay, or were made
// while propagation is paused.

/// The pending writes of a table by the position of their item: version and the item before.
#[derive(Debug, Default)]
pub struct PendingWriteMap(BTreeMap<Vec<u8>, Vec<(Version, Option<Item>)>>);

/// The image of an item in a lagging index.
#[derive(Debug, Clone, Copy)]
pub enum IndexedImage<'l> {
    /// The present item.
    Current,
    /// An earlier image, or none.
    Earlier(Option<&'l Item>),
}

impl PendingWriteMap {
    /// Returns the image of the item at `place` in an index.
    pub fn image(
        &self,
        table: &TableEntry,
        index: &IndexView<'_>,
        place: &[u8],
    ) -> IndexedImage<'_> {
        if !table.index_life.is_late(index.index) {
            return IndexedImage::Current;
        }
        let since = index_lag::built_version(table, index.index.name.as_str());
        let first = self
            .0
            .get(place)
            .and_then(|writes| writes.iter().find(|(version, _)| *version > since));
        first.map_or(IndexedImage::Current, |(_, old)| {
            IndexedImage::Earlier(old.as_ref())
        })
    }

    /// Returns the positions of items with pending writes.
    pub fn places(&self) -> impl Iterator<Item = &[u8]> {
        self.0.keys().map(Vec::as_slice)
    }
}

impl ViewCheck<'_> {
    /// Reads the pending writes of a table.
    pub(super) fn lagging(&mut self, table: &TableEntry) -> Result<PendingWriteMap, Error> {
        let place = CheckPlace::of(table);
        let mut found = PendingWriteMap::default();
        let mut is_any = false;
        self.each_entry(&Space::Pending.range(table.source), |check, key, bytes| {
            is_any = true;
            let read = PendingIndexWrite::parse(bytes)
                .and_then(|pending| Ok((pending.place, pending.items()?.0)));
            let Some((at, old)) = check.reporter.or_report(read, place, "pending write")? else {
                return Ok(());
            };
            match keys::parse_version(key) {
                Some(version) if version <= check.last_version => {
                    found.0.entry(at.to_vec()).or_default().push((version, old))
                }
                _ => check.reporter.add(
                    DifferenceKind::UnknownVersion,
                    place,
                    "pending write".to_owned(),
                ),
            }
            Ok(())
        })?;
        if is_any && table.index_life.lag.is_none() {
            self.reporter.add(
                DifferenceKind::WrongCatalog,
                place,
                "pending writes of indexes that do not lag".to_owned(),
            );
        }
        Ok(found)
    }

    /// Checks that lagging indexes have the entries of the earlier images.
    pub(super) fn earlier_entries(
        &mut self,
        table: &TableEntry,
        lagging: &PendingWriteMap,
    ) -> Result<(), StoreError> {
        for at in lagging.places() {
            for index in crate::engine::index::index_views(table) {
                let IndexedImage::Earlier(Some(item)) = lagging.image(table, &index, at) else {
                    continue;
                };
                let Some(key) = item.key(&table.schema.key) else {
                    continue;
                };
                let text = super::report::key_text(&key.to_item(&table.schema.key));
                let place = CheckPlace::of(table);
                self.check_index_entry(
                    &index,
                    item,
                    &key,
                    &text,
                    true,
                    &place.index(&index.index.name),
                )?;
            }
        }
        Ok(())
    }
}

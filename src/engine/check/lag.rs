//! Writes that global indexes do not show yet: what such an index should hold is the table as it was before the first of them. They are
//! gathered in memory; there are as many as fit into the delay, or were made while propagation is paused.

use std::collections::BTreeMap;

use super::report::{DifferenceKind, Place};
use super::walk::Check;
use crate::engine::base::keys::{self, Space};
use crate::engine::catalog::TableEntry;
use crate::engine::index::IndexView;
use crate::engine::index_lag::{Pending, apply};
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::{Error, Item};

/// The pending writes of a table by the place of their item: version and the item before.
#[derive(Debug, Default)]
pub struct Lagging(BTreeMap<Vec<u8>, Vec<(Version, Option<Item>)>>);

/// What a lagging index knows of an item.
#[derive(Debug, Clone, Copy)]
pub enum Image<'l> {
    /// The item as it is.
    Current,
    /// Another one, or none.
    Earlier(Option<&'l Item>),
}

impl Lagging {
    /// Of the item at a place, in an index.
    pub fn image(&self, table: &TableEntry, index: &IndexView<'_>, place: &[u8]) -> Image<'_> {
        if !table.index_life.is_late(index.index) {
            return Image::Current;
        }
        let since = apply::since(table, index.index.name.as_str());
        let first = self.0.get(place).and_then(|writes| writes.iter().find(|(version, _)| *version > since));
        first.map_or(Image::Current, |(_, old)| Image::Earlier(old.as_ref()))
    }

    /// The places of items with pending writes.
    pub fn places(&self) -> impl Iterator<Item = &[u8]> {
        self.0.keys().map(Vec::as_slice)
    }
}

impl Check<'_> {
    /// Reads the pending writes of a table.
    pub(super) fn lagging(&mut self, table: &TableEntry) -> Result<Lagging, Error> {
        let place = Place::table(&table.schema.name);
        let mut found = Lagging::default();
        let mut is_any = false;
        self.each(&Space::Pending.of(table.source), |check, key, bytes| {
            is_any = true;
            let read = Pending::parse(bytes).and_then(|pending| Ok((pending.place, pending.items()?.0)));
            let Some((at, old)) = check.reporter.readable(read, place, "pending write")? else { return Ok(()) };
            match keys::version_of(key) {
                Some(version) if version <= check.last_version => found.0.entry(at.to_vec()).or_default().push((version, old)),
                _ => check.reporter.add(DifferenceKind::UnknownVersion, place, "pending write".to_owned()),
            }
            Ok(())
        })?;
        if is_any && table.index_life.lag.is_none() {
            self.reporter.add(DifferenceKind::WrongCatalog, place, "pending writes of indexes that do not lag".to_owned());
        }
        Ok(found)
    }

    /// Lagging indexes have the entries of items as they were.
    pub(super) fn earlier_entries(&mut self, table: &TableEntry, lagging: &Lagging) -> Result<(), StoreError> {
        for at in lagging.places() {
            for index in crate::engine::index::views(table) {
                let Image::Earlier(Some(item)) = lagging.image(table, &index, at) else { continue };
                let Some(key) = item.key(&table.schema.key) else { continue };
                let text = super::report::key_text(&key.to_item(&table.schema.key));
                let place = Place::table(&table.schema.name);
                self.expected_entry(&index, item, (&key, &text, true), &place.index(&index.index.name))?;
            }
        }
        Ok(())
    }
}

//! The visitor that all consistency checks share: one view, the report, and range scans that report
//! a damaged record and go on.

use super::{
    entry_name::entry_text,
    report::{CheckPlace, DifferenceKind, Reporter, is_damage},
};
use crate::codec::record;
use crate::engine::{
    index::{IndexView, leading_names},
    runtime::prelude::*,
};

/// A check of one view.
pub struct ViewCheck<'c> {
    pub view: &'c ReadView<'c>,
    pub last_version: Version,
    pub reporter: Reporter,
}

impl<'c> ViewCheck<'c> {
    /// Returns a check; without a last version to compare with, any version may have been given.
    pub fn new(view: &'c ReadView<'c>, last_version: Option<Version>, reporter: Reporter) -> Self {
        Self {
            view,
            last_version: last_version.unwrap_or(Version::MAX),
            reporter,
        }
    }
}

impl ViewCheck<'_> {
    /// Checks that header and content are those of the item, and that the version was given.
    pub fn check_record(
        &mut self,
        record: &Record<'_>,
        item: &Item,
        first: &[&str],
        place: &CheckPlace<'_>,
        text: &str,
    ) {
        let expected = record::encode(item, first, record.version(), record.modified_ms());
        let same = Record::parse(&expected).is_ok_and(|expected| {
            let sizes = |record: &Record<'_>| (record.item_bytes(), record.plain_json_bytes());
            sizes(&expected) == sizes(record) && expected.content() == record.content()
        });
        if !same {
            self.reporter
                .add(DifferenceKind::WrongRecord, *place, text.to_owned());
        }
        if record.version() > self.last_version {
            self.reporter
                .add(DifferenceKind::UnknownVersion, *place, text.to_owned());
        }
    }

    /// Checks that the entry of `item` in an index exists, if it is due, and holds its projection.
    pub fn check_index_entry(
        &mut self,
        index: &IndexView<'_>,
        item: &Item,
        key: &Key,
        text: &str,
        is_due: bool,
        place: &CheckPlace<'_>,
    ) -> Result<(), StoreError> {
        let Some(entry) = index.entry_with_key(item, key) else {
            return Ok(());
        };
        let found = match self.view.entry(&entry.address) {
            // Reported with the entries of the index.
            Err(error) if is_damage(&error) => return Ok(()),
            found => found?,
        };
        match found {
            None if is_due => {
                self.reporter
                    .add(DifferenceKind::MissingEntry, *place, text.to_owned())
            }
            None => {}
            Some(found) => {
                let first = leading_names(index.table, index.index);
                self.check_record(&found, &index.projected(item), &first, place, text);
            }
        }
        Ok(())
    }

    /// Visits the records of a table, or of one of its indexes; one that cannot be read is reported
    /// and skipped.
    pub fn walk(
        &mut self,
        table: &TableEntry,
        index: Option<&IndexView<'_>>,
        mut visit: impl FnMut(&mut Self, &[u8], &Record<'_>) -> Result<(), StoreError>,
    ) -> Result<(), Error> {
        let place = CheckPlace::of(table);
        let place = index.map_or(place, |index| place.index(&index.index.name));
        let source = index.map_or(table.source, |index| index.source);
        self.each_entry(
            &Space::Entry.range(source),
            |check, key, bytes| match Record::parse(bytes)
                .and_then(|record| visit(check, key, &record))
            {
                Err(error) if is_damage(&error) => {
                    let index = index.map(|index| index.index);
                    let text = entry_text(check.view, table, index, key, Some(bytes));
                    check.reporter.add(DifferenceKind::Unreadable, place, text);
                    Ok(())
                }
                visited => visited,
            },
        )
    }

    /// Returns the name of the item at a place of a table.
    pub fn item_text(&self, table: &TableEntry, at: &[u8]) -> String {
        let key = Space::Entry.key(table.source, at);
        let bytes = self.view.read().get(&key).ok().flatten();
        entry_text(self.view, table, None, &key, bytes)
    }

    /// Visits each entry of a range: its key and its stored bytes.
    pub fn each_entry(
        &mut self,
        range: &KeyRange,
        mut visit: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), Error> {
        let view = self.view;
        Ok(walks::each(view.read(), range, |key, bytes| {
            visit(self, key, bytes)
        })?)
    }
}

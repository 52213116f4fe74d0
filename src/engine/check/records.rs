//! Consistency checks of the records of the account, of histories and of partition maps, and of
//! keys that have no known form. A part of `engine::check`.

use std::ops::Bound;

use super::{
    entry_name::{side_text, stored_key},
    report::{CheckPlace, DifferenceKind, Reporter},
    walk::ViewCheck,
};
use crate::engine::{
    account::{self, AccountRecord, BackupRecord, ExportRecord, ImportRecord, JobRecord},
    base::{keys::RecordKind, stored_form::decode},
    history::HistoryRecord,
    partitions::PartitionMap,
    prelude::*,
    streams::StreamPolicy,
};
use crate::model::api::resource::InsightsTarget;

/// Checks the records of the account. Returns the sources that backups and exports keep, or `None`
/// if one of these records is damaged, as nothing says then which sources it keeps.
pub fn account(
    read: &dyn Read,
    reporter: &mut Reporter,
) -> Result<Option<Vec<SourceId>>, StoreError> {
    let mut kept = Some(Vec::new());
    walks::each(read, &Space::Account.all(), |key, value| {
        let Some(StoreKey::Account(kind, name)) = StoreKey::parse(key) else {
            reporter.add(
                DifferenceKind::Unreadable,
                CheckPlace::NONE,
                stored_key(key),
            );
            return Ok(());
        };
        let mut record = AccountEntry {
            reporter: &mut *reporter,
            name,
            value,
        };
        let source = match kind {
            RecordKind::Backup => record
                .check(|backup: &BackupRecord| backup.arn == name)?
                .map(|backup| backup.source),
            RecordKind::Export => record
                .check(|export: &ExportRecord| export.export.arn == name)?
                .map(|export| export.source),
            RecordKind::Import => {
                record.check(|import: &ImportRecord| import.import.arn == name)?;
                return Ok(());
            }
            RecordKind::Job => {
                record.check(|job: &JobRecord| job.id.to_string() == name)?;
                return Ok(());
            }
            RecordKind::StreamPolicy => {
                record.check(|_: &StreamPolicy| true)?;
                return Ok(());
            }
            // Checked with their tables.
            RecordKind::Insights => return Ok(()),
        };
        match (&mut kept, source) {
            (Some(kept), Some(source)) => kept.push(source),
            _ => kept = None,
        }
        Ok(())
    })?;
    Ok(kept)
}

/// A stored record of the account.
struct AccountEntry<'r> {
    reporter: &'r mut Reporter,
    name: &'r str,
    value: &'r [u8],
}

impl AccountEntry<'_> {
    /// Returns the record, or `None` and reports it as damaged; a record that `is_named` does not
    /// know is reported as misplaced.
    fn check<R: AccountRecord>(
        &mut self,
        is_named: impl FnOnce(&R) -> bool,
    ) -> Result<Option<R>, StoreError> {
        let text = format!("{} {}", R::NAME, self.name);
        let record = self
            .reporter
            .or_report(decode::<R>(self.value), CheckPlace::NONE, &text)?;
        if record.as_ref().is_some_and(|record| !is_named(record)) {
            self.reporter
                .add(DifferenceKind::Misplaced, CheckPlace::NONE, text);
        }
        Ok(record)
    }
}

/// Checks that every partition map can be read.
pub fn partition_maps(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    walks::each(read, &Space::Partitions.all(), |key, value| {
        reporter
            .or_report(
                decode::<PartitionMap>(value),
                CheckPlace::NONE,
                &side_text(read, key),
            )
            .map(drop)
    })
}

/// The key spaces of `engine::base::keys`.
const SPACES: [Space; 20] = [
    Space::Meta,
    Space::Table,
    Space::Purge,
    Space::Entry,
    Space::Collection,
    Space::Counters,
    Space::VersionSequence,
    Space::Stream,
    Space::StreamRecord,
    Space::Expiry,
    Space::Token,
    Space::TokenExpiry,
    Space::History,
    Space::Account,
    Space::Partitions,
    Space::Backfill,
    Space::Violation,
    Space::Pending,
    Space::Trash,
    Space::Counted,
];

/// Reports keys without the form of their key space, in the spaces that no other check parses, and
/// the first key of each space that this program does not know.
pub fn malformed_keys(read: &dyn Read, reporter: &mut Reporter) -> Result<(), StoreError> {
    for space in [
        Space::Meta,
        Space::Purge,
        Space::Counters,
        Space::VersionSequence,
        Space::Stream,
        Space::Partitions,
        Space::Backfill,
    ] {
        walks::each(read, &space.all(), |key, _| {
            if StoreKey::parse(key).is_none() {
                reporter.add(
                    DifferenceKind::Unreadable,
                    CheckPlace::NONE,
                    stored_key(key),
                );
            }
            Ok(())
        })?;
    }
    let mut lower = Bound::Unbounded;
    loop {
        let range = KeyRange {
            lower,
            upper: Bound::Unbounded,
        };
        let Some(key) = walks::first(read, &range, |key, _| Ok(Some(key.to_vec())))? else {
            return Ok(());
        };
        let byte = key.first().copied().unwrap_or(0);
        if !SPACES.iter().any(|space| *space as u8 == byte) {
            reporter.add(
                DifferenceKind::Unreadable,
                CheckPlace::NONE,
                stored_key(&key),
            );
        }
        let Some(next) = byte.checked_add(1) else {
            return Ok(());
        };
        lower = Bound::Included(vec![next]);
    }
}

impl ViewCheck<'_> {
    /// Checks that the old images of a table can be read, and that their versions were given.
    pub(super) fn history(&mut self, table: &TableEntry) -> Result<(), Error> {
        let place = CheckPlace::of(table);
        self.each_entry(&Space::History.range(table.source), |check, key, bytes| {
            let Some(version) = keys::parse_version(key) else {
                check
                    .reporter
                    .add(DifferenceKind::Unreadable, place, stored_key(key));
                return Ok(());
            };
            let old = HistoryRecord::parse(bytes).and_then(|past| {
                if past.place.len() < Digest::default().len() {
                    return Err(StoreError::Corrupt("a history record"));
                }
                past.old
                    .map(|old| Record::parse(old)?.to_item())
                    .transpose()
            });
            let text = format!("earlier image of version {version}");
            check.reporter.or_report(old, place, &text)?;
            if version > check.last_version {
                check
                    .reporter
                    .add(DifferenceKind::UnknownVersion, place, text);
            }
            Ok(())
        })
    }

    /// Checks that the settings of contributor insights of a table and its indexes can be read.
    pub(super) fn insights(&mut self, table: &TableEntry) -> Result<(), Error> {
        let indexes = table
            .indexes()
            .map(|(index, source)| (Some(index.name.clone()), source));
        let all: Vec<_> = std::iter::once((None, table.source))
            .chain(indexes)
            .collect();
        for (index, source) in all {
            let target = InsightsTarget {
                table: table.schema.name.clone(),
                index: index.clone(),
            };
            let read = account::read_insights(self.view.read(), target, table, source);
            let place = CheckPlace::of(table);
            let place = index.as_ref().map_or(place, |index| place.index(index));
            self.reporter
                .or_report(read, place, "contributor insights")?;
        }
        Ok(())
    }
}

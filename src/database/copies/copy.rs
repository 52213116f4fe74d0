//! A copy of one table into another: the checks before it, the target table, and the copy itself
//! (`scan` reads, `batches` writes, `journal` makes it resumable).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::batches::{OnRejected, write_all};
use super::definition::{self, OnIndexProgress};
use super::journal::CopyCounts;
use super::journal::{CopyHeader, CopyJournal, CopyJournalError, CopyState};
use super::origin::CopyOrigin;
use super::scan::CopyProgress;
use super::{CopyError, CopySide, scan};
use crate::model::api::{DeleteTableRequest, ScanRequest, TableDescription, WriteRequest};
use crate::model::limits::WRITE_UNIT_BYTES;
use crate::model::{Error, KeySchema};

/// The interval at which a deleted table is polled until it is gone.
const DELETED_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The treatment of an existing table of the target's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingTargetMode {
    Refuse,
    /// Drop the table first.
    Replace,
    /// Use the table if it is empty.
    Fill,
    /// Put the items beside the existing ones.
    Merge,
}

/// The options of a copy.
#[derive(Debug, Clone, Copy)]
pub struct CopyOptions {
    pub existing: ExistingTargetMode,
    /// True if a missing table is created.
    pub create: bool,
    /// True if global indexes and stream are created after the items.
    pub indexes_last: bool,
    pub segments: u32,
    /// True if the progress of an earlier run is discarded.
    pub restart: bool,
    /// The command-line option for a restart, for error texts.
    pub restart_option: &'static str,
}

/// Puts the items of an export into a table.
pub type LoadItems = Box<dyn Fn(&CopySide) -> Result<CopyCounts, CopyError>>;

/// The items of a copy, of an export of its source.
pub struct ExportedItems {
    /// The moment of the table that the export has, milliseconds since the epoch.
    pub exported_ms: u64,
    pub load: LoadItems,
}

opaque_debug!(ExportedItems);

/// An estimate of a copy, from the table's counters.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CopyEstimate {
    /// The items of the whole table.
    pub items: u64,
    pub bytes: u64,
    /// The reads and writes still to do.
    pub left: CopyCounts,
}

/// A checked copy that has not begun.
#[derive(Debug)]
pub struct CopyPlan {
    from: CopySide,
    to: CopySide,
    rules: CopyOptions,
    pub source: TableDescription,
    /// Where the items are taken from, if not from the source.
    pub export: Option<ExportedItems>,
    /// The TTL attribute of the source table; an error here does not prevent the copy.
    pub ttl_attribute: Result<Option<String>, Error>,
    existing_target: Option<TableDescription>,
    path: PathBuf,
    earlier_run: Option<(CopyJournal, CopyState)>,
}

/// The outcome of a copy that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyOutcome {
    Whole,
    /// The copy was stopped on request; the same copy resumes here.
    Stopped,
}

impl CopyOutcome {
    /// Takes a wait that was cancelled by the stop for no failure.
    pub(super) fn of(ended: Result<Self, CopyError>) -> Result<Self, CopyError> {
        match ended {
            Err(CopyError::Database {
                error: Error::Interrupted,
                ..
            }) => Ok(Self::Stopped),
            ended => ended,
        }
    }
}

impl CopyPlan {
    /// Checks both sides and the progress of an earlier run in `journal`, without changes.
    ///
    /// # Errors
    /// `Refused` if one of them does not allow the copy; errors of the services and of the journal.
    pub fn new(
        from: CopySide,
        to: CopySide,
        rules: CopyOptions,
        journal: &Path,
    ) -> Result<Self, CopyError> {
        let source = definition::existing(&from)?;
        let earlier_run = if journal.exists() {
            Some(CopyJournal::open(journal)?)
        } else {
            None
        };
        let earlier_run = earlier_run
            .and_then(|(journal, state)| Some((journal, state.filter(|_| !rules.restart)?)));
        let existing_target = definition::describe(&to)?;
        let expiry = definition::ttl_attribute(&from);
        let plan = Self {
            from,
            to,
            rules,
            source,
            export: None,
            ttl_attribute: expiry,
            existing_target,
            path: journal.to_owned(),
            earlier_run,
        };
        match &plan.earlier_run {
            Some((_, state)) => plan.check_earlier(state)?,
            None => plan.check_target()?,
        }
        Ok(plan)
    }

    fn refuse<T>(&self, reason: impl std::fmt::Display) -> Result<T, CopyError> {
        Err(CopyError::Refused(format!("{}: {reason}", self.to.name)))
    }

    /// Checks that an earlier run began the same copy and that its target still exists.
    fn check_earlier(&self, state: &CopyState) -> Result<(), CopyError> {
        let restart_option = self.rules.restart_option;
        if state.head.from != self.from.name {
            return self.refuse(format!(
                "a copy of {} was begun and is not whole; {restart_option} begins anew",
                state.head.from
            ));
        }
        if state.head.from_id != self.source.table_id {
            return self.refuse(format!(
                "{} is another table than when the copy was begun; {restart_option} begins anew",
                self.from.name
            ));
        }
        match (&state.to_id, &self.existing_target) {
            (Some(to_id), Some(there)) if *to_id == there.table_id => Ok(()),
            (Some(_), _) => self.refuse(format!(
                "the table is not the one that the copy was begun with; {restart_option} begins anew"
            )),
            // The earlier run ended before it recorded the table.
            (None, Some(there)) if !state.head.makes || there.item_count == 0 => {
                self.check_key(&there.schema.key)
            }
            (None, Some(_)) => self.refuse(format!(
                "a table was made since the copy was begun; {restart_option} begins anew"
            )),
            (None, None) => Ok(()),
        }
    }

    fn check_target(&self) -> Result<(), CopyError> {
        match (&self.existing_target, self.rules.existing) {
            (None, _) if self.rules.create => Ok(()),
            (None, _) => self.refuse("there is no such table; --create makes it"),
            (Some(_), ExistingTargetMode::Refuse) => {
                self.refuse("there is a table of that name; --replace drops it first, --to-table NAME takes another name, `ddbfs sync` brings a copy up to date")
            }
            (Some(_), ExistingTargetMode::Replace) => Ok(()),
            (Some(there), ExistingTargetMode::Merge) => self.check_key(&there.schema.key),
            (Some(there), ExistingTargetMode::Fill) => {
                self.check_key(&there.schema.key)?;
                // A read, not the counters, which may be hours old.
                let mut request = ScanRequest::new(self.to.table.clone());
                request.limit = Some(1);
                let found = self.to.check(self.to.database.scan(&request))?;
                if found.page.scanned_count == 0 {
                    return Ok(());
                }
                self.refuse("the table has items; --merge puts the others beside them, and over those with the same key")
            }
        }
    }

    fn check_key(&self, key: &KeySchema) -> Result<(), CopyError> {
        if *key == self.source.schema.key {
            return Ok(());
        }
        let (target_key, source_key) = (key_text(key), key_text(&self.source.schema.key));
        self.refuse(format!(
            "its key is {target_key}, that of {} is {source_key}: the items do not fit",
            self.from.name
        ))
    }

    /// Returns the counts of an earlier run.
    #[must_use]
    pub fn earlier_counts(&self) -> Option<CopyCounts> {
        self.earlier_run.as_ref().map(|(_, state)| state.counts)
    }

    /// Estimates the work that is left.
    #[must_use]
    pub fn estimate(&self) -> CopyEstimate {
        let (items, bytes) = (self.source.item_count, self.source.table_size_bytes);
        let done = self.earlier_counts().unwrap_or_default().items;
        let part = if self.export.is_some() {
            0.0
        } else if items == 0 {
            1.0
        } else {
            items.saturating_sub(done) as f64 / items as f64
        };
        let units = |items: u64, bytes: u64| {
            items as f64 * (bytes as f64 / items.max(1) as f64 / WRITE_UNIT_BYTES as f64).ceil()
        };
        let indexed = self
            .existing_target
            .as_ref()
            .filter(|_| self.rules.existing != ExistingTargetMode::Replace)
            .unwrap_or(&self.source);
        let of_indexes = indexed.schema.indexes.iter().map(|index| {
            let mut known = self.source.schema.indexes.iter().zip(&self.source.indexes);
            let state = known
                .find(|(known, _)| known.name == index.name)
                .map(|(_, state)| state);
            state.map_or(units(items, bytes), |state| {
                units(state.item_count, state.index_size_bytes)
            })
        });
        let left = CopyCounts {
            items: items.saturating_sub(done),
            write_units: part * (units(items, bytes) + of_indexes.sum::<f64>()),
            ..CopyCounts::of_scan(part * bytes as f64)
        };
        CopyEstimate { items, bytes, left }
    }

    /// Creates the table if necessary, copies the items, and then creates indexes and stream.
    /// `on_rejected` is called with items that the table refuses, `watch` with indexes under
    /// construction.
    ///
    /// # Errors
    /// Those of the services and of the journal; the same copy resumes where it was.
    pub fn run(
        self,
        tally: &CopyProgress,
        on_rejected: &OnRejected<'_>,
        watch: &mut OnIndexProgress<'_>,
    ) -> Result<CopyOutcome, CopyError> {
        let (from, to) = (self.from.of(tally), self.to.of(tally));
        let asking = Self { from, to, ..self };
        CopyOutcome::of(tally.stop_on_error(|| asking.copy(tally, on_rejected, watch)))
    }

    fn copy(
        mut self,
        tally: &CopyProgress,
        on_rejected: &OnRejected<'_>,
        watch: &mut OnIndexProgress<'_>,
    ) -> Result<CopyOutcome, CopyError> {
        let (journal, state) = match self.earlier_run.take() {
            Some(earlier) => earlier,
            None => self.begin()?,
        };
        let to_id = match &state.to_id {
            Some(to_id) => to_id.clone(),
            None => self.ensure_target()?,
        };
        // A copy that was begun by a version without origins has none.
        let mut origin = match self.to.local {
            Some(_) => CopyOrigin::read(&self.path)?,
            None => None,
        };
        if let Some(origin) = &mut origin {
            origin.to_id = Some(to_id.clone());
            origin.save(&self.path)?;
        }
        if state.to_id.is_none() {
            journal.record_target(to_id)?;
        }
        tally.add(&state.counts);
        let positions = match &self.export {
            None => state.positions,
            Some(export) => {
                // With the time of another export, changes would be missing.
                if origin.as_ref().map(|origin| origin.since_ms) != Some(export.exported_ms) {
                    return self
                        .refuse("the copy was not begun with this export; --replace begins anew");
                }
                tally.add(&(export.load)(&self.to)?);
                Vec::new()
            }
        };
        scan::scan(&self.from, positions, tally, &|request| {
            let read = self.from.retry(|| self.from.database.scan(request))?;
            let items = read.items.unwrap_or_default().into_iter();
            let puts = items.map(WriteRequest::Put).collect();
            let mut counts = write_all(&self.to, puts, on_rejected)?;
            counts.read_units = read.page.consumed_capacity.total();
            let segment = request.segment.map_or(0, |segment| segment.index);
            journal.record_page(segment, read.page.last_evaluated_key.as_ref(), counts)?;
            tally.add(&counts);
            Ok(read.page)
        })?;
        if tally.is_stopped() {
            return Ok(CopyOutcome::Stopped);
        }
        if state.head.makes {
            definition::create_late_parts(&self.to, &self.source.schema, watch)?;
            if let Ok(Some(attribute)) = &self.ttl_attribute {
                definition::enable_ttl(&self.to, attribute)?;
            }
        }
        if let Some(origin) = &mut origin {
            origin.complete(&self.to)?;
            origin.save(&self.path)?;
        }
        journal.remove()?;
        Ok(CopyOutcome::Whole)
    }

    fn begin(&self) -> Result<(CopyJournal, CopyState), CopyError> {
        if self.rules.existing == ExistingTargetMode::Replace && self.existing_target.is_some() {
            self.drop_target()?;
        }
        if self.to.local.is_some() {
            let export = self.export.as_ref();
            let since_ms = export.map_or(self.source.at_ms, |export| export.exported_ms);
            CopyOrigin::new(&self.from, &self.source, since_ms)?.save(&self.path)?;
        }
        let (journal, earlier) = CopyJournal::open(&self.path)?;
        if earlier.is_some() && !self.rules.restart {
            return Err(CopyJournalError::Busy.into());
        }
        let makes =
            self.existing_target.is_none() || self.rules.existing == ExistingTargetMode::Replace;
        let head = CopyHeader::new(
            self.from.name.clone(),
            self.source.table_id.clone(),
            self.rules.segments,
            makes,
        );
        let state = journal.begin(head)?;
        Ok((journal, state))
    }

    fn drop_target(&self) -> Result<(), CopyError> {
        let (to, request) = (&self.to, DeleteTableRequest::new(self.to.table.clone()));
        to.check(to.database.delete_table(request))?;
        while definition::describe(to)?.is_some() {
            to.check(to.caller.sleep(DELETED_POLL_INTERVAL))?;
        }
        Ok(())
    }

    /// Returns the id of the target table, which is created if it does not exist.
    fn ensure_target(&self) -> Result<String, CopyError> {
        let table = match definition::describe(&self.to)? {
            Some(there) => there,
            None => definition::create(&self.to, &self.source.schema, self.rules.indexes_last)?,
        };
        Ok(table.table_id)
    }
}

fn key_text(key: &KeySchema) -> String {
    let attributes = key
        .attributes()
        .map(|attribute| format!("{} ({:?})", attribute.name, attribute.attribute_type));
    attributes.collect::<Vec<_>>().join(" and ")
}

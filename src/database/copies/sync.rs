//! A copy in the data directory, made as its source again: by the changes that the source's stream
//! has, or by a comparison of all items. Either writes only what differs, and while it does, the
//! copy's [`CopyOrigin`] says that the copy is not whole.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::batches::{OnRejected, write_all};
use super::compare::{Comparison, get_items, without_key};
use super::copy::CopyOutcome;
use super::definition::{self, OnIndexProgress};
use super::journal::CopyCounts;
use super::origin::{self, CopyOrigin, StreamPlace};
use super::scan::CopyProgress;
use super::{CopyError, CopySide};
use crate::database::prelude::*;
use crate::model::api::{
    GetRecordsRequest, StreamEvent, StreamRecord, TableDescription, WriteRequest,
};
use crate::model::limits::BATCH_GET_KEYS_MAX;
use crate::model::{IndexKind, IndexSchema, Key};

/// Records are kept for a day; the last half hour of it is left for the reading.
const KEPT_MS: u64 = (24 * 60 - 30) * 60 * 1000;
/// The most by which the clocks here and at the service differ: requests signed by a clock that is
/// five minutes wrong are refused.
const CLOCK_MARGIN_MS: u64 = 10 * 60 * 1000;
/// The time for which a stream that is written to is followed.
const FOLLOW_MS: u64 = 60 * 1000;
/// The empty pages in a row after which a stream is taken for read: services have them between
/// records too. Records behind them are read by the next sync.
const EMPTY_PAGES: u32 = 30;

/// The options of a sync.
#[derive(Debug, Clone, Copy, Default)]
pub struct SyncOptions {
    /// True if the tables are compared, whatever the stream has.
    pub compares: bool,
    /// True if changes made to the copy are undone.
    pub overwrites: bool,
}

/// A checked sync that has not begun.
#[derive(Debug)]
pub struct SyncPlan {
    from: CopySide,
    to: CopySide,
    pub source: TableDescription,
    origin: CopyOrigin,
    journal: PathBuf,
    /// The reason for a comparison; `None` if the stream is read.
    pub compares: Option<String>,
    /// The parts of the definition that the copy has otherwise, and keeps.
    pub kept: Vec<String>,
    ttl_attribute: Option<String>,
}

/// The items of keys as they are to be; `None` is to be deleted.
type WantedItems = HashMap<Key, Option<Item>>;

impl SyncPlan {
    /// Checks both sides, without changes. `journal` is that of the pull.
    ///
    /// # Errors
    /// `Refused` with a sentence; errors of the service and the data directory.
    pub fn new(
        from: CopySide,
        to: CopySide,
        mut origin: CopyOrigin,
        journal: &Path,
        options: SyncOptions,
    ) -> Result<Self, CopyError> {
        let refuse = |text: String| Err(CopyError::Refused(text));
        let (source, copy) = (definition::existing(&from)?, definition::existing(&to)?);
        let (there, here) = (&from.name, &to.name);
        if journal.exists() || !origin.is_of(&copy.table_id) {
            return refuse(format!(
                "{here}: its pull has not ended, or it was made by another command since"
            ));
        }
        if !origin.is_from(&source) || source.schema.key != copy.schema.key {
            return refuse(format!(
                "{there} was deleted and made again since it was pulled; `ddbfs pull {} --replace` pulls the new one",
                from.table
            ));
        }
        let changes = match origin.is_whole {
            true => origin.local_changes(&to)?,
            false => None,
        };
        let compares = match (&origin.stream, changes) {
            (_, Some(changes)) if !options.overwrites => {
                return refuse(format!(
                    "{here} was changed here since it was pulled: {changes}; --overwrite undoes that and makes it as {there}"
                ));
            }
            (_, Some(changes)) => Some(format!("what was changed here is undone ({changes})")),
            (_, None) if options.compares => Some("--compare asks for it".to_owned()),
            (None, _) if !origin.is_whole => Some("the copy is not whole".to_owned()),
            (None, _) => Some("there is no stream of all changes since".to_owned()),
            (Some(stream), _) if source.latest_stream_label.as_ref() != Some(&stream.label) => {
                Some("the table has another stream now".to_owned())
            }
            _ if source.at_ms > origin.since_ms + KEPT_MS => {
                Some("the stream keeps changes for 24 hours only".to_owned())
            }
            _ => None,
        };
        // The service may have moved.
        origin.from.clone_from(there);
        let expires = to.check(definition::ttl_attribute(&to))?;
        // Credentials that may scan need not read this.
        let ttl_attribute = definition::ttl_attribute(&from).unwrap_or_else(|_| expires.clone());
        let parts =
            |of: &IndexSchema| (of.partition.clone(), of.sort.clone(), of.projection.clone());
        let is_other = |index: &&IndexSchema| {
            source.schema.index(index.name.as_str()).map(parts) != Some(parts(index))
        };
        let others = copy.schema.indexes_of(IndexKind::Global).filter(is_other);
        let mut kept: Vec<String> = others
            .map(|index| format!("the index {}", index.name))
            .collect();
        if expires.is_some() && expires != ttl_attribute {
            kept.push("time to live".to_owned());
        }
        Ok(Self {
            ttl_attribute: ttl_attribute.filter(|_| expires.is_none()),
            from,
            to,
            source,
            origin,
            journal: journal.to_owned(),
            compares,
            kept,
        })
    }

    /// Makes the copy as the source. A comparison scans each table in that many segments.
    ///
    /// # Errors
    /// Those of the service and the data directory; the same sync goes on.
    pub fn run(
        self,
        segments: u32,
        tally: &CopyProgress,
        on_rejected: &OnRejected<'_>,
        watch: &mut OnIndexProgress<'_>,
    ) -> Result<CopyOutcome, CopyError> {
        let (from, to) = (self.from.of(tally), self.to.of(tally));
        let asking = Self { from, to, ..self };
        CopyOutcome::of(tally.stop_on_error(|| asking.sync(segments, tally, on_rejected, watch)))
    }

    fn sync(
        mut self,
        segments: u32,
        tally: &CopyProgress,
        on_rejected: &OnRejected<'_>,
        watch: &mut OnIndexProgress<'_>,
    ) -> Result<CopyOutcome, CopyError> {
        let next = match (&self.compares, self.origin.stream.take()) {
            (None, Some(place)) => {
                self.by_stream(place, tally, on_rejected)?;
                None
            }
            _ => {
                // Until the comparison is through, no place in the stream is one to go on from.
                self.origin.is_whole = false;
                self.origin.save(&self.journal)?;
                let next = CopyOrigin::new(&self.from, &self.source, self.source.at_ms)?;
                self.by_comparison(segments, tally, on_rejected)?;
                next.stream
            }
        };
        if tally.is_stopped() {
            return Ok(CopyOutcome::Stopped);
        }
        definition::create_late_parts(&self.to, &self.source.schema, watch)?;
        if let Some(attribute) = &self.ttl_attribute {
            definition::enable_ttl(&self.to, attribute)?;
        }
        self.origin.stream = next.or(self.origin.stream);
        self.origin.since_ms = self.source.at_ms;
        self.origin.complete(&self.to)?;
        self.origin.save(&self.journal)?;
        Ok(CopyOutcome::Whole)
    }

    fn by_stream(
        &mut self,
        mut place: StreamPlace,
        tally: &CopyProgress,
        on_rejected: &OnRejected<'_>,
    ) -> Result<(), CopyError> {
        let (database, mut empty) = (Arc::clone(&self.from.database), 0);
        let since_ms = self.origin.since_ms.saturating_sub(CLOCK_MARGIN_MS);
        self.origin.is_whole = false;
        self.origin.stream = Some(place.clone());
        self.origin.save(&self.journal)?;
        while empty < EMPTY_PAGES && !tally.is_stopped() {
            let request = GetRecordsRequest {
                shard_iterator: place.iterator.clone(),
                limit: None,
            };
            let page = match self.from.retry(|| database.get_records(request.clone())) {
                Err(CopyError::Database { error, .. })
                    if error.exception() == "TrimmedDataAccessException" =>
                {
                    self.origin.stream = None;
                    self.origin.save(&self.journal)?;
                    return Err(CopyError::Refused(format!(
                        "{}: its stream has not all changes any more; the same command compares all items",
                        self.from.name
                    )));
                }
                page => page?,
            };
            let newest_ms = page.records.last().map_or(0, |record| record.created_ms);
            empty = if newest_ms == 0 { empty + 1 } else { 0 };
            let new = page
                .records
                .into_iter()
                .filter(|record| record.created_ms >= since_ms);
            let wanted = self.wanted(new.collect(), tally)?;
            self.write(wanted, tally, on_rejected)?;
            // A stream that was disabled has an end, and no place behind it.
            let next = page.next_shard_iterator.map(|iterator| StreamPlace {
                iterator,
                label: place.label.clone(),
            });
            self.origin.stream.clone_from(&next);
            match next {
                Some(next) if newest_ms <= self.source.at_ms + FOLLOW_MS => place = next,
                _ => break,
            }
            if newest_ms > 0 {
                self.origin.save(&self.journal)?;
            }
        }
        Ok(())
    }

    /// Returns the items of the records as they are after the last of each key, but for those that
    /// the copy has so.
    fn wanted(
        &self,
        records: Vec<StreamRecord>,
        tally: &CopyProgress,
    ) -> Result<WantedItems, CopyError> {
        let (key, mut wanted) = (&self.source.schema.key, WantedItems::new());
        let mut unknown = HashSet::new();
        for record in records {
            let of = record
                .keys
                .key(key)
                .ok_or_else(|| without_key(&self.from))?;
            // A stream without new images tells keys only.
            if record.event != StreamEvent::Remove && record.new_image.is_none() {
                unknown.insert(of.clone());
            }
            wanted.insert(of, record.new_image);
        }
        let unknown: Vec<Key> = unknown.into_iter().collect();
        for keys in unknown.chunks(BATCH_GET_KEYS_MAX) {
            for (key, item) in get_items(&self.from, key, keys, tally)? {
                wanted.insert(key, Some(item));
            }
        }
        let mut other = WantedItems::new();
        for (key, item) in wanted {
            if origin::item_here(&self.to, key.clone())? != item {
                other.insert(key, item);
            }
        }
        Ok(other)
    }

    fn write(
        &self,
        wanted: impl IntoIterator<Item = (Key, Option<Item>)>,
        tally: &CopyProgress,
        on_rejected: &OnRejected<'_>,
    ) -> Result<(), CopyError> {
        let schema = &self.source.schema.key;
        let write = |(key, item): (Key, Option<Item>)| match item {
            Some(item) => WriteRequest::Put(item),
            None => WriteRequest::Delete(key.to_item(schema)),
        };
        let writes: Vec<_> = wanted.into_iter().map(write).collect();
        let is_delete = |write: &&WriteRequest| matches!(write, WriteRequest::Delete(_));
        let deleted = writes.iter().filter(is_delete).count() as u64;
        let done = write_all(&self.to, writes, on_rejected)?;
        tally.add(&CopyCounts {
            items: 0,
            put: done.items - deleted - done.rejected,
            deleted,
            ..done
        });
        Ok(())
    }

    fn by_comparison(
        &self,
        segments: u32,
        tally: &CopyProgress,
        on_rejected: &OnRejected<'_>,
    ) -> Result<(), CopyError> {
        let comparison = Comparison {
            sides: [self.to.clone(), self.from.clone()],
            key: self.source.schema.key.clone(),
            segments,
            progress: tally,
        };
        let (mut waiting, mut written) = (Vec::new(), Ok(()));
        comparison.run(&mut |difference| {
            let [_, there] = &difference.items;
            waiting.push((difference.key.clone(), there.clone()));
            if waiting.len() == BATCH_GET_KEYS_MAX {
                written = self.write(waiting.drain(..), tally, on_rejected);
            }
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        written?;
        self.write(waiting, tally, on_rejected)
    }
}

//! The reads of the filesystem view (`impl Browse`) on the local engine, answered from keys, item
//! collections and record headers. `remote::browse` is the counterpart for a remote service.

use crate::database::prelude::*;
use std::ops::{Bound, ControlFlow};
use std::time::Instant;

use super::LocalDatabase;
use crate::codec::digest::Digest;
use crate::codec::key::{encode_prefix, partition_digest};
use crate::codec::record::Record;
use crate::database::{
    Browse, Collection, Completion, DeferredCharge, EntryKey, EntryRange, EntryStat, ListPosition,
    PartitionKey, RowSink, SourceStats, TextForm, Visit, VisitEntry, VisitRecord,
};
use crate::engine::base::counters::CollectionRecord;
use crate::engine::base::keys::{self, EntryAddress, SourceId, Space};
use crate::engine::base::read_units;
use crate::engine::catalog::{self, TableEntry};
use crate::engine::index_life::violations;
use crate::engine::read::source;
use crate::engine::read::source::ReadSource;
use crate::engine::runtime::batch::last_version;
use crate::engine::runtime::{ReadView, Timer};
use crate::expr::normal_form::RequestPart;
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::model::api::CommitObserver;
use crate::model::api::table_control::{
    SavedQueries, SavedQueryChange, SavedQueryOutcome, TrashChange, TrashKey, TrashRequest,
    TrashStat,
};
use crate::model::api::tables::{AbsentEntry, IndexEstimate};
use crate::model::api::{
    CreateTableRequest, DeleteItemResponse, IndexDefinition, MeasuredResponse,
    SearchVectorsRequest, SearchVectorsResponse, Segment, TableDescription, UpdateTableRequest,
    Version,
};
use crate::model::error::StoreError;
use crate::model::metrics::{HashRange, MeteredOperation};
use crate::model::{IndexKind, Key, KeyAttribute, TableSchema};
use crate::store::{Direction, KeyRange, LeaseHolder, StoreInfo, try_walk};

impl LocalDatabase {
    /// Reads what is billed when it is delivered, by `spend`. It is timed by the read, however much
    /// later that is.
    fn deferred<T: MeasuredResponse, Bill: Send + Sync + 'static>(
        &self,
        timer: Timer,
        read: impl FnOnce() -> Result<(T, Bill), Error>,
        spend: fn(&Bill, &ReadView<'_>) -> Result<(), Error>,
    ) -> Result<(T, DeferredCharge), Error> {
        let started = Instant::now();
        let (found, bill) = match read() {
            Ok(read) => read,
            Err(error) => {
                timer.count(Err(&error));
                return Err(error);
            }
        };
        let (engine, took, consumed) = (
            Arc::clone(&self.engine),
            started.elapsed(),
            found.consumption(),
        );
        let apply = move || {
            let settled = engine.view().and_then(|view| spend(&bill, &view));
            timer.count_at(took, settled.as_ref().map(|()| consumed.clone()));
            settled
        };
        Ok((found, DeferredCharge::new(apply)))
    }
}

impl Browse for LocalDatabase {
    fn schema(&self, table: &TableName) -> Result<Option<Arc<TableSchema>>, Error> {
        Ok(self
            .engine
            .table(table)?
            .map(|entry: Arc<TableEntry>| Arc::clone(&entry.schema)))
    }

    fn describe(&self, table: &TableName) -> Result<Option<TableDescription>, Error> {
        self.engine.describe(table)
    }

    fn table_names(&self) -> Result<Vec<TableName>, Error> {
        Ok(catalog::all_tables(self.engine.view()?.read())?)
    }

    fn last_version(&self) -> Result<Version, Error> {
        Ok(last_version(self.engine.view()?.read())?)
    }

    fn incomplete_pull(&self, table: &TableName) -> Result<Option<String>, Error> {
        let incomplete = self.incomplete(table)?;
        Ok(incomplete.map(|incomplete| incomplete.sentence))
    }

    fn stats(&self, source: &SourceName) -> Result<SourceStats, Error> {
        let view = self.engine.view()?;
        let source = ReadSource::find_in_any_state(&view, &source.table, source.index.as_ref())?;
        let counters = view.counters(source.id())?;
        Ok(SourceStats {
            entries: counters.entries,
            bytes: counters.bytes,
            partition_keys: counters.partition_keys,
        })
    }

    fn stat(&self, source: &SourceName, key: &EntryKey) -> Result<Option<EntryStat>, Error> {
        self.read(source, |view, source| {
            let Some(address) = address(source, key) else {
                return Ok(None);
            };
            let record = view.entry(&address)?;
            let mut text = Vec::new();
            let shown = record.map(|record| source.shown(record, &mut text));
            Ok(shown.transpose()?.as_ref().map(EntryStat::from))
        })
    }

    fn text(
        &self,
        source: &SourceName,
        key: &EntryKey,
        form: TextForm,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error> {
        self.read_text(source, key, form, false)
    }

    fn metered_text(
        &self,
        source: &SourceName,
        key: &EntryKey,
        form: TextForm,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error> {
        self.read_text(source, key, form, true)
    }

    fn check_update_table(&self, requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        self.engine.check_update_table(requests)
    }

    fn check_create_table(&self, request: CreateTableRequest) -> Result<(), Error> {
        self.engine.check_create_table(request)
    }

    fn forecast_index(
        &self,
        request: &UpdateTableRequest,
        index: &IndexDefinition,
    ) -> Result<Option<IndexEstimate>, Error> {
        self.engine.forecast_index(request, index).map(Some)
    }

    fn pause_index_propagation(&self, table: &TableName, is_paused: bool) -> Result<(), Error> {
        self.engine.pause_index_propagation(table, is_paused)
    }

    fn count_from_now(&self, table: &TableName) -> Result<(), Error> {
        self.engine.count_from_now(table)
    }

    fn collection(
        &self,
        source: &SourceName,
        partition: &PartitionKey,
    ) -> Result<Option<Collection>, Error> {
        let digest = partition_digest(partition);
        self.read(source, |view, source| {
            Ok(collection_at(view, source, digest)?)
        })
    }

    fn partition_by_digest(
        &self,
        source: &SourceName,
        digest: Digest,
    ) -> Result<Option<PartitionKey>, Error> {
        self.read(source, |view, source| {
            Ok(collection_at(view, source, digest)?.map(|collection| collection.partition))
        })
    }

    fn collections(
        &self,
        source: &SourceName,
        range: Option<&HashRange>,
        after: Option<&ListPosition>,
        visit: &mut Visit<'_, (Collection, ListPosition)>,
    ) -> Result<(), Error> {
        let view = self.engine.view()?;
        let Some(source) = find_readable(&view, source)? else {
            return Ok(());
        };
        let space = if stores_collections(&source) {
            Space::Collection
        } else {
            Space::Entry
        };
        let mut places = space.range(source.id());
        if let Some(range) = range {
            // A collection that a boundary cuts is listed in both partitions.
            let first = range
                .from
                .first_chunk::<{ size_of::<Digest>() }>()
                .map_or(&range.from[..], |digest| &digest[..]);
            places.lower = Bound::Included(space.key(source.id(), first));
            places.upper = range.to.as_deref().map_or(places.upper, |to| {
                Bound::Excluded(space.key(source.id(), to))
            });
        }
        walk(
            &view,
            places,
            after.map(|place| space.key(source.id(), &place.0)),
            &mut |key, bytes| {
                Ok(visit((
                    collection_of(&source, bytes)?,
                    ListPosition(keys::place_in_source(key).into()),
                )))
            },
        )
    }

    fn entries(
        &self,
        source: &SourceName,
        range: &EntryRange,
        after: Option<&ListPosition>,
        visit: &mut VisitEntry<'_>,
    ) -> Result<(), Error> {
        let view = self.engine.view()?;
        let Some(source) = find_readable(&view, source)? else {
            return Ok(());
        };
        let range = match range {
            EntryRange::All => Space::Entry.range(source.id()),
            EntryRange::Collection {
                partition,
                sort_prefix,
            } => {
                let digest = partition_digest(partition);
                let mut prefix = Space::Entry.key(source.id(), &digest);
                // Strings and binaries have the same encoding, and a prefix may end inside a
                // character.
                let sort = sort_prefix
                    .clone()
                    .and_then(|bytes| encode_prefix(&AttributeValue::B(bytes)));
                prefix.extend(sort.unwrap_or_default());
                KeyRange::prefix(&prefix)
            }
            EntryRange::Within(range) => place_key_range(source.id(), range),
        };
        let start = after.map(|place| Space::Entry.key(source.id(), &place.0));
        // One key is filled again for every entry, which saves an allocation each.
        let mut entry = EntryKey {
            index: None,
            base: Key {
                partition: AttributeValue::Null,
                sort: None,
            },
        };
        walk(&view, range, start, &mut |key, bytes| {
            let mut text = Vec::new();
            let record = source.shown(Record::parse(bytes)?, &mut text)?;
            read_entry_key(&source, &record, &mut entry)?;
            Ok(visit(
                &entry,
                EntryStat::from(&record),
                keys::place_in_source(key),
            ))
        })
    }

    fn records(
        &self,
        source: &SourceName,
        segment: Option<Segment>,
        after: Option<&ListPosition>,
        visit: &mut VisitRecord<'_>,
    ) -> Result<Option<ListPosition>, Error> {
        self.read(source, |view, source| {
            let begin =
                |strip: u64, strips: u64| (strip * (u64::MAX / strips)).to_be_bytes().to_vec();
            let range = segment.map_or(
                HashRange {
                    from: Vec::new(),
                    to: None,
                },
                |Segment { index, total }| {
                    let (strip, strips) = (u64::from(index), u64::from(total.max(1)));
                    HashRange {
                        from: begin(strip, strips),
                        to: (strip + 1 < strips).then(|| begin(strip + 1, strips)),
                    }
                },
            );
            let start = after.map(|after| Space::Entry.key(source.id(), &after.0));
            let mut ended_at = None;
            walk(
                view,
                place_key_range(source.id(), &range),
                start,
                &mut |key, bytes| {
                    let mut text = Vec::new();
                    let next = visit(&source.shown(Record::parse(bytes)?, &mut text)?);
                    if next.is_break() {
                        ended_at = Some(ListPosition(keys::place_in_source(key).into()));
                    }
                    Ok(next)
                },
            )?;
            Ok(ended_at)
        })
    }

    fn absences(
        &self,
        source: &SourceName,
        only_refused: bool,
        visit: &mut Visit<'_, AbsentEntry>,
    ) -> Result<(), Error> {
        let view = self.engine.view()?;
        let source = ReadSource::find_in_any_state(&view, &source.table, source.index.as_ref())?;
        let Some(index) = source.index_view() else {
            return Ok(());
        };
        Ok(match only_refused {
            true => violations::each_listed(&view, &source.table, index.index, visit),
            false => violations::each_missing(&view, &source.table, &index, visit),
        }?)
    }

    fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error> {
        self.engine.saved_queries(table)
    }

    fn change_saved_queries(
        &self,
        table: &TableName,
        change: SavedQueryChange,
    ) -> Result<SavedQueryOutcome, Error> {
        self.engine.change_saved_queries(table, change)
    }

    fn commit_id(&self) -> u64 {
        self.engine.commit_id()
    }

    fn visible_commit_id(&self) -> Result<u64, Error> {
        Ok(self.engine.view()?.read().commit_id())
    }

    fn read_page_unbilled(
        &self,
        request: &ReadRequest,
        rows: &mut RowSink<'_>,
    ) -> Result<(Page, DeferredCharge), Error> {
        let operation = match request.range {
            ReadRange::Query { .. } => MeteredOperation::Query,
            ReadRange::Scan { .. } => MeteredOperation::Scan,
        };
        self.deferred(
            self.timer(operation, request),
            || self.engine.read_page_unbilled(request.clone(), rows),
            |bill, view| bill.spend(view),
        )
    }

    fn search_vectors_unbilled(
        &self,
        request: &SearchVectorsRequest,
    ) -> Result<(SearchVectorsResponse, DeferredCharge), Error> {
        self.deferred(
            self.timer(MeteredOperation::SearchVectors, request),
            || self.engine.search_vectors_unbilled(request),
            |bill, view| bill.spend(view),
        )
    }

    fn peek_page(&self, request: &ReadRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        match self.engine.read_page_unbilled(request.clone(), rows) {
            Err(Error::ResourceNotFound) if self.describe(&request.table_name)?.is_some() => {
                Ok(Page::empty(request.table_name.clone()))
            }
            page => Ok(page?.0),
        }
    }

    fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, Error> {
        self.engine.wait_for_commit(after, timeout)
    }

    fn expiring(&self, table: &TableName, count: usize) -> Result<Vec<(u64, Key)>, Error> {
        self.engine.expiring(table, count)
    }

    fn trash_item(&self, request: TrashRequest, done: Completion<DeleteItemResponse>) {
        let timer = self.timer(MeteredOperation::DeleteItem, &request.delete);
        let timed =
            done.after(move |outcome| timer.finish(outcome, DeleteItemResponse::consumption));
        self.engine.trash_item(request, timed);
    }

    fn trashed(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        visit: &mut Visit<'_, TrashStat>,
    ) -> Result<(), Error> {
        self.engine.view()?.trash_files(table, folder, visit)
    }

    fn trashed_at(&self, key: &TrashKey) -> Result<Option<(TrashStat, Vec<u8>)>, Error> {
        self.engine.view()?.trash_file(key)
    }

    fn change_trash(&self, change: TrashChange) -> Result<bool, Error> {
        self.engine.change_trash(change)
    }

    fn store_info(&self) -> StoreInfo {
        self.engine.store_info()
    }

    fn observe(&self, observer: &Arc<dyn CommitObserver>) -> Result<(), Error> {
        self.engine.observe(observer)
    }

    fn unobserve(&self, observer: &Arc<dyn CommitObserver>) {
        self.engine.unobserve(observer);
    }

    fn hold_lease(&self, holder: Arc<dyn LeaseHolder>) -> Result<(), Error> {
        self.engine.take_lease(holder)
    }
}

impl LocalDatabase {
    /// Reads a source in one view; returns the default while its table is being created or deleted.
    pub(super) fn read<T: Default>(
        &self,
        source: &SourceName,
        read: impl FnOnce(&ReadView<'_>, &ReadSource) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let view = self.engine.view()?;
        find_readable(&view, source)?
            .map_or_else(|| Ok(T::default()), |source| read(&view, &source))
    }

    /// Reads the text of an entry, and charges it in the same view if it is metered.
    fn read_text(
        &self,
        source: &SourceName,
        key: &EntryKey,
        form: TextForm,
        is_metered: bool,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error> {
        self.read(source, |view, source| {
            let Some(address) = address(source, key) else {
                return Ok(None);
            };
            let Some(record) = view.entry(&address)? else {
                return Ok(None);
            };
            let mut shown = Vec::new();
            let shown = source.shown(record, &mut shown)?;
            let text = form.text(&shown)?;
            // After the text: a failed read consumes nothing.
            if is_metered && !source.is_index(IndexKind::Vector) {
                // First admitted, then charged: a refused read consumes nothing.
                view.admit_item(&source.table, &address)?;
                // A global index has no consistent reads.
                let is_consistent = !source.is_index(IndexKind::Global);
                let units = read_units(record.item_bytes() as usize, is_consistent);
                view.charge_item(&source.table, &address, units)?;
                let part = RequestPart::entry(
                    &source.table.schema.name,
                    source.index().map(|index| &index.name),
                    key.index
                        .as_ref()
                        .and_then(|(partition, _)| partition.first())
                        .unwrap_or(&key.base.partition),
                );
                self.engine.count_get(&part, units);
            }
            Ok(Some((text, EntryStat::from(&shown))))
        })
    }
}

pub(super) fn find(view: &ReadView<'_>, source: &SourceName) -> Result<ReadSource, Error> {
    ReadSource::find(view, &source.table, source.index.as_ref())
}

/// Finds a readable source; `None` while its table is being created or deleted: such a table exists
/// and shows nothing.
pub(super) fn find_readable(
    view: &ReadView<'_>,
    source: &SourceName,
) -> Result<Option<ReadSource>, Error> {
    match find(view, source) {
        Err(Error::ResourceNotFound) if view.table(&source.table)?.is_some() => Ok(None),
        found => found.map(Some),
    }
}

/// A visitor of keys and values that can fail.
type TryVisit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError> + 'a;

/// Walks a range, strictly after `start`; an error of the visitor ends the walk.
fn walk(
    view: &ReadView<'_>,
    range: KeyRange,
    start: Option<Vec<u8>>,
    visit: &mut TryVisit<'_>,
) -> Result<(), Error> {
    let range = match start {
        Some(key) => source::range_after_if_inside(range, key),
        None => range,
    };
    Ok(try_walk(view.read(), &range, Direction::Forward, visit)?)
}

fn place_key_range(source: SourceId, range: &HashRange) -> KeyRange {
    let to = range
        .to
        .as_deref()
        .map(|to| Bound::Excluded(Space::Entry.key(source, to)));
    let lower = Bound::Included(Space::Entry.key(source, &range.from));
    KeyRange {
        lower,
        upper: to.unwrap_or_else(|| Space::Entry.range(source).upper),
    }
}

/// Returns the address of an entry; `None` if the key does not have the shape of the source's keys.
pub(super) fn address(source: &ReadSource, key: &EntryKey) -> Option<EntryAddress> {
    match (source.index_view(), &key.index) {
        (None, None) => Some(EntryAddress::of_item(source.id(), &key.base)),
        (Some(view), Some((partition, sort))) => {
            let fits = partition.len() == view.index.partition.len()
                && sort.len() == view.index.order().len();
            let partition: Vec<&AttributeValue> = partition.iter().collect();
            let sort: Vec<&AttributeValue> = sort.iter().collect();
            fits.then(|| view.address(&partition, &sort, &key.base))
        }
        (None, Some(_)) | (Some(_), None) => None,
    }
}

pub(super) fn entry_key(source: &ReadSource, record: &Record<'_>) -> Result<EntryKey, StoreError> {
    let mut key = EntryKey {
        index: None,
        base: Key {
            partition: AttributeValue::Null,
            sort: None,
        },
    };
    read_entry_key(source, record, &mut key)?;
    Ok(key)
}

/// Reads the key of a record into the key of another entry of the same source, as [`entry_key`]
/// does.
fn read_entry_key(
    source: &ReadSource,
    record: &Record<'_>,
    key: &mut EntryKey,
) -> Result<(), StoreError> {
    let read = |attribute: &KeyAttribute, into: &mut AttributeValue| match record
        .attribute_into(&attribute.name, into)?
    {
        true => Ok(()),
        false => Err(StoreError::Corrupt("a record lacks a key attribute")),
    };
    let schema = &source.table.schema.key;
    read(&schema.partition, &mut key.base.partition)?;
    if let Some(sort) = &schema.sort {
        read(sort, key.base.sort.get_or_insert(AttributeValue::Null))?;
    }
    if let Some(index) = source.index() {
        let (partition, sort) = key.index.get_or_insert_default();
        for (attributes, values) in [(&index.partition[..], partition), (index.order(), sort)] {
            values.resize(attributes.len(), AttributeValue::Null);
            attributes
                .iter()
                .zip(values)
                .try_for_each(|(attribute, value)| read(attribute, value))?;
        }
    }
    Ok(())
}

/// True if the source stores its item collections. In a table without sort key each item is its own
/// collection.
fn stores_collections(source: &ReadSource) -> bool {
    source.index().is_some() || source.table.has_collections()
}

pub(super) fn collection_at(
    view: &ReadView<'_>,
    source: &ReadSource,
    digest: Digest,
) -> Result<Option<Collection>, StoreError> {
    if stores_collections(source) {
        return view
            .collection(source.id(), digest)?
            .map(|bytes| stored_collection(source, bytes))
            .transpose();
    }
    let address = EntryAddress {
        source: source.id(),
        digest,
        order: Vec::new(),
    };
    view.read()
        .get(&address.encode())?
        .map(|bytes| item_as_collection(source, bytes))
        .transpose()
}

/// Returns the item collection of a walked record.
fn collection_of(source: &ReadSource, bytes: &[u8]) -> Result<Collection, StoreError> {
    if stores_collections(source) {
        stored_collection(source, bytes)
    } else {
        item_as_collection(source, bytes)
    }
}

/// Decodes a stored item collection.
fn stored_collection(source: &ReadSource, bytes: &[u8]) -> Result<Collection, StoreError> {
    let value = CollectionRecord::parse(bytes)?;
    let names: Vec<&str> = source
        .key_schema()
        .partition
        .iter()
        .map(|attribute| attribute.name.as_str())
        .collect();
    let partition = value.partition(&names)?;
    Ok(Collection {
        partition,
        entries: value.entries,
        bytes: value.bytes,
        modified_ms: value.modified_ms,
    })
}

/// Returns the collection of a single item, in a table without sort key.
fn item_as_collection(source: &ReadSource, bytes: &[u8]) -> Result<Collection, StoreError> {
    let record = Record::parse(bytes)?;
    let key = entry_key(source, &record)?.base;
    let bytes = u64::from(record.item_bytes());
    Ok(Collection {
        partition: vec![key.partition],
        entries: 1,
        bytes,
        modified_ms: record.modified_ms(),
    })
}

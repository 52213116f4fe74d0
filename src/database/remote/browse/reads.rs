//! The reads of a filesystem (`impl Browse`), answered by operations of the API. `listing` has the
//! listings, `local::browse` is the counterpart for the local engine.

use super::RemoteDatabase;
use super::cache::{CachedRecord, collection_place};
use super::source;
use super::source::{ReadableSource, decode_position, encode_position};
use super::walks::ListSubject;
use super::walks::ScanCost;
use crate::codec::digest::Digest;
use crate::codec::record::Record;
use crate::codec::record::ResultRow;
use crate::database::cancel::CancelToken;
use crate::database::collect_page;
use crate::database::layout::PARTITIONS_UNAVAILABLE;
use crate::database::prelude::*;
use crate::database::{
    Browse, Collection, Completion, DeferredCharge, EntryKey, EntryRange, EntryStat, ListPosition,
    PartitionKey, RowSink, SourceStats, TextForm, Visit, VisitEntry, VisitRecord,
};
use crate::expr::SortRange;
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::model::api::table_control::{
    SavedQueries, SavedQueryChange, SavedQueryOutcome, TrashChange, TrashKey, TrashRequest,
    TrashStat,
};
use crate::model::api::{
    Call, DeleteItemResponse, GetItemRequest, Segment, TableDescription, UpdateTableRequest,
};
use crate::model::limits::READ_UNIT_BYTES;
use crate::model::metrics::HashRange;
use crate::model::schema::KeyAttributeType;
use crate::model::{Key, TableSchema};
use crate::store::StoreInfo;
use std::ops::ControlFlow;

/// The free space that `df` shows, of a service that grows with its data.
const FREE_BYTES: u64 = 1 << 50;
/// The limits of an example read: its items and its approximate size.
const EXAMPLE_ITEMS: u32 = 16;
/// The items of an example read of a table that the service has not counted: their length is
/// unknown.
const EXAMPLE_ITEMS_UNCOUNTED: u32 = 2;
const EXAMPLE_BYTES: u64 = 64 * 1024;
/// The records of one page of a sample.
const SAMPLE_ITEMS: u32 = 1000;

const NO_PLACES: &str = "the partitions of a service elsewhere are not to be seen; `ddbfs pull` the table and look at the model of them there";
const NO_ALIAS: &str = "this shortened name says its key only after the mount listed it, and --scan-limit forbids that: name the key in a query path";

impl RemoteDatabase {
    fn find_source(&self, source: &SourceName) -> Result<Option<ReadableSource>, Error> {
        let described = self
            .tables
            .table(self.service_handle(), &source.table)?
            .ok_or(Error::ResourceNotFound)?;
        ReadableSource::new(source, described)
    }

    /// Finds the source that a request reads.
    fn find_requested(&self, request: &ReadRequest) -> Result<Option<ReadableSource>, Error> {
        self.find_source(&SourceName {
            table: request.table_name.clone(),
            index: request.index_name.clone(),
        })
    }

    /// Returns the record of an entry, from the cache or the service.
    fn record(
        &self,
        source: &SourceName,
        key: &EntryKey,
        is_content: bool,
    ) -> Result<Option<CachedRecord>, Error> {
        let Some(readable) = self
            .find_source(source)?
            .filter(|readable| readable.fits(key))
        else {
            return Ok(None);
        };
        if source.index.is_some() {
            self.settle()?;
        }
        let place = (source.clone(), key.clone());
        if let Some(found) = self.walked(&place, is_content) {
            return Ok(found);
        }
        let ahead = self.items_ahead(&readable, &place);
        let found = self.cache.get(&place, &self.caller, || {
            if ahead > 0 {
                let Key { partition, sort } = &key.base;
                self.read_range(&readable, partition, sort.as_ref(), ahead)?;
                if let Some(found) = self.cache.get_valid(&place) {
                    return Ok(found);
                }
            }
            let item = match &key.index {
                None => self.item(&readable, &key.base)?,
                Some((partition, _)) if readable.sort().is_empty() => {
                    self.projected(&readable, key, partition)?
                }
                Some((partition, sort)) => self.find_entry(&readable, key, partition, sort)?,
            };
            Ok(item.map(|item| self.cache.record(&item, &readable.key_names())))
        })?;
        if found.is_none() {
            let now_ms = self.options.clock.now_ms();
            self.folder_reads.record_absent(&place, now_ms);
        }
        Ok(found)
    }

    pub(super) fn item(&self, table: &ReadableSource, key: &Key) -> Result<Option<Item>, Error> {
        let key = key.to_item(&table.described.schema.key);
        // An eventually consistent read could miss a write that this mount has just made.
        let request = GetItemRequest {
            consistent_read: true,
            ..GetItemRequest::new(table.source.table.clone(), key)
        };
        Ok(self.service.get_item(request)?.item)
    }

    /// Finds an entry of an index by its whole key, which other items may share.
    fn find_entry(
        &self,
        index: &ReadableSource,
        key: &EntryKey,
        partition: &PartitionKey,
        sort: &[AttributeValue],
    ) -> Result<Option<Item>, Error> {
        let (mut request, mut found) = (index.entry_query(partition, sort), None);
        loop {
            let page = source::read_items(&*self.service, &request, &mut |item| {
                // Other items may have the same index key: the base key decides.
                if index.key_of(&item)? == *key {
                    found = Some(item);
                }
                Ok(())
            })?;
            request.exclusive_start_key = page.last_evaluated_key;
            if found.is_some() || request.exclusive_start_key.is_none() {
                return Ok(found);
            }
        }
    }

    /// Finds an entry of an index without sort key: reads the item and projects it, instead of its
    /// whole collection.
    fn projected(
        &self,
        index: &ReadableSource,
        key: &EntryKey,
        partition: &PartitionKey,
    ) -> Result<Option<Item>, Error> {
        let (Some(item), Some(schema)) = (self.item(index, &key.base)?, index.index()) else {
            return Ok(None);
        };
        let has_key = schema
            .partition
            .iter()
            .zip(partition)
            .all(|(attribute, value)| item.get(&attribute.name) == Some(value));
        let base = &index.described.schema.key;
        let shown = item
            .0
            .into_iter()
            .filter(|(name, _)| schema.projects(base, name))
            .collect();
        Ok(has_key.then_some(Item(shown)))
    }

    /// True if the collection has entries, found by a read of one entry.
    fn has_entries(
        &self,
        source: &ReadableSource,
        partition: &PartitionKey,
    ) -> Result<bool, Error> {
        let place = collection_place(&source.source, partition);
        let at = self.snapshot_time();
        let walks = &self.snapshots;
        if walks.has_folder(&source.source, partition, &self.caller, at) {
            return Ok(true);
        }
        let found = self.cache.get(&place, &self.caller, || {
            self.settle()?;
            let few = source.items_in(READ_UNIT_BYTES as u64);
            if let (Some(few @ 2..), None, Some(value)) = (few, source.index(), partition.first()) {
                // The items of one unit cost no more than the first: one of them may be wanted
                // next.
                let count = self.read_range(source, value, None, few)?;
                return Ok((count > 0).then(CachedRecord::default));
            }
            let mut count = 0;
            let mut request = ReadRequest {
                limit: Some(1),
                ..source.query(partition, None)
            };
            // Keys alone: the units are the same, but the answer is shorter.
            request.projection = Some(source.key_projection());
            source::read_page(&*self.service, &request, &mut |_| count += 1)?;
            Ok((count > 0).then(CachedRecord::default))
        })?;
        Ok(found.is_some())
    }

    /// Returns a collection that has entries. Collections are not counted: it gets the counters of
    /// its source as an upper bound, and the age of its table.
    fn collection_of(source: &ReadableSource, partition: PartitionKey) -> Collection {
        let (entries, bytes) = source.counters();
        Collection {
            partition,
            entries,
            bytes,
            modified_ms: source.described.table.created_ms,
        }
    }

    /// Reads a page for inspection; the pages of a scan must stay below the limit.
    fn peek(&self, request: &ReadRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let Some(readable) = self.find_requested(request)? else {
            return Ok(Page::empty(request.table_name.clone()));
        };
        self.settle()?;
        let cost = self.scan_costs.before(request);
        if let ReadRange::Scan { .. } = request.range {
            // The counters may be six hours old: the units that the earlier pages took count too.
            self.check_scan_cost(&readable, cost)?;
        }
        // Only whole items are cached.
        let is_whole = request.projection.is_none() && request.select.is_none();
        let began = self.cache.begin();
        let page = source::read_page(&*self.service, request, &mut |row| {
            if let (true, Ok(item)) = (is_whole, row.to_item()) {
                let is_consistent = request.consistent_read;
                // An item without its keys is the reader's to refuse.
                let _ = readable.keep_item(&self.cache, began, &item, is_consistent);
            }
            rows(row);
        })?;
        if let Some(last) = &page.last_evaluated_key {
            self.scan_costs
                .insert(request, last, cost.plus(ScanCost::of(request, &page)));
        }
        Ok(page)
    }
}

impl RemoteDatabase {
    /// Limits a request to the items that a few read units show, by their mean size.
    fn limited(&self, request: &ReadRequest) -> Result<ReadRequest, Error> {
        // A table that the service has not counted yet has no bytes: then a fixed number of items
        // is read.
        let few = self
            .find_requested(request)?
            .and_then(|readable| readable.items_in(EXAMPLE_BYTES))
            .unwrap_or(EXAMPLE_ITEMS_UNCOUNTED);
        Ok(ReadRequest {
            limit: request.limit.map(|limit| limit.min(few)),
            ..request.clone()
        })
    }

    /// Reads a page of a request that may be read to its end.
    fn peek_to_end(&self, request: &ReadRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        self.check_read_to_end(request)?;
        self.peek(request, rows)
    }

    /// Reads the first few items for an example, and caches them for a while.
    fn peek_example(&self, request: &ReadRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let request = &self.limited(request)?;
        let now_ms = self.options.clock.now_ms();
        let examples = &self.local_state.examples;
        let held = examples.lock().get(request, now_ms).cloned();
        let (items, page) = match held {
            Some(held) => held,
            None => {
                let read = collect_page(&mut |rows| self.peek_to_end(request, rows))?;
                let mut examples = examples.lock();
                examples.insert(request.clone(), read.clone(), now_ms);
                read
            }
        };
        items.iter().for_each(|item| rows(ResultRow::Item(item)));
        Ok(page)
    }
}

impl Browse for RemoteDatabase {
    fn browse_for(&self, caller: &CancelToken) -> Option<Arc<dyn Browse>> {
        Some(Arc::new(self.with_caller(caller)))
    }

    fn schema(&self, table: &TableName) -> Result<Option<Arc<TableSchema>>, Error> {
        Ok(self
            .tables
            .table(self.service_handle(), table)?
            .map(|described| Arc::clone(&described.schema)))
    }

    fn describe(&self, table: &TableName) -> Result<Option<TableDescription>, Error> {
        Ok(self
            .tables
            .described(self.service_handle(), table, 0)?
            .map(|described| described.table.clone()))
    }

    fn table_names(&self) -> Result<Vec<TableName>, Error> {
        Ok(self.tables.names(self.service_handle())?.to_vec())
    }

    fn stats(&self, source: &SourceName) -> Result<SourceStats, Error> {
        let own_writes = self.commits.own_writes();
        let described = self
            .tables
            .described(self.service_handle(), &source.table, own_writes)?
            .ok_or(Error::ResourceNotFound)?;
        // The overhead that the service bills for each item may or may not be part of its counters.
        let (entries, bytes, partition_keys) = match &source.index {
            None => {
                let table = &described.table;
                (table.item_count, table.table_size_bytes, 0)
            }
            Some(name) => {
                let mut indexes = described
                    .schema
                    .indexes
                    .iter()
                    .zip(&described.table.indexes);
                let (_, index) = indexes
                    .find(|(index, _)| index.name == *name)
                    .ok_or(Error::ResourceNotFound)?;
                (
                    index.item_count,
                    index.index_size_bytes,
                    index.partition_keys,
                )
            }
        };
        Ok(SourceStats {
            entries,
            bytes,
            partition_keys,
        })
    }

    fn stat(&self, source: &SourceName, key: &EntryKey) -> Result<Option<EntryStat>, Error> {
        let record = self.record(source, key, false)?;
        Ok(record
            .map(|record| Record::parse(&record).map(|record| EntryStat::from(&record)))
            .transpose()?)
    }

    fn text(
        &self,
        source: &SourceName,
        key: &EntryKey,
        form: TextForm,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error> {
        let Some(record) = self.record(source, key, true)? else {
            return Ok(None);
        };
        let record = Record::parse(&record)?;
        Ok(Some((form.text(&record)?, EntryStat::from(&record))))
    }

    /// Reads a page. The service bills it at once, so its charge is empty.
    fn read_page_unbilled(
        &self,
        request: &ReadRequest,
        rows: &mut RowSink<'_>,
    ) -> Result<(Page, DeferredCharge), Error> {
        Ok((self.peek(request, rows)?, DeferredCharge::new(|| Ok(()))))
    }

    fn check_read_to_end(&self, request: &ReadRequest) -> Result<(), Error> {
        match (&request.range, self.find_requested(request)?) {
            (ReadRange::Scan { .. }, Some(readable)) => {
                self.check_scan_limit(&readable, request.limit)
            }
            _ => Ok(()),
        }
    }

    fn is_writable(&self) -> bool {
        self.options.is_writable
    }

    fn charges_peeks(&self) -> bool {
        true
    }

    fn peek_page(&self, request: &ReadRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        match request.limit {
            Some(1..=EXAMPLE_ITEMS) if request.exclusive_start_key.is_none() => {
                self.peek_example(request, rows)
            }
            _ => self.peek_to_end(request, rows),
        }
    }

    fn collection(
        &self,
        source: &SourceName,
        partition: &PartitionKey,
    ) -> Result<Option<Collection>, Error> {
        let Some(readable) = self.find_source(source)? else {
            return Ok(None);
        };
        // Without a sort key an item is its own collection: a get of the item answers.
        if !readable.has_collections() {
            let Some(value) = partition.first() else {
                return Ok(None);
            };
            let key = EntryKey::from(Key {
                partition: value.clone(),
                sort: None,
            });
            let stat = self.stat(source, &key)?;
            return Ok(stat.map(|stat| {
                let (bytes, modified_ms) = (u64::from(stat.item_bytes), stat.modified_ms);
                Collection {
                    partition: partition.clone(),
                    entries: 1,
                    bytes,
                    modified_ms,
                }
            }));
        }
        if !readable.fits_partition(partition) || !self.has_entries(&readable, partition)? {
            return Ok(None);
        }
        self.local_state.learn_key(source, partition);
        Ok(Some(Self::collection_of(&readable, partition.clone())))
    }

    fn partition_by_digest(
        &self,
        source: &SourceName,
        digest: Digest,
    ) -> Result<Option<PartitionKey>, Error> {
        if let Some(partition) = self.local_state.partition(source, digest) {
            return Ok(self
                .collection(source, &partition)?
                .map(|collection| collection.partition));
        }
        // The collection was never listed. Its source is listed now, if the scan limit allows it,
        // and each listed key is remembered.
        let listed = self.collections(source, None, None, &mut |_| match self
            .local_state
            .partition(source, digest)
        {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        });
        match listed {
            // The advice of the scan limit would not fit a lookup of one name.
            Err(Error::Budget(_)) => Err(Error::Unavailable(NO_ALIAS)),
            listed => listed.map(|()| self.local_state.partition(source, digest)),
        }
    }

    fn collections(
        &self,
        source: &SourceName,
        range: Option<&HashRange>,
        after: Option<&ListPosition>,
        visit: &mut Visit<'_, (Collection, ListPosition)>,
    ) -> Result<(), Error> {
        if range.is_some() {
            return Err(PARTITIONS_UNAVAILABLE);
        }
        let Some(readable) = self.find_source(source)? else {
            return Ok(());
        };
        // Whole items cost no more than their keys: they are kept for the reader's next steps, as far
        // as the cache has room.
        let is_kept = readable.counters().1 <= self.options.cache_bytes as u64 / 2;
        let request = ReadRequest {
            projection: (!is_kept).then(|| readable.key_projection()),
            ..readable.scan()
        };
        // Begun before the first page: an own write from now on voids what this listing caches.
        let (of, began) = (readable.clone(), self.cache.begin());
        self.walk(
            readable,
            &ListSubject::Collections,
            request,
            after,
            &mut |row| {
                let partition = row.key.index.as_ref().map_or_else(
                    || vec![row.key.base.partition.clone()],
                    |(key, _)| key.clone(),
                );
                self.local_state.learn_key(source, &partition);
                self.cache.insert(
                    began,
                    collection_place(source, &partition),
                    // An empty record says that the collection exists, as in `has_entries`.
                    Some(CachedRecord::default()),
                    false,
                );
                visit((
                    Self::collection_of(&of, partition),
                    ListPosition(row.place.clone()),
                ))
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
        let Some(readable) = self.find_source(source)? else {
            return Ok(());
        };
        let request = match range {
            EntryRange::All => readable.scan(),
            EntryRange::Collection { partition, .. } if !readable.fits_partition(partition) => {
                return Ok(());
            }
            EntryRange::Collection {
                partition,
                sort_prefix,
            } => {
                let begins = sort_prefix
                    .as_ref()
                    .and_then(|bytes| sort_prefix_range(&readable, bytes));
                readable.query(partition, begins)
            }
            EntryRange::Within(_) => return Err(Error::Unavailable(NO_PLACES)),
        };
        let is_flat = !readable.has_collections();
        self.walk(
            readable,
            &ListSubject::Entries(range.clone()),
            request,
            after,
            &mut |row| {
                if is_flat {
                    self.local_state
                        .learn_key(source, &vec![row.key.base.partition.clone()]);
                }
                match row.stat {
                    Some(stat) if matches_prefix(&row.key, range) => {
                        visit(&row.key, stat, &row.place)
                    }
                    _ => ControlFlow::Continue(()),
                }
            },
        )
    }

    fn records(
        &self,
        source: &SourceName,
        segment: Option<Segment>,
        after: Option<&ListPosition>,
        visit: &mut VisitRecord<'_>,
    ) -> Result<Option<ListPosition>, Error> {
        let Some(readable) = self.find_source(source)? else {
            return Ok(None);
        };
        self.check_scan_limit(&readable, None)?;
        self.settle()?;
        let is_first = after.is_none() && segment.is_none_or(|segment| segment.index == 0);
        // All segments count as one sample.
        let mut cost = if is_first {
            ScanCost::default()
        } else {
            self.scan_costs.sample(&source.table)
        };
        let exclusive_start_key = after.map(decode_position).transpose()?;
        let range = ReadRange::Scan { segment };
        let mut request = ReadRequest {
            limit: Some(SAMPLE_ITEMS),
            exclusive_start_key,
            range,
            ..readable.scan()
        };
        loop {
            self.check_scan_cost(&readable, cost)?;
            let mut ended_at = None;
            let page = source::read_items(&*self.service, &request, &mut |item| {
                let record = self.cache.record(&item, &readable.key_names());
                if ended_at.is_none() && visit(&Record::parse(&record)?).is_break() {
                    ended_at = Some(ListPosition(encode_position(&readable.start_key(&item))));
                }
                Ok(())
            })?;
            cost = cost.plus(ScanCost::of(&request, &page));
            self.scan_costs.keep_sample(&source.table, cost);
            request.exclusive_start_key = page.last_evaluated_key;
            if ended_at.is_some() || request.exclusive_start_key.is_none() {
                return Ok(ended_at);
            }
        }
    }

    fn check_update_table(&self, _requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        self.check_writable().map_err(|error| (0, error))
    }

    fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error> {
        Ok(self.local_state.saved_queries(table))
    }

    fn change_saved_queries(
        &self,
        table: &TableName,
        change: SavedQueryChange,
    ) -> Result<SavedQueryOutcome, Error> {
        // Queries are saved for existing tables only.
        self.schema(table)?.ok_or(Error::ResourceNotFound)?;
        Ok(self
            .local_state
            .change_saved_queries(table, &change, self.options.clock.now_ms()))
    }

    fn trash_item(&self, request: TrashRequest, done: Completion<DeleteItemResponse>) {
        let TrashRequest {
            delete,
            key,
            content,
        } = request;
        // The trash comes first: a text without room there must not be deleted.
        if let Err(error) =
            self.local_state
                .put_in_trash(key.clone(), &content, self.options.clock.now_ms())
        {
            return done.complete(Err(error));
        }
        let beside = Arc::clone(&self.local_state);
        let after_delete = done.after(move |outcome: Result<DeleteItemResponse, Error>| {
            if outcome.is_err() {
                beside.change_trash(TrashChange::Remove(key));
            }
            outcome
        });
        self.start(Call::DeleteItem(delete, after_delete));
    }

    fn trashed(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        visit: &mut Visit<'_, TrashStat>,
    ) -> Result<(), Error> {
        self.local_state
            .each_trashed(table, folder, self.options.clock.now_ms(), visit);
        Ok(())
    }

    fn tables_with_trash(&self) -> Result<Vec<TableName>, Error> {
        Ok(self.local_state.tables_with_trash())
    }

    fn trashed_at(&self, key: &TrashKey) -> Result<Option<(TrashStat, Vec<u8>)>, Error> {
        Ok(self
            .local_state
            .trashed_at(key, self.options.clock.now_ms()))
    }

    fn change_trash(&self, change: TrashChange) -> Result<bool, Error> {
        Ok(self.local_state.change_trash(change))
    }

    fn flush_writes(&self) -> Result<(), Error> {
        self.settle()
    }

    fn commit_id(&self) -> u64 {
        self.commits.id()
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, Error> {
        Ok(self.commits.wait(after, timeout))
    }

    fn store_info(&self) -> StoreInfo {
        StoreInfo {
            free_bytes: FREE_BYTES,
            total_bytes: FREE_BYTES,
            ..StoreInfo::default()
        }
    }
}

/// Returns the sort key range of a prefix, as far as a value can express it; `None` if any key may
/// match.
fn sort_prefix_range(source: &ReadableSource, bytes: &[u8]) -> Option<SortRange> {
    let first = source.sort().first().filter(|_| !bytes.is_empty())?;
    match first.attribute_type {
        KeyAttributeType::B => Some(SortRange::BeginsWith(AttributeValue::B(bytes.to_vec()))),
        KeyAttributeType::S => {
            // The prefix may end inside a character.
            let text = bytes.utf8_chunks().next()?.valid();
            (!text.is_empty()).then(|| SortRange::BeginsWith(AttributeValue::S(text.to_owned())))
        }
        KeyAttributeType::N => None,
    }
}

/// True if the entry's sort key begins with the prefix of the range. The request may have been
/// wider.
fn matches_prefix(key: &EntryKey, range: &EntryRange) -> bool {
    let EntryRange::Collection {
        sort_prefix: Some(prefix),
        ..
    } = range
    else {
        return true;
    };
    let first = key
        .index
        .as_ref()
        .map_or(key.base.sort.as_ref(), |(_, sort)| sort.first());
    match first {
        Some(AttributeValue::S(text)) => text.as_bytes().starts_with(prefix),
        Some(AttributeValue::B(bytes)) => bytes.starts_with(prefix),
        _ => true,
    }
}

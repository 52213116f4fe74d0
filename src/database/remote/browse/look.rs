//! The reads of a filesystem, answered by operations of the API.

use super::RemoteDatabase;
use super::pages::{Stored, collection_place};
use super::source;
use super::source::{Readable, base_entry, keys_at, position};
use super::walks::Listed;
use super::walks::Toll;
use crate::codec::digest::Digest;
use crate::codec::record::Record;
use crate::codec::record::Row;
use crate::database::caller::Caller;
use crate::database::gather;
use crate::database::layout::PARTITIONS;
use crate::database::prelude::*;
use crate::database::{
    Bill, Browse, Collection, Done, Entries, EntryKey, EntryStat, PartitionKey, Position, Rows,
    SourceStats, TextForm, Visit, VisitEntry, VisitRecord,
};
use crate::expr::SortRange;
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::model::api::table_control::{
    ParkRequest, ParkedChange, ParkedPlace, ParkedStat, SavedQueries, SavedQueryChange,
    SavedQueryOutcome,
};
use crate::model::api::tables::Absence;
use crate::model::api::{
    Call, DeleteItemResponse, GetItemRequest, Segment, TableDescription, UpdateTableRequest,
};
use crate::model::layout::PlaceRange;
use crate::model::schema::KeyAttributeType;
use crate::model::{Key, TableSchema};
use crate::store::StoreInfo;
use std::ops::ControlFlow;

/// The free space that `df` shows, of a service that grows with its data.
const FREE_BYTES: u64 = 1 << 50;
/// The limits of an example read: its items, its time to live and its approximate size. Texts with
/// examples are made again at every look.
const GLANCE_ITEMS: u32 = 16;
/// The items of an example read of a table that the service has not counted: their length is
/// unknown.
const GLANCE_ITEMS_UNCOUNTED: u64 = 2;
const GLANCE_MS: u64 = 10_000;
const GLANCE_BYTES: u64 = 64 * 1024;
/// The records of one page of a sample.
const SAMPLE_ITEMS: u32 = 1000;

const NO_ABSENCES: &str = "which items an index leaves out is not told by the service; `ddbfs pull` the table and look there";
const NO_EXPIRING: &str = "which items expire next is not told by the service without reading all of them; `ddbfs pull` the table and look there";
const NO_PLACES: &str = "the partitions of a service elsewhere are not to be seen; `ddbfs pull` the table and look at the model of them there";
const NO_ALIAS: &str = "this shortened name says its key only after the mount listed it, and --scan-limit forbids that: name the key in a query path";

impl RemoteDatabase {
    fn readable(&self, source: &Source) -> Result<Option<Readable>, Error> {
        let described = self
            .tables
            .table(self.asker(), &source.table)?
            .ok_or(Error::ResourceNotFound)?;
        Readable::new(source, described)
    }

    /// Returns the record of an entry, from the cache or the service.
    fn record(&self, source: &Source, key: &EntryKey) -> Result<Option<Stored>, Error> {
        let Some(readable) = self.readable(source)?.filter(|readable| readable.fits(key)) else {
            return Ok(None);
        };
        let place = (source.clone(), key.clone());
        let worth = self.worth_reading(&place);
        self.pages.get(&place, &self.caller, || {
            // A file that was never listed is not part of a sequence.
            let was_listed = self.pages.last(&place).is_some();
            let item = match &key.index {
                None if let Some(items) = worth.filter(|_| was_listed) => {
                    self.item_and_next(&readable, &key.base, items)?
                }
                None => self.item(&readable, &key.base)?,
                Some((partition, _)) if readable.sort().is_empty() => {
                    self.projected(&readable, key, partition)?
                }
                Some((partition, sort)) => self.entry(&readable, key, partition, sort)?,
            };
            Ok(item.map(|item| self.pages.record(&item, &readable.key_names())))
        })
    }

    fn item(&self, table: &Readable, key: &Key) -> Result<Option<Item>, Error> {
        let key = key.to_item(&table.described.schema.key);
        let request = GetItemRequest {
            consistent_read: true,
            ..GetItemRequest::new(table.source.table.clone(), key)
        };
        Ok(self.service.get_item(request)?.item)
    }

    /// Finds an entry of an index by its whole key, which other items may share.
    fn entry(
        &self,
        index: &Readable,
        key: &EntryKey,
        partition: &PartitionKey,
        sort: &[AttributeValue],
    ) -> Result<Option<Item>, Error> {
        let (mut request, mut found) = (index.query_of_entry(partition, sort), None);
        loop {
            let page = source::items(&*self.service, &request, &mut |item| {
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
        index: &Readable,
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
    fn has_entries(&self, readable: &Readable, partition: &PartitionKey) -> Result<bool, Error> {
        let found = self.pages.get(
            &collection_place(&readable.source, partition),
            &self.caller,
            || {
                let mut count = 0;
                let mut request = ReadRequest {
                    limit: Some(1),
                    ..readable.query(partition, None)
                };
                // Keys alone: the units are the same, but the answer is shorter.
                request.projection = Some(readable.keys_alone());
                source::page(&*self.service, &request, &mut |_| count += 1)?;
                Ok((count > 0).then(Stored::default))
            },
        )?;
        Ok(found.is_some())
    }

    /// Returns a collection that has entries. Collections are not counted: it gets the counters of
    /// its source as an upper bound, and the age of its table.
    fn collection_of(readable: &Readable, partition: PartitionKey) -> Collection {
        let (entries, bytes) = readable.counted();
        Collection {
            partition,
            entries,
            bytes,
            modified_ms: readable.described.table.created_ms,
        }
    }

    /// Reads a page for inspection; a scan must stay below the limit.
    fn looked(&self, request: &ReadRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let source = Source {
            table: request.table_name.clone(),
            index: request.index_name.clone(),
        };
        let Some(readable) = self.readable(&source)? else {
            return Ok(Page::nothing(source.table));
        };
        let toll = self.tolls.before(request);
        if let ReadRange::Scan { .. } = request.range {
            self.admit(&readable, request.limit)?;
            self.go_on(&readable, toll)?;
        }
        // Only whole items are cached.
        let is_whole = request.projection.is_none() && request.select.is_none();
        let began = self.pages.begin();
        let page = source::page(&*self.service, request, &mut |row| {
            if let (true, Ok(item)) = (is_whole, row.to_item())
                && let Ok(key) = readable.key_of(&item)
            {
                let record = self.pages.record(&item, &readable.key_names());
                self.pages.keep(
                    began,
                    (source.clone(), key),
                    Some(record),
                    request.consistent_read,
                );
            }
            rows(row);
        })?;
        if let Some(last) = &page.last_evaluated_key {
            self.tolls
                .keep(request, last, toll.and(Toll::of(request, &page)));
        }
        Ok(page)
    }
}

impl RemoteDatabase {
    /// Limits a request to the items that a few read units show, by their mean size.
    fn of_few(&self, request: &ReadRequest) -> Result<ReadRequest, Error> {
        let source = Source {
            table: request.table_name.clone(),
            index: request.index_name.clone(),
        };
        let (count, bytes) = self
            .readable(&source)?
            .map(|readable| readable.counted())
            .unwrap_or_default();
        let few = GLANCE_BYTES
            .saturating_mul(count)
            .checked_div(bytes)
            .unwrap_or(GLANCE_ITEMS_UNCOUNTED)
            .max(1);
        let few = u32::try_from(few).unwrap_or(GLANCE_ITEMS);
        Ok(ReadRequest {
            limit: request.limit.map(|limit| limit.min(few)),
            ..request.clone()
        })
    }

    /// Reads the first few items for an example, and caches them for a while.
    fn glance(&self, request: &ReadRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let request = &self.of_few(request)?;
        let now_ms = self.options.clock.now_ms();
        let held = self
            .beside
            .glance(request, now_ms.saturating_sub(GLANCE_MS));
        let (items, page) = match held {
            Some(held) => held,
            None => {
                let (items, page) = gather(&mut |rows| self.looked(request, rows))?;
                self.beside
                    .keep_glance(request, now_ms, (items.clone(), page.clone()));
                (items, page)
            }
        };
        items.iter().for_each(|item| rows(Row::Item(item)));
        Ok(page)
    }
}

impl Browse for RemoteDatabase {
    fn browse_for(&self, caller: &Caller) -> Option<Arc<dyn Browse>> {
        Some(Arc::new(self.called_by(caller)))
    }

    fn schema(&self, table: &TableName) -> Result<Option<Arc<TableSchema>>, Error> {
        Ok(self
            .tables
            .table(self.asker(), table)?
            .map(|described| Arc::clone(&described.schema)))
    }

    fn describe(&self, table: &TableName) -> Result<Option<TableDescription>, Error> {
        Ok(self
            .tables
            .table(self.asker(), table)?
            .map(|described| described.table.clone()))
    }

    fn table_names(&self) -> Result<Vec<TableName>, Error> {
        Ok(self.tables.names(self.asker())?.to_vec())
    }

    fn stats(&self, source: &Source) -> Result<SourceStats, Error> {
        let described = self
            .tables
            .counted(self.asker(), &source.table)?
            .ok_or(Error::ResourceNotFound)?;
        let place = source.index.as_ref().map(|name| {
            described
                .schema
                .indexes
                .iter()
                .position(|index| index.name == *name)
        });
        let table = &described.table;
        // The overhead that the service bills for each item may or may not be part of its counters.
        let (entries, bytes, partition_keys) = match place {
            None => (table.item_count, table.table_size_bytes, 0),
            Some(place) => {
                let index = place
                    .and_then(|place| table.indexes.get(place))
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

    fn stat(&self, source: &Source, key: &EntryKey) -> Result<Option<EntryStat>, Error> {
        let record = self.record(source, key)?;
        Ok(record
            .map(|record| Record::parse(&record).map(|record| EntryStat::from(&record)))
            .transpose()?)
    }

    fn text(
        &self,
        source: &Source,
        key: &EntryKey,
        form: TextForm,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error> {
        let Some(record) = self.record(source, key)? else {
            return Ok(None);
        };
        let record = Record::parse(&record)?;
        Ok(Some((form.text(&record)?, EntryStat::from(&record))))
    }

    /// Reads a page, which is paid for at once, whatever becomes of its charge.
    fn page_on_account(
        &self,
        request: &ReadRequest,
        rows: &mut Rows<'_>,
    ) -> Result<(Page, Bill), Error> {
        Ok((self.looked(request, rows)?, Bill::new(|| Ok(()))))
    }

    fn is_writable(&self) -> bool {
        self.options.is_writable
    }

    fn charges_looks(&self) -> bool {
        true
    }

    fn look(&self, request: &ReadRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        match request.limit {
            Some(1..=GLANCE_ITEMS) if request.exclusive_start_key.is_none() => {
                self.glance(request, rows)
            }
            _ => self.looked(request, rows),
        }
    }

    fn collection(
        &self,
        source: &Source,
        partition: &PartitionKey,
    ) -> Result<Option<Collection>, Error> {
        let Some(readable) = self.readable(source)? else {
            return Ok(None);
        };
        if !readable.is_grouped() {
            let Some(value) = partition.first() else {
                return Ok(None);
            };
            let key = base_entry(Key {
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
        self.beside.learn(source, partition);
        Ok(Some(Self::collection_of(&readable, partition.clone())))
    }

    fn partition_by_digest(
        &self,
        source: &Source,
        digest: Digest,
    ) -> Result<Option<PartitionKey>, Error> {
        if let Some(partition) = self.beside.partition(source, digest) {
            return Ok(self
                .collection(source, &partition)?
                .map(|collection| collection.partition));
        }
        // The collection was never listed: its source is listed now, if the scan limit allows it,
        // which learns each key.
        let listed = self.collections(source, None, None, &mut |_| match self
            .beside
            .partition(source, digest)
        {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        });
        match listed {
            // The advice of the scan limit would not fit a lookup of one name.
            Err(Error::Budget(_)) => Err(Error::Unavailable(NO_ALIAS)),
            listed => listed.map(|()| self.beside.partition(source, digest)),
        }
    }

    fn collections(
        &self,
        source: &Source,
        range: Option<&PlaceRange>,
        after: Option<&Position>,
        visit: &mut Visit<'_, (Collection, Position)>,
    ) -> Result<(), Error> {
        if range.is_some() {
            return Err(PARTITIONS);
        }
        let Some(readable) = self.readable(source)? else {
            return Ok(());
        };
        let request = ReadRequest {
            projection: Some(readable.keys_alone()),
            ..readable.scan()
        };
        let (of, began) = (readable.clone(), self.pages.begin());
        // A listing from its beginning sets the order for the prefetch of folders.
        if after.is_none() {
            self.siblings.begin(source);
        }
        self.walk(readable, &Listed::Collections, request, after, &mut |row| {
            let partition = row.key.index.as_ref().map_or_else(
                || vec![row.key.base.partition.clone()],
                |(key, _)| key.clone(),
            );
            self.beside.learn(source, &partition);
            self.siblings.show(source, &partition);
            self.pages.keep(
                began,
                collection_place(source, &partition),
                Some(Stored::default()),
                false,
            );
            visit((
                Self::collection_of(&of, partition),
                Position(row.place.clone()),
            ))
        })
    }

    fn entries(
        &self,
        source: &Source,
        range: &Entries,
        after: Option<&Position>,
        visit: &mut VisitEntry<'_>,
    ) -> Result<(), Error> {
        let Some(readable) = self.readable(source)? else {
            return Ok(());
        };
        let request = match range {
            Entries::All => readable.scan(),
            Entries::Collection { partition, .. } if !readable.fits_partition(partition) => {
                return Ok(());
            }
            Entries::Collection {
                partition,
                sort_prefix,
            } => {
                let begins = sort_prefix
                    .as_ref()
                    .and_then(|bytes| begins_with(&readable, bytes));
                readable.query(partition, begins)
            }
            Entries::Within(_) => return Err(Error::Unavailable(NO_PLACES)),
        };
        if let (
            Entries::Collection {
                partition,
                sort_prefix: None,
            },
            None,
        ) = (range, after)
        {
            // The beginning of a folder's listing is a step of a reader through the folders.
            self.ask_siblings(&readable, partition);
        }
        let is_flat = !readable.is_grouped();
        self.walk(
            readable,
            &Listed::Entries(range.clone()),
            request,
            after,
            &mut |row| {
                if is_flat {
                    self.beside
                        .learn(source, &vec![row.key.base.partition.clone()]);
                }
                match row.stat {
                    Some(stat) if begins_so(&row.key, range) => visit(&row.key, stat, &row.place),
                    _ => ControlFlow::Continue(()),
                }
            },
        )
    }

    fn records(
        &self,
        source: &Source,
        segment: Option<Segment>,
        after: Option<&Position>,
        visit: &mut VisitRecord<'_>,
    ) -> Result<Option<Position>, Error> {
        let Some(readable) = self.readable(source)? else {
            return Ok(None);
        };
        self.admit(&readable, None)?;
        let is_first = after.is_none() && segment.is_none_or(|segment| segment.index == 0);
        // All segments count as one sample.
        let mut toll = if is_first {
            Toll::default()
        } else {
            self.tolls.of_sample(&source.table)
        };
        let exclusive_start_key = after.map(keys_at).transpose()?;
        let range = ReadRange::Scan { segment };
        let mut request = ReadRequest {
            limit: Some(SAMPLE_ITEMS),
            exclusive_start_key,
            range,
            ..readable.scan()
        };
        loop {
            self.go_on(&readable, toll)?;
            let mut ended_at = None;
            let page = source::items(&*self.service, &request, &mut |item| {
                let record = self.pages.record(&item, &readable.key_names());
                if ended_at.is_none() && visit(&Record::parse(&record)?).is_break() {
                    ended_at = Some(Position(position(&readable.start_after(&item))));
                }
                Ok(())
            })?;
            toll = toll.and(Toll::of(&request, &page));
            self.tolls.keep_sample(&source.table, toll);
            request.exclusive_start_key = page.last_evaluated_key;
            if ended_at.is_some() || request.exclusive_start_key.is_none() {
                return Ok(ended_at);
            }
        }
    }

    fn absences(&self, _: &Source, _: bool, _: &mut Visit<'_, Absence>) -> Result<(), Error> {
        Err(Error::Unavailable(NO_ABSENCES))
    }

    fn check_update_table(&self, _requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        self.may_write().map_err(|error| (0, error))
    }

    fn pause_index_propagation(&self, _table: &TableName, _is_paused: bool) -> Result<(), Error> {
        self.may_write()?;
        Err(Error::Unavailable(
            "a pause of indexes is not made through a remote mount; use the service's own tools for it",
        ))
    }

    fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error> {
        Ok(self.beside.saved_queries(table))
    }

    fn change_saved_queries(
        &self,
        table: &TableName,
        change: SavedQueryChange,
    ) -> Result<SavedQueryOutcome, Error> {
        // Queries are saved for existing tables only.
        self.schema(table)?.ok_or(Error::ResourceNotFound)?;
        Ok(self
            .beside
            .change_saved_queries(table, &change, self.options.clock.now_ms()))
    }

    fn park_item_then(&self, request: ParkRequest, done: Done<DeleteItemResponse>) {
        let ParkRequest {
            delete,
            place,
            content,
        } = request;
        // The trash comes first: a text without room there must not be deleted.
        if let Err(error) = self
            .beside
            .park(place.clone(), &content, self.options.clock.now_ms())
        {
            return done.tell(Err(error));
        }
        let beside = Arc::clone(&self.beside);
        let ended = done.after(move |outcome: Result<DeleteItemResponse, Error>| {
            if outcome.is_err() {
                beside.change_parked(ParkedChange::Remove(place));
            }
            outcome
        });
        self.start(Call::DeleteItem(delete, ended));
    }

    fn parked(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        visit: &mut Visit<'_, ParkedStat>,
    ) -> Result<(), Error> {
        self.beside
            .each_parked(table, folder, self.options.clock.now_ms(), visit);
        Ok(())
    }

    fn tables_with_parked(&self) -> Result<Vec<TableName>, Error> {
        Ok(self.beside.tables_with_parked())
    }

    fn parked_at(&self, place: &ParkedPlace) -> Result<Option<(ParkedStat, Vec<u8>)>, Error> {
        Ok(self.beside.parked_at(place, self.options.clock.now_ms()))
    }

    fn change_parked(&self, change: ParkedChange) -> Result<bool, Error> {
        Ok(self.beside.change_parked(change))
    }

    fn commit_id(&self) -> u64 {
        self.commits.id()
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, Error> {
        Ok(self.commits.wait(after, timeout))
    }

    fn expiring(&self, _table: &TableName, _count: usize) -> Result<Vec<(u64, Key)>, Error> {
        Err(Error::Unavailable(NO_EXPIRING))
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
fn begins_with(readable: &Readable, bytes: &[u8]) -> Option<SortRange> {
    let first = readable.sort().first().filter(|_| !bytes.is_empty())?;
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
fn begins_so(key: &EntryKey, range: &Entries) -> bool {
    let Entries::Collection {
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

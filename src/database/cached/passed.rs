//! The operations: reads through the caches, writes to the database and then into the item cache, the rest passed on.

use std::sync::Arc;

use super::CachedDatabase;
use super::items::{Cached, Fill};
use super::pages::PageKey;
use crate::codec::row::Row;
use crate::database::admin::Administration;
use crate::database::layout::Layout;
use crate::database::{BatchRows, CacheCounters, Database, Done, Rows, Streams};
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, BatchWriteItemRequest, BatchWriteItemResponse, ConsumedCapacity, CreateTableRequest,
    CreateTableResponse, DeleteItemRequest, DeleteItemResponse, DeleteTableRequest, DeleteTableResponse, DescribeStreamRequest,
    DescribeStreamResponse, DescribeTableRequest, DescribeTableResponse, DescribeTimeToLiveRequest, DescribeTimeToLiveResponse,
    GetItemRequest, GetItemResponse, GetRecordsRequest, GetRecordsResponse, GetShardIteratorRequest, GetShardIteratorResponse,
    ListStreamsRequest, ListStreamsResponse, ListTablesRequest, ListTablesResponse, Page, PutItemRequest, PutItemResponse,
    QueryRequest, ScanRequest, TableKeys, TransactAction, TransactGetItemsRequest, TransactGetItemsResponse,
    TransactWriteItemsRequest, TransactWriteItemsResponse, UpdateItemRequest, UpdateItemResponse, UpdateTimeToLiveRequest,
    UpdateTimeToLiveResponse, WriteRequest,
};
use crate::model::{Error, Item, TableName};

impl Streams for CachedDatabase {
    fn list_streams(&self, request: ListStreamsRequest) -> Result<ListStreamsResponse, Error> {
        self.inner.list_streams(request)
    }

    fn describe_stream(&self, request: DescribeStreamRequest) -> Result<DescribeStreamResponse, Error> {
        self.inner.describe_stream(request)
    }

    fn get_shard_iterator(&self, request: GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error> {
        self.inner.get_shard_iterator(request)
    }

    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        self.inner.get_records(request)
    }
}

/// What a write did to an item of the cache.
enum Effect {
    Is(Option<Item>),
    /// An update: the new item is not told.
    Changed,
}

impl CachedDatabase {
    /// The key attributes of an item, by name; `None` where the item has no key of the table: the database will say so.
    fn key_of(&self, table: &TableName, item: &Item) -> Option<Item> {
        let schema = self.inner.schema(table).ok().flatten()?;
        Some(item.key(&schema.key)?.to_item(&schema.key))
    }

    /// `done`, after the item cache knows of the writes.
    fn through<T: Send + 'static>(&self, effects: Vec<(TableName, Item, Effect)>, done: Done<T>) -> Done<T> {
        let items = Arc::clone(&self.items);
        Box::new(move |outcome| {
            for (table, key, effect) in effects {
                match effect {
                    Effect::Is(item) if outcome.is_ok() => items.written(&table, key, item),
                    // Whether it was carried out is not always known: what is not here is never stale.
                    Effect::Is(_) | Effect::Changed => items.forget(&table, key),
                }
            }
            // Told last: who hears of the write and reads here finds it.
            done(outcome);
        })
    }

    fn forget_table(&self, table: &TableName) {
        self.items.forget_table(table);
        self.pages.forget_table(table);
    }
}

impl Database for CachedDatabase {
    fn administration(&self) -> Option<&dyn Administration> {
        self.inner.administration()
    }

    fn layout(&self) -> Option<&dyn Layout> {
        self.inner.layout()
    }

    fn cache_counters(&self) -> Option<CacheCounters> {
        Some(self.counters())
    }

    fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        // One of that name may have been dropped past this cache; its items would be the new table's.
        self.forget_table(&request.table_name);
        self.inner.create_table(request)
    }

    fn describe_table(&self, request: DescribeTableRequest) -> Result<DescribeTableResponse, Error> {
        self.inner.describe_table(request)
    }

    fn list_tables(&self, request: ListTablesRequest) -> Result<ListTablesResponse, Error> {
        self.inner.list_tables(request)
    }

    fn delete_table(&self, request: DeleteTableRequest) -> Result<DeleteTableResponse, Error> {
        let table = request.table_name.clone();
        let deleted = self.inner.delete_table(request);
        // After the delete, which also voids the reads under way: before, they would leave items of a table that is gone.
        self.forget_table(&table);
        deleted
    }

    fn update_time_to_live(&self, request: UpdateTimeToLiveRequest) -> Result<UpdateTimeToLiveResponse, Error> {
        self.inner.update_time_to_live(request)
    }

    fn describe_time_to_live(&self, request: DescribeTimeToLiveRequest) -> Result<DescribeTimeToLiveResponse, Error> {
        self.inner.describe_time_to_live(request)
    }

    /// A read of some attributes passes by: the cache holds whole items.
    fn get_item(&self, request: GetItemRequest) -> Result<GetItemResponse, Error> {
        if request.consistent_read || request.projection_expression.is_some() || request.attributes_to_get.is_some() {
            return self.inner.get_item(request);
        }
        match self.items.get(&request.table_name, &request.key) {
            Cached::Hit(item) => Ok(GetItemResponse { item, consumed_capacity: ConsumedCapacity::default() }),
            Cached::Miss(fill) => match self.inner.get_item(request) {
                Ok(response) => {
                    self.items.fill(fill, response.item.clone());
                    Ok(response)
                }
                Err(error) => {
                    self.items.abandon(&fill);
                    Err(error)
                }
            },
        }
    }

    fn put_item_then(&self, request: PutItemRequest, done: Done<PutItemResponse>) {
        let key = self.key_of(&request.table_name, &request.item);
        let effect = key.map(|key| (request.table_name.clone(), key, Effect::Is(Some(request.item.clone()))));
        let done = self.through(effect.into_iter().collect(), done);
        self.inner.put_item_then(request, done);
    }

    fn delete_item_then(&self, request: DeleteItemRequest, done: Done<DeleteItemResponse>) {
        let effect = (request.table_name.clone(), request.key.clone(), Effect::Is(None));
        let done = self.through(vec![effect], done);
        self.inner.delete_item_then(request, done);
    }

    fn update_item_then(&self, request: UpdateItemRequest, done: Done<UpdateItemResponse>) {
        let effect = (request.table_name.clone(), request.key.clone(), Effect::Changed);
        let done = self.through(vec![effect], done);
        self.inner.update_item_then(request, done);
    }

    fn batch_get_rows(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        if request.fault.is_some() {
            return self.inner.batch_get_rows(request, rows);
        }
        let mut asked = BatchGetItemRequest { request_items: Vec::new(), ..request.clone() };
        // For each table asked for: its place in the request, and the misses.
        let mut places: Vec<(usize, Vec<(Item, Fill)>)> = Vec::new();
        let mut has_room = true;
        let mut left_over = vec![Vec::new(); request.request_items.len()];
        for (place, table) in request.request_items.iter().enumerate() {
            let passes = table.consistent_read || table.projection_expression.is_some() || table.attributes_to_get.is_some();
            let (mut keys, mut fills) = (Vec::new(), Vec::new());
            for key in &table.keys {
                if !has_room {
                    left_over[place].push(key.clone());
                    continue;
                }
                let cached = if passes { None } else { Some(self.items.get(&table.table_name, key)) };
                match cached {
                    Some(Cached::Hit(Some(item))) => has_room = rows(place, Row::Item(&item)),
                    Some(Cached::Hit(None)) => {}
                    Some(Cached::Miss(fill)) => {
                        keys.push(key.clone());
                        fills.push((key.clone(), fill));
                    }
                    None => keys.push(key.clone()),
                }
            }
            if !keys.is_empty() {
                asked.request_items.push(TableKeys { keys, ..table.clone() });
                places.push((place, fills));
            }
        }
        let tables = request.request_items.len();
        let mut answer =
            BatchGetItemPage { unprocessed_keys: left_over, consumed_capacity: vec![ConsumedCapacity::default(); tables] };
        if asked.request_items.is_empty() {
            return Ok(answer);
        }
        let mut found: Vec<Vec<Item>> = vec![Vec::new(); places.len()];
        let mut failed = None;
        let read = self.inner.batch_get_rows(&asked, &mut |at, row| {
            let Some((place, fills)) = places.get(at) else { return true };
            if !fills.is_empty() {
                match row.to_item() {
                    Ok(item) => found[at].push(item),
                    Err(error) => failed = Some(error),
                }
            }
            rows(*place, row)
        });
        let page = match (read, failed) {
            (Ok(page), None) => page,
            (Ok(_), Some(error)) => return self.batch_failed(places, error.into()),
            (Err(error), _) => return self.batch_failed(places, error),
        };
        for (at, (place, fills)) in places.into_iter().enumerate() {
            let unprocessed = &page.unprocessed_keys[at];
            for (key, fill) in fills {
                if unprocessed.contains(&key) {
                    self.items.abandon(&fill);
                    continue;
                }
                let is_it = |item: &&Item| key.0.iter().all(|(name, value)| item.get(name) == Some(value));
                self.items.fill(fill, found[at].iter().find(is_it).cloned());
            }
            answer.unprocessed_keys[place].extend_from_slice(unprocessed);
            answer.consumed_capacity[place] = page.consumed_capacity[at].clone();
        }
        Ok(answer)
    }

    fn batch_write_item_then(&self, request: BatchWriteItemRequest, done: Done<BatchWriteItemResponse>) {
        let mut effects = Vec::new();
        for writes in &request.request_items {
            let table = &writes.table_name;
            for write in &writes.requests {
                let effect = match write {
                    // What is left unprocessed is told by the answer, too late for the callback: nothing is remembered of a batch.
                    WriteRequest::Put(item) => self.key_of(table, item).map(|key| (key, Effect::Changed)),
                    WriteRequest::Delete(key) => Some((key.clone(), Effect::Changed)),
                };
                effects.extend(effect.map(|(key, effect)| (table.clone(), key, effect)));
            }
        }
        let done = self.through(effects, done);
        self.inner.batch_write_item_then(request, done);
    }

    fn transact_get_items(&self, request: TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error> {
        self.inner.transact_get_items(request)
    }

    fn transact_write_items_then(&self, request: TransactWriteItemsRequest, done: Done<TransactWriteItemsResponse>) {
        let mut effects = Vec::new();
        for write in &request.transact_items {
            let table = &write.table_name;
            let key = match &write.action {
                TransactAction::ConditionCheck { .. } => None,
                TransactAction::Put { item } => self.key_of(table, item),
                TransactAction::Delete { key } | TransactAction::Update { key, .. } => Some(key.clone()),
            };
            effects.extend(key.map(|key| (table.clone(), key, Effect::Changed)));
        }
        let done = self.through(effects, done);
        self.inner.transact_write_items_then(request, done);
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        if request.consistent_read {
            return self.inner.query_rows(request, rows);
        }
        self.pages.page(PageKey::Query(request.clone()), rows, |rows| self.inner.query_rows(request, rows))
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        if request.consistent_read {
            return self.inner.scan_rows(request, rows);
        }
        self.pages.page(PageKey::Scan(request.clone()), rows, |rows| self.inner.scan_rows(request, rows))
    }
}

impl CachedDatabase {
    fn batch_failed(&self, places: Vec<(usize, Vec<(Item, Fill)>)>, error: Error) -> Result<BatchGetItemPage, Error> {
        for (_, fill) in places.iter().flat_map(|(_, fills)| fills) {
            self.items.abandon(fill);
        }
        Err(error)
    }
}

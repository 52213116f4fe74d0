//! The query cache: whole pages by request. Writes do not touch it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use crate::codec::row::{Row, Rows};
use crate::engine::clock::Clock;
use crate::model::api::{ConsumedCapacity, Page, QueryRequest, ScanRequest};
use crate::model::error::StoreError;
use crate::model::{Error, Item, TableName};

/// Counted for an answer beside the values of its items and of its request.
const ENTRY_OVERHEAD_BYTES: usize = 1000;

#[derive(Debug)]
struct Answer {
    items: Vec<Item>,
    page: Page,
    bytes: usize,
    stored_ms: u64,
}

#[derive(Debug)]
struct Answers {
    answers: LruCache<PageKey, Arc<Answer>>,
    bytes: usize,
}

/// What was asked. Requests that are equal have one answer, whatever they are made of: no text stands for them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PageKey {
    Query(QueryRequest),
    Scan(ScanRequest),
}

impl PageKey {
    /// DynamoDB bytes of the values in it.
    fn value_bytes(&self) -> usize {
        let (placeholders, start) = match self {
            Self::Query(request) => (&request.placeholders, &request.exclusive_start_key),
            Self::Scan(request) => (&request.placeholders, &request.exclusive_start_key),
        };
        let values = placeholders.values.iter().flatten().map(|(_, value)| value.size());
        values.sum::<usize>() + start.as_ref().map_or(0, Item::size)
    }
}

/// Answers of Query and Scan, the least recently used pushed out.
#[derive(Debug)]
pub struct PageCache {
    state: Mutex<Answers>,
    bytes_max: usize,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl PageCache {
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        let state = Answers { answers: LruCache::unbounded(), bytes: 0 };
        Self { state: Mutex::new(state), bytes_max, ttl_ms, clock, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// The page of a request: from here, or by `read`.
    ///
    /// # Errors
    /// What `read` failed with; failures are not kept.
    pub fn page(
        &self,
        request: PageKey,
        rows: &mut Rows<'_>,
        read: impl FnOnce(&mut Rows<'_>) -> Result<Page, Error>,
    ) -> Result<Page, Error> {
        if self.ttl_ms == 0 {
            return read(rows);
        }
        if let Some(answer) = self.get(&request) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            answer.items.iter().for_each(|item| rows(Row::Item(item)));
            // A hit consumes no units of the table.
            return Ok(Page { consumed_capacity: ConsumedCapacity::default(), ..answer.page.clone() });
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        // As items: a row is there only while it is visited.
        let mut items: Result<Vec<Item>, StoreError> = Ok(Vec::new());
        let page = read(&mut |row| {
            if let Ok(list) = &mut items {
                match row.to_item() {
                    Ok(item) => list.push(item),
                    Err(error) => items = Err(error),
                }
            }
            rows(row);
        })?;
        self.keep(request, items?, &page);
        Ok(page)
    }

    fn get(&self, request: &PageKey) -> Option<Arc<Answer>> {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        let answer = state.answers.get(request)?;
        if now_ms < answer.stored_ms.saturating_add(self.ttl_ms) {
            return Some(Arc::clone(answer));
        }
        if let Some(old) = state.answers.pop(request) {
            state.bytes -= old.bytes;
        }
        None
    }

    fn keep(&self, request: PageKey, items: Vec<Item>, page: &Page) {
        let bytes = ENTRY_OVERHEAD_BYTES + request.value_bytes() + items.iter().map(Item::size).sum::<usize>();
        let answer = Answer { items, page: page.clone(), bytes, stored_ms: self.clock.now_ms() };
        let mut state = self.state.lock();
        state.bytes += bytes;
        if let Some((_, old)) = state.answers.push(request, Arc::new(answer)) {
            state.bytes -= old.bytes;
        }
        while state.bytes > self.bytes_max
            && let Some((_, old)) = state.answers.pop_lru()
        {
            state.bytes -= old.bytes;
        }
    }

    /// The table is gone.
    pub fn forget_table(&self, table: &TableName) {
        let mut state = self.state.lock();
        let requests: Vec<PageKey> = state
            .answers
            .iter()
            .filter(|(_, answer)| answer.page.table_name == *table)
            .map(|(request, _)| request.clone())
            .collect();
        for request in requests {
            if let Some(old) = state.answers.pop(&request) {
                state.bytes -= old.bytes;
            }
        }
    }
}

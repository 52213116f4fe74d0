//! The query cache: whole pages by request. Writes do not touch it.

use super::timed::Timed;
use crate::codec::row::{Row, Rows};
use crate::database::gather;
use crate::database::prelude::*;
use crate::model::api::{ConsumedCapacity, QueryRequest, ScanRequest};
use crate::model::clock::Clock;

/// Counted for an answer beside the values of its items and of its request.
const ENTRY_OVERHEAD_BYTES: usize = 1000;

type Answer = (Vec<Item>, Page);

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

/// Answers of Query and Scan.
#[derive(Debug)]
pub struct PageCache {
    answers: Mutex<Timed<PageKey, Arc<Answer>>>,
    is_on: bool,
}

impl PageCache {
    /// Answers that are good for `ttl_ms`; 0: not at all.
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        Self { answers: Mutex::new(Timed::new(bytes_max, ttl_ms, clock)), is_on: ttl_ms > 0 }
    }

    /// Hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        self.answers.lock().counts()
    }

    /// The page of a request: from here, or by `read`.
    ///
    /// # Errors
    /// What `read` failed with; failures are not kept.
    pub fn page(
        &self,
        request: PageKey,
        rows: &mut Rows<'_>,
        read: impl Fn(&mut Rows<'_>) -> Result<Page, Error>,
    ) -> Result<Page, Error> {
        if !self.is_on {
            return read(rows);
        }
        let held = self.answers.lock().get(&request);
        if let Some(answer) = held {
            let (items, page) = &*answer;
            items.iter().for_each(|item| rows(Row::Item(item)));
            // A hit consumes no units of the table.
            return Ok(Page { consumed_capacity: ConsumedCapacity::default(), ..page.clone() });
        }
        // As items: a row is there only while it is visited.
        let (items, page) = gather(&mut |keep| {
            read(&mut |row| {
                keep(row);
                rows(row);
            })
        })?;
        let bytes = ENTRY_OVERHEAD_BYTES + request.value_bytes() + items.iter().map(Item::size).sum::<usize>();
        self.answers.lock().put(request, Arc::new((items, page.clone())), bytes);
        Ok(page)
    }

    /// The table is gone.
    pub fn forget_table(&self, table: &TableName) {
        self.answers.lock().retain(|_, answer| answer.1.table_name != *table);
    }
}

//! An iterator over the rows of a path in result order: of one query, of several one after the
//! other, or of the shards of a write-sharded key, as a k-way merge by sort key.
//!
//! A merge holds a page of each shard. Equal sort keys come in the order of the shards' numbers.

use std::collections::VecDeque;

use super::{
    context::{self, QueryKind},
    near::NearSearch,
    query_path::QueryPath,
    request::{self, QueryBounds, project_also, read_rows},
};
use crate::codec::record::ResultRow;
use crate::database::RowSink;
use crate::expr::read_request::ReadRequest;
use crate::fs::prelude::*;
use crate::model::{
    api::{ConsumedCapacity, Page},
    error::StoreError,
};

/// Approximate number of items that a merge holds of all shards together; a shard's page is also at
/// most 1 MB.
const MERGED_ITEMS: usize = 4096;
/// The minimum and maximum number of items of a shard's page.
pub(super) const SHARD_ITEMS: (usize, usize) = (16, 512);

/// A function called between two steps: false if no caller waits for the answer any longer.
pub type IsWanted<'a> = dyn Fn() -> bool + 'a;

/// The rows and costs of one step.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RowStep {
    /// Rows returned.
    pub count: u64,
    /// Items evaluated.
    pub scanned: u64,
    /// Bytes of the evaluated items, with those of items fetched for them.
    pub bytes: u64,
    pub requests: u64,
    pub capacity: ConsumedCapacity,
}

impl RowStep {
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.scanned += other.scanned;
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.capacity.add(&other.capacity);
    }
}

/// The rows of a path, read page by page.
#[derive(Debug)]
pub(super) enum RowStream {
    /// Queries one after the other: their order does not matter, or there is only one.
    Chain {
        rest: VecDeque<QueryPages>,
        left: Option<u64>,
    },
    Merge(Box<ShardMerge>),
    Near(Box<NearSearch>),
}

impl QueryPath {
    /// Opens the stream of rows; `change` adapts each request to the result.
    pub(super) fn stream(
        &self,
        db: &dyn Browse,
        change: &dyn Fn(&mut ReadRequest),
    ) -> Result<RowStream, FsError> {
        if self.kind() == QueryKind::Near {
            let (source, projection) = (self.source(), self.projection()?);
            let mut request = ReadRequest {
                projection,
                ..ReadRequest::scan(source.table, source.index)
            };
            change(&mut request);
            let search = NearSearch::new(self, db, request.projection.as_ref())?;
            return Ok(RowStream::Near(Box::new(search)));
        }
        let mut requests = self.changed_requests(db, change)?;
        let bounds = self.bounds();
        if requests.len() == 1 {
            let pages = requests
                .pop()
                .map(|request| QueryPages::new(request, bounds, None));
            return Ok(RowStream::Chain {
                rest: pages.into_iter().collect(),
                left: bounds.limit,
            });
        }
        Ok(RowStream::Merge(Box::new(ShardMerge::new(
            self, requests, bounds,
        )?)))
    }

    /// Opens the stream as [`Self::stream`], where the order does not matter since rows are only
    /// counted.
    pub(super) fn chain(
        &self,
        db: &dyn Browse,
        change: &dyn Fn(&mut ReadRequest),
    ) -> Result<RowStream, FsError> {
        if self.kind() == QueryKind::Near {
            return self.stream(db, &|request| request.projection = None);
        }
        let bounds = self.bounds();
        let rest = self
            .changed_requests(db, change)?
            .into_iter()
            .map(|request| QueryPages::new(request, bounds, None))
            .collect();
        Ok(RowStream::Chain {
            rest,
            left: bounds.limit,
        })
    }

    fn changed_requests(
        &self,
        db: &dyn Browse,
        change: &dyn Fn(&mut ReadRequest),
    ) -> Result<Vec<ReadRequest>, FsError> {
        let mut requests = match self.requests(db) {
            // A shortened partition key without entries: an empty result.
            Err(FsError::NotFound) => Vec::new(),
            requests => requests?,
        };
        for request in &mut requests {
            change(request);
        }
        Ok(requests)
    }
}

/// The approximate ratio of an item's size in memory to its size in DynamoDB's count.
const ITEM_MEMORY_FACTOR: usize = 3;

impl RowStream {
    /// Returns the bytes of memory of rows that were read and not yet returned.
    pub fn held_bytes(&self) -> usize {
        match self {
            Self::Chain { .. } | Self::Near(_) => 0,
            Self::Merge(merge) => merge
                .shards
                .iter()
                .map(|shard| ITEM_MEMORY_FACTOR * shard.bytes)
                .sum(),
        }
    }

    /// True if all rows were returned, as far as is known without another step.
    pub fn is_done(&self) -> bool {
        match self {
            Self::Chain { rest, .. } => rest.iter().all(QueryPages::is_done),
            Self::Merge(_) => false,
            Self::Near(search) => search.is_done(),
        }
    }

    /// Returns one page, or the rows that earlier pages determine; `None` after the last. Rows of a
    /// failed step are returned again by the next.
    pub fn next(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        rows: &mut RowSink<'_>,
    ) -> Result<Option<RowStep>, FsError> {
        let (rest, left) = match self {
            Self::Merge(merge) => return merge.next(db, charges, rows),
            Self::Near(search) => {
                let page = search.next(db, charges, rows)?;
                return Ok(page.map(|page| page_step(page.count, page)));
            }
            Self::Chain { rest, left } => (rest, left),
        };
        while rest.front().is_some_and(QueryPages::is_done) {
            rest.pop_front();
        }
        let Some(pages) = rest.front_mut().filter(|_| *left != Some(0)) else {
            return Ok(None);
        };
        let Some(page) = pages.next(db, charges, rows)? else {
            return Ok(None);
        };
        let count = page.count.min(left.unwrap_or(u64::MAX));
        *left = left.map(|left| left - count);
        Ok(Some(page_step(count, page)))
    }
}

/// The shards of one key, merged.
#[derive(Debug)]
pub(super) struct ShardMerge {
    path: QueryPath,
    shards: Vec<MergeShard>,
    /// Attributes that were added to the projection for the order.
    added: Vec<String>,
    /// Rows still wanted.
    remaining: Option<u64>,
}

#[derive(Debug)]
struct MergeShard {
    pages: QueryPages,
    /// Rows read and not yet returned: the sort key's encoding, and the row.
    ready: VecDeque<(Vec<u8>, Item)>,
    /// Bytes of the items when they were read, as DynamoDB counts.
    bytes: usize,
}

impl ShardMerge {
    fn new(
        path: &QueryPath,
        mut requests: Vec<ReadRequest>,
        bounds: QueryBounds,
    ) -> Result<Self, FsError> {
        let selected = path.clauses.select.as_deref();
        let mut added = Vec::new();
        if let Some(paths) = selected {
            let sort = path
                .context()
                .keys()
                .sort
                .iter()
                .map(|attribute| attribute.name.clone());
            added.extend(sort.filter(|name| !paths.iter().any(|path| path.head == *name)));
        }
        for request in &mut requests {
            project_also(request, &added)?;
        }
        let page_items = (MERGED_ITEMS / requests.len().max(1)).clamp(SHARD_ITEMS.0, SHARD_ITEMS.1);
        let page_items = u32::try_from(page_items).ok();
        let shard = |request| MergeShard {
            pages: QueryPages::new(request, bounds, page_items),
            ready: VecDeque::new(),
            bytes: 0,
        };
        Ok(Self {
            path: path.clone(),
            shards: requests.into_iter().map(shard).collect(),
            added,
            remaining: bounds.limit,
        })
    }

    fn next(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        rows: &mut RowSink<'_>,
    ) -> Result<Option<RowStep>, FsError> {
        if self.remaining == Some(0) {
            return Ok(None);
        }
        if let Some(shard) = self
            .shards
            .iter_mut()
            .find(|shard| shard.ready.is_empty() && !shard.pages.is_done())
        {
            return shard.fill(db, charges, &self.path).map(Some);
        }
        let mut count = 0;
        while let Some(shard) = self.next_shard().filter(|_| self.remaining != Some(0)) {
            let Some((_, mut item)) = self.shards[shard].ready.pop_front() else {
                break;
            };
            for name in &self.added {
                item.0.remove(name);
            }
            rows(ResultRow::Item(&item));
            count += 1;
            self.remaining = self.remaining.map(|left| left - 1);
            if self.shards[shard].ready.is_empty() && !self.shards[shard].pages.is_done() {
                break;
            }
        }
        Ok((count > 0).then(|| RowStep {
            count,
            ..RowStep::default()
        }))
    }

    /// Returns the shard that has the next row.
    fn next_shard(&self) -> Option<usize> {
        let ready = self
            .shards
            .iter()
            .enumerate()
            .filter_map(|(number, shard)| Some((&shard.ready.front()?.0, number)));
        let first = if self.path.clauses.is_descending() {
            ready.min_by(|one, other| other.0.cmp(one.0).then(one.1.cmp(&other.1)))
        } else {
            ready.min()
        };
        first.map(|(_, number)| number)
    }
}

impl MergeShard {
    fn fill(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        path: &QueryPath,
    ) -> Result<RowStep, FsError> {
        let mut ready = VecDeque::new();
        let mut take = |row: &ResultRow<'_>| -> Result<(), FsError> {
            let order = context::sort_key_bytes(row, path.context())?;
            ready.push_back((
                order,
                row.to_item()
                    .map_err(|error: StoreError| Error::from(error))?,
            ));
            Ok(())
        };
        let page = read_rows(&mut take, |rows| self.pages.next(db, charges, rows))?;
        self.bytes = ready
            .iter()
            .map(|(order, item)| order.len() + item.size())
            .sum();
        self.ready = ready;
        let Some(page) = page else {
            return Ok(RowStep::default());
        };
        Ok(page_step(0, page))
    }
}

/// Returns the step of a page of which `count` rows were returned.
fn page_step(count: u64, page: Page) -> RowStep {
    RowStep {
        count,
        scanned: page.scanned_count,
        bytes: page.scanned_bytes,
        requests: 1,
        capacity: page.consumed_capacity,
    }
}

/// The rest of one query.
#[derive(Debug)]
pub(super) struct QueryPages {
    request: ReadRequest,
    /// Items still wanted.
    remaining: QueryBounds,
    /// The maximum number of items of one page; `None` for the API's own maximum, 1 MB.
    page_items_max: Option<u32>,
    done: bool,
}

impl QueryPages {
    pub fn new(request: ReadRequest, remaining: QueryBounds, page_items_max: Option<u32>) -> Self {
        let done = remaining.limit == Some(0) || remaining.eval == Some(0);
        Self {
            request,
            remaining,
            page_items_max,
            done,
        }
    }

    /// Reads the next page and calls `rows` for each of its rows; returns `None` after the last.
    /// The page counts the returned rows: matches beyond the limit are left out. A failed page can
    /// be read again.
    pub fn next(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        rows: &mut RowSink<'_>,
    ) -> Result<Option<Page>, FsError> {
        if self.done {
            return Ok(None);
        }
        // A filter may keep any number of the evaluated items, so only an unfiltered limit bounds
        // them.
        let returned = self
            .remaining
            .limit
            .filter(|_| self.request.filter.is_none());
        let wanted = [returned, self.remaining.eval]
            .into_iter()
            .flatten()
            .map(|left| u32::try_from(left).unwrap_or(u32::MAX));
        self.request.limit = wanted.chain(self.page_items_max).min();
        let mut given = 0;
        let limit = self.remaining.limit.unwrap_or(u64::MAX);
        db.check_read_to_end(&self.request)?;
        let mut page = request::read_page(&self.request, db, charges, &mut |row| {
            given += 1;
            if given <= limit {
                rows(row);
            }
        })?;
        page.count = page.count.min(limit);
        self.remaining.limit = self
            .remaining
            .limit
            .map(|left| left.saturating_sub(page.count));
        self.remaining.eval = self
            .remaining
            .eval
            .map(|left| left.saturating_sub(page.scanned_count));
        self.done = page.last_evaluated_key.is_none()
            || self.remaining.limit == Some(0)
            || self.remaining.eval == Some(0);
        self.request
            .exclusive_start_key
            .clone_from(&page.last_evaluated_key);
        Ok(Some(page))
    }

    pub fn is_done(&self) -> bool {
        self.done
    }
}

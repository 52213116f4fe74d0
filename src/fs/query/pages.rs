//! A query's pages, one API request each, to the end or to `limit=` items.

use super::request::Request;
use crate::database::{Browse, Rows};
use crate::fs::FsError;
use crate::model::api::Page;

/// What is still to be read of a query.
#[derive(Debug)]
pub(super) struct Pages {
    request: Request,
    /// Items still wanted; `None` is all.
    left: Option<u64>,
    /// Items of one page at most; `None` is what the API gives, 1 MB.
    page_items_max: Option<u32>,
    done: bool,
}

impl Pages {
    pub fn new(request: Request, left: Option<u64>, page_items_max: Option<u32>) -> Self {
        Self { request, left, page_items_max, done: left == Some(0) }
    }

    /// Reads the next page, giving its rows to `rows`; `None` after the last. A failed page can be asked for again.
    pub fn next(&mut self, db: &dyn Browse, rows: &mut Rows<'_>) -> Result<Option<Page>, FsError> {
        if self.done {
            return Ok(None);
        }
        let left = self.left.map(|left| u32::try_from(left).unwrap_or(u32::MAX));
        self.request.set_limit(match (left, self.page_items_max) {
            (Some(left), Some(max)) => Some(left.min(max)),
            (left, max) => left.or(max),
        });
        let page = match &self.request {
            Request::Query(request) => db.query_rows(request, rows)?,
            Request::Scan(request) => db.scan_rows(request, rows)?,
        };
        self.left = self.left.map(|left| left.saturating_sub(page.scanned_count));
        self.done = page.last_evaluated_key.is_none() || self.left == Some(0);
        self.request.set_start(page.last_evaluated_key.clone());
        Ok(Some(page))
    }
}

//! A query's pages, one API request each, to the end, to `limit=` items returned or to `eval=` items evaluated.

use super::request::{self, Bounds};

use crate::database::Rows;
use crate::expr::read_request::ReadRequest;
use crate::fs::prelude::*;
use crate::model::api::Page;

/// What is still to be read of one query.
#[derive(Debug)]
pub(super) struct Pages {
    request: ReadRequest,
    /// What is still wanted.
    left: Bounds,
    /// Items of one page at most; `None` is what the API gives, 1 MB.
    page_items_max: Option<u32>,
    done: bool,
}

impl Pages {
    pub fn new(request: ReadRequest, left: Bounds, page_items_max: Option<u32>) -> Self {
        let done = left.limit == Some(0) || left.eval == Some(0);
        Self { request, left, page_items_max, done }
    }

    /// Reads the next page, giving its rows to `rows`; `None` after the last. What a page counts is what it gave: of a page with more
    /// matches than are wanted the rest is left out. A failed page can be asked for again.
    pub fn next(&mut self, db: &dyn Browse, bills: &mut Vec<Bill>, rows: &mut Rows<'_>) -> Result<Option<Page>, FsError> {
        if self.done {
            return Ok(None);
        }
        // How many of the evaluated items a filter keeps is not known before.
        let returned = self.left.limit.filter(|_| self.request.filter.is_none());
        let wanted = [returned, self.left.eval].into_iter().flatten().map(|left| u32::try_from(left).unwrap_or(u32::MAX));
        self.request.limit = wanted.chain(self.page_items_max).min();
        let mut given = 0;
        let limit = self.left.limit.unwrap_or(u64::MAX);
        let mut page = request::run(&self.request, db, bills, &mut |row| {
            given += 1;
            if given <= limit {
                rows(row);
            }
        })?;
        page.count = page.count.min(limit);
        self.left.limit = self.left.limit.map(|left| left.saturating_sub(page.count));
        self.left.eval = self.left.eval.map(|left| left.saturating_sub(page.scanned_count));
        self.done = page.last_evaluated_key.is_none() || self.left.limit == Some(0) || self.left.eval == Some(0);
        self.request.exclusive_start_key.clone_from(&page.last_evaluated_key);
        Ok(Some(page))
    }

    pub fn is_done(&self) -> bool {
        self.done
    }
}

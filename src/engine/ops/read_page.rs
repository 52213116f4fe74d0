//! A page of Query or Scan, its expressions parsed (docs/dynamodb.md 13).

use crate::engine::base::keys::{self, Space};
use crate::engine::base::segment;
use crate::engine::read::filter::Filter;
use crate::engine::read::page::{self, PageBill, PagePlan};
use crate::engine::read::projected::{self, KeyRoles};
use crate::engine::read::source::ReadSource;
use crate::engine::read::start_key::StartKey;
use crate::engine::read::{range, select};
use crate::engine::runtime::{Engine, Rows};
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::model::api::Page;
use crate::model::error::QueryError;
use crate::model::{Error, IndexKind};
use crate::store::Direction;

impl Engine {
    /// One page, its rows given to `rows` as they are found.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Query`, `Key`; those of the store.
    pub fn read_page(&self, request: ReadRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        page::read(&view, &plan(source, request)?, rows)
    }

    /// As [`Engine::read_page`], but nothing is consumed: that is in the bill.
    ///
    /// # Errors
    /// As [`Engine::read_page`], but `Throttled`.
    pub fn read_page_on_account(&self, request: ReadRequest, rows: &mut Rows<'_>) -> Result<(Page, PageBill), Error> {
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        page::read_on_account(&view, &plan(source, request)?, rows)
    }
}

/// The checks against table and index, in DynamoDB's order (docs/dynamodb.md 13.3).
fn plan(source: ReadSource, request: ReadRequest) -> Result<PagePlan, Error> {
    if request.consistent_read && source.is_index(IndexKind::Global) {
        return Err(QueryError::ConsistentOnGlobal.into());
    }
    let (condition, segment, direction) = match request.range {
        ReadRange::Query { condition, forward: true } => (Some(condition), None, Direction::Forward),
        ReadRange::Query { condition, forward: false } => (Some(condition), None, Direction::Reverse),
        ReadRange::Scan { segment } => (None, segment, Direction::Forward),
    };
    let condition = condition.map(|condition| condition.resolve(source.key_schema())).transpose()?;
    let start = request.exclusive_start_key.as_ref().map(|item| {
        let start = StartKey::new(&source, item, condition.is_none())?;
        match &condition {
            Some(condition) => start.of_query(&source, condition),
            None => start.of_scan(&source, segment),
        }
    });
    let start = start.transpose()?;
    if let Some(paths) = &request.projection {
        projected::check_no_path_into_keys(paths, KeyRoles::of_table(&source.table.schema))?;
    }
    let filter = request.filter.map(Filter::new);
    // A scan's filter may name keys, and what a scanned index does not have: only a query has a key condition to name them in.
    let filter_of_query = filter.as_ref().filter(|_| condition.is_some());
    filter_of_query.map_or(Ok(()), |filter| filter.check_no_keys(&source))?;
    let selection = select::resolve(&source, request.select, request.projection)?;
    filter_of_query.map_or(Ok(()), |filter| filter.check_projected(&source))?;
    filter.as_ref().map_or(Ok(()), |filter| filter.check_paths(&source))?;
    let range = match (&condition, segment) {
        (Some(condition), _) => range::of_condition(&source, condition),
        (None, Some(segment)) => {
            let (lower, upper) = segment::digests(segment);
            keys::entries_of_digests(source.id(), &lower, upper.as_ref())
        }
        (None, None) => Space::Entry.of(source.id()),
    };
    let range = match start {
        Some(address) => range::after(range, address.encode(), direction),
        None => range,
    };
    let is_query = condition.is_some();
    let restartable = !condition.is_some_and(|condition| source.has_one_row_at_most(&condition));
    let (limit, consistent) = (request.limit, request.consistent_read);
    Ok(PagePlan { source, selection, filter, range, direction, limit, consistent, restartable, is_query })
}

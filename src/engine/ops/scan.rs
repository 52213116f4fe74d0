//! Scan (docs/dynamodb.md 13).

use crate::engine::keys;
use crate::engine::read::filter::Filter;
use crate::engine::read::page::{self, PageBill, PagePlan};
use crate::engine::read::projected::{self, Asked, KeyRoles};
use crate::engine::read::source::ReadSource;
use crate::engine::read::start_key::{self, StartKey};
use crate::engine::read::{range, segment, select};
use crate::engine::{Engine, Rows};
use crate::expr::{PlaceholderUse, ProjectionPaths, placeholders};
use crate::model::api::{Page, ScanRequest};
use crate::model::error::QueryError;
use crate::model::error::expression::ExpressionParameter;
use crate::model::{Error, IndexKind};
use crate::store::Direction;

impl Engine {
    /// One page, its rows given to `rows` as they are found.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Query`; those of the store.
    pub fn scan(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let (filter, projection) = check(request)?;
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        let plan = plan(source, (filter, projection), request)?;
        page::read(&view, &plan, rows)
    }

    /// As [`Engine::scan`], but nothing is consumed: that is in the bill.
    ///
    /// # Errors
    /// As [`Engine::scan`], but `Throttled`.
    pub fn scan_on_account(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<(Page, PageBill), Error> {
        let (filter, projection) = check(request)?;
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        let plan = plan(source, (filter, projection), request)?;
        page::read_on_account(&view, &plan, rows)
    }
}

/// The checks that need no table.
fn check(request: &ScanRequest) -> Result<(Option<Filter>, Option<ProjectionPaths>), Error> {
    request.segment.map_or(Ok(()), segment::check)?;
    let asked = Asked::new(request.projection_expression.as_ref(), request.attributes_to_get.as_ref())?;
    select::check(request.select, asked.parameter(), request.index_name.is_some())?;
    let has_filter = request.filter.expression().is_some();
    let values_missing = (!has_filter).then_some(ExpressionParameter::OF_SCAN);
    placeholders::check(&request.placeholders, asked.has_expression() || has_filter, values_missing)?;
    let mut used = PlaceholderUse::default();
    let filter = Filter::parse(&request.filter, &request.placeholders, &mut used)?;
    let projection = asked.paths(&request.placeholders, &mut used)?;
    used.finish(&request.placeholders)?;
    start_key::check_values(request.exclusive_start_key.as_ref(), request.start_key_fault.as_ref())?;
    Ok((filter, projection))
}

/// The checks against table and index.
fn plan(
    source: ReadSource,
    (filter, projection): (Option<Filter>, Option<ProjectionPaths>),
    request: &ScanRequest,
) -> Result<PagePlan, Error> {
    if request.consistent_read && source.is_index(IndexKind::Global) {
        return Err(QueryError::ConsistentOnGlobal.into());
    }
    let start = request.exclusive_start_key.as_ref().map(|item| StartKey::new(&source, item, true)).transpose()?;
    let start = start.map(|start| start.of_scan(&source, request.segment)).transpose()?;
    if let Some(paths) = &projection {
        projected::check_no_path_into_keys(paths, KeyRoles::of_table(&source.table.schema))?;
    }
    let selection = select::resolve(&source, request.select, projection)?;
    if let Some(filter) = &filter {
        filter.check_paths(&source)?;
    }
    let mut range = match request.segment {
        Some(segment) => {
            let (lower, upper) = segment::digests(segment);
            keys::entries_of_digests(source.id(), &lower, upper.as_ref())
        }
        None => keys::entries(source.id()),
    };
    if let Some(address) = start {
        range = range::after(range, address.encode(), Direction::Forward);
    }
    let (limit, consistent) = (request.limit, request.consistent_read);
    Ok(PagePlan { source, selection, filter, range, direction: Direction::Forward, limit, consistent, restartable: true })
}

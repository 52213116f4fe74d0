//! ListStreams: streams by name, those that are disabled and still readable too (docs/dynamodb.md 17).

use std::ops::{Bound, ControlFlow};

use crate::engine::base::keys::{self, Space};
use crate::engine::runtime::Engine;
use crate::model::Error;
use crate::model::api::{ListStreamsRequest, ListStreamsResponse, StreamName};
use crate::model::limits::LIST_STREAMS_MAX;
use crate::store::{Direction, KeyRange};

impl Engine {
    /// A page of streams, those of deleted tables too.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_streams(&self, request: &ListStreamsRequest) -> Result<ListStreamsResponse, Error> {
        let limit = request.limit.unwrap_or(LIST_STREAMS_MAX).clamp(1, LIST_STREAMS_MAX) as usize;
        let mut streams: Vec<StreamName> = Vec::new();
        let mut has_more = false;
        if let Some(range) = range(request) {
            self.view()?.read().walk(&range, Direction::Forward, &mut |key, _| {
                if streams.len() == limit {
                    has_more = true;
                    return ControlFlow::Break(());
                }
                streams.extend(keys::stream_of(key));
                ControlFlow::Continue(())
            })?;
        }
        let last_evaluated = if has_more { streams.last().cloned() } else { None };
        Ok(ListStreamsResponse { streams, last_evaluated })
    }
}

/// `None` when the start is behind the table's streams.
fn range(request: &ListStreamsRequest) -> Option<KeyRange> {
    let mut range = match &request.table_name {
        Some(table) => keys::streams_of(table.as_str()),
        None => Space::Stream.all(),
    };
    let Some(start) = &request.exclusive_start else { return Some(range) };
    match &request.table_name {
        Some(table) if start.table_name > *table => return None,
        Some(table) if start.table_name < *table => return Some(range),
        _ => {}
    }
    range.lower = Bound::Excluded(keys::stream(start));
    Some(range)
}

//! UpdateTimeToLive and DescribeTimeToLive (docs/dynamodb.md 16).

use std::sync::Arc;

use crate::engine::keys::{SourceId, StoreKey};
use crate::engine::time_to_live::{List, TimeToLive};
use crate::engine::transaction::Transaction;
use crate::engine::{Engine, catalog, purge};
use crate::model::Error;
use crate::model::api::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, TimeToLiveSpecification, TimeToLiveStatus, UpdateTimeToLiveRequest,
    UpdateTimeToLiveResponse,
};
use crate::model::error::TimeToLiveError;

impl Engine {
    /// Enables or disables a table's time to live.
    ///
    /// # Errors
    /// `TableNotFound`, [`TimeToLiveError`]; those of the store.
    pub fn update_time_to_live(&self, request: UpdateTimeToLiveRequest) -> Result<UpdateTimeToLiveResponse, Error> {
        let specification = request.specification.clone();
        let dropped = self.shared.submit_and_wait(move |transaction| update(transaction, &request))?;
        match dropped {
            Some(list) => purge::start(Arc::clone(&self.shared), list),
            None => self.shared.signal.wake(),
        }
        Ok(UpdateTimeToLiveResponse { specification })
    }

    /// The state of a table's time to live.
    ///
    /// # Errors
    /// `TableNotFound`; those of the store.
    pub fn describe_time_to_live(&self, request: &DescribeTimeToLiveRequest) -> Result<DescribeTimeToLiveResponse, Error> {
        let Some(table) = self.table(&request.table_name)? else {
            return Err(Error::TableNotFound(request.table_name.as_str().to_owned()));
        };
        let options = &self.shared.options;
        let Some(time_to_live) = &table.time_to_live else {
            return Ok(DescribeTimeToLiveResponse { status: TimeToLiveStatus::Disabled, attribute_name: None });
        };
        let status = time_to_live.status(options.clock.now_ms(), options.ttl_transition_ms);
        let attribute_name = (status != TimeToLiveStatus::Disabled).then(|| time_to_live.attribute.clone());
        Ok(DescribeTimeToLiveResponse { status, attribute_name })
    }
}

/// The list that was dropped.
fn update(transaction: &mut Transaction<'_>, request: &UpdateTimeToLiveRequest) -> Result<Option<SourceId>, Error> {
    let Some(table) = transaction.table(&request.table_name)? else {
        return Err(Error::TableNotFound(request.table_name.as_str().to_owned()));
    };
    let options = &transaction.shared.options;
    let now_ms = options.clock.now_ms();
    check(table.time_to_live.as_ref(), &request.specification, (now_ms, options.ttl_interval_ms))?;

    let dropped = table.time_to_live.as_ref().and_then(|time_to_live| time_to_live.list).map(|list| list.id);
    let list = match dropped {
        None => Some(List { id: catalog::take_source(transaction.batch)?, is_built: false }),
        Some(list) => {
            transaction.batch.put(&StoreKey::Purge(list).encode(), purge::MARK)?;
            None
        }
    };
    let mut table = (*table).clone();
    let attribute = request.specification.attribute_name.clone();
    table.time_to_live = Some(TimeToLive { attribute, list, changed_ms: now_ms });
    table.control.changed_ms = Some(now_ms);
    catalog::replace_table(transaction, &table)?;
    Ok(dropped)
}

fn check(
    current: Option<&TimeToLive>,
    asked: &TimeToLiveSpecification,
    (now_ms, interval_ms): (u64, u64),
) -> Result<(), TimeToLiveError> {
    let enabled = current.filter(|time_to_live| time_to_live.list.is_some());
    match enabled {
        Some(enabled) if enabled.attribute != asked.attribute_name => {
            return Err(TimeToLiveError::OtherAttribute(enabled.attribute.clone()));
        }
        Some(_) if asked.enabled => return Err(TimeToLiveError::AlreadyEnabled),
        None if !asked.enabled => return Err(TimeToLiveError::AlreadyDisabled),
        _ => {}
    }
    match current {
        Some(current) if now_ms < current.changed_ms.saturating_add(interval_ms) => Err(TimeToLiveError::TooOften),
        _ => Ok(()),
    }
}

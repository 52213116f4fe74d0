//! UpdateTimeToLive and DescribeTimeToLive: they switch expiry on and off for a table. The expiry
//! itself is in `engine::time_to_live` (docs/dynamodb.md 16).

use crate::engine::{
    catalog::{ExpiryList, TimeToLive},
    purge,
    runtime::prelude::*,
    time_to_live::{expiring_item, list_expiries},
};
use crate::model::{
    api::{
        DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, TimeToLiveSpecification,
        TimeToLiveStatus, UpdateTimeToLiveRequest, UpdateTimeToLiveResponse,
    },
    error::TimeToLiveError,
};

impl Engine {
    /// Enables or disables a table's time to live.
    ///
    /// # Errors
    /// Fails with `TableNotFound` or a [`TimeToLiveError`]; also errors of the store.
    pub fn update_time_to_live(
        &self,
        request: UpdateTimeToLiveRequest,
    ) -> Result<UpdateTimeToLiveResponse, Error> {
        let specification = request.specification.clone();
        let dropped = self
            .shared
            .submit_and_wait(move |transaction| update(transaction, &request))?;
        match dropped {
            Some(list) => purge::start(Arc::clone(&self.shared), list),
            None => self.shared.signal.wake(),
        }
        Ok(UpdateTimeToLiveResponse { specification })
    }

    /// Returns the status of a table's time to live.
    ///
    /// # Errors
    /// Fails with `TableNotFound`, or with an error of the store.
    pub fn describe_time_to_live(
        &self,
        request: &DescribeTimeToLiveRequest,
    ) -> Result<DescribeTimeToLiveResponse, Error> {
        let table = catalog::require_table(self.table(&request.table_name)?, &request.table_name)?;
        let options = &self.shared.options;
        let Some(time_to_live) = &table.time_to_live else {
            return Ok(DescribeTimeToLiveResponse {
                status: TimeToLiveStatus::Disabled,
                attribute_name: None,
            });
        };
        let status = time_to_live.status(options.clock.now_ms(), options.ttl_transition_ms);
        let attribute_name =
            (status != TimeToLiveStatus::Disabled).then(|| time_to_live.attribute.clone());
        Ok(DescribeTimeToLiveResponse {
            status,
            attribute_name,
        })
    }

    /// Returns the items of a table that expire first: milliseconds since the epoch and key, at
    /// most `count`. None if time to live is disabled.
    ///
    /// # Errors
    /// Fails with `TableNotFound`, or with an error of the store.
    pub fn expiring(&self, name: &TableName, count: usize) -> Result<Vec<(u64, Key)>, Error> {
        let view = self.view()?;
        let table = catalog::require_table(view.table(name)?, name)?;
        let Some(list) = table.expiry_list() else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (ms, place) in list_expiries(view.read(), list.id, 0, u64::MAX, count)? {
            found.extend(expiring_item(view.read(), &table, ms, &place)?.map(|key| (ms, key)));
        }
        Ok(found)
    }
}

/// Applies the change; returns the list that it dropped.
fn update(
    transaction: &mut Transaction<'_>,
    request: &UpdateTimeToLiveRequest,
) -> Result<Option<SourceId>, Error> {
    let table = transaction.require_table(&request.table_name)?;
    let options = &transaction.shared.options;
    let now_ms = options.clock.now_ms();
    check(
        table.time_to_live.as_ref(),
        &request.specification,
        now_ms,
        options.ttl_interval_ms,
    )?;

    let dropped = table.expiry_list().map(|list| list.id);
    let list = match dropped {
        None => Some(ExpiryList {
            id: catalog::allocate_source(transaction.batch)?,
            is_built: false,
        }),
        Some(list) => {
            purge::mark(transaction, list)?;
            None
        }
    };
    let attribute = request.specification.attribute_name.clone();
    transaction.change_table(&table, |new| {
        new.time_to_live = Some(TimeToLive {
            attribute,
            list,
            changed_ms: now_ms,
        });
        new.control.changed_ms = Some(now_ms);
    })?;
    Ok(dropped)
}

fn check(
    current: Option<&TimeToLive>,
    specification: &TimeToLiveSpecification,
    now_ms: u64,
    interval_ms: u64,
) -> Result<(), TimeToLiveError> {
    let enabled = current.filter(|time_to_live| time_to_live.list.is_some());
    match enabled {
        Some(enabled) if enabled.attribute != specification.attribute_name => {
            return Err(TimeToLiveError::OtherAttribute(enabled.attribute.clone()));
        }
        Some(_) if specification.enabled => return Err(TimeToLiveError::AlreadyEnabled),
        None if !specification.enabled => return Err(TimeToLiveError::AlreadyDisabled),
        _ => {}
    }
    match current {
        Some(current) if now_ms < current.changed_ms.saturating_add(interval_ms) => {
            Err(TimeToLiveError::TooOften)
        }
        _ => Ok(()),
    }
}

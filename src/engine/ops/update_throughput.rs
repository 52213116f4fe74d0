//! UpdateTable's throughput: billing mode, provisioned units with their limits, on-demand maxima,
//! warm throughput (docs/dynamodb.md 11.3).

use crate::codec::calendar;
use crate::engine::{
    base::table_definition::{check_table_maximum, check_units, throughput_members},
    prelude::*,
};
use crate::model::{
    api::{UpdateTableRequest, table_control::ThroughputHistory, tables::IndexChange},
    error::{LimitError, SchemaError, UpdateTableError},
    limits::{DECREASE_INTERVAL_MS, FREE_DECREASES},
    schema::{
        BillingMode, OnDemandThroughput, ProvisionedThroughput, ThroughputSettings, WarmThroughput,
    },
};

/// Runs the checks that need no table.
pub fn check_request(request: &UpdateTableRequest) -> Result<(), Error> {
    match (request.billing_mode, request.throughput) {
        (Some(BillingMode::PayPerRequest), Some(_)) => {
            return Err(SchemaError::ThroughputOnDemand.into());
        }
        (Some(BillingMode::Provisioned), None) => {
            return Err(UpdateTableError::ThroughputRequired.into());
        }
        (Some(_) | None, _) => {}
    }
    request.throughput.map_or(Ok(()), check_units)?;
    request
        .on_demand
        .map_or(Ok(()), |maxima| check_maxima(maxima, "table"))?;
    for change in request.index_changes() {
        let name = change.name.as_str();
        if change.throughput.is_none() && change.on_demand.is_none() && change.warm.is_none() {
            return Err(UpdateTableError::EmptyIndexUpdate(name.to_owned()).into());
        }
        change
            .on_demand
            .map_or(Ok(()), |maxima| check_maxima(maxima, &index_label(name)))?;
    }
    Ok(())
}

/// Returns the name of an index in some error texts.
fn index_label(name: &str) -> String {
    format!("index : {name}")
}

/// Checks the limits of the units of indexes and of the account. The service reports these errors
/// after table and indexes are found, and clients may retry them (docs/dynamodb.md 2.6).
pub(super) fn check_account(request: &UpdateTableRequest) -> Result<(), Error> {
    let of_indexes = request
        .index_changes()
        .filter_map(|change| change.throughput);
    of_indexes.clone().try_for_each(check_units)?;
    let of_new = request
        .index_creations()
        .filter_map(|creation| creation.throughput);
    Ok(request
        .throughput
        .into_iter()
        .chain(of_indexes)
        .chain(of_new)
        .try_for_each(check_table_maximum)?)
}

fn maxima_members(maxima: OnDemandThroughput) -> [(&'static str, Option<i64>); 2] {
    [
        ("MaxReadRequestUnits", maxima.max_read_request_units),
        ("MaxWriteRequestUnits", maxima.max_write_request_units),
    ]
}

/// Returns the first maximum that is given.
pub(super) fn first_given_maximum(maxima: OnDemandThroughput) -> Option<&'static str> {
    maxima_members(maxima)
        .into_iter()
        .find(|(_, units)| units.is_some())
        .map(|(member, _)| member)
}

/// Checks the maxima of an index as [`check_maxima`] does.
pub(super) fn check_index_maxima(
    maxima: OnDemandThroughput,
    index: &str,
) -> Result<(), SchemaError> {
    check_maxima(maxima, &index_label(index))
}

/// Checks maxima; -1 clears one.
fn check_maxima(maxima: OnDemandThroughput, owner: &str) -> Result<(), SchemaError> {
    match maxima_members(maxima)
        .into_iter()
        .find(|(_, units)| units.is_some_and(|units| units == 0 || units < -1))
    {
        Some((member, _)) => Err(SchemaError::OnDemandRange {
            member,
            of: owner.to_owned(),
        }),
        None => Ok(()),
    }
}

/// A change of throughput in progress.
pub struct ThroughputChange<'r> {
    pub old: &'r TableEntry,
    pub request: &'r UpdateTableRequest,
    pub now_ms: u64,
}

/// The requested change of the table, or of one of its indexes.
struct RequestedUnits<'r> {
    index: Option<&'r str>,
    units: Option<ProvisionedThroughput>,
    maxima: Option<OnDemandThroughput>,
    warm: Option<WarmThroughput>,
}

impl<'r> ThroughputChange<'r> {
    fn requested(&self) -> impl Iterator<Item = RequestedUnits<'r>> + use<'r> {
        let UpdateTableRequest {
            throughput: units,
            on_demand: maxima,
            warm,
            ..
        } = *self.request;
        std::iter::once(RequestedUnits {
            index: None,
            units,
            maxima,
            warm,
        })
        .chain(self.request.index_changes().map(|change| {
            let IndexChange {
                name,
                throughput: units,
                on_demand: maxima,
                warm,
            } = change;
            RequestedUnits {
                index: Some(name.as_str()),
                units: *units,
                maxima: *maxima,
                warm: *warm,
            }
        }))
    }

    /// Applies the changes to `new`, a copy of the old entry.
    pub fn apply(&self, new: &mut TableEntry) -> Result<(), Error> {
        let mode = self
            .request
            .billing_mode
            .unwrap_or(self.old.schema.billing_mode);
        self.check_mode(mode)?;
        Arc::make_mut(&mut new.schema).billing_mode = mode;
        for RequestedUnits { index, units, .. } in self.requested() {
            units.map_or(Ok(()), |units| self.set_units(new, index, units))?;
        }
        let schema = Arc::make_mut(&mut new.schema);
        if mode != self.old.schema.billing_mode {
            self.switch_mode(schema, mode);
        }
        self.change_maxima(schema, mode)?;
        self.change_warm(schema)
    }

    fn check_mode(&self, mode: BillingMode) -> Result<(), Error> {
        if mode == BillingMode::PayPerRequest {
            return match self
                .requested()
                .find(|asked| asked.units.is_some())
                .map(|asked| asked.index)
            {
                Some(None) => Err(SchemaError::ThroughputOnDemand.into()),
                Some(Some(index)) => {
                    Err(UpdateTableError::IndexThroughputOnDemand(index.to_owned()).into())
                }
                None => Ok(()),
            };
        }
        if self.old.schema.billing_mode == BillingMode::Provisioned {
            return Ok(());
        }
        let has_units = |name: &str| {
            self.requested()
                .any(|asked| asked.index == Some(name) && asked.units.is_some())
        };
        let mut indexes = self
            .old
            .schema
            .indexes_of(IndexKind::Global)
            .map(|index| index.name.as_str());
        match indexes.find(|name| !has_units(name)) {
            Some(name) => Err(UpdateTableError::IndexThroughputRequired(name.to_owned()).into()),
            None => Ok(()),
        }
    }

    /// Sets the units of the table or of an index.
    fn set_units(
        &self,
        new: &mut TableEntry,
        index: Option<&str>,
        units: ProvisionedThroughput,
    ) -> Result<(), Error> {
        let warm = self.old.schema.effective_warm(index);
        let schema = Arc::make_mut(&mut new.schema);
        let place = match index {
            None => Some(&mut schema.throughput),
            Some(name) => schema
                .indexes
                .iter_mut()
                .find(|of| of.name.as_str() == name)
                .map(|of| &mut of.throughput),
        };
        let Some(place) = place else {
            debug_assert!(false, "the request was checked against the table");
            return Ok(());
        };
        let old = place.replace(units);
        if let Some(old) = old {
            if old == units {
                return Err(same_units(index, units).into());
            }
            let history = match index {
                None => &mut new.control.throughput,
                Some(name) => new.control.indexes.entry(name.to_owned()).or_default(),
            };
            self.record_change(history, old, units)?;
        }
        let reached = ProvisionedThroughput {
            read_capacity_units: warm.read_capacity_units.max(units.read_capacity_units),
            write_capacity_units: warm.write_capacity_units.max(units.write_capacity_units),
        };
        schema
            .throughput_settings_mut(index)
            .into_iter()
            .for_each(|settings| settings.warm = reached.into());
        Ok(())
    }

    /// Records an increase, a decrease, or both; decreases have a quota.
    fn record_change(
        &self,
        history: &mut ThroughputHistory,
        old: ProvisionedThroughput,
        new: ProvisionedThroughput,
    ) -> Result<(), LimitError> {
        let pairs = || {
            throughput_members(old)
                .into_iter()
                .zip(throughput_members(new))
        };
        if pairs().any(|((_, old), (_, new))| new > old) {
            history.last_increase_ms = Some(self.now_ms);
        }
        if pairs().any(|((_, old), (_, new))| new < old) {
            let today = history.decreases_today(self.now_ms);
            let next_ms = history.last_decrease_ms.unwrap_or(0) + DECREASE_INTERVAL_MS;
            if today >= FREE_DECREASES && self.now_ms < next_ms {
                let last = calendar::long(next_ms - DECREASE_INTERVAL_MS);
                return Err(LimitError::Decreases {
                    today,
                    last,
                    next: calendar::long(next_ms),
                });
            }
            history.last_decrease_ms = Some(self.now_ms);
            history.decreases = today + 1;
        }
        Ok(())
    }

    /// Removes the settings that a change of the billing mode ends: on demand the units,
    /// provisioned the maxima. Warm throughput stays.
    fn switch_mode(&self, schema: &mut TableSchema, mode: BillingMode) {
        let switch = |settings: &mut ThroughputSettings, index| match mode {
            BillingMode::Provisioned => settings.on_demand = OnDemandThroughput::default(),
            BillingMode::PayPerRequest => {
                settings.warm = self.old.schema.effective_warm(index).into()
            }
        };
        switch(&mut schema.settings.throughput, None);
        for index in schema
            .indexes
            .iter_mut()
            .filter(|index| index.kind == IndexKind::Global)
        {
            switch(&mut index.settings, Some(index.name.as_str()));
        }
        if mode == BillingMode::PayPerRequest {
            schema.throughput = None;
            schema
                .indexes
                .iter_mut()
                .for_each(|index| index.throughput = None);
        }
    }

    fn change_maxima(
        &self,
        schema: &mut TableSchema,
        mode: BillingMode,
    ) -> Result<(), UpdateTableError> {
        for RequestedUnits { index, maxima, .. } in self.requested() {
            let Some(maxima) = maxima else { continue };
            if let (BillingMode::Provisioned, Some(member)) = (mode, first_given_maximum(maxima)) {
                return Err(UpdateTableError::OnDemandOnProvisioned(member));
            }
            let Some(settings) = schema.throughput_settings_mut(index) else {
                continue;
            };
            let kept = settings.on_demand;
            let merge =
                |new: Option<i64>, old: Option<i64>| new.or(old).filter(|units| *units != -1);
            settings.on_demand = OnDemandThroughput {
                max_read_request_units: merge(
                    maxima.max_read_request_units,
                    kept.max_read_request_units,
                ),
                max_write_request_units: merge(
                    maxima.max_write_request_units,
                    kept.max_write_request_units,
                ),
            };
        }
        Ok(())
    }

    fn change_warm(&self, schema: &mut TableSchema) -> Result<(), Error> {
        for RequestedUnits { index, warm, .. } in self.requested() {
            let Some(warm) = warm else { continue };
            let current = schema.effective_warm(index);
            let of = index.map_or_else(|| "table".to_owned(), index_label);
            let checked = |member, asked: Option<i64>, current: u64| match asked {
                Some(units) if units < current.cast_signed() => {
                    Err(UpdateTableError::WarmDecrease {
                        member,
                        of: of.clone(),
                    })
                }
                asked => Ok(Some(asked.unwrap_or(current.cast_signed()))),
            };
            let warm = WarmThroughput {
                read_units_per_second: checked(
                    "ReadUnitsPerSecond",
                    warm.read_units_per_second,
                    current.read_capacity_units,
                )?,
                write_units_per_second: checked(
                    "WriteUnitsPerSecond",
                    warm.write_units_per_second,
                    current.write_capacity_units,
                )?,
            };
            schema
                .throughput_settings_mut(index)
                .into_iter()
                .for_each(|settings| settings.warm = warm);
        }
        Ok(())
    }
}

fn same_units(index: Option<&str>, units: ProvisionedThroughput) -> UpdateTableError {
    let (of, kind) = match index {
        None => ("table".to_owned(), "table"),
        Some(name) => (format!("index {name}"), "index"),
    };
    UpdateTableError::SameThroughput {
        of,
        kind,
        read: units.read_capacity_units,
        write: units.write_capacity_units,
    }
}

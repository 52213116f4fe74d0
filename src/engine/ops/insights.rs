//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights (SEMANTICS 23.2): a switch that is kept and shown.
//! The most asked for and most throttled partition keys are always counted (see `engine::meter`); `partitions/hot.tsv` tells them.

use serde_json::{Value, json};

use crate::engine::account::{self, RecordKind};
use crate::engine::catalog::TableEntry;
use crate::engine::keys::SourceId;
use crate::engine::{Engine, transaction};
use crate::model::api::insights::{Insights, InsightsMode, InsightsTarget, UpdateInsightsRequest};
use crate::model::error::NotFoundError;
use crate::model::{Error, TableName};
use crate::store::Read;

impl Engine {
    /// Switches contributor insights on or off; what was off stays as it was.
    ///
    /// # Errors
    /// `TableNotFound`, `NotFound` for an index; those of the store.
    pub fn update_insights(&self, request: UpdateInsightsRequest) -> Result<Insights, Error> {
        self.shared.submit_and_wait(move |transaction| {
            let (table, source) = found(transaction.table(&request.target.table)?, &request.target)?;
            transaction::active(Some(table))?;
            let before = read(transaction.batch.as_read(), &request.target, source)?;
            if !request.enable && before.changed_ms.is_none() {
                return Ok(before);
            }
            let mode = request.mode.or(before.mode).unwrap_or(InsightsMode::AccessedAndThrottledKeys);
            let changed_ms = transaction.now_ms();
            let record = json!({
                "source": source.0,
                "enabled": request.enable,
                "throttled_only": mode == InsightsMode::ThrottledKeys,
                "changed": changed_ms,
            });
            account::put(transaction.batch, RecordKind::Insights, &name_of(&request.target), &record)?;
            let target = request.target.clone();
            Ok(Insights { target, is_enabled: request.enable, mode: Some(mode), changed_ms: Some(changed_ms) })
        })
    }

    /// # Errors
    /// `TableNotFound`, `NotFound` for an index; those of the store.
    pub fn describe_insights(&self, target: &InsightsTarget) -> Result<Insights, Error> {
        let view = self.view()?;
        let (_, source) = found(view.table(&target.table)?, target)?;
        read(view.read(), target, source)
    }

    /// The tables and indexes of which insights are enabled, in byte order; of one table or of all.
    ///
    /// # Errors
    /// `TableNotFound`; those of the store.
    pub fn list_insights(&self, table: Option<&TableName>) -> Result<Vec<Insights>, Error> {
        let view = self.view()?;
        let mut names = Vec::new();
        match table {
            Some(name) => names.push(name.clone()),
            None => view.table_names(None, &mut |name| {
                names.extend(TableName::new(name));
                std::ops::ControlFlow::Continue(())
            })?,
        }
        let mut list = Vec::new();
        for name in names {
            let base = InsightsTarget { table: name.clone(), index: None };
            let (entry, _) = found(view.table(&name)?, &base)?;
            let indexes = entry.indexes().map(|(index, _)| InsightsTarget { table: name.clone(), index: Some(index.name.clone()) });
            for target in std::iter::once(base).chain(indexes) {
                list.push(self.describe_insights(&target)?);
            }
        }
        list.retain(|insights| insights.is_enabled);
        Ok(list)
    }
}

/// The table, and the source that is meant in it.
fn found(
    table: Option<std::sync::Arc<TableEntry>>,
    target: &InsightsTarget,
) -> Result<(std::sync::Arc<TableEntry>, SourceId), Error> {
    let table = table.ok_or_else(|| Error::TableNotFound(target.table.as_str().to_owned()))?;
    let source = match &target.index {
        None => table.source,
        Some(name) => table.index(name).map(|(_, source)| source).ok_or_else(|| {
            let (index, table) = (name.as_str().to_owned(), target.table.as_str().to_owned());
            NotFoundError::IndexOfTable { index, table }
        })?,
    };
    Ok((table, source))
}

/// Names of tables have no slash.
fn name_of(target: &InsightsTarget) -> String {
    match &target.index {
        Some(index) => format!("{}/{index}", target.table),
        None => target.table.to_string(),
    }
}

/// What was kept; of an earlier table or index of that name nothing.
fn read(read: &dyn Read, target: &InsightsTarget, source: SourceId) -> Result<Insights, Error> {
    let record = account::get(read, RecordKind::Insights, &name_of(target))?;
    let number = |record: &Value, name: &str| record.get(name).and_then(Value::as_u64);
    let flag = |record: &Value, name: &str| record.get(name).and_then(Value::as_bool).unwrap_or(false);
    let record = record.filter(|record| number(record, "source") == Some(u64::from(source.0)));
    Ok(Insights {
        target: target.clone(),
        is_enabled: record.as_ref().is_some_and(|record| flag(record, "enabled")),
        mode: record.as_ref().map(|record| match flag(record, "throttled_only") {
            true => InsightsMode::ThrottledKeys,
            false => InsightsMode::AccessedAndThrottledKeys,
        }),
        changed_ms: record.as_ref().and_then(|record| number(record, "changed")),
    })
}

//! Of which tables and indexes contributor insights are enabled.

use serde_json::{Value, json};

use super::objects;
use crate::engine::base::keys::{RecordKind, SourceId};
use crate::engine::catalog::TableEntry;
use crate::model::api::insights::{Insights, InsightsMode, InsightsTarget};
use crate::model::error::StoreError;
use crate::store::{Read, Write};

/// Names of tables have no slash.
fn name_of(target: &InsightsTarget) -> String {
    match &target.index {
        Some(index) => format!("{}/{index}", target.table),
        None => target.table.to_string(),
    }
}

/// Are single items of a table's base or index counted?
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn counts_items(of: &dyn Read, table: &TableEntry, source: SourceId) -> Result<bool, StoreError> {
    let index = table.indexes().find(|(_, id)| *id == source).map(|(index, _)| index.name.clone());
    let target = InsightsTarget { table: table.schema.name.clone(), index };
    Ok(has_sort_key(table, source) && read(of, target, (table, source))?.is_enabled)
}

fn has_sort_key(table: &TableEntry, source: SourceId) -> bool {
    match table.indexes().find(|(_, id)| *id == source) {
        Some((index, _)) => !index.sort.is_empty(),
        None => table.schema.key.sort.is_some(),
    }
}

/// What was kept; of an earlier table or index of that name nothing.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn read(of: &dyn Read, target: InsightsTarget, (table, source): (&TableEntry, SourceId)) -> Result<Insights, StoreError> {
    let record = objects::get(of, RecordKind::Insights, &name_of(&target))?;
    let number = |record: &Value, name: &str| record.get(name).and_then(Value::as_u64);
    let flag = |record: &Value, name: &str| record.get(name).and_then(Value::as_bool).unwrap_or(false);
    let record = record.filter(|record| number(record, "source") == Some(u64::from(source.0)));
    Ok(Insights {
        target,
        has_sort_key: has_sort_key(table, source),
        is_enabled: record.as_ref().is_some_and(|record| flag(record, "enabled")),
        mode: record.as_ref().map(|record| match flag(record, "throttled_only") {
            true => InsightsMode::ThrottledKeys,
            false => InsightsMode::AccessedAndThrottledKeys,
        }),
        changed_ms: record.as_ref().and_then(|record| number(record, "changed")),
    })
}

/// Keeps whether they are enabled, and which keys are meant.
///
/// # Errors
/// Those of the store.
pub fn put(batch: &mut dyn Write, insights: &Insights, source: SourceId) -> Result<(), StoreError> {
    let record = json!({
        "source": source.0,
        "enabled": insights.is_enabled,
        "throttled_only": insights.mode == Some(InsightsMode::ThrottledKeys),
        "changed": insights.changed_ms,
    });
    objects::put(batch, RecordKind::Insights, &name_of(&insights.target), &record)
}

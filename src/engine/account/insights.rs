//! Of which tables and indexes contributor insights are enabled.

use serde::{Deserialize, Serialize};

use super::objects::AccountRecord;
use crate::engine::base::keys::{RecordKind, SourceId};
use crate::engine::base::stored::Stored;
use crate::engine::catalog::TableEntry;
use crate::model::api::insights::{Insights, InsightsMode, InsightsTarget};
use crate::model::error::StoreError;
use crate::store::{Read, Write};

/// What is kept of a table or index, by its name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InsightsRecord {
    /// The table or index that was meant: another may have its name by now.
    source: SourceId,
    #[serde(default)]
    enabled: bool,
    #[serde(default)]
    throttled_only: bool,
    changed: Option<u64>,
}

impl Stored for InsightsRecord {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "a record of contributor insights";
}

impl AccountRecord for InsightsRecord {
    const KIND: RecordKind = RecordKind::Insights;
}

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
    let index = table.index_of(source).map(|index| index.name.clone());
    let target = InsightsTarget { table: table.schema.name.clone(), index };
    Ok(has_sort_key(table, source) && read(of, target, (table, source))?.is_enabled)
}

fn has_sort_key(table: &TableEntry, source: SourceId) -> bool {
    table.index_of(source).map_or(table.schema.key.sort.is_some(), |index| !index.sort.is_empty())
}

/// What was kept; of an earlier table or index of that name nothing.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn read(of: &dyn Read, target: InsightsTarget, (table, source): (&TableEntry, SourceId)) -> Result<Insights, StoreError> {
    let record = InsightsRecord::get(of, &name_of(&target))?.filter(|record| record.source == source);
    Ok(Insights {
        target,
        has_sort_key: has_sort_key(table, source),
        is_enabled: record.as_ref().is_some_and(|record| record.enabled),
        mode: record.as_ref().map(|record| match record.throttled_only {
            true => InsightsMode::ThrottledKeys,
            false => InsightsMode::AccessedAndThrottledKeys,
        }),
        changed_ms: record.and_then(|record| record.changed),
    })
}

/// Keeps whether they are enabled, and which keys are meant.
///
/// # Errors
/// Those of the store.
pub fn put(batch: &mut dyn Write, insights: &Insights, source: SourceId) -> Result<(), StoreError> {
    let throttled_only = insights.mode == Some(InsightsMode::ThrottledKeys);
    let record = InsightsRecord { source, enabled: insights.is_enabled, throttled_only, changed: insights.changed_ms };
    record.put(batch, &name_of(&insights.target))
}

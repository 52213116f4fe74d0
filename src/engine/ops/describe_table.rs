//! DescribeTable (docs/dynamodb.md 11.2). Counters are always current.

use crate::engine::base::counters::SourceCounters;
use crate::engine::catalog::TableEntry;
use crate::engine::index_lag;
use crate::engine::index_life::progress::Progress;
use crate::engine::runtime::Engine;
use crate::engine::runtime::batch::source_counters;
use crate::model::api::{
    DescribeTableRequest, DescribeTableResponse, IndexDescription, IndexProgress, TableDescription, TableStatus,
};
use crate::model::error::StoreError;
use crate::model::{Error, TableName};
use crate::store::Read;

impl Engine {
    /// A table's definition, state and counters.
    ///
    /// # Errors
    /// `TableNotFound`; those of the store.
    pub fn describe_table(&self, request: &DescribeTableRequest) -> Result<DescribeTableResponse, Error> {
        match self.describe(&request.table_name)? {
            Some(table) => Ok(DescribeTableResponse { table }),
            None => Err(Error::TableNotFound(request.table_name.as_str().to_owned())),
        }
    }

    /// As [`Self::describe_table`]; `None` when there is no such table.
    ///
    /// # Errors
    /// Those of the store.
    pub fn describe(&self, table: &TableName) -> Result<Option<TableDescription>, Error> {
        let view = self.view()?;
        match view.table(table)? {
            Some(entry) => Ok(Some(description(view.read(), &entry, self.shared.options.clock.now_ms())?)),
            None => Ok(None),
        }
    }
}

/// The description of a table as a view has it, at a moment.
///
/// # Errors
/// Those of the store.
pub fn description(read: &dyn Read, entry: &TableEntry, at_ms: u64) -> Result<TableDescription, StoreError> {
    let counters = source_counters(read, entry.source)?;
    let life = &entry.index_life;
    let mut schema = (*entry.schema).clone();
    let mut indexes = Vec::with_capacity(entry.index_sources.len());
    for (index, source) in entry.indexes() {
        let (status, backfilling) = life.index_status(&index.name, entry.status);
        let violations = match life.made.get(index.name.as_str()) {
            Some(made) => source_counters(read, made.violations)?.entries,
            None => 0,
        };
        // While resources are being allocated all is still to be done.
        let allocated = IndexProgress { total: counters.entries, ..IndexProgress::default() };
        let progress = match backfilling {
            Some(_) => Some(Progress::read(read, source)?.map_or(allocated, |progress| progress.counts)),
            None => None,
        };
        let counters = source_counters(read, source)?;
        indexes.push(IndexDescription { backfilling, progress, violations, ..index_description(status, counters) });
    }
    if let Some(leaving) = &life.leaving {
        schema.indexes.push(leaving.index.clone());
        indexes.push(index_description(TableStatus::Deleting, source_counters(read, leaving.source)?));
    }
    Ok(TableDescription {
        schema,
        status: life.table_status(entry.status),
        table_id: entry.table_id.clone(),
        created_ms: entry.created_ms,
        item_count: counters.entries,
        table_size_bytes: counters.size_with_overhead(),
        indexes,
        latest_stream_label: entry.stream.as_ref().map(|stream| stream.label.clone()),
        control: entry.control.clone(),
        index_lag: index_lag::describe(read, entry, at_ms)?,
        at_ms,
    })
}

/// An index that is there, or is going.
fn index_description(status: TableStatus, counters: SourceCounters) -> IndexDescription {
    IndexDescription {
        status,
        backfilling: None,
        progress: None,
        violations: 0,
        item_count: counters.entries,
        index_size_bytes: counters.size_with_overhead(),
        partition_keys: counters.partition_keys,
    }
}

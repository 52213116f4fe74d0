//! CreateTable, DescribeTable, ListTables and DeleteTable (docs/dynamodb.md 11). A definition that
//! passes its checks becomes an entry of the catalog. A table is deleted with the commit, unless a
//! delay is configured (`engine::table_states`); its entries are removed afterwards, in batches
//! (`engine::purge`).

use crate::codec::digest;
use crate::engine::{
    base::{counters::SourceCounters, table_definition::build_new_schema},
    catalog::IndexLife,
    index_lag,
    index_life::{self, backfill::BackfillState},
    purge,
    runtime::{
        batch::{source_counters, table_bytes},
        prelude::*,
    },
    streams, table_states,
};
use crate::model::{
    api::{
        CreateTableRequest, CreateTableResponse, DeleteTableRequest, DeleteTableResponse,
        DescribeTableRequest, DescribeTableResponse, IndexDescription, IndexProgress,
        ListTablesRequest, ListTablesResponse, TableControl, TableDescription, WaitPolicy,
    },
    error::InUseError,
    limits::LIST_TABLES_MAX,
};

impl Engine {
    /// Creates a table. The answer says CREATING, as DynamoDB's does; without a configured delay
    /// the table is active at once.
    ///
    /// # Errors
    /// Fails with `Schema` for a bad definition, or with `TableAlreadyExists`; also errors of the
    /// store.
    pub fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        let schema = Arc::new(build_new_schema(request)?);
        let response = self
            .shared
            .submit_and_wait(move |transaction| create(transaction, &schema))?;
        if self.shared.options.table_delay_ms > 0 {
            self.shared.signal.wake();
        }
        Ok(response)
    }
}

fn create(
    transaction: &mut Transaction<'_>,
    schema: &Arc<TableSchema>,
) -> Result<CreateTableResponse, Error> {
    if let Some(entry) = transaction.table(&schema.name)? {
        let name = schema.name.to_string();
        return Err(match entry.status {
            TableStatus::Deleting => Error::TableBeingDeleted(name),
            TableStatus::Creating => InUseError::Creating(name).into(),
            TableStatus::Active | TableStatus::Updating => Error::TableAlreadyExists(name),
        });
    }
    let mut entry = add_table(transaction, schema, TableStatus::Active)?;
    if table_states::begin(transaction, &mut entry, TableStatus::Creating) {
        transaction.replace_table(&entry)?;
    }
    let mut table_description = description(transaction.read(), &entry, entry.created_ms)?;
    table_description.status = TableStatus::Creating;
    for index in &mut table_description.indexes {
        index.status = TableStatus::Creating;
    }
    Ok(CreateTableResponse { table_description })
}

/// Adds a table; the name must be free.
pub(in crate::engine) fn add_table(
    transaction: &mut Transaction<'_>,
    schema: &Arc<TableSchema>,
    status: TableStatus,
) -> Result<TableEntry, StoreError> {
    let mut sources =
        catalog::allocate_sources(transaction.batch, 1 + schema.indexes.len())?.into_iter();
    let source = sources
        .next()
        .ok_or(StoreError::Corrupt("source ids are used up"))?;
    let created_ms = transaction.now_ms();
    let mut entry = TableEntry {
        schema: Arc::clone(schema),
        source,
        index_sources: sources.collect(),
        status,
        table_id: table_id(transaction.shared, source, created_ms),
        created_ms,
        stream: None,
        time_to_live: None,
        control: TableControl::default(),
        index_life: IndexLife::default(),
        status_ends_ms: None,
    };
    if let Some(view_type) = schema.settings.stream {
        streams::enable(transaction, &mut entry, view_type)?;
    }
    transaction.replace_table(&entry)?;
    Ok(entry)
}

/// Returns a UUID of version 4 form, derived from the seed, the source id and the time.
fn table_id(shared: &EngineShared, source: SourceId, created_ms: u64) -> String {
    let mut seed = shared.options.seed.to_be_bytes().to_vec();
    seed.extend_from_slice(&source.0.to_be_bytes());
    seed.extend_from_slice(&created_ms.to_be_bytes());
    let mut bytes = digest::digest(&seed);
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    let hex = digest::hex(&bytes);
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

impl Engine {
    /// Returns a table's definition, status and counters.
    ///
    /// # Errors
    /// Fails with `TableNotFound`, or with an error of the store.
    pub fn describe_table(
        &self,
        request: &DescribeTableRequest,
    ) -> Result<DescribeTableResponse, Error> {
        match self.describe(&request.table_name)? {
            Some(table) => Ok(DescribeTableResponse { table }),
            None => Err(Error::TableNotFound(request.table_name.to_string())),
        }
    }

    /// Describes a table as [`Self::describe_table`] does; returns `None` if there is no such
    /// table.
    pub fn describe(&self, table: &TableName) -> Result<Option<TableDescription>, Error> {
        let view = self.view()?;
        match view.table(table)? {
            Some(entry) => Ok(Some(description(
                view.read(),
                &entry,
                self.shared.now_ms(),
            )?)),
            None => Ok(None),
        }
    }
}

/// Returns the description of a table in a view, as of a moment.
pub fn description(
    read: &dyn Read,
    entry: &TableEntry,
    at_ms: u64,
) -> Result<TableDescription, StoreError> {
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
        // While resources are being allocated, everything is still to be done.
        let allocated = IndexProgress {
            total: counters.entries,
            ..IndexProgress::default()
        };
        let progress = match backfilling {
            Some(_) => Some(
                BackfillState::read(read, source)?.map_or(allocated, |progress| progress.counts),
            ),
            None => None,
        };
        let counters = source_counters(read, source)?;
        indexes.push(IndexDescription {
            backfilling,
            progress,
            violations,
            ..index_description(status, counters)
        });
    }
    if let Some(leaving) = &life.leaving {
        schema.indexes.push(leaving.index.clone());
        indexes.push(index_description(
            TableStatus::Deleting,
            source_counters(read, leaving.source)?,
        ));
    }
    Ok(TableDescription {
        schema,
        status: life.table_status(entry.status),
        table_id: entry.table_id.clone(),
        created_ms: entry.created_ms,
        item_count: counters.entries,
        table_size_bytes: table_bytes(read, entry)?,
        indexes,
        latest_stream_label: entry.stream.as_ref().map(|stream| stream.label.clone()),
        control: entry.control.clone(),
        index_lag: index_lag::describe(read, entry, at_ms)?,
        at_ms,
    })
}

/// Returns the description of an index that exists or is being removed.
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

impl Engine {
    /// Returns a page of table names.
    pub fn list_tables(&self, request: &ListTablesRequest) -> Result<ListTablesResponse, Error> {
        let limit = request
            .limit
            .unwrap_or(LIST_TABLES_MAX)
            .clamp(1, LIST_TABLES_MAX) as usize;
        let range = keys::tables_after(request.exclusive_start_table_name.as_deref());
        let (table_names, has_more) = walks::page(self.view()?.read(), &range, limit, |key, _| {
            let name = keys::parse_table(key);
            let name = name.ok_or(StoreError::Corrupt("the name of a catalog entry"))?;
            Ok(Some(name.to_owned()))
        })?;
        let last_evaluated_table_name = table_names.last().filter(|_| has_more).cloned();
        Ok(ListTablesResponse {
            table_names,
            last_evaluated_table_name,
        })
    }
}

impl Engine {
    /// Deletes a table; `wait` is the caller's policy of waiting for observers.
    ///
    /// # Errors
    /// Fails with `TableNotFound`, `TableBeingDeleted`, `DeletionProtected` or `InUse`, or with an
    /// error of the store.
    pub fn delete_table(
        &self,
        request: DeleteTableRequest,
        wait: WaitPolicy,
    ) -> Result<DeleteTableResponse, Error> {
        let (response, sources) = self
            .shared
            .submit_and_wait_with(wait, move |transaction| delete(transaction, &request))?;
        match sources {
            None => self.shared.signal.wake(),
            Some(sources) => purge::start_all(&self.shared, sources),
        }
        Ok(response)
    }
}

/// Deletes a table; returns the sources to purge, unless a delay is configured.
fn delete(
    transaction: &mut Transaction<'_>,
    request: &DeleteTableRequest,
) -> Result<(DeleteTableResponse, Option<Vec<SourceId>>), Error> {
    let name = request.table_name.as_str();
    let entry = transaction.require_table(&request.table_name)?;
    if entry.status == TableStatus::Deleting {
        return Err(Error::TableBeingDeleted(name.to_owned()));
    }
    if entry.status == TableStatus::Creating && !entry.control.is_failed_restore() {
        return Err(InUseError::Creating(name.to_owned()).into());
    }
    index_life::check_table_deletion(&entry.index_life)?;
    if entry.control.readers > 0 {
        return Err(InUseError::BeingRead(name.to_owned()).into());
    }
    if entry.schema.deletion_protection {
        return Err(Error::DeletionProtected);
    }
    if request.only_if_empty
        && walks::has_any(transaction.read(), &Space::Entry.range(entry.source))?
    {
        return Err(InUseError::HasItems(name.to_owned()).into());
    }
    transaction.mark_removal();
    let mut table_description = description(transaction.read(), &entry, transaction.now_ms())?;
    table_description.status = TableStatus::Deleting;
    let mut leaving = (*entry).clone();
    let sources = if table_states::begin(transaction, &mut leaving, TableStatus::Deleting) {
        transaction.replace_table(&leaving)?;
        None
    } else {
        let sources = table_states::remove(transaction, &entry)?;
        Some(purge::remove_small(transaction, sources)?)
    };
    Ok((DeleteTableResponse { table_description }, sources))
}

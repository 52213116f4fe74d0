//! CreateTable: a definition that passes its checks becomes an entry of the catalog (docs/dynamodb.md 11.1).

use std::sync::Arc;

use super::describe_table::description;
use crate::codec::digest;
use crate::engine::base::keys::SourceId;
use crate::engine::base::table_definition::build_new_schema;
use crate::engine::catalog::{self, IndexLife, TableEntry};
use crate::engine::runtime::{Engine, Shared, Transaction};
use crate::engine::{streams, table_states};
use crate::model::api::{CreateTableRequest, CreateTableResponse, TableControl, TableStatus};
use crate::model::error::{InUseError, StoreError};
use crate::model::{Error, TableSchema};

impl Engine {
    /// Creates a table. The answer says CREATING, as DynamoDB's does; the table is active at once unless that is to take a while.
    ///
    /// # Errors
    /// `Schema` for a bad definition, `TableAlreadyExists`; those of the store.
    pub fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        let schema = Arc::new(build_new_schema(request)?);
        let response = self.shared.submit_and_wait(move |transaction| create(transaction, &schema))?;
        if self.shared.options.table_delay_ms > 0 {
            self.shared.signal.wake();
        }
        Ok(response)
    }
}

fn create(transaction: &mut Transaction<'_>, schema: &Arc<TableSchema>) -> Result<CreateTableResponse, Error> {
    if let Some(entry) = transaction.table(&schema.name)? {
        let name = schema.name.as_str().to_owned();
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
    let mut table_description = description(transaction.batch.as_read(), &entry, entry.created_ms)?;
    table_description.status = TableStatus::Creating;
    for index in &mut table_description.indexes {
        index.status = TableStatus::Creating;
    }
    Ok(CreateTableResponse { table_description })
}

/// Adds a table whose name is free.
///
/// # Errors
/// Those of the store.
pub(in crate::engine) fn add_table(
    transaction: &mut Transaction<'_>,
    schema: &Arc<TableSchema>,
    status: TableStatus,
) -> Result<TableEntry, StoreError> {
    let mut sources = catalog::take_sources(transaction.batch, 1 + schema.indexes.len())?.into_iter();
    let source = sources.next().ok_or(StoreError::Corrupt("source ids are used up"))?;
    let created_ms = transaction.shared.options.clock.now_ms();
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

/// A UUID of version 4 form, made of the seed and of what is the table's own.
fn table_id(shared: &Shared, source: SourceId, created_ms: u64) -> String {
    let mut seed = shared.options.seed.to_be_bytes().to_vec();
    seed.extend_from_slice(&source.0.to_be_bytes());
    seed.extend_from_slice(&created_ms.to_be_bytes());
    let mut bytes = digest::digest(&seed);
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    let hex = digest::hex(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

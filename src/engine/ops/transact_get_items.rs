//! TransactGetItems (docs/dynamodb.md 15.2): one view, so the items are of one moment.

use std::sync::Arc;

use super::items::parse_projection;
use super::reasons::{self, Reasons};
use crate::codec::record::Record;
use crate::engine::base::capacity::{TRANSACTION_FACTOR, read_units};
use crate::engine::base::item_key;
use crate::engine::base::keys::EntryAddress;
use crate::engine::catalog::TableEntry;
use crate::engine::read::projected::{self, RequestedProjection};
use crate::engine::runtime::{Engine, HeldValues, View};
use crate::expr::ProjectionPaths;
use crate::model::api::{ConsumedCapacity, TransactGet, TransactGetItemsRequest, TransactGetItemsResponse};
use crate::model::error::{StoreError, TransactionError};
use crate::model::limits::TRANSACTION_BYTES_MAX;
use crate::model::{Error, Item, Key};

/// One read, checked.
struct Planned {
    table: Arc<TableEntry>,
    key: Key,
    projection: Option<ProjectionPaths>,
}

impl Engine {
    /// Reads items of one moment.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Transaction`; `TransactionCanceled` for a key that does not fit its table; those of
    /// the store.
    pub fn transact_get_items(&self, request: &TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error> {
        let mut projections = Vec::with_capacity(request.transact_items.len());
        for get in &request.transact_items {
            get.key.check_nesting()?;
            let asked = RequestedProjection::new(get.projection_expression.as_ref(), None)?;
            projections.push(parse_projection(asked, &get.placeholders)?);
        }
        if let Some(fault) = &request.fault {
            return Err(Error::clone(fault));
        }
        let view = self.view()?;
        let planned = plan(&view, request, projections)?;
        let mut response = TransactGetItemsResponse { responses: Vec::new(), consumed_capacity: Vec::new() };
        check_capacity(&view, &planned)?;
        let (mut left, mut held) = (TRANSACTION_BYTES_MAX, HeldValues::default());
        for read in &planned {
            let address = EntryAddress::of_item(read.table.source, &read.key);
            let record = view.entry(&address)?;
            let bytes = record.map_or(0, |record| record.item_bytes() as usize);
            left = left.checked_sub(bytes).ok_or(TransactionError::TooLarge)?;
            record.map_or(Ok(()), |record| held.read(&record))?;
            response.responses.push(record.map(|record| item(record, read)).transpose()?.flatten());
            let units = TRANSACTION_FACTOR * read_units(bytes, true);
            view.charge_item(&read.table, &address, units)?;
            let units = ConsumedCapacity::of_table(units);
            super::add_capacity(&mut response.consumed_capacity, &read.table.schema.name, &units);
        }
        Ok(response)
    }
}

/// Cancels a transaction of which some reads have no capacity left.
fn check_capacity(view: &View<'_>, planned: &[Planned]) -> Result<(), Error> {
    let mut reasons = Reasons::of(planned.len());
    for (place, read) in planned.iter().enumerate() {
        reasons.take(place, view.admit_item(&read.table, &EntryAddress::of_item(read.table.source, &read.key)))?;
    }
    reasons.finish()
}

/// Tables, empty keys and repeated items are objections to the whole; other bad keys to their own read.
fn plan(
    view: &View<'_>,
    request: &TransactGetItemsRequest,
    projections: Vec<Option<ProjectionPaths>>,
) -> Result<Vec<Planned>, Error> {
    let gets = &request.transact_items;
    let tables = gets.iter().map(|get| view.active_table(&get.table_name)).collect::<Result<Vec<_>, Error>>()?;
    let keys = gets.iter().zip(&tables).zip(&projections);
    let keys = keys.map(|((get, table), projection)| (&**table, check(get, table, projection.as_ref())));
    let keys = reasons::keys(gets.len(), keys)?;
    let planned = tables.into_iter().zip(keys).zip(projections);
    Ok(planned.map(|((table, key), projection)| Planned { table, key, projection }).collect())
}

fn check(get: &TransactGet, table: &TableEntry, projection: Option<&ProjectionPaths>) -> Result<Key, Error> {
    let key = item_key::key_of_parameter(&table.schema.key, &get.key)?;
    projected::check_no_path_into_keys(projection, &table.schema)?;
    Ok(key)
}

/// The item as it is returned: an empty selection is as no item.
fn item(record: Record<'_>, read: &Planned) -> Result<Option<Item>, StoreError> {
    let item = record.to_item()?;
    Ok(match &read.projection {
        None => Some(item),
        Some(paths) => Some(paths.apply(&item)).filter(|item| !item.0.is_empty()),
    })
}

//! DeleteItem: what has the key goes, if the condition holds for it; that there is nothing is no error (docs/dynamodb.md 12.4).

use crate::engine::base::item_key;
use crate::engine::runtime::{Done, Engine, Transaction};
use crate::engine::write;
use crate::engine::write::guard::Guard;
use crate::engine::write::stored::Stored;
use crate::model::api::{DeleteItemRequest, DeleteItemResponse, ReturnValues};
use crate::model::{AttributeValue, Error};

impl Engine {
    /// Starts a delete; `done` hears of it after the commit.
    pub fn delete_item(&self, request: DeleteItemRequest, done: Done<DeleteItemResponse>) {
        match check_shape(&request) {
            Ok(guard) => self.shared.submit(move |transaction| delete(transaction, &request, &guard), done),
            Err(error) => done(Err(error)),
        }
    }
}

/// What needs no table.
pub(in crate::engine) fn check_shape(request: &DeleteItemRequest) -> Result<Guard, Error> {
    request.key.0.values().try_for_each(AttributeValue::check_nesting)?;
    let guard = Guard::of_request(&request.condition, &request.placeholders)?;
    Ok(guard.with(request.precondition, request.return_old_on_condition_failure))
}

pub(in crate::engine) fn delete(
    transaction: &mut Transaction<'_>,
    request: &DeleteItemRequest,
    guard: &Guard,
) -> Result<DeleteItemResponse, Error> {
    let table = transaction.active_table(&request.table_name)?;
    let key = item_key::key_of_parameter(&table.schema.key, &request.key)?;
    guard.check_paths(&table)?;
    let stored = Stored::look_at(transaction, &table, key)?;
    transaction.held_values.change(stored.record()?)?;
    guard.check(&stored)?;
    let existed = stored.record()?.is_some();
    let attributes = match request.return_values {
        ReturnValues::AllOld => stored.item()?.cloned(),
        ReturnValues::None => None,
    };
    let applied = write::replace(transaction, &stored, None)?;
    let item_collection_metrics = write::metrics_if(request.return_item_collection_metrics, transaction, &stored)?;
    Ok(DeleteItemResponse { attributes, consumed_capacity: applied.consumed_capacity, item_collection_metrics, existed })
}

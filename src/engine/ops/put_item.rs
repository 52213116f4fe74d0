//! PutItem: the item takes the place of what has its key, if the condition holds for that (docs/dynamodb.md 12.2).

use crate::engine::runtime::{Done, Engine, Transaction};
use crate::engine::write::guard::Guard;
use crate::engine::write::stored::Stored;
use crate::engine::{index, write};
use crate::model::Error;
use crate::model::api::{PutItemRequest, PutItemResponse, ReturnValues};

impl Engine {
    /// Starts a put; `done` hears of it after the commit.
    pub fn put_item(&self, request: PutItemRequest, done: Done<PutItemResponse>) {
        match check_shape(&request) {
            Ok(guard) => self.shared.submit(move |transaction| put(transaction, &request, &guard), done),
            Err(error) => done(Err(error)),
        }
    }

    /// Every check of a put against the last commit, without writing.
    ///
    /// # Errors
    /// The error a write would get.
    pub fn check_put(&self, request: &PutItemRequest) -> Result<(), Error> {
        let guard = check_shape(request)?;
        let view = self.view()?;
        let table = view.active_table(&request.table_name)?;
        let key = index::key_of_put(&table, &request.item)?;
        guard.check_paths(&table)?;
        let stored = Stored::read(view.read(), &table, key)?;
        guard.check(&stored)?;
        write::check_collection(view.read(), self.shared.options.collection_bytes_max, &stored, &request.item)
    }
}

/// What needs no table.
fn check_shape(request: &PutItemRequest) -> Result<Guard, Error> {
    request.item.check_limits()?;
    let guard = Guard::of_request(&request.condition, &request.placeholders)?;
    Ok(guard.with(request.precondition, request.return_old_on_condition_failure))
}

fn put(transaction: &mut Transaction<'_>, request: &PutItemRequest, guard: &Guard) -> Result<PutItemResponse, Error> {
    let table = transaction.active_table(&request.table_name)?;
    let key = index::key_of_put(&table, &request.item)?;
    guard.check_paths(&table)?;
    let stored = Stored::look_at(transaction, &table, key)?;
    transaction.held_values.change(stored.record()?)?;
    guard.check(&stored)?;
    let attributes = match request.return_values {
        ReturnValues::AllOld => stored.item()?.cloned(),
        ReturnValues::None => None,
    };
    let applied = write::replace_checked(transaction, &stored, Some(&request.item))?;
    let item_collection_metrics = write::metrics_if(request.return_item_collection_metrics, transaction, &stored)?;
    Ok(PutItemResponse {
        attributes,
        consumed_capacity: applied.consumed_capacity,
        item_collection_metrics,
        version: applied.version,
    })
}

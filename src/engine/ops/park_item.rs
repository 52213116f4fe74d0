//! Files that were items: parked in the transaction that deletes the item, moved, removed.

use super::delete_item;
use crate::engine::parked;
use crate::engine::runtime::{Done, Engine};
use crate::model::Error;
use crate::model::api::DeleteItemResponse;
use crate::model::api::parked::{ParkRequest, ParkedChange};

impl Engine {
    /// Starts the delete of an item whose text is parked in the same transaction; `done` hears of it after the commit. An item that
    /// is not there parks nothing.
    pub fn park_item_then(&self, request: ParkRequest, done: Done<DeleteItemResponse>) {
        match delete_item::check_shape(&request.delete) {
            Ok(guard) => self.shared.submit(
                move |transaction| {
                    let table = transaction.active_table(&request.place.table)?;
                    let response = delete_item::delete(transaction, &request.delete, &guard)?;
                    if response.existed {
                        parked::put(transaction, table.source, &request.place, &request.content)?;
                    }
                    Ok(response)
                },
                done,
            ),
            Err(error) => done(Err(error)),
        }
    }

    /// Carries out a change; was there something to change?
    ///
    /// # Errors
    /// `ResourceNotFound` without the table; those of the store.
    pub fn change_parked(&self, change: ParkedChange) -> Result<bool, Error> {
        self.shared.submit_and_wait(move |transaction| parked::apply(transaction, &change))
    }
}

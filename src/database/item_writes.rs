//! The items that a call writes, as far as the request alone tells: for caches of items (`cached`,
//! `remote::browse`) that must invalidate them.

use crate::model::api::{BatchWriteItemRequest, Call, TransactAction, WriteRequest};
use crate::model::{Item, TableName};

/// The effect of a successful write on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemEffect {
    /// The item becomes the one in the request.
    Put,
    Delete,
    /// The item changes in a way that the request alone does not determine.
    Update,
}

/// An item that a request writes.
#[derive(Debug, Clone, Copy)]
pub struct ItemWrite<'c> {
    pub table: &'c TableName,
    /// The item, or its key alone.
    pub item: &'c Item,
    pub effect: ItemEffect,
}

/// Returns the items that a call writes.
#[must_use]
pub fn item_writes(call: &Call) -> Vec<ItemWrite<'_>> {
    let one = |table, item, effect| {
        vec![ItemWrite {
            table,
            item,
            effect,
        }]
    };
    match call {
        Call::PutItem(request, _) => one(&request.table_name, &request.item, ItemEffect::Put),
        Call::DeleteItem(request, _) => one(&request.table_name, &request.key, ItemEffect::Delete),
        Call::UpdateItem(request, _) => one(&request.table_name, &request.key, ItemEffect::Update),
        Call::BatchWriteItem(request, _) => batch_writes(request).collect(),
        Call::TransactWriteItems(request, _) => {
            let writes = request
                .transact_items
                .iter()
                .map(|write| (&write.table_name, action_write(&write.action)));
            writes
                .filter_map(|(table, (item, effect))| {
                    Some(ItemWrite {
                        table,
                        item,
                        effect: effect?,
                    })
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the items that a batch writes.
pub fn batch_writes(request: &BatchWriteItemRequest) -> impl Iterator<Item = ItemWrite<'_>> {
    let writes = request
        .request_items
        .iter()
        .flat_map(|of| of.requests.iter().map(move |write| (&of.table_name, write)));
    writes.map(|(table, write)| match write {
        WriteRequest::Put(item) => ItemWrite {
            table,
            item,
            effect: ItemEffect::Put,
        },
        WriteRequest::Delete(item) => ItemWrite {
            table,
            item,
            effect: ItemEffect::Delete,
        },
    })
}

/// Returns the item or the key of an action, and its effect; a condition check has none.
#[must_use]
pub fn action_write(action: &TransactAction) -> (&Item, Option<ItemEffect>) {
    match action {
        TransactAction::ConditionCheck { key } => (key, None),
        TransactAction::Put { item } => (item, Some(ItemEffect::Put)),
        TransactAction::Delete { key } => (key, Some(ItemEffect::Delete)),
        TransactAction::Update { key, .. } => (key, Some(ItemEffect::Update)),
    }
}

//! The operations, one file each: shape checks, then the catalog, then keys, then the effect.

pub mod batch_execute_statement;
pub mod batch_get_item;
pub mod batch_write_item;
pub mod create_table;
pub mod delete_item;
pub mod delete_table;
pub mod describe_stream;
pub mod describe_table;
pub mod execute_statement;
pub mod execute_transaction;
mod forecast_index;
pub mod get_item;
pub mod get_records;
pub mod get_shard_iterator;
pub mod insights;
pub mod list_streams;
pub mod list_tables;
pub mod metrics;
pub mod never_used;
pub mod park_item;
pub mod partitions;
pub mod put_item;
pub mod query;
pub mod read_page;
mod reasons;
pub mod recovery;
pub mod resource;
pub mod saved_queries;
pub mod scan;
pub mod time_to_live;
pub mod transact_get_items;
pub mod transact_write_items;
pub mod transfer;
pub mod update_indexes;
pub mod update_item;
pub mod update_table;
mod update_table_check;
mod update_throughput;

use std::collections::HashSet;

use crate::engine::catalog::TableEntry;
use crate::model::api::ConsumedCapacity;
use crate::model::{Key, TableName};

/// Adds what one part of an operation consumed to its table's entry; entries are in the order of first use.
fn add_capacity(list: &mut Vec<(TableName, ConsumedCapacity)>, table: &TableName, consumed: &ConsumedCapacity) {
    match list.iter_mut().find(|(name, _)| name == table) {
        Some((_, sum)) => sum.add(consumed),
        None => list.push((table.clone(), consumed.clone())),
    }
}

/// Are these all different items? Of a table and a key each.
fn are_different<'k>(mut items: impl Iterator<Item = (&'k TableEntry, &'k Key)>) -> bool {
    let mut seen = HashSet::new();
    items.all(|(table, key)| seen.insert((table.source, key)))
}

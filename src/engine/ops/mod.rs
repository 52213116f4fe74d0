//! The operations of the DynamoDB API, one file for each family. Each checks the shape of its
//! request, then looks up the catalog, then checks keys, then reads or writes.

mod batches;
mod insights;
mod items;
pub mod metrics;
mod pages;
pub mod recovery;
mod resource;
mod restore;
mod statements;
mod streams;
pub mod tables;
mod time_to_live;
mod transactions;
mod transfer;
mod update_indexes;
mod update_table;
mod update_throughput;
mod vectors;

use std::collections::HashSet;

use super::prelude::*;

/// Adds the capacity consumed by one part of an operation to its table's entry; entries are in the
/// order of first use.
fn add_capacity(
    list: &mut Vec<(TableName, ConsumedCapacity)>,
    table: &TableName,
    consumed: &ConsumedCapacity,
) {
    match list.iter_mut().find(|(name, _)| name == table) {
        Some((_, sum)) => sum.add(consumed),
        None => list.push((table.clone(), consumed.clone())),
    }
}

/// True if all items, given by table and key, are distinct.
fn are_distinct<'k>(mut items: impl Iterator<Item = (&'k TableEntry, &'k Key)>) -> bool {
    let mut seen = HashSet::new();
    items.all(|(table, key)| seen.insert((table.source, key)))
}

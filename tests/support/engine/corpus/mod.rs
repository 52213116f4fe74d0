//! A corpus of generated tables for advice, by their number of items.

pub mod faulty;
pub mod healthy;

use super::bed::*;
use super::*;
use ddbfs::database::{Browse, Database};
use ddbfs::engine::EngineOptions;
use ddbfs::engine::throttle::ThrottleOptions;
use ddbfs::inspect::advice::{Advice, AdviceLevel, TableFacts, advise};
use ddbfs::model::Item;
use ddbfs::model::api::{
    BatchWriteItemRequest, BatchWriteItemResponse, Call, CallContext, Completion,
    ConditionParameter, CreateTableRequest, ReturnConsumedCapacity, TableWrites, WriteRequest,
};
use ddbfs::model::error::Error;
use ddbfs::model::schema::ProvisionedThroughput;
use ddbfs::protocol;
use serde_json::json as value;

pub const MINUTE_MS: u64 = 60_000;

pub fn on_demand(keys: &str, indexes: &[&str]) -> CreateTableRequest {
    definition("Tab", keys, indexes)
}

pub fn bed(table: CreateTableRequest) -> Bed {
    Bed::with(table, |options| options)
}

/// Writes a batch of items, in a context.
pub fn write_batch(
    bed: &Bed,
    items: Vec<Item>,
    context: CallContext,
) -> Result<BatchWriteItemResponse, Error> {
    let requests = items.into_iter().map(WriteRequest::Put).collect();
    let request = BatchWriteItemRequest {
        request_items: vec![TableWrites {
            table_name: table("Tab"),
            requests,
        }],
        return_consumed_capacity: ReturnConsumedCapacity::None,
        return_item_collection_metrics: false,
    };
    let (sender, receiver) = std::sync::mpsc::channel();
    let done = Completion::new(context, move |outcome| drop(sender.send(outcome)));
    bed.database.start(Call::BatchWriteItem(request, done));
    receiver.recv().unwrap()
}

/// Writes items as `ddbfs load` does: as a bulk load, which is no traffic.
pub fn load(bed: &Bed, items: impl IntoIterator<Item = Item>) {
    let items: Vec<Item> = items.into_iter().collect();
    for batch in items.chunks(25) {
        write_batch(bed, batch.to_vec(), CallContext::bulk()).unwrap();
    }
}

/// Writes items within one second.
pub fn write_at_once(bed: &Bed, count: u32, item: impl Fn(u32) -> String) {
    for n in 0..count {
        drop(put(&bed.database, "Tab", json(&item(n))).unwrap());
    }
}

pub fn loaded(table: CreateTableRequest, count: u32, item: impl Fn(u32) -> String) -> Bed {
    let bed = bed(table);
    load(&bed, (0..count).map(|n| json(&item(n))));
    bed
}

/// Makes a vector index `near` of lists of two numbers.
pub fn make_near(bed: &Bed, count: u32) {
    let create = value!({ "TableName": "Tab", "VectorIndexUpdates": [{ "Create": {
        "IndexName": "near", "VectorAttribute": { "AttributeName": "v" }, "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN", "Projection": { "ProjectionType": "KEYS_ONLY" } } }] });
    protocol::call("UpdateTable", create, &bed.database, "localhost").unwrap();
    (0..20 + count / 1_000).for_each(|_| bed.background());
}

/// Searches the index `near`.
pub fn search_near(bed: &Bed) {
    let search = value!({ "TableName": "Tab", "IndexName": "near", "SearchVector": [{ "N": "1" }, { "N": "2" }], "TopK": 3 });
    protocol::call("SearchVectors", search, &bed.database, "localhost").unwrap();
}

/// Returns the advice on the table.
pub fn told(database: &dyn Browse) -> Vec<Advice> {
    let facts = TableFacts::read(database, &table("Tab"));
    advise(&facts.unwrap().unwrap())
}

/// Distributes numbers as a hash does.
pub fn mixed(n: u32) -> u32 {
    n.wrapping_mul(2_654_435_761) >> 4
}

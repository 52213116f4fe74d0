//! From an operation and its body to the answer's body: translate, call, write.
//!
//! Reads run where they are called: they are short and never wait for a writer. Writes wait for the commit without
//! holding a thread; the control operations hold one. A body's tree, many times the size of its text, does not live as long as a
//! commit takes.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::block_in_place;

use super::control;
use super::error::Failure;
use super::target::Operation;
use crate::codec::wire::{
    Reporting, batch_get_item, batch_write_item, create_table, delete_item, delete_table, describe_stream, describe_table,
    get_item, get_records, get_shard_iterator, list_streams, list_tables, page, put_item, query, scan, time_to_live,
    transact_get_items, transact_write_items, update_item,
};
use crate::database::{Database, Done};
use crate::model::Error;
use crate::model::error::StoreError;

/// Runs one request. `host` is what the client calls this server.
///
/// # Errors
/// What the request or its operation failed with.
pub async fn run(operation: Operation, json: Value, database: &Arc<dyn Database>, host: &str) -> Result<Vec<u8>, Failure> {
    match operation {
        Operation::PutItem => put(json, database).await,
        Operation::DeleteItem => delete(json, database).await,
        Operation::UpdateItem => update(json, database).await,
        Operation::GetItem => get(&json, database.as_ref()),
        Operation::Query => run_query(&json, database.as_ref()),
        Operation::Scan => run_scan(&json, database.as_ref()),
        Operation::BatchGetItem => batch_get(&json, database.as_ref()),
        Operation::BatchWriteItem => batch_write(json, database).await,
        Operation::TransactGetItems => transact_get(&json, database.as_ref()),
        Operation::TransactWriteItems => transact_write(json, database).await,
        Operation::CreateTable => {
            let request = create_table::request(&json)?;
            drop(json);
            let response = block_in_place(|| database.create_table(request))?;
            Ok(create_table::response_to_json(&response).to_string().into_bytes())
        }
        Operation::DeleteTable => {
            let request = delete_table::request(&json)?;
            drop(json);
            let response = block_in_place(|| database.delete_table(request))?;
            Ok(delete_table::to_json(&response).to_string().into_bytes())
        }
        Operation::DescribeTable => {
            let response = database.describe_table(describe_table::request(&json)?)?;
            Ok(describe_table::to_json(&response.table).to_string().into_bytes())
        }
        Operation::Control(operation) => match database.administration() {
            Some(admin) => control::run(operation, &json, admin, host),
            None => Err(Failure::NotServed(operation.name())),
        },
        Operation::ListTables => {
            let response = database.list_tables(list_tables::request(&json)?)?;
            let mut out = Vec::new();
            list_tables::response(&response, &mut out);
            Ok(out)
        }
        Operation::UpdateTimeToLive => {
            let request = time_to_live::update_request(&json)?;
            let response = block_in_place(|| database.update_time_to_live(request))?;
            Ok(time_to_live::update_to_json(&response).to_string().into_bytes())
        }
        Operation::DescribeTimeToLive => {
            let response = database.describe_time_to_live(time_to_live::describe_request(&json)?)?;
            Ok(time_to_live::describe_to_json(&response).to_string().into_bytes())
        }
        Operation::ListStreams => {
            let response = database.list_streams(list_streams::request(&json)?)?;
            Ok(list_streams::to_json(&response).to_string().into_bytes())
        }
        Operation::DescribeStream => {
            let response = database.describe_stream(describe_stream::request(&json)?)?;
            Ok(describe_stream::to_json(&response).to_string().into_bytes())
        }
        Operation::GetShardIterator => {
            let response = database.get_shard_iterator(get_shard_iterator::request(&json)?)?;
            Ok(get_shard_iterator::to_json(&response).to_string().into_bytes())
        }
        Operation::GetRecords => {
            let response = database.get_records(get_records::request(&json)?)?;
            let mut out = Vec::new();
            get_records::response(&response, &mut out);
            Ok(out)
        }
    }
}

async fn put(json: Value, database: &Arc<dyn Database>) -> Result<Vec<u8>, Failure> {
    let request = put_item::request(&json)?;
    drop(json);
    let reporting = Reporting::from(&request);
    let response = started(|done| database.put_item_then(request, done)).await?;
    let mut out = Vec::new();
    put_item::response(&response, &reporting, &mut out);
    Ok(out)
}

async fn delete(json: Value, database: &Arc<dyn Database>) -> Result<Vec<u8>, Failure> {
    let request = delete_item::request(&json)?;
    drop(json);
    let reporting = Reporting::from(&request);
    let response = started(|done| database.delete_item_then(request, done)).await?;
    let mut out = Vec::new();
    delete_item::response(&response, &reporting, &mut out);
    Ok(out)
}

async fn batch_write(json: Value, database: &Arc<dyn Database>) -> Result<Vec<u8>, Failure> {
    let request = batch_write_item::request(&json)?;
    let names = batch_get_item::table_names(&json);
    drop(json);
    let detail = request.return_consumed_capacity;
    let response = started(|done| database.batch_write_item_then(request, done)).await?;
    let mut out = Vec::new();
    batch_write_item::response(&response, (&names, detail), &mut out);
    Ok(out)
}

async fn transact_write(json: Value, database: &Arc<dyn Database>) -> Result<Vec<u8>, Failure> {
    let request = transact_write_items::request(&json)?;
    drop(json);
    let detail = request.return_consumed_capacity;
    let response = started(|done| database.transact_write_items_then(request, done)).await?;
    let mut out = Vec::new();
    transact_write_items::response(&response, detail, &mut out);
    Ok(out)
}

async fn update(json: Value, database: &Arc<dyn Database>) -> Result<Vec<u8>, Failure> {
    let request = update_item::request(&json)?;
    drop(json);
    let reporting = Reporting::from(&request);
    let response = started(|done| database.update_item_then(request, done)).await?;
    let mut out = Vec::new();
    update_item::response(&response, &reporting, &mut out);
    Ok(out)
}

/// Starts a write and waits for its outcome.
async fn started<T: Send + 'static>(start: impl FnOnce(Done<T>)) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    // The receiver is gone when the client is: nobody to tell.
    start(Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.await.unwrap_or(Err(Error::Store(StoreError::Closed)))
}

fn get(json: &Value, database: &dyn Database) -> Result<Vec<u8>, Failure> {
    let request = get_item::request(json)?;
    let reporting = Reporting::from(&request);
    let response = database.get_item(request)?;
    let mut out = Vec::new();
    get_item::response(&response, &reporting, &mut out);
    Ok(out)
}

fn batch_get(json: &Value, database: &dyn Database) -> Result<Vec<u8>, Failure> {
    let request = batch_get_item::request(json)?;
    let mut writer = batch_get_item::BatchWriter::new(&request, batch_get_item::table_names(json));
    let page = database.batch_get_rows(&request, &mut |place, row| writer.row(place, row))?;
    Ok(writer.finish(&page).map_err(Error::Store)?)
}

fn transact_get(json: &Value, database: &dyn Database) -> Result<Vec<u8>, Failure> {
    let request = transact_get_items::request(json)?;
    let detail = request.return_consumed_capacity;
    let response = database.transact_get_items(request)?;
    let mut out = Vec::new();
    transact_get_items::response(&response, detail, &mut out);
    Ok(out)
}

fn run_query(json: &Value, database: &dyn Database) -> Result<Vec<u8>, Failure> {
    let request = query::request(json)?;
    let mut writer = page::PageWriter::new(request.select);
    let page = database.query_rows(&request, &mut |row| writer.row(row))?;
    Ok(writer.finish(&page, &Reporting::from(&request)).map_err(Error::Store)?)
}

fn run_scan(json: &Value, database: &dyn Database) -> Result<Vec<u8>, Failure> {
    let request = scan::request(json)?;
    let mut writer = page::PageWriter::new(request.select);
    let page = database.scan_rows(&request, &mut |row| writer.row(row))?;
    Ok(writer.finish(&page, &Reporting::from(&request)).map_err(Error::Store)?)
}

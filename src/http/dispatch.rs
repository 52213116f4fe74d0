//! From an operation and its body to the answer's body: translate, call, write.
//!
//! Reads run where they are called: they are short and never wait for a writer. Puts and deletes wait for the commit without
//! holding a thread; the control operations hold one. A body's tree, many times the size of its text, does not live as long as a
//! commit takes.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::block_in_place;

use super::error::Failure;
use super::target::Operation;
use crate::codec::wire::{
    Reporting, create_table, delete_item, delete_table, describe_table, get_item, list_tables, page, put_item, query, scan,
};
use crate::database::{Database, Done};
use crate::model::Error;
use crate::model::error::StoreError;

/// Runs one request.
///
/// # Errors
/// What the request or its operation failed with.
pub async fn run(operation: Operation, json: Value, database: &Arc<dyn Database>) -> Result<Vec<u8>, Failure> {
    match operation {
        Operation::PutItem => put(json, database).await,
        Operation::DeleteItem => delete(json, database).await,
        Operation::GetItem => get(&json, database.as_ref()),
        Operation::Query => run_query(&json, database.as_ref()),
        Operation::Scan => run_scan(&json, database.as_ref()),
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
        Operation::ListTables => {
            let response = database.list_tables(list_tables::request(&json)?)?;
            let mut out = Vec::new();
            list_tables::response(&response, &mut out);
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

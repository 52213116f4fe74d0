//! Tables.

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::{create_table, delete_table, describe_table, list_tables, update_table};

pub const OPERATIONS: &[Operation] = &[
    Operation::read("DescribeTable", describe),
    Operation::read("ListTables", list),
    Operation::blocking("CreateTable", create),
    Operation::blocking("UpdateTable", update),
    Operation::blocking("DeleteTable", delete),
];

fn describe(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let response = context.database.describe_table(describe_table::request(json)?)?;
    Ok(body(&describe_table::to_json(&response.table)))
}

fn list(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let response = context.database.list_tables(list_tables::request(json)?)?;
    let mut out = Vec::new();
    list_tables::response(&response, &mut out);
    Ok(out)
}

fn create(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = create_table::request(json.root())?;
    // The tree is many times its text, and what follows waits for a commit.
    drop(json);
    Ok(body(&create_table::response_to_json(&context.database.create_table(request)?)))
}

fn update(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let admin = context.administration()?;
    let request = update_table::request(json.root())?;
    drop(json);
    Ok(body(&update_table::to_json(&admin.update_table(request)?)))
}

fn delete(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = delete_table::request(json.root())?;
    drop(json);
    Ok(body(&delete_table::to_json(&context.database.delete_table(request)?)))
}

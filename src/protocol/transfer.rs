//! Exports and imports.

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::transfer;

pub const OPERATIONS: &[Operation] = &[
    Operation::blocking("ExportTableToPointInTime", export),
    Operation::read("DescribeExport", describe_export),
    Operation::read("ListExports", list_exports),
    Operation::blocking("ImportTable", import),
    Operation::read("DescribeImport", describe_import),
    Operation::read("ListImports", list_imports),
];

fn export(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let export = context.administration()?.export_table(transfer::export_request(json.root())?)?;
    Ok(body(&transfer::export_to_json(&export)))
}

fn describe_export(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let export = context.administration()?.describe_export(&transfer::export_arn_request(json)?)?;
    Ok(body(&transfer::export_to_json(&export)))
}

fn list_exports(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let exports = context.administration()?.list_exports(&transfer::list_request(json)?)?;
    Ok(body(&transfer::exports_to_json(&exports)))
}

fn import(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let import = context.administration()?.import_table(transfer::import_request(json.root())?)?;
    Ok(body(&transfer::import_to_json(&import)))
}

fn describe_import(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let import = context.administration()?.describe_import(&transfer::import_arn_request(json)?)?;
    Ok(body(&transfer::import_to_json(&import)))
}

fn list_imports(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let imports = context.administration()?.list_imports(&transfer::list_request(json)?)?;
    Ok(body(&transfer::imports_to_json(&imports)))
}

//! Results that are one page of the API: `page.json` and `next`; and consumed capacity as JSON.

use super::clauses::TYPED;
use super::path::QueryPath;
use super::request::{self, Resolved};
use super::row;
use super::stream::StreamStep;
use super::token::Token;
use crate::codec::row::Row;
use crate::database::Rows;
use crate::fs::prelude::*;
use crate::model::api::ConsumedCapacity;
use crate::model::api::Page;

/// `page.json`: one request, one line.
pub(super) fn page_json(path: &QueryPath, db: &dyn Browse, bills: &mut Vec<Bill>) -> Result<Vec<u8>, FsError> {
    let resolved = path.resolve_one(db, "page.json")?;
    let mut out = b"{\"Items\":[".to_vec();
    let start = out.len();
    let mut take = |row: &Row<'_>| {
        if out.len() > start {
            out.push(b',');
        }
        row::write_item(row, path.context(), path.clauses.has(TYPED), &mut out)
    };
    let page = request::read_rows(&mut take, |rows| read((path, &resolved), db, bills, rows))?;
    let end = json!({
        "Count": page.count,
        "ScannedCount": page.scanned_count,
        "next": next_token(path, &resolved, &page),
        "ConsumedCapacity": capacity_json(path, &page.consumed_capacity),
    });
    out.extend_from_slice(b"],");
    out.extend_from_slice(end.to_string().get(1..).unwrap_or_default().as_bytes());
    out.push(b'\n');
    Ok(out)
}

/// `next`: the token after that page and a newline, or nothing after the last.
pub(super) fn next(path: &QueryPath, db: &dyn Browse, bills: &mut Vec<Bill>) -> Result<Vec<u8>, FsError> {
    let resolved = path.resolve_one(db, "next")?;
    let page = read((path, &resolved), db, bills, &mut |_| {})?;
    Ok(next_token(path, &resolved, &page).map(|token| token + "\n").unwrap_or_default().into_bytes())
}

fn read(
    (path, resolved): (&QueryPath, &Resolved),
    db: &dyn Browse,
    bills: &mut Vec<Bill>,
    rows: &mut Rows<'_>,
) -> Result<Page, FsError> {
    let request = path.build_request(resolved, path.start(resolved, db)?)?;
    request::run(&request, db, bills, rows)
}

fn next_token(path: &QueryPath, resolved: &Resolved, page: &Page) -> Option<String> {
    page.last_evaluated_key.as_ref().map(|last| Token::new(resolved.check, last, path.scope(resolved)).text())
}

/// `capacity.json`: what the whole run consumed.
pub(super) fn write_capacity(path: &QueryPath, sum: &StreamStep, out: &mut Vec<u8>) {
    let mut all = json!({ "Requests": sum.requests, "Count": sum.count, "ScannedCount": sum.scanned });
    all["ConsumedCapacity"] = capacity_json(path, &sum.capacity);
    out.extend_from_slice(all.to_string().as_bytes());
    out.push(b'\n');
}

/// Consumed units: their sum, and by table and index.
pub(super) fn capacity_json(path: &QueryPath, consumed: &ConsumedCapacity) -> Value {
    let ConsumedCapacity { table, global_indexes, local_indexes } = consumed;
    let mut out = json!({
        "TableName": path.schema.name.as_str(),
        "CapacityUnits": consumed.total(),
        "Table": { "CapacityUnits": table },
    });
    for (member, units) in [("GlobalSecondaryIndexes", global_indexes), ("LocalSecondaryIndexes", local_indexes)] {
        if !units.is_empty() {
            let units = units.iter().map(|(name, units)| (name.clone(), json!({ "CapacityUnits": units })));
            out[member] = Value::Object(units.collect());
        }
    }
    out
}

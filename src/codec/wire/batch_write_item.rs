//! BatchWriteItem: up to 25 puts and deletes of several tables in; what was not done out (docs/dynamodb.md 14.2).

use super::capacity::{self, Units};
use super::error::WireError;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use super::{answer, ask, members, names};
use crate::codec::json::document::Json;
use crate::model::api::{BatchWriteItemRequest, BatchWriteItemResponse, ReturnConsumedCapacity, TableWrites, WriteRequest};
use crate::model::error::{BatchError, ValueError};
use crate::model::limits::BATCH_WRITE_REQUESTS_MAX;
use crate::model::{Error, TableName};

const NAME: &str = "BatchWriteItem";

pub static SHAPE: Structure = Structure {
    name: "BatchWriteItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        members::RETURN_ITEM_COLLECTION_METRICS,
        Member::new("RequestItems", Shape::Map(&TABLE)).rules(&[
            Rule::MapTableNames,
            Rule::MapListLength(1, BATCH_WRITE_REQUESTS_MAX),
            Rule::LengthMax(BATCH_WRITE_REQUESTS_MAX),
        ]),
    ],
};

/// A bad enum is told alone (docs/dynamodb.md 2.5).
static ENUMS: Structure = Structure {
    name: "BatchWriteItemInput",
    members: &[members::RETURN_CONSUMED_CAPACITY, members::RETURN_ITEM_COLLECTION_METRICS],
};

static TABLE: Element = Element { shape: Shape::List(&WRITE_REQUEST_ELEMENT), rules: &[] };
static WRITE_REQUEST_ELEMENT: Element = Element { shape: Shape::Structure(&WRITE_REQUEST), rules: &[] };
static WRITE_REQUEST: Structure = Structure {
    name: "WriteRequest",
    members: &[
        Member::new("DeleteRequest", Shape::Structure(&DELETE_REQUEST)),
        Member::new("PutRequest", Shape::Structure(&PUT_REQUEST)),
    ],
};
static DELETE_REQUEST: Structure = Structure { name: "DeleteRequest", members: &[members::KEY.required()] };
static PUT_REQUEST: Structure = Structure { name: "PutRequest", members: &[Member { name: "Item", ..members::KEY }.required()] };

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<BatchWriteItemRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    let Some(tables) = members.structure("RequestItems").filter(|tables| tables.iter().next().is_some()) else {
        return Err(BatchError::RequestItemsMissing { operation: NAME }.into());
    };
    members::constrained(json, &ENUMS)?;
    members::constrained(json, &SHAPE)?;
    let mut request_items = Vec::new();
    let mut count = 0;
    for (name, json) in tables.iter() {
        let table_name = names::table_at("requestItems", name)?;
        let writes = json.as_list().unwrap_or_default();
        let requests = writes.map(write_request_of).collect::<Result<Vec<_>, _>>()?;
        count += requests.len();
        if count > BATCH_WRITE_REQUESTS_MAX {
            return Err(BatchError::TooManyItems { operation: NAME }.into());
        }
        request_items.push(TableWrites { table_name, requests });
    }
    Ok(BatchWriteItemRequest {
        request_items,
        return_consumed_capacity: members::return_consumed_capacity(members),
        return_item_collection_metrics: members.string("ReturnItemCollectionMetrics") == Some("SIZE"),
    })
}

fn write_request_of(json: Json<'_>) -> Result<WriteRequest, WireError> {
    let members = Members::of(json).ok_or(WireError::NotAnObject)?;
    match (members.structure("PutRequest"), members.structure("DeleteRequest")) {
        (Some(put), None) => Ok(WriteRequest::Put(members::item(put, "Item")?)),
        (None, Some(delete)) => Ok(WriteRequest::Delete(members::item(delete, "Key")?)),
        _ => Err(ValueError::SeveralTypes.into()),
    }
}

/// Appends the body. `names` are the tables as the request named them.
pub fn response(response: &BatchWriteItemResponse, (names, detail): (&[String], ReturnConsumedCapacity), out: &mut Vec<u8>) {
    let names = || names.iter().map(String::as_str);
    let mut object = ObjectWriter::start(out);
    let mut unprocessed = ObjectWriter::start(object.member("UnprocessedItems"));
    for (name, writes) in names().zip(&response.unprocessed_items).filter(|(_, writes)| !writes.is_empty()) {
        write::list(writes.iter(), unprocessed.member(name), write_one);
    }
    unprocessed.end();
    capacity::write_list(detail, Units::Plain, names().zip(&response.consumed_capacity), &mut object);
    let metrics = response.item_collection_metrics.iter().map(Vec::as_slice);
    capacity::write_metrics_by_table(names().zip(metrics), &mut object);
    object.end();
}

fn write_one(write: &WriteRequest, out: &mut Vec<u8>) {
    let (request, member, item) = match write {
        WriteRequest::Put(item) => ("PutRequest", "Item", item),
        WriteRequest::Delete(key) => ("DeleteRequest", "Key", key),
    };
    let mut object = ObjectWriter::start(out);
    let mut inner = ObjectWriter::start(object.member(request));
    inner.item(member, item);
    inner.end();
    object.end();
}

/// Appends the body of a request.
pub fn write_request(request: &BatchWriteItemRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    let mut tables = ObjectWriter::start(object.member("RequestItems"));
    for table in &request.request_items {
        write::list(table.requests.iter(), tables.member(table.table_name.as_str()), write_one);
    }
    tables.end();
    object.word_if("ReturnItemCollectionMetrics", request.return_item_collection_metrics, "SIZE");
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of the answer to `request`.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>, request: &BatchWriteItemRequest) -> Result<BatchWriteItemResponse, Error> {
    let members = answer::members(json)?;
    let tables = || request.request_items.iter().map(|table| &table.table_name);
    let mut unprocessed_items = vec![Vec::new(); request.request_items.len()];
    for (name, json) in members.structure("UnprocessedItems").into_iter().flat_map(Members::iter) {
        let table = answer::table_name(name)?;
        let place = tables().position(|asked| *asked == table);
        let place = place.ok_or_else(|| answer::unreadable(format_args!("nothing of table {name} was to be written")))?;
        let writes = json.as_list().unwrap_or_default().map(|json| write_request_of(json).map_err(answer::unreadable));
        let writes = writes.collect::<Result<Vec<_>, _>>()?;
        if !writes.iter().all(|write| request.request_items[place].requests.contains(write)) {
            return Err(answer::unreadable("it leaves a write unprocessed that was not asked for"));
        }
        unprocessed_items[place] = writes;
    }
    let mut metrics = capacity::read_metrics_by_table(members)?;
    let mut of = |table: &TableName| metrics.iter_mut().find(|(name, _)| name == table).map(|(_, list)| std::mem::take(list));
    Ok(BatchWriteItemResponse {
        consumed_capacity: capacity::of_tables(&capacity::read_list(members)?, tables()),
        unprocessed_items,
        item_collection_metrics: tables().map(|table| of(table).unwrap_or_default()).collect(),
    })
}

//! TransactGetItems: up to 100 keys in; their items in the same order out (docs/dynamodb.md 15.2).

use super::capacity::{self, SentArns, Units};
use super::error::WireError;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use super::{answer, ask, members, names, transaction};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::api::{ReturnConsumedCapacity, TransactGet, TransactGetItemsRequest, TransactGetItemsResponse};
use crate::model::error::ValueError;
use crate::model::limits::TRANSACTION_ITEMS_MAX;
use crate::model::{Error, TableName};

pub static SHAPE: Structure = Structure {
    name: "TransactGetItemsInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        Member::new("TransactItems", Shape::List(&Element { shape: Shape::Structure(&TRANSACT_GET_ITEM), rules: &[] }))
            .required()
            .rules(&[Rule::LengthMin(1), Rule::LengthMax(TRANSACTION_ITEMS_MAX)]),
    ],
};

static TRANSACT_GET_ITEM: Structure =
    Structure { name: "TransactGetItem", members: &[Member::new("Get", Shape::Structure(&GET)).required()] };
static GET: Structure = Structure {
    name: "Get",
    members: &[
        members::TABLE_NAME.required(),
        members::KEY.required(),
        members::PROJECTION_EXPRESSION,
        members::EXPRESSION_ATTRIBUTE_NAMES,
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<TransactGetItemsRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    let items = members.list("TransactItems").unwrap_or_default();
    let gets = items.map(|json| Members::of(json).and_then(|members| members.structure("Get")).ok_or(WireError::NotAnObject));
    let gets = gets.collect::<Result<Vec<Members<'_>>, _>>()?;
    let names = gets.iter().enumerate().map(|(place, get)| table_name(place, *get)).collect::<Result<Vec<_>, _>>()?;
    let (transact_items, fault) = transaction::until_fault(gets.into_iter().zip(names).map(|(members, name)| get(members, name)))?;
    Ok(TransactGetItemsRequest { transact_items, fault, return_consumed_capacity: members::return_consumed_capacity(members) })
}

/// Names are constraints: all are checked before the first read is.
fn table_name(place: usize, get: Members<'_>) -> Result<TableName, WireError> {
    let path = format!("transactItems.{}.member.get.tableName", place + 1);
    names::table_at(&path, get.string("TableName").unwrap_or_default())
}

fn get(members: Members<'_>, table_name: TableName) -> Result<(TransactGet, Option<ValueError>), WireError> {
    members::check_placeholders_wanted(members, &[])?;
    let (key, fault) = transaction::item(members, "Key")?;
    let get = TransactGet {
        projection_expression: members.owned("ProjectionExpression"),
        placeholders: members::names(members)?,
        ..TransactGet::new(table_name, key)
    };
    Ok((get, fault))
}

/// Appends the body.
pub fn response(response: &TransactGetItemsResponse, (arns, detail): (&SentArns, ReturnConsumedCapacity), out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    let consumed = response.consumed_capacity.iter().map(|(name, consumed)| (arns.shown(name), consumed));
    capacity::write_list(detail, Units::Read, consumed, &mut object);
    write::list(response.responses.iter(), object.member("Responses"), |item, out| {
        let mut object = ObjectWriter::start(out);
        if let Some(item) = item {
            dynamodb_json::write_item(item, object.member("Item"));
        }
        object.end();
    });
    object.end();
}

/// Appends the body of a request.
pub fn write_request(request: &TransactGetItemsRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(request.transact_items.iter(), object.member("TransactItems"), |get, out| {
        let mut object = ObjectWriter::start(out);
        let mut inner = ObjectWriter::start(object.member("Get"));
        inner.text("TableName", get.table_name.as_str());
        inner.item("Key", &get.key);
        inner.text_if("ProjectionExpression", get.projection_expression.as_ref());
        ask::placeholders(&get.placeholders, &mut inner);
        inner.end();
        object.end();
    });
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<TransactGetItemsResponse, Error> {
    let members = answer::members(json)?;
    let (consumed_capacity, _) = capacity::of_reads(capacity::read_list(members)?);
    Ok(TransactGetItemsResponse { responses: transaction::read_items(members)?, consumed_capacity })
}

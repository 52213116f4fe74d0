//! TransactGetItems (SEMANTICS 15.2).

use super::capacity::{self, SentArns, Units};
use super::error::WireError;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use super::{members, names};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::api::{ReturnConsumedCapacity, TransactGet, TransactGetItemsRequest, TransactGetItemsResponse};
use crate::model::limits::TRANSACTION_ITEMS_MAX;

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
    let transact_items = items.enumerate().map(|(place, json)| get(place, json)).collect::<Result<Vec<_>, _>>()?;
    Ok(TransactGetItemsRequest { transact_items, return_consumed_capacity: members::return_consumed_capacity(members) })
}

fn get(place: usize, json: Json<'_>) -> Result<TransactGet, WireError> {
    let members = Members::of(json).and_then(|members| members.structure("Get")).ok_or(WireError::NotAnObject)?;
    let path = format!("transactItems.{}.member.get.tableName", place + 1);
    Ok(TransactGet {
        projection_expression: members.owned("ProjectionExpression"),
        placeholders: members::placeholders(members)?,
        ..TransactGet::new(names::table_at(&path, members.string("TableName").unwrap_or_default())?, members::item(members, "Key")?)
    })
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

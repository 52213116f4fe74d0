//! TransactWriteItems: up to 100 actions in, checked one after the other; capacity and collections out (docs/dynamodb.md 15.1).

use super::capacity::{self, SentArns, Units};
use super::error::WireError;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use super::{answer, ask, item_write, members, names, transaction};
use crate::codec::json::document::Json;
use crate::model::api::{
    ReturnConsumedCapacity, TransactAction, TransactWrite, TransactWriteItemsRequest, TransactWriteItemsResponse,
};
use crate::model::error::expression::ExpressionParameter;
use crate::model::error::{TransactionError, ValueError};
use crate::model::limits::{CLIENT_TOKEN_CHARS_MAX, TRANSACTION_ITEMS_MAX};
use crate::model::{Error, TableName};

pub static SHAPE: Structure = Structure {
    name: "TransactWriteItemsInput",
    members: &[
        Member::new("ClientRequestToken", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(CLIENT_TOKEN_CHARS_MAX)]),
        members::RETURN_CONSUMED_CAPACITY,
        members::RETURN_ITEM_COLLECTION_METRICS,
        Member::new("TransactItems", Shape::List(&Element { shape: Shape::Structure(&TRANSACT_WRITE_ITEM), rules: &[] }))
            .required()
            .rules(&[Rule::LengthMin(1), Rule::LengthMax(TRANSACTION_ITEMS_MAX)]),
    ],
};

static TRANSACT_WRITE_ITEM: Structure = Structure {
    name: "TransactWriteItem",
    members: &[
        Member::new("ConditionCheck", Shape::Structure(&CONDITION_CHECK)),
        Member::new("Put", Shape::Structure(&PUT)),
        Member::new("Delete", Shape::Structure(&DELETE)),
        Member::new("Update", Shape::Structure(&UPDATE)),
    ],
};

static CONDITION_CHECK: Structure = Structure {
    name: "ConditionCheck",
    members: &[
        members::TABLE_NAME.required(),
        members::KEY.required(),
        members::CONDITION_EXPRESSION.required(),
        members::EXPRESSION_ATTRIBUTE_NAMES,
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::RETURN_VALUES_ON_FAILURE,
    ],
};
static PUT: Structure = Structure {
    name: "Put",
    members: &[
        members::TABLE_NAME.required(),
        Member { name: "Item", ..members::KEY }.required(),
        members::CONDITION_EXPRESSION,
        members::EXPRESSION_ATTRIBUTE_NAMES,
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::RETURN_VALUES_ON_FAILURE,
    ],
};
static DELETE: Structure = Structure {
    name: "Delete",
    members: &[
        members::TABLE_NAME.required(),
        members::KEY.required(),
        members::CONDITION_EXPRESSION,
        members::EXPRESSION_ATTRIBUTE_NAMES,
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::RETURN_VALUES_ON_FAILURE,
    ],
};
static UPDATE: Structure = Structure {
    name: "Update",
    members: &[
        members::TABLE_NAME.required(),
        members::KEY.required(),
        Member::new("UpdateExpression", Shape::String).required(),
        members::CONDITION_EXPRESSION,
        members::EXPRESSION_ATTRIBUTE_NAMES,
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::RETURN_VALUES_ON_FAILURE,
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<TransactWriteItemsRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    let items = members.list("TransactItems").unwrap_or_default();
    let names = items.enumerate().map(|(place, json)| table_name(place, json)).collect::<Result<Vec<_>, _>>()?;
    let (transact_items, fault) = transaction::until_fault(items.zip(names).map(|(json, name)| write(json, name)))?;
    Ok(TransactWriteItemsRequest {
        transact_items,
        fault,
        client_request_token: members.owned("ClientRequestToken"),
        return_consumed_capacity: members::return_consumed_capacity(members),
        return_item_collection_metrics: members.string("ReturnItemCollectionMetrics") == Some("SIZE"),
    })
}

/// The actions that an element has; one, if it is right.
fn actions<'a>(json: Json<'a>) -> impl Iterator<Item = (&'static str, Members<'a>)> {
    let member = move |name| Some((name, Members::of(json)?.structure(name)?));
    ["ConditionCheck", "Put", "Delete", "Update"].into_iter().filter_map(member)
}

/// The table of the element at `place`. Names are constraints: those of all actions are checked before the first action is.
fn table_name(place: usize, json: Json<'_>) -> Result<Option<TableName>, WireError> {
    let Some((name, members)) = actions(json).next() else { return Ok(None) };
    let path = format!("transactItems.{}.member.{}{}.tableName", place + 1, name[..1].to_ascii_lowercase(), &name[1..]);
    names::table_at(&path, members.string("TableName").unwrap_or_default()).map(Some)
}

fn write(json: Json<'_>, table_name: Option<TableName>) -> Result<(TransactWrite, Option<ValueError>), WireError> {
    let mut actions = actions(json);
    let (Some((name, members)), Some(table_name)) = (actions.next(), table_name) else {
        return Err(TransactionError::NoAction.into());
    };
    if actions.next().is_some() {
        return Err(TransactionError::OneAction.into());
    }
    let users = if name == "Update" { ExpressionParameter::OF_UPDATE } else { ExpressionParameter::OF_CONDITION };
    members::check_placeholders_wanted(members, users)?;
    let (item, fault) = transaction::item(members, if name == "Put" { "Item" } else { "Key" })?;
    let action = match name {
        "Put" => TransactAction::Put { item },
        "Delete" => TransactAction::Delete { key: item },
        "Update" => TransactAction::Update { key: item, update_expression: members.owned("UpdateExpression").unwrap_or_default() },
        _ => TransactAction::ConditionCheck { key: item },
    };
    let write = TransactWrite {
        condition: members::condition_expression(members),
        placeholders: members::placeholders(members)?,
        return_old_on_condition_failure: members::return_old_on_condition_failure(members),
        ..TransactWrite::new(table_name, action)
    };
    Ok((write, fault))
}

/// Appends the body.
pub fn response(response: &TransactWriteItemsResponse, (arns, detail): (&SentArns, ReturnConsumedCapacity), out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    let units = if response.is_replay { Units::Read } else { Units::Write };
    let consumed = response.consumed_capacity.iter().map(|(name, consumed)| (arns.shown(name), consumed));
    capacity::write_list(detail, units, consumed, &mut object);
    let metrics = response.item_collection_metrics.iter().map(|(name, list)| (arns.shown(name), list.as_slice()));
    capacity::write_metrics_by_table(metrics, &mut object);
    object.end();
}

/// Appends the body of a request. A precondition has no place in it: who has one makes a condition of it.
pub fn write_request(request: &TransactWriteItemsRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(request.transact_items.iter(), object.member("TransactItems"), write_action);
    object.text_if("ClientRequestToken", request.client_request_token.as_ref());
    object.word_if("ReturnItemCollectionMetrics", request.return_item_collection_metrics, "SIZE");
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

fn write_action(write: &TransactWrite, out: &mut Vec<u8>) {
    let (action, member, item) = match &write.action {
        TransactAction::ConditionCheck { key } => ("ConditionCheck", "Key", key),
        TransactAction::Put { item } => ("Put", "Item", item),
        TransactAction::Delete { key } => ("Delete", "Key", key),
        TransactAction::Update { key, update_expression: _ } => ("Update", "Key", key),
    };
    let mut object = ObjectWriter::start(out);
    let mut inner = ObjectWriter::start(object.member(action));
    item_write::write_item_members(&write.table_name, (member, item), &mut inner);
    if let TransactAction::Update { key: _, update_expression } = &write.action {
        inner.text("UpdateExpression", update_expression);
    }
    let returned = (write.return_old_on_condition_failure, false);
    item_write::write_options(&write.condition, &write.placeholders, returned, ReturnConsumedCapacity::None, &mut inner);
    inner.end();
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<TransactWriteItemsResponse, Error> {
    let members = answer::members(json)?;
    let (consumed_capacity, is_replay) = capacity::of_reads(capacity::read_list(members)?);
    let item_collection_metrics = capacity::read_metrics_by_table(members)?;
    Ok(TransactWriteItemsResponse { consumed_capacity, item_collection_metrics, is_replay })
}

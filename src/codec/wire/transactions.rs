//! The JSON form of TransactGetItems and TransactWriteItems (docs/dynamodb.md 15): the parts that
//! the declarations in `model::api::items` do not generate, read one part after the other; and the
//! reasons of a cancelled transaction.

use super::capacity::{self, ReadCapacityByTable, Units};
use super::declared::*;
use super::items::Condition;
use super::members::{self, Names, NamesAndValues};
use super::write::{self};
use super::{names, response};
use crate::model::api::items::transactions;
use crate::model::api::*;
use crate::model::error::expression::ExpressionParameter;
use crate::model::error::{Cancellation, TransactionError, ValueError};
use crate::model::limits::{CLIENT_TOKEN_CHARS_MAX, TRANSACTION_ITEMS_MAX};

transactions!(wire);

/// Returns the parts before the first fault, and that fault. The operation reports it once it has
/// checked the earlier parts: a transaction is checked part by part, and the operation checks
/// expressions. A part with a bad value in its item or key comes with that fault: its own
/// expressions are reported first.
///
/// # Errors
/// A [`WireError`] that no operation can report.
pub fn until_fault<T>(
    parts: impl Iterator<Item = Result<(T, Option<ValueError>), WireError>>,
) -> Result<(Vec<T>, Option<Box<Error>>), WireError> {
    let mut read = Vec::new();
    for part in parts {
        match part {
            Ok((part, fault)) => {
                read.push(part);
                if let Some(fault) = fault {
                    return Ok((read, Some(Box::new(fault.into()))));
                }
            }
            Err(WireError::Request(fault)) => return Ok((read, Some(Box::new(fault)))),
            Err(error) => return Err(error),
        }
    }
    Ok((read, None))
}

/// Reads the item or key under `name`. One with a bad value is returned without its attributes, and
/// with that fault.
///
/// # Errors
/// A [`WireError`] that is no fault of a value.
pub fn item_or_fault(
    members: Members<'_>,
    name: &str,
) -> Result<(Item, Option<ValueError>), WireError> {
    match members::item(members, name) {
        Ok(item) => Ok((item, None)),
        Err(WireError::Request(Error::Value(fault))) => Ok((Item::default(), Some(fault))),
        Err(error) => Err(error),
    }
}

/// Writes the value of `CancellationReasons`.
pub fn reasons(cancellation: &Cancellation, out: &mut Vec<u8>) {
    write::list(cancellation.0.iter(), out, |reason, out| {
        let mut object = ObjectWriter::start(out);
        object.text("Code", reason.code());
        object.text_if("Message", reason.message());
        if let Some(item) = reason.item() {
            object.item("Item", item);
        }
        object.end();
    });
}

/// The response to one part of a transaction that reads: an object with an item, or without one.
#[derive(Debug)]
pub struct ItemResponse;

impl Form<Option<Item>> for ItemResponse {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "ItemResponse",
        members: &[],
    });

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Option<Item>>, WireError> {
        if json.is_null() {
            return Ok(Some(None));
        }
        optional::<_, Plain>(response::members(json)?, "Item", sender).map(Some)
    }

    fn write(value: &Option<Item>, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        if let Some(item) = value {
            object.item("Item", item);
        }
        object.end();
    }
}

/// Returns the member of a transaction's parts.
const fn parts(element: &'static Element) -> Member {
    const RULES: &[Rule] = &[Rule::LengthMin(1), Rule::LengthMax(TRANSACTION_ITEMS_MAX)];
    Member::new("TransactItems", Shape::List(element))
        .required()
        .rules(RULES)
}

static GET: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "TransactGetItem",
        members: &[Member::new("Get", Shape::Structure(TransactGet::STRUCTURE)).required()],
    }),
    rules: &[],
};

impl Declared for TransactGetItemsRequest {
    const STRUCTURE: &'static Structure = &Structure {
        name: "TransactGetItemsInput",
        members: &[members::RETURN_CONSUMED_CAPACITY, parts(&GET)],
    };

    fn read_members(
        members: Members<'_>,
        _: Option<TableName>,
        sender: Sender,
    ) -> Result<Self, WireError> {
        let items = members.list("TransactItems").unwrap_or_default();
        let gets = items.map(|json| {
            Members::of(json)
                .and_then(|members| members.structure("Get"))
                .ok_or(WireError::NotAnObject)
        });
        let gets = gets.collect::<Result<Vec<Members<'_>>, _>>()?;
        let names = gets
            .iter()
            .enumerate()
            .map(|(place, get)| table_of_get(place, *get))
            .collect::<Result<Vec<_>, _>>()?;
        let (transact_items, fault) = until_fault(
            gets.into_iter()
                .zip(names)
                .map(|(members, name)| get(members, name)),
        )?;
        let return_consumed_capacity =
            optional::<_, Plain>(members, "ReturnConsumedCapacity", sender)?.unwrap_or_default();
        Ok(Self {
            transact_items,
            fault,
            return_consumed_capacity,
        })
    }

    fn write_members(&self, object: &mut ObjectWriter<'_>) {
        write::list(
            self.transact_items.iter(),
            object.member("TransactItems"),
            |get, out| {
                let mut object = ObjectWriter::start(out);
                get.write(object.member("Get"));
                object.end();
            },
        );
        write_member!(default object, "ReturnConsumedCapacity", &self.return_consumed_capacity, ReturnConsumedCapacity, ());
    }
}

/// Reads the table of a part. Names are constraints: all are checked before the first part is read.
fn table_of_get(index: usize, get: Members<'_>) -> Result<TableName, WireError> {
    let path = format!("transactItems.{}.member.get.tableName", index + 1);
    names::table_at(&path, get.string("TableName").unwrap_or_default())
}

fn get(
    members: Members<'_>,
    table_name: TableName,
) -> Result<(TransactGet, Option<ValueError>), WireError> {
    members::check_placeholders_wanted(members, &[])?;
    let (key, fault) = item_or_fault(members, "Key")?;
    let get = TransactGet {
        projection_expression: members.owned("ProjectionExpression"),
        placeholders: members::names(members)?,
        ..TransactGet::new(table_name, key)
    };
    Ok((get, fault))
}

/// Expands to the shape of an action: its members after the key.
macro_rules! action {
    ($name:literal: $($member:expr),*) => {
        Shape::Structure(&Structure {
            name: $name,
            members: &[
                Member::new("TableName", Shape::String).required(),
                $($member,)*
                members::EXPRESSION_ATTRIBUTE_NAMES,
                members::EXPRESSION_ATTRIBUTE_VALUES,
                member::<bool, AllOld>("ReturnValuesOnConditionCheckFailure"),
            ],
        })
    };
}

const KEY: Member = members::KEY.required();
const CONDITION: Member = members::CONDITION_EXPRESSION;

static WRITE: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "TransactWriteItem",
        members: &[
            Member::new(
                "ConditionCheck",
                action!("ConditionCheck": KEY, CONDITION.required()),
            ),
            Member::new(
                "Put",
                action!("Put": Member { name: "Item", ..KEY }, CONDITION),
            ),
            Member::new("Delete", action!("Delete": KEY, CONDITION)),
            Member::new(
                "Update",
                action!("Update": KEY, Member::new("UpdateExpression", Shape::String).required(), CONDITION),
            ),
        ],
    }),
    rules: &[],
};

impl Declared for TransactWriteItemsRequest {
    const STRUCTURE: &'static Structure = &Structure {
        name: "TransactWriteItemsInput",
        members: &[
            Member::new("ClientRequestToken", Shape::String)
                .rules(&[Rule::LengthMin(1), Rule::LengthMax(CLIENT_TOKEN_CHARS_MAX)]),
            members::RETURN_CONSUMED_CAPACITY,
            members::RETURN_ITEM_COLLECTION_METRICS,
            parts(&WRITE),
        ],
    };

    fn read_members(
        members: Members<'_>,
        _: Option<TableName>,
        sender: Sender,
    ) -> Result<Self, WireError> {
        let items = members.list("TransactItems").unwrap_or_default();
        let names = items
            .enumerate()
            .map(|(place, json)| table_name(place, json))
            .collect::<Result<Vec<_>, _>>()?;
        let (transact_items, fault) =
            until_fault(items.zip(names).map(|(json, name)| write(json, name)))?;
        Ok(Self {
            transact_items,
            fault,
            client_request_token: members.owned("ClientRequestToken"),
            return_consumed_capacity: optional::<_, Plain>(
                members,
                "ReturnConsumedCapacity",
                sender,
            )?
            .unwrap_or_default(),
            return_item_collection_metrics: optional::<_, Size>(
                members,
                "ReturnItemCollectionMetrics",
                sender,
            )?
            .unwrap_or_default(),
        })
    }

    fn write_members(&self, object: &mut ObjectWriter<'_>) {
        write::list(
            self.transact_items.iter(),
            object.member("TransactItems"),
            write_action,
        );
        object.text_if("ClientRequestToken", self.client_request_token.as_ref());
        write_member!(default object, "ReturnItemCollectionMetrics", &self.return_item_collection_metrics, bool, (Size));
        write_member!(default object, "ReturnConsumedCapacity", &self.return_consumed_capacity, ReturnConsumedCapacity, ());
    }
}

/// Iterates over the actions of an element; a good one has one.
fn actions<'a>(json: Json<'a>) -> impl Iterator<Item = (&'static str, Members<'a>)> {
    let member = move |name| Some((name, Members::of(json)?.structure(name)?));
    ["ConditionCheck", "Put", "Delete", "Update"]
        .into_iter()
        .filter_map(member)
}

/// Reads the table of the element at `index`. Names are constraints: those of all actions are
/// checked before the first action is.
fn table_name(index: usize, json: Json<'_>) -> Result<Option<TableName>, WireError> {
    let Some((name, members)) = actions(json).next() else {
        return Ok(None);
    };
    let path = format!(
        "transactItems.{}.member.{}{}.tableName",
        index + 1,
        name[..1].to_ascii_lowercase(),
        &name[1..]
    );
    names::table_at(&path, members.string("TableName").unwrap_or_default()).map(Some)
}

fn write(
    json: Json<'_>,
    table_name: Option<TableName>,
) -> Result<(TransactWrite, Option<ValueError>), WireError> {
    let mut actions = actions(json);
    let (Some((name, members)), Some(table_name)) = (actions.next(), table_name) else {
        return Err(TransactionError::NoAction.into());
    };
    if actions.next().is_some() {
        return Err(TransactionError::OneAction.into());
    }
    let users = if name == "Update" {
        ExpressionParameter::OF_UPDATE
    } else {
        ExpressionParameter::OF_CONDITION
    };
    members::check_placeholders_wanted(members, users)?;
    let (item, fault) = item_or_fault(members, if name == "Put" { "Item" } else { "Key" })?;
    let action = match name {
        "Put" => TransactAction::Put { item },
        "Delete" => TransactAction::Delete { key: item },
        "Update" => TransactAction::Update {
            key: item,
            update_expression: members.owned("UpdateExpression").unwrap_or_default(),
        },
        _ => TransactAction::ConditionCheck { key: item },
    };
    let write = TransactWrite {
        condition: members
            .owned("ConditionExpression")
            .map_or(ConditionParameter::None, ConditionParameter::Expression),
        placeholders: members::placeholders(members)?,
        return_old_on_condition_failure: members.string("ReturnValuesOnConditionCheckFailure")
            == Some("ALL_OLD"),
        ..TransactWrite::new(table_name, action)
    };
    Ok((write, fault))
}

fn write_action(write: &TransactWrite, out: &mut Vec<u8>) {
    let (action, member, item) = match &write.action {
        TransactAction::ConditionCheck { key } => ("ConditionCheck", "Key", key),
        TransactAction::Put { item } => ("Put", "Item", item),
        TransactAction::Delete { key } => ("Delete", "Key", key),
        TransactAction::Update {
            key,
            update_expression: _,
        } => ("Update", "Key", key),
    };
    let mut object = ObjectWriter::start(out);
    let mut writer = ObjectWriter::start(object.member(action));
    let inner = &mut writer;
    inner.text("TableName", write.table_name.as_str());
    inner.item(member, item);
    if let TransactAction::Update {
        key: _,
        update_expression,
    } = &write.action
    {
        inner.text("UpdateExpression", update_expression);
    }
    Condition::write(&write.condition, inner);
    NamesAndValues::write(&write.placeholders, inner);
    write_member!(default inner, "ReturnValuesOnConditionCheckFailure", &write.return_old_on_condition_failure, bool, (AllOld));
    writer.end();
    object.end();
}

impl Declared for TransactWriteItemsResponse {
    const STRUCTURE: &'static Structure = &Structure {
        name: "",
        members: &[],
    };

    fn read_members(
        members: Members<'_>,
        _: Option<TableName>,
        _: Sender,
    ) -> Result<Self, WireError> {
        let (consumed_capacity, is_replay) = capacity::of_reads(capacity::read_list(members)?);
        let item_collection_metrics = capacity::read_metrics_by_table(members)?;
        Ok(Self {
            consumed_capacity,
            item_collection_metrics,
            is_replay,
        })
    }

    fn write_members(&self, object: &mut ObjectWriter<'_>) {
        let units = if self.is_replay {
            Units::Read
        } else {
            Units::Write
        };
        capacity::write_by_table(&self.consumed_capacity, units, object);
        let context = object.context;
        let metrics = self
            .item_collection_metrics
            .iter()
            .map(|(name, list)| (context.requested_name(name), list.as_slice()));
        capacity::write_metrics_by_table(metrics, object);
    }
}

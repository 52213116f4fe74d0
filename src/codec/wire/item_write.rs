//! What PutItem and DeleteItem have in common on the wire, and the answer of all writes of one item (docs/dynamodb.md 12.2 to 12.4).

use super::capacity::{self, Reporting, write_metrics};
use super::error::WireError;
use super::members;
use super::names;
use super::shape::Structure;
use super::write::ObjectWriter;
use super::{answer, ask};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::api::{
    ConditionParameter, ConsumedCapacity, ItemCollectionMetrics, Placeholders, ReturnConsumedCapacity, ReturnValues,
};
use crate::model::error::expression::ExpressionParameter;
use crate::model::{Error, Item, TableName};

/// A PutItem, or a DeleteItem.
pub struct ItemWrite {
    pub table_name: TableName,
    /// The item, or its key.
    pub item: Item,
    pub condition: ConditionParameter,
    pub placeholders: Placeholders,
    pub return_old_on_condition_failure: bool,
    pub return_values: ReturnValues,
    pub return_consumed_capacity: ReturnConsumedCapacity,
    pub return_item_collection_metrics: bool,
}

impl ItemWrite {
    /// Reads a body of that shape, its item under `member`. The order of the checks is the service's: what is wrong with several
    /// members is told of the first (docs/dynamodb.md 2.6).
    ///
    /// # Errors
    /// The service's first objection that needs no table.
    pub fn read(json: Json<'_>, shape: &'static Structure, member: &str) -> Result<Self, WireError> {
        let members = members::typed(json, shape)?;
        let table_name = names::data_table(members)?;
        members::constrained_write(json, shape)?;
        let Some(table_name) = table_name else { return Err(WireError::NotAnObject) };
        members::check_mix(members, &["Expected", "ConditionalOperator"], &["ConditionExpression"])?;
        members::check_placeholders_wanted(members, ExpressionParameter::OF_CONDITION)?;
        let item = members::item(members, member)?;
        // After the item: a bad value in it is told before a ReturnValues that only UpdateItem takes.
        let return_values = members::return_values(members, WireError::ReturnValues)?;
        Ok(Self {
            table_name,
            item,
            condition: members::condition(members)?,
            placeholders: members::placeholders(members)?,
            return_old_on_condition_failure: members::return_old_on_condition_failure(members),
            return_values,
            return_consumed_capacity: members::return_consumed_capacity(members),
            return_item_collection_metrics: members.string("ReturnItemCollectionMetrics") == Some("SIZE"),
        })
    }
}

/// Appends the body that answers a write of one item; `attributes` are those of the item before or after it, as asked for.
pub fn response(
    attributes: Option<&Item>,
    (consumed, reporting): (&ConsumedCapacity, &Reporting),
    metrics: Option<&ItemCollectionMetrics>,
    out: &mut Vec<u8>,
) {
    let mut object = ObjectWriter::start(out);
    if let Some(attributes) = attributes {
        dynamodb_json::write_item(attributes, object.member("Attributes"));
    }
    reporting.write(consumed, &mut object);
    write_metrics(metrics, &mut object);
    object.end();
}

/// The members of a request that this and an update have; `item` is under `member`.
pub fn write_item_members(table: &TableName, (member, item): (&str, &Item), object: &mut ObjectWriter<'_>) {
    object.text("TableName", table.as_str());
    object.item(member, item);
}

/// Condition, placeholders, and what is to be returned.
pub fn write_options(
    condition: &ConditionParameter,
    placeholders: &Placeholders,
    (old_on_failure, metrics): (bool, bool),
    detail: ReturnConsumedCapacity,
    object: &mut ObjectWriter<'_>,
) {
    ask::condition(condition, ("ConditionExpression", "Expected"), object);
    ask::placeholders(placeholders, object);
    object.word_if("ReturnValuesOnConditionCheckFailure", old_on_failure, "ALL_OLD");
    object.word_if("ReturnItemCollectionMetrics", metrics, "SIZE");
    ask::capacity(detail, object);
}

/// What the answer to a write of one item has.
pub struct ItemAnswer {
    pub attributes: Option<Item>,
    pub consumed_capacity: ConsumedCapacity,
    pub item_collection_metrics: Option<ItemCollectionMetrics>,
}

impl ItemAnswer {
    /// Reads the body of an answer.
    ///
    /// # Errors
    /// It is none.
    pub fn read(json: Json<'_>) -> Result<Self, Error> {
        let members = answer::members(json)?;
        Ok(Self {
            attributes: answer::item(members, "Attributes")?,
            consumed_capacity: capacity::read(members),
            item_collection_metrics: capacity::read_metrics(members)?,
        })
    }
}

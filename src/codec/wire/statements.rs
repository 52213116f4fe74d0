//! The JSON form of the PartiQL operations ExecuteStatement, BatchExecuteStatement and
//! ExecuteTransaction (docs/dynamodb.md 19.1): the parts that the declarations in
//! `model::api::statements` do not generate. `expr::partiql` parses the statements themselves.

use super::capacity::{self, CapacityByTable, Consumed, Units};
use super::declared::*;
use super::transactions::ItemResponse;
use super::{members, response};
use crate::model::AttributeValue;
use crate::model::api::statements::statements;
use crate::model::api::*;
use crate::model::error::ValueError;
use crate::model::error::exception::code;
use crate::model::limits::*;

statements!(wire);

/// The additional copies of parameters beyond those counted for every request: in the statement,
/// and in the request made of it.
const MORE_COPIES: usize = 2;

fn check(json: Json<'_>, _: Members<'_>, structure: &Structure) -> Checked {
    json.charge_again(MORE_COPIES);
    if json.is_over_budget() {
        return Err(WireError::TooManyValues);
    }
    members::constrained(json, structure).map(|()| None)
}

/// `Parameters` of a statement that fails alone.
#[derive(Debug)]
pub struct Parameters;

type StatementValues = Result<Vec<AttributeValue>, ValueError>;

impl Group<StatementValues> for Parameters {
    const MEMBERS: &'static [Member] =
        &[Member::new("Parameters", <Vec<AttributeValue>>::SHAPE).rules(&[Rule::LengthMin(1)])];

    fn read(members: Members<'_>, _: Sender) -> Result<StatementValues, WireError> {
        let values = members.list("Parameters").unwrap_or_default();
        Ok(values.map(super::attribute_value::value).collect())
    }

    fn write(value: &StatementValues, object: &mut ObjectWriter<'_>) {
        if let Some(values) = value.as_ref().ok().filter(|values| !values.is_empty()) {
            values.write(object.member("Parameters"));
        }
    }
}

/// The table of a response and the capacity consumed of it. Only the capacity names the table, so
/// the request must have asked for it.
#[derive(Debug)]
pub struct ChargedTable;

impl Group<TableName> for ChargedTable {
    fn read(members: Members<'_>, sender: Sender) -> Result<TableName, WireError> {
        required::<_, Plain>(
            response::structure(members, "ConsumedCapacity")?,
            "TableName",
            sender,
        )
    }
}

impl Group<ConsumedCapacity> for ChargedTable {
    fn read(members: Members<'_>, sender: Sender) -> Result<ConsumedCapacity, WireError> {
        Ok(optional::<_, Consumed>(members, "ConsumedCapacity", sender)?.unwrap_or_default())
    }
}

impl Field for BatchStatementResponse {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "BatchStatementResponse",
        members: &[],
    });

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(Some(read_response(json)?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_response(self, out);
    }
}

fn write_response(response: &BatchStatementResponse, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    if let Err(failed) = &response.outcome {
        error(failed, object.member("Error"));
    }
    if let Some(name) = &response.table_name {
        object.text("TableName", name.as_str());
    }
    if let Ok(Some(item)) = &response.outcome {
        object.item("Item", item);
    }
    object.end();
}

fn error(error: &Error, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("Code", code(error.exception()));
    object.text("Message", error.to_string());
    if let Error::ConditionalCheckFailed { item: Some(item) } = error {
        object.item("Item", item);
    }
    object.end();
}

fn read_response(json: Json<'_>) -> Result<BatchStatementResponse, Error> {
    let members = response::members(json)?;
    let outcome = match members.structure("Error") {
        Some(error) => Err(response::read_part_error(error)),
        None => Ok(response::item(members, "Item")?),
    };
    let table_name = members
        .string("TableName")
        .map(response::table_name)
        .transpose()?;
    Ok(BatchStatementResponse {
        table_name,
        outcome,
    })
}

impl Declared for ExecuteTransactionResponse {
    const STRUCTURE: &'static Structure = &Structure {
        name: "",
        members: &[],
    };

    fn read_members(
        members: Members<'_>,
        _: Option<TableName>,
        sender: Sender,
    ) -> Result<Self, WireError> {
        let (consumed_capacity, is_read) = capacity::of_reads(capacity::read_list(members)?);
        let responses =
            optional::<_, List<ItemResponse>>(members, "Responses", sender)?.unwrap_or_default();
        Ok(Self {
            responses,
            consumed_capacity,
            is_read,
        })
    }

    fn write_members(&self, object: &mut ObjectWriter<'_>) {
        List::<ItemResponse>::put(&self.responses, "Responses", object);
        let units = if self.is_read {
            Units::Read
        } else {
            Units::Write
        };
        capacity::write_by_table(&self.consumed_capacity, units, object);
    }
}

//! Query (docs/dynamodb.md 13). Rows are written by [`super::page::PageWriter`].

use super::ask;
use super::error::WireError;
use super::legacy;
use super::members::{self, conditions};
use super::names;
use super::page;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::write::ObjectWriter;
use crate::codec::json::document::Json;
use crate::model::api::QueryRequest;
use crate::model::error::expression::ExpressionParameter;

pub static SHAPE: Structure = Structure {
    name: "QueryInput",
    members: &[
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1)]),
        members::EXCLUSIVE_START_KEY,
        conditions("KeyConditions"),
        members::RETURN_CONSUMED_CAPACITY,
        members::ATTRIBUTES_TO_GET,
        members::TABLE_NAME.required(),
        members::SELECT,
        members::CONSISTENT_READ,
        members::INDEX_NAME,
        Member::new("ScanIndexForward", Shape::Boolean),
        members::PROJECTION_EXPRESSION,
        members::FILTER_EXPRESSION,
        Member::new("KeyConditionExpression", Shape::String),
        conditions("QueryFilter"),
        members::CONDITIONAL_OPERATOR,
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::EXPRESSION_ATTRIBUTE_NAMES,
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<QueryRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    let table_name = names::data_table(members)?;
    check_conditional_operator(members)?;
    check_constraints(json, members.integer("Limit"))?;
    let Some(table_name) = table_name else { return Err(WireError::NotAnObject) };
    members::check_mix_of_query(members)?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_QUERY)?;
    let (exclusive_start_key, start_key_fault) = page::start_key(members);
    Ok(QueryRequest {
        table_name,
        index_name: names::index(members)?,
        key_condition_expression: members.owned("KeyConditionExpression"),
        key_conditions: legacy::conditions(members, "KeyConditions")?,
        filter: members::filter(members, "QueryFilter")?,
        projection_expression: members.owned("ProjectionExpression"),
        attributes_to_get: members::attributes_to_get(members)?,
        placeholders: members::placeholders(members)?,
        select: members.word("Select"),
        limit: members.count("Limit"),
        consistent_read: members.boolean("ConsistentRead").unwrap_or(false),
        scan_index_forward: members.boolean("ScanIndexForward").unwrap_or(true),
        exclusive_start_key,
        start_key_fault,
        return_consumed_capacity: members::return_consumed_capacity(members),
    })
}

/// Another operator between several conditions is told bare and before all else (docs/dynamodb.md 8).
fn check_conditional_operator(members: Members<'_>) -> Result<(), WireError> {
    let conditions = members.structure("QueryFilter").map_or(0, |filter| filter.iter().count());
    match members.string("ConditionalOperator") {
        Some(operator) if conditions > 1 && !["AND", "OR"].contains(&operator) => Err(WireError::QueryConditionalOperator),
        _ => Ok(()),
    }
}

/// A limit below 1 has its own text, and only when it is the only violation.
fn check_constraints(json: Json<'_>, limit: Option<i64>) -> Result<(), WireError> {
    let Err(all) = members::constrained(json, &SHAPE) else { return Ok(()) };
    if limit.is_none_or(|limit| limit >= 1) {
        return Err(all);
    }
    match &all {
        WireError::Constraints(violations) if violations.is_one() => Err(WireError::QueryLimit),
        _ => Err(all),
    }
}

/// Appends the body of a request. The answer is read by [`page::read`].
pub fn write_request(request: &QueryRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("TableName", request.table_name.as_str());
    object.text_if("KeyConditionExpression", request.key_condition_expression.as_ref());
    if let Some(conditions) = &request.key_conditions {
        ask::conditions("KeyConditions", conditions, &mut object);
    }
    if !request.scan_index_forward {
        object.boolean("ScanIndexForward", false);
    }
    page::Asked::of_query(request).write("QueryFilter", &mut object);
    object.end();
}

//! Scan (docs/dynamodb.md 13). Rows are written by [`super::page::PageWriter`].

use super::error::WireError;
use super::members::{self, conditions};
use super::names;
use super::page;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::write::ObjectWriter;
use crate::codec::json::document::Json;
use crate::model::api::{ScanRequest, Segment};
use crate::model::error::QueryError;
use crate::model::error::expression::ExpressionParameter;
use crate::model::limits::SEGMENTS_MAX;

pub static SHAPE: Structure = Structure {
    name: "ScanInput",
    members: &[
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1)]),
        Member::new("TotalSegments", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(SEGMENTS_MAX as i64)]),
        members::EXCLUSIVE_START_KEY,
        members::RETURN_CONSUMED_CAPACITY,
        members::ATTRIBUTES_TO_GET,
        members::SELECT,
        members::TABLE_NAME.required(),
        Member::new("Segment", Shape::Integer).rules(&[Rule::ValueMin(0), Rule::ValueMax(SEGMENTS_MAX as i64 - 1)]),
        conditions("ScanFilter"),
        members::CONDITIONAL_OPERATOR,
        members::CONSISTENT_READ,
        members::INDEX_NAME,
        members::PROJECTION_EXPRESSION,
        members::FILTER_EXPRESSION,
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::EXPRESSION_ATTRIBUTE_NAMES,
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<ScanRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    let table_name = names::data_table(members)?;
    members::constrained(json, &SHAPE)?;
    let Some(table_name) = table_name else { return Err(WireError::NotAnObject) };
    members::check_mix(
        members,
        &["AttributesToGet", "ScanFilter", "ConditionalOperator"],
        &["ProjectionExpression", "FilterExpression"],
    )?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_SCAN)?;
    let (exclusive_start_key, start_key_fault) = page::start_key(members);
    let (segment, segment_fault) = segment(members);
    Ok(ScanRequest {
        index_name: names::index(members)?,
        filter: members::filter(members, "ScanFilter")?,
        projection_expression: members.owned("ProjectionExpression"),
        attributes_to_get: members::attributes_to_get(members)?,
        placeholders: members::placeholders(members)?,
        select: members.word("Select"),
        limit: members.count("Limit"),
        consistent_read: members.boolean("ConsistentRead").unwrap_or(false),
        segment,
        segment_fault,
        exclusive_start_key,
        start_key_fault,
        return_consumed_capacity: members::return_consumed_capacity(members),
        ..ScanRequest::new(table_name)
    })
}

/// The segment, or what lacks for one.
fn segment(members: Members<'_>) -> (Option<Segment>, Option<QueryError>) {
    match (members.count("Segment"), members.count("TotalSegments")) {
        (None, None) => (None, None),
        (None, Some(_)) => (None, Some(QueryError::SegmentMissing)),
        (Some(_), None) => (None, Some(QueryError::TotalSegmentsMissing)),
        (Some(index), Some(total)) => (Some(Segment { index, total }), None),
    }
}

/// Appends the body of a request. The answer is read by [`page::read`].
pub fn write_request(request: &ScanRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("TableName", request.table_name.as_str());
    object.count("Segment", request.segment.map(|segment| segment.index));
    object.count("TotalSegments", request.segment.map(|segment| segment.total));
    page::Asked::of_scan(request).write("ScanFilter", &mut object);
    object.end();
}

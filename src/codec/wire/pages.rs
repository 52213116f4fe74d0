//! The JSON form of Query and Scan (docs/dynamodb.md 13): the parts that the declarations in
//! `model::api::pages` do not generate, and the writer of a page, which takes rows one by one.

use super::capacity::Consumed;
use super::declared::*;
use super::items::{Conditions, QueryFilter, ScanFilter};
use super::members::{self, AttributesToGet, EXCLUSIVE_START_KEY, NamesAndValues};
use super::write::Context;
use super::{attribute_value, names, response};
use crate::codec::record::{ResultRow, RowSink};
use crate::model::IndexName;
use crate::model::api::common::{ConditionalOperator, LegacyCondition};
use crate::model::api::pages::pages;
use crate::model::api::*;
use crate::model::error::expression::ExpressionParameter;
use crate::model::error::{QueryError, StoreError, ValueError};
use crate::model::limits::SEGMENTS_MAX;

pages!(wire);

fn check_query(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::data_table(members)?;
    check_conditional_operator(members)?;
    check_constraints(json, members.integer("Limit"), structure)?;
    members::check_query_mix(members)?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_QUERY)?;
    Ok(table)
}

/// Checks the operator between several conditions: an unknown one is reported bare and before all
/// else (docs/dynamodb.md 8).
fn check_conditional_operator(members: Members<'_>) -> Result<(), WireError> {
    let conditions = members
        .structure("QueryFilter")
        .map_or(0, |filter| filter.iter().count());
    match members.string("ConditionalOperator") {
        Some(operator) if conditions > 1 && ConditionalOperator::parse(operator).is_none() => {
            Err(WireError::QueryConditionalOperator)
        }
        _ => Ok(()),
    }
}

/// Checks the constraints. A limit below 1 has its own text, but only if it is the only violation.
fn check_constraints(
    json: Json<'_>,
    limit: Option<i64>,
    structure: &Structure,
) -> Result<(), WireError> {
    let Err(all) = members::constrained(json, structure) else {
        return Ok(());
    };
    if limit.is_none_or(|limit| limit >= 1) {
        return Err(all);
    }
    match &all {
        WireError::Constraints(violations) if violations.is_one() => Err(WireError::QueryLimit),
        _ => Err(all),
    }
}

fn check_scan(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::data_table(members)?;
    members::constrained(json, structure)?;
    members::check_mix(
        members,
        &["AttributesToGet", "ScanFilter", "ConditionalOperator"],
        &["ProjectionExpression", "FilterExpression"],
    )?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_SCAN)?;
    Ok(table)
}

/// `ExclusiveStartKey`, if its values are right.
#[derive(Debug)]
pub struct StartKey;

impl Group<Option<Item>> for StartKey {
    const MEMBERS: &'static [Member] = &[EXCLUSIVE_START_KEY];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<Item>, WireError> {
        Ok(members
            .get("ExclusiveStartKey")
            .and_then(|json| attribute_value::item(json).ok()))
    }

    fn write(value: &Option<Item>, object: &mut ObjectWriter<'_>) {
        if let Some(key) = value {
            object.item("ExclusiveStartKey", key);
        }
    }
}

/// The fault of the values of `ExclusiveStartKey`. The operation reports it, after the faults of
/// filters and AttributesToGet.
#[derive(Debug)]
pub struct StartKeyFault;

impl Group<Option<ValueError>> for StartKeyFault {
    fn read(members: Members<'_>, _: Sender) -> Result<Option<ValueError>, WireError> {
        Ok(members
            .get("ExclusiveStartKey")
            .and_then(|json| attribute_value::item(json).err()))
    }
}

/// The direction: ascending, unless the request says otherwise.
#[derive(Debug)]
pub struct Forward;

impl Group<bool> for Forward {
    const MEMBERS: &'static [Member] = &[Member::new("ScanIndexForward", Shape::Boolean)];

    fn read(members: Members<'_>, _: Sender) -> Result<bool, WireError> {
        Ok(members.boolean("ScanIndexForward").unwrap_or(true))
    }

    fn write(value: &bool, object: &mut ObjectWriter<'_>) {
        if !value {
            value.write(object.member("ScanIndexForward"));
        }
    }
}

const QUERY_FILTER: Member = member::<_, Conditions>("QueryFilter");
const SCAN_FILTER: Member = member::<_, Conditions>("ScanFilter");
const SEGMENT: Member = Member::new("Segment", Shape::Integer)
    .rules(&[Rule::ValueMin(0), Rule::ValueMax(SEGMENTS_MAX as i64 - 1)]);

/// `Segment` and `TotalSegments`, if both are present.
#[derive(Debug)]
pub struct OneSegment;

impl Group<Option<Segment>> for OneSegment {
    const MEMBERS: &'static [Member] = &[Member::new("TotalSegments", Shape::Integer)
        .rules(&[Rule::ValueMin(1), Rule::ValueMax(SEGMENTS_MAX as i64)])];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<Segment>, WireError> {
        let both = members.count("Segment").zip(members.count("TotalSegments"));
        Ok(both.map(|(index, total)| Segment { index, total }))
    }

    fn write(value: &Option<Segment>, object: &mut ObjectWriter<'_>) {
        if let Some(Segment { index, total }) = value {
            index.write(object.member("Segment"));
            total.write(object.member("TotalSegments"));
        }
    }
}

/// The missing one of `Segment` and `TotalSegments`.
#[derive(Debug)]
pub struct SegmentFault;

impl Group<Option<QueryError>> for SegmentFault {
    fn read(members: Members<'_>, _: Sender) -> Result<Option<QueryError>, WireError> {
        Ok(
            match (members.has("Segment"), members.has("TotalSegments")) {
                (false, true) => Some(QueryError::SegmentMissing),
                (true, false) => Some(QueryError::TotalSegmentsMissing),
                _ => None,
            },
        )
    }
}

/// A writer of a page's body, row by row, that builds no items.
#[derive(Debug)]
pub struct PageWriter {
    out: Vec<u8>,
    with_items: bool,
    is_empty: bool,
    /// The error of the first row that could not be written; the page fails with it.
    error: Option<StoreError>,
}

impl PageWriter {
    /// Opens a body for a request with this `Select`; COUNT has no items.
    pub fn new(select: Option<Select>) -> Self {
        let with_items = select != Some(Select::Count);
        let out = if with_items {
            br#"{"Items":["#.to_vec()
        } else {
            b"{".to_vec()
        };
        Self {
            out,
            with_items,
            is_empty: true,
            error: None,
        }
    }

    /// Appends a row.
    pub fn row(&mut self, row: ResultRow<'_>) {
        if !self.with_items || self.error.is_some() {
            return;
        }
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        if let Err(error) = row.write_dynamodb_json(&mut self.out) {
            self.error = Some(error);
        }
    }

    /// Appends the page's members and returns the body.
    ///
    /// # Errors
    /// The error of the first row that could not be written.
    pub fn finish(self, page: &Page, context: &Context) -> Result<Vec<u8>, StoreError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut out = self.out;
        if self.with_items {
            out.extend_from_slice(b"],");
        }
        let mut object = ObjectWriter::resume_in(context, &mut out);
        page.count.write(object.member("Count"));
        page.scanned_count.write(object.member("ScannedCount"));
        if let Some(key) = &page.last_evaluated_key {
            object.item("LastEvaluatedKey", key);
        }
        Consumed::put(&page.consumed_capacity, "ConsumedCapacity", &mut object);
        object.end();
        Ok(out)
    }
}

/// Reads the body of a response about `table`; passes its items to `rows`. `check` returns the fault
/// of an item. The service does not report the scanned bytes; the items' size is their lower bound.
///
/// # Errors
/// [`Error::Remote`] if the body is no such response; some rows may already have been passed.
pub fn read(
    json: Json<'_>,
    table: &TableName,
    check: impl Fn(&Item) -> Result<(), &'static str>,
    rows: &mut RowSink<'_>,
) -> Result<Page, Error> {
    let members = response::members(json)?;
    let mut scanned_bytes = 0;
    for json in response::list(members, "Items")? {
        let item = response::read_item(json)?;
        check(&item).map_err(response::unreadable)?;
        scanned_bytes += item.size() as u64;
        rows(ResultRow::Item(&item));
    }
    let count = response::count(members, "Count")?;
    Ok(Page {
        table_name: table.clone(),
        count,
        scanned_count: response::count(members, "ScannedCount")?.max(count),
        scanned_bytes,
        last_evaluated_key: response::item(members, "LastEvaluatedKey")?,
        consumed_capacity: optional::<_, Consumed>(members, "ConsumedCapacity", Sender::Service)
            .map_err(response::from_wire_error)?
            .unwrap_or_default(),
    })
}

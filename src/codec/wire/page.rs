//! What Query and Scan share: the start key in, rows and page members out.

use super::capacity::{self, Reporting};
use super::shape::Members;
use super::write::{self, ObjectWriter};
use super::{answer, ask, attribute_value};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::codec::row::{Row, Rows};
use crate::model::Word;
use crate::model::api::{ConditionParameter, Page, Placeholders, QueryRequest, ReturnConsumedCapacity, ScanRequest, Select};
use crate::model::error::{StoreError, ValueError};
use crate::model::{Error, IndexName, Item, TableName};

/// `ExclusiveStartKey`, or what is wrong with its values.
/// The fault is kept for the operation: what is wrong with filters and AttributesToGet is told before it.
pub fn start_key(members: Members<'_>) -> (Option<Item>, Option<ValueError>) {
    match members.get("ExclusiveStartKey").map(attribute_value::item) {
        None => (None, None),
        Some(Ok(key)) => (Some(key), None),
        Some(Err(fault)) => (None, Some(fault)),
    }
}

/// Writes a page's body row by row, without building items.
#[derive(Debug)]
pub struct PageWriter {
    out: Vec<u8>,
    with_items: bool,
    empty: bool,
    /// The first row that could not be written; the page fails with it.
    failed: Option<StoreError>,
}

impl PageWriter {
    /// A body for a request with this `Select`; COUNT has no items.
    pub fn new(select: Option<Select>) -> Self {
        let with_items = select != Some(Select::Count);
        let out = if with_items { br#"{"Items":["#.to_vec() } else { b"{".to_vec() };
        Self { out, with_items, empty: true, failed: None }
    }

    /// Appends a row.
    pub fn row(&mut self, row: Row<'_>) {
        if !self.with_items || self.failed.is_some() {
            return;
        }
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        if let Err(error) = row.write_dynamodb_json(&mut self.out) {
            self.failed = Some(error);
        }
    }

    /// Appends the page's members; the body.
    ///
    /// # Errors
    /// The first row that could not be written.
    pub fn finish(self, page: &Page, reporting: &Reporting) -> Result<Vec<u8>, StoreError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut out = self.out;
        if self.with_items {
            out.extend_from_slice(b"],");
        }
        let mut rest = Vec::new();
        let mut object = ObjectWriter::start(&mut rest);
        write::whole(page.count, object.member("Count"));
        write::whole(page.scanned_count, object.member("ScannedCount"));
        if let Some(key) = &page.last_evaluated_key {
            dynamodb_json::write_item(key, object.member("LastEvaluatedKey"));
        }
        reporting.write(&page.consumed_capacity, &mut object);
        object.end();
        // Without its brace: the object was opened before the rows.
        out.extend_from_slice(rest.get(1..).unwrap_or_default());
        Ok(out)
    }
}

/// What a Query and a Scan ask for in the same members.
#[derive(Debug)]
pub struct Asked<'r> {
    index_name: Option<&'r IndexName>,
    filter: &'r ConditionParameter,
    projection_expression: Option<&'r String>,
    attributes_to_get: Option<&'r Vec<String>>,
    placeholders: &'r Placeholders,
    select: Option<Select>,
    limit: Option<u32>,
    consistent_read: bool,
    exclusive_start_key: Option<&'r Item>,
    detail: ReturnConsumedCapacity,
}

/// Both requests have these members under the same names.
macro_rules! asked {
    ($request:expr) => {
        Asked {
            index_name: $request.index_name.as_ref(),
            filter: &$request.filter,
            projection_expression: $request.projection_expression.as_ref(),
            attributes_to_get: $request.attributes_to_get.as_ref(),
            placeholders: &$request.placeholders,
            select: $request.select,
            limit: $request.limit,
            consistent_read: $request.consistent_read,
            exclusive_start_key: $request.exclusive_start_key.as_ref(),
            detail: $request.return_consumed_capacity,
        }
    };
}

impl<'r> Asked<'r> {
    pub fn of_query(request: &'r QueryRequest) -> Self {
        asked!(request)
    }

    pub fn of_scan(request: &'r ScanRequest) -> Self {
        asked!(request)
    }

    /// Writes the members; `legacy` is the filter's name before expressions.
    pub fn write(&self, legacy: &str, object: &mut ObjectWriter<'_>) {
        object.text_if("IndexName", self.index_name.map(IndexName::as_str));
        ask::condition(self.filter, ("FilterExpression", legacy), object);
        object.text_if("ProjectionExpression", self.projection_expression);
        ask::attributes_to_get(self.attributes_to_get, object);
        ask::placeholders(self.placeholders, object);
        object.text_if("Select", self.select.map(Word::word));
        object.count("Limit", self.limit);
        object.flag("ConsistentRead", self.consistent_read);
        if let Some(key) = self.exclusive_start_key {
            object.item("ExclusiveStartKey", key);
        }
        ask::capacity(self.detail, object);
    }
}

/// Reads the body of an answer about `table`, its items, which all fit, given to `rows`. What was looked at is at least as large as they
/// are: the service does not say it.
///
/// # Errors
/// It is none; rows may have been given.
pub fn read(json: Json<'_>, table: &TableName, fits: impl Fn(&Item) -> bool, rows: &mut Rows<'_>) -> Result<Page, Error> {
    let members = answer::members(json)?;
    let mut scanned_bytes = 0;
    for json in members.list("Items").unwrap_or_default() {
        let item = answer::item_of(json)?;
        if !fits(&item) {
            return Err(answer::unreadable("it has an item that does not fit the key condition"));
        }
        scanned_bytes += item.size() as u64;
        rows(Row::Item(&item));
    }
    let count = answer::whole(members, "Count");
    Ok(Page {
        table_name: table.clone(),
        count,
        scanned_count: answer::whole(members, "ScannedCount").max(count),
        scanned_bytes,
        last_evaluated_key: answer::item(members, "LastEvaluatedKey")?,
        consumed_capacity: capacity::read(members),
    })
}

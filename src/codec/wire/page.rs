//! What Query and Scan share: the start key in, rows and page members out.

use super::attribute_value;
use super::capacity::Reporting;
use super::shape::Members;
use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::codec::row::Row;
use crate::model::Item;
use crate::model::api::{Page, Select};
use crate::model::error::{StoreError, ValueError};

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

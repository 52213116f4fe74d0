//! The steps of the Violation Detector: `detect` finds violations by a scan of the table, and
//! `correct` applies the corrections that a person filled into its CSV table. The forms of the
//! tables are in `violations`.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use super::{Correction, CorrectionRow, IndexKey, IndexViolation, find_violation, read};
use crate::database::Database;
use crate::model::api::{
    ConditionParameter, DeleteItemRequest, Placeholders, ScanRequest, UpdateItemRequest,
    UpdateParameter,
};
use crate::model::error::StoreError;
use crate::model::{Error, KeySchema, TableName};

/// The counts of a detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DetectCounts {
    pub items: u64,
    pub violations: u64,
}

/// Reads the table and passes each violation to `visit`, in the table's scan order. Fails if the
/// scan or `visit` fails.
pub fn detect<E: From<Error>>(
    database: &dyn Database,
    table: &TableName,
    schema: &KeySchema,
    index: &IndexKey,
    visit: &mut dyn FnMut(&IndexViolation) -> Result<(), E>,
) -> Result<DetectCounts, E> {
    let mut tally = DetectCounts::default();
    let mut request = ScanRequest::new(table.clone());
    loop {
        let response = database.scan(&request)?;
        debug_assert!(response.items.is_some(), "only Select COUNT has no items");
        for item in response.items.unwrap_or_default() {
            tally.items += 1;
            let key = item
                .key(schema)
                .ok_or(Error::Store(StoreError::Corrupt("an item without its key")))?;
            let Some(violation) = find_violation(index, key, &item) else {
                continue;
            };
            tally.violations += 1;
            visit(&violation)?;
        }
        match response.page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => return Ok(tally),
        }
    }
}

/// The correction of each listed item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorrectionAction {
    /// Write the new value; a blank one with Y removes the attribute, without Y leaves it.
    Update,
    /// Delete the item.
    Delete,
}

/// The counts of a correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CorrectionCounts {
    pub corrected: u64,
    /// The number of rows without a change.
    pub left: u64,
    pub failed: u64,
}

/// The error that ends a correction.
#[derive(Debug, thiserror::Error)]
pub enum CorrectError {
    /// A sentence about input that is no such table.
    #[error("{0}")]
    Input(String),
    #[error("the table of errors cannot be written: {0}")]
    Errors(#[from] csv::Error),
    #[error("the table of errors cannot be written: {0}")]
    Flush(#[from] std::io::Error),
}

/// Reads a table of violations and corrects each item. A row that fails is written to `errors` with
/// its reason in a last column, and the rest goes on.
///
/// # Errors
/// Fails if the input cannot be parsed, or if `errors` cannot be written.
pub fn correct<R: Read, W: Write>(
    database: &dyn Database,
    table: &TableName,
    schema: &KeySchema,
    index: &IndexKey,
    action: CorrectionAction,
    input: R,
    errors: W,
) -> Result<CorrectionCounts, CorrectError> {
    let (head, rows) = read(input, schema, index).map_err(CorrectError::Input)?;
    let mut errors = csv::WriterBuilder::new().flexible(true).from_writer(errors);
    errors.write_record(head.iter().chain(["Error"]))?;
    let mut tally = CorrectionCounts::default();
    for (record, row) in rows {
        let done = row.and_then(|row| match action {
            CorrectionAction::Update => {
                update(database, table, schema, index, &row).map_err(error_sentence)
            }
            CorrectionAction::Delete => delete_listed(database, table, schema, &row)
                .map(|()| true)
                .map_err(error_sentence),
        });
        match done {
            Ok(true) => tally.corrected += 1,
            Ok(false) => tally.left += 1,
            Err(text) => {
                tally.failed += 1;
                errors.write_record(record.iter().chain([text.as_str()]))?;
            }
        }
    }
    errors.flush()?;
    Ok(tally)
}

fn error_sentence(error: Error) -> String {
    match error {
        Error::ConditionalCheckFailed { .. } => {
            "there is no item with this key any more".to_owned()
        }
        other => other.to_string(),
    }
}

/// Updates the item of a row; returns false if the row has no change.
fn update(
    database: &dyn Database,
    table: &TableName,
    schema: &KeySchema,
    index: &IndexKey,
    row: &CorrectionRow,
) -> Result<bool, Error> {
    let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
    let (mut sets, mut removes) = (Vec::new(), Vec::new());
    for (number, ((_, attribute), change)) in index.attributes.iter().zip(&row.changes).enumerate()
    {
        match change {
            Correction::Leave => continue,
            Correction::Remove => removes.push(format!("#n{number}")),
            Correction::Set(value) => {
                sets.push(format!("#n{number} = :v{number}"));
                values.insert(format!(":v{number}"), value.clone());
            }
        }
        names.insert(format!("#n{number}"), attribute.name.clone());
    }
    if names.is_empty() {
        return Ok(false);
    }
    let clause = |word: &str, parts: &[String]| {
        if parts.is_empty() {
            String::new()
        } else {
            format!("{word} {} ", parts.join(", "))
        }
    };
    let expression = format!("{}{}", clause("SET", &sets), clause("REMOVE", &removes));
    names.insert("#pk".to_owned(), schema.partition.name.clone());
    let placeholders = Placeholders {
        names: Some(names),
        values: (!values.is_empty()).then_some(values),
    };
    let key = row.key.to_item(schema);
    let mut request = UpdateItemRequest::new(
        table.clone(),
        key,
        UpdateParameter::Expression(expression),
        placeholders,
    );
    // An update creates a missing item; a correction must not.
    request.condition = ConditionParameter::Expression("attribute_exists(#pk)".to_owned());
    database.update_item(request).map(|_| true)
}

fn delete_listed(
    database: &dyn Database,
    table: &TableName,
    schema: &KeySchema,
    row: &CorrectionRow,
) -> Result<(), Error> {
    let mut request = DeleteItemRequest::new(table.clone(), row.key.to_item(schema));
    request.condition = ConditionParameter::Expression("attribute_exists(#pk)".to_owned());
    request.placeholders.names = Some([("#pk".to_owned(), schema.partition.name.clone())].into());
    database.delete_item(request).map(drop)
}

//! Mending violations as a filled-in table says.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use super::IndexKey;
use super::table::{self, Correction, Row};
use crate::database::Database;
use crate::model::api::{ConditionParameter, DeleteItemRequest, Placeholders, UpdateItemRequest, UpdateParameter};
use crate::model::{Error, KeySchema, TableName};

/// What is done with each item that the table lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A new value is written; a blank one with Y removes the attribute, without Y leaves it.
    Update,
    /// The item is deleted.
    Delete,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub corrected: u64,
    /// Rows that ask for nothing.
    pub left: u64,
    pub failed: u64,
}

/// Why correcting could not go on.
#[derive(Debug, thiserror::Error)]
pub enum CorrectError {
    /// The input is no such table; a sentence.
    #[error("{0}")]
    Input(String),
    #[error("the table of errors cannot be written: {0}")]
    Errors(#[from] csv::Error),
    #[error("the table of errors cannot be written: {0}")]
    Flush(#[from] std::io::Error),
}

/// Reads a table of violations and corrects each item. A row that fails is written to `errors` with a last column that says why, and
/// the rest goes on.
///
/// # Errors
/// The input cannot be understood, or `errors` cannot be written.
pub fn correct<R: Read, W: Write>(
    database: &dyn Database,
    (table, schema): (&TableName, &KeySchema),
    index: &IndexKey,
    action: Action,
    input: R,
    errors: W,
) -> Result<Tally, CorrectError> {
    let (head, rows) = table::read(input, schema, index).map_err(CorrectError::Input)?;
    let mut errors = csv::WriterBuilder::new().flexible(true).from_writer(errors);
    errors.write_record(head.iter().chain(["Error"]))?;
    let mut tally = Tally::default();
    for (record, row) in rows {
        let done = row.and_then(|row| match action {
            Action::Update => update(database, (table, schema), index, &row).map_err(sentence),
            Action::Delete => delete(database, (table, schema), &row).map(|()| true).map_err(sentence),
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

fn sentence(error: Error) -> String {
    match error {
        Error::ConditionalCheckFailed { .. } => "there is no item with this key any more".to_owned(),
        other => other.to_string(),
    }
}

/// False when the row asks for nothing.
fn update(database: &dyn Database, (table, schema): (&TableName, &KeySchema), index: &IndexKey, row: &Row) -> Result<bool, Error> {
    let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
    let (mut sets, mut removes) = (Vec::new(), Vec::new());
    for (number, ((_, attribute), change)) in index.attributes.iter().zip(&row.changes).enumerate() {
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
    let clause =
        |word: &str, parts: &[String]| if parts.is_empty() { String::new() } else { format!("{word} {} ", parts.join(", ")) };
    let expression = format!("{}{}", clause("SET", &sets), clause("REMOVE", &removes));
    names.insert("#pk".to_owned(), schema.partition.name.clone());
    let placeholders = Placeholders { names: Some(names), values: (!values.is_empty()).then_some(values) };
    let key = row.key.to_item(schema);
    let mut request = UpdateItemRequest::new(table.clone(), key, UpdateParameter::Expression(expression), placeholders);
    // An update makes an item that is not there; a correction must not.
    request.condition = ConditionParameter::Expression("attribute_exists(#pk)".to_owned());
    database.update_item(request).map(|_| true)
}

fn delete(database: &dyn Database, (table, schema): (&TableName, &KeySchema), row: &Row) -> Result<(), Error> {
    let mut request = DeleteItemRequest::new(table.clone(), row.key.to_item(schema));
    request.condition = ConditionParameter::Expression("attribute_exists(#pk)".to_owned());
    request.placeholders.names = Some([("#pk".to_owned(), schema.partition.name.clone())].into());
    database.delete_item(request).map(drop)
}

//! Finding violations: a scan of the table.

use std::collections::BTreeMap;

use super::{IndexKey, Violation, violation};
use crate::database::Database;
use crate::model::api::{ConditionParameter, DeleteItemRequest, Placeholders, ScanRequest};
use crate::model::{Error, KeySchema, TableName};

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Violations to find; `None` is all.
    pub violations_max: Option<u64>,
    /// Items to read; `None` is all.
    pub items_max: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub items: u64,
    pub violations: u64,
}

/// Reads the table and tells each violation to `found`, in the table's scan order.
///
/// # Errors
/// The scan failed, or `found` did.
pub fn detect<E: From<Error>>(
    database: &dyn Database,
    (table, schema): (&TableName, &KeySchema),
    index: &IndexKey,
    bounds: Bounds,
    found: &mut dyn FnMut(&Violation) -> Result<(), E>,
) -> Result<Tally, E> {
    let mut tally = Tally::default();
    let mut request = ScanRequest::new(table.clone());
    loop {
        let response = database.scan(&request)?;
        for item in response.items.unwrap_or_default() {
            if bounds.items_max.is_some_and(|max| tally.items >= max) {
                return Ok(tally);
            }
            tally.items += 1;
            let Some(violation) = item.key(schema).and_then(|key| violation(index, key, &item)) else { continue };
            tally.violations += 1;
            found(&violation)?;
            if bounds.violations_max.is_some_and(|max| tally.violations >= max) {
                return Ok(tally);
            }
        }
        match response.page.last_evaluated_key {
            Some(key) => request.exclusive_start_key = Some(key),
            None => return Ok(tally),
        }
    }
}

/// Deletes the item of a violation if its values still are the ones found. False when somebody changed it meanwhile.
///
/// # Errors
/// The delete failed for another reason.
pub fn delete(
    database: &dyn Database,
    (table, schema): (&TableName, &KeySchema),
    index: &IndexKey,
    violation: &Violation,
) -> Result<bool, Error> {
    let mut request = DeleteItemRequest::new(table.clone(), violation.key.to_item(schema));
    let (mut names, mut values, mut terms) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for (number, ((_, attribute), part)) in index.attributes.iter().zip(&violation.parts).enumerate() {
        let Some((value, _)) = part else { continue };
        names.insert(format!("#n{number}"), attribute.name.clone());
        values.insert(format!(":v{number}"), value.clone());
        terms.push(format!("#n{number} = :v{number}"));
    }
    request.condition = ConditionParameter::Expression(terms.join(" AND "));
    request.placeholders = Placeholders { names: Some(names), values: Some(values) };
    match database.delete_item(request) {
        Ok(_) => Ok(true),
        Err(Error::ConditionalCheckFailed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

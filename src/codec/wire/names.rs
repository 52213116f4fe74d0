//! The readers of the members `TableName` and `IndexName` (docs/dynamodb.md 2.2, 27). A table may
//! be named by its ARN in every operation. `model::names` and `model::arn` have the rules.

use super::constraint::Violations;
use super::shape::{Members, Rule};
use crate::codec::wire::WireError;
use crate::model::arn;
use crate::model::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};
use crate::model::names::NameError;
use crate::model::{IndexName, TableName};

/// The constraints of members that hold a plain name.
pub const NAME_RULES: &[Rule] = &[
    Rule::NamePattern,
    Rule::LengthMin(NAME_CHARS_MIN),
    Rule::LengthMax(NAME_CHARS_MAX),
];

/// Reads the table of a data operation; `Ok(None)` if the member is missing, which is reported with
/// the other constraints.
///
/// # Errors
/// [`WireError`] of a name that breaks a rule; it is reported alone.
pub fn data_table(members: Members<'_>) -> Result<Option<TableName>, WireError> {
    match members.string("TableName") {
        None => Ok(None),
        Some("") => Err(WireError::TableNameEmpty),
        Some(text) => table(text).map(Some),
    }
}

/// Reads the table of a control operation. Callers read it before the other constraints: its fault
/// is reported alone.
///
/// # Errors
/// [`WireError::TableNameMissing`], which has a text of its own, or a broken rule.
pub fn control_table(members: Members<'_>) -> Result<TableName, WireError> {
    match members.string("TableName") {
        None => Err(WireError::TableNameMissing),
        Some(text) => table(text),
    }
}

/// Reads the name of a table to be created. An ARN names a table that exists, so it is no name
/// here.
pub fn new_table(members: Members<'_>) -> Result<TableName, WireError> {
    match members.string("TableName") {
        None => Err(WireError::TableNameMissing),
        Some(text) => plain_table(text),
    }
}

/// Parses an index name that has passed [`NAME_RULES`].
pub fn index_name(text: &str) -> Result<IndexName, WireError> {
    IndexName::new(text).map_err(|fault| named_violation("indexName", text, &fault))
}

/// Parses a plain name that has passed [`NAME_RULES`].
pub fn plain_table(text: &str) -> Result<TableName, WireError> {
    TableName::new(text).map_err(|fault| named_violation("tableName", text, &fault))
}

/// Parses a name or an ARN.
pub fn table(text: &str) -> Result<TableName, WireError> {
    table_at("tableName", text)
}

/// Parses the name or ARN at `path` in the request.
///
/// # Errors
/// [`WireError::Constraints`] with the first rule of names that it breaks.
pub fn table_at(path: &str, text: &str) -> Result<TableName, WireError> {
    arn::parse_table(text).map_err(|fault| named_violation(path, text, &fault))
}

fn named_violation(path: &str, text: &str, fault: &NameError) -> WireError {
    let rule = match fault {
        NameError::BadCharacter => Rule::NamePattern,
        NameError::TooShort => Rule::LengthMin(NAME_CHARS_MIN),
        NameError::TooLong => Rule::LengthMax(NAME_CHARS_MAX),
    };
    WireError::Constraints(Violations::of_text(text, path, rule))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::codec::json::document::Document;

    fn shown(result: Result<Option<TableName>, WireError>) -> String {
        match result {
            Ok(Some(name)) => name.to_string(),
            Ok(None) => "-".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn check_data(name: &Value, expected: &str) {
        let body = json!({ "TableName": name });
        let members = Members::of(Document::from_value(&body).root()).map(data_table);
        assert_eq!(members.map(shown).as_deref(), Some(expected), "{name}");
    }

    #[test]
    fn table_names_of_data_operations() {
        check_data(&json!("Orders"), "Orders");
        check_data(
            &json!("arn:aws:dynamodb:eu-west-2:123456789012:table/Orders"),
            "Orders",
        );
        check_data(&Value::Null, "-");
        check_data(
            &json!(""),
            "1 validation error detected: Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1",
        );
        check_data(
            &json!("ab"),
            "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3",
        );
        check_data(
            &json!("a b c"),
            "1 validation error detected: Value 'a b c' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        );
        check_data(
            &json!("arn:aws:s3:::table/Orders"),
            "1 validation error detected: Value 'arn:aws:s3:::table/Orders' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        );
    }

    #[test]
    fn table_names_of_control_operations() {
        let check = |body: Value, expected: &str| {
            let found = Members::of(Document::from_value(&body).root())
                .map(control_table)
                .map(|found| shown(found.map(Some)));
            assert_eq!(found.as_deref(), Some(expected), "{body}");
        };
        check(
            json!({}),
            "The parameter 'TableName' is required but was not present in the request",
        );
        check(json!({"TableName": "Orders"}), "Orders");
        check(
            json!({"TableName": ""}),
            "1 validation error detected: Value '' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3",
        );
    }
}

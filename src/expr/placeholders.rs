//! The placeholders of a request, `ExpressionAttributeNames` and `ExpressionAttributeValues`, as a
//! symbol table: their own checks, lookup, and the check that each is used by some expression of
//! the request (docs/dynamodb.md 7.9).
//!
//! An operation makes a [`PlaceholderScope::checked`], parses its expressions with it in the order
//! of docs/dynamodb.md 7.9, then calls [`PlaceholderScope::finish`].

use std::collections::BTreeSet;

use crate::model::api::Placeholders;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::error::{ExpressionError, ValueError};
use crate::model::limits::{
    ATTRIBUTE_NAME_BYTES_MAX, EXPRESSION_VALUES_BYTES_MAX, NESTING_LEVELS_MAX,
    PLACEHOLDERS_BYTES_MAX,
};
use crate::model::{AttributeValue, Error};

/// Checks names and values. Their aliases were checked where the request was decoded.
///
/// # Errors
/// [`ExpressionError`], names first.
fn check(
    placeholders: &Placeholders,
    any_expression: bool,
    values_missing: Option<&'static [ExpressionParameter]>,
) -> Result<(), Error> {
    Placeholders::check_placeholders_used(
        placeholders.names.is_some(),
        placeholders.values.is_some(),
        any_expression,
        values_missing,
    )?;
    check_names(placeholders)?;
    check_values(placeholders)?;
    // The limit on all of them comes last: a fault of one is reported before.
    check_size(placeholders)?;
    Ok(())
}

fn check_size(placeholders: &Placeholders) -> Result<(), ExpressionError> {
    let names = placeholders
        .names
        .iter()
        .flatten()
        .map(|(alias, name)| alias.len() + name.len());
    let values = placeholders
        .values
        .iter()
        .flatten()
        .map(|(alias, value)| alias.len() + value.size());
    match names.chain(values).sum::<usize>() {
        bytes if bytes > PLACEHOLDERS_BYTES_MAX => {
            Err(ExpressionError::PlaceholdersTooLarge(bytes))
        }
        _ => Ok(()),
    }
}

fn check_names(placeholders: &Placeholders) -> Result<(), ExpressionError> {
    let Some(names) = &placeholders.names else {
        return Ok(());
    };
    if names.is_empty() {
        return Err(ExpressionError::NamesEmpty);
    }
    match names
        .iter()
        .find(|(_, name)| name.len() > ATTRIBUTE_NAME_BYTES_MAX)
    {
        Some((alias, _)) => Err(ExpressionError::InvalidName {
            alias: alias.clone(),
            fault: ValueError::AttributeNameTooLong,
        }),
        None => Ok(()),
    }
}

fn check_values(placeholders: &Placeholders) -> Result<(), ExpressionError> {
    let Some(values) = &placeholders.values else {
        return Ok(());
    };
    if values.is_empty() {
        return Err(ExpressionError::ValuesEmpty);
    }
    match values
        .iter()
        .find(|(_, value)| value.nesting() > NESTING_LEVELS_MAX)
    {
        Some((alias, _)) => Err(ExpressionError::InvalidValue {
            alias: alias.clone(),
            fault: ValueError::Nesting,
        }),
        None => Ok(()),
    }
}

/// Returns the unused keys as `{#a, #b}`, if there are any.
fn unused<'a>(keys: impl Iterator<Item = &'a String>, used: &BTreeSet<&str>) -> Option<String> {
    let left: Vec<&str> = keys
        .map(String::as_str)
        .filter(|key| !used.contains(key))
        .collect();
    if left.is_empty() {
        None
    } else {
        Some(format!("{{{}}}", left.join(", ")))
    }
}

/// The placeholders of a request while its expressions are parsed. A placeholder that is looked up
/// counts as used.
#[derive(Debug)]
pub struct PlaceholderScope<'p> {
    placeholders: &'p Placeholders,
    used_names: BTreeSet<&'p str>,
    used_values: BTreeSet<&'p str>,
    /// Bytes of the values that the present expression looked up: each lookup may become a copy.
    value_bytes: usize,
}

impl<'p> PlaceholderScope<'p> {
    pub fn new(placeholders: &'p Placeholders) -> Self {
        Self {
            placeholders,
            used_names: BTreeSet::new(),
            used_values: BTreeSet::new(),
            value_bytes: 0,
        }
    }

    /// Checks names and values, before any expression is parsed. `any_expression`: the request has
    /// an expression at all. `values_missing`: the parameters that could use values, if none of
    /// them is given.
    ///
    /// # Errors
    /// [`ExpressionError`], names first.
    pub fn checked(
        placeholders: &'p Placeholders,
        any_expression: bool,
        values_missing: Option<&'static [ExpressionParameter]>,
    ) -> Result<Self, Error> {
        check(placeholders, any_expression, values_missing)?;
        Ok(Self::new(placeholders))
    }

    /// Begins another expression of the request.
    pub(super) fn begin(&mut self) {
        self.value_bytes = 0;
    }

    /// Returns the name behind `#x`.
    ///
    /// # Errors
    /// `UndefinedName` if the request has no such name.
    pub fn name(&mut self, alias: &str) -> Result<&'p str, ExpressionFault> {
        let found = self
            .placeholders
            .names
            .as_ref()
            .and_then(|names| names.get_key_value(alias));
        let (alias, name) =
            found.ok_or_else(|| ExpressionFault::UndefinedName(alias.to_owned()))?;
        self.used_names.insert(alias);
        Ok(name)
    }

    /// Returns the value behind `:x`.
    ///
    /// # Errors
    /// `UndefinedValue` if the request has no such value; `TooManyValueBytes` for one expression.
    pub fn value(&mut self, alias: &str) -> Result<&'p AttributeValue, ExpressionFault> {
        let found = self
            .placeholders
            .values
            .as_ref()
            .and_then(|values| values.get_key_value(alias));
        let (alias, value) =
            found.ok_or_else(|| ExpressionFault::UndefinedValue(alias.to_owned()))?;
        self.used_values.insert(alias);
        self.value_bytes += value.size();
        if self.value_bytes > EXPRESSION_VALUES_BYTES_MAX {
            return Err(ExpressionFault::TooManyValueBytes);
        }
        Ok(value)
    }

    /// Checks that every placeholder was used.
    ///
    /// # Errors
    /// Unused names, else unused values, with a list of them.
    pub fn finish(&self) -> Result<(), Error> {
        let names = self
            .placeholders
            .names
            .iter()
            .flat_map(|names| names.keys());
        if let Some(keys) = unused(names, &self.used_names) {
            return Err(ExpressionError::NamesUnused(keys).into());
        }
        let values = self
            .placeholders
            .values
            .iter()
            .flat_map(|values| values.keys());
        unused(values, &self.used_values).map_or(Ok(()), |keys| {
            Err(ExpressionError::ValuesUnused(keys).into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(names: Option<&[(&str, &str)]>, values: Option<&[&str]>) -> Placeholders {
        Placeholders {
            names: names.map(|list| {
                list.iter()
                    .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                    .collect()
            }),
            values: values.map(|list| {
                list.iter()
                    .map(|k| ((*k).to_owned(), AttributeValue::Null))
                    .collect()
            }),
        }
    }

    fn check_text(
        placeholders: &Placeholders,
        has_any: bool,
        missing: Option<&'static [ExpressionParameter]>,
        expected: &str,
    ) {
        let text = check(placeholders, has_any, missing)
            .map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert_eq!(text, expected);
    }

    #[test]
    fn table_of_checks() {
        let null = Some(ExpressionParameter::OF_SCAN);
        check_text(&placeholders(None, None), false, null, "ok");
        let names = placeholders(Some(&[("#a", "x")]), None);
        check_text(&names, true, null, "ok");
        check_text(
            &names,
            false,
            null,
            "ExpressionAttributeNames can only be specified when using expressions",
        );
        check_text(
            &placeholders(Some(&[]), None),
            true,
            null,
            "ExpressionAttributeNames must not be empty",
        );
        let values = placeholders(None, Some(&[":v"]));
        check_text(&values, true, None, "ok");
        check_text(
            &values,
            true,
            null,
            "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null",
        );
        check_text(
            &placeholders(None, Some(&[])),
            true,
            None,
            "ExpressionAttributeValues must not be empty",
        );
    }

    #[test]
    fn names_and_values_together_have_a_limit() {
        let of = |bytes: usize| Placeholders {
            names: Some([("#a".to_owned(), "xyz".to_owned())].into()),
            values: Some([(":v".to_owned(), AttributeValue::S("x".repeat(bytes - 7)))].into()),
        };
        check_text(&of(2_097_152), true, None, "ok");
        let text = "ExpressionAttributeNames and ExpressionAttributeValues together have exceeded the maximum allowed size of 2097152 bytes; size: 2097153";
        check_text(&of(2_097_153), true, None, text);
    }

    #[test]
    fn unused_placeholders_are_listed() {
        let given = placeholders(
            Some(&[("#a", "x"), ("#b", "y"), ("#c", "z")]),
            Some(&[":v"]),
        );
        let mut scope = PlaceholderScope::new(&given);
        assert_eq!(scope.name("#c"), Ok("z"));
        assert_eq!(
            scope.value(":w"),
            Err(ExpressionFault::UndefinedValue(":w".into()))
        );
        let text = |scope: &PlaceholderScope<'_>| scope.finish().map_err(|error| error.to_string());
        assert_eq!(
            text(&scope),
            Err(
                "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}"
                    .into()
            )
        );
        scope.used_names.extend(["#a", "#b"]);
        assert_eq!(
            text(&scope),
            Err(
                "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
                    .into()
            )
        );
        scope.used_values.insert(":v");
        assert_eq!(text(&scope), Ok(()));
    }
}

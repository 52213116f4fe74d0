//! `ExpressionAttributeNames` and `ExpressionAttributeValues`: their own checks, lookup, and the check that all of them are used
//! by some expression of the request (docs/dynamodb.md 7.9).
//!
//! An operation calls [`check`], then parses its expressions in the order of docs/dynamodb.md 7.9 with one [`PlaceholderUse`], then calls
//! [`PlaceholderUse::finish`].

use std::collections::BTreeSet;

use crate::model::api::Placeholders;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::error::{ExpressionError, ValueError};
use crate::model::limits::{ATTRIBUTE_NAME_BYTES_MAX, EXPRESSION_VALUES_BYTES_MAX, NESTING_LEVELS_MAX, PLACEHOLDERS_BYTES_MAX};
use crate::model::{AttributeValue, Error};

/// Checks names and values before any expression is parsed. Their aliases were checked where the request was made. `any_expression`: the request has an expression at all.
/// `values_missing`: the parameters that could use values, when none of them is there.
///
/// # Errors
/// [`ExpressionError`], names first.
pub fn check(
    placeholders: &Placeholders,
    any_expression: bool,
    values_missing: Option<&'static [ExpressionParameter]>,
) -> Result<(), Error> {
    let given = (placeholders.names.is_some(), placeholders.values.is_some());
    Placeholders::check_wanted(given, any_expression, values_missing)?;
    check_names(placeholders)?;
    check_values(placeholders)?;
    // All of them together last: what is wrong with one is told before.
    check_size(placeholders)?;
    Ok(())
}

fn check_size(placeholders: &Placeholders) -> Result<(), ExpressionError> {
    let names = placeholders.names.iter().flatten().map(|(alias, name)| alias.len() + name.len());
    let values = placeholders.values.iter().flatten().map(|(alias, value)| alias.len() + value.size());
    match names.chain(values).sum::<usize>() {
        bytes if bytes > PLACEHOLDERS_BYTES_MAX => Err(ExpressionError::PlaceholdersTooLarge(bytes)),
        _ => Ok(()),
    }
}

fn check_names(placeholders: &Placeholders) -> Result<(), ExpressionError> {
    let Some(names) = &placeholders.names else { return Ok(()) };
    if names.is_empty() {
        return Err(ExpressionError::NamesEmpty);
    }
    match names.iter().find(|(_, name)| name.len() > ATTRIBUTE_NAME_BYTES_MAX) {
        Some((alias, _)) => Err(ExpressionError::InvalidName { alias: alias.clone(), fault: ValueError::AttributeNameTooLong }),
        None => Ok(()),
    }
}

fn check_values(placeholders: &Placeholders) -> Result<(), ExpressionError> {
    let Some(values) = &placeholders.values else { return Ok(()) };
    if values.is_empty() {
        return Err(ExpressionError::ValuesEmpty);
    }
    match values.iter().find(|(_, value)| value.nesting() > NESTING_LEVELS_MAX) {
        Some((alias, _)) => Err(ExpressionError::InvalidValue { alias: alias.clone(), fault: ValueError::Nesting }),
        None => Ok(()),
    }
}

/// Which placeholders the expressions of one request name. Usage is syntactic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceholderUse {
    names: BTreeSet<String>,
    values: BTreeSet<String>,
}

impl PlaceholderUse {
    /// Checks that every placeholder was used.
    ///
    /// # Errors
    /// Unused names, else unused values.
    pub fn finish(&self, placeholders: &Placeholders) -> Result<(), Error> {
        let names = unused(placeholders.names.iter().flat_map(|names| names.keys()), &self.names);
        if let Some(keys) = names {
            return Err(ExpressionError::NamesUnused(keys).into());
        }
        let values = unused(placeholders.values.iter().flat_map(|values| values.keys()), &self.values);
        values.map_or(Ok(()), |keys| Err(ExpressionError::ValuesUnused(keys).into()))
    }
}

/// The unused keys as `{#a, #b}`, if there are any.
fn unused<'a>(keys: impl Iterator<Item = &'a String>, used: &BTreeSet<String>) -> Option<String> {
    let left: Vec<&str> = keys.filter(|key| !used.contains(*key)).map(String::as_str).collect();
    if left.is_empty() { None } else { Some(format!("{{{}}}", left.join(", "))) }
}

/// Placeholders during the resolution of one expression: lookups count as use.
#[derive(Debug)]
pub struct Scope<'p> {
    placeholders: &'p Placeholders,
    used: &'p mut PlaceholderUse,
    /// Bytes of the values looked up: each lookup may become a copy.
    value_bytes: usize,
}

impl<'p> Scope<'p> {
    pub fn new(placeholders: &'p Placeholders, used: &'p mut PlaceholderUse) -> Self {
        Self { placeholders, used, value_bytes: 0 }
    }

    /// The name behind `#x`.
    ///
    /// # Errors
    /// Not defined.
    pub fn name(&mut self, alias: &str) -> Result<&'p str, ExpressionFault> {
        let found = self.placeholders.names.as_ref().and_then(|names| names.get(alias));
        let name = found.ok_or_else(|| ExpressionFault::UndefinedName(alias.to_owned()))?;
        self.used.names.insert(alias.to_owned());
        Ok(name)
    }

    /// The value behind `:x`.
    ///
    /// # Errors
    /// Not defined.
    pub fn value(&mut self, alias: &str) -> Result<&'p AttributeValue, ExpressionFault> {
        let found = self.placeholders.values.as_ref().and_then(|values| values.get(alias));
        let value = found.ok_or_else(|| ExpressionFault::UndefinedValue(alias.to_owned()))?;
        self.used.values.insert(alias.to_owned());
        self.value_bytes += value.size();
        if self.value_bytes > EXPRESSION_VALUES_BYTES_MAX {
            return Err(ExpressionFault::TooManyValueBytes);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(names: Option<&[(&str, &str)]>, values: Option<&[&str]>) -> Placeholders {
        Placeholders {
            names: names.map(|list| list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()),
            values: values.map(|list| list.iter().map(|k| ((*k).to_owned(), AttributeValue::Null)).collect()),
        }
    }

    fn check_text(given: &Placeholders, any: bool, missing: Option<&'static [ExpressionParameter]>, expected: &str) {
        let text = check(given, any, missing).map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert_eq!(text, expected);
    }

    #[test]
    fn table_of_checks() {
        let null = Some(ExpressionParameter::OF_SCAN);
        check_text(&placeholders(None, None), false, null, "ok");
        let names = placeholders(Some(&[("#a", "x")]), None);
        check_text(&names, true, null, "ok");
        check_text(&names, false, null, "ExpressionAttributeNames can only be specified when using expressions");
        check_text(&placeholders(Some(&[]), None), true, null, "ExpressionAttributeNames must not be empty");
        let values = placeholders(None, Some(&[":v"]));
        check_text(&values, true, None, "ok");
        check_text(
            &values,
            true,
            null,
            "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null",
        );
        check_text(&placeholders(None, Some(&[])), true, None, "ExpressionAttributeValues must not be empty");
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
        let given = placeholders(Some(&[("#a", "x"), ("#b", "y"), ("#c", "z")]), Some(&[":v"]));
        let mut used = PlaceholderUse::default();
        let mut scope = Scope::new(&given, &mut used);
        assert_eq!(scope.name("#c"), Ok("z"));
        assert_eq!(scope.value(":w"), Err(ExpressionFault::UndefinedValue(":w".into())));
        let text = |used: &PlaceholderUse| used.finish(&given).map_err(|error| error.to_string());
        assert_eq!(text(&used), Err("Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}".into()));
        used.names.extend(["#a".to_owned(), "#b".to_owned()]);
        assert_eq!(text(&used), Err("Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}".into()));
        used.values.insert(":v".to_owned());
        assert_eq!(text(&used), Ok(()));
    }
}

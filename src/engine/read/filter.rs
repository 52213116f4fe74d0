//! The filter of a Query or Scan: what it may name (docs/dynamodb.md 13.2, 13.6), and which entries it keeps.

use std::collections::BTreeSet;

use super::projected;
use super::source::ReadSource;
use crate::codec::record::Record;
use crate::expr::read_request::ReadFilter;
use crate::expr::{Condition, PlaceholderUse, condition, legacy};
use crate::model::api::{ConditionParameter, Placeholders};
use crate::model::error::expression::ExpressionParameter;
use crate::model::error::{QueryError, StoreError};
use crate::model::{Error, Item};

/// A filter that is held against entries.
#[derive(Debug, Clone)]
pub struct Filter {
    condition: Condition,
    /// The attributes it looks at; the others need not be decoded.
    names: BTreeSet<String>,
    /// Its parameter as error texts name it.
    parameter: &'static str,
}

/// Parses the filter of a request; placeholders it names count as used.
///
/// # Errors
/// `Expression`.
pub fn parse(
    parameter: &ConditionParameter,
    placeholders: &Placeholders,
    used: &mut PlaceholderUse,
) -> Result<Option<ReadFilter>, Error> {
    match parameter {
        ConditionParameter::None => Ok(None),
        ConditionParameter::Expression(text) => {
            let condition = condition::parse_parameter(text, ExpressionParameter::Filter, placeholders, used)?;
            Ok(Some(ReadFilter::of_expression(condition)))
        }
        ConditionParameter::Legacy(conditions) => {
            let condition = legacy::condition(conditions)?;
            Ok(condition.map(|condition| ReadFilter { condition, parameter: "QueryFilter" }))
        }
    }
}

impl Filter {
    #[must_use]
    pub fn new(filter: ReadFilter) -> Self {
        let names = filter.condition.attribute_names().into_iter().map(str::to_owned).collect();
        Self { condition: filter.condition, names, parameter: filter.parameter }
    }

    /// The condition of a PartiQL statement.
    #[must_use]
    pub fn of_condition(condition: Condition) -> Self {
        Self::new(ReadFilter { condition, parameter: "WHERE" })
    }

    /// The key attributes of what is queried belong into the key condition.
    ///
    /// # Errors
    /// `FilterOnKey`.
    pub fn check_no_keys(&self, source: &ReadSource) -> Result<(), QueryError> {
        let schema = source.key_schema();
        let key = schema.partition.iter().chain(schema.sort).find(|attribute| self.names.contains(&attribute.name));
        match key {
            Some(key) => Err(QueryError::FilterOnKey { parameter: self.parameter, name: key.name.clone() }),
            None => Ok(()),
        }
    }

    /// # Errors
    /// `PathIntoKey`.
    pub fn check_paths(&self, source: &ReadSource) -> Result<(), QueryError> {
        projected::check_paths(&self.condition.paths(), &source.table.schema)
    }

    /// A queried index must have what is filtered on; a scanned one need not.
    ///
    /// # Errors
    /// `FilterNotProjected`.
    pub fn check_projected(&self, source: &ReadSource) -> Result<(), QueryError> {
        let Some(index) = source.index() else { return Ok(()) };
        let missing = self.names.iter().filter(|name| !index.projects(&source.table.schema.key, name));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(QueryError::FilterNotProjected { index: index.name.as_str().to_owned(), names: missing.join(", ") })
    }

    /// Does the filter keep an entry?
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn keeps(&self, record: &Record<'_>) -> Result<bool, StoreError> {
        let item: Item = record.attributes(&|name| self.names.contains(name))?;
        Ok(self.condition.holds(&item))
    }
}

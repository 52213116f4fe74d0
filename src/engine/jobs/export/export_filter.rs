//! `FilterSpecification` of an export: which items it has, and what of each (API reference, FilterSpecification).

use crate::codec::record::Record;
use crate::expr::{
    Condition, KeyConditionShape, KeySchemaView, PlaceholderUse, ProjectionPaths, condition, key_condition, placeholders,
    projection,
};
use crate::model::api::transfer::ExportFilter;
use crate::model::error::expression::ExpressionParameter;
use crate::model::error::{QueryError, StoreError};
use crate::model::{Error, Item, KeySchema};

/// What a specification says, parsed.
#[derive(Debug, Default)]
pub struct Selected {
    key_condition: Option<Condition>,
    filter: Option<Condition>,
    projection: Option<ProjectionPaths>,
}

impl Selected {
    /// # Errors
    /// `Expression`.
    pub fn parse(asked: &ExportFilter) -> Result<Self, Error> {
        let has_condition = asked.key_condition_expression.is_some() || asked.filter_expression.is_some();
        let values_missing = (!has_condition).then_some(ExpressionParameter::OF_QUERY);
        placeholders::check(&asked.placeholders, has_condition || asked.projection_expression.is_some(), values_missing)?;
        let (given, mut used) = (&asked.placeholders, PlaceholderUse::default());
        let key_condition = asked.key_condition_expression.as_deref();
        let key_condition = key_condition.map(|text| key_condition::parse(text, given, &mut used)).transpose()?;
        let filter = asked.filter_expression.as_deref();
        let filter =
            filter.map(|text| condition::parse_parameter(text, ExpressionParameter::Filter, given, &mut used)).transpose()?;
        let projection = asked.projection_expression.as_deref();
        let projection = projection.map(|text| projection::parse(text, given, &mut used)).transpose()?;
        used.finish(given)?;
        Ok(Self { key_condition, filter, projection })
    }

    /// Holds it to the table's key: the key condition must be one, and beside it the filter has none of the key's attributes.
    ///
    /// # Errors
    /// `Expression`, `Key`, `Query`.
    pub fn check(&self, key: &KeySchema) -> Result<(), Error> {
        let Some(condition) = &self.key_condition else { return Ok(()) };
        KeyConditionShape::of_condition(condition.clone())?.resolve(KeySchemaView::from(key))?;
        let names = self.filter.as_ref().map(Condition::attribute_names).unwrap_or_default();
        match names.into_iter().find(|name| key.contains(name)) {
            Some(name) => Err(QueryError::FilterOnKey { parameter: "Filter Expression", name: name.to_owned() }.into()),
            None => Ok(()),
        }
    }

    /// Is the item in the export?
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn keeps(&self, record: &Record<'_>) -> Result<bool, StoreError> {
        if self.key_condition.is_none() && self.filter.is_none() {
            return Ok(true);
        }
        let item = record.to_item()?;
        Ok(self.key_condition.iter().chain(&self.filter).all(|condition| condition.holds(&item)))
    }

    /// The part of the item that is in the export; nothing when all of it is.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn part(&self, record: &Record<'_>) -> Result<Option<Item>, StoreError> {
        let Some(projection) = &self.projection else { return Ok(None) };
        Ok(Some(projection.apply(&record.to_item()?)))
    }
}

//! ExclusiveStartKey (docs/dynamodb.md 13.7): checked, then the place after which a page begins.

use super::source::ReadSource;
use crate::codec::key::partition_digest;
use crate::engine::base::keys::EntryAddress;
use crate::engine::base::segment;
use crate::expr::KeyCondition;
use crate::model::api::Segment;
use crate::model::error::{KeyError, QueryError, ValueError};
use crate::model::{AttributeValue, IndexSchema, Item, KeyAttribute};

/// The check that needs no table. `fault`: what was found in the values when they were read.
///
/// # Errors
/// `StartKeyValue`.
pub fn check_values(start: Option<&Item>, fault: Option<&ValueError>) -> Result<(), QueryError> {
    if let Some(fault) = fault {
        return Err(QueryError::StartKeyValue(fault.clone()));
    }
    let mut values = start.into_iter().flat_map(|item| item.0.values());
    values.try_for_each(AttributeValue::check_nesting).map_err(QueryError::StartKeyValue)
}

fn check_not_empty(item: &Item, name: &str) -> Result<(), QueryError> {
    let fault = match item.get(name) {
        Some(AttributeValue::S(text)) if text.is_empty() => KeyError::EmptyString(name.to_owned()),
        Some(AttributeValue::B(bytes)) if bytes.is_empty() => KeyError::EmptyBinary(name.to_owned()),
        _ => return Ok(()),
    };
    Err(QueryError::StartKeyEmpty(fault))
}

/// A start key with exactly the attributes and types of its source's cursor. Where it lies is still to be checked.
#[derive(Debug, Clone, Copy)]
pub struct StartKey<'r> {
    item: &'r Item,
}

impl<'r> StartKey<'r> {
    /// Checks attributes and types against the source: count first, then index keys, then table keys.
    ///
    /// # Errors
    /// `StartKey`, `StartKeySchema`.
    pub fn new(source: &ReadSource, item: &'r Item, is_scan: bool) -> Result<Self, QueryError> {
        let attributes = source.cursor_attributes();
        let misshapen = || match source.index() {
            None if is_scan => QueryError::StartKeySchema,
            _ => QueryError::StartKey,
        };
        if item.0.len() != attributes.len() || attributes.iter().any(|attribute| item.get(&attribute.name).is_none()) {
            return Err(misshapen());
        }
        let mut index = source.index().into_iter().flat_map(IndexSchema::attributes);
        if !index.all(|attribute| has_type(item, attribute)) {
            return Err(QueryError::StartKey);
        }
        if !source.table.schema.key.attributes().all(|attribute| has_type(item, attribute)) {
            return Err(QueryError::StartKeySchema);
        }
        source.cursor_attributes().iter().try_for_each(|attribute| check_not_empty(item, &attribute.name))?;
        Ok(Self { item })
    }

    /// Holds the key against a query's boundaries.
    ///
    /// # Errors
    /// `StartKeyOutside`, `StartKeyPredicate`, `StartKeyOneRow`.
    pub fn of_query(self, source: &ReadSource, condition: &KeyCondition) -> Result<EntryAddress, QueryError> {
        let schema = source.key_schema();
        let is_inside = values(self.item, schema.partition) == condition.partition.iter().collect::<Vec<_>>();
        let is_one_row = source.has_one_row_at_most(condition);
        match &condition.range {
            None if !is_inside => return Err(QueryError::StartKeyOutside),
            None if is_one_row => return Err(QueryError::StartKeyOneRow),
            None => {}
            Some(range) => {
                let sort = values(self.item, schema.sort);
                let earlier: Vec<&AttributeValue> = condition.sort.iter().collect();
                let (first, rest) = sort.split_at(earlier.len().min(sort.len()));
                if first != earlier || !rest.first().is_some_and(|value| range.contains(value)) {
                    return Err(QueryError::StartKeyPredicate);
                }
                if !is_inside || is_one_row {
                    return Err(QueryError::StartKeyOneRow);
                }
            }
        }
        source.address(self.item).ok_or(QueryError::StartKey)
    }

    /// Holds the key against a scan's segment.
    ///
    /// # Errors
    /// `StartKeySegment`.
    pub fn of_scan(self, source: &ReadSource, segment: Option<Segment>) -> Result<EntryAddress, QueryError> {
        if let Some(segment) = segment {
            let digest = partition_digest(&values(self.item, source.key_schema().partition));
            if !segment::contains(segment, &digest) {
                return Err(QueryError::StartKeySegment { total: segment.total, segment: segment.index });
            }
        }
        source.address(self.item).ok_or(QueryError::StartKey)
    }
}

fn has_type(item: &Item, attribute: &KeyAttribute) -> bool {
    let expected = attribute.attribute_type.as_attribute_type();
    item.get(&attribute.name).is_some_and(|value| value.attribute_type() == expected)
}

fn values<'i>(item: &'i Item, attributes: &[KeyAttribute]) -> Vec<&'i AttributeValue> {
    attributes.iter().filter_map(|attribute| item.get(&attribute.name)).collect()
}

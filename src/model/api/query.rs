//! Query.

use super::common::{ConditionParameter, Page, Placeholders, ReturnConsumedCapacity, Select};
use super::legacy::LegacyCondition;
use crate::model::error::ValueError;
use crate::model::{IndexName, Item, TableName};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryRequest {
    pub table_name: TableName,
    pub index_name: Option<IndexName>,
    pub key_condition_expression: Option<String>,
    /// Not beside a KeyConditionExpression.
    pub key_conditions: Option<Vec<LegacyCondition>>,
    pub filter: ConditionParameter,
    pub projection_expression: Option<String>,
    /// Whole top-level attributes by name; not beside a ProjectionExpression.
    pub attributes_to_get: Option<Vec<String>>,
    pub placeholders: Placeholders,
    pub select: Option<Select>,
    /// Items to evaluate, at least 1.
    pub limit: Option<u32>,
    pub consistent_read: bool,
    pub scan_index_forward: bool,
    pub exclusive_start_key: Option<Item>,
    /// What is wrong with the values of ExclusiveStartKey; told after what is wrong with the expressions.
    pub start_key_fault: Option<ValueError>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryResponse {
    /// `None` for Select COUNT.
    pub items: Option<Vec<Item>>,
    pub page: Page,
}

impl QueryRequest {
    /// A query by key condition, ascending, from its start.
    #[must_use]
    pub fn new(table_name: TableName, key_condition_expression: impl Into<String>, placeholders: Placeholders) -> Self {
        Self {
            table_name,
            index_name: None,
            key_condition_expression: Some(key_condition_expression.into()),
            key_conditions: None,
            filter: ConditionParameter::None,
            projection_expression: None,
            attributes_to_get: None,
            placeholders,
            select: None,
            limit: None,
            consistent_read: false,
            scan_index_forward: true,
            exclusive_start_key: None,
            start_key_fault: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
        }
    }
}

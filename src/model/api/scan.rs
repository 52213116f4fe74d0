//! Scan.

use super::common::{ConditionParameter, Page, Placeholders, ReturnConsumedCapacity, Select};
use crate::model::error::{QueryError, ValueError};
use crate::model::{IndexName, Item, TableName};

/// A part of a parallel scan; the operation checks that `index < total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    pub index: u32,
    pub total: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ScanRequest {
    pub table_name: TableName,
    pub index_name: Option<IndexName>,
    pub filter: ConditionParameter,
    pub projection_expression: Option<String>,
    /// Whole top-level attributes by name; not beside a ProjectionExpression.
    pub attributes_to_get: Option<Vec<String>>,
    pub placeholders: Placeholders,
    pub select: Option<Select>,
    /// Items to evaluate, at least 1.
    pub limit: Option<u32>,
    pub consistent_read: bool,
    pub segment: Option<Segment>,
    /// One of the two numbers of a segment is missing; told last.
    pub segment_fault: Option<QueryError>,
    pub exclusive_start_key: Option<Item>,
    /// What is wrong with the values of ExclusiveStartKey; told after what is wrong with the expressions.
    pub start_key_fault: Option<ValueError>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScanResponse {
    /// `None` for Select COUNT.
    pub items: Option<Vec<Item>>,
    pub page: Page,
}

impl ScanRequest {
    /// A plain scan of a table's items, from its start.
    #[must_use]
    pub fn new(table_name: TableName) -> Self {
        Self {
            table_name,
            index_name: None,
            filter: ConditionParameter::None,
            projection_expression: None,
            attributes_to_get: None,
            placeholders: Placeholders::default(),
            select: None,
            limit: None,
            consistent_read: false,
            segment: None,
            segment_fault: None,
            exclusive_start_key: None,
            start_key_fault: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
        }
    }
}

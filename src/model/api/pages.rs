//! Requests and responses of Query and Scan (docs/dynamodb.md 13). A response is a page: rows up to
//! a limit, and the key at which the next page begins. `codec/wire/pages.rs` completes their JSON
//! form; `engine/ops/pages.rs` carries them out.

use super::common::{
    ConditionParameter, LegacyCondition, Page, Placeholders, ReturnConsumedCapacity, Select,
};
use super::declare::declare;
use crate::model::error::{QueryError, ValueError};
use crate::model::{IndexName, Item, TableName};

/// A part of a parallel scan; the operation checks that `index < total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    pub index: u32,
    pub total: u32,
}

declare! { $ pages
    #[derive(Eq, Hash)]
    QueryRequest = "QueryInput" by check_query fn plain(table_name: TableName) {
        /// Items to evaluate, at least 1.
        optional limit: u32 [ValueMin(1)],
        group exclusive_start_key: Option<Item> as StartKey,
        /// The fault in the values of ExclusiveStartKey, if any; reported after those of the
        /// expressions.
        later start_key_fault: Option<ValueError> as StartKeyFault,
        /// Not together with a KeyConditionExpression.
        optional key_conditions: Vec<LegacyCondition> as Conditions,
        default return_consumed_capacity: ReturnConsumedCapacity,
        later filter: ConditionParameter as QueryFilter,
        /// Whole top-level attributes by name; not beside a ProjectionExpression.
        group attributes_to_get: Option<Vec<String>> as AttributesToGet,
        data table_name: TableName,
        optional select: Select,
        default consistent_read: bool,
        optional index_name: IndexName,
        group scan_index_forward: bool as Forward,
        optional projection_expression: String,
        ..&[members::FILTER_EXPRESSION],
        optional key_condition_expression: String,
        ..&[QUERY_FILTER, members::CONDITIONAL_OPERATOR],
        group placeholders: Placeholders as NamesAndValues,
    }

    #[derive(Eq, Hash)]
    ScanRequest = "ScanInput" by check_scan fn new(table_name: TableName) {
        /// Items to evaluate, at least 1.
        optional limit: u32 [ValueMin(1)],
        group segment: Option<Segment> as OneSegment,
        /// The fault of a segment that lacks one of its two numbers; reported last.
        later segment_fault: Option<QueryError> as SegmentFault,
        group exclusive_start_key: Option<Item> as StartKey,
        /// The fault in the values of ExclusiveStartKey, if any; reported after those of the
        /// expressions.
        later start_key_fault: Option<ValueError> as StartKeyFault,
        default return_consumed_capacity: ReturnConsumedCapacity,
        later filter: ConditionParameter as ScanFilter,
        /// Whole top-level attributes by name; not beside a ProjectionExpression.
        group attributes_to_get: Option<Vec<String>> as AttributesToGet,
        optional select: Select,
        data table_name: TableName,
        ..&[SEGMENT, SCAN_FILTER, members::CONDITIONAL_OPERATOR],
        default consistent_read: bool,
        optional index_name: IndexName,
        optional projection_expression: String,
        ..&[members::FILTER_EXPRESSION],
        group placeholders: Placeholders as NamesAndValues,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryResponse {
    /// `None` for Select COUNT.
    pub items: Option<Vec<Item>>,
    pub page: Page,
}

/// The response of Scan, which is the same as that of Query.
pub type ScanResponse = QueryResponse;

impl QueryRequest {
    /// Returns a query by key condition, ascending, from the start.
    #[must_use]
    pub fn new(
        table_name: TableName,
        key_condition_expression: impl Into<String>,
        placeholders: Placeholders,
    ) -> Self {
        let key_condition_expression = Some(key_condition_expression.into());
        Self {
            key_condition_expression,
            placeholders,
            scan_index_forward: true,
            ..Self::plain(table_name)
        }
    }
}

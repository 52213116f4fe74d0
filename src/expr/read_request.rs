//! Query and Scan with names and values in place: what is asked of a table or index, page after page.

use super::condition::Condition;
use super::key_condition::KeyConditionShape;
use super::projection::ProjectionPaths;
use crate::model::api::{Segment, Select};
use crate::model::{IndexName, Item, TableName};

/// What one page is read by. The next page is the same request with another start.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadRequest {
    pub table_name: TableName,
    pub index_name: Option<IndexName>,
    pub range: ReadRange,
    pub filter: Option<ReadFilter>,
    pub projection: Option<ProjectionPaths>,
    /// Beside a projection it says nothing.
    pub select: Option<Select>,
    /// Items to evaluate, at least 1.
    pub limit: Option<u32>,
    pub consistent_read: bool,
    pub exclusive_start_key: Option<Item>,
}

impl ReadRequest {
    /// All of a table or index, whole items.
    #[must_use]
    pub const fn scan(table_name: TableName, index_name: Option<IndexName>) -> Self {
        Self {
            table_name,
            index_name,
            range: ReadRange::Scan { segment: None },
            filter: None,
            projection: None,
            select: None,
            limit: None,
            consistent_read: false,
            exclusive_start_key: None,
        }
    }
}

/// Which entries are evaluated, and in what order.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadRange {
    /// Those of a key condition, by sort key.
    Query {
        condition: KeyConditionShape,
        forward: bool,
    },
    /// All, in hash order, or those of one segment.
    Scan { segment: Option<Segment> },
}

/// Which of the evaluated items are returned.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadFilter {
    pub condition: Condition,
    /// The parameter that it came by, as error texts name it.
    pub parameter: &'static str,
}

impl ReadFilter {
    /// What a FilterExpression says.
    #[must_use]
    pub fn of_expression(condition: Condition) -> Self {
        Self {
            condition,
            parameter: "Filter Expression",
        }
    }
}

//! Query and Scan with resolved expressions, names and values in place: one request to a table or
//! index, repeated page after page. The filesystem's queries and remote databases use it;
//! `model::api::pages` has the requests of the API.

use super::condition::Condition;
use super::key_condition::KeyConditionShape;
use super::projection::ProjectionPaths;
use crate::model::api::{Segment, Select};
use crate::model::{IndexName, Item, TableName};

/// The request of one page. The next page is the same request with another start.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReadRequest {
    pub table_name: TableName,
    pub index_name: Option<IndexName>,
    pub range: ReadRange,
    pub filter: Option<ReadFilter>,
    pub projection: Option<ProjectionPaths>,
    /// The attributes to return; no effect with a projection.
    pub select: Option<Select>,
    /// Items to evaluate, at least 1.
    pub limit: Option<u32>,
    pub consistent_read: bool,
    pub exclusive_start_key: Option<Item>,
}

impl ReadRequest {
    /// Makes a scan of a whole table or index, of whole items.
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

/// The entries that are evaluated, and their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReadRange {
    /// The entries of a key condition, by sort key.
    Query {
        condition: KeyConditionShape,
        forward: bool,
    },
    /// All entries in hash order, or those of one segment.
    Scan { segment: Option<Segment> },
}

/// The condition on the evaluated items that are returned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReadFilter {
    pub condition: Condition,
    /// The parameter of the condition, as error texts name it.
    pub parameter: &'static str,
}

impl ReadFilter {
    /// Makes the filter of a FilterExpression.
    #[must_use]
    pub fn from_expression(condition: Condition) -> Self {
        Self {
            condition,
            parameter: "Filter Expression",
        }
    }
}

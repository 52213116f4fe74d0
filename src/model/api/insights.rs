//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights (docs/dynamodb.md 23.2).

use super::declare::declare;
use crate::model::{IndexName, TableName};

/// ACCESSED_AND_THROTTLED_KEYS or THROTTLED_KEYS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsightsMode {
    AccessedAndThrottledKeys,
    ThrottledKeys,
}

declare! { $ insights
    /// A table or one of its indexes.
    #[derive(Eq)]
    InsightsTarget = "DescribeContributorInsightsInput" {
        control table: TableName = "TableName",
        optional index: IndexName = "IndexName",
    }

    #[derive(Eq)]
    UpdateInsightsRequest = "UpdateContributorInsightsInput" by check_update {
        group target: InsightsTarget as Flat,
        /// ENABLE.
        required enable: bool as Enable = "ContributorInsightsAction",
        /// Stays as it is when absent; ACCESSED_AND_THROTTLED_KEYS at first.
        optional mode: InsightsMode = "ContributorInsightsMode",
    }

    /// The answer is one page: a token leads nowhere.
    #[derive(Eq)]
    ListInsightsRequest = "ListContributorInsightsInput" {
        /// The table to which the list is confined.
        early table: TableName = "TableName",
        ..&[Member::new("NextToken", Shape::String), Member::new("MaxResults", Shape::Integer).rules(&[Rule::ValueMax(100)])],
    }
}

/// What is known of one table or index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insights {
    pub target: InsightsTarget,
    /// There are rules of single items.
    pub has_sort_key: bool,
    pub is_enabled: bool,
    /// `None` when they never were enabled.
    pub mode: Option<InsightsMode>,
    /// When they were enabled or disabled last, milliseconds since the epoch.
    pub changed_ms: Option<u64>,
}

//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights.

use crate::model::{IndexName, TableName};

/// ACCESSED_AND_THROTTLED_KEYS or THROTTLED_KEYS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsightsMode {
    AccessedAndThrottledKeys,
    ThrottledKeys,
}

/// A table or one of its indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsightsTarget {
    pub table: TableName,
    pub index: Option<IndexName>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateInsightsRequest {
    pub target: InsightsTarget,
    /// ENABLE.
    pub enable: bool,
    /// Stays as it is when absent; ACCESSED_AND_THROTTLED_KEYS at first.
    pub mode: Option<InsightsMode>,
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

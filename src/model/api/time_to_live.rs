//! UpdateTimeToLive and DescribeTimeToLive.

use crate::model::TableName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateTimeToLiveRequest {
    pub table_name: TableName,
    pub specification: TimeToLiveSpecification,
}

/// Echoed by UpdateTimeToLive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeToLiveSpecification {
    pub enabled: bool,
    /// Top-level; items may lack it, and it may be a key attribute.
    pub attribute_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateTimeToLiveResponse {
    pub specification: TimeToLiveSpecification,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeTimeToLiveRequest {
    pub table_name: TableName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeToLiveStatus {
    Enabling,
    Enabled,
    Disabling,
    Disabled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeTimeToLiveResponse {
    pub status: TimeToLiveStatus,
    /// `None` when disabled.
    pub attribute_name: Option<String>,
}

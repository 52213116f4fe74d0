//! UpdateTimeToLive and DescribeTimeToLive: the attribute that says when an item is over (docs/dynamodb.md 16).

use super::declare::declare;
use crate::model::TableName;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeToLiveStatus {
    Enabling,
    Enabled,
    Disabling,
    #[default]
    Disabled,
}

declare! { $ time_to_live
    #[derive(Eq)]
    UpdateTimeToLiveRequest = "UpdateTimeToLiveInput" {
        control table_name: TableName,
        required specification: TimeToLiveSpecification = "TimeToLiveSpecification",
    }

    /// Echoed by UpdateTimeToLive.
    #[derive(Eq)]
    TimeToLiveSpecification = "TimeToLiveSpecification" {
        required enabled: bool,
        /// Top-level; items may lack it, and it may be a key attribute.
        required attribute_name: String [LengthMin(1), LengthMax(KEY_NAME_CHARS_MAX)],
    }

    #[derive(Eq)]
    UpdateTimeToLiveResponse {
        required specification: TimeToLiveSpecification = "TimeToLiveSpecification",
    }

    #[derive(Eq)]
    DescribeTimeToLiveRequest = "DescribeTimeToLiveInput" {
        control table_name: TableName,
    }

    #[derive(Eq)]
    DescribeTimeToLiveResponse in "TimeToLiveDescription" {
        always status: TimeToLiveStatus = "TimeToLiveStatus",
        /// `None` when disabled.
        optional attribute_name: String,
    }
}

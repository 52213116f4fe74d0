//! Requests that are refused because they ask for more than there is (docs/dynamodb.md 22.2). Only a database that simulates this refuses.

use crate::model::{IndexName, TableName};

/// What was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrottleCause {
    /// The units a second of the table or index.
    ProvisionedThroughput,
    /// What one partition gives.
    KeyRange,
    /// The maximum that was set for on-demand throughput.
    MaxOnDemand,
    /// What an on-demand table or index is scaled for, or the quota of a table.
    AccountLimit,
    /// The quota of all tables together.
    AccountQuota,
}

impl ThrottleCause {
    fn name(self) -> &'static str {
        match self {
            Self::ProvisionedThroughput => "ProvisionedThroughputExceeded",
            Self::KeyRange => "KeyRangeThroughputExceeded",
            Self::MaxOnDemand => "MaxOnDemandThroughputExceeded",
            Self::AccountLimit | Self::AccountQuota => "AccountLimitExceeded",
        }
    }
}

const THROTTLING: &str = "ThrottlingException";

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Throttled {
    pub table: TableName,
    /// The index that had no more, for its own reads or for a write of the table.
    pub index: Option<IndexName>,
    pub is_write: bool,
    /// Has the table provisioned throughput?
    pub is_provisioned: bool,
    pub cause: ThrottleCause,
}

impl Throttled {
    /// `TableWriteProvisionedThroughputExceeded` and its 15 likes.
    #[must_use]
    pub fn reason(&self) -> String {
        let of = if self.index.is_some() { "Index" } else { "Table" };
        let what = if self.is_write { "Write" } else { "Read" };
        format!("{of}{what}{}", self.cause.name())
    }

    /// DynamoDB's name for it.
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match (self.cause, self.is_provisioned) {
            (ThrottleCause::AccountQuota, _) => "RequestLimitExceeded",
            (_, true) => "ProvisionedThroughputExceededException",
            (_, false) => THROTTLING,
        }
    }

    /// How the body names its reasons.
    #[must_use]
    pub fn reasons_member(&self) -> &'static str {
        if self.exception() == THROTTLING { "throttlingReasons" } else { "ThrottlingReasons" }
    }

    fn text(&self) -> &'static str {
        if self.cause == ThrottleCause::AccountQuota {
            return "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at https://aws.amazon.com/support to request a limit increase.";
        }
        match (self.is_provisioned, &self.index) {
            (true, None) => {
                "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
            }
            (true, Some(_)) => {
                "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with the UpdateTable API."
            }
            (false, None) => {
                "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"
            }
            (false, Some(_)) => {
                "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is automatically scaling your index so please try again shortly."
            }
        }
    }
}

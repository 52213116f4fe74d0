//! Errors of throttled requests, which exceed a rate limit (docs/dynamodb.md 22.2). Only a database
//! that simulates throttling (`engine::throttle`) refuses requests with them.

use crate::model::{AttributeValue, IndexName, TableName};

/// The exceeded limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrottleCause {
    /// The units a second of the table or index.
    ProvisionedThroughput,
    /// The throughput of one partition.
    KeyRange,
    /// A partition's even share of the units of its table or index, without adaptive capacity.
    Share,
    /// The configured maximum of on-demand throughput.
    MaxOnDemand,
    /// The throughput for which an on-demand table or index is scaled, or the quota of a table.
    AccountLimit,
    /// The quota of all tables together.
    AccountQuota,
}

impl ThrottleCause {
    fn name(self) -> &'static str {
        match self {
            Self::ProvisionedThroughput => "ProvisionedThroughputExceeded",
            Self::KeyRange | Self::Share => "KeyRangeThroughputExceeded",
            Self::MaxOnDemand => "MaxOnDemandThroughputExceeded",
            Self::AccountLimit | Self::AccountQuota => "AccountLimitExceeded",
        }
    }
}

const THROTTLING: &str = "ThrottlingException";

/// A throttled request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Throttled {
    pub table: TableName,
    /// The index that had no capacity left, for its own reads or for a write of the table.
    pub index: Option<IndexName>,
    pub is_write: bool,
    /// True if the table has provisioned throughput.
    pub is_provisioned: bool,
    pub cause: ThrottleCause,
    pub location: ThrottleLocation,
}

/// The place of the limit, for human readers: DynamoDB's response has none of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThrottleLocation {
    /// The limit in units a second.
    pub units_max: u64,
    /// The number of the partition.
    pub partition: u32,
    /// The first digits of the partition's lowest hash, and of the next partition's lowest hash.
    pub hashes: (String, String),
    /// The partition keys in the partition, if it is the limit and they are few.
    pub keys: Vec<Vec<AttributeValue>>,
    /// The requested partition key; `None` if no item has it.
    pub key: Option<Vec<AttributeValue>>,
}

impl Throttled {
    /// Returns `TableWriteProvisionedThroughputExceeded` or one of its 15 variants.
    #[must_use]
    pub fn reason(&self) -> String {
        let of = if self.index.is_some() {
            "Index"
        } else {
            "Table"
        };
        let what = if self.is_write { "Write" } else { "Read" };
        format!("{of}{what}{}", self.cause.name())
    }

    /// Returns DynamoDB's exception name.
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match (self.cause, self.is_provisioned) {
            (ThrottleCause::AccountQuota, _) => "RequestLimitExceeded",
            (_, true) => "ProvisionedThroughputExceededException",
            (_, false) => THROTTLING,
        }
    }

    /// Returns the name of the body's member for the reasons.
    #[must_use]
    pub fn reasons_member(&self) -> &'static str {
        if self.exception() == THROTTLING {
            "throttlingReasons"
        } else {
            "ThrottlingReasons"
        }
    }

    /// Returns the place and the exceeded limit: a sentence without its full stop.
    #[must_use]
    pub fn describe(&self) -> String {
        let kind = if self.is_write { "write" } else { "read" };
        let of = match &self.index {
            None => format!("table {}", self.table),
            Some(index) => format!("index {index} of table {}", self.table),
        };
        let ThrottleLocation {
            units_max,
            partition,
            hashes: (from, to),
            keys,
            key,
        } = &self.location;
        let keys: String = keys
            .iter()
            .map(|key| format!(", {}", key_texts(key)))
            .collect();
        let keys = if keys.is_empty() {
            keys
        } else {
            format!("; in it nothing but {}", &keys[2..])
        };
        let place = format!("partition p{partition:02} of {of} (hash {from}… to {to}…{keys})");
        let exceeded = match self.cause {
            ThrottleCause::ProvisionedThroughput => {
                format!(
                    "{of} has {units_max} provisioned {kind} units a second, and those saved are used up"
                )
            }
            ThrottleCause::KeyRange => {
                format!("{place} gives {units_max} {kind} units a second, whatever its table has")
            }
            ThrottleCause::Share => format!(
                "{place} has an even share of {units_max} {kind} units a second (--throttle=static)"
            ),
            ThrottleCause::MaxOnDemand => {
                format!("{of} may take {units_max} on-demand {kind} units a second")
            }
            ThrottleCause::AccountLimit => {
                format!("{of} is on demand and scaled for {units_max} {kind} units a second by now")
            }
            ThrottleCause::AccountQuota => {
                format!("all tables together may take {units_max} {kind} units a second")
            }
        };
        let requested = match key {
            Some(values) => format!("partition key {}", key_texts(values)),
            None => format!("a partition key without items in p{partition:02}"),
        };
        format!("{exceeded}; asked for: {requested}")
    }

    /// Returns the remedy; paths are relative to the mount.
    #[must_use]
    pub fn hint(&self) -> String {
        let index = self
            .index
            .as_ref()
            .map(|index| format!("/gsi/{index}"))
            .unwrap_or_default();
        let hot = format!(
            "{}{index}/partitions/hot.tsv names the keys asked for most",
            self.table
        );
        match self.cause {
            ThrottleCause::ProvisionedThroughput => {
                let member = if index.is_empty() {
                    "ProvisionedThroughput"
                } else {
                    "GlobalSecondaryIndexUpdates"
                };
                format!(
                    "try again in a second, or raise the units with {member} in .ddb/api/UpdateTable; {hot}"
                )
            }
            ThrottleCause::KeyRange => {
                format!(
                    "more units of the table do not help: spread the load over more keys (ddbfs advise proposes sharded ones); {hot}"
                )
            }
            ThrottleCause::Share => {
                format!(
                    "spread the load over more keys, raise the table's units, or mount with --throttle, which has adaptive capacity; {hot}"
                )
            }
            ThrottleCause::MaxOnDemand => {
                format!("raise or clear OnDemandThroughput with .ddb/api/UpdateTable; {hot}")
            }
            ThrottleCause::AccountLimit => {
                format!("try again in a second: it grows with what is asked for; {hot}")
            }
            ThrottleCause::AccountQuota => {
                "try again in a second; .ddb/stats.prom has the units of each table".to_owned()
            }
        }
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

fn key_texts(values: &[AttributeValue]) -> String {
    values.iter().map(key_text).collect::<Vec<_>>().join(", ")
}

fn key_text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("{text:?}"),
        AttributeValue::N(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

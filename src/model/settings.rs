//! What a table keeps beside its keys, indexes and provisioned throughput: what CreateTable, UpdateTable, TagResource and
//! PutResourcePolicy set.

use serde::{Deserialize, Serialize};

/// All of it; empty for a table that was given none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableSettings {
    /// Of the stream that is enabled.
    pub stream: Option<StreamViewType>,
    /// Encryption with a key of KMS; `None` is the service's own.
    pub encryption: Option<Encryption>,
    /// `None` shows none, and is STANDARD.
    pub table_class: Option<TableClass>,
    /// Key and value, in the order in which they came.
    pub tags: Vec<(String, String)>,
    /// JSON text; kept, not enforced.
    pub resource_policy: Option<String>,
    /// The table's own; those of an index are with its schema.
    pub throughput: ThroughputSettings,
}

/// What a table or global index has beside provisioned throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ThroughputSettings {
    pub on_demand: OnDemandThroughput,
    /// Asked for or reached; what is in effect is [`effective_warm`](super::TableSchema::effective_warm).
    pub warm: WarmThroughput,
}

/// Maxima on demand; each member may be absent. In UpdateTable -1 clears a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct OnDemandThroughput {
    pub max_read_request_units: Option<i64>,
    pub max_write_request_units: Option<i64>,
}

/// Units a second that a table or index is warmed for; each member may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct WarmThroughput {
    pub read_units_per_second: Option<i64>,
    pub write_units_per_second: Option<i64>,
}

/// `SSESpecification`, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    pub enabled: bool,
    pub kms_master_key_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TableClass {
    Standard,
    StandardInfrequentAccess,
}

/// Which images of an item its stream records hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StreamViewType {
    KeysOnly,
    NewImage,
    OldImage,
    NewAndOldImages,
}

impl StreamViewType {
    #[must_use]
    pub fn has_new_image(self) -> bool {
        matches!(self, Self::NewImage | Self::NewAndOldImages)
    }

    #[must_use]
    pub fn has_old_image(self) -> bool {
        matches!(self, Self::OldImage | Self::NewAndOldImages)
    }
}

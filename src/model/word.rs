//! Values that the API names by a word: each word stands once, for both directions of the wire and whatever else shows it.

use super::api::backup::{BackupStatus, BackupType};
use super::api::common::{ReturnConsumedCapacity, ReturnValues, Select, UpdateReturnValues};
use super::api::create_table::ProjectionType;
use super::api::insights::InsightsMode;
use super::api::legacy::{AttributeAction, ComparisonOperator, ConditionalOperator};
use super::api::streams::{StreamEvent, StreamStatus};
use super::api::tables::TableStatus;
use super::api::time_to_live::TimeToLiveStatus;
use super::api::transfer::{Compression, ExportFormat, ExportView, InputFormat, TransferStatus};
use super::schema::{BillingMode, KeyAttributeType, KeyType};
use super::settings::{StreamViewType, TableClass};

/// A value that has a word.
pub trait Word: Copy {
    /// All of them, in the order in which the service lists them.
    const WORDS: &'static [&'static str];

    /// As the API spells it.
    fn word(self) -> &'static str;

    /// What the API spells so.
    fn of_word(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($kind:ident { $($value:ident = $word:literal),+ $(,)? })+) => {
        $(impl Word for $kind {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }

            fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$value),)+ _ => None }
            }
        })+
    };
}

words! {
    AttributeAction { Add = "ADD", Put = "PUT", Delete = "DELETE" }
    // Failed is of this engine.
    BackupStatus { Creating = "CREATING", Available = "AVAILABLE", Deleted = "DELETED", Failed = "FAILED" }
    BackupType { User = "USER", System = "SYSTEM", AwsBackup = "AWS_BACKUP", All = "ALL" }
    BillingMode { Provisioned = "PROVISIONED", PayPerRequest = "PAY_PER_REQUEST" }
    ComparisonOperator {
        In = "IN",
        Null = "NULL",
        Between = "BETWEEN",
        Lt = "LT",
        NotContains = "NOT_CONTAINS",
        Eq = "EQ",
        Gt = "GT",
        NotNull = "NOT_NULL",
        Ne = "NE",
        Le = "LE",
        BeginsWith = "BEGINS_WITH",
        Ge = "GE",
        Contains = "CONTAINS",
    }
    Compression { Gzip = "GZIP", Zstd = "ZSTD", None = "NONE" }
    ConditionalOperator { Or = "OR", And = "AND" }
    ExportFormat { DynamoDbJson = "DYNAMODB_JSON", Ion = "ION" }
    ExportView { NewImage = "NEW_IMAGE", NewAndOldImages = "NEW_AND_OLD_IMAGES" }
    InsightsMode { AccessedAndThrottledKeys = "ACCESSED_AND_THROTTLED_KEYS", ThrottledKeys = "THROTTLED_KEYS" }
    InputFormat { DynamoDbJson = "DYNAMODB_JSON", Ion = "ION", Csv = "CSV" }
    KeyAttributeType { B = "B", N = "N", S = "S" }
    KeyType { Hash = "HASH", Range = "RANGE" }
    ProjectionType { All = "ALL", Include = "INCLUDE", KeysOnly = "KEYS_ONLY" }
    ReturnConsumedCapacity { Indexes = "INDEXES", Total = "TOTAL", None = "NONE" }
    ReturnValues { None = "NONE", AllOld = "ALL_OLD" }
    Select {
        SpecificAttributes = "SPECIFIC_ATTRIBUTES",
        Count = "COUNT",
        AllAttributes = "ALL_ATTRIBUTES",
        AllProjectedAttributes = "ALL_PROJECTED_ATTRIBUTES",
    }
    StreamEvent { Insert = "INSERT", Modify = "MODIFY", Remove = "REMOVE" }
    StreamStatus { Enabled = "ENABLED", Disabled = "DISABLED" }
    StreamViewType { NewImage = "NEW_IMAGE", OldImage = "OLD_IMAGE", NewAndOldImages = "NEW_AND_OLD_IMAGES", KeysOnly = "KEYS_ONLY" }
    TableClass { Standard = "STANDARD", StandardInfrequentAccess = "STANDARD_INFREQUENT_ACCESS" }
    TableStatus { Creating = "CREATING", Active = "ACTIVE", Deleting = "DELETING", Updating = "UPDATING" }
    TimeToLiveStatus { Enabling = "ENABLING", Enabled = "ENABLED", Disabling = "DISABLING", Disabled = "DISABLED" }
    TransferStatus { InProgress = "IN_PROGRESS", Completed = "COMPLETED", Failed = "FAILED" }
    UpdateReturnValues {
        None = "NONE",
        AllOld = "ALL_OLD",
        AllNew = "ALL_NEW",
        UpdatedOld = "UPDATED_OLD",
        UpdatedNew = "UPDATED_NEW",
    }
}

//! Backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).

use super::common::Failure;
use super::declare::declare;
use super::tables::{IndexDefinition, TableDescription};
use crate::model::TableName;
use crate::model::schema::{BillingMode, Encryption, OnDemandThroughput, ProvisionedThroughput};
use crate::model::word::words;
use serde::{Deserialize, Serialize};

words! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    BackupStatus {
        Creating = "CREATING",
        Available = "AVAILABLE",
        Deleted = "DELETED",
        /// Its copy could not be made; of this engine, the service has no such status.
        Failed = "FAILED",
    }
}

/// A backup with the table as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Backup {
    pub arn: String,
    pub name: String,
    pub status: BackupStatus,
    pub created_ms: u64,
    /// Item bytes plus 100 bytes an item.
    pub size_bytes: u64,
    /// `BackupType` is SYSTEM: made when its table was deleted.
    pub is_system: bool,
    /// Of one that failed.
    pub failure: Option<Failure>,
    pub table: TableDescription,
}

words! {
    /// Which backups ListBackups lists.
    #[derive(Default)]
    BackupType {
        #[default]
        User = "USER",
        System = "SYSTEM",
        /// Those of the service AWS Backup, of which there are none here.
        AwsBackup = "AWS_BACKUP",
        All = "ALL",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ListBackupsResponse {
    pub backups: Vec<Backup>,
    pub last_evaluated_arn: Option<String>,
}

declare! { $ backup
    #[derive(Eq)]
    CreateBackupRequest = "CreateBackupInput" {
        control table_name: TableName,
        required backup_name: String as Name,
    }

    /// DescribeBackup and DeleteBackup.
    #[derive(Eq)]
    BackupRequest = "DescribeBackupInput" {
        required backup_arn: String [LengthMin(37), LengthMax(1024)],
    }

    /// Backups are in order of their ARNs.
    #[derive(Eq, Default)]
    ListBackupsRequest = "ListBackupsInput" {
        optional table_name: TableName,
        /// 1 to 100.
        optional limit: u32 [ValueMin(1), ValueMax(100)],
        /// Created at this time or later.
        optional lower_ms: u64 as Seconds = "TimeRangeLowerBound",
        /// Created before this time.
        optional upper_ms: u64 as Seconds = "TimeRangeUpperBound",
        optional exclusive_start_arn: String = "ExclusiveStartBackupArn" [LengthMin(37), LengthMax(1024)],
        default backup_type: BackupType,
    }

    /// What a restored table gets in another way than its source.
    #[derive(Eq, Default)]
    RestoreOverrides {
        optional billing_mode: BillingMode = "BillingModeOverride",
        /// `None` takes the source's; names may differ, keys and projection not.
        optional global_indexes: Vec<IndexDefinition> as List<GlobalIndex> = "GlobalSecondaryIndexOverride",
        optional local_indexes: Vec<IndexDefinition> as List<LocalIndex> = "LocalSecondaryIndexOverride",
        optional throughput: ProvisionedThroughput = "ProvisionedThroughputOverride",
        optional on_demand: OnDemandThroughput = "OnDemandThroughputOverride",
        optional encryption: Encryption = "SSESpecificationOverride",
    }

    #[derive(Eq)]
    RestoreFromBackupRequest = "RestoreTableFromBackupInput" {
        required backup_arn: String [LengthMin(37), LengthMax(1024)],
        required target: TableName as Name = "TargetTableName",
        group overrides: RestoreOverrides as Flat,
    }

    #[derive(Eq)]
    RestoreToPointInTimeRequest = "RestoreTableToPointInTimeInput" {
        group source: TableName as RestoreSource,
        /// Milliseconds since the epoch; `None` is the latest restorable time.
        group time_ms: Option<u64> as RestoreTime,
        required target: TableName as Name = "TargetTableName",
        group overrides: RestoreOverrides as Flat,
    }

    #[derive(Eq)]
    UpdateContinuousBackupsRequest = "UpdateContinuousBackupsInput" {
        control table_name: TableName,
        required recovery: PointInTimeRecoverySpecification = "PointInTimeRecoverySpecification",
    }

    #[derive(Eq)]
    PointInTimeRecoverySpecification = "PointInTimeRecoverySpecification" {
        required enabled: bool = "PointInTimeRecoveryEnabled",
        /// 1 to 35.
        optional period_days: u32 = "RecoveryPeriodInDays" [ValueMin(1), ValueMax(35)],
    }
}

/// `PointInTimeRecoveryDescription` of recovery that is on; whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryWindow {
    pub period_days: u64,
    pub earliest_ms: u64,
    pub latest_ms: u64,
}

//! Requests and responses of backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).
//! `engine/ops/recovery.rs` carries them out; `codec/wire/backup.rs` completes their JSON form;
//! `declare` describes the lines of the declarations.

use super::common::JobFailure;
use super::declare::{declare, operation_rows};
use super::tables::{IndexDefinition, TableDescription};
use crate::model::TableName;
use crate::model::api_enum::api_enums;
use crate::model::schema::{BillingMode, Encryption, OnDemandThroughput, ProvisionedThroughput};
use serde::{Deserialize, Serialize};

operation_rows! { $ backup_operations
    Control LocalOnly CreateBackup create_backup(CreateBackupRequest) -> CreateBackupResponse;
    Read LocalOnly DescribeBackup describe_backup(BackupRequest) -> Backup;
    Read LocalOnly ListBackups list_backups(ListBackupsRequest) -> ListBackupsResponse;
    Control LocalOnly DeleteBackup delete_backup(BackupRequest) -> Backup;
    Control LocalOnly RestoreTableFromBackup restore_from_backup(RestoreFromBackupRequest) -> RestoreResponse;
    Control LocalOnly RestoreTableToPointInTime restore_to_point_in_time(RestoreToPointInTimeRequest) -> RestoreResponse;
    Control LocalOnly UpdateContinuousBackups update_continuous_backups(UpdateContinuousBackupsRequest) -> ContinuousBackups;
    Read LocalOnly DescribeContinuousBackups describe_continuous_backups(DescribeTableRequest) -> ContinuousBackups;
}

api_enums! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    BackupStatus {
        Creating = "CREATING",
        Available = "AVAILABLE",
        Deleted = "DELETED",
        /// The copy could not be made. An addition of this engine: the service has no such status.
        Failed = "FAILED",
    }
}

/// A backup with the table as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Backup {
    pub details: BackupDetails,
    pub table: TableDescription,
}

api_enums! {
    /// The type of a backup: USER, or SYSTEM if it was made when its table was deleted; in
    /// ListBackups, the types to list.
    #[derive(Default)]
    BackupType {
        #[default]
        User = "USER",
        System = "SYSTEM",
        /// Backups of the service AWS Backup; there are none here.
        AwsBackup = "AWS_BACKUP",
        All = "ALL",
    }
}

declare! { $ backup
    #[derive(Eq)]
    CreateBackupRequest = "CreateBackupInput" {
        control table_name: TableName,
        required backup_name: String as Name,
    }

    #[derive(Eq)]
    CreateBackupResponse {
        required details: BackupDetails = "BackupDetails",
    }

    #[derive(Eq)]
    BackupDetails {
        required arn: String = "BackupArn",
        required name: String = "BackupName",
        /// Item bytes plus 100 bytes an item.
        required size_bytes: u64 = "BackupSizeBytes",
        required status: BackupStatus = "BackupStatus",
        required backup_type: BackupType,
        required created_ms: u64 as Seconds = "BackupCreationDateTime",
        /// Present for a failed backup.
        group failure: Option<JobFailure> as JobFailureMembers,
    }

    /// The request of DescribeBackup and DeleteBackup.
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

    #[derive(Eq)]
    ListBackupsResponse {
        always backups: Vec<BackupSummary> = "BackupSummaries",
        /// Present exactly when more remain.
        optional last_evaluated_arn: String = "LastEvaluatedBackupArn",
    }

    #[derive(Eq)]
    BackupSummary {
        group details: BackupDetails as Flat,
        required table_name: TableName,
        + "TableArn" = |it| Some(arn::table(&it.table_name)),
        required table_id: String,
    }

    /// The settings in which a restored table differs from its source.
    #[derive(Eq, Default)]
    RestoreOverrides {
        optional billing_mode: BillingMode = "BillingModeOverride",
        /// `None` takes the source's indexes; names may differ, keys and projections may not.
        optional global_indexes: Vec<IndexDefinition> as List<GlobalIndex> = "GlobalSecondaryIndexOverride",
        optional local_indexes: Vec<IndexDefinition> as List<LocalIndex> = "LocalSecondaryIndexOverride",
        optional vector_indexes: Vec<IndexDefinition> as List<VectorIndex> = "VectorIndexOverride",
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

    /// The response of both restore operations.
    RestoreResponse {
        required table_description: TableDescription,
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

    /// The response of UpdateContinuousBackups and DescribeContinuousBackups.
    #[derive(Eq, Copy)]
    ContinuousBackups in "ContinuousBackupsDescription" {
        /// Present if recovery is on.
        required window: Option<RecoveryWindow> as Recovery = "PointInTimeRecoveryDescription",
        + "ContinuousBackupsStatus" = |_| Some("ENABLED".to_owned()),
    }

    /// The window of recovery, in whole seconds.
    #[derive(Eq, Copy)]
    RecoveryWindow {
        required period_days: u64 = "RecoveryPeriodInDays",
        required earliest_ms: u64 as Seconds = "EarliestRestorableDateTime",
        required latest_ms: u64 as Seconds = "LatestRestorableDateTime",
    }
}

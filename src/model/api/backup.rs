//! Backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).

use super::common::Failure;
use super::create_table::IndexDefinition;
use super::tables::TableDescription;
use crate::model::TableName;
use crate::model::schema::{BillingMode, ProvisionedThroughput};
use crate::model::settings::{Encryption, OnDemandThroughput};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateBackupRequest {
    pub table_name: TableName,
    pub backup_name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BackupStatus {
    Creating,
    Available,
    Deleted,
    /// Its copy could not be made; of this engine, the service has no such status.
    Failed,
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

/// Which backups ListBackups lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackupType {
    #[default]
    User,
    System,
    /// Those of the service AWS Backup, of which there are none here.
    AwsBackup,
    All,
}

/// ListBackups. Backups are in order of their ARNs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListBackupsRequest {
    pub table_name: Option<TableName>,
    /// 1 to 100.
    pub limit: Option<u32>,
    /// Created at this time or later.
    pub lower_ms: Option<u64>,
    /// Created before this time.
    pub upper_ms: Option<u64>,
    pub exclusive_start_arn: Option<String>,
    pub backup_type: BackupType,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ListBackupsResponse {
    pub backups: Vec<Backup>,
    pub last_evaluated_arn: Option<String>,
}

/// What a restored table gets in another way than its source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreOverrides {
    pub billing_mode: Option<BillingMode>,
    pub throughput: Option<ProvisionedThroughput>,
    pub on_demand: Option<OnDemandThroughput>,
    pub encryption: Option<Encryption>,
    /// `None` takes the source's; names may differ, keys and projection not.
    pub global_indexes: Option<Vec<IndexDefinition>>,
    pub local_indexes: Option<Vec<IndexDefinition>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreFromBackupRequest {
    pub target: TableName,
    pub backup_arn: String,
    pub overrides: RestoreOverrides,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreToPointInTimeRequest {
    pub source: TableName,
    pub target: TableName,
    /// Milliseconds since the epoch; `None` is the latest restorable time.
    pub time_ms: Option<u64>,
    pub overrides: RestoreOverrides,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateContinuousBackupsRequest {
    pub table_name: TableName,
    pub enabled: bool,
    /// 1 to 35.
    pub period_days: Option<u32>,
}

/// `PointInTimeRecoveryDescription` of recovery that is on; whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryWindow {
    pub period_days: u64,
    pub earliest_ms: u64,
    pub latest_ms: u64,
}

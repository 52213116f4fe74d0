//! ExportTableToPointInTime and ImportTable, to and from directories that stand for buckets (docs/dynamodb.md 20.3, 20.4).

use super::common::{Failure, Placeholders};
use super::create_table::CreateTableRequest;
use crate::model::TableName;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRequest {
    pub table_name: TableName,
    pub bucket: String,
    pub prefix: Option<String>,
    /// Milliseconds since the epoch; `None` is now.
    pub time_ms: Option<u64>,
    /// Of INCREMENTAL_EXPORT: what changed in a window, not the table as of a time.
    pub window: Option<WindowRequest>,
    pub format: ExportFormat,
    pub filter: ExportFilter,
    pub client_token: Option<String>,
    /// The request's JSON text: descriptions repeat members of it.
    pub echo: String,
}

/// `FilterSpecification`: which items an export has, and what of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportFilter {
    pub key_condition_expression: Option<String>,
    pub filter_expression: Option<String>,
    pub projection_expression: Option<String>,
    pub placeholders: Placeholders,
}

/// IncrementalExportSpecification of a request; times are milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRequest {
    pub from_ms: u64,
    /// `None` is now.
    pub to_ms: Option<u64>,
    pub view: ExportView,
}

/// The window of an incremental export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportWindow {
    /// Its first millisecond since the epoch.
    pub from_ms: u64,
    /// The first millisecond after it.
    pub to_ms: u64,
    pub view: ExportView,
    /// The table's key attributes.
    #[serde(rename = "keys")]
    pub key_names: Vec<String>,
}

/// `ExportViewType`: which images of a changed item are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ExportView {
    NewImage,
    NewAndOldImages,
}

/// What is not supported when a request names that format.
pub const ION: &str = "the format ION";

/// `ExportFormat`; ION is of exports that an earlier version made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    DynamoDbJson,
    Ion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TransferStatus {
    InProgress,
    Completed,
    Failed,
}

/// An export as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    pub arn: String,
    pub table_id: String,
    pub status: TransferStatus,
    pub start_ms: u64,
    pub end_ms: Option<u64>,
    /// The moment of a full export; the end of an incremental one's window.
    pub time_ms: u64,
    /// Of an incremental export.
    pub window: Option<ExportWindow>,
    pub items: u64,
    pub bytes: u64,
    /// Key of `manifest-summary.json` in the bucket.
    pub manifest: Option<String>,
    pub failure: Option<Failure>,
    pub echo: String,
}

/// `InputFormat`; ION is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    DynamoDbJson,
    Ion,
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    pub table: CreateTableRequest,
    pub bucket: String,
    pub prefix: Option<String>,
    pub format: InputFormat,
    pub compression: Compression,
    /// Of CSV.
    pub delimiter: u8,
    /// Of CSV: `None` takes the first line of each file.
    pub header: Option<Vec<String>>,
    pub client_token: Option<String>,
    /// The request's JSON text: descriptions repeat members of it.
    pub echo: String,
}

impl Export {
    /// `ExportFormat`, of which the request alone tells.
    #[must_use]
    pub fn format(&self) -> ExportFormat {
        let request: serde_json::Value = serde_json::from_str(&self.echo).unwrap_or_default();
        if request["ExportFormat"] == "ION" { ExportFormat::Ion } else { ExportFormat::DynamoDbJson }
    }

    /// `ExportType`.
    #[must_use]
    pub fn type_text(&self) -> &'static str {
        if self.window.is_some() { "INCREMENTAL_EXPORT" } else { "FULL_EXPORT" }
    }
}

/// An import as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    pub arn: String,
    pub table_id: String,
    pub status: TransferStatus,
    pub start_ms: u64,
    pub end_ms: Option<u64>,
    pub processed_bytes: u64,
    pub processed_items: u64,
    pub imported_items: u64,
    pub errors: u64,
    pub failure: Option<Failure>,
    pub echo: String,
}

/// ListExports and ListImports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListTransfersRequest {
    /// Only of this table.
    pub table_arn: Option<String>,
    /// 1 to 25.
    pub limit: Option<u32>,
    /// Arns after this one.
    pub after: Option<String>,
}

/// A page of exports or imports in order of their ARNs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTransfersResponse<T> {
    pub transfers: Vec<T>,
    /// The last one's ARN, when more remain.
    pub next: Option<String>,
}

//! Requests and responses of ExportTableToPointInTime and ImportTable, to and from directories that
//! stand for S3 buckets (docs/dynamodb.md 20.3, 20.4). `engine/ops/transfer.rs` starts them,
//! `engine/jobs/` does the work, `codec/wire/transfer.rs` completes their JSON form.

use super::common::{JobFailure, Placeholders};
use super::declare::{declare, operation_rows};
use super::tables::CreateTableRequest;
use crate::model::TableName;
use crate::model::api_enum::api_enums;
use serde::{Deserialize, Serialize};

operation_rows! { $ transfer_operations
    Control LocalOnly ExportTableToPointInTime export_table(ExportRequest) -> Export;
    Read LocalOnly DescribeExport describe_export(DescribeExportRequest) -> Export;
    Read LocalOnly ListExports list_exports(ListTransfersRequest) -> ListTransfersResponse<Export>;
    Control LocalOnly ImportTable import_table(ImportRequest) -> Import;
    Read LocalOnly DescribeImport describe_import(DescribeImportRequest) -> Import;
    Read LocalOnly ListImports list_imports(ListTransfersRequest) -> ListTransfersResponse<Import>;
}

declare! { $ transfer
    #[derive(Eq)]
    ExportRequest = "ExportTableToPointInTimeInput" by check_export {
        required table_name: TableName = "TableArn" [LengthMin(1), LengthMax(1024)],
        /// Milliseconds since the epoch; `None` is now.
        optional time_ms: u64 as Seconds = "ExportTime",
        optional client_token: String,
        required bucket: String = "S3Bucket" [LengthMax(255)],
        ..&[Member::new("S3BucketOwner", Shape::String)],
        optional prefix: String as NotEmpty = "S3Prefix" [LengthMax(1024)],
        ..&[SSE_ALGORITHM, Member::new("S3SseKmsKeyId", Shape::String)],
        default format: ExportFormat = "ExportFormat",
        /// The window of an INCREMENTAL_EXPORT, which has the changes of a window instead of the
        /// table at one time.
        group window: Option<WindowRequest> as Window,
        default filter: ExportFilter = "FilterSpecification",
        /// The request's JSON text: descriptions repeat members of it.
        later echo: String as RequestText,
    }

    /// `FilterSpecification`: the exported items, and their exported attributes.
    #[derive(Eq, Default)]
    ExportFilter = "FilterSpecification" {
        optional filter_expression: String,
        optional projection_expression: String,
        optional key_condition_expression: String,
        ..&[members::EXPRESSION_ATTRIBUTE_NAMES, members::EXPRESSION_ATTRIBUTE_VALUES],
        later placeholders: Placeholders as NamesAndValues,
    }

    #[derive(Eq)]
    DescribeExportRequest = "DescribeExportInput" {
        required export_arn: String [LengthMin(37), LengthMax(1024)],
    }

    #[derive(Eq)]
    DescribeImportRequest = "DescribeImportInput" {
        required import_arn: String [LengthMin(37), LengthMax(1024)],
    }

    #[derive(Eq)]
    ImportRequest = "ImportTableInput" {
        optional client_token: String,
        // First, because its faults are reported first.
        later table: CreateTableRequest as NewTable,
        required source: ImportSource = "S3BucketSource",
        required format: InputFormat = "InputFormat",
        default options: FormatOptions = "InputFormatOptions",
        default compression: Compression = "InputCompressionType",
        ..&[Member::new("TableCreationParameters", CreateTableRequest::SHAPE).required()],
        /// The request's JSON text: descriptions repeat members of it.
        later echo: String as RequestText,
    }

    #[derive(Eq)]
    ImportSource = "S3BucketSource" {
        optional owner: String = "S3BucketOwner",
        required bucket: String as Bucket = "S3Bucket" [LengthMax(255)],
        optional prefix: String = "S3KeyPrefix" [LengthMax(1024)],
    }

    #[derive(Eq, Default)]
    FormatOptions = "InputFormatOptions" {
        default csv: CsvOptions,
    }

    #[derive(Eq, Default)]
    CsvOptions = "CsvOptions" {
        /// A comma by default.
        optional delimiter: u8 as Delimiter,
        /// `None` uses the first line of each file.
        optional header: Vec<String> as List<Header> = "HeaderList" [LengthMin(1), LengthMax(255)],
    }

    /// The request of ListExports and ListImports.
    #[derive(Eq, Default)]
    ListTransfersRequest = "ListExportsInput" {
        /// The only table to list.
        optional table_arn: String [LengthMin(1), LengthMax(1024)],
        /// 1 to 25.
        group limit: Option<u32> as PageLimit,
        /// The list begins after this ARN.
        optional after: String as Token = "NextToken",
    }
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
    /// The first millisecond since the epoch.
    pub from_ms: u64,
    /// The first millisecond after it.
    pub to_ms: u64,
    pub view: ExportView,
    /// The table's key attributes.
    #[serde(rename = "keys")]
    pub key_names: Vec<String>,
}

api_enums! {
    /// `ExportViewType`: the images of a changed item that are written.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    ExportView {
        NewImage = "NEW_IMAGE",
        NewAndOldImages = "NEW_AND_OLD_IMAGES",
    }
}

/// The name of the unsupported format in the error for a request that asks for it.
pub const ION_FORMAT: &str = "the format ION";

api_enums! {
    /// `ExportFormat`; ION is the format of some exports by an earlier version.
    #[derive(Default)]
    ExportFormat {
        #[default]
        DynamoDbJson = "DYNAMODB_JSON",
        Ion = "ION",
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    TransferStatus {
        InProgress = "IN_PROGRESS",
        Completed = "COMPLETED",
        Failed = "FAILED",
    }
}

/// The state of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    pub arn: String,
    pub table_id: String,
    pub status: TransferStatus,
    pub start_ms: u64,
    pub end_ms: Option<u64>,
    /// The time of a full export; the end of an incremental one's window.
    pub time_ms: u64,
    /// The window of an incremental export.
    pub window: Option<ExportWindow>,
    pub items: u64,
    pub bytes: u64,
    /// Key of `manifest-summary.json` in the bucket.
    pub manifest: Option<String>,
    pub failure: Option<JobFailure>,
    pub echo: String,
}

api_enums! {
    /// `InputFormat`; ION is refused.
    InputFormat {
        DynamoDbJson = "DYNAMODB_JSON",
        Ion = "ION",
        Csv = "CSV",
    }

    #[derive(Default)]
    Compression {
        Gzip = "GZIP",
        Zstd = "ZSTD",
        #[default]
        None = "NONE",
    }
}

impl Export {
    /// Returns `ExportFormat`, which only the request holds.
    #[must_use]
    pub fn format(&self) -> ExportFormat {
        let request: serde_json::Value = serde_json::from_str(&self.echo).unwrap_or_default();
        if request["ExportFormat"] == "ION" {
            ExportFormat::Ion
        } else {
            ExportFormat::DynamoDbJson
        }
    }

    /// Returns `ExportType`.
    #[must_use]
    pub fn type_text(&self) -> &'static str {
        if self.window.is_some() {
            "INCREMENTAL_EXPORT"
        } else {
            "FULL_EXPORT"
        }
    }
}

/// The state of an import.
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
    pub failure: Option<JobFailure>,
    pub echo: String,
}

/// A page of exports or imports in order of their ARNs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTransfersResponse<T> {
    pub transfers: Vec<T>,
    /// The ARN of the last one, if more remain.
    pub next: Option<String>,
}

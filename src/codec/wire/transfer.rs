//! ExportTableToPointInTime, DescribeExport, ListExports, ImportTable, DescribeImport, ListImports (docs/dynamodb.md 20.3, 20.4).

use serde_json::{Map, Value, json};

use super::create_table;
use super::error::WireError;
use super::members;
use super::names;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::table_description::{add_failure, timestamp};
use crate::codec::digest::{hex, unhex};
use crate::codec::json::document::Json;
use crate::model::Word;
use crate::model::api::transfer::{
    Compression, Export, ExportFilter, ExportFormat, ExportRequest, ExportView, Import, ImportRequest, InputFormat,
    ListTransfersRequest, ListTransfersResponse, WindowRequest,
};
use crate::model::arn::{ACCOUNT, REGION};
use crate::model::error::{RecoveryError, ResourceError};

const ARN_RULES: &[Rule] = &[Rule::LengthMin(37), Rule::LengthMax(1024)];
const BUCKET: Member = Member::new("S3Bucket", Shape::String).required().rules(&[Rule::LengthMax(255)]);
const CLIENT_TOKEN: Member = Member::new("ClientToken", Shape::String);

static EXPORT: Structure = Structure {
    name: "ExportTableToPointInTimeInput",
    members: &[
        Member::new("TableArn", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(1024)]),
        Member::new("ExportTime", Shape::Long),
        CLIENT_TOKEN,
        BUCKET,
        Member::new("S3BucketOwner", Shape::String),
        Member::new("S3Prefix", Shape::String).rules(&[Rule::LengthMax(1024)]),
        Member::new("S3SseAlgorithm", Shape::String).rules(&[Rule::OneOf(&["AES256", "KMS"])]),
        Member::new("S3SseKmsKeyId", Shape::String),
        Member::new("ExportFormat", Shape::String).rules(&[Rule::OneOf(&["DYNAMODB_JSON", "ION"])]),
        Member::new("ExportType", Shape::String).rules(&[Rule::OneOf(&["FULL_EXPORT", "INCREMENTAL_EXPORT"])]),
        Member::new("IncrementalExportSpecification", Shape::Structure(&WINDOW)),
        Member::new("FilterSpecification", Shape::Structure(&FILTER)),
    ],
};
static WINDOW: Structure = Structure {
    name: "IncrementalExportSpecification",
    members: &[
        Member::new("ExportFromTime", Shape::Long),
        Member::new("ExportToTime", Shape::Long),
        Member::new("ExportViewType", Shape::String).rules(&[Rule::OneOf(&["NEW_IMAGE", "NEW_AND_OLD_IMAGES"])]),
    ],
};
static FILTER: Structure = Structure {
    name: "FilterSpecification",
    members: &[
        members::FILTER_EXPRESSION,
        members::PROJECTION_EXPRESSION,
        Member::new("KeyConditionExpression", Shape::String),
        members::EXPRESSION_ATTRIBUTE_NAMES,
        members::EXPRESSION_ATTRIBUTE_VALUES,
    ],
};
static DESCRIBE_EXPORT: Structure =
    Structure { name: "DescribeExportInput", members: &[Member::new("ExportArn", Shape::String).required().rules(ARN_RULES)] };
static DESCRIBE_IMPORT: Structure =
    Structure { name: "DescribeImportInput", members: &[Member::new("ImportArn", Shape::String).required().rules(ARN_RULES)] };
static LIST: Structure = Structure {
    name: "ListExportsInput",
    members: &[
        Member::new("TableArn", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(1024)]),
        Member::new("MaxResults", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(25)]),
        // ListImports' name for MaxResults: both operations are read by this shape.
        Member::new("PageSize", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(25)]),
        Member::new("NextToken", Shape::String),
    ],
};

static IMPORT: Structure = Structure {
    name: "ImportTableInput",
    members: &[
        CLIENT_TOKEN,
        Member::new(
            "S3BucketSource",
            Shape::Structure(&Structure {
                name: "S3BucketSource",
                members: &[
                    Member::new("S3BucketOwner", Shape::String),
                    BUCKET,
                    Member::new("S3KeyPrefix", Shape::String).rules(&[Rule::LengthMax(1024)]),
                ],
            }),
        )
        .required(),
        Member::new("InputFormat", Shape::String).required().rules(&[Rule::OneOf(&["DYNAMODB_JSON", "ION", "CSV"])]),
        Member::new("InputFormatOptions", Shape::Structure(&FORMAT_OPTIONS)),
        Member::new("InputCompressionType", Shape::String).rules(&[Rule::OneOf(&["GZIP", "ZSTD", "NONE"])]),
        Member::new("TableCreationParameters", Shape::Structure(&create_table::SHAPE)).required(),
    ],
};
static FORMAT_OPTIONS: Structure = Structure {
    name: "InputFormatOptions",
    members: &[Member::new(
        "Csv",
        Shape::Structure(&Structure {
            name: "CsvOptions",
            members: &[
                Member::new("Delimiter", Shape::String).rules(&[Rule::OneOf(&[",", "\t", ":", ";", "|", " "])]),
                Member::new("HeaderList", Shape::List(&HEADER)).rules(&[Rule::LengthMin(1), Rule::LengthMax(255)]),
            ],
        }),
    )],
};
static HEADER: Element = Element { shape: Shape::String, rules: &[Rule::LengthMin(1), Rule::LengthMax(65536)] };

fn read<'a>(json: Json<'a>, shape: &Structure) -> Result<Members<'a>, WireError> {
    let members = members::typed(json, shape)?;
    members::constrained(json, shape)?;
    Ok(members)
}

/// ExportTableToPointInTime.
///
/// # Errors
/// Types, constraints, the ARN; what is not supported.
pub fn export_request(json: Json<'_>) -> Result<ExportRequest, WireError> {
    let members = read(json, &EXPORT)?;
    let bucket = bucket(members)?;
    Ok(ExportRequest {
        table_name: names::table_or_arn(members.string("TableArn").unwrap_or_default())?,
        bucket,
        prefix: members.owned("S3Prefix").filter(|prefix| !prefix.is_empty()),
        time_ms: members.time_ms("ExportTime"),
        window: window(members)?,
        format: members.word("ExportFormat").unwrap_or(ExportFormat::DynamoDbJson),
        filter: members.structure("FilterSpecification").map(filter).transpose()?.unwrap_or_default(),
        client_token: members.owned("ClientToken"),
        // Descriptions repeat members that nothing here reads.
        echo: json.to_string(),
    })
}

fn filter(members: Members<'_>) -> Result<ExportFilter, WireError> {
    Ok(ExportFilter {
        key_condition_expression: members.owned("KeyConditionExpression"),
        filter_expression: members.owned("FilterExpression"),
        projection_expression: members.owned("ProjectionExpression"),
        placeholders: members::placeholders(members)?,
    })
}

/// What an incremental export asks for; `None` for a full one.
fn window(members: Members<'_>) -> Result<Option<WindowRequest>, RecoveryError> {
    let specification = members.structure("IncrementalExportSpecification");
    if members.string("ExportType") != Some("INCREMENTAL_EXPORT") {
        return match specification {
            None => Ok(None),
            Some(_) => Err(RecoveryError::Parameter("IncrementalExportSpecification needs the ExportType INCREMENTAL_EXPORT")),
        };
    }
    if members.has("ExportTime") {
        return Err(RecoveryError::Parameter("ExportTime is of full exports: give ExportFromTime and ExportToTime"));
    }
    let from_ms = specification.and_then(|of| of.time_ms("ExportFromTime"));
    Ok(Some(WindowRequest {
        from_ms: from_ms
            .ok_or(RecoveryError::Parameter("INCREMENTAL_EXPORT needs IncrementalExportSpecification.ExportFromTime"))?,
        to_ms: specification.and_then(|of| of.time_ms("ExportToTime")),
        view: specification.and_then(|of| of.word("ExportViewType")).unwrap_or(ExportView::NewAndOldImages),
    }))
}

/// `^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$`: no name that could leave the directory of buckets.
fn bucket(members: Members<'_>) -> Result<String, WireError> {
    let name = members.string("S3Bucket").unwrap_or_default();
    let inner = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let ends = [name.bytes().next(), name.bytes().next_back()];
    if name.len() < 2 || !inner || !ends.iter().flatten().all(u8::is_ascii_alphanumeric) {
        return Err(RecoveryError::Parameter("S3Bucket is not a bucket name").into());
    }
    Ok(name.to_owned())
}

/// DescribeExport: the ARN.
///
/// # Errors
/// Types, constraints.
pub fn export_arn_request(json: Json<'_>) -> Result<String, WireError> {
    Ok(read(json, &DESCRIBE_EXPORT)?.owned("ExportArn").unwrap_or_default())
}

/// DescribeImport: the ARN.
///
/// # Errors
/// Types, constraints.
pub fn import_arn_request(json: Json<'_>) -> Result<String, WireError> {
    Ok(read(json, &DESCRIBE_IMPORT)?.owned("ImportArn").unwrap_or_default())
}

/// ListExports and ListImports.
///
/// # Errors
/// Types, constraints, a token that none of the answers gave.
pub fn list_request(json: Json<'_>) -> Result<ListTransfersRequest, WireError> {
    let members = read(json, &LIST)?;
    Ok(ListTransfersRequest {
        table_arn: members.owned("TableArn"),
        limit: members.count("MaxResults").or(members.count("PageSize")),
        after: members.string("NextToken").map(of_token).transpose()?,
    })
}

/// An ARN as a token: hex digits, filled up to a multiple of eight bytes.
fn token(arn: &str) -> String {
    let mut bytes = arn.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    hex(&bytes)
}

fn of_token(token: &str) -> Result<String, ResourceError> {
    let bytes = unhex(token);
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(ResourceError::NextToken)?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// ImportTable.
///
/// # Errors
/// Types, constraints, those of the table's definition; what is not supported.
pub fn import_request(json: Json<'_>) -> Result<ImportRequest, WireError> {
    let members = read(json, &IMPORT)?;
    let source = members.structure("S3BucketSource").ok_or(WireError::NotAnObject)?;
    let options = members.structure("InputFormatOptions").and_then(|options| options.structure("Csv"));
    let header = options.and_then(|csv| csv.list("HeaderList"));
    Ok(ImportRequest {
        table: create_table::request(members.get("TableCreationParameters").ok_or(WireError::NotAnObject)?)?,
        bucket: bucket(source)?,
        prefix: source.owned("S3KeyPrefix"),
        format: members.word("InputFormat").unwrap_or(InputFormat::DynamoDbJson),
        compression: members.word("InputCompressionType").unwrap_or(Compression::None),
        delimiter: options.and_then(|csv| csv.string("Delimiter")).and_then(|text| text.bytes().next()).unwrap_or(b','),
        header: header.map(|names| names.filter_map(Json::as_str).map(str::to_owned).collect()),
        client_token: members.owned("ClientToken"),
        echo: json.to_string(),
    })
}

/// The table's ARN within an export's or import's.
fn table_arn(arn: &str) -> &str {
    arn.rsplitn(3, '/').last().unwrap_or_default()
}

/// Members of the request that the description repeats.
fn echoed(echo: &str, names: &[&str], out: &mut Map<String, Value>) {
    let request: Value = serde_json::from_str(echo).unwrap_or(Value::Null);
    for name in names {
        if let Some(value) = request.get(name).filter(|value| !value.is_null()) {
            out.insert((*name).to_owned(), value.clone());
        }
    }
}

/// The body of ExportTableToPointInTime and DescribeExport.
#[must_use]
pub fn export_to_json(export: &Export) -> Value {
    let mut out = Map::new();
    out.insert("ExportArn".to_owned(), json!(export.arn));
    out.insert("ExportStatus".to_owned(), json!(export.status.word()));
    out.insert("StartTime".to_owned(), timestamp(export.start_ms));
    out.insert("TableArn".to_owned(), json!(table_arn(&export.arn)));
    out.insert("TableId".to_owned(), json!(export.table_id));
    match &export.window {
        None => out.insert("ExportTime".to_owned(), timestamp(export.time_ms)),
        Some(window) => out.insert(
            "IncrementalExportSpecification".to_owned(),
            json!({
                "ExportFromTime": timestamp(window.from_ms), "ExportToTime": timestamp(window.to_ms),
                "ExportViewType": window.view.word(),
            }),
        ),
    };
    out.insert("ExportFormat".to_owned(), json!(export.format().word()));
    out.insert("ExportType".to_owned(), json!(export.type_text()));
    echoed(
        &export.echo,
        &["ClientToken", "S3Bucket", "S3BucketOwner", "S3Prefix", "S3SseAlgorithm", "S3SseKmsKeyId", "FilterSpecification"],
        &mut out,
    );
    if let Some(end_ms) = export.end_ms {
        out.insert("EndTime".to_owned(), timestamp(end_ms));
        out.insert("BilledSizeBytes".to_owned(), json!(export.bytes));
        out.insert("ItemCount".to_owned(), json!(export.items));
    }
    if let Some(manifest) = &export.manifest {
        out.insert("ExportManifest".to_owned(), json!(manifest));
    }
    add_failure(export.failure.as_ref(), &mut out);
    json!({ "ExportDescription": out })
}

/// The body of ListExports.
#[must_use]
pub fn exports_to_json(response: &ListTransfersResponse<Export>) -> Value {
    let summary = |of: &Export| json!({ "ExportArn": of.arn, "ExportStatus": of.status.word(), "ExportType": of.type_text() });
    list("ExportSummaries", response.transfers.iter().map(summary).collect(), response.next.as_deref())
}

fn list(name: &str, summaries: Vec<Value>, next: Option<&str>) -> Value {
    let mut out = Map::new();
    out.insert(name.to_owned(), Value::Array(summaries));
    if let Some(arn) = next {
        out.insert("NextToken".to_owned(), json!(token(arn)));
    }
    Value::Object(out)
}

fn log_group() -> Value {
    json!(format!("arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws-dynamodb/imports:*"))
}

/// The body of ImportTable and DescribeImport.
#[must_use]
pub fn import_to_json(import: &Import) -> Value {
    let mut out = import_summary(import);
    out.insert("TableId".to_owned(), json!(import.table_id));
    out.insert("ErrorCount".to_owned(), json!(import.errors));
    out.insert("ProcessedSizeBytes".to_owned(), json!(import.processed_bytes));
    out.insert("ProcessedItemCount".to_owned(), json!(import.processed_items));
    out.insert("ImportedItemCount".to_owned(), json!(import.imported_items));
    let names = ["ClientToken", "InputFormatOptions", "InputCompressionType", "TableCreationParameters"];
    echoed(&import.echo, &names, &mut out);
    add_failure(import.failure.as_ref(), &mut out);
    json!({ "ImportTableDescription": out })
}

fn import_summary(import: &Import) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("ImportArn".to_owned(), json!(import.arn));
    out.insert("ImportStatus".to_owned(), json!(import.status.word()));
    out.insert("TableArn".to_owned(), json!(table_arn(&import.arn)));
    out.insert("CloudWatchLogGroupArn".to_owned(), log_group());
    out.insert("StartTime".to_owned(), timestamp(import.start_ms));
    echoed(&import.echo, &["S3BucketSource", "InputFormat"], &mut out);
    if let Some(end_ms) = import.end_ms {
        out.insert("EndTime".to_owned(), timestamp(end_ms));
    }
    out
}

/// The body of ListImports.
#[must_use]
pub fn imports_to_json(response: &ListTransfersResponse<Import>) -> Value {
    let summaries = response.transfers.iter().map(|import| Value::Object(import_summary(import))).collect();
    list("ImportSummaryList", summaries, response.next.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::document::Document;

    #[test]
    fn tokens_round_trip() {
        let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/abc/import/01700000000000-01234567";
        assert_eq!(of_token(&token(arn)), Ok(arn.to_owned()));
        assert!(token(arn).len().is_multiple_of(16));
        assert_eq!(of_token("xyz"), Err(ResourceError::NextToken));
        assert_eq!(table_arn(arn), "arn:aws:dynamodb:us-east-1:000000000000:table/abc");
    }

    #[test]
    fn bucket_names_stay_in_their_directory() {
        for (name, is_good) in [("a.b-c_d", true), ("ab", true), ("..", false), ("a/b", false), (".a", false), ("a", false)] {
            let body = json!({ "S3Bucket": name });
            assert_eq!(Members::of(Document::of(&body).root()).is_some_and(|members| bucket(members).is_ok()), is_good, "{name}");
        }
    }
}

//! Exports and imports: what they have beside their declarations, and what is told of them (docs/dynamodb.md 20.3, 20.4).

use serde_json::{Value, json};

use super::declared::*;
use super::members::{self, NamesAndValues};
use super::table_description::timestamp;
use super::write::{object, string};
use crate::codec::digest::{hex, unhex};
use crate::model::api::transfer::*;
use crate::model::api::{CreateTableRequest, Placeholders};
use crate::model::arn::{ACCOUNT, REGION};
use crate::model::error::{RecoveryError, ResourceError};

transfer!(wire);

const SSE_ALGORITHM: Member = Member::new("S3SseAlgorithm", Shape::String).rules(&[Rule::OneOf(&["AES256", "KMS"])]);
const BUCKET: Member = Member::new("S3Bucket", Shape::String).required().rules(&[Rule::LengthMax(255)]);

/// ExportTableToPointInTime.
///
/// # Errors
/// Types, constraints, the bucket, the ARN; what does not go together.
pub fn export_request(json: Json<'_>) -> Result<ExportRequest, WireError> {
    // Descriptions repeat members that nothing here reads.
    Ok(ExportRequest { echo: json.to_string(), ..super::request(json)? })
}

fn check_export(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    bucket(members).map(|_| None)
}

forms! {
    /// An empty text is as none.
    NotEmpty of String, Shape::String, &[], |json, sender| Ok(String::read(json, sender)?.filter(|text| !text.is_empty()));
}

static WINDOW: Structure = Structure {
    name: "IncrementalExportSpecification",
    members: &[
        Member::new("ExportFromTime", Shape::Long),
        Member::new("ExportToTime", Shape::Long),
        Member::new("ExportViewType", Shape::String).rules(&[Rule::OneOf(&["NEW_IMAGE", "NEW_AND_OLD_IMAGES"])]),
    ],
};

/// `ExportType` and what belongs to it.
#[derive(Debug)]
pub struct Window;

impl Group<Option<WindowRequest>> for Window {
    const MEMBERS: &'static [Member] = &[
        Member::new("ExportType", Shape::String).rules(&[Rule::OneOf(&["FULL_EXPORT", "INCREMENTAL_EXPORT"])]),
        Member::new("IncrementalExportSpecification", Shape::Structure(&WINDOW)),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<WindowRequest>, WireError> {
        Ok(window(members)?)
    }
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

/// How many a page has, by the name of either list.
#[derive(Debug)]
pub struct PageLimit;

impl Group<Option<u32>> for PageLimit {
    const MEMBERS: &'static [Member] = &[
        Member::new("MaxResults", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(25)]),
        Member::new("PageSize", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(25)]),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<u32>, WireError> {
        Ok(members.count("MaxResults").or(members.count("PageSize")))
    }
}

/// An ARN as a token.
#[derive(Debug)]
pub struct Token;

impl Form<String> for Token {
    const SHAPE: Shape = Shape::String;

    fn read(json: Json<'_>, _: Sender) -> Result<Option<String>, WireError> {
        Ok(json.as_str().map(of_token).transpose()?)
    }

    fn write(value: &String, out: &mut Vec<u8>) {
        string(&token(value), out);
    }
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

static IMPORT: Structure = Structure {
    name: "ImportTableInput",
    members: &[
        Member::new("ClientToken", Shape::String),
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
        Member::new("TableCreationParameters", CreateTableRequest::SHAPE).required(),
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

/// ImportTable.
///
/// # Errors
/// Types, constraints, those of the table's definition; what is not supported.
pub fn import_request(json: Json<'_>) -> Result<ImportRequest, WireError> {
    let members = members::typed(json, &IMPORT)?;
    members::constrained(json, &IMPORT)?;
    let source = members.structure("S3BucketSource").ok_or(WireError::NotAnObject)?;
    let options = members.structure("InputFormatOptions").and_then(|options| options.structure("Csv"));
    let header = options.and_then(|csv| csv.list("HeaderList"));
    Ok(ImportRequest {
        table: super::request(members.get("TableCreationParameters").ok_or(WireError::NotAnObject)?)?,
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

/// A member of the request, which the description repeats.
fn echoed<'r>(request: &'r Value, name: &str) -> Option<&'r Value> {
    request.get(name)
}

fn request_of(echo: &str) -> Value {
    serde_json::from_str(echo).unwrap_or(Value::Null)
}

/// The body of ExportTableToPointInTime and DescribeExport.
#[must_use]
pub fn export_to_json(export: &Export) -> Value {
    let request = request_of(&export.echo);
    let window = export.window.as_ref().map(|window| {
        json!({
            "ExportFromTime": timestamp(window.from_ms), "ExportToTime": timestamp(window.to_ms),
            "ExportViewType": window.view.word(),
        })
    });
    let is_over = export.end_ms.is_some();
    let description = object! {
        "ExportArn": export.arn,
        "ExportStatus": export.status.word(),
        "StartTime": timestamp(export.start_ms),
        "TableArn": table_arn(&export.arn),
        "TableId": export.table_id,
        "ExportTime": window.is_none().then(|| timestamp(export.time_ms)),
        "IncrementalExportSpecification": window,
        "ExportFormat": export.format().word(),
        "ExportType": export.type_text(),
        "ClientToken": echoed(&request, "ClientToken"),
        "S3Bucket": echoed(&request, "S3Bucket"),
        "S3BucketOwner": echoed(&request, "S3BucketOwner"),
        "S3Prefix": echoed(&request, "S3Prefix"),
        "S3SseAlgorithm": echoed(&request, "S3SseAlgorithm"),
        "S3SseKmsKeyId": echoed(&request, "S3SseKmsKeyId"),
        "FilterSpecification": echoed(&request, "FilterSpecification"),
        "EndTime": export.end_ms.map(timestamp),
        "BilledSizeBytes": is_over.then_some(export.bytes),
        "ItemCount": is_over.then_some(export.items),
        "ExportManifest": export.manifest,
        "FailureCode": export.failure.as_ref().map(|failure| &failure.code),
        "FailureMessage": export.failure.as_ref().map(|failure| &failure.message),
    };
    json!({ "ExportDescription": description })
}

/// The body of ListExports.
#[must_use]
pub fn exports_to_json(response: &ListTransfersResponse<Export>) -> Value {
    let summary = |of: &Export| json!({ "ExportArn": of.arn, "ExportStatus": of.status.word(), "ExportType": of.type_text() });
    object! {
        "ExportSummaries": response.transfers.iter().map(summary).collect::<Value>(),
        "NextToken": response.next.as_deref().map(token),
    }
}

/// The body of ImportTable and DescribeImport.
#[must_use]
pub fn import_to_json(import: &Import) -> Value {
    json!({ "ImportTableDescription": described(import, true) })
}

/// The body of ListImports.
#[must_use]
pub fn imports_to_json(response: &ListTransfersResponse<Import>) -> Value {
    object! {
        "ImportSummaryList": response.transfers.iter().map(|import| described(import, false)).collect::<Value>(),
        "NextToken": response.next.as_deref().map(token),
    }
}

fn described(import: &Import, is_whole: bool) -> Value {
    let request = request_of(&import.echo);
    let whole = |name: &str| echoed(&request, name).filter(|_| is_whole);
    let failure = import.failure.as_ref().filter(|_| is_whole);
    object! {
        "ImportArn": import.arn,
        "ImportStatus": import.status.word(),
        "TableArn": table_arn(&import.arn),
        "CloudWatchLogGroupArn": format!("arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws-dynamodb/imports:*"),
        "StartTime": timestamp(import.start_ms),
        "S3BucketSource": echoed(&request, "S3BucketSource"),
        "InputFormat": echoed(&request, "InputFormat"),
        "EndTime": import.end_ms.map(timestamp),
        "TableId": is_whole.then_some(&import.table_id),
        "ErrorCount": is_whole.then_some(import.errors),
        "ProcessedSizeBytes": is_whole.then_some(import.processed_bytes),
        "ProcessedItemCount": is_whole.then_some(import.processed_items),
        "ImportedItemCount": is_whole.then_some(import.imported_items),
        "ClientToken": whole("ClientToken"),
        "InputFormatOptions": whole("InputFormatOptions"),
        "InputCompressionType": whole("InputCompressionType"),
        "TableCreationParameters": whole("TableCreationParameters"),
        "FailureCode": failure.map(|failure| &failure.code),
        "FailureMessage": failure.map(|failure| &failure.message),
    }
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

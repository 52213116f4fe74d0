//! The JSON form of exports and imports (docs/dynamodb.md 20.3, 20.4): the parts that the
//! declarations in `model::api::transfer` do not generate, and the descriptions.

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

const SSE_ALGORITHM: Member =
    Member::new("S3SseAlgorithm", Shape::String).rules(&[Rule::OneOf(&["AES256", "KMS"])]);

/// The request's own text. Descriptions repeat members that nothing here reads.
#[derive(Debug)]
pub struct RequestText;

impl Group<String> for RequestText {
    fn read(members: Members<'_>, _: Sender) -> Result<String, WireError> {
        let mut out = Vec::new();
        let mut object = ObjectWriter::start(&mut out);
        members.iter().for_each(|(name, json)| {
            object
                .member(name)
                .extend_from_slice(json.to_string().as_bytes())
        });
        object.end();
        // Lossless: JSON is text.
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn check_export(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    members
        .get("S3Bucket")
        .map(|name| Bucket::read(name, Sender::Client))
        .transpose()?;
    Ok(None)
}

forms! {
    /// A text; an empty one counts as absent.
    NotEmpty of String, Shape::String, &[], |json, sender| Ok(String::read(json, sender)?.filter(|text| !text.is_empty()));
    Bucket of String, Shape::String, &[], |json, _| json.as_str().map(bucket).transpose();
    /// A column of CSV.
    Header of String, Shape::String, &[Rule::LengthMin(1), Rule::LengthMax(65536)], Plain::read;
}

static WINDOW: Structure = Structure {
    name: "IncrementalExportSpecification",
    members: &[
        Member::new("ExportFromTime", Shape::Long),
        Member::new("ExportToTime", Shape::Long),
        Member::new("ExportViewType", Shape::String)
            .rules(&[Rule::OneOf(&["NEW_IMAGE", "NEW_AND_OLD_IMAGES"])]),
    ],
};

/// `ExportType` with its members.
#[derive(Debug)]
pub struct Window;

impl Group<Option<WindowRequest>> for Window {
    const MEMBERS: &'static [Member] = &[
        Member::new("ExportType", Shape::String)
            .rules(&[Rule::OneOf(&["FULL_EXPORT", "INCREMENTAL_EXPORT"])]),
        Member::new("IncrementalExportSpecification", Shape::Structure(&WINDOW)),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<WindowRequest>, WireError> {
        Ok(window(members)?)
    }
}

/// Reads the window of an incremental export; `None` for a full one.
fn window(members: Members<'_>) -> Result<Option<WindowRequest>, RecoveryError> {
    let specification = members.structure("IncrementalExportSpecification");
    if members.string("ExportType") != Some("INCREMENTAL_EXPORT") {
        return match specification {
            None => Ok(None),
            Some(_) => Err(RecoveryError::Parameter(
                "IncrementalExportSpecification needs the ExportType INCREMENTAL_EXPORT",
            )),
        };
    }
    if members.has("ExportTime") {
        return Err(RecoveryError::Parameter(
            "ExportTime is of full exports: give ExportFromTime and ExportToTime",
        ));
    }
    let from_ms = specification.and_then(|of| of.time_ms("ExportFromTime"));
    Ok(Some(WindowRequest {
        from_ms: from_ms.ok_or(RecoveryError::Parameter(
            "INCREMENTAL_EXPORT needs IncrementalExportSpecification.ExportFromTime",
        ))?,
        to_ms: specification.and_then(|of| of.time_ms("ExportToTime")),
        view: specification
            .and_then(|of| of.word("ExportViewType"))
            .unwrap_or(ExportView::NewAndOldImages),
    }))
}

/// Checks a bucket name, `^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$`: none can leave the directory of
/// buckets.
fn bucket(name: &str) -> Result<String, WireError> {
    let inner = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let ends = [name.bytes().next(), name.bytes().next_back()];
    if name.len() < 2 || !inner || !ends.iter().flatten().all(u8::is_ascii_alphanumeric) {
        return Err(RecoveryError::Parameter("S3Bucket is not a bucket name").into());
    }
    Ok(name.to_owned())
}

/// The size of a page, by the name of either list.
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
        Ok(json.as_str().map(parse_token).transpose()?)
    }

    fn write(value: &String, out: &mut Vec<u8>) {
        string(&token(value), out);
    }
}

/// Returns an ARN as a token: hex digits, padded to a multiple of eight bytes.
fn token(arn: &str) -> String {
    let mut bytes = arn.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    hex(&bytes)
}

fn parse_token(token: &str) -> Result<String, ResourceError> {
    let bytes = unhex(token);
    let text = bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or(ResourceError::NextToken)?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// The table to be created, in the form of CreateTable.
#[derive(Debug)]
pub struct NewTable;

impl Group<CreateTableRequest> for NewTable {
    fn read(members: Members<'_>, _: Sender) -> Result<CreateTableRequest, WireError> {
        request(
            members
                .get("TableCreationParameters")
                .ok_or(WireError::NotAnObject)?,
        )
    }

    fn write(value: &CreateTableRequest, object: &mut ObjectWriter<'_>) {
        value.write(object.member("TableCreationParameters"));
    }
}

/// The character between the columns of CSV.
#[derive(Debug)]
pub struct Delimiter;

impl Form<u8> for Delimiter {
    const SHAPE: Shape = Shape::String;
    const RULES: &'static [Rule] = &[Rule::OneOf(&[",", "\t", ":", ";", "|", " "])];

    fn read(json: Json<'_>, _: Sender) -> Result<Option<u8>, WireError> {
        Ok(json.as_str().and_then(|text| text.bytes().next()))
    }

    fn write(value: &u8, out: &mut Vec<u8>) {
        string(char::from(*value).encode_utf8(&mut [0; 2]), out);
    }
}

tree_bodies! {
    Export: export_to_json;
    ListTransfersResponse<Export>: exports_to_json;
    Import: |import| json!({ "ImportTableDescription": described(import, true) });
    ListTransfersResponse<Import>: imports_to_json;
}

/// Returns the table's ARN within an export's or import's.
fn table_arn(arn: &str) -> &str {
    arn.rsplitn(3, '/').last().unwrap_or_default()
}

/// Returns the request, whose members the description repeats.
fn request_of(echo: &str) -> Value {
    let request = serde_json::from_str(echo);
    debug_assert!(request.is_ok(), "records without a request are corrupt");
    request.unwrap_or(Value::Null)
}

/// Returns the body of ExportTableToPointInTime and DescribeExport.
fn export_to_json(export: &Export) -> Value {
    let request = request_of(&export.echo);
    let window = export.window.as_ref().map(|window| {
        json!({
            "ExportFromTime": timestamp(window.from_ms), "ExportToTime": timestamp(window.to_ms),
            "ExportViewType": window.view.as_str(),
        })
    });
    let is_over = export.end_ms.is_some();
    let description = object! {
        "ExportArn": export.arn,
        "ExportStatus": export.status.as_str(),
        "StartTime": timestamp(export.start_ms),
        "TableArn": table_arn(&export.arn),
        "TableId": export.table_id,
        "ExportTime": window.is_none().then(|| timestamp(export.time_ms)),
        "IncrementalExportSpecification": window,
        "ExportFormat": export.format().as_str(),
        "ExportType": export.type_text(),
        "ClientToken": request.get("ClientToken"),
        "S3Bucket": request.get("S3Bucket"),
        "S3BucketOwner": request.get("S3BucketOwner"),
        "S3Prefix": request.get("S3Prefix"),
        "S3SseAlgorithm": request.get("S3SseAlgorithm"),
        "S3SseKmsKeyId": request.get("S3SseKmsKeyId"),
        "FilterSpecification": request.get("FilterSpecification"),
        "EndTime": export.end_ms.map(timestamp),
        "BilledSizeBytes": is_over.then_some(export.bytes),
        "ItemCount": is_over.then_some(export.items),
        "ExportManifest": export.manifest,
        "FailureCode": export.failure.as_ref().map(|failure| &failure.code),
        "FailureMessage": export.failure.as_ref().map(|failure| &failure.message),
    };
    json!({ "ExportDescription": description })
}

/// Returns the body of ListExports.
fn exports_to_json(response: &ListTransfersResponse<Export>) -> Value {
    let summary = |of: &Export| json!({ "ExportArn": of.arn, "ExportStatus": of.status.as_str(), "ExportType": of.type_text() });
    object! {
        "ExportSummaries": response.transfers.iter().map(summary).collect::<Value>(),
        "NextToken": response.next.as_deref().map(token),
    }
}

/// Returns the body of ListImports.
fn imports_to_json(response: &ListTransfersResponse<Import>) -> Value {
    object! {
        "ImportSummaryList": response.transfers.iter().map(|import| described(import, false)).collect::<Value>(),
        "NextToken": response.next.as_deref().map(token),
    }
}

fn described(import: &Import, is_whole: bool) -> Value {
    let request = request_of(&import.echo);
    let whole = |name: &str| request.get(name).filter(|_| is_whole);
    let failure = import.failure.as_ref().filter(|_| is_whole);
    object! {
        "ImportArn": import.arn,
        "ImportStatus": import.status.as_str(),
        "TableArn": table_arn(&import.arn),
        "CloudWatchLogGroupArn": format!("arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws-dynamodb/imports:*"),
        "StartTime": timestamp(import.start_ms),
        "S3BucketSource": request.get("S3BucketSource"),
        "InputFormat": request.get("InputFormat"),
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

    #[test]
    fn tokens_round_trip() {
        let arn =
            "arn:aws:dynamodb:us-east-1:000000000000:table/abc/import/01700000000000-01234567";
        assert_eq!(parse_token(&token(arn)), Ok(arn.to_owned()));
        assert!(token(arn).len().is_multiple_of(16));
        assert_eq!(parse_token("xyz"), Err(ResourceError::NextToken));
        assert_eq!(
            table_arn(arn),
            "arn:aws:dynamodb:us-east-1:000000000000:table/abc"
        );
    }

    #[test]
    fn bucket_names_stay_in_their_directory() {
        for (name, is_good) in [
            ("a.b-c_d", true),
            ("ab", true),
            ("..", false),
            ("a/b", false),
            (".a", false),
            ("a", false),
        ] {
            assert_eq!(bucket(name).is_ok(), is_good, "{name}");
        }
    }
}

//! The files of an export: compressed lines of items, manifests, checksums (docs/dynamodb.md 20.3).

use std::io::{self, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use md5::{Digest, Md5};
use serde_json::{Value, json};

use super::export_filter::Selected;
use crate::codec::json::document::Document;
use crate::codec::wire::transfer;
use crate::codec::{calendar, digest};
use crate::engine::account::ExportRecord;
use crate::engine::base::keys::Space;
use crate::engine::base::walks;
use crate::engine::jobs::buckets;
use crate::engine::runtime::Shared;
use crate::model::Word;
use crate::model::api::transfer::{Export, ExportFormat, ION};
use crate::model::error::StoreError;
use crate::model::{Error, arn};

/// Uncompressed bytes of a data file after which the next one begins.
const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Uncompressed bytes read in one view.
const PIECE_BYTES_MAX: usize = 1024 * 1024;
/// `version` of a full export's manifest.
const MANIFEST_VERSION: &str = "2020-06-30";
/// That of an incremental one's (developer guide, "DynamoDB table export output format").
const INCREMENTAL_MANIFEST_VERSION: &str = "2023-08-01";

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Engine(#[from] Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// Key of `manifest-summary.json`.
    pub manifest: String,
    /// Lines of the data files.
    pub items: u64,
    /// Of the items in them.
    pub bytes: u64,
}

/// A data file under way.
struct DataFile {
    encoder: GzEncoder<Vec<u8>>,
    items: u64,
    bytes: usize,
}

impl DataFile {
    fn new() -> Self {
        Self { encoder: GzEncoder::new(Vec::new(), Compression::default()), items: 0, bytes: 0 }
    }
}

/// Writes all files.
///
/// # Errors
/// Those of the store and of the directories.
pub fn write(shared: &Shared, record: &ExportRecord) -> Result<Written, WriteError> {
    // One that an earlier version began.
    if record.export.format() == ExportFormat::Ion {
        return Err(io::Error::new(io::ErrorKind::Unsupported, Error::NotSupported(ION)).into());
    }
    let request: Value = serde_json::from_str(&record.export.echo).unwrap_or(Value::Null);
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let id = record.export.arn.rsplit('/').next().unwrap_or_default();
    let prefix = text("S3Prefix").unwrap_or_default().trim_end_matches('/');
    let above = if prefix.is_empty() { "AWSDynamoDB".to_owned() } else { format!("{prefix}/AWSDynamoDB") };
    let key = format!("{above}/{id}");
    // The data of incremental exports is in one directory.
    let data_key = if record.export.window.is_some() { format!("{above}/data") } else { format!("{key}/data") };
    let bucket = buckets::root(shared).map_err(Error::from)?.join(text("S3Bucket").unwrap_or_default());
    let directory = bucket.join(buckets::relative(&key).map_err(Error::from)?);
    let data = bucket.join(buckets::relative(&data_key).map_err(Error::from)?);
    buckets::make_directory(&directory)?;
    buckets::make_directory(&data)?;
    buckets::write(&directory.join("_started"), b"")?;

    let (lines, (items, bytes)) = write_items(shared, record, (&data, &data_key))?;
    with_checksum(&directory, "manifest-files", lines.as_bytes())?;
    let mut summary = json!({
        "version": MANIFEST_VERSION,
        "exportArn": record.export.arn,
        "startTime": calendar::iso(record.export.start_ms),
        "endTime": calendar::iso(shared.now_ms()),
        "tableArn": record.export.arn.rsplitn(3, '/').last(),
        "tableId": record.export.table_id,
        "s3Bucket": text("S3Bucket"),
        "s3Prefix": text("S3Prefix"),
        "s3SseAlgorithm": text("S3SseAlgorithm").unwrap_or("AES256"),
        "s3SseKmsKeyId": text("S3SseKmsKeyId"),
        "manifestFilesS3Key": format!("{key}/manifest-files.json"),
        "billedSizeBytes": bytes,
        "itemCount": items,
        "outputFormat": record.export.format().word(),
        "exportType": record.export.type_text(),
        "region": arn::REGION,
    });
    match &record.export.window {
        None => summary["exportTime"] = json!(calendar::iso(record.export.time_ms)),
        Some(window) => {
            summary["version"] = json!(INCREMENTAL_MANIFEST_VERSION);
            summary["exportFromTime"] = json!(calendar::iso(window.from_ms));
            summary["exportToTime"] = json!(calendar::iso(window.to_ms));
            summary["outputView"] = json!(window.view.word());
        }
    }
    with_checksum(&directory, "manifest-summary", summary.to_string().as_bytes())?;
    Ok(Written { manifest: format!("{key}/manifest-summary.json"), items, bytes })
}

fn with_checksum(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    buckets::write(&directory.join(format!("{name}.json")), bytes)?;
    buckets::write(&directory.join(format!("{name}.checksum")), STANDARD.encode(Md5::digest(bytes)).as_bytes())
}

/// Lines, and bytes of the items in them.
type Counts = (u64, u64);

/// Writes the data files into a directory with that key; the lines of `manifest-files.json`.
fn write_items(shared: &Shared, record: &ExportRecord, data: (&Path, &str)) -> Result<(String, Counts), WriteError> {
    let selected = selected(record)?;
    let mut counts = (0, 0);
    let mut manifest = String::new();
    let mut number = 0_u32;
    let mut file = DataFile::new();
    let mut after = None;
    loop {
        let (lines, (items, bytes), last) = piece(shared, (record, &selected), after.take())?;
        counts = (counts.0 + items, counts.1 + bytes);
        file.encoder.write_all(&lines)?;
        file.items += items;
        file.bytes += lines.len();
        let is_end = last.is_none();
        if (is_end && (file.items > 0 || number == 0)) || file.bytes >= FILE_BYTES_MAX {
            let full = std::mem::replace(&mut file, DataFile::new());
            manifest.push_str(&finish(full, data, &file_name(&record.export, number))?);
            number += 1;
        }
        match last {
            Some(last) => after = Some(last),
            None => return Ok((manifest, counts)),
        }
    }
}

/// A name like the service's, the same for the same file of the same export.
fn file_name(export: &Export, number: u32) -> String {
    let bytes = digest::digest(format!("{}/{number}", export.arn).as_bytes());
    let hex = digest::hex(&bytes[..13]);
    format!("{hex}.json.gz")
}

fn finish(file: DataFile, (directory, key): (&Path, &str), name: &str) -> io::Result<String> {
    let bytes = file.encoder.finish()?;
    buckets::write(&directory.join(name), &bytes)?;
    let checksum = Md5::digest(&bytes);
    let etag = digest::hex(&checksum);
    let line = json!({
        "itemCount": file.items,
        "md5Checksum": STANDARD.encode(checksum),
        "etag": format!("{etag}-1"),
        "dataFileS3Key": format!("{key}/{name}"),
    });
    Ok(format!("{line}\n"))
}

/// Lines of the items after a key, their counts, and the last key, if there may be more.
type Piece = (Vec<u8>, Counts, Option<Vec<u8>>);

/// What the request says of the lines.
fn selected(record: &ExportRecord) -> Result<Selected, WriteError> {
    const DAMAGED: StoreError = StoreError::Corrupt("an export's request");
    let json = Document::parse(record.export.echo.clone().into_bytes()).map_err(|_| DAMAGED)?;
    let request = transfer::export_request(json.root()).map_err(|_| DAMAGED)?;
    Ok(Selected::parse(&request.filter)?)
}

fn piece(shared: &Shared, (record, selected): (&ExportRecord, &Selected), after: Option<Vec<u8>>) -> Result<Piece, StoreError> {
    let range = Space::Entry.of(record.source).after(after);
    let (mut lines, mut counts) = (Vec::new(), (0, 0));
    let last = walks::piece(&*shared.store.snapshot()?, &range, (usize::MAX, PIECE_BYTES_MAX), |_, bytes| {
        let before = lines.len();
        let written = match &record.export.window {
            None => selected.item(bytes, &mut lines)?,
            Some(window) => selected.change(bytes, window, &mut lines)?,
        };
        counts = (counts.0 + u64::from(written.is_some()), counts.1 + written.unwrap_or_default());
        Ok(lines.len() - before)
    })?;
    Ok((lines, counts, last))
}

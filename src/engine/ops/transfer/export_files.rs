//! The files of an export: compressed lines of items, manifests, checksums (SEMANTICS 20.3).

use std::fs;
use std::io::{self, Write};
use std::ops::{Bound, ControlFlow};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use md5::{Digest, Md5};
use serde_json::{Value, json};

use super::buckets;
use crate::codec::record::Record;
use crate::codec::wire::table_description;
use crate::codec::{calendar, digest};
use crate::engine::jobs::ExportRecord;
use crate::engine::{Shared, keys};
use crate::model::Error;
use crate::model::error::StoreError;
use crate::store::Direction;

/// Uncompressed bytes of a data file after which the next one begins.
const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Uncompressed bytes read in one view.
const PIECE_BYTES_MAX: usize = 1024 * 1024;
/// `version` of the manifest.
const MANIFEST_VERSION: &str = "2020-06-30";

/// Why an export's files were not written.
#[derive(Debug)]
pub enum WriteError {
    Engine(Error),
    Io(io::Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
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

/// Writes all files; the key of the manifest.
pub fn write(shared: &Shared, record: &ExportRecord) -> Result<String, WriteError> {
    let request: Value = serde_json::from_str(&record.export.echo).unwrap_or(Value::Null);
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let id = record.export.arn.rsplit('/').next().unwrap_or_default();
    let prefix = text("S3Prefix").unwrap_or_default().trim_end_matches('/');
    let key = if prefix.is_empty() { format!("AWSDynamoDB/{id}") } else { format!("{prefix}/AWSDynamoDB/{id}") };
    let bucket = buckets::root(shared).map_err(Error::from)?.join(text("S3Bucket").unwrap_or_default());
    let directory = bucket.join(buckets::relative(&key).map_err(Error::from)?);
    fs::create_dir_all(directory.join("data"))?;
    buckets::write(&directory.join("_started"), b"")?;

    let lines = write_items(shared, record, &directory, &key)?;
    with_checksum(&directory, "manifest-files", lines.as_bytes())?;
    let summary = json!({
        "version": MANIFEST_VERSION,
        "exportArn": record.export.arn,
        "startTime": calendar::iso(record.export.start_ms),
        "endTime": calendar::iso(shared.options.clock.now_ms()),
        "tableArn": record.export.arn.rsplitn(3, '/').last(),
        "tableId": record.export.table_id,
        "exportTime": calendar::iso(record.export.time_ms),
        "s3Bucket": text("S3Bucket"),
        "s3Prefix": text("S3Prefix"),
        "s3SseAlgorithm": text("S3SseAlgorithm").unwrap_or("AES256"),
        "s3SseKmsKeyId": text("S3SseKmsKeyId"),
        "manifestFilesS3Key": format!("{key}/manifest-files.json"),
        "billedSizeBytes": record.bytes,
        "itemCount": record.items,
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
        "region": table_description::REGION,
    });
    with_checksum(&directory, "manifest-summary", summary.to_string().as_bytes())?;
    Ok(format!("{key}/manifest-summary.json"))
}

fn with_checksum(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    buckets::write(&directory.join(format!("{name}.json")), bytes)?;
    buckets::write(&directory.join(format!("{name}.checksum")), STANDARD.encode(Md5::digest(bytes)).as_bytes())
}

/// Writes the data files; the lines of `manifest-files.json`.
fn write_items(shared: &Shared, record: &ExportRecord, directory: &Path, key: &str) -> Result<String, WriteError> {
    let mut manifest = String::new();
    let mut number = 0_u32;
    let mut file = DataFile::new();
    let mut after = None;
    loop {
        let (lines, items, last) = piece(shared, record, after.as_deref())?;
        file.encoder.write_all(&lines)?;
        file.items += items;
        file.bytes += lines.len();
        let is_end = last.is_none();
        if (is_end && (file.items > 0 || number == 0)) || file.bytes >= FILE_BYTES_MAX {
            let full = std::mem::replace(&mut file, DataFile::new());
            manifest.push_str(&finish(full, (directory, key), &file_name(&record.export.arn, number))?);
            number += 1;
        }
        match last {
            Some(last) => after = Some(last),
            None => return Ok(manifest),
        }
    }
}

/// A name like the service's, the same for the same file of the same export.
fn file_name(arn: &str, number: u32) -> String {
    let bytes = digest::digest(format!("{arn}/{number}").as_bytes());
    let hex: String = bytes.iter().take(13).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}.json.gz")
}

fn finish(file: DataFile, (directory, key): (&Path, &str), name: &str) -> io::Result<String> {
    let bytes = file.encoder.finish()?;
    buckets::write(&directory.join("data").join(name), &bytes)?;
    let checksum = Md5::digest(&bytes);
    let etag: String = checksum.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = json!({
        "itemCount": file.items,
        "md5Checksum": STANDARD.encode(checksum),
        "etag": format!("{etag}-1"),
        "dataFileS3Key": format!("{key}/data/{name}"),
    });
    Ok(format!("{line}\n"))
}

/// Lines of the items after a key, how many, and the last key, if there may be more.
type Piece = (Vec<u8>, u64, Option<Vec<u8>>);

fn piece(shared: &Shared, record: &ExportRecord, after: Option<&[u8]>) -> Result<Piece, StoreError> {
    let mut range = keys::entries(record.source);
    if let Some(after) = after {
        range.lower = Bound::Excluded(after.to_vec());
    }
    let (mut lines, mut items, mut last) = (Vec::new(), 0, None);
    let mut failure = None;
    shared.store.snapshot()?.walk(&range, Direction::Forward, &mut |key, bytes| {
        lines.extend_from_slice(b"{\"Item\":");
        let written = Record::parse(bytes).and_then(|record| record.write_dynamodb_json(&|_| true, &mut lines));
        lines.extend_from_slice(b"}\n");
        items += 1;
        failure = written.err();
        if failure.is_some() || lines.len() >= PIECE_BYTES_MAX {
            last = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    failure.map_or(Ok((lines, items, last)), Err)
}

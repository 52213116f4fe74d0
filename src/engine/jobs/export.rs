//! The last phase of an export: a thread writes its files, compressed JSON lines with manifests and
//! checksums, from the items that a job copied (docs/dynamodb.md 20.3).

use std::{
    io::{self, Write},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use md5::{Digest, Md5};
use serde_json::{Value, json};

use super::{
    buckets::{self, spawn_transfer},
    changes::ChangedItem,
};
use crate::codec::{calendar, digest, dynamodb_json, json::document::Document, wire};
use crate::engine::{
    account::{AccountRecord, ExportRecord},
    purge,
    runtime::prelude::*,
};
use crate::expr::{
    Condition, KeyConditionShape, KeySchemaView, PlaceholderScope, ProjectionPaths, condition,
    key_condition, projection,
};
use crate::model::{
    ApiEnum, KeySchema,
    api::{
        common::JobFailure,
        transfer::{
            Export, ExportFilter, ExportFormat, ExportRequest, ExportView, ExportWindow, ION_FORMAT,
        },
    },
    arn,
    error::{QueryError, expression::ExpressionParameter},
};

/// Writes an export's files on a thread of its own, then removes its copy.
pub fn write(shared: &Arc<EngineShared>, arn: String) {
    let shared = Arc::clone(shared);
    spawn_transfer("export", arn, move |arn| write_all(&shared, arn));
}

fn write_all(shared: &Arc<EngineShared>, arn: &str) -> Result<(), Error> {
    let record = ExportRecord::get(&*shared.store.snapshot()?, arn)?;
    let Some(record) = record else { return Ok(()) };
    let written = match write_files(shared, &record) {
        Err(WriteError::Engine(error)) => return Err(error),
        Err(WriteError::Io(error)) => Err(error.to_string()),
        Ok(written) => Ok(written),
    };
    let (arn, source) = (arn.to_owned(), record.source);
    shared.submit_and_wait(move |transaction| {
        // The copy is removed, so that this needs no space on a full disk.
        transaction.mark_removal();
        let now_ms = transaction.now_ms();
        ExportRecord::change(transaction.batch, &arn, |record| {
            if let Ok(ExportFiles {
                manifest,
                items,
                bytes,
            }) = &written
            {
                (record.export.items, record.export.bytes) = (*items, *bytes);
                record.export.manifest = Some(manifest.clone());
            }
            let failure = written.as_ref().err().map(|message| JobFailure {
                code: "S3Error".to_owned(),
                message: message.clone(),
            });
            record.finish(now_ms, failure);
        })?;
        Ok(purge::mark(transaction, source)?)
    })?;
    purge::start(Arc::clone(shared), source);
    Ok(())
}

// The files of an export: compressed lines of items, manifests, checksums (docs/dynamodb.md 20.3).

/// Uncompressed bytes of a data file after which the next one begins.
const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Uncompressed bytes read in one snapshot.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// `version` of a full export's manifest.
const MANIFEST_VERSION: &str = "2020-06-30";
/// `version` of an incremental export's manifest (developer guide, "DynamoDB table export output
/// format").
const INCREMENTAL_MANIFEST_VERSION: &str = "2023-08-01";

const DAMAGED: StoreError = StoreError::Corrupt("an export's request");

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

/// The result of writing an export's files.
#[derive(Debug)]
pub struct ExportFiles {
    /// The key of `manifest-summary.json`.
    pub manifest: String,
    /// Lines of the data files.
    pub items: u64,
    /// The bytes of the items in them.
    pub bytes: u64,
}

/// A data file being written.
struct DataFile {
    encoder: GzEncoder<Vec<u8>>,
    items: u64,
    bytes: usize,
}

impl DataFile {
    fn new() -> Self {
        Self {
            encoder: GzEncoder::new(Vec::new(), Compression::default()),
            items: 0,
            bytes: 0,
        }
    }
}

/// Writes all files.
pub fn write_files(
    shared: &EngineShared,
    record: &ExportRecord,
) -> Result<ExportFiles, WriteError> {
    let request: Value = serde_json::from_str(&record.export.echo).map_err(|_| DAMAGED)?;
    // Only an earlier version of ddbfs can have begun such an export.
    if record.export.format() == ExportFormat::Ion {
        return Err(
            io::Error::new(io::ErrorKind::Unsupported, Error::NotSupported(ION_FORMAT)).into(),
        );
    }
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let (_, id) = record.export.arn.rsplit_once('/').ok_or(DAMAGED)?;
    let prefix = text("S3Prefix").unwrap_or_default().trim_end_matches('/');
    let above = if prefix.is_empty() {
        "AWSDynamoDB".to_owned()
    } else {
        format!("{prefix}/AWSDynamoDB")
    };
    let key = format!("{above}/{id}");
    // The data of incremental exports is in one directory.
    let data_key = if record.export.window.is_some() {
        format!("{above}/data")
    } else {
        format!("{key}/data")
    };
    let bucket = buckets::root(shared)
        .map_err(Error::from)?
        .join(text("S3Bucket").ok_or(DAMAGED)?);
    let directory = bucket.join(buckets::relative_path(&key).map_err(Error::from)?);
    let data = bucket.join(buckets::relative_path(&data_key).map_err(Error::from)?);
    buckets::create_directory(&directory)?;
    buckets::create_directory(&data)?;
    buckets::write_file(&directory.join("_started"), b"")?;

    let (lines, (items, bytes)) = write_items(shared, record, &data, &data_key)?;
    write_with_checksum(&directory, "manifest-files", lines.as_bytes())?;
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
        "outputFormat": record.export.format().as_str(),
        "exportType": record.export.type_text(),
        "region": arn::REGION,
    });
    match &record.export.window {
        None => summary["exportTime"] = json!(calendar::iso(record.export.time_ms)),
        Some(window) => {
            summary["version"] = json!(INCREMENTAL_MANIFEST_VERSION);
            summary["exportFromTime"] = json!(calendar::iso(window.from_ms));
            summary["exportToTime"] = json!(calendar::iso(window.to_ms));
            summary["outputView"] = json!(window.view.as_str());
        }
    }
    write_with_checksum(
        &directory,
        "manifest-summary",
        summary.to_string().as_bytes(),
    )?;
    Ok(ExportFiles {
        manifest: format!("{key}/manifest-summary.json"),
        items,
        bytes,
    })
}

fn write_with_checksum(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    buckets::write_file(&directory.join(format!("{name}.json")), bytes)?;
    buckets::write_file(
        &directory.join(format!("{name}.checksum")),
        STANDARD.encode(Md5::digest(bytes)).as_bytes(),
    )
}

/// Lines, and bytes of the items in them.
type Counts = (u64, u64);

/// Writes the data files into the directory with this key; returns the lines of
/// `manifest-files.json`.
fn write_items(
    shared: &EngineShared,
    record: &ExportRecord,
    directory: &Path,
    key: &str,
) -> Result<(String, Counts), WriteError> {
    let selected = parse_selection(record)?;
    let mut counts = (0, 0);
    let mut manifest = String::new();
    let mut number = 0_u32;
    let mut file = DataFile::new();
    let mut after = None;
    loop {
        let (lines, (items, bytes), last) = read_batch(shared, record, &selected, after.take())?;
        counts = (counts.0 + items, counts.1 + bytes);
        file.encoder.write_all(&lines)?;
        file.items += items;
        file.bytes += lines.len();
        let is_end = last.is_none();
        if (is_end && (file.items > 0 || number == 0)) || file.bytes >= FILE_BYTES_MAX {
            let full = std::mem::replace(&mut file, DataFile::new());
            let name = file_name(&record.export, number);
            manifest.push_str(&finish(full, directory, key, &name)?);
            number += 1;
        }
        match last {
            Some(last) => after = Some(last),
            None => return Ok((manifest, counts)),
        }
    }
}

/// Returns a name like the service's, the same for the same file of the same export.
fn file_name(export: &Export, number: u32) -> String {
    let bytes = digest::digest(format!("{}/{number}", export.arn).as_bytes());
    let hex = digest::hex(&bytes[..13]);
    format!("{hex}.json.gz")
}

fn finish(file: DataFile, directory: &Path, key: &str, name: &str) -> io::Result<String> {
    let bytes = file.encoder.finish()?;
    buckets::write_file(&directory.join(name), &bytes)?;
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
type ExportBatch = (Vec<u8>, Counts, Option<Vec<u8>>);

/// Parses the filter of the export's request.
fn parse_selection(record: &ExportRecord) -> Result<ExportSelection, WriteError> {
    let json = Document::parse(record.export.echo.clone().into_bytes()).map_err(|_| DAMAGED)?;
    let request = wire::request::<ExportRequest>(json.root()).map_err(|_| DAMAGED)?;
    Ok(ExportSelection::parse(&request.filter)?)
}

fn read_batch(
    shared: &EngineShared,
    record: &ExportRecord,
    selected: &ExportSelection,
    after: Option<Vec<u8>>,
) -> Result<ExportBatch, StoreError> {
    let range = Space::Entry.range(record.source).after(after);
    let (mut lines, mut counts) = (Vec::new(), (0, 0));
    let last = walks::batch(
        &*shared.store.snapshot()?,
        &range,
        usize::MAX,
        BATCH_BYTES_MAX,
        |_, bytes| {
            let before = lines.len();
            let written = match &record.export.window {
                None => selected.write_item(bytes, &mut lines)?,
                Some(window) => selected.write_change(bytes, window, &mut lines)?,
            };
            counts = (
                counts.0 + u64::from(written.is_some()),
                counts.1 + written.unwrap_or_default(),
            );
            Ok(lines.len() - before)
        },
    )?;
    Ok((lines, counts, last))
}

// The lines of an export's data files (docs/dynamodb.md 20.3): items of a full export, changes of
// an incremental one, as DynamoDB JSON.

impl ExportSelection {
    /// Writes `{"Item":{…}}` of a record and returns its item's bytes, or `None` for an item that
    /// the filter leaves out. Fails with `Corrupt` for a damaged record.
    pub fn write_item(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        let record = Record::parse(bytes)?;
        if !self.matches(&record)? {
            return Ok(None);
        }
        out.extend_from_slice(b"{\"Item\":");
        self.write_image(&record, out)?;
        out.extend_from_slice(b"}\n");
        Ok(Some(record.item_bytes().into()))
    }

    /// Writes
    /// `{"Metadata":{"WriteTimestampMicros":{"N":"…"}},"Keys":{…},"NewImage":{…},"OldImage":{…}}`
    /// of a collected change, without images that do not exist or that the view type leaves out,
    /// and returns the bytes of its items. Returns `None` for an item that was added and deleted
    /// within the window, or of which the filter leaves out both images. Fails with `Corrupt` for a
    /// damaged record.
    pub fn write_change(
        &self,
        bytes: &[u8],
        window: &ExportWindow,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, StoreError> {
        let change = ChangedItem::parse(bytes)?;
        let Some(any) = change.new.or(change.old) else {
            return Ok(None);
        };
        let mut is_kept = false;
        for image in [change.new, change.old].into_iter().flatten() {
            is_kept |= self.matches(&Record::parse(image)?)?;
        }
        if !is_kept {
            return Ok(None);
        }
        let micros = u128::from(change.time_ms) * 1000;
        out.extend_from_slice(
            format!("{{\"Metadata\":{{\"WriteTimestampMicros\":{{\"N\":\"{micros}\"}}}}")
                .as_bytes(),
        );
        begin_member("Keys", out);
        Record::parse(any)?
            .write_dynamodb_json(&|name| window.key_names.iter().any(|key| key == name), out)?;
        let old = change
            .old
            .filter(|_| window.view == ExportView::NewAndOldImages);
        let mut item_bytes = 0;
        for (name, image) in [("NewImage", change.new), ("OldImage", old)] {
            let Some(image) = image else { continue };
            let record = Record::parse(image)?;
            begin_member(name, out);
            self.write_image(&record, out)?;
            item_bytes += u64::from(record.item_bytes());
        }
        out.extend_from_slice(b"}\n");
        Ok(Some(item_bytes))
    }

    /// Writes an item, or the projected part of it.
    fn write_image(&self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match self.project(record)? {
            None => record.write_dynamodb_json(&|_| true, out)?,
            Some(part) => dynamodb_json::write_item(&part, out),
        }
        Ok(())
    }
}

/// Begins a member; its value follows.
fn begin_member(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"{name}\":").as_bytes());
}

// `FilterSpecification` of an export: the exported items, and their exported attributes (API
// reference, FilterSpecification).

/// A parsed filter specification.
#[derive(Debug, Default)]
pub struct ExportSelection {
    key_condition: Option<Condition>,
    filter: Option<Condition>,
    projection: Option<ProjectionPaths>,
}

impl ExportSelection {
    /// Parses the expressions of an export request. Fails with `Expression` if one is malformed.
    pub fn parse(requested: &ExportFilter) -> Result<Self, Error> {
        let has_condition =
            requested.key_condition_expression.is_some() || requested.filter_expression.is_some();
        let values_missing = (!has_condition).then_some(ExpressionParameter::OF_QUERY);
        let any_expression = has_condition || requested.projection_expression.is_some();
        let mut scope =
            PlaceholderScope::checked(&requested.placeholders, any_expression, values_missing)?;
        let key_condition = requested.key_condition_expression.as_deref();
        let key_condition = key_condition
            .map(|text| key_condition::parse(text, &mut scope))
            .transpose()?;
        let filter = requested.filter_expression.as_deref();
        let filter = filter
            .map(|text| condition::parse_parameter(text, ExpressionParameter::Filter, &mut scope))
            .transpose()?;
        let projection = requested.projection_expression.as_deref();
        let projection = projection
            .map(|text| projection::parse(text, &mut scope))
            .transpose()?;
        scope.finish()?;
        Ok(Self {
            key_condition,
            filter,
            projection,
        })
    }

    /// Checks the expressions against the table's key: the key condition must be valid for it, and
    /// the filter of an export with a key condition must not name key attributes. Fails with
    /// `Expression`, `Key` or `Query`.
    pub fn check(&self, key: &KeySchema) -> Result<(), Error> {
        let Some(condition) = &self.key_condition else {
            return Ok(());
        };
        KeyConditionShape::from_condition(condition.clone())?.resolve(KeySchemaView::from(key))?;
        let names = self
            .filter
            .as_ref()
            .map(Condition::attribute_names)
            .unwrap_or_default();
        match names.into_iter().find(|name| key.contains(name)) {
            Some(name) => Err(QueryError::FilterOnKey {
                parameter: "Filter Expression",
                name: name.to_owned(),
            }
            .into()),
            None => Ok(()),
        }
    }

    /// True if the item is in the export. Fails with `Corrupt` for a damaged record.
    pub fn matches(&self, record: &Record<'_>) -> Result<bool, StoreError> {
        if self.key_condition.is_none() && self.filter.is_none() {
            return Ok(true);
        }
        let item = record.to_item()?;
        Ok(self
            .key_condition
            .iter()
            .chain(&self.filter)
            .all(|condition| condition.holds(&item)))
    }

    /// Returns the part of the item that is in the export, or `None` if the whole item is. Fails
    /// with `Corrupt` for a damaged record.
    pub fn project(&self, record: &Record<'_>) -> Result<Option<Item>, StoreError> {
        let Some(projection) = &self.projection else {
            return Ok(None);
        };
        Ok(Some(projection.apply(&record.to_item()?)))
    }
}

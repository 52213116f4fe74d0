//! The lines of an export's data files (SEMANTICS 20.3): items of a full one, changes of an incremental one, as JSON or as Ion text.

use crate::codec::ion;
use crate::codec::record::Record;
use crate::engine::jobs::Change;
use crate::model::api::transfer::{ExportFormat, ExportView, ExportWindow};
use crate::model::error::StoreError;

/// `{"Item":{…}}` of a record; its item's bytes.
///
/// # Errors
/// `Corrupt`.
pub fn item(bytes: &[u8], format: ExportFormat, out: &mut Vec<u8>) -> Result<u64, StoreError> {
    let record = Record::parse(bytes)?;
    begin(format, "Item", out);
    write(&record, format, &|_| true, out)?;
    out.extend_from_slice(b"}\n");
    Ok(record.item_bytes().into())
}

/// `{"Metadata":{"WriteTimestampMicros":{"N":"…"}},"Keys":{…},"NewImage":{…},"OldImage":{…}}` of a gathered change, without the images
/// that there are not or that the view leaves out; the bytes of its items. Nothing for an item that came and went in the window.
///
/// # Errors
/// `Corrupt`.
pub fn change(bytes: &[u8], window: &ExportWindow, format: ExportFormat, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
    let change = Change::parse(bytes)?;
    let Some(any) = change.new.or(change.old) else { return Ok(None) };
    let micros = u128::from(change.time_ms) * 1000;
    begin(format, "Metadata", out);
    out.extend_from_slice(
        match format {
            ExportFormat::DynamoDbJson => format!("{{\"WriteTimestampMicros\":{{\"N\":\"{micros}\"}}}}").into_bytes(),
            ExportFormat::Ion => format!("{{WriteTimestampMicros:{micros}.}}").into_bytes(),
        }
        .as_slice(),
    );
    member(format, "Keys", out);
    write(&Record::parse(any)?, format, &|name| window.key_names.iter().any(|key| key == name), out)?;
    let old = change.old.filter(|_| window.view == ExportView::NewAndOldImages);
    let mut item_bytes = 0;
    for (name, image) in [("NewImage", change.new), ("OldImage", old)] {
        let Some(image) = image else { continue };
        let record = Record::parse(image)?;
        member(format, name, out);
        write(&record, format, &|_| true, out)?;
        item_bytes += u64::from(record.item_bytes());
    }
    out.extend_from_slice(b"}\n");
    Ok(Some(item_bytes))
}

/// A line up to its first member's value.
fn begin(format: ExportFormat, name: &str, out: &mut Vec<u8>) {
    let text = match format {
        ExportFormat::DynamoDbJson => format!("{{\"{name}\":"),
        ExportFormat::Ion => format!("{} {{{name}:", ion::VERSION),
    };
    out.extend_from_slice(text.as_bytes());
}

/// A further member up to its value.
fn member(format: ExportFormat, name: &str, out: &mut Vec<u8>) {
    let text = match format {
        ExportFormat::DynamoDbJson => format!(",\"{name}\":"),
        ExportFormat::Ion => format!(",{name}:"),
    };
    out.extend_from_slice(text.as_bytes());
}

/// The attributes of a record that `keep` accepts.
fn write(record: &Record<'_>, format: ExportFormat, keep: &dyn Fn(&str) -> bool, out: &mut Vec<u8>) -> Result<(), StoreError> {
    match format {
        ExportFormat::DynamoDbJson => record.write_dynamodb_json(keep, out),
        ExportFormat::Ion => record.write_ion(keep, out),
    }
}

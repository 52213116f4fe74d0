//! The lines of an export's data files (SEMANTICS 20.3): items of a full one, changes of an incremental one.

use crate::codec::record::Record;
use crate::engine::jobs::Change;
use crate::model::api::transfer::{ExportView, ExportWindow};
use crate::model::error::StoreError;

/// `{"Item":{…}}` of a record; its item's bytes.
///
/// # Errors
/// `Corrupt`.
pub fn item(bytes: &[u8], out: &mut Vec<u8>) -> Result<u64, StoreError> {
    let record = Record::parse(bytes)?;
    out.extend_from_slice(b"{\"Item\":");
    record.write_dynamodb_json(&|_| true, out)?;
    out.extend_from_slice(b"}\n");
    Ok(record.item_bytes().into())
}

/// `{"Metadata":{"WriteTimestampMicros":{"N":"…"}},"Keys":{…},"NewImage":{…},"OldImage":{…}}` of a gathered change, without the images
/// that there are not or that the view leaves out; the bytes of its items. Nothing for an item that came and went in the window.
///
/// # Errors
/// `Corrupt`.
pub fn change(bytes: &[u8], window: &ExportWindow, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
    let change = Change::parse(bytes)?;
    let Some(any) = change.new.or(change.old) else { return Ok(None) };
    let micros = u128::from(change.time_ms) * 1000;
    out.extend_from_slice(format!("{{\"Metadata\":{{\"WriteTimestampMicros\":{{\"N\":\"{micros}\"}}}},\"Keys\":").as_bytes());
    Record::parse(any)?.write_dynamodb_json(&|name| window.key_names.iter().any(|key| key == name), out)?;
    let old = change.old.filter(|_| window.view == ExportView::NewAndOldImages);
    let mut item_bytes = 0;
    for (name, image) in [("NewImage", change.new), ("OldImage", old)] {
        let Some(image) = image else { continue };
        let record = Record::parse(image)?;
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        record.write_dynamodb_json(&|_| true, out)?;
        item_bytes += u64::from(record.item_bytes());
    }
    out.extend_from_slice(b"}\n");
    Ok(Some(item_bytes))
}

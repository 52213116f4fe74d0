//! The lines of an export's data files (docs/dynamodb.md 20.3): items of a full one, changes of an incremental one, as DynamoDB JSON.

use super::export_filter::Selected;
use crate::codec::dynamodb_json;
use crate::codec::record::Record;
use crate::engine::jobs::changes::ChangedItem;
use crate::model::api::transfer::{ExportView, ExportWindow};
use crate::model::error::StoreError;

impl Selected {
    /// `{"Item":{…}}` of a record; its item's bytes. Nothing for an item that is left out.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn item(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        let record = Record::parse(bytes)?;
        if !self.keeps(&record)? {
            return Ok(None);
        }
        out.extend_from_slice(b"{\"Item\":");
        self.image(&record, out)?;
        out.extend_from_slice(b"}\n");
        Ok(Some(record.item_bytes().into()))
    }

    /// `{"Metadata":{"WriteTimestampMicros":{"N":"…"}},"Keys":{…},"NewImage":{…},"OldImage":{…}}` of a gathered change, without the
    /// images that there are not or that the view leaves out; the bytes of its items. Nothing for an item that came and went in the
    /// window, or that is left out as it was and as it is.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn change(&self, bytes: &[u8], window: &ExportWindow, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        let change = ChangedItem::parse(bytes)?;
        let Some(any) = change.new.or(change.old) else { return Ok(None) };
        let mut is_kept = false;
        for image in [change.new, change.old].into_iter().flatten() {
            is_kept |= self.keeps(&Record::parse(image)?)?;
        }
        if !is_kept {
            return Ok(None);
        }
        let micros = u128::from(change.time_ms) * 1000;
        out.extend_from_slice(format!("{{\"Metadata\":{{\"WriteTimestampMicros\":{{\"N\":\"{micros}\"}}}}").as_bytes());
        member("Keys", out);
        Record::parse(any)?.write_dynamodb_json(&|name| window.key_names.iter().any(|key| key == name), out)?;
        let old = change.old.filter(|_| window.view == ExportView::NewAndOldImages);
        let mut item_bytes = 0;
        for (name, image) in [("NewImage", change.new), ("OldImage", old)] {
            let Some(image) = image else { continue };
            let record = Record::parse(image)?;
            member(name, out);
            self.image(&record, out)?;
            item_bytes += u64::from(record.item_bytes());
        }
        out.extend_from_slice(b"}\n");
        Ok(Some(item_bytes))
    }

    /// An item, or the part of it that was asked for.
    fn image(&self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match self.part(record)? {
            None => record.write_dynamodb_json(&|_| true, out)?,
            Some(part) => dynamodb_json::write_item(&part, out),
        }
        Ok(())
    }
}

/// Begins a member whose value follows.
fn member(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!(",\"{name}\":").as_bytes());
}

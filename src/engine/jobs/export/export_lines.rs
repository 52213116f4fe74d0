//! The lines of an export's data files (docs/dynamodb.md 20.3): items of a full one, changes of an incremental one, as JSON or as Ion text.

use super::export_filter::Selected;
use crate::codec::record::Record;
use crate::codec::{dynamodb_json, ion};
use crate::engine::jobs::changes::ChangedItem;
use crate::model::api::transfer::{ExportFormat, ExportView, ExportWindow};
use crate::model::error::StoreError;

/// What an export's lines have, and how they are written.
#[derive(Debug)]
pub struct Form {
    pub format: ExportFormat,
    pub selected: Selected,
}

impl Form {
    /// `{"Item":{…}}` of a record; its item's bytes. Nothing for an item that is left out.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn item(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        let record = Record::parse(bytes)?;
        if !self.selected.keeps(&record)? {
            return Ok(None);
        }
        self.begin("Item", out);
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
            is_kept |= self.selected.keeps(&Record::parse(image)?)?;
        }
        if !is_kept {
            return Ok(None);
        }
        self.metadata(u128::from(change.time_ms) * 1000, out);
        self.member("Keys", out);
        self.write(&Record::parse(any)?, &|name| window.key_names.iter().any(|key| key == name), out)?;
        let old = change.old.filter(|_| window.view == ExportView::NewAndOldImages);
        let mut item_bytes = 0;
        for (name, image) in [("NewImage", change.new), ("OldImage", old)] {
            let Some(image) = image else { continue };
            let record = Record::parse(image)?;
            self.member(name, out);
            self.image(&record, out)?;
            item_bytes += u64::from(record.item_bytes());
        }
        out.extend_from_slice(b"}\n");
        Ok(Some(item_bytes))
    }

    /// A line up to its first member's value.
    fn begin(&self, name: &str, out: &mut Vec<u8>) {
        let text = match self.format {
            ExportFormat::DynamoDbJson => format!("{{\"{name}\":"),
            ExportFormat::Ion => format!("{} {{{name}:", ion::VERSION),
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// A further member up to its value.
    fn member(&self, name: &str, out: &mut Vec<u8>) {
        let text = match self.format {
            ExportFormat::DynamoDbJson => format!(",\"{name}\":"),
            ExportFormat::Ion => format!(",{name}:"),
        };
        out.extend_from_slice(text.as_bytes());
    }

    fn metadata(&self, micros: u128, out: &mut Vec<u8>) {
        self.begin("Metadata", out);
        let text = match self.format {
            ExportFormat::DynamoDbJson => format!("{{\"WriteTimestampMicros\":{{\"N\":\"{micros}\"}}}}"),
            ExportFormat::Ion => format!("{{WriteTimestampMicros:{micros}.}}"),
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// An item, or the part of it that was asked for.
    fn image(&self, record: &Record<'_>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match (self.selected.part(record)?, self.format) {
            (None, _) => self.write(record, &|_| true, out)?,
            (Some(part), ExportFormat::DynamoDbJson) => dynamodb_json::write_item(&part, out),
            (Some(part), ExportFormat::Ion) => ion::write_item(&part, out),
        }
        Ok(())
    }

    /// The attributes of a record that `keep` accepts.
    fn write(&self, record: &Record<'_>, keep: &dyn Fn(&str) -> bool, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match self.format {
            ExportFormat::DynamoDbJson => record.write_dynamodb_json(keep, out),
            ExportFormat::Ion => record.write_ion(keep, out),
        }
    }
}

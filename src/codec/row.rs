//! One result of a Query or Scan, rendered without building an [`Item`] where nothing asks for one.

use super::record::Record;
use crate::model::Item;
use crate::model::error::StoreError;

/// A result row.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// All attributes of a record.
    Record(Record<'a>),
    /// A projected item.
    Item(&'a Item),
}

/// Called with each result row in order.
pub type Rows<'a> = dyn FnMut(Row<'_>) + 'a;

/// Called with each row of a batch and the place of its table in the request; whether there is room for another one.
pub type BatchRows<'a> = dyn FnMut(usize, Row<'_>) -> bool + 'a;

impl Row<'_> {
    pub fn to_item(&self) -> Result<Item, StoreError> {
        match self {
            Self::Record(record) => record.to_item(),
            Self::Item(item) => Ok((*item).clone()),
        }
    }

    /// What [`Self::to_item`]'s values take in memory, in bytes; of a projected item, which is in memory, its size.
    ///
    /// # Errors
    /// As of [`Record::values_bytes`].
    pub fn values_bytes(&self) -> Result<usize, StoreError> {
        match self {
            Self::Record(record) => record.values_bytes(),
            Self::Item(item) => Ok(item.size()),
        }
    }

    /// Appends the plain JSON line with its newline; `first` names go first where the row is a projected item.
    pub fn write_plain_json(&self, first: &[&str], out: &mut Vec<u8>) -> Result<(), StoreError> {
        match self {
            Self::Record(record) => record.write_plain_json(out),
            Self::Item(item) => {
                super::plain_json::write_line(item, first, out);
                Ok(())
            }
        }
    }

    /// Appends the DynamoDB JSON object, no newline.
    pub fn write_dynamodb_json(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match self {
            Self::Record(record) => record.write_dynamodb_json(&|_| true, out),
            Self::Item(item) => {
                super::dynamodb_json::write_item(item, out);
                Ok(())
            }
        }
    }
}

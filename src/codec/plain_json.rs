//! Plain JSON, the text of `X.json` (FILESYSTEM 4): lossless both ways. (to be written)

use crate::model::Item;

/// Appends the item's line: compact, the names of `first` first, then by name, newline.
pub fn write_line(item: &Item, first: &[&str], out: &mut Vec<u8>) {
    let _ = (item, first, out);
    todo!()
}

/// Parses one JSON object (white space around it is fine) into an item.
///
/// # Errors
/// [`super::plain_json::PlainJsonError`] with the byte offset.
pub fn parse(text: &[u8]) -> Result<Item, PlainJsonError> {
    let _ = text;
    todo!()
}

/// Why a text is no item, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {offset}")]
pub struct PlainJsonError {
    /// 1-based byte offset in the text.
    pub offset: usize,
    pub fault: PlainJsonFault,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlainJsonFault {
    #[error("expected {0}")]
    Expected(&'static str),
    #[error(transparent)]
    Value(#[from] crate::model::error::ValueError),
}

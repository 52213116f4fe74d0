//! Parked files: what was an item and was moved to a name that is no item's. Not of the DynamoDB API; kept beside the table's items
//! and gone with the table.

use super::DeleteItemRequest;
use crate::model::{AttributeValue, TableName};

/// How long a parked file is kept.
pub const PARKED_KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// Where a parked file is: one at a place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParkedPlace {
    pub table: TableName,
    /// The partition key of the item collection that it is in; `None` of one that is in no collection's folder.
    pub folder: Option<AttributeValue>,
    /// Its file name.
    pub name: String,
}

/// What is known of a parked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedStat {
    pub place: ParkedPlace,
    /// Bytes of its content.
    pub bytes: u64,
    /// When it was parked, milliseconds since the epoch.
    pub parked_ms: u64,
    /// Is its folder there still? One whose folder was removed is listed, and no longer in any folder.
    pub is_placed: bool,
}

impl ParkedStat {
    /// When it is dropped, milliseconds since the epoch.
    #[must_use]
    pub fn until_ms(&self) -> u64 {
        self.parked_ms.saturating_add(PARKED_KEPT_MS)
    }
}

/// Deletes an item and parks its text, both or neither.
#[derive(Debug, Clone, PartialEq)]
pub struct ParkRequest {
    pub delete: DeleteItemRequest,
    pub place: ParkedPlace,
    pub content: Vec<u8>,
}

/// One change of parked files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParkedChange {
    Remove(ParkedPlace),
    /// To another place; what is parked there goes.
    Move {
        from: ParkedPlace,
        to: ParkedPlace,
    },
    /// The folder of a collection, or all places in no folder, of a table is removed: its files are in no folder any more.
    Leave {
        table: TableName,
        folder: Option<AttributeValue>,
    },
}

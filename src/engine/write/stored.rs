//! The item that a write finds.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::codec::record::Record;
use crate::engine::base::keys::EntryAddress;
use crate::engine::catalog::TableEntry;
use crate::engine::runtime::Transaction;
use crate::model::error::StoreError;
use crate::model::{Error, Item, Key};
use crate::store::Read;

/// The item of a key of a table as the transaction finds it.
#[derive(Debug)]
pub struct Stored {
    pub table: Arc<TableEntry>,
    pub key: Key,
    pub address: EntryAddress,
    /// Its record, if there is an item.
    bytes: Option<Vec<u8>>,
    /// The item, once it was decoded.
    item: OnceCell<Item>,
}

impl Stored {
    /// Reads the item of `key`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(read: &dyn Read, table: &Arc<TableEntry>, key: Key) -> Result<Self, StoreError> {
        let address = EntryAddress::of_item(table.source, &key);
        // Copied: the writes that follow need the batch for themselves, and change the page that it lies on.
        let bytes = read.get(&address.encode())?.map(<[u8]>::to_vec);
        Ok(Self { table: Arc::clone(table), key, address, bytes, item: OnceCell::new() })
    }

    /// As [`Self::read`], within a transaction, which notes that it looked at the item.
    ///
    /// # Errors
    /// `Throttled`; those of the store.
    pub fn look_at(transaction: &mut Transaction<'_>, table: &Arc<TableEntry>, key: Key) -> Result<Self, Error> {
        let stored = Self::read(transaction.read(), table, key)?;
        transaction.look_at(table, &stored.address, stored.bytes())?;
        Ok(stored)
    }

    /// Its stored bytes.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// The item's record, if there is an item.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn record(&self) -> Result<Option<Record<'_>>, StoreError> {
        self.bytes.as_deref().map(Record::parse).transpose()
    }

    /// DynamoDB bytes of the item; 0 of none.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn item_bytes(&self) -> Result<usize, StoreError> {
        Ok(self.record()?.map_or(0, |record| record.item_bytes() as usize))
    }

    /// The item, decoded once.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn item(&self) -> Result<Option<&Item>, StoreError> {
        if self.item.get().is_none() {
            let Some(record) = self.record()? else { return Ok(None) };
            let item = record.to_item()?;
            return Ok(Some(self.item.get_or_init(|| item)));
        }
        Ok(self.item.get())
    }
}

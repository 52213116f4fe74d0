//! Warnings of item collections that come near their limit (docs/requirements.md L-41): in the log, and the last of them to be read back.

use super::options::EngineOptions;
use super::warnings::Warnings;
use crate::model::layout::CollectionWarning;
use crate::model::{AttributeValue, TableName};

impl Warnings<CollectionWarning> {
    /// Warns of a collection that a write makes as large as `bytes`, when it was below the threshold before it grew by `growth`.
    pub fn warn(&self, options: &EngineOptions, (table, partition): (&TableName, &AttributeValue), (bytes, growth): (u64, i64)) {
        let bytes_max = options.collection_bytes_max;
        let threshold = options.collection_warning_bytes.unwrap_or(bytes_max / 5 * 4);
        if bytes < threshold || bytes.saturating_add_signed(-growth) >= threshold {
            return;
        }
        log::warn!("an item collection of {table} has {bytes} bytes; at {bytes_max} it takes no more");
        let time_ms = options.clock.now_ms();
        let (table, partition) = (table.clone(), partition.clone());
        self.add(|_| None, CollectionWarning { table, partition, billed_bytes: bytes, bytes_max, time_ms });
    }
}

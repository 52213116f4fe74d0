//! What nearly every file of `inspect` names, of std and of the layers below: `use crate::inspect::prelude::*`.

pub use std::collections::{BTreeMap, HashMap};
pub use std::ops::ControlFlow;

pub use serde_json::{Value, json};

pub use crate::codec::record::StoredValue;
pub use crate::codec::shown::{WORD_CHARS_MAX, markdown};
pub use crate::codec::{calendar, file_name};
pub use crate::database::{Browse, Entries, EntryKey, PartitionKey, Source, SourceStats};
pub use crate::model::api::TableDescription;
pub use crate::model::error::StoreError;
pub use crate::model::layout::{HotKey, Load};
pub use crate::model::limits::{ENTRY_OVERHEAD_BYTES, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX, WRITE_UNIT_BYTES};
pub use crate::model::schema::{BillingMode, KeyAttribute, KeyAttributeType, ProvisionedThroughput};
pub use crate::model::{
    AttributeType, AttributeValue, Error, IndexKind, IndexSchema, Item, Key, KeySchema, TableName, TableSchema,
};

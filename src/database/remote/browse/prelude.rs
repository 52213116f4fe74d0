//! What nearly every file of this folder names: `use super::prelude::*`.

pub use std::collections::HashMap;
pub use std::ops::ControlFlow;
pub use std::sync::Arc;
pub use std::time::Duration;

pub use parking_lot::Mutex;

pub use crate::codec::digest::Digest;
pub use crate::codec::key::partition_digest;
pub use crate::codec::record::Record;
pub use crate::database::bounded::OfEntries;
pub use crate::database::{Database, Done, Entries, EntryKey, PartitionKey, Position, Rows, Source};
pub use crate::expr::read_request::ReadRequest;
pub use crate::model::api::{Call, Page, Version};
pub use crate::model::clock::Clock;
pub use crate::model::error::StoreError;
pub use crate::model::{AttributeValue, Error, Item, Key, TableName};

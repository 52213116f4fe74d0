//! The names that most files of the engine use, of std, of the layers below, and of `base` and
//! `catalog`: `use crate::engine::prelude::*`.

pub use super::base::keys::{self, EntryAddress, SourceId, Space, StoreKey};
pub use super::base::walks;
pub(crate) use super::catalog;
pub use super::catalog::{TableEntry, damage::locate};
pub use crate::codec::{digest::Digest, record::Record};
pub use crate::model::{
    AttributeValue, Error, IndexKind, IndexName, IndexSchema, Item, Key, TableName, TableSchema,
    api::{ConsumedCapacity, TableStatus, Version},
    error::StoreError,
};
pub use crate::store::{Direction, KeyRange, Read, Write, continue_if, try_walk};
pub use parking_lot::Mutex;
pub use serde::{Deserialize, Serialize};
pub use std::{ops::ControlFlow, sync::Arc};

//! The names that nearly every file of `fs` uses, of std, of the layers below, and of the lowest
//! layers of `fs`: `use crate::fs::prelude::*`.

pub(in crate::fs) use super::ttl_map::now_ms;
pub use super::{error::FsError, process::Caller, ttl_map::TtlMap};
pub use crate::codec::{digest::digest, plain_json};
pub(crate) use crate::database::run_blocking;
pub use crate::database::{Browse, DeferredCharge, EntryKey, PartitionKey, SourceName, TextForm};
pub use crate::model::{
    AttributeValue, DocumentPath, Error, IndexKind, Item, Key, TableName, TableSchema,
    api::{Precondition, Version, WaitPolicy},
    schema::{KeyAttribute, KeyAttributeType},
};
pub use parking_lot::Mutex;
pub use serde_json::{Value, json};
pub use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// The result of an operation that may fail with an [`FsError`].
pub type Result<T, E = FsError> = std::result::Result<T, E>;

/// Returns the value of a result; an error is the answer of the call.
macro_rules! or_reply {
    ($reply:expr, $result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return $reply(Err(error.into())),
        }
    };
}
pub(in crate::fs) use or_reply;

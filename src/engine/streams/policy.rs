//! The resource policies of streams: of each its own, also when the stream is disabled and when its table is gone.

use serde::{Deserialize, Serialize};

use crate::engine::account::AccountRecord;
use crate::engine::base::keys::RecordKind;
use crate::engine::base::stored::Stored;
use crate::model::api::StreamName;
use crate::model::arn;
use crate::model::error::StoreError;
use crate::store::{Read, Write};

/// What is kept of a stream's policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StreamPolicy {
    /// `None` after it was removed.
    pub text: Option<String>,
    /// Of the last policy: the time it was put, later than any before it.
    pub revision: u64,
}

impl Stored for StreamPolicy {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "a stream's policy";
}

impl AccountRecord for StreamPolicy {
    const KIND: RecordKind = RecordKind::StreamPolicy;
}

/// The policy of a stream; that of one that never had any is empty.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn get(read: &dyn Read, name: &StreamName) -> Result<StreamPolicy, StoreError> {
    Ok(StreamPolicy::get(read, &arn::stream(name))?.unwrap_or_default())
}

/// Keeps a policy.
///
/// # Errors
/// Those of the store.
pub fn put(batch: &mut dyn Write, name: &StreamName, policy: &StreamPolicy) -> Result<(), StoreError> {
    policy.put(batch, &arn::stream(name))
}

/// Forgets the policy of a stream that is no more.
///
/// # Errors
/// Those of the store.
pub fn forget(batch: &mut dyn Write, name: &StreamName) -> Result<(), StoreError> {
    StreamPolicy::delete(batch, &arn::stream(name))
}

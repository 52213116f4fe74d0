//! The resource policies of streams: of each its own, also when the stream is disabled and when its table is gone.

use serde_json::{Value, json};

use crate::engine::account;
use crate::engine::base::keys::RecordKind;
use crate::model::api::StreamName;
use crate::model::arn;
use crate::model::error::StoreError;
use crate::store::{Read, Write};

/// What is kept of a stream's policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamPolicy {
    /// `None` after it was removed.
    pub text: Option<String>,
    /// Of the last policy: the time it was put, later than any before it.
    pub revision: u64,
}

/// The policy of a stream; that of one that never had any is empty.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn get(read: &dyn Read, name: &StreamName) -> Result<StreamPolicy, StoreError> {
    let Some(value) = account::get(read, RecordKind::StreamPolicy, &arn::stream(name))? else {
        return Ok(StreamPolicy::default());
    };
    let revision = value.get("revision").and_then(Value::as_u64).ok_or(StoreError::Corrupt("a stream's policy"))?;
    Ok(StreamPolicy { text: value.get("text").and_then(Value::as_str).map(str::to_owned), revision })
}

/// Keeps a policy.
///
/// # Errors
/// Those of the store.
pub fn put(batch: &mut dyn Write, name: &StreamName, policy: &StreamPolicy) -> Result<(), StoreError> {
    let value = json!({ "text": policy.text, "revision": policy.revision });
    account::put(batch, RecordKind::StreamPolicy, &arn::stream(name), &value)
}

/// Forgets the policy of a stream that is no more.
///
/// # Errors
/// Those of the store.
pub fn forget(batch: &mut dyn Write, name: &StreamName) -> Result<(), StoreError> {
    account::delete(batch, RecordKind::StreamPolicy, &arn::stream(name))
}

//! PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy of streams (docs/dynamodb.md 18.2): kept, not enforced. A stream's policy
//! is apart from its table's; a disabled stream can have one too (developer guide, "Attach a resource-based policy to a DynamoDB
//! stream").

use super::policy_revision::expect;
use crate::engine::runtime::Transaction;
use crate::engine::streams::policy::{self, StreamPolicy};
use crate::engine::streams::read_definition;
use crate::model::Error;
use crate::model::api::StreamName;
use crate::model::api::resource::{PolicyRequest, PutPolicyRequest, ResourcePolicy, TableResource};
use crate::model::error::{NotFoundError, RecoveryError};
use crate::store::Read;

/// The policy as it is kept; the stream must be there.
fn known(read: &dyn Read, stream: &StreamName, resource: &TableResource) -> Result<StreamPolicy, Error> {
    match read_definition(read, stream)? {
        Some(_) => Ok(policy::get(read, stream)?),
        None => Err(NotFoundError::ResourceArn(resource.arn.clone()).into()),
    }
}

fn shown(kept: &StreamPolicy) -> Option<ResourcePolicy> {
    Some(ResourcePolicy { text: kept.text.clone()?, revision_id: kept.revision.to_string() })
}

pub(super) fn put(transaction: &mut Transaction<'_>, stream: &StreamName, request: &PutPolicyRequest) -> Result<String, Error> {
    let old = known(transaction.batch.as_read(), stream, &request.resource)?;
    expect(shown(&old).as_ref(), request.expected_revision_id.as_deref(), &request.resource)?;
    if old.text.as_ref() == Some(&request.policy) {
        return Ok(old.revision.to_string());
    }
    let revision = transaction.now_ms().max(old.revision + 1);
    policy::put(transaction.batch, stream, &StreamPolicy { text: Some(request.policy.clone()), revision })?;
    Ok(revision.to_string())
}

pub(super) fn get(read: &dyn Read, stream: &StreamName, resource: &TableResource) -> Result<ResourcePolicy, Error> {
    let kept = known(read, stream, resource)?;
    shown(&kept).ok_or_else(|| RecoveryError::PolicyNotFound(resource.arn.clone()).into())
}

pub(super) fn delete(
    transaction: &mut Transaction<'_>,
    stream: &StreamName,
    request: &PolicyRequest,
) -> Result<Option<String>, Error> {
    let old = known(transaction.batch.as_read(), stream, &request.resource)?;
    let removed = shown(&old);
    expect(removed.as_ref(), request.expected_revision_id.as_deref(), &request.resource)?;
    let Some(removed) = removed else { return Ok(None) };
    policy::put(transaction.batch, stream, &StreamPolicy { text: None, revision: old.revision })?;
    Ok(Some(removed.revision_id))
}

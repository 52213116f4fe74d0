//! A table or stream as a resource: tags, policies with their revisions, limits (docs/dynamodb.md 18). Each change is one of the catalog.

use std::sync::Arc;

use crate::engine::catalog::{self, TableEntry};
use crate::engine::runtime::{Engine, Transaction};
use crate::engine::streams::policy::{self, StreamPolicy};
use crate::engine::streams::read_definition;
use crate::model::Error;
use crate::model::api::resource::{
    DeletePolicyRequest, Limits, ListTagsRequest, PolicyRequest, PutPolicyRequest, ResourcePolicy, TableResource,
    TagResourceRequest, UntagResourceRequest,
};
use crate::model::api::{StreamName, TableStatus};
use crate::model::error::{NotFoundError, RecoveryError, SchemaError};
use crate::model::limits::{ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX, TAGS_MAX};
use crate::store::Read;

impl Engine {
    /// DescribeLimits: the default quotas.
    ///
    /// # Errors
    /// None.
    pub fn describe_limits(&self, (): &()) -> Result<Limits, Error> {
        Ok(Limits { account_units: ACCOUNT_CAPACITY_UNITS_MAX, table_units: TABLE_CAPACITY_UNITS_MAX })
    }
}

/// The resource's table; one that is being created is not there yet.
fn found(entry: Option<Arc<TableEntry>>, resource: &TableResource) -> Result<Arc<TableEntry>, Error> {
    match entry {
        Some(entry) if entry.status != TableStatus::Creating => Ok(entry),
        _ => Err(NotFoundError::ResourceArn(resource.arn.clone()).into()),
    }
}

/// Key and value.
type Tags = Vec<(String, String)>;

impl Engine {
    /// Adds tags; those of the same keys get new values.
    ///
    /// # Errors
    /// `NotFound`; `Schema` for too many; those of the store.
    pub fn tag_resource(&self, request: TagResourceRequest) -> Result<(), Error> {
        self.shared.submit_and_wait(move |transaction| {
            change_tags(transaction, &request.resource, |tags| {
                for (key, value) in &request.tags {
                    match tags.iter_mut().find(|(old, _)| old == key) {
                        Some(tag) => tag.1.clone_from(value),
                        None => tags.push((key.clone(), value.clone())),
                    }
                }
            })
        })
    }

    /// Removes tags.
    ///
    /// # Errors
    /// `NotFound`; those of the store.
    pub fn untag_resource(&self, request: UntagResourceRequest) -> Result<(), Error> {
        self.shared.submit_and_wait(move |transaction| {
            change_tags(transaction, &request.resource, |tags| tags.retain(|(key, _)| !request.tag_keys.contains(key)))
        })
    }

    /// All tags, in the order in which they came.
    ///
    /// # Errors
    /// `NotFound`; those of the store.
    pub fn list_tags(&self, request: &ListTagsRequest) -> Result<Tags, Error> {
        let entry = self.table(&request.resource.table_name)?;
        Ok(found(entry, &request.resource)?.schema.settings.tags.clone())
    }
}

fn change_tags(transaction: &mut Transaction<'_>, resource: &TableResource, change: impl Fn(&mut Tags)) -> Result<(), Error> {
    let old = found(transaction.table(&resource.table_name)?, resource)?;
    let mut new = (*old).clone();
    let tags = &mut Arc::make_mut(&mut new.schema).settings.tags;
    change(tags);
    if tags.len() > TAGS_MAX {
        return Err(SchemaError::TooManyTags.into());
    }
    new.control.changed_ms = Some(transaction.now_ms());
    Ok(transaction.replace_table(&new)?)
}

impl Engine {
    /// Keeps a policy; its revision id, which the same text again keeps.
    ///
    /// # Errors
    /// `NotFound`; `Recovery` when another revision is there than was expected; those of the store.
    pub fn put_policy(&self, request: PutPolicyRequest) -> Result<String, Error> {
        self.shared.submit_and_wait(move |transaction| {
            if let Some(stream) = &request.resource.stream {
                return put_of_stream(transaction, stream, &request);
            }
            let old = found_for_policy(transaction.table(&request.resource.table_name)?, &request.resource)?;
            let policy = policy_of(&old);
            expect(policy.as_ref(), request.expected_revision_id.as_deref(), &request.resource)?;
            if let Some(policy) = policy.filter(|policy| policy.text == request.policy) {
                return Ok(policy.revision_id);
            }
            let mut new = (*old).clone();
            let revision = transaction.now_ms().max(revision(&old) + 1);
            new.control.policy_revision = Some(revision);
            Arc::make_mut(&mut new.schema).settings.resource_policy = Some(request.policy.clone());
            new.control.changed_ms = Some(transaction.now_ms());
            transaction.replace_table(&new)?;
            Ok(revision.to_string())
        })
    }

    /// The policy.
    ///
    /// # Errors
    /// `NotFound`; `Recovery` when there is none; those of the store.
    pub fn get_policy(&self, request: &PolicyRequest) -> Result<ResourcePolicy, Error> {
        if let Some(stream) = &request.resource.stream {
            return policy_of_stream(self.view()?.read(), stream, &request.resource);
        }
        let table = found_for_policy(self.table(&request.resource.table_name)?, &request.resource)?;
        policy_of(&table).ok_or_else(|| RecoveryError::PolicyNotFound(request.resource.arn.clone()).into())
    }

    /// Removes the policy, if there is one; the revision id that it had.
    ///
    /// # Errors
    /// `NotFound`; `Recovery` when another revision is there than was expected; those of the store.
    pub fn delete_policy(&self, request: DeletePolicyRequest) -> Result<Option<String>, Error> {
        self.shared.submit_and_wait(move |transaction| {
            if let Some(stream) = &request.resource.stream {
                return delete_of_stream(transaction, stream, &request);
            }
            let old = found_for_policy(transaction.table(&request.resource.table_name)?, &request.resource)?;
            let policy = policy_of(&old);
            expect(policy.as_ref(), request.expected_revision_id.as_deref(), &request.resource)?;
            let Some(policy) = policy else { return Ok(None) };
            let mut new = (*old).clone();
            Arc::make_mut(&mut new.schema).settings.resource_policy = None;
            new.control.policy_revision = Some(revision(&old));
            new.control.changed_ms = Some(transaction.now_ms());
            transaction.replace_table(&new)?;
            Ok(Some(policy.revision_id))
        })
    }
}

/// The number of the last policy: the time it was put, later than any before it.
fn revision(table: &TableEntry) -> u64 {
    table.control.policy_revision.unwrap_or(table.created_ms)
}

fn policy_of(table: &TableEntry) -> Option<ResourcePolicy> {
    let text = table.schema.settings.resource_policy.clone()?;
    Some(ResourcePolicy { text, revision_id: revision(table).to_string() })
}

/// The table whose policy is meant; one that is being created is not there yet.
fn found_for_policy(entry: Option<Arc<TableEntry>>, resource: &TableResource) -> Result<Arc<TableEntry>, Error> {
    let entry = entry.filter(|entry| entry.status != TableStatus::Creating);
    catalog::known(entry, &resource.table_name)
}

/// The expectation that there is no policy yet.
const NO_POLICY: &str = "NO_POLICY";

/// Holds the expectation of a request to the policy that is there.
fn expect(policy: Option<&ResourcePolicy>, expected: Option<&str>, resource: &TableResource) -> Result<(), RecoveryError> {
    let target = match &resource.stream {
        None => format!("table {}", resource.table_name),
        Some(_) => format!("stream {}", resource.arn),
    };
    let there = policy.map(|policy| policy.revision_id.clone());
    match (expected, there) {
        (None, _) | (Some(NO_POLICY), None) => Ok(()),
        (Some(expected), Some(there)) if there == expected => Ok(()),
        (Some(NO_POLICY), Some(there)) => Err(RecoveryError::PolicyExists { target, there }),
        (Some(expected), Some(there)) => Err(RecoveryError::PolicyRevision { target, expected: expected.to_owned(), there }),
        (Some(expected), None) => Err(RecoveryError::PolicyMissing { target, expected: expected.to_owned() }),
    }
}

/// The policy as it is kept; the stream must be there.
fn known_stream(read: &dyn Read, stream: &StreamName, resource: &TableResource) -> Result<StreamPolicy, Error> {
    match read_definition(read, stream)? {
        Some(_) => Ok(policy::get(read, stream)?),
        None => Err(NotFoundError::ResourceArn(resource.arn.clone()).into()),
    }
}

fn shown_of_stream(kept: &StreamPolicy) -> Option<ResourcePolicy> {
    Some(ResourcePolicy { text: kept.text.clone()?, revision_id: kept.revision.to_string() })
}

fn put_of_stream(transaction: &mut Transaction<'_>, stream: &StreamName, request: &PutPolicyRequest) -> Result<String, Error> {
    let old = known_stream(transaction.batch.as_read(), stream, &request.resource)?;
    expect(shown_of_stream(&old).as_ref(), request.expected_revision_id.as_deref(), &request.resource)?;
    if old.text.as_ref() == Some(&request.policy) {
        return Ok(old.revision.to_string());
    }
    let revision = transaction.now_ms().max(old.revision + 1);
    policy::put(transaction.batch, stream, &StreamPolicy { text: Some(request.policy.clone()), revision })?;
    Ok(revision.to_string())
}

fn policy_of_stream(read: &dyn Read, stream: &StreamName, resource: &TableResource) -> Result<ResourcePolicy, Error> {
    let kept = known_stream(read, stream, resource)?;
    shown_of_stream(&kept).ok_or_else(|| RecoveryError::PolicyNotFound(resource.arn.clone()).into())
}

fn delete_of_stream(
    transaction: &mut Transaction<'_>,
    stream: &StreamName,
    request: &DeletePolicyRequest,
) -> Result<Option<String>, Error> {
    let old = known_stream(transaction.batch.as_read(), stream, &request.resource)?;
    let removed = shown_of_stream(&old);
    expect(removed.as_ref(), request.expected_revision_id.as_deref(), &request.resource)?;
    let Some(removed) = removed else { return Ok(None) };
    policy::put(transaction.batch, stream, &StreamPolicy { text: None, revision: old.revision })?;
    Ok(Some(removed.revision_id))
}

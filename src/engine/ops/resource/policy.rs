//! PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy (docs/dynamodb.md 18.2): kept, not enforced.

use std::sync::Arc;

use super::policy_revision::expect;
use super::stream_policy;
use crate::engine::catalog::{self, TableEntry};
use crate::engine::runtime::Engine;
use crate::model::Error;
use crate::model::api::TableStatus;
use crate::model::api::resource::{PolicyRequest, PutPolicyRequest, ResourcePolicy, TableResource};
use crate::model::error::RecoveryError;

impl Engine {
    /// Keeps a policy; its revision id, which the same text again keeps.
    ///
    /// # Errors
    /// `NotFound`; `Recovery` when another revision is there than was expected; those of the store.
    pub fn put_policy(&self, request: PutPolicyRequest) -> Result<String, Error> {
        self.shared.submit_and_wait(move |transaction| {
            if let Some(stream) = &request.resource.stream {
                return stream_policy::put(transaction, stream, &request);
            }
            let old = found(transaction.table(&request.resource.table_name)?, &request.resource)?;
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
            return stream_policy::get(self.view()?.read(), stream, &request.resource);
        }
        let table = found(self.table(&request.resource.table_name)?, &request.resource)?;
        policy_of(&table).ok_or_else(|| RecoveryError::PolicyNotFound(request.resource.arn.clone()).into())
    }

    /// Removes the policy, if there is one; the revision id that it had.
    ///
    /// # Errors
    /// `NotFound`; `Recovery` when another revision is there than was expected; those of the store.
    pub fn delete_policy(&self, request: PolicyRequest) -> Result<Option<String>, Error> {
        self.shared.submit_and_wait(move |transaction| {
            if let Some(stream) = &request.resource.stream {
                return stream_policy::delete(transaction, stream, &request);
            }
            let old = found(transaction.table(&request.resource.table_name)?, &request.resource)?;
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
fn found(entry: Option<Arc<TableEntry>>, resource: &TableResource) -> Result<Arc<TableEntry>, Error> {
    let entry = entry.filter(|entry| entry.status != TableStatus::Creating);
    catalog::known(entry, &resource.table_name)
}

//! The operations on a table or stream as a resource with an ARN: tags, policies with their
//! revisions, limits (docs/dynamodb.md 18), and saved queries. Each change is one change of the
//! catalog.

use crate::engine::{
    runtime::prelude::*,
    streams::{self, StreamPolicy, read_definition},
};
use crate::model::{
    api::{
        operation::NeverUsedRequest,
        resource::{
            DeletePolicyRequest, DeletePolicyResponse, DescribeLimitsRequest, Limits,
            ListTagsRequest, ListTagsResponse, PolicyRequest, PutPolicyRequest, PutPolicyResponse,
            ResourcePolicy, TableResource, TagResourceRequest, UntagResourceRequest,
        },
        table_control::{SavedQueries, SavedQueryChange, SavedQueryOutcome},
    },
    error::{NotFoundError, RecoveryError, SchemaError, UpdateTableError},
    limits::{ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX, TAGS_MAX},
};

impl Engine {
    /// Runs DescribeLimits: returns the default quotas.
    pub fn describe_limits(&self, _: &DescribeLimitsRequest) -> Result<Limits, Error> {
        Ok(Limits {
            account_units: ACCOUNT_CAPACITY_UNITS_MAX,
            table_units: TABLE_CAPACITY_UNITS_MAX,
        })
    }
}

/// Returns the resource's table; a table in CREATING counts as missing.
fn find_table(
    entry: Option<Arc<TableEntry>>,
    resource: &TableResource,
) -> Result<Arc<TableEntry>, Error> {
    match entry {
        Some(entry) if entry.status != TableStatus::Creating => Ok(entry),
        _ => Err(NotFoundError::ResourceArn(resource.arn.clone()).into()),
    }
}

/// Tags as key and value.
type Tags = Vec<(String, String)>;

impl Engine {
    /// Adds tags; an existing key gets the new value.
    ///
    /// # Errors
    /// Fails with `NotFound`, or with `Schema` for too many tags; also errors of the store.
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

    /// Removes tags by their keys.
    ///
    /// # Errors
    /// Fails with `NotFound`, or with an error of the store.
    pub fn untag_resource(&self, request: UntagResourceRequest) -> Result<(), Error> {
        self.shared.submit_and_wait(move |transaction| {
            change_tags(transaction, &request.resource, |tags| {
                tags.retain(|(key, _)| !request.tag_keys.contains(key))
            })
        })
    }

    /// Returns all tags, in the order in which they were added.
    ///
    /// # Errors
    /// Fails with `NotFound`, or with an error of the store.
    pub fn list_tags(&self, request: &ListTagsRequest) -> Result<ListTagsResponse, Error> {
        let entry = self.table(&request.resource.table_name)?;
        Ok(ListTagsResponse {
            tags: find_table(entry, &request.resource)?
                .schema
                .settings
                .tags
                .clone(),
        })
    }
}

fn change_tags(
    transaction: &mut Transaction<'_>,
    resource: &TableResource,
    change: impl Fn(&mut Tags),
) -> Result<(), Error> {
    let old = find_table(transaction.table(&resource.table_name)?, resource)?;
    let mut tags = old.schema.settings.tags.clone();
    change(&mut tags);
    if tags.len() > TAGS_MAX {
        return Err(SchemaError::TooManyTags.into());
    }
    let changed_ms = Some(transaction.now_ms());
    transaction.change_table(&old, |new| {
        Arc::make_mut(&mut new.schema).settings.tags = tags;
        new.control.changed_ms = changed_ms;
    })?;
    Ok(())
}

impl Engine {
    /// Stores a policy and returns its revision id; the same text keeps the old revision.
    ///
    /// # Errors
    /// Fails with `NotFound`, or with `Recovery` if the revision is not the expected one; also
    /// errors of the store.
    pub fn put_policy(&self, request: PutPolicyRequest) -> Result<PutPolicyResponse, Error> {
        self.shared.submit_and_wait(move |transaction| {
            let resource = &request.resource;
            let (table, old) = stored_policy(
                transaction.read(),
                transaction.table(&resource.table_name)?,
                resource,
            )?;
            check_revision(&old, request.expected_revision_id.as_deref(), resource)?;
            if old.text.as_ref() == Some(&request.policy) {
                return Ok(PutPolicyResponse {
                    revision_id: old.revision.to_string(),
                });
            }
            let revision = transaction.now_ms().max(old.revision + 1);
            store_policy(
                transaction,
                resource,
                table,
                StreamPolicy {
                    text: Some(request.policy.clone()),
                    revision,
                },
            )?;
            Ok(PutPolicyResponse {
                revision_id: revision.to_string(),
            })
        })
    }

    /// Returns the policy.
    ///
    /// # Errors
    /// Fails with `NotFound`, or with `Recovery` if there is none; also errors of the store.
    pub fn get_policy(&self, request: &PolicyRequest) -> Result<ResourcePolicy, Error> {
        let (view, resource) = (self.view()?, &request.resource);
        let (_, StreamPolicy { text, revision }) =
            stored_policy(view.read(), view.table(&resource.table_name)?, resource)?;
        let text = text.ok_or_else(|| RecoveryError::PolicyNotFound(resource.arn.clone()))?;
        Ok(ResourcePolicy {
            text,
            revision_id: revision.to_string(),
        })
    }

    /// Removes the policy, if there is one, and returns its revision id.
    ///
    /// # Errors
    /// Fails with `NotFound`, or with `Recovery` if the revision is not the expected one; also
    /// errors of the store.
    pub fn delete_policy(
        &self,
        request: DeletePolicyRequest,
    ) -> Result<DeletePolicyResponse, Error> {
        self.shared.submit_and_wait(move |transaction| {
            let resource = &request.resource;
            let (table, old) = stored_policy(
                transaction.read(),
                transaction.table(&resource.table_name)?,
                resource,
            )?;
            check_revision(&old, request.expected_revision_id.as_deref(), resource)?;
            let revision = old.revision;
            let revision_id = old.text.is_some().then(|| revision.to_string());
            if revision_id.is_some() {
                store_policy(
                    transaction,
                    resource,
                    table,
                    StreamPolicy {
                        text: None,
                        revision,
                    },
                )?;
            }
            Ok(DeletePolicyResponse { revision_id })
        })
    }
}

/// Reads the policy of a table or stream with its revision: the time at which it was put, always
/// later than the one before. Also returns the table if the policy is a table's. A table in
/// CREATING counts as missing.
fn stored_policy(
    read: &dyn Read,
    table: Option<Arc<TableEntry>>,
    resource: &TableResource,
) -> Result<(Option<Arc<TableEntry>>, StreamPolicy), Error> {
    if let Some(stream) = &resource.stream {
        return match read_definition(read, stream)? {
            Some(_) => Ok((None, streams::read_policy(read, stream)?)),
            None => Err(NotFoundError::ResourceArn(resource.arn.clone()).into()),
        };
    }
    let table = catalog::require_table(
        table.filter(|table| table.status != TableStatus::Creating),
        &resource.table_name,
    )?;
    let text = table.schema.settings.resource_policy.clone();
    let revision = table.control.policy_revision.unwrap_or(table.created_ms);
    Ok((Some(table), StreamPolicy { text, revision }))
}

/// Stores a policy where [`kept`] found the previous one.
fn store_policy(
    transaction: &mut Transaction<'_>,
    resource: &TableResource,
    table: Option<Arc<TableEntry>>,
    policy: StreamPolicy,
) -> Result<(), StoreError> {
    let now_ms = transaction.now_ms();
    if let Some(table) = table {
        let change = |new: &mut TableEntry| {
            Arc::make_mut(&mut new.schema).settings.resource_policy = policy.text;
            (new.control.policy_revision, new.control.changed_ms) =
                (Some(policy.revision), Some(now_ms));
        };
        return transaction.change_table(&table, change).map(drop);
    }
    resource
        .stream
        .iter()
        .try_for_each(|stream| streams::put_policy(transaction.batch, stream, &policy))
}

/// The value of `ExpectedRevisionId` that expects no policy.
const NO_POLICY: &str = "NO_POLICY";

/// Compares the expected revision of a request with the stored policy.
fn check_revision(
    policy: &StreamPolicy,
    expected: Option<&str>,
    resource: &TableResource,
) -> Result<(), RecoveryError> {
    let target = match &resource.stream {
        None => format!("table {}", resource.table_name),
        Some(_) => format!("stream {}", resource.arn),
    };
    let current = policy.text.as_ref().map(|_| policy.revision.to_string());
    match (expected, current) {
        (None, _) | (Some(NO_POLICY), None) => Ok(()),
        (Some(expected), Some(current)) if current == expected => Ok(()),
        (Some(NO_POLICY), Some(current)) => Err(RecoveryError::PolicyExists {
            target,
            there: current,
        }),
        (Some(expected), Some(current)) => Err(RecoveryError::PolicyRevision {
            target,
            expected: expected.to_owned(),
            there: current,
        }),
        (Some(expected), None) => Err(RecoveryError::PolicyMissing {
            target,
            expected: expected.to_owned(),
        }),
    }
}

// Saved queries: stored in the table's catalog entry, so that they are as durable as the table and
// are deleted with it.

impl Engine {
    /// Returns the saved queries of a table; none without a table.
    pub fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error> {
        Ok(self
            .table(table)?
            .map(|entry| Arc::clone(&entry.control.saved_queries))
            .unwrap_or_default())
    }

    /// Changes the saved queries of a table.
    ///
    /// # Errors
    /// Fails with `ResourceNotFound`, or with an error of the store.
    pub fn change_saved_queries(
        &self,
        table: &TableName,
        change: SavedQueryChange,
    ) -> Result<SavedQueryOutcome, Error> {
        let table = table.clone();
        self.shared.submit_and_wait(move |transaction| {
            let old = transaction.table(&table)?.ok_or(Error::ResourceNotFound)?;
            let mut new = (*old).clone();
            let outcome = change.apply(
                Arc::make_mut(&mut new.control.saved_queries),
                transaction.now_ms(),
            );
            if matches!(outcome, SavedQueryOutcome::Done(_)) {
                transaction.replace_table(&new)?;
            }
            Ok(outcome)
        })
    }
}

// Operations of features that are never used here (docs/dynamodb.md 21): the tables they name must
// exist, all else is empty or missing.

impl Engine {
    /// Checks the names in a request against the catalog; the answer itself is empty.
    ///
    /// # Errors
    /// Fails with `NotSupported` for a request that would begin to use a feature, with `Recovery`,
    /// `NotFound`, `TableNotFound` or `UpdateTable` for a missing resource; also errors of the
    /// store.
    pub fn never_used(&self, request: &NeverUsedRequest) -> Result<(), Error> {
        match request {
            NeverUsedRequest::Begin(what) => Err(Error::NotSupported(what)),
            NeverUsedRequest::GlobalTable(name) => {
                Err(RecoveryError::GlobalTableNotFound(name.clone()).into())
            }
            NeverUsedRequest::ListGlobalTables | NeverUsedRequest::ListBulkOperations => Ok(()),
            NeverUsedRequest::DescribeTableReplicaAutoScaling(table) => {
                Err(NotFoundError::GlobalTable(table.to_string()).into())
            }
            NeverUsedRequest::DescribeKinesisStreamingDestination(table) => {
                self.require_table(table)
            }
            NeverUsedRequest::ChangeKinesisStreamingDestination {
                table,
                stream_arn,
                action,
            } => {
                self.require_table(table)?;
                let (stream_arn, table) = (stream_arn.clone(), table.to_string());
                Err(UpdateTableError::NoStreamingDestination {
                    action,
                    stream_arn,
                    table,
                }
                .into())
            }
            NeverUsedRequest::BulkOperation(arn) => {
                Err(NotFoundError::BulkOperation(arn.clone()).into())
            }
        }
    }

    fn require_table(&self, table: &TableName) -> Result<(), Error> {
        catalog::require_table(self.table(table)?, table).map(drop)
    }
}

//! Tags, resource policies, limits: the small operations on a table as a resource (docs/dynamodb.md 18).

use super::StreamName;
use crate::model::TableName;

/// A resource named by its ARN, which is kept, as errors repeat it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableResource {
    pub arn: String,
    pub table_name: TableName,
    /// The ARN is that of a stream of the table.
    pub stream: Option<StreamName>,
}

/// TagResource. Keys are distinct and legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagResourceRequest {
    pub resource: TableResource,
    /// Key and value.
    pub tags: Vec<(String, String)>,
}

/// UntagResource; keys without a tag are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntagResourceRequest {
    pub resource: TableResource,
    pub tag_keys: Vec<String>,
}

/// ListTagsOfResource; the answer has all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTagsRequest {
    pub resource: TableResource,
}

/// PutResourcePolicy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutPolicyRequest {
    pub resource: TableResource,
    /// JSON text, within its limit.
    pub policy: String,
    /// The revision to be replaced; `NO_POLICY` when there must be none.
    pub expected_revision_id: Option<String>,
}

/// GetResourcePolicy, and DeleteResourcePolicy without its expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRequest {
    pub resource: TableResource,
    /// Only of DeleteResourcePolicy.
    pub expected_revision_id: Option<String>,
}

/// A resource-based policy: kept, not enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePolicy {
    pub text: String,
    pub revision_id: String,
}

/// DescribeLimits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub account_units: u64,
    pub table_units: u64,
}

//! Tags, resource policies, limits and endpoints.

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::resource;

pub const OPERATIONS: &[Operation] = &[
    Operation::blocking("TagResource", tag),
    Operation::blocking("UntagResource", untag),
    Operation::read("ListTagsOfResource", tags),
    Operation::blocking("PutResourcePolicy", put_policy),
    Operation::read("GetResourcePolicy", get_policy),
    Operation::blocking("DeleteResourcePolicy", delete_policy),
    Operation::read("DescribeLimits", limits),
    Operation::read("DescribeEndpoints", endpoints),
];

/// The answer has no body.
fn tag(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    context.administration()?.tag_resource(resource::tag_request(json.root())?)?;
    Ok(Vec::new())
}

/// The answer has no body.
fn untag(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    context.administration()?.untag_resource(resource::untag_request(json.root())?)?;
    Ok(Vec::new())
}

fn tags(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let tags = context.administration()?.list_tags(&resource::list_tags_request(json)?)?;
    Ok(body(&resource::tags_to_json(&tags)))
}

fn put_policy(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let revision = context.administration()?.put_policy(resource::put_policy_request(json.root())?)?;
    Ok(body(&resource::revision_to_json(Some(&revision))))
}

fn get_policy(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let policy = context.administration()?.get_policy(&resource::policy_request(json, context.operation)?)?;
    Ok(body(&resource::policy_to_json(&policy)))
}

fn delete_policy(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let revision = context.administration()?.delete_policy(resource::policy_request(json.root(), context.operation)?)?;
    Ok(body(&resource::revision_to_json(revision.as_deref())))
}

fn limits(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    resource::no_members(json)?;
    Ok(body(&resource::limits_to_json(context.administration()?.describe_limits()?)))
}

fn endpoints(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    resource::no_members(json)?;
    Ok(body(&resource::endpoints_to_json(context.host)))
}

//! Contributor insights.

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::insights;

pub const OPERATIONS: &[Operation] = &[
    Operation::blocking("UpdateContributorInsights", update),
    Operation::read("DescribeContributorInsights", describe),
    Operation::read("ListContributorInsights", list),
];

fn update(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let updated = context.administration()?.update_insights(insights::update_request(json.root())?)?;
    Ok(body(&insights::updated_to_json(&updated)))
}

fn describe(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let described = context.administration()?.describe_insights(&insights::describe_request(json)?)?;
    Ok(body(&insights::described_to_json(&described)))
}

fn list(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let table = insights::list_request(json)?;
    let list = context.administration()?.list_insights(table.as_ref())?;
    Ok(body(&insights::list_to_json(&list)))
}

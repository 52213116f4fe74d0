//! Operations on a table as a resource: TagResource, UntagResource, ListTagsOfResource, Put-, Get- and DeleteResourcePolicy,
//! DescribeLimits (docs/dynamodb.md 18).

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::members;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::table_settings;
use crate::codec::json::document::Json;
use crate::model::TableName;
use crate::model::api::StreamName;
use crate::model::api::resource::{
    Limits, ListTagsRequest, PolicyRequest, PutPolicyRequest, ResourcePolicy, TableResource, TagResourceRequest,
    UntagResourceRequest,
};
use crate::model::arn::{ACCOUNT, Arn, REGION};
use crate::model::error::ResourceError;
use crate::model::limits::TAG_KEY_CHARS_MAX;

const RESOURCE_ARN: Member =
    Member::new("ResourceArn", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(1283)]);
const EXPECTED_REVISION_ID: Member =
    Member::new("ExpectedRevisionId", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(255)]);

static TAG_KEY: Element = Element { shape: Shape::String, rules: &[Rule::LengthMin(1), Rule::LengthMax(TAG_KEY_CHARS_MAX)] };

static TAG: Structure = Structure { name: "TagResourceInput", members: &[RESOURCE_ARN, table_settings::TAGS.required()] };
static UNTAG: Structure =
    Structure { name: "UntagResourceInput", members: &[RESOURCE_ARN, Member::new("TagKeys", Shape::List(&TAG_KEY)).required()] };
static LIST: Structure =
    Structure { name: "ListTagsOfResourceInput", members: &[RESOURCE_ARN, Member::new("NextToken", Shape::String)] };
static PUT_POLICY: Structure = Structure {
    name: "PutResourcePolicyInput",
    members: &[
        RESOURCE_ARN,
        Member::new("Policy", Shape::String).required(),
        EXPECTED_REVISION_ID,
        Member::new("ConfirmRemoveSelfResourceAccess", Shape::Boolean),
    ],
};
static POLICY: Structure = Structure { name: "GetResourcePolicyInput", members: &[RESOURCE_ARN, EXPECTED_REVISION_ID] };
static NO_MEMBERS: Structure = Structure { name: "DescribeLimitsInput", members: &[] };

fn read<'a>(json: Json<'a>, shape: &Structure) -> Result<Members<'a>, WireError> {
    let members = members::typed(json, shape)?;
    members::constrained(json, shape)?;
    Ok(members)
}

/// TagResource.
///
/// # Errors
/// Types, constraints, the ARN, the tags.
pub fn tag_request(json: Json<'_>) -> Result<TagResourceRequest, WireError> {
    let members = read(json, &TAG)?;
    if members.list("Tags").unwrap_or_default().len() == 0 {
        return Err(ResourceError::NoTags.into());
    }
    table_settings::check_tags(members)?;
    let resource = resource(members, "TagResource")?;
    Ok(TagResourceRequest { resource, tags: table_settings::tags(members) })
}

/// UntagResource.
///
/// # Errors
/// Types, constraints, the ARN.
pub fn untag_request(json: Json<'_>) -> Result<UntagResourceRequest, WireError> {
    let members = read(json, &UNTAG)?;
    let keys = members.list("TagKeys").unwrap_or_default();
    if keys.len() == 0 {
        return Err(ResourceError::NoTagKeys.into());
    }
    let tag_keys = keys.filter_map(Json::as_str).map(str::to_owned).collect();
    Ok(UntagResourceRequest { resource: resource(members, "UntagResource")?, tag_keys })
}

/// ListTagsOfResource.
///
/// # Errors
/// Types, constraints, the ARN; a token, as none is ever given.
pub fn list_tags_request(json: Json<'_>) -> Result<ListTagsRequest, WireError> {
    let members = read(json, &LIST)?;
    if members.has("NextToken") {
        return Err(ResourceError::NextToken.into());
    }
    Ok(ListTagsRequest { resource: resource(members, "ListTagsOfResource")? })
}

/// The body of ListTagsOfResource.
#[must_use]
pub fn tags_to_json(tags: &[(String, String)]) -> Value {
    json!({ "Tags": table_settings::tags_to_json(tags) })
}

/// PutResourcePolicy.
///
/// # Errors
/// Types, constraints, the ARN, a policy that is too large or no JSON.
pub fn put_policy_request(json: Json<'_>) -> Result<PutPolicyRequest, WireError> {
    let members = read(json, &PUT_POLICY)?;
    let policy = members.owned("Policy").unwrap_or_default();
    table_settings::check_policy(&policy)?;
    let resource = resource(members, "PutResourcePolicy")?;
    Ok(PutPolicyRequest { resource, policy, expected_revision_id: members.owned("ExpectedRevisionId") })
}

/// GetResourcePolicy and DeleteResourcePolicy; `operation` is which.
///
/// # Errors
/// Types, constraints, the ARN.
pub fn policy_request(json: Json<'_>, operation: &'static str) -> Result<PolicyRequest, WireError> {
    let members = read(json, &POLICY)?;
    Ok(PolicyRequest { resource: resource(members, operation)?, expected_revision_id: members.owned("ExpectedRevisionId") })
}

/// The body of PutResourcePolicy and DeleteResourcePolicy.
#[must_use]
pub fn revision_to_json(revision_id: Option<&str>) -> Value {
    revision_id.map_or_else(|| json!({}), |id| json!({ "RevisionId": id }))
}

/// The body of GetResourcePolicy.
#[must_use]
pub fn policy_to_json(policy: &ResourcePolicy) -> Value {
    json!({ "Policy": policy.text, "RevisionId": policy.revision_id })
}

/// DescribeLimits and DescribeEndpoints have no members.
///
/// # Errors
/// A body that is no object.
pub fn no_members(json: Json<'_>) -> Result<(), WireError> {
    read(json, &NO_MEMBERS).map(|_| ())
}

/// The body of DescribeLimits.
#[must_use]
pub fn limits_to_json(limits: Limits) -> Value {
    let mut out = Map::new();
    for (of, units) in [("Account", limits.account_units), ("Table", limits.table_units)] {
        for kind in ["Read", "Write"] {
            out.insert(format!("{of}Max{kind}CapacityUnits"), json!(units));
        }
    }
    Value::Object(out)
}

/// The body of DescribeEndpoints.
#[must_use]
pub fn endpoints_to_json(address: &str) -> Value {
    json!({ "Endpoints": [{ "Address": address, "CachePeriodInMinutes": 1440 }] })
}

/// The table that `ResourceArn` names, or the stream of one. What is another account's or service's `operation` is denied before
/// anything else is looked at.
fn resource(members: Members<'_>, operation: &'static str) -> Result<TableResource, WireError> {
    let arn = members.string("ResourceArn").unwrap_or_default();
    let parts = Arn::parse(arn).ok_or_else(|| ResourceError::NotAnArn(arn.to_owned()))?;
    if parts.service != "dynamodb" || parts.account != ACCOUNT {
        return Err(ResourceError::Denied { operation, arn: arn.to_owned() }.into());
    }
    if parts.region != REGION {
        return Err(ResourceError::OtherRegion(arn.to_owned()).into());
    }
    let not_a_table = || WireError::from(ResourceError::NotATable(arn.to_owned()));
    let name = parts.resource.strip_prefix("table/").ok_or_else(not_a_table)?;
    let (name, label) = match name.split_once('/') {
        None => (name, None),
        Some((name, rest)) => (name, Some(rest.strip_prefix("stream/").ok_or_else(not_a_table)?)),
    };
    let table_name = TableName::new(name).map_err(|_| not_a_table())?;
    let stream = label.map(|label| StreamName { table_name: table_name.clone(), label: label.to_owned() });
    Ok(TableResource { arn: arn.to_owned(), table_name, stream })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::document::Document;

    #[test]
    fn resource_arns() {
        let check = |arn: &str, expected: &str| {
            let body = json!({ "ResourceArn": arn });
            let found = match list_tags_request(Document::of(&body).root()) {
                Ok(request) => request.resource.table_name.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{arn}");
        };
        let iv = "One or more parameter values were invalid: ";
        check("arn:aws:dynamodb:us-east-1:000000000000:table/Tab", "Tab");
        check("arn:aws:dynamodb:us-east-1:000000000000:table/Tab/stream/2026-01-01T00:00:00.000", "Tab");
        check("Tab", &format!("{iv}ARNs must start with 'arn:': Tab"));
        for foreign in
            ["arn:aws:s3:::Tab", "arn:aws:dynamodb:eu-west-1:123456789012:table/Tab", "arn:aws:dynamodb:us-east-1::backup/x"]
        {
            let user =
                "User: arn:aws:iam::000000000000:root is not authorized to perform: dynamodb:ListTagsOfResource on resource: ";
            check(foreign, &format!("{user}{foreign}"));
        }
        let index = "arn:aws:dynamodb:us-east-1:000000000000:table/Tab/index/I";
        let only = "Invalid resource arn provided, only table or stream is accepted. Provided resource arn";
        check(index, &format!("{iv}{only}: {index}"));
        let other = "arn:aws:dynamodb:eu-west-1:000000000000:table/Tab";
        check(other, &format!("Invalid TableArn: Invalid ResourceArn provided as input {other}"));
    }

    #[test]
    fn tags() {
        let check = |tags: Value, expected: &str| {
            let body = json!({ "ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/Tab", "Tags": tags });
            let found = tag_request(Document::of(&body).root()).err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(found, expected, "{tags}");
        };
        check(json!([{ "Key": "a b", "Value": "é+-=._:/@" }]), "");
        check(json!([]), "Atleast one Tag needs to be provided as Input.");
        check(
            json!([{ "Key": "a", "Value": "1" }, { "Key": "a", "Value": "2" }]),
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
        );
        check(json!([{ "Key": "a!", "Value": "" }]), "The Tag Key provided is invalid, Key: a!");
        check(json!([{ "Key": "a", "Value": "<" }]), "The Tag Value provided is invalid, Value: <");
        check(json!([{ "Key": "aws:a", "Value": "" }]), "Tag Key cannot be prefixed with aws:, Key: aws:a");
    }
}

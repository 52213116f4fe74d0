//! Operations on a table as a resource: TagResource, UntagResource, ListTagsOfResource, Put-, Get- and DeleteResourcePolicy,
//! DescribeLimits: what they have beside their declarations (docs/dynamodb.md 18).

use serde_json::{Value, json};

use super::declared::*;
use super::write::{self};
use super::{members, table_settings};
use crate::model::api::StreamName;
use crate::model::api::resource::*;
use crate::model::arn::{self, ACCOUNT, REGION};
use crate::model::error::ResourceError;
use crate::model::limits::TAG_KEY_CHARS_MAX;

resource!(wire);

const EXPECTED_REVISION_ID: Member =
    Member::new("ExpectedRevisionId", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(255)]);

forms! {
    TagKey of String, Shape::String, &[Rule::LengthMin(1), Rule::LengthMax(TAG_KEY_CHARS_MAX)], Plain::read;
}

fn check_tag(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    if members.list("Tags").unwrap_or_default().len() == 0 {
        return Err(ResourceError::NoTags.into());
    }
    table_settings::check_tags(members)?;
    is_ours(members, structure)
}

fn check_untag(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    match members.list("TagKeys").unwrap_or_default().len() {
        0 => Err(ResourceError::NoTagKeys.into()),
        _ => is_ours(members, structure),
    }
}

/// No token is ever given.
fn check_list(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    if members.has("NextToken") { Err(ResourceError::NextToken.into()) } else { is_ours(members, structure) }
}

fn check_put(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    table_settings::check_policy(members.string("Policy").unwrap_or_default())?;
    is_ours(members, structure)
}

fn check(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    is_ours(members, structure)
}

/// What is another account's or service's the operation is denied before anything else of the ARN is looked at.
fn is_ours(members: Members<'_>, structure: &Structure) -> Checked {
    let arn = members.string("ResourceArn").unwrap_or_default();
    let parts = parts_of(arn)?;
    if parts.service == "dynamodb" && parts.account == ACCOUNT {
        return Ok(None);
    }
    Err(ResourceError::Denied { operation: structure.name.trim_end_matches("Input"), arn: arn.to_owned() }.into())
}

fn parts_of(arn: &str) -> Result<arn::Arn<'_>, ResourceError> {
    arn::Arn::parse(arn).ok_or_else(|| ResourceError::NotAnArn(arn.to_owned()))
}

/// The table that an ARN names, or the stream of one.
impl Field for TableResource {
    const SHAPE: Shape = Shape::String;
    const RULES: &'static [Rule] = &[Rule::LengthMin(1), Rule::LengthMax(1283)];

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        let Some(arn) = json.as_str() else { return Ok(None) };
        let parts = parts_of(arn)?;
        if parts.region != REGION {
            return Err(ResourceError::OtherRegion(arn.to_owned()).into());
        }
        let not_a_table = || ResourceError::NotATable(arn.to_owned());
        let name = parts.resource.strip_prefix("table/").ok_or_else(not_a_table)?;
        let (name, label) = match name.split_once('/') {
            None => (name, None),
            Some((name, rest)) => (name, Some(rest.strip_prefix("stream/").ok_or_else(not_a_table)?)),
        };
        let table_name = TableName::new(name).map_err(|_| not_a_table())?;
        let stream = label.map(|label| StreamName { table_name: table_name.clone(), label: label.to_owned() });
        Ok(Some(Self { arn: arn.to_owned(), table_name, stream }))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write::string(&self.arn, out);
    }
}

/// The body of ListTagsOfResource.
#[must_use]
pub fn tags_to_json(tags: &[(String, String)]) -> Value {
    json!({ "Tags": table_settings::tags_to_json(tags) })
}

/// The body of PutResourcePolicy and DeleteResourcePolicy.
#[must_use]
pub fn revision_to_json(revision_id: Option<&str>) -> Value {
    revision_id.map_or_else(|| json!({}), |id| json!({ "RevisionId": id }))
}

/// DescribeLimits and DescribeEndpoints have no members.
impl Declared for () {
    const STRUCTURE: &'static Structure = &Structure { name: "DescribeLimitsInput", members: &[] };

    fn read_members(_: Members<'_>, _: Option<TableName>, _: Sender) -> Result<Self, WireError> {
        Ok(())
    }

    fn write_members(&self, _: &mut ObjectWriter<'_>) {}
}

/// The body of DescribeEndpoints.
#[must_use]
pub fn endpoints_to_json(address: &str) -> Value {
    json!({ "Endpoints": [{ "Address": address, "CachePeriodInMinutes": 1440 }] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::document::Document;

    #[test]
    fn resource_arns() {
        let check = |arn: &str, expected: &str| {
            let body = json!({ "ResourceArn": arn });
            let found = match super::super::request::<ListTagsRequest>(Document::of(&body).root()) {
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
            let found = super::super::request::<TagResourceRequest>(Document::of(&body).root())
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
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

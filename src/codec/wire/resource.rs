//! The JSON form of operations on a table as a resource: tags, policies, limits, contributor
//! insights (docs/dynamodb.md 18, 23.2), with the parts that the declarations in
//! `model::api::resource` do not generate; and operations of features that this database does not
//! have (docs/dynamodb.md 21): global tables, Kinesis, bulk operations.

use serde_json::{Value, json};

use super::declared::*;
use super::names::{self, NAME_RULES};
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::write;
use super::{WireError, members, table_settings};
use crate::codec::json::document::Json;
use crate::model::api::StreamName;
use crate::model::api::operation::NeverUsedRequest as Request;
use crate::model::api::resource::*;
use crate::model::arn::{self, ACCOUNT, REGION};
use crate::model::error::ResourceError;
use crate::model::limits::TAG_KEY_CHARS_MAX;
use crate::model::{Error, IndexName, TableName};

resource!(wire);

const EXPECTED_REVISION_ID: Member = Member::new("ExpectedRevisionId", Shape::String)
    .rules(&[Rule::LengthMin(1), Rule::LengthMax(255)]);

forms! {
    TagKey of String, Shape::String, &[Rule::LengthMin(1), Rule::LengthMax(TAG_KEY_CHARS_MAX)], Plain::read;
}

fn check_tag(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    if members.list("Tags").unwrap_or_default().len() == 0 {
        return Err(ResourceError::NoTags.into());
    }
    table_settings::check_tags(members)?;
    check_account(members, structure)
}

fn check_untag(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    match members.list("TagKeys").unwrap_or_default().len() {
        0 => Err(ResourceError::NoTagKeys.into()),
        _ => check_account(members, structure),
    }
}

/// Checks a list request. No token is ever issued, so any is refused.
fn check_list(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    if members.has("NextToken") {
        Err(ResourceError::NextToken.into())
    } else {
        check_account(members, structure)
    }
}

fn check_put(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    table_settings::check_policy(members.string("Policy").unwrap_or_default())?;
    check_account(members, structure)
}

fn check(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    members::constrained(json, structure)?;
    check_account(members, structure)
}

/// Denies the operation on another account's or service's resource, before the rest of the ARN is
/// looked at.
fn check_account(members: Members<'_>, structure: &Structure) -> Checked {
    let arn = members.string("ResourceArn").unwrap_or_default();
    let parts = parts_of(arn)?;
    if parts.service == "dynamodb" && parts.account == ACCOUNT {
        return Ok(None);
    }
    Err(ResourceError::Denied {
        operation: structure.name.trim_end_matches("Input"),
        arn: arn.to_owned(),
    }
    .into())
}

fn parts_of(arn: &str) -> Result<arn::Arn<'_>, ResourceError> {
    arn::Arn::parse(arn).ok_or_else(|| ResourceError::NotAnArn(arn.to_owned()))
}

/// The table that an ARN names, or a table's stream.
impl Field for TableResource {
    const SHAPE: Shape = Shape::String;
    const RULES: &'static [Rule] = &[Rule::LengthMin(1), Rule::LengthMax(1283)];

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        let Some(arn) = json.as_str() else {
            return Ok(None);
        };
        let parts = parts_of(arn)?;
        if parts.region != REGION {
            return Err(ResourceError::OtherRegion(arn.to_owned()).into());
        }
        let not_a_table = || ResourceError::NotATable(arn.to_owned());
        let name = parts
            .resource
            .strip_prefix("table/")
            .ok_or_else(not_a_table)?;
        let (name, label) = match name.split_once('/') {
            None => (name, None),
            Some((name, rest)) => (
                name,
                Some(rest.strip_prefix("stream/").ok_or_else(not_a_table)?),
            ),
        };
        let table_name = TableName::new(name).map_err(|_| not_a_table())?;
        let stream = label.map(|label| StreamName {
            table_name: table_name.clone(),
            label: label.to_owned(),
        });
        Ok(Some(Self {
            arn: arn.to_owned(),
            table_name,
            stream,
        }))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write::string(&self.arn, out);
    }
}

/// Returns the body of DescribeEndpoints.
#[must_use]
pub fn endpoints_to_json(address: &str) -> Value {
    json!({ "Endpoints": [{ "Address": address, "CachePeriodInMinutes": 1440 }] })
}

insights!(wire);

fn check_update(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    names::control_table(members)?;
    members::constrained(json, structure).map(|()| None)
}

const GLOBAL_TABLE_NAME: Member = Member::new("GlobalTableName", Shape::String)
    .required()
    .rules(NAME_RULES);
const STREAM_ARN: Member = Member::new("StreamArn", Shape::String)
    .required()
    .rules(&[Rule::LengthMin(37), Rule::LengthMax(1024)]);
const BULK_ARN: Member = Member::new("BulkOperationArn", Shape::String)
    .required()
    .rules(&[Rule::LengthMin(37), Rule::LengthMax(1024)]);

static GLOBAL_TABLE: Structure = Structure {
    name: "DescribeGlobalTableInput",
    members: &[GLOBAL_TABLE_NAME],
};
static LIST_GLOBAL_TABLES: Structure = Structure {
    name: "ListGlobalTablesInput",
    members: &[
        Member::new("ExclusiveStartGlobalTableName", Shape::String).rules(NAME_RULES),
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1)]),
        Member::new("RegionName", Shape::String),
    ],
};
static TABLE: Structure = Structure {
    name: "DescribeTableInput",
    members: &[Member::new("TableName", Shape::String)],
};
static KINESIS: Structure = Structure {
    name: "KinesisStreamingDestinationInput",
    members: &[Member::new("TableName", Shape::String), STREAM_ARN],
};
static BULK: Structure = Structure {
    name: "DescribeBulkOperationInput",
    members: &[BULK_ARN],
};
static LIST_BULK: Structure = Structure {
    name: "ListBulkOperationsInput",
    members: &[
        Member::new("MaxResults", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(25)]),
        Member::new("NextToken", Shape::String),
    ],
};

/// A constructor of the request from well-formed members, with its response in the case of success.
/// The table is present if the shape has one.
type NeverUsedFn = fn(Option<TableName>, Members<'_>) -> Option<(Request, Value)>;

/// The operations of absent features: name in the API, request members, constructor.
pub const NEVER_USED: &[(&str, &Structure, NeverUsedFn)] = &[
    ("CancelBulkOperation", &BULK, bulk),
    ("CreateGlobalTable", &GLOBAL_TABLE, |_, _| {
        begin("CreateGlobalTable")
    }),
    ("DescribeBulkOperation", &BULK, bulk),
    ("DescribeGlobalTable", &GLOBAL_TABLE, global),
    ("DescribeGlobalTableSettings", &GLOBAL_TABLE, global),
    ("DescribeKinesisStreamingDestination", &TABLE, |table, _| {
        let table = table?;
        let answer = json!({ "TableName": table.as_str(), "KinesisDataStreamDestinations": [] });
        Some((Request::DescribeKinesisStreamingDestination(table), answer))
    }),
    ("DescribeTableReplicaAutoScaling", &TABLE, |table, _| {
        empty(Request::DescribeTableReplicaAutoScaling(table?))
    }),
    (
        "DisableKinesisStreamingDestination",
        &KINESIS,
        |table, members| change_kinesis(table, members, "disable"),
    ),
    ("EnableKinesisStreamingDestination", &KINESIS, |_, _| {
        begin("EnableKinesisStreamingDestination")
    }),
    ("ListBulkOperations", &LIST_BULK, |_, _| {
        Some((
            Request::ListBulkOperations,
            json!({ "BulkOperationsSummaryList": [] }),
        ))
    }),
    ("ListGlobalTables", &LIST_GLOBAL_TABLES, |_, _| {
        Some((Request::ListGlobalTables, json!({ "GlobalTables": [] })))
    }),
    ("StartBulkPutItems", &TABLE, |_, _| {
        begin("StartBulkPutItems")
    }),
    ("UpdateGlobalTable", &GLOBAL_TABLE, global),
    ("UpdateGlobalTableSettings", &GLOBAL_TABLE, global),
    (
        "UpdateKinesisStreamingDestination",
        &KINESIS,
        |table, members| change_kinesis(table, members, "update"),
    ),
    ("UpdateTableReplicaAutoScaling", &TABLE, |_, _| {
        begin("UpdateTableReplicaAutoScaling")
    }),
];

fn empty(request: Request) -> Option<(Request, Value)> {
    Some((request, json!({})))
}

fn begin(operation: &'static str) -> Option<(Request, Value)> {
    empty(Request::Begin(operation))
}

fn bulk(_: Option<TableName>, members: Members<'_>) -> Option<(Request, Value)> {
    empty(Request::BulkOperation(members.owned("BulkOperationArn")?))
}

fn global(_: Option<TableName>, members: Members<'_>) -> Option<(Request, Value)> {
    empty(Request::GlobalTable(members.owned("GlobalTableName")?))
}

fn change_kinesis(
    table: Option<TableName>,
    members: Members<'_>,
    action: &'static str,
) -> Option<(Request, Value)> {
    let (table, stream_arn) = (table?, members.owned("StreamArn")?);
    empty(Request::ChangeKinesisStreamingDestination {
        table,
        stream_arn,
        action,
    })
}

/// Reads the body of one of [`NEVER_USED`]; returns the request with its response.
///
/// # Errors
/// In this order: types, names, constraints.
pub fn never_used_request(operation: &str, json: Json<'_>) -> Result<(Request, Value), WireError> {
    let row = NEVER_USED.iter().find(|(name, ..)| *name == operation);
    let (_, shape, asks) = row.ok_or(Error::NotSupported("this operation"))?;
    let members = members::check_types(json, shape)?;
    let has_table = shape
        .members
        .iter()
        .any(|member| member.name == "TableName");
    let table = has_table
        .then(|| names::control_table(members))
        .transpose()?;
    members::constrained(json, shape)?;
    asks(table, members).ok_or(WireError::NotAnObject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::document::Document;

    #[test]
    fn resource_arns() {
        let check = |arn: &str, expected: &str| {
            let body = json!({ "ResourceArn": arn });
            let found = match super::super::request::<ListTagsRequest>(
                Document::from_value(&body).root(),
            ) {
                Ok(request) => request.resource.table_name.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{arn}");
        };
        let iv = "One or more parameter values were invalid: ";
        check("arn:aws:dynamodb:us-east-1:000000000000:table/Tab", "Tab");
        check(
            "arn:aws:dynamodb:us-east-1:000000000000:table/Tab/stream/2026-01-01T00:00:00.000",
            "Tab",
        );
        check("Tab", &format!("{iv}ARNs must start with 'arn:': Tab"));
        for foreign in [
            "arn:aws:s3:::Tab",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/Tab",
            "arn:aws:dynamodb:us-east-1::backup/x",
        ] {
            let user = "User: arn:aws:iam::000000000000:root is not authorized to perform: dynamodb:ListTagsOfResource on resource: ";
            check(foreign, &format!("{user}{foreign}"));
        }
        let index = "arn:aws:dynamodb:us-east-1:000000000000:table/Tab/index/I";
        let only = "Invalid resource arn provided, only table or stream is accepted. Provided resource arn";
        check(index, &format!("{iv}{only}: {index}"));
        let other = "arn:aws:dynamodb:eu-west-1:000000000000:table/Tab";
        check(
            other,
            &format!("Invalid TableArn: Invalid ResourceArn provided as input {other}"),
        );
    }

    #[test]
    fn tags() {
        let check = |tags: Value, expected: &str| {
            let body = json!({ "ResourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/Tab", "Tags": tags });
            let found =
                super::super::request::<TagResourceRequest>(Document::from_value(&body).root())
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
        check(
            json!([{ "Key": "a!", "Value": "" }]),
            "The Tag Key provided is invalid, Key: a!",
        );
        check(
            json!([{ "Key": "a", "Value": "<" }]),
            "The Tag Value provided is invalid, Value: <",
        );
        check(
            json!([{ "Key": "aws:a", "Value": "" }]),
            "Tag Key cannot be prefixed with aws:, Key: aws:a",
        );
    }
}

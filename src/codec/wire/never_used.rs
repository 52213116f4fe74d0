//! Operations of features that this database does not have (docs/dynamodb.md 21): global tables, Kinesis, bulk operations. Vector
//! search is not among them: while CreateTable takes no VectorIndexes, SearchVectors is no operation (docs/dynamodb.md 21).

use serde_json::{Value, json};

use super::error::WireError;
use super::members;
use super::names::{self, NAME_RULES};
use super::shape::{Member, Rule, Shape, Structure};
use crate::codec::json::document::Json;
use crate::model::api::never_used::NeverUsedRequest as Request;

const GLOBAL_TABLE_NAME: Member = Member::new("GlobalTableName", Shape::String).required().rules(NAME_RULES);
const STREAM_ARN: Member = Member::new("StreamArn", Shape::String).required().rules(&[Rule::LengthMin(37), Rule::LengthMax(1024)]);
const BULK_ARN: Member =
    Member::new("BulkOperationArn", Shape::String).required().rules(&[Rule::LengthMin(37), Rule::LengthMax(1024)]);

static GLOBAL_TABLE: Structure = Structure { name: "DescribeGlobalTableInput", members: &[GLOBAL_TABLE_NAME] };
static LIST_GLOBAL_TABLES: Structure = Structure {
    name: "ListGlobalTablesInput",
    members: &[
        Member::new("ExclusiveStartGlobalTableName", Shape::String).rules(NAME_RULES),
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1)]),
        Member::new("RegionName", Shape::String),
    ],
};
static TABLE: Structure = Structure { name: "DescribeTableInput", members: &[Member::new("TableName", Shape::String)] };
static KINESIS: Structure =
    Structure { name: "KinesisStreamingDestinationInput", members: &[Member::new("TableName", Shape::String), STREAM_ARN] };
static BULK: Structure = Structure { name: "DescribeBulkOperationInput", members: &[BULK_ARN] };
static LIST_BULK: Structure = Structure {
    name: "ListBulkOperationsInput",
    members: &[
        Member::new("MaxResults", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(25)]),
        Member::new("NextToken", Shape::String),
    ],
};

/// The operations, by the API's names.
pub const OPERATIONS: &[&str] = &[
    "CancelBulkOperation",
    "CreateGlobalTable",
    "DescribeBulkOperation",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeKinesisStreamingDestination",
    "DescribeTableReplicaAutoScaling",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ListBulkOperations",
    "ListGlobalTables",
    "StartBulkPutItems",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateKinesisStreamingDestination",
    "UpdateTableReplicaAutoScaling",
];

/// Reads the body of one of [`OPERATIONS`].
///
/// # Errors
/// Types, constraints, names.
pub fn request(operation: &str, json: Json<'_>) -> Result<Request, WireError> {
    let shape = shape(operation);
    let members = members::typed(json, shape)?;
    let is_there = shape.members.iter().any(|member| member.name == "TableName");
    let is_list = operation.starts_with("List");
    let table = if is_there && (!is_list || members.has("TableName")) { Some(names::control_table(members)?) } else { None };
    members::constrained(json, shape)?;
    let text = |name: &str| members.owned(name).unwrap_or_default();
    let missing = WireError::TableNameMissing;
    Ok(match operation {
        "CreateGlobalTable" => Request::Begin("CreateGlobalTable"),
        "UpdateTableReplicaAutoScaling" => Request::Begin("UpdateTableReplicaAutoScaling"),
        "EnableKinesisStreamingDestination" => Request::Begin("EnableKinesisStreamingDestination"),
        "StartBulkPutItems" => Request::Begin("StartBulkPutItems"),
        "ListGlobalTables" => Request::ListGlobalTables,
        "ListBulkOperations" => Request::ListBulkOperations,
        "DescribeTableReplicaAutoScaling" => Request::DescribeTableReplicaAutoScaling(table.ok_or(missing)?),
        "DescribeKinesisStreamingDestination" => Request::DescribeKinesisStreamingDestination(table.ok_or(missing)?),
        "DisableKinesisStreamingDestination" | "UpdateKinesisStreamingDestination" => {
            let action = if operation.starts_with("Disable") { "disable" } else { "update" };
            Request::ChangeKinesisStreamingDestination { table: table.ok_or(missing)?, stream_arn: text("StreamArn"), action }
        }
        "DescribeBulkOperation" | "CancelBulkOperation" => Request::BulkOperation(text("BulkOperationArn")),
        _ => Request::GlobalTable(text("GlobalTableName")),
    })
}

fn shape(operation: &str) -> &'static Structure {
    match operation {
        "ListGlobalTables" => &LIST_GLOBAL_TABLES,
        "ListBulkOperations" => &LIST_BULK,
        "DescribeBulkOperation" | "CancelBulkOperation" => &BULK,
        "EnableKinesisStreamingDestination" | "DisableKinesisStreamingDestination" | "UpdateKinesisStreamingDestination" => {
            &KINESIS
        }
        "DescribeKinesisStreamingDestination"
        | "DescribeTableReplicaAutoScaling"
        | "UpdateTableReplicaAutoScaling"
        | "StartBulkPutItems" => &TABLE,
        _ => &GLOBAL_TABLE,
    }
}

/// The empty answer to a request that was no error.
#[must_use]
pub fn to_json(request: &Request) -> Value {
    match request {
        Request::ListGlobalTables => json!({ "GlobalTables": [] }),
        Request::ListBulkOperations => json!({ "BulkOperationsSummaryList": [] }),
        Request::DescribeKinesisStreamingDestination(table) => {
            json!({ "TableName": table.as_str(), "KinesisDataStreamDestinations": [] })
        }
        Request::Begin(_)
        | Request::GlobalTable(_)
        | Request::DescribeTableReplicaAutoScaling(_)
        | Request::ChangeKinesisStreamingDestination { .. }
        | Request::BulkOperation(_) => json!({}),
    }
}

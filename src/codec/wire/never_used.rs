//! Operations of features that this database does not have (docs/dynamodb.md 21): global tables, Kinesis, bulk operations. Vector
//! search is not among them: while CreateTable takes no VectorIndexes, SearchVectors is no operation (docs/dynamodb.md 21).

use serde_json::{Value, json};

use super::error::WireError;
use super::members;
use super::names::{self, NAME_RULES};
use super::shape::{Member, Members, Rule, Shape, Structure};
use crate::codec::json::document::Json;
use crate::model::api::never_used::NeverUsedRequest as Request;
use crate::model::{Error, TableName};

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

/// What a request of well-formed members asks for, and the answer if that is no error. The table is there where the shape has one.
type Asks = fn(Option<TableName>, Members<'_>) -> Option<(Request, Value)>;

/// The operations: their names in the API, the members of their requests.
pub const OPERATIONS: &[(&str, &Structure, Asks)] = &[
    ("CancelBulkOperation", &BULK, bulk),
    ("CreateGlobalTable", &GLOBAL_TABLE, |_, _| begin("CreateGlobalTable")),
    ("DescribeBulkOperation", &BULK, bulk),
    ("DescribeGlobalTable", &GLOBAL_TABLE, global),
    ("DescribeGlobalTableSettings", &GLOBAL_TABLE, global),
    ("DescribeKinesisStreamingDestination", &TABLE, |table, _| {
        let table = table?;
        let answer = json!({ "TableName": table.as_str(), "KinesisDataStreamDestinations": [] });
        Some((Request::DescribeKinesisStreamingDestination(table), answer))
    }),
    ("DescribeTableReplicaAutoScaling", &TABLE, |table, _| empty(Request::DescribeTableReplicaAutoScaling(table?))),
    ("DisableKinesisStreamingDestination", &KINESIS, |table, members| change_kinesis(table, members, "disable")),
    ("EnableKinesisStreamingDestination", &KINESIS, |_, _| begin("EnableKinesisStreamingDestination")),
    ("ListBulkOperations", &LIST_BULK, |_, _| Some((Request::ListBulkOperations, json!({ "BulkOperationsSummaryList": [] })))),
    ("ListGlobalTables", &LIST_GLOBAL_TABLES, |_, _| Some((Request::ListGlobalTables, json!({ "GlobalTables": [] })))),
    ("StartBulkPutItems", &TABLE, |_, _| begin("StartBulkPutItems")),
    ("UpdateGlobalTable", &GLOBAL_TABLE, global),
    ("UpdateGlobalTableSettings", &GLOBAL_TABLE, global),
    ("UpdateKinesisStreamingDestination", &KINESIS, |table, members| change_kinesis(table, members, "update")),
    ("UpdateTableReplicaAutoScaling", &TABLE, |_, _| begin("UpdateTableReplicaAutoScaling")),
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

fn change_kinesis(table: Option<TableName>, members: Members<'_>, action: &'static str) -> Option<(Request, Value)> {
    let (table, stream_arn) = (table?, members.owned("StreamArn")?);
    empty(Request::ChangeKinesisStreamingDestination { table, stream_arn, action })
}

/// Reads the body of one of [`OPERATIONS`]; the answer beside it.
///
/// # Errors
/// Types, constraints, names.
pub fn request(operation: &str, json: Json<'_>) -> Result<(Request, Value), WireError> {
    let row = OPERATIONS.iter().find(|(name, ..)| *name == operation);
    let (_, shape, asks) = row.ok_or(Error::NotSupported("this operation"))?;
    let members = members::typed(json, shape)?;
    let has_table = shape.members.iter().any(|member| member.name == "TableName");
    let table = has_table.then(|| names::control_table(members)).transpose()?;
    members::constrained(json, shape)?;
    asks(table, members).ok_or(WireError::NotAnObject)
}

//! `X-Amz-Target`: which operation a request asks for.

use super::control::ControlOperation;

/// An operation that this version serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    CreateTable,
    DescribeTable,
    ListTables,
    DeleteTable,
    PutItem,
    GetItem,
    DeleteItem,
    UpdateItem,
    Query,
    Scan,
    BatchGetItem,
    BatchWriteItem,
    DescribeStream,
    DescribeTimeToLive,
    GetRecords,
    GetShardIterator,
    ListStreams,
    TransactGetItems,
    TransactWriteItems,
    UpdateTimeToLive,
    Control(ControlOperation),
}

/// What a target names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Served(Operation),
    /// An operation of the API that this version does not serve.
    NotServed(&'static str),
    Unknown,
}

impl Operation {
    /// The API's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CreateTable => "CreateTable",
            Self::DescribeTable => "DescribeTable",
            Self::ListTables => "ListTables",
            Self::DeleteTable => "DeleteTable",
            Self::PutItem => "PutItem",
            Self::GetItem => "GetItem",
            Self::DeleteItem => "DeleteItem",
            Self::UpdateItem => "UpdateItem",
            Self::Query => "Query",
            Self::Scan => "Scan",
            Self::UpdateTimeToLive => "UpdateTimeToLive",
            Self::DescribeTimeToLive => "DescribeTimeToLive",
            Self::ListStreams => "ListStreams",
            Self::DescribeStream => "DescribeStream",
            Self::GetShardIterator => "GetShardIterator",
            Self::GetRecords => "GetRecords",
            Self::BatchGetItem => "BatchGetItem",
            Self::BatchWriteItem => "BatchWriteItem",
            Self::TransactGetItems => "TransactGetItems",
            Self::TransactWriteItems => "TransactWriteItems",
            Self::Control(operation) => operation.name(),
        }
    }
}

const SERVED: &[Operation] = &[
    Operation::CreateTable,
    Operation::DescribeTable,
    Operation::ListTables,
    Operation::DeleteTable,
    Operation::PutItem,
    Operation::GetItem,
    Operation::DeleteItem,
    Operation::UpdateItem,
    Operation::Query,
    Operation::Scan,
    Operation::UpdateTimeToLive,
    Operation::DescribeTimeToLive,
    Operation::BatchGetItem,
    Operation::BatchWriteItem,
    Operation::TransactGetItems,
    Operation::TransactWriteItems,
];

/// The other operations of the 2012-08-10 model.
const NOT_SERVED: &[&str] = &["BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction"];

/// The operations of DynamoDB Streams.
const STREAMS: &[Operation] =
    &[Operation::ListStreams, Operation::DescribeStream, Operation::GetShardIterator, Operation::GetRecords];

/// Reads the header's value; upper and lower case count.
#[must_use]
pub fn parse(header: Option<&str>) -> Target {
    let Some((service, name)) = header.and_then(|text| text.split_once('.')) else { return Target::Unknown };
    let served = |operations: &[Operation]| operations.iter().find(|operation| operation.name() == name).copied();
    let not_served = || NOT_SERVED.iter().find(|&&known| known == name).copied();
    match service {
        "DynamoDB_20120810" => match (served(SERVED), ControlOperation::named(name)) {
            (Some(operation), _) => Target::Served(operation),
            (None, Some(operation)) => Target::Served(Operation::Control(operation)),
            (None, None) => not_served().map_or(Target::Unknown, Target::NotServed),
        },
        "DynamoDBStreams_20120810" => served(STREAMS).map_or(Target::Unknown, Target::Served),
        _ => Target::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let check = |header: Option<&str>, expected: Target| assert_eq!(parse(header), expected, "{header:?}");
        check(Some("DynamoDB_20120810.PutItem"), Target::Served(Operation::PutItem));
        check(Some("DynamoDB_20120810.ExecuteStatement"), Target::NotServed("ExecuteStatement"));
        check(Some("DynamoDB_20120810.UpdateTable"), Target::Served(Operation::Control(ControlOperation::UpdateTable)));
        check(Some("DynamoDBStreams_20120810.ListStreams"), Target::Served(Operation::ListStreams));
        check(Some("DynamoDB_20120810.ListStreams"), Target::Unknown);
        check(Some("DynamoDBStreams_20120810.PutItem"), Target::Unknown);
        check(Some("DynamoDB_20120810.putitem"), Target::Unknown);
        check(Some("DynamoDB_20111205.PutItem"), Target::Unknown);
        check(Some("PutItem"), Target::Unknown);
        check(None, Target::Unknown);
    }
}

//! Operations of features that this database does not have answer as for an account that never used them (docs/dynamodb.md 21).

use crate::support::control::Control;
use serde_json::{Value, json};

#[test]
fn what_is_asked_is_empty() {
    let control = Control::new();
    control.simple("Tab");
    let check = |operation: &str, body: Value, expected: Value| {
        assert_eq!(control.ok(operation, body), expected, "{operation}")
    };
    check("ListGlobalTables", json!({}), json!({ "GlobalTables": [] }));
    check(
        "ListBulkOperations",
        json!({}),
        json!({ "BulkOperationsSummaryList": [] }),
    );
    check(
        "ListContributorInsights",
        json!({}),
        json!({ "ContributorInsightsSummaries": [] }),
    );
    check(
        "ListContributorInsights",
        json!({ "TableName": "Tab" }),
        json!({ "ContributorInsightsSummaries": [] }),
    );
    let destinations = json!({ "TableName": "Tab", "KinesisDataStreamDestinations": [] });
    check(
        "DescribeKinesisStreamingDestination",
        json!({ "TableName": "Tab" }),
        destinations,
    );
    let disabled = json!({ "TableName": "Tab", "ContributorInsightsStatus": "DISABLED" });
    check(
        "DescribeContributorInsights",
        json!({ "TableName": "Tab" }),
        disabled.clone(),
    );
    let disable = json!({ "TableName": "Tab", "ContributorInsightsAction": "DISABLE" });
    check("UpdateContributorInsights", disable, disabled);
}

#[test]
fn what_is_named_is_missing_and_nothing_can_be_begun() {
    let control = Control::new();
    control.simple("Tab");
    let check =
        |operation: &str, body: Value, expected: &str| control.fails(operation, body, expected);
    for operation in [
        "DescribeGlobalTable",
        "DescribeGlobalTableSettings",
        "UpdateGlobalTable",
        "UpdateGlobalTableSettings",
    ] {
        check(
            operation,
            json!({ "GlobalTableName": "Glo" }),
            "Global table with name: 'Glo' does not exist.",
        );
    }
    check(
        "DescribeTableReplicaAutoScaling",
        json!({ "TableName": "Tab" }),
        "Global table with name: 'Tab' does not exist.",
    );
    let missing = "Requested resource not found: Table: None not found";
    for operation in [
        "DescribeKinesisStreamingDestination",
        "DescribeContributorInsights",
        "ListContributorInsights",
    ] {
        check(operation, json!({ "TableName": "None" }), missing);
    }
    let index = json!({ "TableName": "Tab", "IndexName": "glo" });
    check(
        "DescribeContributorInsights",
        index,
        "Requested resource not found: Index: glo not found for table: Tab",
    );
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:bulk/1";
    for operation in ["DescribeBulkOperation", "CancelBulkOperation"] {
        let text = format!("Requested resource not found: BulkOperationArn: {arn} not found");
        check(operation, json!({ "BulkOperationArn": arn }), &text);
    }
    let stream = "arn:aws:kinesis:us-east-1:000000000000:stream/one";
    let body = json!({ "TableName": "Tab", "StreamArn": stream });
    check(
        "DisableKinesisStreamingDestination",
        body.clone(),
        &format!(
            "Table is not in a valid state to disable Kinesis Streaming Destination: No streaming destination with streamArn: {stream} found for table with tableName: Tab"
        ),
    );
    for (operation, body) in [
        ("EnableKinesisStreamingDestination", body),
        ("CreateGlobalTable", json!({ "GlobalTableName": "Tab" })),
        (
            "UpdateTableReplicaAutoScaling",
            json!({ "TableName": "Tab" }),
        ),
        ("StartBulkPutItems", json!({ "TableName": "Tab" })),
    ] {
        check(
            operation,
            body,
            &format!("{operation} is not supported by this version of ddbfs"),
        );
    }
}

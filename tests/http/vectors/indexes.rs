//! Index maintenance (Appendix B.7): what each change costs the index, and what the stream says.

use serde_json::{Value, json};

use super::*;
use crate::support::http::{SIGNATURE, exchange, raw};

/// A global index `glo` on a, keys only, and a stream with both images.
fn indexed() -> Value {
    let mut request = table("Ind");
    request["AttributeDefinitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"AttributeName": "a", "AttributeType": "S"}));
    let index = r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]"#;
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    with(
        request,
        json!({"GlobalSecondaryIndexes": parse(index), "StreamSpecification": stream}),
    )
}

impl Service {
    /// A call of the Streams API that must succeed.
    fn stream(&self, operation: &str, request: &Value) -> Value {
        let target = format!("DynamoDBStreams_20120810.{operation}");
        let headers = [
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", target.as_str()),
            ("Authorization", SIGNATURE),
            ("X-Amz-Date", "20260101T000000Z"),
        ];
        let answer = exchange(
            self.server.local_addr(),
            &raw("POST /", &headers, &request.to_string()),
        );
        assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
        answer.json()
    }

    /// The kinds of all records of the only stream.
    fn records(&self) -> Vec<String> {
        let stream = self.stream("ListStreams", &json!({}))["Streams"][0]["StreamArn"].take();
        let shard =
            self.stream("DescribeStream", &json!({"StreamArn": stream}))["StreamDescription"]["Shards"][0]["ShardId"].take();
        let from =
            json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = self.stream("GetShardIterator", &from)["ShardIterator"].take();
        let records =
            self.stream("GetRecords", &json!({"ShardIterator": iterator}))["Records"].take();
        records
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["eventName"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// The item before and after (attributes beside the key, or `none`), the units of table and index, the record.
const VECTORS: &[(&str, &str, &str, &str)] = &[
    ("none", r#""a":{"S":"x"}"#, "table 1 glo 1", "INSERT"),
    (
        r#""a":{"S":"x"}"#,
        r#""a":{"S":"x"},"c":{"N":"1"}"#,
        "table 1",
        "MODIFY",
    ),
    (
        r#""a":{"S":"x"}"#,
        r#""a":{"S":"y"}"#,
        "table 1 glo 2",
        "MODIFY",
    ),
    (r#""a":{"S":"x"}"#, "", "table 1 glo 1", "MODIFY"),
    ("", r#""c":{"N":"1"}"#, "table 1", "MODIFY"),
    (r#""a":{"S":"x"}"#, "none", "table 1 glo 1", "REMOVE"),
    (r#""a":{"S":"x"}"#, r#""a":{"S":"x"}"#, "table 1", ""),
    ("none", "", "table 1", "INSERT"),
];

fn units(consumed: &Value) -> String {
    let index = consumed["GlobalSecondaryIndexes"]["glo"]["CapacityUnits"].as_f64();
    let index = index
        .map(|units| format!(" glo {units}"))
        .unwrap_or_default();
    format!("table {}{index}", consumed["Table"]["CapacityUnits"]).replace(".0", "")
}

/// docs/dynamodb.md B.7.
#[test]
fn index_maintenance() {
    let service = Service::new();
    service.ok("CreateTable", indexed());
    let mut records = Vec::new();
    let write = |n: u32, side: &str| -> Value {
        let (operation, member) = match side {
            "none" => ("DeleteItem", json!({"Key": key("k", n)})),
            attributes => ("PutItem", json!({"Item": item("k", n, attributes)})),
        };
        let request = with(
            json!({"TableName": "Ind", "ReturnConsumedCapacity": "INDEXES"}),
            member,
        );
        service.ok(operation, request)["ConsumedCapacity"].take()
    };
    for (n, (before, after, consumed, record)) in (1..).zip(VECTORS) {
        if *before != "none" {
            write(n, before);
            records.push("INSERT".to_owned());
        }
        assert_eq!(units(&write(n, after)), *consumed, "{before} -> {after}");
        records.extend(Some((*record).to_owned()).filter(|record| !record.is_empty()));
        let request = json!({"TableName": "Ind", "IndexName": "glo"});
        let entries = service.ok("Scan", request)["Items"].take();
        let there = entries
            .as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["sk"] == key("k", n)["sk"]);
        assert_eq!(there, after.contains("\"a\""), "{before} -> {after}");
    }
    // In a transaction the table is charged twice, the index once.
    let put = json!({"TransactItems": [{"Put": {"TableName": "Ind", "Item": item("t", 1, r#""a":{"S":"x"}"#)}}]});
    let answer = service.ok(
        "TransactWriteItems",
        with(put, json!({"ReturnConsumedCapacity": "INDEXES"})),
    );
    assert_eq!(units(&answer["ConsumedCapacity"][0]), "table 2 glo 1");
    records.push("INSERT".to_owned());
    // What is refused leaves nothing, in the stream neither.
    let refused = |attributes: &str, text: &str| {
        let request = json!({"TableName": "Ind", "Item": item("r", 1, attributes)});
        service.check("PutItem", &request, &format!("~{text}"));
    };
    refused(
        r#""a":{"N":"1"}"#,
        "Type mismatch for Index Key a Expected: S Actual: N IndexName: glo",
    );
    refused(
        r#""a":{"S":""}"#,
        "cannot contain an empty string value. IndexName: glo, IndexKey: a",
    );
    assert_eq!(service.records(), records);
}

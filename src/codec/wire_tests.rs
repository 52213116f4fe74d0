//! Tests of `codec::wire` with whole bodies of requests and responses: the accepted ones, and the
//! errors of the others. `wire/round_trips` has the round trips.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use super::{pages, tables};
use crate::codec::json::document::Document;
use crate::codec::record::ResultRow;
use crate::model::api::common::{
    AttributeAction, AttributeUpdate, ComparisonOperator, ConditionalOperator, LegacyCondition,
    LegacyConditions,
};
use crate::model::api::*;
use crate::model::error::{QueryError, ValueError};
use crate::model::schema::{
    BillingMode, IndexKind, KeyAttribute, KeyAttributeType, ProvisionedThroughput,
};
use crate::model::{
    AttributeValue, IndexName, IndexSchema, Item, KeySchema, Projection, TableName, TableSchema,
    TableSettings,
};

type Outcome = Result<(), WireError>;

#[track_caller]
fn refused(read: fn(&Value) -> Outcome, body: Value, expected: &str) {
    let found = read(&body).map_or_else(|error| error.to_string(), |()| "accepted".to_owned());
    assert_eq!(found, expected, "{body}");
}

fn put(body: &Value) -> Outcome {
    request::<PutItemRequest>(Document::from_value(body).root()).map(drop)
}
fn delete(body: &Value) -> Outcome {
    request::<DeleteItemRequest>(Document::from_value(body).root()).map(drop)
}
fn update(body: &Value) -> Outcome {
    request::<UpdateItemRequest>(Document::from_value(body).root()).map(drop)
}
fn get(body: &Value) -> Outcome {
    request::<GetItemRequest>(Document::from_value(body).root()).map(drop)
}
fn query(body: &Value) -> Outcome {
    request::<QueryRequest>(Document::from_value(body).root()).map(drop)
}
fn scan(body: &Value) -> Outcome {
    request::<ScanRequest>(Document::from_value(body).root()).map(drop)
}
/// Returns the fault that the operation reports after its earlier checks.
fn told(fault: Option<Box<crate::model::Error>>) -> Outcome {
    fault.map_or(Ok(()), |fault| Err(WireError::Request(*fault)))
}
fn batch_get(body: &Value) -> Outcome {
    told(request::<BatchGetItemRequest>(Document::from_value(body).root())?.fault)
}
fn batch_write(body: &Value) -> Outcome {
    request::<BatchWriteItemRequest>(Document::from_value(body).root()).map(drop)
}
fn transact_get(body: &Value) -> Outcome {
    told(request::<TransactGetItemsRequest>(Document::from_value(body).root())?.fault)
}
fn transact_write(body: &Value) -> Outcome {
    told(request::<TransactWriteItemsRequest>(Document::from_value(body).root())?.fault)
}
fn create(body: &Value) -> Outcome {
    request::<CreateTableRequest>(Document::from_value(body).root()).map(drop)
}
fn list(body: &Value) -> Outcome {
    request::<ListTablesRequest>(Document::from_value(body).root()).map(drop)
}

#[test]
fn several_violations_are_reported_together() {
    refused(
        put,
        json!({"ReturnConsumedCapacity": "hi", "ReturnValues": "ALL"}),
        "4 validation errors detected: \
         Value 'hi' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; \
         Value null at 'tableName' failed to satisfy constraint: Member must not be null; \
         Value null at 'item' failed to satisfy constraint: Member must not be null; \
         Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]",
    );
    refused(
        get,
        json!({"TableName": "abc"}),
        "1 validation error detected: Value null at 'key' failed to satisfy constraint: Member must not be null",
    );
    refused(
        list,
        json!({"Limit": 101, "ExclusiveStartTableName": "a b"}),
        "2 validation errors detected: \
         Value 'a b' at 'exclusiveStartTableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; \
         Value '101' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 100",
    );
}

#[test]
fn a_bad_table_name_is_reported_alone() {
    refused(
        delete,
        json!({"TableName": "a;b", "ReturnConsumedCapacity": "hi"}),
        "1 validation error detected: Value 'a;b' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
    );
}

#[test]
fn limits_of_query_and_scan_differ_in_their_texts() {
    refused(
        query,
        json!({"TableName": "abc", "Limit": 0}),
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
    );
    refused(
        scan,
        json!({"TableName": "abc", "Limit": 0}),
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
    );
}

#[test]
fn a_transaction_holds_one_action_an_item() {
    let body = |item: Value| json!({"TransactItems": [item]});
    let put = json!({"TableName": "abc", "Item": {"pk": {"S": "a"}}});
    let key = json!({"TableName": "abc", "Key": {"pk": {"S": "a"}}});
    let one = "TransactItems can only contain one of Check, Put, Update or Delete";
    refused(transact_write, body(json!({"Put": put})), "accepted");
    refused(
        transact_write,
        body(json!({"Delete": key, "Update": null})),
        "accepted",
    );
    refused(
        transact_write,
        body(json!({})),
        "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
    );
    refused(
        transact_write,
        body(json!({"Put": put, "Delete": key})),
        one,
    );
    let null = |path: &str| {
        format!(
            "1 validation error detected: Value null at 'transactItems.1.member.{path}' failed to satisfy constraint: Member must not be null"
        )
    };
    refused(
        transact_write,
        body(json!({"ConditionCheck": key})),
        &null("conditionCheck.conditionExpression"),
    );
    refused(
        transact_write,
        body(json!({"Update": key})),
        &null("update.updateExpression"),
    );
    refused(transact_get, body(json!({})), &null("get"));
    refused(
        transact_write,
        json!({"TransactItems": []}),
        "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
    refused(
        transact_write,
        body(json!({"Put": {"TableName": "a b", "Item": {}}})),
        "1 validation error detected: Value 'a b' at 'transactItems.1.member.put.tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
    );
}

#[test]
fn legacy_parameters_are_read_as_they_are() {
    let key = json!({"pk": {"S": "a"}});
    let body = json!({
        "TableName": "abc", "Key": key, "ConditionalOperator": "OR",
        "Expected": {"b": {"Exists": false}, "a.b": {"ComparisonOperator": "IN", "AttributeValueList": [{"N": "1.0"}]}},
        "AttributeUpdates": {"n": {"Value": {"N": "1"}, "Action": "ADD"}, "m": {"Action": "DELETE"}},
    });
    let Ok(read) = request::<UpdateItemRequest>(Document::from_value(&body).root()) else {
        panic!("a legal update")
    };
    let one = AttributeValue::N(crate::model::Number::from(1));
    let conditions = vec![
        LegacyCondition {
            attribute: "b".into(),
            exists: Some(false),
            ..LegacyCondition::default()
        },
        LegacyCondition {
            attribute: "a.b".into(),
            comparison_operator: Some(ComparisonOperator::In),
            attribute_value_list: Some(vec![one.clone()]),
            ..LegacyCondition::default()
        },
    ];
    let expected = LegacyConditions {
        conditions,
        operator: Some(ConditionalOperator::Or),
    };
    assert_eq!(read.condition, ConditionParameter::Legacy(expected));
    let updates = vec![
        AttributeUpdate {
            attribute: "n".into(),
            action: AttributeAction::Add,
            value: Some(one),
        },
        AttributeUpdate {
            attribute: "m".into(),
            action: AttributeAction::Delete,
            value: None,
        },
    ];
    assert_eq!(read.update, UpdateParameter::AttributeUpdates(updates));

    let body = json!({
        "TableName": "abc", "KeyConditions": {"pk": {"ComparisonOperator": "NULL"}}, "QueryFilter": {}, "AttributesToGet": ["a.b"],
    });
    let Ok(read) = request::<QueryRequest>(Document::from_value(&body).root()) else {
        panic!("a legal query")
    };
    assert_eq!(
        read.filter,
        ConditionParameter::Legacy(LegacyConditions::default())
    );
    assert_eq!(read.attributes_to_get, Some(vec!["a.b".to_owned()]));
    let condition = LegacyCondition {
        attribute: "pk".into(),
        comparison_operator: Some(ComparisonOperator::Null),
        attribute_value_list: Some(vec![]),
        ..LegacyCondition::default()
    };
    assert_eq!(read.key_conditions, Some(vec![condition]));
}

#[test]
fn legacy_parameters_keep_their_constraints() {
    let operators = "[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]";
    let constraint = |value: &str, path: &str, must: &str| {
        format!(
            "1 validation error detected: Value {value} at '{path}' failed to satisfy constraint: Member must {must}"
        )
    };
    refused(
        put,
        json!({"TableName": "abc", "Item": {}, "Expected": {"a": {"ComparisonOperator": "LIKE"}}}),
        &constraint(
            "'LIKE'",
            "expected.a.member.comparisonOperator",
            &format!("satisfy enum value set: {operators}"),
        ),
    );
    refused(
        query,
        json!({"TableName": "abc", "KeyConditions": {"a": {}}}),
        &constraint(
            "null",
            "keyConditions.a.member.comparisonOperator",
            "not be null",
        ),
    );
    refused(
        update,
        json!({"TableName": "abc", "Key": {}, "AttributeUpdates": {"a": {"Action": "SET"}}}),
        &constraint(
            "'SET'",
            "attributeUpdates.a.member.action",
            "satisfy enum value set: [ADD, PUT, DELETE]",
        ),
    );
    refused(
        get,
        json!({"TableName": "abc", "Key": {}, "AttributesToGet": []}),
        &constraint(
            "'[]'",
            "attributesToGet",
            "have length greater than or equal to 1",
        ),
    );
    refused(
        put,
        json!({"TableName": "abc", "Item": {}, "Expected": {"a": {"Value": {"N": "x"}}}}),
        "The parameter cannot be converted to a numeric value: x",
    );
}

#[test]
fn expressions_and_legacy_parameters_do_not_mix() {
    let mixed = |legacy: &str, expressions: &str| {
        format!(
            "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{legacy}}} Expression parameters: {{{expressions}}}"
        )
    };
    let body = json!({
        "TableName": "abc", "Item": {}, "Key": {}, "Expected": {}, "ConditionalOperator": "OR", "ConditionExpression": "a",
        "AttributesToGet": ["a"], "QueryFilter": {}, "ScanFilter": {}, "FilterExpression": "a", "ProjectionExpression": "a",
    });
    refused(
        put,
        body.clone(),
        &mixed("Expected, ConditionalOperator", "ConditionExpression"),
    );
    refused(
        delete,
        body.clone(),
        &mixed("Expected, ConditionalOperator", "ConditionExpression"),
    );
    refused(
        get,
        body.clone(),
        &mixed("AttributesToGet", "ProjectionExpression"),
    );
    let both = "ProjectionExpression, FilterExpression";
    refused(
        query,
        body.clone(),
        &mixed("AttributesToGet, QueryFilter, ConditionalOperator", both),
    );
    refused(
        scan,
        body,
        &mixed("AttributesToGet, ScanFilter, ConditionalOperator", both),
    );
    let body = json!({"TableName": "abc", "KeyConditions": {}, "KeyConditionExpression": "a", "FilterExpression": "a"});
    refused(
        query,
        body,
        &mixed("KeyConditions", "FilterExpression, KeyConditionExpression"),
    );
}

#[test]
fn an_update_is_checked_in_its_own_order() {
    let key = json!({"pk": {"S": "a"}});
    let values = "1 validation error detected: Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]";
    refused(
        update,
        json!({"TableName": "abc", "Key": key, "ReturnValues": "ALL"}),
        values,
    );
    refused(
        update,
        json!({"TableName": "abc", "ReturnValues": "ALL"}),
        "2 validation errors detected: \
         Value 'ALL' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]; \
         Value null at 'key' failed to satisfy constraint: Member must not be null",
    );
    refused(
        update,
        json!({"TableName": "abc", "Key": key, "ReturnConsumedCapacity": "ALL", "ReturnItemCollectionMetrics": "ALL"}),
        "1 validation error detected: Value 'ALL' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]",
    );
    refused(
        update,
        json!({"TableName": "abc"}),
        "1 validation error detected: Value null at 'key' failed to satisfy constraint: Member must not be null",
    );
    refused(
        update,
        json!({"TableName": "abc", "Key": key, "AttributeUpdates": {}, "Expected": {}, "UpdateExpression": "a", "ConditionExpression": "b"}),
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributeUpdates, Expected} Expression parameters: {UpdateExpression, ConditionExpression}",
    );
    let body = json!({
        "TableName": "abc", "Key": key, "UpdateExpression": "SET a = :a", "ConditionExpression": "attribute_exists(#b)",
        "ExpressionAttributeNames": {"#b": "b"}, "ExpressionAttributeValues": {":a": {"N": "1.0"}},
        "ReturnValues": "UPDATED_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    });
    let Ok(read) = request::<UpdateItemRequest>(Document::from_value(&body).root()) else {
        panic!("a legal update")
    };
    assert_eq!(
        (read.update.expression(), read.condition.expression()),
        (Some("SET a = :a"), Some("attribute_exists(#b)"))
    );
    assert_eq!(
        (read.return_values, read.return_old_on_condition_failure),
        (UpdateReturnValues::UpdatedNew, true)
    );
}

#[test]
fn put_and_delete_check_what_they_return() {
    let body = |name: &str, value: Value| {
        let mut body = json!({"TableName": "abc", "Item": {"pk": {"S": "a"}}});
        body[name] = value;
        body
    };
    refused(
        put,
        body("ReturnValues", json!("ALL_NEW")),
        "ReturnValues can only be ALL_OLD or NONE",
    );
    refused(
        put,
        body("Item", json!({"a": {"N": "x"}})),
        "The parameter cannot be converted to a numeric value: x",
    );
}

#[test]
fn bad_values_of_placeholders_and_start_keys_say_where() {
    refused(
        query,
        json!({"TableName": "abc", "KeyConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": {"NULL": false}}}),
        "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: Null attribute value types must have the value of true for key :a",
    );
    let body =
        Document::from_value(&json!({"TableName": "abc", "ExclusiveStartKey": {"a": {"SS": []}}}));
    let Ok(read) = request::<ScanRequest>(body.root()) else {
        panic!("what is wrong with a start key is told later")
    };
    assert_eq!(
        (read.exclusive_start_key, read.start_key_fault),
        (None, Some(ValueError::EmptyStringSet))
    );
}

#[test]
fn segments_belong_together() {
    let check = |body: Value, expected: (Option<Segment>, Option<QueryError>)| {
        let body = Document::from_value(&body);
        let Ok(read) = request::<ScanRequest>(body.root()) else {
            panic!("what is wrong with a segment is told later")
        };
        assert_eq!((read.segment, read.segment_fault), expected);
    };
    check(json!({"TableName": "abc"}), (None, None));
    let whole = Segment { index: 0, total: 1 };
    check(
        json!({"TableName": "abc", "Segment": 0, "TotalSegments": 1}),
        (Some(whole), None),
    );
    check(
        json!({"TableName": "abc", "TotalSegments": 1}),
        (None, Some(QueryError::SegmentMissing)),
    );
    check(
        json!({"TableName": "abc", "Segment": 1}),
        (None, Some(QueryError::TotalSegmentsMissing)),
    );
    refused(
        scan,
        json!({"TableName": "abc", "Segment": -1, "TotalSegments": 1_000_001}),
        "2 validation errors detected: \
         Value '1000001' at 'totalSegments' failed to satisfy constraint: Member must have value less than or equal to 1000000; \
         Value '-1' at 'segment' failed to satisfy constraint: Member must have value greater than or equal to 0",
    );
}

#[test]
fn members_of_data_requests_are_read() -> Result<(), WireError> {
    let put = request::<PutItemRequest>(
        Document::from_value(&json!({
            "TableName": "Orders", "Item": {"pk": {"S": "a"}}, "ReturnValues": "ALL_OLD",
            "ReturnConsumedCapacity": "INDEXES", "ReturnItemCollectionMetrics": "SIZE",
        }))
        .root(),
    )?;
    assert_eq!(
        (put.return_values, put.return_item_collection_metrics),
        (ReturnValues::AllOld, true)
    );
    assert_eq!(
        put.item,
        Item::from([("pk", AttributeValue::S("a".to_owned()))])
    );
    let query = request::<QueryRequest>(
        Document::from_value(&json!({
            "TableName": "Orders", "IndexName": "by-day", "Select": "COUNT", "Limit": 7.9, "ScanIndexForward": "no",
            "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}},
        }))
        .root(),
    )?;
    assert_eq!(
        (query.select, query.limit, query.scan_index_forward),
        (Some(Select::Count), Some(7), false)
    );
    assert_eq!(
        query.index_name.as_ref().map(IndexName::as_str),
        Some("by-day")
    );
    let scan = request::<ScanRequest>(
        Document::from_value(&json!({"TableName": "Orders", "Segment": 1, "TotalSegments": 4, "ConsistentRead": true})).root(),
    )?;
    assert_eq!(
        (scan.segment, scan.consistent_read),
        (Some(Segment { index: 1, total: 4 }), true)
    );
    Ok(())
}

#[test]
fn constraints_inside_create_table_have_paths() {
    let body = json!({
        "TableName": "abc",
        "AttributeDefinitions": [{"AttributeName": "", "AttributeType": "X"}],
        "KeySchema": [],
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1},
        "GlobalSecondaryIndexes": [{"IndexName": "i;i", "KeySchema": [{"KeyType": "HASH"}]}],
    });
    refused(
        create,
        body,
        "7 validation errors detected: \
         Value '' at 'attributeDefinitions.1.member.attributeName' failed to satisfy constraint: Member must have length greater than or equal to 1; \
         Value 'X' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]; \
         Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: Member must have value greater than or equal to 1; \
         Value '[]' at 'keySchema' failed to satisfy constraint: Member must have length greater than or equal to 1; \
         Value 'i;i' at 'globalSecondaryIndexes.1.member.indexName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; \
         Value null at 'globalSecondaryIndexes.1.member.keySchema.1.member.attributeName' failed to satisfy constraint: Member must not be null; \
         Value null at 'globalSecondaryIndexes.1.member.projection' failed to satisfy constraint: Member must not be null",
    );
    let key = json!({"AttributeName": "a", "KeyType": "HASH"});
    refused(
        create,
        json!({"TableName": "abc", "AttributeDefinitions": [], "KeySchema": [key, key, key]}),
        "1 validation error detected: Value '[KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=a, keyType=HASH)]' at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2",
    );
}

#[test]
fn options_of_create_table_are_checked() {
    let text = |name: &str, value: Value, expected: &str| {
        let mut body = json!({
            "TableName": "abc", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
        });
        body[name] = value;
        refused(create, body, expected);
    };
    text("Tags", json!([]), "accepted");
    text(
        "StreamSpecification",
        json!({"StreamEnabled": false}),
        "accepted",
    );
    text(
        "OnDemandThroughput",
        json!({"MaxReadRequestUnits": 10}),
        "accepted",
    );
    text(
        "StreamSpecification",
        json!({"StreamEnabled": true}),
        "One or more parameter values were invalid: Table is being created with a stream enabled, UpdateViewType is required",
    );
    text(
        "OnDemandThroughput",
        json!({"MaxReadRequestUnits": 0}),
        "One or more parameter values were invalid: Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
    );
    text(
        "SSESpecification",
        json!({"Enabled": false, "SSEType": "KMS"}),
        "One or more parameter values were invalid: SSEType can not be specified if Enabled is false",
    );
    text(
        "TableClass",
        json!("COLD"),
        "Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].",
    );
    let twice = json!([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]);
    text(
        "Tags",
        twice,
        "Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
    );
    text(
        "Tags",
        json!([{"Key": "a", "Value": "<"}]),
        "The Tag Value provided is invalid, Value: <",
    );
    text("ResourcePolicy", json!("{}"), "accepted");
    text(
        "ResourcePolicy",
        json!("no"),
        "The policy document is not valid JSON",
    );
    text(
        "GlobalTableSourceArn",
        json!("arn"),
        "GlobalTableSourceArn is not supported by this version of ddbfs",
    );
}

fn attribute(name: &str, attribute_type: KeyAttributeType) -> KeyAttribute {
    KeyAttribute {
        name: name.to_owned(),
        attribute_type,
    }
}

fn schema() -> Result<TableSchema, Box<dyn std::error::Error>> {
    let index = |name: &str, kind, partition, sort, projection| {
        IndexName::new(name).map(|name| IndexSchema {
            name,
            kind,
            partition,
            sort,
            projection,
            throughput: None,
            settings: Default::default(),
            vector: None,
        })
    };
    let (pk, sk) = (
        attribute("pk", KeyAttributeType::S),
        attribute("sk", KeyAttributeType::N),
    );
    let (day, tag) = (
        attribute("day", KeyAttributeType::S),
        attribute("a tag", KeyAttributeType::B),
    );
    let some = Projection::Include(vec!["x".to_owned(), "y".to_owned()]);
    let mut tags = index(
        "tags",
        IndexKind::Global,
        vec![tag.clone()],
        vec![],
        Projection::All,
    )?;
    tags.settings.on_demand.max_read_request_units = Some(5);
    Ok(TableSchema {
        name: TableName::new("Orders")?,
        key: KeySchema {
            partition: pk.clone(),
            sort: Some(sk),
        },
        indexes: vec![
            index(
                "local",
                IndexKind::Local,
                vec![pk],
                vec![day.clone()],
                Projection::KeysOnly,
            )?,
            index("global", IndexKind::Global, vec![day, tag], vec![], some)?,
            tags,
        ],
        billing_mode: BillingMode::PayPerRequest,
        throughput: None,
        deletion_protection: true,
        settings: TableSettings {
            tags: vec![("a".to_owned(), "b".to_owned())],
            ..TableSettings::default()
        },
    })
}

#[test]
fn a_schema_s_request_recreates_it() -> Result<(), Box<dyn std::error::Error>> {
    let schema = schema()?;
    let json = tables::definition_to_json(&schema);
    let request: CreateTableRequest = super::request(Document::from_value(&json).root())?;
    assert_eq!(request.table_name, schema.name);
    assert_eq!(
        request.attribute_definitions,
        schema.attribute_definitions()
    );
    assert_eq!(request.settings, schema.settings);
    assert_eq!(
        (request.billing_mode, request.throughput),
        (Some(schema.billing_mode), schema.throughput)
    );
    assert!(request.deletion_protection);
    let names = |indexes: &Option<Vec<crate::model::api::IndexDefinition>>| -> Vec<String> {
        indexes
            .iter()
            .flatten()
            .map(|index| index.name.to_string())
            .collect()
    };
    assert_eq!(names(&request.local_indexes), ["local"]);
    assert_eq!(names(&request.global_indexes), ["global", "tags"]);
    assert_eq!(
        json["GlobalSecondaryIndexes"][1]["OnDemandThroughput"]["MaxReadRequestUnits"],
        json!(5)
    );
    let provisioned = TableSchema {
        billing_mode: BillingMode::Provisioned,
        throughput: Some(ProvisionedThroughput {
            read_capacity_units: 3,
            write_capacity_units: 4,
        }),
        indexes: vec![],
        settings: TableSettings::default(),
        ..schema
    };
    let request: CreateTableRequest =
        super::request(Document::from_value(&tables::definition_to_json(&provisioned)).root())?;
    assert_eq!(request.throughput, provisioned.throughput);
    assert_eq!(
        (request.local_indexes, request.global_indexes),
        (None, None)
    );
    Ok(())
}

#[test]
fn descriptions_show_state_and_counts() -> Result<(), Box<dyn std::error::Error>> {
    let state = crate::model::api::IndexDescription {
        status: TableStatus::Active,
        backfilling: None,
        progress: None,
        violations: 0,
        item_count: 2,
        index_size_bytes: 300,
        partition_keys: 1,
    };
    let table = TableDescription {
        schema: schema()?,
        status: TableStatus::Active,
        table_id: "5d4cbe3e-0000-4000-8000-000000000000".to_owned(),
        created_ms: 1_700_000_000_125,
        item_count: 2,
        table_size_bytes: 250,
        indexes: vec![state.clone(), state.clone(), state],
        latest_stream_label: Some("2026-01-02T03:04:05.678".to_owned()),
        control: crate::model::api::TableControl::default(),
        index_lag: None,
        at_ms: 0,
    };
    let body = table_description::describe_to_json(&table);
    let shown = &body["Table"];
    assert_eq!(shown["CreationDateTime"], json!(1_700_000_000.125));
    assert_eq!(
        shown["TableArn"],
        json!("arn:aws:dynamodb:us-east-1:000000000000:table/Orders")
    );
    assert_eq!(
        shown["AttributeDefinitions"][0]["AttributeName"],
        json!("a tag")
    );
    assert_eq!(
        shown["BillingModeSummary"]["BillingMode"],
        json!("PAY_PER_REQUEST")
    );
    assert_eq!(shown["WarmThroughput"]["ReadUnitsPerSecond"], json!(12_000));
    let local = shown["LocalSecondaryIndexes"][0].as_object();
    let members: Vec<&str> = local
        .into_iter()
        .flat_map(|index| index.keys())
        .map(String::as_str)
        .collect();
    assert_eq!(
        members,
        [
            "IndexName",
            "KeySchema",
            "Projection",
            "IndexSizeBytes",
            "ItemCount",
            "IndexArn"
        ]
    );
    assert_eq!(
        shown["GlobalSecondaryIndexes"][0]["IndexStatus"],
        json!("ACTIVE")
    );
    assert_eq!(shown.get("Tags"), None);
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/stream/2026-01-02T03:04:05.678";
    assert_eq!(shown["LatestStreamArn"], json!(arn));
    assert_eq!(shown["LatestStreamLabel"], json!("2026-01-02T03:04:05.678"));
    let response = crate::model::api::DeleteTableResponse {
        table_description: TableDescription {
            status: TableStatus::Deleting,
            ..table
        },
    };
    let mut deleted = Vec::new();
    encode(&response, &Context::PLAIN, &mut deleted);
    let deleted: Value = serde_json::from_slice(&deleted)?;
    assert_eq!(
        deleted["TableDescription"]["TableStatus"],
        json!("DELETING")
    );
    assert_eq!(deleted["TableDescription"].get("KeySchema"), None);
    Ok(())
}

#[test]
fn pages_are_written_row_by_row() -> Result<(), Box<dyn std::error::Error>> {
    let item = Item::from([("pk", AttributeValue::S("a".to_owned()))]);
    let page = Page {
        table_name: TableName::new("Orders")?,
        count: 2,
        scanned_count: 2,
        scanned_bytes: 6,
        last_evaluated_key: Some(item.clone()),
        consumed_capacity: ConsumedCapacity::default(),
    };
    let context = Context::of_table(page.table_name.as_str(), ReturnConsumedCapacity::None);
    for (select, expected) in [
        (
            None,
            r#"{"Items":[{"pk":{"S":"a"}},{"pk":{"S":"a"}}],"Count":2,"ScannedCount":2,"LastEvaluatedKey":{"pk":{"S":"a"}}}"#,
        ),
        (
            Some(Select::Count),
            r#"{"Count":2,"ScannedCount":2,"LastEvaluatedKey":{"pk":{"S":"a"}}}"#,
        ),
    ] {
        let mut writer = pages::PageWriter::new(select);
        writer.row(ResultRow::Item(&item));
        writer.row(ResultRow::Item(&item));
        assert_eq!(
            String::from_utf8(writer.finish(&page, &context)?)?,
            expected
        );
    }
    Ok(())
}

/// Generates JSON of names and texts that the shapes know, so that it gets far.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "TableName",
        "Item",
        "Key",
        "S",
        "N",
        "B",
        "BOOL",
        "NULL",
        "SS",
        "NS",
        "BS",
        "L",
        "M",
        "Limit",
        "Select",
        "Segment",
        "TotalSegments",
        "ExclusiveStartKey",
        "KeySchema",
        "AttributeDefinitions",
        "AttributeName",
        "AttributeType",
        "KeyType",
        "GlobalSecondaryIndexes",
        "LocalSecondaryIndexes",
        "IndexName",
        "Projection",
        "NonKeyAttributes",
        "ProvisionedThroughput",
        "ReadCapacityUnits",
        "WriteCapacityUnits",
        "Tags",
        "StreamSpecification",
        "OnDemandThroughput",
        "MaxReadRequestUnits",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "BillingMode",
        "",
    ]);
    let text = prop::sample::select(vec![
        "abc",
        "a",
        "",
        "1",
        "HASH",
        "RANGE",
        "S",
        "PAY_PER_REQUEST",
        "YQ==",
        "Y",
        "\u{1F600}",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        let members = prop::collection::vec((name.clone(), inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| members
                .into_iter()
                .map(|(name, json)| (name.to_owned(), json))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_body_breaks_a_translation(body in any_json()) {
        for read in [put, delete, get, query, scan, create, list, batch_get, batch_write, transact_get, transact_write] {
            // Reading returns, whatever it says; the text of an error is bounded.
            if let Err(error) = read(&body) {
                prop_assert!(error.to_string().len() < 64 * 1024);
            }
        }
    }
}

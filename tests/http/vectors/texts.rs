//! The texts of validation of items and reads, section by section of docs/dynamodb.md.

use serde_json::{Value, json};

use super::*;

/// docs/dynamodb.md 1.7.
#[test]
fn json_types() {
    let service = Service::new();
    let rows = [
        (
            r#"{"TableName":true}"#,
            "TRUE_VALUE cannot be converted to String",
        ),
        (
            r#"{"TableName":false}"#,
            "FALSE_VALUE cannot be converted to String",
        ),
        (
            r#"{"TableName":1}"#,
            "NUMBER_VALUE cannot be converted to String",
        ),
        (
            r#"{"TableName":1.5}"#,
            "DECIMAL_VALUE cannot be converted to String",
        ),
        (
            r#"{"TableName":[]}"#,
            "Unrecognized collection type class java.lang.String",
        ),
        (
            r#"{"TableName":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (
            r#"{"ConsistentRead":1}"#,
            "NUMBER_VALUE cannot be converted to Boolean",
        ),
        (
            r#"{"ConsistentRead":1.5}"#,
            "DECIMAL_VALUE cannot be converted to Boolean",
        ),
        (
            r#"{"ConsistentRead":"maybe"}"#,
            "Unexpected token received from parser",
        ),
        (
            r#"{"ConsistentRead":[]}"#,
            "Unrecognized collection type class java.lang.Boolean",
        ),
        (
            r#"{"ConsistentRead":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (
            r#"{"Limit":true}"#,
            "TRUE_VALUE cannot be converted to Integer",
        ),
        (
            r#"{"Limit":"1"}"#,
            "STRING_VALUE cannot be converted to Integer",
        ),
        (
            r#"{"Limit":[]}"#,
            "Unrecognized collection type class java.lang.Integer",
        ),
        (
            r#"{"Limit":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (r#"{"AttributesToGet":"a"}"#, "Unexpected field type"),
        (
            r#"{"AttributesToGet":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (
            r#"{"ExpressionAttributeNames":"a"}"#,
            "Unexpected field type",
        ),
        (
            r#"{"ExclusiveStartKey":[]}"#,
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":5}}"#,
            "Unexpected value type in payload",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":[]}}"#,
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"S":1}}}"#,
            "NUMBER_VALUE cannot be converted to String",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"N":1}}}"#,
            "NUMBER_VALUE cannot be converted to String",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"B":true}}}"#,
            "only base-64-encoded strings are convertible to bytes",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"B":1}}}"#,
            "only base-64-encoded strings are convertible to bytes",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"B":[]}}}"#,
            "Unrecognized collection type class java.nio.ByteBuffer",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"B":{}}}}"#,
            "Start of structure or map found where not expected",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"B":"abc"}}}"#,
            "Base64 encoded length is expected a multiple of 4 bytes but found: 3",
        ),
        (
            r#"{"ExclusiveStartKey":{"pk":{"SS":"a"}}}"#,
            "Unexpected field type",
        ),
    ];
    for (request, expected) in rows {
        check(
            &service,
            "Scan",
            &parse(request),
            &format!("Serialization: {expected}"),
        );
    }
    for (request, expected) in [
        (
            r#"{"TableName":"Tab","ConsistentRead":"YES","Limit":1.9,"Nonsense":{},"IndexName":null}"#,
            "OK",
        ),
        (r#"{"TableName":"Tab","ConsistentRead":"0"}"#, "OK"),
    ] {
        check(&service, "Scan", &parse(request), expected);
    }
}

/// docs/dynamodb.md 3.2.
#[test]
fn attribute_values() {
    let service = Service::new();
    let nested = |levels: usize| {
        format!(
            "{}{{\"S\":\"x\"}}{}",
            "{\"L\":[".repeat(levels),
            "]}".repeat(levels)
        )
    };
    let rows = [
        (
            "{}",
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"X":"a"}"#,
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"S":"a","N":"1"}"#,
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        ),
        (r#"{"SS":[]}"#, "1VE: IV: An string set  may not be empty"),
        (r#"{"NS":[]}"#, "1VE: IV: An number set  may not be empty"),
        (r#"{"BS":[]}"#, "1VE: IV: Binary sets should not be empty"),
        (
            r#"{"SS":["a","a"]}"#,
            "1VE: IV: Input collection [\"a\", \"a\"] contains duplicates.",
        ),
        (
            r#"{"BS":["YQ==","YQ=="]}"#,
            "1VE: IV: Input collection [\"YQ==\",\"YQ==\"]of type BS contains duplicates.",
        ),
        (
            r#"{"NS":["1","1.0"]}"#,
            "~Input collection contains duplicates",
        ),
        (
            r#"{"NULL":false}"#,
            "1VE: IV: Null attribute value types must have the value of true",
        ),
        (&nested(31), "OK"),
        (
            &nested(32),
            "1VE: Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit",
        ),
        (r#"{"SS":["","a"]}"#, "OK"),
        (r#"{"M":{}}"#, "OK"),
    ];
    for (value, expected) in rows {
        check(
            &service,
            "PutItem",
            &put(&item("k", 1, &format!(r#""a":{value}"#))),
            expected,
        );
    }
}

/// docs/dynamodb.md 6.
#[test]
fn keys() {
    let service = Service::new();
    let large = "x".repeat(2049);
    let rows = [
        (
            json!({"sk": {"N": "1"}}),
            "IV: Missing the key pk in the item",
        ),
        (
            json!({"pk": {"S": "k"}}),
            "IV: Missing the key sk in the item",
        ),
        (
            json!({"pk": {"N": "1"}, "sk": {"N": "1"}}),
            "IV: Type mismatch for key pk expected: S actual: N",
        ),
        (
            json!({"pk": {"S": large}, "sk": {"N": "1"}}),
            "IV: Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
    ];
    let mismatch = "The provided key element does not match the schema";
    for (item, expected) in rows {
        check(&service, "PutItem", &put(&item), expected);
        let of_key = if expected.contains("Size") {
            expected
        } else {
            mismatch
        };
        for operation in ["GetItem", "DeleteItem", "UpdateItem"] {
            check(
                &service,
                operation,
                &json!({"TableName": "Tab", "Key": item}),
                of_key,
            );
        }
        let batch = json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": item}}]}});
        check(&service, "BatchWriteItem", &batch, of_key);
    }
    let extra = json!({"TableName": "Tab", "Key": item("k", 1, r#""c":{"S":"d"}"#)});
    check(&service, "GetItem", &extra, mismatch);
    let by_string = json!({
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "B"}, {"AttributeName": "sk", "AttributeType": "S"}],
    });
    service.ok("CreateTable", with(table("Str"), by_string));
    let of = |pk: &str, sk: String| json!({"TableName": "Str", "Item": {"pk": {"B": pk}, "sk": {"S": sk}}});
    check(&service, "PutItem", &of("AQ==", "x".repeat(1024)), "OK");
    let too_long =
        "IV: Aggregated size of all range keys has exceeded the size limit of 1024 bytes";
    check(&service, "PutItem", &of("AQ==", "x".repeat(1025)), too_long);
    let empty = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty binary value. Key: pk";
    check(&service, "PutItem", &of("", "x".to_owned()), empty);
    for (expression, expected) in [
        (
            "REMOVE pk",
            "IV: Cannot update attribute pk. This attribute is part of the key",
        ),
        (
            "REMOVE sk",
            "IV: Cannot update attribute sk. This attribute is part of the key",
        ),
    ] {
        let request =
            json!({"TableName": "Tab", "Key": key("k", 1), "UpdateExpression": expression});
        check(&service, "UpdateItem", &request, expected);
    }
}

/// docs/dynamodb.md 6.3.
#[test]
fn paths_into_keys() {
    let service = Service::new();
    let mut indexed = table("Ind");
    indexed["AttributeDefinitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"AttributeName": "a", "AttributeType": "S"}));
    let index = r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]"#;
    service.ok(
        "CreateTable",
        with(indexed, json!({"GlobalSecondaryIndexes": parse(index)})),
    );
    let keyed = |more: Value| with(json!({"TableName": "Ind", "Key": key("k", 1)}), more);
    let scalar = |role: &str| {
        format!(
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {role}"
        )
    };
    let values = json!({":v": {"S": "v"}});
    for (path, role) in [
        ("pk.x", "Key: pk"),
        ("sk[0]", "Key: sk"),
        ("a.x", "IndexKey: a"),
    ] {
        let condition = json!({"ConditionExpression": format!("{path} = :v"), "ExpressionAttributeValues": values});
        for operation in ["DeleteItem", "UpdateItem"] {
            check(
                &service,
                operation,
                &keyed(condition.clone()),
                &scalar(role),
            );
        }
        if role.starts_with("Key") {
            check(
                &service,
                "GetItem",
                &keyed(json!({"ProjectionExpression": path})),
                &scalar(role),
            );
            let filter = json!({"TableName": "Ind", "FilterExpression": format!("{path} = :v"), "ExpressionAttributeValues": values});
            check(&service, "Scan", &filter, &scalar(role));
        }
    }
    let update =
        keyed(json!({"UpdateExpression": "SET a.x = :v", "ExpressionAttributeValues": values}));
    check(&service, "UpdateItem", &update, &scalar("IndexKey: a"));
    let copied = keyed(json!({"UpdateExpression": "SET b = pk.x"}));
    check(&service, "UpdateItem", &copied, &scalar("Key: pk"));
}

/// docs/dynamodb.md 7.
#[test]
fn names_and_values_of_expressions() {
    let service = Service::new();
    let rows = [
        (
            r##"{"ExpressionAttributeNames":{"#a":"a"}}"##,
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            r#"{"ExpressionAttributeValues":{":a":{"S":"a"}}}"#,
            "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null",
        ),
        (
            r#"{"FilterExpression":""}"#,
            "Invalid FilterExpression: The expression can not be empty;",
        ),
        (
            r#"{"FilterExpression":"a = b","ExpressionAttributeNames":{}}"#,
            "ExpressionAttributeNames must not be empty",
        ),
        (
            r#"{"FilterExpression":"a = b","ExpressionAttributeValues":{}}"#,
            "ExpressionAttributeValues must not be empty",
        ),
        (
            r#"{"FilterExpression":"a = b","ExpressionAttributeNames":{"a":"a"}}"#,
            r#"ExpressionAttributeNames contains invalid key: Syntax error; key: "a""#,
        ),
        (
            r#"{"FilterExpression":"a = b","ExpressionAttributeValues":{"a":{"S":"a"}}}"#,
            r#"ExpressionAttributeValues contains invalid key: Syntax error; key: "a""#,
        ),
        (
            r#"{"FilterExpression":"a = :a","ExpressionAttributeValues":{":a":{"N":"x"}}}"#,
            "ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: x for key :a",
        ),
        (
            r##"{"FilterExpression":"a = b","ExpressionAttributeNames":{"#a":"a"}}"##,
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}",
        ),
        (
            r#"{"FilterExpression":"a = :b"}"#,
            "Invalid FilterExpression: An expression attribute value used in expression is not defined; attribute value: :b",
        ),
        (
            r##"{"FilterExpression":"#b = a"}"##,
            "Invalid FilterExpression: An expression attribute name used in the document path is not defined; attribute name: #b",
        ),
        (
            r#"{"FilterExpression":"begins_with(a)"}"#,
            "Invalid FilterExpression: Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
        ),
        (
            r#"{"FilterExpression":"a = a"}"#,
            "Invalid FilterExpression: The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]",
        ),
        (
            r#"{"FilterExpression":"a BETWEEN :l AND :u","ExpressionAttributeValues":{":l":{"N":"2"},":u":{"N":"1"}}}"#,
            "Invalid FilterExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        ),
        (
            r#"{"FilterExpression":"a BETWEEN :l AND :u","ExpressionAttributeValues":{":l":{"S":"x"},":u":{"N":"1"}}}"#,
            "Invalid FilterExpression: The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {S:x}, upper bound operand: AttributeValue: {N:1}",
        ),
        (
            r#"{"FilterExpression":"attribute_type(a, b)"}"#,
            "Invalid FilterExpression: Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
        ),
        (
            r#"{"FilterExpression":"size(:a) > :a","ExpressionAttributeValues":{":a":{"N":"1"}}}"#,
            "Invalid FilterExpression: Incorrect operand type for operator or function; operator or function: size, operand type: N",
        ),
        (
            r#"{"FilterExpression":"a[99999999999] = b"}"#,
            "Invalid FilterExpression: List index is not within the allowable range; index: [99999999999]",
        ),
        (
            r#"{"FilterExpression":"a = b","ScanFilter":{}}"#,
            "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {ScanFilter} Expression parameters: {FilterExpression}",
        ),
    ];
    for (members, expected) in rows {
        check(
            &service,
            "Scan",
            &with(json!({"TableName": "Tab"}), parse(members)),
            expected,
        );
        // Expressions are read before the table is looked up.
        check(
            &service,
            "Scan",
            &with(json!({"TableName": "None"}), parse(members)),
            expected,
        );
    }
}

/// docs/dynamodb.md 8.
#[test]
fn legacy_parameters() {
    let service = Service::new();
    let expected_rows = [
        (
            r#"{"Value":{"S":"a"},"AttributeValueList":[{"S":"a"}]}"#,
            "IV: Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            r#"{"Exists":false,"ComparisonOperator":"NULL"}"#,
            "IV: Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            r#"{"AttributeValueList":[{"S":"a"}]}"#,
            "IV: AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (
            "{}",
            "IV: Value must be provided when Exists is null for Attribute: a",
        ),
        (
            r#"{"Exists":true}"#,
            "IV: Value must be provided when Exists is true for Attribute: a",
        ),
        (
            r#"{"Exists":false,"Value":{"S":"a"}}"#,
            "IV: Value cannot be used when Exists is false for Attribute: a",
        ),
        (
            r#"{"ComparisonOperator":"EQ"}"#,
            "IV: Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a",
        ),
        (
            r#"{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"},{"S":"b"}]}"#,
            "IV: Invalid number of argument(s) for the EQ ComparisonOperator",
        ),
        (
            r#"{"ComparisonOperator":"NULL","AttributeValueList":[{"S":"a"}]}"#,
            "IV: Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            r#"{"ComparisonOperator":"LT","AttributeValueList":[{"BOOL":true}]}"#,
            "IV: ComparisonOperator LT is not valid for BOOL AttributeValue type",
        ),
        (
            r#"{"ComparisonOperator":"IN","AttributeValueList":[{"S":"a"},{"N":"1"}]}"#,
            "IV: AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            r#"{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"2"},{"N":"1"}]}"#,
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        ),
    ];
    for (condition, expected) in expected_rows {
        let request = with(
            put(&key("k", 1)),
            json!({"Expected": {"a": parse(condition)}}),
        );
        check(&service, "PutItem", &request, &format!("1VE: {expected}"));
    }
    let update_rows = [
        (
            r#"{"Action":"PUT"}"#,
            "IV: Only DELETE action is allowed when no attribute value is specified",
        ),
        (
            r#"{"Action":"DELETE","Value":{"S":"a"}}"#,
            "IV: DELETE action with value is not supported for the type S",
        ),
        (
            r#"{"Action":"ADD","Value":{"S":"a"}}"#,
            "IV: ADD action is not supported for the type S",
        ),
    ];
    for (update, expected) in update_rows {
        let request = json!({"TableName": "Tab", "Key": key("k", 1), "AttributeUpdates": {"a": parse(update)}});
        check(&service, "UpdateItem", &request, expected);
    }
    let of_key = json!({"TableName": "Tab", "Key": key("k", 1), "AttributeUpdates": {"pk": {"Value": {"S": "a"}}}});
    check(
        &service,
        "UpdateItem",
        &of_key,
        "IV: Cannot update attribute pk. This attribute is part of the key",
    );
    let twice = json!({"TableName": "Tab", "Key": key("k", 1), "AttributesToGet": ["a", "a"]});
    check(
        &service,
        "GetItem",
        &twice,
        "IV: Duplicate value in attribute name: a",
    );
    let conditions =
        parse(r#"{"pk":{"AttributeValueList":[{"S":"k"}],"ComparisonOperator":"EQ"}}"#);
    let on_key = parse(r#"{"sk":{"AttributeValueList":[{"N":"1"}],"ComparisonOperator":"GT"}}"#);
    let request = json!({"TableName": "Tab", "KeyConditions": conditions, "QueryFilter": on_key});
    check(
        &service,
        "Query",
        &request,
        "QueryFilter can only contain non-primary key attributes: Primary key attribute: sk",
    );
    let operator = with(put(&key("k", 1)), json!({"ConditionalOperator": "OR"}));
    check(&service, "PutItem", &operator, "~ConditionalOperator");
}

/// docs/dynamodb.md 12.
#[test]
fn return_values() {
    let service = Service::new();
    let only = "1VE: ReturnValues can only be ALL_OLD or NONE";
    for values in ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"] {
        check(
            &service,
            "PutItem",
            &with(put(&key("k", 1)), json!({"ReturnValues": values})),
            only,
        );
        check(
            &service,
            "DeleteItem",
            &json!({"TableName": "Tab", "Key": key("k", 1), "ReturnValues": values}),
            only,
        );
    }
}

/// docs/dynamodb.md 13.
#[test]
fn query_and_scan() {
    let service = Service::new();
    service.put(&key("k", 1));
    let scan = |members: Value| with(json!({"TableName": "Tab"}), members);
    let query = |members: Value| {
        let condition = json!({"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "k"}}});
        with(scan(condition), members)
    };
    let at_least_one =
        "failed to satisfy constraint: Member must have value greater than or equal to 1";
    check(
        &service,
        "Query",
        &query(json!({"Limit": 0})),
        &format!("1VE: Value at 'Limit' {at_least_one}"),
    );
    check(
        &service,
        "Scan",
        &scan(json!({"Limit": 0})),
        &format!("1VE: Value '0' at 'limit' {at_least_one}"),
    );
    let none = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.";
    check(&service, "Query", &scan(json!({})), none);
    for (members, expected) in [
        (
            json!({"TotalSegments": 5}),
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is present",
        ),
        (
            json!({"Segment": 5}),
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is present",
        ),
        (
            json!({"Segment": 5, "TotalSegments": 5}),
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5",
        ),
        (
            json!({"Segment": 0, "TotalSegments": 1_000_001}),
            "~Member must have value less than or equal to 1000000",
        ),
        (
            json!({"IndexName": "none"}),
            "The table does not have the specified index: none",
        ),
        (
            json!({"Select": "SPECIFIC_ATTRIBUTES"}),
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            json!({"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "a"}),
            "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            json!({"Select": "COUNT", "AttributesToGet": ["a"]}),
            "Cannot specify the AttributesToGet when choosing to get only the Count",
        ),
        (
            json!({"Select": "ALL_PROJECTED_ATTRIBUTES"}),
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            json!({"ExclusiveStartKey": {"pk": {"S": "k"}}}),
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            json!({"ExclusiveStartKey": {"pk": {"N": "1"}, "sk": {"N": "1"}}}),
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            json!({"ExclusiveStartKey": {"pk": {}, "sk": {"N": "1"}}}),
            "The provided starting key is invalid: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
    ] {
        check(&service, "Scan", &scan(members), expected);
    }
    let specific = "1VE: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES";
    check(
        &service,
        "Query",
        &query(json!({"Select": "SPECIFIC_ATTRIBUTES"})),
        specific,
    );
    let ranged = |condition: &str, start: Value| {
        let values = json!({":k": {"S": "k"}, ":n": {"N": "5"}});
        scan(
            json!({"KeyConditionExpression": condition, "ExpressionAttributeValues": values, "ExclusiveStartKey": start}),
        )
    };
    for (request, expected) in [
        (
            query(json!({"ExclusiveStartKey": {"pk": {"S": "k"}}})),
            "The provided starting key is invalid",
        ),
        (
            query(json!({"ExclusiveStartKey": key("other", 1)})),
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            ranged("pk = :k AND sk > :n", key("k", 1)),
            "The provided starting key does not match the range key predicate",
        ),
        (
            ranged("pk = :k AND sk < :n", key("other", 1)),
            "The query can return at most one row and cannot be restarted",
        ),
        (
            ranged("pk = :k AND sk = :n", key("k", 5)),
            "The query can return at most one row and cannot be restarted",
        ),
        (ranged("pk = :k AND sk < :n", key("k", 3)), "OK"),
    ] {
        check(&service, "Query", &request, expected);
    }
}

/// docs/dynamodb.md 14 and 15.
#[test]
fn batches_and_transactions() {
    let service = Service::new();
    let read = |tables: Value| json!({"RequestItems": tables});
    let keys = |count: u32| (0..count).map(|sk| key("k", sk)).collect::<Value>();
    service.ok("CreateTable", table("Tab2"));
    let no_items = "1VE: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1";
    for (request, expected) in [
        (read(json!({})), no_items),
        (json!({}), no_items),
        (
            read(json!({"Tab": {"Keys": keys(101)}})),
            "1VE: Value at 'RequestItems.Tab.member.Keys' failed to satisfy constraint: Member must have length less than or equal to 100",
        ),
        (
            read(json!({"Tab": {"Keys": keys(60)}, "Tab2": {"Keys": keys(60)}})),
            "Too many items requested for the BatchGetItem call",
        ),
        (
            read(json!({"Tab": {"Keys": [key("k", 1), key("k", 1)]}})),
            "Provided list of item keys contains duplicates",
        ),
        (
            read(json!({"Tab": {"Keys": [{"pk": {"S": "k"}}]}})),
            "The provided key element does not match the schema",
        ),
        (
            read(json!({"None": {"Keys": keys(1)}})),
            "ResourceNotFound: Requested resource not found",
        ),
    ] {
        check(&service, "BatchGetItem", &request, expected);
    }
    let puts = |count: u32| {
        (0..count)
            .map(|sk| json!({"PutRequest": {"Item": key("k", sk)}}))
            .collect::<Value>()
    };
    let delete = json!({"DeleteRequest": {"Key": key("k", 1)}});
    for (request, expected) in [
        (
            read(json!({})),
            "The requestItems parameter is required for BatchWriteItem",
        ),
        (
            read(json!({"Tab": puts(26)})),
            "~Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]",
        ),
        (
            read(json!({"Tab": []})),
            "~Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]",
        ),
        (
            read(json!({"Tab": puts(20), "Tab2": puts(20)})),
            "Too many items requested for the BatchWriteItem call",
        ),
        (
            read(json!({"Tab": [{}]})),
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        ),
        (
            read(json!({"Tab": [{"PutRequest": {"Item": key("k", 1)}}, delete]})),
            "Provided list of item keys contains duplicates",
        ),
    ] {
        check(&service, "BatchWriteItem", &request, expected);
    }
    let actions = |actions: Value| json!({"TransactItems": actions});
    let at = "1VE: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1";
    check(&service, "TransactWriteItems", &actions(json!([])), at);
    check(
        &service,
        "TransactWriteItems",
        &actions(json!([{}])),
        "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
    );
    let get = json!({"Get": {"TableName": "Tab", "Key": key("k", 1)}});
    let several = "Transaction request cannot include multiple operations on one item";
    check(
        &service,
        "TransactGetItems",
        &actions(json!([get, get])),
        several,
    );
    let key_update = json!({"Update": {"TableName": "Tab", "Key": key("k", 1), "UpdateExpression": "REMOVE pk"}});
    check(
        &service,
        "TransactWriteItems",
        &actions(json!([key_update])),
        "~[ValidationError]",
    );
}

//! The texts of validation of indexes: their keys (docs/dynamodb.md 9.2), writes (9.4), reads (13.2, 13.6) and UpdateTable (11.3).

use serde_json::{Value, json};

use super::*;

/// `Ind`: pk S, sk N; the global index `glo` on a (S) with v projected, the local one `loc` on b (N), keys only.
fn indexed() -> Value {
    let mut request = table("Ind");
    let more = [
        json!({"AttributeName": "a", "AttributeType": "S"}),
        json!({"AttributeName": "b", "AttributeType": "N"}),
    ];
    request["AttributeDefinitions"]
        .as_array_mut()
        .unwrap()
        .extend(more);
    let global = r#"[{"IndexName":"glo","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],
        "Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["v"]}}]"#;
    let local = r#"[{"IndexName":"loc","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}],
        "Projection":{"ProjectionType":"KEYS_ONLY"}}]"#;
    with(
        request,
        json!({"GlobalSecondaryIndexes": parse(global), "LocalSecondaryIndexes": parse(local)}),
    )
}

fn with_indexes() -> Service {
    let service = Service::new();
    service.ok("CreateTable", indexed());
    service
}

/// docs/dynamodb.md 9.2.
#[test]
fn keys_of_global_indexes() {
    let service = Service::new();
    let rows = [
        (
            "a:HASH b:HASH c:HASH d:HASH e:HASH",
            "IV: The KeySchema exceeds the maximum allowed number of HASH key attributes",
        ),
        (
            "z:HASH a:RANGE b:RANGE c:RANGE d:RANGE e:RANGE",
            "IV: The KeySchema exceeds the maximum allowed number of RANGE key attributes",
        ),
        (
            "a:HASH b:RANGE c:HASH",
            "IV: All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ),
        (
            "a:HASH a:HASH",
            "The KeySchema contains multiple key attributes with the same name",
        ),
        (
            "a:RANGE",
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            "a:HASH b:HASH c:HASH d:HASH e:RANGE f:RANGE g:RANGE h:RANGE",
            "OK",
        ),
    ];
    for (schema, expected) in rows {
        let elements: Vec<(&str, &str)> = schema
            .split(' ')
            .map(|element| element.split_once(':').unwrap())
            .collect();
        let keys: Value = elements
            .iter()
            .map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind}))
            .collect();
        let mut request = table("New");
        let mut names: Vec<&str> = elements.iter().map(|(name, _)| *name).collect();
        names.dedup();
        let definitions = request["AttributeDefinitions"].as_array_mut().unwrap();
        definitions.extend(
            names
                .iter()
                .map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
        );
        let index =
            json!({"IndexName": "glo", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}});
        check(
            &service,
            "CreateTable",
            &with(request, json!({"GlobalSecondaryIndexes": [index]})),
            expected,
        );
    }
}

/// docs/dynamodb.md 9.4.
#[test]
fn writes() {
    let service = with_indexes();
    service.ok("PutItem", json!({"TableName": "Ind", "Item": key("k", 1)}));
    let large = "x".repeat(2049);
    let not_valid = "One or more parameter values are not valid.";
    let empty = "The AttributeValue for a key attribute cannot contain an empty string value.";
    let of_put = format!(
        "{not_valid} A value specified for a secondary index key is not supported. {empty} IndexName: glo, IndexKey: a"
    );
    let of_update = format!(
        "{not_valid} The update expression attempted to update a secondary index key to a value that is not supported. {empty}"
    );
    let mismatch = "IV: Type mismatch for Index Key a Expected: S Actual: N IndexName: glo";
    let null = "IV: Type mismatch for Index Key a Expected: S Actual: NULL IndexName: glo";
    let number = "IV: Type mismatch for Index Key b Expected: N Actual: S IndexName: loc";
    let rows = [
        ("a", json!({"N": "1"}), mismatch, mismatch),
        ("a", json!({"NULL": true}), null, null),
        ("b", json!({"S": "1"}), number, number),
        ("a", json!({"S": ""}), of_put.as_str(), of_update.as_str()),
        (
            "a",
            json!({"S": large}),
            "IV: Size of hashkey has exceeded the maximum size limit of2048 bytes",
            "The update expression attempted to update the secondary index key beyond allowed size limits",
        ),
    ];
    for (name, value, of_put, of_update) in rows {
        let mut item = key("k", 2);
        item[name] = value.clone();
        check(
            &service,
            "PutItem",
            &json!({"TableName": "Ind", "Item": item}),
            of_put,
        );
        let batch = json!({"RequestItems": {"Ind": [{"PutRequest": {"Item": key("k", 3)}}, {"PutRequest": {"Item": item}}]}});
        check(&service, "BatchWriteItem", &batch, of_put);
        let update = json!({
            "TableName": "Ind", "Key": key("k", 1), "UpdateExpression": format!("SET {name} = :v"), "ExpressionAttributeValues": {":v": value},
        });
        check(&service, "UpdateItem", &update, of_update);
    }
    assert_eq!(
        service.ok("Scan", json!({"TableName": "Ind"}))["Items"],
        json!([key("k", 1)])
    );
    // Of several, the first index by name is told.
    let both = json!({"TableName": "Ind", "Item": item("k", 2, r#""a":{"N":"1"},"b":{"S":"1"}"#)});
    check(&service, "PutItem", &both, mismatch);
}

/// docs/dynamodb.md 13.
#[test]
fn reads_of_indexes() {
    let service = with_indexes();
    service.ok(
        "PutItem",
        json!({"TableName": "Ind", "Item": item("k", 1, r#""a":{"S":"x"},"b":{"N":"1"},"v":{"N":"1"},"w":{"N":"2"}"#)}),
    );
    let query = |index: &str, more: Value| {
        let (name, value) = if index == "glo" {
            ("a", "x")
        } else {
            ("pk", "k")
        };
        let condition = json!({
            "TableName": "Ind", "IndexName": index, "KeyConditionExpression": format!("{name} = :v"),
            "ExpressionAttributeValues": {":v": {"S": value}},
        });
        with(condition, more)
    };
    let filtered = |expression: &str, index: &str, value: &str| {
        let values = json!({":v": {"S": value}, ":n": {"N": "0"}});
        query(
            index,
            json!({"FilterExpression": expression, "ExpressionAttributeValues": values}),
        )
    };
    for (request, expected) in [
        (
            query("glo", json!({"ConsistentRead": true})),
            "Consistent reads are not supported on global secondary indexes",
        ),
        (
            query("glo", json!({"Select": "ALL_ATTRIBUTES"})),
            "IV: Select type ALL_ATTRIBUTES is not supported for global secondary index glo because its projection type is not ALL",
        ),
        (
            query("glo", json!({"ProjectionExpression": "w"})),
            "IV: Global secondary index glo does not project [w]",
        ),
        (
            filtered("w > :n", "glo", "x"),
            "IV: Secondary index glo does not project one or more filter attributes: [w]",
        ),
        (
            filtered("w > :n", "loc", "k"),
            "IV: Secondary index loc does not project one or more filter attributes: [w]",
        ),
        (
            filtered("b > :n", "loc", "k"),
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: b",
        ),
        (filtered("v > :n", "glo", "x"), "OK"),
        (filtered("sk > :n", "glo", "x"), "OK"),
    ] {
        check(&service, "Query", &request, expected);
    }
    let scan = json!({"TableName": "Ind", "IndexName": "glo", "ConsistentRead": true});
    check(
        &service,
        "Scan",
        &scan,
        "Consistent reads are not supported on global secondary indexes",
    );
    let missing = json!({
        "TableName": "Ind", "IndexName": "glo", "FilterExpression": "w > :n", "ExpressionAttributeValues": {":n": {"N": "0"}},
    });
    assert_eq!(service.ok("Scan", missing)["Count"], 0);
    let fetched = service.ok("Query", query("loc", json!({"ProjectionExpression": "w"})));
    assert_eq!(fetched["Items"], json!([{"w": {"N": "2"}}]));
}

/// docs/dynamodb.md 11.3.
#[test]
fn update_table() {
    let service = with_indexes();
    let update = |more: Value| with(json!({"TableName": "Ind"}), more);
    let changes = |changes: Value| update(json!({"GlobalSecondaryIndexUpdates": changes}));
    let units = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    let delete = |name: &str| json!({"Delete": {"IndexName": name}});
    let create = |name: &str| {
        let keys = json!([{"AttributeName": "c", "KeyType": "HASH"}]);
        json!({"Create": {"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}})
    };
    let defined = |changes: Value| {
        update(json!({
            "AttributeDefinitions": [{"AttributeName": "c", "AttributeType": "S"}], "GlobalSecondaryIndexUpdates": changes,
        }))
    };
    let used = with(
        create("new")["Create"].clone(),
        json!({"ProvisionedThroughput": units}),
    );
    let of_units = json!({"Update": {"IndexName": "glo", "ProvisionedThroughput": units}});
    let one = "LimitExceeded: Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";
    let rows = [
        (
            changes(json!([])),
            "~At least one of ProvisionedThroughput, BillingMode,",
        ),
        (
            update(json!({"GlobalSecondaryIndexUpdates": [], "BillingMode": "PAY_PER_REQUEST"})),
            "IV: List of GlobalSecondaryIndexUpdates is empty",
        ),
        (
            changes(json!([{}])),
            "IV: One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            changes(json!([with(delete("glo"), of_units.clone())])),
            "IV: Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
        (
            changes(json!([delete("glo"), delete("glo")])),
            "IV: Only one global secondary index update per index is allowed simultaneously. Index: glo",
        ),
        (defined(json!([delete("glo"), create("new")])), one),
        (defined(json!([create("new"), create("newer")])), one),
        (
            update(json!({"ProvisionedThroughput": units})),
            "IV: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            changes(json!([of_units])),
            "IV: The only Updates for index: glo when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput",
        ),
        (
            update(json!({"BillingMode": "PROVISIONED"})),
            "IV: ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (
            update(json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units})),
            "IV: ProvisionedThroughput must be specified for index: glo",
        ),
        (
            defined(json!([{"Create": used}])),
            "IV: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new when BillingMode is PAY_PER_REQUEST",
        ),
        (
            changes(json!([create("new")])),
            "IV: AttributeDefinitions is not specified for index: new",
        ),
        (
            changes(json!([delete("loc")])),
            "Cannot delete an index that is not a GlobalSecondaryIndex: loc",
        ),
        (
            update(json!({"StreamSpecification": {"StreamEnabled": false}})),
            "Table has no stream to disable: TableName: Ind",
        ),
        (
            update(json!({"StreamSpecification": {"StreamEnabled": true}})),
            "IV: If stream is being enabled then UpdateViewType is required",
        ),
        (
            update(
                json!({"StreamSpecification": {"StreamEnabled": false, "StreamViewType": "KEYS_ONLY"}}),
            ),
            "IV: If stream is being disabled, then UpdateViewType must not be specified",
        ),
        (
            with(
                defined(json!([create("new")])),
                json!({"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
            ),
            "IV: You cannot create or delete index while changing stream status",
        ),
        (
            update(json!({"TableClass": "STANDARD", "BillingMode": "PAY_PER_REQUEST"})),
            "IV: TableClass modification must be the only operation in the request",
        ),
        (
            update(
                json!({"SSESpecification": {"Enabled": true}, "BillingMode": "PAY_PER_REQUEST"}),
            ),
            "IV: Server-Side Encryption modification must be the only operation in the request",
        ),
        (
            update(json!({"WarmThroughput": {"ReadUnitsPerSecond": 1}})),
            "IV: Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, decreasing WarmThroughput is not supported",
        ),
        (
            update(json!({
                "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 40001, "WriteCapacityUnits": 1},
                "GlobalSecondaryIndexUpdates": [of_units],
            })),
            "~LimitExceeded: The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in us-east-1. Per table maximum: 40000.",
        ),
        (update(json!({"BillingMode": "PAY_PER_REQUEST"})), "OK"),
    ];
    for (request, expected) in rows {
        check(&service, "UpdateTable", &request, expected);
    }
    service.ok(
        "UpdateTable",
        update(json!({"DeletionProtectionEnabled": true})),
    );
    let protected = "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.";
    check(
        &service,
        "DeleteTable",
        &json!({"TableName": "Ind"}),
        protected,
    );
    let constraint = "failed to satisfy constraint: Member must have value";
    let list = |limit: u32| json!({"Limit": limit});
    check(
        &service,
        "ListTables",
        &list(0),
        &format!("1VE: Value '0' at 'limit' {constraint} greater than or equal to 1"),
    );
    check(
        &service,
        "ListTables",
        &list(101),
        &format!("1VE: Value '101' at 'limit' {constraint} less than or equal to 100"),
    );
}

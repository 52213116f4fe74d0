//! Tests of the diff of two definitions: the requests between them, in order, and the refusals.

use super::*;

const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/Orders";

fn stored() -> Value {
    json!({
        "TableName": "Orders",
        "AttributeDefinitions": [
            { "AttributeName": "pk", "AttributeType": "S" },
            { "AttributeName": "sk", "AttributeType": "N" },
            { "AttributeName": "status", "AttributeType": "S" },
        ],
        "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": "sk", "KeyType": "RANGE" }],
        "LocalSecondaryIndexes": [{
            "IndexName": "by-old",
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }, { "AttributeName": "status", "KeyType": "RANGE" }],
            "Projection": { "ProjectionType": "ALL" },
        }],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-status",
            "KeySchema": [{ "AttributeName": "status", "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"] },
            "ProvisionedThroughput": { "ReadCapacityUnits": 3, "WriteCapacityUnits": 3 },
        }],
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": { "ReadCapacityUnits": 5, "WriteCapacityUnits": 5 },
        "DeletionProtectionEnabled": false,
        "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "NEW_IMAGE" },
        "Tags": [{ "Key": "team", "Value": "a" }],
    })
}

/// Checks the effect of an edit of the stored definition, a line each: the changed members of a
/// step, or a refusal.
fn check(edit: impl FnOnce(&mut Map<String, Value>), expected: &[&str]) {
    let stored = stored();
    let mut wanted = stored.as_object().unwrap().clone();
    edit(&mut wanted);
    fill_defaults(&stored, &mut wanted);
    let wanted = Value::Object(wanted);
    let change = diff_schemas(&stored, &wanted, ARN);
    let steps = change.steps.iter().map(|step| {
        let mut request = step.request.clone();
        let members = request.as_object_mut().unwrap();
        members.retain(|name, _| !matches!(name.as_str(), "TableName" | "ResourceArn"));
        format!(
            "{} {}",
            step.operation,
            serde_json::to_string(members).unwrap()
        )
    });
    let refusals = change.refusals.iter().map(|refusal| format!("! {refusal}"));
    let actual: Vec<String> = steps.chain(refusals).collect();
    assert_eq!(actual, expected, "{wanted}");
}

#[test]
fn what_is_the_same_needs_no_step() {
    check(|_| {}, &[]);
    check(
        |it| {
            it.remove("BillingMode");
            it.remove("ProvisionedThroughput");
            it.remove("DeletionProtectionEnabled");
            it["AttributeDefinitions"].as_array_mut().unwrap().reverse();
            it["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] = json!(["b", "a"]);
            it["GlobalSecondaryIndexes"][0]
                .as_object_mut()
                .unwrap()
                .remove("ProvisionedThroughput");
        },
        &[],
    );
}

#[test]
fn throughput_and_billing() {
    check(
        |it| it["ProvisionedThroughput"]["ReadCapacityUnits"] = json!(9),
        &[
            r#"UpdateTable {"ProvisionedThroughput":{"ReadCapacityUnits":9,"WriteCapacityUnits":5}}"#,
        ],
    );
    check(
        |it| {
            it["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"] = json!(9)
        },
        &[
            r#"UpdateTable {"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by-status","ProvisionedThroughput":{"ReadCapacityUnits":9,"WriteCapacityUnits":3}}}]}"#,
        ],
    );
    // `sed s/PROVISIONED/PAY_PER_REQUEST/`: the units go with the mode.
    check(
        |it| it["BillingMode"] = json!("PAY_PER_REQUEST"),
        &[r#"UpdateTable {"BillingMode":"PAY_PER_REQUEST"}"#],
    );
    check(
        |it| {
            it["BillingMode"] = json!("PAY_PER_REQUEST");
            it.insert(
                "OnDemandThroughput".to_owned(),
                json!({ "MaxReadRequestUnits": 7 }),
            );
        },
        &[
            r#"UpdateTable {"BillingMode":"PAY_PER_REQUEST"}"#,
            r#"UpdateTable {"OnDemandThroughput":{"MaxReadRequestUnits":7}}"#,
        ],
    );
    check(
        |it| {
            drop(it.insert(
                "WarmThroughput".to_owned(),
                json!({ "ReadUnitsPerSecond": 700 }),
            ))
        },
        &[r#"UpdateTable {"WarmThroughput":{"ReadUnitsPerSecond":700}}"#],
    );
}

#[test]
fn streams_settings_tags_policies_and_expiry() {
    check(
        |it| drop(it.remove("StreamSpecification")),
        &[r#"UpdateTable {"StreamSpecification":{"StreamEnabled":false}}"#],
    );
    check(
        |it| it["StreamSpecification"]["StreamViewType"] = json!("OLD_IMAGE"),
        &[
            r#"UpdateTable {"StreamSpecification":{"StreamEnabled":false}}"#,
            r#"UpdateTable {"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"OLD_IMAGE"}}"#,
        ],
    );
    check(
        |it| {
            it["DeletionProtectionEnabled"] = json!(true);
            it.insert("TableClass".to_owned(), json!("STANDARD_INFREQUENT_ACCESS"));
            it.insert("SSESpecification".to_owned(), json!({ "Enabled": true }));
        },
        &[
            r#"UpdateTable {"SSESpecification":{"Enabled":true}}"#,
            r#"UpdateTable {"TableClass":"STANDARD_INFREQUENT_ACCESS"}"#,
            r#"UpdateTable {"DeletionProtectionEnabled":true}"#,
        ],
    );
    check(
        |it| it["Tags"] = json!([{ "Key": "b", "Value": "c" }]),
        &[
            r#"UntagResource {"TagKeys":["team"]}"#,
            r#"TagResource {"Tags":[{"Key":"b","Value":"c"}]}"#,
        ],
    );
    check(
        |it| drop(it.insert("ResourcePolicy".to_owned(), json!("{}"))),
        &[r#"PutResourcePolicy {"Policy":"{}"}"#],
    );
    check(
        |it| {
            drop(it.insert(
                TIME_TO_LIVE.to_owned(),
                json!({ "Enabled": true, "AttributeName": "at" }),
            ))
        },
        &[r#"UpdateTimeToLive {"TimeToLiveSpecification":{"Enabled":true,"AttributeName":"at"}}"#],
    );
}

#[test]
fn a_new_index_is_made_last() {
    let index = |name: &str, key: &str| {
        json!({
            "IndexName": name,
            "KeySchema": [{ "AttributeName": key, "KeyType": "HASH" }],
            "Projection": { "ProjectionType": "KEYS_ONLY" },
        })
    };
    let add = |it: &mut Map<String, Value>, name: &str, key: &str| {
        it["GlobalSecondaryIndexes"]
            .as_array_mut()
            .unwrap()
            .push(index(name, key));
        it["AttributeDefinitions"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "AttributeName": key, "AttributeType": "S" }));
    };
    check(
        |it| {
            add(it, "by-who", "who");
            it["DeletionProtectionEnabled"] = json!(true);
        },
        &[
            r#"UpdateTable {"DeletionProtectionEnabled":true}"#,
            r#"UpdateTable {"AttributeDefinitions":[{"AttributeName":"who","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by-who","KeySchema":[{"AttributeName":"who","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}"#,
        ],
    );
    check(
        |it| {
            add(it, "by-a", "a");
            add(it, "by-b", "b");
        },
        &[
            "! GlobalSecondaryIndexes: one index is made at a time; leave by-b out, and add it when gsi/by-a/stats.json says ACTIVE",
        ],
    );
}

#[test]
fn what_cannot_change_is_refused_by_its_name() {
    check(
        |it| it["KeySchema"] = json!([{ "AttributeName": "pk", "KeyType": "HASH" }]),
        &[
            "! KeySchema: the key of a table is fixed when it is created; make another table and copy the items (tar, cp -r)",
        ],
    );
    check(
        |it| it["AttributeDefinitions"][1]["AttributeType"] = json!("S"),
        &["! AttributeDefinitions: the type of sk is fixed while it is a key; write its old type"],
    );
    check(
        |it| {
            it["AttributeDefinitions"]
                .as_array_mut()
                .unwrap()
                .push(json!({ "AttributeName": "x", "AttributeType": "S" }))
        },
        &[
            "! AttributeDefinitions: x is no key; only keys of the table and its indexes have definitions",
        ],
    );
    check(
        |it| drop(it.remove("LocalSecondaryIndexes")),
        &[
            "! LocalSecondaryIndexes: LSIs are fixed at creation, and by-old would change; make another table with it and copy the items",
        ],
    );
    check(
        |it| drop(it.remove("GlobalSecondaryIndexes")),
        &[
            "! GlobalSecondaryIndexes: by-status is left out, which drops nothing; to drop it: rmdir gsi/by-status",
        ],
    );
    check(
        |it| it["GlobalSecondaryIndexes"][0]["Projection"] = json!({ "ProjectionType": "ALL" }),
        &[
            "! GlobalSecondaryIndexes: the keys and the projection of by-status are fixed when it is created; rmdir gsi/by-status, and when it is gone add it with its new definition",
        ],
    );
    check(
        |it| drop(it.insert("BilingMode".to_owned(), json!("PROVISIONED"))),
        &["! BilingMode: there is no such member; the members are CreateTable's"],
    );
}

/// Returns a vector index as `schema.json` shows it, searched by `lang` and filtered by `kind`.
fn near() -> Value {
    json!({
        "IndexName": "near", "VectorAttribute": { "AttributeName": "v" }, "Dimensions": 2, "DistanceFunction": "COSINE",
        "SearchSchema": [
            { "AttributeName": "lang", "SearchSchemaElementType": "HASH" },
            { "AttributeName": "kind", "SearchSchemaElementType": "INLINE_FILTER" }],
        "Projection": { "ProjectionType": "KEYS_ONLY" },
    })
}

#[test]
fn a_vector_index_is_made_as_a_global_one_and_changed_by_nothing() {
    let plain = || {
        let mut index = near();
        index["IndexName"] = json!("plain");
        index.as_object_mut().unwrap().remove("SearchSchema");
        index
    };
    check(
        |it| drop(it.insert(VECTORS.to_owned(), json!([plain()]))),
        &[
            r#"UpdateTable {"VectorIndexUpdates":[{"Create":{"IndexName":"plain","VectorAttribute":{"AttributeName":"v"},"Dimensions":2,"DistanceFunction":"COSINE","Projection":{"ProjectionType":"KEYS_ONLY"}}}]}"#,
        ],
    );
    check(
        |it| {
            it.insert(VECTORS.to_owned(), json!([near()]));
            for name in ["kind", "lang"] {
                let definition = json!({ "AttributeName": name, "AttributeType": "S" });
                it[DEFINITIONS].as_array_mut().unwrap().push(definition);
            }
        },
        &[
            r#"UpdateTable {"AttributeDefinitions":[{"AttributeName":"kind","AttributeType":"S"},{"AttributeName":"lang","AttributeType":"S"}],"VectorIndexUpdates":[{"Create":{"IndexName":"near","VectorAttribute":{"AttributeName":"v"},"Dimensions":2,"DistanceFunction":"COSINE","SearchSchema":[{"AttributeName":"lang","SearchSchemaElementType":"HASH"},{"AttributeName":"kind","SearchSchemaElementType":"INLINE_FILTER"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}"#,
        ],
    );
    check(
        |it| drop(it.insert(VECTORS.to_owned(), json!([near(), plain()]))),
        &[
            "! VectorIndexes: one index is made at a time; leave plain out, and add it when vector/near/stats.json says ACTIVE",
        ],
    );
    let mut stored = stored();
    stored[VECTORS] = json!([near()]);
    let refused = |edit: &dyn Fn(&mut Value)| {
        let mut wanted = stored.clone();
        edit(&mut wanted);
        let refusals = diff_schemas(&stored, &wanted, ARN).refusals;
        refusals.iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(refused(&|_| {}), "");
    assert_eq!(
        refused(&|it| it[VECTORS] = json!([])),
        "VectorIndexes: near is left out, which drops nothing; to drop it: rmdir vector/near"
    );
    for (member, value) in [
        ("Dimensions", json!(3)),
        ("DistanceFunction", json!("EUCLIDEAN")),
        ("SearchSchema", json!([])),
        ("VectorAttribute", json!({ "AttributeName": "w" })),
    ] {
        assert_eq!(
            refused(&|it| it[VECTORS][0][member] = value.clone()),
            "VectorIndexes: the vector, the search schema and the projection of near are fixed when it is created; rmdir vector/near, and when it is gone add it with its new definition"
        );
    }
}

//! A table's definition, as `schema.json` has it, in the forms of other tools. The same forms are
//! read back; Workbench's has no more than keys, indexes and throughput.

use hcl::structure::{Block, BlockBuilder, Body};
use serde_json::{Map, Value, json};

use super::yaml;

/// Returns a CloudFormation template of one table, in YAML.
#[must_use]
pub fn cloudformation(definition: &Value) -> String {
    let mut properties = definition.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(stream)) = properties.get_mut("StreamSpecification")
        && stream.remove("StreamEnabled") == Some(false.into())
    {
        properties.remove("StreamSpecification");
    }
    if let Some(Value::Object(encryption)) = properties.get_mut("SSESpecification")
        && let Some(enabled) = encryption.remove("Enabled")
    {
        encryption.insert("SSEEnabled".to_owned(), enabled);
    }
    if let Some(policy) = properties.get_mut("ResourcePolicy")
        && let Some(document) = policy
            .as_str()
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
    {
        *policy = json!({ "PolicyDocument": document });
    }
    let template = json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": { logical_id(definition): { "Type": "AWS::DynamoDB::Table", "Properties": properties } },
    });
    yaml::to_text(&template)
}

fn name(definition: &Value) -> &str {
    definition
        .get("TableName")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns a logical id: the letters and digits of the table's name.
fn logical_id(definition: &Value) -> String {
    let id: String = name(definition)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    if id.is_empty() {
        "Table".to_owned()
    } else {
        id
    }
}

/// Returns the definition as a Terraform configuration.
#[must_use]
pub fn terraform(definition: &Value) -> String {
    let label: String = name(definition)
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    // A label begins with a letter.
    let label = if label.starts_with(|c: char| c.is_ascii_alphabetic()) {
        label
    } else {
        format!("t_{label}")
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut table = Block::builder("resource").add_labels(["aws_dynamodb_table".to_owned(), label]);
    table = table.add_attribute(("name", name(definition)));
    table = table.add_attribute(("billing_mode", text(definition.get("BillingMode"))));
    table = add_keys(table, definition, &["hash_key", "range_key"]);
    table = add_units(table, definition);
    for attribute in list(definition, "AttributeDefinitions") {
        let block = Block::builder("attribute")
            .add_attribute(("name", text(attribute.get("AttributeName"))));
        table = table.add_block(
            block
                .add_attribute(("type", text(attribute.get("AttributeType"))))
                .build(),
        );
    }
    for (member, kind) in [
        ("LocalSecondaryIndexes", "local_secondary_index"),
        ("GlobalSecondaryIndexes", "global_secondary_index"),
    ] {
        for index in list(definition, member) {
            let mut block =
                Block::builder(kind).add_attribute(("name", text(index.get("IndexName"))));
            // A local index has its table's partition key.
            let names: &[&str] = if kind == "local_secondary_index" {
                &["", "range_key"]
            } else {
                &["hash_key", "range_key"]
            };
            block = add_keys(block, index, names);
            let projection = index.get("Projection");
            block = block.add_attribute((
                "projection_type",
                text(projection.and_then(|projection| projection.get("ProjectionType"))),
            ));
            if let Some(more) = projection.and_then(|projection| projection.get("NonKeyAttributes"))
            {
                block = block.add_attribute((
                    "non_key_attributes",
                    hcl::to_value(more).unwrap_or_default(),
                ));
            }
            table = table.add_block(add_units(block, index).build());
        }
    }
    table = add_settings(table, definition);
    let body = Body::builder().add_block(table.build()).build();
    hcl::to_string(&body).unwrap_or_default()
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Adds the keys of a table or index by their names; a schema of more keys has blocks of them.
fn add_keys(mut block: BlockBuilder, holder: &Value, names: &[&str]) -> BlockBuilder {
    let keys: Vec<(&str, &str)> = list(holder, "KeySchema")
        .filter_map(|key| {
            Some((
                key.get("AttributeName")?.as_str()?,
                key.get("KeyType")?.as_str()?,
            ))
        })
        .collect();
    if keys.len() > names.len() || matches!(keys[..], [(_, "HASH"), (_, "HASH")]) {
        for (name, kind) in keys {
            let key = Block::builder("key_schema")
                .add_attribute(("attribute_name", name))
                .add_attribute(("key_type", kind));
            block = block.add_block(key.build());
        }
        return block;
    }
    for ((name, _), member) in keys.iter().zip(names) {
        if !member.is_empty() {
            block = block.add_attribute((*member, *name));
        }
    }
    block
}

fn add_units(mut block: BlockBuilder, holder: &Value) -> BlockBuilder {
    if let Some(units) = holder.get("ProvisionedThroughput") {
        for (name, member) in [
            ("read_capacity", "ReadCapacityUnits"),
            ("write_capacity", "WriteCapacityUnits"),
        ] {
            block = block.add_attribute((
                name,
                units
                    .get(member)
                    .and_then(Value::as_u64)
                    .unwrap_or_default(),
            ));
        }
    }
    if let Some(limits) = holder.get("OnDemandThroughput") {
        let mut inner = Block::builder("on_demand_throughput");
        for (name, member) in [
            ("max_read_request_units", "MaxReadRequestUnits"),
            ("max_write_request_units", "MaxWriteRequestUnits"),
        ] {
            if let Some(units) = limits.get(member).and_then(Value::as_i64) {
                inner = inner.add_attribute((name, units));
            }
        }
        block = block.add_block(inner.build());
    }
    block
}

fn add_settings(mut table: BlockBuilder, definition: &Value) -> BlockBuilder {
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    if let Some(stream) = definition
        .get("StreamSpecification")
        .filter(|stream| stream.get("StreamEnabled") != Some(&false.into()))
    {
        table = table
            .add_attribute(("stream_enabled", true))
            .add_attribute(("stream_view_type", text(stream, "StreamViewType")));
    }
    if let Some(class) = definition.get("TableClass").and_then(Value::as_str) {
        table = table.add_attribute(("table_class", class));
    }
    if definition.get("DeletionProtectionEnabled") == Some(&true.into()) {
        table = table.add_attribute(("deletion_protection_enabled", true));
    }
    if let Some(expiry) = definition.get("TimeToLiveSpecification") {
        let block =
            Block::builder("ttl").add_attribute(("attribute_name", text(expiry, "AttributeName")));
        table = table.add_block(block.add_attribute(("enabled", true)).build());
    }
    if let Some(encryption) = definition
        .get("SSESpecification")
        .filter(|encryption| encryption.get("Enabled") == Some(&true.into()))
    {
        let mut block = Block::builder("server_side_encryption").add_attribute(("enabled", true));
        if let Some(key) = encryption.get("KMSMasterKeyId").and_then(Value::as_str) {
            block = block.add_attribute(("kms_key_arn", key));
        }
        table = table.add_block(block.build());
    }
    let tags: Map<String, Value> = list(definition, "Tags")
        .map(|tag| (text(tag, "Key"), text(tag, "Value").into()))
        .collect();
    if !tags.is_empty() {
        table = table.add_attribute(("tags", hcl::to_value(tags).unwrap_or_default()));
    }
    table
}

/// Returns the definition as a model of NoSQL Workbench, without sample items.
#[must_use]
pub fn workbench(definition: &Value) -> Value {
    let kind = |name: &Value| {
        let mut definitions = list(definition, "AttributeDefinitions");
        definitions
            .find(|attribute| attribute.get("AttributeName") == Some(name))
            .and_then(|attribute| attribute.get("AttributeType").cloned())
    };
    let keys = |holder: &Value| {
        let key = |key: &Value| {
            let member = if key.get("KeyType").and_then(Value::as_str) == Some("HASH") {
                "PartitionKey"
            } else {
                "SortKey"
            };
            let name = key.get("AttributeName").cloned().unwrap_or_default();
            (
                member.to_owned(),
                json!({ "AttributeType": kind(&name), "AttributeName": name }),
            )
        };
        list(holder, "KeySchema").map(key).collect::<Map<_, _>>()
    };
    let capacity = |holder: &Value| {
        holder
            .get("ProvisionedThroughput")
            .map(|units| json!({ "ProvisionedThroughput": units }))
    };
    let indexes = |member: &str| {
        let index = |index: &Value| {
            let mut out = json!({ "IndexName": index.get("IndexName"), "KeyAttributes": keys(index), "Projection": index.get("Projection") });
            if let Some(capacity) = capacity(index) {
                out["ProvisionedCapacitySettings"] = capacity;
            }
            out
        };
        list(definition, member).map(index).collect::<Vec<_>>()
    };
    let mut table = json!({
        "TableName": name(definition),
        "KeyAttributes": keys(definition),
        "NonKeyAttributes": [],
        "TableData": [],
        "DataAccess": { "MySql": {} },
        "BillingMode": definition.get("BillingMode"),
    });
    if let Some(capacity) = capacity(definition) {
        table["ProvisionedCapacitySettings"] = capacity;
    }
    for member in ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"] {
        let indexes = indexes(member);
        if !indexes.is_empty() {
            table[member] = indexes.into();
        }
    }
    json!({
        "ModelName": name(definition),
        "ModelMetadata": { "Author": "", "DateCreated": "", "DateLastModified": "", "Description": "", "AWSService": "Amazon DynamoDB", "Version": "3.0" },
        "DataModel": [table],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::definitions::{Parameters, read};

    fn definition() -> Value {
        json!({
            "TableName": "Shop.Orders-1",
            "AttributeDefinitions": [
                { "AttributeName": "g", "AttributeType": "B" },
                { "AttributeName": "pk", "AttributeType": "S" },
                { "AttributeName": "s k: #", "AttributeType": "N" },
            ],
            "KeySchema": [key("pk", "HASH"), key("s k: #", "RANGE")],
            "LocalSecondaryIndexes": [{ "IndexName": "by-g", "KeySchema": [key("pk", "HASH"), key("g", "RANGE")], "Projection": { "ProjectionType": "KEYS_ONLY" } }],
            "GlobalSecondaryIndexes": [{ "IndexName": "all.g", "KeySchema": [key("g", "HASH")], "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "${b}", "yes"] } }],
            "BillingMode": "PAY_PER_REQUEST",
        })
    }

    fn key(name: &str, kind: &str) -> Value {
        json!({ "AttributeName": name, "KeyType": kind })
    }

    /// Checks that a text is read as the definition.
    fn check(text: &str, expected: &Value) {
        let read = read(text.as_bytes(), &Parameters::new()).unwrap();
        assert_eq!((read.faults, read.skipped), (vec![], vec![]), "{text}");
        let requests: Vec<Value> = read
            .tables
            .into_iter()
            .map(|table| table.request.into())
            .collect();
        assert_eq!(
            requests.as_slice(),
            std::slice::from_ref(expected),
            "{text}"
        );
    }

    #[test]
    fn what_goes_out_comes_in_again() {
        let mut definition = definition();
        check(&workbench(&definition).to_string(), &definition);
        definition["DeletionProtectionEnabled"] = true.into();
        definition["OnDemandThroughput"] =
            json!({ "MaxReadRequestUnits": 5, "MaxWriteRequestUnits": 7 });
        definition["StreamSpecification"] =
            json!({ "StreamEnabled": true, "StreamViewType": "KEYS_ONLY" });
        definition["TimeToLiveSpecification"] = json!({ "Enabled": true, "AttributeName": "ex p" });
        definition["SSESpecification"] =
            json!({ "Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "alias/k" });
        definition["TableClass"] = "STANDARD_INFREQUENT_ACCESS".into();
        definition["Tags"] = json!([{ "Key": "a b", "Value": "\"${x}\" %{y}\n" }]);
        check(&terraform(&definition), &definition);
        definition["ResourcePolicy"] = r#"{"Statement":[{"Effect":"Allow"}]}"#.into();
        check(&cloudformation(&definition), &definition);
    }

    #[test]
    fn provisioned_units_go_out_too() {
        let mut definition = definition();
        definition["BillingMode"] = "PROVISIONED".into();
        let units = json!({ "ReadCapacityUnits": 5, "WriteCapacityUnits": 6 });
        definition["ProvisionedThroughput"] = units.clone();
        definition["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = units;
        check(&workbench(&definition).to_string(), &definition);
        check(&terraform(&definition), &definition);
        check(&cloudformation(&definition), &definition);
    }
}

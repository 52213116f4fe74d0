//! A table's definition, as `schema.json` has it, in the forms of other tools. The same forms are
//! read back; Workbench's has no more than keys, indexes and throughput.

use hcl::structure::{Block, BlockBuilder, Body};
use serde_json::{Map, Value, json};

use super::table::{INDEXES, list};
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
        && let Some(text) = policy.as_str()
        && let Ok(document) = serde_json::from_str::<Value>(text)
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
    text(definition, "TableName")
}

fn text<'v>(holder: &'v Value, name: &str) -> &'v str {
    holder[name].as_str().unwrap_or_default()
}

/// Returns a logical id: the letters and digits of the table's name.
fn logical_id(definition: &Value) -> String {
    let mut id = name(definition).to_owned();
    id.retain(|c| c.is_ascii_alphanumeric());
    if id.is_empty() {
        "Table".to_owned()
    } else {
        id
    }
}

/// Returns the definition as a Terraform configuration.
#[must_use]
pub fn terraform(definition: &Value) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut label = name(definition).replace(|c| !is_plain(c), "_");
    // A label begins with a letter.
    if !label.starts_with(|c: char| c.is_ascii_alphabetic()) {
        label.insert_str(0, "t_");
    }
    let table = Block::builder("resource")
        .add_labels(["aws_dynamodb_table".to_owned(), label])
        .add_attribute(("name", name(definition)))
        .add_attribute(("billing_mode", text(definition, "BillingMode")));
    let mut table = add_keys(table, definition, &["hash_key", "range_key"]);
    table = add_units(table, definition);
    for attribute in list(definition, "AttributeDefinitions") {
        let block = Block::builder("attribute")
            .add_attribute(("name", text(attribute, "AttributeName")))
            .add_attribute(("type", text(attribute, "AttributeType")));
        table = table.add_block(block.build());
    }
    // A local index has its table's partition key.
    let kinds = [
        ("local_secondary_index", ["", "range_key"]),
        ("global_secondary_index", ["hash_key", "range_key"]),
    ];
    for (member, (kind, names)) in INDEXES.into_iter().zip(kinds) {
        for index in list(definition, member) {
            let projection = &index["Projection"];
            let block = Block::builder(kind).add_attribute(("name", text(index, "IndexName")));
            let mut block = add_keys(block, index, &names)
                .add_attribute(("projection_type", text(projection, "ProjectionType")));
            if let Some(more) = projection.get("NonKeyAttributes") {
                let more = hcl::to_value(more).unwrap_or_default();
                block = block.add_attribute(("non_key_attributes", more));
            }
            table = table.add_block(add_units(block, index).build());
        }
    }
    table = add_settings(table, definition);
    let body = Body::builder().add_block(table.build()).build();
    hcl::to_string(&body).unwrap_or_default()
}

/// Adds the keys of a table or index by their names; a schema of more keys has blocks of them.
fn add_keys(mut block: BlockBuilder, holder: &Value, names: &[&str]) -> BlockBuilder {
    let keys: Vec<_> = list(holder, "KeySchema")
        .map(|key| (text(key, "AttributeName"), text(key, "KeyType")))
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
            let units = units[member].as_u64().unwrap_or_default();
            block = block.add_attribute((name, units));
        }
    }
    if let Some(limits) = holder.get("OnDemandThroughput") {
        let mut inner = Block::builder("on_demand_throughput");
        for (name, member) in [
            ("max_read_request_units", "MaxReadRequestUnits"),
            ("max_write_request_units", "MaxWriteRequestUnits"),
        ] {
            if let Some(units) = limits[member].as_i64() {
                inner = inner.add_attribute((name, units));
            }
        }
        block = block.add_block(inner.build());
    }
    block
}

fn add_settings(mut table: BlockBuilder, definition: &Value) -> BlockBuilder {
    if let Some(stream) = definition.get("StreamSpecification")
        && stream["StreamEnabled"] != false
    {
        table = table
            .add_attribute(("stream_enabled", true))
            .add_attribute(("stream_view_type", text(stream, "StreamViewType")));
    }
    if let Some(class) = definition["TableClass"].as_str() {
        table = table.add_attribute(("table_class", class));
    }
    if definition["DeletionProtectionEnabled"] == true {
        table = table.add_attribute(("deletion_protection_enabled", true));
    }
    if let Some(expiry) = definition.get("TimeToLiveSpecification") {
        let block =
            Block::builder("ttl").add_attribute(("attribute_name", text(expiry, "AttributeName")));
        table = table.add_block(block.add_attribute(("enabled", true)).build());
    }
    let encryption = &definition["SSESpecification"];
    if encryption["Enabled"] == true {
        let mut block = Block::builder("server_side_encryption").add_attribute(("enabled", true));
        if let Some(key) = encryption["KMSMasterKeyId"].as_str() {
            block = block.add_attribute(("kms_key_arn", key));
        }
        table = table.add_block(block.build());
    }
    let tags: Map<String, Value> = list(definition, "Tags")
        .map(|tag| (text(tag, "Key").to_owned(), text(tag, "Value").into()))
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
            .find(|attribute| attribute["AttributeName"] == *name)
            .map(|attribute| &attribute["AttributeType"])
    };
    let add = |holder: &Value, mut out: Value| {
        out["KeyAttributes"] = list(holder, "KeySchema")
            .map(|key| {
                let is_hash = key["KeyType"] == "HASH";
                let member = if is_hash { "PartitionKey" } else { "SortKey" };
                let name = &key["AttributeName"];
                let key = json!({ "AttributeType": kind(name), "AttributeName": name });
                (member.to_owned(), key)
            })
            .collect::<Map<_, _>>()
            .into();
        if let Some(units) = holder.get("ProvisionedThroughput") {
            out["ProvisionedCapacitySettings"] = json!({ "ProvisionedThroughput": units });
        }
        out
    };
    let table = json!({
        "TableName": name(definition),
        "KeyAttributes": null,
        "NonKeyAttributes": [],
        "TableData": [],
        "DataAccess": { "MySql": {} },
        "BillingMode": definition["BillingMode"],
    });
    let mut table = add(definition, table);
    for member in INDEXES {
        let index = |index: &Value| {
            let own = json!({ "IndexName": index["IndexName"], "KeyAttributes": null, "Projection": index["Projection"] });
            add(index, own)
        };
        let indexes: Vec<_> = list(definition, member).map(index).collect();
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
        let requests: Vec<Value> = read.tables.into_iter().map(|table| table.request).collect();
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

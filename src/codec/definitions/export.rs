//! A table's definition, as `schema.json` has it, in the forms of other tools. The same forms are
//! read back; Workbench's has no more than keys, secondary indexes and throughput.

use std::collections::BTreeMap;

use hcl::expr::{Expression, Traversal, Variable};
use hcl::structure::{Attribute, Block, Body, Structure};
use serde_json::{Map, Value, json};

use super::table::{INDEXES, list};
use super::terraform::{
    INDEX_BLOCKS, INDEX_MEMBERS, MemberPath, ON_DEMAND, PROVISIONED, TABLE, TABLE_MEMBERS,
    VECTOR_INDEX, VECTOR_MEMBERS,
};
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
    let label = terraform_label(name(definition));
    let mut table = json!({});
    copy(definition, &TABLE_MEMBERS, &mut table);
    add_keys(definition, &["hash_key", "range_key"], &mut table);
    let secondary = INDEXES
        .into_iter()
        .flat_map(|member| list(definition, member));
    let keys = secondary
        .chain([definition])
        .flat_map(|holder| list(holder, "KeySchema"));
    let keys: Vec<_> = keys.map(|key| &key["AttributeName"]).collect();
    let attribute =
        |of: &Value| json!({ "name": of["AttributeName"], "type": of["AttributeType"] });
    // Terraform refuses an attribute that is no key: a vector index declares its own.
    table["attribute"] = list(definition, "AttributeDefinitions")
        .filter(|of| keys.contains(&&of["AttributeName"]))
        .map(attribute)
        .collect();
    // A local index has its table's partition key.
    let keys = [["", "range_key"], ["hash_key", "range_key"]];
    for ((member, kind), names) in INDEXES.into_iter().zip(INDEX_BLOCKS).zip(keys) {
        let block = |index: &Value| {
            let mut block = json!({});
            copy(index, &INDEX_MEMBERS, &mut block);
            add_keys(index, &names, &mut block);
            block
        };
        table[kind] = list(definition, member).map(block).collect();
    }
    let tags: Map<String, Value> = list(definition, "Tags")
        .map(|tag| (text(tag, "Key").to_owned(), tag["Value"].clone()))
        .collect();
    if !tags.is_empty() {
        table["tags"] = tags.into();
    }
    let resource = |kind: &str, label: &str| {
        Block::builder("resource").add_labels([kind, label].map(str::to_owned))
    };
    let mut blocks = vec![
        resource(TABLE, &label)
            .add_structures(structures(&table))
            .build(),
    ];
    let mut kinds = BTreeMap::new();
    for of in list(definition, "AttributeDefinitions") {
        kinds.insert(text(of, "AttributeName"), &of["AttributeType"]);
    }
    for index in list(definition, "VectorIndexes") {
        let mut out = json!({});
        copy(index, &VECTOR_MEMBERS, &mut out);
        // It is no block, as `projection` is.
        if let Some(vector) = out.pointer_mut("/vector_attribute/0") {
            out["vector_attribute"] = vector.take();
        }
        let element = |of: &Value| {
            let name = text(of, "AttributeName");
            json!({ "attribute_name": name, "attribute_type": kinds.get(name), "type": of["SearchSchemaElementType"] })
        };
        out["search_schema"] = list(index, "SearchSchema").map(element).collect();
        let table = Traversal::builder(Variable::unchecked(TABLE));
        let table = table.attr(label.as_str()).attr("name").build();
        let label = terraform_label(&format!("{label}_{}", text(index, "IndexName")));
        let block = resource(VECTOR_INDEX, &label).add_attribute(("table_name", table));
        blocks.push(block.add_structures(structures(&out)).build());
    }
    hcl::to_string(&Body::from(blocks)).unwrap_or_default()
}

/// Returns a label of a resource: letters, digits and a few marks, a letter first.
fn terraform_label(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut label = name.replace(|c| !is_plain(c), "_");
    if !label.starts_with(|c: char| c.is_ascii_alphabetic()) {
        label.insert_str(0, "t_");
    }
    label
}

/// Adds the members that the definition has, and its units, to a resource or block.
fn copy(definition: &Value, members: &[MemberPath], out: &mut Value) {
    for (own, path) in members.iter().chain(&PROVISIONED).chain(&ON_DEMAND) {
        let Some(value) = definition.pointer(path) else {
            continue;
        };
        match own.split_once('/') {
            Some((block, own)) => {
                if out[block].is_null() {
                    out[block] = json!([{}]);
                }
                out[block][0][own] = value.clone();
            }
            None => out[*own] = value.clone(),
        }
    }
}

/// Adds the keys of a table or index by their names; a schema of more keys has blocks of them.
fn add_keys(holder: &Value, names: &[&str], out: &mut Value) {
    let keys: Vec<_> = list(holder, "KeySchema").collect();
    let has_two = matches!(keys[..], [_, second] if second["KeyType"] == "HASH");
    if keys.len() > names.len() || has_two {
        let block = |key: &&Value| json!({ "attribute_name": key["AttributeName"], "key_type": key["KeyType"] });
        out["key_schema"] = keys.iter().map(block).collect();
        return;
    }
    for (key, name) in keys.iter().zip(names).filter(|(_, name)| !name.is_empty()) {
        out[*name] = key["AttributeName"].clone();
    }
}

/// Returns attributes, and a block for each object in a list.
fn structures(values: &Value) -> Vec<Structure> {
    let members = values.as_object().into_iter().flatten();
    let structures = members.flat_map(|(name, value)| {
        let block = |of: &Value| {
            let block = Block::builder(name.as_str()).add_structures(structures(of));
            Structure::from(block.build())
        };
        match value.as_array() {
            Some(list) if list.iter().all(Value::is_object) => list.iter().map(block).collect(),
            _ => {
                let value = hcl::to_expression(value).unwrap_or(Expression::Null);
                vec![Attribute::new(name.as_str(), value).into()]
            }
        }
    });
    structures.collect()
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
    let vectors: Vec<_> = list(definition, "VectorIndexes")
        .map(|index| text(index, "IndexName"))
        .collect();
    let left_out = match vectors[..] {
        [] => String::new(),
        _ => format!(
            "left out, as a model has no vector indexes: {}",
            vectors.join(", ")
        ),
    };
    json!({
        "ModelName": name(definition),
        "ModelMetadata": { "Author": "", "DateCreated": "", "DateLastModified": "", "Description": left_out, "AWSService": "Amazon DynamoDB", "Version": "3.0" },
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
        let element = |name: &str, kind: &str| json!({ "AttributeName": name, "SearchSchemaElementType": kind });
        // One is no key of the table.
        let attributes = definition["AttributeDefinitions"].as_array_mut().unwrap();
        attributes.insert(0, json!({ "AttributeName": "cat", "AttributeType": "N" }));
        definition["VectorIndexes"] = json!([
            { "IndexName": "near.all", "VectorAttribute": { "AttributeName": "${v}" }, "Dimensions": 2, "DistanceFunction": "COSINE",
              "SearchSchema": [element("pk", "HASH"), element("cat", "INLINE_FILTER")], "Projection": { "ProjectionType": "ALL" } },
            { "IndexName": "far", "VectorAttribute": { "AttributeName": "w" }, "Dimensions": 3, "DistanceFunction": "EUCLIDEAN",
              "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"] } },
        ]);
        check(&cloudformation(&definition), &definition);
        definition.as_object_mut().unwrap().remove("ResourcePolicy");
        check(&terraform(&definition), &definition);
        let model = workbench(&definition);
        assert_eq!(
            model["ModelMetadata"]["Description"],
            "left out, as a model has no vector indexes: near.all, far"
        );
        assert!(!model["DataModel"].to_string().contains("far"), "{model}");
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

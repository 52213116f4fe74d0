//! A new global or vector index: its request from a written `schema.json`, of a global one also from
//! the words of a `ctl` line (docs/filesystem.md 3).

use super::{Commit, set_name};
use crate::codec::json::document::Document;
use crate::codec::wire::{self, tables};
use crate::fs::prelude::*;
use crate::model::{IndexName, api::UpdateTableRequest};
use serde_json::Map;

/// The error of bad words in a `gsi` command.
const USAGE: &str =
    "an index is made by: gsi NAME key:S [sort:N] [keys | all | include=a,b]; types are S, N and B";

/// Returns the request of a written `schema.json` of a new index, with sentences for
/// `.ddb/warnings.ndjson`.
///
/// # Errors
/// `Body` if the text is no JSON object; the wire's error if it is no definition.
pub fn read_definition(
    table: &TableSchema,
    kind: IndexKind,
    index: &IndexName,
    text: &[u8],
) -> Result<Commit<UpdateTableRequest>, FsError> {
    let json: Value =
        Document::parse_value(text).map_err(|error| FsError::Body(error.to_string()))?;
    let Value::Object(mut members) = json else {
        return Err(FsError::Body("not a JSON object".to_owned()));
    };
    let warnings = set_name(&mut members, "IndexName", index.as_str())
        .into_iter()
        .collect();
    Ok(Commit {
        request: request(table, kind, members)?,
        warnings,
    })
}

/// Returns the UpdateTable request that makes an index. `index` is a member of CreateTable's
/// `GlobalSecondaryIndexes` or `VectorIndexes`, with `AttributeDefinitions` of keys that the table does
/// not define.
fn request(
    table: &TableSchema,
    kind: IndexKind,
    mut index: Map<String, Value>,
) -> Result<UpdateTableRequest, FsError> {
    let mut definitions = match index.remove("AttributeDefinitions") {
        Some(Value::Array(definitions)) => definitions,
        Some(_) => return Err(FsError::Body("AttributeDefinitions is a list".to_owned())),
        None => Vec::new(),
    };
    let name_of = |definition: &Value| {
        definition
            .get("AttributeName")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let given: Vec<String> = definitions.iter().filter_map(name_of).collect();
    let known = tables::definition_to_json(table);
    let known = known["AttributeDefinitions"]
        .as_array()
        .into_iter()
        .flatten();
    definitions.extend(
        known
            .filter(|it| name_of(it).is_some_and(|name| !given.contains(&name)))
            .cloned(),
    );
    let updates = match kind {
        IndexKind::Vector => "VectorIndexUpdates",
        IndexKind::Global | IndexKind::Local => "GlobalSecondaryIndexUpdates",
    };
    let body = json!({
        "TableName": table.name.as_str(),
        "AttributeDefinitions": definitions,
        updates: [{ "Create": index }],
    });
    Ok(wire::request(Document::from_value(&body).root())?)
}

/// Returns the definition of an index to start from: valid as it is.
#[must_use]
pub fn template(table: &TableSchema, kind: IndexKind, index: &IndexName) -> Vec<u8> {
    if kind == IndexKind::Vector {
        let members = json!({
            "IndexName": index.as_str(),
            "VectorAttribute": { "AttributeName": "vector" },
            "Dimensions": 1024,
            "DistanceFunction": "COSINE",
            "Projection": { "ProjectionType": "ALL" },
        });
        return format!("{members:#}\n").into_bytes();
    }
    let mut members = json!({
        "IndexName": index.as_str(),
        "AttributeDefinitions": [{ "AttributeName": "attribute", "AttributeType": "S" }],
        "KeySchema": [{ "AttributeName": "attribute", "KeyType": "HASH" }],
        "Projection": { "ProjectionType": "ALL" },
    });
    if let Some(units) = throughput(table) {
        members["ProvisionedThroughput"] = units;
    }
    format!("{members:#}\n").into_bytes()
}

/// Returns the table's own units, if it is provisioned.
fn throughput(table: &TableSchema) -> Option<Value> {
    let units = table.throughput?;
    Some(
        json!({ "ReadCapacityUnits": units.read_capacity_units, "WriteCapacityUnits": units.write_capacity_units }),
    )
}

/// Returns the request of the words after `gsi` in a command: a name, keys with their types, a
/// projection (`all` by default).
///
/// # Errors
/// `Invalid` with the usage if the words are no index.
pub fn parse_words(table: &TableSchema, words: &[&str]) -> Result<UpdateTableRequest, FsError> {
    let Some((name, words)) = words.split_first() else {
        return Err(FsError::Invalid(USAGE));
    };
    let (mut definitions, mut keys, mut projection) =
        (Vec::new(), Vec::new(), json!({ "ProjectionType": "ALL" }));
    for word in words {
        match (*word, word.rsplit_once(':')) {
            ("all", None) => projection = json!({ "ProjectionType": "ALL" }),
            ("keys", None) => projection = json!({ "ProjectionType": "KEYS_ONLY" }),
            (_, Some((key, of_type @ ("S" | "N" | "B")))) if !key.is_empty() => {
                let role = if keys.is_empty() { "HASH" } else { "RANGE" };
                definitions.push(json!({ "AttributeName": key, "AttributeType": of_type }));
                keys.push(json!({ "AttributeName": key, "KeyType": role }));
            }
            _ => {
                let names = word
                    .strip_prefix("include=")
                    .ok_or(FsError::Invalid(USAGE))?;
                let names: Vec<&str> = names.split(',').collect();
                projection = json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names });
            }
        }
    }
    if keys.is_empty() {
        return Err(FsError::Invalid(USAGE));
    }
    let mut members = Map::new();
    members.insert("IndexName".to_owned(), json!(name));
    members.insert("AttributeDefinitions".to_owned(), Value::Array(definitions));
    members.insert("KeySchema".to_owned(), Value::Array(keys));
    members.insert("Projection".to_owned(), projection);
    members.extend(throughput(table).map(|units| ("ProvisionedThroughput".to_owned(), units)));
    request(table, IndexKind::Global, members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::api::tables::ProjectionType;
    use crate::model::schema::{BillingMode, KeyAttribute, KeyAttributeType, KeySchema};
    use crate::model::{KeyType, TableName};

    fn orders() -> TableSchema {
        TableSchema {
            name: TableName::new("Orders").unwrap(),
            key: KeySchema {
                partition: KeyAttribute {
                    name: "pk".into(),
                    attribute_type: KeyAttributeType::S,
                },
                sort: Some(KeyAttribute {
                    name: "sk".into(),
                    attribute_type: KeyAttributeType::N,
                }),
            },
            indexes: Vec::new(),
            billing_mode: BillingMode::PayPerRequest,
            throughput: None,
            deletion_protection: false,
            settings: Default::default(),
        }
    }

    #[test]
    fn words_of_a_command() {
        let request = parse_words(
            &orders(),
            &["by-status", "status:S", "sk:N", "include=total,owner"],
        )
        .unwrap();
        let definition = &request.index_updates.as_ref().unwrap()[0]
            .create
            .as_ref()
            .unwrap();
        assert_eq!(definition.name.as_str(), "by-status");
        let keys: Vec<_> = definition
            .key_schema
            .iter()
            .map(|key| (key.attribute_name.as_str(), key.key_type))
            .collect();
        assert_eq!(keys, [("status", KeyType::Hash), ("sk", KeyType::Range)]);
        assert_eq!(
            definition.projection.non_key_attributes.as_deref().unwrap(),
            ["total", "owner"]
        );
        let kind = |words: &[&str]| {
            let request = parse_words(&orders(), words).unwrap();
            request.index_updates.unwrap()[0]
                .create
                .as_ref()
                .unwrap()
                .projection
                .projection_type
        };
        assert_eq!(kind(&["abc", "a:b:N"]), Some(ProjectionType::All));
        assert_eq!(
            kind(&["abc", "a:N", "keys"]),
            Some(ProjectionType::KeysOnly)
        );
        for bad in [
            &[][..],
            &["abc"],
            &["abc", "keys"],
            &["abc", "a"],
            &["abc", "a:X"],
            &["abc", ":S"],
        ] {
            assert_eq!(
                parse_words(&orders(), bad),
                Err(FsError::Invalid(USAGE)),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_template_is_valid_and_the_directory_names_the_index() {
        let (table, index) = (orders(), IndexName::new("abc").unwrap());
        for kind in [IndexKind::Vector, IndexKind::Global] {
            let text = template(&table, kind, &index);
            let commit = read_definition(&table, kind, &index, &text).unwrap();
            assert!(commit.warnings.is_empty());
            assert_eq!(commit.request.table_name.as_str(), "Orders");
            let made = commit.request.index_creations().next().unwrap();
            assert_eq!((made.kind, made.name.as_str()), (kind, "abc"));
        }
        let read = |text: &[u8]| read_definition(&table, IndexKind::Global, &index, text);
        let other = br#"{"IndexName":"other","KeySchema":[{"AttributeName":"sk","KeyType":"HASH"}],"Projection":{}}"#;
        let commit = read(other).unwrap();
        assert_eq!(commit.warnings.len(), 1);
        let definitions = commit.request.attribute_definitions.unwrap();
        assert!(
            definitions
                .iter()
                .any(|it| it.name == "sk" && it.attribute_type == KeyAttributeType::N)
        );
        assert!(read(b"[1]").is_err());
    }
}

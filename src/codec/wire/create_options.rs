//! Members of CreateTable that are checked, kept and shown: the stream, and what has no effect yet: encryption, tags, table class,
//! on-demand maxima and warm throughput. They are kept as JSON text by member name; those of indexes under
//! `GlobalSecondaryIndexes`, as an object by index name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use crate::model::api::StreamViewType;
use crate::model::error::{ResourceError, SchemaError};
use crate::model::limits::{POLICY_BYTES_MAX, TAG_KEY_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX};
use crate::model::schema::{BillingMode, ON_DEMAND_WARM};

pub const STREAM_SPECIFICATION: Member = Member::new(
    "StreamSpecification",
    Shape::Structure(&Structure {
        name: "StreamSpecification",
        members: &[
            Member::new("StreamEnabled", Shape::Boolean).required(),
            Member::new("StreamViewType", Shape::String).rules(&[Rule::OneOf(&[
                "NEW_IMAGE",
                "OLD_IMAGE",
                "NEW_AND_OLD_IMAGES",
                "KEYS_ONLY",
            ])]),
        ],
    }),
);

pub const SSE_SPECIFICATION: Member = Member::new(
    "SSESpecification",
    Shape::Structure(&Structure {
        name: "SSESpecification",
        members: &[
            Member::new("Enabled", Shape::Boolean),
            Member::new("SSEType", Shape::String).rules(&[Rule::OneOf(&["AES256", "KMS"])]),
            Member::new("KMSMasterKeyId", Shape::String),
        ],
    }),
);

pub const TAGS: Member = Member::new(
    "Tags",
    Shape::List(&Element {
        shape: Shape::Structure(&Structure {
            name: "Tag",
            members: &[
                Member::new("Key", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(TAG_KEY_CHARS_MAX)]),
                Member::new("Value", Shape::String).required().rules(&[Rule::LengthMax(TAG_VALUE_CHARS_MAX)]),
            ],
        }),
        rules: &[],
    }),
);

pub const TABLE_CLASS: Member = Member::new("TableClass", Shape::String);

pub const WARM_THROUGHPUT: Member = Member::new(
    "WarmThroughput",
    Shape::Structure(&Structure {
        name: "WarmThroughput",
        members: &[Member::new("ReadUnitsPerSecond", Shape::Long), Member::new("WriteUnitsPerSecond", Shape::Long)],
    }),
);

pub const ON_DEMAND_THROUGHPUT: Member = Member::new(
    "OnDemandThroughput",
    Shape::Structure(&Structure {
        name: "OnDemandThroughput",
        members: &[Member::new("MaxReadRequestUnits", Shape::Long), Member::new("MaxWriteRequestUnits", Shape::Long)],
    }),
);

const STREAM: &str = "StreamSpecification";
/// Members of the table that are kept.
const KEPT: &[&str] = &[STREAM, "SSESpecification", "Tags", "TableClass", "OnDemandThroughput", "WarmThroughput", "ResourcePolicy"];
/// Members of a global index that are kept.
const KEPT_OF_INDEXES: &[&str] = &["OnDemandThroughput", "WarmThroughput"];
/// Where those of indexes are kept.
pub(super) const INDEXES: &str = "GlobalSecondaryIndexes";

/// Checks 21 to 26 of docs/dynamodb.md 11.1.
pub fn check(members: Members<'_>, billing_mode: BillingMode) -> Result<(), WireError> {
    check_on_demand(members, None, billing_mode)?;
    for index in global_indexes(members) {
        check_on_demand(index, index.string("IndexName"), billing_mode)?;
    }
    check_warm(members, None, billing_mode)?;
    for index in global_indexes(members) {
        check_warm(index, index.string("IndexName"), billing_mode)?;
    }
    check_stream(members)?;
    check_encryption(members)?;
    match members.string("TableClass") {
        None | Some("STANDARD" | "STANDARD_INFREQUENT_ACCESS") => {}
        Some(_) => return Err(SchemaError::TableClass.into()),
    }
    check_tags(members)?;
    members.string("ResourcePolicy").map_or(Ok(()), |policy| Ok(check_policy(policy)?))
}

fn check_on_demand(members: Members<'_>, index: Option<&str>, billing_mode: BillingMode) -> Result<(), WireError> {
    let Some(throughput) = members.structure("OnDemandThroughput") else { return Ok(()) };
    for member in ["MaxReadRequestUnits", "MaxWriteRequestUnits"] {
        let Some(units) = throughput.integer(member) else { continue };
        if billing_mode == BillingMode::Provisioned {
            return Err(SchemaError::OnDemandOnProvisioned(member).into());
        }
        if units < 1 {
            let of = index.map_or_else(|| "table".to_owned(), |name| format!("index : {name}"));
            return Err(SchemaError::OnDemandRange { member, of }.into());
        }
    }
    Ok(())
}

/// Warm throughput is never below what the table or index begins with.
fn check_warm(members: Members<'_>, index: Option<&str>, billing_mode: BillingMode) -> Result<(), WireError> {
    let Some(warm) = members.structure("WarmThroughput") else { return Ok(()) };
    let provisioned = |member: &str| members.structure("ProvisionedThroughput").and_then(|units| units.integer(member));
    let (read, write) = match billing_mode {
        BillingMode::PayPerRequest => {
            let initial = |units: u64| (Some(units.cast_signed()), "initial throughput for OnDemand");
            (initial(ON_DEMAND_WARM.read_capacity_units), initial(ON_DEMAND_WARM.write_capacity_units))
        }
        BillingMode::Provisioned => (
            (provisioned("ReadCapacityUnits"), "ReadCapacityUnits of ProvisionedThroughput"),
            (provisioned("WriteCapacityUnits"), "WriteCapacityUnits of ProvisionedThroughput"),
        ),
    };
    for (member, (initial, than)) in [("ReadUnitsPerSecond", read), ("WriteUnitsPerSecond", write)] {
        if warm.integer(member).zip(initial).is_some_and(|(asked, initial)| asked < initial) {
            let of = index.map_or_else(|| "table".to_owned(), |name| format!("index : {name}"));
            return Err(SchemaError::WarmBelowInitial { member, of, than }.into());
        }
    }
    Ok(())
}

fn check_stream(members: Members<'_>) -> Result<(), WireError> {
    let Some(stream) = members.structure("StreamSpecification") else { return Ok(()) };
    match (stream.boolean("StreamEnabled"), stream.has("StreamViewType")) {
        (Some(true), false) => Err(SchemaError::StreamViewTypeMissing.into()),
        (Some(false), true) => Err(SchemaError::StreamViewTypeUnwanted.into()),
        _ => Ok(()),
    }
}

pub(super) fn check_encryption(members: Members<'_>) -> Result<(), WireError> {
    let Some(sse) = members.structure("SSESpecification") else { return Ok(()) };
    let enabled = sse.boolean("Enabled").unwrap_or(false);
    if !enabled && sse.has("SSEType") {
        return Err(SchemaError::EncryptionOff("SSEType").into());
    }
    if !enabled && sse.has("KMSMasterKeyId") {
        return Err(SchemaError::EncryptionOff("KMSMasterKeyId").into());
    }
    if sse.string("SSEType") == Some("AES256") {
        return Err(SchemaError::EncryptionType.into());
    }
    if sse.has("KMSMasterKeyId") && sse.string("SSEType") != Some("KMS") {
        return Err(SchemaError::EncryptionKeyWithoutKms.into());
    }
    Ok(())
}

pub(super) fn check_tags(members: Members<'_>) -> Result<(), WireError> {
    let tags = members.list("Tags").unwrap_or_default();
    if tags.len() > TAGS_MAX {
        return Err(SchemaError::TooManyTags.into());
    }
    let mut seen: Vec<&str> = Vec::new();
    for tag in tags.filter_map(Members::of) {
        let (key, value) = (tag.string("Key").unwrap_or_default(), tag.string("Value").unwrap_or_default());
        if key.to_ascii_lowercase().starts_with("aws:") {
            return Err(SchemaError::ReservedTag(key.to_owned()).into());
        }
        if !key.chars().all(is_tag_character) {
            return Err(ResourceError::TagKey(key.to_owned()).into());
        }
        if !value.chars().all(is_tag_character) {
            return Err(ResourceError::TagValue(value.to_owned()).into());
        }
        if seen.contains(&key) {
            return Err(SchemaError::DuplicateTag(key.to_owned()).into());
        }
        seen.push(key);
    }
    Ok(())
}

/// A policy that can be kept: JSON, not too large.
pub(super) fn check_policy(policy: &str) -> Result<(), ResourceError> {
    if policy.len() > POLICY_BYTES_MAX {
        return Err(ResourceError::PolicyTooLarge);
    }
    match serde_json::from_str::<Value>(policy) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(ResourceError::PolicyNotJson),
    }
}

/// Letters and digits of any script, blanks, and a few signs.
fn is_tag_character(character: char) -> bool {
    character.is_alphanumeric() || character.is_whitespace() || "+-=._:/@".contains(character)
}

fn global_indexes<'a>(members: Members<'a>) -> impl Iterator<Item = Members<'a>> {
    members.list(INDEXES).unwrap_or_default().filter_map(Members::of)
}

/// The members to keep, as JSON text by name.
pub fn kept(members: Members<'_>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for name in KEPT {
        if let Some(json) = members.get(name) {
            out.insert((*name).to_owned(), json.to_string());
        }
    }
    let mut indexes = Map::new();
    for index in global_indexes(members) {
        let options: Map<String, Value> =
            KEPT_OF_INDEXES.iter().filter_map(|name| Some(((*name).to_owned(), index.get(name)?.to_value()))).collect();
        if let (Some(name), false) = (index.owned("IndexName"), options.is_empty()) {
            indexes.insert(name, Value::Object(options));
        }
    }
    if !indexes.is_empty() {
        out.insert(INDEXES.to_owned(), Value::Object(indexes).to_string());
    }
    out
}

/// A kept member of the table. What does not parse was not written by [`kept`] and is left out.
pub fn get(opaque: &BTreeMap<String, String>, name: &str) -> Option<Value> {
    serde_json::from_str(opaque.get(name)?).ok()
}

/// Kept members of the global indexes, by index name.
pub fn of_indexes(opaque: &BTreeMap<String, String>) -> BTreeMap<String, Map<String, Value>> {
    let Some(Value::Object(indexes)) = get(opaque, INDEXES) else { return BTreeMap::new() };
    let only_objects = |(name, json)| match json {
        Value::Object(options) => Some((name, options)),
        _ => None,
    };
    indexes.into_iter().filter_map(only_objects).collect()
}

/// The view type of an enabled stream.
#[must_use]
pub fn stream(opaque: &BTreeMap<String, String>) -> Option<StreamViewType> {
    let stream = get(opaque, STREAM)?;
    let is_enabled = is_enabled(stream.get("StreamEnabled")?)?;
    StreamViewType::of_text(stream.get("StreamViewType")?.as_str()?).filter(|_| is_enabled)
}

/// A boolean of a kept member.
pub(super) fn is_enabled(kept: &Value) -> Option<bool> {
    kept.as_bool().or_else(|| super::shape::boolean_word(kept.as_str()?))
}

/// Keeps that the stream has that view type, or is disabled.
pub fn set_stream(opaque: &mut BTreeMap<String, String>, view_type: Option<StreamViewType>) {
    match view_type {
        Some(view) => {
            let stream = json!({ "StreamEnabled": true, "StreamViewType": view.text() });
            opaque.insert(STREAM.to_owned(), stream.to_string())
        }
        None => opaque.remove(STREAM),
    };
}

/// Puts the table's kept members back into a request.
pub fn restore(opaque: &BTreeMap<String, String>, out: &mut Map<String, Value>) {
    for name in KEPT {
        if let Some(json) = get(opaque, name) {
            out.insert((*name).to_owned(), json);
        }
    }
}

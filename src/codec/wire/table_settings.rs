//! The settings of tables and global indexes: the members' shapes and checks, and to and from [`TableSettings`].

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use crate::model::TableSettings;
use crate::model::Word;
use crate::model::error::{ResourceError, SchemaError};
use crate::model::limits::{POLICY_BYTES_MAX, TAG_KEY_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX};
use crate::model::schema::{BillingMode, ON_DEMAND_WARM};
use crate::model::settings::{Encryption, OnDemandThroughput, StreamViewType, TableClass, ThroughputSettings, WarmThroughput};

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

/// The list whose members have settings of their own.
const INDEXES: &str = "GlobalSecondaryIndexes";

/// Checks 21 to 26 of docs/dynamodb.md 11.1.
pub fn check(members: Members<'_>, billing_mode: BillingMode) -> Result<(), WireError> {
    check_on_demand(members, None, billing_mode)?;
    for index in global_indexes(members) {
        check_on_demand(index, index.string("IndexName"), billing_mode)?;
    }
    // Only now: a maximum out of bounds, of an index too, is told before any warm throughput.
    check_warm(members, None, billing_mode)?;
    for index in global_indexes(members) {
        check_warm(index, index.string("IndexName"), billing_mode)?;
    }
    check_stream(members)?;
    encryption(members)?;
    table_class(members)?;
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

/// `SSESpecification`, if it is there.
///
/// # Errors
/// Members that do not go together.
pub fn encryption(members: Members<'_>) -> Result<Option<Encryption>, SchemaError> {
    let Some(sse) = members.structure("SSESpecification") else { return Ok(None) };
    let enabled = sse.boolean("Enabled").unwrap_or(false);
    if let (false, Some(member)) = (enabled, ["SSEType", "KMSMasterKeyId"].into_iter().find(|member| sse.has(member))) {
        return Err(SchemaError::EncryptionOff(member));
    }
    if sse.string("SSEType") == Some("AES256") {
        return Err(SchemaError::EncryptionType);
    }
    if sse.has("KMSMasterKeyId") && sse.string("SSEType") != Some("KMS") {
        return Err(SchemaError::EncryptionKeyWithoutKms);
    }
    Ok(Some(Encryption { enabled, kms_master_key_id: sse.owned("KMSMasterKeyId") }))
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

/// Settings of a table; of its indexes [`of_index`] has them. What they hold was checked.
pub fn read(members: Members<'_>) -> TableSettings {
    let stream = members.structure("StreamSpecification").filter(|stream| stream.boolean("StreamEnabled") == Some(true));
    TableSettings {
        stream: stream.and_then(|stream| stream.word("StreamViewType")),
        encryption: encryption(members).ok().flatten().filter(|encryption| encryption.enabled),
        table_class: table_class(members).ok().flatten(),
        tags: tags(members),
        resource_policy: members.owned("ResourcePolicy"),
        throughput: of_index(members),
    }
}

/// Settings of a global index, or those of a table that an index has too.
pub fn of_index(members: Members<'_>) -> ThroughputSettings {
    ThroughputSettings { on_demand: on_demand(members).unwrap_or_default(), warm: warm(members).unwrap_or_default() }
}

pub fn on_demand(members: Members<'_>) -> Option<OnDemandThroughput> {
    let units = members.structure("OnDemandThroughput")?;
    Some(OnDemandThroughput {
        max_read_request_units: units.integer("MaxReadRequestUnits"),
        max_write_request_units: units.integer("MaxWriteRequestUnits"),
    })
}

pub fn warm(members: Members<'_>) -> Option<WarmThroughput> {
    let units = members.structure("WarmThroughput")?;
    Some(WarmThroughput {
        read_units_per_second: units.integer("ReadUnitsPerSecond"),
        write_units_per_second: units.integer("WriteUnitsPerSecond"),
    })
}

/// `TableClass`, if it is there.
///
/// # Errors
/// A class that there is not.
pub fn table_class(members: Members<'_>) -> Result<Option<TableClass>, SchemaError> {
    let text = members.string("TableClass");
    text.map(|text| TableClass::of_word(text).ok_or(SchemaError::TableClass)).transpose()
}

/// `Tags` as key and value.
pub fn tags(members: Members<'_>) -> Vec<(String, String)> {
    let tag = |members: Members<'_>| Some((members.owned("Key")?, members.owned("Value")?));
    members.list("Tags").unwrap_or_default().filter_map(Members::of).filter_map(tag).collect()
}

/// The members of a request that makes them.
pub fn to_json(settings: &TableSettings, out: &mut Map<String, Value>) {
    let mut add = |name: &str, value: Option<Value>| drop(value.map(|value| out.insert(name.to_owned(), value)));
    add("StreamSpecification", settings.stream.map(stream_to_json));
    add("SSESpecification", settings.encryption.as_ref().map(encryption_to_json));
    add("Tags", (!settings.tags.is_empty()).then(|| tags_to_json(&settings.tags)));
    add("TableClass", settings.table_class.map(|class| json!(class.word())));
    throughput_to_json(&settings.throughput, out);
    if let Some(policy) = &settings.resource_policy {
        out.insert("ResourcePolicy".to_owned(), json!(policy));
    }
}

/// `SSESpecification`.
pub fn encryption_to_json(encryption: &Encryption) -> Value {
    match &encryption.kms_master_key_id {
        _ if !encryption.enabled => json!({ "Enabled": false }),
        Some(key) => json!({ "Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": key }),
        None => json!({ "Enabled": true, "SSEType": "KMS" }),
    }
}

pub fn stream_to_json(view_type: StreamViewType) -> Value {
    json!({ "StreamEnabled": true, "StreamViewType": view_type.word() })
}

pub fn tags_to_json(tags: &[(String, String)]) -> Value {
    tags.iter().map(|(key, value)| json!({ "Key": key, "Value": value })).collect()
}

/// The members of the table, or of an index.
pub fn throughput_to_json(settings: &ThroughputSettings, out: &mut Map<String, Value>) {
    let ThroughputSettings { on_demand, warm } = settings;
    on_demand_to_json(on_demand, out);
    let warm = [("ReadUnitsPerSecond", warm.read_units_per_second), ("WriteUnitsPerSecond", warm.write_units_per_second)];
    out.extend(units_to_json("WarmThroughput", warm));
}

/// The maxima alone, if there are any.
pub fn on_demand_to_json(of: &OnDemandThroughput, out: &mut Map<String, Value>) {
    let maxima = [("MaxReadRequestUnits", of.max_read_request_units), ("MaxWriteRequestUnits", of.max_write_request_units)];
    out.extend(units_to_json("OnDemandThroughput", maxima));
}

/// The member with the numbers that are there; without any it is left out.
fn units_to_json(name: &str, units: [(&str, Option<i64>); 2]) -> Option<(String, Value)> {
    let units = units.into_iter().filter_map(|(member, value)| Some((member.to_owned(), json!(value?))));
    let units: Map<String, Value> = units.collect();
    (!units.is_empty()).then(|| (name.to_owned(), Value::Object(units)))
}

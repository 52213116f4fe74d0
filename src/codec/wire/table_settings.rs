//! The JSON form of the settings of tables and global indexes (throughput, encryption, streams,
//! tags, policy): the members' shapes and checks, and the conversion to and from [`TableSettings`].

use serde_json::Value;

use super::declared::*;
use super::response;
use crate::model::TableSettings;
use crate::model::api::tables::{KeySchemaElement, StreamSpecification};
use crate::model::error::{ResourceError, SchemaError};
use crate::model::limits::{POLICY_BYTES_MAX, TAG_KEY_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX};
use crate::model::schema::{
    BillingMode, Encryption, ON_DEMAND_WARM, OnDemandThroughput, ProvisionedThroughput,
    StreamViewType, TableClass, ThroughputSettings, WarmThroughput,
};

wire! {
    OnDemandThroughput = "OnDemandThroughput" {
        optional max_read_request_units: i64,
        optional max_write_request_units: i64,
    }

    WarmThroughput = "WarmThroughput" {
        optional read_units_per_second: i64,
        optional write_units_per_second: i64,
    }

    ThroughputSettings {
        default on_demand: OnDemandThroughput = "OnDemandThroughput",
        default warm: WarmThroughput = "WarmThroughput",
    }

    // The settings that a table keeps: members of its creating request, which were checked.
    TableSettings {
        optional stream: StreamViewType as EnabledStream = "StreamSpecification",
        optional encryption: Encryption as Enabled = "SSESpecification",
        default tags: Vec<(String, String)>,
        optional table_class: TableClass as KnownClass,
        group throughput: ThroughputSettings as Flat,
        optional resource_policy: String,
    }
}

impl Field for Encryption {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "SSESpecification",
        members: &[
            Member::new("Enabled", Shape::Boolean),
            Member::new("SSEType", Shape::String).rules(&[Rule::OneOf(&["AES256", "KMS"])]),
            Member::new("KMSMasterKeyId", Shape::String),
        ],
    });

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(Members::of(json).map(encryption_of).transpose()?)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        self.enabled.write(object.member("Enabled"));
        if self.enabled {
            object.text("SSEType", "KMS");
            object.text_if("KMSMasterKeyId", self.kms_master_key_id.as_ref());
        }
        object.end();
    }
}

/// A tag: key and value.
impl Field for (String, String) {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "Tag",
        members: &[
            Member::new("Key", Shape::String)
                .required()
                .rules(&[Rule::LengthMin(1), Rule::LengthMax(TAG_KEY_CHARS_MAX)]),
            Member::new("Value", Shape::String)
                .required()
                .rules(&[Rule::LengthMax(TAG_VALUE_CHARS_MAX)]),
        ],
    });

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(Members::of(json).and_then(|tag| tag.owned("Key").zip(tag.owned("Value"))))
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut tag = ObjectWriter::start(out);
        tag.text("Key", &self.0);
        tag.text("Value", &self.1);
        tag.end();
    }
}

forms! {
    /// A table class that exists.
    KnownClass of TableClass, Shape::String, &[], |json, _| {
        Ok(json.as_str().map(|text| TableClass::parse(text).ok_or(SchemaError::TableClass)).transpose()?)
    };
    /// Encryption that is on.
    Enabled of Encryption, Encryption::SHAPE, &[], |json, sender| {
        Ok(Encryption::read(json, sender)?.filter(|encryption| encryption.enabled))
    };
}

/// The view type of a stream that is enabled.
#[derive(Debug)]
pub struct EnabledStream;

impl Form<StreamViewType> for EnabledStream {
    const SHAPE: Shape = StreamSpecification::SHAPE;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<StreamViewType>, WireError> {
        let stream = StreamSpecification::read(json, sender)?;
        Ok(stream
            .filter(|stream| stream.enabled)
            .and_then(|stream| stream.view_type))
    }

    fn write(value: &StreamViewType, out: &mut Vec<u8>) {
        StreamSpecification {
            enabled: true,
            view_type: Some(*value),
        }
        .write(out);
    }
}

pub(super) const STREAM_SPECIFICATION: Member =
    member::<StreamSpecification, Plain>("StreamSpecification");
pub(super) const SSE_SPECIFICATION: Member = member::<Encryption, Plain>("SSESpecification");
pub(super) const TAGS: Member = member::<Vec<(String, String)>, Plain>("Tags");
pub(super) const TABLE_CLASS: Member = member::<TableClass, KnownClass>("TableClass");
pub(super) const WARM_THROUGHPUT: Member = member::<WarmThroughput, Plain>("WarmThroughput");
pub(super) const ON_DEMAND_THROUGHPUT: Member =
    member::<OnDemandThroughput, Plain>("OnDemandThroughput");

/// The list of indexes with settings of their own.
const INDEXES: &str = "GlobalSecondaryIndexes";

/// Makes the checks 21 to 26 of docs/dynamodb.md 11.1.
pub fn check(members: Members<'_>, billing_mode: BillingMode) -> Result<(), WireError> {
    check_on_demand(members, None, billing_mode)?;
    for index in global_indexes(members) {
        check_on_demand(index, index.string("IndexName"), billing_mode)?;
    }
    // Only now: a maximum out of bounds, of an index too, is reported before any warm throughput.
    check_warm(members, None, billing_mode)?;
    for index in global_indexes(members) {
        check_warm(index, index.string("IndexName"), billing_mode)?;
    }
    check_stream(members)?;
    encryption(members)?;
    optional::<TableClass, KnownClass>(members, "TableClass", Sender::Client)?;
    check_tags(members)?;
    members
        .string("ResourcePolicy")
        .map_or(Ok(()), |policy| Ok(check_policy(policy)?))
}

fn check_on_demand(
    members: Members<'_>,
    index: Option<&str>,
    billing_mode: BillingMode,
) -> Result<(), WireError> {
    let Some(throughput) = members.structure("OnDemandThroughput") else {
        return Ok(());
    };
    for member in ["MaxReadRequestUnits", "MaxWriteRequestUnits"] {
        let Some(units) = throughput.integer(member) else {
            continue;
        };
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

/// Checks that warm throughput is not below the initial one of the table or index.
fn check_warm(
    members: Members<'_>,
    index: Option<&str>,
    billing_mode: BillingMode,
) -> Result<(), WireError> {
    let Some(warm) = members.structure("WarmThroughput") else {
        return Ok(());
    };
    let provisioned = |member: &str| {
        members
            .structure("ProvisionedThroughput")
            .and_then(|units| units.integer(member))
    };
    let (read, write) = match billing_mode {
        BillingMode::PayPerRequest => {
            let initial =
                |units: u64| (Some(units.cast_signed()), "initial throughput for OnDemand");
            (
                initial(ON_DEMAND_WARM.read_capacity_units),
                initial(ON_DEMAND_WARM.write_capacity_units),
            )
        }
        BillingMode::Provisioned => (
            (
                provisioned("ReadCapacityUnits"),
                "ReadCapacityUnits of ProvisionedThroughput",
            ),
            (
                provisioned("WriteCapacityUnits"),
                "WriteCapacityUnits of ProvisionedThroughput",
            ),
        ),
    };
    for (member, (initial, than)) in [("ReadUnitsPerSecond", read), ("WriteUnitsPerSecond", write)]
    {
        if warm
            .integer(member)
            .zip(initial)
            .is_some_and(|(asked, initial)| asked < initial)
        {
            let of = index.map_or_else(|| "table".to_owned(), |name| format!("index : {name}"));
            return Err(SchemaError::WarmBelowInitial { member, of, than }.into());
        }
    }
    Ok(())
}

fn check_stream(members: Members<'_>) -> Result<(), WireError> {
    let Some(stream) = members.structure("StreamSpecification") else {
        return Ok(());
    };
    match (
        stream.boolean("StreamEnabled"),
        stream.has("StreamViewType"),
    ) {
        (Some(true), false) => Err(SchemaError::StreamViewTypeMissing.into()),
        (Some(false), true) => Err(SchemaError::StreamViewTypeUnwanted.into()),
        _ => Ok(()),
    }
}

/// Reads `SSESpecification`, if present.
///
/// # Errors
/// [`SchemaError`] for members that exclude each other.
pub fn encryption(members: Members<'_>) -> Result<Option<Encryption>, SchemaError> {
    members
        .structure("SSESpecification")
        .map(encryption_of)
        .transpose()
}

fn encryption_of(sse: Members<'_>) -> Result<Encryption, SchemaError> {
    let enabled = sse.boolean("Enabled").unwrap_or(false);
    if let (false, Some(member)) = (
        enabled,
        ["SSEType", "KMSMasterKeyId"]
            .into_iter()
            .find(|member| sse.has(member)),
    ) {
        return Err(SchemaError::EncryptionOff(member));
    }
    if sse.string("SSEType") == Some("AES256") {
        return Err(SchemaError::EncryptionType);
    }
    if sse.has("KMSMasterKeyId") && sse.string("SSEType") != Some("KMS") {
        return Err(SchemaError::EncryptionKeyWithoutKms);
    }
    Ok(Encryption {
        enabled,
        kms_master_key_id: sse.owned("KMSMasterKeyId"),
    })
}

pub(super) fn check_tags(members: Members<'_>) -> Result<(), WireError> {
    let tags = members.list("Tags").unwrap_or_default();
    if tags.len() > TAGS_MAX {
        return Err(SchemaError::TooManyTags.into());
    }
    let mut seen: Vec<&str> = Vec::new();
    for tag in tags.filter_map(Members::of) {
        let (key, value) = (
            tag.string("Key").unwrap_or_default(),
            tag.string("Value").unwrap_or_default(),
        );
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

/// Checks that a policy can be kept: JSON, not too large.
pub(super) fn check_policy(policy: &str) -> Result<(), ResourceError> {
    if policy.len() > POLICY_BYTES_MAX {
        return Err(ResourceError::PolicyTooLarge);
    }
    match serde_json::from_str::<Value>(policy) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(ResourceError::PolicyNotJson),
    }
}

/// True for letters and digits of any script, blanks, and a few signs.
fn is_tag_character(character: char) -> bool {
    character.is_alphanumeric() || character.is_whitespace() || "+-=._:/@".contains(character)
}

fn global_indexes<'a>(members: Members<'a>) -> impl Iterator<Item = Members<'a>> {
    members
        .list(INDEXES)
        .unwrap_or_default()
        .filter_map(Members::of)
}

/// Reads the settings of a table, or of a global index, as a service or an earlier version wrote
/// them.
///
/// # Errors
/// [`Error::Remote`] if they are malformed.
pub fn settings<T: Declared>(members: Members<'_>) -> Result<T, Error> {
    T::read_members(members, None, Sender::Service).map_err(response::from_wire_error)
}

/// Reads `KeySchema` of a response; empty if absent.
///
/// # Errors
/// [`Error::Remote`] if it is malformed.
pub fn key_schema(members: Members<'_>) -> Result<Vec<KeySchemaElement>, Error> {
    optional::<_, Plain>(members, "KeySchema", Sender::Service)
        .map(Option::unwrap_or_default)
        .map_err(response::from_wire_error)
}

/// Reads `ProvisionedThroughput` of a response, if present.
///
/// # Errors
/// [`Error::Remote`] if it is malformed.
pub fn throughput(members: Members<'_>) -> Result<Option<ProvisionedThroughput>, Error> {
    optional::<_, Plain>(members, "ProvisionedThroughput", Sender::Service)
        .map_err(response::from_wire_error)
}

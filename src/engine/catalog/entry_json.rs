//! The stored form of a catalog entry: one JSON object, its member `v` the version of the form.
//!
//! ```text
//! {"v":2,"name":…,"table_id":…,"created_ms":…,"status":"ACTIVE","source":1,
//!  "key":{"partition":["pk","S"],"sort":["sk","N"]},"billing_mode":"PROVISIONED","throughput":[5,5],
//!  "deletion_protection":false,"settings":{…},
//!  "indexes":[{"name":…,"kind":"GLOBAL","source":2,"partition":[["a","S"]],"sort":[],"projection":"ALL","throughput":[5,5]}]}
//! ```
//! `sort` and `throughput` are null when there is none; `projection` is `ALL`, `KEYS_ONLY` or a list of names. Members that only a table
//! with a past has:
//! ```text
//! "stream":{"id":3,"label":…,"view_type":"KEYS_ONLY","enabled":true}
//! "time_to_live":{"attribute":…,"list":4,"built":true,"changed_ms":…}      list is null when it is disabled
//! ```
//! "status_ends_ms":1
//! Version 1 had `opaque` instead of `settings`: members of CreateTable as their JSON text.
//! `control` and `index_life`, only when there is something in them, are what `control_json` and `index_life` say.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::control_json;
use super::entry::{ExpiryList, TableEntry, TableStream, TimeToLive};
use super::index_life::IndexLife;
use crate::codec::json::document::Document;
use crate::codec::wire::shape::Members;
use crate::codec::wire::table_settings;
use crate::engine::base::keys::SourceId;
use crate::model::api::{StreamViewType, TableControl, TableStatus};
use crate::model::error::StoreError;
use crate::model::schema::{BillingMode, KeyAttributeType, ProvisionedThroughput};
use crate::model::settings::ThroughputSettings;
use crate::model::{IndexKind, IndexName, IndexSchema, KeyAttribute, KeySchema, Projection, TableName, TableSchema, TableSettings};

const VERSION: u64 = 2;

/// The stored bytes of an entry.
#[must_use]
pub fn encode(entry: &TableEntry) -> Vec<u8> {
    to_value(entry).to_string().into_bytes()
}

/// The stored form of an entry as a value.
#[must_use]
pub fn to_value(entry: &TableEntry) -> Value {
    let schema = &entry.schema;
    let indexes: Vec<Value> = entry.indexes().map(|(index, source)| index_value(index, source)).collect();
    let mut value = json!({
        "v": VERSION,
        "name": schema.name.as_str(),
        "table_id": entry.table_id,
        "created_ms": entry.created_ms,
        "status": status_text(entry.status),
        "source": entry.source.0,
        "key": {"partition": key_value(&schema.key.partition), "sort": schema.key.sort.as_ref().map(key_value)},
        "billing_mode": billing_text(schema.billing_mode),
        "throughput": schema.throughput.map(throughput_value),
        "deletion_protection": schema.deletion_protection,
        "settings": schema.settings,
        "indexes": indexes,
    });
    if let Some(stream) = &entry.stream {
        value["stream"] = stream_value(stream);
    }
    if let Some(time_to_live) = &entry.time_to_live {
        value["time_to_live"] = time_to_live_value(time_to_live);
    }
    if let (Some(control), Some(members)) = (control_json::encode(&entry.control), value.as_object_mut()) {
        members.insert("control".to_owned(), control);
    }
    if let Some(life) = entry.index_life.to_value() {
        value["index_life"] = life;
    }
    if let Some(end) = entry.status_ends_ms {
        value["status_ends_ms"] = json!(end);
    }
    value
}

fn stream_value(stream: &TableStream) -> Value {
    let (id, view_type) = (stream.id.0, stream.view_type.text());
    json!({"id": id, "label": stream.label, "view_type": view_type, "enabled": stream.is_enabled})
}

fn time_to_live_value(time_to_live: &TimeToLive) -> Value {
    json!({
        "attribute": time_to_live.attribute,
        "list": time_to_live.list.map(|list| list.id.0),
        "built": time_to_live.list.is_some_and(|list| list.is_built),
        "changed_ms": time_to_live.changed_ms,
    })
}

/// # Errors
/// `Corrupt` when the bytes are no entry, `Format` when a newer version wrote them.
pub fn decode(bytes: &[u8]) -> Result<TableEntry, StoreError> {
    of_value(&serde_json::from_slice(bytes).map_err(|_| damaged())?)
}

/// # Errors
/// As [`decode`].
pub fn of_value(value: &Value) -> Result<TableEntry, StoreError> {
    match value.get("v").and_then(Value::as_u64) {
        Some(1..=VERSION) => decode_v1(value).ok_or_else(damaged),
        Some(newer) => Err(StoreError::Format(u8::try_from(newer).unwrap_or(u8::MAX))),
        None => Err(damaged()),
    }
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a catalog entry")
}

pub(super) fn index_value(index: &IndexSchema, source: SourceId) -> Value {
    let projection = match &index.projection {
        Projection::All => json!("ALL"),
        Projection::KeysOnly => json!("KEYS_ONLY"),
        Projection::Include(names) => json!(names),
    };
    let keys = |attributes: &[KeyAttribute]| -> Vec<Value> { attributes.iter().map(key_value).collect() };
    json!({
        "name": index.name.as_str(),
        "kind": match index.kind { IndexKind::Global => "GLOBAL", IndexKind::Local => "LOCAL" },
        "source": source.0,
        "partition": keys(&index.partition),
        "sort": keys(&index.sort),
        "projection": projection,
        "throughput": index.throughput.map(throughput_value),
        "settings": index.settings,
    })
}

fn key_value(attribute: &KeyAttribute) -> Value {
    json!([attribute.name, attribute.attribute_type.as_attribute_type().tag()])
}

fn throughput_value(throughput: ProvisionedThroughput) -> Value {
    json!([throughput.read_capacity_units, throughput.write_capacity_units])
}

fn status_text(status: TableStatus) -> &'static str {
    match status {
        TableStatus::Creating => "CREATING",
        TableStatus::Active => "ACTIVE",
        TableStatus::Deleting => "DELETING",
        TableStatus::Updating => "UPDATING",
    }
}

fn billing_text(mode: BillingMode) -> &'static str {
    match mode {
        BillingMode::Provisioned => "PROVISIONED",
        BillingMode::PayPerRequest => "PAY_PER_REQUEST",
    }
}

fn decode_v1(value: &Value) -> Option<TableEntry> {
    let mut indexes = Vec::new();
    let mut index_sources = Vec::new();
    for index in value.get("indexes")?.as_array()? {
        indexes.push(index_of(index)?);
        index_sources.push(source_of(index)?);
    }
    let key = value.get("key")?;
    let schema = TableSchema {
        name: TableName::new(value.get("name")?.as_str()?).ok()?,
        key: KeySchema { partition: key_of(key.get("partition")?)?, sort: optional(key.get("sort")?, key_of)? },
        billing_mode: match value.get("billing_mode")?.as_str()? {
            "PROVISIONED" => BillingMode::Provisioned,
            "PAY_PER_REQUEST" => BillingMode::PayPerRequest,
            _ => return None,
        },
        throughput: optional(value.get("throughput")?, throughput_of)?,
        deletion_protection: value.get("deletion_protection")?.as_bool()?,
        settings: match value.get("settings") {
            Some(settings) => TableSettings::deserialize(settings).ok()?,
            None => first_settings(value.get("opaque")?, &mut indexes)?,
        },
        indexes,
    };
    Some(TableEntry {
        schema: Arc::new(schema),
        source: source_of(value)?,
        index_sources,
        status: match value.get("status")?.as_str()? {
            "CREATING" => TableStatus::Creating,
            "ACTIVE" => TableStatus::Active,
            "DELETING" => TableStatus::Deleting,
            "UPDATING" => TableStatus::Updating,
            _ => return None,
        },
        table_id: value.get("table_id")?.as_str()?.to_owned(),
        created_ms: value.get("created_ms")?.as_u64()?,
        stream: optional(value.get("stream").unwrap_or(&Value::Null), stream_of)?,
        time_to_live: optional(value.get("time_to_live").unwrap_or(&Value::Null), time_to_live_of)?,
        control: value.get("control").map_or_else(|| Some(TableControl::default()), control_json::decode)?,
        status_ends_ms: value.get("status_ends_ms").and_then(Value::as_u64),
        index_life: value.get("index_life").map_or_else(|| Some(IndexLife::default()), IndexLife::of_value)?,
    })
}

fn stream_of(value: &Value) -> Option<TableStream> {
    Some(TableStream {
        id: id_of(value.get("id")?)?,
        label: value.get("label")?.as_str()?.to_owned(),
        view_type: StreamViewType::of_text(value.get("view_type")?.as_str()?)?,
        is_enabled: value.get("enabled")?.as_bool()?,
    })
}

fn time_to_live_of(value: &Value) -> Option<TimeToLive> {
    let is_built = value.get("built")?.as_bool()?;
    Some(TimeToLive {
        attribute: value.get("attribute")?.as_str()?.to_owned(),
        list: optional(value.get("list")?, id_of)?.map(|id| ExpiryList { id, is_built }),
        changed_ms: value.get("changed_ms")?.as_u64()?,
    })
}

pub(super) fn index_of(value: &Value) -> Option<IndexSchema> {
    let keys = |member: &str| value.get(member)?.as_array()?.iter().map(key_of).collect::<Option<Vec<_>>>();
    let projection = match value.get("projection")? {
        Value::String(text) if text == "ALL" => Projection::All,
        Value::String(text) if text == "KEYS_ONLY" => Projection::KeysOnly,
        Value::Array(names) => {
            Projection::Include(names.iter().map(|name| Some(name.as_str()?.to_owned())).collect::<Option<_>>()?)
        }
        _ => return None,
    };
    Some(IndexSchema {
        name: IndexName::new(value.get("name")?.as_str()?).ok()?,
        kind: match value.get("kind")?.as_str()? {
            "GLOBAL" => IndexKind::Global,
            "LOCAL" => IndexKind::Local,
            _ => return None,
        },
        partition: keys("partition")?,
        sort: keys("sort")?,
        projection,
        throughput: optional(value.get("throughput")?, throughput_of)?,
        settings: value.get("settings").map_or(Ok(ThroughputSettings::default()), ThroughputSettings::deserialize).ok()?,
    })
}

/// The settings of version 1, which kept members of CreateTable as their JSON text by name.
fn first_settings(texts: &Value, indexes: &mut [IndexSchema]) -> Option<TableSettings> {
    let member = |(name, text): (&String, &Value)| Some((name.clone(), serde_json::from_str(text.as_str()?).ok()?));
    let members: Value = texts.as_object()?.iter().map(member).collect::<Option<Map<_, _>>>()?.into();
    for index in indexes {
        if let Some(kept) = members.get("GlobalSecondaryIndexes").and_then(|kept| kept.get(index.name.as_str())) {
            index.settings = table_settings::of_index(Members::of(Document::of(kept).root())?);
        }
    }
    Some(table_settings::read(Members::of(Document::of(&members).root())?))
}

/// `null` as none, anything else through `decode`.
fn optional<T>(value: &Value, decode: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if value.is_null() { Some(None) } else { decode(value).map(Some) }
}

pub(super) fn source_of(value: &Value) -> Option<SourceId> {
    id_of(value.get("source")?)
}

fn id_of(value: &Value) -> Option<SourceId> {
    Some(SourceId(u32::try_from(value.as_u64()?).ok()?))
}

fn key_of(value: &Value) -> Option<KeyAttribute> {
    let attribute_type = match value.get(1)?.as_str()? {
        "S" => KeyAttributeType::S,
        "N" => KeyAttributeType::N,
        "B" => KeyAttributeType::B,
        _ => return None,
    };
    Some(KeyAttribute { name: value.get(0)?.as_str()?.to_owned(), attribute_type })
}

fn throughput_of(value: &Value) -> Option<ProvisionedThroughput> {
    Some(ProvisionedThroughput { read_capacity_units: value.get(0)?.as_u64()?, write_capacity_units: value.get(1)?.as_u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: &str, attribute_type: KeyAttributeType) -> KeyAttribute {
        KeyAttribute { name: name.into(), attribute_type }
    }

    fn example() -> TableEntry {
        let index = |name: &str, kind, projection, throughput| IndexSchema {
            name: IndexName::new(name).unwrap(),
            kind,
            partition: vec![attribute("pk", KeyAttributeType::S)],
            sort: vec![attribute("b", KeyAttributeType::B)],
            projection,
            throughput,
            settings: ThroughputSettings::default(),
        };
        let units = Some(ProvisionedThroughput { read_capacity_units: 1, write_capacity_units: 2 });
        TableEntry {
            schema: Arc::new(TableSchema {
                name: TableName::new("abc").unwrap(),
                key: KeySchema {
                    partition: attribute("pk", KeyAttributeType::S),
                    sort: Some(attribute("sk", KeyAttributeType::N)),
                },
                indexes: vec![
                    index("lll", IndexKind::Local, Projection::Include(vec!["x".into()]), None),
                    index("ggg", IndexKind::Global, Projection::KeysOnly, units),
                    index("hhh", IndexKind::Global, Projection::All, units),
                ],
                billing_mode: BillingMode::Provisioned,
                throughput: units,
                deletion_protection: true,
                settings: TableSettings { tags: vec![("a".into(), "b".into())], ..TableSettings::default() },
            }),
            source: SourceId(4),
            index_sources: vec![SourceId(5), SourceId(6), SourceId(7)],
            status: TableStatus::Active,
            table_id: "id".into(),
            created_ms: 17,
            stream: None,
            time_to_live: None,
            control: TableControl::default(),
            index_life: IndexLife::default(),
            status_ends_ms: None,
        }
    }

    fn with_past() -> TableEntry {
        let view_type = StreamViewType::NewImage;
        let stream = TableStream { id: SourceId(8), label: "l".into(), view_type, is_enabled: true };
        let list = Some(ExpiryList { id: SourceId(9), is_built: false });
        let time_to_live = TimeToLive { attribute: "t".into(), list, changed_ms: 18 };
        TableEntry { stream: Some(stream), time_to_live: Some(time_to_live), ..example() }
    }

    #[test]
    fn an_entry_round_trips() {
        assert_eq!(decode(&encode(&example())), Ok(example()));
        let entry = with_past();
        assert_eq!(decode(&encode(&entry)), Ok(entry.clone()));
        let text = String::from_utf8(encode(&entry)).unwrap();
        let end = concat!(
            r#","stream":{"id":8,"label":"l","view_type":"NEW_IMAGE","enabled":true},"#,
            r#""time_to_live":{"attribute":"t","list":9,"built":false,"changed_ms":18}}"#
        );
        assert!(text.ends_with(end), "{text}");
        let off = TimeToLive { attribute: "t".into(), list: None, changed_ms: 18 };
        let entry = TableEntry { time_to_live: Some(off), ..entry };
        assert_eq!(decode(&encode(&entry)), Ok(entry));
    }

    #[test]
    fn the_stored_form_is_fixed() {
        let mut entry = example();
        entry.index_sources.truncate(1);
        let schema = Arc::make_mut(&mut entry.schema);
        schema.indexes.truncate(1);
        schema.throughput = None;
        schema.billing_mode = BillingMode::PayPerRequest;
        let text = concat!(
            r#"{"v":2,"name":"abc","table_id":"id","created_ms":17,"status":"ACTIVE","source":4,"#,
            r#""key":{"partition":["pk","S"],"sort":["sk","N"]},"billing_mode":"PAY_PER_REQUEST","throughput":null,"#,
            r#""deletion_protection":true,"settings":{"stream":null,"encryption":null,"table_class":null,"tags":[["a","b"]],"#,
            r#""resource_policy":null,"throughput":{"on_demand":{"max_read_request_units":null,"max_write_request_units":null},"#,
            r#""warm":{"read_units_per_second":null,"write_units_per_second":null}}},"#,
            r#""indexes":[{"name":"lll","kind":"LOCAL","source":5,"partition":[["pk","S"]],"sort":[["b","B"]],"#,
            r#""projection":["x"],"throughput":null,"settings":{"on_demand":{"max_read_request_units":null,"#,
            r#""max_write_request_units":null},"warm":{"read_units_per_second":null,"write_units_per_second":null}}}]}"#
        );
        assert_eq!(String::from_utf8(encode(&entry)).unwrap(), text);
    }

    #[test]
    fn damage_and_newer_versions_are_told_apart() {
        let cases: &[(&[u8], StoreError)] =
            &[(b"", damaged()), (b"{}", damaged()), (br#"{"v":1}"#, damaged()), (br#"{"v":3}"#, StoreError::Format(3))];
        for (bytes, expected) in cases {
            assert_eq!(decode(bytes), Err(expected.clone()));
        }
    }
}

//! A catalog entry as earlier versions stored it, brought to today's members.
//!
//! Version 1 had arrays where today's form has objects, which reading takes for the same, and beside that:
//! ```text
//! "indexes":[{…,"source":5,"projection":"ALL" or names}]   an index's source with its definition
//! "opaque":{"Tags":"[…]","GlobalSecondaryIndexes":"{…}"}   settings as JSON texts of CreateTable's members, of indexes by name
//! "time_to_live":{…,"list":4 or null,"built":true}
//! "control":{"restored":[…,code,message],"queries":{name:["link" or "request",text,modified]}}
//! "index_life":{"building":{…,"allocated_ms":1 or null},"leaving":{"index":{…,"source":5}}}
//! ```

use serde_json::{Map, Value, json};

use crate::codec::json::document::Document;
use crate::codec::wire::shape::Members;
use crate::codec::wire::table_settings;

/// `None` when it is no entry of version 1.
pub(super) fn of_version_1(mut entry: Value) -> Option<Value> {
    let members = entry.as_object_mut()?;
    let texts = members.remove("opaque")?;
    let kept = |(name, text): (&String, &Value)| Some((name.clone(), serde_json::from_str(text.as_str()?).ok()?));
    let kept: Value = texts.as_object()?.iter().map(kept).collect::<Option<Map<_, _>>>()?.into();
    members.insert("settings".to_owned(), settings(&kept, |members| serde_json::to_value(table_settings::read(members)).ok())?);
    let mut sources = Vec::new();
    for index in members.get_mut("indexes")?.as_array_mut()?.iter_mut().filter_map(Value::as_object_mut) {
        sources.extend(index_of_version_1(index));
        let of_index = index.get("name").and_then(Value::as_str).and_then(|name| kept.get("GlobalSecondaryIndexes")?.get(name));
        if let Some(kept) = of_index {
            let of_index = settings(kept, |members| serde_json::to_value(table_settings::of_index(members)).ok())?;
            index.insert("settings".to_owned(), of_index);
        }
    }
    members.insert("index_sources".to_owned(), sources.into());
    let mut change = |member: &str, change: &dyn Fn(&mut Map<String, Value>)| {
        members.get_mut(member).and_then(Value::as_object_mut).into_iter().for_each(change);
    };
    change("time_to_live", &time_to_live);
    change("control", &control);
    change("index_life", &index_life);
    Some(entry)
}

/// What a version that kept members of requests means by them is what a request means.
fn settings(kept: &Value, read: impl Fn(Members<'_>) -> Option<Value>) -> Option<Value> {
    Members::of(Document::of(kept).root()).and_then(read)
}

/// The index's source.
fn index_of_version_1(index: &mut Map<String, Value>) -> Option<Value> {
    if let Some(projection @ Value::Array(_)) = index.get_mut("projection") {
        *projection = json!({ "INCLUDE": projection.take() });
    }
    index.remove("source")
}

fn time_to_live(of: &mut Map<String, Value>) {
    if let (Some(id @ Value::Number(_)), Some(is_built)) = (of.remove("list"), of.get("built")) {
        of.insert("list".to_owned(), json!([id, is_built]));
    }
}

fn control(of: &mut Map<String, Value>) {
    if let Some(Value::Array(restored)) = of.get_mut("restored") {
        let failure = restored.split_off(restored.len().min(4));
        restored.push(if failure.iter().all(Value::is_string) && failure.len() == 2 { failure.into() } else { Value::Null });
    }
    for query in of.get_mut("queries").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some([kind, text, modified_ms]) = query.as_array().map(Vec::as_slice) {
            *query = json!([{ (kind.as_str().unwrap_or_default()): text }, modified_ms]);
        }
    }
}

fn index_life(of: &mut Map<String, Value>) {
    if let Some(building) = of.get_mut("building").and_then(Value::as_object_mut) {
        let until = building.remove("allocated_ms").filter(|until| !until.is_null());
        let phase = until.map_or_else(|| json!("backfill"), |until_ms| json!({ "allocation": { "until_ms": until_ms } }));
        building.insert("phase".to_owned(), phase);
    }
    if let Some(leaving) = of.get_mut("leaving").and_then(Value::as_object_mut) {
        let source = leaving.get_mut("index").and_then(Value::as_object_mut).and_then(index_of_version_1);
        leaving.extend(source.map(|source| ("source".to_owned(), source)));
    }
}

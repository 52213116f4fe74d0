//! From the definition that a table has and the one that was written: the API's requests that lead from one to the other, in order,
//! and what cannot be changed (docs/filesystem.md 3).
//!
//! Members that `schema.json` always shows are unchanged when left out; those that it shows only when they are set are unset. But an
//! index left out is an error and never a drop, and warm throughput only grows.

use crate::codec::wire::Declared;
use crate::fs::prelude::*;
use crate::model::api::CreateTableRequest;
use serde_json::Map;
use std::collections::{BTreeMap, BTreeSet};

const GLOBAL: &str = "GlobalSecondaryIndexes";
const LOCAL: &str = "LocalSecondaryIndexes";
const DEFINITIONS: &str = "AttributeDefinitions";
const THROUGHPUT: &str = "ProvisionedThroughput";
const ON_DEMAND: &str = "OnDemandThroughput";
const WARM: &str = "WarmThroughput";
/// Not CreateTable's but CloudFormation's: shown only while it is enabled.
pub const TIME_TO_LIVE: &str = "TimeToLiveSpecification";

/// A request to the API.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRequest {
    /// `UpdateTable`
    pub operation: &'static str,
    pub request: Value,
    pub reach: Reach,
    /// What follows from it, a sentence for people.
    pub effect: String,
}

/// What a step looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only the table's definition.
    Settings,
    /// Every item.
    EveryItem,
}

/// A member that cannot be changed as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// `KeySchema`
    pub member: String,
    pub why: String,
    pub hint: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.member, self.why, self.hint)
    }
}

/// The way from one definition to another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaChange {
    pub steps: Vec<PlannedRequest>,
    /// When there is any, nothing is done.
    pub refusals: Vec<Refusal>,
}

/// Members that are always shown: left out, they stay.
const ALWAYS_SHOWN: [&str; 2] = ["BillingMode", "DeletionProtectionEnabled"];

/// The written definition with what it leaves out and what is not meant to change taken from the stored one.
pub fn complete(stored: &Value, wanted: &mut Map<String, Value>) {
    for member in ALWAYS_SHOWN {
        if let (false, Some(value)) = (wanted.contains_key(member), stored.get(member)) {
            wanted.insert(member.to_owned(), value.clone());
        }
    }
    let provisioned = wanted.get("BillingMode") == Some(&json!("PROVISIONED"));
    match (provisioned, stored.get(THROUGHPUT)) {
        (true, Some(units)) => {
            wanted.entry(THROUGHPUT).or_insert_with(|| units.clone());
        }
        // Only the mode was edited: the units that belong to the old mode go with it.
        (false, Some(units)) if wanted.get(THROUGHPUT) == Some(units) => drop(wanted.remove(THROUGHPUT)),
        _ => {}
    }
    // What was reached is below what is asked for now, and grows with it.
    if wanted.contains_key(WARM) && wanted.get(WARM) == stored.get(WARM) {
        wanted.remove(WARM);
    }
    let known = named(stored, GLOBAL);
    for index in wanted.get_mut(GLOBAL).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        let before = index.get("IndexName").and_then(Value::as_str).and_then(|name| known.get(name));
        let Some(before) = before else { continue };
        if index.contains_key(WARM) && index.get(WARM) == before.get(WARM) {
            index.remove(WARM);
        }
        let Some(units) = before.get(THROUGHPUT) else { continue };
        if provisioned {
            index.entry(THROUGHPUT).or_insert_with(|| units.clone());
        } else if index.get(THROUGHPUT) == Some(units) {
            index.remove(THROUGHPUT);
        }
    }
}

/// How to come from `stored` to `wanted`, both as `schema.json` shows a table; `wanted` was completed and is a well-formed request.
#[must_use]
pub fn change(stored: &Value, wanted: &Value, table_arn: &str) -> SchemaChange {
    let mut differences =
        Differences { stored, wanted, table: wanted.get("TableName").cloned().unwrap_or_default(), out: SchemaChange::default() };
    differences.fixed();
    differences.throughput();
    differences.maxima_and_warmth();
    differences.stream();
    differences.settings();
    differences.resource(table_arn);
    differences.time_to_live();
    differences.new_indexes();
    differences.out
}

struct Differences<'a> {
    stored: &'a Value,
    wanted: &'a Value,
    table: Value,
    out: SchemaChange,
}

/// The objects of a list of indexes by name.
fn named<'a>(definition: &'a Value, list: &str) -> BTreeMap<&'a str, &'a Value> {
    let indexes = definition.get(list).and_then(Value::as_array).into_iter().flatten();
    indexes.filter_map(|index| Some((index.get("IndexName")?.as_str()?, index))).collect()
}

/// Name and type of each definition.
fn definitions(definition: &Value) -> BTreeMap<&str, &Value> {
    let list = definition.get(DEFINITIONS).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|one| Some((one.get("AttributeName")?.as_str()?, one.get("AttributeType")?))).collect()
}

/// The names in a key schema.
fn key_names(holder: &Value) -> BTreeSet<&str> {
    let elements = holder.get("KeySchema").and_then(Value::as_array).into_iter().flatten();
    elements.filter_map(|element| element.get("AttributeName")?.as_str()).collect()
}

/// Type and, in any order, attributes of a projection.
fn projection(index: &Value) -> (Option<&str>, BTreeSet<&str>) {
    let projection = index.get("Projection");
    let names = projection.and_then(|it| it.get("NonKeyAttributes")).and_then(Value::as_array).into_iter().flatten();
    (projection.and_then(|it| it.get("ProjectionType")).and_then(Value::as_str), names.filter_map(Value::as_str).collect())
}

fn is_same_index(a: &Value, b: &Value) -> bool {
    a.get("KeySchema") == b.get("KeySchema") && projection(a) == projection(b)
}

impl Differences<'_> {
    fn refuse(&mut self, member: &str, why: impl Into<String>, hint: impl Into<String>) {
        self.out.refusals.push(Refusal { member: member.to_owned(), why: why.into(), hint: hint.into() });
    }

    fn step(&mut self, operation: &'static str, request: Value, effect: impl Into<String>) {
        self.out.steps.push(PlannedRequest { operation, request, reach: Reach::Settings, effect: effect.into() });
    }

    /// An UpdateTable request of these members.
    fn update(&mut self, members: Map<String, Value>, effect: impl Into<String>) {
        let mut request = Map::from_iter([("TableName".to_owned(), self.table.clone())]);
        request.extend(members);
        self.step("UpdateTable", Value::Object(request), effect);
    }

    fn update_one(&mut self, member: &str, value: Value, effect: impl Into<String>) {
        self.update(Map::from_iter([(member.to_owned(), value)]), effect);
    }

    /// What a table has for ever.
    fn fixed(&mut self) {
        let known: Vec<&str> =
            CreateTableRequest::STRUCTURE.members.iter().map(|member| member.name).chain([TIME_TO_LIVE]).collect();
        for member in self.wanted.as_object().into_iter().flat_map(Map::keys).filter(|name| !known.contains(&name.as_str())) {
            self.refuse(member, "there is no such member", "the members are CreateTable's");
        }
        if self.stored.get("KeySchema") != self.wanted.get("KeySchema") {
            let hint = "make another table and copy the items (tar, cp -r)";
            self.refuse("KeySchema", "the key of a table is fixed when it is created", hint);
        }
        self.fixed_definitions();
        let (stored, wanted) = (named(self.stored, LOCAL), named(self.wanted, LOCAL));
        let is_same = |name: &&str| match (stored.get(name), wanted.get(name)) {
            (Some(before), Some(after)) => is_same_index(before, after),
            _ => false,
        };
        if let Some(name) = stored.keys().chain(wanted.keys()).find(|name| !is_same(name)) {
            let why = format!("LSIs are fixed at creation, and {name} would change");
            self.refuse(LOCAL, why, "make another table with it and copy the items");
        }
        let (stored, wanted) = (named(self.stored, GLOBAL), named(self.wanted, GLOBAL));
        for (name, before) in &stored {
            match wanted.get(name) {
                None => {
                    self.refuse(GLOBAL, format!("{name} is left out, which drops nothing"), format!("to drop it: rmdir gsi/{name}"))
                }
                Some(after) if !is_same_index(before, after) => {
                    let hint = format!("rmdir gsi/{name}, and when it is gone add it with its new definition");
                    self.refuse(GLOBAL, format!("the keys and the projection of {name} are fixed when it is created"), hint);
                }
                Some(_) => {}
            }
        }
    }

    fn fixed_definitions(&mut self) {
        let (stored, wanted) = (definitions(self.stored), definitions(self.wanted));
        for (name, kind) in &stored {
            match wanted.get(name) {
                Some(after) if after == kind => {}
                Some(_) => self.refuse(DEFINITIONS, format!("the type of {name} is fixed while it is a key"), "write its old type"),
                None => self.refuse(DEFINITIONS, format!("{name} is a key and left out"), "write its definition"),
            }
        }
        let known = named(self.stored, GLOBAL);
        let new = named(self.wanted, GLOBAL).into_iter().filter(|(name, _)| !known.contains_key(name));
        let used: BTreeSet<&str> = new.flat_map(|(_, index)| key_names(index)).collect();
        for name in wanted.keys().filter(|name| !stored.contains_key(*name) && !used.contains(*name)) {
            self.refuse(DEFINITIONS, format!("{name} is no key"), "only keys of the table and its indexes have definitions");
        }
    }

    fn is_on_demand(&self) -> bool {
        self.wanted.get("BillingMode") != Some(&json!("PROVISIONED"))
    }

    /// Billing mode and provisioned units, of the table and its indexes in one request.
    fn throughput(&mut self) {
        let changes_mode = self.stored.get("BillingMode") != self.wanted.get("BillingMode");
        let mut members = Map::new();
        if let (true, Some(mode)) = (changes_mode, self.wanted.get("BillingMode")) {
            members.insert("BillingMode".to_owned(), mode.clone());
        }
        let units = self.wanted.get(THROUGHPUT);
        if let Some(units) = units.filter(|units| changes_mode || Some(*units) != self.stored.get(THROUGHPUT)) {
            members.insert(THROUGHPUT.to_owned(), units.clone());
        }
        let before = named(self.stored, GLOBAL);
        let updates: Vec<Value> = named(self.wanted, GLOBAL)
            .into_iter()
            .filter_map(|(name, index)| {
                let units = index.get(THROUGHPUT)?;
                let is_changed = changes_mode || before.get(name)?.get(THROUGHPUT) != Some(units);
                (is_changed && before.contains_key(name)).then(|| json!({ "Update": { "IndexName": name, THROUGHPUT: units } }))
            })
            .collect();
        if !updates.is_empty() {
            members.insert("GlobalSecondaryIndexUpdates".to_owned(), Value::Array(updates));
        }
        if !members.is_empty() {
            self.update(members, "capacity is counted and billed so from then on");
        }
    }

    /// On-demand maxima and warm throughput.
    fn maxima_and_warmth(&mut self) {
        if let (true, Some(maxima)) = (self.is_on_demand(), maxima(self.stored, self.wanted)) {
            self.update_one(ON_DEMAND, maxima, "the maxima hold from then on");
        }
        if let Some(warm) = warmth(self.stored, self.wanted) {
            self.update_one(WARM, warm, "the table is warmed");
        }
        let before = named(self.stored, GLOBAL);
        let mut updates = Vec::new();
        for (name, index) in named(self.wanted, GLOBAL) {
            let Some(before) = before.get(name) else { continue };
            let mut update = Map::new();
            if let (true, Some(maxima)) = (self.is_on_demand(), maxima(before, index)) {
                update.insert(ON_DEMAND.to_owned(), maxima);
            }
            if let Some(warm) = warmth(before, index) {
                update.insert(WARM.to_owned(), warm);
            }
            if !update.is_empty() {
                update.insert("IndexName".to_owned(), json!(name));
                updates.push(json!({ "Update": update }));
            }
        }
        if !updates.is_empty() {
            self.update_one("GlobalSecondaryIndexUpdates", Value::Array(updates), "the indexes' maxima and warmth");
        }
    }

    fn stream(&mut self) {
        let view = |definition: &Value| {
            let stream = definition.get("StreamSpecification")?;
            (stream.get("StreamEnabled") == Some(&json!(true))).then(|| stream.get("StreamViewType").cloned()).flatten()
        };
        let (before, after) = (view(self.stored), view(self.wanted));
        if before == after {
            return;
        }
        if before.is_some() {
            let off = json!({ "StreamEnabled": false });
            self.update_one("StreamSpecification", off, "no more changes are recorded; the records stay for their 24 hours");
        }
        if let Some(view) = after {
            let on = json!({ "StreamEnabled": true, "StreamViewType": view });
            self.update_one("StreamSpecification", on, "changes from then on are recorded, in a new stream");
        }
    }

    /// Encryption, table class, deletion protection: each in a request of its own.
    fn settings(&mut self) {
        let encryption = |definition: &Value| {
            let sse = definition.get("SSESpecification")?;
            (sse.get("Enabled") == Some(&json!(true))).then(|| sse.get("KMSMasterKeyId").cloned())
        };
        let after = encryption(self.wanted);
        if encryption(self.stored) != after {
            let off = json!({ "Enabled": false });
            let sse = after.and_then(|_| self.wanted.get("SSESpecification").cloned()).unwrap_or(off);
            self.update_one("SSESpecification", sse, "kept and shown");
        }
        let class = |definition: &Value| definition.get("TableClass").cloned().unwrap_or_else(|| json!("STANDARD"));
        if class(self.stored) != class(self.wanted) {
            self.update_one("TableClass", class(self.wanted), "kept and shown");
        }
        const PROTECTION: &str = "DeletionProtectionEnabled";
        let is_protected = |definition: &Value| definition.get(PROTECTION) == Some(&json!(true));
        if is_protected(self.stored) != is_protected(self.wanted) {
            let protected = is_protected(self.wanted);
            let effect = if protected { "the table cannot be deleted" } else { "the table can be deleted" };
            self.update_one(PROTECTION, json!(protected), effect);
        }
    }

    /// Tags and the resource policy, which have operations of their own.
    fn resource(&mut self, arn: &str) {
        let tags = |definition: &Value| -> BTreeMap<String, Value> {
            let tags = definition.get("Tags").and_then(Value::as_array).into_iter().flatten();
            tags.filter_map(|tag| Some((tag.get("Key")?.as_str()?.to_owned(), tag.clone()))).collect()
        };
        let (before, after) = (tags(self.stored), tags(self.wanted));
        let gone: Vec<&String> = before.keys().filter(|key| !after.contains_key(*key)).collect();
        if !gone.is_empty() {
            self.step("UntagResource", json!({ "ResourceArn": arn, "TagKeys": gone }), "the tags are removed");
        }
        let set: Vec<&Value> = after.iter().filter(|(key, tag)| before.get(*key) != Some(*tag)).map(|(_, tag)| tag).collect();
        if !set.is_empty() {
            self.step("TagResource", json!({ "ResourceArn": arn, "Tags": set }), "the tags are set");
        }
        match (self.stored.get("ResourcePolicy"), self.wanted.get("ResourcePolicy")) {
            (before, after) if before == after => {}
            (_, Some(policy)) => {
                self.step("PutResourcePolicy", json!({ "ResourceArn": arn, "Policy": policy }), "kept and shown, not enforced");
            }
            (_, None) => self.step("DeleteResourcePolicy", json!({ "ResourceArn": arn }), "the policy is removed"),
        }
    }

    fn time_to_live(&mut self) {
        let (before, after) = (expiry(self.stored), expiry(self.wanted));
        if before == after {
            return;
        }
        if let Some(attribute) = before {
            self.expire(attribute, false, "items expire no more");
        }
        if let Some(attribute) = after {
            self.expire(attribute, true, "items whose time has passed are deleted");
        }
    }

    fn expire(&mut self, attribute: String, enabled: bool, effect: &str) {
        let specification = json!({ "Enabled": enabled, "AttributeName": attribute });
        let request = json!({ "TableName": self.table, TIME_TO_LIVE: specification });
        let reach = if enabled { Reach::EveryItem } else { Reach::Settings };
        self.out.steps.push(PlannedRequest { operation: "UpdateTimeToLive", request, reach, effect: effect.to_owned() });
    }

    /// UpdateTable makes one index at a time, in the background, after everything else.
    fn new_indexes(&mut self) {
        let known = named(self.stored, GLOBAL);
        let new: Vec<(&str, &Value)> =
            named(self.wanted, GLOBAL).into_iter().filter(|(name, _)| !known.contains_key(name)).collect();
        if let [_, (name, _), ..] = new.as_slice() {
            let hint = format!("leave {name} out, and add it when gsi/{}/stats.json says ACTIVE", new[0].0);
            return self.refuse(GLOBAL, "one index is made at a time", hint);
        }
        for (name, index) in new {
            let keys = key_names(index);
            let list = self.wanted.get(DEFINITIONS).and_then(Value::as_array).into_iter().flatten();
            let is_key = |one: &&Value| one.get("AttributeName").and_then(Value::as_str).is_some_and(|name| keys.contains(name));
            let definitions: Vec<&Value> = list.filter(is_key).collect();
            let names: Vec<&str> = keys.iter().copied().collect();
            let request = json!({
                "TableName": self.table,
                DEFINITIONS: definitions,
                "GlobalSecondaryIndexUpdates": [{ "Create": index }],
            });
            let effect = format!("gsi/{name} is filled in the background with the items that have {}", names.join(" and "));
            self.out.steps.push(PlannedRequest { operation: "UpdateTable", request, reach: Reach::EveryItem, effect });
        }
    }
}

/// The attribute of an enabled time to live.
#[must_use]
pub fn expiry(definition: &Value) -> Option<String> {
    let specification = definition.get(TIME_TO_LIVE)?;
    let is_enabled = specification.get("Enabled") == Some(&json!(true));
    specification.get("AttributeName")?.as_str().filter(|_| is_enabled).map(str::to_owned)
}

/// The change of on-demand maxima; -1 clears one.
fn maxima(before: &Value, after: &Value) -> Option<Value> {
    let get = |of: &Value, name: &str| {
        of.get(ON_DEMAND).and_then(|units| units.get(name)).and_then(Value::as_i64).filter(|units| *units != -1)
    };
    let mut out = Map::new();
    for name in ["MaxReadRequestUnits", "MaxWriteRequestUnits"] {
        let (old, new) = (get(before, name), get(after, name));
        if old != new {
            out.insert(name.to_owned(), json!(new.unwrap_or(-1)));
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// The change of warm throughput; left out, it stays.
fn warmth(before: &Value, after: &Value) -> Option<Value> {
    let warm = after.get(WARM)?;
    let is_new = |name: &str| warm.get(name).is_some_and(|units| before.get(WARM).and_then(|old| old.get(name)) != Some(units));
    (is_new("ReadUnitsPerSecond") || is_new("WriteUnitsPerSecond")).then(|| warm.clone())
}

#[cfg(test)]
#[path = "schema_change_tests.rs"]
mod tests;

//! The text of a `schema.json` or `schema.plan` and its request. Without a stored definition that
//! is CreateTable. With one it is the API's requests that lead from the stored definition to the
//! written one, in order, and the changes that are refused (docs/filesystem.md 3).
//!
//! Members that `schema.json` always shows are unchanged when left out; members that it shows only
//! when they are set are unset. But an index left out is an error and never a drop, and warm
//! throughput only grows.

use super::{CheckState, Commit, TextCheck, set_name};
use crate::codec::definitions::{self, TIME_TO_LIVE, TableDefinition};
use crate::codec::json::document::Document;
use crate::codec::json::prefix::JsonPrefix;
use crate::codec::wire::{self, Declared};
use crate::fs::{
    path::{GLOBAL_NAME, VECTOR_NAME},
    prelude::*,
};
use crate::model::api::CreateTableRequest;
use crate::model::arn;
use serde_json::Map;
use std::collections::{BTreeMap, BTreeSet};

const GLOBAL: &str = "GlobalSecondaryIndexes";
const LOCAL: &str = "LocalSecondaryIndexes";
const VECTORS: &str = "VectorIndexes";
const INDEX_UPDATES: &str = "GlobalSecondaryIndexUpdates";
const VECTOR_UPDATES: &str = "VectorIndexUpdates";
const DEFINITIONS: &str = "AttributeDefinitions";
const THROUGHPUT: &str = "ProvisionedThroughput";
const ON_DEMAND: &str = "OnDemandThroughput";
const WARM: &str = "WarmThroughput";

/// The indexes that UpdateTable makes and drops.
struct OnlineIndexes {
    /// The member of a definition.
    member: &'static str,
    /// The member of UpdateTable.
    updates: &'static str,
    directory: &'static str,
    /// The members that are fixed when one is created, in words.
    fixed: &'static str,
}

const ONLINE: [OnlineIndexes; 2] = [
    OnlineIndexes {
        member: GLOBAL,
        updates: INDEX_UPDATES,
        directory: GLOBAL_NAME,
        fixed: "the keys and the projection",
    },
    OnlineIndexes {
        member: VECTORS,
        updates: VECTOR_UPDATES,
        directory: VECTOR_NAME,
        fixed: "the vector, the search schema and the projection",
    },
];

/// A request to the API.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRequest {
    /// `UpdateTable`
    pub operation: &'static str,
    pub request: Value,
    /// The effect, a sentence for the user.
    pub effect: String,
}

impl PlannedRequest {
    /// True if it reads every item, and not only the table's definition.
    #[must_use]
    pub fn reads_items(&self) -> bool {
        let makes = |kind: &OnlineIndexes| self.request[kind.updates][0].get("Create").is_some();
        ONLINE.iter().any(makes) || ttl_attribute(&self.request).is_some()
    }
}

/// A member that cannot be changed as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaRefusal {
    /// `KeySchema`
    pub member: String,
    pub reason: String,
    pub hint: String,
}

impl std::fmt::Display for SchemaRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.member, self.reason, self.hint)
    }
}

/// The steps from one definition to another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaChange {
    pub steps: Vec<PlannedRequest>,
    /// With any refusal nothing is done.
    pub refusals: Vec<SchemaRefusal>,
}

/// Members that are always shown: left out, they stay.
const ALWAYS_SHOWN: [&str; 2] = ["BillingMode", "DeletionProtectionEnabled"];

/// Completes the written definition from the stored one: members that it leaves out, and those that
/// are not meant to change.
pub fn fill_defaults(stored: &Value, wanted: &mut Map<String, Value>) {
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
        (false, Some(units)) if wanted.get(THROUGHPUT) == Some(units) => {
            drop(wanted.remove(THROUGHPUT))
        }
        _ => {}
    }
    // An unchanged value is what the table has reached: it may be below the units that are wanted
    // now, and grows with them.
    if wanted.contains_key(WARM) && wanted.get(WARM) == stored.get(WARM) {
        wanted.remove(WARM);
    }
    let known = by_name(stored, GLOBAL);
    for index in wanted
        .get_mut(GLOBAL)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let before = index
            .get("IndexName")
            .and_then(Value::as_str)
            .and_then(|name| known.get(name));
        let Some(before) = before else { continue };
        if index.contains_key(WARM) && index.get(WARM) == before.get(WARM) {
            index.remove(WARM);
        }
        let Some(units) = before.get(THROUGHPUT) else {
            continue;
        };
        if provisioned {
            index.entry(THROUGHPUT).or_insert_with(|| units.clone());
        } else if index.get(THROUGHPUT) == Some(units) {
            index.remove(THROUGHPUT);
        }
    }
}

/// Returns the steps from `stored` to `wanted`, both as `schema.json` shows a table. `wanted` was
/// completed and is a well-formed request.
#[must_use]
pub fn diff_schemas(stored: &Value, wanted: &Value, table_arn: &str) -> SchemaChange {
    debug_assert!(wanted.get("TableName").is_some_and(Value::is_string));
    let mut differences = SchemaDiff {
        stored,
        wanted,
        table: wanted.get("TableName").cloned().unwrap_or_default(),
        out: SchemaChange::default(),
    };
    differences.check_fixed();
    differences.throughput();
    differences.on_demand_and_warm();
    differences.stream();
    differences.settings();
    differences.tags_and_policy(table_arn);
    differences.time_to_live();
    differences.new_indexes();
    differences.out
}

struct SchemaDiff<'a> {
    stored: &'a Value,
    wanted: &'a Value,
    table: Value,
    out: SchemaChange,
}

/// Returns the elements of a list, none if it does not exist.
fn list<'a>(definition: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    definition[member].as_array().into_iter().flatten()
}

/// Returns the objects of a list of indexes by name.
fn by_name<'a>(definition: &'a Value, member: &str) -> BTreeMap<&'a str, &'a Value> {
    list(definition, member)
        .filter_map(|index| Some((index["IndexName"].as_str()?, index)))
        .collect()
}

/// Returns the wanted indexes that are not stored, each with its kind and name.
fn new_indexes<'a>(
    stored: &'a Value,
    wanted: &'a Value,
) -> Vec<(&'static OnlineIndexes, &'a str, &'a Value)> {
    let of_kind = |kind: &'static OnlineIndexes| {
        let known = by_name(stored, kind.member);
        let mut all = by_name(wanted, kind.member);
        all.retain(|name, _| !known.contains_key(name));
        all.into_iter()
            .map(move |(name, index)| (kind, name, index))
    };
    ONLINE.iter().flat_map(of_kind).collect()
}

/// Returns the name and type of each attribute definition.
fn definitions(definition: &Value) -> BTreeMap<&str, &Value> {
    list(definition, DEFINITIONS)
        .filter_map(|one| Some((one["AttributeName"].as_str()?, one.get("AttributeType")?)))
        .collect()
}

/// Returns the names in a key schema and a search schema.
fn key_names(holder: &Value) -> BTreeSet<&str> {
    list(holder, "KeySchema")
        .chain(list(holder, "SearchSchema"))
        .filter_map(|element| element["AttributeName"].as_str())
        .collect()
}

/// Returns the names of the attributes without which an item is not in an index.
fn required_names(index: &Value) -> Vec<&str> {
    let filters = list(index, "SearchSchema");
    let partition = filters.filter(|element| element["SearchSchemaElementType"] == "HASH");
    list(index, "KeySchema")
        .chain(partition)
        .chain(index.get("VectorAttribute"))
        .filter_map(|element| element["AttributeName"].as_str())
        .collect()
}

/// Returns the type of a projection and, in any order, its attributes.
fn projection(index: &Value) -> (Option<&str>, BTreeSet<&str>) {
    let projection = &index["Projection"];
    (
        projection["ProjectionType"].as_str(),
        list(projection, "NonKeyAttributes")
            .filter_map(Value::as_str)
            .collect(),
    )
}

/// The members of an index that are fixed when it is created, beside its projection.
const FIXED: [&str; 5] = [
    "KeySchema",
    "SearchSchema",
    "VectorAttribute",
    "Dimensions",
    "DistanceFunction",
];

fn is_same_index(a: &Value, b: &Value) -> bool {
    FIXED.iter().all(|member| a.get(member) == b.get(member)) && projection(a) == projection(b)
}

impl SchemaDiff<'_> {
    fn refuse(&mut self, member: &str, reason: impl Into<String>, hint: impl Into<String>) {
        self.out.refusals.push(SchemaRefusal {
            member: member.to_owned(),
            reason: reason.into(),
            hint: hint.into(),
        });
    }

    fn step(&mut self, operation: &'static str, request: Value, effect: impl Into<String>) {
        self.out.steps.push(PlannedRequest {
            operation,
            request,
            effect: effect.into(),
        });
    }

    /// Adds an UpdateTable request of these members, if there are any.
    fn update<const N: usize>(&mut self, members: [(&str, Option<Value>); N], effect: &str) {
        let members = members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let request: Map<String, Value> = [("TableName".to_owned(), self.table.clone())]
            .into_iter()
            .chain(members)
            .collect();
        if request.len() > 1 {
            self.step("UpdateTable", Value::Object(request), effect);
        }
    }

    /// Returns the updates of the global indexes that were there before, each with the members of
    /// its change, by its old and its new definition.
    fn index_updates(
        &self,
        change: impl Fn(&Value, &Value) -> Map<String, Value>,
    ) -> Option<Value> {
        let before = by_name(self.stored, GLOBAL);
        let update = |(name, index): (&str, &Value)| {
            let mut update = Map::from_iter([("IndexName".to_owned(), json!(name))]);
            update.extend(change(before.get(name)?, index));
            (update.len() > 1).then(|| json!({ "Update": update }))
        };
        let updates: Vec<Value> = by_name(self.wanted, GLOBAL)
            .into_iter()
            .filter_map(update)
            .collect();
        (!updates.is_empty()).then_some(Value::Array(updates))
    }

    /// Refuses changes of members that are fixed at creation.
    fn check_fixed(&mut self) {
        let is_known = |name: &&String| {
            *name == TIME_TO_LIVE
                || CreateTableRequest::STRUCTURE
                    .members
                    .iter()
                    .any(|it| it.name == name.as_str())
        };
        for member in self
            .wanted
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .filter(|name| !is_known(name))
        {
            self.refuse(
                member,
                "there is no such member",
                "the members are CreateTable's",
            );
        }
        if self.stored.get("KeySchema") != self.wanted.get("KeySchema") {
            let hint = "make another table and copy the items (tar, cp -r)";
            self.refuse(
                "KeySchema",
                "the key of a table is fixed when it is created",
                hint,
            );
        }
        self.check_definitions();
        let (stored, wanted) = (by_name(self.stored, LOCAL), by_name(self.wanted, LOCAL));
        let is_same = |name: &&str| match (stored.get(name), wanted.get(name)) {
            (Some(before), Some(after)) => is_same_index(before, after),
            _ => false,
        };
        if let Some(name) = stored
            .keys()
            .chain(wanted.keys())
            .find(|name| !is_same(name))
        {
            let why = format!("LSIs are fixed at creation, and {name} would change");
            self.refuse(LOCAL, why, "make another table with it and copy the items");
        }
        ONLINE.iter().for_each(|kind| self.check_indexes(kind));
    }

    fn check_indexes(&mut self, kind: &OnlineIndexes) {
        let (member, directory) = (kind.member, kind.directory);
        let (stored, wanted) = (by_name(self.stored, member), by_name(self.wanted, member));
        for (name, before) in &stored {
            match wanted.get(name) {
                None => self.refuse(
                    member,
                    format!("{name} is left out, which drops nothing"),
                    format!("to drop it: rmdir {directory}/{name}"),
                ),
                Some(after) if !is_same_index(before, after) => {
                    let hint = format!(
                        "rmdir {directory}/{name}, and when it is gone add it with its new definition"
                    );
                    let fixed = kind.fixed;
                    let reason = format!("{fixed} of {name} are fixed when it is created");
                    self.refuse(member, reason, hint);
                }
                Some(_) => {}
            }
        }
    }

    fn check_definitions(&mut self) {
        let (stored, wanted) = (definitions(self.stored), definitions(self.wanted));
        for (name, kind) in &stored {
            match wanted.get(name) {
                Some(after) if after == kind => {}
                Some(_) => self.refuse(
                    DEFINITIONS,
                    format!("the type of {name} is fixed while it is a key"),
                    "write its old type",
                ),
                None => self.refuse(
                    DEFINITIONS,
                    format!("{name} is a key and left out"),
                    "write its definition",
                ),
            }
        }
        let new = new_indexes(self.stored, self.wanted).into_iter();
        let used: BTreeSet<&str> = new.flat_map(|(.., index)| key_names(index)).collect();
        for name in wanted
            .keys()
            .filter(|name| !stored.contains_key(*name) && !used.contains(*name))
        {
            self.refuse(
                DEFINITIONS,
                format!("{name} is no key"),
                "only keys of the table and its indexes have definitions",
            );
        }
    }

    /// Adds the billing mode and provisioned units, of the table and its indexes in one request.
    fn throughput(&mut self) {
        let changes_mode = self.stored.get("BillingMode") != self.wanted.get("BillingMode");
        let mode = self.wanted.get("BillingMode").filter(|_| changes_mode);
        let units = self
            .wanted
            .get(THROUGHPUT)
            .filter(|units| changes_mode || Some(*units) != self.stored.get(THROUGHPUT));
        let updates = self.index_updates(|before, after| {
            let units = after.get(THROUGHPUT);
            let units = units.filter(|_| changes_mode || before.get(THROUGHPUT) != units);
            units
                .map(|units| (THROUGHPUT.to_owned(), units.clone()))
                .into_iter()
                .collect()
        });
        let members = [
            ("BillingMode", mode.cloned()),
            (THROUGHPUT, units.cloned()),
            (INDEX_UPDATES, updates),
        ];
        self.update(members, "capacity is counted and billed so from then on");
    }

    /// Adds on-demand maxima and warm throughput.
    fn on_demand_and_warm(&mut self) {
        let is_on_demand = self.wanted["BillingMode"] != "PROVISIONED";
        let maxima = |before: &Value, after: &Value| {
            on_demand_change(before, after).filter(|_| is_on_demand)
        };
        self.update(
            [(ON_DEMAND, maxima(self.stored, self.wanted))],
            "the maxima hold from then on",
        );
        self.update(
            [(WARM, warm_change(self.stored, self.wanted))],
            "the table is warmed",
        );
        let updates = self.index_updates(|before, after| {
            let changes = [
                (ON_DEMAND, maxima(before, after)),
                (WARM, warm_change(before, after)),
            ];
            changes
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect()
        });
        self.update([(INDEX_UPDATES, updates)], "the indexes' maxima and warmth");
    }

    fn stream(&mut self) {
        let view = |definition: &Value| {
            let stream = &definition["StreamSpecification"];
            (stream["StreamEnabled"] == true)
                .then(|| stream.get("StreamViewType").cloned())
                .flatten()
        };
        let (before, after) = (view(self.stored), view(self.wanted));
        if before == after {
            return;
        }
        if before.is_some() {
            let off = json!({ "StreamEnabled": false });
            self.update(
                [("StreamSpecification", Some(off))],
                "no more changes are recorded; the records stay for their 24 hours",
            );
        }
        if let Some(view) = after {
            let on = json!({ "StreamEnabled": true, "StreamViewType": view });
            self.update(
                [("StreamSpecification", Some(on))],
                "changes from then on are recorded, in a new stream",
            );
        }
    }

    /// Adds encryption, table class and deletion protection, each in a request of its own.
    fn settings(&mut self) {
        let encryption = |definition: &Value| {
            let sse = &definition["SSESpecification"];
            (sse["Enabled"] == true).then(|| sse.get("KMSMasterKeyId").cloned())
        };
        let after = encryption(self.wanted);
        if encryption(self.stored) != after {
            let off = json!({ "Enabled": false });
            let sse = after
                .and_then(|_| self.wanted.get("SSESpecification").cloned())
                .unwrap_or(off);
            self.update([("SSESpecification", Some(sse))], "kept and shown");
        }
        let class = |definition: &Value| {
            definition
                .get("TableClass")
                .cloned()
                .unwrap_or_else(|| json!("STANDARD"))
        };
        if class(self.stored) != class(self.wanted) {
            self.update([("TableClass", Some(class(self.wanted)))], "kept and shown");
        }
        const PROTECTION: &str = "DeletionProtectionEnabled";
        let protected = self.wanted[PROTECTION] == true;
        if (self.stored[PROTECTION] == true) != protected {
            let effect = if protected {
                "the table cannot be deleted"
            } else {
                "the table can be deleted"
            };
            self.update([(PROTECTION, Some(json!(protected)))], effect);
        }
    }

    /// Adds tags and the resource policy, which have operations of their own.
    fn tags_and_policy(&mut self, arn: &str) {
        let tags = |definition: &Value| -> BTreeMap<String, Value> {
            list(definition, "Tags")
                .filter_map(|tag| Some((tag["Key"].as_str()?.to_owned(), tag.clone())))
                .collect()
        };
        let (before, after) = (tags(self.stored), tags(self.wanted));
        let gone: Vec<&String> = before
            .keys()
            .filter(|key| !after.contains_key(*key))
            .collect();
        if !gone.is_empty() {
            self.step(
                "UntagResource",
                json!({ "ResourceArn": arn, "TagKeys": gone }),
                "the tags are removed",
            );
        }
        let set: Vec<&Value> = after
            .iter()
            .filter(|(key, tag)| before.get(*key) != Some(*tag))
            .map(|(_, tag)| tag)
            .collect();
        if !set.is_empty() {
            self.step(
                "TagResource",
                json!({ "ResourceArn": arn, "Tags": set }),
                "the tags are set",
            );
        }
        match (
            self.stored.get("ResourcePolicy"),
            self.wanted.get("ResourcePolicy"),
        ) {
            (before, after) if before == after => {}
            (_, Some(policy)) => {
                self.step(
                    "PutResourcePolicy",
                    json!({ "ResourceArn": arn, "Policy": policy }),
                    "kept and shown, not enforced",
                );
            }
            (_, None) => self.step(
                "DeleteResourcePolicy",
                json!({ "ResourceArn": arn }),
                "the policy is removed",
            ),
        }
    }

    fn time_to_live(&mut self) {
        let (before, after) = (ttl_attribute(self.stored), ttl_attribute(self.wanted));
        if before == after {
            return;
        }
        if let Some(attribute) = before {
            self.set_ttl(attribute, false, "items expire no more");
        }
        if let Some(attribute) = after {
            self.set_ttl(attribute, true, "items whose time has passed are deleted");
        }
    }

    fn set_ttl(&mut self, attribute: String, enabled: bool, effect: &str) {
        let specification = json!({ "Enabled": enabled, "AttributeName": attribute });
        let request = json!({ "TableName": self.table, TIME_TO_LIVE: specification });
        self.step("UpdateTimeToLive", request, effect);
    }

    /// Adds a new index. UpdateTable makes one at a time, in the background, after everything else.
    fn new_indexes(&mut self) {
        let new = new_indexes(self.stored, self.wanted);
        if let [(kind, first, _), (second, name, _), ..] = new[..] {
            let hint = format!(
                "leave {name} out, and add it when {}/{first}/stats.json says ACTIVE",
                kind.directory
            );
            return self.refuse(second.member, "one index is made at a time", hint);
        }
        for (kind, name, index) in new {
            let keys = key_names(index);
            let is_key = |one: &&Value| {
                one["AttributeName"]
                    .as_str()
                    .is_some_and(|name| keys.contains(name))
            };
            let mut request = json!({ "TableName": self.table });
            if !keys.is_empty() {
                let definitions = list(self.wanted, DEFINITIONS).filter(is_key);
                request[DEFINITIONS] = definitions.cloned().collect();
            }
            request[kind.updates] = json!([{ "Create": index }]);
            let effect = format!(
                "{}/{name} is filled in the background with the items that have {}",
                kind.directory,
                required_names(index).join(" and ")
            );
            self.step("UpdateTable", request, effect);
        }
    }
}

/// Returns the attribute of an enabled time to live.
#[must_use]
pub fn ttl_attribute(definition: &Value) -> Option<String> {
    let specification = &definition[TIME_TO_LIVE];
    specification["AttributeName"]
        .as_str()
        .filter(|_| specification["Enabled"] == true)
        .map(str::to_owned)
}

/// Returns the change of on-demand maxima; -1 clears one.
fn on_demand_change(before: &Value, after: &Value) -> Option<Value> {
    let get = |of: &Value, name: &str| of[ON_DEMAND][name].as_i64().filter(|units| *units != -1);
    let mut out = Map::new();
    for name in ["MaxReadRequestUnits", "MaxWriteRequestUnits"] {
        let (old, new) = (get(before, name), get(after, name));
        if old != new {
            out.insert(name.to_owned(), json!(new.unwrap_or(-1)));
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Returns the change of warm throughput; left out, it stays.
fn warm_change(before: &Value, after: &Value) -> Option<Value> {
    let warm = after.get(WARM)?;
    let is_new = |name: &str| {
        warm.get(name)
            .is_some_and(|units| before[WARM].get(name) != Some(units))
    };
    (is_new("ReadUnitsPerSecond") || is_new("WriteUnitsPerSecond")).then(|| warm.clone())
}

/// The request of a definition.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaRequest {
    Create {
        request: Box<CreateTableRequest>,
        /// The same request, as the JSON that was written.
        json: Value,
        /// The attribute of the time to live to enable.
        expiry: Option<String>,
    },
    Change(SchemaChange),
}

/// The table of a `schema.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaTarget {
    pub table: TableName,
    /// The table's definition as its `schema.json` shows it; `None` for a draft.
    pub stored: Option<Value>,
}

impl SchemaTarget {
    /// Reads the request of a text, with sentences for `.ddb/warnings.ndjson`.
    ///
    /// # Errors
    /// `Body` if the text is no JSON; the wire's error if it is no definition.
    pub fn read(&self, text: &[u8]) -> Result<Commit<SchemaRequest>, FsError> {
        let (mut json, mut warnings) = self.definition(text)?;
        if let Some(members) = json.as_object_mut() {
            // The directory is the name, as with items: `tar -x` of one table's files into
            // another's directory clones it.
            warnings.extend(set_name(members, "TableName", self.table.as_str()));
            if let Some(stored) = &self.stored {
                fill_defaults(stored, members);
            }
        }
        let request = wire::request(Document::from_value(&json).root())?;
        let request = match &self.stored {
            None => {
                let expiry = ttl_attribute(&json);
                json.as_object_mut()
                    .map(|members| members.remove(TIME_TO_LIVE));
                SchemaRequest::Create {
                    request: Box::new(request),
                    json,
                    expiry,
                }
            }
            Some(stored) => {
                SchemaRequest::Change(diff_schemas(stored, &json, &arn::table(&self.table)))
            }
        };
        Ok(Commit { request, warnings })
    }

    /// Reads the request of a text, as [`Self::read`].
    ///
    /// # Errors
    /// As those of `read`; `Body` if a change is refused.
    pub fn request(&self, text: &[u8]) -> Result<Commit<SchemaRequest>, FsError> {
        let commit = self.read(text)?;
        match &commit.request {
            SchemaRequest::Change(SchemaChange { refusals, .. }) if !refusals.is_empty() => {
                let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                Err(FsError::Body(lines.join(". ")))
            }
            _ => Ok(commit),
        }
    }

    /// Returns the last sentence of a refusal.
    #[must_use]
    pub fn unchanged(&self) -> &'static str {
        if self.stored.is_some() {
            "The table is unchanged."
        } else {
            "No table was created."
        }
    }
}

/// True if a value is members of CreateTable, perhaps a part of them.
fn is_request(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    !has("Table") && !has("Resources") && !has("DataModel") && !has("tables") && !has("TableStatus")
}

impl SchemaTarget {
    /// Reads a text as CreateTable's members: it has them, or it is a definition of another tool,
    /// of which the table of this name is taken, else the only one.
    fn definition(&self, text: &[u8]) -> Result<(Value, Vec<String>), FsError> {
        let parsed = Document::parse_value(text);
        let is_json = text.trim_ascii_start().starts_with(b"{");
        match parsed {
            Ok(json) if is_request(&json) => return Ok((json, Vec::new())),
            Err(error) if is_json => return Err(FsError::Body(error.to_string())),
            _ => {}
        }
        let found = definitions::read_bounded(text, &definitions::Parameters::new())
            .map_err(|error| FsError::Body(error.to_string()))?;
        let form = found.form.name();
        let (table, has_others) = found
            .into_table(self.table.as_str())
            .map_err(FsError::Body)?;
        let TableDefinition {
            request,
            items,
            notes: mut warnings,
            ..
        } = table;
        if has_others {
            warnings.push(format!(
                "this is {form} with more tables; `ddbfs import FILE` creates all of them"
            ));
        }
        if !items.is_empty() {
            warnings.push(format!(
                "its {} sample items are not put; `ddbfs import FILE` puts them",
                items.len()
            ));
        }
        Ok((request, warnings))
    }
}

/// The check of a definition's text: one JSON object, which fails in the `write` that spoils it. A
/// text that begins otherwise is YAML, a list or Terraform's: it is read when it is whole.
#[derive(Debug, Default)]
pub enum DefinitionCheck {
    #[default]
    Blank,
    Json(JsonPrefix),
    Other,
}

/// True if a first line may begin YAML, a list, or a Terraform configuration.
fn begins_definition(line: &[u8]) -> bool {
    line.starts_with(b"[")
        || line.starts_with(b"#")
        || line.starts_with(b"---")
        || line.contains(&b':')
        || line.trim_ascii_end().ends_with(b"{")
}

impl TextCheck for DefinitionCheck {
    fn feed(&mut self, bytes: &[u8]) -> CheckState {
        if let Self::Blank = self {
            let text = bytes.trim_ascii_start();
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or(text);
            match text.first() {
                None => {}
                // A text that is no definition is refused at once: a shell does not look at close.
                Some(first) if *first != b'{' && begins_definition(line) => *self = Self::Other,
                Some(_) => *self = Self::Json(JsonPrefix::new()),
            }
        }
        match self {
            Self::Json(prefix) => prefix.feed(bytes).into(),
            Self::Blank | Self::Other => CheckState::Incomplete,
        }
    }

    fn state(&self) -> CheckState {
        match self {
            Self::Json(prefix) => prefix.state().into(),
            Self::Blank | Self::Other => CheckState::Incomplete,
        }
    }

    fn at_end(&self) -> CheckState {
        match self {
            Self::Other => CheckState::Complete,
            _ => self.state(),
        }
    }

    fn incomplete(&self) -> FsError {
        match self {
            Self::Json(prefix) => FsError::Json(prefix.incomplete()),
            Self::Blank | Self::Other => FsError::Json(JsonPrefix::new().incomplete()),
        }
    }
}

#[cfg(test)]
#[path = "schema_change_tests.rs"]
mod tests;

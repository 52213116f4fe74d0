//! The kept members of a table's definition as typed values: what UpdateTable, tagging and descriptions read and change in the
//! JSON texts that [`super::create_options`] keeps.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::create_options::{self, INDEXES};
use super::shape::whole;
use crate::model::TableSchema;
use crate::model::api::update_table::{Encryption, OnDemandThroughput, TableClass, WarmThroughput};
use crate::model::schema::{BillingMode, ON_DEMAND_WARM, ProvisionedThroughput};

const ON_DEMAND: &str = "OnDemandThroughput";
const WARM: &str = "WarmThroughput";
const TAGS: &str = "Tags";
const POLICY: &str = "ResourcePolicy";

type Opaque = BTreeMap<String, String>;

/// A member of the table, or of one of its global indexes.
fn get(opaque: &Opaque, index: Option<&str>, member: &str) -> Option<Value> {
    match index {
        None => create_options::get(opaque, member),
        Some(index) => create_options::of_indexes(opaque).get(index)?.get(member).cloned(),
    }
}

/// Sets or removes a member of the table, or of one of its global indexes.
fn set(opaque: &mut Opaque, index: Option<&str>, member: &str, value: Option<Value>) {
    let Some(index) = index else {
        match value {
            Some(value) => opaque.insert(member.to_owned(), value.to_string()),
            None => opaque.remove(member),
        };
        return;
    };
    let mut indexes: Map<String, Value> =
        create_options::of_indexes(opaque).into_iter().map(|(name, options)| (name, Value::Object(options))).collect();
    let mut options = match indexes.remove(index) {
        Some(Value::Object(options)) => options,
        _ => Map::new(),
    };
    match value {
        Some(value) => options.insert(member.to_owned(), value),
        None => options.remove(member),
    };
    if !options.is_empty() {
        indexes.insert(index.to_owned(), Value::Object(options));
    }
    let indexes = (!indexes.is_empty()).then_some(Value::Object(indexes));
    set(opaque, None, INDEXES, indexes);
}

/// Numbers of the members that are there.
fn object(members: [(&str, Option<i64>); 2]) -> Option<Value> {
    let members: Map<String, Value> =
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect();
    (!members.is_empty()).then_some(Value::Object(members))
}

fn number(value: Option<&Value>, member: &str) -> Option<i64> {
    value.and_then(|value| value.get(member)).and_then(Value::as_number).and_then(whole)
}

/// On-demand maxima of the table or of an index.
#[must_use]
pub fn on_demand(opaque: &Opaque, index: Option<&str>) -> OnDemandThroughput {
    let kept = get(opaque, index, ON_DEMAND);
    OnDemandThroughput {
        max_read_request_units: number(kept.as_ref(), "MaxReadRequestUnits"),
        max_write_request_units: number(kept.as_ref(), "MaxWriteRequestUnits"),
    }
}

/// Keeps on-demand maxima; none at all removes the member.
pub fn set_on_demand(opaque: &mut Opaque, index: Option<&str>, value: OnDemandThroughput) {
    let members = [("MaxReadRequestUnits", value.max_read_request_units), ("MaxWriteRequestUnits", value.max_write_request_units)];
    set(opaque, index, ON_DEMAND, object(members));
}

/// Warm throughput that was asked for or reached.
#[must_use]
pub fn warm(opaque: &Opaque, index: Option<&str>) -> WarmThroughput {
    let kept = get(opaque, index, WARM);
    WarmThroughput {
        read_units_per_second: number(kept.as_ref(), "ReadUnitsPerSecond"),
        write_units_per_second: number(kept.as_ref(), "WriteUnitsPerSecond"),
    }
}

/// Keeps warm throughput.
pub fn set_warm(opaque: &mut Opaque, index: Option<&str>, value: WarmThroughput) {
    let members = [("ReadUnitsPerSecond", value.read_units_per_second), ("WriteUnitsPerSecond", value.write_units_per_second)];
    set(opaque, index, WARM, object(members));
}

/// The warm throughput in effect: what was asked for or reached, never below what the table or index is provisioned for.
#[must_use]
pub fn effective_warm(schema: &TableSchema, index: Option<&str>) -> ProvisionedThroughput {
    let throughput = match index {
        None => schema.throughput,
        Some(index) => schema.index(index).and_then(|index| index.throughput),
    };
    let base = if schema.billing_mode == BillingMode::PayPerRequest { Some(ON_DEMAND_WARM) } else { throughput };
    let (read, write) = base.map_or((0, 0), |units| (units.read_capacity_units, units.write_capacity_units));
    let kept = warm(&schema.opaque, index);
    let at_least = |asked: Option<i64>, base: u64| asked.and_then(|units| u64::try_from(units).ok()).unwrap_or(0).max(base);
    ProvisionedThroughput {
        read_capacity_units: at_least(kept.read_units_per_second, read),
        write_capacity_units: at_least(kept.write_units_per_second, write),
    }
}

/// Keeps encryption.
pub fn set_encryption(opaque: &mut Opaque, value: &Encryption) {
    let kept = value.enabled.then(|| match &value.kms_master_key_id {
        Some(key) => json!({ "Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": key }),
        None => json!({ "Enabled": true, "SSEType": "KMS" }),
    });
    set(opaque, None, "SSESpecification", kept);
}

/// Keeps the table class.
pub fn set_table_class(opaque: &mut Opaque, class: TableClass) {
    set(opaque, None, "TableClass", Some(json!(class.text())));
}

/// The tags, in the order kept.
#[must_use]
pub fn tags(opaque: &Opaque) -> Vec<(String, String)> {
    let Some(Value::Array(tags)) = get(opaque, None, TAGS) else { return Vec::new() };
    let text = |tag: &Value, name: &str| Some(tag.get(name)?.as_str()?.to_owned());
    tags.iter().filter_map(|tag| Some((text(tag, "Key")?, text(tag, "Value")?))).collect()
}

/// Keeps tags.
pub fn set_tags(opaque: &mut Opaque, tags: &[(String, String)]) {
    let kept: Vec<Value> = tags.iter().map(|(key, value)| json!({ "Key": key, "Value": value })).collect();
    set(opaque, None, TAGS, (!kept.is_empty()).then_some(Value::Array(kept)));
}

/// The resource policy's text.
#[must_use]
pub fn policy(opaque: &Opaque) -> Option<String> {
    get(opaque, None, POLICY)?.as_str().map(str::to_owned)
}

/// Keeps a resource policy, or none.
pub fn set_policy(opaque: &mut Opaque, policy: Option<&str>) {
    set(opaque, None, POLICY, policy.map(Value::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_table_and_indexes_are_set_read_and_removed() {
        let mut opaque = Opaque::new();
        let units = |read, write| OnDemandThroughput { max_read_request_units: read, max_write_request_units: write };
        for index in [None, Some("one"), Some("two")] {
            set_on_demand(&mut opaque, index, units(Some(7), None));
            assert_eq!(on_demand(&opaque, index), units(Some(7), None));
        }
        set_on_demand(&mut opaque, Some("one"), units(None, None));
        assert_eq!(opaque["GlobalSecondaryIndexes"], r#"{"two":{"OnDemandThroughput":{"MaxReadRequestUnits":7}}}"#);
        set_on_demand(&mut opaque, Some("two"), units(None, None));
        set_on_demand(&mut opaque, None, units(None, None));
        set_tags(&mut opaque, &[("a".to_owned(), String::new())]);
        assert_eq!(tags(&opaque), [("a".to_owned(), String::new())]);
        set_tags(&mut opaque, &[]);
        assert!(opaque.is_empty(), "{opaque:?}");
    }
}

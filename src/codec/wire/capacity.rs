//! `ConsumedCapacity` and `ItemCollectionMetrics` of responses (docs/dynamodb.md 9.7, 10.4).

use std::collections::BTreeMap;

use super::answer;
use super::shape::Members;
use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::api::{ConsumedCapacity, ItemCollectionMetrics, ReturnConsumedCapacity};
use crate::model::arn;
use crate::model::{Error, TableName};

/// What of a request decides how its response reports capacity. Kept aside, as an operation takes its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reporting {
    /// The table as it was named: by its ARN, if that was sent (docs/dynamodb.md 10.4).
    pub table: String,
    pub detail: ReturnConsumedCapacity,
}

impl Reporting {
    /// Of an operation on one table, by its body.
    #[must_use]
    pub fn of(json: Json<'_>, detail: ReturnConsumedCapacity) -> Self {
        let table = json.get("TableName").and_then(Json::as_str).unwrap_or_default().to_owned();
        Self { table, detail }
    }

    /// The member `ConsumedCapacity`, if it was asked for.
    pub fn write(&self, consumed: &ConsumedCapacity, response: &mut ObjectWriter<'_>) {
        let Some(indexes) = with_indexes(self.detail) else { return };
        let out = response.member("ConsumedCapacity");
        table(&self.table, consumed, (indexes, Units::Plain), out);
    }
}

/// The tables that a transaction named by their ARNs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SentArns(Vec<(TableName, String)>);

impl SentArns {
    /// Of the actions of a transaction's body.
    #[must_use]
    pub fn of_transaction(json: Json<'_>) -> Self {
        let actions = json.get("TransactItems").and_then(Json::as_list).unwrap_or_default();
        let members = actions.filter_map(Json::as_object).flat_map(|action| action.values());
        let names = members.filter_map(|member| member.get("TableName")?.as_str());
        let arns = names.filter_map(|name| Some((arn::table_named(name).ok()?, name.to_owned())));
        Self(arns.filter(|(table, sent)| table.as_str() != sent).collect())
    }

    /// The table as it was named.
    #[must_use]
    pub fn shown<'n>(&'n self, table: &'n TableName) -> &'n str {
        self.0.iter().find(|(named, _)| named == table).map_or(table.as_str(), |(_, arn)| arn)
    }
}

/// Which units a table's entry has beside `CapacityUnits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    Plain,
    /// Of a transaction that read.
    Read,
    /// Of a transaction that wrote.
    Write,
}

/// The member `ConsumedCapacity` of an operation on several tables, if it was asked for.
pub fn write_list<'a>(
    detail: ReturnConsumedCapacity,
    units: Units,
    tables: impl Iterator<Item = (&'a str, &'a ConsumedCapacity)>,
    response: &mut ObjectWriter<'_>,
) {
    let Some(indexes) = with_indexes(detail) else { return };
    let out = response.member("ConsumedCapacity");
    write::list(tables, out, |(name, consumed), out| table(name, consumed, (indexes, units), out));
}

/// Are the indexes wanted; `None` when nothing is.
fn with_indexes(detail: ReturnConsumedCapacity) -> Option<bool> {
    match detail {
        ReturnConsumedCapacity::None => None,
        ReturnConsumedCapacity::Total => Some(false),
        ReturnConsumedCapacity::Indexes => Some(true),
    }
}

fn table(name: &str, consumed: &ConsumedCapacity, (indexes, units): (bool, Units), out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::string(name, object.member("TableName"));
    amounts(consumed.total(), units, &mut object);
    if indexes {
        arm(consumed.table, units, object.member("Table"));
        arms("GlobalSecondaryIndexes", &consumed.global_indexes, units, &mut object);
        arms("LocalSecondaryIndexes", &consumed.local_indexes, units, &mut object);
    }
    object.end();
}

fn amounts(value: f64, units: Units, object: &mut ObjectWriter<'_>) {
    write::double(value, object.member("CapacityUnits"));
    match units {
        Units::Plain => {}
        Units::Read => write::double(value, object.member("ReadCapacityUnits")),
        Units::Write => write::double(value, object.member("WriteCapacityUnits")),
    }
}

fn arm(value: f64, units: Units, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    amounts(value, units, &mut object);
    object.end();
}

fn arms(name: &str, arms: &BTreeMap<String, f64>, units: Units, object: &mut ObjectWriter<'_>) {
    if arms.is_empty() {
        return;
    }
    let mut indexes = ObjectWriter::start(object.member(name));
    for (index, value) in arms {
        arm(*value, units, indexes.member(index));
    }
    indexes.end();
}

/// The member `ItemCollectionMetrics`, where the operation gave any.
pub fn write_metrics(metrics: Option<&ItemCollectionMetrics>, response: &mut ObjectWriter<'_>) {
    if let Some(metrics) = metrics {
        collection(metrics, response.member("ItemCollectionMetrics"));
    }
}

/// The member `ItemCollectionMetrics` of an operation on several tables, where it gave any.
pub fn write_metrics_by_table<'a>(
    tables: impl Iterator<Item = (&'a str, &'a [ItemCollectionMetrics])>,
    response: &mut ObjectWriter<'_>,
) {
    let mut tables = tables.filter(|(_, collections)| !collections.is_empty()).peekable();
    if tables.peek().is_none() {
        return;
    }
    let mut object = ObjectWriter::start(response.member("ItemCollectionMetrics"));
    for (name, collections) in tables {
        write::list(collections.iter(), object.member(name), collection);
    }
    object.end();
}

fn collection(metrics: &ItemCollectionMetrics, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    dynamodb_json::write_item(&metrics.key, object.member("ItemCollectionKey"));
    write::list(metrics.size_estimate_range_gb.into_iter(), object.member("SizeEstimateRangeGB"), write::double);
    object.end();
}

/// The member `ConsumedCapacity` of an answer about one table; nothing where it is absent.
pub fn read(members: Members<'_>) -> ConsumedCapacity {
    members.structure("ConsumedCapacity").map(read_table).unwrap_or_default()
}

/// What was consumed of a table, and are these units of reads.
pub type Entry = (TableName, ConsumedCapacity, bool);

/// The same of an answer about several tables.
///
/// # Errors
/// An entry without the name of its table.
pub fn read_list(members: Members<'_>) -> Result<Vec<Entry>, Error> {
    let entry = |json: Json<'_>| {
        let members = answer::members(json)?;
        let name = answer::table_name(answer::text(members, "TableName")?)?;
        Ok((name, read_table(members), members.has("ReadCapacityUnits")))
    };
    members.list("ConsumedCapacity").unwrap_or_default().map(entry).collect()
}

/// The entries without what they are units of, and are they those of reads.
pub fn of_reads(entries: Vec<Entry>) -> (Vec<(TableName, ConsumedCapacity)>, bool) {
    let is_read = entries.iter().any(|(.., is_read)| *is_read);
    (entries.into_iter().map(|(name, consumed, _)| (name, consumed)).collect(), is_read)
}

/// What each of these tables consumed, in their order.
pub fn of_tables<'t>(entries: &[Entry], tables: impl Iterator<Item = &'t TableName>) -> Vec<ConsumedCapacity> {
    let of = |table: &TableName| entries.iter().find(|(name, ..)| name == table).map(|(_, consumed, _)| consumed.clone());
    tables.map(|table| of(table).unwrap_or_default()).collect()
}

fn read_table(members: Members<'_>) -> ConsumedCapacity {
    let (global_indexes, local_indexes) =
        (read_arms(members, "GlobalSecondaryIndexes"), read_arms(members, "LocalSecondaryIndexes"));
    let arms = || global_indexes.values().chain(local_indexes.values()).sum::<f64>();
    let table = members.structure("Table").map_or_else(|| read_units(members) - arms(), read_units);
    ConsumedCapacity { table, global_indexes, local_indexes }
}

fn read_arms(members: Members<'_>, name: &str) -> BTreeMap<String, f64> {
    let arms = members.structure(name).into_iter().flat_map(Members::iter);
    arms.filter_map(|(index, json)| Some((index.to_owned(), read_units(Members::of(json)?)))).collect()
}

fn read_units(members: Members<'_>) -> f64 {
    members.get("CapacityUnits").and_then(Json::as_f64).unwrap_or(0.0)
}

/// The member `ItemCollectionMetrics`, where there is one.
///
/// # Errors
/// One without key or sizes.
pub fn read_metrics(members: Members<'_>) -> Result<Option<ItemCollectionMetrics>, Error> {
    members.get("ItemCollectionMetrics").map(read_collection).transpose()
}

/// The same by table.
///
/// # Errors
/// One without key or sizes, or of no table.
pub fn read_metrics_by_table(members: Members<'_>) -> Result<Vec<(TableName, Vec<ItemCollectionMetrics>)>, Error> {
    let of_table = |(name, json): (&str, Json<'_>)| {
        let collections = json.as_list().unwrap_or_default().map(read_collection).collect::<Result<_, _>>()?;
        Ok((answer::table_name(name)?, collections))
    };
    members.structure("ItemCollectionMetrics").into_iter().flat_map(Members::iter).map(of_table).collect()
}

fn read_collection(json: Json<'_>) -> Result<ItemCollectionMetrics, Error> {
    let members = answer::members(json)?;
    let mut sizes = members.list("SizeEstimateRangeGB").unwrap_or_default().filter_map(Json::as_f64);
    let sizes = sizes.next().zip(sizes.next()).ok_or_else(|| answer::missing("SizeEstimateRangeGB"))?;
    let key = answer::item(members, "ItemCollectionKey")?.ok_or_else(|| answer::missing("ItemCollectionKey"))?;
    Ok(ItemCollectionMetrics { key, size_estimate_range_gb: sizes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(detail: ReturnConsumedCapacity, expected: &str) {
        let consumed = ConsumedCapacity { table: 1.0, global_indexes: [("gsi".to_owned(), 2.5)].into(), ..Default::default() };
        let mut out = Vec::new();
        let mut object = ObjectWriter::start(&mut out);
        Reporting { table: "Orders".to_owned(), detail }.write(&consumed, &mut object);
        object.end();
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn capacity_by_the_detail_asked_for() {
        check(ReturnConsumedCapacity::None, "{}");
        check(ReturnConsumedCapacity::Total, r#"{"ConsumedCapacity":{"TableName":"Orders","CapacityUnits":3.5}}"#);
        check(
            ReturnConsumedCapacity::Indexes,
            r#"{"ConsumedCapacity":{"TableName":"Orders","CapacityUnits":3.5,"Table":{"CapacityUnits":1.0},"GlobalSecondaryIndexes":{"gsi":{"CapacityUnits":2.5}}}}"#,
        );
    }
}

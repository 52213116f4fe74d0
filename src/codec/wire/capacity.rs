//! The JSON form of `ConsumedCapacity` and `ItemCollectionMetrics` in responses (docs/dynamodb.md
//! 9.7, 10.4): writers, and readers for another service's responses.

use std::collections::BTreeMap;

use super::declared::*;
use super::response;
use super::write::{self};
use crate::model::api::common::common;
use crate::model::api::{ConsumedCapacity, ItemCollectionMetrics, ReturnConsumedCapacity};

common!(wire);

/// The capacity consumed of one table, if requested.
#[derive(Debug)]
pub struct Consumed;

impl Form<ConsumedCapacity> for Consumed {
    const SHAPE: Shape = CONSUMED_CAPACITY;

    fn read(json: Json<'_>, _: Sender) -> Result<Option<ConsumedCapacity>, WireError> {
        Ok(Members::of(json).map(read_table))
    }

    /// Writes nothing: the table's name is that of the request, see [`Form::put`].
    fn write(_: &ConsumedCapacity, _: &mut Vec<u8>) {}

    fn put(value: &ConsumedCapacity, name: &str, object: &mut ObjectWriter<'_>) {
        put_table(
            object
                .context
                .table_names
                .first()
                .map_or("", String::as_str),
            value,
            name,
            object,
        );
    }
}

/// The capacity consumed of a table that the response names.
impl DerivedMember for (TableName, ConsumedCapacity) {
    fn put(&self, name: &str, object: &mut ObjectWriter<'_>) {
        put_table(self.0.as_str(), &self.1, name, object);
    }
}

fn put_table(
    table_name: &str,
    consumed: &ConsumedCapacity,
    member: &str,
    object: &mut ObjectWriter<'_>,
) {
    object.context.units.add(consumed);
    if let Some(indexes) = wants_indexes(object.context.detail) {
        debug_assert!(!table_name.is_empty(), "the request named its table");
        write_entry(
            table_name,
            consumed,
            indexes,
            Units::Plain,
            object.member(member),
        );
    }
}

/// The capacity consumed of several tables, by their names, if requested.
macro_rules! consumed_by_table {
    ($($form:ident $units:ident;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Form<Vec<(TableName, ConsumedCapacity)>> for $form {
                const SHAPE: Shape = CONSUMED_CAPACITY;

                fn read(json: Json<'_>, _: Sender) -> Result<Option<Vec<(TableName, ConsumedCapacity)>>, WireError> {
                    Ok(Some(of_reads(entries(json)?).0))
                }

                fn write(_: &Vec<(TableName, ConsumedCapacity)>, _: &mut Vec<u8>) {}

                fn put(value: &Vec<(TableName, ConsumedCapacity)>, _: &str, object: &mut ObjectWriter<'_>) {
                    write_by_table(value, Units::$units, object);
                }
            }
        )*
    };
}
consumed_by_table! { CapacityByTable Plain; ReadCapacityByTable Read; }

/// The shape of `ConsumedCapacity`, which only responses have.
const CONSUMED_CAPACITY: Shape = Shape::Structure(&Structure {
    name: "ConsumedCapacity",
    members: &[],
});

/// The units that a table's entry has beside `CapacityUnits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    Plain,
    /// Read units, of a transaction that read.
    Read,
    /// Write units, of a transaction that wrote.
    Write,
}

/// Writes the member `ConsumedCapacity` of an operation on several tables, if requested.
pub fn write_by_table(
    consumed: &[(TableName, ConsumedCapacity)],
    units: Units,
    response: &mut ObjectWriter<'_>,
) {
    let context = response.context;
    write_list(
        units,
        consumed
            .iter()
            .map(|(name, consumed)| (context.requested_name(name), consumed)),
        response,
    );
}

/// Writes the member `ConsumedCapacity` of tables by the names to show, if requested.
pub fn write_list<'a>(
    units: Units,
    tables: impl Iterator<Item = (&'a str, &'a ConsumedCapacity)>,
    response: &mut ObjectWriter<'_>,
) {
    let context = response.context;
    let Some(indexes) = wants_indexes(context.detail) else {
        return tables.for_each(|(_, consumed)| context.units.add(consumed));
    };
    let out = response.member("ConsumedCapacity");
    write::list(tables, out, |(name, consumed), out| {
        context.units.add(consumed);
        write_entry(name, consumed, indexes, units, out)
    });
}

/// Returns true if the indexes are requested too; `None` if nothing is.
fn wants_indexes(detail: ReturnConsumedCapacity) -> Option<bool> {
    match detail {
        ReturnConsumedCapacity::None => None,
        ReturnConsumedCapacity::Total => Some(false),
        ReturnConsumedCapacity::Indexes => Some(true),
    }
}

fn write_entry(
    name: &str,
    consumed: &ConsumedCapacity,
    indexes: bool,
    units: Units,
    out: &mut Vec<u8>,
) {
    let mut object = ObjectWriter::start(out);
    write::string(name, object.member("TableName"));
    unit_members(consumed.total(), units, &mut object);
    if indexes {
        write_units(consumed.table, units, object.member("Table"));
        for (name, indexes) in [
            ("GlobalSecondaryIndexes", &consumed.global_indexes),
            ("LocalSecondaryIndexes", &consumed.local_indexes),
        ] {
            let each = |value, out: &mut Vec<u8>| write_units(value, units, out);
            write_by_index(name, indexes, each, &mut object);
        }
        let bytes = |bytes, out: &mut Vec<u8>| {
            let mut index = ObjectWriter::start(out);
            write::double(bytes, index.member(WRITE_BYTES));
            index.end();
        };
        write_by_index(
            "VectorIndexes",
            &consumed.vector_indexes,
            bytes,
            &mut object,
        );
    }
    object.end();
}

const WRITE_BYTES: &str = "VectorWriteRequestBytes";
const SEARCH_BYTES: &str = "VectorSearchRequestBytes";

/// The bytes that a search consumed, if requested: `VectorCapacity`.
#[derive(Debug)]
pub struct SearchBytes;

impl Form<u64> for SearchBytes {
    const SHAPE: Shape = CONSUMED_CAPACITY;

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn read(json: Json<'_>, _: Sender) -> Result<Option<u64>, WireError> {
        let members = Members::of(json);
        let bytes = members.and_then(|members| members.get(SEARCH_BYTES)?.as_f64());
        // Saturating: a service's figure is only shown.
        Ok(bytes.map(|bytes| bytes as u64))
    }

    fn write(value: &u64, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        write::double(*value as f64, object.member(SEARCH_BYTES));
        object.end();
    }

    fn put(value: &u64, name: &str, object: &mut ObjectWriter<'_>) {
        if wants_indexes(object.context.detail).is_some() {
            Self::write(value, object.member(name));
        }
    }
}

fn unit_members(value: f64, units: Units, object: &mut ObjectWriter<'_>) {
    write::double(value, object.member("CapacityUnits"));
    match units {
        Units::Plain => {}
        Units::Read => write::double(value, object.member("ReadCapacityUnits")),
        Units::Write => write::double(value, object.member("WriteCapacityUnits")),
    }
}

fn write_units(value: f64, units: Units, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    unit_members(value, units, &mut object);
    object.end();
}

fn write_by_index(
    name: &str,
    arms: &BTreeMap<String, f64>,
    each: impl Fn(f64, &mut Vec<u8>),
    object: &mut ObjectWriter<'_>,
) {
    if arms.is_empty() {
        return;
    }
    let mut indexes = ObjectWriter::start(object.member(name));
    for (index, value) in arms {
        each(*value, indexes.member(index));
    }
    indexes.end();
}

/// Writes the member `ItemCollectionMetrics` of an operation on several tables, unless it is empty.
pub fn write_metrics_by_table<'a>(
    tables: impl Iterator<Item = (&'a str, &'a [ItemCollectionMetrics])>,
    response: &mut ObjectWriter<'_>,
) {
    let mut tables = tables
        .filter(|(_, collections)| !collections.is_empty())
        .peekable();
    if tables.peek().is_none() {
        return;
    }
    let mut object = ObjectWriter::start(response.member("ItemCollectionMetrics"));
    for (name, collections) in tables {
        write::list(
            collections.iter(),
            object.member(name),
            ItemCollectionMetrics::write,
        );
    }
    object.end();
}

impl Field for [f64; 2] {
    const SHAPE: Shape = Shape::List(&super::members::STRING);

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        let mut sizes = json.as_list().unwrap_or_default().filter_map(Json::as_f64);
        Ok(sizes
            .next()
            .zip(sizes.next())
            .map(|(least, most)| [least, most]))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write::list(self.iter().copied(), out, write::double);
    }
}

/// The capacity consumed of a table, and true if its units are reads.
pub type ConsumedEntry = (TableName, ConsumedCapacity, bool);

/// Reads the member `ConsumedCapacity` of a response about several tables.
///
/// # Errors
/// [`Error::Remote`] if an entry has no table name.
pub fn read_list(members: Members<'_>) -> Result<Vec<ConsumedEntry>, Error> {
    members
        .get("ConsumedCapacity")
        .map_or(Ok(Vec::new()), entries)
}

fn entries(json: Json<'_>) -> Result<Vec<ConsumedEntry>, Error> {
    let entry = |json: Json<'_>| {
        let members = response::members(json)?;
        let name = response::table_name(response::text(members, "TableName")?)?;
        Ok((name, read_table(members), members.has("ReadCapacityUnits")))
    };
    response::list_of(json, "ConsumedCapacity")?
        .map(entry)
        .collect()
}

/// Returns the entries without their units, and true if any has units of reads.
pub fn of_reads(entries: Vec<ConsumedEntry>) -> (Vec<(TableName, ConsumedCapacity)>, bool) {
    let is_read = entries.iter().any(|(.., is_read)| *is_read);
    (
        entries
            .into_iter()
            .map(|(name, consumed, _)| (name, consumed))
            .collect(),
        is_read,
    )
}

/// Returns the capacity consumed of each of these tables, in their order.
pub fn in_table_order<'t>(
    entries: &[ConsumedEntry],
    tables: impl Iterator<Item = &'t TableName>,
) -> Vec<ConsumedCapacity> {
    let of = |table: &TableName| {
        entries
            .iter()
            .find(|(name, ..)| name == table)
            .map(|(_, consumed, _)| consumed.clone())
    };
    tables.map(|table| of(table).unwrap_or_default()).collect()
}

fn read_table(members: Members<'_>) -> ConsumedCapacity {
    let (global_indexes, local_indexes) = (
        read_index_units(members, "GlobalSecondaryIndexes"),
        read_index_units(members, "LocalSecondaryIndexes"),
    );
    let arms = || {
        global_indexes
            .values()
            .chain(local_indexes.values())
            .sum::<f64>()
    };
    let table = members
        .structure("Table")
        .map_or_else(|| (read_units(members) - arms()).max(0.0), read_units);
    ConsumedCapacity {
        table,
        global_indexes,
        local_indexes,
        vector_indexes: read_vector_bytes(members),
    }
}

fn read_vector_bytes(members: Members<'_>) -> BTreeMap<String, f64> {
    let indexes = members
        .structure("VectorIndexes")
        .into_iter()
        .flat_map(Members::iter);
    let bytes = |json| Members::of(json)?.get(WRITE_BYTES)?.as_f64();
    indexes
        .filter_map(|(index, json)| Some((index.to_owned(), bytes(json)?)))
        .collect()
}

fn read_index_units(members: Members<'_>, name: &str) -> BTreeMap<String, f64> {
    let arms = members.structure(name).into_iter().flat_map(Members::iter);
    arms.filter_map(|(index, json)| Some((index.to_owned(), read_units(Members::of(json)?))))
        .collect()
}

/// The most units that one request can consume: a service's figure must not enlarge or exhaust a
/// budget.
const UNITS_MAX: f64 = 1e6;

fn read_units(members: Members<'_>) -> f64 {
    members
        .get("CapacityUnits")
        .and_then(Json::as_f64)
        .unwrap_or(0.0)
        .clamp(0.0, UNITS_MAX)
}

/// Reads the member `ItemCollectionMetrics` by table.
///
/// # Errors
/// [`Error::Remote`] if an entry lacks its key or sizes, or names no table.
pub fn read_metrics_by_table(
    members: Members<'_>,
) -> Result<Vec<(TableName, Vec<ItemCollectionMetrics>)>, Error> {
    let of_table = |(name, json): (&str, Json<'_>)| {
        let collections = Field::read(json, Sender::Service).map_err(response::from_wire_error)?;
        let collections = collections.ok_or_else(|| response::missing(name))?;
        Ok((response::table_name(name)?, collections))
    };
    response::entries(members, "ItemCollectionMetrics")?
        .map(of_table)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(detail: ReturnConsumedCapacity, expected: &str) {
        let consumed = ConsumedCapacity {
            table: 1.0,
            global_indexes: [("gsi".to_owned(), 2.5)].into(),
            ..Default::default()
        };
        let (mut out, context) = (Vec::new(), write::Context::of_table("Orders", detail));
        let mut object = ObjectWriter::start_in(&context, &mut out);
        Consumed::put(&consumed, "ConsumedCapacity", &mut object);
        object.end();
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn capacity_by_the_detail_asked_for() {
        check(ReturnConsumedCapacity::None, "{}");
        check(
            ReturnConsumedCapacity::Total,
            r#"{"ConsumedCapacity":{"TableName":"Orders","CapacityUnits":3.5}}"#,
        );
        check(
            ReturnConsumedCapacity::Indexes,
            r#"{"ConsumedCapacity":{"TableName":"Orders","CapacityUnits":3.5,"Table":{"CapacityUnits":1.0},"GlobalSecondaryIndexes":{"gsi":{"CapacityUnits":2.5}}}}"#,
        );
    }
}

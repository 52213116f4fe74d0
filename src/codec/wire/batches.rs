//! The JSON form of BatchGetItem and BatchWriteItem (docs/dynamodb.md 14): the parts that the
//! declarations in `model::api::items` do not generate. Unprocessed requests are returned under the
//! tables as the request named them.

use super::capacity::{self, Units};
use super::declared::*;
use super::members::{self, AttributesToGet, Names};
use super::write::{self};
use super::{attribute_value, names, response};
use crate::codec::json::document::JsonList;
use crate::codec::record::{BatchRowSink, ResultRow};
use crate::model::api::items::batches;
use crate::model::api::*;
use crate::model::error::{BatchError, ExpressionError, StoreError, ValueError};
use crate::model::limits::{BATCH_GET_KEYS_MAX, BATCH_WRITE_REQUESTS_MAX};

batches!(wire);

/// Returns the tables of a batch, if there are any.
fn tables(members: Members<'_>) -> Option<Members<'_>> {
    members
        .structure("RequestItems")
        .filter(|tables| tables.iter().next().is_some())
}

/// Reads each table with `read`, which also returns the number of its requests; together at most
/// `max`.
fn read_tables<T>(
    members: Members<'_>,
    operation: &'static str,
    max: usize,
    read: impl Fn(&str, Json<'_>) -> Result<(T, usize), WireError>,
) -> Result<Vec<T>, WireError> {
    let (mut all, mut count) = (Vec::new(), 0);
    for (name, json) in tables(members).into_iter().flat_map(Members::iter) {
        let (table, requests) = read(name, json)?;
        count += requests;
        if count > max {
            return Err(BatchError::TooManyItems { operation }.into());
        }
        all.push(table);
    }
    Ok(all)
}

fn check_get(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    // Before the constraints: a missing map and an empty one get the same text.
    let Some(tables) = tables(members) else {
        return Err(BatchError::NoRequestItems.into());
    };
    members::constrained(json, structure)?;
    tables
        .iter()
        .try_for_each(|(name, table)| check_count(name, table))?;
    check_table_mix(tables).map(|()| None)
}

static KEYS_AND_ATTRIBUTES: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "KeysAndAttributes",
        members: &[
            members::ATTRIBUTES_TO_GET,
            Member::new("ConsistentRead", Shape::Boolean),
            members::EXPRESSION_ATTRIBUTE_NAMES,
            Member::new("Keys", Shape::List(&KEY)).required(),
            members::PROJECTION_EXPRESSION,
        ],
    }),
    rules: &[],
};

static KEY: Element = Element {
    shape: Shape::Map(&attribute_value::ATTRIBUTE_VALUE_ELEMENT),
    rules: &[],
};

/// `RequestItems` of BatchGetItem.
#[derive(Debug)]
pub struct GetsByTable;

impl Group<Vec<TableKeys>> for GetsByTable {
    const MEMBERS: &'static [Member] =
        &[
            Member::new("RequestItems", Shape::Map(&KEYS_AND_ATTRIBUTES))
                .rules(&[Rule::MapTableNames, Rule::LengthMax(BATCH_GET_KEYS_MAX)]),
        ];

    fn read(members: Members<'_>, _: Sender) -> Result<Vec<TableKeys>, WireError> {
        read_tables(members, "BatchGetItem", BATCH_GET_KEYS_MAX, |name, json| {
            let table = table_keys(name, json)?;
            let count = table.keys.len();
            Ok((table, count))
        })
    }

    fn write(value: &Vec<TableKeys>, object: &mut ObjectWriter<'_>) {
        let mut tables = ObjectWriter::start(object.member("RequestItems"));
        for table in value {
            keys_and_attributes(table, &table.keys, tables.member(table.table_name.as_str()));
        }
        tables.end();
    }
}

/// The error of a duplicate key. The operation reports it: it first checks expressions and
/// placeholders.
#[derive(Debug)]
pub struct Duplicates;

impl Group<Option<Box<Error>>> for Duplicates {
    fn read(members: Members<'_>, _: Sender) -> Result<Option<Box<Error>>, WireError> {
        let is_twice = tables(members)
            .into_iter()
            .flat_map(Members::iter)
            .any(|(_, table)| has_duplicates(table));
        Ok(is_twice.then(|| Box::new(BatchError::DuplicateKeys.into())))
    }
}

fn keys_of(table: Json<'_>) -> JsonList<'_> {
    Members::of(table)
        .and_then(|table| table.list("Keys"))
        .unwrap_or_default()
}

fn check_count(name: &str, table: Json<'_>) -> Result<(), BatchError> {
    match keys_of(table).len() {
        0 => Err(BatchError::NoKeys(name.to_owned())),
        1..=BATCH_GET_KEYS_MAX => Ok(()),
        _ => Err(BatchError::TooManyKeys {
            table: name.to_owned(),
            max: BATCH_GET_KEYS_MAX,
        }),
    }
}

/// Checks that expressions and lists are not mixed: that of one table does not go with that of
/// another either.
fn check_table_mix(tables: Members<'_>) -> Result<(), WireError> {
    let with = |name: &str| {
        tables
            .iter()
            .filter_map(|(_, table)| Members::of(table))
            .find(|table| table.has(name))
    };
    match (with("AttributesToGet"), with("ProjectionExpression")) {
        (Some(_), Some(_)) => {
            let (legacy, expressions) = (
                "AttributesToGet".to_owned(),
                "ProjectionExpression".to_owned(),
            );
            Err(ExpressionError::Mixed {
                legacy,
                expressions,
            }
            .into())
        }
        _ => Ok(()),
    }
}

/// True if a key comes twice, as written: 1 and 1.0 are two keys here, and both return the item.
fn has_duplicates(table: Json<'_>) -> bool {
    let keys = keys_of(table);
    keys.enumerate()
        .any(|(place, key)| keys.take(place).any(|other| other == key))
}

fn table_keys(name: &str, json: Json<'_>) -> Result<TableKeys, WireError> {
    let table_name = names::table_at("requestItems", name)?;
    let members = Members::of(json).ok_or(WireError::NotAnObject)?;
    members::check_placeholders_wanted(members, &[])?;
    let attributes_to_get = members::attributes_to_get(members)?;
    let keys = keys_of(json)
        .map(attribute_value::item)
        .collect::<Result<Vec<Item>, _>>()?;
    Ok(TableKeys {
        table_name,
        keys,
        consistent_read: members.boolean("ConsistentRead").unwrap_or(false),
        projection_expression: members.owned("ProjectionExpression"),
        attributes_to_get,
        placeholders: members::names(members)?,
    })
}

/// The bytes of items' text in one response; the items after it are unprocessed. The service's
/// bound is on items, and their text may be nine times as long.
const ITEMS_TEXT_BYTES_MAX: usize = 24 * 1024 * 1024;

/// A writer of a response's body that takes the items as they come.
#[derive(Debug)]
pub struct BatchWriter<'r> {
    request: &'r BatchGetItemRequest,
    context: Context,
    /// The response up to the items of the first table, then from the end of one table's items to
    /// the end of the next one's.
    items: Vec<Vec<u8>>,
    /// The length of all items together, in bytes.
    bytes: usize,
    /// The error of the first row that could not be written; the batch fails with it.
    error: Option<StoreError>,
}

impl<'r> BatchWriter<'r> {
    pub fn new(request: &'r BatchGetItemRequest, context: Context) -> Self {
        let begin = |(place, name): (usize, &String)| {
            let mut out = if place == 0 {
                br#"{"Responses":{"#.to_vec()
            } else {
                b",".to_vec()
            };
            write::string(name, &mut out);
            out.extend_from_slice(b":[");
            out
        };
        let items = context.table_names.iter().enumerate().map(begin).collect();
        Self {
            request,
            items,
            context,
            bytes: 0,
            error: None,
        }
    }

    /// Appends an item of the table at `index` in the request; true if there is space for another
    /// one.
    pub fn row(&mut self, index: usize, row: ResultRow<'_>) -> bool {
        let Some(out) = self.items.get_mut(index).filter(|_| self.error.is_none()) else {
            return false;
        };
        let before = out.len();
        if out.last() != Some(&b'[') {
            out.push(b',');
        }
        self.error = row.write_dynamodb_json(out).err();
        self.bytes += out.len() - before;
        self.bytes < ITEMS_TEXT_BYTES_MAX
    }

    /// Returns the body.
    ///
    /// # Errors
    /// The error of the first row that could not be written.
    pub fn finish(self, page: &BatchGetItemPage) -> Result<Vec<u8>, StoreError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut tables = self.items.into_iter();
        // Moved, not copied: most batches have one table.
        let mut out = tables
            .next()
            .unwrap_or_else(|| br#"{"Responses":{"#.to_vec());
        for items in tables {
            out.push(b']');
            out.extend_from_slice(&items);
        }
        out.extend_from_slice(b"]},");
        let mut object = ObjectWriter::resume_in(&self.context, &mut out);
        let mut unprocessed = ObjectWriter::start(object.member("UnprocessedKeys"));
        for ((name, table), keys) in self
            .context
            .table_names
            .iter()
            .zip(&self.request.request_items)
            .zip(&page.unprocessed_keys)
        {
            if !keys.is_empty() {
                keys_and_attributes(table, keys, unprocessed.member(name));
            }
        }
        unprocessed.end();
        let consumed = self
            .context
            .table_names
            .iter()
            .map(String::as_str)
            .zip(&page.consumed_capacity);
        capacity::write_list(Units::Plain, consumed, &mut object);
        object.end();
        Ok(out)
    }
}

/// Writes `KeysAndAttributes` of a table with these of its keys.
fn keys_and_attributes(table: &TableKeys, keys: &[Item], out: &mut Vec<u8>) {
    let mut writer = ObjectWriter::start(out);
    let object = &mut writer;
    write::list(keys.iter(), object.member("Keys"), Item::write);
    write_member!(default object, "ConsistentRead", &table.consistent_read, bool, ());
    object.text_if("ProjectionExpression", table.projection_expression.as_ref());
    AttributesToGet::write(&table.attributes_to_get, object);
    Names::write(&table.placeholders, object);
    writer.end();
}

/// Reads the body of the response to `request`; passes its items to `rows`.
///
/// # Errors
/// [`Error::Remote`] if the body is no such response; some rows may already have been passed.
pub fn read_get_response(
    json: Json<'_>,
    request: &BatchGetItemRequest,
    rows: &mut BatchRowSink<'_>,
) -> Result<BatchGetItemPage, Error> {
    let members = response::members(json)?;
    let place_of = |name: &str| {
        let table = response::table_name(name)?;
        let place = request
            .request_items
            .iter()
            .position(|table_request| table_request.table_name == table);
        place.ok_or_else(|| response::unreadable(format_args!("table {name} was not asked for")))
    };
    for (name, items) in response::entries(members, "Responses")? {
        let place = place_of(name)?;
        let table_request = &request.request_items[place];
        let is_whole = table_request.projection_expression.is_none()
            && table_request.attributes_to_get.is_none();
        for json in response::list_of(items, name)? {
            let item = response::read_item(json)?;
            if !table_request
                .keys
                .iter()
                .any(|key| response::has_key(&item, key, is_whole))
            {
                return Err(response::unreadable(
                    "it has an item of a key that was not asked for",
                ));
            }
            rows(place, ResultRow::Item(&item));
        }
    }
    let mut unprocessed_keys = vec![Vec::new(); request.request_items.len()];
    for (name, json) in response::entries(members, "UnprocessedKeys")? {
        let keys = response::members(json)?.get("Keys");
        let keys = response::list_of(keys.ok_or_else(|| response::missing("Keys"))?, "Keys")?;
        let (place, keys) = (place_of(name)?, response::items(keys)?);
        if !keys
            .iter()
            .all(|key| request.request_items[place].keys.contains(key))
        {
            return Err(response::unreadable(
                "it leaves a key unprocessed that was not asked for",
            ));
        }
        unprocessed_keys[place] = keys;
    }
    let tables = request.request_items.iter().map(|table| &table.table_name);
    Ok(BatchGetItemPage {
        unprocessed_keys,
        consumed_capacity: capacity::in_table_order(&capacity::read_list(members)?, tables),
    })
}

fn check_write(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    if tables(members).is_none() {
        return Err(BatchError::RequestItemsMissing {
            operation: "BatchWriteItem",
        }
        .into());
    }
    members::constrained(json, &ENUMS)?;
    members::constrained(json, structure).map(|()| None)
}

/// The enums, checked first: a bad one is reported alone (docs/dynamodb.md 2.5).
static ENUMS: Structure = Structure {
    name: "BatchWriteItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        members::RETURN_ITEM_COLLECTION_METRICS,
    ],
};

static TABLE: Element = Element {
    shape: Shape::List(&WRITE_REQUEST_ELEMENT),
    rules: &[],
};
static WRITE_REQUEST_ELEMENT: Element = Element {
    shape: Shape::Structure(&WRITE_REQUEST),
    rules: &[],
};
static WRITE_REQUEST: Structure = Structure {
    name: "WriteRequest",
    members: &[
        Member::new("DeleteRequest", Shape::Structure(&DELETE_REQUEST)),
        Member::new("PutRequest", Shape::Structure(&PUT_REQUEST)),
    ],
};
static DELETE_REQUEST: Structure = Structure {
    name: "DeleteRequest",
    members: &[members::KEY.required()],
};
static PUT_REQUEST: Structure = Structure {
    name: "PutRequest",
    members: &[Member {
        name: "Item",
        ..members::KEY
    }
    .required()],
};

/// `RequestItems` of BatchWriteItem.
#[derive(Debug)]
pub struct WritesByTable;

impl Group<Vec<TableWrites>> for WritesByTable {
    const MEMBERS: &'static [Member] = &[Member::new("RequestItems", Shape::Map(&TABLE)).rules(&[
        Rule::MapTableNames,
        Rule::MapListLength(1, BATCH_WRITE_REQUESTS_MAX),
        Rule::LengthMax(BATCH_WRITE_REQUESTS_MAX),
    ])];

    fn read(members: Members<'_>, _: Sender) -> Result<Vec<TableWrites>, WireError> {
        read_tables(
            members,
            "BatchWriteItem",
            BATCH_WRITE_REQUESTS_MAX,
            |name, json| {
                let table_name = names::table_at("requestItems", name)?;
                let writes = json.as_list().unwrap_or_default();
                let requests = writes
                    .map(read_write_request)
                    .collect::<Result<Vec<_>, _>>()?;
                let count = requests.len();
                Ok((
                    TableWrites {
                        table_name,
                        requests,
                    },
                    count,
                ))
            },
        )
    }

    fn write(value: &Vec<TableWrites>, object: &mut ObjectWriter<'_>) {
        let mut tables = ObjectWriter::start(object.member("RequestItems"));
        for table in value {
            write::list(
                table.requests.iter(),
                tables.member(table.table_name.as_str()),
                put_write_request,
            );
        }
        tables.end();
    }
}

fn read_write_request(json: Json<'_>) -> Result<WriteRequest, WireError> {
    let members = Members::of(json).ok_or(WireError::NotAnObject)?;
    match (
        members.structure("PutRequest"),
        members.structure("DeleteRequest"),
    ) {
        (Some(put), None) => Ok(WriteRequest::Put(members::item(put, "Item")?)),
        (None, Some(delete)) => Ok(WriteRequest::Delete(members::item(delete, "Key")?)),
        _ => Err(ValueError::SeveralTypes.into()),
    }
}

fn put_write_request(write: &WriteRequest, out: &mut Vec<u8>) {
    let (request, member, item) = match write {
        WriteRequest::Put(item) => ("PutRequest", "Item", item),
        WriteRequest::Delete(key) => ("DeleteRequest", "Key", key),
    };
    let mut object = ObjectWriter::start(out);
    let mut inner = ObjectWriter::start(object.member(request));
    inner.item(member, item);
    inner.end();
    object.end();
}

/// The tables are those of the request; [`read_write_response`] is the inverse.
impl Body for BatchWriteItemResponse {
    fn write_body(&self, context: &Context, out: &mut Vec<u8>) {
        let names = || context.table_names.iter().map(String::as_str);
        let mut object = ObjectWriter::start_in(context, out);
        let mut unprocessed = ObjectWriter::start(object.member("UnprocessedItems"));
        for (name, writes) in names()
            .zip(&self.unprocessed_items)
            .filter(|(_, writes)| !writes.is_empty())
        {
            write::list(writes.iter(), unprocessed.member(name), put_write_request);
        }
        unprocessed.end();
        capacity::write_list(
            Units::Plain,
            names().zip(&self.consumed_capacity),
            &mut object,
        );
        let metrics = self.item_collection_metrics.iter().map(Vec::as_slice);
        capacity::write_metrics_by_table(names().zip(metrics), &mut object);
        object.end();
    }
}

/// Reads the body of the response to `request`.
///
/// # Errors
/// [`Error::Remote`] if the body is no such response.
pub fn read_write_response(
    json: Json<'_>,
    request: &BatchWriteItemRequest,
) -> Result<BatchWriteItemResponse, Error> {
    let members = response::members(json)?;
    let tables = || request.request_items.iter().map(|table| &table.table_name);
    let mut unprocessed_items = vec![Vec::new(); request.request_items.len()];
    for (name, json) in response::entries(members, "UnprocessedItems")? {
        let table = response::table_name(name)?;
        let place = tables().position(|asked| *asked == table);
        let place = place.ok_or_else(|| {
            response::unreadable(format_args!("nothing of table {name} was to be written"))
        })?;
        let writes = response::list_of(json, name)?
            .map(|json| read_write_request(json).map_err(response::unreadable));
        let writes = writes.collect::<Result<Vec<_>, _>>()?;
        if !writes
            .iter()
            .all(|write| request.request_items[place].requests.contains(write))
        {
            return Err(response::unreadable(
                "it leaves a write unprocessed that was not asked for",
            ));
        }
        unprocessed_items[place] = writes;
    }
    let mut metrics = capacity::read_metrics_by_table(members)?;
    let mut of = |table: &TableName| {
        metrics
            .iter_mut()
            .find(|(name, _)| name == table)
            .map(|(_, list)| std::mem::take(list))
    };
    Ok(BatchWriteItemResponse {
        consumed_capacity: capacity::in_table_order(&capacity::read_list(members)?, tables()),
        unprocessed_items,
        item_collection_metrics: tables()
            .map(|table| of(table).unwrap_or_default())
            .collect(),
    })
}

//! BatchGetItem: up to 100 keys of several tables in; their items out, and the keys that did not fit (docs/dynamodb.md 14.1).

use super::capacity::{self, Units};
use super::error::WireError;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use super::{answer, ask, attribute_value, members, names};
use crate::codec::dynamodb_json;
use crate::codec::json::document::{Json, List};
use crate::codec::row::{BatchRows, Row};
use crate::model::api::{BatchGetItemPage, BatchGetItemRequest, TableKeys};
use crate::model::error::{BatchError, ExpressionError, StoreError};
use crate::model::limits::BATCH_GET_KEYS_MAX;
use crate::model::{Error, Item};

const NAME: &str = "BatchGetItem";

pub static SHAPE: Structure = Structure {
    name: "BatchGetItemInput",
    members: &[
        Member::new("RequestItems", Shape::Map(&Element { shape: Shape::Structure(&KEYS_AND_ATTRIBUTES), rules: &[] }))
            .rules(&[Rule::MapTableNames, Rule::LengthMax(BATCH_GET_KEYS_MAX)]),
        members::RETURN_CONSUMED_CAPACITY,
    ],
};

static KEYS_AND_ATTRIBUTES: Structure = Structure {
    name: "KeysAndAttributes",
    members: &[
        members::ATTRIBUTES_TO_GET,
        members::CONSISTENT_READ,
        members::EXPRESSION_ATTRIBUTE_NAMES,
        Member::new("Keys", Shape::List(&KEY)).required(),
        members::PROJECTION_EXPRESSION,
    ],
};

static KEY: Element = Element { shape: Shape::Map(&attribute_value::ATTRIBUTE_VALUE_ELEMENT), rules: &[] };

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<BatchGetItemRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    // Before the constraints: one that is missing and one that is empty get the same text.
    let Some(tables) = members.structure("RequestItems").filter(|tables| tables.iter().next().is_some()) else {
        return Err(BatchError::NoRequestItems.into());
    };
    members::constrained(json, &SHAPE)?;
    tables.iter().try_for_each(|(name, table)| check_count(name, table))?;
    check_mix(tables)?;
    let mut request_items = Vec::new();
    let mut count = 0;
    for (name, json) in tables.iter() {
        let table = table_keys(name, json)?;
        count += table.keys.len();
        if count > BATCH_GET_KEYS_MAX {
            return Err(BatchError::TooManyItems { operation: NAME }.into());
        }
        request_items.push(table);
    }
    // For the operation to tell: expressions and placeholders, which it checks, come first.
    let fault = tables.iter().any(|(_, table)| has_duplicates(table)).then(|| Box::new(BatchError::DuplicateKeys.into()));
    Ok(BatchGetItemRequest { request_items, fault, return_consumed_capacity: members::return_consumed_capacity(members) })
}

fn keys_of(table: Json<'_>) -> List<'_> {
    Members::of(table).and_then(|table| table.list("Keys")).unwrap_or_default()
}

fn check_count(name: &str, table: Json<'_>) -> Result<(), BatchError> {
    match keys_of(table).len() {
        0 => Err(BatchError::NoKeys(name.to_owned())),
        1..=BATCH_GET_KEYS_MAX => Ok(()),
        _ => Err(BatchError::TooManyKeys { table: name.to_owned(), max: BATCH_GET_KEYS_MAX }),
    }
}

/// An expression of one table does not go with the list of another either.
fn check_mix(tables: Members<'_>) -> Result<(), WireError> {
    let with = |name: &str| tables.iter().filter_map(|(_, table)| Members::of(table)).find(|table| table.has(name));
    match (with("AttributesToGet"), with("ProjectionExpression")) {
        (Some(_), Some(_)) => {
            let (legacy, expressions) = ("AttributesToGet".to_owned(), "ProjectionExpression".to_owned());
            Err(ExpressionError::Mixed { legacy, expressions }.into())
        }
        _ => Ok(()),
    }
}

/// As written: 1 and 1.0 are two keys here, and both bring the item.
fn has_duplicates(table: Json<'_>) -> bool {
    let keys = keys_of(table);
    keys.enumerate().any(|(place, key)| keys.take(place).any(|other| other == key))
}

fn table_keys(name: &str, json: Json<'_>) -> Result<TableKeys, WireError> {
    let table_name = names::table_at("requestItems", name)?;
    let members = Members::of(json).ok_or(WireError::NotAnObject)?;
    members::check_placeholders_wanted(members, &[])?;
    let attributes_to_get = members::attributes_to_get(members)?;
    let keys = keys_of(json).map(attribute_value::item).collect::<Result<Vec<Item>, _>>()?;
    Ok(TableKeys {
        table_name,
        keys,
        consistent_read: members.boolean("ConsistentRead").unwrap_or(false),
        projection_expression: members.owned("ProjectionExpression"),
        attributes_to_get,
        placeholders: members::names(members)?,
    })
}

/// The tables as the body named them, in the order of the request's.
pub fn table_names(json: Json<'_>) -> Vec<String> {
    let tables = Members::of(json).and_then(|members| members.structure("RequestItems"));
    tables.into_iter().flat_map(Members::iter).map(|(name, _)| name.to_owned()).collect()
}

/// Text of items in one answer: those behind are unprocessed. The service's bound is of items, whose text may be nine times as long.
const ITEMS_TEXT_BYTES_MAX: usize = 24 * 1024 * 1024;

/// Writes the body of an answer, the items as they come.
#[derive(Debug)]
pub struct BatchWriter<'r> {
    request: &'r BatchGetItemRequest,
    names: Vec<String>,
    /// The answer up to the items of the first table, then from the end of one table's to the end of the next one's.
    items: Vec<Vec<u8>>,
    /// How long they are together.
    bytes: usize,
    /// The first row that could not be written; the batch fails with it.
    failed: Option<StoreError>,
}

impl<'r> BatchWriter<'r> {
    /// `names` are those of [`table_names`].
    pub fn new(request: &'r BatchGetItemRequest, names: Vec<String>) -> Self {
        let begin = |(place, name): (usize, &String)| {
            let mut out = if place == 0 { br#"{"Responses":{"#.to_vec() } else { b",".to_vec() };
            write::string(name, &mut out);
            out.extend_from_slice(b":[");
            out
        };
        let items = names.iter().enumerate().map(begin).collect();
        Self { request, items, names, bytes: 0, failed: None }
    }

    /// Appends an item of the table at `place` in the request; whether there is room for another one.
    pub fn row(&mut self, place: usize, row: Row<'_>) -> bool {
        let Some(out) = self.items.get_mut(place).filter(|_| self.failed.is_none()) else { return false };
        let before = out.len();
        if out.last() != Some(&b'[') {
            out.push(b',');
        }
        self.failed = row.write_dynamodb_json(out).err();
        self.bytes += out.len() - before;
        self.bytes < ITEMS_TEXT_BYTES_MAX
    }

    /// The body.
    ///
    /// # Errors
    /// The first row that could not be written.
    pub fn finish(self, page: &BatchGetItemPage) -> Result<Vec<u8>, StoreError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut tables = self.items.into_iter();
        // As it is: most batches are of one table.
        let mut out = tables.next().unwrap_or_else(|| br#"{"Responses":{"#.to_vec());
        for items in tables {
            out.push(b']');
            out.extend_from_slice(&items);
        }
        out.extend_from_slice(b"]},");
        let mut rest = Vec::new();
        let mut object = ObjectWriter::start(&mut rest);
        let mut unprocessed = ObjectWriter::start(object.member("UnprocessedKeys"));
        for ((name, table), keys) in self.names.iter().zip(&self.request.request_items).zip(&page.unprocessed_keys) {
            if !keys.is_empty() {
                keys_and_attributes(table, keys, unprocessed.member(name));
            }
        }
        unprocessed.end();
        let consumed = self.names.iter().map(String::as_str).zip(&page.consumed_capacity);
        capacity::write_list(self.request.return_consumed_capacity, Units::Plain, consumed, &mut object);
        object.end();
        // Without its brace: the object was opened before the items.
        out.extend_from_slice(rest.get(1..).unwrap_or_default());
        Ok(out)
    }
}

/// `KeysAndAttributes` of a table, with these of its keys.
fn keys_and_attributes(table: &TableKeys, keys: &[Item], out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(keys.iter(), object.member("Keys"), dynamodb_json::write_item);
    object.flag("ConsistentRead", table.consistent_read);
    object.text_if("ProjectionExpression", table.projection_expression.as_ref());
    ask::attributes_to_get(table.attributes_to_get.as_ref(), &mut object);
    ask::placeholders(&table.placeholders, &mut object);
    object.end();
}

/// Appends the body of a request.
pub fn write_request(request: &BatchGetItemRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    let mut tables = ObjectWriter::start(object.member("RequestItems"));
    for table in &request.request_items {
        keys_and_attributes(table, &table.keys, tables.member(table.table_name.as_str()));
    }
    tables.end();
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of the answer to `request`, its items given to `rows`.
///
/// # Errors
/// It is none; rows may have been given.
pub fn read_response(json: Json<'_>, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
    let members = answer::members(json)?;
    let place_of = |name: &str| {
        let table = answer::table_name(name)?;
        let place = request.request_items.iter().position(|asked| asked.table_name == table);
        place.ok_or_else(|| answer::unreadable(format_args!("table {name} was not asked for")))
    };
    for (name, items) in members.structure("Responses").into_iter().flat_map(Members::iter) {
        let place = place_of(name)?;
        let asked = &request.request_items[place];
        let is_whole = asked.projection_expression.is_none() && asked.attributes_to_get.is_none();
        for json in items.as_list().unwrap_or_default() {
            let item = answer::item_of(json)?;
            if !asked.keys.iter().any(|key| answer::has_key(&item, key, is_whole)) {
                return Err(answer::unreadable("it has an item of a key that was not asked for"));
            }
            rows(place, Row::Item(&item));
        }
    }
    let mut unprocessed_keys = vec![Vec::new(); request.request_items.len()];
    for (name, json) in members.structure("UnprocessedKeys").into_iter().flat_map(Members::iter) {
        let (place, keys) = (place_of(name)?, answer::items(Some(keys_of(json)))?);
        if !keys.iter().all(|key| request.request_items[place].keys.contains(key)) {
            return Err(answer::unreadable("it leaves a key unprocessed that was not asked for"));
        }
        unprocessed_keys[place] = keys;
    }
    let tables = request.request_items.iter().map(|table| &table.table_name);
    Ok(BatchGetItemPage { unprocessed_keys, consumed_capacity: capacity::of_tables(&capacity::read_list(members)?, tables) })
}

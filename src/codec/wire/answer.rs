//! Reading what another service answered. A member of a wrong type is an error, not an absent one: what is read here becomes files.

use super::error::WireError;
use super::shape::Members;
use super::{attribute_value, json_type};
use crate::codec::json::document::{Json, List};
use crate::model::error::RemoteError;
use crate::model::limits::ITEM_BYTES_MAX;
use crate::model::{Error, IndexName, Item, TableName, arn};

/// Services weigh numbers and limits differently; twice DynamoDB's is nobody's.
const ITEM_BYTES_TAKEN: usize = 2 * ITEM_BYTES_MAX;

/// What is wrong with an answer.
pub fn unreadable(what: impl std::fmt::Display) -> Error {
    RemoteError::unreadable(what).into()
}

/// What a reader of requests says of an answer.
pub fn of_wire(error: WireError) -> Error {
    match error {
        WireError::Request(error @ Error::Remote(_)) => error,
        error => unreadable(error),
    }
}

/// The answer's members.
///
/// # Errors
/// It is no object.
pub fn members(json: Json<'_>) -> Result<Members<'_>, Error> {
    Members::of(json).ok_or_else(|| unreadable("it is no JSON object"))
}

/// The structure `name`, which must be there.
///
/// # Errors
/// It is not.
pub fn structure<'a>(members: Members<'a>, name: &str) -> Result<Members<'a>, Error> {
    members.structure(name).ok_or_else(|| missing(name))
}

/// The text `name`, which must be there.
///
/// # Errors
/// It is not.
pub fn text<'a>(members: Members<'a>, name: &str) -> Result<&'a str, Error> {
    members.string(name).ok_or_else(|| missing(name))
}

/// The whole number `name`; one that is not there is 0.
pub fn whole(members: Members<'_>, name: &str) -> u64 {
    members.integer(name).and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}

/// A member that must be there.
pub fn missing(name: &str) -> Error {
    unreadable(format_args!("it has no {name}"))
}

/// The item under `name`, if there is one.
///
/// # Errors
/// Something in it is no value.
pub fn item(members: Members<'_>, name: &str) -> Result<Option<Item>, Error> {
    members.get(name).map(item_of).transpose()
}

/// An item.
///
/// # Errors
/// Something in it is no value: it is not to be taken for an empty one.
pub fn item_of(json: Json<'_>) -> Result<Item, Error> {
    json_type::check_item(json).map_err(unreadable)?;
    let item = attribute_value::item(json).map_err(unreadable)?;
    match item.size() {
        ..=ITEM_BYTES_TAKEN => Ok(item),
        bytes => Err(unreadable(format_args!("it has an item of {bytes} bytes, which is larger than any of DynamoDB's"))),
    }
}

/// Checks that an item is the one under `key`: whole ones have all of the key, others of it only what was projected.
///
/// # Errors
/// It is another's.
pub fn check_key(item: &Item, key: &Item, is_whole: bool) -> Result<(), Error> {
    if has_key(item, key, is_whole) { Ok(()) } else { Err(unreadable("it has the item of another key than was asked for")) }
}

/// Is it the item under `key`, as far as it can be seen?
pub fn has_key(item: &Item, key: &Item, is_whole: bool) -> bool {
    key.0.iter().all(|(name, value)| item.get(name).map_or(!is_whole, |found| found == value))
}

/// The items of `list`.
///
/// # Errors
/// The first that is none.
pub fn items(list: Option<List<'_>>) -> Result<Vec<Item>, Error> {
    list.unwrap_or_default().map(item_of).collect()
}

/// A table named plainly or by its ARN.
///
/// # Errors
/// It is no name.
pub fn table_name(text: &str) -> Result<TableName, Error> {
    arn::table_named(text).map_err(|fault| unreadable(format_args!("{text:?} names no table: {fault}")))
}

/// An index's name.
///
/// # Errors
/// It is none.
pub fn index_name(text: &str) -> Result<IndexName, Error> {
    IndexName::new(text).map_err(|fault| unreadable(format_args!("{text:?} names no index: {fault}")))
}

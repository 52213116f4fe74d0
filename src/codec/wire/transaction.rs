//! What TransactGetItems and TransactWriteItems share: reading one part after the other (docs/dynamodb.md 15.1), and why a transaction was
//! cancelled (15.1).

use super::error::WireError;
use super::shape::Members;
use super::write::{self, ObjectWriter};
use super::{answer, members};
use crate::codec::dynamodb_json;
use crate::model::error::{Cancellation, ValueError};
use crate::model::{Error, Item};

/// The parts before the first that is at fault, and that fault, which is told when those before it were checked: a transaction is
/// checked part by part, and the operation checks expressions. A part whose item or key has a bad value comes with that fault: its
/// own expressions are told of first.
///
/// # Errors
/// What no operation could say.
pub fn until_fault<T>(
    parts: impl Iterator<Item = Result<(T, Option<ValueError>), WireError>>,
) -> Result<(Vec<T>, Option<Box<Error>>), WireError> {
    let mut read = Vec::new();
    for part in parts {
        match part {
            Ok((part, fault)) => {
                read.push(part);
                if let Some(fault) = fault {
                    return Ok((read, Some(Box::new(fault.into()))));
                }
            }
            Err(WireError::Request(fault)) => return Ok((read, Some(Box::new(fault)))),
            Err(error) => return Err(error),
        }
    }
    Ok((read, None))
}

/// The item or key under `name`. One with a bad value is given without its attributes, and with that fault.
///
/// # Errors
/// What is no fault of a value.
pub fn item(members: Members<'_>, name: &str) -> Result<(Item, Option<ValueError>), WireError> {
    match members::item(members, name) {
        Ok(item) => Ok((item, None)),
        Err(WireError::Request(Error::Value(fault))) => Ok((Item::default(), Some(fault))),
        Err(error) => Err(error),
    }
}

/// The value of `CancellationReasons`.
pub fn reasons(cancellation: &Cancellation, out: &mut Vec<u8>) {
    write::list(cancellation.0.iter(), out, |reason, out| {
        let mut object = ObjectWriter::start(out);
        write::string(reason.code(), object.member("Code"));
        if let Some(message) = reason.message() {
            write::string(&message, object.member("Message"));
        }
        if let Some(item) = reason.item() {
            dynamodb_json::write_item(item, object.member("Item"));
        }
        object.end();
    });
}

/// The items of an answer, one for each part.
///
/// # Errors
/// One that is none.
pub fn read_items(members: Members<'_>) -> Result<Vec<Option<Item>>, Error> {
    let responses = members.list("Responses").unwrap_or_default();
    responses.map(|json| if json.is_null() { Ok(None) } else { answer::item(answer::members(json)?, "Item") }).collect()
}

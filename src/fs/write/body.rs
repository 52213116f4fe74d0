//! A complete text to the PutItem it asks for.

use crate::codec::digest::digest;
use crate::codec::plain_json::{PlainJsonError, PlainJsonFault};
use crate::codec::{dynamodb_json, key, plain_json};
use crate::database::TextForm;
use crate::fs::FsError;
use crate::model::Item;
use crate::model::api::{Precondition, PutItemRequest};
use crate::model::error::ValueError;
use crate::model::schema::KeyAttribute;

use super::Commit;
use super::item_writer::{ItemTarget, KeyPart};

/// Parses `text` in the target's form and completes it with the key that the name says.
///
/// # Errors
/// `Json` with the offset, `Body` when the text is of the other form or its key does not fit the name, `TooLarge`.
pub fn put_request(
    target: &ItemTarget,
    text: &[u8],
    precondition: Option<Precondition>,
) -> Result<Commit<PutItemRequest>, FsError> {
    let mut item = parse(target.form, text)?;
    let mut warnings = Vec::new();
    let parts = std::iter::once(&target.key.partition).chain(&target.key.sort);
    for (attribute, part) in target.key_schema.attributes().zip(parts) {
        warnings.extend(complete_key(&mut item, attribute, part, target.strict_keys)?);
    }
    let mut request = PutItemRequest::new(target.table.clone(), item);
    request.precondition = precondition;
    Ok(Commit { request, warnings })
}

fn parse(form: TextForm, text: &[u8]) -> Result<Item, FsError> {
    match form {
        TextForm::PlainJson => {
            let item = plain_json::parse(text).map_err(text_error)?;
            if plain_json::looks_like_dynamodb_json(&item) {
                return Err(FsError::Body("this looks like DynamoDB JSON; write it to the .ddbjson name instead".to_owned()));
            }
            Ok(item)
        }
        TextForm::DynamoDbJson => dynamodb_json::parse(text).map_err(text_error),
    }
}

fn text_error(error: PlainJsonError) -> FsError {
    if error.fault == PlainJsonFault::Value(ValueError::ItemTooLarge) { FsError::TooLarge } else { FsError::Json(error) }
}

/// Gives `item` the key attribute of the name; a warning when the body's was another.
fn complete_key(item: &mut Item, attribute: &KeyAttribute, part: &KeyPart, strict: bool) -> Result<Option<String>, FsError> {
    let name = &attribute.name;
    let body = item.get(name);
    match part {
        KeyPart::Value(value) if body == Some(value) => Ok(None),
        KeyPart::Value(_) if strict && body.is_some() => {
            Err(FsError::Body(format!("`{name}` in the body differs from the key that the file's name says")))
        }
        KeyPart::Value(value) => {
            let replaced = item.0.insert(name.clone(), value.clone());
            Ok(replaced.map(|_| format!("`{name}` in the body differs from the file's name; the name's key was stored")))
        }
        KeyPart::Digest(expected) => match body {
            None => Err(FsError::Body(format!("the file's name is a shortened one, so the body must hold `{name}`"))),
            Some(value) if value.attribute_type() != attribute.attribute_type.as_attribute_type() => Err(FsError::Body(format!(
                "`{name}` in the body is of type {}, the key is of type {}",
                value.attribute_type(),
                attribute.attribute_type.as_attribute_type()
            ))),
            Some(value) => {
                let mut encoded = Vec::new();
                key::encode(value, &mut encoded);
                if digest(&encoded) == *expected {
                    Ok(None)
                } else {
                    Err(FsError::Body(format!("`{name}` in the body is not the key that the file's shortened name stands for")))
                }
            }
        },
    }
}

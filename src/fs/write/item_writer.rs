//! `X.json` and `X.ddbjson`: an item as a text file, and the PutItem that a complete text asks for.
//! `open/put.rs` carries it out.

use super::text_writer::TextWriter;
use super::{Commit, TextTarget};
use crate::codec::plain_json::{PlainJsonError, PlainJsonFault};
use crate::codec::{digest::Digest, dynamodb_json, key};
use crate::fs::prelude::*;
use crate::model::{KeySchema, api::PutItemRequest, error::ValueError};

/// The write state machine of an item file.
pub type ItemTextWriter = TextWriter<ItemTarget>;

/// The item that a text becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemTarget {
    pub table: TableName,
    pub key_schema: KeySchema,
    pub key: TargetKey,
    pub form: TextForm,
    /// `-o keys=strict`: a key in the body that differs from the name's is an error, not a warning.
    pub strict_keys: bool,
}

/// The key in the filesystem path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetKey {
    pub partition: KeyPart,
    /// The sort key, of a composite table.
    pub sort: Option<KeyPart>,
}

/// A key attribute in the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyPart {
    Value(AttributeValue),
    /// The alias of a long key that is not stored yet (`%~` and the digest): the body must hold the
    /// value. The digest is that of the value's ordered encoding.
    Digest(Digest),
}

impl ItemTarget {
    /// Returns the item's key, if the name has it.
    #[must_use]
    pub fn known_key(&self) -> Option<Key> {
        let value = |part: &KeyPart| match part {
            KeyPart::Value(value) => Some(value.clone()),
            KeyPart::Digest(_) => None,
        };
        let sort = match &self.key.sort {
            Some(part) => Some(value(part)?),
            None => None,
        };
        Some(Key {
            partition: value(&self.key.partition)?,
            sort,
        })
    }

    /// True if the name has the item's key.
    #[must_use]
    pub fn is_key_known(&self) -> bool {
        let parts = std::iter::once(&self.key.partition).chain(&self.key.sort);
        parts
            .into_iter()
            .all(|part| matches!(part, KeyPart::Value(_)))
    }

    /// Returns a PutItem of the key alone that requires that the item is absent, and the key.
    ///
    /// # Errors
    /// The name does not have the key.
    pub fn key_request(&self) -> Result<(PutItemRequest, Key), FsError> {
        let problem =
            || FsError::Body("the name is shortened: write the item with its key in it".to_owned());
        let key = self.known_key().ok_or_else(problem)?;
        let mut request = PutItemRequest::new(self.table.clone(), key.to_item(&self.key_schema));
        request.precondition = Some(Precondition::Absent);
        Ok((request, key))
    }
}

impl TextTarget for ItemTarget {
    type Request = PutItemRequest;

    fn request(
        &self,
        text: &[u8],
        precondition: Option<Precondition>,
    ) -> Result<Commit<PutItemRequest>, FsError> {
        put_request(self, text, precondition)
    }

    fn accepts_whole(&self) -> bool {
        true
    }

    fn unchanged(&self) -> &'static str {
        "The item is unchanged."
    }
}

/// Parses `text` in the target's form and completes it with the key of the name.
///
/// # Errors
/// `Json` with the offset; `Body` if the text is of the other form or its key does not fit the
/// name; `TooLarge`.
fn put_request(
    target: &ItemTarget,
    text: &[u8],
    precondition: Option<Precondition>,
) -> Result<Commit<PutItemRequest>, FsError> {
    let mut item = parse(target.form, text)?;
    let mut warnings = Vec::new();
    let parts = std::iter::once(&target.key.partition).chain(&target.key.sort);
    for (attribute, part) in target.key_schema.attributes().zip(parts) {
        warnings.extend(complete_key(
            &mut item,
            attribute,
            part,
            target.strict_keys,
        )?);
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
                return Err(FsError::Body(
                    "this looks like DynamoDB JSON; write it to the .ddbjson name instead"
                        .to_owned(),
                ));
            }
            Ok(item)
        }
        TextForm::DynamoDbJson => dynamodb_json::parse(text).map_err(text_error),
    }
}

fn text_error(error: PlainJsonError) -> FsError {
    if error.fault == PlainJsonFault::Value(ValueError::ItemTooLarge) {
        FsError::TooLarge
    } else {
        FsError::Json(error)
    }
}

/// Gives `item` the key attribute of the name; returns a warning if the body had another value.
fn complete_key(
    item: &mut Item,
    attribute: &KeyAttribute,
    part: &KeyPart,
    strict: bool,
) -> Result<Option<String>, FsError> {
    let name = &attribute.name;
    let body = item.get(name);
    match part {
        KeyPart::Value(value) if body == Some(value) => Ok(None),
        KeyPart::Value(_) if strict && body.is_some() => Err(FsError::Body(format!(
            "`{name}` in the body differs from the key that the file's name says"
        ))),
        KeyPart::Value(value) => {
            let replaced = item.0.insert(name.clone(), value.clone());
            Ok(replaced.map(|_| {
                format!(
                    "`{name}` in the body differs from the file's name; the name's key was stored"
                )
            }))
        }
        KeyPart::Digest(expected) => match body {
            None => Err(FsError::Body(format!(
                "the file's name is a shortened one, so the body must hold `{name}`"
            ))),
            Some(value)
                if value.attribute_type() != attribute.attribute_type.as_attribute_type() =>
            {
                Err(FsError::Body(format!(
                    "`{name}` in the body is of type {}, the key is of type {}",
                    value.attribute_type(),
                    attribute.attribute_type.as_attribute_type()
                )))
            }
            Some(value) if key::partition_digest(&[value]) == *expected => Ok(None),
            Some(_) => Err(FsError::Body(format!(
                "`{name}` in the body is not the key that the file's shortened name stands for"
            ))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::KeyAttributeType;

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn attribute(name: &str, attribute_type: KeyAttributeType) -> KeyAttribute {
        KeyAttribute {
            name: name.to_owned(),
            attribute_type,
        }
    }

    fn target(sort: KeyPart) -> ItemTarget {
        ItemTarget {
            table: TableName::new("Orders").unwrap(),
            key_schema: KeySchema {
                partition: attribute("pk", KeyAttributeType::S),
                sort: Some(attribute("sk", KeyAttributeType::S)),
            },
            key: TargetKey {
                partition: KeyPart::Value(s("u1")),
                sort: Some(sort),
            },
            form: TextForm::PlainJson,
            strict_keys: false,
        }
    }

    fn alias_of(value: &AttributeValue) -> KeyPart {
        KeyPart::Digest(key::partition_digest(&[value]))
    }

    /// Returns the item and the number of warnings, or the error's text.
    fn put(target: &ItemTarget, text: &str) -> Result<(Item, usize), String> {
        let commit =
            put_request(target, text.as_bytes(), None).map_err(|error| error.to_string())?;
        Ok((commit.request.item, commit.warnings.len()))
    }

    fn item(sort: &str) -> Item {
        Item::from([("pk", s("u1")), ("sk", s(sort)), ("a", s("x"))])
    }

    #[test]
    fn missing_keys_come_from_the_name() {
        let target = target(KeyPart::Value(s("o1")));
        assert_eq!(put(&target, r#"{"a":"x"}"#), Ok((item("o1"), 0)));
        assert_eq!(
            put(&target, r#"{"pk":"u1","sk":"o1","a":"x"}"#),
            Ok((item("o1"), 0))
        );
    }

    #[test]
    fn the_name_wins_over_another_key_in_the_body() {
        let mut target = target(KeyPart::Value(s("o1")));
        assert_eq!(
            put(&target, r#"{"pk":"u2","sk":3,"a":"x"}"#),
            Ok((item("o1"), 2))
        );
        target.strict_keys = true;
        assert_eq!(put(&target, r#"{"pk":"u1","a":"x"}"#), Ok((item("o1"), 0)));
        assert_eq!(
            put(&target, r#"{"sk":"o2","a":"x"}"#),
            Err("`sk` in the body differs from the key that the file's name says".to_owned())
        );
    }

    #[test]
    fn an_alias_needs_its_key_in_the_body() {
        let long = "o".repeat(900);
        let target = target(alias_of(&s(&long)));
        assert_eq!(
            put(&target, &format!(r#"{{"sk":"{long}","a":"x"}}"#)),
            Ok((item(&long), 0))
        );
        for body in [
            r#"{"a":"x"}"#,
            r#"{"sk":"o1"}"#,
            r#"{"sk":1}"#,
            r#"{"sk":["o1"]}"#,
        ] {
            assert!(put(&target, body).unwrap_err().contains("`sk`"), "{body}");
        }
    }

    #[test]
    fn the_typed_form_is_not_guessed() {
        let mut target = target(KeyPart::Value(s("o1")));
        let typed = r#"{"a":{"S":"x"}}"#;
        assert!(put(&target, typed).unwrap_err().contains(".ddbjson"));
        assert!(put(&target, "{}").is_ok());
        target.form = TextForm::DynamoDbJson;
        assert_eq!(put(&target, typed), Ok((item("o1"), 0)));
        assert!(put(&target, r#"{"a":"x"}"#).is_err());
    }

    #[test]
    fn rules_of_items_fail_with_their_place() {
        let target = target(KeyPart::Value(s("o1")));
        for (body, offset) in [
            (r#"{"a":1,"a":2}"#, 7),
            (r#"{"a":{"$ss":[]}}"#, 12),
            (r#"{"a":1e999}"#, 5),
        ] {
            match put_request(&target, body.as_bytes(), None) {
                Err(FsError::Json(error)) => assert_eq!(error.offset, offset, "{body}: {error}"),
                other => panic!("{body}: {other:?}"),
            }
        }
    }
}

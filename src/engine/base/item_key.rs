//! Validation of primary keys: in an item to put, and as a `Key` parameter (docs/dynamodb.md 6.2).

use crate::engine::prelude::*;
use crate::model::{
    KeyAttribute, KeySchema,
    error::KeyError,
    limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX},
};

/// The role of a key attribute, which decides its size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRole {
    Partition,
    Sort,
}

impl KeyRole {
    /// Returns the greatest size of a key value, in bytes.
    pub fn bytes_max(self) -> usize {
        match self {
            Self::Partition => PARTITION_KEY_BYTES_MAX,
            Self::Sort => SORT_KEY_BYTES_MAX,
        }
    }

    /// Returns the error of a key value beyond the limit.
    pub fn too_large(self) -> KeyError {
        match self {
            Self::Partition => KeyError::PartitionTooLarge,
            Self::Sort => KeyError::SortTooLarge,
        }
    }
}

/// True if the value is an empty string or binary, which cannot be a key.
pub fn is_empty_key(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::S(text) => text.is_empty(),
        AttributeValue::B(bytes) => bytes.is_empty(),
        _ => false,
    }
}

/// Returns the bytes of a key value that count against the key limits; 0 for numbers, which never
/// reach them.
pub fn key_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(bytes) => bytes.len(),
        _ => 0,
    }
}

fn roles(schema: &KeySchema) -> impl Iterator<Item = (&KeyAttribute, KeyRole)> {
    let sort = schema
        .sort
        .as_ref()
        .map(|attribute| (attribute, KeyRole::Sort));
    std::iter::once((&schema.partition, KeyRole::Partition)).chain(sort)
}

fn check_content(
    attribute: &KeyAttribute,
    role: KeyRole,
    value: &AttributeValue,
) -> Result<(), KeyError> {
    if is_empty_key(value) {
        return Err(match value {
            AttributeValue::B(_) => KeyError::EmptyBinary(attribute.name.clone()),
            _ => KeyError::EmptyString(attribute.name.clone()),
        });
    }
    if key_bytes(value) > role.bytes_max() {
        Err(role.too_large())
    } else {
        Ok(())
    }
}

/// Returns the primary key of an item to put.
///
/// # Errors
/// Fails for each key attribute in order: missing, type, empty, size.
pub fn key_of_item(schema: &KeySchema, item: &Item) -> Result<Key, KeyError> {
    for (attribute, role) in roles(schema) {
        let value = item
            .get(&attribute.name)
            .ok_or_else(|| KeyError::Missing(attribute.name.clone()))?;
        let expected = attribute.attribute_type.as_attribute_type();
        let actual = value.attribute_type();
        if actual != expected {
            return Err(KeyError::TypeMismatch {
                name: attribute.name.clone(),
                expected,
                actual,
            });
        }
        check_content(attribute, role, value)?;
    }
    item.key(schema).ok_or(KeyError::SchemaMismatch)
}

/// True if a key has the types of the schema.
pub fn has_types(schema: &KeySchema, key: &Key) -> bool {
    let is_of = |attribute: &KeyAttribute, value: &AttributeValue| {
        value.attribute_type() == attribute.attribute_type.as_attribute_type()
    };
    is_of(&schema.partition, &key.partition)
        && match (&schema.sort, &key.sort) {
            (Some(attribute), Some(value)) => is_of(attribute, value),
            (None, None) => true,
            _ => false,
        }
}

/// Returns the primary key of a stored item.
///
/// # Errors
/// Fails with `Corrupt` if the item lacks a key attribute or has one of another type.
pub fn key_of_stored(schema: &KeySchema, item: &Item) -> Result<Key, StoreError> {
    item.key(schema)
        .filter(|key| has_types(schema, key))
        .ok_or(StoreError::Corrupt("the primary key of an item"))
}

/// Returns the primary key of a `Key` parameter.
///
/// # Errors
/// Fails with `SchemaMismatch` if attributes are missing, too many or of another type; then for
/// each attribute: empty, size.
pub fn key_of_parameter(schema: &KeySchema, parameter: &Item) -> Result<Key, KeyError> {
    if parameter.0.len() != schema.attributes().count() {
        return Err(KeyError::SchemaMismatch);
    }
    for (attribute, role) in roles(schema) {
        let value = parameter
            .get(&attribute.name)
            .ok_or(KeyError::SchemaMismatch)?;
        if value.attribute_type() != attribute.attribute_type.as_attribute_type() {
            return Err(KeyError::SchemaMismatch);
        }
        check_content(attribute, role, value)?;
    }
    parameter.key(schema).ok_or(KeyError::SchemaMismatch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AttributeType;
    use crate::model::schema::KeyAttributeType;

    fn schema() -> KeySchema {
        let attribute = |name: &str, attribute_type| KeyAttribute {
            name: name.into(),
            attribute_type,
        };
        KeySchema {
            partition: attribute("pk", KeyAttributeType::S),
            sort: Some(attribute("sk", KeyAttributeType::B)),
        }
    }

    fn s(bytes: usize) -> AttributeValue {
        AttributeValue::S("x".repeat(bytes))
    }

    fn b(bytes: usize) -> AttributeValue {
        AttributeValue::B(vec![1; bytes])
    }

    /// Checks the result as an item's key and as a `Key` parameter.
    fn check(item: Item, in_item: Result<(), KeyError>, as_parameter: Result<(), KeyError>) {
        assert_eq!(
            key_of_item(&schema(), &item).map(|_| ()),
            in_item,
            "item {item:?}"
        );
        assert_eq!(
            key_of_parameter(&schema(), &item).map(|_| ()),
            as_parameter,
            "parameter {item:?}"
        );
    }

    #[test]
    fn table_of_keys() {
        let same = |item, error: KeyError| check(item, Err(error.clone()), Err(error));
        let mismatch = || Err(KeyError::SchemaMismatch);
        let types = |name: &str, expected, actual| {
            Err(KeyError::TypeMismatch {
                name: name.into(),
                expected,
                actual,
            })
        };
        check(
            Item::from([("pk", s(2048)), ("sk", b(1024))]),
            Ok(()),
            Ok(()),
        );
        check(
            Item::from([("pk", s(1)), ("sk", b(1)), ("a", s(1))]),
            Ok(()),
            mismatch(),
        );
        check(
            Item::from([("sk", b(1))]),
            Err(KeyError::Missing("pk".into())),
            mismatch(),
        );
        check(
            Item::from([("pk", s(1))]),
            Err(KeyError::Missing("sk".into())),
            mismatch(),
        );
        check(
            Item::from([("pk", s(1)), ("a", b(1))]),
            Err(KeyError::Missing("sk".into())),
            mismatch(),
        );
        let wrong = types("pk", AttributeType::S, AttributeType::B);
        check(Item::from([("pk", b(1)), ("sk", b(1))]), wrong, mismatch());
        let wrong = types("sk", AttributeType::B, AttributeType::Null);
        check(
            Item::from([("pk", s(1)), ("sk", AttributeValue::Null)]),
            wrong,
            mismatch(),
        );
        same(
            Item::from([("pk", s(0)), ("sk", b(1))]),
            KeyError::EmptyString("pk".into()),
        );
        same(
            Item::from([("pk", s(1)), ("sk", b(0))]),
            KeyError::EmptyBinary("sk".into()),
        );
        same(
            Item::from([("pk", s(2049)), ("sk", b(1))]),
            KeyError::PartitionTooLarge,
        );
        same(
            Item::from([("pk", s(1)), ("sk", b(1025))]),
            KeyError::SortTooLarge,
        );
    }
}

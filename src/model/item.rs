//! Items and primary keys.

use std::collections::BTreeMap;

use super::attribute_value::AttributeValue;
use super::schema::KeySchema;

/// An item: attributes by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Item(pub BTreeMap<String, AttributeValue>);

impl Item {
    /// Size in bytes: every name plus every value (SEMANTICS 5.1).
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.size()).sum()
    }

    /// The attribute's value, if the item has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.get(name)
    }

    /// The primary key of this item under `schema`, if every key attribute is there.
    #[must_use]
    pub fn key(&self, schema: &KeySchema) -> Option<Key> {
        let partition = self.get(&schema.partition.name)?.clone();
        let sort = match &schema.sort {
            Some(attribute) => Some(self.get(&attribute.name)?.clone()),
            None => None,
        };
        Some(Key { partition, sort })
    }
}

impl<const N: usize> From<[(&str, AttributeValue); N]> for Item {
    fn from(pairs: [(&str, AttributeValue); N]) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// The primary key of a base item: values only, the names are the schema's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub partition: AttributeValue,
    pub sort: Option<AttributeValue>,
}

impl Key {
    /// The key as an item of one or two attributes, named by `schema`.
    #[must_use]
    pub fn to_item(&self, schema: &KeySchema) -> Item {
        let mut item = Item::default();
        item.0.insert(schema.partition.name.clone(), self.partition.clone());
        if let (Some(attribute), Some(value)) = (&schema.sort, &self.sort) {
            item.0.insert(attribute.name.clone(), value.clone());
        }
        item
    }
}

//! Items and primary keys.

use std::collections::BTreeMap;

use super::attribute_value::{self, AttributeValue};
use super::error::ValueError;
use super::limits::ITEM_BYTES_MAX;
use super::schema::KeySchema;

/// An item: attributes by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Item(pub BTreeMap<String, AttributeValue>);

impl Item {
    /// Size in bytes: every name plus every value (docs/dynamodb.md 5.1).
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.size()).sum()
    }

    /// Checks every name in the item, in maps too (docs/dynamodb.md 3.4): the last guard of every write.
    ///
    /// # Errors
    /// [`ValueError::EmptyAttributeName`], [`ValueError::AttributeNameTooLong`].
    pub fn check_names(&self) -> Result<(), ValueError> {
        attribute_value::check_names(&self.0)
    }

    /// Checks names, depth and size of an item to be put (docs/dynamodb.md 3.2, 5.2). Sets are checked where values are built.
    ///
    /// # Errors
    /// [`ValueError::Nesting`], those of [`Self::check_names`], [`ValueError::ItemTooLarge`].
    pub fn check_limits(&self) -> Result<(), ValueError> {
        self.check_nesting()?;
        self.check_names()?;
        if self.size() > ITEM_BYTES_MAX { Err(ValueError::ItemTooLarge) } else { Ok(()) }
    }

    /// The depth of its values.
    ///
    /// # Errors
    /// [`ValueError::Nesting`].
    pub fn check_nesting(&self) -> Result<(), ValueError> {
        self.0.values().try_for_each(AttributeValue::check_nesting)
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

#[cfg(test)]
mod tests {
    use super::*;
    use AttributeValue as V;

    fn n(text: &str) -> V {
        V::N(text.parse().unwrap())
    }

    fn check<const N: usize>(attributes: [(&str, V); N], expected: usize) {
        let item = Item::from(attributes);
        assert_eq!(item.size(), expected, "{item:?}");
    }

    #[test]
    fn sizes_follow_the_rules() {
        let pk = || ("pk", V::S("a".into()));
        check([pk()], 3);
        check([pk(), ("n", n("1"))], 6);
        check([pk(), ("t", V::Bool(true))], 5);
        check([pk(), ("l", V::L(vec![]))], 7);
        check([pk(), ("l", V::L(vec![n("1")]))], 10);
        check([pk(), ("m", V::M([("x".to_owned(), V::S("yz".into()))].into()))], 11);
        check([pk(), ("ss", V::string_set(vec!["a".into(), "bc".into()]).unwrap())], 8);
        check([("pk", V::S("é".into()))], 4);
    }

    #[test]
    fn an_item_of_exactly_400_kb_is_the_largest() {
        let of = |bytes: usize| Item::from([("k", V::S("a".repeat(bytes - 1)))]);
        assert_eq!(of(409_600).check_limits(), Ok(()));
        assert_eq!(of(409_601).check_limits(), Err(ValueError::ItemTooLarge));
    }
}

//! Items, primary keys, document paths, and the positions of entries: hash order of the partition
//! key, then order of the sort key within a collection. `attribute_value` has the values in an
//! item; `codec::key` encodes keys and `codec::record` items for the store.

use std::collections::BTreeMap;
use std::fmt;

use super::attribute_value::{self, AttributeValue};
use super::error::value::ValueError;
use super::limits::ITEM_BYTES_MAX;
use super::schema::KeySchema;

/// An item: attributes by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Item(pub BTreeMap<String, AttributeValue>);

impl Item {
    /// Returns the size in bytes: every name plus every value (docs/dynamodb.md 5.1).
    #[must_use]
    pub fn size(&self) -> usize {
        self.0
            .iter()
            .map(|(name, value)| name.len() + value.size())
            .sum()
    }

    /// Checks every name in the item, in maps too (docs/dynamodb.md 3.4): the last check of every
    /// write. Fails with [`ValueError::EmptyAttributeName`] or
    /// [`ValueError::AttributeNameTooLong`].
    pub fn check_names(&self) -> Result<(), ValueError> {
        attribute_value::check_names(&self.0)
    }

    /// Checks names, depth and size of an item to put (docs/dynamodb.md 3.2, 5.2). Sets are checked
    /// where values are built.
    ///
    /// # Errors
    /// Fails with [`ValueError::Nesting`], an error of [`Self::check_names`], or
    /// [`ValueError::ItemTooLarge`].
    pub fn check_limits(&self) -> Result<(), ValueError> {
        self.check_nesting()?;
        self.check_names()?;
        if self.size() > ITEM_BYTES_MAX {
            Err(ValueError::ItemTooLarge)
        } else {
            Ok(())
        }
    }

    /// Checks the depth of the values; fails with [`ValueError::Nesting`].
    pub fn check_nesting(&self) -> Result<(), ValueError> {
        self.0.values().try_for_each(AttributeValue::check_nesting)
    }

    /// Returns the attribute's value, if the item has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.get(name)
    }

    /// Returns the primary key of this item under `schema`, if every key attribute is present.
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
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}

/// The primary key of a base item: values only, the names are in the schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub partition: AttributeValue,
    pub sort: Option<AttributeValue>,
}

impl Key {
    /// Returns the key as an item of one or two attributes, named by `schema`.
    #[must_use]
    pub fn to_item(&self, schema: &KeySchema) -> Item {
        let mut item = Item::default();
        item.0
            .insert(schema.partition.name.clone(), self.partition.clone());
        if let (Some(attribute), Some(value)) = (&schema.sort, &self.sort) {
            item.0.insert(attribute.name.clone(), value.clone());
        }
        item
    }
}

/// A document path with its names resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DocumentPath {
    /// The top-level attribute.
    pub head: String,
    pub rest: Vec<PathElement>,
}

/// A step below the top-level attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathElement {
    /// A map member.
    Name(String),
    /// A list element, from 0.
    Index(usize),
}

impl DocumentPath {
    /// Returns the path of a top-level attribute.
    #[must_use]
    pub fn top_level(name: impl Into<String>) -> Self {
        Self {
            head: name.into(),
            rest: Vec::new(),
        }
    }

    /// Returns the path as in expressions, `a.b[0]`; `name` renders each name.
    #[must_use]
    pub fn to_text_with(&self, mut name: impl FnMut(&str) -> String) -> String {
        self.rest
            .iter()
            .fold(name(&self.head), |text, element| match element {
                PathElement::Name(member) => format!("{text}.{}", name(member)),
                PathElement::Index(index) => format!("{text}[{index}]"),
            })
    }
}

/// Formats the path as in error texts: `[a, b, [1]]`.
impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.head)?;
        for element in &self.rest {
            match element {
                PathElement::Name(name) => write!(f, ", {name}")?,
                PathElement::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}

/// A range of positions in hash order, and of sort keys within one collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HashRange {
    /// The digest of the partition key and, within a collection, the sort order.
    pub from: Vec<u8>,
    /// The first position after the range; `None` is the end of the hash space.
    pub to: Option<Vec<u8>>,
}

impl HashRange {
    /// Returns the range of the whole collection with this digest.
    #[must_use]
    pub fn collection(digest: [u8; 16]) -> Self {
        let next = u128::from_be_bytes(digest)
            .checked_add(1)
            .map(|next| next.to_be_bytes().to_vec());
        Self {
            from: digest.to_vec(),
            to: next,
        }
    }

    /// Returns the part of the collection with this digest that lies in the range; `None` unless
    /// one of the range's ends is inside the collection.
    #[must_use]
    pub fn intersect(&self, digest: [u8; 16]) -> Option<Self> {
        let whole = Self::collection(digest);
        let is_inside = |place: &&Vec<u8>| {
            **place > whole.from && whole.to.as_ref().is_none_or(|next| *place < next)
        };
        let (from, to) = (
            Some(&self.from).filter(is_inside),
            self.to.as_ref().filter(is_inside),
        );
        let is_cut = from.is_some() || to.is_some();
        is_cut.then(|| Self {
            from: from.unwrap_or(&whole.from).clone(),
            to: to.or(whole.to.as_ref()).cloned(),
        })
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
        check(
            [
                pk(),
                ("m", V::M([("x".to_owned(), V::S("yz".into()))].into())),
            ],
            11,
        );
        check(
            [
                pk(),
                ("ss", V::string_set(vec!["a".into(), "bc".into()]).unwrap()),
            ],
            8,
        );
        check([("pk", V::S("é".into()))], 4);
    }

    #[test]
    fn an_item_of_exactly_400_kb_is_the_largest() {
        let of = |bytes: usize| Item::from([("k", V::S("a".repeat(bytes - 1)))]);
        assert_eq!(of(409_600).check_limits(), Ok(()));
        assert_eq!(of(409_601).check_limits(), Err(ValueError::ItemTooLarge));
    }
}

//! The nodes that the kernel knows, in few bytes each: a program that walks through a million items makes it know a million.
//!
//! What is of an item or a collection is its source, which all of them share, and the bytes of its key; the node is built again when
//! it is asked for. Others are few and stay as they are.

use super::{EntryNode, Kind, Node};

use crate::codec::key;
use crate::fs::prelude::*;
use std::sync::Weak;

/// A node, or what it is built of.
#[derive(Debug, Clone)]
pub enum KnownNode {
    /// An item, an index entry or a collection of this source.
    Packed(Arc<Source>, Packed),
    /// `None` of a directory that is no more: whoever holds it finds nothing in it, whatever is made in its place.
    Other(Option<Arc<Node>>),
}

/// What a node is beside its source.
///
/// ```text
/// kind, partition count, sort count (one byte each, the counts those of an index's key, 0 of a table's),
/// then each value of the index's key and of the base key: its type's letter, its ordered bytes
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed(Box<[u8]>);

/// The sources of the nodes known, each once.
#[derive(Debug, Default)]
pub struct Sources {
    known: Mutex<HashMap<Source, Weak<Source>>>,
}

/// Sources that are kept before those are looked for that no node is of any more.
const SOURCES_MANY: usize = 1_000;

impl Sources {
    pub fn share(&self, source: &Source) -> Arc<Source> {
        let mut known = self.known.lock();
        if let Some(shared) = known.get(source).and_then(Weak::upgrade) {
            return shared;
        }
        if known.len() >= SOURCES_MANY {
            known.retain(|_, shared| shared.strong_count() > 0);
        }
        let shared = Arc::new(source.clone());
        known.insert(source.clone(), Arc::downgrade(&shared));
        shared
    }
}

impl KnownNode {
    /// Packs a node.
    #[must_use]
    pub fn new(node: Node, sources: &Sources) -> Self {
        let packed = match &node {
            Node::Entry(entry) => Packed::entry(&entry.key, entry.form).map(|packed| (&entry.source, packed)),
            Node::Collection(source, partition) => Packed::collection(partition).map(|packed| (source, packed)),
            _ => None,
        };
        match packed {
            Some((source, packed)) => Self::Packed(sources.share(source), packed),
            None => Self::Other(Some(Arc::new(node))),
        }
    }

    /// An item of this source, packed by [`pack_item`].
    #[must_use]
    pub fn item(source: &Arc<Source>, packed: &[u8]) -> Self {
        Self::Packed(Arc::clone(source), Packed(packed.into()))
    }

    /// The node; what was packed unpacks.
    #[must_use]
    pub fn node(&self) -> Option<Arc<Node>> {
        match self {
            Self::Other(node) => node.clone(),
            Self::Packed(source, packed) => packed.node(Source::clone(source)).map(Arc::new),
        }
    }

    /// A node that is not packed.
    #[must_use]
    pub fn other(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Other(node) => node.as_ref(),
            Self::Packed(..) => None,
        }
    }

    /// Is it one, or was it?
    #[must_use]
    pub fn is_directory(&self) -> bool {
        match self {
            Self::Packed(_, packed) => packed.0.first() == Some(&COLLECTION),
            Self::Other(node) => node.as_ref().is_none_or(|node| node.kind() == Kind::Directory),
        }
    }

    /// Is it of that table?
    #[must_use]
    pub fn is_of(&self, table: &TableName) -> bool {
        match self {
            Self::Packed(source, _) => source.table == *table,
            Self::Other(node) => node.as_ref().is_some_and(|node| node.table() == Some(table)),
        }
    }

    /// Do both stand for the same node?
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Packed(source, packed), Self::Packed(source2, packed2)) => (source, packed) == (source2, packed2),
            (Self::Other(Some(node)), Self::Other(Some(node2))) => node == node2,
            _ => false,
        }
    }
}

const PLAIN_JSON: u8 = 0;
const DYNAMODB_JSON: u8 = 1;
const COLLECTION: u8 = 2;

/// Appends what the node of an item's plain text is beside its source.
pub fn pack_item(key: &EntryKey, out: &mut Vec<u8>) {
    let fits = Packed::write_entry(key, TextForm::PlainJson, out);
    debug_assert!(fits.is_some(), "a key that none can be");
}

impl Packed {
    /// `None` of a key that none can be.
    fn entry(entry: &EntryKey, form: TextForm) -> Option<Self> {
        let mut bytes = Vec::with_capacity(64);
        Self::write_entry(entry, form, &mut bytes)?;
        Some(Self(bytes.into()))
    }

    fn write_entry(entry: &EntryKey, form: TextForm, out: &mut Vec<u8>) -> Option<()> {
        let kind = match form {
            TextForm::PlainJson => PLAIN_JSON,
            TextForm::DynamoDbJson => DYNAMODB_JSON,
        };
        let base = std::iter::once(&entry.base.partition).chain(&entry.base.sort);
        match &entry.index {
            None => Self::write([kind, 0, 0], base, out),
            Some((partition, sort)) => {
                let head = [kind, u8::try_from(partition.len()).ok()?, u8::try_from(sort.len()).ok()?];
                Self::write(head, partition.iter().chain(sort).chain(base), out)
            }
        }
    }

    fn collection(partition: &[AttributeValue]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(64);
        Self::write([COLLECTION, 0, 0], partition, &mut bytes)?;
        Some(Self(bytes.into()))
    }

    fn write<'a>(head: [u8; 3], values: impl IntoIterator<Item = &'a AttributeValue>, out: &mut Vec<u8>) -> Option<()> {
        out.extend(head);
        for value in values {
            out.push(match value {
                AttributeValue::S(_) => b'S',
                AttributeValue::N(_) => b'N',
                AttributeValue::B(_) => b'B',
                _ => return None,
            });
            key::encode(value, out);
        }
        Some(())
    }

    fn node(&self, source: Source) -> Option<Node> {
        let (head, mut rest) = self.0.split_first_chunk::<3>()?;
        let mut values = Vec::with_capacity(2);
        while let Some((letter, bytes)) = rest.split_first() {
            let attribute_type = match letter {
                b'S' => KeyAttributeType::S,
                b'N' => KeyAttributeType::N,
                _ => KeyAttributeType::B,
            };
            let (value, after) = key::decode(attribute_type, bytes).ok()?;
            values.push(value);
            rest = after;
        }
        let form = match head[0] {
            PLAIN_JSON => TextForm::PlainJson,
            DYNAMODB_JSON => TextForm::DynamoDbJson,
            _ => return Some(Node::Collection(source, values)),
        };
        let key = entry_key(values, head[1].into(), head[2].into())?;
        Some(Node::Entry(Box::new(EntryNode { source, key, form })))
    }
}

fn entry_key(mut values: Vec<AttributeValue>, partition: usize, sort: usize) -> Option<EntryKey> {
    let mut base = values.split_off((partition + sort).min(values.len())).into_iter();
    let base = Key { partition: base.next()?, sort: base.next() };
    if partition == 0 {
        return Some(EntryKey { index: None, base });
    }
    let sort = values.split_off(partition.min(values.len()));
    Some(EntryKey { index: Some((values, sort)), base })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    #[test]
    fn what_is_packed_is_the_same_when_it_is_unpacked() {
        let sources = Sources::default();
        let check = |node: Node| {
            let known = KnownNode::new(node.clone(), &sources);
            assert_eq!(known.node().as_deref(), Some(&node));
            assert!(known.is_same(&KnownNode::new(node.clone(), &sources)));
            assert!(!known.is_same(&KnownNode::new(Node::Readme, &sources)));
            known
        };
        let table = TableName::new("Orders").unwrap();
        let source = Source { table: table.clone(), index: None };
        let number = |text: &str| AttributeValue::N(text.parse().unwrap());
        let (partition, sort) = (s("u\u{0}1"), Some(number("-12.50")));
        let base = Key { partition, sort };
        let index = Some((vec![s("open"), AttributeValue::B(vec![0, 255])], vec![number("7")]));
        for form in [TextForm::PlainJson, TextForm::DynamoDbJson] {
            for key in [
                EntryKey { index: None, base: base.clone() },
                EntryKey { index: None, base: Key { partition: s(""), sort: None } },
                EntryKey { index: index.clone(), base: base.clone() },
                EntryKey { index: Some((vec![s("x")], Vec::new())), base: base.clone() },
            ] {
                let known = check(Node::Entry(Box::new(EntryNode { source: source.clone(), key, form })));
                assert!(matches!(known, KnownNode::Packed(..)));
            }
        }
        assert!(matches!(check(Node::Collection(source.clone(), vec![s("a"), number("1")])), KnownNode::Packed(..)));
        check(Node::Table(table));
        assert_eq!(sources.known.lock().len(), 1);
    }

    #[test]
    fn an_item_that_a_listing_packed_is_the_node_of_its_file() {
        let (sources, source) = (Sources::default(), Source { table: TableName::new("Orders").unwrap(), index: None });
        for sort in [None, Some(s("o1"))] {
            let key = EntryKey { index: None, base: Key { partition: s("u1"), sort } };
            let mut packed = Vec::new();
            pack_item(&key, &mut packed);
            let known = KnownNode::item(&sources.share(&source), &packed);
            let node = EntryNode { source: source.clone(), key, form: TextForm::PlainJson };
            assert!(known.is_same(&KnownNode::new(Node::Entry(Box::new(node)), &sources)));
        }
    }

    #[test]
    fn an_item_takes_few_bytes() {
        assert!(size_of::<KnownNode>() <= 24, "{}", size_of::<KnownNode>());
    }
}

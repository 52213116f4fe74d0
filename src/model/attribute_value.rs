//! The ten DynamoDB value types, their sizes and their order.
//!
//! Sets keep their elements sorted and distinct (strings and binaries by bytes, numbers by value), so that
//! `PartialEq` is DynamoDB's equality: sets as sets, numbers by value, lists in order, maps by content.

use std::collections::BTreeMap;
use std::fmt;

use super::number::Number;

/// Attributes of a map value, by name.
pub type Map = BTreeMap<String, AttributeValue>;

/// A DynamoDB value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AttributeValue {
    S(String),
    N(Number),
    B(Vec<u8>),
    Bool(bool),
    Null,
    /// Sorted by bytes, distinct, not empty; build with [`super::item::string_set`] or the codecs.
    Ss(Vec<String>),
    /// Sorted by value, distinct, not empty.
    Ns(Vec<Number>),
    /// Sorted by bytes, distinct, not empty.
    Bs(Vec<Vec<u8>>),
    L(Vec<AttributeValue>),
    M(Map),
}

/// The type tag of a value, as the wire spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttributeType {
    S,
    N,
    B,
    Bool,
    Null,
    Ss,
    Ns,
    Bs,
    L,
    M,
}

impl AttributeType {
    /// The wire's spelling: `S`, `N`, `B`, `BOOL`, `NULL`, `SS`, `NS`, `BS`, `L`, `M`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
            Self::Bool => "BOOL",
            Self::Null => "NULL",
            Self::Ss => "SS",
            Self::Ns => "NS",
            Self::Bs => "BS",
            Self::L => "L",
            Self::M => "M",
        }
    }

    /// The tag's type, if it is one of the ten.
    #[must_use]
    pub fn from_tag(tag: &str) -> Option<Self> {
        Some(match tag {
            "S" => Self::S,
            "N" => Self::N,
            "B" => Self::B,
            "BOOL" => Self::Bool,
            "NULL" => Self::Null,
            "SS" => Self::Ss,
            "NS" => Self::Ns,
            "BS" => Self::Bs,
            "L" => Self::L,
            "M" => Self::M,
            _ => return None,
        })
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

impl AttributeValue {
    /// The value's type tag.
    #[must_use]
    pub fn attribute_type(&self) -> AttributeType {
        match self {
            Self::S(_) => AttributeType::S,
            Self::N(_) => AttributeType::N,
            Self::B(_) => AttributeType::B,
            Self::Bool(_) => AttributeType::Bool,
            Self::Null => AttributeType::Null,
            Self::Ss(_) => AttributeType::Ss,
            Self::Ns(_) => AttributeType::Ns,
            Self::Bs(_) => AttributeType::Bs,
            Self::L(_) => AttributeType::L,
            Self::M(_) => AttributeType::M,
        }
    }

    /// Size in bytes by DynamoDB's item-size rules (SEMANTICS 5.1), without the attribute's name.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::S(s) => s.len(),
            Self::N(n) => n.size(),
            Self::B(b) => b.len(),
            Self::Bool(_) | Self::Null => 1,
            Self::Ss(set) => set.iter().map(String::len).sum(),
            Self::Ns(set) => set.iter().map(Number::size).sum(),
            Self::Bs(set) => set.iter().map(Vec::len).sum(),
            Self::L(list) => 3 + list.iter().map(|v| v.size() + 1).sum::<usize>(),
            Self::M(map) => 3 + map.iter().map(|(k, v)| k.len() + v.size() + 1).sum::<usize>(),
        }
    }

    /// Levels of nesting: 1 for a scalar or set, one more for each list or map around content.
    /// An empty list or map is level 1.
    #[must_use]
    pub fn nesting(&self) -> usize {
        match self {
            Self::L(list) => 1 + list.iter().map(Self::nesting).max().unwrap_or(0),
            Self::M(map) => 1 + map.values().map(Self::nesting).max().unwrap_or(0),
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_round_trip() {
        for tag in ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"] {
            assert_eq!(AttributeType::from_tag(tag).map(AttributeType::tag), Some(tag));
        }
        assert_eq!(AttributeType::from_tag("X"), None);
    }
}

//! The ten DynamoDB value types, their sizes and their order. `number` has the numbers, `item` the
//! items made of values; `codec` has every encoding of values.
//!
//! Sets keep their elements sorted and distinct (strings and binaries by bytes, numbers by value),
//! so that `PartialEq` is DynamoDB's equality: sets as sets, numbers by value, lists in order, maps
//! by content.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use super::api_enum::{ApiEnum, api_enums};
use super::error::value::ValueError;
use super::limits::{ATTRIBUTE_NAME_BYTES_MAX, NESTING_LEVELS_MAX};
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
    /// Sorted by bytes, distinct, not empty; build with [`AttributeValue::string_set`].
    Ss(Vec<String>),
    /// Sorted by value, distinct, not empty; build with [`AttributeValue::number_set`].
    Ns(Vec<Number>),
    /// Sorted by bytes, distinct, not empty; build with [`AttributeValue::binary_set`].
    Bs(Vec<Vec<u8>>),
    L(Vec<AttributeValue>),
    M(Map),
}

api_enums! {
    /// The type tag of a value, as the wire spells it.
    #[derive(Hash, PartialOrd, Ord)]
    AttributeType {
        S = "S",
        N = "N",
        B = "B",
        Bool = "BOOL",
        Null = "NULL",
        Ss = "SS",
        Ns = "NS",
        Bs = "BS",
        L = "L",
        M = "M",
    }
}

impl AttributeType {
    /// Returns the tag on the wire: `S`, `N`, `B`, `BOOL`, `NULL`, `SS`, `NS`, `BS`, `L`, `M`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        self.as_str()
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

/// Checks the name of an attribute or of a map member (docs/dynamodb.md 3.1): 1 to 65,535 bytes.
/// Fails with [`ValueError::EmptyAttributeName`] or [`ValueError::AttributeNameTooLong`].
pub fn check_attribute_name(name: &str) -> Result<(), ValueError> {
    match name.len() {
        0 => Err(ValueError::EmptyAttributeName),
        bytes if bytes > ATTRIBUTE_NAME_BYTES_MAX => Err(ValueError::AttributeNameTooLong),
        _ => Ok(()),
    }
}

/// Checks the names of all attributes and of the members in them; fails as [`check_attribute_name`]
/// does.
pub fn check_names(attributes: &Map) -> Result<(), ValueError> {
    attributes
        .iter()
        .try_for_each(|(name, value)| check_attribute_name(name).and_then(|()| value.check_names()))
}

/// Returns the elements of a set, sorted.
///
/// # Errors
/// Fails with `empty` if there are none, and with `duplicate_error` of the given elements if two are equal.
fn sorted_set<T: Ord>(
    mut elements: Vec<T>,
    empty: ValueError,
    duplicate_error: impl FnOnce(Vec<T>) -> ValueError,
) -> Result<Vec<T>, ValueError> {
    if elements.is_empty() {
        return Err(empty);
    }
    if !elements.is_sorted_by(|a, b| a < b) {
        let mut sorted: Vec<&T> = elements.iter().collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(duplicate_error(elements));
        }
        elements.sort_unstable();
    }
    Ok(elements)
}

impl AttributeValue {
    /// Makes a set of strings in any order. Fails with [`ValueError::EmptyStringSet`] or
    /// [`ValueError::DuplicateStrings`].
    pub fn string_set(elements: Vec<String>) -> Result<Self, ValueError> {
        sorted_set(
            elements,
            ValueError::EmptyStringSet,
            ValueError::DuplicateStrings,
        )
        .map(Self::Ss)
    }

    /// Makes a set of numbers in any order; numbers of equal value are duplicates. Fails with
    /// [`ValueError::EmptyNumberSet`] or [`ValueError::DuplicateNumbers`].
    pub fn number_set(elements: Vec<Number>) -> Result<Self, ValueError> {
        sorted_set(elements, ValueError::EmptyNumberSet, |_| {
            ValueError::DuplicateNumbers
        })
        .map(Self::Ns)
    }

    /// Makes a set of binaries in any order. Fails with [`ValueError::EmptyBinarySet`] or
    /// [`ValueError::DuplicateBinaries`].
    pub fn binary_set(elements: Vec<Vec<u8>>) -> Result<Self, ValueError> {
        sorted_set(
            elements,
            ValueError::EmptyBinarySet,
            ValueError::DuplicateBinaries,
        )
        .map(Self::Bs)
    }

    /// Compares two values of a type that DynamoDB orders: S by bytes, N by value, B by bytes.
    /// Returns `None` for other types and for two different ones.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::S(a), Self::S(b)) => Some(a.cmp(b)),
            (Self::N(a), Self::N(b)) => Some(a.cmp(b)),
            (Self::B(a), Self::B(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// Checks the depth of a top-level value (docs/dynamodb.md 3.2). Fails with
    /// [`ValueError::Nesting`] for more than 32 levels.
    pub fn check_nesting(&self) -> Result<(), ValueError> {
        if self.nesting() > NESTING_LEVELS_MAX {
            Err(ValueError::Nesting)
        } else {
            Ok(())
        }
    }

    /// Checks the names of map members at every depth; fails as [`check_attribute_name`] does.
    pub fn check_names(&self) -> Result<(), ValueError> {
        match self {
            Self::M(map) => check_names(map),
            Self::L(list) => list.iter().try_for_each(Self::check_names),
            _ => Ok(()),
        }
    }

    /// Returns the value's type tag.
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

    /// Returns the size in bytes by DynamoDB's item-size rules (docs/dynamodb.md 5.1), without the
    /// attribute's name.
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
            Self::M(map) => {
                3 + map
                    .iter()
                    .map(|(k, v)| k.len() + v.size() + 1)
                    .sum::<usize>()
            }
        }
    }

    /// Returns the levels of nesting: 1 for a scalar or set, one more for each list or map around
    /// it. An empty list or map is level 1.
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
            assert_eq!(AttributeType::parse(tag).map(AttributeType::tag), Some(tag));
        }
        assert_eq!(AttributeType::parse("X"), None);
    }

    fn strings(elements: &[&str]) -> Vec<String> {
        elements.iter().map(|&element| element.to_owned()).collect()
    }

    fn numbers(elements: &[&str]) -> Vec<Number> {
        elements
            .iter()
            .map(|element| element.parse().unwrap())
            .collect()
    }

    fn check(result: Result<AttributeValue, ValueError>, expected: Result<AttributeValue, &str>) {
        assert_eq!(
            result.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned)
        );
    }

    #[test]
    fn sets_are_sorted_and_distinct() {
        use AttributeValue as V;
        check(
            V::string_set(strings(&["b", "", "a"])),
            Ok(V::Ss(strings(&["", "a", "b"]))),
        );
        check(
            V::string_set(vec![]),
            Err("One or more parameter values were invalid: An string set  may not be empty"),
        );
        check(
            V::string_set(strings(&["b", "a", "b"])),
            Err(
                "One or more parameter values were invalid: Input collection [b, a, b] contains duplicates.",
            ),
        );
        check(
            V::number_set(numbers(&["10", "-9", "9"])),
            Ok(V::Ns(numbers(&["-9", "9", "10"]))),
        );
        check(
            V::number_set(vec![]),
            Err("One or more parameter values were invalid: An number set  may not be empty"),
        );
        check(
            V::number_set(numbers(&["1", "2", "1.0"])),
            Err("Input collection contains duplicates"),
        );
        check(
            V::binary_set(vec![vec![255], vec![], vec![1, 2]]),
            Ok(V::Bs(vec![vec![], vec![1, 2], vec![255]])),
        );
        check(
            V::binary_set(vec![]),
            Err("One or more parameter values were invalid: Binary sets should not be empty"),
        );
        check(
            V::binary_set(vec![b"a".to_vec(), b"a".to_vec()]),
            Err(
                "One or more parameter values were invalid: Input collection [YQ==, YQ==]of type BS contains duplicates.",
            ),
        );
    }

    #[test]
    fn only_equal_scalar_types_compare() {
        use AttributeValue as V;
        let number = |text: &str| V::N(text.parse().unwrap());
        let cases = [
            (V::S("a".into()), V::S("ab".into()), Some(Ordering::Less)),
            (number("10"), number("9"), Some(Ordering::Greater)),
            (V::B(vec![1]), V::B(vec![1]), Some(Ordering::Equal)),
            (V::S("1".into()), number("1"), None),
            (V::Bool(true), V::Bool(true), None),
            (V::Null, V::Null, None),
        ];
        for (a, b, expected) in cases {
            assert_eq!(a.compare(&b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn nesting_ends_at_level_32() {
        let nested = |levels: usize| {
            (1..levels).fold(AttributeValue::Null, |inner, _| {
                AttributeValue::L(vec![inner])
            })
        };
        assert_eq!(nested(32).check_nesting(), Ok(()));
        assert_eq!(nested(33).check_nesting(), Err(ValueError::Nesting));
    }
}

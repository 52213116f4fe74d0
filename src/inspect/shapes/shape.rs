//! The statistics of the items of a pattern, in bounded memory: a histogram of sizes and a count of
//! attributes by name and type. Count, sum, minimum and maximum of the sizes are exact; other sizes
//! are rounded up by at most 1/16, so that they take a few kilobytes for each pattern.

use crate::codec::record::StoredValue;
use crate::inspect::sampling::Distribution;
use crate::model::error::StoreError;
use crate::model::{AttributeType, Key};

/// The items with similar keys.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub partition: String,
    /// `None` if the table has no sort key.
    pub sort: Option<String>,
    pub shape: ItemShape,
}

/// The counters of the items of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemShape {
    /// DynamoDB sizes, without overhead.
    pub sizes: Sizes,
    pub attributes: Attributes,
    /// For each index of the schema, in its order: the items that have all its key attributes with
    /// its types.
    pub indexes: Vec<u64>,
    /// The key of one of the items.
    pub example: Key,
}

impl ItemShape {
    #[must_use]
    pub fn new(indexes: usize, example: Key) -> Self {
        Self {
            sizes: Sizes::default(),
            attributes: Attributes::default(),
            indexes: vec![0; indexes],
            example,
        }
    }

    /// True unless there is an attribute that nearly all items of one have, and nearly none of the
    /// other.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.has_attributes_of(other) && other.has_attributes_of(self)
    }

    fn has_attributes_of(&self, other: &Self) -> bool {
        other.attributes.iter().all(|(name, attribute)| {
            let own = self.attributes.iter().find(|(known, _)| *known == name);
            let own = own.map_or(0, |(_, own)| own.types.total());
            attribute.types.total() * 10 < other.sizes.count * 9 || own * 10 > self.sizes.count
        })
    }

    /// Adds the items of another pattern.
    pub fn merge(&mut self, other: &Self) {
        self.sizes.merge(&other.sizes);
        self.attributes.merge(&other.attributes);
        self.indexes
            .iter_mut()
            .zip(&other.indexes)
            .for_each(|(own, others)| *own += others);
    }
}

/// The sizes that are distinguished in each doubling.
const STEPS: u64 = 16;

/// Sizes of items, bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    pub count: u64,
    /// The sum of all sizes.
    pub bytes: u64,
    pub min: u64,
    pub max: u64,
    rounded: Distribution,
}

impl Sizes {
    pub fn add(&mut self, size: u64) {
        self.rounded.add(rounded(size));
        self.grow(1, size, size, size);
    }

    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.rounded.merge(&other.rounded);
        self.grow(other.count, other.bytes, other.min, other.max);
    }

    fn grow(&mut self, count: u64, bytes: u64, min: u64, max: u64) {
        self.min = if self.count == 0 {
            min
        } else {
            self.min.min(min)
        };
        self.max = self.max.max(max);
        self.count += count;
        self.bytes += bytes;
    }

    /// Returns the size that `percent` of the items do not exceed, too large by at most 1/16.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> u64 {
        self.rounded.percentile(percent).clamp(self.min, self.max)
    }
}

/// Returns the largest size of the same step: below 16 each size is a step, above it a doubling has
/// 16.
fn rounded(size: u64) -> u64 {
    let doubling = size.max(1).ilog2().saturating_sub(STEPS.ilog2());
    size | ((1 << doubling) - 1)
}

/// The maximum of attributes distinguished in a pattern; of the others only their existence is
/// known.
const ATTRIBUTES_MAX: usize = 128;
/// The maximum of map members distinguished in an attribute.
const MEMBERS_MAX: usize = 32;
/// The maximum bytes of a name; longer ones are not kept.
const NAME_BYTES_MAX: usize = 255;

/// The types, in the order in which they are counted.
const TYPES: [AttributeType; 10] = [
    AttributeType::S,
    AttributeType::N,
    AttributeType::B,
    AttributeType::Bool,
    AttributeType::Null,
    AttributeType::Ss,
    AttributeType::Ns,
    AttributeType::Bs,
    AttributeType::L,
    AttributeType::M,
];

/// The number of values of each type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypeCounts([u64; TYPES.len()]);

impl TypeCounts {
    fn add(&mut self, kind: AttributeType) {
        self.0[kind as usize] += 1;
    }

    /// Returns the number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the types that occur, the most common first.
    #[must_use]
    pub fn counted(&self) -> Vec<(&'static str, u64)> {
        let mut all: Vec<_> = TYPES
            .map(AttributeType::tag)
            .into_iter()
            .zip(self.0)
            .filter(|(_, count)| *count > 0)
            .collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }
}

/// Names with their types: attributes of items, or members of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameCounts<T, const MAX: usize> {
    /// Sorted by first occurrence.
    list: Vec<(Box<str>, T)>,
    /// True if there were more names than are kept.
    pub has_more: bool,
}

impl<T, const MAX: usize> Default for NameCounts<T, MAX> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            has_more: false,
        }
    }
}

impl<T: Default, const MAX: usize> NameCounts<T, MAX> {
    /// Returns the position and the data of a name; `None` if there are too many names. The search
    /// begins at `hint`: items of a pattern have their attributes in one order.
    fn entry(&mut self, name: &str, hint: usize, budget: &mut usize) -> Option<(usize, &mut T)> {
        let (before, after) = self.list.split_at(hint.min(self.list.len()));
        let is_it = |(known, _): &(Box<str>, T)| **known == *name;
        let place = after
            .iter()
            .position(is_it)
            .map(|place| place + before.len())
            .or_else(|| before.iter().position(is_it));
        let place = match place {
            Some(place) => place,
            None if self.list.len() < MAX && *budget > 0 && name.len() <= NAME_BYTES_MAX => {
                *budget -= 1;
                self.list.push((name.into(), T::default()));
                self.list.len() - 1
            }
            None => {
                self.has_more = true;
                return None;
            }
        };
        self.list.get_mut(place).map(|(_, kept)| (place, kept))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.list.iter().map(|(name, kept)| (&**name, kept))
    }
}

/// An attribute of items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribute {
    pub types: TypeCounts,
    /// The sum of names and values, by DynamoDB's rules.
    pub bytes: u64,
    pub members: NameCounts<TypeCounts, MEMBERS_MAX>,
}

/// The attributes of items.
pub type Attributes = NameCounts<Attribute, ATTRIBUTES_MAX>;

impl Attributes {
    /// Adds an item's attributes in stored order; `budget` is the number of names that may still be
    /// kept.
    ///
    /// # Errors
    /// Fails with `Corrupt` for a value that cannot be parsed.
    pub fn add(
        &mut self,
        item: &[(&str, StoredValue<'_>)],
        budget: &mut usize,
    ) -> Result<(), StoreError> {
        let mut hint = 0;
        for (name, value) in item {
            let Some((place, attribute)) = self.entry(name, hint, budget) else {
                continue;
            };
            hint = place + 1;
            attribute.types.add(value.kind);
            attribute.bytes += (name.len() + value.size()?) as u64;
            let mut member_hint = 0;
            value.each_member(|name, value| {
                if let Some((place, types)) = attribute.members.entry(name, member_hint, budget) {
                    member_hint = place + 1;
                    types.add(value.kind);
                }
            })?;
        }
        Ok(())
    }

    pub fn merge(&mut self, other: &Self) {
        // Every name was charged to the budget when it was first kept.
        let mut budget = usize::MAX;
        self.has_more |= other.has_more;
        for (hint, (name, attribute)) in other.iter().enumerate() {
            let Some((_, own)) = self.entry(name, hint, &mut budget) else {
                continue;
            };
            add_types(&mut own.types, &attribute.types);
            own.bytes += attribute.bytes;
            own.members.has_more |= attribute.members.has_more;
            for (hint, (name, types)) in attribute.members.iter().enumerate() {
                if let Some((_, own)) = own.members.entry(name, hint, &mut budget) {
                    add_types(own, types);
                }
            }
        }
    }

    /// Returns the number of kept names, members of maps included.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.iter()
            .map(|(_, attribute)| 1 + attribute.members.list.len())
            .sum()
    }
}

fn add_types(sum: &mut TypeCounts, counts: &TypeCounts) {
    sum.0
        .iter_mut()
        .zip(counts.0)
        .for_each(|(sum, counts)| *sum += counts);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::plain_json;
    use crate::codec::record::{Record, encode};

    #[test]
    fn every_size_is_in_its_step() {
        let mut steps = Vec::new();
        for size in 0..=400 * 1024 {
            let largest = rounded(size);
            assert!(
                size <= largest && largest - size <= size / 16 && rounded(largest) == largest,
                "{size}: {largest}"
            );
            steps.push(largest);
        }
        assert!(steps.is_sorted());
        steps.dedup();
        assert!(steps.len() < 300, "a few kilobytes for each pattern");
    }

    #[test]
    fn quantiles() {
        let mut sizes = Sizes::default();
        (1..=1000).for_each(|size| sizes.add(size));
        assert_eq!((sizes.min, sizes.max, sizes.bytes), (1, 1000, 500_500));
        assert!(
            (500..=532).contains(&sizes.quantile(50)),
            "{}",
            sizes.quantile(50)
        );
        assert!((990..=1000).contains(&sizes.quantile(99)));
        let mut other = Sizes::default();
        other.add(400_000);
        sizes.merge(&other);
        assert_eq!(
            (sizes.count, sizes.min, sizes.max, sizes.quantile(100)),
            (1001, 1, 400_000, 400_000)
        );
        assert_eq!(Sizes::default().quantile(50), 0);
        let mut one = Sizes::default();
        one.add(77);
        assert_eq!((one.quantile(50), one.quantile(99)), (77, 77));
    }

    fn add(attributes: &mut Attributes, json: &str, budget: &mut usize) {
        let bytes = encode(
            &plain_json::parse_line(json.as_bytes()).unwrap(),
            &["pk"],
            1,
            2,
        );
        let mut all = Vec::new();
        Record::parse(&bytes)
            .unwrap()
            .each_attribute(|name, value| all.push((name, value)))
            .unwrap();
        attributes.add(&all, budget).unwrap();
    }

    fn shown(attributes: &Attributes) -> String {
        let one = |(name, attribute): (&str, &Attribute)| {
            let members: Vec<String> = attribute
                .members
                .iter()
                .map(|(name, types)| format!("{name}{:?}", types.counted()))
                .collect();
            format!("{name}{:?}{}", attribute.types.counted(), members.concat())
        };
        attributes.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn types_of_attributes_and_of_members() {
        let (mut attributes, mut budget) = (Attributes::default(), 100);
        add(
            &mut attributes,
            r#"{"pk":"a","n":1,"m":{"x":1,"y":{"z":1}}}"#,
            &mut budget,
        );
        add(
            &mut attributes,
            r#"{"pk":"b","n":"one","m":{"x":"1"}}"#,
            &mut budget,
        );
        add(
            &mut attributes,
            r#"{"pk":"c","n":2,"l":[1],"t":true,"f":false,"u":null}"#,
            &mut budget,
        );
        let expected = r#"pk[("S", 3)] m[("M", 2)]x[("S", 1), ("N", 1)]y[("M", 1)] n[("N", 2), ("S", 1)] f[("BOOL", 1)] l[("L", 1)] t[("BOOL", 1)] u[("NULL", 1)]"#;
        assert_eq!(shown(&attributes), expected);
        assert_eq!((attributes.kept(), budget), (9, 91));
        let mut both = attributes.clone();
        both.merge(&attributes);
        assert_eq!(
            shown(&both),
            expected
                .replace(", 3)", ", 6)")
                .replace(", 2)", ", 4)")
                .replace(", 1)", ", 2)")
        );
    }

    #[test]
    fn names_are_bounded() {
        let (mut attributes, mut budget) = (Attributes::default(), 100_000);
        for n in 0..1000 {
            add(
                &mut attributes,
                &format!(r#"{{"pk":"a","n{n}":1,"m":{{"x{n}":1}}}}"#),
                &mut budget,
            );
        }
        assert_eq!(attributes.kept(), ATTRIBUTES_MAX + MEMBERS_MAX);
        assert!(attributes.has_more);
        let long = "n".repeat(300);
        let (mut attributes, mut budget) = (Attributes::default(), 1);
        add(
            &mut attributes,
            &format!(r#"{{"pk":"a","{long}":1,"x":2}}"#),
            &mut budget,
        );
        assert_eq!(
            (shown(&attributes).as_str(), attributes.has_more, budget),
            (r#"pk[("S", 1)]"#, true, 0)
        );
    }
}

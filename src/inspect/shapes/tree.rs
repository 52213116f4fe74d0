//! A prefix tree (trie) of key parts that learns the patterns of a table's keys while they are
//! read. `class` gives the parts, `shape` the statistics at the end of a path.
//!
//! A key is a path in a tree: the parts of the partition key, then those of the sort key, each with
//! the separator after it. At the end of the path is the [`ItemShape`] of the items with such keys.
//! A part with a form (a number, a date, a UUID) is its class from the beginning. Names are kept,
//! and become `<word>` if many different ones occur in one place. So each place decides by itself
//! which names are constants: `ORDER` below `USER#<n>`, independent of other places, and never
//! before there are enough names to tell.
//!
//! The tree has at most [`PATHS_MAX`] paths. With one more it is generalized, in coarser and
//! coarser steps, until half of them are left, and a place that became `<word>` stays it. The last
//! step leaves one pattern, so that this ends for any keys.

use std::collections::HashMap;

use super::class::PartClass;
use super::class::{END, KeySegment, kind_of_name, split_parts, without_number};
use super::shape::ItemShape;

/// The maximum of paths kept while reading.
pub const PATHS_MAX: usize = 512;
/// The maximum of reported patterns.
pub const PATTERNS_MAX: usize = 64;

/// A step of generalization: how different the keys of one pattern may be.
#[derive(Debug, Clone, Copy)]
struct GeneralizeStep {
    /// The maximum of different names in one place at which they are constants.
    names_max: usize,
    /// The part of the items of its place, in percent, that makes one of many names a constant.
    percent: u64,
    /// The maximum of parts of a key.
    parts: usize,
}

const STEPS: [GeneralizeStep; 8] = [
    GeneralizeStep {
        names_max: 16,
        percent: 10,
        parts: 12,
    },
    GeneralizeStep {
        names_max: 8,
        percent: 10,
        parts: 12,
    },
    GeneralizeStep {
        names_max: 4,
        percent: 20,
        parts: 8,
    },
    GeneralizeStep {
        names_max: 0,
        percent: 50,
        parts: 6,
    },
    GeneralizeStep {
        names_max: 0,
        percent: 101,
        parts: 4,
    },
    GeneralizeStep {
        names_max: 0,
        percent: 101,
        parts: 2,
    },
    GeneralizeStep {
        names_max: 0,
        percent: 101,
        parts: 1,
    },
    GeneralizeStep {
        names_max: 0,
        percent: 101,
        parts: 0,
    },
];

/// The minimum mean number of items for each name at which names are constants: at the end of a
/// key, and before a separator.
const ITEMS_PER_LAST_NAME: u64 = 20;
const ITEMS_PER_NAME: u64 = 3;
/// The factor by which a class must be rarer than a wider class to be merged into it.
const CHANCE_FACTOR: u64 = 4;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternToken {
    Class(PartClass),
    Name(Box<str>),
    /// A name followed by a number: `user17`.
    Numbered(Box<str>),
}

impl PatternToken {
    /// Returns the name of the token; a class has none.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Class(_) => None,
            Self::Name(name) | Self::Numbered(name) => Some(name),
        }
    }

    fn is(&self, class: PartClass) -> bool {
        *self == Self::Class(class)
    }

    fn is_any_word(&self) -> bool {
        self.is(PartClass::Word) || self.is(PartClass::Text)
    }
}

/// The value of a key attribute, to be generalized.
#[derive(Debug, Clone, Copy)]
pub enum KeyText<'a> {
    Text(&'a str),
    Number,
    Binary,
}

/// A tree of key parts; see the module.
#[derive(Debug, Default)]
pub struct PatternTree {
    root: PatternNode,
    paths: usize,
    /// The index in [`STEPS`].
    step: usize,
}

#[derive(Debug, Default)]
struct PatternNode {
    /// Items with keys that pass through here.
    items: u64,
    edges: Vec<Edge>,
    shape: Option<Box<ItemShape>>,
}

#[derive(Debug)]
struct Edge {
    token: PatternToken,
    separator: u8,
    node: PatternNode,
}

impl PatternTree {
    /// Returns the shape of the items with such keys; `new` makes one. Fails only if `new` fails.
    pub fn shape<E>(
        &mut self,
        key: [Option<KeyText<'_>>; 2],
        new: impl FnOnce() -> Result<ItemShape, E>,
    ) -> Result<&mut ItemShape, E> {
        if self.paths >= PATHS_MAX {
            self.generalize(PATHS_MAX / 2, false);
        }
        let parts_max = STEPS[self.step].parts;
        let mut node = &mut self.root;
        node.items += 1;
        for value in key.into_iter().flatten() {
            node = node.descend(value, parts_max);
        }
        Ok(match &mut node.shape {
            Some(shape) => shape,
            place @ None => {
                self.paths += 1;
                place.insert(Box::new(new()?))
            }
        })
    }

    /// Merges paths until there are at most `paths_max`.
    fn generalize(&mut self, paths_max: usize, is_last: bool) {
        loop {
            self.root.generalize(STEPS[self.step], 0, is_last);
            self.paths = self.root.paths();
            if self.paths <= paths_max || self.step + 1 == STEPS.len() {
                return;
            }
            self.step += 1;
        }
    }

    /// Returns the patterns, partition key and sort key, with their shapes.
    #[must_use]
    pub fn into_patterns(mut self) -> Vec<(Vec<String>, ItemShape)> {
        self.generalize(PATTERNS_MAX, true);
        let mut all = Vec::new();
        self.root.into_patterns(&mut vec![String::new()], &mut all);
        all
    }

    /// Returns the number of kept attribute names.
    #[must_use]
    pub fn names_kept(&self) -> usize {
        self.root.names_kept()
    }

    #[must_use]
    pub fn paths(&self) -> usize {
        self.paths
    }
}

impl PatternNode {
    fn descend(&mut self, key: KeyText<'_>, parts_max: usize) -> &mut Self {
        let class = match key {
            KeyText::Number => PartClass::Number,
            KeyText::Binary => PartClass::Binary,
            KeyText::Text(text) => {
                // The borrow of a node passes to the next one, so the path is walked by positions.
                let mut node = self;
                let mut path = Vec::with_capacity(8);
                split_parts(text, parts_max, |part, separator| {
                    path.push((part, separator))
                });
                for (part, separator) in path {
                    node = node.enter(part, separator);
                }
                return node;
            }
        };
        self.enter(KeySegment::Class(class), END)
    }

    fn enter(&mut self, part: KeySegment<'_>, separator: u8) -> &mut Self {
        let place = self.find_edge(part, separator).unwrap_or_else(|| {
            let token = match part {
                KeySegment::Class(class) => PatternToken::Class(class),
                KeySegment::Name(name) => PatternToken::Name(name.into()),
            };
            self.edges.push(Edge {
                token,
                separator,
                node: Self::default(),
            });
            self.edges.len() - 1
        });
        let node = &mut self.edges[place].node;
        node.items += 1;
        node
    }

    /// Returns the edge of a part: that of the name itself, otherwise the one to which such names
    /// were generalized.
    fn find_edge(&self, part: KeySegment<'_>, separator: u8) -> Option<usize> {
        let mut edges = self
            .edges
            .iter()
            .enumerate()
            .filter(|(_, edge)| edge.separator == separator);
        let name = match part {
            KeySegment::Class(class) => {
                return edges
                    .find(|(_, edge)| edge.token.is(class))
                    .map(|(place, _)| place);
            }
            KeySegment::Name(name) => name,
        };
        let stem = without_number(name);
        let mut like = None;
        for (place, edge) in edges {
            match &edge.token {
                PatternToken::Name(known) if **known == *name => return Some(place),
                PatternToken::Numbered(known) if stem == Some(&**known) => like = Some(place),
                token if token.is_any_word() => like = like.or(Some(place)),
                _ => {}
            }
        }
        like
    }

    fn merge(&mut self, other: Self) {
        self.items += other.items;
        for edge in other.edges {
            self.add(edge);
        }
        match (&mut self.shape, other.shape) {
            (Some(own), Some(other)) => own.merge(&other),
            (own @ None, other) => *own = other,
            (Some(_), None) => {}
        }
    }

    fn add(&mut self, edge: Edge) {
        match self
            .edges
            .iter_mut()
            .find(|own| own.separator == edge.separator && own.token == edge.token)
        {
            Some(own) => own.node.merge(edge.node),
            None => self.edges.push(edge),
        }
    }

    /// Gives edges other tokens; edges with the same token are merged.
    fn rename(&mut self, token: impl Fn(&Edge) -> Option<PatternToken>) {
        for mut edge in std::mem::take(&mut self.edges) {
            edge.token = token(&edge).unwrap_or(edge.token);
            self.add(edge);
        }
    }

    fn generalize(&mut self, step: GeneralizeStep, depth: usize, is_last: bool) {
        if depth >= step.parts {
            self.merge_rest();
        }
        self.join_numbered();
        self.join_random();
        self.join_names(step, is_last);
        self.join_classes();
        for edge in &mut self.edges {
            let depth = if edge.separator == END { 0 } else { depth + 1 };
            edge.node.generalize(step, depth, is_last);
        }
    }

    /// Merges the rest of the key into one part.
    fn merge_rest(&mut self) {
        let is_text =
            |edge: &Edge| !edge.token.is(PartClass::Number) && !edge.token.is(PartClass::Binary);
        if self.edges.iter().any(is_text) {
            let mut rest = Self::default();
            std::mem::take(&mut self.edges)
                .into_iter()
                .for_each(|edge| edge.collect_ends(&mut rest));
            self.edges = vec![Edge {
                token: PatternToken::Class(PartClass::Rest),
                separator: END,
                node: rest,
            }];
        }
    }

    /// Merges names that differ in a number: `user1`, `user2`.
    fn join_numbered(&mut self) {
        let mut counts: HashMap<(u8, Box<str>), usize> = HashMap::new();
        for edge in &self.edges {
            let (stem, count) = match &edge.token {
                PatternToken::Numbered(stem) => (Some(&**stem), 2),
                PatternToken::Name(name) => (without_number(name), 1),
                PatternToken::Class(_) => (None, 0),
            };
            if let Some(stem) = stem {
                *counts.entry((edge.separator, stem.into())).or_default() += count;
            }
        }
        self.rename(|edge| {
            let stem = without_number(edge.token.name()?)?;
            let is_one_of_many = counts.get(&(edge.separator, stem.into()))? > &1;
            (is_one_of_many && !matches!(edge.token, PatternToken::Numbered(_)))
                .then(|| PatternToken::Numbered(stem.into()))
        });
    }

    /// Merges names such as `f17` into hexadecimal numbers that they are by chance.
    fn join_random(&mut self) {
        let items = self.items_by(|edge| matches!(edge.token, PatternToken::Numbered(_)));
        let random = [PartClass::Hex, PartClass::Id, PartClass::Base64]
            .map(|class| (class, self.items_by(|edge| edge.token.is(class))));
        self.rename(|edge| {
            let numbered = items
                .get(&edge.separator)
                .filter(|_| matches!(edge.token, PatternToken::Numbered(_)))?;
            let is_rare = |of: &HashMap<u8, u64>| {
                of.get(&edge.separator)
                    .is_some_and(|items| numbered * CHANCE_FACTOR <= *items)
            };
            random
                .iter()
                .find(|(_, of)| is_rare(of))
                .map(|(class, _)| PatternToken::Class(*class))
        });
    }

    /// Returns the items of the selected edges, by separator.
    fn items_by(&self, is_counted: impl Fn(&Edge) -> bool) -> HashMap<u8, u64> {
        let mut items = HashMap::new();
        for edge in self.edges.iter().filter(|edge| is_counted(edge)) {
            *items.entry(edge.separator).or_default() += edge.node.items;
        }
        items
    }

    /// Turns names that are no constants into words. Names in capitals are treated apart from
    /// others: most often they are types of items.
    fn join_names(&mut self, step: GeneralizeStep, is_last: bool) {
        let mut families: HashMap<(u8, bool), (usize, u64)> = HashMap::new();
        for edge in &self.edges {
            if let Some(name) = edge.token.name() {
                let family = families
                    .entry((edge.separator, is_capital(name)))
                    .or_default();
                *family = (family.0 + 1, family.1 + edge.node.items);
            }
        }
        let items = self.items;
        self.rename(|edge| {
            let name = edge.token.name()?;
            let (names, of_family) = families[&(edge.separator, is_capital(name))];
            let often = if edge.separator == END {
                ITEMS_PER_LAST_NAME
            } else {
                ITEMS_PER_NAME
            };
            let is_certain = !is_last || is_capital(name) || of_family >= often * names as u64;
            let is_heavy =
                edge.node.items * 100 >= items * step.percent && edge.node.items >= often;
            let is_constant = names <= step.names_max && is_certain || is_heavy;
            (!is_constant).then(|| PatternToken::Class(kind_of_name(name)))
        });
    }

    /// Merges a class with few parts into a wider class with many: they belong to the narrow class
    /// by chance, for example hexadecimal ids that happen to have only digits.
    fn join_classes(&mut self) {
        let mut counts: Vec<(u8, PartClass, u64)> = Vec::new();
        for edge in &self.edges {
            if let PatternToken::Class(class) = edge.token {
                counts.push((edge.separator, class, edge.node.items));
            }
        }
        let items_of = |separator: u8, class: PartClass| {
            counts
                .iter()
                .find(|count| (count.0, count.1) == (separator, class))
                .map_or(0, |count| count.2)
        };
        self.rename(|edge| {
            let PatternToken::Class(class) = edge.token else {
                return None;
            };
            let (word, text) = (
                items_of(edge.separator, PartClass::Word),
                items_of(edge.separator, PartClass::Text),
            );
            // Words and texts are one class: text if a part of them has spaces.
            match class {
                PartClass::Word if text * 9 >= word && text > 0 => {
                    return Some(PatternToken::Class(PartClass::Text));
                }
                PartClass::Text if text * 9 < word => {
                    return Some(PatternToken::Class(PartClass::Word));
                }
                _ => {}
            }
            let wider = |count: &&(u8, PartClass, u64)| {
                count.0 == edge.separator
                    && class.may_belong_to(count.1)
                    && edge.node.items * CHANCE_FACTOR <= count.2
            };
            counts
                .iter()
                .filter(wider)
                .max_by_key(|count| count.2)
                .map(|count| PatternToken::Class(count.1))
        });
    }

    fn paths(&self) -> usize {
        usize::from(self.shape.is_some())
            + self
                .edges
                .iter()
                .map(|edge| edge.node.paths())
                .sum::<usize>()
    }

    fn names_kept(&self) -> usize {
        let own = self
            .shape
            .as_ref()
            .map_or(0, |shape| shape.attributes.kept());
        own + self
            .edges
            .iter()
            .map(|edge| edge.node.names_kept())
            .sum::<usize>()
    }

    fn into_patterns(self, keys: &mut Vec<String>, all: &mut Vec<(Vec<String>, ItemShape)>) {
        if let Some(shape) = self.shape {
            // The last key is the empty one begun at the end of the key before it.
            all.push((keys[..keys.len() - 1].to_vec(), *shape));
        }
        for edge in self.edges {
            let before = keys.clone();
            if let Some(key) = keys.last_mut() {
                edge.write(key);
            }
            if edge.separator == END {
                keys.push(String::new());
            }
            edge.node.into_patterns(keys, all);
            *keys = before;
        }
    }
}

impl Edge {
    /// Merges everything after the end of the key into `into`.
    fn collect_ends(self, into: &mut PatternNode) {
        if self.separator == END {
            into.merge(self.node);
        } else {
            self.node
                .edges
                .into_iter()
                .for_each(|edge| edge.collect_ends(into));
        }
    }

    fn write(&self, pattern: &mut String) {
        match &self.token {
            PatternToken::Class(class) => pattern.push_str(class.text()),
            PatternToken::Name(name) => pattern.push_str(name),
            PatternToken::Numbered(stem) => {
                pattern.push_str(stem);
                pattern.push_str(PartClass::Digits.text());
            }
        }
        if self.separator != END {
            pattern.push(char::from(self.separator));
        }
    }
}

/// True for `USER`, `ORDER_ITEM`.
fn is_capital(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

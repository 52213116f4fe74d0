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
use super::class::{END, KeySegment, kind_of_name, may_be_in_name, split_parts, without_number};
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

impl GeneralizeStep {
    const fn new(names_max: usize, percent: u64, parts: usize) -> Self {
        Self {
            names_max,
            percent,
            parts,
        }
    }
}

const STEPS: [GeneralizeStep; 8] = [
    GeneralizeStep::new(16, 10, 12),
    GeneralizeStep::new(8, 10, 12),
    GeneralizeStep::new(4, 20, 8),
    GeneralizeStep::new(0, 50, 6),
    GeneralizeStep::new(0, 101, 4),
    GeneralizeStep::new(0, 101, 2),
    GeneralizeStep::new(0, 101, 1),
    GeneralizeStep::new(0, 101, 0),
];

/// The minimum mean number of items for each name at which names are constants.
const ITEMS_PER_NAME: u64 = 4;
/// The factors by which texts must be rarer than ids to be some of them by chance: of the one length
/// that the ids have, and of any.
const FIXED_FACTOR: u64 = 2;
const VARIABLE_FACTOR: u64 = 8;
/// The further factor by which texts of several parts must be rarer if their letters are others.
const ODD_FACTOR: u64 = 16;
/// The minimum of names with the same first word, and their part of the names of a place, at which
/// the word is a constant: `office` of `office_rome`.
const PREFIXED_MIN: usize = 2;
const PREFIXED_PART: usize = 4;
/// The minimum of names at which names of the same items are values: after a constant, and elsewhere.
const VALUES_MIN: usize = 2;
const VALUES_MIN_ELSEWHERE: usize = 3;
/// The maximum bytes of a text that is kept as the only one.
const SOLE_BYTES_MAX: usize = 32;

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
    form: ChunkForm,
    edges: Vec<Edge>,
    shape: Option<Box<ItemShape>>,
}

/// The form of the texts from the last structural separator to a node.
#[derive(Debug, Default)]
struct ChunkForm {
    /// The fewest and the most.
    bytes: Option<[usize; 2]>,
    kinds: u8,
    /// The text, if it is the same in all keys and short.
    sole: Option<Box<str>>,
}

/// Bits of [`ChunkForm::kinds`]: letters of either case, and a separator within.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const PARTS: u8 = 4;

impl ChunkForm {
    fn of(text: &str) -> Self {
        let kind = |byte| match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            _ => u8::from(may_be_in_name(byte)) * PARTS,
        };
        Self {
            bytes: Some([text.len(); 2]),
            kinds: text.bytes().fold(0, |kinds, byte| kinds | kind(byte)),
            sole: (text.len() <= SOLE_BYTES_MAX).then(|| text.into()),
        }
    }

    fn include(&mut self, other: &Self) {
        match (&mut self.bytes, other.bytes) {
            (Some([min, max]), Some([other_min, other_max])) => {
                (*min, *max) = (other_min.min(*min), other_max.max(*max));
                self.sole
                    .take_if(|sole| Some(&*sole) != other.sole.as_ref());
            }
            (None, _) => (self.bytes, self.sole) = (other.bytes, other.sole.clone()),
            (Some(_), None) => {}
        }
        self.kinds |= other.kinds;
    }

    /// True if texts of the other form, as long as these, may be of this one too; with `any_letters`
    /// whatever their letters are.
    fn includes(&self, other: &Self, any_letters: bool) -> bool {
        let letters = |form: &Self| form.kinds & (LOWER | UPPER);
        let is_within =
            |([min, max], [least, most]): ([usize; 2], [usize; 2])| min <= least && most <= max;
        self.bytes.zip(other.bytes).is_some_and(is_within)
            && (any_letters || [0, letters(self)].contains(&letters(other)))
    }
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
            // Parts that are joined make the parts before them alike.
            loop {
                let before = self.paths;
                self.root.generalize(STEPS[self.step], 0, false, is_last);
                self.paths = self.root.paths();
                if self.paths >= before {
                    break;
                }
            }
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
                split_parts(text, parts_max, |part, chunk, separator| {
                    path.push((part, chunk, separator))
                });
                for (part, chunk, separator) in path {
                    node = node.enter(part, chunk, separator);
                }
                return node;
            }
        };
        self.enter(KeySegment::Class(class), "", END)
    }

    fn enter(&mut self, part: KeySegment<'_>, chunk: &str, separator: u8) -> &mut Self {
        if let KeySegment::Name(name) = part
            && let Some((word, rest)) = self.cut(name)
        {
            let before = &chunk[..chunk.len() - rest.len() - 1];
            let rest_part = match rest {
                "" => KeySegment::Class(PartClass::Empty),
                rest => KeySegment::Name(rest),
            };
            let between = name.as_bytes()[word.len()];
            let node = self.enter(KeySegment::Name(word), before, between);
            return node.enter(rest_part, chunk, separator);
        }
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
        node.form.include(&ChunkForm::of(chunk));
        node
    }

    /// Returns the first word of a name and the rest, if the word is known to stand before ids.
    fn cut<'n>(&self, name: &'n str) -> Option<(&'n str, &'n str)> {
        let end = name
            .bytes()
            .position(may_be_in_name)
            .filter(|_| !is_capital(name))?;
        let (word, separator) = (&name[..end], name.as_bytes()[end]);
        let is_word = |edge: &Edge| edge.separator == separator && edge.token.name() == Some(word);
        let is_known = self.edges.iter().any(is_word);
        is_known.then(|| (word, &name[end + 1..]))
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
        self.form.include(&other.form);
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
    fn rename(&mut self, mut token: impl FnMut(&Edge) -> Option<PatternToken>) {
        for mut edge in std::mem::take(&mut self.edges) {
            edge.token = token(&edge).unwrap_or(edge.token);
            self.add(edge);
        }
    }

    /// Generalizes the tree below; `is_value` if the part before is a constant, so that what stands
    /// here is its value.
    fn generalize(&mut self, step: GeneralizeStep, depth: usize, is_value: bool, is_last: bool) {
        if depth >= step.parts {
            self.merge_rest();
        }
        // Without those after a known word the others are few.
        self.split_names();
        self.split_names();
        self.join_numbered();
        self.join_names(step, is_last);
        self.join_ids();
        self.join_alike(is_value);
        self.join_words();
        for edge in &mut self.edges {
            let is_end = edge.separator == END;
            let is_value = !is_end && matches!(edge.token, PatternToken::Name(_));
            let depth = if is_end { 0 } else { depth + 1 };
            edge.node.generalize(step, depth, is_value, is_last);
        }
    }

    /// Cuts names after a first word that many have: `office_rome`, `office_paris`.
    fn split_names(&mut self) {
        let words = self.edges.iter().filter_map(Edge::first_word);
        let words: Vec<(Box<str>, u8, bool)> = words
            .map(|(word, separator, rest)| (word.into(), separator, rest.is_none()))
            .collect();
        let least = PREFIXED_MIN.max(self.edges.len() / PREFIXED_PART);
        let is_constant = |word: &str, separator: u8| {
            let is_same = |known: &&(Box<str>, u8, bool)| (&*known.0, known.1) == (word, separator);
            let mut same = words.iter().filter(is_same);
            same.clone().count() >= least || same.any(|known| known.2)
        };
        for mut edge in std::mem::take(&mut self.edges) {
            if let Some((word, separator, Some(rest))) = edge.first_word()
                && is_constant(word, separator)
            {
                let word = PatternToken::Name(word.into());
                edge.token = match rest {
                    "" => PatternToken::Class(PartClass::Empty),
                    rest => PatternToken::Name(rest.into()),
                };
                let node = Self {
                    items: edge.node.items,
                    edges: vec![edge],
                    ..Self::default()
                };
                self.add(Edge {
                    token: word,
                    separator,
                    node,
                });
            } else {
                self.add(edge);
            }
        }
    }

    /// Merges texts into ids that they look like by chance only, by their length and letters: a name
    /// without digits, or what a separator within an id divides.
    fn join_ids(&mut self) {
        let ids = |class| {
            let of_class = move |edge: &&Edge| edge.token.is(class) && ends_chunk(edge.separator);
            self.edges.iter().filter(of_class)
        };
        let items = |class: &PartClass| ids(*class).map(|edge| edge.node.items).sum::<u64>();
        let classes = [
            PartClass::Digits,
            PartClass::Hex,
            PartClass::Id,
            PartClass::Base64,
        ];
        let Some(class) = classes.into_iter().max_by_key(items) else {
            return;
        };
        let (mut form, mut separators) = (ChunkForm::default(), Vec::new());
        for edge in ids(class) {
            form.include(&edge.node.form);
            separators.push(edge.separator);
        }
        let factor = match form.bytes {
            Some([min, max]) if min == max => FIXED_FACTOR,
            _ => VARIABLE_FACTOR,
        };
        let items_max = items(&class) / factor;
        let (members, others): (Vec<Edge>, Vec<Edge>) = std::mem::take(&mut self.edges)
            .into_iter()
            .partition(|edge| {
                let is_id = edge.token.is(class) && ends_chunk(edge.separator);
                !is_id
                    && edge.node.items <= items_max
                    && edge.is_within(&separators, &form, items_max / ODD_FACTOR)
            });
        self.edges = others;
        for edge in members {
            edge.each_end(&ends_chunk, &mut |end| {
                self.add(Edge {
                    token: PatternToken::Class(class),
                    ..end
                });
            });
        }
    }

    /// Turns names into words if the items below them are alike: values, as `acme` and `globex`, and
    /// not types of items.
    fn join_alike(&mut self, is_value: bool) {
        let is_candidate = |edge: &Edge| match &edge.token {
            PatternToken::Name(name) => is_value || !is_capital(name),
            token => token.is_any_word(),
        };
        let least = if is_value {
            VALUES_MIN
        } else {
            VALUES_MIN_ELSEWHERE
        };
        let is_one_of_many = |edge: &Edge| {
            let is_like = |other: &&Edge| {
                other.separator == edge.separator
                    && is_candidate(other)
                    && other.node.is_like(&edge.node)
            };
            let mut like = self.edges.iter().filter(is_like);
            is_candidate(edge)
                && (like.clone().count() >= least || like.any(|edge| edge.token.is_any_word()))
        };
        let mut values: Vec<bool> = self.edges.iter().map(is_one_of_many).collect();
        values.reverse();
        self.rename(|edge| {
            let is_value = values.pop()?;
            let name = edge.token.name().filter(|_| is_value)?;
            Some(PatternToken::Class(kind_of_name(name)))
        });
    }

    /// True if the items below both are of the same kinds: the commoner keys of the smaller are also
    /// in the other, with about the same attributes.
    fn is_like(&self, other: &Self) -> bool {
        let (few, many) = if self.items < other.items {
            (self, other)
        } else {
            (other, self)
        };
        let is_in_both = |edge: &&Edge| {
            let is_same = |other: &Edge| {
                (other.separator, &other.token) == (edge.separator, &edge.token)
                    && other.node.is_like(&edge.node)
            };
            many.edges.iter().any(is_same)
        };
        let items = |edge: &Edge| edge.node.items;
        let (all, both): (u64, u64) = (
            few.edges.iter().map(items).sum(),
            few.edges.iter().filter(is_in_both).map(items).sum(),
        );
        let same_shape = match (&few.shape, &many.shape) {
            (Some(one), Some(other)) => one.is_like(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        same_shape && both * 2 >= all
    }

    /// Merges the rest of the key into one part.
    fn merge_rest(&mut self) {
        let is_text =
            |edge: &Edge| !edge.token.is(PartClass::Number) && !edge.token.is(PartClass::Binary);
        if self.edges.iter().any(is_text) {
            let mut rest = Self::default();
            std::mem::take(&mut self.edges)
                .into_iter()
                .for_each(|edge| {
                    edge.each_end(&|separator| separator == END, &mut |end| {
                        rest.merge(end.node)
                    });
                });
            self.edges = vec![Edge {
                token: PatternToken::Class(PartClass::Rest),
                separator: END,
                node: rest,
            }];
        }
    }

    /// Merges names that differ in a number: `user1`, `user2`.
    fn join_numbered(&mut self) {
        let stem = |edge: &Edge| {
            let stem = match &edge.token {
                PatternToken::Numbered(stem) => &**stem,
                PatternToken::Name(name) => without_number(name)?,
                PatternToken::Class(_) => return None,
            };
            Some((edge.separator, Box::from(stem)))
        };
        let stems: Vec<(u8, Box<str>)> = self.edges.iter().filter_map(stem).collect();
        self.rename(|edge| {
            let own = stem(edge)?;
            let is_one_of_many = stems.iter().filter(|stem| **stem == own).count() > 1;
            is_one_of_many.then_some(PatternToken::Numbered(own.1))
        });
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
            let are_often = of_family >= ITEMS_PER_NAME * names as u64;
            let is_certain = !is_last || is_capital(name) || are_often;
            let is_heavy =
                edge.node.items * 100 >= items * step.percent && edge.node.items >= ITEMS_PER_NAME;
            let is_constant = names <= step.names_max && is_certain || is_heavy;
            (!is_constant).then(|| PatternToken::Class(kind_of_name(name)))
        });
    }

    /// Makes words and texts one class: text if a part of them has spaces.
    fn join_words(&mut self) {
        let items = |class| {
            let of_class = self.edges.iter().filter(|edge| edge.token.is(class));
            of_class.map(|edge| edge.node.items).sum::<u64>()
        };
        let (words, texts) = (items(PartClass::Word), items(PartClass::Text));
        let class = if texts * 9 >= words {
            PartClass::Text
        } else {
            PartClass::Word
        };
        self.rename(|edge| {
            let is_any_word = edge.token.is_any_word();
            is_any_word.then_some(PatternToken::Class(class))
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
    /// Calls `each` with each first edge below, or this one, with a separator that is an end.
    fn each_end(self, is_end: &impl Fn(u8) -> bool, each: &mut impl FnMut(Self)) {
        if is_end(self.separator) {
            each(self);
        } else {
            self.node
                .edges
                .into_iter()
                .for_each(|edge| edge.each_end(is_end, each));
        }
    }

    /// True if all texts up to the next structural separator, one of these, are of the form; in at
    /// most this many items a text of parts may have other letters.
    fn is_within(&self, separators: &[u8], form: &ChunkForm, odd_max: u64) -> bool {
        if ends_chunk(self.separator) {
            let own = &self.node.form;
            let is_odd = self.node.items <= odd_max && own.kinds & PARTS != 0;
            let has_form =
                matches!(self.token, PatternToken::Class(class) if !class.is_by_letters());
            !has_form && separators.contains(&self.separator) && form.includes(own, is_odd)
        } else {
            let is_within = |edge: &Self| edge.is_within(separators, form, odd_max);
            self.node.edges.iter().all(is_within)
        }
    }

    /// Returns the first word of a name of several, unless it is in capitals, its separator, and the
    /// rest of the name; of a name before a separator within names, itself.
    fn first_word(&self) -> Option<(&str, u8, Option<&str>)> {
        let PatternToken::Name(name) = &self.token else {
            return None;
        };
        match name.bytes().position(may_be_in_name) {
            Some(end) if end > 0 && !is_capital(name) => {
                Some((&name[..end], name.as_bytes()[end], Some(&name[end + 1..])))
            }
            None if !ends_chunk(self.separator) => Some((name, self.separator, None)),
            _ => None,
        }
    }

    fn write(&self, pattern: &mut String) {
        match &self.token {
            PatternToken::Class(class) => match &self.node.form.sole {
                // `tasks_1`: a version.
                Some(text) if *class == PartClass::Digits && pattern.ends_with('_') => {
                    pattern.push_str(text.rsplit('_').next().unwrap_or_default());
                }
                _ => pattern.push_str(class.text()),
            },
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

/// True for what ends a part of the structure of a key: no separator that may be within a name.
fn ends_chunk(separator: u8) -> bool {
    !may_be_in_name(separator)
}

/// True for `USER`, `ORDER_ITEM`.
fn is_capital(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "corpus_tests.rs"]
mod corpus_tests;

//! Several document paths as one tree: finds overlap and conflict (docs/dynamodb.md 7.8) in one pass, and drives projection.

use std::collections::BTreeMap;

use crate::model::error::expression::ExpressionFault;
use crate::model::{AttributeValue, DocumentPath, Item, PathElement};

/// Paths none of which is a prefix of another, and none of which takes for a map what another takes for a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathTree {
    heads: BTreeMap<String, PathNode>,
}

/// A place in a document that at least one path goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathNode {
    /// Number of the path that came here first.
    first: usize,
    /// That path ends here.
    ends: bool,
    /// At most one of `map` and `list` is filled once the tree is built.
    map: BTreeMap<String, PathNode>,
    list: BTreeMap<usize, PathNode>,
}

impl PathNode {
    fn new(first: usize) -> Self {
        Self { first, ends: false, map: BTreeMap::new(), list: BTreeMap::new() }
    }

    /// The first path that takes this place for the other kind of container than `element` does.
    fn contradicts(&self, element: &PathElement) -> Option<usize> {
        match element {
            PathElement::Name(_) => self.list.values().map(|node| node.first).min(),
            PathElement::Index(_) => self.map.values().map(|node| node.first).min(),
        }
    }

    fn child(&mut self, element: &PathElement, path: usize) -> &mut Self {
        match element {
            PathElement::Name(name) => self.map.entry(name.clone()).or_insert_with(|| Self::new(path)),
            PathElement::Index(index) => self.list.entry(*index).or_insert_with(|| Self::new(path)),
        }
    }

    /// What the paths select of `value`; `None` when nothing. Selected list elements close up.
    fn select(&self, value: &AttributeValue) -> Option<AttributeValue> {
        if self.ends {
            return Some(value.clone());
        }
        match value {
            AttributeValue::M(map) => {
                let children = self.map.iter().filter_map(|(name, node)| Some((name.clone(), node.select(map.get(name)?)?)));
                let selected: BTreeMap<String, AttributeValue> = children.collect();
                (!selected.is_empty()).then_some(AttributeValue::M(selected))
            }
            AttributeValue::L(list) => {
                let children = self.list.iter().filter_map(|(index, node)| node.select(list.get(*index)?));
                let selected: Vec<AttributeValue> = children.collect();
                (!selected.is_empty()).then_some(AttributeValue::L(selected))
            }
            _ => None,
        }
    }
}

impl PathTree {
    /// Builds the tree.
    ///
    /// # Errors
    /// Overlap, else conflict; path one is the earlier of the two in `paths`.
    pub fn new(paths: &[DocumentPath]) -> Result<Self, ExpressionFault> {
        let mut tree = Self::default();
        let mut conflict = None;
        let text = |number: usize| paths.get(number).map(ToString::to_string).unwrap_or_default();
        for (number, path) in paths.iter().enumerate() {
            let mut node = tree.heads.entry(path.head.clone()).or_insert_with(|| PathNode::new(number));
            for element in &path.rest {
                if node.ends {
                    return Err(ExpressionFault::PathsOverlap { one: text(node.first), two: text(number) });
                }
                // Kept: an overlap anywhere is told first, also one of later paths.
                conflict = conflict.or(node.contradicts(element).map(|earlier| (earlier, number)));
                node = node.child(element, number);
            }
            // An earlier path ends here or goes on from here.
            if node.first != number {
                return Err(ExpressionFault::PathsOverlap { one: text(node.first), two: text(number) });
            }
            node.ends = true;
        }
        match conflict {
            Some((one, two)) => Err(ExpressionFault::PathsConflict { one: text(one), two: text(two) }),
            None => Ok(tree),
        }
    }

    /// The tree of some top-level attributes.
    #[must_use]
    pub fn of_attributes<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let heads = names.enumerate().map(|(number, name)| (name.to_owned(), PathNode { ends: true, ..PathNode::new(number) }));
        Self { heads: heads.collect() }
    }

    /// The top-level attributes that the paths begin with, by name.
    pub fn heads(&self) -> impl Iterator<Item = &str> {
        self.heads.keys().map(String::as_str)
    }

    /// A new item of what the paths select; what an item lacks is left out.
    #[must_use]
    pub fn select(&self, item: &Item) -> Item {
        let selected = self.heads.iter().filter_map(|(name, node)| Some((name.clone(), node.select(item.get(name)?)?)));
        Item(selected.collect())
    }
}

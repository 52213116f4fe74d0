//! Document paths: their limits, and several of them as one tree (a trie). The tree finds overlap
//! and conflict (docs/dynamodb.md 7.8) in one pass and drives projections (`projection`) and
//! updates (`update`).

use std::collections::BTreeMap;

use crate::model::error::expression::ExpressionFault;
use crate::model::limits::DOCUMENT_PATH_LEVELS_MAX;
use crate::model::{AttributeValue, DocumentPath, Item, PathElement};

/// The largest list index of a path: the service reads it as a 32-bit integer.
pub(super) const LIST_INDEX_MAX: usize = 2_147_483_647;

/// Checks the number of a path's levels.
///
/// # Errors
/// `PathTooDeep` for more than [`DOCUMENT_PATH_LEVELS_MAX`] levels.
pub(super) fn check_levels(path: &DocumentPath) -> Result<(), ExpressionFault> {
    let levels = 1 + path.rest.len();
    if levels > DOCUMENT_PATH_LEVELS_MAX {
        Err(ExpressionFault::PathTooDeep(levels))
    } else {
        Ok(())
    }
}

/// Checks a list index that is written as `digits`; `None` is larger than any number.
///
/// # Errors
/// `IndexRange` for an index over [`LIST_INDEX_MAX`].
pub(super) fn check_index(index: Option<usize>, digits: &str) -> Result<usize, ExpressionFault> {
    index
        .filter(|index| *index <= LIST_INDEX_MAX)
        .ok_or_else(|| ExpressionFault::IndexRange(digits.to_owned()))
}

/// Checks a path that no expression was parsed for, as the parser does.
///
/// # Errors
/// An index out of range, more than 32 levels.
pub fn check(path: &DocumentPath) -> Result<(), ExpressionFault> {
    for element in &path.rest {
        if let PathElement::Index(index) = element {
            check_index(Some(*index), &index.to_string())?;
        }
    }
    check_levels(path)
}

/// A tree of paths. None is a prefix of another, and no position is a map for one and a list for
/// another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct PathTree {
    pub(super) roots: BTreeMap<String, PathNode>,
}

/// A place in a document that at least one path goes through.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PathNode {
    /// Number of the path that came here first.
    pub first: usize,
    /// True if that path ends here.
    pub is_end: bool,
    /// Members of a map. Once the tree is built, one of `map` and `list` is empty.
    pub map: BTreeMap<String, PathNode>,
    pub list: BTreeMap<usize, PathNode>,
}

impl PathNode {
    fn new(first: usize) -> Self {
        Self {
            first,
            is_end: false,
            map: BTreeMap::new(),
            list: BTreeMap::new(),
        }
    }

    /// Returns the first path that treats this place as the other kind of container than `element`
    /// does.
    fn contradicts(&self, element: &PathElement) -> Option<usize> {
        match element {
            PathElement::Name(_) => self.list.values().map(|node| node.first).min(),
            PathElement::Index(_) => self.map.values().map(|node| node.first).min(),
        }
    }

    fn child(&mut self, element: &PathElement, path: usize) -> &mut Self {
        match element {
            PathElement::Name(name) => self
                .map
                .entry(name.clone())
                .or_insert_with(|| Self::new(path)),
            PathElement::Index(index) => self.list.entry(*index).or_insert_with(|| Self::new(path)),
        }
    }

    /// Returns the part of `value` that the paths select; `None` if there is none. Selected list
    /// elements close up.
    fn select(&self, value: &AttributeValue) -> Option<AttributeValue> {
        if self.is_end {
            return Some(value.clone());
        }
        match value {
            AttributeValue::M(map) => {
                let children = self
                    .map
                    .iter()
                    .filter_map(|(name, node)| Some((name.clone(), node.select(map.get(name)?)?)));
                let selected: BTreeMap<String, AttributeValue> = children.collect();
                (!selected.is_empty()).then_some(AttributeValue::M(selected))
            }
            AttributeValue::L(list) => {
                let children = self
                    .list
                    .iter()
                    .filter_map(|(index, node)| node.select(list.get(*index)?));
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
        let text = |number: usize| paths[number].to_string();
        for (number, path) in paths.iter().enumerate() {
            let mut node = tree
                .roots
                .entry(path.head.clone())
                .or_insert_with(|| PathNode::new(number));
            for element in &path.rest {
                if node.is_end {
                    return Err(ExpressionFault::PathsOverlap {
                        one: text(node.first),
                        two: text(number),
                    });
                }
                // The conflict is kept, not returned: an overlap anywhere is reported first, even
                // one of later paths.
                conflict = conflict.or(node.contradicts(element).map(|earlier| (earlier, number)));
                node = node.child(element, number);
            }
            // Here an earlier path ends, or goes through.
            if node.first != number {
                return Err(ExpressionFault::PathsOverlap {
                    one: text(node.first),
                    two: text(number),
                });
            }
            node.is_end = true;
        }
        match conflict {
            Some((one, two)) => Err(ExpressionFault::PathsConflict {
                one: text(one),
                two: text(two),
            }),
            None => Ok(tree),
        }
    }

    /// Makes the tree of some top-level attributes.
    #[must_use]
    pub fn from_attributes<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let heads = names.enumerate().map(|(number, name)| {
            (
                name.to_owned(),
                PathNode {
                    is_end: true,
                    ..PathNode::new(number)
                },
            )
        });
        Self {
            roots: heads.collect(),
        }
    }

    /// Returns the top-level attributes that the paths begin with, by name.
    pub fn heads(&self) -> impl Iterator<Item = &str> {
        self.roots.keys().map(String::as_str)
    }

    /// Returns a new item of the selected parts; a part that the item lacks is left out.
    #[must_use]
    pub fn select(&self, item: &Item) -> Item {
        let selected = self
            .roots
            .iter()
            .filter_map(|(name, node)| Some((name.clone(), node.select(item.get(name)?)?)));
        Item(selected.collect())
    }
}

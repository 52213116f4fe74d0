//! An update applied to an item (docs/dynamodb.md 7.11).
//!
//! Difficulty: every action reads the item as it was, and indexes of lists mean the positions of that item, while removed elements
//! close up and elements set beyond the end follow each other. So the new values are made first, from the old item alone, then
//! all changes are gathered in a tree by path, and each list of the tree changes in one step: elements in place, then removals,
//! then what is appended, in the order of the indexes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;

use super::{Action, Effect, Origin, SetValue, Term, Update};
use crate::model::error::{UpdateError, ValueError};
use crate::model::limits::ITEM_BYTES_MAX;
use crate::model::{AttributeValue, DocumentPath, Error, Item, PathElement};

/// An empty list's own bytes (docs/dynamodb.md 5.1).
const LIST_BYTES: usize = 3;

/// The change at one document path.
enum Written {
    Put(AttributeValue),
    Remove,
}

/// A place that changes, or through which the way to one goes.
enum ChangeNode<'u> {
    Leaf(Written),
    Map(BTreeMap<&'u str, ChangeNode<'u>>),
    List(BTreeMap<usize, ChangeNode<'u>>),
}

impl Update {
    /// The item after the update. `old` is the item, or its key attributes alone where there is none, and then `exists` is false.
    ///
    /// # Errors
    /// [`UpdateError`], and [`ValueError`] for a number out of range.
    pub fn apply(&self, old: &Item, exists: bool) -> Result<Item, Error> {
        let mut changes = Vec::with_capacity(self.actions.len());
        let mut room = Room(ITEM_BYTES_MAX);
        for action in &self.actions {
            if let Some(change) = self.change(action, old, &mut room)? {
                changes.push((&action.path, change));
            }
        }
        if !exists {
            // There is nothing to remove from, so that its path cannot be wrong.
            changes.retain(|(_, change)| matches!(change, Written::Put(_)));
        }
        let mut new = old.clone();
        change_map(&mut new.0, tree(changes)?)?;
        Ok(new)
    }

    /// What an action does to the old item; `None` when nothing.
    fn change(&self, action: &Action, old: &Item, room: &mut Room) -> Result<Option<Written>, Error> {
        let current = || action.path.resolve_in(old);
        Ok(match &action.effect {
            Effect::Set(value) => Some(Written::Put(set_value(value, old, room)?)),
            Effect::Remove => Some(Written::Remove),
            Effect::Add(operand) => {
                // A sum may be shorter than its parts; a union or a list is not.
                if !matches!(operand, AttributeValue::N(_)) {
                    room.take(operand.size())?;
                }
                Some(Written::Put(match current() {
                    None => operand.clone(),
                    Some(current) => add(current, operand)?.ok_or_else(|| self.mismatch())?,
                }))
            }
            Effect::Delete(operand) => match current() {
                // Its parent must be there all the same.
                None => Some(Written::Remove),
                Some(current) => match difference(current, operand).ok_or_else(|| self.mismatch())? {
                    Some(rest) => Some(Written::Put(rest)),
                    None => Some(Written::Remove),
                },
            },
        })
    }

    fn mismatch(&self) -> UpdateError {
        match self.origin {
            Origin::Expression => UpdateError::OperandType,
            Origin::AttributeUpdates => UpdateError::AttributeType,
        }
    }
}

/// What the new item may still hold. The values of an update are all in it, so that what they weigh is known before they are copied.
struct Room(usize);

impl Room {
    fn take(&mut self, bytes: usize) -> Result<(), UpdateError> {
        self.0 = self.0.checked_sub(bytes).ok_or(UpdateError::ItemTooLarge)?;
        Ok(())
    }
}

fn set_value(value: &SetValue, old: &Item, room: &mut Room) -> Result<AttributeValue, Error> {
    let number = |term| match term_value(term, old)?.as_ref() {
        AttributeValue::N(number) => Ok(*number),
        _ => Err(UpdateError::OperandType),
    };
    let result = match value {
        SetValue::Term(term) => {
            room.take(term_size(term, old)?)?;
            return Ok(term_value(term, old)?.into_owned());
        }
        SetValue::Plus(left, right) => number(left)?.checked_add(number(right)?),
        SetValue::Minus(left, right) => number(left)?.checked_sub(number(right)?),
    };
    Ok(AttributeValue::N(result.map_err(ValueError::from)?))
}

/// What the value of a term weighs at least; copies nothing.
fn term_size(term: &Term, old: &Item) -> Result<usize, UpdateError> {
    match term {
        Term::Path(path) => path.resolve_in(old).map(AttributeValue::size).ok_or(UpdateError::MissingAttribute),
        Term::Value(value) => Ok(value.size()),
        Term::IfNotExists(path, default) => path.resolve_in(old).map_or_else(|| term_size(default, old), |value| Ok(value.size())),
        // The list's own bytes count once.
        Term::ListAppend(first, second) => Ok((term_size(first, old)? + term_size(second, old)?).saturating_sub(LIST_BYTES)),
    }
}

/// Numbers are small and copied; other values are borrowed until it is known that there is room for them.
fn term_value<'v>(term: &'v Term, old: &'v Item) -> Result<Cow<'v, AttributeValue>, UpdateError> {
    match term {
        Term::Path(path) => path.resolve_in(old).map(Cow::Borrowed).ok_or(UpdateError::MissingAttribute),
        Term::Value(value) => Ok(Cow::Borrowed(value)),
        Term::IfNotExists(path, default) => match path.resolve_in(old) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => term_value(default, old),
        },
        Term::ListAppend(first, second) => match (term_value(first, old)?.as_ref(), term_value(second, old)?.as_ref()) {
            (AttributeValue::L(first), AttributeValue::L(second)) => {
                Ok(Cow::Owned(AttributeValue::L([first.as_slice(), second].concat())))
            }
            _ => Err(UpdateError::OperandType),
        },
    }
}

/// The sum of numbers, the union of sets of one type, a list with another after it; `None` for other types.
fn add(current: &AttributeValue, operand: &AttributeValue) -> Result<Option<AttributeValue>, ValueError> {
    Ok(Some(match (current, operand) {
        (AttributeValue::N(current), AttributeValue::N(operand)) => AttributeValue::N(current.checked_add(*operand)?),
        (AttributeValue::Ss(current), AttributeValue::Ss(operand)) => AttributeValue::Ss(union(current, operand)),
        (AttributeValue::Ns(current), AttributeValue::Ns(operand)) => AttributeValue::Ns(union(current, operand)),
        (AttributeValue::Bs(current), AttributeValue::Bs(operand)) => AttributeValue::Bs(union(current, operand)),
        (AttributeValue::L(current), AttributeValue::L(operand)) => AttributeValue::L([current.as_slice(), operand].concat()),
        _ => return Ok(None),
    }))
}

/// What is left of a set; the inner `None` when nothing is, the outer one when it is no set of the operand's type.
fn difference(current: &AttributeValue, operand: &AttributeValue) -> Option<Option<AttributeValue>> {
    match (current, operand) {
        (AttributeValue::Ss(current), AttributeValue::Ss(operand)) => Some(without(current, operand).map(AttributeValue::Ss)),
        (AttributeValue::Ns(current), AttributeValue::Ns(operand)) => Some(without(current, operand).map(AttributeValue::Ns)),
        (AttributeValue::Bs(current), AttributeValue::Bs(operand)) => Some(without(current, operand).map(AttributeValue::Bs)),
        _ => None,
    }
}

/// Both are sorted and distinct, and so is the union.
fn union<T: Ord + Clone>(one: &[T], other: &[T]) -> Vec<T> {
    let mut all = [one, other].concat();
    all.sort_unstable();
    all.dedup();
    all
}

fn without<T: Ord + Clone>(set: &[T], members: &[T]) -> Option<Vec<T>> {
    let rest: Vec<T> = set.iter().filter(|member| members.binary_search(member).is_err()).cloned().collect();
    (!rest.is_empty()).then_some(rest)
}

/// The changes by path. That no path overlaps or contradicts another is known of an [`Update`].
fn tree(changes: Vec<(&DocumentPath, Written)>) -> Result<BTreeMap<&str, ChangeNode<'_>>, UpdateError> {
    let mut top = BTreeMap::new();
    for (path, change) in changes {
        match path.rest.split_first() {
            None => {
                top.insert(path.head.as_str(), ChangeNode::Leaf(change));
            }
            Some((first, rest)) => {
                let node = top.entry(path.head.as_str()).or_insert_with(|| ChangeNode::for_step(first));
                node.insert(first, rest, change)?;
            }
        }
    }
    Ok(top)
}

impl<'u> ChangeNode<'u> {
    /// An empty container that has this kind of step.
    fn for_step(step: &PathElement) -> Self {
        match step {
            PathElement::Name(_) => Self::Map(BTreeMap::new()),
            PathElement::Index(_) => Self::List(BTreeMap::new()),
        }
    }

    /// Puts a change below this node.
    fn insert(&mut self, step: &'u PathElement, rest: &'u [PathElement], change: Written) -> Result<(), UpdateError> {
        let next = rest.split_first();
        let new = match next {
            // Stands in until the change is put in its place below.
            None => Self::Leaf(Written::Remove),
            Some((following, _)) => Self::for_step(following),
        };
        let child = match (self, step) {
            (Self::Map(children), PathElement::Name(name)) => children.entry(name).or_insert(new),
            (Self::List(children), PathElement::Index(index)) => children.entry(*index).or_insert(new),
            _ => return Err(UpdateError::InvalidPath),
        };
        match next {
            None => {
                *child = Self::Leaf(change);
                Ok(())
            }
            Some((following, rest)) => child.insert(following, rest, change),
        }
    }

    /// Changes what is inside a value, which must be a container of this kind.
    fn change_inside(self, value: &mut AttributeValue) -> Result<(), UpdateError> {
        match (self, value) {
            (Self::Map(children), AttributeValue::M(map)) => change_map(map, children),
            (Self::List(children), AttributeValue::L(list)) => change_list(list, children),
            _ => Err(UpdateError::InvalidPath),
        }
    }
}

fn change_map(map: &mut BTreeMap<String, AttributeValue>, children: BTreeMap<&str, ChangeNode<'_>>) -> Result<(), UpdateError> {
    for (name, node) in children {
        match node {
            ChangeNode::Leaf(Written::Put(value)) => {
                map.insert(name.to_owned(), value);
            }
            ChangeNode::Leaf(Written::Remove) => {
                map.remove(name);
            }
            inner => inner.change_inside(map.get_mut(name).ok_or(UpdateError::InvalidPath)?)?,
        }
    }
    Ok(())
}

fn change_list(list: &mut Vec<AttributeValue>, children: BTreeMap<usize, ChangeNode<'_>>) -> Result<(), UpdateError> {
    let mut appended = Vec::new();
    let mut removed = Vec::new();
    for (index, node) in children {
        match (node, list.get_mut(index)) {
            (ChangeNode::Leaf(Written::Put(value)), Some(element)) => *element = value,
            (ChangeNode::Leaf(Written::Put(value)), None) => appended.push(value),
            (ChangeNode::Leaf(Written::Remove), Some(_)) => removed.push(index),
            (ChangeNode::Leaf(Written::Remove), None) => {}
            (inner, Some(element)) => inner.change_inside(element)?,
            (_, None) => return Err(UpdateError::InvalidPath),
        }
    }
    let old = mem::take(list);
    let kept = old.into_iter().enumerate().filter(|(index, _)| removed.binary_search(index).is_err());
    list.extend(kept.map(|(_, element)| element));
    list.append(&mut appended);
    Ok(())
}

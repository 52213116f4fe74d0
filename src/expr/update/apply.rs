//! The application of an update to an item, which makes a new item (docs/dynamodb.md 7.11).
//! `update/mod.rs` has the parser.
//!
//! | difficulty | solved by |
//! |---|---|
//! | every action reads the item as it was | the new values are made first, from the old item alone |
//! | indexes of lists are positions in the old item, while removed elements close up and elements set beyond the end follow each other | then one walk of the tree of the paths changes each list in one step: elements in place, then removals, then appended elements in the order of their indexes |

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;

use super::{SetTerm, SetValue, Update, UpdateAction, UpdateEffect, UpdateOrigin};
use crate::expr::path::PathNode;
use crate::model::error::{UpdateError, ValueError};
use crate::model::limits::ITEM_BYTES_MAX;
use crate::model::{AttributeValue, Error, Item};

/// An empty list's own bytes (docs/dynamodb.md 5.1).
const LIST_BYTES: usize = 3;

/// The change at one document path.
enum PathChange {
    Put(AttributeValue),
    Remove,
}

impl Update {
    /// Returns the item after the update. `old` is the item; if there is none, it is the key
    /// attributes alone, and `exists` is false.
    ///
    /// # Errors
    /// [`UpdateError`], and [`ValueError`] for a number out of range.
    pub fn apply(&self, old: &Item, exists: bool) -> Result<Item, Error> {
        let mut changes = PathChanges(Vec::with_capacity(self.actions.len()));
        let mut room = SizeBudget(ITEM_BYTES_MAX);
        for action in &self.actions {
            let change = self.change(action, old, &mut room)?;
            // If there is no item, there is nothing to remove, so that its path cannot be wrong.
            changes
                .0
                .push(Some(change).filter(|change| exists || matches!(change, PathChange::Put(_))));
        }
        let mut new = old.clone();
        changes.change_map(&mut new.0, &self.touched.roots)?;
        debug_assert!(
            changes.0.iter().all(Option::is_none),
            "every change is carried out once"
        );
        Ok(new)
    }

    /// Returns the change that an action makes to the old item.
    fn change(
        &self,
        action: &UpdateAction,
        old: &Item,
        room: &mut SizeBudget,
    ) -> Result<PathChange, Error> {
        let current = || action.path.resolve_in(old);
        Ok(match &action.effect {
            UpdateEffect::Set(value) => PathChange::Put(set_value(value, old, room)?),
            UpdateEffect::Remove => PathChange::Remove,
            UpdateEffect::Add(operand) => {
                // A sum may be shorter than its parts; a union or a list is not.
                if !matches!(operand, AttributeValue::N(_)) {
                    room.charge(operand.size())?;
                }
                PathChange::Put(match current() {
                    None => operand.clone(),
                    Some(current) => add(current, operand)?.ok_or_else(|| self.mismatch())?,
                })
            }
            // The parent of a missing set must exist all the same.
            UpdateEffect::Delete(operand) => {
                let rest = current()
                    .map(|current| difference(current, operand).ok_or_else(|| self.mismatch()))
                    .transpose()?;
                rest.flatten().map_or(PathChange::Remove, PathChange::Put)
            }
        })
    }

    fn mismatch(&self) -> UpdateError {
        match self.origin {
            UpdateOrigin::Expression => UpdateError::OperandType,
            UpdateOrigin::AttributeUpdates => UpdateError::AttributeType,
        }
    }
}

/// The bytes that the new item may still hold. All values of an update are in it, so that their
/// size is known before they are copied.
struct SizeBudget(usize);

impl SizeBudget {
    fn charge(&mut self, bytes: usize) -> Result<(), UpdateError> {
        self.0 = self.0.checked_sub(bytes).ok_or(UpdateError::ItemTooLarge)?;
        Ok(())
    }
}

fn set_value(value: &SetValue, old: &Item, room: &mut SizeBudget) -> Result<AttributeValue, Error> {
    let number = |term| match term_value(term, old)?.as_ref() {
        AttributeValue::N(number) => Ok(*number),
        _ => Err(UpdateError::OperandType),
    };
    let result = match value {
        SetValue::Term(term) => {
            room.charge(term_size(term, old)?)?;
            return Ok(term_value(term, old)?.into_owned());
        }
        SetValue::Plus(left, right) => number(left)?.checked_add(number(right)?),
        SetValue::Minus(left, right) => number(left)?.checked_sub(number(right)?),
    };
    Ok(AttributeValue::N(result.map_err(ValueError::from)?))
}

/// Returns the least size of a term's value; copies nothing.
fn term_size(term: &SetTerm, old: &Item) -> Result<usize, UpdateError> {
    match term {
        SetTerm::Path(path) => path
            .resolve_in(old)
            .map(AttributeValue::size)
            .ok_or(UpdateError::MissingAttribute),
        SetTerm::Value(value) => Ok(value.size()),
        SetTerm::IfNotExists(path, default) => path
            .resolve_in(old)
            .map_or_else(|| term_size(default, old), |value| Ok(value.size())),
        // The list's own bytes count once.
        SetTerm::ListAppend(first, second) => {
            Ok((term_size(first, old)? + term_size(second, old)?).saturating_sub(LIST_BYTES))
        }
    }
}

/// Returns the value of a term. Numbers are small and copied; other values are borrowed until it is
/// known that they fit.
fn term_value<'v>(
    term: &'v SetTerm,
    old: &'v Item,
) -> Result<Cow<'v, AttributeValue>, UpdateError> {
    match term {
        SetTerm::Path(path) => path
            .resolve_in(old)
            .map(Cow::Borrowed)
            .ok_or(UpdateError::MissingAttribute),
        SetTerm::Value(value) => Ok(Cow::Borrowed(value)),
        SetTerm::IfNotExists(path, default) => match path.resolve_in(old) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => term_value(default, old),
        },
        SetTerm::ListAppend(first, second) => match (
            term_value(first, old)?.as_ref(),
            term_value(second, old)?.as_ref(),
        ) {
            (AttributeValue::L(first), AttributeValue::L(second)) => Ok(Cow::Owned(
                AttributeValue::L([first.as_slice(), second].concat()),
            )),
            _ => Err(UpdateError::OperandType),
        },
    }
}

/// Returns the sum of numbers, the union of sets of one type, or a list with another after it;
/// `None` for other types.
fn add(
    current: &AttributeValue,
    operand: &AttributeValue,
) -> Result<Option<AttributeValue>, ValueError> {
    Ok(Some(match (current, operand) {
        (AttributeValue::N(current), AttributeValue::N(operand)) => {
            AttributeValue::N(current.checked_add(*operand)?)
        }
        (AttributeValue::Ss(current), AttributeValue::Ss(operand)) => {
            AttributeValue::Ss(union(current, operand))
        }
        (AttributeValue::Ns(current), AttributeValue::Ns(operand)) => {
            AttributeValue::Ns(union(current, operand))
        }
        (AttributeValue::Bs(current), AttributeValue::Bs(operand)) => {
            AttributeValue::Bs(union(current, operand))
        }
        (AttributeValue::L(current), AttributeValue::L(operand)) => {
            AttributeValue::L([current.as_slice(), operand].concat())
        }
        _ => return Ok(None),
    }))
}

/// Returns a set without members of another. The inner `None` is an empty set; the outer one is no
/// set of the operand's type.
fn difference(
    current: &AttributeValue,
    operand: &AttributeValue,
) -> Option<Option<AttributeValue>> {
    match (current, operand) {
        (AttributeValue::Ss(current), AttributeValue::Ss(operand)) => {
            Some(without(current, operand).map(AttributeValue::Ss))
        }
        (AttributeValue::Ns(current), AttributeValue::Ns(operand)) => {
            Some(without(current, operand).map(AttributeValue::Ns))
        }
        (AttributeValue::Bs(current), AttributeValue::Bs(operand)) => {
            Some(without(current, operand).map(AttributeValue::Bs))
        }
        _ => None,
    }
}

/// Returns the union of two sorted, distinct sets; it is sorted and distinct too.
fn union<T: Ord + Clone>(one: &[T], other: &[T]) -> Vec<T> {
    let mut all = [one, other].concat();
    all.sort_unstable();
    all.dedup();
    all
}

fn without<T: Ord + Clone>(set: &[T], members: &[T]) -> Option<Vec<T>> {
    let rest: Vec<T> = set
        .iter()
        .filter(|member| members.binary_search(member).is_err())
        .cloned()
        .collect();
    (!rest.is_empty()).then_some(rest)
}

/// The changes of an update's actions, each by the action's number; `None` if it changes nothing.
struct PathChanges(Vec<Option<PathChange>>);

impl PathChanges {
    /// True if there is a change at a place or below it.
    fn has_change(&self, node: &PathNode) -> bool {
        match node.is_end {
            true => matches!(self.0.get(node.first), Some(Some(_))),
            false => node
                .map
                .values()
                .chain(node.list.values())
                .any(|child| self.has_change(child)),
        }
    }

    /// Takes the change at this very place.
    fn take(&mut self, node: &PathNode) -> Option<PathChange> {
        self.0
            .get_mut(node.first)
            .filter(|_| node.is_end)
            .and_then(Option::take)
    }

    /// Changes the content of a value, which must be a container of this kind.
    fn change_inside(
        &mut self,
        node: &PathNode,
        value: &mut AttributeValue,
    ) -> Result<(), UpdateError> {
        match value {
            AttributeValue::M(map) if node.list.is_empty() => self.change_map(map, &node.map),
            AttributeValue::L(list) if node.map.is_empty() => self.change_list(list, &node.list),
            _ => Err(UpdateError::InvalidPath),
        }
    }

    fn change_map(
        &mut self,
        map: &mut BTreeMap<String, AttributeValue>,
        children: &BTreeMap<String, PathNode>,
    ) -> Result<(), UpdateError> {
        for (name, node) in children {
            if !self.has_change(node) {
                continue;
            }
            match self.take(node) {
                Some(PathChange::Put(value)) => {
                    map.insert(name.clone(), value);
                }
                Some(PathChange::Remove) => {
                    map.remove(name);
                }
                None => {
                    self.change_inside(node, map.get_mut(name).ok_or(UpdateError::InvalidPath)?)?
                }
            }
        }
        Ok(())
    }

    fn change_list(
        &mut self,
        list: &mut Vec<AttributeValue>,
        children: &BTreeMap<usize, PathNode>,
    ) -> Result<(), UpdateError> {
        let mut appended = Vec::new();
        let mut removed = Vec::new();
        for (&index, node) in children {
            if !self.has_change(node) {
                continue;
            }
            match (self.take(node), list.get_mut(index)) {
                (Some(PathChange::Put(value)), Some(element)) => *element = value,
                (Some(PathChange::Put(value)), None) => appended.push(value),
                (Some(PathChange::Remove), Some(_)) => removed.push(index),
                (Some(PathChange::Remove), None) => {}
                (None, Some(element)) => self.change_inside(node, element)?,
                (None, None) => return Err(UpdateError::InvalidPath),
            }
        }
        let old = mem::take(list);
        let kept = old
            .into_iter()
            .enumerate()
            .filter(|(index, _)| removed.binary_search(index).is_err());
        list.extend(kept.map(|(_, element)| element));
        list.append(&mut appended);
        Ok(())
    }
}

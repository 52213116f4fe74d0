//! What an update does at each document path.

use crate::expr::path_tree::PathTree;
use crate::model::error::expression::ExpressionFault;
use crate::model::{AttributeValue, DocumentPath, Item, KeySchema};

/// A term of SET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Term {
    Path(DocumentPath),
    Value(AttributeValue),
    IfNotExists(DocumentPath, Box<Term>),
    ListAppend(Box<Term>, Box<Term>),
}

/// The right-hand side of SET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetValue {
    Term(Term),
    Plus(Term, Term),
    Minus(Term, Term),
}

/// What happens at one document path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Set(SetValue),
    Remove,
    /// A number or a set; a list too in `AttributeUpdates`, which appends it.
    Add(AttributeValue),
    /// Members of a set.
    Delete(AttributeValue),
}

/// One action of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub path: DocumentPath,
    pub effect: Effect,
}

/// Which parameter the actions come from: the texts of some errors differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Expression,
    AttributeUpdates,
}

/// An update that can be applied: no path is a prefix of another, and no container is taken for both a map and a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    pub(super) actions: Vec<Action>,
    pub(super) touched: PathTree,
    pub(super) origin: Origin,
}

impl Update {
    /// Checks the paths against each other.
    ///
    /// # Errors
    /// Overlap or conflict.
    pub fn new(actions: Vec<Action>, origin: Origin) -> Result<Self, ExpressionFault> {
        let paths: Vec<DocumentPath> = actions.iter().map(|action| action.path.clone()).collect();
        Ok(Self { touched: PathTree::new(&paths)?, actions, origin })
    }

    /// An update of distinct top-level attributes, in the words of AttributeUpdates.
    #[must_use]
    pub fn of_attributes(actions: Vec<Action>) -> Self {
        let touched = PathTree::of_attributes(actions.iter().map(|action| action.path.head.as_str()));
        Self { actions, touched, origin: Origin::AttributeUpdates }
    }

    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The paths that are updated, in the order written.
    pub fn targets(&self) -> impl Iterator<Item = &DocumentPath> {
        self.actions.iter().map(|action| &action.path)
    }

    /// Every document path: those updated and those read.
    #[must_use]
    pub fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        for action in &self.actions {
            paths.push(&action.path);
            match &action.effect {
                Effect::Set(SetValue::Term(term)) => term.collect_paths(&mut paths),
                Effect::Set(SetValue::Plus(left, right) | SetValue::Minus(left, right)) => {
                    left.collect_paths(&mut paths);
                    right.collect_paths(&mut paths);
                }
                Effect::Remove | Effect::Add(_) | Effect::Delete(_) => {}
            }
        }
        paths
    }

    /// Does the update leave no item where there was none? It does when it only removes.
    #[must_use]
    pub fn only_removes(&self) -> bool {
        let removes = |action: &Action| matches!(action.effect, Effect::Remove | Effect::Delete(_));
        !self.actions.is_empty() && self.actions.iter().all(removes)
    }

    /// The first key attribute that an action updates.
    #[must_use]
    pub fn key_attribute<'k>(&self, key: &'k KeySchema) -> Option<&'k str> {
        let mut attributes = key.attributes().map(|attribute| attribute.name.as_str());
        attributes.find(|name| self.targets().any(|path| path.head == *name))
    }

    /// The part of an item at the paths that are updated: what UPDATED_OLD and UPDATED_NEW return.
    #[must_use]
    pub fn touched(&self, item: &Item) -> Item {
        self.touched.select(item)
    }
}

impl Term {
    fn collect_paths<'t>(&'t self, paths: &mut Vec<&'t DocumentPath>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::IfNotExists(path, default) => {
                paths.push(path);
                default.collect_paths(paths);
            }
            Self::ListAppend(first, second) => {
                first.collect_paths(paths);
                second.collect_paths(paths);
            }
        }
    }
}

//! ProjectionExpression, the list of the document paths that are kept of an item (docs/dynamodb.md
//! 7.7): its parser, and its application to an item by the tree in `path`.

use std::collections::BTreeSet;

use super::condition::LANGUAGE;
use super::lexer::TokenKind;
use super::parse::{ExprParser, FaultStage};
use super::path::{self, PathTree};
use super::placeholders::PlaceholderScope;
use crate::model::error::ExpressionError;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::{DocumentPath, Error, Item};

/// The document paths of a projection: at least one, free of overlap and conflict.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProjectionPaths {
    paths: Vec<DocumentPath>,
    tree: PathTree,
}

/// Parses a ProjectionExpression; placeholders that it names count as used.
///
/// # Errors
/// `Invalid ProjectionExpression: …` ([`ExpressionError::Invalid`]).
pub fn parse(text: &str, scope: &mut PlaceholderScope<'_>) -> Result<ProjectionPaths, Error> {
    Ok(parsed(text, scope).map_err(invalid)?)
}

fn invalid(fault: ExpressionFault) -> ExpressionError {
    ExpressionError::Invalid {
        parameter: ExpressionParameter::Projection,
        fault,
    }
}

fn parsed(
    text: &str,
    scope: &mut PlaceholderScope<'_>,
) -> Result<ProjectionPaths, ExpressionFault> {
    let mut parser = ExprParser::new(text, &LANGUAGE, scope)?;
    let mut paths = vec![parser.path()?];
    while parser.tokens.accept(TokenKind::Comma) {
        paths.push(parser.path()?);
    }
    parser.tokens.expect(TokenKind::End)?;
    // Undefined names are noted with the same stage.
    parser.finish(FaultStage::Meaning, ProjectionPaths::new(paths))
}

impl ProjectionPaths {
    /// Makes a projection; checks the paths against each other.
    ///
    /// # Errors
    /// Overlap or conflict, with the two paths.
    pub fn new(paths: Vec<DocumentPath>) -> Result<Self, ExpressionFault> {
        let tree = PathTree::new(&paths)?;
        Ok(Self { paths, tree })
    }

    /// Makes a projection of paths that no expression was parsed for.
    ///
    /// # Errors
    /// `Invalid ProjectionExpression: …`, as for the same paths written out.
    pub fn from_paths(paths: Vec<DocumentPath>) -> Result<Self, ExpressionError> {
        paths
            .iter()
            .try_for_each(path::check)
            .and_then(|()| Self::new(paths))
            .map_err(invalid)
    }

    /// Makes a projection of whole top-level attributes; a name that comes twice counts once.
    #[must_use]
    pub fn from_attributes(paths: Vec<DocumentPath>) -> Self {
        let tree = PathTree::from_attributes(paths.iter().map(|path| path.head.as_str()));
        Self { paths, tree }
    }

    /// Returns the paths as written.
    #[must_use]
    pub fn paths(&self) -> &[DocumentPath] {
        &self.paths
    }

    /// Returns a new item of just these paths: maps keep the selected children, lists close up, a
    /// missing path is skipped. Keys are not added.
    #[must_use]
    pub fn apply(&self, item: &Item) -> Item {
        self.tree.select(item)
    }

    /// Returns the attributes that the paths begin with.
    #[must_use]
    pub fn top_level_names(&self) -> BTreeSet<&str> {
        self.tree.heads().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AttributeValue, PathElement, api::Placeholders};
    use proptest::prelude::*;

    fn number(value: i32) -> AttributeValue {
        AttributeValue::N(value.to_string().parse().expect("a number"))
    }

    fn parse_with_names(text: &str) -> Result<ProjectionPaths, String> {
        let names = [
            ("#n".to_owned(), "m".to_owned()),
            ("#dot".to_owned(), "m.p".to_owned()),
        ];
        let placeholders = Placeholders {
            names: Some(names.into()),
            values: None,
        };
        parse(text, &mut PlaceholderScope::new(&placeholders)).map_err(|error| error.to_string())
    }

    #[test]
    fn top_level_names_are_distinct() {
        let paths = parse_with_names("m.p, a, m.s").expect("legal");
        assert_eq!(
            paths.top_level_names().into_iter().collect::<Vec<_>>(),
            ["a", "m"]
        );
    }

    /// Selects from `value` at the path `here` without a tree, place by place.
    fn select_slowly(
        value: &AttributeValue,
        here: &DocumentPath,
        paths: &[DocumentPath],
    ) -> Option<AttributeValue> {
        if paths.contains(here) {
            return Some(value.clone());
        }
        let child = |element: PathElement| {
            let mut path = here.clone();
            path.rest.push(element);
            path
        };
        match value {
            AttributeValue::M(map) => {
                let mut kept = std::collections::BTreeMap::new();
                for (name, inner) in map {
                    if let Some(found) =
                        select_slowly(inner, &child(PathElement::Name(name.clone())), paths)
                    {
                        kept.insert(name.clone(), found);
                    }
                }
                if kept.is_empty() {
                    None
                } else {
                    Some(AttributeValue::M(kept))
                }
            }
            AttributeValue::L(list) => {
                let numbered = list.iter().enumerate();
                let kept: Vec<_> = numbered
                    .filter_map(|(i, inner)| {
                        select_slowly(inner, &child(PathElement::Index(i)), paths)
                    })
                    .collect();
                if kept.is_empty() {
                    None
                } else {
                    Some(AttributeValue::L(kept))
                }
            }
            _ => None,
        }
    }

    fn is_prefix(one: &DocumentPath, two: &DocumentPath) -> bool {
        one.head == two.head && two.rest.starts_with(&one.rest)
    }

    fn any_value() -> impl Strategy<Value = AttributeValue> {
        let leaf = (0..3i32).prop_map(number);
        leaf.prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(AttributeValue::L),
                proptest::collection::btree_map("[ab]", inner, 0..3).prop_map(AttributeValue::M),
            ]
        })
    }

    fn any_path() -> impl Strategy<Value = DocumentPath> {
        let element = prop_oneof![
            "[ab]".prop_map(PathElement::Name),
            (0..3usize).prop_map(PathElement::Index)
        ];
        ("[ab]", proptest::collection::vec(element, 0..4))
            .prop_map(|(head, rest)| DocumentPath { head, rest })
    }

    proptest! {
        #[test]
        fn never_panics_on_any_text(text in "\\PC{0,4096}") {
            let _ = parse_with_names(&text);
        }

        #[test]
        fn never_panics_on_near_misses(text in "[ab#n_.,\\[\\]0-2 :é]{0,200}") {
            let _ = parse_with_names(&text);
        }

        #[test]
        fn agrees_with_the_slow_evaluator(
            attributes in proptest::collection::btree_map("[ab]", any_value(), 0..3),
            paths in proptest::collection::vec(any_path(), 1..5),
        ) {
            let overlapping = paths.iter().enumerate().any(|(i, one)| {
                paths.iter().enumerate().any(|(j, two)| i != j && is_prefix(one, two))
            });
            match ProjectionPaths::new(paths.clone()) {
                Ok(projection) => {
                    prop_assert!(!overlapping);
                    let slow = attributes.iter().filter_map(|(name, value)| {
                        Some((name.clone(), select_slowly(value, &DocumentPath::top_level(name.clone()), &paths)?))
                    });
                    let expected = Item(slow.collect());
                    prop_assert_eq!(projection.apply(&Item(attributes.clone())), expected);
                }
                Err(fault) => prop_assert_eq!(overlapping, matches!(fault, ExpressionFault::PathsOverlap { .. })),
            }
        }
    }
}

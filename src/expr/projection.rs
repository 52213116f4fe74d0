//! ProjectionExpression (SEMANTICS 7.7).

use std::collections::BTreeSet;

use super::lexer::{TokenKind, Tokens};
use super::parse::check_size;
use super::path::Path;
use super::path_tree::PathTree;
use super::placeholders::{PlaceholderUse, Scope};
use crate::model::api::Placeholders;
use crate::model::error::ExpressionError;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::{DocumentPath, Error, Item};

/// The document paths of a projection: at least one, free of overlap and conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectionPaths {
    paths: Vec<DocumentPath>,
    tree: PathTree,
}

/// Parses a ProjectionExpression; placeholders it names count as used.
///
/// # Errors
/// `Invalid ProjectionExpression: …` ([`ExpressionError::Invalid`]).
pub fn parse(text: &str, placeholders: &Placeholders, used: &mut PlaceholderUse) -> Result<ProjectionPaths, Error> {
    let mut scope = Scope::new(placeholders, used);
    let paths = parse_paths(text).and_then(|paths| resolve(&paths, &mut scope));
    let invalid = |fault| ExpressionError::Invalid { parameter: ExpressionParameter::Projection, fault };
    Ok(paths.map_err(invalid)?)
}

fn parse_paths(text: &str) -> Result<Vec<Path<'_>>, ExpressionFault> {
    check_size(text)?;
    let mut tokens = Tokens::new(text);
    let mut paths = vec![Path::parse(&mut tokens)?];
    while tokens.accept(TokenKind::Comma) {
        paths.push(Path::parse(&mut tokens)?);
    }
    tokens.expect(TokenKind::End)?;
    Ok(paths)
}

fn resolve(paths: &[Path<'_>], scope: &mut Scope<'_>) -> Result<ProjectionPaths, ExpressionFault> {
    paths.iter().try_for_each(Path::check_reserved)?;
    let paths: Vec<DocumentPath> = paths.iter().map(|path| path.resolve(scope)).collect::<Result<_, _>>()?;
    ProjectionPaths::new(paths)
}

impl ProjectionPaths {
    /// Checks the paths against each other.
    ///
    /// # Errors
    /// Overlap or conflict.
    pub fn new(paths: Vec<DocumentPath>) -> Result<Self, ExpressionFault> {
        let tree = PathTree::new(&paths)?;
        Ok(Self { paths, tree })
    }

    /// The paths as written.
    #[must_use]
    pub fn paths(&self) -> &[DocumentPath] {
        &self.paths
    }

    /// A new item of just these paths: maps keep the selected children, lists close up, what is not there is skipped. Keys are
    /// not added.
    #[must_use]
    pub fn apply(&self, item: &Item) -> Item {
        self.tree.select(item)
    }

    /// The attributes that the paths begin with.
    #[must_use]
    pub fn top_level_names(&self) -> BTreeSet<&str> {
        self.tree.heads().collect()
    }

    /// Are all paths whole top-level attributes? Then projecting is leaving attributes out.
    #[must_use]
    pub fn is_top_level(&self) -> bool {
        self.paths.iter().all(|path| path.rest.is_empty())
    }
}

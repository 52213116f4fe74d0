//! Document paths held against key schemas.

use crate::expr::{PlaceholderUse, ProjectionPaths, legacy, projection};
use crate::model::api::Placeholders;
use crate::model::error::{ExpressionError, QueryError};
use crate::model::{DocumentPath, Error, IndexSchema, TableSchema};

/// The projection that a request asks for.
#[derive(Debug, Clone, Copy)]
pub struct RequestedProjection<'r> {
    expression: Option<&'r str>,
    attributes: Option<&'r [String]>,
}

impl<'r> RequestedProjection<'r> {
    /// `ProjectionExpression` or `AttributesToGet`, not both.
    ///
    /// # Errors
    /// `Mixed`.
    pub fn new(expression: Option<&'r String>, attributes: Option<&'r Vec<String>>) -> Result<Self, ExpressionError> {
        if expression.is_some() && attributes.is_some() {
            return Err(mixed("AttributesToGet", "ProjectionExpression"));
        }
        Ok(Self { expression: expression.map(String::as_str), attributes: attributes.map(Vec::as_slice) })
    }

    #[must_use]
    pub fn has_expression(&self) -> bool {
        self.expression.is_some()
    }

    /// The parameter given.
    #[must_use]
    pub fn parameter(&self) -> Option<&'static str> {
        match (self.expression, self.attributes) {
            (Some(_), _) => Some("ProjectionExpression"),
            (None, Some(_)) => Some("AttributesToGet"),
            (None, None) => None,
        }
    }

    /// The paths; placeholders they name count as used.
    ///
    /// # Errors
    /// `Expression`, `Legacy`.
    pub fn paths(&self, given: &Placeholders, used: &mut PlaceholderUse) -> Result<Option<ProjectionPaths>, Error> {
        match (self.expression, self.attributes) {
            (Some(text), _) => Ok(Some(projection::parse(text, given, used)?)),
            (None, Some(names)) => Ok(Some(ProjectionPaths::of_attributes(legacy::attributes_to_get(names)?))),
            (None, None) => Ok(None),
        }
    }
}

/// Two parameters that may not come together.
#[must_use]
pub fn mixed(legacy: &str, expression: &str) -> ExpressionError {
    ExpressionError::Mixed { legacy: legacy.to_owned(), expressions: expression.to_owned() }
}

/// The role of an attribute in error texts, if it is a key of the table or of any index, in reads as in writes (docs/dynamodb.md 6.3).
fn key_role(schema: &TableSchema, name: &str) -> Option<&'static str> {
    if schema.key.contains(name) {
        return Some("Key");
    }
    let mut attributes = schema.indexes.iter().flat_map(IndexSchema::attributes);
    attributes.any(|attribute| attribute.name == name).then_some("IndexKey")
}

/// Keys are scalars: no document path goes into one (docs/dynamodb.md 6.3).
///
/// # Errors
/// `PathIntoKey`.
pub fn check_paths(paths: &[&DocumentPath], schema: &TableSchema) -> Result<(), QueryError> {
    for path in paths.iter().filter(|path| !path.rest.is_empty()) {
        if let Some(role) = key_role(schema, &path.head) {
            return Err(QueryError::PathIntoKey { role, name: path.head.clone() });
        }
    }
    Ok(())
}

/// The same of a projection.
///
/// # Errors
/// `PathIntoKey`.
pub fn check_no_path_into_keys(projection: Option<&ProjectionPaths>, schema: &TableSchema) -> Result<(), QueryError> {
    let paths = projection.map(ProjectionPaths::paths).unwrap_or_default();
    check_paths(&paths.iter().collect::<Vec<_>>(), schema)
}

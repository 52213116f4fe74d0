//! Projections held against key schemas.

use crate::expr::ProjectionPaths;
use crate::model::error::QueryError;
use crate::model::{IndexSchema, KeySchema};

/// The key attributes that count in a read: those of the table and, of an index read, those of the index.
#[derive(Debug, Clone, Copy)]
pub struct KeyRoles<'t> {
    table: &'t KeySchema,
    index: Option<&'t IndexSchema>,
}

impl<'t> KeyRoles<'t> {
    #[must_use]
    pub fn of_table(table: &'t KeySchema) -> Self {
        Self { table, index: None }
    }

    #[must_use]
    pub fn of_index(table: &'t KeySchema, index: Option<&'t IndexSchema>) -> Self {
        Self { table, index }
    }

    /// The role of an attribute in error texts, if it is a key.
    fn role(&self, name: &str) -> Option<&'static str> {
        if self.table.contains(name) {
            return Some("Key");
        }
        let index = self.index?;
        index.attributes().any(|attribute| attribute.name == name).then_some("IndexKey")
    }
}

/// Keys are scalars: no document path goes into one (SEMANTICS 6.3).
///
/// # Errors
/// `PathIntoKey`.
pub fn check_no_path_into_keys(paths: &ProjectionPaths, roles: KeyRoles<'_>) -> Result<(), QueryError> {
    for path in paths.paths().iter().filter(|path| !path.rest.is_empty()) {
        if let Some(role) = roles.role(&path.head) {
            return Err(QueryError::PathIntoKey { role, name: path.head.clone() });
        }
    }
    Ok(())
}

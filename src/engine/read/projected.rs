//! Document paths held against key schemas.

use crate::expr::ProjectionPaths;
use crate::model::error::QueryError;
use crate::model::{DocumentPath, IndexSchema, KeySchema, TableSchema};

/// The key attributes that count in a request: those of the table, and those of some indexes.
#[derive(Debug, Clone, Copy)]
pub struct KeyRoles<'t> {
    table: &'t KeySchema,
    indexes: &'t [IndexSchema],
}

impl<'t> KeyRoles<'t> {
    #[must_use]
    pub fn of_table(table: &'t KeySchema) -> Self {
        Self { table, indexes: &[] }
    }

    /// Of a read of a table, or of one of its indexes.
    #[must_use]
    pub fn of_index(table: &'t KeySchema, index: Option<&'t IndexSchema>) -> Self {
        Self { table, indexes: index.map_or(&[], std::slice::from_ref) }
    }

    /// Of a write: every index counts.
    #[must_use]
    pub fn of_write(schema: &'t TableSchema) -> Self {
        Self { table: &schema.key, indexes: &schema.indexes }
    }

    /// The role of an attribute in error texts, if it is a key.
    fn role(&self, name: &str) -> Option<&'static str> {
        if self.table.contains(name) {
            return Some("Key");
        }
        let mut attributes = self.indexes.iter().flat_map(IndexSchema::attributes);
        attributes.any(|attribute| attribute.name == name).then_some("IndexKey")
    }
}

/// Keys are scalars: no document path goes into one (SEMANTICS 6.3).
///
/// # Errors
/// `PathIntoKey`.
pub fn check_paths(paths: &[&DocumentPath], roles: KeyRoles<'_>) -> Result<(), QueryError> {
    for path in paths.iter().filter(|path| !path.rest.is_empty()) {
        if let Some(role) = roles.role(&path.head) {
            return Err(QueryError::PathIntoKey { role, name: path.head.clone() });
        }
    }
    Ok(())
}

/// The same of a projection.
///
/// # Errors
/// `PathIntoKey`.
pub fn check_no_path_into_keys(paths: &ProjectionPaths, roles: KeyRoles<'_>) -> Result<(), QueryError> {
    check_paths(&paths.paths().iter().collect::<Vec<_>>(), roles)
}

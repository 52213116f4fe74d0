//! What a read returns of each entry (docs/dynamodb.md 13.2, 13.4, 13.6).

use super::source::ReadSource;
use crate::expr::ProjectionPaths;
use crate::expr::partiql::Column;
use crate::model::api::Select;
use crate::model::error::QueryError;
use crate::model::{DocumentPath, IndexKind, Item, Projection};

/// What is made of each entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Nothing: it is counted.
    Count,
    /// All its attributes.
    Whole,
    Projected(ProjectionPaths),
    /// Values by names of their own, as PartiQL has them.
    Columns(Vec<Column>),
}

/// What is made of each entry, and from what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub output: Output,
    /// The base item is fetched: it has what the local index lacks.
    pub fetch: bool,
}

/// The checks that need no table. `projection` is the parameter that selects attributes, if one does.
///
/// # Errors
/// [`QueryError`].
pub fn check(select: Option<Select>, projection: Option<&'static str>, has_index: bool) -> Result<(), QueryError> {
    let alone = |what| match projection {
        Some(parameter) => Err(QueryError::ProjectionWithSelect { parameter, what }),
        None => Ok(()),
    };
    match select {
        None => Ok(()),
        Some(Select::SpecificAttributes) if projection.is_some() => Ok(()),
        Some(Select::SpecificAttributes) => Err(QueryError::SpecificWithoutProjection),
        Some(Select::AllAttributes) => alone("ALL_ATTRIBUTES"),
        Some(Select::Count) => alone("only the Count"),
        Some(Select::AllProjectedAttributes) => {
            alone("ALL_PROJECTED_ATTRIBUTES")?;
            if has_index { Ok(()) } else { Err(QueryError::AllProjectedWithoutIndex) }
        }
    }
}

/// Holds a checked selection against table and index.
///
/// # Errors
/// Attributes that a global index does not have.
pub fn resolve(source: &ReadSource, select: Option<Select>, projection: Option<ProjectionPaths>) -> Result<Selection, QueryError> {
    if let Some(paths) = projection {
        let fetch = needs_fetch(source, &paths)?;
        return Ok(Selection { output: Output::Projected(paths), fetch });
    }
    match select {
        Some(Select::Count) => Ok(Selection { output: Output::Count, fetch: false }),
        Some(Select::AllAttributes) => match source.index() {
            Some(index) if index.projection != Projection::All => match index.kind {
                IndexKind::Global => Err(QueryError::AllAttributesOnGlobal(index.name.as_str().to_owned())),
                IndexKind::Local => Ok(Selection { output: Output::Whole, fetch: true }),
            },
            Some(_) | None => Ok(Selection { output: Output::Whole, fetch: false }),
        },
        Some(Select::AllProjectedAttributes | Select::SpecificAttributes) | None => {
            Ok(Selection { output: Output::Whole, fetch: false })
        }
    }
}

/// The columns of a PartiQL SELECT; `None` is all that the source has.
///
/// # Errors
/// Attributes that a global index does not have.
pub fn of_columns(source: &ReadSource, columns: Option<&[Column]>) -> Result<Selection, QueryError> {
    let Some(columns) = columns else { return Ok(Selection { output: Output::Whole, fetch: false }) };
    let heads = columns.iter().map(|column| DocumentPath::top_level(column.path.head.clone()));
    let fetch = needs_fetch(source, &ProjectionPaths::of_attributes(heads.collect()))?;
    Ok(Selection { output: Output::Columns(columns.to_vec()), fetch })
}

/// The columns that an item has.
#[must_use]
pub fn columns_of(columns: &[Column], item: &Item) -> Item {
    let found = columns.iter().filter_map(|column| Some((column.name.clone(), column.path.resolve_in(item)?.clone())));
    Item(found.collect())
}

fn needs_fetch(source: &ReadSource, paths: &ProjectionPaths) -> Result<bool, QueryError> {
    let Some(index) = source.index() else { return Ok(false) };
    let names = paths.top_level_names();
    let missing: Vec<&str> = names.into_iter().filter(|name| !index.projects(&source.table.schema.key, name)).collect();
    match index.kind {
        IndexKind::Global if !missing.is_empty() => {
            Err(QueryError::NotProjected { index: index.name.as_str().to_owned(), names: missing.join(", ") })
        }
        IndexKind::Global => Ok(false),
        IndexKind::Local => Ok(!missing.is_empty()),
    }
}

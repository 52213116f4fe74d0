//! Projection and filter of a read: the attributes that it returns of each entry, and the entries
//! that it keeps (docs/dynamodb.md 13.2, 13.4, 13.6).

use std::collections::BTreeSet;

use super::source::ReadSource;
use crate::engine::prelude::*;
use crate::expr::{
    Condition, PlaceholderScope, ProjectionPaths, condition, legacy, partiql::SelectColumn,
    projection, read_request::ReadFilter,
};
use crate::model::{
    DocumentPath, Projection,
    api::{ConditionParameter, Select},
    error::{ExpressionError, QueryError, expression::ExpressionParameter},
};

/// The output of a read for each entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowOutput {
    /// Nothing: the entry is only counted.
    Count,
    /// All attributes.
    All,
    Projected(ProjectionPaths),
    /// Values under names of their own, as in PartiQL.
    Columns(Vec<SelectColumn>),
}

/// The output of a read for each entry, and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub output: RowOutput,
    /// True if the base item is fetched, because the local index lacks attributes.
    pub fetch: bool,
}

/// Runs the checks that need no table. `projection` is the parameter that selects attributes, if
/// there is one.
///
/// # Errors
/// Fails with a [`QueryError`] for a `Select` that does not go with the projection or the index.
pub fn check_select(
    select: Option<Select>,
    projection: Option<&'static str>,
    has_index: bool,
) -> Result<(), QueryError> {
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
            if has_index {
                Ok(())
            } else {
                Err(QueryError::AllProjectedWithoutIndex)
            }
        }
    }
}

/// Checks a selection against table and index.
///
/// # Errors
/// Fails for attributes that a global index does not have.
pub fn resolve_select(
    source: &ReadSource,
    select: Option<Select>,
    projection: Option<ProjectionPaths>,
) -> Result<Selection, QueryError> {
    if let Some(paths) = projection {
        let fetch = needs_fetch(source, &paths)?;
        return Ok(Selection {
            output: RowOutput::Projected(paths),
            fetch,
        });
    }
    match select {
        Some(Select::Count) => Ok(Selection {
            output: RowOutput::Count,
            fetch: false,
        }),
        Some(Select::AllAttributes) => match source.index() {
            Some(index) if index.projection != Projection::All => match index.kind {
                IndexKind::Global | IndexKind::Vector => Err(QueryError::AllAttributesOnGlobal(
                    index.name.as_str().to_owned(),
                )),
                IndexKind::Local => Ok(Selection {
                    output: RowOutput::All,
                    fetch: true,
                }),
            },
            Some(_) | None => Ok(Selection {
                output: RowOutput::All,
                fetch: false,
            }),
        },
        Some(Select::AllProjectedAttributes | Select::SpecificAttributes) | None => Ok(Selection {
            output: RowOutput::All,
            fetch: false,
        }),
    }
}

/// Returns the selection of the columns of a PartiQL SELECT; `None` selects all attributes of the
/// source.
///
/// # Errors
/// Fails for attributes that a global index does not have.
pub fn select_columns(
    source: &ReadSource,
    columns: Option<&[SelectColumn]>,
) -> Result<Selection, QueryError> {
    let Some(columns) = columns else {
        return Ok(Selection {
            output: RowOutput::All,
            fetch: false,
        });
    };
    let heads = columns
        .iter()
        .map(|column| DocumentPath::top_level(column.path.head.clone()));
    let fetch = needs_fetch(source, &ProjectionPaths::from_attributes(heads.collect()))?;
    Ok(Selection {
        output: RowOutput::Columns(columns.to_vec()),
        fetch,
    })
}

/// Returns the columns that an item has.
#[must_use]
pub fn project_columns(columns: &[SelectColumn], item: &Item) -> Item {
    let found = columns
        .iter()
        .filter_map(|column| Some((column.name.clone(), column.path.resolve_in(item)?.clone())));
    Item(found.collect())
}

fn needs_fetch(source: &ReadSource, paths: &ProjectionPaths) -> Result<bool, QueryError> {
    let missing = source.not_projected(paths.top_level_names());
    match source.index() {
        Some(index) if index.kind == IndexKind::Global && !missing.is_empty() => {
            Err(QueryError::NotProjected {
                index: index.name.as_str().to_owned(),
                names: missing.join(", "),
            })
        }
        _ => Ok(!missing.is_empty()),
    }
}

// Checks of document paths against key schemas.

/// The projection that a request asks for.
#[derive(Debug, Clone, Copy)]
pub struct RequestedProjection<'r> {
    expression: Option<&'r str>,
    attributes: Option<&'r [String]>,
}

impl<'r> RequestedProjection<'r> {
    /// Creates the projection of `ProjectionExpression` or `AttributesToGet`.
    ///
    /// # Errors
    /// Fails with `Mixed` if both are given.
    pub fn new(
        expression: Option<&'r String>,
        attributes: Option<&'r Vec<String>>,
    ) -> Result<Self, ExpressionError> {
        if expression.is_some() && attributes.is_some() {
            return Err(mixed_parameters_error(
                "AttributesToGet",
                "ProjectionExpression",
            ));
        }
        Ok(Self {
            expression: expression.map(String::as_str),
            attributes: attributes.map(Vec::as_slice),
        })
    }

    #[must_use]
    pub fn has_expression(&self) -> bool {
        self.expression.is_some()
    }

    /// Returns the name of the given parameter.
    #[must_use]
    pub fn parameter(&self) -> Option<&'static str> {
        match (self.expression, self.attributes) {
            (Some(_), _) => Some("ProjectionExpression"),
            (None, Some(_)) => Some("AttributesToGet"),
            (None, None) => None,
        }
    }

    /// Parses the paths and marks their placeholders as used.
    ///
    /// # Errors
    /// Fails with `Expression` or `Legacy` if one cannot be parsed.
    pub fn paths(
        &self,
        scope: &mut PlaceholderScope<'_>,
    ) -> Result<Option<ProjectionPaths>, Error> {
        match (self.expression, self.attributes) {
            (Some(text), _) => Ok(Some(projection::parse(text, scope)?)),
            (None, Some(names)) => Ok(Some(ProjectionPaths::from_attributes(
                legacy::attributes_to_get(names)?,
            ))),
            (None, None) => Ok(None),
        }
    }
}

/// Returns the error of two parameters that exclude each other.
#[must_use]
pub fn mixed_parameters_error(legacy: &str, expression: &str) -> ExpressionError {
    ExpressionError::Mixed {
        legacy: legacy.to_owned(),
        expressions: expression.to_owned(),
    }
}

/// Returns the role of an attribute in error texts, if it is a key of the table or of any index, in
/// reads as in writes (docs/dynamodb.md 6.3).
fn key_role(schema: &TableSchema, name: &str) -> Option<&'static str> {
    if schema.key.contains(name) {
        return Some("Key");
    }
    let mut attributes = schema.indexes.iter().flat_map(IndexSchema::attributes);
    attributes
        .any(|attribute| attribute.name == name)
        .then_some("IndexKey")
}

/// Refuses document paths into key attributes: keys are scalars (docs/dynamodb.md 6.3).
///
/// # Errors
/// Fails with `PathIntoKey` for the first such path.
pub fn check_paths(paths: &[&DocumentPath], schema: &TableSchema) -> Result<(), QueryError> {
    for path in paths.iter().filter(|path| !path.rest.is_empty()) {
        if let Some(role) = key_role(schema, &path.head) {
            return Err(QueryError::PathIntoKey {
                role,
                name: path.head.clone(),
            });
        }
    }
    Ok(())
}

/// Refuses paths of a projection into key attributes.
///
/// # Errors
/// Fails with `PathIntoKey` for the first such path.
pub fn check_no_path_into_keys(
    projection: Option<&ProjectionPaths>,
    schema: &TableSchema,
) -> Result<(), QueryError> {
    let paths = projection.map(ProjectionPaths::paths).unwrap_or_default();
    check_paths(&paths.iter().collect::<Vec<_>>(), schema)
}

// The filter of a Query or Scan: the attributes it may name (docs/dynamodb.md 13.2, 13.6), and the
// entries it keeps.

/// A filter that is evaluated on entries.
#[derive(Debug, Clone)]
pub struct EntryFilter {
    condition: Condition,
    /// The attributes that the filter reads; no others are decoded.
    names: BTreeSet<String>,
    /// The name of its parameter in error texts.
    parameter: &'static str,
}

/// Parses the filter of a request and marks its placeholders as used.
///
/// # Errors
/// Fails with `Expression` if the filter cannot be parsed.
pub fn parse_filter(
    parameter: &ConditionParameter,
    scope: &mut PlaceholderScope<'_>,
) -> Result<Option<ReadFilter>, Error> {
    match parameter {
        ConditionParameter::None => Ok(None),
        ConditionParameter::Expression(text) => {
            let condition = condition::parse_parameter(text, ExpressionParameter::Filter, scope)?;
            Ok(Some(ReadFilter::from_expression(condition)))
        }
        ConditionParameter::Legacy(conditions) => {
            let condition = legacy::condition(conditions)?;
            Ok(condition.map(|condition| ReadFilter {
                condition,
                parameter: "QueryFilter",
            }))
        }
    }
}

impl EntryFilter {
    #[must_use]
    pub fn new(filter: ReadFilter) -> Self {
        let names = filter
            .condition
            .attribute_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        Self {
            condition: filter.condition,
            names,
            parameter: filter.parameter,
        }
    }

    /// Returns the filter of a PartiQL statement's condition.
    #[must_use]
    pub fn of_condition(condition: Condition) -> Self {
        Self::new(ReadFilter {
            condition,
            parameter: "WHERE",
        })
    }

    /// Refuses key attributes of the queried source: they belong into the key condition.
    ///
    /// # Errors
    /// Fails with `FilterOnKey`, naming the first such attribute.
    pub fn check_no_keys(&self, source: &ReadSource) -> Result<(), QueryError> {
        let schema = source.key_schema();
        let key = schema
            .partition
            .iter()
            .chain(schema.sort)
            .find(|attribute| self.names.contains(&attribute.name));
        match key {
            Some(key) => Err(QueryError::FilterOnKey {
                parameter: self.parameter,
                name: key.name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Refuses document paths into key attributes.
    ///
    /// # Errors
    /// Fails with `PathIntoKey` for the first such path.
    pub fn check_paths(&self, source: &ReadSource) -> Result<(), QueryError> {
        check_paths(&self.condition.paths(), &source.table.schema)
    }

    /// Refuses attributes that a queried index does not have; a scanned index may lack them.
    ///
    /// # Errors
    /// Fails with `FilterNotProjected`, naming the missing attributes.
    pub fn check_projected(&self, source: &ReadSource) -> Result<(), QueryError> {
        let missing = source.not_projected(self.names.iter().map(String::as_str));
        match source.index() {
            Some(index) if !missing.is_empty() => Err(QueryError::FilterNotProjected {
                index: index.name.as_str().to_owned(),
                names: missing.join(", "),
            }),
            _ => Ok(()),
        }
    }

    /// True if the filter keeps an entry.
    pub fn matches(&self, record: &Record<'_>) -> Result<bool, StoreError> {
        let item: Item = record.attributes(&|name| self.names.contains(name))?;
        Ok(self.condition.holds(&item))
    }
}

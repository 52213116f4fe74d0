//! PartiQL, the SQL dialect of DynamoDB (docs/dynamodb.md 19): from the text of a statement to a
//! [`Statement`] and a plan, in stages. Each is a type of its own, and only the last is carried
//! out.
//!
//! ```text
//! text ── lexer ── parse, parse_expression ──> parse::Statement       one tree for every expression; `?` by number
//!             │ values, resolve               parameters in place, the static checks
//!             v
//!          Statement        conditions and updates of the types that expressions make
//!             │ keys: the one item that a statement names       (against a key schema)
//!             │ plan: the ranges that a SELECT reads
//!             v
//!          engine::statements
//! ```

pub mod keys;
pub mod lexer;
pub mod parse;
pub mod parse_expression;
pub mod plan;
pub mod resolve;
pub mod values;

use std::collections::HashSet;

pub use parse::Returning;
use parse::{OrderTerm, StatementSource};
use parse_expression::{Expr, ExpressionNode};
use resolve::{condition, document_path};
use values::ParameterValues;

use crate::expr::{Condition, Update};
use crate::model::arn;
use crate::model::error::StatementError;
use crate::model::{AttributeValue, DocumentPath, Error, Item, PathElement, TableName};

/// One value of a SELECT's result and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectColumn {
    pub name: String,
    pub path: DocumentPath,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SelectStatement {
    pub table: TableName,
    /// The name as written; an index may not be able to have it.
    pub index: Option<String>,
    /// `None` is `*`. Their fault is reported after that of the table or index.
    pub columns: Result<Option<Vec<SelectColumn>>, StatementError>,
    pub condition: Option<Condition>,
    pub order: Vec<OrderTerm>,
}

impl SelectStatement {
    /// Returns the columns, `None` for `*`.
    ///
    /// # Errors
    /// A column that is no document path; names that come twice.
    pub fn columns(&self) -> Result<Option<&[SelectColumn]>, StatementError> {
        self.columns
            .as_ref()
            .map(Option::as_deref)
            .map_err(Clone::clone)
    }
}

/// A statement that writes, or checks a condition against an item as part of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteStatement {
    pub table: TableName,
    pub effect: WriteEffect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteEffect {
    Insert(Item),
    Update {
        update: Update,
        condition: Option<Condition>,
        returning: Option<Returning>,
    },
    /// RETURNING is ALL OLD.
    Delete {
        condition: Option<Condition>,
        returning: bool,
    },
    Exists {
        condition: Option<Condition>,
    },
}

impl WriteEffect {
    /// True if it has a RETURNING clause.
    #[must_use]
    pub fn is_returning(&self) -> bool {
        match self {
            Self::Update { returning, .. } => returning.is_some(),
            Self::Delete { returning, .. } => *returning,
            Self::Insert(_) | Self::Exists { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Select(SelectStatement),
    Write(WriteStatement),
}

/// Parses a statement and puts its parameters in place.
///
/// # Errors
/// `Statement`: a fault of the text, its number of parameters, or a value in it.
pub fn read(text: &str, parameters: &[AttributeValue]) -> Result<Statement, Error> {
    let parsed = parse::parse(text)?;
    let values = ParameterValues::new(parameters, parsed.parameters)?;
    Ok(resolve(parsed.statement, values)?)
}

/// Returns the table of a statement, if it can be parsed.
#[must_use]
pub fn table_of(text: &str) -> Option<TableName> {
    let source = match parse::parse(text).ok()?.statement {
        parse::ParsedStatement::Select(select) | parse::ParsedStatement::Exists(select) => {
            select.source
        }
        parse::ParsedStatement::Insert { source, .. }
        | parse::ParsedStatement::Update { source, .. }
        | parse::ParsedStatement::Delete { source, .. } => source,
    };
    arn::parse_table(&source.table).ok()
}

fn resolve(
    statement: parse::ParsedStatement,
    values: ParameterValues<'_>,
) -> Result<Statement, StatementError> {
    let where_clause =
        |clause: Option<Expr>| clause.map(|clause| condition(&clause, values)).transpose();
    let (table, effect) = match statement {
        parse::ParsedStatement::Select(select) => {
            return resolve_select(select, values).map(Statement::Select);
        }
        parse::ParsedStatement::Exists(select) => {
            let select = resolve_select(select, values)?;
            // A SELECT reports the fault of its columns when its table is known; EXISTS has no
            // later stage.
            select.columns()?;
            if select.index.is_some() {
                return Err(StatementError::OnIndex);
            }
            (
                select.table,
                WriteEffect::Exists {
                    condition: select.condition,
                },
            )
        }
        parse::ParsedStatement::Insert { source, value } => (
            table(&source.table)?,
            WriteEffect::Insert(values.item(&value)?),
        ),
        parse::ParsedStatement::Update {
            source,
            changes,
            condition,
            returning,
        } => {
            let update = resolve::update(&changes, values)?;
            (
                base_table(&source)?,
                WriteEffect::Update {
                    update,
                    condition: where_clause(condition)?,
                    returning,
                },
            )
        }
        parse::ParsedStatement::Delete {
            source,
            condition,
            returning,
        } => {
            if let Some(other) = returning.filter(|returning| *returning != Returning::AllOld) {
                return Err(StatementError::ReturningOfDelete(other.words()));
            }
            let returning = returning.is_some();
            (
                base_table(&source)?,
                WriteEffect::Delete {
                    condition: where_clause(condition)?,
                    returning,
                },
            )
        }
    };
    Ok(Statement::Write(WriteStatement { table, effect }))
}

fn resolve_select(
    select: parse::ParsedSelect,
    values: ParameterValues<'_>,
) -> Result<SelectStatement, StatementError> {
    Ok(SelectStatement {
        table: table(&select.source.table)?,
        index: select.source.index,
        columns: select
            .columns
            .map(|columns| resolve_columns(&columns))
            .transpose(),
        condition: select
            .condition
            .map(|clause| condition(&clause, values))
            .transpose()?,
        order: select.order,
    })
}

fn resolve_columns(expressions: &[Expr]) -> Result<Vec<SelectColumn>, StatementError> {
    let mut columns: Vec<SelectColumn> = Vec::with_capacity(expressions.len());
    for expression in expressions {
        let ExpressionNode::Path(path) = &expression.node else {
            return Err(StatementError::Column(expression.place));
        };
        columns.push(SelectColumn {
            name: column_name(path),
            path: document_path(path)?,
        });
    }
    let mut names = HashSet::new();
    match columns.iter().find(|column| !names.insert(&column.name)) {
        Some(second) => Err(StatementError::DuplicateColumn(second.name.clone())),
        None => Ok(columns),
    }
}

fn base_table(source: &StatementSource) -> Result<TableName, StatementError> {
    match source.index {
        Some(_) => Err(StatementError::OnIndex),
        None => table(&source.table),
    }
}

/// Returns the table by its name or ARN.
fn table(text: &str) -> Result<TableName, StatementError> {
    arn::parse_table(text).map_err(|_| StatementError::TableName(text.to_owned()))
}

/// Returns the last named step with the list indexes after it: `k[0]` of `m.k[0]`.
fn column_name(path: &DocumentPath) -> String {
    let last = path
        .rest
        .iter()
        .rposition(|step| matches!(step, PathElement::Name(_)));
    let (name, rest) = match last.map(|at| path.rest.split_at(at)) {
        Some((_, [PathElement::Name(name), rest @ ..])) => (name, rest),
        _ => (&path.head, path.rest.as_slice()),
    };
    DocumentPath {
        head: name.clone(),
        rest: rest.to_vec(),
    }
    .to_text_with(str::to_owned)
}

#[cfg(test)]
#[path = "../partiql_tests.rs"]
mod tests;

//! Filters: the `where` clauses of a path, as parts of one FilterExpression.
//!
//! A filter is a condition for evaluation, with its pieces as they were written. From the pieces
//! `request.json` and `explain.json` show it, any number of filters in one text with placeholders
//! of its own ([`ExpressionBuilder`]). `where_clause` parses them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    clause_fault::ClauseFault,
    context::{QueryContext, QueryKind},
    spelling::{self, show_path, show_range},
};
use crate::expr::{
    SortRange,
    condition::{self, Condition},
    lexer::{TokenKind, Tokens},
    placeholders::PlaceholderScope,
    predicate::functions,
};
use crate::fs::prelude::*;
use crate::model::{PathElement, api::Placeholders, error::expression::ExpressionFault};

/// A part of a filter expression.
#[derive(Debug, Clone, PartialEq)]
enum FilterPiece {
    /// A keyword, an operator, a bracket, a comma, or a function's name with its opening bracket.
    Text(String),
    Path(DocumentPath),
    Value(AttributeValue),
}

/// One filter, checked as far as possible without an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WhereFilter {
    pieces: Vec<FilterPiece>,
    condition: Condition,
    /// True if it needs parentheses when it is joined with other filters.
    needs_parens: bool,
}

impl WhereFilter {
    /// Parses a typed expression. Its names and values were replaced with these placeholders.
    pub fn of_text(text: &str, placeholders: &Placeholders) -> Result<Self, ClauseFault> {
        Self::parsed(text, placeholders).map_err(|fault| without_placeholders(&fault, placeholders))
    }

    /// Parses a FilterExpression of the API.
    pub fn of_expression(text: &str, placeholders: &Placeholders) -> Result<Self, ClauseFault> {
        Self::parsed(text, placeholders).map_err(|fault| {
            ClauseFault::new(
                fault.to_string(),
                "the FilterExpression is not one that the API takes",
            )
        })
    }

    fn parsed(text: &str, placeholders: &Placeholders) -> Result<Self, ExpressionFault> {
        let parse = |text: &str| condition::parse(text, &mut PlaceholderScope::new(placeholders));
        let condition = parse(text)?;
        // Text that is in parentheses already would have them twice, which the API refuses.
        let needs_parens = matches!(condition, Condition::Or(_))
            && parse(&format!("({text})")) != Err(ExpressionFault::RedundantParentheses);
        Ok(Self {
            pieces: pieces_of(text, placeholders),
            condition,
            needs_parens,
        })
    }

    /// Returns the condition that holds for the items that it keeps.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Checks the attributes that the filter names: in a query no key attribute, in an index only
    /// projected ones.
    pub fn check_attributes(&self, context: QueryContext<'_>) -> Result<(), ClauseFault> {
        let names = self.condition.attribute_names();
        let keys = context.keys();
        if context.kind == QueryKind::Query
            && let Some(key) = keys
                .attributes()
                .find(|key| names.contains(key.name.as_str()))
        {
            let is_partition = keys
                .partition
                .iter()
                .any(|partition| partition.name == key.name);
            return Err(key_fault(&key.name, is_partition));
        }
        let Some(index) = context.index else {
            return Ok(());
        };
        match names
            .into_iter()
            .find(|name| !index.projects(&context.schema.key, name))
        {
            Some(name) => Err(ClauseFault::not_projected(index.name.as_str(), name)),
            None => Ok(()),
        }
    }

    /// Returns the expression's text; its names and values are added to `expression`.
    pub fn write(&self, expression: &mut ExpressionBuilder, is_grouped: bool) -> String {
        let text = render(&self.pieces, expression);
        if is_grouped && self.needs_parens {
            format!("({text})")
        } else {
            text
        }
    }

    /// Returns the text without placeholders, for people.
    pub fn shown(&self) -> String {
        join(self.pieces.iter().map(|piece| match piece {
            FilterPiece::Text(text) => text.clone(),
            FilterPiece::Path(path) => show_path(path),
            FilterPiece::Value(value) => plain_json::value(value),
        }))
    }

    /// Returns the top-level attributes that must have one value for the filter to hold.
    pub fn equalities(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        equalities(&self.condition, &mut names);
        names
    }

    /// Returns the top-level attributes that the filter reads.
    pub fn names(&self) -> BTreeSet<&str> {
        self.condition.attribute_names()
    }
}

fn key_fault(attribute: &str, is_partition: bool) -> ClauseFault {
    let (role, hint) = match is_partition {
        true => (
            "the partition key",
            format!("write {attribute}=… or @pk=…; to read all partitions use scan/"),
        ),
        false => (
            "a sort key",
            format!(
                "write {attribute}=…, {attribute}.ge=…, {attribute}.between=a,b or {attribute}.begins=… without where"
            ),
        ),
    };
    ClauseFault::new(
        format!(
            "{attribute} is {role} of what is queried: a filter cannot name it, a key condition can"
        ),
        hint,
    )
}

fn equalities<'c>(condition: &'c Condition, names: &mut BTreeSet<&'c str>) {
    match condition {
        Condition::And(list) => list
            .iter()
            .for_each(|condition| equalities(condition, names)),
        other => names.extend(other.as_equality().map(|(name, _)| name)),
    }
}

fn render(pieces: &[FilterPiece], expression: &mut ExpressionBuilder) -> String {
    join(pieces.iter().map(|piece| match piece {
        FilterPiece::Text(text) => text.clone(),
        FilterPiece::Path(path) => expression.filter_path(path),
        FilterPiece::Value(value) => expression.filter_value(value),
    }))
}

/// Joins pieces, with spaces as in handwritten expressions.
fn join(pieces: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for piece in pieces {
        let is_close = piece == ")" || piece == ",";
        if !out.is_empty() && !out.ends_with('(') && !is_close {
            out.push(' ');
        }
        out.push_str(&piece);
    }
    out
}

/// Returns the fault with names and values in place of their placeholders.
fn without_placeholders(fault: &ExpressionFault, placeholders: &Placeholders) -> ClauseFault {
    let mut message = fault.to_string();
    if let ExpressionFault::Syntax { .. } = fault {
        // Only this fault shows the text. The longest placeholder comes first: `#f12` begins with
        // `#f1`.
        for (placeholder, name) in placeholders.names.iter().flatten().rev() {
            message = message.replace(placeholder.as_str(), name);
        }
        for (placeholder, value) in placeholders.values.iter().flatten().rev() {
            message = message.replace(placeholder.as_str(), &plain_json::value(value));
        }
    }
    let hint = match fault {
        ExpressionFault::UnknownFunction(function) => {
            // The name in most other languages is not near by its letters.
            let nearest = match function.as_str() {
                "starts_with" | "startswith" | "startsWith" => Some("begins_with"),
                other => spelling::nearest(other, functions()),
            };
            let question = nearest.map_or_else(String::new, |word| format!("did you mean {word}(…)? "));
            format!("{question}There are {}", functions().collect::<Vec<_>>().join(", "))
        }
        ExpressionFault::OperandType { .. } | ExpressionFault::BetweenTypes { .. } => {
            "the type is told from how a value looks: 12 is a number, anything else a string; force it by where.a,S.eq=12 or where=a = \"12\"".to_owned()
        }
        ExpressionFault::UnknownTypeName(_) => "types are S, N, B, SS, NS, BS, BOOL, NULL, L, M".to_owned(),
        ExpressionFault::RedundantParentheses => "leave the second pair of parentheses out".to_owned(),
        _ => "for example where=status IN (\"open\", \"held\") AND total > 100".to_owned(),
    };
    ClauseFault::new(message, hint)
}

/// Splits an expression with placeholders into pieces; the text must have been parsed before.
fn pieces_of(text: &str, placeholders: &Placeholders) -> Vec<FilterPiece> {
    let name = |alias: &str| {
        placeholders
            .names
            .as_ref()
            .and_then(|names| names.get(alias))
            .cloned()
    };
    let value = |alias: &str| {
        placeholders
            .values
            .as_ref()
            .and_then(|values| values.get(alias))
            .cloned()
    };
    let mut pieces: Vec<FilterPiece> = Vec::new();
    let mut tokens = Tokens::new(text);
    let mut goes_on = false;
    loop {
        let token = tokens.advance();
        let keyword = ["AND", "OR", "NOT", "BETWEEN", "IN"]
            .into_iter()
            .find(|word| token.is_keyword(word));
        let is_call = tokens.peek().kind == TokenKind::Open;
        let step = match token.kind {
            TokenKind::End => return pieces,
            TokenKind::NameRef => name(token.text),
            TokenKind::Identifier if keyword.is_none() && !is_call => Some(token.text.to_owned()),
            _ => None,
        };
        match (step, token.kind, pieces.last_mut()) {
            (Some(step), _, Some(FilterPiece::Path(path))) if std::mem::take(&mut goes_on) => {
                path.rest.push(PathElement::Name(step))
            }
            (Some(step), _, _) => pieces.push(FilterPiece::Path(DocumentPath::top_level(step))),
            (None, TokenKind::Dot, _) => goes_on = true,
            (None, TokenKind::OpenBracket, Some(FilterPiece::Path(path))) => {
                let index = tokens.advance().text.parse().ok();
                debug_assert!(index.is_some(), "an index that was parsed before: {text}");
                path.rest.extend(index.map(PathElement::Index));
                tokens.accept(TokenKind::CloseBracket);
            }
            (None, TokenKind::ValueRef, _) => {
                let value = value(token.text);
                debug_assert!(value.is_some(), "{} is undefined", token.text);
                pieces.extend(value.map(FilterPiece::Value));
            }
            (None, TokenKind::Identifier, _) if is_call && keyword.is_none() => {
                tokens.advance();
                pieces.push(FilterPiece::Text(format!("{}(", token.text)));
            }
            (None, _, _) => {
                pieces.push(FilterPiece::Text(keyword.unwrap_or(token.text).to_owned()))
            }
        }
    }
}

/// Placeholders that are collected while expressions are written.
#[derive(Debug, Default)]
pub(super) struct ExpressionBuilder {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
    /// Numbers of the filters' names.
    filter_names: BTreeMap<String, usize>,
    filter_values: usize,
}

impl ExpressionBuilder {
    pub fn placeholders(self) -> Placeholders {
        Placeholders::new(self.names, self.values)
    }

    fn value(&mut self, tag: &str, value: &AttributeValue) -> String {
        let placeholder = format!(":{tag}");
        self.values.insert(placeholder.clone(), value.clone());
        placeholder
    }

    /// Returns the text of a condition on this key attribute.
    pub fn condition(&mut self, tag: &str, attribute: &str, range: &SortRange) -> String {
        let name = format!("#{tag}");
        self.names.insert(name.clone(), attribute.to_owned());
        let values = range.values();
        let ends: &[&str] = if values.len() > 1 {
            &["_from", "_to"]
        } else {
            &[""]
        };
        let values: Vec<String> = ends
            .iter()
            .zip(values)
            .map(|(end, value)| self.value(&format!("{tag}{end}"), value))
            .collect();
        show_range(&name, range, &values)
    }

    /// Returns the text of a projection of these paths.
    pub fn projection(&mut self, paths: &[DocumentPath]) -> String {
        let mut numbers = BTreeMap::new();
        paths
            .iter()
            .map(|path| write_path(path, 'a', &mut numbers, &mut self.names))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns the text of a path in a filter.
    pub fn filter_path(&mut self, path: &DocumentPath) -> String {
        write_path(path, 'f', &mut self.filter_names, &mut self.names)
    }

    /// Returns the placeholder of a value in a filter.
    pub fn filter_value(&mut self, value: &AttributeValue) -> String {
        self.filter_values += 1;
        self.value(&format!("f{}", self.filter_values), value)
    }
}

/// Returns the path with placeholders of this mark, numbered by name.
fn write_path(
    path: &DocumentPath,
    mark: char,
    numbers: &mut BTreeMap<String, usize>,
    names: &mut BTreeMap<String, String>,
) -> String {
    path.to_text_with(|name| {
        let next = numbers.len() + 1;
        let placeholder = format!("#{mark}{}", numbers.entry(name.to_owned()).or_insert(next));
        names.insert(placeholder.clone(), name.to_owned());
        placeholder
    })
}

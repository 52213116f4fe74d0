//! The `help` file of a `query/` or `scan/` directory: the clauses that work there, with the
//! table's own attribute names.

use std::{fmt::Write as _, ops::ControlFlow};

use super::{
    clause,
    context::{self, QueryContext, QueryKind},
    key_clause::{self, display_name},
    query_path::{QueryPath, ResultKind},
};
use crate::codec::file_name;
use crate::database::EntryRange;
use crate::expr::read_request::ReadRequest;
use crate::fs::{path::names, prelude::*};

/// The number of entries in which [`first_entry`] looks for a name that is not shortened.
const ENTRIES_MAX: u32 = 16;

/// Returns the first entry of a table or an index, in the order of a listing, that has a name which
/// is not shortened.
pub fn first_entry(db: &dyn Browse, source: &SourceName) -> Result<Option<EntryKey>, FsError> {
    let schema = db.schema(&source.table)?.ok_or(FsError::NotFound)?;
    let index = source
        .index
        .as_ref()
        .and_then(|index| schema.index(index.as_str()));
    let context = QueryContext {
        schema: &schema,
        index,
        kind: QueryKind::Scan,
    };
    let is_written_out = |key: &EntryKey| {
        !names::entry_path(key, TextForm::PlainJson).contains(file_name::ALIAS_MARK)
    };
    if index.is_some_and(|index| index.kind == IndexKind::Vector) {
        let (mut found, mut looked) = (None, 0);
        if !db.is_remote() {
            db.entries(source, &EntryRange::All, None, &mut |key, _, _| {
                looked += 1;
                found = Some(key.clone()).filter(is_written_out);
                match found.is_some() || looked == ENTRIES_MAX {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
        }
        return Ok(found);
    }
    let mut found = Ok(None);
    // `look` reads without consuming capacity, also where reads are paid for.
    let request = ReadRequest {
        limit: Some(ENTRIES_MAX),
        ..ReadRequest::scan(source.table.clone(), source.index.clone())
    };
    db.peek_page(&request, &mut |row| {
        if let Ok(None) = found {
            found = context::entry_key(&row, context).map(|key| Some(key).filter(is_written_out));
        }
    })?;
    found
}

/// Returns the clauses and results of any query path, for `.ddb/help/queries.md`.
#[must_use]
pub fn all_names() -> String {
    let mut out = String::new();
    write_names(
        key_clause::general_help()
            .into_iter()
            .chain(clause::help(None)),
        true,
        &mut out,
    );
    out
}

fn write_names(clauses: impl Iterator<Item = (String, String)>, has_pages: bool, out: &mut String) {
    for (clause, meaning) in clauses {
        out.push_str(format!("  {clause:<34} {meaning}").trim_end());
        out.push('\n');
    }
    out.push_str("\nResults:\n");
    let results = ResultKind::TABLE
        .iter()
        .filter(|(kind, ..)| *kind != ResultKind::Help && (has_pages || !kind.is_of_pages()))
        .map(|(_, name, meaning)| (*name, *meaning));
    for (name, meaning) in results.chain([("ls", "numbered links to the items, in order")]) {
        out.push_str(&format!("  {name:<23} {meaning}\n"));
    }
}

pub(super) fn text(path: &QueryPath, first: Option<&EntryKey>) -> String {
    let context = path.context();
    let mut out = String::new();
    let subject = match context.index {
        None => format!("table {}", context.schema.name),
        Some(index) => format!("index {} of table {}", index.name, context.schema.name),
    };
    let verb = match context.kind {
        QueryKind::Query => "Query",
        QueryKind::Scan => "Scan",
        QueryKind::Near => "Search",
    };
    out.push_str(&format!("{verb} the {subject}: each directory is a clause, in any order; the last name is a result.\n\n"));
    write_names(
        key_clause::help(context)
            .into_iter()
            .chain(clause::help(Some(context))),
        context.kind != QueryKind::Near,
        &mut out,
    );
    out.push_str(RESULTS);
    write_examples(path, first, &mut out);
    out
}

/// The text after the list of results.
const RESULTS: &str = "
Write space, / % # , = and bytes that are no text as %XX. A result file has its exact
size up to 256 MB, then 0 as a pipe has; asking for the size costs no capacity.
";

/// Writes example queries of the first entry if there is one, else of made-up keys, which find
/// nothing.
fn write_examples(path: &QueryPath, first: Option<&EntryKey>, out: &mut String) {
    // Examples below other clauses begin at the top again.
    let up = "../".repeat(path.names().len());
    out.push_str("\nExamples, from this directory:\n```sh\n");
    let context = path.context();
    match (path.saved_name(), context.kind) {
        (Some(_), _) => out.push_str("cat count\nhead -3 items.ndjson\n"),
        (None, QueryKind::Scan) => {
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "cat {up}count\ncat {up}limit=10/items.ndjson\ncat {up}segment=0,4/keys"
            );
        }
        (None, QueryKind::Near) => {
            let name = |entry: &EntryKey| {
                path.link_stem(&entry.base.clone().into(), file_name::STEM_BYTES_MAX)
            };
            let item = first.map_or_else(|| "a".to_owned(), name);
            let _ = writeln!(
                out,
                "cat {up}{item}/items.ndjson\ncat {up}{item}/top=3/keys\nls {up}{item}"
            );
        }
        (None, QueryKind::Query) => write_query_examples(context, &up, first, out),
    }
    out.push_str("```\n");
}

fn write_query_examples(
    context: QueryContext<'_>,
    up: &str,
    first: Option<&EntryKey>,
    out: &mut String,
) {
    let keys = context.keys();
    let (partition_values, sort_value) = first.map_or((Vec::new(), None), key_names);
    let value = |place: usize, a: &KeyAttribute| {
        partition_values
            .get(place)
            .cloned()
            .unwrap_or_else(|| sample(a).to_owned())
    };
    let clause =
        |(place, a): (usize, &KeyAttribute)| format!("{}={}", display_name(a), value(place, a));
    let partition: Vec<String> = keys.partition.iter().enumerate().map(clause).collect();
    let partition = partition.join("/");
    let _ = writeln!(out, "cat {up}{partition}/items.ndjson");
    if let Some(sort) = keys.sort.first() {
        let (name, value) = (
            display_name(sort),
            sort_value.unwrap_or_else(|| sample(sort).to_owned()),
        );
        let _ = writeln!(
            out,
            "cat {up}{partition}/{name}.ge={value}/desc/limit=3/items.ndjson"
        );
        let _ = writeln!(
            out,
            "cat {up}{partition}/{name}.between={value},{value}/count"
        );
    }
    let _ = writeln!(out, "ls {up}{partition}");
}

/// Returns the values of an entry's partition key and the first of its sort key, encoded as in file
/// names.
fn key_names(entry: &EntryKey) -> (Vec<String>, Option<String>) {
    match &entry.index {
        Some((partition, sort)) => (
            partition.iter().map(file_name::encode).collect(),
            sort.first().map(file_name::encode),
        ),
        None => (
            vec![file_name::encode(&entry.base.partition)],
            entry.base.sort.as_ref().map(file_name::encode),
        ),
    }
}

fn sample(attribute: &KeyAttribute) -> &'static str {
    match attribute.attribute_type {
        KeyAttributeType::S => "a",
        KeyAttributeType::N => "1",
        KeyAttributeType::B => "%01",
    }
}

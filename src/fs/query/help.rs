//! The `help` file of a `query/` or `scan/` directory: the clauses that work there, with the table's own attribute names.

use std::fmt::Write as _;

use super::path::QueryPath;
use super::row;
use super::source::{Context, QueryKind};
use super::words::KEY_OPERATORS;
use crate::codec::file_name;
use crate::database::{Browse, EntryKey, Source, TextForm};
use crate::expr::literals;
use crate::expr::read_request::ReadRequest;
use crate::fs::FsError;
use crate::fs::path::names;
use crate::model::schema::{KeyAttribute, KeyAttributeType};
use crate::model::{AttributeValue, IndexKind};

/// Entries that are looked at for one whose name is not shortened.
const ENTRIES_MAX: u32 = 16;

/// The first entry of a table or an index in the order of a listing, of those whose names are written out.
///
/// # Errors
/// The database failed.
pub fn first_entry(db: &dyn Browse, source: &Source) -> Result<Option<EntryKey>, FsError> {
    let schema = db.schema(&source.table)?.ok_or(FsError::NotFound)?;
    let index = source.index.as_ref().and_then(|index| schema.index(index.as_str()));
    let context = Context { schema: &schema, index, kind: QueryKind::Scan };
    let mut found = Ok(None);
    // A look, which is cheap also where reading costs.
    let request = ReadRequest { limit: Some(ENTRIES_MAX), ..ReadRequest::scan(source.table.clone(), source.index.clone()) };
    db.look(&request, &mut |row| {
        if let Ok(None) = found {
            let is_written_out = |key: &EntryKey| !names::entry_path(key, TextForm::PlainJson).contains(file_name::ALIAS_MARK);
            found = row::entry_key(&row, context).map(|key| Some(key).filter(is_written_out));
        }
    })?;
    found
}

pub(super) fn text(path: &QueryPath, first: Option<&EntryKey>) -> String {
    let context = path.context();
    let mut out = String::new();
    let what = match context.index {
        None => format!("table {}", context.schema.name),
        Some(index) => format!("index {} of table {}", index.name, context.schema.name),
    };
    // Writing to a String cannot fail.
    let _ = match context.kind {
        QueryKind::Query => {
            write!(out, "Query the {what}: each directory is a clause, in any order; the last name is a result.\n\n")
        }
        QueryKind::Scan => write!(out, "Scan the {what}: each directory is a clause, in any order; the last name is a result.\n\n"),
    };
    if context.kind == QueryKind::Query {
        write_key_clauses(context, &mut out);
    }
    write_other_clauses(context, &mut out);
    out.push_str(RESULTS);
    write_examples(path, first, &mut out);
    out
}

fn write_key_clauses(context: Context<'_>, out: &mut String) {
    let keys = context.keys();
    for attribute in keys.partition {
        line(out, &format!("{}=<{}>", clause_name(attribute), type_word(attribute)), "the partition key, needed");
    }
    if let [one] = keys.partition {
        line(out, "@pk=<value>", "the same");
        line(out, "@pk.shards=<prefix>,<m>,<n>", &format!("all of {} = prefix m … prefix n, merged by sort key", clause_name(one)));
    }
    for attribute in keys.sort {
        line(out, &format!("{}=<{}>", clause_name(attribute), type_word(attribute)), "the sort key equals");
        for operator in KEY_OPERATORS {
            if operator == "begins" && attribute.attribute_type == KeyAttributeType::N {
                continue;
            }
            let (value, meaning) = match operator {
                "lt" => ("<value>", "is less than"),
                "le" => ("<value>", "is at most"),
                "gt" => ("<value>", "is greater than"),
                "ge" => ("<value>", "is at least"),
                "between" => ("<lower>,<upper>", "lies between, both included"),
                _ => ("<prefix>", "begins with"),
            };
            line(out, &format!("{}.{operator}={value}", clause_name(attribute)), meaning);
        }
    }
    if keys.sort.len() == 1 {
        line(out, "@sk=… @sk.lt=… …", "the same");
    }
    line(out, "desc, asc", "order of the sort key; asc if not said");
}

fn write_other_clauses(context: Context<'_>, out: &mut String) {
    line(out, "where.<path>.<op>[=<value>]", "a filter: reads the same, shows what matches");
    out.push_str(OPERATIONS);
    line(out, "where=<expression>", "the same as DynamoDB's FilterExpression:");
    out.push_str("    where=status IN (\"open\",\"held\") AND (total > 100 OR NOT paid = true)\n");
    literals::SPELLING.lines().for_each(|spelling| out.push_str(&format!("    {spelling}\n")));
    line(out, "live", "without items whose time to live is over");
    line(out, "select=a,b.c,d[0]", "only these attributes");
    line(out, "limit=<n>", "return at most n items");
    line(out, "eval=<n>", "read at most n items, DynamoDB's Limit");
    line(out, "after=<token>", "start after the page whose page.json said next");
    if context.index.is_none_or(|index| index.kind == IndexKind::Local) {
        line(out, "consistent", "consistent read");
    }
    line(out, "typed", "items in DynamoDB JSON");
    if context.kind == QueryKind::Scan {
        line(out, "segment=<i>,<n>", "the i-th of n parts, from 0");
    }
}

const OPERATIONS: &str = "    op: eq ne lt le gt ge, between=a,b, in=a,b,c, begins, contains, ncontains, exists, nexists, type=SS,
        size-eq size-ne size-lt size-le size-gt size-ge size-between
    A value is a number, true, false or null if it looks so, else text; force it by where.zip,S.eq=12345 (S N B BOOL NULL JSON).
";

const RESULTS: &str = "
Results:
  items.ndjson            an item a line
  items.json              one JSON array
  items.ddbjson           DynamoDB JSON, an item a line
  items.csv               a header and a line an item; select= names the columns
  keys                    paths of the items from the table's directory, a line each
  count                   how many
  page.json               one page: Items, Count, ScannedCount, next, ConsumedCapacity
  next                    the token after that page, for after=; empty after the last
  request.json            the API request, for aws --cli-input-json
  explain.json            what it will read and cost, and what would be cheaper
  capacity.json           runs it: capacity units consumed, in all, by table and by index
  ls                      numbered links to the items, in order

Write space, / % # , = and bytes that are no text as %XX. A result file has its exact
size up to 256 MB, then 0 as a pipe has; asking for the size costs no capacity.
";

/// Queries of the first entry, if there is one, else of made-up keys: they find nothing.
fn write_examples(path: &QueryPath, first: Option<&EntryKey>, out: &mut String) {
    // Below other clauses they begin at the top again.
    let up = "../".repeat(path.names().len());
    out.push_str("\nExamples, from this directory:\n```sh\n");
    let context = path.context();
    match (path.saved_name(), context.kind) {
        (Some(_), _) => out.push_str("cat count\nhead -3 items.ndjson\n"),
        (None, QueryKind::Scan) => {
            let _ = writeln!(out, "cat {up}count\ncat {up}limit=10/items.ndjson\ncat {up}segment=0,4/keys");
        }
        (None, QueryKind::Query) => write_query_examples(context, &up, first, out),
    }
    out.push_str("```\n");
}

fn write_query_examples(context: Context<'_>, up: &str, first: Option<&EntryKey>, out: &mut String) {
    let keys = context.keys();
    let (partition_values, sort_value) = first.map_or((Vec::new(), None), key_names);
    let value = |place: usize, a: &KeyAttribute| partition_values.get(place).cloned().unwrap_or_else(|| sample(a).to_owned());
    let clause = |(place, a): (usize, &KeyAttribute)| format!("{}={}", clause_name(a), value(place, a));
    let partition: Vec<String> = keys.partition.iter().enumerate().map(clause).collect();
    let partition = partition.join("/");
    let _ = writeln!(out, "cat {up}{partition}/items.ndjson");
    if let Some(sort) = keys.sort.first() {
        let (name, value) = (clause_name(sort), sort_value.unwrap_or_else(|| sample(sort).to_owned()));
        let _ = writeln!(out, "cat {up}{partition}/{name}.ge={value}/desc/limit=3/items.ndjson");
        let _ = writeln!(out, "cat {up}{partition}/{name}.between={value},{value}/count");
    }
    let _ = writeln!(out, "ls {up}{partition}");
}

/// The values of an entry's partition key and the first of its sort key, as names write them.
fn key_names(entry: &EntryKey) -> (Vec<String>, Option<String>) {
    match &entry.index {
        Some((partition, sort)) => (partition.iter().map(file_name::encode).collect(), sort.first().map(file_name::encode)),
        None => (vec![file_name::encode(&entry.base.partition)], entry.base.sort.as_ref().map(file_name::encode)),
    }
}

/// An attribute's name as a clause and a shell understand it.
fn clause_name(attribute: &KeyAttribute) -> String {
    file_name::encode(&AttributeValue::S(attribute.name.clone()))
}

fn line(out: &mut String, clause: &str, meaning: &str) {
    let _ = writeln!(out, "  {clause:<34} {meaning}");
}

fn type_word(attribute: &KeyAttribute) -> &'static str {
    match attribute.attribute_type {
        KeyAttributeType::S => "string",
        KeyAttributeType::N => "number",
        KeyAttributeType::B => "bytes",
    }
}

fn sample(attribute: &KeyAttribute) -> &'static str {
    match attribute.attribute_type {
        KeyAttributeType::S => "a",
        KeyAttributeType::N => "1",
        KeyAttributeType::B => "%01",
    }
}

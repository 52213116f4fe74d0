//! Access patterns that a person expects, one a line (docs/paths.md, "Expected patterns"): what
//! answers each, what a call of it costs on the data as it is, and whether it was seen.

use crate::codec::count::plural;
use crate::codec::metrics::access::request_text;
use crate::codec::sanitize::{WORD_CHARS_MAX, code, line as one_line, markdown as plain};
use crate::database::{Browse, SourceName};
use crate::engine::base::{read_units, write_units};
use crate::expr::key_condition::{KeyConditionShape, SortRange};
use crate::expr::normal_form::SEPARATORS;
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::inspect::patterns::{Pattern, Served, answer, serve, source_keys};
use crate::inspect::sampling;
use crate::model::limits::SAVED_REQUEST_BYTES_MAX;
use crate::model::metrics::{AccessCounts, AccessForm, Period};
use crate::model::{AttributeValue, Error, TableSchema};

/// The most patterns of a table.
const PATTERNS_MAX: usize = 200;
/// The items with whose keys a pattern is run.
const SAMPLES: u32 = 5;
/// The bytes that are read to run all patterns of a table; those after it are not run.
const RUN_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The characters shown of a pattern, and of what answers it.
const CHARS_MAX: usize = 300;

const OPERATIONS: [&str; 6] = [
    "Query",
    "Scan",
    "GetItem",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
];

/// Returns the lines with a pattern, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let all = (1..).zip(text.lines().map(str::trim));
    all.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Checks a text. A line that the text before had is not checked again.
///
/// # Errors
/// A sentence with the number of the line.
pub fn check(text: &str, schema: &TableSchema, before: &str) -> Result<(), String> {
    if text.len() > SAVED_REQUEST_BYTES_MAX || lines(text).count() > PATTERNS_MAX {
        let kib = SAVED_REQUEST_BYTES_MAX / 1024;
        return Err(format!(
            "a table has at most {PATTERNS_MAX} expected patterns, in {kib} KiB"
        ));
    }
    let is_new = |line: &str| !lines(before).any(|(_, known)| known == line);
    lines(text)
        .filter(|(_, line)| is_new(line))
        .try_for_each(|(number, line)| {
            pattern(line, schema)
                .map(drop)
                .map_err(|fault| format!("line {number}: {fault}"))
        })
}

/// Splits a text before a word, in letters of any case.
fn split<'t>(text: &'t str, word: &str) -> (&'t str, Option<&'t str>) {
    match text.to_ascii_lowercase().find(word) {
        Some(at) => {
            let (before, after) = text.split_at(at);
            (before, after.get(word.len()..))
        }
        None => (text, None),
    }
}

/// Parses a line: `label: Query index WHERE a = ? FILTER n > ?`, or a request as `access.md` has it.
fn pattern(line: &str, schema: &TableSchema) -> Result<Pattern, String> {
    let is_request = |text: &str| OPERATIONS.contains(&split(text, " ").0);
    let labelled = line.split_once(": ").filter(|_| !is_request(line));
    let request = labelled.map_or(line, |(_, request)| request.trim());
    if !is_request(request) {
        return Err(format!(
            "it begins with one of {}, perhaps after a label, a colon and a blank",
            OPERATIONS.join(", ")
        ));
    }
    // The rest of a request has no part in what answers it.
    let request = [" select ", " if ", " do "]
        .iter()
        .fold(request, |request, word| split(request, word).0);
    let (request, condition) = split(request, " filter ");
    let (request, key_condition) = split(request, " where ");
    let (operation, target) = split(request, " ");
    let (table, target) = (schema.name.as_str(), target.map(str::trim));
    let index = target.filter(|target| *target != table).map(|target| {
        let of_table = target.strip_prefix(table);
        let name = of_table.and_then(|rest| rest.strip_prefix('/'));
        name.unwrap_or(target).to_owned()
    });
    if let Some(index) = index.as_ref().filter(|index| schema.index(index).is_none()) {
        return Err(format!(
            "the table has no index '{}'; without a name access.md tells what answers",
            one_line(index, WORD_CHARS_MAX)
        ));
    }
    match (operation, key_condition) {
        ("Query", None) => return Err("a Query has WHERE and a key condition".to_owned()),
        ("Scan", Some(_)) => return Err("a Scan has FILTER, and no WHERE".to_owned()),
        _ => {}
    }
    let form = AccessForm {
        operation: operation.to_owned(),
        index,
        key_condition: key_condition.map(ToOwned::to_owned),
        condition: condition.map(ToOwned::to_owned),
        ..AccessForm::default()
    };
    Pattern::of(&form, schema).ok_or_else(|| {
        "conditions are like pk = ? AND begins_with(sk, ?), with other names in `backquotes`"
            .to_owned()
    })
}

/// Returns the patterns with their answers, costs and requests as a section in Markdown.
///
/// # Errors
/// Fails if the database fails.
pub fn markdown(database: &dyn Browse, schema: &TableSchema, text: &str) -> Result<String, Error> {
    let keys = source_keys(schema);
    let observed = database.layout().map(|of| of.access_patterns(&schema.name));
    let observed = observed.transpose()?.unwrap_or_default();
    let observed = observed.into_iter().filter(|one| !one.form.is_others());
    let mut observed: Vec<_> = observed
        .map(|one| (Pattern::of(&one.form, schema), one))
        .collect();
    let (mut rows, mut left) = (String::new(), RUN_BYTES_MAX);
    let (mut expected, mut scans, mut unseen) = (0, 0, 0);
    for (_, line) in lines(text) {
        expected += 1;
        let mut seen = AccessCounts::default();
        let (answered, call) = match pattern(line, schema) {
            Err(fault) => (plain(&fault, CHARS_MAX), "-".to_owned()),
            Ok(pattern) => {
                let served = serve(&pattern, &keys).filter(|_| pattern.operation != "Scan");
                let source = served.as_ref().map(|served| &served.source.index);
                observed.retain(|(other, one)| {
                    let is_seen = other.as_ref().is_some_and(|other| {
                        let is_like = (&other.operation, &other.conditions)
                            == (&pattern.operation, &pattern.conditions);
                        // A line may leave the name of the index out.
                        let is_there = other.index == pattern.index
                            || (pattern.index.is_none() && Some(&other.index) == source);
                        is_like && is_there
                    });
                    if is_seen {
                        seen.merge(one.within(Period::Day));
                    }
                    !is_seen
                });
                scans += u64::from(served.is_none());
                let call = units_a_call(database, schema, &pattern, served.as_ref(), &mut left)?;
                (code(&answer(served.as_ref()), CHARS_MAX), call)
            }
        };
        unseen += u64::from(seen.requests == 0);
        let line = code(line, CHARS_MAX);
        rows += &row([&line, &answered, &call], &seen);
    }
    for (_, one) in &observed {
        let request = code(&request_text(&schema.name, &one.form), CHARS_MAX);
        rows += &row([&request, "not expected", "-"], one.within(Period::Day));
    }
    Ok(format!(
        "\n## Expected patterns\n\n\
        {}: {scans} by a Scan, {unseen} not seen in a day. A call was run with the keys of {SAMPLES} items for its first page: \
        eventually consistent, a range of the sort key whole; writes without indexes.\n\n\
        | request | answered by | units a call | requests in a day | units |\n|---|---|---|---|---|\n{rows}",
        plural(expected, "pattern")
    ))
}

fn row(cells: [&str; 3], seen: &AccessCounts) -> String {
    let requests = match seen.requests {
        0 => "never".to_owned(),
        requests => requests.to_string(),
    };
    let units = seen.units();
    format!("| {} | {requests} | {units:.1} |\n", cells.join(" | "))
}

/// Runs a pattern with the keys of sampled items, while bytes are left; returns the least and the most
/// units of a call, or those of all pages of a Scan.
fn units_a_call(
    database: &dyn Browse,
    schema: &TableSchema,
    pattern: &Pattern,
    served: Option<&Served<'_>>,
    left: &mut u64,
) -> Result<String, Error> {
    let index = served.map_or(&pattern.index, |served| &served.source.index);
    let index = index.as_ref().and_then(|name| schema.index(name));
    let source = SourceName {
        table: schema.name.clone(),
        index: index.map(|index| index.name.clone()),
    };
    let Some(served) = served else {
        let bytes = usize::try_from(database.stats(&source)?.bytes).unwrap_or(usize::MAX);
        return Ok(format!("{} for all pages", read_units(bytes, false)));
    };
    if *left == 0 {
        return Ok("not run".to_owned());
    }
    let mut units = Vec::new();
    for item in sampling::sample(database, &source, SAMPLES)? {
        let ranges = served.key.iter().filter_map(|one| {
            let name = one.attribute.clone()?;
            let range = match item.get(&name)?.clone() {
                value if one.is_equality => SortRange::Equal(value),
                AttributeValue::S(text) if one.text.starts_with("begins_with") => {
                    // The items of the same kind: ORDER# of ORDER#17.
                    let end = text.find(SEPARATORS).map_or(text.len(), |at| at + 1);
                    SortRange::BeginsWith(AttributeValue::S(text.get(..end)?.to_owned()))
                }
                _ => return None,
            };
            Some((name, range))
        });
        let mut request = ReadRequest::scan(source.table.clone(), source.index.clone());
        request.range = ReadRange::Query {
            condition: KeyConditionShape::new(ranges),
            forward: true,
        };
        let page = database.peek_page(&request, &mut |_| {})?;
        *left = left.saturating_sub(page.scanned_bytes);
        units.push(match &*pattern.operation {
            "Query" | "GetItem" => page.consumed_capacity.total(),
            _ => write_units(usize::try_from(page.scanned_bytes).unwrap_or(usize::MAX)),
        });
    }
    units.sort_by(f64::total_cmp);
    Ok(match &*units {
        [] => "no items".to_owned(),
        [least, .., most] if least < most => format!("{least} to {most}"),
        [least, ..] => least.to_string(),
    })
}

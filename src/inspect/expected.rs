//! Access patterns that a person expects, one a line (docs/paths.md, "Expected patterns"): what
//! answers each, what a call of it costs on the data as it is, and whether it was seen. Models of other
//! tools have such patterns too, which become lines.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::codec::count::plural;
use crate::codec::definitions::{self, Parameters};
use crate::codec::metrics::access::request_text;
use crate::codec::sanitize::{WORD_CHARS_MAX, code, line as one_line, markdown as plain};
use crate::database::{Browse, SourceName};
use crate::engine::base::{read_units, write_units};
use crate::expr::key_condition::{KeyConditionShape, SortRange};
use crate::expr::literals::name_text;
use crate::expr::normal_form::SEPARATORS;
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::inspect::patterns::{Pattern, Served, answer, serve, source_keys};
use crate::inspect::sampling;
use crate::model::api::table_control::{Replace, SavedForm, SavedQueryChange, SavedQueryOutcome};
use crate::model::limits::SAVED_REQUEST_BYTES_MAX;
use crate::model::metrics::{AccessCounts, AccessForm, Period};
use crate::model::{AttributeValue, Error, TableName, TableSchema};

/// The name under which the patterns of a table are kept among its saved queries; no query can have it.
pub const SAVED_AS: &str = ".expected";
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

/// Returns the patterns of a table, and the time at which they were saved.
///
/// # Errors
/// Fails if the database fails.
pub fn stored(database: &dyn Browse, table: &TableName) -> Result<Option<(String, u64)>, Error> {
    let saved = database.saved_queries(table)?;
    Ok(saved.get(SAVED_AS).and_then(|saved| match &saved.form {
        SavedForm::Request(text) => Some((text.clone(), saved.modified_ms)),
        SavedForm::Link(_) => None,
    }))
}

/// Saves patterns with a table that has none; returns false if it has some.
///
/// # Errors
/// A sentence: the text is none, or the database fails.
pub fn keep(database: &dyn Browse, schema: &TableSchema, text: &str) -> Result<bool, String> {
    check(text, schema, "")?;
    let change = SavedQueryChange::Put {
        name: SAVED_AS.to_owned(),
        form: SavedForm::Request(text.to_owned()),
        replace: Replace::None,
    };
    let changed = database.change_saved_queries(&schema.name, change);
    let outcome = changed.map_err(|error| error.to_string())?;
    Ok(matches!(outcome, SavedQueryOutcome::Done(_)))
}

/// True if the text is the beginning of a model, which is one JSON object.
#[must_use]
pub fn is_part_of_model(text: &str) -> bool {
    is_model(text) && serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

fn is_model(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Returns the lines of a text, which is checked, or of the table of this name in a model. A line that
/// the text before had is not checked again.
///
/// # Errors
/// A sentence with the number of the line.
pub fn read<'t>(text: &'t str, schema: &TableSchema, before: &str) -> Result<Cow<'t, str>, String> {
    let text: Cow<'_, str> = if is_model(text) {
        let model = definitions::read_bounded(text.as_bytes(), &Parameters::new());
        let (table, _) = model
            .map_err(|error| error.to_string())?
            .into_table(schema.name.as_str())?;
        let lines = of_model(&table.patterns, schema);
        if lines.is_empty() {
            return Err("the model has no access patterns of this table".to_owned());
        }
        lines.into()
    } else {
        text.into()
    };
    check(&text, schema, before)?;
    Ok(text)
}

/// Returns the access patterns of a model as lines; one that is none here is a comment.
#[must_use]
pub fn of_model(patterns: &[Value], schema: &TableSchema) -> String {
    let word = |value: &Value| one_line(value.as_str().unwrap_or_default(), CHARS_MAX);
    let lines = patterns.iter().map(|of| {
        // A facet is a view of some items, and has no condition.
        let (label, request) = if of.get("FacetName").is_some() {
            let key = name_text(&schema.key.partition.name);
            let label = format!("facet {}", word(&of["FacetName"]));
            (label, Some(format!("Query WHERE {key} = ?")))
        } else {
            let label = format!("{} {}", word(&of["pattern"]), word(&of["description"]));
            (label, request_of_command(of))
        };
        let label = label.replace(": ", ", ");
        let line = request.map(|request| format!("{label}: {request}"));
        match line.filter(|line| pattern(line, schema).is_ok()) {
            Some(line) => line + "\n",
            None => format!("# {label}: {}\n", word(&of["dynamodb_operation"])),
        }
    });
    lines.collect()
}

/// Returns the request of a command for the AWS CLI, without values.
fn request_of_command(of: &Value) -> Option<String> {
    let words = shlex::split(of["implementation"].as_str()?)?;
    let option = |name: &str| words.get(words.iter().position(|word| word == name)? + 1);
    let names = option("--expression-attribute-names");
    let names = names.and_then(|names| serde_json::from_str(names).ok());
    let names: Value = names.unwrap_or_default();
    let mut request = of["dynamodb_operation"].as_str()?.to_owned();
    for (word, name) in [
        ("", "--index-name"),
        (" WHERE", "--key-condition-expression"),
        (" FILTER", "--filter-expression"),
    ] {
        if let Some(text) = option(name) {
            request += &format!("{word} {}", without_placeholders(text, &names));
        }
    }
    Some(request)
}

/// Returns an expression with its names, and `?` for values.
fn without_placeholders(expression: &str, names: &Value) -> String {
    let (mut text, mut rest) = (String::new(), expression);
    while let Some(at) = rest.find(['#', ':']) {
        let (before, from) = rest.split_at(at);
        let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
        let end = from
            .get(1..)
            .and_then(|word| word.find(|character| !is_of_word(character)));
        let (word, after) = from.split_at(end.map_or(from.len(), |end| end + 1));
        let name = names[word].as_str().map(name_text);
        let known = if word.starts_with(':') { "?" } else { word };
        text += before;
        text += name.as_deref().unwrap_or(known);
        rest = after;
    }
    text + rest
}

/// Checks a text. A line that the text before had is not checked again.
fn check(text: &str, schema: &TableSchema, before: &str) -> Result<(), String> {
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

/// The patterns of a table with their answers, costs and requests; and the requests that are not expected.
#[derive(Debug)]
pub struct Comparison {
    expected: Vec<Row>,
    others: Vec<Row>,
}

/// A line, or a request that is not expected.
#[derive(Debug)]
struct Row {
    request: String,
    /// The source that answers it, or the reason why the line is no pattern.
    answer: Result<String, String>,
    is_scan: bool,
    call: CallUnits,
    /// The requests of a day.
    seen: AccessCounts,
}

/// The units of a call of a pattern.
#[derive(Debug)]
enum CallUnits {
    /// It was not run, for this reason.
    Unknown(&'static str),
    /// The least and the most of the samples.
    Sampled(f64, f64),
    /// All pages of a Scan.
    Scan(f64),
}

impl std::fmt::Display for CallUnits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(why) => f.write_str(why),
            Self::Sampled(least, most) if least < most => write!(f, "{least} to {most}"),
            Self::Sampled(least, _) => write!(f, "{least}"),
            Self::Scan(units) => write!(f, "{units} for all pages"),
        }
    }
}

impl Comparison {
    /// Compares the lines of a text with a table and its requests.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub fn new(database: &dyn Browse, schema: &TableSchema, text: &str) -> Result<Self, Error> {
        let keys = source_keys(schema);
        let observed = database.layout().map(|of| of.access_patterns(&schema.name));
        let observed = observed.transpose()?.unwrap_or_default();
        let observed = observed.into_iter().filter(|one| !one.form.is_others());
        let mut observed: Vec<_> = observed
            .map(|one| (Pattern::of(&one.form, schema), one))
            .collect();
        let (mut expected, mut left) = (Vec::new(), RUN_BYTES_MAX);
        for (_, line) in lines(text) {
            let mut row = Row {
                request: line.to_owned(),
                answer: Err(String::new()),
                is_scan: false,
                call: CallUnits::Unknown("-"),
                seen: AccessCounts::default(),
            };
            match pattern(line, schema) {
                Err(fault) => row.answer = Err(fault),
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
                            row.seen.merge(one.within(Period::Day));
                        }
                        !is_seen
                    });
                    row.is_scan = served.is_none();
                    row.call =
                        units_a_call(database, schema, &pattern, served.as_ref(), &mut left)?;
                    row.answer = Ok(answer(served.as_ref()));
                }
            }
            expected.push(row);
        }
        let others = observed.iter().map(|(_, one)| Row {
            request: request_text(&schema.name, &one.form),
            answer: Err("not expected".to_owned()),
            is_scan: false,
            call: CallUnits::Unknown("-"),
            seen: one.within(Period::Day).clone(),
        });
        Ok(Self {
            expected,
            others: others.collect(),
        })
    }

    /// Returns the comparison as a section in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let rows = self.expected.iter().chain(&self.others).map(Row::markdown);
        let count = |is: fn(&&Row) -> bool| self.expected.iter().filter(is).count();
        format!(
            "\n## Expected patterns\n\n\
            {}: {} by a Scan, {} not seen in a day. A call was run with the keys of {SAMPLES} items for its first page: \
            eventually consistent, a range of the sort key whole; writes without indexes.\n\n\
            | request | answered by | units a call | requests in a day | units |\n|---|---|---|---|---|\n{}",
            plural(self.expected.len() as u64, "pattern"),
            count(|row| row.is_scan),
            count(|row| row.seen.requests == 0),
            rows.collect::<String>(),
        )
    }

    /// Returns the comparison for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let rows = |rows: &[Row]| rows.iter().map(Row::json).collect::<Value>();
        json!({ "patterns": rows(&self.expected), "not_expected": rows(&self.others) })
    }
}

impl Row {
    fn markdown(&self) -> String {
        let answer = match &self.answer {
            Ok(answer) => code(answer, CHARS_MAX),
            Err(why) => plain(why, CHARS_MAX),
        };
        let requests = match self.seen.requests {
            0 => "never".to_owned(),
            requests => requests.to_string(),
        };
        let request = code(&self.request, CHARS_MAX);
        let (call, units) = (&self.call, self.seen.units());
        format!("| {request} | {answer} | {call} | {requests} | {units:.1} |\n")
    }

    fn json(&self) -> Value {
        json!({
            "request": self.request,
            "answered_by": self.answer.as_ref().ok(),
            "fault": self.answer.as_ref().err(),
            "units_a_call": match self.call {
                CallUnits::Unknown(_) => None,
                CallUnits::Sampled(least, most) => Some([least, most]),
                CallUnits::Scan(units) => Some([units, units]),
            },
            "day": { "requests": self.seen.requests, "units": self.seen.units() },
        })
    }
}

/// Runs a pattern with the keys of sampled items, while bytes are left; returns the least and the most
/// units of a call, or those of all pages of a Scan.
fn units_a_call(
    database: &dyn Browse,
    schema: &TableSchema,
    pattern: &Pattern,
    served: Option<&Served<'_>>,
    left: &mut u64,
) -> Result<CallUnits, Error> {
    let index = served.map_or(&pattern.index, |served| &served.source.index);
    let index = index.as_ref().and_then(|name| schema.index(name));
    let source = SourceName {
        table: schema.name.clone(),
        index: index.map(|index| index.name.clone()),
    };
    let Some(served) = served else {
        let bytes = usize::try_from(database.stats(&source)?.bytes).unwrap_or(usize::MAX);
        return Ok(CallUnits::Scan(read_units(bytes, false)));
    };
    if *left == 0 {
        return Ok(CallUnits::Unknown("not run"));
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
        [] => CallUnits::Unknown("no items"),
        [least, ..] => CallUnits::Sampled(*least, *units.last().unwrap_or(least)),
    })
}

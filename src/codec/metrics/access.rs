//! Access patterns as a report in Markdown and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::codec::{calendar::iso, sanitize};
use crate::model::TableName;
use crate::model::metrics::{AccessCounts, AccessForm, AccessPattern, Period, TimeSpan};

/// The patterns of one table.
pub type TablePatterns = (TableName, Vec<AccessPattern>);

/// The most patterns of a window in a report.
const ROWS_MAX: usize = 100;
/// The longest request in a report, in characters.
const REQUEST_CHARS_MAX: usize = 2_000;

const LEGEND: &str = "\
One line is one normalised request: attribute names without values (`?`), whether it came over HTTP, through the mount or in PartiQL. \
Most units first. Query and Scan count their pages. Not counted: bulk loads, listings, and what the mount reads for its own files. \
The entity is the word before the first separator of the partition key, or a key that is one word in capitals, otherwise `?`. A latency is exact to a fifth.
";

/// Returns the request on one line: `Query Tab/byA WHERE a = ? FILTER n > ? SELECT n`.
#[must_use]
pub fn request_text(table: &TableName, form: &AccessForm) -> String {
    if form.is_others() {
        return format!("other requests {table}");
    }
    let index = form
        .index
        .as_ref()
        .map_or_else(String::new, |index| format!("/{index}"));
    let filter = match form.operation.as_str() {
        "Query" | "Scan" => "FILTER",
        _ => "IF",
    };
    let clauses = [
        ("WHERE", &form.key_condition),
        ("DO", &form.actions),
        (filter, &form.condition),
        ("SELECT", &form.projection),
    ];
    let clauses = clauses
        .into_iter()
        .filter_map(|(word, text)| Some((word, text.as_ref()?)));
    clauses.fold(
        format!("{} {table}{index}", form.operation),
        |all, (word, text)| format!("{all} {word} {text}"),
    )
}

/// Returns the report of some tables, with the windows as they are now.
#[must_use]
pub fn markdown(
    title: &str,
    tables: &[TablePatterns],
    span_of: impl Fn(Period) -> TimeSpan,
) -> String {
    let mut out = format!("# Access patterns of {title}\n\n{LEGEND}");
    for window in Period::ALL {
        let span = span_of(window);
        // A write to a string does not fail.
        let _ = writeln!(
            out,
            "\n## Last {}: {} to {}\n",
            window.name(),
            iso(span.from_ms),
            iso(span.to_ms)
        );
        write_window(&mut out, tables, window);
    }
    out
}

fn write_window(out: &mut String, tables: &[TablePatterns], window: Period) {
    let patterns = tables.iter().flat_map(|(table, patterns)| {
        patterns
            .iter()
            .map(move |pattern| (table, &pattern.form, pattern.within(window)))
    });
    let mut rows: Vec<_> = patterns
        .filter(|(_, _, counts)| counts.requests > 0)
        .collect();
    rows.sort_by(|(_, _, one), (_, _, other)| other.rank(one));
    let total: f64 = rows.iter().map(|(_, _, counts)| counts.units()).sum();
    if rows.is_empty() {
        out.push_str("No requests.\n");
        return;
    }
    out.push_str(
        "| | request | % of units | requests | read units | write units | evaluated | returned | p50 ms | p99 ms | throttled | failed conditions | entities |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut wasteful = String::new();
    for (number, (table, form, counts)) in rows.iter().take(ROWS_MAX).enumerate() {
        // An index for requests of many forms is none that a person could make.
        let throws_away = counts.throws_away() && !form.is_others();
        let mark = if throws_away { " **!**" } else { "" };
        let request = sanitize::code(&request_text(table, form), REQUEST_CHARS_MAX);
        let _ = writeln!(
            out,
            "| {}{mark} | {request} | {:.0} | {} | {:.1} | {:.1} | {} | {} | {} | {} | {} | {} | {} |",
            number + 1,
            100.0 * counts.units() / total.max(f64::MIN_POSITIVE),
            counts.requests,
            counts.read,
            counts.write,
            counts.evaluated,
            counts.returned,
            latency(counts, 0.5),
            latency(counts, 0.99),
            counts.throttled,
            counts.failed_conditions,
            entities(counts),
        );
        if throws_away {
            let _ = writeln!(
                wasteful,
                "\n**!** Number {} throws away most of what it reads: it evaluated {} items and returned {}, and paid for all of them; \
                 an index with the filter's attributes in its key reads only what is returned.",
                number + 1,
                counts.evaluated,
                counts.returned
            );
        }
    }
    if rows.len() > ROWS_MAX {
        let _ = writeln!(out, "\n{} more are not shown.", rows.len() - ROWS_MAX);
    }
    out.push_str(&wasteful);
}

fn latency(counts: &AccessCounts, share: f64) -> String {
    counts
        .latency
        .percentile_ms(share)
        .map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"))
}

fn entities(counts: &AccessCounts) -> String {
    let mut all: Vec<_> = counts.entities.iter().collect();
    all.sort_by_key(|(_, requests)| std::cmp::Reverse(**requests));
    let names = all
        .iter()
        .map(|(name, _)| sanitize::markdown(name, sanitize::WORD_CHARS_MAX));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the patterns of a table with their counts in each window.
#[must_use]
pub fn json(table: &TablePatterns, span_of: impl Fn(Period) -> TimeSpan) -> Value {
    let windows = Period::ALL.map(|window| {
        let span = span_of(window);
        (
            window.name().to_owned(),
            json!({"from": iso(span.from_ms), "to": iso(span.to_ms)}),
        )
    });
    let patterns = table.1.iter().map(|pattern| {
        let mut object = json!(pattern.form);
        object["request"] = request_text(&table.0, &pattern.form).into();
        for window in Period::ALL {
            object[window.name()] = counts(pattern.within(window));
        }
        object
    });
    json!({
        "table": table.0.as_str(),
        "windows": serde_json::Map::from_iter(windows),
        "patterns": patterns.collect::<Vec<_>>(),
    })
}

fn counts(counts: &AccessCounts) -> Value {
    json!({
        "requests": counts.requests,
        "read_units": counts.read,
        "write_units": counts.write,
        "evaluated": counts.evaluated,
        "returned": counts.returned,
        "throws_away": counts.throws_away(),
        "p50_ms": counts.latency.percentile_ms(0.5),
        "p99_ms": counts.latency.percentile_ms(0.99),
        "throttled": counts.throttled,
        "failed_conditions": counts.failed_conditions,
        "entities": counts.entities,
    })
}

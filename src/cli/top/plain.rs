//! Text output of `ddbfs top`: formats of figures for people, and a view as aligned text for
//! scripts: a line begins with its kind, and has blanks only between its columns, and in a request,
//! which is the last. A missing figure is `-`.

use indicatif::BinaryBytes;
use ratatui::text::Span;

use super::read::{SourceDetails, Spending, SpendingLimits};
use super::state::TopRow;
use crate::model::metrics::Period;

const OF_SOURCES: &str = "#what path read_per_s read_provisioned write_per_s write_provisioned throttles mean_ms worst_ms items bytes requests throttled bulk_units";
const OF_PARTITIONS: &str = "#what path partition load_percent busiest_percent read_per_s write_per_s throttles items bytes";
const OF_KEYS: &str = "#what path rank partition read_per_s write_per_s throttles key";

const OF_PATTERNS: &str =
    "#what path rank requests read_units write_units evaluated returned p99_ms throttled request";

const OF_SPENT: &str =
    "#what money budget currency read_units write_units spent_today max_rcu max_wcu";

/// The most keys, and access patterns, of a table or index that are printed.
const KEYS_MAX: usize = 10;

/// Formats the window, then tables and indexes, then partitions, hot keys and access patterns of those
/// with details, then the spending on a remote service.
pub fn text(
    window: Period,
    rows: &[&TopRow],
    details: &[SourceDetails],
    spent: Option<&Spending>,
) -> String {
    let window = vec!["window".to_owned(), window.name().to_owned()];
    let paid = spent.map(|spent| (OF_SPENT, vec![spending(spent)]));
    let tables = [
        ("#what window", vec![window]),
        (OF_SOURCES, rows.iter().map(|row| source(row)).collect()),
        (OF_PARTITIONS, details.iter().flat_map(partitions).collect()),
        (OF_KEYS, details.iter().flat_map(keys).collect()),
        (OF_PATTERNS, details.iter().flat_map(patterns).collect()),
    ];
    tables
        .iter()
        .chain(&paid)
        .map(|(columns, lines)| aligned(columns, lines))
        .collect::<Vec<_>>()
        .join("\n")
}

fn spending(spent: &Spending) -> Vec<String> {
    vec![
        "spent".to_owned(),
        spent.money.to_string(),
        spent.limits.budget_text(),
        spent.currency.clone(),
        rate(spent.units.read),
        rate(spent.units.write),
        configured(spent.limits.spent_today),
        SpendingLimits::rate(&spent.limits.reads),
        SpendingLimits::rate(&spent.limits.writes),
    ]
}

fn source(row: &TopRow) -> Vec<String> {
    let reading = &row.reading;
    let units = reading.provisioned;
    vec![
        reading.kind.name().to_owned(),
        reading.path.clone(),
        rate(row.load.read),
        configured(units.map(|units| units.read)),
        rate(row.load.write),
        configured(units.map(|units| units.write)),
        row.load.throttles.to_string(),
        rate_or_none(row.mean_ms),
        rate_or_none(row.worst_ms),
        reading.items.to_string(),
        reading.bytes.to_string(),
        row.requests.requests.to_string(),
        row.requests.throttled.to_string(),
        rate(reading.bulk),
    ]
}

fn partitions(details: &SourceDetails) -> impl Iterator<Item = Vec<String>> {
    details.partitions.iter().map(|partition| {
        vec![
            "partition".to_owned(),
            details.path.clone(),
            partition.name.clone(),
            format!("{:.1}", partition.percent),
            format!("{:.1}", partition.busiest_percent),
            rate(partition.read_per_second),
            rate(partition.write_per_second),
            partition.throttles.to_string(),
            partition.items.to_string(),
            partition.bytes.to_string(),
        ]
    })
}

fn keys(details: &SourceDetails) -> impl Iterator<Item = Vec<String>> {
    details
        .keys
        .iter()
        .take(KEYS_MAX)
        .enumerate()
        .map(|(rank, key)| {
            vec![
                "key".to_owned(),
                details.path.clone(),
                (rank + 1).to_string(),
                key.partition.clone(),
                rate(key.read_per_second),
                rate(key.write_per_second),
                key.throttles.to_string(),
                key.name.clone(),
            ]
        })
}

/// Returns the patterns of a table, which has those of its indexes.
fn patterns(details: &SourceDetails) -> impl Iterator<Item = Vec<String>> {
    let of_table = details
        .patterns
        .iter()
        .filter(|_| !details.path.contains('/'));
    of_table.take(KEYS_MAX).zip(1..).map(|(pattern, rank)| {
        vec![
            "pattern".to_owned(),
            details.path.clone(),
            rank.to_string(),
            pattern.requests.to_string(),
            rate(pattern.read_units),
            rate(pattern.write_units),
            pattern.evaluated.to_string(),
            pattern.returned.to_string(),
            rate_or_none(pattern.p99_ms),
            pattern.throttled.to_string(),
            pattern.request.clone(),
        ]
    })
}

/// Aligns lines below their column names: figures to the right, words to the left, nothing after
/// the last.
fn aligned(columns: &str, lines: &[Vec<String>]) -> String {
    let head: Vec<String> = columns.split(' ').map(ToOwned::to_owned).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(lines).collect();
    let shape: Vec<(usize, bool)> = (0..head.len()).map(|place| shape(&all, place)).collect();
    let mut out = String::new();
    for line in all {
        let cells = line.iter().zip(&shape).map(|(cell, (width, is_figure))| {
            let blanks = " ".repeat(width - Span::raw(cell).width());
            if *is_figure {
                format!("{blanks}{cell}")
            } else {
                format!("{cell}{blanks}")
            }
        });
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out
}

/// Returns the width of a column, and true if it holds figures.
fn shape(lines: &[&Vec<String>], place: usize) -> (usize, bool) {
    let cells = lines.iter().filter_map(|line| line.get(place));
    let width = cells
        .clone()
        .map(|cell| Span::raw(cell).width())
        .max()
        .unwrap_or(0);
    (
        width,
        cells
            .skip(1)
            .all(|cell| cell == NONE || cell.parse::<f64>().is_ok()),
    )
}

/// The text of a missing figure.
pub const NONE: &str = "-";

/// Formats units per second or milliseconds, with at least three digits.
pub fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Formats a figure that may be unknown.
pub fn rate_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), rate)
}

/// Formats a configured figure, a whole number.
pub fn configured(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
}

/// Formats bytes as `1.50 KiB`.
pub fn bytes(count: u64) -> String {
    BinaryBytes(count).to_string()
}

/// Eighths of a cell.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Draws a bar that fills `fraction` of `width` cells, in eighths: at most all of them, and at
/// least an eighth if `fraction` is above 0.
pub fn bar(fraction: f64, width: u16) -> String {
    let whole = f64::from(width) * 8.0;
    let least = if fraction > 0.0 { 1.0 } else { 0.0 };
    let wanted = (fraction * whole).max(least);
    // Counted up, as there is no exact conversion of a fraction.
    let eighths = (0..usize::from(width) * 8)
        .zip(1_u32..)
        .take_while(|(_, upper)| f64::from(*upper) <= wanted.round())
        .count();
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_bars_are_of_eighths() {
        let rates = [
            (0.0, "0"),
            (0.066, "0.07"),
            (9.5, "9.50"),
            (42.25, "42.2"),
            (999.6, "1000"),
            (12_345.0, "12345"),
        ];
        rates
            .iter()
            .for_each(|(value, expected)| assert_eq!(rate(*value), *expected));
        let bars = [
            (0.0, ""),
            (0.001, "▏"),
            (0.5, "██"),
            (0.53, "██▏"),
            (1.0, "████"),
            (7.0, "████"),
        ];
        bars.iter().for_each(|(fraction, expected)| {
            assert_eq!(bar(*fraction, 4), *expected, "{fraction}")
        });
    }
}

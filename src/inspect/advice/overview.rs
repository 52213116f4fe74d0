//! Advice on all tables together, the worst first: as Markdown, and as JSON for programs. Advice on
//! one index alone.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::format::{incomplete_note, subject};
use super::report::{with_subjects, write_levels};
use super::{Advice, AdviceLevel, TableFacts, advise};
use crate::codec::sanitize::{WORD_CHARS_MAX, markdown as word};
use crate::database::Browse;
use crate::model::{Error, IndexName, TableName};

/// The points of advice on a table, the worst first.
#[derive(Debug)]
pub struct TableAdvice {
    pub table: TableName,
    unfinished: Option<String>,
    points: Vec<Advice>,
}

impl TableAdvice {
    #[must_use]
    pub fn of(facts: &TableFacts) -> Self {
        Self {
            table: facts.name().clone(),
            unfinished: facts.unfinished.clone(),
            points: advise(facts),
        }
    }

    /// Returns the number of points of a level.
    #[must_use]
    pub fn count(&self, level: AdviceLevel) -> u64 {
        self.points
            .iter()
            .filter(|point| point.level == level)
            .count() as u64
    }
}

/// Returns the advice on every table, the worst table first.
///
/// # Errors
/// Errors of the database.
pub fn read_all(database: &dyn Browse) -> Result<Vec<TableAdvice>, Error> {
    let mut all = Vec::new();
    for table in database.table_names()? {
        match TableFacts::read(database, &table) {
            Ok(facts) => all.extend(facts.as_ref().map(TableAdvice::of)),
            // It was deleted meanwhile.
            Err(Error::ResourceNotFound | Error::TableNotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    all.sort_by(
        |one, other| match (one.points.first(), other.points.first()) {
            (Some(one), Some(other)) => one.compare(other),
            (one, other) => other.is_some().cmp(&one.is_some()),
        },
    );
    Ok(all)
}

/// Returns the points of all tables, the worst first, each with its table.
fn ranked(all: &[TableAdvice]) -> Vec<(&TableAdvice, &Advice)> {
    let mut points: Vec<_> = all
        .iter()
        .flat_map(|table| table.points.iter().map(move |point| (table, point)))
        .collect();
    points.sort_by(|(_, one), (_, other)| one.compare(other));
    points
}

/// Returns the report on all tables: how many points each has, then warnings and hints.
#[must_use]
pub fn all_markdown(all: &[TableAdvice]) -> String {
    let mut out = "# Advice for all tables\n\n`TABLE/advice.md` has notes and facts too.\n\n\
        | table | warnings | hints | notes |\n|---|--:|--:|--:|\n"
        .to_owned();
    for table in all {
        let [warnings, hints, notes] = [AdviceLevel::Warning, AdviceLevel::Hint, AdviceLevel::Note]
            .map(|level| table.count(level));
        // Writing to a string cannot fail.
        let name = &table.table;
        let whole = table.unfinished.as_ref().map_or("", |_| ", not whole");
        let _ = writeln!(out, "| {name}{whole} | {warnings} | {hints} | {notes} |");
    }
    let points = ranked(all)
        .into_iter()
        .filter(|(_, point)| point.level != AdviceLevel::Note)
        .map(|(TableAdvice { table, .. }, point)| {
            let subject = match &point.index {
                Some(index) => format!("{table}, index {index}"),
                None => subject(table, None),
            };
            (subject, point)
        })
        .collect::<Vec<_>>();
    write_levels(&mut out, &points);
    out
}

/// Returns the points of all tables as JSON, the worst first; docs/commands.md has the members.
#[must_use]
pub fn json(all: &[TableAdvice]) -> Value {
    let points: Vec<Value> = ranked(all)
        .into_iter()
        .map(|(table, point)| {
            json!({
                "table": table.table.as_str(),
                "index": point.index.as_ref().map(IndexName::as_str),
                "level": point.level.name(),
                "finding": point.finding,
                "cost": point.cost.json(),
                "rule": point.rule,
                "rules": point.rule_ids(),
                "remedy": point.remedy,
            })
        })
        .collect();
    let tables: Vec<Value> = all
        .iter()
        .map(|table| {
            json!({
                "table": table.table.as_str(),
                "unfinished": table.unfinished,
            })
        })
        .collect();
    json!({"tables": tables, "advice": points})
}

/// Returns what the report on a table says of one of its indexes.
#[must_use]
pub fn index_markdown(facts: &TableFacts, index: &IndexName) -> String {
    let table = facts.name();
    let all = advise(facts);
    let of_index = all
        .iter()
        .filter(|point| point.index.as_ref() == Some(index));
    let points = with_subjects(facts, of_index);
    let name = word(index.as_str(), WORD_CHARS_MAX);
    let mut out = format!(
        "# Advice for {table}, index {name}\n\n{}`{table}/advice.md` has the whole table.\n",
        incomplete_note(&facts.unfinished)
    );
    if points.is_empty() {
        out.push_str("\nNo rule finds a fault in this index or its load.\n");
    }
    write_levels(&mut out, &points);
    out
}

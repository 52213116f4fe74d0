//! The report of advice as Markdown: a summary, the points, and the facts behind them.

use std::fmt::Write as _;

use super::facts::WALKED_MAX;
use super::format::{bytes, distribution, incomplete_note, item_stem, names, subject};
use super::key_source::{KeySource, key_sources};
use super::{Advice, AdviceLevel, TableFacts, advise, cost, indexes, sizes};
use crate::codec::count::plural;
use crate::model::schema::BillingMode;

/// Returns the report: a summary, the points, and the facts behind them.
#[must_use]
pub fn markdown(facts: &TableFacts) -> String {
    let mut out = summary(facts);
    let all = advise(facts);
    if all.is_empty() {
        out.push_str("\nNothing to say: no rule finds a fault in this data or its load.\n");
    }
    write_levels(&mut out, &with_subjects(facts, &all));
    out.push_str("\n## Facts\n\n");
    fact_lines(facts)
        .iter()
        .for_each(|fact| out.push_str(&format!("- {fact}\n")));
    out
}

/// Returns points with what each is about.
pub(super) fn with_subjects<'a>(
    facts: &TableFacts,
    points: impl IntoIterator<Item = &'a Advice>,
) -> Vec<(String, &'a Advice)> {
    let about = |point: &'a Advice| (subject(facts.name(), point.index.as_ref()), point);
    points.into_iter().map(about).collect()
}

/// Appends points, each with what it is about, in a section for each level that has any.
pub(super) fn write_levels(out: &mut String, all: &[(String, &Advice)]) {
    for (level, title) in [
        (AdviceLevel::Warning, "Warnings"),
        (AdviceLevel::Hint, "Hints"),
        (AdviceLevel::Note, "Notes"),
    ] {
        let mut of_level = all
            .iter()
            .filter(|(_, advice)| advice.level == level)
            .peekable();
        if of_level.peek().is_some() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "\n## {title}");
            of_level.for_each(|(subject, advice)| write_advice(out, subject, advice));
        }
    }
    if !all.is_empty() {
        out.push_str("\n`.ddb/help/rules.md` of a mount has the rules by their names.\n");
    }
}

fn summary(facts: &TableFacts) -> String {
    let schema = &facts.description.schema;
    let stats = facts.table.stats;
    let mode = match (schema.billing_mode, schema.throughput) {
        (BillingMode::Provisioned, Some(units)) => {
            format!(
                "{} read and {} write units a second",
                units.read_capacity_units, units.write_capacity_units
            )
        }
        _ => "on-demand".to_owned(),
    };
    let mut out = format!(
        "# Advice for {}\n\n{}{}, {}, {} of {}, {}, {mode}.\n",
        schema.name,
        incomplete_note(&facts.unfinished),
        plural(stats.entries, "item"),
        plural(stats.bytes, "byte"),
        plural(stats.partition_keys, "value"),
        names([&schema.key.partition], ""),
        plural((facts.indexes.len() + facts.vectors.len()) as u64, "index")
    );
    if facts.sizes.distribution.count < stats.entries {
        let _ = writeln!(
            out,
            "It is judged by the first {WALKED_MAX} values and items in hash order."
        );
    }
    out
}

fn write_advice(out: &mut String, subject: &str, advice: &Advice) {
    let Advice {
        finding,
        cost,
        rule,
        remedy,
        ..
    } = advice;
    let _ = write!(out, "\n**{}.** {finding}\n\n", capitalized(subject));
    let cost = cost.text();
    if !cost.is_empty() {
        let _ = writeln!(out, "- Cost: {cost}");
    }
    let _ = writeln!(out, "- Rule: {rule}\n- Do: {remedy}");
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Returns the facts that apply to any table, good or bad.
fn fact_lines(facts: &TableFacts) -> Vec<String> {
    let schema = &facts.description.schema;
    let mut all: Vec<String> = key_sources(facts)
        .iter()
        .filter_map(|keyed| values(facts, keyed))
        .collect();
    let content = facts.indexes.iter().chain(&facts.vectors).map(|index| {
        format!(
            "Index {}: {}",
            index.schema.name,
            indexes::content(facts, index)
        )
    });
    all.extend(content);
    all.extend(indexes::write_cost(facts));
    all.extend(
        facts
            .growth
            .as_ref()
            .map(|found| sizes::fullest(facts, found)),
    );
    all.extend(cost::load(facts));
    all.extend(cost::bulk_loads(facts));
    if facts.table.stats.entries > 0 {
        all.push(format!(
            "`{}/heat.svg` has where the items lie, and what is asked of them.",
            schema.name
        ));
    }
    all.extend(item_sizes(facts));
    all
}

/// Returns the distribution of entries over the values of a key, and the largest; nothing for a key
/// with one entry each.
fn values(facts: &TableFacts, keyed: &KeySource<'_>) -> Option<String> {
    let of = &keyed.source.distribution;
    let has_groups = of.max() > 1;
    has_groups.then(|| {
        let words = distribution(of, "values", |entries| entries.to_string());
        format!(
            "{}, {}: {}; {words}. Most: {}.",
            capitalized(&subject(facts.name(), keyed.index_name())),
            keyed.key,
            plural(keyed.source.stats.partition_keys, "value"),
            keyed.top()
        )
    })
}

/// Returns the sizes of items.
fn item_sizes(facts: &TableFacts) -> Option<String> {
    let (size, key) = facts.sizes.largest.first()?;
    let stem = item_stem(facts.name(), key);
    let words = distribution(&facts.sizes.distribution, "items", bytes);
    let size = bytes(*size);
    Some(format!(
        "Items: {words}. The largest is `{stem}.json`, {size}."
    ))
}

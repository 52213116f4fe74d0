//! Advice as Markdown.

use std::fmt::Write as _;

use super::point::plural;
use super::{Advice, Facts, Level, advise};
use crate::model::schema::BillingMode;

/// The report: the facts in one paragraph, then the points.
#[must_use]
pub fn markdown(facts: &Facts) -> String {
    let mut out = summary(facts);
    let all = advise(facts);
    if all.is_empty() {
        out.push_str("\nNothing to say: no rule applies to this data.\n");
    }
    for (level, title) in [(Level::Warning, "Warnings"), (Level::Hint, "Hints"), (Level::Note, "Notes")] {
        let of_level: Vec<&Advice> = all.iter().filter(|advice| advice.level == level).collect();
        if !of_level.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "\n## {title}");
            of_level.into_iter().for_each(|advice| point(&mut out, advice));
        }
    }
    out
}

fn summary(facts: &Facts) -> String {
    let schema = &facts.description.schema;
    let stats = facts.table.stats;
    let mode = match (schema.billing_mode, schema.throughput) {
        (BillingMode::Provisioned, Some(units)) => {
            format!("{} read and {} write units a second", units.read_capacity_units, units.write_capacity_units)
        }
        _ => "on-demand".to_owned(),
    };
    let mut out = format!(
        "# Advice for {}\n\n{}, {}, {} of {}, {}, {mode}.\n",
        schema.name,
        plural(stats.entries, "item"),
        plural(stats.bytes, "byte"),
        plural(stats.partition_keys, "value"),
        schema.key.partition.name,
        plural(facts.indexes.len() as u64, "index")
    );
    let walked = facts.table.entries_walked;
    if walked < stats.entries {
        let _ = writeln!(out, "How values are spread is judged by {walked} items, the first in hash order.");
    }
    out
}

fn point(out: &mut String, Advice { subject, finding, rule, remedy, .. }: &Advice) {
    let _ = write!(out, "\n**{}.** {finding}\n\n- Rule: {rule}\n- Do: {remedy}\n", capitalized(subject));
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

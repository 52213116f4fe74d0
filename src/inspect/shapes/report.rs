//! The report of shapes: as Markdown, a table of the patterns and then each pattern with its
//! attributes; and as JSON with the fields in docs/paths.md.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::shape::{Attribute, TypeCounts};
use super::{PATTERNS_MAX, PathOf, Pattern, Shapes};
use crate::codec::calendar;
use crate::codec::count::plural;
use crate::codec::sanitize::{self, WORD_CHARS_MAX};
use crate::inspect::advice::incomplete_note;
use crate::model::limits::ENTRY_OVERHEAD_BYTES;

/// The attributes shown of a pattern, the most common ones; JSON has all that are known.
const ATTRIBUTES_SHOWN: usize = 40;

const LEGEND: &str = "\
A pattern is a key with `<n>` for digits, `<word>` for names that differ, `<text>` for those with spaces, `<id>` for letters and digits mixed, `<rest>` for
the end of a very long key, and `<date>`, `<uuid>`, `<email>` and their like; text without brackets is the same in all keys. Bytes are as billed,
100 more for each item; those of an attribute are name and value, the mean over the items that have it. Median and p99 are exact to 1/16.
";

/// Returns the report.
#[must_use]
pub fn markdown(shapes: &Shapes, path_of: PathOf) -> String {
    let mut out = format!(
        "# Shapes of {}\n\n{}{}\n\n",
        shapes.schema.name,
        incomplete_note(&shapes.unfinished),
        summary(shapes)
    );
    if shapes.patterns.is_empty() {
        return out;
    }
    out.push_str(LEGEND);
    overview(&mut out, shapes);
    for pattern in &shapes.patterns {
        details(&mut out, shapes, pattern, path_of);
    }
    out
}

fn summary(shapes: &Shapes) -> String {
    let (read, at) = (shapes.items_read, calendar::iso(shapes.made_ms));
    let of = if shapes.is_sample() {
        format!(
            "A sample of {} of {}, taken at {at} from everywhere in hash space",
            plural(read, "item"),
            shapes.stats.entries
        )
    } else {
        format!("{} as of {at}", plural(read, "item"))
    };
    let count = shapes.patterns.len();
    let coarse = if count == PATTERNS_MAX {
        "; similar ones were joined"
    } else {
        ""
    };
    format!("{of}: {}{coarse}.", plural(count as u64, "pattern"))
}

fn overview(out: &mut String, shapes: &Shapes) {
    let key = &shapes.schema.key;
    let sort = key
        .sort
        .as_ref()
        .map_or_else(String::new, |sort| format!(" {} |", in_cell(&sort.name)));
    let rule = if key.sort.is_some() { "---|" } else { "" };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\n| {} |{sort} items | % | bytes | min | median | p99 | max |",
        in_cell(&key.partition.name)
    );
    let _ = writeln!(out, "|---|{rule}--:|--:|--:|--:|--:|--:|--:|");
    for pattern in &shapes.patterns {
        let sizes = &pattern.shape.sizes;
        let sort = pattern
            .sort
            .as_ref()
            .map_or_else(String::new, |sort| format!(" {} |", code(sort)));
        let _ = writeln!(
            out,
            "| {} |{sort} {} | {} | {} | {} | {} | {} | {} |",
            code(&pattern.partition),
            sizes.count,
            share(sizes.count, shapes.items_read),
            sizes.bytes + sizes.count * ENTRY_OVERHEAD_BYTES,
            sizes.min,
            sizes.quantile(50),
            sizes.quantile(99),
            sizes.max
        );
    }
}

fn details(out: &mut String, shapes: &Shapes, pattern: &Pattern, path_of: PathOf) {
    let shape = &pattern.shape;
    let items = shape.sizes.count;
    let title: Vec<String> = std::iter::once(&pattern.partition)
        .chain(&pattern.sort)
        .map(|key| code(key))
        .collect();
    let _ = writeln!(
        out,
        "\n## {}\n\nSuch as `{}`",
        title.join(" "),
        path_of(&shape.example)
    );
    let entered = shapes
        .schema
        .indexes
        .iter()
        .zip(&shape.indexes)
        .filter(|(_, count)| **count > 0);
    let entered: Vec<String> = entered
        .map(|(index, count)| format!("{} {count} ({} %)", index.name, share(*count, items)))
        .collect();
    match (shapes.schema.indexes.is_empty(), entered.is_empty()) {
        (true, _) => {}
        (false, true) => out.push_str("\nIn no index.\n"),
        (false, false) => out.push_str(&format!("\nIn indexes: {}.\n", entered.join(", "))),
    }
    out.push_str(
        "\n| attribute | types | % of items | mean bytes | % of bytes |\n|---|---|--:|--:|--:|\n",
    );
    attributes(out, pattern, items);
}

fn attributes(out: &mut String, Pattern { shape, .. }: &Pattern, items: u64) {
    let mut all: Vec<(&str, &Attribute)> = shape.attributes.iter().collect();
    // Keys, which are in all items, stay the first; the sort keeps the order of equals.
    all.sort_by_key(|(_, attribute)| std::cmp::Reverse(attribute.types.total()));
    for (name, attribute) in all.iter().take(ATTRIBUTES_SHOWN) {
        let bytes = format!(
            "{} | {}",
            attribute.bytes / attribute.types.total().max(1),
            share(attribute.bytes, shape.sizes.bytes)
        );
        line(out, &in_cell(name), &attribute.types, items, &bytes);
        for (member, types) in attribute.members.iter() {
            line(
                out,
                &format!("{}.{}", in_cell(name), in_cell(member)),
                types,
                items,
                "|",
            );
        }
    }
    let more = all.len().saturating_sub(ATTRIBUTES_SHOWN);
    let others = if shape.attributes.has_more {
        ", and others"
    } else {
        ""
    };
    if more > 0 || !others.is_empty() {
        let _ = writeln!(out, "| and {more} more{others} | | | | |");
    }
}

fn line(out: &mut String, name: &str, types: &TypeCounts, items: u64, bytes: &str) {
    let counted = types.counted();
    let of_one = |(tag, count): &(&str, u64)| {
        if counted.len() == 1 {
            (*tag).to_owned()
        } else {
            format!("{tag} {count}")
        }
    };
    let types_text: Vec<String> = counted.iter().map(of_one).collect();
    let _ = writeln!(
        out,
        "| {name} | {} | {} | {bytes} |",
        types_text.join(", "),
        share(types.total(), items)
    );
}

/// Formats a share in percent; a share that is not empty is not shown as 0, and one that is not all
/// is not shown as 100.
fn share(part: u64, whole: u64) -> String {
    let percent = percent(part, whole);
    match () {
        () if part > 0 && percent < 0.1 => "< 0.1".to_owned(),
        () if part < whole && percent > 99.9 => "> 99.9".to_owned(),
        () => format!("{percent:.1}"),
    }
}

/// Returns a pattern as Markdown code.
fn code(text: &str) -> String {
    sanitize::code(text, WORD_CHARS_MAX)
}

/// Returns a name escaped for a table cell.
fn in_cell(text: &str) -> String {
    sanitize::markdown(text, WORD_CHARS_MAX)
}

/// Returns all shapes as JSON.
#[must_use]
pub fn json(shapes: &Shapes, path_of: PathOf) -> Value {
    let key = &shapes.schema.key;
    let patterns: Vec<Value> = shapes
        .patterns
        .iter()
        .map(|pattern| of_pattern(shapes, pattern, path_of))
        .collect();
    let mut out = json!({
        "table": shapes.schema.name.as_str(),
        "made": calendar::iso(shapes.made_ms),
        "items": shapes.stats.entries,
        "items_read": shapes.items_read,
        "sampled": shapes.is_sample(),
        "partition_key": key.partition.name,
        "sort_key": key.sort.as_ref().map(|sort| &sort.name),
        "patterns": patterns,
    });
    if let Some(lacking) = &shapes.unfinished {
        out["unfinished"] = json!(lacking);
    }
    out
}

/// Returns a part of a whole in percent, with one decimal.
#[must_use]
pub fn percent(part: u64, whole: u64) -> f64 {
    let thousandths = (u128::from(part) * 1000 + u128::from(whole) / 2)
        .checked_div(u128::from(whole))
        .unwrap_or(0);
    u32::try_from(thousandths).map_or(0.0, |thousandths| f64::from(thousandths) / 10.0)
}

fn of_pattern(shapes: &Shapes, pattern: &Pattern, path_of: PathOf) -> Value {
    let shape = &pattern.shape;
    let sizes = &shape.sizes;
    let names = shapes
        .schema
        .indexes
        .iter()
        .map(|index| index.name.to_string());
    let indexes: Map<String, Value> = names
        .zip(shape.indexes.iter().map(|count| json!(count)))
        .collect();
    let attributes = shape.attributes.iter().map(|(name, attribute)| {
        let members = attribute
            .members
            .iter()
            .map(|(name, types)| of_types(name, types, sizes.count));
        let mut out = of_types(name, &attribute.types, sizes.count);
        out["bytes"] = json!(attribute.bytes);
        out["percent_of_bytes"] = json!(percent(attribute.bytes, sizes.bytes));
        out["members"] = members.collect();
        out["more_members"] = json!(attribute.members.has_more);
        out
    });
    json!({
        "partition_key": pattern.partition,
        "sort_key": pattern.sort,
        "items": sizes.count,
        "percent": percent(sizes.count, shapes.items_read),
        "bytes": sizes.bytes,
        "billed_bytes": sizes.bytes + sizes.count * ENTRY_OVERHEAD_BYTES,
        "item_bytes": { "min": sizes.min, "median": sizes.quantile(50), "p99": sizes.quantile(99), "max": sizes.max },
        "indexes": indexes,
        "attributes": attributes.collect::<Vec<_>>(),
        "more_attributes": shape.attributes.has_more,
        "example": path_of(&shape.example),
    })
}

fn of_types(name: &str, types: &TypeCounts, items: u64) -> Value {
    let counts: Map<String, Value> = types
        .counted()
        .into_iter()
        .map(|(tag, count)| (tag.to_owned(), json!(count)))
        .collect();
    json!({ "name": name, "items": types.total(), "percent": percent(types.total(), items), "types": counts })
}

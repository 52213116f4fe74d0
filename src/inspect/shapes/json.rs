//! Shapes as JSON; docs/paths.md has the fields.

use serde_json::{Map, Value, json};

use super::attributes::Types;
use super::{PathOf, Pattern, Shapes};
use crate::codec::calendar;
use crate::model::limits::ENTRY_OVERHEAD_BYTES;

/// All that is known.
#[must_use]
pub fn json(shapes: &Shapes, path_of: PathOf) -> Value {
    let key = &shapes.schema.key;
    let patterns: Vec<Value> = shapes.patterns.iter().map(|pattern| of_pattern(shapes, pattern, path_of)).collect();
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

/// A part of a whole in percent, with one decimal.
#[must_use]
pub fn percent(part: u64, whole: u64) -> f64 {
    let thousandths = (u128::from(part) * 1000 + u128::from(whole) / 2).checked_div(u128::from(whole)).unwrap_or(0);
    u32::try_from(thousandths).map_or(0.0, |thousandths| f64::from(thousandths) / 10.0)
}

fn of_pattern(shapes: &Shapes, pattern: &Pattern, path_of: PathOf) -> Value {
    let shape = &pattern.shape;
    let sizes = &shape.sizes;
    let names = shapes.schema.indexes.iter().map(|index| index.name.to_string());
    let indexes: Map<String, Value> = names.zip(shape.indexes.iter().map(|count| json!(count))).collect();
    let attributes = shape.attributes.iter().map(|(name, attribute)| {
        let members = attribute.members.iter().map(|(name, types)| of_types(name, types, sizes.count));
        let mut out = of_types(name, &attribute.types, sizes.count);
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

fn of_types(name: &str, types: &Types, items: u64) -> Value {
    let counts: Map<String, Value> = types.counted().into_iter().map(|(tag, count)| (tag.to_owned(), json!(count))).collect();
    json!({ "name": name, "items": types.total(), "percent": percent(types.total(), items), "types": counts })
}

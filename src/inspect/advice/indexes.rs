//! Rules on indexes.

use super::facts::Facts;
use super::facts::IndexFacts;
use super::point::{Advice, Level, plural};
use crate::inspect::violations::table::cell;
use crate::model::limits::{ENTRY_OVERHEAD_BYTES, WRITE_UNIT_BYTES};
use crate::model::schema::BillingMode;
use crate::model::{IndexKind, Item, Projection};

/// The part of what an item collection may have, in percent, from which one should act; 8 GB (docs/requirements.md L-41).
const COLLECTION_PERCENT_WARNING: u64 = 80;
const COLLECTION_PERCENT_HINT: u64 = 10;
/// An index with fewer entries than this part of the items, in percent, is called sparse.
const SPARSE_PERCENT: u64 = 50;

fn subject(index: &IndexFacts) -> String {
    format!("index {}", index.schema.name)
}

fn write_units(bytes: u64) -> u64 {
    bytes.div_ceil(WRITE_UNIT_BYTES as u64).max(1)
}

pub fn write_capacity(facts: &Facts) -> Vec<Advice> {
    let schema = &facts.description.schema;
    let (BillingMode::Provisioned, Some(table)) = (schema.billing_mode, schema.throughput) else { return Vec::new() };
    let low = facts.indexes.iter().filter_map(|index| {
        let units = index.schema.throughput?.write_capacity_units;
        (units < table.write_capacity_units).then_some((index, units))
    });
    low.map(|(index, units)| Advice {
        level: Level::Warning,
        subject: subject(index),
        finding: format!("It has {units} write units a second, the table {}.", table.write_capacity_units),
        rule: "An index that cannot keep up throttles the writes of its table: give it at least the table's write units (G-45, G-46); while it is built 1.5 times, for suspected skew twice as many (M-26, M-27).",
        remedy: format!(
            "Set at least {} write units; {} to build it.",
            table.write_capacity_units,
            (table.write_capacity_units * 3).div_ceil(2)
        ),
    })
    .collect()
}

/// What the copies cost and what smaller ones would.
pub fn projection(facts: &Facts) -> Vec<Advice> {
    let mut all = Vec::new();
    for index in &facts.indexes {
        let (entries, bytes) = (index.source.stats.entries, index.source.mean_bytes());
        if entries == 0 || index.schema.projection == Projection::KeysOnly {
            continue;
        }
        let Some(keys_bytes) = keys_only_bytes(facts, index) else { continue };
        let (now, keys_only) = (write_units(bytes), write_units(keys_bytes));
        let saved = index.source.stats.bytes.saturating_sub(entries * keys_bytes);
        let units = if now > keys_only {
            format!("{} a change where KEYS_ONLY, {keys_bytes} bytes, takes {keys_only}", plural(now, "write unit"))
        } else {
            format!("{} a change, as many as KEYS_ONLY with its {keys_bytes} bytes", plural(now, "write unit"))
        };
        all.push(Advice {
            level: if now > keys_only { Level::Hint } else { Level::Note },
            subject: subject(index),
            finding: format!(
                "{} projected: an entry has {bytes} bytes on average and takes {units}. KEYS_ONLY would save {saved} of {} bytes.",
                projected(&index.schema.projection),
                index.source.stats.bytes + entries * ENTRY_OVERHEAD_BYTES
            ),
            rule: "Project only what the queries of the index return: a larger entry costs storage and write units at every change, a missing attribute costs a read of the table (G-19 to G-22, G-61, G-63).",
            remedy: if now > keys_only {
                "List the attributes that its queries read, and make the index anew with INCLUDE of these.".to_owned()
            } else {
                "Nothing, unless the storage matters.".to_owned()
            },
        });
    }
    all
}

fn projected(projection: &Projection) -> String {
    match projection {
        Projection::All => "All attributes are".to_owned(),
        Projection::Include(names) => format!("The keys and {} are", plural(names.len() as u64, "attribute")),
        Projection::KeysOnly => "The keys are".to_owned(),
    }
}

/// Mean bytes of the key attributes that an entry always has, over the sampled items that are in the index.
fn keys_only_bytes(facts: &Facts, index: &IndexFacts) -> Option<u64> {
    let schema = &facts.description.schema;
    let in_index = |item: &&Item| index.schema.attributes().all(|attribute| item.get(&attribute.name).is_some());
    let bytes = |item: &Item| -> usize {
        let is_key = |name: &str| schema.key.contains(name) || index.schema.attributes().any(|attribute| attribute.name == name);
        item.0.iter().filter(|(name, _)| is_key(name)).map(|(name, value)| name.len() + value.size()).sum()
    };
    let sizes: Vec<usize> = facts.sample.iter().filter(in_index).map(bytes).collect();
    (sizes.iter().sum::<usize>() as u64).checked_div(sizes.len() as u64)
}

pub fn empty_or_sparse(facts: &Facts) -> Vec<Advice> {
    let items = facts.table.stats.entries;
    let mut all = Vec::new();
    for index in &facts.indexes {
        let entries = index.source.stats.entries;
        if items == 0 || entries * 100 >= items * SPARSE_PERCENT {
            continue;
        }
        let names: Vec<&str> = index.schema.attributes().map(|attribute| attribute.name.as_str()).collect();
        all.push(Advice {
            level: if entries == 0 { Level::Hint } else { Level::Note },
            subject: subject(index),
            finding: format!("{entries} of {items} items are in it: the others lack {}.", names.join(" or ")),
            rule: "Only items that have all key attributes of an index are in it (G-13, G-14).",
            remedy: if entries == 0 {
                "Check the names of the key attributes, or drop the index.".to_owned()
            } else {
                "Nothing, if that is meant: a sparse index is a cheap list of the items that matter.".to_owned()
            },
        });
    }
    all
}

/// Collections of a table with local indexes cannot grow without end.
pub fn unbounded_collections(facts: &Facts) -> Vec<Advice> {
    let schema = &facts.description.schema;
    let locals: Vec<&IndexFacts> = facts.indexes.iter().filter(|index| index.schema.kind == IndexKind::Local).collect();
    let Some(largest) = facts.table.largest.iter().max_by_key(|collection| collection.bytes) else { return Vec::new() };
    if locals.is_empty() {
        return Vec::new();
    }
    let with_entries = |index: &&IndexFacts| {
        // The largest of the index are known, and no others: what it has of another collection counts as nothing.
        let same = index.source.largest.iter().find(|collection| collection.partition == largest.partition);
        same.map_or(0, |collection| collection.bytes + collection.entries * ENTRY_OVERHEAD_BYTES)
    };
    let bytes = largest.bytes + largest.entries * ENTRY_OVERHEAD_BYTES + locals.iter().map(with_entries).sum::<u64>();
    let percent = bytes * 100 / facts.collection_bytes_max.max(1);
    let level = match percent {
        COLLECTION_PERCENT_WARNING.. => Level::Warning,
        COLLECTION_PERCENT_HINT.. => Level::Hint,
        _ => Level::Note,
    };
    let value: Vec<String> = largest.partition.iter().map(cell).collect();
    vec![Advice {
        level,
        subject: format!("table {}", schema.name),
        finding: format!(
            "Its largest item collection, {:?}, has {} and {bytes} bytes with its {}: {percent} % of the {} that a collection may have.",
            value.join(" + "),
            plural(largest.entries, "item"),
            plural(locals.len() as u64, "local index"),
            size(facts.collection_bytes_max)
        ),
        rule: "With a local index an item collection stays in one partition and cannot pass 10 GB; warn at 8 GB (P-16, L-32, L-37, L-41, L-42).",
        remedy: "If a collection can grow without end, use a global index instead of a local one, or put a period of time into the partition key.".to_owned(),
    }]
}

/// Bytes, in GB where it is a number of them.
fn size(bytes: u64) -> String {
    const GB: u64 = 1 << 30;
    if bytes.is_multiple_of(GB) { format!("{} GB", bytes / GB) } else { plural(bytes, "byte") }
}

/// What one write of a mean item costs, arm by arm; an index costs nothing where the item does not enter it.
pub fn write_cost(facts: &Facts) -> Vec<Advice> {
    if facts.indexes.is_empty() || facts.table.stats.entries == 0 {
        return Vec::new();
    }
    let table = write_units(facts.table.mean_bytes());
    let items = facts.table.stats.entries;
    let filled = facts.indexes.iter().filter(|index| index.source.stats.entries > 0);
    let (whole, sparse): (Vec<_>, Vec<_>) = filled.partition(|index| index.source.stats.entries >= items);
    let units = |index: &IndexFacts| write_units(index.source.mean_bytes());
    let total = table + whole.iter().copied().map(units).sum::<u64>();
    let arms = whole.iter().map(|index| format!(", {} {}", index.schema.name, units(index)));
    let share = |index: &IndexFacts| (index.source.stats.entries * 100 / items).max(1);
    let more = sparse.iter().map(|index| {
        format!("; {} more where it enters {}, as {} % of the items do", units(index), index.schema.name, share(index))
    });
    vec![Advice {
        level: Level::Note,
        subject: format!("table {}", facts.description.schema.name),
        finding: format!(
            "A new item of mean size costs {}: table {table}{}.",
            plural(total, "write unit"),
            arms.chain(more).collect::<String>()
        ),
        rule: "A write costs the table's units and those of each index it touches; a change of an index key costs the index twice (G-36, G-52, G-55 to G-59).",
        remedy: "Drop indexes that no query uses.".to_owned(),
    }]
}

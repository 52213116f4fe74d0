//! Rules of advice on indexes: write capacity, projection, empty indexes, violations. Each rule is
//! a function from [`TableFacts`] to a list of [`Advice`].

use super::facts::{IndexFacts, TableFacts};
use super::format::{Advice, AdviceLevel};
use super::format::{bytes, item_stem, names, percent};
use crate::codec::count::plural;
use crate::codec::sanitize::{WORD_CHARS_MAX, markdown};
use crate::database::EntryKey;
use crate::model::api::tables::AbsentReason;
use crate::model::limits::{ENTRY_OVERHEAD_BYTES, WRITE_UNIT_BYTES};
use crate::model::schema::BillingMode;
use crate::model::{IndexKind, Item, Key, Projection};

/// The part of the items, in percent, below which an index is called sparse.
const SPARSE_PERCENT: u64 = 50;

/// Returns the index's path relative to the mount.
fn path(facts: &TableFacts, index: &IndexFacts) -> String {
    let kind = if index.schema.kind == IndexKind::Global {
        "gsi"
    } else {
        "lsi"
    };
    format!("{}/{kind}/{}", facts.name(), index.schema.name)
}

fn write_units(bytes: u64) -> u64 {
    bytes.div_ceil(WRITE_UNIT_BYTES as u64).max(1)
}

fn key_names(index: &IndexFacts) -> String {
    names(index.schema.attributes(), " or ")
}

pub fn write_capacity(facts: &TableFacts) -> Vec<Advice> {
    let schema = &facts.description.schema;
    let (BillingMode::Provisioned, Some(table)) = (schema.billing_mode, schema.throughput) else {
        return Vec::new();
    };
    let low = facts.indexes.iter().filter_map(|index| {
        let units = index.schema.throughput?.write_capacity_units;
        (units < table.write_capacity_units).then_some((index, units))
    });
    low.map(|(index, units)| Advice {
        level: AdviceLevel::Warning,
        subject: facts.subject(Some(&index.schema.name)),
        finding: format!("It has {units} write units a second, the table {}.", table.write_capacity_units),
        rule: "An index that cannot keep up throttles the writes of its table: give it at least the table's write units (G-45, G-46); while it is built 1.5 times, for suspected skew twice as many (M-26, M-27).",
        remedy: format!(
            "Set at least {} write units in `{}/schema.json`; {} to build it.",
            table.write_capacity_units,
            schema.name,
            (table.write_capacity_units * 3).div_ceil(2)
        ),
    })
    .collect()
}

/// Reports the cost of the projected copies, and the saving of smaller ones.
pub fn projection(facts: &TableFacts) -> Vec<Advice> {
    let mut all = Vec::new();
    for index in &facts.indexes {
        let (entries, entry_bytes) = (index.source.stats.entries, index.source.mean_bytes());
        if entries == 0 || index.schema.projection == Projection::KeysOnly {
            continue;
        }
        let Some(keys_bytes) = keys_only_bytes(facts, index) else {
            continue;
        };
        let (now, keys_only) = (write_units(entry_bytes), write_units(keys_bytes));
        if now == keys_only {
            continue;
        }
        all.push(Advice {
            level: AdviceLevel::Hint,
            subject: facts.subject(Some(&index.schema.name)),
            finding: format!(
                "{} projected: an entry has {entry_bytes} bytes on average and takes {} a change where KEYS_ONLY, {keys_bytes} bytes, takes {keys_only}. KEYS_ONLY would save {} of {} bytes.",
                projected(&index.schema.projection),
                plural(now, "write unit"),
                index.source.stats.bytes.saturating_sub(entries * keys_bytes),
                index.source.stats.bytes + entries * ENTRY_OVERHEAD_BYTES
            ),
            rule: "Project only what the queries of the index return: a larger entry costs storage and write units at every change, a missing attribute costs a read of the table (G-19 to G-22, G-61, G-63).",
            remedy: format!(
                "List the attributes that its queries read, and make a second index with these alone (`gsi NAME key:S include=a,b` into `{}/ctl`; write the definition to `{0}/schema.plan` first to see what it costs); then `rmdir {}`.",
                facts.name(),
                path(facts, index)
            ),
        });
    }
    all
}

fn projected(projection: &Projection) -> String {
    match projection {
        Projection::All => "All attributes are".to_owned(),
        Projection::Include(names) => format!(
            "The keys and {} are",
            plural(names.len() as u64, "attribute")
        ),
        Projection::KeysOnly => "The keys are".to_owned(),
    }
}

/// Returns the mean bytes of the key attributes that an entry always has, over the sampled items
/// that are in the index.
fn keys_only_bytes(facts: &TableFacts, index: &IndexFacts) -> Option<u64> {
    let schema = &facts.description.schema;
    let in_index = |item: &&Item| {
        index
            .schema
            .attributes()
            .all(|attribute| item.get(&attribute.name).is_some())
    };
    let bytes = |item: &Item| -> usize {
        let is_key = |name: &str| {
            schema.key.contains(name)
                || index
                    .schema
                    .attributes()
                    .any(|attribute| attribute.name == name)
        };
        item.0
            .iter()
            .filter(|(name, _)| is_key(name))
            .map(|(name, value)| name.len() + value.size())
            .sum()
    };
    let sizes: Vec<usize> = facts.sample.iter().filter(in_index).map(bytes).collect();
    (sizes.iter().sum::<usize>() as u64).checked_div(sizes.len() as u64)
}

/// Reports indexes without entries. A sparse index is a cheap list; an empty one is a mistake,
/// unless values keep the items out.
pub fn empty(facts: &TableFacts) -> Vec<Advice> {
    let items = facts.table.stats.entries;
    let is_empty =
        |index: &&IndexFacts| items > 0 && index.source.stats.entries == 0 && index.violations == 0;
    let empty = facts.indexes.iter().filter(is_empty);
    empty
        .map(|index| Advice {
            level: AdviceLevel::Hint,
            subject: facts.subject(Some(&index.schema.name)),
            finding: format!("0 of {} are in it: all of them lack {}.", plural(items, "item"), key_names(index)),
            rule: "Only items that have all key attributes of an index are in it (G-13, G-14).",
            remedy: format!(
                "Check the names of the key attributes (`{0}/missing.ndjson` says what each item lacks), or drop the index: `rmdir {0}`.",
                path(facts, index)
            ),
        })
        .collect()
}

/// Reports items that an index leaves out because of a value.
pub fn violations(facts: &TableFacts) -> Vec<Advice> {
    let mut all = Vec::new();
    for index in facts.indexes.iter().filter(|index| index.violations > 0) {
        let example = index
            .violation
            .as_ref()
            .and_then(|absence| match &absence.reason {
                AbsentReason::InvalidKey(violation) => {
                    Some((item_path(facts, &absence.key), violation))
                }
                AbsentReason::Lacks(_) | AbsentReason::Pending => None,
            });
        let example = example.map_or_else(String::new, |(path, violation)| {
            format!(
                ", `{path}` for one: its {} is {} where {} is expected",
                markdown(&violation.attribute, WORD_CHARS_MAX),
                violation.found,
                violation.expected
            )
        });
        all.push(Advice {
            level: AdviceLevel::Warning,
            subject: facts.subject(Some(&index.schema.name)),
            finding: format!("{} kept out of it by a value that cannot be its key{example}.", are(index.violations)),
            rule: "No query of the index finds an item with a value of another type, too long or empty, and the next write of such an item is refused (M-16, M-19, M-20, G-34).",
            remedy: format!(
                "`{}/violations.ndjson` lists them; `ddbfs violations {} {}` writes a table to fill in, and with --correct update mends them (M-21).",
                path(facts, index),
                facts.name(),
                index.schema.name
            ),
        });
    }
    all
}

fn are(items: u64) -> String {
    format!(
        "{} {}",
        plural(items, "item"),
        if items == 1 { "is" } else { "are" }
    )
}

fn item_path(facts: &TableFacts, key: &Key) -> String {
    let table = facts.name();
    format!(
        "{}.json",
        item_stem(
            table,
            &EntryKey {
                index: None,
                base: key.clone()
            }
        )
    )
}

/// Returns the cost of a new item of mean size for the table and each index; an index costs nothing
/// if the item does not enter it.
pub fn write_cost(facts: &TableFacts) -> Option<String> {
    let items = facts.table.stats.entries;
    if facts.indexes.is_empty() || items == 0 {
        return None;
    }
    let table = write_units(facts.table.mean_bytes());
    let filled = facts
        .indexes
        .iter()
        .filter(|index| index.source.stats.entries > 0);
    let (whole, sparse): (Vec<_>, Vec<_>) =
        filled.partition(|index| index.source.stats.entries >= items);
    let units = |index: &IndexFacts| write_units(index.source.mean_bytes());
    let total = table + whole.iter().copied().map(units).sum::<u64>();
    let arms = whole
        .iter()
        .map(|index| format!(", {} {}", index.schema.name, units(index)));
    let more = sparse.iter().map(|index| {
        let share = percent(index.source.stats.entries as f64, items as f64);
        format!(
            "; {} more where it enters {}, as {share} of the items do",
            units(index),
            index.schema.name
        )
    });
    Some(format!(
        "A new item of mean size costs {}: table {table}{}.",
        plural(total, "write unit"),
        arms.chain(more).collect::<String>()
    ))
}

fn is_sparse(facts: &TableFacts, index: &IndexFacts) -> bool {
    index.source.stats.entries * 100 < facts.table.stats.entries * SPARSE_PERCENT
}

/// Returns the content of an index, as a fact.
pub fn content(facts: &TableFacts, index: &IndexFacts) -> String {
    let (entries, items) = (index.source.stats.entries, facts.table.stats.entries);
    let sparse = match is_sparse(facts, index) {
        true if entries > 0 => ", a sparse index, cheap to read whole",
        _ => "",
    };
    let size = bytes(index.source.stats.bytes + entries * ENTRY_OVERHEAD_BYTES);
    format!(
        "{entries} of {} are in it{sparse}; {size} with the overhead of each entry, {} on average.",
        plural(items, "item"),
        bytes(index.source.mean_bytes())
    )
}

//! Rules of advice on indexes: write capacity, projection, empty indexes, violations. Each rule is
//! a function from [`TableFacts`] to a list of [`Advice`].

use super::facts::{IndexFacts, TableFacts};
use super::format::{Advice, AdviceCost, AdviceLevel};
use super::format::{bytes, item_stem, names, percent};
use super::load::{Access, month_of_daily};
use crate::codec::count::plural;
use crate::codec::sanitize::{WORD_CHARS_MAX, markdown};
use crate::database::EntryKey;
use crate::model::api::tables::AbsentReason;
use crate::model::limits::WRITE_UNIT_BYTES;
use crate::model::schema::BillingMode;
use crate::model::{IndexKind, Item, Key, Projection};

/// The part of the items, in percent, below which an index is called sparse.
const SPARSE_PERCENT: u64 = 50;

/// Returns the index's path relative to the mount.
pub fn path(facts: &TableFacts, index: &IndexFacts) -> String {
    let kind = index.schema.kind.name();
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
        let needed = needed_units(facts, index, table.write_capacity_units);
        (units < needed).then_some((index, units, needed))
    });
    low.map(|(index, units, needed)| Advice {
        level: AdviceLevel::Warning,
        index: Some(index.schema.name.clone()),
        finding: format!(
            "It has {units} write units a second, the table {}. If the table uses all of them, the index needs {needed}.",
            table.write_capacity_units
        ),
        cost: AdviceCost::default(),
        rule: "An index that cannot keep up throttles the writes of its table (G-45, G-46). While it is built it needs 1.5 times as much, with uneven keys twice as much (M-26, M-27).",
        remedy: format!(
            "Set at least {needed} write units in `{}/schema.json`; {} to build it.",
            schema.name,
            (needed * 3).div_ceil(2)
        ),
    })
    .collect()
}

/// Returns the write units a second that the index needs when its table uses all of its own: those
/// of the items that are in it, by the sizes of item and entry.
fn needed_units(facts: &TableFacts, index: &IndexFacts, table_units: u64) -> u64 {
    let (items, entries) = (facts.table.stats.entries, index.source.stats.entries);
    if items == 0 || entries == 0 {
        return table_units;
    }
    let of_entries =
        u128::from(entries.min(items)) * u128::from(write_units(index.source.mean_bytes()));
    let of_items = u128::from(items) * u128::from(write_units(facts.table.mean_bytes()));
    u64::try_from((u128::from(table_units) * of_entries).div_ceil(of_items)).unwrap_or(table_units)
}

/// The remedy for a local index.
pub const LOCAL_STAYS: &str = "A local index is made and deleted with its table only (L-08). Define it otherwise, or not at all, when the table is made anew.";

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
        let saved = index
            .source
            .stats
            .bytes
            .saturating_sub(entries * keys_bytes);
        all.push(Advice {
            level: AdviceLevel::Hint,
            index: Some(index.schema.name.clone()),
            finding: format!(
                "{} projected. An entry has {entry_bytes} bytes on average, and a change of it takes {}. With KEYS_ONLY it has {keys_bytes} bytes and takes {keys_only}. KEYS_ONLY would save {saved} of {} bytes.",
                projected(&index.schema.projection),
                plural(now, "write unit"),
                index.billed_bytes()
            ),
            cost: projection_cost(facts, index, saved, (now - keys_only) as f64 / now as f64),
            rule: "Project only what the queries of the index return. A larger entry costs storage, and write units at every change; a missing attribute costs a read of the table (G-19 to G-22, G-61, G-63).",
            remedy: projection_remedy(facts, index),
        });
    }
    all
}

/// Returns the bytes and a day's write units that KEYS_ONLY would save.
fn projection_cost(
    facts: &TableFacts,
    index: &IndexFacts,
    saved_bytes: u64,
    saved_part: f64,
) -> AdviceCost {
    let cost = AdviceCost::default().bytes(saved_bytes);
    let traffic = facts.traffic.as_ref();
    let Some((traffic, of)) =
        traffic.and_then(|all| Some((all, all.source(Some(&index.schema.name))?)))
    else {
        return cost;
    };
    let saved = of.day.write.sum * saved_part;
    let money = traffic.prices.month_of_bytes(saved_bytes as f64)
        + month_of_daily(traffic, traffic.billing(of), Access::Write, saved);
    cost.units(saved, "write")
        .money(money, &traffic.prices.currency)
}

fn projection_remedy(facts: &TableFacts, index: &IndexFacts) -> String {
    if index.schema.kind == IndexKind::Local {
        return format!("List the attributes that its queries read. {LOCAL_STAYS}");
    }
    format!(
        "List the attributes that its queries read. Make a second index with these alone, a and b here: `gsi {} include=a,b` into `{}/ctl`. A definition written to `{1}/schema.plan` tells its cost before. When queries use the new one: `rmdir {}`.",
        second_index(index),
        facts.name(),
        path(facts, index)
    )
}

/// Returns the words of a second index with the same key, as `ctl` takes them.
fn second_index(index: &IndexFacts) -> String {
    let schema = &index.schema;
    let is_word = |name: &str| {
        name.chars()
            .all(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
    };
    if schema.partition.len() > 1 || !schema.attributes().all(|key| is_word(&key.name)) {
        return "NAME key:S".to_owned();
    }
    let keys = schema.attributes();
    let keys = keys.map(|key| format!(" {}:{:?}", key.name, key.attribute_type));
    format!("{}-2{}", schema.name, keys.collect::<String>())
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
            index: Some(index.schema.name.clone()),
            finding: format!("0 of {} are in it: all of them lack {}.", plural(items, "item"), key_names(index)),
            cost: AdviceCost::default(),
            rule: "Only items that have all key attributes of an index are in it (G-13, G-14).",
            remedy: match index.schema.kind {
                IndexKind::Global | IndexKind::Vector => format!(
                    "Check the names of the key attributes. `{0}/missing.ndjson` tells what each item lacks. If none should be in it: `rmdir {0}`.",
                    path(facts, index)
                ),
                IndexKind::Local => format!("Check the names of the key attributes. {LOCAL_STAYS}"),
            },
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
            index: Some(index.schema.name.clone()),
            finding: format!("{} kept out of it by a value that cannot be its key{example}.", are(index.violations)),
            cost: AdviceCost::default(),
            rule: "No query of the index finds an item with a value of another type, too long or empty, and the next write of such an item is refused (M-16, M-19, M-20, G-34).",
            remedy: format!(
                "`{}/violations.ndjson` lists them. `ddbfs violations {} {}` writes a table to fill in; with --correct update it mends the items (M-21).",
                path(facts, index),
                facts.name(),
                index.schema.name
            ),
        });
    }
    all
}

pub fn are(items: u64) -> String {
    format!(
        "{} {}",
        plural(items, "item"),
        if items == 1 { "is" } else { "are" }
    )
}

fn item_path(facts: &TableFacts, key: &Key) -> String {
    let table = facts.name();
    format!("{}.json", item_stem(table, &EntryKey::from(key.clone())))
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
            "; {} more for the {share} of the items that are in {}",
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

pub fn is_sparse(facts: &TableFacts, index: &IndexFacts) -> bool {
    index.source.stats.entries * 100 < facts.table.stats.entries * SPARSE_PERCENT
}

/// Returns the content of an index, as a fact.
pub fn content(facts: &TableFacts, index: &IndexFacts) -> String {
    let (entries, items) = (index.source.stats.entries, facts.table.stats.entries);
    let sparse = match is_sparse(facts, index) {
        true if entries > 0 => ", a sparse index, cheap to read whole",
        _ => "",
    };
    let size = bytes(index.billed_bytes());
    format!(
        "{entries} of {} are in it{sparse}; {size} with the overhead of each entry, {} on average.",
        plural(items, "item"),
        bytes(index.source.mean_bytes())
    )
}

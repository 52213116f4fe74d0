//! Rules of advice on vector indexes: without most of the items, of other dimensions than the table's
//! vectors.

use std::collections::BTreeMap;

use super::facts::{IndexFacts, TableFacts};
use super::format::{Advice, AdviceCost, AdviceLevel, percent};
use super::indexes::{are, is_sparse, path};
use crate::codec::count::plural;
use crate::codec::sanitize::{WORD_CHARS_MAX, markdown};
use crate::model::{AttributeValue, schema::VectorAttribute};

/// Reports indexes that most items are not in. That is a fault only where all should be.
pub fn sparse(facts: &TableFacts) -> Vec<Advice> {
    let items = facts.table.stats.entries;
    // Values that the index cannot hold have a rule of their own.
    let is_lacking = |index: &&IndexFacts| is_sparse(facts, index) && index.violations < items / 2;
    let sparse = facts.vectors.iter().filter(is_lacking).map(|index| {
        let entries = index.source.stats.entries;
        let names: Vec<&str> = index.schema.required_names().collect();
        Advice {
            level: match entries {
                0 => AdviceLevel::Hint,
                _ => AdviceLevel::Note,
            },
            index: Some(index.schema.name.clone()),
            finding: format!(
                "{entries} of {} are in it; most lack {}.",
                plural(items, "item"),
                markdown(&names.join(" or "), WORD_CHARS_MAX)
            ),
            cost: AdviceCost::default().unfound(items - entries),
            rule: "A search finds only items that have the vector and the HASH attribute of the index (G-13, G-14).",
            remedy: format!(
                "`{0}/missing.ndjson` tells what each item lacks. If the others are of another kind, nothing is wrong. If none should be in it: `rmdir {0}`.",
                path(facts, index)
            ),
        }
    });
    sparse.collect()
}

/// Reports indexes that leave items out because of a value: by the usual length of the vectors if it
/// is not that of the index.
pub fn misfits(facts: &TableFacts) -> Vec<Advice> {
    let misfits = facts.vectors.iter().filter_map(|index| {
        let vector = index.schema.vector.as_ref()?;
        let (path, left_out) = (path(facts, index), are(index.violations));
        let (finding, remedy) = match usual_length(facts, vector) {
            _ if index.violations == 0 => return None,
            Some(usual) if usual.elements as u64 != vector.dimensions => (
                format!(
                    "It has {}, and {} of the vectors in a sample have {}: {left_out} kept out of it.",
                    plural(vector.dimensions, "dimension"),
                    percent(usual.vectors as f64, usual.of as f64),
                    usual.elements
                ),
                format!(
                    "`rmdir {path}`, and when it is gone `mkdir {path}` and write `{path}/schema.json` with {} Dimensions. The definition in `{}/schema.plan` tells the size before.",
                    usual.elements,
                    facts.name()
                ),
            ),
            _ => (
                format!("{left_out} kept out of it by a value that it cannot hold."),
                format!(
                    "`{path}/violations.ndjson` has each with the value that is expected; write the items so."
                ),
            ),
        };
        Some(Advice {
            level: AdviceLevel::Warning,
            index: Some(index.schema.name.clone()),
            finding,
            cost: AdviceCost::default().unfound(index.violations),
            rule: "No search finds an item with a vector of another length or type, and the next write of such an item is refused (M-16, M-19).",
            remedy,
        })
    });
    misfits.collect()
}

/// The most frequent length of a list, over the sampled items.
struct UsualLength {
    elements: usize,
    vectors: usize,
    of: usize,
}

fn usual_length(facts: &TableFacts, vector: &VectorAttribute) -> Option<UsualLength> {
    let mut lengths = BTreeMap::<usize, usize>::new();
    for item in &facts.sample {
        if let Some(AttributeValue::L(list)) = item.get(&vector.name) {
            *lengths.entry(list.len()).or_default() += 1;
        }
    }
    let of = lengths.values().sum();
    let (elements, vectors) = lengths.into_iter().max_by_key(|(_, count)| *count)?;
    Some(UsualLength {
        elements,
        vectors,
        of,
    })
}

//! Items that are kept out of an index by a value that cannot be its key: of another type, empty,
//! too large (docs/requirements.md M-19).
//!
//! Only an index that UpdateTable made can have violations, in items older than the index; writes
//! of such values are refused from its definition on. The places of these items are on a list of
//! the index; the reason is read from the item.

use crate::codec::count::plural;
use crate::engine::{
    base::{
        counters::CounterDelta,
        item_key::{self, key_bytes},
    },
    catalog::IndexLife,
    index::{IndexView, KeyFault, VectorFault, is_kept_out, search_bytes_max},
    runtime::prelude::*,
};
use crate::model::KeyAttribute;
use crate::model::api::tables::{AbsentEntry, AbsentReason, KeyViolation};

/// True if a value keeps an item out of the index. A missing key attribute is no violation.
#[must_use]
pub fn violates(index: &IndexSchema, item: &Item) -> bool {
    is_kept_out(index, item)
}

/// Updates the violation lists of a table's indexes after a change of the item at `place`.
pub fn maintain(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    place: &[u8],
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<(), StoreError> {
    for (index, list) in violation_lists(&table.index_life, table) {
        let is_kept_out = |item: Option<&Item>| item.is_some_and(|item| violates(index, item));
        // Both images are looked at: a put of the same bad value keeps the place listed, a put of a
        // good one or a delete removes it.
        if is_kept_out(new) {
            add(transaction, list, place)?;
        } else if is_kept_out(old) {
            remove(transaction, list, place)?;
        }
    }
    Ok(())
}

/// Returns the indexes that have a violation list, with the list.
fn violation_lists<'t>(
    life: &'t IndexLife,
    table: &'t TableEntry,
) -> impl Iterator<Item = (&'t IndexSchema, SourceId)> {
    let with_list = |name: &String| table.schema.index(name);
    life.made
        .iter()
        .filter_map(move |(name, made)| Some((with_list(name)?, made.violations)))
}

/// Puts an item on a list.
pub fn add(
    transaction: &mut Transaction<'_>,
    list: SourceId,
    place: &[u8],
) -> Result<(), StoreError> {
    let key = StoreKey::Violation(list, place).encode();
    // A write may list an item before the backfill does: it is counted once.
    if transaction.batch.get(&key)?.is_some() {
        return Ok(());
    }
    transaction.batch.put(&key, &[])?;
    transaction.shared.batch.add_counters(
        list,
        CounterDelta {
            entries: 1,
            ..CounterDelta::default()
        },
    );
    Ok(())
}

fn remove(
    transaction: &mut Transaction<'_>,
    list: SourceId,
    place: &[u8],
) -> Result<(), StoreError> {
    if transaction
        .batch
        .delete(&StoreKey::Violation(list, place).encode())?
    {
        transaction.shared.batch.add_counters(
            list,
            CounterDelta {
                entries: -1,
                ..CounterDelta::default()
            },
        );
    }
    Ok(())
}

// The items without an entry in an index and the reason: the items of the table compared with the
// index.

/// A callback for each absent item, in the order of the table.
pub type VisitAbsence<'v> = dyn FnMut(AbsentEntry) -> ControlFlow<()> + 'v;

/// Visits the items on an index's list of violations.
pub fn each_listed(
    view: &ReadView<'_>,
    table: &TableEntry,
    index: &IndexSchema,
    visit: &mut VisitAbsence<'_>,
) -> Result<(), StoreError> {
    let Some(made) = table.index_life.made.get(index.name.as_str()) else {
        return Ok(());
    };
    try_walk(
        view.read(),
        &Space::Violation.range(made.violations),
        Direction::Forward,
        |key, _| {
            // The list has only places: the item itself says which value is wrong, and in which
            // way.
            let place = Space::Entry.key(table.source, keys::place_in_source(key));
            let Some(bytes) = view.read().get(&place)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let (item, key) = item_of(view.read(), table, &place, bytes)?;
            Ok(match violation(index, &item) {
                Some(violation) => visit(AbsentEntry {
                    key,
                    reason: AbsentReason::InvalidKey(violation),
                }),
                None => ControlFlow::Continue(()),
            })
        },
    )
}

/// Returns the item of a stored record, and its primary key.
fn item_of(
    read: &dyn Read,
    table: &TableEntry,
    key: &[u8],
    bytes: &[u8],
) -> Result<(Item, Key), StoreError> {
    let parse = || {
        let item = Record::parse(bytes)?.to_item()?;
        let key = item_key::key_of_stored(&table.schema.key, &item)?;
        Ok((item, key))
    };
    parse().map_err(|error| locate(read, key, error))
}

/// Visits every item that has no entry.
pub fn each_missing(
    view: &ReadView<'_>,
    table: &TableEntry,
    index: &IndexView<'_>,
    visit: &mut VisitAbsence<'_>,
) -> Result<(), StoreError> {
    try_walk(
        view.read(),
        &Space::Entry.range(table.source),
        Direction::Forward,
        |key, bytes| {
            let (item, key) = item_of(view.read(), table, key, bytes)?;
            let reason = match index.entry_with_key(&item, &key) {
                Some(entry) if view.entry(&entry.address)?.is_some() => {
                    return Ok(ControlFlow::Continue(()));
                }
                Some(_) => AbsentReason::Pending,
                None => reason(index.index, &item),
            };
            Ok(visit(AbsentEntry { key, reason }))
        },
    )
}

/// Returns the reason why an item can have no entry.
fn reason(index: &IndexSchema, item: &Item) -> AbsentReason {
    match violation(index, item) {
        Some(violation) => AbsentReason::InvalidKey(violation),
        None => {
            let lacks = index
                .required_names()
                .filter(|name| item.get(name).is_none());
            AbsentReason::Lacks(lacks.map(str::to_owned).collect())
        }
    }
}

/// Returns the first value that cannot be a key of the index.
#[must_use]
pub fn violation(index: &IndexSchema, item: &Item) -> Option<KeyViolation> {
    if index.vector.is_some() {
        return vector_violation(index, item);
    }
    let KeyFault {
        attribute,
        value,
        bytes_max,
        ..
    } = KeyFault::of(index, item)?;
    Some(key_violation(attribute, value, bytes_max))
}

fn key_violation(
    attribute: &KeyAttribute,
    value: &AttributeValue,
    bytes_max: usize,
) -> KeyViolation {
    let (expected, found) = (
        attribute.attribute_type.as_attribute_type().tag(),
        value.attribute_type().tag(),
    );
    // The right type: then the length is wrong, so the texts give lengths instead of types.
    let (expected, found) = match expected == found {
        true => (
            format!("{expected} of 1 to {bytes_max} bytes"),
            format!("{found} of {} bytes", key_bytes(value)),
        ),
        false => (expected.to_owned(), found.to_owned()),
    };
    KeyViolation {
        attribute: attribute.name.clone(),
        expected,
        found,
    }
}

fn vector_violation(index: &IndexSchema, item: &Item) -> Option<KeyViolation> {
    let vector = index.vector.as_ref()?;
    let found = match VectorFault::of(index, item, |_| true)? {
        VectorFault::NotList(kind) => kind.tag().to_owned(),
        VectorFault::Size(elements) => format!("L of {}", plural(elements as u64, "element")),
        VectorFault::Element(place, AttributeValue::N(number)) => {
            format!("{} at [{place}]", number.scientific())
        }
        VectorFault::Element(place, value) => {
            format!("{} at [{place}]", value.attribute_type().tag())
        }
        VectorFault::Schema(attribute, role, value) => {
            return Some(key_violation(attribute, value, search_bytes_max(role)));
        }
    };
    let expected = plural(vector.dimensions, "32-bit number");
    Some(KeyViolation {
        attribute: vector.name.clone(),
        expected: format!("L of {expected}"),
        found,
    })
}

#[cfg(test)]
mod absence_tests {
    use super::*;
    use crate::engine::index::check_index_keys;
    use crate::model::schema::{IndexKind, KeyAttributeType, Projection};
    use crate::model::{AttributeValue, IndexName, KeyAttribute};

    #[test]
    fn table_of_violations() {
        let attribute = |name: &str, attribute_type| KeyAttribute {
            name: name.into(),
            attribute_type,
        };
        let index = IndexSchema {
            name: IndexName::new("abc").unwrap(),
            kind: IndexKind::Global,
            partition: vec![attribute("p", KeyAttributeType::S)],
            sort: vec![
                attribute("n", KeyAttributeType::N),
                attribute("b", KeyAttributeType::B),
            ],
            projection: Projection::All,
            throughput: None,
            settings: Default::default(),
            vector: None,
        };
        let text = |bytes: usize| AttributeValue::S("x".repeat(bytes));
        let check = |name: &str, value: AttributeValue, expected: Option<(&str, &str)>| {
            let item = Item::from([(name, value)]);
            let found = violation(&index, &item);
            assert_eq!(
                found.is_some(),
                check_index_keys(&index, &item, |_| true).is_err(),
                "{item:?}"
            );
            assert_eq!(
                found
                    .as_ref()
                    .map(|it| (it.expected.as_str(), it.found.as_str())),
                expected,
                "{item:?}"
            );
        };
        check("other", AttributeValue::Null, None);
        check("p", text(2048), None);
        check("p", text(0), Some(("S of 1 to 2048 bytes", "S of 0 bytes")));
        check(
            "p",
            text(2049),
            Some(("S of 1 to 2048 bytes", "S of 2049 bytes")),
        );
        check("p", AttributeValue::Bool(true), Some(("S", "BOOL")));
        check("n", text(1), Some(("N", "S")));
        check("n", AttributeValue::N(7.into()), None);
        check("b", AttributeValue::B(vec![0; 1024]), None);
        check(
            "b",
            AttributeValue::B(vec![0; 1025]),
            Some(("B of 1 to 1024 bytes", "B of 1025 bytes")),
        );
    }
}

//! Execution of a PartiQL SELECT: one page of the reads of a statement, or the one item that it
//! names. The reads are planned in `expr::partiql::plan`.

use std::collections::BTreeSet;

use super::StatementPosition;
use crate::codec::record::ResultRow;
use crate::engine::{
    base::item_key,
    read::{
        page::{self, PagePlan},
        select::{self, EntryFilter, project_columns},
        source::{self, CheckedStartKey, ReadSource},
    },
    runtime::{ValueMemory, prelude::*},
};
use crate::expr::partiql::{
    SelectStatement, keys as named,
    plan::{self, KeyedRead},
};
use crate::model::error::{QueryError, StatementError};

/// The options of a page beside its statement.
#[derive(Debug, Clone, Default)]
pub struct PageOptions {
    pub consistent: bool,
    /// The maximum of items to evaluate.
    pub limit: Option<u32>,
    /// The position at which the page begins.
    pub position: StatementPosition,
}

/// A page of a SELECT.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectPage {
    pub items: Vec<Item>,
    /// The items read before the filter.
    pub evaluated: u64,
    pub consumed_capacity: ConsumedCapacity,
    pub last_evaluated_key: Option<Item>,
    /// The position of the next page, if there may be one.
    pub next: Option<StatementPosition>,
}

/// A range to read.
struct SelectRange {
    // True if it holds one item at most.
    range: KeyRange,
    /// There is at most one item in it.
    is_one_row: bool,
}

/// Reads one page.
///
/// # Errors
/// Fails with `ResourceNotFound`, `Statement`, `Query` or `Key` for a statement that does not fit
/// the table.
pub fn page(
    view: &ReadView<'_>,
    statement: &SelectStatement,
    options: PageOptions,
) -> Result<SelectPage, Error> {
    let source = find_source(view, statement)?;
    if source.is_index(IndexKind::Vector) {
        return Err(QueryError::ScanOnVector.into());
    }
    if source.index().is_some_and(has_several_key_attributes) {
        return Err(StatementError::SeveralKeyAttributes.into());
    }
    let columns = statement.columns()?;
    if options.consistent && source.is_index(IndexKind::Global) {
        return Err(StatementError::ConsistentOnGlobal.into());
    }
    let (reads, rest) = match plan::plan(statement.condition.as_ref(), source.key_schema())? {
        Some(plan) => (Some(plan.reads), plan.residual),
        None => (None, statement.condition.clone()),
    };
    let order = check_order(statement, &source, reads.as_deref())?;
    if let Some(reads) = &reads {
        check_projected(&source, reads)?;
    }
    let selection = select::select_columns(&source, columns)?;
    let is_query = reads.is_some();
    let readings = select_ranges(&source, reads, order);
    let direction = if order.is_some_and(|order| order.backward) {
        Direction::Reverse
    } else {
        Direction::Forward
    };
    let page = PagePlan {
        selection,
        filter: rest.map(EntryFilter::of_condition),
        range: Space::Entry.range(source.id()),
        direction,
        limit: options.limit,
        consistent: options.consistent,
        restartable: true,
        is_query,
        source,
    };
    read_ranges(view, page, &readings, options.position)
}

/// Returns the table or index; the error for a name that is no index of the table does not repeat
/// the name.
fn find_source(view: &ReadView<'_>, statement: &SelectStatement) -> Result<ReadSource, Error> {
    let Some(index) = &statement.index else {
        return ReadSource::find(view, &statement.table, None);
    };
    let table = view.active_table(&statement.table)?;
    let known = table.schema.index(index).is_some();
    match IndexName::new(index.as_str()) {
        Ok(name) if known => ReadSource::find(view, &statement.table, Some(&name)),
        _ => Err(StatementError::UnknownIndex.into()),
    }
}

fn has_several_key_attributes(index: &IndexSchema) -> bool {
    index.partition.len() > 1 || index.sort.len() > 1
}

/// Returns the error for an index in a batch, in which items are read by key alone: a fault of the
/// index, or `default`.
#[must_use]
pub fn index_error(table: &TableEntry, index: &str, default: StatementError) -> StatementError {
    match table.schema.index(index) {
        None => StatementError::UnknownIndex,
        Some(index) if has_several_key_attributes(index) => StatementError::SeveralKeyAttributes,
        Some(_) => default,
    }
}

/// The order of ORDER BY.
#[derive(Debug, Clone, Copy)]
struct ScanOrder {
    /// For several partitions, true if their keys descend.
    partitions_descending: Option<bool>,
    backward: bool,
}

fn check_order(
    statement: &SelectStatement,
    source: &ReadSource,
    reads: Option<&[KeyedRead]>,
) -> Result<Option<ScanOrder>, StatementError> {
    let terms = &statement.order;
    if terms.is_empty() {
        return Ok(None);
    }
    if statement.condition.is_none() {
        return Err(StatementError::OrderWithoutWhere);
    }
    let schema = source.key_schema();
    let is_partition = |name: &str| {
        schema
            .partition
            .iter()
            .any(|attribute| attribute.name == name)
    };
    let is_sort = |name: &str| schema.sort.iter().any(|attribute| attribute.name == name);
    if let Some(other) = terms
        .iter()
        .find(|term| !is_partition(&term.attribute) && !is_sort(&term.attribute))
    {
        return Err(StatementError::OrderAttribute(other.attribute.clone()));
    }
    let reads = reads.ok_or(StatementError::OrderWithoutPartition)?;
    let has_several = reads
        .windows(2)
        .any(|pair| pair[0].digest != pair[1].digest);
    let partition = terms.iter().position(|term| is_partition(&term.attribute));
    if has_several && partition.is_none() {
        return Err(StatementError::OrderPartitions);
    }
    let mut sorts = terms
        .iter()
        .filter(|term| is_sort(&term.attribute))
        .map(|term| term.descending);
    // Without the sort key the service reads backward, whatever the direction of the partition key.
    let backward = sorts.next().unwrap_or(true);
    let has_mixed_sorts = sorts.any(|other| other != backward);
    let is_sort_first = has_several && terms.first().is_some_and(|term| is_sort(&term.attribute));
    if has_mixed_sorts || is_sort_first {
        return Err(StatementError::OrderMixed);
    }
    let partitions_descending = partition
        .and_then(|at| terms.get(at))
        .map(|term| term.descending);
    Ok(Some(ScanOrder {
        partitions_descending,
        backward,
    }))
}

/// Checks that a read by the key of an index finds there the attributes of its conditions; one
/// branch that does is enough.
fn check_projected(source: &ReadSource, reads: &[KeyedRead]) -> Result<(), QueryError> {
    let Some(index) = source.index() else {
        return Ok(());
    };
    let missing = |names: &'_ BTreeSet<String>| {
        source
            .not_projected(names.iter().map(String::as_str))
            .join(", ")
    };
    let mut branches = reads.iter().flat_map(|read| &read.names);
    if branches.clone().any(|names| missing(names).is_empty()) {
        return Ok(());
    }
    let names = branches.next().map(missing).unwrap_or_default();
    Err(QueryError::FilterNotProjected {
        index: index.name.to_string(),
        names,
    })
}

/// Returns the ranges in the order in which they are read.
fn select_ranges(
    source: &ReadSource,
    reads: Option<Vec<KeyedRead>>,
    order: Option<ScanOrder>,
) -> Vec<SelectRange> {
    let Some(mut reads) = reads else {
        return vec![SelectRange {
            range: Space::Entry.range(source.id()),
            is_one_row: false,
        }];
    };
    if order.is_some_and(|order| order.backward) {
        reads.reverse();
    }
    if let Some(descending) = order.and_then(|order| order.partitions_descending) {
        // A stable sort: within a partition the order stays.
        reads.sort_by(|one, other| {
            let by_value = one
                .partition
                .iter()
                .zip(&other.partition)
                .find_map(|(one, other)| match one.compare(other) {
                    Some(std::cmp::Ordering::Equal) | None => None,
                    different => different,
                });
            let ascending = by_value.unwrap_or(std::cmp::Ordering::Equal);
            if descending {
                ascending.reverse()
            } else {
                ascending
            }
        });
    }
    let is_table = source.index().is_none();
    let has_sort = source.table.schema.key.sort.is_some();
    let reading = |read: &KeyedRead| SelectRange {
        range: source::range_of_interval(source, &read.digest, &read.interval),
        is_one_row: is_table && (!has_sort || read.interval.is_single_value),
    };
    reads.iter().map(reading).collect()
}

/// Reads one range after the other until the page is full.
fn read_ranges(
    view: &ReadView<'_>,
    mut plan: PagePlan,
    readings: &[SelectRange],
    start: StatementPosition,
) -> Result<SelectPage, Error> {
    let mut selected = SelectPage {
        items: Vec::new(),
        evaluated: 0,
        consumed_capacity: ConsumedCapacity::default(),
        last_evaluated_key: None,
        next: None,
    };
    let (mut after, mut held) = (start.after, ValueMemory::default());
    let mut bytes = 0;
    if start.read >= readings.len() {
        return Err(StatementError::NextToken.into());
    }
    for (number, reading) in readings.iter().enumerate().skip(start.read) {
        plan.range = reading.range.clone();
        plan.restartable = !reading.is_one_row;
        if let Some(key) = after.take() {
            plan.range = range_after(&plan, &key)?;
        }
        let mut failed = None;
        let part = page::read_part(
            view,
            &plan,
            bytes,
            &mut |row| match to_item(row, &mut held) {
                Ok(item) => selected.items.push(item),
                Err(error) => failed = Some(error),
            },
        );
        let part = match part {
            // The results of the ranges before are kept.
            Err(Error::Throttled(_)) if number > start.read => {
                selected.next = Some(StatementPosition {
                    read: number,
                    after: None,
                });
                break;
            }
            other => other?,
        };
        if let Some(error) = failed {
            return Err(error);
        }
        selected.consumed_capacity.add(&part.page.consumed_capacity);
        selected.evaluated += part.page.scanned_count;
        bytes = part.bytes;
        // Nothing is left of a single item once it was evaluated.
        if part.is_cut && (plan.restartable || part.page.scanned_count == 0) {
            selected.next = Some(StatementPosition {
                read: number,
                after: part.page.last_evaluated_key.clone(),
            });
            selected.last_evaluated_key = part.page.last_evaluated_key;
            break;
        }
        let scanned = u32::try_from(part.page.scanned_count).unwrap_or(u32::MAX);
        plan.limit = plan.limit.map(|limit| limit.saturating_sub(scanned));
        if plan.limit == Some(0) && number + 1 < readings.len() {
            selected.next = Some(StatementPosition {
                read: number + 1,
                after: None,
            });
            break;
        }
    }
    Ok(selected)
}

/// Returns the row's item; its values are charged to `held` before they are made.
fn to_item(row: ResultRow<'_>, held: &mut ValueMemory) -> Result<Item, Error> {
    if let ResultRow::Record(record) = &row {
        held.reserve_read(record)?;
    }
    Ok(row.to_item()?)
}

/// Returns the rest of a range after the key in a token, which must lie in the range.
fn range_after(plan: &PagePlan, key: &Item) -> Result<KeyRange, Error> {
    CheckedStartKey::new(&plan.source, key, false).map_err(|_| StatementError::NextToken)?;
    let address = plan
        .source
        .address(key)
        .ok_or(StatementError::NextToken)?
        .encode();
    if !source::range_contains(&plan.range, &address) {
        return Err(StatementError::NextToken.into());
    }
    Ok(source::range_after(
        plan.range.clone(),
        address,
        plan.direction,
    ))
}

/// Returns the key of a SELECT in a batch or transaction, as written. Fails with `Statement` if it
/// does not name one item.
pub fn named_key(
    statement: &SelectStatement,
    table: &TableEntry,
    operation: &'static str,
) -> Result<Item, StatementError> {
    statement.columns()?;
    named::of_read(statement.condition.as_ref(), &table.schema.key, operation)
}

/// Checks a written key as a key of the table; fails with `Key`.
pub fn key(named: &Item, table: &TableEntry) -> Result<Key, Error> {
    Ok(item_key::key_of_parameter(&table.schema.key, named)?)
}

/// An item read by its key.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedItem {
    /// The selected part of the item, if there is an item.
    pub item: Option<Item>,
    /// The bytes of the whole item.
    pub bytes: usize,
    pub consumed_capacity: ConsumedCapacity,
}

/// Reads an item by its key; `units_of` returns the units that the read of these bytes consumes.
/// Fails with `Throttled` if there are none left.
pub fn read_item(
    view: &ReadView<'_>,
    statement: &SelectStatement,
    table: &TableEntry,
    key: &Key,
    held: &mut ValueMemory,
    units_of: impl FnOnce(usize) -> f64,
) -> Result<SelectedItem, Error> {
    let address = EntryAddress::of_item(table.source, key);
    view.admit_item(table, &address)?;
    let record = view.entry(&address)?;
    let bytes = record.map_or(0, |record| record.item_bytes() as usize);
    record.map_or(Ok(()), |record| held.reserve_read(&record))?;
    let item = record
        .map(|record: Record<'_>| record.to_item())
        .transpose()?;
    let item = match statement.columns()? {
        Some(columns) => item.map(|item| project_columns(columns, &item)),
        None => item,
    };
    let units = units_of(bytes);
    view.charge_item(table, &address, units)?;
    Ok(SelectedItem {
        item,
        bytes,
        consumed_capacity: ConsumedCapacity::of_table(units),
    })
}

//! `explain.json`: what a query reads and what that costs, told before it runs.
//!
//! One page of each request is read, without its filter. Where the request ends in that page the figures are exact; else the page is
//! the least, and the counters of the item collection (or of the whole source, for a scan) are the most.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::path::QueryPath;
use super::request::{self, Resolved};
use super::show::{show_path, show_range, show_value};
use super::source::QueryKind;
use crate::codec::row::Row;
use crate::database::{Bill, Browse, Source};
use crate::expr::read_request::ReadRequest;
use crate::fs::FsError;
use crate::model::limits::READ_UNIT_BYTES;
use crate::model::{IndexKind, IndexSchema};

pub(super) fn explain_json(path: &QueryPath, db: &dyn Browse, bills: &mut Vec<Bill>) -> Result<Vec<u8>, FsError> {
    let resolved = match path.resolve(db) {
        // A shortened partition key without entries.
        Err(FsError::NotFound) => Vec::new(),
        resolved => resolved?,
    };
    let mut estimate = Estimate::default();
    for resolved in &resolved {
        estimate.add(&one(path, resolved, db, bills)?);
    }
    let fetched = fetched_attributes(path);
    let filters: Vec<String> = path.clauses.filters.iter().map(|filter| format!("({})", filter.shown())).collect();
    let text = json!({
        "operation": match path.kind { QueryKind::Query => "Query", QueryKind::Scan => "Scan" },
        "table": path.schema.name.as_str(),
        "index": path.index.as_ref().map(|index| index.as_str()),
        "index_kind": path.index_schema().map(|index| match index.kind { IndexKind::Global => "GSI", IndexKind::Local => "LSI" }),
        "key_condition": resolved.iter().map(|resolved| key_condition(path, resolved)).collect::<Vec<_>>(),
        "filter": (!filters.is_empty()).then(|| filters.join(" AND ")),
        "requests": resolved.len(),
        "items": estimate.items.to_json(),
        "bytes": estimate.bytes.to_json(),
        "capacity_units": { "at_least": units(estimate.units.0), "at_most": units(estimate.units.1) },
        "fetches": if fetched.is_empty() { Range::default().to_json() } else { estimate.items.to_json() },
        "fetched_attributes": fetched,
        "cheaper": advice(path),
    });
    let mut out = serde_json::to_vec_pretty(&text).unwrap_or_default();
    out.push(b'\n');
    Ok(out)
}

/// Half units, exact.
fn units(halves: u64) -> Value {
    let units = halves as f64 / 2.0;
    json!(units)
}

#[derive(Debug, Clone, Copy, Default)]
struct Range(u64, u64);

impl Range {
    fn add(&mut self, other: Self) {
        self.0 += other.0;
        self.1 += other.1;
    }

    fn to_json(self) -> Value {
        json!({ "at_least": self.0, "at_most": self.1 })
    }
}

/// Of what is evaluated, filtered out or not.
#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    items: Range,
    bytes: Range,
    /// Halves of capacity units, those of fetched base items included.
    units: Range,
}

impl Estimate {
    fn add(&mut self, other: &Self) {
        self.items.add(other.items);
        self.bytes.add(other.bytes);
        self.units.add(other.units);
    }
}

fn one(path: &QueryPath, resolved: &Resolved, db: &dyn Browse, bills: &mut Vec<Bill>) -> Result<Estimate, FsError> {
    let mut request = path.build_request(resolved, path.start(resolved, db)?)?;
    let has_filter = request.filter.take().is_some();
    let bounds = path.bounds();
    let items_max = if has_filter { bounds.eval } else { bounds.limit.into_iter().chain(bounds.eval).min() };
    request.limit = items_max.map(|items| u32::try_from(items).unwrap_or(u32::MAX));
    let with_fetches = request.clone();
    request.projection = None;
    let (items, bytes, mut halves, is_exact) = probe(&request, items_max, db, bills)?;
    let fetches = !fetched_attributes(path).is_empty();
    if fetches {
        halves = probe(&with_fetches, items_max, db, bills)?.2;
    }
    let least = Estimate { items: Range(items, items), bytes: Range(bytes, bytes), units: Range(halves, halves) };
    if is_exact {
        return Ok(least);
    }
    let (all_items, all_bytes) = totals(path, resolved, db)?;
    let most_items = items_max.map_or(all_items, |max| max.min(all_items)).max(items);
    let most_bytes = all_bytes.max(bytes);
    let per_unit = if path.clauses.consistent { 2 } else { 1 };
    let fetched = if fetches { most_items * per_unit * fetched_units(path, db)? } else { 0 };
    let most_halves = (most_bytes.div_ceil(READ_UNIT_BYTES as u64).max(1) * per_unit + fetched).max(halves);
    Ok(Estimate { items: Range(items, most_items), bytes: Range(bytes, most_bytes), units: Range(halves, most_halves) })
}

/// One page: items, bytes of entries, halves of units, and whether it is all that is read.
fn probe(
    request: &ReadRequest,
    items_max: Option<u64>,
    db: &dyn Browse,
    bills: &mut Vec<Bill>,
) -> Result<(u64, u64, u64, bool), FsError> {
    let mut bytes = 0;
    let page = request::run(request, db, bills, &mut |row| {
        if let Row::Record(record) = row {
            bytes += u64::from(record.item_bytes());
        }
    })?;
    // Units are halves and small.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let halves = (page.consumed_capacity.total() * 2.0) as u64;
    let is_exact = page.last_evaluated_key.is_none() || items_max.is_some_and(|max| page.scanned_count >= max);
    Ok((page.scanned_count, bytes, halves, is_exact))
}

/// Items and bytes of the collection, or of the whole source.
fn totals(path: &QueryPath, resolved: &Resolved, db: &dyn Browse) -> Result<(u64, u64), FsError> {
    if let Some(partition) = &resolved.partition {
        let collection = db.collection(&path.source(), partition)?;
        return Ok(collection.map_or((0, 0), |collection| (collection.entries, collection.bytes)));
    }
    let stats = db.stats(&path.source())?;
    Ok((stats.entries, stats.bytes))
}

/// Units of fetching a base item of average size.
fn fetched_units(path: &QueryPath, db: &dyn Browse) -> Result<u64, FsError> {
    let stats = db.stats(&Source { index: None, ..path.source() })?;
    Ok(stats.bytes.checked_div(stats.entries).unwrap_or(0).div_ceil(READ_UNIT_BYTES as u64).max(1))
}

/// What is selected and not in the local index that is read: it is fetched from the table, item by item.
fn fetched_attributes(path: &QueryPath) -> Vec<&str> {
    let Some(index) = path.index_schema().filter(|index| index.kind == IndexKind::Local) else { return Vec::new() };
    let selected = path.clauses.select.iter().flatten().map(|path| path.head.as_str());
    selected.filter(|name| !index.projects(&path.schema.key, name)).collect::<BTreeSet<_>>().into_iter().collect()
}

fn key_condition(path: &QueryPath, resolved: &Resolved) -> Option<String> {
    let partition = resolved.partition.as_ref()?;
    let shown = path.key_clauses(partition).into_iter().map(|clause| {
        let values: Vec<String> = clause.range.values().map(show_value).collect();
        show_range(&clause.attribute.name, &clause.range, &values)
    });
    Some(shown.collect::<Vec<_>>().join(" AND "))
}

/// What would read less, or cost less.
fn advice(path: &QueryPath) -> Vec<String> {
    let mut all = Vec::new();
    let equal: BTreeSet<&str> = path.clauses.filters.iter().flat_map(|filter| filter.equalities()).collect();
    let filtered: BTreeSet<&str> = path.clauses.filters.iter().flat_map(|filter| filter.names()).collect();
    let table = &path.schema.key.partition.name;
    if path.kind == QueryKind::Scan && equal.contains(table.as_str()) {
        all.push(format!("query/{table}=… reads one item collection instead of everything"));
    }
    all.extend(path.schema.indexes.iter().filter_map(|index| better_index(path, index, &equal, &filtered)));
    if !path.clauses.filters.is_empty() || path.clauses.live {
        all.push("a filter saves no reading: every item that is evaluated is paid for, also those that it drops".to_owned());
    } else if path.kind == QueryKind::Scan {
        all.push("a scan reads everything; query/ reads one item collection".to_owned());
    }
    let fetched = fetched_attributes(path);
    if let (Some(index), false) = (&path.index, fetched.is_empty()) {
        all.push(format!(
            "lsi/{index} does not project {}: each result costs a read of the table; select what it projects",
            fetched.join(", ")
        ));
    }
    if let (Some(selected), None) = (&path.clauses.select, &path.index) {
        let shown: Vec<String> = selected.iter().map(show_path).collect();
        all.push(format!(
            "select saves no reading: whole items are read; an index that projects only {} has smaller entries",
            shown.join(", ")
        ));
    }
    if path.clauses.consistent {
        all.push("consistent reads cost twice as much".to_owned());
    }
    all
}

/// An index whose key does what the filter does.
fn better_index(path: &QueryPath, index: &IndexSchema, equal: &BTreeSet<&str>, filtered: &BTreeSet<&str>) -> Option<String> {
    if path.index.as_ref() == Some(&index.name) {
        return None;
    }
    let kind = match index.kind {
        IndexKind::Global => "gsi",
        IndexKind::Local => "lsi",
    };
    let partition: Vec<&str> = index.partition.iter().map(|key| key.name.as_str()).collect();
    let queried: Vec<&str> = match path.kind {
        QueryKind::Query => path.context().keys().partition.iter().map(|key| key.name.as_str()).collect(),
        QueryKind::Scan => Vec::new(),
    };
    let is_known = |name: &&str| equal.contains(name) || queried.contains(name);
    let is_used = partition.iter().any(|name| equal.contains(name))
        || index.sort.first().is_some_and(|key| filtered.contains(key.name.as_str()));
    if !partition.iter().all(is_known) || !is_used {
        return None;
    }
    let mut clauses: Vec<String> = partition.iter().map(|name| format!("{name}=…")).collect();
    clauses.extend(index.sort.first().filter(|key| filtered.contains(key.name.as_str())).map(|key| format!("{}.ge=…", key.name)));
    Some(format!("{kind}/{}/query/{} reads only what matches", index.name, clauses.join("/")))
}

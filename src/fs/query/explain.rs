//! `explain.json`: an estimate of the work of a query and its cost, made before it runs.
//!
//! It runs as `items.ndjson` would, but consumes nothing: its [`DeferredCharge`]s are never applied. Where it
//! comes to the end the figures are exact. Else the entries read are the lower bound, and the
//! counters of the item collections (or of the whole source, for a scan) are the upper bound. Of a
//! remote service nothing is read, since that would be paid for; such a service counts no
//! collections, so that the upper bound is the whole source.

use std::collections::BTreeSet;

use super::{
    clause,
    context::QueryKind,
    query_path::{CONSISTENT, PartitionClause, QueryPath},
    request::ResolvedClauses,
    row_stream::{RowStep, SHARD_ITEMS},
    spelling::show_range,
};
use crate::codec::sanitize;
use crate::database::SourceStats;
use crate::fs::prelude::*;
use crate::model::{
    IndexSchema,
    limits::{ENTRY_OVERHEAD_BYTES, PAGE_BYTES_MAX, READ_UNIT_BYTES},
};

/// Bytes, with an overhead for each item, after which a query is no longer followed but estimated:
/// about one second of work.
const DRY_RUN_BYTES_MAX: u64 = 64 * 1024 * 1024;

pub(super) fn explain_json(path: &QueryPath, db: &dyn Browse) -> Result<Vec<u8>, FsError> {
    let resolved = match path.resolve(db) {
        // A shortened partition key without entries.
        Err(FsError::NotFound) => Vec::new(),
        resolved => resolved?,
    };
    let estimate = estimate(path, &resolved, db)?;
    let fetched = fetched_attributes(path);
    let filters: Vec<String> = path
        .clauses
        .filters
        .iter()
        .map(|filter| format!("({})", filter.shown()))
        .collect();
    let text = json!({
        "operation": path.kind.operation(),
        "table": path.schema.name.as_str(),
        "index": path.index.as_ref().map(|index| index.as_str()),
        "index_kind": path.index_schema().map(|index| match index.kind { IndexKind::Global => "GSI", IndexKind::Local => "LSI", IndexKind::Vector => "vector" }),
        "key_condition": resolved.iter().filter_map(|resolved| key_condition(path, resolved)).collect::<Vec<_>>(),
        "filter": (!filters.is_empty()).then(|| filters.join(" AND ")),
        "requests": estimate.range(|figures| json!(figures.requests)),
        "items": estimate.range(|figures| json!(figures.items)),
        "bytes": estimate.range(|figures| json!(figures.bytes)),
        "capacity_units": estimate.range(|figures| json!(figures.units)),
        "fetches": if fetched.is_empty() { estimate.range(|_| json!(0)) } else { estimate.range(|figures| json!(figures.items)) },
        "fetched_attributes": fetched,
        "cheaper": advice(path, db)?,
    });
    Ok(sanitize::json(&format!("{text:#}\n")).into_bytes())
}

/// Figures over all evaluated items, filtered out or not.
#[derive(Debug, Clone, Copy)]
struct QueryCost {
    requests: u64,
    items: u64,
    /// Bytes read, with those of fetched items.
    bytes: u64,
    /// Capacity units, with those of fetched items.
    units: f64,
}

#[derive(Debug, Clone, Copy)]
struct CostEstimate {
    min: QueryCost,
    max: QueryCost,
}

impl CostEstimate {
    fn range(&self, value_of: impl Fn(&QueryCost) -> Value) -> Value {
        json!({ "at_least": value_of(&self.min), "at_most": value_of(&self.max) })
    }
}

fn estimate(
    path: &QueryPath,
    resolved: &[ResolvedClauses],
    db: &dyn Browse,
) -> Result<CostEstimate, FsError> {
    let (read, is_all) = dry_run(path, db)?;
    let min = QueryCost {
        requests: read.requests,
        items: read.scanned,
        bytes: read.bytes,
        units: read.capacity.total(),
    };
    let max = if is_all {
        min
    } else {
        upper_bound(path, resolved, db)?
    };
    Ok(CostEstimate { min, max })
}

/// Reads as a result would, to the end or to [`DRY_RUN_BYTES_MAX`]; returns the sum and true if
/// the end was reached.
fn dry_run(path: &QueryPath, db: &dyn Browse) -> Result<(RowStep, bool), FsError> {
    let (mut stream, mut sum) = (path.stream(db, &|_| {})?, RowStep::default());
    // Where a look is paid for like a read, nothing is read.
    let bytes_max = if db.charges_peeks() {
        0
    } else {
        DRY_RUN_BYTES_MAX
    };
    while sum.bytes + sum.scanned * ENTRY_OVERHEAD_BYTES < bytes_max {
        let mut unsettled = Vec::new();
        match stream.next(db, &mut unsettled, &mut |_| {})? {
            Some(step) => sum.add(&step),
            None => return Ok((sum, true)),
        }
    }
    Ok((sum, false))
}

/// Returns the upper bound: all that the source has for these partition keys, with each started
/// unit and page counted in full.
fn upper_bound(
    path: &QueryPath,
    resolved: &[ResolvedClauses],
    db: &dyn Browse,
) -> Result<QueryCost, FsError> {
    let (requests, unit) = (resolved.len() as u64, READ_UNIT_BYTES as u64);
    let entries = totals(path, resolved, &path.source(), db)?;
    let evaluated = path.bounds().eval.map_or(entries.entries, |eval| {
        entries.entries.min(eval.saturating_mul(requests))
    });
    let items = match path.clauses.is_filtered() {
        // A merge may have read one page of each shard more than it returned.
        false if requests == 1 => path
            .bounds()
            .limit
            .map_or(evaluated, |limit| evaluated.min(limit)),
        _ => evaluated,
    };
    let fetched = match fetched_attributes(path).is_empty() {
        true => SourceStats::default(),
        false => totals(
            path,
            resolved,
            &SourceName {
                index: None,
                ..path.source()
            },
            db,
        )?,
    };
    let fetched_units = if fetched.entries == 0 {
        0
    } else {
        fetched.bytes / unit + items
    };
    // A page with fetches ends up to one unit before its maximum.
    let pages = (entries.bytes + fetched_units * unit) / (PAGE_BYTES_MAX - READ_UNIT_BYTES) as u64
        + requests;
    let short_pages = match path.clauses.partition {
        PartitionClause::Shards(_) => items / SHARD_ITEMS.0 as u64,
        _ => 0,
    };
    let requests = pages + short_pages;
    let units = entries.bytes / unit + requests + fetched_units;
    let per_unit = if path.clauses.has(CONSISTENT) {
        1.0
    } else {
        0.5
    };
    Ok(QueryCost {
        requests,
        items,
        bytes: entries.bytes + fetched.bytes,
        units: units as f64 * per_unit,
    })
}

/// Returns the entries and bytes of the collections, or of the whole source.
fn totals(
    path: &QueryPath,
    resolved: &[ResolvedClauses],
    source: &SourceName,
    db: &dyn Browse,
) -> Result<SourceStats, FsError> {
    if path.kind == QueryKind::Scan {
        return Ok(db.stats(source)?);
    }
    let mut sum = SourceStats::default();
    for partition in resolved
        .iter()
        .filter_map(|resolved| resolved.partition.as_ref())
    {
        if let Some(collection) = db.collection(source, partition)? {
            sum.entries += collection.entries;
            sum.bytes += collection.bytes;
        }
    }
    Ok(sum)
}

/// Returns the selected attributes that the local index does not project: they are fetched from the
/// table, item by item.
fn fetched_attributes(path: &QueryPath) -> Vec<&str> {
    let Some(index) = path
        .index_schema()
        .filter(|index| index.kind == IndexKind::Local)
    else {
        return Vec::new();
    };
    let selected = path
        .clauses
        .select
        .iter()
        .flatten()
        .map(|path| path.head.as_str());
    selected
        .filter(|name| !index.projects(&path.schema.key, name))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn key_condition(path: &QueryPath, resolved: &ResolvedClauses) -> Option<String> {
    let partition = resolved.partition.as_ref()?;
    let shown = path.key_clauses(partition).into_iter().map(|clause| {
        let values: Vec<String> = clause
            .range
            .values()
            .into_iter()
            .map(plain_json::value)
            .collect();
        show_range(&clause.attribute.name, &clause.range, &values)
    });
    Some(shown.collect::<Vec<_>>().join(" AND "))
}

/// Returns advice for a query that reads less or costs less.
fn advice(path: &QueryPath, db: &dyn Browse) -> Result<Vec<String>, FsError> {
    let mut all = Vec::new();
    let equal: BTreeSet<&str> = path
        .clauses
        .filters
        .iter()
        .flat_map(|filter| filter.equalities())
        .collect();
    let filtered: BTreeSet<&str> = path
        .clauses
        .filters
        .iter()
        .flat_map(|filter| filter.names())
        .collect();
    let table = &path.schema.key.partition.name;
    if path.kind == QueryKind::Scan && equal.contains(table.as_str()) {
        all.push(format!(
            "query/{table}=… reads one item collection instead of everything"
        ));
    }
    for index in &path.schema.indexes {
        if let Some(better) = better_index(path, index, &equal, &filtered) {
            all.push(better + &lacking(path, index, db)?);
        }
    }
    if path.clauses.is_filtered() {
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
    all.extend(clause::advice(path));
    Ok(all)
}

/// Returns the restriction of an index that lacks items of the table: a query of it finds fewer than
/// the scan may.
fn lacking(path: &QueryPath, index: &IndexSchema, db: &dyn Browse) -> Result<String, FsError> {
    let source = |index| SourceName {
        table: path.schema.name.clone(),
        index,
    };
    let items = db.stats(&source(None))?.entries;
    let entries = db.stats(&source(Some(index.name.clone())))?.entries;
    let keys = index.names();
    Ok(if entries < items {
        format!(
            ", but finds only items that have {}: {entries} of {items} are in it",
            keys.join(" and ")
        )
    } else {
        String::new()
    })
}

/// Returns the advice to use an index with a key that replaces the filter.
fn better_index(
    path: &QueryPath,
    index: &IndexSchema,
    equality_names: &BTreeSet<&str>,
    filtered: &BTreeSet<&str>,
) -> Option<String> {
    if path.index.as_ref() == Some(&index.name) || index.kind == IndexKind::Vector {
        return None;
    }
    let kind = index.kind.name();
    let partition: Vec<&str> = index
        .partition
        .iter()
        .map(|key| key.name.as_str())
        .collect();
    let queried: Vec<&str> = match path.kind {
        QueryKind::Query => path
            .context()
            .keys()
            .partition
            .iter()
            .map(|key| key.name.as_str())
            .collect(),
        QueryKind::Scan | QueryKind::Near => Vec::new(),
    };
    let is_known = |name: &&str| equality_names.contains(name) || queried.contains(name);
    let is_used = partition.iter().any(|name| equality_names.contains(name))
        || index
            .sort
            .first()
            .is_some_and(|key| filtered.contains(key.name.as_str()));
    if !partition.iter().all(is_known) || !is_used {
        return None;
    }
    let mut clauses: Vec<String> = partition.iter().map(|name| format!("{name}=…")).collect();
    clauses.extend(
        index
            .sort
            .first()
            .filter(|key| filtered.contains(key.name.as_str()))
            .map(|key| format!("{}.ge=…", key.name)),
    );
    Some(format!(
        "{kind}/{}/query/{} reads only what matches",
        index.name,
        clauses.join("/")
    ))
}

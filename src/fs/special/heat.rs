//! `heat.tsv`, `hot.tsv`, `hot-items.tsv`, `big.tsv` in `partitions/`: which partitions and keys are asked for most, and which item
//! collections are largest. Columns are fixed; the first line names them.

use std::fmt::Write as _;

use super::partition_text::{candidate_text, hex_bound, is_flat, key_bound, key_name};
use crate::codec::calendar::iso;
use crate::codec::digest::hex;
use crate::database::layout::Layout;
use crate::fs::open::prelude::*;
use crate::model::layout::{Busiest, CollectionWarning, HotKey, Load, ThrottleWarning, Window};

/// Keys and collections that are told of.
const ROWS_MAX: usize = 100;

const HEAT_COLUMNS: &str = "#partition\thash_from\thash_to\tcollections\titems\tbytes\theat_percent\trcu_per_s\twcu_per_s\tthrottles\t\
                            split_candidate\tbusiest_percent\tbusiest_second\tread_throttles\twrite_throttles\tkey_from\tkey_to\n";
const ITEM_COLUMNS: &str = "#rank\tpartition\tkey\trcu_last_minute\twcu_last_minute\tthrottles\tload_last_minute\tload\n";
const NOT_COUNTED: &str = "#single items are counted while contributor insights are enabled, with UpdateContributorInsights of the HTTP API, \
                           and where there is a sort key\n";

/// `heat.tsv`, or that of a longer window.
pub fn heat(mount: &Mount, at: &Special, window: Window) -> Result<Vec<u8>, FsError> {
    text(mount, at, |mount, source| heat_of(mount, source, window))
}

/// `hot.tsv`, or that of a longer window.
pub fn hot(mount: &Mount, at: &Special, window: Window) -> Result<Vec<u8>, FsError> {
    text(mount, at, |mount, source| hot_keys(mount, source, window))
}

/// `hot-items.tsv`
pub fn hot_items(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(mount, at, hot_items_of)
}

/// `big.tsv`
pub fn big(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    text(mount, at, big_collections)
}

/// The text of a file of a table or index that is there.
fn text(mount: &Mount, at: &Special, make: impl FnOnce(&Mount, &Source) -> Result<String, FsError>) -> Result<Vec<u8>, FsError> {
    let source = at.of_source()?;
    mount.source_schema(source)?;
    Ok(make(mount, source)?.into_bytes())
}

/// `#last hour: 2026-01-02T03:04:00.000Z to 2026-01-02T04:03:05.678Z`, the first line of a table of a window.
fn window_line(layout: &dyn Layout, window: Window) -> String {
    let span = layout.span(window);
    format!("#last {}: {} to {}\n", window.name(), iso(span.from_ms), iso(span.to_ms))
}

/// A second since the epoch; `-` for none.
fn second_text(busiest: &Busiest) -> String {
    if busiest.second == 0 { "-".to_owned() } else { iso(busiest.second * 1000) }
}

/// Each partition with its heat: percent of its limits over the window, and in the busiest second of it.
fn heat_of(mount: &Mount, source: &Source, window: Window) -> Result<String, FsError> {
    let layout = mount.layout()?;
    let mut out = window_line(layout, window) + HEAT_COLUMNS;
    for report in layout.partitions(source, window)? {
        let (content, candidate) = layout.partition_content(source, &report)?;
        let to = report.range.to.as_deref().map_or_else(|| hex_bound(&[0xFF; 16]), hex_bound);
        let key = |place: &[u8]| Ok::<_, FsError>(key_bound(mount, source, place)?.unwrap_or_else(|| "-".to_owned()));
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{}\t{}\t{to}\t{}\t{}\t{}\t{:.1}\t{:.2}\t{:.2}\t{}\t{}\t{:.1}\t{}\t{}\t{}\t{}\t{}",
            partition_name(report.id),
            hex_bound(&report.range.from),
            content.collections,
            content.items,
            content.billed_bytes,
            report.share * 100.0,
            report.load.read / window.seconds(),
            report.load.write / window.seconds(),
            report.load.throttles(),
            candidate_text(&candidate),
            report.busiest_share * 100.0,
            second_text(&report.busiest),
            report.load.read_throttles,
            report.load.write_throttles,
            key(&report.range.from)?,
            report.range.to.as_deref().map_or_else(|| Ok("-".to_owned()), key)?,
        );
    }
    Ok(out)
}

/// The keys asked for most in the window; the load is three units for a write unit, one for a read unit, and last that of the day.
fn hot_keys(mount: &Mount, source: &Source, window: Window) -> Result<String, FsError> {
    let layout = mount.layout()?;
    let columns = ITEM_COLUMNS.trim_end().replace("minute", window.name());
    let mut out =
        window_line(layout, window) + &columns + "\tbusiest_rcu\tbusiest_wcu\tbusiest_second\tread_throttles\twrite_throttles\n";
    for (rank, key) in layout.hot_keys(source, window, ROWS_MAX)?.into_iter().enumerate() {
        hot_columns(&mut out, rank, &key, &name_of(mount, source, key.key.as_ref(), &key.digest)?);
        let Load { read, write, .. } = key.busiest.load;
        let (second, load) = (second_text(&key.busiest), &key.load);
        let _ = writeln!(out, "\t{read:.1}\t{write:.1}\t{second}\t{}\t{}", load.read_throttles, load.write_throttles);
    }
    Ok(out)
}

/// The single items asked for most, by their paths below `items/`; of one that is not there now its digest.
fn hot_items_of(mount: &Mount, source: &Source) -> Result<String, FsError> {
    let mut out = ITEM_COLUMNS.to_owned();
    let Some(items) = mount.layout()?.hot_items(source, ROWS_MAX)? else {
        out.push_str(NOT_COUNTED);
        return Ok(out);
    };
    for (rank, item) in items.into_iter().enumerate() {
        let path = item.key.as_ref().map(|key| names::entry_path(key, TextForm::PlainJson));
        hot_columns(&mut out, rank, &item, &path.unwrap_or_else(|| format!("#{}", hex(&item.digest))));
        out.push('\n');
    }
    Ok(out)
}

fn hot_columns<K>(out: &mut String, rank: usize, key: &HotKey<K>, name: &str) {
    let _ = write!(
        out,
        "{}\t{}\t{name}\t{:.1}\t{:.1}\t{}\t{:.1}\t{:.1}",
        rank + 1,
        partition_name(key.partition),
        key.load.read,
        key.load.write,
        key.load.throttles(),
        key.load.weight(),
        key.total.weight(),
    );
}

/// The largest item collections, and how much that is of what one of a table with a local index may have; `-` where there is no limit.
fn big_collections(mount: &Mount, source: &Source) -> Result<String, FsError> {
    let layout = mount.layout()?;
    let bytes_max = layout.collection_bytes_max().max(1) as f64;
    let is_limited = source.index.is_none() && mount.schema(&source.table)?.indexes_of(IndexKind::Local).next().is_some();
    let percent = |bytes: u64| match is_limited {
        true => format!("{:.4}", bytes as f64 / bytes_max * 100.0),
        false => "-".to_owned(),
    };
    let mut out = "#rank\tpartition\tkey\titems\tbytes\tpercent_of_limit\n".to_owned();
    for (rank, collection) in layout.big_collections(source, ROWS_MAX)?.into_iter().enumerate() {
        let _ = writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}",
            rank + 1,
            partition_name(collection.partition),
            name_of(mount, source, collection.key.as_ref(), &[])?,
            collection.items,
            collection.billed_bytes,
            percent(collection.billed_bytes),
        );
    }
    Ok(out)
}

/// The name below `items/`; of a key that has nothing now its digest.
fn name_of(mount: &Mount, source: &Source, key: Option<&PartitionKey>, digest: &[u8]) -> Result<String, FsError> {
    Ok(match key {
        Some(key) => key_name(is_flat(mount, source)?, key),
        None => format!("#{}", hex(digest)),
    })
}

/// Lines of `.ddb/warnings.ndjson` about throttled requests, and about item collections near their limit.
#[must_use]
pub fn warnings(mount: &Mount) -> String {
    let throttled = mount.db.layout().map(|layout| layout.throttle_warnings()).unwrap_or_default();
    let throttled: String = throttled.iter().map(throttle_line).collect();
    throttled + &collection_warnings(mount)
}

fn throttle_line(warning: &ThrottleWarning) -> String {
    let throttled = &warning.throttled;
    let index = throttled.index.as_ref().map(|index| format!("/gsi/{index}")).unwrap_or_default();
    let path = format!("{}{index}/partitions/{}", throttled.table, partition_name(throttled.at.partition));
    let text = format!("throttled: {}; {}", throttled.whereabouts(), throttled.hint());
    format!("{}\n", json!({ "time_ms": warning.time_ms, "path": path, "requests": warning.requests, "text": text }))
}

fn collection_warnings(mount: &Mount) -> String {
    let warnings = mount.db.layout().map(|layout| layout.collection_warnings()).unwrap_or_default();
    let line = |warning: &CollectionWarning| {
        let path = format!("{}/items/{}", warning.table, names::collection_name(std::slice::from_ref(&warning.partition)));
        let text = format!(
            "this item collection has {} bytes with its local index entries; at {} it takes no more",
            warning.billed_bytes, warning.bytes_max
        );
        format!("{}\n", json!({ "time_ms": warning.time_ms, "path": path, "text": text }))
    };
    warnings.iter().map(line).collect()
}
